//! The process-wide part: how sessions are started, found again and copied.

mod finding;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use stentor_journal::clock::iso_time;
use stentor_journal::session_files::SessionFiles;
use stentor_journal::store::{self, JournalStore, OpenedSession, SessionHeader, StoreError};
use tokio::sync::watch;

use crate::box_error::BoxError;
use crate::live_sessions::{LiveActivity, LiveSessions};
use crate::model::ModelRegistry;
use crate::reservations::Reservations;
use crate::session::{
    Environment, ForkPoint, Session, SessionError, SessionOptions, Storage, WeakSession,
};
use crate::tasks;

/// What a new session in a folder is started with: configuration, context files, tools.
pub trait SessionDefaults: Send + Sync {
    /// The options for a session in `cwd`.
    fn for_folder(&self, cwd: &Path) -> Result<SessionOptions, BoxError>;
}

/// Starts and finds sessions. Cheap to clone.
#[derive(Clone)]
pub struct Agent {
    environment: Environment,
    defaults: Arc<dyn SessionDefaults>,
    files: Arc<SessionFiles>,
    also_in: Arc<[SessionFiles]>,
    inline_pictures: bool,
    sharing: Option<SessionSharing>,
}

/// The sessions that an agent shares with others.
#[derive(Clone)]
struct SessionSharing {
    live: LiveSessions,
    /// Its client only watches.
    observes: bool,
    /// Its client is about to open a session by itself.
    visits: bool,
    /// Where the id of the session is published that was opened last.
    opened: Option<watch::Sender<Option<String>>>,
    /// Capacity for the next sessions that its client begins.
    reservations: Reservations,
}

impl SessionSharing {
    /// Publishes that a session was opened, if others can find it.
    fn opened(&self, session: Session) -> Session {
        if let Some(opened) = self.opened.as_ref().filter(|_| session.file().is_some()) {
            opened.send_replace(Some(session.id().to_string()));
        }
        session
    }
}

/// What a new session differs in from the defaults of its folder.
#[derive(Debug, Clone, Default)]
pub struct NewSession {
    pub id: Option<String>,
    /// The session file it was derived from.
    pub parent_session: Option<String>,
    /// The file exists at once, not only from the first accepted prompt on.
    pub file_at_once: bool,
}

/// Why a session was not started or found.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    #[error(transparent)]
    Defaults(BoxError),
    #[error(transparent)]
    Session(#[from] SessionError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the session is open in another client")]
    InUse,
    #[error("{0} is not among the sessions that this connection may watch")]
    NotToBeWatched(PathBuf),
    #[error(
        "the session's folder {0} no longer exists; an observer cannot open the session in another folder"
    )]
    FolderGone(PathBuf),
}

impl Agent {
    /// An agent without sessions.
    pub fn new(
        environment: Environment,
        defaults: Arc<dyn SessionDefaults>,
        files: SessionFiles,
    ) -> Self {
        Self {
            environment,
            defaults,
            files: Arc::new(files),
            also_in: Arc::new([]),
            inline_pictures: false,
            sharing: None,
        }
    }

    /// The same, whose sessions are shared with the other agents of `live`. One that only `observes`
    /// changes nothing in them.
    pub fn sharing(mut self, live: LiveSessions, observes: bool) -> Self {
        self.sharing = Some(SessionSharing {
            live,
            observes,
            visits: false,
            opened: None,
            reservations: Reservations::default(),
        });
        self
    }

    /// The same for a client that is about to open a session by itself and needs none to begin with.
    pub fn visiting(mut self) -> Self {
        if let Some(sharing) = &mut self.sharing {
            sharing.visits = true;
        }
        self
    }

    /// True when its client came to open a session by itself.
    pub fn is_visiting(&self) -> bool {
        self.sharing.as_ref().is_some_and(|sharing| sharing.visits)
    }

    /// The same, which publishes the id of each session that its client opens.
    pub fn publishing_opened(mut self, opened: watch::Sender<Option<String>>) -> Self {
        if let Some(sharing) = &mut self.sharing {
            sharing.opened = Some(opened);
        }
        self
    }

    /// The same, whose new sessions have the capacity that was reserved for them.
    pub fn with_reservations(mut self, reservations: Reservations) -> Self {
        if let Some(sharing) = &mut self.sharing {
            sharing.reservations = reservations;
        }
        self
    }

