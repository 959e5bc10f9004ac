//! Subagents that are stopped, told something, and read (section 19).

use expect_test::expect;
use serde_json::{Value, json};

use crate::subagents::lifecycle::{is_lifecycle, office, subscribe};
use crate::transcript::{answers_and_events, told, without_reports};

#[test]
fn the_stats_of_a_session_count_what_results_of_subagents_report() {
    let folder = office(r#"{"task":"say hi"}"#);
    let mut child = folder.child(&["--session-dir", "../sessions"]);
    child.prompt("go");
    let stats = child.data(json!({"type": "get_session_stats"}));
    let usage_of_an_answer = (100, 0.000675);
    assert_eq!(stats["assistantMessages"], 2);
    assert_eq!(stats["tokens"]["input"], 3 * usage_of_an_answer.0);
    let cost = stats["cost"].as_f64().unwrap();
    assert!((cost - 3.0 * usage_of_an_answer.1).abs() < 1e-9, "{cost}");
}

#[test]
fn one_of_two_is_cancelled_and_the_other_goes_on() {
    let folder = office(r#"{"tasks":[{"task":"never end"},{"task":"say hi"}]}"#);
    let mut child = folder.child(&["--session-dir", "../sessions"]);
    subscribe(&mut child, "progress");
    child.send(json!({"id": "p", "type": "prompt", "message": "go"}));
    let lazy_one_thinks = |frame: &Value| frame["payload"]["progress"]["id"] == "general-1";
    let mut frames =
        child.until_all(&[&|frame| is_lifecycle(frame, "completed"), &lazy_one_thinks]);
    frames.extend(child.done(json!({"id": "g", "type": "get_subagents"})));
    child.send(json!({"id": "c", "type": "cancel_subagent", "subagentId": "general-1"}));
    // Its end is told before the answer says that it is gone.
    frames.extend(child.until(|frame| is_lifecycle(frame, "aborted")));
    let answered = |frame: &Value| frame["id"] == "c";
    assert!(!frames.iter().any(answered));
    let settled = |frame: &Value| frame["type"] == "agent_settled";
    frames.extend(child.until_all(&[&answered, &settled]));
    let cancel = json!({"id": "again", "type": "cancel_subagent", "subagentId": "general-1"});
    frames.extend(child.done(cancel));
    // The two work at the same time, and the answer comes in the middle of what follows.
    let (answers, events) = answers_and_events(without_reports(frames));
    let [parent, lazy, quick] = apart(events);
    expect![[r#"
        {"id":"p","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
        {"id":"g","type":"response","command":"get_subagents","success":true,"data":{"subagents":[{"id":"general-1","index":0,"agent":"general","agentSource":"bundled","description":"never end","status":"running","task":"never end","sessionFile":"ROOT/work/../sessions/TIME_ID/subagents/TIME_ID.jsonl","lastUpdate":"TIME","progress":{"index":0,"id":"general-1","agent":"general","agentSource":"bundled","status":"running","task":"never end","lastIntent":"💭 thinking...","recentTools":[],"recentOutput":[],"toolCount":0,"requests":0,"tokens":0,"cost":0,"durationMs":"MS"},"parentToolCallId":"out-1"}]}}
        {"id":"c","type":"response","command":"cancel_subagent","success":true,"data":{"cancelled":true}}
        {"id":"again","type":"response","command":"cancel_subagent","success":true,"data":{"cancelled":false}}
    "#]].assert_eq(&told(&answers, &folder));
    expect![[r###"
        {"type":"agent_start"}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"go"}],"attribution":"user","timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-1","message":"as it began"}
        {"type":"message_start","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"out-1","name":"subagent","arguments":{}}]},"assistantMessageEvent":{"type":"toolcall_start","contentIndex":0,"id":"out-1","toolName":"subagent","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"out-1","name":"subagent","arguments":{"tasks":[{"task":"never end"},{"task":"say hi"}]}}]},"assistantMessageEvent":{"type":"toolcall_delta","contentIndex":0,"delta":"{\"tasks\":[{\"task\":\"never end\"},{\"task\":\"say hi\"}]}","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"out-1","name":"subagent","arguments":{"tasks":[{"task":"never end"},{"task":"say hi"}]}}]},"assistantMessageEvent":{"type":"toolcall_end","contentIndex":0,"toolCall":{"type":"toolCall","id":"out-1","name":"subagent","arguments":{"tasks":[{"task":"never end"},{"task":"say hi"}]}},"partial":"=message"},"usage":"=message.usage"}
        {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"toolCall","id":"out-1","name":"subagent","arguments":{"tasks":[{"task":"never end"},{"task":"say hi"}]}}],"api":"script","provider":"script","model":"mock","usage":{"input":100,"output":25,"cacheRead":0,"cacheWrite":0,"totalTokens":125,"cost":{"input":0.00030000000000000003,"output":0.000375,"cacheRead":0,"cacheWrite":0,"total":0.000675}},"stopReason":"toolUse","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"tool_execution_start","toolCallId":"out-1","toolName":"subagent","args":{"tasks":[{"task":"never end"},{"task":"say hi"}]}}
        {"type":"tool_execution_end","toolCallId":"out-1","toolName":"subagent","result":{"content":[{"type":"text","text":"## 1. general: never end\n\nThe subagent `general` failed: cancelled\n\n## 2. general: say hi\n\nIt says hi."}],"details":{"subagents":[{"id":1,"agent":"general","task":"never end","failed":true,"durationMs":"MS","usage":"nothing"},{"id":2,"agent":"general","task":"say hi","failed":false,"durationMs":"MS","usage":{"input":100,"output":25,"cacheRead":0,"cacheWrite":0,"totalTokens":125,"cost":{"input":0.00030000000000000003,"output":0.000375,"cacheRead":0,"cacheWrite":0,"total":0.000675}}}]}},"isError":false,"durationMs":"MS"}
        {"type":"message_start","messageId":"msg-3","message":{"role":"toolResult","toolCallId":"out-1","toolName":"subagent","content":[{"type":"text","text":"## 1. general: never end\n\nThe subagent `general` failed: cancelled\n\n## 2. general: say hi\n\nIt says hi."}],"details":{"subagents":[{"id":1,"agent":"general","task":"never end","failed":true,"durationMs":"MS","usage":"nothing"},{"id":2,"agent":"general","task":"say hi","failed":false,"durationMs":"MS","usage":{"input":100,"output":25,"cacheRead":0,"cacheWrite":0,"totalTokens":125,"cost":{"input":0.00030000000000000003,"output":0.000375,"cacheRead":0,"cacheWrite":0,"total":0.000675}}}]},"isError":false,"timestamp":"TIME"}}
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
        {"type":"prompt_result","id":"p","agentInvoked":true,"status":"completed","sessionSettled":true}
        {"type":"session_settled"}
        {"type":"agent_settled","aborted":false}
    "###]].assert_eq(&told(&parent, &folder));
    expect![[r#"
        {"type":"subagent_lifecycle","payload":{"id":"general-1","agent":"general","agentSource":"bundled","description":"never end","status":"started","sessionFile":"ROOT/work/../sessions/TIME_ID/subagents/TIME_ID.jsonl","parentToolCallId":"out-1","index":0}}
        {"type":"subagent_progress","payload":{"index":0,"agent":"general","agentSource":"bundled","task":"never end","parentToolCallId":"out-1","progress":{"index":0,"id":"general-1","agent":"general","agentSource":"bundled","status":"running","task":"never end","lastIntent":"💭 thinking...","recentTools":[],"recentOutput":[],"toolCount":0,"requests":0,"tokens":0,"cost":0,"durationMs":"MS"},"sessionFile":"ROOT/work/../sessions/TIME_ID/subagents/TIME_ID.jsonl"}}
        {"type":"subagent_lifecycle","payload":{"id":"general-1","agent":"general","agentSource":"bundled","description":"never end","status":"aborted","sessionFile":"ROOT/work/../sessions/TIME_ID/subagents/TIME_ID.jsonl","parentToolCallId":"out-1","index":0}}
    "#]].assert_eq(&told(&lazy, &folder));
    expect![[r#"
        {"type":"subagent_lifecycle","payload":{"id":"general-2","agent":"general","agentSource":"bundled","description":"say hi","status":"started","sessionFile":"ROOT/work/../sessions/TIME_ID/subagents/TIME_ID.jsonl","parentToolCallId":"out-1","index":1}}
        {"type":"subagent_progress","payload":{"index":1,"agent":"general","agentSource":"bundled","task":"say hi","parentToolCallId":"out-1","progress":{"index":1,"id":"general-2","agent":"general","agentSource":"bundled","status":"running","task":"say hi","lastIntent":"💭 thinking...","recentTools":[],"recentOutput":[],"toolCount":0,"requests":0,"tokens":0,"cost":0,"durationMs":"MS"},"sessionFile":"ROOT/work/../sessions/TIME_ID/subagents/TIME_ID.jsonl"}}
        {"type":"subagent_lifecycle","payload":{"id":"general-2","agent":"general","agentSource":"bundled","description":"say hi","status":"completed","sessionFile":"ROOT/work/../sessions/TIME_ID/subagents/TIME_ID.jsonl","parentToolCallId":"out-1","index":1}}
    "#]].assert_eq(&told(&quick, &folder));
}

/// The frames of the session, and those about its first and its second subagent.
fn apart(frames: Vec<Value>) -> [Vec<Value>; 3] {
    let mut apart = [Vec::new(), Vec::new(), Vec::new()];
    for frame in frames {
        let payload = &frame["payload"];
        let whose = payload["id"]
            .as_str()
            .or(payload["progress"]["id"].as_str());
        let place = match whose {
            None => 0,
            Some("general-1") => 1,
            Some(_) => 2,
        };
        apart[place].push(frame);
    }
    apart
}

#[test]
fn a_subagent_is_told_something_in_the_middle_of_its_work() {
    let folder = office(r#"{"task":"wait for it"}"#);
    let mut child = folder.child(&["--session-dir", "../sessions"]);
    subscribe(&mut child, "events");
    child.send(json!({"id": "p", "type": "prompt", "message": "go"}));
    let starts = |frame: &Value| frame["payload"]["event"]["type"] == "tool_execution_start";
    let mut frames = child.until(starts);
    let steer = |id: &str, message: &str| json!({"id": id, "type": "steer_subagent", "subagentId": "general-1", "message": message});
    frames.extend(child.done(steer("s", "Do something ELSE")));
    folder.file("go", "");
    frames.extend(child.until_type("agent_settled"));
    frames.extend(child.done(steer("late", "m")));
    frames.extend(child.done(steer("empty", " ")));
    // What a subagent does is told beside the answers.
    let (answers, events) = answers_and_events(without_reports(frames));
    expect![[r#"
        {"id":"p","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
        {"id":"s","type":"response","command":"steer_subagent","success":true}
        {"id":"late","type":"response","command":"steer_subagent","success":false,"error":"Subagent not running: general-1"}
        {"id":"empty","type":"response","command":"steer_subagent","success":false,"error":"the message is empty"}
    "#]].assert_eq(&told(&answers, &folder));
    expect![[r#"
        {"type":"agent_start"}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"go"}],"attribution":"user","timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-1","message":"as it began"}
        {"type":"message_start","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"out-1","name":"subagent","arguments":{}}]},"assistantMessageEvent":{"type":"toolcall_start","contentIndex":0,"id":"out-1","toolName":"subagent","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"out-1","name":"subagent","arguments":{"task":"wait for it"}}]},"assistantMessageEvent":{"type":"toolcall_delta","contentIndex":0,"delta":"{\"task\":\"wait for it\"}","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"out-1","name":"subagent","arguments":{"task":"wait for it"}}]},"assistantMessageEvent":{"type":"toolcall_end","contentIndex":0,"toolCall":{"type":"toolCall","id":"out-1","name":"subagent","arguments":{"task":"wait for it"}},"partial":"=message"},"usage":"=message.usage"}
        {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"toolCall","id":"out-1","name":"subagent","arguments":{"task":"wait for it"}}],"api":"script","provider":"script","model":"mock","usage":{"input":100,"output":25,"cacheRead":0,"cacheWrite":0,"totalTokens":125,"cost":{"input":0.00030000000000000003,"output":0.000375,"cacheRead":0,"cacheWrite":0,"total":0.000675}},"stopReason":"toolUse","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"tool_execution_start","toolCallId":"out-1","toolName":"subagent","args":{"task":"wait for it"}}
        {"type":"subagent_lifecycle","payload":{"id":"general-1","agent":"general","agentSource":"bundled","description":"wait for it","status":"started","sessionFile":"ROOT/work/../sessions/TIME_ID/subagents/TIME_ID.jsonl","parentToolCallId":"out-1","index":0}}
        {"type":"subagent_event","payload":{"id":"general-1","event":{"type":"agent_start"}}}
        {"type":"subagent_event","payload":{"id":"general-1","event":{"type":"turn_start"}}}
        {"type":"subagent_event","payload":{"id":"general-1","event":{"type":"message_start","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"wait for it"}],"attribution":"user","timestamp":"TIME"}}}}
        {"type":"subagent_event","payload":{"id":"general-1","event":{"type":"message_end","messageId":"msg-1","message":"as it began"}}}
        {"type":"subagent_event","payload":{"id":"general-1","event":{"type":"message_start","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}}}
        {"type":"subagent_progress","payload":{"index":0,"agent":"general","agentSource":"bundled","task":"wait for it","parentToolCallId":"out-1","progress":{"index":0,"id":"general-1","agent":"general","agentSource":"bundled","status":"running","task":"wait for it","lastIntent":"💭 thinking...","recentTools":[],"recentOutput":[],"toolCount":0,"requests":0,"tokens":0,"cost":0,"durationMs":"MS"},"sessionFile":"ROOT/work/../sessions/TIME_ID/subagents/TIME_ID.jsonl"}}
        {"type":"subagent_event","payload":{"id":"general-1","event":{"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"in-1","name":"bash","arguments":{}}]},"assistantMessageEvent":{"type":"toolcall_start","contentIndex":0,"id":"in-1","toolName":"bash","partial":"=message"},"usage":"=message.usage"}}}
        {"type":"subagent_progress","payload":{"index":0,"agent":"general","agentSource":"bundled","task":"wait for it","parentToolCallId":"out-1","progress":{"index":0,"id":"general-1","agent":"general","agentSource":"bundled","status":"running","task":"wait for it","lastIntent":"⚙ bash (tool #1)","recentTools":[],"recentOutput":[],"toolCount":0,"requests":0,"tokens":0,"cost":0,"durationMs":"MS"},"sessionFile":"ROOT/work/../sessions/TIME_ID/subagents/TIME_ID.jsonl"}}
        {"type":"subagent_event","payload":{"id":"general-1","event":{"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"in-1","name":"bash","arguments":{"command":"until [ -e go ]; do sleep 0.01; done"}}]},"assistantMessageEvent":{"type":"toolcall_delta","contentIndex":0,"delta":"{\"command\":\"until [ -e go ]; do sleep 0.01; done\"}","partial":"=message"},"usage":"=message.usage"}}}
        {"type":"subagent_event","payload":{"id":"general-1","event":{"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"in-1","name":"bash","arguments":{"command":"until [ -e go ]; do sleep 0.01; done"}}]},"assistantMessageEvent":{"type":"toolcall_end","contentIndex":0,"toolCall":{"type":"toolCall","id":"in-1","name":"bash","arguments":{"command":"until [ -e go ]; do sleep 0.01; done"}},"partial":"=message"},"usage":"=message.usage"}}}
        {"type":"subagent_event","payload":{"id":"general-1","event":{"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"toolCall","id":"in-1","name":"bash","arguments":{"command":"until [ -e go ]; do sleep 0.01; done"}}],"api":"script","provider":"script","model":"mock","usage":{"input":100,"output":25,"cacheRead":0,"cacheWrite":0,"totalTokens":125,"cost":{"input":0.00030000000000000003,"output":0.000375,"cacheRead":0,"cacheWrite":0,"total":0.000675}},"stopReason":"toolUse","timestamp":"TIME","duration":"MS","ttft":"MS"}}}}
        {"type":"subagent_event","payload":{"id":"general-1","event":{"type":"tool_execution_start","toolCallId":"in-1","toolName":"bash","args":{"command":"until [ -e go ]; do sleep 0.01; done"}}}}
        {"type":"subagent_progress","payload":{"index":0,"agent":"general","agentSource":"bundled","task":"wait for it","parentToolCallId":"out-1","progress":{"index":0,"id":"general-1","agent":"general","agentSource":"bundled","status":"running","task":"wait for it","lastIntent":"$ until [ -e go ]; do sleep 0.01; done","currentTool":"bash","currentToolArgs":"until [ -e go ]; do sleep 0.01; done","currentToolStartMs":"TIME","recentTools":[],"recentOutput":[],"toolCount":1,"requests":1,"tokens":125,"cost":0.000675,"durationMs":"MS"},"sessionFile":"ROOT/work/../sessions/TIME_ID/subagents/TIME_ID.jsonl"}}
        {"type":"subagent_event","payload":{"id":"general-1","event":{"type":"queue_update","steering":["Do something ELSE"],"followUp":[]}}}
        {"type":"subagent_event","payload":{"id":"general-1","event":{"type":"tool_execution_end","toolCallId":"in-1","toolName":"bash","result":{"content":[{"type":"text","text":"(no output)"}]},"isError":false,"durationMs":"MS"}}}
        {"type":"subagent_event","payload":{"id":"general-1","event":{"type":"message_start","messageId":"msg-3","message":{"role":"toolResult","toolCallId":"in-1","toolName":"bash","content":[{"type":"text","text":"(no output)"}],"isError":false,"timestamp":"TIME"}}}}
        {"type":"subagent_event","payload":{"id":"general-1","event":{"type":"message_end","messageId":"msg-3","message":"as it began"}}}
        {"type":"subagent_event","payload":{"id":"general-1","event":{"type":"turn_end","message":"msg-2","toolResults":["msg-3"]}}}
        {"type":"subagent_event","payload":{"id":"general-1","event":{"type":"turn_start"}}}
        {"type":"subagent_event","payload":{"id":"general-1","event":{"type":"queue_update","steering":[],"followUp":[]}}}
        {"type":"subagent_event","payload":{"id":"general-1","event":{"type":"message_start","messageId":"msg-4","message":{"role":"user","content":[{"type":"text","text":"Do something ELSE"}],"attribution":"user","steering":true,"timestamp":"TIME"}}}}
        {"type":"subagent_event","payload":{"id":"general-1","event":{"type":"message_end","messageId":"msg-4","message":"as it began"}}}
        {"type":"subagent_event","payload":{"id":"general-1","event":{"type":"message_start","messageId":"msg-5","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}}}
        {"type":"subagent_progress","payload":{"index":0,"agent":"general","agentSource":"bundled","task":"wait for it","parentToolCallId":"out-1","progress":{"index":0,"id":"general-1","agent":"general","agentSource":"bundled","status":"running","task":"wait for it","lastIntent":"💭 thinking...","recentTools":[{"tool":"bash","args":"until [ -e go ]; do sleep 0.01; done","endMs":"TIME"}],"recentOutput":[],"toolCount":1,"requests":1,"tokens":125,"cost":0.000675,"durationMs":"MS"},"sessionFile":"ROOT/work/../sessions/TIME_ID/subagents/TIME_ID.jsonl"}}
        {"type":"subagent_event","payload":{"id":"general-1","event":{"type":"message_update","messageId":"msg-5","message":{"…":"as it began","content":[{"type":"text","text":""}]},"assistantMessageEvent":{"type":"text_start","contentIndex":0,"partial":"=message"},"usage":"=message.usage"}}}
        {"type":"subagent_event","payload":{"id":"general-1","event":{"type":"message_update","messageId":"msg-5","message":{"…":"as it began","content":[{"type":"text","text":"Something else, then."}]},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"Something else, then.","partial":"=message"},"usage":"=message.usage"}}}
        {"type":"subagent_event","payload":{"id":"general-1","event":{"type":"message_update","messageId":"msg-5","message":{"…":"as it began","content":[{"type":"text","text":"Something else, then."}]},"assistantMessageEvent":{"type":"text_end","contentIndex":0,"content":"Something else, then.","partial":"=message"},"usage":"=message.usage"}}}
        {"type":"subagent_event","payload":{"id":"general-1","event":{"type":"message_end","messageId":"msg-5","message":{"role":"assistant","content":[{"type":"text","text":"Something else, then."}],"api":"script","provider":"script","model":"mock","usage":{"input":100,"output":25,"cacheRead":0,"cacheWrite":0,"totalTokens":125,"cost":{"input":0.00030000000000000003,"output":0.000375,"cacheRead":0,"cacheWrite":0,"total":0.000675}},"stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}}}
        {"type":"subagent_event","payload":{"id":"general-1","event":{"type":"turn_end","message":"msg-5","toolResults":[]}}}
        {"type":"subagent_event","payload":{"id":"general-1","event":{"type":"agent_end","messages":["msg-1","msg-2","msg-3","msg-4","msg-5"],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":5}}}
        {"type":"subagent_lifecycle","payload":{"id":"general-1","agent":"general","agentSource":"bundled","description":"wait for it","status":"completed","sessionFile":"ROOT/work/../sessions/TIME_ID/subagents/TIME_ID.jsonl","parentToolCallId":"out-1","index":0}}
        {"type":"tool_execution_end","toolCallId":"out-1","toolName":"subagent","result":{"content":[{"type":"text","text":"Something else, then."}],"details":{"subagents":[{"id":1,"agent":"general","task":"wait for it","failed":false,"durationMs":"MS","usage":{"input":200,"output":50,"cacheRead":0,"cacheWrite":0,"totalTokens":250,"cost":{"input":0.0006000000000000001,"output":0.00075,"cacheRead":0,"cacheWrite":0,"total":0.00135}}}]}},"isError":false,"durationMs":"MS"}
        {"type":"message_start","messageId":"msg-3","message":{"role":"toolResult","toolCallId":"out-1","toolName":"subagent","content":[{"type":"text","text":"Something else, then."}],"details":{"subagents":[{"id":1,"agent":"general","task":"wait for it","failed":false,"durationMs":"MS","usage":{"input":200,"output":50,"cacheRead":0,"cacheWrite":0,"totalTokens":250,"cost":{"input":0.0006000000000000001,"output":0.00075,"cacheRead":0,"cacheWrite":0,"total":0.00135}}}]},"isError":false,"timestamp":"TIME"}}
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
        {"type":"prompt_result","id":"p","agentInvoked":true,"status":"completed","sessionSettled":true}
        {"type":"session_settled"}
        {"type":"agent_settled","aborted":false}
    "#]].assert_eq(&told(&events, &folder));
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
    assert_eq!(shorter["data"]["nextByte"], end);
    let unknown = child.ask(json!({"type": "get_subagent_messages", "subagentId": "nobody"}));
    let foreign = child.ask(json!({"type": "get_subagent_messages", "sessionFile": "/etc/passwd"}));
    child.data(json!({"type": "new_session"}));
    let gone = child.ask(json!({"type": "get_subagent_messages", "subagentId": id}));
    let answers = [now, since, nothing, shorter, unknown, foreign, gone];
    expect![[r#"
        {"id":"asked","type":"response","command":"get_subagent_messages","success":true,"data":{"sessionFile":"ROOT/work/../sessions/TIME_ID/subagents/TIME_ID.jsonl","fromByte":0,"nextByte":"BYTE","reset":false,"entries":[{"type":"session","version":3,"id":"ID1","timestamp":"TIME","cwd":"ROOT/work","parentSession":"ROOT/work/../sessions/TIME_ID.jsonl"},{"type":"model_change","id":"ID2","parentId":null,"timestamp":"TIME","provider":"script","modelId":"mock","model":"script/mock"},{"type":"thinking_level_change","id":"ID3","parentId":"ID2","timestamp":"TIME","thinkingLevel":"medium"},{"type":"message","id":"ID4","parentId":"ID3","timestamp":"TIME","message":{"role":"user","content":[{"type":"text","text":"never end"}],"attribution":"user","timestamp":"TIME"}}],"messages":[{"role":"user","content":[{"type":"text","text":"never end"}],"attribution":"user","timestamp":"TIME"}]}}
        {"id":"asked","type":"response","command":"get_subagent_messages","success":true,"data":{"sessionFile":"ROOT/work/../sessions/TIME_ID/subagents/TIME_ID.jsonl","fromByte":"BYTE","nextByte":"BYTE","reset":false,"entries":[{"type":"message","id":"ID5","parentId":"ID4","timestamp":"TIME","message":{"role":"assistant","content":[{"type":"text","text":"Well"}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"aborted","errorMessage":"Request was aborted","timestamp":"TIME","duration":"MS","ttft":"MS"}}],"messages":[{"role":"assistant","content":[{"type":"text","text":"Well"}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"aborted","errorMessage":"Request was aborted","timestamp":"TIME","duration":"MS","ttft":"MS"}]}}
        {"id":"asked","type":"response","command":"get_subagent_messages","success":true,"data":{"sessionFile":"ROOT/work/../sessions/TIME_ID/subagents/TIME_ID.jsonl","fromByte":"BYTE","nextByte":"BYTE","reset":false,"entries":[],"messages":[]}}
        {"id":"asked","type":"response","command":"get_subagent_messages","success":true,"data":{"sessionFile":"ROOT/work/../sessions/TIME_ID/subagents/TIME_ID.jsonl","fromByte":0,"nextByte":"BYTE","reset":true,"entries":[{"type":"session","version":3,"id":"ID1","timestamp":"TIME","cwd":"ROOT/work","parentSession":"ROOT/work/../sessions/TIME_ID.jsonl"},{"type":"model_change","id":"ID2","parentId":null,"timestamp":"TIME","provider":"script","modelId":"mock","model":"script/mock"},{"type":"thinking_level_change","id":"ID3","parentId":"ID2","timestamp":"TIME","thinkingLevel":"medium"},{"type":"message","id":"ID4","parentId":"ID3","timestamp":"TIME","message":{"role":"user","content":[{"type":"text","text":"never end"}],"attribution":"user","timestamp":"TIME"}},{"type":"message","id":"ID5","parentId":"ID4","timestamp":"TIME","message":{"role":"assistant","content":[{"type":"text","text":"Well"}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"aborted","errorMessage":"Request was aborted","timestamp":"TIME","duration":"MS","ttft":"MS"}}],"messages":[{"role":"user","content":[{"type":"text","text":"never end"}],"attribution":"user","timestamp":"TIME"},{"role":"assistant","content":[{"type":"text","text":"Well"}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"aborted","errorMessage":"Request was aborted","timestamp":"TIME","duration":"MS","ttft":"MS"}]}}
        {"id":"asked","type":"response","command":"get_subagent_messages","success":false,"error":"Unknown subagent or session file unavailable: nobody"}
        {"id":"asked","type":"response","command":"get_subagent_messages","success":false,"error":"Unknown subagent session file"}
        {"id":"asked","type":"response","command":"get_subagent_messages","success":false,"error":"Unknown subagent or session file unavailable: general-1"}
    "#]].assert_eq(&told(&answers, &folder));
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
    frames.extend(child.done(json!({"id": "g", "type": "get_subagents"})));
    let (answers, events) = answers_and_events(without_reports(frames));
    let [parent, failing, lazy] = apart(events);
    expect![[r#"
        {"id":"p","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
        {"id":"a","type":"response","command":"abort","success":true}
        {"id":"g","type":"response","command":"get_subagents","success":true,"data":{"subagents":[]}}
    "#]].assert_eq(&told(&answers, &folder));
    expect![[r###"
        {"type":"agent_start"}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"go"}],"attribution":"user","timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-1","message":"as it began"}
        {"type":"message_start","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"out-1","name":"subagent","arguments":{}}]},"assistantMessageEvent":{"type":"toolcall_start","contentIndex":0,"id":"out-1","toolName":"subagent","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"out-1","name":"subagent","arguments":{"tasks":[{"task":"fail"},{"task":"never end"}]}}]},"assistantMessageEvent":{"type":"toolcall_delta","contentIndex":0,"delta":"{\"tasks\":[{\"task\":\"fail\"},{\"task\":\"never end\"}]}","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"out-1","name":"subagent","arguments":{"tasks":[{"task":"fail"},{"task":"never end"}]}}]},"assistantMessageEvent":{"type":"toolcall_end","contentIndex":0,"toolCall":{"type":"toolCall","id":"out-1","name":"subagent","arguments":{"tasks":[{"task":"fail"},{"task":"never end"}]}},"partial":"=message"},"usage":"=message.usage"}
        {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"toolCall","id":"out-1","name":"subagent","arguments":{"tasks":[{"task":"fail"},{"task":"never end"}]}}],"api":"script","provider":"script","model":"mock","usage":{"input":100,"output":25,"cacheRead":0,"cacheWrite":0,"totalTokens":125,"cost":{"input":0.00030000000000000003,"output":0.000375,"cacheRead":0,"cacheWrite":0,"total":0.000675}},"stopReason":"toolUse","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"tool_execution_start","toolCallId":"out-1","toolName":"subagent","args":{"tasks":[{"task":"fail"},{"task":"never end"}]}}
        {"type":"tool_execution_end","toolCallId":"out-1","toolName":"subagent","result":{"content":[{"type":"text","text":"## 1. general: fail\n\nThe subagent `general` failed: no such thing\n\n## 2. general: never end\n\nThe subagent `general` failed: cancelled"}],"details":{"subagents":[{"id":1,"agent":"general","task":"fail","failed":true,"durationMs":"MS","usage":"nothing"},{"id":2,"agent":"general","task":"never end","failed":true,"durationMs":"MS","usage":"nothing"}]}},"isError":true,"durationMs":"MS"}
        {"type":"message_start","messageId":"msg-3","message":{"role":"toolResult","toolCallId":"out-1","toolName":"subagent","content":[{"type":"text","text":"## 1. general: fail\n\nThe subagent `general` failed: no such thing\n\n## 2. general: never end\n\nThe subagent `general` failed: cancelled"}],"details":{"subagents":[{"id":1,"agent":"general","task":"fail","failed":true,"durationMs":"MS","usage":"nothing"},{"id":2,"agent":"general","task":"never end","failed":true,"durationMs":"MS","usage":"nothing"}]},"isError":true,"timestamp":"TIME"}}
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
    "###]].assert_eq(&told(&parent, &folder));
    expect![[r#"
        {"type":"subagent_lifecycle","payload":{"id":"general-1","agent":"general","agentSource":"bundled","description":"fail","status":"started","parentToolCallId":"out-1","index":0}}
        {"type":"subagent_progress","payload":{"index":0,"agent":"general","agentSource":"bundled","task":"fail","parentToolCallId":"out-1","progress":{"index":0,"id":"general-1","agent":"general","agentSource":"bundled","status":"running","task":"fail","lastIntent":"💭 thinking...","recentTools":[],"recentOutput":[],"toolCount":0,"requests":0,"tokens":0,"cost":0,"durationMs":"MS"}}}
        {"type":"subagent_lifecycle","payload":{"id":"general-1","agent":"general","agentSource":"bundled","description":"fail","status":"failed","parentToolCallId":"out-1","index":0}}
    "#]].assert_eq(&told(&failing, &folder));
    expect![[r#"
        {"type":"subagent_lifecycle","payload":{"id":"general-2","agent":"general","agentSource":"bundled","description":"never end","status":"started","parentToolCallId":"out-1","index":1}}
        {"type":"subagent_progress","payload":{"index":1,"agent":"general","agentSource":"bundled","task":"never end","parentToolCallId":"out-1","progress":{"index":1,"id":"general-2","agent":"general","agentSource":"bundled","status":"running","task":"never end","lastIntent":"💭 thinking...","recentTools":[],"recentOutput":[],"toolCount":0,"requests":0,"tokens":0,"cost":0,"durationMs":"MS"}}}
        {"type":"subagent_lifecycle","payload":{"id":"general-2","agent":"general","agentSource":"bundled","description":"never end","status":"aborted","parentToolCallId":"out-1","index":1}}
    "#]].assert_eq(&told(&lazy, &folder));
}
