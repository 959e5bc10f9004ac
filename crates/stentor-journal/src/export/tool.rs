//! A tool call and its result, together.

use serde_json::{Map, Value};

use super::block::{self, ResultDisplay, ShownPart, folded, preformatted, shown_part};
use super::escape::Html;
use super::highlight::language_of;
use super::summary::duration;
use crate::message::{ToolCall, ToolResultMessage};

/// Shows a call, and its result with the result's own anchor when there is one.
/// The tool ran from `called_ms` on, if that is known.
pub(super) fn render(
    call: &ToolCall,
    result: Option<(usize, &ToolResultMessage)>,
    called_ms: Option<u64>,
    page: &mut Html,
) {
    let failed = result.is_some_and(|(_, result)| result.is_error);
    page.open("section", if failed { "tool failed" } else { "tool" });
    title(call, page);
    if let Some((anchor, result)) = result {
        let took = called_ms.map(|called| result.timestamp.saturating_sub(called));
        let took = took.filter(|ms| *ms > 0).map(duration);
        let failed = if failed { "failed " } else { "" };
        page.raw(&format!(
            " <a class=\"anchor\" href=\"#m{anchor}\">{failed}"
        ));
        page.text(took.as_deref().unwrap_or("#")).raw("</a>");
    }
    page.raw("</h3>\n");
    changes(call, result.map(|(_, result)| result), page);
    match result {
        Some((anchor, result)) => {
            page.raw(&format!("<div id=\"m{anchor}\">\n"));
            outcome(result, language(call), &origin(call), page);
            page.raw("</div>\n");
        }
        None => {
            page.element("p", "note", "No result").raw("\n");
        }
    }
    page.raw("</section>\n");
}

/// Begins the heading of a call.
pub(super) fn title(call: &ToolCall, page: &mut Html) {
    page.raw("<h3>").element("span", "name", &call.name);
    if let Some(subject) = subject(call) {
        page.raw(" ").element("code", "", subject);
    }
}

/// What a call does: the change it reports if there is one, else what it was given.
pub(super) fn changes(call: &ToolCall, result: Option<&ToolResultMessage>, page: &mut Html) {
    let diff = result.and_then(diff_of);
    arguments(call, diff.is_some(), page);
    if let Some(diff) = diff {
        render_diff(diff, page);
    }
}

/// Shows a result whose call is not in the conversation.
pub(super) fn render_orphan(result: &ToolResultMessage, page: &mut Html) {
    page.open(
        "section",
        if result.is_error {
            "tool failed"
        } else {
            "tool"
        },
    );
    page.raw("<h3>")
        .element("span", "name", &result.tool_name)
        .raw("</h3>\n");
    outcome(result, "", &result.tool_name, page);
    page.raw("</section>\n");
}

/// What a call is about, where one argument says it.
fn subject(call: &ToolCall) -> Option<&str> {
    let name = match call.name.as_str() {
        "read" | "write" | "edit" | "ls" => "path",
        "grep" | "find" => "pattern",
        _ => return None,
    };
    call.arguments.get(name).and_then(Value::as_str)
}

fn arguments(call: &ToolCall, has_diff: bool, page: &mut Html) {
    let text = |name: &str| call.arguments.get(name).and_then(Value::as_str);
    match call.name.as_str() {
        "bash" => {
            if let Some(command) = text("command") {
                page.element("pre", "command", command).raw("\n");
            }
        }
        "write" => {
            if let Some(content) = text("content") {
                preformatted(
                    content,
                    language_of(subject(call).unwrap_or_default()),
                    ShownPart::Beginning,
                    page,
                );
            }
        }
        "edit" if has_diff => {}
        "edit" => {
            for (old, new) in edits(&call.arguments) {
                render_diff(&marked(old, new), page);
            }
        }
        "read" | "ls" | "find" | "grep" => rest_of_arguments(call, page),
        _ if call.arguments.is_empty() => {}
        _ => folded("Arguments", &pretty(&call.arguments), page),
    }
}

/// What the heading did not say already.
fn rest_of_arguments(call: &ToolCall, page: &mut Html) {
    let said = subject(call);
    let rest: Vec<String> = call
        .arguments
        .iter()
        .filter(|(_, value)| said.is_none() || value.as_str() != said)
        .map(|(name, value)| format!("{name}: {value}"))
        .collect();
    if !rest.is_empty() {
        page.element("p", "arguments", &rest.join(", ")).raw("\n");
    }
}

/// The language of what a call gives back: that of the file it reads.
pub(super) fn language(call: &ToolCall) -> &str {
    match call.name.as_str() {
        "read" => language_of(subject(call).unwrap_or_default()),
        _ => "",
    }
}

/// The tool and what it was about.
pub(super) fn origin(call: &ToolCall) -> String {
    match subject(call) {
        Some(subject) => format!("{} {subject}", call.name),
        None => call.name.clone(),
    }
}

pub(super) fn outcome(result: &ToolResultMessage, language: &str, from: &str, page: &mut Html) {
    page.open(
        "div",
        if result.is_error {
            "output error"
        } else {
            "output"
        },
    );
    let shown = ResultDisplay {
        language,
        part: shown_part(result.is_error),
        from,
    };
    for part in &result.content {
        block::output(part, shown, page);
    }
    page.raw("</div>\n");
}

/// The diff an edit reports.
fn diff_of(result: &ToolResultMessage) -> Option<&str> {
    let diff = result.details.as_ref()?.get("diff")?.as_str()?;
    (!diff.trim().is_empty()).then_some(diff)
}

/// The replacements of an edit, in both forms clients send.
fn edits(arguments: &Map<String, Value>) -> Vec<(&str, &str)> {
    let list = arguments.get("edits").and_then(Value::as_array);
    let from_list = list.into_iter().flatten().filter_map(|edit| {
        let text = |name: &str| edit.get(name).and_then(Value::as_str);
        Some((text("oldText")?, text("newText")?))
    });
    let top = |name: &str| arguments.get(name).and_then(Value::as_str);
    let single = top("oldText").zip(top("newText"));
    from_list.chain(single).collect()
}

fn marked(old: &str, new: &str) -> String {
    let removed = old.lines().map(|line| format!("-{line}\n"));
    let added = new.lines().map(|line| format!("+{line}\n"));
    removed.chain(added).collect()
}

fn render_diff(diff: &str, page: &mut Html) {
    page.raw("<pre class=\"diff\">");
    for line in diff.trim_end_matches('\n').lines() {
        let class = match line.chars().next() {
            Some('+') => "added",
            Some('-') => "removed",
            Some('@') => "place",
            _ => "",
        };
        page.element("span", class, line).raw("\n");
    }
    page.raw("</pre>\n");
}

fn pretty(arguments: &Map<String, Value>) -> String {
    serde_json::to_string_pretty(arguments).unwrap_or_default()
}
