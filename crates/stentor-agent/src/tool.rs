//! What the turn loop asks of a tool, and what a tool may ask of its surroundings.

use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;

use serde_json::{Map, Value};
use stentor_journal::message::ToolCall;
use stentor_journal::usage::Usage;
use stentor_policy::{PathRules, PermissionMode};
use tokio_util::sync::CancellationToken;

use crate::box_error::BoxError;
use crate::budget::Budget;
use crate::dialog::{Dialog, DialogAnswer};
use crate::event::EventKind;
use crate::folder_texts::FolderTexts;
use crate::jobs::{JobReport, Jobs};
use crate::left_running::LeftRunning;
use crate::model::ModelInfo;
use crate::permission::PermitFuture;
use crate::subagents::Subagents;
use crate::undo::Undo;

mod call_hooks;

pub use crate::plan::{Plan, PlanPhase, PlanStatus, PlanTask};
pub use crate::tool_output::ToolOutput;
pub use crate::tool_spec::ToolSpec;
pub use call_hooks::{CallHooks, CallVerdict, HookFuture};
pub use stentor_policy::{ToolEffect, Touches};

/// Something a model can have done.
pub trait Tool: Send + Sync {
    /// Its name, description and parameters.
    fn spec(&self) -> &ToolSpec;

    /// What a call with these arguments would touch. The permission policy decides on it.
    fn touches(&self, arguments: &Map<String, Value>, cwd: &Path) -> Touches;

    /// What a call with these arguments does to the world, where that depends on them. Never more
    /// than the effect its spec tells.
    fn effect_of(&self, _arguments: &Map<String, Value>) -> ToolEffect {
        self.spec().effect
    }

    /// What the file that a call changes would hold after it, given what it holds now (`None`: there
    /// is no file). For people who decide whether the call may run; `None` where it cannot be told.
    fn preview(&self, arguments: &Map<String, Value>, before: Option<&str>) -> Option<String> {
        let _ = (arguments, before);
        None
    }

    /// True when a call may run at the same time as the calls beside it of which this is also true.
    fn runs_together(&self) -> bool {
        self.spec().effect == ToolEffect::Reads
    }

    /// Whether a model is offered it as things are now.
    fn is_offered(&self, now: Circumstances) -> bool {
        let _ = now;
        true
    }

    /// The same tool, when what a model is told about it has changed. Asked before each model
    /// call, so it must not wait for anything.
    fn renewed(&self) -> Option<Arc<dyn Tool>> {
        None
    }

    /// The whole text that a call reads, not shortened for a model: for an agent that reads its files
    /// through the session. `None` for a tool that reads no file.
    fn whole_text(
        self: Arc<Self>,
        arguments: Map<String, Value>,
        context: ToolContext,
    ) -> Option<TextFuture> {
        drop((arguments, context));
        None
    }

    /// The shell that runs its commands: for an agent whose commands the session runs. `None` for a
    /// tool that runs none.
    fn shell(&self) -> Option<Arc<dyn Shell>> {
        None
    }

    /// The tool itself, where this one only asks somebody before it runs: for those who have asked
    /// already.
    fn without_question(&self) -> Option<Arc<dyn Tool>> {
        None
    }

    /// Does it. The arguments have been checked against the schema's required names and types.
    ///
    /// It must end soon after `context.cancel` fires and leave no process behind; what it
    /// returns then is kept as the result of the call.
    fn run(self: Arc<Self>, arguments: Map<String, Value>, context: ToolContext) -> ToolFuture;
}

/// What decides whether a tool is offered to a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Circumstances {
    /// Somebody is known to answer questions.
    pub somebody_answers: bool,
    /// What may run, in this run.
    pub mode: PermissionMode,
}

/// The work of one call.
pub type ToolFuture = Pin<Box<dyn Future<Output = ToolOutput> + Send>>;

/// A text that is being read. The error is for whoever wants it.
pub type TextFuture = Pin<Box<dyn Future<Output = Result<String, BoxError>> + Send>>;

/// Everything a running call may use.
#[derive(Clone)]
pub struct ToolContext {
    pub call_id: String,
    pub cwd: Arc<Path>,
    /// Fires when the call must end.
    pub cancel: CancellationToken,
    /// Tells the clients how far the call is.
    pub progress: Progress,
    /// Files and commands, here or in the client.
    pub place: Arc<dyn Place>,
    /// The session the call belongs to.
    pub host: Arc<dyn ToolHost>,
    /// Where output too long to show is kept whole. Exists when it is first needed.
    pub spill_dir: Arc<Path>,
    /// What the call was judged by. Where nobody judged it, nothing is settled in it.
    pub touches: Arc<Touches>,
}

/// Takes the state of a running call. Each report replaces the one before.
#[derive(Clone)]
pub struct Progress {
    report: Arc<dyn Fn(ToolOutput) + Send + Sync>,
}

