//! What an agent may ask of whoever drives it.

use std::path::PathBuf;
use std::pin::Pin;

use serde_json::Value;

/// Answers an agent's questions. Each is asked in a task of its own; dropping the future withdraws
/// the question (the agent took it back, its turn was aborted, or it is gone).
///
/// The defaults are those of nobody at home: every permission is refused, every question left
/// open, no file and no terminal offered.
pub trait Host: Send + Sync + 'static {
    /// What the agent may ask for besides permissions. Asked once, before the handshake.
    fn offers(&self) -> HostOffers {
        HostOffers::default()
    }

    /// May this call run?
    fn permission(&self, permission: Permission) -> HostFuture<'_, HostPermissionAnswer> {
        drop(permission);
        Box::pin(std::future::ready(HostPermissionAnswer::Cancelled))
    }

    /// Asks a person something else.
    fn question(&self, question: AgentQuestion) -> HostFuture<'_, HostAnswer> {
        drop(question);
        Box::pin(std::future::ready(HostAnswer::Cancelled))
    }

    /// Reads a text file: `line` is the first line that is wanted, from one on. The call it is for is
    /// known where only one is open.
    fn read_text_file(
        &self,
        call: Option<OpenCall>,
        path: PathBuf,
        line: Option<u64>,
        limit: Option<u64>,
    ) -> HostFuture<'_, Result<String, HostRefusal>> {
        drop((call, path, line, limit));
        Box::pin(std::future::ready(Err(HostRefusal::NotOffered)))
    }

    /// Writes a text file.
    fn write_text_file(
        &self,
        call: Option<OpenCall>,
        path: PathBuf,
        text: String,
    ) -> HostFuture<'_, Result<(), HostRefusal>> {
        drop((call, path, text));
        Box::pin(std::future::ready(Err(HostRefusal::NotOffered)))
    }

    /// Starts a command and returns the id of its terminal at once.
    fn terminal_create(
        &self,
        terminal: TerminalRequest,
    ) -> HostFuture<'_, Result<String, HostRefusal>> {
        drop(terminal);
        Box::pin(std::future::ready(Err(HostRefusal::NotOffered)))
    }

    /// What the command has written so far.
    fn terminal_output(&self, id: String) -> HostFuture<'_, Result<TerminalOutput, HostRefusal>> {
        drop(id);
        Box::pin(std::future::ready(Err(HostRefusal::NotOffered)))
    }

    /// Waits until the command has ended.
    fn terminal_wait(&self, id: String) -> HostFuture<'_, Result<TerminalExit, HostRefusal>> {
        drop(id);
        Box::pin(std::future::ready(Err(HostRefusal::NotOffered)))
    }

    /// Kills the command. With `release` the terminal goes, too.
    fn terminal_kill(&self, id: String, release: bool) -> HostFuture<'_, Result<(), HostRefusal>> {
        drop((id, release));
        Box::pin(std::future::ready(Err(HostRefusal::NotOffered)))
    }
}

/// An answer that is being found.
pub type HostFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Refuses everything.
#[derive(Debug, Clone, Copy, Default)]
pub struct DenyAll;

impl Host for DenyAll {}

/// What a host has for an agent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HostOffers {
    /// It reads text files.
    pub read_files: bool,
    /// It writes text files.
    pub write_files: bool,
    /// It runs commands.
    pub terminals: bool,
    /// It puts questions that are no permissions to a person. Only the dialect that wants to know
    /// whether it may ask is told.
    pub questions: bool,
}

/// Why a host does not do something.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HostRefusal {
    /// It never said it would.
    #[error("this is not offered")]
    NotOffered,
    /// It may not, or cannot; why, for the agent.
    #[error("{0}")]
    Because(String),
}

/// A call that an agent asks something for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OpenCall {
    /// The call.
    pub id: String,
    /// No other call runs: the agent has told of everything that it does.
    pub is_alone: bool,
}

