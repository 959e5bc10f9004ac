//! `stentor doctor`: what of the setup works, what does not, and what to do about it.

mod rights;
mod tools;

use std::collections::BTreeMap;
use std::fmt::Display;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{Access, access};
use serde_json::{Value, json};
use stentor_tools::mcp::ServerAccess;

use crate::commands::models::ModelOverview;
use crate::config::Config;
use crate::models::Models;
use crate::untrusted::brought;
use crate::{commands, extensions, mcp_servers, session_places, setup};

/// How one thing is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CheckState {
    Good,
    /// Works, and could be better.
    Note,
    Bad,
}

/// One line of the report.
#[derive(Debug, PartialEq, Eq)]
struct Check {
    section: &'static str,
    state: CheckState,
    what: String,
    /// What to do about it.
    advice: Option<String>,
}

/// Everything that was looked at.
#[derive(Debug, Default)]
pub struct DoctorReport {
    checks: Vec<Check>,
}

impl DoctorReport {
    /// The report about a configuration that cannot be read.
    pub fn of_broken(problems: &str) -> Self {
        let mut report = Self::default();
        report.program();
        for problem in problems.lines() {
            let problem = problem.trim_start_matches("stentor: ");
            report.bad(
                "Configuration",
                problem,
                "correct this; nothing else can be looked at before",
            );
        }
        report
    }

    /// Looks at everything; servers and extensions are started and ended again.
    pub async fn of(config: &Config, models: &Models, cwd: &Path) -> Self {
        let mut report = Self::default();
        report.program();
        report.folders(config, cwd);
        report.rights(config, models);
        report.configuration(config);
        report.models(config, models);
        report.tools().await;
        report.sandbox(config, cwd);
        report.servers(config, models, cwd).await;
        report.extensions(config, cwd).await;
        report.trust(config);
        report
    }

    /// True when nothing is broken.
    pub fn is_good(&self) -> bool {
        self.checks
            .iter()
            .all(|check| check.state != CheckState::Bad)
    }

    /// Prints it.
    pub fn print(&self, as_json: bool, out: &mut impl Write) -> io::Result<()> {
        if as_json {
            let checks: Vec<Value> = self.checks.iter().map(check_json).collect();
            serde_json::to_writer_pretty(&mut *out, &json!({ "checks": checks }))?;
            return writeln!(out);
        }
        let mut section = "";
        for check in &self.checks {
            if check.section != section {
                let gap = if section.is_empty() { "" } else { "\n" };
                section = check.section;
                writeln!(out, "{gap}{section}")?;
            }
            let mark = match check.state {
                CheckState::Good => "ok  ",
                CheckState::Note => "note",
                CheckState::Bad => "BAD ",
            };
            writeln!(out, "  {mark}  {}", check.what)?;
            if let Some(advice) = &check.advice {
                writeln!(out, "        -> {advice}")?;
            }
        }
        let of = |state| {
            self.checks
                .iter()
                .filter(|check| check.state == state)
                .count()
        };
        let (bad, notes) = (of(CheckState::Bad), of(CheckState::Note));
        match bad {
            0 => writeln!(out, "\nNothing is broken ({notes} notes)."),
            _ => writeln!(out, "\n{bad} broken, {notes} notes."),
        }
    }

    fn good(&mut self, section: &'static str, what: impl Display) {
        self.add(section, CheckState::Good, what.to_string(), None);
    }

    fn note(&mut self, section: &'static str, what: impl Display, advice: &str) {
        self.add(
            section,
            CheckState::Note,
            what.to_string(),
            Some(advice.to_owned()),
        );
    }

    fn bad(&mut self, section: &'static str, what: impl Display, advice: &str) {
        self.add(
            section,
            CheckState::Bad,
            what.to_string(),
            Some(advice.to_owned()),
        );
    }

    fn add(
        &mut self,
        section: &'static str,
        state: CheckState,
        what: String,
        advice: Option<String>,
    ) {
        self.checks.push(Check {
            section,
            state,
            what,
            advice,
        });
    }

    fn program(&mut self) {
        const SECTION: &str = "Program";
        let (os, machine) = (std::env::consts::OS, std::env::consts::ARCH);
        let version = env!("CARGO_PKG_VERSION");
        self.good(SECTION, format!("stentor {version} on {os} ({machine})"));
        if let Ok(program) = std::env::current_exe() {
            self.good(SECTION, program.display().to_string());
        }
    }

