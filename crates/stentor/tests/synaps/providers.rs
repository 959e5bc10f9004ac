//! The variables that say where models are (section 1), against servers on this machine.

use std::io::Write;
use std::net::TcpListener;
use std::thread;

use stentor_test_support::http;

use crate::child::{Child, Home};

/// A server that gives every request the same answer. Returns its address and, when it has
/// answered, the first lines of what it was asked.
fn serve_once(events: &'static str) -> (String, thread::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let serving = thread::spawn(move || {
        let (mut connection, _) = listener.accept().unwrap();
        let mut request = http::Request::of(&connection).unwrap().unwrap();
        write!(connection, "{}{events}", http::EVENTS).unwrap();
        request.head.swap_remove(0)
    });
    (address, serving)
}

#[test]
fn a_local_endpoint_serves_the_models_named_local() {
    let (address, server) = serve_once(concat!(
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"from here\"}}]}\n\n",
        "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":12,\"completion_tokens\":3}}\n\n",
        "data: [DONE]\n\n",
    ));
    let home = Home::new("");
    let mut command = home.command(&["rpc", "--model", "local/tiny"]);
    command.env("LOCAL_ENDPOINT", format!("{address}/v1"));
    let mut child = Child::ready(command);
    assert_eq!(
        child.prompt("p", "hi"),
        [
            r#"{"type":"message_update","event":{"type":"text_delta","delta":"from here"}}"#,
            r#"{"type":"agent_end","usage":{"input_tokens":12,"output_tokens":3,"cache_read_input_tokens":0,"cache_creation_input_tokens":0,"model":"local/tiny"}}"#,
            r#"{"type":"response","id":"p","command":"prompt","ok":true}"#,
        ]
    );
    assert_eq!(server.join().unwrap(), "POST /v1/chat/completions HTTP/1.1");
    assert_eq!(
        child.ask(r#"{"type":"set_model","id":"m","model":"local/other"}"#),
        r#"{"type":"response","id":"m","command":"set_model","ok":true,"model":"local/other"}"#,
        "a name nobody described, of a provider that is known"
    );
}

#[test]
fn the_providers_own_api_may_be_elsewhere() {
    let (address, server) = serve_once(concat!(
        "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"type\":\"message\",\"role\":\"assistant\",\"content\":[],\"model\":\"claude-sonnet-4-6\",\"usage\":{\"input_tokens\":5,\"output_tokens\":1,\"cache_read_input_tokens\":7,\"cache_creation_input_tokens\":9,\"cache_creation\":{\"ephemeral_5m_input_tokens\":4,\"ephemeral_1h_input_tokens\":5}}}}\n\n",
        "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
        "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"from there\"}}\n\n",
        "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n",
        "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":2}}\n\n",
        "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
    ));
    let home = Home::new("");
    let mut command = home.command(&["rpc", "--model", "claude-sonnet-4-6"]);
    command
        .env("SYNAPS_ANTHROPIC_BASE_URL", address)
        .env("ANTHROPIC_API_KEY", "key");
    let mut child = Child::ready(command);
    assert_eq!(
        child.prompt("p", "hi"),
        [
            r#"{"type":"message_update","event":{"type":"text_delta","delta":"from there"}}"#,
            r#"{"type":"agent_end","usage":{"input_tokens":5,"output_tokens":2,"cache_read_input_tokens":7,"cache_creation_input_tokens":9,"cache_creation_5m":4,"cache_creation_1h":5,"model":"claude-sonnet-4-6"}}"#,
            r#"{"type":"response","id":"p","command":"prompt","ok":true}"#,
        ]
    );
    assert_eq!(server.join().unwrap(), "POST /v1/messages HTTP/1.1");
}

#[test]
fn a_known_model_without_a_key_fails_at_the_prompt_with_what_to_do() {
    let home = Home::new("");
    let mut child = Child::ready(home.command(&["rpc", "--model", "claude-sonnet-4-6"]));
    let frames = child.prompt("p", "hi");
    assert!(
        frames[0].starts_with(r#"{"type":"error","id":"p","message":"#)
            && frames[0].contains("ANTHROPIC_API_KEY"),
        "{frames:?}"
    );
    assert_eq!(frames.len(), 3);
}

#[test]
fn a_known_model_without_a_key_can_be_chosen_and_fails_at_the_prompt() {
    let home = Home::new("[[turn]]\ntext = \"back again\"");
    let mut child = home.child();
    assert_eq!(
        child.ask(r#"{"type":"set_model","id":"m","model":"claude-sonnet-4-6"}"#),
        r#"{"type":"response","id":"m","command":"set_model","ok":true,"model":"claude-sonnet-4-6"}"#
    );
    assert_eq!(
        child.ask(r#"{"type":"get_state","id":"s"}"#),
        r#"{"type":"response","id":"s","command":"get_state","ok":true,"streaming":false,"model":"claude-sonnet-4-6","session_id":"SESSION","message_count":0}"#
    );
    for id in ["p", "again"] {
        let frames = child.prompt(id, "hi");
        let [error, end, response] = &frames[..] else {
            panic!("{frames:?}");
        };
        let begins = format!(r#"{{"type":"error","id":"{id}","message":""#);
        assert!(
            error.starts_with(&begins) && error.contains("ANTHROPIC_API_KEY"),
            "{error}"
        );
        assert_eq!(
            end,
            r#"{"type":"agent_end","usage":{"input_tokens":0,"output_tokens":0,"cache_read_input_tokens":0,"cache_creation_input_tokens":0}}"#
        );
        assert!(response.contains(r#""ok":false"#), "{response}");
    }
    child.ask(r#"{"type":"set_model","id":"m","model":"script/play.toml"}"#);
    assert!(child.prompt("q", "hi")[0].contains("back again"));
}
