//! The arguments of `stentor mcp`.

use clap::Subcommand;

use crate::config::Scope;

/// What to do with the MCP servers.
#[derive(Debug, Subcommand)]
pub enum McpAction {
    /// List the MCP servers (default)
    List,
    /// Add a server: `add NAME -- COMMAND ARGS…` or `add NAME --url URL`
    Add(McpAdd),
    /// Remove a server
    Remove {
        name: String,
        /// The configuration to remove it from
        #[arg(long, value_enum, default_value_t = McpScope::User)]
        scope: McpScope,
    },
    /// Start the servers and show what they provide
    Test {
        /// Test only these servers
        #[arg(value_name = "NAME")]
        names: Vec<String>,
    },
    /// Log in to a server that requires it (OAuth)
    Login {
        /// The name of the server, or its address
        server: String,
        /// Only print the address to open
        #[arg(long)]
        no_browser: bool,
    },
    /// Run as an MCP server on stdin and stdout, for agents that prompt and steer Stentor
    Serve,
    /// Forget the login to a server
    Logout {
        /// The name of the server, or its address
        server: String,
    },
}

/// The server to add.
#[derive(Debug, clap::Args)]
pub struct McpAdd {
    /// The name: letters, digits, `-` and `_`; it becomes part of the names of its tools
    pub name: String,
    /// The address of a remote server
    #[arg(long, value_name = "URL", required_unless_present = "command")]
    pub url: Option<String>,
    /// The transport [default: http]
    #[arg(long, value_enum, requires = "url", conflicts_with = "command")]
    pub transport: Option<McpTransport>,
    /// A header to send; `${VAR}` is expanded at each start; can be repeated
    #[arg(
        long,
        value_name = "NAME: VALUE",
        requires = "url",
        conflicts_with = "command"
    )]
    pub header: Vec<String>,
    /// A variable for the program; `${VAR}` is expanded at each start; can be repeated
    #[arg(long, value_name = "NAME=VALUE", conflicts_with = "url")]
    pub env: Vec<String>,
    /// The configuration to add it to: yours, or the project's, which others share
    #[arg(long, value_enum, default_value_t = McpScope::User)]
    pub scope: McpScope,
    /// The program and its arguments, after `--`
    #[arg(last = true, value_name = "COMMAND", conflicts_with = "url")]
    pub command: Vec<String>,
}

/// Whose file a server is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum McpScope {
    User,
    Project,
}

impl From<McpScope> for Scope {
    fn from(scope: McpScope) -> Self {
        match scope {
            McpScope::User => Self::User,
            McpScope::Project => Self::Project,
        }
    }
}

/// How a server with a URL is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum McpTransport {
    Http,
    Sse,
}
