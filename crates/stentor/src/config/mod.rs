//! The configuration: the user's file, the project's, the environment, the flags; later ones win.
//!
//! Nothing is lost on the way: every value knows where it came from, every mistake its line and
//! column, and what a project's file may not say is left out (see [`allowed`] and [`always`]).

pub mod allowed;
pub mod always;
pub mod attach_mode;
pub mod edit;
pub mod environment;
pub mod error;
pub mod file;
pub mod keys;
pub mod locate;
pub mod model_choice;
pub mod rights;
pub mod rules;
pub mod show;
pub mod source;
pub mod table;
pub mod trust_requirement;
pub mod value;
pub mod web_search;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use stentor_agent::model::NamedBy;
use stentor_agent::project_files::{FileOwner, NotRead, Project};
use stentor_policy::{PermissionMode, Rule};

pub use attach_mode::AttachMode;
pub use error::{ConfigError, ConfigErrors, NoFileToChange, Warning};
pub use file::RawTable;
pub use keys::{Layer, Settings};
pub use locate::{EnvLookup, Platform, StandardFolders};
pub use model_choice::{ModelName, RequestedModel};
pub use source::{ConfigLocation, Scope, Sourced, ValueSource};
pub use trust_requirement::{RUNS_PROGRAM, TrustRequirement};
pub use web_search::WebSearch;

use crate::environment::Variables;
use crate::trust::Trust;
use file::{FileContent, FilePlace, read_file};
use locate::ProjectFile;

/// Everything the configuration says.
#[derive(Debug, Clone)]
pub struct Config {
    pub settings: Settings,
    /// The policy decides among them by how specific they are, not by their order.
    pub permissions: Vec<Sourced<Rule>>,
    /// Weakest first: what the model registry reads last wins.
    pub providers: Vec<RawTable>,
    /// Weakest first, as `providers`.
    pub models: Vec<RawTable>,
    /// Weakest first, as `providers`.
    pub extensions: Vec<RawTable>,
    /// Weakest first, as `providers`.
    pub mcp_servers: Vec<RawTable>,
    /// Weakest first, as `providers`.
    pub agents: Vec<RawTable>,
    /// The fleet that a server may be a node of. Only the user's own file has one.
    pub fleet: Option<RawTable>,
    /// Those of a project that is not trusted, which are left out.
    pub untrusted_mcp_servers: Vec<RawTable>,
    /// What the project's file says that waits until the project is trusted.
    pub wanted: Vec<TrustRequirement>,
    pub warnings: Vec<Warning>,
    /// The project, and how its files are read.
    pub project: Project,
    pub files: ConfigFiles,
    pub places: StandardFolders,
    /// The environment of whoever it holds for.
    pub variables: Variables,
    /// The stance an untrusted project asks for; it counts only where it is stricter.
    project_mode: Option<Sourced<PermissionMode>>,
}

/// The files that were looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigFiles {
    pub user: Option<FoundFile>,
    pub project: Option<FoundFile>,
    /// Whether the project's file was trusted.
    pub project_trusted: bool,
    /// The project's folder, where other agents keep files of theirs.
    pub root: Option<PathBuf>,
    /// Whether the project's folder is trusted.
    pub root_trusted: bool,
}

/// A file that was looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundFile {
    pub path: PathBuf,
    pub exists: bool,
}

/// What the configuration is read from, besides the files.
pub struct Surroundings<'a> {
    pub env: EnvLookup<'a>,
    pub cwd: &'a Path,
    pub platform: Platform,
}

