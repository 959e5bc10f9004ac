//! Rules that watch the stream, and reminders of what is to do (section 8).

use expect_test::expect;
use serde_json::{Value, json};

use crate::child::{Folder, shown};

fn story(frames: &[Value], folder: &Folder) -> String {
    let told: Vec<Value> = frames
        .iter()
        .filter(|frame| {
            let kind = frame["type"].as_str().unwrap();
            matches!(
                kind,
                "message_end"
                    | "ttsr_triggered"
                    | "todo_reminder"
                    | "agent_start"
                    | "turn_start"
                    | "prompt_result"
            )
        })
        .cloned()
        .collect();
    shown(&told, folder)
}

#[test]
fn a_rule_stops_the_stream_goes_in_and_lets_it_go_on_once() {
    let folder = Folder::with(
        r#"
        [model]
        id = "mock"
        [[turn]]
        steps = [{ text = ["I write x.unw", "rap() here", " and go on"] }, { hang = true }]
        [[turn]]
        text = "I write x? and never x.unwrap() again."
        "#,
    );
    folder.file(
        ".omp/rules/no-unwrap.md",
        "---\ndescription: Errors are values\ncondition: '\\.unwrap\\(\\)'\n---\nUse `?`.\n",
    );
    let mut child = folder.child(&["--no-session"]);
    let frames = child.prompt("write");
    expect![[r#"
        {"type":"agent_start"}
        {"type":"turn_start"}
        {"type":"message_end","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"write"}],"timestamp":"TIME"}}
        {"type":"ttsr_triggered","rules":[{"name":"no-unwrap","path":"ROOT/work/.omp/rules/no-unwrap.md","content":"Use `?`.","description":"Errors are values","condition":["\\.unwrap\\(\\)"],"_source":{"provider":"stentor","providerName":"Stentor","path":"ROOT/work/.omp/rules/no-unwrap.md","level":"project"}}]}
        {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"text","text":"I write x.unwrap() here"}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"aborted","errorMessage":"Stopped by a rule: no-unwrap","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"turn_start"}
        {"type":"message_end","messageId":"msg-3","message":{"role":"developer","content":[{"type":"text","text":"<system-reminder>\nYour answer was stopped because it goes against a rule of the user. Go on from where you were, and follow the rule.\n\n## no-unwrap\nUse `?`.\n</system-reminder>"}],"attribution":"agent","synthetic":true,"timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-4","message":{"role":"assistant","content":[{"type":"text","text":"I write x? and never x.unwrap() again."}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"prompt_result","id":"prompt","agentInvoked":true,"status":"completed","sessionSettled":true}
    "#]].assert_eq(&story(&frames, &folder));
}

#[test]
fn a_run_that_stops_with_things_to_do_is_reminded_three_times() {
    let folder = Folder::with(
        "on_exhausted = \"repeat-last\"\n[model]\nid = \"mock\"\n[[turn]]\ntext = \"Done.\"",
    );
    let mut child = folder.child(&["--no-session"]);
    let phases = json!([{"name": "Plan", "tasks": [
        {"content": "one", "status": "completed"}, {"content": "two", "status": "in_progress"},
    ]}]);
    let set = child.data(json!({"type": "set_todos", "phases": phases}));
    assert_eq!(set, json!({"todoPhases": phases}));
    assert_eq!(
        child.data(json!({"type": "get_state"}))["todoPhases"],
        phases
    );
    let frames = child.prompt("go");
    let reminders: Vec<Value> = frames
        .iter()
        .filter(|frame| frame["type"] == "todo_reminder")
        .cloned()
        .collect();
    expect![[r#"
        {"type":"todo_reminder","todos":[{"id":"task-2","content":"two","status":"in_progress"}],"attempt":1,"maxAttempts":3}
        {"type":"todo_reminder","todos":[{"id":"task-2","content":"two","status":"in_progress"}],"attempt":2,"maxAttempts":3}
        {"type":"todo_reminder","todos":[{"id":"task-2","content":"two","status":"in_progress"}],"attempt":3,"maxAttempts":3}
    "#]].assert_eq(&shown(&reminders, &folder));
    child.data(json!({"type": "set_todos", "phases": []}));
    assert!(
        child
            .prompt("again")
            .iter()
            .all(|frame| frame["type"] != "todo_reminder")
    );
}

/// The list of todos after something in it was done and left it, and what was told of that.
fn cleared(config: &str, omp: &str, phases: Value) -> (Vec<Value>, Value) {
    let folder = Folder::with("[model]\nid = \"mock\"\n[[turn]]\ntext = \"Hello.\"");
    folder.file("../home/.config/stentor/config.toml", config);
    folder.file("../home/.omp/agent/config.yml", omp);
    let mut child = folder.child(&["--no-session"]);
    child.send(json!({"id": "t", "type": "set_todos", "phases": phases}));
    let mut frames = child.until_all(&[
        &|frame: &Value| frame["type"] == "todo_auto_clear",
        &|frame: &Value| frame["id"] == "t",
    ]);
    frames.retain(|frame| frame["id"] != "t");
    let left = child.data(json!({"type": "get_state"}))["todoPhases"].take();
    (frames, left)
}

#[test]
fn what_is_done_leaves_the_todos_after_a_while_and_an_empty_phase_with_it() {
    let phases = json!([
        {"name": "One", "tasks": [{"content": "a", "status": "completed"}, {"content": "b", "status": "pending"}]},
        {"name": "Two", "tasks": [{"content": "c", "status": "abandoned"}]},
    ]);
    let left = json!([{"name": "One", "tasks": [{"content": "b", "status": "pending"}]}]);
    let told = vec![json!({"type": "todo_auto_clear"})];
    let own = cleared("todo_clear_after_s = 0\n", "", phases.clone());
    assert_eq!(own, (told.clone(), left.clone()));
    let omps = cleared("", "tasks:\n  todoClearDelay: 0\n", phases);
    assert_eq!(omps, (told, left));
}
