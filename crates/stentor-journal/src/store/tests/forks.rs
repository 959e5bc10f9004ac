use std::fs;

use super::*;
use crate::store::{StoreError, create, fork, fork_in_memory, memory, open};

fn branched(dir: &Path) -> PathBuf {
    session_file(
        dir,
        &[
            line(&user("a", None, "root")),
            // Fields nobody here knows must survive.
            r#"{"type":"message","id":"b","parentId":"a","timestamp":"t","message":{"role":"user","content":"left","timestamp":1,"mood":"odd"},"origin":7}"#.into(),
            line(&user("c", Some("a"), "right")),
            line(&user("d", Some("b"), "left again")),
        ],
    )
}

#[test]
fn a_fork_has_the_path_its_ids_and_its_lines_as_they_were() {
    let dir = tempfile::tempdir().unwrap();
    let source = branched(dir.path());
    let lines: Vec<String> = fs::read_to_string(&source)
        .unwrap()
        .lines()
        .map(str::to_owned)
        .collect();
    for (n, (up_to, expected)) in [
        (None, vec![1, 2, 4]),
        (Some("c"), vec![1, 3]),
        (Some("a"), vec![1]),
    ]
    .into_iter()
    .enumerate()
    {
        let target = dir.path().join(format!("other-{n}"));
        let opened = fork(&source, up_to, &target, header("s2"), &clock()).unwrap();
        let path = opened.journal.path().unwrap();
        assert!(path.starts_with(fs::canonicalize(&target).unwrap()));
        let text = fs::read_to_string(path).unwrap();
        let copied: Vec<&str> = text.lines().collect();
        let parent = fs::canonicalize(&source).unwrap();
        assert_eq!(
            opened.journal.header().parent_session.as_deref(),
            parent.to_str()
        );
        assert!(copied[0].contains("\"parentSession\""));
        let expected: Vec<&str> = expected.iter().map(|at| lines[*at].as_str()).collect();
        assert_eq!(copied[1..], expected);
        assert_eq!(opened.leaf.as_deref(), up_to.or(Some("d")));
    }
}

#[test]
fn a_session_can_be_forked_while_it_is_open() {
    let dir = tempfile::tempdir().unwrap();
    let source = branched(dir.path());
    let mut original = open(&source).unwrap();
    let mut forked = fork(&source, Some("b"), dir.path(), header("s2"), &clock()).unwrap();
    forked.journal.append(&user("x", Some("b"), "new")).unwrap();
    original
        .journal
        .append(&user("e", Some("d"), "on"))
        .unwrap();
    assert_eq!(ids(&forked.journal.read_all().unwrap()), ["a", "b", "x"]);
    assert_eq!(original.journal.read_all().unwrap().len(), 5);
}

#[test]
fn a_fork_at_an_unknown_entry_leaves_no_file() {
    let dir = tempfile::tempdir().unwrap();
    let source = branched(dir.path());
    let target = dir.path().join("other");
    let forked = fork(&source, Some("nope"), &target, header("s2"), &clock());
    assert!(matches!(forked, Err(StoreError::NoEntry { id }) if id == "nope"));
    assert_eq!(fs::read_dir(&target).unwrap().count(), 0);
}

#[test]
fn a_torn_end_of_the_source_is_neither_copied_nor_cut() {
    let dir = tempfile::tempdir().unwrap();
    let source = branched(dir.path());
    let mut torn = fs::read(&source).unwrap();
    torn.extend(b"{\"type\":\"mess");
    fs::write(&source, &torn).unwrap();
    let forked = fork(&source, None, dir.path(), header("s2"), &clock()).unwrap();
    assert_eq!(ids(&forked.context), ["a", "b", "d"]);
    assert_eq!(fs::read(&source).unwrap(), torn);
}

#[test]
fn forks_in_memory_take_from_files_and_from_memory() {
    let dir = tempfile::tempdir().unwrap();
    let file = open(&branched(dir.path())).unwrap();
    let forked = fork_in_memory(file.journal.as_ref(), None, header("s2")).unwrap();
    assert_eq!(ids(&forked.context), ["a", "b", "d"]);
    assert_eq!(forked.journal.path(), None);
    let again = fork_in_memory(forked.journal.as_ref(), Some("b"), header("s3")).unwrap();
    assert_eq!(ids(&again.context), ["a", "b"]);
    assert_eq!(again.leaf.as_deref(), Some("b"));
    let empty = fork_in_memory(memory(header("s4")).as_ref(), None, header("s5")).unwrap();
    assert_eq!((empty.context.len(), empty.leaf), (0, None));
}

#[test]
fn an_empty_session_forks_to_an_empty_session() {
    let dir = tempfile::tempdir().unwrap();
    let source = create(dir.path(), header("s1"), &clock()).unwrap();
    let path = source.path().unwrap();
    let forked = fork(path, None, dir.path(), header("s2"), &clock()).unwrap();
    assert_eq!((forked.context.len(), forked.leaf), (0, None));
}
