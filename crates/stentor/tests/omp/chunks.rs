//! Long objects in chunks, once a client has asked for protocol 2 (section 20).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use expect_test::expect;
use serde_json::{Value, json};

use crate::child::{Child, Folder, shown};

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
