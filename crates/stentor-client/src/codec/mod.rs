//! The dialects: a codec each, which turns lines into events and requests into lines. Codecs do no
//! IO and wait for nothing; what is to be done they put into [`Effects`].

mod acp;
mod acp_calls;
mod acp_failures;
mod acp_forms;
mod acp_own;
mod acp_requests;
mod acp_shapes;
mod acp_unreported;
mod acp_updates;
mod json;
mod omp;
mod omp_dialogs;
mod omp_shapes;
mod pending;
mod psi;
mod psi_footer;
mod psi_shapes;
mod synaps;
mod turn;

use std::collections::VecDeque;
use std::fmt;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use tokio::sync::oneshot;

use crate::connection::LostCounter;
use crate::dialect::AgentDialect;
use crate::error::ChildAgentError;
use crate::event::AgentEvent;
use crate::host::{
    AgentQuestion, HostAnswer, HostOffers, HostPermissionAnswer, HostRefusal, OpenCall, Permission,
    TerminalExit, TerminalOutput, TerminalRequest,
};
use crate::options::{SessionOpened, StartOptions};
use crate::prompt::{AgentPrompt, OfferedModel, PromptPicture, SessionInfo};

/// What a handle wants.
pub(crate) struct HandleRequest {
    pub what: AgentAction,
    pub reply: Responder,
}

/// Where its answer goes.
pub(crate) type Responder = oneshot::Sender<Result<HandleReply, ChildAgentError>>;

/// What can be wanted of an agent.
pub(crate) enum AgentAction {
    Prompt(AgentPrompt),
    Steer(AgentPrompt),
    FollowUp(AgentPrompt),
    Abort,
    /// What is known of the session that is open.
    Session,
    NewSession,
    Resume(String),
    Load(String),
    Sessions,
    Models,
    SetModel(String),
    SetMode(String),
    SetThinking(String),
    Stop,
}

impl AgentAction {
    /// For errors.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Prompt(_) => "a prompt",
            Self::Steer(_) => "a steering message",
            Self::FollowUp(_) => "a follow-up",
            Self::Abort => "an abort",
            Self::Session => "the state of its session",
            Self::NewSession => "the beginning of a session",
            Self::Resume(_) | Self::Load(_) => "the opening of a session",
            Self::Sessions => "the list of sessions",
            Self::Models => "the list of models",
            Self::SetModel(_) => "the choice of a model",
            Self::SetMode(_) => "the choice of a mode",
            Self::SetThinking(_) => "the choice of a thinking level",
            Self::Stop => "the end",
        }
    }
}

/// What a handle gets.
pub(crate) enum HandleReply {
    Done,
    Session(Box<SessionOpened>),
    Sessions(Vec<SessionInfo>),
    Models(Vec<OfferedModel>),
}

/// What an agent asks.
pub(crate) enum AgentRequest {
    Permission(Permission),
    Question(AgentQuestion),
    Form(acp_forms::AcpForm),
    ReadFile {
        call: Option<OpenCall>,
        path: PathBuf,
        line: Option<u64>,
        limit: Option<u64>,
    },
    WriteFile {
        call: Option<OpenCall>,
        path: PathBuf,
        text: String,
    },
    TerminalCreate(TerminalRequest),
    TerminalOutput(String),
    TerminalWait(String),
    TerminalKill {
        id: String,
        release: bool,
    },
}

impl AgentRequest {
    /// True when a person may be the one who answers.
    pub fn is_for_people(&self) -> bool {
        matches!(
            self,
            Self::Permission(_) | Self::Question(_) | Self::Form(_)
        )
    }
}

/// What it is answered.
pub(crate) enum HostReply {
    Permission(HostPermissionAnswer),
    Question(HostAnswer),
    /// What was filled in; nothing when the form was not.
    Form(Option<serde_json::Value>),
    File(Result<String, HostRefusal>),
    Written(Result<(), HostRefusal>),
    Terminal(Result<String, HostRefusal>),
    Output(Result<TerminalOutput, HostRefusal>),
    Exit(Result<TerminalExit, HostRefusal>),
    /// Nobody will answer: the turn was aborted, or too much is asked.
    Withdrawn,
}

/// What a codec wants done.
#[derive(Default)]
pub(crate) struct Effects {
    /// Lines for the child, each with its line end.
    pub lines: Vec<Vec<u8>>,
    pub events: VecDeque<AgentEvent>,
    /// Questions to the host, with the numbers their answers come back with.
    pub asks: Vec<(u64, AgentRequest)>,
    /// Questions that the child took back.
    pub withdrawn: Vec<u64>,
    /// The handshake is over.
    pub opened: Option<Result<SessionOpened, ChildAgentError>>,
    /// [`Codec::wake`] is wanted after this time.
    pub wake_in: Option<Duration>,
}

/// A line that is no frame of the dialect.
pub(crate) struct BadLine(pub String);

/// A dialect, seen from the parent.
pub(crate) trait Codec: Send {
    /// Begins the handshake.
    fn open(&mut self, fx: &mut Effects);

    /// Takes a line of the child.
    fn line(&mut self, line: &str, fx: &mut Effects) -> Result<(), BadLine>;

    /// A line was too long to be read; how it began. Its meaning counts where a turn would have no end
    /// without it.
    fn skipped(&mut self, start: &[u8], fx: &mut Effects) {
        let _ = (start, fx);
    }

    /// Does something for a handle, except [`AgentAction::Stop`].
    fn request(&mut self, what: AgentAction, reply: Responder, fx: &mut Effects);

    /// The host has answered.
    fn answered(&mut self, ask: u64, answer: HostReply, fx: &mut Effects);

    /// The time of [`Effects::wake_in`] is over.
    fn wake(&mut self, fx: &mut Effects) {
        let _ = fx;
    }

    /// The turn, for those who must know whether one is going on.
    fn turn(&mut self) -> &mut turn::TurnGrammar;

    /// What is written to a child that shall end, before its input is closed.
    fn farewell(&self) -> Option<Vec<u8>> {
        None
    }
}

/// The codec of a dialect.
pub(crate) fn codec(
    options: &StartOptions,
    offers: HostOffers,
    lost: LostCounter,
) -> Box<dyn Codec> {
    match options.dialect {
        AgentDialect::Acp => Box::new(acp::Acp::new(options, offers, lost)),
        AgentDialect::Omp => Box::new(omp::Omp::new(options, lost)),
        AgentDialect::Psi => Box::new(psi::Psi::new(options, lost)),
        AgentDialect::Synaps => Box::new(synaps::Synaps::new(lost)),
    }
}

/// A picture as a file that its agent can read. Whoever is done with it removes it.
pub(crate) fn picture_file(picture: &PromptPicture) -> Result<PathBuf, ChildAgentError> {
    let failed = |why: &dyn fmt::Display| ChildAgentError::Picture(why.to_string());
    let bytes = STANDARD
        .decode(picture.data.as_bytes())
        .map_err(|error| failed(&error))?;
    let ending = picture.mime_type.rsplit('/').next().unwrap_or("png");
    let is_plain = ending.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let suffix = format!(".{}", if is_plain { ending } else { "img" });
    let mut file = tempfile::Builder::new()
        .prefix("stentor-picture-")
        .suffix(&suffix)
        .tempfile()
        .map_err(|error| failed(&error))?;
    file.write_all(&bytes).map_err(|error| failed(&error))?;
    let (_, path) = file.keep().map_err(|error| failed(&error))?;
    Ok(path)
}
