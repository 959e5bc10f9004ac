//! What a rule denies is found by no search of the folder above it.

use serde_json::{Value, json};

use super::person::{DIALECTS, Person};
use super::scenario;
use crate::world::World;

const DENIED: &str = r#"permission_mode = "all"
[[permissions]]
path = "**/*.key"
decision = "deny"
[[permissions]]
path = "private"
decision = "deny"
"#;

/// Each search that would find what is denied, and what it says instead.
fn searches() -> [(&'static str, Value, &'static str); 4] {
    [
        (
            "grep",
            json!({ "pattern": "wor[d]" }),
            "It said: open.txt:1: a word\n\n[3 paths were left out: permission rules deny them]\n",
        ),
        (
            "grep",
            json!({ "pattern": "secre[t]" }),
            "It said: No matches found\n\n[3 paths were left out: permission rules deny them]\n",
        ),
        (
            "find",
            json!({ "pattern": "*e*.{key,txt}" }),
            "It said: open.txt\n\n[3 paths were left out: permission rules deny them]\n",
        ),
        (
            "ls",
            json!({}),
            "It said: open.txt\nplan.toml\n\n[2 paths were left out: permission rules deny them]\n",
        ),
    ]
}

fn world(tool: &str, arguments: &Value) -> World {
    let config = format!("tools = [\"{tool}\", \"subagent\"]\n{DENIED}");
    let world = World::new(&scenario(tool, std::slice::from_ref(arguments)), &config);
    world.file("work/open.txt", "a word\n");
    world.file("work/home.key", "a secret word\n");
    world.file("work/private/note.txt", "a secret word\n");
    world
}

#[test]
fn searches_leave_out_what_rules_deny_and_say_how_much() {
    for (tool, arguments, expected) in searches() {
        let world = world(tool, &arguments);
        let said = world.asked(&["-p", "go", "--no-session"]);
        assert_eq!(said, expected, "{tool} {arguments}");
    }
}

#[test]
fn so_they_do_in_every_dialect() {
    for (tool, arguments, _) in searches() {
        for dialect in DIALECTS {
            let world = world(tool, &arguments);
            let mut person = Person::prompts(&world, dialect);
            person.refuses_the_rest();
            let seen = person.seen.join("\n");
            assert!(seen.contains("left out: permission rules deny"), "{seen}");
            assert!(!seen.contains("a secret word"), "{tool} {dialect:?}");
            assert!(!seen.contains("home.key"), "{tool} {dialect:?}");
        }
        let world = world(tool, &arguments);
        let mut child = world.synaps();
        child.send(r#"{"type":"prompt","id":"p","message":"go"}"#);
        let frames = child.until_type("response");
        let seen: String = frames.iter().map(Value::to_string).collect();
        assert!(!seen.contains("a secret word"), "{tool}: {seen}");
        assert!(!seen.contains("home.key"), "{tool}: {seen}");
        child.end();
    }
}
