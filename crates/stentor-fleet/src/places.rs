//! Where sessions work: labels of folders, since a folder does not travel with a log.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sha2::{Digest, Sha256};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, timeout};
use uuid::Uuid;

use crate::directory::SessionRecord;
use crate::error::FleetError;
use crate::nodes::{NodeRecord, Recipe};
use crate::settings::{Checkout, WorkPlace};

/// How much of a hash names a repository.
const HASH_BYTES: usize = 16;

/// How long a disk may take to say what is there. What it says later is not there.
const DISK_WAIT: Duration = Duration::from_secs(2);

/// How many questions about one place may be without an answer: each has a thread.
const MAX_ASKED: usize = 16;

/// The labels of places, and the folders of the named ones.
pub type PlacesThere = (Vec<String>, BTreeMap<String, String>);

/// The places that this node has. Clones know the same of their disks.
#[derive(Debug, Clone)]
pub struct NodePlaces {
    named: BTreeMap<String, WorkPlace>,
    /// The label of what is on this host and nowhere else.
    host: String,
    /// Who may ask about each place now.
    asking: BTreeMap<String, Arc<Semaphore>>,
    /// What was there when it was looked last, and when that was.
    seen: Arc<Mutex<Option<(Instant, PlacesThere)>>>,
}

/// Where a session works on this node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkingFolder {
    Here(PathBuf),
    /// This node does not have the place: what was said can be read, for this reason nothing more.
    Absent(String),
}

impl NodePlaces {
    /// Those of a node. What is in none of the named places is on its host only.
    pub fn new(named: &BTreeMap<String, WorkPlace>, node: &str) -> Self {
        let resolved = named.iter().map(|(label, place)| {
            let place = match place {
                WorkPlace::Folder(path) => WorkPlace::Folder(real(path)),
                WorkPlace::Checkout(checkout) => WorkPlace::Checkout(Checkout {
                    path: real(&checkout.path),
                    ..checkout.clone()
                }),
            };
            (label.clone(), place)
        });
        let host = host_label(node);
        let labels = named.keys().chain([&host]).cloned();
        let asking = labels.map(|label| (label, Arc::new(Semaphore::new(MAX_ASKED))));
        Self {
            asking: asking.collect(),
            named: resolved.collect(),
            host,
            seen: Arc::default(),
        }
    }

    /// Notes which places are there. Looks at the disk.
    pub fn look(&self) {
        let there = (self.labels(), self.folders());
        *self.lock_seen() = Some((Instant::now(), there));
    }

    /// What was there when it was looked last, unless that is longer ago than `within`: then it is
    /// not known of any disk.
    pub fn seen(&self, within: Duration) -> PlacesThere {
        match &*self.lock_seen() {
            Some((seen, there)) if seen.elapsed() <= within => there.clone(),
            _ => (vec![self.host.clone()], BTreeMap::new()),
        }
    }

