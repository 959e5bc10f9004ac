//! Commands in the middle of something: whatever goes on, each is answered once and nothing breaks.

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use crate::child::{Child, Folder, shown};

const TALK: &str = r#"
on_exhausted = "repeat-last"
[model]
id = "mock"
[[turn]]
text = "One."
[[turn]]
steps = [{ text = "Well" }, { hang = true }]
"#;

/// Commands that change nothing that goes on.
fn harmless() -> Vec<Value> {
    vec![
        json!({"type": "prompt", "message": "no behaviour given"}),
        json!({"type": "get_messages_page"}),
        json!({"type": "get_last_assistant_text"}),
        json!({"type": "set_steering_mode", "mode": "all"}),
        json!({"type": "set_thinking_level", "level": "low"}),
        json!({"type": "set_auto_retry", "enabled": true}),
        json!({"type": "set_session_name", "name": "n"}),
        json!({"type": "bash", "command": "sleep 600"}),
        json!({"type": "abort_bash"}),
        json!({"type": "set_host_tools", "tools": []}),
        json!({"type": "set_event_filter", "events": null}),
        json!({"type": "get_branch_messages"}),
        json!({"type": "get_subagents"}),
        json!({"type": "steer", "message": "later"}),
        json!({"type": "follow_up", "message": "later still"}),
        json!({"type": "clear_queue"}),
        json!({"type": "set_model", "provider": "nope", "modelId": "missing"}),
        json!({"type": "extension_ui_response", "id": "1000000100000009", "value": "x"}),
        json!({"type": "nonsense"}),
        json!({"type": "get_last_assistant_text", "id": "twice"}),
        json!({"type": "get_last_assistant_text", "id": "twice"}),
    ]
}

/// Sends all at once, as a client may, and returns the answers by their ids.
fn all_at_once(child: &mut Child, commands: Vec<Value>) -> Vec<Value> {
    let mut expected = 0;
    for (n, mut command) in commands.into_iter().enumerate() {
        if command["type"] != "extension_ui_response" {
            expected += 1;
            if command.get("id").is_none() {
                command["id"] = json!(n);
            }
        }
        child.send(command);
    }
    let mut answers: Vec<Value> = Vec::new();
    while answers.len() < expected {
        answers.push(child.until_type("response").pop().unwrap());
    }
    answers.sort_by_key(|answer| answer["id"].as_u64().unwrap_or(u64::MAX));
    answers
}

fn streaming(folder: &Folder) -> Child {
    let mut child = folder.child(&["--session-dir", "../sessions"]);
    child.prompt("first");
    child.send(json!({"id": "p", "type": "prompt", "message": "second"}));
    child.until(|frame| frame["assistantMessageEvent"]["type"] == "text_delta");
    child
}

fn check(folder: &Folder, child: &mut Child, expected: Expect) {
    let answers = all_at_once(child, harmless());
    expected.assert_eq(&shown(&answers, folder));
}

