use std::fs;
use std::time::{Duration, UNIX_EPOCH};

use super::*;
use crate::session_files::SessionFiles;
use crate::store::{
    NewestFirst, StoreError, create, find, list, list_all, open, remove, subagents_folder,
};

fn touch(path: &Path, seconds: u64) {
    let file = fs::File::options().append(true).open(path).unwrap();
    file.set_modified(UNIX_EPOCH + Duration::from_secs(seconds))
        .unwrap();
}

#[test]
fn sessions_are_listed_newest_first_with_what_people_know_them_by() {
    let dir = tempfile::tempdir().unwrap();
    let mut paths = Vec::new();
    for (n, id) in ["first", "second"].into_iter().enumerate() {
        let mut journal = create(dir.path(), header(id), &clock()).unwrap();
        journal
            .append(&user("a", None, &format!("hello {id}")))
            .unwrap();
        journal.append(&user("b", Some("a"), "more")).unwrap();
        let name = EntryKind::SessionInfo {
            name: format!("name of {id}"),
        };
        journal.append(&entry("c", Some("b"), name)).unwrap();
        paths.push(journal.path().unwrap().to_path_buf());
        touch(&paths[n], 100 + n as u64);
    }
    fs::write(dir.path().join("broken.jsonl"), "no session").unwrap();
    touch(&dir.path().join("broken.jsonl"), 50);
    fs::write(dir.path().join("notes.txt"), "not listed").unwrap();
    let listed = list(&fs::canonicalize(dir.path()).unwrap());
    assert_eq!(listed.len(), 3);
    let newest = &listed[0];
    assert_eq!(newest.path, paths[1]);
    assert_eq!((newest.id.as_str(), newest.cwd.as_str()), ("second", "/w"));
    assert_eq!(newest.name.as_deref(), Some("name of second"));
    assert_eq!(newest.created, "2026-11-15T07:45:38.409Z");
    assert_eq!(newest.modified_ms, 101_000);
    assert_eq!(newest.first_message.as_deref(), Some("hello second"));
    assert_eq!((newest.message_count, &newest.problem), (Some(2), &None));
    assert_eq!(listed[1].id, "first");
    assert_eq!(listed[2].id, "broken");
    let problem = listed[2].problem.as_ref().unwrap();
    assert!(problem.contains("not a session file"), "{problem}");
    assert_eq!(list(&dir.path().join("nowhere")), []);
}

#[test]
fn a_file_is_looked_into_when_it_is_its_turn_and_not_before() {
    let dir = tempfile::tempdir().unwrap();
    for (n, id) in ["oldest", "older", "newest"].into_iter().enumerate() {
        let journal = create(dir.path(), header(id), &clock()).unwrap();
        touch(journal.path().unwrap(), 100 + n as u64);
    }
    let mut newest = NewestFirst::of(dir.path());
    let first = newest.next().unwrap();
    assert_eq!((first.id.as_str(), &first.problem), ("newest", &None));
    for path in session_files_in(dir.path()) {
        fs::remove_file(path).unwrap();
    }
    let rest: Vec<_> = newest
        .map(|listed| (listed.id, listed.problem.is_some()))
        .collect();
    assert_eq!(
        rest,
        [("older".to_owned(), true), ("oldest".to_owned(), true)]
    );
}

#[test]
fn a_page_goes_on_behind_the_place_where_the_last_one_ended() {
    let dir = tempfile::tempdir().unwrap();
    for id in ["a", "b", "c", "d"] {
        let journal = create(dir.path(), header(id), &clock()).unwrap();
        // Two were written to at the same time.
        let seconds = if id == "c" {
            101
        } else {
            100 + u64::from(id.as_bytes()[0] - b'a')
        };
        touch(journal.path().unwrap(), seconds);
    }
    let mut ids = Vec::new();
    let mut page: Vec<_> = NewestFirst::of(dir.path()).take(1).collect();
    while let Some(listed) = page.pop() {
        page = NewestFirst::of(dir.path())
            .behind(listed.place())
            .take(1)
            .collect();
        ids.push(listed.id);
    }
    assert_eq!(ids, ["d", "c", "b", "a"]);
}

fn session_files_in(dir: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(dir).unwrap();
    files.map(|file| file.unwrap().path()).collect()
}

#[test]
fn a_large_session_is_listed_with_the_name_at_its_end() {
    let dir = tempfile::tempdir().unwrap();
    let mut lines = vec![line(&user("a", None, "the first message"))];
    for _ in 0..40 {
        lines.push(line(&user("b", Some("a"), &"x".repeat(10_000))));
    }
    lines.push(
        r#"{"type":"session_info","id":"n","parentId":"b","timestamp":"t","name":"late"}"#.into(),
    );
    session_file(dir.path(), &lines);
    let listed = list(dir.path()).remove(0);
    assert_eq!(listed.name.as_deref(), Some("late"));
    assert_eq!(listed.first_message.as_deref(), Some("the first message"));
    assert_eq!(listed.message_count, None);
}

