//! Sections 8 and 9.1: subscriptions and what goes out because of them.

use super::client::{Client, outline};
use super::world::{OK, World};

#[test]
fn section_9_1_the_first_subscription_gets_snapshots_in_order_and_the_second_fewer() {
    let mut client = Client::shaken(World::new(&[OK]));
    let topics = r#"["assistant/message" "session/updated" "footer/updated" "context/updated" "ui/status-updated" "ui/widgets-updated" "ui/widget-specs-updated" "no/such"]"#;
    let seen = client.request("s", "subscribe", &format!("{{:topics {topics}}}"));
    assert_eq!(
        outline(&seen),
        [
            "footer/updated",
            "ui/widgets-updated",
            "ui/widget-specs-updated",
            "ui/status-updated",
            "session/updated",
            "footer/updated",
            "context/updated",
            "response",
        ]
    );
    // The first four are not caused by the request, the last three are.
    let caused: Vec<bool> = seen
        .iter()
        .map(|frame| frame.contains(":id \"s\""))
        .collect();
    assert_eq!(caused, [false, false, false, false, true, true, true, true]);
    let seen = client.request("t", "subscribe", r#"{:topics ["tool/start"]}"#);
    assert_eq!(
        outline(&seen),
        [
            "session/updated",
            "footer/updated",
            "context/updated",
            "response"
        ]
    );
}

#[test]
fn section_8_a_topic_that_is_not_subscribed_does_not_go_out() {
    let mut client = Client::shaken(World::new(&[OK]));
    let seen = client.request("s", "subscribe", r#"{:topics ["tool/start"]}"#);
    assert_eq!(
        seen,
        [
            r#"{:id "s" :kind :response :op "subscribe" :ok true :data {:subscribed ["tool/start"]}}"#
        ]
    );
    let seen = client.request("c", "command", r#"{:text "/nope"}"#);
    assert_eq!(outline(&seen), ["response"]);
}

#[test]
fn section_8_no_subscription_means_everything_and_so_does_taking_all_away() {
    let mut client = Client::shaken(World::new(&[OK]));
    let seen = client.request("c", "command", r#"{:text "/nope"}"#);
    let everything = [
        "command-result",
        "session/updated",
        "footer/updated",
        "response",
    ];
    assert_eq!(outline(&seen), everything);
    client.request("s", "subscribe", r#"{:topics ["tool/start" "error"]}"#);
    let seen = client.request("u", "unsubscribe", r#"{:topics ["tool/start"]}"#);
    assert_eq!(
        seen,
        [r#"{:id "u" :kind :response :op "unsubscribe" :ok true :data {:subscribed ["error"]}}"#]
    );
    let seen = client.request("v", "unsubscribe", "{}");
    assert_eq!(
        seen,
        [r#"{:id "v" :kind :response :op "unsubscribe" :ok true :data {:subscribed []}}"#]
    );
    let seen = client.request("d", "command", r#"{:text "/nope"}"#);
    assert_eq!(outline(&seen), everything);
}

#[test]
fn topics_that_are_no_vector_are_invalid() {
    let mut client = Client::shaken(World::new(&[OK]));
    for op in ["subscribe", "unsubscribe"] {
        let answer = client.answer(op, r#"{:topics "assistant/delta"}"#);
        assert!(answer.contains("request/invalid-params"), "{answer}");
    }
}

#[test]
fn section_10_9_tool_delta_goes_only_to_who_names_it() {
    let script = r#"
[[turn]]
steps = [ { tool = "bash", id = "t1", arguments = { command = "true" } } ]
[[turn]]
steps = [ { text = "done" } ]
"#;
    let mut client = Client::shaken(World::new(&[script]));
    client.request(
        "s",
        "subscribe",
        r#"{:topics ["tool/delta" "session/updated" "footer/updated"]}"#,
    );
    let seen = client.run("go");
    let delta = seen
        .iter()
        .find(|frame| frame.contains("tool/delta"))
        .unwrap();
    assert_eq!(
        delta,
        r#"{:kind :event :event "tool/delta" :data {:session-id "S1" :tool-id "t1" :arguments "{\"command\":\"true\"}"} :id "run" :seq N :ts "TIME"}"#
    );
    let mut other = Client::ready(World::new(&[script]));
    assert!(
        !other
            .run("go")
            .iter()
            .any(|frame| frame.contains("tool/delta"))
    );
}
