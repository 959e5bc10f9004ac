//! How the process begins and ends (section 2).

use std::io::{Read, Write};

use expect_test::expect;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::child::{Child, Folder};
use crate::transcript::{lines_of, told};

const HANGS: &str = r#"
[[turn]]
steps = [{ text = "Well" }, { hang = true }]
"#;

#[test]
fn what_waits_on_stdin_is_answered_before_the_end_also_without_a_line_end() {
    let folder = Folder::with(HANGS);
    let mut process = folder.command(&["--no-session"]).spawn().unwrap();
    let lines = concat!(
        r#"{"id":1,"type":"get_last_assistant_text"}"#,
        "\r\n\n",
        r#"{"id":2,"type":"get_last_assistant_text"}"#
    );
    process
        .stdin
        .take()
        .unwrap()
        .write_all(lines.as_bytes())
        .unwrap();
    let output = process.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    expect![[r#"
        {"type":"ready","protocolVersion":1,"supportedProtocolVersions":[1,2],"maxFrameBytes":1048576,"maxReassembledFrameBytes":67108864}
        {"id":1,"type":"response","command":"get_last_assistant_text","success":true,"data":{}}
        {"id":2,"type":"response","command":"get_last_assistant_text","success":true,"data":{}}
    "#]].assert_eq(&String::from_utf8(output.stdout).unwrap());
}

#[test]
fn stdin_closing_ends_a_run_at_once_with_the_session_on_disk() {
    let folder = Folder::with(HANGS);
    let mut child = folder.child(&["--session-dir", "../sessions"]);
    child.send(json!({"id": "p", "type": "prompt", "message": "hi"}));
    child.until(|frame| frame["assistantMessageEvent"]["type"] == "text_delta");
    let file = child.data(json!({"type": "get_state"}))["sessionFile"].clone();
    let (_, code) = child.close();
    assert_eq!(code, Some(0));
    expect![[r#"
        {"type":"session","version":3,"id":"ID1","timestamp":"TIME","cwd":"ROOT/work"}
        {"type":"model_change","id":"ID2","parentId":null,"timestamp":"TIME","provider":"script","modelId":"ROOT/work/../scenario.toml","model":"script/ROOT/work/../scenario.toml"}
        {"type":"thinking_level_change","id":"ID3","parentId":"ID2","timestamp":"TIME","thinkingLevel":"medium"}
        {"type":"message","id":"ID4","parentId":"ID3","timestamp":"TIME","message":{"role":"user","content":[{"type":"text","text":"hi"}],"attribution":"user","timestamp":"TIME"}}
        {"type":"message","id":"ID5","parentId":"ID4","timestamp":"TIME","message":{"role":"assistant","content":[{"type":"text","text":"Well"}],"api":"script","provider":"script","model":"ROOT/work/../scenario.toml","usage":"nothing","stopReason":"aborted","errorMessage":"Request was aborted","timestamp":"TIME","duration":"MS","ttft":"MS"}}
    "#]].assert_eq(&lines_of(file.as_str().unwrap(), &folder));
}

/// Sends a signal while a command of the model runs. Returns what of the conversation is on disk.
fn ended_by(signal: Signal, code: i32) -> String {
    let folder = Folder::with(
        "[model]\nid = \"mock\"\n[[turn]]\ntool = \"bash\"\narguments = { command = \"echo $$ > pid; exec sleep 300\" }",
    );
    let mut child = folder.child(&["--session-dir", "../sessions"]);
    child.send(json!({"type": "prompt", "message": "hi"}));
    child.until_type("tool_execution_start");
    let file = child.data(json!({"type": "get_state"}))["sessionFile"].clone();
    let tool = || std::fs::read_to_string(folder.work("pid")).unwrap_or_default();
    while !tool().ends_with('\n') {
        std::thread::yield_now();
    }
    let pid = Pid::from_raw(i32::try_from(child.process.id()).unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
    assert_eq!(child.process.wait().unwrap().code(), Some(code));
    let alive = std::path::Path::new("/proc")
        .join(tool().trim())
        .join("cmdline");
    let alive = std::fs::read_to_string(alive).unwrap_or_default();
    assert!(!alive.starts_with("sleep"), "the tool outlived the child");
    // How the call ended is told as well, if there was time for it.
    let kept = lines_of(file.as_str().unwrap(), &folder);
    let kept: Vec<&str> = kept.lines().take(5).collect();
    kept.join("\n")
}

#[test]
fn signals_end_it_with_their_codes_and_its_tools_with_it_and_the_session_is_on_disk() {
    let kept = ended_by(Signal::TERM, 143);
    expect![[r#"
        {"type":"session","version":3,"id":"ID1","timestamp":"TIME","cwd":"ROOT/work"}
        {"type":"model_change","id":"ID2","parentId":null,"timestamp":"TIME","provider":"script","modelId":"mock","model":"script/mock"}
        {"type":"thinking_level_change","id":"ID3","parentId":"ID2","timestamp":"TIME","thinkingLevel":"medium"}
        {"type":"message","id":"ID4","parentId":"ID3","timestamp":"TIME","message":{"role":"user","content":[{"type":"text","text":"hi"}],"attribution":"user","timestamp":"TIME"}}
        {"type":"message","id":"ID5","parentId":"ID4","timestamp":"TIME","message":{"role":"assistant","content":[{"type":"toolCall","id":"call_1_1","name":"bash","arguments":{"command":"echo $$ > pid; exec sleep 300"}}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"toolUse","timestamp":"TIME","duration":"MS","ttft":"MS"}}"#]].assert_eq(&kept);
    assert_eq!(ended_by(Signal::HUP, 129), kept);
    assert_eq!(ended_by(Signal::INT, 130), kept);
}

#[test]
fn file_arguments_are_refused_and_unknown_flags_noted() {
    let folder = Folder::with(HANGS);
    for (words, code, said) in [
        (
            &["@notes.md"][..],
            1,
            "Error: @file arguments are not supported in RPC mode\n",
        ),
        (&["--model"], 1, "Error: --model needs a value\n"),
        (
            &["--no-session", "--no-rules", "--new-flag", "v", "--other=1"],
            0,
            "stentor: ignored: --new-flag --other\n",
        ),
    ] {
        let mut process = folder.command(words).spawn().unwrap();
        drop(process.stdin.take());
        let mut err = String::new();
        process
            .stderr
            .take()
            .unwrap()
            .read_to_string(&mut err)
            .unwrap();
        assert_eq!(
            (process.wait().unwrap().code(), err.as_str()),
            (Some(code), said)
        );
    }
}

#[test]
fn help_explains_the_flags_and_serves_nobody() {
    let folder = Folder::with(HANGS);
    for word in ["--help", "-h"] {
        let output = folder.command(&[word]).output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(0));
        assert_eq!(
            said.lines().nth(2),
            Some("Usage: stentor --mode rpc [OPTIONS]")
        );
        assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    }
}

#[test]
fn a_model_there_is_not_ends_it_before_the_first_frame() {
    let folder = Folder::with(HANGS);
    let words = ["--model", "nope/missing"];
    let output = folder.command(&words).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "");
    let said = String::from_utf8(output.stderr).unwrap();
    // The time comes first.
    let said = said.split_once("ERROR ").unwrap().1;
    expect![[r#"
        --model: there is no model `nope/missing`; `stentor models` lists them all
    "#]]
    .assert_eq(said);
}

#[test]
fn every_flag_that_clients_give_is_known() {
    let folder = Folder::with("[model]\nid = \"mock\"\n[[turn]]\ntext = \"x\"");
    let words = [
        "--provider=script",
        "--model",
        "script/../scenario.toml:low",
        "--api-key",
        "k",
        "--models=offline/*",
        "--session-dir",
        "../sessions",
        "--provider-session-id",
        "7",
        "--system-prompt=Be brief.",
        "--append-system-prompt",
        "Very.",
        "--tools",
        "read,grep",
        "--no-skills",
        "--no-rules",
        "--no-title",
        "--no-ui",
        "--no-extensions",
        "--name",
        "mine",
        "-c",
    ];
    let mut child = Child::of(folder.command(&words).spawn().unwrap());
    let mut frames = child.until_type("ready");
    frames.extend(child.done(json!({"id": 1, "type": "get_state"})));
    expect![[r#"
        {"type":"ready","protocolVersion":1,"supportedProtocolVersions":[1,2],"maxFrameBytes":1048576,"maxReassembledFrameBytes":67108864}
        {"id":1,"type":"response","command":"get_state","success":true,"data":{"model":{"id":"mock","name":"Scenario mock","api":"script","provider":"script","baseUrl":"","reasoning":true,"input":["text","image"],"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0},"contextWindow":200000,"maxTokens":32000,"thinking":{"mode":"effort","efforts":["minimal","low","medium","high","xhigh"],"minLevel":"minimal","maxLevel":"xhigh"}},"thinkingLevel":"low","isStreaming":false,"isCompacting":false,"steeringMode":"one-at-a-time","followUpMode":"one-at-a-time","interruptMode":"immediate","sessionFile":"ROOT/work/../sessions/TIME_ID.jsonl","sessionId":"ID1","sessionName":"mine","autoCompactionEnabled":true,"autoRetryEnabled":true,"messageCount":0,"queuedMessageCount":0,"pendingMessageCount":0,"queuedMessages":{"steering":[],"followUp":[]},"hasPendingAsyncWork":false,"isSettled":true,"fastModeEnabled":false,"fastModeActive":false,"tokensPerSecond":null,"todoPhases":[],"systemPrompt":"…","dumpTools":["read","grep"]}}
    "#]].assert_eq(&told(&frames, &folder));
    let mut stderr = child.process.stderr.take().unwrap();
    assert_eq!(child.close().1, Some(0));
    let mut said = String::new();
    stderr.read_to_string(&mut said).unwrap();
    assert_eq!(said, "");
}

#[test]
fn what_commands_write_to_the_childs_own_stdout_reaches_nobody_who_reads_frames() {
    let folder = Folder::with(HANGS);
    let mut child = folder.child(&["--no-session"]);
    // What supervises the command has the command's own output until it lets go of it.
    let write = "until [ /proc/$PPID/fd/1 -ef /dev/null ]; do :; done; \
                 echo no frame > /proc/$PPID/fd/1; echo no frame > /dev/stderr; echo seen";
    let mut frames = child.done(json!({"id": 1, "type": "bash", "command": write}));
    frames.extend(child.done(json!({"id": 2, "type": "abort"})));
    expect![[r#"
        {"type":"bash_execution_update","id":1,"delta":"no frame\nseen\n"}
        {"id":1,"type":"response","command":"bash","success":true,"data":{"output":"no frame\nseen\n","exitCode":0,"cancelled":false,"truncated":false,"totalLines":3,"totalBytes":14,"outputLines":3,"outputBytes":14}}
        {"id":2,"type":"response","command":"abort","success":true}
    "#]].assert_eq(&told(&frames, &folder));
}

#[test]
fn flags_choose_the_model_the_thinking_the_tools_and_the_name() {
    let folder = Folder::with("[[turn]]\ntext = \"x\"");
    let mut child = folder.child(&[
        "--session-dir=../elsewhere",
        "--thinking=low",
        "--tools",
        "read,web_search",
        "--models",
        "offline/*",
        "-n",
        "my name",
    ]);
    let frames = child.done(json!({"id": 1, "type": "get_state"}));
    expect![[r#"
        {"id":1,"type":"response","command":"get_state","success":true,"data":{"model":{"id":"ROOT/work/../scenario.toml","name":"Scenario ROOT/work/../scenario.toml","api":"script","provider":"script","baseUrl":"","reasoning":true,"input":["text","image"],"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0},"contextWindow":200000,"maxTokens":32000,"thinking":{"mode":"effort","efforts":["minimal","low","medium","high","xhigh"],"minLevel":"minimal","maxLevel":"xhigh"}},"thinkingLevel":"low","isStreaming":false,"isCompacting":false,"steeringMode":"one-at-a-time","followUpMode":"one-at-a-time","interruptMode":"immediate","sessionFile":"ROOT/work/../elsewhere/TIME_ID.jsonl","sessionId":"ID1","sessionName":"my name","autoCompactionEnabled":true,"autoRetryEnabled":true,"messageCount":0,"queuedMessageCount":0,"pendingMessageCount":0,"queuedMessages":{"steering":[],"followUp":[]},"hasPendingAsyncWork":false,"isSettled":true,"fastModeEnabled":false,"fastModeActive":false,"tokensPerSecond":null,"todoPhases":[],"systemPrompt":"…","dumpTools":["read"]}}
    "#]].assert_eq(&told(&frames, &folder));
}

#[test]
fn a_conversation_goes_on_where_it_was_left() {
    let folder = Folder::with("[[turn]]\ntext = \"First.\"\n[[turn]]\ntext = \"Second.\"");
    let sessions = ["--session-dir", "../sessions"];
    let mut child = folder.child(&sessions);
    child.prompt("hi");
    let file = child.data(json!({"type": "get_state"}))["sessionFile"].clone();
    assert_eq!(child.close().1, Some(0));
    let mut told_each = Vec::new();
    for words in [&["--continue"][..], &["--session", file.as_str().unwrap()]] {
        let mut child = folder.child(&[&sessions[..], words].concat());
        let mut frames = child.done(json!({"id": 1, "type": "get_state"}));
        assert_eq!(frames[0]["data"]["sessionFile"], file);
        frames.extend(child.done(json!({"id": 2, "type": "get_messages"})));
        told_each.push(told(&frames, &folder));
        child.close();
    }
    assert_eq!(told_each[0], told_each[1]);
    expect![[r#"
        {"id":1,"type":"response","command":"get_state","success":true,"data":{"model":{"id":"ROOT/work/../scenario.toml","name":"Scenario ROOT/work/../scenario.toml","api":"script","provider":"script","baseUrl":"","reasoning":true,"input":["text","image"],"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0},"contextWindow":200000,"maxTokens":32000,"thinking":{"mode":"effort","efforts":["minimal","low","medium","high","xhigh"],"minLevel":"minimal","maxLevel":"xhigh"}},"thinkingLevel":"medium","isStreaming":false,"isCompacting":false,"steeringMode":"one-at-a-time","followUpMode":"one-at-a-time","interruptMode":"immediate","sessionFile":"ROOT/sessions/TIME_ID.jsonl","sessionId":"ID1","autoCompactionEnabled":true,"autoRetryEnabled":true,"messageCount":2,"queuedMessageCount":0,"pendingMessageCount":0,"queuedMessages":{"steering":[],"followUp":[]},"hasPendingAsyncWork":false,"isSettled":true,"fastModeEnabled":false,"fastModeActive":false,"tokensPerSecond":null,"todoPhases":[],"systemPrompt":"…","dumpTools":["read","bash","edit","write","grep","find","ls","todo","job","fetch","subagent"]}}
        {"id":2,"type":"response","command":"get_messages","success":true,"data":{"messages":[{"role":"user","content":[{"type":"text","text":"hi"}],"attribution":"user","timestamp":"TIME"},{"role":"assistant","content":[{"type":"text","text":"First."}],"api":"script","provider":"script","model":"ROOT/work/../scenario.toml","usage":"nothing","stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}]}}
    "#]].assert_eq(&told_each[0]);
}