/// An agent asks whether a call may run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Permission {
    /// The call, where the dialect names it; else the newest that runs.
    pub call: Option<OpenCall>,
    /// The tool, where it is known.
    pub tool: Option<String>,
    /// The kind of tool, where the agent has kinds.
    pub kind: Option<String>,
    /// What it asks, for people.
    pub title: String,
    /// The arguments of the call, where they are known.
    pub input: Value,
    /// What can be answered.
    pub options: Vec<PermissionOption>,
}

/// One of the answers to a [`Permission`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermissionOption {
    /// What to answer with.
    pub id: String,
    /// For people.
    pub name: String,
    /// What it means.
    pub kind: PermissionKind,
}

/// What an answer to a [`Permission`] means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PermissionKind {
    /// Yes, this time.
    AllowOnce,
    /// Yes, and the agent remembers it.
    AllowAlways,
    /// No, this time.
    RejectOnce,
    /// No, and the agent remembers it.
    RejectAlways,
}

/// The answer to a [`Permission`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostPermissionAnswer {
    /// The option with this id.
    Selected(String),
    /// None of them: the call does not run.
    Cancelled,
}

/// An agent asks a person something that is no permission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentQuestion {
    /// In a few words.
    pub title: String,
    /// In more.
    pub message: Option<String>,
    /// What can be answered.
    pub kind: QuestionKind,
}

/// What can be answered to a [`AgentQuestion`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QuestionKind {
    /// One of these: value and label.
    Select(Vec<(String, String)>),
    /// Any number of these: value and label.
    MultiSelect(Vec<(String, String)>),
    /// Yes or no.
    Confirm,
    /// Text; what the input holds at first.
    Text(String),
}

/// The answer to a [`AgentQuestion`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostAnswer {
    /// A value of a selection, or a text.
    Value(String),
    /// The values of a selection of any number.
    Values(Vec<String>),
    /// Yes or no.
    Confirmed(bool),
    /// None.
    Cancelled,
}

/// A command that an agent wants run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TerminalRequest {
    /// The call it is for, where only one is open.
    pub call: Option<OpenCall>,
    /// The program, or a shell command where there are no arguments.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// What is added to its environment.
    pub env: Vec<(String, String)>,
    /// Where it runs.
    pub cwd: Option<PathBuf>,
    /// How much of its output is worth storing.
    pub output_limit_bytes: Option<u64>,
}

/// What a command has written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TerminalOutput {
    /// The text, or the end of it.
    pub output: String,
    /// The beginning is missing.
    pub truncated: bool,
    /// How it ended, if it has.
    pub exit: Option<TerminalExit>,
}

/// How a command ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TerminalExit {
    /// Absent when a signal ended it.
    pub code: Option<i32>,
    /// The signal.
    pub signal: Option<String>,
}

impl Permission {
    /// The option of that kind.
    pub fn option(&self, kind: PermissionKind) -> Option<&PermissionOption> {
        self.options.iter().find(|option| option.kind == kind)
    }

    /// True when it is a question with choices rather than a permission: there are several ways to
    /// say yes, and which one is for a person to say.
    pub fn is_choice(&self) -> bool {
        let options = self.options.iter();
        options
            .filter(|option| option.kind == PermissionKind::AllowOnce)
            .count()
            > 1
    }

    /// The answer that refuses: this time only, where the agent has that.
    pub fn refuse(&self) -> HostPermissionAnswer {
        self.answer(&[PermissionKind::RejectOnce, PermissionKind::RejectAlways])
    }

    /// The answer that allows this once; none where the agent has only "always".
    pub fn allow_once(&self) -> HostPermissionAnswer {
        self.answer(&[PermissionKind::AllowOnce])
    }

    fn answer(&self, kinds: &[PermissionKind]) -> HostPermissionAnswer {
        let option = kinds.iter().find_map(|kind| self.option(*kind));
        option.map_or(HostPermissionAnswer::Cancelled, |option| {
            HostPermissionAnswer::Selected(option.id.clone())
        })
    }
}
