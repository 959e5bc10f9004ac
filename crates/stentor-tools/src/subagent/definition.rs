//! Which agents there are for a task, and which tools one has.

use std::sync::Arc;

use stentor_agent::commands::{AgentDefinition, CommandBook};
use stentor_agent::tool::Tool;

use crate::job::JOB;

/// Why an agent cannot take a task, in words for the model that gave it.
#[derive(Debug, thiserror::Error)]
pub(super) enum AgentUnusable {
    #[error("There is no agent `{name}`. Available: {}.", known.join(", "))]
    Unknown { name: String, known: Vec<String> },
    #[error("The agent `{name}` may use only {}, and there are no such tools.", wanted.join(", "))]
    NoTools { name: String, wanted: Vec<String> },
    #[error("No model selected.")]
    NoModel,
}

impl AgentUnusable {
    /// The same, where these other programs could be named as well. One of the same name as an agent
    /// stands behind it.
    pub(super) fn or_programs(mut self, programs: Vec<String>) -> Self {
        if let Self::Unknown { known, .. } = &mut self {
            let new = programs.into_iter().filter(|name| !known.contains(name));
            let new: Vec<String> = new.collect();
            known.extend(new);
        }
        self
    }
}

/// The agent of a name, or which there are instead.
pub(super) fn find(book: &CommandBook, name: &str) -> Result<AgentDefinition, AgentUnusable> {
    let all = book.all_agents();
    if let Some(found) = all.iter().find(|agent| agent.name == name) {
        return Ok(found.clone());
    }
    Err(AgentUnusable::Unknown {
        name: name.to_owned(),
        known: all.iter().map(|agent| agent.name.clone()).collect(),
    })
}

/// The tools an agent has of those there are. Names other programs use for the same tool count.
/// `brought` come from elsewhere; an agent that has only such has none of these.
pub(super) fn tools(
    agent: &AgentDefinition,
    there_are: &[Arc<dyn Tool>],
    brought: &[Arc<dyn Tool>],
) -> Result<Vec<Arc<dyn Tool>>, AgentUnusable> {
    let Some(wanted) = &agent.tools else {
        return Ok(there_are.to_vec());
    };
    let chosen: Vec<Arc<dyn Tool>> = there_are
        .iter()
        .filter(|tool| has(agent, &tool.spec().name))
        .cloned()
        .collect();
    let has_brought = brought.iter().any(|tool| has(agent, &tool.spec().name));
    if chosen.is_empty() && !has_brought && !wanted.is_empty() {
        return Err(AgentUnusable::NoTools {
            name: agent.name.clone(),
            wanted: wanted.iter().map(|name| our_name(name)).collect(),
        });
    }
    Ok(chosen)
}

/// True when the agent may use a tool.
pub(super) fn has(agent: &AgentDefinition, tool: &str) -> bool {
    match &agent.tools {
        None => true,
        Some(wanted) => wanted
            .iter()
            .any(|name| name == tool || our_name(name) == tool || brings(name, tool)),
    }
}

/// What runs in the background is looked after by another tool.
fn brings(name: &str, tool: &str) -> bool {
    tool == JOB && our_name(name) == "bash"
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use stentor_agent::agent_folders::AgentFolders;
    use stentor_agent::commands::CommandFolders;

    use super::*;

    fn write(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn names(book: &CommandBook) -> Vec<(String, String)> {
        let all = book.all_agents().into_iter();
        all.map(|agent| (agent.name, agent.description)).collect()
    }

    #[test]
    fn the_project_comes_before_the_user_and_the_general_agent_is_always_there() {
        let folder = tempfile::tempdir().unwrap();
        let (project, user) = (folder.path().join("p"), folder.path().join("u"));
        let folders = CommandFolders {
            project: project.clone().into(),
            home: Some(folder.path().join("home")),
            agent_folders: AgentFolders::find(
                Some(&folder.path().join("home")),
                |_| None::<String>,
            ),
            config: Some(user.clone()),
            ..CommandFolders::default()
        };
        assert_eq!(names(&CommandBook::load(&folders)).len(), 1);
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
        write(folder.path(), "home/.pi/agent/agents/h.md", "of the home");
        let expected = [
            ("q", ""),
            ("a", "claude's"),
            ("b", ""),
            ("h", ""),
            ("general", "Works on any task with all tools."),
        ];
        let book = CommandBook::load(&folders);
        assert_eq!(
            names(&book),
            expected.map(|(name, says)| (name.to_owned(), says.to_owned()))
        );
        assert_eq!(
            find(&book, "c").unwrap_err().to_string(),
            "There is no agent `c`. Available: q, a, b, h, general."
        );
        let programs = ["goose", "q"].map(str::to_owned);
        let unknown = find(&book, "c").unwrap_err();
        assert_eq!(
            unknown.or_programs(programs.into()).to_string(),
            "There is no agent `c`. Available: q, a, b, h, general, goose."
        );
    }

    #[test]
    fn a_definition_says_tools_model_and_prompt() {
        let folder = tempfile::tempdir().unwrap();
        let agents = folder.path().join(".stentor/agents");
        write(
            &agents,
            "r.md",
            "---\ndescription: d\ntools: Read, Glob\nmodel: inherit\n---\nYou review.\n",
        );
        write(&agents, "s.md", "---\ntools: [WebSearch]\n---\n");
        write(&agents, "t.md", "---\ntools: \"*\"\n---\n");
        let book = CommandBook::load(&CommandFolders {
            project: folder.path().into(),
            ..CommandFolders::default()
        });
        let agent = find(&book, "r").unwrap();
        assert_eq!(
            agent,
            AgentDefinition {
                name: "r".into(),
                description: "d".into(),
                tools: Some(vec!["Read".into(), "Glob".into()]),
                model: None,
                prompt: Some("You review.".into()),
                path: Some(agents.join("r.md")),
            }
        );
        let there_are = crate::builtin_tools();
        let has = |name: &str| -> Result<Vec<String>, AgentUnusable> {
            let tools = tools(&find(&book, name)?, &there_are, &[])?;
            Ok(tools.iter().map(|tool| tool.spec().name.clone()).collect())
        };
        assert_eq!(has("r").unwrap(), ["read", "find"]);
        assert_eq!(
            has("s").unwrap_err().to_string(),
            "The agent `s` may use only websearch, and there are no such tools."
        );
        assert_eq!(has("t").unwrap().len(), there_are.len());
    }
}
