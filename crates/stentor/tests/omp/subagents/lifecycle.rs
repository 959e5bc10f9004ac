//! Subagents: what clients hear of them, and how they reach them (section 19).

use expect_test::expect;
use serde_json::{Value, json};

use crate::child::{Child, Folder};
use crate::transcript::{told, without_reports};

/// A parent that gives tasks away, and agents that work on them. What an agent does depends on
/// the task it was given.
const OFFICE: &str = r#"
usage = { input = 100, output = 25 }
[model]
id = "mock"
prices = { input = 3, output = 15 }
[[turn]]
when = { system_contains = "as a subagent", last_user_contains = "look" }
steps = [{ text = "Looking." }, { tool = "bash", id = "in-1", arguments_json = '{"command":"echo hi"}' }]
[[turn]]
when = { system_contains = "as a subagent", last_user_contains = "never end" }
steps = [{ text = "Well" }, { hang = true }]
[[turn]]
when = { system_contains = "as a subagent", last_user_contains = "wait" }
steps = [{ tool = "bash", id = "in-1", arguments_json = '{"command":"until [ -e go ]; do sleep 0.01; done"}' }]
[[turn]]
when = { system_contains = "as a subagent", last_user_contains = "ELSE" }
text = "Something else, then."
[[turn]]
when = { system_contains = "as a subagent", last_user_contains = "fail" }
error = { kind = "invalid_request", message = "no such thing" }
[[turn]]
when = { system_contains = "as a subagent" }
text = "It says hi."
"#;

pub fn office(calls: &str) -> Folder {
    Folder::with(&format!(
        "{OFFICE}\n[[turn]]\nsteps = [{{ tool = \"subagent\", id = \"out-1\", arguments_json = '{calls}' }}]\n[[turn]]\ntext = \"Thanks.\"\n"
    ))
}

pub fn subscribe(child: &mut Child, level: &str) {
    let subscribed = child.data(json!({"type": "set_subagent_subscription", "level": level}));
    assert_eq!(subscribed, json!({ "level": level }));
}

pub fn is_lifecycle(frame: &Value, status: &str) -> bool {
    frame["type"] == "subagent_lifecycle" && frame["payload"]["status"] == status
}

