//! The branch is shown of a repository that can be what it says, and of no other.

use std::os::unix::fs::{chown, symlink};
use std::process::Command;

use super::world;
use crate::world::World;

/// What psi says of the repository of the folder it runs in.
fn told(world: &World) -> String {
    let mut child = world.psi();
    let topics = r#"{:topics ["footer/updated" "command-result"]}"#;
    child.ask_psi("t", "subscribe", topics);
    let query = "{:query \"[:psi.agent-session/git-branch :git.worktree/list]\"}";
    let mut said = child.ask_psi("q", "query_eql", query);
    said.extend(child.ask_psi("w", "command", r#"{:text "/worktree"}"#));
    said.join("\n") + &child.end_and_stderr()
}

#[test]
fn a_pipe_a_device_a_link_and_a_text_in_the_place_of_head_show_no_branch() {
    for target in ["pipe", "/dev/zero", "../../home/key", "text", "long"] {
        let world = world("[[turn]]\ntext = \"x\"\n", "");
        world.file("home/key", "ref: refs/heads/TOP-SECRET\n");
        world.file("work/.git/config", "");
        let head = world.path("work/.git/HEAD");
        match target {
            "pipe" => {
                let made = Command::new("mkfifo").arg(&head).status().unwrap();
                assert!(made.success());
            }
            "text" => world.file("work/.git/HEAD", "ref: TOP-SECRET\nof many words\n"),
            "long" => {
                let long = format!("ref: refs/heads/TOP-SECRET{}\n", "x".repeat(1 << 20));
                world.file("work/.git/HEAD", &long);
            }
            target => symlink(target, &head).unwrap(),
        }
        let said = told(&world);
        assert!(said.contains("Worktree: "), "{target}: {said}");
        assert!(!said.contains("TOP-SECRET"), "{target}: {said}");
        assert!(said.contains("git-branch nil"), "{target}: {said}");
    }
}

#[test]
fn a_git_folder_that_links_out_of_the_project_shows_no_branch() {
    let world = world("[[turn]]\ntext = \"x\"\n", "");
    world.file("home/git/HEAD", "ref: refs/heads/TOP-SECRET\n");
    symlink("../home/git", world.path("work/.git")).unwrap();
    assert!(!told(&world).contains("TOP-SECRET"));
}

#[test]
fn a_linked_working_tree_of_ours_shows_its_branch_and_those_of_the_others() {
    let world = world("[[turn]]\ntext = \"x\"\n", "");
    world.file("main/.git/HEAD", "ref: refs/heads/trunk\n");
    let side = "main/.git/worktrees/side";
    world.file(&format!("{side}/HEAD"), "ref: refs/heads/topic/x\n");
    world.file(&format!("{side}/commondir"), "../..\n");
    let tree = world.path("work/.git").display().to_string();
    world.file(&format!("{side}/gitdir"), &tree);
    world.file("work/.git", &format!("gitdir: ../{side}\n"));
    let said = told(&world);
    assert!(said.contains(r#"git-branch "topic/x""#), "{said}");
    assert!(said.contains("main (trunk)"), "{said}");
}

#[expect(
    clippy::print_stderr,
    reason = "a test that cannot be run here says so"
)]
#[test]
fn a_repository_of_another_user_shows_no_branch() {
    const ANOTHER: u32 = 12_345;
    let world = world("[[turn]]\ntext = \"x\"\n", "");
    world.file("theirs/HEAD", "ref: refs/heads/PLANTED\n");
    world.file(".git/HEAD", "ref: refs/heads/PLANTED\n");
    for place in [".git", ".git/HEAD", "theirs", "theirs/HEAD"] {
        if chown(world.path(place), Some(ANOTHER), None).is_err() {
            eprintln!("SKIPPED: giving files to another user needs root");
            return;
        }
    }
    let above = told(&world);
    assert!(!above.contains("PLANTED"), "{above}");
    world.file("work/.git", "gitdir: ../theirs\n");
    let named = told(&world);
    assert!(!named.contains("PLANTED"), "{named}");
}

#[test]
fn a_repository_that_may_not_be_read_shows_no_branch() {
    for named in ["~/../work/.git", "~/../main"] {
        let world = world(
            "[[turn]]\ntext = \"Hello.\"\n",
            &format!("[sandbox]\nunreadable = [{named:?}]\n"),
        );
        world.file("main/.git/HEAD", "ref: refs/heads/SECRET\n");
        match named {
            "~/../main" => world.file("work/.git", "gitdir: ../main/.git\n"),
            _ => world.file("work/.git/HEAD", "ref: refs/heads/SECRET\n"),
        }
        let said = told(&world);
        assert!(!said.contains("SECRET"), "{named}: {said}");
    }
}
