//! Files that stay as they are until something is added.

use std::fs;

use super::older_versions::{VERSION_1, VERSION_2};
use super::*;
use crate::store::{StoreError, fork, open, open_to_read, open_untouched};

fn torn(dir: &Path) -> (PathBuf, String) {
    let path = session_file(dir, &[line(&user("a", None, "one"))]);
    let text = fs::read_to_string(&path).unwrap() + "{\"type\":\"mess";
    fs::write(&path, &text).unwrap();
    (path, text)
}

#[test]
fn a_torn_end_is_left_out_at_opening_and_cut_by_the_first_append() {
    let dir = tempfile::tempdir().unwrap();
    let (path, text) = torn(dir.path());
    let mut opened = open_untouched(&path).unwrap();
    assert_eq!(ids(&opened.context), ["a"]);
    let [told] = opened.warnings.as_slice() else {
        panic!("{:?}", opened.warnings);
    };
    assert!(
        told.starts_with("left out 13 byte(s) of an unfinished record"),
        "{told}"
    );
    assert_eq!(ids(&opened.journal.read_all().unwrap()), ["a"]);
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
    opened.journal.append(&user("b", Some("a"), "two")).unwrap();
    assert!(!fs::read_to_string(&path).unwrap().contains("\"mess{"));
    drop(opened);
    let again = open(&path).unwrap();
    assert_eq!(ids(&again.context), ["a", "b"]);
    assert_eq!(again.warnings, Vec::<String>::new());
}

#[test]
fn a_record_that_another_program_was_writing_is_not_cut() {
    let dir = tempfile::tempdir().unwrap();
    let path = session_file(dir.path(), &[line(&user("a", None, "one"))]);
    let whole = fs::read_to_string(&path).unwrap();
    let record = line(&user("b", Some("a"), "of another program"));
    let (begun, rest) = record.split_at(20);
    fs::write(&path, whole.clone() + begun).unwrap();
    let mut opened = open_untouched(&path).unwrap();
    // It appends, as it would to a file that nobody else has open.
    fs::write(&path, whole + begun + rest).unwrap();
    opened.journal.append(&user("c", Some("a"), "two")).unwrap();
    assert_eq!(ids(&opened.journal.read_all().unwrap()), ["a", "b", "c"]);
}

#[test]
fn an_older_version_is_read_as_it_is_and_rewritten_by_the_first_append() {
    for (old, at_first) in [(VERSION_1, "00000005"), (VERSION_2, "bb")] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("old.jsonl");
        fs::write(&path, old).unwrap();
        let mut opened = open_untouched(&path).unwrap();
        assert_eq!(opened.leaf.as_deref(), Some(at_first));
        assert_eq!(opened.journal.header().version, 3);
        let mut entries = opened.journal.read_all().unwrap();
        assert_eq!(opened.journal.path_to(at_first).unwrap(), entries);
        assert_eq!(fs::read_to_string(&path).unwrap(), old);
        let new = user("new", Some(at_first), "two");
        opened.journal.append(&new).unwrap();
        entries.push(new);
        assert_eq!(opened.journal.read_all().unwrap(), entries);
        drop(opened);
        assert!(fs::read_to_string(&path).unwrap().contains("\"version\":3"));
        assert_eq!(open(&path).unwrap().leaf.as_deref(), Some("new"));
    }
}

#[test]
fn what_is_open_elsewhere_can_be_read_and_not_appended_to() {
    let dir = tempfile::tempdir().unwrap();
    let path = session_file(dir.path(), &[line(&user("a", None, "one"))]);
    let _held = open(&path).unwrap();
    assert!(matches!(
        open_untouched(&path),
        Err(StoreError::Locked { .. })
    ));
    let before = fs::read(&path).unwrap();
    let mut opened = open_to_read(&path).unwrap();
    assert_eq!(ids(&opened.context), ["a"]);
    assert!(opened.journal.read_only().is_some());
    let refused = opened.journal.append(&user("b", Some("a"), "two"));
    assert!(matches!(refused, Err(StoreError::NotOurs { .. })));
    assert_eq!(fs::read(&path).unwrap(), before);
    let copy = fork(&path, None, dir.path(), header("s2"), &clock()).unwrap();
    assert_eq!(ids(&copy.context), ["a"]);
}
