//! Section 7: several sessions at once, each connection looking at one.

use super::client::{Client, outline};
use super::world::World;

const SLOW: &str = r#"
[[turn]]
steps = [ { text = "Working." }, { tool = "bash", id = "t1", arguments = { command = "read x < gate; echo $x" } } ]
[[turn]]
steps = [ { text = "Finished." } ]
"#;

#[test]
fn events_of_a_session_that_is_not_focused_are_held_back_and_seen_after_switching() {
    let mut client = Client::ready(World::new(&[SLOW]));
    let gate = client.world.work().join("gate");
    assert!(
        std::process::Command::new("mkfifo")
            .arg(&gate)
            .status()
            .unwrap()
            .success()
    );
    client.request("p", "prompt", r#"{:message "go"}"#);
    client.until(&["tool/executing"]);
    client.request("n", "new_session", "{}");
    client.until(&["ui/status-updated"]);
    let first = client.session(1);
    // A query may be meant for it without moving the focus.
    let turn = client.answer(
        "query_eql",
        &format!(
            "{{:session-id {first:?} :query \"[:psi.turn/phase :psi.turn/is-streaming :psi.turn/text {{:psi.turn/tool-calls [:id :name]}} :psi.turn/tool-call-count]\"}}"
        ),
    );
    assert!(
        turn.ends_with(r#"{:result {:psi.turn/phase :done :psi.turn/is-streaming true :psi.turn/text "Working." :psi.turn/tool-calls [{:id "t1" :name "bash"}] :psi.turn/tool-call-count 1}}}"#),
        "{turn}"
    );
    std::fs::write(&gate, "go\n").unwrap();
    // It finishes unseen; switching shows it.
    loop {
        let list = client.answer("list_sessions", "{}");
        assert!(!list.contains("assistant/message"));
        let params = format!("{{:session-id {first:?}}}");
        if client
            .raw_answer("get_state", &params)
            .contains(":is-streaming false")
        {
            break;
        }
    }
    let seen = client.request("s", "switch_session", &format!("{{:session-id {first:?}}}"));
    assert!(seen[1].contains("Finished."), "{}", seen[1]);
    assert!(outline(&seen).contains(&"session/resumed".to_owned()));
}

#[test]
fn two_sessions_run_at_once() {
    let mut client = Client::ready(World::new(&[SLOW]));
    let gate = client.world.work().join("gate");
    assert!(
        std::process::Command::new("mkfifo")
            .arg(&gate)
            .status()
            .unwrap()
            .success()
    );
    client.request("p", "prompt", r#"{:message "go"}"#);
    client.until(&["tool/executing"]);
    client.request("n", "new_session", "{}");
    client.request("q", "prompt", r#"{:message "go"}"#);
    client.until(&["tool/executing", "S2"]);
    let list = client.request("c", "command", r#"{:text "/nope"}"#);
    assert!(
        list.iter()
            .any(|frame| frame.contains(r#":state "running" :labels ["go" "go"]"#))
    );
    assert!(client.answer("abort", "{}").contains(":accepted true"));
    let seen = client.until_idle();
    assert!(
        seen.iter()
            .any(|frame| frame.contains(":stop-reason :aborted"))
    );
}
