//! Which agents there are, and what makes each one.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use stentor_agent::event::SubagentSource;
use stentor_agent::tool::Tool;

use super::front_matter::FrontMatter;

/// Where a project keeps its agents, in the order in which names are looked up.
const PROJECT_FOLDERS: [&str; 5] = [
    ".stentor/agents",
    ".claude/agents",
    ".pi/agents",
    ".omp/agents",
    ".agents/agents",
];

/// The agent that is always there.
pub(super) const GENERAL: &str = "general";

/// A definition longer than this is not read: it would be no system prompt any more.
const MAX_FILE_BYTES: u64 = 256 * 1024;

/// Files looked at in one folder.
const MAX_FILES: usize = 200;

/// What an agent is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Definition {
    pub name: String,
    pub source: SubagentSource,
    pub description: String,
    /// The names of the tools it has; all when absent.
    pub tools: Option<Vec<String>>,
    /// The model it wants; that of its parent when absent.
    pub model: Option<String>,
    /// Its system prompt; that of its parent when absent.
    pub prompt: Option<String>,
}

/// The agents of a project and of its user.
#[derive(Debug, Clone)]
pub(super) struct AgentFolders {
    pub config_dir: Option<PathBuf>,
}

impl AgentFolders {
    /// All agents by name, each once: the project's, then the user's, then the built-in one.
    pub fn all(&self, project: &Path) -> Vec<Definition> {
        let mut found: Vec<Definition> = Vec::new();
        let folders = PROJECT_FOLDERS
            .iter()
            .map(|folder| (project.join(folder), SubagentSource::Project));
        let own = self
            .config_dir
            .iter()
            .map(|folder| (folder.join("agents"), SubagentSource::User));
        for (folder, source) in folders.chain(own) {
            for definition in in_folder(&folder, source) {
                if !found.iter().any(|known| known.name == definition.name) {
                    found.push(definition);
                }
            }
        }
        if !found.iter().any(|known| known.name == GENERAL) {
            found.push(general());
        }
        found
    }

    /// The agent of a name, or which there are instead.
    pub fn find(&self, project: &Path, name: &str) -> Result<Definition, String> {
        let all = self.all(project);
        if let Some(found) = all.iter().find(|agent| agent.name == name) {
            return Ok(found.clone());
        }
        let names: Vec<&str> = all.iter().map(|agent| agent.name.as_str()).collect();
        Err(format!(
            "There is no agent `{name}`. There are: {}.",
            names.join(", ")
        ))
    }
}

impl Definition {
    /// The tools it has of those there are. Names other programs use for the same tool count.
    pub fn tools(&self, there_are: &[Arc<dyn Tool>]) -> Result<Vec<Arc<dyn Tool>>, String> {
        let Some(wanted) = &self.tools else {
            return Ok(there_are.to_vec());
        };
        let wanted: Vec<String> = wanted.iter().map(|name| our_name(name)).collect();
        let chosen: Vec<Arc<dyn Tool>> = there_are
            .iter()
            .filter(|tool| wanted.contains(&tool.spec().name))
            .cloned()
            .collect();
        if chosen.is_empty() && !wanted.is_empty() {
            return Err(format!(
                "The agent `{}` may use only {}, and there are no such tools.",
                self.name,
                wanted.join(", ")
            ));
        }
        Ok(chosen)
    }
}

fn general() -> Definition {
    Definition {
        name: GENERAL.to_owned(),
        source: SubagentSource::Builtin,
        description: "Works on any task with all tools.".to_owned(),
        tools: None,
        model: None,
        prompt: None,
    }
}

fn our_name(name: &str) -> String {
    let name = name.trim().to_lowercase();
    match name.as_str() {
        "glob" => "find".to_owned(),
        "multiedit" => "edit".to_owned(),
        "todowrite" => "todo".to_owned(),
        _ => name,
    }
}

/// The agents of one folder, by file name. A folder that is not there has none.
fn in_folder(folder: &Path, source: SubagentSource) -> Vec<Definition> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut files: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .take(MAX_FILES)
        .collect();
    files.sort();
    files.iter().filter_map(|file| read(file, source)).collect()
}

fn read(path: &Path, source: SubagentSource) -> Option<Definition> {
    let text = match text_of(path) {
        Ok(text) => text,
        Err(why) => {
            tracing::info!("the agent in {} is left out: {why}", path.display());
            return None;
        }
    };
    let stem = path.file_stem()?.to_string_lossy().into_owned();
    Some(parse(&text, stem, source))
}

