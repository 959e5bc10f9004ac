//! What subagents consume is recorded when it is known, each of it once.

use serde_json::{Value, json};

use crate::background::{held, is_let_go, release, world_with};
use crate::world::World;

const PLAN: &str = r#"
on_exhausted = "repeat-last"
[[turn]]
when = { system_contains = "as a subagent", last_role = "user" }
tool = "bash"
arguments = { command = "echo > begun; cat go" }
usage = { input = 1000, output = 25 }
[[turn]]
when = { system_contains = "as a subagent" }
text = "Looked."
usage = { input = 2000, output = 25 }
[[turn]]
when = { last_role = "user" }
tool = "subagent"
arguments = { task = "look" }
usage = { input = 10, output = 1 }
[[turn]]
text = "Done."
usage = { input = 20, output = 1 }
"#;

/// What all stored sessions have consumed: input, and calls.
fn consumed(world: &World) -> Value {
    let report = world.asked(&["usage", "--all-time", "--json"]);
    let report: Value = serde_json::from_str(&report).unwrap();
    let total = &report["total"];
    json!([total["usage"]["input"], total["calls"], total["sessions"]])
}

#[test]
fn what_a_subagent_consumed_is_not_lost_when_the_program_is_killed() {
    let world = world_with(PLAN, "", &["begun", "go"]);
    let mut child = world.child(&["--tools", "bash,subagent", "-p", "delegate"]);
    child.close_stdin();
    is_let_go(held(&world, "begun"));
    rustix::process::kill_process(child.pid(), rustix::process::Signal::KILL).unwrap();
    drop(child);
    assert_eq!(consumed(&world), json!([1010, 2, 1]));
}

#[test]
fn what_a_subagent_consumed_counts_once_in_its_run_and_in_the_session() {
    let world = world_with(PLAN, "", &["begun", "go"]);
    let mut child = world.child(&["--tools", "bash,subagent", "-p", "delegate", "--json"]);
    child.close_stdin();
    is_let_go(held(&world, "begun"));
    release(&world, "go");
    let ended = child.until_type("run_ended").pop().unwrap();
    assert_eq!(ended["usage"]["input"], 3030);
    child.ended();
    assert_eq!(consumed(&world), json!([3030, 4, 1]));
}
