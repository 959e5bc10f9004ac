//! Which extensions there are: those of the configuration, those in folders, those of the flags.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustix::fs::Access;
use serde::Deserialize;
use stentor_agent::project_files::FileOwner;
use stentor_agent::session::HookSource;
use stentor_tools::extension::{ExtensionSpec, Extensions, RestartPolicy, WhenBroken};
use stentor_tools::process::Launcher;

use crate::config::table::{at_home, base};
use crate::config::{Config, ConfigError, ConfigErrors, RawTable, Scope, ValueSource};
use crate::print::json::event_json;

/// An extension that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundExtension {
    pub spec: ExtensionSpec,
    /// Where it is configured, for people.
    pub source: String,
    /// Whether it runs in the sandbox, where there is one.
    pub sandboxed: bool,
}

/// The extensions of the sessions under a configuration; `None` when there are none.
pub fn hooks(
    config: &Config,
    launcher: &Launcher,
) -> Result<Option<Arc<dyn HookSource>>, ConfigErrors> {
    hooks_except(config, launcher, &BTreeSet::new())
}

/// The same without those of certain names.
pub fn hooks_except(
    config: &Config,
    launcher: &Launcher,
    except: &BTreeSet<String>,
) -> Result<Option<Arc<dyn HookSource>>, ConfigErrors> {
    let mut found = find(config)?;
    found.retain(|found| !except.contains(&found.spec.name));
    if found.is_empty() {
        return Ok(None);
    }
    let specs = found.into_iter().map(|found| found.spec_in(launcher));
    Ok(Some(Arc::new(Extensions::new(specs.collect(), event_json))))
}

/// The extensions under a configuration, in the order they are asked: those of the user's folder
/// and file, then of the project's, then of the flags. Of several with one name the last counts,
/// at the place of the first. Where none are to be used, only those of the flags are.
pub fn find(config: &Config) -> Result<Vec<FoundExtension>, ConfigErrors> {
    let mut all = ExtensionSearch::default();
    if config.settings.use_extensions.value {
        all.configured(config);
    }
    let files = config.settings.extension_files.as_ref();
    let named = files.filter(|files| {
        config.settings.use_extensions.value || matches!(files.source, ValueSource::Flag(_))
    });
    if let Some(files) = named {
        for file in &files.value.0 {
            match file.is_file() {
                true => all.add(in_file(file, files.source.to_string())),
                false => all.errors.push(ConfigError::NoSuchFile {
                    at: files.source.clone(),
                    file: file.clone(),
                }),
            }
        }
    }
    if all.errors.is_empty() {
        Ok(all.found)
    } else {
        Err(ConfigErrors(all.errors))
    }
}
impl FoundExtension {
    /// What is started where programs are held back like this.
    pub fn spec_in(self, launcher: &Launcher) -> ExtensionSpec {
        ExtensionSpec {
            launcher: launcher.sandboxed(self.sandboxed),
            ..self.spec
        }
    }
}

/// `[extensions.NAME]` as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ExtensionTable {
    /// The program and its arguments.
    command: Option<Vec<String>>,
    /// Instead of a command: a program, or a Python or JavaScript file.
    file: Option<PathBuf>,
    cwd: Option<PathBuf>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    events: Option<Vec<String>>,
    timeout_ms: Option<u64>,
    start_timeout_ms: Option<u64>,
    /// How often it is started again after it failed.
    restart: Option<u32>,
    when_broken: Option<BrokenPolicy>,
    /// What its yes-or-no questions are answered with where nobody can be asked.
    unasked: Option<UnaskedPolicy>,
    sandbox: Option<bool>,
    enabled: Option<bool>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum BrokenPolicy {
    Allow,
    Deny,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum UnaskedPolicy {
    Yes,
    No,
}

#[derive(Default)]
struct ExtensionSearch {
    found: Vec<FoundExtension>,
    errors: Vec<ConfigError>,
}

impl ExtensionSearch {
    /// Those of the user's and the project's configuration and folders.
    fn configured(&mut self, config: &Config) {
        let of = |scope: Scope| {
            config
                .extensions
                .iter()
                .filter(move |raw| raw.at.scope == scope)
        };
        if let Some(config_dir) = &config.places.config_dir {
            self.folder(&config_dir.join("extensions"), FileOwner::Own);
        }
        self.tables(of(Scope::User), config);
        if let Some(folder) = project_folder(config).filter(|_| config.files.project_trusted) {
            self.folder(&folder, FileOwner::Project(&config.project));
        }
        self.tables(of(Scope::Project), config);
    }

    fn add(&mut self, new: FoundExtension) {
        let mut found = self.found.iter_mut();
        match found.find(|have| have.spec.name == new.spec.name) {
            Some(have) => *have = new,
            None => self.found.push(new),
        }
    }

    fn tables<'a>(&mut self, tables: impl Iterator<Item = &'a RawTable>, config: &Config) {
        for raw in tables {
            match in_table(raw, config.places.home.as_deref()) {
                Ok(Some(found)) => self.add(found),
                Ok(None) => self.found.retain(|have| have.spec.name != raw.name),
                Err(why) => self.errors.push(ConfigError::BadExtension {
                    at: raw.at.clone(),
                    name: raw.name.clone(),
                    message: why.to_string(),
                }),
            }
        }
    }

    fn folder(&mut self, folder: &Path, reader: FileOwner<'_>) {
        for file in files_in(folder, reader) {
            let source = file.display().to_string();
            self.add(in_file(&file, source));
        }
    }
}

