//! `stentor sessions` and `stentor export`, and what a shell completes.

use std::fs::File;
use std::io::{self, BufReader, IsTerminal, Write};
use std::path::Path;

use stentor_journal::store::short_id;

use super::{Failure, Job, UNASKED};
use crate::args::{SessionsAction, Values};
use crate::commands::session_changes::{Consent, delete, rename};
use crate::commands::sessions::{SessionLine, about};
use crate::commands::{self, complete};
use crate::print::printed::Printed;
use crate::setup;

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
        let of_this = if all { "" } else { " of this folder" };
        let find = |wanted: &String| {
            let found = agent.find(wanted);
            found.map_err(|error| Failure::other(error.to_string()))
        };
        match action {
            None => {
                let lines = listed.map(SessionLine::of);
                let none = format!("no sessions{of_this}");
                Failure::printing(commands::sessions::run(lines, all, &none, json, out))
            }
            Some(SessionsAction::Search { text }) => {
                let lines = listed.filter_map(|listed| SessionLine::with(listed, text));
                let none = format!("nothing matches in the sessions{of_this}");
                Failure::printing(commands::sessions::run(lines, all, &none, json, out))
            }
            Some(SessionsAction::Rename { session, name }) => {
                let file = find(session)?;
                rename(&file, name, &*setup::system_clock())
                    .map_err(|error| Failure::other(error.to_string()))?;
                Failure::printing(writeln!(out, "Renamed to \"{}\".", name.trim()))
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
                let deleted = deleted.map_err(|error| Failure::other(error.to_string()))?;
                let sessions = if deleted == 1 { "session" } else { "sessions" };
                Failure::printing(writeln!(out, "Deleted {deleted} {sessions}."))
            }
        }
    }

    pub(super) fn export(
        &self,
        session: &str,
        output: Option<&Path>,
        out: &mut File,
    ) -> Result<u8, Failure> {
        let file = self.agent(UNASKED).find(session);
        let file = file.map_err(|error| Failure::other(error.to_string()))?;
        let exported = commands::export::run(&file, output, &self.cwd, out);
        exported.map_err(Failure::other)?;
        Ok(0)
    }

    /// What a shell offers: the newest sessions of this folder, or the models.
    pub(super) fn complete(&self, values: Values, out: &mut File) -> Result<u8, Failure> {
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
        })
    }
}
