//! Budgets and permissions: what stops a run or a call.

use expect_test::expect;
use serde_json::json;
use stentor_agent::event::{EventKind, RunOutcome};
use stentor_agent::session::{Budget, SessionError};
use stentor_journal::usage::{Prices, Usage};
use stentor_model::script::{ModelFacts, Scenario, ScriptTurn, UsageRule};
use stentor_policy::{PermissionAnswer, PermissionMode};

use crate::stage::{Stage, with};

/// A model that calls a tool for ever, at 100 tokens and a cent a call.
fn endless() -> Scenario {
    let prices = Prices {
        input: 100.0,
        ..Prices::default()
    };
    let usage = Usage {
        input: 100,
        ..Usage::default()
    };
    Scenario::new()
        .model(ModelFacts {
            prices,
            ..ModelFacts::default()
        })
        .usage(UsageRule::Fixed(usage))
        .turn(ScriptTurn::new().tool("look", json!({})).times(1000))
}

async fn outcome(scenario: Scenario, budget: Budget) -> (String, usize) {
    let mut stage = with(scenario)
        .options(|options| options.budget = budget)
        .start();
    stage.prompt("go").await;
    let end = stage
        .until(|kind| matches!(kind, EventKind::RunEnded(_)))
        .await;
    let EventKind::RunEnded(end) = end.kind else {
        return (String::new(), 0);
    };
    let RunOutcome::BudgetReached { message, .. } = &end.outcome else {
        panic!("{:?}", end.outcome);
    };
    (message.clone(), stage.runs.all().len())
}

#[tokio::test(start_paused = true)]
async fn a_budget_that_is_reached_ends_the_run_and_says_why() {
    let none = Budget::default();
    let cases = [
        (
            Budget {
                turns: Some(3),
                ..none
            },
            "Budget reached: 3 of 3 model calls are used.",
            3,
        ),
        (
            Budget {
                tokens: Some(250),
                ..none
            },
            "Budget reached: 300 of 250 tokens are used.",
            3,
        ),
        (
            Budget {
                cost: Some(0.02),
                ..none
            },
            "Budget reached: $0.0200 of $0.0200 are spent.",
            2,
        ),
    ];
    for (budget, message, runs) in cases {
        assert_eq!(outcome(endless(), budget).await, (message.to_owned(), runs));
    }
}

#[tokio::test(start_paused = true)]
async fn calls_of_a_model_that_counts_no_tokens_count_as_turns() {
    let silent = endless().usage(UsageRule::default());
    let budget = Budget {
        turns: Some(2),
        ..Budget::default()
    };
    assert_eq!(outcome(silent, budget).await.1, 2);
}

#[tokio::test(start_paused = true)]
async fn what_was_consumed_is_counted_for_the_session_and_for_the_context() {
    let mut stage = with(endless())
        .options(|options| {
            options.budget.turns = Some(2);
        })
        .start();
    stage.run("go").await;
    let stats = stage.session.stats().await.unwrap();
    assert_eq!(
        (stats.total_turns, stats.total_usage.total_tokens),
        (2, 200)
    );
    assert_eq!((stats.user_messages, stats.assistant_messages), (1, 3));
    assert_eq!(
        (stats.tool_calls, stats.tool_results, stats.total_messages),
        (2, 2, 6)
    );
    assert_eq!(stats.context_usage.total_tokens, 200);
    assert_eq!(stats.context.tokens, Some(101));
}

async fn asking() -> Stage {
    let calls = ScriptTurn::new()
        .tool("act", json!({"say":"a"}))
        .tool("act", json!({"say":"b"}));
    let stage = with(Scenario::new().turn(calls).text("done")).start();
    stage
        .session
        .set_permission_mode(PermissionMode::Ask)
        .await
        .unwrap();
    stage.session.set_can_ask(true).await.unwrap();
    stage
}

