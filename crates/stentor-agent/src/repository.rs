//! The repository that a folder is in: its branch and its working trees, read from git's own files.
//! Running git for every line that names a branch would cost more than the line.
//!
//! A project can bring a `.git` of its own making, so these files are read like all others of a
//! project. One that is not read is not warned of: the branch is not shown, that is all.

use std::fs;
use std::path::{Path, PathBuf};

use crate::project_files::{FileOwner, Project};
use crate::tasks;

/// The longest file that is read: it names one branch or one folder.
const FILE_BYTES: u64 = 8 << 10;

/// How many linked working trees are looked at.
const MOST_TREES: usize = 256;

/// What HEAD points at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GitHead {
    Branch(String),
    Detached,
}

impl GitHead {
    /// The name shown for it.
    pub fn label(&self) -> &str {
        match self {
            Self::Branch(name) => name,
            Self::Detached => "detached",
        }
    }
}

/// A working tree of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkTree {
    pub path: PathBuf,
    pub head: GitHead,
}

/// The repository that a folder is in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repository {
    /// The root of the working tree.
    pub root: PathBuf,
    pub head: Option<GitHead>,
    /// The main one first.
    pub trees: Vec<WorkTree>,
    /// Which of them `root` is.
    pub current: Option<usize>,
}

/// The name shown for a folder's branch.
pub async fn branch_label(project: Project) -> Option<String> {
    let head = apart(project, |project| located(project)?.1.head()).await;
    head.map(|head| head.label().to_owned())
}

/// The repository a folder is in; `None` outside any.
pub async fn repository(project: Project) -> Option<Repository> {
    apart(project, |project| {
        let (root, git) = located(project)?;
        let trees = git.work_trees();
        let resolved = root.canonicalize().ok();
        let is_root = |tree: &WorkTree| {
            tree.path == root || (resolved.is_some() && tree.path.canonicalize().ok() == resolved)
        };
        Some(Repository {
            head: git.head(),
            current: trees.iter().position(is_root),
            trees,
            root,
        })
    })
    .await
}

/// Reads files where waiting for the disk stops nobody.
async fn apart<T: Send + 'static>(
    project: Project,
    read: impl FnOnce(Project) -> Option<T> + Send + 'static,
) -> Option<T> {
    let reading = tasks::spawn_blocking(move || read(project));
    reading.await.ok().flatten()
}

/// The root of the working tree of a project and its git folder.
fn located(project: Project) -> Option<(PathBuf, GitFolder)> {
    let root = project.root().to_owned();
    let mark = root.join(".git");
    let git = match fs::symlink_metadata(&mark).ok()?.is_file() {
        true => {
            let text = text_of(&project, &mark)?;
            let named = root.join(text.strip_prefix("gitdir:")?.trim());
            GitFolder::at(&named, &project)?
        }
        false => GitFolder {
            path: mark,
            project,
        },
    };
    Some((root, git))
}

/// Where a repository keeps what it knows.
struct GitFolder {
    path: PathBuf,
    /// What it lies in.
    project: Project,
}

impl GitFolder {
    /// One that a file of git names. Those of linked working trees lie in another project, to which
    /// the same holds as to this one: nothing leads out of it, and it is of an owner who counts.
    fn at(path: &Path, from: &Project) -> Option<Self> {
        let path = path.canonicalize().ok()?;
        Some(Self {
            project: from.of_folder(&path),
            path,
        })
    }

    fn read(&self, name: &str) -> Option<String> {
        text_of(&self.project, &self.path.join(name))
    }

    /// What is neither a branch nor a commit is none of git's, and nobody is shown it.
    fn head(&self) -> Option<GitHead> {
        let text = self.read("HEAD")?;
        let text = text.trim();
        let Some(reference) = text.strip_prefix("ref:") else {
            let is_commit = text.bytes().all(|byte| byte.is_ascii_hexdigit());
            return (is_commit && !text.is_empty()).then_some(GitHead::Detached);
        };
        let reference = reference.trim();
        let is_odd = |c: char| c.is_whitespace() || c.is_control();
        if !reference.starts_with("refs/") || reference.contains(is_odd) {
            return None;
        }
        let name = reference.strip_prefix("refs/heads/").unwrap_or(reference);
        Some(GitHead::Branch(name.to_owned()))
    }

    /// The working trees of the repository.
    fn work_trees(&self) -> Vec<WorkTree> {
        let common = self.read("commondir");
        let common =
            common.and_then(|place| Self::at(&self.path.join(place.trim()), &self.project));
        let common = common.as_ref().unwrap_or(self);
        let tree = |git: &Self, root: Option<&Path>| {
            let (path, head) = (root?.to_owned(), git.head()?);
            Some(WorkTree { path, head })
        };
        let mut trees: Vec<WorkTree> = tree(common, common.path.parent()).into_iter().collect();
        let Ok(entries) = fs::read_dir(common.path.join("worktrees")) else {
            return trees;
        };
        let mut linked: Vec<PathBuf> = entries
            .take(MOST_TREES)
            .filter_map(|entry| Some(entry.ok()?.path()))
            .collect();
        linked.sort();
        for path in linked {
            let entry = Self {
                path,
                project: common.project.clone(),
            };
            let mark = entry.read("gitdir");
            let root = mark
                .as_deref()
                .and_then(|mark| Path::new(mark.trim()).parent());
            trees.extend(tree(&entry, root));
        }
        trees
    }
}

fn text_of(project: &Project, path: &Path) -> Option<String> {
    let bytes = FileOwner::Project(project).read(path, FILE_BYTES).ok()?;
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project_files::TrustedOwners;

    fn ours(folder: impl Into<PathBuf>) -> Project {
        Project::of(folder, TrustedOwners::ours())
    }

    #[tokio::test]
    async fn branches_detached_heads_and_linked_trees_are_seen() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        assert_eq!(repository(ours(&root)).await, None);
        let git = root.join("main/.git");
        fs::create_dir_all(git.join("worktrees/side")).unwrap();
        fs::create_dir_all(root.join("main/src/deep")).unwrap();
        fs::create_dir_all(root.join("side")).unwrap();
        fs::write(git.join("HEAD"), "ref: refs/heads/feature/x\n").unwrap();
        let side = git.join("worktrees/side");
        fs::write(side.join("HEAD"), "0123abc\n").unwrap();
        fs::write(side.join("commondir"), "../..\n").unwrap();
        fs::write(
            side.join("gitdir"),
            format!("{}\n", root.join("side/.git").display()),
        )
        .unwrap();
        fs::write(
            root.join("side/.git"),
            format!("gitdir: {}\n", side.display()),
        )
        .unwrap();
        let deep = branch_label(ours(root.join("main/src/deep"))).await;
        assert_eq!(deep.as_deref(), Some("feature/x"));
        let label = branch_label(ours(root.join("side"))).await;
        assert_eq!(label.as_deref(), Some("detached"));
        let expected = [
            WorkTree {
                path: root.join("main"),
                head: GitHead::Branch("feature/x".into()),
            },
            WorkTree {
                path: root.join("side"),
                head: GitHead::Detached,
            },
        ];
        let found = repository(ours(root.join("side"))).await.unwrap();
        assert_eq!(found.trees, expected);
        assert_eq!(found.root, root.join("side"));
    }
}
