use std::cell::Cell;
use std::fs;
use std::io;

use proptest::prelude::*;

use super::*;
use crate::store::bytes::Bytes;
use crate::store::naive::{PlainReading, read_plainly};
use crate::store::open;
use crate::store::reader::{Restored, read_bytes};
use crate::store::restore::restore;

fn plain(restored: Restored) -> PlainReading {
    PlainReading {
        context: restored.context,
        leaf: restored.leaf,
        name: restored.name,
        model: restored.model,
        thinking_level: restored.thinking_level,
    }
}

#[test]
fn the_context_is_the_path_to_the_last_entry_without_its_siblings() {
    let dir = tempfile::tempdir().unwrap();
    let entries = [
        user("a", None, "root"),
        user("b", Some("a"), "left"),
        user("c", Some("b"), "left again"),
        user("d", Some("a"), "right"),
        user("e", Some("c"), "left once more"),
        user("f", Some("d"), "right again"),
    ];
    let path = session_file(dir.path(), &entries.iter().map(line).collect::<Vec<_>>());
    assert_eq!(ids(&open(&path).unwrap().context), ["a", "d", "f"]);
}

#[test]
fn the_context_begins_where_the_last_compaction_on_the_path_says() {
    for (name, entries, expected) in [
        (
            "some kept",
            vec![
                user("a", None, ""),
                user("b", Some("a"), ""),
                user("c", Some("b"), ""),
                compaction("k", "c", "b"),
                user("d", Some("k"), ""),
            ],
            vec!["b", "c", "k", "d"],
        ),
        (
            "nothing kept, said by an empty id",
            vec![
                user("a", None, ""),
                compaction("k", "a", ""),
                user("b", Some("k"), ""),
            ],
            vec!["k", "b"],
        ),
        (
            "nothing kept, said by its own id",
            vec![user("a", None, ""), compaction("k", "a", "k")],
            vec!["k"],
        ),
        (
            "everything kept",
            vec![user("a", None, ""), compaction("k", "a", "a")],
            vec!["a", "k"],
        ),
        (
            "twice, the older one among the kept",
            vec![
                user("a", None, ""),
                user("b", Some("a"), ""),
                compaction("k", "b", "b"),
                user("c", Some("k"), ""),
                compaction("l", "c", "k"),
                user("d", Some("l"), ""),
            ],
            vec!["k", "c", "l", "d"],
        ),
        (
            "a compaction on another branch does not count",
            vec![
                user("a", None, ""),
                user("b", Some("a"), ""),
                compaction("k", "b", "b"),
                user("c", Some("b"), ""),
            ],
            vec!["a", "b", "c"],
        ),
        (
            "the first kept one is on another branch",
            vec![
                user("a", None, ""),
                user("x", Some("a"), ""),
                user("b", Some("a"), ""),
                compaction("k", "b", "x"),
            ],
            vec!["k"],
        ),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let path = session_file(dir.path(), &entries.iter().map(line).collect::<Vec<_>>());
        let opened = open(&path).unwrap();
        assert_eq!(ids(&opened.context), expected, "{name}");
        let warned = name.contains("another branch") && name.contains("first kept");
        assert_eq!(opened.warnings.len(), usize::from(warned), "{name}");
    }
}

#[test]
fn settings_are_the_newest_on_the_path_and_the_name_the_newest_in_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = session_file(
        dir.path(),
        &[
            r#"{"type":"model_change","id":"1","parentId":null,"timestamp":"t","provider":"p1","modelId":"m1"}"#.into(),
            r#"{"type":"thinking_level_change","id":"2","parentId":"1","timestamp":"t","thinkingLevel":"high"}"#.into(),
            assistant_line("3", "2", "m2"),
            r#"{"type":"session_info","id":"4","parentId":"3","timestamp":"t","name":"old"}"#.into(),
            // A branch that was left: its model does not count, its name does.
            r#"{"type":"model_change","id":"5","parentId":"4","timestamp":"t","model":"p3/m3/x"}"#.into(),
            r#"{"type":"title_change","id":"6","parentId":"5","timestamp":"t","title":"new"}"#.into(),
            r#"{"type":"model_change","id":"8","parentId":"4","timestamp":"t","model":"q/small","role":"smol"}"#.into(),
            line(&user("7", Some("8"), "on")),
        ],
    );
    let opened = open(&path).unwrap();
    assert_eq!(opened.model, Some(("p".into(), "m2".into())));
    assert_eq!(opened.thinking_level.as_deref(), Some("high"));
    assert_eq!(opened.name.as_deref(), Some("new"));
}

#[test]
fn omps_title_line_and_header_title_name_the_session_until_an_entry_does() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.jsonl");
    let slot = format!(
        r#"{{"type":"title","v":1,"title":"slot","pad":"{}"}}"#,
        " ".repeat(180)
    );
    let titled = HEADER.replace("\"cwd\"", "\"title\":\"head\",\"cwd\"");
    let named = r#"{"type":"session_info","id":"1","parentId":null,"timestamp":"t","name":"info"}"#;
    let cleared = r#"{"type":"session_info","id":"2","parentId":"1","timestamp":"t","name":""}"#;
    for (text, name) in [
        (format!("{slot}\n{titled}\n"), Some("slot")),
        (format!("{titled}\n"), Some("head")),
        (format!("{slot}\n{titled}\n{named}\n"), Some("info")),
        (format!("{slot}\n{titled}\n{named}\n{cleared}\n"), None),
        (format!("{HEADER}\n"), None),
    ] {
        fs::write(&path, &text).unwrap();
        let opened = open(&path).unwrap();
        assert_eq!(opened.name.as_deref(), name);
        assert_eq!(opened.warnings, Vec::<String>::new());
        drop(opened);
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }
}

