//! What belongs to another user of the machine is not read.

use std::os::unix::fs::chown;

use serde_json::json;

use super::world;

/// A user that is neither we nor the system.
const ANOTHER: u32 = 12_345;

#[expect(
    clippy::print_stderr,
    reason = "a test that cannot be run here says so"
)]
#[test]
fn files_and_marks_of_another_user_are_not_read_until_the_folder_is_trusted() {
    let world = world("[[turn]]\ntext = \"x\"\n", "");
    world.file(".git/HEAD", "");
    world.file("AGENTS.md", "PLANTED ABOVE\n");
    world.file("work/AGENTS.md", "PLANTED HERE\n");
    if chown(world.path(".git"), Some(ANOTHER), None).is_err() {
        eprintln!("SKIPPED: giving files to another user needs root");
        return;
    }
    chown(world.path("work/AGENTS.md"), Some(ANOTHER), None).unwrap();
    let prompt = || {
        let mut child = world.omp();
        child.send(&json!({ "id": "s", "type": "get_state" }).to_string());
        let state = child.until_type("response").pop().unwrap();
        let prompt = state["data"]["systemPrompt"][0]
            .as_str()
            .unwrap()
            .to_owned();
        (prompt, child.end_and_stderr())
    };
    let (told, err) = prompt();
    assert!(!told.contains("PLANTED"), "{told}");
    assert!(err.contains("it belongs to another user"), "{err}");
    // A folder of theirs that the user trusts may have files of theirs.
    chown(world.path("work"), Some(ANOTHER), None).unwrap();
    world.asked(&["trust"]);
    let (told, _) = prompt();
    assert!(told.contains("PLANTED HERE"), "{told}");
    assert!(!told.contains("PLANTED ABOVE"), "{told}");
    // And trust is for that owner: one who takes the folder over has it no longer.
    chown(world.path("work"), Some(ANOTHER + 1), None).unwrap();
    let (told, _) = prompt();
    assert!(!told.contains("PLANTED"), "{told}");
}
