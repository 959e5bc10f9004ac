//! Subagents: what clients hear of them, and how they reach them (section 19).

use expect_test::expect;
use serde_json::{Value, json};

use crate::child::{Child, Folder, shown};

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

fn office(calls: &str) -> Folder {
    Folder::with(&format!(
        "{OFFICE}\n[[turn]]\nsteps = [{{ tool = \"subagent\", id = \"out-1\", arguments_json = '{calls}' }}]\n[[turn]]\ntext = \"Thanks.\"\n"
    ))
}

fn subscribe(child: &mut Child, level: &str) {
    let subscribed = child.data(json!({"type": "set_subagent_subscription", "level": level}));
    assert_eq!(subscribed, json!({ "level": level }));
}

/// The frames about subagents, and the ends of calls. How often a running call reports depends on
/// time, so that is left out.
fn about_subagents(frames: &[Value], folder: &Folder) -> String {
    let told: Vec<Value> = frames
        .iter()
        .filter(|frame| {
            let kind = frame["type"].as_str().unwrap();
            let about = kind.starts_with("subagent") || kind == "tool_execution_end";
            about && frame["payload"]["event"]["type"] != "tool_execution_update"
        })
        .cloned()
        .collect();
    shown(&told, folder)
}

fn is_lifecycle(frame: &Value, status: &str) -> bool {
    frame["type"] == "subagent_lifecycle" && frame["payload"]["status"] == status
}

