//! Abort in each phase (section 11), whole frames.

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use crate::child::{Child, Folder};
use crate::transcript::{told, without_reports};

const MODEL: &str = "on_exhausted = { text = \"Done.\" }\n[model]\nid = \"mock\"\n";

fn is_update(frame: &Value, kind: &str) -> bool {
    frame["assistantMessageEvent"]["type"] == kind
}

fn started(folder: &Folder) -> Child {
    let mut child = folder.child(&["--no-session"]);
    child.send(json!({"id": "p", "type": "prompt", "message": "go"}));
    child
}

/// Aborts when the run has come as far as `reached` says, and compares all that is told.
fn check(turns: &str, reached: impl Fn(&Value) -> bool, expected: Expect) {
    let folder = Folder::with(&format!("{MODEL}{turns}"));
    let mut child = started(&folder);
    let mut frames = child.until(reached);
    frames.extend(child.done(json!({"id": "a", "type": "abort"})));
    expected.assert_eq(&told(&without_reports(frames), &folder));
    // Nothing of it is left: the next prompt is an ordinary one.
    let next = child.prompt("and now").pop().unwrap();
    assert_eq!(next, json!({"type": "agent_settled", "aborted": false}));
}

#[test]
fn before_the_model_says_anything() {
    check(
        "[[turn]]\nsteps = [{ hang = true }]",
        |frame| frame["type"] == "message_start" && frame["message"]["role"] == "assistant",
        expect![[r#"
            {"id":"p","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
            {"type":"agent_start"}
            {"type":"turn_start"}
            {"type":"message_start","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"go"}],"attribution":"user","timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-1","message":"as it began"}
            {"type":"message_start","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"aborted","errorMessage":"Request was aborted","timestamp":"TIME","duration":"MS"}}
            {"type":"turn_end","message":"msg-2","toolResults":[]}
            {"type":"agent_end","messages":["msg-1","msg-2"],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":2}
            {"type":"prompt_result","id":"p","agentInvoked":true,"status":"aborted","sessionSettled":true}
            {"type":"session_settled"}
            {"type":"agent_settled","aborted":true}
            {"id":"a","type":"response","command":"abort","success":true}
        "#]],
    );
}

#[test]
fn while_the_model_writes() {
    check(
        "[[turn]]\nsteps = [{ text = \"Well\" }, { hang = true }]",
        |frame| is_update(frame, "text_delta"),
        expect![[r#"
            {"id":"p","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
            {"type":"agent_start"}
            {"type":"turn_start"}
            {"type":"message_start","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"go"}],"attribution":"user","timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-1","message":"as it began"}
            {"type":"message_start","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
            {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":""}]},"assistantMessageEvent":{"type":"text_start","contentIndex":0,"partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":"Well"}]},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"Well","partial":"=message"},"usage":"=message.usage"}
            {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"text","text":"Well"}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"aborted","errorMessage":"Request was aborted","timestamp":"TIME","duration":"MS","ttft":"MS"}}
            {"type":"turn_end","message":"msg-2","toolResults":[]}
            {"type":"agent_end","messages":["msg-1","msg-2"],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":2}
            {"type":"prompt_result","id":"p","agentInvoked":true,"status":"aborted","sessionSettled":true}
            {"type":"session_settled"}
            {"type":"agent_settled","aborted":true}
            {"id":"a","type":"response","command":"abort","success":true}
        "#]],
    );
}

#[test]
fn while_the_model_thinks() {
    check(
        "[[turn]]\nsteps = [{ thinking = \"Hm\" }, { hang = true }]",
        |frame| is_update(frame, "thinking_delta"),
        expect![[r#"
            {"id":"p","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
            {"type":"agent_start"}
            {"type":"turn_start"}
            {"type":"message_start","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"go"}],"attribution":"user","timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-1","message":"as it began"}
            {"type":"message_start","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
            {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"thinking","thinking":""}]},"assistantMessageEvent":{"type":"thinking_start","contentIndex":0,"partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"thinking","thinking":"Hm"}]},"assistantMessageEvent":{"type":"thinking_delta","contentIndex":0,"delta":"Hm","partial":"=message"},"usage":"=message.usage"}
            {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"thinking","thinking":"Hm"}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"aborted","errorMessage":"Request was aborted","timestamp":"TIME","duration":"MS","ttft":"MS"}}
            {"type":"turn_end","message":"msg-2","toolResults":[]}
            {"type":"agent_end","messages":["msg-1","msg-2"],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":2}
            {"type":"prompt_result","id":"p","agentInvoked":true,"status":"aborted","sessionSettled":true}
            {"type":"session_settled"}
            {"type":"agent_settled","aborted":true}
            {"id":"a","type":"response","command":"abort","success":true}
        "#]],
    );
}

#[test]
fn while_the_model_writes_a_call_which_is_then_not_made() {
    check(
        "[[turn]]\nsteps = [{ text = \"I look.\" }, { tool = \"read\", id = \"call-1\", arguments_json = '{\"path\":\"no' }, { hang = true }]",
        |frame| is_update(frame, "toolcall_delta"),
        expect![[r#"
            {"id":"p","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
            {"type":"agent_start"}
            {"type":"turn_start"}
            {"type":"message_start","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"go"}],"attribution":"user","timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-1","message":"as it began"}
            {"type":"message_start","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
            {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":""}]},"assistantMessageEvent":{"type":"text_start","contentIndex":0,"partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":"I look."}]},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"I look.","partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":"I look."}]},"assistantMessageEvent":{"type":"text_end","contentIndex":0,"content":"I look.","partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":"I look."},{"type":"toolCall","id":"call-1","name":"read","arguments":{}}]},"assistantMessageEvent":{"type":"toolcall_start","contentIndex":1,"id":"call-1","toolName":"read","partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":"I look."},{"type":"toolCall","id":"call-1","name":"read","arguments":{"path":"no"}}]},"assistantMessageEvent":{"type":"toolcall_delta","contentIndex":1,"delta":"{\"path\":\"no","partial":"=message"},"usage":"=message.usage"}
            {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"text","text":"I look."},{"type":"toolCall","id":"call-1","name":"read","arguments":{}}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"aborted","errorMessage":"Request was aborted","timestamp":"TIME","duration":"MS","ttft":"MS"}}
            {"type":"tool_execution_start","toolCallId":"call-1","toolName":"read","args":{}}
            {"type":"tool_execution_end","toolCallId":"call-1","toolName":"read","result":{"content":[{"type":"text","text":"Tool execution was aborted."}],"details":{}},"isError":true,"durationMs":"MS"}
            {"type":"message_start","messageId":"msg-3","message":{"role":"toolResult","toolCallId":"call-1","toolName":"read","content":[{"type":"text","text":"Tool execution was aborted."}],"details":{},"isError":true,"timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-3","message":"as it began"}
            {"type":"turn_end","message":"msg-2","toolResults":["msg-3"]}
            {"type":"agent_end","messages":["msg-1","msg-2","msg-3"],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":3}
            {"type":"prompt_result","id":"p","agentInvoked":true,"status":"aborted","sessionSettled":true}
            {"type":"session_settled"}
            {"type":"agent_settled","aborted":true}
            {"id":"a","type":"response","command":"abort","success":true}
        "#]],
    );
}

#[test]
fn after_a_whole_call_which_is_then_not_made() {
    check(
        "[[turn]]\nsteps = [{ tool = \"read\", id = \"call-1\", arguments = { path = \"notes.txt\" } }, { text = \"And\" }, { hang = true }]",
        |frame| is_update(frame, "text_delta"),
        expect![[r#"
            {"id":"p","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
            {"type":"agent_start"}
            {"type":"turn_start"}
            {"type":"message_start","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"go"}],"attribution":"user","timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-1","message":"as it began"}
            {"type":"message_start","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
            {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"read","arguments":{}}]},"assistantMessageEvent":{"type":"toolcall_start","contentIndex":0,"id":"call-1","toolName":"read","partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"read","arguments":{"path":"notes.txt"}}]},"assistantMessageEvent":{"type":"toolcall_delta","contentIndex":0,"delta":"{\"path\":\"notes.txt\"}","partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"read","arguments":{"path":"notes.txt"}}]},"assistantMessageEvent":{"type":"toolcall_end","contentIndex":0,"toolCall":{"type":"toolCall","id":"call-1","name":"read","arguments":{"path":"notes.txt"}},"partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"read","arguments":{"path":"notes.txt"}},{"type":"text","text":""}]},"assistantMessageEvent":{"type":"text_start","contentIndex":1,"partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"read","arguments":{"path":"notes.txt"}},{"type":"text","text":"And"}]},"assistantMessageEvent":{"type":"text_delta","contentIndex":1,"delta":"And","partial":"=message"},"usage":"=message.usage"}
            {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"toolCall","id":"call-1","name":"read","arguments":{"path":"notes.txt"}},{"type":"text","text":"And"}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"aborted","errorMessage":"Request was aborted","timestamp":"TIME","duration":"MS","ttft":"MS"}}
            {"type":"tool_execution_start","toolCallId":"call-1","toolName":"read","args":{"path":"notes.txt"}}
            {"type":"tool_execution_end","toolCallId":"call-1","toolName":"read","result":{"content":[{"type":"text","text":"Tool execution was aborted."}],"details":{}},"isError":true,"durationMs":"MS"}
            {"type":"message_start","messageId":"msg-3","message":{"role":"toolResult","toolCallId":"call-1","toolName":"read","content":[{"type":"text","text":"Tool execution was aborted."}],"details":{},"isError":true,"timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-3","message":"as it began"}
            {"type":"turn_end","message":"msg-2","toolResults":["msg-3"]}
            {"type":"agent_end","messages":["msg-1","msg-2","msg-3"],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":3}
            {"type":"prompt_result","id":"p","agentInvoked":true,"status":"aborted","sessionSettled":true}
            {"type":"session_settled"}
            {"type":"agent_settled","aborted":true}
            {"id":"a","type":"response","command":"abort","success":true}
        "#]],
    );
}

#[test]
fn while_a_tool_runs() {
    check(
        "[[turn]]\nsteps = [{ tool = \"bash\", id = \"call-1\", arguments = { command = \"echo one; sleep 600\" } }, { tool = \"read\", id = \"call-2\", arguments = { path = \"notes.txt\" } }]",
        |frame| {
            frame["type"] == "tool_execution_update"
                && frame["partialResult"]["content"][0]["text"] == "one\n"
        },
        expect![[r#"
            {"id":"p","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
            {"type":"agent_start"}
            {"type":"turn_start"}
            {"type":"message_start","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"go"}],"attribution":"user","timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-1","message":"as it began"}
            {"type":"message_start","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
            {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"bash","arguments":{}}]},"assistantMessageEvent":{"type":"toolcall_start","contentIndex":0,"id":"call-1","toolName":"bash","partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"bash","arguments":{"command":"echo one; sleep 600"}}]},"assistantMessageEvent":{"type":"toolcall_delta","contentIndex":0,"delta":"{\"command\":\"echo one; sleep 600\"}","partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"bash","arguments":{"command":"echo one; sleep 600"}}]},"assistantMessageEvent":{"type":"toolcall_end","contentIndex":0,"toolCall":{"type":"toolCall","id":"call-1","name":"bash","arguments":{"command":"echo one; sleep 600"}},"partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"bash","arguments":{"command":"echo one; sleep 600"}},{"type":"toolCall","id":"call-2","name":"read","arguments":{}}]},"assistantMessageEvent":{"type":"toolcall_start","contentIndex":1,"id":"call-2","toolName":"read","partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"bash","arguments":{"command":"echo one; sleep 600"}},{"type":"toolCall","id":"call-2","name":"read","arguments":{"path":"notes.txt"}}]},"assistantMessageEvent":{"type":"toolcall_delta","contentIndex":1,"delta":"{\"path\":\"notes.txt\"}","partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"bash","arguments":{"command":"echo one; sleep 600"}},{"type":"toolCall","id":"call-2","name":"read","arguments":{"path":"notes.txt"}}]},"assistantMessageEvent":{"type":"toolcall_end","contentIndex":1,"toolCall":{"type":"toolCall","id":"call-2","name":"read","arguments":{"path":"notes.txt"}},"partial":"=message"},"usage":"=message.usage"}
            {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"toolCall","id":"call-1","name":"bash","arguments":{"command":"echo one; sleep 600"}},{"type":"toolCall","id":"call-2","name":"read","arguments":{"path":"notes.txt"}}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"toolUse","timestamp":"TIME","duration":"MS","ttft":"MS"}}
            {"type":"tool_execution_start","toolCallId":"call-1","toolName":"bash","args":{"command":"echo one; sleep 600"}}
            {"type":"tool_execution_end","toolCallId":"call-1","toolName":"bash","result":{"content":[{"type":"text","text":"one\n\n\nCommand aborted"}],"details":{}},"isError":true,"durationMs":"MS"}
            {"type":"message_start","messageId":"msg-3","message":{"role":"toolResult","toolCallId":"call-1","toolName":"bash","content":[{"type":"text","text":"one\n\n\nCommand aborted"}],"details":{},"isError":true,"timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-3","message":"as it began"}
            {"type":"tool_execution_start","toolCallId":"call-2","toolName":"read","args":{"path":"notes.txt"}}
            {"type":"tool_execution_end","toolCallId":"call-2","toolName":"read","result":{"content":[{"type":"text","text":"Tool execution was aborted."}],"details":{}},"isError":true,"durationMs":"MS"}
            {"type":"message_start","messageId":"msg-4","message":{"role":"toolResult","toolCallId":"call-2","toolName":"read","content":[{"type":"text","text":"Tool execution was aborted."}],"details":{},"isError":true,"timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-4","message":"as it began"}
            {"type":"turn_end","message":"msg-2","toolResults":["msg-3","msg-4"]}
            {"type":"turn_start"}
            {"type":"message_start","messageId":"msg-5","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"aborted","errorMessage":"Request was aborted","timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-5","message":"as it began"}
            {"type":"turn_end","message":"msg-5","toolResults":[]}
            {"type":"agent_end","messages":["msg-1","msg-2","msg-3","msg-4","msg-5"],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":5}
            {"type":"prompt_result","id":"p","agentInvoked":true,"status":"aborted","sessionSettled":true}
            {"type":"session_settled"}
            {"type":"agent_settled","aborted":true}
            {"id":"a","type":"response","command":"abort","success":true}
        "#]],
    );
}

#[test]
fn while_nothing_runs() {
    let folder = Folder::with(MODEL);
    let mut child = folder.child(&["--no-session"]);
    let frames = child.done(json!({"id": "a", "type": "abort"}));
    expect![[r#"
        {"id":"a","type":"response","command":"abort","success":true}
    "#]]
    .assert_eq(&told(&frames, &folder));
}

#[test]
fn an_abort_and_prompt_ends_the_run_is_answered_and_begins_another() {
    let folder = Folder::with(&format!(
        "{MODEL}[[turn]]\nsteps = [{{ text = \"Well\" }}, {{ hang = true }}]"
    ));
    let mut child = started(&folder);
    let mut frames = child.until(|frame| is_update(frame, "text_delta"));
    child.send(json!({"id": "b", "type": "abort_and_prompt", "message": "rather this", "images": [{"type": "image", "data": "aGk=", "mimeType": "image/png"}]}));
    for _ in 0..2 {
        frames.extend(child.until_type("agent_settled"));
    }
    expect![[r#"
        {"id":"p","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
        {"type":"agent_start"}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"go"}],"attribution":"user","timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-1","message":"as it began"}
        {"type":"message_start","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":""}]},"assistantMessageEvent":{"type":"text_start","contentIndex":0,"partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":"Well"}]},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"Well","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"text","text":"Well"}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"aborted","errorMessage":"Request was aborted","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"turn_end","message":"msg-2","toolResults":[]}
        {"type":"agent_end","messages":["msg-1","msg-2"],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":2}
        {"type":"prompt_result","id":"p","agentInvoked":true,"status":"aborted","sessionSettled":true}
        {"type":"session_settled"}
        {"type":"agent_settled","aborted":true}
        {"id":"b","type":"response","command":"abort_and_prompt","success":true,"data":{"disposition":"started"}}
        {"type":"agent_start"}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-3","message":{"role":"user","content":[{"type":"text","text":"rather this"},{"type":"image","data":"aGk=","mimeType":"image/png"}],"attribution":"user","timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-3","message":"as it began"}
        {"type":"message_start","messageId":"msg-4","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-4","message":{"…":"as it began","content":[{"type":"text","text":""}]},"assistantMessageEvent":{"type":"text_start","contentIndex":0,"partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-4","message":{"…":"as it began","content":[{"type":"text","text":"Done."}]},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"Done.","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-4","message":{"…":"as it began","content":[{"type":"text","text":"Done."}]},"assistantMessageEvent":{"type":"text_end","contentIndex":0,"content":"Done.","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_end","messageId":"msg-4","message":{"role":"assistant","content":[{"type":"text","text":"Done."}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"turn_end","message":"msg-4","toolResults":[]}
        {"type":"agent_end","messages":["msg-3","msg-4"],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":2}
        {"type":"prompt_result","id":"b","agentInvoked":true,"status":"completed","sessionSettled":true}
        {"type":"session_settled"}
        {"type":"agent_settled","aborted":false}
    "#]].assert_eq(&told(&frames, &folder));
}

#[test]
fn an_abort_and_prompt_while_nothing_runs_is_a_prompt() {
    let folder = Folder::with(MODEL);
    let mut child = folder.child(&["--no-session"]);
    child.send(json!({"id": "b", "type": "abort_and_prompt", "message": "hello"}));
    let frames = child.until_type("agent_settled");
    expect![[r#"
        {"id":"b","type":"response","command":"abort_and_prompt","success":true,"data":{"disposition":"started"}}
        {"type":"agent_start"}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"hello"}],"attribution":"user","timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-1","message":"as it began"}
        {"type":"message_start","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":""}]},"assistantMessageEvent":{"type":"text_start","contentIndex":0,"partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":"Done."}]},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"Done.","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":"Done."}]},"assistantMessageEvent":{"type":"text_end","contentIndex":0,"content":"Done.","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"text","text":"Done."}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"turn_end","message":"msg-2","toolResults":[]}
        {"type":"agent_end","messages":["msg-1","msg-2"],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":2}
        {"type":"prompt_result","id":"b","agentInvoked":true,"status":"completed","sessionSettled":true}
        {"type":"session_settled"}
        {"type":"agent_settled","aborted":false}
    "#]].assert_eq(&told(&frames, &folder));
}
