//! What a client gets that reads strictly, as omp's Python client does (section 1): every frame of
//! varied runs has the roles, fields and words it accepts.

mod answers;
mod frames;
mod reading;
mod shapes;

use serde_json::{Value, json};

use crate::child::Folder;
use reading::{Strict, complaints};

fn folder(scenario: &str) -> Folder {
    let folder = Folder::with(&format!(
        "usage = {{ input = 100, output = 25 }}\non_exhausted = {{ text = \"Done.\" }}\n[model]\nid = \"mock\"\nprices = {{ input = 3, output = 15 }}\n{scenario}"
    ));
    std::fs::create_dir_all(folder.home(".config/stentor")).unwrap();
    std::fs::write(
        folder.home(".config/stentor/config.toml"),
        "[retry]\nbase_delay_ms = 1\n",
    )
    .unwrap();
    folder
}

fn start(folder: &Folder, words: &[&str]) -> Strict {
    let mut all = vec!["--session-dir", "../sessions"];
    all.extend_from_slice(words);
    Strict::of(folder.child(&all))
}

/// What can be asked at any time.
const QUESTIONS: [&str; 13] = [
    "get_state",
    "get_messages",
    "get_session_stats",
    "get_available_models",
    "get_available_thinking_levels",
    "get_available_commands",
    "get_commands",
    "get_entries",
    "get_tree",
    "get_subagents",
    "get_login_providers",
    "get_branch_messages",
    "get_last_assistant_text",
];

fn ask_everything(strict: &mut Strict) {
    for question in QUESTIONS {
        strict.data(json!({ "type": question }));
    }
}

