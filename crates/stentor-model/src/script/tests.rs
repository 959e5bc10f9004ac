use std::sync::Arc;
use std::time::Duration;

use futures_util::{FutureExt, StreamExt};
use serde_json::{Value, json};
use stentor_agent::live::LiveBlockKind;
use stentor_agent::model::{
    Finish, Model, ModelError, ModelErrorKind, ModelEvent, ModelRequest, Purpose, RateLimit,
    ThinkingLevel,
};
use stentor_journal::message::{Message, StopReason};
use stentor_journal::usage::Usage;

use super::*;

fn message(value: Value) -> Arc<Message> {
    Arc::new(serde_json::from_value(value).unwrap())
}

fn user(text: &str) -> Arc<Message> {
    message(json!({"role": "user", "content": text, "timestamp": 1}))
}

fn answer(text: &str, stop: &str) -> Arc<Message> {
    message(json!({
        "role": "assistant", "content": [{"type": "text", "text": text}], "api": "script",
        "provider": "script", "model": "m", "stopReason": stop, "timestamp": 1
    }))
}

fn result(tool: &str, text: &str, is_error: bool) -> Arc<Message> {
    message(json!({
        "role": "toolResult", "toolCallId": "c", "toolName": tool, "isError": is_error,
        "content": [{"type": "text", "text": text}], "timestamp": 1
    }))
}

fn request(session: &str, messages: Vec<Arc<Message>>) -> ModelRequest {
    ModelRequest {
        system: "You are a test.".into(),
        messages,
        tools: Arc::new([]),
        thinking: ThinkingLevel::Off,
        output_schema: None,
        max_output_tokens: None,
        session_id: session.into(),
        session_file: None,
        purpose: Purpose::Turn,
        host: None,
    }
}

async fn play(model: &ScriptModel, request: ModelRequest) -> Vec<Result<ModelEvent, ModelError>> {
    model.stream(request).collect().await
}

/// The answer as one string: deltas joined, an error in angle brackets.
async fn said(model: &ScriptModel, request: ModelRequest) -> String {
    let mut text = String::new();
    for item in play(model, request).await {
        match item {
            Ok(ModelEvent::Delta(delta)) => text.push_str(&delta),
            Ok(_) => {}
            Err(error) => text.push_str(&format!("<{:?}>", error.kind)),
        }
    }
    text
}

fn started() -> ModelEvent {
    ModelEvent::Started { response_id: None }
}

fn delta(text: &str) -> ModelEvent {
    ModelEvent::Delta(text.into())
}

fn ended(signature: Option<&str>) -> ModelEvent {
    ModelEvent::BlockEnded {
        signature: signature.map(Into::into),
    }
}

fn finished(stop_reason: StopReason) -> ModelEvent {
    ModelEvent::Finished(Finish {
        stop_reason,
        refused: false,
        usage: Usage::default(),
    })
}

fn model(text: &str) -> Arc<ScriptModel> {
    ScriptModel::parse(text, ScriptFormat::Toml, "m").unwrap()
}

