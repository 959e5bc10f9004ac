//! Questions of the model in a session that several clients share: the first answer counts.

use serde_json::{Value, json};

use crate::clients::{acp, acp_too, chunks, prompt, psi_too, server, server_with, synaps_too};

const ASKS: &str = r#"
[[turn]]
text = "Hello."
[[turn]]
tool = "ask"
arguments = { questions = [{ question = "Which?", options = [{ label = "Red" }, { label = "Blue" }] }] }
[[turn]]
text = "{{last_tool_result}}"
"#;

#[test]
fn the_first_answer_counts_and_the_question_is_withdrawn_from_the_others() {
    let server = server(ASKS);
    let (mut acp, session) = acp(&server);
    prompt(&mut acp, 3, &session, "hello");
    acp.until_answer(3);
    let mut psi = psi_too(&server, &session);
    prompt(&mut acp, 4, &session, "ask");
    let question = acp.until(|line| line.contains("session/request_permission"));
    let question: Value = serde_json::from_str(question.last().unwrap()).unwrap();
    let asked = psi.until(|line| line.contains("ui/dialog-requested")).pop();
    assert!(asked.unwrap().contains("The agent asks: Which?"));
    // What follows may come before the answer to this.
    psi.send(r#"{:id "d" :kind :request :op "resolve_dialog" :params {:dialog-id "dialog-1" :result "Blue"}}"#);
    let withdrawn = format!(
        "\"$/cancel_request\",\"params\":{{\"requestId\":{}}}",
        question["id"]
    );
    acp.until(|line| line.contains(&withdrawn));
    // An answer that comes too late changes nothing.
    let late = serde_json::json!({
        "jsonrpc": "2.0", "id": question["id"],
        "result": { "outcome": { "outcome": "selected", "optionId": "option-1" } },
    });
    acp.send(&late.to_string());
    let said = chunks(&mut acp, "agent_message_chunk", "Answer: Blue");
    assert_eq!(said.concat(), "Which?\nAnswer: Blue");
    psi.until(|line| line.contains("Answer: Blue"));
}

/// Questions about calls, too.
const CALLS: &str = r#"
[[turn]]
text = "Hello."
[[turn]]
tool = "bash"
arguments = { command = "make" }
[[turn]]
text = "{{last_tool_result}}"
"#;

#[test]
fn when_only_clients_are_left_that_answer_nothing_a_question_gets_its_default() {
    for (scenario, said) in [
        (ASKS, "The user did not answer"),
        (CALLS, "Nobody can be asked"),
    ] {
        let server = server_with(
            scenario,
            "permission_mode = \"ask\"\n",
            &["--resume-within", "0"],
        );
        let (mut acp, session) = acp(&server);
        prompt(&mut acp, 3, &session, "hello");
        acp.until_answer(3);
        let mut synaps = synaps_too(&server, &session);
        synaps.send(r#"{"type":"prompt","id":"p","message":"ask"}"#);
        acp.until(|line| line.contains("session/request_permission"));
        drop(acp);
        let lines = synaps.until(|line| line.contains("\"type\":\"response\""));
        assert!(lines.concat().contains(said), "{lines:?}");
        synaps.end();
    }
}

/// A question that only text answers.
const ASKS_FOR_TEXT: &str = r#"
[[turn]]
text = "Hello."
[[turn]]
tool = "ask"
arguments = { questions = [{ question = "Why?" }] }
[[turn]]
text = "{{last_tool_result}}"
"#;

#[test]
fn what_no_client_can_answer_is_not_left_to_each_other() {
    let server = server(ASKS_FOR_TEXT);
    let (mut one, session) = acp(&server);
    prompt(&mut one, 3, &session, "hello");
    one.until_answer(3);
    let (mut two, _) = acp_too(&server, &session);
    prompt(&mut one, 4, &session, "ask");
    let said = one.until_answer(4).concat();
    assert!(said.contains("The user did not answer"), "{said}");
    two.until(|line| line.contains("The user did not answer"));
}

/// A server whose one tool asks for a text, in a form, and gives back the answer.
const FORM: &str = r#"
import json, sys

def send(message):
    print(json.dumps(dict(message, jsonrpc="2.0")), flush=True)

for line in sys.stdin:
    message = json.loads(line)
    method, id = message.get("method"), message.get("id")
    if method == "initialize":
        send({"id": id, "result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "asks", "version": "1"}}})
    elif method == "tools/list":
        send({"id": id, "result": {"tools": [{"name": "ask", "inputSchema": {"type": "object"}}]}})
    elif method == "tools/call":
        call = id
        schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
        send({"id": "q", "method": "elicitation/create", "params": {"message": "Fill this in", "requestedSchema": schema}})
    elif method is None:
        send({"id": call, "result": {"content": [{"type": "text", "text": json.dumps(message["result"])}]}})
"#;

const FILLS_IN: &str = r#"
[[turn]]
text = "Hello."
[[turn]]
tool = "mcp__asks__ask"
arguments = {}
[[turn]]
text = "{{last_tool_result}}"
"#;

const FORM_CONFIG: &str = "permission_mode = \"all\"\n[mcp_servers.asks]\ncommand = [\"python3\", \"-S\", \"~/asks.py\"]\n";

#[test]
fn a_form_that_no_client_can_show_is_cancelled_and_each_is_notified_once() {
    let server = server_with(FILLS_IN, FORM_CONFIG, &[]);
    server.world.file("home/asks.py", FORM);
    let (mut one, session) = acp(&server);
    prompt(&mut one, 3, &session, "hello");
    one.until_answer(3);
    let (mut two, _) = acp_too(&server, &session);
    prompt(&mut one, 4, &session, "fill in");
    let cancelled = json!(r#"{"action": "cancel"}"#).to_string();
    let told = "asks: Fill this in. This client cannot show the form, so nobody was asked.";
    let is_cancelled =
        |line: &str| line.contains("agent_message_chunk") && line.contains(&cancelled);
    for client in [&mut one, &mut two] {
        let seen = client.until(is_cancelled).concat();
        assert_eq!(seen.matches(told).count(), 1, "{seen}");
    }
}
