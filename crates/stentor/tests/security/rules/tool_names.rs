//! A rule for a tool that cannot be is a mistake, not a rule without effect.

use crate::world::World;

fn rule(tool: &str) -> World {
    let config = format!("[[permissions]]\ntool = {tool:?}\ndecision = \"deny\"\n");
    World::new("[[turn]]\ntext = \"ok\"\n", &config)
}

#[test]
fn a_name_that_no_tool_has_is_refused_with_the_nearest() {
    for (tool, near) in [("bsah", "bash"), ("Bash", "bash"), ("reed", "read")] {
        for words in [
            &["-p", "go"][..],
            &["--mode", "rpc"],
            &["rpc"],
            &["acp"],
            &["--rpc-edn"],
        ] {
            let out = rule(tool).command(words).output().unwrap();
            let said = [out.stdout, out.stderr].concat();
            let said = String::from_utf8(said).unwrap();
            let hint = format!("did you mean `{near}`?");
            assert_ne!(out.status.code(), Some(0), "{words:?} {tool}");
            assert!(said.contains(&hint), "{words:?} {tool}: {said}");
        }
    }
}

#[test]
fn tools_of_servers_and_patterns_are_taken() {
    for tool in [
        "mcp__files__read",
        "mcp__*",
        "*",
        "deploy*",
        "subagent",
        "memory",
        "bash",
    ] {
        assert_eq!(
            rule(tool).asked(&["-p", "go", "--no-session"]),
            "ok\n",
            "{tool}"
        );
    }
}
