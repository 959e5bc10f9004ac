use std::fs;
use std::os::unix::fs::symlink;

use super::*;
use crate::CheckpointLimits;
use crate::testing::Workshop;
use crate::tree::FolderTree;

/// Undoes runs and says what became of it: what was put back, what was changed, what is lost.
fn rewind(workshop: &Workshop, ids: &[CheckpointId], force: bool) -> (Vec<String>, CheckpointId) {
    let store = workshop.recorder.store();
    let plan = plan(store, ids).unwrap();
    let rewound = plan.apply(store, force).unwrap();
    let shown = |step: &RewindStep| step.shown();
    let mut lines: Vec<String> = plan.steps.iter().map(shown).collect();
    lines.extend(
        plan.changed
            .iter()
            .map(|step| format!("changed: {}", step.shown())),
    );
    let lost = plan.lost.iter().chain(&rewound.failed);
    lines.extend(lost.map(|(path, why)| format!("{}: {why}", path.display())));
    let id = workshop.record(&rewound.changes);
    (lines, id)
}

#[test]
fn everything_a_command_did_is_undone_and_done_again() {
    let workshop = Workshop::new();
    workshop.write("changed", "old");
    workshop.write("deleted", "gone");
    workshop.write("renamed", "same");
    workshop.write("deep/er/file", "deep");
    workshop.write("mode", "");
    workshop.set_mode("mode", 0o644);
    fs::write(workshop.path("binary"), [0, 159, 146, 150]).unwrap();
    symlink("changed", workshop.path("link")).unwrap();
    let run = workshop.command(|| {
        workshop.write("changed", "new");
        fs::remove_file(workshop.path("deleted")).unwrap();
        fs::rename(workshop.path("renamed"), workshop.path("other")).unwrap();
        fs::remove_dir_all(workshop.path("deep")).unwrap();
        workshop.set_mode("mode", 0o600);
        fs::write(workshop.path("binary"), [255]).unwrap();
        fs::remove_file(workshop.path("link")).unwrap();
        workshop.write("made/here/too", "");
    });
    let (lines, undone) = rewind(&workshop, std::slice::from_ref(&run), false);
    assert_eq!(
        lines,
        [
            "binary",
            "changed",
            "deep (was deleted)",
            "deep/er (was deleted)",
            "deep/er/file (was deleted)",
            "deleted (was deleted)",
            "link (was deleted)",
            "made (removed)",
            "made/here (removed)",
            "made/here/too (removed)",
            "mode",
            "other (removed)",
            "renamed (was deleted)",
        ]
    );
    assert_eq!(workshop.read("changed"), "old");
    assert_eq!(workshop.read("deleted"), "gone");
    assert_eq!(workshop.read("renamed"), "same");
    assert_eq!(workshop.read("deep/er/file"), "deep");
    assert_eq!(workshop.mode("mode"), 0o644);
    assert_eq!(
        fs::read(workshop.path("binary")).unwrap(),
        [0, 159, 146, 150]
    );
    assert_eq!(
        fs::read_link(workshop.path("link")).unwrap(),
        PathBuf::from("changed")
    );
    assert!(!workshop.path("made").exists() && !workshop.path("other").exists());

    rewind(&workshop, &[undone], false);
    assert_eq!(workshop.read("changed"), "new");
    assert_eq!(workshop.read("made/here/too"), "");
    assert!(!workshop.path("deep").exists() && !workshop.path("link").is_symlink());

    let (lines, _) = rewind(&workshop, &[run], false);
    assert_eq!(lines.len(), 13);
}

#[test]
fn a_second_rewind_has_nothing_to_do() {
    let workshop = Workshop::new();
    workshop.write("file", "1");
    let run = workshop.tool("file", "2");
    rewind(&workshop, std::slice::from_ref(&run), false);
    let (lines, _) = rewind(&workshop, &[run], false);
    assert_eq!(lines, [""; 0]);
    assert_eq!(workshop.read("file"), "1");
}

