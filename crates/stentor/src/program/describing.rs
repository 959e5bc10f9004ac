//! Commands about the program itself, which need no configuration, or must do without one.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use super::{FAILED, Failure, Job, block_on};
use crate::args::{Args, Command, ScenarioAction};
use crate::commands::doctor::Report;
use crate::commands::{self, describe};
use crate::print::printed::Printed;

/// Does what was asked, if it is one of these.
pub(super) fn run(args: &Args, stdin: &File, out: &mut File) -> Option<Result<u8, Failure>> {
    let json = args.ask.json;
    Some(match args.command.as_ref()? {
        Command::Completions { shell } => Failure::printing(describe::completions(*shell, out)),
        Command::Man { folder } => manual(folder.as_deref(), out),
        Command::Help { words } => match describe::help(words) {
            Ok(help) => Failure::printing(out.write_all(help.as_bytes())),
            Err(error) => Err(Failure::usage(error.to_string())),
        },
        Command::Scenario { action } => scenario(action, json, out),
        Command::Doctor => doctor(args, stdin, &mut Printed::new(out, json)),
        _ => return None,
    })
}

fn manual(folder: Option<&Path>, out: &mut File) -> Result<u8, Failure> {
    let Some(folder) = folder else {
        return Failure::printing(describe::manual(out));
    };
    let written = describe::manuals(folder);
    let written = written.map_err(|error| {
        Failure::other(format!("cannot write into {}: {error}", folder.display()))
    })?;
    Failure::printing(writeln!(out, "{}", written.join("\n")))
}

fn scenario(action: &ScenarioAction, json: bool, out: &mut File) -> Result<u8, Failure> {
    let ScenarioAction::Check { file } = action;
    let facts = commands::scenario::check(file);
    let facts = facts.map_err(Failure::other)?;
    Failure::printing(commands::scenario::report(file, &facts, json, out))
}

fn doctor(args: &Args, stdin: &File, out: &mut Printed<'_>) -> Result<u8, Failure> {
    let report = match Job::prepare(args, stdin) {
        Ok(job) => block_on(Report::of(&job.config, &job.models, &job.cwd))?,
        Err(failure) => Report::of_broken(&failure.message),
    };
    Failure::printing(report.print(args.ask.json, out))?;
    Ok(if report.is_good() { 0 } else { FAILED })
}
