//! Where one logs in: what describes the server (RFC 9728), and what describes the authorization
//! server it names (RFC 8414, or OpenID's discovery).
//!
//! Everything here is a claim of somebody who may lie. A description counts only for the server whose
//! address it was asked under, and no address is used that others could listen at.

use reqwest::{Client, Url};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::challenge::Challenge;
use super::error::OAuthError;
use super::fetch::{self, ask};
use super::is_loopback;
use crate::mcp::protocol::VERSION;

const SERVER_DESCRIPTION: &str = "the description of the server";
const ISSUER_DESCRIPTION: &str = "the description of the authorization server";

/// Where and for what one logs in.
pub(super) struct Discovered {
    /// What the token is for (RFC 8707).
    pub resource: Url,
    pub scopes: Option<String>,
    pub issuer: Issuer,
}

/// An authorization server.
pub(super) struct Issuer {
    pub id: String,
    pub authorize: Url,
    pub token: Url,
    pub register: Option<Url>,
    /// How clients that have a secret show it, as far as the server says.
    pub secret_by_post: bool,
}

#[derive(Deserialize)]
struct ResourceMetadata {
    resource: String,
    #[serde(default)]
    authorization_servers: Vec<String>,
    #[serde(default)]
    scopes_supported: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct IssuerMetadata {
    issuer: String,
    authorization_endpoint: String,
    token_endpoint: String,
    registration_endpoint: Option<String>,
    #[serde(default)]
    code_challenge_methods_supported: Vec<String>,
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
}

/// Finds out where one logs in to `server`, which refused with this challenge.
pub(super) async fn discover(
    client: &Client,
    server: &Url,
    challenge: &Challenge,
) -> Result<Discovered, OAuthError> {
    let trusts = Trusts::of(server);
    trusts.address("its address", server.as_str())?;
    let described = resource_metadata(client, server, challenge, trusts).await?;
    let Some(described) = described else {
        // Servers of the first revision with logins are their own authorization servers.
        let issuer = server.origin().ascii_serialization();
        let found = issuer_of(client, &issuer, trusts).await;
        let issuer = found.map_err(|error| match error {
            OAuthError::NoMetadata { .. } => OAuthError::NoAuthorizationServer,
            error => error,
        })?;
        return Ok(Discovered {
            resource: server.clone(),
            scopes: challenge.scope.clone(),
            issuer,
        });
    };
    let resource = resource_of(&described, server)?;
    let issuer = described.authorization_servers.first();
    let issuer = issuer.ok_or(OAuthError::NoAuthorizationServer)?;
    let supported = described.scopes_supported.as_ref();
    let scopes = challenge
        .scope
        .clone()
        .or_else(|| supported.map(|scopes| scopes.join(" ")));
    Ok(Discovered {
        resource,
        scopes: scopes.filter(|scopes| !scopes.is_empty()),
        issuer: issuer_of(client, issuer, trusts).await?,
    })
}

/// Which addresses may be used: those of a server on this machine may be on it, too, and need no
/// encryption there.
#[derive(Clone, Copy)]
struct Trusts {
    loopback: bool,
}

impl Trusts {
    fn of(server: &Url) -> Self {
        Self {
            loopback: is_loopback(server),
        }
    }

