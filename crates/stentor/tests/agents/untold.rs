//! Children that tell little of what they do, and what is said of those that nothing is known of.

use serde_json::{Value, json};

use crate::acp_child::{self, Steps};
use crate::world::World;

const CHILD: &str = "[agents.child]\ncommand = [\"no-such-program\"]\ndialect = \"acp\"\n";

#[test]
fn different_calls_without_arguments_are_no_repetition_and_are_shown_by_their_titles() {
    // As gemini reports them: a title, no arguments, and an empty result.
    let world = acp_child::world("", |_| {
        (0..8).fold(Steps::default(), |steps, n| {
            let call = json!({
                "sessionUpdate": "tool_call", "toolCallId": format!("t{n}"), "kind": "read",
                "title": format!("Reading file{n}.txt"), "status": "in_progress", "content": [],
            });
            let ended = json!({
                "sessionUpdate": "tool_call_update", "toolCallId": format!("t{n}"),
                "status": "completed", "content": [],
            });
            steps.update(call).update(ended)
        })
    });
    let mut command = world.command(&["-p", "Read all.", "--model", "agent/child"]);
    let out = command.output().unwrap();
    let err = String::from_utf8(out.stderr).unwrap();
    assert_eq!(out.status.code(), Some(0), "{err}");
    for n in 0..8 {
        let title = format!("> read  Reading file{n}.txt");
        assert!(err.contains(&title), "{title} in {err}");
    }
}

#[test]
fn a_task_for_an_unknown_agent_is_refused_with_the_names_of_other_programs() {
    let scenario = r#"
[[turn]]
tool = "subagent"
arguments = { task = "review", agent = "nobody" }
[[turn]]
text = "end"
"#;
    let world = World::new(scenario, CHILD);
    let out = world.asked(&["-p", "Go on.", "--json", "--tools", "subagent"]);
    let refused = "There is no agent `nobody`. Available: general, child.";
    assert!(out.contains(refused), "{out}");
}

#[test]
fn the_context_of_an_agent_that_has_not_said_its_size_is_unknown() {
    let world = World::new("", CHILD);
    let models = world.asked(&["models", "agent/"]);
    let row = "+ agent/child  unknown context  price unknown\n";
    assert!(models.contains(row), "{models}");
    let models = world.asked(&["models", "agent/", "--json"]);
    let models: Value = serde_json::from_str(&models).unwrap();
    let model = &models["models"][0];
    assert_eq!(model["id"], "child", "{models}");
    assert_eq!(model["contextWindow"], Value::Null, "{models}");
    assert_eq!(model["maxTokens"], Value::Null, "{models}");
}
