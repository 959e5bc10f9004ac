//! What the files say at one moment.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::file;
use super::folders::CommandFolders;
use super::scan::{self, CommandCandidate, CommandFileKind};
use super::{MAX_COMMANDS, arguments};
use crate::event::{CommandInfo, CommandSource};
use crate::project_files::FileOrigin;

/// How a skill is called: `/skill:NAME what to do with it`.
pub(super) const SKILL_PREFIX: &str = "skill:";

/// How a task is given to an agent: `/agent:NAME the task`.
pub(super) const AGENT_PREFIX: &str = "agent:";

/// A prompt template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    pub name: String,
    pub description: String,
    /// What may follow the name, for people.
    pub hint: Option<String>,
    pub content: String,
    pub origin: FileOrigin,
    pub path: PathBuf,
}

/// A skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    pub name: String,
    pub description: String,
    pub content: String,
    /// The model is told of it and may use it of its own accord.
    pub for_model: bool,
    /// People may call it.
    pub for_user: bool,
    /// It is of a project that is not trusted.
    pub untrusted: bool,
    pub origin: FileOrigin,
    pub path: PathBuf,
}

/// An agent that tasks can be given to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentDefinition {
    pub name: String,
    pub description: String,
    /// The names of the tools it has; all when absent.
    pub tools: Option<Vec<String>>,
    /// The model it wants; that of its parent when absent.
    pub model: Option<String>,
    /// Its system prompt; that of its parent when absent.
    pub prompt: Option<String>,
    /// Its file; absent when it is built in.
    pub path: Option<PathBuf>,
}

/// The templates, skills and agents of one project and user. A name that occurs twice is taken
/// from the nearest folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommandBook {
    pub templates: Vec<Template>,
    pub skills: Vec<Skill>,
    /// Nearest first.
    pub agents: Vec<AgentDefinition>,
}

impl CommandBook {
    /// Reads all there are. Missing folders are no error; an unreadable file is a warning.
    pub fn load(folders: &CommandFolders) -> Self {
        Self::read(&scan::scan(folders), folders)
    }

    pub(super) fn read(files: &[CommandCandidate], folders: &CommandFolders) -> Self {
        let of = |kind: CommandFileKind| {
            let files = files.iter().filter(move |found| found.kind == kind);
            files.map(|found| (found, folders.reader(found.origin)))
        };
        let templates = of(CommandFileKind::Template)
            .filter_map(|(found, reader)| file::template(found, reader));
        let skills = of(CommandFileKind::Skill).filter_map(|(found, reader)| {
            let mut skill = file::skill(found, reader)?;
            skill.untrusted = folders.untrusted && found.origin == FileOrigin::Project;
            // The model reads it as what it is; called, it would be what the user says.
            skill.for_user &= !skill.untrusted;
            Some(skill)
        });
        let agents =
            of(CommandFileKind::Agent).filter_map(|(found, reader)| file::agent(found, reader));
        let mut book = Self {
            templates: nearest(templates, |template| &template.name),
            skills: nearest(skills, |skill| &skill.name),
            agents: nearest(agents, |agent| &agent.name),
        };
        book.templates
            .sort_by(|one, other| one.name.cmp(&other.name));
        book.skills.sort_by(|one, other| one.name.cmp(&other.name));
        book
    }

    /// The template of that name.
    pub fn template(&self, name: &str) -> Option<&Template> {
        self.templates.iter().find(|template| template.name == name)
    }

    /// The skill of that name.
    pub fn skill(&self, name: &str) -> Option<&Skill> {
        self.skills.iter().find(|skill| skill.name == name)
    }

    /// The agent of that name.
    pub fn agent(&self, name: &str) -> Option<&AgentDefinition> {
        self.agents.iter().find(|agent| agent.name == name)
    }