/// Counts what is read of a file that exists only as a rule.
struct Counted<'a> {
    bytes: &'a [u8],
    read: Cell<usize>,
}

impl Bytes for Counted<'_> {
    fn size(&self) -> io::Result<u64> {
        Ok(self.bytes.len() as u64)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let count = self.bytes.read_at(buffer, offset)?;
        self.read.set(self.read.get() + count);
        Ok(count)
    }
}

#[test]
fn a_long_session_is_read_only_as_far_as_its_context_and_a_bounded_bit_more() {
    let mut text = format!("{HEADER}\n");
    text.push_str(r#"{"type":"model_change","id":"m","parentId":null,"timestamp":"t","provider":"p","modelId":"first"}"#);
    text.push('\n');
    let filler = "x".repeat(10_000);
    let mut last = "m".to_owned();
    for n in 0..2_000 {
        let id = format!("{n:08x}");
        text.push_str(&line(&user(&id, Some(&last), &filler)));
        text.push('\n');
        last = id;
    }
    let kept = format!("{:08x}", 1_998);
    for entry in [compaction("k", &last, &kept), user("z", Some("k"), "on")] {
        text.push_str(&line(&entry));
        text.push('\n');
    }
    let counted = Counted {
        bytes: text.as_bytes(),
        read: Cell::new(0),
    };
    let restored = restore(&counted, text.len() as u64).unwrap();
    assert_eq!(ids(&restored.context), [kept.as_str(), &last, "k", "z"]);
    assert_eq!(restored.model, Some(("p".into(), "first".into())));
    let read = counted.read.get();
    assert!(text.len() > 20_000_000);
    assert!(read < 1_400_000, "{read} bytes were read");
}

/// A line of a random session; ids come from a small set, so that they collide.
fn any_line() -> impl Strategy<Value = Vec<u8>> {
    let id = "[a-d][0-3]";
    let parent = prop_oneof![
        8 => id.prop_map(|id| format!("\"{id}\"")),
        1 => Just("null".to_owned()),
    ];
    let body = prop_oneof![
        6 => "[a-zé\"\\\\]{0,8}".prop_map(|text| {
            let text = serde_json::to_string(&text).unwrap();
            format!(r#""type":"message","message":{{"role":"user","content":{text},"timestamp":1}}"#)
        }),
        2 => "[a-c]".prop_map(|model| format!(r#""type":"message","message":{{"role":"assistant","content":[],"api":"a","provider":"p","model":"{model}","stopReason":"stop","timestamp":2}}"#)),
        2 => id.prop_map(|kept| format!(r#""type":"compaction","summary":"s","firstKeptEntryId":"{kept}","tokensBefore":1"#)),
        1 => Just(r#""type":"compaction","summary":"s""#.to_owned()),
        1 => "[a-c]".prop_map(|model| format!(r#""type":"model_change","provider":"q","modelId":"{model}""#)),
        1 => prop_oneof!["null", "\"low\"", "\"high\"", "7"].prop_map(|level| format!(r#""type":"thinking_level_change","thinkingLevel":{level}"#)),
        1 => "[a-c]?".prop_map(|name| format!(r#""type":"session_info","name":"{name}""#)),
        1 => "[a-c]".prop_map(|name| format!(r#""type":"title_change","title":"{name}""#)),
        1 => Just(r#""type":"wormhole","depth":1e999"#.to_owned()),
    ];
    let entry = (id, parent, body)
        .prop_map(|(id, parent, body)| format!(r#"{{{body},"id":"{id}","parentId":{parent}}}"#));
    prop_oneof![
        20 => entry.prop_map(String::into_bytes),
        1 => prop::collection::vec(any::<u8>(), 0..20),
        1 => Just(b"\0\0".to_vec()),
        1 => Just(HEADER.as_bytes().to_vec()),
    ]
}

proptest! {
    #[test]
    fn reading_backwards_finds_what_reading_everything_finds(
        lines in prop::collection::vec(any_line(), 0..40),
        cut in 0_usize..30,
        nuls in 0_usize..3,
    ) {
        let mut bytes = format!("{HEADER}\n").into_bytes();
        let head = bytes.len();
        for line in lines {
            bytes.extend(line);
            bytes.push(b'\n');
        }
        bytes.truncate(bytes.len().saturating_sub(cut).max(head));
        bytes.extend(std::iter::repeat_n(0, nuls));
        let (_, restored) = read_bytes(&bytes).unwrap();
        prop_assert_eq!(plain(restored), read_plainly(&bytes));
    }

    #[test]
    fn no_bytes_at_all_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = read_bytes(&bytes);
        let mut session = format!("{HEADER}\n").into_bytes();
        session.extend(bytes);
        let (_, restored) = read_bytes(&session).unwrap();
        prop_assert_eq!(plain(restored), read_plainly(&session));
    }
}
