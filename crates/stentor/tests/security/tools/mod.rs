//! What tools and commands can reach, and what they leave behind.

use std::io::Write;
use std::process::Command;

use crate::world::World;

mod environment;
mod limits;
mod memory;
mod outliving;
mod output_files;
mod protected_paths;
mod sandbox;
mod swapped_paths;

/// A scenario in which the model makes these calls, each a tool and its arguments in TOML, and then
/// repeats the last result.
fn plan(calls: &[(&str, String)]) -> String {
    let mut plan = String::new();
    for (tool, arguments) in calls {
        plan.push_str(&format!(
            "[[turn]]\ntool = \"{tool}\"\narguments = {{ {arguments} }}\n"
        ));
    }
    plan + "[[turn]]\ntext = \"{{last_tool_result}}\"\n"
}

/// A scenario with one command.
fn bash(command: &str) -> String {
    plan(&[("bash", format!("command = {}", quoted(command)))])
}

/// A text in TOML.
fn quoted(text: &str) -> String {
    format!("{text:?}").replace("\\'", "'")
}

/// Whether there is a Python to attack with. Where there is none the test says so.
pub fn has_python() -> bool {
    let has = Command::new("python3").arg("--version").output().is_ok();
    if !has {
        let _ = writeln!(std::io::stderr(), "NO PYTHON: this is not tested");
    }
    has
}

/// Whether this kernel holds the sandbox. Where it does not the test says so.
fn kernel_can(world: &World) -> bool {
    let words = ["permissions", "--json", "--sandbox", "workspace-write"];
    let out = world.command(&words).output().unwrap();
    let holds = out.status.success();
    if !holds {
        let _ = writeln!(
            std::io::stderr(),
            "NO SANDBOX ON THIS KERNEL: this is not tested"
        );
    }
    holds
}
