//! Where commands are looked for.

use std::path::{Path, PathBuf};

use crate::agent_folders::AgentFolders;
use crate::project_files::{FileOrigin, FileOwner, Project};

/// The folders that programs of this kind keep in a project and in a home. The first that has a
/// name wins.
const DOT_FOLDERS: [&str; 5] = [".stentor", ".pi", ".omp", ".claude", ".agents"];

/// The folders of one session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommandFolders {
    /// The project of the working folder.
    pub project: Project,
    /// The project is not trusted: its skills are told to the model, after the user's own, and
    /// cannot be called; its templates and agents do not count at all.
    pub untrusted: bool,
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
    /// then the user's own. A project that is not trusted comes last, so that it cannot put a text
    /// of its own in the place of one of the user's.
    pub(super) fn all(&self) -> Vec<(FileOrigin, PathBuf)> {
        let projects = self.of_project().into_iter();
        let projects = projects
            .map(|folder| (FileOrigin::Project, folder))
            .collect();
        match self.untrusted {
            true => [self.of_user(), projects].concat(),
            false => [projects, self.of_user()].concat(),
        }
    }

    /// The folders of the project that may have `prompts`, `commands` and `agents` in them.
    pub fn of_project(&self) -> Vec<PathBuf> {
        let folders = self.project_folders().into_iter();
        let dots = folders.flat_map(|folder| DOT_FOLDERS.map(|dot| folder.join(dot)));
        dots.collect()
    }

    /// How files of that origin are read.
    pub(super) fn reader(&self, origin: FileOrigin) -> FileOwner<'_> {
        match origin {
            FileOrigin::Project => FileOwner::Project(&self.project),
            FileOrigin::User => FileOwner::Own,
        }
    }

    /// The folders with the user's own skills: a model that is told of a skill must be able to
    /// read it, wherever it works.
    pub fn user_skills(&self) -> Vec<PathBuf> {
        let folders = self.of_user().into_iter();
        folders.map(|(_, folder)| folder.join("skills")).collect()
    }

    fn of_user(&self) -> Vec<(FileOrigin, PathBuf)> {
        let mut folders: Vec<(FileOrigin, PathBuf)> = Vec::new();
        if let Some(config) = &self.config {
            folders.push((FileOrigin::User, config.clone()));
        }
        let home = self.home.as_deref().filter(|home| !self.is_project(home));
        for dot in DOT_FOLDERS {
            folders.extend(home.map(|home| (FileOrigin::User, home.join(dot))));
            let agent_folder = match dot {
                ".pi" => &self.agent_folders.pi,
                ".omp" => &self.agent_folders.omp,
                _ => &None,
            };
            folders.extend(
                agent_folder
                    .clone()
                    .map(|folder| (FileOrigin::User, folder)),
            );
        }
        folders.dedup();
        folders
    }

    /// The working folder and those above it that belong to the same project.
    fn project_folders(&self) -> Vec<&Path> {
        let folders = self.project.folders();
        // A home that is under version control is still the user's and not the project's.
        let counts = |folder: &&Path| !self.is_home(folder) || self.is_project(folder);
        folders.filter(counts).collect()
    }

    /// Who works in the home folder itself has one set of folders, not two: those of the project,
    /// or, where that is not trusted, their own.
    fn is_project(&self, home: &Path) -> bool {
        self.project.cwd() == home && !self.untrusted
    }

    fn is_home(&self, folder: &Path) -> bool {
        self.home.as_deref() == Some(folder)
    }
}
