//! What extensions can do when they do it right.

use serde_json::json;
use stentor_agent::dialog::{DialogAnswer, DialogKind};
use stentor_agent::event::EventKind;
use stentor_agent::session::{Session, Storage};
use stentor_journal::store;
use stentor_model::script::Scenario;

use crate::stage::{Stage, fault, runs};

#[tokio::test]
async fn a_denied_call_does_not_run_and_the_model_is_told_why() {
    let mut stage = Stage::new(runs("touch forbidden"), vec![fault("well")]);
    let seen = stage.run("go").await;
    assert_eq!(seen.answer(), "It said: it is forbidden");
    assert!(!stage.path("forbidden").exists());
    // No reason is no empty result.
    let mut stage = Stage::new(runs("touch nameless"), vec![fault("well")]);
    let seen = stage.run("go").await;
    assert_eq!(
        seen.answer(),
        "It said: The extension `well` does not allow this and gave no reason."
    );
    assert!(!stage.path("nameless").exists());
}

#[tokio::test]
async fn arguments_and_results_can_be_changed() {
    let mut stage = Stage::new(runs("echo original"), vec![fault("changes")]);
    let seen = stage.run("go").await;
    assert_eq!(seen.answer(), "It said: seen: changed\n");
}

#[tokio::test]
async fn several_extensions_are_asked_in_turn_and_the_first_denial_counts() {
    let extensions = vec![fault("changes"), fault("well")];
    let mut stage = Stage::new(runs("touch forbidden"), extensions);
    assert_eq!(stage.run("go").await.answer(), "It said: seen: changed\n");
    let extensions = vec![fault("well"), fault("changes")];
    let mut stage = Stage::new(runs("touch forbidden"), extensions);
    assert_eq!(stage.run("go").await.answer(), "It said: it is forbidden");
}

#[tokio::test]
async fn a_tool_reports_progress_and_its_result_goes_to_the_model() {
    let scenario = Scenario::new()
        .tool("echo", json!({ "text": "again" }))
        .text("It said: {{last_tool_result}}");
    let mut stage = Stage::new(scenario, vec![fault("well")]);
    let seen = stage.run("go").await;
    assert_eq!(seen.answer(), "It said: again");
    let reports: Vec<String> = seen
        .kinds
        .iter()
        .filter_map(|kind| match kind {
            EventKind::ToolProgress { partial, .. } => partial.content[0].as_text(),
            _ => None,
        })
        .map(str::to_owned)
        .collect();
    assert_eq!(reports, ["half"]);
}

#[tokio::test]
async fn a_prompt_can_be_added_to_or_refused() {
    let mut stage = Stage::new(Scenario::new().text("{{last_user}}"), vec![fault("well")]);
    let seen = stage.run("tell me about the context").await;
    assert_eq!(seen.added(), ["the moon is full"]);
    assert_eq!(seen.answer(), "the moon is full");
    let seen = stage.run("tell me the secret").await;
    assert_eq!(seen.answer(), "error: not about secrets");
}

#[tokio::test]
async fn commands_are_listed_and_answer_without_a_model_or_ask_one() {
    // The command's answer counts as one of the model's, so the model's own is the second.
    let scenario = Scenario::new()
        .text("never said")
        .text("You said: {{last_user}}");
    let mut stage = Stage::new(scenario, vec![fault("well")]);
    let seen = stage
        .until(|kind| matches!(kind, EventKind::CommandsChanged(_)))
        .await;
    let Some(EventKind::CommandsChanged(commands)) = seen.kinds.last() else {
        panic!("{seen:?}");
    };
    let names: Vec<&str> = commands.iter().map(|info| info.name.as_str()).collect();
    assert_eq!(names, ["hello", "expand"]);
    assert_eq!(
        stage.session.slash().list().await.to_vec(),
        commands.to_vec()
    );
    assert_eq!(stage.run("/hello you").await.answer(), "hello number 1");
    let seen = stage.run("/expand this text").await;
    assert_eq!(seen.answer(), "You said: expanded this text");
    let messages = stage.session.messages().await.unwrap();
    assert_eq!(messages.len(), 5);
}

#[tokio::test]
async fn state_is_kept_in_the_session_and_found_again_when_it_is_resumed() {
    let kept = tempfile::tempdir().unwrap();
    let mut stage = Stage::new(Scenario::new().text("hi"), vec![fault("well")]);
    stage.options.storage = Storage::Folder(kept.path().to_owned());
    stage.session = Session::start(stage.environment.clone(), stage.options.clone()).unwrap();
    stage.events = stage.session.subscribe();
    assert_eq!(stage.run("/hello").await.answer(), "hello number 1");
    assert_eq!(stage.run("/hello").await.answer(), "hello number 2");
    let file = stage.session.state().await.unwrap().file.unwrap();
    stage.session.close().await;
    let opened = store::open(&file).unwrap();
    let (environment, options) = (stage.environment.clone(), stage.options.clone());
    stage.session = Session::resume(environment, options, opened).unwrap();
    stage.events = stage.session.subscribe();
    assert_eq!(stage.run("/hello").await.answer(), "hello number 3");
}