    fn folders(&mut self, config: &Config, cwd: &Path) {
        const SECTION: &str = "Folders";
        let settings = &config.settings;
        let sessions = session_places::own(settings, false).root();
        let data = settings.data_dir.as_ref().map(|data| data.value.clone());
        let mut all = vec![("working folder", Some(cwd.to_owned()))];
        all.push(("configuration", config.places.config_dir.clone()));
        all.push(("data", data));
        all.push(("sessions", Some(sessions)));
        for (name, folder) in all {
            match folder.filter(|folder| !folder.as_os_str().is_empty()) {
                Some(folder) => self.folder(SECTION, name, &folder),
                None => self.bad(
                    SECTION,
                    format!("{name}: there is none, because HOME is not set"),
                    "set HOME, or use --session-dir",
                ),
            }
        }
    }

    fn folder(&mut self, section: &'static str, name: &str, folder: &Path) {
        let shown = folder.display();
        let existing = folder.ancestors().find(|one| one.exists());
        let writable = existing.is_some_and(|one| access(one, Access::WRITE_OK).is_ok());
        match (folder.is_dir(), writable) {
            (true, true) => self.good(section, format!("{name}: {shown}")),
            (false, true) if folder.exists() => {
                let advice = "move the file that is in its place";
                self.bad(section, format!("{name}: {shown} is no folder"), advice);
            }
            (false, true) => self.good(section, format!("{name}: {shown} (made when needed)")),
            (_, false) => {
                let advice =
                    "nothing can be stored there: change its rights or choose another folder";
                self.bad(section, format!("{name}: {shown} is not writable"), advice);
            }
        }
    }

    fn configuration(&mut self, config: &Config) {
        const SECTION: &str = "Configuration";
        let files = &config.files;
        for file in [&files.user, &files.project].into_iter().flatten() {
            let path = file.path.display();
            match file.exists {
                true => self.good(SECTION, path.to_string()),
                false => self.good(SECTION, format!("{path} does not exist, which is fine")),
            }
        }
        for warning in &config.warnings {
            let advice = "`stentor config` shows what holds instead";
            self.note(SECTION, warning.to_string(), advice);
        }
    }

    fn models(&mut self, config: &Config, models: &Models) {
        const SECTION: &str = "Models";
        let registry = models.registry();
        // What is chosen is known when everybody has been asked.
        let (listed, silent) = registry.list_asking();
        let chosen = setup::chosen_model(config, models);
        let known = ModelOverview {
            listed: &listed,
            silent: &silent,
            chosen: &chosen,
        };
        match (&chosen, known.problem()) {
            (Ok(chosen), Some(problem)) => self.bad(
                SECTION,
                format!(
                    "{} would answer ({}), but: {problem}",
                    chosen.info.full_name(),
                    chosen.why
                ),
                "put this right, or choose another with --model; `stentor models` lists them",
            ),
            (Ok(chosen), None) if chosen.info.provider == stentor_model::offline::PROVIDER => self
                .note(
                    SECTION,
                    format!("{} would answer: {}", chosen.info.full_name(), chosen.why),
                    "`stentor login`, or a key such as ANTHROPIC_API_KEY, connects a language model",
                ),
            (Ok(chosen), None) => self.good(
                SECTION,
                format!("{} would answer: {}", chosen.info.full_name(), chosen.why),
            ),
            (Err(problem), _) => self.bad(SECTION, problem, "`stentor models` lists them all"),
        }
        for warning in registry.warnings() {
            self.note(SECTION, warning, "`stentor models` shows what is left");
        }
        for provider in &silent {
            self.note(
                SECTION,
                format!("{}: not usable yet", provider.id),
                &provider.reason,
            );
        }
        // By provider: how many can be used, and why, or what would change that.
        let mut providers: BTreeMap<&str, (usize, usize, &str)> = BTreeMap::new();
        for model in &listed {
            let entry = providers.entry(&model.info.provider).or_default();
            match &model.usable {
                Some(why) => (entry.0, entry.2) = (entry.0 + 1, why),
                None if entry.0 == 0 => (entry.1, entry.2) = (entry.1 + 1, &model.hint),
                None => entry.1 += 1,
            }
        }
        for (provider, (usable, others, why)) in providers {
            let models = |count| if count == 1 { "model" } else { "models" };
            match usable {
                0 => self.note(
                    SECTION,
                    format!("{provider}: {others} {}, not usable yet", models(others)),
                    why,
                ),
                _ => self.good(
                    SECTION,
                    format!("{provider}: {usable} {} ({why})", models(usable)),
                ),
            }
        }
    }

