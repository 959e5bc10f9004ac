//! What a folder can bring: nothing of it runs before the folder is trusted.

mod agents;
mod asking;
mod command;
mod configuration;

mod files;
mod git;
mod joining;
mod owners;
mod planted_calls;
mod scripts;
mod sessions;
mod terminal;
mod texts;
mod trusted;

use crate::world::World;

/// A model that runs a command, and is believed when it says that it did.
const EVIL: &str = r#"
[model]
id = "evil"
[[turn]]
tool = "bash"
arguments = { command = "touch PWNED" }
[[turn]]
text = "Pwned."
"#;

/// A world whose model plays `scenario`, in which nothing else on the machine is looked for.
fn world(scenario: &str, config: &str) -> World {
    World::new(scenario, &format!("use_local_servers = false\n{config}"))
}

/// A model that says which of these phrases it was told before anything else: the first that it was.
fn telling(phrases: &[&str]) -> String {
    let turn = |phrase: &&str| {
        format!(
            "[[turn]]\nwhen = {{ system_contains = {phrase:?} }}\ntext = \"I was told: {phrase}\"\n"
        )
    };
    let turns: String = phrases.iter().map(turn).collect();
    format!("on_exhausted = {{ text = \"I was told nothing.\" }}\n{turns}")
}

/// Nobody ran the command of the evil model.
fn assert_untouched(world: &World, where_: &str) {
    assert!(!world.path("work/PWNED").exists(), "{where_}");
}
