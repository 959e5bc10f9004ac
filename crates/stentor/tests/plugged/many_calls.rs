//! One answer that calls a thousand tools: all of them run, in every dialect, and an abort in the
//! middle is answered.

use serde_json::{Value, json};

use crate::world::{Child, World};

/// Far more calls than may be asked for at once.
const CALLS: usize = 1_000;

pub fn world() -> World {
    let call = "  { tool = \"read\", arguments = { path = \"note.txt\" } },\n";
    let calls = call.repeat(CALLS);
    let scenario = format!("[[turn]]\nsteps = [\n{calls}]\n[[turn]]\ntext = \"Done.\"\n");
    let world = World::new(&scenario, "");
    world.file("work/note.txt", "noted\n");
    world
}

/// The ids of the calls, as the scripted model gives them.
fn ids() -> Vec<String> {
    (1..=CALLS).map(|n| format!("call_1_{n}")).collect()
}

/// What stands at `path` in the frames of that type.
fn named(frames: &[Value], name: &str, path: &str) -> Vec<String> {
    let of_type = frames.iter().filter(|frame| frame["type"] == name);
    let texts = of_type.filter_map(|frame| frame.pointer(path)?.as_str());
    texts.map(str::to_owned).collect()
}

fn sorted(mut ids: Vec<String>) -> Vec<String> {
    ids.sort();
    ids
}

#[test]
fn the_command_line_prints_the_answer() {
    assert_eq!(world().asked(&["-p", "hi"]), "Done.\n");
}

/// All frames up to and with the first that fits. Those of the answer in the making are left out:
/// each repeats all of it.
fn omp_frames(child: &mut Child, fits: impl Fn(&Value) -> bool) -> Vec<Value> {
    let mut frames = Vec::new();
    while !frames.last().is_some_and(&fits) {
        let line = child.next();
        if !line.starts_with(r#"{"type":"message_update""#) {
            frames.push(serde_json::from_str(&line).unwrap());
        }
    }
    frames
}

/// The results of all calls, in the order of the calls.
fn omp_results(frames: &[Value]) -> Vec<String> {
    let results = frames
        .iter()
        .filter(|frame| frame["type"] == "message_end" && frame["message"]["role"] == "toolResult");
    let ids = results.filter_map(|frame| frame["message"]["toolCallId"].as_str());
    ids.map(str::to_owned).collect()
}

