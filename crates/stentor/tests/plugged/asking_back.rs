//! `ask`: the model asks the person it works for, through every dialect that can ask.

use expect_test::expect;
use serde_json::{Value, json};

use crate::world::{Child, World};

/// A world whose model asks these questions and then says what was answered.
fn world(questions: Value) -> World {
    let arguments = json!({ "questions": questions }).to_string();
    let scenario = format!(
        "on_exhausted = \"repeat-last\"\n[[turn]]\nsteps = [{{ tool = \"ask\", id = \"c1\", arguments_json = [{}] }}]\n\
         [[turn]]\ntext = \"{{{{last_tool_result}}}}\"\n",
        json!(arguments)
    );
    World::new(&scenario, "permission_mode = \"all\"\n")
}

fn database() -> Value {
    json!({
        "question": "Which database?",
        "options": [
            { "label": "SQLite", "description": "one file" },
            { "label": "Postgres" },
        ],
    })
}

fn parts() -> Value {
    json!({
        "question": "Which parts?",
        "multi": true,
        "options": [{ "label": "Docs" }, { "label": "Tests", "description": "slow" }],
    })
}

/// A client of ACP with these capabilities that has prompted.
fn acp(world: &World, capabilities: Value) -> (Child, String) {
    let (mut child, session) = world.acp(capabilities);
    let prompt = json!({ "sessionId": session, "prompt": [{ "type": "text", "text": "go" }] });
    child.request_acp(3, "session/prompt", prompt);
    (child, session)
}

fn forms() -> Value {
    json!({ "elicitation": { "form": {} } })
}

/// The next request of the program.
fn request(child: &mut Child) -> Value {
    loop {
        let frame = child.json();
        if frame.get("id").is_some() && frame.get("method").is_some() {
            return frame;
        }
    }
}

fn reply(child: &mut Child, asked: &Value, result: Value) {
    let reply = json!({ "jsonrpc": "2.0", "id": asked["id"], "result": result });
    child.send(&reply.to_string());
}

fn accept(answer: Value) -> Value {
    json!({ "action": "accept", "content": { "answer": answer } })
}

/// What the model says at the end, which is what the tool gave.
fn acp_answer(child: &mut Child) -> String {
    let lines = child.until_answer(3);
    let texts = lines.iter().filter_map(|line| {
        let frame: Value = serde_json::from_str(line).unwrap();
        let update = &frame["params"]["update"];
        let is_text = update["sessionUpdate"] == "agent_message_chunk";
        is_text.then(|| update["content"]["text"].as_str().unwrap().to_owned())
    });
    texts.collect()
}

