//! `stentor agents`: which agents there are besides this one, and what each can do.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::Path;

use serde_json::json;
use stentor_agents::{
    AgentSettings, CheckReport, ChildAgentError, DialectName, KNOWN, KnownBy, PROVIDER,
};
use stentor_model::registry::Registry;
use stentor_text::visible::visible;
use stentor_tools::sandbox::SandboxRefusal;

use crate::agents;
use crate::config::{Config, ConfigErrors};
use crate::launcher::launcher;
use crate::sandbox::sandbox;
use crate::setup::spill_dir;

/// Why nothing was printed.
pub enum AgentsFailure {
    /// There is no agent of this name: what can be done about it.
    Unknown(String),
    /// The configuration cannot be read.
    Config(ConfigErrors),
    /// The sandbox it would run in cannot be had.
    Sandbox(SandboxRefusal),
    /// The agent does not work.
    Agent(ChildAgentError),
}

/// Lists the agents, or starts the one of this name and prints what it can do. Returns the exit status.
pub async fn run(
    (name, prompt): (Option<&str>, Option<&str>),
    config: &Config,
    registry: &Registry,
    cwd: &Path,
    json: bool,
    out: &mut impl Write,
) -> Result<(io::Result<()>, u8), AgentsFailure> {
    let agents = agents::configured(config).map_err(AgentsFailure::Config)?;
    let path = config.variables.get("PATH").unwrap_or_default();
    let Some(name) = name else {
        return Ok((list(&agents, &path, json, out), 0));
    };
    let checked = CheckedAgent::find(name, agents, &path).map_err(AgentsFailure::Unknown)?;
    let launcher = launcher(config, registry.key_variables());
    let sandbox = sandbox(config, cwd, &spill_dir(config), &launcher);
    let sandbox = sandbox.map_err(AgentsFailure::Sandbox)?.state;
    let found = stentor_agents::check(&checked.settings, &launcher, &sandbox, cwd, prompt).await;
    let found = found.map_err(AgentsFailure::Agent)?;
    let printed = match json {
        true => report_json(&checked, &found, out),
        false => report(&checked, &found, out),
    };
    Ok((printed, u8::from(found.failed.is_some())))
}

/// The agent that is checked.
struct CheckedAgent {
    name: String,
    settings: AgentSettings,
    /// What it would be set up with, where it is not.
    entry: Option<String>,
}

impl CheckedAgent {
    /// The agent of this name: one that is set up, or a known one that is on the `PATH`, whose user has
    /// asked for it. Or why there is none.
    fn find(
        name: &str,
        mut agents: BTreeMap<String, AgentSettings>,
        path: &OsStr,
    ) -> Result<Self, String> {
        if let Some(settings) = agents.remove(name) {
            return Ok(Self {
                name: name.to_owned(),
                settings,
                entry: None,
            });
        }
        let Some(known) = KNOWN.iter().find(|known| known.name == name) else {
            let names: Vec<&str> = agents.keys().map(String::as_str).collect();
            return Err(match names.is_empty() {
                true => format!("there is no agent `{name}`, and none is set up"),
                false => format!(
                    "there is no agent `{name}`; those that are set up: {}",
                    names.join(", ")
                ),
            });
        };
        let command = known.command.join(" ");
        if !known.is_in(path) {
            return Err(format!(
                "there is no agent `{name}`: it is not set up, and `{command}` is not on the PATH"
            ));
        }
        let words = known.command.iter().map(|&word| word.to_owned());
        let dialect = DialectName::of_command(&command);
        Ok(Self {
            name: name.to_owned(),
            settings: AgentSettings::of_command(words.collect(), dialect),
            entry: Some(known.entry()),
        })
    }
}

