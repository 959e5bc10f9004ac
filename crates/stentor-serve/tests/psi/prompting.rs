//! Section 9.3: prompting, steering, stopping.

use super::client::{Client, outline};
use super::world::{OK, World};

/// Thinks, calls a tool that waits for a gate, then answers.
const GATED: &str = r#"
[model]
id = "m-1"
[[turn]]
steps = [
  { thinking = "hm" },
  { text = "Waiting." },
  { tool = "bash", id = "t1", arguments = { command = "read x < gate; echo $x" } },
]
[[turn]]
steps = [ { text = "Done." } ]
[[turn]]
steps = [ { text = "More." } ]
"#;

fn gated() -> Client {
    let client = Client::ready(World::new(&[GATED]));
    let gate = client.world.work().join("gate");
    let made = std::process::Command::new("mkfifo").arg(gate).status();
    assert!(made.unwrap().success());
    client
}

fn open_gate(client: &Client) {
    std::fs::write(client.world.work().join("gate"), "go\n").unwrap();
}

#[test]
fn section_9_3_a_run_in_order_with_one_final_message() {
    let mut client = gated();
    let answer = client.request("p", "prompt", r#"{:message "go"}"#);
    assert_eq!(
        answer,
        [r#"{:id "p" :kind :response :op "prompt" :ok true :data {:accepted true}}"#]
    );
    let mut seen = client.until(&["tool/executing"]);
    open_gate(&client);
    seen.extend(client.until_idle());
    assert!(seen.iter().all(|frame| frame.contains(":id \"p\"")));
    assert_eq!(
        outline(&seen),
        [
            "session/updated",
            "footer/updated",
            "assistant/thinking-delta",
            "assistant/delta",
            "tool/start",
            "tool/executing",
            "tool/update",
            "tool/result",
            "footer/updated",
            "assistant/delta",
            "assistant/message",
            "session/updated",
            "footer/updated",
        ]
    );
}

#[test]
fn a_prompt_needs_a_message_a_session_and_an_idle_session() {
    let mut client = gated();
    for params in [
        "{}",
        "{:message 3}",
        r#"{:message "  "}"#,
        r#"{:message "x" :images 3}"#,
    ] {
        let answer = client.answer("prompt", params);
        assert!(
            answer.contains("request/invalid-params"),
            "{params}: {answer}"
        );
    }
    let answer = client.answer("prompt", r#"{:message "x" :session-id "nobody"}"#);
    assert!(answer.contains("request/not-found"), "{answer}");
    client.request("p", "prompt", r#"{:message "go"}"#);
    client.until(&["tool/executing"]);
    let answer = client.answer("prompt", r#"{:message "again"}"#);
    assert!(answer.contains("request/session-not-idle"), "{answer}");
    let answer = client.answer("compact", "{}");
    assert!(answer.contains("request/session-not-idle"), "{answer}");
    // Others are answered while it runs.
    assert!(client.answer("ping", "{}").contains(":pong"));
    let stats = client.answer("get_session_stats", "{}");
    assert!(stats.contains(":is-streaming true"), "{stats}");
    open_gate(&client);
    client.until_idle();
}

#[test]
fn abort_ends_the_run_with_its_message_and_a_prompt_behind_it_is_served() {
    let mut client = gated();
    client.request("p", "prompt", r#"{:message "go"}"#);
    client.until(&["tool/executing"]);
    client.send_request("a", "abort", "{}");
    client.send_request("q", "prompt", r#"{:message "again"}"#);
    let mut seen = client.until(&["assistant/message"]);
    let message = seen.pop().unwrap();
    assert_eq!(
        message,
        r#"{:kind :event :event "assistant/message" :data {:session-id "S1" :role "assistant" :content [{:type :error :text "Aborted"}] :text "[error] Aborted" :stop-reason :aborted :error-message "Aborted"} :id "p" :seq N :ts "TIME"}"#
    );
    assert!(
        seen.iter().any(|frame| frame
            == r#"{:id "a" :kind :response :op "abort" :ok true :data {:accepted true}}"#)
    );
    let rest = client.until_answer(Some("q"));
    assert!(rest.last().unwrap().contains(":accepted true"), "{rest:?}");
    let run = client.until_idle();
    let message = run.iter().find(|frame| frame.contains("assistant/message"));
    assert!(message.unwrap().contains(":text \"Done.\""));
    assert!(client.answer("abort", "{}").contains(":accepted true"));
}

#[test]
fn what_is_queued_during_a_run_is_counted_and_delivered() {
    let mut client = gated();
    client.request("p", "prompt", r#"{:message "go"}"#);
    client.until(&["tool/executing"]);
    let answer = client.request("w", "prompt_while_streaming", r#"{:message "s1"}"#);
    assert!(
        answer
            .iter()
            .any(|frame| frame.contains(":pending-message-count 1")),
        "{answer:?}"
    );
    assert_eq!(
        answer.last().unwrap(),
        r#"{:id "w" :kind :response :op "prompt_while_streaming" :ok true :data {:accepted true :behavior "steer"}}"#
    );
    let answer = client.answer(
        "prompt_while_streaming",
        r#"{:message "f1" :behavior :queue}"#,
    );
    assert!(answer.contains(":behavior \"queue\""), "{answer}");
    for (op, params) in [
        (
            "prompt_while_streaming",
            r#"{:message "x" :behavior "shout"}"#,
        ),
        ("steer", "{}"),
        ("follow_up", r#"{:message " "}"#),
    ] {
        let answer = client.answer(op, params);
        assert!(answer.contains("request/invalid-params"), "{op}: {answer}");
    }
    open_gate(&client);
    let seen = client.until_idle();
    let texts: Vec<&String> = seen
        .iter()
        .filter(|frame| frame.contains("assistant/message"))
        .collect();
    assert_eq!(texts.len(), 2, "{texts:?}");
    let messages = client.raw_answer("get_messages", "{}");
    assert!(messages.contains("s1") && messages.contains("f1"));
}

#[test]
fn interrupt_stops_after_the_model_call_and_gives_steering_back() {
    let mut client = gated();
    let idle = client.answer("interrupt", "{}");
    assert!(
        idle.ends_with(r#"{:accepted false :pending false :dropped-steering-text ""}}"#),
        "{idle}"
    );
    client.request("p", "prompt", r#"{:message "go"}"#);
    client.until(&["tool/executing"]);
    client.answer("follow_up", r#"{:message "later"}"#);
    client.answer("steer", r#"{:message " left "}"#);
    client.answer("steer", r#"{:message "left"}"#);
    client.answer("steer", r#"{:message "right"}"#);
    let seen = client.request("i", "interrupt", "{}");
    assert!(
        seen.iter()
            .any(|frame| frame.contains(":interrupt-pending true"))
    );
    assert!(
        seen.last()
            .unwrap()
            .ends_with(r#"{:accepted true :pending true :dropped-steering-text "left\nright"}}"#),
        "{seen:?}"
    );
    let again = client.answer("interrupt", "{}");
    assert!(again.contains(":accepted false :pending true"), "{again}");
    let coerced = client.answer("prompt_while_streaming", r#"{:message "z"}"#);
    assert!(coerced.contains("\"coerced-follow-up\""), "{coerced}");
    open_gate(&client);
    let seen = client.until_idle();
    assert!(
        !seen.iter().any(|frame| frame.contains("\"Done.\"")),
        "{seen:?}"
    );
    let state = client.raw_answer("get_state", "{}");
    assert!(
        state.contains(r#":follow-up-messages ["later" "z"]"#),
        "{state}"
    );
    assert!(state.contains(":interrupt-pending false"), "{state}");
}

#[test]
fn a_failed_model_call_is_an_error_event_and_the_session_goes_on() {
    let script = r#"
[[turn]]
steps = [ { text = "so far" }, { error = { kind = "invalid_request", message = "bad request" } } ]
[[turn]]
steps = [ { text = "fine" } ]
"#;
    let mut client = Client::ready(World::new(&[script]));
    let seen = client.run("go");
    let ends: Vec<&String> = seen
        .iter()
        .filter(|frame| frame.contains(":stop-reason") || frame.contains(":event \"error\""))
        .collect();
    assert_eq!(
        ends,
        [
            r#"{:kind :event :event "assistant/message" :data {:session-id "S1" :role "assistant" :content [{:type :text :text "so far"}] :text "so far" :stop-reason :error :error-message "bad request"} :id "run" :seq N :ts "TIME"}"#,
            r#"{:kind :event :event "error" :data {:error-code "runtime/failed" :error-message "bad request" :id "run" :op "prompt"} :id "run" :seq N :ts "TIME"}"#,
        ]
    );
    let seen = client.run("again");
    assert!(seen.iter().any(|frame| frame.contains("\"fine\"")));
}

#[test]
fn a_retry_shows_in_the_phase_and_the_footer() {
    let script = r#"
[[turn]]
steps = [ { error = { kind = "overloaded", message = "busy" } } ]
[[turn]]
steps = [ { text = "fine" } ]
"#;
    let mut client = Client::ready(World::new(&[script]));
    let seen = client.run("go");
    let retrying = seen
        .iter()
        .find(|frame| frame.contains(":phase \"retrying\""))
        .unwrap();
    assert!(
        retrying.contains(":retry-attempt 1 :retry {:active? true :attempt 1"),
        "{retrying}"
    );
    let messages = seen
        .iter()
        .filter(|frame| frame.contains("assistant/message"));
    assert_eq!(messages.count(), 1);
}

#[test]
fn pictures_go_into_the_user_message() {
    let mut client = Client::ready(World::new(&[OK]));
    let params =
        r#"{:message "look" :images [{:type :image :mime-type "image/png" :data "AAAA"}]}"#;
    client.request("p", "prompt", params);
    client.until_idle();
    let messages = client.answer("get_messages", "{}");
    assert!(
        messages.contains(r#":content [{:type :text :text "look"} {:type :image :mime-type "image/png" :data "AAAA"}]"#),
        "{messages}"
    );
}