    /// The same, whose new sessions go into `files` by way of `journals`. Those that are where they
    /// went otherwise are still found. Who stores none goes on storing none.
    pub fn storing_in(mut self, files: SessionFiles, journals: Arc<dyn JournalStore>) -> Self {
        if *self.files == SessionFiles::None || *self.files == files {
            return self;
        }
        let before = Arc::unwrap_or_clone(std::mem::replace(&mut self.files, Arc::new(files)));
        self.also_in = [before]
            .into_iter()
            .chain(self.also_in.iter().cloned())
            .collect();
        self.environment.journals = journals;
        self
    }

    /// The same, whose session files hold all pictures themselves.
    pub fn with_inline_pictures(mut self) -> Self {
        self.inline_pictures = true;
        self
    }

    /// The same, which also finds the sessions in these places. New ones do not go there, and those
    /// that are there may be other programs'.
    pub fn also_in(mut self, places: Vec<SessionFiles>) -> Self {
        self.also_in = places.into();
        self
    }

    /// The models there are.
    pub fn models(&self) -> &Arc<dyn ModelRegistry> {
        &self.environment.models
    }

    /// What all sessions share.
    pub fn environment(&self) -> &Environment {
        &self.environment
    }

    /// The options a session in `cwd` would be started with. A dialect changes what it must.
    pub fn options(&self, cwd: &Path) -> Result<SessionOptions, AgentError> {
        let mut options = self
            .defaults
            .for_folder(cwd)
            .map_err(AgentError::Defaults)?;
        options.storage = match self.folder(cwd) {
            Some(folder) => Storage::Folder(folder),
            None => Storage::Memory,
        };
        let places = self.also_in.iter().chain([&*self.files]);
        let places = places.filter(|place| **place != SessionFiles::None);
        options
            .trusted_session_folders
            .extend(places.map(SessionFiles::root));
        options.inline_pictures = self.inline_pictures;
        Ok(options)
    }

    /// True when a folder that is not there can be made for sessions to work in.
    pub fn can_make_folder(&self, cwd: &Path) -> bool {
        self.may_drive().is_ok() && self.environment.journals.can_make_folder(cwd)
    }

    /// Makes a folder that is not there, if that can be done. It may take long. Blocks.
    pub fn make_folder(&self, cwd: &Path) -> Result<(), AgentError> {
        match !cwd.is_dir() && self.can_make_folder(cwd) {
            true => Ok(self.environment.journals.make_folder(cwd)?),
            false => Ok(()),
        }
    }

    /// The folder in which the session in a file is gone on with by a client that is in `cwd`. Blocks.
    pub fn working_folder(&self, path: &Path, cwd: &Path) -> PathBuf {
        let folder = self.environment.journals.working_folder(path);
        folder.unwrap_or_else(|| cwd.to_owned())
    }

    /// Starts a session in `cwd`.
    pub fn start(&self, cwd: &Path, new: NewSession) -> Result<Session, AgentError> {
        self.start_with(self.options(cwd)?, new)
    }

    /// The session that a dialect begins with when none is named. Who only watches has to be
    /// somewhere, too: in one that has nothing, runs nothing and is stored nowhere.
    pub fn start_first(
        &self,
        options: SessionOptions,
        new: NewSession,
    ) -> Result<Session, AgentError> {
        let names_a_file = matches!(options.storage, Storage::File(_));
        if (self.may_drive().is_ok() && !self.is_visiting()) || names_a_file {
            return self.start_with(options, new);
        }
        let empty = SessionOptions {
            id: new.id.or(options.id),
            model: options.model,
            ..SessionOptions::in_memory(options.cwd, Vec::new())
        };
        let session = Session::start(self.environment.clone(), empty)?;
        Ok(self.shared(session))
    }

    /// Starts a session with options that began as [`Agent::options`].
    pub fn start_with(
        &self,
        mut options: SessionOptions,
        new: NewSession,
    ) -> Result<Session, AgentError> {
        self.may_drive()?;
        options.id = new.id.or(options.id);
        options.parent_session = new.parent_session.or(options.parent_session);
        if let (Storage::Folder(folder), true) = (&options.storage, new.file_at_once) {
            options.storage = Storage::FolderAtOnce(folder.clone());
        }
        let counts = matches!(
            options.storage,
            Storage::Folder(_) | Storage::FolderAtOnce(_)
        );
        let sharing = self.sharing.as_ref().filter(|_| counts);
        let reserved = sharing.and_then(|sharing| sharing.reservations.take());
        let session = Session::start_reserved(self.environment.clone(), options, reserved)?;
        Ok(self.shared(session))
    }

