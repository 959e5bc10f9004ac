//! What hooks are asked, and what their answers do.

use std::sync::{Arc, Mutex};

use serde_json::{Map, json};
use stentor_agent::event::EventKind;
use stentor_agent::hooks::{
    AddedContext, CallHooks, CallVerdict, HookFuture, Hooks, PromptVerdict,
};
use stentor_agent::session::{HookSource, HookedSession};
use stentor_agent::tool::ToolOutput;
use stentor_journal::message::ToolCall;
use stentor_journal::store::EntryKind;
use stentor_model::script::Scenario;

use crate::stage::{Stage, with};

/// Hooks that answer what they are told to and remember what they were asked.
#[derive(Default)]
struct Fake {
    prompt: Option<PromptVerdict>,
    call: Option<CallVerdict>,
    result: Option<ToolOutput>,
    /// Never answers.
    hangs: bool,
    asked: Mutex<Vec<String>>,
}

impl Fake {
    fn note(&self, what: String) {
        self.asked.lock().unwrap().push(what);
    }

    fn answer<T: Send + 'static>(&self, answer: T) -> HookFuture<T> {
        if self.hangs {
            Box::pin(std::future::pending())
        } else {
            Box::pin(std::future::ready(answer))
        }
    }
}

/// Gives every session the same hooks.
struct Source(Arc<Fake>);

impl HookSource for Source {
    fn attach(&self, session: HookedSession) -> Arc<dyn Hooks> {
        self.0
            .note(format!("attached, resumed: {}", session.resumed));
        Arc::clone(&self.0) as Arc<dyn Hooks>
    }
}

impl CallHooks for Fake {
    fn before_tool_call(&self, call: Arc<ToolCall>) -> HookFuture<CallVerdict> {
        self.note(format!("before {} {}", call.name, json!(call.arguments)));
        self.answer(self.call.clone().unwrap_or(CallVerdict::Allowed))
    }

    fn after_tool_call(&self, call: Arc<ToolCall>, output: ToolOutput) -> HookFuture<ToolOutput> {
        self.note(format!("after {} {}", call.name, json!(call.arguments)));
        self.answer(self.result.clone().unwrap_or(output))
    }
}

impl Hooks for Fake {
    fn before_prompt(&self, text: Arc<str>) -> HookFuture<PromptVerdict> {
        self.note(format!("prompt {text}"));
        let go_on = PromptVerdict::Answer {
            context: Vec::new(),
        };
        self.answer(self.prompt.clone().unwrap_or(go_on))
    }

    fn session_ended(&self) -> HookFuture<()> {
        self.note("ended".to_owned());
        Box::pin(std::future::ready(()))
    }
}

fn hooked(scenario: Scenario, fake: Fake) -> (Stage, Arc<Fake>) {
    let fake = Arc::new(fake);
    let source = Arc::new(Source(Arc::clone(&fake)));
    let stage = with(scenario)
        .options(|options| options.hooks = vec![source])
        .start();
    (stage, fake)
}

fn looks() -> Scenario {
    Scenario::new()
        .tool("look", json!({ "say": "a" }))
        .text("done")
}