    fn address(self, what: &'static str, text: &str) -> Result<Url, OAuthError> {
        let shown = || text.chars().take(200).collect();
        let url = Url::parse(text).map_err(|_| OAuthError::NotAnAddress { what, url: shown() })?;
        let is_local = self.loopback && is_loopback(&url);
        match url.scheme() {
            "https" => Ok(url),
            "http" if is_local => Ok(url),
            _ => Err(OAuthError::Insecure { what, url: shown() }),
        }
    }
}

async fn resource_metadata(
    client: &Client,
    server: &Url,
    challenge: &Challenge,
    trusts: Trusts,
) -> Result<Option<ResourceMetadata>, OAuthError> {
    const NAME: &str = "oauth-protected-resource";
    if let Some(named) = &challenge.resource_metadata {
        let url = trusts.address("where it is described", named)?;
        let found = description(client, url, SERVER_DESCRIPTION).await?;
        return match found {
            Some(found) => Ok(Some(found)),
            None => Err(OAuthError::NoAuthorizationServer),
        };
    }
    let mut places = vec![well_known(server, NAME, server.path())];
    places.push(well_known(server, NAME, ""));
    places.dedup();
    first_description(client, places, SERVER_DESCRIPTION).await
}

/// What a token for the server is for: its own address, or one above it.
fn resource_of(described: &ResourceMetadata, server: &Url) -> Result<Url, OAuthError> {
    let other = || OAuthError::OtherResource {
        named: described.resource.chars().take(200).collect(),
    };
    let resource = Url::parse(&described.resource).map_err(|_| other())?;
    let above = resource.path().trim_end_matches('/');
    let below = server.path().strip_prefix(above);
    let is_above = below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    match resource.origin() == server.origin() && is_above {
        true => Ok(resource),
        false => Err(other()),
    }
}

async fn issuer_of(client: &Client, id: &str, trusts: Trusts) -> Result<Issuer, OAuthError> {
    let url = trusts.address("its authorization server", id)?;
    let path = url.path().trim_end_matches('/');
    let mut places = vec![
        well_known(&url, "oauth-authorization-server", path),
        well_known(&url, "openid-configuration", path),
    ];
    if !path.is_empty() {
        let mut appended = url.clone();
        appended.set_query(None);
        appended.set_path(&format!("{path}/.well-known/openid-configuration"));
        places.push(appended);
    }
    let found: Option<IssuerMetadata> =
        first_description(client, places, ISSUER_DESCRIPTION).await?;
    let found = found.ok_or_else(|| OAuthError::NoMetadata {
        issuer: id.to_owned(),
    })?;
    if found.issuer.trim_end_matches('/') != id.trim_end_matches('/') {
        return Err(OAuthError::OtherIssuer {
            expected: id.to_owned(),
            named: found.issuer.chars().take(200).collect(),
        });
    }
    let methods = &found.code_challenge_methods_supported;
    if !methods.iter().any(|method| method == "S256") {
        return Err(OAuthError::NoProof);
    }
    let register = found.registration_endpoint.as_deref();
    let register = register.map(|url| trusts.address("where clients are registered", url));
    let by = found.token_endpoint_auth_methods_supported;
    let by = |method: &str| by.iter().flatten().any(|known| known == method);
    Ok(Issuer {
        id: found.issuer,
        authorize: trusts.address("where one logs in", &found.authorization_endpoint)?,
        token: trusts.address("where tokens are given out", &found.token_endpoint)?,
        register: register.transpose()?,
        secret_by_post: by("client_secret_post") && !by("client_secret_basic"),
    })
}

/// `/.well-known/NAME/PATH` at the host of an address.
fn well_known(at: &Url, name: &str, path: &str) -> Url {
    let mut url = at.clone();
    url.set_query(None);
    let path = path.trim_end_matches('/');
    url.set_path(&format!("/.well-known/{name}{path}"));
    url
}

async fn first_description<T: DeserializeOwned>(
    client: &Client,
    places: Vec<Url>,
    what: &'static str,
) -> Result<Option<T>, OAuthError> {
    for place in places {
        if let Some(found) = description(client, place, what).await? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// What an address describes; `None` where there is nothing.
async fn description<T: DeserializeOwned>(
    client: &Client,
    url: Url,
    what: &'static str,
) -> Result<Option<T>, OAuthError> {
    let request = client.get(url).header("mcp-protocol-version", VERSION);
    let answer: fetch::FetchedAnswer = ask(request, what).await?;
    match answer.status.is_client_error() {
        true => Ok(None),
        false => answer.successful()?.read().map(Some),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    #[test]
    fn a_description_counts_for_its_own_server_only() {
        let server = url("https://h/a/mcp");
        for (named, is_own) in [
            ("https://h/a/mcp", true),
            ("https://h/a/", true),
            ("https://h", true),
            ("https://h/a/mc", false),
            ("https://h/b", false),
            ("https://other/a/mcp", false),
            ("http://h/a/mcp", false),
            ("nothing", false),
        ] {
            let described = ResourceMetadata {
                resource: named.to_owned(),
                authorization_servers: Vec::new(),
                scopes_supported: None,
            };
            assert_eq!(resource_of(&described, &server).is_ok(), is_own, "{named}");
        }
    }

    #[test]
    fn only_a_server_on_this_machine_may_go_without_encryption_on_it() {
        let far = Trusts::of(&url("https://h/mcp"));
        let near = Trusts::of(&url("http://127.0.0.1:1/mcp"));
        for (address, for_far, for_near) in [
            ("https://x/token", true, true),
            ("http://x/token", false, false),
            ("http://localhost:1/token", false, true),
            ("http://[::1]/token", false, true),
            ("http://127.0.0.1.example.org/token", false, false),
            ("file:///etc/passwd", false, false),
        ] {
            assert_eq!(far.address("x", address).is_ok(), for_far, "{address}");
            assert_eq!(near.address("x", address).is_ok(), for_near, "{address}");
        }
    }

    #[test]
    fn descriptions_are_looked_for_where_the_standards_put_them() {
        let place = |at: &str, path: &str| well_known(&url(at), "x", path).to_string();
        assert_eq!(
            place("https://h/a/b?q=1", "/a/b"),
            "https://h/.well-known/x/a/b"
        );
        assert_eq!(place("https://h/", "/"), "https://h/.well-known/x");
    }
}
