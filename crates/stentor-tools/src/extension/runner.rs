//! Keeps an extension running: starts it, watches it, starts it again, gives it up.

use std::sync::{Arc, Mutex, PoisonError};

use stentor_wire::extension::{
    AgentInfo, InitializeParams, InitializeResult, PROTOCOL_VERSION, SessionEndParams, SessionInfo,
    method,
};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

use super::connection::{Connection, Fault};
use super::incoming::Reader;
use super::limits::{GRACE, PATIENCE_AFTER_EXIT, START_DELAY, STEADY};
use super::one::{Extension, Live, State};
use super::outbox::{NotSent, Outbox};
use super::process::{Process, ProcessPipes};
use super::registered::Registered;
use super::shown::Showcase;
use super::turns::Turns;

/// How one process of an extension ended.
enum Ending {
    /// The session is over.
    Over,
    /// It failed, at this and for this reason.
    Failed { at: &'static str, why: String },
}

/// Keeps the extension running until the session is over or it is disabled.
pub(super) async fn run(extension: Arc<Extension>) {
    tokio::select! {
        () = extension.needed.notified() => {}
        () = sleep(START_DELAY) => {}
        () = extension.over.cancelled() => return,
    }
    let mut failures = 0;
    let mut restarted = false;
    loop {
        let began = Instant::now();
        let (at, why) = match run_once(&extension, restarted).await {
            Ending::Over => return,
            Ending::Failed { at, why } => (at, why),
        };
        if began.elapsed() >= STEADY {
            failures = 0;
        }
        failures += 1;
        restarted = true;
        let Some(delay) = extension.spec.restart.delay_after(failures) else {
            let often = if failures == 1 {
                "once".to_owned()
            } else {
                format!("{failures} times in a row")
            };
            extension.failed(at, &format!("{why}; it failed {often} and is disabled"));
            extension.set_state(State::Disabled(why.into()));
            return;
        };
        extension.failed(
            at,
            &format!("{why}; it is started again in {} ms", delay.as_millis()),
        );
        extension.set_state(State::Broken(why.into()));
        tokio::select! {
            () = sleep(delay) => {}
            () = extension.over.cancelled() => return,
        }
    }
}

/// A process of an extension and everything that works for it.
pub(super) struct Attached {
    process: Process,
    pub connection: Arc<Connection>,
    reading: JoinHandle<()>,
    showcase: Arc<Mutex<Showcase>>,
}

impl Attached {
    /// Starts a process and has it read and written to. The error is text for a person.
    pub async fn start(extension: &Arc<Extension>) -> Result<Self, String> {
        let started = Process::start(&extension.spec, &extension.port.cwd).await;
        let (process, pipes) = started.map_err(|error| {
            let program = extension.spec.command.first().map_or("", String::as_str);
            format!("`{program}` could not be started: {error}")
        })?;
        let ProcessPipes { stdin, stdout } = pipes;
        let (outbox, writing) = Outbox::new(stdin);
        tokio::spawn(writing);
        let connection = Arc::new(Connection::new(outbox));
        let (turns, taking_turns) = Turns::new(Arc::clone(&extension.port));
        tokio::spawn(taking_turns);
        let showcase = Showcase::new(extension.name(), Arc::clone(&turns));
        let showcase = Arc::new(Mutex::new(showcase));
        let reader = Reader::new(
            Arc::clone(extension),
            Arc::clone(&connection),
            Arc::clone(&showcase),
            turns,
        );
        let reading = tokio::spawn(reader.read(stdout));
        Ok(Self {
            process,
            connection,
            reading,
            showcase,
        })
    }

    /// Introduces the session and learns what the extension brings. The error is text for a person.
    pub async fn initialize(
        &mut self,
        extension: &Extension,
        restarted: bool,
    ) -> Result<Registered, String> {
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
            why = ended(&mut self.process, &mut self.reading) => return Err(why),
        };
        let result = match answered {
            Ok(result) => result,
            // It is about to be seen why.
            Err(Fault::Gone) => {
                let given_up = self.connection.given_up();
                return Err(given_up.unwrap_or_else(|| "it ended before it answered".to_owned()));
            }
            Err(fault) => return Err(fault.to_string()),
        };
        Registered::from_initialize(result, extension.spec.events.as_deref())
    }

    /// Waits until the extension is of no use any more. Returns why.
    async fn broken(&mut self) -> String {
        tokio::select! {
            biased;
            why = ended(&mut self.process, &mut self.reading) => why,
            () = self.connection.closed() => {
                self.connection.given_up().unwrap_or_default()
            }
        }
    }

    /// Lets it end by itself for a moment, then ends it.
    pub async fn end_gently(mut self, extension: &Extension) {
        let grace_ms = u64::try_from(GRACE.as_millis()).unwrap_or(u64::MAX);
        let told = self
            .connection
            .outbox
            .notify(method::SESSION_END, &SessionEndParams { grace_ms });
        if told.and_then(|()| self.connection.outbox.finish()).is_ok() {
            let _ = timeout(GRACE, self.process.ended()).await;
        }
        self.end(extension).await;
    }

    /// Ends it. Returns what it said last on stderr.
    pub async fn end(self, extension: &Extension) -> Option<String> {
        self.connection.close();
        let last_words = self.process.last_words();
        self.process.end().await;
        self.reading.abort();
        let mut showcase = self.showcase.lock().unwrap_or_else(PoisonError::into_inner);
        showcase.clear(&extension.port);
        last_words
    }
}

/// Resolves when the process has ended and what it wrote has been read. Returns how it ended.
async fn ended(process: &mut Process, reading: &mut JoinHandle<()>) -> String {
    let status = process.ended().await;
    // What it started may hold the pipe open.
    let _ = timeout(PATIENCE_AFTER_EXIT, reading).await;
    match status {
        Ok(status) => format!("it ended ({status})"),
        Err(error) => format!("it cannot be watched: {error}"),
    }
}

async fn run_once(extension: &Arc<Extension>, restarted: bool) -> Ending {
    let mut attached = match Attached::start(extension).await {
        Ok(attached) => attached,
        Err(why) => return Ending::Failed { at: "start", why },
    };
    let registered = tokio::select! {
        registered = attached.initialize(extension, restarted) => registered,
        () = extension.over.cancelled() => {
            attached.end(extension).await;
            return Ending::Over;
        }
    };
    let (at, why) = match registered {
        Err(why) => ("start", why),
        Ok(registered) => {
            extension.tell_problems(&registered);
            let hears_events = !registered.events.is_empty();
            let live = Arc::new(Live::new(Arc::clone(&attached.connection), registered));
            let forwarding = hears_events
                .then(|| tokio::spawn(forward(Arc::clone(extension), Arc::clone(&live))));
            extension.set_state(State::Ready(live));
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
                    return Ending::Over;
                }
            }
        }
    };
    let why = match attached.end(extension).await {
        Some(last_words) => format!("{why}; it said: {last_words}"),
        None => why,
    };
    Ending::Failed { at, why }
}

/// Tells the extension of the events it asked for. Never waits for it: what it has no room for is
/// dropped.
async fn forward(extension: Arc<Extension>, live: Arc<Live>) {
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
        match live.connection.outbox.notify(method::EVENT, &params) {
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
