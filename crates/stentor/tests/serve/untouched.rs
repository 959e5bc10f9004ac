//! Session files that stay as they are for who only looks.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::clients::{acp, acp_alone, chunks, prompt};
use crate::server::Server;
use crate::world::World;

const CALLED: &str = r#"{"type":"message","id":"a1b2c3d5","parentId":"a1b2c3d4","timestamp":"2026-11-01T00:00:02.000Z","message":{"role":"assistant","content":[{"type":"toolCall","id":"call-1","name":"bash","arguments":{"command":"true"}}],"api":"x","provider":"p","model":"m","stopReason":"toolUse","timestamp":1793491202000}}"#;

/// A file as pi leaves it, of a version and with something at its end.
fn file_of_pi(server: &Server, id: &str, version: u32, end: &str) -> (PathBuf, String) {
    let work = server.world.path("work").display().to_string();
    let encoded = work.trim_matches('/').replace('/', "-");
    let header = json!({
        "type": "session", "version": version, "id": id,
        "timestamp": "2026-11-01T00:00:00.000Z", "cwd": work,
    });
    let said = json!({
        "type": "message", "id": "a1b2c3d4", "parentId": null,
        "timestamp": "2026-11-01T00:00:01.000Z",
        "message": { "role": "user", "content": "of pi", "timestamp": 1_793_491_201_000_u64 },
    });
    let text = format!("{header}\n{said}\n{end}");
    let name = format!("home/.pi/agent/sessions/--{encoded}--/2026-11-01T00-00-00-000Z_{id}.jsonl");
    server.world.file(&name, &text);
    (server.world.path(&name), text)
}

fn load(server: &Server, id: &str) -> Value {
    json!({ "sessionId": id, "cwd": server.world.path("work"), "mcpServers": [] })
}

#[test]
fn opening_a_file_of_pi_writes_nothing_until_somebody_says_something() {
    let world = World::new("[[turn]]\ntext = \"Answered.\"\n", "");
    let server = Server::with(world, &["--http", "0", "--unload-after", "0"]);
    let torn = r#"{"type":"message","id":"zz11zz11","parentId":"a1b2"#;
    let called = format!("{CALLED}\n");
    for (id, version, end) in [
        ("torn", 3, torn),
        ("old", 2, ""),
        ("whole", 3, ""),
        ("called", 3, called.as_str()),
    ] {
        let (file, before) = file_of_pi(&server, id, version, end);
        let now = || fs::read_to_string(&file).unwrap();
        let mut observer = server.observer("/acp");
        observer.ask_acp(1, "initialize", json!({ "protocolVersion": 1 }));
        let loaded = observer.ask_acp(2, "session/load", load(&server, id));
        assert!(loaded["error"].is_null(), "{id}: {loaded}");
        assert_eq!(now(), before, "{id}, observed");
        drop(observer);
        let mut driver = acp_alone(&server);
        let loaded = driver
            .ask_acp(2, "session/load", load(&server, id))
            .concat();
        assert!(loaded.contains("of pi"), "{id}: {loaded}");
        assert_eq!(now(), before, "{id}, opened");
        let forked = driver
            .ask_acp(4, "session/fork", load(&server, id))
            .concat();
        assert!(forked.contains("\"result\""), "{id}: {forked}");
        assert_eq!(now(), before, "{id}, copied");
        prompt(&mut driver, 3, id, "more");
        driver.until_answer(3);
        let written = now();
        assert!(written.contains("thinking_level_change"), "{id}: {written}");
        assert!(written.contains("\"version\":3"), "{id}: {written}");
        for line in written.lines() {
            serde_json::from_str::<Value>(line).unwrap();
        }
        assert_eq!(written.contains("interrupted"), id == "called", "{written}");
        driver.end();
    }
}

#[test]
fn the_messages_of_a_session_that_works_elsewhere_are_listed_from_its_own_file() {
    let scenario = "[[turn]]\nsteps = [{ text = \"Begun \" }, { wait_for = \"go\" }, \
                    { text = \"and done.\" }]\n[[turn]]\ntext = \"Two.\"\n";
    let server = Server::with(World::new(scenario, ""), &[]);
    let (mut driver, session) = acp(&server);
    // Too large for the file itself.
    let picture =
        json!({ "type": "image", "data": "AAAA".repeat(40_000), "mimeType": "image/png" });
    let look = json!([{ "type": "text", "text": "look" }, picture]);
    let look = json!({ "sessionId": session, "prompt": look });
    driver.request_acp(3, "session/prompt", look);
    chunks(&mut driver, "agent_message_chunk", "Begun ");
    let listed = |words: &[&str]| {
        let words = [&["sessions", "rewind", &session], words].concat();
        let mut command = server.world.command(&words);
        let ran = command.env("TMPDIR", "/nonexistent").output().unwrap();
        let err = String::from_utf8(ran.stderr).unwrap();
        assert_eq!((ran.status.code(), err.as_str()), (Some(0), ""));
        String::from_utf8(ran.stdout).unwrap()
    };
    let shown = listed(&[]);
    assert!(shown.ends_with("look  [still running]\n"), "{shown}");
    let complete = |text: &str| serde_json::from_str::<Value>(text).unwrap()[0]["complete"].clone();
    assert_eq!(complete(&listed(&["--json"])), false);
    server.world.file("work/go", "");
    driver.until_answer(3);
    assert_eq!(complete(&listed(&["--json"])), true);
    assert!(listed(&[]).ends_with("look\n"));
    driver.end();
}
