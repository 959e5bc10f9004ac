//! Remembered answers from the outside: listed, used, forgotten.

use std::sync::Arc;

use crate::world::{Ran, World};
use expect_test::expect;
use stentor::config::{self, Layer, Platform, Surroundings};
use stentor::notes::NoteStores;
use stentor::setup::{self, Defaults};
use stentor::untrusted::question::TrustAsking;
use stentor_agent::agent::NewSession;
use stentor_agent::event::EventKind;
use stentor_journal::message::ContentBlock;
use stentor_journal::session_files::SessionFiles;
use stentor_policy::{PermissionAnswer, PermissionMode};

const SCENARIO: &str = r#"
[[turn]]
tool = "bash"
arguments = { command = "git status --short; echo ran" }

[[turn]]
text = "{{last_tool_result}}"
"#;

/// Answers given in the working folder and in another project.
fn answered(world: &World) {
    let work = world.root().join("work");
    let kept = serde_json::json!({
        "version": 1,
        "next_number": 4,
        "answers": [
            { "number": 1, "project": work, "answered": "2026-11-15T10:00:00.000Z",
              "answer": { "tool": "bash", "words": "git status", "decision": "allow" } },
            { "number": 2, "project": work, "answered": "2026-11-15T10:01:00.000Z",
              "answer": { "tool": "bash", "words": "echo ran", "decision": "allow" } },
            { "number": 3, "project": "/other", "answered": "2026-11-15T10:02:00.000Z",
              "answer": { "tool": "write", "folder": "/other/src", "decision": "deny" } },
        ],
    });
    world.file(ANSWERS, &kept.to_string());
}

const ANSWERS: &str = "home/.local/share/stentor/permissions.json";

fn ask(world: &World) -> Ran {
    world.file("plan.toml", SCENARIO);
    let model = ["--model", "script/../plan.toml"];
    world.run(&[&model[..], &["--permission-mode", "ask", "-p", "go"]].concat())
}