#[tokio::test]
async fn the_person_is_asked_through_the_session() {
    for (answer, said) in [
        (DialogAnswer::Confirmed(true), "It said: fine\n"),
        (
            DialogAnswer::Confirmed(false),
            r#"It said: confirmed: {"confirmed": false, "answered": true}"#,
        ),
        (
            DialogAnswer::Nothing,
            r#"It said: confirmed: {"confirmed": false, "answered": false}"#,
        ),
    ] {
        let mut stage = Stage::new(runs("echo fine"), vec![fault("asks")]);
        stage.session.set_can_ask(true).await.unwrap();
        stage.prompt("go").await;
        let seen = stage
            .until(|kind| matches!(kind, EventKind::DialogAsked { .. }))
            .await;
        let Some(EventKind::DialogAsked { id, dialog }) = seen.kinds.last() else {
            panic!("{seen:?}");
        };
        let message = "bash".to_owned();
        let lasting = None;
        assert_eq!(dialog.kind, DialogKind::Confirm { message, lasting });
        assert!(stage.session.answer_dialog(*id, answer).await.unwrap());
        let seen = stage.settled().await;
        assert_eq!(seen.answer(), said);
        assert_eq!(seen.failures(), []);
    }
}

#[tokio::test]
async fn with_nobody_to_ask_the_default_is_the_answer() {
    let mut stage = Stage::new(runs("echo fine"), vec![fault("asks")]);
    assert_eq!(
        stage.run("go").await.answer(),
        r#"It said: confirmed: {"confirmed": false, "answered": false}"#
    );
}

#[tokio::test]
async fn aborting_withdraws_the_question_that_an_extension_asks() {
    let mut stage = Stage::new(runs("echo fine"), vec![fault("asks")]);
    stage.session.set_can_ask(true).await.unwrap();
    stage.prompt("go").await;
    stage
        .until(|kind| matches!(kind, EventKind::DialogAsked { .. }))
        .await;
    let session = stage.session.clone();
    tokio::spawn(async move { session.abort().await });
    stage
        .until(|kind| matches!(kind, EventKind::DialogClosed { .. }))
        .await;
}

#[tokio::test]
async fn it_hears_of_events_and_of_the_end_of_the_session() {
    let mut stage = Stage::new(runs("echo fine"), vec![fault("listens")]);
    stage.run("go").await;
    stage.session.close().await;
    let heard = std::fs::read_to_string(stage.path("events.txt")).unwrap();
    for event in ["tool_started", "tool_ended", "run_ended", "settled"] {
        assert!(heard.lines().any(|line| line == event), "{event}: {heard}");
    }
    assert_eq!(
        std::fs::read_to_string(stage.path("ended.txt")).unwrap(),
        "ended"
    );
}

/// A parent that gives one task to a subagent, which calls one tool.
fn delegates(tool: &str, arguments: &str) -> String {
    format!(
        r#"
        [[turn]]
        when = {{ system_contains = "as a subagent", last_role = "user" }}
        tool = "{tool}"
        arguments = {arguments}
        [[turn]]
        when = {{ system_contains = "as a subagent" }}
        text = "It got: {{{{last_tool_result}}}}"
        [[turn]]
        tool = "subagent"
        arguments = {{ task = "do it" }}
        [[turn]]
        text = "It said: {{{{last_tool_result}}}}"
        "#
    )
}

#[tokio::test]
async fn what_subagents_do_is_guarded_changed_and_seen_too() {
    let bash = |command: &str| delegates("bash", &format!("{{ command = \"{command}\" }}"));
    for (mode, command, expected) in [
        ("well", "echo forbidden", "It said: It got: it is forbidden"),
        ("well", "echo fine", "It said: It got: fine"),
        ("changes", "echo mine", "It said: It got: seen: changed"),
    ] {
        let mut stage = Stage::with_subagents(&bash(command), vec![fault(mode)]);
        assert_eq!(stage.run("go").await.answer(), expected, "{mode} {command}");
    }
}

#[tokio::test]
async fn the_tools_of_extensions_are_offered_to_subagents_that_may_have_them() {
    let scenario = delegates("echo", "{ text = \"hi\" }");
    let mut stage = Stage::with_subagents(&scenario, vec![fault("well")]);
    assert_eq!(stage.run("go").await.answer(), "It said: It got: hi");

    let agents = |stage: &Stage, tools: &str| {
        let folder = stage.path(".stentor/agents");
        std::fs::create_dir_all(&folder).unwrap();
        let text = format!("---\nname: general\ntools: {tools}\n---\n");
        std::fs::write(folder.join("general.md"), text).unwrap();
    };
    let mut stage = Stage::with_subagents(&scenario, vec![fault("well")]);
    agents(&stage, "echo");
    assert_eq!(stage.run("go").await.answer(), "It said: It got: hi");
    let mut stage = Stage::with_subagents(&scenario, vec![fault("well")]);
    agents(&stage, "read");
    assert_eq!(
        stage.run("go").await.answer(),
        "It said: It got: Tool echo not found"
    );
}

#[tokio::test]
async fn a_question_about_what_a_subagent_does_reaches_the_person() {
    let scenario = delegates("bash", "{ command = \"echo done\" }");
    for (confirmed, expected) in [
        (true, "It said: It got: done"),
        (
            false,
            "It said: It got: confirmed: {\"confirmed\": false, \"answered\": true}",
        ),
    ] {
        let mut stage = Stage::with_subagents(&scenario, vec![fault("asks")]);
        stage.session.set_can_ask(true).await.unwrap();
        stage.prompt("go").await;
        // The first question is about giving the task, the second about what is done for it.
        for yes in [true, confirmed] {
            let seen = stage
                .until(|kind| matches!(kind, EventKind::DialogAsked { .. }))
                .await;
            let Some(EventKind::DialogAsked { id, .. }) = seen.kinds.last() else {
                panic!("{seen:?}");
            };
            let answer = DialogAnswer::Confirmed(yes);
            assert!(stage.session.answer_dialog(*id, answer).await.unwrap());
        }
        assert_eq!(stage.settled().await.answer(), expected);
    }
}
