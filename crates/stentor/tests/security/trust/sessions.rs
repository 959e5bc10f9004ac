//! Models recorded in session files: a file can be written by anybody.

use super::{EVIL, assert_untouched, world};

const SESSION: &str = r#"{"type":"session","version":3,"id":"0198c5aa-0000-7000-8000-000000000001","timestamp":"2026-01-01T00:00:00.000Z","cwd":"WORK"}
{"type":"model_change","id":"a1","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","provider":"script","modelId":"evil.toml"}
{"type":"message","id":"a2","parentId":"a1","timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":[{"type":"text","text":"hi"}],"timestamp":1}}
"#;

#[test]
fn a_script_that_a_session_file_names_is_not_played() {
    let world = world("[[turn]]\ntext = \"Mine.\"\n", "");
    // Nobody names a model: a resumed session would go on with its own.
    world.file(
        "home/.config/stentor/config.toml",
        "use_local_servers = false\n",
    );
    world.file("work/evil.toml", EVIL);
    let work = world.path("work").display().to_string();
    world.file("work/s.jsonl", &SESSION.replace("WORK", &work));
    let out = world
        .command(&["-p", "help", "--resume", "s.jsonl"])
        .output()
        .unwrap();
    let err = String::from_utf8_lossy(&out.stderr);
    assert_untouched(&world, "-p");
    assert!(err.contains("script/evil.toml is not used"), "{err}");
    let out = String::from_utf8_lossy(&out.stdout);
    assert!(out.contains("offline guide"), "{out}");
}

#[test]
fn a_server_on_this_machine_is_named_by_the_users_own_session_files_only() {
    for (file, goes_on) in [("work/s.jsonl", false), ("home/sessions/s.jsonl", true)] {
        let world = world("", "");
        let sessions = world.path("home/sessions").display().to_string();
        world.file(
            "home/.config/stentor/config.toml",
            &format!(
                "use_local_servers = false\nauto_retry = false\nsession_dir = {sessions:?}\n\
                 [providers.acme]\nbase_url = \"http://127.0.0.1:7/v1\"\n\
                 [[providers.acme.models]]\nid = \"usual\"\n\
                 [providers.mine]\nbase_url = \"http://127.0.0.1:9/v1\"\n\
                 [[providers.mine.models]]\nid = \"evil\"\n"
            ),
        );
        let work = world.path("work").display().to_string();
        let session = SESSION.replace("WORK", &work);
        let session = session.replace("\"script\"", "\"mine\"");
        world.file(file, &session.replace("evil.toml", "evil"));
        let path = world.path(file).display().to_string();
        let out = world
            .command(&["-p", "help", "--resume", &path])
            .output()
            .unwrap();
        let err = String::from_utf8_lossy(&out.stderr);
        // Nobody listens at either; who is asked says which model it is.
        let asked = match goes_on {
            true => "mine/evil: cannot reach",
            false => "acme/usual: cannot reach",
        };
        assert!(err.contains(asked), "{file}: {err}");
    }
}

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
            "use_local_servers = false\n[providers.mine]\nbase_url = \"http://127.0.0.1:9/v1\"\n\
             [[providers.mine.models]]\nid = \"evil\"\n",
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
    }
}
