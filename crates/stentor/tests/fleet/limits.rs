//! How many sessions a node and a tenant have open.

use rustix::process::{Signal, kill_process};
use serde_json::json;

use crate::nodes::{Fleet, answer, load, new_session, prompt};

const ANSWERS: &str = "on_exhausted = \"repeat-last\"\n[[turn]]\ntext = \"Answered.\"\n";

#[test]
fn a_full_node_refuses_new_sessions_and_forks_until_it_has_capacity_left() {
    let Some(fleet) = Fleet::new() else { return };
    let work = fleet.work();
    let one = fleet.node_set("one", ANSWERS, "capacity = 1");
    let mut client = one.acp();
    let session = new_session(&mut client, &work);
    prompt(&mut client, 3, &session, "hello");
    client.until_answer(3);
    let new = json!({ "cwd": work, "mcpServers": [] });
    let fork = json!({ "sessionId": session, "cwd": work, "mcpServers": [] });
    for (method, params) in [("session/new", &new), ("session/fork", &fork)] {
        let refused = answer(&client.ask_acp(4, method, params.clone()));
        let why = refused["error"]["message"].as_str().unwrap();
        assert!(
            why.ends_with(
                "this node has as many sessions open as it may (1, `capacity` in [fleet]); no other node has the place \
                 `work` and capacity left"
            ),
            "{refused}"
        );
    }
    assert_eq!(one.sessions().len(), 1);

    let two = fleet.node("two", ANSWERS);
    // It goes on with the one that it has, and has a place for another when that is elsewhere.
    prompt(&mut client, 5, &session, "more");
    let answered = answer(&client.until_answer(5));
    assert_eq!(answered["result"]["stopReason"], "end_turn", "{answered}");
    one.world.asked(&["fleet", "move", &session, "two"]);
    two.when_owned_by(&session, "two");
    two.when_status(|nodes| nodes["one"]["sessions"] == 0);
    let mut client = one.acp();
    let other = new_session(&mut client, &work);
    two.when_owned_by(&other, "one");
}

#[test]
fn a_session_is_opened_where_there_is_capacity() {
    let Some(fleet) = Fleet::new() else { return };
    let work = fleet.work();
    let one = fleet.node_set("one", ANSWERS, "capacity = 1");
    let two = fleet.node("two", ANSWERS);
    let three = fleet.node("three", ANSWERS);
    let mut client = three.acp();
    let session = new_session(&mut client, &work);
    prompt(&mut client, 3, &session, "hello");
    client.until_answer(3);
    client.end();
    let mut client = one.acp();
    new_session(&mut client, &work);
    // Its client's node is full when the session has no owner any more.
    two.when_status(|nodes| nodes["one"]["sessions"] == 1);
    three.stop();
    two.when(&session, |session| session["owner"].is_null());
    let lines = load(&mut client, &session, &work);
    assert!(answer(&lines).get("result").is_some(), "{lines:#?}");
    two.when_owned_by(&session, "two");
}

#[test]
fn a_tenant_has_no_more_sessions_open_than_it_may_on_all_nodes_together() {
    let Some(fleet) = Fleet::new() else { return };
    let work = fleet.work();
    let one = fleet.node_set("one", ANSWERS, "tenant_limit = 1");
    let two = fleet.node_set("two", ANSWERS, "tenant_limit = 1");
    let mut client = one.acp();
    let session = new_session(&mut client, &work);
    prompt(&mut client, 3, &session, "hello");
    client.until_answer(3);
    two.page().when_listed("sessions", |html| {
        html.contains("on <span class=\"node\">one</span>")
    });
    let mut other = two.acp();
    for client in [&mut client, &mut other] {
        let new = json!({ "cwd": work, "mcpServers": [] });
        let refused = answer(&client.ask_acp(4, "session/new", new));
        let why = refused["error"]["message"].as_str().unwrap();
        assert!(
            why.ends_with(
                "the tenant has as many sessions open as it may (1, `tenant_limit` in [fleet]); close some"
            ),
            "{refused}"
        );
    }
    // One that is open already can be used from everywhere.
    let lines = load(&mut other, &session, &work);
    assert!(answer(&lines).get("result").is_some(), "{lines:#?}");
}

#[test]
fn the_limit_of_a_tenant_keeps_no_session_of_a_dead_node_from_going_on_and_counts_none_of_them() {
    let Some(fleet) = Fleet::new() else { return };
    let work = fleet.work();
    let one = fleet.node_set("one", ANSWERS, "tenant_limit = 2");
    let two = fleet.node_set("two", ANSWERS, "tenant_limit = 2");
    let mut client = one.acp();
    let shared = new_session(&mut client, &work);
    prompt(&mut client, 3, &shared, "hello");
    client.until_answer(3);
    // Nobody else has the place of the other.
    let only_there = new_session(&mut client, &one.world.path("work"));
    prompt(&mut client, 4, &only_there, "hello");
    client.until_answer(4);
    two.when_owned_by(&only_there, "one");
    kill_process(one.process.pid(), Signal::KILL).unwrap();

    two.when_owned_by(&shared, "two");
    let mut client = two.acp();
    let other = new_session(&mut client, &work);
    prompt(&mut client, 3, &other, "hello");
    let answered = answer(&client.until_answer(3));
    assert_eq!(answered["result"]["stopReason"], "end_turn", "{answered}");
}

#[test]
fn who_cannot_open_its_session_learns_why() {
    let Some(fleet) = Fleet::new() else { return };
    let work = fleet.work();
    let one = fleet.node("one", ANSWERS);
    let mut client = one.acp();
    let session = new_session(&mut client, &work);
    prompt(&mut client, 3, &session, "hello");
    client.until_answer(3);
    client.end();
    one.stop();
    let two = fleet.node_set("two", ANSWERS, "capacity = 1");
    let mut client = two.acp();
    new_session(&mut client, &work);
    two.when_status(|nodes| nodes["two"]["sessions"] == 1);

    let attach = format!("--attach={}", two.world.path("s").display());
    for words in [&["--mode", "rpc", "--session"][..], &["rpc", "--continue"]] {
        let words = [words, &[&session, &attach]].concat();
        let out = two.world.command(&words).current_dir(&work).output();
        let out = out.unwrap();
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        let why = "this node has as many sessions open as it may (1, `capacity` in [fleet])";
        assert!(said.contains(why), "{words:?}: {said}");
    }
}
