//! What goes out: headers, and the shape of the body of each wire.

use serde_json::{Value, json};
use stentor_agent::model::{InputKind, ThinkingLevel};
use stentor_journal::message::{ContentBlock, DocumentBlock, KnownBlock, Message};
use stentor_model::credential::{Credential, FixedCredential};
use stentor_model::secret::Secret;
use stentor_model::wire::Wire;

use crate::scripts::Script;
use crate::server::{Request, Server};
use crate::setup::{KEY, ask, endpoint, info, model_at, request, user};

const HELLO: Script = Script {
    thinking: &[],
    text: &["hello"],
    calls: &[],
};

async fn sent(
    wire: Wire,
    change: impl FnOnce(&mut stentor_model::remote::ModelEndpoint),
) -> Request {
    let server = Server::with_events(vec![HELLO.in_words_of(wire)]).await;
    let mut endpoint = endpoint(info(wire, server.url("/x")), wire);
    change(&mut endpoint);
    let (_, error) = ask(&model_at(endpoint), request(vec![user("hi")])).await;
    assert_eq!(error, None);
    server.requests()[0].clone()
}

#[tokio::test]
async fn each_wire_has_its_address_and_its_place_for_the_key() {
    let bearer = format!("Bearer {KEY}");
    for (wire, target, header, value) in [
        (Wire::AnthropicMessages, "/x/v1/messages", "x-api-key", KEY),
        (
            Wire::OpenAiChat,
            "/x/chat/completions",
            "authorization",
            bearer.as_str(),
        ),
        (
            Wire::OpenAiResponses,
            "/x/responses",
            "authorization",
            bearer.as_str(),
        ),
        (
            Wire::CodexResponses,
            "/x/codex/responses",
            "authorization",
            bearer.as_str(),
        ),
        (
            Wire::Gemini,
            "/x/models/claude-test-5:streamGenerateContent?alt=sse",
            "x-goog-api-key",
            KEY,
        ),
    ] {
        let request = sent(wire, |_| {}).await;
        assert_eq!(request.target, target);
        assert_eq!(request.header(header), Some(value));
        assert_eq!(request.header("content-type"), Some("application/json"));
    }
}

#[tokio::test]
async fn a_login_is_sent_as_a_bearer_with_what_the_provider_wants_beside_it() {
    let login = |endpoint: &mut stentor_model::remote::ModelEndpoint| {
        endpoint.credentials = std::sync::Arc::new(FixedCredential {
            credential: Credential::Bearer {
                token: Secret::new("token-1"),
                account: Some("account-1".into()),
                base_url: None,
            },
            hint: String::new(),
        });
    };
    let anthropic = sent(Wire::AnthropicMessages, login).await;
    assert_eq!(anthropic.header("authorization"), Some("Bearer token-1"));
    assert_eq!(anthropic.header("x-api-key"), None);
    assert_eq!(anthropic.header("anthropic-beta"), Some("oauth-2025-04-20"));
    let codex = sent(Wire::CodexResponses, login).await;
    assert_eq!(codex.header("chatgpt-account-id"), Some("account-1"));
    assert_eq!(codex.header("session_id"), Some("session-1"));
}

#[tokio::test]
async fn configured_headers_go_out_and_replace_the_wires_own() {
    let request = sent(Wire::OpenAiChat, |endpoint| {
        endpoint.headers = vec![
            ("Authorization".into(), Secret::new("Basic abc")),
            ("X-Team".into(), Secret::new("blue")),
        ];
    })
    .await;
    assert_eq!(request.header("authorization"), Some("Basic abc"));
    assert_eq!(request.header("x-team"), Some("blue"));
}

