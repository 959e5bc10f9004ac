//! What commands are held back from is told in every dialect, and as the program itself says it.

use serde_json::{Value, json};

use crate::world::World;

const CONFIG: &str = "[sandbox]\nmode = \"workspace-write\"\n";

fn world(config: &str) -> World {
    World::new("[[turn]]\ntext = \"Hello.\"\n", config)
}

/// What the program says of a configuration: for programs, and for people.
fn said(world: &World) -> (Value, String) {
    let out: Value = serde_json::from_str(&world.asked(&["permissions", "--json"])).unwrap();
    let text = world.asked(&["permissions"]);
    let line = text.lines().find_map(|line| line.strip_prefix("sandbox  "));
    (out["sandbox"].clone(), line.unwrap().to_owned())
}

/// What each dialect says: omp, ACP, synaps, `-p --json`, and psi in words.
fn told(world: &World) -> ([Value; 4], String) {
    let mut child = world.omp();
    child.send(r#"{"id":"1","type":"get_state"}"#);
    let omp = child.until_type("response").pop().unwrap()["data"]["sandbox"].take();
    child.end();
    let mut child = world.child(&["acp"]);
    child.ask_acp(1, "initialize", json!({ "protocolVersion": 1 }));
    let new = json!({ "cwd": world.path("work"), "mcpServers": [] });
    let answer = child.ask_acp(2, "session/new", new).pop().unwrap();
    let answer: Value = serde_json::from_str(&answer).unwrap();
    let acp = answer["result"]["_meta"]["stentor"]["sandbox"].clone();
    child.end();
    let mut child = world.synaps();
    child.send(r#"{"type":"get_state","id":"s"}"#);
    let synaps = child.until_type("response").pop().unwrap()["sandbox"].take();
    child.end();
    let lines = world.asked(&["-p", "hi", "--json", "--no-session"]);
    // The first line says which model answers.
    let second: Value = serde_json::from_str(lines.lines().nth(1).unwrap()).unwrap();
    let printed = second["sandbox"].clone();
    let mut child = world.psi();
    let query = r#"{:query "[:psi.agent-session/sandbox]"}"#;
    let answer = child.ask_psi("q", "query_eql", query).pop().unwrap();
    child.end();
    let (_, psi) = answer.split_once(":psi.agent-session/sandbox \"").unwrap();
    let psi = psi.split('"').next().unwrap().to_owned();
    ([omp, acp, synaps, printed], psi)
}

#[test]
fn every_dialect_tells_what_holds() {
    let world = world(CONFIG);
    let (for_programs, for_people) = said(&world);
    let (told, in_words) = told(&world);
    assert_eq!(told, std::array::from_fn(|_| for_programs.clone()));
    assert_eq!(in_words, for_people);
}

#[test]
fn where_there_is_no_sandbox_the_originals_frames_have_nothing_more() {
    let (told, in_words) = told(&world(""));
    assert_eq!(told, std::array::from_fn(|_| Value::Null));
    assert_eq!(in_words, "off");
}