#[test]
fn a_file_that_changed_since_is_shown_and_overwritten_only_by_force() {
    let workshop = Workshop::new();
    workshop.write("mine", "1");
    let run = workshop.tool("mine", "2");
    let other = workshop.tool("other", "2");
    workshop.write("mine", "3");
    let ids = [run, other];
    let (lines, _) = rewind(&workshop, &ids, false);
    assert_eq!(lines, ["other (removed)", "changed: mine"]);
    assert_eq!(workshop.read("mine"), "3");
    let (_, forced) = rewind(&workshop, &ids, true);
    assert_eq!(workshop.read("mine"), "1");
    rewind(&workshop, &[forced], false);
    assert_eq!(workshop.read("mine"), "3");
}

#[test]
fn what_somebody_wrote_between_two_runs_is_shown() {
    let workshop = Workshop::new();
    workshop.write("file", "1");
    let first = workshop.tool("file", "2");
    workshop.write("file", "3");
    let second = workshop.tool("file", "4");
    let (lines, _) = rewind(&workshop, &[first, second.clone()], false);
    assert_eq!(lines, ["changed: file"]);
    rewind(&workshop, &[second], false);
    assert_eq!(workshop.read("file"), "3");
}

#[test]
fn a_link_put_in_the_way_leads_nowhere() {
    let workshop = Workshop::new();
    let outside = tempfile::tempdir().unwrap();
    workshop.write("in/file", "1");
    let run = workshop.tool("in/file", "2");
    fs::write(outside.path().join("file"), "2").unwrap();
    fs::rename(workshop.path("in"), workshop.path("was")).unwrap();
    symlink(outside.path(), workshop.path("in")).unwrap();
    rewind(&workshop, std::slice::from_ref(&run), true);
    assert_eq!(
        fs::read_to_string(outside.path().join("file")).unwrap(),
        "2"
    );
    // A link in the place of the file itself is replaced, not followed.
    fs::remove_file(workshop.path("in")).unwrap();
    fs::create_dir(workshop.path("in")).unwrap();
    symlink(outside.path().join("file"), workshop.path("in/file")).unwrap();
    rewind(&workshop, &[run], true);
    assert_eq!(
        fs::read_to_string(outside.path().join("file")).unwrap(),
        "2"
    );
    assert_eq!(workshop.read("in/file"), "1");
    assert!(!workshop.path("in/file").is_symlink());
}

#[test]
fn nothing_outside_the_folder_or_in_git_is_touched_whatever_a_checkpoint_says() {
    let workshop = Workshop::new();
    let outside = tempfile::tempdir().unwrap();
    let file = outside.path().join("file");
    fs::write(&file, "2").unwrap();
    workshop.write(".git/config", "2");
    let hash = workshop.recorder.store().objects.store(b"1").unwrap();
    let before = PathState::File {
        hash,
        size: 1,
        mode: 0o644,
    };
    let changes = [
        &*file,
        "../x".as_ref(),
        ".git/config".as_ref(),
        "a/.GIT/b".as_ref(),
    ];
    let changes = changes.map(|path| PathChange {
        path: path.to_owned(),
        before: before.clone(),
        after: PathState::Absent,
    });
    let run = workshop.record(&Changes {
        files: changes.to_vec(),
        ..Changes::default()
    });
    rewind(&workshop, &[run], true);
    assert_eq!(fs::read_to_string(&file).unwrap(), "2");
    assert_eq!(workshop.read(".git/config"), "2");
    assert!(!workshop.path("a").exists() && !workshop.path("../x").exists());
}

#[test]
fn nothing_is_written_through_a_link_that_a_run_made() {
    let workshop = Workshop::new();
    workshop.write("one", "1");
    workshop.write("two", "2");
    let run = workshop.command(|| {
        fs::remove_file(workshop.path("one")).unwrap();
        fs::hard_link(workshop.path("two"), workshop.path("one")).unwrap();
    });
    rewind(&workshop, &[run], false);
    assert_eq!(
        (workshop.read("one"), workshop.read("two")),
        ("1".into(), "2".into())
    );
}

#[test]
fn what_cannot_be_copied_stays_also_by_force() {
    let workshop = Workshop::with(CheckpointLimits {
        file_bytes: 2,
        written_bytes: 4,
        ..CheckpointLimits::default()
    });
    workshop.write("large", "12345");
    let run = workshop.command(|| {
        fs::create_dir(workshop.path("in")).unwrap();
        fs::rename(workshop.path("large"), workshop.path("in/large")).unwrap();
    });
    rewind(&workshop, &[run], true);
    assert_eq!(workshop.read("in/large"), "12345");
}

