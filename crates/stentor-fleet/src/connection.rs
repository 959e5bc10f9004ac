//! The connection to the NATS servers: where they are, who connects, and what they are trusted by.

use std::path::{Path, PathBuf};
use std::time::Duration;

use async_nats::{Client, ConnectOptions, ServerAddr};

use crate::error::FleetError;
use crate::names::TenantNames;
use crate::settings::{FleetSecret, FleetSettings};

/// How long a request to the servers may take.
pub(crate) const REQUEST_WAIT: Duration = Duration::from_secs(5);

/// How often in a lease the connection is checked, and how often at most.
const PINGS: u32 = 6;
const SHORTEST_PING: Duration = Duration::from_millis(500);

/// The port on which servers are usually monitored.
const USUAL_MONITOR: u16 = 8222;

/// Connects as the settings say.
pub(crate) async fn connect(
    settings: &FleetSettings,
    names: &TenantNames,
    node: &str,
) -> Result<Client, FleetError> {
    let servers = Servers::of(settings.url.as_deref().unwrap_or_default());
    let options = ConnectOptions::new()
        .name(format!("stentor {node}"))
        .custom_inbox_prefix(names.inbox())
        .request_timeout(Some(REQUEST_WAIT))
        // A server that does not answer is left for another one well before the lease is over.
        .ping_interval((settings.lease() / PINGS).max(SHORTEST_PING));
    let options = authenticated(options, settings, &servers).await?;
    let options = with_tls(options, settings)?;
    let connected = options.connect(&servers.addresses[..]).await;
    connected.map_err(|why| FleetError::Connect {
        url: servers.addresses.join(","),
        why: why.to_string(),
    })
}

/// Where the servers of an address are monitored unless somebody has chosen otherwise, separated by
/// commas.
pub(crate) fn usual_monitors(url: &str) -> String {
    let addresses = Servers::of(url).addresses;
    let addresses = addresses.iter().filter_map(|one| {
        let server: ServerAddr = one.parse().ok()?;
        let host = server.host();
        Some(match host.contains(':') {
            true => format!("http://[{host}]:{USUAL_MONITOR}"),
            false => format!("http://{host}:{USUAL_MONITOR}"),
        })
    });
    addresses.collect::<Vec<String>>().join(",")
}

/// Who connects. What the settings name goes before what is in the address.
async fn authenticated(
    mut options: ConnectOptions,
    settings: &FleetSettings,
    servers: &Servers,
) -> Result<ConnectOptions, FleetError> {
    let (user, password) = match &settings.user {
        Some(user) => (Some(user), settings.password.as_ref()),
        None => (servers.user.as_ref(), servers.password.as_ref()),
    };
    match (user, password) {
        (Some(user), password) => {
            let password = password.map_or("", FleetSecret::reveal).to_owned();
            options = options.user_and_password(user.clone(), password);
        }
        (None, Some(token)) if settings.token.is_none() => {
            options = options.token(token.reveal().to_owned());
        }
        (None, _) => {}
    }
    if let Some(token) = &settings.token {
        options = options.token(token.reveal().to_owned());
    }
    if let Some(path) = &settings.nkey {
        let text = text_of(path).await?;
        let mut lines = text.lines().map(str::trim);
        let seed = lines.rfind(|line| line.starts_with('S'));
        let seed = seed.ok_or_else(|| FleetError::Credentials {
            path: path.clone(),
            why: std::io::Error::other("it has no seed, which is a line that begins with S"),
        })?;
        options = options.nkey(seed.to_owned());
    }
    if let Some(path) = &settings.credentials {
        let text = text_of(path).await?;
        options = options.credentials(&text).map_err(unusable(path))?;
    }
    Ok(options)
}

