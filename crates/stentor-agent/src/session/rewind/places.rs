//! Where in a session one can go back to.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::Value;
use stentor_checkpoint::CheckpointId;
use stentor_journal::message::{ContentBlock, Message, ToolCall, ToolResultMessage};
use stentor_journal::store::{Entry, EntryKind};

use super::{RewindError, RewindScope, RewindTarget};
use crate::turn::INTERRUPTED;

/// The note that a checkpoint follows: something has changed that can be undone.
pub(in crate::session) const CHECKPOINT: &str = "stentor.checkpoint";

/// The note that somebody went back.
pub(in crate::session) const REWOUND: &str = "stentor.rewound";

/// What of the note is read again.
#[derive(Deserialize)]
struct RewoundNote {
    from: Option<String>,
    scope: String,
    checkpoint: Option<String>,
}

/// A place to go back to.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::session) struct RewindPlace {
    /// What changed from this entry on, in the order of the file, is undone.
    pub since: usize,
    /// Where the conversation goes on then.
    pub leaf: Option<String>,
    /// The message it stops before, and what it says.
    pub message: Option<String>,
    pub text: Option<String>,
    /// What goes back if nobody says otherwise.
    pub scope: RewindScope,
}

/// Finds a place to go back to.
pub(in crate::session) fn find(
    entries: &[Entry],
    target: &RewindTarget,
) -> Result<RewindPlace, RewindError> {
    match target {
        RewindTarget::Message(id) => {
            let unknown = || RewindError::NoMessage(id.clone());
            let since = entries.iter().rposition(|entry| entry.id == *id);
            let since = since.ok_or_else(unknown)?;
            let entry = entries.get(since).ok_or_else(unknown)?;
            Ok(RewindPlace {
                since,
                leaf: entry.parent_id.clone(),
                text: Some(user_text(entry).ok_or_else(unknown)?),
                message: Some(entry.id.clone()),
                scope: RewindScope::Both,
            })
        }
        RewindTarget::LastRewind => {
            let mut newest_first = entries.iter().enumerate().rev();
            let found = newest_first.find_map(|(at, entry)| {
                let note = RewoundNote::deserialize(note_of(entry, REWOUND)?).ok()?;
                Some((at, note))
            });
            let (since, note) = found.ok_or(RewindError::NoRewind)?;
            Ok(RewindPlace {
                since,
                leaf: note.from,
                message: None,
                text: None,
                scope: note.scope.parse().unwrap_or(RewindScope::Both),
            })
        }
    }
}

/// The checkpoints that were recorded from an entry on, of all branches: what they changed is on the
/// disk, wherever the conversation went.
pub(in crate::session) fn checkpoints(entries: &[Entry], since: usize) -> Vec<CheckpointId> {
    entries.iter().skip(since).filter_map(checkpoint).collect()
}

/// The calls from an entry on that ran when their process ended: nothing of what they did is recorded.
pub(in crate::session) fn interrupted(entries: &[Entry], since: usize) -> Vec<&ToolCall> {
    let messages = messages(entries, since);
    let (mut calls, mut interrupted) = (HashMap::new(), Vec::new());
    for message in messages {
        let answer = message.as_assistant().into_iter();
        let made = answer.flat_map(|answer| answer.tool_calls());
        calls.extend(made.map(|call| (call.id.as_str(), call)));
        let result = message.as_tool_result();
        let is_interrupted = |result: &&ToolResultMessage| {
            let mut texts = result.content.iter().filter_map(ContentBlock::as_text);
            result.is_error && texts.any(|text| text == INTERRUPTED)
        };
        let result = result.filter(is_interrupted);
        interrupted.extend(result.and_then(|result| calls.get(result.tool_call_id.as_str())));
    }
    interrupted
}

/// The calls that were made from an entry on.
pub(in crate::session) fn calls(entries: &[Entry], since: usize) -> Vec<&ToolCall> {
    let answers = messages(entries, since).filter_map(Message::as_assistant);
    answers.flat_map(|answer| answer.tool_calls()).collect()
}

fn messages(entries: &[Entry], since: usize) -> impl Iterator<Item = &Message> {
    let entries = entries.iter().skip(since);
    entries.filter_map(|entry| match &entry.kind {
        EntryKind::Message { message } => Some(&**message),
        _ => None,
    })
}

/// The checkpoint that an entry records.
pub(super) fn checkpoint(entry: &Entry) -> Option<CheckpointId> {
    let id = match note_of(entry, CHECKPOINT) {
        Some(data) => data.get("id")?.as_str()?.to_owned(),
        None => {
            let note = RewoundNote::deserialize(note_of(entry, REWOUND)?).ok()?;
            note.checkpoint?
        }
    };
    id.parse().ok()
}

/// What a message of the user says; `None` for other entries.
pub(super) fn user_text(entry: &Entry) -> Option<String> {
    let EntryKind::Message { message } = &entry.kind else {
        return None;
    };
    Some(message.as_user()?.content.text())
}

fn note_of<'a>(entry: &'a Entry, wanted: &str) -> Option<&'a Value> {
    match &entry.kind {
        EntryKind::Custom { custom_type, data } if custom_type == wanted => data.as_ref(),
        _ => None,
    }
}