#[tokio::test]
async fn the_messages_api_gets_cache_breakpoints_thinking_and_tools() {
    let body = sent(Wire::AnthropicMessages, |_| {}).await.json();
    let cached = json!({"type": "ephemeral"});
    assert_eq!(
        body["system"],
        json!([{"type": "text", "text": "Be brief.", "cache_control": cached}])
    );
    assert_eq!(body["tools"][1]["cache_control"], cached);
    assert_eq!(body["tools"][0].get("cache_control"), None);
    assert_eq!(
        body["messages"],
        json!([{"role": "user", "content": [{"type": "text", "text": "hi", "cache_control": cached}]}])
    );
    assert_eq!(
        body["thinking"],
        json!({"type": "adaptive", "display": "summarized"})
    );
    assert_eq!(body["output_config"], json!({"effort": "medium"}));
    assert_eq!(
        (&body["max_tokens"], &body["stream"]),
        (&json!(8000), &json!(true))
    );
}

#[tokio::test]
async fn no_conversation_has_more_than_four_cache_breakpoints() {
    let server = Server::with_events(vec![HELLO.in_words_of(Wire::AnthropicMessages)]).await;
    let endpoint = endpoint(
        info(Wire::AnthropicMessages, server.url("")),
        Wire::AnthropicMessages,
    );
    let mut messages = Vec::new();
    for n in 0..10 {
        messages.push(user(&format!("question {n}")));
        messages.push(
            serde_json::from_value::<Message>(json!({
            "role": "assistant", "content": [{"type": "text", "text": "answer"}], "api": "x",
            "provider": "y", "model": "z", "stopReason": "stop", "timestamp": 1}))
            .unwrap(),
        );
    }
    let (_, error) = ask(&model_at(endpoint), request(messages)).await;
    assert_eq!(error, None);
    let text = server.requests()[0].json().to_string();
    assert_eq!(text.matches("cache_control").count(), 4);
}

#[tokio::test]
async fn the_responses_api_stores_nothing_and_asks_for_sealed_reasoning() {
    let body = sent(Wire::OpenAiResponses, |_| {}).await.json();
    assert_eq!(body["store"], json!(false));
    assert_eq!(body["include"], json!(["reasoning.encrypted_content"]));
    assert_eq!(
        body["reasoning"],
        json!({"effort": "medium", "summary": "auto"})
    );
    assert_eq!(body["instructions"], json!("Be brief."));
    assert_eq!(body["prompt_cache_key"], json!("session-1"));
    assert_eq!(
        body["input"],
        json!([{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]}])
    );
}

#[tokio::test]
async fn a_pdf_goes_as_a_document_where_it_can_and_as_words_where_not() {
    let document = Message::user(
        vec![ContentBlock::Known(KnownBlock::Document(DocumentBlock {
            data: "JVBERi0xLjQ=".into(),
            mime_type: "application/pdf".into(),
            name: Some("plan.pdf".into()),
        }))],
        1,
    );
    for (wire, place, shape) in [
        (
            Wire::AnthropicMessages,
            "/messages/0/content/0/source/data",
            "JVBERi0xLjQ=",
        ),
        (
            Wire::OpenAiChat,
            "/messages/1/content/0/file/file_data",
            "data:application/pdf;base64,JVBERi0xLjQ=",
        ),
        (
            Wire::OpenAiResponses,
            "/input/0/content/0/file_data",
            "data:application/pdf;base64,JVBERi0xLjQ=",
        ),
        (
            Wire::Gemini,
            "/contents/0/parts/0/inlineData/data",
            "JVBERi0xLjQ=",
        ),
    ] {
        for reads_pdf in [true, false] {
            let server = Server::with_events(vec![HELLO.in_words_of(wire)]).await;
            let mut info = info(wire, server.url(""));
            if !reads_pdf {
                info.input = vec![InputKind::Text];
            }
            let model = model_at(endpoint(info, wire));
            let (_, error) = ask(&model, request(vec![document.clone()])).await;
            assert_eq!(error, None);
            let body = server.requests()[0].json();
            if reads_pdf {
                assert_eq!(body.pointer(place), Some(&Value::from(shape)), "{body}");
            } else {
                let text = body.to_string();
                assert!(
                    text.contains("a PDF document named `plan.pdf`, 8 bytes"),
                    "{text}"
                );
            }
        }
    }
}