#[test]
fn a_folder_that_became_a_link_comes_back_with_what_was_in_it() {
    let workshop = Workshop::new();
    fs::create_dir_all(workshop.path("src/sub")).unwrap();
    workshop.write("src/sub/f", "1");
    let run = workshop.command(|| {
        fs::rename(workshop.path("src"), workshop.path("lib")).unwrap();
        symlink("lib", workshop.path("src")).unwrap();
    });
    rewind(&workshop, &[run], false);
    assert_eq!(workshop.read("src/sub/f"), "1");
    assert!(!workshop.path("src").is_symlink() && !workshop.path("lib").exists());
}

#[test]
fn what_the_program_keeps_is_not_looked_at_whatever_links_lead_there() {
    let home = tempfile::tempdir().unwrap();
    let really = home.path().join("really");
    fs::create_dir_all(really.join("data/sessions")).unwrap();
    symlink(&really, home.path().join("link")).unwrap();
    let data = home.path().join("link/data");
    let all = crate::Checkpoints::in_folder(data.join("checkpoints"), CheckpointLimits::default());
    let store = all.leaving_out([data]).of_folder(&really);
    assert_eq!(
        store.left_out(),
        [std::path::PathBuf::from("data/checkpoints"), "data".into()]
    );
}

#[test]
fn what_was_not_copied_is_named() {
    let workshop = Workshop::with(CheckpointLimits {
        file_bytes: 2,
        ..CheckpointLimits::default()
    });
    workshop.write("large", "123");
    let run = workshop.command(|| workshop.write("large", "1"));
    let (lines, _) = rewind(&workshop, &[run], true);
    assert_eq!(lines, ["large: it was too large to be copied"]);
    assert_eq!(workshop.read("large"), "1");
}

#[test]
fn a_file_larger_than_everything_that_is_copied_is_called_too_large() {
    let workshop = Workshop::with(CheckpointLimits {
        file_bytes: 2,
        total_bytes: 4,
        written_bytes: 4,
        ..CheckpointLimits::default()
    });
    workshop.write("deleted", "12345");
    let run = workshop.command(|| {
        fs::remove_file(workshop.path("deleted")).unwrap();
        workshop.write("made", "12345");
    });
    let (lines, _) = rewind(&workshop, &[run], true);
    assert_eq!(
        lines,
        [
            "deleted: it was too large to be copied",
            "made: what is there now is too large to be copied"
        ]
    );
    assert_eq!(workshop.read("made"), "12345");
}

#[test]
fn a_folder_with_files_of_others_is_not_replaced_by_a_file_and_that_is_said() {
    let workshop = Workshop::new();
    workshop.write("file", "1");
    let run = workshop.command(|| workshop.write("file", "2"));
    fs::remove_file(workshop.path("file")).unwrap();
    workshop.write("file/mine", "mine");
    let (lines, _) = rewind(&workshop, &[run], true);
    assert_eq!(
        lines,
        [
            "changed: file",
            "file: a folder with other files is there now"
        ]
    );
    assert_eq!(workshop.read("file/mine"), "mine");
}

#[test]
fn a_copy_that_is_gone_or_damaged_changes_nothing() {
    let workshop = Workshop::new();
    for name in ["gone", "damaged"] {
        workshop.write(name, name);
    }
    let runs = [workshop.tool("gone", "2"), workshop.tool("damaged", "2")];
    let objects = &workshop.recorder.store().objects;
    let path = |content: &[u8]| objects.path(objects.store(content).unwrap());
    fs::remove_file(path(b"gone")).unwrap();
    fs::write(path(b"damaged"), "DAMAGED").unwrap();
    let (lines, _) = rewind(&workshop, &runs, false);
    assert_eq!(
        lines,
        [
            "damaged",
            "gone: its copy is gone",
            "damaged: the stored copy is damaged"
        ]
    );
    assert_eq!(workshop.read("damaged"), "2");
}

#[test]
fn a_folder_that_somebody_uses_stays() {
    let workshop = Workshop::new();
    let run = workshop.tool("made/file", "");
    workshop.write("made/mine", "");
    rewind(&workshop, &[run], false);
    assert!(!workshop.path("made/file").exists() && workshop.path("made/mine").exists());
}

