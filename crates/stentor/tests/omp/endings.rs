//! How runs end that do not go well: retries, overflows, failures (sections 12 and 13), whole
//! frames.

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use crate::child::{Child, Folder, shown};

/// A folder in which a retry waits hardly, or for ever.
fn folder(delay_ms: u64, turns: &str) -> Folder {
    let folder = Folder::with(&format!("[model]\nid = \"mock\"\n{turns}"));
    std::fs::create_dir_all(folder.home(".config/stentor")).unwrap();
    std::fs::write(
        folder.home(".config/stentor/config.toml"),
        format!("[retry]\nbase_delay_ms = {delay_ms}\n"),
    )
    .unwrap();
    folder
}

/// All but the messages while they are written, and what says the same again.
fn brief(frames: Vec<Value>, folder: &Folder) -> String {
    let told: Vec<Value> = frames
        .into_iter()
        .filter(|frame| {
            !matches!(
                frame["type"].as_str().unwrap(),
                "message_start" | "message_update" | "turn_end"
            )
        })
        .collect();
    shown(&told, folder)
}

fn check(turns: &str, expected: Expect) {
    let folder = folder(1, turns);
    let mut child = folder.child(&["--no-session"]);
    expected.assert_eq(&brief(child.prompt("hi"), &folder));
}

