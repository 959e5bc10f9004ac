//! Section 6: requests reach a session in the order they were sent, also those that take long.

use std::path::Path;

use expect_test::expect;

use super::child::{Backend, write};

/// How often each is tried: the wrong order came in most tries, not in all.
const TRIES: usize = 25;

fn started(home: &Path, script: &str) -> Backend {
    write(home, "s.toml", script);
    let mut backend = Backend::ready(home, &["--rpc-edn", "--model", "script/s.toml"]);
    backend.ask("s", "subscribe", r#"{:topics ["assistant/message"]}"#);
    backend
}

/// Sends a request and an abort right behind it. When the abort is answered, whatever the request
/// began may go on. Returns the answer to the request.
fn aborted(backend: &mut Backend, gate: &Path, op: &str, params: &str) -> String {
    backend.send_together(&[("r", op, params), ("a", "abort", "{}")]);
    let frames = backend.until_answer("a");
    assert_eq!(
        frames.last().unwrap(),
        r#"{:id "a" :kind :response :op "abort" :ok true :data {:accepted true}}"#
    );
    std::fs::write(gate, "").unwrap();
    let is_answer = |frame: &String| frame.contains(":id \"r\"") && !frame.contains(":event");
    let answer = frames.into_iter().find(is_answer);
    let answer = answer.unwrap_or_else(|| backend.until_answer("r").pop().unwrap());
    std::fs::remove_file(gate).unwrap();
    answer
}

#[test]
fn an_abort_right_behind_a_compaction_stops_it() {
    let home = tempfile::tempdir().unwrap();
    let gate = home.path().join("gate");
    let script = format!(
        "[model]\nid = \"m-1\"\n[compaction]\nsummary = \"Said.\"\nwait_for = {gate:?}\n\
         [[turn]]\ntext = \"one\"\n[[turn]]\ntext = \"two\"\n[[turn]]\ntext = \"three\"\n"
    );
    let mut backend = started(home.path(), &script);
    backend.ask("u", "subscribe", r#"{:topics ["session/updated"]}"#);
    for message in ["one", "two", "three"] {
        backend.ask("p", "prompt", &format!("{{:message {message:?}}}"));
        backend.until_event("assistant/message");
        // The session is idle then, and may be compacted.
        backend.until_event("session/updated");
    }
    for _ in 0..TRIES {
        assert_eq!(
            aborted(&mut backend, &gate, "compact", "{}"),
            r#"{:kind :error :error-code "runtime/failed" :error-message "Compaction cancelled" :id "r" :op "compact"}"#
        );
    }
    let (_, _, status) = backend.end();
    assert_eq!(status, Some(0));
}

#[test]
fn an_abort_right_behind_a_template_keeps_its_run_from_answering() {
    let home = tempfile::tempdir().unwrap();
    let gate = home.path().join("gate");
    let turn =
        format!("[[turn]]\nsteps = [{{ wait_for = {gate:?} }}, {{ text = \"answered\" }}]\n");
    let script = format!("[model]\nid = \"m-1\"\n{}", turn.repeat(TRIES));
    write(home.path(), ".stentor/prompts/greet.md", "Say hello.");
    let mut backend = started(home.path(), &script);
    for _ in 0..TRIES {
        aborted(&mut backend, &gate, "command", r#"{:text "/greet"}"#);
    }
    let said = backend.ask("m", "get_messages", "{}");
    assert!(!said.contains("answered"), "{said}");
    let (_, _, status) = backend.end();
    assert_eq!(status, Some(0));
}

/// A session in which something was steered before there was a run, and something right behind the
/// prompt; the model has begun to answer and waits.
fn steered(home: &Path, gate: &Path) -> Backend {
    let script = format!(
        "[model]\nid = \"m-1\"\n[[turn]]\nsteps = [{{ text = \"Well\" }}, {{ wait_for = {gate:?} }}, {{ text = \".\" }}]\n\
         [[turn]]\ntext = \"So.\"\n"
    );
    let mut backend = started(home, &script);
    backend.ask("s", "steer", r#"{:message "earlier"}"#);
    backend.send_together(&[
        ("p", "prompt", r#"{:message "go"}"#),
        ("t", "steer", r#"{:message "at once"}"#),
    ]);
    backend.until_answer("t");
    backend
}

#[test]
fn section_9_3_a_steer_before_the_first_model_call_is_given_back_by_an_interrupt() {
    let home = tempfile::tempdir().unwrap();
    let gate = home.path().join("gate");
    let mut backend = steered(home.path(), &gate);
    let mut seen = vec![backend.ask("i", "interrupt", "{}")];
    std::fs::write(&gate, "").unwrap();
    seen.extend(backend.until_event("assistant/message"));
    seen.push(backend.ask("m", "get_messages", "{}"));
    expect![[r#"
        {:id "i" :kind :response :op "interrupt" :ok true :data {:accepted true :pending true :dropped-steering-text "earlier\nat once"}}
        {:kind :event :event "assistant/message" :data {:session-id "SESSION" :role "assistant" :content [{:type :text :text "Well."}] :text "Well." :stop-reason :stop} :id "p" :seq N :ts "TIME"}
        {:id "m" :kind :response :op "get_messages" :ok true :data {:messages [{:role "user" :content [{:type :text :text "go"}] :timestamp "TIME"} {:role "assistant" :content [{:type :text :text "Well."}] :stop-reason :stop :timestamp "TIME"}]}}"#]].assert_eq(&seen.join("\n"));
}

#[test]
fn section_9_3_a_steer_before_the_first_model_call_goes_into_a_later_one() {
    let home = tempfile::tempdir().unwrap();
    let gate = home.path().join("gate");
    let mut backend = steered(home.path(), &gate);
    std::fs::write(&gate, "").unwrap();
    backend.until_event("assistant/message");
    backend.until_event("assistant/message");
    let said = backend.ask("m", "get_messages", "{}");
    let at = |text: &str| said.find(text).unwrap_or_else(|| panic!("{text}: {said}"));
    assert!(at("go") < at("Well.") && at("Well.") < at("earlier") && at("earlier") < at("So."));
}
