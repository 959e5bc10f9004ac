//! Conversations of a parent that behaves as the bridge does (section 16).

use serde_json::json;
use stentor_test_support::{when_dead, when_made, when_written};

use crate::bridge::Bridge;
use crate::child::Home;

const RPC: [&str; 3] = ["rpc", "--model", "script/play.toml"];

#[test]
fn a_conversation_with_a_tool_and_every_kind_of_character() {
    let home = Home::new(
        r#"
        [[turn]]
        steps = [{ text = "Grüße, 漢字 😀. ", chunk_chars = 1 }, { tool = "bash", arguments = { command = "echo ä" } }]
        [[turn]]
        text = "It said {{last_tool_result}}"
        [[turn]]
        text = "Bye."
        "#,
    );
    let mut bridge = Bridge::start(home.command(&RPC));
    assert_eq!(bridge.prompt("hello").wait().unwrap()["ok"], true);
    assert_eq!(bridge.text(), "Grüße, 漢字 😀. It said ä\n");
    bridge
        .send(json!({"type": "set_model", "model": "script/play.toml"}))
        .wait()
        .unwrap();
    bridge.prompt("").wait().unwrap();
    bridge.prompt("and now?").wait().unwrap();
    assert!(bridge.text().ends_with("Bye."));
    assert_eq!(bridge.count("agent_end"), 3);
    assert_eq!(
        bridge.count("toolcall_start"),
        bridge.count("toolcall_result")
    );
    assert_eq!(bridge.stop().code(), Some(0));
}

#[test]
fn failures_reach_the_promise_and_never_the_daemon() {
    let home = Home::new(
        "[[turn]]\nerror = { kind = \"quota\", message = \"used up\" }\n[[turn]]\ntext = \"ok\"",
    );
    let mut bridge = Bridge::start(home.command(&RPC));
    assert_eq!(bridge.prompt("x").wait(), Err("used up".to_owned()));
    let unknown = bridge
        .send(json!({"type": "set_model", "model": "nobody"}))
        .wait();
    assert!(unknown.unwrap_err().contains("nobody"));
    let bad = json!({"type": "prompt", "message": "x", "attachments": [{"path": "rel"}]});
    assert!(bridge.send(bad).wait().unwrap_err().contains("absolute"));
    assert!(bridge.send(json!({"type": "dance"})).wait().is_err());
    bridge.prompt("x").wait().unwrap();
    assert_eq!(bridge.stop().code(), Some(0));
}

#[test]
fn a_busy_child_refuses_and_finishes_its_turn() {
    let wait = "touch there; while [ ! -e go ]; do sleep 0.01; done";
    let home = Home::new(&format!(
        "[[turn]]\ntool = \"bash\"\narguments = {{ command = \"{wait}\" }}\n[[turn]]\ntext = \"end\""
    ));
    let mut bridge = Bridge::start(home.command(&RPC));
    let first = bridge.prompt("one");
    when_made(&home.path("there"));
    let refused = bridge.prompt("two").wait().unwrap_err();
    assert!(refused.contains("abort first"), "{refused}");
    home.write("go", "");
    first.wait().unwrap();
    assert_eq!(bridge.text(), "end");
    assert_eq!(bridge.stop().code(), Some(0));
}

#[test]
fn an_abort_in_the_middle_of_a_tool() {
    let home = Home::new(
        "[[turn]]\ntool = \"bash\"\narguments = { command = \"echo $$ > pid; mv pid there; sleep 1000\" }\n[[turn]]\ntext = \"back\"",
    );
    let mut bridge = Bridge::start(home.command(&RPC));
    let prompt = bridge.prompt("one");
    let pid = when_written(&home.path("there"));
    let abort = bridge.send(json!({"type": "abort"}));
    assert_eq!(prompt.wait().unwrap()["cancelled"], true);
    abort.wait().unwrap();
    when_dead(&pid);
    bridge.prompt("two").wait().unwrap();
    assert_eq!(bridge.text(), "back");
    assert_eq!(bridge.stop().code(), Some(0));
}

#[test]
fn a_killed_child_is_started_again_and_goes_on() {
    let home = Home::new(
        "[[turn]]\nwhen = { last_user_contains = \"three\" }\ntext = \"third\"\n[[turn]]\nwhen = { last_user_contains = \"two\" }\nsteps = [{ text = \"se\" }, { hang = true }]\n[[turn]]\ntext = \"first\"",
    );
    let mut bridge = Bridge::start(home.command(&RPC));
    bridge.prompt("one").wait().unwrap();
    let pending = bridge.prompt("two");
    while bridge.text() != "firstse" {
        std::thread::yield_now();
    }
    let session = bridge.kill();
    assert!(pending.wait().is_err());
    let mut words = RPC.to_vec();
    words.extend(["--continue", &session]);
    let mut again = Bridge::start(home.command(&words));
    assert_eq!(again.session, session);
    let history = again.send(json!({"type": "get_messages"})).wait().unwrap();
    let messages = history["messages"].as_array().unwrap();
    assert_eq!(messages[2], json!({"role": "user", "content": "two"}));
    again.prompt("three").wait().unwrap();
    assert_eq!(again.text(), "third");
    assert_eq!(again.stop().code(), Some(0));
}

#[test]
fn ten_children_at_once() {
    let home = Home::new(
        "on_exhausted = \"repeat-last\"\n[[turn]]\nsteps = [{ text = \"{{last_user}} \", chunk_chars = 3 }, { tool = \"bash\", arguments = { command = \"echo {{last_user}}\" } }]\n[[turn]]\ntext = \"{{last_tool_result}}\"",
    );
    std::thread::scope(|scope| {
        for n in 0..10 {
            let home = &home;
            scope.spawn(move || {
                let mut bridge = Bridge::start(home.command(&RPC));
                let said = format!("child-{n}");
                bridge.prompt(&said).wait().unwrap();
                assert_eq!(bridge.text(), format!("{said} {said}\n"));
                assert_eq!(bridge.stop().code(), Some(0));
            });
        }
    });
}
