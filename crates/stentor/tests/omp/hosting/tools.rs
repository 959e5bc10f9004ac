//! Tools and addresses of the client (section 21).

use expect_test::expect;
use serde_json::{Value, json};

use crate::child::{Child, Folder};
use crate::transcript::{lines_of, told};

const CALLS: &str = r#"
[model]
id = "mock"
[[turn]]
steps = [{ tool = "echo_host", id = "call-1", arguments = { message = "hello" } }]
[[turn]]
text = "Done."
"#;

/// Offers a tool. Returns what is told of it.
fn offer(child: &mut Child) -> Vec<Value> {
    child.done(json!({"id": "o", "type": "set_host_tools", "tools": [{
        "name": "echo_host", "label": "Echo Host", "description": "Echo a value",
        "parameters": {"type": "object", "properties": {"message": {"type": "string"}}, "required": ["message"]},
    }]}))
}

/// All frames from a prompt to the first that asks the client for something.
pub fn called(child: &mut Child, kind: &str) -> Vec<Value> {
    child.send(json!({"id": "p", "type": "prompt", "message": "go"}));
    child.until_type(kind)
}

pub fn id_of(frames: &[Value]) -> Value {
    frames.last().unwrap()["id"].clone()
}

/// The call may be made before or after it is told of: here it stands behind that.
fn call_behind_its_start(mut frames: Vec<Value>) -> Vec<Value> {
    let of = |kind: &str| frames.iter().position(|frame| frame["type"] == kind);
    let (call, start) = (of("host_tool_call"), of("tool_execution_start"));
    if let (Some(call), Some(start)) = (call, start)
        && call < start
    {
        let frame = frames.remove(call);
        frames.insert(start, frame);
    }
    frames
}

#[test]
fn a_tool_of_the_client_is_called_tells_how_far_it_is_and_ends() {
    let folder = Folder::with(CALLS);
    let mut child = folder.child(&["--no-session"]);
    let mut frames = offer(&mut child);
    frames.extend(called(&mut child, "host_tool_call"));
    let id = id_of(&frames);
    for text in ["working", "still working"] {
        child.send(json!({"type": "host_tool_update", "id": id, "partialResult": {"content": [{"type": "text", "text": text}]}}));
        frames.extend(child.until_type("tool_execution_update"));
    }
    child.send(json!({"type": "host_tool_result", "id": id, "result": {"content": [{"type": "text", "text": "done"}], "details": {"n": 1}}}));
    // A second result means nothing.
    child.send(json!({"type": "host_tool_result", "id": id, "result": {"content": []}}));
    frames.extend(child.until_type("agent_settled"));
    expect![[r#"
        {"id":"o","type":"response","command":"set_host_tools","success":true,"data":{"toolNames":["echo_host"]}}
        {"id":"p","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
        {"type":"agent_start"}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"go"}],"attribution":"user","timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-1","message":"as it began"}
        {"type":"message_start","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"echo_host","arguments":{}}]},"assistantMessageEvent":{"type":"toolcall_start","contentIndex":0,"id":"call-1","toolName":"echo_host","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"echo_host","arguments":{"message":"hello"}}]},"assistantMessageEvent":{"type":"toolcall_delta","contentIndex":0,"delta":"{\"message\":\"hello\"}","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"echo_host","arguments":{"message":"hello"}}]},"assistantMessageEvent":{"type":"toolcall_end","contentIndex":0,"toolCall":{"type":"toolCall","id":"call-1","name":"echo_host","arguments":{"message":"hello"}},"partial":"=message"},"usage":"=message.usage"}
        {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"toolCall","id":"call-1","name":"echo_host","arguments":{"message":"hello"}}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"toolUse","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"tool_execution_start","toolCallId":"call-1","toolName":"echo_host","args":{"message":"hello"}}
        {"type":"host_tool_call","id":"4000000000000001","toolCallId":"call-1","toolName":"echo_host","arguments":{"message":"hello"}}
        {"type":"tool_execution_update","toolCallId":"call-1","toolName":"echo_host","args":{"message":"hello"},"partialResult":{"content":[{"type":"text","text":"working"}],"details":{}}}
        {"type":"tool_execution_update","toolCallId":"call-1","toolName":"echo_host","args":{"message":"hello"},"partialResult":{"content":[{"type":"text","text":"still working"}],"details":{}}}
        {"type":"tool_execution_end","toolCallId":"call-1","toolName":"echo_host","result":{"content":[{"type":"text","text":"done"}],"details":{"n":1}},"isError":false,"durationMs":"MS"}
        {"type":"message_start","messageId":"msg-3","message":{"role":"toolResult","toolCallId":"call-1","toolName":"echo_host","content":[{"type":"text","text":"done"}],"details":{"n":1},"isError":false,"timestamp":"TIME"}}
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
    "#]].assert_eq(&told(&call_behind_its_start(frames), &folder));
}

