//! The handshake and logging in (sections 2 to 4).

use expect_test::expect;
use serde_json::{Value, json};

use crate::client::Client;
use crate::world::World;

const NOTHING: &str = "on_exhausted = { text = \"Hello.\" }\n";

#[test]
fn initialize_says_who_we_are_and_only_what_works() {
    let mut client = Client::silent(World::new(), NOTHING);
    let answer = client.greet(json!({}));
    expect![[r#"{"id":1,"result":{"protocolVersion":1,"agentCapabilities":{"loadSession":true,"promptCapabilities":{"image":true,"audio":false,"embeddedContext":true},"mcpCapabilities":{"http":true,"sse":true},"sessionCapabilities":{"list":{},"delete":{},"additionalDirectories":{},"systemPrompt":{"mode":{"override":{}}},"fork":{},"status":{},"title":{},"resume":{},"close":{}},"auth":{"logout":{}}},"authMethods":[],"agentInfo":{"name":"stentor","title":"Stentor","version":"0.1.0"},"_meta":{"steering":{"supported":true},"stentor":{"promptMeta":["model","reasoning_effort","permission_mode"]}}}}"#]].assert_eq(&client.plain(&answer));
}

#[test]
fn where_no_session_is_kept_none_is_offered_to_be_listed_loaded_resumed_or_deleted() {
    let world = World::new();
    world.file("scenario.toml", NOTHING);
    let mut client = Client::started(world, &["--no-session"]);
    let answer = client.greet(json!({}));
    expect![[r#"{"id":1,"result":{"protocolVersion":1,"agentCapabilities":{"loadSession":false,"promptCapabilities":{"image":true,"audio":false,"embeddedContext":true},"mcpCapabilities":{"http":true,"sse":true},"sessionCapabilities":{"additionalDirectories":{},"systemPrompt":{"mode":{"override":{}}},"close":{}},"auth":{"logout":{}}},"authMethods":[],"agentInfo":{"name":"stentor","title":"Stentor","version":"0.1.0"},"_meta":{"steering":{"supported":true},"stentor":{"promptMeta":["model","reasoning_effort","permission_mode"]}}}}"#]].assert_eq(&client.plain(&answer));
}

#[test]
fn every_version_is_answered_with_ours_and_another_initialize_negotiates_again() {
    let mut client = Client::silent(World::new(), NOTHING);
    let answers: Vec<Value> = [0, 1, 2, 65535]
        .into_iter()
        .map(|version| client.ask("initialize", json!({ "protocolVersion": version })))
        .collect();
    // Nothing but the ids differs.
    for answer in &answers {
        assert_eq!(answer["result"], answers[0]["result"]);
    }
    assert_eq!(answers[0]["result"]["protocolVersion"], 1);
}

#[test]
fn a_client_of_version_2_is_answered_in_the_shape_of_version_1() {
    let mut client = Client::silent(World::new(), NOTHING);
    let ours = client.greet(json!({}));
    let params = json!({
        "protocolVersion": 2,
        "info": { "name": "new", "version": "2" },
        "capabilities": { "session": {} },
    });
    let answer = client.ask("initialize", params);
    assert_eq!(answer["result"], ours["result"]);
}

#[test]
fn what_is_no_version_is_refused() {
    let mut client = Client::silent(World::new(), NOTHING);
    let mut answers = vec![client.ask_wrong("initialize", json!({}))];
    for version in [json!(-1), json!(65536), json!("1"), json!(1.5), Value::Null] {
        answers.push(client.ask_wrong("initialize", json!({ "protocolVersion": version })));
    }
    expect![[r#"
        {"id":1,"error":{"code":-32602,"message":"protocolVersion must be an integer between 0 and 65535"}}
        {"id":2,"error":{"code":-32602,"message":"protocolVersion must be an integer between 0 and 65535"}}
        {"id":3,"error":{"code":-32602,"message":"protocolVersion must be an integer between 0 and 65535"}}
        {"id":4,"error":{"code":-32602,"message":"protocolVersion must be an integer between 0 and 65535"}}
        {"id":5,"error":{"code":-32602,"message":"protocolVersion must be an integer between 0 and 65535"}}
        {"id":6,"error":{"code":-32602,"message":"protocolVersion must be an integer between 0 and 65535"}}"#]].assert_eq(&client.shown(&answers));
}

#[test]
fn malformed_capabilities_mean_none() {
    let mut client = Client::silent(World::new(), NOTHING);
    let none = client.greet(json!({}));
    for capabilities in [
        json!({ "fs": 3, "auth": { "terminal": "yes" } }),
        json!([]),
        Value::Null,
        json!({ "elicitation": {}, "session": 7 }),
    ] {
        let params = json!({
            "protocolVersion": 1,
            "clientCapabilities": capabilities,
            "clientInfo": 7,
            "_meta": "x",
        });
        let answer = client.ask_wrong("initialize", params);
        assert_eq!(answer["result"], none["result"]);
    }
}

#[test]
fn requests_before_initialize_are_refused_with_their_id_and_nothing_is_lost() {
    let mut client = Client::silent(World::new(), NOTHING);
    let cwd = client.world.work("");
    let answers = [
        client.ask("session/list", json!({})),
        client.ask("session/new", json!({ "cwd": cwd, "mcpServers": [] })),
        client.ask("_session/steering", json!({})),
        client.ask_wrong("no/such/method", json!({})),
        // One that fails does not count.
        client.ask_wrong("initialize", json!({})),
        client.ask("session/list", json!({})),
    ];
    expect![[r#"
        {"id":1,"error":{"code":-32600,"message":"Not initialized: the first request must be initialize."}}
        {"id":2,"error":{"code":-32600,"message":"Not initialized: the first request must be initialize."}}
        {"id":3,"error":{"code":-32600,"message":"Not initialized: the first request must be initialize."}}
        {"id":4,"error":{"code":-32600,"message":"Not initialized: the first request must be initialize."}}
        {"id":5,"error":{"code":-32602,"message":"protocolVersion must be an integer between 0 and 65535"}}
        {"id":6,"error":{"code":-32600,"message":"Not initialized: the first request must be initialize."}}"#]].assert_eq(&client.shown(&answers));
    assert_eq!(client.greet(json!({}))["result"]["protocolVersion"], 1);
    client.session();
}

#[test]
fn requests_right_behind_initialize_are_served_in_order() {
    let mut client = Client::silent(World::new(), NOTHING);
    let first = client.send("initialize", json!({ "protocolVersion": 1 }));
    let second = client.send("session/list", json!({}));
    assert_eq!(client.read()["id"], first);
    let answer = client.read();
    assert_eq!(
        answer,
        json!({ "jsonrpc": "2.0", "id": second, "result": { "sessions": [] } })
    );
}

#[test]
fn ways_to_log_in_are_for_clients_with_a_terminal_and_never_go_through_authenticate() {
    let mut client = Client::silent(World::new(), NOTHING);
    let answer = client.greet(json!({}));
    assert_eq!(answer["result"]["authMethods"], json!([]));
    let answer = client.greet(json!({ "auth": { "terminal": true } }));
    let methods = answer["result"]["authMethods"].as_array().unwrap();
    assert!(!methods.is_empty());
    // How the validator of the registry says the same.
    let older = client.greet(json!({ "_meta": { "terminal-auth": true } }));
    assert_eq!(
        older["result"]["authMethods"],
        answer["result"]["authMethods"]
    );
    let mut answers = Vec::new();
    for method in methods {
        let id = method["id"].as_str().unwrap();
        let provider = id.strip_prefix("login-").unwrap();
        let name = method["name"].as_str().unwrap();
        assert_eq!(
            *method,
            json!({ "type": "terminal", "id": id, "name": name, "args": ["--login", provider] })
        );
        answers.push(client.ask("authenticate", json!({ "methodId": id })));
    }
    answers.truncate(1);
    answers.push(client.ask("authenticate", json!({ "methodId": "nothing" })));
    answers.push(client.ask_wrong("authenticate", json!({})));
    answers.push(client.ask("logout", json!({})));
    for answer in &mut answers {
        answer["id"] = json!("N");
    }
    expect![[r#"
        {"id":"N","error":{"code":-32602,"message":"This way to log in runs in a terminal: start it there, then connect again."}}
        {"id":"N","error":{"code":-32602,"message":"There is no such way to log in."}}
        {"id":"N","error":{"code":-32602,"message":"missing field `methodId`"}}
        {"id":"N","result":{}}"#]].assert_eq(&client.shown(&answers));
}

/// A model of a provider for which there is no key.
fn without_a_key(capabilities: Value) -> (Client, String) {
    let mut client = Client::with_model(World::new(), "anthropic/claude-sonnet-4-5");
    client.greet(capabilities);
    let session = client.session();
    (client, session)
}

#[test]
fn a_missing_login_is_told_by_its_code_to_clients_that_can_log_in_and_in_words_to_others() {
    let (mut client, session) = without_a_key(json!({ "auth": { "terminal": true } }));
    let with = client.turn(&session, "go");
    let (mut client, session) = without_a_key(json!({}));
    let without = client.turn(&session, "go");
    expect![[r#"
        {"id":3,"error":{"code":-32000,"message":"anthropic/claude-sonnet-4-5: no credentials: set ANTHROPIC_API_KEY, or run `stentor login anthropic`"}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"anthropic/claude-sonnet-4-5: no credentials: set ANTHROPIC_API_KEY, or run `stentor login anthropic`"},"messageId":"MSG-said-0"}}}
        {"id":3,"result":{"stopReason":"end_turn"}}"#]].assert_eq(&format!("{with}\n{without}"));
}

#[test]
fn the_program_ends_when_its_input_does() {
    let mut client = Client::with("[[turn]]\nsteps = [{ text = \"Working\" }, { hang = true }]\n");
    let session = client.session();
    client.prompt(&session, "go");
    client.until_update("agent_message_chunk");
    client.end();
}
