//! Where a node keeps the journals of its sessions: working copies in a folder of its own, the
//! truth in the stream.

mod capacity;
mod opening;
mod removal;

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use std::time::Instant;

use futures_core::future::BoxFuture;
use stentor_journal::clock::{Clock, SharedClock};
use stentor_journal::session_files::SessionFiles;
use stentor_journal::store::{
    self as files, Journal, JournalStore, KeptSessions, ListedSession, OpenedSession, Reservation,
    SessionHeader, StoreError,
};
use tokio::runtime::{Handle, RuntimeFlavor};

use crate::directory::{SessionActivity, SessionRecord};
use crate::error::FleetError;
use crate::fleet::Fleet;
use crate::journal::FleetJournal;
use crate::kept_in::KeptIn;
use crate::log::Log;
use crate::ownership::Claim;
use crate::pictures::Pictures;
use crate::places::{NodePlaces, WorkingFolder};
use crate::writer::{EntryWriter, WriterStart};

use opening::PreparedOpening;

/// The journals of a node. Clones are the same store.
#[derive(Clone)]
pub struct FleetStore {
    shared: Arc<FleetStoreShared>,
}

struct FleetStoreShared {
    fleet: Fleet,
    places: NodePlaces,
    files: SessionFiles,
    clock: SharedClock,
    runtime: Handle,
    sessions: Mutex<HashMap<String, OwnedSession>>,
    /// The sessions whose working copy is being made. One at a time makes it: another one would take
    /// the place of a file that is open.
    copying: Mutex<HashSet<String>>,
    node: OnceLock<Arc<dyn NodeSessions>>,
    /// This node takes no sessions.
    draining: AtomicBool,
    /// Names what is reserved for no session yet.
    reservations: AtomicU64,
}

/// A session that this node has.
enum OwnedSession {
    /// There is capacity for it, and it is about to be made or taken.
    Reserved,
    /// It is ready to be opened.
    Prepared {
        prepared: Box<PreparedOpening>,
        since: Instant,
    },
    /// It is just being opened.
    Opening,
    /// It is open, and this is how far its journal has come.
    Open { log: Arc<Log>, file: PathBuf },
}

/// The live sessions of a node, as far as the fleet has to do with them.
pub trait NodeSessions: Send + Sync {
    /// Opens a session that was taken over, so that it goes on from where it was interrupted.
    fn take_up(&self, file: PathBuf, folder: PathBuf) -> BoxFuture<'static, Result<(), String>>;

    /// Ends a session, whoever uses it, and lets them know why. What is asked is asked again where it
    /// is opened next.
    fn suspend(&self, file: PathBuf, why: String) -> BoxFuture<'static, ()>;

    /// What goes on in each, by file.
    fn activities(&self) -> BoxFuture<'static, Vec<(PathBuf, SessionActivity)>>;
}

impl FleetStore {
    /// The journals of this node, below `root`. Must be called on a runtime.
    pub fn new(fleet: Fleet, root: &Path, clock: SharedClock) -> Result<Self, FleetError> {
        let made =
            stentor_journal::private_file::create_folder(root).and_then(|()| root.canonicalize());
        let root = made.map_err(FleetError::io("create", root))?;
        let places = NodePlaces::new(&fleet.settings().places, &fleet.this_node().name);
        let shared = FleetStoreShared {
            fleet,
            places,
            files: SessionFiles::PerFolder(root),
            clock,
            runtime: Handle::current(),
            sessions: Mutex::default(),
            copying: Mutex::default(),
            node: OnceLock::new(),
            draining: AtomicBool::new(false),
            reservations: AtomicU64::new(0),
        };
        Ok(Self {
            shared: Arc::new(shared),
        })
    }

    /// The fleet.
    pub fn fleet(&self) -> &Fleet {
        &self.shared.fleet
    }

    /// Where the working copies are.
    pub fn files(&self) -> &SessionFiles {
        &self.shared.files
    }

    /// The places of this node.
    pub fn places(&self) -> &NodePlaces {
        &self.shared.places
    }

    pub(crate) fn now_ms(&self) -> u64 {
        self.shared.clock.now_ms()
    }