#[test]
fn a_failure_of_the_client_is_the_tools_error() {
    let folder = Folder::with(CALLS);
    let mut child = folder.child(&["--no-session"]);
    offer(&mut child);
    let mut frames = called(&mut child, "host_tool_call");
    child.send(json!({"type": "host_tool_result", "id": id_of(&frames), "isError": true, "result": {"content": [{"type": "text", "text": "no"}, {"type": "text", "text": "way"}]}}));
    frames.extend(child.until_type("agent_settled"));
    expect![[r#"
        {"id":"p","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
        {"type":"agent_start"}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"go"}],"attribution":"user","timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-1","message":"as it began"}
        {"type":"message_start","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"echo_host","arguments":{}}]},"assistantMessageEvent":{"type":"toolcall_start","contentIndex":0,"id":"call-1","toolName":"echo_host","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"echo_host","arguments":{"message":"hello"}}]},"assistantMessageEvent":{"type":"toolcall_delta","contentIndex":0,"delta":"{\"message\":\"hello\"}","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"echo_host","arguments":{"message":"hello"}}]},"assistantMessageEvent":{"type":"toolcall_end","contentIndex":0,"toolCall":{"type":"toolCall","id":"call-1","name":"echo_host","arguments":{"message":"hello"}},"partial":"=message"},"usage":"=message.usage"}
        {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"toolCall","id":"call-1","name":"echo_host","arguments":{"message":"hello"}}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"toolUse","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"tool_execution_start","toolCallId":"call-1","toolName":"echo_host","args":{"message":"hello"}}
        {"type":"host_tool_call","id":"4000000000000001","toolCallId":"call-1","toolName":"echo_host","arguments":{"message":"hello"}}
        {"type":"tool_execution_end","toolCallId":"call-1","toolName":"echo_host","result":{"content":[{"type":"text","text":"no\nway"}],"details":{}},"isError":true,"durationMs":"MS"}
        {"type":"message_start","messageId":"msg-3","message":{"role":"toolResult","toolCallId":"call-1","toolName":"echo_host","content":[{"type":"text","text":"no\nway"}],"details":{},"isError":true,"timestamp":"TIME"}}
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
    "#]].assert_eq(&told(&call_behind_its_start(frames), &folder));
}

#[test]
fn an_abort_takes_the_call_back() {
    let folder = Folder::with(CALLS);
    let mut child = folder.child(&["--no-session"]);
    offer(&mut child);
    let mut frames = called(&mut child, "host_tool_call");
    frames.extend(child.done(json!({"id": "a", "type": "abort"})));
    expect![[r#"
        {"id":"p","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
        {"type":"agent_start"}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"go"}],"attribution":"user","timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-1","message":"as it began"}
        {"type":"message_start","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"echo_host","arguments":{}}]},"assistantMessageEvent":{"type":"toolcall_start","contentIndex":0,"id":"call-1","toolName":"echo_host","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"echo_host","arguments":{"message":"hello"}}]},"assistantMessageEvent":{"type":"toolcall_delta","contentIndex":0,"delta":"{\"message\":\"hello\"}","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"echo_host","arguments":{"message":"hello"}}]},"assistantMessageEvent":{"type":"toolcall_end","contentIndex":0,"toolCall":{"type":"toolCall","id":"call-1","name":"echo_host","arguments":{"message":"hello"}},"partial":"=message"},"usage":"=message.usage"}
        {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"toolCall","id":"call-1","name":"echo_host","arguments":{"message":"hello"}}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"toolUse","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"tool_execution_start","toolCallId":"call-1","toolName":"echo_host","args":{"message":"hello"}}
        {"type":"host_tool_call","id":"4000000000000001","toolCallId":"call-1","toolName":"echo_host","arguments":{"message":"hello"}}
        {"type":"host_tool_cancel","id":"4000000000000002","targetId":"4000000000000001"}
        {"type":"tool_execution_end","toolCallId":"call-1","toolName":"echo_host","result":{"content":[{"type":"text","text":"Command aborted"}],"details":{}},"isError":true,"durationMs":"MS"}
        {"type":"message_start","messageId":"msg-3","message":{"role":"toolResult","toolCallId":"call-1","toolName":"echo_host","content":[{"type":"text","text":"Command aborted"}],"details":{},"isError":true,"timestamp":"TIME"}}
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
    "#]].assert_eq(&told(&call_behind_its_start(frames), &folder));
}

