//! The built-in tools, and the shell that runs commands for the user.
//!
//! Names, parameters, limits and result texts are those of pi's tools, because clients show calls
//! and results by them. Each tool is one module; `process` is how commands run and end,
//! `search` what `grep` and `find` share, `truncation` how much of a long text is shown.

use std::path::PathBuf;
use std::sync::Arc;

use stentor_agent::tool::{Shell, Tool};

use process::{Launcher, ShellProgram};

mod asking;
mod background;
mod bash;
mod content_budget;
mod edit;
pub mod extension;
mod file;
mod folder;
mod job;
mod json_rpc_child;
mod ls;
pub mod mcp;
pub mod memory;
mod paths;
pub mod process;
mod read;
pub mod sandbox;
mod search;
mod shell;
mod subagent;
#[cfg(test)]
mod testing;
mod todo;
mod tool_call;
mod tool_error;
mod truncation;
pub mod web;
mod write;

pub use asking::{ASK, ASKING_TOOLS};
pub use bash::BASH;
pub use job::JOB;
pub use subagent::{SUBAGENT, SubagentSetup, subagent_tool};

/// The tools a session has unless it is told otherwise.
pub const DEFAULT_TOOLS: [&str; 5] = ["read", "bash", "edit", "write", "job"];

/// Every built-in tool, in the order [`builtin_tools`] gives them.
pub const ALL_TOOLS: [&str; 9] = [
    "read", "bash", "edit", "write", "grep", "find", "ls", "todo", "job",
];

/// One of each built-in tool.
pub fn builtin_tools() -> Vec<Arc<dyn Tool>> {
    BuiltinTools::default().started_by(&Launcher::default())
}

/// The built-in tools, of which all sessions have the same as far as they start no programs.
#[derive(Clone, Default)]
pub struct BuiltinTools {
    read: Arc<read::Read>,
    edit: Arc<edit::Edit>,
    write: Arc<write::Write>,
    grep: Arc<search::Grep>,
    find: Arc<search::Find>,
    ls: Arc<ls::Ls>,
    todo: Arc<todo::Todo>,
    job: Arc<job::JobTool>,
    ask: Arc<asking::Ask>,
    exit_plan_mode: Arc<asking::ExitPlanMode>,
}

impl BuiltinTools {
    /// One of each; those that run commands have them started by `launcher`.
    pub fn started_by(&self, launcher: &Launcher) -> Vec<Arc<dyn Tool>> {
        let program = ShellProgram::of_this_machine().started_by(launcher.clone());
        vec![
            Arc::clone(&self.read) as _,
            Arc::new(bash::Bash::new(program)),
            Arc::clone(&self.edit) as _,
            Arc::clone(&self.write) as _,
            Arc::clone(&self.grep) as _,
            Arc::clone(&self.find) as _,
            Arc::clone(&self.ls) as _,
            Arc::clone(&self.todo) as _,
            Arc::clone(&self.job) as _,
        ]
    }

    /// The tool that asks a person.
    pub fn ask(&self) -> Arc<dyn Tool> {
        Arc::clone(&self.ask) as _
    }

    /// The tool that presents a plan to a person.
    pub fn exit_plan_mode(&self) -> Arc<dyn Tool> {
        Arc::clone(&self.exit_plan_mode) as _
    }
}

/// The shell that runs commands here: a bash if there is one.
pub fn shell_path() -> PathBuf {
    ShellProgram::of_this_machine().path().to_owned()
}

/// The shell of this machine, for commands on the user's behalf.
pub fn local_shell() -> Arc<dyn Shell> {
    shell_started_by(Launcher::default())
}

/// The same, whose commands are started by `launcher`.
pub fn shell_started_by(launcher: Launcher) -> Arc<dyn Shell> {
    let program = ShellProgram::of_this_machine().started_by(launcher);
    Arc::new(shell::LocalShell::new(program))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_names_is_the_list_of_tools() {
        let tools = builtin_tools();
        let names: Vec<&str> = tools.iter().map(|tool| tool.spec().name.as_str()).collect();
        assert_eq!(names, ALL_TOOLS);
        assert!(DEFAULT_TOOLS.iter().all(|name| ALL_TOOLS.contains(name)));
    }

    #[test]
    fn every_schema_is_an_object_whose_required_names_it_describes() {
        for tool in builtin_tools() {
            let parameters = &tool.spec().parameters;
            assert_eq!(parameters["type"], "object", "{}", tool.spec().name);
            let required = parameters["required"].as_array().unwrap();
            for name in required {
                let name = name.as_str().unwrap();
                assert!(parameters["properties"].get(name).is_some(), "{name}");
            }
        }
    }
}
