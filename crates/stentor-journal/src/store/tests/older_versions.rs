use std::fs;

use super::*;
use crate::message::KnownMessage;
use crate::store::{fork, open};

/// Version 1: no ids, and the fifth line (place 4) keeps from the line at place 2 on.
pub(super) const VERSION_1: &str = r#"{"type":"session","id":"old","timestamp":"2025-11-01T00:00:00.000Z","cwd":"/w","provider":"p","branchedFrom":"/x.jsonl"}
{"type":"message","timestamp":"t","message":{"role":"user","content":"one","timestamp":1}}
not json
{"type":"message","timestamp":"t","message":{"role":"user","content":"two","timestamp":2}}
{"type":"message","timestamp":"t","message":{"role":"hookMessage","customType":"x","content":"hook","display":true,"timestamp":3}}
{"type":"compaction","timestamp":"t","summary":"so far","firstKeptEntryIndex":2,"tokensBefore":9}
{"type":"message","timestamp":"t","message":{"role":"user","content":"three","timestamp":4}}
"#;

pub(super) const VERSION_2: &str = r#"{"type":"session","version":2,"id":"old","timestamp":"2025-12-01T00:00:00.000Z","cwd":"/w"}
{"type":"message","id":"aa","parentId":null,"timestamp":"t","message":{"role":"hookMessage","customType":"x","content":"hook","display":true,"timestamp":3}}
{"type":"message","id":"bb","parentId":"aa","timestamp":"t","message":{"role":"user","content":"two","timestamp":2},"extra":1}
"#;

#[test]
fn version_1_becomes_a_chain_and_is_rewritten() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("old.jsonl");
    fs::write(&path, VERSION_1).unwrap();
    let opened = open(&path).unwrap();
    let chain = ["00000002", "00000003", "00000004", "00000005"];
    assert_eq!(ids(&opened.context), chain);
    let parents: Vec<_> = opened.context.iter().map(|e| e.parent_id.clone()).collect();
    assert_eq!(parents[1].as_deref(), Some("00000002"));
    assert_eq!(opened.journal.read_all().unwrap().len(), 5);
    let EntryKind::Message { message } = &opened.context[1].kind else {
        panic!("a message")
    };
    assert!(matches!(
        message.as_ref(),
        Message::Known(KnownMessage::Custom(_))
    ));
    assert_eq!(opened.journal.header().version, 3);
    let parent = opened.journal.header().parent_session.as_deref();
    assert_eq!(parent, Some("/x.jsonl"));
    drop(opened);
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains("\nnot json\n"), "nothing is destroyed");
    assert!(!text.contains("hookMessage") && !text.contains("firstKeptEntryIndex"));
    assert!(text.starts_with(r#"{"type":"session","id":"old""#));
    assert_eq!(ids(&open(&path).unwrap().context), chain);
    assert_eq!(fs::read_to_string(&path).unwrap(), text, "rewritten once");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn version_2_only_loses_its_old_role_name() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("old.jsonl");
    fs::write(&path, VERSION_2).unwrap();
    assert_eq!(ids(&open(&path).unwrap().context), ["aa", "bb"]);
    let expected = VERSION_2
        .replace("\"version\":2", "\"version\":3")
        .replace("hookMessage", "custom");
    assert_eq!(fs::read_to_string(&path).unwrap(), expected);
}

#[test]
fn an_older_file_can_be_forked_without_being_changed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("old.jsonl");
    fs::write(&path, VERSION_1).unwrap();
    let forked = fork(&path, Some("00000002"), dir.path(), header("new"), &clock()).unwrap();
    assert_eq!(ids(&forked.context), ["00000001", "00000002"]);
    assert_eq!(fs::read_to_string(&path).unwrap(), VERSION_1);
}
