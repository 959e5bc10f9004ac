//! What the turn loop asks of a language model, and what a model is.

use std::fmt;
use std::path::Path;
use std::pin::Pin;
use std::str::FromStr;
use std::sync::Arc;

use futures_core::Stream;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use stentor_journal::message::{Message, StopReason, ToolCall, UserContent};
use stentor_journal::usage::{Prices, Usage};

use crate::box_error::BoxError;
use crate::live::LiveBlockKind;
use crate::model_host::ModelHost;
use crate::tool_output::ToolOutput;
use crate::tool_spec::ToolSpec;

/// A model one can talk to.
pub trait Model: Send + Sync {
    /// What it is.
    fn info(&self) -> &Arc<ModelInfo>;

    /// Asks it. Dropping the stream cancels the request; the stream ends after the first
    /// [`ModelEvent::Finished`] or error.
    fn stream(&self, request: ModelRequest) -> ModelStream;

    /// True for a call of its last answer that it runs itself: an agent with tools of its own, or a
    /// provider's. An answer that has only such calls and ends with [`StopReason::Stop`] is the last
    /// of its run.
    fn runs_itself(&self, call: &ToolCall) -> bool {
        let _ = call;
        false
    }

    /// What becomes of a call that it runs itself. `None`: the call is the session's to run.
    fn elsewhere(&self, call: &ToolCall) -> Option<CallStream> {
        let _ = call;
        None
    }

    /// False while it is at work on something that no message can be added to: what is queued waits
    /// until it is done.
    fn takes_messages(&self) -> bool {
        true
    }

    /// Messages wait that it is given after the calls of its own that it is at. One that has a queue
    /// may take them at once: its next request has them all the same, as the newest messages.
    fn messages_wait(&self, messages: Vec<UserContent>) {
        let _ = messages;
    }

    /// The same under another name, for models that are one thing in several forms: an agent with
    /// several models of its own goes on working as it is. `None` when that is another model.
    fn switched_to(&self, info: &Arc<ModelInfo>) -> Option<Arc<dyn Model>> {
        let _ = info;
        None
    }

    /// True when it may change files while it answers: an agent with tools of its own.
    fn changes_files(&self) -> bool {
        false
    }

    /// True when it has the conversation itself and keeps it as short as it must be: nothing is
    /// compacted for it.
    fn keeps_context(&self) -> bool {
        false
    }

    /// True when it has begun to work by itself and has not been asked anything since: what it does then
    /// is shown by the next request.
    fn works_by_itself(&self) -> bool {
        false
    }

    /// The run that asked it has ended. What it still does for that run it stops.
    fn run_ended(&self) {}
}

/// What becomes of a call that runs elsewhere. Ends after [`CallStep::Ended`].
pub type CallStream = Pin<Box<dyn Stream<Item = CallStep> + Send>>;

/// One step of a call that runs elsewhere.
#[derive(Debug, Clone, PartialEq)]
pub enum CallStep {
    Started,
    /// Its output so far. Replaces what was reported before.
    Progress(ToolOutput),
    Ended(ToolOutput),
}

/// An answer as it arrives.
pub type ModelStream = Pin<Box<dyn Stream<Item = Result<ModelEvent, ModelError>> + Send>>;

/// Where models come from: the catalogue, the configuration, local servers.
pub trait ModelRegistry: Send + Sync {
    /// The models that could be used now, best first.
    fn available(&self) -> Vec<Arc<ModelInfo>>;

    /// A model by provider and id, whether or not there are credentials for it.
    fn find(&self, provider: &str, id: &str, by: NamedBy) -> Option<Arc<ModelInfo>>;

    /// Why a name finds nothing, if more is known than that there is no such model. It goes on after
    /// "is not used: ".
    fn why_not(&self, _provider: &str, _id: &str, _by: NamedBy) -> Option<String> {
        None
    }

    /// Whether the model is described somewhere. [`ModelRegistry::find`] may also give one that a
    /// known provider could have though nobody has described it.
    fn is_described(&self, provider: &str, id: &str) -> bool {
        self.find(provider, id, NamedBy::User).is_some()
    }

    /// A model by the name people use: `provider/id`, or the id alone.
    fn resolve(&self, name: &str, by: NamedBy) -> Option<Arc<ModelInfo>> {
        let full = name
            .split_once('/')
            .and_then(|(provider, id)| self.find(provider, id, by));
        full.or_else(|| self.available().into_iter().find(|info| info.id == name))
    }

    /// Looks again at everything models are known from. Returns what should be mended there; after
    /// an error everything is as it was.
    fn reload(&self) -> Result<Vec<String>, BoxError> {
        Ok(Vec::new())
    }

    /// A usable model, or why it cannot be used.
    fn open(&self, info: &Arc<ModelInfo>) -> Result<Arc<dyn Model>, ModelError>;
}

