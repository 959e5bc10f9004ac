//! Lines, envelopes and the handshake (sections 1 to 4).

use expect_test::expect;
use serde_json::{Value, json};

use crate::client::Client;
use crate::world::World;

const NOTHING: &str = "on_exhausted = { text = \"Hello.\" }\n";

#[test]
fn initialize_says_who_we_are_and_only_what_works() {
    let mut client = Client::silent(World::new(), NOTHING);
    let answer = client.greet(json!({}));
    expect![[r#"{"id":1,"result":{"protocolVersion":1,"agentCapabilities":{"loadSession":true,"promptCapabilities":{"image":true,"audio":false,"embeddedContext":true},"mcpCapabilities":{"http":true,"sse":true},"sessionCapabilities":{"list":{},"delete":{},"additionalDirectories":{},"resume":{},"close":{}},"auth":{}},"authMethods":[],"agentInfo":{"name":"stentor","title":"Stentor","version":"0.1.0"},"_meta":{"steering":{"supported":true}}}}"#]].assert_eq(&client.plain(&answer));
}

#[test]
fn every_version_is_answered_with_ours() {
    let mut client = Client::silent(World::new(), NOTHING);
    for version in [0, 1, 2, 65535] {
        let answer = client.ask("initialize", json!({ "protocolVersion": version }));
        assert_eq!(answer["result"]["protocolVersion"], 1);
    }
}

#[test]
fn what_is_no_version_is_refused() {
    let mut client = Client::silent(World::new(), NOTHING);
    for version in [json!(-1), json!(65536), json!("1"), json!(1.5), Value::Null] {
        let answer = client.ask("initialize", json!({ "protocolVersion": version }));
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
    }
    assert_eq!(client.ask("initialize", json!({}))["error"]["code"], -32602);
}

#[test]
fn malformed_capabilities_mean_none() {
    let mut client = Client::silent(World::new(), NOTHING);
    let params =
        json!({ "protocolVersion": 1, "clientCapabilities": { "fs": 3 }, "clientInfo": 7 });
    assert_eq!(
        client.ask("initialize", params)["result"]["protocolVersion"],
        1
    );
}

#[test]
fn requests_before_initialize_are_refused_with_their_id() {
    let mut client = Client::silent(World::new(), NOTHING);
    let answer = client.ask("session/list", json!({}));
    expect![[r#"{"id":1,"error":{"code":-32600,"message":"Not initialized: the first request must be initialize."}}"#]].assert_eq(&client.plain(&answer));
    assert_eq!(client.greet(json!({}))["result"]["protocolVersion"], 1);
}

#[test]
fn requests_right_behind_initialize_are_served() {
    let mut client = Client::silent(World::new(), NOTHING);
    let first = client.send("initialize", json!({ "protocolVersion": 1 }));
    let second = client.send("session/list", json!({}));
    assert_eq!(client.read()["id"], first);
    let answer = client.read();
    assert_eq!(answer["id"], second);
    assert_eq!(answer["result"], json!({ "sessions": [] }));
}

/// Section 1.9, line by line.
#[test]
fn a_bad_line_costs_one_error_and_nothing_else() {
    let mut client = Client::with(NOTHING);
    let deep = "[".repeat(5000);
    for (line, expected) in [
        ("{not json", json!([null, -32700])),
        ("42", json!([null, -32600])),
        ("[]", json!([null, -32600])),
        (
            r#"[{"jsonrpc":"2.0","id":1,"method":"x"}]"#,
            json!([null, -32600]),
        ),
        (
            r#"{"jsonrpc":"1.0","id":1,"method":"session/list"}"#,
            json!([null, -32600]),
        ),
        (r#"{"id":1,"method":"session/list"}"#, json!([null, -32600])),
        (
            r#"{"jsonrpc":"2.0","id":77,"method":"session/list","params":[]}"#,
            json!([77, -32600]),
        ),
        (
            r#"{"jsonrpc":"2.0","id":"a","method":"nonsense/method"}"#,
            json!(["a", -32601]),
        ),
        (
            r#"{"jsonrpc":"2.0","id":98765432109876543210,"method":"_x"}"#,
            json!([98765432109876543210u128 as f64, -32601]),
        ),
        (deep.as_str(), json!([null, -32700])),
    ] {
        client.write(line);
        let answer = client.read();
        assert_eq!(
            json!([answer["id"], answer["error"]["code"]]),
            expected,
            "{line:.80}"
        );
    }
}

#[test]
fn notifications_and_strange_answers_get_no_reply() {
    let mut client = Client::with(NOTHING);
    for line in [
        "",
        "   ",
        r#"{"jsonrpc":"2.0","method":"no/such/notification"}"#,
        r#"{"jsonrpc":"2.0","id":"","method":"session/cancel","params":{"sessionId":"x"}}"#,
        r#"{"jsonrpc":"2.0","id":null,"method":"session/list"}"#,
        r#"{"jsonrpc":"2.0","id":-5,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":12,"error":{"code":1,"message":"x"}}"#,
        r#"{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":3}}"#,
        r#"{"jsonrpc":"2.0"}"#,
    ] {
        client.write(line);
    }
    let answer = client.ask("session/list", json!({}));
    assert_eq!(answer["result"], json!({ "sessions": [] }));
}

#[test]
fn ways_to_log_in_are_for_clients_with_a_terminal_and_never_go_through_authenticate() {
    let mut client = Client::silent(World::new(), NOTHING);
    let answer = client.greet(json!({}));
    assert_eq!(answer["result"]["authMethods"], json!([]));
    let answer = client.greet(json!({ "auth": { "terminal": true } }));
    let methods = answer["result"]["authMethods"].as_array().unwrap();
    assert!(!methods.is_empty());
    for method in methods {
        let id = method["id"].as_str().unwrap();
        let provider = id.strip_prefix("login-").unwrap();
        assert_eq!(method["type"], "terminal");
        assert_eq!(method["args"], json!(["--login", provider]));
        let answer = client.ask("authenticate", json!({ "methodId": id }));
        assert_eq!(answer["error"]["code"], -32602);
    }
    for params in [json!({ "methodId": "nothing" }), json!({})] {
        let answer = client.ask("authenticate", params);
        assert_eq!(answer["error"]["code"], -32602);
    }
    assert_eq!(client.ask("logout", json!({}))["result"], json!({}));
}

#[test]
fn errors_never_repeat_what_was_sent() {
    let mut client = Client::with(NOTHING);
    let params = json!({ "cwd": 5, "mcpServers": "a secret" });
    let answer = client.ask("session/new", params).to_string();
    assert!(!answer.contains("secret"), "{answer}");
    let answer = client.ask(
        "session/prompt",
        json!({ "sessionId": "x", "prompt": "a secret" }),
    );
    assert!(!answer.to_string().contains("secret"), "{answer}");
}

#[test]
fn the_program_ends_when_its_input_does() {
    let mut client = Client::with("[[turn]]\nsteps = [{ text = \"Working\" }, { hang = true }]\n");
    let session = client.session();
    client.prompt(&session, "go");
    client.until_update("agent_message_chunk");
    client.end();
}
