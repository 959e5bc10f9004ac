//! Runs that differ from their session, and the permission mode a session is left with.

use serde_json::json;
use stentor_agent::event::EventKind;
use stentor_agent::model::NamedBy;
use stentor_agent::model::ThinkingLevel::{High, Low, Off};
use stentor_agent::session::{RunOptions, SessionOptions};
use stentor_model::script::{ModelFacts, Scenario, ScriptModel, ScriptTurn};
use stentor_policy::PermissionMode;
use tempfile::tempdir;

use crate::stage::{Setup, Stage, say, with};

fn two_models() -> Setup {
    let facts = ModelFacts {
        reasoning: true,
        thinking_levels: vec![Off, Low, High],
        ..ModelFacts::default()
    };
    let other = Scenario::new().model(facts).text("from two").text("again");
    let other = ScriptModel::new(other, "two");
    with(Scenario::new().text("from one").text("from one")).and_model(other)
}

/// Which model was asked last, and how long it was to think.
fn asked(stage: &Stage, said: &str) -> (String, String) {
    (
        said.to_owned(),
        stage.heard.last_request().thinking.to_string(),
    )
}

#[tokio::test(start_paused = true)]
async fn a_run_has_its_own_model_and_thinking_level_and_the_session_keeps_its() {
    let mut stage = two_models().start();
    let session = stage.session.clone();
    let before = session.state().await.unwrap();
    let options = RunOptions {
        model: stage
            .environment
            .models
            .find("script", "two", NamedBy::User),
        thinking: Some(High),
        permission_mode: None,
    };
    drop(session.prompt_with(say("go"), options).await.unwrap());
    let seen = stage.settled().await;
    assert!(!seen.contains("state:"), "{seen}");
    let said = session.last_assistant_text().await.unwrap().unwrap();
    assert_eq!(asked(&stage, &said), ("from two".into(), "high".into()));

    let after = session.state().await.unwrap();
    assert_eq!(
        (after.model, after.thinking),
        (before.model, before.thinking)
    );
    stage.run("and now").await;
    let said = session.last_assistant_text().await.unwrap().unwrap();
    assert_eq!(asked(&stage, &said), ("from one".into(), "medium".into()));
}

#[tokio::test(start_paused = true)]
async fn a_thinking_level_the_model_of_the_run_has_not_becomes_the_nearest() {
    let mut stage = two_models().start();
    let options = RunOptions {
        model: stage
            .environment
            .models
            .find("script", "two", NamedBy::User),
        ..RunOptions::default()
    };
    drop(stage.session.prompt_with(say("go"), options).await.unwrap());
    stage.settled().await;
    assert_eq!(stage.heard.last_request().thinking, Low);
}

#[tokio::test(start_paused = true)]
async fn a_run_may_be_more_careful_than_its_session_and_never_less() {
    use PermissionMode::{All, Ask, ReadOnly};
    for (of_session, of_run, asked, ran) in [
        (All, Some(Ask), true, false),
        (All, Some(ReadOnly), false, false),
        (Ask, Some(All), true, false),
        (ReadOnly, Some(All), false, false),
        (All, None, false, true),
    ] {
        let call = ScriptTurn::new().tool("act", json!({ "say": "a" }));
        let mut stage = with(Scenario::new().turn(call).text("done")).start();
        let session = stage.session.clone();
        session.set_can_ask(true).await.unwrap();
        session.set_permission_mode(of_session).await.unwrap();
        let options = RunOptions {
            permission_mode: of_run,
            ..RunOptions::default()
        };
        drop(session.prompt_with(say("go"), options).await.unwrap());
        if asked {
            stage
                .until(|kind| matches!(kind, EventKind::PermissionAsked { .. }))
                .await;
            session.abort().await.unwrap();
        } else {
            let seen = stage.settled().await;
            assert!(!seen.contains("may act run?"), "{of_session} {of_run:?}");
        }
        assert_eq!(!stage.runs.all().is_empty(), ran, "{of_session} {of_run:?}");
    }
}

#[test]
fn the_more_careful_of_two_modes_lets_less_happen() {
    use PermissionMode::{AcceptEdits, All, Ask, ReadOnly};
    for (one, other, careful) in [
        (All, Ask, Ask),
        (Ask, All, Ask),
        (AcceptEdits, Ask, Ask),
        (ReadOnly, Ask, ReadOnly),
        (All, All, All),
    ] {
        assert_eq!(one.more_careful(other), careful);
    }
}

/// The mode of a session that was left in `read-only` and resumed by one who allows everything.
async fn resumed_mode(keeps: bool, compact: bool) -> PermissionMode {
    let read_only = PermissionMode::ReadOnly;
    mode_left_in(read_only, compact, |options| {
        options.keeps_permission_mode = keeps;
        options.names_permission_mode = !keeps;
    })
    .await
}

/// The mode of a session that was left in another one and resumed.
async fn mode_left_in(
    left: PermissionMode,
    compact: bool,
    resumed: impl Fn(&mut SessionOptions) + Copy,
) -> PermissionMode {
    let folder = tempdir().unwrap();
    let scenario = || {
        Scenario::new()
            .text("word ".repeat(2000))
            .text("word ".repeat(2000))
    };
    let small = |setup: Setup| {
        setup.options(|options| {
            options.compaction.keep_recent_tokens = 100;
            resumed(options);
        })
    };
    let mut stage = small(with(scenario())).in_folder(folder.path()).start();
    stage.session.set_permission_mode(left).await.unwrap();
    stage.run("one").await;
    stage.run("two").await;
    if compact {
        stage.session.compact(None).await.unwrap();
    }
    let file = stage.session.state().await.unwrap().file.unwrap();
    stage.session.close().await;
    drop(stage);
    let stage = small(with(scenario())).resume(&file);
    stage.session.state().await.unwrap().permission_mode
}

#[tokio::test(start_paused = true)]
async fn a_resumed_session_has_the_mode_it_was_left_in_if_that_is_wanted() {
    assert_eq!(resumed_mode(true, false).await, PermissionMode::ReadOnly);
    assert_eq!(resumed_mode(true, true).await, PermissionMode::ReadOnly);
    assert_eq!(resumed_mode(false, false).await, PermissionMode::All);
}

#[tokio::test(start_paused = true)]
async fn a_mode_that_allows_less_counts_for_whoever_resumes_a_session() {
    use PermissionMode::{AcceptEdits, All, Ask, Plan, ReadOnly};
    for (left, opened_in, mode) in [
        (ReadOnly, All, ReadOnly),
        (Ask, All, Ask),
        (AcceptEdits, All, AcceptEdits),
        (Plan, Ask, Plan),
        (Plan, ReadOnly, Plan),
        (ReadOnly, Ask, ReadOnly),
        // One that allows more does not.
        (All, Ask, Ask),
        (AcceptEdits, Ask, Ask),
        (Ask, ReadOnly, ReadOnly),
    ] {
        let by = |options: &mut SessionOptions| options.policy.set_mode(opened_in);
        let resumed = mode_left_in(left, false, by).await;
        assert_eq!(resumed, mode, "left in {left}, opened in {opened_in}");
        // Unless somebody names the mode for it.
        let named = |options: &mut SessionOptions| {
            options.policy.set_mode(opened_in);
            options.names_permission_mode = true;
        };
        assert_eq!(mode_left_in(left, false, named).await, opened_in);
    }
}
