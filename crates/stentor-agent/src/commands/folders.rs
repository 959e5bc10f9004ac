//! Where commands are looked for.

use std::path::{Path, PathBuf};

use super::Origin;

/// The folders that programs of this kind keep in a project and in a home. The first that has a
/// name wins.
const DOT_FOLDERS: [&str; 5] = [".stentor", ".pi", ".omp", ".claude", ".agents"];

/// Where the agent folders of pi and omp lie inside their dot folders in a home.
const HOME_SUBFOLDERS: [&str; 2] = ["", "agent"];

/// The folders of one session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommandFolders {
    /// The working folder.
    pub project: PathBuf,
    pub home: Option<PathBuf>,
    /// The program's own configuration folder.
    pub config: Option<PathBuf>,
}

impl CommandFolders {
    /// The folders that may have `prompts`, `commands` and `skills` in them, nearest first.
    pub(super) fn all(&self) -> Vec<(Origin, PathBuf)> {
        let mut folders: Vec<(Origin, PathBuf)> = Vec::new();
        for dot in DOT_FOLDERS {
            folders.push((Origin::Project, self.project.join(dot)));
        }
        if let Some(config) = &self.config {
            folders.push((Origin::User, config.clone()));
        }
        if let Some(home) = self.home.as_deref().filter(|home| !self.is_project(home)) {
            for dot in DOT_FOLDERS {
                for below in HOME_SUBFOLDERS {
                    folders.push((Origin::User, home.join(dot).join(below)));
                }
            }
        }
        folders
    }

    /// Who works in the home folder itself has one set of folders, not two.
    fn is_project(&self, home: &Path) -> bool {
        self.project == home
    }
}
