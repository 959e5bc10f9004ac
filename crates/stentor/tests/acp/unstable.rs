//! What the schema has only as unstable: forks, statuses, titles and system prompts (section 5.7).

use std::io::Write;
use std::sync::mpsc;

use expect_test::expect;
use serde_json::{Value, json};
use stentor_test_support::http;

use crate::client::Client;
use crate::world::World;

const TALK: &str = r#"
[[turn]]
text = "One."
[[turn]]
text = "Two."
[[turn]]
text = "Three."
"#;

/// Asks what answers with a new session, and returns its id with what came.
fn opened(client: &mut Client, method: &str, params: Value) -> (String, Vec<Value>) {
    let id = client.send(method, params);
    let mut messages = client.until(id);
    let answer = messages.last().unwrap();
    let session = answer["result"]["sessionId"].as_str().unwrap().to_owned();
    client.know(&session);
    messages.push(client.read());
    (session, messages)
}

/// What a session has said, as loading it tells.
fn told(client: &mut Client, session: &str) -> Vec<String> {
    let cwd = client.world.work("");
    let params = json!({ "sessionId": session, "cwd": cwd, "mcpServers": [] });
    let id = client.send("session/load", params);
    let texts = client.until(id).into_iter().filter_map(|message| {
        let text = message["params"]["update"]["content"]["text"].as_str()?;
        Some(text.to_owned())
    });
    texts.collect()
}

#[test]
fn a_fork_begins_with_what_was_said_and_goes_its_own_way() {
    let mut client = Client::with(TALK);
    let source = client.session();
    client.turn(&source, "first");
    let cwd = client.world.work("");
    let params = json!({ "sessionId": source, "cwd": cwd, "mcpServers": [] });
    let (fork, messages) = opened(&mut client, "session/fork", params);
    assert_ne!(fork, source);
    let fields = messages[0]["result"].as_object().unwrap().keys();
    let fields: Vec<_> = fields.collect();
    assert_eq!(fields, ["sessionId", "modes", "configOptions"]);
    client.turn(&fork, "second");
    assert_eq!(told(&mut client, &source), ["first", "One."]);
    assert_eq!(
        told(&mut client, &fork),
        ["first", "One.", "second", "Two."]
    );
    // Also of one that is not open, in another process.
    let mut client = client.restart();
    let cwd = client.world.work("");
    let params = json!({ "sessionId": fork, "cwd": cwd, "mcpServers": [] });
    let (again, _) = opened(&mut client, "session/fork", params);
    assert_eq!(told(&mut client, &again).len(), 4);
}

