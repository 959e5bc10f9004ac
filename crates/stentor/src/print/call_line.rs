//! A tool call and its outcome in a few words.

use serde_json::Value;
use stentor_agent::permission::REJECTED;
use stentor_agent::tool::ToolOutput;
use stentor_journal::message::{ToolCall, text_of};
use stentor_text::visible::visible;

/// Longer lines do not fit a terminal.
const LONGEST: usize = 100;

/// What a call is about, on one line: the command, the path, the pattern. Where nothing is known of its
/// arguments, what the model says it is for.
pub fn call_summary(call: &ToolCall) -> String {
    let text = |name: &str| call.arguments.get(name).and_then(Value::as_str);
    let said = match call.name.as_str() {
        "bash" => text("command").map(str::to_owned),
        "read" | "write" | "edit" | "ls" => text("path").map(str::to_owned),
        "fetch" => text("url").map(str::to_owned),
        "web_search" => text("query").map(str::to_owned),
        "job" => text("action").map(|action| match (text("id"), text("text")) {
            (Some(id), Some(text)) => format!("{action} {id}: {text}"),
            (Some(id), None) => format!("{action} {id}"),
            (None, _) => action.to_owned(),
        }),
        "grep" | "find" => text("pattern").map(|pattern| match text("path") {
            Some(path) => format!("{pattern}  {path}"),
            None => pattern.to_owned(),
        }),
        _ => None,
    };
    let said = said.unwrap_or_else(|| match call.arguments.is_empty() {
        // Other agents may tell nothing but a title of their calls.
        true => call.intent.clone().unwrap_or_default(),
        false => Value::Object(call.arguments.clone()).to_string(),
    });
    one_line(&said)
}

/// Words by which programs say what went wrong.
const TELLING: [&str; 14] = [
    "error",
    "fatal",
    "fail",
    "panic",
    "not found",
    "no such",
    "cannot",
    "can't",
    "denied",
    "unknown",
    "invalid",
    "exception",
    "aborted",
    "timed out",
];

/// How the output of a command that failed ends.
const EXITED: &str = "Command exited with code ";

/// Why a call failed.
#[derive(Debug, PartialEq, Eq)]
pub struct CallFailure {
    /// On one line: the first line that says what went wrong, with the exit status before it if it was
    /// a command.
    pub summary: String,
    /// The last lines of the output, without what the summary has said.
    pub last_lines: Vec<String>,
}

impl CallFailure {
    /// Why a call with this output failed, with at most so many lines of it.
    pub fn of(output: &ToolOutput, most_lines: usize) -> Self {
        let text = text_of(&output.content, "\n");
        if text.starts_with(REJECTED) {
            return Self {
                summary: "not allowed".to_owned(),
                last_lines: Vec::new(),
            };
        }
        let code = text
            .lines()
            .find_map(|line| line.trim().strip_prefix(EXITED));
        // A row of dots or dashes means nothing.
        let means_something =
            |line: &&str| line.contains(char::is_alphanumeric) && !line.starts_with(EXITED);
        let said = || text.lines().map(str::trim).filter(means_something);
        let is_telling = |line: &&str| {
            let line = line.to_lowercase();
            TELLING.iter().any(|word| line.contains(word))
        };
        let first = said().find(is_telling).or_else(|| said().next());
        let summary = one_line(&match (code, first) {
            (Some(code), Some(first)) => format!("exit {code}: {first}"),
            (Some(code), None) => format!("exit {code}"),
            (None, Some(first)) => first.to_owned(),
            (None, None) => "no output".to_owned(),
        });
        let is_new = |line: &&str| {
            let line = line.trim();
            let is_in_summary = first == Some(line) && summary.ends_with(line);
            !(line.is_empty() || line.starts_with(EXITED) || is_in_summary)
        };
        let last = text.lines().rev().filter(is_new).take(most_lines);
        let mut last_lines: Vec<String> = last.map(str::to_owned).collect();
        last_lines.reverse();
        Self {
            summary,
            last_lines,
        }
    }
}

/// Why a call failed, on one line.
pub fn failure_summary(output: &ToolOutput) -> String {
    CallFailure::of(output, 0).summary
}

/// A duration as a person says it.
pub fn seconds(ms: u64) -> String {
    match ms {
        0..100 => format!("{ms} ms"),
        100..60_000 => format!("{}.{} s", ms / 1000, ms % 1000 / 100),
        _ => format!("{} min {} s", ms / 60_000, ms % 60_000 / 1000),
    }
}

