//! Asking, with a host that answers as it is told.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use serde_json::json;
use stentor_agent::dialog::{Dialog, DialogAnswer, DialogKind};
use stentor_agent::tool::{
    Circumstances, DialogFuture, ModeFuture, Plan, Tool, ToolContext, ToolHost,
};
use stentor_policy::PermissionMode;

use super::{Ask, ExitPlanMode};
use crate::testing::{Workshop, object, text};

#[derive(Default)]
struct Person {
    answers: Mutex<VecDeque<DialogAnswer>>,
    asked: Mutex<Vec<Dialog>>,
    mode: Mutex<Option<PermissionMode>>,
    before: Option<PermissionMode>,
}

impl ToolHost for Person {
    fn plan(&self) -> Plan {
        Plan::default()
    }

    fn set_plan(&self, _: Plan) {}

    fn ask(&self, dialog: Dialog) -> DialogFuture {
        let answer = self.answers.lock().unwrap().pop_front();
        let fitting = answer.map(|answer| dialog.fit(answer));
        self.asked.lock().unwrap().push(dialog);
        match fitting {
            Some(answer) => Box::pin(std::future::ready(answer)),
            None => Box::pin(std::future::pending()),
        }
    }

    fn mode_before_plan(&self) -> Option<PermissionMode> {
        self.before
    }

    fn leave_plan_mode(&self, mode: PermissionMode) -> ModeFuture {
        *self.mode.lock().unwrap() = Some(mode);
        Box::pin(std::future::ready(true))
    }
}

fn person(answers: &[DialogAnswer], before: Option<PermissionMode>) -> Arc<Person> {
    Arc::new(Person {
        answers: Mutex::new(answers.to_vec().into()),
        before,
        ..Person::default()
    })
}

async fn run(tool: Arc<dyn Tool>, arguments: serde_json::Value, host: &Arc<Person>) -> String {
    let workshop = Workshop::new();
    let context = ToolContext {
        host: Arc::clone(host) as _,
        ..workshop.context()
    };
    text(&tool.run(object(arguments), context).await)
}

fn ask_tool() -> Arc<dyn Tool> {
    Arc::new(Ask::default())
}

fn exit_plan_mode_tool() -> Arc<dyn Tool> {
    Arc::new(ExitPlanMode::default())
}

fn value(text: &str) -> DialogAnswer {
    DialogAnswer::Value(text.to_owned())
}

#[tokio::test]
async fn the_mode_of_before_comes_first_and_only_an_offered_mode_ends_plan_mode() {
    let plan = json!({ "plan": "1. Do it" });
    let before = Some(PermissionMode::AcceptEdits);
    for (answers, before, first, expected) in [
        (
            vec![value("accept-edits")],
            before,
            "accept-edits",
            Some(PermissionMode::AcceptEdits),
        ),
        (
            vec![value("Yes, and do everything without asking")],
            None,
            "ask",
            Some(PermissionMode::All),
        ),
        (vec![value("read-only")], None, "ask", None),
        (
            vec![value("plan"), value("less")],
            Some(PermissionMode::All),
            "all",
            None,
        ),
        (vec![DialogAnswer::Nothing], None, "ask", None),
        (vec![DialogAnswer::Confirmed(true)], None, "ask", None),
    ] {
        let person = person(&answers, before);
        let said = run(exit_plan_mode_tool(), plan.clone(), &person).await;
        assert_eq!(*person.mode.lock().unwrap(), expected, "{answers:?}");
        assert_eq!(said.contains("has accepted"), expected.is_some(), "{said}");
        let asked = person.asked.lock().unwrap();
        let DialogKind::Plan(presented) = &asked[0].kind else {
            panic!("{asked:?}");
        };
        assert_eq!(presented.options[0].value, first);
        assert_eq!(presented.options.last().unwrap().value, "plan");
    }
}

#[tokio::test]
async fn a_plan_without_words_or_without_end_is_refused() {
    for (plan, why) in [
        (" \n".to_owned(), "The plan is empty."),
        ("x".repeat(50_001), "A plan has at most 50000 characters"),
    ] {
        let person = person(&[value("all")], None);
        let said = run(exit_plan_mode_tool(), json!({ "plan": plan }), &person).await;
        assert!(said.starts_with(why), "{said}");
        assert_eq!(*person.mode.lock().unwrap(), None);
    }
}

#[tokio::test]
async fn a_call_that_must_end_asks_no_longer() {
    let person = person(&[], None);
    let workshop = Workshop::new();
    let context = ToolContext {
        host: Arc::clone(&person) as _,
        ..workshop.context()
    };
    let cancel = workshop.cancel.clone();
    let questions = json!({ "questions": [{ "question": "Why?" }] });
    let asking = ask_tool().run(object(questions), context);
    let stopping = async move { cancel.cancel() };
    let (output, ()) = tokio::join!(asking, stopping);
    assert_eq!(text(&output), "Operation aborted");
}

#[test]
fn they_are_offered_where_somebody_answers_and_a_plan_only_in_plan_mode() {
    let now = |somebody_answers, mode| Circumstances {
        somebody_answers,
        mode,
    };
    for (circumstances, ask, plan) in [
        (now(true, PermissionMode::Plan), true, true),
        (now(true, PermissionMode::Ask), true, false),
        (now(false, PermissionMode::Plan), false, false),
    ] {
        assert_eq!(ask_tool().is_offered(circumstances), ask);
        assert_eq!(exit_plan_mode_tool().is_offered(circumstances), plan);
    }
}
