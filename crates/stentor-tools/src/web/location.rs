//! What may be asked for at all: the parts of a URL that are looked at before anybody is asked.

use std::net::IpAddr;

use reqwest::Url;
use stentor_policy::WebAddress;

use super::address::not_public;
use super::error::FetchError;

/// Ports above 1023 at which other protocols listen that could take a request for one of theirs, as
/// the Fetch standard lists them. Below, only those of HTTP are used.
const PORTS_OF_OTHERS: &[u16] = &[
    1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669,
    6679, 6697, 10080,
];

/// Longer addresses are an answer that ran away, or a load of data.
pub(super) const MAX_URL_BYTES: usize = 8 * 1024;

/// A URL that may be asked for, if the policy lets it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WebLocation {
    pub url: Url,
    /// True when the user allows it whatever its address is.
    pub is_allowed_private: bool,
    host: String,
}

/// Hosts that may have any address: `host:port`, `host` for the ports of HTTP, or `host:*`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AllowedPrivate(Vec<(String, AllowedPorts)>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AllowedPorts {
    Usual,
    One(u16),
    All,
}

/// What is no host with a port.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a host, host:port or host:*")]
pub struct InvalidHost(String);

impl AllowedPrivate {
    /// Reads a list of hosts as the configuration has them.
    pub fn read<'a>(hosts: impl IntoIterator<Item = &'a String>) -> Result<Self, InvalidHost> {
        let read = |text: &String| {
            let invalid = || InvalidHost(text.clone());
            let (name, ports) = match text.rsplit_once(':') {
                Some((name, "*")) => (name, AllowedPorts::All),
                Some((name, port)) if !port.ends_with(']') => {
                    let port = port.parse().map_err(|_| invalid())?;
                    (name, AllowedPorts::One(port))
                }
                Some(_) | None => (text.as_str(), AllowedPorts::Usual),
            };
            let url = Url::parse(&format!("http://{name}/")).map_err(|_| invalid())?;
            let is_only_host = url.path() == "/"
                && url.port().is_none()
                && url.username().is_empty()
                && url.query().is_none()
                && url.fragment().is_none();
            let host = url
                .host_str()
                .filter(|_| is_only_host)
                .ok_or_else(invalid)?;
            Ok((bare(host).to_owned(), ports))
        };
        hosts
            .into_iter()
            .map(read)
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// The host and port of this address.
    pub(super) fn of(url: &Url) -> Self {
        let host = url.host_str().map(|host| bare(host).to_owned());
        let port = url.port_or_known_default().map(AllowedPorts::One);
        Self(host.zip(port).into_iter().collect())
    }

    fn holds(&self, host: &str, port: u16) -> bool {
        self.0.iter().any(|(name, ports)| {
            let has_port = match ports {
                AllowedPorts::Usual => [80, 443].contains(&port),
                AllowedPorts::One(one) => *one == port,
                AllowedPorts::All => true,
            };
            name == host && has_port
        })
    }
}

impl WebLocation {
    /// Looks at a URL as it was written.
    pub fn parse(text: &str, allowed: &AllowedPrivate) -> Result<Self, FetchError> {
        if text.len() > MAX_URL_BYTES {
            return Err(FetchError::TooLong(MAX_URL_BYTES));
        }
        let url = Url::parse(text.trim()).map_err(|error| FetchError::NoUrl {
            text: text.to_owned(),
            reason: error.to_string(),
        })?;
        Self::of(url, allowed)
    }

    /// Where a redirect from here leads.
    pub fn redirected(&self, to: &str, allowed: &AllowedPrivate) -> Result<Self, FetchError> {
        let url = self.url.join(to).map_err(|error| FetchError::NoUrl {
            text: to.to_owned(),
            reason: error.to_string(),
        })?;
        if url.as_str().len() > MAX_URL_BYTES {
            return Err(FetchError::TooLong(MAX_URL_BYTES));
        }
        Self::of(url, allowed)
    }

    fn of(mut url: Url, allowed: &AllowedPrivate) -> Result<Self, FetchError> {
        if !["http", "https"].contains(&url.scheme()) {
            return Err(FetchError::Scheme(url.scheme().to_owned()));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(FetchError::Password);
        }
        url.set_fragment(None);
        let host = url.host_str().unwrap_or_default();
        let host = bare(host).to_owned();
        let port = url.port_or_known_default().unwrap_or_default();
        let is_allowed_private = allowed.holds(&host, port);
        let location = Self {
            url,
            is_allowed_private,
            host,
        };
        if is_allowed_private {
            return Ok(location);
        }
        if (port < 1024 && ![80, 443].contains(&port)) || PORTS_OF_OTHERS.contains(&port) {
            return Err(FetchError::Port(port));
        }
        let literal = location.host.trim_start_matches('[').trim_end_matches(']');
        if let Ok(address) = literal.parse::<IpAddr>()
            && let Some(what) = not_public(address)
        {
            return Err(location.private(address, what));
        }
        Ok(location)
    }

