//! The program from its words to its exit status.

mod describing;
mod mcp;
mod sessions;
mod talking;

use std::ffi::OsString;
use std::fmt::Display;
use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use clap::error::ErrorKind;
use serde_json::json;
use stentor_journal::clock::iso_time;
use stentor_policy::PermissionMode;
use stentor_serve::login::Login;
use stentor_serve::stdio::{self, Pipes};

use crate::args::{
    self, AgentsAction, Args, CliCommand, ExtensionsAction, McpAction, PermissionsAction,
};
use crate::commands;
use crate::commands::agents::AgentsFailure;
use crate::commands::describe::help_of_line;
use crate::commands::models::ModelFilter;
use crate::commands::permissions::{PermissionOverview, print_forgotten};
use crate::config::{Config, ConfigErrors, Layer};
use crate::dialect::in_own_words;
use crate::frontend::{Start, runtime};
use crate::logins::ModelLogins;
use crate::models::Models;
use crate::overview::{ModelReport, overview};
use crate::print::streams::{StdoutWriter, stderr, usage_error};
use crate::prompt_text::{StdinKind, prompt_text};
use crate::setup::{self, Defaults};
use crate::trust::store::TrustStore;
use crate::untrusted::brought;
use crate::untrusted::question::{AT_TERMINAL, TrustAsking, ask_at_terminal};
use crate::{acp, extensions, log, mcp_server, omp, relay, rpc, serve, session_places};

/// Exit status for a wrong command line or configuration.
const USAGE: u8 = 2;
/// Exit status for everything else that went wrong.
const FAILED: u8 = 1;

/// The stance where nobody is there to be asked.
const UNASKED: PermissionMode = PermissionMode::All;

/// Runs the program.
pub fn run(words: impl IntoIterator<Item = OsString>) -> ExitCode {
    let words = in_own_words(words.into_iter().collect());
    if let Some(status) = relay::run_if_asked(&words) {
        return status;
    }
    if let Some(status) = rpc::run_if_meant(&words).or_else(|| omp::run_if_meant(&words)) {
        return status;
    }
    let args = match args::parse(&words) {
        Ok(args) => args,
        Err(error) => {
            if let (ErrorKind::DisplayHelp, Some(help)) = (error.kind(), help_of_line(&words)) {
                let _ = io::stdout().write_all(help.as_bytes());
                return ExitCode::SUCCESS;
            }
            return usage_error(error);
        }
    };
    log::to_stderr(if args.verbose { "info" } else { "warn" });
    let status = match stdio::take() {
        Ok(pipes) => with_pipes(&args, &words, pipes),
        Err(error) => Err(ProgramFailure::other(format!(
            "cannot use stdin and stdout: {error}"
        ))),
    };
    match status {
        Ok(status) => ExitCode::from(status),
        Err(failure) => {
            let _ = writeln!(stderr(), "stentor: {}", failure.message);
            ExitCode::from(failure.status)
        }
    }
}

/// Why the program ends without having done what it was asked.
struct ProgramFailure {
    status: u8,
    message: String,
}

impl ProgramFailure {
    fn other(why: impl Display) -> Self {
        Self {
            status: FAILED,
            message: why.to_string(),
        }
    }

    fn usage(why: impl Display) -> Self {
        Self {
            status: USAGE,
            message: why.to_string(),
        }
    }

    /// A closed pipe means that the reader has seen enough.
    fn printing(done: io::Result<()>) -> Result<u8, Self> {
        match done {
            Ok(()) => Ok(0),
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(0),
            Err(error) => Err(Self::other(format!("cannot print: {error}"))),
        }
    }
}

impl From<ConfigErrors> for ProgramFailure {
    fn from(errors: ConfigErrors) -> Self {
        let texts: Vec<String> = errors.0.iter().map(ToString::to_string).collect();
        Self::usage(texts.join("\nstentor: "))
    }
}

