//! Clients that have one session at a time.

use serde_json::{Value, json};

use crate::nodes::{Client, Nodes};

const ANSWERS: &str =
    "on_exhausted = \"repeat-last\"\n[[turn]]\nsteps = [{ text = [\"One \", \"two.\"] }]\n";

/// A session on a node in which something was said, with the client that has it open.
async fn session_on(nodes: &Nodes, node: &str) -> (Client, String) {
    let mut client = nodes.client(node, "synaps", &[]).await;
    let ready = client.json().await;
    let session = ready["session_id"].as_str().unwrap().to_owned();
    let prompt = r#"{"type":"prompt","id":"0","message":"begin"}"#;
    client.ask(prompt, r#""type":"response""#).await;
    (client, session)
}

fn types(lines: &[String]) -> Vec<String> {
    let types = lines.iter().map(|line| {
        let frame: Value = serde_json::from_str(line).unwrap();
        frame["type"].as_str().unwrap().to_owned()
    });
    types.collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_omp_client_switches_to_a_session_of_another_node_and_home_again() {
    let nodes = Nodes::new(&["a", "b"], ANSWERS);
    let (_there, far) = session_on(&nodes, "a").await;
    let (_here, near) = session_on(&nodes, "b").await;
    let mut omp = nodes.client("b", "omp", &[]).await;
    assert_eq!(omp.json().await["type"], "ready");
    omp.ask(
        r#"{"id":"f","type":"set_event_filter","events":["agent_start","agent_end","message_update","agent_settled"]}"#,
        r#""command":"set_event_filter""#,
    )
    .await;
    for session in [&far, &near, &far] {
        let switch =
            json!({ "id": "s", "type": "switch_session", "sessionPath": nodes.file_of(session) });
        let lines = omp.ask(&switch.to_string(), r#""id":"s""#).await;
        let answer: Value = serde_json::from_str(lines.last().unwrap()).unwrap();
        assert_eq!(answer["success"], true, "{lines:#?}");
        // Nothing of what the proxy asks is seen.
        assert!(!lines.concat().contains("stentor-proxy"), "{lines:#?}");
        assert!(!types(&lines).contains(&"ready".to_owned()), "{lines:#?}");
        let state = omp
            .ask(r#"{"id":"g","type":"get_state"}"#, r#""id":"g""#)
            .await;
        assert!(
            state.last().unwrap().contains(session.as_str()),
            "{state:#?}"
        );
        let lines = omp
            .ask(
                r#"{"id":"p","type":"prompt","message":"more"}"#,
                "agent_settled",
            )
            .await;
        let kinds = types(&lines);
        assert!(kinds.contains(&"message_update".to_owned()), "{lines:#?}");
        // The filter holds wherever the client is.
        assert!(!kinds.contains(&"turn_start".to_owned()), "{lines:#?}");
    }
    assert_eq!(nodes.live_on("a"), [far]);
    let (status, lines) = omp.end().await;
    assert_eq!((status, lines), (0, Vec::new()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_on_another_node_is_answered_and_a_run_there_is_stopped() {
    let scenario = "[[turn]]\ntool = \"bash\"\narguments = { command = \"echo asked\" }\n\
                    [[turn]]\nsteps = [{ text = \"Ran.\" }]\n\
                    [[turn]]\nsteps = [{ text = \"Begun \" }, { wait_for = \"/nowhere/at/all\" }]\n";
    let nodes = Nodes::new(&["a", "b"], scenario);
    let mut there = nodes.client("a", "synaps", &[]).await;
    let session = there.json().await["session_id"].clone();
    let session = session.as_str().unwrap().to_owned();
    let mut omp = nodes.client("b", "omp", &["--session", &session]).await;
    assert_eq!(omp.json().await["type"], "ready");
    let lines = omp
        .ask(
            r#"{"id":"p","type":"prompt","message":"run it"}"#,
            r#""method":"select""#,
        )
        .await;
    let question: Value = serde_json::from_str(lines.last().unwrap()).unwrap();
    let choice = question["options"][0].clone();
    let answer = json!({ "type": "extension_ui_response", "id": question["id"], "value": choice });
    let lines = omp.ask(&answer.to_string(), "agent_settled").await;
    assert!(lines.concat().contains("asked"), "{lines:#?}");
    omp.ask(r#"{"id":"q","type":"prompt","message":"again"}"#, "Begun")
        .await;
    let lines = omp.ask(r#"{"id":"x","type":"abort"}"#, r#""id":"x""#).await;
    assert!(
        lines.last().unwrap().contains(r#""success":true"#),
        "{lines:#?}"
    );
    assert_eq!(nodes.live_on("b"), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_psi_client_arrives_on_another_node_and_its_events_are_numbered_on() {
    let nodes = Nodes::new(&["a", "b"], ANSWERS);
    let (_there, far) = session_on(&nodes, "a").await;
    let mut psi = nodes.client("b", "psi", &[]).await;
    let hello = r#"{:id "1" :kind :request :op "handshake" :params {:client-info {:protocol-version "1.0"}}}"#;
    psi.ask(hello, r#":id "1" :kind :response"#).await;
    let subscribe = r#"{:id "2" :kind :request :op "subscribe" :params {:topics ["assistant/delta" "assistant/message" "session/updated" "session/rehydrated" "context/updated"]}}"#;
    let mut all = psi.ask(subscribe, r#":id "2" :kind :response"#).await;
    let file = nodes.file_of(&far);
    let switch = format!(
        r#"{{:id "3" :kind :request :op "switch_session" :params {{:session-path {file:?}}}}}"#
    );
    let lines = psi.ask(&switch, r#":id "3" :kind :response"#).await;
    assert!(lines.last().unwrap().contains(&far), "{lines:#?}");
    assert!(lines.concat().contains("session/rehydrated"), "{lines:#?}");
    all.extend(lines);
    let prompt = r#"{:id "4" :kind :request :op "prompt" :params {:message "more"}}"#;
    all.extend(psi.ask(prompt, r#":event "assistant/message""#).await);
    assert!(
        all.concat().contains(r#":event "assistant/delta""#),
        "{all:#?}"
    );
    assert!(!all.concat().contains("stentor-proxy"), "{all:#?}");
    let numbers: Vec<u64> = all
        .iter()
        .filter(|line| line.starts_with("{:kind :event"))
        .map(|line| {
            let (_, rest) = line.rsplit_once(" :seq ").unwrap();
            rest.split(' ').next().unwrap().parse().unwrap()
        })
        .collect();
    assert!(numbers.is_sorted_by(|one, next| one < next), "{numbers:?}");
    // No session was made on the other node just to arrive there.
    assert_eq!(nodes.live_on("a"), [far]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_synaps_parent_and_a_page_are_served_where_their_session_is() {
    let nodes = Nodes::new(&["a", "b"], ANSWERS);
    let (_there, far) = session_on(&nodes, "a").await;
    let mut synaps = nodes.client("b", "synaps", &["--continue", &far]).await;
    assert_eq!(synaps.json().await["session_id"], far);
    let prompt = r#"{"type":"prompt","id":"1","message":"more"}"#;
    let lines = synaps.ask(prompt, r#""type":"response""#).await;
    assert!(lines.concat().contains("text_delta"), "{lines:#?}");

    let mut page = nodes.client("b", "page", &[]).await;
    page.ask(r#"{"do":"list"}"#, r#""id":"sessions""#).await;
    let open = json!({ "do": "open", "session": far });
    let lines = page.ask(&open.to_string(), r#""id":"sessions""#).await;
    assert!(lines.concat().contains("One two."), "{lines:#?}");
    page.ask(r#"{"do":"prompt","text":"from the page"}"#, "from the page")
        .await;
    synaps.until(r#""type":"agent_end""#).await;
    assert_eq!(nodes.live_on("b"), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn when_a_node_is_lost_each_client_goes_on_with_its_session() {
    let nodes = Nodes::new(&["a", "b"], ANSWERS);
    let (_there, far) = session_on(&nodes, "a").await;
    let mut omp = nodes.client("b", "omp", &["--session", &far]).await;
    let mut synaps = nodes.client("b", "synaps", &["--continue", &far]).await;
    let mut psi = nodes.client("b", "psi", &["--resume", &far]).await;
    let mut page = nodes.client("b", "page", &[]).await;
    let open = json!({ "do": "open", "session": far });
    page.ask(&open.to_string(), r#""id":"sessions""#).await;
    omp.ask(r#"{"id":"g","type":"get_state"}"#, r#""id":"g""#)
        .await;
    synaps.line().await;
    let hello = r#"{:id "1" :kind :request :op "handshake" :params {:client-info {:protocol-version "1.0"}}}"#;
    psi.ask(hello, r#":id "1" :kind :response"#).await;
    let subscribe = r#"{:id "2" :kind :request :op "subscribe" :params {:topics ["assistant/message" "session/rehydrated"]}}"#;
    psi.ask(subscribe, r#":id "2" :kind :response"#).await;

    nodes.kill("a").await;
    // Each is there again before anything is said.
    psi.until("session/rehydrated").await;
    page.until("the connection to the node a broke").await;
    page.until(r#""id":"sessions""#).await;
    omp.until("the connection to the node a broke").await;
    omp.ask(r#"{"id":"h","type":"get_state"}"#, r#""id":"h""#)
        .await;
    let state = r#"{"type":"get_state","id":"9"}"#;
    while !synaps
        .ask(state, r#""id":"9""#)
        .await
        .concat()
        .contains("response")
    {}

    let prompt = r#"{"id":"p","type":"prompt","message":"more"}"#;
    let lines = omp.ask(prompt, "agent_settled").await;
    assert!(lines.concat().contains("One two."), "{lines:#?}");
    psi.until(r#":event "assistant/message""#).await;
    synaps.until(r#""type":"agent_end""#).await;
    page.until(r#""op":"append""#).await;
    assert_eq!(nodes.live_on("b"), [far]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_under_way_on_a_node_that_is_lost_is_answered() {
    let scenario =
        "[[turn]]\nsteps = [{ text = \"Begun \" }, { wait_for = \"/nowhere/at/all\" }]\n";
    let nodes = Nodes::new(&["a", "b"], scenario);
    let mut there = nodes.client("a", "synaps", &[]).await;
    let far = there.json().await["session_id"]
        .as_str()
        .unwrap()
        .to_owned();
    let mut omp = nodes.client("b", "omp", &["--session", &far]).await;
    let mut synaps = nodes.client("b", "synaps", &["--continue", &far]).await;
    synaps.line().await;
    omp.ask(r#"{"id":"p","type":"prompt","message":"go"}"#, "Begun")
        .await;
    synaps.until("Begun").await;
    nodes.kill("a").await;
    let lines = omp.until("agent_settled").await;
    let kinds = types(&lines);
    for kind in ["notice", "agent_end", "prompt_result", "session_settled"] {
        assert!(kinds.contains(&kind.to_owned()), "{kind}: {lines:#?}");
    }
    synaps.until(r#""type":"error""#).await;
    synaps.until(r#""type":"agent_end""#).await;
    let state = omp
        .ask(r#"{"id":"g","type":"get_state"}"#, r#""id":"g""#)
        .await;
    assert!(state.last().unwrap().contains(&far), "{state:#?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_of_a_node_that_stops_go_on_elsewhere() {
    let nodes = Nodes::new(&["a", "b"], ANSWERS);
    let (_there, far) = session_on(&nodes, "a").await;
    let mut synaps = nodes.client("b", "synaps", &["--continue", &far]).await;
    synaps.line().await;
    nodes.stop("a").await;
    // What is sent before the proxy has heard of the end is refused.
    let prompt = r#"{"type":"prompt","id":"1","message":"more"}"#;
    let mut lines = synaps.ask(prompt, r#""id":"1""#).await;
    while lines.last().unwrap().contains(r#""type":"error""#) {
        lines = synaps.ask(prompt, r#""id":"1""#).await;
    }
    assert!(lines.concat().contains("text_delta"), "{lines:#?}");
    assert_eq!(nodes.live_on("b"), [far]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_goes_on_while_its_node_cannot_be_reached_does_not_end_for_its_clients() {
    let gate = tempfile::tempdir().unwrap().keep().join("gate");
    let scenario = format!(
        "[[turn]]\nsteps = [{{ text = \"Begun \" }}, {{ wait_for = {gate:?} }}, {{ text = \"ended.\" }}]\n"
    );
    let nodes = Nodes::new(&["a", "b"], &scenario);
    let mut there = nodes.client("a", "synaps", &[]).await;
    let far = there.json().await["session_id"].clone();
    let far = far.as_str().unwrap().to_owned();
    let mut omp = nodes.client("b", "omp", &["--session", &far]).await;
    let mut synaps = nodes.client("b", "synaps", &["--continue", &far]).await;
    synaps.line().await;
    nodes.set_running(&far, true);
    omp.ask(r#"{"id":"p","type":"prompt","message":"go"}"#, "Begun")
        .await;
    synaps.until("Begun").await;
    nodes.cut("a");

    let notice = omp.until("notice").await.concat();
    assert!(
        notice.contains("the connection to the node a broke"),
        "{notice}"
    );
    // Both are there again, and nothing has ended.
    let state = omp
        .ask(r#"{"id":"g","type":"get_state"}"#, r#""id":"g""#)
        .await;
    let mut seen = types(&state);
    synaps
        .ask(r#"{"type":"get_state","id":"g"}"#, r#""id":"g""#)
        .await;
    std::fs::write(&gate, "").unwrap();
    let lines = omp.until("agent_settled").await;
    seen.extend(types(&lines));
    let count = |kind: &str| seen.iter().filter(|seen| *seen == kind).count();
    assert_eq!(count("agent_end"), 1, "{seen:#?}");
    assert_eq!(count("agent_start"), 0, "{seen:#?}");
    assert_eq!(count("prompt_result"), 1, "{seen:#?}");
    assert!(lines.concat().contains("ended."), "{lines:#?}");
    let lines = synaps.until(r#""type":"agent_end""#).await;
    assert!(lines.concat().contains("ended."), "{lines:#?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_ended_while_its_node_could_not_be_reached_ends_for_its_clients() {
    let nodes = Nodes::new(
        &["a", "b"],
        "[[turn]]\nsteps = [{ text = \"Begun \" }, { wait_for = \"/nowhere/at/all\" }]\n",
    );
    let mut there = nodes.client("a", "synaps", &[]).await;
    let far = there.json().await["session_id"].clone();
    let far = far.as_str().unwrap().to_owned();
    let mut omp = nodes.client("b", "omp", &["--session", &far]).await;
    nodes.set_running(&far, true);
    omp.ask(r#"{"id":"p","type":"prompt","message":"go"}"#, "Begun")
        .await;
    nodes.cut("a");
    omp.until("notice").await;
    // What the client has not been told is found out by looking.
    nodes.set_running(&far, false);
    let lines = omp.until("agent_settled").await;
    assert!(
        types(&lines).contains(&"agent_end".to_owned()),
        "{lines:#?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_lost_node_never_got_is_sent_whole_to_the_next_and_answered_once() {
    let nodes = Nodes::new(&["a", "b"], ANSWERS);
    let (_there, far) = session_on(&nodes, "a").await;
    let mut omp = nodes.client("b", "omp", &["--session", &far]).await;
    omp.ask(r#"{"id":"g","type":"get_state"}"#, r#""id":"g""#)
        .await;
    nodes.hold(true);
    // More than may be on its way, in lines that no chunk has whole.
    let count = 100;
    let padding = "x".repeat(100_000);
    let mut lines = String::new();
    for number in 0..count {
        let ask = json!({ "id": format!("n{number}"), "type": "get_state", "padding": padding });
        lines += &format!("{ask}\n");
    }
    lines += "{\"id\":\"last\",\"type\":\"get_state\"}\n";
    let asking = omp.ask_all(lines.as_bytes(), r#""id":"last""#);
    let cutting = async {
        tokio::time::sleep(std::time::Duration::from_millis(500)).await;
        nodes.cut("a");
        nodes.hold(false);
    };
    let (answers, ()) = tokio::join!(asking, cutting);
    let mut seen = std::collections::BTreeMap::new();
    let mut failed = 0;
    for line in &answers {
        let answer: Value = serde_json::from_str(line).unwrap();
        if answer["type"] == "response" {
            let id = answer["id"].as_str().unwrap_or("none").to_owned();
            *seen.entry(id).or_insert(0) += 1;
            failed += u32::from(answer["success"] == false);
        }
    }
    assert_eq!(seen.len(), count + 1, "{seen:?}");
    assert!(seen.values().all(|answers| *answers == 1), "{seen:?}");
    assert!((1..count as u32).contains(&failed), "{failed}");
}
