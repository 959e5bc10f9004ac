use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::*;
use crate::store::{Journal, StoreError, create, create_at, memory, open};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn a_new_session_is_on_disk_at_once_and_private() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("sessions/--w--");
    let journal = create(&dir, header("s1"), &clock()).unwrap();
    let path = journal.path().unwrap();
    assert_eq!(
        path.file_name().unwrap(),
        "2026-11-15T07-45-38-409Z_s1.jsonl"
    );
    assert_eq!(fs::read_to_string(path).unwrap(), format!("{HEADER}\n"));
    assert_eq!((mode(path), mode(&dir)), (0o600, 0o700));
}

#[test]
fn a_header_without_a_time_gets_the_clocks() {
    let dir = tempfile::tempdir().unwrap();
    let journal = create(dir.path(), SessionHeader::new("s1", "", "/w"), &clock()).unwrap();
    assert_eq!(journal.header().timestamp, "2026-11-15T07:45:38.409Z");
}

#[test]
fn an_id_with_a_path_in_it_makes_no_file() {
    let dir = tempfile::tempdir().unwrap();
    let inner = dir.path().join("in");
    for id in ["../evil", "a/b", "..", ""] {
        let made = create(&inner, header(id), &clock());
        assert!(matches!(made, Err(StoreError::BadId { .. })), "{id:?}");
    }
    let mut tricky = header("ok");
    tricky.timestamp = "../../2026".into();
    let journal = create(&inner, tricky, &clock()).unwrap();
    assert!(
        journal
            .path()
            .unwrap()
            .starts_with(fs::canonicalize(&inner).unwrap())
    );
}

#[test]
fn appended_entries_come_back_in_order_in_files_and_in_memory() {
    let dir = tempfile::tempdir().unwrap();
    let journals: [Box<dyn Journal>; 2] = [
        create(dir.path(), header("s1"), &clock()).unwrap(),
        memory(header("s1")),
    ];
    let entries = vec![
        user("a", None, "one"),
        user("b", Some("a"), ""),
        Entry::from_line(assistant_line("c", "b", "m").as_bytes()).unwrap(),
        user("d", Some("a"), "two"),
    ];
    for mut journal in journals {
        for entry in &entries {
            journal.append(entry).unwrap();
        }
        assert_eq!(journal.read_all().unwrap(), entries);
        assert_eq!(
            journal.user_messages().unwrap(),
            [("a".into(), "one".into()), ("d".into(), "two".into())]
        );
        assert_eq!(ids(&journal.path_to("c").unwrap()), ["a", "b", "c"]);
        assert_eq!(ids(&journal.path_to("d").unwrap()), ["a", "d"]);
        let missing = journal.path_to("zz");
        assert!(matches!(missing, Err(StoreError::NoEntry { id }) if id == "zz"));
        let totals = journal.totals().unwrap();
        assert_eq!(
            (
                totals.messages,
                totals.user_messages,
                totals.assistant_messages
            ),
            (4, 3, 1)
        );
        assert_eq!((totals.tool_calls, totals.tool_results), (1, 0));
        assert_eq!(totals.usage.total_tokens, 15);
        assert!((totals.usage.cost.total - 3.0).abs() < 1e-12);
    }
}

