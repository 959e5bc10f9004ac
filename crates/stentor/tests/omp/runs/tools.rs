//! What the built-in tools say (section 17), as clients see it.

use std::io::{BufRead, BufReader, Write};

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use crate::child::Folder;
use crate::transcript::told;

/// Has the model make one call after the other. Compares all frames about the calls.
fn check(calls: &[&str], expected: Expect) {
    let turns: String = calls
        .iter()
        .enumerate()
        .map(|(n, call)| {
            format!(
                "[[turn]]\nsteps = [{{ id = \"call-{}\", {call} }}]\n",
                n + 1
            )
        })
        .collect();
    let folder = Folder::with(&format!(
        "on_exhausted = {{ text = \"Done.\" }}\n[model]\nid = \"mock\"\n{turns}"
    ));
    folder
        .file("notes.txt", "alpha\nbeta\ngamma\n")
        .file("src/main.rs", "fn main() {}\n");
    let mut child = folder.child(&["--no-session"]);
    let frames: Vec<Value> = child
        .prompt("go")
        .into_iter()
        .filter(|frame| {
            let kind = frame["type"].as_str().unwrap();
            let of_result = frame["message"]["role"] == "toolResult";
            matches!(kind, "tool_execution_start" | "tool_execution_end") || of_result
        })
        .collect();
    let text = told(&frames, &folder);
    // A result is a message with what its call came to.
    assert_eq!(text.lines().count(), calls.len() * 4);
    expected.assert_eq(&text);
}

