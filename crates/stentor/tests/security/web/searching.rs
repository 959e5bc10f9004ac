//! `web_search` with a service of the user's, and by the provider of the model.

use std::io::Write;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use stentor_test_support::http::{EVENTS, Request, json as json_answer, listen};

use super::call;
use super::server::{Server, send};
use crate::world::World;

fn config(server: &Server) -> String {
    format!(
        "search = \"service\"\nsearch_url = \"http://localhost:{}/search?q={{query}}&format=json\"\n",
        server.port
    )
}

#[test]
fn the_service_is_asked_and_its_results_are_shown() {
    let answer = json!({ "results": [
        { "title": "One\npage", "url": "https://one.example/", "content": "about  one" },
        { "title": "Two", "url": "https://two.example/", "content": "" },
    ]});
    let server = Server::page("application/json", answer.to_string());
    let arguments = json!({ "query": "rust & \"web\"" });
    let found = call(&server, &config(&server), "web_search", arguments).ok();
    assert_eq!(
        found,
        "1. One page\n   https://one.example/\n   about one\n2. Two\n   https://two.example/\n   "
    );
    assert_eq!(
        server.paths(),
        ["/search?q=rust%20%26%20%22web%22&format=json"]
    );
}

#[test]
fn a_service_that_fails_lies_or_redirects_is_an_error() {
    for (status, headers, body, expected) in [
        (
            "403 Forbidden",
            &[][..],
            "no",
            "HTTP 403 Forbidden; check `web.search_url` and the key",
        ),
        (
            "200 OK",
            &[][..],
            "<html>",
            "the answer is no JSON with results",
        ),
        (
            "200 OK",
            &[][..],
            "{\"error\":1}",
            "the answer is no JSON with results",
        ),
        (
            "302 Found",
            &[("location", "http://example.org/")][..],
            "",
            "it redirects to example.org",
        ),
    ] {
        let server = Server::start(move |_, to| send(to, status, headers, body.as_bytes()));
        let arguments = json!({ "query": "x" });
        let found = call(&server, &config(&server), "web_search", arguments).failed();
        assert_eq!(found, format!("The search at localhost failed: {expected}"));
    }
}

#[test]
fn without_a_service_there_is_no_such_tool() {
    let server = Server::page("application/json", "{}");
    let found = call(&server, "", "web_search", json!({ "query": "x" })).failed();
    assert_eq!(found, "Tool web_search not found");
}

/// A provider on a wire: the first answer is a call of the tool, the second is for the search, the
/// third ends the turn.
struct Wire {
    api: &'static str,
    call: &'static [&'static str],
    search: &'static [&'static str],
    end: &'static [&'static str],
    /// How the search is asked for.
    asked: &'static str,
    /// Where the answer of the tool is in the last request.
    result: &'static str,
}