async fn question(stage: &mut Stage) -> u64 {
    let asked = stage
        .until(|kind| matches!(kind, EventKind::PermissionAsked { .. }))
        .await;
    match asked.kind {
        EventKind::PermissionAsked { id, .. } => id,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_person_who_is_asked_allows_or_rejects_each_call() {
    let mut stage = asking().await;
    stage.prompt("go").await;
    let first = question(&mut stage).await;
    let answer = stage
        .session
        .answer_permission(first, PermissionAnswer::AllowOnce);
    answer.await.unwrap();
    let second = question(&mut stage).await;
    let answer = stage
        .session
        .answer_permission(second, PermissionAnswer::RejectOnce);
    answer.await.unwrap();
    let seen = stage.settled().await;
    let after = seen.find("act call_1_1 starts").unwrap();
    expect![[r#"
        act call_1_1 starts
            may act run? (question 1)
            question 1: AllowOnce
            act call_1_1 ended after 0 ms: "a"
            #3 started
            #3 ended: result of call_1_1: "a"
            act call_1_2 starts
            may act run? (question 2)
            question 2: RejectOnce
            act call_1_2 ended after 0 ms: "The user rejected this call of act. Do not repeat it; ask or continue without it." error
            #4 started
            #4 ended: result of call_1_2: "The user rejected this call of act. Do not repeat it; ask or continue without it." error
          turn ended: toolUse, 2 results
          turn
            #5 answer
              0 text
              0 += "done"
              0 ended
            #5 ended: assistant ["done"] stop
          turn ended: stop, 0 results
        run ended: completed [user assistant result result assistant]
        settled
    "#]].assert_eq(&seen[after..]);
    assert_eq!(stage.runs.all(), ["act a"]);
    let again = stage
        .session
        .answer_permission(first, PermissionAnswer::AllowOnce)
        .await;
    assert!(matches!(again, Err(SessionError::NoSuchQuestion(1))));
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_question_is_a_denied_call() {
    let mut stage = asking().await;
    stage.prompt("go").await;
    for _ in 0..2 {
        let id = question(&mut stage).await;
        stage
            .session
            .answer_permission(id, PermissionAnswer::Cancelled)
            .await
            .unwrap();
    }
    stage.settled().await;
    assert!(stage.runs.all().is_empty());
}

#[tokio::test(start_paused = true)]
async fn where_nobody_can_be_asked_asking_is_denying() {
    let mut stage = asking().await;
    stage.session.set_can_ask(false).await.unwrap();
    let seen = stage.run("go").await;
    assert!(
        !seen.contains("may act run?") && seen.contains("Nobody can be asked"),
        "{seen}"
    );
    assert!(stage.runs.all().is_empty());
}

#[tokio::test(start_paused = true)]
async fn steering_that_arrives_during_a_question_waits_for_its_answer() {
    let mut stage = asking().await;
    stage.prompt("go").await;
    let id = question(&mut stage).await;
    stage.steer("stop that").await;
    stage
        .session
        .answer_permission(id, PermissionAnswer::AllowOnce)
        .await
        .unwrap();
    let seen = stage.settled().await;
    assert!(
        seen.contains("Skipped due to queued user message."),
        "{seen}"
    );
    assert_eq!(stage.runs.all(), ["act a"]);
}

#[tokio::test(start_paused = true)]
async fn an_answer_for_always_is_asked_for_once() {
    for (answer, runs) in [
        (PermissionAnswer::AllowAlways, 2),
        (PermissionAnswer::RejectAlways, 0),
    ] {
        let mut stage = asking().await;
        stage.prompt("go").await;
        let id = question(&mut stage).await;
        let answered = stage.session.answer_permission(id, answer).await;
        answered.unwrap();
        let seen = stage.settled().await;
        assert_eq!(seen.matches("may act run?").count(), 1, "{seen}");
        assert_eq!(stage.runs.all().len(), runs);
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_that_only_reads_denies_the_rest_without_asking() {
    let mut stage = asking().await;
    let mode = stage.session.set_permission_mode(PermissionMode::ReadOnly);
    mode.await.unwrap();
    let seen = stage.run("go").await;
    assert!(!seen.contains("may act run?"), "{seen}");
    assert!(stage.runs.all().is_empty());
}
