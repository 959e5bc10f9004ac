//! What many open sessions take, and what stays of memory that was needed once.

use serde_json::json;

use crate::world::{Child, World};

const SESSIONS: usize = 300;

/// What an open session may take. Schemas of tools and other things all sessions have are shared.
const SESSION_BYTES: usize = 100 * 1024;

#[test]
fn acp_sessions_share_what_they_have_alike() {
    let world = World::new("[[turn]]\ntext = \"hi\"\n", "");
    let (mut child, _) = world.acp(json!({}));
    let before = child.resident();
    for id in 10..10 + SESSIONS as u64 {
        let new = json!({ "cwd": world.path("work"), "mcpServers": [] });
        child.ask_acp(id, "session/new", new);
    }
    let grown = child.resident().saturating_sub(before);
    assert!(grown < SESSIONS * SESSION_BYTES, "{grown} bytes");
    child.end();
}

/// One answer, of which the conversation keeps one copy.
const ANSWER_BYTES: usize = 10_000_000;

/// What the program may have grown by once the answer is complete: the answer, and half as much for
/// everything that is made at the first answer and stays. An allocator that keeps what it once had
/// keeps three times the answer in omp and psi.
const KEPT_BYTES: usize = ANSWER_BYTES + ANSWER_BYTES / 2;

/// What it may take while the answer is written: the answer, and once more what a dialect makes of it.
/// Journal and frames are written part by part.
const PEAK_BYTES: usize = 2 * ANSWER_BYTES + BUFFER_BYTES;

/// What is there besides, however long the answer is: parts that wait for the pipe, and code that was
/// not needed before.
const BUFFER_BYTES: usize = 2_000_000;

/// Questions in which memory may go back; it does not go at the moment it is free.
const ROUNDS: usize = 2_000;

fn long_answer() -> World {
    let text = "0123456789".repeat(1000);
    let repeat = ANSWER_BYTES / text.len();
    let turn = format!("[[turn]]\nsteps = [{{ text = \"{text}\", repeat = {repeat} }}]\n");
    // The first answer is short, and has the code of both brought into memory.
    World::new(&format!("[[turn]]\ntext = \"hi\"\n{turn}"), "")
}

/// Has a short answer and then a long one written by `prompt`, and sees how much that takes.
fn assert_long_answer_fits(
    child: &mut Child,
    mut prompt: impl FnMut(&mut Child),
    ask: impl FnMut(&mut Child),
) {
    prompt(child);
    let (before, all_before) = (child.resident(), child.resident_with_files());
    prompt(child);
    let peak = child.most_resident().saturating_sub(all_before);
    assert!(peak < PEAK_BYTES, "{peak} bytes more at the peak");
    assert_goes_back(child, before, KEPT_BYTES, ask);
}

/// Asks something small until the program has no more than `kept` bytes more than before.
fn assert_goes_back(
    child: &mut Child,
    before: usize,
    kept: usize,
    mut ask: impl FnMut(&mut Child),
) {
    let mut least = usize::MAX;
    for _ in 0..ROUNDS {
        ask(child);
        least = least.min(child.resident().saturating_sub(before));
        if least < kept {
            break;
        }
    }
    assert!(least < kept, "{least} bytes more than before are kept");
}

#[test]
fn omp_has_a_long_answer_twice_at_most_and_gives_the_rest_back() {
    let world = long_answer();
    let mut child = world.omp();
    let prompt = |child: &mut Child| {
        child.send(r#"{"id":"p","type":"prompt","message":"hi"}"#);
        child.until(|line| line.starts_with(r#"{"type":"agent_settled""#));
    };
    assert_long_answer_fits(&mut child, prompt, |child| {
        child.send(r#"{"id":"s","type":"get_state"}"#);
        child.until(|line| line.starts_with(r#"{"id":"s""#));
    });
    child.end();
}

#[test]
fn acp_has_a_long_answer_twice_at_most_and_gives_the_rest_back() {
    let world = long_answer();
    let (mut child, session) = world.acp(json!({}));
    let prompt = |child: &mut Child| {
        let text = json!([{ "type": "text", "text": "hi" }]);
        let params = json!({ "sessionId": session, "prompt": text });
        child.ask_acp(3, "session/prompt", params);
    };
    assert_long_answer_fits(&mut child, prompt, |child| {
        child.ask_acp(4, "session/list", json!({}));
    });
    child.end();
}

#[test]
fn synaps_has_a_long_answer_twice_at_most_and_gives_the_rest_back() {
    let world = long_answer();
    let mut child = world.synaps();
    let prompt = |child: &mut Child| {
        child.send(r#"{"type":"prompt","id":"p","message":"hi"}"#);
        child.until(|line| line.contains(r#""command":"prompt","ok":true"#));
    };
    assert_long_answer_fits(&mut child, prompt, |child| {
        child.send(r#"{"type":"abort","id":"a"}"#);
        child.until(|line| line.contains(r#""id":"a","command":"abort""#));
    });
    child.end();
}

#[test]
fn psi_has_a_long_answer_twice_at_most_and_gives_the_rest_back() {
    let world = long_answer();
    let mut child = world.psi();
    let prompt = |child: &mut Child| {
        child.send(r#"{:id "p" :kind :request :op "prompt" :params {:message "hi"}}"#);
        child.until(|line| line.contains(r#":event "assistant/message""#));
        child.until(|line| line.contains(r#":phase "idle""#));
    };
    assert_long_answer_fits(&mut child, prompt, |child| {
        let query = r#"{:query "[:psi.agent-session/phase]"}"#;
        child.send(&format!(
            r#"{{:id "q" :kind :request :op "query_eql" :params {query}}}"#
        ));
        child.until(|line| line.starts_with(r#"{:id "q""#));
    });
    child.end();
}
