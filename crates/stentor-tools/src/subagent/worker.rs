//! One subagent at work: a session of its own from the task to the result.

use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use stentor_agent::box_error::BoxError;
use stentor_agent::commands::AgentDefinition;
use stentor_agent::event::{EventKind, RunOutcome, Subagent, SubagentSource};
use stentor_agent::hub::Subscription;
use stentor_agent::jobs::JobStatus;
use stentor_agent::model::{ModelInfo, NamedBy};
use stentor_agent::plan_mode::IN_PLAN_MODE;
use stentor_agent::session::{Session, SessionOptions, Storage};
use stentor_agent::subagents::RunningSubagent;
use stentor_agent::tool::ToolContext;
use stentor_agent::undo::UndoSource;
use stentor_journal::message::ContentBlock;
use stentor_journal::store;
use stentor_journal::usage::Usage;
use stentor_policy::{PermissionMode, Policy};
use tokio_util::sync::CancellationToken;

use super::SubagentSetup;
use super::definition::{self, AgentUnusable};
use super::hooked::ParentsHooks;
use super::permitted::PermittedTool;
use super::published::{self, CANCELLED, PublishedSubagent};

/// One task for one agent.
pub(super) struct SubagentTask {
    pub agent: AgentDefinition,
    pub task: String,
    pub model: Option<Arc<ModelInfo>>,
    pub timeout: Option<Duration>,
    /// Which task of its call it is, from zero.
    pub index: usize,
    /// Where its number goes, for who reaches it in the background.
    pub number: Option<Arc<OnceLock<u64>>>,
}

/// What became of it.
pub(super) struct SubagentReport {
    /// Absent when it never started.
    pub id: Option<u64>,
    pub agent: String,
    pub task: String,
    /// The result, or why there is none, for the model.
    pub text: String,
    pub failed: bool,
    /// How it counts among the jobs.
    pub status: JobStatus,
    pub duration_ms: u64,
    pub usage: Usage,
}

/// Has the task done.
pub(super) async fn work(
    setup: &SubagentSetup,
    job: SubagentTask,
    context: &ToolContext,
) -> SubagentReport {
    let session = match start(setup, &job, context) {
        Ok(session) => session,
        Err(why) => return SubagentReport::never_started(job, why.to_string()),
    };
    let id = published::new_id();
    if let Some(number) = &job.number {
        number.set(id).ok();
    }
    let cancel = context.cancel.child_token();
    let everybody = context.host.subagents();
    // Whoever hears of its start reaches it, and it is gone only when its end was told: this is
    // made before and dropped after.
    let running = everybody.map(|all| all.enter(id, session.clone(), cancel.clone()));
    let agent = Subagent {
        id,
        name: job.agent.name.clone(),
        source: source(&job.agent, &context.cwd),
        task: job.task.clone(),
        call_id: context.call_id.clone(),
        index: job.index,
        session_id: Arc::clone(session.id()),
        session_file: session.state().await.ok().and_then(|state| state.file),
    };
    let host = Arc::clone(&context.host);
    let progress = context.progress.clone();
    let own_job = job.number.is_none().then(|| cancel.clone());
    let mut telling = PublishedSubagent::start(host, progress, agent, own_job);
    let worker = Worker {
        session: &session,
        running: running.as_ref(),
        cancel: &cancel,
    };
    let result = worker.attend(&job, &mut telling).await;
    // Its tools and their processes are gone when this returns.
    session.close().await;
    let (text, status) = match result {
        Ok(text) => {
            telling.succeeded(&text);
            (text, JobStatus::Completed)
        }
        Err(failure) => {
            telling.failed(&failure.why, failure.status);
            (failure.for_model(&job.agent.name), failure.status)
        }
    };
    SubagentReport {
        id: Some(telling.id()),
        agent: job.agent.name,
        task: job.task,
        text,
        failed: status != JobStatus::Completed,
        status,
        duration_ms: telling.duration_ms(),
        usage: telling.usage,
    }
}

/// A definition of the project is below its folder, one of the user elsewhere.
fn source(agent: &AgentDefinition, project: &Path) -> SubagentSource {
    match &agent.path {
        None => SubagentSource::Builtin,
        Some(path) if path.starts_with(project) => SubagentSource::Project,
        Some(_) => SubagentSource::User,
    }
}

