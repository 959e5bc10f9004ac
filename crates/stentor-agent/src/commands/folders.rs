//! Where commands are looked for.

use std::path::{Path, PathBuf};

use super::Origin;
use crate::agent_folders::AgentFolders;

/// The folders that programs of this kind keep in a project and in a home. The first that has a
/// name wins.
const DOT_FOLDERS: [&str; 5] = [".stentor", ".pi", ".omp", ".claude", ".agents"];

/// What says that a folder is the root of a project.
const PROJECT_MARK: &str = ".git";

/// How many folders above the working folder are looked at for the root of its project.
const MOST_PARENTS: usize = 32;

/// The folders of one session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommandFolders {
    /// The working folder.
    pub project: PathBuf,
    pub home: Option<PathBuf>,
    /// What pi and omp keep for the user.
    pub agent_folders: AgentFolders,
    /// The program's own configuration folder.
    pub config: Option<PathBuf>,
    pub without_templates: bool,
    pub without_skills: bool,
}

impl CommandFolders {
    /// The folders that may have `prompts`, `commands`, `skills` and `agents` in them, nearest
    /// first: those of the working folder, of the folders above it up to the root of its project,
    /// then the user's own.
    pub(super) fn all(&self) -> Vec<(Origin, PathBuf)> {
        let mut folders: Vec<(Origin, PathBuf)> = Vec::new();
        for folder in self.project_folders() {
            for dot in DOT_FOLDERS {
                folders.push((Origin::Project, folder.join(dot)));
            }
        }
        folders.extend(self.of_user());
        folders
    }

    /// The folders with the user's own skills: a model that is told of a skill must be able to
    /// read it, wherever it works.
    pub fn user_skills(&self) -> Vec<PathBuf> {
        let folders = self.of_user().into_iter();
        folders.map(|(_, folder)| folder.join("skills")).collect()
    }

    fn of_user(&self) -> Vec<(Origin, PathBuf)> {
        let mut folders: Vec<(Origin, PathBuf)> = Vec::new();
        if let Some(config) = &self.config {
            folders.push((Origin::User, config.clone()));
        }
        let home = self.home.as_deref().filter(|home| !self.is_project(home));
        for dot in DOT_FOLDERS {
            folders.extend(home.map(|home| (Origin::User, home.join(dot))));
            let agent_folder = match dot {
                ".pi" => &self.agent_folders.pi,
                ".omp" => &self.agent_folders.omp,
                _ => &None,
            };
            folders.extend(agent_folder.clone().map(|folder| (Origin::User, folder)));
        }
        folders.dedup();
        folders
    }

    /// The working folder and those above it that belong to the same project.
    fn project_folders(&self) -> Vec<&Path> {
        let above: Vec<&Path> = self.project.ancestors().take(MOST_PARENTS).collect();
        let root = above
            .iter()
            .position(|folder| folder.join(PROJECT_MARK).exists());
        let count = root.map_or(1, |root| root + 1);
        let mut folders: Vec<&Path> = above.into_iter().take(count).collect();
        // A home that is under version control is still the user's and not the project's.
        folders.retain(|folder| *folder == self.project || !self.is_home(folder));
        folders
    }

    /// Who works in the home folder itself has one set of folders, not two.
    fn is_project(&self, home: &Path) -> bool {
        self.project == home
    }

    fn is_home(&self, folder: &Path) -> bool {
        self.home.as_deref() == Some(folder)
    }
}
