//! The message while it is being written: snapshots, deltas, filters (sections 8 and 19).

use std::io::Write;

use expect_test::expect;
use rustix::io::ioctl_fionread;
use serde_json::{Value, json};

use crate::child::{Child, Folder};
use crate::transcript::told;

fn long(times: u32) -> Folder {
    Folder::with(&format!(
        "[model]\nid = \"mock\"\n[[turn]]\ntext = \"word {{{{n}}}}\\n\"\nrepeat = {times}"
    ))
}

fn expected(times: u32) -> String {
    (1..=times).map(|n| format!("word {n}\n")).collect()
}

fn deltas(frames: &[Value]) -> impl Iterator<Item = &str> {
    frames
        .iter()
        .filter_map(|frame| frame["assistantMessageEvent"]["delta"].as_str())
}

#[test]
fn snapshots_hold_exactly_what_the_deltas_say_and_nothing_is_lost() {
    let folder = long(5_000);
    let mut child = folder.child(&["--no-session"]);
    let frames = child.prompt("go");
    let mut text = String::new();
    for frame in &frames {
        let event = &frame["assistantMessageEvent"];
        if let Some(delta) = event["delta"].as_str() {
            text.push_str(delta);
            assert_eq!(frame["message"]["content"][0]["text"], text);
            assert_eq!(frame["message"], event["partial"]);
            assert_eq!(frame["usage"], frame["message"]["usage"]);
        }
    }
    assert_eq!(text, expected(5_000));
    let ended = frames
        .iter()
        .find(|frame| frame["assistantMessageEvent"]["type"] == "text_end");
    assert_eq!(ended.unwrap()["assistantMessageEvent"]["content"], text);
    let updates = deltas(&frames).count();
    assert!(
        updates < 2_500,
        "deltas that came together went out one by one: {updates}"
    );
    let words = expected(5_000).replace('\n', "\\n");
    expect![[r#"
        {"id":"prompt","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
        {"type":"agent_start"}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"go"}],"attribution":"user","timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-1","message":"as it began"}
        {"type":"message_start","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":""}]},"assistantMessageEvent":{"type":"text_start","contentIndex":0,"partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":"WORDS"}]},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"WORDS","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":"WORDS"}]},"assistantMessageEvent":{"type":"text_end","contentIndex":0,"content":"WORDS","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"text","text":"WORDS"}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"turn_end","message":"msg-2","toolResults":[]}
        {"type":"agent_end","messages":["msg-1","msg-2"],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":2}
        {"type":"prompt_result","id":"prompt","agentInvoked":true,"status":"completed","sessionSettled":true}
        {"type":"session_settled"}
        {"type":"agent_settled","aborted":false}
    "#]].assert_eq(&told(&frames, &folder).replace(&words, "WORDS"));
}

#[test]
fn delta_only_updates_carry_only_what_is_new() {
    let folder = long(2_000);
    let mut child = folder.child(&["--no-session"]);
    let filter =
        json!({"id": 1, "type": "set_event_filter", "events": null, "messageUpdates": "delta"});
    let mut frames = child.done(filter);
    frames.extend(child.prompt("go"));
    let words = expected(2_000).replace('\n', "\\n");
    expect![[r#"
        {"id":1,"type":"response","command":"set_event_filter","success":true,"data":{"events":null,"messageUpdates":"delta"}}
        {"id":"prompt","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
        {"type":"agent_start"}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"go"}],"attribution":"user","timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-1","message":"as it began"}
        {"type":"message_start","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-2","message":{"role":"assistant"},"assistantMessageEvent":{"type":"text_start","contentIndex":0}}
        {"type":"message_update","messageId":"msg-2","message":{"role":"assistant"},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"WORDS"}}
        {"type":"message_update","messageId":"msg-2","message":{"role":"assistant"},"assistantMessageEvent":{"type":"text_end","contentIndex":0,"content":"WORDS"}}
        {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"text","text":"WORDS"}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"turn_end","message":"msg-2","toolResults":[]}
        {"type":"agent_end","messages":["msg-1","msg-2"],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":2}
        {"type":"prompt_result","id":"prompt","agentInvoked":true,"status":"completed","sessionSettled":true}
        {"type":"session_settled"}
        {"type":"agent_settled","aborted":false}
    "#]].assert_eq(&told(&frames, &folder).replace(&words, "WORDS"));
}

