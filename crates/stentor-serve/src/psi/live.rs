//! A session that is live in this process.

use std::ops::Deref;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};

use stentor_agent::commands::{AgentDefinition, CommandBook, SlashCommands};
use stentor_agent::event::{CommandInfo, CommandSource};
use stentor_agent::live::{LiveBlock, LiveBlockKind, LiveMessage};
use stentor_agent::model::RateLimit;
use stentor_agent::project_files::{Project, TrustedOwners};
use stentor_agent::session::{Session, SessionError, SessionSnapshot};
use stentor_agent::tasks;
use stentor_journal::message::{ContentBlock, Message};
use tokio_util::sync::CancellationToken;

use super::limits::DISPLAY_NAME_CHARS;
use super::payload::context::Slot;
use super::shared::lock;
use super::text;
use crate::merge::EventPlace;

/// A live session, and what only this dialect knows about it.
pub(super) struct PsiSession {
    pub id: Arc<str>,
    pub session: Session,
    pub origin: SessionOrigin,
    state: Mutex<PsiSessionState>,
}

/// What only this dialect knows about a session, and what changes of it.
#[derive(Default)]
pub(super) struct PsiSessionState {
    /// Which use of a session was the last of this one; they are counted.
    pub last_use: u64,
    /// It has heard something that is in no file: unloading it would forget that.
    pub stays_loaded: bool,
    /// Aborts that have not ended yet. A prompt behind one may have to wait.
    pub aborting: usize,
    /// Requests that write the snapshots of what they change themselves, behind their result. The
    /// writer counts one less when it is there.
    pub holding_snapshots: usize,
    /// Stands for what is being prepared. An abort cancels it: what is prepared must not reach the
    /// session then.
    pub preparing: CancellationToken,
    pub turn: PsiTurn,
    pub phase: SessionPhase,
    /// How lists showed it, and the number of its newest event then.
    pub shown: Option<(u64, Slot)>,
}

/// What a session is doing, as its events tell it. Kept apart from the session's own state so that
/// a snapshot says what is true at its place among the events.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct SessionPhase {
    pub running: bool,
    pub compacting: bool,
    pub retry: Option<RetryWait>,
    /// The run stops after the current model call.
    pub interrupting: bool,
    /// Steering messages and follow-ups that wait.
    pub waiting: usize,
}

/// A retry that is being waited for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RetryWait {
    pub attempt: u32,
    pub delay_ms: u64,
    /// The provider asked for the wait; else it is ours.
    pub asked_for: bool,
    pub resume_at_ms: u64,
    pub rate_limit: Option<RateLimit>,
}

impl SessionPhase {
    /// Its name in `session/updated` (section 10.1).
    pub fn name(&self) -> &'static str {
        if self.compacting {
            "compacting"
        } else if self.retry.is_some() {
            "retrying"
        } else if self.running {
            "streaming"
        } else {
            "idle"
        }
    }

    /// Its name in a session slot (section 11.3).
    pub fn runtime_state(&self) -> &'static str {
        match self.name() {
            "streaming" => "running",
            "idle" => "waiting",
            other => other,
        }
    }

    pub fn retry_attempt(&self) -> u32 {
        self.retry.as_ref().map_or(0, |retry| retry.attempt)
    }
}

/// Where a session comes from.
#[derive(Debug, Clone)]
pub(super) struct SessionOrigin {
    pub cwd: PathBuf,
    pub created_ms: u64,
    pub parent: Option<Arc<str>>,
    pub parent_path: Option<String>,
}

impl SessionOrigin {
    /// One without a parent.
    pub fn new(cwd: PathBuf, created_ms: u64) -> Self {
        Self {
            cwd,
            created_ms,
            parent: None,
            parent_path: None,
        }
    }
}

/// The model call that is going on, or the last one.
#[derive(Clone, Default)]
pub(super) struct PsiTurn {
    pub answer: Option<TurnAnswer>,
    pub state: TurnState,
}

/// What the model said in it.
#[derive(Clone)]
pub(super) enum TurnAnswer {
    Writing(LiveMessage),
    /// It is complete, and its texts are in the conversation: they are not kept twice.
    Written {
        message: Arc<Message>,
        calls: Vec<Arc<LiveBlock>>,
    },
}

impl TurnAnswer {
    /// The visible texts, one below the other; `None` when there is none.
    pub fn text(&self) -> Option<String> {
        let mut all: Option<String> = None;
        let mut add = |text: &str| {
            let all = all.get_or_insert_default();
            if !all.is_empty() {
                all.push('\n');
            }
            all.push_str(text);
        };
        match self {
            Self::Writing(live) => {
                let blocks = live.blocks().into_iter();
                let texts = blocks.filter(|block| block.kind == LiveBlockKind::Text);
                texts.for_each(|block| block.with_all(&mut add));
            }
            Self::Written { message, .. } => {
                let blocks = message.as_assistant().map(|answer| &answer.content);
                let blocks = blocks.into_iter().flatten();
                blocks.filter_map(ContentBlock::as_text).for_each(add);
            }
        }
        all
    }

    /// The calls, with the text of their arguments.
    pub fn calls(&self) -> Vec<Arc<LiveBlock>> {
        let is_call = |block: &Arc<LiveBlock>| matches!(block.kind, LiveBlockKind::ToolCall { .. });
        match self {
            Self::Writing(live) => live.blocks().into_iter().filter(is_call).collect(),
            Self::Written { calls, .. } => calls.clone(),
        }
    }
}

/// How far a model call is (section 12.2).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum TurnState {
    #[default]
    None,
    Text,
    Tools,
    Done,
    Error,
}