#[tokio::test(start_paused = true)]
async fn hooks_are_asked_in_the_order_of_what_happens() {
    let (mut stage, fake) = hooked(looks(), Fake::default());
    stage.run("go").await;
    stage.session.close().await;
    assert_eq!(
        *fake.asked.lock().unwrap(),
        [
            "attached, resumed: false",
            "prompt go",
            r#"before look {"say":"a"}"#,
            r#"after look {"say":"a"}"#,
            "ended"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_denied_call_is_an_error_for_the_model_and_nothing_ran() {
    let fake = Fake {
        call: Some(CallVerdict::Denied("not today".into())),
        ..Fake::default()
    };
    let (mut stage, fake) = hooked(looks(), fake);
    stage.run("go").await;
    let told = stage.heard.last().join("\n");
    assert!(told.contains("not today"), "{told}");
    assert!(
        !fake
            .asked
            .lock()
            .unwrap()
            .iter()
            .any(|one| one.starts_with("after"))
    );
}

#[tokio::test(start_paused = true)]
async fn changed_arguments_are_checked_as_those_of_the_model_are() {
    let wrong = Map::from_iter([("say".to_owned(), json!({ "no": "text" }))]);
    let fake = Fake {
        call: Some(CallVerdict::Changed(wrong)),
        ..Fake::default()
    };
    let (mut stage, _) = hooked(looks(), fake);
    stage.run("go").await;
    let told = stage.heard.last().join("\n");
    assert!(
        told.contains("An extension changed the arguments."),
        "{told}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_changed_result_is_the_one_that_is_kept() {
    let fake = Fake {
        result: Some(ToolOutput::text("another result")),
        ..Fake::default()
    };
    let (mut stage, _) = hooked(looks(), fake);
    stage.run("go").await;
    let told = stage.heard.last().join("\n");
    assert!(told.contains("another result"), "{told}");
}

#[tokio::test(start_paused = true)]
async fn added_context_is_told_to_the_model_and_kept() {
    let context = vec![AddedContext {
        source: "weather".into(),
        text: "it rains".into(),
    }];
    let fake = Fake {
        prompt: Some(PromptVerdict::Answer { context }),
        ..Fake::default()
    };
    let (mut stage, _) = hooked(Scenario::new().text("ok"), fake);
    stage.run("go").await;
    let told = stage.heard.last().join("\n");
    assert!(told.contains("it rains"), "{told}");
    assert_eq!(stage.messages().await.len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_prompt_that_hooks_answer_or_refuse_reaches_no_model() {
    for (verdict, shown) in [
        (
            PromptVerdict::Answered {
                text: "pong".into(),
            },
            "pong",
        ),
        (
            PromptVerdict::Denied {
                reason: "closed".into(),
            },
            "closed",
        ),
    ] {
        let fake = Fake {
            prompt: Some(verdict),
            ..Fake::default()
        };
        let (mut stage, _) = hooked(Scenario::new().text("never"), fake);
        let seen = stage.run("ping").await;
        assert!(seen.contains(shown), "{seen}");
        assert!(stage.heard.last().is_empty());
        let state = stage.session.state().await.unwrap();
        assert!(!state.is_running);
    }
}

#[tokio::test(start_paused = true)]
async fn an_abort_does_not_wait_for_a_hook_that_hangs_and_the_session_answers_meanwhile() {
    let fake = Fake {
        hangs: true,
        ..Fake::default()
    };
    let (mut stage, _) = hooked(Scenario::new().text("never"), fake);
    stage.prompt("go").await;
    stage
        .until(|kind| matches!(kind, EventKind::TurnStarted))
        .await;
    assert!(stage.session.state().await.unwrap().is_running);
    stage.session.abort().await.unwrap();
    assert!(!stage.session.state().await.unwrap().is_running);
}

#[tokio::test(start_paused = true)]
async fn what_an_extension_keeps_is_an_entry_that_no_model_sees() {
    let (mut stage, _) = hooked(Scenario::new().text("ok"), Fake::default());
    let data = json!({ "key": "k", "value": 1 });
    let appended = stage
        .session
        .append_custom("extension:one".into(), Some(data.clone()));
    let id = appended.await.unwrap();
    stage.run("go").await;
    let (_, entries) = stage.session.entries().await.unwrap();
    let kept = entries.iter().find(|entry| entry.id == id).unwrap();
    let expected = EntryKind::Custom {
        custom_type: "extension:one".into(),
        data: Some(data),
    };
    assert_eq!(kept.kind, expected);
    assert_eq!(stage.heard.last().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_weak_handle_does_not_keep_its_session_alive() {
    let (stage, fake) = hooked(Scenario::new().text("ok"), Fake::default());
    let weak = stage.session.downgrade();
    assert!(weak.upgrade().is_some());
    let mut events = stage.session.subscribe();
    drop(stage);
    while events.next().await.is_some() {}
    assert!(weak.upgrade().is_none());
    assert_eq!(fake.asked.lock().unwrap().last().unwrap(), "ended");
}
