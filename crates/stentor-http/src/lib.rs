//! The HTTP client of everything that goes over the network: models, logins, MCP servers, the web.
//!
//! It is built when the first request is made and not before.
//! Building a client reads the system's certificates and takes milliseconds, which a program that
//! only shows its help, or talks to the offline model, should not spend.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use reqwest::redirect::{Action, Attempt, Policy};
use reqwest::{Certificate, Client, ClientBuilder, NoProxy, Proxy, StatusCode, Url};

/// How often a server may send a request on within its own host.
const REDIRECTS: usize = 5;

/// Hosts a proxy is never asked for: servers on this machine.
const LOOPBACK: &str = "localhost,127.0.0.0/8,::1";

/// Why there is no HTTP client.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    #[error(
        "cannot read the certificates in {path}: {reason}; check `ca_file` in the configuration"
    )]
    Certificates { path: PathBuf, reason: String },
    #[error("the proxy `{url}` from the environment is not usable: {reason}")]
    Proxy { url: String, reason: String },
    #[error("cannot set up HTTPS: {0}")]
    Client(String),
}

/// What the client is built from.
#[derive(Debug, Clone, Default)]
pub struct HttpSettings {
    /// Certificates to trust besides the system's, for whoever names none of their own.
    pub ca_file: Option<PathBuf>,
    pub proxies: Proxies,
    pub limits: HttpLimits,
}

/// Proxies as the environment names them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Proxies {
    pub http: Option<String>,
    pub https: Option<String>,
    /// Hosts to reach without a proxy, separated by commas.
    pub none_for: Option<String>,
}

/// How long to wait and how much to take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HttpLimits {
    pub connect_ms: u64,
    /// From the request to the head of the response. Local servers load a model in this time.
    pub answer_ms: u64,
    /// Between two pieces of a response.
    pub silence_ms: u64,
    /// The longest server-sent event.
    pub event_bytes: usize,
}

impl Default for HttpLimits {
    fn default() -> Self {
        Self {
            connect_ms: 20_000,
            answer_ms: 600_000,
            silence_ms: 300_000,
            event_bytes: 64 << 20,
        }
    }
}

/// Clients, one for each file of certificates in use, each built on first use.
#[derive(Debug, Default)]
pub struct Http {
    settings: HttpSettings,
    clients: Mutex<HashMap<Option<PathBuf>, Client>>,
}

impl Proxies {
    /// Reads the usual variables in lower and upper case. `HTTP_PROXY` in upper case alone is
    /// taken as well: this program is never run by a web server that sets it from a header.
    pub fn from_environment(get: impl Fn(&str) -> Option<String>) -> Self {
        let either = |lower: &str| {
            let upper = lower.to_ascii_uppercase();
            get(lower)
                .or_else(|| get(&upper))
                .filter(|value| !value.is_empty())
        };
        let all = either("all_proxy");
        Self {
            http: either("http_proxy").or_else(|| all.clone()),
            https: either("https_proxy").or(all),
            none_for: either("no_proxy"),
        }
    }
}

impl Http {
    /// Clients to be built from these settings.
    pub fn new(settings: HttpSettings) -> Self {
        Self {
            settings,
            clients: Mutex::default(),
        }
    }

    /// How long to wait and how much to take.
    pub fn limits(&self) -> &HttpLimits {
        &self.settings.limits
    }

    /// The client that trusts the system's certificates and those in `ca_file`, or else those that
    /// are set for everybody.
    pub fn client(&self, ca_file: Option<&Path>) -> Result<Client, HttpError> {
        let ca_file = ca_file.or(self.settings.ca_file.as_deref());
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        let key = ca_file.map(Path::to_owned);
        if let Some(client) = clients.get(&key) {
            return Ok(client.clone());
        }
        let client = self.build(ca_file)?;
        clients.insert(key, client.clone());
        Ok(client)
    }

    /// True once a client has been built.
    pub fn is_in_use(&self) -> bool {
        let clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        !clients.is_empty()
    }

    /// The hosts of the proxies, which have the addresses they have.
    pub fn proxy_hosts(&self) -> Vec<String> {
        let Proxies { http, https, .. } = &self.settings.proxies;
        let host = |proxy: &String| {
            let with_scheme = || Url::parse(&format!("http://{proxy}")).ok();
            let url = Url::parse(proxy).ok().filter(Url::has_host);
            Some(url.or_else(with_scheme)?.host_str()?.to_owned())
        };
        http.iter().chain(https).filter_map(host).collect()
    }

    fn build(&self, ca_file: Option<&Path>) -> Result<Client, HttpError> {
        finish(self.builder(ca_file)?)
    }

