use serde_json::{Value, json};

use super::*;

fn model(input: &[InputKind]) -> ModelInfo {
    ModelInfo {
        id: "m".into(),
        name: "M".into(),
        api: "a".into(),
        provider: "p".into(),
        base_url: String::new(),
        reasoning: true,
        input: input.to_vec(),
        cost: None,
        context_window: 1000,
        max_tokens: 100,
        thinking_levels: Vec::new(),
        modes: Vec::new(),
    }
}

fn messages(list: Value) -> Vec<Arc<Message>> {
    let list: Vec<Message> = serde_json::from_value(list).unwrap();
    list.into_iter().map(Arc::new).collect()
}

fn assistant(model: &str, content: Value) -> Value {
    json!({"role": "assistant", "content": content, "api": "a", "provider": "p", "model": model,
           "stopReason": "stop", "timestamp": 1})
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text, "timestamp": 1})
}

fn result(id: &str, text: &str) -> Value {
    json!({"role": "toolResult", "toolCallId": id, "toolName": "ls",
           "content": [{"type": "text", "text": text}], "isError": false, "timestamp": 1})
}

fn call(id: &str) -> Value {
    json!({"type": "toolCall", "id": id, "name": "ls", "arguments": {}})
}

/// The turns in short: `u:text`, `a:text`, `t:thinking`, `c:id`, `r:id=text`.
fn short(list: Value) -> Vec<String> {
    let messages = messages(list);
    let model = model(&[InputKind::Text]);
    let turns = prepare(&messages, &model, IdRule::Identifier { max_len: 40 });
    let mut out = Vec::new();
    for turn in &turns {
        match turn {
            TranscriptTurn::User(parts) => out.push(format!("u:{}", split_media(parts).0)),
            TranscriptTurn::Assistant(parts) => out.extend(parts.iter().map(|part| match part {
                AssistantPart::Text { text, .. } => format!("a:{text}"),
                AssistantPart::Thinking { text, signature } => format!("t:{text}/{signature}"),
                AssistantPart::Redacted { data } => format!("x:{data}"),
                AssistantPart::Call { id, .. } => format!("c:{id}"),
                AssistantPart::ServerCall { call, item, result } => {
                    format!("s:{} {item} {result:?}", call.id)
                }
            })),
            TranscriptTurn::Results(answers) => out.extend(
                answers
                    .iter()
                    .map(|answer| format!("r:{}={}", answer.id, split_media(&answer.parts).0)),
            ),
        }
    }
    out
}

#[test]
fn results_stand_behind_their_calls_in_the_order_of_the_calls() {
    assert_eq!(
        short(json!([
            user("go"),
            assistant("m", json!([call("1"), call("2")])),
            result("2", "two"),
            user("steered"),
            result("1", "one"),
        ])),
        ["u:go", "c:1", "c:2", "r:1=one", "r:2=two", "u:steered"]
    );
}

#[test]
fn a_call_without_a_result_gets_one_that_says_so() {
    assert_eq!(
        short(json!([
            user("go"),
            assistant("m", json!([call("1")])),
            user("and?")
        ])),
        ["u:go", "c:1", &format!("r:1={INTERRUPTED}"), "u:and?"]
    );
}

#[test]
fn a_result_without_its_call_is_kept_as_text() {
    assert_eq!(
        short(json!([result("9", "nine"), result("9", "again")])),
        [
            "u:(result of a call of `ls` that is no longer part of the conversation)\nnine\n\
          (result of a call of `ls` that is no longer part of the conversation)\nagain"
        ]
    );
}

#[test]
fn the_same_id_in_two_answers_belongs_to_the_nearer_one() {
    assert_eq!(
        short(json!([
            user("go"),
            assistant("m", json!([call("call_0")])),
            result("call_0", "first"),
            assistant("m", json!([call("call_0")])),
            result("call_0", "second"),
        ])),
        [
            "u:go",
            "c:call_0",
            "r:call_0=first",
            "c:call_0",
            "r:call_0=second"
        ]
    );
}

#[test]
fn thinking_goes_back_only_to_the_model_that_thought_it() {
    let thought = json!([
        {"type": "thinking", "thinking": "hm", "thinkingSignature": "s"},
        {"type": "redactedThinking", "data": "d"},
        {"type": "text", "text": "so"},
    ]);
    assert_eq!(
        short(json!([
            user("go"),
            assistant("m", thought.clone()),
            user("x")
        ])),
        ["u:go", "t:hm/s", "x:d", "a:so", "u:x"]
    );
    assert_eq!(
        short(json!([user("go"), assistant("other", thought), user("x")])),
        ["u:go", "a:so", "u:x"]
    );
}

#[test]
fn a_conversation_begins_and_ends_with_a_user() {
    assert_eq!(
        short(json!([assistant(
            "m",
            json!([{"type": "text", "text": "hi"}])
        )])),
        [
            &format!("u:{BEGINS_EARLIER}"),
            "a:hi",
            &format!("u:{GO_ON}")
        ]
    );
}

#[test]
fn empty_messages_vanish_and_adjacent_ones_merge() {
    assert_eq!(
        short(json!([
            user("a"),
            user(" \n"),
            assistant("m", json!([])),
            user("b")
        ])),
        ["u:a\nb"]
    );
}

#[test]
fn what_a_model_cannot_take_is_said_in_words() {
    let list = json!([{"role": "user", "timestamp": 1, "content": [
        {"type": "image", "data": "AAAA", "mimeType": "image/png"},
        {"type": "document", "data": "plain words", "mimeType": "text/plain", "name": "n.txt"},
        {"type": "hologram"},
    ]}]);
    assert_eq!(
        short(list),
        ["u:(an image, image/png, 3 bytes, which m cannot see)\n\
          <document name=\"n.txt\">\nplain words\n</document>\n\
          (content of the unknown type `hologram`)"]
    );
}

#[test]
fn ids_are_kept_where_the_wire_allows_them_and_told_apart_where_not() {
    let rule = IdRule::Identifier { max_len: 40 };
    assert_eq!(wire_id("toolu_01A-b", rule), "toolu_01A-b");
    let long = "call_abc|fc_".to_owned() + &"x".repeat(400);
    let other = long.clone() + "y";
    for id in [&long, &other] {
        let made = wire_id(id, rule);
        assert!(
            made.len() <= 40 && made.starts_with("call_abcfc_"),
            "{made}"
        );
        assert_eq!(made, wire_id(id, rule));
    }
    assert_ne!(wire_id(&long, rule), wire_id(&other, rule));
    assert_eq!(wire_id("abcDEF123", IdRule::Nine), "abcDEF123");
    let nine = wire_id("call_1", IdRule::Nine);
    assert!(nine.len() == 9 && nine.chars().all(|c| c.is_ascii_alphanumeric()));
}
