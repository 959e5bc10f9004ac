//! `stentor mcp serve`: another agent prompts, steers and reads, over real pipes.

use expect_test::expect;
use serde_json::{Value, json};
use std::io::Write;
use std::process::Stdio;
use stentor_test_support::{KillOnDrop, Lines};

use crate::world::World;

/// A client of the server.
struct Client {
    child: KillOnDrop,
    lines: Lines,
    last_id: u64,
}

impl Client {
    fn start(world: &World, words: &[&str], capabilities: Value) -> Self {
        let mut all = vec!["mcp", "serve", "--model", "script/plan.toml"];
        all.extend(words);
        let mut command = world.command(&all);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = KillOnDrop(command.spawn().unwrap());
        let lines = Lines::of(child.0.stdout.take().unwrap());
        let mut client = Self {
            child,
            lines,
            last_id: 0,
        };
        let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": capabilities, "clientInfo": { "name": "t", "version": "1" } });
        let answer = client.ask("initialize", hello);
        assert_eq!(answer["result"]["protocolVersion"], "2025-06-18");
        client.write(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        client
    }

    fn write(&mut self, message: &Value) {
        writeln!(self.child.0.stdin.as_mut().unwrap(), "{message}").unwrap();
    }

    fn send(&mut self, method: &str, params: Value) -> u64 {
        self.last_id += 1;
        let id = self.last_id;
        self.write(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    fn read(&mut self) -> Value {
        serde_json::from_str(&self.lines.recv().expect("a line")).unwrap()
    }

    /// Everything up to and with the first message that fits.
    fn until(&mut self, fits: impl Fn(&Value) -> bool) -> Vec<Value> {
        let mut messages = Vec::new();
        loop {
            let message = self.read();
            let is_last = fits(&message);
            messages.push(message);
            if is_last {
                return messages;
            }
        }
    }

    fn answer(&mut self, id: u64) -> Value {
        let mut all = self.until(|message| message["id"] == id && message.get("method").is_none());
        all.pop().unwrap()
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        self.answer(id)
    }

    fn send_call(&mut self, tool: &str, arguments: Value) -> u64 {
        self.send(
            "tools/call",
            json!({ "name": tool, "arguments": arguments }),
        )
    }

    /// The data of a call's result.
    fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let id = self.send_call(tool, arguments);
        self.answer(id)["result"]["structuredContent"].take()
    }

    /// What a call failed with.
    fn failure(&mut self, tool: &str, arguments: Value) -> String {
        let id = self.send_call(tool, arguments);
        let result = self.answer(id)["result"].take();
        assert_eq!(result["isError"], true, "{result}");
        result["content"][0]["text"].as_str().unwrap().to_owned()
    }

    /// Closes the input and waits for the end.
    fn end(mut self) {
        drop(self.child.0.stdin.take());
        self.lines.rest();
        assert_eq!(self.child.0.wait().unwrap().code(), Some(0));
    }
}

fn world(scenario: &str) -> World {
    let world = World::new();
    world.file("work/plan.toml", scenario);
    world
}

const HELLO: &str = "[model]\nprices = { input = 1, output = 2, cache_read = 0, cache_write = 0 }\n[[turn]]\ntext = \"Hello.\"\nusage = { input = 10, output = 5 }\n[[turn]]\ntext = \"Again: {{last_user}}\"\nusage = { input = 10, output = 5 }\n";

#[test]
fn a_prompt_is_answered_with_its_session_and_the_session_goes_on() {
    let world = world(HELLO);
    let mut client = Client::start(&world, &[], json!({}));
    let first = client.call("prompt", json!({ "prompt": "hi" }));
    let id = first["session_id"].as_str().unwrap().to_owned();
    let shown = first.to_string().replace(&id, "ID");
    expect![[r#"{"session_id":"ID","status":"done","text":"Hello.","error":null,"usage":{"input_tokens":10,"output_tokens":5,"total_tokens":15,"cost_usd":0.00002}}"#]].assert_eq(&shown);
    client.end();

    // Another process goes on with it.
    let mut client = Client::start(&world, &[], json!({}));
    let listed = client.call("sessions", json!({}));
    assert_eq!(listed["sessions"][0]["session_id"], id);
    assert_eq!(listed["sessions"][0]["first_message"], "hi");
    let second = client.call("prompt", json!({ "prompt": "more", "session_id": id }));
    assert_eq!(second["text"], "Again: more");
    let read = client.call("read_session", json!({ "session_id": id, "last": 3 }));
    let shown = read["messages"].to_string();
    expect![[r#"[{"role":"assistant","text":"Hello.","calls":[],"error":null},{"role":"user","text":"more"},{"role":"assistant","text":"Again: more","calls":[],"error":null}]"#]].assert_eq(&shown);
    assert_eq!(read["earlier_messages"], 1);
    let status = client.call("status", json!({ "session_id": id }));
    assert_eq!(
        (&status["status"], &status["usage"]["total_tokens"]),
        (&json!("idle"), &json!(30))
    );
    client.end();
}

const WORKS: &str = r#"
[[turn]]
tool = "bash"
arguments = { command = "touch begun; while [ ! -e go-on ]; do sleep 0.01; done; echo over" }
[[turn]]
text = "It said {{last_tool_result}} and you: {{last_user}}"
"#;

#[test]
fn a_long_task_runs_beside_others_is_steered_and_read() {
    let world = world(WORKS);
    let mut client = Client::start(&world, &["--permission-mode", "all"], json!({}));
    let begun = client.call("prompt", json!({ "prompt": "work", "wait": false }));
    assert_eq!(begun["status"], "running");
    let id = begun["session_id"].as_str().unwrap().to_owned();
    let busy = client.failure("prompt", json!({ "prompt": "again", "session_id": id }));
    assert_eq!(
        busy,
        format!("the session {id} is at work: steer it, or wait until it is done")
    );
    stentor_test_support::when_made(&world.work("begun"));
    client.call("steer", json!({ "session_id": id, "message": "hurry" }));
    // Another session is answered meanwhile, and is stopped.
    let other = client.call("prompt", json!({ "prompt": "too", "wait": false }));
    let other = other["session_id"].as_str().unwrap().to_owned();
    let stopped = client.call("abort", json!({ "session_id": other }));
    assert_eq!(stopped["status"], "aborted");
    world.file("work/go-on", "");
    let status = loop {
        let status = client.call("status", json!({ "session_id": id }));
        if status["status"] == "idle" {
            break status;
        }
    };
    assert_eq!(status["last"]["text"], "It said over\n and you: hurry");
    let idle = client.failure("steer", json!({ "session_id": id, "message": "more" }));
    assert_eq!(idle, format!("session {id} is idle; send a prompt instead"));
    client.end();
}

#[test]
fn who_waits_is_told_how_far_it_is_and_may_give_up() {
    let world = world(WORKS);
    let mut client = Client::start(&world, &["--permission-mode", "all"], json!({}));
    let params = json!({ "name": "prompt", "arguments": { "prompt": "work" }, "_meta": { "progressToken": "t1" } });
    let call = client.send("tools/call", params);
    let progress = client
        .until(|message| message["method"] == "notifications/progress")
        .pop()
        .unwrap();
    expect![[r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t1","progress":1,"message":"bash: touch begun; while [ ! -e go-on ]; do sleep 0.01; done; echo over"}}"#]].assert_eq(&progress.to_string());
    client.write(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": call } }));
    let session = loop {
        let listed = client.call("sessions", json!({}));
        let first = &listed["sessions"][0];
        if first["status"] == "idle" {
            break first["session_id"].clone();
        }
    };
    let status = client.call("status", json!({ "session_id": session }));
    assert_eq!(status["last"]["status"], "aborted");
    client.end();
}

#[test]
fn a_call_that_is_answered_reports_no_more_progress() {
    let world = world(WORKS);
    let mut client = Client::start(&world, &["--permission-mode", "all"], json!({}));
    let arguments = json!({ "prompt": "work", "wait": false });
    let params =
        json!({ "name": "prompt", "arguments": arguments, "_meta": { "progressToken": "t1" } });
    let call = client.send("tools/call", params);
    let id = client.answer(call)["result"]["structuredContent"]["session_id"].take();
    stentor_test_support::when_made(&world.work("begun"));
    world.file("work/go-on", "");
    loop {
        let call = client.send_call("status", json!({ "session_id": id }));
        let messages = client.until(|message| message["id"] == call);
        for message in &messages {
            assert_ne!(message["method"], "notifications/progress", "{message}");
        }
        let status = &messages.last().unwrap()["result"]["structuredContent"];
        if status["status"] == "idle" {
            break;
        }
    }
    client.end();
}

#[test]
fn a_session_can_be_prompted_as_soon_as_an_abort_is_answered() {
    let world = world("on_exhausted = \"repeat-last\"\n[[turn]]\nsteps = [{ hang = true }]\n");
    let mut client = Client::start(&world, &[], json!({}));
    let mut prompt = json!({ "prompt": "work", "wait": false });
    for _ in 0..60 {
        let begun = client.call("prompt", prompt.clone());
        assert_eq!(begun["status"], "running", "{begun}");
        prompt["session_id"] = begun["session_id"].clone();
        let stopped = client.call("abort", json!({ "session_id": begun["session_id"] }));
        assert_eq!(stopped["status"], "aborted");
    }
    client.end();
}

const GUARDED: &str = r#"
[[turn]]
tool = "bash"
arguments = { command = "echo ran" }
[[turn]]
text = "{{last_tool_result}}"
"#;

#[test]
fn what_needs_asking_is_refused_unless_the_client_can_ask() {
    let world = world(GUARDED);
    let mut client = Client::start(&world, &[], json!({}));
    let refused = client.call("prompt", json!({ "prompt": "go" }));
    assert!(
        !refused["text"].as_str().unwrap().starts_with("ran"),
        "{refused}"
    );
    client.end();

    let mut client = Client::start(&world, &[], json!({ "elicitation": {} }));
    for (reply, text) in [
        (
            json!({ "action": "accept", "content": { "decision": "allow_once" } }),
            "ran",
        ),
        (
            json!({ "action": "decline" }),
            "The user rejected this call of bash. Do not repeat it; ask or continue without it.",
        ),
    ] {
        let call = client.send_call("prompt", json!({ "prompt": "go" }));
        let question = client
            .until(|message| message["method"] == "elicitation/create")
            .pop()
            .unwrap();
        expect![[r#"{"mode":"form","message":"May this run? bash `echo ran` runs programs\nbash: echo ran","requestedSchema":{"type":"object","properties":{"decision":{"type":"string","enum":["allow_once","allow_always","reject_once","reject_always"],"enumNames":["Allow","Always allow commands that start with `echo`","Reject","Always reject commands that start with `echo ran`"]}},"required":["decision"]}}"#]].assert_eq(&question["params"].to_string());
        client.write(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": reply }));
        let answer = client.answer(call);
        assert_eq!(answer["result"]["structuredContent"]["text"], text);
    }
    client.end();
}

#[test]
fn wrong_calls_are_answered_and_do_no_harm() {
    let world = world(HELLO);
    let mut client = Client::start(&world, &[], json!({}));
    let mut errors = Vec::new();
    for (method, params) in [
        ("nothing", json!({})),
        ("tools/call", json!({ "name": "nothing", "arguments": {} })),
        ("tools/call", json!({ "name": "prompt", "arguments": {} })),
        (
            "tools/call",
            json!({ "name": "prompt", "arguments": { "prompt": 7 } }),
        ),
        ("tools/call", json!({})),
    ] {
        let answer = client.ask(method, params);
        errors.push(format!(
            "{} {}",
            answer["error"]["code"], answer["error"]["message"]
        ));
    }
    expect![[r#"
        -32601 "there is no method \"nothing\""
        -32602 "there is no tool \"nothing\""
        -32602 "the arguments of prompt: missing field `prompt`"
        -32602 "the arguments of prompt: invalid type: integer `7`, expected a string"
        -32602 "missing field `name` at line 1 column 2""#]]
    .assert_eq(&errors.join("\n"));
    for (tool, arguments, why) in [
        ("prompt", json!({ "prompt": " " }), "the prompt is empty"),
        (
            "prompt",
            json!({ "prompt": "x", "cwd": "relative" }),
            "cwd must be an absolute path of a folder that exists",
        ),
        (
            "prompt",
            json!({ "prompt": "x", "session_id": "a", "cwd": "/" }),
            "a session that exists has its own folder; leave out cwd",
        ),
    ] {
        assert_eq!(client.failure(tool, arguments), why);
    }
    let unknown = client.failure("status", json!({ "session_id": "0000" }));
    assert!(unknown.contains("0000"), "{unknown}");
    let elsewhere = client.failure("prompt", json!({ "prompt": "x", "cwd": "/" }));
    assert!(elsewhere.ends_with("and its subfolders"), "{elsewhere}");
    let outside = client.failure("read_session", json!({ "session_id": "../../etc/passwd" }));
    assert!(!outside.contains("root:"), "{outside}");
    writeln!(client.child.0.stdin.as_mut().unwrap(), "no json").unwrap();
    assert_eq!(client.read()["error"]["code"], -32700);
    assert_eq!(client.ask("ping", json!({}))["result"], json!({}));
    client.end();
}

#[test]
fn a_session_of_another_folder_is_neither_listed_nor_read() {
    let world = world(HELLO);
    world.file("home/other/plan.toml", HELLO);
    let other = world.path("home/other");
    let words = ["--model", "script/plan.toml", "-p", "a secret", "--cwd"];
    let mut command = world.command(&words);
    let ran = command.arg(&other).output().unwrap();
    assert_eq!(ran.status.code(), Some(0));
    let listed = world.run(&["sessions", "--all", "--json"]).out;
    let listed: Value = serde_json::from_str(&listed).unwrap();
    let id = listed[0]["id"].as_str().unwrap();

    let mut client = Client::start(&world, &[], json!({}));
    let all = client.call("sessions", json!({ "subfolders": true }));
    assert_eq!(all["sessions"], json!([]));
    for tool in ["read_session", "status", "abort"] {
        let why = client.failure(tool, json!({ "session_id": id }));
        assert!(why.ends_with("and its subfolders"), "{why}");
    }
    client.end();
}

#[test]
fn the_end_of_the_input_stops_what_runs() {
    let world = world(WORKS);
    let mut client = Client::start(&world, &["--permission-mode", "all"], json!({}));
    client.send_call("prompt", json!({ "prompt": "work" }));
    stentor_test_support::when_made(&world.work("begun"));
    client.end();
}
