//! Tools that the provider of a model runs itself, through every dialect: calls like any other, which
//! nobody here runs.

use std::io::{Read, Write};
use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use expect_test::{Expect, expect};
use serde_json::{Value, json};
use stentor_test_support::http::{EVENTS, Request, listen};

use crate::world::World;

/// A model of Anthropic's wire that searches, and what it was asked.
fn searching_model() -> (SocketAddr, Arc<Mutex<Vec<Value>>>) {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&asked);
    let address = listen(move |mut connection| {
        let Ok(Some(request)) = Request::of(&connection) else {
            return;
        };
        let body = serde_json::from_str(&request.body).unwrap();
        seen.lock().unwrap().push(body);
        let events = answer();
        let events = events.iter().map(|event| format!("data: {event}\n\n"));
        let text = EVENTS.to_owned() + &events.collect::<String>();
        let _ = connection.write_all(text.as_bytes());
    });
    (address, asked)
}

fn found() -> Value {
    json!({
        "type": "web_search_tool_result", "tool_use_id": "srvtoolu_1",
        "content": [{
            "type": "web_search_result", "url": "https://one.example/", "title": "One",
            "encrypted_content": "EqgfCioIARgB",
        }],
    })
}

fn answer() -> [Value; 13] {
    let start = |index: u64, block: Value| json!({"type": "content_block_start", "index": index, "content_block": block});
    let delta = |index: u64, delta: Value| json!({"type": "content_block_delta", "index": index, "delta": delta});
    let stop = |index: u64| json!({"type": "content_block_stop", "index": index});
    [
        json!({"type": "message_start", "message": {"id": "m1", "usage": {"input_tokens": 10, "output_tokens": 1}}}),
        start(0, json!({"type": "text", "text": ""})),
        delta(0, json!({"type": "text_delta", "text": "I will search."})),
        stop(0),
        start(
            1,
            json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "ones"}}),
        ),
        stop(1),
        start(2, found()),
        stop(2),
        start(3, json!({"type": "text", "text": ""})),
        delta(3, json!({"type": "text_delta", "text": "There is one."})),
        stop(3),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 40}}),
        json!({"type": "message_stop"}),
    ]
}

/// A user whose model searches, and who has a tool of the same name here, which denies.
fn world(address: SocketAddr) -> World {
    let world = World::new("", "");
    let config = format!(
        r#"
        model = "acme/searcher"
        [web]
        search = "service"
        search_url = "http://{address}/?q={{query}}"
        [providers.acme]
        base_url = "http://{address}"
        api = "anthropic-messages"
        models = [{{ id = "searcher", context_window = 100000 }}]
        [[providers.acme.server_tools]]
        type = "web_search_20250305"
        name = "web_search"
        max_uses = 3
        "#
    );
    world.file("home/.config/stentor/config.toml", &config);
    world
}

/// Frames with what differs from run to run hidden.
fn check(frames: impl IntoIterator<Item = Value>, expected: Expect) {
    let lines = frames.into_iter().map(|mut frame| {
        hide(&mut frame);
        format!("{frame}\n")
    });
    expected.assert_eq(&lines.collect::<String>());
}

fn hide(value: &mut Value) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                match key.as_str() {
                    "timestamp" | "time" | "duration" | "durationMs" | "duration_ms" | "ttft" => {
                        *value = 0.into()
                    }
                    "sessionId" | "messageId" | "session" => *value = "ID".into(),
                    _ => hide(value),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(hide),
        _ => {}
    }
}

fn json_of(lines: Vec<String>) -> impl Iterator<Item = Value> {
    lines
        .into_iter()
        .map(|line| serde_json::from_str(&line).unwrap())
}

