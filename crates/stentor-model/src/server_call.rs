//! Calls of tools that a provider runs itself, while it answers: how they are stored, so that what
//! the provider wants to have back goes back as it came.
//!
//! In a session they are calls like any other. What only their provider understands is in the
//! signature of the call and in the details of its result.

use serde_json::{Map, Value, json};
use stentor_agent::tool::ToolOutput;
use stentor_journal::message::ToolResultMessage;

/// Begins the signature of such a call.
const CALL_PREFIX: &str = r#"{"serverCall":"#;

/// Where the result has what goes back.
const RESULT_KEY: &str = "serverResult";

/// The most that is shown of a result.
const SHOWN_BYTES: usize = 16 << 10;
const SHOWN_PAGES: usize = 30;

/// The signature of a call, with what goes back of it; null for nothing.
pub(crate) fn call_signature(item: &Value) -> String {
    json!({ "serverCall": item }).to_string()
}

/// What goes back of a call with this signature. `None` for a call that the session runs.
pub(crate) fn call_item(signature: Option<&str>) -> Option<Value> {
    let signature = signature.filter(|signature| signature.starts_with(CALL_PREFIX))?;
    let mut stored: Value = serde_json::from_str(signature).ok()?;
    stored.get_mut("serverCall").map(Value::take)
}

/// What goes back of a result.
pub(crate) fn result_item(result: &ToolResultMessage) -> Option<&Value> {
    result.details.as_ref()?.get(RESULT_KEY)
}

/// A result as people and other models read it, with what goes back.
pub(crate) fn output(text: &str, is_error: bool, item: Option<Value>) -> ToolOutput {
    let end = text.floor_char_boundary(SHOWN_BYTES);
    let shown = match text.get(..end) {
        Some(cut) if end < text.len() => format!("{cut}\n[The rest is not shown.]"),
        _ => text.to_owned(),
    };
    let details: Map<String, Value> = item
        .map(|item| (RESULT_KEY.to_owned(), item))
        .into_iter()
        .collect();
    ToolOutput {
        details: Some(Value::Object(details)),
        is_error,
        ..ToolOutput::text(shown)
    }
}

/// A list of pages by title and address, as a search shows what it has found.
pub(crate) fn page_list<'a>(pages: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let lines = pages.take(SHOWN_PAGES).enumerate();
    let lines = lines.map(|(n, (title, url))| match title.trim() {
        "" => format!("{}. {}", n + 1, one_line(url)),
        title => format!("{}. {}\n   {}", n + 1, one_line(title), one_line(url)),
    });
    match lines.collect::<Vec<_>>().join("\n") {
        list if list.is_empty() => "Nothing was found.".to_owned(),
        list => list,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_back_is_what_came() {
        let item = json!({"type": "web_search_call", "id": "ws", "n": 1.0});
        assert_eq!(call_item(Some(&call_signature(&item))), Some(item));
        assert_eq!(call_item(Some("an opaque signature")), None);
        assert_eq!(call_item(None), None);
    }

    #[test]
    fn pages_are_listed_by_title_and_address() {
        let pages = [
            ("One\n1", "https://one.example/"),
            ("", "https://two.example/"),
        ];
        assert_eq!(
            page_list(pages.into_iter()),
            "1. One 1\n   https://one.example/\n2. https://two.example/"
        );
        assert_eq!(page_list(std::iter::empty()), "Nothing was found.");
    }
}