#[test]
fn a_file_and_a_folder_change_places() {
    let workshop = Workshop::new();
    workshop.write("a", "file");
    workshop.write("b/c", "inside");
    let run = workshop.command(|| {
        fs::remove_file(workshop.path("a")).unwrap();
        fs::remove_dir_all(workshop.path("b")).unwrap();
        workshop.write("a/c", "now inside");
        workshop.write("b", "now a file");
    });
    rewind(&workshop, &[run], false);
    assert_eq!(
        (workshop.read("a"), workshop.read("b/c")),
        ("file".into(), "inside".into())
    );
}

#[test]
fn checkpoints_that_are_not_here_are_counted() {
    let workshop = Workshop::new();
    let missing = CheckpointId::of_entry("another", "session");
    let found = plan(workshop.recorder.store(), &[missing]).unwrap();
    assert_eq!((found.missing, found.steps), (1, Vec::new()));
    assert!("../../etc/passwd".parse::<CheckpointId>().is_err());
}

#[test]
fn a_half_written_last_line_costs_that_line() {
    let workshop = Workshop::new();
    workshop.write("file", "1");
    let run = workshop.tool("file", "2");
    let path = workshop.recorder.store().file_of(&run);
    let mut text = fs::read(&path).unwrap();
    text.extend(b"{\"path\":\"x\",\"bef");
    fs::write(&path, text).unwrap();
    rewind(&workshop, &[run], false);
    assert_eq!(workshop.read("file"), "1");
}

#[test]
fn names_that_are_no_text_come_back() {
    use std::os::unix::ffi::OsStrExt;
    let workshop = Workshop::new();
    let name = std::ffi::OsStr::from_bytes(b"caf\xe9");
    let path = workshop.path("").join(name);
    if fs::write(&path, "1").is_err() {
        return; // Some systems have no such names.
    }
    let run = workshop.command(|| fs::remove_file(&path).unwrap());
    rewind(&workshop, &[run], false);
    assert_eq!(fs::read_to_string(&path).unwrap(), "1");
}

mod whatever_commands_do {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    const NAMES: [&str; 6] = ["a", "b", "d/a", "d/b", "d/e/a", "f"];

    #[derive(Debug, Clone)]
    enum Act {
        Write(usize, u8),
        Delete(usize),
        Rename(usize, usize),
        Mode(usize, u32),
        Link(usize, usize),
    }

    fn act() -> impl Strategy<Value = Act> {
        let name = || 0..NAMES.len();
        prop_oneof![
            (name(), 0..3u8).prop_map(|(name, content)| Act::Write(name, content)),
            name().prop_map(Act::Delete),
            (name(), name()).prop_map(|(from, to)| Act::Rename(from, to)),
            (name(), prop_oneof![Just(0o600), Just(0o755)]).prop_map(|(n, m)| Act::Mode(n, m)),
            (name(), name()).prop_map(|(name, to)| Act::Link(name, to)),
        ]
    }

    fn perform(workshop: &Workshop, acts: &[Act]) {
        let at = |name: &usize| workshop.path(NAMES[*name]);
        for act in acts {
            // What cannot be done is not done.
            let _ = match act {
                Act::Write(name, content) => {
                    let _ = fs::create_dir_all(at(name).parent().unwrap());
                    fs::write(at(name), [*content])
                }
                Act::Delete(name) => fs::remove_file(at(name)).or_else(|_| {
                    let above = at(name).parent().unwrap().to_owned();
                    fs::remove_dir(above)
                }),
                Act::Rename(from, to) => fs::rename(at(from), at(to)),
                Act::Mode(name, mode) => {
                    let mode = std::os::unix::fs::PermissionsExt::from_mode(*mode);
                    fs::set_permissions(at(name), mode)
                }
                Act::Link(name, to) => symlink(NAMES[*to], at(name)),
            };
        }
    }