/// The first line, with what would not be seen made visible, cut where it gets too long.
pub fn one_line(text: &str) -> String {
    let first = text.trim().lines().next().unwrap_or_default();
    let more = text.trim().lines().nth(1).is_some();
    let clean = visible(first).replace('\t', " ");
    match clean.char_indices().nth(LONGEST) {
        Some((cut, _)) => format!("{}...", &clean[..cut]),
        None if more => format!("{clean} ..."),
        None => clean,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn summary(name: &str, arguments: Value) -> String {
        let Value::Object(arguments) = arguments else {
            panic!("arguments are an object")
        };
        call_summary(&ToolCall {
            id: "1".into(),
            name: name.into(),
            arguments,
            thought_signature: None,
            intent: None,
        })
    }

    #[test]
    fn a_call_is_summarised_by_what_it_is_about() {
        for (name, arguments, line) in [
            ("bash", json!({"command": "ls -la"}), "ls -la"),
            ("bash", json!({"command": "cat <<E\nx\nE"}), "cat <<E ..."),
            (
                "bash",
                json!({"command": "printf '\u{1b}[2J'"}),
                "printf '\\u{1b}[2J'",
            ),
            ("bash", json!({"command": 3}), r#"{"command":3}"#),
            ("read", json!({"path": "a.rs", "limit": 3}), "a.rs"),
            (
                "grep",
                json!({"pattern": "TODO", "path": "src"}),
                "TODO  src",
            ),
            ("find", json!({"pattern": "*.rs"}), "*.rs"),
            ("ls", json!({}), ""),
            ("deploy", json!({"to": "prod"}), r#"{"to":"prod"}"#),
        ] {
            assert_eq!(summary(name, arguments), line);
        }
        let long = summary("bash", json!({"command": "é".repeat(300)}));
        assert_eq!(long, format!("{}...", "é".repeat(100)));
    }

    #[test]
    fn a_call_without_arguments_is_summarised_by_its_title() {
        let line = |arguments: &Value| {
            call_summary(&ToolCall {
                id: "1".into(),
                name: "read".into(),
                arguments: arguments.as_object().unwrap().clone(),
                thought_signature: None,
                intent: Some("Reading a.rs\nand more".into()),
            })
        };
        assert_eq!(line(&json!({})), "Reading a.rs ...");
        assert_eq!(line(&json!({ "path": "b.rs" })), "b.rs");
    }

    #[test]
    fn a_failure_is_the_first_line_that_says_what_went_wrong() {
        for (text, line) in [
            ("boom\n\nCommand exited with code 2", "exit 2: boom"),
            ("Command exited with code 2", "exit 2"),
            (
                "Compiling x\nerror[E0308]: mismatched types\n  --> x.rs\nerror: could not compile\n\nCommand exited with code 101",
                "exit 101: error[E0308]: mismatched types",
            ),
            ("first\nsecond", "first"),
            ("line 1\n\nCommand aborted", "Command aborted"),
            ("No such file: x\n", "No such file: x"),
            (
                "..\n-----\nRan 2 tests\n\nCommand exited with code 1",
                "exit 1: Ran 2 tests",
            ),
            ("", "no output"),
            (
                "The user rejected this call of edit. Do not repeat it; ask or continue without it.",
                "not allowed",
            ),
        ] {
            assert_eq!(failure_summary(&ToolOutput::error(text)), line);
        }
    }

    #[test]
    fn what_the_summary_of_a_failure_says_is_not_among_the_last_lines() {
        let long = "cannot ".repeat(30);
        for (text, lines) in [
            (
                "a\nb\nerror: no\n\nCommand exited with code 2",
                &["a", "b"][..],
            ),
            ("No such file: x\n", &[]),
            (&long, &[&*long]),
        ] {
            assert_eq!(
                CallFailure::of(&ToolOutput::error(text), 5).last_lines,
                lines
            );
        }
    }

    #[test]
    fn durations_have_the_unit_a_person_would_use() {
        for (ms, text) in [
            (0, "0 ms"),
            (99, "99 ms"),
            (100, "0.1 s"),
            (1250, "1.2 s"),
            (59_999, "59.9 s"),
            (61_000, "1 min 1 s"),
        ] {
            assert_eq!(seconds(ms), text);
        }
    }
}
