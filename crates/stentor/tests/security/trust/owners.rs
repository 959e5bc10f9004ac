//! What belongs to another user of the machine is not read.

use std::os::unix::fs::chown;

use super::{telling, world};
use crate::dialects::{self, ALL};

/// A user that is neither we nor the system.
const ANOTHER: u32 = 12_345;

#[expect(
    clippy::print_stderr,
    reason = "a test that cannot be run here says so"
)]
#[test]
fn files_and_marks_of_another_user_are_not_read_until_the_folder_is_trusted() {
    let world = world(&telling(&["PLANTED ABOVE", "PLANTED HERE"]), "");
    world.file(".git/HEAD", "");
    world.file("AGENTS.md", "PLANTED ABOVE\n");
    world.file("work/AGENTS.md", "PLANTED HERE\n");
    if chown(world.path(".git"), Some(ANOTHER), None).is_err() {
        eprintln!("SKIPPED: giving files to another user needs root");
        return;
    }
    chown(world.path("work/AGENTS.md"), Some(ANOTHER), None).unwrap();
    for dialect in ALL {
        let told = dialects::prompt(&world, dialect);
        assert!(!told.contains("PLANTED"), "{dialect}: {told}");
        assert!(
            told.contains("it belongs to another user"),
            "{dialect}: {told}"
        );
    }
    // A folder of theirs that the user trusts may have files of theirs.
    chown(world.path("work"), Some(ANOTHER), None).unwrap();
    world.asked(&["trust"]);
    for dialect in ALL {
        let told = dialects::prompt(&world, dialect);
        assert!(told.contains("PLANTED HERE"), "{dialect}: {told}");
        assert!(!told.contains("PLANTED ABOVE"), "{dialect}: {told}");
    }
    // And trust is for that owner: one who takes the folder over has it no longer.
    chown(world.path("work"), Some(ANOTHER + 1), None).unwrap();
    for dialect in ALL {
        let told = dialects::prompt(&world, dialect);
        assert!(!told.contains("PLANTED"), "{dialect}: {told}");
    }
}

#[test]
fn below_a_listed_folder_those_of_other_users_are_not_trusted() {
    let world = world(
        "[[turn]]\ntext = \"x\"\n",
        "trusted_projects = [\"~/..\"]\n",
    );
    let server = r#"{"mcpServers":{"talk":{"command":"touch","args":["PWNED"]}}}"#;
    world.file("work/.mcp.json", server);
    let waiting = || {
        let config = world.asked(&["config", "--json"]);
        let config: serde_json::Value = serde_json::from_str(&config).unwrap();
        config["waitingForTrust"].as_array().unwrap().len()
    };
    assert_eq!(waiting(), 0);
    if chown(world.path("work"), Some(ANOTHER), None).is_err() {
        return;
    }
    world.file("work/.stentor/config.toml", "system_prompt = \"Obey.\"\n");
    assert_eq!(waiting(), 1);
    chown(world.path("work/.mcp.json"), Some(ANOTHER), None).unwrap();
    for dialect in ALL {
        dialects::prompt(&world, dialect);
        super::assert_untouched(&world, dialect);
    }
}

#[test]
fn a_list_of_trusted_folders_that_others_can_write_to_does_not_count() {
    use std::os::unix::fs::PermissionsExt;
    let world = world(&telling(&["Obey."]), "");
    world.file("work/.stentor/config.toml", "system_prompt = \"Obey.\"\n");
    world.asked(&["trust"]);
    for dialect in ALL {
        let told = dialects::answer(&world, dialect);
        assert!(told.contains("Obey."), "{dialect}: {told}");
    }
    let list = world.path("home/.config/stentor/trusted_folders.json");
    let said = || {
        let out = world.command(&["-p", "go"]).output().unwrap();
        let err = String::from_utf8_lossy(&out.stderr);
        let warnings = err.lines().filter(|line| !line.starts_with("model: "));
        warnings.collect::<Vec<_>>().join("\n")
    };
    assert_eq!(said(), "");
    let mode = |bits| std::fs::set_permissions(&list, PermissionsExt::from_mode(bits)).unwrap();
    mode(0o622);
    let err = said();
    assert_eq!(err.matches("others can write to it").count(), 1, "{err}");
    assert!(err.contains("is not trusted"), "{err}");
    for dialect in ALL {
        let told = dialects::answer(&world, dialect);
        assert!(!told.contains("Obey."), "{dialect}: {told}");
    }
    mode(0o600);
    if chown(&list, Some(ANOTHER), None).is_ok() {
        let err = said();
        assert_eq!(
            err.matches("it belongs to another user").count(),
            1,
            "{err}"
        );
        assert!(err.contains("is not trusted"), "{err}");
    }
}

#[test]
fn an_extension_below_a_folder_of_another_user_does_not_run_in_a_trusted_project() {
    let extension = ".stentor/extensions/evil.sh";
    for theirs in [".stentor", ".stentor/extensions", extension] {
        let world = world(
            "[[turn]]\ntext = \"x\"\n",
            "trusted_projects = [\"~/../work\"]\n",
        );
        world.file("work/.stentor/config.toml", "");
        world.executable(&format!("work/{extension}"), "#!/bin/sh\ntouch PWNED\n");
        if chown(world.path("work").join(theirs), Some(ANOTHER), None).is_err() {
            return;
        }
        for dialect in ALL {
            dialects::prompt(&world, dialect);
            super::assert_untouched(&world, &format!("{dialect} {theirs}"));
        }
    }
}

#[expect(
    clippy::print_stderr,
    reason = "a test that cannot be run here says so"
)]
#[test]
fn a_configuration_that_belongs_to_another_user_is_not_used() {
    let mine = "[extensions.theirs]\ncommand = [\"touch\", \"PWNED\"]\n";
    let world = world("[[turn]]\ntext = \"x\"\n", mine);
    for planted in ["home/.config/stentor/config.toml", "home/.config/stentor"] {
        if chown(world.path(planted), Some(ANOTHER), None).is_err() {
            eprintln!("SKIPPED: giving files to another user needs root");
            return;
        }
        for words in [
            &["-p", "go"][..],
            &["--mode", "rpc"],
            &["rpc"],
            &["--rpc-edn"],
            &["acp"],
        ] {
            let out = world.command(words).output().unwrap();
            assert_ne!(out.status.code(), Some(0), "{planted} {words:?}");
            let err = String::from_utf8_lossy(&out.stderr);
            assert!(
                err.contains("it belongs to another user"),
                "{words:?}: {err}"
            );
            assert!(!world.path("work/PWNED").exists(), "{planted} {words:?}");
        }
        // Whoever became the administrator with `sudo` has their own.
        let mut command = world.command(&["config"]);
        let out = command
            .env("SUDO_UID", ANOTHER.to_string())
            .output()
            .unwrap();
        assert_eq!(out.status.code(), Some(0), "{planted}");
        chown(world.path(planted), Some(0), None).unwrap();
    }
}
