//! A login from the address to open to the stored tokens.

use std::sync::Arc;

use reqwest::header::{ACCEPT, CONTENT_TYPE};
use reqwest::{Client, StatusCode, Url};
use serde_json::json;
use stentor_agent::tasks;
use stentor_agent::tool_servers::{ToolServer, ToolServerTransport};
use stentor_http::{HttpError, deepest};
use stentor_oauth::{CallbackServer, Proof, Returned, pasted_code, random_text};

use super::challenge::Challenge;
use super::client::OAuthClient;
use super::discovery::{Discovered, discover};
use super::error::OAuthError;
use super::store::McpLogin;
use super::tokens::McpTokenEndpoint;
use super::{McpLogins, address_of};
use crate::mcp::http::header_map;
use crate::mcp::protocol::{VERSION, greeting};

/// Where a browser is sent back to when the configuration does not say.
const USUAL_REDIRECT: &str = "http://localhost:0/callback";

/// A login that waits for a person.
pub struct BegunLogin {
    /// To be opened in a browser.
    pub url: String,
    /// Who asks the person for the login there.
    pub issuer: String,
    logins: Arc<McpLogins>,
    server: Url,
    http: Client,
    discovered: Discovered,
    client: OAuthClient,
    proof: Proof,
    state: String,
    redirect: String,
    callback: Option<CallbackServer>,
}

/// Begins a login.
pub(super) async fn begin(
    logins: &Arc<McpLogins>,
    server: &ToolServer,
) -> Result<BegunLogin, OAuthError> {
    let url = address_of(server)?;
    let http = Arc::clone(&logins.http);
    // Building it reads the certificates of the system.
    let http = tasks::spawn_blocking(move || http.client(None)).await;
    let http = http.map_err(|error| HttpError::Client(error.to_string()))??;
    let challenge = refused(&http, server, &url).await?;
    let discovered = discover(&http, &url, &challenge).await?;

    let (state, proof) = (random_text()?, Proof::new()?);
    let settings = &server.oauth;
    let wanted = settings.redirect.as_deref().unwrap_or(USUAL_REDIRECT);
    let callback = CallbackServer::listen(wanted, &state).await;
    let redirect = callback
        .as_ref()
        .map_or(wanted, |callback| &callback.redirect)
        .to_owned();
    let client = OAuthClient::get(&http, &discovered.issuer, settings, &redirect).await?;
    let scopes = match settings.scopes.is_empty() {
        true => discovered.scopes.clone(),
        false => Some(settings.scopes.join(" ")),
    };
    let mut address = discovered.issuer.authorize.clone();
    address.query_pairs_mut().extend_pairs([
        ("response_type", "code"),
        ("client_id", &client.id),
        ("redirect_uri", &redirect),
        ("state", &state),
        ("code_challenge", &proof.challenge),
        ("code_challenge_method", "S256"),
        ("resource", discovered.resource.as_str()),
    ]);
    if let Some(scopes) = &scopes {
        address.query_pairs_mut().append_pair("scope", scopes);
    }
    Ok(BegunLogin {
        url: address.to_string(),
        issuer: discovered.issuer.id.clone(),
        logins: Arc::clone(logins),
        server: url,
        http,
        discovered,
        client,
        proof,
        state,
        redirect,
        callback,
    })
}

impl BegunLogin {
    /// True when the browser can return by itself.
    pub fn can_wait(&self) -> bool {
        self.callback.is_some()
    }

    /// Waits for the browser and stores what it brings. Waiting has no end of its own.
    pub async fn wait(&self) -> Result<(), OAuthError> {
        let callback = self.callback.as_ref();
        let callback = callback.ok_or(OAuthError::NothingToWaitFor)?;
        match callback.wait().await {
            Some(Returned::Code(code)) => self.redeem(&code).await,
            Some(Returned::Refused(why)) => Err(OAuthError::Refused(why)),
            None => Err(OAuthError::NothingToWaitFor),
        }
    }

    /// Completes it with what a person pasted: `code#state`, or the address the browser was sent to.
    pub async fn paste(&self, text: &str) -> Result<(), OAuthError> {
        self.redeem(&pasted_code(text, &self.state)?).await
    }

    async fn redeem(&self, code: &str) -> Result<(), OAuthError> {
        let issuer = &self.discovered.issuer;
        let endpoint = McpTokenEndpoint {
            http: &self.http,
            url: &issuer.token,
            client: &self.client,
            resource: self.discovered.resource.as_str(),
            now_ms: self.logins.clock.now_ms(),
        };
        let verifier = &self.proof.verifier;
        let tokens = endpoint.redeem(code, verifier, &self.redirect).await?;
        let login = McpLogin {
            issuer: issuer.id.clone(),
            token_endpoint: issuer.token.to_string(),
            resource: self.discovered.resource.to_string(),
            client: self.client.clone(),
            tokens,
        };
        let lock = self.logins.file.lock().await?;
        Ok(self.logins.file.put(&lock, &self.server, &login)?)
    }
}

/// The challenge of the server, which is greeted without a login for it.
async fn refused(http: &Client, server: &ToolServer, url: &Url) -> Result<Challenge, OAuthError> {
    const WHAT: &str = "the server";
    let request = match &server.transport {
        ToolServerTransport::Sse { .. } => {
            http.get(url.clone()).header(ACCEPT, "text/event-stream")
        }
        _ => {
            let hello = json!({
                "jsonrpc": "2.0",
                "id": 0,
                "method": "initialize",
                "params": greeting(&server.sampling),
            });
            http.post(url.clone())
                .header(ACCEPT, "application/json, text/event-stream")
                .header(CONTENT_TYPE, "application/json")
                .header("mcp-protocol-version", VERSION)
                .body(hello.to_string())
        }
    };
    let headers = match &server.transport {
        ToolServerTransport::Http { headers, .. } | ToolServerTransport::Sse { headers, .. } => {
            header_map(headers).map_err(|error| OAuthError::BadAddress(error.to_string()))?
        }
        ToolServerTransport::Stdio { .. } => return Err(OAuthError::NoAddress),
    };
    let request = request.headers(headers).timeout(server.start_limit);
    let response = request.send().await;
    let response = response.map_err(|error| OAuthError::Unreachable {
        what: WHAT,
        why: deepest(&error),
    })?;
    match response.status() {
        StatusCode::UNAUTHORIZED => Ok(Challenge::of(response.headers())),
        status if status.is_success() => Err(OAuthError::NotWanted),
        status if status.is_redirection() => Err(OAuthError::Redirected { what: WHAT, status }),
        status => Err(OAuthError::Status { what: WHAT, status }),
    }
}