    pub(crate) fn set_node(&self, node: Arc<dyn NodeSessions>) {
        self.shared.node.get_or_init(|| node);
    }

    pub(crate) fn node(&self) -> Option<&Arc<dyn NodeSessions>> {
        self.shared.node.get()
    }

    /// The sessions that are open here: how far each has come, and its file.
    pub(crate) fn open_sessions(&self) -> Vec<(Arc<Log>, PathBuf)> {
        let sessions = self.lock();
        let open = sessions.values().filter_map(|owned| match owned {
            OwnedSession::Open { log, file } => Some((Arc::clone(log), file.clone())),
            OwnedSession::Reserved | OwnedSession::Prepared { .. } | OwnedSession::Opening => None,
        });
        open.collect()
    }

    /// True when a session is open here or about to be.
    pub(crate) fn has(&self, session_id: &str) -> bool {
        let sessions = self.lock();
        let found = sessions.get(session_id);
        found.is_some_and(|owned| !matches!(owned, OwnedSession::Reserved))
    }

    /// How many sessions this node has.
    pub(crate) fn count(&self) -> u32 {
        u32::try_from(self.lock().len()).unwrap_or(u32::MAX)
    }

    /// The file of a session on this node, and the folder it works in, which may be one that is not
    /// there.
    pub(crate) fn path_of(&self, record: &SessionRecord) -> Result<(PathBuf, PathBuf), StoreError> {
        let folder = match self.shared.places.folder_of(record) {
            WorkingFolder::Here(folder) => folder,
            WorkingFolder::Absent(_) => PathBuf::from(&record.cwd),
        };
        // Its folder may have been named otherwise when it was opened.
        if let Some(OwnedSession::Open { file, .. }) = self.lock().get(&record.id) {
            return Ok((file.clone(), folder));
        }
        let header = SessionHeader::new(&record.id, &record.created, folder.to_string_lossy());
        let in_files = match record.kept_in.as_deref().and_then(KeptIn::read) {
            Some(kept_in) => kept_in.below(&self.shared.files.root()),
            None => self.shared.files.folder(&folder).unwrap_or_default(),
        };
        Ok((files::file_path(&in_files, &header)?, folder))
    }

    /// The id of the session that a file of this store is of.
    fn id_of(&self, path: &Path) -> Option<String> {
        let root = self.shared.files.root();
        let folder = path.parent()?;
        let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        // Sessions of subagents are further down and stay on their node.
        if folder.parent() != Some(&*root) {
            return None;
        }
        let stem = path.file_name()?.to_str()?.strip_suffix(".jsonl")?;
        Some(stem.split_once('_').map_or(stem, |(_, id)| id).to_owned())
    }

    /// The id of the session that a file of another node's store is of.
    fn id_elsewhere(&self, path: &Path) -> Option<String> {
        let stem = path.file_name()?.to_str()?.strip_suffix(".jsonl")?;
        let (_, id) = stem.split_once('_')?;
        let is_known = !path.exists() && self.fleet().session(id).is_some();
        is_known.then(|| id.to_owned())
    }

    /// Has a session that is new here written to the fleet, and waits until that knows it: nobody is
    /// told of a session that would be gone with this node.
    fn adopt(&self, journal: Box<dyn Journal>) -> Result<Box<dyn Journal>, StoreError> {
        let Some(path) = journal.path().map(Path::to_path_buf) else {
            return Ok(journal);
        };
        if self.id_of(&path).is_none() {
            return Ok(journal);
        }
        let (file, header, size) = beginning_of(&path)?;
        let begin = header.len() as u64;
        let (place, folder) = self.shared.places.of(Path::new(&journal.header().cwd));
        let record = SessionRecord {
            id: journal.header().id.clone(),
            place,
            folder,
            cwd: journal.header().cwd.clone(),
            name: None,
            first_message: None,
            created: journal.header().timestamp.clone(),
            updated_ms: self.now_ms(),
            owner: Some(self.fleet().this_node().clone()),
            wanted: None,
            kept_in: KeptIn::of_file(&path).map(|kept_in| kept_in.name().to_owned()),
            state: SessionActivity::Idle,
        };
        let beginning = WriterStart::New {
            record: Box::new(record.clone()),
            header,
        };
        let lease = self.fleet().lease();
        let log = Log::new(record, size.saturating_sub(begin), 0, lease);
        let journal = self.write(journal, (path.clone(), file, begin), log, beginning);
        match self.block(journal.sync()) {
            Ok(()) => Ok(journal),
            Err(why) => {
                let log = self.log_of(journal.header());
                if let Some(log) = log {
                    log.stop("it could not be stored");
                }
                files::remove(&path).ok();
                Err(why)
            }
        }
    }

