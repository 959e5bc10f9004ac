//! Sessions that are handed from node to node, and what is left of them there.

use std::path::{Path, PathBuf};

use rustix::process::{Signal, kill_process};
use serde_json::Value;
use stentor_test_support::when_written;

use crate::nodes::{Fleet, Node, PAUSE, answer, load, new_session, prompt};
use crate::world::{Child, World};

/// A call that somebody has to permit.
const ASKS: &str = "[[turn]]\nwhen = { last_user_contains = \"run\" }\ntool = \"bash\"\n\
    arguments = { command = \"echo ran >> ran.txt\" }\n\
    [[turn]]\nwhen = { tool = \"bash\" }\ntext = \"It ran.\"\n[[turn]]\ntext = \"Answered.\"\n";

/// The id of the question whether a call may run.
fn asked(client: &mut Child) -> Value {
    let is_question = |line: &str| line.contains("session/request_permission");
    let line = client.until(is_question).pop().unwrap();
    serde_json::from_str::<Value>(&line).unwrap()["id"].clone()
}

#[test]
fn an_open_question_is_asked_again_by_the_node_that_a_session_moves_to() {
    let Some(fleet) = Fleet::new() else { return };
    let work = fleet.work();
    let one = fleet.asking_node("one", ASKS);
    let two = fleet.asking_node("two", ASKS);
    let mut client = one.acp();
    let session = new_session(&mut client, &work);
    prompt(&mut client, 4, &session, "run it");
    asked(&mut client);

    one.world.asked(&["fleet", "move", &session, "two"]);
    two.when_owned_by(&session, "two");
    let mut client = two.acp();
    let lines = load(&mut client, &session, &work);
    assert!(answer(&lines).get("result").is_some(), "{lines:#?}");
    let question = asked(&mut client);
    assert!(!work.join("ran.txt").exists());
    let allowed = serde_json::json!({
        "jsonrpc": "2.0", "id": question,
        "result": { "outcome": { "outcome": "selected", "optionId": "allow_once" } },
    });
    client.send(&allowed.to_string());
    client.until(|line| line.contains("It ran."));
    assert_eq!(when_written(&work.join("ran.txt")), "ran\n");
}

#[test]
fn a_drained_node_has_no_sessions_and_takes_none() {
    let Some(fleet) = Fleet::new() else { return };
    let work = fleet.work();
    let one = fleet.asking_node("one", ASKS);
    let two = fleet.asking_node("two", ASKS);
    let mut client = one.acp();
    let session = new_session(&mut client, &work);
    prompt(&mut client, 4, &session, "run it");
    asked(&mut client);

    let said = two.world.asked(&["fleet", "drain", "one"]);
    assert_eq!(said, "1 session(s) handed over\n");
    two.when_owned_by(&session, "two");
    two.when_status(|nodes| {
        nodes["one"]["draining"] == true
            && nodes["one"]["sessions"] == 0
            && nodes["two"]["sessions"] == 1
    });
    let said = two.world.asked(&["fleet", "status"]);
    assert!(
        said.contains("one  0 of 256 sessions, takes none"),
        "{said}"
    );
    assert!(
        said.contains("two  1 of 256 sessions  work, host-two"),
        "{said}"
    );
}

#[test]
fn when_all_nodes_are_drained_new_sessions_are_refused_with_the_reason() {
    let Some(fleet) = Fleet::new() else { return };
    let one = fleet.node("one", ASKS);
    let two = fleet.node("two", ASKS);
    one.when_status(|nodes| nodes["two"].is_object());
    for node in ["one", "two"] {
        let said = two.world.asked(&["fleet", "drain", node, "--json"]);
        assert_eq!(said, "{\"moved\":0}\n");
    }
    let why = "this node takes no sessions any more, since it is drained or stops; no other node has \
        the place `work` and capacity left";
    let mut client = one.acp();
    let new = serde_json::json!({ "cwd": fleet.work(), "mcpServers": [] });
    let refused = answer(&client.ask_acp(2, "session/new", new));
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(message.ends_with(why), "{refused}");
    // Dialects that begin with a session are not served.
    let attach = format!("--attach={}", one.world.path("s").display());
    let mut omp = one.world.command(&["--mode", "rpc", &attach]);
    let refused = omp.current_dir(fleet.work()).output().unwrap();
    let message = String::from_utf8(refused.stderr).unwrap();
    assert!(message.trim_end().ends_with(why), "{message}");
    assert_eq!(refused.status.code(), Some(75));

    let unknown = two.world.command(&["fleet", "drain", "three"]).output();
    let unknown = String::from_utf8(unknown.unwrap().stderr).unwrap();
    assert!(
        unknown.contains("there is no node `three`; there are: one, two"),
        "{unknown}"
    );
}

#[test]
fn a_moved_session_ends_at_the_node_that_was_named_whoever_waits_for_it() {
    let Some(fleet) = Fleet::new() else { return };
    let work = fleet.work();
    let one = fleet.node("one", ASKS);
    let two = fleet.node("two", ASKS);
    let _three = fleet.node("three", ASKS);
    one.when_status(|nodes| nodes["two"].is_object() && nodes["three"].is_object());
    let mut client = one.acp();
    let session = new_session(&mut client, &work);
    prompt(&mut client, 4, &session, "hello");
    client.until_answer(4);
    let (_, short) = session.rsplit_once('-').unwrap();
    for node in ["two", "three", "two"] {
        let said = two.world.asked(&["fleet", "move", &short[..8], node]);
        assert_eq!(said, "1 session(s) handed over\n");
        let owner = &two.sessions()[0]["owner"];
        assert_eq!(owner["name"], node);
    }
    // A request that comes while the session is closed on one node is answered with an error.
    let mut answers = (5..).map(|id| {
        prompt(&mut client, id, &session, "hello again");
        answer(&client.until_answer(id))
    });
    assert!(answers.any(|answer| answer["result"]["stopReason"] == "end_turn"));
}

