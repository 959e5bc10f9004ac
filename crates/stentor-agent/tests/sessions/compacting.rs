//! Compaction: by hand, near the window, and what is kept.

use expect_test::expect;
use serde_json::json;
use stentor_agent::event::EventKind;
use stentor_agent::model::{ModelErrorKind, Purpose};
use stentor_agent::session::SessionOptions;
use stentor_journal::usage::Usage;
use stentor_model::script::{ErrorStep, ModelFacts, Scenario, ScriptTurn, ScriptedCompaction};

use crate::stage::{Stage, with};

fn summary() -> ScriptedCompaction {
    ScriptedCompaction {
        summary: Some("what was said".to_owned()),
        ..ScriptedCompaction::default()
    }
}

fn counting(input: u64) -> Usage {
    Usage {
        input,
        output: 1,
        ..Usage::default()
    }
}

/// A window of 1000 tokens of which 200 are kept free and about 10 stay as they are.
fn small_window(options: &mut SessionOptions) {
    options.compaction.reserve_tokens = 200;
    options.compaction.keep_recent_tokens = 10;
}

fn small_model() -> ModelFacts {
    ModelFacts {
        context_window: 1000,
        ..ModelFacts::default()
    }
}

async fn why_not(stage: &Stage) -> String {
    stage.session.compact(None).await.unwrap_err().to_string()
}

