//! Why a login to a server did not work, and what to do about it.

use reqwest::StatusCode;
use stentor_http::HttpError;
use stentor_oauth::{CredentialFileError, NoRandomness, PasteError};

/// Why a login to a server did not work. Nothing that was stored before is lost by any of these.
#[derive(Debug, thiserror::Error)]
pub enum OAuthError {
    #[error("it is a local program; only a server with a `url` has a login")]
    NoAddress,
    #[error("its `url` is invalid: {0}")]
    BadAddress(String),
    #[error("its `headers` already have an Authorization; remove that to log in instead")]
    OwnHeader,
    #[error("it answers without a login")]
    NotWanted,
    #[error("{what} cannot be reached: {why}")]
    Unreachable { what: &'static str, why: String },
    #[error("{what} answered with HTTP {status}")]
    Status {
        what: &'static str,
        status: StatusCode,
    },
    #[error("{what} answered with HTTP {status}, which leads elsewhere; that is not followed")]
    Redirected {
        what: &'static str,
        status: StatusCode,
    },
    #[error("{what} sent more than {limit_kib} KiB, which is not read")]
    TooLarge {
        what: &'static str,
        limit_kib: usize,
    },
    /// Where, not what: the text may be a token.
    #[error("the answer of {what} is invalid at line {line}, column {column}")]
    Unreadable {
        what: &'static str,
        line: usize,
        column: usize,
    },
    #[error("{what} is {url:?}, which is not https; a login there could be read by others")]
    Insecure { what: &'static str, url: String },
    #[error("{what} is {url:?}, which is not an address")]
    NotAnAddress { what: &'static str, url: String },
    #[error("it claims to be another server, {named:?}; a token for that one would not be its own")]
    OtherResource { named: String },
    #[error(
        "it says nothing of how to log in; give it a header such as Authorization, or ask whoever \
         runs it"
    )]
    NoAuthorizationServer,
    #[error("nothing describes its authorization server {issuer}")]
    NoMetadata { issuer: String },
    #[error(
        "its authorization server is {expected}, but its description names {named:?}, which may belong to somebody else"
    )]
    OtherIssuer { expected: String, named: String },
    #[error(
        "its authorization server does not support PKCE with S256, so that a code could be stolen; \
         ask whoever runs it"
    )]
    NoProof,
    #[error(
        "its authorization server registers no clients by itself; register one there and set `oauth \
         = {{ client_id = \"…\" }}` for the server"
    )]
    NoRegistration,
    #[error("the registration was refused: {0}")]
    NotRegistered(String),
    #[error("the login was refused: {0}")]
    Refused(String),
    #[error("it gave a token of the type {0:?}; only Bearer can be used")]
    TokenType(String),
    #[error("it gave a token that has expired already; check the clocks of both sides")]
    ExpiredAtOnce,
    #[error("cannot wait for the browser: paste the address it was redirected to, or `code#state`")]
    NothingToWaitFor,
    #[error(transparent)]
    Pasted(#[from] PasteError),
    #[error(transparent)]
    NoRandomness(#[from] NoRandomness),
    #[error(transparent)]
    File(#[from] CredentialFileError),
    #[error(transparent)]
    Http(#[from] HttpError),
}
