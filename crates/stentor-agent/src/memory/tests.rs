use std::fs;
use std::io::Write;
use std::sync::Arc;

use stentor_journal::clock::CountingClock;

use super::*;

fn store(folder: &tempfile::TempDir) -> Arc<MemoryStore> {
    let clock = Arc::new(CountingClock::starting_at(1_794_728_738_000));
    MemoryStore::new(folder.path().join("deep/notes.jsonl"), clock)
}

fn note(text: &str, tags: &[&str]) -> NewNote {
    NewNote {
        text: text.to_owned(),
        tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
        ..NewNote::default()
    }
}

fn texts(notes: Vec<Note>) -> Vec<String> {
    notes.into_iter().map(|note| note.text).collect()
}

#[test]
fn a_note_is_found_by_words_of_its_text_and_tags_and_survives_the_process() {
    let folder = tempfile::tempdir().unwrap();
    let first = store(&folder);
    assert_eq!(first.status().notes, 0);
    assert!(!first.path().exists(), "looking makes no file");
    first
        .remember(note(" Tests run with `just test`. ", &["#Build", "build"]))
        .unwrap();
    first
        .remember(note("The user likes short answers", &[]))
        .unwrap();
    first
        .remember(note("Deploys need a tag; build first", &[]))
        .unwrap();
    drop(first);
    let second = store(&folder);
    assert_eq!(
        texts(second.search("BUILD", 9).unwrap()),
        [
            "Tests run with `just test`.",
            "Deploys need a tag; build first"
        ]
    );
    assert_eq!(texts(second.search("short", 9).unwrap()).len(), 1);
    assert_eq!(texts(second.search("nothing", 9).unwrap()).len(), 0);
    assert_eq!(
        texts(second.recent(1).unwrap())[0],
        "Deploys need a tag; build first"
    );
    assert_eq!(
        second.by_tag().unwrap().into_iter().collect::<Vec<_>>(),
        [("build".to_owned(), 1)]
    );
}

#[test]
fn two_processes_see_each_others_notes() {
    let folder = tempfile::tempdir().unwrap();
    let (one, other) = (store(&folder), store(&folder));
    one.remember(note("a", &[])).unwrap();
    assert_eq!(other.notes().unwrap().len(), 1);
    let third = store(&folder);
    let kept = third.remember(note("b", &[])).unwrap();
    assert_eq!(texts(one.notes().unwrap()), ["a", "b"]);
    other.forget(&kept.id).unwrap();
    assert_eq!(texts(one.notes().unwrap()), ["a"]);
    assert!(matches!(one.forget(&kept.id), Err(MemoryError::Unknown(_))));
}

#[test]
fn a_torn_line_costs_only_itself() {
    let folder = tempfile::tempdir().unwrap();
    let first = store(&folder);
    first.remember(note("kept", &[])).unwrap();
    let mut file = fs::File::options().append(true).open(first.path()).unwrap();
    file.write_all(b"{\"id\":\"torn").unwrap();
    let second = store(&folder);
    second.remember(note("later", &[])).unwrap();
    assert_eq!(texts(second.notes().unwrap()), ["kept", "later"]);
    assert_eq!(texts(first.notes().unwrap()), ["kept", "later"]);
}

#[test]
fn what_cannot_be_kept_is_refused_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(&folder);
    assert!(matches!(
        store.remember(note("  ", &[])),
        Err(MemoryError::Empty)
    ));
    let long = "x".repeat(MAX_TEXT_BYTES + 1);
    assert!(matches!(
        store.remember(note(&long, &[])),
        Err(MemoryError::TooLong { .. })
    ));
    fs::create_dir_all(store.path()).unwrap();
    assert!(matches!(
        store.remember(note("x", &[])),
        Err(MemoryError::Io { .. })
    ));
    let status = store.status();
    assert!(!status.ready && status.last_error.is_some());
}

#[test]
fn a_project_has_its_own_notes_and_those_it_had_before_each_had_its_own() {
    let folder = tempfile::tempdir().unwrap();
    // One clock, as it gives the notes their ids.
    let clock: SharedClock = Arc::new(CountingClock::starting_at(1_794_728_738_000));
    let in_folder = |text: &str, folder: &str| NewNote {
        folder: Some(folder.to_owned()),
        ..note(text, &[])
    };
    let older = folder.path().join("notes.jsonl");
    let all = MemoryStore::new(&older, Arc::clone(&clock));
    let mine = all
        .remember(in_folder("mine before", "/work/a/sub"))
        .unwrap();
    all.remember(in_folder("theirs before", "/work/ab"))
        .unwrap();
    let of = |name: &str| {
        let notes = ProjectNotes {
            project: Path::new("/work").join(name),
            older: older.clone(),
        };
        // One file, as if the names of two projects came out the same.
        MemoryStore::of_project(
            folder.path().join("project.jsonl"),
            notes,
            Arc::clone(&clock),
        )
    };
    of("a").remember(in_folder("mine", "/work/a")).unwrap();
    of("ab").remember(in_folder("theirs", "/work/ab")).unwrap();
    assert_eq!(texts(of("a").notes().unwrap()), ["mine before", "mine"]);
    assert_eq!(texts(of("ab").search("theirs", 9).unwrap()).len(), 2);
    assert_eq!(texts(of("ab").search("mine", 9).unwrap()).len(), 0);
    assert!(of("ab").forget(&mine.id).is_err());
    of("a").forget(&mine.id).unwrap();
    assert_eq!(texts(of("a").notes().unwrap()), ["mine"]);
}
