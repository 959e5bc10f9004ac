//! What `.gitignore` leaves out: builds and downloads, which are large and can be made again.

use std::ffi::OsStr;
use std::fs;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rustix::fs::{Mode, OFlags};

/// A longer `.gitignore` is none.
const LONGEST_BYTES: u64 = 1 << 20;

const NAME: &str = ".gitignore";

/// The rules that hold in a folder: its own, and those of the folders above.
pub(crate) struct Ignored {
    rules: Gitignore,
    above: Option<Arc<Ignored>>,
}

impl Ignored {
    /// The rules above the folder of a session, when it is inside a repository.
    pub fn above(folder: &Path) -> Option<Arc<Self>> {
        let is_root = |folder: &&Path| fs::symlink_metadata(folder.join(".git")).is_ok();
        let mut inside: Vec<&Path> = Vec::new();
        if !is_root(&folder) {
            for above in folder.ancestors().skip(1) {
                inside.push(above);
                if is_root(&above) {
                    break;
                }
            }
            if !inside.last().is_some_and(is_root) {
                return None;
            }
        }
        let mut found = None;
        for above in inside.into_iter().rev() {
            let rules = read(fs::File::open(above.join(NAME)).ok(), above);
            found = with(rules, found);
        }
        found
    }

    /// The rules in a folder that is looked at, whose path is `path` below that of the session.
    pub fn inside(
        folder: &OwnedFd,
        session_folder: &Path,
        path: &Path,
        above: &Option<Arc<Self>>,
    ) -> Option<Arc<Self>> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(folder, OsStr::new(NAME), flags, Mode::empty());
        let rules = read(file.ok().map(fs::File::from), &session_folder.join(path));
        with(rules, above.clone())
    }

    /// True when what is at an absolute path is left out. The nearest rule decides.
    pub fn ignores(&self, path: &Path, is_folder: bool) -> bool {
        let mut rules = Some(self);
        while let Some(here) = rules {
            let found = here.rules.matched(path, is_folder);
            if !found.is_none() {
                return found.is_ignore();
            }
            rules = here.above.as_deref();
        }
        false
    }
}

fn with(rules: Option<Gitignore>, above: Option<Arc<Ignored>>) -> Option<Arc<Ignored>> {
    match rules {
        Some(rules) => Some(Arc::new(Ignored { rules, above })),
        None => above,
    }
}

fn read(file: Option<fs::File>, folder: &Path) -> Option<Gitignore> {
    use std::io::Read;
    let file = file?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut text = Vec::new();
    let mut file = file.take(LONGEST_BYTES);
    file.read_to_end(&mut text).ok()?;
    let mut builder = GitignoreBuilder::new(PathBuf::from(folder));
    for line in String::from_utf8_lossy(&text).lines() {
        // A line that is no rule is none.
        builder.add_line(None, line).ok();
    }
    builder.build().ok()
}
