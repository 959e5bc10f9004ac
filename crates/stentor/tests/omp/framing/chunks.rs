//! Long objects in chunks, once a client has asked for protocol 2 (section 20).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use expect_test::expect;
use serde_json::{Value, json};

use crate::child::{Child, Folder, shown};
use crate::transcript::told;

const CHUNK_BYTES: usize = 262_144;

/// The line that answers a command with that id, however long.
fn answer_line(child: &mut Child, id: &str) -> String {
    let begin = format!("{{\"id\":\"{id}\",\"type\":\"response\"");
    loop {
        let line = child.next_line();
        if line.starts_with(&begin) {
            return line;
        }
    }
}

fn agree(child: &mut Child) {
    let agreed = child.data(json!({"type": "negotiate_protocol", "protocolVersion": 2}));
    assert_eq!(agreed, json!({"protocolVersion": 2}));
}

/// The chunks that an object must come in.
fn chunks_of(object: &str, number: usize) -> Vec<Value> {
    let pieces = object.as_bytes().chunks(CHUNK_BYTES);
    let count = pieces.len();
    let chunk = |(index, piece): (usize, &[u8])| {
        json!({
            "type": "rpc_chunk",
            "chunkId": format!("rpc-{number}"),
            "index": index,
            "count": count,
            "byteLength": object.len(),
            "data": STANDARD.encode(piece),
        })
    };
    pieces.enumerate().map(chunk).collect()
}

#[test]
fn a_long_object_is_one_line_until_chunks_are_agreed_on_and_then_comes_in_chunks_alone() {
    let folder = Folder::with("[[turn]]\ntext = \"x\"");
    folder.file("big.txt", &"0123456789 äöü".repeat(3_000));
    let mut child = folder.child(&["--no-session"]);
    for _ in 0..60 {
        child.data(json!({"type": "bash", "command": "cat big.txt"}));
    }
    child.send(json!({"id": "long", "type": "get_messages"}));
    let whole = answer_line(&mut child, "long");
    assert!(whole.len() > 2_000_000);

    agree(&mut child);
    // A command that goes on telling what it writes until the end of the test.
    let chatter = "while [ ! -e enough ]; do echo word; sleep 0.001; done";
    child.send(json!({"id": "b", "type": "bash", "command": chatter, "excludeFromContext": true}));
    child.until_type("bash_execution_update");
    for number in 1..=2 {
        child.send(json!({"id": "long", "type": "get_messages"}));
        let before = child.until_type("rpc_chunk");
        let mut chunks = vec![before.into_iter().next_back().unwrap()];
        let expected = chunks_of(&whole, number);
        chunks.extend((1..expected.len()).map(|_| child.next()));
        assert!(chunks == expected, "other chunks than those of the object");
    }
    folder.file("enough", "");
    child.until(|frame| frame["id"] == "b" && frame["type"] == "response");
}

/// The objects of a run, those that came in chunks put together again.
fn objects(child: &mut Child) -> Vec<Value> {
    let mut objects = Vec::new();
    let mut open = Vec::new();
    loop {
        let frame = child.next();
        let object = if frame["type"] == "rpc_chunk" {
            assert_eq!(frame["index"], open.len());
            open.push(STANDARD.decode(frame["data"].as_str().unwrap()).unwrap());
            if frame["count"] != open.len() {
                continue;
            }
            let whole = std::mem::take(&mut open).concat();
            assert_eq!(frame["byteLength"], whole.len());
            serde_json::from_slice(&whole).unwrap()
        } else {
            assert!(
                open.is_empty(),
                "a frame in the middle of an object: {frame}"
            );
            frame
        };
        let is_last = object["type"] == "agent_settled";
        objects.push(object);
        if is_last {
            return objects;
        }
    }
}

