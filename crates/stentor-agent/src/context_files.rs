//! The files in which people tell a coding agent about their project: `AGENTS.md`, `CLAUDE.md`.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use crate::project_files::{FileOrigin, FileOwner, NotRead, Project};

/// One such file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextFile {
    pub path: PathBuf,
    /// What it says. A file that is too long ends with a note that says so.
    pub text: String,
    pub origin: FileOrigin,
}

/// Where to look.
#[derive(Debug, Clone, Copy)]
pub struct ContextPlaces<'a> {
    /// The project: its working folder and those above it up to its root.
    pub project: &'a Project,
    /// The user's configuration folder.
    pub config_dir: Option<&'a Path>,
    /// The agent folders of other programs, whose `AGENTS.md` is the user's own as well.
    pub agent_folders: &'a [PathBuf],
}

/// In one folder the first of these that exists counts.
const NAMES: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];
/// Instructions longer than this crowd out the conversation; the rest is left out with a note.
const LARGEST_FILE_BYTES: u64 = 64 * 1024;
/// All files together.
const LARGEST_SUM_BYTES: u64 = 256 * 1024;

/// Finds the files, the user's own first, then from the project's root down to the working folder, so that
/// what is nearest is read last. A file reached twice, through links, is there once.
pub fn find_context_files(places: ContextPlaces<'_>) -> Vec<ContextFile> {
    let mut seen = HashSet::new();
    let mut left_bytes = LARGEST_SUM_BYTES;
    let mut files = Vec::new();
    for (origin, candidates) in candidates(places) {
        let reader = match origin {
            FileOrigin::User => FileOwner::Own,
            FileOrigin::Project => FileOwner::Project(places.project),
        };
        let mut there = candidates.into_iter();
        let Some(path) = there.find(|path| reader.found(path).is_some()) else {
            continue;
        };
        let identity = path.canonicalize().unwrap_or_else(|_| path.clone());
        if !seen.insert(identity) {
            continue;
        }
        match read_capped(reader, &path, left_bytes.min(LARGEST_FILE_BYTES)) {
            Ok(text) => {
                left_bytes = left_bytes.saturating_sub(text.len() as u64);
                if !text.trim().is_empty() {
                    files.push(ContextFile { path, text, origin });
                }
            }
            Err(why) => reader.warn(&path, &why),
        }
    }
    files
}

/// The places in order; of each, the first path that is a file counts.
fn candidates(places: ContextPlaces<'_>) -> Vec<(FileOrigin, Vec<PathBuf>)> {
    let in_folder = |folder: &Path| {
        let names = NAMES.iter().map(|name| folder.join(name));
        (FileOrigin::Project, names.collect())
    };
    let own = |folder: PathBuf| (FileOrigin::User, vec![folder.join("AGENTS.md")]);
    let family = places.agent_folders.iter().cloned().map(own);
    let configured = places.config_dir.map(|dir| own(dir.to_owned()));
    let project = places.project.folders().rev().map(in_folder);
    family.chain(configured).chain(project).collect()
}

fn read_capped(reader: FileOwner<'_>, path: &Path, limit_bytes: u64) -> Result<String, NotRead> {
    let (mut bytes, size) = reader.read_beginning(path, limit_bytes)?;
    let cut = size > limit_bytes;
    if cut {
        drop_split_character(&mut bytes);
    }
    let mut text = String::from_utf8_lossy(&bytes).into_owned();
    if cut {
        text.push_str(&format!(
            "\n[{} is {size} bytes long; only the first {} are shown. Read the file for the rest.]\n",
            path.display(),
            bytes.len()
        ));
    }
    Ok(text)
}

