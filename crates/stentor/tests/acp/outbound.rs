//! Answers to the program's own requests: unknown, late, double, in any order, never (section 1.7).

use serde_json::{Value, json};

use crate::client::{Client, chosen, is_request};

const READ: &str = r#"
[[turn]]
steps = [{ tool = "read", id = "c1", arguments = { path = "name.txt" } }]
[[turn]]
text = "{{last_tool_result}}"
"#;

fn readers(count: usize) -> (Client, Vec<String>, Vec<i64>, Vec<Value>) {
    let (mut client, first) = Client::unasked(READ, json!({ "fs": { "readTextFile": true } }));
    client.world.file("work/name.txt", "on disk");
    let mut sessions = vec![first];
    while sessions.len() < count {
        sessions.push(client.session());
    }
    let prompts = sessions.iter().map(|one| client.prompt(one, "go"));
    let prompts: Vec<i64> = prompts.collect();
    let mut asked = Vec::new();
    while asked.len() < count {
        let message = client.read();
        if is_request(&message) {
            asked.push(message);
        }
    }
    (client, sessions, prompts, asked)
}

/// What is said in each session until all prompts are answered.
fn said(client: &mut Client, sessions: &[String], prompts: &[i64]) -> Vec<String> {
    let mut said = vec![String::new(); sessions.len()];
    let mut open = prompts.to_vec();
    while !open.is_empty() {
        let message = client.read();
        open.retain(|id| message["id"] != *id);
        let update = &message["params"]["update"];
        if update["sessionUpdate"] == "agent_message_chunk" {
            let of = |id: &String| message["params"]["sessionId"] == id.as_str();
            let n = sessions.iter().position(of).unwrap();
            said[n].push_str(update["content"]["text"].as_str().unwrap());
        }
    }
    said
}

#[test]
fn answers_in_any_order_reach_who_asked() {
    let (mut client, sessions, prompts, asked) = readers(5);
    for request in asked.iter().rev() {
        let content = format!("for {}", request["params"]["sessionId"].as_str().unwrap());
        client.reply(request, json!({ "content": content }));
    }
    let expected: Vec<String> = sessions.iter().map(|id| format!("for {id}")).collect();
    assert_eq!(said(&mut client, &sessions, &prompts), expected);
}

#[test]
fn every_request_has_an_id_of_its_own() {
    let (mut client, sessions, prompts, asked) = readers(5);
    let mut ids: Vec<i64> = asked
        .iter()
        .map(|one| one["id"].as_i64().unwrap())
        .collect();
    ids.sort_unstable();
    assert_eq!(ids, [-5, -4, -3, -2, -1]);
    for request in &asked {
        client.reply(request, json!({ "content": "x" }));
    }
    said(&mut client, &sessions, &prompts);
}

#[test]
fn only_the_first_answer_counts_and_unknown_ones_are_ignored() {
    let (mut client, sessions, prompts, asked) = readers(2);
    for id in [json!(-77), json!(1), json!("-1"), json!(-1.5), json!(null)] {
        client.reply_wrong(
            &json!({ "id": id }),
            json!({ "result": { "content": "wrong" } }),
        );
    }
    for content in ["right", "late"] {
        for request in &asked {
            let answer = json!({ "result": { "content": content } });
            client.reply_wrong(request, answer);
        }
    }
    assert_eq!(said(&mut client, &sessions, &prompts), ["right", "right"]);
}

#[test]
fn an_error_reaches_who_asked_and_nobody_else() {
    let (mut client, sessions, prompts, asked) = readers(2);
    client.refuse(&asked[0], -32002, "no such buffer");
    client.reply(&asked[1], json!({ "content": "in the editor" }));
    let of = |id: &Value| sessions.iter().position(|one| *id == one.as_str()).unwrap();
    let refused = of(&asked[0]["params"]["sessionId"]);
    let mut expected = ["in the editor", "in the editor"];
    expected[refused] = "on disk";
    assert_eq!(said(&mut client, &sessions, &prompts), expected);
}

#[test]
fn a_request_that_is_never_answered_holds_up_its_turn_only_and_ends_with_it() {
    let (mut client, sessions, prompts, asked) = readers(3);
    // Everything else goes on: other sessions, other requests.
    client.reply(&asked[1], json!({ "content": "x" }));
    let of = |id: &Value| sessions.iter().position(|one| *id == one.as_str()).unwrap();
    let answered = of(&asked[1]["params"]["sessionId"]);
    client.until(prompts[answered]);
    client.ask("session/list", json!({ "cwd": "/nowhere" }));
    for n in [0, 1, 2] {
        if n != answered {
            client.cancel(&sessions[n]);
            let answer = client.until(prompts[n]).pop().unwrap();
            assert_eq!(answer["result"]["stopReason"], "cancelled");
        }
    }
    // Late answers find nobody.
    client.reply(&asked[0], json!({ "content": "late" }));
    client.reply(&asked[2], json!({ "content": "late" }));
    let id = client.prompt(&sessions[0], "/name Still here");
    client.until(id);
}

#[test]
fn a_client_that_goes_away_with_questions_open_ends_the_program() {
    let mut client = Client::with(
        "[[turn]]\nsteps = [{ tool = \"bash\", id = \"c1\", arguments = { command = \"true\" } }]\n",
    );
    let session = client.session();
    client.prompt(&session, "go");
    client.read_until(is_request);
    client.end();
}

#[test]
fn questions_of_several_sessions_are_answered_in_any_order() {
    let mut client = Client::with(
        "[[turn]]\nsteps = [{ tool = \"bash\", id = \"c1\", arguments = { command = \"true\" } }]\n[[turn]]\ntext = \"Done.\"\n",
    );
    let sessions = [client.session(), client.session()];
    let prompts = [0, 1].map(|n| client.prompt(&sessions[n], "go"));
    let mut questions = Vec::new();
    while questions.len() < 2 {
        let message = client.read();
        if is_request(&message) {
            questions.push(message);
        }
    }
    for question in questions.iter().rev() {
        client.reply(question, chosen("allow_once"));
    }
    assert_eq!(said(&mut client, &sessions, &prompts), ["Done.", "Done."]);
}