    /// The error that it is at an address that is not everybody's.
    pub fn private(&self, address: IpAddr, what: &'static str) -> FetchError {
        FetchError::Private {
            host: self.host.clone(),
            address,
            what,
            allow: format!(
                "{}:{}",
                self.host,
                self.url.port_or_known_default().unwrap_or_default()
            ),
        }
    }

    /// The host as others know it.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// What the policy decides on.
    pub fn address(&self) -> WebAddress {
        let port = self.url.port().map(|port| format!(":{port}"));
        WebAddress {
            host: format!("{}{}", self.host, port.unwrap_or_default()),
            url: self.url.to_string(),
        }
    }
}

/// A host without the dot at its end that means the same.
fn bare(host: &str) -> &str {
    host.strip_suffix('.').unwrap_or(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str, allowed: &[&str]) -> Result<String, String> {
        let allowed: Vec<String> = allowed.iter().map(|text| (*text).to_owned()).collect();
        let allowed = AllowedPrivate::read(&allowed).unwrap();
        let location = WebLocation::parse(text, &allowed).map_err(|error| error.to_string())?;
        Ok(location.address().host)
    }

    #[test]
    fn a_url_is_known_by_its_host_and_an_unusual_port() {
        for (text, host) in [
            ("https://Docs.RS/tokio#x", "docs.rs"),
            ("https://docs.rs./", "docs.rs"),
            ("http://docs.rs:80/", "docs.rs"),
            ("http://docs.rs:443/", "docs.rs:443"),
            ("https://docs.rs:8443/", "docs.rs:8443"),
            ("https://bücher.example/", "xn--bcher-kva.example"),
            ("http://[2606:4700::1]/", "[2606:4700::1]"),
        ] {
            assert_eq!(parsed(text, &[]).as_deref(), Ok(host), "{text}");
        }
    }

    #[test]
    fn what_is_no_page_on_the_web_is_refused() {
        for (text, expected) in [
            ("docs.rs", "`docs.rs` is not a URL"),
            ("file:///etc/passwd", "only http and https"),
            ("ftp://docs.rs/", "only http and https"),
            ("javascript:alert(1)", "only http and https"),
            ("https://me:secret@docs.rs/", "user name or password"),
            ("https://docs.rs@evil.test/", "user name or password"),
            ("http://docs.rs:22/", "port 22"),
            ("http://docs.rs:6667/", "port 6667"),
            ("http://127.0.0.1/", "127.0.0.1 is this machine"),
            ("http://2130706433/", "127.0.0.1 is this machine"),
            ("http://0x7f.1/", "127.0.0.1 is this machine"),
            ("http://0177.0.0.1/", "127.0.0.1 is this machine"),
            ("http://127.1./", "127.0.0.1 is this machine"),
            ("http://[::1]:3000/", "[::1] is this machine"),
            (
                "http://[::ffff:169.254.169.254]/",
                " is in the local network, ",
            ),
            (
                "http://169.254.169.254/latest",
                " is in the local network, ",
            ),
        ] {
            let error = parsed(text, &[]).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
        let long = format!("https://docs.rs/{}", "a".repeat(MAX_URL_BYTES));
        assert!(parsed(&long, &[]).unwrap_err().contains("longer than"));
    }

    #[test]
    fn what_the_user_allows_is_about_that_host_and_port() {
        for (allowed, text, is_allowed) in [
            ("localhost:3000", "http://localhost:3000/", true),
            ("localhost:3000", "http://localhost:3001/", false),
            ("127.0.0.1:3000", "http://127.0.0.1:3000/", true),
            ("[::1]:3000", "http://[::1]:3000/", true),
            ("wiki.corp", "https://WIKI.corp/", true),
            ("wiki.corp", "https://wiki.corp:8443/", false),
            ("wiki.corp:*", "https://wiki.corp:22/", true),
            ("wiki.corp", "https://a.wiki.corp/", false),
        ] {
            let allowed = AllowedPrivate::read(&[allowed.to_owned()]).unwrap();
            let location = WebLocation::parse(text, &allowed);
            let found = location.is_ok_and(|location| location.is_allowed_private);
            assert_eq!(found, is_allowed, "{text}");
        }
        for wrong in ["", "a b", "http://x", "x:port", "x/y", "me@x", "x:99999"] {
            assert!(
                AllowedPrivate::read(&[wrong.to_owned()]).is_err(),
                "{wrong}"
            );
        }
    }
}
