//! Files that are none, or lie elsewhere, are not read.

use std::os::unix::fs::symlink;
use std::process::Command;

use serde_json::json;

use super::world;
use crate::world::World;

/// What the model is told before anything else, and what is said on stderr.
fn system_prompt(world: &World) -> (String, String) {
    let mut child = world.omp();
    child.send(&json!({ "id": "s", "type": "get_state" }).to_string());
    let state = child.until_type("response").pop().unwrap();
    let prompt = state["data"]["systemPrompt"][0].as_str().unwrap();
    (prompt.to_owned(), child.end_and_stderr())
}

#[test]
fn a_link_out_of_the_project_a_pipe_and_a_device_are_skipped_with_one_warning() {
    for (target, why) in [
        ("../home/key", "it leads out of the project"),
        ("/proc/self/environ", "it leads out of the project"),
        ("/dev/zero", "it is not a regular file"),
        ("", "it is not a regular file"),
    ] {
        for file in ["AGENTS.md", ".stentor/config.toml", ".stentor/prompts/p.md"] {
            let world = world("[[turn]]\ntext = \"x\"\n", "");
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
            let (prompt, err) = system_prompt(&world);
            assert!(!prompt.contains("TOP-SECRET"), "{file} {target}");
            let told = err.lines().filter(|line| line.contains(why)).count();
            assert_eq!(told, 1, "{file} {target}: {err}");
        }
    }
}

#[test]
fn what_is_unreadable_is_not_read_either() {
    let world = world(
        "[[turn]]\ntext = \"x\"\n",
        "[sandbox]\nunreadable = [\"~/../work/AGENTS.md\"]\n",
    );
    world.file("work/AGENTS.md", "TOP-SECRET\n");
    let (prompt, err) = system_prompt(&world);
    assert!(!prompt.contains("TOP-SECRET"), "{prompt}");
    assert!(err.contains("reading it is not allowed"), "{err}");
}

#[test]
fn the_search_upwards_ends_at_the_root_of_the_project() {
    let world = world("[[turn]]\ntext = \"x\"\n", "");
    world.file("AGENTS.md", "PLANTED\n");
    world.file("work/AGENTS.md", "Of the folder.\n");
    let (prompt, _) = system_prompt(&world);
    assert!(!prompt.contains("PLANTED"), "{prompt}");
    assert!(prompt.contains("Of the folder."), "{prompt}");
    assert!(
        prompt.contains("The user has not declared it trusted"),
        "{prompt}"
    );
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