#[test]
fn the_newest_answer_with_a_response_id_is_on_the_path_or_on_another_branch() {
    let dir = tempfile::tempdir().unwrap();
    let journals: [Box<dyn Journal>; 2] = [
        create(dir.path(), header("s1"), &clock()).unwrap(),
        memory(header("s1")),
    ];
    let answer = |id: &str, parent: &str, response_id: &str| {
        let line = assistant_line(id, parent, "m").replacen(
            r#""role":"assistant""#,
            &format!(r#""role":"assistant","responseId":"{response_id}""#),
            1,
        );
        Entry::from_line(line.as_bytes()).unwrap()
    };
    let entries = [
        user("a", None, "one"),
        answer("b", "a", "x"),
        user("c", Some("b"), "two"),
        answer("d", "c", "x"),
        user("e", Some("b"), "instead of two"),
        answer("f", "e", "y"),
    ];
    for mut journal in journals {
        for entry in &entries {
            journal.append(entry).unwrap();
        }
        let reader = journal.reader().unwrap();
        let is_on_path =
            |leaf, response_id| reader.newest_answer_is_on_path(leaf, response_id).unwrap();
        assert!(is_on_path("d", "x"));
        // It gave another answer after the one on this path.
        assert!(!is_on_path("b", "x"));
        assert!(!is_on_path("f", "x"));
        assert!(is_on_path("f", "y"));
        assert!(!is_on_path("d", "y"));
        assert!(!is_on_path("f", "nobody's"));
    }
}

#[test]
fn a_session_goes_on_where_it_was_left() {
    let dir = tempfile::tempdir().unwrap();
    let mut journal = create(dir.path(), header("s1"), &clock()).unwrap();
    journal.append(&user("a", None, "one")).unwrap();
    let path = journal.path().unwrap().to_path_buf();
    drop(journal);
    let mut opened = open(&path).unwrap();
    assert_eq!(opened.journal.header(), &header("s1"));
    assert_eq!(opened.leaf.as_deref(), Some("a"));
    opened.journal.append(&user("b", Some("a"), "two")).unwrap();
    drop(opened);
    let opened = open(&path).unwrap();
    assert_eq!(ids(&opened.context), ["a", "b"]);
    assert_eq!(opened.warnings, Vec::<String>::new());
}

#[test]
fn a_session_open_for_writing_cannot_be_opened_again_until_it_is_closed() {
    let dir = tempfile::tempdir().unwrap();
    let journal = create(dir.path(), header("s1"), &clock()).unwrap();
    let path = journal.path().unwrap().to_path_buf();
    let link = dir.path().join("link.jsonl");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    for way in [&path, &link] {
        let error = open(way).unwrap_err();
        assert!(
            matches!(&error, StoreError::Locked { holder, .. } if holder.pid == Some(std::process::id())),
            "{error}"
        );
    }
    drop(journal);
    open(&link).unwrap();
}

#[test]
fn appending_to_a_deleted_file_is_an_error_not_a_loss() {
    let dir = tempfile::tempdir().unwrap();
    let mut journal = create(dir.path(), header("s1"), &clock()).unwrap();
    fs::remove_file(journal.path().unwrap()).unwrap();
    let appended = journal.append(&user("a", None, "one"));
    assert!(matches!(appended, Err(StoreError::Vanished { .. })));
}

#[test]
fn a_missing_or_empty_file_may_be_started_afresh_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    for (name, content) in [
        ("missing", None),
        ("empty", Some("")),
        ("nul", Some("\0\0")),
    ] {
        let path = dir.path().join(format!("{name}.jsonl"));
        if let Some(content) = content {
            fs::write(&path, content).unwrap();
            assert!(
                matches!(open(&path), Err(StoreError::Empty { .. })),
                "{name}"
            );
        }
        drop(create_at(&path, header("s1"), &clock()).unwrap());
        assert_eq!(fs::read_to_string(&path).unwrap(), format!("{HEADER}\n"));
        let again = create_at(&path, header("s1"), &clock());
        assert!(matches!(again, Err(StoreError::Exists { .. })), "{name}");
    }
    let missing = open(&dir.path().join("none.jsonl"));
    assert!(matches!(missing, Err(StoreError::NotFound { .. })));
}

#[test]
fn a_foreign_file_is_refused_by_name_and_left_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("notes.jsonl");
    for content in [
        "dear diary\n".as_bytes(),
        b"{\"type\":\"message\"}\n",
        b"{\"type\":\"session\",\"version\":3}\n",
        b"{\"type\":\"title\",\"title\":\"t\"}\n",
        b"\xff\xfe\x00",
        b"[1,2]",
        b"{\"type\":\"session\",\"id\":\"s1\",\"version\":4}\n",
    ] {
        fs::write(&path, content).unwrap();
        let error = open(&path).unwrap_err();
        assert!(
            matches!(
                error,
                StoreError::NotASession { .. } | StoreError::TooNew { .. }
            ),
            "{error}"
        );
        assert!(error.to_string().contains("notes.jsonl"), "{error}");
        assert_eq!(fs::read(&path).unwrap(), content);
    }
    let error = open(dir.path()).unwrap_err();
    assert!(matches!(error, StoreError::NotASession { .. }), "{error}");
}

#[tokio::test]
async fn sync_succeeds_while_the_session_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let mut journal = create(dir.path(), header("s1"), &clock()).unwrap();
    journal.append(&user("a", None, "one")).unwrap();
    let syncing = journal.sync();
    journal.append(&user("b", Some("a"), "two")).unwrap();
    syncing.await.unwrap();
    journal.sync().await.unwrap();
    memory(header("s2")).sync().await.unwrap();
}
