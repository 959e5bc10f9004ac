//! Lines and envelopes, good and bad (section 1).

use expect_test::expect;
use serde_json::{Value, json};

use crate::client::Client;
use crate::world::World;

const NOTHING: &str = "on_exhausted = { text = \"Hello.\" }\n";

/// Section 1.9, line by line, each with the one answer it gets.
#[test]
fn a_bad_line_costs_one_error_and_nothing_else() {
    let mut client = Client::with(NOTHING);
    let deep = format!(r#"{{"jsonrpc":"2.0","id":1,"params":{}"#, "[".repeat(5000));
    let mut answers = Vec::new();
    for line in [
        "{not json",
        "42",
        "null",
        "[]",
        r#"[{"jsonrpc":"2.0","id":1,"method":"session/list"},{"jsonrpc":"2.0","id":2,"method":"session/list"}]"#,
        r#"{"jsonrpc":"1.0","id":1,"method":"session/list"}"#,
        r#"{"jsonrpc":2.0,"id":1,"method":"session/list"}"#,
        r#"{"id":1,"method":"session/list"}"#,
        r#"{"jsonrpc":"2.0","id":77,"method":"session/list","params":[]}"#,
        r#"{"jsonrpc":"2.0","id":78,"method":"session/list","params":null}"#,
        r#"{"jsonrpc":"2.0","id":79,"method":"session/list","params":3}"#,
        r#"{"jsonrpc":"2.0","method":"session/cancel","params":[]}"#,
        r#"{"jsonrpc":"2.0","id":"a","method":"nonsense/method"}"#,
        r#"{"jsonrpc":"2.0","id":"b","method":"_nobody/knows"}"#,
        deep.as_str(),
    ] {
        client.write(line);
        answers.push(client.read());
    }
    expect![[r#"
        {"id":null,"error":{"code":-32700,"message":"Parse error","data":{"reason":"A line must be one JSON object."}}}
        {"id":null,"error":{"code":-32600,"message":"Invalid Request","data":{"reason":"A line must be one JSON object; there are no batches."}}}
        {"id":null,"error":{"code":-32600,"message":"Invalid Request","data":{"reason":"A line must be one JSON object; there are no batches."}}}
        {"id":null,"error":{"code":-32600,"message":"Invalid Request","data":{"reason":"A line must be one JSON object; there are no batches."}}}
        {"id":null,"error":{"code":-32600,"message":"Invalid Request","data":{"reason":"A line must be one JSON object; there are no batches."}}}
        {"id":null,"error":{"code":-32600,"message":"Invalid Request","data":{"reason":"The member jsonrpc must be the text 2.0."}}}
        {"id":null,"error":{"code":-32600,"message":"Invalid Request","data":{"reason":"The member jsonrpc must be the text 2.0."}}}
        {"id":null,"error":{"code":-32600,"message":"Invalid Request","data":{"reason":"The member jsonrpc must be the text 2.0."}}}
        {"id":77,"error":{"code":-32600,"message":"Invalid Request","data":{"reason":"The member params must be an object."}}}
        {"id":78,"error":{"code":-32600,"message":"Invalid Request","data":{"reason":"The member params must be an object."}}}
        {"id":79,"error":{"code":-32600,"message":"Invalid Request","data":{"reason":"The member params must be an object."}}}
        {"id":null,"error":{"code":-32600,"message":"Invalid Request","data":{"reason":"The member params must be an object."}}}
        {"id":"a","error":{"code":-32601,"message":"Method not found: \"nonsense/method\""}}
        {"id":"b","error":{"code":-32601,"message":"Method not found: \"_nobody/knows\""}}
        {"id":null,"error":{"code":-32700,"message":"Parse error","data":{"reason":"The line is nested more than 127 levels deep."}}}"#]].assert_eq(&client.shown(&answers));
    assert_eq!(
        client.ask("session/list", json!({}))["result"],
        json!({ "sessions": [] })
    );
}

#[test]
fn an_id_comes_back_exactly_as_it_was() {
    let mut client = Client::with(NOTHING);
    let mut lines = Vec::new();
    for id in [
        "98765432109876543210123456789",
        "-9223372036854775808",
        "0",
        "-0",
        r#""text""#,
        r#""1""#,
        r#"" a\u00e9\n""#,
        r#""😀""#,
    ] {
        client.write(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"_x"}}"#));
        lines.push(client.read_line());
    }
    expect![[r#"
        {"jsonrpc":"2.0","id":98765432109876543210123456789,"error":{"code":-32601,"message":"Method not found: \"_x\""}}
        {"jsonrpc":"2.0","id":-9223372036854775808,"error":{"code":-32601,"message":"Method not found: \"_x\""}}
        {"jsonrpc":"2.0","id":0,"error":{"code":-32601,"message":"Method not found: \"_x\""}}
        {"jsonrpc":"2.0","id":-0,"error":{"code":-32601,"message":"Method not found: \"_x\""}}
        {"jsonrpc":"2.0","id":"text","error":{"code":-32601,"message":"Method not found: \"_x\""}}
        {"jsonrpc":"2.0","id":"1","error":{"code":-32601,"message":"Method not found: \"_x\""}}
        {"jsonrpc":"2.0","id":" aé\n","error":{"code":-32601,"message":"Method not found: \"_x\""}}
        {"jsonrpc":"2.0","id":"😀","error":{"code":-32601,"message":"Method not found: \"_x\""}}
    "#]].assert_eq(&lines.concat());
}

#[test]
fn what_is_no_request_gets_no_reply() {
    let mut client = Client::with(NOTHING);
    for line in [
        "",
        "   ",
        "\t",
        "\r",
        r#"{"jsonrpc":"2.0","method":"no/such/notification"}"#,
        r#"{"jsonrpc":"2.0","method":"_no/such/extension","params":{"x":1}}"#,
        r#"{"jsonrpc":"2.0","method":"session/prompt","params":{}}"#,
        r#"{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":3}}"#,
        r#"{"jsonrpc":"2.0","method":"session/cancel"}"#,
        r#"{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":{}}}"#,
        // Ids that cannot be answered.
        r#"{"jsonrpc":"2.0","id":"","method":"session/cancel","params":{"sessionId":"x"}}"#,
        r#"{"jsonrpc":"2.0","id":" ","method":"session/list"}"#,
        r#"{"jsonrpc":"2.0","id":null,"method":"session/list"}"#,
        r#"{"jsonrpc":"2.0","id":1.5,"method":"session/list"}"#,
        r#"{"jsonrpc":"2.0","id":true,"method":"session/list"}"#,
        // Answers nobody waits for.
        r#"{"jsonrpc":"2.0","id":-5,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":12,"error":{"code":1,"message":"x"}}"#,
        r#"{"jsonrpc":"2.0","id":12,"error":"x","result":1}"#,
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}}"#,
        r#"{"jsonrpc":"2.0","id":5,"method":7}"#,
        r#"{"jsonrpc":"2.0"}"#,
    ] {
        client.write(line);
    }
    let answer = client.ask("session/list", json!({}));
    assert_eq!(answer["result"], json!({ "sessions": [] }));
}

#[test]
fn a_carriage_return_a_byte_order_mark_and_space_do_no_harm() {
    let mut client = Client::silent(World::new(), NOTHING);
    let line = r#"{"jsonrpc":"2.0","id":"x","method":"session/list"}"#;
    let mut answers = Vec::new();
    for line in [
        format!("\u{feff}{line}"),
        format!("{line}\r"),
        format!("  {line}\t"),
    ] {
        client.write(&line);
        answers.push(client.read());
    }
    for answer in &answers {
        assert_eq!(answer["id"], "x");
        assert_eq!(
            answer["error"]["code"], -32600,
            "it was understood: {answer}"
        );
    }
}

#[test]
fn bytes_that_are_no_text_are_a_parse_error() {
    let mut client = Client::with(NOTHING);
    client.write_bytes(b"{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"_x\xff\"}\n");
    let answer = client.read();
    expect![[r#"{"id":null,"error":{"code":-32700,"message":"Parse error","data":{"reason":"The line is not UTF-8."}}}"#]].assert_eq(&client.plain(&answer));
    client.ask("session/list", json!({}));
}

#[test]
fn a_line_over_the_limit_is_skipped_and_the_next_one_served() {
    let mut client = Client::with(NOTHING);
    let part = vec![b'x'; 1024 * 1024];
    client.write_bytes(b"{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"");
    for _ in 0..65 {
        client.write_bytes(&part);
    }
    client.write_bytes(b"\"}\n");
    let answer = client.read();
    expect![[r#"{"id":null,"error":{"code":-32600,"message":"Invalid Request","data":{"reason":"The line is longer than 64 MiB and was skipped."}}}"#]].assert_eq(&client.plain(&answer));
    client.ask("session/list", json!({}));
}

#[test]
fn a_prompt_of_eight_megabytes_is_served() {
    let mut client = Client::with("[[turn]]\ntext = \"Long.\"\n");
    let session = client.session();
    let text = "word ".repeat(8 * 1024 * 1024 / 5);
    let said = client.turn(&session, &text);
    assert!(
        said.ends_with(r#""result":{"stopReason":"end_turn"}}"#),
        "{said:.2000}"
    );
}

#[test]
fn a_last_line_without_its_end_is_served() {
    let mut client = Client::with(NOTHING);
    client.write_bytes(br#"{"jsonrpc":"2.0","id":"last","method":"_x"}"#);
    client.close_input();
    let answer = client.read();
    assert_eq!(answer["id"], "last");
}

#[test]
fn keys_that_come_twice_or_are_unknown_do_no_harm() {
    let mut client = Client::with(NOTHING);
    client.write(r#"{"jsonrpc":"2.0","extra":[1],"id":1,"method":"x","id":2,"method":"_y"}"#);
    let answer = client.read();
    expect![[r#"{"id":2,"error":{"code":-32601,"message":"Method not found: \"_y\""}}"#]]
        .assert_eq(&client.plain(&answer));
}

#[test]
fn the_same_id_twice_is_answered_twice() {
    let mut client = Client::with(NOTHING);
    let line = r#"{"jsonrpc":"2.0","id":"same","method":"_x"}"#;
    client.write(line);
    client.write(line);
    assert_eq!(client.read(), client.read());
}

#[test]
fn unstable_and_unknown_methods_are_not_found() {
    let mut client = Client::with(NOTHING);
    let session = client.session();
    let mut answers: Vec<Value> = Vec::new();
    for method in [
        "session/archive",
        "session/unarchive",
        "providers/list",
        "auth/status",
        "mcp/message",
        "session/update",
        "fs/read_text_file",
        "_stentor/nothing",
        "",
    ] {
        let params = json!({ "sessionId": session, "cwd": "/", "mcpServers": [] });
        answers.push(client.ask_wrong(method, params));
    }
    let long = "x".repeat(100_000);
    answers.push(client.ask_wrong(&long, json!({})));
    expect![[r#"
        {"id":3,"error":{"code":-32601,"message":"Method not found: \"session/fork\""}}
        {"id":4,"error":{"code":-32601,"message":"Method not found: \"session/archive\""}}
        {"id":5,"error":{"code":-32601,"message":"Method not found: \"session/unarchive\""}}
        {"id":6,"error":{"code":-32601,"message":"Method not found: \"session/status\""}}
        {"id":7,"error":{"code":-32601,"message":"Method not found: \"session/set_title\""}}
        {"id":8,"error":{"code":-32601,"message":"Method not found: \"providers/list\""}}
        {"id":9,"error":{"code":-32601,"message":"Method not found: \"auth/status\""}}
        {"id":10,"error":{"code":-32601,"message":"Method not found: \"mcp/message\""}}
        {"id":11,"error":{"code":-32601,"message":"Method not found: \"session/update\""}}
        {"id":12,"error":{"code":-32601,"message":"Method not found: \"fs/read_text_file\""}}
        {"id":13,"error":{"code":-32601,"message":"Method not found: \"_stentor/nothing\""}}
        {"id":14,"error":{"code":-32601,"message":"Method not found: \"\""}}
        {"id":15,"error":{"code":-32601,"message":"Method not found: \"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\""}}"#]].assert_eq(&client.shown(&answers));
}

#[test]
fn errors_never_repeat_what_was_sent() {
    let mut client = Client::with(NOTHING);
    let session = client.session();
    let params = json!({ "cwd": 5, "mcpServers": "a secret" });
    let answers = [
        client.ask_wrong("session/new", params),
        client.ask_wrong(
            "session/prompt",
            json!({ "sessionId": session, "prompt": "a secret" }),
        ),
        client.ask_wrong(
            "session/load",
            json!({ "sessionId": ["a secret"], "cwd": "/" }),
        ),
    ];
    expect![[r#"
        {"id":3,"error":{"code":-32602,"message":"invalid type: integer `5`, expected path string"}}
        {"id":4,"error":{"code":-32602,"message":"invalid type: string \"…\", expected a sequence"}}
        {"id":5,"error":{"code":-32602,"message":"invalid type: sequence, expected a string"}}"#]]
    .assert_eq(&client.shown(&answers));
}
