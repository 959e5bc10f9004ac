//! Models recorded in session files: a file can be written by anybody.

use super::{EVIL, assert_untouched, world};
use crate::dialects::{self, ALL, Asked};
use crate::world::World;

const SESSION: &str = r#"{"type":"session","version":3,"id":"0198c5aa-0000-7000-8000-000000000001","timestamp":"2026-01-01T00:00:00.000Z","cwd":"WORK"}
{"type":"model_change","id":"a1","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","provider":"script","modelId":"evil.toml"}
{"type":"message","id":"a2","parentId":"a1","timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":[{"type":"text","text":"hi"}],"timestamp":1}}
"#;

const ID: &str = "0198c5aa-0000-7000-8000-000000000001";

/// Where a session file lies that others may have written, and the ways in that take such a path.
const PLANTED: (&str, [&str; 4]) = ("work/s.jsonl", ["-p", "--mode json", "omp", "psi"]);

/// The user's own folder of sessions, whose files every way in finds by their id.
const OWN: &str =
    "home/sessions/2026-01-01T00-00-00-000Z_0198c5aa-0000-7000-8000-000000000001.jsonl";

/// A world with this session file in both places and without a model that anybody named: a session
/// that goes on would have its own.
fn with_session(session: &str, providers: &str) -> World {
    let world = world("", "");
    let sessions = world.path("home/sessions").display().to_string();
    world.file(
        "home/.config/stentor/config.toml",
        &format!(
            "use_local_servers = false\nauto_retry = false\nsession_dir = {sessions:?}\n{providers}"
        ),
    );
    let work = world.path("work").display().to_string();
    world.file("work/evil.toml", EVIL);
    for file in [PLANTED.0, OWN] {
        world.file(file, &session.replace("WORK", &work));
    }
    world
}

/// Goes on with the session in every way that can. `check` gets what was said, the way in, and
/// whether the file is the user's own.
fn go_on(session: &str, providers: &str, check: impl Fn(&World, &str, &str, bool)) {
    let ways = PLANTED.1.map(|dialect| (dialect, PLANTED.0));
    for (dialect, file) in ways.into_iter().chain(ALL.map(|dialect| (dialect, OWN))) {
        let world = with_session(session, providers);
        let path = world.path(file).display().to_string();
        let named = match file {
            OWN => ID,
            _ => path.as_str(),
        };
        let asked = Asked {
            text: "help",
            session: Some(named),
            ..Asked::default()
        };
        let said = dialects::ask(&world, dialect, asked);
        check(&world, dialect, &said.all, file == OWN);
    }
}

/// Whether the guide answered: this word is in its help alone. A phrase would not do, since its words
/// may come in several frames.
fn is_guide(said: &str) -> bool {
    said.contains("**summarise**")
}

#[test]
fn a_script_that_a_session_file_names_is_not_played() {
    for named in ["evil.toml", "WORK/evil.toml"] {
        let session = SESSION.replace("evil.toml", named);
        go_on(&session, "", |world, dialect, said, is_own| {
            assert!(!said.contains("Pwned"), "{dialect} {is_own}: {said}");
            assert_untouched(world, dialect);
            assert!(is_guide(said), "{dialect} {is_own}: {said}");
            if dialect == "-p" {
                assert!(said.contains("evil.toml is not used"), "{said}");
            }
        });
    }
}

#[test]
fn an_agent_that_a_session_file_names_is_the_users_own_or_none() {
    let session = SESSION.replace("\"script\"", "\"agent\"");
    let session = session.replace("evil.toml", "mine");
    let agent = "[agents.mine]\ncommand = [\"touch\", \"PWNED\"]\ndialect = \"acp\"\n";
    // A file that others may have written starts nobody.
    go_on(&session, agent, |world, dialect, said, is_own| {
        if !is_own {
            assert_untouched(world, dialect);
            assert!(is_guide(said), "{dialect}: {said}");
        }
    });
    // Nor does one of the user's own where they have set up no such agent.
    go_on(&session, "", |_, dialect, said, is_own| {
        assert!(is_guide(said), "{dialect} {is_own}: {said}");
    });
}

#[test]
fn a_server_on_this_machine_is_named_by_the_users_own_session_files_only() {
    let providers = "[providers.acme]\nbase_url = \"http://127.0.0.1:7/v1\"\n\
         [[providers.acme.models]]\nid = \"usual\"\n\
         [providers.mine]\nbase_url = \"http://127.0.0.1:9/v1\"\n\
         [[providers.mine.models]]\nid = \"evil\"\n";
    let session = SESSION.replace("\"script\"", "\"mine\"");
    let session = session.replace("evil.toml", "evil");
    go_on(&session, providers, |_, dialect, said, is_own| {
        // Nobody listens at either; who is asked says which model it is.
        let asked = match is_own {
            true => "mine/evil: cannot reach",
            false => "acme/usual: cannot reach",
        };
        assert!(said.contains(asked), "{dialect} {is_own}: {said}");
    });
}

const PROVIDER: &str = "use_local_servers = false\n\
    [providers.mine]\nbase_url = \"http://127.0.0.1:9/v1\"\n\
    [[providers.mine.models]]\nid = \"evil\"\n";

#[test]
fn a_folder_cannot_name_a_server_that_the_user_has_set_up_on_this_machine() {
    for said in [
        "model = \"mine/evil\"",
        "provider = \"mine\"",
        "model = \"evil\"",
    ] {
        let world = world("", "");
        world.file(
            "home/.config/stentor/config.toml",
            &format!("auto_retry = false\n{PROVIDER}"),
        );
        world.file("work/.stentor/config.toml", &format!("{said}\n"));
        let config = world.asked(&["config", "--json"]);
        let config: serde_json::Value = serde_json::from_str(&config).unwrap();
        let waits = !config["waitingForTrust"].as_array().unwrap().is_empty();
        // A bare name is looked for among hosted models alone.
        assert_eq!(waits, said != "model = \"evil\"", "{said}: {config}");
        let out = world.command(&["-p", "go"]).output().unwrap();
        let err = String::from_utf8_lossy(&out.stderr);
        assert_eq!(
            err.contains("there is no model `evil`"),
            !waits,
            "{said}: {err}"
        );
        // Nor where the user has a model of their own.
        let mine = "on_exhausted = \"repeat-last\"\n[[turn]]\ntext = \"Mine.\"\n";
        world.file("work/plan.toml", mine);
        let plan = world.path("work/plan.toml").display().to_string();
        world.file(
            "home/.config/stentor/config.toml",
            &format!("model = \"script/{plan}\"\n{PROVIDER}"),
        );
        for dialect in ALL.into_iter().filter(|_| waits) {
            let answer = dialects::answer(&world, dialect);
            assert_eq!(answer, "Mine.", "{dialect}, {said}");
        }
    }
}
