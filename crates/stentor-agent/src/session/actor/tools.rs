//! The tools of a session, and what its hooks bring.

use std::path::Path;
use std::sync::Arc;

use stentor_journal::message::ToolCall;
use stentor_policy::{PermissionMode, ToolEffect};

use crate::commands::SlashCommands;
use crate::hooks::Hooks;
use crate::plan_mode;
use crate::session::options::SessionOptions;
use crate::session::rewind::shortened;
use crate::session::tool_host::SessionToolHost;
use crate::tool::{Circumstances, Place, Tool, ToolSpec};
use crate::undo::may_change_files;

/// What a session's model may call, and what the calls work with.
pub(super) struct SessionTools {
    tools: Arc<[Arc<dyn Tool>]>,
    specs: Arc<[ToolSpec]>,
    pub place: Arc<dyn Place>,
    pub host: Arc<SessionToolHost>,
    pub hooks: Option<Arc<dyn Hooks>>,
    pub slash: Arc<SlashCommands>,
}

/// The tools of one model call, and their descriptions for the model.
pub(super) struct CurrentTools {
    pub tools: Arc<[Arc<dyn Tool>]>,
    pub specs: Arc<[ToolSpec]>,
}

impl SessionTools {
    pub fn new(
        options: &SessionOptions,
        host: Arc<SessionToolHost>,
        slash: Arc<SlashCommands>,
    ) -> Self {
        let mut tools = Self {
            tools: Arc::new([]),
            specs: Arc::new([]),
            place: Arc::clone(&options.place),
            host,
            hooks: None,
            slash,
        };
        tools.set(options.tools.clone());
        tools
    }

    /// Replaces the session's own tools.
    pub fn set(&mut self, tools: Vec<Arc<dyn Tool>>) {
        self.specs = tools.iter().map(|tool| tool.spec().clone()).collect();
        self.slash.set_tools(&self.specs);
        self.tools = tools.into();
    }

    /// Has `hooks` asked from now on.
    pub fn set_hooks(&mut self, hooks: Arc<dyn Hooks>) {
        self.host.set_hooks(Arc::clone(&hooks));
        self.slash.set_hooks(&hooks);
        self.hooks = Some(hooks);
    }

    /// The session's own tools, and those its hooks bring, as far as they are offered now. Of tools
    /// with the same name the session's own, then the first, is meant.
    pub fn current(&mut self, now: Circumstances) -> CurrentTools {
        self.renew();
        let brought = self.hooks.as_ref().map(|hooks| hooks.tools());
        let brought = brought.unwrap_or_default();
        if brought.is_empty() && self.tools.iter().all(|tool| tool.is_offered(now)) {
            return CurrentTools {
                tools: Arc::clone(&self.tools),
                specs: Arc::clone(&self.specs),
            };
        }
        let mut tools = self.tools.to_vec();
        for tool in brought {
            let name = &tool.spec().name;
            if tools.iter().all(|have| have.spec().name != *name) {
                tools.push(tool);
            }
        }
        tools.retain(|tool| tool.is_offered(now));
        let specs = tools.iter().map(|tool| tool.spec().clone()).collect();
        CurrentTools {
            tools: tools.into(),
            specs,
        }
    }

    /// What a call may have changed that was interrupted, in words; `None` when it changes nothing. A
    /// tool that is not known here may change anything.
    pub fn changed_by(&self, call: &ToolCall, cwd: &Path) -> Option<String> {
        let mut tools = self.tools.iter();
        let who = match tools.find(|tool| tool.spec().name == call.name) {
            None => call.name.clone(),
            Some(tool) => {
                let touches = tool.touches(&call.arguments, cwd);
                if !may_change_files(tool.effect_of(&call.arguments), &touches) {
                    return None;
                }
                match touches.command {
                    Some(command) => format!("\"{}\"", shortened(&command)),
                    None => call.name.clone(),
                }
            }
        };
        Some(format!(
            "what {who} changed (it was running when Stentor ended)"
        ))
    }

    /// True for a call whose changes are found by looking at the folder. One of a tool that is not
    /// here any more may have been such a call.
    pub fn runs_commands(&self, call: &ToolCall, cwd: &Path) -> bool {
        let mut tools = self.tools.iter();
        let tool = tools.find(|tool| tool.spec().name == call.name);
        tool.is_none_or(|tool| {
            let effect = tool.effect_of(&call.arguments);
            let touches = tool.touches(&call.arguments, cwd);
            effect == ToolEffect::Executes && may_change_files(effect, &touches)
        })
    }

    /// The system prompt for these tools.
    pub fn system_prompt(&self, specs: &Arc<[ToolSpec]>, now: Circumstances) -> Arc<str> {
        let prompt = self.slash.system_prompt(specs);
        match now.mode {
            PermissionMode::Plan => plan_mode::in_plan_mode(&prompt, specs).into(),
            PermissionMode::ReadOnly
            | PermissionMode::Ask
            | PermissionMode::AcceptEdits
            | PermissionMode::All => prompt,
        }
    }

    /// Takes over what tools say of themselves now.
    fn renew(&mut self) {
        let renewed: Vec<Option<Arc<dyn Tool>>> =
            self.tools.iter().map(|tool| tool.renewed()).collect();
        if renewed.iter().any(Option::is_some) {
            let both = self.tools.iter().zip(renewed);
            let tools = both.map(|(tool, new)| new.unwrap_or_else(|| Arc::clone(tool)));
            self.set(tools.collect());
        }
    }
}
