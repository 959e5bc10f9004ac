//! Lines in and lines out (section 3).

use std::io::Write;

use expect_test::expect;
use serde_json::json;

use crate::child::{Child, Folder};
use crate::transcript::told;

const ECHO: &str = "on_exhausted = { text = \"{{last_user}}\" }\n[model]\nid = \"mock\"\n";

#[test]
fn a_frame_ends_with_a_line_feed_and_with_nothing_else_a_reader_may_take_for_an_end() {
    let folder = Folder::with(ECHO);
    let mut child = folder.child(&["--no-session"]);
    // Line and paragraph separators, a next-line character, controls and a carriage return.
    child.send(json!({"id": "p", "type": "prompt", "message": "a\u{2028}b\u{2029}c\u{85}d\re\u{0}f\u{1b}[0mg\th\"i\\j"}));
    let mut lines = vec![child.next_line()];
    while !lines.last().unwrap().contains("agent_settled") {
        lines.push(child.next_line());
    }
    let said = lines.iter().find(|line| line.contains("text_end")).unwrap();
    let event = said.split("\"content\":\"").nth(1).unwrap();
    let content = event.split("\",\"partial\"").next().unwrap();
    // The separators stay as they are; controls do not.
    assert_eq!(
        content,
        "a\u{2028}b\u{2029}c\u{85}d\\re\\u0000f\\u001b[0mg\\th\\\"i\\\\j"
    );
    for line in &lines {
        assert!(!line.contains(['\r', '\u{7}', '\u{1b}']), "{line:?}");
    }
}

#[test]
fn a_line_may_come_in_pieces_and_end_in_a_carriage_return() {
    let folder = Folder::with(ECHO);
    let mut process = folder
        .command(&["--no-session", "--model", "script/../scenario.toml"])
        .spawn()
        .unwrap();
    let mut stdin = process.stdin.take().unwrap();
    let line = "{\"id\":\"ä\",\"type\":\"steer\",\"message\":\"schön\"}\r\n\r\n   \n{\"id\":2,\"type\":\"clear_queue\"}\r\n";
    for byte in line.as_bytes() {
        stdin.write_all(&[*byte]).unwrap();
        stdin.flush().unwrap();
    }
    let mut child = Child::of(process);
    let frames = child.until(|frame| frame["id"] == 2);
    expect![[r#"
        {"type":"ready","protocolVersion":1,"supportedProtocolVersions":[1,2],"maxFrameBytes":1048576,"maxReassembledFrameBytes":67108864}
        {"type":"queue_update","steering":["schön"],"followUp":[]}
        {"id":"ä","type":"response","command":"steer","success":true,"data":{"disposition":"queued"}}
        {"type":"queue_update","steering":[],"followUp":[]}
        {"id":2,"type":"response","command":"clear_queue","success":true,"data":{"steering":["schön"],"followUp":[]}}
    "#]].assert_eq(&told(&frames, &folder));
    drop(stdin);
}

#[test]
fn an_id_of_any_kind_comes_back_as_it_was() {
    let folder = Folder::with(ECHO);
    let mut child = folder.child(&["--no-session"]);
    let mut answers = Vec::new();
    for id in [
        "1",
        "1.50",
        "123456789012345678901234567890",
        "\"req_1\"",
        "\"\"",
        "null",
        "true",
        "[1, \"x\"]",
        "{\"a\":  1}",
    ] {
        child.line(&format!("{{\"id\":{id},\"type\":\"abort_retry\"}}"));
        answers.push(child.next_line());
    }
    child.line("{\"type\":\"abort_retry\"}");
    answers.push(child.next_line());
    expect![[r#"
        {"id":1,"type":"response","command":"abort_retry","success":true}
        {"id":1.50,"type":"response","command":"abort_retry","success":true}
        {"id":123456789012345678901234567890,"type":"response","command":"abort_retry","success":true}
        {"id":"req_1","type":"response","command":"abort_retry","success":true}
        {"id":"","type":"response","command":"abort_retry","success":true}
        {"id":null,"type":"response","command":"abort_retry","success":true}
        {"id":true,"type":"response","command":"abort_retry","success":true}
        {"id":[1, "x"],"type":"response","command":"abort_retry","success":true}
        {"id":{"a":  1},"type":"response","command":"abort_retry","success":true}
        {"type":"response","command":"abort_retry","success":true}"#]].assert_eq(&answers.join("\n"));
}

#[test]
fn a_prompt_of_many_megabytes_is_taken() {
    let folder = Folder::with("[model]\nid = \"mock\"\n[[turn]]\ntext = \"Much.\"");
    let mut child = folder.child(&["--no-session"]);
    let picture = "QUJD".repeat(2_000_000);
    child.send(json!({"id": "p", "type": "prompt", "message": "look", "images": [{"type": "image", "data": picture, "mimeType": "image/png"}]}));
    let frames = child.until_type("agent_settled");
    expect![[r#"
        {"id":"p","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
        {"type":"agent_start"}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"look"},{"type":"image","data":"PICTURE","mimeType":"image/png"}],"attribution":"user","timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-1","message":"as it began"}
        {"type":"message_start","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":""}]},"assistantMessageEvent":{"type":"text_start","contentIndex":0,"partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":"Much."}]},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"Much.","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":"Much."}]},"assistantMessageEvent":{"type":"text_end","contentIndex":0,"content":"Much.","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"text","text":"Much."}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"turn_end","message":"msg-2","toolResults":[]}
        {"type":"agent_end","messages":["msg-1","msg-2"],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":2}
        {"type":"prompt_result","id":"p","agentInvoked":true,"status":"completed","sessionSettled":true}
        {"type":"session_settled"}
        {"type":"agent_settled","aborted":false}
    "#]].assert_eq(&told(&frames, &folder).replace(&picture, "PICTURE"));
}
