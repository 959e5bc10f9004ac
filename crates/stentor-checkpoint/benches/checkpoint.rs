//! What undo costs in a folder of 10,000 files of two kilobytes, in a hundred folders.
//!
//! With `FILES=1000000` the folder has that many.

#![expect(
    clippy::expect_used,
    reason = "a benchmark that cannot go on has failed"
)]

use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use divan::Bencher;
use stentor_checkpoint::{CheckpointLimits, Checkpoints, Recorder};
use tempfile::TempDir;

fn main() {
    divan::main();
}

static FOLDER: LazyLock<TempDir> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let files = std::env::var("FILES").ok().and_then(|n| n.parse().ok());
    for n in 0..files.unwrap_or(10_000) {
        let path = folder.path().join(format!("folder-{:04}", n / 100));
        if n % 100 == 0 {
            fs::create_dir(&path).expect("a folder");
        }
        let content = format!("{n:08}").repeat(256);
        fs::write(path.join(format!("file-{n}.txt")), content).expect("a file");
    }
    folder
});

fn recorder(stored: &Path) -> Recorder {
    let all = Checkpoints::in_folder(stored.join("checkpoints"), CheckpointLimits::default());
    Recorder::new(all.of_folder(FOLDER.path()), "session")
}

/// The first command in a folder: everything is copied.
#[divan::bench(sample_count = 5)]
fn first_command(bencher: Bencher) {
    LazyLock::force(&FOLDER);
    bencher
        .with_inputs(|| tempfile::tempdir().expect("a temporary folder"))
        .bench_local_values(|stored| {
            recorder(stored.path()).before_command();
            stored
        });
}

/// The first command of a later run: the folder is looked at.
#[divan::bench(sample_count = 20)]
fn later_command(bencher: Bencher) {
    let stored = tempfile::tempdir().expect("a temporary folder");
    let first = recorder(stored.path());
    first.before_command();
    first.finish();
    bencher.bench_local(|| recorder(stored.path()).before_command());
}

/// The look after a command that changed one file.
#[divan::bench(sample_count = 20)]
fn after_a_command(bencher: Bencher) {
    let stored = tempfile::tempdir().expect("a temporary folder");
    let recorder = recorder(stored.path());
    let changed = FOLDER.path().join("folder-0000/file-0.txt");
    let mut n = 0;
    bencher.bench_local(|| {
        recorder.before_command();
        n += 1;
        fs::write(&changed, n.to_string()).expect("a file");
        recorder.after_command().files.len()
    });
}

/// A file that a tool changes.
#[divan::bench]
fn one_write(bencher: Bencher) {
    let stored = tempfile::tempdir().expect("a temporary folder");
    let recorder = recorder(stored.path());
    let changed = FOLDER.path().join("folder-0001/file-100.txt");
    let changed = changed.canonicalize().expect("a file");
    let mut n = 0;
    bencher.bench_local(|| {
        let before = recorder.before_write(std::slice::from_ref(&changed));
        n += 1;
        fs::write(&changed, n.to_string()).expect("a file");
        recorder.after_write(before).files.len()
    });
}
