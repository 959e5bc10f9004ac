//! The table of features names commands that there are.

use std::path::Path;

use serde_json::{Value, json};

use crate::world::World;

/// The columns of the table, after the feature itself.
const COLUMNS: [&str; 7] = [
    "terminal",
    "-p",
    "ACP",
    "omp and pi",
    "psi",
    "synaps",
    "page",
];

/// The words in backticks of the cells of one column, and of all cells without one.
fn named(column: Option<&str>) -> Vec<String> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/features.md");
    let page = std::fs::read_to_string(page).unwrap();
    let mut words = Vec::new();
    for row in page.lines().filter(|line| line.starts_with("| ")) {
        let cells: Vec<&str> = row.trim_matches('|').split('|').collect();
        assert_eq!(cells.len(), COLUMNS.len() + 1, "{row}");
        for (cell, name) in cells.iter().skip(1).zip(COLUMNS) {
            if column.is_none_or(|column| column == name) {
                let quoted = cell.split('`').skip(1).step_by(2);
                words.extend(quoted.map(str::to_owned));
            }
        }
    }
    words.sort();
    words.dedup();
    words
}

/// The slash commands that a column names.
fn slash(column: &str) -> Vec<String> {
    let words = named(Some(column)).into_iter();
    let commands: Vec<String> = words
        .filter(|word| word.starts_with('/') && !word.starts_with("/mcp__"))
        .collect();
    assert!(!commands.is_empty(), "{column}");
    commands
}

#[test]
fn every_program_command_that_it_names_has_a_help() {
    let world = World::new("", "");
    let commands = named(None).into_iter();
    for command in commands.filter(|word| word.starts_with("stentor ")) {
        let words: Vec<&str> = command.split(' ').skip(1).collect();
        let help = world.asked(&[&words[..], &["--help"]].concat());
        assert!(help.contains("Usage:"), "{command}: {help}");
    }
}

#[test]
fn every_slash_command_that_it_names_is_one_in_its_dialect() {
    let world = World::new("[[turn]]\ntext = \"I am the model.\"\n", "");
    let mut omp = world.omp();
    omp.send(r#"{"id":"l","type":"get_available_commands"}"#);
    let listed = omp
        .until(|line| line.contains("\"id\":\"l\""))
        .pop()
        .unwrap();
    for command in slash("omp and pi") {
        let name = format!("\"name\":{:?}", command.trim_start_matches('/'));
        assert!(listed.contains(&name), "{command}: {listed}");
    }
    omp.end();

    let mut psi = world.psi();
    psi.ask_psi("t", "subscribe", r#"{:topics ["command-result"]}"#);
    psi.send(r#"{:id "c" :kind :request :op "command" :params {:text "/help"}}"#);
    let help = psi.until(|line| line.contains("command-result")).pop();
    let help = help.unwrap();
    for command in slash("psi") {
        assert!(help.contains(&command), "{command}: {help}");
    }
    psi.end();

    let (mut acp, _) = world.acp(json!({}));
    let is_list = |line: &str| line.contains("available_commands_update");
    let listed = acp.until(is_list).pop().unwrap();
    for command in slash("ACP") {
        let name = format!("\"name\":{:?}", command.trim_start_matches('/'));
        assert!(listed.contains(&name), "{command}: {listed}");
    }
    acp.end();

    let mut synaps = world.synaps();
    for command in slash("synaps") {
        let prompt = json!({ "type": "prompt", "id": "p", "message": command });
        synaps.send(&prompt.to_string());
        let lines = synaps.until(|line| line.contains("\"id\":\"p\""));
        assert!(!lines.concat().contains("I am the model"), "{command}");
    }
    synaps.end();
}

#[test]
fn every_method_of_acp_that_it_names_is_known() {
    let world = World::new("", "");
    let (mut acp, session) = world.acp(json!({}));
    let methods = named(Some("ACP")).into_iter();
    let ours = |method: &String| {
        let asked_of_client = ["session/request_permission", "elicitation/create"];
        let is_method = method.starts_with("session/") || method == "logout";
        is_method && !asked_of_client.contains(&method.as_str())
    };
    for (number, method) in methods.filter(ours).enumerate() {
        let id = 100 + number as u64;
        let params = json!({ "sessionId": session });
        let answer = acp.ask_acp(id, &method, params).pop().unwrap();
        let answer: Value = serde_json::from_str(&answer).unwrap();
        assert_ne!(answer["error"]["code"], -32601, "{method}: {answer}");
    }
    acp.end();
}
