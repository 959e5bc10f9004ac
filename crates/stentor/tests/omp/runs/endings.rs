//! How runs end that do not go as they should, but are not repeated (section 9), whole frames.

use expect_test::{Expect, expect};

use crate::child::Folder;
use crate::transcript::told;

fn check(turns: &str, expected: Expect) {
    let folder = Folder::with(&format!("[model]\nid = \"mock\"\n{turns}"));
    let mut child = folder.child(&["--no-session"]);
    expected.assert_eq(&told(&child.prompt("hi"), &folder));
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
            {"type":"message_start","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"hi"}],"attribution":"user","timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-1","message":"as it began"}
            {"type":"message_start","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
            {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":""}]},"assistantMessageEvent":{"type":"text_start","contentIndex":0,"partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":"No."}]},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"No.","partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":"No."}]},"assistantMessageEvent":{"type":"text_end","contentIndex":0,"content":"No.","partial":"=message"},"usage":"=message.usage"}
            {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"text","text":"No."}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
            {"type":"turn_end","message":"msg-2","toolResults":[]}
            {"type":"agent_end","messages":["msg-1","msg-2"],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":2}
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
            {"type":"message_start","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"hi"}],"attribution":"user","timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-1","message":"as it began"}
            {"type":"message_start","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
            {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":""}]},"assistantMessageEvent":{"type":"text_start","contentIndex":0,"partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":"Too lo"}]},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"Too lo","partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":"Too lo"}]},"assistantMessageEvent":{"type":"text_end","contentIndex":0,"content":"Too lo","partial":"=message"},"usage":"=message.usage"}
            {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"text","text":"Too lo"}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"length","timestamp":"TIME","duration":"MS","ttft":"MS"}}
            {"type":"turn_end","message":"msg-2","toolResults":[]}
            {"type":"agent_end","messages":["msg-1","msg-2"],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":2}
            {"type":"prompt_result","id":"prompt","agentInvoked":true,"status":"completed","sessionSettled":true}
            {"type":"session_settled"}
            {"type":"agent_settled","aborted":false}
        "#]],
    );
}

#[test]
fn calls_in_an_answer_that_fails_are_not_made() {
    check(
        r#"
        [[turn]]
        steps = [
          { tool = "read", id = "call-1", arguments = { path = "notes.txt" } },
          { error = { kind = "invalid_request", message = "no more" } },
        ]
        "#,
        expect![[r#"
            {"id":"prompt","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
            {"type":"agent_start"}
            {"type":"turn_start"}
            {"type":"message_start","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"hi"}],"attribution":"user","timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-1","message":"as it began"}
            {"type":"message_start","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
            {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"read","arguments":{}}]},"assistantMessageEvent":{"type":"toolcall_start","contentIndex":0,"id":"call-1","toolName":"read","partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"read","arguments":{"path":"notes.txt"}}]},"assistantMessageEvent":{"type":"toolcall_delta","contentIndex":0,"delta":"{\"path\":\"notes.txt\"}","partial":"=message"},"usage":"=message.usage"}
            {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"toolCall","id":"call-1","name":"read","arguments":{"path":"notes.txt"}}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"error","errorMessage":"no more","timestamp":"TIME","duration":"MS","ttft":"MS"}}
            {"type":"tool_execution_start","toolCallId":"call-1","toolName":"read","args":{"path":"notes.txt"}}
            {"type":"tool_execution_end","toolCallId":"call-1","toolName":"read","result":{"content":[{"type":"text","text":"Tool execution failed due to an error in the model's answer."}],"details":{}},"isError":true,"durationMs":"MS"}
            {"type":"message_start","messageId":"msg-3","message":{"role":"toolResult","toolCallId":"call-1","toolName":"read","content":[{"type":"text","text":"Tool execution failed due to an error in the model's answer."}],"details":{},"isError":true,"timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-3","message":"as it began"}
            {"type":"turn_end","message":"msg-2","toolResults":["msg-3"]}
            {"type":"agent_end","messages":["msg-1","msg-2","msg-3"],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":3}
            {"type":"prompt_result","id":"prompt","agentInvoked":true,"status":"error","error":{"message":"no more","provider":"script","model":"mock","httpStatus":400,"retryable":false},"sessionSettled":true}
            {"type":"session_settled"}
            {"type":"agent_settled","aborted":false}
        "#]],
    );
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
            {"type":"message_start","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"hi"}],"attribution":"user","timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-1","message":"as it began"}
            {"type":"message_start","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
            {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"nope","arguments":{}}]},"assistantMessageEvent":{"type":"toolcall_start","contentIndex":0,"id":"call-1","toolName":"nope","partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"nope","arguments":{"a":1}}]},"assistantMessageEvent":{"type":"toolcall_delta","contentIndex":0,"delta":"{\"a\":1}","partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"nope","arguments":{"a":1}}]},"assistantMessageEvent":{"type":"toolcall_end","contentIndex":0,"toolCall":{"type":"toolCall","id":"call-1","name":"nope","arguments":{"a":1}},"partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"nope","arguments":{"a":1}},{"type":"toolCall","id":"call-2","name":"read","arguments":{}}]},"assistantMessageEvent":{"type":"toolcall_start","contentIndex":1,"id":"call-2","toolName":"read","partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"nope","arguments":{"a":1}},{"type":"toolCall","id":"call-2","name":"read","arguments":{"nopath":true}}]},"assistantMessageEvent":{"type":"toolcall_delta","contentIndex":1,"delta":"{\"nopath\":true}","partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"nope","arguments":{"a":1}},{"type":"toolCall","id":"call-2","name":"read","arguments":{"nopath":true}}]},"assistantMessageEvent":{"type":"toolcall_end","contentIndex":1,"toolCall":{"type":"toolCall","id":"call-2","name":"read","arguments":{"nopath":true}},"partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"nope","arguments":{"a":1}},{"type":"toolCall","id":"call-2","name":"read","arguments":{"nopath":true}},{"type":"toolCall","id":"call-3","name":"read","arguments":{}}]},"assistantMessageEvent":{"type":"toolcall_start","contentIndex":2,"id":"call-3","toolName":"read","partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"nope","arguments":{"a":1}},{"type":"toolCall","id":"call-2","name":"read","arguments":{"nopath":true}},{"type":"toolCall","id":"call-3","name":"read","arguments":{}}]},"assistantMessageEvent":{"type":"toolcall_delta","contentIndex":2,"delta":"{\"path\":","partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"nope","arguments":{"a":1}},{"type":"toolCall","id":"call-2","name":"read","arguments":{"nopath":true}},{"type":"toolCall","id":"call-3","name":"read","arguments":{}}]},"assistantMessageEvent":{"type":"toolcall_end","contentIndex":2,"toolCall":{"type":"toolCall","id":"call-3","name":"read","arguments":{}},"partial":"=message"},"usage":"=message.usage"}
            {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"toolCall","id":"call-1","name":"nope","arguments":{"a":1}},{"type":"toolCall","id":"call-2","name":"read","arguments":{"nopath":true}},{"type":"toolCall","id":"call-3","name":"read","arguments":{}}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"toolUse","timestamp":"TIME","duration":"MS","ttft":"MS"}}
            {"type":"tool_execution_start","toolCallId":"call-1","toolName":"nope","args":{"a":1}}
            {"type":"tool_execution_end","toolCallId":"call-1","toolName":"nope","result":{"content":[{"type":"text","text":"Tool nope not found"}],"details":{}},"isError":true,"durationMs":"MS"}
            {"type":"message_start","messageId":"msg-3","message":{"role":"toolResult","toolCallId":"call-1","toolName":"nope","content":[{"type":"text","text":"Tool nope not found"}],"details":{},"isError":true,"timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-3","message":"as it began"}
            {"type":"tool_execution_start","toolCallId":"call-2","toolName":"read","args":{"nopath":true}}
            {"type":"tool_execution_start","toolCallId":"call-3","toolName":"read","args":{}}
            {"type":"tool_execution_end","toolCallId":"call-2","toolName":"read","result":{"content":[{"type":"text","text":"Validation failed for tool \"read\":\n  - path: must have required properties path\n\nReceived arguments:\n{\n  \"nopath\": true\n}"}],"details":{}},"isError":true,"durationMs":"MS"}
            {"type":"message_start","messageId":"msg-4","message":{"role":"toolResult","toolCallId":"call-2","toolName":"read","content":[{"type":"text","text":"Validation failed for tool \"read\":\n  - path: must have required properties path\n\nReceived arguments:\n{\n  \"nopath\": true\n}"}],"details":{},"isError":true,"timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-4","message":"as it began"}
            {"type":"tool_execution_end","toolCallId":"call-3","toolName":"read","result":{"content":[{"type":"text","text":"Validation failed for tool \"read\":\n  - the arguments are not valid JSON: EOF while parsing a value at line 1 column 8"}],"details":{}},"isError":true,"durationMs":"MS"}
            {"type":"message_start","messageId":"msg-5","message":{"role":"toolResult","toolCallId":"call-3","toolName":"read","content":[{"type":"text","text":"Validation failed for tool \"read\":\n  - the arguments are not valid JSON: EOF while parsing a value at line 1 column 8"}],"details":{},"isError":true,"timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-5","message":"as it began"}
            {"type":"turn_end","message":"msg-2","toolResults":["msg-3","msg-4","msg-5"]}
            {"type":"turn_start"}
            {"type":"message_start","messageId":"msg-6","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
            {"type":"message_update","messageId":"msg-6","message":{"…":"as it began","content":[{"type":"text","text":""}]},"assistantMessageEvent":{"type":"text_start","contentIndex":0,"partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-6","message":{"…":"as it began","content":[{"type":"text","text":"Well."}]},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"Well.","partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-6","message":{"…":"as it began","content":[{"type":"text","text":"Well."}]},"assistantMessageEvent":{"type":"text_end","contentIndex":0,"content":"Well.","partial":"=message"},"usage":"=message.usage"}
            {"type":"message_end","messageId":"msg-6","message":{"role":"assistant","content":[{"type":"text","text":"Well."}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
            {"type":"turn_end","message":"msg-6","toolResults":[]}
            {"type":"agent_end","messages":["msg-1","msg-2","msg-3","msg-4","msg-5","msg-6"],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":6}
            {"type":"prompt_result","id":"prompt","agentInvoked":true,"status":"completed","sessionSettled":true}
            {"type":"session_settled"}
            {"type":"agent_settled","aborted":false}
        "#]],
    );
}

#[test]
fn a_run_ends_where_the_budget_does() {
    let folder = Folder::with("[model]\nid = \"mock\"\n[[turn]]\ntext = \"One.\"\ntimes = 2");
    folder.config("[budget]\nturns = 1\n");
    let mut child = folder.child(&["--no-session"]);
    child.prompt("first");
    expect![[r#"
        {"id":"prompt","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
        {"type":"agent_start"}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-3","message":{"role":"user","content":[{"type":"text","text":"second"}],"attribution":"user","timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-3","message":"as it began"}
        {"type":"message_start","messageId":"msg-4","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"error","errorMessage":"Budget reached: 1 of 1 model calls are used.","timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-4","message":"as it began"}
        {"type":"turn_end","message":"msg-4","toolResults":[]}
        {"type":"agent_end","messages":["msg-3","msg-4"],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":2}
        {"type":"prompt_result","id":"prompt","agentInvoked":true,"status":"error","error":{"message":"Budget reached: 1 of 1 model calls are used.","provider":"script","model":"mock","retryable":false},"sessionSettled":true}
        {"type":"session_settled"}
        {"type":"agent_settled","aborted":false}
    "#]].assert_eq(&told(&child.prompt("second"), &folder));
}