/// The folder beside the project's file, whose programs are extensions if the project is trusted.
pub fn project_folder(config: &Config) -> Option<PathBuf> {
    let beside = config.files.project.as_ref()?.path.parent()?;
    Some(beside.join("extensions"))
}

/// Every program, Python and JavaScript file of a folder that may be read. A folder that is not
/// there has none.
pub fn files_in(folder: &Path, reader: FileOwner<'_>) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let is_extension = |file: &PathBuf| {
        let name = file.file_name();
        let is_hidden = name.is_none_or(|name| name.to_string_lossy().starts_with('.'));
        let is_one = interpreter(file).is_some() || is_program(file);
        !is_hidden && file.is_file() && is_one && reader.found(file).is_some()
    };
    let files = entries.flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> = files.filter(is_extension).collect();
    files.sort();
    files
}

/// What is wrong with a table.
#[derive(Debug, thiserror::Error)]
enum TableError {
    #[error("{}", .0.to_string().trim_end().replace('\n', ", "))]
    Toml(#[from] toml::de::Error),
    #[error("it needs either `command`, as in [\"python3\", \"~/guard.py\"], or `file`")]
    NeitherCommandNorFile,
    #[error("only your own file may set `{0}`")]
    NotByProject(&'static str),
}

/// What a table says; `None` when it says that the extension is not used.
fn in_table(raw: &RawTable, home: Option<&Path>) -> Result<Option<FoundExtension>, TableError> {
    let table = ExtensionTable::deserialize(raw.table.clone())?;
    if table.enabled == Some(false) {
        return Ok(None);
    }
    let folder = base(raw);
    let resolved = |path: &Path| match (path.strip_prefix("~"), home) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => folder.join(path),
    };
    let command = match (table.command, table.file) {
        (Some(command), None) if !command.is_empty() => {
            let mut words = command.into_iter().map(|word| at_home(word, home));
            let first = words.next().unwrap_or_default();
            let program = match first.contains('/') {
                true => resolved(Path::new(&first)).display().to_string(),
                false => first,
            };
            [program].into_iter().chain(words).collect()
        }
        (None, Some(file)) => command_of(&resolved(&file)),
        _ => {
            return Err(TableError::NeitherCommandNorFile);
        }
    };
    if raw.at.scope == Scope::Project && table.sandbox == Some(false) {
        return Err(TableError::NotByProject("sandbox = false"));
    }
    if raw.at.scope == Scope::Project && table.unasked == Some(UnaskedPolicy::Yes) {
        return Err(TableError::NotByProject("unasked = \"yes\""));
    }
    let mut spec = ExtensionSpec::new(&raw.name, command);
    spec.cwd = table.cwd.as_deref().map(resolved);
    spec.env = table.env.into_iter().collect();
    spec.events = table.events;
    if let Some(ms) = table.timeout_ms {
        spec.timeout = Duration::from_millis(ms);
    }
    if let Some(ms) = table.start_timeout_ms {
        spec.start_timeout = Duration::from_millis(ms);
    }
    if let Some(max_restarts) = table.restart {
        spec.restart = RestartPolicy {
            max_restarts,
            ..RestartPolicy::default()
        };
    }
    spec.unasked = table.unasked.map(|unasked| unasked == UnaskedPolicy::Yes);
    spec.when_broken = match table.when_broken {
        None | Some(BrokenPolicy::Allow) => WhenBroken::Allow,
        Some(BrokenPolicy::Deny) => WhenBroken::Deny,
    };
    Ok(Some(FoundExtension {
        spec,
        source: format!("{}:{}", raw.at.file.display(), raw.at.line),
        sandboxed: table.sandbox.unwrap_or(true),
    }))
}

fn in_file(file: &Path, source: String) -> FoundExtension {
    let stem = file.file_stem().unwrap_or(file.as_os_str());
    FoundExtension {
        spec: ExtensionSpec::new(stem.to_string_lossy(), command_of(file)),
        source,
        sandboxed: true,
    }
}

/// How a file is run: by its interpreter if it is known, else as a program.
fn command_of(file: &Path) -> Vec<String> {
    let path = file.display().to_string();
    match interpreter(file) {
        Some(interpreter) => vec![interpreter.to_owned(), path],
        None => vec![path],
    }
}

fn interpreter(file: &Path) -> Option<&'static str> {
    match file.extension()?.to_str()? {
        "py" => Some("python3"),
        "js" | "mjs" | "cjs" => Some("node"),
        _ => None,
    }
}

fn is_program(file: &Path) -> bool {
    rustix::fs::access(file, Access::EXEC_OK).is_ok()
}
