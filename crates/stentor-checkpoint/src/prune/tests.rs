use std::fs::{File, FileTimes};

use super::*;
use crate::CheckpointLimits;
use crate::testing::Workshop;

fn age(path: &Path, age: Duration) {
    let file = File::options().append(true).open(path).unwrap();
    let time = SystemTime::now() - age;
    file.set_times(FileTimes::new().set_modified(time)).unwrap();
}

fn stored(workshop: &Workshop, content: &[u8]) -> bool {
    let store = workshop.recorder.store();
    store
        .objects
        .has(ContentHash::of(content), content.len() as u64)
}

#[test]
fn old_checkpoints_go_with_their_contents() {
    let workshop = Workshop::new();
    let store = workshop.recorder.store().clone();
    workshop.write("a", "first");
    let old = workshop.tool("a", "second");
    workshop.write("b", "third");
    let new = workshop.tool("b", "fourth");
    age(&store.file_of(&old), workshop.limits.age * 2);
    prune(&store.all).unwrap();
    assert!(!store.has(&old) && store.has(&new));
    assert!(!stored(&workshop, b"first") && stored(&workshop, b"third"));
    age(&store.file_of(&new), workshop.limits.age * 2);
    prune(&store.all).unwrap();
    assert!(!store.place.exists());
}

#[test]
fn the_oldest_go_where_there_is_too_much() {
    let workshop = Workshop::with(CheckpointLimits {
        stored_bytes: 10,
        ..CheckpointLimits::default()
    });
    let store = workshop.recorder.store().clone();
    let mut runs = Vec::new();
    for name in ["first", "second", "third", "fourth"] {
        workshop.write(name, name);
        runs.push(workshop.tool(name, ""));
    }
    for (n, run) in runs.iter().enumerate() {
        age(&store.file_of(run), Duration::from_secs(100 - n as u64));
    }
    prune(&store.all).unwrap();
    let here: Vec<bool> = runs.iter().map(|run| store.has(run)).collect();
    assert_eq!(here, [false, false, false, true]);
    assert!(stored(&workshop, b"fourth") && !stored(&workshop, b"first"));
}

#[test]
fn what_a_session_uses_is_not_removed_under_it() {
    let workshop = Workshop::new();
    let store = workshop.recorder.store().clone();
    workshop.write("a", "first");
    let run = workshop.tool("a", "second");
    age(&store.file_of(&run), workshop.limits.age * 2);
    let other = workshop.other_session();
    other.prepare();
    prune(&store.all).unwrap();
    assert!(store.has(&run));
    other.finish();
    prune(&store.all).unwrap();
    assert!(!store.has(&run));
}
