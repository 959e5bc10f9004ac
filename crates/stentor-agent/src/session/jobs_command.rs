//! `/jobs`, the same in every dialect.

use super::error::SessionError;
use super::handle::Session;
use crate::jobs::{Job, Jobs};

/// The name of the command, without its slash.
pub const JOBS: &str = "jobs";

/// What it is for.
pub const JOBS_ABOUT: &str = "List what runs in the background, show its output, or stop it";

/// What may follow its name.
pub const JOBS_HINT: &str = "[ID], or stop ID";

/// What follows `/jobs`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobsCommand {
    /// Lists what runs.
    List,
    /// Shows one with the end of its output.
    Show(String),
    Stop(String),
}

/// Words that mean nothing here.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("Usage: /{JOBS} {JOBS_HINT}; alone it lists what runs")]
pub struct JobsUsage;

impl JobsCommand {
    /// Reads what follows the name of the command.
    pub fn parse(arguments: &str) -> Result<Self, JobsUsage> {
        let words: Vec<&str> = arguments.split_whitespace().collect();
        match words.as_slice() {
            [] => Ok(Self::List),
            ["stop", id] => Ok(Self::Stop((*id).to_owned())),
            [id] if *id != "stop" => Ok(Self::Show((*id).to_owned())),
            _ => Err(JobsUsage),
        }
    }
}

impl Session {
    /// Does what `/jobs` with these arguments is for, and says what came of it.
    pub fn jobs_command(&self, arguments: &str) -> Result<String, SessionError> {
        let jobs = self.jobs();
        Ok(match JobsCommand::parse(arguments) {
            Err(usage) => usage.to_string(),
            Ok(JobsCommand::List) => listed(&jobs.list()),
            Ok(JobsCommand::Show(id)) => match jobs.find(&id) {
                Some(job) => shown(jobs, &job),
                None => none(&id),
            },
            Ok(JobsCommand::Stop(id)) => match self.cancel_job(&id)? {
                Some(job) if job.status.is_over() => job.line(),
                Some(job) => format!("{} is being stopped.", job.id),
                None => none(&id),
            },
        })
    }
}

fn listed(jobs: &[Job]) -> String {
    let running = jobs.iter().filter(|job| !job.status.is_over());
    let lines: Vec<String> = running.map(Job::line).collect();
    match lines.is_empty() {
        true => "Nothing runs in the background.".to_owned(),
        false => lines.join("\n"),
    }
}

fn shown(jobs: &Jobs, job: &Job) -> String {
    match jobs.shown_output(&job.id) {
        None => job.line(),
        Some(text) => format!("{}\n{text}", job.line()),
    }
}

fn none(id: &str) -> String {
    format!("There is no job {id}.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_after_the_command_are_read() {
        for (words, expected) in [
            ("", Ok(JobsCommand::List)),
            ("job-1", Ok(JobsCommand::Show("job-1".into()))),
            (" stop  job-2 ", Ok(JobsCommand::Stop("job-2".into()))),
            ("stop", Err(JobsUsage)),
            ("a b", Err(JobsUsage)),
        ] {
            assert_eq!(JobsCommand::parse(words), expected, "{words}");
        }
    }
}
