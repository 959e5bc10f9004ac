//! ACP's own HTTP transport, request by request.

use serde_json::{Value, json};

use crate::http_client::{Answer, Answering, http_server};
use crate::server::Server;

const JSON: &str = "Content-Type: application/json";

pub struct Client<'a> {
    server: &'a Server,
    bearer: String,
    connection: String,
}

impl<'a> Client<'a> {
    pub fn open(server: &'a Server) -> Self {
        let bearer = server.bearer();
        let initialize = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize",
            "params": { "protocolVersion": 1, "clientCapabilities": {} } });
        let answer = server.ask("POST /acp", &[JSON, &bearer], &initialize.to_string());
        assert_eq!(answer.status, 200, "{}", answer.body);
        assert!(answer.body.contains("agentInfo"), "{}", answer.body);
        let id = answer.header("Acp-Connection-Id").unwrap();
        let connection = format!("Acp-Connection-Id: {id}");
        Self {
            server,
            bearer,
            connection,
        }
    }

    pub fn post(&self, message: &Value, more: &[&str]) -> Answer {
        let headers = [&[JSON, &self.bearer, &self.connection], more].concat();
        self.server.ask("POST /acp", &headers, &message.to_string())
    }

    pub fn stream(&self, more: &[&str]) -> Answering {
        let accept = "Accept: text/event-stream";
        let headers = [&[accept, &self.bearer, &self.connection], more].concat();
        self.server.send("GET /acp", &headers, "")
    }

    /// A new session, on the stream of the connection.
    fn session(&self, events: &mut Answering) -> String {
        let new = json!({ "jsonrpc": "2.0", "id": 1, "method": "session/new", "params": {
            "cwd": self.server.world.path("work"), "mcpServers": [] } });
        assert_eq!(self.post(&new, &[]).status, 202);
        let answer = events.event();
        assert_eq!(answer["id"], 1, "{answer}");
        answer["result"]["sessionId"].as_str().unwrap().to_owned()
    }
}

#[test]
fn initialize_is_answered_whatever_its_id_looks_like() {
    let server = http_server("");
    let bearer = server.bearer();
    for (id, status) in [
        ("1", 200),
        (r#""a""#, 200),
        (r#""\u0061""#, 200),
        ("99999999999999999999999", 200),
        ("1.5", 400),
        ("true", 400),
        (r#"{"a":1}"#, 400),
    ] {
        let initialize = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"initialize","params":{{"protocolVersion":1}}}}"#
        );
        let answer = server.ask("POST /acp", &[JSON, &bearer], &initialize);
        assert_eq!(answer.status, status, "{id}: {}", answer.body);
    }
}

#[test]
fn messages_are_posted_and_answers_come_on_streams() {
    let scenario = "[[turn]]\ntool = \"bash\"\narguments = { command = \"echo ran > ran.txt\" }\n\
                    [[turn]]\ntext = \"Done.\"\n";
    let server = http_server(scenario);
    let client = Client::open(&server);
    let mut connection = client.stream(&[]);
    assert_eq!(connection.status, 200);
    assert_eq!(client.stream(&[]).status, 409);
    let session = client.session(&mut connection);
    let header = format!("Acp-Session-Id: {session}");
    let mut events = client.stream(&[&header]);
    let prompt = json!({ "jsonrpc": "2.0", "id": 2, "method": "session/prompt", "params": {
        "sessionId": session, "prompt": [{ "type": "text", "text": "go" }] } });
    assert_eq!(client.post(&prompt, &[]).status, 400);
    assert_eq!(client.post(&prompt, &["Acp-Session-Id: other"]).status, 400);
    assert_eq!(client.post(&prompt, &[&header]).status, 202);
    let question = loop {
        let event = events.event();
        if event["method"] == "session/request_permission" {
            break event;
        }
        assert_eq!(event["params"]["sessionId"], session.as_str());
    };
    let answer = json!({ "jsonrpc": "2.0", "id": question["id"],
        "result": { "outcome": { "outcome": "selected", "optionId": "allow_once" } } });
    assert_eq!(client.post(&answer, &[]).status, 400);
    assert_eq!(client.post(&answer, &[&header]).status, 202);
    let answer = loop {
        let event = events.event();
        if event["id"] == 2 {
            break event;
        }
    };
    assert_eq!(answer["result"]["stopReason"], "end_turn");
    assert!(server.world.path("work/ran.txt").exists());

    let gone = [
        "Accept: text/event-stream",
        &client.bearer,
        &client.connection,
    ];
    assert_eq!(server.ask("DELETE /acp", &gone, "").status, 202);
    assert!(events.ends());
    assert!(connection.ends());
    assert_eq!(server.ask("DELETE /acp", &gone, "").status, 404);
    assert_eq!(client.post(&prompt, &[&header]).status, 404);
}

#[test]
fn each_mistake_has_its_status() {
    let server = http_server("");
    let client = Client::open(&server);
    let bearer = &client.bearer;
    let list = r#"{"jsonrpc":"2.0","id":9,"method":"session/list","params":{}}"#;
    let unknown = "Acp-Connection-Id: 1";
    let events = "Accept: text/event-stream";
    for (request, headers, body, status) in [
        ("POST /acp", &[JSON][..], list, 400),
        ("POST /acp", &[JSON, unknown], list, 404),
        ("POST /acp", &[JSON, &client.connection], "{", 400),
        ("POST /acp", &[JSON, &client.connection], "7", 400),
        ("POST /acp", &[&client.connection], list, 415),
        ("GET /acp", &[&client.connection], "", 406),
        ("GET /acp", &[events], "", 400),
        ("GET /acp", &[events, unknown], "", 404),
        ("DELETE /acp", &[], "", 400),
        ("PUT /acp", &[JSON], "{}", 405),
    ] {
        let headers = [headers, &[bearer]].concat();
        let answer = server.ask(request, &headers, body);
        assert_eq!(answer.status, status, "{request} {headers:?} {body}");
    }
    let batch = server.ask("POST /acp", &[JSON, bearer, &client.connection], "[]");
    assert_eq!(batch.status, 400);
    let batch: Value = serde_json::from_str(&batch.body).unwrap();
    assert_eq!(
        (&batch["id"], &batch["error"]["code"]),
        (&Value::Null, &json!(-32600))
    );
    let again = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {} });
    assert_eq!(client.post(&again, &[]).status, 400);
    // A token that may less does not reach what another one has opened.
    let observer = format!("Authorization: Bearer {}", server.token("observe"));
    let headers = [JSON, &client.connection, &observer];
    assert_eq!(server.ask("POST /acp", &headers, list).status, 404);
}

#[test]
fn an_initialize_that_fails_opens_nothing() {
    let server = http_server("");
    let bearer = server.bearer();
    let initialize = json!({ "jsonrpc": "2.0", "id": 7, "method": "initialize", "params": {} });
    let answer = server.ask("POST /acp", &[JSON, &bearer], &initialize.to_string());
    assert_eq!(answer.status, 500, "{}", answer.body);
    assert_eq!(answer.header("Acp-Connection-Id"), None);
    let body: Value = serde_json::from_str(&answer.body).unwrap();
    assert_eq!(body["id"], 7, "{body}");
    assert_eq!(body["error"]["code"], -32602, "{body}");
    let status = || {
        let lines = server.talk("{\"stentor\":1,\"control\":\"status\"}\n");
        serde_json::from_str::<Value>(&lines[0]).unwrap()
    };
    while status()["clients"] != json!([]) {
        std::thread::yield_now();
    }
}
