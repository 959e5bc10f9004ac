//! Clients of one node in sessions of another, in every dialect.

use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};

use crate::nodes::{Fleet, Node, answer, load, new_session, prompt};
use crate::world::Child;

const ANSWERS: &str =
    "on_exhausted = \"repeat-last\"\n[[turn]]\nsteps = [{ text = [\"One \", \"two.\"] }]\n";

/// A command that is asked for, an answer that does not end by itself, and one that does. What was said
/// before an answer that was never recorded still counts as said.
const ASKS: &str = "[[turn]]\nwhen = { last_user_contains = \"go on\" }\ntext = \"Went on.\"\n\
    [[turn]]\nwhen = { last_user_contains = \"run\" }\ntool = \"bash\"\n\
    arguments = { command = \"echo it ran\" }\n\
    [[turn]]\nwhen = { last_user_contains = \"wait\" }\n\
    steps = [{ text = \"Begun \" }, { wait_for = \"never\" }]\n\
    [[turn]]\ntext = \"Answered.\"\n";

/// Two nodes, and a session of the first with something in it.
struct Two {
    fleet: Fleet,
    one: Node,
    two: Node,
    session: String,
    /// The client that began it.
    first: Child,
}

impl Two {
    fn new(scenario: &str) -> Option<Self> {
        Self::with(scenario, Fleet::node)
    }

    /// Those that ask whether a call may run.
    fn asking(scenario: &str) -> Option<Self> {
        Self::with(scenario, Fleet::asking_node)
    }

    fn with(scenario: &str, node: fn(&Fleet, &str, &str) -> Node) -> Option<Self> {
        let fleet = Fleet::new()?;
        let one = node(&fleet, "one", scenario);
        let two = node(&fleet, "two", scenario);
        let mut first = one.acp();
        let session = new_session(&mut first, &fleet.work());
        prompt(&mut first, 9, &session, "hello");
        first.until_answer(9);
        two.when_owned_by(&session, "one");
        Some(Self {
            fleet,
            one,
            two,
            session,
            first,
        })
    }

    /// A client of the second node.
    fn client(&self, words: &[&str]) -> Child {
        client_of(&self.two, words)
    }

    /// Where the session's file would be on the second node.
    fn file(&self) -> String {
        let folder = self
            .two
            .world
            .path("home/.local/share/stentor/fleet/default/two/--work--");
        folder
            .join(format!("2026-01-01T00-00-00-000Z_{}.jsonl", self.session))
            .display()
            .to_string()
    }
}

fn client_of(node: &Node, words: &[&str]) -> Child {
    let attach = format!("--attach={}", node.world.path("s").display());
    node.world.child(&[words, &[&attach]].concat())
}

