//! `stentor config`: what is configured and where it came from.

use std::io::{self, Write};

use stentor_agent::sandbox::SandboxState;
use stentor_tools::sandbox::SandboxRefusal;

use crate::commands::permissions::sandbox_json;
use crate::config::{Config, show};

/// Prints the configuration, and what of the sandbox holds on this machine.
pub fn run(
    config: &Config,
    sandbox: &Result<SandboxState, SandboxRefusal>,
    json: bool,
    out: &mut impl Write,
) -> io::Result<()> {
    if json {
        let mut document = show::as_json(config);
        if let Some(document) = document.as_object_mut() {
            document.insert("sandbox".to_owned(), sandbox_json(sandbox));
        }
        serde_json::to_writer_pretty(&mut *out, &document)?;
        return writeln!(out);
    }
    out.write_all(show::as_text(config).as_bytes())?;
    match sandbox {
        Ok(state) if !state.is_on() && state.gaps.is_empty() => Ok(()),
        Ok(state) => {
            writeln!(out, "\nThe sandbox here: {state}")?;
            for gap in &state.gaps {
                writeln!(out, "  but {gap}")?;
            }
            Ok(())
        }
        Err(refused) => writeln!(out, "\nNo session would start: {refused}"),
    }
}
