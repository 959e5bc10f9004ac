//! What the footer and queries say about a folder's repository, read from its files: running git
//! for every footer would cost more than the footer.

use std::fs;
use std::path::{Path, PathBuf};

/// What HEAD points at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Head {
    Branch(String),
    Detached,
}

/// A working tree of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WorkTree {
    pub path: PathBuf,
    pub head: Head,
}

/// The branch of the repository a folder is in; `None` outside any.
pub(super) fn head(folder: &Path) -> Option<Head> {
    let (_, git_dir) = repository(folder)?;
    read_head(&git_dir)
}

/// The name shown for a folder's branch.
pub(super) fn branch_label(folder: &Path) -> Option<String> {
    Some(match head(folder)? {
        Head::Branch(name) => name,
        Head::Detached => "detached".to_owned(),
    })
}

/// The working trees of the repository a folder is in: the main one first.
pub(super) fn work_trees(folder: &Path) -> Vec<WorkTree> {
    let Some((_, git_dir)) = repository(folder) else {
        return Vec::new();
    };
    let common = common_dir(&git_dir);
    let main = common.parent().map(Path::to_path_buf);
    let mut trees: Vec<WorkTree> = main
        .zip(read_head(&common))
        .map(|(path, head)| WorkTree { path, head })
        .into_iter()
        .collect();
    let Ok(entries) = fs::read_dir(common.join("worktrees")) else {
        return trees;
    };
    let mut linked: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    linked.sort();
    for entry in linked {
        let Ok(gitdir) = fs::read_to_string(entry.join("gitdir")) else {
            continue;
        };
        let tree = Path::new(gitdir.trim()).parent().map(Path::to_path_buf);
        if let (Some(path), Some(head)) = (tree, read_head(&entry)) {
            trees.push(WorkTree { path, head });
        }
    }
    trees
}

/// The root of the working tree a folder is in.
pub(super) fn root(folder: &Path) -> Option<PathBuf> {
    repository(folder).map(|(root, _)| root)
}

/// The root of the working tree and its git folder.
fn repository(folder: &Path) -> Option<(PathBuf, PathBuf)> {
    folder.ancestors().find_map(|root| {
        let git = root.join(".git");
        let kind = fs::metadata(&git).ok()?;
        if kind.is_dir() {
            return Some((root.to_owned(), git));
        }
        let text = fs::read_to_string(&git).ok()?;
        let place = text.strip_prefix("gitdir:")?.trim();
        Some((root.to_owned(), root.join(place)))
    })
}

fn common_dir(git_dir: &Path) -> PathBuf {
    match fs::read_to_string(git_dir.join("commondir")) {
        Ok(text) => {
            let common = git_dir.join(text.trim());
            common.canonicalize().unwrap_or(common)
        }
        Err(_) => git_dir.to_owned(),
    }
}

fn read_head(git_dir: &Path) -> Option<Head> {
    let text = fs::read_to_string(git_dir.join("HEAD")).ok()?;
    let text = text.trim();
    match text.strip_prefix("ref:") {
        Some(reference) => {
            let reference = reference.trim();
            let name = reference.strip_prefix("refs/heads/").unwrap_or(reference);
            Some(Head::Branch(name.to_owned()))
        }
        None => Some(Head::Detached),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches_detached_heads_and_linked_trees_are_seen() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        assert_eq!(head(&root), None);
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
        let branch = Head::Branch("feature/x".into());
        assert_eq!(head(&root.join("main/src/deep")), Some(branch.clone()));
        assert_eq!(branch_label(&root.join("side")), Some("detached".into()));
        let expected = [
            WorkTree {
                path: root.join("main"),
                head: branch,
            },
            WorkTree {
                path: root.join("side"),
                head: Head::Detached,
            },
        ];
        assert_eq!(work_trees(&root.join("side")), expected);
        assert_eq!(super::root(&root.join("side")), Some(root.join("side")));
    }
}
