//! One yes for always covers what was asked, and what the choice said.

use serde_json::json;

use super::commands;
use super::person::{DIALECTS, Dialect, Person, Says};
use crate::world::World;

const ASK: &str = "permission_mode = \"ask\"\n";

/// Says always to the first command. How many further questions came.
fn questions_after_always(dialect: Dialect, asked: &[&str]) -> (String, usize, World) {
    let world = World::new(&commands(asked), ASK);
    world.file("work/x", "");
    let mut person = Person::prompts(&world, dialect);
    let first = person.asked().unwrap();
    person.answers(&first, Says::Always);
    let further = person.refuses_the_rest().len();
    (first, further, world)
}

#[test]
fn one_yes_allows_no_other_arguments_of_a_command_that_can_run_others() {
    for dialect in DIALECTS {
        let asked = ["find . -name x", "find . -name x -exec touch made ;"];
        let (first, further, world) = questions_after_always(dialect, &asked);
        assert!(
            first.contains("Always allow exactly this command"),
            "{first}"
        );
        assert_eq!(further, 1, "{dialect:?}");
        assert!(!world.path("work/made").exists(), "{dialect:?}");
    }
}

#[test]
fn commands_that_can_run_others_are_remembered_exactly() {
    for (command, other) in [
        ("sed -n 1p x", "sed -n '1e touch made' x"),
        ("awk 1 x", "awk 'BEGIN { system(\"touch made\") }'"),
        ("git log", "git log --output=made"),
        (
            "git -c a=b status",
            "git -c core.fsmonitor='touch made' status",
        ),
        (
            "tar -cf a.tar x",
            "tar -cf a.tar x --checkpoint=1 --checkpoint-action=exec='touch made'",
        ),
        ("make -n x", "make -n x --eval '$(shell touch made)'"),
        ("python3 -c 1", "python3 -c 'open(\"made\", \"w\")'"),
        ("env ls", "env touch made"),
        ("stdbuf -oL ls", "stdbuf -oL touch made"),
        (
            "script -qc ls /dev/null",
            "script -qc 'touch made' /dev/null",
        ),
        ("flock x ls", "flock x touch made"),
        ("vim -es x", "vim -es x -c '!touch made' -c q"),
        ("gdb -batch x", "gdb -batch x -ex '!touch made'"),
    ] {
        let (first, further, world) = questions_after_always(Dialect::Omp, &[command, other]);
        assert!(first.contains("exactly this command"), "{first}");
        assert_eq!(further, 1, "{other}");
        assert!(!world.path("work/made").exists(), "{other}");
    }
}

#[test]
fn a_command_that_stays_harmless_is_not_asked_again_with_other_arguments() {
    for dialect in DIALECTS {
        let asked = [
            "ls -a",
            "ls -l . && ls",
            "ls > made",
            "ls >&1made",
            "ls\u{a0}x",
            "ls < x",
            "ls </dev/tcp/127.0.0.1/9",
            "ls </dev/tcp/$HOST/9",
            "ls . </dev/null 2>/dev/null",
        ];
        let (first, further, world) = questions_after_always(dialect, &asked);
        assert!(
            first.contains("Always allow commands that start with `ls`"),
            "{first}"
        );
        assert_eq!(further, 6, "{dialect:?}");
        let written = std::fs::read_dir(world.path("work")).unwrap();
        let names = written.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        assert!(!names.into_iter().any(|name| name.contains("made")));
    }
}

#[test]
fn the_choice_says_how_far_it_reaches_for_paths_too() {
    for dialect in DIALECTS {
        let call = json!({ "path": "src/a", "content": "x" });
        let world = World::new(&super::scenario("write", &[call]), ASK);
        world.file("work/src/b", "");
        let mut person = Person::prompts(&world, dialect);
        let question = person.asked().unwrap();
        let folder = world.path("work/src");
        for choice in [
            format!("Always allow write in {} and below", folder.display()),
            format!("write in {} and below", folder.display()),
        ] {
            assert!(question.contains(&choice), "{question}");
        }
        person.answers(&question, Says::No);
        person.refuses_the_rest();
    }
}

#[test]
fn a_yes_for_a_folder_is_none_for_what_runs_by_itself_in_it() {
    for (path, may_write) in [
        ("b", true),
        ("sub/b", true),
        (".git/hooks/pre-commit", false),
        ("sub/.stentor/config.toml", false),
    ] {
        let call = json!({ "path": path, "content": "x" });
        let world = World::new(&super::scenario("write", &[call]), ASK);
        let answer = json!({ "tool": "write", "folder": world.path("work"), "decision": "allow" });
        let kept = json!({ "version": 1, "next_number": 2, "answers": [{
            "number": 1,
            "project": world.path("work"),
            "answered": "2026-11-15T10:00:00.000Z",
            "answer": answer,
        }] });
        world.file(
            "home/.local/share/stentor/permissions.json",
            &kept.to_string(),
        );
        let said = world.asked(&["-p", "go", "--no-session"]);
        assert_eq!(world.path("work").join(path).exists(), may_write, "{said}");
    }
}

#[test]
fn a_person_is_asked_about_each_call_in_a_run_that_a_yes_does_not_reach() {
    let write = |path: &str| json!({ "path": path, "content": "x" });
    let protected = [".git/hooks/pre-commit", ".stentor/config.toml"];
    for dialect in DIALECTS {
        let calls = ["a", "b", protected[0], protected[1]].map(write);
        let world = World::new(&super::scenario("write", &calls), ASK);
        let mut person = Person::prompts(&world, dialect);
        let question = person.asked().unwrap();
        person.answers(&question, Says::Always);
        let further = person.refuses_the_rest();
        assert_eq!(further.len(), 2, "{dialect:?}: {further:?}");
        for (question, path) in further.iter().zip(protected) {
            let path = world.path("work").join(path);
            let choice = format!("Always allow write on {}", path.display());
            assert!(question.contains(&choice), "{question}");
            assert!(!path.exists(), "{dialect:?}");
        }
        assert!(world.path("work/b").exists(), "{dialect:?}");
    }
}

#[test]
fn an_answer_kept_from_before_does_not_reach_further_than_a_new_one() {
    let world = World::new(&commands(&["find . -exec touch made ;"]), ASK);
    let answer = json!({ "tool": "bash", "words": "find .", "decision": "allow" });
    let kept = json!({ "version": 1, "next_number": 2, "answers": [{
        "number": 1,
        "project": world.path("work"),
        "answered": "2026-11-15T10:00:00.000Z",
        "answer": answer,
    }] });
    world.file(
        "home/.local/share/stentor/permissions.json",
        &kept.to_string(),
    );
    let said = world.asked(&["-p", "go", "--no-session"]);
    assert!(said.starts_with("It said: Not permitted: "), "{said}");
    assert!(!world.path("work/made").exists());
    let listed = world.asked(&["permissions"]);
    assert!(listed.contains("allow bash exactly `find .`"), "{listed}");
    for dialect in DIALECTS {
        let mut person = Person::prompts(&world, dialect);
        assert_eq!(person.refuses_the_rest().len(), 1, "{dialect:?}");
        assert!(!world.path("work/made").exists());
    }
}