/// Prints the agents that are set up, and the entries of known ones that are on the `PATH`.
fn list(
    agents: &BTreeMap<String, AgentSettings>,
    path: &OsStr,
    json: bool,
    out: &mut impl Write,
) -> io::Result<()> {
    let found = KNOWN.iter().filter(|known| known.is_in(path));
    let found = found.filter(|known| !agents.contains_key(known.name));
    if json {
        let set_up = agents.iter().map(|(name, agent)| {
            json!({
                "model": format!("{PROVIDER}/{name}"),
                "command": agent.command,
                "dialect": agent.dialect.dialect().as_str(),
            })
        });
        let found = found.map(|known| json!({ "name": known.name, "entry": known.entry() }));
        let report = json!({
            "agents": set_up.collect::<Vec<_>>(),
            "found": found.collect::<Vec<_>>(),
        });
        return writeln!(out, "{report}");
    }
    if agents.is_empty() {
        writeln!(out, "No agents are set up.")?;
    }
    for (name, agent) in agents {
        let dialect = agent.dialect.dialect();
        writeln!(
            out,
            "{PROVIDER}/{name}  {dialect}  {}",
            agent.command.join(" ")
        )?;
    }
    let mut found = found.peekable();
    if found.peek().is_some() {
        writeln!(
            out,
            "\nFound on the PATH; to use one, add its entry to your configuration:"
        )?;
    }
    for known in found {
        write!(out, "\n{}", known.entry())?;
    }
    Ok(())
}

/// Prints what an agent can do, for programs.
fn report_json(
    checked: &CheckedAgent,
    report: &CheckReport,
    out: &mut impl Write,
) -> io::Result<()> {
    let features = report.features.iter();
    let features = features.map(|(feature, support, known_by)| {
        let (known_by, error) = match known_by {
            KnownBy::Tried => ("tried", None),
            KnownBy::Failed(why) => ("tried", Some(why)),
            KnownBy::Announced => ("announced", None),
            KnownBy::Dialect => ("dialect", None),
        };
        json!({
            "feature": feature.title(), "support": support.cell(), "known_by": known_by,
            "error": error,
        })
    });
    let turn = report.turn.as_ref();
    let turn = turn.map(|turn| json!({ "text": turn.text, "error": turn.failed }));
    let report = json!({
        "works": report.failed.is_none(),
        "error": report.failed,
        "entry": checked.entry,
        "agent": report.agent,
        "model": report.model,
        "modes": report.modes,
        "models": report.models,
        "sessions": report.sessions,
        "turn": turn,
        "features": features.collect::<Vec<_>>(),
    });
    writeln!(out, "{report}")
}

/// Prints what an agent can do.
fn report(checked: &CheckedAgent, report: &CheckReport, out: &mut impl Write) -> io::Result<()> {
    let said = |value: &Option<String>| value.clone().unwrap_or_else(|| "unknown".to_owned());
    let count = |value: Option<usize>| value.map_or("unknown".to_owned(), |n| n.to_string());
    let name = &checked.name;
    match &report.failed {
        None => writeln!(out, "{PROVIDER}/{name} works.\n")?,
        Some(why) => writeln!(out, "{PROVIDER}/{name} does not work: {}\n", visible(why))?,
    }
    if let Some(entry) = &checked.entry {
        writeln!(out, "It is not set up; its entry would be:\n\n{entry}")?;
    }
    writeln!(out, "program   {}", said(&report.agent))?;
    writeln!(out, "model     {}", said(&report.model))?;
    if !report.modes.is_empty() {
        writeln!(out, "modes     {}", report.modes.join(", "))?;
    }
    writeln!(out, "models    {}", count(report.models))?;
    writeln!(out, "sessions  {}\n", count(report.sessions))?;
    if let Some(turn) = &report.turn {
        let end = match (&turn.failed, turn.stopped_by_refusal) {
            (Some(why), _) => why,
            (None, true) => "it has stopped, because what it asked was refused",
            (None, false) => "it has answered",
        };
        writeln!(out, "prompt    {}", visible(end))?;
        for line in turn.text.lines() {
            writeln!(out, "  {}", visible(line))?;
        }
        writeln!(out)?;
    }
    let width = report
        .features
        .iter()
        .map(|(feature, ..)| feature.title().len());
    let width = width.max().unwrap_or(0);
    for (feature, support, known_by) in &report.features {
        let known_by = match known_by {
            KnownBy::Tried => "tried".to_owned(),
            KnownBy::Failed(why) => format!("tried: {}", visible(why)),
            KnownBy::Announced => "by its own word".to_owned(),
            KnownBy::Dialect => "by its dialect".to_owned(),
        };
        let cell = support.cell();
        writeln!(out, "{:<width$}  {cell}  ({known_by})", feature.title())?;
    }
    Ok(())
}
