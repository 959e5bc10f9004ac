//! The one way to read what lies in a folder that somebody else may have written.
//!
//! A project can bring anything: a link to a key, a pipe that never ends, a file that another user
//! of the machine put into a shared folder. What is read of it are regular files of bounded size,
//! inside the project after links are resolved, of an owner who may speak for it, and nothing that
//! the user has declared unreadable. Everything else is left alone with one warning.

use std::collections::BTreeSet;
use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::fs::OFlags;

/// What says that a folder is the root of a project.
const ROOT_MARK: &str = ".git";

/// How many folders above the working folder are looked at for the root of its project.
const MOST_PARENTS: usize = 64;

/// How many files that are not read are remembered.
const MOST_WARNED: usize = 10_000;

/// Whose files count: our own, those of the system, and in a folder that the user trusts those of
/// its owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustedOwners {
    ours: u32,
    trusted: Option<(PathBuf, u32)>,
}

impl TrustedOwners {
    /// Who runs this process, and the system.
    pub fn ours() -> Self {
        Self {
            ours: rustix::process::geteuid().as_raw(),
            trusted: None,
        }
    }

    /// The same and the owner of a folder that is trusted, inside that.
    #[must_use]
    pub fn and_in(self, folder: PathBuf, owner: u32) -> Self {
        Self {
            trusted: Some((folder, owner)),
            ..self
        }
    }

    /// Whether what lies there and belongs to this user is read.
    pub fn include(&self, path: &Path, uid: u32) -> bool {
        const SYSTEM: u32 = 0;
        let is_trusted =
            |(folder, owner): &(PathBuf, u32)| *owner == uid && path.starts_with(folder);
        uid == self.ours || uid == SYSTEM || self.trusted.as_ref().is_some_and(is_trusted)
    }
}

/// The project that a working folder belongs to, and what of it may be read. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Project {
    cwd: PathBuf,
    root: PathBuf,
    /// With its links resolved.
    real_root: PathBuf,
    owners: TrustedOwners,
    unreadable: Arc<[PathBuf]>,
}

/// Why a file is not read.
#[derive(Debug, thiserror::Error)]
pub enum NotRead {
    #[error("there is no such file")]
    Missing,
    #[error("it is not a regular file")]
    NotRegular,
    #[error("it is part of the system's own state (/proc or /sys), which may contain secrets")]
    OfSystem,
    #[error("it leads out of the project")]
    Outside,
    #[error("it belongs to another user")]
    OfAnother,
    #[error("others can write to it")]
    WritableByOthers,
    #[error("reading it is not allowed")]
    Unreadable,
    #[error("it is larger than {limit_bytes} bytes")]
    TooLarge { limit_bytes: u64 },
    #[error("{0}")]
    Io(io::Error),
}

/// The root of the repository a folder is in, else the folder itself. A mark that another user
/// planted, say in `/tmp`, makes no root.
fn project_root<'a>(cwd: &'a Path, owners: &TrustedOwners) -> &'a Path {
    let is_root = |folder: &&Path| {
        let mark = fs::symlink_metadata(folder.join(ROOT_MARK));
        mark.is_ok_and(|mark| owners.include(folder, mark.uid()))
    };
    let mut above = cwd.ancestors().take(MOST_PARENTS);
    above.find(is_root).unwrap_or(cwd)
}

impl Project {
    /// The project of a working folder.
    pub fn of(cwd: impl Into<PathBuf>, owners: TrustedOwners) -> Self {
        let cwd = cwd.into();
        let root = project_root(&cwd, &owners).to_owned();
        Self {
            real_root: root.canonicalize().unwrap_or_else(|_| root.clone()),
            root,
            cwd,
            owners,
            unreadable: Arc::default(),
        }
    }