/// Reads the configuration. `flags` is the strongest layer.
pub fn load(surroundings: &Surroundings<'_>, flags: Layer) -> Result<Config, ConfigErrors> {
    let places = locate::places(surroundings.env, surroundings.platform);
    let (home, cwd) = (places.home.as_deref(), surroundings.cwd);
    let mut errors = Vec::new();
    let mut warnings = Vec::new();

    if let Some(dir) = places.config_dir.as_ref().filter(|_| !places.is_named) {
        rights::tighten(dir);
    }
    let user_file = places
        .config_dir
        .as_ref()
        .map(|dir| cwd.join(dir).join("config.toml"));
    let user = user_file.as_deref().map(|path| {
        let base = path.parent().unwrap_or(cwd);
        for path in [base, path] {
            warnings.extend(rights::check(path, &mut errors));
        }
        content((path, FileOwner::Own), Scope::User, base, home, &mut errors)
    });
    let user = user.unwrap_or_default();
    let mut wrong_variables = Vec::new();
    let environment =
        environment::read_environment(surroundings.env, cwd, home).unwrap_or_else(|wrong| {
            wrong_variables = wrong;
            Layer::default()
        });
    let listed = environment.trusted_projects.as_ref();
    let listed = listed.or(user.layer.trusted_projects.as_ref());
    let listed = listed.map_or(&[][..], |set| &set.value.0);
    let config_dir = user_file.as_deref().and_then(Path::parent);
    let (trust, problem) = Trust::read(config_dir, listed);
    if let Some(problem) = problem {
        warnings.push(Warning::of_file(
            config_dir.unwrap_or(cwd),
            Scope::User,
            problem,
        ));
    }
    let unreadable = environment.sandbox_unreadable.as_ref();
    let unreadable = unreadable.or(user.layer.sandbox_unreadable.as_ref());
    let unreadable = unreadable.map_or(&[][..], |set| &set.value.0);
    let place = Project::of(cwd, trust.owners(cwd)).without(unreadable);
    let project_file = locate::project_file(&place);
    let root_trusted = trust.covers(place.root());
    let project_trusted = project_file
        .as_ref()
        .is_some_and(|found| root_trusted || trust.covers(&found.root));
    let mut project = FileContent::default();
    if let Some(found) = &project_file {
        let mut wrong = Vec::new();
        match project_content(found, &place, home, &mut wrong) {
            Ok(content) => project = content,
            Err(warning) => warnings.push(warning),
        }
        // Whoever wrote the folder must not keep the user from starting in it.
        match project_trusted {
            true => errors.extend(wrong),
            false => warnings.extend(ignored(&found.file, &wrong)),
        }
    }
    errors.extend(wrong_variables);
    if !errors.is_empty() {
        return Err(ConfigErrors(errors));
    }

    warnings.extend(always::restrict(&mut project, &user, &place));
    let mut project_mode = None;
    let mut untrusted_mcp_servers = Vec::new();
    let mut wanted = Vec::new();
    if !project_trusted {
        untrusted_mcp_servers.clone_from(&project.mcp_servers);
        wanted = allowed::restrict(&mut project, &user);
        project_mode = project.layer.permission_mode.take();
    }
    let spoken = environment.under(flags);
    if spoken.permission_mode.is_some() {
        project_mode = None;
    }
    let mut settings = user.layer.under(project.layer).under(spoken).settle();
    fill_in_folders(&mut settings, &places);
    let found = |path: PathBuf| FoundFile {
        exists: path.exists(),
        path,
    };
    Ok(Config {
        settings,
        permissions: [user.permissions, project.permissions].concat(),
        providers: [user.providers, project.providers].concat(),
        models: [user.models, project.models].concat(),
        extensions: [user.extensions, project.extensions].concat(),
        mcp_servers: [user.mcp_servers, project.mcp_servers].concat(),
        agents: [user.agents, project.agents].concat(),
        fleet: user.fleet,
        untrusted_mcp_servers,
        wanted,
        warnings,
        files: ConfigFiles {
            user: user_file.map(found),
            project: project_file.map(|project| found(project.file)),
            project_trusted,
            root: Some(place.root().to_owned()),
            root_trusted,
        },
        project: place,
        places,
        variables: Variables::default(),
        project_mode,
    })
}

impl ConfigFiles {
    /// The file that a change of the configuration goes to, whether it is there or not.
    fn to_change(&self, scope: Scope) -> Result<PathBuf, NoFileToChange> {
        let found = |file: &Option<FoundFile>| file.as_ref().map(|file| file.path.clone());
        match scope {
            Scope::User => found(&self.user).ok_or(NoFileToChange::NoHome),
            Scope::Project => found(&self.project)
                .or_else(|| Some(self.root.as_ref()?.join(".stentor").join("config.toml")))
                .ok_or(NoFileToChange::NoProject),
        }
    }
}

impl Config {
    /// A variable of the environment of whoever it holds for.
    pub fn variable(&self, name: &str) -> Option<OsString> {
        self.variables.get(name)
    }

