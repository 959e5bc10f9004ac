//! `stentor sessions`, `stentor usage` and `stentor export`, and what a shell completes.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, IsTerminal, Write};
use std::path::Path;

use jiff::tz::TimeZone;
use stentor_journal::clock::iso_time;
use stentor_journal::store::short_id;

use super::{Failure, Job, UNASKED, block_on};
use crate::args::{SessionsAction, UsageArgs, Values};
use crate::commands::describe::commands_in;
use crate::commands::session_changes::{Consent, delete, rename};
use crate::commands::sessions::{SessionLine, about};
use crate::commands::usage::Report;
use crate::commands::{self, complete};
use crate::print::printed::Printed;
use crate::{export, setup};

impl Job<'_> {
    pub(super) fn sessions(
        &self,
        action: Option<&SessionsAction>,
        all: bool,
        stdin: &File,
        out: &mut Printed<'_>,
    ) -> Result<u8, Failure> {
        let agent = self.agent(UNASKED);
        let folder = (!all).then_some(self.cwd.as_path());
        let listed = agent.newest_first(folder);
        let json = self.args.ask.json;
        let zone = TimeZone::system();
        let of_this = if all { "" } else { " of this folder" };
        let find = |wanted: &String| {
            let found = agent.find(wanted);
            found.map_err(Failure::other)
        };
        match action {
            None => {
                let lines = listed.map(SessionLine::of);
                let none = format!("no sessions{of_this}");
                Failure::printing(commands::sessions::run(lines, all, &none, &zone, json, out))
            }
            Some(SessionsAction::Search { text }) => {
                let lines = listed.filter_map(|listed| SessionLine::with(listed, text));
                let none = format!("no session{of_this} contains `{text}`");
                Failure::printing(commands::sessions::run(lines, all, &none, &zone, json, out))
            }
            Some(SessionsAction::Rename { session, name }) => {
                let file = find(session)?;
                rename(&file, name, &*setup::system_clock()).map_err(Failure::other)?;
                Failure::printing(writeln!(out, "Renamed to \"{}\".", name.trim()))
            }
            Some(SessionsAction::Rewind(wanted)) => {
                let file = find(&wanted.session)?;
                let environment = agent.environment().clone();
                let undo = |folder: &Path| setup::undo(&self.config, folder);
                let work = commands::rewind::run(&file, environment, undo, wanted, json, out);
                block_on(work)?.map_err(Failure::other)?;
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
                let deleted = deleted.map_err(Failure::other)?;
                let sessions = if deleted == 1 { "session" } else { "sessions" };
                Failure::printing(writeln!(out, "Deleted {deleted} {sessions}."))
            }
        }
    }

    pub(super) fn usage(&self, wanted: &UsageArgs, out: &mut Printed<'_>) -> Result<u8, Failure> {
        const DAY_MS: u64 = 24 * 60 * 60 * 1000;
        let now = setup::system_clock().now_ms();
        let since_ms = now.saturating_sub(u64::from(wanted.days - 1) * DAY_MS);
        let since = iso_time(since_ms).get(..10).map(str::to_owned);
        let since = since.filter(|_| !wanted.all_time);
        let folder = wanted.here.then_some(self.cwd.as_path());
        let sessions = self.agent(UNASKED).newest_first(folder);
        // What was last written before the first day has nothing to add.
        let first_ms = since_ms - since_ms % DAY_MS;
        let sessions =
            sessions.take_while(|listed| since.is_none() || listed.modified_ms >= first_ms);
        let report = Report::of(sessions, since.as_deref());
        if self.args.ask.json {
            return Failure::printing(report.print_json(since.as_deref(), out));
        }
        let period = match (wanted.all_time, wanted.days) {
            (true, _) => "so far".to_owned(),
            (false, 1) => "today".to_owned(),
            (false, days) => format!("in the last {days} days"),
        };
        let home = self.config.places.home.as_deref();
        Failure::printing(report.print(&period, home, out))
    }

    pub(super) fn export(
        &self,
        session: &str,
        output: Option<&Path>,
        out: &mut File,
    ) -> Result<u8, Failure> {
        let file = self.agent(UNASKED).find(session);
        let file = file.map_err(Failure::other)?;
        let exported = export::run(&file, output, &self.cwd, out);
        exported.map_err(Failure::other)?;
        Ok(0)
    }

    /// What a shell offers: the newest sessions of this folder, models, providers, or the commands in
    /// the one that `words` name.
    pub(super) fn complete(
        &self,
        values: Values,
        words: &[String],
        out: &mut File,
    ) -> Result<u8, Failure> {
        const OFFERED: usize = 50;
        Failure::printing(match values {
            Values::Sessions => {
                let agent = self.agent(UNASKED);
                let newest = agent.newest_first(Some(&self.cwd)).take(OFFERED);
                let values = newest.map(|one| (short_id(&one.id).to_owned(), about(&one)));
                complete::print(values, out)
            }
            Values::Models => {
                let models = self.models.registry().list().into_iter();
                let models = models.map(|one| (one.info.full_name(), one.info.name.clone()));
                complete::print(models, out)
            }
            Values::Providers => {
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
            Values::Commands => complete::print(commands_in(words).into_iter(), out),
        })
    }
}