#[tokio::test(start_paused = true)]
async fn by_hand_the_older_part_is_replaced_by_a_summary() {
    let mut stage = with(
        Scenario::new()
            .text("one")
            .text("two")
            .text("three")
            .compaction(summary()),
    )
    .start();
    stage.run("first").await;
    stage.run("second").await;
    let wish = Some("Focus on the code".to_owned());
    let result = stage.session.compact(wish).await.unwrap();
    assert_eq!(result.summary, "what was said");
    expect![[r#"
        compaction Manual
        compaction ended: what was said
        settled
    "#]]
    .assert_eq(&stage.so_far());
    expect![[r#"
        summary "what was said"
        user "second"
        assistant ["two"] stop"#]]
    .assert_eq(&stage.messages().await.join("\n"));
    let asked = stage.heard.requests(Purpose::Compaction).concat().join("");
    assert!(
        asked.contains("Focus on the code") && asked.contains("[user] first"),
        "{asked}"
    );
    assert!(stage.heard.last_request().tools.is_empty());
    stage.run("third").await;
    expect![[r#"
        user "The conversation before this point was replaced by this summary of it:\n\n<summary>\nwhat was said\n</summary>"
        user "second"
        assistant ["two"] stop
        user "third""#]].assert_eq(&stage.heard.last().join("\n"));
}

#[tokio::test(start_paused = true)]
async fn there_must_be_something_to_compact() {
    let mut stage = with(Scenario::new().text("one").compaction(summary())).start();
    assert_eq!(
        why_not(&stage).await,
        "Nothing to compact (session too small)"
    );
    stage.run("first").await;
    stage.session.compact(None).await.unwrap();
    assert_eq!(why_not(&stage).await, "Already compacted");
    stage.run("second").await;
    stage.session.compact(None).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_summary_that_fails_leaves_everything_as_it_was() {
    let fails = ScriptedCompaction {
        error: Some(ErrorStep {
            message: Some("no".into()),
            ..ErrorStep::new(ModelErrorKind::Auth)
        }),
        ..ScriptedCompaction::default()
    };
    let mut stage = with(Scenario::new().text("one").compaction(fails)).start();
    stage.run("first").await;
    assert_eq!(why_not(&stage).await, "no");
    assert_eq!(stage.messages().await.len(), 2);
    expect![[r#"
        compaction Manual
        compaction ended: nothing, Compaction failed: no
        settled
    "#]]
    .assert_eq(&stage.so_far());
}

#[tokio::test(start_paused = true)]
async fn a_running_turn_is_stopped_first() {
    let scenario = Scenario::new()
        .text("one")
        .turn(ScriptTurn::new().text("two").hang())
        .compaction(summary());
    let mut stage = with(scenario).start();
    stage.run("first").await;
    stage.prompt("second").await;
    stage.until_said("two").await;
    stage.session.compact(None).await.unwrap();
    let seen = stage.so_far();
    let at = |what: &str| {
        seen.find(what)
            .unwrap_or_else(|| panic!("no {what} in {seen}"))
    };
    assert!(at("run ended: aborted") < at("compaction Manual"));
    expect![[r#"
        summary "what was said"
        user "second"
        assistant ["two"] aborted (Request was aborted)"#]]
    .assert_eq(&stage.messages().await.join("\n"));
}

#[tokio::test(start_paused = true)]
async fn what_is_queued_meanwhile_is_delivered_afterwards() {
    let slow = ScriptedCompaction {
        wait_ms: 1000,
        ..summary()
    };
    let mut stage = with(Scenario::new().text("one").text("two").compaction(slow)).start();
    stage.run("first").await;
    let session = stage.session.clone();
    let compaction = tokio::spawn(async move { session.compact(None).await });
    stage
        .until(|kind| matches!(kind, EventKind::CompactionStarted { .. }))
        .await;
    assert!(stage.session.state().await.unwrap().is_compacting);
    stage.steer("and now").await;
    stage.settled().await;
    compaction.await.unwrap().unwrap();
    expect![[r#"
        summary "what was said"
        assistant ["one"] stop
        user "and now"
        assistant ["two"] stop"#]]
    .assert_eq(&stage.messages().await.join("\n"));
}

#[tokio::test(start_paused = true)]
async fn near_the_window_it_happens_after_the_run() {
    let scenario = Scenario::new()
        .model(small_model())
        .turn(ScriptTurn::new().text("one").usage(counting(100)))
        .turn(
            ScriptTurn::new()
                .text("a long long long long long long answer")
                .usage(counting(900)),
        )
        .compaction(summary());
    let mut stage = with(scenario).options(small_window).start();
    stage.run("first").await;
    let seen = stage.run("second").await;
    let tail: Vec<&str> = seen.lines().rev().take(4).collect();
    expect![[r#"
        settled
        compaction ended: what was said
        compaction Threshold
        run ended: completed [user assistant]"#]]
    .assert_eq(&tail.join("\n"));
    assert_eq!(stage.session.state().await.unwrap().context.tokens, None);
    expect![[r#"
        summary "what was said"
        assistant ["a long long long long long long answer"] stop"#]]
    .assert_eq(&stage.messages().await.join("\n"));
}

#[tokio::test(start_paused = true)]
async fn near_the_window_it_happens_before_a_prompt_is_answered() {
    let scenario = Scenario::new()
        .model(small_model())
        .turn(ScriptTurn::new().text("one").usage(counting(790)))
        .text("two")
        .compaction(summary());
    let mut stage = with(scenario).options(small_window).start();
    stage.run("first").await;
    let seen = stage.run(&"a long question ".repeat(10)).await;
    expect![[r#"
        compaction Threshold
        compaction ended: what was said
        run"#]]
    .assert_eq(seen.lines().take(3).collect::<Vec<_>>().join("\n").as_str());
    assert_eq!(stage.heard.last().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_model_with_a_window_smaller_than_the_reserve_is_not_compacted_at_every_prompt() {
    let facts = ModelFacts {
        context_window: 8_192,
        ..ModelFacts::default()
    };
    let turn = ScriptTurn::new().text("one").usage(counting(100)).times(5);
    let mut stage = with(Scenario::new().model(facts).turn(turn)).start();
    for _ in 0..3 {
        assert!(!stage.run("hi").await.contains("compaction"));
    }
}

#[tokio::test(start_paused = true)]
async fn calls_and_their_results_stay_together() {
    let scenario = Scenario::new()
        .turn(
            ScriptTurn::new()
                .tool("look", json!({"say":"a"}))
                .tool("look", json!({"say":"b"})),
        )
        .text("done")
        .compaction(summary());
    let mut stage = with(scenario)
        .options(|options| options.compaction.keep_recent_tokens = 3)
        .start();
    stage.run("first").await;
    stage.session.compact(None).await.unwrap();
    expect![[r#"
        summary "what was said"
        assistant [look call_1_1, look call_1_2] toolUse
        result of call_1_1: "a"
        result of call_1_2: "b"
        assistant ["done"] stop"#]]
    .assert_eq(&stage.messages().await.join("\n"));
}
