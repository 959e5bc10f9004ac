//! `stentor extensions`: which there are, and whether they work.

use std::io::{self, Write};
use std::path::Path;

use futures_util::future::join_all;
use serde_json::{Value, json};
use stentor_text::spelling::nearest;
use stentor_tools::extension::{ProbeError, ProbedExtension, probe};
use stentor_tools::process::Launcher;
use stentor_wire::extension::SCHEMA;

use crate::config::error::did_you_mean;
use crate::extensions::FoundExtension;

/// An extension that was tried out.
pub struct TestedExtension {
    name: String,
    result: Result<ProbedExtension, ProbeError>,
}

impl TestedExtension {
    /// True when everything it registers can be used.
    pub fn works(&self) -> bool {
        let probed = self.result.as_ref();
        probed.is_ok_and(|probed| probed.problems.is_empty())
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What is wrong with it.
    pub fn problem(&self) -> Option<String> {
        match &self.result {
            Ok(probed) => probed.problems.first().cloned(),
            Err(why) => Some(why.to_string()),
        }
    }
}

/// Prints the JSON Schema of the protocol.
pub fn schema(out: &mut impl Write) -> io::Result<()> {
    out.write_all(SCHEMA.as_bytes())
}

/// Lists the extensions and where they are configured.
pub fn list(found: &[FoundExtension], json: bool, out: &mut impl Write) -> io::Result<()> {
    if json {
        let listed: Vec<Value> = found
            .iter()
            .map(|found| {
                json!({
                    "name": found.spec.name,
                    "command": found.spec.command,
                    "source": found.source,
                    "sandboxed": found.sandboxed,
                })
            })
            .collect();
        serde_json::to_writer_pretty(&mut *out, &json!({ "extensions": listed }))?;
        return writeln!(out);
    }
    if found.is_empty() {
        return writeln!(
            out,
            "There are no extensions. Put one into the folder `extensions` next to your \
             config.toml, or try one with -e FILE."
        );
    }
    let names = found.iter().map(|found| found.spec.name.chars().count());
    let width = names.max().unwrap_or(0);
    for found in found {
        let (name, command) = (&found.spec.name, found.spec.command.join(" "));
        writeln!(out, "{name:<width$}  {command}  ({})", found.source)?;
    }
    Ok(())
}

/// A name that means no extension.
#[derive(Debug, thiserror::Error)]
#[error("there is no extension `{name}`{}", did_you_mean(near))]
pub struct UnknownExtension {
    name: String,
    near: Option<String>,
}

/// The extensions of these names, or all.
pub fn choose(
    found: Vec<FoundExtension>,
    names: &[String],
) -> Result<Vec<FoundExtension>, UnknownExtension> {
    if names.is_empty() {
        return Ok(found);
    }
    let known: Vec<&str> = found.iter().map(|found| found.spec.name.as_str()).collect();
    for name in names {
        if !known.contains(&name.as_str()) {
            return Err(UnknownExtension {
                name: name.clone(),
                near: nearest(name, known.iter().copied()).map(str::to_owned),
            });
        }
    }
    let wanted = |found: &FoundExtension| names.contains(&found.spec.name);
    Ok(found.into_iter().filter(wanted).collect())
}

/// Starts the extensions, all at once, and has them register.
pub async fn test(
    found: Vec<FoundExtension>,
    launcher: &Launcher,
    cwd: &Path,
) -> Vec<TestedExtension> {
    let tests = found.into_iter().map(|found| async move {
        let spec = found.spec_in(launcher);
        TestedExtension {
            name: spec.name.clone(),
            result: probe(spec, cwd).await,
        }
    });
    join_all(tests).await
}

/// Prints what came of it.
pub fn report(tested: &[TestedExtension], json: bool, out: &mut impl Write) -> io::Result<()> {
    if json {
        let reports: Vec<Value> = tested.iter().map(report_json).collect();
        serde_json::to_writer_pretty(&mut *out, &json!({ "extensions": reports }))?;
        return writeln!(out);
    }
    for TestedExtension { name, result } in tested {
        match result {
            Err(why) => writeln!(out, "{name}  fails: {why}")?,
            Ok(probed) => {
                writeln!(
                    out,
                    "{name}  works, ready after {} ms",
                    probed.took.as_millis()
                )?;
                let tools = probed.tools.iter().map(|tool| tool.name.clone());
                let commands = probed.commands.iter().map(|info| format!("/{}", info.name));
                let hooks = probed.hooks.iter().map(|&hook| hook.to_owned());
                line(out, "tools", tools.collect())?;
                line(out, "commands", commands.collect())?;
                line(out, "hooks", hooks.collect())?;
                line(out, "events", probed.events.clone())?;
                for problem in &probed.problems {
                    writeln!(out, "  problem: {problem}")?;
                }
            }
        }
    }
    Ok(())
}

fn line(out: &mut impl Write, what: &str, names: Vec<String>) -> io::Result<()> {
    if names.is_empty() {
        return Ok(());
    }
    writeln!(out, "  {what}: {}", names.join(", "))
}

fn report_json(tested: &TestedExtension) -> Value {
    match &tested.result {
        Err(why) => json!({ "name": tested.name, "works": false, "error": why.to_string() }),
        Ok(probed) => json!({
            "name": tested.name,
            "works": tested.works(),
            "readyAfterMs": u64::try_from(probed.took.as_millis()).unwrap_or(u64::MAX),
            "tools": probed.tools.iter().map(|tool| &tool.name).collect::<Vec<_>>(),
            "commands": probed.commands.iter().map(|info| &info.name).collect::<Vec<_>>(),
            "hooks": probed.hooks,
            "events": probed.events,
            "problems": probed.problems,
        }),
    }
}
