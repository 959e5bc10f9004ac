//! Where edits are free, what configures an agent or runs by itself is asked for all the same.

use std::os::unix::fs::symlink;

use super::plan;
use crate::world::World;

fn written(path: &str, mode: &str) -> (World, String) {
    let arguments = format!("path = \"{path}\", content = \"x\"");
    let world = World::new(&plan(&[("write", arguments)]), "");
    world.file("work/.git/config", "");
    symlink(".git", world.path("work/innocent")).unwrap();
    let said = world.asked(&["-p", "go", "--permission-mode", mode]);
    (world, said)
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
        "../work/.git/config",
    ] {
        let (world, said) = written(path, "accept-edits");
        assert!(
            said.contains("which needs permission even in accept-edits mode"),
            "{path}: {said}"
        );
        let text = std::fs::read_to_string(world.path("work").join(path));
        assert!(text.map_or(true, |text| text.is_empty()), "{path}");
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
        let (_world, said) = written(path, mode);
        assert!(said.contains("Successfully wrote"), "{path}: {said}");
    }
}
