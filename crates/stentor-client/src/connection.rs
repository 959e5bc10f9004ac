//! The pipes of a child, what may pass through them, and what was lost on the way.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};

/// The pipes of a program that was started, for those who start programs themselves; see
/// [`ChildAgent::over`](crate::ChildAgent::over).
pub struct ChildPipes {
    /// What it reads.
    pub stdin: Box<dyn AsyncWrite + Send + Unpin>,
    /// What it writes.
    pub stdout: Box<dyn AsyncRead + Send + Unpin>,
    /// What it complains about.
    pub stderr: Option<Box<dyn AsyncRead + Send + Unpin>>,
    /// The process behind them, if it is to be ended with the agent.
    pub process: Option<Box<dyn Process>>,
}

/// A process that can be ended. Dropping it kills it.
pub trait Process: Send {
    /// Waits until it has ended by itself, but no longer than `patience`; then kills it. Returns how
    /// it ended, for people.
    fn end(self: Box<Self>, patience: Duration) -> ProcessFuture;
}

/// The end of a process that is being waited for.
pub type ProcessFuture = Pin<Box<dyn Future<Output = Option<String>> + Send>>;

/// The numbers that keep a child from harming anybody but itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AgentLimits {
    /// The longest line that is read. A longer one is skipped and counted.
    pub line_bytes: usize,
    /// Events that may wait for their reader. When so many wait the child is not read any more,
    /// and waits at its end of the pipe.
    pub events: usize,
    /// Unusable lines in a row after which the child is given up.
    pub lost_in_a_row: u64,
    /// How long the handshake may take.
    pub ready_within: Duration,
    /// How long the answer to anything but a prompt may take.
    pub answer_within: Duration,
    /// How long a turn that was aborted may take to end. Then the child is given up.
    pub abort_within: Duration,
    /// How long it may take to end by itself.
    pub exit_within: Duration,
    /// Lines of its stderr that are stored for when it fails.
    pub stderr_lines: usize,
}

impl Default for AgentLimits {
    fn default() -> Self {
        Self {
            line_bytes: 16 * 1024 * 1024,
            events: 1024,
            lost_in_a_row: 100,
            ready_within: Duration::from_secs(30),
            answer_within: Duration::from_secs(30),
            abort_within: Duration::from_secs(10),
            exit_within: Duration::from_secs(5),
            stderr_lines: 20,
        }
    }
}

/// What a child wrote that could not be used, and what could not be written to it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LostLines {
    /// Lines longer than [`AgentLimits::line_bytes`].
    pub too_long: u64,
    /// Lines that are no frames of the dialect.
    pub unreadable: u64,
    /// Answers that nobody waited for: given twice, or too late.
    pub unexpected: u64,
    /// Questions that were refused because too many were open.
    pub questions: u64,
    /// Lines to the child that were dropped because it does not read.
    pub unwritten: u64,
}

/// Counts what is lost. Clones count together.
#[derive(Debug, Clone, Default)]
pub(crate) struct LostCounter {
    counts: Arc<LostCounts>,
}

#[derive(Debug, Default)]
struct LostCounts {
    too_long: AtomicU64,
    unreadable: AtomicU64,
    unexpected: AtomicU64,
    questions: AtomicU64,
    unwritten: AtomicU64,
}

impl LostCounter {
    pub fn too_long(&self) {
        self.counts.too_long.fetch_add(1, Ordering::Relaxed);
    }

    pub fn unreadable(&self) {
        self.counts.unreadable.fetch_add(1, Ordering::Relaxed);
    }

    pub fn unexpected(&self) {
        self.counts.unexpected.fetch_add(1, Ordering::Relaxed);
    }

    pub fn question(&self) {
        self.counts.questions.fetch_add(1, Ordering::Relaxed);
    }

    pub fn unwritten(&self) {
        self.counts.unwritten.fetch_add(1, Ordering::Relaxed);
    }

    pub fn so_far(&self) -> LostLines {
        let counts = &self.counts;
        LostLines {
            too_long: counts.too_long.load(Ordering::Relaxed),
            unreadable: counts.unreadable.load(Ordering::Relaxed),
            unexpected: counts.unexpected.load(Ordering::Relaxed),
            questions: counts.questions.load(Ordering::Relaxed),
            unwritten: counts.unwritten.load(Ordering::Relaxed),
        }
    }
}
