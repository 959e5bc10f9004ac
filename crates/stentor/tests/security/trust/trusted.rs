//! What no folder may do, trusted or not.

use super::{assert_untouched, world};
use crate::dialects::{self, ALL, Asked};

const TRUSTED: &str = "trusted_projects = [\"~/../work\"]\n";

#[test]
fn a_key_command_of_a_folder_never_runs() {
    let world = world("[[turn]]\ntext = \"x\"\n", TRUSTED);
    world.file(
        "work/.stentor/config.toml",
        "[providers.mine]\nbase_url = \"http://127.0.0.1:9/v1\"\napi = \"openai-completions\"\n\
         api_key_command = \"touch PWNED; echo key\"\nmodels = [{ id = \"m\" }]\n",
    );
    let mine = format!("model = \"mine/m\"\nauto_retry = false\n{TRUSTED}");
    world.file("home/.config/stentor/config.toml", &mine);
    for dialect in ALL {
        let said = dialects::attempt(&world, dialect);
        assert_untouched(&world, dialect);
        let is_told = said.contains("`api_key_command` would run a program");
        // The bridge has warnings only where they are asked for.
        assert!(is_told || dialect == "synaps", "{dialect}: {said}");
    }
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
    let listed = world.asked(&["models", "--all"]);
    assert!(!listed.contains("agent/theirs"), "{listed}");
    let mine = format!("model = \"agent/theirs\"\n{TRUSTED}");
    world.file("home/.config/stentor/config.toml", &mine);
    for dialect in ALL {
        dialects::attempt(&world, dialect);
        assert_untouched(&world, dialect);
    }
    let config = world.asked(&["config"]);
    let why = "`agents` counts only in your own file";
    assert!(config.contains(why), "{config}");
}

#[test]
fn an_agent_runs_in_the_sandbox_of_the_commands() {
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
    assert!(err.contains("cannot touch"), "{err}");
    world.file(
        "home/.config/stentor/config.toml",
        "model = \"agent/mine\"\nsandbox.mode = \"read-only\"\n\
         [agents.mine]\ncommand = [\"touch\", \"PWNED\"]\ndialect = \"acp\"\n",
    );
    for dialect in ALL {
        dialects::attempt(&world, dialect);
        assert_untouched(&world, dialect);
    }
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
        let asked = Asked {
            is_stored: true,
            ..Asked::default()
        };
        for dialect in ALL {
            dialects::ask(&world, dialect, asked);
        }
        let is_written = |folder: &str| {
            let entries = std::fs::read_dir(world.path(folder));
            entries.is_ok_and(|mut entries| entries.next().is_some())
        };
        assert!(!is_written("elsewhere") && !is_written("outside"), "{key}");
        assert!(!is_written("work/elsewhere"), "{key}");
        assert_eq!(is_written("work/sessions"), allowed, "{key}");
    }
}

#[test]
fn an_extension_that_leads_out_of_the_project_is_left_out_with_one_warning() {
    for trust in [TRUSTED, ""] {
        let world = world("[[turn]]\ntext = \"x\"\n", trust);
        world.executable("evil.sh", "#!/bin/sh\ntouch PWNED\n");
        world.file("work/.stentor/config.toml", "");
        std::fs::create_dir(world.path("work/.stentor/extensions")).unwrap();
        let link = world.path("work/.stentor/extensions/evil.sh");
        std::os::unix::fs::symlink("../../../evil.sh", link).unwrap();
        for dialect in ALL {
            let said = dialects::prompt(&world, dialect);
            assert_untouched(&world, dialect);
            let warnings = said.matches("evil.sh is not read: it leads out of the project");
            let once = warnings.count() == 1 || dialect == "synaps";
            assert!(once, "{dialect}: {said}");
        }
    }
}
