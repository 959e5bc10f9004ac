//! What no folder may do, trusted or not.

use super::{assert_untouched, world};

const TRUSTED: &str = "trusted_projects = [\"~/../work\"]\n";

#[test]
fn a_key_command_of_a_folder_never_runs() {
    let world = world("[[turn]]\ntext = \"x\"\n", TRUSTED);
    world.file(
        "work/.stentor/config.toml",
        "[providers.mine]\nbase_url = \"http://127.0.0.1:9/v1\"\napi = \"openai-completions\"\n\
         api_key_command = \"touch PWNED; echo key\"\nmodels = [{ id = \"m\" }]\n",
    );
    let out = world
        .command(&["--model", "mine/m", "-p", "go"])
        .output()
        .unwrap();
    let err = String::from_utf8_lossy(&out.stderr);
    assert_untouched(&world, "-p");
    assert!(
        err.contains("`api_key_command` would run a program"),
        "{err}"
    );
}

#[test]
fn an_agent_of_a_folder_never_runs() {
    let world = world("[[turn]]\ntext = \"x\"\n", TRUSTED);
    world.file(
        "work/.stentor/config.toml",
        "[agents.theirs]\ncommand = [\"touch\", \"PWNED\"]\ndialect = \"acp\"\n",
    );
    let words = ["--model", "agent/theirs", "-p", "go"];
    let out = world.command(&words).output().unwrap();
    let err = String::from_utf8_lossy(&out.stderr);
    assert_untouched(&world, "-p");
    assert!(err.contains("there is no model `agent/theirs`"), "{err}");
    let config = world.asked(&["config"]);
    let why = "`agents` counts only in your own file";
    assert!(config.contains(why), "{config}");
}

#[test]
fn an_agent_does_not_run_where_commands_are_in_the_sandbox() {
    let world = world(
        "[[turn]]\ntext = \"x\"\n",
        "[agents.mine]\ncommand = [\"touch\", \"PWNED\"]\ndialect = \"acp\"\n",
    );
    let words = [
        "--model",
        "agent/mine",
        "--sandbox",
        "read-only",
        "-p",
        "go",
    ];
    let out = world.command(&words).output().unwrap();
    let err = String::from_utf8_lossy(&out.stderr);
    assert_untouched(&world, "-p");
    assert!(err.contains("runs outside the sandbox"), "{err}");
}

#[test]
fn a_link_cannot_have_another_file_changed_in_the_place_of_the_projects() {
    let world = world("[[turn]]\ntext = \"x\"\n", "");
    let mine = world.path("home/.config/stentor/config.toml");
    let before = std::fs::read_to_string(&mine).unwrap();
    std::fs::create_dir(world.path("work/.stentor")).unwrap();
    std::os::unix::fs::symlink(&mine, world.path("work/.stentor/config.toml")).unwrap();
    let words = ["mcp", "add", "talk", "--scope", "project", "--", "sh", "x"];
    let out = world.command(&words).output().unwrap();
    let err = String::from_utf8_lossy(&out.stderr);
    assert!(err.contains("it leads out of the project"), "{err}");
    assert_eq!(std::fs::read_to_string(&mine).unwrap(), before);
}

#[test]
fn a_folder_cannot_make_the_program_write_outside_it() {
    for (key, allowed) in [
        ("session_dir = \"../elsewhere\"", false),
        ("session_dir = \"out/sessions\"", false),
        ("data_dir = \"elsewhere\"", false),
        ("session_dir = \"sessions\"", true),
    ] {
        let world = world("[[turn]]\ntext = \"x\"\n", TRUSTED);
        std::fs::create_dir(world.path("outside")).unwrap();
        std::os::unix::fs::symlink("../outside", world.path("work/out")).unwrap();
        world.file("work/.stentor/config.toml", &format!("{key}\n"));
        world.asked(&["-p", "go"]);
        let is_written = |folder: &str| {
            let entries = std::fs::read_dir(world.path(folder));
            entries.is_ok_and(|mut entries| entries.next().is_some())
        };
        assert!(!is_written("elsewhere") && !is_written("outside"), "{key}");
        assert!(!is_written("work/elsewhere"), "{key}");
        assert_eq!(is_written("work/sessions"), allowed, "{key}");
    }
}
