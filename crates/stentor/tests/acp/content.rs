//! What prompts are made of (section 6.1).

use expect_test::expect;
use serde_json::{Value, json};

use crate::client::Client;

const ECHO: &str =
    "[model]\nid = \"m\"\ninput = [\"text\"]\n[[turn]]\ntext = \"{{last_user}}\"\ntimes = 100\n";

/// Everything that is said to a prompt.
fn said(client: &mut Client, session: &str, prompt: Value) -> String {
    let id = client.send_wrong(
        "session/prompt",
        json!({ "sessionId": session, "prompt": prompt }),
    );
    let messages = client.until(id);
    client.shown(&messages)
}

#[test]
fn links_and_resources_are_read_into_the_prompt() {
    let mut client = Client::with(ECHO);
    client.world.file("work/a b.txt", "the text");
    client.world.file("work/huge.txt", &"x".repeat(300 * 1024));
    let session = client.session();
    let file = |name: &str| format!("file://{}", client.world.work(name).display());
    let (text, huge, missing) = (
        file("a%20b.txt#L1:2"),
        file("huge.txt"),
        file("missing.txt"),
    );
    let prompt = json!([
        { "type": "text", "text": "Look:" },
        { "type": "resource_link", "uri": text, "name": "a b.txt" },
        { "type": "resource_link", "uri": huge, "name": "huge.txt" },
        { "type": "resource_link", "uri": missing, "name": "missing.txt" },
        { "type": "resource_link", "uri": "https://example.org/x", "name": "a page" },
        { "type": "resource", "resource": { "uri": "file:///b", "text": "embedded" } },
        { "type": "resource", "resource": { "uri": "file:///c", "blob": "Ymxvyg==" } },
    ]);
    let refused = said(&mut client, &session, prompt.clone());
    let mut prompt = prompt;
    prompt.as_array_mut().unwrap().pop();
    let taken = said(&mut client, &session, prompt);
    expect![[r#"
        {"id":3,"error":{"code":-32602,"message":"prompt[6] is a resource of type \"\", which is neither text nor a picture."}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"session_info_update","title":"Look:…"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Look:\n<context uri=\"file://~~/work/a%20b.txt#L1:2\">\nthe text\n</context>\n[huge.txt](~~/work/huge.txt)\n[missing.txt](~~/work/missing.txt)\n[a page](https://example.org/x)\n<context uri=\"file:///b\">\nembedded\n</context>"},"messageId":"MSG"}}}
        {"id":4,"result":{"stopReason":"end_turn"}}"#]].assert_eq(&format!("{refused}\n{taken}"));
}

#[test]
fn what_the_model_cannot_take_is_refused_clearly() {
    let mut client = Client::with(ECHO);
    let session = client.session();
    let answers = [
        said(
            &mut client,
            &session,
            json!([{ "type": "audio", "data": "AA==", "mimeType": "audio/wav" }]),
        ),
        said(
            &mut client,
            &session,
            json!([{ "type": "image", "data": "AA==", "mimeType": "image/png" }]),
        ),
        said(&mut client, &session, json!([{ "type": "hologram" }])),
        said(&mut client, &session, json!([{ "type": "text" }])),
        said(&mut client, &session, json!([])),
        said(&mut client, &session, json!("text")),
    ];
    expect![[r#"
        {"id":3,"error":{"code":-32602,"message":"prompt[0] is audio, which this agent cannot take. Send a transcript as text."}}
        {"id":4,"error":{"code":-32602,"message":"prompt[0] is a picture, which script/m cannot see. Choose another model, or leave it out."}}
        {"id":5,"error":{"code":-32602,"message":"unknown variant `hologram`, expected one of `text`, `image`, `audio`, `resource_link`, `resource`"}}
        {"id":6,"error":{"code":-32602,"message":"missing field `text`"}}
        {"id":7,"error":{"code":-32602,"message":"The prompt is empty."}}
        {"id":8,"error":{"code":-32602,"message":"invalid type: string \"…\", expected a sequence"}}"#]].assert_eq(&answers.join("\n"));
    // A refused prompt leaves nothing behind.
    let fine = json!([{ "type": "text", "text": "fine" }]);
    expect![[r#"
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"session_info_update","title":"fine"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"fine"},"messageId":"MSG"}}}
        {"id":9,"result":{"stopReason":"end_turn"}}"#]].assert_eq(&said(&mut client, &session, fine));
}

#[test]
fn pictures_reach_a_model_that_sees() {
    let mut client = Client::with(&ECHO.replace("[\"text\"]", "[\"text\", \"image\"]"));
    let session = client.session();
    let prompt = json!([{ "type": "text", "text": "see" }, { "type": "image", "data": "AAAA", "mimeType": "image/png" }]);
    let bad = json!([{ "type": "image", "data": "?", "mimeType": "image/png" }]);
    let other = json!([{ "type": "image", "data": "AAAA", "mimeType": "text/plain" }]);
    let answers = [prompt, bad, other].map(|prompt| said(&mut client, &session, prompt));
    expect![[r#"
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"session_info_update","title":"see"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"see"},"messageId":"MSG"}}}
        {"id":3,"result":{"stopReason":"end_turn"}}
        {"id":4,"error":{"code":-32602,"message":"prompt[0] is a picture whose data is not base64."}}
        {"id":5,"error":{"code":-32602,"message":"prompt[0] is a picture whose mimeType is not that of an image."}}"#]].assert_eq(&answers.join("\n"));
    let cwd = client.world.work("");
    let id = client.send(
        "session/load",
        json!({ "sessionId": session, "cwd": cwd, "mcpServers": [] }),
    );
    let told = client.until(id);
    expect![[r#"
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"see"},"messageId":"MSG"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"user_message_chunk","content":{"type":"image","data":"AAAA","mimeType":"image/png"},"messageId":"MSG"}}}"#]].assert_eq(&client.shown(&told[..2]));
}
