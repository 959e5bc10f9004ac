//! Why nothing was fetched, in words that a model can pass on.

use std::net::IpAddr;

use stentor_agent::permission::CallRefused;

use crate::tool_error::ToolError;
use crate::truncation::size;

/// Why nothing was fetched.
#[derive(Debug, thiserror::Error)]
pub(super) enum FetchError {
    #[error("`{text}` is not a URL: {reason}. It must begin with https:// or http://")]
    NoUrl { text: String, reason: String },
    #[error("the URL is longer than {0} bytes")]
    TooLong(usize),
    #[error("only http and https can be fetched, not {0}")]
    Scheme(String),
    #[error("a URL with a user name or password is not fetched: leave that part out")]
    Password,
    #[error("port {0} belongs to another protocol and is not used for fetching")]
    Port(u16),
    #[error(
        "{}, and only the public internet is fetched. If the user wants this, they can add \"{allow}\" \
         to `web.allow_private` in their own configuration file",
        place(.host, *.address, .what)
    )]
    Private {
        host: String,
        address: IpAddr,
        what: &'static str,
        allow: String,
    },
    #[error(
        "{0} is the proxy of this machine and is not fetched from. If the user wants this, they can \
         add it to `web.allow_private` in their own configuration file"
    )]
    Proxy(String),
    #[error(
        "this session has no network: its sandbox is on without it. If the user wants pages to be \
         fetched, they can set `sandbox.network = true` in their own configuration file"
    )]
    NoNetwork,
    #[error("{host} could not be reached: {reason}")]
    Unreachable { host: String, reason: String },
    #[error("the connection to {host} broke while the page was read: {reason}")]
    Broken { host: String, reason: String },
    #[error("{host} took longer than {seconds} seconds (`web.timeout_s`)")]
    TooSlow { host: String, seconds: u64 },
    #[error("more than {0} redirects, the last one to {1}")]
    Redirects(usize, String),
    #[error("the page redirects (HTTP {0}) without saying where to")]
    NoLocation(u16),
    #[error("the redirect to {url} was not followed: {why}")]
    NotPermitted { url: String, why: CallRefused },
    #[error("the redirect to {to} was not followed: {reason}")]
    BadRedirect { to: String, reason: Box<FetchError> },
    #[error("{0} sends the page compressed ({1}) though that was not asked for; it is not read")]
    Compressed(String, String),
    #[error("the page is {kind}{}: only text and pictures (PNG, JPEG, GIF, WebP) are fetched", of_size(.bytes))]
    Binary { kind: String, bytes: Option<u64> },
    #[error("the picture is larger than {}, which is too large for a model", size(*.0))]
    LargePicture(u64),
    #[error("{0}")]
    Client(#[from] stentor_http::HttpError),
    #[error("Operation aborted")]
    Aborted,
}

/// Where a host is: one that is an address itself is not said to be at it.
fn place(host: &str, address: IpAddr, what: &str) -> String {
    let is_address = host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok();
    match is_address {
        true if what.ends_with("network") => format!("{host} is in {what}"),
        true => format!("{host} is {what}"),
        false => format!("{host} is at {address} ({what})"),
    }
}

fn of_size(bytes: &Option<u64>) -> String {
    bytes.map_or_else(String::new, |bytes| format!(", {}", size(bytes)))
}

impl From<FetchError> for ToolError {
    fn from(error: FetchError) -> Self {
        match error {
            FetchError::Aborted => Self::Aborted,
            error => Self::refused(format!("Not fetched: {error}")),
        }
    }
}
