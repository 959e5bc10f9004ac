//! Cancelling: always `cancelled`, soon, and nothing after it (section 6.4).

use expect_test::expect;
use serde_json::{Value, json};

use crate::client::Client;

/// The kinds of the updates, and the stop reason at the end.
fn kinds(messages: &[Value]) -> Vec<String> {
    let kind = |message: &Value| {
        let update = &message["params"]["update"];
        let status = update["status"].as_str().map(|status| format!(" {status}"));
        match update["sessionUpdate"].as_str() {
            Some(kind) => format!("{kind}{}", status.unwrap_or_default()),
            None => match message["result"]["stopReason"].as_str() {
                Some(reason) => reason.to_owned(),
                None => message["method"].to_string(),
            },
        }
    };
    messages.iter().map(kind).collect()
}

/// Nothing more comes for the session: the next message is the answer to another request.
fn is_quiet(client: &mut Client) {
    let answer = client.ask("session/list", json!({}));
    assert!(answer["result"].is_object(), "{answer}");
}

#[test]
fn a_cancel_right_behind_its_prompt_finds_it() {
    for _ in 0..20 {
        let mut client = Client::with("[[turn]]\nsteps = [{ hang = true }]\n");
        let session = client.session();
        let prompt = client.prompt(&session, "go");
        client.cancel(&session);
        let messages = client.until(prompt);
        assert_eq!(kinds(&messages).last().unwrap(), "cancelled");
    }
}

#[test]
fn prompts_and_cancels_in_a_row_are_each_answered_once() {
    let mut client =
        Client::with("[[turn]]\nsteps = [{ text = \"x\" }, { hang = true }]\ntimes = 100\n");
    let session = client.session();
    let mut prompts = Vec::new();
    for _ in 0..10 {
        prompts.push(client.prompt(&session, "go"));
        client.cancel(&session);
    }
    let mut answered = Vec::new();
    while answered.len() < prompts.len() {
        let message = client.read();
        if message.get("method").is_none() {
            assert_eq!(message["result"]["stopReason"], "cancelled", "{message}");
            answered.push(message["id"].as_i64().unwrap());
        }
    }
    answered.sort_unstable();
    assert_eq!(answered, prompts);
    is_quiet(&mut client);
}

#[test]
fn a_prompt_can_be_cancelled_by_its_request() {
    let mut client = Client::with("[[turn]]\nsteps = [{ text = \"x\" }, { hang = true }]\n");
    let session = client.session();
    let prompt = client.prompt(&session, "go");
    client.until_update("agent_message_chunk");
    client.notify("$/cancel_request", json!({ "requestId": 12345 }));
    client.notify("$/cancel_request", json!({ "requestId": prompt }));
    let messages = client.until(prompt);
    assert_eq!(kinds(&messages).last().unwrap(), "cancelled");
}

#[test]
fn a_cancel_without_a_turn_is_nothing() {
    let mut client = Client::with("[[turn]]\ntext = \"Fine.\"\n");
    let session = client.session();
    client.cancel(&session);
    client.cancel("nobody");
    let id = client.prompt(&session, "go");
    assert_eq!(kinds(&client.until(id)).last().unwrap(), "end_turn");
}

#[test]
fn cancelling_gets_through_a_flood() {
    let mut client = Client::with("[[turn]]\ntext = \"word \"\nrepeat = 100000000\n");
    let session = client.session();
    let prompt = client.prompt(&session, "go");
    client.until_update("agent_message_chunk");
    client.cancel(&session);
    let messages = client.until(prompt);
    assert_eq!(kinds(&messages).last().unwrap(), "cancelled");
    is_quiet(&mut client);
}

#[test]
fn cancelling_in_mid_stream_ends_the_turn_and_a_prompt_right_behind_it_is_served() {
    let mut client = Client::with(
        "[[turn]]\nsteps = [{ text = \"Working\" }, { hang = true }]\n[[turn]]\ntext = \"Second.\"\n",
    );
    let session = client.session();
    let first = client.prompt(&session, "one");
    let mut messages = client.until_update("agent_message_chunk");
    client.cancel(&session);
    let second = client.prompt(&session, "two");
    messages.extend(client.until(first));
    messages.extend(client.until(second));
    expect![[r#"
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"session_info_update","title":"one"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Working"},"messageId":"MSG"}}}
        {"id":3,"result":{"stopReason":"cancelled"}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Second."},"messageId":"MSG"}}}
        {"id":4,"result":{"stopReason":"end_turn"}}"#]].assert_eq(&client.shown(&messages));
    is_quiet(&mut client);
}

#[test]
fn cancelling_in_mid_tool_kills_the_command_and_fails_the_call() {
    let (mut client, session) = Client::unasked(
        "[[turn]]\nsteps = [{ tool = \"bash\", id = \"c1\", arguments = { command = \"echo begun; sleep 1000\" } }]\n",
        json!({}),
    );
    let prompt = client.prompt(&session, "go");
    client.read_until(|message| {
        message["params"]["update"]["content"][0]["content"]["text"] == "begun\n"
    });
    client.cancel(&session);
    let messages = client.until(prompt);
    expect![[r#"
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"failed","content":[{"type":"content","content":{"type":"text","text":"begun\n\n\nCommand aborted"}}],"rawOutput":{"output":"begun\n\n\nCommand aborted","details":{}}}}}
        {"id":3,"result":{"stopReason":"cancelled"}}"#]].assert_eq(&client.shown(&messages));
    is_quiet(&mut client);
}

#[test]
fn cancelling_answers_the_open_question_by_ourselves() {
    let mut client = Client::with(
        "[[turn]]\nsteps = [{ tool = \"bash\", id = \"c1\", arguments = { command = \"true\" } }]\n",
    );
    let session = client.session();
    let prompt = client.prompt(&session, "go");
    let asked = client.read_until(|message| message["method"] == "session/request_permission");
    client.cancel(&session);
    let messages = client.until(prompt);
    expect![[r#"
        {"method":"$/cancel_request","params":{"requestId":-1}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"failed","content":[{"type":"content","content":{"type":"text","text":"Tool execution was aborted."}}],"rawOutput":{"output":"Tool execution was aborted.","details":{}}}}}
        {"id":3,"result":{"stopReason":"cancelled"}}"#]].assert_eq(&client.shown(&messages));
    // An answer that comes late finds nobody.
    client.reply(
        asked.last().unwrap(),
        json!({ "outcome": { "outcome": "cancelled" } }),
    );
    is_quiet(&mut client);
}

#[test]
fn cancelling_a_compaction_ends_its_turn() {
    let scenario = r#"
[model]
context_window = 100000
[compaction]
summary = "We talked."
wait_ms = 100000000
[[turn]]
text = "word "
repeat = 30000
usage = { input = 50000, output = 30000 }
times = 2
"#;
    let mut client = Client::offering(scenario, json!({ "session": { "compaction": {} } }));
    let session = client.session();
    for _ in 0..2 {
        let id = client.prompt(&session, "go");
        client.until(id);
    }
    let prompt = client.prompt(&session, "/compact");
    let mut messages = client.until_update("compaction_update");
    client.cancel(&session);
    messages.extend(client.until(prompt));
    expect![[r#"
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"compaction_update","compactionId":"MSG-compaction-1","status":"in_progress"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"compaction_update","compactionId":"MSG-compaction-1","status":"cancelled"}}}
        {"id":5,"result":{"stopReason":"cancelled"}}"#]].assert_eq(&client.shown(&messages));
    is_quiet(&mut client);
}
