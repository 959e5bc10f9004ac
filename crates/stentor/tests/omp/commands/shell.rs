//! The `bash` command (section 14), whole frames.

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use crate::child::{Child, Folder};
use crate::transcript::{answers_and_events, told};

const TALK: &str = r#"
on_exhausted = { text = "Heard: {{last_user}}" }
[model]
id = "mock"
[[turn]]
when = { last_user_contains = "go" }
steps = [{ text = "Well" }, { wait_for = "../gate" }, { text = "." }]
"#;

/// What is told of a command.
fn ran(child: &mut Child, command: &str) -> Vec<Value> {
    child.done(json!({"id": "b", "type": "bash", "command": command}))
}

fn check(commands: &[&str], expected: Expect) {
    let folder = Folder::with(TALK);
    let mut child = folder.child(&["--no-session"]);
    let mut frames = Vec::new();
    for command in commands {
        frames.extend(ran(&mut child, command));
    }
    frames.push(child.ask(json!({"type": "get_messages"})));
    expected.assert_eq(&told(&frames, &folder));
}

#[test]
fn output_is_told_as_it_comes_and_the_result_is_a_message_at_once() {
    check(
        &[
            "echo out; echo err 1>&2; exit 3",
            "true",
            "no-such-command-at-all 2>/dev/null",
        ],
        expect![[r#"
            {"type":"bash_execution_update","id":"b","delta":"out\nerr\n"}
            {"id":"b","type":"response","command":"bash","success":true,"data":{"output":"out\nerr\n","exitCode":3,"cancelled":false,"truncated":false,"totalLines":3,"totalBytes":8,"outputLines":3,"outputBytes":8}}
            {"id":"b","type":"response","command":"bash","success":true,"data":{"output":"","exitCode":0,"cancelled":false,"truncated":false,"totalLines":0,"totalBytes":0,"outputLines":0,"outputBytes":0}}
            {"id":"b","type":"response","command":"bash","success":true,"data":{"output":"","exitCode":127,"cancelled":false,"truncated":false,"totalLines":0,"totalBytes":0,"outputLines":0,"outputBytes":0}}
            {"id":"asked","type":"response","command":"get_messages","success":true,"data":{"messages":[{"role":"bashExecution","command":"echo out; echo err 1>&2; exit 3","output":"out\nerr\n","exitCode":3,"cancelled":false,"truncated":false,"timestamp":"TIME"},{"role":"bashExecution","command":"true","output":"","exitCode":0,"cancelled":false,"truncated":false,"timestamp":"TIME"},{"role":"bashExecution","command":"no-such-command-at-all 2>/dev/null","output":"","exitCode":127,"cancelled":false,"truncated":false,"timestamp":"TIME"}]}}
        "#]],
    );
}

#[test]
fn colours_and_carriage_returns_are_taken_out() {
    check(
        &["printf '\\033[31mred\\033[0m\\r\\nline\\r\\n'"],
        expect![[r#"
            {"type":"bash_execution_update","id":"b","delta":"red\nline\n"}
            {"id":"b","type":"response","command":"bash","success":true,"data":{"output":"red\nline\n","exitCode":0,"cancelled":false,"truncated":false,"totalLines":3,"totalBytes":9,"outputLines":3,"outputBytes":9}}
            {"id":"asked","type":"response","command":"get_messages","success":true,"data":{"messages":[{"role":"bashExecution","command":"printf '\\033[31mred\\033[0m\\r\\nline\\r\\n'","output":"red\nline\n","exitCode":0,"cancelled":false,"truncated":false,"timestamp":"TIME"}]}}
        "#]],
    );
}

#[test]
fn each_command_has_a_shell_of_its_own_in_the_working_folder() {
    check(
        &["X=1; cd /; pwd", "echo \"$X\"; pwd"],
        expect![[r#"
            {"type":"bash_execution_update","id":"b","delta":"/\n"}
            {"id":"b","type":"response","command":"bash","success":true,"data":{"output":"/\n","exitCode":0,"cancelled":false,"truncated":false,"totalLines":2,"totalBytes":2,"outputLines":2,"outputBytes":2}}
            {"type":"bash_execution_update","id":"b","delta":"\nROOT/work\n"}
            {"id":"b","type":"response","command":"bash","success":true,"data":{"output":"\nROOT/work\n","exitCode":0,"cancelled":false,"truncated":false,"totalLines":3,"totalBytes":22,"outputLines":3,"outputBytes":22}}
            {"id":"asked","type":"response","command":"get_messages","success":true,"data":{"messages":[{"role":"bashExecution","command":"X=1; cd /; pwd","output":"/\n","exitCode":0,"cancelled":false,"truncated":false,"timestamp":"TIME"},{"role":"bashExecution","command":"echo \"$X\"; pwd","output":"\nROOT/work\n","exitCode":0,"cancelled":false,"truncated":false,"timestamp":"TIME"}]}}
        "#]],
    );
}

#[test]
fn of_a_long_output_the_end_is_kept_and_the_whole_is_in_a_file() {
    let folder = Folder::with(TALK);
    let mut child = folder.child(&["--no-session"]);
    for (command, bytes) in [
        ("seq 1 2500", 11_393),
        ("head -c 60000 /dev/zero | tr '\\0' x", 60_000),
    ] {
        let mut frames = child.done(json!({"id": "b", "type": "bash", "command": command}));
        let mut answer = frames.pop().unwrap();
        let kept = std::fs::read(answer["data"]["fullOutputPath"].as_str().unwrap()).unwrap();
        assert_eq!(kept.len(), bytes);
        let deltas = frames.iter().map(|frame| frame["delta"].as_str().unwrap());
        assert_eq!(deltas.collect::<String>().as_bytes(), kept);
        // The end, by its own length and by what it begins with.
        let output = answer["data"]["output"].as_str().unwrap().to_owned();
        assert!(
            kept.trim_ascii_end().ends_with(output.as_bytes()),
            "{output}"
        );
        let first = output
            .lines()
            .next()
            .unwrap()
            .chars()
            .take(9)
            .collect::<String>();
        answer["data"]["output"] = json!(format!("{first}… {} bytes", output.len()));
        answer["data"]["fullOutputPath"] = json!("FILE");
        let expected = if bytes == 60_000 {
            expect![[r#"
                {"id":"b","type":"response","command":"bash","success":true,"data":{"output":"xxxxxxxxx… 51200 bytes","exitCode":0,"cancelled":false,"truncated":true,"totalLines":1,"totalBytes":60000,"outputLines":1,"outputBytes":51200,"fullOutputPath":"FILE"}}
            "#]]
        } else {
            expect![[r#"
                {"id":"b","type":"response","command":"bash","success":true,"data":{"output":"501… 9500 bytes","exitCode":0,"cancelled":false,"truncated":true,"totalLines":2500,"totalBytes":11393,"outputLines":2000,"outputBytes":9500,"fullOutputPath":"FILE"}}
            "#]]
        };
        expected.assert_eq(&told(&[answer], &folder));
    }
}

#[test]
fn a_command_is_stopped_by_abort_bash_and_by_nothing_else() {
    let folder = Folder::with(TALK);
    let mut child = folder.child(&["--no-session"]);
    child.send(json!({"id": "b", "type": "bash", "command": "echo one; sleep 600"}));
    let mut frames = child.until_type("bash_execution_update");
    frames.extend(child.done(json!({"id": "a", "type": "abort"})));
    frames.extend(child.done(json!({"id": "s", "type": "get_state"})));
    child.send(json!({"id": "x", "type": "abort_bash"}));
    let stopped = |frame: &Value| frame["id"] == "b" && frame["type"] == "response";
    let answered = |frame: &Value| frame["id"] == "x";
    frames.extend(child.until_all(&[&stopped, &answered]));
    frames.extend(child.done(json!({"id": "m", "type": "get_messages"})));
    let (mut answers, events) = answers_and_events(frames);
    answers.sort_by_key(|answer| answer["id"].as_str().unwrap().to_owned());
    expect![[r#"
        {"type":"bash_execution_update","id":"b","delta":"one\n"}
        {"id":"a","type":"response","command":"abort","success":true}
        {"id":"b","type":"response","command":"bash","success":true,"data":{"output":"one\n","cancelled":true,"truncated":false,"totalLines":2,"totalBytes":4,"outputLines":2,"outputBytes":4}}
        {"id":"m","type":"response","command":"get_messages","success":true,"data":{"messages":[{"role":"bashExecution","command":"echo one; sleep 600","output":"one\n","cancelled":true,"truncated":false,"timestamp":"TIME"}]}}
        {"id":"s","type":"response","command":"get_state","success":true,"data":{"model":{"id":"mock","name":"Scenario mock","api":"script","provider":"script","baseUrl":"","reasoning":true,"input":["text","image"],"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0},"contextWindow":200000,"maxTokens":32000,"thinking":{"mode":"effort","efforts":["minimal","low","medium","high","xhigh"],"minLevel":"minimal","maxLevel":"xhigh"}},"thinkingLevel":"medium","isStreaming":false,"isCompacting":false,"steeringMode":"one-at-a-time","followUpMode":"one-at-a-time","interruptMode":"immediate","sessionId":"ID1","autoCompactionEnabled":true,"autoRetryEnabled":true,"messageCount":0,"queuedMessageCount":0,"pendingMessageCount":0,"queuedMessages":{"steering":[],"followUp":[]},"hasPendingAsyncWork":false,"isSettled":true,"fastModeEnabled":false,"fastModeActive":false,"tokensPerSecond":null,"todoPhases":[],"systemPrompt":"…","dumpTools":["read","bash","edit","write","grep","find","ls","todo","job","fetch","subagent"]}}
        {"id":"x","type":"response","command":"abort_bash","success":true}
    "#]].assert_eq(&told(&[events, answers].concat(), &folder));
}

#[test]
fn a_command_during_a_run_is_in_the_conversation_when_the_run_is_over() {
    let folder = Folder::with(TALK);
    let mut child = folder.child(&["--no-session"]);
    child.send(json!({"id": "p", "type": "prompt", "message": "go"}));
    let mut frames = child.until(|frame| frame["assistantMessageEvent"]["type"] == "text_delta");
    frames.extend(ran(&mut child, "echo meanwhile"));
    frames.extend(child.done(json!({"id": "m", "type": "get_messages"})));
    folder.open_gate();
    frames.extend(child.until_type("agent_settled"));
    frames.extend(child.done(json!({"id": "n", "type": "get_messages"})));
    expect![[r#"
        {"id":"p","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
        {"type":"agent_start"}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"go"}],"attribution":"user","timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-1","message":"as it began"}
        {"type":"message_start","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":""}]},"assistantMessageEvent":{"type":"text_start","contentIndex":0,"partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":"Well"}]},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"Well","partial":"=message"},"usage":"=message.usage"}
        {"type":"bash_execution_update","id":"b","delta":"meanwhile\n"}
        {"id":"b","type":"response","command":"bash","success":true,"data":{"output":"meanwhile\n","exitCode":0,"cancelled":false,"truncated":false,"totalLines":2,"totalBytes":10,"outputLines":2,"outputBytes":10}}
        {"id":"m","type":"response","command":"get_messages","success":true,"data":{"messages":[{"role":"user","content":[{"type":"text","text":"go"}],"attribution":"user","timestamp":"TIME"}]}}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":"Well."}]},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":".","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":"Well."}]},"assistantMessageEvent":{"type":"text_end","contentIndex":0,"content":"Well.","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"text","text":"Well."}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"turn_end","message":"msg-2","toolResults":[]}
        {"type":"agent_end","messages":["msg-1","msg-2"],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":2}
        {"type":"prompt_result","id":"p","agentInvoked":true,"status":"completed","sessionSettled":true}
        {"type":"session_settled"}
        {"type":"agent_settled","aborted":false}
        {"id":"n","type":"response","command":"get_messages","success":true,"data":{"messages":[{"role":"user","content":[{"type":"text","text":"go"}],"attribution":"user","timestamp":"TIME"},{"role":"assistant","content":[{"type":"text","text":"Well."}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"},{"role":"bashExecution","command":"echo meanwhile","output":"meanwhile\n","exitCode":0,"cancelled":false,"truncated":false,"timestamp":"TIME"}]}}
    "#]].assert_eq(&told(&frames, &folder));
}

#[test]
fn the_model_hears_of_commands_with_the_next_prompt_but_not_of_those_kept_from_it() {
    let folder = Folder::with(
        r#"
        [model]
        id = "mock"
        [[turn]]
        when = { last_user_contains = "secret" }
        text = "It was told."
        [[turn]]
        when = { last_user_contains = "Ran `echo hello; exit 4`\n```\nhello\n```\n\nCommand exited with code 4" }
        text = "It was told of the other."
        "#,
    );
    let mut child = folder.child(&["--no-session"]);
    child.data(json!({"type": "bash", "command": "echo secret", "excludeFromContext": true}));
    child.data(json!({"type": "bash", "command": "echo hello; exit 4"}));
    child.prompt("what did I do?");
    let mut frames = child.done(json!({"id": "t", "type": "get_last_assistant_text"}));
    frames.extend(child.done(json!({"id": "m", "type": "get_messages"})));
    expect![[r#"
        {"id":"t","type":"response","command":"get_last_assistant_text","success":true,"data":{"text":"It was told of the other."}}
        {"id":"m","type":"response","command":"get_messages","success":true,"data":{"messages":[{"role":"bashExecution","command":"echo secret","output":"secret\n","exitCode":0,"cancelled":false,"truncated":false,"excludeFromContext":true,"timestamp":"TIME"},{"role":"bashExecution","command":"echo hello; exit 4","output":"hello\n","exitCode":4,"cancelled":false,"truncated":false,"timestamp":"TIME"},{"role":"user","content":[{"type":"text","text":"what did I do?"}],"attribution":"user","timestamp":"TIME"},{"role":"assistant","content":[{"type":"text","text":"It was told of the other."}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}]}}
    "#]].assert_eq(&told(&frames, &folder));
}
