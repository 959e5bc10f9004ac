//! Where edits are free, what configures an agent or runs by itself is asked for all the same.

use std::os::unix::fs::symlink;

use super::plan;
use crate::dialects::{self, ALL, UNASKED};
use crate::rules::person::{DIALECTS, Person};
use crate::world::World;

fn world(path: &str, mode: &str) -> World {
    let arguments = format!("path = \"{path}\", content = \"x\"");
    let config = format!("permission_mode = \"{mode}\"\n");
    let world = World::new(&plan(&[("write", arguments)]), &config);
    world.file("work/.git/config", "");
    symlink(".git", world.path("work/innocent")).unwrap();
    world
}

fn assert_unwritten(world: &World, path: &str, way: &str) {
    let text = std::fs::read_to_string(world.path("work").join(path));
    assert!(text.map_or(true, |text| text.is_empty()), "{way}: {path}");
}

#[test]
fn accepted_edits_are_not_edits_of_what_runs_by_itself() {
    for path in [
        ".git/hooks/pre-commit",
        ".git/config",
        ".GIT/config",
        "innocent/hooks/pre-commit",
        "sub/.git/config",
        ".stentor/config.toml",
        ".claude/settings.json",
        ".pi/extensions/x.ts",
        ".omp/rules/x.md",
        ".agents/skills/x/SKILL.md",
        ".mcp.json",
        "AGENTS.md",
        "sub/CLAUDE.md",
        ".envrc",
        ".vscode/tasks.json",
        ".husky/pre-push",
        ".config/stentor/config.toml",
        ".local/share/stentor/permissions.json",
        ".config/fish/config.fish",
        ".config/systemd/user/x.service",
        ".xprofile",
        "../work/.git/config",
    ] {
        let world = world(path, "accept-edits");
        for way in UNASKED {
            let said = dialects::answer(&world, way);
            let why = "which needs permission even in accept-edits mode";
            assert!(said.contains(why), "{way}: {path}: {said}");
            assert_unwritten(&world, path, way);
        }
        for dialect in DIALECTS {
            let mut person = Person::prompts(&world, dialect);
            assert_eq!(person.refuses_the_rest().len(), 1, "{dialect:?}: {path}");
            assert_unwritten(&world, path, &format!("{dialect:?}"));
        }
    }
}

#[test]
fn accepted_edits_are_free_everywhere_else_and_with_every_permission() {
    for (path, mode) in [
        ("src/main.rs", "accept-edits"),
        (".gitignore", "accept-edits"),
        (".github/workflows/ci.yml", "accept-edits"),
        (".git/hooks/pre-commit", "all"),
    ] {
        for dialect in ALL {
            let said = dialects::answer(&world(path, mode), dialect);
            assert!(
                said.contains("Successfully wrote"),
                "{dialect}: {path}: {said}"
            );
        }
    }
}

#[test]
fn the_programs_own_folders_are_asked_for_wherever_they_are() {
    for (variable, path) in [
        ("XDG_DATA_HOME", "mine/stentor/permissions.json"),
        ("STENTOR_CONFIG_DIR", "mine/config.toml"),
        ("STENTOR_CONFIG_DIR", "link/trusted.json"),
    ] {
        let world = world(path, "accept-edits");
        symlink("mine", world.path("work/link")).unwrap();
        let mut command = world.command(&["-p", "go", "--no-session"]);
        command.args(["--permission-mode", "accept-edits"]);
        command.args(["--model", "script/plan.toml"]);
        command.env(variable, world.path("work/mine"));
        let output = command.output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        let why = "which needs permission even in accept-edits mode: it configures an agent";
        assert!(said.contains(why), "{variable}: {path}: {said}");
        assert_unwritten(&world, path, variable);
    }
}
