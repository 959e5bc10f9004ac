//! ACP clients, which have many sessions at once.

use serde_json::{Value, json};

use crate::nodes::{Client, Nodes};

const ASKS: &str = "[[turn]]\ntool = \"bash\"\narguments = { command = \"echo asked\" }\n\
                    [[turn]]\nsteps = [{ text = \"Ran.\" }]\n\
                    [[turn]]\nsteps = [{ text = \"Begun \" }, { wait_for = \"/nowhere/at/all\" }]\n";

async fn call(client: &mut Client, id: u64, method: &str, params: Value) -> Vec<String> {
    let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
    client
        .ask(
            &request.to_string(),
            &format!(r#"{{"jsonrpc":"2.0","id":{id},"#),
        )
        .await
}

async fn begin(nodes: &Nodes, node: &str) -> Client {
    let mut client = nodes.client(node, "acp", &[]).await;
    let hello = json!({ "protocolVersion": 1, "clientCapabilities": {} });
    call(&mut client, 1, "initialize", hello).await;
    client
}

async fn new_session(nodes: &Nodes, client: &mut Client, id: u64) -> String {
    let params = json!({ "cwd": nodes.work(), "mcpServers": [] });
    let lines = call(client, id, "session/new", params).await;
    let answer: Value = serde_json::from_str(lines.last().unwrap()).unwrap();
    answer["result"]["sessionId"].as_str().unwrap().to_owned()
}

fn prompt(session: &str, text: &str) -> Value {
    json!({ "sessionId": session, "prompt": [{ "type": "text", "text": text }] })
}

/// Sends a prompt, and the permission question that it leads to.
async fn asked(client: &mut Client, id: u64, session: &str) -> Value {
    let request = json!({ "jsonrpc": "2.0", "id": id, "method": "session/prompt", "params": prompt(session, "go") });
    let lines = client
        .ask(&request.to_string(), "session/request_permission")
        .await;
    serde_json::from_str(lines.last().unwrap()).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_of_several_nodes_are_driven_over_one_connection() {
    let nodes = Nodes::new(&["a", "b", "c"], ASKS);
    let (mut on_a, mut on_c) = (begin(&nodes, "a").await, begin(&nodes, "c").await);
    let a = new_session(&nodes, &mut on_a, 2).await;
    let c = new_session(&nodes, &mut on_c, 2).await;
    let mut client = begin(&nodes, "b").await;
    let b = new_session(&nodes, &mut client, 2).await;
    for (id, session) in [(3, &a), (4, &c)] {
        let load = json!({ "sessionId": session, "cwd": nodes.work(), "mcpServers": [] });
        let lines = call(&mut client, id, "session/load", load).await;
        assert!(lines.last().unwrap().contains("result"), "{lines:#?}");
    }
    // All three ask at once, each with the same id on its node.
    let mut questions = Vec::new();
    for (id, session) in [(5, &a), (6, &b), (7, &c)] {
        let question = asked(&mut client, id, session).await;
        assert_eq!(question["params"]["sessionId"], **session);
        questions.push((id, session, question));
    }
    let mut ids: Vec<u64> = questions
        .iter()
        .map(|(_, _, question)| question["id"].as_u64().unwrap())
        .collect();
    ids.dedup();
    assert_eq!(ids.len(), 3);
    for (id, session, question) in questions.into_iter().rev() {
        let option = &question["params"]["options"][0]["optionId"];
        let outcome = json!({ "outcome": { "outcome": "selected", "optionId": option } });
        let answer = json!({ "jsonrpc": "2.0", "id": question["id"], "result": outcome });
        let ended = format!(r#"{{"jsonrpc":"2.0","id":{id},"#);
        let lines = client.ask(&answer.to_string(), &ended).await;
        assert!(lines.last().unwrap().contains("end_turn"), "{lines:#?}");
        let of_others = lines.iter().filter(|line| line.contains("session/update"));
        let of_others = of_others.filter(|line| !line.contains(session.as_str()));
        assert_eq!(of_others.count(), 0, "{lines:#?}");
    }
    // A run on another node is cancelled.
    let request = json!({ "jsonrpc": "2.0", "id": 8, "method": "session/prompt", "params": prompt(&a, "go") });
    client.ask(&request.to_string(), "Begun").await;
    let cancel =
        json!({ "jsonrpc": "2.0", "method": "session/cancel", "params": { "sessionId": a } });
    let lines = client
        .ask(&cancel.to_string(), r#"{"jsonrpc":"2.0","id":8,"#)
        .await;
    assert!(lines.last().unwrap().contains("cancelled"), "{lines:#?}");
    assert_eq!(nodes.live_on("b"), [b]);
    let (status, _) = client.end().await;
    assert_eq!(status, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn when_a_node_is_lost_its_sessions_are_resumed_and_the_others_go_on() {
    let nodes = Nodes::new(&["a", "b"], ASKS);
    let mut on_a = begin(&nodes, "a").await;
    let a = new_session(&nodes, &mut on_a, 2).await;
    let mut client = begin(&nodes, "b").await;
    let b = new_session(&nodes, &mut client, 2).await;
    let load = json!({ "sessionId": a, "cwd": nodes.work(), "mcpServers": [] });
    call(&mut client, 3, "session/load", load).await;
    let question = asked(&mut client, 4, &a).await;
    nodes.kill("a").await;
    // What was under way is refused, what was asked is withdrawn, and asked again where the session is.
    let mut lines = client.until(r#""id":4,"#).await;
    let broke = "the connection to the node a broke";
    assert!(lines.last().unwrap().contains(broke), "{lines:#?}");
    lines.extend(client.until("session/request_permission").await);
    let withdrawn = format!(r#""requestId":{}"#, question["id"]);
    assert!(lines.concat().contains(&withdrawn), "{lines:#?}");
    let again: Value = serde_json::from_str(lines.last().unwrap()).unwrap();
    assert_ne!(again["id"], question["id"]);
    let option = &again["params"]["options"][0]["optionId"];
    let outcome = json!({ "outcome": { "outcome": "selected", "optionId": option } });
    let answer = json!({ "jsonrpc": "2.0", "id": again["id"], "result": outcome });
    client.ask(&answer.to_string(), "asked").await;
    let mut live = nodes.live_on("b");
    live.sort();
    let mut both = [a, b];
    both.sort();
    assert_eq!(live, both);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_prompt_whose_node_cannot_be_reached_is_answered_when_its_run_has_ended() {
    let gate = tempfile::tempdir().unwrap().keep().join("gate");
    let scenario = format!(
        "[[turn]]\nsteps = [{{ text = \"Begun \" }}, {{ wait_for = {gate:?} }}]\n\
         [[turn]]\ntext = \"Answered.\"\n"
    );
    let nodes = Nodes::new(&["a", "b"], &scenario);
    let mut there = begin(&nodes, "a").await;
    let session = new_session(&nodes, &mut there, 2).await;
    let mut client = begin(&nodes, "b").await;
    let load = json!({ "sessionId": session, "cwd": nodes.work(), "mcpServers": [] });
    call(&mut client, 3, "session/load", load).await;
    nodes.set_running(&session, true);
    let request = json!({ "jsonrpc": "2.0", "id": 4, "method": "session/prompt", "params": prompt(&session, "go") });
    client.ask(&request.to_string(), "Begun").await;
    nodes.cut("a");
    // The session is open again, and the prompt is under way.
    let set = json!({ "sessionId": session, "modeId": "read-only" });
    loop {
        let lines = call(&mut client, 5, "session/set_mode", set.clone()).await;
        assert!(!lines.concat().contains(r#""id":4"#), "{lines:#?}");
        if lines.last().unwrap().contains("result") {
            break;
        }
    }
    std::fs::write(&gate, "").unwrap();
    nodes.set_running(&session, false);
    let lines = client.until(r#""id":4"#).await;
    let answer: Value = serde_json::from_str(lines.last().unwrap()).unwrap();
    assert_eq!(
        answer["error"]["message"],
        "the connection to the node a broke"
    );
    let lines = call(&mut client, 6, "session/prompt", prompt(&session, "more")).await;
    assert!(lines.concat().contains("Answered."), "{lines:#?}");
}
