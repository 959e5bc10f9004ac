//! Keeps an extension running: starts it, watches it, starts it again, gives it up.

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use stentor_agent::tasks;
use stentor_wire::extension::{
    AgentInfo, InitializeParams, InitializeResult, PROTOCOL_VERSION, SessionEndParams, SessionInfo,
    method,
};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use super::connection::ExtensionConnection;
use super::handle::{Extension, ExtensionState, LiveExtension};
use super::incoming::ExtensionMessages;
use super::limits::{LINE_BYTES, PATIENCE_AFTER_EXIT};
use super::ordered_output::OrderedOutput;
use super::registered::{InitializeError, Registration};
use super::spec::ExtensionSpec;
use super::ui::ShownUi;
use crate::json_rpc_child::{
    ChildProcess, ChildSpec, GRACE, LongLine, MessageInbox, NotSent, RequestError, Restarts,
    StderrTail, read_lines, wait_until_needed, write_lines,
};

/// How one process of an extension ended.
enum ExtensionEnding {
    /// The session is over.
    Over,
    /// It failed, at this and for this reason.
    Failed { at: &'static str, why: String },
}

/// Keeps the extension running until the session is over or it is disabled.
pub(super) async fn run(extension: Arc<Extension>) {
    if !wait_until_needed(&extension.needed, &extension.over).await {
        return;
    }
    let mut restarts = Restarts::new(extension.spec.restart);
    let mut restarted = false;
    loop {
        restarts.starts();
        let (at, why) = match run_once(&extension, restarted).await {
            ExtensionEnding::Over => return,
            ExtensionEnding::Failed { at, why } => (at, why),
        };
        restarted = true;
        let Some(delay) = restarts.failed() else {
            let often = match restarts.failures {
                1 => "once".to_owned(),
                failures => format!("{failures} times in a row"),
            };
            extension.failed(at, &format!("{why}; it failed {often} and is disabled"));
            extension.set_state(ExtensionState::Disabled(why.into()));
            return;
        };
        extension.failed(
            at,
            &format!("{why}; it is started again in {} ms", delay.as_millis()),
        );
        extension.set_state(ExtensionState::Broken(why.into()));
        tokio::select! {
            () = sleep(delay) => {}
            () = extension.over.cancelled() => return,
        }
    }
}

/// Why a process of an extension is of no use from the beginning.
#[derive(Debug, thiserror::Error)]
pub(super) enum StartError {
    #[error("`{program}` could not be started: {error}")]
    NotStarted { program: String, error: io::Error },
    #[error("{0}")]
    Ended(String),
    #[error(transparent)]
    Request(#[from] RequestError),
    #[error(transparent)]
    Registration(#[from] InitializeError),
}

/// A process of an extension and everything that works for it.
pub(super) struct AttachedProcess {
    process: ChildProcess,
    stderr: StderrTail,
    pub connection: Arc<ExtensionConnection>,
    reading: JoinHandle<()>,
    ui: Arc<Mutex<ShownUi>>,
}

impl AttachedProcess {
    /// Starts a process and has it read and written to.
    pub async fn start(extension: &Arc<Extension>) -> Result<Self, StartError> {
        let stderr = StderrTail::default();
        let spec = child_spec(&extension.spec, &extension.port.cwd);
        let started = ChildProcess::start(spec, &stderr).await;
        let (process, stdin, stdout) = started.map_err(|error| StartError::NotStarted {
            program: extension.spec.command.first().cloned().unwrap_or_default(),
            error,
        })?;
        let (connection, outgoing) = ExtensionConnection::new();
        tasks::spawn(write_lines(outgoing, stdin));
        let connection = Arc::new(connection);
        let (output, writing_output) = OrderedOutput::new(Arc::clone(&extension.port));
        tasks::spawn(writing_output);
        let ui = ShownUi::new(extension.name(), Arc::clone(&output));
        let ui = Arc::new(Mutex::new(ui));
        let incoming = ExtensionMessages::new(
            Arc::clone(extension),
            Arc::clone(&connection),
            Arc::clone(&ui),
            output,
        );
        let interval = extension.spec.message_interval;
        let inbox = MessageInbox::new(Arc::clone(&connection.peer), incoming, interval);
        let reading = read_lines(stdout, inbox, LINE_BYTES, LongLine::IsSkipped);
        Ok(Self {
            process,
            stderr,
            connection,
            reading: tasks::spawn(reading),
            ui,
        })
    }

    /// Introduces the session and learns what the extension brings.
    pub async fn initialize(
        &mut self,
        extension: &Extension,
        restarted: bool,
    ) -> Result<Registration, StartError> {
        let params = InitializeParams {
            protocol_version: PROTOCOL_VERSION,
            agent: AgentInfo {
                name: "stentor".to_owned(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
            },
            extension: extension.name().to_owned(),
            session: SessionInfo {
                id: extension.port.session_id.to_string(),
                cwd: extension.port.cwd.display().to_string(),
                resumed: extension.port.resumed,
                restarted,
            },
        };
        let limit = extension.spec.start_timeout;
        let asked =
            self.connection
                .request::<InitializeResult>(method::INITIALIZE, &params, Some(limit));
        let answered = tokio::select! {
            biased;
            answered = asked => answered,
            why = ended(&mut self.process, &mut self.reading) => return Err(StartError::Ended(why)),
        };
        let result = match answered {
            Ok(result) => result,
            // It is about to be seen why.
            Err(RequestError::Gone) => {
                let given_up = self.connection.peer.given_up();
                return Err(given_up.map_or(RequestError::Gone.into(), StartError::Ended));
            }
            Err(error) => return Err(error.into()),
        };
        let allowed = extension.spec.events.as_deref();
        Ok(Registration::from_initialize(result, allowed)?)
    }

    /// Waits until the extension is of no use any more. Returns why.
    async fn broken(&mut self) -> String {
        tokio::select! {
            biased;
            why = ended(&mut self.process, &mut self.reading) => why,
            () = self.connection.peer.closed() => {
                self.connection.peer.given_up().unwrap_or_default()
            }
        }
    }

    /// Lets it end by itself for a moment, then ends it.
    pub async fn end_gently(mut self, extension: &Extension) {
        let grace_ms = u64::try_from(GRACE.as_millis()).unwrap_or(u64::MAX);
        let outbox = &self.connection.peer.outbox;
        let notified = outbox.notify(method::SESSION_END, &SessionEndParams { grace_ms });
        if notified.and_then(|()| outbox.finish()).is_ok() {
            let _ = timeout(GRACE, self.process.ended()).await;
        }
        self.end(extension).await;
    }

    /// Ends it. Why it failed, and the last line it wrote to stderr.
    pub async fn end_with_stderr(self, extension: &Extension, why: String) -> String {
        let stderr = self.stderr.clone();
        self.end(extension).await;
        stderr.closed().await;
        match stderr.last_line() {
            Some(line) => format!("{why}; it said: {line}"),
            None => why,
        }
    }

    async fn end(self, extension: &Extension) {
        self.connection.peer.close();
        self.process.end().await;
        self.reading.abort();
        let mut ui = self.ui.lock().unwrap_or_else(PoisonError::into_inner);
        ui.clear(&extension.port);
    }
}

fn child_spec(spec: &ExtensionSpec, cwd: &Path) -> ChildSpec {
    let mut words = spec.command.iter().cloned();
    let mut env = spec.env.clone();
    env.push(("STENTOR_EXTENSION".to_owned(), spec.name.clone()));
    ChildSpec {
        program: words.next().unwrap_or_default().into(),
        args: words.collect(),
        env,
        cwd: spec.cwd.clone().unwrap_or_else(|| cwd.to_owned()),
        launcher: spec.launcher.clone(),
    }
}

/// Resolves when the process has ended and what it wrote has been read. Returns how it ended.
async fn ended(process: &mut ChildProcess, reading: &mut JoinHandle<()>) -> String {
    let status = process.ended().await;
    // What it started may hold the pipe open.
    let _ = timeout(PATIENCE_AFTER_EXIT, reading).await;
    match status {
        Ok(status) => format!("it ended ({status})"),
        Err(error) => format!("it cannot be watched: {error}"),
    }
}

async fn run_once(extension: &Arc<Extension>, restarted: bool) -> ExtensionEnding {
    let mut attached = match AttachedProcess::start(extension).await {
        Ok(attached) => attached,
        Err(error) => {
            let why = error.to_string();
            return ExtensionEnding::Failed { at: "start", why };
        }
    };
    let registered = tokio::select! {
        registered = attached.initialize(extension, restarted) => registered,
        () = extension.over.cancelled() => {
            attached.end(extension).await;
            return ExtensionEnding::Over;
        }
    };
    let (at, why) = match registered {
        Err(error) => ("start", error.to_string()),
        Ok(registered) => {
            extension.tell_problems(&registered);
            let hears_events = !registered.events.is_empty();
            let live = Arc::new(LiveExtension::new(
                Arc::clone(&attached.connection),
                registered,
            ));
            let forwarding = hears_events
                .then(|| tasks::spawn(forward(Arc::clone(extension), Arc::clone(&live))));
            extension.set_state(ExtensionState::Ready(live));
            let broken = tokio::select! {
                why = attached.broken() => Some(why),
                () = extension.over.cancelled() => None,
            };
            if let Some(forwarding) = forwarding {
                forwarding.abort();
            }
            match broken {
                Some(why) => ("run", why),
                None => {
                    attached.end_gently(extension).await;
                    return ExtensionEnding::Over;
                }
            }
        }
    };
    let why = attached.end_with_stderr(extension, why).await;
    ExtensionEnding::Failed { at, why }
}

/// Tells the extension of the events it asked for. Never waits for it: what it has no room for is
/// dropped.
async fn forward(extension: Arc<Extension>, live: Arc<LiveExtension>) {
    let Some(mut events) = extension.port.subscribe() else {
        return;
    };
    let mut was_too_slow = false;
    while let Some(event) = events.next().await {
        if !live
            .registered()
            .hears(super::events::event_name(&event.kind))
        {
            continue;
        }
        let params = (extension.encode)(&event);
        match live.connection.peer.outbox.notify(method::EVENT, &params) {
            Ok(()) => {}
            Err(NotSent::Gone) => return,
            Err(NotSent::Full | NotSent::TooLong) => {
                if !was_too_slow {
                    was_too_slow = true;
                    let why = "it reads too slowly; events were dropped";
                    extension.failed(method::EVENT, why);
                }
            }
        }
    }
}