#[test]
fn all_that_happens_in_a_subagent_is_told_to_who_wants_it() {
    let folder = office(r#"{"task":"look around"}"#);
    let mut child = folder.child(&["--session-dir", "../sessions"]);
    subscribe(&mut child, "events");
    let frames = child.prompt("go");
    expect![[r#"
        {"id":"prompt","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
        {"type":"agent_start"}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"go"}],"attribution":"user","timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-1","message":"as it began"}
        {"type":"message_start","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"out-1","name":"subagent","arguments":{}}]},"assistantMessageEvent":{"type":"toolcall_start","contentIndex":0,"id":"out-1","toolName":"subagent","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"out-1","name":"subagent","arguments":{"task":"look around"}}]},"assistantMessageEvent":{"type":"toolcall_delta","contentIndex":0,"delta":"{\"task\":\"look around\"}","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"out-1","name":"subagent","arguments":{"task":"look around"}}]},"assistantMessageEvent":{"type":"toolcall_end","contentIndex":0,"toolCall":{"type":"toolCall","id":"out-1","name":"subagent","arguments":{"task":"look around"}},"partial":"=message"},"usage":"=message.usage"}
        {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"toolCall","id":"out-1","name":"subagent","arguments":{"task":"look around"}}],"api":"script","provider":"script","model":"mock","usage":{"input":100,"output":25,"cacheRead":0,"cacheWrite":0,"totalTokens":125,"cost":{"input":0.00030000000000000003,"output":0.000375,"cacheRead":0,"cacheWrite":0,"total":0.000675}},"stopReason":"toolUse","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"tool_execution_start","toolCallId":"out-1","toolName":"subagent","args":{"task":"look around"}}
        {"type":"subagent_lifecycle","payload":{"id":"general-1","agent":"general","agentSource":"bundled","description":"look around","status":"started","sessionFile":"ROOT/work/../sessions/TIME_ID/subagents/TIME_ID.jsonl","parentToolCallId":"out-1","index":0}}
        {"type":"subagent_event","payload":{"id":"general-1","event":{"type":"agent_start"}}}
        {"type":"subagent_event","payload":{"id":"general-1","event":{"type":"turn_start"}}}
        {"type":"subagent_event","payload":{"id":"general-1","event":{"type":"message_start","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"look around"}],"attribution":"user","timestamp":"TIME"}}}}
        {"type":"subagent_event","payload":{"id":"general-1","event":{"type":"message_end","messageId":"msg-1","message":"as it began"}}}
        {"type":"subagent_event","payload":{"id":"general-1","event":{"type":"message_start","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}}}
        {"type":"subagent_progress","payload":{"index":0,"agent":"general","agentSource":"bundled","task":"look around","parentToolCallId":"out-1","progress":{"index":0,"id":"general-1","agent":"general","agentSource":"bundled","status":"running","task":"look around","lastIntent":"💭 thinking...","recentTools":[],"recentOutput":[],"toolCount":0,"requests":0,"tokens":0,"cost":0,"durationMs":"MS"},"sessionFile":"ROOT/work/../sessions/TIME_ID/subagents/TIME_ID.jsonl"}}
        {"type":"subagent_event","payload":{"id":"general-1","event":{"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":""}]},"assistantMessageEvent":{"type":"text_start","contentIndex":0,"partial":"=message"},"usage":"=message.usage"}}}
        {"type":"subagent_event","payload":{"id":"general-1","event":{"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":"Looking."}]},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"Looking.","partial":"=message"},"usage":"=message.usage"}}}
        {"type":"subagent_event","payload":{"id":"general-1","event":{"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":"Looking."}]},"assistantMessageEvent":{"type":"text_end","contentIndex":0,"content":"Looking.","partial":"=message"},"usage":"=message.usage"}}}
        {"type":"subagent_event","payload":{"id":"general-1","event":{"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":"Looking."},{"type":"toolCall","id":"in-1","name":"bash","arguments":{}}]},"assistantMessageEvent":{"type":"toolcall_start","contentIndex":1,"id":"in-1","toolName":"bash","partial":"=message"},"usage":"=message.usage"}}}
        {"type":"subagent_progress","payload":{"index":0,"agent":"general","agentSource":"bundled","task":"look around","parentToolCallId":"out-1","progress":{"index":0,"id":"general-1","agent":"general","agentSource":"bundled","status":"running","task":"look around","lastIntent":"⚙ bash (tool #1)","recentTools":[],"recentOutput":[],"toolCount":0,"requests":0,"tokens":0,"cost":0,"durationMs":"MS"},"sessionFile":"ROOT/work/../sessions/TIME_ID/subagents/TIME_ID.jsonl"}}
        {"type":"subagent_event","payload":{"id":"general-1","event":{"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":"Looking."},{"type":"toolCall","id":"in-1","name":"bash","arguments":{"command":"echo hi"}}]},"assistantMessageEvent":{"type":"toolcall_delta","contentIndex":1,"delta":"{\"command\":\"echo hi\"}","partial":"=message"},"usage":"=message.usage"}}}
        {"type":"subagent_event","payload":{"id":"general-1","event":{"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":"Looking."},{"type":"toolCall","id":"in-1","name":"bash","arguments":{"command":"echo hi"}}]},"assistantMessageEvent":{"type":"toolcall_end","contentIndex":1,"toolCall":{"type":"toolCall","id":"in-1","name":"bash","arguments":{"command":"echo hi"}},"partial":"=message"},"usage":"=message.usage"}}}
        {"type":"subagent_event","payload":{"id":"general-1","event":{"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"text","text":"Looking."},{"type":"toolCall","id":"in-1","name":"bash","arguments":{"command":"echo hi"}}],"api":"script","provider":"script","model":"mock","usage":{"input":100,"output":25,"cacheRead":0,"cacheWrite":0,"totalTokens":125,"cost":{"input":0.00030000000000000003,"output":0.000375,"cacheRead":0,"cacheWrite":0,"total":0.000675}},"stopReason":"toolUse","timestamp":"TIME","duration":"MS","ttft":"MS"}}}}
        {"type":"subagent_event","payload":{"id":"general-1","event":{"type":"tool_execution_start","toolCallId":"in-1","toolName":"bash","args":{"command":"echo hi"}}}}
        {"type":"subagent_progress","payload":{"index":0,"agent":"general","agentSource":"bundled","task":"look around","parentToolCallId":"out-1","progress":{"index":0,"id":"general-1","agent":"general","agentSource":"bundled","status":"running","task":"look around","lastIntent":"$ echo hi","currentTool":"bash","currentToolArgs":"echo hi","currentToolStartMs":"TIME","recentTools":[],"recentOutput":["Looking."],"toolCount":1,"requests":1,"tokens":125,"cost":0.000675,"durationMs":"MS"},"sessionFile":"ROOT/work/../sessions/TIME_ID/subagents/TIME_ID.jsonl"}}
        {"type":"subagent_event","payload":{"id":"general-1","event":{"type":"tool_execution_end","toolCallId":"in-1","toolName":"bash","result":{"content":[{"type":"text","text":"hi\n"}]},"isError":false,"durationMs":"MS"}}}
        {"type":"subagent_event","payload":{"id":"general-1","event":{"type":"message_start","messageId":"msg-3","message":{"role":"toolResult","toolCallId":"in-1","toolName":"bash","content":[{"type":"text","text":"hi\n"}],"isError":false,"timestamp":"TIME"}}}}
        {"type":"subagent_event","payload":{"id":"general-1","event":{"type":"message_end","messageId":"msg-3","message":"as it began"}}}
        {"type":"subagent_event","payload":{"id":"general-1","event":{"type":"turn_end","message":"msg-2","toolResults":["msg-3"]}}}
        {"type":"subagent_event","payload":{"id":"general-1","event":{"type":"turn_start"}}}
        {"type":"subagent_event","payload":{"id":"general-1","event":{"type":"message_start","messageId":"msg-4","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}}}
        {"type":"subagent_progress","payload":{"index":0,"agent":"general","agentSource":"bundled","task":"look around","parentToolCallId":"out-1","progress":{"index":0,"id":"general-1","agent":"general","agentSource":"bundled","status":"running","task":"look around","lastIntent":"💭 thinking...","recentTools":[{"tool":"bash","args":"echo hi","endMs":"TIME"}],"recentOutput":["Looking."],"toolCount":1,"requests":1,"tokens":125,"cost":0.000675,"durationMs":"MS"},"sessionFile":"ROOT/work/../sessions/TIME_ID/subagents/TIME_ID.jsonl"}}
        {"type":"subagent_event","payload":{"id":"general-1","event":{"type":"message_update","messageId":"msg-4","message":{"…":"as it began","content":[{"type":"text","text":""}]},"assistantMessageEvent":{"type":"text_start","contentIndex":0,"partial":"=message"},"usage":"=message.usage"}}}
        {"type":"subagent_event","payload":{"id":"general-1","event":{"type":"message_update","messageId":"msg-4","message":{"…":"as it began","content":[{"type":"text","text":"It says hi."}]},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"It says hi.","partial":"=message"},"usage":"=message.usage"}}}
        {"type":"subagent_event","payload":{"id":"general-1","event":{"type":"message_update","messageId":"msg-4","message":{"…":"as it began","content":[{"type":"text","text":"It says hi."}]},"assistantMessageEvent":{"type":"text_end","contentIndex":0,"content":"It says hi.","partial":"=message"},"usage":"=message.usage"}}}
        {"type":"subagent_event","payload":{"id":"general-1","event":{"type":"message_end","messageId":"msg-4","message":{"role":"assistant","content":[{"type":"text","text":"It says hi."}],"api":"script","provider":"script","model":"mock","usage":{"input":100,"output":25,"cacheRead":0,"cacheWrite":0,"totalTokens":125,"cost":{"input":0.00030000000000000003,"output":0.000375,"cacheRead":0,"cacheWrite":0,"total":0.000675}},"stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}}}
        {"type":"subagent_event","payload":{"id":"general-1","event":{"type":"turn_end","message":"msg-4","toolResults":[]}}}
        {"type":"subagent_event","payload":{"id":"general-1","event":{"type":"agent_end","messages":["msg-1","msg-2","msg-3","msg-4"],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":4}}}
        {"type":"subagent_lifecycle","payload":{"id":"general-1","agent":"general","agentSource":"bundled","description":"look around","status":"completed","sessionFile":"ROOT/work/../sessions/TIME_ID/subagents/TIME_ID.jsonl","parentToolCallId":"out-1","index":0}}
        {"type":"tool_execution_end","toolCallId":"out-1","toolName":"subagent","result":{"content":[{"type":"text","text":"It says hi."}],"details":{"subagents":[{"id":1,"agent":"general","task":"look around","failed":false,"durationMs":"MS","usage":{"input":200,"output":50,"cacheRead":0,"cacheWrite":0,"totalTokens":250,"cost":{"input":0.0006000000000000001,"output":0.00075,"cacheRead":0,"cacheWrite":0,"total":0.00135}}}]}},"isError":false,"durationMs":"MS"}
        {"type":"message_start","messageId":"msg-3","message":{"role":"toolResult","toolCallId":"out-1","toolName":"subagent","content":[{"type":"text","text":"It says hi."}],"details":{"subagents":[{"id":1,"agent":"general","task":"look around","failed":false,"durationMs":"MS","usage":{"input":200,"output":50,"cacheRead":0,"cacheWrite":0,"totalTokens":250,"cost":{"input":0.0006000000000000001,"output":0.00075,"cacheRead":0,"cacheWrite":0,"total":0.00135}}}]},"isError":false,"timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-3","message":"as it began"}
        {"type":"turn_end","message":"msg-2","toolResults":["msg-3"]}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-4","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-4","message":{"…":"as it began","content":[{"type":"text","text":""}]},"assistantMessageEvent":{"type":"text_start","contentIndex":0,"partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-4","message":{"…":"as it began","content":[{"type":"text","text":"Thanks."}]},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"Thanks.","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-4","message":{"…":"as it began","content":[{"type":"text","text":"Thanks."}]},"assistantMessageEvent":{"type":"text_end","contentIndex":0,"content":"Thanks.","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_end","messageId":"msg-4","message":{"role":"assistant","content":[{"type":"text","text":"Thanks."}],"api":"script","provider":"script","model":"mock","usage":{"input":100,"output":25,"cacheRead":0,"cacheWrite":0,"totalTokens":125,"cost":{"input":0.00030000000000000003,"output":0.000375,"cacheRead":0,"cacheWrite":0,"total":0.000675}},"stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"turn_end","message":"msg-4","toolResults":[]}
        {"type":"agent_end","messages":["msg-1","msg-2","msg-3","msg-4"],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":4}
        {"type":"prompt_result","id":"prompt","agentInvoked":true,"status":"completed","sessionSettled":true}
        {"type":"session_settled"}
        {"type":"agent_settled","aborted":false}
    "#]].assert_eq(&told(&without_reports(frames), &folder));
}

#[test]
fn progress_is_told_without_events_and_nothing_at_all_to_who_did_not_ask() {
    let folder = office(r#"{"task":"look around"}"#);
    let mut child = folder.child(&["--no-session"]);
    subscribe(&mut child, "progress");
    let frames = child.prompt("go");
    expect![[r#"
        {"id":"prompt","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
        {"type":"agent_start"}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"go"}],"attribution":"user","timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-1","message":"as it began"}
        {"type":"message_start","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"out-1","name":"subagent","arguments":{}}]},"assistantMessageEvent":{"type":"toolcall_start","contentIndex":0,"id":"out-1","toolName":"subagent","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"out-1","name":"subagent","arguments":{"task":"look around"}}]},"assistantMessageEvent":{"type":"toolcall_delta","contentIndex":0,"delta":"{\"task\":\"look around\"}","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"out-1","name":"subagent","arguments":{"task":"look around"}}]},"assistantMessageEvent":{"type":"toolcall_end","contentIndex":0,"toolCall":{"type":"toolCall","id":"out-1","name":"subagent","arguments":{"task":"look around"}},"partial":"=message"},"usage":"=message.usage"}
        {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"toolCall","id":"out-1","name":"subagent","arguments":{"task":"look around"}}],"api":"script","provider":"script","model":"mock","usage":{"input":100,"output":25,"cacheRead":0,"cacheWrite":0,"totalTokens":125,"cost":{"input":0.00030000000000000003,"output":0.000375,"cacheRead":0,"cacheWrite":0,"total":0.000675}},"stopReason":"toolUse","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"tool_execution_start","toolCallId":"out-1","toolName":"subagent","args":{"task":"look around"}}
        {"type":"subagent_lifecycle","payload":{"id":"general-1","agent":"general","agentSource":"bundled","description":"look around","status":"started","parentToolCallId":"out-1","index":0}}
        {"type":"subagent_progress","payload":{"index":0,"agent":"general","agentSource":"bundled","task":"look around","parentToolCallId":"out-1","progress":{"index":0,"id":"general-1","agent":"general","agentSource":"bundled","status":"running","task":"look around","lastIntent":"💭 thinking...","recentTools":[],"recentOutput":[],"toolCount":0,"requests":0,"tokens":0,"cost":0,"durationMs":"MS"}}}
        {"type":"subagent_progress","payload":{"index":0,"agent":"general","agentSource":"bundled","task":"look around","parentToolCallId":"out-1","progress":{"index":0,"id":"general-1","agent":"general","agentSource":"bundled","status":"running","task":"look around","lastIntent":"⚙ bash (tool #1)","recentTools":[],"recentOutput":[],"toolCount":0,"requests":0,"tokens":0,"cost":0,"durationMs":"MS"}}}
        {"type":"subagent_progress","payload":{"index":0,"agent":"general","agentSource":"bundled","task":"look around","parentToolCallId":"out-1","progress":{"index":0,"id":"general-1","agent":"general","agentSource":"bundled","status":"running","task":"look around","lastIntent":"$ echo hi","currentTool":"bash","currentToolArgs":"echo hi","currentToolStartMs":"TIME","recentTools":[],"recentOutput":["Looking."],"toolCount":1,"requests":1,"tokens":125,"cost":0.000675,"durationMs":"MS"}}}
        {"type":"subagent_progress","payload":{"index":0,"agent":"general","agentSource":"bundled","task":"look around","parentToolCallId":"out-1","progress":{"index":0,"id":"general-1","agent":"general","agentSource":"bundled","status":"running","task":"look around","lastIntent":"💭 thinking...","recentTools":[{"tool":"bash","args":"echo hi","endMs":"TIME"}],"recentOutput":["Looking."],"toolCount":1,"requests":1,"tokens":125,"cost":0.000675,"durationMs":"MS"}}}
        {"type":"subagent_lifecycle","payload":{"id":"general-1","agent":"general","agentSource":"bundled","description":"look around","status":"completed","parentToolCallId":"out-1","index":0}}
        {"type":"tool_execution_end","toolCallId":"out-1","toolName":"subagent","result":{"content":[{"type":"text","text":"It says hi."}],"details":{"subagents":[{"id":1,"agent":"general","task":"look around","failed":false,"durationMs":"MS","usage":{"input":200,"output":50,"cacheRead":0,"cacheWrite":0,"totalTokens":250,"cost":{"input":0.0006000000000000001,"output":0.00075,"cacheRead":0,"cacheWrite":0,"total":0.00135}}}]}},"isError":false,"durationMs":"MS"}
        {"type":"message_start","messageId":"msg-3","message":{"role":"toolResult","toolCallId":"out-1","toolName":"subagent","content":[{"type":"text","text":"It says hi."}],"details":{"subagents":[{"id":1,"agent":"general","task":"look around","failed":false,"durationMs":"MS","usage":{"input":200,"output":50,"cacheRead":0,"cacheWrite":0,"totalTokens":250,"cost":{"input":0.0006000000000000001,"output":0.00075,"cacheRead":0,"cacheWrite":0,"total":0.00135}}}]},"isError":false,"timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-3","message":"as it began"}
        {"type":"turn_end","message":"msg-2","toolResults":["msg-3"]}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-4","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-4","message":{"…":"as it began","content":[{"type":"text","text":""}]},"assistantMessageEvent":{"type":"text_start","contentIndex":0,"partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-4","message":{"…":"as it began","content":[{"type":"text","text":"Thanks."}]},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"Thanks.","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-4","message":{"…":"as it began","content":[{"type":"text","text":"Thanks."}]},"assistantMessageEvent":{"type":"text_end","contentIndex":0,"content":"Thanks.","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_end","messageId":"msg-4","message":{"role":"assistant","content":[{"type":"text","text":"Thanks."}],"api":"script","provider":"script","model":"mock","usage":{"input":100,"output":25,"cacheRead":0,"cacheWrite":0,"totalTokens":125,"cost":{"input":0.00030000000000000003,"output":0.000375,"cacheRead":0,"cacheWrite":0,"total":0.000675}},"stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"turn_end","message":"msg-4","toolResults":[]}
        {"type":"agent_end","messages":["msg-1","msg-2","msg-3","msg-4"],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":4}
        {"type":"prompt_result","id":"prompt","agentInvoked":true,"status":"completed","sessionSettled":true}
        {"type":"session_settled"}
        {"type":"agent_settled","aborted":false}
    "#]].assert_eq(&told(&without_reports(frames), &folder));

    let folder = office(r#"{"task":"look around"}"#);
    let mut child = folder.child(&["--no-session"]);
    let frames = child.prompt("go");
    expect![[r#"
        {"id":"prompt","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
        {"type":"agent_start"}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"go"}],"attribution":"user","timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-1","message":"as it began"}
        {"type":"message_start","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"out-1","name":"subagent","arguments":{}}]},"assistantMessageEvent":{"type":"toolcall_start","contentIndex":0,"id":"out-1","toolName":"subagent","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"out-1","name":"subagent","arguments":{"task":"look around"}}]},"assistantMessageEvent":{"type":"toolcall_delta","contentIndex":0,"delta":"{\"task\":\"look around\"}","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"out-1","name":"subagent","arguments":{"task":"look around"}}]},"assistantMessageEvent":{"type":"toolcall_end","contentIndex":0,"toolCall":{"type":"toolCall","id":"out-1","name":"subagent","arguments":{"task":"look around"}},"partial":"=message"},"usage":"=message.usage"}
        {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"toolCall","id":"out-1","name":"subagent","arguments":{"task":"look around"}}],"api":"script","provider":"script","model":"mock","usage":{"input":100,"output":25,"cacheRead":0,"cacheWrite":0,"totalTokens":125,"cost":{"input":0.00030000000000000003,"output":0.000375,"cacheRead":0,"cacheWrite":0,"total":0.000675}},"stopReason":"toolUse","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"tool_execution_start","toolCallId":"out-1","toolName":"subagent","args":{"task":"look around"}}
        {"type":"tool_execution_end","toolCallId":"out-1","toolName":"subagent","result":{"content":[{"type":"text","text":"It says hi."}],"details":{"subagents":[{"id":1,"agent":"general","task":"look around","failed":false,"durationMs":"MS","usage":{"input":200,"output":50,"cacheRead":0,"cacheWrite":0,"totalTokens":250,"cost":{"input":0.0006000000000000001,"output":0.00075,"cacheRead":0,"cacheWrite":0,"total":0.00135}}}]}},"isError":false,"durationMs":"MS"}
        {"type":"message_start","messageId":"msg-3","message":{"role":"toolResult","toolCallId":"out-1","toolName":"subagent","content":[{"type":"text","text":"It says hi."}],"details":{"subagents":[{"id":1,"agent":"general","task":"look around","failed":false,"durationMs":"MS","usage":{"input":200,"output":50,"cacheRead":0,"cacheWrite":0,"totalTokens":250,"cost":{"input":0.0006000000000000001,"output":0.00075,"cacheRead":0,"cacheWrite":0,"total":0.00135}}}]},"isError":false,"timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-3","message":"as it began"}
        {"type":"turn_end","message":"msg-2","toolResults":["msg-3"]}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-4","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-4","message":{"…":"as it began","content":[{"type":"text","text":""}]},"assistantMessageEvent":{"type":"text_start","contentIndex":0,"partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-4","message":{"…":"as it began","content":[{"type":"text","text":"Thanks."}]},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"Thanks.","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-4","message":{"…":"as it began","content":[{"type":"text","text":"Thanks."}]},"assistantMessageEvent":{"type":"text_end","contentIndex":0,"content":"Thanks.","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_end","messageId":"msg-4","message":{"role":"assistant","content":[{"type":"text","text":"Thanks."}],"api":"script","provider":"script","model":"mock","usage":{"input":100,"output":25,"cacheRead":0,"cacheWrite":0,"totalTokens":125,"cost":{"input":0.00030000000000000003,"output":0.000375,"cacheRead":0,"cacheWrite":0,"total":0.000675}},"stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"turn_end","message":"msg-4","toolResults":[]}
        {"type":"agent_end","messages":["msg-1","msg-2","msg-3","msg-4"],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":4}
        {"type":"prompt_result","id":"prompt","agentInvoked":true,"status":"completed","sessionSettled":true}
        {"type":"session_settled"}
        {"type":"agent_settled","aborted":false}
    "#]].assert_eq(&told(&without_reports(frames), &folder));
}

#[test]
fn deltas_of_a_subagent_come_without_the_message_when_that_is_wanted() {
    let folder = office(r#"{"task":"say hi"}"#);
    let mut child = folder.child(&["--no-session"]);
    child.data(json!({"type": "set_event_filter", "events": null, "messageUpdates": "delta"}));
    subscribe(&mut child, "events");
    let frames = child.prompt("go");
    expect![[r#"
        {"id":"prompt","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
        {"type":"agent_start"}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"go"}],"attribution":"user","timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-1","message":"as it began"}
        {"type":"message_start","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-2","message":{"role":"assistant"},"assistantMessageEvent":{"type":"toolcall_start","contentIndex":0,"id":"out-1","toolName":"subagent"}}
        {"type":"message_update","messageId":"msg-2","message":{"role":"assistant"},"assistantMessageEvent":{"type":"toolcall_delta","contentIndex":0,"delta":"{\"task\":\"say hi\"}"}}
        {"type":"message_update","messageId":"msg-2","message":{"role":"assistant"},"assistantMessageEvent":{"type":"toolcall_end","contentIndex":0,"toolCall":{"type":"toolCall","id":"out-1","name":"subagent","arguments":{"task":"say hi"}}}}
        {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"toolCall","id":"out-1","name":"subagent","arguments":{"task":"say hi"}}],"api":"script","provider":"script","model":"mock","usage":{"input":100,"output":25,"cacheRead":0,"cacheWrite":0,"totalTokens":125,"cost":{"input":0.00030000000000000003,"output":0.000375,"cacheRead":0,"cacheWrite":0,"total":0.000675}},"stopReason":"toolUse","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"tool_execution_start","toolCallId":"out-1","toolName":"subagent","args":{"task":"say hi"}}
        {"type":"subagent_lifecycle","payload":{"id":"general-1","agent":"general","agentSource":"bundled","description":"say hi","status":"started","parentToolCallId":"out-1","index":0}}
        {"type":"subagent_event","payload":{"id":"general-1","event":{"type":"agent_start"}}}
        {"type":"subagent_event","payload":{"id":"general-1","event":{"type":"turn_start"}}}
        {"type":"subagent_event","payload":{"id":"general-1","event":{"type":"message_start","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"say hi"}],"attribution":"user","timestamp":"TIME"}}}}
        {"type":"subagent_event","payload":{"id":"general-1","event":{"type":"message_end","messageId":"msg-1","message":"as it began"}}}
        {"type":"subagent_event","payload":{"id":"general-1","event":{"type":"message_start","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}}}
        {"type":"subagent_progress","payload":{"index":0,"agent":"general","agentSource":"bundled","task":"say hi","parentToolCallId":"out-1","progress":{"index":0,"id":"general-1","agent":"general","agentSource":"bundled","status":"running","task":"say hi","lastIntent":"💭 thinking...","recentTools":[],"recentOutput":[],"toolCount":0,"requests":0,"tokens":0,"cost":0,"durationMs":"MS"}}}
        {"type":"subagent_event","payload":{"id":"general-1","event":{"type":"message_update","messageId":"msg-2","message":{"role":"assistant"},"assistantMessageEvent":{"type":"text_start","contentIndex":0}}}}
        {"type":"subagent_event","payload":{"id":"general-1","event":{"type":"message_update","messageId":"msg-2","message":{"role":"assistant"},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"It says hi."}}}}
        {"type":"subagent_event","payload":{"id":"general-1","event":{"type":"message_update","messageId":"msg-2","message":{"role":"assistant"},"assistantMessageEvent":{"type":"text_end","contentIndex":0,"content":"It says hi."}}}}
        {"type":"subagent_event","payload":{"id":"general-1","event":{"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"text","text":"It says hi."}],"api":"script","provider":"script","model":"mock","usage":{"input":100,"output":25,"cacheRead":0,"cacheWrite":0,"totalTokens":125,"cost":{"input":0.00030000000000000003,"output":0.000375,"cacheRead":0,"cacheWrite":0,"total":0.000675}},"stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}}}
        {"type":"subagent_event","payload":{"id":"general-1","event":{"type":"turn_end","message":"msg-2","toolResults":[]}}}
        {"type":"subagent_event","payload":{"id":"general-1","event":{"type":"agent_end","messages":["msg-1","msg-2"],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":2}}}
        {"type":"subagent_lifecycle","payload":{"id":"general-1","agent":"general","agentSource":"bundled","description":"say hi","status":"completed","parentToolCallId":"out-1","index":0}}
        {"type":"tool_execution_end","toolCallId":"out-1","toolName":"subagent","result":{"content":[{"type":"text","text":"It says hi."}],"details":{"subagents":[{"id":1,"agent":"general","task":"say hi","failed":false,"durationMs":"MS","usage":{"input":100,"output":25,"cacheRead":0,"cacheWrite":0,"totalTokens":125,"cost":{"input":0.00030000000000000003,"output":0.000375,"cacheRead":0,"cacheWrite":0,"total":0.000675}}}]}},"isError":false,"durationMs":"MS"}
        {"type":"message_start","messageId":"msg-3","message":{"role":"toolResult","toolCallId":"out-1","toolName":"subagent","content":[{"type":"text","text":"It says hi."}],"details":{"subagents":[{"id":1,"agent":"general","task":"say hi","failed":false,"durationMs":"MS","usage":{"input":100,"output":25,"cacheRead":0,"cacheWrite":0,"totalTokens":125,"cost":{"input":0.00030000000000000003,"output":0.000375,"cacheRead":0,"cacheWrite":0,"total":0.000675}}}]},"isError":false,"timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-3","message":"as it began"}
        {"type":"turn_end","message":"msg-2","toolResults":["msg-3"]}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-4","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-4","message":{"role":"assistant"},"assistantMessageEvent":{"type":"text_start","contentIndex":0}}
        {"type":"message_update","messageId":"msg-4","message":{"role":"assistant"},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"Thanks."}}
        {"type":"message_update","messageId":"msg-4","message":{"role":"assistant"},"assistantMessageEvent":{"type":"text_end","contentIndex":0,"content":"Thanks."}}
        {"type":"message_end","messageId":"msg-4","message":{"role":"assistant","content":[{"type":"text","text":"Thanks."}],"api":"script","provider":"script","model":"mock","usage":{"input":100,"output":25,"cacheRead":0,"cacheWrite":0,"totalTokens":125,"cost":{"input":0.00030000000000000003,"output":0.000375,"cacheRead":0,"cacheWrite":0,"total":0.000675}},"stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"turn_end","message":"msg-4","toolResults":[]}
        {"type":"agent_end","messages":["msg-1","msg-2","msg-3","msg-4"],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":4}
        {"type":"prompt_result","id":"prompt","agentInvoked":true,"status":"completed","sessionSettled":true}
        {"type":"session_settled"}
        {"type":"agent_settled","aborted":false}
    "#]].assert_eq(&told(&without_reports(frames), &folder));
}
