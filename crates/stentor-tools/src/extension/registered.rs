//! What an extension registered, checked.

use serde_json::Value;
use stentor_agent::event::{CommandInfo, CommandSource};
use stentor_agent::tool::{ToolEffect, ToolSpec};
use stentor_wire::extension::{
    CommandDeclaration, Effect, HookName, InitializeResult, PROTOCOL_VERSION, RegisterParams,
    ToolDeclaration,
};

use super::limits::{DESCRIPTION_BYTES, LABEL_BYTES, REGISTERED, SCHEMA_BYTES};
use crate::truncation::cut;

/// What an extension brings and wants.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Registration {
    pub tools: Vec<ToolSpec>,
    pub commands: Vec<CommandInfo>,
    pub hooks: Vec<HookName>,
    pub events: Vec<String>,
    /// What of it cannot be used, and why.
    pub problems: Vec<String>,
}

/// Why an answer to `initialize` registers nothing.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum InitializeError {
    #[error(
        "its answer to `initialize` says nothing; it must be at least \
         {{\"protocolVersion\":{PROTOCOL_VERSION}}}"
    )]
    Empty,
    #[error("it speaks version {0} of the protocol, this program version {PROTOCOL_VERSION}")]
    Version(u32),
}

/// Why a tool cannot be used.
#[derive(Debug, thiserror::Error)]
enum ToolProblem {
    #[error("its name must be 1 to 64 letters, digits, `_` and `-`")]
    Name,
    #[error("its name occurs twice")]
    Twice,
    #[error("there are more than {REGISTERED} tools")]
    TooMany,
    #[error("its `parameters` must be a JSON Schema with `\"type\": \"object\"`")]
    NoObject,
    #[error("its `parameters` are longer than {SCHEMA_BYTES} bytes")]
    TooLong,
}

/// In a list of events: all of them.
const ALL_EVENTS: &str = "*";

impl Registration {
    /// What the answer to `initialize` says. `allowed` are the events it may hear of.
    pub fn from_initialize(
        result: InitializeResult,
        allowed: Option<&[String]>,
    ) -> Result<Self, InitializeError> {
        if result == InitializeResult::default() {
            return Err(InitializeError::Empty);
        }
        if result.protocol_version != PROTOCOL_VERSION {
            return Err(InitializeError::Version(result.protocol_version));
        }
        let mut problems = Vec::new();
        let tools = tools(result.tools, &mut problems);
        let commands = commands(result.commands, &mut problems);
        let hooks = hooks(result.hooks, &mut problems);
        let events = match allowed {
            None => result.events,
            // What both lists have in common; a list with `*` has everything.
            Some(allowed) if has(&result.events, ALL_EVENTS) => allowed.to_vec(),
            Some(allowed) => {
                let wanted = result.events.into_iter();
                wanted.filter(|event| hears(allowed, event)).collect()
            }
        };
        Ok(Self {
            tools,
            commands,
            hooks,
            events,
            problems,
        })
    }

    /// The same with what was registered anew.
    pub fn with(&self, params: RegisterParams) -> Self {
        let mut new = Self {
            problems: Vec::new(),
            ..self.clone()
        };
        if let Some(declared) = params.tools {
            new.tools = tools(declared, &mut new.problems);
        }
        if let Some(declared) = params.commands {
            new.commands = commands(declared, &mut new.problems);
        }
        new
    }

    /// True when it wants to hear of events of this type.
    pub fn hears(&self, event: &str) -> bool {
        hears(&self.events, event)
    }
}

fn hears(events: &[String], event: &str) -> bool {
    has(events, event) || has(events, ALL_EVENTS)
}

fn has(events: &[String], event: &str) -> bool {
    events.iter().any(|wanted| wanted == event)
}

fn hooks(wanted: Vec<String>, problems: &mut Vec<String>) -> Vec<HookName> {
    let mut hooks = Vec::new();
    for name in wanted {
        match HookName::named(&name) {
            Some(hook) if hooks.contains(&hook) => {}
            Some(hook) => hooks.push(hook),
            None if problems.len() < REGISTERED => {
                let known = HookName::ALL.map(HookName::as_str).join(", ");
                let name = cut(name, LABEL_BYTES);
                problems.push(format!("there is no hook `{name}`; there are {known}"));
            }
            None => {}
        }
    }
    hooks
}

fn tools(declared: Vec<ToolDeclaration>, problems: &mut Vec<String>) -> Vec<ToolSpec> {
    let mut tools: Vec<ToolSpec> = Vec::new();
    for tool in declared {
        let known = tools.iter().any(|have| have.name == tool.name);
        match check_tool(&tool, known, tools.len()) {
            Ok(()) => tools.push(spec(tool)),
            Err(why) => {
                let name = cut(tool.name, LABEL_BYTES);
                problems.push(format!("the tool `{name}` cannot be used: {why}"));
            }
        }
    }
    problems.truncate(REGISTERED);
    tools
}

