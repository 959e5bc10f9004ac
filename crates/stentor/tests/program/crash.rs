//! The program is killed in the middle of its work, and the session is opened again.

use std::collections::HashSet;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;

use serde_json::Value;

use crate::world::World;

/// Three rounds with a tool whose effect can be counted, then an answer.
const SCENARIO: &str = r#"
on_exhausted = { text = "Nothing is left to do." }
[[turn]]
steps = [{ thinking = "first" }, { text = ["Begin", "ning."] }, { tool = "bash", arguments = { command = "echo one >> log" } }]
[[turn]]
steps = [{ text = "More." }, { tool = "bash", arguments = { command = "echo two >> log" } }, { tool = "bash", arguments = { command = "echo three >> log" } }]
[[turn]]
steps = [{ tool = "read", arguments = { path = "log" } }, { tool = "bash", arguments = { command = "echo four >> log" } }]
[[turn]]
text = "Done."
"#;

#[test]
fn a_kill_at_any_moment_loses_nothing_acknowledged_and_repeats_no_tool() {
    let whole = run_and_kill_after(usize::MAX);
    let lines = whole.lines;
    assert!(
        lines > 40,
        "the run is too short to be worth killing: {lines} lines"
    );
    assert_eq!(whole.log, ["one", "two", "three", "four"]);
    for after in (0..lines).step_by(2) {
        let killed = run_and_kill_after(after);
        let different: HashSet<&String> = killed.log.iter().collect();
        assert_eq!(
            different.len(),
            killed.log.len(),
            "a tool ran twice when killed after {after} lines: {:?}",
            killed.log
        );
    }
}

struct Killed {
    lines: usize,
    log: Vec<String>,
}

/// Runs a prompt, kills the program when it has told so many events, resumes the session, and
/// checks what must hold whenever that was.
fn run_and_kill_after(lines_to_read: usize) -> Killed {
    let world = World::new();
    world.file("work/plan.toml", SCENARIO);
    let words = ["--model", "script/plan.toml", "--json", "-p", "go"];
    let mut child = world
        .command(&words)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let reader = BufReader::new(child.stdout.take().unwrap());
    let mut told: Vec<Value> = Vec::new();
    let mut lines = 0;
    for line in reader.lines().take(lines_to_read) {
        let event: Value = serde_json::from_str(&line.unwrap()).unwrap();
        if event["type"] == "message_ended" {
            told.push(event["message"].clone());
        }
        lines += 1;
    }
    child.kill().unwrap();
    child.wait().unwrap();

    if !told.is_empty() {
        let again = world.run(&["--model", "script/plan.toml", "-c", "-p", "go on"]);
        assert_eq!(again.status, Some(0), "after {lines} lines: {}", again.err);
        let stored = messages_on_disk(&world.work("../home"));
        let mut rest = stored.iter();
        for message in &told {
            assert!(
                rest.any(|stored| stored == message),
                "after {lines} lines this message is missing: {message}"
            );
        }
        check_pairs(&stored, lines);
    }
    let log = std::fs::read_to_string(world.work("log")).unwrap_or_default();
    Killed {
        lines,
        log: log.lines().map(str::to_owned).collect(),
    }
}

/// Every line of the session file is whole, and these are its messages.
fn messages_on_disk(home: &Path) -> Vec<Value> {
    let sessions = home.join(".local/share/stentor/sessions");
    let mut messages = Vec::new();
    let mut files = 0;
    for folder in std::fs::read_dir(sessions).unwrap() {
        for file in std::fs::read_dir(folder.unwrap().path()).unwrap() {
            let path = file.unwrap().path();
            if path.extension().is_none_or(|ending| ending != "jsonl") {
                continue;
            }
            files += 1;
            let text = std::fs::read_to_string(&path).unwrap();
            assert!(text.ends_with('\n'), "the last record is torn: {text}");
            for line in text.lines() {
                let entry: Value = serde_json::from_str(line).unwrap();
                if entry["type"] == "message" {
                    messages.push(entry["message"].clone());
                }
            }
        }
    }
    assert_eq!(files, 1, "resuming must go on with the same session");
    messages
}

/// Every call has exactly one result, interrupted or not.
fn check_pairs(messages: &[Value], lines: usize) {
    let results: Vec<&str> = messages
        .iter()
        .filter_map(|message| message["toolCallId"].as_str())
        .collect();
    for message in messages
        .iter()
        .filter(|message| message["role"] == "assistant")
    {
        for block in message["content"].as_array().unwrap() {
            if block["type"] == "toolCall" {
                let id = block["id"].as_str().unwrap();
                let count = results.iter().filter(|result| **result == id).count();
                assert_eq!(count, 1, "call {id} after {lines} lines");
            }
        }
    }
}
