//! What a node does not do, and why.

use stentor_test_support::NatsServer;

use crate::nodes::{Fleet, PAUSE, answer, load, new_session, prompt};
use crate::world::World;

const ANSWERS: &str = "on_exhausted = \"repeat-last\"\n[[turn]]\ntext = \"Answered.\"\n";

fn refused(world: &World, words: &[&str]) -> String {
    let out = world.command(words).output().unwrap();
    assert_eq!(out.status.code(), Some(1));
    String::from_utf8(out.stderr).unwrap()
}

#[test]
fn a_node_does_not_start_where_acknowledged_writes_may_be_lost() {
    let Some(nats) = NatsServer::with("max_mem: 64M") else {
        return;
    };
    let start = |more: &str| {
        let config = format!("[fleet]\nurl = {:?}\nnode = \"one\"\n{more}", nats.url);
        let world = World::new(ANSWERS, &config);
        let socket = world.path("s").display().to_string();
        refused(&world, &["serve", "--socket", &socket, "--fleet"])
    };
    let unknown = start("");
    assert!(unknown.contains("nothing says how durable"), "{unknown}");
    assert!(unknown.contains("sync_interval: always"), "{unknown}");
    let seen = start(&format!("monitor = {:?}\n", nats.monitor));
    assert!(seen.contains("before they are on its disk"), "{seen}");
    let https = nats.monitor.replace("http://", "https://");
    let https = start(&format!("monitor = {https:?}\n"));
    assert!(https.contains("only asked over http"), "{https}");
    let alone = start("durability = \"replicated\"\n");
    assert!(alone.contains("at least 3"), "{alone}");
}

#[test]
fn a_node_without_the_place_of_a_session_shows_it_and_says_why_nothing_more() {
    let Some(fleet) = Fleet::new() else { return };
    let work = fleet.work();
    let one = fleet.node("one", ANSWERS);
    let elsewhere = fleet.node_with("elsewhere", ANSWERS, "");
    let mut client = one.acp();
    let session = new_session(&mut client, &work);
    prompt(&mut client, 4, &session, "hello");
    client.until_answer(4);
    client.end();
    one.stop();

    elsewhere.when(&session, |session| session["owner"].is_null());
    let mut client = elsewhere.acp();
    let said = load(&mut client, &session, &work).concat();
    assert!(
        said.contains("hello") && said.contains("Answered."),
        "{said}"
    );
    prompt(&mut client, 5, &session, "go on");
    let refused = answer(&client.until_answer(5));
    let why = refused["error"].to_string();
    assert!(why.contains("has no place `work`"), "{refused}");
}

#[test]
fn a_project_cannot_name_a_fleet() {
    let world = World::new(ANSWERS, "");
    world.file(
        "work/.stentor/config.toml",
        "[fleet]\nurl = \"nats://127.0.0.1:1\"\n",
    );
    let said = refused(&world, &["fleet", "status"]);
    assert!(said.contains("no NATS server is named"), "{said}");
}