#[test]
fn all_that_happens_in_a_subagent_is_told_to_who_wants_it() {
    let folder = office(r#"{"task":"look around"}"#);
    let mut child = folder.child(&["--session-dir", "../sessions"]);
    subscribe(&mut child, "events");
    let frames = child.prompt("go");
    expect![[r#"
        {"type":"subagent_lifecycle","payload":{"id":"general-1","agent":"general","agentSource":"bundled","description":"look around","status":"started","sessionFile":"ROOT/work/../sessions/TIME_ID/subagents/TIME_ID.jsonl","parentToolCallId":"out-1","index":0}}
        {"type":"subagent_event","payload":{"id":"general-1","event":{"type":"agent_start"}}}
        {"type":"subagent_event","payload":{"id":"general-1","event":{"type":"turn_start"}}}
        {"type":"subagent_event","payload":{"id":"general-1","event":{"type":"message_start","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"look around"}],"timestamp":"TIME"}}}}
        {"type":"subagent_event","payload":{"id":"general-1","event":{"type":"message_end","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"look around"}],"timestamp":"TIME"}}}}
        {"type":"subagent_event","payload":{"id":"general-1","event":{"type":"message_start","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME"}}}}
        {"type":"subagent_progress","payload":{"index":0,"agent":"general","agentSource":"bundled","task":"look around","parentToolCallId":"out-1","progress":{"index":0,"id":"general-1","agent":"general","agentSource":"bundled","status":"running","task":"look around","lastIntent":"💭 thinking...","recentTools":[],"recentOutput":[],"toolCount":0,"requests":0,"tokens":0,"cost":0,"durationMs":"MS"},"sessionFile":"ROOT/work/../sessions/TIME_ID/subagents/TIME_ID.jsonl"}}
        {"type":"subagent_event","payload":{"id":"general-1","event":{"type":"message_update","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"text","text":""}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME"},"assistantMessageEvent":{"type":"text_start","contentIndex":0,"partial":{"role":"assistant","content":[{"type":"text","text":""}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME"}},"usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}}}}}
        {"type":"subagent_event","payload":{"id":"general-1","event":{"type":"message_update","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"text","text":"Looking."}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME"},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"Looking.","partial":{"role":"assistant","content":[{"type":"text","text":"Looking."}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME"}},"usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}}}}}
        {"type":"subagent_event","payload":{"id":"general-1","event":{"type":"message_update","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"text","text":"Looking."}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME"},"assistantMessageEvent":{"type":"text_end","contentIndex":0,"content":"Looking.","partial":{"role":"assistant","content":[{"type":"text","text":"Looking."}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME"}},"usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}}}}}
        {"type":"subagent_event","payload":{"id":"general-1","event":{"type":"message_update","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"text","text":"Looking."},{"type":"toolCall","id":"in-1","name":"bash","arguments":{}}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME"},"assistantMessageEvent":{"type":"toolcall_start","contentIndex":1,"partial":{"role":"assistant","content":[{"type":"text","text":"Looking."},{"type":"toolCall","id":"in-1","name":"bash","arguments":{}}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME"}},"usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}}}}}
        {"type":"subagent_progress","payload":{"index":0,"agent":"general","agentSource":"bundled","task":"look around","parentToolCallId":"out-1","progress":{"index":0,"id":"general-1","agent":"general","agentSource":"bundled","status":"running","task":"look around","lastIntent":"⚙ bash (tool #1)","recentTools":[],"recentOutput":[],"toolCount":0,"requests":0,"tokens":0,"cost":0,"durationMs":"MS"},"sessionFile":"ROOT/work/../sessions/TIME_ID/subagents/TIME_ID.jsonl"}}
        {"type":"subagent_event","payload":{"id":"general-1","event":{"type":"message_update","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"text","text":"Looking."},{"type":"toolCall","id":"in-1","name":"bash","arguments":{"command":"echo hi"}}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME"},"assistantMessageEvent":{"type":"toolcall_delta","contentIndex":1,"delta":"{\"command\":\"echo hi\"}","partial":{"role":"assistant","content":[{"type":"text","text":"Looking."},{"type":"toolCall","id":"in-1","name":"bash","arguments":{"command":"echo hi"}}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME"}},"usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}}}}}
        {"type":"subagent_event","payload":{"id":"general-1","event":{"type":"message_update","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"text","text":"Looking."},{"type":"toolCall","id":"in-1","name":"bash","arguments":{"command":"echo hi"}}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME"},"assistantMessageEvent":{"type":"toolcall_end","contentIndex":1,"toolCall":{"type":"toolCall","id":"in-1","name":"bash","arguments":{"command":"echo hi"}},"partial":{"role":"assistant","content":[{"type":"text","text":"Looking."},{"type":"toolCall","id":"in-1","name":"bash","arguments":{"command":"echo hi"}}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME"}},"usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}}}}}
        {"type":"subagent_event","payload":{"id":"general-1","event":{"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"text","text":"Looking."},{"type":"toolCall","id":"in-1","name":"bash","arguments":{"command":"echo hi"}}],"api":"script","provider":"script","model":"mock","usage":{"input":100,"output":25,"cacheRead":0,"cacheWrite":0,"totalTokens":125,"cost":{"input":0.00030000000000000003,"output":0.000375,"cacheRead":0,"cacheWrite":0,"total":0.000675}},"stopReason":"toolUse","timestamp":"TIME","duration":"MS","ttft":"MS"}}}}
        {"type":"subagent_event","payload":{"id":"general-1","event":{"type":"tool_execution_start","toolCallId":"in-1","toolName":"bash","args":{"command":"echo hi"}}}}
        {"type":"subagent_progress","payload":{"index":0,"agent":"general","agentSource":"bundled","task":"look around","parentToolCallId":"out-1","progress":{"index":0,"id":"general-1","agent":"general","agentSource":"bundled","status":"running","task":"look around","lastIntent":"$ echo hi","currentTool":"bash","currentToolArgs":"echo hi","currentToolStartMs":"TIME","recentTools":[],"recentOutput":["Looking."],"toolCount":1,"requests":1,"tokens":125,"cost":0.000675,"durationMs":"MS"},"sessionFile":"ROOT/work/../sessions/TIME_ID/subagents/TIME_ID.jsonl"}}
        {"type":"subagent_event","payload":{"id":"general-1","event":{"type":"tool_execution_end","toolCallId":"in-1","toolName":"bash","result":{"content":[{"type":"text","text":"hi\n"}]},"isError":false,"durationMs":"MS"}}}
        {"type":"subagent_event","payload":{"id":"general-1","event":{"type":"message_start","messageId":"msg-3","message":{"role":"toolResult","toolCallId":"in-1","toolName":"bash","content":[{"type":"text","text":"hi\n"}],"isError":false,"timestamp":"TIME"}}}}
        {"type":"subagent_event","payload":{"id":"general-1","event":{"type":"message_end","messageId":"msg-3","message":{"role":"toolResult","toolCallId":"in-1","toolName":"bash","content":[{"type":"text","text":"hi\n"}],"isError":false,"timestamp":"TIME"}}}}
        {"type":"subagent_event","payload":{"id":"general-1","event":{"type":"turn_end","message":{"role":"assistant","content":[{"type":"text","text":"Looking."},{"type":"toolCall","id":"in-1","name":"bash","arguments":{"command":"echo hi"}}],"api":"script","provider":"script","model":"mock","usage":{"input":100,"output":25,"cacheRead":0,"cacheWrite":0,"totalTokens":125,"cost":{"input":0.00030000000000000003,"output":0.000375,"cacheRead":0,"cacheWrite":0,"total":0.000675}},"stopReason":"toolUse","timestamp":"TIME","duration":"MS","ttft":"MS"},"toolResults":[{"role":"toolResult","toolCallId":"in-1","toolName":"bash","content":[{"type":"text","text":"hi\n"}],"isError":false,"timestamp":"TIME"}]}}}
        {"type":"subagent_event","payload":{"id":"general-1","event":{"type":"turn_start"}}}
        {"type":"subagent_event","payload":{"id":"general-1","event":{"type":"message_start","messageId":"msg-4","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME"}}}}
        {"type":"subagent_progress","payload":{"index":0,"agent":"general","agentSource":"bundled","task":"look around","parentToolCallId":"out-1","progress":{"index":0,"id":"general-1","agent":"general","agentSource":"bundled","status":"running","task":"look around","lastIntent":"💭 thinking...","recentTools":[{"tool":"bash","args":"echo hi","endMs":"TIME"}],"recentOutput":["Looking."],"toolCount":1,"requests":1,"tokens":125,"cost":0.000675,"durationMs":"MS"},"sessionFile":"ROOT/work/../sessions/TIME_ID/subagents/TIME_ID.jsonl"}}
        {"type":"subagent_event","payload":{"id":"general-1","event":{"type":"message_update","messageId":"msg-4","message":{"role":"assistant","content":[{"type":"text","text":""}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME"},"assistantMessageEvent":{"type":"text_start","contentIndex":0,"partial":{"role":"assistant","content":[{"type":"text","text":""}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME"}},"usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}}}}}
        {"type":"subagent_event","payload":{"id":"general-1","event":{"type":"message_update","messageId":"msg-4","message":{"role":"assistant","content":[{"type":"text","text":"It says hi."}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME"},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"It says hi.","partial":{"role":"assistant","content":[{"type":"text","text":"It says hi."}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME"}},"usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}}}}}
        {"type":"subagent_event","payload":{"id":"general-1","event":{"type":"message_update","messageId":"msg-4","message":{"role":"assistant","content":[{"type":"text","text":"It says hi."}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME"},"assistantMessageEvent":{"type":"text_end","contentIndex":0,"content":"It says hi.","partial":{"role":"assistant","content":[{"type":"text","text":"It says hi."}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME"}},"usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}}}}}
        {"type":"subagent_event","payload":{"id":"general-1","event":{"type":"message_end","messageId":"msg-4","message":{"role":"assistant","content":[{"type":"text","text":"It says hi."}],"api":"script","provider":"script","model":"mock","usage":{"input":100,"output":25,"cacheRead":0,"cacheWrite":0,"totalTokens":125,"cost":{"input":0.00030000000000000003,"output":0.000375,"cacheRead":0,"cacheWrite":0,"total":0.000675}},"stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}}}
        {"type":"subagent_event","payload":{"id":"general-1","event":{"type":"turn_end","message":{"role":"assistant","content":[{"type":"text","text":"It says hi."}],"api":"script","provider":"script","model":"mock","usage":{"input":100,"output":25,"cacheRead":0,"cacheWrite":0,"totalTokens":125,"cost":{"input":0.00030000000000000003,"output":0.000375,"cacheRead":0,"cacheWrite":0,"total":0.000675}},"stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"},"toolResults":[]}}}
        {"type":"subagent_event","payload":{"id":"general-1","event":{"type":"agent_end","messages":[{"role":"user","content":[{"type":"text","text":"look around"}],"timestamp":"TIME"},{"role":"assistant","content":[{"type":"text","text":"Looking."},{"type":"toolCall","id":"in-1","name":"bash","arguments":{"command":"echo hi"}}],"api":"script","provider":"script","model":"mock","usage":{"input":100,"output":25,"cacheRead":0,"cacheWrite":0,"totalTokens":125,"cost":{"input":0.00030000000000000003,"output":0.000375,"cacheRead":0,"cacheWrite":0,"total":0.000675}},"stopReason":"toolUse","timestamp":"TIME","duration":"MS","ttft":"MS"},{"role":"toolResult","toolCallId":"in-1","toolName":"bash","content":[{"type":"text","text":"hi\n"}],"isError":false,"timestamp":"TIME"},{"role":"assistant","content":[{"type":"text","text":"It says hi."}],"api":"script","provider":"script","model":"mock","usage":{"input":100,"output":25,"cacheRead":0,"cacheWrite":0,"totalTokens":125,"cost":{"input":0.00030000000000000003,"output":0.000375,"cacheRead":0,"cacheWrite":0,"total":0.000675}},"stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":4}}}
        {"type":"subagent_lifecycle","payload":{"id":"general-1","agent":"general","agentSource":"bundled","description":"look around","status":"completed","sessionFile":"ROOT/work/../sessions/TIME_ID/subagents/TIME_ID.jsonl","parentToolCallId":"out-1","index":0}}
        {"type":"tool_execution_end","toolCallId":"out-1","toolName":"subagent","result":{"content":[{"type":"text","text":"It says hi."}],"details":{"subagents":[{"id":1,"agent":"general","task":"look around","failed":false,"durationMs":"MS","usage":{"input":200,"output":50,"cacheRead":0,"cacheWrite":0,"totalTokens":250,"cost":{"input":0.0006000000000000001,"output":0.00075,"cacheRead":0,"cacheWrite":0,"total":0.00135}}}]}},"isError":false,"durationMs":"MS"}
    "#]].assert_eq(&about_subagents(&frames, &folder));
}

#[test]
fn progress_is_told_without_events_and_nothing_at_all_to_who_did_not_ask() {
    let folder = office(r#"{"task":"look around"}"#);
    let mut child = folder.child(&["--no-session"]);
    subscribe(&mut child, "progress");
    let frames = child.prompt("go");
    expect![[r#"
        {"type":"subagent_lifecycle","payload":{"id":"general-1","agent":"general","agentSource":"bundled","description":"look around","status":"started","parentToolCallId":"out-1","index":0}}
        {"type":"subagent_progress","payload":{"index":0,"agent":"general","agentSource":"bundled","task":"look around","parentToolCallId":"out-1","progress":{"index":0,"id":"general-1","agent":"general","agentSource":"bundled","status":"running","task":"look around","lastIntent":"💭 thinking...","recentTools":[],"recentOutput":[],"toolCount":0,"requests":0,"tokens":0,"cost":0,"durationMs":"MS"}}}
        {"type":"subagent_progress","payload":{"index":0,"agent":"general","agentSource":"bundled","task":"look around","parentToolCallId":"out-1","progress":{"index":0,"id":"general-1","agent":"general","agentSource":"bundled","status":"running","task":"look around","lastIntent":"⚙ bash (tool #1)","recentTools":[],"recentOutput":[],"toolCount":0,"requests":0,"tokens":0,"cost":0,"durationMs":"MS"}}}
        {"type":"subagent_progress","payload":{"index":0,"agent":"general","agentSource":"bundled","task":"look around","parentToolCallId":"out-1","progress":{"index":0,"id":"general-1","agent":"general","agentSource":"bundled","status":"running","task":"look around","lastIntent":"$ echo hi","currentTool":"bash","currentToolArgs":"echo hi","currentToolStartMs":"TIME","recentTools":[],"recentOutput":["Looking."],"toolCount":1,"requests":1,"tokens":125,"cost":0.000675,"durationMs":"MS"}}}
        {"type":"subagent_progress","payload":{"index":0,"agent":"general","agentSource":"bundled","task":"look around","parentToolCallId":"out-1","progress":{"index":0,"id":"general-1","agent":"general","agentSource":"bundled","status":"running","task":"look around","lastIntent":"💭 thinking...","recentTools":[{"tool":"bash","args":"echo hi","endMs":"TIME"}],"recentOutput":["Looking."],"toolCount":1,"requests":1,"tokens":125,"cost":0.000675,"durationMs":"MS"}}}
        {"type":"subagent_lifecycle","payload":{"id":"general-1","agent":"general","agentSource":"bundled","description":"look around","status":"completed","parentToolCallId":"out-1","index":0}}
        {"type":"tool_execution_end","toolCallId":"out-1","toolName":"subagent","result":{"content":[{"type":"text","text":"It says hi."}],"details":{"subagents":[{"id":1,"agent":"general","task":"look around","failed":false,"durationMs":"MS","usage":{"input":200,"output":50,"cacheRead":0,"cacheWrite":0,"totalTokens":250,"cost":{"input":0.0006000000000000001,"output":0.00075,"cacheRead":0,"cacheWrite":0,"total":0.00135}}}]}},"isError":false,"durationMs":"MS"}
    "#]].assert_eq(&about_subagents(&frames, &folder));

    let folder = office(r#"{"task":"look around"}"#);
    let mut child = folder.child(&["--no-session"]);
    let frames = child.prompt("go");
    let about = |frame: &Value| frame["type"].as_str().unwrap().starts_with("subagent");
    assert!(!frames.iter().any(about));
}

#[test]
fn deltas_of_a_subagent_come_without_the_message_when_that_is_wanted() {
    let folder = office(r#"{"task":"say hi"}"#);
    let mut child = folder.child(&["--no-session"]);
    child.data(json!({"type": "set_event_filter", "events": null, "messageUpdates": "delta"}));
    subscribe(&mut child, "events");
    let frames = child.prompt("go");
    let updates: Vec<Value> = frames
        .into_iter()
        .filter(|frame| frame["payload"]["event"]["type"] == "message_update")
        .collect();
    expect![[r#"
        {"type":"subagent_event","payload":{"id":"general-1","event":{"type":"message_update","messageId":"msg-2","message":{"role":"assistant"},"assistantMessageEvent":{"type":"text_start","contentIndex":0}}}}
        {"type":"subagent_event","payload":{"id":"general-1","event":{"type":"message_update","messageId":"msg-2","message":{"role":"assistant"},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"It says hi."}}}}
        {"type":"subagent_event","payload":{"id":"general-1","event":{"type":"message_update","messageId":"msg-2","message":{"role":"assistant"},"assistantMessageEvent":{"type":"text_end","contentIndex":0,"content":"It says hi."}}}}
    "#]].assert_eq(&shown(&updates, &folder));
}

#[test]
fn one_of_two_is_cancelled_and_the_other_goes_on() {
    let folder = office(r#"{"tasks":[{"task":"never end"},{"task":"say hi"}]}"#);
    let mut child = folder.child(&["--session-dir", "../sessions"]);
    subscribe(&mut child, "progress");
    child.send(json!({"id": "p", "type": "prompt", "message": "go"}));
    let lazy_one_thinks = |frame: &Value| frame["payload"]["progress"]["id"] == "general-1";
    child.until_all(&[&|frame| is_lifecycle(frame, "completed"), &lazy_one_thinks]);
    let listed = child.data(json!({"type": "get_subagents"}));
    let lazy = listed["subagents"][0]["id"].clone();
    expect![[r#"
        {"subagents":[{"id":"general-1","index":0,"agent":"general","agentSource":"bundled","description":"never end","status":"running","task":"never end","sessionFile":"ROOT/work/../sessions/TIME_ID/subagents/TIME_ID.jsonl","lastUpdate":"TIME","progress":{"index":0,"id":"general-1","agent":"general","agentSource":"bundled","status":"running","task":"never end","lastIntent":"💭 thinking...","recentTools":[],"recentOutput":[],"toolCount":0,"requests":0,"tokens":0,"cost":0,"durationMs":"MS"},"parentToolCallId":"out-1"}]}
    "#]].assert_eq(&shown(&[listed], &folder));
    child.send(json!({"id": "c", "type": "cancel_subagent", "subagentId": lazy}));
    // Its end is told before the answer says that it is gone.
    let mut frames = child.until(|frame| is_lifecycle(frame, "aborted"));
    let answered = |frame: &Value| frame["id"] == "c";
    assert!(!frames.iter().any(answered));
    let settled = |frame: &Value| frame["type"] == "agent_settled";
    let rest = child.until_all(&[&answered, &settled]);
    let answer = rest.iter().find(|frame| answered(frame)).unwrap();
    let again = child.ask(json!({"type": "cancel_subagent", "subagentId": lazy}));
    expect![[r#"
        {"id":"c","type":"response","command":"cancel_subagent","success":true,"data":{"cancelled":true}}
        {"id":"asked","type":"response","command":"cancel_subagent","success":true,"data":{"cancelled":false}}
    "#]].assert_eq(&shown(&[answer.clone(), again], &folder));
    frames.extend(rest);
    expect![[r###"
        {"type":"subagent_lifecycle","payload":{"id":"general-1","agent":"general","agentSource":"bundled","description":"never end","status":"aborted","sessionFile":"ROOT/work/../sessions/TIME_ID/subagents/TIME_ID.jsonl","parentToolCallId":"out-1","index":0}}
        {"type":"tool_execution_end","toolCallId":"out-1","toolName":"subagent","result":{"content":[{"type":"text","text":"## 1. general: never end\n\nThe subagent `general` failed: cancelled\n\n## 2. general: say hi\n\nIt says hi."}],"details":{"subagents":[{"id":1,"agent":"general","task":"never end","failed":true,"durationMs":"MS","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}}},{"id":2,"agent":"general","task":"say hi","failed":false,"durationMs":"MS","usage":{"input":100,"output":25,"cacheRead":0,"cacheWrite":0,"totalTokens":125,"cost":{"input":0.00030000000000000003,"output":0.000375,"cacheRead":0,"cacheWrite":0,"total":0.000675}}}]}},"isError":false,"durationMs":"MS"}
    "###]].assert_eq(&about_subagents(&frames, &folder));
}

#[test]
fn a_subagent_is_told_something_in_the_middle_of_its_work() {
    let folder = office(r#"{"task":"wait for it"}"#);
    let mut child = folder.child(&["--session-dir", "../sessions"]);
    subscribe(&mut child, "events");
    child.send(json!({"id": "p", "type": "prompt", "message": "go"}));
    let starts = |frame: &Value| frame["payload"]["event"]["type"] == "tool_execution_start";
    let id = child.until(starts).pop().unwrap()["payload"]["id"].clone();
    child.send(
        json!({"id": "s", "type": "steer_subagent", "subagentId": id, "message": "Do something ELSE"}),
    );
    let mut frames = child.until(|frame| frame["id"] == "s");
    assert_eq!(
        *frames.last().unwrap(),
        json!({"id": "s", "type": "response", "command": "steer_subagent", "success": true})
    );
    folder.file("go", "");
    frames.extend(child.until_type("agent_settled"));
    let told: Vec<Value> = frames
        .into_iter()
        .filter(|frame| {
            let event = &frame["payload"]["event"];
            frame["type"] == "tool_execution_end"
                || event["type"] == "queue_update"
                || (event["type"] == "message_end" && event["message"]["role"] == "user")
        })
        .collect();
    expect![[r#"
        {"type":"subagent_event","payload":{"id":"general-1","event":{"type":"queue_update","steering":["Do something ELSE"],"followUp":[]}}}
        {"type":"subagent_event","payload":{"id":"general-1","event":{"type":"queue_update","steering":[],"followUp":[]}}}
        {"type":"subagent_event","payload":{"id":"general-1","event":{"type":"message_end","messageId":"msg-4","message":{"role":"user","content":[{"type":"text","text":"Do something ELSE"}],"timestamp":"TIME"}}}}
        {"type":"tool_execution_end","toolCallId":"out-1","toolName":"subagent","result":{"content":[{"type":"text","text":"Something else, then."}],"details":{"subagents":[{"id":1,"agent":"general","task":"wait for it","failed":false,"durationMs":"MS","usage":{"input":200,"output":50,"cacheRead":0,"cacheWrite":0,"totalTokens":250,"cost":{"input":0.0006000000000000001,"output":0.00075,"cacheRead":0,"cacheWrite":0,"total":0.00135}}}]}},"isError":false,"durationMs":"MS"}
    "#]].assert_eq(&shown(&told, &folder));
    let late = child.ask(json!({"type": "steer_subagent", "subagentId": id, "message": "m"}));
    let empty = child.ask(json!({"type": "steer_subagent", "subagentId": id, "message": " "}));
    expect![[r#"
        {"id":"asked","type":"response","command":"steer_subagent","success":false,"error":"Subagent not running: general-1"}
        {"id":"asked","type":"response","command":"steer_subagent","success":false,"error":"the message is empty"}
    "#]].assert_eq(&shown(&[late, empty], &folder));
}

#[test]
fn what_a_subagent_says_is_read_from_its_file_while_it_works_and_after() {
    let folder = office(r#"{"task":"never end"}"#);
    let mut child = folder.child(&["--session-dir", "../sessions"]);
    subscribe(&mut child, "events");
    child.send(json!({"id": "p", "type": "prompt", "message": "go"}));
    let writes =
        |frame: &Value| frame["payload"]["event"]["assistantMessageEvent"]["type"] == "text_delta";
    let id = child.until(writes).pop().unwrap()["payload"]["id"].clone();
    let now = child.ask(json!({"type": "get_subagent_messages", "subagentId": id}));
    let seen = now["data"]["nextByte"].clone();
    let file = now["data"]["sessionFile"].clone();
    child.send(json!({"id": "a", "type": "abort"}));
    child.until(|frame| frame["id"] == "a");
    let since =
        child.ask(json!({"type": "get_subagent_messages", "sessionFile": file, "fromByte": seen}));
    let end = since["data"]["nextByte"].clone();
    let nothing =
        child.ask(json!({"type": "get_subagent_messages", "subagentId": id, "fromByte": end}));
    let shorter = child
        .ask(json!({"type": "get_subagent_messages", "subagentId": id, "fromByte": 1_000_000}));
    assert_eq!(
        (&shorter["data"]["reset"], &shorter["data"]["nextByte"]),
        (&json!(true), &end)
    );
    let unknown = child.ask(json!({"type": "get_subagent_messages", "subagentId": "nobody"}));
    let foreign = child.ask(json!({"type": "get_subagent_messages", "sessionFile": "/etc/passwd"}));
    let wrong =
        child.ask(json!({"type": "get_subagent_messages", "subagentId": id, "fromByte": -1}));
    expect![[r#"
        {"id":"asked","type":"response","command":"get_subagent_messages","success":true,"data":{"sessionFile":"ROOT/work/../sessions/TIME_ID/subagents/TIME_ID.jsonl","fromByte":0,"nextByte":"BYTE","reset":false,"entries":[{"type":"session","version":3,"id":"ID","timestamp":"TIME","cwd":"ROOT/work","parentSession":"ROOT/work/../sessions/TIME_ID.jsonl"},{"type":"model_change","id":"ID","parentId":null,"timestamp":"TIME","provider":"script","modelId":"mock"},{"type":"thinking_level_change","id":"ID","parentId":"ID","timestamp":"TIME","thinkingLevel":"medium"},{"type":"message","id":"ID","parentId":"ID","timestamp":"TIME","message":{"role":"user","content":[{"type":"text","text":"never end"}],"timestamp":"TIME"}}],"messages":[{"role":"user","content":[{"type":"text","text":"never end"}],"timestamp":"TIME"}]}}
        {"id":"asked","type":"response","command":"get_subagent_messages","success":true,"data":{"sessionFile":"ROOT/work/../sessions/TIME_ID/subagents/TIME_ID.jsonl","fromByte":"BYTE","nextByte":"BYTE","reset":false,"entries":[{"type":"message","id":"ID","parentId":"ID","timestamp":"TIME","message":{"role":"assistant","content":[{"type":"text","text":"Well"}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"aborted","errorMessage":"Request was aborted","timestamp":"TIME","duration":"MS","ttft":"MS"}}],"messages":[{"role":"assistant","content":[{"type":"text","text":"Well"}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"aborted","errorMessage":"Request was aborted","timestamp":"TIME","duration":"MS","ttft":"MS"}]}}
        {"id":"asked","type":"response","command":"get_subagent_messages","success":true,"data":{"sessionFile":"ROOT/work/../sessions/TIME_ID/subagents/TIME_ID.jsonl","fromByte":"BYTE","nextByte":"BYTE","reset":false,"entries":[],"messages":[]}}
        {"id":"asked","type":"response","command":"get_subagent_messages","success":false,"error":"Unknown subagent or session file unavailable: nobody"}
        {"id":"asked","type":"response","command":"get_subagent_messages","success":false,"error":"Unknown subagent session file"}
        {"id":"asked","type":"response","command":"get_subagent_messages","success":false,"error":"Invalid get_subagent_messages command: fromByte: invalid value: integer `-1`, expected u64"}
    "#]].assert_eq(&shown(
        &[now, since, nothing, unknown, foreign, wrong],
        &folder,
    ));
    child.data(json!({"type": "new_session"}));
    let gone = child.ask(json!({"type": "get_subagent_messages", "subagentId": id}));
    assert_eq!(gone["success"], false);
}

#[test]
fn a_subagent_that_fails_and_one_that_is_aborted_with_its_run_end_each_once() {
    let folder = office(r#"{"tasks":[{"task":"fail"},{"task":"never end"}]}"#);
    let mut child = folder.child(&["--no-session"]);
    subscribe(&mut child, "progress");
    child.send(json!({"id": "p", "type": "prompt", "message": "go"}));
    let both: [&dyn Fn(&Value) -> bool; 2] = [&|frame| is_lifecycle(frame, "failed"), &|frame| {
        frame["payload"]["progress"]["id"] == "general-2"
    }];
    let mut frames = child.until_all(&both);
    child.send(json!({"id": "a", "type": "abort"}));
    frames.extend(child.until(|frame| frame["id"] == "a"));
    let ends: Vec<Value> = frames
        .into_iter()
        .filter(|frame| {
            frame["type"] == "subagent_lifecycle" && frame["payload"]["status"] != "started"
        })
        .collect();
    expect![[r#"
        {"type":"subagent_lifecycle","payload":{"id":"general-1","agent":"general","agentSource":"bundled","description":"fail","status":"failed","parentToolCallId":"out-1","index":0}}
        {"type":"subagent_lifecycle","payload":{"id":"general-2","agent":"general","agentSource":"bundled","description":"never end","status":"aborted","parentToolCallId":"out-1","index":1}}
    "#]].assert_eq(&shown(&ends, &folder));
    assert_eq!(
        child.data(json!({"type": "get_subagents"})),
        json!({"subagents": []})
    );
}
