//! Permission per host, in a dialect that asks.

use serde_json::{Value, json};

use super::server::{Server, send};
use super::world;
use crate::world::{Child, World};

/// Prompts, answers every question with this option, and returns the questions and the results.
fn prompt(child: &mut Child, session: &str, id: u64, option: &str) -> (Vec<Value>, Vec<Value>) {
    let text = json!([{ "type": "text", "text": "go" }]);
    child.request_acp(
        id,
        "session/prompt",
        json!({ "sessionId": session, "prompt": text }),
    );
    let (mut questions, mut results) = (Vec::new(), Vec::new());
    loop {
        let frame = child.json();
        if frame["method"] == "session/request_permission" {
            let outcome = json!({ "outcome": { "outcome": "selected", "optionId": option } });
            let answer = json!({ "jsonrpc": "2.0", "id": frame["id"], "result": outcome });
            child.send(&answer.to_string());
            questions.push(frame);
        } else if frame["id"] == id {
            return (questions, results);
        } else if ["completed", "failed"].contains(
            &frame["params"]["update"]["status"]
                .as_str()
                .unwrap_or_default(),
        ) {
            results.push(frame["params"]["update"].clone());
        }
    }
}

/// What a question is about: the title of the call, the reason, and how far "always" reaches.
fn about(question: &Value) -> [String; 3] {
    let call = &question["params"]["toolCall"];
    let content = call["content"].as_array().unwrap();
    [
        call["title"].clone(),
        content.last().unwrap()["content"]["text"].clone(),
        question["params"]["options"][1]["name"].clone(),
    ]
    .map(|text| text.as_str().unwrap().to_owned())
}

fn asking(server: &Server, more: &str, calls: &[(&str, Value)]) -> World {
    world(
        server,
        &format!("[[permissions]]\ntool = \"bash\"\ndecision = \"deny\"\n{more}"),
        calls,
    )
}

fn acp(world: &World) -> (Child, String) {
    let mut child = world.child(&["acp", "--permission-mode", "ask"]);
    let session = child.shake_hands_acp(json!({}), &world.path("work"));
    (child, session)
}

#[test]
fn a_host_is_asked_about_once_if_the_answer_is_always() {
    let server = Server::page("text/plain", "x");
    let calls = [
        ("fetch", json!({ "url": server.url("/1") })),
        ("fetch", json!({ "url": server.url("/2") })),
    ];
    let world = asking(&server, "", &calls);
    let (mut child, session) = acp(&world);
    let (questions, results) = prompt(&mut child, &session, 7, "allow_always");
    let port = server.port;
    assert_eq!(
        questions.iter().map(about).collect::<Vec<_>>(),
        [[
            format!("Fetch http://127.0.0.1:{port}/1"),
            format!("fetch from 127.0.0.1:{port} uses the network"),
            format!("Always allow fetch from 127.0.0.1:{port}"),
        ]]
    );
    assert_eq!(results.len(), 2);
    assert_eq!(server.paths(), ["/1", "/2"]);
    child.end();
    let shown = world.asked(&["permissions"]);
    assert!(
        shown.contains(&format!("allow fetch from 127.0.0.1:{port}")),
        "{shown}"
    );
}

#[test]
fn a_redirect_to_another_host_is_asked_about_and_not_followed_after_a_no() {
    let other = Server::page("text/plain", "there");
    let to: &'static str = other.url("/there").leak();
    let server = Server::redirect(to);
    let allowed = format!(
        "[[permissions]]\nhost = \"127.0.0.1:{}\"\ndecision = \"allow\"\n",
        server.port
    );
    let fetch = [("fetch", json!({ "url": server.url("/here") }))];
    for (option, status) in [("reject_once", "failed"), ("allow_once", "completed")] {
        let world = asking(&server, &allowed, &fetch);
        let config = world.path("home/.config/stentor/config.toml");
        let text = std::fs::read_to_string(&config).unwrap();
        let both = format!(
            "\"127.0.0.1:{}\", \"127.0.0.1:{}\"",
            server.port, other.port
        );
        let text = text.replace(
            &format!("\"127.0.0.1:{}\"]", server.port),
            &format!("{both}]"),
        );
        std::fs::write(&config, text).unwrap();
        let (mut child, session) = acp(&world);
        let (questions, results) = prompt(&mut child, &session, 7, option);
        assert_eq!(
            questions.iter().map(about).collect::<Vec<_>>(),
            [[
                format!("Fetch {to}"),
                format!("fetch from 127.0.0.1:{} uses the network", other.port),
                format!("Always allow fetch from 127.0.0.1:{}", other.port),
            ]]
        );
        let result = results.last().unwrap();
        assert_eq!(result["status"], status, "{result}");
        child.end();
    }
    assert_eq!(other.paths(), ["/there"]);
}

#[test]
fn a_denied_host_is_not_fetched_from_and_a_read_only_session_fetches_nothing() {
    let server = Server::start(|_, to| send(to, "200 OK", &[], b"x"));
    let call = [("fetch", json!({ "url": server.url("/") }))];
    let denied = asking(
        &server,
        "[[permissions]]\nhost = \"127.*\"\ndecision = \"deny\"\n",
        &call,
    );
    let plain = asking(&server, "", &call);
    for (world, words) in [
        (&denied, &["-p", "go", "--json"][..]),
        (
            &plain,
            &["-p", "go", "--json", "--permission-mode", "read-only"],
        ),
    ] {
        let out = world.asked(words);
        let denial = "Permission denied: fetch from 127.0.0.1:";
        assert!(out.contains(denial), "{out}");
    }
    assert_eq!(server.paths(), Vec::<String>::new());
}
