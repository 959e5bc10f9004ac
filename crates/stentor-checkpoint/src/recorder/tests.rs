use std::fs;
use std::os::unix::fs::symlink;

use super::*;
use crate::CheckpointLimits;
use crate::testing::{Workshop, is_root, shown};

/// What a command changed.
fn after(workshop: &Workshop, work: impl FnOnce()) -> Vec<String> {
    workshop.recorder.before_command();
    work();
    shown(&workshop.recorder.after_command())
}

#[test]
fn a_command_is_found_to_change_make_rename_and_delete_files() {
    let workshop = Workshop::new();
    for name in ["kept", "changed", "deleted", "old-name", "deep/er/file"] {
        workshop.write(name, name);
    }
    let changed = after(&workshop, || {
        workshop.write("changed", "CHANGED");
        workshop.write("new/made", "");
        fs::remove_file(workshop.path("deleted")).unwrap();
        fs::remove_dir_all(workshop.path("deep/er")).unwrap();
        fs::rename(workshop.path("old-name"), workshop.path("new-name")).unwrap();
    });
    assert_eq!(
        changed,
        [
            "changed: file -> file",
            "deep/er: folder -> absent",
            "deep/er/file: file -> absent",
            "deleted: file -> absent",
            "new: absent -> folder",
            "new/made: absent -> file",
            "new-name: absent -> file",
            "old-name: file -> absent",
        ]
    );
}

#[test]
fn a_change_of_the_same_size_at_the_same_moment_is_found() {
    let workshop = Workshop::new();
    for round in 0..20 {
        workshop.write("file", &format!("{round:03}a"));
        let changed = after(&workshop, || {
            workshop.write("file", &format!("{round:03}b"))
        });
        assert_eq!(changed, ["file: file -> file"], "{round}");
        workshop.recorder.finish();
    }
}

#[test]
fn what_only_looks_changed_is_no_change_and_a_mode_is_one() {
    let workshop = Workshop::new();
    workshop.write("same", "content");
    workshop.write("mode", "content");
    let changed = after(&workshop, || {
        workshop.write("same", "content");
        workshop.set_mode("mode", 0o755);
    });
    assert_eq!(changed, ["mode: file -> file"]);
}

#[test]
fn what_others_change_between_two_commands_is_not_the_commands() {
    let workshop = Workshop::new();
    workshop.write("mine", "1");
    assert_eq!(after(&workshop, || ()), [""; 0]);
    workshop.write("mine", "2");
    // As if the folder had been looked at long ago.
    workshop.recorder.lock().looked = None;
    let changed = after(&workshop, || workshop.write("theirs", ""));
    assert_eq!(changed, ["theirs: absent -> file"]);
}

#[test]
fn what_a_tool_wrote_is_recorded_once() {
    let workshop = Workshop::new();
    workshop.recorder.before_command();
    let before = workshop.recorder.before_write(&[workshop.path("a/b")]);
    workshop.write("a/b", "");
    let written = workshop.recorder.after_write(before);
    assert_eq!(
        shown(&written),
        ["a: absent -> folder", "a/b: absent -> file"]
    );
    assert_eq!(shown(&workshop.recorder.after_command()), [""; 0]);
}

#[test]
fn what_another_session_recorded_meanwhile_is_its_own() {
    let workshop = Workshop::new();
    let other = workshop.other_session();
    let changed = after(&workshop, || {
        let before = other.before_write(&[workshop.path("theirs")]);
        workshop.write("theirs", "");
        let changes = other.after_write(before);
        let id = CheckpointId::of_entry("other", "1");
        other.append(&id, &changes).unwrap();
        workshop.write("mine", "");
    });
    assert_eq!(changed, ["mine: absent -> file"]);
}

#[test]
fn ignored_files_git_and_other_devices_are_left_alone() {
    let workshop = Workshop::new();
    workshop.write(".gitignore", "target/\n*.log\n!kept.log\n");
    workshop.write(".git/HEAD", "1");
    let changed = after(&workshop, || {
        workshop.write("target/debug/x", "");
        workshop.write("deep/a.log", "");
        workshop.write("deep/kept.log", "");
        workshop.write(".git/HEAD", "2");
    });
    assert_eq!(
        changed,
        ["deep: absent -> folder", "deep/kept.log: absent -> file"]
    );
}

#[test]
fn a_file_is_neither_new_nor_gone_because_its_rule_changed() {
    let workshop = Workshop::new();
    workshop.write(".gitignore", ".env\n");
    workshop.write(".env", "secret");
    workshop.write("build/x", "");
    let changed = after(&workshop, || workshop.write(".gitignore", "build\n"));
    assert_eq!(changed, [".gitignore: file -> file"]);
}

#[test]
fn rules_of_the_repository_above_the_folder_count() {
    let workshop = Workshop::new();
    workshop.write(".git/HEAD", "");
    workshop.write(".gitignore", "/inside/out\n");
    workshop.write("inside/in", "");
    let all = crate::Checkpoints::in_folder(
        workshop.stored.path().join("x"),
        CheckpointLimits::default(),
    );
    let recorder = Recorder::new(all.of_folder(&workshop.path("inside")), "session");
    recorder.before_command();
    workshop.write("inside/out/file", "");
    workshop.write("inside/in", "2");
    assert_eq!(shown(&recorder.after_command()), ["in: file -> file"]);
}

