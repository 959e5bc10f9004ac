//! `stentor scenario check`: whether a scenario file can be played, and what is in it.

use std::io::{self, Write};
use std::path::Path;

use serde_json::json;
use stentor_model::script::{ScenarioFacts, ScriptError, ScriptModel};

/// Reads the file; the error names the line.
pub fn check(file: &Path) -> Result<ScenarioFacts, ScriptError> {
    ScriptModel::load(file).map(|model| model.facts())
}

/// Prints what is in it.
pub fn report(
    file: &Path,
    facts: &ScenarioFacts,
    as_json: bool,
    out: &mut impl Write,
) -> io::Result<()> {
    let ScenarioFacts {
        turns,
        conditional,
        tools,
        model,
    } = facts;
    if as_json {
        let facts = json!({ "file": file, "model": model, "turns": turns, "conditional": conditional, "tools": tools });
        return writeln!(out, "{facts}");
    }
    let plural = if *turns == 1 { "turn" } else { "turns" };
    write!(out, "{}: {turns} {plural}", file.display())?;
    if *conditional > 0 {
        write!(out, ", {conditional} of them with conditions")?;
    }
    writeln!(
        out,
        "; it can be played with --model script/{}",
        file.display()
    )?;
    if !tools.is_empty() {
        writeln!(out, "It calls: {}", tools.join(", "))?;
    }
    Ok(())
}
