//! What files, models and servers say does not drive a terminal, wherever it is shown.

use super::commands;
use super::person::{DIALECTS, Person};
use crate::world::World;

/// Clears the line above and writes another, and turns the rest of the line around.
const EVIL: &str = "\u{1b}[1A\u{1b}[2Kfine\u{202e}\u{9b}8m";

fn is_clean(text: &str) -> bool {
    !text.contains(['\u{1b}', '\u{202e}', '\u{9b}', '\r', '\u{7}'])
}

#[test]
fn calls_and_failures_on_stderr_are_made_visible() {
    let command = format!("echo '{EVIL}' >&2; exit 3 # {EVIL}");
    let world = World::new(&commands(&[&command]), "permission_mode = \"all\"\n");
    let out = world
        .command(&["-p", "go", "--no-session"])
        .output()
        .unwrap();
    let err = String::from_utf8(out.stderr).unwrap();
    assert!(is_clean(&err), "{err:?}");
    assert!(err.contains("\\u{1b}[1A"), "{err}");
}

#[test]
fn what_a_provider_says_is_made_visible_in_every_dialect() {
    let message = serde_json::json!(format!("no{EVIL}"));
    let scenario =
        format!("[[turn]]\nerror = {{ kind = \"invalid_request\", message = {message} }}\n");
    let world = World::new(&scenario, "");
    let out = world.command(&["-p", "go", "--no-session"]).output();
    let err = String::from_utf8(out.unwrap().stderr).unwrap();
    let mut seen = vec![("-p", err)];
    for dialect in DIALECTS {
        let world = World::new(&scenario, "");
        let mut person = Person::prompts(&world, dialect);
        person.runs_to_the_end();
        seen.push(("a dialect", person.seen.join("\n")));
    }
    let mut child = world.synaps();
    child.send(r#"{"type":"prompt","id":"p","message":"go"}"#);
    let frames = child.until_type("response");
    seen.push(("synaps", frames.iter().map(ToString::to_string).collect()));
    for (who, seen) in seen {
        assert!(
            is_clean(&seen) && !seen.contains("\\u001b"),
            "{who}: {seen:?}"
        );
        assert!(seen.contains("\\u{202e}"), "{who}: {seen}");
    }
}

#[test]
fn an_answer_that_is_piped_on_stays_as_it_is() {
    let text = serde_json::json!(format!("a{EVIL}b")).to_string();
    let world = World::new(&format!("[[turn]]\ntext = {text}\n"), "");
    let said = world.asked(&["-p", "go", "--no-session"]);
    assert_eq!(said, format!("a{EVIL}b\n"));
}

#[test]
fn listings_are_made_visible() {
    let world = World::new(
        "[[turn]]\ntext = \"ok\"\n",
        &format!(
            "[mcp_servers.a]\ncommand = {evil}\n\n[[permissions]]\ncommand = \"x\u{202e}\"\ndecision = \"ask\"\n",
            evil = serde_json::json!(format!("server{EVIL}")),
        ),
    );
    let answer = serde_json::json!({ "tool": "bash", "command": EVIL, "decision": "deny" });
    let kept = serde_json::json!({ "version": 1, "next_number": 2, "answers": [{
        "number": 1,
        "project": world.path("work"),
        "answered": "2026-11-15T10:00:00.000Z",
        "answer": answer,
    }] });
    world.file(
        "home/.local/share/stentor/permissions.json",
        &kept.to_string(),
    );
    world.asked(&["-p", &format!("prompt {EVIL}")]);
    for (words, found) in [
        (&["sessions"][..], "prompt \\u{1b}[1A"),
        (&["permissions"], "exactly `\\u{1b}[1A"),
        (&["permissions"], "x\\u{202e}"),
        (&["mcp"], "server\\u{1b}[1A"),
        (&["permissions", "forget", "1"], "exactly `\\u{1b}[1A"),
    ] {
        let listed = world.asked(words);
        assert!(is_clean(&listed), "{words:?}: {listed:?}");
        assert!(listed.contains(found), "{words:?}: {listed}");
    }
}

#[test]
fn models_and_what_is_wrong_with_them_are_made_visible() {
    let name = serde_json::json!(EVIL);
    let providers = format!(
        r#"{{"providers": {{"local": {{"baseUrl": "http://127.0.0.1:9", "apiKey": "x", "api": "openai-completions", "models": [{{"id": {name}, "name": {name}}}]}}}}}}"#
    );
    let world = World::new("[[turn]]\ntext = \"ok\"\n", "");
    world.file("home/.pi/agent/models.json", &providers);
    let out = world.command(&["models"]).output().unwrap();
    let (out, err) = (out.stdout, out.stderr);
    let all = String::from_utf8([out, err].concat()).unwrap();
    assert!(is_clean(&all), "{all:?}");
}

#[test]
fn errors_are_made_visible() {
    let world = World::new("[[turn]]\ntext = \"ok\"\n", "");
    for words in [
        &["-p", "go", "--model", &format!("script/{EVIL}.toml")][..],
        &["-p", "go", "--resume", EVIL],
        &["export", EVIL],
        &["mcp", "test", EVIL],
        &[&format!("--{EVIL}")],
        &["--thinking", EVIL, "-p", "go"],
        &["rpc", &format!("--{EVIL}")],
        &["acp", EVIL],
        &["help", EVIL],
        &[EVIL],
    ] {
        let out = world.command(words).output().unwrap();
        let err = String::from_utf8(out.stderr).unwrap();
        assert_ne!(out.status.code(), Some(0), "{words:?}");
        assert!(is_clean(&err) && err.contains("\\u{1b}[1A"), "{err:?}");
    }
}
