//! Tools that a provider runs itself: shown as calls that run elsewhere, and given back as they came.

use futures_util::StreamExt;
use serde_json::{Value, json};
use stentor_agent::model::{CallStep, Model, ModelEvent, Purpose};
use stentor_journal::message::{ContentBlock, KnownBlock, KnownMessage, Message, ToolCall};
use stentor_model::remote::RemoteModel;
use stentor_model::wire::Wire;

use crate::server::Server;
use crate::setup::{ask, endpoint, info, message_of, model_at, request, user};

/// A conversation as the turn loop has it: each answer, and behind it what became of its calls.
async fn converse(model: &RemoteModel, messages: &mut Vec<Message>) -> Vec<ModelEvent> {
    let mut all = Vec::new();
    loop {
        let (events, error) = ask(model, request(messages.clone())).await;
        assert_eq!(error, None);
        let message = message_of(&events, model.info());
        let calls = calls_of(&message);
        let is_last = calls.is_empty() || model.takes_messages();
        messages.push(message);
        all.extend(events);
        for call in calls {
            assert!(model.runs_itself(&call), "{call:?}");
            let steps: Vec<CallStep> = model.elsewhere(&call).unwrap().collect().await;
            let [CallStep::Started, CallStep::Ended(output)] = &steps[..] else {
                panic!("{steps:?}");
            };
            let result = json!({
                "role": "toolResult", "toolCallId": call.id, "toolName": call.name,
                "content": output.content, "details": output.details,
                "isError": output.is_error, "timestamp": 1,
            });
            messages.push(serde_json::from_value(result).unwrap());
        }
        if is_last {
            return all;
        }
    }
}

fn calls_of(message: &Message) -> Vec<ToolCall> {
    let Message::Known(KnownMessage::Assistant(message)) = message else {
        return Vec::new();
    };
    let calls = message.content.iter().filter_map(|block| match block {
        ContentBlock::Known(KnownBlock::ToolCall(call)) => Some(call.clone()),
        _ => None,
    });
    calls.collect()
}

/// The messages in short: who says what, calls with their arguments, results with their text.
fn short(messages: &[Message]) -> Vec<String> {
    let lines = messages.iter().map(|message| {
        let value = serde_json::to_value(message).unwrap();
        let blocks = value["content"].as_array().unwrap().iter();
        let blocks = blocks.map(|block| match block["type"].as_str().unwrap() {
            "toolCall" => format!("{}{}", block["name"].as_str().unwrap(), block["arguments"]),
            "thinking" => "(thinking)".to_owned(),
            _ => block["text"].as_str().unwrap().to_owned(),
        });
        let blocks: Vec<String> = blocks.collect();
        let flag = if value["isError"] == true { "!" } else { "" };
        format!(
            "{}{flag}: {}",
            value["role"].as_str().unwrap(),
            blocks.join(" | ")
        )
    });
    lines.collect()
}

/// A model with a server that gives these answers, one after the other, and the tools of the provider.
async fn with_tools(
    wire: Wire,
    path: &str,
    tools: Value,
    answers: Vec<String>,
) -> (Server, RemoteModel) {
    let server = Server::with_events(answers).await;
    let mut endpoint = endpoint(info(wire, server.url(path)), wire);
    endpoint.server_tools = tools.as_array().unwrap().clone().into();
    (server, model_at(endpoint))
}

fn events(list: &[Value]) -> String {
    list.iter()
        .map(|event| format!("data: {event}\n\n"))
        .collect()
}

fn search_result() -> Value {
    json!({
        "type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "caller": {"type": "direct"},
        "content": [{
            "type": "web_search_result", "url": "https://one.example/", "title": "One",
            "encrypted_content": "EqgfCioIARgB", "page_age": null,
        }],
    })
}

fn anthropic_answer() -> String {
    events(&[
        json!({"type": "message_start", "message": {"id": "m1", "usage": {"input_tokens": 10, "output_tokens": 1}}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "I will search."}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "content_block_start", "index": 1, "content_block": {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}, "caller": {"type": "direct"}}}),
        json!({"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": "{\"query\":"}}),
        json!({"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": "\"ones\"}"}}),
        json!({"type": "content_block_stop", "index": 1}),
        json!({"type": "ping"}),
        json!({"type": "content_block_start", "index": 2, "content_block": search_result()}),
        json!({"type": "content_block_stop", "index": 2}),
        json!({"type": "content_block_start", "index": 3, "content_block": {"type": "text", "text": "", "citations": []}}),
        json!({"type": "content_block_delta", "index": 3, "delta": {"type": "citations_delta", "citation": {"type": "web_search_result_location", "url": "https://one.example/", "title": "One", "encrypted_index": "Eo8B", "cited_text": "one"}}}),
        json!({"type": "content_block_delta", "index": 3, "delta": {"type": "text_delta", "text": "There is one."}}),
        json!({"type": "content_block_stop", "index": 3}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 40}}),
        json!({"type": "message_stop"}),
    ])
}