fn with_tls(
    mut options: ConnectOptions,
    settings: &FleetSettings,
) -> Result<ConnectOptions, FleetError> {
    let files = [
        &settings.tls_ca,
        &settings.tls_certificate,
        &settings.tls_key,
    ];
    for path in files.into_iter().flatten() {
        // What is missing is said with its name.
        std::fs::File::open(path).map_err(unusable(path))?;
    }
    if let Some(path) = &settings.tls_ca {
        options = options
            .add_root_certificates(path.clone())
            .require_tls(true);
    }
    match (&settings.tls_certificate, &settings.tls_key) {
        (Some(certificate), Some(key)) => {
            options = options
                .add_client_certificate(certificate.clone(), key.clone())
                .require_tls(true);
        }
        (None, None) => {}
        (Some(path), None) | (None, Some(path)) => {
            return Err(FleetError::Credentials {
                path: path.clone(),
                why: std::io::Error::other("`tls_certificate` and `tls_key` belong together"),
            });
        }
    }
    Ok(match settings.tls_first {
        true => options.tls_first(),
        false => options,
    })
}

async fn text_of(path: &Path) -> Result<String, FleetError> {
    let text = tokio::fs::read_to_string(path).await;
    text.map_err(unusable(path))
}

fn unusable(path: &Path) -> impl FnOnce(std::io::Error) -> FleetError + use<> {
    let path: PathBuf = path.to_owned();
    move |why| FleetError::Credentials { path, why }
}

/// What is in the addresses of the servers. `nats://USER:PASSWORD@HOST` and `nats://TOKEN@HOST` are
/// taken apart, since nobody needs to see the former part and the client does not look at it.
#[derive(Debug, Default, PartialEq, Eq)]
struct Servers {
    /// Without users and passwords.
    addresses: Vec<String>,
    user: Option<String>,
    /// A password if there is a user, else a token.
    password: Option<FleetSecret>,
}

impl Servers {
    /// The first user counts: the servers of a cluster know the same ones.
    fn of(url: &str) -> Self {
        let mut servers = Self::default();
        for one in url.split(',').map(str::trim) {
            let (scheme, rest) = match one.split_once("://") {
                Some((scheme, rest)) => (format!("{scheme}://"), rest),
                None => (String::new(), one),
            };
            let (credentials, host) = match rest.rsplit_once('@') {
                Some((credentials, host)) => (Some(credentials), host),
                None => (None, rest),
            };
            servers.addresses.push(format!("{scheme}{host}"));
            let Some(credentials) = credentials.filter(|_| servers.password.is_none()) else {
                continue;
            };
            match credentials.split_once(':') {
                Some((user, password)) => {
                    servers.user = Some(decoded(user));
                    servers.password = Some(FleetSecret::new(decoded(password)));
                }
                None => servers.password = Some(FleetSecret::new(decoded(credentials))),
            }
        }
        servers
    }
}

/// Text of an address in which `%40` stands for `@`.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let hex = after.get(..2).filter(|_| first == b'%');
        let hex = hex.and_then(|hex| std::str::from_utf8(hex).ok());
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_monitored_on_their_own_hosts_unless_said_otherwise() {
        for (url, monitors) in [
            ("nats://127.0.0.1:4222", "http://127.0.0.1:8222"),
            ("u:p@a:1, tls://b", "http://a:8222,http://b:8222"),
            ("nats://[::1]:4222", "http://[::1]:8222"),
        ] {
            assert_eq!(usual_monitors(url), monitors);
        }
    }

    #[test]
    fn user_password_and_token_are_taken_out_of_an_address() {
        let secret = |text: &str| Some(FleetSecret::new(text.to_owned()));
        for (url, addresses, user, password) in [
            ("nats://a:4222", "nats://a:4222", None, None),
            ("nats://u:p@a:1", "nats://a:1", Some("u"), secret("p")),
            ("u:p@a:1, nats://b", "a:1,nats://b", Some("u"), secret("p")),
            (
                "nats://a,tls://u:p%40%2c%zz@b",
                "nats://a,tls://b",
                Some("u"),
                secret("p@,%zz"),
            ),
            ("nats://t0ken@a", "nats://a", None, secret("t0ken")),
        ] {
            let servers = Servers::of(url);
            assert_eq!(servers.addresses.join(","), addresses, "{url}");
            assert_eq!(servers.user.as_deref(), user, "{url}");
            assert_eq!(servers.password, password, "{url}");
        }
        assert!(!format!("{:?}", Servers::of("nats://u:hidden@a")).contains("hidden"));
    }
}
