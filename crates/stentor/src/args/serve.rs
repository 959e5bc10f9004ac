//! `stentor serve`, and the flag by which frontends reach it.

use std::convert::Infallible;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args as ClapArgs, Subcommand};

/// What `stentor serve` accepts.
#[derive(Debug, Clone, Default, ClapArgs)]
pub struct ServeArgs {
    #[command(subcommand)]
    pub action: Option<ServeAction>,
    /// The socket [default: STENTOR_SOCKET, or serve.sock in the runtime folder]
    #[arg(long, value_name = "PATH", global = true)]
    pub socket: Option<PathBuf>,
    /// Refuse more connections than this
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub max_connections: u32,
    /// Unload a session that no client has open when it was idle for so long [default: 1800]
    #[arg(long, value_name = "SECONDS")]
    pub unload_after: Option<u64>,
    /// Keep the connection of a relay that broke for so long [default: 60]
    #[arg(long, value_name = "SECONDS")]
    pub resume_within: Option<u64>,
    /// End by itself when nobody has been connected for so long
    #[arg(long, value_name = "SECONDS")]
    pub exit_when_idle: Option<u64>,
}

/// What to do about a server that runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Subcommand)]
pub enum ServeAction {
    /// Show the server that listens on the socket, and its clients
    Status,
    /// Stop the server that listens on the socket, and wait for its end
    Stop,
}

/// `--attach[=SOCKET]`: the socket, if one is named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttachFlag(pub Option<PathBuf>);

impl FromStr for AttachFlag {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Self((!text.is_empty()).then(|| PathBuf::from(text))))
    }
}
