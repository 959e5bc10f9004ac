//! A disk that does not keep what it was given: a kernel that refuses to sync, and a file that may
//! not grow any more while an answer comes.
#![cfg(target_os = "linux")]

use std::io::Read;
use std::process::Output;

use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};
use serde_json::{Value, json};

use crate::world::{Child, World};

/// Why a prompt was refused.
const REFUSED: &str = "cannot sync";
/// What is said of an answer that is not in the file.
const NOT_SAVED: &str = "the session could not be saved: cannot append to";
/// The answer.
const TOLD: &str = "Told to the end.";

/// Starts something to which the kernel says of every sync that it failed.
fn without_sync<T: Send>(start: impl FnOnce() -> T + Send) -> T {
    let calls = [libc::SYS_fdatasync, libc::SYS_fsync];
    let filter = SeccompFilter::new(
        calls.into_iter().map(|call| (call, Vec::new())).collect(),
        SeccompAction::Allow,
        SeccompAction::Errno(libc::EIO.cast_unsigned()),
        std::env::consts::ARCH.try_into().unwrap(),
    );
    let filter: BpfProgram = filter.unwrap().try_into().unwrap();
    // The filter holds for the thread that asks for it and for what that starts.
    std::thread::scope(|scope| {
        let starting = scope.spawn(|| {
            seccompiler::apply_filter(&filter).unwrap();
            start()
        });
        starting.join().unwrap()
    })
}

