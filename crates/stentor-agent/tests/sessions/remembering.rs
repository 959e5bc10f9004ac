//! "Always": what is kept of it, and when.

use std::sync::{Arc, Mutex};

use expect_test::expect;
use serde_json::json;
use stentor_agent::box_error::BoxError;
use stentor_agent::event::EventKind;
use stentor_agent::sandbox::{SandboxMode, SandboxState};
use stentor_model::script::{Scenario, ScriptTurn};
use stentor_policy::{AnswerStore, PermissionAnswer, PermissionMode, Policy, RememberedAnswer};

use crate::stage::{Setup, Stage, with};

/// Keeps answers in memory, or fails.
#[derive(Default)]
struct Drawer {
    kept: Mutex<Vec<RememberedAnswer>>,
    is_stuck: bool,
}

impl AnswerStore for Drawer {
    fn store(&self, answer: &RememberedAnswer) -> Result<(), BoxError> {
        if self.is_stuck {
            return Err("the drawer is stuck".into());
        }
        self.kept.lock().unwrap().push(answer.clone());
        Ok(())
    }
}

fn two_calls() -> Setup {
    let calls = ScriptTurn::new()
        .tool("act", json!({"say":"a"}))
        .tool("act", json!({"say":"b"}));
    with(Scenario::new().turn(calls).text("done"))
        .options(|options| options.policy = Policy::new(PermissionMode::Ask, Vec::new()))
}

async fn answer_first(stage: &mut Stage, answer: PermissionAnswer) -> String {
    stage.session.set_can_ask(true).await.unwrap();
    stage.prompt("go").await;
    let asked = stage
        .until(|kind| matches!(kind, EventKind::PermissionAsked { .. }))
        .await;
    let EventKind::PermissionAsked { id, .. } = asked.kind else {
        panic!("{asked:?}")
    };
    stage.session.answer_permission(id, answer).await.unwrap();
    stage.settled().await
}

#[tokio::test(start_paused = true)]
async fn an_always_is_kept_before_it_is_acknowledged_and_holds_in_the_next_session() {
    for (answer, ran) in [
        (PermissionAnswer::AllowAlways, &["act a", "act b"][..]),
        (PermissionAnswer::RejectAlways, &[]),
    ] {
        let drawer = Arc::new(Drawer::default());
        let store = Arc::clone(&drawer) as Arc<dyn AnswerStore>;
        let setup = two_calls().options(|options| options.answer_store = Some(store));
        let mut stage = setup.start();
        let seen = answer_first(&mut stage, answer).await;
        assert_eq!(seen.matches("may act run?").count(), 1, "{seen}");
        assert_eq!(stage.runs.all(), ran);
        let kept = drawer.kept.lock().unwrap().clone();
        assert_eq!(kept.len(), 1, "{kept:?}");

        let setup = two_calls().options(|options| {
            options.policy = std::mem::take(&mut options.policy).with_remembered(kept);
        });
        let mut next = setup.start();
        next.session.set_can_ask(true).await.unwrap();
        let seen = next.run("go").await;
        assert!(!seen.contains("may act run?"), "{seen}");
        assert_eq!(next.runs.all(), ran);
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_cannot_be_kept_holds_for_the_session_and_is_told() {
    let drawer = Drawer {
        is_stuck: true,
        ..Drawer::default()
    };
    let setup = two_calls().options(|options| options.answer_store = Some(Arc::new(drawer)));
    let mut stage = setup.start();
    stage.session.set_can_ask(true).await.unwrap();
    let seen = answer_first(&mut stage, PermissionAnswer::AllowAlways).await;
    assert!(
        seen.contains("the answer applies to this session only: the drawer is stuck"),
        "{seen}"
    );
    assert_eq!(stage.runs.all(), ["act a", "act b"]);
}

#[tokio::test(start_paused = true)]
async fn what_of_the_sandbox_does_not_hold_is_in_the_state_and_told_at_the_start() {
    let sandbox = Arc::new(SandboxState {
        mode: SandboxMode::Off,
        network: false,
        writable: Vec::new(),
        unreadable: Vec::new(),
        gaps: vec!["files are not held".to_owned()],
    });
    let given = Arc::clone(&sandbox);
    let setup = with(Scenario::new().text("done")).options(|options| options.sandbox = given);
    let stage = setup.start();
    assert_eq!(stage.session.state().await.unwrap().sandbox, sandbox);
    let mut early = stage.session.subscribe_since(0).unwrap();
    let notices: Vec<String> = std::iter::from_fn(|| early.try_next())
        .filter(|event| matches!(event.kind, EventKind::Notice { .. }))
        .map(|event| format!("{:?}", event.kind))
        .collect();
    expect![[r#"Notice { level: Warning, message: "sandbox: files are not held", from: Agent }"#]]
        .assert_eq(&notices.join("\n"));
}
