//! A path that becomes a link to elsewhere between the decision and the deed.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::plan;
use crate::dialects::{self, UNASKED};
use crate::rules::person::{DIALECTS, Dialect, Person, Says};
use crate::world::World;

fn world_with(scenario: &str, config: &str) -> World {
    let world = World::new(scenario, config);
    world.file("work/in/file", "inside");
    world.file("out/file", "outside");
    world
}

fn assert_untouched(world: &World) {
    let names: Vec<_> = fs::read_dir(world.path("out"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(names, ["file"]);
    assert_eq!(
        fs::read_to_string(world.path("out/file")).unwrap(),
        "outside"
    );
}

/// Has a person allow the first call when `swap` has been done to the world. Everything that was said.
fn allowed_after(world: &World, dialect: Dialect, swap: impl FnOnce(&World)) -> String {
    let mut person = Person::prompts(world, dialect);
    let question = person.asked().unwrap();
    // What is shown is where it is; what is there becomes something else.
    swap(world);
    person.answers(&question, Says::Once);
    person.runs_to_the_end();
    person.seen.join("\n")
}

fn swap_folder(world: &World) {
    fs::rename(world.path("work/in"), world.path("work/was")).unwrap();
    symlink("../out", world.path("work/in")).unwrap();
}

fn swap_file(world: &World) {
    fs::remove_file(world.path("work/in/file")).unwrap();
    symlink("../../out/file", world.path("work/in/file")).unwrap();
}

const ASK: &str = "permission_mode = \"ask\"\n";

#[test]
fn a_folder_swapped_while_the_question_is_open_leads_nowhere() {
    for (tool, arguments) in [
        ("write", r#"path = "in/file", content = "x""#),
        ("write", r#"path = "in/new", content = "x""#),
        ("write", r#"path = "in/deep/new", content = "x""#),
        (
            "edit",
            r#"path = "in/file", oldText = "outside", newText = "x""#,
        ),
    ] {
        for dialect in DIALECTS {
            let world = world_with(&plan(&[(tool, arguments.to_owned())]), ASK);
            let said = allowed_after(&world, dialect, swap_folder);
            assert!(
                said.contains("was changed while permission was decided"),
                "{dialect:?}: {said}"
            );
            assert_untouched(&world);
        }
    }
}

#[test]
fn a_file_swapped_while_the_question_is_open_leads_nowhere() {
    for dialect in DIALECTS {
        let arguments = r#"path = "in/file", content = "x""#.to_owned();
        let world = world_with(&plan(&[("write", arguments)]), ASK);
        allowed_after(&world, dialect, swap_file);
        assert_untouched(&world);
    }
}

#[test]
fn a_folder_swapped_while_the_question_is_open_is_not_searched() {
    for (tool, arguments) in [
        ("ls", r#"path = "in""#),
        ("find", r#"path = "in", pattern = "*""#),
        ("grep", r#"path = "in", pattern = "outside""#),
        ("grep", r#"path = "in/file", pattern = "outside""#),
    ] {
        for dialect in DIALECTS {
            let ask = format!("[[permissions]]\ntool = \"{tool}\"\ndecision = \"ask\"\n");
            let world = world_with(&plan(&[(tool, arguments.to_owned())]), &ask);
            world.file("out/only-here", "outside");
            let said = allowed_after(&world, dialect, swap_folder);
            assert!(
                said.contains("was changed while permission was decided"),
                "{dialect:?}, {tool}: {said}"
            );
            assert!(!said.contains("only-here"), "{dialect:?}, {tool}: {said}");
        }
    }
}

/// Swaps a folder and a link as fast as it can until it is told to stop.
fn keep_swapping(one: &Path, other: &Path, stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).unwrap();
    }
}

#[test]
fn a_folder_swapped_in_a_loop_lets_nothing_out() {
    const CALLS: usize = 100;
    let calls: Vec<_> = (0..CALLS)
        .map(|index| match index % 4 {
            0 => ("write", r#"path = "in/file", content = "x""#.to_owned()),
            1 => (
                "write",
                format!("path = \"in/new{index}\", content = \"x\""),
            ),
            2 => ("read", r#"path = "in/file""#.to_owned()),
            _ => ("grep", r#"pattern = "outs[i]de""#.to_owned()),
        })
        .collect();
    let attack = |ask: &dyn Fn(&World) -> String| {
        let world = world_with(&plan(&calls), "permission_mode = \"accept-edits\"\n");
        symlink("../out", world.path("work/link")).unwrap();
        let stop = AtomicBool::new(false);
        let (one, other) = (world.path("work/in"), world.path("work/link"));
        let said = std::thread::scope(|scope| {
            scope.spawn(|| keep_swapping(&one, &other, &stop));
            let said = ask(&world);
            stop.store(true, Ordering::Relaxed);
            said
        });
        assert_untouched(&world);
        said
    };
    for way in UNASKED {
        let said = attack(&|world| dialects::prompt(world, way));
        assert!(
            !said.contains("outside\""),
            "{way}: something of the outside was read"
        );
    }
    // What a person is asked may show what they are asked about.
    for dialect in DIALECTS {
        attack(&|world| {
            Person::prompts(world, dialect).refuses_the_rest();
            String::new()
        });
    }
}
