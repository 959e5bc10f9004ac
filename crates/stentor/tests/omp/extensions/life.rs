//! What else happens to extensions: they keep something, die, are aborted, left out (sections 8 and 15).

use expect_test::expect;
use serde_json::{Value, json};

use crate::child::Folder;
use crate::extensions::ui::{DEMO, is_question, stage, start};
use crate::transcript::{told, without_reports};

#[test]
fn what_an_extension_keeps_is_told_as_an_entry_that_can_be_read_again() {
    let folder = stage("keep");
    let mut child = start(&folder);
    let mut frames = child.until_type("agent_settled");
    frames.extend(child.done(json!({"id": 1, "type": "get_entries"})));
    expect![[r#"
        {"id":"p","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
        {"type":"agent_start"}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"go"}],"attribution":"user","timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-1","message":"as it began"}
        {"type":"message_start","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"demo","arguments":{}}]},"assistantMessageEvent":{"type":"toolcall_start","contentIndex":0,"id":"call-1","toolName":"demo","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"demo","arguments":{"what":"keep"}}]},"assistantMessageEvent":{"type":"toolcall_delta","contentIndex":0,"delta":"{\"what\":\"keep\"}","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"demo","arguments":{"what":"keep"}}]},"assistantMessageEvent":{"type":"toolcall_end","contentIndex":0,"toolCall":{"type":"toolCall","id":"call-1","name":"demo","arguments":{"what":"keep"}},"partial":"=message"},"usage":"=message.usage"}
        {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"toolCall","id":"call-1","name":"demo","arguments":{"what":"keep"}}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"toolUse","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"tool_execution_start","toolCallId":"call-1","toolName":"demo","args":{"what":"keep"}}
        {"type":"entry_appended","entry":{"type":"custom","id":"ID1","parentId":"ID2","timestamp":"TIME","customType":"extension:demo","data":{"key":"k","value":{"a":1}}}}
        {"type":"entry_appended","entry":{"type":"custom","id":"ID3","parentId":"ID1","timestamp":"TIME","customType":"extension:demo","data":{"key":"k","value":null}}}
        {"type":"tool_execution_end","toolCallId":"call-1","toolName":"demo","result":{"content":[{"type":"text","text":"\"kept\""}]},"isError":false,"durationMs":"MS"}
        {"type":"message_start","messageId":"msg-3","message":{"role":"toolResult","toolCallId":"call-1","toolName":"demo","content":[{"type":"text","text":"\"kept\""}],"isError":false,"timestamp":"TIME"}}
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
        {"id":1,"type":"response","command":"get_entries","success":true,"data":{"entries":[{"type":"model_change","id":"ID4","parentId":null,"timestamp":"TIME","provider":"script","modelId":"mock","model":"script/mock"},{"type":"thinking_level_change","id":"ID5","parentId":"ID4","timestamp":"TIME","thinkingLevel":"medium"},{"type":"message","id":"ID6","parentId":"ID5","timestamp":"TIME","message":{"role":"user","content":[{"type":"text","text":"go"}],"attribution":"user","timestamp":"TIME"}},{"type":"message","id":"ID2","parentId":"ID6","timestamp":"TIME","message":{"role":"assistant","content":[{"type":"toolCall","id":"call-1","name":"demo","arguments":{"what":"keep"}}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"toolUse","timestamp":"TIME","duration":"MS","ttft":"MS"}},{"type":"custom","id":"ID1","parentId":"ID2","timestamp":"TIME","customType":"extension:demo","data":{"key":"k","value":{"a":1}}},{"type":"custom","id":"ID3","parentId":"ID1","timestamp":"TIME","customType":"extension:demo","data":{"key":"k","value":null}},{"type":"message","id":"ID7","parentId":"ID3","timestamp":"TIME","message":{"role":"toolResult","toolCallId":"call-1","toolName":"demo","content":[{"type":"text","text":"\"kept\""}],"isError":false,"timestamp":"TIME"}},{"type":"message","id":"ID8","parentId":"ID7","timestamp":"TIME","message":{"role":"assistant","content":[{"type":"text","text":"Done."}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}],"leafId":"ID8"}}
    "#]].assert_eq(&told(&frames, &folder));
}

#[test]
fn an_extension_that_dies_is_told_of_and_the_run_goes_on() {
    let folder = stage("die");
    let mut child = start(&folder);
    let is_error = |frame: &Value| frame["type"] == "extension_error";
    let settled = |frame: &Value| frame["type"] == "agent_settled";
    let frames = child.until_all(&[&is_error, &settled]);
    // Whether this or the end of the call is told first depends on who hears of it first.
    let (errors, run): (Vec<Value>, Vec<Value>) = frames.into_iter().partition(is_error);
    expect![[r#"
        {"type":"extension_error","extensionPath":"demo","event":"run","error":"it ended (exit status: 3); it said: kaboom; it is started again in 500 ms"}
    "#]].assert_eq(&told(&errors, &folder));
    expect![[r#"
        {"id":"p","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
        {"type":"agent_start"}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"go"}],"attribution":"user","timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-1","message":"as it began"}
        {"type":"message_start","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"demo","arguments":{}}]},"assistantMessageEvent":{"type":"toolcall_start","contentIndex":0,"id":"call-1","toolName":"demo","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"demo","arguments":{"what":"die"}}]},"assistantMessageEvent":{"type":"toolcall_delta","contentIndex":0,"delta":"{\"what\":\"die\"}","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"demo","arguments":{"what":"die"}}]},"assistantMessageEvent":{"type":"toolcall_end","contentIndex":0,"toolCall":{"type":"toolCall","id":"call-1","name":"demo","arguments":{"what":"die"}},"partial":"=message"},"usage":"=message.usage"}
        {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"toolCall","id":"call-1","name":"demo","arguments":{"what":"die"}}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"toolUse","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"tool_execution_start","toolCallId":"call-1","toolName":"demo","args":{"what":"die"}}
        {"type":"tool_execution_end","toolCallId":"call-1","toolName":"demo","result":{"content":[{"type":"text","text":"The extension `demo` failed: it ended before it answered"}],"details":{}},"isError":true,"durationMs":"MS"}
        {"type":"message_start","messageId":"msg-3","message":{"role":"toolResult","toolCallId":"call-1","toolName":"demo","content":[{"type":"text","text":"The extension `demo` failed: it ended before it answered"}],"details":{},"isError":true,"timestamp":"TIME"}}
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
    "#]].assert_eq(&told(&run, &folder));
}

#[test]
fn an_abort_withdraws_the_question_of_an_extension() {
    let folder = stage("ask");
    let mut child = start(&folder);
    let mut frames = child.until(is_question);
    let question = frames.last().unwrap()["id"].clone();
    child.send(json!({"id": "a", "type": "abort"}));
    let answered = |frame: &Value| frame["id"] == "a";
    let is_withdrawal = |frame: &Value| frame["method"] == "cancel";
    frames.extend(child.until_all(&[&answered, &is_withdrawal]));
    // The extension learns of the abort in its own time, withdraws what it asked, and may ask on.
    let (later, run): (Vec<Value>, Vec<Value>) = frames
        .into_iter()
        .partition(|frame| frame["type"] == "extension_ui_request" && frame["id"] != question);
    let withdrawals: Vec<Value> = later.into_iter().filter(is_withdrawal).collect();
    expect![[r#"
        {"type":"extension_ui_request","id":"3000000100000001","method":"cancel","targetId":"1000000100000001"}
    "#]].assert_eq(&told(&withdrawals, &folder));
    expect![[r#"
        {"id":"p","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
        {"type":"agent_start"}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"go"}],"attribution":"user","timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-1","message":"as it began"}
        {"type":"message_start","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"demo","arguments":{}}]},"assistantMessageEvent":{"type":"toolcall_start","contentIndex":0,"id":"call-1","toolName":"demo","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"demo","arguments":{"what":"ask"}}]},"assistantMessageEvent":{"type":"toolcall_delta","contentIndex":0,"delta":"{\"what\":\"ask\"}","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"demo","arguments":{"what":"ask"}}]},"assistantMessageEvent":{"type":"toolcall_end","contentIndex":0,"toolCall":{"type":"toolCall","id":"call-1","name":"demo","arguments":{"what":"ask"}},"partial":"=message"},"usage":"=message.usage"}
        {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"toolCall","id":"call-1","name":"demo","arguments":{"what":"ask"}}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"toolUse","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"tool_execution_start","toolCallId":"call-1","toolName":"demo","args":{"what":"ask"}}
        {"type":"extension_ui_request","id":"1000000100000001","method":"confirm","title":"Confirm","message":"Continue?"}
        {"type":"tool_execution_end","toolCallId":"call-1","toolName":"demo","result":{"content":[{"type":"text","text":"Operation aborted"}],"details":{}},"isError":true,"durationMs":"MS"}
        {"type":"message_start","messageId":"msg-3","message":{"role":"toolResult","toolCallId":"call-1","toolName":"demo","content":[{"type":"text","text":"Operation aborted"}],"details":{},"isError":true,"timestamp":"TIME"}}
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
    "#]].assert_eq(&told(&run, &folder));
    // It is too late for an answer, which is ignored.
    child.send(json!({"type": "extension_ui_response", "id": question, "confirmed": true}));
    let answer = child.ask(json!({"type": "get_last_assistant_text"}));
    expect![[r#"
        {"id":"asked","type":"response","command":"get_last_assistant_text","success":true,"data":{}}
    "#]].assert_eq(&told(&[answer], &folder));
}

#[test]
fn the_client_may_leave_while_a_question_is_open() {
    let folder = stage("ask");
    let mut child = start(&folder);
    child.until(is_question);
    let (_, code) = child.close();
    assert_eq!(code, Some(0));
}

#[test]
fn without_extensions_there_is_no_such_tool_but_one_that_is_named_is_there() {
    let folder = stage("show");
    folder.file("../home/.config/stentor/extensions/demo.py", DEMO);
    for (words, is_there) in [
        (&["--no-session"][..], true),
        (&["--no-session", "--no-extensions"], false),
        (&["--no-session", "-ne", "-e", "demo.py"], true),
        (&["--no-session", "-ne", "-e", "theirs.ts"], false),
    ] {
        let mut child = folder.child(words);
        let frames = child.prompt("go");
        let ended = |frame: &&Value| frame["type"] == "tool_execution_end";
        let end = frames.iter().find(ended).cloned().unwrap();
        let expected = if is_there {
            r#"{"type":"tool_execution_end","toolCallId":"call-1","toolName":"demo","result":{"content":[{"type":"text","text":"null"}]},"isError":false,"durationMs":"MS"}"#
        } else {
            r#"{"type":"tool_execution_end","toolCallId":"call-1","toolName":"demo","result":{"content":[{"type":"text","text":"Tool demo not found"}],"details":{}},"isError":true,"durationMs":"MS"}"#
        };
        assert_eq!(told(&[end], &folder).trim_end(), expected, "{words:?}");
    }
}

#[test]
fn what_an_extension_forbids_and_changes_is_told() {
    let folder = Folder::with(
        r#"
        on_exhausted = { text = "Done." }
        [model]
        id = "mock"
        [[turn]]
        steps = [{ tool = "bash", id = "call-1", arguments = { command = "cat secret" } }]
        [[turn]]
        steps = [{ tool = "bash", id = "call-2", arguments = { command = "echo old" } }]
        [[turn]]
        steps = [{ tool = "bash", id = "call-3", arguments = { command = "echo look" } }]
        "#,
    );
    folder.file("hooks.py", include_str!("hooks.py"));
    let mut child = folder.child(&["--no-session", "--extension", "hooks.py"]);
    let frames = without_reports(child.prompt("go"));
    expect![[r#"
        {"id":"prompt","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
        {"type":"agent_start"}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"go"}],"attribution":"user","timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-1","message":"as it began"}
        {"type":"message_start","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"bash","arguments":{}}]},"assistantMessageEvent":{"type":"toolcall_start","contentIndex":0,"id":"call-1","toolName":"bash","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"bash","arguments":{"command":"cat secret"}}]},"assistantMessageEvent":{"type":"toolcall_delta","contentIndex":0,"delta":"{\"command\":\"cat secret\"}","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-1","name":"bash","arguments":{"command":"cat secret"}}]},"assistantMessageEvent":{"type":"toolcall_end","contentIndex":0,"toolCall":{"type":"toolCall","id":"call-1","name":"bash","arguments":{"command":"cat secret"}},"partial":"=message"},"usage":"=message.usage"}
        {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"toolCall","id":"call-1","name":"bash","arguments":{"command":"cat secret"}}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"toolUse","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"tool_execution_start","toolCallId":"call-1","toolName":"bash","args":{"command":"cat secret"}}
        {"type":"tool_execution_end","toolCallId":"call-1","toolName":"bash","result":{"content":[{"type":"text","text":"secrets stay secret"}],"details":{}},"isError":true,"durationMs":"MS"}
        {"type":"message_start","messageId":"msg-3","message":{"role":"toolResult","toolCallId":"call-1","toolName":"bash","content":[{"type":"text","text":"secrets stay secret"}],"details":{},"isError":true,"timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-3","message":"as it began"}
        {"type":"turn_end","message":"msg-2","toolResults":["msg-3"]}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-4","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-4","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-2","name":"bash","arguments":{}}]},"assistantMessageEvent":{"type":"toolcall_start","contentIndex":0,"id":"call-2","toolName":"bash","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-4","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-2","name":"bash","arguments":{"command":"echo old"}}]},"assistantMessageEvent":{"type":"toolcall_delta","contentIndex":0,"delta":"{\"command\":\"echo old\"}","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-4","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-2","name":"bash","arguments":{"command":"echo old"}}]},"assistantMessageEvent":{"type":"toolcall_end","contentIndex":0,"toolCall":{"type":"toolCall","id":"call-2","name":"bash","arguments":{"command":"echo old"}},"partial":"=message"},"usage":"=message.usage"}
        {"type":"message_end","messageId":"msg-4","message":{"role":"assistant","content":[{"type":"toolCall","id":"call-2","name":"bash","arguments":{"command":"echo old"}}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"toolUse","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"tool_execution_start","toolCallId":"call-2","toolName":"bash","args":{"command":"echo old"}}
        {"type":"notice","level":"info","message":"An extension changed a call: bash {\"command\":\"echo new\"}"}
        {"type":"extension_ui_request","id":"3000000100000001","method":"notify","message":"An extension changed a call: bash {\"command\":\"echo new\"}","notifyType":"info"}
        {"type":"tool_execution_end","toolCallId":"call-2","toolName":"bash","result":{"content":[{"type":"text","text":"new\n"}]},"isError":false,"durationMs":"MS"}
        {"type":"message_start","messageId":"msg-5","message":{"role":"toolResult","toolCallId":"call-2","toolName":"bash","content":[{"type":"text","text":"new\n"}],"isError":false,"timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-5","message":"as it began"}
        {"type":"turn_end","message":"msg-4","toolResults":["msg-5"]}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-6","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-6","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-3","name":"bash","arguments":{}}]},"assistantMessageEvent":{"type":"toolcall_start","contentIndex":0,"id":"call-3","toolName":"bash","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-6","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-3","name":"bash","arguments":{"command":"echo look"}}]},"assistantMessageEvent":{"type":"toolcall_delta","contentIndex":0,"delta":"{\"command\":\"echo look\"}","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-6","message":{"…":"as it began","content":[{"type":"toolCall","id":"call-3","name":"bash","arguments":{"command":"echo look"}}]},"assistantMessageEvent":{"type":"toolcall_end","contentIndex":0,"toolCall":{"type":"toolCall","id":"call-3","name":"bash","arguments":{"command":"echo look"}},"partial":"=message"},"usage":"=message.usage"}
        {"type":"message_end","messageId":"msg-6","message":{"role":"assistant","content":[{"type":"toolCall","id":"call-3","name":"bash","arguments":{"command":"echo look"}}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"toolUse","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"tool_execution_start","toolCallId":"call-3","toolName":"bash","args":{"command":"echo look"}}
        {"type":"tool_execution_end","toolCallId":"call-3","toolName":"bash","result":{"content":[{"type":"text","text":"looked at"}]},"isError":false,"durationMs":"MS"}
        {"type":"message_start","messageId":"msg-7","message":{"role":"toolResult","toolCallId":"call-3","toolName":"bash","content":[{"type":"text","text":"looked at"}],"isError":false,"timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-7","message":"as it began"}
        {"type":"turn_end","message":"msg-6","toolResults":["msg-7"]}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-8","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-8","message":{"…":"as it began","content":[{"type":"text","text":""}]},"assistantMessageEvent":{"type":"text_start","contentIndex":0,"partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-8","message":{"…":"as it began","content":[{"type":"text","text":"Done."}]},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"Done.","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-8","message":{"…":"as it began","content":[{"type":"text","text":"Done."}]},"assistantMessageEvent":{"type":"text_end","contentIndex":0,"content":"Done.","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_end","messageId":"msg-8","message":{"role":"assistant","content":[{"type":"text","text":"Done."}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"turn_end","message":"msg-8","toolResults":[]}
        {"type":"agent_end","messages":["msg-1","msg-2","msg-3","msg-4","msg-5","msg-6","msg-7","msg-8"],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":8}
        {"type":"prompt_result","id":"prompt","agentInvoked":true,"status":"completed","sessionSettled":true}
        {"type":"session_settled"}
        {"type":"agent_settled","aborted":false}
    "#]].assert_eq(&told(&frames, &folder));
    child.send(json!({"id": "f", "type": "prompt", "message": "something forbidden"}));
    let ended = |frame: &Value| {
        frame["type"] == "agent_settled"
            || (frame["type"] == "response" && frame["success"] == false)
    };
    let frames = child.until(ended);
    expect![[r#"
        {"id":"f","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
        {"type":"agent_start"}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-9","message":{"role":"user","content":[{"type":"text","text":"something forbidden"}],"attribution":"user","timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-9","message":"as it began"}
        {"type":"message_start","messageId":"msg-10","message":{"role":"assistant","content":[],"api":"unknown","provider":"unknown","model":"unknown","usage":"nothing","stopReason":"error","errorMessage":"not before noon","timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-10","message":"as it began"}
        {"type":"turn_end","message":"msg-10","toolResults":[]}
        {"type":"agent_end","messages":["msg-9","msg-10"],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":2}
        {"type":"prompt_result","id":"f","agentInvoked":true,"status":"error","error":{"message":"not before noon","provider":"unknown","model":"unknown","retryable":false},"sessionSettled":true}
        {"type":"session_settled"}
        {"type":"agent_settled","aborted":false}
    "#]].assert_eq(&told(&frames, &folder));
}

#[test]
fn an_extension_may_show_and_ask_something_before_anything_was_said() {
    let folder = Folder::with("[model]\nid = \"mock\"\n[[turn]]\ntext = \"x\"");
    folder.file("greets.py", include_str!("greets.py"));
    let mut child = folder.child(&["--no-session", "--extension", "greets.py"]);
    let mut frames = child.until(is_question);
    let question = frames.last().unwrap()["id"].clone();
    child.send(json!({"type": "extension_ui_response", "id": question, "confirmed": true}));
    frames.extend(child.until(|frame| frame["method"] == "setTitle"));
    expect![[r#"
        {"type":"extension_ui_request","id":"3000000100000001","method":"notify","message":"hello","notifyType":"info"}
        {"type":"extension_ui_request","id":"3000000100000002","method":"setStatus","statusKey":"greets:s","statusText":"here"}
        {"type":"extension_ui_request","id":"1000000100000001","method":"confirm","title":"Trust","message":"Go on?"}
        {"type":"extension_ui_request","id":"3000000100000003","method":"setTitle","title":"trusted"}
    "#]].assert_eq(&told(&frames, &folder));
}
