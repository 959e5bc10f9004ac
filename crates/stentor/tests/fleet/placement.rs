//! Where new sessions begin.

use std::path::Path;

use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};

use crate::nodes::{Fleet, Node, answer, new_session, prompt};
use crate::world::Child;

const ANSWERS: &str = "on_exhausted = \"repeat-last\"\n[[turn]]\ntext = \"Answered.\"\n";

/// A client of each dialect in a folder, which begins a session and says something in it. The clients
/// stay: their sessions are open.
fn sessions_in_each_dialect(node: &Node, cwd: &Path) -> Vec<(String, Child)> {
    let mut omp = node.omp(cwd);
    let of_omp = prompted_omp(&mut omp);

    let mut synaps = node.client_in(cwd, &["rpc"]);
    let of_synaps = text(&synaps.json()["session_id"]);
    synaps.send(r#"{"type":"prompt","id":"p","message":"from synaps"}"#);
    synaps.until(|line| line.contains(r#""type":"response""#));

    let mut psi = node.client_in(cwd, &["--rpc-edn"]);
    psi.shake_hands_psi();
    let of_psi = prompted_psi(&mut psi);

    let mut acp = node.acp();
    let of_acp = new_session(&mut acp, cwd);
    prompt(&mut acp, 5, &of_acp, "from acp");
    let answered = answer(&acp.until_answer(5));
    assert_eq!(answered["result"]["stopReason"], "end_turn", "{answered}");
    vec![
        (of_omp, omp),
        (of_synaps, synaps),
        (of_psi, psi),
        (of_acp, acp),
    ]
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// The session in which a client of omp has said something.
fn prompted_omp(omp: &mut Child) -> String {
    omp.send(r#"{"id":"p","type":"prompt","message":"from omp"}"#);
    let frames = omp.until_type("agent_settled");
    assert!(format!("{frames:?}").contains("Answered."), "{frames:?}");
    text(&omp_state(omp)["sessionId"])
}

fn omp_state(omp: &mut Child) -> Value {
    omp.send(r#"{"id":"g","type":"get_state"}"#);
    let line = omp.until(|line| line.contains(r#""id":"g""#)).pop();
    let state: Value = serde_json::from_str(&line.unwrap()).unwrap();
    state["data"].clone()
}

fn omp_answer(omp: &mut Child, command: &Value) -> Value {
    omp.send(&command.to_string());
    let id = format!("\"id\":{}", command["id"]);
    let line = omp.until(|line| line.contains(&id)).pop();
    serde_json::from_str(&line.unwrap()).unwrap()
}

/// The same with psi.
fn prompted_psi(psi: &mut Child) -> String {
    psi.ask_psi("t", "subscribe", r#"{:topics ["assistant/message"]}"#);
    psi.ask_psi("p", "prompt", r#"{:message "from psi"}"#);
    psi.until(|line| line.contains("Answered."));
    let state = psi.ask_psi("g", "get_state", "{}").concat();
    let (_, id) = state.split_once(":session-id \"").unwrap();
    id.split_once('"').unwrap().0.to_owned()
}

#[test]
fn new_sessions_of_a_full_node_begin_on_another_one_in_every_dialect() {
    let Some(fleet) = Fleet::new() else { return };
    let work = fleet.work();
    let one = fleet.node_set("one", ANSWERS, "capacity = 1");
    let two = fleet.node("two", ANSWERS);
    one.when_status(|nodes| nodes["two"].is_object());
    let mut first = one.acp();
    let here = new_session(&mut first, &work);
    let begun = sessions_in_each_dialect(&one, &work);
    for (session, _) in &begun {
        two.when_owned_by(session, "two");
    }
    two.when_owned_by(&here, "one");
    two.when_status(|nodes| nodes["one"]["sessions"] == 1 && nodes["two"]["sessions"] == 4);

    // A page that is told to begin one, and one in which something is said at once.
    for command in [
        json!({ "do": "new", "cwd": work }),
        json!({ "do": "prompt", "text": "from the page" }),
    ] {
        let (mut page, welcome) = one.page_in(&work, false);
        assert!(welcome["served"].is_object(), "{welcome}");
        page.send(&command);
        if command["do"] == "new" {
            page.until(|frame| frame["op"] == "state" && frame["session"].is_string());
            page.send(&json!({ "do": "prompt", "text": "from the page" }));
        }
        let state = page.until(|frame| frame["op"] == "state" && frame["session"].is_string());
        two.when_owned_by(state["session"].as_str().unwrap(), "two");
    }
}

#[test]
fn new_sessions_of_a_drained_node_begin_on_another_one_in_every_dialect() {
    let Some(fleet) = Fleet::new() else { return };
    let work = fleet.work();
    let one = fleet.node("one", ANSWERS);
    let two = fleet.node("two", ANSWERS);
    one.when_status(|nodes| nodes["two"].is_object());
    two.world.asked(&["fleet", "drain", "one"]);
    for (session, _) in sessions_in_each_dialect(&one, &work) {
        two.when_owned_by(&session, "two");
    }
    assert!(
        two.sessions()
            .iter()
            .all(|session| session["owner"]["name"] == "two")
    );
}

/// A node with capacity for one session, and another one.
fn small_and_large(fleet: &Fleet) -> (Node, Node) {
    let one = fleet.node_set("one", ANSWERS, "capacity = 1");
    let two = fleet.node("two", ANSWERS);
    one.when_status(|nodes| nodes["two"].is_object());
    (one, two)
}

#[test]
fn omp_begins_another_session_elsewhere_with_its_settings_when_the_node_is_full() {
    let Some(fleet) = Fleet::new() else { return };
    let work = fleet.work();
    let (one, two) = small_and_large(&fleet);
    let mut omp = one.omp(&work);
    let filter = json!({ "id": "f", "type": "set_event_filter", "events": ["agent_settled"] });
    omp_answer(&mut omp, &filter);
    let mode = json!({ "id": "m", "type": "set_steering_mode", "mode": "all" });
    assert_eq!(omp_answer(&mut omp, &mode)["success"], true);
    omp.send(r#"{"id":"p","type":"prompt","message":"here"}"#);
    omp.until_type("agent_settled");
    let before = omp_state(&mut omp);
    two.when_owned_by(before["sessionId"].as_str().unwrap(), "one");
    let begun = omp_answer(&mut omp, &json!({ "id": "n", "type": "new_session" }));
    assert_eq!(
        begun,
        json!({
            "id": "n", "type": "response", "command": "new_session", "success": true,
            "data": { "cancelled": false },
        })
    );
    omp.send(r#"{"id":"q","type":"prompt","message":"there"}"#);
    let frames = omp.until_type("agent_settled");
    // Its filter counts there, too.
    let names: Vec<&str> = frames
        .iter()
        .filter_map(|frame| frame["type"].as_str())
        .collect();
    assert!(!names.contains(&"message_update"), "{names:?}");
    let after = omp_state(&mut omp);
    assert_eq!(after["steeringMode"], "all");
    two.when_owned_by(after["sessionId"].as_str().unwrap(), "two");
}

#[test]
fn synaps_begins_another_session_elsewhere_when_the_node_is_full() {
    let Some(fleet) = Fleet::new() else { return };
    let work = fleet.work();
    let (one, two) = small_and_large(&fleet);
    let mut synaps = one.client_in(&work, &["rpc"]);
    two.when_owned_by(&text(&synaps.json()["session_id"]), "one");
    synaps.send(r#"{"type":"new_session","id":"n"}"#);
    let begun = synaps.until(|line| line.contains(r#""id":"n""#)).pop();
    let begun: Value = serde_json::from_str(&begun.unwrap()).unwrap();
    assert_eq!(begun["type"], "response", "{begun}");
    two.when_owned_by(begun["session_id"].as_str().unwrap(), "two");
}

#[test]
fn psi_begins_another_session_elsewhere_when_the_node_is_full() {
    let Some(fleet) = Fleet::new() else { return };
    let work = fleet.work();
    let (one, two) = small_and_large(&fleet);
    let mut psi = one.client_in(&work, &["--rpc-edn"]);
    psi.shake_hands_psi();
    let before = prompted_psi(&mut psi);
    two.when_owned_by(&before, "one");
    psi.ask_psi("c", "subscribe", r#"{:topics ["context/updated"]}"#);
    let named = format!("{{:session-id \"{before}\"}}");
    let begun = psi.ask_psi("n", "new_session", &named).join("\n");
    assert!(begun.contains(":ok true"), "{begun}");
    // It is the only one that its tree has.
    let mut lines = begun.lines().rev();
    let tree = lines.find(|line| line.contains("context/updated"));
    let tree = tree.unwrap_or_default().to_owned();
    let after = prompted_psi(&mut psi);
    assert!(begun.contains(&after), "{begun}");
    two.when_owned_by(&after, "two");
    assert!(tree.contains(&after), "{tree}");
    assert_eq!(tree.matches(":parent-session-id").count(), 1, "{tree}");
}

#[test]
fn however_many_begin_at_once_no_node_has_more_sessions_than_its_capacity() {
    let Some(fleet) = Fleet::new() else { return };
    let work = fleet.work();
    let one = fleet.node_set("one", ANSWERS, "capacity = 2");
    let two = fleet.node_set("two", ANSWERS, "capacity = 3");
    one.when_status(|nodes| nodes["two"].is_object());
    let mut clients: Vec<Child> = [&one, &two, &one, &two].map(Node::acp).into();
    let new = json!({ "cwd": work, "mcpServers": [] });
    for client in &mut clients {
        for id in 2..6 {
            client.request_acp(id, "session/new", new.clone());
        }
    }
    let mut begun = 0;
    for client in &mut clients {
        for _ in 2..6 {
            let is_answer = |line: &str| line.contains("\"id\":") && !line.contains("\"method\"");
            let answer = answer(&client.until(is_answer));
            match answer["error"]["message"].as_str() {
                None => begun += 1,
                Some(why) => assert!(why.contains("`capacity` in [fleet])"), "{answer}"),
            }
        }
    }
    assert_eq!(begun, 5);
    one.when_status(|nodes| nodes["one"]["sessions"] == 2 && nodes["two"]["sessions"] == 3);
}

#[test]
fn a_session_begins_in_the_folder_that_the_other_node_has_for_its_place() {
    let Some(fleet) = Fleet::new() else { return };
    let work = fleet.work();
    let there = stentor_test_support::TemporaryFolder::with(&["elsewhere", "elsewhere/sub"]);
    std::fs::create_dir(work.join("sub")).unwrap();
    let writes = "on_exhausted = \"repeat-last\"\n[[turn]]\ntool = \"bash\"\n\
        arguments = { command = \"pwd > where.txt\" }\n[[turn]]\ntext = \"Answered.\"\n";
    let one = fleet.node("one", writes);
    let place = format!("work = {:?}\n", there.path("elsewhere"));
    let two = fleet.node_with("two", writes, &place);
    one.when_status(|nodes| nodes["two"].is_object());
    two.world.asked(&["fleet", "drain", "one"]);
    let sub = there.path("elsewhere/sub");
    let written = || std::fs::read_to_string(sub.join("where.txt")).unwrap();

    let mut acp = one.acp();
    let session = new_session(&mut acp, &work.join("sub"));
    prompt(&mut acp, 5, &session, "go");
    acp.until_answer(5);
    let here = sub.canonicalize().unwrap().display().to_string();
    assert_eq!(written().trim_end(), here);
    std::fs::remove_file(sub.join("where.txt")).unwrap();

    let mut omp = one.omp(&work.join("sub"));
    omp.send(r#"{"id":"p","type":"prompt","message":"go"}"#);
    omp.until_type("agent_settled");
    assert_eq!(written().trim_end(), here);
}

#[test]
fn a_session_in_a_place_that_only_another_node_has_begins_there() {
    let Some(fleet) = Fleet::new() else { return };
    let there = stentor_test_support::TemporaryFolder::with(&["disk"]);
    let gone = there.path("disk").join("not-here");
    let one = fleet.node("one", ANSWERS);
    // A checkout that cannot be made is refused by the node that has the place.
    let place = format!(
        "site = {{ repository = {:?}, commit = \"v1\", path = {gone:?} }}\n",
        there.path("no-repository")
    );
    let _two = fleet.node_with("two", ANSWERS, &place);
    one.when_status(|nodes| nodes["two"].is_object());
    let mut acp = one.acp();
    let new = json!({ "cwd": gone, "mcpServers": [] });
    let refused = answer(&acp.ask_acp(2, "session/new", new));
    let why = refused["error"]["message"].as_str().unwrap();
    assert!(why.contains("no-repository"), "{refused}");
}

#[test]
fn a_client_whose_session_was_still_empty_goes_on_in_a_new_one_when_its_node_dies() {
    let Some(fleet) = Fleet::new() else { return };
    let work = fleet.work();
    let one = fleet.node_set("one", ANSWERS, "capacity = 1");
    let two = fleet.node("two", ANSWERS);
    let three = fleet.node_set("three", ANSWERS, "capacity = 9");
    one.when_status(|nodes| nodes["two"].is_object() && nodes["three"].is_object());
    let mut first = one.acp();
    new_session(&mut first, &work);
    let mut omp = one.omp(&work);
    let before = omp_state(&mut omp);
    // It has most capacity left.
    kill_process(two.process.pid(), Signal::KILL).unwrap();
    omp.until(|line| line.contains("the connection to the node"));
    let session = prompted_omp(&mut omp);
    assert_ne!(session, before["sessionId"]);
    three.when_owned_by(&session, "three");
}

#[test]
fn omp_opens_the_conversation_that_it_keeps_by_a_folder_wherever_that_is() {
    let Some(fleet) = Fleet::new() else { return };
    let work = fleet.work();
    let one = fleet.node("one", ANSWERS);
    let two = fleet.node("two", ANSWERS);
    one.when_status(|nodes| nodes["two"].is_object());
    let open =
        |id: &str, folder: &str| json!({ "id": id, "type": "open_session", "sessionDir": folder });
    let mut first = one.omp(&work);
    let begun = omp_answer(&mut first, &open("o", "chats/42"));
    assert_eq!(begun["data"]["resumed"], false, "{begun}");
    let session = prompted_omp(&mut first);
    assert_eq!(begun["data"]["sessionId"], session);
    two.when(&session, |session| session["firstMessage"] == "from omp");

    let mut second = two.omp(&work);
    let absolute = work.join("chats/./42").display().to_string();
    let opened = omp_answer(&mut second, &open("o", &absolute));
    assert_eq!(opened["data"]["resumed"], true, "{opened}");
    assert_eq!(opened["data"]["sessionId"], session);
    prompted_omp(&mut second);
    two.when_owned_by(&session, "one");
    let other = omp_answer(&mut second, &open("x", "chats/43"));
    assert_eq!(other["data"]["resumed"], false, "{other}");

    // Whoever takes it over has it, and so has who asks for it again.
    kill_process(one.process.pid(), Signal::KILL).unwrap();
    two.when_owned_by(&session, "two");
    let opened = omp_answer(&mut second, &open("y", "chats/42"));
    assert_eq!(opened["data"]["resumed"], true, "{opened}");
    assert_eq!(opened["data"]["sessionId"], session);
}
