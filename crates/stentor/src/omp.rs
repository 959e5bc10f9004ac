//! `stentor --mode rpc` and `--mode json`: in the place of omp or pi.

use std::ffi::OsString;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use stentor_agent::agent_folders::in_home;
use stentor_agent::dialog::{Dialog, DialogAnswer, DialogKind};
use stentor_agent::model::ThinkingLevel;
use stentor_journal::message::ContentBlock;
use stentor_model::login::{LoginError, LoginInput, Logins as ModelLogins};
use stentor_policy::PermissionMode;
use stentor_serve::omp::{
    LoginFuture, LoginProvider, LoginUi, Logins, OmpArgs, OmpOptions, Resume, print_events, serve,
};
use stentor_serve::stdio::{self, Pipes};
use stentor_tools::BuiltinTools;

use crate::args::{Args, AskArgs, LimitArgs, ModelArgs, SessionArgs};
use crate::attached_files::attached;
use crate::commands::ask::prompt_text;
use crate::config::{ConfigErrors, Source, Sourced, locate};
use crate::log::{self, PatientStderr};
use crate::models::Models;
use crate::notes::Notes;
use crate::session_places::{self, Family};
use crate::setup::{self, Defaults};
use crate::trust::question::Asking;

/// Exit status when the child cannot begin.
const FAILED: u8 = 1;

/// Serves a client of omp or pi, if the words ask for it.
pub fn run_if_meant(words: &[OsString]) -> Option<ExitCode> {
    let words = words.get(1..).unwrap_or_default();
    if !OmpArgs::are_meant(words) {
        return None;
    }
    let served = OmpArgs::parse(words)
        .map_err(|error| error.to_string())
        .and_then(run);
    Some(match served {
        Ok(status) => ExitCode::from(status),
        Err(message) => {
            let _ = writeln!(PatientStderr, "{message}");
            ExitCode::from(FAILED)
        }
    })
}

fn run(words: OmpArgs) -> Result<u8, String> {
    if words.help {
        // Whoever asked may be gone.
        let _ = std::io::stdout().write_all(OmpArgs::HELP.as_bytes());
        return Ok(0);
    }
    log::to_stderr(if words.verbose { "info" } else { "warn" });
    let pipes = stdio::take().map_err(|error| format!("cannot use stdin and stdout: {error}"))?;
    if !words.ignored.is_empty() {
        let _ = writeln!(
            PatientStderr,
            "stentor: ignored: {}",
            words.ignored.join(" ")
        );
    }
    let cwd = setup::working_folder(words.cwd.as_deref())?;
    let home = locate::places(&setup::variable, locate::Platform::HERE).home;
    let said = |errors: ConfigErrors| errors.to_string();
    let mut flags = args(&words).layer(&cwd, home.as_deref()).map_err(said)?;
    if words.no_context_files {
        flags.context_files = Some(Sourced {
            value: false,
            source: Source::Flag("--no-context-files".to_owned()),
        });
    }
    let config = setup::load_config(&cwd, &flags).map_err(said)?;
    let key = words.api_key.as_deref().zip(provider(&words));
    let models = setup::models_with_key(&config, &flags, &cwd, key).map_err(said)?;
    let defaults = Defaults {
        flags,
        models: Arc::clone(&models),
        // The originals ask nothing; who wants to be asked says so.
        permission_mode: PermissionMode::All,
        subagents: true,
        rules: !words.no_rules,
        tools: BuiltinTools::default(),
        mcp: models.mcp_servers(),
        notes: Notes::of(&config, false),
        trust: Asking::beside(),
        clock: setup::system_clock(),
    };
    let family = match words.of_omp {
        true => Family::Omp,
        false => Family::Pi,
    };
    let files = session_places::of_client(&config, family, words.no_session);
    // What was kept before, or by another frontend, can be gone on with.
    let own = session_places::own(&config.settings, words.no_session);
    let is_shared = files != own;
    let mut agent = setup::agent(&config, Arc::new(defaults), files).also_in(vec![own]);
    if is_shared {
        // pi does not look for pictures beside its files.
        agent = agent.with_inline_pictures();
    }
    let options = OmpOptions {
        cwd,
        model_asked_for: words.model.is_some() || words.provider.is_some(),
        resume: match words.resume.clone() {
            Resume::Named(name) => {
                let path = in_home(PathBuf::from(name), home.as_deref());
                Resume::Named(path.to_string_lossy().into_owned())
            }
            resume @ (Resume::New | Resume::Last) => resume,
        },
        models: words.models.clone(),
        name: words.name.clone(),
        logins: Arc::new(ProgramLogins { models }),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| format!("cannot start the runtime: {error}"))?;
    let status = match words.json {
        true => {
            let prompts = prompts(&words, &options.cwd, &pipes)?;
            let printed = runtime.block_on(print_events(agent, pipes, options, prompts));
            printed.map_err(|error| error.to_string())?
        }
        false => runtime.block_on(serve(agent, pipes, options)),
    };
    // Nothing that still blocks may hold up the end: everything that counts is on disk.
    runtime.shutdown_background();
    Ok(status)
}