    fn sandbox(&mut self, config: &Config, cwd: &Path) {
        const SECTION: &str = "Sandbox";
        match setup::sandbox_state(config, cwd) {
            Ok(state) => {
                match state.is_on() {
                    true => self.good(SECTION, state.to_string()),
                    false => self.good(SECTION, "off; `--sandbox workspace-write` turns it on"),
                }
                for gap in &state.gaps {
                    let advice = "this machine cannot do that; docs/permissions.md explains why";
                    self.note(SECTION, gap.clone(), advice);
                }
            }
            Err(refused) => self.bad(SECTION, refused, "use --sandbox-optional, or another mode"),
        }
    }

    async fn servers(&mut self, config: &Config, models: &Models, cwd: &Path) {
        const SECTION: &str = "MCP servers";
        let found = match mcp_servers::find(config, &|name| config.variable(name)) {
            Ok(found) => found,
            Err(errors) => return self.bad(SECTION, errors.to_string(), "correct the file"),
        };
        for warning in &found.warnings {
            self.note(SECTION, warning.clone(), "`stentor mcp` lists the servers");
        }
        let (on, off): (Vec<_>, Vec<_>) = found
            .servers
            .into_iter()
            .partition(|server| server.is_enabled);
        for server in off {
            self.good(SECTION, format!("{} is disabled", server.name));
        }
        let launcher = match setup::session_launcher(config, cwd) {
            Ok(launcher) => launcher,
            Err(why) => return self.bad(SECTION, why, "see the sandbox above"),
        };
        let access = ServerAccess {
            launcher,
            http: Arc::clone(models.registry().http()),
            logins: Some(models.mcp_logins()),
        };
        if on.is_empty() {
            self.good(SECTION, "none; `stentor mcp add` adds one");
        }
        for tested in commands::mcp::test(on, &access, cwd).await {
            match tested.problem() {
                None => self.good(SECTION, format!("{} works", tested.name())),
                Some(why) => self.bad(
                    SECTION,
                    format!("{}: {why}", tested.name()),
                    "`stentor mcp test` shows more; `stentor mcp remove` takes it out",
                ),
            }
        }
    }

    async fn extensions(&mut self, config: &Config, cwd: &Path) {
        const SECTION: &str = "Extensions";
        let found = match extensions::find(config) {
            Ok(found) => found,
            Err(errors) => return self.bad(SECTION, errors.to_string(), "correct the file"),
        };
        if found.is_empty() {
            return self.good(SECTION, "none");
        }
        let launcher = match setup::session_launcher(config, cwd) {
            Ok(launcher) => launcher,
            Err(why) => return self.bad(SECTION, why, "see the sandbox above"),
        };
        for tested in commands::extensions::test(found, &launcher, cwd).await {
            match tested.problem() {
                None => self.good(SECTION, format!("{} works", tested.name())),
                Some(why) => self.bad(
                    SECTION,
                    format!("{}: {why}", tested.name()),
                    "`stentor extensions test` shows more",
                ),
            }
        }
    }

    fn trust(&mut self, config: &Config) {
        const SECTION: &str = "Trust";
        let root = config.project.root().display();
        if config.files.root_trusted {
            return self.good(SECTION, format!("{root} is trusted"));
        }
        let waiting = brought::waiting(config, &|name| config.variable(name));
        if waiting.is_empty() {
            return self.good(SECTION, format!("{root} contains nothing that needs trust"));
        }
        let what: Vec<&str> = waiting.iter().map(|one| one.what.as_str()).collect();
        self.note(
            SECTION,
            format!(
                "{root} is not trusted, so these are not used: {}",
                what.join(", ")
            ),
            "look at them, then run `stentor trust`",
        );
    }
}

fn check_json(check: &Check) -> Value {
    let state = match check.state {
        CheckState::Good => "ok",
        CheckState::Note => "note",
        CheckState::Bad => "bad",
    };
    json!({ "section": check.section, "state": state, "what": check.what, "advice": check.advice })
}
