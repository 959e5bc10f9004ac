//! Event numbers, subscribers of every kind, and how sessions end.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::json;
use stentor_agent::event::EventKind;
use stentor_agent::live::LiveBlockKind;
use stentor_agent::model::{Model, ModelEvent, ModelInfo, ModelRequest, ModelStream};
use stentor_agent::session::SessionError;
use stentor_model::script::{Scenario, ScriptModel, ScriptTurn};
use tokio::time::{sleep, timeout};

use crate::render::Transcript;
use crate::stage::{Stage, say, with};

fn endless() -> Scenario {
    Scenario::new().turn(
        ScriptTurn::new()
            .text("again")
            .tool("look", json!({}))
            .times(u32::MAX),
    )
}

const LONG: Duration = Duration::from_secs(86_400);

#[tokio::test(start_paused = true)]
async fn numbers_grow_by_one_and_a_latecomer_gets_exactly_what_it_missed() {
    let scenario = Scenario::new()
        .tool("look", json!({}))
        .turn(ScriptTurn::new().chunks(["a", "b", "c"]));
    let stage = with(scenario).start();
    let mut early = stage.session.subscribe_since(0).unwrap();
    stage.prompt("go").await;
    let mut seen = Vec::new();
    loop {
        let event = early.next().await.unwrap();
        let over = matches!(event.kind, EventKind::Settled { .. });
        seen.push(event);
        if over {
            break;
        }
    }
    let last = stage.session.seq();
    assert_eq!(seen.last().unwrap().seq, last);
    assert!(seen.windows(2).all(|pair| pair[0].seq < pair[1].seq));
    let transcript = |events: &mut dyn Iterator<Item = stentor_agent::event::Event>| {
        let mut transcript = Transcript::default();
        for event in events {
            transcript.note(&event);
        }
        transcript.take()
    };
    for since in seen.iter().map(|event| event.seq) {
        let mut late = stage.session.subscribe_since(since).unwrap();
        let told = transcript(&mut std::iter::from_fn(|| late.try_next()));
        let rest = transcript(&mut seen.iter().filter(|event| event.seq > since).cloned());
        assert_eq!(told, without_writing(&rest), "since {since}");
    }
}

/// A transcript without how answers that are complete were written: who comes late gets them whole.
fn without_writing(transcript: &str) -> String {
    let lines = transcript
        .lines()
        .filter(|line| !line.starts_with("      "));
    let lines = lines.map(|line| line.replace(" answer", " started") + "\n");
    lines.collect()
}

#[tokio::test(start_paused = true)]
async fn two_subscribers_see_the_same() {
    let mut stage = with(Scenario::new().tool("look", json!({})).text("done")).start();
    let mut other = stage.session.subscribe();
    let seen = stage.run("go").await;
    let mut transcript = Transcript::default();
    while let Some(event) = other.try_next() {
        transcript.note(&event);
    }
    assert_eq!(transcript.take(), seen);
}

#[tokio::test(start_paused = true)]
async fn a_slow_reader_loses_nothing_and_the_run_waits_for_it() {
    let calls = ScriptTurn::new()
        .text("x")
        .tool("look", json!({}))
        .times(400);
    let mut stage = with(Scenario::new().turn(calls).text("done")).start();
    stage.prompt("go").await;
    let (mut last, mut started) = (0, Vec::new());
    loop {
        sleep(Duration::from_secs(1)).await;
        let event = timeout(LONG, stage.events.next()).await.unwrap().unwrap();
        assert!(event.seq > last);
        last = event.seq;
        // A round or two may be under way when the queue becomes full.
        assert!(stage.session.seq() - event.seq < 1024 + 64);
        match event.kind {
            EventKind::ToolStarted { call } => started.push(call.id.clone()),
            EventKind::Settled { .. } => break,
            _ => {}
        }
    }
    let expected: Vec<String> = (1..=400).map(|turn| format!("call_{turn}_1")).collect();
    assert_eq!(started, expected);
}