fn with_pipes(args: &Args, words: &[OsString], pipes: Pipes) -> Result<u8, ProgramFailure> {
    match &args.command {
        Some(CliCommand::Acp {
            login: None,
            attach,
            agent: _,
        }) => {
            let served = acp::serve(args, attach.as_ref(), words, pipes);
            served.map_err(|refused| ProgramFailure {
                status: refused.status,
                message: refused.message,
            })
        }
        Some(CliCommand::Mcp {
            action: Some(McpAction::Serve),
        }) => mcp_server::serve(args, pipes).map_err(|refused| ProgramFailure {
            status: refused.status,
            message: refused.message,
        }),
        Some(CliCommand::Serve(wanted)) => {
            let served = serve::run(wanted, args.ask.json, pipes);
            served.map_err(ProgramFailure::other)
        }
        Some(CliCommand::Fleet(wanted)) => {
            let asked = serve::fleet::run(wanted, args.ask.json, &mut File::from(pipes.stdout));
            asked.map(|()| 0).map_err(ProgramFailure::other)
        }
        Some(CliCommand::Page(wanted)) => {
            let shown = serve::page::run(wanted, &mut File::from(pipes.stdout));
            shown.map(|()| 0).map_err(ProgramFailure::other)
        }
        _ => do_job(args, pipes),
    }
}

/// Everything that is no server and needs the configuration of a folder.
fn do_job(args: &Args, pipes: Pipes) -> Result<u8, ProgramFailure> {
    let mut stdin = File::from(pipes.stdin);
    let mut out = File::from(pipes.stdout);
    if let Some(done) = describing::run(args, &stdin, &mut out) {
        return done;
    }
    let job = ProgramTask::prepare(args, &stdin)?;
    if let Some(command) = &args.command {
        return command_of(&job, command, stdin, out);
    }
    match &args.ask.prompt {
        Some(prompt) => {
            let text =
                prompt_text(prompt, args.ask.stdin, &mut stdin).map_err(ProgramFailure::usage)?;
            job.ask(text, &stdin, &mut out)
        }
        None if stdin.is_terminal() && out.is_terminal() => job.converse(stdin, out),
        None => job.overview(
            out.is_terminal(),
            &mut StdoutWriter::new(&out, args.ask.json),
        ),
    }
}

/// Does what a word of the command line names.
fn command_of(
    job: &ProgramTask<'_>,
    command: &CliCommand,
    mut stdin: File,
    mut out: File,
) -> Result<u8, ProgramFailure> {
    let json = job.args.ask.json;
    let printed = |out| StdoutWriter::new(out, json);
    match command {
        CliCommand::Config => {
            let sandbox = setup::sandbox_state(&job.config, &job.cwd);
            let mut out = printed(&out);
            ProgramFailure::printing(commands::config::run(&job.config, &sandbox, json, &mut out))
        }
        CliCommand::Extensions { action } => job.extensions(action.as_ref(), &mut printed(&out)),
        CliCommand::Mcp { action } => job.mcp(action.as_ref(), &mut stdin, &mut printed(&out)),
        CliCommand::Permissions { action, all } => match action {
            None => job.permissions(*all, &mut printed(&out)),
            Some(PermissionsAction::Forget { numbers, project }) => {
                job.forget(numbers, *project, &mut printed(&out))
            }
        },
        CliCommand::Trust { list: true, .. } => job.list_trusted(&mut printed(&out)),
        CliCommand::Trust {
            folder,
            revoke,
            list: false,
        } => {
            let folder = folder.as_deref().unwrap_or(&job.cwd);
            match revoke {
                true => job.revoke_trust(folder, &mut printed(&out)),
                false => job.trust(folder, &mut printed(&out)),
            }
        }
        CliCommand::Agents { action } => job.agents(action.as_ref(), &mut printed(&out)),
        CliCommand::Models { filter, all } => {
            let (filter, all) = (filter.as_deref(), *all);
            job.models(ModelFilter { filter, all }, &mut printed(&out))
        }
        CliCommand::Login { provider, key } => {
            job.login(provider.as_deref(), *key, &mut stdin, &mut printed(&out))
        }
        CliCommand::Acp {
            login: provider, ..
        } => job.login(provider.as_deref(), false, &mut stdin, &mut printed(&out)),
        CliCommand::Logout { provider, .. } => job.logout(provider.as_deref(), &mut printed(&out)),
        CliCommand::Commands => {
            let listed = commands::slash_commands::listed(&job.config);
            let mut out = printed(&out);
            ProgramFailure::printing(commands::slash_commands::run(&listed, json, &mut out))
        }
        CliCommand::Sessions { action, all } => {
            job.sessions(action.as_ref(), *all, &stdin, &mut printed(&out))
        }
        CliCommand::Usage(wanted) => job.usage(wanted, &mut printed(&out)),
        CliCommand::Complete { values, words } => job.complete(*values, words, &mut out),
        CliCommand::Export { session, output } => job.export(session, output.as_deref(), &mut out),
        // Those are done.
        CliCommand::Completions { .. }
        | CliCommand::Man { .. }
        | CliCommand::Help { .. }
        | CliCommand::Scenario { .. }
        | CliCommand::Doctor
        | CliCommand::Serve(_)
        | CliCommand::Fleet(_)
        | CliCommand::Page(_) => Ok(0),
    }
}

