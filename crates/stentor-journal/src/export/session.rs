//! From a stored session to its page, its Markdown and its JSON.

use std::sync::Arc;

use serde_json::Value;

use super::message::ExportedConversation;
use super::{ExportHeader, render_html, title, transcript};
use crate::clock::parse_iso_time;
use crate::message::Message;
use crate::store::{Entry, SessionView};

/// The page of a stored session: all that was said on its active path, compacted or not.
pub fn session_page(view: &SessionView) -> String {
    let (header, messages) = parts(view);
    render_html(&header, &messages)
}

/// The same as Markdown.
pub fn session_markdown(view: &SessionView) -> String {
    let (header, messages) = parts(view);
    let prompts = ExportedConversation::new(&messages).prompts();
    transcript::markdown(&header, &title(&header, &prompts), &messages)
}

/// The same as one JSON document.
pub fn session_json(view: &SessionView) -> Value {
    let (header, messages) = parts(view);
    transcript::json(&header, &messages)
}

fn parts(view: &SessionView) -> (ExportHeader, Vec<Arc<Message>>) {
    let messages: Vec<Arc<Message>> = view.entries.iter().filter_map(Entry::to_message).collect();
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
    (header, messages)
}