impl SubagentReport {
    fn never_started(job: SubagentTask, why: String) -> Self {
        Self {
            id: None,
            agent: job.agent.name,
            task: job.task,
            text: why,
            failed: true,
            status: JobStatus::Failed,
            duration_ms: 0,
            usage: Usage::default(),
        }
    }

    /// A task that was cancelled while it waited for its turn.
    pub fn cancelled(job: SubagentTask) -> Self {
        let why = "The subagent was cancelled before it began.".to_owned();
        Self {
            status: JobStatus::Cancelled,
            ..Self::never_started(job, why)
        }
    }
}

/// Why there is no result.
struct SubagentFailure {
    why: String,
    /// What it said before.
    said: Option<String>,
    /// How it counts among the jobs.
    status: JobStatus,
}

impl SubagentFailure {
    fn because(why: impl Into<String>) -> Self {
        Self {
            why: why.into(),
            said: None,
            status: JobStatus::Failed,
        }
    }

    fn cancelled() -> Self {
        Self {
            status: JobStatus::Cancelled,
            ..Self::because(CANCELLED)
        }
    }

    fn late(limit: Duration) -> Self {
        let seconds = limit.as_secs_f64();
        Self {
            status: JobStatus::TimedOut,
            ..Self::because(format!(
                "it was stopped after {seconds} seconds, its time limit"
            ))
        }
    }

    fn for_model(&self, agent: &str) -> String {
        let mut text = format!("The subagent `{agent}` failed: {}", self.why);
        if let Some(said) = &self.said {
            text.push_str("\n\nIts last message was:\n");
            text.push_str(said);
        }
        text
    }
}

/// A subagent's session and how others reach it.
struct Worker<'a> {
    session: &'a Session,
    running: Option<&'a RunningSubagent>,
    cancel: &'a CancellationToken,
}

impl Worker<'_> {
    /// Gives the task to the session and watches it until it is idle, or must stop.
    async fn attend(
        &self,
        job: &SubagentTask,
        telling: &mut PublishedSubagent,
    ) -> Result<String, SubagentFailure> {
        let mut events = self.session.subscribe();
        let mut content = vec![ContentBlock::text(job.task.clone())];
        let mut out_of_time = Box::pin(out_of_time(job.timeout));
        let outcome = loop {
            let accepted = self.session.prompt(content).await;
            drop(accepted.map_err(|error| SubagentFailure::because(error.to_string()))?);
            let outcome = tokio::select! {
                outcome = watch(&mut events, telling) => outcome,
                () = self.cancel.cancelled() => {
                    self.stop(&mut events, telling).await;
                    return Err(SubagentFailure::cancelled());
                }
                limit = &mut out_of_time => {
                    self.stop(&mut events, telling).await;
                    return Err(SubagentFailure::late(limit));
                }
            };
            match self.told_too_late().await {
                Some(more) => content = more,
                None => break outcome,
            }
        };
        if let Ok(stats) = self.session.stats().await {
            // Summaries count too, and no message has them.
            telling.usage = stats.total_usage;
        }
        let said = self.session.last_assistant_text().await.ok().flatten();
        judge(outcome, said)
    }

    /// Stops it. What happens until it has stopped is told, and what it consumed counts.
    async fn stop(&self, events: &mut Subscription, telling: &mut PublishedSubagent) {
        self.session.abort().await.ok();
        while let Some(event) = events.try_next() {
            telling.hear(&event).await;
        }
    }

    /// What it was told when its run was over already: it goes on with that.
    async fn told_too_late(&self) -> Option<Vec<ContentBlock>> {
        let running = self.running?;
        running.close().await;
        let waiting = self.session.clear_queues().await.ok()?;
        let texts = waiting.steering.into_iter().chain(waiting.follow_up);
        let content: Vec<ContentBlock> = texts.map(ContentBlock::text).collect();
        if content.is_empty() {
            return None;
        }
        running.open(self.session.clone()).await;
        Some(content)
    }
}

fn judge(outcome: Option<RunOutcome>, said: Option<String>) -> Result<String, SubagentFailure> {
    let why = match outcome {
        Some(RunOutcome::Completed | RunOutcome::OutputLimit) => {
            return said
                .ok_or_else(|| SubagentFailure::because("it ended without saying anything"));
        }
        Some(RunOutcome::Refused) => "the model declined the task".to_owned(),
        Some(RunOutcome::Aborted) => return Err(SubagentFailure::cancelled()),
        Some(RunOutcome::Failed { message, .. } | RunOutcome::BudgetReached { message, .. }) => {
            message
        }
        None => "its session ended".to_owned(),
    };
    Err(SubagentFailure {
        said,
        ..SubagentFailure::because(why)
    })
}