    /// The same with files and folders that are not read.
    #[must_use]
    pub fn without(mut self, unreadable: &[PathBuf]) -> Self {
        let resolved = |path: &PathBuf| path.canonicalize().unwrap_or_else(|_| path.clone());
        self.unreadable = unreadable.iter().map(resolved).collect();
        self
    }

    /// The project of another folder, of which the same may be read.
    #[must_use]
    pub fn of_folder(&self, cwd: impl Into<PathBuf>) -> Self {
        Self {
            unreadable: Arc::clone(&self.unreadable),
            ..Self::of(cwd, self.owners.clone())
        }
    }

    /// Its root: that of the repository, else the working folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The working folder.
    pub fn cwd(&self) -> &Path {
        &self.cwd
    }

    /// The working folder and those above it that belong to the project, nearest first.
    pub fn folders(&self) -> impl DoubleEndedIterator<Item = &Path> {
        let above = self.cwd.ancestors();
        let inside: Vec<&Path> = above
            .take_while(|folder| folder.starts_with(&self.root))
            .collect();
        inside.into_iter()
    }

    /// Whether a file or folder that need not be there lies in the project, links resolved.
    pub fn holds(&self, path: &Path) -> bool {
        let goes_up = path
            .components()
            .any(|part| matches!(part, Component::ParentDir));
        // What a dangling link leads to is not there yet either.
        let is_there = |above: &&Path| above.symlink_metadata().is_ok();
        let there = path.ancestors().find(is_there);
        let there = there.and_then(|there| there.canonicalize().ok());
        !goes_up && there.is_some_and(|there| there.starts_with(&self.real_root))
    }

    /// What is known of a file that would be read.
    pub fn look(&self, path: &Path) -> Result<Metadata, NotRead> {
        let about = fs::metadata(path)?;
        self.check(path, &about)?;
        Ok(about)
    }

    /// Warns of a file that is not read, once in the life of the process. One that is not there is
    /// nobody's business.
    pub fn warn(&self, path: &Path, why: &NotRead) {
        static WARNED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
        if matches!(why, NotRead::Missing) {
            return;
        }
        let mut warned = WARNED.lock().unwrap_or_else(PoisonError::into_inner);
        // A server that has seen this many forgets them and may repeat itself.
        if warned.len() == MOST_WARNED {
            warned.clear();
        }
        if warned.insert(path.to_owned()) {
            tracing::warn!("{} is not read: {why}", path.display());
        }
    }

    /// Whether what was opened or looked at under `path` may be read.
    fn check(&self, path: &Path, about: &Metadata) -> Result<(), NotRead> {
        if !about.is_file() {
            return Err(NotRead::NotRegular);
        }
        let real = path.canonicalize()?;
        // What was opened must be what lies there: a link may have been turned meanwhile.
        let there = fs::metadata(&real)?;
        let is_same = there.dev() == about.dev() && there.ino() == about.ino();
        if !is_same || !real.starts_with(&self.real_root) {
            return Err(NotRead::Outside);
        }
        let of_another = |about: &Metadata| !self.owners.include(&real, about.uid());
        if of_another(about) {
            return Err(NotRead::OfAnother);
        }
        // Whoever owns a folder on the way can put something else into its place. That the root is
        // somebody else's is a matter of trust.
        let folders = real.ancestors().skip(1);
        let inside = |folder: &&Path| **folder != self.real_root;
        let below_root = folders.clone().take_while(inside);
        for folder in below_root.chain(folders.take(1)) {
            if of_another(&fs::metadata(folder)?) {
                return Err(NotRead::OfAnother);
            }
        }
        match self.unreadable.iter().any(|named| real.starts_with(named)) {
            true => Err(NotRead::Unreadable),
            false => Ok(()),
        }
    }
}

/// Whose folder a file comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileOrigin {
    Project,
    User,
}

impl FileOrigin {
    /// Its name for clients.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Project => "project",
            Self::User => "user",
        }
    }
}