    /// The folders with the program's own configuration and data, which decide what it may do.
    pub fn own_folders(&self) -> Vec<PathBuf> {
        let data_dir = self.settings.data_dir.as_ref().map(|data| &data.value);
        let folders = self.places.config_dir.iter().chain(data_dir);
        folders
            .map(|folder| std::path::absolute(folder).unwrap_or_else(|_| folder.clone()))
            .collect()
    }

    /// The permission mode, where the way in has its own `default`.
    pub fn permission_mode(&self, default: PermissionMode) -> Sourced<PermissionMode> {
        let base = self
            .settings
            .permission_mode
            .clone()
            .unwrap_or_else(|| Sourced::default_value(default));
        match &self.project_mode {
            Some(mode) if always::is_stricter(mode.value, base.value) => mode.clone(),
            Some(_) | None => base,
        }
    }

    /// The file that a change of the configuration goes to. A project's must lie in the project: a
    /// link could have it be any file of the user's.
    pub fn file_to_change(&self, scope: Scope) -> Result<PathBuf, NoFileToChange> {
        let file = self.files.to_change(scope)?;
        match scope {
            Scope::Project if !self.project.holds(&file) => Err(NoFileToChange::OutOfProject(file)),
            Scope::Project | Scope::User => Ok(file),
        }
    }

    /// The model that was asked for.
    pub fn model_choice(&self) -> RequestedModel {
        let mut choice = RequestedModel::of(&self.settings);
        let sources = choice.provider.iter().chain(&choice.model);
        let by = sources.map(|set| self.named_by(&set.source));
        choice.by = match by.max().unwrap_or(NamedBy::User) {
            // A path is relative to where it was written.
            NamedBy::User | NamedBy::OwnFile => choice
                .model
                .as_ref()
                .map_or(NamedBy::User, |set| self.named_by(&set.source)),
            others @ (NamedBy::Others | NamedBy::Untrusted) => others,
        };
        choice
    }

    /// Who names a model that a value of the configuration names.
    pub fn named_by(&self, source: &ValueSource) -> NamedBy {
        match source {
            ValueSource::File(at) if at.scope == Scope::Project => self.named_by_project(),
            ValueSource::File(_) => NamedBy::OwnFile,
            ValueSource::Default | ValueSource::Environment(_) | ValueSource::Flag(_) => {
                NamedBy::User
            }
        }
    }

    fn named_by_project(&self) -> NamedBy {
        match self.files.project_trusted {
            true => NamedBy::Others,
            false => NamedBy::Untrusted,
        }
    }
}

fn content(
    (path, reader): (&Path, FileOwner<'_>),
    scope: Scope,
    base: &Path,
    home: Option<&Path>,
    errors: &mut Vec<ConfigError>,
) -> FileContent {
    let place = FilePlace {
        path: Arc::from(path),
        scope,
        base,
        home,
    };
    read_file(&place, reader).unwrap_or_else(|wrong| {
        errors.extend(wrong);
        FileContent::default()
    })
}

/// What the project's file contains, or the warning that it is not read.
fn project_content(
    found: &ProjectFile,
    project: &Project,
    home: Option<&Path>,
    errors: &mut Vec<ConfigError>,
) -> Result<FileContent, Warning> {
    match project.look(&found.file) {
        Ok(_) | Err(NotRead::Missing | NotRead::Io(_)) => {
            let file = (found.file.as_path(), FileOwner::Project(project));
            Ok(content(file, Scope::Project, &found.root, home, errors))
        }
        Err(why) => {
            let why = format!("is not read: {why}");
            Err(Warning::of_file(&found.file, Scope::Project, why))
        }
    }
}

/// The warning that a file with mistakes is left out as a whole.
fn ignored(file: &Path, wrong: &[ConfigError]) -> Option<Warning> {
    let first = wrong.first()?.to_string();
    let place = format!("{}:", file.display());
    let first = first.strip_prefix(&place).unwrap_or(&first).trim_start();
    let message = format!("the file is ignored, since it has mistakes: {first}");
    Some(Warning::of_file(file, Scope::Project, message))
}

fn fill_in_folders(settings: &mut Settings, places: &StandardFolders) {
    if settings.data_dir.is_none() {
        settings.data_dir = places.data_dir.clone().map(Sourced::default_value);
    }
    if settings.session_dir.is_none() {
        // Sessions follow the data folder, and say so.
        settings.session_dir = settings
            .data_dir
            .clone()
            .map(|data| data.map(|dir| dir.join("sessions")));
    }
}

#[cfg(test)]
mod tests;