/// A cut in the middle of a character must not look like damage.
fn drop_split_character(bytes: &mut Vec<u8>) {
    if let Err(error) = std::str::from_utf8(bytes)
        && error.error_len().is_none()
    {
        bytes.truncate(error.valid_up_to());
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A tree with these files, each saying its own path.
    fn tree(files: &[&str]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for file in files {
            let path = dir.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, format!("about {file}")).unwrap();
        }
        dir
    }

    fn found(dir: &Path, cwd: &str) -> Vec<String> {
        let files = find_context_files(ContextPlaces {
            project: &dir.join(cwd).into(),
            config_dir: Some(&dir.join("config")),
            agent_folders: &[".pi/agent", ".omp/agent"].map(|name| dir.join("home").join(name)),
        });
        files
            .iter()
            .filter_map(|file| {
                let below = file.path.strip_prefix(dir).ok()?.display().to_string();
                Some(format!("{below}: {}", file.text))
            })
            .collect()
    }

    #[test]
    fn outer_files_come_first_and_agents_wins_over_claude() {
        let dir = tree(&[
            "config/AGENTS.md",
            "config/CLAUDE.md",
            "home/.pi/agent/AGENTS.md",
            "home/.omp/agent/AGENTS.md",
            "AGENTS.md",
            "w/.git/HEAD",
            "w/CLAUDE.md",
            "w/a/AGENTS.md",
            "w/a/CLAUDE.md",
            "w/a/b/CLAUDE.md",
            "w/other/AGENTS.md",
        ]);
        assert_eq!(
            found(dir.path(), "w/a/b"),
            [
                "home/.pi/agent/AGENTS.md: about home/.pi/agent/AGENTS.md",
                "home/.omp/agent/AGENTS.md: about home/.omp/agent/AGENTS.md",
                "config/AGENTS.md: about config/AGENTS.md",
                "w/CLAUDE.md: about w/CLAUDE.md",
                "w/a/AGENTS.md: about w/a/AGENTS.md",
                "w/a/b/CLAUDE.md: about w/a/b/CLAUDE.md",
            ]
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_file_reached_through_links_is_there_once() {
        use std::os::unix::fs::symlink;
        let dir = tree(&["w/.git/HEAD", "w/AGENTS.md", "w/a/x", "w/loop/x"]);
        symlink("../AGENTS.md", dir.path().join("w/a/AGENTS.md")).unwrap();
        symlink("AGENTS.md", dir.path().join("w/loop/AGENTS.md")).unwrap();
        assert_eq!(found(dir.path(), "w/a"), ["w/AGENTS.md: about w/AGENTS.md"]);
        assert_eq!(
            found(dir.path(), "w/loop"),
            ["w/AGENTS.md: about w/AGENTS.md"]
        );
    }

    #[test]
    fn a_folder_of_that_name_and_an_empty_file_say_nothing() {
        let dir = tree(&["w/.git/HEAD", "w/AGENTS.md/x", "w/a/x"]);
        fs::write(dir.path().join("w/a/AGENTS.md"), " \n").unwrap();
        assert_eq!(found(dir.path(), "w/a"), [""; 0]);
        fs::write(dir.path().join("w/CLAUDE.md"), "second").unwrap();
        assert_eq!(found(dir.path(), "w/a"), ["w/CLAUDE.md: second"]);
    }

    #[test]
    fn bytes_that_are_no_utf8_are_replaced() {
        let dir = tree(&["w/x"]);
        fs::write(dir.path().join("w/AGENTS.md"), b"caf\xe9").unwrap();
        assert_eq!(found(dir.path(), "w"), ["w/AGENTS.md: caf\u{fffd}"]);
    }

    #[test]
    fn a_long_file_is_cut_between_characters_with_a_note() {
        let dir = tree(&["w/x"]);
        let path = dir.path().join("w/AGENTS.md");
        // The limit falls into the middle of an é.
        fs::write(&path, format!("x{}", "é".repeat(40_000))).unwrap();
        let text = &find_context_files(ContextPlaces {
            project: &dir.path().join("w").into(),
            config_dir: None,
            agent_folders: &[],
        })
        .pop()
        .unwrap()
        .text;
        let note = format!(
            "\n[{} is 80001 bytes long; only the first 65535 are shown. Read the file for the rest.]\n",
            path.display()
        );
        assert_eq!(*text, format!("x{}{note}", "é".repeat(32_767)));
    }

    #[test]
    fn all_files_together_stay_below_the_limit() {
        let folders: Vec<String> = (0..8).map(|n| format!("{n}/")).collect();
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join(".git")).unwrap();
        let mut cwd = dir.path().to_owned();
        for folder in folders {
            cwd.push(folder);
            fs::create_dir(&cwd).unwrap();
            fs::write(cwd.join("AGENTS.md"), vec![b'x'; 60 * 1024]).unwrap();
        }
        let mut files = find_context_files(ContextPlaces {
            project: &cwd.clone().into(),
            config_dir: None,
            agent_folders: &[],
        });
        files.retain(|file| file.path.starts_with(dir.path()));
        let sum: usize = files.iter().map(|file| file.text.len()).sum();
        assert_eq!(files.len(), 8, "those left out are named all the same");
        assert!(sum < 260 * 1024, "{sum}");
        assert!(files[7].text.contains("only the first 0 are shown"));
    }
}
