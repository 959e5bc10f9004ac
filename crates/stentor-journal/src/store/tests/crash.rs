use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use super::*;
use crate::store::{StoreError, fork, open};

fn sample() -> Vec<u8> {
    let lines = [
        HEADER.to_owned(),
        line(&user("aaaaaaaa", None, "größe \u{1f600}")),
        assistant_line("bbbbbbbb", "aaaaaaaa", "m"),
        line(&user("cccccccc", Some("bbbbbbbb"), "two")),
    ];
    (lines.join("\n") + "\n").into_bytes()
}

/// Where each line ends, without and with its LF.
fn line_ends(bytes: &[u8]) -> Vec<usize> {
    let ends = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
    ends.map(|(at, _)| at).collect()
}

#[test]
fn a_file_torn_at_any_byte_keeps_every_whole_line_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s1.jsonl");
    let whole = sample();
    let ends = line_ends(&whole);
    let expected_ids = ["aaaaaaaa", "bbbbbbbb", "cccccccc"];
    for cut in 0..=whole.len() {
        for nuls in [0, 7] {
            let mut torn = whole[..cut].to_vec();
            torn.extend(std::iter::repeat_n(0, nuls));
            fs::write(&path, &torn).unwrap();
            let lines = ends.iter().filter(|end| **end <= cut).count();
            let opened = open(&path);
            if lines == 0 {
                let error = opened.unwrap_err();
                assert!(
                    matches!(
                        error,
                        StoreError::Empty { .. } | StoreError::NotASession { .. }
                    ),
                    "cut at {cut}: {error}"
                );
                assert_eq!(fs::read(&path).unwrap(), torn, "untouched, cut at {cut}");
                continue;
            }
            let opened = opened.unwrap();
            assert_eq!(
                ids(&opened.context),
                expected_ids[..lines - 1],
                "cut at {cut}"
            );
            let kept = ends[lines - 1] + 1;
            assert_eq!(fs::read(&path).unwrap(), whole[..kept], "cut at {cut}");
            let something_was_cut = cut > kept || nuls > 0;
            assert_eq!(
                opened.warnings.len(),
                usize::from(something_was_cut),
                "{cut}"
            );
            drop(opened);
            assert_eq!(open(&path).unwrap().warnings, Vec::<String>::new());
        }
    }
}

#[test]
fn unreadable_lines_in_the_middle_are_skipped_with_a_warning_and_kept() {
    let dir = tempfile::tempdir().unwrap();
    let path = session_file(
        dir.path(),
        &[
            line(&user("a", None, "one")),
            "half a rec".into(),
            "{\"type\":\"message\",\"message\":{}}".into(),
            line(&user("b", Some("a"), "two")),
        ],
    );
    let before = fs::read(&path).unwrap();
    let opened = open(&path).unwrap();
    assert_eq!(ids(&opened.context), ["a", "b"]);
    assert_eq!(
        opened.warnings,
        [
            r#"left out a line that cannot be read, 31 bytes at byte 287 of the session file: "{\"type\":\"message\",\"message\":{}}""#,
            r#"left out a line that cannot be read, 10 bytes at byte 276 of the session file: "half a rec""#,
        ]
    );
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn an_entry_whose_parent_is_gone_goes_on_with_the_one_before_it_and_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let path = session_file(
        dir.path(),
        &[
            line(&user("a", None, "one")),
            line(&user("b", Some("a"), "two")),
            line(&user("d", Some("c"), "four")),
            line(&user("f", Some("e"), "six")),
        ],
    );
    let opened = open(&path).unwrap();
    assert_eq!(ids(&opened.context), ["a", "b", "d", "f"]);
    let [last, first] = opened.warnings.as_slice() else {
        panic!("{:?}", opened.warnings);
    };
    for (told, parent) in [(last, "e"), (first, "c")] {
        assert!(
            told.starts_with(&format!("the parent {parent:?} of the entry at byte ")),
            "{told}"
        );
        assert!(
            told.ends_with("is not in the session file: the entry before it takes its place"),
            "{told}"
        );
    }
}

