//! `stentor sessions`, `stentor usage` and `stentor export`, and what a shell completes.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, IsTerminal, Write};
use std::path::Path;

use jiff::tz::TimeZone;
use stentor_journal::store::short_id;

use super::{ProgramFailure, ProgramTask, UNASKED, block_on};
use crate::args::{CompletableValues, SessionsAction, UsageArgs};
use crate::commands::describe::commands_in;
use crate::commands::session_changes::{Consent, delete, rename};
use crate::commands::sessions::{SessionLine, about};
use crate::commands::usage::UsageReport;
use crate::commands::{self, complete};
use crate::local_time::first_day;
use crate::print::streams::StdoutWriter;
use crate::{export, setup};

impl ProgramTask<'_> {
    pub(super) fn sessions(
        &self,
        action: Option<&SessionsAction>,
        all: bool,
        stdin: &File,
        out: &mut StdoutWriter<'_>,
    ) -> Result<u8, ProgramFailure> {
        let agent = self.agent(UNASKED);
        let folder = (!all).then_some(self.cwd.as_path());
        let listed = agent.newest_first(folder);
        let json = self.args.ask.json;
        let zone = TimeZone::system();
        let of_this = if all { "" } else { " of this folder" };
        let find = |wanted: &String| {
            let found = agent.find(wanted);
            found.map_err(ProgramFailure::other)
        };
        match action {
            None => {
                let lines = listed.map(SessionLine::of);
                let none = format!("no sessions{of_this}");
                ProgramFailure::printing(commands::sessions::run(
                    lines, all, &none, &zone, json, out,
                ))
            }
            Some(SessionsAction::Search { text }) => {
                let lines = listed.filter_map(|listed| SessionLine::with(listed, text));
                let none = format!("no session{of_this} contains `{text}`");
                ProgramFailure::printing(commands::sessions::run(
                    lines, all, &none, &zone, json, out,
                ))
            }
            Some(SessionsAction::Rename { session, name }) => {
                let file = find(session)?;
                rename(&file, name, &*setup::system_clock()).map_err(ProgramFailure::other)?;
                ProgramFailure::printing(writeln!(out, "Renamed to \"{}\".", name.trim()))
            }
            Some(SessionsAction::Rewind(wanted)) => {
                let file = find(&wanted.session)?;
                let environment = agent.environment().clone();
                let undo = |folder: &Path| setup::undo(&self.config, folder);
                let tools = |folder: &Path| {
                    let options = agent.options(folder);
                    options.map_or_else(|_| Vec::new(), |options| options.tools)
                };
                let work =
                    commands::rewind::run(&file, environment, undo, tools, wanted, json, out);
                block_on(work)?.map_err(ProgramFailure::other)?;
                Ok(0)
            }
            Some(SessionsAction::Delete { sessions, yes }) => {
                let mut files = Vec::new();
                for file in sessions.iter().map(find) {
                    let file = file?;
                    // Named twice, it is deleted once.
                    if !files.contains(&file) {
                        files.push(file);
                    }
                }
                let consent = match (yes, stdin.is_terminal()) {
                    (true, _) => Consent::Given,
                    (false, true) => Consent::Ask,
                    (false, false) => Consent::Missing,
                };
                let deleted = delete(
                    &files,
                    consent,
                    &mut BufReader::new(stdin),
                    &mut io::stderr(),
                );
                let deleted = deleted.map_err(ProgramFailure::other)?;
                let sessions = if deleted == 1 { "session" } else { "sessions" };
                ProgramFailure::printing(writeln!(out, "Deleted {deleted} {sessions}."))
            }
        }
    }

    pub(super) fn usage(
        &self,
        wanted: &UsageArgs,
        out: &mut StdoutWriter<'_>,
    ) -> Result<u8, ProgramFailure> {
        let (now_ms, zone) = (setup::system_clock().now_ms(), TimeZone::system());
        let (since, first_ms) = first_day(now_ms, wanted.days, &zone);
        let since = (!wanted.all_time).then_some(since);
        let folder = wanted.here.then_some(self.cwd.as_path());
        let sessions = self.agent(UNASKED).newest_first(folder);
        // What was last written before the first day has nothing to add.
        let sessions =
            sessions.take_while(|listed| since.is_none() || listed.modified_ms >= first_ms);
        let report = UsageReport::of(sessions, since, &zone);
        if self.args.ask.json {
            return ProgramFailure::printing(report.print_json(since, out));
        }
        let period = match (wanted.all_time, wanted.days) {
            (true, _) => "so far".to_owned(),
            (false, 1) => "today".to_owned(),
            (false, days) => format!("in the last {days} days"),
        };
        let home = self.config.places.home.as_deref();
        ProgramFailure::printing(report.print(&period, home, out))
    }

    pub(super) fn export(
        &self,
        session: &str,
        output: Option<&Path>,
        out: &mut File,
    ) -> Result<u8, ProgramFailure> {
        let file = self.agent(UNASKED).find(session);
        let file = file.map_err(ProgramFailure::other)?;
        let exported = export::run(&file, output, &self.cwd, out);
        exported.map_err(ProgramFailure::other)?;
        Ok(0)
    }

    /// What a shell offers: the newest sessions of this folder, models, providers, or the commands in
    /// the one that `words` name.
    pub(super) fn complete(
        &self,
        values: CompletableValues,
        words: &[String],
        out: &mut File,
    ) -> Result<u8, ProgramFailure> {
        const OFFERED: usize = 50;
        ProgramFailure::printing(match values {
            CompletableValues::Sessions => {
                let agent = self.agent(UNASKED);
                let newest = agent.newest_first(Some(&self.cwd)).take(OFFERED);
                let values = newest.map(|one| (short_id(&one.id).to_owned(), about(&one)));
                complete::print(values, out)
            }
            CompletableValues::Models => {
                let models = self.models.registry().list().into_iter();
                let models = models.map(|one| (one.info.full_name(), one.info.name.clone()));
                complete::print(models, out)
            }
            CompletableValues::Providers => {
                let models = self.models.registry().list().into_iter();
                let of_models = models.map(|one| one.info.provider.clone());
                let logins = self.models.logins().status().unwrap_or_default();
                let named = logins.into_iter().map(|one| (one.id, one.name));
                let mut providers: BTreeMap<String, String> = named.collect();
                for provider in of_models {
                    providers.entry(provider).or_default();
                }
                complete::print(providers.into_iter(), out)
            }
            CompletableValues::Commands => complete::print(commands_in(words).into_iter(), out),
        })
    }
}