#[test]
fn another_conversation_has_the_clients_tools_too() {
    let folder = Folder::with(CALLS);
    let mut child = folder.child(&["--no-session"]);
    offer(&mut child);
    child.data(json!({"type": "new_session"}));
    let mut frames = called(&mut child, "host_tool_call");
    child
        .send(json!({"type": "host_tool_result", "id": id_of(&frames), "result": {"content": []}}));
    frames.extend(child.until_type("agent_settled"));
    expect![[r#"
        {"id":"p","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
        {"type":"agent_start"}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"go"}],"attribution":"user","timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-1","message":"as it began"}
        {"type":"message_start","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"echo_host","arguments":{}}]},"assistantMessageEvent":{"type":"toolcall_start","contentIndex":0,"id":"call-1","toolName":"echo_host","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"echo_host","arguments":{"message":"hello"}}]},"assistantMessageEvent":{"type":"toolcall_delta","contentIndex":0,"delta":"{\"message\":\"hello\"}","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"echo_host","arguments":{"message":"hello"}}]},"assistantMessageEvent":{"type":"toolcall_end","contentIndex":0,"toolCall":{"type":"toolCall","id":"call-1","name":"echo_host","arguments":{"message":"hello"}},"partial":"=message"},"usage":"=message.usage"}
        {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"toolCall","id":"call-1","name":"echo_host","arguments":{"message":"hello"}}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"toolUse","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"tool_execution_start","toolCallId":"call-1","toolName":"echo_host","args":{"message":"hello"}}
        {"type":"host_tool_call","id":"4000000000000001","toolCallId":"call-1","toolName":"echo_host","arguments":{"message":"hello"}}
        {"type":"tool_execution_end","toolCallId":"call-1","toolName":"echo_host","result":{"content":[],"details":{}},"isError":false,"durationMs":"MS"}
        {"type":"message_start","messageId":"msg-3","message":{"role":"toolResult","toolCallId":"call-1","toolName":"echo_host","content":[],"details":{},"isError":false,"timestamp":"TIME"}}
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
    "#]].assert_eq(&told(&call_behind_its_start(frames), &folder));
}