/// Tells what it does until it is idle. `None` when its session went away.
async fn watch(events: &mut Subscription, telling: &mut PublishedSubagent) -> Option<RunOutcome> {
    let mut outcome = None;
    while let Some(event) = events.next().await {
        telling.hear(&event).await;
        match &event.kind {
            EventKind::RunEnded(end) => outcome = Some(end.outcome.clone()),
            EventKind::Settled { .. } => break,
            _ => {}
        }
    }
    outcome
}

/// Waits for the end of the time there is, and says how long that was.
async fn out_of_time(limit: Option<Duration>) -> Duration {
    match limit {
        Some(limit) => {
            tokio::time::sleep(limit).await;
            limit
        }
        None => std::future::pending().await,
    }
}

fn start(
    setup: &SubagentSetup,
    job: &SubagentTask,
    context: &ToolContext,
) -> Result<Session, BoxError> {
    let options = options(setup, job, context)?;
    Ok(Session::start(setup.environment.clone(), options)?)
}

fn options(
    setup: &SubagentSetup,
    job: &SubagentTask,
    context: &ToolContext,
) -> Result<SessionOptions, AgentUnusable> {
    let hooks = context.host.hooks();
    let brought = hooks.map(|hooks| hooks.tools()).unwrap_or_default();
    let tools = definition::tools(&job.agent, &setup.session.tools, &brought)?;
    let mut options = setup.session.clone();
    if let Some(texts) = context.host.folder_texts() {
        options.system_prompt = texts.system_prompt;
        options.rules = texts.rules;
    }
    options.id = None;
    options.name = None;
    let parent = context.host.session_file();
    options.storage = match &parent {
        Some(file) => Storage::Folder(store::subagents_folder(file)),
        None => Storage::Memory,
    };
    options.parent_session = parent.map(|file| file.to_string_lossy().into_owned());
    options.cwd = context.cwd.to_path_buf();
    let own_place = context.place.for_subagent();
    options.place = own_place.unwrap_or_else(|| Arc::clone(&context.place));
    // The parent's policy decides: each tool asks it.
    options.policy = Policy::decided_elsewhere(context.host.path_rules());
    options.tools = PermittedTool::all(tools, &context.host);
    options.permits = Some(Arc::clone(&context.host));
    options.hooks = ParentsHooks::of(&context.host, &job.agent)
        .into_iter()
        .collect();
    options.system_prompt = system_prompt(&options.system_prompt, &job.agent, context).into();
    options.model = Some(model(setup, job, context)?);
    // Nobody would wait for it.
    options.wake_on_job_end = false;
    options.budget = context.host.budget_left();
    options.left_running = context.host.left_running();
    options.undo = context.host.undo().map(UndoSource::Of);
    Ok(options)
}

fn system_prompt(usual: &str, agent: &AgentDefinition, context: &ToolContext) -> String {
    let own = match &agent.prompt {
        Some(prompt) => format!("{prompt}\n\nWorking folder: {}", context.cwd.display()),
        None => usual.to_owned(),
    };
    let plans = context.host.permission_mode() == PermissionMode::Plan;
    let mode = if plans {
        format!("\n\n{IN_PLAN_MODE}")
    } else {
        String::new()
    };
    format!("{own}\n\n{AS_A_SUBAGENT}{mode}")
}

const AS_A_SUBAGENT: &str = "You work as a subagent: another agent gave you one task and reads \
    nothing but your last message. Nobody can answer questions. Do the task completely, then end \
    with a message that says what was found or done, with every fact the reader needs.";

/// The call's model, else the agent's, else the one the parent uses now.
fn model(
    setup: &SubagentSetup,
    job: &SubagentTask,
    context: &ToolContext,
) -> Result<Arc<ModelInfo>, AgentUnusable> {
    if let Some(model) = &job.model {
        return Ok(Arc::clone(model));
    }
    if let Some(wanted) = &job.agent.model {
        match setup.environment.models.resolve(wanted, NamedBy::Others) {
            Some(model) => return Ok(model),
            // Definitions are often written for another program, with its names of models.
            None => tracing::info!("agent {}: no model {wanted}", job.agent.name),
        }
    }
    let parents = context.host.model().or_else(|| setup.session.model.clone());
    parents.ok_or(AgentUnusable::NoModel)
}