fn text_of(path: &Path) -> Result<String, String> {
    let file = File::open(path).map_err(|error| error.to_string())?;
    let kind = file.metadata().map_err(|error| error.to_string())?;
    if !kind.is_file() || kind.len() > MAX_FILE_BYTES {
        return Err("it is no file of a sensible size".to_owned());
    }
    let mut text = String::new();
    file.take(MAX_FILE_BYTES)
        .read_to_string(&mut text)
        .map_err(|error| error.to_string())?;
    Ok(text)
}

fn parse(text: &str, stem: String, source: SubagentSource) -> Definition {
    let Some(matter) = FrontMatter::read(text) else {
        return Definition {
            name: stem,
            source,
            description: String::new(),
            tools: None,
            model: None,
            prompt: Some(text.trim().to_owned()).filter(|prompt| !prompt.is_empty()),
        };
    };
    let everything = |tools: &Vec<String>| tools.iter().any(|name| name == "*");
    Definition {
        name: matter.text("name").unwrap_or(stem),
        source,
        description: matter.text("description").unwrap_or_default(),
        tools: matter.list("tools").filter(|tools| !everything(tools)),
        model: matter.text("model").filter(|model| model != "inherit"),
        prompt: Some(matter.body.to_owned()).filter(|prompt| !prompt.is_empty()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn names(folders: &AgentFolders, project: &Path) -> Vec<(String, String)> {
        let all = folders.all(project).into_iter();
        all.map(|agent| (agent.name, agent.description)).collect()
    }

    #[test]
    fn the_project_comes_before_the_user_and_the_general_agent_is_always_there() {
        let folder = tempfile::tempdir().unwrap();
        let (project, user) = (folder.path().join("p"), folder.path().join("u"));
        let folders = AgentFolders {
            config_dir: Some(user.clone()),
        };
        assert_eq!(names(&folders, &project).len(), 1);
        write(
            &user,
            "agents/a.md",
            "---\nname: a\ndescription: user's\n---\nx",
        );
        write(&user, "agents/b.md", "no facts");
        write(
            &project,
            ".claude/agents/z.md",
            "---\nname: a\ndescription: claude's\n---\nx",
        );
        write(
            &project,
            ".stentor/agents/q.md",
            "---\nname: q\n---\nour own",
        );
        write(&project, ".stentor/agents/notes.txt", "---\nname: n\n---\n");
        let expected = [
            ("q", ""),
            ("a", "claude's"),
            ("b", ""),
            ("general", "Works on any task with all tools."),
        ];
        assert_eq!(
            names(&folders, &project),
            expected.map(|(name, says)| (name.to_owned(), says.to_owned()))
        );
        assert_eq!(
            folders.find(&project, "c").unwrap_err(),
            "There is no agent `c`. There are: q, a, b, general."
        );
    }

    #[test]
    fn a_definition_says_tools_model_and_prompt() {
        let text =
            "---\nname: r\ndescription: d\ntools: Read, Glob\nmodel: inherit\n---\nYou review.\n";
        let agent = parse(text, "file".into(), SubagentSource::User);
        assert_eq!(
            agent,
            Definition {
                name: "r".into(),
                source: SubagentSource::User,
                description: "d".into(),
                tools: Some(vec!["Read".into(), "Glob".into()]),
                model: None,
                prompt: Some("You review.".into()),
            }
        );
        let there_are = crate::builtin_tools();
        let has = |agent: &Definition| -> Result<Vec<String>, String> {
            let tools = agent.tools(&there_are)?;
            Ok(tools.iter().map(|tool| tool.spec().name.clone()).collect())
        };
        assert_eq!(has(&agent).unwrap(), ["read", "find"]);
        let strange = parse(
            "---\ntools: [WebSearch]\n---\n",
            "s".into(),
            SubagentSource::User,
        );
        assert_eq!(
            has(&strange).unwrap_err(),
            "The agent `s` may use only websearch, and there are no such tools."
        );
        let all = parse(
            "---\ntools: \"*\"\n---\n",
            "s".into(),
            SubagentSource::User,
        );
        assert_eq!(has(&all).unwrap().len(), there_are.len());
    }
}
