//! Questions to the person, for clients that have forms (section 12).
//!
//! An extension in a few lines of shell asks: its one tool puts a question and gives back what the
//! answer was.

use expect_test::expect;
use serde_json::{Value, json};

use crate::client::Client;
use crate::world::World;

const EXTENSION: &str = r#"#!/bin/sh
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\(-\{0,1\}[0-9][0-9]*\).*/\1/p')
  case $line in
    *'"method":"initialize"'*)
      printf '%s\n' '{"jsonrpc":"2.0","id":'"$id"',"result":{"protocolVersion":1,"tools":[{"name":"question","description":"Asks.","effect":"nothing","parameters":{"type":"object"}}]}}' ;;
    *'"method":"tool/run"'*)
      call=$id
      printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"METHOD","params":PARAMS}' ;;
    *'"result"'*)
      said=$(printf '%s' "$line" | sed 's/.*"result"://; s/}$//; s/"/\\"/g')
      printf '%s\n' '{"jsonrpc":"2.0","id":'"$call"',"result":{"content":"'"$said"'"}}' ;;
  esac
done
"#;

const SCENARIO: &str = r#"
[[turn]]
steps = [{ tool = "question", id = "c1", arguments = {} }]
[[turn]]
text = "{{last_tool_result}}"
"#;

/// A client whose agent asks this as soon as it is prompted.
fn asked(method: &str, params: &Value, capabilities: Value) -> (Client, String) {
    let world = World::new();
    let script = EXTENSION
        .replace("METHOD", method)
        .replace("PARAMS", &params.to_string());
    world.executable("ask.sh", &script);
    world.file("scenario.toml", SCENARIO);
    let script = world.work("../ask.sh");
    let mut client = Client::started(world, &["-e", script.to_str().unwrap()]);
    client.greet(capabilities);
    let session = client.session();
    (client, session)
}

fn forms() -> Value {
    json!({ "elicitation": { "form": {} } })
}

fn is_question(message: &Value) -> bool {
    message["method"] == "elicitation/create"
}

/// What the asker was told, from all that happened in a turn.
fn told(messages: &[Value]) -> String {
    let text = |one: &Value| {
        let update = &one["params"]["update"];
        let is_answer = update["sessionUpdate"] == "agent_message_chunk";
        is_answer.then(|| update["content"]["text"].as_str().unwrap().to_owned())
    };
    messages.iter().filter_map(text).collect()
}

#[test]
fn a_question_is_a_form_and_its_answer_reaches_the_asker() {
    let params =
        json!({ "title": "Which?", "options": ["red", { "value": "b", "label": "Blue" }] });
    let (mut client, session) = asked("ui/select", &params, forms());
    let params = json!({
        "sessionId": session,
        "prompt": [{ "type": "text", "text": "go" }],
        "_meta": { "traceparent": "00-a-b-01" },
    });
    let prompt = client.send("session/prompt", params);
    let mut messages = client.read_until(is_question);
    let question = messages.last().unwrap().clone();
    client.reply(
        &question,
        json!({ "action": "accept", "content": { "answer": "b" } }),
    );
    messages.extend(client.until(prompt));
    expect![[r#"
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"session_info_update","title":"go"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call","toolCallId":"c1","title":"question","name":"question","status":"pending"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c1","kind":"other","title":"question","locations":[],"rawInput":{}}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"in_progress"}}}
        {"id":-1,"method":"elicitation/create","params":{"sessionId":"SESSION-1","mode":"form","message":"Which?","requestedSchema":{"type":"object","properties":{"answer":{"type":"string","oneOf":[{"const":"red","title":"red"},{"const":"b","title":"Blue"}],"title":"Which?"}},"required":["answer"]},"_meta":{"traceparent":"00-a-b-01"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"completed","content":[{"type":"content","content":{"type":"text","text":"{\"value\":\"b\"}"}}],"rawOutput":{"output":"{\"value\":\"b\"}"}}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"{\"value\":\"b\"}"},"messageId":"MSG"}}}
        {"id":3,"result":{"stopReason":"end_turn","_meta":{"traceparent":"00-a-b-01"}}}"#]].assert_eq(&client.shown(&messages));
}

