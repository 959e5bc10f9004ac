//! What a prompt wants otherwise than its session, in its `_meta` (sections 13 and 16).

use expect_test::expect;
use serde_json::{Value, json};

use crate::client::Client;

const MODEL: &str = r#"
[model]
id = "m"
reasoning = true
thinking_levels = ["off", "low", "high"]
[[turn]]
text = "Thought: {{thinking}}"
times = 100
"#;

/// What is said to a prompt with this `_meta`, or why it is refused.
fn said(client: &mut Client, session: &str, meta: Value) -> String {
    let params = json!({
        "sessionId": session,
        "prompt": [{ "type": "text", "text": "go" }],
        "_meta": meta,
    });
    let id = client.send("session/prompt", params);
    let mut messages = client.until(id);
    messages.retain(|one| one["params"]["update"]["sessionUpdate"] != "session_info_update");
    for message in &mut messages {
        if let Some(update) = message.pointer_mut("/params/update") {
            update["messageId"] = json!("MSG");
        }
    }
    client.shown(&messages)
}

#[test]
fn a_prompt_may_have_a_thinking_level_of_its_own_and_the_session_keeps_its() {
    let mut client = Client::with(MODEL);
    let session = client.session();
    let all: Vec<String> = [
        json!({}),
        json!({ "reasoning_effort": "high" }),
        json!({ "stentor": { "thinking": "off" }, "reasoning_effort": "high" }),
        // The model has no such level: the nearest counts.
        json!({ "reasoning_effort": "xhigh" }),
        json!({ "reasoning_effort": "default" }),
        json!({ "reasoning_effort": 7, "stentor": "x", "claudeCode": { "x": 1 } }),
        json!({ "reasoning_effort": "very" }),
        json!({}),
    ]
    .into_iter()
    .map(|meta| said(&mut client, &session, meta))
    .collect();
    expect![[r#"
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Thought: low"},"messageId":"MSG"}}}
        {"id":3,"result":{"stopReason":"end_turn"}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Thought: high"},"messageId":"MSG"}}}
        {"id":4,"result":{"stopReason":"end_turn"}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Thought: off"},"messageId":"MSG"}}}
        {"id":5,"result":{"stopReason":"end_turn"}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Thought: high"},"messageId":"MSG"}}}
        {"id":6,"result":{"stopReason":"end_turn"}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Thought: low"},"messageId":"MSG"}}}
        {"id":7,"result":{"stopReason":"end_turn"}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Thought: low"},"messageId":"MSG"}}}
        {"id":8,"result":{"stopReason":"end_turn"}}
        {"id":9,"error":{"code":-32602,"message":"unknown thinking level `very`: use off, minimal, low, medium, high or xhigh","data":{"reasoning_effort":"very"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Thought: low"},"messageId":"MSG"}}}
        {"id":10,"result":{"stopReason":"end_turn"}}"#]].assert_eq(&all.join("\n"));
}

#[test]
fn a_prompt_may_have_a_model_of_its_own() {
    let mut client = Client::with(MODEL);
    let session = client.session();
    let id = client.send(
        "session/prompt",
        json!({
            "sessionId": session,
            "prompt": [{ "type": "text", "text": "hello" }],
            "_meta": { "model": "offline/guide" },
        }),
    );
    let messages = client.until(id);
    let guide = client.shown(&messages);
    assert!(guide.contains("agent_message_chunk"), "{guide}");
    assert!(!guide.contains("config_option_update"), "{guide}");
    let all = [
        json!({}),
        json!({ "model": "no/body" }),
        json!({ "model": "" }),
        json!({ "model": { "id": "x" } }),
        json!({ "stentor": { "model": "nobody" }, "model": "offline/guide" }),
    ]
    .map(|meta| said(&mut client, &session, meta));
    expect![[r#"
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Thought: low"},"messageId":"MSG"}}}
        {"id":4,"result":{"stopReason":"end_turn"}}
        {"id":5,"error":{"code":-32602,"message":"_meta names a model that is not known here: give provider/id, as the option lists them.","data":{"model":"no/body"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Thought: low"},"messageId":"MSG"}}}
        {"id":6,"result":{"stopReason":"end_turn"}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Thought: low"},"messageId":"MSG"}}}
        {"id":7,"result":{"stopReason":"end_turn"}}
        {"id":8,"error":{"code":-32602,"message":"_meta names a model that is not known here: give provider/id, as the option lists them.","data":{"model":"nobody"}}}"#]].assert_eq(&all.join("\n"));
}

const COMMAND: &str = r#"
on_exhausted = { text = "Done." }
[[turn]]
when = { last_user_contains = "go" }
steps = [{ tool = "bash", id = "c1", arguments = { command = "true" } }]
times = 1
"#;

#[test]
fn a_prompt_may_be_more_careful_than_its_session_but_never_less() {
    let mut lines = Vec::new();
    for (session_mode, run_mode) in [
        ("all", "ask"),
        ("all", "plan"),
        ("ask", "all"),
        ("read-only", "all"),
        ("all", "wild"),
    ] {
        let mut client = Client::with(COMMAND);
        let session = client.session();
        let id = client.send(
            "session/set_mode",
            json!({ "sessionId": session, "modeId": session_mode }),
        );
        client.until(id);
        let params = json!({
            "sessionId": session,
            "prompt": [{ "type": "text", "text": "go" }],
            "_meta": { "permission_mode": run_mode },
        });
        let prompt = client.send("session/prompt", params);
        let messages = client.serve(prompt, |_| {
            Some(json!({ "outcome": { "outcome": "cancelled" } }))
        });
        let was_asked = messages
            .iter()
            .any(|one| one["method"] == "session/request_permission");
        let status = messages
            .iter()
            .rev()
            .find_map(|one| one["params"]["update"]["status"].as_str());
        let answer = client.plain(messages.last().unwrap());
        let asked = if was_asked { "asked" } else { "not asked" };
        lines.push(format!(
            "{session_mode}, {run_mode}: {asked}, {}; {answer}",
            status.unwrap_or("no call")
        ));
    }
    expect![[r#"
        all, ask: asked, failed; {"id":4,"result":{"stopReason":"end_turn"}}
        all, plan: not asked, failed; {"id":4,"result":{"stopReason":"end_turn"}}
        ask, all: asked, failed; {"id":4,"result":{"stopReason":"end_turn"}}
        read-only, all: not asked, failed; {"id":4,"result":{"stopReason":"end_turn"}}
        all, wild: not asked, no call; {"id":4,"error":{"code":-32602,"message":"unknown permission mode `wild`: use ask, accept-edits, plan, read-only or all","data":{"permission_mode":"wild"}}}"#]].assert_eq(&lines.join("\n"));
}

#[test]
fn trace_context_goes_back_with_the_answer_and_other_meta_is_ignored() {
    let mut client = Client::with("[[turn]]\ntext = \"x\"\n");
    let session = client.session();
    let params = json!({
        "sessionId": session,
        "prompt": [{ "type": "text", "text": "go", "_meta": { "x": 1 }, "annotations": { "priority": 1 } }],
        "_meta": { "traceparent": "00-a-b-01", "tracestate": "t=1", "mine": { "deep": [1] } },
        "unknownField": true,
    });
    let id = client.send("session/prompt", params);
    let messages = client.until(id);
    expect![[r#"
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"session_info_update","title":"go"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"x"},"messageId":"MSG"}}}
        {"id":3,"result":{"stopReason":"end_turn","_meta":{"traceparent":"00-a-b-01","tracestate":"t=1"}}}"#]].assert_eq(&client.shown(&messages));
}