const WIRES: [Wire; 3] = [
    Wire {
        api: "anthropic-messages",
        call: &[
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t1","name":"web_search","input":{}}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"query\":\"otters\",\"limit\":3}"}}"#,
            r#"{"type":"content_block_stop","index":0}"#,
            r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"}}"#,
            r#"{"type":"message_stop"}"#,
        ],
        search: &[
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"server_tool_use","id":"s1","name":"web_search","input":{}}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"query\":\"otters\"}"}}"#,
            r#"{"type":"content_block_stop","index":0}"#,
            r#"{"type":"content_block_start","index":1,"content_block":{"type":"web_search_tool_result","tool_use_id":"s1","content":[{"type":"web_search_result","url":"https://otters.example/","title":"Otters","encrypted_content":"sealed"}]}}"#,
            r#"{"type":"content_block_stop","index":1}"#,
            r#"{"type":"content_block_start","index":2,"content_block":{"type":"text","text":""}}"#,
            r#"{"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"They swim."}}"#,
            r#"{"type":"content_block_stop","index":2}"#,
            r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"}}"#,
            r#"{"type":"message_stop"}"#,
        ],
        end: &[
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"done"}}"#,
            r#"{"type":"content_block_stop","index":0}"#,
            r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"}}"#,
            r#"{"type":"message_stop"}"#,
        ],
        asked: r#"[{"type":"web_search_20250305","name":"web_search","max_uses":5}]"#,
        result: "/messages/2/content/0/content/0/text",
    },
    Wire {
        api: "openai-responses",
        call: &[
            r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","id":"fc","call_id":"t1","name":"web_search","arguments":"{\"query\":\"otters\",\"limit\":3}"}}"#,
            r#"{"type":"response.completed","response":{"id":"r","status":"completed"}}"#,
        ],
        search: &[
            r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"web_search_call","id":"ws","status":"in_progress"}}"#,
            r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"web_search_call","id":"ws","status":"completed"}}"#,
            r#"{"type":"response.output_item.added","output_index":1,"item":{"type":"message","id":"m","content":[]}}"#,
            r#"{"type":"response.output_text.delta","output_index":1,"content_index":0,"delta":"They swim."}"#,
            r#"{"type":"response.output_text.annotation.added","output_index":1,"content_index":0,"annotation_index":0,"annotation":{"type":"url_citation","url":"https://otters.example/","title":"Otters"}}"#,
            r#"{"type":"response.output_item.done","output_index":1,"item":{"type":"message","id":"m","content":[{"type":"output_text","text":"They swim."}]}}"#,
            r#"{"type":"response.completed","response":{"id":"r","status":"completed"}}"#,
        ],
        end: &[
            r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"message","id":"m","content":[{"type":"output_text","text":"done"}]}}"#,
            r#"{"type":"response.completed","response":{"id":"r","status":"completed"}}"#,
        ],
        asked: r#"[{"type":"web_search"}]"#,
        result: "/input/2/output",
    },
    Wire {
        api: "google-generative-ai",
        call: &[
            r#"{"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"id":"t1","name":"web_search","args":{"query":"otters","limit":3}}}]},"finishReason":"STOP"}]}"#,
        ],
        search: &[
            r#"{"candidates":[{"content":{"role":"model","parts":[{"text":"They swim."}]},"finishReason":"STOP","groundingMetadata":{"webSearchQueries":["otters"],"groundingChunks":[{"web":{"uri":"https://otters.example/","title":"Otters"}}]}}]}"#,
        ],
        end: &[
            r#"{"candidates":[{"content":{"role":"model","parts":[{"text":"done"}]},"finishReason":"STOP"}]}"#,
        ],
        asked: r#"[{"googleSearch":{}}]"#,
        result: "/contents/2/parts/0/functionResponse/response/output",
    },
];

#[test]
fn the_provider_searches_itself_on_every_wire_that_can_and_the_result_is_that_of_a_call() {
    for wire in WIRES {
        let bodies = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&bodies);
        let address = listen(move |mut connection| {
            let request = Request::of(&connection).unwrap().unwrap();
            // What else the program asks a provider for, there is not.
            let Ok(body) = serde_json::from_str::<Value>(&request.body) else {
                let none = json_answer("404 Not Found", "{}");
                return connection.write_all(none.as_bytes()).unwrap();
            };
            let mut seen = seen.lock().unwrap();
            seen.push(body);
            let events = [wire.call, wire.search, wire.end][seen.len() - 1];
            let events = events.iter().map(|event| format!("data: {event}\n\n"));
            let answer = format!("{EVENTS}{}", events.collect::<String>());
            connection.write_all(answer.as_bytes()).unwrap();
        });
        let world = World::new("", "");
        world.file(
            "home/.config/stentor/config.toml",
            &format!(
                "model = \"acme/m1\"\nuse_local_servers = false\n[web]\nsearch = \"provider\"\n\
                 [providers.acme]\nbase_url = \"http://{address}\"\napi = \"{}\"\napi_key = \"k\"\n\
                 [[providers.acme.models]]\nid = \"m1\"\n",
                wire.api
            ),
        );
        assert_eq!(world.asked(&["-p", "go"]), "done\n", "{}", wire.api);
        let bodies = bodies.lock().unwrap();
        assert_eq!(bodies.len(), 3, "{}", wire.api);
        assert_eq!(bodies[1]["tools"].to_string(), wire.asked, "{}", wire.api);
        assert!(bodies[1].to_string().contains("otters"), "{}", bodies[1]);
        assert!(!bodies[1].to_string().contains("\"go\""), "{}", bodies[1]);
        assert_eq!(
            bodies[2].pointer(wire.result),
            Some(&json!(
                "They swim.\n\nSources:\n- [Otters](https://otters.example/)"
            )),
            "{}: {}",
            wire.api,
            bodies[2]
        );
        let own = bodies[0]["tools"].to_string();
        assert_eq!(bodies[2]["tools"].to_string(), own, "{}", wire.api);
    }
}

#[test]
fn a_model_whose_wire_has_no_search_gets_the_way_out() {
    let server = Server::page("application/json", "{}");
    let found = call(
        &server,
        "search = \"provider\"\n",
        "web_search",
        json!({ "query": "x" }),
    );
    let text = found.failed();
    let end = "has no search of its own. The user can set `web.search` to \"service\" and name \
               one, or choose a model of Anthropic, OpenAI or Google.";
    assert!(text.ends_with(end), "{text}");
}