#[tokio::test]
async fn a_conversation_with_calls_but_no_tools_still_declares_them_where_it_must() {
    let server = Server::with_events(vec![HELLO.in_words_of(Wire::AnthropicMessages)]).await;
    let endpoint = endpoint(
        info(Wire::AnthropicMessages, server.url("")),
        Wire::AnthropicMessages,
    );
    let called: Message = serde_json::from_value(json!({
        "role": "assistant", "content": [{"type": "toolCall", "id": "1", "name": "read", "arguments": {}}],
        "api": "x", "provider": "y", "model": "z", "stopReason": "toolUse", "timestamp": 1}))
    .unwrap();
    let mut request = request(vec![user("hi"), called, user("sum up")]);
    request.tools = std::sync::Arc::new([]);
    request.thinking = ThinkingLevel::Off;
    let (_, error) = ask(&model_at(endpoint), request).await;
    assert_eq!(error, None);
    let body = server.requests()[0].json();
    assert_eq!(body["tools"][0]["name"], json!("read"));
    assert_eq!(body["tool_choice"], json!({"type": "none"}));
}

#[tokio::test]
async fn a_schema_the_providers_can_follow_goes_out_in_the_words_of_each() {
    let closed = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": { "name": { "type": "string" } },
        "required": ["name"],
        "additionalProperties": false,
    });
    let mut plain = closed.clone();
    plain.as_object_mut().unwrap().remove("$schema");
    let unknown = json!({ "type": "object", "not": { "required": ["name"] } });
    let strict = json!({ "name": "result", "schema": plain, "strict": true });
    let mut flat = strict.clone();
    flat["type"] = json!("json_schema");
    for (wire, provider, id, place, expected) in [
        (
            Wire::AnthropicMessages,
            "anthropic",
            "claude-sonnet-4-6",
            "/output_config/format",
            json!({ "type": "json_schema", "schema": plain }),
        ),
        (
            Wire::OpenAiChat,
            "openai",
            "gpt-5",
            "/response_format",
            json!({ "type": "json_schema", "json_schema": strict }),
        ),
        (
            Wire::OpenAiResponses,
            "openai",
            "gpt-5",
            "/text/format",
            flat.clone(),
        ),
        (Wire::CodexResponses, "codex", "gpt-5", "/text/format", flat),
        (
            Wire::Gemini,
            "google",
            "gemini-3-pro",
            "/generationConfig/responseJsonSchema",
            plain.clone(),
        ),
    ] {
        for (schema, expected) in [(&closed, Some(&expected)), (&unknown, None)] {
            let server = Server::with_events(vec![HELLO.in_words_of(wire)]).await;
            let mut model = info(wire, server.url("/x"));
            model.provider = provider.into();
            model.id = id.into();
            let mut asked = request(vec![user("hi")]);
            asked.output_schema = Some(schema.clone().into());
            let (_, error) = ask(&model_at(endpoint(model, wire)), asked).await;
            assert_eq!(error, None);
            let body = server.requests()[0].json();
            assert_eq!(body.pointer(place), expected, "{wire:?}");
        }
    }
}

/// The schema that Anthropic, OpenAI and Google get of this one.
async fn schemas_sent(schema: &Value) -> [Option<Value>; 3] {
    let mut sent = Vec::new();
    for (wire, provider, id, place) in [
        (
            Wire::AnthropicMessages,
            "anthropic",
            "claude-sonnet-4-6",
            "/output_config/format/schema",
        ),
        (
            Wire::OpenAiChat,
            "openai",
            "gpt-5",
            "/response_format/json_schema/schema",
        ),
        (
            Wire::Gemini,
            "google",
            "gemini-3-pro",
            "/generationConfig/responseJsonSchema",
        ),
    ] {
        let server = Server::with_events(vec![HELLO.in_words_of(wire)]).await;
        let mut model = info(wire, server.url("/x"));
        model.provider = provider.into();
        model.id = id.into();
        let mut asked = request(vec![user("hi")]);
        asked.output_schema = Some(schema.clone().into());
        let (_, error) = ask(&model_at(endpoint(model, wire)), asked).await;
        assert_eq!(error, None);
        let body = server.requests()[0].json();
        sent.push(body.pointer(place).cloned());
    }
    sent.try_into().unwrap()
}

