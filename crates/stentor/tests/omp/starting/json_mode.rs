//! `--mode json`: pi's events for prompts of the command line.

use std::process::{Command, Output, Stdio};

use expect_test::expect;
use serde_json::{Value, json};

use crate::child::{Folder, shown};

/// The program in this mode, with a model that plays the folder's scenario.
fn command(folder: &Folder, words: &[&str]) -> Command {
    let mut command = folder.program(words);
    command.stdin(Stdio::null());
    command
}

fn run(folder: &Folder, words: &[&str]) -> Output {
    let mut all = vec!["-p", "--mode", "json", "--model", "script/../scenario.toml"];
    all.extend_from_slice(words);
    command(folder, &all).output().unwrap()
}

fn frames(output: &Output) -> Vec<Value> {
    let text = std::str::from_utf8(&output.stdout).unwrap();
    assert!(text.ends_with('\n'), "{text}");
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn one_prompt_is_answered_with_the_header_and_the_events_of_its_run() {
    let folder = Folder::with(
        r#"
        usage = { input = 100, output = 25 }
        [model]
        id = "mock"
        prices = { input = 3, output = 15 }
        [[turn]]
        steps = [
          { thinking = "Hm." },
          { text = "I look." },
          { tool = "read", id = "call-1", arguments = { path = "notes.txt" } },
        ]
        [[turn]]
        text = "Done."
        "#,
    );
    folder.file("notes.txt", "alpha\n");
    let output = run(&folder, &["what is there?"]);
    assert_eq!(output.status.code(), Some(0));
    expect![[r#"
        {"type":"session","version":3,"id":"ID","timestamp":"TIME","cwd":"ROOT/work"}
        {"type":"agent_start"}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"what is there?"}],"attribution":"user","timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"what is there?"}],"attribution":"user","timestamp":"TIME"}}
        {"type":"message_start","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"assistantMessageEvent":{"type":"thinking_start","contentIndex":0}}
        {"type":"message_update","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"assistantMessageEvent":{"type":"thinking_delta","contentIndex":0,"delta":"Hm."}}
        {"type":"message_update","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"assistantMessageEvent":{"type":"thinking_end","contentIndex":0,"content":"Hm."}}
        {"type":"message_update","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"assistantMessageEvent":{"type":"text_start","contentIndex":1}}
        {"type":"message_update","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"assistantMessageEvent":{"type":"text_delta","contentIndex":1,"delta":"I look."}}
        {"type":"message_update","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"assistantMessageEvent":{"type":"text_end","contentIndex":1,"content":"I look."}}
        {"type":"message_update","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"assistantMessageEvent":{"type":"toolcall_start","contentIndex":2,"id":"call-1","toolName":"read"}}
        {"type":"message_update","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"assistantMessageEvent":{"type":"toolcall_delta","contentIndex":2,"delta":"{\"path\":\"notes.txt\"}"}}
        {"type":"message_update","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"assistantMessageEvent":{"type":"toolcall_end","contentIndex":2,"toolCall":{"type":"toolCall","id":"call-1","name":"read","arguments":{"path":"notes.txt"}}}}
        {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"thinking","thinking":"Hm."},{"type":"text","text":"I look."},{"type":"toolCall","id":"call-1","name":"read","arguments":{"path":"notes.txt"}}],"api":"script","provider":"script","model":"mock","usage":{"input":100,"output":25,"cacheRead":0,"cacheWrite":0,"totalTokens":125,"cost":{"input":0.00030000000000000003,"output":0.000375,"cacheRead":0,"cacheWrite":0,"total":0.000675}},"stopReason":"toolUse","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"tool_execution_start","toolCallId":"call-1","toolName":"read","args":{"path":"notes.txt"}}
        {"type":"tool_execution_end","toolCallId":"call-1","toolName":"read","result":{"content":[{"type":"text","text":"alpha\n"}]},"isError":false,"durationMs":"MS"}
        {"type":"message_start","messageId":"msg-3","message":{"role":"toolResult","toolCallId":"call-1","toolName":"read","content":[{"type":"text","text":"alpha\n"}],"isError":false,"timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-3","message":{"role":"toolResult","toolCallId":"call-1","toolName":"read","content":[{"type":"text","text":"alpha\n"}],"isError":false,"timestamp":"TIME"}}
        {"type":"turn_end","message":{"role":"assistant","content":[{"type":"thinking","thinking":"Hm."},{"type":"text","text":"I look."},{"type":"toolCall","id":"call-1","name":"read","arguments":{"path":"notes.txt"}}],"api":"script","provider":"script","model":"mock","usage":{"input":100,"output":25,"cacheRead":0,"cacheWrite":0,"totalTokens":125,"cost":{"input":0.00030000000000000003,"output":0.000375,"cacheRead":0,"cacheWrite":0,"total":0.000675}},"stopReason":"toolUse","timestamp":"TIME","duration":"MS","ttft":"MS"},"toolResults":[{"role":"toolResult","toolCallId":"call-1","toolName":"read","content":[{"type":"text","text":"alpha\n"}],"isError":false,"timestamp":"TIME"}]}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-4","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"assistantMessageEvent":{"type":"text_start","contentIndex":0}}
        {"type":"message_update","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"Done."}}
        {"type":"message_update","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"assistantMessageEvent":{"type":"text_end","contentIndex":0,"content":"Done."}}
        {"type":"message_end","messageId":"msg-4","message":{"role":"assistant","content":[{"type":"text","text":"Done."}],"api":"script","provider":"script","model":"mock","usage":{"input":100,"output":25,"cacheRead":0,"cacheWrite":0,"totalTokens":125,"cost":{"input":0.00030000000000000003,"output":0.000375,"cacheRead":0,"cacheWrite":0,"total":0.000675}},"stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"turn_end","message":{"role":"assistant","content":[{"type":"text","text":"Done."}],"api":"script","provider":"script","model":"mock","usage":{"input":100,"output":25,"cacheRead":0,"cacheWrite":0,"totalTokens":125,"cost":{"input":0.00030000000000000003,"output":0.000375,"cacheRead":0,"cacheWrite":0,"total":0.000675}},"stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"},"toolResults":[]}
        {"type":"agent_end","messages":[{"role":"user","content":[{"type":"text","text":"what is there?"}],"attribution":"user","timestamp":"TIME"},{"role":"assistant","content":[{"type":"thinking","thinking":"Hm."},{"type":"text","text":"I look."},{"type":"toolCall","id":"call-1","name":"read","arguments":{"path":"notes.txt"}}],"api":"script","provider":"script","model":"mock","usage":{"input":100,"output":25,"cacheRead":0,"cacheWrite":0,"totalTokens":125,"cost":{"input":0.00030000000000000003,"output":0.000375,"cacheRead":0,"cacheWrite":0,"total":0.000675}},"stopReason":"toolUse","timestamp":"TIME","duration":"MS","ttft":"MS"},{"role":"toolResult","toolCallId":"call-1","toolName":"read","content":[{"type":"text","text":"alpha\n"}],"isError":false,"timestamp":"TIME"},{"role":"assistant","content":[{"type":"text","text":"Done."}],"api":"script","provider":"script","model":"mock","usage":{"input":100,"output":25,"cacheRead":0,"cacheWrite":0,"totalTokens":125,"cost":{"input":0.00030000000000000003,"output":0.000375,"cacheRead":0,"cacheWrite":0,"total":0.000675}},"stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":4}
        {"type":"agent_settled","aborted":false}
    "#]].assert_eq(&shown(&frames(&output), &folder));
}

#[test]
fn a_run_that_fails_says_so_in_its_answer_and_the_exit_code_is_0() {
    let folder = Folder::with(
        "[model]\nid = \"mock\"\n[[turn]]\nerror = { kind = \"invalid_request\", message = \"no\" }",
    );
    let output = run(&folder, &["go"]);
    assert_eq!(output.status.code(), Some(0));
    let frames = frames(&output);
    let answer = frames.iter().rfind(|frame| frame["type"] == "message_end");
    let answer = &answer.unwrap()["message"];
    assert_eq!(answer["stopReason"], "error", "{answer}");
    assert_eq!(frames.last().unwrap()["type"], "agent_settled");
}

#[test]
fn what_cannot_begin_is_told_on_stderr_with_status_1() {
    let folder = Folder::with("[model]\nid = \"mock\"\n[[turn]]\ntext = \"x\"");
    for (words, why) in [
        (&["@missing.txt", "hi"][..], "File not found"),
        (&["--session", "0198c5aa", "hi"], "0198c5aa"),
        (&[], "the prompt is empty"),
    ] {
        let output = run(&folder, words);
        assert_eq!(output.status.code(), Some(1), "{words:?}");
        assert_eq!(output.stdout, b"", "{words:?}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains(why), "{said}");
    }
}

#[test]
fn files_are_attached_and_several_prompts_are_asked_one_after_the_other() {
    let folder = Folder::with(
        "on_exhausted = \"repeat-last\"\n[model]\nid = \"mock\"\n[[turn]]\ntext = \"x\"",
    );
    let picture = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0";
    std::fs::write(folder.work("dot.png"), picture).unwrap();
    folder.file("notes.txt", "alpha");
    let output = run(&folder, &["@notes.txt", "@dot.png", "look", "and again"]);
    let frames = frames(&output);
    let said = frames
        .iter()
        .filter(|frame| frame["type"] == "message_end" && frame["message"]["role"] == "user");
    let here = folder.work("").display().to_string();
    let said: Vec<Value> = said
        .map(|frame| frame["message"]["content"].clone())
        .collect();
    let text = format!(
        "<file name=\"{here}notes.txt\">\nalpha\n</file>\n<file name=\"{here}dot.png\"></file>\nlook"
    );
    assert_eq!(said[0][0], json!({"type": "text", "text": text}));
    assert_eq!(said[0][1]["mimeType"], "image/png");
    assert_eq!(said[1], json!([{"type": "text", "text": "and again"}]));
    assert_eq!(said.len(), 2);
}

#[test]
fn a_prompt_behind_two_dashes_may_look_like_a_flag() {
    let folder = Folder::with("[model]\nid = \"mock\"\n[[turn]]\ntext = \"x\"");
    let output = run(&folder, &["--", "-hello"]);
    let frames = frames(&output);
    let said = frames.iter().find(|frame| frame["type"] == "message_end");
    assert_eq!(
        said.unwrap()["message"]["content"],
        json!([{"type": "text", "text": "-hello"}])
    );
}

#[test]
fn a_session_that_is_named_is_made_and_gone_on_with() {
    let folder = Folder::with(
        "on_exhausted = \"repeat-last\"\n[model]\nid = \"mock\"\n[[turn]]\ntext = \"x\"",
    );
    let file = folder.home("runs/one.jsonl");
    let words = ["--session", file.to_str().unwrap(), "hi"];
    let first = frames(&run(&folder, &words));
    let second = frames(&run(&folder, &words));
    assert_eq!(first[0], second[0]);
    let kept = std::fs::read_to_string(&file).unwrap();
    let header: Value = serde_json::from_str(kept.lines().next().unwrap()).unwrap();
    assert_eq!(first[0], header);
    assert_eq!(kept.matches("\"role\":\"user\"").count(), 2);
}

#[test]
fn a_prompt_may_come_from_stdin() {
    let folder = Folder::with("[model]\nid = \"mock\"\n[[turn]]\ntext = \"x\"");
    let words = [
        "--mode",
        "json",
        "--model",
        "script/../scenario.toml",
        "--no-session",
    ];
    let mut process = command(&folder, &words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut process.stdin.take().unwrap(), b"from a pipe\n").unwrap();
    let output = process.wait_with_output().unwrap();
    let frames = frames(&output);
    let said = frames.iter().find(|frame| frame["type"] == "message_end");
    assert_eq!(
        said.unwrap()["message"]["content"],
        json!([{"type": "text", "text": "from a pipe"}])
    );
    assert!(!folder.home(".pi").exists());
}
