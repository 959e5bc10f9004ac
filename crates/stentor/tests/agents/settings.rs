//! Agents in the configuration and on the command line.

use std::os::unix::fs::PermissionsExt;

use serde_json::json;
use stentor_client::AgentDialect;

use crate::behind::agent;
use crate::world::{Child, World};

const HELLO: &str = "[[turn]]\ntext = \"Hello from the child.\"\n";

#[test]
fn an_agent_of_the_configuration_is_among_the_models_and_answers() {
    let inner = World::new(HELLO, "");
    let world = World::new("", &agent(&inner, AgentDialect::Omp));
    let models = world.asked(&["models"]);
    assert!(models.contains("+ agent/inner"), "{models}");
    let answer = world.asked(&["-p", "Hi.", "--model", "agent/inner"]);
    assert_eq!(answer, "Hello from the child.\n");
}

#[test]
fn a_folder_brings_no_agent() {
    let inner = World::new(HELLO, "");
    let world = World::new("[[turn]]\ntext = \"Me.\"\n", "");
    world.file(
        "work/.stentor/config.toml",
        &agent(&inner, AgentDialect::Omp),
    );
    let models = world.asked(&["models"]);
    assert!(!models.contains("agent/inner"), "{models}");
    let config = world.asked(&["config"]);
    assert!(
        config.contains("`agents` counts only in your own file"),
        "{config}"
    );
}

#[test]
fn known_agents_on_the_path_are_offered_with_their_entry() {
    let world = World::new("", "");
    let folder = world.path("bin");
    world.file("bin/goose", "#!/bin/sh\ntouch started\n");
    let program = folder.join("goose");
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    let mut command = world.command(&["agents"]);
    let out = command.env("PATH", &folder).output().unwrap();
    let listed = String::from_utf8(out.stdout).unwrap();
    assert_eq!(
        listed,
        "No agents are set up.\n\nFound on the PATH; to use one, add its entry to your \
         configuration:\n\n[agents.goose]\ncommand = [\"goose\", \"acp\"]\ndialect = \"acp\"\n"
    );
    assert!(!world.path("work/started").exists());
}

#[test]
fn a_check_starts_the_agent_and_prints_what_it_can_do() {
    let inner = World::new(HELLO, "");
    let world = World::new("", &agent(&inner, AgentDialect::Acp));
    let report = world.asked(&["agents", "check", "inner"]);
    for line in [
        "agent/inner works.",
        "modes     ask, accept-edits, plan, read-only, all\n",
        "steering                             yes  (by its own word)",
        "follow-ups                           no: a session has one prompt at a time  (by its dialect)",
        "choice of the model                  yes  (tried)",
        "choice of the mode                   yes  (tried)",
        "new session in the same process      yes  (tried)",
        "list of sessions                     yes  (tried)",
        "resuming a session                   yes  (by its own word)",
    ] {
        assert!(report.contains(line), "{line} in {report}");
    }
    // Its model is asked only if there is a prompt.
    assert!(!report.contains("Hello from the child."), "{report}");
    let report = world.asked(&["agents", "check", "inner", "--prompt", "Hi."]);
    for line in [
        "prompt    it has answered\n  Hello from the child.\n",
        "resuming a session                   yes  (tried)",
    ] {
        assert!(report.contains(line), "{line} in {report}");
    }
    let mut broken = world.command(&["agents", "check", "other"]);
    assert_eq!(broken.output().unwrap().status.code(), Some(2));
}

#[test]
fn an_agent_of_the_command_line_answers_an_acp_client_in_the_dialect_its_words_name() {
    for dialect in ["acp", "--mode rpc", "--rpc-edn", "rpc"] {
        let inner = World::new(HELLO, "");
        let world = World::new("", "");
        let program = env!("CARGO_BIN_EXE_stentor");
        let home = inner.path("home");
        let command = format!("env HOME={} '{program}' {dialect}", home.display());
        let mut child: Child = world.child(&["acp", "--agent", &command]);
        let session = child.shake_hands_acp(json!({}), &world.path("work"));
        let prompt = json!({ "sessionId": session, "prompt": [{ "type": "text", "text": "Hi." }] });
        let lines = child.ask_acp(3, "session/prompt", prompt);
        let said = |line: &String| line.contains(r#""text":"Hello from the child.""#);
        assert!(lines.iter().any(said), "{dialect}: {lines:?}");
        child.end();
    }
}

#[test]
fn the_table_in_the_documentation_is_the_one_of_the_program() {
    let page = include_str!("../../../../docs/agents.md");
    let table = stentor_agents::support_table();
    assert!(
        page.contains(&table),
        "docs/agents.md must have this table:\n{table}"
    );
    for known in stentor_agents::KNOWN {
        let command = known.command.join(" ");
        assert!(
            page.contains(&format!("`{command}`")),
            "docs/agents.md lacks {command}"
        );
    }
}

#[test]
fn an_entry_that_names_no_program_or_has_a_bad_name_is_an_error_with_its_line() {
    for (entry, expected) in [
        (
            "[agents.x]\ndialect = \"acp\"\ncommand = []\n",
            "config.toml:4:1: [agents.x] `command` names no program, as in [\"goose\", \"acp\"]",
        ),
        (
            "[agents.x]\ncommand = [\"\"]\ndialect = \"acp\"\n",
            "config.toml:3:1: [agents.x] `command` names no program",
        ),
        (
            "[agents.\"a/b\"]\ncommand = [\"c\"]\ndialect = \"acp\"\n",
            "[agents.a/b] the name of an agent is not empty and has no `/`",
        ),
    ] {
        let world = World::new("", entry);
        let out = world.command(&["models"]).output().unwrap();
        let err = String::from_utf8(out.stderr).unwrap();
        assert!(err.contains(expected), "{err}");
        assert_eq!(out.status.code(), Some(2), "{err}");
    }
}

#[test]
fn an_agent_of_the_command_line_needs_a_command() {
    let world = World::new("", "");
    for command in ["", "  "] {
        let out = world
            .command(&["acp", "--agent", command])
            .output()
            .unwrap();
        let err = String::from_utf8(out.stderr).unwrap();
        assert!(err.contains("there is no command"), "{err}");
        assert_eq!(out.status.code(), Some(2), "{err}");
    }
}
