//! Extensions that misbehave: nothing else is disturbed, and somebody is told.

use std::time::Duration;

use stentor_agent::event::EventKind;
use stentor_agent::hub::QUEUE_EVENTS;
use stentor_tools::extension::{RestartPolicy, WhenBroken};

use crate::stage::{PATIENCE, Seen, Stage, fault, runs};

/// The run of a session with one extension that fails.
async fn with_fault(mode: &str) -> Seen {
    let mut spec = fault(mode);
    spec.timeout = Duration::from_millis(300);
    Stage::new(runs("echo fine"), vec![spec]).run("go").await
}

#[track_caller]
fn assert_failed(seen: &Seen, event: &str, error: &str) {
    assert_eq!(seen.answer(), "It said: fine\n");
    let failures = seen.failures();
    let told = failures
        .iter()
        .any(|(at, why)| at == event && why.contains(error));
    assert!(told, "{failures:#?}");
}

#[tokio::test]
async fn one_that_dies_at_start_is_told_with_its_last_words_and_disabled() {
    let seen = with_fault("dies-at-start").await;
    assert_failed(&seen, "start", "exit status: 3");
    assert_failed(&seen, "start", "the reason is on stderr");
    assert_failed(&seen, "start", "disabled");
}

#[tokio::test]
async fn one_that_never_registers_delays_the_first_prompt_only_as_long_as_it_may() {
    let mut spec = fault("hangs-at-start");
    spec.start_timeout = Duration::from_millis(400);
    let seen = Stage::new(runs("echo fine"), vec![spec]).run("go").await;
    assert_failed(&seen, "start", "did not answer within 400 ms");
}

#[tokio::test]
async fn one_that_is_not_there_is_told() {
    let mut spec = fault("well");
    spec.command = vec!["no-such-program-anywhere".to_owned()];
    let seen = Stage::new(runs("echo fine"), vec![spec]).run("go").await;
    assert_failed(
        &seen,
        "start",
        "`no-such-program-anywhere` could not be started",
    );
}

#[tokio::test]
async fn one_of_another_version_is_not_used() {
    let seen = with_fault("wrong-version").await;
    assert_failed(&seen, "start", "version 99");
}

#[tokio::test]
async fn one_that_starts_slowly_is_waited_for_and_then_works() {
    let mut stage = Stage::new(runs("echo forbidden"), vec![fault("slow-start")]);
    let seen = stage.run("go").await;
    assert_eq!(seen.answer(), "It said: it is forbidden");
    assert_eq!(seen.failures(), []);
}

#[tokio::test]
async fn one_that_hangs_in_a_hook_lets_the_call_go_on() {
    let seen = with_fault("hangs").await;
    assert_failed(&seen, "tool/before", "did not answer within 300 ms");
}

#[tokio::test]
async fn one_that_hangs_three_times_is_ended_and_started_again() {
    let mut spec = fault("hangs");
    spec.timeout = Duration::from_millis(100);
    spec.restart = RestartPolicy {
        max_restarts: 1,
        base_delay: Duration::from_millis(1),
    };
    let scenario = (0..3).fold(stentor_model::script::Scenario::new(), |scenario, _| {
        scenario.tool("bash", serde_json::json!({ "command": "echo fine" }))
    });
    let mut stage = Stage::new(scenario.text("done"), vec![spec]);
    stage.prompt("go").await;
    let seen = stage
        .until(|kind| match kind {
            EventKind::ExtensionFailed { event, error, .. } => {
                event == "run" && error.contains("did not answer 3 times in a row")
            }
            _ => false,
        })
        .await;
    assert!(
        seen.failures()
            .iter()
            .any(|(_, why)| why.contains("started again"))
    );
}

#[tokio::test]
async fn one_that_guards_and_does_not_work_denies() {
    let mut spec = fault("hangs-but-guards");
    spec.timeout = Duration::from_millis(300);
    spec.when_broken = WhenBroken::Deny;
    let seen = Stage::new(runs("echo fine"), vec![spec]).run("go").await;
    assert_eq!(
        seen.answer(),
        "It said: The extension `hangs-but-guards` must be asked about this and cannot be: \
         it did not answer within 300 ms"
    );
}

#[tokio::test]
async fn one_that_dies_in_a_hook_lets_the_call_go_on_and_is_told() {
    let mut spec = fault("dies");
    spec.restart = RestartPolicy {
        max_restarts: 1,
        base_delay: Duration::from_millis(1),
    };
    let mut stage = Stage::new(runs("echo fine"), vec![spec]);
    let seen = stage.run("go").await;
    assert_failed(&seen, "tool/before", "ended before it answered");
    let told = |kind: &EventKind| match kind {
        EventKind::ExtensionFailed { event, error, .. } => {
            event == "run" && error.contains("exit status: 7") && error.contains("boom")
        }
        _ => false,
    };
    if !seen.kinds.iter().any(told) {
        stage.until(told).await;
    }
}