#[test]
fn delta_only_updates_tell_of_thinking_and_calls_too() {
    let folder = Folder::with(
        r#"
        on_exhausted = { text = "Done." }
        [model]
        id = "mock"
        [[turn]]
        steps = [
          { thinking = "Hm.", signature = "c2ln" },
          { text = "I look." },
          { tool = "read", id = "call-1", arguments = { path = "notes.txt" } },
        ]
        "#,
    );
    folder.file("notes.txt", "alpha\n");
    let mut child = folder.child(&["--no-session"]);
    let filter =
        json!({"id": 1, "type": "set_event_filter", "events": null, "messageUpdates": "delta"});
    let mut frames = child.done(filter);
    frames.extend(child.prompt("go"));
    let back =
        json!({"id": 2, "type": "set_event_filter", "events": null, "messageUpdates": "full"});
    frames.extend(child.done(back));
    frames.extend(child.prompt("again"));
    expect![[r#"
        {"id":1,"type":"response","command":"set_event_filter","success":true,"data":{"events":null,"messageUpdates":"delta"}}
        {"id":"prompt","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
        {"type":"agent_start"}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"go"}],"attribution":"user","timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-1","message":"as it began"}
        {"type":"message_start","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-2","message":{"role":"assistant"},"assistantMessageEvent":{"type":"thinking_start","contentIndex":0}}
        {"type":"message_update","messageId":"msg-2","message":{"role":"assistant"},"assistantMessageEvent":{"type":"thinking_delta","contentIndex":0,"delta":"Hm."}}
        {"type":"message_update","messageId":"msg-2","message":{"role":"assistant"},"assistantMessageEvent":{"type":"thinking_end","contentIndex":0,"content":"Hm."}}
        {"type":"message_update","messageId":"msg-2","message":{"role":"assistant"},"assistantMessageEvent":{"type":"text_start","contentIndex":1}}
        {"type":"message_update","messageId":"msg-2","message":{"role":"assistant"},"assistantMessageEvent":{"type":"text_delta","contentIndex":1,"delta":"I look."}}
        {"type":"message_update","messageId":"msg-2","message":{"role":"assistant"},"assistantMessageEvent":{"type":"text_end","contentIndex":1,"content":"I look."}}
        {"type":"message_update","messageId":"msg-2","message":{"role":"assistant"},"assistantMessageEvent":{"type":"toolcall_start","contentIndex":2,"id":"call-1","toolName":"read"}}
        {"type":"message_update","messageId":"msg-2","message":{"role":"assistant"},"assistantMessageEvent":{"type":"toolcall_delta","contentIndex":2,"delta":"{\"path\":\"notes.txt\"}"}}
        {"type":"message_update","messageId":"msg-2","message":{"role":"assistant"},"assistantMessageEvent":{"type":"toolcall_end","contentIndex":2,"toolCall":{"type":"toolCall","id":"call-1","name":"read","arguments":{"path":"notes.txt"}}}}
        {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"thinking","thinking":"Hm.","thinkingSignature":"c2ln"},{"type":"text","text":"I look."},{"type":"toolCall","id":"call-1","name":"read","arguments":{"path":"notes.txt"}}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"toolUse","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"tool_execution_start","toolCallId":"call-1","toolName":"read","args":{"path":"notes.txt"}}
        {"type":"tool_execution_end","toolCallId":"call-1","toolName":"read","result":{"content":[{"type":"text","text":"alpha\n"}]},"isError":false,"durationMs":"MS"}
        {"type":"message_start","messageId":"msg-3","message":{"role":"toolResult","toolCallId":"call-1","toolName":"read","content":[{"type":"text","text":"alpha\n"}],"isError":false,"timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-3","message":"as it began"}
        {"type":"turn_end","message":"msg-2","toolResults":["msg-3"]}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-4","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-4","message":{"role":"assistant"},"assistantMessageEvent":{"type":"text_start","contentIndex":0}}
        {"type":"message_update","messageId":"msg-4","message":{"role":"assistant"},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"Done."}}
        {"type":"message_update","messageId":"msg-4","message":{"role":"assistant"},"assistantMessageEvent":{"type":"text_end","contentIndex":0,"content":"Done."}}
        {"type":"message_end","messageId":"msg-4","message":{"role":"assistant","content":[{"type":"text","text":"Done."}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"turn_end","message":"msg-4","toolResults":[]}
        {"type":"agent_end","messages":["msg-1","msg-2","msg-3","msg-4"],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":4}
        {"type":"prompt_result","id":"prompt","agentInvoked":true,"status":"completed","sessionSettled":true}
        {"type":"session_settled"}
        {"type":"agent_settled","aborted":false}
        {"id":2,"type":"response","command":"set_event_filter","success":true,"data":{"events":null,"messageUpdates":"full"}}
        {"id":"prompt","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
        {"type":"agent_start"}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-5","message":{"role":"user","content":[{"type":"text","text":"again"}],"attribution":"user","timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-5","message":"as it began"}
        {"type":"message_start","messageId":"msg-6","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-6","message":{"…":"as it began","content":[{"type":"text","text":""}]},"assistantMessageEvent":{"type":"text_start","contentIndex":0,"partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-6","message":{"…":"as it began","content":[{"type":"text","text":"Done."}]},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"Done.","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-6","message":{"…":"as it began","content":[{"type":"text","text":"Done."}]},"assistantMessageEvent":{"type":"text_end","contentIndex":0,"content":"Done.","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_end","messageId":"msg-6","message":{"role":"assistant","content":[{"type":"text","text":"Done."}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"turn_end","message":"msg-6","toolResults":[]}
        {"type":"agent_end","messages":["msg-5","msg-6"],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":2}
        {"type":"prompt_result","id":"prompt","agentInvoked":true,"status":"completed","sessionSettled":true}
        {"type":"session_settled"}
        {"type":"agent_settled","aborted":false}
    "#]].assert_eq(&told(&frames, &folder));
}

#[test]
fn a_filter_holds_back_events_but_not_the_end_of_a_prompt() {
    let folder = long(3);
    let mut child = folder.child(&["--no-session"]);
    let filter = json!({"id": 1, "type": "set_event_filter", "events": ["message_end"]});
    let mut frames = child.done(filter);
    frames.extend(child.prompt("go"));
    expect![[r#"
        {"id":1,"type":"response","command":"set_event_filter","success":true,"data":{"events":["message_end"],"messageUpdates":"full"}}
        {"id":"prompt","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
        {"type":"message_end","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"go"}],"attribution":"user","timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"text","text":"word 1\nword 2\nword 3\n"}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"prompt_result","id":"prompt","agentInvoked":true,"status":"completed","sessionSettled":true}
        {"type":"session_settled"}
        {"type":"agent_settled","aborted":false}
    "#]].assert_eq(&told(&frames, &folder));
}

#[test]
fn an_abort_gets_through_although_nobody_reads() {
    let folder = Folder::with(
        "[model]\nid = \"mock\"\n[[turn]]\ntext = \"word {{n}} \"\nrepeat = 300000\n[[turn]]\ntext = \"x\"",
    );
    let words = ["--model", "script/../scenario.toml", "--no-session"];
    let mut process = folder.command(&words).spawn().unwrap();
    let mut stdin = process.stdin.take().unwrap();
    writeln!(stdin, r#"{{"id":"p","type":"prompt","message":"go"}}"#).unwrap();
    // The child cannot write any further: what waits for the reader fills the pipe. One whose pages
    // are only partly filled is full with half of its size.
    let waiting = || ioctl_fionread(process.stdout.as_ref().unwrap()).unwrap();
    while waiting() < 30_000 {
        std::thread::yield_now();
    }
    writeln!(stdin, r#"{{"id":"a","type":"abort"}}"#).unwrap();
    let mut child = Child::of(process);
    let frames = child.until(|frame| frame["id"] == "a");
    // How much was said depends on time; it is said alike everywhere.
    let is_end =
        |frame: &&Value| frame["type"] == "message_end" && frame["message"]["role"] == "assistant";
    let ended = frames.iter().find(is_end).unwrap();
    let said = ended["message"]["content"][0]["text"].as_str().unwrap();
    expect![[r#"
        {"type":"ready","protocolVersion":1,"supportedProtocolVersions":[1,2],"maxFrameBytes":1048576,"maxReassembledFrameBytes":67108864}
        {"id":"p","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
        {"type":"agent_start"}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"go"}],"attribution":"user","timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-1","message":"as it began"}
        {"type":"message_start","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":""}]},"assistantMessageEvent":{"type":"text_start","contentIndex":0,"partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":"SAID"}]},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"SAID","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"text","text":"SAID"}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"aborted","errorMessage":"Request was aborted","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"turn_end","message":"msg-2","toolResults":[]}
        {"type":"agent_end","messages":["msg-1","msg-2"],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":2}
        {"type":"prompt_result","id":"p","agentInvoked":true,"status":"aborted","sessionSettled":true}
        {"type":"session_settled"}
        {"type":"agent_settled","aborted":true}
        {"id":"a","type":"response","command":"abort","success":true}
    "#]].assert_eq(&told(&frames, &folder).replace(said, "SAID"));
}
