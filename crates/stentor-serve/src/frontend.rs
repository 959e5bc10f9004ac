//! A frontend that is to be served, in whichever dialect: the agent it drives and what its dialect
//! was started with.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;

use stentor_agent::agent::{Agent, AgentError};
use stentor_agent::live_sessions::LiveSessions;
use stentor_agent::reservations::Reservations;
use stentor_journal::session_files::SessionFiles;
use stentor_journal::store::JournalStore;
use stentor_wire::attach::{AttachRefusal, ClientHello};
use tokio::sync::watch;

use crate::acp::{self, AcpOptions};
use crate::connection::{Access, Connection};
use crate::login::{Login, WatchedLogin};
use crate::omp::{self, OmpOptions};
use crate::page::{self, PageOptions};
use crate::proxy::Peers;
use crate::psi::{self, PsiOptions};
use crate::synaps::{self, SynapsError, SynapsOptions};

/// A frontend of one dialect.
pub enum Frontend {
    Acp(Agent, AcpOptions),
    Omp(Agent, OmpOptions),
    Psi(Agent, PsiOptions),
    Synaps(Agent, SynapsOptions),
    /// A browser.
    Page(Agent, PageOptions),
}

/// Where all clients of a server have their new sessions.
#[derive(Clone)]
pub struct Storing {
    pub files: SessionFiles,
    pub journals: Arc<dyn JournalStore>,
}

impl Storing {
    /// Makes the folder of a client, if it is not there and can be made. Blocks.
    pub(crate) fn make_folder(&self, cwd: &Path) -> Result<(), AttachRefusal> {
        if cwd.is_dir() || !self.journals.can_make_folder(cwd) {
            return Ok(());
        }
        self.journals.make_folder(cwd).map_err(|why| AttachRefusal {
            message: why.to_string(),
            status: 1,
        })
    }
}

impl Storing {
    /// Reserves capacity for the next session of a client in a folder.
    pub(crate) fn reserve(
        &self,
        cwd: &Path,
        reservations: &Reservations,
    ) -> Result<(), AttachRefusal> {
        let Some(folder) = self.files.folder(cwd) else {
            return Ok(());
        };
        let reserved = self.journals.reserve(&folder, cwd);
        let reserved = reserved.map_err(|why| AttachRefusal {
            message: why.to_string(),
            status: AttachRefusal::FULL,
        })?;
        if let Some(reserved) = reserved {
            reservations.put(reserved);
        }
        Ok(())
    }
}

impl fmt::Debug for Storing {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Storing").field(&self.files).finish()
    }
}

/// Why a client could not be served at all.
#[derive(Debug, thiserror::Error)]
pub enum DialectError {
    #[error(transparent)]
    Omp(AgentError),
    #[error(transparent)]
    Synaps(#[from] SynapsError),
    #[error("the page cannot be served: {0}")]
    Page(io::Error),
}

/// Sets frontends up from what their clients say: reads the configuration and prepares an agent.
pub trait FrontendSetup: Send + Sync {
    /// The frontend of a client, or why it is not served. Reads files.
    fn frontend(&self, client: &ClientHello) -> Result<Frontend, AttachRefusal>;
}

/// How a client of a server shares its sessions.
pub struct Sharing {
    /// The sessions of all clients.
    pub live: LiveSessions,
    pub access: Access,
    /// It is about to open a session by itself and needs none to begin with.
    pub visits: bool,
    /// Where the id of the session is published that it opened last.
    pub opened: Option<watch::Sender<Option<String>>>,
    /// Capacity for the next sessions that it begins.
    pub reservations: Reservations,
}

impl Frontend {
    /// The same, whose sessions are shared with the other clients of a server.
    #[must_use]
    pub fn sharing(self, sharing: &Sharing) -> Self {
        let observes = sharing.access == Access::Observe;
        let share = |agent: Agent| {
            let mut agent = agent
                .sharing(sharing.live.clone(), observes)
                .with_reservations(sharing.reservations.clone());
            if sharing.visits {
                agent = agent.visiting();
            }
            match &sharing.opened {
                Some(opened) => agent.publishing_opened(opened.clone()),
                None => agent,
            }
        };
        let login = |login: Arc<dyn Login>| match observes {
            true => Arc::new(WatchedLogin(login)),
            false => login,
        };
        match self {
            Self::Acp(agent, mut options) => {
                options.login = options.login.map(login);
                Self::Acp(share(agent), options)
            }
            Self::Omp(agent, mut options) => {
                options.login = login(options.login);
                Self::Omp(share(agent), options)
            }
            Self::Psi(agent, mut options) => {
                options.login = options.login.map(login);
                Self::Psi(share(agent), options)
            }
            Self::Synaps(agent, options) => Self::Synaps(share(agent), options),
            Self::Page(agent, options) => Self::Page(share(agent), options),
        }
    }

    /// The same, whose new sessions go to one place.
    #[must_use]
    pub(crate) fn storing_in(self, storing: &Storing) -> Self {
        let store =
            |agent: Agent| agent.storing_in(storing.files.clone(), Arc::clone(&storing.journals));
        match self {
            Self::Acp(agent, options) => Self::Acp(store(agent), options),
            Self::Omp(agent, options) => Self::Omp(store(agent), options),
            Self::Psi(agent, options) => Self::Psi(store(agent), options),
            Self::Synaps(agent, options) => Self::Synaps(store(agent), options),
            Self::Page(agent, options) => Self::Page(store(agent), options),
        }
    }

    /// The same on a node of a fleet: the page shows the nodes.
    #[must_use]
    pub(crate) fn in_fleet(self, peers: &Arc<dyn Peers>) -> Self {
        match self {
            Self::Page(agent, mut options) => {
                options.fleet = Some(Arc::clone(peers));
                Self::Page(agent, options)
            }
            other => other,
        }
    }

    /// Serves its client until that goes away. Returns the exit status, or why it could not begin.
    pub async fn serve(self, connection: Connection) -> Result<u8, DialectError> {
        match self {
            Self::Acp(agent, options) => Ok(acp::serve(agent, connection, options).await),
            Self::Omp(agent, options) => omp::serve(agent, connection, options)
                .await
                .map_err(DialectError::Omp),
            Self::Psi(agent, options) => Ok(psi::serve(agent, connection, options).await),
            Self::Synaps(agent, options) => Ok(synaps::serve(agent, connection, options).await?),
            Self::Page(agent, options) => page::serve(agent, connection, options)
                .await
                .map_err(DialectError::Page),
        }
    }
}
