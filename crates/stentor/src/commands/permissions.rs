//! `stentor permissions`: what may run, by which rule or answer, and how to take an answer back.

use std::io::{self, Write};
use std::path::Path;

use serde_json::{Value, json};
use stentor_agent::sandbox::SandboxState;
use stentor_tools::sandbox::SandboxRefusal;

use crate::config::{Config, show};
use crate::stored_answers::StoredAnswer;

/// What is shown.
pub struct PermissionOverview<'a> {
    pub config: &'a Config,
    pub project: &'a Path,
    /// Of all projects, or of this one.
    pub answers: &'a [StoredAnswer],
    pub all_projects: bool,
    /// What holds, or why nothing would start.
    pub sandbox: &'a Result<SandboxState, SandboxRefusal>,
}

impl PermissionOverview<'_> {
    /// Prints them for a person.
    pub fn print(&self, out: &mut impl Write) -> io::Result<()> {
        match &self.config.settings.permission_mode {
            Some(mode) => writeln!(out, "mode     {}  {}", mode.value, mode.source)?,
            None => writeln!(out, "mode     not set: each frontend has its own default")?,
        }
        match self.sandbox {
            Ok(state) => {
                writeln!(out, "sandbox  {state}")?;
                for gap in &state.gaps {
                    writeln!(out, "         but {gap}")?;
                }
            }
            Err(refused) => writeln!(out, "sandbox  nothing would start: {refused}")?,
        }
        writeln!(out, "\nrules; the most specific match wins")?;
        for rule in &self.config.permissions {
            writeln!(out, "  {}  {}", rule.value, rule.source)?;
        }
        if self.config.permissions.is_empty() {
            writeln!(out, "  none")?;
        }
        let whose = match self.all_projects {
            true => "of all projects".to_owned(),
            false => format!("of {}", self.project.display()),
        };
        writeln!(out, "\nremembered answers {whose}")?;
        for stored in self.answers {
            write_answer(stored, self.all_projects, out)?;
        }
        if self.answers.is_empty() {
            writeln!(out, "  none")?;
        }
        Ok(())
    }

    /// Prints them for a program.
    pub fn print_json(&self, out: &mut impl Write) -> io::Result<()> {
        let answers: Vec<Value> = self.answers.iter().map(|stored| json!(stored)).collect();
        let shown = show::as_json(self.config);
        let document = json!({
            "mode": shown["settings"]["permission_mode"],
            "sandbox": sandbox_json(self.sandbox),
            "rules": shown["permissions"],
            "project": self.project,
            "answers": answers,
        });
        serde_json::to_writer_pretty(&mut *out, &document)?;
        writeln!(out)
    }
}

/// Prints what was forgotten.
pub fn print_forgotten(
    forgotten: &[StoredAnswer],
    json: bool,
    out: &mut impl Write,
) -> io::Result<()> {
    if json {
        serde_json::to_writer_pretty(&mut *out, &json!({ "forgotten": forgotten }))?;
        return writeln!(out);
    }
    if forgotten.is_empty() {
        return writeln!(out, "nothing was remembered");
    }
    writeln!(out, "forgotten; running sessions are not affected")?;
    for stored in forgotten {
        write_answer(stored, false, out)?;
    }
    Ok(())
}

/// The sandbox for a program.
pub fn sandbox_json(sandbox: &Result<SandboxState, SandboxRefusal>) -> Value {
    match sandbox {
        Ok(state) => json!(state),
        Err(refused) => json!({ "refused": refused.to_string() }),
    }
}

fn write_answer(stored: &StoredAnswer, with_project: bool, out: &mut impl Write) -> io::Result<()> {
    let answer = &stored.answer;
    let day = stored.answered.get(..10).unwrap_or(&stored.answered);
    write!(out, "  {:>3}  {answer}  {day}", stored.number)?;
    match with_project {
        true => writeln!(out, "  in {}", stored.project),
        false => writeln!(out),
    }
}