#[test]
fn text_thinking_pictures_and_tools() {
    let folder = folder(
        r#"
        [[turn]]
        steps = [
          { thinking = "First, I think.", chunk_chars = 5, signature = "c2lnbmVk" },
          { redacted_thinking = "b3BhcXVl" },
          { text = "I look.", chunk_chars = 3 },
          { tool = "bash", id = "c1", arguments = { command = "echo one; echo two" }, chunk_chars = 6 },
          { tool = "read", id = "c2", arguments = { path = "picture.png" } },
          { tool = "bash", id = "c3", arguments_json = ['{"comm'] },
          { tool = "nothing", id = "c4", arguments = {} },
        ]
        "#,
    );
    let png = "\u{89}PNG\r\n\u{1a}\n";
    std::fs::write(
        folder.work("picture.png"),
        png.chars().map(|byte| byte as u8).collect::<Vec<u8>>(),
    )
    .unwrap();
    let mut strict = start(&folder, &[]);
    ask_everything(&mut strict);
    let image = json!([{"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}]);
    strict
        .child
        .send(json!({"id": "p", "type": "prompt", "message": "look", "images": image}));
    strict.until(|frame| frame["type"] == "agent_settled");
    ask_everything(&mut strict);
    strict.has_read(&[
        "thinking_start",
        "thinking_delta",
        "thinking_end",
        "text_start",
        "text_delta",
        "text_end",
        "toolcall_start",
        "toolcall_delta",
        "toolcall_end",
        "tool_execution_start",
        "tool_execution_end",
        "user",
        "assistant",
        "toolResult",
        "turn_end",
        "agent_end",
        "prompt_result",
        "session_settled",
    ]);
    strict.data(json!({"type": "get_messages_page", "limit": 2}));
}

#[test]
fn steering_follow_ups_and_aborts() {
    let folder = folder(
        r#"
        [[turn]]
        steps = [
          { tool = "bash", id = "c1", arguments = { command = "echo begun; until [ -e go ]; do sleep 0.01; done" } },
          { tool = "bash", id = "c2", arguments = { command = "echo skipped" } },
        ]
        [[turn]]
        text = "Something else."
        [[turn]]
        steps = [{ text = "Well" }, { hang = true }]
        "#,
    );
    let mut strict = start(&folder, &[]);
    strict.say("go");
    strict.until(|frame| frame["type"] == "tool_execution_update");
    strict.data(json!({"type": "steer", "message": "something else"}));
    strict.data(json!({"type": "follow_up", "message": "and then"}));
    ask_everything(&mut strict);
    folder.file("go", "");
    strict.until(|frame| frame["assistantMessageEvent"]["delta"] == "Well");
    strict.data(json!({"type": "follow_up", "message": "later"}));
    strict.data(json!({"type": "abort"}));
    ask_everything(&mut strict);
    strict.data(json!({"type": "abort_and_prompt", "message": "now"}));
    strict.until(|frame| frame["type"] == "agent_settled");
    strict.has_read(&["queue_update", "tool_execution_update", "prompt_result"]);
}

#[test]
fn retries_and_failures() {
    let folder = folder(
        r#"
        [[turn]]
        error = { kind = "overloaded", message = "busy" }
        [[turn]]
        steps = [{ text = "I begin" }, { error = "broken_stream" }]
        [[turn]]
        text = "At last."
        [[turn]]
        error = { kind = "invalid_request", message = "no such thing", status = 400 }
        [[turn]]
        steps = [{ tool = "bash", id = "c1", arguments_json = ['{"command":'] }, { error = "broken_stream" }]
        "#,
    );
    let mut strict = start(&folder, &[]);
    strict.prompt("try");
    strict.prompt("fail");
    strict.data(json!({"type": "set_auto_retry", "enabled": false}));
    strict.prompt("fail in a call");
    ask_everything(&mut strict);
    strict.has_read(&["auto_retry_start", "auto_retry_end"]);
    let refused = strict.ask(json!({"type": "set_model", "provider": "no", "modelId": "no"}));
    assert_eq!(refused["success"], false);
}

#[test]
fn compactions_and_commands_of_the_user() {
    let folder = folder(
        r#"
        [[turn]]
        text = "One."
        [[turn]]
        text = "Two."
        [[turn]]
        error = "context_overflow"
        [[turn]]
        text = "Three."
        [compaction]
        summary = "They counted."
        "#,
    );
    let mut strict = start(&folder, &[]);
    for text in ["one", "two"] {
        strict.prompt(text);
    }
    strict.data(json!({"type": "bash", "command": "echo out; exit 3"}));
    strict.data(json!({"type": "compact"}));
    // Nothing was counted since.
    ask_everything(&mut strict);
    strict.prompt("three");
    strict
        .child
        .send(json!({"id": "b", "type": "bash", "command": "echo begun; sleep 60"}));
    strict.until(|frame| frame["type"] == "bash_execution_update" && frame["id"] == "b");
    strict.data(json!({"type": "abort_bash"}));
    ask_everything(&mut strict);
    strict.has_read(&[
        "auto_compaction_start",
        "auto_compaction_end",
        "bash_execution_update",
    ]);
    let roles = strict.data(json!({"type": "get_messages"}));
    assert_eq!(roles["messages"][0]["role"], "compactionSummary");
}

#[test]
fn rules_reminders_models_and_levels() {
    let folder = folder(
        r#"
        thinking_levels = ["off", "low", "high"]
        [[turn]]
        steps = [{ text = "x.unwrap() it is" }, { hang = true }]
        "#,
    );
    folder.file(
        ".omp/rules/no-unwrap.md",
        "---\ncondition: '\\.unwrap\\(\\)'\n---\nUse `?`.\n",
    );
    folder.file(".stentor/prompts/greet.md", "Hello");
    folder.file(
        ".stentor/skills/pdf/SKILL.md",
        "---\nname: pdf\ndescription: Works with PDFs\n---\nDo it.\n",
    );
    folder.file(
        ".stentor/agents/tester.md",
        "---\nname: tester\ndescription: Tests\n---\nYou test.\n",
    );
    std::fs::create_dir_all(folder.home(".pi/agent")).unwrap();
    std::fs::write(
        folder.home(".pi/agent/models.json"),
        r#"{"providers":{"local":{"baseUrl":"http://127.0.0.1:9/v1","api":"openai-completions","apiKey":"k","models":[{"id":"small"},{"id":"big","reasoning":true,"input":["text","image"],"contextWindow":1000,"maxTokens":10}]}}}"#,
    )
    .unwrap();
    let mut strict = start(&folder, &[]);
    let todos = json!([{"name": "Plan", "tasks": [{"id": "t", "content": "x", "status": "pending", "notes": null}]}]);
    strict.data(json!({"type": "set_todos", "phases": todos}));
    strict.prompt("write");
    strict.has_read(&["ttsr_triggered", "developer", "todo_reminder"]);
    strict.has_read(&["available_commands_update"]);
    let models = strict.data(json!({"type": "get_available_models"}));
    for model in models["models"].as_array().unwrap() {
        let chosen =
            json!({"type": "set_model", "provider": model["provider"], "modelId": model["id"]});
        strict.data(chosen);
        strict.data(json!({"type": "cycle_thinking_level"}));
        strict.data(json!({"type": "cycle_model"}));
        ask_everything(&mut strict);
    }
    for level in ["off", "minimal", "low", "medium", "high", "xhigh", "max"] {
        strict.ask(json!({"type": "set_thinking_level", "level": level}));
        strict.data(json!({"type": "get_state"}));
    }
    strict.has_read(&["thinking_level_changed"]);
}

#[test]
fn subagents() {
    let folder = folder(
        r#"
        [[turn]]
        when = { system_contains = "as a subagent", last_user_contains = "wait" }
        steps = [{ thinking = "Hm." }, { tool = "bash", id = "in-1", arguments = { command = "until [ -e go ]; do sleep 0.01; done" } }]
        [[turn]]
        when = { system_contains = "as a subagent", last_user_contains = "fail" }
        error = { kind = "invalid_request", message = "no" }
        [[turn]]
        when = { system_contains = "as a subagent" }
        text = "I am done."
        [[turn]]
        steps = [{ tool = "subagent", id = "out-1", arguments = { tasks = [{ task = "wait" }, { task = "fail" }] } }]
        "#,
    );
    let mut strict = start(&folder, &[]);
    strict.data(json!({"type": "set_subagent_subscription", "level": "events"}));
    strict.say("go");
    let begun = strict.until(|frame| frame["payload"]["event"]["type"] == "tool_execution_start");
    let id = &begun["payload"]["id"];
    strict.data(json!({"type": "get_subagents"}));
    strict.data(json!({"type": "steer_subagent", "subagentId": id, "message": "something else"}));
    strict.data(json!({"type": "get_subagent_messages", "subagentId": id}));
    folder.file("go", "");
    strict.until(|frame| frame["type"] == "agent_settled");
    strict.data(json!({"type": "get_subagent_messages", "subagentId": id}));
    strict.has_read(&["subagent_lifecycle", "subagent_progress", "subagent_event"]);
}

#[test]
fn tools_and_addresses_of_the_client() {
    let folder = folder(
        r#"
        [[turn]]
        steps = [
          { tool = "echo", id = "c1", arguments = { message = "hello" } },
          { tool = "read", id = "c2", arguments = { path = "issue://1" } },
          { tool = "echo", id = "c3", arguments = {} },
        ]
        "#,
    );
    let mut strict = start(&folder, &[]);
    // As the Python client writes it: what is not given is null.
    let tool = json!({"name": "echo", "label": null, "description": "Echoes", "parameters": {"type": "object"}, "hidden": false, "loadMode": null, "readsSkillUris": false});
    strict.data(json!({"type": "set_host_tools", "tools": [tool]}));
    strict.data(json!({"type": "set_host_uri_schemes", "schemes": [{"scheme": "issue", "writable": false, "immutable": false}]}));
    strict.say("go");
    let call = strict.until(|frame| frame["type"] == "host_tool_call");
    let text = |text: &str| json!({"content": [{"type": "text", "text": text}]});
    strict.child.send(
        json!({"type": "host_tool_update", "id": call["id"], "partialResult": text("almost")}),
    );
    strict.until(|frame| frame["type"] == "tool_execution_update");
    let picture = json!({"content": [{"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}], "details": null});
    strict
        .child
        .send(json!({"type": "host_tool_result", "id": call["id"], "result": picture}));
    let request = strict.until(|frame| frame["type"] == "host_uri_request");
    strict.child.send(json!({"type": "host_uri_result", "id": request["id"], "content": "{}", "contentType": "application/json", "notes": ["n"]}));
    strict.until(|frame| frame["type"] == "host_tool_call");
    strict.data(json!({"type": "abort"}));
    strict.has_read(&["host_tool_cancel", "tool_execution_end"]);
    ask_everything(&mut strict);
}

#[test]
fn questions_and_what_extensions_show() {
    let folder = folder(
        r#"
        [[turn]]
        steps = [{ tool = "demo", id = "c1", arguments = { what = "show" } }]
        [[turn]]
        steps = [{ tool = "demo", id = "c2", arguments = { what = "ask" } }]
        [[turn]]
        steps = [{ tool = "demo", id = "c3", arguments = { what = "ask in vain" } }]
        [[turn]]
        steps = [{ tool = "demo", id = "c4", arguments = { what = "keep" } }]
        [[turn]]
        steps = [{ tool = "bash", id = "c5", arguments = { command = "true" } }]
        [[turn]]
        steps = [{ tool = "demo", id = "c6", arguments = { what = "die" } }]
        "#,
    );
    let demo = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/omp/extensions/demo.py");
    let mut strict = start(&folder, &["--extension", demo, "--permission-mode", "ask"]);
    strict.say("go");
    loop {
        let frame = strict.until(|frame| {
            frame["type"] == "agent_settled" || frame["type"] == "extension_ui_request"
        });
        let mut answer = match frame["method"].as_str() {
            // Those of "ask in vain" have a limit and get no answer.
            Some("confirm" | "select" | "input") if !frame["timeout"].is_null() => continue,
            Some("confirm") => json!({"confirmed": true}),
            Some("select") => json!({"value": frame["options"][0]}),
            Some("input" | "editor") => json!({"value": "x"}),
            Some(_) => continue,
            None => break,
        };
        answer["type"] = json!("extension_ui_response");
        answer["id"] = frame["id"].clone();
        strict.child.send(answer);
    }
    strict.has_read(&[
        "select",
        "confirm",
        "input",
        "editor",
        "notify",
        "setStatus",
        "setWidget",
        "setTitle",
        "set_editor_text",
        "cancel",
        "extension_error",
    ]);
}

#[test]
fn conversations_that_others_began() {
    let folder = folder("");
    let line = |line: Value| format!("{line}\n");
    let message = |id: &str, parent: Option<&str>, message: Value| {
        line(
            json!({"type": "message", "id": id, "parentId": parent, "timestamp": "2026-01-01T00:00:00.000Z", "message": message}),
        )
    };
    let said = |text: &str| json!({"role": "user", "content": text, "timestamp": 1});
    let mut file = line(
        json!({"type": "session", "version": 3, "id": "s", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": folder.work("")}),
    );
    file += &message("00000001", None, said("a text, not a list"));
    // Newer pi keeps what omp's clients do not know.
    file += &message(
        "00000002",
        Some("00000001"),
        json!({"role": "system", "content": "be kind", "timestamp": 2}),
    );
    file += &message(
        "00000003",
        Some("00000002"),
        json!({"role": "holographic", "content": [], "timestamp": 3}),
    );
    file += &line(
        json!({"type": "custom_message", "id": "00000004", "parentId": "00000003", "timestamp": "2026-01-01T00:00:00.000Z", "customType": "note", "content": "a note", "display": true}),
    );
    file += &line(
        json!({"type": "branch_summary", "id": "00000005", "parentId": "00000004", "timestamp": "2026-01-01T00:00:00.000Z", "fromId": "00000001", "summary": "another way"}),
    );
    file += &line(
        json!({"type": "thinking_level_change", "id": "00000006", "parentId": "00000005", "timestamp": "2026-01-01T00:00:00.000Z", "thinkingLevel": "inherit"}),
    );
    folder.file("old.jsonl", &file);
    let mut strict = start(&folder, &[]);
    strict.data(json!({"type": "switch_session", "sessionPath": "old.jsonl"}));
    ask_everything(&mut strict);
    strict.prompt("go on");
    let messages = strict.data(json!({"type": "get_messages"}));
    let roles: Vec<&str> = messages["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["role"].as_str().unwrap())
        .collect();
    assert_eq!(
        roles,
        ["user", "custom", "branchSummary", "user", "assistant"]
    );
    let state = strict.data(json!({"type": "get_state"}));
    assert_eq!(state["messageCount"], 5);
    let page = strict.data(json!({"type": "get_messages_page"}));
    assert_eq!(page["totalMessages"], 5);
    strict.data(json!({"type": "clone"}));
    strict.data(json!({"type": "new_session"}));
    ask_everything(&mut strict);
}

/// The rules would notice.
#[test]
fn what_a_strict_client_refuses_is_found() {
    let assistant = json!({
        "role": "assistant", "content": [], "api": "a", "provider": "p", "model": "m",
        "usage": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0,
            "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}},
        "stopReason": "stop", "timestamp": 1,
    });
    let with = |pointer: &str, value: Value| {
        let mut frame = json!({
            "type": "message_update", "messageId": "msg-1", "usage": assistant["usage"], "message": assistant,
            "assistantMessageEvent": {"type": "text_delta", "contentIndex": 0, "delta": "x", "partial": assistant},
        });
        *frame.pointer_mut(pointer).unwrap() = value;
        frame
    };
    let none: Vec<String> = Vec::new();
    assert_eq!(complaints(&with("/messageId", json!("msg-2"))), none);
    for (frame, complaint) in [
        (
            with("/type", json!("hologram")),
            "/type: nobody knows \"hologram\"",
        ),
        (with("/message/role", json!("system")), "/message is {"),
        (
            with("/assistantMessageEvent/partial", json!(null)),
            "/assistantMessageEvent/partial is missing",
        ),
        (
            with("/assistantMessageEvent/partial/role", json!("user")),
            "/assistantMessageEvent/partial is {",
        ),
        (
            with("/assistantMessageEvent/delta", json!(1)),
            "/assistantMessageEvent/delta is 1",
        ),
        (
            with("/assistantMessageEvent/type", json!("text")),
            "/assistantMessageEvent/type: nobody",
        ),
        (
            with("/message/stopReason", json!("pending")),
            "/message/stopReason is \"pending\"",
        ),
        (
            with("/message/content", json!([{"type": "image"}])),
            "/message/content/0 is {",
        ),
        (
            json!({"type": "response", "command": "get_state", "success": true, "data": {"thinkingLevel": "inherit"}}),
            "/data/thinkingLevel is \"inherit\"",
        ),
        (
            json!({"type": "response", "command": "get_available_models", "success": true, "data": {"models": [{"thinking": {"efforts": "all"}}]}}),
            "/data/models/0/thinking/efforts is \"all\"",
        ),
    ] {
        let found = complaints(&frame);
        assert!(
            found.iter().any(|found| found.starts_with(complaint)),
            "{complaint:?} is not among {found:?}"
        );
    }
}
