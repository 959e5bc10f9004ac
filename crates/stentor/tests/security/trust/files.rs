//! Files that are none, or lie elsewhere, are not read.

use std::os::unix::fs::symlink;
use std::process::Command;

use super::{telling, world};
use crate::dialects::{self, ALL};

#[test]
fn a_link_out_of_the_project_a_pipe_and_a_device_are_skipped_with_one_warning() {
    for (target, why) in [
        ("../home/key", "it leads out of the project"),
        ("/proc/self/environ", "it leads out of the project"),
        ("/dev/zero", "it is not a regular file"),
        ("", "it is not a regular file"),
    ] {
        for file in ["AGENTS.md", ".stentor/config.toml", ".stentor/prompts/p.md"] {
            let world = world(&telling(&["TOP-SECRET"]), "");
            world.file("home/key", "model = \"TOP-SECRET\"\n");
            let path = world.path("work").join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            let target = match (target, file) {
                ("../home/key", ".stentor/config.toml") => "../../home/key",
                ("../home/key", ".stentor/prompts/p.md") => "../../../home/key",
                _ => target,
            };
            match target {
                "" => {
                    let made = Command::new("mkfifo").arg(&path).status().unwrap();
                    assert!(made.success());
                }
                target => symlink(target, &path).unwrap(),
            }
            for dialect in ALL {
                let said = dialects::prompt(&world, dialect);
                let place = format!("{dialect}, {file} {target}: {said}");
                assert!(!said.contains("TOP-SECRET"), "{place}");
                let told = said.lines().filter(|line| line.contains(why)).count();
                assert_eq!(told, 1, "{place}");
            }
        }
    }
}

#[test]
fn what_is_unreadable_is_not_read_either() {
    let world = world(
        &telling(&["TOP-SECRET"]),
        "[sandbox]\nunreadable = [\"~/../work/AGENTS.md\"]\n",
    );
    world.file("work/AGENTS.md", "TOP-SECRET\n");
    for dialect in ALL {
        let said = dialects::prompt(&world, dialect);
        assert!(!said.contains("TOP-SECRET"), "{dialect}: {said}");
        assert!(
            said.contains("reading it is not allowed"),
            "{dialect}: {said}"
        );
    }
}

#[test]
fn the_search_upwards_ends_at_the_root_of_the_project() {
    for phrase in ["Of the folder.", "The user has not declared it trusted"] {
        let world = world(&telling(&["PLANTED", phrase]), "");
        world.file("AGENTS.md", "PLANTED\n");
        world.file("work/AGENTS.md", "Of the folder.\n");
        for dialect in ALL {
            let said = dialects::answer(&world, dialect);
            assert_eq!(said, format!("I was told: {phrase}"), "{dialect}");
        }
    }
}

#[test]
fn a_few_lines_of_yaml_cannot_stand_for_more_than_the_machine_holds() {
    let world = world("[[turn]]\ntext = \"x\"\n", "");
    let mut text = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
    for level in 1..12 {
        let below = vec![format!("*a{}", level - 1); 9].join(", ");
        text.push_str(&format!("a{level}: &a{level} [{below}]\n"));
    }
    world.file("home/.omp/agent/models.yml", &text);
    let out = world.command(&["models"]).output().unwrap();
    let err = String::from_utf8_lossy(&out.stderr);
    assert!(err.contains("it expands to more than"), "{err}");
}

#[test]
fn the_environment_of_the_program_cannot_be_attached_to_a_prompt() {
    let world = world("[[turn]]\ntext = \"You said: {{last_user}}\"\n", "");
    symlink("/proc/self/environ", world.path("work/notes.txt")).unwrap();
    for file in ["@/proc/self/environ", "@notes.txt"] {
        for words in [
            &["-p", &format!("look at {file}")][..],
            &["--mode", "json", file, "look"],
        ] {
            let mut command = world.command(words);
            command.env("ACME_API_KEY", "TOP-SECRET");
            let out = command.output().unwrap();
            let all = String::from_utf8_lossy(&[out.stdout, out.stderr].concat()).into_owned();
            assert_eq!(out.status.code(), Some(1), "{words:?}: {all}");
            assert!(!all.contains("TOP-SECRET"), "{words:?}: {all}");
            let why = "is not attached: it is part of the system's own state (/proc or /sys)";
            assert!(all.contains(why), "{words:?}: {all}");
        }
    }
    assert!(!world.path("home/.local/share/stentor/sessions").exists());
}