    /// What a client is built from, for whoever needs one that differs in something.
    pub fn builder(&self, ca_file: Option<&Path>) -> Result<ClientBuilder, HttpError> {
        let ca_file = ca_file.or(self.settings.ca_file.as_deref());
        // The first one wins, and every one of them is this one.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = Client::builder()
            .user_agent(concat!("stentor/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(Duration::from_millis(self.settings.limits.connect_ms))
            .redirect(Policy::custom(follow_within_the_same_origin))
            .no_proxy();
        for proxy in self.proxies()? {
            builder = builder.proxy(proxy);
        }
        if let Some(path) = ca_file {
            builder = builder.tls_certs_merge(certificates(path)?);
        }
        Ok(builder)
    }

    fn proxies(&self) -> Result<Vec<Proxy>, HttpError> {
        let Proxies {
            http,
            https,
            none_for,
        } = &self.settings.proxies;
        let mut direct = LOOPBACK.to_owned();
        if let Some(hosts) = none_for {
            direct.push(',');
            direct.push_str(hosts);
        }
        let mut proxies = Vec::new();
        for (url, make) in [
            (http, Proxy::http as fn(String) -> reqwest::Result<Proxy>),
            (https, Proxy::https),
        ] {
            let Some(url) = url else { continue };
            let proxy = make(url.clone()).map_err(|error| HttpError::Proxy {
                url: without_password(url),
                reason: deepest(&error),
            })?;
            proxies.push(proxy.no_proxy(NoProxy::from_string(&direct)));
        }
        Ok(proxies)
    }
}

/// The client that was described.
pub fn finish(builder: ClientBuilder) -> Result<Client, HttpError> {
    builder
        .build()
        .map_err(|error| HttpError::Client(deepest(&error)))
}

/// Follows a redirect that keeps the method and the origin.
///
/// Anything else is stopped and reported: a key must not travel to another host, and a `POST` that
/// turns into a `GET` asks a question nobody asked.
fn follow_within_the_same_origin(attempt: Attempt<'_>) -> Action {
    let keeps_method = matches!(
        attempt.status(),
        StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT
    );
    let keeps_origin = attempt
        .previous()
        .last()
        .is_some_and(|from| from.origin() == attempt.url().origin());
    if keeps_method && keeps_origin && attempt.previous().len() <= REDIRECTS {
        attempt.follow()
    } else {
        attempt.stop()
    }
}

fn certificates(path: &Path) -> Result<Vec<Certificate>, HttpError> {
    let wrong = |reason: String| HttpError::Certificates {
        path: path.to_owned(),
        reason,
    };
    let pem = std::fs::read(path).map_err(|error| wrong(error.to_string()))?;
    let found = Certificate::from_pem_bundle(&pem).map_err(|error| wrong(deepest(&error)))?;
    if found.is_empty() {
        return Err(wrong("it contains no PEM certificate".to_owned()));
    }
    Ok(found)
}

fn without_password(url: &str) -> String {
    match (url.split_once("://"), url.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, host))) => format!("{scheme}://…@{host}"),
        (None, Some((_, host))) => format!("…@{host}"),
        _ => url.to_owned(),
    }
}

/// The innermost cause of an error, which is the one that says something.
pub fn deepest(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proxies_come_from_the_usual_variables() {
        let env = |name: &str| match name {
            "https_proxy" => Some("http://a:1".to_owned()),
            "ALL_PROXY" => Some("http://b:2".to_owned()),
            "NO_PROXY" => Some("c".to_owned()),
            _ => None,
        };
        assert_eq!(
            Proxies::from_environment(env),
            Proxies {
                http: Some("http://b:2".into()),
                https: Some("http://a:1".into()),
                none_for: Some("c".into()),
            }
        );
    }

    #[test]
    fn the_hosts_of_proxies_are_known_however_they_are_written() {
        let http = Http::new(HttpSettings {
            proxies: Proxies {
                http: Some("proxy.corp:3128".into()),
                https: Some("http://me:hidden@10.0.0.1:8080".into()),
                none_for: None,
            },
            ..HttpSettings::default()
        });
        assert_eq!(http.proxy_hosts(), ["proxy.corp", "10.0.0.1"]);
    }

    #[test]
    fn a_proxy_that_is_none_is_named_without_its_password() {
        let http = Http::new(HttpSettings {
            proxies: Proxies {
                https: Some("http://me:hidden@[".into()),
                ..Proxies::default()
            },
            ..HttpSettings::default()
        });
        let error = http.client(None).unwrap_err().to_string();
        assert!(error.contains("http://…@["), "{error}");
        assert!(!error.contains("hidden"), "{error}");
    }

    #[test]
    fn no_client_exists_before_the_first_use_and_one_after() {
        let http = Http::default();
        assert!(!http.is_in_use());
        http.client(None).unwrap();
        http.client(None).unwrap();
        assert!(http.is_in_use());
    }

    #[test]
    fn a_file_without_certificates_is_a_clear_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ca.pem");
        std::fs::write(&path, "nothing").unwrap();
        let error = Http::default().client(Some(&path)).unwrap_err().to_string();
        assert!(
            error.contains("ca.pem") && error.contains("ca_file"),
            "{error}"
        );
    }
}