#[test]
fn permissions_lists_rules_with_their_sources_and_answers() {
    let world = World::new();
    answered(&world);
    world.file(
        "home/.config/stentor/config.toml",
        "permission_mode = \"ask\"\n[[permissions]]\ntool = \"bash\"\ncommand = \"rm *\"\ndecision = \"deny\"\n",
    );
    expect![[r#"
        mode     ask  ~~/home/.config/stentor/config.toml:1
        sandbox  off

        rules; the most specific match wins
          { tool = "bash", command = "rm *", decision = "deny" }  ~~/home/.config/stentor/config.toml:2

        remembered answers of ~~/work
            1  allow bash commands that start with `git status`  2026-11-15
            2  allow bash commands that start with `echo ran`  2026-11-15
    "#]]
    .assert_eq(&world.run(&["permissions"]).ok());
    let all = world.run(&["permissions", "--all"]).ok();
    assert!(
        all.contains("    3  deny write in /other/src and below  2026-11-15  in /other\n"),
        "{all}"
    );
    let json: serde_json::Value =
        serde_json::from_str(&world.run(&["permissions", "--json"]).ok()).unwrap();
    assert_eq!(json["answers"][1]["answer"]["words"], "echo ran");
    assert_eq!(json["mode"]["value"], "ask");
}

#[test]
fn a_remembered_answer_decides_until_it_is_forgotten() {
    let world = World::new();
    assert!(ask(&world).out.starts_with("Not permitted: "));
    answered(&world);
    assert!(ask(&world).out.ends_with("ran\n"), "{}", ask(&world).out);

    let forgotten = world.run(&["permissions", "forget", "1"]).ok();
    assert!(forgotten.contains("git status"), "{forgotten}");
    assert!(ask(&world).out.starts_with("Not permitted: "));
    let left = world.run(&["permissions", "forget", "--project"]).ok();
    assert!(
        left.contains("echo ran") && !left.contains("/other"),
        "{left}"
    );
    let again = world.run(&["permissions", "forget", "1"]);
    assert_eq!(
        (again.status, again.err.as_str()),
        (
            Some(1),
            "stentor: there is no remembered answer number 1; `stentor permissions` lists them\n"
        )
    );
    let all = world.run(&["permissions", "--all"]).ok();
    assert!(all.contains("/other"), "{all}");
}

#[test]
fn a_repository_cannot_bring_its_own_answers() {
    let world = World::new();
    answered(&world);
    let kept = std::fs::read_to_string(world.root().join(ANSWERS)).unwrap();
    std::fs::remove_file(world.root().join(ANSWERS)).unwrap();
    for place in ["work/.stentor/permissions.json", "work/permissions.json"] {
        world.file(place, &kept);
    }
    assert!(ask(&world).out.starts_with("Not permitted: "));
}

#[test]
fn damaged_answers_are_told_and_count_as_none() {
    let world = World::new();
    world.file(ANSWERS, "{ not json");
    let ran = ask(&world);
    assert!(ran.out.starts_with("Not permitted: "), "{}", ran.out);
    assert!(
        ran.err.contains("permissions.json is damaged"),
        "{}",
        ran.err
    );
    let listed = world.run(&["permissions"]);
    assert_eq!(listed.status, Some(1));
    assert!(
        listed.err.contains("remove it to be asked again"),
        "{}",
        listed.err
    );
}

/// Plays the script in a session as the program sets it up, and answers each question with always.
/// Returns how often somebody was asked, and the last thing the model said.
async fn session_that_is_answered_always(world: &World) -> (usize, String) {
    let (home, cwd) = (world.root().join("home"), world.root().join("work/sub"));
    let env = |name: &str| (name == "HOME").then(|| home.clone().into_os_string());
    let surroundings = Surroundings {
        env: &env,
        cwd: &cwd,
        platform: Platform::Unix,
    };
    let config = config::load(&surroundings, Layer::default()).unwrap();
    let defaults = Arc::new(Defaults {
        flags: Layer::default(),
        variables: config.variables.clone(),
        models: setup::models(&config, &Layer::default(), &cwd).unwrap(),
        permission_mode: PermissionMode::Ask,
        subagents: false,
        rules: true,
        tools: stentor_tools::BuiltinTools::default(),
        mcp: stentor_tools::mcp::McpServers::default(),
        notes: NoteStores::of(&config, false),
        trust: TrustAsking::default(),
        clock: setup::system_clock(),
    });
    let options = defaults.options(&config, &cwd).unwrap();
    let agent = setup::agent(&config, defaults, SessionFiles::None);
    let session = agent.start_with(options, NewSession::default()).unwrap();
    session.set_can_ask(true).await.unwrap();
    let mut events = session.subscribe();
    drop(
        session
            .prompt(vec![ContentBlock::text("go")])
            .await
            .unwrap(),
    );
    let mut questions = 0;
    while let Some(event) = events.next().await {
        match event.kind {
            EventKind::PermissionAsked { id, .. } => {
                questions += 1;
                let always = PermissionAnswer::AllowAlways;
                session.answer_permission(id, always).await.unwrap();
            }
            EventKind::Settled { .. } => break,
            _ => {}
        }
    }
    let said = session.last_assistant_text().await.unwrap();
    session.close().await;
    (questions, said.unwrap_or_default())
}

#[tokio::test]
async fn an_always_in_one_session_is_not_asked_again_in_the_next() {
    let world = World::new();
    world
        .file("work/.git/HEAD", "")
        .file("work/sub/.keep", "")
        .file("plan.toml", &SCENARIO.replace("git status --short; ", ""))
        .file(
            "home/.config/stentor/config.toml",
            &format!(
                "model = \"script/{}\"\n",
                world.root().join("plan.toml").display()
            ),
        );
    let first = session_that_is_answered_always(&world).await;
    assert_eq!(first, (1, "ran".to_owned()));
    let second = session_that_is_answered_always(&world).await;
    assert_eq!(second, (0, "ran".to_owned()));
    let listed = world.run(&["permissions"]).ok();
    let kept = "remembered answers of ~~/work\n    1  allow bash commands that start with `echo`";
    assert!(listed.contains(kept), "{listed}");
}
