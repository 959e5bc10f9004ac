//! Files and terminals of a child that speaks ACP: the tools of the session see to them, under its
//! policy and in its sandbox.

use serde_json::{Value, json};
use stentor_client::{AgentDialect, AgentEvent, ChildAgent, Events};

use crate::acp_child::{Steps, answers, start, world};
use crate::shown::{Answering, options, turn, until};

fn result(id: &str, result: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "result": result })
}

fn refused(id: &str, why: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32603, "message": why } })
}

/// What the child was offered in its handshake.
fn offered(world: &crate::world::World) -> Value {
    let hello = std::fs::read_to_string(world.path("work/hello")).unwrap();
    let hello: Value = serde_json::from_str(&hello).unwrap();
    let capabilities = &hello["params"]["clientCapabilities"];
    json!([capabilities["fs"], capabilities["terminal"]])
}

/// Asks what a terminal shows until a word is in it.
fn until_written(word: &str, terminal: u64) -> String {
    let params = json!({ "sessionId": "s", "terminalId": format!("term_{terminal}") });
    let frame =
        json!({ "jsonrpc": "2.0", "id": "o", "method": "terminal/output", "params": params });
    format!("until grep -q {word} answers; do ask '{frame}'; done")
}

async fn completed(events: &mut Events) -> Vec<String> {
    let lines = turn(events).await;
    let end = lines.last().map(String::as_str);
    assert_eq!(end, Some("end Completed 0+0"), "{lines:?}");
    lines
}

#[tokio::test]
async fn files_are_read_by_lines_and_written_once_they_are_permitted() {
    let world = world("", |work| {
        let file = |name: &str| format!("{work}/{name}");
        Steps::default()
            .shell("seq 1 3000 > long; printf 'one\\r\\ntwo\\n\\nfour' > short")
            .ask(
                "fs/read_text_file",
                json!({ "sessionId": "s", "path": file("short") }),
            )
            .ask(
                "fs/read_text_file",
                json!({ "sessionId": "s", "path": file("short"), "line": 2, "limit": 2 }),
            )
            .ask(
                "fs/read_text_file",
                json!({ "sessionId": "s", "path": file("short"), "line": 9 }),
            )
            .ask(
                "fs/read_text_file",
                json!({ "sessionId": "s", "path": file("short"), "limit": 0 }),
            )
            .ask(
                "fs/read_text_file",
                json!({ "sessionId": "s", "path": "short" }),
            )
            .ask(
                "fs/write_text_file",
                json!({ "sessionId": "s", "path": file("deep/new"), "content": "x\n" }),
            )
            .ask(
                "fs/read_text_file",
                json!({ "sessionId": "s", "path": file("long") }),
            )
    });
    let host = Answering::default();
    let (agent, mut events) = start(&world, &[], host.clone()).await;
    agent.prompt("Go on.").await.unwrap();
    completed(&mut events).await;
    let mut answers = answers(&world);
    let long = answers.pop().unwrap();
    let expected: String = (1..=3000).map(|n| format!("{n}\n")).collect();
    assert_eq!(long["result"]["content"], expected);
    assert_eq!(
        answers,
        [
            result("c1", json!({ "content": "one\r\ntwo\n\nfour" })),
            result("c2", json!({ "content": "two\n\n" })),
            result("c3", json!({ "content": "" })),
            result("c4", json!({ "content": "" })),
            refused("c5", "the path is not absolute"),
            result("c6", json!({})),
        ]
    );
    let written = std::fs::read_to_string(world.path("work/deep/new")).unwrap();
    assert_eq!(written, "x\n");
    let asked = host.asked.lock().unwrap().clone();
    let path = world.path("work/deep/new");
    let write = format!(
        r#"Some("write") {{"path":"{}","content":"x\n"}}"#,
        path.display()
    );
    assert_eq!(asked, [write]);
    let all = json!([{ "readTextFile": true, "writeTextFile": true }, true]);
    assert_eq!(offered(&world), all);
}