#[test]
fn tools_that_are_taken_away_are_gone_with_the_next_model_call() {
    let folder = Folder::with(CALLS);
    let mut child = folder.child(&["--no-session", "--no-tools"]);
    offer(&mut child);
    let mut frames = child.done(json!({"id": 1, "type": "get_state"}));
    frames.extend(child.done(json!({"id": 2, "type": "set_host_tools", "tools": []})));
    frames.extend(child.done(json!({"id": 3, "type": "get_state"})));
    frames.extend(child.prompt("go"));
    expect![[r#"
        {"id":1,"type":"response","command":"get_state","success":true,"data":{"model":{"id":"mock","name":"Scenario mock","api":"script","provider":"script","baseUrl":"","reasoning":true,"input":["text","image"],"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0},"contextWindow":200000,"maxTokens":32000,"thinking":{"mode":"effort","efforts":["minimal","low","medium","high","xhigh"],"minLevel":"minimal","maxLevel":"xhigh"}},"thinkingLevel":"medium","isStreaming":false,"isCompacting":false,"steeringMode":"one-at-a-time","followUpMode":"one-at-a-time","interruptMode":"immediate","sessionId":"ID1","autoCompactionEnabled":true,"autoRetryEnabled":true,"messageCount":0,"queuedMessageCount":0,"pendingMessageCount":0,"queuedMessages":{"steering":[],"followUp":[]},"hasPendingAsyncWork":false,"isSettled":true,"fastModeEnabled":false,"fastModeActive":false,"tokensPerSecond":null,"todoPhases":[],"systemPrompt":"…","dumpTools":["echo_host"]}}
        {"id":2,"type":"response","command":"set_host_tools","success":true,"data":{"toolNames":[]}}
        {"id":3,"type":"response","command":"get_state","success":true,"data":{"model":{"id":"mock","name":"Scenario mock","api":"script","provider":"script","baseUrl":"","reasoning":true,"input":["text","image"],"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0},"contextWindow":200000,"maxTokens":32000,"thinking":{"mode":"effort","efforts":["minimal","low","medium","high","xhigh"],"minLevel":"minimal","maxLevel":"xhigh"}},"thinkingLevel":"medium","isStreaming":false,"isCompacting":false,"steeringMode":"one-at-a-time","followUpMode":"one-at-a-time","interruptMode":"immediate","sessionId":"ID1","autoCompactionEnabled":true,"autoRetryEnabled":true,"messageCount":0,"queuedMessageCount":0,"pendingMessageCount":0,"queuedMessages":{"steering":[],"followUp":[]},"hasPendingAsyncWork":false,"isSettled":true,"fastModeEnabled":false,"fastModeActive":false,"tokensPerSecond":null,"todoPhases":[],"systemPrompt":"…","dumpTools":[]}}
        {"id":"prompt","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
        {"type":"agent_start"}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"go"}],"attribution":"user","timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-1","message":"as it began"}
        {"type":"message_start","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"echo_host","arguments":{}}]},"assistantMessageEvent":{"type":"toolcall_start","contentIndex":0,"id":"call-1","toolName":"echo_host","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"echo_host","arguments":{"message":"hello"}}]},"assistantMessageEvent":{"type":"toolcall_delta","contentIndex":0,"delta":"{\"message\":\"hello\"}","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"echo_host","arguments":{"message":"hello"}}]},"assistantMessageEvent":{"type":"toolcall_end","contentIndex":0,"toolCall":{"type":"toolCall","id":"call-1","name":"echo_host","arguments":{"message":"hello"}},"partial":"=message"},"usage":"=message.usage"}
        {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"toolCall","id":"call-1","name":"echo_host","arguments":{"message":"hello"}}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"toolUse","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"tool_execution_start","toolCallId":"call-1","toolName":"echo_host","args":{"message":"hello"}}
        {"type":"tool_execution_end","toolCallId":"call-1","toolName":"echo_host","result":{"content":[{"type":"text","text":"Tool echo_host not found"}],"details":{}},"isError":true,"durationMs":"MS"}
        {"type":"message_start","messageId":"msg-3","message":{"role":"toolResult","toolCallId":"call-1","toolName":"echo_host","content":[{"type":"text","text":"Tool echo_host not found"}],"details":{},"isError":true,"timestamp":"TIME"}}
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
        {"type":"prompt_result","id":"prompt","agentInvoked":true,"status":"completed","sessionSettled":true}
        {"type":"session_settled"}
        {"type":"agent_settled","aborted":false}
    "#]].assert_eq(&told(&frames, &folder));
}

#[test]
fn the_client_may_leave_while_it_is_asked_for_something() {
    let folder = Folder::with(CALLS);
    let mut child = folder.child(&["--session-dir", "../sessions"]);
    offer(&mut child);
    called(&mut child, "host_tool_call");
    let file = child.data(json!({"type": "get_state"}))["sessionFile"].clone();
    assert_eq!(child.close().1, Some(0));
    // What follows the failed call depends on when the run hears of the end.
    let kept = lines_of(file.as_str().unwrap(), &folder);
    let kept: Vec<&str> = kept.lines().take(6).collect();
    expect![[r#"
        {"type":"session","version":3,"id":"ID1","timestamp":"TIME","cwd":"ROOT/work"}
        {"type":"model_change","id":"ID2","parentId":null,"timestamp":"TIME","provider":"script","modelId":"mock","model":"script/mock"}
        {"type":"thinking_level_change","id":"ID3","parentId":"ID2","timestamp":"TIME","thinkingLevel":"medium"}
        {"type":"message","id":"ID4","parentId":"ID3","timestamp":"TIME","message":{"role":"user","content":[{"type":"text","text":"go"}],"attribution":"user","timestamp":"TIME"}}
        {"type":"message","id":"ID5","parentId":"ID4","timestamp":"TIME","message":{"role":"assistant","content":[{"type":"toolCall","id":"call-1","name":"echo_host","arguments":{"message":"hello"}}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"toolUse","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"message","id":"ID6","parentId":"ID5","timestamp":"TIME","message":{"role":"toolResult","toolCallId":"call-1","toolName":"echo_host","content":[{"type":"text","text":"The client that runs this tool is gone."}],"details":{},"isError":true,"timestamp":"TIME"}}"#]].assert_eq(&kept.join(
        "
",
    ));
}
