//! `memory`: notes the agent keeps across sessions.

use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value, json};
use stentor_agent::memory::{MemoryError, MemoryStore, NewNote, Note};
use stentor_agent::tool::{
    Tool, ToolContext, ToolEffect, ToolFuture, ToolOutput, ToolSpec, Touches,
};

use crate::tool_call;
use crate::tool_error::ToolError;

/// The name of the tool.
pub const MEMORY: &str = "memory";

/// Writes, searches, lists and removes notes.
pub struct Memory {
    spec: ToolSpec,
    store: Arc<MemoryStore>,
}

#[derive(Debug, Deserialize)]
struct Arguments {
    action: MemoryAction,
    text: Option<String>,
    #[serde(default)]
    tags: Vec<String>,
    query: Option<String>,
    id: Option<String>,
    limit: Option<f64>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum MemoryAction {
    Remember,
    Search,
    List,
    Forget,
}

const DEFAULT_LIMIT: u64 = 10;
const MAX_LIMIT: u64 = 100;

impl Memory {
    /// A tool over that store.
    pub fn new(store: Arc<MemoryStore>) -> Self {
        Self {
            store,
            spec: ToolSpec {
                name: MEMORY.into(),
                label: MEMORY.into(),
                description: "Notes you keep across sessions. remember: write one short note \
                    worth knowing next time (a decision, a preference, how this project is \
                    built), with tags. search: find notes by words. list: the newest notes. \
                    forget: remove a note by its id when it is wrong. Never note secrets."
                    .into(),
                parameters: json!({
                    "type": "object",
                    "properties": {
                        "action": {
                            "type": "string",
                            "enum": ["remember", "search", "list", "forget"]
                        },
                        "text": { "type": "string", "description": "The note to remember" },
                        "tags": { "type": "array", "items": { "type": "string" } },
                        "query": { "type": "string", "description": "The words to search for" },
                        "id": { "type": "string", "description": "The note to forget" },
                        "limit": { "type": "number", "description": "At most this many notes" }
                    },
                    "required": ["action"]
                })
                .into(),
                effect: ToolEffect::Writes,
            },
        }
    }
}

impl Tool for Memory {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn touches(&self, arguments: &Map<String, Value>, _: &Path) -> Touches {
        Touches {
            paths: match self.effect_of(arguments) {
                ToolEffect::Writes => vec![self.store.path().to_owned()],
                _ => Vec::new(),
            },
            ..Touches::default()
        }
    }

    /// Looking at its notes touches nothing but them; what changes them changes a file.
    fn effect_of(&self, arguments: &Map<String, Value>) -> ToolEffect {
        match arguments.get("action").and_then(Value::as_str) {
            Some("search" | "list") => ToolEffect::Nothing,
            _ => ToolEffect::Writes,
        }
    }

    fn run(self: Arc<Self>, arguments: Map<String, Value>, context: ToolContext) -> ToolFuture {
        tool_call::outcome(async move {
            let arguments: Arguments = tool_call::arguments(MEMORY, arguments)?;
            let folder = context.cwd.to_string_lossy().into_owned();
            let store = Arc::clone(&self.store);
            tool_call::blocking(&context.cancel, move || act(&store, arguments, folder)).await
        })
    }
}

fn act(store: &MemoryStore, arguments: Arguments, folder: String) -> Result<ToolOutput, ToolError> {
    let limit = tool_call::whole_number("limit", arguments.limit, 1)?.unwrap_or(DEFAULT_LIMIT);
    let limit = usize::try_from(limit.min(MAX_LIMIT)).unwrap_or(usize::MAX);
    match arguments.action {
        MemoryAction::Remember => {
            let note = store
                .remember(NewNote {
                    text: needed("text", arguments.text)?,
                    tags: arguments.tags,
                    session: None,
                    folder: Some(folder),
                })
                .map_err(fault)?;
            Ok(with_notes(format!("Remembered as {}.", note.id), &[note]))
        }
        MemoryAction::Search => {
            let query = needed("query", arguments.query)?;
            let found = store.search(&query, limit).map_err(fault)?;
            Ok(with_notes(
                listing(&found, "No note has these words."),
                &found,
            ))
        }
        MemoryAction::List => {
            let recent = store.recent(limit).map_err(fault)?;
            Ok(with_notes(listing(&recent, "There are no notes."), &recent))
        }
        MemoryAction::Forget => {
            let note = store.forget(&needed("id", arguments.id)?).map_err(fault)?;
            Ok(with_notes(
                format!("Forgot {}: {}", note.id, note.text),
                &[],
            ))
        }
    }
}

fn needed(name: &str, value: Option<String>) -> Result<String, ToolError> {
    value
        .filter(|value| !value.trim().is_empty())
        .ok_or_else(|| ToolError::refused(format!("This action needs {name}.")))
}

fn fault(error: MemoryError) -> ToolError {
    ToolError::refused(error.to_string())
}

fn with_notes(text: String, notes: &[Note]) -> ToolOutput {
    ToolOutput::text(text).with_details(json!({ "notes": notes }))
}

fn listing(notes: &[Note], none: &str) -> String {
    if notes.is_empty() {
        return none.to_owned();
    }
    let lines: Vec<String> = notes
        .iter()
        .map(|note| {
            let day = note.time.get(..10).unwrap_or_default();
            let tags: String = note.tags.iter().map(|tag| format!(" #{tag}")).collect();
            format!("{} ({day}){tags} {}", note.id, note.text)
        })
        .collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use stentor_journal::clock::CountingClock;

    use super::*;
    use crate::testing::{Workshop, text};

    fn memory(workshop: &Workshop) -> Memory {
        let clock = Arc::new(CountingClock::starting_at(1_794_728_738_000));
        Memory::new(MemoryStore::new(workshop.path("notes.jsonl"), clock))
    }

    #[tokio::test]
    async fn a_note_is_remembered_found_and_forgotten() {
        let workshop = Workshop::new();
        let note = json!({"action": "remember", "text": "Run `just test`", "tags": ["build"]});
        for (arguments, expected) in [
            (json!({"action": "list"}), "There are no notes."),
            (note, "Remembered as 00000000."),
            (
                json!({"action": "search", "query": "test"}),
                "00000000 (2026-11-15) #build Run `just test`",
            ),
            (
                json!({"action": "search", "query": "deploy"}),
                "No note has these words.",
            ),
            (
                json!({"action": "forget", "id": "00000000"}),
                "Forgot 00000000: Run `just test`",
            ),
            (json!({"action": "list", "limit": 3}), "There are no notes."),
        ] {
            let output = workshop.run(memory(&workshop), arguments).await;
            assert_eq!(text(&output), expected);
            assert!(!output.is_error);
        }
    }

    #[tokio::test]
    async fn what_is_missing_or_wrong_is_said() {
        let workshop = Workshop::new();
        for (arguments, expected) in [
            (json!({"action": "remember"}), "This action needs text."),
            (
                json!({"action": "search", "query": " "}),
                "This action needs query.",
            ),
            (json!({"action": "forget", "id": "x"}), "there is no note x"),
        ] {
            let output = workshop.run(memory(&workshop), arguments).await;
            assert_eq!(text(&output), expected);
            assert!(output.is_error);
        }
    }
}
