//! Permissions that are asked of a person, over the client (section 15).

use expect_test::expect;
use serde_json::{Value, json};

use crate::child::{Child, Folder};
use crate::transcript::{told, without_reports};

const GUARDED: &str = r#"
[model]
id = "mock"
[[turn]]
tool = "bash"
arguments = { command = "echo GUARDED" }
[[turn]]
text = "Done."
[[turn]]
tool = "bash"
arguments = { command = "echo AGAIN" }
[[turn]]
text = "Done again."
"#;

/// All frames up to the question about a call.
fn asked(child: &mut Child) -> Vec<Value> {
    child.send(json!({"id": "p", "type": "prompt", "message": "guard"}));
    child.until_type("extension_ui_request")
}

fn id_of(frames: &[Value]) -> Value {
    frames.last().unwrap()["id"].clone()
}

#[test]
fn a_permission_is_asked_and_given_once() {
    let folder = Folder::with(GUARDED);
    let mut child = folder.child(&["--no-session", "--permission-mode", "ask"]);
    let mut frames = asked(&mut child);
    let first = id_of(&frames);
    child.send(json!({"type": "extension_ui_response", "id": first, "value": "Allow"}));
    frames.extend(child.until_type("agent_settled"));
    frames.extend(asked(&mut child));
    let second = id_of(&frames);
    // The answer to the first question is no answer to the second.
    child.send(json!({"type": "extension_ui_response", "id": first, "value": "Allow"}));
    child.send(
        json!({"type": "extension_ui_response", "id": second, "cancelled": true, "value": "Allow"}),
    );
    frames.extend(child.until_type("agent_settled"));
    expect![[r#"
        {"id":"p","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
        {"type":"agent_start"}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"guard"}],"attribution":"user","timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-1","message":"as it began"}
        {"type":"message_start","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call_1_1","name":"bash","arguments":{}}]},"assistantMessageEvent":{"type":"toolcall_start","contentIndex":0,"id":"call_1_1","toolName":"bash","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call_1_1","name":"bash","arguments":{"command":"echo GUARDED"}}]},"assistantMessageEvent":{"type":"toolcall_delta","contentIndex":0,"delta":"{\"command\":\"echo GUARDED\"}","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call_1_1","name":"bash","arguments":{"command":"echo GUARDED"}}]},"assistantMessageEvent":{"type":"toolcall_end","contentIndex":0,"toolCall":{"type":"toolCall","id":"call_1_1","name":"bash","arguments":{"command":"echo GUARDED"}},"partial":"=message"},"usage":"=message.usage"}
        {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"toolCall","id":"call_1_1","name":"bash","arguments":{"command":"echo GUARDED"}}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"toolUse","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"tool_execution_start","toolCallId":"call_1_1","toolName":"bash","args":{"command":"echo GUARDED"}}
        {"type":"extension_ui_request","id":"2000000100000001","method":"select","title":"Allow bash: echo GUARDED? (bash `echo GUARDED` runs programs)","options":["Allow","Always allow commands that start with `echo`","Deny","Always deny commands that start with `echo GUARDED`"]}
        {"type":"tool_execution_end","toolCallId":"call_1_1","toolName":"bash","result":{"content":[{"type":"text","text":"GUARDED\n"}]},"isError":false,"durationMs":"MS"}
        {"type":"message_start","messageId":"msg-3","message":{"role":"toolResult","toolCallId":"call_1_1","toolName":"bash","content":[{"type":"text","text":"GUARDED\n"}],"isError":false,"timestamp":"TIME"}}
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
        {"id":"p","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
        {"type":"agent_start"}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-5","message":{"role":"user","content":[{"type":"text","text":"guard"}],"attribution":"user","timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-5","message":"as it began"}
        {"type":"message_start","messageId":"msg-6","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-6","message":{"…":"as it began","content":[{"type":"toolCall","id":"call_3_1","name":"bash","arguments":{}}]},"assistantMessageEvent":{"type":"toolcall_start","contentIndex":0,"id":"call_3_1","toolName":"bash","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-6","message":{"…":"as it began","content":[{"type":"toolCall","id":"call_3_1","name":"bash","arguments":{"command":"echo AGAIN"}}]},"assistantMessageEvent":{"type":"toolcall_delta","contentIndex":0,"delta":"{\"command\":\"echo AGAIN\"}","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-6","message":{"…":"as it began","content":[{"type":"toolCall","id":"call_3_1","name":"bash","arguments":{"command":"echo AGAIN"}}]},"assistantMessageEvent":{"type":"toolcall_end","contentIndex":0,"toolCall":{"type":"toolCall","id":"call_3_1","name":"bash","arguments":{"command":"echo AGAIN"}},"partial":"=message"},"usage":"=message.usage"}
        {"type":"message_end","messageId":"msg-6","message":{"role":"assistant","content":[{"type":"toolCall","id":"call_3_1","name":"bash","arguments":{"command":"echo AGAIN"}}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"toolUse","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"tool_execution_start","toolCallId":"call_3_1","toolName":"bash","args":{"command":"echo AGAIN"}}
        {"type":"extension_ui_request","id":"2000000100000002","method":"select","title":"Allow bash: echo AGAIN? (bash `echo AGAIN` runs programs)","options":["Allow","Always allow commands that start with `echo`","Deny","Always deny commands that start with `echo AGAIN`"]}
        {"type":"tool_execution_end","toolCallId":"call_3_1","toolName":"bash","result":{"content":[{"type":"text","text":"The user rejected this call of bash. Do not repeat it; ask or continue without it."}],"details":{}},"isError":true,"durationMs":"MS"}
        {"type":"message_start","messageId":"msg-7","message":{"role":"toolResult","toolCallId":"call_3_1","toolName":"bash","content":[{"type":"text","text":"The user rejected this call of bash. Do not repeat it; ask or continue without it."}],"details":{},"isError":true,"timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-7","message":"as it began"}
        {"type":"turn_end","message":"msg-6","toolResults":["msg-7"]}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-8","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-8","message":{"…":"as it began","content":[{"type":"text","text":""}]},"assistantMessageEvent":{"type":"text_start","contentIndex":0,"partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-8","message":{"…":"as it began","content":[{"type":"text","text":"Done again."}]},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"Done again.","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-8","message":{"…":"as it began","content":[{"type":"text","text":"Done again."}]},"assistantMessageEvent":{"type":"text_end","contentIndex":0,"content":"Done again.","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_end","messageId":"msg-8","message":{"role":"assistant","content":[{"type":"text","text":"Done again."}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"turn_end","message":"msg-8","toolResults":[]}
        {"type":"agent_end","messages":["msg-5","msg-6","msg-7","msg-8"],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":4}
        {"type":"prompt_result","id":"p","agentInvoked":true,"status":"completed","sessionSettled":true}
        {"type":"session_settled"}
        {"type":"agent_settled","aborted":false}
    "#]].assert_eq(&told(&without_reports(frames), &folder));
}

#[test]
fn a_permission_for_always_is_not_asked_again() {
    let folder = Folder::with(&GUARDED.replace("echo AGAIN", "echo GUARDED"));
    let mut child = folder.child(&["--no-session", "--permission-mode", "ask"]);
    let question = id_of(&asked(&mut child));
    child.send(json!({"type": "extension_ui_response", "id": question, "value": "Always allow"}));
    child.until_type("agent_settled");
    let frames = child.prompt("guard");
    expect![[r#"
        {"id":"prompt","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
        {"type":"agent_start"}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-5","message":{"role":"user","content":[{"type":"text","text":"guard"}],"attribution":"user","timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-5","message":"as it began"}
        {"type":"message_start","messageId":"msg-6","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-6","message":{"…":"as it began","content":[{"type":"toolCall","id":"call_3_1","name":"bash","arguments":{}}]},"assistantMessageEvent":{"type":"toolcall_start","contentIndex":0,"id":"call_3_1","toolName":"bash","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-6","message":{"…":"as it began","content":[{"type":"toolCall","id":"call_3_1","name":"bash","arguments":{"command":"echo GUARDED"}}]},"assistantMessageEvent":{"type":"toolcall_delta","contentIndex":0,"delta":"{\"command\":\"echo GUARDED\"}","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-6","message":{"…":"as it began","content":[{"type":"toolCall","id":"call_3_1","name":"bash","arguments":{"command":"echo GUARDED"}}]},"assistantMessageEvent":{"type":"toolcall_end","contentIndex":0,"toolCall":{"type":"toolCall","id":"call_3_1","name":"bash","arguments":{"command":"echo GUARDED"}},"partial":"=message"},"usage":"=message.usage"}
        {"type":"message_end","messageId":"msg-6","message":{"role":"assistant","content":[{"type":"toolCall","id":"call_3_1","name":"bash","arguments":{"command":"echo GUARDED"}}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"toolUse","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"tool_execution_start","toolCallId":"call_3_1","toolName":"bash","args":{"command":"echo GUARDED"}}
        {"type":"tool_execution_end","toolCallId":"call_3_1","toolName":"bash","result":{"content":[{"type":"text","text":"GUARDED\n"}]},"isError":false,"durationMs":"MS"}
        {"type":"message_start","messageId":"msg-7","message":{"role":"toolResult","toolCallId":"call_3_1","toolName":"bash","content":[{"type":"text","text":"GUARDED\n"}],"isError":false,"timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-7","message":"as it began"}
        {"type":"turn_end","message":"msg-6","toolResults":["msg-7"]}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-8","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-8","message":{"…":"as it began","content":[{"type":"text","text":""}]},"assistantMessageEvent":{"type":"text_start","contentIndex":0,"partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-8","message":{"…":"as it began","content":[{"type":"text","text":"Done again."}]},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"Done again.","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-8","message":{"…":"as it began","content":[{"type":"text","text":"Done again."}]},"assistantMessageEvent":{"type":"text_end","contentIndex":0,"content":"Done again.","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_end","messageId":"msg-8","message":{"role":"assistant","content":[{"type":"text","text":"Done again."}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"turn_end","message":"msg-8","toolResults":[]}
        {"type":"agent_end","messages":["msg-5","msg-6","msg-7","msg-8"],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":4}
        {"type":"prompt_result","id":"prompt","agentInvoked":true,"status":"completed","sessionSettled":true}
        {"type":"session_settled"}
        {"type":"agent_settled","aborted":false}
    "#]].assert_eq(&told(&without_reports(frames), &folder));
}

#[test]
fn a_refusal_for_always_is_not_asked_again_either() {
    let folder = Folder::with(&GUARDED.replace("echo AGAIN", "echo GUARDED"));
    let mut child = folder.child(&["--no-session", "--permission-mode", "ask"]);
    let question = id_of(&asked(&mut child));
    child.send(json!({"type": "extension_ui_response", "id": question, "value": "Always deny"}));
    child.until_type("agent_settled");
    let frames = child.prompt("guard");
    expect![[r#"
        {"id":"prompt","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
        {"type":"agent_start"}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-5","message":{"role":"user","content":[{"type":"text","text":"guard"}],"attribution":"user","timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-5","message":"as it began"}
        {"type":"message_start","messageId":"msg-6","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-6","message":{"…":"as it began","content":[{"type":"toolCall","id":"call_3_1","name":"bash","arguments":{}}]},"assistantMessageEvent":{"type":"toolcall_start","contentIndex":0,"id":"call_3_1","toolName":"bash","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-6","message":{"…":"as it began","content":[{"type":"toolCall","id":"call_3_1","name":"bash","arguments":{"command":"echo GUARDED"}}]},"assistantMessageEvent":{"type":"toolcall_delta","contentIndex":0,"delta":"{\"command\":\"echo GUARDED\"}","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-6","message":{"…":"as it began","content":[{"type":"toolCall","id":"call_3_1","name":"bash","arguments":{"command":"echo GUARDED"}}]},"assistantMessageEvent":{"type":"toolcall_end","contentIndex":0,"toolCall":{"type":"toolCall","id":"call_3_1","name":"bash","arguments":{"command":"echo GUARDED"}},"partial":"=message"},"usage":"=message.usage"}
        {"type":"message_end","messageId":"msg-6","message":{"role":"assistant","content":[{"type":"toolCall","id":"call_3_1","name":"bash","arguments":{"command":"echo GUARDED"}}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"toolUse","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"tool_execution_start","toolCallId":"call_3_1","toolName":"bash","args":{"command":"echo GUARDED"}}
        {"type":"tool_execution_end","toolCallId":"call_3_1","toolName":"bash","result":{"content":[{"type":"text","text":"Permission denied: the user rejected calls like bash `echo GUARDED` permanently. Continue without it, or ask the user what to do instead."}],"details":{}},"isError":true,"durationMs":"MS"}
        {"type":"message_start","messageId":"msg-7","message":{"role":"toolResult","toolCallId":"call_3_1","toolName":"bash","content":[{"type":"text","text":"Permission denied: the user rejected calls like bash `echo GUARDED` permanently. Continue without it, or ask the user what to do instead."}],"details":{},"isError":true,"timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-7","message":"as it began"}
        {"type":"turn_end","message":"msg-6","toolResults":["msg-7"]}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-8","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-8","message":{"…":"as it began","content":[{"type":"text","text":""}]},"assistantMessageEvent":{"type":"text_start","contentIndex":0,"partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-8","message":{"…":"as it began","content":[{"type":"text","text":"Done again."}]},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"Done again.","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-8","message":{"…":"as it began","content":[{"type":"text","text":"Done again."}]},"assistantMessageEvent":{"type":"text_end","contentIndex":0,"content":"Done again.","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_end","messageId":"msg-8","message":{"role":"assistant","content":[{"type":"text","text":"Done again."}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"turn_end","message":"msg-8","toolResults":[]}
        {"type":"agent_end","messages":["msg-5","msg-6","msg-7","msg-8"],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":4}
        {"type":"prompt_result","id":"prompt","agentInvoked":true,"status":"completed","sessionSettled":true}
        {"type":"session_settled"}
        {"type":"agent_settled","aborted":false}
    "#]].assert_eq(&told(&without_reports(frames), &folder));
}

#[test]
fn an_abort_withdraws_the_question() {
    let folder = Folder::with(GUARDED);
    let mut child = folder.child(&["--no-session", "--permission-mode", "ask"]);
    let mut frames = asked(&mut child);
    let question = id_of(&frames);
    frames.extend(child.done(json!({"id": "a", "type": "abort"})));
    expect![[r#"
        {"id":"p","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
        {"type":"agent_start"}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"guard"}],"attribution":"user","timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-1","message":"as it began"}
        {"type":"message_start","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call_1_1","name":"bash","arguments":{}}]},"assistantMessageEvent":{"type":"toolcall_start","contentIndex":0,"id":"call_1_1","toolName":"bash","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call_1_1","name":"bash","arguments":{"command":"echo GUARDED"}}]},"assistantMessageEvent":{"type":"toolcall_delta","contentIndex":0,"delta":"{\"command\":\"echo GUARDED\"}","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call_1_1","name":"bash","arguments":{"command":"echo GUARDED"}}]},"assistantMessageEvent":{"type":"toolcall_end","contentIndex":0,"toolCall":{"type":"toolCall","id":"call_1_1","name":"bash","arguments":{"command":"echo GUARDED"}},"partial":"=message"},"usage":"=message.usage"}
        {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"toolCall","id":"call_1_1","name":"bash","arguments":{"command":"echo GUARDED"}}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"toolUse","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"tool_execution_start","toolCallId":"call_1_1","toolName":"bash","args":{"command":"echo GUARDED"}}
        {"type":"extension_ui_request","id":"2000000100000001","method":"select","title":"Allow bash: echo GUARDED? (bash `echo GUARDED` runs programs)","options":["Allow","Always allow commands that start with `echo`","Deny","Always deny commands that start with `echo GUARDED`"]}
        {"type":"extension_ui_request","id":"3000000100000001","method":"cancel","targetId":"2000000100000001"}
        {"type":"tool_execution_end","toolCallId":"call_1_1","toolName":"bash","result":{"content":[{"type":"text","text":"Tool execution was aborted."}],"details":{}},"isError":true,"durationMs":"MS"}
        {"type":"message_start","messageId":"msg-3","message":{"role":"toolResult","toolCallId":"call_1_1","toolName":"bash","content":[{"type":"text","text":"Tool execution was aborted."}],"details":{},"isError":true,"timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-3","message":"as it began"}
        {"type":"turn_end","message":"msg-2","toolResults":["msg-3"]}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-4","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"aborted","errorMessage":"Request was aborted","timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-4","message":"as it began"}
        {"type":"turn_end","message":"msg-4","toolResults":[]}
        {"type":"agent_end","messages":["msg-1","msg-2","msg-3","msg-4"],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":4}
        {"type":"prompt_result","id":"p","agentInvoked":true,"status":"aborted","sessionSettled":true}
        {"type":"session_settled"}
        {"type":"agent_settled","aborted":true}
        {"id":"a","type":"response","command":"abort","success":true}
    "#]].assert_eq(&told(&frames, &folder));
    // It is too late for an answer, which is ignored.
    child.send(json!({"type": "extension_ui_response", "id": question, "value": "Allow"}));
    let frames = child.done(json!({"id": "s", "type": "get_last_assistant_text"}));
    expect![[r#"
        {"id":"s","type":"response","command":"get_last_assistant_text","success":true,"data":{}}
    "#]]
    .assert_eq(&told(&frames, &folder));
}

#[test]
fn the_child_reads_on_while_a_question_is_open() {
    let folder = Folder::with(GUARDED);
    let mut child = folder.child(&["--no-session", "--permission-mode", "ask"]);
    let mut frames = asked(&mut child);
    let question = id_of(&frames);
    frames.extend(child.done(json!({"id": "s", "type": "get_state"})));
    child.send(json!({"type": "extension_ui_response", "id": question, "value": "Allow"}));
    frames.extend(child.until_type("agent_settled"));
    expect![[r#"
        {"id":"p","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
        {"type":"agent_start"}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"guard"}],"attribution":"user","timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-1","message":"as it began"}
        {"type":"message_start","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call_1_1","name":"bash","arguments":{}}]},"assistantMessageEvent":{"type":"toolcall_start","contentIndex":0,"id":"call_1_1","toolName":"bash","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call_1_1","name":"bash","arguments":{"command":"echo GUARDED"}}]},"assistantMessageEvent":{"type":"toolcall_delta","contentIndex":0,"delta":"{\"command\":\"echo GUARDED\"}","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call_1_1","name":"bash","arguments":{"command":"echo GUARDED"}}]},"assistantMessageEvent":{"type":"toolcall_end","contentIndex":0,"toolCall":{"type":"toolCall","id":"call_1_1","name":"bash","arguments":{"command":"echo GUARDED"}},"partial":"=message"},"usage":"=message.usage"}
        {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"toolCall","id":"call_1_1","name":"bash","arguments":{"command":"echo GUARDED"}}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"toolUse","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"tool_execution_start","toolCallId":"call_1_1","toolName":"bash","args":{"command":"echo GUARDED"}}
        {"type":"extension_ui_request","id":"2000000100000001","method":"select","title":"Allow bash: echo GUARDED? (bash `echo GUARDED` runs programs)","options":["Allow","Always allow commands that start with `echo`","Deny","Always deny commands that start with `echo GUARDED`"]}
        {"id":"s","type":"response","command":"get_state","success":true,"data":{"model":{"id":"mock","name":"Scenario mock","api":"script","provider":"script","baseUrl":"","reasoning":true,"input":["text","image"],"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0},"contextWindow":200000,"maxTokens":32000,"thinking":{"mode":"effort","efforts":["minimal","low","medium","high","xhigh"],"minLevel":"minimal","maxLevel":"xhigh"}},"thinkingLevel":"medium","isStreaming":true,"isCompacting":false,"steeringMode":"one-at-a-time","followUpMode":"one-at-a-time","interruptMode":"immediate","sessionId":"ID1","autoCompactionEnabled":true,"autoRetryEnabled":true,"messageCount":2,"queuedMessageCount":0,"pendingMessageCount":0,"queuedMessages":{"steering":[],"followUp":[]},"hasPendingAsyncWork":false,"isSettled":false,"fastModeEnabled":false,"fastModeActive":false,"tokensPerSecond":null,"todoPhases":[],"systemPrompt":"…","dumpTools":["read","bash","edit","write","grep","find","ls","todo","job","fetch","subagent"]}}
        {"type":"tool_execution_end","toolCallId":"call_1_1","toolName":"bash","result":{"content":[{"type":"text","text":"GUARDED\n"}]},"isError":false,"durationMs":"MS"}
        {"type":"message_start","messageId":"msg-3","message":{"role":"toolResult","toolCallId":"call_1_1","toolName":"bash","content":[{"type":"text","text":"GUARDED\n"}],"isError":false,"timestamp":"TIME"}}
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
    "#]].assert_eq(&told(&without_reports(frames), &folder));
}

#[test]
fn an_answer_of_the_wrong_kind_gives_no_permission() {
    let folder = Folder::with(GUARDED);
    let mut child = folder.child(&["--no-session", "--permission-mode", "ask"]);
    let mut frames = asked(&mut child);
    let question = id_of(&frames);
    child.send(json!({"type": "extension_ui_response", "id": question, "confirmed": true}));
    frames.extend(child.until_type("agent_settled"));
    expect![[r#"
        {"id":"p","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
        {"type":"agent_start"}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"guard"}],"attribution":"user","timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-1","message":"as it began"}
        {"type":"message_start","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call_1_1","name":"bash","arguments":{}}]},"assistantMessageEvent":{"type":"toolcall_start","contentIndex":0,"id":"call_1_1","toolName":"bash","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call_1_1","name":"bash","arguments":{"command":"echo GUARDED"}}]},"assistantMessageEvent":{"type":"toolcall_delta","contentIndex":0,"delta":"{\"command\":\"echo GUARDED\"}","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call_1_1","name":"bash","arguments":{"command":"echo GUARDED"}}]},"assistantMessageEvent":{"type":"toolcall_end","contentIndex":0,"toolCall":{"type":"toolCall","id":"call_1_1","name":"bash","arguments":{"command":"echo GUARDED"}},"partial":"=message"},"usage":"=message.usage"}
        {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"toolCall","id":"call_1_1","name":"bash","arguments":{"command":"echo GUARDED"}}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"toolUse","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"tool_execution_start","toolCallId":"call_1_1","toolName":"bash","args":{"command":"echo GUARDED"}}
        {"type":"extension_ui_request","id":"2000000100000001","method":"select","title":"Allow bash: echo GUARDED? (bash `echo GUARDED` runs programs)","options":["Allow","Always allow commands that start with `echo`","Deny","Always deny commands that start with `echo GUARDED`"]}
        {"type":"tool_execution_end","toolCallId":"call_1_1","toolName":"bash","result":{"content":[{"type":"text","text":"The user rejected this call of bash. Do not repeat it; ask or continue without it."}],"details":{}},"isError":true,"durationMs":"MS"}
        {"type":"message_start","messageId":"msg-3","message":{"role":"toolResult","toolCallId":"call_1_1","toolName":"bash","content":[{"type":"text","text":"The user rejected this call of bash. Do not repeat it; ask or continue without it."}],"details":{},"isError":true,"timestamp":"TIME"}}
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
