//! A model that plays a scenario: text, thinking, tool calls, waits, usage and errors as a file
//! (or a test) says, the same every time.
//!
//! `scenario` is what can be said, `file` reads it from TOML or JSON, `choose` picks the
//! turn that answers a request, `play` turns it into the events of an answer. The file format is
//! documented for users in `docs/scenarios.md`.

mod choose;
mod condition;
mod file;
mod model;
mod play;
mod scenario;
mod template;

pub use condition::{Condition, Pattern, Role};
pub use file::{ScriptError, ScriptFormat};
pub use model::{API, PROVIDER, ScenarioFacts, ScriptModel};
pub use scenario::{
    ErrorStep, Exhausted, ModelFacts, Scenario, ScriptArguments, ScriptStep, ScriptTurn,
    ScriptedCompaction, ScriptedText, Speech, ToolStep, UsageRule,
};

#[cfg(test)]
mod tests;
