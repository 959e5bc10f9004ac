//! Addresses of the client (section 21).

use expect_test::expect;
use serde_json::{Value, json};

use crate::child::Folder;
use crate::hosting::tools::{called, id_of};
use crate::transcript::told;

#[test]
fn addresses_of_the_client_are_read_and_written_over_it() {
    let folder = Folder::with(
        r#"
        [model]
        id = "mock"
        [[turn]]
        steps = [{ tool = "read", id = "call-1", arguments = { path = "Issue://42", limit = 1 } }]
        [[turn]]
        steps = [{ tool = "write", id = "call-2", arguments = { path = "issue://42", content = "new" } }]
        [[turn]]
        steps = [{ tool = "write", id = "call-3", arguments = { path = "issue://42", content = "newer" } }]
        [[turn]]
        steps = [{ tool = "write", id = "call-4", arguments = { path = "log://1", content = "new" } }]
        [[turn]]
        text = "Done."
        "#,
    );
    let mut child = folder.child(&["--no-session"]);
    let mut frames = child.done(
        json!({"id": "u", "type": "set_host_uri_schemes", "schemes": [
            {"scheme": "ISSUE", "description": "Issues", "writable": true},
            {"scheme": "log", "immutable": true},
        ]}),
    );
    frames.extend(called(&mut child, "host_uri_request"));
    child.send(json!({"type": "host_uri_result", "id": id_of(&frames), "content": "one\ntwo\n", "contentType": "text/plain", "notes": ["a note"]}));
    frames.extend(child.until_type("host_uri_request"));
    child.send(json!({"type": "host_uri_result", "id": id_of(&frames), "isError": true, "error": "closed"}));
    frames.extend(child.until_type("host_uri_request"));
    child.send(json!({"type": "host_uri_result", "id": id_of(&frames)}));
    frames.extend(child.until_type("agent_settled"));
    expect![[r#"
        {"id":"u","type":"response","command":"set_host_uri_schemes","success":true,"data":{"schemes":["issue","log"]}}
        {"id":"p","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
        {"type":"agent_start"}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"go"}],"attribution":"user","timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-1","message":"as it began"}
        {"type":"message_start","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"read","arguments":{}}]},"assistantMessageEvent":{"type":"toolcall_start","contentIndex":0,"id":"call-1","toolName":"read","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"read","arguments":{"limit":1,"path":"Issue://42"}}]},"assistantMessageEvent":{"type":"toolcall_delta","contentIndex":0,"delta":"{\"limit\":1,\"path\":\"Issue://42\"}","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"read","arguments":{"limit":1,"path":"Issue://42"}}]},"assistantMessageEvent":{"type":"toolcall_end","contentIndex":0,"toolCall":{"type":"toolCall","id":"call-1","name":"read","arguments":{"limit":1,"path":"Issue://42"}},"partial":"=message"},"usage":"=message.usage"}
        {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"toolCall","id":"call-1","name":"read","arguments":{"limit":1,"path":"Issue://42"}}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"toolUse","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"tool_execution_start","toolCallId":"call-1","toolName":"read","args":{"limit":1,"path":"Issue://42"}}
        {"type":"host_uri_request","id":"4000000000000001","operation":"read","url":"Issue://42"}
        {"type":"tool_execution_end","toolCallId":"call-1","toolName":"read","result":{"content":[{"type":"text","text":"one\n\n[1 more lines. Use offset=2 to continue.]"}]},"isError":false,"durationMs":"MS"}
        {"type":"message_start","messageId":"msg-3","message":{"role":"toolResult","toolCallId":"call-1","toolName":"read","content":[{"type":"text","text":"one\n\n[1 more lines. Use offset=2 to continue.]"}],"isError":false,"timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-3","message":"as it began"}
        {"type":"turn_end","message":"msg-2","toolResults":["msg-3"]}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-4","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-4","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-2","name":"write","arguments":{}}]},"assistantMessageEvent":{"type":"toolcall_start","contentIndex":0,"id":"call-2","toolName":"write","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-4","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-2","name":"write","arguments":{"content":"new","path":"issue://42"}}]},"assistantMessageEvent":{"type":"toolcall_delta","contentIndex":0,"delta":"{\"content\":\"new\",\"path\":\"issue://42\"}","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-4","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-2","name":"write","arguments":{"content":"new","path":"issue://42"}}]},"assistantMessageEvent":{"type":"toolcall_end","contentIndex":0,"toolCall":{"type":"toolCall","id":"call-2","name":"write","arguments":{"content":"new","path":"issue://42"}},"partial":"=message"},"usage":"=message.usage"}
        {"type":"message_end","messageId":"msg-4","message":{"role":"assistant","content":[{"type":"toolCall","id":"call-2","name":"write","arguments":{"content":"new","path":"issue://42"}}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"toolUse","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"tool_execution_start","toolCallId":"call-2","toolName":"write","args":{"content":"new","path":"issue://42"}}
        {"type":"host_uri_request","id":"4000000000000002","operation":"write","url":"issue://42","content":"new"}
        {"type":"tool_execution_end","toolCallId":"call-2","toolName":"write","result":{"content":[{"type":"text","text":"closed"}],"details":{}},"isError":true,"durationMs":"MS"}
        {"type":"message_start","messageId":"msg-5","message":{"role":"toolResult","toolCallId":"call-2","toolName":"write","content":[{"type":"text","text":"closed"}],"details":{},"isError":true,"timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-5","message":"as it began"}
        {"type":"turn_end","message":"msg-4","toolResults":["msg-5"]}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-6","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-6","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-3","name":"write","arguments":{}}]},"assistantMessageEvent":{"type":"toolcall_start","contentIndex":0,"id":"call-3","toolName":"write","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-6","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-3","name":"write","arguments":{"content":"newer","path":"issue://42"}}]},"assistantMessageEvent":{"type":"toolcall_delta","contentIndex":0,"delta":"{\"content\":\"newer\",\"path\":\"issue://42\"}","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-6","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-3","name":"write","arguments":{"content":"newer","path":"issue://42"}}]},"assistantMessageEvent":{"type":"toolcall_end","contentIndex":0,"toolCall":{"type":"toolCall","id":"call-3","name":"write","arguments":{"content":"newer","path":"issue://42"}},"partial":"=message"},"usage":"=message.usage"}
        {"type":"message_end","messageId":"msg-6","message":{"role":"assistant","content":[{"type":"toolCall","id":"call-3","name":"write","arguments":{"content":"newer","path":"issue://42"}}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"toolUse","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"tool_execution_start","toolCallId":"call-3","toolName":"write","args":{"content":"newer","path":"issue://42"}}
        {"type":"host_uri_request","id":"4000000000000003","operation":"write","url":"issue://42","content":"newer"}
        {"type":"tool_execution_end","toolCallId":"call-3","toolName":"write","result":{"content":[{"type":"text","text":"Successfully wrote 5 bytes to issue://42"}]},"isError":false,"durationMs":"MS"}
        {"type":"message_start","messageId":"msg-7","message":{"role":"toolResult","toolCallId":"call-3","toolName":"write","content":[{"type":"text","text":"Successfully wrote 5 bytes to issue://42"}],"isError":false,"timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-7","message":"as it began"}
        {"type":"turn_end","message":"msg-6","toolResults":["msg-7"]}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-8","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-8","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-4","name":"write","arguments":{}}]},"assistantMessageEvent":{"type":"toolcall_start","contentIndex":0,"id":"call-4","toolName":"write","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-8","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-4","name":"write","arguments":{"content":"new","path":"log://1"}}]},"assistantMessageEvent":{"type":"toolcall_delta","contentIndex":0,"delta":"{\"content\":\"new\",\"path\":\"log://1\"}","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-8","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-4","name":"write","arguments":{"content":"new","path":"log://1"}}]},"assistantMessageEvent":{"type":"toolcall_end","contentIndex":0,"toolCall":{"type":"toolCall","id":"call-4","name":"write","arguments":{"content":"new","path":"log://1"}},"partial":"=message"},"usage":"=message.usage"}
        {"type":"message_end","messageId":"msg-8","message":{"role":"assistant","content":[{"type":"toolCall","id":"call-4","name":"write","arguments":{"content":"new","path":"log://1"}}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"toolUse","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"tool_execution_start","toolCallId":"call-4","toolName":"write","args":{"content":"new","path":"log://1"}}
        {"type":"tool_execution_end","toolCallId":"call-4","toolName":"write","result":{"content":[{"type":"text","text":"log:// cannot be written to"}],"details":{}},"isError":true,"durationMs":"MS"}
        {"type":"message_start","messageId":"msg-9","message":{"role":"toolResult","toolCallId":"call-4","toolName":"write","content":[{"type":"text","text":"log:// cannot be written to"}],"details":{},"isError":true,"timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-9","message":"as it began"}
        {"type":"turn_end","message":"msg-8","toolResults":["msg-9"]}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-10","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-10","message":{"…":"as it began","content":[{"type":"text","text":""}]},"assistantMessageEvent":{"type":"text_start","contentIndex":0,"partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-10","message":{"…":"as it began","content":[{"type":"text","text":"Done."}]},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"Done.","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-10","message":{"…":"as it began","content":[{"type":"text","text":"Done."}]},"assistantMessageEvent":{"type":"text_end","contentIndex":0,"content":"Done.","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_end","messageId":"msg-10","message":{"role":"assistant","content":[{"type":"text","text":"Done."}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"turn_end","message":"msg-10","toolResults":[]}
        {"type":"agent_end","messages":["msg-1","msg-2","msg-3","msg-4","msg-5","msg-6","msg-7","msg-8","msg-9","msg-10"],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":10}
        {"type":"prompt_result","id":"p","agentInvoked":true,"status":"completed","sessionSettled":true}
        {"type":"session_settled"}
        {"type":"agent_settled","aborted":false}
    "#]].assert_eq(&told(&request_behind_its_start(frames), &folder));
}

/// The same for addresses.
fn request_behind_its_start(mut frames: Vec<Value>) -> Vec<Value> {
    for at in 1..frames.len() {
        let is_early = frames[at - 1]["type"] == "host_uri_request";
        if is_early && frames[at]["type"] == "tool_execution_start" {
            frames.swap(at - 1, at);
        }
    }
    frames
}

#[test]
fn an_abort_takes_the_request_back() {
    let folder = Folder::with(
        "[model]\nid = \"mock\"\n[[turn]]\nsteps = [{ tool = \"read\", id = \"call-1\", arguments = { path = \"issue://42\" } }]",
    );
    let mut child = folder.child(&["--no-session"]);
    child.data(json!({"type": "set_host_uri_schemes", "schemes": [{"scheme": "issue"}]}));
    let mut frames = called(&mut child, "host_uri_request");
    frames.extend(child.done(json!({"id": "a", "type": "abort"})));
    expect![[r#"
        {"id":"p","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
        {"type":"agent_start"}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"go"}],"attribution":"user","timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-1","message":"as it began"}
        {"type":"message_start","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"read","arguments":{}}]},"assistantMessageEvent":{"type":"toolcall_start","contentIndex":0,"id":"call-1","toolName":"read","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"read","arguments":{"path":"issue://42"}}]},"assistantMessageEvent":{"type":"toolcall_delta","contentIndex":0,"delta":"{\"path\":\"issue://42\"}","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"read","arguments":{"path":"issue://42"}}]},"assistantMessageEvent":{"type":"toolcall_end","contentIndex":0,"toolCall":{"type":"toolCall","id":"call-1","name":"read","arguments":{"path":"issue://42"}},"partial":"=message"},"usage":"=message.usage"}
        {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"toolCall","id":"call-1","name":"read","arguments":{"path":"issue://42"}}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"toolUse","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"tool_execution_start","toolCallId":"call-1","toolName":"read","args":{"path":"issue://42"}}
        {"type":"host_uri_request","id":"4000000000000001","operation":"read","url":"issue://42"}
        {"type":"host_uri_cancel","id":"4000000000000002","targetId":"4000000000000001"}
        {"type":"tool_execution_end","toolCallId":"call-1","toolName":"read","result":{"content":[{"type":"text","text":"Command aborted"}],"details":{}},"isError":true,"durationMs":"MS"}
        {"type":"message_start","messageId":"msg-3","message":{"role":"toolResult","toolCallId":"call-1","toolName":"read","content":[{"type":"text","text":"Command aborted"}],"details":{},"isError":true,"timestamp":"TIME"}}
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
    "#]].assert_eq(&told(&request_behind_its_start(frames), &folder));
}