#[test]
fn questions_are_forms_in_acp_and_an_answer_may_be_in_own_words() {
    let world = world(json!([database(), parts(), { "question": "Why?" }]));
    let (mut child, session) = acp(&world, forms());
    let mut asked = Vec::new();
    for answer in [
        json!("Other (in your own words)"),
        json!("DuckDB"),
        json!(["Tests", "Docs"]),
        json!("Because."),
    ] {
        let question = request(&mut child);
        asked.push(child.shown_in(&session, &question.to_string()));
        reply(&mut child, &question, accept(answer));
    }
    expect![[r#"
        {"jsonrpc":"2.0","id":-1,"method":"elicitation/create","params":{"sessionId":"SESSION","mode":"form","message":"The agent asks (1 of 3): Which database?","requestedSchema":{"type":"object","properties":{"answer":{"type":"string","oneOf":[{"const":"SQLite","title":"SQLite: one file"},{"const":"Postgres","title":"Postgres"},{"const":"Other (in your own words)","title":"Other (in your own words)"}],"title":"The agent asks (1 of 3): Which database?"}},"required":["answer"]}}}
        {"jsonrpc":"2.0","id":-2,"method":"elicitation/create","params":{"sessionId":"SESSION","mode":"form","message":"The agent asks (1 of 3): Which database?","requestedSchema":{"type":"object","properties":{"answer":{"type":"string","title":"The agent asks (1 of 3): Which database?"}},"required":["answer"]}}}
        {"jsonrpc":"2.0","id":-3,"method":"elicitation/create","params":{"sessionId":"SESSION","mode":"form","message":"The agent asks (2 of 3): Which parts?","requestedSchema":{"type":"object","properties":{"answer":{"type":"array","items":{"anyOf":[{"const":"Docs","title":"Docs"},{"const":"Tests","title":"Tests: slow"},{"const":"Other (in your own words)","title":"Other (in your own words)"}]},"title":"The agent asks (2 of 3): Which parts?"}},"required":["answer"]}}}
        {"jsonrpc":"2.0","id":-4,"method":"elicitation/create","params":{"sessionId":"SESSION","mode":"form","message":"The agent asks (3 of 3): Why?","requestedSchema":{"type":"object","properties":{"answer":{"type":"string","title":"The agent asks (3 of 3): Why?"}},"required":["answer"]}}}"#]]
    .assert_eq(&asked.join("\n"));
    expect![[r#"
        Which database?
        Answer: in the user's own words: DuckDB

        Which parts?
        Answer: Tests, Docs

        Why?
        Answer: in the user's own words: Because."#]]
    .assert_eq(&acp_answer(&mut child));
    child.end();
}

#[test]
fn a_client_without_forms_gets_the_choices_as_options_of_a_permission() {
    let world = world(json!([database()]));
    let (mut child, session) = acp(&world, json!({}));
    let question = request(&mut child);
    expect![[r#"{"jsonrpc":"2.0","id":-1,"method":"session/request_permission","params":{"sessionId":"SESSION","toolCall":{"toolCallId":"question-1","kind":"other","status":"pending","title":"The agent asks: Which database?","content":[{"type":"content","content":{"type":"text","text":"SQLite: one file"}}]},"options":[{"optionId":"option-1","name":"SQLite","kind":"allow_once"},{"optionId":"option-2","name":"Postgres","kind":"allow_once"},{"optionId":"option-3","name":"Other (in your own words)","kind":"allow_once"}]}}"#]]
        .assert_eq(&child.shown_in(&session, &question.to_string()));
    // It has no place to type: the model learns that.
    let other = json!({ "outcome": { "outcome": "selected", "optionId": "option-3" } });
    reply(&mut child, &question, other);
    expect![[r#"
        Which database?
        Answer: the user wants to answer in their own words and could not here: ask in your message and end your turn"#]]
    .assert_eq(&acp_answer(&mut child));
    child.end();
}

#[test]
fn who_declines_is_asked_nothing_more_and_the_model_learns_it() {
    let world = world(json!([database(), parts()]));
    let (mut child, _) = acp(&world, forms());
    let question = request(&mut child);
    reply(&mut child, &question, json!({ "action": "decline" }));
    expect![[r#"
        Which database?
        Answer: no answer

        Which parts?
        Answer: no answer

        The user did not answer. Go on with what seems best and say what you assumed, or end your turn if you cannot go on without an answer."#]]
    .assert_eq(&acp_answer(&mut child));
    child.end();
}

#[test]
fn an_abort_withdraws_the_question() {
    let world = world(json!([database()]));
    let (mut child, session) = acp(&world, forms());
    let question = request(&mut child);
    let cancel =
        json!({ "jsonrpc": "2.0", "method": "session/cancel", "params": { "sessionId": session } });
    child.send(&cancel.to_string());
    let lines = child.until_answer(3);
    let withdrawn = json!({ "jsonrpc": "2.0", "method": "$/cancel_request", "params": { "requestId": question["id"] } });
    let withdrawn = withdrawn.to_string();
    assert!(lines.contains(&withdrawn), "{lines:?}");
    assert!(lines.last().unwrap().contains("cancelled"), "{lines:?}");
    child.end();
}

#[test]
fn questions_are_dialogs_in_omp_if_its_client_is_there_for_them() {
    let world = world(json!([database(), parts()]));
    let mut child = world.omp_with_dialogs();
    child.send(r#"{"id":"p","type":"prompt","message":"go"}"#);
    let mut asked = Vec::new();
    for value in ["SQLite", "1, 2"] {
        let question = child.until_type("extension_ui_request").pop().unwrap();
        let response =
            json!({ "type": "extension_ui_response", "id": question["id"], "value": value });
        child.send(&response.to_string());
        asked.push(question.to_string());
    }
    expect![[r#"
        {"type":"extension_ui_request","id":"1000000100000001","method":"select","title":"The agent asks (1 of 2): Which database?","options":["SQLite","Postgres","Other (in your own words)"],"optionDetails":[{"description":"one file"},{},{}]}
        {"type":"extension_ui_request","id":"1000000100000002","method":"input","title":"The agent asks (2 of 2): Which parts?\n\n1. Docs\n2. Tests: slow\n3. Other (in your own words)\n\nAnswer with the numbers of all that apply, separated by commas, or in your own words."}"#]]
    .assert_eq(&asked.join("\n"));
    let frames = child.until_type("agent_settled");
    let ended = frames
        .iter()
        .find(|frame| frame["type"] == "tool_execution_end");
    expect![[r#"{"content":[{"type":"text","text":"Which database?\nAnswer: SQLite\n\nWhich parts?\nAnswer: Docs, Tests"}],"details":{"results":[{"question":"Which database?","options":["SQLite","Postgres"],"multi":false,"selectedOptions":["SQLite"],"customInput":null},{"question":"Which parts?","options":["Docs","Tests"],"multi":true,"selectedOptions":["Docs","Tests"],"customInput":null}]}}"#]]
        .assert_eq(&ended.unwrap()["result"].to_string());
    child.end();
}

#[test]
fn questions_are_dialogs_in_psi() {
    let world = world(json!([database(), parts()]));
    let mut child = world.psi();
    child.ask_psi("p", "prompt", r#"{:message "go"}"#);
    for (number, mark, result) in [
        (1, r#":kind "select""#, "Postgres"),
        (2, r#"2. Tests: slow"#, "2"),
    ] {
        let lines = child.until(|line| line.contains("ui/dialog-requested"));
        let line = lines.last().unwrap();
        assert!(line.contains(mark), "{line}");
        // The next question may come before the answer to this request.
        child.send(&format!(
            "{{:id \"d{number}\" :kind :request :op \"resolve_dialog\" \
             :params {{:dialog-id \"dialog-{number}\" :result {result:?}}}}}"
        ));
    }
    child.until(|line| line.contains("Answer: Postgres") && line.contains("Answer: Tests"));
    child.end();
}

#[test]
fn where_nobody_answers_the_model_has_no_such_tool() {
    let world = world(json!([database()]));
    let printed = world.asked(&["-p", "go", "--no-session"]);
    assert_eq!(printed.trim(), "Tool ask not found");
    let not_found = |line: &str| line.contains("Tool ask not found");
    let mut child = world.synaps();
    child.send(r#"{"type":"prompt","id":"p","message":"go"}"#);
    child.until(not_found);
    child.send(r#"{"type":"tools_list","id":"t"}"#);
    let listed = child.until(|line| line.contains("\"id\":\"t\"")).pop();
    assert!(!listed.unwrap().contains("\"ask\""));
    child.end();
    // A client of omp that was not started for dialogs may never answer one.
    let mut child = world.omp();
    child.send(r#"{"id":"p","type":"prompt","message":"go"}"#);
    child.until(not_found);
    child.end();
}

#[test]
fn what_cannot_be_asked_is_refused_and_what_deceives_is_made_visible() {
    let many: Vec<Value> = (0..9)
        .map(|n| json!({ "question": format!("{n}?") }))
        .collect();
    let options: Vec<Value> = (0..21).map(|n| json!({ "label": n.to_string() })).collect();
    for (questions, why) in [
        (json!([]), "Ask between 1 and 8 questions, not 0."),
        (json!(many), "Ask between 1 and 8 questions, not 9."),
        (json!([{ "question": " " }]), "A question is empty."),
        (
            json!([{ "question": "x".repeat(2001) }]),
            "A question has at most 2000 characters.",
        ),
        (
            json!([{ "question": "?", "options": options }]),
            "A question has at most 20 options.",
        ),
        (
            json!([{ "question": "?", "options": [{ "label": "a" }, { "label": "a" }] }]),
            "The labels of the options must differ and say something: \"a\" does not.",
        ),
        (
            json!([{ "question": "?", "options": [{ "label": "x".repeat(201) }] }]),
            "The label of an option has at most 200 characters.",
        ),
    ] {
        let world = world(questions);
        let (mut child, _) = acp(&world, forms());
        assert_eq!(acp_answer(&mut child), why);
        child.end();
    }
    let hostile = json!([{
        "question": "Go\u{1b}[2J on\u{202e}?",
        "options": [{ "label": "Yes\u{1b}[1A\nNo", "description": "\u{7}" }],
    }]);
    let world = world(hostile);
    let (mut child, _) = acp(&world, forms());
    let question = request(&mut child)["params"].to_string();
    for bad in ["\u{1b}", "\\u001b", "\u{202e}", "\u{7}", "\\u0007"] {
        assert!(!question.contains(bad), "{bad:?} is in {question}");
    }
    child.close_stdin();
    child.ended();
}

#[test]
fn a_client_of_psi_that_no_longer_shows_questions_is_asked_none() {
    let world = world(json!([database()]));
    let mut child = world.psi();
    let topics = r#"{:topics ["ui/dialog-requested"]}"#;
    child.ask_psi("u", "unsubscribe", topics);
    child.ask_psi("p", "prompt", r#"{:message "go"}"#);
    child.until(|line| line.contains("Tool ask not found"));
    child.end();

    // One that is open then gets no answer.
    let world = self::world(json!([database()]));
    let mut child = world.psi();
    child.ask_psi("p", "prompt", r#"{:message "go"}"#);
    child.until(|line| line.contains("ui/dialog-requested"));
    child.send(&format!(
        "{{:id \"u\" :kind :request :op \"unsubscribe\" :params {topics}}}"
    ));
    child.until(|line| line.contains("assistant/message") && line.contains("did not answer"));
    child.end();
}
