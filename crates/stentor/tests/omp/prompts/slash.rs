//! Slash commands: listed, told of, used (sections 6.1, 6.4 and 19).

use expect_test::expect;
use serde_json::{Value, json};

use crate::child::{Child, Folder};
use crate::transcript::told;

/// A model that says what it was told, and one word that keeps it busy.
const ECHO: &str = r#"
on_exhausted = { text = "You said: {{last_user}}" }
[model]
id = "mock"
[[turn]]
when = { last_user_contains = "go" }
steps = [{ text = "Well" }, { wait_for = "../gate" }, { text = "." }]
"#;

/// An extension with a command that says something, one that asks the agent, one that asks the
/// user, and one that fails.
const DEPLOY: &str = include_str!("../extensions/deploy.py");

/// A folder with a template, a skill and an agent.
fn folder() -> Folder {
    let folder = Folder::with(ECHO);
    folder
        .file(
            ".claude/commands/review.md",
            "---\ndescription: Review a file\nargument-hint: FILE\n---\nReview $1.\n",
        )
        .file(
            "../home/.pi/agent/skills/pdf/SKILL.md",
            "---\nname: pdf\ndescription: Works with PDFs\n---\nUse pdftotext.\n",
        )
        .file(
            ".omp/agents/tester.md",
            "---\nname: tester\ndescription: Tests\n---\nYou test.\n",
        );
    folder
}

/// A child whose extension is there.
fn with_extension(folder: &Folder) -> Child {
    folder.file("deploy.py", DEPLOY);
    let words = ["--no-session", "--extension", "deploy.py"];
    let mut child = folder.child(&words);
    child.until(|frame| {
        frame["type"] == "available_commands_update" && frame.to_string().contains("deploy")
    });
    child
}