#[test]
fn omp_sees_every_call_begin_and_end_once() {
    let world = world();
    let mut child = world.omp();
    child.send(r#"{"id":"p","type":"prompt","message":"hi"}"#);
    let frames = omp_frames(&mut child, |frame| frame["type"] == "agent_settled");
    assert_eq!(named(&frames, "tool_execution_start", "/toolCallId"), ids());
    let ended = named(&frames, "tool_execution_end", "/toolCallId");
    assert_eq!(sorted(ended), sorted(ids()));
    assert_eq!(omp_results(&frames), ids());
    child.end();
}

#[test]
fn omp_answers_an_abort_in_the_middle() {
    let world = world();
    let mut child = world.omp();
    child.send(r#"{"id":"p","type":"prompt","message":"hi"}"#);
    let mut frames = omp_frames(&mut child, |frame| frame["type"] == "tool_execution_end");
    child.send(r#"{"id":"a","type":"abort"}"#);
    frames.extend(omp_frames(&mut child, |frame| frame["id"] == "a"));
    assert_eq!(frames.last().unwrap()["success"], true);
    // What did not run any more has a result that says so.
    assert_eq!(omp_results(&frames), ids());
    child.end();
}

#[test]
fn synaps_sees_every_result_once() {
    let world = world();
    let mut child = world.synaps();
    child.send(r#"{"type":"prompt","id":"p","message":"hi"}"#);
    let frames = child.until_type("response");
    assert_eq!(frames.last().unwrap()["ok"], true);
    assert_eq!(sorted(synaps_results(&frames)), sorted(ids()));
    child.end();
}

fn synaps_results(frames: &[Value]) -> Vec<String> {
    let results = frames
        .iter()
        .filter(|frame| frame["event"]["type"] == "toolcall_result");
    let ids = results.filter_map(|frame| frame["event"]["tool_id"].as_str());
    ids.map(str::to_owned).collect()
}

#[test]
fn synaps_answers_an_abort_in_the_middle() {
    let world = world();
    let mut child = world.synaps();
    child.send(r#"{"type":"prompt","id":"p","message":"hi"}"#);
    let mut frames = Vec::new();
    while synaps_results(&frames).is_empty() {
        frames.push(child.json());
    }
    child.send(r#"{"type":"abort","id":"a"}"#);
    let answers = |frames: &[Value]| frames.iter().filter(|f| f["type"] == "response").count();
    while answers(&frames) < 2 {
        frames.push(child.json());
    }
    assert_eq!(sorted(synaps_results(&frames)), sorted(ids()));
    child.end();
}

/// The ids of calls in the events of that name.
fn psi_calls(lines: &[String], event: &str) -> Vec<String> {
    let mark = format!(":event {event:?}");
    let events = lines.iter().filter(|line| line.contains(&mark));
    let ids = events.filter_map(|line| line.split_once(":tool-id \"")?.1.split('"').next());
    ids.map(str::to_owned).collect()
}

fn psi(world: &World) -> Child {
    let mut child = world.psi();
    let topics = r#"{:topics ["tool/start" "tool/result"]}"#;
    child.ask_psi("t", "subscribe", topics);
    child.send(r#"{:id "p" :kind :request :op "prompt" :params {:message "hi"}}"#);
    child
}

#[test]
fn psi_sees_every_call_begin_and_end_once() {
    let world = world();
    let mut child = psi(&world);
    let lines = child.until(|line| line.contains(":text \"Done.\""));
    assert_eq!(psi_calls(&lines, "tool/start"), ids());
    assert_eq!(sorted(psi_calls(&lines, "tool/result")), sorted(ids()));
    child.end();
}

#[test]
fn psi_answers_an_abort_in_the_middle() {
    let world = world();
    let mut child = psi(&world);
    let mut lines = child.until(|line| line.contains(":event \"tool/result\""));
    lines.extend(child.ask_psi("a", "abort", "{}"));
    assert!(lines.last().unwrap().contains(":ok true"), "{lines:#?}");
    lines.extend(child.until(|line| line.contains(":phase \"idle\"")));
    assert_eq!(sorted(psi_calls(&lines, "tool/result")), sorted(ids()));
    child.end();
}

/// The ids of calls that have ended, one way or the other.
fn acp_ends(lines: &[String]) -> Vec<String> {
    let frames = lines.iter().map(|line| serde_json::from_str(line).unwrap());
    let updates = frames.filter_map(|frame: Value| {
        let update = &frame["params"]["update"];
        let status = update["status"].as_str()?;
        let ended = matches!(status, "completed" | "failed");
        ended.then(|| update["toolCallId"].as_str().unwrap().to_owned())
    });
    updates.collect()
}

fn acp_prompt(child: &mut Child, session: &str) {
    let prompt = json!([{ "type": "text", "text": "hi" }]);
    let params = json!({ "sessionId": session, "prompt": prompt });
    child.request_acp(3, "session/prompt", params);
}

#[test]
fn acp_sees_every_call_end_once() {
    let world = world();
    let (mut child, session) = world.acp(json!({}));
    acp_prompt(&mut child, &session);
    let lines = child.until_answer(3);
    assert!(lines.last().unwrap().contains("end_turn"));
    assert_eq!(sorted(acp_ends(&lines)), sorted(ids()));
    child.end();
}

#[test]
fn acp_answers_a_cancelled_prompt_in_the_middle() {
    let world = world();
    let (mut child, session) = world.acp(json!({}));
    acp_prompt(&mut child, &session);
    let mut lines = child.until(|line| line.contains("\"completed\""));
    let cancel =
        json!({ "jsonrpc": "2.0", "method": "session/cancel", "params": { "sessionId": session } });
    child.send(&cancel.to_string());
    lines.extend(child.until_answer(3));
    assert!(lines.last().unwrap().contains("cancelled"), "{lines:#?}");
    assert_eq!(sorted(acp_ends(&lines)), sorted(ids()));
    child.end();
}
