//! Which sessions there are, and how one is found: in the places where they are stored, then among
//! those that are live, whose clients may have them elsewhere.

use std::path::{Path, PathBuf};

use stentor_journal::session_files::SessionFiles;
use stentor_journal::store::{self, ListedSession, NewestFirst, StoreError};

use super::{Agent, AgentError};

impl Agent {
    /// The stored sessions, newest first: those of `cwd`, or all. Each is read when it is taken.
    pub fn newest_first(&self, cwd: Option<&Path>) -> NewestFirst {
        let also = self.also_in.iter().map(|place| place.newest_first(cwd));
        let own = match self.environment.journals.list(cwd) {
            Some(known) => NewestFirst::known(known),
            None => self.files.newest_first(cwd),
        };
        let stored = also.fold(own, NewestFirst::and);
        let roots = roots(self.places());
        let elsewhere = self.live_files().into_iter();
        let elsewhere = elsewhere.filter(|(_, file)| !is_in(&roots, file));
        let elsewhere = NewestFirst::of_files(elsewhere.map(|(_, file)| file));
        stored.and(elsewhere.working_in(cwd))
    }

    /// The session with exactly this id, as lists show it.
    pub fn listed(&self, id: &str) -> Option<ListedSession> {
        let file = self.find_id(id).ok();
        let found = file.and_then(|file| NewestFirst::of_files([file]).next());
        let found = found.filter(|listed| listed.problem.is_none());
        // A file may have another name than its session.
        found.or_else(|| self.newest_first(None).find(|listed| listed.id == id))
    }

    /// The file of the session with exactly this id.
    pub fn find_id(&self, id: &str) -> Result<PathBuf, AgentError> {
        store::check_session_id(id)?;
        // What looks like a file name would be looked for in the process's own folder.
        if id.ends_with(".jsonl") {
            return Err(self.not_found(id));
        }
        if let Some(found) = self.environment.journals.find(id) {
            let found = Some(found?).filter(|path| is_file_of(path, id));
            return found.ok_or_else(|| self.not_found(id));
        }
        for place in self.places() {
            match place.find(id) {
                Ok(path) if is_file_of(&path, id) => return Ok(path),
                Ok(_) | Err(StoreError::NotFound { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let mut live = self.live_files().into_iter();
        let live = live.find_map(|(live, file)| (live == id).then_some(file));
        live.ok_or_else(|| self.not_found(id))
    }

    /// The file of the session that a client names by a path: another one, if the session is known
    /// otherwise than by its file. Blocks.
    pub fn file_at(&self, path: PathBuf) -> PathBuf {
        let known = self.environment.journals.find(&path.to_string_lossy());
        known.and_then(Result::ok).unwrap_or(path)
    }

    /// The file of a session by path, id or unique beginning of an id.
    pub fn find(&self, wanted: &str) -> Result<PathBuf, AgentError> {
        if let Some(found) = self.environment.journals.find(wanted) {
            return Ok(found?);
        }
        for place in self.places() {
            match place.find(wanted) {
                Err(StoreError::NotFound { .. }) => {}
                found => return Ok(found?),
            }
        }
        let found = store::find_among(self.live_files(), wanted)?;
        found.ok_or_else(|| self.not_found(wanted))
    }

    /// True when a file is in a place where sessions are listed from.
    pub(super) fn is_listed(&self, path: &Path) -> bool {
        let path = path.canonicalize();
        path.is_ok_and(|path| is_in(&roots(self.places()), &path))
    }

    /// True when a file is in a place where this agent's new sessions do not go.
    pub(super) fn is_of_others(&self, path: &Path) -> bool {
        let path = path.canonicalize();
        path.is_ok_and(|path| is_in(&roots(self.also_in.iter()), &path))
    }

    /// Where sessions are stored, beginning with the place of new ones.
    fn places(&self) -> impl Iterator<Item = &SessionFiles> {
        [&*self.files].into_iter().chain(&*self.also_in)
    }

    /// The live sessions that it shares, by id, whose files are there: one in which nothing was said is
    /// its client's alone. Who stores none has to do with none.
    fn live_files(&self) -> Vec<(String, PathBuf)> {
        let sharing = self.sharing.as_ref().filter(|_| self.keeps_sessions());
        let live = sharing.map_or_else(Vec::new, |sharing| sharing.live.list());
        let stored = live.into_iter().filter(|live| live.file.is_file());
        stored.map(|live| (live.id, live.file)).collect()
    }

    fn not_found(&self, wanted: &str) -> AgentError {
        let error = StoreError::NotFound {
            wanted: wanted.to_owned(),
            place: self.files.root(),
        };
        error.into()
    }
}

/// The folders that these places are in, without links.
fn roots<'a>(places: impl Iterator<Item = &'a SessionFiles>) -> Vec<PathBuf> {
    let stored = places.filter(|place| **place != SessionFiles::None);
    let roots = stored.map(|place| place.root().canonicalize());
    roots.filter_map(Result::ok).collect()
}

fn is_in(roots: &[PathBuf], path: &Path) -> bool {
    roots.iter().any(|root| path.starts_with(root))
}

/// Whether the name of a file says that it is of the session with this id.
fn is_file_of(path: &Path, id: &str) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    let stem = name.and_then(|name| name.strip_suffix(".jsonl"));
    let found = stem.map(|stem| stem.split_once('_').map_or(stem, |(_, id)| id));
    found == Some(id)
}
