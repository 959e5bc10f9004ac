//! From a stored session to its page.

use std::sync::Arc;

use super::{ExportHeader, render_html};
use crate::clock::parse_iso_time;
use crate::message::{BranchSummary, CompactionSummary, CustomMessage, KnownMessage, Message};
use crate::store::{Entry, EntryKind, View};

/// The page of a stored session: all that was said on its active path, compacted or not.
pub fn session_page(view: &View) -> String {
    let messages: Vec<Arc<Message>> = view.entries.iter().filter_map(message_of).collect();
    let model = view
        .entries
        .iter()
        .rev()
        .find_map(|entry| entry.kind.model());
    let header = ExportHeader {
        title: view.name.clone(),
        id: view.header.id.clone(),
        cwd: view.header.cwd.clone(),
        created_ms: parse_iso_time(&view.header.timestamp),
        model: model.map(|(provider, id)| format!("{provider}/{id}")),
    };
    render_html(&header, &messages)
}

/// What a reader sees of an entry.
fn message_of(entry: &Entry) -> Option<Arc<Message>> {
    let timestamp = parse_iso_time(&entry.timestamp).unwrap_or_default();
    let message = match &entry.kind {
        EntryKind::Message { message } => return Some(Arc::clone(message)),
        EntryKind::Compaction(compaction) => KnownMessage::CompactionSummary(CompactionSummary {
            summary: compaction.summary.clone(),
            tokens_before: compaction.tokens_before,
            timestamp,
            rest: Default::default(),
        }),
        EntryKind::BranchSummary {
            from_id, summary, ..
        } => KnownMessage::BranchSummary(BranchSummary {
            summary: summary.clone(),
            from_id: from_id.clone(),
            timestamp,
            rest: Default::default(),
        }),
        EntryKind::CustomMessage {
            custom_type,
            content,
            display,
            details,
            ..
        } => KnownMessage::Custom(CustomMessage {
            custom_type: custom_type.clone(),
            content: content.clone(),
            display: *display,
            details: details.clone(),
            timestamp,
            rest: Default::default(),
        }),
        EntryKind::ModelChange { .. }
        | EntryKind::ThinkingLevelChange { .. }
        | EntryKind::Custom { .. }
        | EntryKind::ContextEdit { .. }
        | EntryKind::Label { .. }
        | EntryKind::SessionInfo { .. }
        | EntryKind::Other(_) => return None,
    };
    Some(Arc::new(message.into()))
}