/// Whose files are read: the user's own may lie anywhere, those of a project are looked at closely.
#[derive(Debug, Clone, Copy)]
pub enum FileOwner<'a> {
    Own,
    /// One of the user's own that nobody else may have written.
    Private,
    Project(&'a Project),
}

impl FileOwner<'_> {
    /// What is known of a regular file; `None`, with a warning, of one that would not be read.
    pub fn found(self, path: &Path) -> Option<Metadata> {
        match self {
            Self::Own | Self::Private => fs::metadata(path).ok().filter(Metadata::is_file),
            Self::Project(project) => match project.look(path) {
                Ok(about) => Some(about),
                Err(why) => {
                    project.warn(path, &why);
                    None
                }
            },
        }
    }

    /// Reads a file of at most `limit_bytes`.
    pub fn read(self, path: &Path, limit_bytes: u64) -> Result<Vec<u8>, NotRead> {
        let (file, about) = self.open(path)?;
        let too_large = || NotRead::TooLarge { limit_bytes };
        if about.len() > limit_bytes {
            return Err(too_large());
        }
        let mut bytes = Vec::new();
        // A file may grow meanwhile.
        let taken = file.take(limit_bytes + 1).read_to_end(&mut bytes)?;
        match taken as u64 > limit_bytes {
            true => Err(too_large()),
            false => Ok(bytes),
        }
    }

    /// Reads the beginning of a file, and says how long the whole is.
    pub fn read_beginning(self, path: &Path, most_bytes: u64) -> Result<(Vec<u8>, u64), NotRead> {
        let (file, about) = self.open(path)?;
        let mut bytes = Vec::new();
        file.take(most_bytes).read_to_end(&mut bytes)?;
        Ok((bytes, about.len()))
    }

    /// Warns of a file that is not read.
    pub fn warn(self, path: &Path, why: &NotRead) {
        match self {
            Self::Own | Self::Private => tracing::warn!("{} is not read: {why}", path.display()),
            Self::Project(project) => project.warn(path, why),
        }
    }

    fn open(self, path: &Path) -> Result<(File, Metadata), NotRead> {
        let (file, about) = open_regular(path)?;
        match self {
            Self::Own => check_not_of_system(path)?,
            Self::Private => check_private(path, &about)?,
            Self::Project(project) => project.check(path, &about)?,
        }
        Ok((file, about))
    }
}

/// Whether nobody but us and the system can have written what was opened under `path`.
fn check_private(path: &Path, about: &Metadata) -> Result<(), NotRead> {
    const GROUP_OR_OTHERS_WRITE: u32 = 0o022;
    if !TrustedOwners::ours().include(path, about.uid()) {
        return Err(NotRead::OfAnother);
    }
    match about.mode() & GROUP_OR_OTHERS_WRITE {
        0 => Ok(()),
        _ => Err(NotRead::WritableByOthers),
    }
}

/// Opening a pipe must not wait for whoever writes into it, and a device is not even asked.
fn open_regular(path: &Path) -> Result<(File, Metadata), NotRead> {
    let waits_for_nobody = OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = File::options()
        .read(true)
        .custom_flags(waits_for_nobody.bits().cast_signed())
        .open(path)?;
    let about = file.metadata()?;
    match about.is_file() {
        true => Ok((file, about)),
        false => Err(NotRead::NotRegular),
    }
}

/// What the system says of itself looks like regular files, and the environment of a process, with
/// its keys, is among it.
fn check_not_of_system(path: &Path) -> Result<(), NotRead> {
    let real = path.canonicalize()?;
    match ["/proc", "/sys"].iter().any(|view| real.starts_with(view)) {
        true => Err(NotRead::OfSystem),
        false => Ok(()),
    }
}

impl From<io::Error> for NotRead {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Self::Missing,
            _ => Self::Io(error),
        }
    }
}

impl PartialEq for Project {
    fn eq(&self, other: &Self) -> bool {
        self.cwd == other.cwd
            && self.root == other.root
            && self.owners == other.owners
            && self.unreadable == other.unreadable
    }
}

