//! When children end: with what they work for, not with the program.

use std::path::PathBuf;

use serde_json::{Value, json};
use stentor_test_support::{is_dead, when_dead, when_written};

use crate::acp_child::{self, Steps};
use crate::world::{Child, World};

/// A world whose `agent/child` writes which process it is, and answers.
fn world() -> World {
    let said = json!({ "type": "text", "text": "Here." });
    let text = json!({ "sessionUpdate": "agent_message_chunk", "content": said });
    acp_child::world("", |_| {
        Steps::default().shell("echo $$ >> pids").update(text)
    })
}

/// A session with a child that has answered, and the number of the child's process.
fn answered(world: &World) -> (Child, String, String) {
    let mut program = world.child(&["acp", "--model", "agent/child"]);
    let session = program.shake_hands_acp(json!({}), &world.path("work"));
    prompt(&mut program, 3, &session);
    let pid = when_written(&pids(world));
    assert!(!is_dead(&pid));
    (program, session, pid)
}

fn pids(world: &World) -> PathBuf {
    world.path("work/pids")
}

fn prompt(program: &mut Child, id: u64, session: &str) {
    let prompt = json!([{ "type": "text", "text": "Go on." }]);
    let params = json!({ "sessionId": session, "prompt": prompt });
    let lines = program.ask_acp(id, "session/prompt", params);
    let answer: Value = serde_json::from_str(lines.last().unwrap()).unwrap();
    assert_eq!(answer["result"]["stopReason"], "end_turn", "{answer}");
}

#[test]
fn a_child_ends_when_its_session_is_closed() {
    let world = world();
    let (mut program, session, pid) = answered(&world);
    program.ask_acp(4, "session/close", json!({ "sessionId": session }));
    when_dead(&pid);
    program.end();
}

#[test]
fn a_child_ends_when_its_session_goes_on_with_another_model() {
    let world = world();
    let (mut program, session, pid) = answered(&world);
    let choice = json!({ "sessionId": session, "configId": "model", "value": "offline/guide" });
    program.ask_acp(4, "session/set_config_option", choice);
    when_dead(&pid);
    prompt(&mut program, 5, &session);
    program.end();
}

#[test]
fn the_children_of_subagents_end_with_their_tasks() {
    let world = world();
    let delegate = r#"[[turn]]
tool = "subagent"
arguments = { tasks = [{ task = "a", agent = "child" }, { task = "b", agent = "child" }] }
[[turn]]
text = "{{last_tool_result}}"
"#;
    world.file("home/delegate.toml", delegate);
    let model = format!("script/{}", world.path("home/delegate.toml").display());
    let words = ["acp", "--model", &model, "--permission-mode", "all"];
    let mut program = world.child(&words);
    let session = program.shake_hands_acp(json!({}), &world.path("work"));
    prompt(&mut program, 3, &session);
    let pids = when_written(&pids(&world));
    assert_eq!(pids.lines().count(), 2, "{pids}");
    pids.lines().for_each(when_dead);
    program.end();
}

#[test]
fn a_child_ends_with_the_program() {
    let world = world();
    let (program, _, pid) = answered(&world);
    program.end();
    when_dead(&pid);
}
