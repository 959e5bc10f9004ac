//! What both ways over HTTP have in common.

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Client, Url};

use std::time::Duration;

/// How long a connection may take to come about.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);
/// More redirections than this lead nowhere.
const REDIRECTIONS: usize = 5;

/// A client that sends what it is told to no other server than the one it was told to.
pub(super) fn client() -> Result<Client, String> {
    // The first one wins, and every one of them is this one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    // Headers carry secrets, so another origin is not followed to.
    let nearby = Policy::custom(|attempt| {
        let first = attempt.previous().first().map(Url::origin);
        match first == Some(attempt.url().origin()) && attempt.previous().len() <= REDIRECTIONS {
            true => attempt.follow(),
            false => attempt.stop(),
        }
    });
    Client::builder()
        .user_agent(concat!("stentor/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT_LIMIT)
        .redirect(nearby)
        .build()
        .map_err(|error| error.to_string())
}

/// The headers somebody configured.
pub(super) fn headers(given: &[(String, String)]) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    for (name, value) in given {
        // A value may be a secret and is never repeated.
        let wrong = || format!("the header {name:?} is not one HTTP can carry");
        let parsed: HeaderName = name.parse().map_err(|_| wrong())?;
        let mut value: HeaderValue = value.parse().map_err(|_| wrong())?;
        value.set_sensitive(true);
        headers.insert(parsed, value);
    }
    Ok(headers)
}

/// The address somebody configured.
pub(super) fn address(url: &str) -> Result<Url, String> {
    let parsed = Url::parse(url).map_err(|error| format!("its url is none: {error}"))?;
    match parsed.scheme() {
        "http" | "https" => Ok(parsed),
        other => Err(format!("its url begins with {other:?}, not with http")),
    }
}

/// The words of an error without the address, which may carry a secret, and with its causes.
pub(super) fn told(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut text = error.to_string();
    let mut source = std::error::Error::source(&error);
    while let Some(cause) = source {
        text.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_must_be_one_of_http() {
        assert!(address("https://example.org/mcp").is_ok());
        for (url, why) in [
            (
                "example.org",
                "its url is none: relative URL without a base",
            ),
            (
                "file:///etc/passwd",
                "its url begins with \"file\", not with http",
            ),
        ] {
            assert_eq!(address(url).unwrap_err(), why);
        }
    }

    #[test]
    fn a_wrong_header_is_named_and_its_value_is_not() {
        let wrong = headers(&[("X".to_owned(), "se\ncret".to_owned())]);
        assert_eq!(
            wrong.unwrap_err(),
            "the header \"X\" is not one HTTP can carry"
        );
    }
}
