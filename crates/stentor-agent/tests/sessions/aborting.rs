//! Abort in every phase.

use std::time::Duration;

use expect_test::expect;
use serde_json::json;
use stentor_agent::event::EventKind;
use stentor_agent::model::ModelErrorKind;
use stentor_model::script::{Scenario, ScriptTurn, ScriptedCompaction};
use stentor_policy::PermissionMode;

use tokio::time::timeout;

use crate::stage::{Stage, say, with};

fn hangs_after(text: &str) -> Scenario {
    Scenario::new()
        .turn(ScriptTurn::new().text(text).hang())
        .text("again")
}

async fn aborted(stage: &mut Stage) -> String {
    let abort = timeout(Duration::from_secs(86_400), stage.session.abort());
    abort.await.unwrap().unwrap();
    let state = stage.session.state().await.unwrap();
    assert!(!state.is_running && !state.is_compacting && state.retry_attempt == 0);
    let seen = stage.so_far();
    assert!(seen.ends_with("settled by abort\n"), "{seen}");
    seen
}

#[tokio::test(start_paused = true)]
async fn before_the_first_token_an_empty_aborted_answer_is_kept() {
    let mut stage = with(
        Scenario::new()
            .turn(ScriptTurn::new().wait(1000))
            .text("again"),
    )
    .start();
    stage.prompt("hi").await;
    stage
        .until(|kind| matches!(kind, EventKind::AnswerStarted(_)))
        .await;
    expect![[r#"
        run
          turn
            #1 started
            #1 ended: user "hi"
            #2 answer
            #2 ended: assistant [] aborted (Request was aborted)
          turn ended: aborted, 0 results
        run ended: aborted [user assistant]
        settled by abort
    "#]]
    .assert_eq(&aborted(&mut stage).await);
    assert!(stage.run("more").await.ends_with("settled\n"));
}

#[tokio::test(start_paused = true)]
async fn in_the_middle_of_text_what_was_said_is_kept() {
    let mut stage = with(hangs_after("so far")).start();
    stage.prompt("hi").await;
    stage.until_said("so far").await;
    expect![[r#"
        run
          turn
            #1 started
            #1 ended: user "hi"
            #2 answer
              0 text
              0 += "so far"
              0 ended
            #2 ended: assistant ["so far"] aborted (Request was aborted)
          turn ended: aborted, 0 results
        run ended: aborted [user assistant]
        settled by abort
    "#]]
    .assert_eq(&aborted(&mut stage).await);
    stage.run("more").await;
    expect![[r#"
        user "hi"
        assistant ["so far"] aborted (Request was aborted)
        user "more""#]]
    .assert_eq(&stage.heard.last().join("\n"));
}

#[tokio::test(start_paused = true)]
async fn in_the_middle_of_the_arguments_of_a_call_the_call_gets_a_result() {
    let call = ScriptTurn::new()
        .text("I will")
        .tool("act", json!("{\"say\":\""))
        .hang();
    let mut stage = with(Scenario::new().turn(call).text("again")).start();
    stage.prompt("hi").await;
    stage.until_said("{").await;
    expect![[r#"
        run
          turn
            #1 started
            #1 ended: user "hi"
            #2 answer
              0 text
              0 += "I will"
              0 ended
              1 call act call_1_1
              1 += "{\"say\":\""
              1 ended {}
            #2 ended: assistant ["I will", act call_1_1] aborted (Request was aborted)
            act call_1_1 starts
            act call_1_1 ended after 0 ms: "Tool execution was aborted." error
            #3 started
            #3 ended: result of call_1_1: "Tool execution was aborted." error
          turn ended: aborted, 1 results
        run ended: aborted [user assistant result]
        settled by abort
    "#]]
    .assert_eq(&aborted(&mut stage).await);
    assert!(stage.runs.all().is_empty());
}

#[tokio::test(start_paused = true)]
async fn during_a_tool_its_end_is_awaited_and_an_empty_aborted_answer_follows() {
    let calls = ScriptTurn::new()
        .tool("act", json!({"ms":60000}))
        .tool("act", json!({}));
    let mut stage = with(Scenario::new().turn(calls).text("again")).start();
    stage.prompt("hi").await;
    stage.until_tool_started().await;
    expect![[r#"
        run
          turn
            #1 started
            #1 ended: user "hi"
            #2 answer
              0 call act call_1_1
              0 += "{\"ms\":60000}"
              0 ended {"ms":60000}
              1 call act call_1_2
              1 += "{}"
              1 ended {}
            #2 ended: assistant [act call_1_1, act call_1_2] toolUse
            act call_1_1 starts
            act call_1_1 ended after 0 ms: "stopped" error
            #3 started
            #3 ended: result of call_1_1: "stopped" error
            act call_1_2 starts
            act call_1_2 ended after 0 ms: "Tool execution was aborted." error
            #4 started
            #4 ended: result of call_1_2: "Tool execution was aborted." error
          turn ended: toolUse, 2 results
          turn
            #5 started
            #5 ended: assistant [] aborted (Request was aborted)
          turn ended: aborted, 0 results
        run ended: aborted [user assistant result result assistant]
        settled by abort
    "#]]
    .assert_eq(&aborted(&mut stage).await);
    assert_eq!(stage.runs.all(), ["act done"]);
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_does_not_listen_is_given_up_after_a_second() {
    let mut stage = with(Scenario::new().tool("deaf", json!({}))).start();
    stage.prompt("hi").await;
    stage.until_tool_started().await;
    let begun = tokio::time::Instant::now();
    let seen = aborted(&mut stage).await;
    assert!(
        begun.elapsed() <= Duration::from_millis(1100),
        "{:?}",
        begun.elapsed()
    );
    assert!(
        seen.contains("deaf call_1_1 ended after 1000 ms: \"Command aborted\" error"),
        "{seen}"
    );
}

#[tokio::test(start_paused = true)]
async fn while_a_retry_waits_it_is_cancelled() {
    let mut stage = with(
        Scenario::new()
            .error(ModelErrorKind::Overloaded)
            .text("again"),
    )
    .start();
    stage.prompt("hi").await;
    stage
        .until(|kind| matches!(kind, EventKind::RetryStarted { .. }))
        .await;
    expect![[r#"
        run
          turn
            #1 started
            #1 ended: user "hi"
            #2 answer
            #2 ended: assistant [] error (script/one: overloaded (the scenario says so))
          turn ended: error, 0 results
        run ended: failed Overloaded script/one: overloaded (the scenario says so), goes on [user assistant]
        retry 1/3 in 2000 ms: script/one: overloaded (the scenario says so)
        retry 1 ended: failure, Retry cancelled
        settled by abort
    "#]].assert_eq(&aborted(&mut stage).await);
    stage.run("more").await;
}

#[tokio::test(start_paused = true)]
async fn while_a_compaction_runs_it_is_cancelled() {
    let slow = ScriptedCompaction {
        wait_ms: 1000,
        ..ScriptedCompaction::default()
    };
    let mut stage = with(Scenario::new().text("one").compaction(slow)).start();
    stage.run("hi").await;
    let session = stage.session.clone();
    let compaction = tokio::spawn(async move { session.compact(None).await });
    stage
        .until(|kind| matches!(kind, EventKind::CompactionStarted { .. }))
        .await;
    expect![[r#"
        compaction Manual
        compaction ended: nothing, aborted
        settled by abort
    "#]]
    .assert_eq(&aborted(&mut stage).await);
    let error = compaction.await.unwrap().unwrap_err();
    assert_eq!(error.to_string(), "Compaction cancelled");
    assert_eq!(stage.messages().await.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn while_a_permission_is_asked_the_question_is_cancelled() {
    let mut stage = with(Scenario::new().tool("act", json!({}))).start();
    stage
        .session
        .set_permission_mode(PermissionMode::Ask)
        .await
        .unwrap();
    stage.session.set_can_ask(true).await.unwrap();
    stage.prompt("hi").await;
    stage
        .until(|kind| matches!(kind, EventKind::PermissionAsked { .. }))
        .await;
    let seen = aborted(&mut stage).await;
    assert!(seen.contains("question 1: Cancelled"), "{seen}");
    assert!(stage.runs.all().is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_idle_session_just_says_yes() {
    let mut stage = with(Scenario::new()).start();
    stage.session.abort().await.unwrap();
    stage.session.abort().await.unwrap();
    assert_eq!(stage.so_far(), "\n");
}

#[tokio::test(start_paused = true)]
async fn two_aborts_at_once_are_both_answered() {
    let mut stage = with(hangs_after("x")).start();
    stage.prompt("hi").await;
    stage.until_said("x").await;
    let (first, second) = tokio::join!(stage.session.abort(), stage.session.abort());
    first.unwrap();
    second.unwrap();
    assert_eq!(stage.so_far().matches("settled").count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_prompt_right_behind_an_abort_is_served() {
    let mut stage = with(hangs_after("x")).start();
    stage.prompt("hi").await;
    stage.until_said("x").await;
    let (_, prompted) = tokio::join!(stage.session.abort(), stage.session.prompt(say("next")));
    drop(prompted.unwrap());
    let seen = stage.settled().await + &stage.settled().await;
    assert!(
        seen.contains("settled by abort") && seen.contains("\"again\""),
        "{seen}"
    );
}

#[tokio::test(start_paused = true)]
async fn an_abort_behind_a_waiting_prompt_stops_that_one_too() {
    let mut stage = with(hangs_after("x")).start();
    stage.prompt("hi").await;
    stage.until_said("x").await;
    let session = &stage.session;
    let (_, prompted, _) = tokio::join!(
        session.abort(),
        async { session.prompt(say("next")).await.map(drop) },
        session.abort()
    );
    prompted.unwrap();
    assert!(!stage.session.state().await.unwrap().is_running);
    assert_eq!(stage.so_far().matches("settled by abort").count(), 2);
    assert_eq!(stage.messages().await.len(), 4);
}

#[tokio::test(start_paused = true)]
async fn abort_and_prompt_tells_of_the_abort_before_it_accepts() {
    let mut stage = with(hangs_after("x")).start();
    stage.prompt("hi").await;
    stage.until_said("x").await;
    let accepted = stage.session.abort_and_prompt(say("next")).await.unwrap();
    assert!(stage.so_far().ends_with("settled by abort\n"));
    drop(accepted);
    assert!(stage.settled().await.contains("\"again\""));
}

#[tokio::test(start_paused = true)]
async fn an_abort_does_not_wait_for_a_prompt_whose_answer_is_still_being_written() {
    let mut stage = with(Scenario::new().text("never")).start();
    let accepted = stage.session.prompt(say("hi")).await.unwrap();
    let seen = aborted(&mut stage).await;
    assert!(seen.contains("run ended: aborted"), "{seen}");
    drop(accepted);
}

#[tokio::test(start_paused = true)]
async fn what_waits_in_the_queues_survives_and_comes_after_the_next_prompt() {
    let mut stage = with(hangs_after("x").text("and")).start();
    stage.prompt("hi").await;
    stage.until_said("x").await;
    stage.steer("s").await;
    stage.follow_up("f").await;
    aborted(&mut stage).await;
    let queues = stage.session.state().await.unwrap().queues;
    assert_eq!((queues.steering.len(), queues.follow_up.len()), (1, 1));
    stage.run("next").await;
    expect![[r#"
        user "hi"
        assistant ["x"] aborted (Request was aborted)
        user "next"
        user "s"
        assistant ["again"] stop
        user "f"
        assistant ["and"] stop"#]]
    .assert_eq(&stage.messages().await.join("\n"));
}

#[tokio::test(start_paused = true)]
async fn an_abort_after_the_answer_was_complete_adds_no_empty_answer() {
    let mut stage = with(Scenario::new().text("all of it")).start();
    stage.prompt("hi").await;
    stage
        .until(|kind| matches!(kind, EventKind::BlockEnded { .. }))
        .await;
    stage.session.abort().await.unwrap();
    assert_eq!(stage.so_far().matches("turn ended").count(), 1);
}