/// What was asked, with what holds for it.
struct ProgramTask<'a> {
    args: &'a Args,
    flags: Layer,
    config: Config,
    models: Arc<Models>,
    trust: TrustAsking,
    cwd: std::path::PathBuf,
}

/// Asks the person at the terminal about a folder that brings what waits for trust. What a yes
/// allows counts at once: nothing has begun yet.
fn asked_for_trust(
    config: Config,
    cwd: &Path,
    flags: &Layer,
    trust: &TrustAsking,
    mut terminal: &File,
) -> Result<Config, ProgramFailure> {
    let wanted = brought::waiting(&config, &|name| config.variable(name));
    let Some(store) = setup::trust_store(&config).filter(|_| !wanted.is_empty()) else {
        return Ok(config);
    };
    let root = config.project.root();
    trust.mark_asked(root);
    let yes = ask_at_terminal(root, &wanted, &mut terminal, AT_TERMINAL, &mut io::stderr());
    if !yes.map_err(|error| ProgramFailure::other(format!("cannot ask: {error}")))? {
        return Ok(config);
    }
    let now = iso_time(setup::system_clock().now_ms());
    let kept = store.trust(root, &now);
    kept.map_err(ProgramFailure::other)?;
    Ok(setup::load_config(cwd, flags, &config.variables)?)
}

/// The terminal of a person who can be asked: stdin, or the one behind what is piped in. In the
/// background of a shell, and where stdin is `/dev/null`, nobody is there.
fn terminal_of_person(stdin: &File) -> Option<File> {
    if !io::stderr().is_terminal() {
        return None;
    }
    let terminal = match StdinKind::of(stdin) {
        StdinKind::Pipe | StdinKind::Socket | StdinKind::File => File::open("/dev/tty").ok()?,
        StdinKind::Other => stdin.try_clone().ok()?,
    };
    is_in_foreground(&terminal).then_some(terminal)
}

/// True for a terminal whose keys reach this process. In the background of a shell, reading them
/// would stop it.
fn is_in_foreground(terminal: &File) -> bool {
    let group = rustix::process::getpgrp();
    let foreground = rustix::termios::tcgetpgrp(terminal);
    terminal.is_terminal() && foreground.map_or(true, |foreground| foreground == group)
}

impl<'a> ProgramTask<'a> {
    /// Reads what holds for what was asked. Who asks at a terminal may be asked for trust first.
    fn prepare(args: &'a Args, stdin: &File) -> Result<Self, ProgramFailure> {
        let start = Start::of_process();
        let cwd = start
            .working_folder(args.session.cwd.as_deref())
            .map_err(ProgramFailure::usage)?;
        let home = start.home();
        let flags = args.layer(&cwd, home.as_deref())?;
        let mut config = setup::load_config(&cwd, &flags, &start.variables)?;
        let trust = TrustAsking::default();
        let is_asked = args.ask.prompt.is_some() || stdin.is_terminal();
        let talks = args.command.is_none() && is_asked;
        if let Some(terminal) = terminal_of_person(stdin).filter(|_| talks) {
            config = asked_for_trust(config, &cwd, &flags, &trust, &terminal)?;
        }
        let models = setup::models(&config, &flags, &cwd)?;
        Ok(Self {
            args,
            flags,
            config,
            models,
            trust,
            cwd,
        })
    }
}

/// Does something asynchronous to its end.
fn block_on<T>(work: impl Future<Output = T>) -> Result<T, ProgramFailure> {
    Ok(runtime().map_err(ProgramFailure::other)?.block_on(work))
}