#[tokio::test]
async fn a_terminal_runs_in_bash_and_is_shown_with_its_call() {
    let shown = json!([{ "type": "terminal", "terminalId": "term_1" }]);
    let world = world("", |_| {
        let call = json!({
            "sessionUpdate": "tool_call", "toolCallId": "t", "title": "Count", "kind": "execute",
            "status": "in_progress", "rawInput": { "command": "count" },
        });
        let started = json!({
            "sessionUpdate": "tool_call_update", "toolCallId": "t", "content": shown,
        });
        let ended = json!({
            "sessionUpdate": "tool_call_update", "toolCallId": "t", "status": "completed",
        });
        let terminal = json!({ "sessionId": "s", "terminalId": "term_1" });
        Steps::default()
            .update(call)
            .ask(
                "terminal/create",
                json!({
                    "sessionId": "s", "command": "printf", "args": ["one\\ntwo\\n%s", "it is"],
                    "env": [{ "name": "A", "value": "b c" }], "outputByteLimit": 8,
                }),
            )
            .update(started)
            .ask("terminal/wait_for_exit", terminal.clone())
            .ask("terminal/output", terminal.clone())
            .ask("terminal/release", terminal.clone())
            .ask("terminal/output", terminal.clone())
            .update(ended)
    });
    let host = Answering::default();
    let (agent, mut events) = start(&world, &[], host.clone()).await;
    agent.prompt("Go on.").await.unwrap();
    let lines = completed(&mut events).await;
    assert_eq!(lines.len(), 5, "{lines:?}");
    let end = "ended t [The beginning of the output is not shown.]\nwo\nit is";
    assert!(lines.contains(&end.to_owned()), "{lines:?}");
    let exit = json!({ "exitCode": 0, "signal": null });
    assert_eq!(
        answers(&world),
        [
            result("c1", json!({ "terminalId": "term_1" })),
            result("c2", exit.clone()),
            result(
                "c3",
                json!({ "output": "wo\nit is", "truncated": true, "exitStatus": exit })
            ),
            result("c4", json!({})),
            refused("c5", "there is no terminal \"term_1\""),
        ]
    );
    let asked = host.asked.lock().unwrap().clone();
    let command = r#"export A='b c' && printf 'one\\ntwo\\n%s' 'it is'"#;
    assert_eq!(
        asked,
        [format!(r#"Some("bash") {{"command":"{command}"}}"#)]
    );
}

#[tokio::test]
async fn what_is_denied_is_denied_however_the_child_asks() {
    let config = r#"
[[permissions]]
tool = "bash"
command = "rm *"
decision = "deny"
[[permissions]]
tool = "write"
path = "kept"
decision = "deny"
[[permissions]]
tool = "read"
path = "secret"
decision = "deny"
"#;
    let world = world(config, |work| {
        let permission = |id: &str, kind: &str, input: Value| {
            json!({
                "sessionId": "s", "toolCall": {
                    "toolCallId": id, "title": id, "kind": kind, "status": "pending",
                    "rawInput": input,
                },
                "options": [
                    { "optionId": "yes", "name": "Yes", "kind": "allow_once" },
                    { "optionId": "no", "name": "No", "kind": "reject_once" },
                ],
            })
        };
        let kept = format!("{work}/kept");
        let touch = json!({ "sessionId": "s", "command": "touch", "args": ["made"] });
        let wait = |id: &str| json!({ "sessionId": "s", "terminalId": id });
        Steps::default()
            .shell("echo old > kept; echo hidden > secret")
            // Permitted as a call of the child, under whatever name: our own rules count all the same.
            .ask(
                "session/request_permission",
                permission("a", "edit", json!({ "path": kept })),
            )
            .ask(
                "fs/write_text_file",
                json!({ "sessionId": "s", "path": kept, "content": "new" }),
            )
            .ask(
                "fs/read_text_file",
                json!({ "sessionId": "s", "path": format!("{work}/secret") }),
            )
            .ask(
                "terminal/create",
                json!({ "sessionId": "s", "command": "bash", "args": ["-c", "true && rm kept"] }),
            )
            // What was permitted is not asked about once more.
            .ask(
                "session/request_permission",
                permission("b", "execute", json!({ "command": ["touch", "made"] })),
            )
            .ask("terminal/create", touch)
            .ask("terminal/wait_for_exit", wait("term_1"))
            .ask(
                "terminal/create",
                json!({ "sessionId": "s", "command": "touch other" }),
            )
            .ask("terminal/wait_for_exit", wait("term_2"))
    });
    let host = Answering::default();
    let (agent, mut events) = start(&world, &[], host.clone()).await;
    agent.prompt("Go on.").await.unwrap();
    completed(&mut events).await;
    let outcomes: Vec<bool> = answers(&world)
        .iter()
        .map(|answer| answer.get("result").is_some())
        .collect();
    let expected = [true, false, false, false, true, true, true, true, true];
    assert_eq!(outcomes, expected, "{:?}", answers(&world));
    assert_eq!(
        std::fs::read_to_string(world.path("work/kept")).unwrap(),
        "old\n"
    );
    assert!(world.path("work/made").exists());
    let asked = host.asked.lock().unwrap().clone();
    let tools: Vec<&str> = asked
        .iter()
        .map(|asked| asked.split(' ').next().unwrap())
        .collect();
    // The edit, the first command as the child's call, and the last one: the others were decided.
    assert_eq!(
        tools,
        [r#"Some("edit")"#, r#"Some("execute")"#, r#"Some("bash")"#],
        "{asked:?}"
    );
}

#[tokio::test]
async fn a_permission_to_read_is_none_to_write() {
    let world = world("", |_| {
        let read = json!({
            "sessionId": "s",
            "toolCall": {
                "toolCallId": "a", "title": "Read", "kind": "read", "status": "pending",
                "rawInput": { "path": "/etc/hostname" },
            },
            "options": [{ "optionId": "yes", "name": "Yes", "kind": "allow_once" }],
        });
        Steps::default()
            .ask("session/request_permission", read)
            .ask(
                "fs/write_text_file",
                json!({ "sessionId": "s", "path": "/etc/hostname", "content": "x" }),
            )
    });
    let host = Answering {
        denies_after: Some(1),
        ..Answering::default()
    };
    let (agent, mut events) = start(&world, &[], host.clone()).await;
    agent.prompt("Go on.").await.unwrap();
    completed(&mut events).await;
    let answers = answers(&world);
    assert!(answers[1].get("error").is_some(), "{answers:?}");
    assert_eq!(host.asked.lock().unwrap().len(), 2);
}

#[tokio::test]
async fn what_the_session_has_no_tool_for_is_not_offered() {
    let world = world("", |_| {
        Steps::default().ask(
            "terminal/create",
            json!({ "sessionId": "s", "command": "ls" }),
        )
    });
    let (agent, mut events) = start(&world, &["--tools", "read"], Answering::default()).await;
    agent.prompt("Go on.").await.unwrap();
    completed(&mut events).await;
    let only_reading = json!([{ "readTextFile": true, "writeTextFile": false }, false]);
    assert_eq!(offered(&world), only_reading);
    assert_eq!(answers(&world)[0]["error"]["code"], -32601);
}

#[tokio::test]
async fn an_abort_ends_the_commands_of_a_child_and_its_end_is_answered() {
    let world = world("", |_| {
        let terminal = json!({ "sessionId": "s", "terminalId": "term_1" });
        let chunk = json!({
            "sessionUpdate": "agent_message_chunk", "content": { "type": "text", "text": "On." },
        });
        Steps::default()
            .ask(
                "terminal/create",
                json!({ "sessionId": "s", "command": "exec sleep 600" }),
            )
            .update(chunk)
            .ask("terminal/wait_for_exit", terminal)
            // Then comes the cancel.
            .shell("hear")
    });
    let (agent, mut events) = start(&world, &[], Answering::default()).await;
    agent.prompt("Go on.").await.unwrap();
    until(&mut events, |event| matches!(event, AgentEvent::Text(_))).await;
    agent.abort().await.unwrap();
    turn(&mut events).await;
    // The next prompt is given to the child when it has ended its turn.
    agent.prompt("Once more.").await.unwrap();
    completed(&mut events).await;
    let answers = answers(&world);
    let exit = result("c2", json!({ "exitCode": null, "signal": "SIGTERM" }));
    assert!(answers.contains(&exit), "{answers:?}");
}

#[tokio::test]
async fn commands_end_with_the_session_of_the_child() {
    let world = world("", |_| {
        Steps::default()
            .ask("terminal/create", json!({ "sessionId": "s", "command": "mkfifo alive; exec 3<>alive; touch up; exec sleep 600" }))
            .shell("until [ -e up ]; do sleep 0.01; done")
    });
    let (agent, mut events) = start(&world, &[], Answering::default()).await;
    agent.prompt("Go on.").await.unwrap();
    completed(&mut events).await;
    let fifo = world.path("work/alive");
    agent.stop().await;
    while events.next().await.is_some() {}
    // The command had the other end open. When it is gone, reading comes to its end.
    let read = tokio::task::spawn_blocking(move || {
        let writer = std::fs::OpenOptions::new()
            .read(true)
            .write(true)
            .open(&fifo)
            .unwrap();
        let mut reader = std::fs::File::open(&fifo).unwrap();
        drop(writer);
        std::io::Read::read(&mut reader, &mut [0; 1]).unwrap()
    });
    assert_eq!(read.await.unwrap(), 0);
}

#[tokio::test]
async fn more_terminals_than_there_may_be_are_refused() {
    let world = world("", |_| {
        let create = json!({ "sessionId": "s", "command": "exec sleep 600" });
        let steps = (0..33).fold(Steps::default(), |steps, _| {
            steps.ask("terminal/create", create.clone())
        });
        let kill = json!({ "sessionId": "s", "terminalId": "term_1" });
        steps
            .ask("terminal/kill", kill.clone())
            .ask("terminal/output", kill.clone())
            .ask("terminal/release", kill)
            .ask("terminal/create", create)
    });
    let (agent, mut events) = start(&world, &[], Answering::default()).await;
    agent.prompt("Go on.").await.unwrap();
    completed(&mut events).await;
    let answers = answers(&world);
    let rest = &answers[32..];
    let killed = json!({
        "output": "", "truncated": false, "exitStatus": { "exitCode": null, "signal": "SIGTERM" },
    });
    assert_eq!(
        rest,
        [
            refused("c33", "there are 32 terminals: release one first"),
            result("c34", json!({})),
            result("c35", killed),
            result("c36", json!({})),
            result("c37", json!({ "terminalId": "term_33" })),
        ]
    );
}

#[tokio::test]
async fn what_a_child_asks_for_without_a_call_is_shown_as_a_call_of_its_own_in_every_dialect() {
    for outer in AgentDialect::ALL {
        let world = world("", |work| {
            let file = format!("{work}/short");
            let terminal =
                |number: u64| json!({ "sessionId": "s", "terminalId": format!("term_{number}") });
            let command = |name: &str| json!({ "sessionId": "s", "command": name });
            let text = json!({
                "sessionUpdate": "agent_message_chunk",
                "content": { "type": "text", "text": "I go on." },
            });
            Steps::default()
                .shell("printf 'one\\n' > short")
                .shell("printf '#!/bin/sh\\necho three; exit 3\\n' > three")
                .shell("printf '#!/bin/sh\\necho four; exec sleep 600\\n' > four")
                .shell("chmod +x three four")
                .ask(
                    "fs/read_text_file",
                    json!({ "sessionId": "s", "path": file }),
                )
                .ask(
                    "fs/read_text_file",
                    json!({ "sessionId": "s", "path": "/dev/nosuch" }),
                )
                .ask(
                    "fs/write_text_file",
                    json!({ "sessionId": "s", "path": file, "content": "two\n" }),
                )
                .ask("terminal/create", command("./three"))
                .ask("terminal/wait_for_exit", terminal(1))
                .ask("terminal/release", terminal(1))
                // One that is still running when the agent goes on.
                .ask("terminal/create", command("./four"))
                .shell(&until_written("four", 2))
                .update(text)
                .ask("terminal/release", terminal(2))
        });
        let mut options = options(&world, outer);
        let model = ["--model".to_owned(), "agent/child".to_owned()];
        options.command.extend(model);
        let host = Answering::default();
        let (agent, mut events) = ChildAgent::start(options, host.clone()).await.unwrap();
        agent.prompt("Go on.").await.unwrap();
        let lines = completed(&mut events).await;
        let path = world.path("work/short").display().to_string();
        let call = |name: &str, input: Value| format!("call {name} {input}");
        let start = |number: u64| format!("start client_request_{number}");
        let ended =
            |how: &str, number: u64, text: &str| format!("{how} client_request_{number} {text}");
        // Failed calls cannot be told from others there.
        let failed = if outer == AgentDialect::Synaps {
            "ended"
        } else {
            "failed"
        };
        let missing = "ENOENT: no such file or directory, access '/dev/nosuch'";
        let written = match outer {
            AgentDialect::Acp => "The file has been written. [\"two\\n\"]",
            _ => "The file has been written.",
        };
        let mut expected = vec!["turn".to_owned()];
        for (number, call, how, text) in [
            (1, call("read", json!({ "path": path })), "ended", "one"),
            (
                2,
                call("read", json!({ "path": "/dev/nosuch" })),
                failed,
                missing,
            ),
            (
                3,
                call("write", json!({ "path": path, "content": "two\n" })),
                "ended",
                written,
            ),
            (
                4,
                call("bash", json!({ "command": "./three" })),
                failed,
                "three",
            ),
            (
                5,
                call("bash", json!({ "command": "./four" })),
                "ended",
                "four",
            ),
        ] {
            expected.extend([call, start(number), ended(how, number, text)]);
        }
        expected.extend(["text I go on.".to_owned(), "end Completed 0+0".to_owned()]);
        assert_eq!(lines, expected, "{outer}");
    }
}