impl Eq for Project {}

impl Default for Project {
    fn default() -> Self {
        Self::of("", TrustedOwners::ours())
    }
}

/// The project of a working folder of our own.
impl<P: Into<PathBuf>> From<P> for Project {
    fn from(cwd: P) -> Self {
        Self::of(cwd, TrustedOwners::ours())
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn only_regular_files_inside_the_project_are_read() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::create_dir_all(at("repo/.git")).unwrap();
        fs::create_dir_all(at("repo/a")).unwrap();
        fs::write(at("key"), "secret").unwrap();
        fs::write(at("repo/good"), "good").unwrap();
        fs::write(at("repo/hidden"), "hidden").unwrap();
        for (target, link) in [
            ("../key", "key"),
            ("good", "inside"),
            ("/proc/self/environ", "environ"),
            ("/dev/zero", "zero"),
            ("nowhere", "dangling"),
            ("..", "folder"),
        ] {
            symlink(target, at("repo").join(link)).unwrap();
        }
        rustix::fs::mknodat(
            rustix::fs::CWD,
            at("repo/pipe"),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::from_raw_mode(0o600),
            0,
        )
        .unwrap();
        let project =
            Project::of(at("repo/a"), TrustedOwners::ours()).without(&[at("repo/hidden")]);
        assert_eq!(project.root(), at("repo"));
        let read = |name: &str| match FileOwner::Project(&project).read(&at("repo").join(name), 5) {
            Ok(bytes) => String::from_utf8(bytes).unwrap(),
            Err(why) => {
                assert_eq!(
                    project.look(&at("repo").join(name)).is_err(),
                    name != "long"
                );
                format!("{why:?}")
            }
        };
        fs::write(at("repo/long"), "longer").unwrap();
        for (name, expected) in [
            ("good", "good"),
            ("inside", "good"),
            ("key", "Outside"),
            ("environ", "Outside"),
            ("zero", "NotRegular"),
            ("pipe", "NotRegular"),
            ("folder", "NotRegular"),
            ("dangling", "Missing"),
            ("hidden", "Unreadable"),
            ("long", "TooLarge { limit_bytes: 5 }"),
        ] {
            assert_eq!(read(name), expected, "{name}");
        }
        let environ = Path::new("/proc/self/environ");
        for read in [environ, &at("repo/environ")].map(|path| FileOwner::Own.read(path, 1 << 20)) {
            assert!(matches!(read, Err(NotRead::OfSystem | NotRead::Missing)));
        }
    }

    #[test]
    fn what_is_not_there_yet_is_inside_where_its_folders_are() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::create_dir_all(at("repo/.git")).unwrap();
        symlink("..", at("repo/out")).unwrap();
        symlink("../nowhere", at("repo/dangling")).unwrap();
        let project = Project::of(at("repo"), TrustedOwners::ours());
        for (path, inside) in [
            ("repo/new/file", true),
            ("repo/out/file", false),
            ("repo/dangling", false),
            ("repo/../other", false),
            ("other", false),
        ] {
            assert_eq!(project.holds(&at(path)), inside, "{path}");
        }
    }

    #[test]
    fn the_folders_of_a_project_end_at_its_root() {
        let dir = tempfile::tempdir().unwrap();
        let deep = dir.path().join("repo/a/b");
        fs::create_dir_all(&deep).unwrap();
        let alone = Project::of(&deep, TrustedOwners::ours());
        assert_eq!(alone.folders().collect::<Vec<_>>(), [deep.as_path()]);
        fs::write(dir.path().join("repo/.git"), "gitdir: elsewhere").unwrap();
        let whole = Project::of(&deep, TrustedOwners::ours());
        assert_eq!(whole.folders().count(), 3);
        assert_eq!(whole.root(), dir.path().join("repo"));
    }
}