fn messages(child: &mut Child) -> Value {
    child.send(r#"{"id":"m","type":"get_messages"}"#);
    let mut answer = child.until_type("response").pop().unwrap();
    answer["data"]["messages"].take()
}

#[test]
fn a_prompt_that_was_refused_is_in_no_conversation_also_after_a_resume() {
    let world = World::new("[[turn]]\ntext = \"Hello.\"\n", "");
    let mut child = without_sync(|| world.child(&["--mode", "rpc"]));
    assert_eq!(child.json()["type"], "ready");
    child.send(r#"{"id":"p","type":"prompt","message":"never said"}"#);
    let refused = child.until_type("response").pop().unwrap();
    assert_eq!(refused["success"], false, "{refused}");
    let why = refused["error"].as_str().unwrap();
    assert!(why.contains(REFUSED), "{why}");
    assert_eq!(messages(&mut child), json!([]));
    child.end();
    let mut child = world.child(&["--mode", "rpc", "--continue"]);
    assert_eq!(child.json()["type"], "ready");
    assert_eq!(messages(&mut child), json!([]));
    // And it goes on from there.
    child.send(r#"{"id":"p","type":"prompt","message":"said"}"#);
    child.until_type("agent_settled");
    let said = messages(&mut child);
    let roles: Vec<&Value> = said
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["role"])
        .collect();
    assert_eq!(roles, ["user", "assistant"]);
    child.end();
}

#[test]
fn psi_takes_a_refused_prompt_back() {
    let world = World::new("[[turn]]\ntext = \"Hello.\"\n", "");
    let mut child = without_sync(|| world.child(&["--rpc-edn"]));
    child.shake_hands_psi();
    let refused = child.ask_psi("p", "prompt", r#"{:message "never said"}"#);
    let refused = refused.last().unwrap();
    assert!(
        refused.contains(":kind :error") && refused.contains(REFUSED),
        "{refused}"
    );
    let said = child.ask_psi("m", "get_messages", "{}");
    assert_eq!(
        said.last().unwrap(),
        r#"{:id "m" :kind :response :op "get_messages" :ok true :data {:messages []}}"#
    );
    child.end();
}

#[test]
fn synaps_takes_a_refused_prompt_back() {
    let world = World::new("[[turn]]\ntext = \"Hello.\"\n", "");
    let mut child = without_sync(|| world.child(&["rpc"]));
    assert_eq!(child.json()["type"], "ready");
    child.send(r#"{"type":"prompt","id":"p","message":"never said"}"#);
    let refused = child.until_type("response").pop().unwrap();
    assert_eq!(refused["ok"], false, "{refused}");
    assert!(refused["error"].as_str().unwrap().contains(REFUSED));
    child.send(r#"{"type":"get_messages","id":"m"}"#);
    let said = child.until_type("response").pop().unwrap();
    assert_eq!(said["messages"], json!([]), "{said}");
    child.end();
}

#[test]
fn acp_takes_a_refused_prompt_back() {
    let world = World::new("[[turn]]\ntext = \"Hello.\"\n", "");
    let mut child = without_sync(|| world.child(&["acp"]));
    let session = child.shake_hands_acp(json!({}), &world.path("work"));
    let prompt = json!([{ "type": "text", "text": "never said" }]);
    let params = json!({ "sessionId": session, "prompt": prompt });
    let refused = child.ask_acp(3, "session/prompt", params);
    let refused: Value = serde_json::from_str(refused.last().unwrap()).unwrap();
    let why = refused["error"]["message"].as_str();
    assert!(why.is_some_and(|why| why.contains(REFUSED)), "{refused}");
    child.end();
    // The session tells nobody of it when it is opened again.
    let (mut child, _) = world.acp(json!({}));
    let load = json!({ "sessionId": session, "cwd": world.path("work"), "mcpServers": [] });
    let loaded = child.ask_acp(3, "session/load", load);
    assert!(!loaded.concat().contains("never said"), "{loaded:#?}");
    child.end();
}

#[test]
fn the_command_line_says_why_a_prompt_was_refused_and_takes_it_back() {
    let world = World::new("[[turn]]\ntext = \"Hello.\"\n", "");
    let words = ["-p", "never said"];
    let Output {
        status,
        stdout,
        stderr,
    } = without_sync(|| world.command(&words).output().unwrap());
    let err = String::from_utf8(stderr).unwrap();
    assert_eq!((status.code(), stdout.len()), (Some(1), 0), "{err}");
    assert!(err.contains(REFUSED), "{err}");
    let said = world.asked(&["-p", "said", "-c", "--json"]);
    assert!(!said.contains("never said"), "{said}");
}

/// A world whose model stops in the middle of its answer until it may go on.
fn halting() -> World {
    let world = World::new("", "");
    let gate = world.path("gate");
    let scenario = format!(
        "[[turn]]\nsteps = [{{ text = \"Told \" }}, {{ wait_for = {gate:?} }}, {{ text = \"to the end.\" }}]\n\
         [[turn]]\ntext = \"And more.\"\n"
    );
    world.file("work/plan.toml", &scenario);
    world
}

/// How long the files of a program may become, in bytes, from now on.
fn set_file_limit(pid: Pid, current: Option<u64>) {
    let maximum = getrlimit(Resource::Fsize).maximum;
    prlimit(Some(pid), Resource::Fsize, Rlimit { current, maximum }).unwrap();
}

/// Lets the model go on with a disk that takes nothing more.
fn go_on_with_a_full_disk(world: &World, pid: Pid) {
    set_file_limit(pid, Some(0));
    world.file("gate", "");
}

#[test]
fn omp_ends_the_message_and_then_tells_that_it_is_not_saved() {
    let world = halting();
    let mut child = world.child(&["--mode", "rpc"]);
    child.send(r#"{"id":"p","type":"prompt","message":"hi"}"#);
    child.until(|line| line.contains("Told "));
    go_on_with_a_full_disk(&world, child.pid());
    let frames = child.until_type("agent_settled");
    let mut frames = frames.iter();
    let ended = frames.find(|frame| frame["type"] == "message_end").unwrap();
    assert_eq!(ended["message"]["content"][0]["text"], TOLD);
    let notice = frames.find(|frame| frame["type"] == "notice").unwrap();
    assert_eq!(notice["level"], "error");
    assert!(notice["message"].as_str().unwrap().starts_with(NOT_SAVED));
    // What pi's clients show.
    let shown = frames.next().unwrap();
    assert_eq!(
        (&shown["method"], &shown["message"]),
        (&json!("notify"), &notice["message"])
    );
    let ended = frames.find(|frame| frame["type"] == "agent_end").unwrap();
    assert_eq!(ended["messages"][1]["content"][0]["text"], TOLD);
    let result = frames
        .find(|frame| frame["type"] == "prompt_result")
        .unwrap();
    assert_eq!(result["error"]["message"], notice["message"]);
    // It goes on when there is room again.
    set_file_limit(child.pid(), getrlimit(Resource::Fsize).current);
    child.send(r#"{"id":"q","type":"prompt","message":"again"}"#);
    let frames = child.until_type("prompt_result");
    assert_eq!(frames.last().unwrap()["status"], "completed");
    child.end();
}

#[test]
fn psi_ends_the_message_and_then_tells_that_it_is_not_saved() {
    let world = halting();
    let mut child = world.child(&["--rpc-edn"]);
    child.shake_hands_psi();
    child.ask_psi("t", "subscribe", r#"{:topics ["assistant/delta"]}"#);
    child.send(r#"{:id "p" :kind :request :op "prompt" :params {:message "hi"}}"#);
    child.until(|line| line.contains("Told "));
    go_on_with_a_full_disk(&world, child.pid());
    let lines = child.until(|line| line.contains(":event \"error\""));
    let answer = lines
        .iter()
        .find(|line| line.contains(":event \"assistant/message\""));
    let text = format!(":text {TOLD:?}");
    assert!(answer.unwrap().contains(&text), "{lines:#?}");
    assert!(lines.last().unwrap().contains(NOT_SAVED), "{lines:#?}");
    child.until(|line| line.contains(":phase \"idle\""));
    child.end();
}

#[test]
fn synaps_tells_the_whole_text_and_then_that_it_is_not_saved() {
    let world = halting();
    let mut child = world.synaps();
    child.send(r#"{"type":"prompt","id":"p","message":"hi"}"#);
    let mut frames = vec![child.json()];
    while !frames
        .iter()
        .any(|frame| frame.to_string().contains("Told "))
    {
        frames.push(child.json());
    }
    go_on_with_a_full_disk(&world, child.pid());
    frames.extend(child.until_type("response"));
    let deltas = frames
        .iter()
        .filter_map(|frame| frame["event"]["delta"].as_str());
    assert_eq!(deltas.collect::<String>(), TOLD);
    let answer = frames.last().unwrap();
    assert_eq!(answer["ok"], false, "{answer}");
    assert!(answer["error"].as_str().unwrap().starts_with(NOT_SAVED));
    let error = frames
        .iter()
        .find(|frame| frame["type"] == "error")
        .unwrap();
    assert_eq!(error["message"], answer["error"]);
    child.end();
}

#[test]
fn acp_tells_the_whole_text_and_then_once_that_it_is_not_saved() {
    let world = halting();
    let (mut child, session) = world.acp(json!({}));
    let prompt = json!([{ "type": "text", "text": "hi" }]);
    let params = json!({ "sessionId": session, "prompt": prompt });
    child.request_acp(3, "session/prompt", params);
    let mut lines = child.until(|line| line.contains("Told "));
    go_on_with_a_full_disk(&world, child.pid());
    lines.extend(child.until_answer(3));
    let chunks = lines.iter().filter_map(|line| {
        let frame: Value = serde_json::from_str(line).unwrap();
        let update = &frame["params"]["update"];
        let is_text = update["sessionUpdate"] == "agent_message_chunk";
        is_text.then(|| update["content"]["text"].as_str().unwrap().to_owned())
    });
    let said: String = chunks.collect();
    let (text, why) = said.split_at(TOLD.len());
    assert_eq!(text, TOLD);
    assert_eq!(why.matches(NOT_SAVED).count(), 1, "{why}");
    child.end();
}

#[test]
fn the_command_line_prints_the_whole_text_and_once_that_it_is_not_saved() {
    let world = halting();
    let mut process = world.command(&["-p", "hi"]).spawn().unwrap();
    let mut stdout = process.stdout.take().unwrap();
    let mut begun = [0; 5];
    stdout.read_exact(&mut begun).unwrap();
    let pid = Pid::from_raw(i32::try_from(process.id()).unwrap()).unwrap();
    go_on_with_a_full_disk(&world, pid);
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).unwrap();
    let out = process.wait_with_output().unwrap();
    let err = String::from_utf8(out.stderr).unwrap();
    let told = String::from_utf8_lossy(&begun) + rest.as_str();
    assert_eq!(told, format!("{TOLD}\n"));
    assert_eq!(out.status.code(), Some(1), "{err}");
    assert_eq!(err.matches(NOT_SAVED).count(), 1, "{err}");
}