#[tokio::test]
async fn garbage_between_messages_is_skipped_and_told_once() {
    let seen = with_fault("garbage").await;
    assert_failed(&seen, "output", "debug: before bash");
    assert_eq!(seen.failures().len(), 1);
}

#[tokio::test]
async fn one_that_writes_nothing_but_garbage_is_given_up() {
    let mut stage = Stage::new(runs("echo fine"), vec![fault("only-garbage")]);
    let seen = stage.run("go").await;
    assert_eq!(seen.answer(), "It said: fine\n");
    let mut failures = seen.failures();
    let given_up = |failures: &[(String, String)]| {
        let mut reasons = failures.iter().map(|(_, why)| why);
        reasons.any(|why| why.contains("100 unreadable lines in a row"))
    };
    if !given_up(&failures) {
        let later = stage.until(|kind| matches!(kind, EventKind::ExtensionFailed { .. }));
        failures.extend(later.await.failures());
    }
    assert!(given_up(&failures), "{failures:#?}");
}

#[tokio::test]
async fn the_second_of_two_answers_is_ignored() {
    let seen = with_fault("answers-twice").await;
    assert_eq!(seen.answer(), "It said: fine\n");
    assert_eq!(seen.failures(), []);
}

#[tokio::test]
async fn a_flood_is_slowed_down_and_a_sleeping_client_costs_no_memory() {
    let mut spec = fault("floods");
    // However slow this machine is, it writes faster than that.
    spec.message_interval = Duration::from_secs(3600);
    let mut stage = Stage::new(runs("echo fine"), vec![spec]);
    let mut asleep = stage.session.subscribe();
    stage.prompt("go").await;
    let seen = stage
        .until(|kind| match kind {
            EventKind::ExtensionFailed { error, .. } => error.contains("read more slowly"),
            _ => false,
        })
        .await;
    let longest = seen.kinds.iter().filter_map(|kind| match kind {
        EventKind::Notice { message, .. } => Some(message.len()),
        _ => None,
    });
    assert_eq!(longest.max(), Some(16 * 1024));
    stage.session.close().await;
    let mut notices = 0;
    while let Some(event) = asleep.try_next() {
        notices += usize::from(matches!(event.kind, EventKind::Notice { .. }));
    }
    assert!((1..=QUEUE_EVENTS).contains(&notices), "{notices}");
}

#[tokio::test]
async fn a_result_too_long_to_read_is_a_failed_call() {
    let scenario = stentor_model::script::Scenario::new()
        .tool("echo", serde_json::json!({}))
        .text("It said: {{last_tool_result}}");
    let mut stage = Stage::new(scenario, vec![fault("too-long-result")]);
    let answer = stage.run("go").await.answer();
    assert!(answer.contains("longer than 4194304 bytes"), "{answer}");
}

#[tokio::test]
async fn one_that_does_not_listen_loses_events_and_holds_up_nothing() {
    let scenario = stentor_model::script::Scenario::new()
        .turn(stentor_model::script::ScriptTurn::new().repeat("x", 5_000))
        .text("done");
    let mut spec = fault("deaf");
    spec.timeout = Duration::from_millis(200);
    let mut stage = Stage::new(scenario, vec![spec]);
    let seen = stage.run("go").await;
    assert_eq!(seen.answer().len(), 5_000);
    assert!(seen.failures().iter().any(|(at, _)| at == "prompt/before"));
}

#[tokio::test]
async fn an_abort_ends_the_waiting_for_a_tool_that_hangs() {
    let scenario = stentor_model::script::Scenario::new()
        .tool("echo", serde_json::json!({}))
        .text("never");
    let mut stage = Stage::new(scenario, vec![fault("hangs-in-tool")]);
    stage.prompt("go").await;
    stage
        .until(|kind| matches!(kind, EventKind::ToolStarted { .. }))
        .await;
    stage.session.abort().await.unwrap();
    let seen = stage.settled().await;
    assert_eq!(seen.answer(), "error: Request was aborted");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn what_it_started_ends_with_it() {
    let mut stage = Stage::new(runs("echo fine"), vec![fault("leaves-a-child")]);
    assert_eq!(stage.run("go").await.answer(), "It said: fine\n");
    let child = std::fs::read_to_string(stage.path("child.pid")).unwrap();
    let running = || {
        // A zombie has no command line.
        let command = std::fs::read(format!("/proc/{child}/cmdline")).unwrap_or_default();
        !command.is_empty()
    };
    assert!(running());
    stage.session.close().await;
    // It has been killed; the kernel may still be busy with it.
    let gone = async {
        while running() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, gone).await.unwrap();
}
