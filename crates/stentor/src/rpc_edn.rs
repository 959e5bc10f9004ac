//! `stentor --rpc-edn`: the backend of psi's Emacs frontend. Also `stentor rpc --dialect psi`.
//!
//! Users put flags into their frontend's command list, so the original's flags are taken, and a
//! flag nobody knows is a note on stderr and not the end.

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use stentor_serve::frontend::{Frontend, Storing};
use stentor_serve::psi::PsiOptions;
use stentor_wire::attach::AttachRefusal;

use crate::config::error::{ConfigError, ConfigErrors};
use crate::config::value::{RawSetting, WrittenValue};
use crate::config::{Layer, ValueSource};
use crate::default_model::ConfiguredModel;
use crate::dialect::{Dialect, Invocation};
use crate::frontend::{FrontendError, PreparedFrontend, Start, exit_code, take_pipes};
use crate::log;
use crate::logins::ModelLogins;
use crate::notes::NoteStores;
use crate::session_places;
use crate::setup::{self, Defaults};

/// The flags that set something in the configuration.
const SETTINGS: [(&str, &str); 9] = [
    ("--model", "model"),
    ("--provider", "provider"),
    ("--thinking-level", "thinking"),
    ("--thinking", "thinking"),
    ("--session-dir", "session_dir"),
    ("--tools", "tools"),
    ("--permission-mode", "permission_mode"),
    ("--system-prompt", "system_prompt"),
    ("--append-system-prompt", "append_system_prompt"),
];

/// What `--help` prints.
const HELP: &str = "\
Serve psi's Emacs frontend over stdin and stdout, in EDN.

Usage: stentor --rpc-edn [OPTIONS]

Options:
      --model MODEL                 The model: ID or PROVIDER/ID
      --provider NAME               The provider of the model
      --thinking-level LEVEL        How much the model may think (also --thinking)
      --cwd DIR                     The working folder
      --resume ID|FILE              Resume a stored session
      --no-session                  Do not store sessions on disk
      --session-dir DIR             The folder for session files
      --tools NAMES                 The tools the model may use, separated by commas
      --no-mcp                      Do not start the configured MCP servers
      --permission-mode MODE        What may run without asking
      --system-prompt TEXT          Replace the built-in system prompt
      --append-system-prompt TEXT   Append text to the system prompt
      --llm-idle-timeout-ms MS      How long a model may be silent
      --rpc-trace-file FILE         Write all frames to a file
      --log-level LEVEL             What goes to stderr: error, warn, info or debug
  -h, --help                        Print help

Flags that psi has and Stentor does not need are accepted and ignored. See docs/psi.md.
";

/// The original's environment.
const VARIABLES: [(&str, &str); 2] = [("PSI_MODEL", "model"), ("PSI_THINKING_LEVEL", "thinking")];