/// The prompts of the command line; what stdin says where there are none.
fn prompts(words: &OmpArgs, cwd: &Path, pipes: &Pipes) -> Result<Vec<Vec<ContentBlock>>, String> {
    let mut messages = words.messages.clone();
    if messages.is_empty() {
        let stdin = pipes.stdin.try_clone();
        let stdin = stdin.map_err(|error| format!("cannot use stdin: {error}"))?;
        messages.push(prompt_text("-", false, &mut File::from(stdin))?);
    }
    let mut prompts = Vec::with_capacity(messages.len());
    for (n, message) in messages.iter().enumerate() {
        let files = if n == 0 { words.files.as_slice() } else { &[] };
        let prompt = attached(cwd, files, message).map_err(|error| error.to_string())?;
        prompts.push(prompt);
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
            let known = stentor_tools::ALL_TOOLS.contains(name);
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
            no_skills: words.no_skills,
            no_prompt_templates: words.no_prompt_templates,
            ..LimitArgs::default()
        },
        verbose: words.verbose,
    }
}

/// The program's logins, as the dialect wants them.
struct ProgramLogins {
    models: Arc<Models>,
}

impl Logins for ProgramLogins {
    fn providers(&self) -> Vec<LoginProvider> {
        let status = match self.models.logins().status() {
            Ok(status) => status,
            Err(error) => {
                tracing::warn!("{error}");
                return Vec::new();
            }
        };
        let providers = status.into_iter().map(|one| LoginProvider {
            id: one.id,
            name: one.name,
            available: true,
            authenticated: one.logged_in,
        });
        providers.collect()
    }

    fn login<'a>(&'a self, provider: &'a str, ui: &'a dyn LoginUi) -> LoginFuture<'a> {
        let logins = self.models.logins();
        Box::pin(async move {
            login(&logins, provider, ui)
                .await
                .map_err(|error| error.to_string())
        })
    }
}

async fn login(logins: &ModelLogins, provider: &str, ui: &dyn LoginUi) -> Result<(), LoginError> {
    let step = logins.begin(provider).await?;
    ui.open_url(&step.url, Some(&step.instructions));
    if let Some(code) = &step.user_code {
        ui.progress(&format!("Type this code there: {code}"));
    }
    let paste = Dialog {
        title: format!("{} Paste it here.", step.instructions),
        kind: DialogKind::Input {
            placeholder: Some("code".to_owned()),
        },
        timeout_ms: None,
    };
    let asked = ui.ask(paste);
    if step.uses_callback_server || step.user_code.is_some() {
        tokio::select! {
            done = logins.complete(provider, LoginInput::Wait) => done.map(drop),
            answer = asked => pasted(logins, provider, answer).await,
        }
    } else {
        pasted(logins, provider, asked.await).await
    }
}

/// What the person gave, if it was not to end the login.
async fn pasted(
    logins: &ModelLogins,
    provider: &str,
    answer: DialogAnswer,
) -> Result<(), LoginError> {
    match answer {
        DialogAnswer::Value(text) => {
            let done = logins.complete(provider, LoginInput::Pasted(text)).await;
            done.map(drop)
        }
        DialogAnswer::Confirmed(_) | DialogAnswer::Nothing => {
            logins.cancel(provider);
            Err(LoginError::Cancelled {
                provider: provider.to_owned(),
            })
        }
    }
}
