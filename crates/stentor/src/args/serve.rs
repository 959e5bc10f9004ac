//! `stentor serve`, and the flag by which frontends reach it.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
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
    /// Also serve HTTP and WebSocket, and the page; on loopback unless an address is named
    #[arg(long, value_name = "[ADDRESS:]PORT")]
    pub http: Option<HttpAddress>,
    /// The file with the tokens of HTTP clients [default: serve.token beside the socket]
    #[arg(long, value_name = "PATH", requires = "http")]
    pub token_file: Option<PathBuf>,
    /// Also answer requests for this origin, such as a proxy in front; can be repeated
    #[arg(long, value_name = "URL", requires = "http")]
    pub origin: Vec<String>,
    /// Refuse more connections than this
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub max_connections: u32,
    /// Unload a session no client has open after this much idle time [default: 1800]
    #[arg(long, value_name = "SECONDS")]
    pub unload_after: Option<u64>,
    /// How long to keep a relay's broken connection [default: 300]
    #[arg(long, value_name = "SECONDS")]
    pub resume_within: Option<u64>,
    /// Act as a node of the fleet at these NATS servers [default: `url` of [fleet]]
    #[arg(long, value_name = "URL", num_args = 0..=1, default_missing_value = "")]
    pub fleet: Option<String>,
    /// Exit after this long without clients
    #[arg(long, value_name = "SECONDS")]
    pub exit_when_idle: Option<u64>,
}

/// What `stentor fleet` accepts.
#[derive(Debug, Clone, ClapArgs)]
pub struct FleetArgs {
    #[command(subcommand)]
    pub action: FleetAction,
    /// The NATS servers of the fleet [default: `url` of [fleet]]
    #[arg(long, value_name = "URL", global = true)]
    pub url: Option<String>,
}

/// What to do about a fleet.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum FleetAction {
    /// Show the nodes: their places, sessions and capacity
    Status,
    /// Show all sessions: what each is doing, and who owns it
    Sessions,
    /// Move all sessions of a node to others; it accepts no new ones
    Drain {
        /// The name of the node
        node: String,
    },
    /// Move a session to another node
    Move {
        /// The id of the session
        session: String,
        /// The name of the node
        node: String,
    },
}

/// What `stentor page` accepts.
#[derive(Debug, Clone, Default, ClapArgs)]
pub struct PageArgs {
    /// The socket of the server [default: STENTOR_SOCKET, or serve.sock in the runtime folder]
    #[arg(long, value_name = "PATH")]
    pub socket: Option<PathBuf>,
    /// Print the address instead of opening it
    #[arg(long)]
    pub print: bool,
    /// A page that shows what happens and can change nothing
    #[arg(long)]
    pub observe: bool,
}

/// `--http`: a port on loopback, or an address with a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HttpAddress(pub SocketAddr);

/// Text that is no address to listen on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected a port, or an address with a port such as 127.0.0.1:7717 or [::1]:7717")]
pub struct NoAddress;

impl FromStr for HttpAddress {
    type Err = NoAddress;

    fn from_str(text: &str) -> Result<Self, NoAddress> {
        let port = || Ok(SocketAddr::from((Ipv4Addr::LOCALHOST, text.parse()?)));
        let local = || Some(text.strip_prefix("localhost:")?.parse::<u16>());
        let address = match local() {
            Some(port) => port.map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port))),
            None => port(),
        };
        let address = address.map_err(|_: std::num::ParseIntError| NoAddress);
        address
            .or_else(|error| text.parse().map_err(|_| error))
            .map(Self)
    }
}

/// What to do about a server that runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Subcommand)]
pub enum ServeAction {
    /// Show the server that listens on the socket, and its clients
    Status,
    /// Stop the server that listens on the socket, and wait until it has exited
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
