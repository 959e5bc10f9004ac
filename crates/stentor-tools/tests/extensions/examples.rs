//! The examples that come with the program.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::json;
use stentor_agent::dialog::{DialogAnswer, DialogKind};
use stentor_agent::event::EventKind;
use stentor_model::script::Scenario;
use stentor_tools::extension::{ExtensionSpec, probe};

use crate::stage::{Stage, python, runs};

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../examples/extensions")
        .join(name)
}

fn guard() -> ExtensionSpec {
    python("guard", &example("guard.py"))
}

fn line_count() -> ExtensionSpec {
    let script = example("line_count.js").display().to_string();
    let mut spec = ExtensionSpec::new("line_count", vec!["node".to_owned(), script]);
    spec.start_timeout = Duration::from_secs(20);
    spec
}

#[tokio::test]
async fn the_guard_asks_before_a_dangerous_command_and_only_then() {
    for (command, yes, said) in [
        ("echo harmless", None, "harmless\n"),
        ("rm -rf build && echo gone", Some(true), "gone\n"),
        (
            "rm -rf build && echo gone",
            Some(false),
            "The user did not allow this command: it removes files for good.",
        ),
        (
            "rm --recursive --force build",
            Some(false),
            "The user did not allow this command: it removes files for good.",
        ),
        (
            "rm build -rf",
            Some(false),
            "The user did not allow this command: it removes files for good.",
        ),
        (
            "rm -v --rec build",
            Some(false),
            "The user did not allow this command: it removes files for good.",
        ),
        ("touch a-f && rm a-f; echo gone -rf", None, "gone -rf\n"),
    ] {
        let mut stage = Stage::new(runs(command), vec![guard()]);
        stage.session.set_can_ask(true).await.unwrap();
        stage.prompt("go").await;
        if let Some(yes) = yes {
            let seen = stage
                .until(|kind| matches!(kind, EventKind::DialogAsked { .. }))
                .await;
            let Some(EventKind::DialogAsked { id, dialog }) = seen.kinds.last() else {
                panic!("{seen:?}");
            };
            assert_eq!(dialog.title, "Dangerous command");
            let DialogKind::Confirm { message, .. } = &dialog.kind else {
                panic!("{dialog:?}");
            };
            assert!(message.contains(command), "{message}");
            let answer = DialogAnswer::Confirmed(yes);
            stage.session.answer_dialog(*id, answer).await.unwrap();
        }
        let seen = stage.settled().await;
        assert_eq!(seen.answer(), format!("It said: {said}"));
        let asked = seen
            .kinds
            .iter()
            .any(|kind| matches!(kind, EventKind::DialogAsked { .. }));
        assert!(!asked);
        assert_eq!(seen.failures(), []);
    }
}

#[tokio::test]
async fn the_line_count_counts_and_says_how_far_it_is() {
    let scenario = Scenario::new()
        .tool("line_count", json!({}))
        .text("{{last_tool_result}}");
    let mut stage = Stage::new(scenario, vec![line_count()]);
    std::fs::write(stage.path("a.txt"), "1\n2\n").unwrap();
    std::fs::write(stage.path("b.txt"), "3\n").unwrap();
    std::fs::write(stage.path("c.md"), "4\n").unwrap();
    let seen = stage.run("go").await;
    assert_eq!(seen.answer(), ".txt: 3 lines\n.md: 1 lines");
    let reported = seen.kinds.iter().any(|kind| match kind {
        EventKind::ToolProgress { partial, .. } => {
            partial.content[0].as_text() == Some("1 of 3 files")
        }
        _ => false,
    });
    assert!(reported);
}

#[tokio::test]
async fn an_extension_can_be_tried_out_without_a_session() {
    let folder = tempfile::tempdir().unwrap();
    let probed = probe(line_count(), folder.path()).await.unwrap();
    let names: Vec<&str> = probed.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["line_count"]);
    let probed = probe(guard(), folder.path()).await.unwrap();
    assert_eq!(probed.hooks, ["tool/before"]);
    let mut missing = guard();
    missing.command = vec!["no-such-program".to_owned()];
    assert!(probe(missing, folder.path()).await.is_err());
}