#[test]
fn omp_continues_the_newest_session_wherever_it_is() {
    let Some(two) = Two::new(ANSWERS) else { return };
    let mut client = two.two.omp_with(&two.fleet.work(), &["--continue"]);
    client.send(r#"{"id":"a","type":"get_state"}"#);
    let state = client.until(|line| line.contains(r#""command":"get_state""#));
    let state: Value = serde_json::from_str(state.last().unwrap()).unwrap();
    assert_eq!(state["data"]["sessionId"], two.session, "{state}");
}

#[test]
fn a_prompt_in_each_dialect_reaches_the_session_of_another_node_and_is_seen_everywhere() {
    let Some(two) = Two::new(ANSWERS) else {
        return;
    };
    let session = two.session.clone();
    let mut omp = two.client(&["--mode", "rpc", "--session", &session]);
    assert_eq!(omp.json()["type"], "ready");
    let mut synaps = two.client(&["rpc", "--continue", &session]);
    assert_eq!(synaps.json()["session_id"], session);
    let mut psi = two.client(&["--rpc-edn", "--resume", &session]);
    psi.shake_hands_psi();
    let topics = r#"{:topics ["assistant/delta" "session/rehydrated"]}"#;
    psi.ask_psi("t", "subscribe", topics);
    let mut acp = two.two.acp();
    let said = load(&mut acp, &session, &two.fleet.work());
    assert!(said.concat().contains("One two."), "{said:#?}");
    let mut first = two.first;

    omp.send(r#"{"id":"p","type":"prompt","message":"from omp"}"#);
    let frames = omp.until_type("agent_settled");
    assert!(frames.iter().any(|frame| frame["type"] == "message_update"));
    synaps.until(|line| line.contains(r#""type":"agent_end""#));
    psi.until(|line| line.contains("from omp"));
    acp.until(|line| line.contains("from omp"));

    synaps.send(r#"{"type":"prompt","id":"p","message":"from synaps"}"#);
    let lines = synaps.until(|line| line.contains(r#""type":"response""#));
    assert!(lines.concat().contains("text_delta"), "{lines:#?}");

    psi.ask_psi("p", "prompt", r#"{:message "from psi"}"#);
    psi.until(|line| line.contains("assistant/delta"));
    psi.until(|line| line.contains(":phase \"idle\""));

    prompt(&mut acp, 5, &session, "from acp");
    let lines = acp.until_answer(5);
    assert_eq!(answer(&lines)["result"]["stopReason"], "end_turn");

    for text in ["from omp", "from synaps", "from psi", "from acp"] {
        first.until(|line| line.contains(text));
    }
    two.two.when_owned_by(&session, "one");
}

#[test]
fn a_question_is_answered_and_a_run_stopped_from_another_node() {
    let Some(two) = Two::asking(ASKS) else {
        return;
    };
    let session = two.session.clone();
    let mut omp = two.client(&["--mode", "rpc-ui", "--session", &session]);
    assert_eq!(omp.json()["type"], "ready");
    omp.send(r#"{"id":"p","type":"prompt","message":"run it"}"#);
    let line = omp
        .until(|line| line.contains(r#""method":"select""#))
        .pop();
    let question: Value = serde_json::from_str(&line.unwrap()).unwrap();
    let answer_line = json!({
        "type": "extension_ui_response", "id": question["id"], "value": question["options"][0],
    });
    omp.send(&answer_line.to_string());
    let frames = omp.until_type("agent_settled");
    let said = format!("{frames:?}");
    assert!(said.contains("it ran"), "{said}");

    let mut acp = two.two.acp();
    load(&mut acp, &session, &two.fleet.work());
    prompt(&mut acp, 5, &session, "wait");
    acp.until(|line| line.contains("Begun"));
    omp.send(r#"{"id":"x","type":"abort"}"#);
    let lines = acp.until_answer(5);
    assert_eq!(answer(&lines)["result"]["stopReason"], "cancelled");
}

#[test]
fn a_client_switches_between_sessions_of_different_nodes() {
    let Some(two) = Two::new(ANSWERS) else {
        return;
    };
    let mut omp = two.client(&["--mode", "rpc"]);
    assert_eq!(omp.json()["type"], "ready");
    omp.send(r#"{"id":"p","type":"prompt","message":"at home"}"#);
    omp.until_type("agent_settled");
    let state = |omp: &mut Child| {
        omp.send(r#"{"id":"g","type":"get_state"}"#);
        let line = omp.until(|line| line.contains(r#""id":"g""#)).pop();
        let answer: Value = serde_json::from_str(&line.unwrap()).unwrap();
        answer["data"].clone()
    };
    let home = state(&mut omp);
    let switch = |omp: &mut Child, file: &str| {
        let line = json!({ "id": "s", "type": "switch_session", "sessionPath": file });
        omp.send(&line.to_string());
        let line = omp.until(|line| line.contains(r#""id":"s""#)).pop();
        let answer: Value = serde_json::from_str(&line.unwrap()).unwrap();
        assert_eq!(answer["success"], true, "{answer}");
    };
    switch(&mut omp, &two.file());
    assert_eq!(state(&mut omp)["sessionId"], two.session);
    omp.send(r#"{"id":"p","type":"prompt","message":"over there"}"#);
    omp.until_type("agent_settled");
    switch(&mut omp, home["sessionFile"].as_str().unwrap());
    assert_eq!(state(&mut omp)["sessionId"], home["sessionId"]);
    let sessions = two.two.sessions();
    let owner = |id: &Value| {
        let found = sessions.iter().find(|session| session["id"] == *id);
        found.unwrap()["owner"]["name"].clone()
    };
    assert_eq!(owner(&json!(two.session)), "one");
    assert_eq!(owner(&home["sessionId"]), "two");
}

#[test]
fn when_a_node_is_killed_in_the_middle_its_clients_elsewhere_go_on() {
    let Some(two) = Two::new(ASKS) else {
        return;
    };
    let session = two.session.clone();
    let mut omp = two.client(&["--mode", "rpc", "--session", &session]);
    let mut synaps = two.client(&["rpc", "--continue", &session]);
    synaps.json();
    let mut psi = two.client(&["--rpc-edn", "--resume", &session]);
    psi.shake_hands_psi();
    let topics = r#"{:topics ["assistant/delta" "session/rehydrated"]}"#;
    psi.ask_psi("t", "subscribe", topics);
    let mut acp = two.two.acp();
    load(&mut acp, &session, &two.fleet.work());
    prompt(&mut acp, 5, &session, "wait");
    acp.until(|line| line.contains("Begun"));
    omp.until(|line| line.contains("Begun"));
    synaps.until(|line| line.contains("Begun"));
    kill_process(two.one.process.pid(), Signal::KILL).unwrap();

    // What was under way is answered, and nobody is left in silence.
    let refused = answer(&acp.until_answer(5));
    assert!(
        refused["error"]["message"]
            .as_str()
            .unwrap()
            .contains("node one"),
        "{refused}"
    );
    omp.until_type("agent_settled");
    synaps.until(|line| line.contains(r#""type":"agent_end""#));
    psi.until(|line| line.contains("session/rehydrated"));
    // Each is there again before anything is said.
    omp.send(r#"{"id":"g","type":"get_state"}"#);
    omp.until(|line| line.contains(r#""id":"g""#));
    synaps.send(r#"{"type":"get_state","id":"g"}"#);
    synaps.until(|line| line.contains(r#""id":"g""#));

    prompt(&mut acp, 6, &session, "go on");
    let lines = acp.until_answer(6);
    assert_eq!(
        answer(&lines)["result"]["stopReason"],
        "end_turn",
        "{lines:#?}"
    );
    omp.until(|line| line.contains("Went on."));
    synaps.until(|line| line.contains("Went on."));
    psi.until(|line| line.contains("Went on."));
    two.two.when_owned_by(&session, "two");
}

#[test]
fn clients_go_on_when_their_session_is_moved_to_another_node() {
    let Some(two) = Two::new(ANSWERS) else {
        return;
    };
    let session = two.session.clone();
    let mut omp = client_of(&two.one, &["--mode", "rpc", "--session", &session]);
    let mut synaps = client_of(&two.one, &["rpc", "--continue", &session]);
    synaps.json();
    let mut far = two.client(&["rpc", "--continue", &session]);
    far.json();
    omp.send(r#"{"id":"g","type":"get_state"}"#);
    omp.until(|line| line.contains(r#""id":"g""#));
    two.one.world.asked(&["fleet", "move", &session, "two"]);
    two.two.when_owned_by(&session, "two");

    // Each is there again before anything is said.
    omp.until(|line| line.contains("no longer has the session"));
    omp.send(r#"{"id":"h","type":"get_state"}"#);
    omp.until(|line| line.contains(r#""id":"h""#));
    for client in [&mut synaps, &mut far] {
        let state = r#"{"type":"get_state","id":"g"}"#;
        client.send(state);
        let is_answer = |line: &str| line.contains(r#""id":"g""#);
        while client
            .until(is_answer)
            .concat()
            .contains(r#""type":"error""#)
        {
            client.send(state);
        }
    }
    let mut first = two.first;
    prompt(&mut first, 10, &session, "more");
    let lines = first.until_answer(10);
    assert_eq!(
        answer(&lines)["result"]["stopReason"],
        "end_turn",
        "{lines:#?}"
    );
    omp.until_type("agent_settled");
    for client in [&mut synaps, &mut far] {
        client.until(|line| line.contains(r#""type":"agent_end""#));
    }
    two.two.when_owned_by(&session, "two");
}
