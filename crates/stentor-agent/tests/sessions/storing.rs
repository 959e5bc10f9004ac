//! What is on disk, when, and what a resumed session makes of it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use expect_test::expect;
use serde_json::{Value, json};
use stentor_agent::event::EventKind;
use stentor_agent::model::{ModelErrorKind, ThinkingLevel};
use stentor_agent::session::{ForkPoint, Session, SessionError, Storage};
use stentor_journal::message::Message;
use stentor_journal::store::{self, StoreError};
use stentor_journal::usage::Usage;
use stentor_model::script::{Scenario, ScriptTurn, ScriptedCompaction, UsageRule};
use tempfile::tempdir;

use crate::props::the_plan;
use crate::stage::{Stage, say, with};

/// The lines of a session file.
fn lines(file: &Path) -> Vec<Value> {
    let text = fs::read_to_string(file).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// The roles of the messages in a session file.
fn roles(file: &Path) -> Vec<String> {
    let role = |line: &Value| Some(line["message"]["role"].as_str()?.to_owned());
    lines(file).iter().filter_map(role).collect()
}

async fn file_of(stage: &Stage) -> PathBuf {
    stage.session.state().await.unwrap().file.unwrap()
}

/// Lets go of a session without closing it, and waits until it is gone.
async fn leave(stage: Stage) {
    let Stage {
        session,
        mut events,
        ..
    } = stage;
    drop(session);
    while events.next().await.is_some() {}
}

async fn messages(session: &Session) -> Vec<Arc<Message>> {
    session.messages().await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn the_file_is_there_from_the_first_accepted_prompt_on() {
    let folder = tempdir().unwrap();
    let mut stage = with(Scenario::new().text("ok"))
        .in_folder(folder.path())
        .start();
    let file = file_of(&stage).await;
    stage.session.set_name("quiet").await.unwrap();
    stage
        .session
        .set_thinking(ThinkingLevel::Low)
        .await
        .unwrap();
    assert!(!file.exists());
    let accepted = stage.session.prompt(say("hi")).await.unwrap();
    assert_eq!(roles(&file), ["user"]);
    drop(accepted);
    stage.settled().await;
    let kinds: Vec<Value> = lines(&file)
        .iter()
        .map(|line| line["type"].clone())
        .collect();
    expect![[r#"["session","model_change","thinking_level_change","session_info","thinking_level_change","message","message"]"#]].assert_eq(&json!(kinds).to_string());
}

#[tokio::test]
async fn where_it_is_wanted_the_file_is_there_at_once() {
    let folder = tempdir().unwrap();
    let at_once = Storage::FolderAtOnce(folder.path().to_path_buf());
    let stage = with(Scenario::new())
        .options(|options| options.storage = at_once)
        .start();
    assert!(file_of(&stage).await.exists());
}

#[tokio::test(start_paused = true)]
async fn what_was_acknowledged_is_in_the_file() {
    let folder = tempdir().unwrap();
    let slow = ScriptTurn::new().text("one").wait(1000);
    let mut stage = with(Scenario::new().turn(slow).text("two").text("three"))
        .in_folder(folder.path())
        .start();
    let file = file_of(&stage).await;
    stage.prompt("hi").await;
    stage.until_said("one").await;
    stage.steer("steered text").await;
    assert!(fs::read_to_string(&file).unwrap().contains("steered text"));
    stage.follow_up("followed text").await;
    assert!(fs::read_to_string(&file).unwrap().contains("followed text"));
    stage
        .session
        .bash("echo output of the command".to_owned(), false)
        .await
        .unwrap();
    assert!(
        fs::read_to_string(&file)
            .unwrap()
            .contains("output of the command")
    );
    stage.settled().await;
    expect!["user assistant user assistant user assistant bashExecution"]
        .assert_eq(&roles(&file).join(" "));
}

#[tokio::test(start_paused = true)]
async fn a_model_is_only_told_what_is_in_the_file() {
    let folder = tempdir().unwrap();
    let scenario = Scenario::new()
        .tool("look", json!({}))
        .tool("act", json!({}))
        .text("done");
    let mut stage = with(scenario).in_folder(folder.path()).start();
    stage.heard.watch(file_of(&stage).await);
    stage.steer("also").await;
    stage.run("hi").await;
    assert_eq!(stage.heard.told_and_stored(), [(2, 2), (4, 4), (6, 6)]);
}

fn eventful() -> Scenario {
    Scenario::new()
        .usage(UsageRule::Fixed(Usage {
            input: 10,
            ..Usage::default()
        }))
        .tool("plan", json!({}))
        .turn(
            ScriptTurn::new()
                .text("half")
                .tool("act", json!({}))
                .error(ModelErrorKind::Overloaded),
        )
        .text("done")
        .error(ModelErrorKind::Auth)
        .turn(ScriptTurn::new().text("hanging").hang())
        .text("more")
        .text("and more")
}

#[tokio::test(start_paused = true)]
async fn a_resumed_session_is_the_same() {
    let folder = tempdir().unwrap();
    let mut stage = with(eventful()).in_folder(folder.path()).start();
    let file = file_of(&stage).await;
    stage.run("first").await;
    stage.run("fails").await;
    stage.prompt("hangs").await;
    stage.until_said("hanging").await;
    stage
        .session
        .bash("echo x".to_owned(), false)
        .await
        .unwrap();
    stage.session.abort().await.unwrap();
    stage.session.set_name("named").await.unwrap();
    stage
        .session
        .set_thinking(ThinkingLevel::High)
        .await
        .unwrap();
    stage.steer("s").await;
    stage.follow_up("f").await;
    let before = stage.session.state().await.unwrap();
    let stats = stage.session.stats().await.unwrap();
    let said = messages(&stage.session).await;
    leave(stage).await;

    let stage = with(eventful()).resume(&file);
    let after = stage.session.state().await.unwrap();
    assert_eq!(messages(&stage.session).await, said);
    assert_eq!(
        (after.id, after.name, after.thinking),
        (before.id, before.name, before.thinking)
    );
    assert_eq!((after.model, after.queues), (before.model, before.queues));
    assert_eq!((after.plan, after.leaf), (before.plan, before.leaf));
    assert_eq!(after.file, before.file);
    let again = stage.session.stats().await.unwrap();
    assert_eq!(
        (again.total_usage, again.total_turns),
        (stats.total_usage, stats.total_turns)
    );
    assert_eq!(again.context, stats.context);
}

#[tokio::test(start_paused = true)]
async fn what_a_resumed_session_consumes_is_added_once() {
    let folder = tempdir().unwrap();
    let mut stage = with(eventful()).in_folder(folder.path()).start();
    let file = file_of(&stage).await;
    stage.run("first").await;
    leave(stage).await;
    for asked_early in [false, true] {
        let scenario = Scenario::new().usage(UsageRule::Fixed(Usage {
            input: 10,
            ..Usage::default()
        }));
        let mut stage = with(scenario).resume(&file);
        let before = lines(&file)
            .iter()
            .filter(|line| line["message"]["role"] == "assistant")
            .count();
        if asked_early {
            stage.session.stats().await.unwrap();
        }
        stage.run("more").await;
        let stats = stage.session.stats().await.unwrap();
        assert_eq!(stats.total_turns, before as u64 + 1);
        leave(stage).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_queued_message_survives_and_is_delivered_exactly_once() {
    let folder = tempdir().unwrap();
    let stage = with(Scenario::new()).in_folder(folder.path()).start();
    let file = file_of(&stage).await;
    stage.steer("steered").await;
    stage.follow_up("followed").await;
    stage.follow_up("taken back").await;
    stage
        .session
        .remove_queued(stentor_agent::session::QueueKind::FollowUp, "taken back")
        .await
        .unwrap();
    leave(stage).await;

    let mut stage = with(Scenario::new().text("a").text("b")).resume(&file);
    let queues = stage.session.state().await.unwrap().queues;
    assert_eq!(
        (&queues.steering[..], &queues.follow_up[..]),
        (&["steered".to_owned()][..], &["followed".to_owned()][..])
    );
    stage.run("go").await;
    let said = stage.messages().await;
    expect![[r#"
        user "go"
        user "steered"
        assistant ["a"] stop
        user "followed"
        assistant ["b"] stop"#]]
    .assert_eq(&said.join("\n"));
    leave(stage).await;

    let stage = with(Scenario::new()).resume(&file);
    let state = stage.session.state().await.unwrap();
    assert_eq!(
        (state.queues.steering.len(), state.queues.follow_up.len()),
        (0, 0)
    );
    assert_eq!(stage.messages().await, said);
}

#[tokio::test(start_paused = true)]
async fn what_was_running_when_the_process_died_is_recorded_as_interrupted() {
    let folder = tempdir().unwrap();
    let calls = ScriptTurn::new()
        .tool("act", json!({"say":"first"}))
        .tool("act", json!({"ms": 60_000}));
    let mut stage = with(Scenario::new().turn(calls))
        .in_folder(folder.path())
        .start();
    let file = file_of(&stage).await;
    stage.prompt("go").await;
    stage.until_tool_started().await;
    stage.until_tool_started().await;
    stage
        .session
        .bash("echo meanwhile".to_owned(), false)
        .await
        .unwrap();
    // What a killed process leaves behind is what is in the file now.
    let copy = folder.path().join("copy.jsonl");
    fs::copy(&file, &copy).unwrap();

    let mut said = String::new();
    for _ in 0..2 {
        let stage = with(Scenario::new().text("a").text("b").text("c")).resume(&copy);
        said = stage.messages().await.join("\n");
        assert!(stage.runs.all().is_empty());
        leave(stage).await;
    }
    expect![[r#"
        user "go"
        assistant [act call_1_1, act call_1_2] toolUse
        result of call_1_1: "first"
        result of call_1_2: "Interrupted: the process running this tool ended before it finished. What it did is unknown; it was not run again. Check before repeating it." error
        bash "echo meanwhile": "meanwhile""#]].assert_eq(&said);
    let mut stage = with(Scenario::new().text("a").text("b").text("c")).resume(&copy);
    stage.run("what now?").await;
    assert_eq!(stage.heard.last().len(), 6);
}

#[tokio::test(start_paused = true)]
async fn open_calls_in_the_middle_of_a_foreign_file_are_not_told_to_a_model() {
    let folder = tempdir().unwrap();
    let file = folder.path().join("foreign.jsonl");
    let call = json!([{"type":"text","text":"I will"},{"type":"toolCall","id":"t","name":"bash","arguments":{}}]);
    let entry = |id: &str, parent: Option<&str>, message: Value| json!({"type":"message","id":id,"parentId":parent,"timestamp":"2026-01-01T00:00:00.000Z","message":message});
    let answer = |content: &Value, stop: &str| json!({"role":"assistant","content":content,"api":"a","provider":"script","model":"one","usage":{},"stopReason":stop,"timestamp":2});
    let text = json!([{"type":"text","text":"done"}]);
    let written = [
        json!({"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/project"}),
        entry(
            "00000001",
            None,
            json!({"role":"user","content":"hi","timestamp":1}),
        ),
        entry("00000002", Some("00000001"), answer(&call, "aborted")),
        entry(
            "00000003",
            Some("00000002"),
            json!({"role":"user","content":"go on","timestamp":3}),
        ),
        entry("00000004", Some("00000003"), answer(&text, "stop")),
    ];
    fs::write(&file, written.map(|line| format!("{line}\n")).concat()).unwrap();
    let mut stage = with(Scenario::new().text("x").text("x").text("ok")).resume(&file);
    assert_eq!(stage.messages().await.len(), 4);
    stage.run("more").await;
    expect![[r#"
        user "hi"
        assistant ["I will"] aborted
        user "go on"
        assistant ["done"] stop
        user "more""#]]
    .assert_eq(&stage.heard.last().join("\n"));
}

#[tokio::test(start_paused = true)]
async fn a_compaction_refers_to_what_is_kept_and_what_still_matters_is_noted_again() {
    let folder = tempdir().unwrap();
    let summary = ScriptedCompaction {
        summary: Some("short".to_owned()),
        ..ScriptedCompaction::default()
    };
    let scenario = Scenario::new().text("one").text("two").compaction(summary);
    let mut stage = with(scenario).in_folder(folder.path()).start();
    let file = file_of(&stage).await;
    stage.session.set_name("named").await.unwrap();
    stage.session.set_plan(the_plan()).await.unwrap();
    stage.run("first").await;
    stage.run("second").await;
    stage.session.compact(None).await.unwrap();
    stage.steer("waits").await;
    let said = messages(&stage.session).await;
    let compactions: Vec<Value> = lines(&file)
        .into_iter()
        .filter(|line| line["type"] == "compaction")
        .collect();
    assert_eq!(compactions.len(), 1);
    assert_eq!(compactions[0]["summary"], "short");
    let kept = compactions[0]["firstKeptEntryId"].as_str().unwrap();
    let kept = lines(&file)
        .into_iter()
        .find(|line| line["id"] == kept)
        .unwrap();
    assert_eq!(kept["message"]["content"][0]["text"], "second");
    assert!(!compactions[0].to_string().contains("second"));
    leave(stage).await;

    let stage = with(Scenario::new()).resume(&file);
    let state = stage.session.state().await.unwrap();
    assert_eq!(messages(&stage.session).await, said);
    assert_eq!(
        (state.name.as_deref(), state.queues.steering.len()),
        (Some("named"), 1)
    );
    assert_eq!((state.plan, state.context.tokens), (the_plan(), None));
}

#[tokio::test(start_paused = true)]
async fn what_a_summary_consumed_still_counts_after_a_resume() {
    let folder = tempdir().unwrap();
    let scenario = Scenario::new()
        .text("one")
        .text("two")
        .usage(UsageRule::Fixed(Usage {
            input: 10,
            ..Usage::default()
        }));
    let mut stage = with(scenario).in_folder(folder.path()).start();
    let file = file_of(&stage).await;
    stage.run("first").await;
    stage.run("second").await;
    stage.session.compact(None).await.unwrap();
    let stats = stage.session.stats().await.unwrap();
    assert_eq!((stats.total_turns, stats.total_usage.input), (3, 30));
    leave(stage).await;

    let stage = with(Scenario::new()).resume(&file);
    let again = stage.session.stats().await.unwrap();
    assert_eq!(
        (again.total_turns, again.total_usage),
        (stats.total_turns, stats.total_usage)
    );
}

#[tokio::test(start_paused = true)]
async fn a_closed_session_can_be_opened_at_once() {
    let folder = tempdir().unwrap();
    let mut stage = with(Scenario::new().text("x"))
        .in_folder(folder.path())
        .start();
    let file = file_of(&stage).await;
    stage.run("hi").await;
    assert!(matches!(store::open(&file), Err(StoreError::Locked { .. })));
    stage.session.close().await;
    store::open(&file).unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_file_that_vanishes_is_a_clear_error_and_the_session_still_answers() {
    let folder = tempdir().unwrap();
    let scenario = Scenario::new()
        .text("one")
        .tool("act", json!({"ms": 1000}))
        .text("two");
    let mut stage = with(scenario).in_folder(folder.path()).start();
    let file = file_of(&stage).await;
    stage.run("hi").await;
    stage.prompt("go").await;
    stage.until_tool_started().await;
    fs::remove_file(&file).unwrap();
    let seen = stage.settled().await;
    assert!(
        seen.contains("run ended: failed Other the session could not be saved: the session file"),
        "{seen}"
    );
    assert!(
        seen.contains("[user assistant]") && seen.ends_with("settled\n"),
        "{seen}"
    );
    for refused in [
        stage.session.prompt(say("again")).await.map(drop),
        stage.session.steer(say("again")).await,
    ] {
        assert!(matches!(
            refused,
            Err(SessionError::Store(StoreError::Vanished { .. }))
        ));
    }
    let state = stage.session.state().await.unwrap();
    assert_eq!(
        (
            state.is_running,
            state.message_count,
            state.queues.steering.len()
        ),
        (false, 4, 0)
    );
    stage.session.abort().await.unwrap();
    stage.session.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_folder_that_cannot_be_made_refuses_the_prompt_until_it_can() {
    let folder = tempdir().unwrap();
    let inner = folder.path().join("sessions");
    fs::write(&inner, "in the way").unwrap();
    let mut stage = with(Scenario::new().text("ok")).in_folder(&inner).start();
    let refused = stage.session.prompt(say("hi")).await.map(drop);
    assert!(
        matches!(refused, Err(SessionError::Store(_))),
        "{refused:?}"
    );
    assert!(stage.messages().await.is_empty());
    fs::remove_file(&inner).unwrap();
    stage.run("hi").await;
    assert_eq!(roles(&file_of(&stage).await), ["user", "assistant"]);
}

#[tokio::test(start_paused = true)]
async fn a_fork_begins_before_or_after_an_entry_or_at_the_end() {
    let folder = tempdir().unwrap();
    let mut stage = with(Scenario::new().text("one").text("two").text("three"))
        .in_folder(folder.path())
        .start();
    stage.run("first").await;
    stage.prompt("second").await;
    stage.follow_up("third").await;
    stage.settled().await;
    let points = stage.session.user_messages().await.unwrap();
    let texts: Vec<&str> = points.iter().map(|(_, text)| text.as_str()).collect();
    assert_eq!(texts, ["first", "second", "third"]);
    let id = |at: usize| points[at].0.clone();
    for (point, text, count) in [
        (ForkPoint::Before(id(0)), Some("first"), 0),
        (ForkPoint::Before(id(2)), Some("third"), 4),
        (ForkPoint::After(id(1)), None, 3),
        (ForkPoint::Leaf, None, 6),
    ] {
        let (opened, given_back) = stage.session.fork(point.clone()).await.unwrap();
        assert_eq!(given_back.as_deref(), text);
        let header = opened.journal.header().clone();
        assert_eq!(
            header.parent_session,
            file_of(&stage).await.to_str().map(str::to_owned)
        );
        let fork =
            Session::resume(stage.environment.clone(), stage.options.clone(), opened).unwrap();
        let state = fork.state().await.unwrap();
        assert_ne!(state.id, stage.session.state().await.unwrap().id);
        assert_eq!(state.message_count, count, "{point:?}");
        // What waited in the parent was said there: it is not said again here.
        assert_eq!(
            (state.queues.steering.len(), state.queues.follow_up.len()),
            (0, 0)
        );
        assert_eq!(
            messages(&fork).await,
            messages(&stage.session).await[..count]
        );
    }
    let wrong = stage
        .session
        .fork(ForkPoint::Before("nonsense".into()))
        .await;
    assert!(matches!(wrong, Err(SessionError::NotAUserMessage)));
    let wrong = stage
        .session
        .fork(ForkPoint::After("nonsense".into()))
        .await;
    assert!(matches!(wrong, Err(SessionError::UnknownEntry(_))));
}

#[tokio::test(start_paused = true)]
async fn a_session_in_memory_forks_into_one_in_memory() {
    let mut stage = with(Scenario::new().text("one")).start();
    stage.run("first").await;
    let (opened, _) = stage.session.fork(ForkPoint::Leaf).await.unwrap();
    let fork = Session::resume(stage.environment.clone(), stage.options.clone(), opened).unwrap();
    assert_eq!(messages(&fork).await, messages(&stage.session).await);
    assert_eq!(fork.state().await.unwrap().file, None);
}

#[tokio::test(start_paused = true)]
async fn a_new_session_names_its_parent() {
    let folder = tempdir().unwrap();
    let mut stage = with(Scenario::new().text("one"))
        .in_folder(folder.path())
        .options(|options| options.parent_session = Some("/old.jsonl".to_owned()))
        .start();
    stage.run("hi").await;
    assert_eq!(
        lines(&file_of(&stage).await)[0]["parentSession"],
        "/old.jsonl"
    );
}

#[tokio::test(start_paused = true)]
async fn what_the_options_say_otherwise_than_the_file_goes_into_the_file() {
    let folder = tempdir().unwrap();
    let mut stage = with(Scenario::new().text("one"))
        .in_folder(folder.path())
        .start();
    let file = file_of(&stage).await;
    stage.run("hi").await;
    leave(stage).await;
    let stage = with(Scenario::new())
        .options(|options| {
            options.name = Some("renamed".to_owned());
            options.thinking = Some(ThinkingLevel::Xhigh);
        })
        .resume(&file);
    leave(stage).await;
    let stage = with(Scenario::new()).resume(&file);
    let state = stage.session.state().await.unwrap();
    assert_eq!(
        (state.name.as_deref(), state.thinking),
        (Some("renamed"), ThinkingLevel::Xhigh)
    );
}

#[tokio::test(start_paused = true)]
async fn a_model_that_is_not_known_any_more_is_a_warning_and_a_clear_refusal() {
    let folder = tempdir().unwrap();
    let mut stage = with(Scenario::new().text("one"))
        .in_folder(folder.path())
        .start();
    let file = file_of(&stage).await;
    stage.run("hi").await;
    leave(stage).await;
    let text = fs::read_to_string(&file)
        .unwrap()
        .replace("\"one\"", "\"gone\"");
    fs::write(&file, text).unwrap();
    let stage = with(Scenario::new()).resume(&file);
    let mut events = stage.session.subscribe_since(0).unwrap();
    let warned = std::iter::from_fn(|| events.try_next()).any(|event| {
        matches!(event.kind, EventKind::Notice { message, .. } if message.contains("script/gone"))
    });
    assert!(warned);
    assert!(matches!(
        stage.session.prompt(say("x")).await,
        Err(SessionError::NoModel)
    ));
}
