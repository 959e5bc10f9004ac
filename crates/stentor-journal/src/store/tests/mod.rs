//! Sessions on a real disk: written, torn, locked, forked, found again.

mod append;
mod context;
mod crash;
mod forks;
mod images;
mod listing;
mod older_versions;
mod untouched;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Entry, EntryKind, SessionHeader};
use crate::clock::CountingClock;
use crate::message::{ContentBlock, Message};

const HEADER: &str =
    r#"{"type":"session","version":3,"id":"s1","timestamp":"2026-11-15T07:45:38.409Z","cwd":"/w"}"#;

fn clock() -> CountingClock {
    CountingClock::starting_at(1_794_728_738_409)
}

fn header(id: &str) -> SessionHeader {
    SessionHeader::new(id, "2026-11-15T07:45:38.409Z", "/w")
}

fn entry(id: &str, parent: Option<&str>, kind: EntryKind) -> Entry {
    Entry {
        id: id.into(),
        parent_id: parent.map(str::to_owned),
        timestamp: "2026-11-15T07:45:39.000Z".into(),
        kind,
    }
}

fn user(id: &str, parent: Option<&str>, text: &str) -> Entry {
    let message = Message::user(vec![ContentBlock::text(text)], 1);
    entry(
        id,
        parent,
        EntryKind::Message {
            message: Arc::new(message),
        },
    )
}

fn compaction(id: &str, parent: &str, first_kept: &str) -> Entry {
    let kind = EntryKind::Compaction(super::Compaction {
        summary: "so far".into(),
        first_kept_entry_id: first_kept.into(),
        tokens_before: 10,
        ..super::Compaction::default()
    });
    entry(id, Some(parent), kind)
}

fn assistant_line(id: &str, parent: &str, model: &str) -> String {
    format!(
        r#"{{"type":"message","id":"{id}","parentId":"{parent}","timestamp":"t","message":{{"role":"assistant","content":[{{"type":"text","text":"ok"}},{{"type":"toolCall","id":"c1","name":"ls","arguments":{{}}}}],"api":"a","provider":"p","model":"{model}","usage":{{"input":10,"output":5,"cacheRead":0,"cacheWrite":0,"totalTokens":15,"cost":{{"input":1,"output":2,"cacheRead":0,"cacheWrite":0,"total":3}}}},"stopReason":"stop","timestamp":2}}}}"#
    )
}

/// Writes a session file of these lines after a header.
fn session_file(dir: &Path, lines: &[String]) -> PathBuf {
    let mut text = format!("{HEADER}\n");
    for line in lines {
        text.push_str(line);
        text.push('\n');
    }
    let path = dir.join("s1.jsonl");
    fs::write(&path, text).unwrap();
    path
}

fn line(entry: &Entry) -> String {
    String::from_utf8(entry.to_line().unwrap())
        .unwrap()
        .trim_end()
        .to_owned()
}

fn ids(entries: &[Entry]) -> Vec<&str> {
    entries.iter().map(|entry| entry.id.as_str()).collect()
}