    fn lock_seen(&self) -> MutexGuard<'_, Option<(Instant, PlacesThere)>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has the disk of a place asked. `None` when it does not answer in time: whoever waits for it would
    /// hold up all others.
    async fn ask<T: Send + 'static>(
        &self,
        label: &str,
        look: impl FnOnce(&Self) -> T + Send + 'static,
    ) -> Option<T> {
        let asking = Arc::clone(self.asking.get(label)?);
        let places = self.clone();
        let answer = async {
            let asked = asking.acquire_owned().await.ok()?;
            let looking = spawn_blocking(move || {
                let found = look(&places);
                drop(asked);
                found
            });
            looking.await.ok()
        };
        timeout(DISK_WAIT, answer).await.ok()?
    }

    /// The labels of all whose folders are here or can be made. Looks at the disk.
    pub fn labels(&self) -> Vec<String> {
        let named = self.there().map(|(label, _)| label.clone());
        named.chain([self.host.clone()]).collect()
    }

    /// Where the named ones of them are, by label. Looks at the disk.
    pub fn folders(&self) -> BTreeMap<String, String> {
        self.there()
            .map(|(label, place)| (label.clone(), place.path().display().to_string()))
            .collect()
    }

    /// What those are checked out of that are checkouts, by label.
    pub fn recipes(&self) -> BTreeMap<String, Recipe> {
        let recipes = self.named.iter().filter_map(|(label, place)| match place {
            WorkPlace::Checkout(checkout) => Some((label.clone(), recipe(checkout))),
            WorkPlace::Folder(_) => None,
        });
        recipes.collect()
    }

    /// An error when a place of this node is another repository on a node that is there: a session
    /// that moves would go on in other files. Another commit may be on its way to all nodes.
    pub fn check_against(&self, node: &NodeRecord) -> Result<(), FleetError> {
        for (label, own) in self.recipes() {
            match node.recipes.get(&label) {
                Some(other) if other.repository != own.repository => {
                    let node = node.id.name.clone();
                    return Err(FleetError::OtherRepository { label, node });
                }
                Some(other) if other.commit != own.commit => tracing::warn!(
                    "the place `{label}` is at {} here and at {} on the node `{}`",
                    own.commit,
                    other.commit,
                    node.id.name
                ),
                Some(_) | None => {}
            }
        }
        Ok(())
    }

    /// The named ones whose folders are here or can be made.
    fn there(&self) -> impl Iterator<Item = (&String, &WorkPlace)> {
        let is_there = |place: &WorkPlace| match place {
            WorkPlace::Folder(path) => path.is_dir(),
            WorkPlace::Checkout(checkout) => checkout.path.is_dir() || !checkout.path.exists(),
        };
        self.named.iter().filter(move |(_, place)| is_there(place))
    }

    /// True for the label of what is on this host and nowhere else.
    pub fn is_host(&self, label: &str) -> bool {
        label == self.host
    }

    /// The label of the place that a folder is in, and the folder relative to it: the innermost
    /// place if there are several.
    pub fn of(&self, folder: &Path) -> (String, String) {
        self.of_real(&real(folder))
    }

    /// The same of a folder whose path has no links.
    fn of_real(&self, folder: &Path) -> (String, String) {
        let inside = self.named.iter().filter_map(|(label, place)| {
            let relative = folder.strip_prefix(place.path()).ok()?;
            Some((label, relative))
        });
        match inside.min_by_key(|(_, relative)| relative.components().count()) {
            Some((label, relative)) => (label.clone(), relative.display().to_string()),
            None => (self.host.clone(), String::new()),
        }
    }

    /// The same, and whether the folder is there. Of a disk that does not answer only names are known.
    pub async fn find(&self, folder: &Path) -> ((String, String), bool) {
        let by_name = self.of_real(folder);
        let asked = folder.to_owned();
        let look = move |places: &Self| (places.of(&asked), asked.exists());
        self.ask(&by_name.0, look).await.unwrap_or((by_name, false))
    }

    /// True when a client can work in a folder: it is there, or can be made. A disk that does not answer
    /// has none.
    pub async fn offers(&self, folder: &Path) -> bool {
        let (label, _) = self.of_real(folder);
        let folder = folder.to_owned();
        let look = move |places: &Self| folder.is_dir() || places.can_make(&folder);
        self.ask(&label, look).await.unwrap_or(false)
    }

    /// [`Self::working_folder`] for who may not wait for a disk: one that does not answer has no folder.
    pub async fn find_working_folder(&self, session: &SessionRecord) -> WorkingFolder {
        let folder = match self.folder_of(session) {
            WorkingFolder::Here(folder) => folder,
            absent @ WorkingFolder::Absent(_) => return absent,
        };
        let asked = session.clone();
        let look = move |places: &Self| places.working_folder(&asked);
        let found = self.ask(&session.place, look).await;
        found.unwrap_or_else(|| {
            WorkingFolder::Absent(format!(
                "the disk of the folder {} of the place `{}` does not answer on this node, so the \
                 conversation can only be read here; open it on a node that has the folder",
                folder.display(),
                session.place
            ))
        })
    }

    /// Where a session works on this node, if its folder is here or is made when the session is taken.
    /// Nothing runs in another one. Looks at the disk.
    pub fn working_folder(&self, session: &SessionRecord) -> WorkingFolder {
        let folder = match self.folder_of(session) {
            WorkingFolder::Here(folder) => folder,
            absent @ WorkingFolder::Absent(_) => return absent,
        };
        let is_made = match self.named.get(&session.place) {
            Some(WorkPlace::Checkout(checkout)) => !checkout.path.exists(),
            Some(WorkPlace::Folder(_)) | None => false,
        };
        match is_made || folder.is_dir() {
            true => WorkingFolder::Here(folder),
            false => WorkingFolder::Absent(format!(
                "the folder {} of the place `{}` is not on this node, so the conversation can only be \
                 read here; open it on a node that has the folder",
                folder.display(),
                session.place
            )),
        }
    }

    /// Where the folder of a session is on this node by the names of places, whether it is there or
    /// not.
    pub fn folder_of(&self, session: &SessionRecord) -> WorkingFolder {
        if session.place == self.host {
            return WorkingFolder::Here(PathBuf::from(&session.cwd));
        }
        let relative = Path::new(&session.folder);
        let stays_inside = relative
            .components()
            .all(|part| matches!(part, Component::Normal(_)));
        match self.named.get(&session.place) {
            // Joined with nothing it would end in a slash.
            Some(place) if session.folder.is_empty() => WorkingFolder::Here(place.path().clone()),
            Some(place) if stays_inside => WorkingFolder::Here(place.path().join(relative)),
            _ => WorkingFolder::Absent(format!(
                "this node has no place `{}`, so the conversation can only be read here; open it on \
                 a node that has the place, or name the place in [fleet.places]",
                session.place
            )),
        }
    }

    /// True when a folder is in a place that can be checked out and is not there yet.
    pub fn can_make(&self, folder: &Path) -> bool {
        let leaves = folder
            .components()
            .any(|part| matches!(part, Component::ParentDir));
        let (label, _) = self.of(folder);
        match self.named.get(&label) {
            Some(WorkPlace::Checkout(checkout)) => !leaves && !checkout.path.exists(),
            Some(WorkPlace::Folder(_)) | None => false,
        }
    }

    /// Makes a place that is checked out, if it is not there yet. Blocks.
    pub fn prepare(&self, label: &str) -> Result<(), FleetError> {
        match self.named.get(label) {
            Some(WorkPlace::Checkout(checkout)) if !checkout.path.exists() => check_out(checkout),
            _ => Ok(()),
        }
    }
}

