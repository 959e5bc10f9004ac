//! What rules and questions let through.

mod always;
mod hidden;
mod look_through;
pub mod person;
mod questions;
mod shown;
mod tool_names;
mod walking;

use serde_json::json;

/// A model that makes these calls of one tool, one after the other, and says what the last gave.
fn scenario(tool: &str, calls: &[serde_json::Value]) -> String {
    let turn = |(number, arguments): (usize, &serde_json::Value)| {
        let arguments = arguments.as_object().unwrap().iter();
        // The escapes of JSON are TOML's, too.
        let arguments = arguments.map(|(name, value)| format!("{name} = {value}"));
        let arguments = arguments.collect::<Vec<_>>().join(", ");
        format!(
            "[[turn]]\nsteps = [{{ tool = \"{tool}\", id = \"c{number}\", arguments = {{ {arguments} }} }}]\n"
        )
    };
    let turns: String = calls.iter().enumerate().map(turn).collect();
    format!("{turns}[[turn]]\ntext = \"It said: {{{{last_tool_result}}}}\"\n")
}

/// The same for shell commands.
fn commands(commands: &[&str]) -> String {
    let calls = commands.iter().map(|command| json!({ "command": command }));
    scenario("bash", &calls.collect::<Vec<_>>())
}
