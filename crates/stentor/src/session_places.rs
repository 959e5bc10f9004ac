//! Where the sessions of each way in are kept and found: stentor's own folder, pi's and omp's.

use std::path::PathBuf;
use std::sync::Once;

use stentor_journal::session_files::SessionFiles;
use stentor_journal::store;

use crate::config::{Config, Settings, ValueSource};
use crate::user_folders::agent_folders;

/// The folder below an agent folder in which pi and omp keep their sessions.
const SESSIONS: &str = "sessions";

/// The variable that names another folder to pi. All its sessions are directly in there.
const PI_SESSION_DIR: &str = "PI_CODING_AGENT_SESSION_DIR";

/// Whose clients are served in the dialect of pi and omp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientFamily {
    Pi,
    Omp,
}

/// Stentor's own place: below the data folder one folder for each working folder; a folder
/// somebody named has all of them, unless it is to have folders, too.
pub fn own(settings: &Settings, no_session: bool) -> SessionFiles {
    let Some(dir) = settings.session_dir.as_ref().filter(|_| !no_session) else {
        return SessionFiles::None;
    };
    match (is_named(settings), settings.session_folders.value) {
        (true, false) => SessionFiles::Flat(dir.value.clone()),
        (true, true) => SessionFiles::PerFolder(dir.value.clone()),
        (false, _) => if_writable(SessionFiles::PerFolder(dir.value.clone())),
    }
}

/// A folder that nobody named and that cannot be written is no reason to refuse: the sessions are
/// then kept in memory only, which is said once.
fn if_writable(files: SessionFiles) -> SessionFiles {
    static WARNED: Once = Once::new();
    let root = files.root();
    match store::check_can_create_at(&root.join("session.jsonl")) {
        Ok(()) => files,
        Err(error) => {
            WARNED.call_once(|| tracing::warn!("sessions are not stored: {error}"));
            SessionFiles::None
        }
    }
}

/// Where a way in that has its sessions in `files` finds others: all places that count are searched,
/// whoever stored there.
pub fn beside(config: &Config, files: &SessionFiles, no_session: bool) -> Vec<SessionFiles> {
    if no_session {
        return Vec::new();
    }
    let all = [own(&config.settings, false)].into_iter();
    let all = all.chain(shared(config));
    all.filter(|place| place != files).collect()
}

/// Where the clients of pi and omp have theirs, if that is shared.
pub fn shared(config: &Config) -> Vec<SessionFiles> {
    if !is_shared(config) {
        return Vec::new();
    }
    let families = [ClientFamily::Pi, ClientFamily::Omp].into_iter();
    families
        .filter_map(|family| of_family(config, family))
        .collect()
}

/// Where a client of pi or omp has new sessions: where it looks for them, if that is shared.
pub fn of_client(config: &Config, family: ClientFamily, no_session: bool) -> SessionFiles {
    match of_family(config, family) {
        Some(files) if is_shared(config) && !no_session => if_writable(files),
        _ => own(&config.settings, no_session),
    }
}

/// Whether the folders of pi and omp count at all. A folder somebody named is the only one.
fn is_shared(config: &Config) -> bool {
    config.settings.share_sessions.value && !is_named(&config.settings)
}

fn is_named(settings: &Settings) -> bool {
    let Some(dir) = &settings.session_dir else {
        return false;
    };
    let follows_data_dir = settings
        .data_dir
        .as_ref()
        .is_some_and(|data| data.value.join(SESSIONS) == dir.value);
    dir.source != ValueSource::Default && !follows_data_dir
}

fn of_family(config: &Config, family: ClientFamily) -> Option<SessionFiles> {
    let folders = agent_folders(config);
    match family {
        ClientFamily::Pi => {
            let named = config
                .variable(PI_SESSION_DIR)
                .filter(|dir| !dir.is_empty());
            match named {
                Some(dir) => Some(SessionFiles::Flat(dir.into())),
                None => Some(SessionFiles::PerFolder(folders.pi?.join(SESSIONS))),
            }
        }
        ClientFamily::Omp => Some(SessionFiles::OmpFolders {
            root: folders.omp?.join(SESSIONS),
            home: config.places.home.clone().map(resolved),
            temp: resolved(std::env::temp_dir()),
        }),
    }
}

/// Working folders are known without links, so the folders they may lie in must be, too.
fn resolved(folder: PathBuf) -> PathBuf {
    folder.canonicalize().unwrap_or(folder)
}