    /// All agents a task can be given to, each name once: those of files, then the built-in one.
    pub fn all_agents(&self) -> Vec<AgentDefinition> {
        let mut found = self.agents.clone();
        if self.agent(AgentDefinition::GENERAL).is_none() {
            found.push(AgentDefinition::general());
        }
        found
    }

    /// Templates, skills and agents, as clients list commands.
    pub fn infos(&self) -> Vec<CommandInfo> {
        let templates = self.templates.iter().map(|template| CommandInfo {
            name: template.name.clone(),
            description: Some(template.description.clone()),
            hint: template.hint.clone(),
            source: CommandSource::Prompt,
            path: Some(template.path.clone()),
        });
        let callable = self.skills.iter().filter(|skill| skill.for_user);
        let skills = callable.map(|skill| CommandInfo {
            name: format!("{SKILL_PREFIX}{}", skill.name),
            description: Some(skill.description.clone()),
            hint: None,
            source: CommandSource::Skill,
            path: Some(skill.path.clone()),
        });
        let named = self.agents.iter().filter(|agent| is_word(&agent.name));
        let agents = named.map(|agent| CommandInfo {
            name: format!("{AGENT_PREFIX}{}", agent.name),
            description: Some(agent.description.clone()),
            hint: Some("the task".to_owned()),
            source: CommandSource::Agent,
            path: agent.path.clone(),
        });
        templates.chain(skills).chain(agents).collect()
    }

    /// What the agent is asked for the command `name`; `None` when there is no such command.
    pub fn expand(&self, name: &str, rest: &str) -> Option<String> {
        if let Some(skill) = name.strip_prefix(SKILL_PREFIX) {
            let skill = self.skill(skill).filter(|skill| skill.for_user)?;
            return Some(skill.called_with(rest));
        }
        if let Some(agent) = name.strip_prefix(AGENT_PREFIX) {
            return Some(self.agent(agent)?.given(rest));
        }
        let template = self.template(name)?;
        Some(arguments::fill(&template.content, rest))
    }
}

impl Skill {
    /// The folder that paths in its text are relative to.
    pub fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(&self.path)
    }

    /// The skill's content, named, and what the user wants done with it.
    fn called_with(&self, text: &str) -> String {
        let mut whole = format!(
            "<skill name=\"{}\" location=\"{}\">\nPaths in it are relative to {}.\n\n{}\n</skill>",
            self.name,
            self.path.display(),
            self.folder().display(),
            self.content.trim()
        );
        if !text.is_empty() {
            whole.push_str("\n\n");
            whole.push_str(text);
        }
        whole
    }
}

impl AgentDefinition {
    /// The name of the agent that is always there.
    pub const GENERAL: &str = "general";

    fn general() -> Self {
        Self {
            name: Self::GENERAL.to_owned(),
            description: "Works on any task with all tools.".to_owned(),
            tools: None,
            model: None,
            prompt: None,
            path: None,
        }
    }

    /// What the agent of a session is asked so that this one gets the task.
    pub fn given(&self, task: &str) -> String {
        let name = &self.name;
        if task.is_empty() {
            return format!(
                "Give what we are talking about as a task to the agent `{name}` with the subagent tool, and tell me what it reports."
            );
        }
        format!(
            "Give this task to the agent `{name}` with the subagent tool, and tell me what it reports:\n\n{task}"
        )
    }
}

/// True when it can be said as a command.
pub(super) fn is_word(name: &str) -> bool {
    !name.is_empty() && !name.contains(|char: char| char.is_whitespace() || char.is_control())
}

/// Each name once, the first that has it, and not too many.
fn nearest<T>(all: impl Iterator<Item = T>, name: impl Fn(&T) -> &String) -> Vec<T> {
    let mut names = HashSet::new();
    let mut kept = Vec::new();
    for one in all {
        if kept.len() >= MAX_COMMANDS {
            tracing::warn!("there are more than {MAX_COMMANDS} commands; some are left out");
            break;
        }
        if names.insert(name(&one).clone()) {
            kept.push(one);
        }
    }
    kept
}
