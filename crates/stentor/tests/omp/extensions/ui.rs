//! The extension UI sub-protocol (section 15), with an extension that is a process of its own.

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use crate::child::{Child, Folder};
use crate::transcript::told;

pub const DEMO: &str = include_str!("demo.py");

/// A folder with the extension, and a model that has it do something.
pub fn stage(what: &str) -> Folder {
    let folder = Folder::with(&format!(
        r#"
        on_exhausted = {{ text = "Done." }}
        [model]
        id = "mock"
        [[turn]]
        steps = [{{ tool = "demo", id = "call-1", arguments = {{ what = "{what}" }} }}]
        "#
    ));
    folder.file("demo.py", DEMO);
    folder
}

pub fn start(folder: &Folder) -> Child {
    let mut child = folder.child(&["--no-session", "--extension", "demo.py"]);
    child.send(json!({"id": "p", "type": "prompt", "message": "go"}));
    child
}

pub fn is_question(frame: &Value) -> bool {
    let method = frame["method"].as_str().unwrap_or_default();
    matches!(method, "confirm" | "select" | "input" | "editor")
}

/// Answers question after question. Returns all that is told to the end.
fn answered(child: &mut Child, answers: &[Value]) -> Vec<Value> {
    let mut frames = Vec::new();
    for answer in answers {
        frames.extend(child.until(is_question));
        let mut answer = answer.clone();
        answer["type"] = json!("extension_ui_response");
        answer["id"] = frames.last().unwrap()["id"].clone();
        child.send(answer);
    }
    frames.extend(child.until_type("agent_settled"));
    frames
}

fn check(answers: [Value; 4], expected: Expect) {
    let folder = stage("ask");
    let mut child = start(&folder);
    let frames = answered(&mut child, &answers);
    expected.assert_eq(&told(&frames, &folder));
}