fn check_tool(tool: &ToolDeclaration, known: bool, count: usize) -> Result<(), ToolProblem> {
    let letters = |name: &str| {
        name.bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
    };
    if tool.name.is_empty() || tool.name.len() > 64 || !letters(&tool.name) {
        return Err(ToolProblem::Name);
    }
    if known {
        return Err(ToolProblem::Twice);
    }
    if count >= REGISTERED {
        return Err(ToolProblem::TooMany);
    }
    if tool.parameters.get("type").and_then(Value::as_str) != Some("object") {
        return Err(ToolProblem::NoObject);
    }
    if tool.parameters.to_string().len() > SCHEMA_BYTES {
        return Err(ToolProblem::TooLong);
    }
    Ok(())
}

fn spec(tool: ToolDeclaration) -> ToolSpec {
    ToolSpec {
        label: cut(tool.label.unwrap_or_else(|| tool.name.clone()), LABEL_BYTES),
        name: tool.name,
        description: cut(tool.description, DESCRIPTION_BYTES),
        parameters: tool.parameters.into(),
        effect: match tool.effect {
            Effect::Nothing => ToolEffect::Nothing,
            Effect::Reads => ToolEffect::Reads,
            Effect::Writes => ToolEffect::Writes,
            Effect::Executes => ToolEffect::Executes,
        },
    }
}

fn commands(declared: Vec<CommandDeclaration>, problems: &mut Vec<String>) -> Vec<CommandInfo> {
    let mut commands: Vec<CommandInfo> = Vec::new();
    for command in declared {
        let usable = !command.name.is_empty()
            && command.name.len() <= 64
            && !command.name.starts_with('/')
            && !command
                .name
                .contains(|letter: char| letter.is_whitespace() || letter.is_control());
        if !usable || commands.len() >= REGISTERED {
            let name = cut(command.name, LABEL_BYTES);
            problems.push(format!(
                "the command `{name}` cannot be used: its name must be 1 to 64 characters without spaces and without the slash, and there may be {REGISTERED}"
            ));
            continue;
        }
        if commands.iter().any(|have| have.name == command.name) {
            continue;
        }
        commands.push(CommandInfo {
            name: command.name,
            description: command.description.map(|text| cut(text, DESCRIPTION_BYTES)),
            hint: command.hint.map(|text| cut(text, LABEL_BYTES)),
            source: CommandSource::Extension,
            path: None,
        });
    }
    problems.truncate(REGISTERED);
    commands
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn registered(result: Value) -> Result<Registration, InitializeError> {
        Registration::from_initialize(serde_json::from_value(result).unwrap(), None)
    }

    #[test]
    fn what_cannot_be_used_is_left_out_and_told() {
        let found = registered(json!({
            "protocolVersion": 1,
            "tools": [
                { "name": "good", "description": "d" },
                { "name": "good", "description": "again" },
                { "name": "not good", "description": "d" },
                { "name": "odd", "description": "d", "parameters": { "type": "string" } },
            ],
            "commands": [{ "name": "fine" }, { "name": "/slash" }, { "name": "" }],
        }))
        .unwrap();
        let tools: Vec<&str> = found.tools.iter().map(|tool| tool.name.as_str()).collect();
        let commands: Vec<&str> = found
            .commands
            .iter()
            .map(|info| info.name.as_str())
            .collect();
        assert_eq!((tools, commands), (vec!["good"], vec!["fine"]));
        assert_eq!(found.problems.len(), 5, "{:#?}", found.problems);
    }

    #[test]
    fn another_version_is_refused() {
        let why = registered(json!({ "protocolVersion": 2 })).unwrap_err();
        assert_eq!(
            why.to_string(),
            "it speaks version 2 of the protocol, this program version 1"
        );
    }

    #[test]
    fn an_answer_that_says_nothing_is_told_as_such() {
        let why = Registration::from_initialize(InitializeResult::default(), None).unwrap_err();
        assert_eq!(
            why.to_string(),
            "its answer to `initialize` says nothing; it must be at least {\"protocolVersion\":1}"
        );
    }

    #[test]
    fn a_hook_that_is_not_known_is_left_out_and_told() {
        let found = registered(json!({
            "protocolVersion": 1,
            "hooks": ["tool/before", "tool/around", "tool/before", "prompt/before"],
        }))
        .unwrap();
        assert_eq!(found.hooks, [HookName::ToolBefore, HookName::PromptBefore]);
        assert_eq!(
            found.problems,
            ["there is no hook `tool/around`; there are tool/before, tool/after, prompt/before"]
        );
    }

    #[test]
    fn it_hears_what_it_asks_for_as_far_as_it_is_allowed() {
        for (asked, allowed, heard) in [
            (&["a", "b"][..], None, &["a", "b"][..]),
            (&["*"], None, &["*"]),
            (&["a", "b"], Some(&["b", "c"][..]), &["b"]),
            (&["*"], Some(&["b"]), &["b"]),
            (&["a"], Some(&["*"]), &["a"]),
            (&["a"], Some(&[]), &[]),
        ] {
            let result = InitializeResult {
                protocol_version: 1,
                events: asked.iter().map(|&event| event.to_owned()).collect(),
                ..InitializeResult::default()
            };
            let allowed: Option<Vec<String>> =
                allowed.map(|events| events.iter().map(|&event| event.to_owned()).collect());
            let found = Registration::from_initialize(result, allowed.as_deref()).unwrap();
            assert_eq!(found.events, heard);
        }
    }
}
