//! What children ask, and who answers: the policy of the session, or whoever it asks.

use serde_json::{Value, json};

use crate::acp_child::{self, Steps, answers};
use crate::world::World;

/// A turn of a session with `agent`, in which a client gives every request the answer that `answer`
/// makes of its parameters. Returns what was asked.
fn turn(
    world: &World,
    (agent, mode): (&str, &str),
    capabilities: Value,
    answer: impl Fn(&Value) -> Value,
) -> Vec<Value> {
    let model = format!("agent/{agent}");
    let mut program = world.child(&["acp", "--model", &model, "--permission-mode", mode]);
    let session = program.shake_hands_acp(capabilities, &world.path("work"));
    let prompt = json!([{ "type": "text", "text": "Go on." }]);
    let params = json!({ "sessionId": session, "prompt": prompt });
    program.request_acp(3, "session/prompt", params);
    let mut asked = Vec::new();
    loop {
        let frame = program.json();
        if frame["id"] == 3 && frame.get("method").is_none() {
            break;
        }
        if let (Some(_), Some(id)) = (frame.get("method"), frame.get("id")) {
            let result = answer(&frame["params"]);
            program.send(&json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string());
            asked.push(frame);
        }
    }
    program.end();
    asked
}

fn selected(option: &str) -> Value {
    json!({ "outcome": { "outcome": "selected", "optionId": option } })
}

/// A child that asks whether a call may run that has a title, and nothing else that says what it does.
fn nameless(title: &str, options: Value) -> Steps {
    let call = json!({ "sessionUpdate": "tool_call", "toolCallId": "t", "title": title });
    let params = json!({ "sessionId": "s", "toolCall": { "toolCallId": "t" }, "options": options });
    Steps::default()
        .update(call)
        .ask("session/request_permission", params)
}

fn yes_or_no() -> Value {
    json!([
        { "optionId": "y", "name": "Yes", "kind": "allow_once" },
        { "optionId": "n", "name": "No", "kind": "reject_once" },
    ])
}

#[test]
fn always_to_a_call_without_a_command_or_a_path_is_about_this_call_of_this_agent() {
    let world = acp_child::world("", |_| nameless("Look around", yes_or_no()));
    let always = |agent: &str| {
        let asked = turn(&world, (agent, "ask"), json!({}), |_| {
            selected("allow_always")
        });
        asked.len()
    };
    assert_eq!(always("child"), 1);
    // It has been answered for good.
    assert_eq!(always("child"), 0);
    let config = world.path("home/.config/stentor/config.toml");
    let text = std::fs::read_to_string(&config).unwrap();
    let other = text.replace("[agents.child]", "[agents.other]");
    world.file(
        "home/.config/stentor/config.toml",
        &format!("{text}\n{other}"),
    );
    assert_eq!(always("other"), 1, "another agent");
    let script = std::fs::read_to_string(world.path("home/child.sh")).unwrap();
    let script = script.replace("Look around", "Delete the database");
    world.file("home/child.sh", &script);
    assert_eq!(always("child"), 1, "another call");
}

#[test]
fn an_agent_that_can_only_be_allowed_something_for_good_is_refused() {
    let options = json!([
        { "optionId": "a", "name": "Always", "kind": "allow_always" },
        { "optionId": "n", "name": "No", "kind": "reject_once" },
    ]);
    let world = acp_child::world("", |_| nameless("Look around", options));
    turn(&world, ("child", "ask"), json!({}), |_| {
        selected("allow_once")
    });
    assert_eq!(answers(&world)[0]["result"], selected("n"));
}
