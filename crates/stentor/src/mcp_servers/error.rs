//! What can be wrong with a server that is written down.

use stentor_agent::project_files::NotRead;

/// Why a server makes no sense.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    #[error(
        "a server's name has 1 to 40 letters, digits, `-` and `_`, since it is part of the names of \
         its tools"
    )]
    Name,
    #[error("{}", .0.message())]
    Toml(#[from] toml::de::Error),
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    #[error("it has both a `command` and a `url`")]
    CommandAndUrl,
    #[error("it needs either `command`, as in \"npx\" with `args`, or `url`")]
    NeitherCommandNorUrl,
    #[error("a server with a `command` has the transport \"stdio\"")]
    TransportOfCommand,
    #[error("a server with a `url` has the transport \"http\" or \"sse\"")]
    TransportOfUrl,
    #[error("`headers` are for a server with a `url`")]
    HeadersOfCommand,
    #[error("its `command` is empty")]
    EmptyCommand,
    #[error("`args`, `env` and `cwd` are for a server with a `command`")]
    ProcessOfUrl,
    #[error("`oauth` is for a server with a `url`")]
    OAuthOfCommand,
    #[error("only your own file may set `sampling = \"allow\"`")]
    SamplingByProject,
    #[error("only your own file may set `sandbox = false`")]
    UnsandboxedByProject,
    /// The rest of it may be a secret and is not repeated.
    #[error("the URL {0}; it must look like https://example.org/mcp")]
    Url(&'static str),
    #[error("{0:?} is not a valid variable name: it contains a blank or a control character")]
    Variable(String),
    #[error("{0:?} is not a valid header name: use letters, digits and `-`")]
    HeaderName(String),
    /// The value may be a secret.
    #[error("the value of the header {0} contains a line break or another control character")]
    HeaderValue(String),
}

/// Why a whole file of servers is left out.
#[derive(Debug, thiserror::Error)]
pub(super) enum ServerFileError {
    #[error(transparent)]
    NotRead(#[from] NotRead),
    #[error(transparent)]
    Json(#[from] serde_json::Error),
}