fn recipe(checkout: &Checkout) -> Recipe {
    let hash = Sha256::digest(checkout.repository.as_bytes());
    let digits = hash.iter().take(HASH_BYTES);
    Recipe {
        repository: digits.map(|byte| format!("{byte:02x}")).collect(),
        commit: checkout.commit.clone(),
    }
}

/// The label of what is on a host and nowhere else.
pub fn host_label(node: &str) -> String {
    format!("host-{node}")
}

/// Beside its final place first, so that nobody works in half of it.
fn check_out(checkout: &Checkout) -> Result<(), FleetError> {
    let failed = |why: String| FleetError::Checkout {
        path: checkout.path.clone(),
        why,
    };
    let folder = checkout.path.parent().unwrap_or(Path::new("/"));
    std::fs::create_dir_all(folder).map_err(|why| failed(why.to_string()))?;
    let name = checkout.path.file_name().unwrap_or_default();
    // Several sessions may need it at once.
    let unfinished = folder.join(format!(
        ".{}-{}",
        name.to_string_lossy(),
        Uuid::new_v4().simple()
    ));
    let git = |words: &[&str]| {
        let ran = std::process::Command::new("git")
            .args(words)
            .stdin(Stdio::null())
            .env("GIT_TERMINAL_PROMPT", "0")
            .output()
            .map_err(|why| failed(format!("git cannot be run: {why}")))?;
        match ran.status.success() {
            true => Ok(()),
            false => Err(failed(
                String::from_utf8_lossy(&ran.stderr).trim().to_owned(),
            )),
        }
    };
    let target = unfinished.display().to_string();
    let made = git(&[
        "clone",
        "--quiet",
        "--no-checkout",
        "--",
        &checkout.repository,
        &target,
    ])
    .and_then(|()| {
        let commit = format!("{}^{{commit}}", checkout.commit);
        git(&["-C", &target, "checkout", "--quiet", "--detach", &commit])
    })
    .and_then(|()| {
        std::fs::rename(&unfinished, &checkout.path).map_err(|why| failed(why.to_string()))
    });
    if made.is_err() {
        std::fs::remove_dir_all(&unfinished).ok();
    }
    // Another session may have been quicker.
    match checkout.path.is_dir() {
        true => Ok(()),
        false => made,
    }
}

