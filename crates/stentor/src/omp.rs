//! `stentor --mode rpc` and `--mode json`: in the place of omp or pi.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use stentor_agent::agent::Agent;
use stentor_agent::model::ThinkingLevel;
use stentor_journal::message::ContentBlock;
use stentor_serve::frontend::Frontend;
use stentor_serve::omp::{OmpArgs, OmpArgsError, OmpOptions, PrintError, print_events};
use stentor_serve::stdio::Pipes;
use stentor_tools::ASK;
use stentor_tools::web::FETCH;
use stentor_wire::attach::AttachRefusal;

use crate::args::{Args, AskArgs, LimitArgs, ModelArgs, SessionArgs};
use crate::attached_files::{AttachError, attached};
use crate::config::{Config, Sourced, ValueSource};
use crate::dialect::{Dialect, Invocation};
use crate::frontend::{
    FrontendError, PreparedFrontend, Start, exit_code, serve_frontend, take_pipes,
};
use crate::log::{self, PatientStderr};
use crate::logins::ModelLogins;
use crate::prompt_text::{PromptTextError, prompt_text};
use crate::session_places::{self, ClientFamily};
use crate::setup::{self, Defaults};

/// Why a client of omp or pi is not served.
#[derive(Debug, thiserror::Error)]
enum OmpError {
    #[error(transparent)]
    Args(#[from] OmpArgsError),
    #[error("only --mode rpc can be used with a server")]
    NotRpc,
    #[error(transparent)]
    Frontend(#[from] FrontendError),
    #[error("cannot use stdin: {0}")]
    Stdin(io::Error),
    #[error(transparent)]
    Prompt(#[from] PromptTextError),
    #[error(transparent)]
    Attach(#[from] AttachError),
    #[error(transparent)]
    Print(#[from] PrintError),
}

/// Serves a client of omp or pi, if the words ask for it.
pub fn run_if_meant(words: &[OsString]) -> Option<ExitCode> {
    let words = words.get(1..).unwrap_or_default();
    if !OmpArgs::are_meant(words) {
        return None;
    }
    let served = OmpArgs::parse(words)
        .map_err(OmpError::from)
        .and_then(|args| run(&args, words));
    Some(exit_code(served))
}

/// Sets up what a client of the server asks for with these flags.
pub fn for_client(flags: &[String], start: &Start) -> Result<PreparedFrontend, AttachRefusal> {
    let refused = |why: OmpError| AttachRefusal {
        message: why.to_string(),
        status: 1,
    };
    let mut words: Vec<OsString> = flags.iter().map(OsString::from).collect();
    if !OmpArgs::are_meant(&words) {
        let mode = ["--mode", "rpc"].map(OsString::from);
        words.splice(0..0, mode);
    }
    let args = OmpArgs::parse(&words).map_err(|error| refused(error.into()))?;
    if args.json || args.help {
        return Err(refused(OmpError::NotRpc));
    }
    let (agent, options, config) = prepare(&args, start).map_err(|why| refused(why.into()))?;
    Ok(PreparedFrontend::new(
        Frontend::Omp(agent, options),
        &config,
    ))
}

fn run(words: &OmpArgs, said: &[OsString]) -> Result<u8, OmpError> {
    if words.help {
        // Whoever asked may be gone.
        let _ = std::io::stdout().write_all(OmpArgs::HELP.as_bytes());
        return Ok(0);
    }
    log::to_stderr(if words.verbose { "info" } else { "warn" });
    let pipes = take_pipes()?;
    if !words.ignored.is_empty() {
        let _ = writeln!(
            PatientStderr,
            "stentor: ignored: {}",
            words.ignored.join(" ")
        );
    }
    let (agent, options, config) = prepare(words, &Start::of_process())?;
    match words.json {
        true => {
            let prompts = prompts(words, &options.cwd, &pipes)?;
            let printing = print_events(agent, pipes, options, prompts);
            Ok(serve_frontend(printing).map_err(FrontendError::from)??)
        }
        false => {
            let invocation = Invocation {
                dialect: Dialect::Omp,
                args: said.to_vec(),
            };
            let frontend = Frontend::Omp(agent, options);
            Ok(PreparedFrontend::new(frontend, &config).serve(pipes, &invocation)?)
        }
    }
}

fn prepare(words: &OmpArgs, start: &Start) -> Result<(Agent, OmpOptions, Config), FrontendError> {
    let cwd = start.working_folder(words.cwd.as_deref())?;
    let home = start.home();
    let mut flags = args(words).layer(&cwd, home.as_deref())?;
    if words.no_context_files {
        flags.context_files = Some(Sourced {
            value: false,
            source: ValueSource::Flag("--no-context-files".to_owned()),
        });
    }
    let config = setup::load_config(&cwd, &flags, &start.variables)?;
    let key = words.api_key.as_deref().zip(provider(words));
    let models = setup::models_with_key(&config, &flags, &cwd, key)?;
    let defaults = Defaults {
        rules: !words.no_rules,
        ..Defaults::new(flags, Arc::clone(&models), &config)
    };
    let family = match words.of_omp {
        true => ClientFamily::Omp,
        false => ClientFamily::Pi,
    };
    let files = session_places::of_client(&config, family, words.no_session);
    // What was kept before, or by another frontend, can be gone on with.
    let others = session_places::beside(&config, &files, words.no_session);
    let is_shared = files != session_places::own(&config.settings, words.no_session);
    let mut agent = setup::agent(&config, Arc::new(defaults), files).also_in(others);
    if is_shared {
        // pi does not look for pictures beside its files.
        agent = agent.with_inline_pictures();
    }
    let options = OmpOptions {
        cwd,
        model_asked_for: words.model.is_some() || words.provider.is_some(),
        home,
        resume: words.resume.clone(),
        models: words.models.clone(),
        name: words.name.clone(),
        wants_dialogs: words.wants_dialogs,
        login: Arc::new(ModelLogins(models)),
    };
    Ok((agent, options, config))
}

/// The prompts of the command line; what stdin says where there are none.
fn prompts(words: &OmpArgs, cwd: &Path, pipes: &Pipes) -> Result<Vec<Vec<ContentBlock>>, OmpError> {
    let mut messages = words.messages.clone();
    if messages.is_empty() {
        let stdin = pipes.stdin.try_clone().map_err(OmpError::Stdin)?;
        messages.push(prompt_text("-", false, &mut File::from(stdin))?.text);
    }
    let mut prompts = Vec::with_capacity(messages.len());
    for (n, message) in messages.iter().enumerate() {
        let files = if n == 0 { words.files.as_slice() } else { &[] };
        prompts.push(attached(cwd, files, message)?);
    }
    Ok(prompts)
}

/// The provider the command line names, by itself or with the model.
fn provider(words: &OmpArgs) -> Option<&str> {
    let of_model = || {
        words
            .model
            .as_deref()?
            .split_once('/')
            .map(|(provider, _)| provider)
    };
    words.provider.as_deref().or_else(of_model)
}

/// The same words as this program's own command line says them. What the originals know and this
/// program does not is left out, with a note.
fn args(words: &OmpArgs) -> Args {
    let thinking = words.thinking.as_deref().and_then(|level| {
        let level = if level == "max" { "xhigh" } else { level };
        let known = level.parse::<ThinkingLevel>().is_ok();
        if !known {
            tracing::warn!("unknown thinking level `{level}` is ignored");
        }
        known.then(|| level.to_owned())
    });
    let tools = words.tools.as_deref().map(|names| {
        let known = |name: &&str| {
            let known = stentor_tools::ALL_TOOLS.contains(name) || [FETCH, ASK].contains(name);
            if !known {
                tracing::warn!("unknown tool `{name}` is ignored");
            }
            known
        };
        let names: Vec<&str> = names.split(',').map(str::trim).filter(known).collect();
        names.join(",")
    });
    Args {
        command: None,
        ask: AskArgs::default(),
        model: ModelArgs {
            provider: words.provider.clone(),
            model: words.model.clone(),
            thinking,
            system_prompt: words.system_prompt.clone(),
            append_system_prompt: words.append_system_prompt.clone(),
        },
        session: SessionArgs {
            no_session: words.no_session,
            session_dir: words.session_dir.clone(),
            ..SessionArgs::default()
        },
        limits: LimitArgs {
            tools: tools.filter(|_| !words.no_tools),
            no_tools: words.no_tools,
            permission_mode: words.permission_mode.clone(),
            extension: words.extensions.clone(),
            no_extensions: words.no_extensions,
            no_mcp: words.no_mcp,
            no_skills: words.no_skills,
            no_prompt_templates: words.no_prompt_templates,
            ..LimitArgs::default()
        },
        verbose: words.verbose,
    }
}
