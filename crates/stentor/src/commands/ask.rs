//! `stentor -p`: one prompt, one answer.

use std::fs::File;
use std::io::{self, BufReader, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use stentor_agent::agent::{Agent, NewSession};
use stentor_agent::event::EventKind;
use stentor_agent::hub::Subscription;
use stentor_agent::session::Session;
use stentor_journal::message::ContentBlock;
use stentor_serve::signals::{EndSignal, EndSignals};
use tokio::time::timeout;

use crate::args::SessionArgs;
use crate::commands::pick_session::pick;
use crate::print::{PrintOptions, Printer};

/// A prompt is typed or generated, never this long.
const LONGEST_PROMPT_BYTES: u64 = 16 * 1024 * 1024;

/// How long the session may take to stop its tools and save.
const CLOSING: Duration = Duration::from_secs(5);

/// What one prompt needs.
pub struct Ask<'a> {
    pub agent: &'a Agent,
    pub cwd: &'a Path,
    pub prompt: String,
    pub session: &'a SessionArgs,
    /// The model was asked for, so a resumed session takes it instead of its own.
    pub model_asked_for: bool,
    pub print: PrintOptions,
}

/// The text of the prompt: what was given, or what stdin says, or both.
pub fn prompt_text(given: &str, add_stdin: bool, stdin: &mut File) -> Result<String, String> {
    if given != "-" && !add_stdin {
        return Ok(given.to_owned());
    }
    if stdin.is_terminal() && given == "-" {
        return Err("no prompt: give one with -p \"...\", or pipe it in".to_owned());
    }
    let mut bytes = Vec::new();
    stdin
        .take(LONGEST_PROMPT_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| format!("cannot read the prompt from stdin: {error}"))?;
    if bytes.len() as u64 > LONGEST_PROMPT_BYTES {
        return Err(format!(
            "the prompt on stdin is longer than {LONGEST_PROMPT_BYTES} bytes; name a file in the prompt instead"
        ));
    }
    let piped = String::from_utf8_lossy(&bytes);
    let text = match given {
        "-" => piped.into_owned(),
        given => format!("{given}\n\n{piped}"),
    };
    match text.trim() {
        "" => Err("the prompt is empty".to_owned()),
        text => Ok(text.to_owned()),
    }
}

impl Ask<'_> {
    /// Asks and prints until nothing follows any more. Returns the exit status.
    pub async fn run(self, out: &mut impl Write, err: &mut impl Write) -> Result<u8, String> {
        let session = self.open_session()?;
        let told = session.set_can_ask(false).await;
        told.map_err(|error| error.to_string())?;
        let events = session.subscribe();
        let signals =
            EndSignals::listen().map_err(|error| format!("cannot listen for signals: {error}"))?;
        let blocks = vec![ContentBlock::text(self.prompt.clone())];
        let blocks = session.expand(blocks).await;
        let blocks = blocks.map_err(|error| error.to_string())?;
        let state = session.state().await.map_err(|error| error.to_string())?;
        let accepted = session.prompt(blocks).await;
        drop(accepted.map_err(|error| error.to_string())?);
        let printer = Printer::new(self.print);
        let ending = match printer.on_start(&state, out) {
            Ok(()) => follow(&session, events, signals, printer, out, err).await,
            Err(error) => Err(error),
        };
        if timeout(CLOSING, session.close()).await.is_err() {
            tracing::warn!("the session did not end in time");
        }
        match ending {
            Ok(status) => Ok(status),
            // Whoever reads has seen enough.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(0),
            Err(error) => Err(format!("cannot print the answer: {error}")),
        }
    }

    fn open_session(&self) -> Result<Session, String> {
        let mut options = self.agent.options(self.cwd).map_err(|e| e.to_string())?;
        let file = match (&self.session.resume, self.session.continue_last) {
            (Some(wanted), _) if wanted.is_empty() => Some(self.pick()?),
            (Some(wanted), _) => Some(self.agent.find(wanted).map_err(|e| e.to_string())?),
            (None, true) => {
                let mut newest = self.agent.newest_first(Some(self.cwd));
                let usable = newest.find(|session| session.problem.is_none());
                let found = usable.map(|session| session.path);
                Some(found.ok_or("there is no session of this folder to continue")?)
            }
            (None, false) => None,
        };
        let session = match file {
            None => self.agent.start_with(options, NewSession::default()),
            Some(file) => {
                if !self.model_asked_for {
                    options.prefer_stored_model();
                }
                self.agent.resume(&file, options)
            }
        };
        session.map_err(|error| error.to_string())
    }
}

impl Ask<'_> {
    /// The session that the person at the terminal chooses.
    fn pick(&self) -> Result<PathBuf, String> {
        let tty = File::open("/dev/tty")
            .ok()
            .filter(|_| io::stderr().is_terminal());
        let Some(tty) = tty else {
            return Err("--resume needs an id here; `stentor sessions` lists them".to_owned());
        };
        let newest = self.agent.newest_first(Some(self.cwd));
        let picked = pick(newest, &mut BufReader::new(tty), &mut io::stderr());
        let picked = picked.map_err(|error| format!("cannot ask: {error}"))?;
        picked.ok_or_else(|| "no session was chosen".to_owned())
    }
}

/// Prints events until the session is settled. A signal stops the run, a second one the program.
async fn follow(
    session: &Session,
    mut events: Subscription,
    signals: EndSignals,
    mut printer: Printer,
    out: &mut impl Write,
    err: &mut impl Write,
) -> io::Result<u8> {
    let stopped = Arc::new(OnceLock::new());
    tokio::spawn(stop_by_signals(
        signals,
        session.clone(),
        Arc::clone(&stopped),
    ));
    while let Some(event) = events.next().await {
        printer.on_event(&event, out, err)?;
        if let EventKind::Settled { .. } = event.kind {
            break;
        }
    }
    let status = printer.exit_code();
    Ok(stopped
        .get()
        .map_or(status, |signal: &EndSignal| signal.exit_code()))
}

/// Stops the run at the first signal and the program at the second. Printing may have to wait for
/// a reader that sleeps, so this is a task of its own.
async fn stop_by_signals(
    mut signals: EndSignals,
    session: Session,
    stopped: Arc<OnceLock<EndSignal>>,
) {
    let first = signals.next().await;
    stopped.set(first).ok();
    tokio::spawn(async move { session.abort().await });
    signals.next().await;
    // What was said is on disk, and the processes of tools end with this one.
    std::process::exit(first.exit_code().into());
}
