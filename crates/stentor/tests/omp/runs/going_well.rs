//! Runs that go well, frame by frame (sections 8 and 9). The first ones are written out in full, as they come.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use expect_test::{Expect, expect};
use serde_json::{Value, json};

use crate::child::{Folder, shown};
use crate::transcript::{told, without_reports};

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
            {"type":"message_start","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"hi"}],"attribution":"user","timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"hi"}],"attribution":"user","timestamp":"TIME"}}
            {"type":"message_start","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME"}}
            {"type":"message_update","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"thinking","thinking":""}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME"},"assistantMessageEvent":{"type":"thinking_start","contentIndex":0,"partial":{"role":"assistant","content":[{"type":"thinking","thinking":""}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME"}},"usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}}}
            {"type":"message_update","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"thinking","thinking":"Hm."}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME"},"assistantMessageEvent":{"type":"thinking_delta","contentIndex":0,"delta":"Hm.","partial":{"role":"assistant","content":[{"type":"thinking","thinking":"Hm."}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME"}},"usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}}}
            {"type":"message_update","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"thinking","thinking":"Hm."}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME"},"assistantMessageEvent":{"type":"thinking_end","contentIndex":0,"content":"Hm.","partial":{"role":"assistant","content":[{"type":"thinking","thinking":"Hm."}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME"}},"usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}}}
            {"type":"message_update","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"thinking","thinking":"Hm."},{"type":"text","text":""}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME"},"assistantMessageEvent":{"type":"text_start","contentIndex":1,"partial":{"role":"assistant","content":[{"type":"thinking","thinking":"Hm."},{"type":"text","text":""}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME"}},"usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}}}
            {"type":"message_update","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"thinking","thinking":"Hm."},{"type":"text","text":"Hello."}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME"},"assistantMessageEvent":{"type":"text_delta","contentIndex":1,"delta":"Hello.","partial":{"role":"assistant","content":[{"type":"thinking","thinking":"Hm."},{"type":"text","text":"Hello."}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME"}},"usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}}}
            {"type":"message_update","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"thinking","thinking":"Hm."},{"type":"text","text":"Hello."}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME"},"assistantMessageEvent":{"type":"text_end","contentIndex":1,"content":"Hello.","partial":{"role":"assistant","content":[{"type":"thinking","thinking":"Hm."},{"type":"text","text":"Hello."}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME"}},"usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}}}
            {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"thinking","thinking":"Hm.","thinkingSignature":"c2ln"},{"type":"text","text":"Hello."}],"api":"script","provider":"script","model":"mock","usage":{"input":100,"output":25,"cacheRead":0,"cacheWrite":0,"totalTokens":125,"cost":{"input":0.00030000000000000003,"output":0.000375,"cacheRead":0,"cacheWrite":0,"total":0.000675}},"stopReason":"stop","timestamp":"TIME","responseId":"resp-1","duration":"MS","ttft":"MS"}}
            {"type":"turn_end","message":{"role":"assistant","content":[{"type":"thinking","thinking":"Hm.","thinkingSignature":"c2ln"},{"type":"text","text":"Hello."}],"api":"script","provider":"script","model":"mock","usage":{"input":100,"output":25,"cacheRead":0,"cacheWrite":0,"totalTokens":125,"cost":{"input":0.00030000000000000003,"output":0.000375,"cacheRead":0,"cacheWrite":0,"total":0.000675}},"stopReason":"stop","timestamp":"TIME","responseId":"resp-1","duration":"MS","ttft":"MS"},"toolResults":[]}
            {"type":"agent_end","messages":[{"role":"user","content":[{"type":"text","text":"hi"}],"attribution":"user","timestamp":"TIME"},{"role":"assistant","content":[{"type":"thinking","thinking":"Hm.","thinkingSignature":"c2ln"},{"type":"text","text":"Hello."}],"api":"script","provider":"script","model":"mock","usage":{"input":100,"output":25,"cacheRead":0,"cacheWrite":0,"totalTokens":125,"cost":{"input":0.00030000000000000003,"output":0.000375,"cacheRead":0,"cacheWrite":0,"total":0.000675}},"stopReason":"stop","timestamp":"TIME","responseId":"resp-1","duration":"MS","ttft":"MS"}],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":2}
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
            {"type":"message_start","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"hi"}],"attribution":"user","timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"hi"}],"attribution":"user","timestamp":"TIME"}}
            {"type":"message_start","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME"}}
            {"type":"message_update","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"toolCall","id":"call_1_1","name":"read","arguments":{}}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME"},"assistantMessageEvent":{"type":"toolcall_start","contentIndex":0,"id":"call_1_1","toolName":"read","partial":{"role":"assistant","content":[{"type":"toolCall","id":"call_1_1","name":"read","arguments":{}}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME"}},"usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}}}
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
            {"type":"agent_end","messages":[{"role":"user","content":[{"type":"text","text":"hi"}],"attribution":"user","timestamp":"TIME"},{"role":"assistant","content":[{"type":"toolCall","id":"call_1_1","name":"read","arguments":{"path":"notes.txt"}}],"api":"script","provider":"script","model":"mock","usage":{"input":100,"output":25,"cacheRead":0,"cacheWrite":0,"totalTokens":125,"cost":{"input":0.00030000000000000003,"output":0.000375,"cacheRead":0,"cacheWrite":0,"total":0.000675}},"stopReason":"toolUse","timestamp":"TIME","duration":"MS","ttft":"MS"},{"role":"toolResult","toolCallId":"call_1_1","toolName":"read","content":[{"type":"text","text":"alpha\n"}],"isError":false,"timestamp":"TIME"},{"role":"assistant","content":[{"type":"text","text":"Done."}],"api":"script","provider":"script","model":"mock","usage":{"input":100,"output":25,"cacheRead":0,"cacheWrite":0,"totalTokens":125,"cost":{"input":0.00030000000000000003,"output":0.000375,"cacheRead":0,"cacheWrite":0,"total":0.000675}},"stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":4}
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
            {"type":"message_start","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"hi"}],"attribution":"user","timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"hi"}],"attribution":"user","timestamp":"TIME"}}
            {"type":"message_start","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"error","errorMessage":"no key","timestamp":"TIME","duration":"MS"}}
            {"type":"turn_end","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"error","errorMessage":"no key","timestamp":"TIME","duration":"MS"},"toolResults":[]}
            {"type":"agent_end","messages":[{"role":"user","content":[{"type":"text","text":"hi"}],"attribution":"user","timestamp":"TIME"},{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"error","errorMessage":"no key","timestamp":"TIME","duration":"MS"}],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":2}
            {"type":"prompt_result","id":"prompt","agentInvoked":true,"status":"error","error":{"message":"no key","provider":"script","model":"mock","httpStatus":401,"retryable":false},"sessionSettled":true}
            {"type":"session_settled"}
            {"type":"agent_settled","aborted":false}
        "#]],
    );
}

#[test]
fn several_calls_are_told_each_with_its_result_and_the_results_together() {
    let folder = Folder::with(&format!(
        r#"{PRICES}
        [[turn]]
        steps = [
          {{ text = "I look." }},
          {{ tool = "read", id = "call-1", arguments = {{ path = "notes.txt" }} }},
          {{ tool = "bash", id = "call-2", arguments = {{ command = "echo hi; exit 7" }} }},
          {{ tool = "write", id = "call-3", arguments = {{ path = "new.txt", content = "new\n" }} }},
        ]
        [[turn]]
        text = "Done."
        "#
    ));
    folder.file("notes.txt", "alpha\n");
    let mut child = folder.child(&["--no-session"]);
    let frames = without_reports(child.prompt("hi"));
    expect![[r#"
        {"id":"prompt","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
        {"type":"agent_start"}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"hi"}],"attribution":"user","timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-1","message":"as it began"}
        {"type":"message_start","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":""}]},"assistantMessageEvent":{"type":"text_start","contentIndex":0,"partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":"I look."}]},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"I look.","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":"I look."}]},"assistantMessageEvent":{"type":"text_end","contentIndex":0,"content":"I look.","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":"I look."},{"type":"toolCall","id":"call-1","name":"read","arguments":{}}]},"assistantMessageEvent":{"type":"toolcall_start","contentIndex":1,"id":"call-1","toolName":"read","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":"I look."},{"type":"toolCall","id":"call-1","name":"read","arguments":{"path":"notes.txt"}}]},"assistantMessageEvent":{"type":"toolcall_delta","contentIndex":1,"delta":"{\"path\":\"notes.txt\"}","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":"I look."},{"type":"toolCall","id":"call-1","name":"read","arguments":{"path":"notes.txt"}}]},"assistantMessageEvent":{"type":"toolcall_end","contentIndex":1,"toolCall":{"type":"toolCall","id":"call-1","name":"read","arguments":{"path":"notes.txt"}},"partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":"I look."},{"type":"toolCall","id":"call-1","name":"read","arguments":{"path":"notes.txt"}},{"type":"toolCall","id":"call-2","name":"bash","arguments":{}}]},"assistantMessageEvent":{"type":"toolcall_start","contentIndex":2,"id":"call-2","toolName":"bash","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":"I look."},{"type":"toolCall","id":"call-1","name":"read","arguments":{"path":"notes.txt"}},{"type":"toolCall","id":"call-2","name":"bash","arguments":{"command":"echo hi; exit 7"}}]},"assistantMessageEvent":{"type":"toolcall_delta","contentIndex":2,"delta":"{\"command\":\"echo hi; exit 7\"}","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":"I look."},{"type":"toolCall","id":"call-1","name":"read","arguments":{"path":"notes.txt"}},{"type":"toolCall","id":"call-2","name":"bash","arguments":{"command":"echo hi; exit 7"}}]},"assistantMessageEvent":{"type":"toolcall_end","contentIndex":2,"toolCall":{"type":"toolCall","id":"call-2","name":"bash","arguments":{"command":"echo hi; exit 7"}},"partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":"I look."},{"type":"toolCall","id":"call-1","name":"read","arguments":{"path":"notes.txt"}},{"type":"toolCall","id":"call-2","name":"bash","arguments":{"command":"echo hi; exit 7"}},{"type":"toolCall","id":"call-3","name":"write","arguments":{}}]},"assistantMessageEvent":{"type":"toolcall_start","contentIndex":3,"id":"call-3","toolName":"write","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":"I look."},{"type":"toolCall","id":"call-1","name":"read","arguments":{"path":"notes.txt"}},{"type":"toolCall","id":"call-2","name":"bash","arguments":{"command":"echo hi; exit 7"}},{"type":"toolCall","id":"call-3","name":"write","arguments":{"content":"new\n","path":"new.txt"}}]},"assistantMessageEvent":{"type":"toolcall_delta","contentIndex":3,"delta":"{\"content\":\"new\\n\",\"path\":\"new.txt\"}","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":"I look."},{"type":"toolCall","id":"call-1","name":"read","arguments":{"path":"notes.txt"}},{"type":"toolCall","id":"call-2","name":"bash","arguments":{"command":"echo hi; exit 7"}},{"type":"toolCall","id":"call-3","name":"write","arguments":{"content":"new\n","path":"new.txt"}}]},"assistantMessageEvent":{"type":"toolcall_end","contentIndex":3,"toolCall":{"type":"toolCall","id":"call-3","name":"write","arguments":{"content":"new\n","path":"new.txt"}},"partial":"=message"},"usage":"=message.usage"}
        {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"text","text":"I look."},{"type":"toolCall","id":"call-1","name":"read","arguments":{"path":"notes.txt"}},{"type":"toolCall","id":"call-2","name":"bash","arguments":{"command":"echo hi; exit 7"}},{"type":"toolCall","id":"call-3","name":"write","arguments":{"content":"new\n","path":"new.txt"}}],"api":"script","provider":"script","model":"mock","usage":{"input":100,"output":25,"cacheRead":0,"cacheWrite":0,"totalTokens":125,"cost":{"input":0.00030000000000000003,"output":0.000375,"cacheRead":0,"cacheWrite":0,"total":0.000675}},"stopReason":"toolUse","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"tool_execution_start","toolCallId":"call-1","toolName":"read","args":{"path":"notes.txt"}}
        {"type":"tool_execution_end","toolCallId":"call-1","toolName":"read","result":{"content":[{"type":"text","text":"alpha\n"}]},"isError":false,"durationMs":"MS"}
        {"type":"message_start","messageId":"msg-3","message":{"role":"toolResult","toolCallId":"call-1","toolName":"read","content":[{"type":"text","text":"alpha\n"}],"isError":false,"timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-3","message":"as it began"}
        {"type":"tool_execution_start","toolCallId":"call-2","toolName":"bash","args":{"command":"echo hi; exit 7"}}
        {"type":"tool_execution_end","toolCallId":"call-2","toolName":"bash","result":{"content":[{"type":"text","text":"hi\n\n\nCommand exited with code 7"}],"details":{}},"isError":true,"durationMs":"MS"}
        {"type":"message_start","messageId":"msg-4","message":{"role":"toolResult","toolCallId":"call-2","toolName":"bash","content":[{"type":"text","text":"hi\n\n\nCommand exited with code 7"}],"details":{},"isError":true,"timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-4","message":"as it began"}
        {"type":"tool_execution_start","toolCallId":"call-3","toolName":"write","args":{"content":"new\n","path":"new.txt"}}
        {"type":"tool_execution_end","toolCallId":"call-3","toolName":"write","result":{"content":[{"type":"text","text":"Successfully wrote 4 bytes to new.txt"}]},"isError":false,"durationMs":"MS"}
        {"type":"message_start","messageId":"msg-5","message":{"role":"toolResult","toolCallId":"call-3","toolName":"write","content":[{"type":"text","text":"Successfully wrote 4 bytes to new.txt"}],"isError":false,"timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-5","message":"as it began"}
        {"type":"turn_end","message":"msg-2","toolResults":["msg-3","msg-4","msg-5"]}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-6","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-6","message":{"…":"as it began","content":[{"type":"text","text":""}]},"assistantMessageEvent":{"type":"text_start","contentIndex":0,"partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-6","message":{"…":"as it began","content":[{"type":"text","text":"Done."}]},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"Done.","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-6","message":{"…":"as it began","content":[{"type":"text","text":"Done."}]},"assistantMessageEvent":{"type":"text_end","contentIndex":0,"content":"Done.","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_end","messageId":"msg-6","message":{"role":"assistant","content":[{"type":"text","text":"Done."}],"api":"script","provider":"script","model":"mock","usage":{"input":100,"output":25,"cacheRead":0,"cacheWrite":0,"totalTokens":125,"cost":{"input":0.00030000000000000003,"output":0.000375,"cacheRead":0,"cacheWrite":0,"total":0.000675}},"stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"turn_end","message":"msg-6","toolResults":[]}
        {"type":"agent_end","messages":["msg-1","msg-2","msg-3","msg-4","msg-5","msg-6"],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":6}
        {"type":"prompt_result","id":"prompt","agentInvoked":true,"status":"completed","sessionSettled":true}
        {"type":"session_settled"}
        {"type":"agent_settled","aborted":false}
    "#]].assert_eq(&told(&frames, &folder));
}

#[test]
fn a_call_that_runs_reports_all_it_has_said_so_far() {
    let folder = Folder::with(
        r#"
        on_exhausted = { text = "Done." }
        [model]
        id = "mock"
        [[turn]]
        steps = [{ tool = "bash", id = "call-1", arguments = { command = "echo one; until [ -e ../gate ]; do sleep 0.01; done; echo two" } }]
        "#,
    );
    let mut child = folder.child(&["--no-session"]);
    child.send(json!({"id": "p", "type": "prompt", "message": "hi"}));
    let said = |frame: &Value| frame["partialResult"]["content"][0]["text"] == "one\n";
    let report = child.until(said).pop().unwrap();
    folder.open_gate();
    let end = child.until_type("tool_execution_end").pop().unwrap();
    expect![[r#"
        {"type":"tool_execution_update","toolCallId":"call-1","toolName":"bash","args":{"command":"echo one; until [ -e ../gate ]; do sleep 0.01; done; echo two"},"partialResult":{"content":[{"type":"text","text":"one\n"}],"details":{}}}
        {"type":"tool_execution_end","toolCallId":"call-1","toolName":"bash","result":{"content":[{"type":"text","text":"one\ntwo\n"}]},"isError":false,"durationMs":"MS"}
    "#]].assert_eq(&told(&[report, end], &folder));
}

#[test]
fn pictures_and_what_a_tool_shows_go_through_as_they_are() {
    let folder = Folder::with(
        r#"
        [model]
        id = "mock"
        [[turn]]
        steps = [{ tool = "read", id = "call-1", arguments = { path = "dot.png" } }]
        [[turn]]
        text = "A dot."
        "#,
    );
    let dot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    std::fs::write(folder.work("dot.png"), STANDARD.decode(dot).unwrap()).unwrap();
    let mut child = folder.child(&["--no-session"]);
    child.send(
        json!({"id": "p", "type": "prompt", "message": "look", "images": [
            {"type": "image", "data": "aGk=", "mimeType": "image/jpeg"},
            {"type": "image", "data": "aG8=", "mimeType": "image/png"},
        ]}),
    );
    let frames = without_reports(child.until_type("agent_settled"));
    expect![[r#"
        {"id":"p","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
        {"type":"agent_start"}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"look"},{"type":"image","data":"aGk=","mimeType":"image/jpeg"},{"type":"image","data":"aG8=","mimeType":"image/png"}],"attribution":"user","timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-1","message":"as it began"}
        {"type":"message_start","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"read","arguments":{}}]},"assistantMessageEvent":{"type":"toolcall_start","contentIndex":0,"id":"call-1","toolName":"read","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"read","arguments":{"path":"dot.png"}}]},"assistantMessageEvent":{"type":"toolcall_delta","contentIndex":0,"delta":"{\"path\":\"dot.png\"}","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"read","arguments":{"path":"dot.png"}}]},"assistantMessageEvent":{"type":"toolcall_end","contentIndex":0,"toolCall":{"type":"toolCall","id":"call-1","name":"read","arguments":{"path":"dot.png"}},"partial":"=message"},"usage":"=message.usage"}
        {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"toolCall","id":"call-1","name":"read","arguments":{"path":"dot.png"}}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"toolUse","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"tool_execution_start","toolCallId":"call-1","toolName":"read","args":{"path":"dot.png"}}
        {"type":"tool_execution_end","toolCallId":"call-1","toolName":"read","result":{"content":[{"type":"text","text":"Read image file [image/png]"},{"type":"image","data":"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==","mimeType":"image/png"}]},"isError":false,"durationMs":"MS"}
        {"type":"message_start","messageId":"msg-3","message":{"role":"toolResult","toolCallId":"call-1","toolName":"read","content":[{"type":"text","text":"Read image file [image/png]"},{"type":"image","data":"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==","mimeType":"image/png"}],"isError":false,"timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-3","message":"as it began"}
        {"type":"turn_end","message":"msg-2","toolResults":["msg-3"]}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-4","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-4","message":{"…":"as it began","content":[{"type":"text","text":""}]},"assistantMessageEvent":{"type":"text_start","contentIndex":0,"partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-4","message":{"…":"as it began","content":[{"type":"text","text":"A dot."}]},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"A dot.","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-4","message":{"…":"as it began","content":[{"type":"text","text":"A dot."}]},"assistantMessageEvent":{"type":"text_end","contentIndex":0,"content":"A dot.","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_end","messageId":"msg-4","message":{"role":"assistant","content":[{"type":"text","text":"A dot."}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"turn_end","message":"msg-4","toolResults":[]}
        {"type":"agent_end","messages":["msg-1","msg-2","msg-3","msg-4"],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":4}
        {"type":"prompt_result","id":"p","agentInvoked":true,"status":"completed","sessionSettled":true}
        {"type":"session_settled"}
        {"type":"agent_settled","aborted":false}
    "#]].assert_eq(&told(&frames, &folder));
}

#[test]
fn thinking_that_nobody_may_read_is_in_the_message_and_not_told_of() {
    let folder = Folder::with(
        r#"
        [model]
        id = "mock"
        [[turn]]
        steps = [
          { redacted_thinking = "b3BhcXVl" },
          { text = "One." },
          { text = "Two.", new_block = true },
        ]
        "#,
    );
    let mut child = folder.child(&["--no-session"]);
    expect![[r#"
        {"id":"prompt","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
        {"type":"agent_start"}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"hi"}],"attribution":"user","timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-1","message":"as it began"}
        {"type":"message_start","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"redactedThinking","data":"b3BhcXVl"},{"type":"text","text":""}]},"assistantMessageEvent":{"type":"text_start","contentIndex":1,"partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"redactedThinking","data":"b3BhcXVl"},{"type":"text","text":"One."}]},"assistantMessageEvent":{"type":"text_delta","contentIndex":1,"delta":"One.","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"redactedThinking","data":"b3BhcXVl"},{"type":"text","text":"One."}]},"assistantMessageEvent":{"type":"text_end","contentIndex":1,"content":"One.","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"redactedThinking","data":"b3BhcXVl"},{"type":"text","text":"One."},{"type":"text","text":""}]},"assistantMessageEvent":{"type":"text_start","contentIndex":2,"partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"redactedThinking","data":"b3BhcXVl"},{"type":"text","text":"One."},{"type":"text","text":"Two."}]},"assistantMessageEvent":{"type":"text_delta","contentIndex":2,"delta":"Two.","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"redactedThinking","data":"b3BhcXVl"},{"type":"text","text":"One."},{"type":"text","text":"Two."}]},"assistantMessageEvent":{"type":"text_end","contentIndex":2,"content":"Two.","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"redactedThinking","data":"b3BhcXVl"},{"type":"text","text":"One."},{"type":"text","text":"Two."}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"turn_end","message":"msg-2","toolResults":[]}
        {"type":"agent_end","messages":["msg-1","msg-2"],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":2}
        {"type":"prompt_result","id":"prompt","agentInvoked":true,"status":"completed","sessionSettled":true}
        {"type":"session_settled"}
        {"type":"agent_settled","aborted":false}
    "#]].assert_eq(&told(&child.prompt("hi"), &folder));
}
