//! What a node is told by its operator.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;

/// The usual time after which a node that is not heard of has lost its sessions.
const LEASE_SECONDS: u64 = 15;

/// `[fleet]` of the user's configuration.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FleetSettings {
    /// Where the NATS servers are, separated by commas.
    pub url: Option<String>,
    /// What all subjects and buckets begin with.
    pub prefix: String,
    /// Whose sessions they are.
    pub tenant: String,
    /// Who connects, where that is not in the address.
    pub user: Option<String>,
    pub password: Option<FleetSecret>,
    pub token: Option<FleetSecret>,
    /// A file with the seed of an nkey.
    pub nkey: Option<PathBuf>,
    /// A credentials file as NATS has them.
    pub credentials: Option<PathBuf>,
    /// Certificates that are trusted besides the usual ones.
    pub tls_ca: Option<PathBuf>,
    /// The certificate that this node shows, and its key.
    pub tls_certificate: Option<PathBuf>,
    pub tls_key: Option<PathBuf>,
    /// TLS begins before the server says anything (`handshake_first` of the servers).
    pub tls_first: bool,
    /// The name of this node. Usually that of the host.
    pub node: Option<String>,
    /// Labels of folders that other nodes have too, or a host label.
    pub places: BTreeMap<String, WorkPlace>,
    /// Sessions that this node owns at once.
    pub capacity: u32,
    /// Sessions that the tenant may have open at once over all nodes.
    pub tenant_limit: Option<u32>,
    /// How durable the servers are, where that cannot be seen: see the documentation.
    pub durability: Option<Durability>,
    /// The monitoring address of a server, to see how durable it is.
    pub monitor: Option<String>,
    /// How many servers store each journal. Those that exist keep what they were made with.
    pub replicas: Option<usize>,
    /// Seconds after which a node that is not heard of has lost its sessions.
    pub lease_seconds: u64,
}

/// A password or a token. It is never printed.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct FleetSecret(String);

impl FleetSecret {
    /// That of this text.
    pub fn new(text: String) -> Self {
        Self(text)
    }

    /// The text, for who sends it to the servers.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for FleetSecret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("(secret)")
    }
}

/// A folder that sessions can work in.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum WorkPlace {
    /// A folder that is there: shared, or the same on each node that names it.
    Folder(PathBuf),
    /// A folder that is checked out when a session needs it.
    Checkout(Checkout),
}

/// How a folder comes about: a commit of a repository.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Checkout {
    pub repository: String,
    pub commit: String,
    /// Where it is checked out to.
    pub path: PathBuf,
}

/// What the operator vouches for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Durability {
    /// Every write is synced before it is acknowledged.
    Synced,
    /// Writes are synced later, but so many servers hold each that not all lose power at once.
    Replicated,
    /// What was acknowledged may be lost with the power: for trying things out.
    None,
}

impl Default for FleetSettings {
    fn default() -> Self {
        Self {
            url: None,
            prefix: "stentor".to_owned(),
            tenant: "default".to_owned(),
            user: None,
            password: None,
            token: None,
            nkey: None,
            credentials: None,
            tls_ca: None,
            tls_certificate: None,
            tls_key: None,
            tls_first: false,
            node: None,
            places: BTreeMap::new(),
            capacity: 256,
            tenant_limit: None,
            durability: None,
            monitor: None,
            replicas: None,
            lease_seconds: LEASE_SECONDS,
        }
    }
}

impl FleetSettings {
    /// How long a node may not be heard of.
    pub fn lease(&self) -> Duration {
        Duration::from_secs(self.lease_seconds.clamp(1, 3600))
    }
}

impl WorkPlace {
    /// The folder.
    pub fn path(&self) -> &PathBuf {
        match self {
            Self::Folder(path) => path,
            Self::Checkout(checkout) => &checkout.path,
        }
    }
}