const FOUND: &str = "1. One\n   https://one.example/";

#[tokio::test]
async fn a_search_of_anthropic_is_a_call_and_goes_back_as_it_came() {
    let tool = json!({"type": "web_search_20250305", "name": "web_search", "max_uses": 5});
    let answers = vec![anthropic_answer(), anthropic_answer()];
    let (server, model) = with_tools(Wire::AnthropicMessages, "", json!([tool]), answers).await;
    let mut messages = vec![user("Are there ones?")];
    let events = converse(&model, &mut messages).await;
    assert_eq!(
        short(&messages),
        [
            "user: Are there ones?",
            "assistant: I will search. | web_search{\"query\":\"ones\"}",
            &format!("toolResult: {FOUND}"),
            "assistant: There is one.",
        ]
    );
    let ends = events.iter().filter_map(|event| match event {
        ModelEvent::Finished(finish) => Some((finish.usage.input, finish.usage.output)),
        _ => None,
    });
    assert_eq!(ends.collect::<Vec<_>>(), [(0, 0), (10, 40)]);
    messages.push(user("And twos?"));
    converse(&model, &mut messages).await;
    let requests = server.requests();
    assert_eq!(requests.len(), 2);
    let tools = &requests[0].json()["tools"];
    assert_eq!(tools.as_array().unwrap().last(), Some(&tool));
    let mut sent = requests[1].json()["messages"].take();
    // Which part of a conversation is cached is another test's.
    for message in sent.as_array_mut().unwrap() {
        for block in message["content"].as_array_mut().unwrap() {
            block.as_object_mut().unwrap().shift_remove("cache_control");
        }
    }
    assert_eq!(
        sent,
        json!([
            {"role": "user", "content": [{"type": "text", "text": "Are there ones?"}]},
            {"role": "assistant", "content": [
                {"type": "text", "text": "I will search."},
                {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "caller": {"type": "direct"}, "input": {"query": "ones"}},
                search_result(),
                {"type": "text", "text": "There is one.", "citations": [{"type": "web_search_result_location", "url": "https://one.example/", "title": "One", "encrypted_index": "Eo8B", "cited_text": "one"}]},
            ]},
            {"role": "user", "content": [{"type": "text", "text": "And twos?"}]},
        ])
    );
}

#[tokio::test]
async fn a_search_of_openai_is_a_call_and_goes_back_as_it_came() {
    let item = json!({
        "type": "web_search_call", "id": "ws_1", "status": "completed",
        "action": {"type": "search", "query": "ones", "sources": [{"type": "url", "url": "https://one.example/"}]},
    });
    let reasoning =
        json!({"type": "reasoning", "id": "rs_1", "encrypted_content": "e", "summary": []});
    let answer = events(&[
        json!({"type": "response.created", "response": {"id": "r1"}}),
        json!({"type": "response.output_item.done", "output_index": 0, "item": reasoning}),
        json!({"type": "response.output_item.added", "output_index": 1, "item": {"type": "web_search_call", "id": "ws_1", "status": "in_progress"}}),
        json!({"type": "response.web_search_call.searching", "output_index": 1, "item_id": "ws_1"}),
        json!({"type": "response.output_item.done", "output_index": 1, "item": item}),
        json!({"type": "response.output_item.added", "output_index": 2, "item": {"type": "message", "id": "m"}}),
        json!({"type": "response.output_text.delta", "output_index": 2, "delta": "There is one."}),
        json!({"type": "response.output_text.annotation.added", "output_index": 2, "annotation": {"type": "url_citation", "url": "https://one.example/", "title": "One"}}),
        json!({"type": "response.output_item.done", "output_index": 2, "item": {"type": "message", "id": "m", "content": []}}),
        json!({"type": "response.completed", "response": {"id": "r1", "usage": {"input_tokens": 10, "output_tokens": 40}}}),
    ]);
    let tool = json!({"type": "web_search", "search_context_size": "low"});
    let answers = vec![answer.clone(), answer];
    let (server, model) = with_tools(Wire::OpenAiResponses, "/v1", json!([tool]), answers).await;
    let mut messages = vec![user("Are there ones?")];
    converse(&model, &mut messages).await;
    assert_eq!(
        short(&messages[1..]),
        [
            "assistant: (thinking) | web_search{\"type\":\"search\",\"query\":\"ones\"}",
            "toolResult: 1. https://one.example/",
            "assistant: There is one.",
        ]
    );
    messages.push(user("And twos?"));
    converse(&model, &mut messages).await;
    let requests = server.requests();
    assert_eq!(requests.len(), 2);
    let first = requests[0].json();
    assert_eq!(first["tools"].as_array().unwrap().last(), Some(&tool));
    assert_eq!(
        first["include"],
        json!([
            "reasoning.encrypted_content",
            "web_search_call.action.sources"
        ])
    );
    assert_eq!(
        requests[1].json()["input"],
        json!([
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Are there ones?"}]},
            reasoning,
            item,
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "There is one.", "annotations": []}]},
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "And twos?"}]},
        ])
    );
}