#[test]
fn commands_are_told_after_ready_and_listed_in_the_words_of_both_families() {
    let folder = folder();
    let mut child = folder.child(&["--no-session"]);
    let mut frames = child.until_type("available_commands_update");
    frames.extend(child.done(json!({"id": 1, "type": "get_commands"})));
    frames.extend(child.done(json!({"id": 2, "type": "get_available_commands"})));
    expect![[r#"
        {"type":"available_commands_update","commands":[{"name":"plan","description":"Plan first: only read until you have accepted a plan","input":{"hint":"[on|off]"},"source":"builtin"},{"name":"rewind","description":"Go back to the point before a message: files, conversation or both","input":{"hint":"[MESSAGE] [--files|--conversation] [--force], or --undo"},"source":"builtin"},{"name":"jobs","description":"List what runs in the background, show its output, or stop it","input":{"hint":"[ID], or stop ID"},"source":"builtin"},{"name":"review","description":"Review a file","input":{"hint":"FILE"},"source":"file"},{"name":"skill:pdf","description":"Works with PDFs","source":"skill"},{"name":"agent:tester","description":"Tests","input":{"hint":"the task"},"source":"custom"}]}
        {"id":1,"type":"response","command":"get_commands","success":true,"data":{"commands":[{"name":"review","description":"Review a file","source":"prompt","sourceInfo":{"path":"ROOT/work/.claude/commands/review.md","source":"local","scope":"project","origin":"top-level"}},{"name":"skill:pdf","description":"Works with PDFs","source":"skill","sourceInfo":{"path":"ROOT/home/.pi/agent/skills/pdf/SKILL.md","source":"local","scope":"user","origin":"top-level"}},{"name":"agent:tester","description":"Tests","source":"prompt","sourceInfo":{"path":"ROOT/work/.omp/agents/tester.md","source":"local","scope":"project","origin":"top-level"}}]}}
        {"id":2,"type":"response","command":"get_available_commands","success":true,"data":{"commands":[{"name":"plan","description":"Plan first: only read until you have accepted a plan","input":{"hint":"[on|off]"},"source":"builtin"},{"name":"rewind","description":"Go back to the point before a message: files, conversation or both","input":{"hint":"[MESSAGE] [--files|--conversation] [--force], or --undo"},"source":"builtin"},{"name":"jobs","description":"List what runs in the background, show its output, or stop it","input":{"hint":"[ID], or stop ID"},"source":"builtin"},{"name":"review","description":"Review a file","input":{"hint":"FILE"},"source":"file"},{"name":"skill:pdf","description":"Works with PDFs","source":"skill"},{"name":"agent:tester","description":"Tests","input":{"hint":"the task"},"source":"custom"}]}}
    "#]].assert_eq(&told(&frames, &folder));
}

#[test]
fn flags_leave_out_templates_and_skills() {
    let folder = folder();
    let mut child = folder.child(&["--no-session", "--no-skills", "--no-prompt-templates"]);
    let answer = child.ask(json!({"type": "get_commands"}));
    expect![[r#"
        {"id":"asked","type":"response","command":"get_commands","success":true,"data":{"commands":[{"name":"agent:tester","description":"Tests","source":"prompt","sourceInfo":{"path":"ROOT/work/.omp/agents/tester.md","source":"local","scope":"project","origin":"top-level"}}]}}
    "#]].assert_eq(&told(&[answer], &folder));
}

#[test]
fn templates_and_skills_are_expanded_in_whatever_is_said() {
    let folder = folder();
    let mut child = folder.child(&["--no-session"]);
    child.until_type("available_commands_update");
    let mut frames =
        child.done(json!({"id": 1, "type": "follow_up", "message": "/skill:pdf merge them"}));
    frames.extend(child.prompt("/review main.rs"));
    expect![[r#"
        {"type":"queue_update","steering":[],"followUp":["<skill name=\"pdf\" location=\"ROOT/home/.pi/agent/skills/pdf/SKILL.md\">\nPaths in it are relative to ROOT/home/.pi/agent/skills/pdf.\n\nUse pdftotext.\n</skill>\n\nmerge them"]}
        {"id":1,"type":"response","command":"follow_up","success":true,"data":{"disposition":"queued"}}
        {"id":"prompt","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
        {"type":"agent_start"}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"Review main.rs.\n"}],"attribution":"user","timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-1","message":"as it began"}
        {"type":"message_start","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":""}]},"assistantMessageEvent":{"type":"text_start","contentIndex":0,"partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":"You said: Review main.rs.\n"}]},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"You said: Review main.rs.\n","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":"You said: Review main.rs.\n"}]},"assistantMessageEvent":{"type":"text_end","contentIndex":0,"content":"You said: Review main.rs.\n","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"text","text":"You said: Review main.rs.\n"}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"turn_end","message":"msg-2","toolResults":[]}
        {"type":"turn_start"}
        {"type":"queue_update","steering":[],"followUp":[]}
        {"type":"message_start","messageId":"msg-3","message":{"role":"user","content":[{"type":"text","text":"<skill name=\"pdf\" location=\"ROOT/home/.pi/agent/skills/pdf/SKILL.md\">\nPaths in it are relative to ROOT/home/.pi/agent/skills/pdf.\n\nUse pdftotext.\n</skill>\n\nmerge them"}],"attribution":"user","timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-3","message":"as it began"}
        {"type":"message_start","messageId":"msg-4","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-4","message":{"…":"as it began","content":[{"type":"text","text":""}]},"assistantMessageEvent":{"type":"text_start","contentIndex":0,"partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-4","message":{"…":"as it began","content":[{"type":"text","text":"You said: <skill name=\"pdf\" location=\"ROOT/home/.pi/agent/skills/pdf/SKILL.md\">\nPaths in it are relative to ROOT/home/.pi/agent/skills/pdf.\n\nUse pdftotext.\n</skill>\n\nmerge them"}]},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"You said: <skill name=\"pdf\" location=\"ROOT/home/.pi/agent/skills/pdf/SKILL.md\">\nPaths in it are relative to ROOT/home/.pi/agent/skills/pdf.\n\nUse pdftotext.\n</skill>\n\nmerge them","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-4","message":{"…":"as it began","content":[{"type":"text","text":"You said: <skill name=\"pdf\" location=\"ROOT/home/.pi/agent/skills/pdf/SKILL.md\">\nPaths in it are relative to ROOT/home/.pi/agent/skills/pdf.\n\nUse pdftotext.\n</skill>\n\nmerge them"}]},"assistantMessageEvent":{"type":"text_end","contentIndex":0,"content":"You said: <skill name=\"pdf\" location=\"ROOT/home/.pi/agent/skills/pdf/SKILL.md\">\nPaths in it are relative to ROOT/home/.pi/agent/skills/pdf.\n\nUse pdftotext.\n</skill>\n\nmerge them","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_end","messageId":"msg-4","message":{"role":"assistant","content":[{"type":"text","text":"You said: <skill name=\"pdf\" location=\"ROOT/home/.pi/agent/skills/pdf/SKILL.md\">\nPaths in it are relative to ROOT/home/.pi/agent/skills/pdf.\n\nUse pdftotext.\n</skill>\n\nmerge them"}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"turn_end","message":"msg-4","toolResults":[]}
        {"type":"agent_end","messages":["msg-1","msg-2","msg-3","msg-4"],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":4}
        {"type":"prompt_result","id":"prompt","agentInvoked":true,"status":"completed","sessionSettled":true}
        {"type":"session_settled"}
        {"type":"agent_settled","aborted":false}
    "#]].assert_eq(&told(&frames, &folder));
}

#[test]
fn a_command_nobody_has_is_said_as_it_is() {
    let folder = folder();
    let mut child = folder.child(&["--no-session"]);
    child.until_type("available_commands_update");
    expect![[r#"
        {"id":"prompt","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
        {"type":"agent_start"}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"/nothing at all"}],"attribution":"user","timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-1","message":"as it began"}
        {"type":"message_start","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":""}]},"assistantMessageEvent":{"type":"text_start","contentIndex":0,"partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":"You said: /nothing at all"}]},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"You said: /nothing at all","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":"You said: /nothing at all"}]},"assistantMessageEvent":{"type":"text_end","contentIndex":0,"content":"You said: /nothing at all","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"text","text":"You said: /nothing at all"}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"turn_end","message":"msg-2","toolResults":[]}
        {"type":"agent_end","messages":["msg-1","msg-2"],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":2}
        {"type":"prompt_result","id":"prompt","agentInvoked":true,"status":"completed","sessionSettled":true}
        {"type":"session_settled"}
        {"type":"agent_settled","aborted":false}
    "#]].assert_eq(&told(&child.prompt("/nothing at all"), &folder));
}

#[test]
fn a_command_of_an_extension_runs_at_once_and_no_model_is_asked() {
    let folder = Folder::with(ECHO);
    let mut child = with_extension(&folder);
    let mut frames = Vec::new();
    for (id, message) in [("d", "/deploy prod"), ("q", "/quiet"), ("b", "/boom")] {
        child.send(json!({"id": id, "type": "prompt", "message": message}));
        frames.extend(child.until_type("prompt_result"));
    }
    frames.push(child.ask(json!({"type": "get_messages"})));
    expect![[r#"
        {"type":"command_output","text":"deployed to prod"}
        {"id":"d","type":"response","command":"prompt","success":true,"data":{"disposition":"handled","agentInvoked":false}}
        {"type":"prompt_result","id":"d","agentInvoked":false,"status":"completed","sessionSettled":true}
        {"id":"q","type":"response","command":"prompt","success":true,"data":{"disposition":"handled","agentInvoked":false}}
        {"type":"prompt_result","id":"q","agentInvoked":false,"status":"completed","sessionSettled":true}
        {"type":"extension_error","extensionPath":"command:boom","event":"command","error":"kaboom"}
        {"id":"b","type":"response","command":"prompt","success":true,"data":{"disposition":"handled","agentInvoked":false}}
        {"type":"prompt_result","id":"b","agentInvoked":false,"status":"error","error":{"message":"kaboom","retryable":false},"sessionSettled":true}
        {"id":"asked","type":"response","command":"get_messages","success":true,"data":{"messages":[]}}
    "#]].assert_eq(&told(&frames, &folder));
}

#[test]
fn a_command_of_an_extension_runs_while_the_agent_works() {
    let folder = Folder::with(ECHO);
    let mut child = with_extension(&folder);
    child.send(json!({"id": "p", "type": "prompt", "message": "go"}));
    child.until(|frame| frame["assistantMessageEvent"]["type"] == "text_delta");
    child.send(json!({"id": "d", "type": "prompt", "message": "/deploy prod"}));
    let frames = child.until_type("prompt_result");
    expect![[r#"
        {"type":"command_output","text":"deployed to prod"}
        {"id":"d","type":"response","command":"prompt","success":true,"data":{"disposition":"handled","agentInvoked":false}}
        {"type":"prompt_result","id":"d","agentInvoked":false,"status":"completed","sessionSettled":false}
    "#]].assert_eq(&told(&frames, &folder));
}

#[test]
fn a_command_of_an_extension_may_ask_the_user_before_it_is_answered() {
    let folder = Folder::with(ECHO);
    let mut child = with_extension(&folder);
    child.send(json!({"id": "w", "type": "prompt", "message": "/where"}));
    let mut frames = child.until_type("extension_ui_request");
    let question = frames.last().unwrap()["id"].clone();
    child.send(json!({"type": "extension_ui_response", "id": question, "value": "home"}));
    frames.extend(child.until_type("prompt_result"));
    expect![[r#"
        {"type":"extension_ui_request","id":"1000000100000001","method":"input","title":"Where to?"}
        {"type":"command_output","text":"gone home"}
        {"id":"w","type":"response","command":"prompt","success":true,"data":{"disposition":"handled","agentInvoked":false}}
        {"type":"prompt_result","id":"w","agentInvoked":false,"status":"completed","sessionSettled":true}
    "#]].assert_eq(&told(&frames, &folder));
}

#[test]
fn a_command_of_an_extension_may_ask_the_agent() {
    let folder = Folder::with(ECHO);
    let mut child = with_extension(&folder);
    let frames = child.prompt("/ask a dog");
    expect![[r#"
        {"id":"prompt","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
        {"type":"agent_start"}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"Draw a dog"}],"attribution":"user","timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-1","message":"as it began"}
        {"type":"message_start","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":""}]},"assistantMessageEvent":{"type":"text_start","contentIndex":0,"partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":"You said: Draw a dog"}]},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"You said: Draw a dog","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":"You said: Draw a dog"}]},"assistantMessageEvent":{"type":"text_end","contentIndex":0,"content":"You said: Draw a dog","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"text","text":"You said: Draw a dog"}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"turn_end","message":"msg-2","toolResults":[]}
        {"type":"agent_end","messages":["msg-1","msg-2"],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":2}
        {"type":"prompt_result","id":"prompt","agentInvoked":true,"status":"completed","sessionSettled":true}
        {"type":"session_settled"}
        {"type":"agent_settled","aborted":false}
    "#]].assert_eq(&told(&frames, &folder));
}

#[test]
fn a_command_of_an_extension_is_not_queued() {
    let folder = Folder::with(ECHO);
    let mut child = with_extension(&folder);
    let mut frames = child.done(json!({"id": 1, "type": "steer", "message": "/deploy prod"}));
    frames.extend(child.done(json!({"id": 2, "type": "follow_up", "message": "/deploy prod"})));
    expect![[r#"
        {"id":1,"type":"response","command":"steer","success":false,"error":"Extension command \"/deploy\" cannot be queued. Use prompt() or execute the command when not streaming."}
        {"id":2,"type":"response","command":"follow_up","success":false,"error":"Extension command \"/deploy\" cannot be queued. Use prompt() or execute the command when not streaming."}
    "#]].assert_eq(&told(&frames, &folder));
}

#[test]
fn commands_that_change_are_told_anew() {
    let folder = folder();
    let mut child = folder.child(&["--no-session"]);
    child.until_type("available_commands_update");
    folder.file(".stentor/prompts/lines.md", "Count the lines of $1.\n");
    child.send(json!({"id": "p", "type": "prompt", "message": "hello"}));
    let is_update = |frame: &Value| frame["type"] == "available_commands_update";
    let settled = |frame: &Value| frame["type"] == "agent_settled";
    // They are looked at again when a run begins, beside what the run tells.
    let frames = child.until_all(&[&is_update, &settled]);
    let (updates, run): (Vec<Value>, Vec<Value>) = frames.into_iter().partition(is_update);
    expect![[r#"
        {"type":"available_commands_update","commands":[{"name":"plan","description":"Plan first: only read until you have accepted a plan","input":{"hint":"[on|off]"},"source":"builtin"},{"name":"rewind","description":"Go back to the point before a message: files, conversation or both","input":{"hint":"[MESSAGE] [--files|--conversation] [--force], or --undo"},"source":"builtin"},{"name":"jobs","description":"List what runs in the background, show its output, or stop it","input":{"hint":"[ID], or stop ID"},"source":"builtin"},{"name":"lines","description":"Count the lines of $1.","source":"file"},{"name":"review","description":"Review a file","input":{"hint":"FILE"},"source":"file"},{"name":"skill:pdf","description":"Works with PDFs","source":"skill"},{"name":"agent:tester","description":"Tests","input":{"hint":"the task"},"source":"custom"}]}
    "#]].assert_eq(&told(&updates, &folder));
    expect![[r#"
        {"id":"p","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
        {"type":"agent_start"}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"hello"}],"attribution":"user","timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-1","message":"as it began"}
        {"type":"message_start","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":""}]},"assistantMessageEvent":{"type":"text_start","contentIndex":0,"partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":"You said: hello"}]},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"You said: hello","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":"You said: hello"}]},"assistantMessageEvent":{"type":"text_end","contentIndex":0,"content":"You said: hello","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"text","text":"You said: hello"}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"turn_end","message":"msg-2","toolResults":[]}
        {"type":"agent_end","messages":["msg-1","msg-2"],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":2}
        {"type":"prompt_result","id":"p","agentInvoked":true,"status":"completed","sessionSettled":true}
        {"type":"session_settled"}
        {"type":"agent_settled","aborted":false}
    "#]].assert_eq(&told(&run, &folder));
}
