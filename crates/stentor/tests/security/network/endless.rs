//! An answer without an end is ended, and can be aborted, in every dialect.

use serde_json::{Value, json};

use super::provider::{Answer, Provider};
use crate::world::{Child, World};

const TOO_LONG: &str = "acme/m1: the answer was cut off because it is longer than 100000 bytes \
                        (`max_answer_bytes`); what arrived before is kept";

fn provider() -> Provider {
    Provider::answering(Answer::Endless)
}

fn bounded(provider: &Provider) -> World {
    provider.world("max_answer_bytes = 100000")
}

fn unbounded(provider: &Provider) -> World {
    provider.world("max_answer_bytes = 1000000000000")
}

fn prompt_acp(session: &str) -> Value {
    json!({ "sessionId": session, "prompt": [{ "type": "text", "text": "hi" }] })
}

#[test]
fn the_answer_of_a_prompt_ends_at_its_limit_and_what_came_is_shown() {
    let provider = provider();
    let world = bounded(&provider);
    let out = world.command(&["-p", "hi"]).output().unwrap();
    let (stdout, stderr) = (
        String::from_utf8(out.stdout).unwrap(),
        String::from_utf8(out.stderr).unwrap(),
    );
    assert_eq!(out.status.code(), Some(1), "{stderr}");
    // A block takes a little of it besides its text.
    assert_eq!(stdout.trim_end().len(), 100_000 - 256, "{stderr}");
    assert!(stderr.contains(TOO_LONG), "{stderr}");
    assert_eq!(provider.requests(), 1);
}

#[test]
fn omp_ends_an_answer_at_its_limit_and_keeps_what_came() {
    let provider = provider();
    let world = bounded(&provider);
    let mut child = world.omp();
    child.send(r#"{"id":"1","type":"prompt","message":"hi"}"#);
    let end = child.until_type("agent_end").pop().unwrap();
    let answer = &end["messages"].as_array().unwrap().last().unwrap();
    assert_eq!(
        (&answer["stopReason"], &answer["errorMessage"]),
        (&json!("error"), &json!(TOO_LONG))
    );
    let text = answer["content"][0]["text"].as_str().unwrap();
    assert_eq!(text.len(), 100_000 - 256);
    child.end();
    assert_eq!(provider.requests(), 1);
}

#[test]
fn acp_synaps_and_psi_end_an_answer_at_its_limit() {
    let provider = provider();
    let world = bounded(&provider);

    let (mut child, session) = world.acp(json!({}));
    let lines = child.ask_acp(3, "session/prompt", prompt_acp(&session));
    assert!(
        lines.last().unwrap().contains(TOO_LONG),
        "{:?}",
        lines.last()
    );
    child.end();

    let mut child = world.synaps();
    child.send(r#"{"type":"prompt","id":"p","message":"hi"}"#);
    child.until(|line| line.contains(TOO_LONG));
    child.end();

    let mut child = world.psi();
    child.send(r#"{:id "p" :kind :request :op "prompt" :params {:message "hi"}}"#);
    child.until(|line| line.contains("longer than 100000 bytes"));
    child.end();
    assert_eq!(provider.requests(), 3);
}

/// Lets the answer run until something of it has come.
fn until_it_runs(child: &mut Child) {
    child.until(|line| line.contains("all work and no play"));
}

#[test]
fn omp_answers_an_abort_while_more_and_more_comes() {
    let provider = provider();
    let world = unbounded(&provider);
    let mut child = world.omp();
    child.send(r#"{"id":"1","type":"prompt","message":"hi"}"#);
    until_it_runs(&mut child);
    child.send(r#"{"id":"2","type":"abort"}"#);
    child.until(|line| line.contains(r#""id":"2","type":"response""#));
    provider.wait_for_hang_up();
    child.end();
}

#[test]
fn acp_ends_a_cancelled_prompt_while_more_and_more_comes() {
    let provider = provider();
    let world = unbounded(&provider);
    let (mut child, session) = world.acp(json!({}));
    child.request_acp(3, "session/prompt", prompt_acp(&session));
    until_it_runs(&mut child);
    let cancel = json!({ "jsonrpc": "2.0", "method": "session/cancel",
        "params": { "sessionId": session } });
    child.send(&cancel.to_string());
    let answer = child.until_answer(3).pop().unwrap();
    assert!(answer.contains("\"cancelled\""), "{answer}");
    provider.wait_for_hang_up();
    child.end();
}

#[test]
fn synaps_answers_an_abort_while_more_and_more_comes() {
    let provider = provider();
    let world = unbounded(&provider);
    let mut child = world.synaps();
    child.send(r#"{"type":"prompt","id":"p","message":"hi"}"#);
    until_it_runs(&mut child);
    child.send(r#"{"type":"abort","id":"a"}"#);
    child.until(|line| line.contains(r#""id":"a","command":"abort","ok":true"#));
    provider.wait_for_hang_up();
    child.end();
}

#[test]
fn psi_answers_an_abort_while_more_and_more_comes() {
    let provider = provider();
    let world = unbounded(&provider);
    let mut child = world.psi();
    child.ask_psi("t", "subscribe", r#"{:topics ["assistant/delta"]}"#);
    child.send(r#"{:id "p" :kind :request :op "prompt" :params {:message "hi"}}"#);
    until_it_runs(&mut child);
    child.ask_psi("a", "abort", "{}");
    provider.wait_for_hang_up();
    child.end();
}
