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