#[tokio::test]
async fn a_program_and_a_search_of_gemini_are_calls_and_the_program_goes_back() {
    let code = json!({"executableCode": {"language": "PYTHON", "code": "print(1)"}});
    let output = json!({"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1\n"}});
    let answer = events(&[
        json!({"responseId": "r1", "candidates": [{"content": {"parts": [code]}}]}),
        json!({"candidates": [{"content": {"parts": [output]}}]}),
        json!({"candidates": [{"content": {"parts": [{"text": "There is one."}]}}]}),
        json!({"candidates": [{"finishReason": "STOP", "groundingMetadata": {
            "webSearchQueries": ["ones"],
            "groundingChunks": [{"web": {"uri": "https://one.example/", "title": "One"}}],
        }}]}),
    ]);
    let tools = json!([{"googleSearch": {}}, {"codeExecution": {}}]);
    let answers = vec![answer.clone(), answer];
    let (server, model) = with_tools(Wire::Gemini, "/v1beta", tools.clone(), answers).await;
    let mut messages = vec![user("Are there ones?")];
    converse(&model, &mut messages).await;
    assert_eq!(
        short(&messages),
        [
            "user: Are there ones?",
            "assistant: code_execution{\"language\":\"PYTHON\",\"code\":\"print(1)\"}",
            "toolResult: 1\n",
            "assistant: There is one. | google_search{\"queries\":[\"ones\"]}",
            &format!("toolResult: {FOUND}"),
        ]
    );
    messages.push(user("And twos?"));
    converse(&model, &mut messages).await;
    let requests = server.requests();
    assert_eq!(requests.len(), 2);
    assert_eq!(
        requests[0].json()["tools"].as_array().unwrap()[1..],
        tools.as_array().unwrap()[..]
    );
    assert_eq!(
        requests[1].json()["contents"],
        json!([
            {"role": "user", "parts": [{"text": "Are there ones?"}]},
            {"role": "model", "parts": [code, output, {"text": "There is one."}]},
            {"role": "user", "parts": [{"text": "And twos?"}]},
        ])
    );
}

#[tokio::test]
async fn what_another_provider_searched_is_a_call_with_a_result_in_words() {
    let tool = json!({"type": "web_search_20250305", "name": "web_search"});
    let (_server, searching) = with_tools(
        Wire::AnthropicMessages,
        "",
        json!([tool]),
        vec![anthropic_answer()],
    )
    .await;
    let mut messages = vec![user("Are there ones?")];
    converse(&searching, &mut messages).await;
    let chat =
        events(&[json!({"choices": [{"delta": {"content": "Yes."}, "finish_reason": "stop"}]})]);
    let (other, model) = with_tools(Wire::OpenAiChat, "/v1", json!([]), vec![chat]).await;
    messages.push(user("Sure?"));
    converse(&model, &mut messages).await;
    let sent = other.requests()[0].json()["messages"].take();
    assert_eq!(
        sent.as_array().unwrap()[2..5],
        [
            json!({"role": "assistant", "content": "I will search.", "tool_calls": [{"id": "srvtoolu_1", "type": "function", "function": {"name": "web_search", "arguments": "{\"query\":\"ones\"}"}}]}),
            json!({"role": "tool", "tool_call_id": "srvtoolu_1", "content": FOUND}),
            json!({"role": "assistant", "content": "There is one."}),
        ]
    );
}

#[tokio::test]
async fn an_answer_that_breaks_off_after_a_search_fails_where_it_would_go_on() {
    let whole = anthropic_answer();
    let cut = whole.find("There is one").unwrap();
    let cut = whole[..cut].rfind("data:").unwrap();
    let (_server, model) = with_tools(
        Wire::AnthropicMessages,
        "",
        json!([]),
        vec![whole[..cut].to_owned()],
    )
    .await;
    let mut messages = vec![user("Are there ones?")];
    let (events, error) = ask(&model, request(messages.clone())).await;
    assert_eq!(error, None);
    let message = message_of(&events, model.info());
    let call = calls_of(&message).remove(0);
    let steps: Vec<CallStep> = model.elsewhere(&call).unwrap().collect().await;
    assert_eq!(steps.len(), 2);
    assert!(!model.takes_messages(), "a message would be lost");
    messages.push(message);
    messages.push(crate::setup::tool_result(
        "srvtoolu_1",
        "web_search",
        json!([]),
    ));
    let (_, error) = ask(&model, request(messages)).await;
    assert!(error.unwrap().is_transient());
    assert!(model.takes_messages());
}

