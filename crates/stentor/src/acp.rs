//! `stentor acp`: the Agent Client Protocol on stdin and stdout.

use std::ffi::OsString;
use std::fmt::Display;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Parser;
use stentor_model::login::Logins;
use stentor_policy::PermissionMode;
use stentor_serve::acp::{AcpLogin, AcpOptions, BaseFolders};
use stentor_serve::frontend::Frontend;
use stentor_serve::stdio::Pipes;
use stentor_wire::attach::AttachRefusal;

use crate::args::{Args, AttachFlag, CliCommand};
use crate::config::ConfigErrors;
use crate::dialect::{Dialect, Invocation};
use crate::frontend::{PreparedFrontend, Start};
use crate::logins::ModelLogins;
use crate::print::streams::usage_text;
use crate::relay;
use crate::session_places;
use crate::setup::{self, Defaults};

/// Exit status for a wrong command line or configuration.
const USAGE: u8 = 2;
/// Exit status for everything else that went wrong.
const FAILED: u8 = 1;

/// Serves the client that started this process, here or by a server. Returns the exit status.
pub fn serve(
    args: &Args,
    attach: Option<&AttachFlag>,
    words: &[OsString],
    pipes: Pipes,
) -> Result<u8, AttachRefusal> {
    let mut flags: Vec<OsString> = words.iter().skip(1).cloned().collect();
    if let Some(at) = flags.iter().position(|word| word == "acp") {
        flags.remove(at);
    }
    let invocation = Invocation {
        dialect: Dialect::Acp,
        args: flags,
    };
    if let Some(AttachFlag(socket)) = attach {
        let attached = relay::attach(socket.as_deref(), &invocation, pipes);
        return attached.map_err(failed);
    }
    let prepared = prepare(args, &Start::of_process())?;
    prepared.serve(pipes, &invocation).map_err(failed)
}

/// Sets up the agent that a client of the server asks for with these flags.
pub fn for_client(flags: &[String], start: &Start) -> Result<PreparedFrontend, AttachRefusal> {
    let words = ["stentor", "acp"].into_iter();
    let words = words.chain(flags.iter().map(String::as_str));
    let args = Args::try_parse_from(words).map_err(|error| AttachRefusal {
        status: u8::try_from(error.exit_code()).unwrap_or(USAGE),
        message: usage_text(error),
    })?;
    match args.command {
        Some(CliCommand::Acp { login: None, .. }) => prepare(&args, start),
        _ => Err(usage(
            "stentor: a client of the server speaks `stentor acp`",
        )),
    }
}

/// Sets up the agent.
pub fn prepare(args: &Args, start: &Start) -> Result<PreparedFrontend, AttachRefusal> {
    let cwd = args.session.cwd.as_deref();
    let cwd = start.working_folder(cwd).map_err(usage)?;
    let home = start.home();
    let flags = args.layer(&cwd, home.as_deref()).map_err(configured)?;
    let config = setup::load_config(&cwd, &flags, &start.variables).map_err(configured)?;
    let models = match &args.command {
        Some(CliCommand::Acp {
            agent: Some(command),
            ..
        }) => setup::models_with_agent(&config, &flags, &cwd, command),
        _ => setup::models(&config, &flags, &cwd),
    };
    let models = models.map_err(configured)?;
    let logins = ways_to_log_in(&models.logins());
    let defaults = Defaults {
        // Its clients show questions.
        permission_mode: PermissionMode::Ask,
        ..Defaults::new(flags, Arc::clone(&models), &config)
    };
    let files = session_places::own(&config.settings, args.session.no_session);
    let others = session_places::beside(&config, &files, args.session.no_session);
    let agent = setup::agent(&config, Arc::new(defaults), files).also_in(others);
    let options = AcpOptions {
        logins,
        login: Some(Arc::new(ModelLogins(models))),
        folders: BaseFolders {
            current: start.folder.canonicalize().ok(),
            home: start.variables.get("HOME").map(PathBuf::from),
        },
    };
    Ok(PreparedFrontend::new(
        Frontend::Acp(agent, options),
        &config,
    ))
}

fn configured(errors: ConfigErrors) -> AttachRefusal {
    let texts: Vec<String> = errors.0.iter().map(ToString::to_string).collect();
    usage(texts.join("\nstentor: "))
}

fn usage(why: impl Display) -> AttachRefusal {
    AttachRefusal {
        message: why.to_string(),
        status: USAGE,
    }
}

fn failed(why: impl Display) -> AttachRefusal {
    AttachRefusal {
        message: why.to_string(),
        status: FAILED,
    }
}

fn ways_to_log_in(logins: &Logins) -> Vec<AcpLogin> {
    // Where logins cannot be read, none can be made.
    let known = logins.status().unwrap_or_default().into_iter();
    known
        .map(|login| AcpLogin {
            arguments: vec!["--login".to_owned(), login.id.clone()],
            id: format!("login-{}", login.id),
            name: login.name,
        })
        .collect()
}
