//! `web_search` with a service of the user's.

use serde_json::json;

use super::call;
use super::server::{Server, send};

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