    /// Starts the writer of a session.
    fn write(
        &self,
        working_copy: Box<dyn Journal>,
        (path, file, begin): (PathBuf, File, u64),
        log: Log,
        beginning: WriterStart,
    ) -> Box<dyn Journal> {
        let (log, file) = (Arc::new(log), Arc::new(file));
        let writer = EntryWriter {
            fleet: self.fleet().clone(),
            log: Arc::clone(&log),
            file: Arc::clone(&file),
            begin,
            pictures: Pictures::beside(&path, &log.id),
        };
        let owned = OwnedSession::Open {
            log: Arc::clone(&log),
            file: path.clone(),
        };
        self.lock().insert(log.id.clone(), owned);
        let (store, ending) = (self.clone(), Arc::clone(&log));
        self.shared.runtime.spawn(async move {
            writer.run(beginning).await;
            let stopped = ending.progress().borrow().stopped.clone();
            if let (Some(why), Some(node)) = (stopped, store.node()) {
                node.suspend(path, format!("the session ends here: {why}"))
                    .await;
            }
            store.forget(&ending);
        });
        Box::new(FleetJournal::new(working_copy, file, begin, log))
    }

    fn log_of(&self, header: &SessionHeader) -> Option<Arc<Log>> {
        match self.lock().get(&header.id) {
            Some(OwnedSession::Open { log, .. }) => Some(Arc::clone(log)),
            _ => None,
        }
    }

    /// A session is not open here any more. Another one may have its id by now.
    fn forget(&self, log: &Arc<Log>) {
        let mut sessions = self.lock();
        let found = sessions.get(&log.id);
        if matches!(found, Some(OwnedSession::Open { log: open, .. }) if Arc::ptr_eq(open, log)) {
            sessions.remove(&log.id);
        }
    }

    pub(crate) fn set_draining(&self) {
        self.shared.draining.store(true, Ordering::Release);
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.shared.draining.load(Ordering::Acquire)
    }