#[tokio::test]
async fn a_run_that_ends_lets_go_of_an_answer_that_would_go_on() {
    let (_server, model) = with_tools(
        Wire::AnthropicMessages,
        "",
        json!([]),
        vec![anthropic_answer()],
    )
    .await;
    let (events, _) = ask(&model, request(vec![user("Are there ones?")])).await;
    let call = calls_of(&message_of(&events, model.info())).remove(0);
    model.run_ended();
    assert!(!model.runs_itself(&call));
    assert!(model.elsewhere(&call).is_none());
    assert!(model.takes_messages());
}

#[tokio::test]
async fn a_summary_is_given_whole_whatever_the_provider_runs() {
    let (_server, model) = with_tools(
        Wire::AnthropicMessages,
        "",
        json!([]),
        vec![anthropic_answer()],
    )
    .await;
    let mut request = request(vec![user("Sum up.")]);
    request.purpose = Purpose::Compaction;
    let (events, _) = ask(&model, request).await;
    assert_eq!(
        crate::setup::text_of(&events),
        "I will search.There is one."
    );
}

/// The events of an answer of Anthropic's with these blocks.
fn blocks(list: &[Value]) -> String {
    let mut all = vec![json!({"type": "message_start", "message": {"id": "m1"}})];
    for (index, block) in list.iter().enumerate() {
        all.push(json!({"type": "content_block_start", "index": index, "content_block": block}));
        all.push(json!({"type": "content_block_stop", "index": index}));
    }
    all.push(json!({"type": "message_stop"}));
    events(&all)
}

fn server_use(id: &str) -> Value {
    json!({"type": "server_tool_use", "id": id, "name": "web_search", "input": {"query": id}})
}

fn no_pages(id: &str) -> Value {
    json!({"type": "web_search_tool_result", "tool_use_id": id, "content": []})
}

#[tokio::test]
async fn searches_at_the_same_time_have_each_its_result() {
    let answer = blocks(&[
        server_use("a"),
        server_use("b"),
        no_pages("b"),
        json!({"type": "web_search_tool_result", "tool_use_id": "a", "content": {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"}}),
        json!({"type": "text", "text": "No."}),
    ]);
    let (_server, model) = with_tools(Wire::AnthropicMessages, "", json!([]), vec![answer]).await;
    let mut messages = vec![user("Are there ones?")];
    converse(&model, &mut messages).await;
    assert_eq!(
        short(&messages[1..]),
        [
            "assistant: web_search{\"query\":\"a\"}",
            "toolResult!: The provider's tool failed: max_uses_exceeded",
            "assistant: web_search{\"query\":\"b\"}",
            "toolResult: Nothing was found.",
            "assistant: No.",
        ]
    );
}

#[tokio::test]
async fn a_call_of_the_session_beside_a_search_is_answered_when_the_answer_is_complete() {
    let answer = blocks(&[
        json!({"type": "tool_use", "id": "t", "name": "read", "input": {"path": "a"}}),
        server_use("s"),
        no_pages("s"),
        json!({"type": "text", "text": "Let me see."}),
    ]);
    let (server, model) = with_tools(
        Wire::AnthropicMessages,
        "",
        json!([]),
        vec![answer, blocks(&[])],
    )
    .await;
    let (events, error) = ask(&model, request(vec![user("Go on.")])).await;
    assert_eq!(error, None);
    let message = message_of(&events, model.info());
    let calls = calls_of(&message);
    assert!(!model.runs_itself(&calls[0]) && model.elsewhere(&calls[0]).is_none());
    let steps: Vec<CallStep> = model.elsewhere(&calls[1]).unwrap().collect().await;
    let [_, CallStep::Ended(output)] = &steps[..] else {
        panic!("{steps:?}");
    };
    let searched = json!({
        "role": "toolResult", "toolCallId": "s", "toolName": "web_search", "isError": false,
        "content": output.content, "details": output.details, "timestamp": 1,
    });
    let read = crate::setup::tool_result("t", "read", json!([{"type": "text", "text": "x"}]));
    let searched = serde_json::from_value(searched).unwrap();
    ask(
        &model,
        request(vec![user("Go on."), message, read, searched]),
    )
    .await;
    let sent = server.requests()[1].json()["messages"].take();
    assert_eq!(
        sent[1]["content"],
        json!([
            {"type": "tool_use", "id": "t", "name": "read", "input": {"path": "a"}},
            {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "s"}},
            no_pages("s"),
            {"type": "text", "text": "Let me see."},
        ])
    );
    assert_eq!(sent[2]["content"].as_array().unwrap().len(), 1);
    assert_eq!(sent[2]["content"][0]["tool_use_id"], "t");
}