#[test]
fn while_a_model_speaks() {
    let folder = Folder::with(TALK);
    let mut child = streaming(&folder);
    check(
        &folder,
        &mut child,
        expect![[r#"
        {"id":0,"type":"response","command":"prompt","success":false,"error":"Agent is already processing. Specify streamingBehavior ('steer' or 'followUp') to queue the message."}
        {"id":1,"type":"response","command":"get_messages_page","success":false,"error":"Cannot page messages while the session is changing","code":"session_busy"}
        {"id":2,"type":"response","command":"get_last_assistant_text","success":true,"data":{"text":"One."}}
        {"id":3,"type":"response","command":"set_steering_mode","success":true}
        {"id":4,"type":"response","command":"set_thinking_level","success":true}
        {"id":5,"type":"response","command":"set_auto_retry","success":true}
        {"id":6,"type":"response","command":"set_session_name","success":true}
        {"id":7,"type":"response","command":"bash","success":true,"data":{"output":"","cancelled":true,"truncated":false,"totalLines":0,"totalBytes":0,"outputLines":0,"outputBytes":0}}
        {"id":8,"type":"response","command":"abort_bash","success":true}
        {"id":9,"type":"response","command":"set_host_tools","success":true,"data":{"toolNames":[]}}
        {"id":10,"type":"response","command":"set_event_filter","success":true,"data":{"events":null,"messageUpdates":"full"}}
        {"id":11,"type":"response","command":"get_branch_messages","success":true,"data":{"messages":[{"entryId":"ID","text":"first"},{"entryId":"ID","text":"second"}]}}
        {"id":12,"type":"response","command":"get_subagents","success":true,"data":{"subagents":[]}}
        {"id":13,"type":"response","command":"steer","success":true,"data":{"disposition":"queued"}}
        {"id":14,"type":"response","command":"follow_up","success":true,"data":{"disposition":"queued"}}
        {"id":15,"type":"response","command":"clear_queue","success":true,"data":{"steering":["later"],"followUp":["later still"]}}
        {"id":16,"type":"response","command":"set_model","success":false,"error":"Model not found: nope/missing"}
        {"type":"response","command":"nonsense","success":false,"error":"Unknown command: nonsense"}
        {"id":"twice","type":"response","command":"get_last_assistant_text","success":true,"data":{"text":"One."}}
        {"id":"twice","type":"response","command":"get_last_assistant_text","success":true,"data":{"text":"One."}}
    "#]],
    );
    let aborted = child.ask(json!({"type": "abort"}));
    assert_eq!(aborted["success"], true);
}

#[test]
fn while_a_retry_waits() {
    let folder = Folder::with(
        "[model]\nid = \"mock\"\n[[turn]]\ntext = \"One.\"\n[[turn]]\nerror = { kind = \"overloaded\", message = \"Overloaded\" }",
    );
    std::fs::create_dir_all(folder.home(".config/stentor")).unwrap();
    std::fs::write(
        folder.home(".config/stentor/config.toml"),
        "[retry]\nbase_delay_ms = 3600000\n",
    )
    .unwrap();
    let mut child = folder.child(&["--session-dir", "../sessions"]);
    child.prompt("first");
    child.send(json!({"id": "p", "type": "prompt", "message": "second"}));
    child.until_type("auto_retry_start");
    check(
        &folder,
        &mut child,
        expect![[r#"
        {"id":0,"type":"response","command":"prompt","success":false,"error":"Agent is already processing. Specify streamingBehavior ('steer' or 'followUp') to queue the message."}
        {"id":1,"type":"response","command":"get_messages_page","success":false,"error":"Cannot page messages while the session is changing","code":"session_busy"}
        {"id":2,"type":"response","command":"get_last_assistant_text","success":true,"data":{"text":"One."}}
        {"id":3,"type":"response","command":"set_steering_mode","success":true}
        {"id":4,"type":"response","command":"set_thinking_level","success":true}
        {"id":5,"type":"response","command":"set_auto_retry","success":true}
        {"id":6,"type":"response","command":"set_session_name","success":true}
        {"id":7,"type":"response","command":"bash","success":true,"data":{"output":"","cancelled":true,"truncated":false,"totalLines":0,"totalBytes":0,"outputLines":0,"outputBytes":0}}
        {"id":8,"type":"response","command":"abort_bash","success":true}
        {"id":9,"type":"response","command":"set_host_tools","success":true,"data":{"toolNames":[]}}
        {"id":10,"type":"response","command":"set_event_filter","success":true,"data":{"events":null,"messageUpdates":"full"}}
        {"id":11,"type":"response","command":"get_branch_messages","success":true,"data":{"messages":[{"entryId":"ID","text":"first"},{"entryId":"ID","text":"second"}]}}
        {"id":12,"type":"response","command":"get_subagents","success":true,"data":{"subagents":[]}}
        {"id":13,"type":"response","command":"steer","success":true,"data":{"disposition":"queued"}}
        {"id":14,"type":"response","command":"follow_up","success":true,"data":{"disposition":"queued"}}
        {"id":15,"type":"response","command":"clear_queue","success":true,"data":{"steering":["later"],"followUp":["later still"]}}
        {"id":16,"type":"response","command":"set_model","success":false,"error":"Model not found: nope/missing"}
        {"type":"response","command":"nonsense","success":false,"error":"Unknown command: nonsense"}
        {"id":"twice","type":"response","command":"get_last_assistant_text","success":true,"data":{"text":"One."}}
        {"id":"twice","type":"response","command":"get_last_assistant_text","success":true,"data":{"text":"One."}}
    "#]],
    );
    let aborted = child.ask(json!({"type": "abort"}));
    assert_eq!(aborted["success"], true);
}

#[test]
fn while_a_summary_is_made() {
    let folder = Folder::with(
        "[model]\nid = \"mock\"\n[[turn]]\ntext = \"One.\"\ntimes = 2\n[compaction]\nsummary = \"Never.\"\nwait_ms = 3600000",
    );
    let mut child = folder.child(&["--session-dir", "../sessions"]);
    child.prompt("first");
    child.prompt("second");
    child.send(json!({"id": "c", "type": "compact"}));
    child.until_type("compaction_start");
    let state = child.data(json!({"type": "get_state"}));
    assert_eq!(state["isCompacting"], true);
    let mut commands = harmless();
    // This one waits until the summary is there.
    commands.remove(0);
    let answers = all_at_once(&mut child, commands);
    assert_eq!(answers.len(), 19);
    child.send(json!({"id": "p", "type": "prompt", "message": "third"}));
    child.send(json!({"id": "a", "type": "abort"}));
    let compacted = |frame: &Value| frame["id"] == "c";
    let prompted = |frame: &Value| frame["id"] == "p" && frame["type"] == "response";
    let aborted = |frame: &Value| frame["id"] == "a";
    let mut frames = child.until_all(&[&compacted, &prompted, &aborted]);
    frames.retain(|frame| compacted(frame) || aborted(frame));
    frames.sort_by_key(|frame| frame["id"].as_str().unwrap().to_owned());
    expect![[r#"
        {"id":"a","type":"response","command":"abort","success":true}
        {"id":"c","type":"response","command":"compact","success":false,"error":"Compaction cancelled"}
    "#]].assert_eq(&shown(&frames, &folder));
}

#[test]
fn while_a_question_is_open() {
    let folder = Folder::with(
        "on_exhausted = { text = \"Done.\" }\n[model]\nid = \"mock\"\n[[turn]]\nsteps = [{ tool = \"bash\", id = \"call-1\", arguments = { command = \"echo hi\" } }]",
    );
    let mut child = folder.child(&["--session-dir", "../sessions", "--permission-mode", "ask"]);
    child.send(json!({"id": "p", "type": "prompt", "message": "go"}));
    let asked = child.until_type("extension_ui_request").pop().unwrap();
    let answers = all_at_once(&mut child, harmless());
    assert_eq!(answers.len(), 20);
    child.send(json!({"type": "extension_ui_response", "id": asked["id"], "value": "Allow"}));
    // Twice: the second means nothing.
    child.send(json!({"type": "extension_ui_response", "id": asked["id"], "value": "Deny"}));
    let end = child.until_type("tool_execution_end").pop().unwrap();
    assert_eq!(end["isError"], false);
    child.until_type("agent_settled");
}

#[test]
fn another_conversation_takes_the_place_of_one_that_runs() {
    for command in [
        json!({"type": "new_session"}),
        json!({"type": "switch_session", "sessionPath": "other.jsonl"}),
        json!({"type": "clone"}),
        json!({"type": "compact"}),
        json!({"type": "abort_and_prompt", "message": "third"}),
    ] {
        let folder = Folder::with(TALK);
        let mut child = streaming(&folder);
        child.send(json!({"id": "b", "type": "bash", "command": "sleep 600"}));
        let mut wanted = command.clone();
        wanted["id"] = json!("w");
        child.send(wanted);
        let frames = child.until(|frame| frame["id"] == "w" && frame["type"] == "response");
        let ended = frames
            .iter()
            .find(|frame| frame["type"] == "prompt_result")
            .unwrap();
        assert_eq!(
            *ended,
            json!({"type": "prompt_result", "id": "p", "agentInvoked": true, "status": "aborted", "sessionSettled": true}),
            "{command}"
        );
        child.send(json!({"id": "x", "type": "abort_bash"}));
        child.until(|frame| frame["id"] == "x");
        let (_, code) = child.close();
        assert_eq!(code, Some(0), "{command}");
    }
}

#[test]
fn a_key_that_is_there_twice_and_lists_in_lists_break_nothing() {
    let folder = Folder::with(TALK);
    let mut child = folder.child(&["--no-session"]);
    child.line("{\"id\":2,\"type\":\"get_last_assistant_text\",\"type\":\"get_state\"}");
    child.line(&format!(
        "{{\"id\":3,\"type\":\"steer\",\"message\":{}1{}}}",
        "[".repeat(5_000),
        "]".repeat(5_000)
    ));
    child.line("{\"id\":4,\"type\":\"get_last_assistant_text\"}");
    let mut answers: Vec<Value> = Vec::new();
    while answers.len() < 3 {
        let mut answer = child.until_type("response").pop().unwrap();
        if answer["command"] == "get_state" {
            answer["data"] = json!("…");
        }
        answers.push(answer);
    }
    expect![[r#"
        {"id":2,"type":"response","command":"get_state","success":true,"data":"…"}
        {"id":3,"type":"response","command":"steer","success":false,"error":"Invalid steer command: message: invalid type: sequence, expected a string"}
        {"id":4,"type":"response","command":"get_last_assistant_text","success":true,"data":{}}
    "#]].assert_eq(&shown(&answers, &folder));
}

#[test]
fn many_commands_at_once_are_all_answered_in_their_order() {
    let folder = Folder::with(TALK);
    let mut child = folder.child(&["--no-session"]);
    let count = 20_000;
    let (mut stdin, lines) = child.split();
    let writer = std::thread::spawn(move || {
        for n in 0..count {
            let line = format!("{{\"id\":{n},\"type\":\"get_last_assistant_text\"}}\n");
            std::io::Write::write_all(&mut stdin, line.as_bytes()).unwrap();
        }
        stdin
    });
    for n in 0..count {
        let line = lines.recv().unwrap();
        assert!(line.starts_with(&format!("{{\"id\":{n},")), "{line}");
    }
    drop(writer.join().unwrap());
}
