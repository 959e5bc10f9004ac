//! What a session is started with.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use stentor_journal::clock::SharedClock;
use stentor_journal::store::JournalStore;
use stentor_policy::{AnswerStore, PermissionMode, Policy};

use super::hook_source::HookSource;
use super::servers::SessionServers;
use crate::budget::Budget;
use crate::commands::CommandCache;
use crate::event::{InterruptMode, QueueMode};
use crate::fallback::FallbackSettings;
use crate::left_running::LeftRunning;
use crate::model::{ModelInfo, ModelRegistry, ThinkingLevel};
use crate::rules::RuleBook;
use crate::sandbox::SandboxState;
use crate::system_prompt::Instructions;
use crate::tool::{Place, Shell, Tool, ToolHost};
use crate::turn::RetryPolicy;
use crate::undo::UndoSource;

/// How long one answer may become unless something else is said: many times what the models with
/// the largest answers can write, and small beside the memory of a machine.
pub const MAX_ANSWER_BYTES: u64 = 32 << 20;

/// What all sessions of a process share.
#[derive(Clone)]
pub struct Environment {
    pub models: Arc<dyn ModelRegistry>,
    pub shell: Arc<dyn Shell>,
    pub clock: SharedClock,
    /// Where the journals are.
    pub journals: Arc<dyn JournalStore>,
    /// Where output too long to show is kept whole.
    pub spill_dir: Arc<Path>,
}

/// What one session is started with.
#[derive(Clone)]
pub struct SessionOptions {
    /// The session's id; a new one when absent.
    pub id: Option<String>,
    pub cwd: PathBuf,
    pub system_prompt: Arc<str>,
    /// What the client wants its model to be told beside or instead of the system prompt.
    pub instructions: Option<Instructions>,
    /// The model; a resumed session's own when absent.
    pub model: Option<Arc<ModelInfo>>,
    /// What a resumed session goes on with that names no model, or one that is not known here.
    pub usual_model: Option<Arc<ModelInfo>>,
    /// Whoever opens the session reports a model that was replaced, as its state has it, so that it is
    /// not logged as well.
    pub reports_replaced_model: bool,
    pub thinking: Option<ThinkingLevel>,
    pub tools: Vec<Arc<dyn Tool>>,
    pub place: Arc<dyn Place>,
    pub storage: Storage,
    /// The folders whose session files may say that a session goes on with a server on this machine:
    /// where the user's own sessions are kept, and a project that is trusted.
    pub trusted_session_folders: Vec<PathBuf>,
    /// The session file this one was derived from.
    pub parent_session: Option<String>,
    /// Pictures stay in the entries of the file, however large: for programs that look nowhere
    /// else.
    pub inline_pictures: bool,
    /// Opening a stored session writes nothing to its file: what it notes by itself then is written
    /// before the first thing that somebody adds.
    pub opens_untouched: bool,
    pub name: Option<String>,
    pub policy: Policy,
    /// In a resumed session the permission mode counts that was chosen in it, where one was. One that
    /// allows less than the policy's counts without this, too.
    pub keeps_permission_mode: bool,
    /// Somebody named the permission mode for this session: it counts also where one was chosen in a
    /// resumed session that allows less.
    pub names_permission_mode: bool,
    /// A resumed session counts its messages on, so that no number means another message than before: it
    /// has clients that outlive it.
    pub counts_messages_on: bool,
    /// Keeps "always" answers for later sessions; without it they are gone with the session.
    pub answer_store: Option<Arc<dyn AnswerStore>>,
    /// What the tools that run commands are held back from. It is shown here, and enforced elsewhere.
    pub sandbox: Arc<SandboxState>,
    pub steering_mode: QueueMode,
    pub follow_up_mode: QueueMode,
    pub interrupt_mode: InterruptMode,
    /// Steering messages wait while a run makes its first model call; else that call takes them.
    pub steering_waits_for_first_call: bool,
    /// The end of a job in the background begins a run where nothing runs; else it waits for the next
    /// prompt.
    pub wake_on_job_end: bool,
    pub auto_compaction: bool,
    pub auto_retry: bool,
    pub compaction: CompactionSettings,
    pub retry: RetryPolicy,
    /// The models that step in for one that fails.
    pub fallback: FallbackSettings,
    pub budget: Budget,
    /// The models that cycling goes through; all available ones when empty.
    pub scoped_models: Vec<ScopedModel>,
    /// Rules that watch what the model writes.
    pub rules: Arc<RuleBook>,
    /// How often a run that stops with things to do is reminded of them.
    pub plan_reminders: u32,
    /// How long one answer of a model may become; a longer one is ended there with an error.
    pub max_answer_bytes: u64,
    /// The JSON schema that the last answer of a run is to match.
    pub output_schema: Option<Arc<Value>>,
    pub plan_clearing: PlanClearing,
    /// The prompt templates, skills and agents of files.
    pub commands: Option<Arc<CommandCache>>,
    /// What looks on and steps in, such as extensions.
    pub hooks: Vec<Arc<dyn HookSource>>,
    /// Servers that bring tools of their own.
    pub servers: Option<SessionServers>,
    /// Where what commands leave running is noted; absent for a session that ends its own with it.
    pub left_running: Option<Arc<LeftRunning>>,
    /// The session whose policy decides about calls that a tool or a model makes on its own account;
    /// its own when absent. What this session consumes counts into it, too.
    pub permits: Option<Arc<dyn ToolHost>>,
    /// Where what it changes is recorded, so that it can be undone.
    pub undo: Option<UndoSource>,
}