#[tokio::test]
async fn a_turn_is_played_step_by_step() {
    let model = model(
        r#"
        [[turn]]
        response_id = "resp_{{turn}}"
        refused = true
        usage = { input = 5, output = 6 }
        steps = [
          { thinking = "let me", chunk_chars = 4 },
          { thinking = " see", signature = "sig" },
          { thinking = "again" },
          { redacted_thinking = "opaque" },
          { text = ["Hi ", "{{last_user}}"] },
          { usage = { input = 5 } },
          { text = "!" },
          { text = "New", new_block = true },
          { tool = "bash", id = "t1", arguments = { command = "echo {{last_user}}" } },
          { tool = "read", arguments_json = ['{"pa', 'th": '] },
        ]"#,
    );
    let events: Vec<ModelEvent> = play(&model, request("s", vec![user("Ann")]))
        .await
        .into_iter()
        .map(Result::unwrap)
        .collect();
    let call = |id: &str, name: &str| {
        ModelEvent::BlockStarted(LiveBlockKind::ToolCall {
            id: id.into(),
            name: name.into(),
        })
    };
    assert_eq!(
        events,
        [
            ModelEvent::Started {
                response_id: Some("resp_1".into())
            },
            ModelEvent::BlockStarted(LiveBlockKind::Thinking),
            delta("let "),
            delta("me"),
            delta(" see"),
            ended(Some("sig")),
            ModelEvent::BlockStarted(LiveBlockKind::Thinking),
            delta("again"),
            ended(None),
            ModelEvent::BlockStarted(LiveBlockKind::Redacted),
            delta("opaque"),
            ended(None),
            ModelEvent::BlockStarted(LiveBlockKind::Text),
            delta("Hi "),
            delta("Ann"),
            ModelEvent::Usage(Usage {
                input: 5,
                ..Usage::default()
            }),
            delta("!"),
            ended(None),
            ModelEvent::BlockStarted(LiveBlockKind::Text),
            delta("New"),
            ended(None),
            call("t1", "bash"),
            delta(r#"{"command":"echo Ann"}"#),
            ended(None),
            call("call_1_2", "read"),
            delta("{\"pa"),
            delta("th\": "),
            ended(None),
            ModelEvent::Finished(Finish {
                stop_reason: StopReason::ToolUse,
                refused: true,
                usage: Usage {
                    input: 5,
                    output: 6,
                    ..Usage::default()
                },
            }),
        ]
    );
}

#[tokio::test]
async fn every_error_comes_before_or_in_the_middle_of_an_answer() {
    use ModelErrorKind as Kind;
    for (kind, status) in [
        (Kind::Overloaded, Some(529)),
        (Kind::RateLimited, Some(429)),
        (Kind::Server, Some(500)),
        (Kind::Network, None),
        (Kind::BrokenStream, None),
        (Kind::Silence, None),
        (Kind::AnswerTooLong, None),
        (Kind::Auth, Some(401)),
        (Kind::Quota, Some(402)),
        (Kind::ContextOverflow, Some(400)),
        (Kind::InvalidRequest, Some(400)),
        (Kind::UnknownModel, Some(404)),
        (Kind::Other, None),
    ] {
        let scenario = Scenario::new()
            .error(kind)
            .turn(ScriptTurn::new().text("half").error(kind))
            .turn(
                ScriptTurn::new()
                    .text("whole")
                    .step(ScriptStep::EndBlock)
                    .error(kind),
            );
        let model = ScriptModel::new(scenario, "m");
        let is_it = |item: &Result<ModelEvent, ModelError>| {
            let error = item.as_ref().unwrap_err();
            assert_eq!((error.kind, error.status), (kind, status));
            assert!(error.message.starts_with("script/m: "), "{}", error.message);
        };
        let at_once = play(&model, request("s", vec![user("a")])).await;
        assert_eq!(at_once.len(), 1);
        is_it(&at_once[0]);
        let text = ModelEvent::BlockStarted(LiveBlockKind::Text);
        let halfway = play(&model, request("s", vec![user("a")])).await;
        assert_eq!(
            halfway[..3],
            [Ok(started()), Ok(text.clone()), Ok(delta("half"))]
        );
        assert_eq!(halfway.len(), 4);
        is_it(&halfway[3]);
        let after = play(&model, request("s", vec![user("a")])).await;
        assert_eq!(
            after[..4],
            [Ok(started()), Ok(text), Ok(delta("whole")), Ok(ended(None))]
        );
        is_it(&after[4]);
    }
}

#[tokio::test]
async fn an_error_says_what_the_scenario_says() {
    let model = model(
        r#"turn = [{ error = { kind = "rate_limited", message = "slow down, {{last_user}}", status = 430, retry_after_ms = 1500, rate_limit = { remaining = 0, limit = 5 } } }]"#,
    );
    assert_eq!(
        play(&model, request("s", vec![user("Ann")])).await,
        [Err(ModelError {
            kind: ModelErrorKind::RateLimited,
            message: "slow down, Ann".into(),
            status: Some(430),
            retry_after_ms: Some(1500),
            rate_limit: Some(RateLimit {
                remaining: Some(0),
                limit: Some(5),
                reset_at_ms: None,
            }),
        })]
    );
}

#[tokio::test(start_paused = true)]
async fn waits_take_the_time_they_say_and_no_more() {
    let scenario = Scenario::new().turn(
        ScriptTurn::new()
            .wait(250)
            .step(ScriptStep::Text(Speech {
                chunk_wait_ms: 10,
                ..Speech::new(ScriptedText::Chunks(vec!["a".into(), "b".into()]))
            }))
            .wait(1000),
    );
    let model = ScriptModel::new(scenario, "m");
    let start = tokio::time::Instant::now();
    let mut stream = model.stream(request("s", vec![user("a")]));
    let mut times = Vec::new();
    while let Some(event) = stream.next().await {
        times.push((start.elapsed().as_millis(), event.unwrap()));
    }
    assert_eq!(
        times,
        [
            (0, started()),
            (250, ModelEvent::BlockStarted(LiveBlockKind::Text)),
            (260, delta("a")),
            (270, delta("b")),
            (270, ended(None)),
            (1270, finished(StopReason::Stop)),
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_hangs_says_nothing_more_and_can_be_dropped() {
    let scenario = Scenario::new()
        .turn(ScriptTurn::new().text("a").hang().text("never"))
        .turn(ScriptTurn::new().wait(u64::MAX).text("never"));
    let model = ScriptModel::new(scenario, "m");
    for said_before in [3, 1] {
        let mut stream = model.stream(request("s", vec![user("a")]));
        for _ in 0..said_before {
            assert!(stream.next().await.is_some());
        }
        let year = Duration::from_secs(300 * 24 * 3600);
        assert!(tokio::time::timeout(year, stream.next()).await.is_err());
    }
}

#[tokio::test]
async fn conditional_turns_come_first_and_others_in_order() {
    let model = model(
        r#"
        on_exhausted = "error"
        [[turn]]
        text = "first"
        [[turn]]
        when = { last_user_contains = "hello" }
        times = 1
        text = "hello once"
        [[turn]]
        when = { last_user_matches = "(?i)^HELLO\\b", last_role = "user" }
        text = "hello {{n}}"
        [[turn]]
        when = { tool = "bash", tool_failed = true }
        text = "bash failed: {{last_tool_result}}"
        [[turn]]
        when = { last_tool_result_contains = "42" }
        text = "the answer"
        [[turn]]
        when = { system_contains = "no such prompt" }
        text = "never"
        [[turn]]
        text = "second"
        times = 2"#,
    );
    let hello = || vec![user("hello you")];
    let after = |last| vec![user("hello you"), answer("x", "toolUse"), last];
    for (messages, expected) in [
        (hello(), "hello once"),
        (hello(), "hello 1"),
        (hello(), "hello 2"),
        (vec![user("other")], "first"),
        (after(result("bash", "no", true)), "bash failed: no"),
        (after(result("read", "is 42", false)), "the answer"),
        (after(result("read", "no", true)), "second"),
        (after(result("bash", "no", false)), "second"),
        (vec![user("other")], "<Other>"),
        (hello(), "hello 3"),
    ] {
        assert_eq!(said(&model, request("s", messages)).await, expected);
    }
}

#[tokio::test]
async fn sessions_do_not_share_their_place() {
    let model = ScriptModel::new(Scenario::new().text("one").text("two"), "m");
    let ask = |session| request(session, vec![user("a")]);
    assert_eq!(said(&model, ask("a")).await, "one");
    assert_eq!(said(&model, ask("b")).await, "one");
    assert_eq!(said(&model, ask("a")).await, "two");
    assert_eq!(said(&model, ask("b")).await, "two");
    assert_eq!(
        said(&model, ask("b")).await,
        "The scenario has no more turns."
    );
}

#[tokio::test]
async fn a_session_resumed_elsewhere_goes_on_where_its_conversation_is() {
    let scenario = || {
        Scenario::new()
            .text("one")
            .turn(
                ScriptTurn::new()
                    .when(Condition::user_contains("hi"))
                    .text("hi"),
            )
            .error(ModelErrorKind::Overloaded)
            .turn(
                ScriptTurn::new()
                    .text("two")
                    .error(ModelErrorKind::BrokenStream),
            )
            .text("three")
            .text("four {{turn}}")
    };
    for (messages, expected) in [
        (vec![user("a")], "one"),
        (
            vec![user("a"), answer("one", "stop"), user("b")],
            "<Overloaded>",
        ),
        (
            vec![
                user("a"),
                answer("one", "stop"),
                user("hi"),
                answer("hi", "stop"),
                user("b"),
            ],
            "<Overloaded>",
        ),
        (
            vec![
                user("a"),
                answer("one", "stop"),
                user("b"),
                answer("three", "stop"),
                user("c"),
            ],
            "four 3",
        ),
        (
            vec![
                user("a"),
                answer("one", "stop"),
                user("b"),
                answer("", "error"),
                user("c"),
            ],
            "two<BrokenStream>",
        ),
    ] {
        let model = ScriptModel::new(scenario(), "m");
        assert_eq!(said(&model, request("s", messages)).await, expected);
    }
}

#[tokio::test]
async fn forgetting_a_quiet_session_does_not_lose_its_place() {
    let model = ScriptModel::new(Scenario::new().text("one").text("two"), "m");
    assert_eq!(said(&model, request("first", vec![user("a")])).await, "one");
    for n in 0..1500 {
        said(&model, request(&format!("s{n}"), vec![user("a")])).await;
    }
    let messages = vec![user("a"), answer("one", "stop"), user("b")];
    assert_eq!(said(&model, request("first", messages)).await, "two");
}

#[tokio::test]
async fn when_no_turn_is_left_the_scenario_says_what_happens() {
    for (text, expected) in [
        (
            "on_exhausted = 'repeat-last'\nturn = [{ text = 'a{{n}}' }]",
            ["a1", "a1"],
        ),
        (
            "on_exhausted = 'repeat-last'",
            ["The scenario has no turn to repeat."; 2],
        ),
        (
            "on_exhausted = 'error'\nturn = [{ text = 'a' }]",
            ["a", "<Other>"],
        ),
        (
            "on_exhausted = { text = 'bye {{turn}}' }",
            ["bye 1", "bye 2"],
        ),
    ] {
        let model = model(text);
        for expected in expected {
            assert_eq!(said(&model, request("s", vec![user("x")])).await, expected);
        }
    }
}

#[tokio::test]
async fn a_summary_uses_up_no_turn() {
    let ask = || ModelRequest {
        purpose: Purpose::Compaction,
        ..request(
            "s",
            vec![user("fix it"), answer("ok", "stop"), user("thanks\nagain")],
        )
    };
    let plain = ScriptModel::new(Scenario::new().text("one").text("two"), "m");
    assert_eq!(
        said(&plain, ask()).await,
        "Summary of 3 earlier messages. The user asked:\n- fix it\n- thanks"
    );
    assert_eq!(said(&plain, request("t", vec![user("a")])).await, "one");
    let scripted = model(
        "[compaction]\nsummary = 'nth {{n}}'\nerror = 'server'\nerror_times = 1\nusage = { input = 9 }",
    );
    assert_eq!(said(&scripted, ask()).await, "<Server>");
    assert_eq!(said(&scripted, ask()).await, "nth 2");
}

#[tokio::test]
async fn an_estimate_counts_a_quarter_of_the_characters() {
    let model = model("usage = 'estimate'\nturn = [{ text = '12345678', chunk_chars = 3 }]");
    let last = play(&model, request("s", vec![user("123456789")]))
        .await
        .pop();
    let Some(Ok(ModelEvent::Finished(finish))) = last else {
        panic!("no finish")
    };
    assert_eq!((finish.usage.input, finish.usage.output), (3, 2));
}

#[tokio::test]
async fn two_hundred_thousand_deltas_come_one_by_one() {
    let scenario = Scenario::new().turn(ScriptTurn::new().repeat("word {{n}} ", 200_000));
    let model = ScriptModel::new(scenario, "m");
    let mut stream = model.stream(request("s", vec![user("a")]));
    let (mut deltas, mut last) = (0, String::new());
    while let Some(event) = stream.next().await {
        if let ModelEvent::Delta(text) = event.unwrap() {
            deltas += 1;
            last = text;
        }
    }
    assert_eq!((deltas, last.as_str()), (200_000, "word 200000 "));
}

#[tokio::test]
async fn an_endless_answer_lets_other_tasks_run() {
    let scenario = Scenario::new().turn(ScriptTurn::new().repeat("x", u64::MAX));
    let model = ScriptModel::new(scenario, "m");
    let stream = model.stream(request("s", vec![user("a")]));
    let stop = Arc::new(tokio::sync::Notify::new());
    let other = tokio::spawn({
        let stop = Arc::clone(&stop);
        async move { stop.notify_one() }
    });
    tokio::select! {
        () = stream.for_each(|_| std::future::ready(())) => panic!("it never ends"),
        () = stop.notified() => {}
    }
    other.await.unwrap();
}

#[test]
fn the_end_stays_the_end() {
    let model = ScriptModel::new(Scenario::new().text("a"), "m");
    let mut stream = model.stream(request("s", vec![user("a")]));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(async {
        while stream.next().await.is_some() {}
        assert!(stream.next().now_or_never().flatten().is_none());
    });
}

#[test]
fn the_model_is_what_the_scenario_says() {
    let text = "[model]\nid = 'tiny'\ncontext_window = 500\nprices = { cache_read = 0.5 }";
    let named = ScriptModel::parse(text, ScriptFormat::Toml, "dir/file.toml").unwrap();
    let info = named.info();
    assert_eq!(info.full_name(), "script/tiny");
    assert_eq!(
        (info.context_window, info.cost.unwrap().cache_read),
        (500, 0.5)
    );
    let plain = ScriptModel::parse("", ScriptFormat::Toml, "dir/file.toml").unwrap();
    assert_eq!(plain.info().full_name(), "script/dir/file.toml");
    assert_eq!(plain.info().api, "script");
}
