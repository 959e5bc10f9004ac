//! From a stored session to its page.

use std::sync::Arc;

use super::{ExportHeader, render_html};
use crate::clock::parse_iso_time;
use crate::message::Message;
use crate::store::{Entry, View};

/// The page of a stored session: all that was said on its active path, compacted or not.
pub fn session_page(view: &View) -> String {
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
    render_html(&header, &messages)
}