#[test]
fn a_session_is_found_by_id_by_unique_beginning_and_by_path() {
    let root = tempfile::tempdir().unwrap();
    let mut paths = Vec::new();
    for (folder, id) in [
        ("--a--", "0195aa"),
        ("--b--", "0195bb"),
        ("--b--", "0195bbcc"),
    ] {
        let journal = create(&root.path().join(folder), header(id), &clock()).unwrap();
        paths.push(journal.path().unwrap().to_path_buf());
    }
    let root = fs::canonicalize(root.path()).unwrap();
    assert_eq!(list_all(&root).len(), 3);
    for (wanted, index) in [("0195aa", 0), ("0195a", 0), ("0195bb", 1), ("0195bbc", 2)] {
        assert_eq!(find(&root, wanted).unwrap(), paths[index], "{wanted}");
    }
    let path = paths[0].to_str().unwrap();
    assert_eq!(find(&root, path).unwrap(), paths[0]);
    let ambiguous = find(&root, "0195").unwrap_err();
    assert!(
        matches!(&ambiguous, StoreError::Ambiguous { candidates, .. } if candidates.len() == 3),
        "{ambiguous}"
    );
    for missing in ["", "zzz", "..", "../0195aa", "nothing.jsonl"] {
        let error = find(&root, missing).unwrap_err();
        assert!(matches!(error, StoreError::NotFound { .. }), "{missing:?}");
    }
}

#[test]
fn a_session_is_removed_unless_somebody_has_it_open_or_it_is_none() {
    let dir = tempfile::tempdir().unwrap();
    let journal = create(dir.path(), header("one"), &clock()).unwrap();
    let path = journal.path().unwrap().to_path_buf();
    assert!(matches!(remove(&path), Err(StoreError::Locked { .. })));
    drop(journal);
    remove(&path).unwrap();
    assert_eq!(list(dir.path()), []);
    let other = dir.path().join("notes.jsonl");
    fs::write(&other, "no session").unwrap();
    assert!(matches!(
        remove(&other),
        Err(StoreError::NotASession { .. })
    ));
    assert!(other.exists());
}

#[test]
fn with_a_session_go_those_of_its_subagents_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let new = |folder: &Path, id: &str| {
        let journal = create(folder, header(id), &clock()).unwrap();
        journal.path().unwrap().to_path_buf()
    };
    let parent = new(dir.path(), "parent");
    let folder = subagents_folder(&parent);
    fs::create_dir_all(&folder).unwrap();
    let child = new(&folder, "child");
    let grandchildren = subagents_folder(&child);
    fs::create_dir_all(&grandchildren).unwrap();
    let grandchild = new(&grandchildren, "grandchild");
    remove(&parent).unwrap();
    assert!(!grandchild.exists() && !parent.with_extension("").exists());

    let parent = new(dir.path(), "another");
    let folder = subagents_folder(&parent);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("mine.txt"), "kept").unwrap();
    remove(&parent).unwrap();
    assert!(folder.join("mine.txt").exists());

    let stranger = new(&dir.path().join("elsewhere"), "stranger");
    let parent = new(dir.path(), "linked");
    fs::create_dir(parent.with_extension("")).unwrap();
    let elsewhere = stranger.parent().unwrap();
    std::os::unix::fs::symlink(elsewhere, subagents_folder(&parent)).unwrap();
    remove(&parent).unwrap();
    assert!(stranger.exists());
}

#[test]
fn a_session_is_of_the_folder_that_it_names_where_two_have_the_same_name() {
    let dir = tempfile::tempdir().unwrap();
    let files = SessionFiles::PerFolder(dir.path().to_owned());
    let (nested, dashed) = (Path::new("/x/a/b"), Path::new("/x/a-b"));
    let folder = files.folder(nested).unwrap();
    assert_eq!(files.folder(dashed).unwrap(), folder);
    for (id, cwd) in [("nested", "/x/a/b"), ("dashed", "/x/a-b")] {
        let header = SessionHeader::new(id, "2026-11-15T07:45:38.409Z", cwd);
        create(&folder, header, &clock()).unwrap();
    }
    // Nobody can tell whose it is: it is shown with its problem.
    fs::write(folder.join("t_broken.jsonl"), "nothing\n").unwrap();
    for (cwd, own) in [(nested, "nested"), (dashed, "dashed")] {
        let listed = files.newest_first(Some(cwd)).map(|listed| listed.id);
        let mut listed: Vec<String> = listed.collect();
        listed.sort();
        let mut expected = ["broken", own];
        expected.sort_unstable();
        assert_eq!(listed, expected);
    }
    assert_eq!(files.newest_first(None).count(), 3);
}

#[test]
fn of_a_link_only_the_link_is_removed() {
    let (dir, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let target = session_file(outside.path(), &[line(&user("a", None, "one"))]);
    let link = dir.path().join("t_s1.jsonl");
    std::os::unix::fs::symlink(&target, &link).unwrap();
    let held = open(&target).unwrap();
    assert!(matches!(remove(&link), Err(StoreError::Locked { .. })));
    drop(held);
    remove(&link).unwrap();
    assert!(target.exists() && link.symlink_metadata().is_err());
    remove(&target).unwrap();
    assert!(!target.exists());
}
