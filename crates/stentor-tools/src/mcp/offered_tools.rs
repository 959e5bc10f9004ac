//! The tools of a server that models can be offered. One that cannot must not cost the others: a
//! provider refuses a whole request for one tool it cannot take.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};
use stentor_agent::tool::{ToolEffect, ToolSpec};
use stentor_agent::tool_servers::ToolServer;

use super::name::full_names;
use super::offer::{OfferedTool, short};
use super::protocol;

/// Names that are listed when tools are left out; more are counted.
const NAMES_LISTED: usize = 5;
/// The longest name that is listed whole.
const NAME_CHARS: usize = 64;

/// A tool as a server lists it.
#[derive(Debug)]
pub(super) enum ListedTool {
    Readable(protocol::Tool),
    /// The name of one that is not described as a tool must be.
    Unreadable(String),
}

impl ListedTool {
    pub fn new(tool: Value) -> Self {
        let name = tool.get("name").and_then(Value::as_str);
        let name = name.unwrap_or_default().to_owned();
        match serde_json::from_value(tool) {
            Ok(tool) => Self::Readable(tool),
            Err(_) => Self::Unreadable(name),
        }
    }

    pub fn name(&self) -> &str {
        match self {
            Self::Readable(tool) => &tool.name,
            Self::Unreadable(name) => name,
        }
    }
}

/// Those of the tools that are wanted and can be offered, and what is wrong with the others.
pub(super) fn offered(
    wanted: &ToolServer,
    listed: Vec<ListedTool>,
) -> (Vec<OfferedTool>, Vec<String>) {
    let mut seen = HashSet::new();
    let mut tools = Vec::new();
    let mut left_out: HashMap<ToolFault, Vec<String>> = HashMap::new();
    for listed in listed {
        let name = listed.name().to_owned();
        if !wanted.tools.offers(&name) {
            continue;
        }
        match judged(listed, &mut seen) {
            Ok(tool) => tools.push(tool),
            Err(fault) => {
                let names = left_out.entry(fault).or_default();
                if !names.contains(&name) {
                    names.push(name);
                }
            }
        }
    }
    let names = full_names(
        &wanted.name,
        tools.iter().map(|(tool, _)| tool.name.as_str()),
    );
    let offered = tools.into_iter().zip(names);
    let offered = offered.map(|((tool, parameters), name)| offered_tool(name, tool, parameters));
    let problems = ToolFault::ALL.iter().filter_map(|fault| {
        let names = left_out.get(fault)?;
        Some(fault.warning(names))
    });
    (offered.collect(), problems.collect())
}

/// Why a tool is not offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum ToolFault {
    Unreadable,
    Nameless,
    Twice,
    NoObject,
}

impl ToolFault {
    const ALL: [Self; 4] = [
        Self::Unreadable,
        Self::Nameless,
        Self::Twice,
        Self::NoObject,
    ];

    /// `tools left out that …: a, b`.
    fn warning(self, names: &[String]) -> String {
        let why = match self {
            Self::Unreadable => "are not described as tools must be",
            Self::Nameless => "have no name",
            Self::Twice => "it lists more than once",
            Self::NoObject => "have an inputSchema that is not one of an object",
        };
        let short =
            |name: &String| format!("{:?}", name.chars().take(NAME_CHARS).collect::<String>());
        let mut listed: Vec<String> = names.iter().take(NAMES_LISTED).map(short).collect();
        if let Some(more @ 1..) = names.len().checked_sub(NAMES_LISTED) {
            listed.push(format!("{more} more"));
        }
        format!("tools are left out that {why}: {}", listed.join(", "))
    }
}

/// The tool and its parameters as a provider takes them.
fn judged(
    listed: ListedTool,
    seen: &mut HashSet<String>,
) -> Result<(protocol::Tool, Map<String, Value>), ToolFault> {
    let name = listed.name();
    if name.is_empty() {
        return Err(ToolFault::Nameless);
    }
    if seen.contains(name) {
        return Err(ToolFault::Twice);
    }
    let ListedTool::Readable(tool) = listed else {
        return Err(ToolFault::Unreadable);
    };
    let mut parameters = tool.input_schema.clone();
    let kind = parameters.entry("type").or_insert_with(|| "object".into());
    let is_object = kind == "object";
    let properties = parameters.get("properties");
    if !is_object || properties.is_some_and(|properties| !properties.is_object()) {
        return Err(ToolFault::NoObject);
    }
    seen.insert(tool.name.clone());
    Ok((tool, parameters))
}

/// The hints of a server about what its tools do are not believed: each call counts as one that
/// runs something.
fn offered_tool(
    full_name: String,
    tool: protocol::Tool,
    parameters: Map<String, Value>,
) -> OfferedTool {
    let claims_to_read = tool.claims_to_read();
    let name = tool.name;
    OfferedTool {
        claims_to_read,
        spec: ToolSpec {
            name: full_name,
            label: tool.title.unwrap_or_else(|| name.clone()),
            description: short(tool.description.unwrap_or_default()),
            parameters: Value::Object(parameters).into(),
            effect: ToolEffect::Executes,
        },
        name,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use stentor_agent::tool_servers::ToolServerTransport;

    use super::*;

    fn tool(name: &str, schema: Value) -> ListedTool {
        let tool = json!({ "name": name, "inputSchema": schema });
        ListedTool::Readable(serde_json::from_value(tool).unwrap())
    }

    fn judge(listed: Vec<ListedTool>) -> (Vec<(String, Value)>, Vec<String>) {
        let transport = ToolServerTransport::Http {
            url: String::new(),
            headers: Vec::new(),
        };
        let (tools, problems) = offered(&ToolServer::new("s", transport), listed);
        let tools = tools.into_iter();
        let shown = tools.map(|tool| (tool.spec.name, Value::clone(&tool.spec.parameters)));
        (shown.collect(), problems)
    }

    #[test]
    fn what_no_provider_takes_is_left_out_and_named() {
        let object = || json!({ "type": "object" });
        let mut listed = vec![
            tool("good", object()),
            tool("bare", json!({})),
            tool("string", json!({ "type": "string" })),
            tool("list", json!({ "type": "object", "properties": [] })),
            tool("", object()),
            tool("good", json!({ "type": "object", "properties": {} })),
        ];
        listed.extend((0..7).map(|number| ListedTool::Unreadable(format!("u{number}"))));
        let (tools, problems) = judge(listed);
        assert_eq!(
            tools,
            [
                ("mcp__s__good".to_owned(), object()),
                ("mcp__s__bare".to_owned(), object()),
            ]
        );
        assert_eq!(
            problems,
            [
                r#"tools are left out that are not described as tools must be: "u0", "u1", "u2", "u3", "u4", 2 more"#,
                r#"tools are left out that have no name: """#,
                r#"tools are left out that it lists more than once: "good""#,
                r#"tools are left out that have an inputSchema that is not one of an object: "string", "list""#,
            ]
        );
    }

    #[test]
    fn tools_whose_names_look_alike_are_all_offered() {
        let names = ["a b", "a.b", "a_b", "a/b"];
        let (tools, problems) = judge(names.map(|name| tool(name, json!({}))).into());
        let offered: HashSet<&str> = tools.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!((offered.len(), problems.len()), (4, 0));
        assert_eq!(tools[2].0, "mcp__s__a_b", "it is called so");
        assert!(offered.iter().all(|name| name.starts_with("mcp__s__a_b")));
    }
}
