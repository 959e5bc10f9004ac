//! The words of `stentor mcp`.

use clap::Subcommand;

use crate::config::Scope;

/// What to do with the MCP servers.
#[derive(Debug, Subcommand)]
pub enum McpAction {
    /// List them (the default)
    List,
    /// Add one: `add NAME -- COMMAND ARGS…`, or `add NAME --url URL`
    Add(McpAdd),
    /// Remove one
    Remove {
        name: String,
        /// From whose file
        #[arg(long, value_enum, default_value_t = McpScope::User)]
        scope: McpScope,
    },
    /// Start them, and show what they bring
    Test {
        /// Only these
        #[arg(value_name = "NAME")]
        names: Vec<String>,
    },
}

/// The server to add.
#[derive(Debug, clap::Args)]
pub struct McpAdd {
    /// Letters, digits, `-` and `_`: it is part of the names of its tools
    pub name: String,
    /// Where it is reached, if it is no program of this machine
    #[arg(long, value_name = "URL", required_unless_present = "command")]
    pub url: Option<String>,
    /// How it is reached [default: http for a URL]
    #[arg(long, value_enum, requires = "url", conflicts_with = "command")]
    pub transport: Option<McpTransport>,
    /// A header it is sent; `${VAR}` is filled in at each start; may be given twice
    #[arg(
        long,
        value_name = "NAME: VALUE",
        requires = "url",
        conflicts_with = "command"
    )]
    pub header: Vec<String>,
    /// A variable its program is given; `${VAR}` is filled in at each start; may be given twice
    #[arg(long, value_name = "NAME=VALUE", conflicts_with = "url")]
    pub env: Vec<String>,
    /// Into whose file: yours, or the project's, which others get too
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
