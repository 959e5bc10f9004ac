//! Which files there are, and what tells whether one has changed.
//!
//! Looking costs a few dozen system calls and reads nothing, so it is done whenever somebody wants
//! to know.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::MAX_COMMANDS;
use super::folders::CommandFolders;
use crate::project_files::{FileOrigin, FileOwner};

/// A file that may be a command, or an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CommandCandidate {
    pub kind: CommandFileKind,
    pub origin: FileOrigin,
    /// By its place; the file itself may say another.
    pub name: String,
    pub path: PathBuf,
    stamp: FileStamp,
}

/// What a file is, by the folder it is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CommandFileKind {
    Template,
    Skill,
    Agent,
}

/// A file that is written anew gets another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileStamp {
    modified: (i64, i64),
    bytes: u64,
    inode: u64,
}

/// The files there are, nearest folder first, by name within a folder.
pub(super) fn scan(folders: &CommandFolders) -> Vec<CommandCandidate> {
    let mut scan = FolderScan {
        found: Vec::new(),
        reader: FileOwner::Own,
    };
    for (origin, folder) in folders.all() {
        scan.reader = folders.reader(origin);
        // Most of the folders that are looked into do not exist.
        if !folder.is_dir() {
            continue;
        }
        // What is called takes the place of what the user says, and an agent that of the model.
        let is_trusted = origin == FileOrigin::User || !folders.untrusted;
        if is_trusted && !folders.without_templates {
            scan.templates(&folder.join("prompts"), origin);
            scan.templates(&folder.join("commands"), origin);
        }
        if !folders.without_skills {
            scan.skills(&folder.join("skills"), origin);
        }
        if is_trusted {
            scan.agents(&folder.join("agents"), origin);
        }
    }
    scan.found
}

struct FolderScan<'a> {
    found: Vec<CommandCandidate>,
    /// Of the folder that is looked into.
    reader: FileOwner<'a>,
}

impl FolderScan<'_> {
    /// `NAME.md`, and `GROUP/NAME.md` as `GROUP:NAME`.
    fn templates(&mut self, folder: &Path, origin: FileOrigin) {
        for path in sorted_entries(folder) {
            if !path.is_dir() {
                self.add_markdown(CommandFileKind::Template, origin, path, None);
                continue;
            }
            let group = name_of(&path);
            for inner in sorted_entries(&path) {
                self.add_markdown(CommandFileKind::Template, origin, inner, Some(&group));
            }
        }
    }

    /// `NAME/SKILL.md`, also one folder deeper.
    fn skills(&mut self, folder: &Path, origin: FileOrigin) {
        for entry in sorted_entries(folder) {
            if !self.add(
                CommandFileKind::Skill,
                origin,
                name_of(&entry),
                entry.join("SKILL.md"),
            ) {
                for inner in sorted_entries(&entry) {
                    self.add(
                        CommandFileKind::Skill,
                        origin,
                        name_of(&inner),
                        inner.join("SKILL.md"),
                    );
                }
            }
        }
    }

    /// `NAME.md`.
    fn agents(&mut self, folder: &Path, origin: FileOrigin) {
        for path in sorted_entries(folder) {
            self.add_markdown(CommandFileKind::Agent, origin, path, None);
        }
    }

    fn add_markdown(
        &mut self,
        kind: CommandFileKind,
        origin: FileOrigin,
        path: PathBuf,
        group: Option<&str>,
    ) {
        if path.extension().is_none_or(|extension| extension != "md") {
            return;
        }
        let Some(stem) = path.file_stem().map(|stem| stem.to_string_lossy()) else {
            return;
        };
        let name = match group {
            Some(group) => format!("{group}:{stem}"),
            None => stem.into_owned(),
        };
        self.add(kind, origin, name, path);
    }

    /// Adds a file. False when there is none.
    fn add(
        &mut self,
        kind: CommandFileKind,
        origin: FileOrigin,
        name: String,
        path: PathBuf,
    ) -> bool {
        let Some(about) = self.reader.found(&path) else {
            return false;
        };
        self.found.push(CommandCandidate {
            kind,
            origin,
            name,
            path,
            stamp: FileStamp {
                modified: (about.mtime(), about.mtime_nsec()),
                bytes: about.len(),
                inode: about.ino(),
            },
        });
        true
    }
}

fn name_of(path: &Path) -> String {
    path.file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
}

fn sorted_entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut paths: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .take(4 * MAX_COMMANDS)
        .collect();
    paths.sort();
    paths
}