    /// Goes on with the session in a file. `options` say what it has that its file does not.
    pub fn resume(&self, path: &Path, mut options: SessionOptions) -> Result<Session, AgentError> {
        options.names_permission_mode = false;
        self.resume_first(path, options)
    }

    /// The same for the session that the process, or a dialect, begins with: what was named for that
    /// one counts, however the session was left.
    pub fn resume_first(
        &self,
        path: &Path,
        options: SessionOptions,
    ) -> Result<Session, AgentError> {
        let resume = || {
            self.may_open(path)?;
            let opened = self.opened(path)?;
            self.resumed(opened, options)
        };
        if !self.is_live(path) {
            self.may_open(path)?;
            self.environment.journals.prepare(path)?;
        }
        match &self.sharing {
            Some(sharing) => {
                let session = sharing.live.join_or_open(path, sharing.observes, resume)?;
                Ok(sharing.opened(session))
            }
            None => resume(),
        }
    }

    /// True when its sessions are shared with other agents.
    pub fn is_sharing(&self) -> bool {
        self.sharing.is_some()
    }

    /// What goes on in the live sessions it shares, by file.
    pub async fn activities(&self) -> Vec<(PathBuf, LiveActivity)> {
        match &self.sharing {
            Some(sharing) => sharing.live.activities().await,
            None => Vec::new(),
        }
    }

    /// The live sessions it shares that work in a folder, the newest first.
    pub fn live_in(&self, cwd: &Path) -> Vec<WeakSession> {
        let sharing = self.sharing.as_ref();
        sharing.map_or_else(Vec::new, |sharing| sharing.live.in_folder(cwd))
    }

    /// The session in a file, if it is live: then it is what it was opened with.
    pub fn join(&self, path: &Path) -> Option<Session> {
        let sharing = self.sharing.as_ref()?;
        let session = sharing.live.join(path, sharing.observes)?;
        Some(sharing.opened(session))
    }

    /// Whether the session in a file is live, for whomever.
    pub fn is_live(&self, path: &Path) -> bool {
        let sharing = self.sharing.as_ref();
        sharing.is_some_and(|sharing| sharing.live.contains(path))
    }

    /// Goes on with a stored session whose file has been opened.
    pub fn resume_opened(
        &self,
        opened: OpenedSession,
        mut options: SessionOptions,
    ) -> Result<Session, AgentError> {
        options.names_permission_mode = false;
        let session = self.resumed(opened, options)?;
        Ok(self.shared(session))
    }

    /// Opens a session file, to go on with it. Who only watches opens those that are listed.
    pub fn open(&self, path: &Path) -> Result<OpenedSession, AgentError> {
        self.may_open(path)?;
        self.environment.journals.prepare(path)?;
        Ok(self.opened(path)?)
    }

    fn opened(&self, path: &Path) -> Result<OpenedSession, StoreError> {
        match self.opens_untouched(path) {
            true => self.environment.journals.open_untouched(path),
            false => self.environment.journals.open(path),
        }
    }

    /// True when opening a file must not change it: other programs write to it without its lock, or
    /// its client only watches.
    fn opens_untouched(&self, path: &Path) -> bool {
        self.may_drive().is_err() || self.is_of_others(path)
    }

    fn may_open(&self, path: &Path) -> Result<(), AgentError> {
        match self.may_drive().is_err() && !self.is_listed(path) {
            true => Err(AgentError::NotToBeWatched(path.to_owned())),
            false => Ok(()),
        }
    }

    /// A session has what its client brings: tools, servers, files. One that is opened by who only
    /// watches has what its folder says and nothing else.
    fn resumed(
        &self,
        opened: OpenedSession,
        options: SessionOptions,
    ) -> Result<Session, AgentError> {
        let mut options = match self.may_drive() {
            Ok(()) => options,
            Err(_) => {
                let folder = PathBuf::from(&opened.journal.header().cwd);
                if !folder.is_dir() {
                    // Where it goes on is not for somebody to say who only watches.
                    return Err(AgentError::FolderGone(folder));
                }
                let mut own = self.options(&folder)?;
                own.prefer_stored_model();
                own.names_permission_mode = false;
                own.thinking = None;
                own
            }
        };
        options.counts_messages_on = self.is_sharing();
        // Other programs look for pictures nowhere but in their files.
        let file = opened.journal.path();
        options.inline_pictures |= file.is_some_and(|file| self.is_of_others(file));
        options.opens_untouched |= file.is_some_and(|file| self.opens_untouched(file));
        Ok(Session::resume(self.environment.clone(), options, opened)?)
    }