#[test]
fn a_change_that_the_fleet_does_not_acknowledge_is_answered_with_an_error() {
    let Some(fleet) = Fleet::new() else { return };
    let work = fleet.work();
    let one = fleet.node("one", ANSWERS);
    let mut client = one.omp(&work);
    client.send(r#"{"id":"a","type":"prompt","message":"hello"}"#);
    client.until_type("agent_settled");
    client.send(r#"{"id":"b","type":"set_session_name","name":"Before"}"#);
    let named = client.until(|line| line.contains(r#""command":"set_session_name""#));
    assert!(named.concat().contains(r#""success":true"#), "{named:#?}");

    let pid = rustix::process::Pid::from_raw(i32::try_from(fleet.nats.pid()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::STOP).unwrap();
    client.send(r#"{"id":"c","type":"set_session_name","name":"After"}"#);
    let named = client.until(|line| line.contains(r#""command":"set_session_name""#));
    rustix::process::kill_process(pid, rustix::process::Signal::CONT).unwrap();
    assert!(named.concat().contains(r#""success":false"#), "{named:#?}");
}

#[test]
fn a_second_node_of_the_same_name_is_refused_while_the_first_is_there() {
    let Some(fleet) = Fleet::new() else { return };
    let one = fleet.node("one", ANSWERS);
    let world = fleet.world("one", ANSWERS, "all", "");
    let socket = world.path("s").display().to_string();
    let why = refused(&world, &["serve", "--socket", &socket, "--fleet"]);
    assert!(
        why.contains("another process is in the fleet as node `one`"),
        "{why}"
    );
    // It is not there any more, though its record is.
    rustix::process::kill_process(one.process.pid(), rustix::process::Signal::KILL).unwrap();
    one.process.exit_code();
    let again = fleet.start(world);
    again.when_status(|nodes| nodes["one"].is_object());
}

#[test]
fn what_is_wrong_with_the_settings_is_said_with_its_line() {
    for (line, why) in [
        ("lease_secconds = 3", "fleet.lease_secconds"),
        ("lease_seconds = \"long\"", "[fleet] invalid type"),
        ("durability = \"sure\"", "[fleet] unknown variant"),
    ] {
        let config = format!("\n[fleet]\nnode = \"one\"\n{line}\n");
        let world = World::new(ANSWERS, &config);
        let said = refused(&world, &["fleet", "status"]);
        let text = std::fs::read_to_string(world.path("home/.config/stentor/config.toml"));
        let number = text.unwrap().lines().position(|own| own == line).unwrap() + 1;
        assert!(said.contains(why), "{said}");
        assert!(said.contains(&format!("config.toml:{number}:1")), "{said}");
    }
}

#[test]
fn frames_go_between_nodes_however_small_the_messages_of_the_servers_are() {
    let nats = NatsServer::configured("sync_interval: always", "max_payload: 32KB", &[]);
    let Some(fleet) = nats.map(Fleet::on) else {
        return;
    };
    let work = fleet.work();
    let one = fleet.node("one", ANSWERS);
    let two = fleet.node("two", ANSWERS);
    let mut client = one.acp();
    let session = new_session(&mut client, &work);
    prompt(&mut client, 4, &session, &"long ".repeat(30_000));
    client.until_answer(4);
    two.when_owned_by(&session, "one");
    let mut client = two.acp();
    let lines = load(&mut client, &session, &work);
    assert!(answer(&lines).get("result").is_some(), "{lines:#?}");
    prompt(&mut client, 5, &session, &"long ".repeat(30_000));
    let answered = answer(&client.until_answer(5));
    assert_eq!(answered["result"]["stopReason"], "end_turn", "{answered}");
}

#[test]
fn servers_that_are_full_are_the_reason_that_clients_learn() {
    let nats = NatsServer::with("sync_interval: always, max_file_store: 3MB");
    let Some(fleet) = nats.map(Fleet::on) else {
        return;
    };
    let work = fleet.work();
    let one = fleet.node("one", ANSWERS);
    let mut client = one.acp();
    let session = new_session(&mut client, &work);
    let refused = (4..).find_map(|id| {
        prompt(&mut client, id, &session, &"x".repeat(900_000));
        let answered = answer(&client.until_answer(id));
        (answered["result"]["stopReason"] != "end_turn").then_some(answered)
    });
    let refused = refused.unwrap().to_string();
    assert!(refused.contains("insufficient resources"), "{refused}");
    // Who opens it then learns the same, as soon as it is closed here.
    client.end();
    loop {
        let mut client = one.acp();
        let refused = answer(&load(&mut client, &session, &work)).to_string();
        match refused.contains("already") {
            true => std::thread::sleep(PAUSE),
            false => break assert!(refused.contains("insufficient resources"), "{refused}"),
        }
    }
}
