//! Retries (section 12), whole frames.

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use crate::child::Folder;
use crate::transcript::{answers_and_events, told};

/// A folder in which a retry waits hardly, or for ever.
fn folder(delay_ms: u64, turns: &str) -> Folder {
    let folder = Folder::with(&format!("[model]\nid = \"mock\"\n{turns}"));
    folder.config(&format!("[retry]\nbase_delay_ms = {delay_ms}\n"));
    folder
}

fn check(turns: &str, expected: Expect) {
    let folder = folder(1, turns);
    let mut child = folder.child(&["--no-session"]);
    expected.assert_eq(&told(&child.prompt("hi"), &folder));
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
            {"type":"message_start","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"hi"}],"attribution":"user","timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-1","message":"as it began"}
            {"type":"message_start","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"error","errorMessage":"Overloaded","timestamp":"TIME","duration":"MS"}}
            {"type":"turn_end","message":"msg-2","toolResults":[]}
            {"type":"agent_end","messages":["msg-1","msg-2"],"willRetry":true,"isTerminal":false,"yielded":false,"messageCount":2}
            {"type":"auto_retry_start","attempt":1,"maxAttempts":3,"delayMs":1,"errorMessage":"Overloaded"}
            {"type":"entry_appended","entry":{"type":"context_edit","id":"ID1","parentId":"ID2","timestamp":"TIME","targetId":"ID2","replacement":null}}
            {"type":"agent_start"}
            {"type":"turn_start"}
            {"type":"message_start","messageId":"msg-3","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
            {"type":"message_update","messageId":"msg-3","message":{"…":"as it began","content":[{"type":"text","text":""}]},"assistantMessageEvent":{"type":"text_start","contentIndex":0,"partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-3","message":{"…":"as it began","content":[{"type":"text","text":"Here I am."}]},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"Here I am.","partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-3","message":{"…":"as it began","content":[{"type":"text","text":"Here I am."}]},"assistantMessageEvent":{"type":"text_end","contentIndex":0,"content":"Here I am.","partial":"=message"},"usage":"=message.usage"}
            {"type":"message_end","messageId":"msg-3","message":{"role":"assistant","content":[{"type":"text","text":"Here I am."}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
            {"type":"auto_retry_end","success":true,"attempt":1}
            {"type":"turn_end","message":"msg-3","toolResults":[]}
            {"type":"agent_end","messages":["msg-3"],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":1}
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
            {"type":"message_start","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"hi"}],"attribution":"user","timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-1","message":"as it began"}
            {"type":"message_start","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"error","errorMessage":"slow down","timestamp":"TIME","duration":"MS"}}
            {"type":"turn_end","message":"msg-2","toolResults":[]}
            {"type":"agent_end","messages":["msg-1","msg-2"],"willRetry":true,"isTerminal":false,"yielded":false,"messageCount":2}
            {"type":"auto_retry_start","attempt":1,"maxAttempts":3,"delayMs":1,"errorMessage":"slow down"}
            {"type":"entry_appended","entry":{"type":"context_edit","id":"ID1","parentId":"ID2","timestamp":"TIME","targetId":"ID2","replacement":null}}
            {"type":"agent_start"}
            {"type":"turn_start"}
            {"type":"message_start","messageId":"msg-3","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-3","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"error","errorMessage":"slow down","timestamp":"TIME","duration":"MS"}}
            {"type":"turn_end","message":"msg-3","toolResults":[]}
            {"type":"agent_end","messages":["msg-3"],"willRetry":true,"isTerminal":false,"yielded":false,"messageCount":1}
            {"type":"auto_retry_start","attempt":2,"maxAttempts":3,"delayMs":2,"errorMessage":"slow down"}
            {"type":"entry_appended","entry":{"type":"context_edit","id":"ID3","parentId":"ID4","timestamp":"TIME","targetId":"ID4","replacement":null}}
            {"type":"agent_start"}
            {"type":"turn_start"}
            {"type":"message_start","messageId":"msg-4","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-4","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"error","errorMessage":"slow down","timestamp":"TIME","duration":"MS"}}
            {"type":"turn_end","message":"msg-4","toolResults":[]}
            {"type":"agent_end","messages":["msg-4"],"willRetry":true,"isTerminal":false,"yielded":false,"messageCount":1}
            {"type":"auto_retry_start","attempt":3,"maxAttempts":3,"delayMs":4,"errorMessage":"slow down"}
            {"type":"entry_appended","entry":{"type":"context_edit","id":"ID5","parentId":"ID6","timestamp":"TIME","targetId":"ID6","replacement":null}}
            {"type":"agent_start"}
            {"type":"turn_start"}
            {"type":"message_start","messageId":"msg-5","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-5","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"error","errorMessage":"slow down","timestamp":"TIME","duration":"MS"}}
            {"type":"turn_end","message":"msg-5","toolResults":[]}
            {"type":"agent_end","messages":["msg-5"],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":1}
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
            {"type":"message_start","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"hi"}],"attribution":"user","timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-1","message":"as it began"}
            {"type":"message_start","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"error","errorMessage":"no such thing","timestamp":"TIME","duration":"MS"}}
            {"type":"turn_end","message":"msg-2","toolResults":[]}
            {"type":"agent_end","messages":["msg-1","msg-2"],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":2}
            {"type":"prompt_result","id":"prompt","agentInvoked":true,"status":"error","error":{"message":"no such thing","provider":"script","model":"mock","httpStatus":400,"retryable":false},"sessionSettled":true}
            {"type":"session_settled"}
            {"type":"agent_settled","aborted":false}
        "#]],
    );
}

const FAILS: &str = "[[turn]]\nerror = { kind = \"overloaded\", message = \"Overloaded\" }\n[[turn]]\ntext = \"Again.\"";

/// What is told when a retry that waits is cancelled by a command, which is answered when the
/// waiting is over.
fn cancelled_by(command: &str, expected: Expect) {
    let folder = folder(3_600_000, FAILS);
    let mut child = folder.child(&["--no-session"]);
    child.send(json!({"type": "prompt", "message": "without an id"}));
    let mut frames = child.until_type("auto_retry_start");
    child.send(json!({"id": "a", "type": command}));
    let answered = |frame: &Value| frame["id"] == "a";
    let settled = |frame: &Value| frame["type"] == "agent_settled";
    frames.extend(child.until_all(&[&answered, &settled]));
    let (answers, events) = answers_and_events(frames);
    expected.assert_eq(&told(&[events, answers].concat(), &folder));
}

#[test]
fn a_retry_that_waits_is_cancelled_by_abort_retry() {
    cancelled_by(
        "abort_retry",
        expect![[r#"
            {"type":"agent_start"}
            {"type":"turn_start"}
            {"type":"message_start","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"without an id"}],"attribution":"user","timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-1","message":"as it began"}
            {"type":"message_start","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"error","errorMessage":"Overloaded","timestamp":"TIME","duration":"MS"}}
            {"type":"turn_end","message":"msg-2","toolResults":[]}
            {"type":"agent_end","messages":["msg-1","msg-2"],"willRetry":true,"isTerminal":false,"yielded":false,"messageCount":2}
            {"type":"auto_retry_start","attempt":1,"maxAttempts":3,"delayMs":300000,"errorMessage":"Overloaded"}
            {"type":"entry_appended","entry":{"type":"context_edit","id":"ID1","parentId":"ID2","timestamp":"TIME","targetId":"ID2","replacement":null}}
            {"type":"auto_retry_end","success":false,"attempt":1,"finalError":"Retry cancelled"}
            {"type":"prompt_result","agentInvoked":true,"status":"error","error":{"message":"Overloaded","provider":"script","model":"mock","httpStatus":529,"retryable":true},"sessionSettled":true}
            {"type":"session_settled"}
            {"type":"agent_settled","aborted":false}
            {"type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
            {"id":"a","type":"response","command":"abort_retry","success":true}
        "#]],
    );
}

#[test]
fn a_retry_that_waits_is_cancelled_by_abort() {
    cancelled_by(
        "abort",
        expect![[r#"
            {"type":"agent_start"}
            {"type":"turn_start"}
            {"type":"message_start","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"without an id"}],"attribution":"user","timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-1","message":"as it began"}
            {"type":"message_start","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"error","errorMessage":"Overloaded","timestamp":"TIME","duration":"MS"}}
            {"type":"turn_end","message":"msg-2","toolResults":[]}
            {"type":"agent_end","messages":["msg-1","msg-2"],"willRetry":true,"isTerminal":false,"yielded":false,"messageCount":2}
            {"type":"auto_retry_start","attempt":1,"maxAttempts":3,"delayMs":300000,"errorMessage":"Overloaded"}
            {"type":"entry_appended","entry":{"type":"context_edit","id":"ID1","parentId":"ID2","timestamp":"TIME","targetId":"ID2","replacement":null}}
            {"type":"auto_retry_end","success":false,"attempt":1,"finalError":"Retry cancelled"}
            {"type":"prompt_result","agentInvoked":true,"status":"aborted","sessionSettled":true}
            {"type":"session_settled"}
            {"type":"agent_settled","aborted":true}
            {"type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
            {"id":"a","type":"response","command":"abort","success":true}
        "#]],
    );
}

#[test]
fn nothing_is_asked_again_if_that_is_not_wanted() {
    let folder = folder(1, FAILS);
    let mut child = folder.child(&["--no-session"]);
    let mut frames = child.done(json!({"id": 1, "type": "set_auto_retry", "enabled": false}));
    frames.extend(child.prompt("hi"));
    expect![[r#"
        {"id":1,"type":"response","command":"set_auto_retry","success":true}
        {"id":"prompt","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
        {"type":"agent_start"}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"hi"}],"attribution":"user","timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-1","message":"as it began"}
        {"type":"message_start","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"error","errorMessage":"Overloaded","timestamp":"TIME","duration":"MS"}}
        {"type":"turn_end","message":"msg-2","toolResults":[]}
        {"type":"agent_end","messages":["msg-1","msg-2"],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":2}
        {"type":"prompt_result","id":"prompt","agentInvoked":true,"status":"error","error":{"message":"Overloaded","provider":"script","model":"mock","httpStatus":529,"retryable":true},"sessionSettled":true}
        {"type":"session_settled"}
        {"type":"agent_settled","aborted":false}
    "#]].assert_eq(&told(&frames, &folder));
}

#[test]
fn an_answer_that_breaks_off_leaves_the_context_but_not_the_file() {
    let folder = folder(
        1,
        r#"
        [[turn]]
        steps = [{ text = "It is" }, { error = "broken_stream" }]
        [[turn]]
        text = "It is done."
        "#,
    );
    let mut child = folder.child(&["--session-dir", "../sessions"]);
    let mut frames = child.prompt("hi");
    frames.extend(child.done(json!({"id": 1, "type": "get_messages"})));
    frames.extend(child.done(json!({"id": 2, "type": "get_entries"})));
    expect![[r#"
        {"id":"prompt","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
        {"type":"agent_start"}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"hi"}],"attribution":"user","timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-1","message":"as it began"}
        {"type":"message_start","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":""}]},"assistantMessageEvent":{"type":"text_start","contentIndex":0,"partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":"It is"}]},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"It is","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"text","text":"It is"}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"error","errorMessage":"script/mock: the answer broke off (the scenario says so)","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"turn_end","message":"msg-2","toolResults":[]}
        {"type":"agent_end","messages":["msg-1","msg-2"],"willRetry":true,"isTerminal":false,"yielded":false,"messageCount":2}
        {"type":"auto_retry_start","attempt":1,"maxAttempts":3,"delayMs":1,"errorMessage":"script/mock: the answer broke off (the scenario says so)"}
        {"type":"entry_appended","entry":{"type":"context_edit","id":"ID1","parentId":"ID2","timestamp":"TIME","targetId":"ID2","replacement":null}}
        {"type":"agent_start"}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-3","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-3","message":{"…":"as it began","content":[{"type":"text","text":""}]},"assistantMessageEvent":{"type":"text_start","contentIndex":0,"partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-3","message":{"…":"as it began","content":[{"type":"text","text":"It is done."}]},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"It is done.","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-3","message":{"…":"as it began","content":[{"type":"text","text":"It is done."}]},"assistantMessageEvent":{"type":"text_end","contentIndex":0,"content":"It is done.","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_end","messageId":"msg-3","message":{"role":"assistant","content":[{"type":"text","text":"It is done."}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"auto_retry_end","success":true,"attempt":1}
        {"type":"turn_end","message":"msg-3","toolResults":[]}
        {"type":"agent_end","messages":["msg-3"],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":1}
        {"type":"prompt_result","id":"prompt","agentInvoked":true,"status":"completed","sessionSettled":true}
        {"type":"session_settled"}
        {"type":"agent_settled","aborted":false}
        {"id":1,"type":"response","command":"get_messages","success":true,"data":{"messages":[{"role":"user","content":[{"type":"text","text":"hi"}],"attribution":"user","timestamp":"TIME"},{"role":"assistant","content":[{"type":"text","text":"It is done."}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}]}}
        {"id":2,"type":"response","command":"get_entries","success":true,"data":{"entries":[{"type":"model_change","id":"ID3","parentId":null,"timestamp":"TIME","provider":"script","modelId":"mock","model":"script/mock"},{"type":"thinking_level_change","id":"ID4","parentId":"ID3","timestamp":"TIME","thinkingLevel":"medium"},{"type":"message","id":"ID5","parentId":"ID4","timestamp":"TIME","message":{"role":"user","content":[{"type":"text","text":"hi"}],"attribution":"user","timestamp":"TIME"}},{"type":"message","id":"ID2","parentId":"ID5","timestamp":"TIME","message":{"role":"assistant","content":[{"type":"text","text":"It is"}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"error","errorMessage":"script/mock: the answer broke off (the scenario says so)","timestamp":"TIME","duration":"MS","ttft":"MS"}},{"type":"context_edit","id":"ID1","parentId":"ID2","timestamp":"TIME","targetId":"ID2","replacement":null},{"type":"message","id":"ID6","parentId":"ID1","timestamp":"TIME","message":{"role":"assistant","content":[{"type":"text","text":"It is done."}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}],"leafId":"ID6"}}
    "#]].assert_eq(&told(&frames, &folder));
}