/// The path without links. Of what is not there yet, as far as it is: it has the same path when it is.
fn real(path: &Path) -> PathBuf {
    let mut there = path.ancestors();
    let found = there.find_map(|part| Some((part, part.canonicalize().ok()?)));
    let rest = found.and_then(|(part, real)| Some((real, path.strip_prefix(part).ok()?)));
    match rest {
        // Joined with nothing it would end in a slash.
        Some((real, rest)) if rest.as_os_str().is_empty() => real,
        Some((real, rest)) => real.join(rest),
        None => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use futures_util::future::join_all;
    use stentor_test_support::TemporaryFolder;

    use super::*;
    use crate::directory::SessionActivity;

    fn session(place: &str, folder: &str, cwd: &Path) -> SessionRecord {
        SessionRecord {
            id: "s".to_owned(),
            place: place.to_owned(),
            folder: folder.to_owned(),
            cwd: cwd.display().to_string(),
            name: None,
            first_message: None,
            created: String::new(),
            updated_ms: 0,
            owner: None,
            wanted: None,
            kept_in: None,
            state: SessionActivity::Idle,
        }
    }

    #[tokio::test]
    async fn a_disk_that_does_not_answer_has_nothing_and_holds_up_nobody() {
        let disk = TemporaryFolder::with(&["slow", "quick"]);
        let named = ["slow", "quick"].map(|label| {
            let place = WorkPlace::Folder(disk.path(label));
            (label.to_owned(), place)
        });
        let places = NodePlaces::new(&named.into(), "n");
        let (answer, answered) = std::sync::mpsc::channel::<()>();
        let answered = Arc::new(Mutex::new(answered));
        let asked = (0..=MAX_ASKED).map(|_| {
            let answered = Arc::clone(&answered);
            let look = move |_: &NodePlaces| answered.lock().unwrap().recv().ok();
            places.ask("slow", look)
        });
        let answers = join_all(asked).await;
        assert!(answers.iter().all(Option::is_none));
        let find = async |label: &str| {
            let session = session(label, "", &disk.path(label));
            places.find_working_folder(&session).await
        };
        let slow = disk.path("slow");
        let (folder, offered, found) =
            tokio::join!(find("slow"), places.offers(&slow), places.find(&slow));
        assert!(matches!(folder, WorkingFolder::Absent(_)), "{folder:?}");
        assert!(!offered);
        assert_eq!(found, (("slow".to_owned(), String::new()), false));
        assert_eq!(find("quick").await, WorkingFolder::Here(disk.path("quick")));
        assert!(places.offers(&disk.path("quick")).await);
        // It can be asked again when it answers.
        drop(answer);
        assert_eq!(find("slow").await, WorkingFolder::Here(disk.path("slow")));
    }

    #[test]
    fn a_place_whose_folder_is_missing_is_none_of_this_node() {
        let disk = TemporaryFolder::with(&["here", "here/sub"]);
        let checkout = |name: &str| {
            WorkPlace::Checkout(Checkout {
                repository: "r".to_owned(),
                commit: "c".to_owned(),
                path: disk.path(name),
            })
        };
        disk.file("file", "");
        let named = [
            ("here", WorkPlace::Folder(disk.path("here"))),
            ("missing", WorkPlace::Folder(disk.path("missing"))),
            ("made", checkout("made")),
            ("in-the-way", checkout("file")),
        ];
        let named = named.map(|(label, place)| (label.to_owned(), place));
        let places = NodePlaces::new(&named.into(), "n");
        assert_eq!(places.labels(), ["here", "made", "host-n"]);
        assert!(places.folders().keys().eq(["here", "made"]));
        let host = disk.path("here");
        for (place, folder, cwd, is_here) in [
            ("here", "", "", true),
            ("here", "sub", "", true),
            ("here", "other", "", false),
            ("missing", "", "", false),
            // What is in it is known when it is there.
            ("made", "sub", "", true),
            ("in-the-way", "", "", false),
            ("host-n", "", "here", true),
            ("host-n", "", "missing", false),
            ("unknown", "", "here", false),
        ] {
            let session = session(place, folder, &host.with_file_name(cwd));
            let found = places.working_folder(&session);
            let is_found = matches!(found, WorkingFolder::Here(_));
            assert_eq!(is_found, is_here, "{place} {folder} {cwd}: {found:?}");
        }
    }
}
