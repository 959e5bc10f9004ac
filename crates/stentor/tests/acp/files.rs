//! The client's own files (section 11).

use expect_test::expect;
use serde_json::{Value, json};

use crate::client::{Client, is_request};

const EDIT: &str = r#"
[[turn]]
steps = [{ tool = "edit", id = "c1", arguments = { path = "a.txt", edits = [{ oldText = "unsaved", newText = "edited" }] } }]
[[turn]]
text = "{{last_tool_result}}"
"#;

fn both() -> Value {
    json!({ "fs": { "readTextFile": true, "writeTextFile": true } })
}

fn on_disk(client: &Client) -> String {
    std::fs::read_to_string(client.world.work("a.txt")).unwrap()
}

#[test]
fn edits_see_unsaved_text_and_go_through_the_editor() {
    let (mut client, session) = Client::unasked(EDIT, both());
    client.world.file("work/a.txt", "on disk\n");
    let params = json!({
        "sessionId": session,
        "prompt": [{ "type": "text", "text": "go" }],
        "_meta": { "traceparent": "00-a-b-01", "baggage": "x=1" },
    });
    let prompt = client.send("session/prompt", params);
    let messages = client.serve(prompt, |request| match request["method"].as_str() {
        Some("fs/read_text_file") => Some(json!({ "content": "unsaved\n" })),
        Some("fs/write_text_file") => Some(json!({})),
        _ => None,
    });
    expect![[r#"
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"session_info_update","title":"go"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call","toolCallId":"c1","title":"Edit a file","name":"edit","kind":"edit","status":"pending"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c1","kind":"edit","title":"Edit a.txt","locations":[{"path":"~~/work/a.txt"}],"rawInput":{"edits":[{"newText":"edited","oldText":"unsaved"}],"path":"a.txt"}}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"in_progress"}}}
        {"id":-1,"method":"fs/read_text_file","params":{"sessionId":"SESSION-1","path":"~~/work/a.txt","_meta":{"traceparent":"00-a-b-01","baggage":"x=1"}}}
        {"id":-2,"method":"fs/write_text_file","params":{"sessionId":"SESSION-1","path":"~~/work/a.txt","content":"edited\n","_meta":{"traceparent":"00-a-b-01","baggage":"x=1"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"completed","content":[{"type":"diff","path":"~~/work/a.txt","oldText":"unsaved\n","newText":"edited\n"}],"locations":[{"path":"~~/work/a.txt","line":1}],"rawOutput":{"output":"Successfully replaced 1 block(s) in a.txt.","details":{"diff":"-1 unsaved\n+1 edited","patch":"--- a.txt\n+++ a.txt\n@@ -1 +1 @@\n-unsaved\n+edited\n","firstChangedLine":1}}}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Successfully replaced 1 block(s) in a.txt."},"messageId":"MSG"}}}
        {"id":3,"result":{"stopReason":"end_turn","_meta":{"traceparent":"00-a-b-01","baggage":"x=1"}}}"#]].assert_eq(&client.shown(&messages));
    // Only the editor wrote.
    assert_eq!(on_disk(&client), "on disk\n");
}

#[test]
fn a_new_file_is_written_by_the_editor_and_shown_as_new() {
    let scenario = r#"
[[turn]]
steps = [{ tool = "write", id = "c1", arguments = { path = "new/b.txt", content = "fresh\n" } }]
[[turn]]
text = "Done."
"#;
    let (mut client, session) =
        Client::unasked(scenario, json!({ "fs": { "writeTextFile": true } }));
    let prompt = client.prompt(&session, "go");
    let mut messages = client.read_until(is_request);
    // `null` is as good as an empty object.
    client.reply_wrong(messages.last().unwrap(), json!({ "result": null }));
    messages.extend(client.until(prompt));
    expect![[r#"
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"session_info_update","title":"go"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call","toolCallId":"c1","title":"Write a file","name":"write","kind":"edit","status":"pending"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c1","kind":"edit","title":"Write new/b.txt","locations":[{"path":"~~/work/new/b.txt"}],"rawInput":{"content":"fresh\n","path":"new/b.txt"}}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"in_progress"}}}
        {"id":-1,"method":"fs/write_text_file","params":{"sessionId":"SESSION-1","path":"~~/work/new/b.txt","content":"fresh\n"}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"completed","content":[{"type":"diff","path":"~~/work/new/b.txt","newText":"fresh\n","oldText":null}],"rawOutput":{"output":"Successfully wrote 6 bytes to new/b.txt"}}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Done."},"messageId":"MSG"}}}
        {"id":3,"result":{"stopReason":"end_turn"}}"#]].assert_eq(&client.shown(&messages));
    assert!(!client.world.work("new/b.txt").exists());
}

#[test]
fn what_the_client_does_not_offer_is_not_asked_of_it() {
    for capabilities in [
        json!({}),
        json!({ "fs": {}, "terminal": false }),
        json!({ "fs": { "readTextFile": false, "writeTextFile": null } }),
    ] {
        let (mut client, _) = Client::unasked(&EDIT.replace("unsaved", "on disk"), both());
        client.greet_loosely(capabilities);
        let session = client.session();
        client.world.file("work/a.txt", "on disk\n");
        let prompt = client.prompt(&session, "go");
        let messages = client.until(prompt);
        assert!(!messages.iter().any(is_request));
        assert_eq!(on_disk(&client), "edited\n");
    }
}