#[test]
fn acp_shows_what_the_provider_searched_between_the_texts() {
    let (address, _) = searching_model();
    let world = world(address);
    let (mut acp, session) = world.acp(json!({}));
    let prompt =
        json!({"sessionId": session, "prompt": [{"type": "text", "text": "Are there ones?"}]});
    let lines = acp.ask_acp(9, "session/prompt", prompt);
    let updates = json_of(lines).filter(|frame| {
        let update = frame.pointer("/params/update/sessionUpdate");
        !matches!(
            update.and_then(Value::as_str),
            Some("session_info_update" | "available_commands_update" | "config_option_update")
        )
    });
    check(
        updates,
        expect![[r#"
            {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"ID","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"I will search."},"messageId":"ID"}}}
            {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"ID","update":{"sessionUpdate":"tool_call","toolCallId":"srvtoolu_1","title":"Search the web","name":"web_search","kind":"fetch","status":"pending"}}}
            {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"ID","update":{"sessionUpdate":"tool_call_update","toolCallId":"srvtoolu_1","kind":"fetch","title":"Search the web for \"ones\"","locations":[],"rawInput":{"query":"ones"}}}}
            {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"ID","update":{"sessionUpdate":"tool_call_update","toolCallId":"srvtoolu_1","status":"in_progress"}}}
            {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"ID","update":{"sessionUpdate":"tool_call_update","toolCallId":"srvtoolu_1","status":"completed","content":[{"type":"content","content":{"type":"text","text":"1. One\n   https://one.example/"}}],"rawOutput":{"output":"1. One\n   https://one.example/","details":{"serverResult":{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result","url":"https://one.example/","title":"One","encrypted_content":"EqgfCioIARgB"}]}}}}}}
            {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"ID","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"There is one."},"messageId":"ID"}}}
            {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"ID","update":{"sessionUpdate":"usage_update","used":50,"size":100000}}}
            {"jsonrpc":"2.0","id":9,"result":{"stopReason":"end_turn","usage":{"totalTokens":50,"inputTokens":10,"outputTokens":40,"cachedReadTokens":0,"cachedWriteTokens":0},"_meta":{"stentor":{"usage":{"inputTokens":10,"outputTokens":40,"cachedReadTokens":0,"cachedWriteTokens":0,"costUsd":null}}}}}
        "#]],
    );
    acp.end();
}

#[test]
fn omp_shows_what_the_provider_searched_between_the_texts() {
    let (address, _) = searching_model();
    let world = world(address);
    let mut omp = world.omp();
    omp.send(r#"{"type":"prompt","message":"Are there ones?"}"#);
    let frames = omp.until_type("agent_end");
    // What is on the way is in the frames of the ends.
    let frames = frames.into_iter().filter(|frame| {
        let kind = frame["type"].as_str().unwrap();
        kind.starts_with("tool_") || kind == "message_end" || kind == "turn_end"
    });
    check(
        frames,
        expect![[r#"
        {"type":"message_end","messageId":"ID","message":{"role":"user","content":[{"type":"text","text":"Are there ones?"}],"attribution":"user","timestamp":0}}
        {"type":"message_end","messageId":"ID","message":{"role":"assistant","content":[{"type":"text","text":"I will search."},{"type":"toolCall","id":"srvtoolu_1","name":"web_search","arguments":{"query":"ones"},"thoughtSignature":"{\"serverCall\":{\"type\":\"server_tool_use\",\"id\":\"srvtoolu_1\",\"name\":\"web_search\"}}"}],"api":"anthropic-messages","provider":"acme","model":"searcher","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"toolUse","timestamp":0,"responseId":"m1","duration":0,"ttft":0}}
        {"type":"tool_execution_start","toolCallId":"srvtoolu_1","toolName":"web_search","args":{"query":"ones"}}
        {"type":"tool_execution_end","toolCallId":"srvtoolu_1","toolName":"web_search","result":{"content":[{"type":"text","text":"1. One\n   https://one.example/"}],"details":{"serverResult":{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result","url":"https://one.example/","title":"One","encrypted_content":"EqgfCioIARgB"}]}}},"isError":false,"durationMs":0}
        {"type":"message_end","messageId":"ID","message":{"role":"toolResult","toolCallId":"srvtoolu_1","toolName":"web_search","content":[{"type":"text","text":"1. One\n   https://one.example/"}],"details":{"serverResult":{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result","url":"https://one.example/","title":"One","encrypted_content":"EqgfCioIARgB"}]}},"isError":false,"timestamp":0}}
        {"type":"turn_end","message":{"role":"assistant","content":[{"type":"text","text":"I will search."},{"type":"toolCall","id":"srvtoolu_1","name":"web_search","arguments":{"query":"ones"},"thoughtSignature":"{\"serverCall\":{\"type\":\"server_tool_use\",\"id\":\"srvtoolu_1\",\"name\":\"web_search\"}}"}],"api":"anthropic-messages","provider":"acme","model":"searcher","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"toolUse","timestamp":0,"responseId":"m1","duration":0,"ttft":0},"toolResults":[{"role":"toolResult","toolCallId":"srvtoolu_1","toolName":"web_search","content":[{"type":"text","text":"1. One\n   https://one.example/"}],"details":{"serverResult":{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result","url":"https://one.example/","title":"One","encrypted_content":"EqgfCioIARgB"}]}},"isError":false,"timestamp":0}]}
        {"type":"message_end","messageId":"ID","message":{"role":"assistant","content":[{"type":"text","text":"There is one."}],"api":"anthropic-messages","provider":"acme","model":"searcher","usage":{"input":10,"output":40,"cacheRead":0,"cacheWrite":0,"totalTokens":50,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0,"unknown":true}},"stopReason":"stop","timestamp":0,"responseId":"m1","duration":0,"ttft":0}}
        {"type":"turn_end","message":{"role":"assistant","content":[{"type":"text","text":"There is one."}],"api":"anthropic-messages","provider":"acme","model":"searcher","usage":{"input":10,"output":40,"cacheRead":0,"cacheWrite":0,"totalTokens":50,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0,"unknown":true}},"stopReason":"stop","timestamp":0,"responseId":"m1","duration":0,"ttft":0},"toolResults":[]}
    "#]],
    );
    omp.end();
}

#[test]
fn psi_shows_what_the_provider_searched_between_the_texts() {
    let (address, _) = searching_model();
    let world = world(address);
    let mut psi = world.psi();
    let topics = r#"{:topics ["tool/start" "tool/delta" "tool/executing" "tool/result" "assistant/message"]}"#;
    psi.ask_psi("t", "subscribe", topics);
    psi.send(r#"{:id "p" :kind :request :op "prompt" :params {:message "Are there ones?"}}"#);
    let lines = psi.until(|line| {
        line.contains(":event \"assistant/message\"") && line.contains("There is one.")
    });
    let shown = lines
        .iter()
        .filter(|line| line.contains("\"tool/") || line.contains("assistant/message"));
    let shown = shown.map(|line| {
        let line = psi.shown(line);
        let id = line
            .split(":session-id \"")
            .nth(1)
            .and_then(|rest| rest.split('"').next());
        line.replace(id.unwrap(), "SESSION") + "\n"
    });
    let shown = shown.collect::<String>();
    expect![[r#"
        {:kind :event :event "tool/delta" :data {:session-id "SESSION" :tool-id "srvtoolu_1" :arguments "{\"query\":\"ones\"}"} :id "p" :seq N :ts "TIME"}
        {:kind :event :event "tool/start" :data {:session-id "SESSION" :tool-id "srvtoolu_1" :tool-name "web_search" :call-summary "web_search ones"} :id "p" :seq N :ts "TIME"}
        {:kind :event :event "tool/executing" :data {:session-id "SESSION" :tool-id "srvtoolu_1" :tool-name "web_search" :call-summary "web_search ones" :arguments "{\"query\":\"ones\"}" :parsed-args {"query" "ones"}} :id "p" :seq N :ts "TIME"}
        {:kind :event :event "tool/result" :data {:session-id "SESSION" :tool-id "srvtoolu_1" :tool-name "web_search" :call-summary "web_search ones" :content [{:type :text :text "1. One\n   https://one.example/"}] :result-text "1. One\n   https://one.example/" :details {"serverResult" {"type" "web_search_tool_result" "tool_use_id" "srvtoolu_1" "content" [{"type" "web_search_result" "url" "https://one.example/" "title" "One" "encrypted_content" "EqgfCioIARgB"}]}} :is-error false} :id "p" :seq N :ts "TIME"}
        {:kind :event :event "assistant/message" :data {:session-id "SESSION" :role "assistant" :content [{:type :text :text "There is one."}] :text "There is one." :stop-reason :stop :usage {:input-tokens 10 :output-tokens 40 :cache-read-tokens 0 :cache-write-tokens 0 :total-tokens 50 :cost {:input 0.0 :output 0.0 :cache-read 0.0 :cache-write 0.0 :total 0.0}}} :id "p" :seq N :ts "TIME"}
    "#]].assert_eq(&shown);
    psi.end();
}

#[test]
fn synaps_shows_what_the_provider_searched_between_the_texts() {
    let (address, _) = searching_model();
    let world = world(address);
    let mut synaps = world.synaps();
    synaps.send(r#"{"type":"prompt","id":"p","message":"Are there ones?"}"#);
    let frames = synaps.until_type("agent_end");
    check(
        frames,
        expect![[r#"
        {"type":"message_update","event":{"type":"text_delta","delta":"I will search."}}
        {"type":"message_update","event":{"type":"toolcall_start","tool_id":"srvtoolu_1","tool_name":"web_search"}}
        {"type":"message_update","event":{"type":"toolcall_input_delta","tool_id":"srvtoolu_1","delta":"{\"query\":\"ones\"}"}}
        {"type":"message_update","event":{"type":"toolcall_input","tool_id":"srvtoolu_1","input":{"query":"ones"}}}
        {"type":"message_update","event":{"type":"toolcall_result","tool_id":"srvtoolu_1","result":"1. One\n   https://one.example/"}}
        {"type":"message_update","event":{"type":"text_delta","delta":"There is one."}}
        {"type":"agent_end","usage":{"input_tokens":10,"output_tokens":40,"cache_read_input_tokens":0,"cache_creation_input_tokens":0,"model":"acme/searcher"}}
    "#]],
    );
    synaps.end();
}

#[test]
fn what_was_searched_is_stored_exported_and_goes_back_as_it_came() {
    let (address, asked) = searching_model();
    let world = world(address);
    let first = world.asked(&["-p", "Are there ones?", "--json"]);
    let events: Vec<Value> = json_of(first.lines().map(str::to_owned).collect()).collect();
    let id = events
        .iter()
        .find_map(|event| event["session"].as_str())
        .unwrap()
        .to_owned();
    let ran = events
        .into_iter()
        .filter(|event| event["type"].as_str().unwrap().starts_with("tool_"));
    check(
        ran,
        expect![[r#"
        {"type":"tool_started","call":{"id":"srvtoolu_1","name":"web_search","arguments":{"query":"ones"},"thoughtSignature":"{\"serverCall\":{\"type\":\"server_tool_use\",\"id\":\"srvtoolu_1\",\"name\":\"web_search\"}}"},"session":"ID","seq":17,"time":0}
        {"type":"tool_ended","callId":"srvtoolu_1","name":"web_search","output":{"content":[{"type":"text","text":"1. One\n   https://one.example/"}],"details":{"serverResult":{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result","url":"https://one.example/","title":"One","encrypted_content":"EqgfCioIARgB"}]}}},"isError":false,"durationMs":0,"session":"ID","seq":18,"time":0}
    "#]],
    );
    world.asked(&["-p", "And twos?", "--continue"]);
    world.asked(&["export", &id, "-o", "session.md"]);
    let exported = std::fs::read_to_string(world.path("work/session.md")).unwrap();
    let body = exported.split("\nAre there ones?").nth(1).unwrap();
    let lines = body.lines().take_while(|line| !line.starts_with("## You"));
    let body: Vec<&str> = lines.filter(|line| !line.starts_with("## ")).collect();
    expect![[r#"



        I will search.

        **web_search**

        ```json
        {"query":"ones"}
        ```

        Result of web_search:

        ```
        1. One
           https://one.example/
        ```


        There is one.
    "#]]
    .assert_eq(&body.join("\n"));
    let asked = asked.lock().unwrap();
    assert_eq!(asked.len(), 2);
    let names: Vec<&Value> = asked[0]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| &tool["name"])
        .collect();
    let searches = names.iter().filter(|name| **name == "web_search");
    assert_eq!(
        searches.count(),
        1,
        "the provider's tool takes the place of the one here"
    );
    assert_eq!(
        asked[1]["messages"][1],
        json!({"role": "assistant", "content": [
            {"type": "text", "text": "I will search."},
            {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "ones"}},
            found(),
            {"type": "text", "text": "There is one."},
        ]})
    );
}

type Requests = Arc<Mutex<Vec<Value>>>;

/// A model whose first answer stops in the middle of a search, until somebody hangs up or says go on;
/// and what it was asked.
fn interrupted_model() -> (SocketAddr, Requests, Sender<()>, Receiver<()>) {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&asked);
    let (go_on, may_go_on) = channel();
    let (gone, is_gone) = channel();
    let address = listen(move |mut connection| {
        let Ok(Some(request)) = Request::of(&connection) else {
            return;
        };
        let body = serde_json::from_str(&request.body).unwrap();
        seen.lock().unwrap().push(body);
        let events = answer().map(|event| format!("data: {event}\n\n"));
        let (before, after) = events.split_at(6);
        let begin = EVENTS.to_owned() + &before.concat();
        let _ = connection.write_all(begin.as_bytes());
        if may_go_on.recv().is_err() {
            // Nobody will say go on: the client is expected to hang up.
            let read = connection.read(&mut [0]);
            let _ = gone.send(());
            assert!(matches!(read, Ok(0) | Err(_)));
            return;
        }
        let _ = connection.write_all(after.concat().as_bytes());
    });
    (address, asked, go_on, is_gone)
}

#[test]
fn an_abort_during_a_search_of_the_provider_hangs_up() {
    let (address, _, go_on, is_gone) = interrupted_model();
    drop(go_on);
    let world = world(address);
    let mut omp = world.omp();
    omp.send(r#"{"type":"prompt","message":"Are there ones?"}"#);
    omp.until_type("tool_execution_start");
    omp.send(r#"{"type":"abort"}"#);
    let frames = omp.until_type("agent_end");
    let ended = frames
        .iter()
        .find(|frame| frame["type"] == "tool_execution_end");
    assert_eq!(ended.unwrap()["isError"], true);
    is_gone.recv().unwrap();
    omp.end();
}

#[test]
fn a_steering_message_waits_until_the_answer_that_searches_is_complete() {
    let (address, asked, go_on, _is_gone) = interrupted_model();
    let world = world(address);
    let mut omp = world.omp();
    omp.send(r#"{"type":"prompt","message":"Are there ones?"}"#);
    omp.until_type("tool_execution_start");
    omp.send(r#"{"id":"s","type":"steer","message":"And twos?"}"#);
    omp.until_type("response");
    // Once for each answer.
    go_on.send(()).unwrap();
    go_on.send(()).unwrap();
    omp.until_type("agent_end");
    let asked = asked.lock().unwrap();
    assert_eq!(asked.len(), 2);
    let said = asked[1]["messages"].as_array().unwrap();
    let roles: Vec<&str> = said
        .iter()
        .map(|message| message["role"].as_str().unwrap())
        .collect();
    assert_eq!(roles, ["user", "assistant", "user"]);
    assert_eq!(said[1]["content"].as_array().unwrap().len(), 4);
    assert_eq!(said[2]["content"][0]["text"], "And twos?");
    omp.end();
}