#[test]
fn a_message_without_its_message_and_a_line_of_nothing_are_warned_of() {
    let dir = tempfile::tempdir().unwrap();
    let path = session_file(
        dir.path(),
        &[
            line(&user("a", None, "one")),
            r#"{"type":"message","id":"b","parentId":"a","timestamp":""}"#.into(),
            "\0\0\0\0".into(),
            line(&user("d", Some("b"), "four")),
        ],
    );
    let opened = open(&path).unwrap();
    let told: Vec<&str> = opened
        .warnings
        .iter()
        .map(|told| told.split_once("file: ").unwrap().1)
        .collect();
    let [nothing, message] = told.as_slice() else {
        panic!("{told:?}");
    };
    assert_eq!(*nothing, "nothing but NUL bytes");
    assert!(message.contains(r#"\"id\":\"b\""#), "{told:?}");
}

#[test]
fn an_entry_that_cannot_be_read_costs_that_entry_and_nothing_before_it() {
    let dir = tempfile::tempdir().unwrap();
    let half = line(&user("c", Some("b"), "three"));
    let path = session_file(
        dir.path(),
        &[
            line(&user("a", None, "one")),
            line(&user("b", Some("a"), "two")),
            half[..half.len() / 2].to_owned(),
            line(&user("d", Some("c"), "four")),
            line(&user("e", Some("d"), "five")),
            "nothing of the kind".into(),
            line(&user("f", Some("e"), "six")),
        ],
    );
    let opened = open(&path).unwrap();
    assert_eq!(ids(&opened.context), ["a", "b", "d", "e", "f"]);
    assert_eq!(opened.warnings.len(), 2, "{:?}", opened.warnings);
    drop(opened);
    // A copy of the path is read in the same way.
    let copy = fork(&path, None, dir.path(), header("s2"), &clock()).unwrap();
    assert_eq!(ids(&copy.context), ["a", "b", "d", "e", "f"]);
}

#[test]
fn an_entry_after_a_hole_of_nuls_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let after_hole = format!("\0\0\0{}", line(&user("b", Some("a"), "two")));
    let path = session_file(dir.path(), &[line(&user("a", None, "one")), after_hole]);
    assert_eq!(ids(&open(&path).unwrap().context), ["a", "b"]);
}

#[test]
fn an_entry_whose_body_cannot_be_read_still_holds_the_tree_together() {
    let dir = tempfile::tempdir().unwrap();
    let deep = format!(
        r#"{{"type":"message","id":"b","parentId":"a","message":{}{}}}"#,
        "[".repeat(500),
        "]".repeat(500)
    );
    let path = session_file(
        dir.path(),
        &[
            line(&user("a", None, "one")),
            deep,
            line(&user("c", Some("b"), "three")),
        ],
    );
    let opened = open(&path).unwrap();
    assert_eq!(ids(&opened.context), ["a", "b", "c"]);
    assert_eq!(opened.warnings.len(), 1);
}

/// Not a test by itself: the child of the test below, which kills it.
#[test]
fn child_that_holds_a_session() {
    let Some(path) = std::env::var_os("STENTOR_TEST_HOLD_SESSION") else {
        return;
    };
    let _opened = loop {
        match open(Path::new(&path)) {
            // The parent looks at the session too, for a moment each time.
            Err(StoreError::Locked { .. }) => std::thread::yield_now(),
            opened => break opened.unwrap(),
        }
    };
    // The parent kills it here; should the parent die, this ends with its stdin.
    let _ = std::io::stdin().lock().read_line(&mut String::new());
}

#[test]
fn another_process_is_named_as_holder_and_no_longer_blocks_once_killed() {
    let dir = tempfile::tempdir().unwrap();
    let path = session_file(dir.path(), &[line(&user("a", None, "one"))]);
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "store::tests::crash::child_that_holds_a_session"])
        .arg("--nocapture")
        .env("STENTOR_TEST_HOLD_SESSION", &path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.next().is_some(), "the child runs");
    let holder = loop {
        match open(&path) {
            Err(StoreError::Locked { holder, .. }) if holder.pid.is_some() => break holder,
            Err(StoreError::Locked { .. }) => {}
            Err(error) => panic!("{error}"),
            Ok(_) => std::thread::yield_now(),
        }
        assert!(child.try_wait().unwrap().is_none(), "the child lives");
    };
    assert_eq!(holder.pid, Some(child.id()));
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(ids(&open(&path).unwrap().context), ["a"]);
}

/// Not a test by itself: the child of the test below, which gives it a small file size limit.
#[test]
fn child_that_hits_the_file_size_limit() {
    let Some(path) = std::env::var_os("STENTOR_TEST_FILL_SESSION") else {
        return;
    };
    let path = Path::new(&path);
    let mut opened = open(path).unwrap();
    let before = fs::read(path).unwrap();
    let large = user("b", Some("a"), &"x".repeat(100_000));
    for _ in 0..2 {
        let error = opened.journal.append(&large).unwrap_err();
        assert!(matches!(error, StoreError::Io { .. }), "{error}");
        assert_eq!(fs::read(path).unwrap(), before, "nothing of it stays");
    }
    opened
        .journal
        .append(&user("c", Some("a"), "small"))
        .unwrap();
    assert_eq!(ids(&opened.journal.read_all().unwrap()), ["a", "c"]);
}

#[test]
fn an_entry_that_does_not_fit_on_the_disk_leaves_nothing_behind() {
    let dir = tempfile::tempdir().unwrap();
    let path = session_file(dir.path(), &[line(&user("a", None, "one"))]);
    // The limit lets the kernel write a part of the entry; without the signal it is then an error.
    let status = Command::new("sh")
        .args(["-c", "trap '' XFSZ; ulimit -f 32; exec \"$0\" \"$@\""])
        .arg(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "store::tests::crash::child_that_hits_the_file_size_limit",
        ])
        .env("STENTOR_TEST_FILL_SESSION", &path)
        .stdout(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success());
    assert_eq!(
        ids(&open(&path).unwrap().context),
        ["a", "c"],
        "the child ran"
    );
}