#[test]
fn events_come_in_chunks_too_and_are_the_same() {
    let folder = Folder::with("[model]\nid = \"mock\"\n[[turn]]\ntext = \"Much.\"");
    let mut child = folder.child(&["--no-session"]);
    agree(&mut child);
    let picture = "QUJD".repeat(400_000);
    child.send(json!({"id": "p", "type": "prompt", "message": "look", "images": [{"type": "image", "data": picture, "mimeType": "image/png"}]}));
    let frames = objects(&mut child);
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

/// Its updates repeat it up to three times, and are made while they go out.
#[test]
fn a_long_answer_is_in_whole_frames_with_chunks_and_without() {
    let text = "0123456789 \"äöü\"\n".repeat(60_000);
    let folder = Folder::with(&format!(
        "[model]\nid = \"mock\"\ncontext_window = 10000000\n[[turn]]\ntext = {}",
        json!(text)
    ));
    let escaped = json!(text).to_string();
    for with_chunks in [false, true] {
        let mut child = folder.child(&["--no-session"]);
        if with_chunks {
            agree(&mut child);
        }
        child.send(json!({"id": "p", "type": "prompt", "message": "go"}));
        let frames = objects(&mut child);
        expect![[r#"
            {"id":"p","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
            {"type":"agent_start"}
            {"type":"turn_start"}
            {"type":"message_start","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"go"}],"attribution":"user","timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-1","message":"as it began"}
            {"type":"message_start","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
            {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":""}]},"assistantMessageEvent":{"type":"text_start","contentIndex":0,"partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":TEXT}]},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":TEXT,"partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":TEXT}]},"assistantMessageEvent":{"type":"text_end","contentIndex":0,"content":TEXT,"partial":"=message"},"usage":"=message.usage"}
            {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"text","text":TEXT}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
            {"type":"turn_end","message":"msg-2","toolResults":[]}
            {"type":"agent_end","messages":["msg-1","msg-2"],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":2}
            {"type":"prompt_result","id":"p","agentInvoked":true,"status":"completed","sessionSettled":true}
            {"type":"session_settled"}
            {"type":"agent_settled","aborted":false}
        "#]].assert_eq(&told(&frames, &folder).replace(&escaped, "TEXT"));
    }
}

#[test]
fn an_event_that_is_too_long_for_chunks_is_told_of() {
    let folder = Folder::with("[model]\nid = \"mock\"\n[[turn]]\ntext = \"Too much.\"");
    let mut child = folder.child(&["--no-session"]);
    agree(&mut child);
    let picture = "QUJD".repeat(17_000_000);
    child.line(&format!(
        r#"{{"id":"p","type":"prompt","message":"look","images":[{{"data":"{picture}","mimeType":"image/png"}}]}}"#
    ));
    let frames = objects(&mut child);
    expect![[r#"
        {"id":"p","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
        {"type":"agent_start"}
        {"type":"turn_start"}
        {"type":"rpc_frame_error","originalType":"message_start","error":"RPC frame exceeded the transport limit"}
        {"type":"rpc_frame_error","originalType":"message_end","error":"RPC frame exceeded the transport limit"}
        {"type":"message_start","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":""}]},"assistantMessageEvent":{"type":"text_start","contentIndex":0,"partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":"Too much."}]},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"Too much.","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":"Too much."}]},"assistantMessageEvent":{"type":"text_end","contentIndex":0,"content":"Too much.","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"text","text":"Too much."}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"turn_end","message":"msg-2","toolResults":[]}
        {"type":"agent_end","messages":["msg-2"],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":2}
        {"type":"prompt_result","id":"p","agentInvoked":true,"status":"completed","sessionSettled":true}
        {"type":"session_settled"}
        {"type":"agent_settled","aborted":false}
    "#]].assert_eq(&told(&frames, &folder));
}

#[test]
fn an_object_that_is_too_long_for_chunks_is_answered_as_such_and_the_child_lives() {
    let folder = Folder::with("[[turn]]\ntext = \"x\"");
    let said = "x".repeat(17 * 1024 * 1024);
    let mut session = String::from(
        "{\"type\":\"session\",\"version\":3,\"id\":\"11111111-1111-4111-8111-111111111111\",\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"cwd\":\"/\"}\n",
    );
    for number in 1..=4 {
        let parent = match number {
            1 => "null".to_owned(),
            _ => format!("\"0000000{}\"", number - 1),
        };
        session.push_str(&format!(
            "{{\"type\":\"message\",\"id\":\"0000000{number}\",\"parentId\":{parent},\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"message\":{{\"role\":\"user\",\"content\":\"{said}\",\"timestamp\":1}}}}\n"
        ));
    }
    folder.file("long.jsonl", &session);
    let mut child = folder.child(&["--session", "long.jsonl"]);
    agree(&mut child);
    let answers = [
        child.ask(json!({"type": "get_messages"})),
        child.ask(json!({"type": "get_last_assistant_text"})),
    ];
    expect![[r#"
        {"id":"asked","type":"response","command":"get_messages","success":false,"error":"RPC response exceeded the transport limit"}
        {"id":"asked","type":"response","command":"get_last_assistant_text","success":true,"data":{}}
    "#]].assert_eq(&shown(&answers, &folder));
}
