//! A path that becomes a link to elsewhere between the decision and the deed.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::{Value, json};

use super::plan;
use crate::world::World;

fn world(scenario: &str) -> World {
    world_with(scenario, "")
}

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
        let world = world(&plan(&[(tool, arguments.to_owned())]));
        let (mut child, session) = world.acp(json!({}));
        let text = json!([{ "type": "text", "text": "go" }]);
        let params = json!({ "sessionId": session, "prompt": text });
        child.request_acp(3, "session/prompt", params);
        let asked = child.until(|line| line.contains("session/request_permission"));
        let asked: Value = serde_json::from_str(asked.last().unwrap()).unwrap();
        // What is shown is where it is; what is there becomes something else.
        fs::rename(world.path("work/in"), world.path("work/was")).unwrap();
        symlink("../out", world.path("work/in")).unwrap();
        let outcome = json!({ "outcome": "selected", "optionId": "allow_once" });
        let answer =
            json!({ "jsonrpc": "2.0", "id": asked["id"], "result": { "outcome": outcome } });
        child.send(&answer.to_string());
        let said = child.until_answer(3).join("\n");
        assert!(
            said.contains("was changed while permission was decided"),
            "{said}"
        );
        child.end();
        assert_untouched(&world);
    }
}

#[test]
fn a_file_swapped_while_the_question_is_open_leads_nowhere() {
    let arguments = r#"path = "in/file", content = "x""#.to_owned();
    let world = world(&plan(&[("write", arguments)]));
    let (mut child, session) = world.acp(json!({}));
    let text = json!([{ "type": "text", "text": "go" }]);
    child.request_acp(
        3,
        "session/prompt",
        json!({ "sessionId": session, "prompt": text }),
    );
    let asked = child.until(|line| line.contains("session/request_permission"));
    let asked: Value = serde_json::from_str(asked.last().unwrap()).unwrap();
    fs::remove_file(world.path("work/in/file")).unwrap();
    symlink("../../out/file", world.path("work/in/file")).unwrap();
    let outcome = json!({ "outcome": "selected", "optionId": "allow_once" });
    let answer = json!({ "jsonrpc": "2.0", "id": asked["id"], "result": { "outcome": outcome } });
    child.send(&answer.to_string());
    child.until_answer(3);
    child.end();
    assert_untouched(&world);
}

#[test]
fn a_folder_swapped_while_the_question_is_open_is_not_searched() {
    for (tool, arguments) in [
        ("ls", r#"path = "in""#),
        ("find", r#"path = "in", pattern = "*""#),
        ("grep", r#"path = "in", pattern = "outside""#),
        ("grep", r#"path = "in/file", pattern = "outside""#),
    ] {
        let ask = format!("[[permissions]]\ntool = \"{tool}\"\ndecision = \"ask\"\n");
        let world = world_with(&plan(&[(tool, arguments.to_owned())]), &ask);
        world.file("out/only-here", "outside");
        let (mut child, session) = world.acp(json!({}));
        let text = json!([{ "type": "text", "text": "go" }]);
        let params = json!({ "sessionId": session, "prompt": text });
        child.request_acp(3, "session/prompt", params);
        let asked = child.until(|line| line.contains("session/request_permission"));
        let asked: Value = serde_json::from_str(asked.last().unwrap()).unwrap();
        fs::rename(world.path("work/in"), world.path("work/was")).unwrap();
        symlink("../out", world.path("work/in")).unwrap();
        let outcome = json!({ "outcome": "selected", "optionId": "allow_once" });
        let answer =
            json!({ "jsonrpc": "2.0", "id": asked["id"], "result": { "outcome": outcome } });
        child.send(&answer.to_string());
        let said = child.until_answer(3).join("\n");
        assert!(
            said.contains("was changed while permission was decided"),
            "{tool}: {said}"
        );
        assert!(!said.contains("only-here"), "{tool}: {said}");
        child.end();
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
    const CALLS: usize = 300;
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
    let world = world(&plan(&calls));
    symlink("../out", world.path("work/link")).unwrap();
    let stop = AtomicBool::new(false);
    let (one, other) = (world.path("work/in"), world.path("work/link"));
    let said = std::thread::scope(|scope| {
        scope.spawn(|| keep_swapping(&one, &other, &stop));
        let words = ["-p", "go", "--permission-mode", "accept-edits", "--json"];
        let out = world.command(&words).output().unwrap();
        stop.store(true, Ordering::Relaxed);
        String::from_utf8(out.stdout).unwrap()
    });
    assert_untouched(&world);
    assert!(
        !said.contains("outside\""),
        "something of the outside was read"
    );
}