    fn shared(&self, session: Session) -> Session {
        match &self.sharing {
            Some(sharing) => sharing.opened(sharing.live.start(session, sharing.observes)),
            None => session,
        }
    }

    /// Copies a session up to a point into a new one and starts that, with the id of `options` if
    /// they have one.
    pub async fn fork(
        &self,
        session: &Session,
        point: ForkPoint,
        options: SessionOptions,
    ) -> Result<(Session, Option<String>), AgentError> {
        self.may_drive()?;
        let (opened, text) = session.fork_as(point, options.id.clone()).await?;
        let forked = self.resume_opened(opened, options)?;
        Ok((forked, text))
    }

    /// Copies the stored session in a file, as it is now, into a new one in the folder of `options`,
    /// and starts that.
    pub fn fork_stored(
        &self,
        source: &Path,
        options: SessionOptions,
    ) -> Result<Session, AgentError> {
        self.may_drive()?;
        let clock = &*self.environment.clock;
        let header = SessionHeader {
            version: store::CURRENT_VERSION,
            id: options.id.clone().unwrap_or_else(|| clock.session_id()),
            timestamp: iso_time(clock.now_ms()),
            cwd: options.cwd.to_string_lossy().into_owned(),
            parent_session: None,
            title: None,
        };
        let opened = match self.folder(&options.cwd) {
            Some(folder) => {
                let journals = &self.environment.journals;
                journals.fork(source, None, &folder, header, clock)?
            }
            None => {
                let opened = self.open(source)?;
                store::fork_in_memory(&*opened.journal, None, header)?
            }
        };
        self.resume_opened(opened, options)
    }

    /// Gives the session in a file a name, whether it is live here or not.
    pub async fn rename(&self, path: PathBuf, name: String) -> Result<(), AgentError> {
        self.may_drive()?;
        let live = self.sharing.as_ref();
        let live = live.and_then(|sharing| sharing.live.join(&path, sharing.observes));
        if let Some(live) = live {
            return Ok(live.set_name(&name).await?);
        }
        let Environment {
            clock, journals, ..
        } = self.environment.clone();
        let renamed = tasks::spawn_blocking(move || {
            journals.prepare(&path)?;
            let opened = journals.open(&path)?;
            store::rename_opened(opened, &name, &*clock)
        });
        let journal = renamed.await.map_err(|_| SessionError::Closed)??;
        match journal.survives_process() {
            true => Ok(()),
            false => Ok(journal.sync().await?),
        }
    }

    /// Where new sessions of `cwd` are kept; `None` when nowhere.
    pub fn folder(&self, cwd: &Path) -> Option<PathBuf> {
        self.files.folder(cwd)
    }

    /// False when sessions are gone with the process.
    pub fn keeps_sessions(&self) -> bool {
        *self.files != SessionFiles::None
    }

    /// Has the session with this id closed where nobody has to do with it any more, so that it can
    /// be deleted.
    pub async fn close_unused(&self, id: &str) -> Result<(), AgentError> {
        self.may_drive()?;
        let (Some(sharing), Ok(path)) = (&self.sharing, self.find_id(id)) else {
            return Ok(());
        };
        match sharing.live.close_unused(&path).await {
            true => Ok(()),
            false => Err(AgentError::InUse),
        }
    }

    /// An error when a client may not delete a session: it only watches, or more than its `own` handles
    /// drive the session. Asked before it gives those up.
    pub fn may_delete(&self, id: &str, own: usize) -> Result<(), AgentError> {
        self.may_drive()?;
        let (Some(sharing), Ok(path)) = (&self.sharing, self.find_id(id)) else {
            return Ok(());
        };
        match sharing.live.drivers(&path) > own {
            true => Err(AgentError::InUse),
            false => Ok(()),
        }
    }

    /// An error when its client only watches. Sessions refuse by themselves what changes them;
    /// whoever changes something else for a client asks here first.
    pub fn may_drive(&self) -> Result<(), SessionError> {
        match &self.sharing {
            Some(sharing) if sharing.observes => Err(SessionError::OnlyObserves),
            _ => Ok(()),
        }
    }

    /// Removes a stored session for good. False when there was none with this id.
    pub fn delete(&self, id: &str) -> Result<bool, AgentError> {
        self.may_drive()?;
        match self.find_id(id) {
            Ok(path) => {
                self.environment.journals.remove(&path)?;
                Ok(true)
            }
            Err(AgentError::Store(StoreError::NotFound { .. })) => Ok(false),
            Err(error) => Err(error),
        }
    }
}