#[test]
fn a_link_is_recorded_as_one_and_never_followed() {
    let workshop = Workshop::new();
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("file"), "1").unwrap();
    symlink(outside.path(), workshop.path("link")).unwrap();
    let changed = after(&workshop, || {
        fs::write(outside.path().join("file"), "2").unwrap();
        fs::remove_file(workshop.path("link")).unwrap();
        symlink("elsewhere", workshop.path("link")).unwrap();
    });
    assert_eq!(changed, ["link: link -> link"]);
}

#[test]
fn a_write_outside_the_folder_is_named() {
    let workshop = Workshop::new();
    let outside = tempfile::tempdir().unwrap();
    let file = outside.path().join("file");
    let before = workshop.recorder.before_write(std::slice::from_ref(&file));
    fs::write(&file, "").unwrap();
    assert_eq!(
        shown(&workshop.recorder.after_write(before)),
        [format!(
            "what was in {} (it is outside the folder, or in .git)",
            file.display()
        )]
    );
}

#[test]
fn what_is_too_large_or_cannot_be_read_is_known_to_be_unknown() {
    let workshop = Workshop::with(CheckpointLimits {
        file_bytes: 3,
        ..CheckpointLimits::default()
    });
    workshop.write("large", "1234");
    workshop.write("closed", "1");
    workshop.set_mode("closed", 0o000);
    let changed = after(&workshop, || {
        workshop.write("large", "12345");
        fs::remove_file(workshop.path("closed")).unwrap();
    });
    let closed = match is_root() {
        true => "closed: file -> absent",
        false => "closed: unknown -> absent",
    };
    assert_eq!(changed, [closed, "large: unknown -> unknown"]);
}

#[test]
fn a_folder_with_too_many_files_is_left_out_and_the_others_are_not() {
    let workshop = Workshop::with(CheckpointLimits {
        folder_entries: 5,
        ..CheckpointLimits::default()
    });
    for n in 0..10 {
        workshop.write(&format!("many/{n}"), "");
    }
    workshop.write("few/file", "1");
    let changed = after(&workshop, || {
        workshop.write("many/0", "2");
        workshop.write("few/file", "2");
    });
    assert_eq!(
        changed,
        ["few/file: file -> file", "what commands changed in many",]
    );
}

#[test]
fn no_time_means_nothing_known_and_that_is_said_once() {
    let workshop = Workshop::with(CheckpointLimits {
        time: Duration::ZERO,
        ..CheckpointLimits::default()
    });
    workshop.write("file", "1");
    let missing = ["what commands changed in the folder"];
    assert_eq!(after(&workshop, || workshop.write("file", "2")), missing);
    assert_eq!(after(&workshop, || workshop.write("file", "3")), [""; 0]);
}

#[test]
fn a_store_that_cannot_be_written_keeps_nothing_from_running() {
    if is_root() {
        return; // Root may write everywhere.
    }
    let workshop = Workshop::new();
    workshop.write("file", "1");
    fs::set_permissions(
        workshop.stored.path().join("checkpoints"),
        std::os::unix::fs::PermissionsExt::from_mode(0o500),
    )
    .unwrap();
    let changed = after(&workshop, || workshop.write("file", "2"));
    assert_eq!(changed, ["what commands changed in the folder"]);
}

#[test]
fn what_was_copied_is_not_read_again_in_the_next_run() {
    let workshop = Workshop::new();
    workshop.write("file", "1");
    workshop.recorder.prepare();
    {
        let mut state = workshop.recorder.lock();
        let snapshot = state.snapshot.as_mut().unwrap();
        assert_eq!(snapshot.read, 1);
        // As if it had been written long before it was read.
        for seen in snapshot.entries.values_mut() {
            seen.is_racy = false;
        }
        state.is_unsaved = true;
    }
    workshop.recorder.finish();
    workshop.recorder.prepare();
    assert_eq!(workshop.recorder.lock().snapshot.as_ref().unwrap().read, 0);
}

#[test]
fn what_a_command_has_had_ignored_is_still_looked_at() {
    let workshop = Workshop::new();
    fs::create_dir(workshop.path(".git")).unwrap();
    workshop.write("file", "1");
    workshop.write("folder/file", "1");
    let changed = after(&workshop, || {
        workshop.write(".gitignore", "*\n");
        workshop.write("file", "2");
        fs::remove_file(workshop.path("folder/file")).unwrap();
        workshop.write("folder/new", "");
    });
    assert_eq!(
        changed,
        ["file: file -> file", "folder/file: file -> absent"]
    );
}

#[test]
fn small_files_near_the_top_are_copied_before_what_is_deep() {
    let workshop = Workshop::with(CheckpointLimits {
        total_bytes: 100,
        ..CheckpointLimits::default()
    });
    workshop.write("top.txt", &"t".repeat(60));
    for name in ["a", "b", "c", "d"] {
        workshop.write(&format!("deep/er/{name}"), &"d".repeat(20));
    }
    let id = workshop.command(|| {
        workshop.write("top.txt", "new");
        for name in ["a", "b", "c", "d"] {
            workshop.write(&format!("deep/er/{name}"), "new");
        }
    });
    let store = workshop.recorder.store();
    let plan = crate::rewind::plan(store, &[id]).unwrap();
    let steps: Vec<_> = plan.steps.iter().map(|step| step.path.clone()).collect();
    assert!(steps.contains(&PathBuf::from("top.txt")), "{steps:?}");
    assert_eq!((steps.len(), plan.lost.len()), (3, 2));
}
