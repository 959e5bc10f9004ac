//! Messages that steer a run, in both interrupt modes and both queue modes (section 10).

use expect_test::expect;
use serde_json::{Value, json};

use crate::prompts::queues::{SPEAKS, check, is_delta};

/// A model that makes three calls; the first ends when it may.
const CALLS: &str = r#"
on_exhausted = { text = "Heard: {{last_user}}" }
[model]
id = "mock"
[[turn]]
when = { last_user_contains = "go" }
steps = [
  { tool = "bash", id = "call-1", arguments = { command = "until [ -e ../gate ]; do sleep 0.01; done; echo first" } },
  { tool = "bash", id = "call-2", arguments = { command = "echo second" } },
  { tool = "read", id = "call-3", arguments = { path = "notes.txt" } },
]
"#;

fn is_call(frame: &Value) -> bool {
    frame["type"] == "tool_execution_start"
}

#[test]
fn steering_skips_the_calls_that_have_not_begun() {
    check(
        CALLS,
        is_call,
        &[json!({"type": "steer", "message": "stop that"})],
        expect![[r#"
            {"id":"p","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
            {"type":"agent_start"}
            {"type":"turn_start"}
            {"type":"message_start","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"go"}],"attribution":"user","timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-1","message":"as it began"}
            {"type":"message_start","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
            {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"bash","arguments":{}}]},"assistantMessageEvent":{"type":"toolcall_start","contentIndex":0,"id":"call-1","toolName":"bash","partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"bash","arguments":{"command":"until [ -e ../gate ]; do sleep 0.01; done; echo first"}}]},"assistantMessageEvent":{"type":"toolcall_delta","contentIndex":0,"delta":"{\"command\":\"until [ -e ../gate ]; do sleep 0.01; done; echo first\"}","partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"bash","arguments":{"command":"until [ -e ../gate ]; do sleep 0.01; done; echo first"}}]},"assistantMessageEvent":{"type":"toolcall_end","contentIndex":0,"toolCall":{"type":"toolCall","id":"call-1","name":"bash","arguments":{"command":"until [ -e ../gate ]; do sleep 0.01; done; echo first"}},"partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"bash","arguments":{"command":"until [ -e ../gate ]; do sleep 0.01; done; echo first"}},{"type":"toolCall","id":"call-2","name":"bash","arguments":{}}]},"assistantMessageEvent":{"type":"toolcall_start","contentIndex":1,"id":"call-2","toolName":"bash","partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"bash","arguments":{"command":"until [ -e ../gate ]; do sleep 0.01; done; echo first"}},{"type":"toolCall","id":"call-2","name":"bash","arguments":{"command":"echo second"}}]},"assistantMessageEvent":{"type":"toolcall_delta","contentIndex":1,"delta":"{\"command\":\"echo second\"}","partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"bash","arguments":{"command":"until [ -e ../gate ]; do sleep 0.01; done; echo first"}},{"type":"toolCall","id":"call-2","name":"bash","arguments":{"command":"echo second"}}]},"assistantMessageEvent":{"type":"toolcall_end","contentIndex":1,"toolCall":{"type":"toolCall","id":"call-2","name":"bash","arguments":{"command":"echo second"}},"partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"bash","arguments":{"command":"until [ -e ../gate ]; do sleep 0.01; done; echo first"}},{"type":"toolCall","id":"call-2","name":"bash","arguments":{"command":"echo second"}},{"type":"toolCall","id":"call-3","name":"read","arguments":{}}]},"assistantMessageEvent":{"type":"toolcall_start","contentIndex":2,"id":"call-3","toolName":"read","partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"bash","arguments":{"command":"until [ -e ../gate ]; do sleep 0.01; done; echo first"}},{"type":"toolCall","id":"call-2","name":"bash","arguments":{"command":"echo second"}},{"type":"toolCall","id":"call-3","name":"read","arguments":{"path":"notes.txt"}}]},"assistantMessageEvent":{"type":"toolcall_delta","contentIndex":2,"delta":"{\"path\":\"notes.txt\"}","partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"bash","arguments":{"command":"until [ -e ../gate ]; do sleep 0.01; done; echo first"}},{"type":"toolCall","id":"call-2","name":"bash","arguments":{"command":"echo second"}},{"type":"toolCall","id":"call-3","name":"read","arguments":{"path":"notes.txt"}}]},"assistantMessageEvent":{"type":"toolcall_end","contentIndex":2,"toolCall":{"type":"toolCall","id":"call-3","name":"read","arguments":{"path":"notes.txt"}},"partial":"=message"},"usage":"=message.usage"}
            {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"toolCall","id":"call-1","name":"bash","arguments":{"command":"until [ -e ../gate ]; do sleep 0.01; done; echo first"}},{"type":"toolCall","id":"call-2","name":"bash","arguments":{"command":"echo second"}},{"type":"toolCall","id":"call-3","name":"read","arguments":{"path":"notes.txt"}}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"toolUse","timestamp":"TIME","duration":"MS","ttft":"MS"}}
            {"type":"tool_execution_start","toolCallId":"call-1","toolName":"bash","args":{"command":"until [ -e ../gate ]; do sleep 0.01; done; echo first"}}
            {"type":"queue_update","steering":["stop that"],"followUp":[]}
            {"id":0,"type":"response","command":"steer","success":true,"data":{"disposition":"queued"}}
            {"type":"tool_execution_end","toolCallId":"call-1","toolName":"bash","result":{"content":[{"type":"text","text":"first\n"}]},"isError":false,"durationMs":"MS"}
            {"type":"message_start","messageId":"msg-3","message":{"role":"toolResult","toolCallId":"call-1","toolName":"bash","content":[{"type":"text","text":"first\n"}],"isError":false,"timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-3","message":"as it began"}
            {"type":"tool_execution_start","toolCallId":"call-2","toolName":"bash","args":{"command":"echo second"}}
            {"type":"tool_execution_end","toolCallId":"call-2","toolName":"bash","result":{"content":[{"type":"text","text":"Skipped due to queued user message."}],"details":{}},"isError":true,"durationMs":"MS"}
            {"type":"message_start","messageId":"msg-4","message":{"role":"toolResult","toolCallId":"call-2","toolName":"bash","content":[{"type":"text","text":"Skipped due to queued user message."}],"details":{},"isError":true,"timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-4","message":"as it began"}
            {"type":"tool_execution_start","toolCallId":"call-3","toolName":"read","args":{"path":"notes.txt"}}
            {"type":"tool_execution_end","toolCallId":"call-3","toolName":"read","result":{"content":[{"type":"text","text":"Skipped due to queued user message."}],"details":{}},"isError":true,"durationMs":"MS"}
            {"type":"message_start","messageId":"msg-5","message":{"role":"toolResult","toolCallId":"call-3","toolName":"read","content":[{"type":"text","text":"Skipped due to queued user message."}],"details":{},"isError":true,"timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-5","message":"as it began"}
            {"type":"turn_end","message":"msg-2","toolResults":["msg-3","msg-4","msg-5"]}
            {"type":"turn_start"}
            {"type":"queue_update","steering":[],"followUp":[]}
            {"type":"message_start","messageId":"msg-6","message":{"role":"user","content":[{"type":"text","text":"stop that"}],"attribution":"user","steering":true,"timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-6","message":"as it began"}
            {"type":"message_start","messageId":"msg-7","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
            {"type":"message_update","messageId":"msg-7","message":{"…":"as it began","content":[{"type":"text","text":""}]},"assistantMessageEvent":{"type":"text_start","contentIndex":0,"partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-7","message":{"…":"as it began","content":[{"type":"text","text":"Heard: stop that"}]},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"Heard: stop that","partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-7","message":{"…":"as it began","content":[{"type":"text","text":"Heard: stop that"}]},"assistantMessageEvent":{"type":"text_end","contentIndex":0,"content":"Heard: stop that","partial":"=message"},"usage":"=message.usage"}
            {"type":"message_end","messageId":"msg-7","message":{"role":"assistant","content":[{"type":"text","text":"Heard: stop that"}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
            {"type":"turn_end","message":"msg-7","toolResults":[]}
            {"type":"agent_end","messages":["msg-1","msg-2","msg-3","msg-4","msg-5","msg-6","msg-7"],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":7}
            {"type":"prompt_result","id":"p","agentInvoked":true,"status":"completed","sessionSettled":true}
            {"type":"session_settled"}
            {"type":"agent_settled","aborted":false}
        "#]],
    );
}

#[test]
fn steering_waits_for_all_calls_if_that_is_wanted() {
    check(
        CALLS,
        is_call,
        &[
            json!({"type": "set_interrupt_mode", "mode": "wait"}),
            json!({"type": "steer", "message": "stop that"}),
        ],
        expect![[r#"
            {"id":"p","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
            {"type":"agent_start"}
            {"type":"turn_start"}
            {"type":"message_start","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"go"}],"attribution":"user","timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-1","message":"as it began"}
            {"type":"message_start","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
            {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"bash","arguments":{}}]},"assistantMessageEvent":{"type":"toolcall_start","contentIndex":0,"id":"call-1","toolName":"bash","partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"bash","arguments":{"command":"until [ -e ../gate ]; do sleep 0.01; done; echo first"}}]},"assistantMessageEvent":{"type":"toolcall_delta","contentIndex":0,"delta":"{\"command\":\"until [ -e ../gate ]; do sleep 0.01; done; echo first\"}","partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"bash","arguments":{"command":"until [ -e ../gate ]; do sleep 0.01; done; echo first"}}]},"assistantMessageEvent":{"type":"toolcall_end","contentIndex":0,"toolCall":{"type":"toolCall","id":"call-1","name":"bash","arguments":{"command":"until [ -e ../gate ]; do sleep 0.01; done; echo first"}},"partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"bash","arguments":{"command":"until [ -e ../gate ]; do sleep 0.01; done; echo first"}},{"type":"toolCall","id":"call-2","name":"bash","arguments":{}}]},"assistantMessageEvent":{"type":"toolcall_start","contentIndex":1,"id":"call-2","toolName":"bash","partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"bash","arguments":{"command":"until [ -e ../gate ]; do sleep 0.01; done; echo first"}},{"type":"toolCall","id":"call-2","name":"bash","arguments":{"command":"echo second"}}]},"assistantMessageEvent":{"type":"toolcall_delta","contentIndex":1,"delta":"{\"command\":\"echo second\"}","partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"bash","arguments":{"command":"until [ -e ../gate ]; do sleep 0.01; done; echo first"}},{"type":"toolCall","id":"call-2","name":"bash","arguments":{"command":"echo second"}}]},"assistantMessageEvent":{"type":"toolcall_end","contentIndex":1,"toolCall":{"type":"toolCall","id":"call-2","name":"bash","arguments":{"command":"echo second"}},"partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"bash","arguments":{"command":"until [ -e ../gate ]; do sleep 0.01; done; echo first"}},{"type":"toolCall","id":"call-2","name":"bash","arguments":{"command":"echo second"}},{"type":"toolCall","id":"call-3","name":"read","arguments":{}}]},"assistantMessageEvent":{"type":"toolcall_start","contentIndex":2,"id":"call-3","toolName":"read","partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"bash","arguments":{"command":"until [ -e ../gate ]; do sleep 0.01; done; echo first"}},{"type":"toolCall","id":"call-2","name":"bash","arguments":{"command":"echo second"}},{"type":"toolCall","id":"call-3","name":"read","arguments":{"path":"notes.txt"}}]},"assistantMessageEvent":{"type":"toolcall_delta","contentIndex":2,"delta":"{\"path\":\"notes.txt\"}","partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"bash","arguments":{"command":"until [ -e ../gate ]; do sleep 0.01; done; echo first"}},{"type":"toolCall","id":"call-2","name":"bash","arguments":{"command":"echo second"}},{"type":"toolCall","id":"call-3","name":"read","arguments":{"path":"notes.txt"}}]},"assistantMessageEvent":{"type":"toolcall_end","contentIndex":2,"toolCall":{"type":"toolCall","id":"call-3","name":"read","arguments":{"path":"notes.txt"}},"partial":"=message"},"usage":"=message.usage"}
            {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"toolCall","id":"call-1","name":"bash","arguments":{"command":"until [ -e ../gate ]; do sleep 0.01; done; echo first"}},{"type":"toolCall","id":"call-2","name":"bash","arguments":{"command":"echo second"}},{"type":"toolCall","id":"call-3","name":"read","arguments":{"path":"notes.txt"}}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"toolUse","timestamp":"TIME","duration":"MS","ttft":"MS"}}
            {"type":"tool_execution_start","toolCallId":"call-1","toolName":"bash","args":{"command":"until [ -e ../gate ]; do sleep 0.01; done; echo first"}}
            {"id":0,"type":"response","command":"set_interrupt_mode","success":true}
            {"type":"queue_update","steering":["stop that"],"followUp":[]}
            {"id":1,"type":"response","command":"steer","success":true,"data":{"disposition":"queued"}}
            {"type":"tool_execution_end","toolCallId":"call-1","toolName":"bash","result":{"content":[{"type":"text","text":"first\n"}]},"isError":false,"durationMs":"MS"}
            {"type":"message_start","messageId":"msg-3","message":{"role":"toolResult","toolCallId":"call-1","toolName":"bash","content":[{"type":"text","text":"first\n"}],"isError":false,"timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-3","message":"as it began"}
            {"type":"tool_execution_start","toolCallId":"call-2","toolName":"bash","args":{"command":"echo second"}}
            {"type":"tool_execution_end","toolCallId":"call-2","toolName":"bash","result":{"content":[{"type":"text","text":"second\n"}]},"isError":false,"durationMs":"MS"}
            {"type":"message_start","messageId":"msg-4","message":{"role":"toolResult","toolCallId":"call-2","toolName":"bash","content":[{"type":"text","text":"second\n"}],"isError":false,"timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-4","message":"as it began"}
            {"type":"tool_execution_start","toolCallId":"call-3","toolName":"read","args":{"path":"notes.txt"}}
            {"type":"tool_execution_end","toolCallId":"call-3","toolName":"read","result":{"content":[{"type":"text","text":"alpha\n"}]},"isError":false,"durationMs":"MS"}
            {"type":"message_start","messageId":"msg-5","message":{"role":"toolResult","toolCallId":"call-3","toolName":"read","content":[{"type":"text","text":"alpha\n"}],"isError":false,"timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-5","message":"as it began"}
            {"type":"turn_end","message":"msg-2","toolResults":["msg-3","msg-4","msg-5"]}
            {"type":"turn_start"}
            {"type":"queue_update","steering":[],"followUp":[]}
            {"type":"message_start","messageId":"msg-6","message":{"role":"user","content":[{"type":"text","text":"stop that"}],"attribution":"user","steering":true,"timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-6","message":"as it began"}
            {"type":"message_start","messageId":"msg-7","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
            {"type":"message_update","messageId":"msg-7","message":{"…":"as it began","content":[{"type":"text","text":""}]},"assistantMessageEvent":{"type":"text_start","contentIndex":0,"partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-7","message":{"…":"as it began","content":[{"type":"text","text":"Heard: stop that"}]},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"Heard: stop that","partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-7","message":{"…":"as it began","content":[{"type":"text","text":"Heard: stop that"}]},"assistantMessageEvent":{"type":"text_end","contentIndex":0,"content":"Heard: stop that","partial":"=message"},"usage":"=message.usage"}
            {"type":"message_end","messageId":"msg-7","message":{"role":"assistant","content":[{"type":"text","text":"Heard: stop that"}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
            {"type":"turn_end","message":"msg-7","toolResults":[]}
            {"type":"agent_end","messages":["msg-1","msg-2","msg-3","msg-4","msg-5","msg-6","msg-7"],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":7}
            {"type":"prompt_result","id":"p","agentInvoked":true,"status":"completed","sessionSettled":true}
            {"type":"session_settled"}
            {"type":"agent_settled","aborted":false}
        "#]],
    );
}

#[test]
fn steering_during_text_comes_one_message_a_turn_in_the_same_run() {
    check(
        SPEAKS,
        is_delta,
        &[
            json!({"type": "steer", "message": "one"}),
            json!({"type": "prompt", "message": "two", "streamingBehavior": "steer"}),
        ],
        expect![[r#"
            {"id":"p","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
            {"type":"agent_start"}
            {"type":"turn_start"}
            {"type":"message_start","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"go"}],"attribution":"user","timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-1","message":"as it began"}
            {"type":"message_start","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
            {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":""}]},"assistantMessageEvent":{"type":"text_start","contentIndex":0,"partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":"Well"}]},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"Well","partial":"=message"},"usage":"=message.usage"}
            {"type":"queue_update","steering":["one"],"followUp":[]}
            {"id":0,"type":"response","command":"steer","success":true,"data":{"disposition":"queued"}}
            {"type":"queue_update","steering":["one","two"],"followUp":[]}
            {"id":1,"type":"response","command":"prompt","success":true,"data":{"disposition":"queued"}}
            {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":"Well."}]},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":".","partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":"Well."}]},"assistantMessageEvent":{"type":"text_end","contentIndex":0,"content":"Well.","partial":"=message"},"usage":"=message.usage"}
            {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"text","text":"Well."}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
            {"type":"turn_end","message":"msg-2","toolResults":[]}
            {"type":"turn_start"}
            {"type":"queue_update","steering":["two"],"followUp":[]}
            {"type":"message_start","messageId":"msg-3","message":{"role":"user","content":[{"type":"text","text":"one"}],"attribution":"user","steering":true,"timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-3","message":"as it began"}
            {"type":"message_start","messageId":"msg-4","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
            {"type":"message_update","messageId":"msg-4","message":{"…":"as it began","content":[{"type":"text","text":""}]},"assistantMessageEvent":{"type":"text_start","contentIndex":0,"partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-4","message":{"…":"as it began","content":[{"type":"text","text":"Heard: one"}]},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"Heard: one","partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-4","message":{"…":"as it began","content":[{"type":"text","text":"Heard: one"}]},"assistantMessageEvent":{"type":"text_end","contentIndex":0,"content":"Heard: one","partial":"=message"},"usage":"=message.usage"}
            {"type":"message_end","messageId":"msg-4","message":{"role":"assistant","content":[{"type":"text","text":"Heard: one"}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
            {"type":"turn_end","message":"msg-4","toolResults":[]}
            {"type":"turn_start"}
            {"type":"queue_update","steering":[],"followUp":[]}
            {"type":"message_start","messageId":"msg-5","message":{"role":"user","content":[{"type":"text","text":"two"}],"attribution":"user","steering":true,"timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-5","message":"as it began"}
            {"type":"message_start","messageId":"msg-6","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
            {"type":"message_update","messageId":"msg-6","message":{"…":"as it began","content":[{"type":"text","text":""}]},"assistantMessageEvent":{"type":"text_start","contentIndex":0,"partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-6","message":{"…":"as it began","content":[{"type":"text","text":"Heard: two"}]},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"Heard: two","partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-6","message":{"…":"as it began","content":[{"type":"text","text":"Heard: two"}]},"assistantMessageEvent":{"type":"text_end","contentIndex":0,"content":"Heard: two","partial":"=message"},"usage":"=message.usage"}
            {"type":"message_end","messageId":"msg-6","message":{"role":"assistant","content":[{"type":"text","text":"Heard: two"}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
            {"type":"turn_end","message":"msg-6","toolResults":[]}
            {"type":"agent_end","messages":["msg-1","msg-2","msg-3","msg-4","msg-5","msg-6"],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":6}
            {"type":"prompt_result","id":"p","agentInvoked":true,"status":"completed","sessionSettled":true}
            {"type":"prompt_result","id":1,"agentInvoked":true,"status":"completed","sessionSettled":true}
            {"type":"session_settled"}
            {"type":"agent_settled","aborted":false}
        "#]],
    );
}

#[test]
fn steering_comes_all_in_one_turn_if_that_is_wanted() {
    check(
        SPEAKS,
        is_delta,
        &[
            json!({"type": "set_steering_mode", "mode": "all"}),
            json!({"type": "steer", "message": "one"}),
            json!({"type": "steer", "message": "two", "images": [{"type": "image", "data": "aGk=", "mimeType": "image/png"}]}),
        ],
        expect![[r#"
            {"id":"p","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
            {"type":"agent_start"}
            {"type":"turn_start"}
            {"type":"message_start","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"go"}],"attribution":"user","timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-1","message":"as it began"}
            {"type":"message_start","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
            {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":""}]},"assistantMessageEvent":{"type":"text_start","contentIndex":0,"partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":"Well"}]},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"Well","partial":"=message"},"usage":"=message.usage"}
            {"id":0,"type":"response","command":"set_steering_mode","success":true}
            {"type":"queue_update","steering":["one"],"followUp":[]}
            {"id":1,"type":"response","command":"steer","success":true,"data":{"disposition":"queued"}}
            {"type":"queue_update","steering":["one","two"],"followUp":[]}
            {"id":2,"type":"response","command":"steer","success":true,"data":{"disposition":"queued"}}
            {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":"Well."}]},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":".","partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":"Well."}]},"assistantMessageEvent":{"type":"text_end","contentIndex":0,"content":"Well.","partial":"=message"},"usage":"=message.usage"}
            {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"text","text":"Well."}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
            {"type":"turn_end","message":"msg-2","toolResults":[]}
            {"type":"turn_start"}
            {"type":"queue_update","steering":["two"],"followUp":[]}
            {"type":"message_start","messageId":"msg-3","message":{"role":"user","content":[{"type":"text","text":"one"}],"attribution":"user","steering":true,"timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-3","message":"as it began"}
            {"type":"queue_update","steering":[],"followUp":[]}
            {"type":"message_start","messageId":"msg-4","message":{"role":"user","content":[{"type":"text","text":"two"},{"type":"image","data":"aGk=","mimeType":"image/png"}],"attribution":"user","steering":true,"timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-4","message":"as it began"}
            {"type":"message_start","messageId":"msg-5","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
            {"type":"message_update","messageId":"msg-5","message":{"…":"as it began","content":[{"type":"text","text":""}]},"assistantMessageEvent":{"type":"text_start","contentIndex":0,"partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-5","message":{"…":"as it began","content":[{"type":"text","text":"Heard: two"}]},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"Heard: two","partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-5","message":{"…":"as it began","content":[{"type":"text","text":"Heard: two"}]},"assistantMessageEvent":{"type":"text_end","contentIndex":0,"content":"Heard: two","partial":"=message"},"usage":"=message.usage"}
            {"type":"message_end","messageId":"msg-5","message":{"role":"assistant","content":[{"type":"text","text":"Heard: two"}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
            {"type":"turn_end","message":"msg-5","toolResults":[]}
            {"type":"agent_end","messages":["msg-1","msg-2","msg-3","msg-4","msg-5"],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":5}
            {"type":"prompt_result","id":"p","agentInvoked":true,"status":"completed","sessionSettled":true}
            {"type":"session_settled"}
            {"type":"agent_settled","aborted":false}
        "#]],
    );
}
