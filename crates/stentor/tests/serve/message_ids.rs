//! What omp names messages by is the same for all clients of a session, and means no other message when
//! the server was started again.

use std::collections::BTreeSet;

use rustix::process::{Signal, kill_process};
use serde_json::Value;

use crate::clients::{acp, omp_too, prompt, server};
use crate::server::{Server, start};
use crate::world::Child;

const SCENARIO: &str = "[[turn]]\nwhen = { last_user_contains = \"q\" }\ntext = \"An answer.\"\n";

/// The ids of the messages up to the end of what goes on: of the message, and of its entry.
fn named(omp: &mut Child) -> Vec<(String, String)> {
    let frames = omp.until_type("agent_settled");
    let started = frames
        .iter()
        .filter(|frame| frame["type"] == "message_start");
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let ids = started.map(|frame| (text(&frame["messageId"]), text(&frame["entryId"])));
    ids.collect()
}

fn entries(omp: &mut Child) -> BTreeSet<String> {
    omp.send(r#"{"type":"get_entries","id":"e"}"#);
    let answer = omp.until_type("response").pop().unwrap();
    let entries = answer["data"]["entries"].as_array().unwrap().iter();
    let messages = entries.filter(|entry| entry["type"] == "message");
    let ids = messages.map(|entry| entry["id"].as_str().unwrap().to_owned());
    ids.collect()
}

#[test]
fn messages_of_omp_are_named_by_their_entries_and_no_id_comes_again() {
    let server = server(SCENARIO);
    let (mut acp, session) = acp(&server);
    let mut omp = omp_too(&server, &session);
    let mut too = omp_too(&server, &session);
    prompt(&mut acp, 3, &session, "q1");
    let before = named(&mut omp);
    assert_eq!(named(&mut too), before);
    assert_eq!(before.len(), 2);
    let Server { world, process, .. } = server;
    kill_process(process.pid(), Signal::KILL).unwrap();
    process.exit_code();
    let (process, ready) = start(&world, &[]);
    let server = Server {
        world,
        process,
        ready,
    };
    let mut omp = omp_too(&server, &session);
    omp.send(r#"{"type":"prompt","id":"p","message":"q2"}"#);
    let after = named(&mut omp);
    let all = || before.iter().chain(&after);
    let messages: BTreeSet<&String> = all().map(|(message, _)| message).collect();
    assert_eq!(messages.len(), 4, "{before:?} {after:?}");
    let named: BTreeSet<String> = all().map(|(_, entry)| entry.clone()).collect();
    assert_eq!(entries(&mut omp), named);
}
