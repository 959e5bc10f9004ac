use std::fs;
use std::os::unix::fs::symlink;

use tempfile::TempDir;

use crate::checkpoint::CheckpointId;
use crate::rewind::plan;
use crate::testing::{Workshop, shown};
use crate::{CheckpointLimits, Checkpoints, Recorder};

/// A folder, and where it really is.
fn folder() -> (TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap();
    (folder, path)
}

/// Undoes a run, and says what became of it with `$` for the additional folder.
fn rewind(
    recorder: &Recorder,
    id: &CheckpointId,
    as_entry: &str,
    folder: &std::path::Path,
) -> (Vec<String>, CheckpointId) {
    let undone = CheckpointId::of_entry("session", as_entry);
    let rewound = recorder.rewind(std::slice::from_ref(id), false, &undone);
    let rewound = rewound.unwrap();
    let steps = rewound.plan.steps.iter().map(|step| step.shown());
    let lost = rewound.plan.lost.iter().chain(&rewound.done.failed);
    let lost = lost.map(|(path, why)| format!("{}: {why}", path.display()));
    let lines = steps.chain(lost).chain(rewound.unrecorded);
    let here = folder.display().to_string();
    (lines.map(|line| line.replace(&here, "$")).collect(), undone)
}

#[test]
fn what_changes_in_an_additional_folder_is_undone_and_done_again_by_who_does_not_know_it() {
    let (_more, more) = folder();
    let workshop = Workshop::new().including(&[&more]);
    workshop.write("own", "old");
    fs::write(more.join("changed"), "old").unwrap();
    fs::write(more.join("deleted"), "gone").unwrap();
    fs::write(more.join("written"), "old").unwrap();
    let run = workshop.command(|| {
        workshop.write("own", "new");
        fs::write(more.join("changed"), "new").unwrap();
        fs::remove_file(more.join("deleted")).unwrap();
        fs::create_dir_all(more.join("made/here")).unwrap();
        fs::write(more.join("made/here/too"), "").unwrap();
    });
    let before = workshop.recorder.before_write(&[more.join("written")]);
    fs::write(more.join("written"), "new").unwrap();
    let changes = workshop.recorder.after_write(before);
    workshop.recorder.append(&run, &changes).unwrap();

    // Another process, which was told nothing of the other folder.
    let store = Checkpoints::in_folder(workshop.stored.path().join("checkpoints"), workshop.limits);
    let other = Recorder::new(store.of_folder(workshop.folder.path()), "session");
    let (lines, undone) = rewind(&other, &run, "undone", &more);
    assert_eq!(
        lines,
        [
            "$/changed",
            "$/deleted (was deleted)",
            "$/made (removed)",
            "$/made/here (removed)",
            "$/made/here/too (removed)",
            "$/written",
            "own",
        ]
    );
    let read = |name: &str| fs::read_to_string(more.join(name)).unwrap();
    assert_eq!(
        [read("changed"), read("deleted"), read("written")],
        ["old", "gone", "old"]
    );
    assert_eq!(workshop.read("own"), "old");
    assert!(!more.join("made").exists());

    rewind(&other, &undone, "again", &more);
    assert_eq!([read("changed"), read("written")], ["new", "new"]);
    assert!(more.join("made/here/too").exists() && !more.join("deleted").exists());
}

#[test]
fn folders_inside_each_other_are_looked_at_once() {
    let workshop = Workshop::new();
    let own = workshop.path("");
    let above = own.parent().unwrap().join(format!(
        "{}-above",
        own.file_name().unwrap().to_string_lossy()
    ));
    fs::create_dir_all(above.join("session/inner")).unwrap();
    fs::create_dir_all(above.join("other/inner")).unwrap();
    let all = Checkpoints::in_folder(workshop.stored.path().join("checkpoints"), workshop.limits);
    let store = all.of_folder(&above.join("session"));
    let additional = ["", "session/inner", "other", "other/inner", ".git"];
    let additional = additional.map(|name| above.join(name));
    let recorder = Recorder::new(store.including(&additional), "session");
    recorder.before_command();
    for name in [
        "a",
        "session/b",
        "session/inner/c",
        "other/d",
        "other/inner/e",
    ] {
        fs::write(above.join(name), "").unwrap();
    }
    let changes = shown(&recorder.after_command());
    fs::remove_dir_all(&above).unwrap();
    let here = above.display().to_string();
    let changes: Vec<String> = changes
        .iter()
        .map(|line| line.replace(&here, "$"))
        .collect();
    assert_eq!(
        changes,
        [
            "$/a: absent -> file",
            "$/other/d: absent -> file",
            "$/other/inner/e: absent -> file",
            "b: absent -> file",
            "inner/c: absent -> file",
        ]
    );
}

#[test]
fn an_additional_folder_that_became_a_link_is_not_followed() {
    let ((outer, _), (_elsewhere, elsewhere)) = (folder(), folder());
    let more = outer.path().canonicalize().unwrap().join("more");
    fs::create_dir(&more).unwrap();
    let workshop = Workshop::new().including(&[&more]);
    fs::write(more.join("file"), "old").unwrap();
    fs::write(elsewhere.join("file"), "new").unwrap();
    let run = workshop.command(|| fs::write(more.join("file"), "new").unwrap());
    fs::rename(&more, outer.path().join("moved")).unwrap();
    symlink(&elsewhere, &more).unwrap();
    let (lines, _) = rewind(&workshop.recorder, &run, "undone", &more);
    let why = "what is there now could not be copied: its folder is not there";
    assert_eq!(lines, [format!("$/file: {why}")]);
    assert_eq!(fs::read_to_string(elsewhere.join("file")).unwrap(), "new");
}

#[test]
fn all_folders_of_a_session_share_its_limits() {
    let (_more, more) = folder();
    let limits = CheckpointLimits {
        files: 4,
        ..CheckpointLimits::default()
    };
    let workshop = Workshop::with(limits).including(&[&more]);
    for name in ["a/1", "a/2", "b/1", "b/2"] {
        workshop.write(name, "");
        let path = more.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }
    let run = workshop.command(|| {});
    let unknown = plan(workshop.recorder.store(), &[run]).unwrap().unknown;
    let unknown: Vec<String> = unknown
        .iter()
        .map(|text| text.replace(&more.display().to_string(), "$"))
        .collect();
    assert_eq!(unknown.len(), 1);
    assert!(
        unknown[0].starts_with("what commands changed in ") && unknown[0].ends_with(" and 1 more"),
        "{unknown:?}"
    );
}