/// When what is done leaves the plan.
#[derive(Clone)]
pub struct PlanClearing {
    /// What the user wants, if somebody said so; looked up when something is done. The inner
    /// nothing means never.
    pub wanted: Arc<dyn Fn() -> Option<Option<Duration>> + Send + Sync>,
    /// What counts where nobody said.
    pub otherwise: Option<Duration>,
}

impl Default for PlanClearing {
    fn default() -> Self {
        Self {
            wanted: Arc::new(|| None),
            otherwise: None,
        }
    }
}

impl PlanClearing {
    /// How long after it is done something leaves the plan; `None` when it stays.
    pub fn after(&self) -> Option<Duration> {
        (self.wanted)().unwrap_or(self.otherwise)
    }
}

/// What one run has otherwise than its session. The session stays as it is.
#[derive(Debug, Clone, Default)]
pub struct RunOptions {
    pub model: Option<Arc<ModelInfo>>,
    pub thinking: Option<ThinkingLevel>,
    /// Counts where it is more careful than the session's.
    pub permission_mode: Option<PermissionMode>,
}

/// Where a session is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Storage {
    /// Nowhere: it is gone with the process.
    Memory,
    /// In a file in this folder, from the first accepted prompt on.
    Folder(PathBuf),
    /// In a file in this folder, at once.
    FolderAtOnce(PathBuf),
    /// In this file, which is not there yet or empty, from the first accepted prompt on.
    File(PathBuf),
}

/// When and how much is compacted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompactionSettings {
    /// The context is compacted when less than this is left of the model's window.
    pub reserve_tokens: u64,
    /// About this much of the newest messages is kept as it is.
    pub keep_recent_tokens: u64,
}

impl Default for CompactionSettings {
    fn default() -> Self {
        Self {
            reserve_tokens: 16_384,
            keep_recent_tokens: 20_000,
        }
    }
}

/// A model that cycling goes through, perhaps with a thinking level of its own.
#[derive(Debug, Clone, PartialEq)]
pub struct ScopedModel {
    pub model: Arc<ModelInfo>,
    pub thinking: Option<ThinkingLevel>,
}

impl SessionOptions {
    /// Has a resumed session go on with the model of its file. The one in these options is the one
    /// of new sessions, and counts only where the file names none that is known here.
    pub fn prefer_stored_model(&mut self) {
        self.usual_model = self.model.take();
    }

    /// Has the session kept in this file, if it is kept at all.
    pub fn keep_at(&mut self, file: PathBuf) {
        if self.storage != Storage::Memory {
            self.storage = Storage::File(file);
        }
    }

    /// Has the session work in these folders, too: its policy, its servers and its undo know them.
    pub fn add_folders(&mut self, folders: &[PathBuf]) {
        self.policy = self.policy.clone().with_roots(folders.to_vec());
        if let Some(servers) = &mut self.servers {
            servers.additional_folders = folders.to_vec();
        }
        if let Some(UndoSource::Own(store)) = &mut self.undo {
            **store = store.including(folders);
        }
    }

    /// Options with every default, for a session in `cwd` that is kept in memory.
    pub fn in_memory(cwd: impl Into<PathBuf>, tools: Vec<Arc<dyn Tool>>) -> Self {
        let cwd = cwd.into();
        Self {
            id: None,
            system_prompt: Arc::from(""),
            instructions: None,
            model: None,
            usual_model: None,
            reports_replaced_model: false,
            thinking: None,
            tools,
            place: Arc::new(crate::tool::LocalPlace),
            storage: Storage::Memory,
            trusted_session_folders: Vec::new(),
            parent_session: None,
            inline_pictures: false,
            opens_untouched: false,
            name: None,
            policy: Policy::default(),
            keeps_permission_mode: false,
            names_permission_mode: false,
            counts_messages_on: false,
            answer_store: None,
            sandbox: Arc::default(),
            steering_mode: QueueMode::default(),
            follow_up_mode: QueueMode::default(),
            interrupt_mode: InterruptMode::default(),
            steering_waits_for_first_call: false,
            wake_on_job_end: true,
            auto_compaction: true,
            auto_retry: true,
            compaction: CompactionSettings::default(),
            retry: RetryPolicy::default(),
            fallback: FallbackSettings::default(),
            budget: Budget::default(),
            scoped_models: Vec::new(),
            rules: Arc::default(),
            plan_reminders: 0,
            max_answer_bytes: MAX_ANSWER_BYTES,
            output_schema: None,
            plan_clearing: PlanClearing::default(),
            commands: None,
            hooks: Vec::new(),
            servers: None,
            left_running: None,
            permits: None,
            undo: None,
            cwd,
        }
    }
}