#[test]
fn each_kind_of_question_is_asked_and_its_answer_arrives() {
    check(
        [
            json!({"confirmed": true}),
            json!({"value": "Block"}),
            json!({"value": "main"}),
            json!({"value": "edited\ntext"}),
        ],
        expect![[r#"
            {"id":"p","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
            {"type":"agent_start"}
            {"type":"turn_start"}
            {"type":"message_start","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"go"}],"attribution":"user","timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-1","message":"as it began"}
            {"type":"message_start","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
            {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"demo","arguments":{}}]},"assistantMessageEvent":{"type":"toolcall_start","contentIndex":0,"id":"call-1","toolName":"demo","partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"demo","arguments":{"what":"ask"}}]},"assistantMessageEvent":{"type":"toolcall_delta","contentIndex":0,"delta":"{\"what\":\"ask\"}","partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"demo","arguments":{"what":"ask"}}]},"assistantMessageEvent":{"type":"toolcall_end","contentIndex":0,"toolCall":{"type":"toolCall","id":"call-1","name":"demo","arguments":{"what":"ask"}},"partial":"=message"},"usage":"=message.usage"}
            {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"toolCall","id":"call-1","name":"demo","arguments":{"what":"ask"}}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"toolUse","timestamp":"TIME","duration":"MS","ttft":"MS"}}
            {"type":"tool_execution_start","toolCallId":"call-1","toolName":"demo","args":{"what":"ask"}}
            {"type":"extension_ui_request","id":"1000000100000001","method":"confirm","title":"Confirm","message":"Continue?"}
            {"type":"extension_ui_request","id":"1000000100000002","method":"select","title":"Pick one","options":["Allow","Block"],"optionDetails":[{},{"description":"No"}]}
            {"type":"extension_ui_request","id":"1000000100000003","method":"input","title":"Branch name","placeholder":"feature/..."}
            {"type":"extension_ui_request","id":"1000000100000004","method":"editor","title":"Edit text","prefill":"line 1\nline 2"}
            {"type":"tool_execution_end","toolCallId":"call-1","toolName":"demo","result":{"content":[{"type":"text","text":"[{\"confirmed\": true, \"answered\": true}, {\"value\": \"b\"}, {\"value\": \"main\"}, {\"value\": \"edited\\ntext\"}]"}]},"isError":false,"durationMs":"MS"}
            {"type":"message_start","messageId":"msg-3","message":{"role":"toolResult","toolCallId":"call-1","toolName":"demo","content":[{"type":"text","text":"[{\"confirmed\": true, \"answered\": true}, {\"value\": \"b\"}, {\"value\": \"main\"}, {\"value\": \"edited\\ntext\"}]"}],"isError":false,"timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-3","message":"as it began"}
            {"type":"turn_end","message":"msg-2","toolResults":["msg-3"]}
            {"type":"turn_start"}
            {"type":"message_start","messageId":"msg-4","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
            {"type":"message_update","messageId":"msg-4","message":{"…":"as it began","content":[{"type":"text","text":""}]},"assistantMessageEvent":{"type":"text_start","contentIndex":0,"partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-4","message":{"…":"as it began","content":[{"type":"text","text":"Done."}]},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"Done.","partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-4","message":{"…":"as it began","content":[{"type":"text","text":"Done."}]},"assistantMessageEvent":{"type":"text_end","contentIndex":0,"content":"Done.","partial":"=message"},"usage":"=message.usage"}
            {"type":"message_end","messageId":"msg-4","message":{"role":"assistant","content":[{"type":"text","text":"Done."}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
            {"type":"turn_end","message":"msg-4","toolResults":[]}
            {"type":"agent_end","messages":["msg-1","msg-2","msg-3","msg-4"],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":4}
            {"type":"prompt_result","id":"p","agentInvoked":true,"status":"completed","sessionSettled":true}
            {"type":"session_settled"}
            {"type":"agent_settled","aborted":false}
        "#]],
    );
}

#[test]
fn a_question_that_is_cancelled_gets_its_default_whatever_else_the_answer_says() {
    check(
        [
            json!({"cancelled": true, "confirmed": true}),
            json!({"cancelled": true, "value": "Allow"}),
            json!({"cancelled": true}),
            json!({"cancelled": true, "timedOut": true}),
        ],
        expect![[r#"
            {"id":"p","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
            {"type":"agent_start"}
            {"type":"turn_start"}
            {"type":"message_start","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"go"}],"attribution":"user","timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-1","message":"as it began"}
            {"type":"message_start","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
            {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"demo","arguments":{}}]},"assistantMessageEvent":{"type":"toolcall_start","contentIndex":0,"id":"call-1","toolName":"demo","partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"demo","arguments":{"what":"ask"}}]},"assistantMessageEvent":{"type":"toolcall_delta","contentIndex":0,"delta":"{\"what\":\"ask\"}","partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"demo","arguments":{"what":"ask"}}]},"assistantMessageEvent":{"type":"toolcall_end","contentIndex":0,"toolCall":{"type":"toolCall","id":"call-1","name":"demo","arguments":{"what":"ask"}},"partial":"=message"},"usage":"=message.usage"}
            {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"toolCall","id":"call-1","name":"demo","arguments":{"what":"ask"}}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"toolUse","timestamp":"TIME","duration":"MS","ttft":"MS"}}
            {"type":"tool_execution_start","toolCallId":"call-1","toolName":"demo","args":{"what":"ask"}}
            {"type":"extension_ui_request","id":"1000000100000001","method":"confirm","title":"Confirm","message":"Continue?"}
            {"type":"extension_ui_request","id":"1000000100000002","method":"select","title":"Pick one","options":["Allow","Block"],"optionDetails":[{},{"description":"No"}]}
            {"type":"extension_ui_request","id":"1000000100000003","method":"input","title":"Branch name","placeholder":"feature/..."}
            {"type":"extension_ui_request","id":"1000000100000004","method":"editor","title":"Edit text","prefill":"line 1\nline 2"}
            {"type":"tool_execution_end","toolCallId":"call-1","toolName":"demo","result":{"content":[{"type":"text","text":"[{\"confirmed\": false, \"answered\": false}, {\"value\": null}, {\"value\": null}, {\"value\": null}]"}]},"isError":false,"durationMs":"MS"}
            {"type":"message_start","messageId":"msg-3","message":{"role":"toolResult","toolCallId":"call-1","toolName":"demo","content":[{"type":"text","text":"[{\"confirmed\": false, \"answered\": false}, {\"value\": null}, {\"value\": null}, {\"value\": null}]"}],"isError":false,"timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-3","message":"as it began"}
            {"type":"turn_end","message":"msg-2","toolResults":["msg-3"]}
            {"type":"turn_start"}
            {"type":"message_start","messageId":"msg-4","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
            {"type":"message_update","messageId":"msg-4","message":{"…":"as it began","content":[{"type":"text","text":""}]},"assistantMessageEvent":{"type":"text_start","contentIndex":0,"partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-4","message":{"…":"as it began","content":[{"type":"text","text":"Done."}]},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"Done.","partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-4","message":{"…":"as it began","content":[{"type":"text","text":"Done."}]},"assistantMessageEvent":{"type":"text_end","contentIndex":0,"content":"Done.","partial":"=message"},"usage":"=message.usage"}
            {"type":"message_end","messageId":"msg-4","message":{"role":"assistant","content":[{"type":"text","text":"Done."}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
            {"type":"turn_end","message":"msg-4","toolResults":[]}
            {"type":"agent_end","messages":["msg-1","msg-2","msg-3","msg-4"],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":4}
            {"type":"prompt_result","id":"p","agentInvoked":true,"status":"completed","sessionSettled":true}
            {"type":"session_settled"}
            {"type":"agent_settled","aborted":false}
        "#]],
    );
}

#[test]
fn an_answer_of_the_wrong_kind_counts_as_none() {
    check(
        [
            json!({"value": "yes"}),
            json!({"confirmed": true}),
            json!({}),
            json!({"confirmed": false}),
        ],
        expect![[r#"
            {"id":"p","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
            {"type":"agent_start"}
            {"type":"turn_start"}
            {"type":"message_start","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"go"}],"attribution":"user","timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-1","message":"as it began"}
            {"type":"message_start","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
            {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"demo","arguments":{}}]},"assistantMessageEvent":{"type":"toolcall_start","contentIndex":0,"id":"call-1","toolName":"demo","partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"demo","arguments":{"what":"ask"}}]},"assistantMessageEvent":{"type":"toolcall_delta","contentIndex":0,"delta":"{\"what\":\"ask\"}","partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"demo","arguments":{"what":"ask"}}]},"assistantMessageEvent":{"type":"toolcall_end","contentIndex":0,"toolCall":{"type":"toolCall","id":"call-1","name":"demo","arguments":{"what":"ask"}},"partial":"=message"},"usage":"=message.usage"}
            {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"toolCall","id":"call-1","name":"demo","arguments":{"what":"ask"}}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"toolUse","timestamp":"TIME","duration":"MS","ttft":"MS"}}
            {"type":"tool_execution_start","toolCallId":"call-1","toolName":"demo","args":{"what":"ask"}}
            {"type":"extension_ui_request","id":"1000000100000001","method":"confirm","title":"Confirm","message":"Continue?"}
            {"type":"extension_ui_request","id":"1000000100000002","method":"select","title":"Pick one","options":["Allow","Block"],"optionDetails":[{},{"description":"No"}]}
            {"type":"extension_ui_request","id":"1000000100000003","method":"input","title":"Branch name","placeholder":"feature/..."}
            {"type":"extension_ui_request","id":"1000000100000004","method":"editor","title":"Edit text","prefill":"line 1\nline 2"}
            {"type":"tool_execution_end","toolCallId":"call-1","toolName":"demo","result":{"content":[{"type":"text","text":"[{\"confirmed\": false, \"answered\": false}, {\"value\": null}, {\"value\": null}, {\"value\": null}]"}]},"isError":false,"durationMs":"MS"}
            {"type":"message_start","messageId":"msg-3","message":{"role":"toolResult","toolCallId":"call-1","toolName":"demo","content":[{"type":"text","text":"[{\"confirmed\": false, \"answered\": false}, {\"value\": null}, {\"value\": null}, {\"value\": null}]"}],"isError":false,"timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-3","message":"as it began"}
            {"type":"turn_end","message":"msg-2","toolResults":["msg-3"]}
            {"type":"turn_start"}
            {"type":"message_start","messageId":"msg-4","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
            {"type":"message_update","messageId":"msg-4","message":{"…":"as it began","content":[{"type":"text","text":""}]},"assistantMessageEvent":{"type":"text_start","contentIndex":0,"partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-4","message":{"…":"as it began","content":[{"type":"text","text":"Done."}]},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"Done.","partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-4","message":{"…":"as it began","content":[{"type":"text","text":"Done."}]},"assistantMessageEvent":{"type":"text_end","contentIndex":0,"content":"Done.","partial":"=message"},"usage":"=message.usage"}
            {"type":"message_end","messageId":"msg-4","message":{"role":"assistant","content":[{"type":"text","text":"Done."}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
            {"type":"turn_end","message":"msg-4","toolResults":[]}
            {"type":"agent_end","messages":["msg-1","msg-2","msg-3","msg-4"],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":4}
            {"type":"prompt_result","id":"p","agentInvoked":true,"status":"completed","sessionSettled":true}
            {"type":"session_settled"}
            {"type":"agent_settled","aborted":false}
        "#]],
    );
}

#[test]
fn a_question_nobody_answers_in_time_is_withdrawn_and_a_late_answer_is_ignored() {
    let folder = stage("ask in vain");
    let mut child = start(&folder);
    let mut frames: Vec<Value> = Vec::new();
    for _ in 0..3 {
        frames.extend(child.until(is_question));
        let id = frames.last().unwrap()["id"].clone();
        frames.extend(child.until(|frame| frame["method"] == "cancel"));
        child.send(
            json!({"type": "extension_ui_response", "id": id, "value": "late", "confirmed": true}),
        );
    }
    frames.extend(child.until_type("agent_settled"));
    expect![[r#"
        {"id":"p","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
        {"type":"agent_start"}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"go"}],"attribution":"user","timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-1","message":"as it began"}
        {"type":"message_start","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"demo","arguments":{}}]},"assistantMessageEvent":{"type":"toolcall_start","contentIndex":0,"id":"call-1","toolName":"demo","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"demo","arguments":{"what":"ask in vain"}}]},"assistantMessageEvent":{"type":"toolcall_delta","contentIndex":0,"delta":"{\"what\":\"ask in vain\"}","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"demo","arguments":{"what":"ask in vain"}}]},"assistantMessageEvent":{"type":"toolcall_end","contentIndex":0,"toolCall":{"type":"toolCall","id":"call-1","name":"demo","arguments":{"what":"ask in vain"}},"partial":"=message"},"usage":"=message.usage"}
        {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"toolCall","id":"call-1","name":"demo","arguments":{"what":"ask in vain"}}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"toolUse","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"tool_execution_start","toolCallId":"call-1","toolName":"demo","args":{"what":"ask in vain"}}
        {"type":"extension_ui_request","id":"1000000100000001","method":"confirm","title":"C","message":"m","timeout":1}
        {"type":"extension_ui_request","id":"3000000100000001","method":"cancel","targetId":"1000000100000001"}
        {"type":"extension_ui_request","id":"1000000100000002","method":"select","title":"S","options":["x"],"timeout":1}
        {"type":"extension_ui_request","id":"3000000100000002","method":"cancel","targetId":"1000000100000002"}
        {"type":"extension_ui_request","id":"1000000100000003","method":"input","title":"I","timeout":1}
        {"type":"extension_ui_request","id":"3000000100000003","method":"cancel","targetId":"1000000100000003"}
        {"type":"tool_execution_end","toolCallId":"call-1","toolName":"demo","result":{"content":[{"type":"text","text":"[{\"confirmed\": false, \"answered\": false}, {\"value\": null}, {\"value\": null}]"}]},"isError":false,"durationMs":"MS"}
        {"type":"message_start","messageId":"msg-3","message":{"role":"toolResult","toolCallId":"call-1","toolName":"demo","content":[{"type":"text","text":"[{\"confirmed\": false, \"answered\": false}, {\"value\": null}, {\"value\": null}]"}],"isError":false,"timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-3","message":"as it began"}
        {"type":"turn_end","message":"msg-2","toolResults":["msg-3"]}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-4","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-4","message":{"…":"as it began","content":[{"type":"text","text":""}]},"assistantMessageEvent":{"type":"text_start","contentIndex":0,"partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-4","message":{"…":"as it began","content":[{"type":"text","text":"Done."}]},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"Done.","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-4","message":{"…":"as it began","content":[{"type":"text","text":"Done."}]},"assistantMessageEvent":{"type":"text_end","contentIndex":0,"content":"Done.","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_end","messageId":"msg-4","message":{"role":"assistant","content":[{"type":"text","text":"Done."}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"turn_end","message":"msg-4","toolResults":[]}
        {"type":"agent_end","messages":["msg-1","msg-2","msg-3","msg-4"],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":4}
        {"type":"prompt_result","id":"p","agentInvoked":true,"status":"completed","sessionSettled":true}
        {"type":"session_settled"}
        {"type":"agent_settled","aborted":false}
    "#]].assert_eq(&told(&frames, &folder));
}

#[test]
fn what_an_extension_shows_is_shown() {
    let folder = stage("show");
    let mut child = start(&folder);
    let mut frames = child.until(|frame| frame["method"] == "set_editor_text");
    // None of it can be answered.
    for frame in &frames {
        if frame["type"] == "extension_ui_request" {
            child.send(json!({"type": "extension_ui_response", "id": frame["id"], "value": "x"}));
        }
    }
    frames.extend(child.until_type("agent_settled"));
    expect![[r#"
        {"id":"p","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
        {"type":"agent_start"}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"go"}],"attribution":"user","timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-1","message":"as it began"}
        {"type":"message_start","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"demo","arguments":{}}]},"assistantMessageEvent":{"type":"toolcall_start","contentIndex":0,"id":"call-1","toolName":"demo","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"demo","arguments":{"what":"show"}}]},"assistantMessageEvent":{"type":"toolcall_delta","contentIndex":0,"delta":"{\"what\":\"show\"}","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"demo","arguments":{"what":"show"}}]},"assistantMessageEvent":{"type":"toolcall_end","contentIndex":0,"toolCall":{"type":"toolCall","id":"call-1","name":"demo","arguments":{"what":"show"}},"partial":"=message"},"usage":"=message.usage"}
        {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"toolCall","id":"call-1","name":"demo","arguments":{"what":"show"}}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"toolUse","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"tool_execution_start","toolCallId":"call-1","toolName":"demo","args":{"what":"show"}}
        {"type":"extension_ui_request","id":"3000000100000001","method":"notify","message":"starting","notifyType":"info"}
        {"type":"extension_ui_request","id":"3000000100000002","method":"notify","message":"starting","notifyType":"warning"}
        {"type":"extension_ui_request","id":"3000000100000003","method":"notify","message":"starting","notifyType":"error"}
        {"type":"extension_ui_request","id":"3000000100000004","method":"setStatus","statusKey":"demo:s","statusText":"running"}
        {"type":"extension_ui_request","id":"3000000100000005","method":"setStatus","statusKey":"demo:s"}
        {"type":"extension_ui_request","id":"3000000100000006","method":"setWidget","widgetKey":"demo:w","widgetLines":["a","b"]}
        {"type":"extension_ui_request","id":"3000000100000007","method":"setWidget","widgetKey":"demo:w","widgetLines":["a"],"widgetPlacement":"belowEditor"}
        {"type":"extension_ui_request","id":"3000000100000008","method":"setWidget","widgetKey":"demo:w"}
        {"type":"extension_ui_request","id":"3000000100000009","method":"setTitle","title":"demo title"}
        {"type":"extension_ui_request","id":"300000010000000a","method":"set_editor_text","text":"prefill"}
        {"type":"tool_execution_end","toolCallId":"call-1","toolName":"demo","result":{"content":[{"type":"text","text":"null"}]},"isError":false,"durationMs":"MS"}
        {"type":"message_start","messageId":"msg-3","message":{"role":"toolResult","toolCallId":"call-1","toolName":"demo","content":[{"type":"text","text":"null"}],"isError":false,"timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-3","message":"as it began"}
        {"type":"turn_end","message":"msg-2","toolResults":["msg-3"]}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-4","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-4","message":{"…":"as it began","content":[{"type":"text","text":""}]},"assistantMessageEvent":{"type":"text_start","contentIndex":0,"partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-4","message":{"…":"as it began","content":[{"type":"text","text":"Done."}]},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"Done.","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-4","message":{"…":"as it began","content":[{"type":"text","text":"Done."}]},"assistantMessageEvent":{"type":"text_end","contentIndex":0,"content":"Done.","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_end","messageId":"msg-4","message":{"role":"assistant","content":[{"type":"text","text":"Done."}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"turn_end","message":"msg-4","toolResults":[]}
        {"type":"agent_end","messages":["msg-1","msg-2","msg-3","msg-4"],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":4}
        {"type":"prompt_result","id":"p","agentInvoked":true,"status":"completed","sessionSettled":true}
        {"type":"session_settled"}
        {"type":"agent_settled","aborted":false}
    "#]].assert_eq(&told(&frames, &folder));
}

#[test]
fn what_an_extension_shows_and_asks_comes_in_the_order_it_was_sent() {
    let folder = stage("mix");
    let mut child = start(&folder);
    let asked_last = |frame: &Value| frame["title"] == "after 7";
    let mut frames = child.until(asked_last);
    let questions: Vec<Value> = frames
        .iter()
        .filter(|ui| is_question(ui))
        .cloned()
        .collect();
    for question in questions {
        child.send(json!({
            "type": "extension_ui_response", "id": question["id"], "value": question["title"],
        }));
    }
    // What it showed before it was done is there when it is done.
    frames.extend(child.until_type("agent_settled"));
    expect![[r#"
        {"id":"p","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
        {"type":"agent_start"}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"go"}],"attribution":"user","timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-1","message":"as it began"}
        {"type":"message_start","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"demo","arguments":{}}]},"assistantMessageEvent":{"type":"toolcall_start","contentIndex":0,"id":"call-1","toolName":"demo","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"demo","arguments":{"what":"mix"}}]},"assistantMessageEvent":{"type":"toolcall_delta","contentIndex":0,"delta":"{\"what\":\"mix\"}","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"demo","arguments":{"what":"mix"}}]},"assistantMessageEvent":{"type":"toolcall_end","contentIndex":0,"toolCall":{"type":"toolCall","id":"call-1","name":"demo","arguments":{"what":"mix"}},"partial":"=message"},"usage":"=message.usage"}
        {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"toolCall","id":"call-1","name":"demo","arguments":{"what":"mix"}}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"toolUse","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"tool_execution_start","toolCallId":"call-1","toolName":"demo","args":{"what":"mix"}}
        {"type":"extension_ui_request","id":"3000000100000001","method":"notify","message":"before 0","notifyType":"info"}
        {"type":"extension_ui_request","id":"3000000100000002","method":"setStatus","statusKey":"demo:s","statusText":"before 0"}
        {"type":"extension_ui_request","id":"1000000100000001","method":"input","title":"question 0"}
        {"type":"extension_ui_request","id":"3000000100000003","method":"setTitle","title":"after 0"}
        {"type":"extension_ui_request","id":"3000000100000004","method":"notify","message":"before 1","notifyType":"info"}
        {"type":"extension_ui_request","id":"3000000100000005","method":"setStatus","statusKey":"demo:s","statusText":"before 1"}
        {"type":"extension_ui_request","id":"1000000100000002","method":"input","title":"question 1"}
        {"type":"extension_ui_request","id":"3000000100000006","method":"setTitle","title":"after 1"}
        {"type":"extension_ui_request","id":"3000000100000007","method":"notify","message":"before 2","notifyType":"info"}
        {"type":"extension_ui_request","id":"3000000100000008","method":"setStatus","statusKey":"demo:s","statusText":"before 2"}
        {"type":"extension_ui_request","id":"1000000100000003","method":"input","title":"question 2"}
        {"type":"extension_ui_request","id":"3000000100000009","method":"setTitle","title":"after 2"}
        {"type":"extension_ui_request","id":"300000010000000a","method":"notify","message":"before 3","notifyType":"info"}
        {"type":"extension_ui_request","id":"300000010000000b","method":"setStatus","statusKey":"demo:s","statusText":"before 3"}
        {"type":"extension_ui_request","id":"1000000100000004","method":"input","title":"question 3"}
        {"type":"extension_ui_request","id":"300000010000000c","method":"setTitle","title":"after 3"}
        {"type":"extension_ui_request","id":"300000010000000d","method":"notify","message":"before 4","notifyType":"info"}
        {"type":"extension_ui_request","id":"300000010000000e","method":"setStatus","statusKey":"demo:s","statusText":"before 4"}
        {"type":"extension_ui_request","id":"1000000100000005","method":"input","title":"question 4"}
        {"type":"extension_ui_request","id":"300000010000000f","method":"setTitle","title":"after 4"}
        {"type":"extension_ui_request","id":"3000000100000010","method":"notify","message":"before 5","notifyType":"info"}
        {"type":"extension_ui_request","id":"3000000100000011","method":"setStatus","statusKey":"demo:s","statusText":"before 5"}
        {"type":"extension_ui_request","id":"1000000100000006","method":"input","title":"question 5"}
        {"type":"extension_ui_request","id":"3000000100000012","method":"setTitle","title":"after 5"}
        {"type":"extension_ui_request","id":"3000000100000013","method":"notify","message":"before 6","notifyType":"info"}
        {"type":"extension_ui_request","id":"3000000100000014","method":"setStatus","statusKey":"demo:s","statusText":"before 6"}
        {"type":"extension_ui_request","id":"1000000100000007","method":"input","title":"question 6"}
        {"type":"extension_ui_request","id":"3000000100000015","method":"setTitle","title":"after 6"}
        {"type":"extension_ui_request","id":"3000000100000016","method":"notify","message":"before 7","notifyType":"info"}
        {"type":"extension_ui_request","id":"3000000100000017","method":"setStatus","statusKey":"demo:s","statusText":"before 7"}
        {"type":"extension_ui_request","id":"1000000100000008","method":"input","title":"question 7"}
        {"type":"extension_ui_request","id":"3000000100000018","method":"setTitle","title":"after 7"}
        {"type":"extension_ui_request","id":"3000000100000019","method":"notify","message":"last","notifyType":"info"}
        {"type":"tool_execution_end","toolCallId":"call-1","toolName":"demo","result":{"content":[{"type":"text","text":"[\"question 0\", \"question 1\", \"question 2\", \"question 3\", \"question 4\", \"question 5\", \"question 6\", \"question 7\"]"}]},"isError":false,"durationMs":"MS"}
        {"type":"message_start","messageId":"msg-3","message":{"role":"toolResult","toolCallId":"call-1","toolName":"demo","content":[{"type":"text","text":"[\"question 0\", \"question 1\", \"question 2\", \"question 3\", \"question 4\", \"question 5\", \"question 6\", \"question 7\"]"}],"isError":false,"timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-3","message":"as it began"}
        {"type":"turn_end","message":"msg-2","toolResults":["msg-3"]}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-4","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-4","message":{"…":"as it began","content":[{"type":"text","text":""}]},"assistantMessageEvent":{"type":"text_start","contentIndex":0,"partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-4","message":{"…":"as it began","content":[{"type":"text","text":"Done."}]},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"Done.","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-4","message":{"…":"as it began","content":[{"type":"text","text":"Done."}]},"assistantMessageEvent":{"type":"text_end","contentIndex":0,"content":"Done.","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_end","messageId":"msg-4","message":{"role":"assistant","content":[{"type":"text","text":"Done."}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"turn_end","message":"msg-4","toolResults":[]}
        {"type":"agent_end","messages":["msg-1","msg-2","msg-3","msg-4"],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":4}
        {"type":"prompt_result","id":"p","agentInvoked":true,"status":"completed","sessionSettled":true}
        {"type":"session_settled"}
        {"type":"agent_settled","aborted":false}
    "#]].assert_eq(&told(&frames, &folder));
}