    /// Waits for what the servers say, on a thread that may block.
    fn block<T>(&self, waiting: impl Future<Output = T>) -> T {
        let wait = || self.shared.runtime.block_on(waiting);
        match Handle::try_current().map(|runtime| runtime.runtime_flavor()) {
            Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(wait),
            _ => wait(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, OwnedSession>> {
        let sessions = &self.shared.sessions;
        sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A session as lists show it.
    fn listed(&self, record: SessionRecord) -> Option<ListedSession> {
        let (path, folder) = self.path_of(&record).ok()?;
        Some(ListedSession {
            path,
            cwd: folder.to_string_lossy().into_owned(),
            id: record.id,
            name: record.name,
            created: record.created,
            modified_ms: record.updated_ms,
            first_message: record.first_message,
            ..ListedSession::default()
        })
    }
}

impl JournalStore for FleetStore {
    fn create(
        &self,
        folder: &Path,
        header: SessionHeader,
        clock: &dyn Clock,
    ) -> Result<Box<dyn Journal>, StoreError> {
        let _capacity = self.capacity_for(folder, &header)?;
        self.adopt(files::create(folder, header, clock)?)
    }

    fn create_at(
        &self,
        path: &Path,
        header: SessionHeader,
        clock: &dyn Clock,
    ) -> Result<Box<dyn Journal>, StoreError> {
        let folder = path.parent().unwrap_or(path);
        let _capacity = self.capacity_for(folder, &header)?;
        self.adopt(files::create_at(path, header, clock)?)
    }

    fn reserve(
        &self,
        folder: &Path,
        cwd: &Path,
    ) -> Result<Option<Box<dyn Reservation>>, StoreError> {
        let reserved = self.capacity_in(folder, cwd, None)?;
        Ok(reserved.map(|reserved| Box::new(reserved) as Box<dyn Reservation>))
    }

    fn can_make_folder(&self, cwd: &Path) -> bool {
        self.places().can_make(cwd)
    }

    fn make_folder(&self, cwd: &Path) -> Result<(), StoreError> {
        let (place, _) = self.places().of(cwd);
        let made = self.places().prepare(&place);
        made.map_err(|why| StoreError::NoFolder {
            path: cwd.to_owned(),
            why: why.to_string(),
        })
    }

    /// Who opens a session may be on another machine.
    fn working_folder(&self, path: &Path) -> Option<PathBuf> {
        let record = self.fleet().session(&self.id_of(path)?)?;
        match self.places().working_folder(&record) {
            WorkingFolder::Here(folder) => Some(folder),
            // It can only be read.
            WorkingFolder::Absent(_) => None,
        }
    }

    fn prepare(&self, path: &Path) -> Result<(), StoreError> {
        match self.id_of(path) {
            Some(id) => self.block(self.prepare_session(&id, Claim::ForClient)),
            None => Ok(()),
        }
    }

    fn open(&self, path: &Path) -> Result<OpenedSession, StoreError> {
        match self.id_of(path) {
            Some(id) => self.open_prepared(&id, path),
            None => files::open(path),
        }
    }

    fn open_untouched(&self, path: &Path) -> Result<OpenedSession, StoreError> {
        match self.id_of(path) {
            // A working copy is nobody's but this node's.
            Some(id) => self.open_prepared(&id, path),
            None => files::open_untouched(path),
        }
    }

    fn fork(
        &self,
        source: &Path,
        up_to: Option<&str>,
        folder: &Path,
        header: SessionHeader,
        clock: &dyn Clock,
    ) -> Result<OpenedSession, StoreError> {
        let _capacity = self.capacity_for(folder, &header)?;
        let mut forked = files::fork(source, up_to, folder, header, clock)?;
        forked.journal = self.adopt(forked.journal)?;
        Ok(forked)
    }

    fn remove(&self, path: &Path) -> Result<(), StoreError> {
        match self.id_of(path) {
            Some(id) => self.block(self.remove_session(&id, path)),
            None => files::remove(path),
        }
    }

    fn find(&self, wanted: &str) -> Option<Result<PathBuf, StoreError>> {
        let id = match wanted.contains('/') {
            true => {
                let path = Path::new(wanted);
                self.id_of(path).or_else(|| self.id_elsewhere(path))?
            }
            false => wanted.to_owned(),
        };
        self.find_session(&id)
    }

    fn kept_in(&self, folder: &Path) -> Option<KeptSessions> {
        let kept_in = KeptIn::of(folder);
        let newest = self.fleet().newest_kept_in(&kept_in);
        let newest = newest.and_then(|newest| self.path_of(&newest).ok());
        Some(KeptSessions {
            folder: kept_in.below(&self.shared.files.root()),
            newest: newest.map(|(file, _)| file),
        })
    }

    fn list(&self, cwd: Option<&Path>) -> Option<Vec<ListedSession>> {
        let sessions = self.fleet().sessions().into_iter();
        let listed = sessions.filter_map(|record| self.listed(record));
        let is_wanted =
            |listed: &ListedSession| cwd.is_none_or(|cwd| Path::new(&listed.cwd) == cwd);
        Some(listed.filter(is_wanted).collect())
    }
}

/// A session file, the line of its header, and its size.
fn beginning_of(path: &Path) -> Result<(File, Vec<u8>, u64), StoreError> {
    let read = || {
        let file = File::open(path)?;
        let mut header = Vec::new();
        BufReader::new(&file).read_until(b'\n', &mut header)?;
        let size = file.metadata()?.len();
        Ok((file, header, size))
    };
    read().map_err(|source| StoreError::Io {
        doing: "read",
        path: path.to_owned(),
        source,
    })
}
