//! The psi dialect: one EDN map a line, driven by psi's Emacs frontend.
//!
//! One process serves one connection and many sessions. Two tasks share the work, so that a full
//! pipe never keeps a command from getting through:
//!
//! - [`connection`] reads lines, judges them and calls the sessions; the operations are in [`ops`],
//!   slash commands in [`slash`], queries in [`eql`];
//! - [`writer`] owns everything that goes out: the events of all live sessions ([`events`]) and the
//!   answers of the first task ([`item`]), in the order of [`merge`](crate::merge) and with one
//!   growing number. What a snapshot shows is looked up when it goes out ([`payload`], where the
//!   tables are that queries read, too).
//!
//! Sessions that nobody uses are unloaded and loaded again ([`loading`]).
//!
//! Section numbers in comments are those of the protocol's reference.

mod connection;
mod encoder;
mod eql;
mod error;
mod events;
mod item;
mod jobs;
mod limits;
mod live;
mod loading;
mod login;
mod long_text;
mod ops;
mod params;
mod payload;
mod proxy;
mod request;
mod shared;
mod slash;
mod text;
mod trace;
mod ui;
mod wire;
mod writer;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use stentor_agent::agent::Agent;
use stentor_agent::memory::MemoryStore;
use stentor_agent::tasks;

use crate::connection::{self as transport, OpenedConnection};
use crate::default_model::DefaultModelStore;
use crate::input::InputLines;
use crate::login::Login;
use crate::signals::EndSignal;

use connection::PsiConnection;
use item::ItemPart;
pub(crate) use proxy::PsiProxy;
use shared::PsiShared;
use trace::Trace;
use writer::PsiWriter;

/// How the dialect is started.
#[derive(Clone)]
pub struct PsiOptions {
    /// The folder of the first session.
    pub cwd: PathBuf,
    /// A session file to begin with instead of a new session.
    pub resume: Option<PathBuf>,
    /// The user's home, shown as `~`.
    pub home: Option<PathBuf>,
    /// The notes kept across sessions.
    pub memory: Option<Arc<MemoryStore>>,
    /// Logging in at providers.
    pub login: Option<Arc<dyn Login>>,
    /// Stores the model that later sessions begin with.
    pub default_model_store: Option<Arc<dyn DefaultModelStore>>,
    /// Every frame is appended to this file (`--rpc-trace-file`).
    pub trace_file: Option<PathBuf>,
    /// Times for people are in the system's time zone, or in UTC.
    pub local_time: bool,
    /// Requests that may be unanswered at once.
    pub max_pending: usize,
    /// Sessions that are kept loaded though nobody uses them.
    pub max_loaded: usize,
    /// The least time between two cumulative deltas of one text.
    pub delta_interval: Duration,
    /// How long a running turn may go on after the client closed its end.
    pub grace: Duration,
}

impl PsiOptions {
    /// The reference's numbers, and nothing that is optional.
    pub fn new(cwd: impl Into<PathBuf>) -> Self {
        Self {
            cwd: cwd.into(),
            resume: None,
            home: None,
            memory: None,
            login: None,
            default_model_store: None,
            trace_file: None,
            local_time: true,
            max_pending: limits::MAX_PENDING,
            max_loaded: limits::MAX_LOADED,
            delta_interval: limits::DELTA_INTERVAL,
            grace: limits::GRACE,
        }
    }
}

/// Serves one client until it goes away. Returns the exit code: 0 at the end of input (section 1).
pub async fn serve(agent: Agent, client: transport::Connection, options: PsiOptions) -> u8 {
    let OpenedConnection {
        source,
        output,
        mut signals,
    } = match client.open() {
        Ok(opened) => opened,
        Err(error) => {
            tracing::error!(%error, "the pipes cannot be served");
            return 1;
        }
    };
    let mut input = InputLines::read(source, limits::MAX_LINE_BYTES);
    let (trace, trace_end) = Trace::open(options.trace_file.as_deref());
    let grace = options.grace;
    let (shared, items) = PsiShared::new(agent, options);
    let writer = PsiWriter::new(Arc::clone(&shared), items, output.clone(), trace.clone());
    let writing = tasks::spawn(writer.run());
    let mut connection = PsiConnection::new(Arc::clone(&shared), trace);
    let serving = async {
        connection.begin().await;
        connection.serve(&mut input).await;
    };
    let ended_by = tokio::select! {
        () = serving => None,
        () = output.closed() => None,
        () = shared.shutdown.cancelled() => None,
        signal = signals.next() => Some(signal),
    };
    // What others may have to do with goes on by itself.
    if ended_by.is_none() && !shared.agent.is_sharing() {
        // A turn that was accepted may go on writing for a while.
        tokio::select! {
            _ = tokio::time::timeout(grace, shared.idle()) => {}
            () = output.closed() => {}
            _ = signals.next() => {}
        }
    }
    if !signals.wind_down(grace, shared.close_all()).await {
        tracing::warn!("not all sessions ended in time");
    }
    drop(connection);
    let last_frames = async {
        shared.write(vec![ItemPart::End]).await;
        // The writer ends when everything is handed over, or when nobody reads any more.
        tokio::select! {
            _ = writing => output.finish().await,
            () = output.closed() => {}
        }
        trace_end.wait().await;
    };
    signals.wind_down(grace, last_frames).await;
    ended_by.map_or(0, EndSignal::exit_code)
}