#[test]
fn every_kind_of_question_has_its_form_and_its_answer() {
    let mut lines = Vec::new();
    for (method, params, answer) in [
        (
            "ui/select",
            json!({ "title": "Which?", "options": ["red"] }),
            json!("red"),
        ),
        (
            "ui/confirm",
            json!({ "title": "Sure?", "message": "It goes away." }),
            json!(true),
        ),
        (
            "ui/confirm",
            json!({ "title": "Sure?", "message": "" }),
            json!(false),
        ),
        (
            "ui/input",
            json!({ "title": "Name?", "placeholder": "yours" }),
            json!("Ada"),
        ),
        (
            "ui/editor",
            json!({ "title": "Text?", "prefill": "old" }),
            json!("new"),
        ),
    ] {
        let (mut client, session) = asked(method, &params, forms());
        let prompt = client.prompt(&session, "go");
        let question = client.read_until(is_question).pop().unwrap();
        client.reply(
            &question,
            json!({ "action": "accept", "content": { "answer": answer } }),
        );
        let messages = client.until(prompt);
        lines.push(client.plain(&question));
        lines.push(told(&messages));
    }
    expect![[r#"
        {"id":-1,"method":"elicitation/create","params":{"sessionId":"SESSION-1","mode":"form","message":"Which?","requestedSchema":{"type":"object","properties":{"answer":{"type":"string","oneOf":[{"const":"red","title":"red"}],"title":"Which?"}},"required":["answer"]}}}
        {"value":"red"}
        {"id":-1,"method":"elicitation/create","params":{"sessionId":"SESSION-1","mode":"form","message":"It goes away.","requestedSchema":{"type":"object","properties":{"answer":{"type":"boolean","title":"Sure?"}},"required":["answer"]}}}
        {"confirmed":true,"answered":true}
        {"id":-1,"method":"elicitation/create","params":{"sessionId":"SESSION-1","mode":"form","message":"Sure?","requestedSchema":{"type":"object","properties":{"answer":{"type":"boolean","title":"Sure?"}},"required":["answer"]}}}
        {"confirmed":false,"answered":true}
        {"id":-1,"method":"elicitation/create","params":{"sessionId":"SESSION-1","mode":"form","message":"Name?","requestedSchema":{"type":"object","properties":{"answer":{"type":"string","description":"yours","title":"Name?"}},"required":["answer"]}}}
        {"value":"Ada"}
        {"id":-1,"method":"elicitation/create","params":{"sessionId":"SESSION-1","mode":"form","message":"Text?","requestedSchema":{"type":"object","properties":{"answer":{"type":"string","default":"old","title":"Text?"}},"required":["answer"]}}}
        {"value":"new"}"#]].assert_eq(&lines.join("\n"));
}

#[test]
fn declined_cancelled_refused_and_nonsense_answers_mean_the_default() {
    let mut lines = Vec::new();
    for answer in [
        json!({ "result": { "action": "decline" } }),
        json!({ "result": { "action": "cancel" } }),
        json!({ "result": { "action": "accept" } }),
        json!({ "result": { "action": "accept", "content": { "answer": 5 } } }),
        json!({ "result": { "action": "accept", "content": { "other": "x" } } }),
        json!({ "result": { "action": "decline", "content": { "answer": "x" } } }),
        json!({ "result": { "action": "dance" } }),
        json!({ "result": null }),
        json!({ "result": [] }),
        json!({ "error": { "code": -32603, "message": "no forms today" } }),
        json!({ "error": "x" }),
    ] {
        let (mut client, session) = asked("ui/input", &json!({ "title": "Name?" }), forms());
        let prompt = client.prompt(&session, "go");
        let question = client.read_until(is_question).pop().unwrap();
        client.reply_wrong(&question, answer.clone());
        let messages = client.until(prompt);
        assert_eq!(messages.last().unwrap()["result"]["stopReason"], "end_turn");
        lines.push(format!("{answer}: {}", told(&messages)));
    }
    expect![[r#"
        {"result":{"action":"decline"}}: {"value":null}
        {"result":{"action":"cancel"}}: {"value":null}
        {"result":{"action":"accept"}}: {"value":null}
        {"result":{"action":"accept","content":{"answer":5}}}: {"value":null}
        {"result":{"action":"accept","content":{"other":"x"}}}: {"value":null}
        {"result":{"action":"decline","content":{"answer":"x"}}}: {"value":null}
        {"result":{"action":"dance"}}: {"value":null}
        {"result":null}: {"value":null}
        {"result":[]}: {"value":null}
        {"error":{"code":-32603,"message":"no forms today"}}: {"value":null}
        {"error":"x"}: {"value":null}"#]]
    .assert_eq(&lines.join("\n"));
}

#[test]
fn a_question_nobody_answers_is_withdrawn_when_its_time_is_up() {
    let params = json!({ "title": "Name?", "timeoutMs": 1 });
    let (mut client, session) = asked("ui/input", &params, forms());
    let prompt = client.prompt(&session, "go");
    let mut messages = client.read_until(is_question);
    let question = messages.last().unwrap().clone();
    messages = client.until(prompt);
    expect![[r#"
        {"method":"$/cancel_request","params":{"requestId":-1}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"completed","content":[{"type":"content","content":{"type":"text","text":"{\"value\":null}"}}],"rawOutput":{"output":"{\"value\":null}"}}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"{\"value\":null}"},"messageId":"MSG"}}}
        {"id":3,"result":{"stopReason":"end_turn"}}"#]].assert_eq(&client.shown(&messages));
    // An answer that comes late finds nobody.
    client.reply(&question, json!({ "action": "cancel" }));
    client.ask("session/list", json!({}));
}

#[test]
fn a_question_nobody_answers_is_withdrawn_when_the_turn_is_cancelled() {
    let (mut client, session) = asked("ui/confirm", &json!({ "title": "Sure?" }), forms());
    let prompt = client.prompt(&session, "go");
    client.read_until(is_question);
    // It blocks nobody else.
    let other = client.session();
    let name = client.prompt(&other, "/name Other");
    client.until(name);
    client.cancel(&session);
    let mut messages = client.until(prompt);
    let is_withdrawal = |one: &Value| one["method"] == "$/cancel_request";
    if !messages.iter().any(is_withdrawal) {
        messages.extend(client.read_until(is_withdrawal));
    }
    // It has no order towards the end of the turn.
    messages.sort_by_key(is_withdrawal);
    expect![[r#"
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"failed","content":[{"type":"content","content":{"type":"text","text":"Operation aborted"}}],"rawOutput":{"output":"Operation aborted","details":{}}}}}
        {"id":3,"result":{"stopReason":"cancelled"}}
        {"method":"$/cancel_request","params":{"requestId":-1}}"#]].assert_eq(&client.shown(&messages));
}

#[test]
fn a_client_without_forms_is_never_asked() {
    for capabilities in [
        json!({}),
        json!({ "elicitation": {} }),
        json!({ "elicitation": { "url": {} } }),
        json!({ "elicitation": { "form": null } }),
    ] {
        let (mut client, session) = asked("ui/input", &json!({ "title": "Name?" }), capabilities);
        let prompt = client.prompt(&session, "go");
        let messages = client.until(prompt);
        assert!(!messages.iter().any(is_question));
        assert_eq!(told(&messages), r#"{"value":null}"#);
    }
}
