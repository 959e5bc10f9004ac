//! Servers that bring tools, prompts and resources of their own, such as MCP servers: the
//! vocabulary.
//!
//! Who speaks to such servers is elsewhere. A configuration and a dialect's client say which ones a
//! session has; what they bring reaches the session the way everything does that is brought from
//! outside, as its hooks and its sources of prompts.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use stentor_text::redaction::{names_a_secret, redact, secrets_in_address, secrets_in_command};

/// How long a server has to start unless something else is said.
pub const START_LIMIT: Duration = Duration::from_secs(30);
/// How long a call may take without a sign of life unless something else is said.
pub const CALL_LIMIT: Duration = Duration::from_secs(600);

/// How long a call may take in all, signs of life or not, unless something else is said.
pub const TOTAL_LIMIT: Duration = Duration::from_secs(3600);

/// How often a server is started again in a row unless something else is said.
pub const RESTARTS: u32 = 5;

/// A server somebody wants. Sessions that want exactly the same share it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ToolServer {
    /// Unique among the servers of a session; part of the names of what it brings.
    pub name: String,
    pub transport: ToolServerTransport,
    /// Which of its tools are offered.
    pub tools: ToolChoice,
    /// How long it has to start.
    pub start_limit: Duration,
    /// How long a call may take without a sign of life.
    pub call_limit: Duration,
    /// How long a call may take in all.
    pub total_limit: Duration,
    /// How often it is started again when it fails several times in a row.
    pub restarts: u32,
    /// Whether its program runs in the sandbox, where there is one.
    pub sandboxed: bool,
    /// Whether it may ask the session's model, and how much.
    pub sampling: SamplingSettings,
    /// How one logs in to it.
    pub oauth: OAuthSettings,
}

/// Whether a server may have the session's model answer it, and how much in a session.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SamplingSettings {
    pub consent: SamplingConsent,
    pub calls: u32,
    /// Of input and output together.
    pub tokens: u64,
}

/// Who decides whether a server may ask the session's model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum SamplingConsent {
    /// A person, each time or once for the session.
    #[default]
    Ask,
    /// It may, as far as the limits go.
    Allow,
    Deny,
}

impl Default for SamplingSettings {
    fn default() -> Self {
        Self {
            consent: SamplingConsent::Ask,
            calls: 10,
            tokens: 50_000,
        }
    }
}

/// What is configured of the login to a server. Everything may be left to the server.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct OAuthSettings {
    /// A client that was registered by hand.
    pub client_id: Option<String>,
    pub client_secret: Option<String>,
    /// What the login is to allow.
    pub scopes: Vec<String>,
    /// Where the browser returns to.
    pub redirect: Option<String>,
}

/// Which tools of a server are offered, by the names they have there.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct ToolChoice {
    /// Only these; all when absent.
    pub only: Option<BTreeSet<String>>,
    /// Never these.
    pub except: BTreeSet<String>,
}

/// How a server is reached.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ToolServerTransport {
    /// A program that is started and spoken to through its pipes.
    Stdio {
        command: PathBuf,
        args: Vec<String>,
        /// What is added to the environment.
        env: Vec<(String, String)>,
        /// Where it runs; the session's folder when absent.
        cwd: Option<PathBuf>,
    },
    /// Streamable HTTP.
    Http {
        url: String,
        headers: Vec<(String, String)>,
    },
    /// The older HTTP with server-sent events.
    Sse {
        url: String,
        headers: Vec<(String, String)>,
    },
}

impl ToolServer {
    /// A server with the usual limits, all its tools offered.
    pub fn new(name: impl Into<String>, transport: ToolServerTransport) -> Self {
        Self {
            name: name.into(),
            transport,
            tools: ToolChoice::default(),
            start_limit: START_LIMIT,
            call_limit: CALL_LIMIT,
            total_limit: TOTAL_LIMIT,
            restarts: RESTARTS,
            sandboxed: true,
            sampling: SamplingSettings::default(),
            oauth: OAuthSettings::default(),
        }
    }

    /// `text` without the keys and passwords this server is given, for what is told of it.
    pub fn redacted(&self, text: &str) -> String {
        let mut secrets = self.transport.secrets();
        secrets.extend(self.oauth.client_secret.clone());
        redact(text, secrets.iter().map(String::as_str))
    }
}

impl ToolServerTransport {
    fn secrets(&self) -> Vec<String> {
        match self {
            Self::Stdio { args, env, .. } => {
                let args = secrets_in_command(args.iter().map(String::as_str));
                let args = args.into_iter().map(str::to_owned);
                let addresses = self.args_and_values().flat_map(secrets_in_address);
                // Folders are named in errors, and hiding them would hide what is wrong.
                let is_secret =
                    |(name, value): &&(String, String)| names_a_secret(name) || !is_path(value);
                let env = env.iter().filter(is_secret).map(|(_, value)| value.clone());
                args.chain(addresses).chain(env).collect()
            }
            Self::Http { url, headers } | Self::Sse { url, headers } => {
                let mut secrets = secrets_in_address(url);
                for (_, value) in headers {
                    secrets.push(value.clone());
                    // `Bearer KEY`: servers repeat the key alone.
                    secrets.extend(value.split_once(' ').map(|(_, key)| key.to_owned()));
                }
                secrets
            }
        }
    }

    fn args_and_values(&self) -> impl Iterator<Item = &str> {
        let (args, env) = match self {
            Self::Stdio { args, env, .. } => (args.as_slice(), env.as_slice()),
            Self::Http { .. } | Self::Sse { .. } => (&[][..], &[][..]),
        };
        let values = env.iter().map(|(_, value)| value);
        args.iter().chain(values).map(String::as_str)
    }
}

fn is_path(value: &str) -> bool {
    value.starts_with(['/', '.', '~'])
}

impl ToolChoice {
    /// Whether the tool of that name is offered.
    pub fn offers(&self, name: &str) -> bool {
        let chosen = self.only.as_ref().is_none_or(|only| only.contains(name));
        chosen && !self.except.contains(name)
    }
}