impl ProgramTask<'_> {
    /// An agent whose sessions take this stance where nobody chose one. It also finds those of the
    /// clients of pi and omp.
    fn agent(&self, permission_mode: PermissionMode) -> stentor_agent::agent::Agent {
        let (flags, models) = (self.flags.clone(), Arc::clone(&self.models));
        let defaults = Defaults {
            permission_mode,
            subagents: false,
            trust: self.trust.clone(),
            ..Defaults::new(flags, models, &self.config)
        };
        let no_session = self.args.session.no_session;
        let files = session_places::own(&self.config.settings, no_session);
        let others = session_places::beside(&self.config, &files, no_session);
        setup::agent(&self.config, Arc::new(defaults), files).also_in(others)
    }

    fn agents(
        &self,
        action: Option<&AgentsAction>,
        out: &mut StdoutWriter<'_>,
    ) -> Result<u8, ProgramFailure> {
        let (name, prompt) = match action {
            Some(AgentsAction::Check { name, prompt }) => (Some(name.as_str()), prompt.as_deref()),
            None => (None, None),
        };
        let registry = self.models.registry();
        let json = self.args.ask.json;
        let work = commands::agents::run(
            (name, prompt),
            &self.config,
            &registry,
            &self.cwd,
            json,
            out,
        );
        match block_on(work)? {
            Err(AgentsFailure::Unknown(why)) => Err(ProgramFailure::usage(why)),
            Err(AgentsFailure::Config(errors)) => Err(errors.into()),
            Err(AgentsFailure::Sandbox(why)) => Err(ProgramFailure::other(why)),
            Err(AgentsFailure::Agent(error)) => Err(ProgramFailure::other(error)),
            Ok((printed, status)) => ProgramFailure::printing(printed).map(|_| status),
        }
    }

    fn models(
        &self,
        wanted: ModelFilter<'_>,
        out: &mut StdoutWriter<'_>,
    ) -> Result<u8, ProgramFailure> {
        for warning in self.models.registry().warnings() {
            let _ = writeln!(stderr(), "warning: {warning}");
        }
        let json = self.args.ask.json;
        // What is chosen is known when everybody has been asked.
        let (listed, silent) = self.models.registry().list_asking();
        let chosen = setup::chosen_model(&self.config, &self.models);
        let known = commands::models::ModelOverview {
            listed: &listed,
            silent: &silent,
            chosen: &chosen,
        };
        ProgramFailure::printing(known.print(wanted, json, out))
    }

    fn login(
        &self,
        provider: Option<&str>,
        stores_key: bool,
        stdin: &mut File,
        out: &mut StdoutWriter<'_>,
    ) -> Result<u8, ProgramFailure> {
        let logged_in = match provider.filter(|_| stores_key) {
            Some(provider) => {
                let registry = self.models.registry();
                block_on(commands::login::store_key(&registry, provider, stdin, out))?
            }
            None => {
                let (logins, registry) = (self.models.logins(), self.models.registry());
                block_on(commands::login::login(
                    &logins, &registry, provider, stdin, out,
                ))?
            }
        };
        logged_in.map_err(ProgramFailure::other).map(|()| 0)
    }

    /// Logs out of a provider, or of everything.
    fn logout(
        &self,
        provider: Option<&str>,
        out: &mut StdoutWriter<'_>,
    ) -> Result<u8, ProgramFailure> {
        let Some(provider) = provider else {
            let logins = ModelLogins(Arc::clone(&self.models));
            let forgotten = block_on(logins.forget_all())?.map_err(ProgramFailure::other)?;
            let text = forgotten.in_words();
            let text = text.unwrap_or_else(|| "There is nothing stored to forget.".to_owned());
            return ProgramFailure::printing(writeln!(out, "{text}"));
        };
        let (logins, registry) = (self.models.logins(), self.models.registry());
        let logout = commands::login::logout(&logins, &registry, provider, out);
        block_on(logout)?.map_err(ProgramFailure::other).map(|()| 0)
    }

    fn extensions(
        &self,
        action: Option<&ExtensionsAction>,
        out: &mut StdoutWriter<'_>,
    ) -> Result<u8, ProgramFailure> {
        let json = self.args.ask.json;
        if let Some(ExtensionsAction::Schema) = action {
            return ProgramFailure::printing(commands::extensions::schema(out));
        }
        let found = extensions::find(&self.config)?;
        match action {
            None | Some(ExtensionsAction::List | ExtensionsAction::Schema) => {
                ProgramFailure::printing(commands::extensions::list(&found, json, out))
            }
            Some(ExtensionsAction::Test { names }) => {
                let chosen =
                    commands::extensions::choose(found, names).map_err(ProgramFailure::usage)?;
                let launcher = setup::session_launcher(&self.config, &self.cwd);
                let launcher = launcher.map_err(ProgramFailure::other)?;
                let tested = commands::extensions::test(chosen, &launcher, &self.cwd);
                let tested = block_on(tested)?;
                let all_work = tested
                    .iter()
                    .all(commands::extensions::TestedExtension::works);
                ProgramFailure::printing(commands::extensions::report(&tested, json, out))?;
                Ok(if all_work { 0 } else { FAILED })
            }
        }
    }

    fn trust_store(&self) -> Result<TrustStore, ProgramFailure> {
        let why = "there is no folder for your configuration, because HOME is not set";
        setup::trust_store(&self.config).ok_or_else(|| ProgramFailure::other(why))
    }

    fn list_trusted(&self, out: &mut StdoutWriter<'_>) -> Result<u8, ProgramFailure> {
        let stored = self.trust_store()?.all();
        let stored = stored.map_err(ProgramFailure::other)?;
        let json = self.args.ask.json;
        ProgramFailure::printing(commands::trust::list(&stored, &self.config, json, out))
    }

    fn trust(&self, folder: &Path, out: &mut StdoutWriter<'_>) -> Result<u8, ProgramFailure> {
        let folder =
            setup::working_folder(Path::new("."), Some(folder)).map_err(ProgramFailure::usage)?;
        let config = setup::load_config(&folder, &self.flags, &self.config.variables)?;
        let root = config.project.root();
        let wanted = brought::waiting(&config, &|name| config.variable(name));
        let already = config.files.root_trusted;
        if !already {
            let now = iso_time(setup::system_clock().now_ms());
            let kept = self.trust_store()?.trust(root, &now);
            kept.map_err(ProgramFailure::other)?;
        }
        let trusted = commands::trust::Trusted {
            root,
            wanted: &wanted,
            already,
        };
        ProgramFailure::printing(trusted.print(self.args.ask.json, out))
    }

    fn revoke_trust(
        &self,
        folder: &Path,
        out: &mut StdoutWriter<'_>,
    ) -> Result<u8, ProgramFailure> {
        // A folder that is gone can be named as `--list` names it.
        let resolved = setup::working_folder(Path::new("."), Some(folder));
        let folder = resolved.unwrap_or_else(|_| folder.to_owned());
        let config = setup::load_config(&folder, &self.flags, &self.config.variables)?;
        let root = config.project.root();
        let revoked = commands::trust::revoke(&self.trust_store()?, root, &config);
        let (said, was_trusted) = revoked.map_err(ProgramFailure::other)?;
        ProgramFailure::printing(match self.args.ask.json {
            true => writeln!(out, "{}", json!({ "folder": root, "revoked": was_trusted })),
            false => writeln!(out, "{said}"),
        })
    }

    fn permissions(&self, all: bool, out: &mut StdoutWriter<'_>) -> Result<u8, ProgramFailure> {
        let project = self.config.project.root();
        let answers = match (setup::stored_answers(&self.config), all) {
            (None, _) => Ok(Vec::new()),
            (Some(answers), true) => answers.all(),
            (Some(answers), false) => answers.of_project(project),
        };
        let answers = answers.map_err(ProgramFailure::other)?;
        let permissions = PermissionOverview {
            config: &self.config,
            project,
            answers: &answers,
            all_projects: all,
            sandbox: &setup::sandbox_state(&self.config, &self.cwd),
        };
        ProgramFailure::printing(match self.args.ask.json {
            true => permissions.print_json(out),
            false => permissions.print(out),
        })
    }

    fn forget(
        &self,
        numbers: &[u64],
        project: bool,
        out: &mut StdoutWriter<'_>,
    ) -> Result<u8, ProgramFailure> {
        let Some(answers) = setup::stored_answers(&self.config) else {
            return Err(ProgramFailure::other(
                "there is no folder with remembered answers, because HOME is not set",
            ));
        };
        let forgotten = match project {
            true => answers.forget_project(self.config.project.root()),
            false => answers.forget(numbers),
        };
        let forgotten = forgotten.map_err(ProgramFailure::other)?;
        ProgramFailure::printing(print_forgotten(&forgotten, self.args.ask.json, out))
    }

    fn overview(
        &self,
        is_terminal: bool,
        out: &mut StdoutWriter<'_>,
    ) -> Result<u8, ProgramFailure> {
        let report = match setup::chosen_model(&self.config, &self.models) {
            Ok(chosen) => ModelReport {
                name: chosen.info.full_name(),
                why: chosen.why,
            },
            Err(problem) => ModelReport {
                name: "none".to_owned(),
                why: problem.to_string(),
            },
        };
        let text = overview(&self.config, &report, &self.cwd);
        if is_terminal {
            return ProgramFailure::printing(out.write_all(text.as_bytes()));
        }
        // Somebody who wanted frames or an answer gets neither, and should notice.
        let _ = stderr().write_all(text.as_bytes());
        Ok(USAGE)
    }
}
