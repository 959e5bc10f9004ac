//! Items of the Responses API that are calls of tools which the provider runs itself.

use serde_json::{Map, Value, json};
use stentor_agent::tool::ToolOutput;

use crate::server_call;

/// The kinds of such items.
const KINDS: [&str; 4] = [
    "web_search_call",
    "file_search_call",
    "code_interpreter_call",
    "mcp_call",
];

/// The name of the tool, if the item is such a call.
pub(super) fn tool_name(item: &Map<String, Value>) -> Option<String> {
    let kind = KINDS.into_iter().find(|kind| *kind == word(item, "type"))?;
    let name = match kind {
        "mcp_call" => word(item, "name"),
        kind => kind.trim_end_matches("_call"),
    };
    Some(name.to_owned())
}

/// The arguments of a complete call, as JSON.
pub(super) fn arguments(item: &Map<String, Value>) -> String {
    match word(item, "type") {
        "web_search_call" => {
            let mut action = item.get("action").cloned().unwrap_or_default();
            if let Some(action) = action.as_object_mut() {
                action.shift_remove("sources");
            }
            match action.is_object() {
                true => action.to_string(),
                false => "{}".to_owned(),
            }
        }
        "file_search_call" => json!({ "queries": item.get("queries") }).to_string(),
        "code_interpreter_call" => json!({ "code": item.get("code") }).to_string(),
        _ => match word(item, "arguments") {
            "" => "{}".to_owned(),
            arguments => arguments.to_owned(),
        },
    }
}

/// What a complete call gave. All of it goes back with the call.
pub(super) fn output(item: &Map<String, Value>) -> ToolOutput {
    let list = |value: Option<&Value>| value.and_then(Value::as_array).cloned().unwrap_or_default();
    let failed = matches!(word(item, "status"), "failed" | "incomplete");
    let text = match word(item, "type") {
        "web_search_call" => {
            let sources = item.get("action").and_then(|action| action.get("sources"));
            let sources = list(sources);
            let pages = sources.iter().filter_map(|source| {
                let text = |name| source.get(name).and_then(Value::as_str);
                Some((text("title").unwrap_or_default(), text("url")?))
            });
            match (sources.is_empty(), failed) {
                (false, _) => server_call::page_list(pages),
                (true, false) => "The provider searched the web and named no pages.".to_owned(),
                (true, true) => "The provider's search failed.".to_owned(),
            }
        }
        "file_search_call" => texts(&list(item.get("results")), "text"),
        "code_interpreter_call" => texts(&list(item.get("outputs")), "logs"),
        _ => match item.get("error").filter(|error| !error.is_null()) {
            Some(Value::String(error)) => return server_call::output(error, true, None),
            Some(error) => return server_call::output(&error.to_string(), true, None),
            None => word(item, "output").to_owned(),
        },
    };
    server_call::output(&text, failed, None)
}

fn texts(parts: &[Value], name: &str) -> String {
    let texts = parts.iter().filter_map(|part| part.get(name)?.as_str());
    match texts.collect::<Vec<_>>().join("\n") {
        text if text.is_empty() => "(no output)".to_owned(),
        text => text,
    }
}

fn word<'a>(item: &'a Map<String, Value>, name: &str) -> &'a str {
    item.get(name).and_then(Value::as_str).unwrap_or_default()
}
