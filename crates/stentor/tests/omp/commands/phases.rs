//! Commands in the middle of something: whatever goes on, each is answered once and nothing breaks.

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use crate::child::{Child, Folder};
use crate::transcript::{answers_and_events, told, without_reports};

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

/// Sends all at once, as a client may. Returns the answers by their ids, and what else is told.
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
    let mut events: Vec<Value> = Vec::new();
    while answers.len() < expected {
        let frame = child.next();
        if frame["type"] == "response" {
            answers.push(frame);
        } else {
            events.push(frame);
        }
    }
    answers.sort_by_key(|answer| answer["id"].as_u64().unwrap_or(u64::MAX));
    [answers, events].concat()
}

fn streaming(folder: &Folder) -> Child {
    let mut child = folder.child(&["--session-dir", "../sessions"]);
    child.prompt("first");
    child.send(json!({"id": "p", "type": "prompt", "message": "second"}));
    child.until(|frame| frame["assistantMessageEvent"]["type"] == "text_delta");
    child
}

fn check(folder: &Folder, child: &mut Child, commands: Vec<Value>, expected: Expect) {
    let frames = all_at_once(child, commands);
    expected.assert_eq(&told(&frames, folder));
}

#[test]
fn while_a_model_speaks() {
    let folder = Folder::with(TALK);
    let mut child = streaming(&folder);
    check(
        &folder,
        &mut child,
        harmless(),
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
            {"id":11,"type":"response","command":"get_branch_messages","success":true,"data":{"messages":[{"entryId":"ID1","text":"first"},{"entryId":"ID2","text":"second"}]}}
            {"id":12,"type":"response","command":"get_subagents","success":true,"data":{"subagents":[]}}
            {"id":13,"type":"response","command":"steer","success":true,"data":{"disposition":"queued"}}
            {"id":14,"type":"response","command":"follow_up","success":true,"data":{"disposition":"queued"}}
            {"id":15,"type":"response","command":"clear_queue","success":true,"data":{"steering":["later"],"followUp":["later still"]}}
            {"id":16,"type":"response","command":"set_model","success":false,"error":"Model not found: nope/missing"}
            {"type":"response","command":"nonsense","success":false,"error":"Unknown command: nonsense"}
            {"id":"twice","type":"response","command":"get_last_assistant_text","success":true,"data":{"text":"One."}}
            {"id":"twice","type":"response","command":"get_last_assistant_text","success":true,"data":{"text":"One."}}
            {"type":"thinking_level_changed","level":"low","thinkingLevel":"low"}
            {"type":"session_info_changed","name":"n"}
            {"type":"session_info_update","title":"n","sessionId":"ID3"}
            {"type":"queue_update","steering":["later"],"followUp":[]}
            {"type":"queue_update","steering":["later"],"followUp":["later still"]}
            {"type":"queue_update","steering":[],"followUp":[]}
        "#]],
    );
    let frames = child.done(json!({"id": "a", "type": "abort"}));
    expect![[r#"
        {"type":"message_end","messageId":"msg-4","message":{"role":"assistant","content":[{"type":"text","text":"Well"}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"aborted","errorMessage":"Request was aborted","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"turn_end","message":"msg-4","toolResults":[]}
        {"type":"agent_end","messages":[{"role":"user","content":[{"type":"text","text":"second"}],"attribution":"user","timestamp":"TIME"},"msg-4"],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":2}
        {"type":"prompt_result","id":"p","agentInvoked":true,"status":"aborted","sessionSettled":true}
        {"type":"session_settled"}
        {"type":"agent_settled","aborted":true}
        {"id":"a","type":"response","command":"abort","success":true}
    "#]].assert_eq(&told(&frames, &folder));
}

#[test]
fn while_a_retry_waits() {
    let folder = Folder::with(
        "[model]\nid = \"mock\"\n[[turn]]\ntext = \"One.\"\n[[turn]]\nerror = { kind = \"overloaded\", message = \"Overloaded\" }",
    );
    folder.config("[retry]\nbase_delay_ms = 3600000\n");
    let mut child = folder.child(&["--session-dir", "../sessions"]);
    child.prompt("first");
    child.send(json!({"id": "p", "type": "prompt", "message": "second"}));
    child.until_type("auto_retry_start");
    check(
        &folder,
        &mut child,
        harmless(),
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
            {"id":11,"type":"response","command":"get_branch_messages","success":true,"data":{"messages":[{"entryId":"ID1","text":"first"},{"entryId":"ID2","text":"second"}]}}
            {"id":12,"type":"response","command":"get_subagents","success":true,"data":{"subagents":[]}}
            {"id":13,"type":"response","command":"steer","success":true,"data":{"disposition":"queued"}}
            {"id":14,"type":"response","command":"follow_up","success":true,"data":{"disposition":"queued"}}
            {"id":15,"type":"response","command":"clear_queue","success":true,"data":{"steering":["later"],"followUp":["later still"]}}
            {"id":16,"type":"response","command":"set_model","success":false,"error":"Model not found: nope/missing"}
            {"type":"response","command":"nonsense","success":false,"error":"Unknown command: nonsense"}
            {"id":"twice","type":"response","command":"get_last_assistant_text","success":true,"data":{"text":"One."}}
            {"id":"twice","type":"response","command":"get_last_assistant_text","success":true,"data":{"text":"One."}}
            {"type":"entry_appended","entry":{"type":"context_edit","id":"ID3","parentId":"ID4","timestamp":"TIME","targetId":"ID4","replacement":null}}
            {"type":"thinking_level_changed","level":"low","thinkingLevel":"low"}
            {"type":"session_info_changed","name":"n"}
            {"type":"session_info_update","title":"n","sessionId":"ID5"}
            {"type":"queue_update","steering":["later"],"followUp":[]}
            {"type":"queue_update","steering":["later"],"followUp":["later still"]}
            {"type":"queue_update","steering":[],"followUp":[]}
        "#]],
    );
    let frames = child.done(json!({"id": "a", "type": "abort"}));
    expect![[r#"
        {"type":"auto_retry_end","success":false,"attempt":1,"finalError":"Retry cancelled"}
        {"type":"prompt_result","id":"p","agentInvoked":true,"status":"aborted","sessionSettled":true}
        {"type":"session_settled"}
        {"type":"agent_settled","aborted":true}
        {"id":"a","type":"response","command":"abort","success":true}
    "#]].assert_eq(&told(&frames, &folder));
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
    check(
        &folder,
        &mut child,
        harmless(),
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
        {"id":11,"type":"response","command":"get_branch_messages","success":true,"data":{"messages":[{"entryId":"ID1","text":"first"},{"entryId":"ID2","text":"second"}]}}
        {"id":12,"type":"response","command":"get_subagents","success":true,"data":{"subagents":[]}}
        {"id":13,"type":"response","command":"steer","success":true,"data":{"disposition":"queued"}}
        {"id":14,"type":"response","command":"follow_up","success":true,"data":{"disposition":"queued"}}
        {"id":15,"type":"response","command":"clear_queue","success":true,"data":{"steering":["later"],"followUp":["later still"]}}
        {"id":16,"type":"response","command":"set_model","success":false,"error":"Model not found: nope/missing"}
        {"type":"response","command":"nonsense","success":false,"error":"Unknown command: nonsense"}
        {"id":"twice","type":"response","command":"get_last_assistant_text","success":true,"data":{"text":"One."}}
        {"id":"twice","type":"response","command":"get_last_assistant_text","success":true,"data":{"text":"One."}}
        {"type":"thinking_level_changed","level":"low","thinkingLevel":"low"}
        {"type":"session_info_changed","name":"n"}
        {"type":"session_info_update","title":"n","sessionId":"ID3"}
        {"type":"queue_update","steering":["later"],"followUp":[]}
        {"type":"queue_update","steering":["later"],"followUp":["later still"]}
        {"type":"queue_update","steering":[],"followUp":[]}
    "#]],
    );
}

#[test]
fn while_a_question_is_open() {
    let folder = Folder::with(
        "on_exhausted = { text = \"Done.\" }\n[model]\nid = \"mock\"\n[[turn]]\nsteps = [{ tool = \"bash\", id = \"call-1\", arguments = { command = \"echo hi\" } }]",
    );
    let mut child = folder.child(&["--session-dir", "../sessions", "--permission-mode", "ask"]);
    child.send(json!({"id": "p", "type": "prompt", "message": "go"}));
    let asked = child.until_type("extension_ui_request").pop().unwrap();
    check(
        &folder,
        &mut child,
        harmless(),
        expect![[r#"
        {"id":0,"type":"response","command":"prompt","success":false,"error":"Agent is already processing. Specify streamingBehavior ('steer' or 'followUp') to queue the message."}
        {"id":1,"type":"response","command":"get_messages_page","success":false,"error":"Cannot page messages while the session is changing","code":"session_busy"}
        {"id":2,"type":"response","command":"get_last_assistant_text","success":true,"data":{}}
        {"id":3,"type":"response","command":"set_steering_mode","success":true}
        {"id":4,"type":"response","command":"set_thinking_level","success":true}
        {"id":5,"type":"response","command":"set_auto_retry","success":true}
        {"id":6,"type":"response","command":"set_session_name","success":true}
        {"id":7,"type":"response","command":"bash","success":true,"data":{"output":"","cancelled":true,"truncated":false,"totalLines":0,"totalBytes":0,"outputLines":0,"outputBytes":0}}
        {"id":8,"type":"response","command":"abort_bash","success":true}
        {"id":9,"type":"response","command":"set_host_tools","success":true,"data":{"toolNames":[]}}
        {"id":10,"type":"response","command":"set_event_filter","success":true,"data":{"events":null,"messageUpdates":"full"}}
        {"id":11,"type":"response","command":"get_branch_messages","success":true,"data":{"messages":[{"entryId":"ID1","text":"go"}]}}
        {"id":12,"type":"response","command":"get_subagents","success":true,"data":{"subagents":[]}}
        {"id":13,"type":"response","command":"steer","success":true,"data":{"disposition":"queued"}}
        {"id":14,"type":"response","command":"follow_up","success":true,"data":{"disposition":"queued"}}
        {"id":15,"type":"response","command":"clear_queue","success":true,"data":{"steering":["later"],"followUp":["later still"]}}
        {"id":16,"type":"response","command":"set_model","success":false,"error":"Model not found: nope/missing"}
        {"type":"response","command":"nonsense","success":false,"error":"Unknown command: nonsense"}
        {"id":"twice","type":"response","command":"get_last_assistant_text","success":true,"data":{}}
        {"id":"twice","type":"response","command":"get_last_assistant_text","success":true,"data":{}}
        {"type":"thinking_level_changed","level":"low","thinkingLevel":"low"}
        {"type":"session_info_changed","name":"n"}
        {"type":"session_info_update","title":"n","sessionId":"ID2"}
        {"type":"queue_update","steering":["later"],"followUp":[]}
        {"type":"queue_update","steering":["later"],"followUp":["later still"]}
        {"type":"queue_update","steering":[],"followUp":[]}
    "#]],
    );
    child.send(json!({"type": "extension_ui_response", "id": asked["id"], "value": "Allow"}));
    // Twice: the second means nothing.
    child.send(json!({"type": "extension_ui_response", "id": asked["id"], "value": "Deny"}));
    let frames = without_reports(child.until_type("agent_settled"));
    expect![[r#"
        {"type":"tool_execution_end","toolCallId":"call-1","toolName":"bash","result":{"content":[{"type":"text","text":"hi\n"}]},"isError":false,"durationMs":"MS"}
        {"type":"message_start","messageId":"msg-3","message":{"role":"toolResult","toolCallId":"call-1","toolName":"bash","content":[{"type":"text","text":"hi\n"}],"isError":false,"timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-3","message":"as it began"}
        {"type":"turn_end","message":{"role":"assistant","content":[{"type":"toolCall","id":"call-1","name":"bash","arguments":{"command":"echo hi"}}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"toolUse","timestamp":"TIME","duration":"MS","ttft":"MS"},"toolResults":["msg-3"]}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-4","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-4","message":{"…":"as it began","content":[{"type":"text","text":""}]},"assistantMessageEvent":{"type":"text_start","contentIndex":0,"partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-4","message":{"…":"as it began","content":[{"type":"text","text":"Done."}]},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"Done.","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-4","message":{"…":"as it began","content":[{"type":"text","text":"Done."}]},"assistantMessageEvent":{"type":"text_end","contentIndex":0,"content":"Done.","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_end","messageId":"msg-4","message":{"role":"assistant","content":[{"type":"text","text":"Done."}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"turn_end","message":"msg-4","toolResults":[]}
        {"type":"agent_end","messages":[{"role":"user","content":[{"type":"text","text":"go"}],"attribution":"user","timestamp":"TIME"},{"role":"assistant","content":[{"type":"toolCall","id":"call-1","name":"bash","arguments":{"command":"echo hi"}}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"toolUse","timestamp":"TIME","duration":"MS","ttft":"MS"},"msg-3","msg-4"],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":4}
        {"type":"prompt_result","id":"p","agentInvoked":true,"status":"completed","sessionSettled":true}
        {"type":"session_settled"}
        {"type":"agent_settled","aborted":false}
    "#]].assert_eq(&told(&frames, &folder));
}

/// What is told when a command takes a run away.
fn taken_away_by(command: Value, expected: Expect) {
    let folder = Folder::with(TALK);
    let mut child = streaming(&folder);
    child.send(json!({"id": "b", "type": "bash", "command": "sleep 600"}));
    let mut wanted = command.clone();
    wanted["id"] = json!("w");
    child.send(wanted);
    let taken = |frame: &Value| frame["id"] == "w" && frame["type"] == "response";
    let stopped = |frame: &Value| frame["id"] == "b" && frame["type"] == "response";
    let (mut answers, events) = answers_and_events(child.until_all(&[&taken, &stopped]));
    answers.sort_by_key(|frame| frame["id"].as_str().unwrap().to_owned());
    expected.assert_eq(&told(&[events, answers].concat(), &folder));
    child.done(json!({"id": "x", "type": "abort_bash"}));
    let (_, code) = child.close();
    assert_eq!(code, Some(0), "{command}");
}

#[test]
fn a_new_conversation_takes_the_place_of_one_that_runs() {
    taken_away_by(
        json!({"type": "new_session"}),
        expect![[r#"
            {"type":"message_end","messageId":"msg-4","message":{"role":"assistant","content":[{"type":"text","text":"Well"}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"aborted","errorMessage":"Request was aborted","timestamp":"TIME","duration":"MS","ttft":"MS"}}
            {"type":"turn_end","message":"msg-4","toolResults":[]}
            {"type":"agent_end","messages":[{"role":"user","content":[{"type":"text","text":"second"}],"attribution":"user","timestamp":"TIME"},"msg-4"],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":2}
            {"type":"prompt_result","id":"p","agentInvoked":true,"status":"aborted","sessionSettled":true}
            {"type":"session_settled"}
            {"type":"agent_settled","aborted":true}
            {"id":"b","type":"response","command":"bash","success":true,"data":{"output":"","cancelled":true,"truncated":false,"totalLines":0,"totalBytes":0,"outputLines":0,"outputBytes":0}}
            {"id":"w","type":"response","command":"new_session","success":true,"data":{"cancelled":false}}
        "#]],
    );
}

#[test]
fn a_stored_conversation_takes_the_place_of_one_that_runs() {
    let command = json!({"type": "switch_session", "sessionPath": "other.jsonl"});
    taken_away_by(
        command,
        expect![[r#"
            {"type":"message_end","messageId":"msg-4","message":{"role":"assistant","content":[{"type":"text","text":"Well"}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"aborted","errorMessage":"Request was aborted","timestamp":"TIME","duration":"MS","ttft":"MS"}}
            {"type":"turn_end","message":"msg-4","toolResults":[]}
            {"type":"agent_end","messages":[{"role":"user","content":[{"type":"text","text":"second"}],"attribution":"user","timestamp":"TIME"},"msg-4"],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":2}
            {"type":"prompt_result","id":"p","agentInvoked":true,"status":"aborted","sessionSettled":true}
            {"type":"session_settled"}
            {"type":"agent_settled","aborted":true}
            {"id":"b","type":"response","command":"bash","success":true,"data":{"output":"","cancelled":true,"truncated":false,"totalLines":0,"totalBytes":0,"outputLines":0,"outputBytes":0}}
            {"id":"w","type":"response","command":"switch_session","success":true,"data":{"cancelled":false}}
        "#]],
    );
}

#[test]
fn a_copy_takes_the_place_of_a_conversation_that_runs() {
    taken_away_by(
        json!({"type": "clone"}),
        expect![[r#"
            {"type":"message_end","messageId":"msg-4","message":{"role":"assistant","content":[{"type":"text","text":"Well"}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"aborted","errorMessage":"Request was aborted","timestamp":"TIME","duration":"MS","ttft":"MS"}}
            {"type":"turn_end","message":"msg-4","toolResults":[]}
            {"type":"agent_end","messages":[{"role":"user","content":[{"type":"text","text":"second"}],"attribution":"user","timestamp":"TIME"},"msg-4"],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":2}
            {"type":"prompt_result","id":"p","agentInvoked":true,"status":"aborted","sessionSettled":true}
            {"type":"session_settled"}
            {"type":"agent_settled","aborted":true}
            {"id":"b","type":"response","command":"bash","success":true,"data":{"output":"","cancelled":true,"truncated":false,"totalLines":0,"totalBytes":0,"outputLines":0,"outputBytes":0}}
            {"id":"w","type":"response","command":"clone","success":true,"data":{"cancelled":false}}
        "#]],
    );
}

#[test]
fn a_branch_takes_the_place_of_a_conversation_that_runs() {
    let folder = Folder::with(TALK);
    let mut child = streaming(&folder);
    let points = child.data(json!({"type": "get_branch_messages"}))["messages"].take();
    let entry = &points[1]["entryId"];
    let mut frames = child.done(json!({"id": "w", "type": "branch", "entryId": entry}));
    frames.extend(child.done(json!({"id": "m", "type": "get_messages"})));
    expect![[r#"
        {"type":"message_end","messageId":"msg-4","message":{"role":"assistant","content":[{"type":"text","text":"Well"}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"aborted","errorMessage":"Request was aborted","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"turn_end","message":"msg-4","toolResults":[]}
        {"type":"agent_end","messages":[{"role":"user","content":[{"type":"text","text":"second"}],"attribution":"user","timestamp":"TIME"},"msg-4"],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":2}
        {"type":"prompt_result","id":"p","agentInvoked":true,"status":"aborted","sessionSettled":true}
        {"type":"session_settled"}
        {"type":"agent_settled","aborted":true}
        {"id":"w","type":"response","command":"branch","success":true,"data":{"text":"second","cancelled":false}}
        {"id":"m","type":"response","command":"get_messages","success":true,"data":{"messages":[{"role":"user","content":[{"type":"text","text":"first"}],"attribution":"user","timestamp":"TIME"},{"role":"assistant","content":[{"type":"text","text":"One."}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}]}}
    "#]].assert_eq(&told(&frames, &folder));
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
    let frames = child.until(|frame| frame["id"] == 4);
    expect![[r#"
        {"id":2,"type":"response","command":"get_state","success":true,"data":{"model":{"id":"mock","name":"Scenario mock","api":"script","provider":"script","baseUrl":"","reasoning":true,"input":["text","image"],"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0},"contextWindow":200000,"maxTokens":32000,"thinking":{"mode":"effort","efforts":["minimal","low","medium","high","xhigh"],"minLevel":"minimal","maxLevel":"xhigh"}},"thinkingLevel":"medium","isStreaming":false,"isCompacting":false,"steeringMode":"one-at-a-time","followUpMode":"one-at-a-time","interruptMode":"immediate","sessionId":"ID1","autoCompactionEnabled":true,"autoRetryEnabled":true,"messageCount":0,"queuedMessageCount":0,"pendingMessageCount":0,"queuedMessages":{"steering":[],"followUp":[]},"hasPendingAsyncWork":false,"isSettled":true,"fastModeEnabled":false,"fastModeActive":false,"tokensPerSecond":null,"todoPhases":[],"systemPrompt":"…","dumpTools":["read","bash","edit","write","grep","find","ls","todo","job","fetch","subagent"]}}
        {"id":3,"type":"response","command":"steer","success":false,"error":"Invalid steer command: message: invalid type: sequence, expected a string"}
        {"id":4,"type":"response","command":"get_last_assistant_text","success":true,"data":{}}
    "#]].assert_eq(&told(&frames, &folder));
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
        let expected = format!(
            r#"{{"id":{n},"type":"response","command":"get_last_assistant_text","success":true,"data":{{}}}}"#
        );
        assert_eq!(line, expected);
    }
    drop(writer.join().unwrap());
}