/// Who named a model. What a name may stand for depends on it: a scenario file is a program, and a
/// server on this machine is whoever listens on its port. Ordered: who counts less is greater.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum NamedBy {
    /// The user: a flag, the environment, a choice in their client. Any model.
    User,
    /// The user in a file of their own. Any model; a relative path starts at the folder of their
    /// configuration, since the working folder may be anybody's.
    OwnFile,
    /// What others may have written: the file of a session or an agent, the words of a model, a
    /// file of a project that is trusted. A scenario only if the user has named the same one.
    Others,
    /// A file of a folder that is not trusted, the file of a session that came from elsewhere. A
    /// hosted model only: one that is spoken to in private and is neither on this machine nor in
    /// its network.
    #[default]
    Untrusted,
}

/// What is known about a model. Holds no secret: it is shown to clients as it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelInfo {
    pub id: String,
    pub name: String,
    /// The wire it is spoken to over, for example `anthropic-messages`.
    pub api: String,
    pub provider: String,
    pub base_url: String,
    /// True when it can think before it answers.
    pub reasoning: bool,
    pub input: Vec<InputKind>,
    /// None when nobody told; clients see zeros then, as their format wants numbers.
    #[serde(serialize_with = "prices_or_zeros", default)]
    pub cost: Option<Prices>,
    pub context_window: u64,
    pub max_tokens: u64,
    /// The levels it distinguishes. Empty means: all of them if `reasoning`, else only `off`.
    #[serde(skip)]
    pub thinking_levels: Vec<ThinkingLevel>,
    /// The modes it can be in, for one that is an agent; the one it is in is among them. Empty when
    /// there is no choice.
    #[serde(skip)]
    pub modes: Vec<ModelMode>,
}

/// A mode of a model: the same model under another id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelMode {
    /// For people.
    pub name: String,
    /// The id of the model in that mode.
    pub id: String,
}

fn prices_or_zeros<S: serde::Serializer>(
    prices: &Option<Prices>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    prices.unwrap_or_default().serialize(serializer)
}

/// What a model can be given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum InputKind {
    Text,
    Image,
    /// PDF documents.
    Document,
    Audio,
}

/// How long a model may think before it answers.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum ThinkingLevel {
    #[default]
    Off,
    Minimal,
    Low,
    Medium,
    High,
    Xhigh,
}

/// One question to a model.
#[derive(Debug, Clone)]
pub struct ModelRequest {
    pub system: Arc<str>,
    /// The conversation, oldest first: only user, assistant and tool-result messages are left in
    /// it, everything else has been lowered to those (see `conversation::lower`).
    pub messages: Vec<Arc<Message>>,
    pub tools: Arc<[ToolSpec]>,
    pub thinking: ThinkingLevel,
    /// The JSON schema of the answer. A provider that can hold a model to it does; whoever asks checks
    /// all the same.
    pub output_schema: Option<Arc<Value>>,
    /// Limits the answer below the model's own limit.
    pub max_output_tokens: Option<u64>,
    /// The session, for providers that route or cache by it.
    pub session_id: Arc<str>,
    /// The file of the session, for models that look up what is no longer in the conversation.
    pub session_file: Option<Arc<Path>>,
    pub purpose: Purpose,
    /// The session, for a model that works by itself. None where nobody could be asked.
    pub host: Option<Arc<dyn ModelHost>>,
}

/// What the answer is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// A turn of the conversation.
    Turn,
    /// A summary of the older part of the conversation.
    Compaction,
    /// What a search of the web finds that the provider makes itself. Only some wires can say that.
    WebSearch,
    /// For somebody else, beside the conversation: a server that brings tools.
    Aside,
}

/// One step of an answer.
///
/// Blocks come strictly one after the other: started, its deltas, ended. A provider whose wire
/// interleaves blocks puts them in order.
#[derive(Debug, Clone, PartialEq)]
pub enum ModelEvent {
    /// The provider accepted the request.
    Started {
        response_id: Option<String>,
    },
    BlockStarted(LiveBlockKind),
    /// More of the block that is open.
    Delta(String),
    /// One line in which the call that is open says what it is for.
    Intent(String),
    /// The open block is complete. The signature is opaque provider data that goes back with it.
    BlockEnded {
        signature: Option<String>,
    },
    /// What was consumed so far, as far as the provider tells. Prices are filled in by the loop.
    Usage(Usage),
    /// The model has become this form of itself: it is in another mode, or more is known of it.
    Became(Arc<ModelInfo>),
    /// What it calls the conversation.
    Titled(String),
    /// The provider sent something that is no part of the answer. It counts all the same, so that
    /// an answer of nothing else comes to an end.
    Nothing,
    Finished(Finish),
}

/// How an answer ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Finish {
    pub stop_reason: StopReason,
    /// True when the model declined to answer.
    pub refused: bool,
    pub usage: Usage,
}

/// Why a model gave no (complete) answer.
///
/// `message` is for a person: it names the provider, the model, the status and what the provider
/// said. It never contains a key.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct ModelError {
    pub kind: ModelErrorKind,
    pub message: String,
    /// The HTTP status, where there was one.
    pub status: Option<u16>,
    /// How long the provider asks to wait.
    pub retry_after_ms: Option<u64>,
    /// How much the provider still allows, where it said so.
    pub rate_limit: Option<RateLimit>,
}