impl PsiTurn {
    /// The model call is over and brought this message.
    pub fn end(&mut self, state: TurnState, message: &Arc<Message>) {
        self.state = state;
        self.answer = self.answer.take().map(|answer| TurnAnswer::Written {
            message: Arc::clone(message),
            calls: answer.calls(),
        });
    }
}

impl PsiSession {
    pub fn new(session: Session, origin: SessionOrigin) -> Arc<Self> {
        Arc::new(Self {
            id: Arc::clone(session.id()),
            session,
            origin,
            state: Mutex::default(),
        })
    }

    /// What changes of it. Nobody waits for anything while holding it.
    pub fn locked(&self) -> MutexGuard<'_, PsiSessionState> {
        lock(&self.state)
    }

    pub fn phase(&self) -> SessionPhase {
        self.locked().phase.clone()
    }

    /// Stands for a prompt that is prepared from now on. The next abort cancels it.
    pub fn preparing(&self) -> CancellationToken {
        self.locked().preparing.clone()
    }

    /// Looks at everything that snapshots need; footers need the sums, too. Lists show it as it is
    /// then, and do not ask again until something happens in it.
    pub async fn view(&self, with_stats: bool) -> Result<LiveSnapshot, SessionError> {
        let seq = self.session.seq();
        let view = LiveSnapshot::new(self.session.snapshot(with_stats).await?);
        let mut state = self.locked();
        let slot = Slot::of(&self.id, self.origin.clone(), &view, &state.phase);
        state.shown = Some((seq, slot));
        Ok(view)
    }

    /// How lists show it. It is asked only if something happened in it since it was last looked at.
    /// `None` when it has just ended.
    pub async fn slot(&self) -> Option<Slot> {
        let seq = self.session.seq();
        if !matches!(self.locked().shown, Some((at, _)) if at == seq) {
            self.view(false).await.ok()?;
        }
        let state = self.locked();
        let (_, slot) = state.shown.clone()?;
        Some(slot.in_phase(&state.phase))
    }

    /// The place behind all its events so far.
    pub fn after_all(&self) -> EventPlace {
        EventPlace {
            session: Arc::clone(&self.id),
            seq: self.session.seq(),
        }
    }

    /// Its project, and what of it may be read.
    pub fn project(&self) -> Project {
        let known = self.session.slash().project();
        known.unwrap_or_else(|| Project::of(&self.origin.cwd, TrustedOwners::ours()))
    }

    /// What the files of commands say now.
    pub async fn book(&self) -> Arc<CommandBook> {
        self.read_commands(SlashCommands::book).await
    }

    /// The agents a task can be given to.
    pub async fn agents(&self) -> Vec<AgentDefinition> {
        self.read_commands(SlashCommands::agents).await
    }

    /// The slash commands it has now, and what the files say. The client is taken to know them all
    /// then.
    pub async fn commands(&self) -> Commands {
        let read = |slash: &SlashCommands| Commands {
            book: slash.book(),
            list: slash.list_now(),
        };
        self.read_commands(read).await
    }

    /// Reads files where waiting for the disk holds up nobody.
    async fn read_commands<T>(&self, read: fn(&SlashCommands) -> T) -> T
    where
        T: Default + Send + 'static,
    {
        let slash = Arc::clone(self.session.slash());
        let read = tasks::spawn_blocking(move || read(&slash));
        read.await.unwrap_or_default()
    }
}

/// The slash commands of a session at one moment.
#[derive(Default)]
pub(super) struct Commands {
    pub book: Arc<CommandBook>,
    pub list: Arc<[CommandInfo]>,
}

impl Commands {
    /// Those of one kind.
    pub fn of(&self, source: CommandSource) -> impl Iterator<Item = &CommandInfo> {
        self.list.iter().filter(move |info| info.source == source)
    }

    /// The names of those that are neither built in nor templates nor skills.
    pub fn further_names(&self) -> Vec<String> {
        let wanted = self.list.iter().filter(|command| match command.source {
            CommandSource::Extension | CommandSource::Agent | CommandSource::McpPrompt => true,
            CommandSource::Builtin | CommandSource::Prompt | CommandSource::Skill => false,
        });
        wanted.map(|command| command.name.clone()).collect()
    }
}

/// A session at one moment.
pub(super) struct LiveSnapshot {
    snapshot: SessionSnapshot,
    /// The name, else the latest user message that is no command (section 11.3).
    pub display_name: Option<String>,
}

impl Deref for LiveSnapshot {
    type Target = SessionSnapshot;

    fn deref(&self) -> &SessionSnapshot {
        &self.snapshot
    }
}

impl LiveSnapshot {
    pub fn new(snapshot: SessionSnapshot) -> Self {
        let mut messages = snapshot.messages.iter().rev();
        let name = snapshot.state.name.clone().or_else(|| {
            messages.find_map(|message| {
                let said = message.as_user()?.content.text();
                let said = said.trim();
                (!said.is_empty() && !said.starts_with('/')).then(|| said.to_owned())
            })
        });
        Self {
            display_name: name.map(|name| text::one_line(&name, DISPLAY_NAME_CHARS)),
            snapshot,
        }
    }

    /// When the latest message was made, in milliseconds since the epoch.
    pub fn updated_ms(&self) -> Option<u64> {
        self.messages.last().map(|message| message.timestamp())
    }

    /// How full the context is, between zero and one.
    pub fn context_fraction(&self) -> Option<f64> {
        let context = self.state.context;
        let window = Some(context.window).filter(|window| *window > 0)?;
        Some(context.tokens? as f64 / window as f64)
    }

    pub fn file(&self) -> Option<String> {
        let file = self.state.file.as_ref()?;
        Some(file.to_string_lossy().into_owned())
    }
}