#[tokio::test(start_paused = true)]
async fn a_subscriber_that_is_never_read_keeps_nobody_from_aborting_or_closing() {
    let stage = with(endless()).start();
    stage.prompt("go").await;
    sleep(Duration::from_secs(60)).await;
    assert!(stage.session.state().await.unwrap().is_running);
    timeout(LONG, stage.session.abort()).await.unwrap().unwrap();
    stage.prompt("go on").await;
    sleep(Duration::from_secs(60)).await;
    timeout(LONG, stage.session.close()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn two_hundred_sessions_run_at_once() {
    let stages: Vec<Stage> = (0..200)
        .map(|_| {
            let calls = ScriptTurn::new().tool("act", json!({"ms": 10})).times(5);
            with(Scenario::new().turn(calls).text("done")).start()
        })
        .collect();
    let runs = stages
        .into_iter()
        .map(|mut stage| async move { stage.run("go").await });
    let seen = join_all(runs).await;
    assert!(
        seen.iter()
            .all(|one| one == &seen[0] && one.ends_with("settled\n"))
    );
}

#[tokio::test(start_paused = true)]
async fn closing_during_a_run_ends_it_properly_and_later_calls_say_so() {
    let mut stage = with(Scenario::new().tool("act", json!({"ms": 60_000}))).start();
    stage.prompt("go").await;
    stage.until_tool_started().await;
    let session = stage.session.clone();
    let command = tokio::spawn(async move { session.bash("sleep 60000".to_owned(), false).await });
    tokio::task::yield_now().await;
    timeout(LONG, stage.session.close()).await.unwrap();
    assert!(command.await.unwrap().unwrap().result.cancelled);
    let seen = stage.so_far();
    assert!(
        seen.ends_with("run ended: aborted [user assistant result assistant]\nsettled by abort\n"),
        "{seen}"
    );
    assert!(stage.events.next().await.is_none());
    assert!(matches!(
        stage.session.prompt(say("x")).await,
        Err(SessionError::Closed)
    ));
    assert!(matches!(
        stage.session.abort().await,
        Err(SessionError::Closed)
    ));
    stage.session.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_session_nobody_holds_ends_with_what_runs_in_it() {
    let mut stage = with(Scenario::new().tool("deaf", json!({}))).start();
    let accepted = stage.session.prompt(say("go")).await.unwrap();
    drop(accepted);
    stage.until_tool_started().await;
    let Stage {
        session,
        mut events,
        ..
    } = stage;
    drop(session);
    let mut last = None;
    while let Some(event) = timeout(LONG, events.next()).await.unwrap() {
        last = Some(event.kind);
    }
    assert!(matches!(last, Some(EventKind::Settled { aborted: true })));
}

#[tokio::test(start_paused = true)]
async fn closing_does_not_wait_for_who_holds_an_accepted_prompt() {
    let stage = with(Scenario::new().text("x")).start();
    let accepted = stage.session.prompt(say("go")).await.unwrap();
    timeout(LONG, stage.session.close()).await.unwrap();
    drop(accepted);
}

/// Says `so far` and panics, or panics at once.
struct Panics {
    info: Arc<ModelInfo>,
    at_once: bool,
}

impl Model for Panics {
    fn info(&self) -> &Arc<ModelInfo> {
        &self.info
    }

    fn stream(&self, _: ModelRequest) -> ModelStream {
        assert!(!self.at_once, "boom");
        let events = [
            ModelEvent::BlockStarted(LiveBlockKind::Text),
            ModelEvent::Delta("so far".to_owned()),
            ModelEvent::BlockEnded { signature: None },
        ];
        let mut events = events.into_iter();
        Box::pin(futures_util::stream::poll_fn(move |_| {
            match events.next() {
                Some(event) => std::task::Poll::Ready(Some(Ok(event))),
                None => panic!("boom"),
            }
        }))
    }
}

#[tokio::test(start_paused = true)]
async fn a_model_that_panics_is_a_failed_answer_and_the_session_lives() {
    for at_once in [false, true] {
        let info = Arc::clone(ScriptModel::new(Scenario::new(), "bad").info());
        let mut stage = with(Scenario::new().text("fine").text("fine"))
            .and_model(Arc::new(Panics { info, at_once }))
            .start();
        stage.session.set_model("script", "bad").await.unwrap();
        let seen = stage.run("go").await;
        assert_eq!(seen.contains("so far"), !at_once);
        assert!(
            seen.contains("turn ended: error") && seen.contains("run ended: failed Other"),
            "{seen}"
        );
        let failed = stage.session.compact(None).await;
        assert!(
            matches!(failed, Err(SessionError::Compaction(_))),
            "{failed:?}"
        );
        stage.so_far();
        stage.session.set_model("script", "one").await.unwrap();
        let seen = stage.run("go").await;
        assert!(seen.contains("\"fine\""), "{seen}");
    }
}

/// A prompt is recorded when it is accepted, and announced when its run begins.
#[tokio::test(start_paused = true)]
async fn who_joins_before_a_prompt_is_announced_sees_it_once() {
    let stage = with(Scenario::new().text("done")).start();
    let accepted = stage.session.prompt(say("go")).await.unwrap();
    let mut joined = stage.session.join().await.unwrap();
    let is_prompt = |entry: &&stentor_journal::store::Entry| {
        let message = entry.to_message();
        message.is_some_and(|message| message.as_user().is_some())
    };
    assert_eq!(joined.entries.iter().filter(is_prompt).count(), 1);
    drop(accepted);
    let mut answers = 0;
    loop {
        match joined.events.next().await.unwrap().kind {
            EventKind::MessageStarted { message, .. } => panic!("again: {message:?}"),
            EventKind::MessageEnded { message, .. } => {
                assert!(
                    message.as_user().is_none(),
                    "the end of one that did not begin"
                );
                answers += 1;
            }
            EventKind::Settled { .. } => break,
            _ => {}
        }
    }
    assert_eq!(answers, 1);
}
