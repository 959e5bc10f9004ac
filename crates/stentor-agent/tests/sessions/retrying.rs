//! Automatic retry, and what a context that is too long leads to.

use expect_test::expect;
use serde_json::json;
use stentor_agent::event::EventKind;
use stentor_agent::model::ModelErrorKind::{self, ContextOverflow, Overloaded, RateLimited};
use stentor_model::script::{ErrorStep, Scenario, ScriptStep, ScriptTurn};

use crate::stage::{Stage, with};

/// The lines about runs, retries and compactions.
fn outline(seen: &str) -> String {
    let about = ["run", "retry", "compaction", "settled", "queues"];
    let lines = seen.lines().map(str::trim_end);
    let lines = lines.filter(|line| about.iter().any(|word| line.starts_with(word)));
    lines.collect::<Vec<_>>().join("\n")
}

#[tokio::test(start_paused = true)]
async fn after_a_failure_the_answer_is_asked_again_without_the_failed_one() {
    let broken = ScriptTurn::new().text("half an ans").error(Overloaded);
    let mut stage = with(Scenario::new().turn(broken).text("whole")).start();
    expect![[r#"
        run
          turn
            #1 started
            #1 ended: user "hi"
            #2 answer
              0 text
              0 += "half an ans"
              0 ended
            #2 ended: assistant ["half an ans"] error (script/one: overloaded (the scenario says so))
          turn ended: error, 0 results
        run ended: failed Overloaded script/one: overloaded (the scenario says so), goes on [user assistant]
        retry 1/3 in 2000 ms: script/one: overloaded (the scenario says so)
        run
          turn
            #3 answer
              0 text
              0 += "whole"
              0 ended
            #3 ended: assistant ["whole"] stop
        retry 1 ended: success
          turn ended: stop, 0 results
        run ended: completed [assistant]
        settled
    "#]].assert_eq(&stage.run("hi").await);
    assert_eq!(stage.heard.last(), ["user \"hi\""]);
    expect![[r#"
        user "hi"
        assistant ["whole"] stop"#]]
    .assert_eq(&stage.messages().await.join("\n"));
}

#[tokio::test(start_paused = true)]
async fn after_three_retries_it_gives_up_and_the_last_failure_stays() {
    let mut stage =
        with(Scenario::new().turn(ScriptTurn::new().error(Overloaded).times(9))).start();
    let begun = tokio::time::Instant::now();
    expect![[r#"
        run
        run ended: failed Overloaded script/one: overloaded (the scenario says so), goes on [user assistant]
        retry 1/3 in 2000 ms: script/one: overloaded (the scenario says so)
        run
        run ended: failed Overloaded script/one: overloaded (the scenario says so), goes on [assistant]
        retry 2/3 in 4000 ms: script/one: overloaded (the scenario says so)
        run
        run ended: failed Overloaded script/one: overloaded (the scenario says so), goes on [assistant]
        retry 3/3 in 8000 ms: script/one: overloaded (the scenario says so)
        run
        run ended: failed Overloaded script/one: overloaded (the scenario says so) [assistant]
        retry 3 ended: failure, script/one: overloaded (the scenario says so)
        settled"#]].assert_eq(&outline(&stage.run("hi").await));
    assert_eq!(begun.elapsed().as_millis(), 14_000);
    assert_eq!(stage.messages().await.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn the_providers_own_wait_is_honoured() {
    let error = ErrorStep {
        retry_after_ms: Some(7_000),
        ..ErrorStep::new(RateLimited)
    };
    let scenario = Scenario::new()
        .turn(ScriptTurn::new().step(ScriptStep::Error(error)))
        .text("ok");
    let mut stage = with(scenario).start();
    let begun = tokio::time::Instant::now();
    assert!(stage.run("hi").await.contains("in 7000 ms"));
    assert_eq!(begun.elapsed().as_millis(), 7_000);
}

async fn retry_waits(stage: &mut Stage) {
    stage
        .until(|kind| matches!(kind, EventKind::RetryStarted { .. }))
        .await;
    assert_eq!(stage.session.state().await.unwrap().retry_attempt, 1);
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_retry_ends_the_matter_and_no_later_one() {
    let scenario = Scenario::new()
        .error(Overloaded)
        .error(Overloaded)
        .text("ok");
    let mut stage = with(scenario).start();
    stage.prompt("hi").await;
    retry_waits(&mut stage).await;
    stage.session.abort_retry().await.unwrap();
    expect![[r#"
        run
        run ended: failed Overloaded script/one: overloaded (the scenario says so), goes on [user assistant]
        retry 1/3 in 2000 ms: script/one: overloaded (the scenario says so)
        retry 1 ended: failure, Retry cancelled
        settled"#]].assert_eq(&outline(&stage.settled().await));
    // Told to nobody, it must not cancel the retry that comes.
    stage.prompt("again").await;
    stage.session.abort_retry().await.unwrap();
    expect![[r#"
        run
        run ended: failed Overloaded script/one: overloaded (the scenario says so), goes on [user assistant]
        retry 1/3 in 2000 ms: script/one: overloaded (the scenario says so)
        run
        retry 1 ended: success
        run ended: completed [assistant]
        settled"#]].assert_eq(&outline(&stage.settled().await));
}

#[tokio::test(start_paused = true)]
async fn what_is_steered_while_a_retry_waits_is_in_the_repeated_question() {
    let mut stage = with(Scenario::new().error(Overloaded).text("ok")).start();
    stage.prompt("hi").await;
    retry_waits(&mut stage).await;
    stage.steer("also this").await;
    stage.settled().await;
    assert_eq!(stage.heard.last(), ["user \"hi\"", "user \"also this\""]);
}

#[tokio::test(start_paused = true)]
async fn with_automatic_retry_off_a_failure_is_the_end() {
    let mut stage = with(Scenario::new().error(Overloaded).text("ok"))
        .options(|options| options.auto_retry = false)
        .start();
    expect![[r#"
        run
        run ended: failed Overloaded script/one: overloaded (the scenario says so) [user assistant]
        settled"#]]
    .assert_eq(&outline(&stage.run("hi").await));
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_had_begun_is_not_repeated_where_that_is_not_wanted() {
    let scenario = Scenario::new()
        .error(Overloaded)
        .turn(ScriptTurn::new().text("half").error(Overloaded))
        .text("never");
    let mut stage = with(scenario)
        .options(|options| options.retry.after_output = false)
        .start();
    expect![[r#"
        run
        run ended: failed Overloaded script/one: overloaded (the scenario says so), goes on [user assistant]
        retry 1/3 in 2000 ms: script/one: overloaded (the scenario says so)
        run
        run ended: failed Overloaded script/one: overloaded (the scenario says so) [assistant]
        retry 1 ended: failure, script/one: overloaded (the scenario says so)
        settled"#]].assert_eq(&outline(&stage.run("hi").await));
}

#[tokio::test(start_paused = true)]
async fn what_can_not_get_better_by_itself_is_not_repeated() {
    use ModelErrorKind::{Auth, InvalidRequest, Other, Quota, UnknownModel};
    for kind in [Auth, Quota, InvalidRequest, UnknownModel, Other] {
        let mut stage = with(Scenario::new().error(kind)).start();
        assert!(!stage.run("hi").await.contains("retry"), "{kind:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_ran_is_never_run_again() {
    let scenario = Scenario::new()
        .tool("act", json!({"say":"once"}))
        .error(Overloaded)
        .turn(
            ScriptTurn::new()
                .tool("act", json!({"say":"never"}))
                .error(Overloaded),
        )
        .text("done");
    let mut stage = with(scenario).start();
    stage.run("hi").await;
    assert_eq!(stage.runs.all(), ["act once"]);
    expect![[r#"
        user "hi"
        assistant [act call_1_1] toolUse
        result of call_1_1: "once""#]]
    .assert_eq(&stage.heard.last().join("\n"));
    expect![[r#"
        user "hi"
        assistant [act call_1_1] toolUse
        result of call_1_1: "once"
        assistant ["done"] stop"#]]
    .assert_eq(&stage.messages().await.join("\n"));
}

#[tokio::test(start_paused = true)]
async fn a_context_that_is_too_long_is_compacted_and_the_run_goes_on() {
    let scenario = Scenario::new()
        .text("one")
        .error(ContextOverflow)
        .text("two");
    let mut stage = with(scenario).start();
    stage.run("first").await;
    expect![[r#"
        run
        run ended: failed ContextOverflow script/one: prompt is too long (the scenario says so), goes on [user assistant]
        compaction Overflow
        compaction ended: Summary of 1 earlier messages. The user asked:
        run
        run ended: completed [assistant]
        settled"#]].assert_eq(&outline(&stage.run("second").await));
    expect![[r#"
        user "The conversation before this point was replaced by this summary of it:\n\n<summary>\nSummary of 1 earlier messages. The user asked:\n- <conversation>\n</summary>"
        user "second""#]].assert_eq(&stage.heard.last().join("\n"));
}

#[tokio::test(start_paused = true)]
async fn a_context_that_stays_too_long_is_compacted_once() {
    let scenario = Scenario::new()
        .text("one")
        .turn(ScriptTurn::new().error(ContextOverflow).times(5));
    let mut stage = with(scenario).start();
    stage.run("first").await;
    expect![[r#"
        run
        run ended: failed ContextOverflow script/one: prompt is too long (the scenario says so), goes on [user assistant]
        compaction Overflow
        compaction ended: Summary of 1 earlier messages. The user asked:
        run
        run ended: failed ContextOverflow script/one: prompt is too long (the scenario says so) [assistant]
        settled"#]].assert_eq(&outline(&stage.run("second").await));
}

#[tokio::test(start_paused = true)]
async fn with_automatic_compaction_off_a_context_that_is_too_long_is_the_end() {
    let mut stage = with(Scenario::new().text("one").error(ContextOverflow))
        .options(|options| options.auto_compaction = false)
        .start();
    stage.run("first").await;
    expect![[r#"
        run
        run ended: failed ContextOverflow script/one: prompt is too long (the scenario says so) [user assistant]
        settled"#]].assert_eq(&outline(&stage.run("second").await));
    assert_eq!(stage.messages().await.len(), 4);
}
