//! `stentor sessions` and `stentor export`: finding, changing and sharing conversations.

use expect_test::expect;
use serde_json::Value;

use crate::world::{Ran, World};

const PRICED: &str = r#"
[model]
id = "priced"
prices = { input = 1000, output = 1000 }
[[turn]]
text = "The answer about needles."
usage = { input = 100, output = 20 }
[[turn]]
text = "Another."
"#;

fn world() -> World {
    let world = World::new();
    world.file("work/priced.toml", PRICED);
    for prompt in ["first of all", "second\nthing"] {
        world
            .run(&["-p", prompt, "--model", "script/priced.toml"])
            .ok();
    }
    world
}

fn listed(world: &World) -> Vec<Value> {
    serde_json::from_str(&world.run(&["sessions", "--json"]).ok()).unwrap()
}

fn short(session: &Value) -> String {
    session["shortId"].as_str().unwrap().to_owned()
}

/// The file of a session, which is listed with the temporary folder as `~~`.
fn stored(world: &World, session: &Value) -> String {
    let path = session["path"].as_str().unwrap();
    let path = world.path(path.strip_prefix("~~/").unwrap());
    let text = std::fs::read(path).unwrap();
    String::from_utf8(text).unwrap()
}

/// The text with ids and times replaced.
fn steady(text: &str, sessions: &[Value]) -> String {
    let mut text = text.to_owned();
    for (number, session) in sessions.iter().enumerate() {
        text = text.replace(&short(session), &format!("ID{number}"));
        let modified = session["modified"].as_str().unwrap();
        text = text.replace(&modified[..16].replace('T', " "), "TIME");
    }
    text
}

