//! What commands and subagents change in the background is undone with the message that started them,
//! and what nobody can know is named.

use expect_test::expect;

use crate::background::{held, is_let_go, omp, release, world_with};
use crate::rewind::omp_rewind;
use crate::world::World;

const PLAN: &str = r#"
on_exhausted = "repeat-last"
[[turn]]
when = { system_contains = "as a subagent", last_role = "user" }
tool = "bash"
arguments = { command = "echo > begun; cat go; rm old.txt" }
[[turn]]
when = { system_contains = "as a subagent" }
text = "Gone."
[[turn]]
when = { last_user_contains = "start it" }
tool = "bash"
arguments = { command = "cat go; echo later > notes.txt; rm old.txt; echo > late.txt", background = true }
[[turn]]
when = { last_user_contains = "keep on" }
tool = "bash"
arguments = { command = "cat go; echo early > notes.txt; echo > begun; cat on; echo > late.txt", background = true }
[[turn]]
when = { last_user_contains = "leave it" }
tool = "bash"
arguments = { command = "echo new > notes.txt; (cat go; echo left > notes.txt; echo > begun) > /dev/null 2>&1 &" }
[[turn]]
when = { last_user_contains = "wait for it" }
steps = [
  { tool = "bash", arguments = { command = "echo half > notes.txt; echo > begun; cat go" } },
  { tool = "read", arguments = { path = "go" } },
]
[[turn]]
when = { last_user_contains = "beside it" }
tool = "bash"
arguments = { command = "echo beside > beside.txt" }
[[turn]]
when = { last_user_contains = "delegate" }
tool = "subagent"
arguments = { task = "remove it", background = true }
[[turn]]
text = "Done."
"#;

fn world() -> World {
    let world = world_with(PLAN, "", &["go", "begun", "on"]);
    world.file("work/notes.txt", "by hand\n");
    world.file("work/old.txt", "old\n");
    world
}

/// What is in the folder that nobody reads from a pipe.
fn files(world: &World) -> String {
    let names = std::fs::read_dir(world.path("work")).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names
        .filter(|name| name.ends_with(".txt"))
        .map(|name| {
            let text = std::fs::read_to_string(world.path("work").join(&name)).unwrap();
            format!("{name}: {}", text.trim())
        })
        .collect();
    names.sort();
    names.join(", ")
}

const AS_IT_WAS: &str = "notes.txt: by hand, old.txt: old";

/// The words of a rewind.
fn words(frames: &str) -> String {
    let output = frames.lines().find(|line| line.contains("command_output"));
    let output: serde_json::Value = serde_json::from_str(output.unwrap_or(frames)).unwrap();
    output["text"].as_str().unwrap_or(frames).to_owned()
}

