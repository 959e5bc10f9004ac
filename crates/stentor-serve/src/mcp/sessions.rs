//! The sessions that are open, and those that are stored.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};
use stentor_agent::agent::{Agent, AgentError, NewSession};
use stentor_agent::session::{Session, SessionOptions};
use stentor_agent::tasks;
use stentor_journal::clock::iso_time;
use stentor_journal::store::{self, ListedSession, SessionView};
use tokio::sync::Mutex;

use super::call::CallError;
use super::client::McpClient;
use super::limits::MAX_OPEN;
use super::open_session::McpSession;

/// The sessions of this process.
pub(super) struct McpSessions {
    agent: Agent,
    cwd: PathBuf,
    client: Arc<McpClient>,
    /// At most [`MAX_OPEN`], the one that was used last at the end. Held while one is opened, so that
    /// none is opened twice.
    open: Mutex<Vec<Arc<McpSession>>>,
}

impl McpSessions {
    pub fn new(agent: Agent, cwd: PathBuf, client: Arc<McpClient>) -> Self {
        Self {
            agent,
            cwd,
            client,
            open: Mutex::default(),
        }
    }

    /// A new session in a folder, or in the one the server was started in.
    pub async fn new_in(&self, cwd: Option<PathBuf>) -> Result<Arc<McpSession>, CallError> {
        let cwd = match cwd {
            Some(cwd) if !cwd.is_absolute() => return Err(CallError::NoFolder),
            Some(cwd) => cwd.canonicalize().map_err(|_| CallError::NoFolder)?,
            None => self.cwd.clone(),
        };
        if !cwd.is_dir() {
            return Err(CallError::NoFolder);
        }
        self.must_be_within(&cwd)?;
        let mut open = self.open.lock().await;
        self.make_room(&mut open).await?;
        let agent = self.agent.clone();
        let start = move || agent.start_with(options(&agent, &cwd)?, NewSession::default());
        let session = self.opened(start).await?;
        open.push(Arc::clone(&session));
        Ok(session)
    }

    /// The session with this id, which is opened if it is stored.
    pub async fn existing(&self, id: &str) -> Result<Arc<McpSession>, CallError> {
        let mut open = self.open.lock().await;
        if let Some(at) = open.iter().position(|one| one.id() == id) {
            let session = open.remove(at);
            open.push(Arc::clone(&session));
            return Ok(session);
        }
        self.make_room(&mut open).await?;
        // Whether it is one that may be opened is known without opening it.
        let folder = self.stored(id).await?.header.cwd;
        let (agent, id) = (self.agent.clone(), id.to_owned());
        let resume = move || {
            let opened = agent.open(&agent.find_id(&id)?)?;
            let mut options = options(&agent, folder.as_ref())?;
            options.prefer_stored_model();
            agent.resume_opened(opened, options)
        };
        let session = self.opened(resume).await?;
        open.push(Arc::clone(&session));
        Ok(session)
    }

    /// Opens a session on a thread where reading files may block.
    async fn opened(
        &self,
        open: impl FnOnce() -> Result<Session, AgentError> + Send + 'static,
    ) -> Result<Arc<McpSession>, CallError> {
        let session = tasks::spawn_blocking(open).await;
        let session = session.map_err(CallError::NotOpened)??;
        session.set_can_ask(self.client.can_elicit()).await?;
        Ok(McpSession::follow(session, Arc::clone(&self.client)))
    }

    /// Closes the session that was not used for the longest time, if there are too many.
    async fn make_room(&self, open: &mut Vec<Arc<McpSession>>) -> Result<(), CallError> {
        if open.len() < MAX_OPEN {
            return Ok(());
        }
        let idle = open.iter().position(|one| !one.is_running());
        let idle = idle.ok_or(CallError::TooMany(open.len()))?;
        open.remove(idle).close().await;
        Ok(())
    }

    /// What is in a session, also while it runs.
    pub async fn view(&self, id: &str) -> Result<SessionView, CallError> {
        let open = {
            let open = self.open.lock().await;
            open.iter().find(|one| one.id() == id).cloned()
        };
        if let Some(open) = open {
            let (header, entries) = open.session.active_path().await?;
            return Ok(SessionView {
                header,
                name: None,
                entries,
            });
        }
        self.stored(id).await
    }

    /// What is in the file of a session of this folder or of one below it.
    async fn stored(&self, id: &str) -> Result<SessionView, CallError> {
        let (agent, id) = (self.agent.clone(), id.to_owned());
        let read = move || -> Result<SessionView, CallError> {
            let file = agent.find_id(&id)?;
            Ok(store::view(&file)?)
        };
        let view = tasks::spawn_blocking(read).await;
        let view = view.map_err(CallError::NotOpened)??;
        self.must_be_within(view.header.cwd.as_ref())?;
        Ok(view)
    }

    /// Who calls is a model: it reaches the folder it was given, and nothing beside it.
    fn must_be_within(&self, folder: &Path) -> Result<(), CallError> {
        // A folder may have become a link since its session was there.
        match folder.canonicalize() {
            Ok(folder) if folder.starts_with(&self.cwd) => Ok(()),
            Ok(_) | Err(_) => Err(CallError::Elsewhere(self.cwd.clone())),
        }
    }

    /// The stored sessions, newest first.
    pub async fn list(&self, limit: usize, subfolders: bool) -> Result<Value, CallError> {
        let (agent, cwd) = (self.agent.clone(), self.cwd.clone());
        let listed = tasks::spawn_blocking(move || {
            let newest = agent.newest_first((!subfolders).then_some(cwd.as_path()));
            let is_here = |listed: &ListedSession| Path::new(&listed.cwd).starts_with(&cwd);
            let readable = newest.filter(|one| one.problem.is_none() && is_here(one));
            readable.take(limit).collect::<Vec<_>>()
        });
        let listed = listed.await.map_err(CallError::NotOpened)?;
        let open = self.open.lock().await;
        let running = |id: &str| open.iter().any(|one| one.id() == id && one.is_running());
        let sessions = listed.into_iter().map(|one| {
            json!({
                "session_id": one.id,
                "status": match running(&one.id) {
                    true => "running",
                    false => "idle",
                },
                "name": one.name,
                "cwd": one.cwd,
                "first_message": one.first_message,
                "modified": iso_time(one.modified_ms),
            })
        });
        Ok(json!({ "sessions": sessions.collect::<Vec<_>>() }))
    }

    /// Stops and closes all.
    pub async fn close_all(&self) {
        let open = std::mem::take(&mut *self.open.lock().await);
        let closing = open.iter().map(|session| session.close());
        futures_util::future::join_all(closing).await;
    }
}

/// What a session in a folder is started with. Nobody would read what it does of its own accord.
fn options(agent: &Agent, cwd: &Path) -> Result<SessionOptions, AgentError> {
    Ok(SessionOptions {
        wake_on_job_end: false,
        ..agent.options(cwd)?
    })
}
