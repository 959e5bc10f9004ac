//! What goes on in the background: commands and subagents, in every dialect.

use std::fs::File;
use std::io::{Read, Write};
use std::process::Command;

use expect_test::expect;
use serde_json::{Value, json};

use crate::world::{Child, World};

const PLAN: &str = r#"
on_exhausted = "repeat-last"
[[turn]]
when = { last_user_contains = "start it" }
tool = "bash"
arguments = { command = "cat go; echo finished; exit 3", background = true }
[[turn]]
when = { last_user_contains = "Background job" }
text = "Heard: {{last_user}}"
[[turn]]
when = { last_role = "user" }
text = "You said {{last_user}}"
[[turn]]
text = "{{last_tool_result}}"
"#;

/// A world whose commands wait at these pipes.
pub(crate) fn world_with(plan: &str, config: &str, pipes: &[&str]) -> World {
    let world = World::new(plan, &format!("permission_mode = \"all\"\n{config}"));
    for pipe in pipes {
        let made = Command::new("mkfifo")
            .arg(world.path("work").join(pipe))
            .status();
        assert!(made.unwrap().success());
    }
    world
}

/// Lets the command go on that reads a pipe.
pub(crate) fn release(world: &World, pipe: &str) {
    let mut pipe = File::options()
        .write(true)
        .open(world.path("work").join(pipe))
        .unwrap();
    pipe.write_all(b"went on\n").unwrap();
}

/// Waits until a command has opened a pipe, which it and all it started hold until they end.
pub(crate) fn held(world: &World, pipe: &str) -> File {
    File::open(world.path("work").join(pipe)).unwrap()
}

/// Returns when nobody holds the pipe any more.
pub(crate) fn is_let_go(mut pipe: File) {
    let mut rest = Vec::new();
    pipe.read_to_end(&mut rest).unwrap();
}

pub(crate) fn omp(child: &mut Child, text: &str) -> Vec<Value> {
    child.send(&json!({ "id": "p", "type": "prompt", "message": text }).to_string());
    child.until_type("agent_settled")
}

/// The text of the last answer.
fn said(frames: &[Value]) -> String {
    let ends = frames.iter().rev();
    let mut ends = ends.filter(|frame| frame["type"] == "message_end");
    let last = ends
        .find(|frame| frame["message"]["role"] == "assistant")
        .unwrap();
    let content = last["message"]["content"].as_array().unwrap();
    let texts = content.iter().filter_map(|block| block["text"].as_str());
    texts.collect()
}

/// The result of the last call.
fn result(frames: &[Value]) -> String {
    let ends = frames.iter().rev();
    let mut ends = ends.filter(|frame| frame["type"] == "tool_execution_end");
    let content = &ends.next().unwrap()["result"]["content"];
    content[0]["text"].as_str().unwrap_or_default().to_owned()
}

