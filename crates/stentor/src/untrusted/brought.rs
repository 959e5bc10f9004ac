//! What a folder brings that waits until it is trusted.

use std::path::{Path, PathBuf};

use stentor_agent::project_files::{FileOwner, Project};
use stentor_agent::rules::{RuleFile, read_rules};

use crate::config::{Config, EnvLookup, RUNS_PROGRAM, TrustRequirement};
use crate::shell_argument::shell_argument;
use crate::user_folders::command_folders;
use crate::{extensions, mcp_servers};

/// The folders of a project with rules that watch what a model writes: ours and omp's.
pub fn rule_folders(project: &Project) -> Vec<PathBuf> {
    let folders = [".stentor/rules", ".omp/rules"];
    folders.map(|folder| project.cwd().join(folder)).into()
}

/// Everything the folder of a configuration brings that is left out because the folder is not
/// trusted, what runs first. Nothing of a folder that is.
pub fn waiting(config: &Config, env: EnvLookup<'_>) -> Vec<TrustRequirement> {
    if config.files.root_trusted {
        return Vec::new();
    }
    let mut wanted = config.wanted.clone();
    wanted.extend(templates(config));
    wanted.extend(agents(config));
    wanted.extend(rules(&config.project));
    wanted.extend(programs(config));
    wanted.extend(servers(config, env));
    // A folder may bring a thousand harmless things to hide one that is not.
    wanted.sort_by_key(|one| !one.runs_something());
    wanted
}

/// What people are told of the folder of a configuration, if it brings anything that waits.
pub fn notice_of(config: &Config) -> Option<String> {
    let waiting = waiting(config, &|name| config.variable(name));
    let root = config.project.root();
    (!waiting.is_empty()).then(|| notice(root, &waiting))
}

/// What people are told of it, in one line.
pub fn notice(root: &Path, wanted: &[TrustRequirement]) -> String {
    let listed: Vec<String> = wanted
        .iter()
        .take(MOST_TOLD)
        .map(|one| format!("{} ({})", one.what, one.place(root)))
        .collect();
    let more = match wanted.len().saturating_sub(MOST_TOLD) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!(
        "{} is not trusted, so part of what it contains is not used: {}{more}. To see why and to \
         allow it, run `stentor trust {}`",
        root.display(),
        listed.join(", "),
        shell_argument(root)
    )
}

/// A notice is read at a glance; `stentor trust` lists all of it.
const MOST_TOLD: usize = 8;

/// The lines of a question about it. Nobody reads more.
pub fn lines(root: &Path, wanted: &[TrustRequirement]) -> Vec<String> {
    let line = |one: &TrustRequirement| format!("{} ({}): {}", one.what, one.place(root), one.why);
    let mut lines: Vec<String> = wanted.iter().take(MOST_ASKED).map(line).collect();
    let more = wanted.len().saturating_sub(MOST_ASKED);
    lines.extend((more > 0).then(|| format!("and {more} more")));
    lines
}

/// What a question lists; `stentor trust` lists all of it.
const MOST_ASKED: usize = 100;

fn agents(config: &Config) -> Vec<TrustRequirement> {
    let folders = command_folders(config).of_project().into_iter();
    let files = folders.flat_map(|folder| files_in(&folder.join("agents")));
    let why = "an agent chooses model, tools and instructions for the tasks it is given";
    markdown(files, config)
        .map(|file| named("agent", file, why))
        .collect()
}

fn templates(config: &Config) -> Vec<TrustRequirement> {
    if !config.settings.use_prompt_templates.value {
        return Vec::new();
    }
    let folders = command_folders(config).of_project().into_iter();
    let folders = folders.flat_map(|folder| [folder.join("prompts"), folder.join("commands")]);
    let files = folders
        .flat_map(|folder| files_in(&folder))
        .flat_map(|file| match file.is_dir() {
            true => files_in(&file),
            false => vec![file],
        });
    let why = "a template speaks to the model in your name";
    markdown(files, config)
        .map(|file| named("template", file, why))
        .collect()
}

fn markdown(
    files: impl Iterator<Item = PathBuf>,
    config: &Config,
) -> impl Iterator<Item = PathBuf> {
    files.filter(|file| {
        let is_markdown = file.extension().is_some_and(|end| end == "md");
        is_markdown && FileOwner::Project(&config.project).found(file).is_some()
    })
}

fn rules(project: &Project) -> Vec<TrustRequirement> {
    let folders = rule_folders(project).into_iter();
    let folders: Vec<_> = folders
        .map(|folder| (folder, FileOwner::Project(project)))
        .collect();
    let rules = read_rules(&folders)
        .into_iter()
        .filter_map(|file| match file {
            RuleFile::Rule(rule) => Some(rule.path),
            RuleFile::Problem(_) => None,
        });
    let why = "a rule stops answers and speaks to the model in your name";
    rules.map(|file| named("rule", file, why)).collect()
}

fn programs(config: &Config) -> Vec<TrustRequirement> {
    let files = extensions::project_folder(config);
    let why = RUNS_PROGRAM;
    let reader = FileOwner::Project(&config.project);
    let files = files
        .iter()
        .flat_map(|folder| extensions::files_in(folder, reader));
    files.map(|file| named("extension", file, why)).collect()
}

fn servers(config: &Config, env: EnvLookup<'_>) -> Vec<TrustRequirement> {
    let found = mcp_servers::find(config, env).unwrap_or_default();
    let servers = found.untrusted.into_iter().map(|server| TrustRequirement {
        what: format!("the MCP server {}", server.name),
        file: server.file,
        line: None,
        why: "it would run a program or call a server",
        at_once: true,
    });
    servers.collect()
}

fn named(kind: &str, file: PathBuf, why: &'static str) -> TrustRequirement {
    let name = file.file_stem().unwrap_or_default().to_string_lossy();
    TrustRequirement {
        what: format!("the {kind} {name}"),
        file,
        line: None,
        why,
        at_once: true,
    }
}

fn files_in(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.sort();
    files
}
