//! Models, thinking levels, names, the user's own commands, and what a session says about itself.

use expect_test::expect;
use stentor_agent::model::ThinkingLevel::{self, High, Low, Medium, Minimal, Off, Xhigh};
use stentor_agent::session::{ScopedModel, SessionError};
use stentor_model::script::{ModelFacts, Scenario, ScriptModel, ScriptTurn};

use crate::stage::{Setup, say, with};

fn model(id: &str, reasoning: bool, levels: &[ThinkingLevel]) -> std::sync::Arc<ScriptModel> {
    let thinking_levels = levels.to_vec();
    let facts = ModelFacts {
        reasoning,
        thinking_levels,
        ..ModelFacts::default()
    };
    ScriptModel::new(Scenario::new().model(facts), id)
}

fn three_models() -> Setup {
    with(Scenario::new())
        .and_model(model("two", true, &[Off, Low, High]))
        .and_model(model("three", false, &[]))
}

#[tokio::test]
async fn the_thinking_level_is_what_the_model_has() {
    let mut stage = three_models().start();
    let session = stage.session.clone();
    assert_eq!(session.set_thinking(Xhigh).await.unwrap(), Xhigh);
    let choice = session.set_model("script", "two").await.unwrap();
    assert_eq!((choice.model.id.as_str(), choice.thinking), ("two", High));
    assert_eq!(session.cycle_thinking().await.unwrap(), Some(Off));
    assert_eq!(session.cycle_thinking().await.unwrap(), Some(Low));
    assert_eq!(session.set_thinking(Medium).await.unwrap(), Low);
    session.set_model("script", "three").await.unwrap();
    assert_eq!(session.cycle_thinking().await.unwrap(), None);
    expect![[r#"
        state: thinking xhigh
        state: model script/two
        state: thinking high
        state: thinking off
        state: thinking low
        state: model script/three
        state: thinking off
    "#]]
    .assert_eq(&stage.so_far());
}

#[tokio::test]
async fn cycling_goes_through_all_models_or_those_of_the_session() {
    let stage = three_models().start();
    let next = async |backward| {
        let choice = stage.session.cycle_model(backward).await.unwrap().unwrap();
        (choice.model.id.clone(), choice.is_scoped)
    };
    for (backward, id) in [
        (false, "two"),
        (false, "three"),
        (false, "one"),
        (true, "three"),
    ] {
        assert_eq!(next(backward).await, (id.to_owned(), false));
    }
    let scoped = three_models();
    let two = model("two", true, &[]);
    let two = std::sync::Arc::clone(stentor_agent::model::Model::info(&*two));
    let stage = scoped
        .options(|options| {
            options.scoped_models = vec![ScopedModel {
                model: two,
                thinking: Some(Minimal),
            }];
        })
        .start();
    let choice = stage.session.cycle_model(false).await.unwrap().unwrap();
    assert_eq!((choice.thinking, choice.is_scoped), (Minimal, true));
    assert!(stage.session.cycle_model(false).await.unwrap().is_none());
    let alone = with(Scenario::new()).start();
    assert!(alone.session.cycle_model(false).await.unwrap().is_none());
}

#[tokio::test]
async fn an_unknown_model_or_none_is_a_clear_error() {
    let stage = three_models().start();
    let error = stage.session.set_model("script", "nine").await.unwrap_err();
    assert_eq!(error.to_string(), "Model not found: script/nine");
    let stage = with(Scenario::new())
        .options(|options| options.model = None)
        .start();
    let error = stage.session.prompt(say("hi")).await.err().unwrap();
    assert!(matches!(error, SessionError::NoModel));
    assert!(stage.messages().await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_model_that_is_set_during_a_run_answers_from_the_next_turn_on() {
    let slow = ScriptTurn::new().text("one").wait(1000);
    let mut stage = with(Scenario::new().turn(slow))
        .and_model(ScriptModel::new(
            Scenario::new().text("one").text("two"),
            "two",
        ))
        .start();
    stage.prompt("hi").await;
    stage.until_said("one").await;
    stage.session.set_model("script", "two").await.unwrap();
    stage.follow_up("more").await;
    stage.settled().await;
    assert_eq!(stage.messages().await[3], "assistant [\"two\"] stop");
}

#[tokio::test]
async fn a_name_is_trimmed_and_never_empty() {
    let stage = with(Scenario::new()).start();
    stage.session.set_name("  the work ").await.unwrap();
    assert_eq!(
        stage.session.state().await.unwrap().name.as_deref(),
        Some("the work")
    );
    assert!(matches!(
        stage.session.set_name(" ").await,
        Err(SessionError::EmptyName)
    ));
}

#[tokio::test]
async fn an_empty_message_is_refused_everywhere() {
    let stage = with(Scenario::new()).start();
    let empty =
        |result: Result<(), SessionError>| matches!(result, Err(SessionError::EmptyMessage));
    assert!(empty(stage.session.prompt(Vec::new()).await.map(drop)));
    assert!(empty(stage.session.steer(Vec::new()).await));
    assert!(empty(stage.session.follow_up(Vec::new()).await));
}

#[tokio::test(start_paused = true)]
async fn a_command_of_the_user_is_told_to_the_model_with_the_next_prompt() {
    let mut stage = with(Scenario::new().text("ok")).start();
    let done = stage
        .session
        .bash("echo hi".to_owned(), false)
        .await
        .unwrap();
    assert_eq!((done.id, done.result.output.as_str()), (1, "hi"));
    stage
        .session
        .bash("echo secret".to_owned(), true)
        .await
        .unwrap();
    let lines = [
        "bash 1 begins: echo hi",
        "bash 1: \"hi\"",
        "bash 1 ended",
        "bash 2 begins: echo secret",
        "bash 2: \"secret\"",
        "bash 2 ended\n",
    ];
    assert_eq!(stage.so_far(), lines.join("\n"));
    stage.run("what did I do?").await;
    expect![[r#"
        user "Ran `echo hi`\n```\nhi\n```"
        user "what did I do?""#]]
    .assert_eq(&stage.heard.last().join("\n"));
    assert_eq!(stage.messages().await.len(), 4);
}

#[tokio::test(start_paused = true)]
async fn a_command_that_ends_during_a_run_enters_the_conversation_after_it() {
    let mut stage = with(
        Scenario::new()
            .turn(ScriptTurn::new().text("one").wait(1000))
            .text("two"),
    )
    .start();
    stage.prompt("hi").await;
    stage.until_said("one").await;
    stage
        .session
        .bash("echo x".to_owned(), false)
        .await
        .unwrap();
    assert_eq!(stage.messages().await.len(), 1);
    stage.settled().await;
    expect![[r#"
        user "hi"
        assistant ["one"] stop
        bash "echo x": "x""#]]
    .assert_eq(&stage.messages().await.join("\n"));
}

#[tokio::test(start_paused = true)]
async fn only_the_users_commands_are_stopped_by_abort_bash() {
    let mut stage = with(Scenario::new().turn(ScriptTurn::new().text("one").wait(1000))).start();
    stage.prompt("hi").await;
    stage.until_said("one").await;
    for command in ["sleep 60000", "deaf"] {
        let (session, command) = (stage.session.clone(), command.to_owned());
        let running = tokio::spawn(async move { session.bash(command, false).await });
        tokio::task::yield_now().await;
        stage.session.abort_bash().await.unwrap();
        let result = running.await.unwrap().unwrap().result;
        assert!(result.cancelled && result.exit_code.is_none());
    }
    assert!(stage.settled().await.ends_with("settled\n"));
}

#[tokio::test(start_paused = true)]
async fn a_shell_that_fails_or_panics_is_an_error_and_the_session_lives() {
    let stage = with(Scenario::new()).start();
    for (command, text) in [
        ("fail", "no shell here"),
        ("explode", "the shell had an internal error: this is a bug"),
    ] {
        let error = stage
            .session
            .bash(command.to_owned(), false)
            .await
            .unwrap_err();
        assert_eq!(error.to_string(), text);
    }
    stage.session.close().await;
}