/// What the command line says.
#[derive(Debug, Default, PartialEq, Eq)]
struct CommandLine {
    /// Flag, key, value.
    settings: Vec<(String, &'static str, String)>,
    cwd: Option<PathBuf>,
    resume: Option<String>,
    trace_file: Option<PathBuf>,
    log_level: Option<String>,
    /// How long a model may say nothing.
    idle_timeout_ms: Option<u64>,
    no_session: bool,
    /// What is worth a note on stderr.
    notes: Vec<String>,
}

/// Runs the backend if the words ask for it.
pub fn run_if_meant(words: &[OsString]) -> Option<ExitCode> {
    let rest = words.get(1..)?;
    let rest: Vec<&str> = rest.iter().filter_map(|word| word.to_str()).collect();
    let is_psi = rest.contains(&"--rpc-edn")
        || (rest.first() == Some(&"rpc")
            && (rest.contains(&"--dialect=psi")
                || rest.windows(2).any(|pair| pair == ["--dialect", "psi"])));
    if !is_psi {
        return None;
    }
    if rest.iter().any(|word| matches!(*word, "--help" | "-h")) {
        // A closed pipe is nobody's problem.
        let _ = std::io::stdout().write_all(HELP.as_bytes());
        return Some(ExitCode::SUCCESS);
    }
    let command_line = read_command_line(&rest);
    log::to_stderr(command_line.log_level.as_deref().unwrap_or("warn"));
    for note in &command_line.notes {
        tracing::warn!("{note}");
    }
    let served = serve(command_line, words.get(1..).unwrap_or_default());
    Some(exit_code(served.map_err(|why| format!("stentor: {why}"))))
}

/// Sets up the backend that a client of the server asks for with these flags.
pub fn for_client(flags: &[String], start: &Start) -> Result<PreparedFrontend, AttachRefusal> {
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let command_line = read_command_line(&flags);
    for note in &command_line.notes {
        tracing::warn!("{note}");
    }
    prepare(command_line, start).map_err(|why| AttachRefusal {
        message: format!("stentor: {why}"),
        status: 1,
    })
}

fn read_command_line(words: &[&str]) -> CommandLine {
    let mut read = CommandLine::default();
    let mut rest = words.iter().copied().peekable();
    while let Some(word) = rest.next() {
        let (flag, inline) = match word.split_once('=') {
            Some((flag, value)) if word.starts_with("--") => (flag, Some(value)),
            _ => (word, None),
        };
        let mut value = || {
            let next = inline.or_else(|| rest.next_if(|next| !next.starts_with("--")));
            next.map(str::to_owned)
        };
        if let Some((_, key)) = SETTINGS.iter().find(|(name, _)| *name == flag) {
            match value() {
                Some(value) => read.settings.push((flag.to_owned(), key, value)),
                None => read.notes.push(format!("{flag} needs a value; ignored")),
            }
            continue;
        }
        match flag {
            "--rpc-edn" | "rpc" => {}
            "--dialect" => drop(value()),
            "--cwd" => read.cwd = value().map(PathBuf::from),
            "--resume" => read.resume = value(),
            "--rpc-trace-file" => read.trace_file = value().map(PathBuf::from),
            "--log-level" => read.log_level = value().map(|level| level.to_lowercase()),
            "--no-session" => read.no_session = true,
            "--no-mcp" => {
                let none = (flag.to_owned(), "use_mcp_servers", "false".to_owned());
                read.settings.push(none);
            }
            "--nrepl" => {
                value();
                read.notes
                    .push("--nrepl is not available; ignored".to_owned());
            }
            "--llm-idle-timeout-ms" => match value().and_then(|text| text.parse().ok()) {
                Some(ms) => read.idle_timeout_ms = Some(ms),
                None => read
                    .notes
                    .push(format!("{flag} needs a number of milliseconds; ignored")),
            },
            flag if flag.starts_with("--memory-") => {
                value();
                read.notes.push(format!("{flag} is not supported; ignored"));
            }
            other => read.notes.push(format!("unknown flag {other}; ignored")),
        }
    }
    read
}

fn serve(command_line: CommandLine, words: &[OsString]) -> Result<u8, FrontendError> {
    let pipes = take_pipes()?;
    let prepared = prepare(command_line, &Start::of_process())?;
    let invocation = Invocation {
        dialect: Dialect::Psi,
        args: words.to_vec(),
    };
    prepared.serve(pipes, &invocation)
}

fn prepare(command_line: CommandLine, start: &Start) -> Result<PreparedFrontend, FrontendError> {
    let cwd = start.working_folder(command_line.cwd.as_deref())?;
    let flags = layer(&command_line, &cwd, start)?;
    let config = setup::load_config(&cwd, &flags, &start.variables)?;
    let idle_timeout_ms = command_line.idle_timeout_ms.filter(|ms| *ms > 0);
    let models = setup::models_with(&config, &flags, &cwd, move |sources| {
        let limits = &mut sources.http.limits;
        limits.silence_ms = idle_timeout_ms.unwrap_or(limits.silence_ms);
    })?;
    let notes = NoteStores::of(&config, true);
    let files = session_places::own(&config.settings, command_line.no_session);
    let default_model = ConfiguredModel {
        flags: flags.clone(),
        variables: start.variables.clone(),
        models: Arc::clone(&models),
    };
    let defaults = Defaults {
        notes: notes.clone(),
        ..Defaults::new(flags, Arc::clone(&models), &config)
    };
    let others = session_places::beside(&config, &files, command_line.no_session);
    let mut agent = setup::agent(&config, Arc::new(defaults), files).also_in(others);
    if let Some(Storing { files, journals }) = start.storing.clone() {
        agent = agent.storing_in(files, journals);
    }
    let mut options = PsiOptions::new(&cwd);
    options.resume = match &command_line.resume {
        Some(wanted) => Some(agent.find(wanted)?),
        None => None,
    };
    options.home.clone_from(&config.places.home);
    options.memory = notes.store;
    options.login = Some(Arc::new(ModelLogins(models)));
    options.default_model_store = Some(Arc::new(default_model));
    let trace_file = command_line.trace_file;
    options.trace_file = trace_file.map(|file| start.folder.join(file));
    Ok(PreparedFrontend::new(
        Frontend::Psi(agent, options),
        &config,
    ))
}

/// What the flags and the original's variables say about the configuration.
fn layer(command_line: &CommandLine, cwd: &Path, start: &Start) -> Result<Layer, ConfigErrors> {
    let home = start.home();
    let mut layer = Layer::default();
    let mut errors = Vec::new();
    let mut set = |key: &str, text: &str, source: ValueSource| {
        let input = WrittenValue {
            raw: RawSetting::Text(text),
            source,
            base: cwd,
            home: home.as_deref(),
        };
        if let Some(Err(problem)) = layer.set(key, &input) {
            errors.push(ConfigError::BadValue {
                at: input.source,
                key: key.to_owned(),
                problem,
            });
        }
    };
    for (name, key) in VARIABLES {
        if let Some(value) = start.variables.get(name).filter(|value| !value.is_empty()) {
            let source = ValueSource::Environment(name.to_owned());
            set(key, &value.to_string_lossy(), source);
        }
    }
    for (flag, key, value) in &command_line.settings {
        set(key, value, ValueSource::Flag(flag.clone()));
    }
    if errors.is_empty() {
        Ok(layer)
    } else {
        Err(ConfigErrors(errors))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_originals_flags_are_taken_and_unknown_ones_noted() {
        let read = read_command_line(&[
            "--rpc-edn",
            "--model",
            "script/a.toml",
            "--thinking-level=high",
            "--nrepl",
            "7888",
            "--rpc-trace-file",
            "t.edn",
            "--memory-store",
            "x",
            "--llm-idle-timeout-ms",
            "9000",
            "--llm-idle-timeout-ms=soon",
            "--what",
        ]);
        let expected = CommandLine {
            settings: vec![
                ("--model".into(), "model", "script/a.toml".into()),
                ("--thinking-level".into(), "thinking", "high".into()),
            ],
            trace_file: Some("t.edn".into()),
            idle_timeout_ms: Some(9000),
            notes: vec![
                "--nrepl is not available; ignored".into(),
                "--memory-store is not supported; ignored".into(),
                "--llm-idle-timeout-ms needs a number of milliseconds; ignored".into(),
                "unknown flag --what; ignored".into(),
            ],
            ..CommandLine::default()
        };
        assert_eq!(read, expected);
    }
}
