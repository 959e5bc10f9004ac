//! Slash commands that people write: prompt templates and skills, as Markdown files in the folders
//! of the user and of the project.
//!
//! A template is `prompts/NAME.md` or `commands/NAME.md`: its text, with the arguments filled in,
//! is what the agent is asked. A skill is `skills/NAME/SKILL.md`: knowledge that goes in front of
//! what the user says. [`folders`] says where they are looked for, [`file`] reads one, and
//! [`expand`](self::arguments::fill) fills in the arguments.

pub mod arguments;
pub mod file;
pub mod folders;

#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::path::PathBuf;

use crate::event::{CommandInfo, CommandSource};

pub use folders::CommandFolders;

/// Commands of each kind that are kept; files beyond it are left out with a warning.
pub const MAX_COMMANDS: usize = 500;

/// How a skill is called: `/skill:NAME what to do with it`.
const SKILL_PREFIX: &str = "skill:";

/// A prompt template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    pub name: String,
    pub description: String,
    /// What may follow the name, for people.
    pub hint: Option<String>,
    pub content: String,
    pub origin: Origin,
    pub path: PathBuf,
}

/// A skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    pub name: String,
    pub description: String,
    pub content: String,
    pub origin: Origin,
    pub path: PathBuf,
}

/// Whose folder a command comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    Project,
    User,
}

/// The templates and skills of one project and user. A name that occurs twice is taken from the
/// nearest folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommandBook {
    pub templates: Vec<Template>,
    pub skills: Vec<Skill>,
}

/// What the agent is asked instead of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expanded {
    pub text: String,
    pub source: CommandSource,
    pub name: String,
}

impl Origin {
    /// Its name for clients.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Project => "project",
            Self::User => "user",
        }
    }
}

impl CommandBook {
    /// Reads all there are. Missing folders are no error; an unreadable file is a warning.
    pub fn load(folders: &CommandFolders) -> Self {
        let mut book = Self::default();
        let mut names = HashSet::new();
        for (origin, folder) in folders.all() {
            for kind in ["prompts", "commands"] {
                for template in file::templates(&folder.join(kind), origin) {
                    if book.templates.len() < MAX_COMMANDS && names.insert(template.name.clone()) {
                        book.templates.push(template);
                    }
                }
            }
        }
        names.clear();
        for (origin, folder) in folders.all() {
            for skill in file::skills(&folder.join("skills"), origin) {
                if book.skills.len() < MAX_COMMANDS && names.insert(skill.name.clone()) {
                    book.skills.push(skill);
                }
            }
        }
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

    /// All of them, as clients list commands.
    pub fn infos(&self) -> Vec<CommandInfo> {
        let templates = self.templates.iter().map(|template| CommandInfo {
            name: template.name.clone(),
            description: Some(template.description.clone()),
            hint: template.hint.clone(),
            source: CommandSource::Prompt,
            path: Some(template.path.clone()),
        });
        let skills = self.skills.iter().map(|skill| CommandInfo {
            name: format!("{SKILL_PREFIX}{}", skill.name),
            description: Some(skill.description.clone()),
            hint: None,
            source: CommandSource::Skill,
            path: Some(skill.path.clone()),
        });
        templates.chain(skills).collect()
    }

    /// What the agent is asked when the user types `text`; `None` when that is no command of ours.
    pub fn expand(&self, text: &str) -> Option<Expanded> {
        let command = text.trim().strip_prefix('/')?;
        let (name, rest) = match command.split_once(char::is_whitespace) {
            Some((name, rest)) => (name, rest.trim()),
            None => (command, ""),
        };
        if let Some(skill_name) = name.strip_prefix(SKILL_PREFIX) {
            let skill = self.skill(skill_name)?;
            return Some(Expanded {
                text: skill.called_with(rest),
                source: CommandSource::Skill,
                name: name.to_owned(),
            });
        }
        let template = self.template(name)?;
        Some(Expanded {
            text: arguments::fill(&template.content, rest),
            source: CommandSource::Prompt,
            name: name.to_owned(),
        })
    }
}

impl Skill {
    /// The skill's content, named, and what the user wants done with it.
    fn called_with(&self, text: &str) -> String {
        let mut whole = format!(
            "<skill name=\"{}\" location=\"{}\">\n{}\n</skill>",
            self.name,
            self.path.display(),
            self.content.trim()
        );
        if !text.is_empty() {
            whole.push_str("\n\n");
            whole.push_str(text);
        }
        whole
    }
}
