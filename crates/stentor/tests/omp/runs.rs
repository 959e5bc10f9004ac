//! Runs, frame by frame (sections 8 to 12).

use expect_test::{Expect, expect};
use serde_json::json;

use crate::child::{Folder, shown};

const PRICES: &str = r#"
usage = { input = 100, output = 25 }
[model]
id = "mock"
prices = { input = 3, output = 15 }
"#;

fn run(turns: &str, expected: Expect) {
    let folder = Folder::with(&format!("{PRICES}{turns}"));
    folder.file("notes.txt", "alpha\n");
    let mut child = folder.child(&["--no-session"]);
    let frames = child.prompt("hi");
    expected.assert_eq(&shown(&frames, &folder));
}

#[test]
fn a_run_of_thinking_and_text() {
    run(
        r#"
        [[turn]]
        response_id = "resp-1"
        steps = [{ thinking = "Hm.", signature = "c2ln" }, { text = "Hello." }]
        "#,
        expect![[r#"
            {"id":"prompt","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
            {"type":"agent_start"}
            {"type":"turn_start"}
            {"type":"message_start","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"hi"}],"timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"hi"}],"timestamp":"TIME"}}
            {"type":"message_start","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME"}}
            {"type":"message_update","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"thinking","thinking":""}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME"},"assistantMessageEvent":{"type":"thinking_start","contentIndex":0,"partial":{"role":"assistant","content":[{"type":"thinking","thinking":""}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME"}},"usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}}}
            {"type":"message_update","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"thinking","thinking":"Hm."}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME"},"assistantMessageEvent":{"type":"thinking_delta","contentIndex":0,"delta":"Hm.","partial":{"role":"assistant","content":[{"type":"thinking","thinking":"Hm."}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME"}},"usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}}}
            {"type":"message_update","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"thinking","thinking":"Hm."}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME"},"assistantMessageEvent":{"type":"thinking_end","contentIndex":0,"content":"Hm.","partial":{"role":"assistant","content":[{"type":"thinking","thinking":"Hm."}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME"}},"usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}}}
            {"type":"message_update","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"thinking","thinking":"Hm."},{"type":"text","text":""}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME"},"assistantMessageEvent":{"type":"text_start","contentIndex":1,"partial":{"role":"assistant","content":[{"type":"thinking","thinking":"Hm."},{"type":"text","text":""}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME"}},"usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}}}
            {"type":"message_update","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"thinking","thinking":"Hm."},{"type":"text","text":"Hello."}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME"},"assistantMessageEvent":{"type":"text_delta","contentIndex":1,"delta":"Hello.","partial":{"role":"assistant","content":[{"type":"thinking","thinking":"Hm."},{"type":"text","text":"Hello."}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME"}},"usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}}}
            {"type":"message_update","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"thinking","thinking":"Hm."},{"type":"text","text":"Hello."}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME"},"assistantMessageEvent":{"type":"text_end","contentIndex":1,"content":"Hello.","partial":{"role":"assistant","content":[{"type":"thinking","thinking":"Hm."},{"type":"text","text":"Hello."}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME"}},"usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}}}
            {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"thinking","thinking":"Hm.","thinkingSignature":"c2ln"},{"type":"text","text":"Hello."}],"api":"script","provider":"script","model":"mock","usage":{"input":100,"output":25,"cacheRead":0,"cacheWrite":0,"totalTokens":125,"cost":{"input":0.00030000000000000003,"output":0.000375,"cacheRead":0,"cacheWrite":0,"total":0.000675}},"stopReason":"stop","timestamp":"TIME","responseId":"resp-1","duration":"MS","ttft":"MS"}}
            {"type":"turn_end","message":{"role":"assistant","content":[{"type":"thinking","thinking":"Hm.","thinkingSignature":"c2ln"},{"type":"text","text":"Hello."}],"api":"script","provider":"script","model":"mock","usage":{"input":100,"output":25,"cacheRead":0,"cacheWrite":0,"totalTokens":125,"cost":{"input":0.00030000000000000003,"output":0.000375,"cacheRead":0,"cacheWrite":0,"total":0.000675}},"stopReason":"stop","timestamp":"TIME","responseId":"resp-1","duration":"MS","ttft":"MS"},"toolResults":[]}
            {"type":"agent_end","messages":[{"role":"user","content":[{"type":"text","text":"hi"}],"timestamp":"TIME"},{"role":"assistant","content":[{"type":"thinking","thinking":"Hm.","thinkingSignature":"c2ln"},{"type":"text","text":"Hello."}],"api":"script","provider":"script","model":"mock","usage":{"input":100,"output":25,"cacheRead":0,"cacheWrite":0,"totalTokens":125,"cost":{"input":0.00030000000000000003,"output":0.000375,"cacheRead":0,"cacheWrite":0,"total":0.000675}},"stopReason":"stop","timestamp":"TIME","responseId":"resp-1","duration":"MS","ttft":"MS"}],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":2}
            {"type":"prompt_result","id":"prompt","agentInvoked":true,"status":"completed","sessionSettled":true}
            {"type":"session_settled"}
            {"type":"agent_settled","aborted":false}
        "#]],
    );
}