impl Progress {
    /// Reports go to `report`.
    pub fn new(report: impl Fn(ToolOutput) + Send + Sync + 'static) -> Self {
        Self {
            report: Arc::new(report),
        }
    }

    /// Reports go nowhere.
    pub fn ignored() -> Self {
        Self::new(|_| {})
    }

    /// Tells how far the call is.
    pub fn report(&self, output: ToolOutput) {
        (self.report)(output);
    }
}

/// Where tools work: on this machine, or in the client that offers its files and terminals.
pub trait Place: Send + Sync {
    /// The same place for the calls of a subagent, which are not those of the session it is shown
    /// with, and may have the same ids. `None` where that makes no difference.
    fn for_subagent(&self) -> Option<Arc<dyn Place>> {
        None
    }

    /// A call was permitted and runs from now on: a place that is shown to somebody can say so.
    fn call_begins<'a>(&'a self, _call_id: &'a str) -> PlaceFuture<'a, ()> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// Reads a text file for the tool, unsaved changes included where the place knows of any.
    /// `Ok(None)` means: this place has no files of its own, read the disk.
    fn read_text<'a>(&'a self, path: &'a Path) -> PlaceFuture<'a, Option<String>>;

    /// Writes a text file for a call. `Ok(false)` means: this place has no files of its own, write the
    /// disk.
    fn write_text<'a>(
        &'a self,
        call_id: &'a str,
        path: &'a Path,
        text: &'a str,
    ) -> PlaceFuture<'a, bool>;

    /// Runs a shell command where the user sees it. `Ok(None)` means: run it as a process here.
    fn run_command<'a>(
        &'a self,
        command: &'a PlaceCommand,
        cancel: &'a CancellationToken,
    ) -> PlaceFuture<'a, Option<PlaceOutput>>;
}

/// The answer of a [`Place`]. The error is for the model.
pub type PlaceFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, BoxError>> + Send + 'a>>;

/// A shell command for a [`Place`].
#[derive(Debug, Clone)]
pub struct PlaceCommand {
    pub call_id: String,
    pub command: String,
    pub cwd: PathBuf,
    pub timeout_ms: Option<u64>,
    /// How much output is worth keeping.
    pub output_limit_bytes: u64,
}

/// What a command did in a [`Place`].
#[derive(Debug, Clone)]
pub struct PlaceOutput {
    pub output: String,
    pub truncated: bool,
    /// Absent when it was killed.
    pub exit_code: Option<i32>,
    pub timed_out: bool,
}

/// This machine: the disk and processes of our own.
#[derive(Debug, Clone, Copy, Default)]
pub struct LocalPlace;

impl Place for LocalPlace {
    fn read_text<'a>(&'a self, _: &'a Path) -> PlaceFuture<'a, Option<String>> {
        Box::pin(std::future::ready(Ok(None)))
    }

    fn write_text<'a>(&'a self, _: &'a str, _: &'a Path, _: &'a str) -> PlaceFuture<'a, bool> {
        Box::pin(std::future::ready(Ok(false)))
    }

    fn run_command<'a>(
        &'a self,
        _: &'a PlaceCommand,
        _: &'a CancellationToken,
    ) -> PlaceFuture<'a, Option<PlaceOutput>> {
        Box::pin(std::future::ready(Ok(None)))
    }
}

/// Runs shell commands on the user's behalf, beside the conversation.
pub trait Shell: Send + Sync {
    /// Runs one command to its end, or until it is cancelled. The error is text for a person.
    fn run(&self, job: ShellJob) -> ShellFuture;
}

/// The work of one command of the user.
pub type ShellFuture = Pin<Box<dyn Future<Output = Result<ShellResult, BoxError>> + Send>>;

/// A shell command to run.
#[derive(Clone)]
pub struct ShellJob {
    pub command: String,
    pub cwd: Arc<Path>,
    pub cancel: CancellationToken,
    /// Where output too long to show is kept whole.
    pub spill_dir: Arc<Path>,
    /// Where what the command leaves running is noted.
    pub left_running: Option<Arc<LeftRunning>>,
    /// Takes output as it comes, already free of escape sequences.
    pub output: Arc<dyn Fn(&str) + Send + Sync>,
}

/// What a shell command did. `output` is the tail that is worth showing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ShellResult {
    pub output: String,
    /// Absent when it was cancelled or died of a signal.
    pub exit_code: Option<i32>,
    /// The signal it died of, if that did not come from here.
    pub signal: Option<i32>,
    pub cancelled: bool,
    pub truncated: bool,
    pub total_lines: u64,
    pub total_bytes: u64,
    pub output_lines: u64,
    pub output_bytes: u64,
    /// The whole output, when `output` is only its tail.
    pub full_output_path: Option<PathBuf>,
}