/// How much a provider allows in a while, and how much of it is left.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RateLimit {
    pub remaining: Option<u64>,
    pub limit: Option<u64>,
    /// When it allows the whole again, in milliseconds since the epoch.
    pub reset_at_ms: Option<u64>,
}

/// What can be done about a model error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelErrorKind {
    /// The provider is overloaded: try again later.
    Overloaded,
    /// Too many requests: try again when it says.
    RateLimited,
    /// The provider failed: try again.
    Server,
    /// The provider could not be reached: try again.
    Network,
    /// The answer broke off in the middle: try again.
    BrokenStream,
    /// Nothing came for too long: try again.
    Silence,
    /// The answer is longer than we take. Asking again, or another model, would bring the same.
    AnswerTooLong,
    /// No, wrong or expired credentials: log in.
    Auth,
    /// The quota or the balance is used up.
    Quota,
    /// The conversation is longer than the model's window: compact.
    ContextOverflow,
    /// The request itself is wrong.
    InvalidRequest,
    /// No such model.
    UnknownModel,
    Other,
}

impl ModelInfo {
    /// `provider/id`, the name by which people choose a model.
    pub fn full_name(&self) -> String {
        format!("{}/{}", self.provider, self.id)
    }

    /// The levels it distinguishes, lowest first.
    pub fn levels(&self) -> Vec<ThinkingLevel> {
        if !self.reasoning {
            vec![ThinkingLevel::Off]
        } else if self.thinking_levels.is_empty() {
            ThinkingLevel::ALL.to_vec()
        } else {
            self.thinking_levels.clone()
        }
    }

    /// The nearest level it has: the highest not above `level`, else its lowest.
    pub fn clamp(&self, level: ThinkingLevel) -> ThinkingLevel {
        let levels = self.levels();
        let below = levels.iter().copied().filter(|have| *have <= level).max();
        below
            .or_else(|| levels.iter().copied().min())
            .unwrap_or_default()
    }

    /// True when it can be given `kind`.
    pub fn accepts(&self, kind: InputKind) -> bool {
        self.input.contains(&kind)
    }
}

impl ThinkingLevel {
    /// All levels, lowest first.
    pub const ALL: [Self; 6] = [
        Self::Off,
        Self::Minimal,
        Self::Low,
        Self::Medium,
        Self::High,
        Self::Xhigh,
    ];

    /// Its name on every wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Minimal => "minimal",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Xhigh => "xhigh",
        }
    }
}

impl fmt::Display for ThinkingLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for ThinkingLevel {
    type Err = UnknownThinkingLevel;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "max" {
            // A level of other programs, above the highest here.
            return Ok(Self::Xhigh);
        }
        Self::ALL
            .into_iter()
            .find(|level| level.as_str() == text)
            .ok_or_else(|| UnknownThinkingLevel(text.to_owned()))
    }
}

/// A word that is no thinking level.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown thinking level `{0}`: use off, minimal, low, medium, high or xhigh")]
pub struct UnknownThinkingLevel(pub String);

impl ModelError {
    /// An error without status or waiting time.
    pub fn new(kind: ModelErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            status: None,
            retry_after_ms: None,
            rate_limit: None,
        }
    }

    /// True when the same request may succeed later without anybody changing anything.
    pub fn is_transient(&self) -> bool {
        match self.kind {
            ModelErrorKind::Overloaded
            | ModelErrorKind::RateLimited
            | ModelErrorKind::Server
            | ModelErrorKind::Network
            | ModelErrorKind::BrokenStream
            | ModelErrorKind::Silence => true,
            ModelErrorKind::AnswerTooLong
            | ModelErrorKind::Auth
            | ModelErrorKind::Quota
            | ModelErrorKind::ContextOverflow
            | ModelErrorKind::InvalidRequest
            | ModelErrorKind::UnknownModel
            | ModelErrorKind::Other => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(reasoning: bool, levels: &[ThinkingLevel]) -> ModelInfo {
        ModelInfo {
            id: "m".into(),
            name: "M".into(),
            api: "a".into(),
            provider: "p".into(),
            base_url: String::new(),
            reasoning,
            input: vec![InputKind::Text],
            cost: None,
            context_window: 1000,
            max_tokens: 100,
            thinking_levels: levels.to_vec(),
            modes: Vec::new(),
        }
    }

    #[test]
    fn a_thinking_level_is_clamped_to_what_the_model_has() {
        use ThinkingLevel::{High, Low, Off, Xhigh};
        assert_eq!(model(false, &[]).clamp(High), Off);
        assert_eq!(model(true, &[]).clamp(Xhigh), Xhigh);
        assert_eq!(model(true, &[Off, Low, High]).clamp(Xhigh), High);
        assert_eq!(model(true, &[Low, High]).clamp(Off), Low);
    }

    #[test]
    fn the_shape_clients_see_has_every_field_of_the_reference() {
        assert_eq!(
            serde_json::to_string(&model(true, &[])).unwrap(),
            r#"{"id":"m","name":"M","api":"a","provider":"p","baseUrl":"","reasoning":true,"input":["text"],"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0},"contextWindow":1000,"maxTokens":100}"#
        );
    }
}