#[test]
fn a_run_with_a_tool() {
    run(
        r#"
        [[turn]]
        tool = "read"
        arguments = { path = "notes.txt" }
        [[turn]]
        text = "Done."
        "#,
        expect![[r#"
            {"id":"prompt","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
            {"type":"agent_start"}
            {"type":"turn_start"}
            {"type":"message_start","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"hi"}],"timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"hi"}],"timestamp":"TIME"}}
            {"type":"message_start","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME"}}
            {"type":"message_update","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"toolCall","id":"call_1_1","name":"read","arguments":{}}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME"},"assistantMessageEvent":{"type":"toolcall_start","contentIndex":0,"partial":{"role":"assistant","content":[{"type":"toolCall","id":"call_1_1","name":"read","arguments":{}}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME"}},"usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}}}
            {"type":"message_update","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"toolCall","id":"call_1_1","name":"read","arguments":{"path":"notes.txt"}}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME"},"assistantMessageEvent":{"type":"toolcall_delta","contentIndex":0,"delta":"{\"path\":\"notes.txt\"}","partial":{"role":"assistant","content":[{"type":"toolCall","id":"call_1_1","name":"read","arguments":{"path":"notes.txt"}}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME"}},"usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}}}
            {"type":"message_update","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"toolCall","id":"call_1_1","name":"read","arguments":{"path":"notes.txt"}}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME"},"assistantMessageEvent":{"type":"toolcall_end","contentIndex":0,"toolCall":{"type":"toolCall","id":"call_1_1","name":"read","arguments":{"path":"notes.txt"}},"partial":{"role":"assistant","content":[{"type":"toolCall","id":"call_1_1","name":"read","arguments":{"path":"notes.txt"}}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME"}},"usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}}}
            {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"toolCall","id":"call_1_1","name":"read","arguments":{"path":"notes.txt"}}],"api":"script","provider":"script","model":"mock","usage":{"input":100,"output":25,"cacheRead":0,"cacheWrite":0,"totalTokens":125,"cost":{"input":0.00030000000000000003,"output":0.000375,"cacheRead":0,"cacheWrite":0,"total":0.000675}},"stopReason":"toolUse","timestamp":"TIME","duration":"MS","ttft":"MS"}}
            {"type":"tool_execution_start","toolCallId":"call_1_1","toolName":"read","args":{"path":"notes.txt"}}
            {"type":"tool_execution_end","toolCallId":"call_1_1","toolName":"read","result":{"content":[{"type":"text","text":"alpha\n"}]},"isError":false,"durationMs":"MS"}
            {"type":"message_start","messageId":"msg-3","message":{"role":"toolResult","toolCallId":"call_1_1","toolName":"read","content":[{"type":"text","text":"alpha\n"}],"isError":false,"timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-3","message":{"role":"toolResult","toolCallId":"call_1_1","toolName":"read","content":[{"type":"text","text":"alpha\n"}],"isError":false,"timestamp":"TIME"}}
            {"type":"turn_end","message":{"role":"assistant","content":[{"type":"toolCall","id":"call_1_1","name":"read","arguments":{"path":"notes.txt"}}],"api":"script","provider":"script","model":"mock","usage":{"input":100,"output":25,"cacheRead":0,"cacheWrite":0,"totalTokens":125,"cost":{"input":0.00030000000000000003,"output":0.000375,"cacheRead":0,"cacheWrite":0,"total":0.000675}},"stopReason":"toolUse","timestamp":"TIME","duration":"MS","ttft":"MS"},"toolResults":[{"role":"toolResult","toolCallId":"call_1_1","toolName":"read","content":[{"type":"text","text":"alpha\n"}],"isError":false,"timestamp":"TIME"}]}
            {"type":"turn_start"}
            {"type":"message_start","messageId":"msg-4","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME"}}
            {"type":"message_update","messageId":"msg-4","message":{"role":"assistant","content":[{"type":"text","text":""}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME"},"assistantMessageEvent":{"type":"text_start","contentIndex":0,"partial":{"role":"assistant","content":[{"type":"text","text":""}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME"}},"usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}}}
            {"type":"message_update","messageId":"msg-4","message":{"role":"assistant","content":[{"type":"text","text":"Done."}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME"},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"Done.","partial":{"role":"assistant","content":[{"type":"text","text":"Done."}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME"}},"usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}}}
            {"type":"message_update","messageId":"msg-4","message":{"role":"assistant","content":[{"type":"text","text":"Done."}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME"},"assistantMessageEvent":{"type":"text_end","contentIndex":0,"content":"Done.","partial":{"role":"assistant","content":[{"type":"text","text":"Done."}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME"}},"usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}}}
            {"type":"message_end","messageId":"msg-4","message":{"role":"assistant","content":[{"type":"text","text":"Done."}],"api":"script","provider":"script","model":"mock","usage":{"input":100,"output":25,"cacheRead":0,"cacheWrite":0,"totalTokens":125,"cost":{"input":0.00030000000000000003,"output":0.000375,"cacheRead":0,"cacheWrite":0,"total":0.000675}},"stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
            {"type":"turn_end","message":{"role":"assistant","content":[{"type":"text","text":"Done."}],"api":"script","provider":"script","model":"mock","usage":{"input":100,"output":25,"cacheRead":0,"cacheWrite":0,"totalTokens":125,"cost":{"input":0.00030000000000000003,"output":0.000375,"cacheRead":0,"cacheWrite":0,"total":0.000675}},"stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"},"toolResults":[]}
            {"type":"agent_end","messages":[{"role":"user","content":[{"type":"text","text":"hi"}],"timestamp":"TIME"},{"role":"assistant","content":[{"type":"toolCall","id":"call_1_1","name":"read","arguments":{"path":"notes.txt"}}],"api":"script","provider":"script","model":"mock","usage":{"input":100,"output":25,"cacheRead":0,"cacheWrite":0,"totalTokens":125,"cost":{"input":0.00030000000000000003,"output":0.000375,"cacheRead":0,"cacheWrite":0,"total":0.000675}},"stopReason":"toolUse","timestamp":"TIME","duration":"MS","ttft":"MS"},{"role":"toolResult","toolCallId":"call_1_1","toolName":"read","content":[{"type":"text","text":"alpha\n"}],"isError":false,"timestamp":"TIME"},{"role":"assistant","content":[{"type":"text","text":"Done."}],"api":"script","provider":"script","model":"mock","usage":{"input":100,"output":25,"cacheRead":0,"cacheWrite":0,"totalTokens":125,"cost":{"input":0.00030000000000000003,"output":0.000375,"cacheRead":0,"cacheWrite":0,"total":0.000675}},"stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":4}
            {"type":"prompt_result","id":"prompt","agentInvoked":true,"status":"completed","sessionSettled":true}
            {"type":"session_settled"}
            {"type":"agent_settled","aborted":false}
        "#]],
    );
}

#[test]
fn a_run_that_fails() {
    run(
        r#"
        [[turn]]
        error = { kind = "auth", message = "no key", status = 401 }
        "#,
        expect![[r#"
            {"id":"prompt","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
            {"type":"agent_start"}
            {"type":"turn_start"}
            {"type":"message_start","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"hi"}],"timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"hi"}],"timestamp":"TIME"}}
            {"type":"message_start","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"error","errorMessage":"no key","timestamp":"TIME","duration":"MS"}}
            {"type":"turn_end","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"error","errorMessage":"no key","timestamp":"TIME","duration":"MS"},"toolResults":[]}
            {"type":"agent_end","messages":[{"role":"user","content":[{"type":"text","text":"hi"}],"timestamp":"TIME"},{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"error","errorMessage":"no key","timestamp":"TIME","duration":"MS"}],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":2}
            {"type":"prompt_result","id":"prompt","agentInvoked":true,"status":"error","error":{"message":"no key","provider":"script","model":"mock","httpStatus":401,"retryable":false},"sessionSettled":true}
            {"type":"session_settled"}
            {"type":"agent_settled","aborted":false}
        "#]],
    );
}

#[test]
fn a_failure_after_all_retries_ends_with_one_result() {
    let folder = Folder::with(
        r#"
        on_exhausted = "error"
        [model]
        id = "mock"
        [[turn]]
        steps = [{ error = { kind = "overloaded", message = "busy" } }]
        "#,
    );
    let mut child = folder.child(&["--no-session"]);
    child.send(json!({"type": "prompt", "message": "hi"}));
    let mut frames = child.until_type("auto_retry_start");
    child.send(json!({"id": "r", "type": "abort_retry"}));
    frames.extend(child.until_type("agent_settled"));
    let beside: Vec<_> = frames
        .into_iter()
        .filter(|frame| {
            let kind = frame["type"].as_str().unwrap();
            kind.starts_with("auto_retry") || kind.ends_with("settled") || kind == "prompt_result"
        })
        .collect();
    expect![[r#"
        {"type":"auto_retry_start","attempt":1,"maxAttempts":3,"delayMs":2000,"errorMessage":"busy"}
        {"type":"auto_retry_end","success":false,"attempt":1,"finalError":"Retry cancelled"}
        {"type":"prompt_result","agentInvoked":true,"status":"error","error":{"message":"busy","provider":"script","model":"mock","httpStatus":529,"retryable":true},"sessionSettled":true}
        {"type":"session_settled"}
        {"type":"agent_settled","aborted":false}
    "#]].assert_eq(&shown(&beside, &folder));
}

#[test]
fn what_waits_is_told_before_the_answer_and_stays_after_an_abort() {
    let folder = Folder::with(
        r#"
        [model]
        id = "mock"
        [[turn]]
        when = { last_user_contains = "first" }
        steps = [{ text = "Well" }, { hang = true }]
        [[turn]]
        when = { last_user_matches = "second" }
        text = "Both."
        "#,
    );
    let mut child = folder.child(&["--no-session"]);
    child.send(json!({"id": "1", "type": "prompt", "message": "first"}));
    child.until(|frame| frame["assistantMessageEvent"]["type"] == "text_delta");
    child
        .send(json!({"id": "2", "type": "steer", "message": "steered"}))
        .send(json!({"id": "3", "type": "prompt", "message": "queued", "streamingBehavior": "followUp"}))
        .send(json!({"id": "4", "type": "abort"}));
    let mut frames = child.until(|frame| frame["id"] == "4");
    let state = child.data(json!({"type": "get_state"}));
    assert_eq!(
        state["queuedMessages"],
        json!({"steering": ["steered"], "followUp": ["queued"]})
    );
    assert_eq!(
        (&state["queuedMessageCount"], &state["pendingMessageCount"]),
        (&json!(2), &json!(2))
    );
    child.send(json!({"id": "5", "type": "prompt", "message": "second"}));
    frames.extend(child.until_type("agent_settled"));
    let told: Vec<_> = frames
        .into_iter()
        .filter(|frame| {
            let kind = frame["type"].as_str().unwrap();
            matches!(
                kind,
                "response" | "queue_update" | "prompt_result" | "agent_end" | "agent_settled"
            ) || (kind == "message_end" && frame["message"]["role"] == "user")
        })
        .map(|mut frame| {
            frame.as_object_mut().unwrap().shift_remove("messages");
            frame
        })
        .collect();
    expect![[r#"
        {"type":"queue_update","steering":["steered"],"followUp":[]}
        {"id":"2","type":"response","command":"steer","success":true,"data":{"disposition":"queued"}}
        {"type":"queue_update","steering":["steered"],"followUp":["queued"]}
        {"id":"3","type":"response","command":"prompt","success":true,"data":{"disposition":"queued"}}
        {"type":"agent_end","willRetry":false,"isTerminal":true,"yielded":true,"messageCount":2}
        {"type":"prompt_result","id":"1","agentInvoked":true,"status":"aborted","sessionSettled":true}
        {"type":"agent_settled","aborted":true}
        {"id":"4","type":"response","command":"abort","success":true}
        {"id":"5","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
        {"type":"queue_update","steering":[],"followUp":["queued"]}
        {"type":"message_end","messageId":"msg-3","message":{"role":"user","content":[{"type":"text","text":"second"}],"timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-4","message":{"role":"user","content":[{"type":"text","text":"steered"}],"timestamp":"TIME"}}
        {"type":"queue_update","steering":[],"followUp":[]}
        {"type":"message_end","messageId":"msg-6","message":{"role":"user","content":[{"type":"text","text":"queued"}],"timestamp":"TIME"}}
        {"type":"agent_end","willRetry":false,"isTerminal":true,"yielded":true,"messageCount":5}
        {"type":"prompt_result","id":"3","agentInvoked":true,"status":"completed","sessionSettled":true}
        {"type":"prompt_result","id":"5","agentInvoked":true,"status":"completed","sessionSettled":true}
        {"type":"agent_settled","aborted":false}
    "#]].assert_eq(&shown(&told, &folder));
}

#[test]
fn a_compaction_by_itself_is_told_in_the_words_of_both_families() {
    let folder = Folder::with(
        r#"
        [model]
        id = "mock"
        [[turn]]
        text = "Long."
        times = 2
        usage = { input = 10, output = 1 }
        [[turn]]
        text = "Short."
        usage = { input = 190000, output = 25 }
        [compaction]
        summary = "Things were said."
        "#,
    );
    let mut child = folder.child(&["--no-session"]);
    child.prompt(&"many words ".repeat(9_000));
    child.prompt(&"more words ".repeat(9_000));
    let frames = child.prompt("few words");
    let told: Vec<_> = frames
        .into_iter()
        .filter(|frame| frame["type"].as_str().unwrap().contains("compaction"))
        .collect();
    expect![[r#"
        {"type":"auto_compaction_start","reason":"threshold","action":"context-full"}
        {"type":"compaction_start","reason":"threshold"}
        {"type":"auto_compaction_end","action":"context-full","result":{"summary":"Things were said.","shortSummary":"Things were said.","firstKeptEntryId":"ID","tokensBefore":190025,"estimatedTokensAfter":24762,"details":{"readFiles":[],"modifiedFiles":[]}},"aborted":false,"willRetry":false}
        {"type":"compaction_end","reason":"threshold","result":{"summary":"Things were said.","shortSummary":"Things were said.","firstKeptEntryId":"ID","tokensBefore":190025,"estimatedTokensAfter":24762,"details":{"readFiles":[],"modifiedFiles":[]}},"aborted":false,"willRetry":false}
    "#]].assert_eq(&shown(&told, &folder));
}