/// What a tool may ask of the session it runs in.
///
/// The defaults are those of a tool that runs outside any session: nobody to ask or to tell.
pub trait ToolHost: Send + Sync {
    /// The plan as it is.
    fn plan(&self) -> Plan;

    /// Replaces the plan and tells everybody.
    fn set_plan(&self, plan: Plan);

    /// Asks a person. [`DialogAnswer::Nothing`] at once when nobody can be asked.
    fn ask(&self, dialog: Dialog) -> DialogFuture {
        drop(dialog);
        Box::pin(std::future::ready(DialogAnswer::Nothing))
    }

    /// What may run now.
    fn permission_mode(&self) -> PermissionMode {
        PermissionMode::default()
    }

    /// The mode in which the session was before it was to plan, if it was in one.
    fn mode_before_plan(&self) -> Option<PermissionMode> {
        None
    }

    /// A person has accepted a plan: the session and its run go on in this mode. False where that
    /// cannot be had.
    fn leave_plan_mode(&self, mode: PermissionMode) -> ModeFuture {
        let _ = mode;
        Box::pin(std::future::ready(false))
    }

    /// Tells everybody something.
    fn publish(&self, event: EventKind) {
        drop(event);
    }

    /// Waits until whoever is told has room for more. A tool that tells much calls this before.
    fn wait_for_capacity(&self) -> CapacityFuture {
        Box::pin(std::future::ready(()))
    }

    /// The model the session uses now.
    fn model(&self) -> Option<Arc<ModelInfo>> {
        None
    }

    /// Asks the session's permission policy, and through it perhaps a person, whether a call may
    /// run that a tool makes on its own account. The error is text for the model.
    fn permit(&self, call: Arc<ToolCall>, spec: ToolSpec, touches: Touches) -> PermitFuture {
        drop((call, spec, touches));
        Box::pin(std::future::ready(Ok(())))
    }

    /// The same for a call that was permitted already in other words: nobody is asked once more, but
    /// what the policy denies stays denied.
    fn permit_again(&self, call: Arc<ToolCall>, spec: ToolSpec, touches: Touches) -> PermitFuture {
        self.permit(call, spec, touches)
    }

    /// The rules of the session's policy about paths: a tool that walks folders leaves out what
    /// they deny.
    fn path_rules(&self) -> PathRules {
        PathRules::default()
    }

    /// The session's hooks, for a tool that makes calls on its own account: what guards the calls
    /// of the session must guard these.
    fn hooks(&self) -> Option<Arc<dyn CallHooks>> {
        None
    }

    /// What the texts of the folder say that was trusted after the session began: for a tool that
    /// has sessions of its own.
    fn folder_texts(&self) -> Option<FolderTexts> {
        None
    }

    /// Counts what a tool consumed of a model, `provider/id`, into the session.
    fn consumed(&self, model: &str, usage: Usage) {
        let _ = (model, usage);
    }

    /// What is left of the session's limits now, for a tool that uses models itself: what other tools
    /// consume at the same time is counted.
    fn budget_left(&self) -> Budget {
        Budget::default()
    }

    /// Where a tool notes what it leaves running beside the conversation. `None` where nobody
    /// would look.
    fn jobs(&self) -> Option<Arc<Jobs>> {
        None
    }

    /// Records that something began or ended in the background, and has the model told of an end.
    fn report_job(&self, report: JobReport) -> CapacityFuture {
        drop(report);
        Box::pin(std::future::ready(()))
    }

    /// The same session for what goes on when the run has ended: its questions stay open then.
    /// What it changes is recorded with `undo`. `None` where nothing may go on.
    fn in_background(&self, undo: Option<Arc<Undo>>) -> Option<Arc<dyn ToolHost>> {
        drop(undo);
        None
    }

    /// Where a tool notes what its commands leave running when they end. `None` where that may stay
    /// until this process ends.
    fn left_running(&self) -> Option<Arc<LeftRunning>> {
        None
    }

    /// Where a tool notes the subagents it has at work, so that others reach them.
    fn subagents(&self) -> Option<Arc<Subagents>> {
        None
    }

    /// Where what calls change is recorded, for a tool that has sessions of its own.
    fn undo(&self) -> Option<Arc<Undo>> {
        None
    }

    /// The session's file, or where it will be. `None` when it is kept nowhere.
    fn session_file(&self) -> Option<PathBuf> {
        None
    }
}

/// Room that is being waited for.
pub type CapacityFuture = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A mode that is being changed.
pub type ModeFuture = Pin<Box<dyn Future<Output = bool> + Send>>;

/// A question that is being asked. Dropping it withdraws the question.
pub type DialogFuture = Pin<Box<dyn Future<Output = DialogAnswer> + Send>>;