#[test]
fn queued_messages_are_kept_when_a_node_dies() {
    let Some(fleet) = Fleet::new() else { return };
    let work = fleet.work();
    let waits = "[[turn]]\nwhen = { last_user_contains = \"begin\" }\nsteps = [{ tool = \"bash\", \
        id = \"call_1\", arguments = { command = \"echo begun > begun.txt; sleep 600\" } }]\n\
        [[turn]]\ntext = \"Answered.\"\n";
    let one = fleet.node("one", waits);
    let two = fleet.node("two", waits);
    let mut client = one.omp(&work);
    client.send(r#"{"id":"a","type":"prompt","message":"begin"}"#);
    when_written(&work.join("begun.txt"));
    client.send(r#"{"id":"b","type":"follow_up","message":"and then"}"#);
    client.until(|line| line.contains(r#""command":"follow_up","success":true"#));
    client.send(r#"{"id":"c","type":"get_state"}"#);
    let state = client.until(|line| line.contains(r#""command":"get_state""#));
    let state: Value = serde_json::from_str(state.last().unwrap()).unwrap();
    let session = state["data"]["sessionId"].as_str().unwrap().to_owned();
    rustix::process::kill_process(one.process.pid(), rustix::process::Signal::KILL).unwrap();
    drop(client);

    two.when_owned_by(&session, "two");
    let mut client = two.omp_in(&work, &session);
    client.send(r#"{"id":"d","type":"get_state"}"#);
    let state = client.until(|line| line.contains(r#""command":"get_state""#));
    let state: Value = serde_json::from_str(state.last().unwrap()).unwrap();
    assert_eq!(state["data"]["queuedMessageCount"], 1, "{state}");
}

#[test]
fn a_session_that_is_open_nowhere_is_opened_on_the_node_it_is_moved_to() {
    let Some(fleet) = Fleet::new() else { return };
    let work = fleet.work();
    let one = fleet.asking_node("one", ASKS);
    let two = fleet.asking_node("two", ASKS);
    let elsewhere = fleet.node_with("elsewhere", ASKS, "");
    let mut client = one.acp();
    let session = new_session(&mut client, &work);
    prompt(&mut client, 4, &session, "hello");
    client.until_answer(4);
    client.end();
    one.stop();
    two.when(&session, |session| session["owner"].is_null());

    let words = ["fleet", "move", &session, "elsewhere"];
    let out = elsewhere.world.command(&words).output().unwrap();
    let why = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(why.contains("has no place `work`"), "{why}");
    let said = two.world.asked(&["fleet", "move", &session, "two"]);
    assert_eq!(said, "1 session(s) handed over\n");
    two.when_owned_by(&session, "two");
}

#[test]
fn an_owner_that_is_gone_is_shown_as_gone() {
    let Some(fleet) = Fleet::new() else { return };
    let one = fleet.asking_node("one", ASKS);
    let two = fleet.asking_node("two", ASKS);
    let mut client = one.acp();
    let session = new_session(&mut client, &one.world.path("work"));
    prompt(&mut client, 4, &session, "hello");
    client.until_answer(4);
    let there = two.when_owned_by(&session, "one");
    assert_eq!(there["owner"]["gone"], false);
    let said = two.world.asked(&["fleet", "sessions"]);
    assert!(said.contains("  one  host-one  hello"), "{said}");
    kill_process(one.process.pid(), Signal::KILL).unwrap();
    two.when(&session, |session| session["owner"]["gone"] == true);
    let said = two.world.asked(&["fleet", "sessions"]);
    assert!(said.contains("  one (gone)  host-one  hello"), "{said}");
}

#[test]
fn a_deleted_session_leaves_nothing_on_nodes_that_had_it_once_whether_they_are_there_or_not() {
    let Some(fleet) = Fleet::new() else { return };
    let work = fleet.work();
    let one = fleet.asking_node("one", ASKS);
    let two = fleet.asking_node("two", ASKS);
    let three = fleet.asking_node("three", ASKS);
    let mut client = one.acp();
    let session = new_session(&mut client, &work);
    prompt(&mut client, 4, &session, "secret-words");
    client.until_answer(4);
    client.end();
    for node in ["three", "two"] {
        one.world.asked(&["fleet", "move", &session, node]);
        one.when_owned_by(&session, node);
    }
    let copies = |world: &World| {
        let data = world.path("home/.local/share/stentor/fleet");
        files_below(&data, |name| name.contains(&session))
    };
    assert_eq!(copies(&one.world).len(), 1);
    assert_eq!(copies(&three.world).len(), 1);
    let Node { world, process } = three;
    kill_process(process.pid(), Signal::TERM).unwrap();
    assert_eq!(process.exit_code(), Some(143));

    let mut client = two.acp();
    let delete = serde_json::json!({ "sessionId": session });
    let deleted = answer(&client.ask_acp(5, "session/delete", delete));
    assert!(deleted.get("result").is_some(), "{deleted}");
    assert_eq!(copies(&two.world), Vec::<PathBuf>::new());
    while !copies(&one.world).is_empty() {
        std::thread::sleep(PAUSE);
    }
    let three = fleet.start(world);
    while !copies(&three.world).is_empty() {
        std::thread::sleep(PAUSE);
    }
}

/// The files below a folder whose names fit.
fn files_below(folder: &Path, fits: impl Fn(&str) -> bool + Copy) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = entries.flat_map(|entry| match entry.path() {
        path if path.is_dir() => files_below(&path, fits),
        path => vec![path],
    });
    let name = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().into_owned();
    paths.filter(|path| fits(&name(path))).collect()
}
