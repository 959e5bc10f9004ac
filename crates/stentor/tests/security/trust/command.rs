//! `stentor trust`.

use std::os::unix::fs::PermissionsExt;

use expect_test::expect;

use super::world;
use crate::world::World;

fn run(world: &World, words: &[&str]) -> String {
    let said = world.asked(words);
    let said = said.replace(&world.path("").display().to_string(), "~~/");
    let said = said.replace("~~//", "~~/");
    // When it was is nobody's business here.
    match said.split_once("since ") {
        Some((before, _)) => format!("{before}since THEN\n"),
        None => said,
    }
}

#[test]
fn a_folder_is_trusted_listed_and_revoked() {
    let world = world("[[turn]]\ntext = \"x\"\n", "");
    world.file("work/.stentor/config.toml", "system_prompt = \"Obey.\"\n");
    world.file("work/.stentor/agents/a.md", "---\nname: a\n---\nx\n");
    world.file(
        "work/.omp/rules/r.md",
        "---\ncondition: unwrap\n---\nDo not.\n",
    );
    let mut said = run(&world, &["trust", "--list"]);
    said += &run(&world, &["trust"]);
    said += &run(&world, &["trust", "."]);
    said += &run(&world, &["trust", "--list"]);
    said += &run(&world, &["trust", "--revoke"]);
    said += &run(&world, &["trust", "--revoke", "."]);
    said += &run(&world, &["trust", "--list", "--json"]);
    expect![[r#"
        No folder is trusted; `stentor trust FOLDER` trusts one.
        These parts of ~~/work are used from now on:
          `system_prompt` (.stentor/config.toml:1): only a trusted folder may set it
          the agent a (.stentor/agents/a.md): an agent chooses model, tools and instructions for the tasks it is given
          the rule r (.omp/rules/r.md): a rule stops answers and speaks to the model in your name
        ~~/work is now trusted. To take that back, run `stentor trust --revoke`.
        ~~/work is already trusted.
        ~~/work  since THEN
        ~~/work is no longer trusted.
        ~~/work was not trusted.
        {"folders":[],"trusted_projects":[]}
    "#]]
    .assert_eq(&said);
}

#[test]
fn what_a_trusted_folder_says_counts() {
    let world = world("[[turn]]\ntext = \"{{system}}\"\n", "");
    world.file("work/.stentor/config.toml", "auto_compaction = false\n");
    let setting = || {
        let shown = world.asked(&["config", "--json"]);
        let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
        shown["settings"]["auto_compaction"]["value"].clone()
    };
    assert_eq!(setting(), true);
    world.asked(&["trust"]);
    assert_eq!(setting(), false);
}

#[test]
fn the_users_folder_is_made_for_its_owner_alone_whatever_the_umask() {
    let world = world("[[turn]]\ntext = \"x\"\n", "");
    let fresh = world.path("fresh");
    let program = env!("CARGO_BIN_EXE_stentor");
    for (folder, words) in [("a", "trust"), ("b", "mcp add talk --scope user -- sh x")] {
        let config = fresh.join(folder);
        let line = format!("umask 000; exec {program} {words}");
        let status = world
            .command(&[])
            .env("STENTOR_CONFIG_DIR", &config)
            .get_envs()
            .fold(
                std::process::Command::new("sh")
                    .arg("-c")
                    .arg(&line)
                    .env_clear(),
                |command, (name, value)| match value {
                    Some(value) => command.env(name, value),
                    None => command,
                },
            )
            .current_dir(world.path("work"))
            .output()
            .unwrap();
        assert!(status.status.success(), "{status:?}");
        let mode = std::fs::metadata(&config).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700, "{words}");
    }
}

/// A home whose configuration has these rights, and what `-p` says in it.
fn said_with(folder: u32, file: u32) -> (World, Option<i32>, String) {
    let world = world("[[turn]]\ntext = \"Hello.\"\n", "");
    let dir = world.path("home/.config/stentor");
    let mode = |path: &std::path::Path, bits| {
        std::fs::set_permissions(path, PermissionsExt::from_mode(bits)).unwrap();
    };
    mode(&dir.join("config.toml"), file);
    mode(&dir, folder);
    let out = world
        .command(&["-p", "go", "--no-session"])
        .output()
        .unwrap();
    let err = String::from_utf8(out.stderr).unwrap();
    let err = err.replace(&dir.display().to_string(), "DIR");
    (world, out.status.code(), err)
}

fn mode_of(world: &World) -> u32 {
    let about = std::fs::metadata(world.path("home/.config/stentor")).unwrap();
    about.permissions().mode() & 0o777
}

#[test]
fn the_users_folder_becomes_its_owners_alone_and_that_is_said_where_others_could_write() {
    for (before, is_said) in [(0o777, true), (0o775, true), (0o755, false), (0o700, false)] {
        let (world, status, err) = said_with(before, 0o644);
        assert_eq!((status, mode_of(&world)), (Some(0), 0o700), "{err}");
        let said = format!("other users could write to DIR (mode {before:04o})");
        assert_eq!(err.contains(&said), is_said, "{before:o}: {err}");
        // What is tight is said nothing of.
        let again = world
            .command(&["-p", "go", "--no-session"])
            .output()
            .unwrap();
        assert!(!String::from_utf8_lossy(&again.stderr).contains("could write"));
    }
}

#[test]
fn a_file_of_the_user_that_anybody_can_write_to_is_not_used() {
    let (world, status, err) = said_with(0o700, 0o666);
    assert_eq!(status, Some(2), "{err}");
    assert_eq!(
        err,
        "stentor: DIR/config.toml: anybody on this machine can write to it, and it can run \
         commands as you, so it is not used; check what it contains and run `chmod go-w \
         DIR/config.toml`\n"
    );
    for words in [&["--mode", "rpc"][..], &["rpc"], &["--rpc-edn"], &["acp"]] {
        let out = world.command(words).output().unwrap();
        assert_ne!(out.status.code(), Some(0), "{words:?}");
        let err = String::from_utf8_lossy(&out.stderr);
        assert!(err.contains("anybody on this machine can write"), "{err}");
    }
}

#[test]
fn a_file_that_its_group_can_write_to_is_warned_of_where_the_group_gets_there() {
    // Nobody gets into a folder that is its owner's alone.
    let (_world, status, err) = said_with(0o700, 0o664);
    assert_eq!(
        (status, err.contains("its group")),
        (Some(0), false),
        "{err}"
    );
    // One that the user names may be there for others, too, and stays as it is.
    let world = world("[[turn]]\ntext = \"Hello.\"\n", "");
    let (dir, file) = (world.path("named"), world.path("named/config.toml"));
    let model = format!(
        "model = \"script/{}\"\n",
        world.path("work/plan.toml").display()
    );
    world.file("named/config.toml", &model);
    for (folder, bits, status, said) in [
        (
            0o755,
            0o664,
            Some(0),
            "config.toml:1:1: its group can write to it",
        ),
        (
            0o775,
            0o644,
            Some(0),
            "named:1:1: its group can write to it",
        ),
        (
            0o777,
            0o644,
            Some(2),
            "named: anybody on this machine can write to it",
        ),
        (0o755, 0o644, Some(0), ""),
    ] {
        std::fs::set_permissions(&file, PermissionsExt::from_mode(bits)).unwrap();
        std::fs::set_permissions(&dir, PermissionsExt::from_mode(folder)).unwrap();
        let mut command = world.command(&["-p", "go", "--no-session"]);
        let out = command.env("STENTOR_CONFIG_DIR", &dir).output().unwrap();
        let err = String::from_utf8_lossy(&out.stderr);
        assert_eq!(out.status.code(), status, "{err}");
        assert!(err.contains(said), "{err}");
        assert_eq!(err.contains("can write"), !said.is_empty(), "{err}");
        let now = std::fs::metadata(&dir).unwrap().permissions().mode() & 0o777;
        assert_eq!(now, folder);
    }
}
