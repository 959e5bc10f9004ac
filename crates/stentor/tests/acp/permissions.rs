//! Asking before acting (section 9).

use expect_test::expect;
use serde_json::{Value, json};

use crate::client::Client;

const COMMANDS: &str = r#"
on_exhausted = { text = "Done." }
[[turn]]
steps = [{ tool = "bash", id = "c1", arguments = { command = "echo one" } }]
[[turn]]
steps = [{ tool = "bash", id = "c2", arguments = { command = "echo two" } }]
"#;

/// How each call ended.
fn ends(messages: &[Value]) -> Vec<(String, String)> {
    messages
        .iter()
        .map(|message| &message["params"]["update"])
        .filter(|update| matches!(update["status"].as_str(), Some("completed" | "failed")))
        .map(|update| {
            let text = |value: &Value| value.as_str().unwrap().to_owned();
            (text(&update["toolCallId"]), text(&update["status"]))
        })
        .collect()
}

fn pairs(list: &[(&str, &str)]) -> Vec<(String, String)> {
    let owned = |(one, other): &(&str, &str)| ((*one).to_owned(), (*other).to_owned());
    list.iter().map(owned).collect()
}

#[test]
fn a_question_shows_the_call_and_four_answers() {
    let mut client = Client::with(
        "on_exhausted = { text = \"Done.\" }\n[[turn]]\nsteps = [{ tool = \"write\", id = \"c1\", arguments = { path = \"a.txt\", content = \"new\\n\" } }]\n",
    );
    client.world.file("work/a.txt", "old\n");
    let session = client.session();
    let prompt = client.prompt(&session, "go");
    let question = client.choose("allow_once");
    expect![[r#"{"id":-1,"method":"session/request_permission","params":{"sessionId":"SESSION-1","toolCall":{"toolCallId":"c1","kind":"edit","status":"pending","title":"Write a.txt","name":"write","content":[{"type":"diff","path":"~~/work/a.txt","oldText":"old\n","newText":"new\n"},{"type":"content","content":{"type":"text","text":"write on ~~/work/a.txt changes files"}}],"locations":[{"path":"~~/work/a.txt"}],"rawInput":{"content":"new\n","path":"a.txt"}},"options":[{"optionId":"allow_once","name":"Allow","kind":"allow_once"},{"optionId":"allow_always","name":"Always allow this","kind":"allow_always"},{"optionId":"reject_once","name":"Reject","kind":"reject_once"},{"optionId":"reject_always","name":"Always reject this","kind":"reject_always"}]}}"#]].assert_eq(&client.plain(&question));
    let messages = client.until(prompt);
    expect![[r#"
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"in_progress"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"completed","content":[{"type":"diff","path":"~~/work/a.txt","oldText":"old\n","newText":"new\n"}],"rawOutput":{"output":"Successfully wrote 4 bytes to a.txt"}}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Done."},"messageId":"MSG-4"}}}
        {"id":3,"result":{"stopReason":"end_turn"}}"#]].assert_eq(&client.shown(&messages));
    assert_eq!(
        std::fs::read_to_string(client.world.work("a.txt")).unwrap(),
        "new\n"
    );
}

#[test]
fn once_is_once() {
    let mut client = Client::with(COMMANDS);
    let session = client.session();
    let prompt = client.prompt(&session, "go");
    client.choose("allow_once");
    let mut messages = client.read_until(|one| one["method"] == "session/request_permission");
    let question = messages.last().unwrap().clone();
    client.reply(
        &question,
        json!({ "outcome": { "outcome": "selected", "optionId": "reject_once" } }),
    );
    messages.extend(client.until(prompt));
    assert_eq!(
        ends(&messages),
        pairs(&[("c1", "completed"), ("c2", "failed")])
    );
}

#[test]
fn always_is_remembered_for_calls_like_it() {
    for (option, end) in [("allow_always", "completed"), ("reject_always", "failed")] {
        let mut client = Client::with(&COMMANDS.replace("echo two", "echo one"));
        let session = client.session();
        let prompt = client.prompt(&session, "go");
        client.choose(option);
        let messages = client.until(prompt);
        assert_eq!(
            ends(&messages),
            pairs(&[("c1", end), ("c2", end)]),
            "{option}"
        );
    }
}

#[test]
fn only_a_clear_yes_is_one() {
    for reply in [
        json!({ "result": { "outcome": { "outcome": "selected", "optionId": "made_up" } } }),
        json!({ "result": { "outcome": { "outcome": "cancelled" } } }),
        json!({ "result": {} }),
        json!({ "result": null }),
        json!({ "error": { "code": -32603, "message": "broken" } }),
    ] {
        let mut client = Client::with(&COMMANDS.replace(
            "steps = [{ tool = \"bash\", id = \"c2\"",
            "when = { last_user_contains = \"never\" }\nsteps = [{ tool = \"bash\", id = \"c2\"",
        ));
        let session = client.session();
        let prompt = client.prompt(&session, "go");
        let asked = client.read_until(|one| one["method"] == "session/request_permission");
        let mut line = reply.clone();
        line["jsonrpc"] = json!("2.0");
        line["id"] = asked.last().unwrap()["id"].clone();
        client.write(&line.to_string());
        let messages = client.until(prompt);
        assert_eq!(ends(&messages), pairs(&[("c1", "failed")]), "{reply}");
        assert_eq!(messages.last().unwrap()["result"]["stopReason"], "end_turn");
    }
}

#[test]
fn answers_may_come_in_any_order() {
    let mut client = Client::with(
        "[[turn]]\ntool = \"bash\"\narguments = { command = \"true\" }\n[[turn]]\ntext = \"Done.\"\n",
    );
    let (one, two) = (client.session(), client.session());
    let prompts = [client.prompt(&one, "go"), client.prompt(&two, "go")];
    let mut questions = Vec::new();
    while questions.len() < 2 {
        let message = client.read();
        if message["method"] == "session/request_permission" {
            questions.push(message);
        }
    }
    for question in questions.iter().rev() {
        client.reply(
            question,
            json!({ "outcome": { "outcome": "selected", "optionId": "allow_once" } }),
        );
    }
    let mut open = prompts.to_vec();
    while !open.is_empty() {
        let message = client.read();
        open.retain(|id| message["id"] != *id);
    }
}

#[test]
fn modes_decide_what_is_asked() {
    let scenario = r#"
on_exhausted = { text = "Done." }
[[turn]]
steps = [{ tool = "write", id = "edit", arguments = { path = "x.txt", content = "x" } }]
[[turn]]
steps = [{ tool = "bash", id = "command", arguments = { command = "touch y.txt" } }]
"#;
    for (mode, asked, ended) in [
        ("ask", vec!["edit", "command"], ["completed", "completed"]),
        ("accept-edits", vec!["command"], ["completed", "completed"]),
        ("read-only", vec![], ["failed", "failed"]),
        ("plan", vec![], ["failed", "failed"]),
        ("all", vec![], ["completed", "completed"]),
    ] {
        let mut client = Client::with(scenario);
        let session = client.session();
        let id = client.send(
            "session/set_mode",
            json!({ "sessionId": session, "modeId": mode }),
        );
        client.until(id);
        let prompt = client.prompt(&session, "go");
        let mut questions = Vec::new();
        let mut messages = Vec::new();
        loop {
            let message = client.read();
            if message["method"] == "session/request_permission" {
                questions.push(
                    message["params"]["toolCall"]["toolCallId"]
                        .as_str()
                        .unwrap()
                        .to_owned(),
                );
                client.reply(
                    &message,
                    json!({ "outcome": { "outcome": "selected", "optionId": "allow_once" } }),
                );
            }
            let is_last = message["id"] == prompt;
            messages.push(message);
            if is_last {
                break;
            }
        }
        assert_eq!(questions, asked, "{mode}");
        assert_eq!(
            ends(&messages),
            pairs(&[("edit", ended[0]), ("command", ended[1])]),
            "{mode}"
        );
    }
}
