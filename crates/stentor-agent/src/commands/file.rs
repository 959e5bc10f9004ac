//! One Markdown file: its front matter and its text.

use std::path::Path;

use super::book::{AgentDefinition, Skill, Template, is_word};
use super::front_matter::FrontMatter;
use super::scan::CommandCandidate;
use crate::project_files::{FileOwner, NotRead};

/// A larger file is no prompt any more.
pub const MAX_FILE_BYTES: u64 = 256 * 1024;

/// How much of a text without a description stands for one.
const DESCRIPTION_CHARS: usize = 80;

/// The template in a file. `None`, with a warning, when there is none that can be used.
pub(super) fn template(found: &CommandCandidate, reader: FileOwner<'_>) -> Option<Template> {
    let text = read(&found.path, reader)?;
    let page = FileParts::of(&text);
    usable(&found.name, &found.path).then(|| Template {
        name: found.name.clone(),
        description: page.description(),
        hint: page.fact("argument-hint"),
        content: page.body.to_owned(),
        origin: found.origin,
        path: found.path.clone(),
    })
}

/// The skill in a file.
pub(super) fn skill(found: &CommandCandidate, reader: FileOwner<'_>) -> Option<Skill> {
    let text = read(&found.path, reader)?;
    let page = FileParts::of(&text);
    let name = page.fact("name").unwrap_or_else(|| found.name.clone());
    usable(&name, &found.path).then(|| Skill {
        name,
        description: page.description(),
        content: page.body.to_owned(),
        for_model: !page.is("disable-model-invocation").unwrap_or(false),
        for_user: page.is("user-invocable").unwrap_or(true),
        untrusted: false,
        origin: found.origin,
        path: found.path.clone(),
    })
}

/// The agent in a file.
pub(super) fn agent(found: &CommandCandidate, reader: FileOwner<'_>) -> Option<AgentDefinition> {
    let text = read(&found.path, reader)?;
    let page = FileParts::of(&text);
    let facts = page.facts.as_ref();
    let everything = |tools: &Vec<String>| tools.iter().any(|name| name == "*");
    Some(AgentDefinition {
        name: page.fact("name").unwrap_or_else(|| found.name.clone()),
        description: page.fact("description").unwrap_or_default(),
        tools: facts
            .and_then(|facts| facts.list("tools"))
            .filter(|tools| !everything(tools)),
        model: page.fact("model").filter(|model| model != "inherit"),
        prompt: Some(page.body.trim().to_owned()).filter(|prompt| !prompt.is_empty()),
        path: Some(found.path.clone()),
    })
}

/// A command is called by one word.
fn usable(name: &str, path: &Path) -> bool {
    let is_word = is_word(name);
    if !is_word {
        tracing::warn!(path = %path.display(), "a command's name must be one word; skipped");
    }
    is_word
}

fn read(path: &Path, reader: FileOwner<'_>) -> Option<String> {
    match reader.read(path, MAX_FILE_BYTES) {
        Ok(bytes) => Some(String::from_utf8_lossy(&bytes).into_owned()),
        Err(NotRead::TooLarge { .. }) => {
            tracing::warn!(path = %path.display(), "larger than {MAX_FILE_BYTES} bytes; skipped");
            None
        }
        Err(why) => {
            reader.warn(path, &why);
            None
        }
    }
}

/// A file taken apart.
struct FileParts<'a> {
    facts: Option<FrontMatter<'a>>,
    body: &'a str,
}

impl<'a> FileParts<'a> {
    fn of(text: &'a str) -> Self {
        let facts = FrontMatter::read(text);
        let body = match &facts {
            Some(facts) => facts.body,
            None => text.strip_prefix('\u{feff}').unwrap_or(text),
        };
        Self { facts, body }
    }

    fn fact(&self, name: &str) -> Option<String> {
        self.facts.as_ref()?.text(name)
    }

    fn is(&self, name: &str) -> Option<bool> {
        self.facts.as_ref()?.is(name)
    }

    /// What the front matter says, else the beginning of the first line with text in it.
    fn description(&self) -> String {
        if let Some(description) = self.fact("description") {
            return description;
        }
        let first = self.body.lines().find(|line| !line.trim().is_empty());
        let first = first.unwrap_or_default().trim().trim_start_matches('#');
        first.trim().chars().take(DESCRIPTION_CHARS).collect()
    }
}