#[test]
fn a_list_shows_model_and_cost_and_a_search_where_the_text_is() {
    let world = world();
    let sessions = listed(&world);
    expect![[r#"
        ID0  TIME  2 messages  script/priced  $0.12
            second
        ID1  TIME  2 messages  script/priced  $0.12
            first of all
    "#]]
    .assert_eq(&steady(&world.run(&["sessions"]).ok(), &sessions));
    let cost = sessions[0]["usage"]["cost"]["total"].as_f64().unwrap();
    assert!((cost - 0.12).abs() < 1e-9, "{cost}");
    expect![[r#"
        ID1  TIME  2 messages  script/priced  $0.12
            first of all
            user: first of all
    "#]]
    .assert_eq(&steady(
        &world.run(&["sessions", "search", "FIRST"]).ok(),
        &sessions,
    ));
    let found = world.run(&["sessions", "search", "needles", "--json"]).ok();
    assert_eq!(found.matches("The answer about needles.").count(), 2);
    assert_eq!(
        world.run(&["sessions", "search", "nowhere"]).ok(),
        "no session of this folder contains `nowhere`\n"
    );
}

#[test]
fn a_session_is_renamed_resumed_and_deleted_by_its_short_id() {
    let world = world();
    let sessions = listed(&world);
    let id = short(&sessions[1]);
    assert_eq!(id.len(), 8);
    let renamed = world.run(&["sessions", "rename", &id, "My work"]);
    assert_eq!(renamed.ok(), "Renamed to \"My work\".\n");
    assert_eq!(listed(&world)[0]["name"], "My work");
    let resumed = world.run(&[
        "--resume",
        &id,
        "-p",
        "go on",
        "--model",
        "script/priced.toml",
    ]);
    assert_eq!(resumed.ok(), "Another.\n");
    let refused = world.run(&["sessions", "delete", &id]);
    assert_eq!(
        (refused.status, refused.err.as_str()),
        (Some(1), "stentor: deleting cannot be undone: add --yes\n")
    );
    assert_eq!(listed(&world).len(), 2);
    let other = short(&sessions[0]);
    // What is named twice is deleted once.
    let deleted = world.run(&["sessions", "delete", "--yes", &id, &other, &id]);
    assert_eq!(deleted.ok(), "Deleted 2 sessions.\n");
    assert_eq!(
        world.run(&["sessions"]).ok(),
        "no sessions of this folder\n"
    );
}

#[test]
fn resume_without_an_id_asks_somebody_or_says_what_to_give() {
    let world = world();
    let Ran { status, err, .. } = world.run(&["-p", "go on", "--resume"]);
    assert_eq!(
        (status, err.as_str()),
        (
            Some(1),
            "stentor: --resume needs an id here; `stentor sessions` lists them\n"
        )
    );
}

#[test]
fn an_export_is_what_its_name_says() {
    let world = world();
    let sessions = listed(&world);
    let id = short(&sessions[1]);
    let export = |name: &str| {
        let ran = world.run(&["export", &id, "-o", name]);
        assert_eq!(ran.ok(), format!("~~/work/{name}\n"));
        std::fs::read_to_string(world.work(name)).unwrap()
    };
    assert!(export("x.html").starts_with("<!doctype html>"));
    let markdown = export("x.md");
    assert!(
        markdown.starts_with("# first of all\n\n- Folder: "),
        "{markdown}"
    );
    assert!(markdown.contains("\n## priced · "), "{markdown}");
    assert!(
        markdown.ends_with("\n\nThe answer about needles.\n"),
        "{markdown}"
    );
    let json: Value = serde_json::from_str(&export("x.json")).unwrap();
    assert_eq!(json["messages"][0]["content"][0]["text"], "first of all");
    assert_eq!(json["usage"]["input"], 100);
    let copy = export("x.jsonl");
    assert_eq!(copy, stored(&world, &sessions[1]));
    let Ran { status, err, .. } = world.run(&["export", &id, "-o", "x.pdf"]);
    assert_eq!(status, Some(1));
    assert_eq!(
        err,
        "stentor: ~~/work/x.pdf: use a name that ends in .html, .md, .json or .jsonl\n"
    );
}

#[test]
fn a_scenario_goes_on_at_its_turn_after_a_compaction_in_another_process() {
    let world = World::new();
    let turns: String = (1..=6)
        .map(|n| format!("[[turn]]\ntext = \"turn {n} {}\"\n", "word ".repeat(200)))
        .collect();
    let model = "usage = \"estimate\"\n[model]\nid = \"long\"\ncontext_window = 800\n";
    world.file("work/long.toml", &format!("{model}{turns}"));
    world.file(
        "home/.config/stentor/config.toml",
        "[compaction]\nreserve_tokens = 100\nkeep_recent_tokens = 10\n",
    );
    let ask = |words: &[&str]| {
        let words = [words, &["--model", "script/long.toml", "-p", "next"]].concat();
        let out = world.run(&words).out;
        out.split(' ').take(2).collect::<Vec<_>>().join(" ")
    };
    let mut said = vec![ask(&[])];
    said.extend((2..=6).map(|_| ask(&["-c"])));
    assert_eq!(
        said,
        ["turn 1", "turn 2", "turn 3", "turn 4", "turn 5", "turn 6"]
    );
    let stored = stored(&world, &listed(&world)[0]);
    assert!(stored.contains("\"type\":\"compaction\""), "{stored}");
}

#[test]
fn a_scenario_is_checked_with_the_line_of_a_mistake() {
    let world = World::new();
    world.file(
        "work/good.toml",
        "[[turn]]\ntool = \"bash\"\narguments = { command = \"ls\" }\n[[turn]]\nwhen = { tool = \"bash\" }\ntext = \"x\"\n",
    );
    expect![[r#"
        good.toml: 2 turns, 1 of them with conditions; it can be played with --model script/good.toml
        It calls: bash
    "#]]
    .assert_eq(&world.run(&["scenario", "check", "good.toml"]).ok());
    world.file("work/bad.toml", "[[turn]]\ntxt = \"x\"\n");
    let Ran { status, err, .. } = world.run(&["scenario", "check", "bad.toml"]);
    assert_eq!(status, Some(1));
    assert_eq!(
        err,
        "stentor: bad.toml:2: unknown key `txt`: did you mean `text`?\n"
    );
}