#[test]
fn tools_that_read_say_what_is_there_and_where_they_stopped() {
    check(
        &[
            r#"tool = "read", arguments = { path = "notes.txt" }"#,
            r#"tool = "read", arguments = { path = "notes.txt", offset = 2, limit = 1 }"#,
            r#"tool = "read", arguments = { path = "nowhere.txt" }"#,
            r#"tool = "ls", arguments = {}"#,
            r#"tool = "ls", arguments = { limit = 1 }"#,
            r#"tool = "find", arguments = { pattern = "**/*.rs" }"#,
            r#"tool = "grep", arguments = { pattern = "a$", glob = "*.txt", limit = 2 }"#,
        ],
        expect![[r#"
            {"type":"tool_execution_start","toolCallId":"call-1","toolName":"read","args":{"path":"notes.txt"}}
            {"type":"tool_execution_end","toolCallId":"call-1","toolName":"read","result":{"content":[{"type":"text","text":"alpha\nbeta\ngamma\n"}]},"isError":false,"durationMs":"MS"}
            {"type":"message_start","messageId":"msg-3","message":{"role":"toolResult","toolCallId":"call-1","toolName":"read","content":[{"type":"text","text":"alpha\nbeta\ngamma\n"}],"isError":false,"timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-3","message":"as it began"}
            {"type":"tool_execution_start","toolCallId":"call-2","toolName":"read","args":{"limit":1,"offset":2,"path":"notes.txt"}}
            {"type":"tool_execution_end","toolCallId":"call-2","toolName":"read","result":{"content":[{"type":"text","text":"beta\n\n[1 more lines in file. Use offset=3 to continue.]"}]},"isError":false,"durationMs":"MS"}
            {"type":"message_start","messageId":"msg-5","message":{"role":"toolResult","toolCallId":"call-2","toolName":"read","content":[{"type":"text","text":"beta\n\n[1 more lines in file. Use offset=3 to continue.]"}],"isError":false,"timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-5","message":"as it began"}
            {"type":"tool_execution_start","toolCallId":"call-3","toolName":"read","args":{"path":"nowhere.txt"}}
            {"type":"tool_execution_end","toolCallId":"call-3","toolName":"read","result":{"content":[{"type":"text","text":"ENOENT: no such file or directory, access 'ROOT/work/nowhere.txt'"}],"details":{}},"isError":true,"durationMs":"MS"}
            {"type":"message_start","messageId":"msg-7","message":{"role":"toolResult","toolCallId":"call-3","toolName":"read","content":[{"type":"text","text":"ENOENT: no such file or directory, access 'ROOT/work/nowhere.txt'"}],"details":{},"isError":true,"timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-7","message":"as it began"}
            {"type":"tool_execution_start","toolCallId":"call-4","toolName":"ls","args":{}}
            {"type":"tool_execution_end","toolCallId":"call-4","toolName":"ls","result":{"content":[{"type":"text","text":"notes.txt\nsrc/"}]},"isError":false,"durationMs":"MS"}
            {"type":"message_start","messageId":"msg-9","message":{"role":"toolResult","toolCallId":"call-4","toolName":"ls","content":[{"type":"text","text":"notes.txt\nsrc/"}],"isError":false,"timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-9","message":"as it began"}
            {"type":"tool_execution_start","toolCallId":"call-5","toolName":"ls","args":{"limit":1}}
            {"type":"tool_execution_end","toolCallId":"call-5","toolName":"ls","result":{"content":[{"type":"text","text":"notes.txt\n\n[1 entries limit reached. Use limit=2 for more]"}],"details":{"entryLimitReached":1}},"isError":false,"durationMs":"MS"}
            {"type":"message_start","messageId":"msg-11","message":{"role":"toolResult","toolCallId":"call-5","toolName":"ls","content":[{"type":"text","text":"notes.txt\n\n[1 entries limit reached. Use limit=2 for more]"}],"details":{"entryLimitReached":1},"isError":false,"timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-11","message":"as it began"}
            {"type":"tool_execution_start","toolCallId":"call-6","toolName":"find","args":{"pattern":"**/*.rs"}}
            {"type":"tool_execution_end","toolCallId":"call-6","toolName":"find","result":{"content":[{"type":"text","text":"src/main.rs"}]},"isError":false,"durationMs":"MS"}
            {"type":"message_start","messageId":"msg-13","message":{"role":"toolResult","toolCallId":"call-6","toolName":"find","content":[{"type":"text","text":"src/main.rs"}],"isError":false,"timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-13","message":"as it began"}
            {"type":"tool_execution_start","toolCallId":"call-7","toolName":"grep","args":{"glob":"*.txt","limit":2,"pattern":"a$"}}
            {"type":"tool_execution_end","toolCallId":"call-7","toolName":"grep","result":{"content":[{"type":"text","text":"notes.txt:1: alpha\nnotes.txt:2: beta\n\n[2 matches limit reached. Use limit=4 for more, or refine pattern]"}],"details":{"matchLimitReached":2}},"isError":false,"durationMs":"MS"}
            {"type":"message_start","messageId":"msg-15","message":{"role":"toolResult","toolCallId":"call-7","toolName":"grep","content":[{"type":"text","text":"notes.txt:1: alpha\nnotes.txt:2: beta\n\n[2 matches limit reached. Use limit=4 for more, or refine pattern]"}],"details":{"matchLimitReached":2},"isError":false,"timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-15","message":"as it began"}
        "#]],
    );
}

#[test]
fn tools_that_write_say_what_they_changed() {
    check(
        &[
            r#"tool = "write", arguments = { path = "new.txt", content = "one\ntwo\n" }"#,
            r#"tool = "edit", arguments = { path = "new.txt", edits = [{ oldText = "two", newText = "2" }] }"#,
            r#"tool = "edit", arguments = { path = "new.txt", edits = [{ oldText = "three", newText = "3" }] }"#,
        ],
        expect![[r#"
            {"type":"tool_execution_start","toolCallId":"call-1","toolName":"write","args":{"content":"one\ntwo\n","path":"new.txt"}}
            {"type":"tool_execution_end","toolCallId":"call-1","toolName":"write","result":{"content":[{"type":"text","text":"Successfully wrote 8 bytes to new.txt"}]},"isError":false,"durationMs":"MS"}
            {"type":"message_start","messageId":"msg-3","message":{"role":"toolResult","toolCallId":"call-1","toolName":"write","content":[{"type":"text","text":"Successfully wrote 8 bytes to new.txt"}],"isError":false,"timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-3","message":"as it began"}
            {"type":"tool_execution_start","toolCallId":"call-2","toolName":"edit","args":{"edits":[{"newText":"2","oldText":"two"}],"path":"new.txt"}}
            {"type":"tool_execution_end","toolCallId":"call-2","toolName":"edit","result":{"content":[{"type":"text","text":"Successfully replaced 1 block(s) in new.txt."}],"details":{"diff":" 1 one\n-2 two\n+2 2","patch":"--- new.txt\n+++ new.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n","firstChangedLine":2}},"isError":false,"durationMs":"MS"}
            {"type":"message_start","messageId":"msg-5","message":{"role":"toolResult","toolCallId":"call-2","toolName":"edit","content":[{"type":"text","text":"Successfully replaced 1 block(s) in new.txt."}],"details":{"diff":" 1 one\n-2 two\n+2 2","patch":"--- new.txt\n+++ new.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n","firstChangedLine":2},"isError":false,"timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-5","message":"as it began"}
            {"type":"tool_execution_start","toolCallId":"call-3","toolName":"edit","args":{"edits":[{"newText":"3","oldText":"three"}],"path":"new.txt"}}
            {"type":"tool_execution_end","toolCallId":"call-3","toolName":"edit","result":{"content":[{"type":"text","text":"Could not find the exact text in new.txt. The old text must match exactly including all whitespace and newlines.\n\nNothing in the file is similar. Read the file again."}],"details":{}},"isError":true,"durationMs":"MS"}
            {"type":"message_start","messageId":"msg-7","message":{"role":"toolResult","toolCallId":"call-3","toolName":"edit","content":[{"type":"text","text":"Could not find the exact text in new.txt. The old text must match exactly including all whitespace and newlines.\n\nNothing in the file is similar. Read the file again."}],"details":{},"isError":true,"timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-7","message":"as it began"}
        "#]],
    );
}

#[test]
fn a_command_that_fails_is_an_error_that_ends_with_its_exit_code() {
    check(
        &[
            r#"tool = "bash", arguments = { command = "echo out; echo err 1>&2" }"#,
            r#"tool = "bash", arguments = { command = "echo out; exit 7" }"#,
            r#"tool = "bash", arguments = { command = "true" }"#,
        ],
        expect![[r#"
            {"type":"tool_execution_start","toolCallId":"call-1","toolName":"bash","args":{"command":"echo out; echo err 1>&2"}}
            {"type":"tool_execution_end","toolCallId":"call-1","toolName":"bash","result":{"content":[{"type":"text","text":"out\nerr\n"}]},"isError":false,"durationMs":"MS"}
            {"type":"message_start","messageId":"msg-3","message":{"role":"toolResult","toolCallId":"call-1","toolName":"bash","content":[{"type":"text","text":"out\nerr\n"}],"isError":false,"timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-3","message":"as it began"}
            {"type":"tool_execution_start","toolCallId":"call-2","toolName":"bash","args":{"command":"echo out; exit 7"}}
            {"type":"tool_execution_end","toolCallId":"call-2","toolName":"bash","result":{"content":[{"type":"text","text":"out\n\n\nCommand exited with code 7"}],"details":{}},"isError":true,"durationMs":"MS"}
            {"type":"message_start","messageId":"msg-5","message":{"role":"toolResult","toolCallId":"call-2","toolName":"bash","content":[{"type":"text","text":"out\n\n\nCommand exited with code 7"}],"details":{},"isError":true,"timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-5","message":"as it began"}
            {"type":"tool_execution_start","toolCallId":"call-3","toolName":"bash","args":{"command":"true"}}
            {"type":"tool_execution_end","toolCallId":"call-3","toolName":"bash","result":{"content":[{"type":"text","text":"(no output)"}]},"isError":false,"durationMs":"MS"}
            {"type":"message_start","messageId":"msg-7","message":{"role":"toolResult","toolCallId":"call-3","toolName":"bash","content":[{"type":"text","text":"(no output)"}],"isError":false,"timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-7","message":"as it began"}
        "#]],
    );
}

/// Clients look at a file when a call begins, to show later what it changed.
#[test]
fn no_file_is_changed_before_the_client_can_see_that_the_call_began() {
    let folder = Folder::with(
        r#"
        [model]
        id = "mock"
        [[turn]]
        steps = [
          { text = "words and words {{n}} ", repeat = 100000 },
          { tool = "write", id = "call-1", arguments = { path = "made", content = "x" } },
        ]
        "#,
    );
    let words = [
        "--model",
        "script/../scenario.toml",
        "--session",
        "run.jsonl",
    ];
    let mut process = folder.command(&words).spawn().unwrap();
    let mut stdin = process.stdin.take().unwrap();
    let mut send = |frame: Value| writeln!(stdin, "{frame}").unwrap();
    let when_kept = |part: &str| {
        let kept = || std::fs::read_to_string(folder.work("run.jsonl")).unwrap_or_default();
        while !kept().contains(part) {
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
    };
    // The answer is far more than a pipe holds, and nobody reads it.
    send(json!({"type": "prompt", "message": "go"}));
    when_kept("\"stopReason\":\"toolUse\"");
    send(json!({"type": "abort"}));
    when_kept("\"role\":\"toolResult\"");
    assert!(!folder.work("made").exists());
    // Who reads on sees it begin, and end at once.
    let frames = BufReader::new(process.stdout.take().unwrap()).lines();
    let mut frames = frames.map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
    for name in [
        "tool_execution_start",
        "tool_execution_end",
        "agent_settled",
    ] {
        assert!(frames.any(|frame| frame["type"] == name), "{name}");
    }
    drop(stdin);
    process.wait().unwrap();
}