#[test]
fn only_what_is_stored_can_be_forked_and_only_into_a_folder() {
    let mut client = Client::with(TALK);
    let session = client.session();
    let cwd = client.world.work("");
    let answers = [
        client.ask("session/fork", json!({ "sessionId": "nobody", "cwd": cwd })),
        client.ask("session/fork", json!({ "sessionId": "../x", "cwd": cwd })),
        client.ask("session/fork", json!({ "sessionId": session, "cwd": "x" })),
        client.ask("session/fork", json!({ "sessionId": session })),
    ];
    expect![[r#"
        {"id":3,"error":{"code":-32002,"message":"There is no such session. List the sessions, or start a new one.","data":{"sessionId":"nobody"}}}
        {"id":4,"error":{"code":-32602,"message":"sessionId is not one this agent gives: letters, digits, `-`, `_` and `.`","data":{"field":"sessionId"}}}
        {"id":5,"error":{"code":-32602,"message":"cwd must be an absolute path; seen from the folder the agent was started in it would be ~~/work/x","data":{"field":"cwd","absolute":"~~/work/x"}}}
        {"id":6,"error":{"code":-32602,"message":"missing field `cwd`"}}"#]].assert_eq(&client.shown(&answers));
}

#[test]
fn a_status_says_what_is_in_memory_and_opens_nothing() {
    let mut client = Client::with(TALK);
    let session = client.session();
    client.turn(&session, "first");
    let status = |client: &mut Client, id: &str| {
        let answer = client.ask("session/status", json!({ "sessionId": id }));
        client.plain(&answer)
    };
    expect![[r#"{"id":4,"result":{"status":"open"}}"#]].assert_eq(&status(&mut client, &session));
    let mut client = client.restart();
    expect![[r#"{"id":2,"result":{"status":"saved"}}"#]].assert_eq(&status(&mut client, &session));
    expect![[r#"{"id":3,"result":{"status":"saved"}}"#]].assert_eq(&status(&mut client, &session));
    expect![[r#"{"id":4,"error":{"code":-32002,"message":"There is no such session. List the sessions, or start a new one.","data":{"sessionId":"nobody"}}}"#]].assert_eq(&status(&mut client, "nobody"));
    expect![[r#"{"id":5,"error":{"code":-32602,"message":"sessionId is not one this agent gives: letters, digits, `-`, `_` and `.`","data":{"field":"sessionId"}}}"#]].assert_eq(&status(&mut client, ""));
}

#[test]
fn a_title_is_set_whether_the_session_is_open_or_not() {
    let mut client = Client::with(TALK);
    let session = client.session();
    client.turn(&session, "first");
    let titled = |client: &mut Client, title: Value| {
        let params = json!({ "sessionId": session, "title": title });
        let id = client.send_wrong("session/set_title", params);
        let messages = client.until(id);
        client.shown(&messages)
    };
    expect![[r#"
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"session_info_update","title":"A name…"}}}
        {"id":4,"result":{"title":"A name…"}}"#]].assert_eq(&titled(&mut client, json!("  A name\nand more ")));
    expect![[r#"{"id":5,"error":{"code":-32602,"message":"title must not be empty"}}"#]]
        .assert_eq(&titled(&mut client, json!(" \n ")));
    expect![[
        r#"{"id":6,"error":{"code":-32602,"message":"invalid type: null, expected a string"}}"#
    ]]
    .assert_eq(&titled(&mut client, json!(null)));
    let mut client = client.restart();
    expect![[r#"{"id":2,"result":{"title":"Another"}}"#]]
        .assert_eq(&titled(&mut client, json!("Another")));
    let listed = client.ask("session/list", json!({}));
    assert_eq!(listed["result"]["sessions"][0]["title"], "Another");
    let params = json!({ "sessionId": "nobody", "title": "x" });
    let nobody = client.ask("session/set_title", params);
    assert_eq!(nobody["error"]["code"], -32002, "{nobody}");
    // It has stayed closed.
    let status = client.ask("session/status", json!({ "sessionId": session }));
    assert_eq!(status["result"]["status"], "saved");
}

/// A client of a model that answers "ok", and what the model is sent as its system prompt.
fn at_a_model() -> (Client, mpsc::Receiver<String>) {
    let (seen, prompts) = mpsc::channel();
    let address = http::listen(move |mut connection| {
        let Ok(Some(request)) = http::Request::of(&connection) else {
            return;
        };
        let body: Value = serde_json::from_str(&request.body).unwrap_or_default();
        if let Some(system) = body["messages"][0]["content"].as_str() {
            let _ = seen.send(system.to_owned());
        }
        let events = concat!(
            "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"ok\"}}]}\n\n",
            "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
            "data: [DONE]\n\n",
        );
        write!(connection, "{}{events}", http::EVENTS).unwrap();
    });
    let world = World::new();
    let config = format!(
        "[providers.here]\napi = \"openai-completions\"\nbase_url = \"http://{address}/v1\"\n\
         [[providers.here.models]]\nid = \"m\"\n"
    );
    world.file("home/.config/stentor/config.toml", &config);
    let mut client = Client::with_model(world, "here/m");
    client.greet(json!({}));
    (client, prompts)
}

#[test]
fn a_system_prompt_is_added_or_stands_alone_and_others_have_none() {
    let (mut client, prompts) = at_a_model();
    let cwd = client.world.work("");
    let mut sent = |prompt: Value| {
        let mut params = json!({ "cwd": cwd, "mcpServers": [] });
        params["systemPrompt"] = prompt;
        let (session, _) = opened(&mut client, "session/new", params);
        client.turn(&session, "hi");
        prompts.recv().unwrap()
    };
    let text = |text: &str| json!({ "type": "text", "text": text });
    let usual = sent(Value::Null);
    let added = sent(json!({ "mode": "append", "content": [text("Rhyme."), text("Always.")] }));
    assert_eq!(added, format!("{usual}\n\nRhyme.\n\nAlways."));
    let alone = sent(json!({ "mode": "override", "content": [text("Rhyme.")] }));
    assert_eq!(alone, "Rhyme.");
    assert_eq!(sent(Value::Null), usual);
}

#[test]
fn a_system_prompt_that_cannot_be_used_opens_no_session() {
    let mut client = Client::with(TALK);
    let cwd = client.world.work("");
    let answers: Vec<Value> = [
        json!({ "mode": "replace", "content": [{ "type": "text", "text": "x" }] }),
        json!({ "mode": "append", "content": [] }),
        json!({ "mode": "append", "content": [{ "type": "image", "data": "", "mimeType": "image/png" }] }),
        json!({ "content": [{ "type": "text", "text": "x" }] }),
        json!("x"),
    ]
    .into_iter()
    .map(|prompt| {
        let params = json!({ "cwd": cwd, "mcpServers": [], "systemPrompt": prompt });
        client.ask_wrong("session/new", params)
    })
    .collect();
    expect![[r#"
        {"id":2,"error":{"code":-32602,"message":"systemPrompt.mode must be append or override"}}
        {"id":3,"error":{"code":-32602,"message":"systemPrompt.content must not be empty"}}
        {"id":4,"error":{"code":-32602,"message":"systemPrompt.content must consist of text blocks"}}
        {"id":5,"error":{"code":-32602,"message":"missing field `mode`"}}
        {"id":6,"error":{"code":-32602,"message":"invalid type: string \"…\", expected struct SystemPrompt"}}"#]].assert_eq(&client.shown(&answers));
}

#[test]
fn logging_out_forgets_the_keys_and_logins_that_are_stored() {
    let world = World::new();
    let file = "home/.config/stentor/credentials.json";
    world.file(
        file,
        r#"{"logins":{},"keys":{"mistral":"secret-1"},"later":1}"#,
    );
    let stored = world.path(file);
    let file = "home/.config/stentor/mcp-credentials.json";
    let login = json!({ "issuer": "https://a.example", "token_endpoint": "https://a.example/token",
        "resource": "https://a.example/mcp", "client_id": "c", "access": "secret-2" });
    let logins = json!({ "servers": { "https://a.example/mcp": login }, "later": 1 });
    world.file(file, &logins.to_string());
    let stored_of_servers = world.path(file);
    for file in [&stored, &stored_of_servers] {
        let only_ours = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        std::fs::set_permissions(file, only_ours).unwrap();
    }
    let mut client = Client::silent(world, "on_exhausted = { text = \"Hello.\" }\n");
    client.greet(json!({ "auth": { "terminal": true } }));
    assert_eq!(client.ask("logout", json!({}))["result"], json!({}));
    let left: Value = serde_json::from_slice(&std::fs::read(&stored).unwrap()).unwrap();
    assert_eq!(left, json!({ "logins": {}, "later": 1 }));
    let left: Value = serde_json::from_slice(&std::fs::read(&stored_of_servers).unwrap()).unwrap();
    assert_eq!(left, json!({ "servers": {}, "later": 1 }));
    assert_eq!(client.ask("logout", json!({}))["result"], json!({}));
}