#[test]
fn what_a_command_left_running_is_named() {
    let world = world();
    let mut child = world.omp();
    omp(&mut child, "leave it");
    expect![[r#"
        The files are as before "leave it".
        Restored: notes.txt
        A process of "echo new > notes.txt; (cat go; echo left > notes.txt; echo >…" still runs: what it changes after that command is not undone.
        /rewind --undo goes back to how it was."#]]
    .assert_eq(&words(&omp_rewind(&mut child, "1 --files")));
    assert_eq!(files(&world), AS_IT_WAS);
    child.end();
}

#[test]
fn what_a_command_changes_after_its_run_is_undone_and_done_again() {
    let world = world();
    let mut child = world.omp();
    omp(&mut child, "start it");
    release(&world, "go");
    child.until_type("agent_settled");
    let after = "late.txt: , notes.txt: later";
    assert_eq!(files(&world), after);
    expect![[r#"
        Messages, the newest first (/rewind [MESSAGE] [--files|--conversation] [--force], or --undo):
          1  ID  start it  [late.txt, notes.txt, old.txt]"#]]
    .assert_eq(&words(&omp_rewind(&mut child, "")));
    expect![[r#"
        Files and conversation are as before "start it".
        Restored, changed while job-1 ran in the background: late.txt (removed), notes.txt, old.txt (was deleted)
        /rewind --undo goes back to how it was."#]]
    .assert_eq(&words(&omp_rewind(&mut child, "1")));
    assert_eq!(files(&world), AS_IT_WAS);
    omp_rewind(&mut child, "--undo");
    assert_eq!(files(&world), after);
    child.end();
}

#[test]
fn a_later_message_is_undone_without_what_the_command_in_the_background_changed() {
    let world = world();
    let mut child = world.omp();
    omp(&mut child, "keep on");
    release(&world, "go");
    is_let_go(held(&world, "begun"));
    omp(&mut child, "beside it");
    release(&world, "on");
    child.until_type("agent_settled");
    expect![[r#"
        Not everything is as before "beside it".
        Restored: beside.txt (removed)
        Not known: what job-1 changed while other commands ran
        /rewind --undo goes back to how it was."#]]
    .assert_eq(&words(&omp_rewind(&mut child, "1")));
    assert_eq!(files(&world), "late.txt: , notes.txt: early, old.txt: old");
    expect![[r#"
        Files and conversation are as before "keep on".
        Restored, changed while job-1 ran in the background: late.txt (removed), notes.txt
        /rewind --undo goes back to how it was."#]]
    .assert_eq(&words(&omp_rewind(&mut child, "1")));
    assert_eq!(files(&world), AS_IT_WAS);
    child.end();
}

#[test]
fn of_a_command_that_still_runs_everything_until_then_is_undone_and_it_is_named() {
    let world = world();
    let mut child = world.omp();
    omp(&mut child, "keep on");
    release(&world, "go");
    is_let_go(held(&world, "begun"));
    expect![[r#"
        The files are as before "keep on".
        Restored, changed while job-1 ran in the background: notes.txt
        job-1 still runs: what it changes from now on is not undone.
        /rewind --undo goes back to how it was."#]]
    .assert_eq(&words(&omp_rewind(&mut child, "1 --files")));
    assert_eq!(files(&world), AS_IT_WAS);
    release(&world, "on");
    child.until_type("agent_settled");
    // What it has changed since belongs to the same message.
    expect![[r#"
        Files and conversation are as before "keep on".
        Restored, changed while job-1 ran in the background: late.txt (removed)
        /rewind --undo goes back to how it was."#]]
    .assert_eq(&words(&omp_rewind(&mut child, "1")));
    assert_eq!(files(&world), AS_IT_WAS);
    child.end();
}

#[test]
fn a_command_of_a_subagent_is_undone_though_the_run_of_its_session_ended_before() {
    let world = world();
    let mut child = world.omp();
    omp(&mut child, "delegate");
    is_let_go(held(&world, "begun"));
    let early = words(&omp_rewind(&mut child, "1 --files"));
    expect![[r#"
        The files are as before "delegate".
        No file was restored.
        job-1 still runs: what it changes from now on is not undone.
        /rewind --undo goes back to how it was."#]]
    .assert_eq(&early);
    release(&world, "go");
    let frames = child.until(|line| line.contains("agent_settled"));
    assert!(!frames.iter().any(|line| line.contains("Undo is limited")));
    assert_eq!(files(&world), "notes.txt: by hand");
    expect![[r#"
        Files and conversation are as before "delegate".
        Restored, changed while job-1 ran in the background: old.txt (was deleted)
        /rewind --undo goes back to how it was."#]]
    .assert_eq(&words(&omp_rewind(&mut child, "1")));
    assert_eq!(files(&world), AS_IT_WAS);
    child.end();
}

#[test]
fn what_a_command_changed_that_was_killed_with_the_program_is_not_known() {
    let world = world();
    let child = world.child(&["-p", "keep on"]);
    release(&world, "go");
    is_let_go(held(&world, "begun"));
    rustix::process::kill_process(child.pid(), rustix::process::Signal::KILL).unwrap();
    drop(child);
    let told = world.asked(&["-c", "-p", "/rewind 1"]);
    assert!(
        told.starts_with("Not everything is as before \"keep on\".\n")
            && told.contains(
                "\nNot known: what job-1 changed (it was running when Stentor ended, or its changes \
                 could not be recorded)\n"
            ),
        "{told}"
    );
}

#[test]
fn what_a_call_changed_that_was_interrupted_with_the_program_is_not_known() {
    let world = world();
    let mut child = world.child(&["-p", "wait for it"]);
    child.close_stdin();
    is_let_go(held(&world, "begun"));
    rustix::process::kill_process(child.pid(), rustix::process::Signal::KILL).unwrap();
    drop(child);
    let told = "\
Not everything is as before \"wait for it\".
No file was restored.
Not known: what \"echo half > notes.txt; echo > begun; cat go\" changed (it was running when Stentor ended)
";
    let by_prompt = world.asked(&["-c", "-p", "/rewind 1 --files"]);
    assert_eq!(
        by_prompt,
        format!("{told}/rewind --undo goes back to how it was.\n")
    );
    let sessions: serde_json::Value =
        serde_json::from_str(&world.asked(&["sessions", "--json"])).unwrap();
    let id = sessions[0]["id"].as_str().unwrap();
    let by_program = world.asked(&["sessions", "rewind", id, "1"]);
    assert!(by_program.starts_with(told), "{by_program}");
}
