//! A result that is a list of lines, and what is said when it is not the whole list.

use serde_json::{Map, Value, json};
use stentor_agent::tool::ToolOutput;

use crate::truncation::{self, MAX_BYTES, NO_LINE_LIMIT, size};

/// Lines to show, at most 50 KiB of them, with notes in the words and details clients know.
pub(crate) struct ResultListing {
    lines: Vec<String>,
    before: Vec<String>,
    after: Vec<String>,
    details: Map<String, Value>,
}

impl ResultListing {
    /// Shows `lines`.
    pub(crate) fn new(lines: Vec<String>) -> Self {
        Self {
            lines,
            before: Vec::new(),
            after: Vec::new(),
            details: Map::new(),
        }
    }

    /// Adds a note that comes before the one on the size, with its entry in the details.
    pub(crate) fn note(&mut self, note: String, name: &str, value: Value) {
        self.before.push(note);
        self.details.insert(name.to_owned(), value);
    }

    /// Adds a note that comes after the one on the size, with its entry in the details.
    pub(crate) fn last_note(&mut self, note: String, name: &str, value: Value) {
        self.after.push(note);
        self.details.insert(name.to_owned(), value);
    }

    /// The result.
    pub(crate) fn output(mut self) -> ToolOutput {
        let cut = truncation::head(&self.lines.join("\n"), NO_LINE_LIMIT);
        let mut text = cut.content.clone();
        let mut notes = self.before;
        if cut.truncated {
            notes.push(format!("{} limit reached", size(MAX_BYTES)));
            self.details.insert("truncation".into(), json!(cut));
        }
        notes.append(&mut self.after);
        if !notes.is_empty() {
            text.push_str(&format!("\n\n[{}]", notes.join(". ")));
        }
        let output = ToolOutput::text(text);
        match self.details.is_empty() {
            true => output,
            false => output.with_details(Value::Object(self.details)),
        }
    }
}
