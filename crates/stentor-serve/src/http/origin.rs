//! Whose requests are answered: those for a name that is ours, from a page that is ours.
//!
//! A browser lets any page send requests here. What such a page cannot choose are the headers `Host`
//! (a name that an attacker has resolve to this machine is still the attacker's name) and `Origin`.

use std::net::IpAddr;

use hyper::HeaderMap;
use hyper::header::{HOST, HeaderName, ORIGIN};

/// Set by browsers: how the page that sends a request is related to us.
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// The origins that are ours besides those that need no name.
#[derive(Debug, Clone, Default)]
pub struct Origins {
    /// As browsers write them: `https://stentor.example`.
    named: Vec<String>,
}

/// An origin that is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an origin; use the form `https://stentor.example`")]
pub struct NoOrigin(String);

/// A request that is not for us, or not from us.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ForeignRequest {
    #[error("this server does not answer for that name; see --origin")]
    Host,
    #[error("requests from other origins are not allowed; see --origin")]
    Origin,
}

impl Origins {
    /// Those of a proxy in front, for which requests come, too.
    pub fn named<'a>(origins: impl Iterator<Item = &'a str>) -> Result<Self, NoOrigin> {
        let read = |text: &'a str| {
            let host = text
                .strip_prefix("https://")
                .or_else(|| text.strip_prefix("http://"));
            let is_host = |host: &&str| !host.is_empty() && !host.contains(['/', '?', '#', '@']);
            match host.filter(is_host) {
                Some(_) => Ok(text.to_ascii_lowercase()),
                None => Err(NoOrigin(text.to_owned())),
            }
        };
        let named = origins.map(read).collect::<Result<_, _>>()?;
        Ok(Self { named })
    }

    /// Whether a request is for a name that is ours.
    pub fn check_host(&self, headers: &HeaderMap) -> Result<(), ForeignRequest> {
        let host = text(headers, &HOST).ok_or(ForeignRequest::Host)?;
        let is_named = || self.named.iter().any(|origin| host_of(origin) == host);
        match is_nobodys_name(&host) || is_named() {
            true => Ok(()),
            false => Err(ForeignRequest::Host),
        }
    }

    /// Whether a request was not sent by a page of somebody else.
    pub fn check_origin(&self, headers: &HeaderMap) -> Result<(), ForeignRequest> {
        let site = text(headers, &FETCH_SITE);
        if site.is_some_and(|site| site != "same-origin" && site != "none") {
            return Err(ForeignRequest::Origin);
        }
        if !headers.contains_key(ORIGIN) {
            return Ok(());
        }
        let (origin, host) = (text(headers, &ORIGIN), text(headers, &HOST));
        let is_ours = origin.zip(host).is_some_and(|(origin, host)| {
            origin == format!("http://{host}") || self.named.contains(&origin)
        });
        match is_ours {
            true => Ok(()),
            false => Err(ForeignRequest::Origin),
        }
    }
}

/// A header that is there once.
fn text(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    let mut values = headers.get_all(name).iter();
    let (first, second) = (values.next()?, values.next());
    match second {
        None => first.to_str().ok().map(str::to_ascii_lowercase),
        Some(_) => None,
    }
}

fn host_of(origin: &str) -> &str {
    origin.split_once("://").map_or(origin, |(_, host)| host)
}

/// Names that nobody can have resolve to another machine or take over: this machine's own, whichever
/// port was forwarded to us, and addresses.
fn is_nobodys_name(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let bare = name
        .strip_prefix('[')
        .and_then(|name| name.strip_suffix(']'));
    name == "localhost" || bare.unwrap_or(name).parse::<IpAddr>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(host: &str, more: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(HOST, host.parse().unwrap());
        for (name, value) in more {
            headers.append(*name, value.parse().unwrap());
        }
        headers
    }

    #[test]
    fn requests_are_answered_for_this_machine_and_the_names_it_was_given() {
        let origins = Origins::named(["https://Stentor.example"].into_iter()).unwrap();
        for host in [
            "localhost:7717",
            "LOCALHOST",
            "127.0.0.1:1",
            "[::1]:7717",
            "[::1]",
            "192.0.2.1:80",
            "stentor.example",
        ] {
            let checked = origins.check_host(&headers(host, &[]));
            assert_eq!(checked, Ok(()), "{host}");
        }
        for host in [
            "evil.example:7717",
            "127.0.0.1.evil.example",
            "localhost.evil.example:7717",
            "stentor.example.evil",
            "",
            "@localhost",
        ] {
            let checked = origins.check_host(&headers(host, &[]));
            assert_eq!(checked, Err(ForeignRequest::Host), "{host}");
        }
        let twice = headers("localhost:1", &[("host", "evil.example")]);
        assert_eq!(origins.check_host(&twice), Err(ForeignRequest::Host));
        assert_eq!(
            origins.check_host(&HeaderMap::new()),
            Err(ForeignRequest::Host)
        );
    }

    #[test]
    fn pages_of_others_are_refused() {
        let origins = Origins::named(["https://stentor.example"].into_iter()).unwrap();
        let check =
            |more: &[(&'static str, &str)]| origins.check_origin(&headers("localhost:7717", more));
        for ours in [
            &[][..],
            &[("origin", "http://localhost:7717")],
            &[("origin", "https://stentor.example")],
            &[("sec-fetch-site", "same-origin")],
            &[("sec-fetch-site", "none")],
        ] {
            assert_eq!(check(ours), Ok(()), "{ours:?}");
        }
        for foreign in [
            &[("origin", "null")][..],
            &[("origin", "http://localhost:7718")],
            &[("origin", "https://localhost:7717")],
            &[("origin", "http://evil.example")],
            &[("origin", "http://localhost:7717"), ("origin", "x")],
            &[("sec-fetch-site", "cross-site")],
            &[("sec-fetch-site", "same-site")],
        ] {
            assert_eq!(check(foreign), Err(ForeignRequest::Origin), "{foreign:?}");
        }
    }

    #[test]
    fn what_is_no_origin_is_said_at_once() {
        for text in ["stentor.example", "https://", "https://a/b", "ftp://a"] {
            assert!(Origins::named([text].into_iter()).is_err(), "{text}");
        }
    }
}
