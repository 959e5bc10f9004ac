//! What a session costs, as its client is told while it grows and when it is loaded.

use serde_json::{Value, json};

use crate::client::Client;

const DELEGATES: &str = r#"
[model]
prices = { input = 1000000 }
[[turn]]
when = { last_user_contains = "look there" }
text = "It says hello."
usage = { input = 20 }
[[turn]]
when = { last_user_contains = "delegate" }
steps = [{ tool = "subagent", id = "s1", arguments = { task = "look there" } }]
usage = { input = 3 }
[[turn]]
when = { tool = "subagent" }
text = "Done."
usage = { input = 4 }
"#;

/// Runs a turn and returns its messages.
fn turn(client: &mut Client, session: &str) -> Vec<Value> {
    let prompt = json!([{ "type": "text", "text": "delegate" }]);
    let id = client.send(
        "session/prompt",
        json!({ "sessionId": session, "prompt": prompt }),
    );
    client.until(id)
}

/// The costs in these messages, in dollars.
fn costs(messages: &[Value]) -> Vec<f64> {
    let updates = messages.iter().map(|message| &message["params"]["update"]);
    let usage = updates.filter(|update| update["sessionUpdate"] == "usage_update");
    let costs = usage.filter_map(|update| update["cost"]["amount"].as_f64());
    costs.collect()
}

#[test]
fn what_subagents_cost_counts_while_the_session_runs_as_when_it_is_loaded() {
    let (mut client, session) = Client::unasked(DELEGATES, json!({}));
    let messages = turn(&mut client, &session);
    assert_eq!(costs(&messages), [3.0, 23.0, 27.0]);
    let mut client = client.restart();
    let cwd = client.world.work("");
    let params = json!({ "sessionId": session, "cwd": cwd, "mcpServers": [] });
    let id = client.send("session/load", params);
    assert_eq!(costs(&client.until(id)), [27.0]);
    let messages = turn(&mut client, &session);
    assert_eq!(costs(&messages), [30.0, 50.0, 54.0]);
}