fn omp_state(child: &mut Child) -> Value {
    child.send(r#"{"id":"s","type":"get_state"}"#);
    child.until_type("response").pop().unwrap()["data"].clone()
}

#[test]
fn omp_is_woken_by_the_end_of_a_command_and_told_once() {
    let world = world_with(PLAN, "", &["go"]);
    let mut child = world.omp();
    let started = omp(&mut child, "start it");
    assert_eq!(said(&started), "Started job-1 in the background.");
    assert_eq!(omp_state(&mut child)["hasPendingAsyncWork"], true);
    child.send(r#"{"id":"j","type":"prompt","message":"/jobs"}"#);
    let listed = child.until_type("prompt_result").remove(0);
    assert_eq!(
        listed["text"],
        "job-1  [running]  cat go; echo finished; exit 3"
    );
    release(&world, "go");
    let lines = child.until(|line| line.contains("agent_settled"));
    let shown = lines.iter().map(|line| child.shown(line));
    let shown = shown.filter(|line| !line.contains("message_update"));
    expect![[r#"
        {"type":"agent_start"}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"ID","message":{"role":"custom","customType":"job","content":"[Background job job-1 ended: exit code 3. Command: cat go; echo finished; exit 3]\nThe end of its output:\nwent on\nfinished","display":true,"details":{"jobs":[{"id":"job-1","kind":"command","status":"failed","what":"cat go; echo finished; exit 3"}]},"timestamp":TIME}}
        {"type":"message_end","messageId":"ID","message":{"role":"custom","customType":"job","content":"[Background job job-1 ended: exit code 3. Command: cat go; echo finished; exit 3]\nThe end of its output:\nwent on\nfinished","display":true,"details":{"jobs":[{"id":"job-1","kind":"command","status":"failed","what":"cat go; echo finished; exit 3"}]},"timestamp":TIME}}
        {"type":"message_start","messageId":"ID","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"~~/work/plan.toml","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":TIME}}
        {"type":"message_end","messageId":"ID","message":{"role":"assistant","content":[{"type":"text","text":"Heard: [Background job job-1 ended: exit code 3. Command: cat go; echo finished; exit 3]\nThe end of its output:\nwent on\nfinished"}],"api":"script","provider":"script","model":"~~/work/plan.toml","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":TIME}}
        {"type":"turn_end","message":{"role":"assistant","content":[{"type":"text","text":"Heard: [Background job job-1 ended: exit code 3. Command: cat go; echo finished; exit 3]\nThe end of its output:\nwent on\nfinished"}],"api":"script","provider":"script","model":"~~/work/plan.toml","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":TIME},"toolResults":[]}
        {"type":"agent_end","messages":[{"role":"custom","customType":"job","content":"[Background job job-1 ended: exit code 3. Command: cat go; echo finished; exit 3]\nThe end of its output:\nwent on\nfinished","display":true,"details":{"jobs":[{"id":"job-1","kind":"command","status":"failed","what":"cat go; echo finished; exit 3"}]},"timestamp":TIME},{"role":"assistant","content":[{"type":"text","text":"Heard: [Background job job-1 ended: exit code 3. Command: cat go; echo finished; exit 3]\nThe end of its output:\nwent on\nfinished"}],"api":"script","provider":"script","model":"~~/work/plan.toml","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":TIME}],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":2}
        {"type":"session_settled"}
        {"type":"agent_settled","aborted":false}"#]].assert_eq(&shown.collect::<Vec<_>>().join("\n"));
    assert_eq!(omp_state(&mut child)["hasPendingAsyncWork"], false);
    let next = omp(&mut child, "hello");
    assert_eq!(said(&next), "You said hello");
    child.end();
}

#[test]
fn a_rewind_to_before_an_end_has_the_model_told_again_once() {
    let plan = format!("{PLAN}\n").replace(
        "[[turn]]\nwhen = { last_role = \"user\" }",
        "[[turn]]\nwhen = { last_user_contains = \"no longer run\" }\ntext = \"Again: {{last_user}}\"\n\
         [[turn]]\nwhen = { last_role = \"user\" }",
    );
    let world = world_with(&plan, "", &["go"]);
    let mut child = world.omp();
    omp(&mut child, "start it");
    omp(&mut child, "hello");
    release(&world, "go");
    child.until_type("agent_settled");
    child.send(r#"{"id":"r","type":"prompt","message":"/rewind 1 --conversation"}"#);
    child.until_type("prompt_result");
    let told = said(&omp(&mut child, "hello"));
    assert!(
        told.starts_with("Again: [These background jobs no longer run: job-1 (`cat go; echo"),
        "{told}"
    );
    assert_eq!(said(&omp(&mut child, "hello")), "You said hello");
    child.end();
}

#[test]
fn a_stopped_agent_is_not_woken_and_told_with_the_next_prompt() {
    let plan = PLAN.replace(
        "[[turn]]\nwhen = { last_role = \"user\" }",
        "[[turn]]\nwhen = { last_user_contains = \"stay\" }\ntool = \"bash\"\n\
         arguments = { command = \"echo > busy; sleep 1000\" }\n\
         [[turn]]\nwhen = { last_role = \"user\" }",
    );
    let world = world_with(&plan, "", &["go", "busy"]);
    let mut child = world.omp();
    omp(&mut child, "start it");
    child.send(r#"{"id":"p","type":"prompt","message":"stay"}"#);
    is_let_go(held(&world, "busy"));
    child.send(r#"{"id":"a","type":"abort"}"#);
    child.until_type("agent_settled");
    release(&world, "go");
    let lines = child.until(|line| line.contains("job-1 has failed."));
    assert!(
        !lines.iter().any(|line| line.contains("agent_start")),
        "{lines:#?}"
    );
    let told = said(&omp(&mut child, "hello"));
    assert!(
        told.starts_with("Heard: [Background job job-1 ended"),
        "{told}"
    );
    child.end();
}

#[test]
fn acp_shows_what_ended_and_what_the_agent_says_to_it() {
    let world = world_with(PLAN, "", &["go"]);
    let (mut child, session) = world.acp(json!({}));
    let prompt =
        |text: &str| json!({ "sessionId": session, "prompt": [{ "type": "text", "text": text }] });
    child.ask_acp(11, "session/prompt", prompt("start it"));
    release(&world, "go");
    let lines = child.until(|line| line.contains("Heard"));
    let shown: Vec<String> = lines
        .iter()
        .map(|line| child.shown_in(&session, line))
        .collect();
    expect![[r#"
        {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"SESSION","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"[Background job job-1 ended: exit code 3. Command: cat go; echo finished; exit 3]\nThe end of its output:\nwent on\nfinished"},"messageId":"ID"}}}
        {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"SESSION","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Heard: [Background job job-1 ended: exit code 3. Command: cat go; echo finished; exit 3]\nThe end of its output:\nwent on\nfinished"},"messageId":"ID"}}}"#]].assert_eq(&shown.join("\n"));
    let lines = child.ask_acp(12, "session/prompt", prompt("/jobs job-1"));
    let shown = lines
        .iter()
        .filter(|line| line.contains("agent_message_chunk"));
    let shown: Vec<String> = shown.map(|line| child.shown_in(&session, line)).collect();
    expect![[r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"SESSION","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"job-1  [failed]  cat go; echo finished; exit 3\nwent on\nfinished"},"messageId":"ID"}}}"#]].assert_eq(&shown.join("\n"));
    child.end();
}

#[test]
fn a_prompt_goes_into_a_run_that_nobody_asked_for() {
    const WOKEN: &str = r#"
on_exhausted = "repeat-last"
[[turn]]
when = { last_user_contains = "start it" }
tool = "bash"
arguments = { command = "cat go", background = true }
[[turn]]
when = { last_user_contains = "Background job" }
tool = "bash"
arguments = { command = "echo > busy; cat more" }
[[turn]]
when = { last_user_contains = "hello" }
text = "Hello to you."
[[turn]]
text = "Done."
"#;
    let world = world_with(WOKEN, "", &["go", "busy", "more"]);
    let (mut child, session) = world.acp(json!({}));
    let prompt =
        |text: &str| json!({ "sessionId": session, "prompt": [{ "type": "text", "text": text }] });
    child.ask_acp(11, "session/prompt", prompt("start it"));
    release(&world, "go");
    is_let_go(held(&world, "busy"));
    child.request_acp(12, "session/prompt", prompt("hello"));
    // The prompt is in the session when a later request is answered.
    child.ask_acp(13, "session/list", json!({}));
    release(&world, "more");
    let lines = child.until_answer(12);
    let is_hello = |line: &String| line.contains("Hello to you.");
    assert!(lines.iter().any(is_hello), "{lines:#?}");
    child.end();
}

#[test]
fn psi_lists_the_job_shows_its_output_and_its_end() {
    let world = world_with(PLAN, "", &["go"]);
    let mut child = world.psi();
    child.ask_psi("t", "subscribe", r#"{:topics ["command-result"]}"#);
    child.ask_psi("1", "prompt", "{:message \"start it\"}");
    child.until(|line| line.contains(":is-streaming false"));
    let listed = child
        .ask_psi("2", "list_background_jobs", "{}")
        .pop()
        .unwrap();
    for part in [
        ":job-id \"job-1\"",
        ":tool-name \"bash\"",
        ":status :running",
    ] {
        assert!(listed.contains(part), "{part}: {listed}");
    }
    release(&world, "go");
    let lines = child.until(|line| line.contains("Heard"));
    let notice = lines.iter().find(|line| line.contains(":custom-type"));
    let notice = notice.unwrap_or_else(|| panic!("{lines:#?}"));
    assert!(
        notice.contains("[Background job job-1 ended: exit code 3."),
        "{notice}"
    );
    child.until(|line| line.contains(":is-streaming false"));
    child.send(r#"{:id "3" :kind :request :op "command" :params {:text "/job job-1"}}"#);
    let shown = child
        .until(|line| line.contains(":event \"command-result\""))
        .pop()
        .unwrap();
    assert!(
        shown.contains(r"job-1  [failed]  bash\ncat go; echo finished; exit 3\nwent on\nfinished"),
        "{shown}"
    );
    child.end();
}

#[test]
fn synaps_hears_of_it_with_the_next_prompt() {
    let world = world_with(PLAN, "", &["go", "over"]);
    let mut child = world.synaps();
    let prompt = |child: &mut Child, text: &str| {
        child.send(&json!({ "type": "prompt", "id": text, "message": text }).to_string());
        child.until(|line| line.contains("\"command\":\"prompt\""))
    };
    prompt(&mut child, "start it");
    release(&world, "go");
    let mut told = prompt(&mut child, "hello");
    // It may still be ending when the first prompt comes.
    while !told.iter().any(|line| line.contains("Heard")) {
        assert!(!told.iter().any(|line| line.contains("auto")), "{told:#?}");
        told = prompt(&mut child, "hello");
    }
    let again = prompt(&mut child, "hello");
    assert!(
        again.iter().any(|line| line.contains("You said hello")),
        "{again:#?}"
    );
    child.end();
}

#[test]
fn a_program_that_answers_one_prompt_waits_and_says_so() {
    const SHORT: &str = r#"
on_exhausted = "repeat-last"
[[turn]]
when = { last_user_contains = "start it" }
tool = "bash"
arguments = { command = "echo finished", background = true }
[[turn]]
when = { last_user_contains = "Background job" }
text = "Heard: {{last_user}}"
[[turn]]
text = "Started."
"#;
    let world = world_with(SHORT, "", &[]);
    let out = world.asked(&["-p", "start it"]);
    assert!(out.ends_with("Heard: [Background job job-1 ended: exit code 0. Command: echo finished]\nThe end of its output:\nfinished\n"), "{out}");
}

#[test]
fn a_program_that_does_not_wait_stops_what_runs_and_says_so() {
    const SERVER: &str = r#"
on_exhausted = "repeat-last"
[[turn]]
when = { last_user_contains = "start it" }
tool = "bash"
arguments = { command = "exec 3> alive; trap '' TERM; while :; do sleep 1000; done", background = true }
[[turn]]
tool = "bash"
arguments = { command = "cat started" }
[[turn]]
text = "Started."
"#;
    let world = world_with(SERVER, "", &["alive", "started"]);
    let mut child = world.child(&["-p", "start it", "--wait", "0"]);
    let alive = held(&world, "alive");
    release(&world, "started");
    assert_eq!(child.next(), "Started.");
    let err = child.end_and_stderr();
    assert!(
        err.contains(
            "note: stopping job-1 (exec 3> alive; trap '' TERM; while :; do sleep 1000; done)"
        ),
        "{err}"
    );
    is_let_go(alive);
}

const INTERACTIVE: &str = r#"
on_exhausted = "repeat-last"
[[turn]]
when = { last_user_contains = "pipe" }
steps = [{ tool = "bash", arguments = { command = "cat; echo end", stdin = true } }]
[[turn]]
when = { last_user_contains = "terminal" }
steps = [{ tool = "bash", arguments = { command = "tty > /dev/null && stty size && read line < /dev/tty && echo got $line", pty = true } }]
[[turn]]
when = { last_user_contains = "no input" }
steps = [{ tool = "bash", arguments = { command = "cat; cat go", background = true } }]
[[turn]]
when = { last_user_contains = "write one" }
steps = [{ tool = "job", arguments = { action = "write", id = "job-1", text = "one\n" } }]
[[turn]]
when = { last_user_contains = "close" }
steps = [{ tool = "job", arguments = { action = "write", id = "job-1", text = "two\n", eof = true } }]
[[turn]]
when = { last_user_contains = "read" }
steps = [{ tool = "job", arguments = { action = "read", id = "job-1" } }]
[[turn]]
when = { last_user_contains = "Background job" }
text = "{{last_user}}"
[[turn]]
text = "Done."
"#;

#[test]
fn a_command_is_written_to_through_a_pipe() {
    let world = world_with(INTERACTIVE, "", &[]);
    let mut child = world.omp();
    omp(&mut child, "a pipe");
    assert_eq!(result(&omp(&mut child, "write one")), "Written to job-1.");
    // It may end before the run that closes its input does.
    let mut frames = omp(&mut child, "close");
    if said(&frames) == "Done." {
        frames = child.until_type("agent_settled");
    }
    assert_eq!(
        said(&frames),
        "[Background job job-1 ended: exit code 0. Command: cat; echo end]\nThe end of its output:\none\ntwo\nend"
    );
    assert_eq!(
        result(&omp(&mut child, "write one")),
        "[job-1 ended: exit code 0]"
    );
    assert_eq!(
        result(&omp(&mut child, "read")),
        "one\ntwo\nend\n\n[job-1 ended: exit code 0]"
    );
    assert_eq!(
        result(&omp(&mut child, "read")),
        "[job-1 ended: exit code 0] There is no new output."
    );
    child.end();
}

#[test]
fn a_command_has_a_terminal_when_it_wants_one() {
    let world = world_with(INTERACTIVE, "", &[]);
    let mut child = world.omp();
    omp(&mut child, "a terminal");
    // It may end before the run that writes to it does.
    child.send(r#"{"id":"p","type":"prompt","message":"write one"}"#);
    let frames =
        child.until(|line| line.contains("Background job job-1") && line.contains("agent_end"));
    let text = frames.last().unwrap();
    assert!(text.contains(r"ended: exit code 0"), "{text}");
    for part in ["40 120", "got one"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    child.end();
}

#[test]
fn a_command_without_input_cannot_be_written_to() {
    let world = world_with(INTERACTIVE, "", &["go"]);
    let mut child = world.omp();
    omp(&mut child, "no input");
    assert_eq!(
        result(&omp(&mut child, "write one")),
        "job-1: it has no input: start it with `stdin` or `pty` to write to it."
    );
    child.end();
}

#[test]
fn rules_for_commands_hold_for_what_is_written_to_a_shell_also_in_pieces() {
    const SHELL: &str = r#"
on_exhausted = "repeat-last"
[[turn]]
when = { last_user_contains = "begin" }
steps = [{ tool = "bash", arguments = { command = "cat", stdin = true } }]
[[turn]]
when = { last_user_contains = "whole" }
steps = [{ tool = "job", arguments = { action = "write", id = "job-1", text = "rm kept\n" } }]
[[turn]]
when = { last_user_contains = "first piece" }
steps = [{ tool = "job", arguments = { action = "write", id = "job-1", text = "r" } }]
[[turn]]
when = { last_user_contains = "second piece" }
steps = [{ tool = "job", arguments = { action = "write", id = "job-1", text = "m kept\n" } }]
[[turn]]
text = "Done."
"#;
    let rule = "[[permissions]]\ntool = \"bash\"\ncommand = \"rm *\"\ndecision = \"deny\"\n";
    let world = world_with(SHELL, rule, &[]);
    world.file("work/kept", "");
    let mut child = world.omp();
    // A shell is asked about where commands are denied: what it runs cannot be seen.
    omp(&mut child, "begin");
    let denied = result(&omp(&mut child, "whole"));
    assert!(
        denied.contains("rm kept") || denied.contains("rm *"),
        "{denied}"
    );
    assert_eq!(result(&omp(&mut child, "first piece")), "Written to job-1.");
    let denied = result(&omp(&mut child, "second piece"));
    assert!(denied.contains("rm *"), "{denied}");
    child.end();
    assert!(world.path("work/kept").exists());
}

const STUBBORN: &str = r#"
on_exhausted = "repeat-last"
[[turn]]
when = { last_user_contains = "start it" }
tool = "bash"
arguments = { command = "exec 3> alive; trap '' TERM; while :; do sleep 1000; done", background = true }
[[turn]]
when = { last_user_contains = "stop it" }
tool = "job"
arguments = { action = "stop", id = "job-1" }
[[turn]]
when = { last_user_contains = "no longer run" }
text = "Heard: {{last_user}}"
[[turn]]
when = { last_role = "user" }
text = "You said {{last_user}}"
[[turn]]
text = "Done."
"#;

#[test]
fn a_command_that_ignores_the_polite_signal_is_killed_with_all_it_started() {
    let world = world_with(STUBBORN, "", &["alive"]);
    let mut child = world.omp();
    omp(&mut child, "start it");
    let alive = held(&world, "alive");
    let stopped = omp(&mut child, "stop it");
    assert_eq!(result(&stopped), "[job-1 ended: stopped]");
    is_let_go(alive);
    // The model had it stopped, so that is no news.
    assert_eq!(said(&omp(&mut child, "hello")), "You said hello");
    child.end();
}

#[test]
fn nothing_outlives_its_session_however_that_ends() {
    let world = world_with(STUBBORN, "", &["alive"]);
    let mut child = world.omp();
    omp(&mut child, "start it");
    let alive = held(&world, "alive");
    child.end();
    is_let_go(alive);
    let mut child = world.omp();
    omp(&mut child, "start it");
    let alive = held(&world, "alive");
    child.send(r#"{"id":"n","type":"new_session"}"#);
    is_let_go(alive);
    omp(&mut child, "start it");
    let alive = held(&world, "alive");
    rustix::process::kill_process(child.pid(), rustix::process::Signal::KILL).unwrap();
    is_let_go(alive);
}

#[test]
fn a_session_that_is_resumed_says_once_that_its_commands_are_gone() {
    let world = world_with(STUBBORN, "", &["alive"]);
    let child = world.child(&["-p", "start it"]);
    let alive = held(&world, "alive");
    rustix::process::kill_process(child.pid(), rustix::process::Signal::KILL).unwrap();
    is_let_go(alive);
    drop(child);
    let told = world.asked(&["-c", "-p", "hello"]);
    assert_eq!(
        told,
        "Heard: [These background jobs no longer run: job-1 (`exec 3> alive; trap '' TERM; while :; do sleep 1000; done`). They ended with the process that ran them, or belong to the session that this one was copied from.]\n"
    );
    assert_eq!(world.asked(&["-c", "-p", "hello"]), "You said hello\n");
}

#[test]
fn a_command_that_prints_for_ever_costs_no_memory_and_what_is_left_out_is_counted() {
    const LOUD: &str = r#"
on_exhausted = "repeat-last"
[[turn]]
when = { last_user_contains = "start it" }
tool = "bash"
arguments = { command = "exec 3> alive; yes | head -c 20000000; echo > much; yes", background = true }
[[turn]]
when = { last_user_contains = "read" }
tool = "job"
arguments = { action = "read", id = "job-1" }
[[turn]]
when = { last_user_contains = "stop" }
tool = "job"
arguments = { action = "stop", id = "job-1" }
[[turn]]
text = "Done."
"#;
    let world = world_with(LOUD, "", &["alive", "much"]);
    let mut child = world.omp();
    omp(&mut child, "start it");
    let before = child.resident();
    let alive = held(&world, "alive");
    is_let_go(held(&world, "much"));
    let text = result(&omp(&mut child, "read"));
    // It prints on, at an unknown speed.
    let (left_out, _) = text.strip_prefix('[').unwrap().split_once(' ').unwrap();
    let is_much = match left_out.strip_suffix("MB") {
        Some(megabytes) => megabytes.parse::<f64>().unwrap() >= 19.0,
        None => left_out.ends_with("GB"),
    };
    assert!(is_much, "{}", &text[..200]);
    assert!(child.resident() < before + (8 << 20));
    omp(&mut child, "stop");
    is_let_go(alive);
    child.end();
}

const DELEGATED: &str = r#"
on_exhausted = "repeat-last"
[[turn]]
when = { system_contains = "as a subagent", last_role = "user" }
tool = "bash"
arguments = { command = "cat go" }
usage = { input = 100, output = 10 }
[[turn]]
when = { system_contains = "as a subagent" }
text = "It says {{last_tool_result}}"
[[turn]]
when = { last_user_contains = "delegate" }
tool = "subagent"
arguments = { task = "look at it", background = true }
[[turn]]
when = { last_user_contains = "Background job" }
text = "Heard: {{last_user}}"
[[turn]]
text = "Going on."
"#;

#[test]
fn subagents_in_the_background_share_the_budget_of_their_session() {
    let start = "{ tool = \"subagent\", arguments = { task = \"work\", background = true } }";
    let plan = format!(
        r#"
usage = {{ input = 10 }}
on_exhausted = "repeat-last"
[[turn]]
when = {{ system_contains = "as a subagent" }}
tool = "bash"
arguments = {{ command = "true" }}
[[turn]]
steps = [{start}, {start}, {start}, {start}]
[[turn]]
text = "Going on."
"#
    );
    let world = world_with(&plan, "[budget]\ntokens = 200\n", &[]);
    // The model is told when the first has ended, and nothing is left for that.
    let words = ["-p", "start", "--tools", "bash,subagent"];
    let out = world.command(&words).output().unwrap();
    let err = String::from_utf8_lossy(&out.stderr);
    assert_eq!(out.status.code(), Some(1), "{err}");
    assert!(err.contains("Budget reached: "), "{err}");
    let usage: Value = serde_json::from_str(&world.asked(&["usage", "--json"])).unwrap();
    let spent = usage["total"]["usage"]["totalTokens"].as_u64().unwrap();
    // The calls that run when the last token is spent are paid for, too.
    assert!(spent <= 240, "{usage}");
    let models = usage["models"].as_array().unwrap().iter();
    let models: Vec<&str> = models.map(|row| row["model"].as_str().unwrap()).collect();
    let plan = format!("script/{}", world.path("work/plan.toml").display());
    assert_eq!(models, [plan]);
}

#[test]
fn a_subagent_in_the_background_reports_by_a_message() {
    let world = world_with(DELEGATED, "", &["go"]);
    let mut child = world.omp();
    let started = omp(&mut child, "delegate");
    assert_eq!(result(&started), "Started in the background: job-1.");
    assert_eq!(said(&started), "Going on.");
    release(&world, "go");
    let frames = child.until_type("agent_settled");
    assert_eq!(
        said(&frames),
        "Heard: [Background job job-1 (subagent general) has ended.]\nIt says went on"
    );
    child.end();
}

#[test]
fn what_a_subagent_in_the_background_consumes_counts_in_its_session() {
    let world = world_with(DELEGATED, "budget.tokens = 110\n", &["go"]);
    let mut child = world.omp();
    omp(&mut child, "delegate");
    release(&world, "go");
    let lines = child.until(|line| line.contains("agent_settled"));
    let reached = "Budget reached: 110 of 110 tokens are used.";
    assert!(
        lines.iter().any(|line| line.contains(reached)),
        "{lines:#?}"
    );
    child.end();
}
