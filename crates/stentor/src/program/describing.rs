//! Commands about the program itself, which need no configuration, or must do without one.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use super::{FAILED, ProgramFailure, ProgramTask, block_on};
use crate::args::{Args, CliCommand, ScenarioAction};
use crate::commands::doctor::DoctorReport;
use crate::commands::{self, describe};
use crate::print::streams::StdoutWriter;

/// Does what was asked, if it is one of these.
pub(super) fn run(args: &Args, stdin: &File, out: &mut File) -> Option<Result<u8, ProgramFailure>> {
    let json = args.ask.json;
    Some(match args.command.as_ref()? {
        CliCommand::Completions { shell } => {
            ProgramFailure::printing(describe::completions(*shell, out))
        }
        CliCommand::Man { folder } => manual(folder.as_deref(), out),
        CliCommand::Help { words } => match describe::help(words) {
            Ok(help) => ProgramFailure::printing(out.write_all(help.as_bytes())),
            Err(error) => Err(ProgramFailure::usage(error.to_string())),
        },
        CliCommand::Scenario { action } => scenario(action, json, out),
        CliCommand::Doctor => doctor(args, stdin, &mut StdoutWriter::new(out, json)),
        _ => return None,
    })
}

fn manual(folder: Option<&Path>, out: &mut File) -> Result<u8, ProgramFailure> {
    let Some(folder) = folder else {
        return ProgramFailure::printing(describe::manual(out));
    };
    let written = describe::manuals(folder);
    let written = written.map_err(|error| {
        ProgramFailure::other(format!("cannot write into {}: {error}", folder.display()))
    })?;
    ProgramFailure::printing(writeln!(out, "{}", written.join("\n")))
}

fn scenario(action: &ScenarioAction, json: bool, out: &mut File) -> Result<u8, ProgramFailure> {
    let ScenarioAction::Check { file } = action;
    let facts = commands::scenario::check(file);
    let facts = facts.map_err(ProgramFailure::other)?;
    ProgramFailure::printing(commands::scenario::report(file, &facts, json, out))
}

fn doctor(args: &Args, stdin: &File, out: &mut StdoutWriter<'_>) -> Result<u8, ProgramFailure> {
    let report = match ProgramTask::prepare(args, stdin) {
        Ok(job) => block_on(DoctorReport::of(&job.config, &job.models, &job.cwd))?,
        Err(failure) => DoctorReport::of_broken(&failure.message),
    };
    ProgramFailure::printing(report.print(args.ask.json, out))?;
    Ok(if report.is_good() { 0 } else { FAILED })
}