    fn all(workshop: &Workshop) -> BTreeMap<PathBuf, PathState> {
        let tree = FolderTree::open(&workshop.path("")).unwrap();
        let names = NAMES.iter().chain(&["d", "d/e"]);
        let state = |name: &&str| (PathBuf::from(name), tree.state(name.as_ref(), None, 100));
        names.map(state).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
        #[test]
        fn a_rewind_gives_the_folder_as_it_was(
            before in prop::collection::vec(act(), 0..12),
            runs in prop::collection::vec(prop::collection::vec(act(), 0..6), 1..4),
        ) {
            let workshop = Workshop::new();
            workshop.write("stays", "");
            perform(&workshop, &before);
            let was = all(&workshop);
            let ids: Vec<CheckpointId> = runs
                .iter()
                .map(|acts| workshop.command(|| perform(&workshop, acts)))
                .collect();
            let is = all(&workshop);
            let (_, undone) = rewind(&workshop, &ids, false);
            prop_assert_eq!(all(&workshop), was);
            rewind(&workshop, &[undone], false);
            prop_assert_eq!(all(&workshop), is);
        }
    }
}

#[test]
fn what_a_command_wrote_and_nobody_read_counts_as_its_own_while_it_looks_the_same() {
    let workshop = Workshop::with(CheckpointLimits {
        file_bytes: 3,
        ..CheckpointLimits::default()
    });
    let run = workshop.command(|| {
        workshop.write("large", "1234");
        workshop.write("touched", "1234");
    });
    workshop.write("touched", "12345");
    let (lines, _) = rewind(&workshop, &[run], false);
    assert_eq!(lines, ["large (removed)", "changed: touched (removed)"]);
}

#[test]
fn a_read_only_folder_comes_back_with_what_was_in_it_and_goes_again() {
    let workshop = Workshop::new();
    workshop.write("closed/file", "old");
    workshop.set_mode("closed", 0o555);
    let run = workshop.command(|| {
        workshop.set_mode("closed", 0o755);
        fs::remove_dir_all(workshop.path("closed")).unwrap();
        workshop.write("made/file", "new");
        workshop.set_mode("made", 0o555);
    });
    let (lines, undone) = rewind(&workshop, std::slice::from_ref(&run), false);
    let expected = [
        "closed (was deleted)",
        "closed/file (was deleted)",
        "made (removed)",
        "made/file (removed)",
    ];
    assert_eq!(lines, expected);
    assert_eq!(workshop.read("closed/file"), "old");
    assert_eq!(workshop.mode("closed"), 0o555);
    assert!(!workshop.path("made").exists());
    rewind(&workshop, &[undone], false);
    assert!(!workshop.path("closed").exists());
    assert_eq!(
        (workshop.read("made/file").as_str(), workshop.mode("made")),
        ("new", 0o555)
    );
    // Whoever cleans up may not be root.
    workshop.set_mode("made", 0o755);
}

#[test]
fn the_group_of_a_folder_stays_that_of_what_is_put_into_it() {
    let workshop = Workshop::new();
    workshop.write("shared/file", "");
    workshop.set_mode("shared", 0o2775);
    let run = workshop.command(|| fs::remove_dir_all(workshop.path("shared")).unwrap());
    rewind(&workshop, &[run], false);
    assert_eq!(workshop.mode("shared"), 0o2775);
}

#[test]
fn a_pipe_that_a_command_made_stays_and_is_named() {
    let workshop = Workshop::new();
    let run = workshop.command(|| {
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        let kind = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, workshop.path("pipe"), kind, mode, 0).unwrap();
        workshop.write("file", "made");
    });
    let (lines, _) = rewind(&workshop, std::slice::from_ref(&run), true);
    assert_eq!(
        lines,
        [
            "file (removed)",
            "pipe: what is there now is a pipe, a socket or a device"
        ]
    );
    assert!(fs::symlink_metadata(workshop.path("pipe")).is_ok());
}

#[test]
fn a_folder_that_was_replaced_by_a_link_is_named_in_plain_words() {
    let workshop = Workshop::new();
    workshop.write("folder/file", "old");
    fs::create_dir(workshop.path("elsewhere")).unwrap();
    let run = workshop.command(|| workshop.write("folder/file", "new"));
    fs::remove_dir_all(workshop.path("folder")).unwrap();
    symlink("elsewhere", workshop.path("folder")).unwrap();
    let (lines, _) = rewind(&workshop, std::slice::from_ref(&run), true);
    assert_eq!(
        lines,
        [
            "changed: folder/file (was deleted)",
            "folder/file: its folder is a link or a file by now, which stays"
        ]
    );
    assert_eq!(workshop.read("elsewhere/file"), "entity not found");
}