#[test]
fn a_model_that_recovers_is_asked_again_in_a_run_of_its_own() {
    check(
        r#"
        [[turn]]
        error = { kind = "overloaded", message = "Overloaded" }
        [[turn]]
        text = "Here I am."
        "#,
        expect![[r#"
            {"id":"prompt","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
            {"type":"agent_start"}
            {"type":"turn_start"}
            {"type":"message_end","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"hi"}],"timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"error","errorMessage":"Overloaded","timestamp":"TIME","duration":"MS"}}
            {"type":"agent_end","messages":[{"role":"user","content":[{"type":"text","text":"hi"}],"timestamp":"TIME"},{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"error","errorMessage":"Overloaded","timestamp":"TIME","duration":"MS"}],"willRetry":true,"isTerminal":false,"yielded":false,"messageCount":2}
            {"type":"auto_retry_start","attempt":1,"maxAttempts":3,"delayMs":1,"errorMessage":"Overloaded"}
            {"type":"entry_appended","entry":{"type":"context_edit","id":"ID","parentId":"ID","timestamp":"TIME","targetId":"ID","replacement":null}}
            {"type":"agent_start"}
            {"type":"turn_start"}
            {"type":"message_end","messageId":"msg-3","message":{"role":"assistant","content":[{"type":"text","text":"Here I am."}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
            {"type":"auto_retry_end","success":true,"attempt":1}
            {"type":"agent_end","messages":[{"role":"assistant","content":[{"type":"text","text":"Here I am."}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":1}
            {"type":"prompt_result","id":"prompt","agentInvoked":true,"status":"completed","sessionSettled":true}
            {"type":"session_settled"}
            {"type":"agent_settled","aborted":false}
        "#]],
    );
}

#[test]
fn a_model_that_does_not_recover_is_given_up_after_three_times() {
    check(
        r#"
        [[turn]]
        times = 4
        error = { kind = "rate_limited", message = "slow down" }
        "#,
        expect![[r#"
            {"id":"prompt","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
            {"type":"agent_start"}
            {"type":"turn_start"}
            {"type":"message_end","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"hi"}],"timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"error","errorMessage":"slow down","timestamp":"TIME","duration":"MS"}}
            {"type":"agent_end","messages":[{"role":"user","content":[{"type":"text","text":"hi"}],"timestamp":"TIME"},{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"error","errorMessage":"slow down","timestamp":"TIME","duration":"MS"}],"willRetry":true,"isTerminal":false,"yielded":false,"messageCount":2}
            {"type":"auto_retry_start","attempt":1,"maxAttempts":3,"delayMs":1,"errorMessage":"slow down"}
            {"type":"entry_appended","entry":{"type":"context_edit","id":"ID","parentId":"ID","timestamp":"TIME","targetId":"ID","replacement":null}}
            {"type":"agent_start"}
            {"type":"turn_start"}
            {"type":"message_end","messageId":"msg-3","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"error","errorMessage":"slow down","timestamp":"TIME","duration":"MS"}}
            {"type":"agent_end","messages":[{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"error","errorMessage":"slow down","timestamp":"TIME","duration":"MS"}],"willRetry":true,"isTerminal":false,"yielded":false,"messageCount":1}
            {"type":"auto_retry_start","attempt":2,"maxAttempts":3,"delayMs":2,"errorMessage":"slow down"}
            {"type":"entry_appended","entry":{"type":"context_edit","id":"ID","parentId":"ID","timestamp":"TIME","targetId":"ID","replacement":null}}
            {"type":"agent_start"}
            {"type":"turn_start"}
            {"type":"message_end","messageId":"msg-4","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"error","errorMessage":"slow down","timestamp":"TIME","duration":"MS"}}
            {"type":"agent_end","messages":[{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"error","errorMessage":"slow down","timestamp":"TIME","duration":"MS"}],"willRetry":true,"isTerminal":false,"yielded":false,"messageCount":1}
            {"type":"auto_retry_start","attempt":3,"maxAttempts":3,"delayMs":4,"errorMessage":"slow down"}
            {"type":"entry_appended","entry":{"type":"context_edit","id":"ID","parentId":"ID","timestamp":"TIME","targetId":"ID","replacement":null}}
            {"type":"agent_start"}
            {"type":"turn_start"}
            {"type":"message_end","messageId":"msg-5","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"error","errorMessage":"slow down","timestamp":"TIME","duration":"MS"}}
            {"type":"agent_end","messages":[{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"error","errorMessage":"slow down","timestamp":"TIME","duration":"MS"}],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":1}
            {"type":"auto_retry_end","success":false,"attempt":3,"finalError":"slow down"}
            {"type":"prompt_result","id":"prompt","agentInvoked":true,"status":"error","error":{"message":"slow down","provider":"script","model":"mock","httpStatus":429,"retryable":true},"sessionSettled":true}
            {"type":"session_settled"}
            {"type":"agent_settled","aborted":false}
        "#]],
    );
}

#[test]
fn a_request_the_provider_refuses_is_not_repeated() {
    check(
        r#"
        [[turn]]
        error = { kind = "invalid_request", message = "no such thing" }
        "#,
        expect![[r#"
            {"id":"prompt","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
            {"type":"agent_start"}
            {"type":"turn_start"}
            {"type":"message_end","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"hi"}],"timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"error","errorMessage":"no such thing","timestamp":"TIME","duration":"MS"}}
            {"type":"agent_end","messages":[{"role":"user","content":[{"type":"text","text":"hi"}],"timestamp":"TIME"},{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"error","errorMessage":"no such thing","timestamp":"TIME","duration":"MS"}],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":2}
            {"type":"prompt_result","id":"prompt","agentInvoked":true,"status":"error","error":{"message":"no such thing","provider":"script","model":"mock","httpStatus":400,"retryable":false},"sessionSettled":true}
            {"type":"session_settled"}
            {"type":"agent_settled","aborted":false}
        "#]],
    );
}

#[test]
fn a_model_that_declines_and_one_that_stops_at_its_limit_have_completed() {
    check(
        r#"
        [[turn]]
        text = "No."
        refused = true
        "#,
        expect![[r#"
            {"id":"prompt","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
            {"type":"agent_start"}
            {"type":"turn_start"}
            {"type":"message_end","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"hi"}],"timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"text","text":"No."}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
            {"type":"agent_end","messages":[{"role":"user","content":[{"type":"text","text":"hi"}],"timestamp":"TIME"},{"role":"assistant","content":[{"type":"text","text":"No."}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":2}
            {"type":"prompt_result","id":"prompt","agentInvoked":true,"status":"completed","sessionSettled":true}
            {"type":"session_settled"}
            {"type":"agent_settled","aborted":false}
        "#]],
    );
    check(
        r#"
        [[turn]]
        text = "Too lo"
        stop = "length"
        "#,
        expect![[r#"
            {"id":"prompt","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
            {"type":"agent_start"}
            {"type":"turn_start"}
            {"type":"message_end","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"hi"}],"timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"text","text":"Too lo"}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"length","timestamp":"TIME","duration":"MS","ttft":"MS"}}
            {"type":"agent_end","messages":[{"role":"user","content":[{"type":"text","text":"hi"}],"timestamp":"TIME"},{"role":"assistant","content":[{"type":"text","text":"Too lo"}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"length","timestamp":"TIME","duration":"MS","ttft":"MS"}],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":2}
            {"type":"prompt_result","id":"prompt","agentInvoked":true,"status":"completed","sessionSettled":true}
            {"type":"session_settled"}
            {"type":"agent_settled","aborted":false}
        "#]],
    );
}

fn waits(folder: &Folder) -> Child {
    let mut child = folder.child(&["--no-session"]);
    child.send(json!({"id": "p", "type": "prompt", "message": "hi"}));
    child.until_type("auto_retry_start");
    child
}

const FAILS: &str = "[[turn]]\nerror = { kind = \"overloaded\", message = \"Overloaded\" }\n[[turn]]\ntext = \"Again.\"";

/// What is told when a retry that waits is cancelled by a command.
fn cancelled_by(command: &str, expected: Expect) {
    let folder = folder(3_600_000, FAILS);
    let mut child = waits(&folder);
    child.send(json!({"id": "a", "type": command}));
    let answered = |frame: &Value| frame["id"] == "a";
    let settled = |frame: &Value| frame["type"] == "agent_settled";
    let mut frames = child.until_all(&[&answered, &settled]);
    frames.retain(|frame| !answered(frame));
    expected.assert_eq(&brief(frames, &folder));
}

#[test]
fn a_retry_that_waits_is_cancelled() {
    cancelled_by(
        "abort_retry",
        expect![[r#"
            {"type":"entry_appended","entry":{"type":"context_edit","id":"ID","parentId":"ID","timestamp":"TIME","targetId":"ID","replacement":null}}
            {"type":"auto_retry_end","success":false,"attempt":1,"finalError":"Retry cancelled"}
            {"type":"prompt_result","id":"p","agentInvoked":true,"status":"error","error":{"message":"Overloaded","provider":"script","model":"mock","httpStatus":529,"retryable":true},"sessionSettled":true}
            {"type":"session_settled"}
            {"type":"agent_settled","aborted":false}
        "#]],
    );
    cancelled_by(
        "abort",
        expect![[r#"
            {"type":"entry_appended","entry":{"type":"context_edit","id":"ID","parentId":"ID","timestamp":"TIME","targetId":"ID","replacement":null}}
            {"type":"auto_retry_end","success":false,"attempt":1,"finalError":"Retry cancelled"}
            {"type":"prompt_result","id":"p","agentInvoked":true,"status":"error","error":{"message":"Overloaded","provider":"script","model":"mock","httpStatus":529,"retryable":true},"sessionSettled":true}
            {"type":"session_settled"}
            {"type":"agent_settled","aborted":true}
        "#]],
    );
}

#[test]
fn a_context_that_is_too_long_is_compacted_and_the_run_goes_on() {
    let folder = folder(
        1,
        r#"
        [[turn]]
        text = "One."
        times = 2
        [[turn]]
        error = { kind = "context_overflow", message = "prompt is too long" }
        [[turn]]
        text = "Now it fits."
        [compaction]
        summary = "Much was said."
        "#,
    );
    let mut child = folder.child(&["--no-session"]);
    child.prompt(&"many words ".repeat(9_000));
    child.prompt("and more");
    let frames = child.prompt("and on");
    expect![[r#"
        {"id":"prompt","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
        {"type":"agent_start"}
        {"type":"turn_start"}
        {"type":"message_end","messageId":"msg-5","message":{"role":"user","content":[{"type":"text","text":"and on"}],"timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-6","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"error","errorMessage":"prompt is too long","timestamp":"TIME","duration":"MS"}}
        {"type":"agent_end","messages":[{"role":"user","content":[{"type":"text","text":"and on"}],"timestamp":"TIME"},{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"error","errorMessage":"prompt is too long","timestamp":"TIME","duration":"MS"}],"willRetry":true,"isTerminal":false,"yielded":false,"messageCount":2}
        {"type":"entry_appended","entry":{"type":"context_edit","id":"ID","parentId":"ID","timestamp":"TIME","targetId":"ID","replacement":null}}
        {"type":"auto_compaction_start","reason":"overflow","action":"context-full"}
        {"type":"compaction_start","reason":"overflow"}
        {"type":"auto_compaction_end","action":"context-full","result":{"summary":"Much was said.","shortSummary":"Much was said.","firstKeptEntryId":"ID","tokensBefore":24756,"estimatedTokensAfter":6,"details":{"readFiles":[],"modifiedFiles":[]}},"aborted":false,"willRetry":true}
        {"type":"compaction_end","reason":"overflow","result":{"summary":"Much was said.","shortSummary":"Much was said.","firstKeptEntryId":"ID","tokensBefore":24756,"estimatedTokensAfter":6,"details":{"readFiles":[],"modifiedFiles":[]}},"aborted":false,"willRetry":true}
        {"type":"agent_start"}
        {"type":"turn_start"}
        {"type":"message_end","messageId":"msg-7","message":{"role":"assistant","content":[{"type":"text","text":"Now it fits."}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"agent_end","messages":[{"role":"assistant","content":[{"type":"text","text":"Now it fits."}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":1}
        {"type":"prompt_result","id":"prompt","agentInvoked":true,"status":"completed","sessionSettled":true}
        {"type":"session_settled"}
        {"type":"agent_settled","aborted":false}
    "#]].assert_eq(&brief(frames, &folder));
}

#[test]
fn a_compaction_by_itself_that_fails_is_told_and_the_conversation_goes_on() {
    let folder = folder(
        1,
        r#"
        [[turn]]
        text = "Long."
        times = 2
        usage = { input = 10, output = 1 }
        [[turn]]
        text = "Short."
        usage = { input = 190000, output = 25 }
        [compaction]
        error = { kind = "invalid_request", message = "no summary today" }
        "#,
    );
    let mut child = folder.child(&["--no-session"]);
    child.prompt(&"many words ".repeat(9_000));
    child.prompt(&"more words ".repeat(9_000));
    let frames = child.prompt("few words");
    expect![[r#"
        {"id":"prompt","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
        {"type":"agent_start"}
        {"type":"turn_start"}
        {"type":"message_end","messageId":"msg-5","message":{"role":"user","content":[{"type":"text","text":"few words"}],"timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-6","message":{"role":"assistant","content":[{"type":"text","text":"Short."}],"api":"script","provider":"script","model":"mock","usage":{"input":190000,"output":25,"cacheRead":0,"cacheWrite":0,"totalTokens":190025,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"agent_end","messages":[{"role":"user","content":[{"type":"text","text":"few words"}],"timestamp":"TIME"},{"role":"assistant","content":[{"type":"text","text":"Short."}],"api":"script","provider":"script","model":"mock","usage":{"input":190000,"output":25,"cacheRead":0,"cacheWrite":0,"totalTokens":190025,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":2}
        {"type":"auto_compaction_start","reason":"threshold","action":"context-full"}
        {"type":"compaction_start","reason":"threshold"}
        {"type":"auto_compaction_end","action":"context-full","aborted":false,"willRetry":false,"errorMessage":"Compaction failed: no summary today"}
        {"type":"compaction_end","reason":"threshold","aborted":false,"willRetry":false,"errorMessage":"Compaction failed: no summary today"}
        {"type":"prompt_result","id":"prompt","agentInvoked":true,"status":"completed","sessionSettled":true}
        {"type":"session_settled"}
        {"type":"agent_settled","aborted":false}
    "#]].assert_eq(&brief(frames, &folder));
}

#[test]
fn calls_that_cannot_be_made_are_answered_and_the_run_goes_on() {
    check(
        r#"
        [[turn]]
        steps = [
          { tool = "nope", id = "call-1", arguments = { a = 1 } },
          { tool = "read", id = "call-2", arguments = { nopath = true } },
          { tool = "read", id = "call-3", arguments_json = '{"path":' },
        ]
        [[turn]]
        text = "Well."
        "#,
        expect![[r#"
            {"id":"prompt","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
            {"type":"agent_start"}
            {"type":"turn_start"}
            {"type":"message_end","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"hi"}],"timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"toolCall","id":"call-1","name":"nope","arguments":{"a":1}},{"type":"toolCall","id":"call-2","name":"read","arguments":{"nopath":true}},{"type":"toolCall","id":"call-3","name":"read","arguments":{}}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"toolUse","timestamp":"TIME","duration":"MS","ttft":"MS"}}
            {"type":"tool_execution_start","toolCallId":"call-1","toolName":"nope","args":{"a":1}}
            {"type":"tool_execution_end","toolCallId":"call-1","toolName":"nope","result":{"content":[{"type":"text","text":"Tool nope not found"}],"details":{}},"isError":true,"durationMs":"MS"}
            {"type":"message_end","messageId":"msg-3","message":{"role":"toolResult","toolCallId":"call-1","toolName":"nope","content":[{"type":"text","text":"Tool nope not found"}],"details":{},"isError":true,"timestamp":"TIME"}}
            {"type":"tool_execution_start","toolCallId":"call-2","toolName":"read","args":{"nopath":true}}
            {"type":"tool_execution_start","toolCallId":"call-3","toolName":"read","args":{}}
            {"type":"tool_execution_end","toolCallId":"call-2","toolName":"read","result":{"content":[{"type":"text","text":"Validation failed for tool \"read\":\n  - path: must have required properties path\n\nReceived arguments:\n{\n  \"nopath\": true\n}"}],"details":{}},"isError":true,"durationMs":"MS"}
            {"type":"message_end","messageId":"msg-4","message":{"role":"toolResult","toolCallId":"call-2","toolName":"read","content":[{"type":"text","text":"Validation failed for tool \"read\":\n  - path: must have required properties path\n\nReceived arguments:\n{\n  \"nopath\": true\n}"}],"details":{},"isError":true,"timestamp":"TIME"}}
            {"type":"tool_execution_end","toolCallId":"call-3","toolName":"read","result":{"content":[{"type":"text","text":"Validation failed for tool \"read\":\n  - the arguments are not valid JSON: EOF while parsing a value at line 1 column 8"}],"details":{}},"isError":true,"durationMs":"MS"}
            {"type":"message_end","messageId":"msg-5","message":{"role":"toolResult","toolCallId":"call-3","toolName":"read","content":[{"type":"text","text":"Validation failed for tool \"read\":\n  - the arguments are not valid JSON: EOF while parsing a value at line 1 column 8"}],"details":{},"isError":true,"timestamp":"TIME"}}
            {"type":"turn_start"}
            {"type":"message_end","messageId":"msg-6","message":{"role":"assistant","content":[{"type":"text","text":"Well."}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
            {"type":"agent_end","messages":[{"role":"user","content":[{"type":"text","text":"hi"}],"timestamp":"TIME"},{"role":"assistant","content":[{"type":"toolCall","id":"call-1","name":"nope","arguments":{"a":1}},{"type":"toolCall","id":"call-2","name":"read","arguments":{"nopath":true}},{"type":"toolCall","id":"call-3","name":"read","arguments":{}}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"toolUse","timestamp":"TIME","duration":"MS","ttft":"MS"},{"role":"toolResult","toolCallId":"call-1","toolName":"nope","content":[{"type":"text","text":"Tool nope not found"}],"details":{},"isError":true,"timestamp":"TIME"},{"role":"toolResult","toolCallId":"call-2","toolName":"read","content":[{"type":"text","text":"Validation failed for tool \"read\":\n  - path: must have required properties path\n\nReceived arguments:\n{\n  \"nopath\": true\n}"}],"details":{},"isError":true,"timestamp":"TIME"},{"role":"toolResult","toolCallId":"call-3","toolName":"read","content":[{"type":"text","text":"Validation failed for tool \"read\":\n  - the arguments are not valid JSON: EOF while parsing a value at line 1 column 8"}],"details":{},"isError":true,"timestamp":"TIME"},{"role":"assistant","content":[{"type":"text","text":"Well."}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":6}
            {"type":"prompt_result","id":"prompt","agentInvoked":true,"status":"completed","sessionSettled":true}
            {"type":"session_settled"}
            {"type":"agent_settled","aborted":false}
        "#]],
    );
}
