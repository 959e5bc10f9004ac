//! `_session/steering`: a message for the turn that runs (section 6.6).

use expect_test::expect;
use serde_json::{Value, json};

use crate::client::Client;

/// A turn that waits for a file, and then says what it heard last.
const WAITS: &str = r#"
[[turn]]
steps = [{ tool = "bash", id = "c1", arguments = { command = "while [ ! -e go ]; do sleep 0.02; done" } }]
[[turn]]
text = "You said: {{last_user}}"
"#;

fn message(session: &str, text: &str) -> Value {
    json!({ "sessionId": session, "prompt": [{ "type": "text", "text": text }] })
}

#[test]
fn a_message_gets_into_the_turn_that_runs_and_is_shown_where_it_went_in() {
    let (mut client, session) = Client::unasked(WAITS, json!({}));
    let first = client.prompt(&session, "go");
    client.read_until(|message| message["params"]["update"]["status"] == "in_progress");
    let steering = client.send("_session/steering", message(&session, "stop that"));
    let mut messages = client.until(steering);
    client.world.file("work/go", "");
    messages.extend(client.until(first));
    expect![[r#"
        {"id":4,"result":{"outcome":"injected"}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"completed","content":[{"type":"content","content":{"type":"text","text":"(no output)"}}],"rawOutput":{"output":"(no output)"}}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"stop that"},"messageId":"MSG"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"You said: stop that"},"messageId":"MSG"}}}
        {"id":3,"result":{"stopReason":"end_turn"}}"#]].assert_eq(&client.shown(&messages));
}

#[test]
fn a_second_prompt_is_refused_while_a_turn_runs() {
    let (mut client, session) = Client::unasked(WAITS, json!({}));
    let first = client.prompt(&session, "go");
    client.read_until(|message| message["params"]["update"]["status"] == "in_progress");
    let second = client.prompt(&session, "again");
    let refused = client.until(second).pop().unwrap();
    expect![[r#"{"id":4,"error":{"code":-32602,"message":"A turn is already running in this session. Cancel it, wait for it, or send the message with _session/steering."}}"#]].assert_eq(&client.plain(&refused));
    client.cancel(&session);
    client.until(first);
}

#[test]
fn steering_nothing_or_with_nonsense_is_told_so() {
    let mut client = Client::with("[[turn]]\ntext = \"x\"\n");
    let session = client.session();
    let answers = [
        client.ask("_session/steering", message(&session, "hello")),
        client.ask("_session/steering", message("nobody", "hello")),
        client.ask("_session/steering", json!({ "sessionId": session })),
        client.ask("_session/steering", json!({})),
    ];
    expect![[r#"
        {"id":3,"result":{"outcome":"failed","_meta":{"stentor":{"reason":"no turn is running; send session/prompt"}}}}
        {"id":4,"error":{"code":-32002,"message":"There is no such session. List the sessions, or start a new one.","data":{"sessionId":"nobody"}}}
        {"id":5,"error":{"code":-32602,"message":"missing field `prompt`"}}
        {"id":6,"error":{"code":-32602,"message":"missing field `sessionId`"}}"#]].assert_eq(&client.shown(&answers));
}

#[test]
fn a_steering_message_may_bring_files_and_only_what_the_model_takes() {
    let (mut client, session) = Client::unasked(WAITS, json!({}));
    client.world.file("work/a.txt", "the text");
    let uri = format!("file://{}", client.world.work("a.txt").display());
    let first = client.prompt(&session, "go");
    client.read_until(|message| message["params"]["update"]["status"] == "in_progress");
    let with = |block: Value| json!({ "sessionId": session, "prompt": [block] });
    let audio = json!({ "type": "audio", "data": "AA==", "mimeType": "audio/wav" });
    let refused = client.send("_session/steering", with(audio));
    let refused = client.until(refused).pop().unwrap();
    let link = json!({ "type": "resource_link", "uri": uri, "name": "a.txt" });
    let taken = client.send("_session/steering", with(link));
    let taken = client.until(taken).pop().unwrap();
    client.world.file("work/go", "");
    let mut messages = client.until(first);
    messages.splice(..0, [refused, taken]);
    expect![[r#"
        {"id":4,"error":{"code":-32602,"message":"prompt[0] is audio, which this agent cannot take. Send a transcript as text."}}
        {"id":5,"result":{"outcome":"injected"}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"completed","content":[{"type":"content","content":{"type":"text","text":"(no output)"}}],"rawOutput":{"output":"(no output)"}}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"<context uri=\"file://~~/work/a.txt\">\nthe text\n</context>"},"messageId":"MSG"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"You said: <context uri=\"file://~~/work/a.txt\">\nthe text\n</context>"},"messageId":"MSG"}}}
        {"id":3,"result":{"stopReason":"end_turn"}}"#]].assert_eq(&client.shown(&messages));
}

#[test]
fn what_was_meant_for_a_cancelled_turn_is_not_for_the_next_one() {
    let scenario = WAITS.replace(
        "text = \"You said: {{last_user}}\"",
        "text = \"You said: {{last_user}}\"\ntimes = 5",
    );
    let (mut client, session) = Client::unasked(&scenario, json!({}));
    let first = client.prompt(&session, "go");
    client.read_until(|message| message["params"]["update"]["status"] == "in_progress");
    let steering = client.send("_session/steering", message(&session, "too late"));
    client.until(steering);
    client.cancel(&session);
    client.until(first);
    expect![[r#"
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"You said: again"},"messageId":"MSG"}}}
        {"id":5,"result":{"stopReason":"end_turn"}}"#]].assert_eq(&client.turn(&session, "again"));
}

#[test]
fn a_compaction_takes_no_messages() {
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
    client.until_update("compaction_update");
    let steering = client.send("_session/steering", message(&session, "hello"));
    let mut messages = client.until(steering);
    client.cancel(&session);
    messages.extend(client.until(prompt));
    expect![[r#"
        {"id":6,"result":{"outcome":"failed","_meta":{"stentor":{"reason":"no turn is running; send session/prompt"}}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"compaction_update","compactionId":"MSG-compaction-1","status":"cancelled"}}}
        {"id":5,"result":{"stopReason":"cancelled"}}"#]].assert_eq(&client.shown(&messages));
}