/// An object with one required property.
fn with_property(property: Value) -> Value {
    json!({
        "type": "object",
        "properties": { "x": property },
        "required": ["x"],
        "additionalProperties": false,
    })
}

#[tokio::test]
async fn each_provider_gets_the_schemas_that_its_documentation_has() {
    let open = json!({ "type": "object", "properties": { "x": { "type": "string" } } });
    let mut optional = open.clone();
    optional["additionalProperties"] = json!(false);
    let list = json!({ "type": "array", "items": { "type": "string" } });
    let recursive = json!({
        "type": "object",
        "properties": { "next": { "$ref": "#/$defs/next" } },
        "required": ["next"],
        "additionalProperties": false,
        "$defs": { "next": { "anyOf": [{ "$ref": "#" }, { "type": "null" }] } },
    });
    let either = with_property(json!({ "oneOf": [{ "type": "string" }, { "type": "null" }] }));
    for (schema, who) in [
        (open, [false, false, true]),
        (optional, [true, false, true]),
        (list, [false, false, true]),
        (recursive, [false, true, false]),
        (either, [false, false, true]),
        (
            with_property(json!({ "type": ["object", "null"] })),
            [false, false, true],
        ),
        (with_property(json!({ "if": {} })), [false; 3]),
        (with_property(json!({ "$ref": "other.json" })), [false; 3]),
    ] {
        let sent = schemas_sent(&schema).await;
        let expected = who.map(|is_sent| is_sent.then(|| schema.clone()));
        assert_eq!(sent, expected, "{schema}");
    }
}

#[tokio::test]
async fn what_a_provider_cannot_hold_a_model_to_is_left_out_of_its_schema() {
    let string = json!({ "type": "string" });
    let with = |more: Value| {
        let mut string = string.clone();
        let more = more.as_object().unwrap().clone();
        string.as_object_mut().unwrap().extend(more);
        string
    };
    let date = with(json!({ "format": "date" }));
    let link = with(json!({ "format": "uri" }));
    let plain = with(json!({ "pattern": "^a\\\\b" }));
    for (property, expected) in [
        (
            with(json!({ "minLength": 2, "default": "ab", "title": "X" })),
            [0; 3].map(|_| with(json!({ "title": "X" }))),
        ),
        (date.clone(), [date.clone(), date.clone(), date]),
        (link.clone(), [link.clone(), string.clone(), link]),
        (plain.clone(), [plain.clone(), plain, string.clone()]),
        (
            with(json!({ "pattern": "(?=a)" })),
            [0; 3].map(|_| string.clone()),
        ),
        (
            json!({ "type": "integer", "minimum": 1, "multipleOf": 2 }),
            [
                json!({ "type": "integer" }),
                json!({ "type": "integer", "minimum": 1, "multipleOf": 2 }),
                json!({ "type": "integer", "minimum": 1 }),
            ],
        ),
        (
            json!({ "type": "array", "items": string, "minItems": 2, "uniqueItems": true }),
            [
                json!({ "type": "array", "items": string }),
                json!({ "type": "array", "items": string, "minItems": 2 }),
                json!({ "type": "array", "items": string, "minItems": 2 }),
            ],
        ),
        (
            json!({ "const": "a" }),
            [
                json!({ "const": "a" }),
                json!({ "const": "a" }),
                json!({ "enum": ["a"] }),
            ],
        ),
        (
            json!({ "enum": [1, null] }),
            [
                json!({ "enum": [1, null] }),
                json!({ "enum": [1, null] }),
                json!({}),
            ],
        ),
    ] {
        let sent = schemas_sent(&with_property(property.clone())).await;
        let expected = expected.map(|property| Some(with_property(property)));
        assert_eq!(sent, expected, "{property}");
    }
}