#[test]
fn only_what_is_offered_is_used() {
    let (mut client, session) = Client::unasked(
        &EDIT.replace("unsaved", "on disk"),
        json!({ "fs": { "writeTextFile": true } }),
    );
    client.world.file("work/a.txt", "on disk\n");
    let prompt = client.prompt(&session, "go");
    let messages = client.serve(prompt, |_| Some(json!({})));
    let asked: Vec<Value> = messages.into_iter().filter(is_request).collect();
    expect![[r#"{"id":-1,"method":"fs/write_text_file","params":{"sessionId":"SESSION-1","path":"~~/work/a.txt","content":"edited\n"}}"#]].assert_eq(&client.shown(&asked));
}

#[test]
fn a_file_the_client_refuses_is_read_from_disk_but_never_written_behind_its_back() {
    let scenario = r#"
[[turn]]
steps = [{ tool = "read", id = "r", arguments = { path = "a.txt" } }]
[[turn]]
steps = [{ tool = "write", id = "w", arguments = { path = "a.txt", content = "new" } }]
[[turn]]
text = "{{last_tool_result}}"
"#;
    let (mut client, session) = Client::unasked(scenario, both());
    client.world.file("work/a.txt", "on disk\n");
    let prompt = client.prompt(&session, "go");
    let mut messages = Vec::new();
    loop {
        let message = client.read();
        if is_request(&message) {
            client.refuse(&message, -32000, "not in the project");
        }
        let is_last = message["id"] == prompt;
        messages.push(message);
        if is_last {
            break;
        }
    }
    expect![[r#"
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"session_info_update","title":"go"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call","toolCallId":"r","title":"Read a file","name":"read","kind":"read","status":"pending"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"r","kind":"read","title":"Read a.txt","locations":[{"path":"~~/work/a.txt"}],"rawInput":{"path":"a.txt"}}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"r","status":"in_progress"}}}
        {"id":-1,"method":"fs/read_text_file","params":{"sessionId":"SESSION-1","path":"~~/work/a.txt"}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"r","status":"completed","content":[{"type":"content","content":{"type":"text","text":"on disk\n"}}],"rawOutput":{"output":"on disk\n"}}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call","toolCallId":"w","title":"Write a file","name":"write","kind":"edit","status":"pending"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"w","kind":"edit","title":"Write a.txt","locations":[{"path":"~~/work/a.txt"}],"rawInput":{"content":"new","path":"a.txt"}}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"w","status":"in_progress"}}}
        {"id":-2,"method":"fs/write_text_file","params":{"sessionId":"SESSION-1","path":"~~/work/a.txt","content":"new"}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"w","status":"failed","content":[{"type":"content","content":{"type":"text","text":"~~/work/a.txt was not written: the client refused: not in the project"}}],"rawOutput":{"output":"~~/work/a.txt was not written: the client refused: not in the project","details":{}}}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"~~/work/a.txt was not written: the client refused: not in the project"},"messageId":"MSG"}}}
        {"id":3,"result":{"stopReason":"end_turn"}}"#]].assert_eq(&client.shown(&messages));
    assert_eq!(on_disk(&client), "on disk\n");
}

#[test]
fn an_answer_that_makes_no_sense_counts_as_none() {
    for answer in [
        json!({ "result": {} }),
        json!({ "result": { "content": 5 } }),
        json!({ "result": "text" }),
        json!({ "error": null }),
        json!({ "error": { "message": 7 } }),
    ] {
        let (mut client, session) = Client::unasked(
            &EDIT.replace("unsaved", "on disk"),
            json!({ "fs": { "readTextFile": true } }),
        );
        client.world.file("work/a.txt", "on disk\n");
        let prompt = client.prompt(&session, "go");
        let asked = client.read_until(is_request).pop().unwrap();
        client.reply_wrong(&asked, answer.clone());
        client.until(prompt);
        assert_eq!(on_disk(&client), "edited\n", "{answer}");
    }
}

#[test]
fn linked_files_go_into_the_prompt_as_they_are_in_the_editor() {
    let (mut client, session) = Client::unasked(
        "[[turn]]\ntext = \"{{last_user}}\"\n",
        json!({ "fs": { "readTextFile": true } }),
    );
    client.world.file("work/a.txt", "on disk\n");
    let uri = format!("file://{}", client.world.work("a.txt").display());
    let prompt = client.send(
        "session/prompt",
        json!({ "sessionId": session, "prompt": [{ "type": "resource_link", "uri": uri, "name": "a.txt" }] }),
    );
    let messages = client.serve(prompt, |_| Some(json!({ "content": "unsaved" })));
    expect![[r#"
        {"id":-1,"method":"fs/read_text_file","params":{"sessionId":"SESSION-1","path":"~~/work/a.txt"}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"session_info_update","title":"a.txt"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"<context uri=\"file://~~/work/a.txt\">\nunsaved\n</context>"},"messageId":"MSG"}}}
        {"id":3,"result":{"stopReason":"end_turn"}}"#]].assert_eq(&client.shown(&messages));
}
