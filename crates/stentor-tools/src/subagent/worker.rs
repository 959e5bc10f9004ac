//! One subagent at work: a session of its own from the task to the result.

use std::sync::Arc;
use std::time::Duration;

use stentor_agent::commands::AgentDefinition;
use stentor_agent::event::{EventKind, RunOutcome};
use stentor_agent::hub::Subscription;
use stentor_agent::jobs::JobStatus;
use stentor_agent::message::{ContentBlock, KnownMessage, Message};
use stentor_agent::model::ModelInfo;
use stentor_agent::policy::Policy;
use stentor_agent::session::{Session, SessionOptions, Storage};
use stentor_agent::tool::ToolContext;
use stentor_agent::usage::Usage;

use super::SubagentSetup;
use super::activity::Activity;
use super::definition;
use super::hooked::ParentsHooks;
use super::permitted::Permitted;
use super::telling::{CANCELLED, Telling};

/// One task for one agent.
pub(super) struct Job {
    pub agent: AgentDefinition,
    pub task: String,
    pub model: Option<Arc<ModelInfo>>,
    pub timeout: Option<Duration>,
}

/// What became of it.
pub(super) struct Report {
    /// Absent when it never started.
    pub id: Option<u64>,
    pub agent: String,
    pub task: String,
    /// The result, or why there is none, for the model.
    pub text: String,
    pub failed: bool,
    pub duration_ms: u64,
    pub usage: Usage,
}

/// Has the task done.
pub(super) async fn work(setup: &SubagentSetup, job: Job, context: &ToolContext) -> Report {
    let options = match options(setup, &job, context) {
        Ok(options) => options,
        Err(why) => return Report::never_started(job, why),
    };
    let mut telling = Telling::start(context, job.agent.name.clone(), job.task.clone());
    let result = match Session::start(setup.environment.clone(), options) {
        Ok(session) => {
            let result = attend(&session, &job, &mut telling).await;
            // Its tools and their processes are gone when this returns.
            session.close().await;
            result
        }
        Err(error) => Err(Failure::because(error.to_string())),
    };
    let (text, failed) = match result {
        Ok(text) => {
            telling.succeeded(&text);
            (text, false)
        }
        Err(failure) => {
            telling.failed(&failure.why, failure.status);
            (failure.for_model(&job.agent.name), true)
        }
    };
    Report {
        id: Some(telling.id()),
        agent: job.agent.name,
        task: job.task,
        text,
        failed,
        duration_ms: telling.duration_ms(),
        usage: telling.usage,
    }
}

impl Report {
    fn never_started(job: Job, why: String) -> Self {
        Self {
            id: None,
            agent: job.agent.name,
            task: job.task,
            text: why,
            failed: true,
            duration_ms: 0,
            usage: Usage::default(),
        }
    }

    /// A task that was cancelled while it waited for its turn.
    pub fn cancelled(job: Job) -> Self {
        Self::never_started(
            job,
            "The subagent was cancelled before it began.".to_owned(),
        )
    }
}

/// Why there is no result.
struct Failure {
    why: String,
    /// What it said before.
    said: Option<String>,
    /// How it counts among the jobs.
    status: JobStatus,
}

impl Failure {
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
            text.push_str("\n\nIts last words were:\n");
            text.push_str(said);
        }
        text
    }
}

/// Gives the task to the session and watches it until it is idle, or must stop.
async fn attend(session: &Session, job: &Job, telling: &mut Telling) -> Result<String, Failure> {
    let cancel = telling.cancel.clone();
    let mut events = session.subscribe();
    let task = vec![ContentBlock::text(job.task.clone())];
    let accepted = session.prompt(task).await;
    drop(accepted.map_err(|error| Failure::because(error.to_string()))?);
    let stopped = tokio::select! {
        outcome = watch(&mut events, telling) => Ok(outcome),
        () = cancel.cancelled() => Err(Failure::cancelled()),
        limit = out_of_time(job.timeout) => Err(Failure::late(limit)),
    };
    let outcome = match stopped {
        Ok(outcome) => outcome,
        Err(failure) => {
            // What the broken-off answer consumed is told while it stops.
            session.abort().await.ok();
            while let Some(event) = events.try_next() {
                count(&event.kind, &mut telling.usage);
            }
            return Err(failure);
        }
    };
    if let Ok(stats) = session.stats().await {
        // Summaries count too, and no message has them.
        telling.usage = stats.total_usage;
    }
    let said = session.last_assistant_text().await.ok().flatten();
    judge(outcome, said)
}

fn judge(outcome: Option<RunOutcome>, said: Option<String>) -> Result<String, Failure> {
    let why = match outcome {
        Some(RunOutcome::Completed | RunOutcome::OutputLimit) => {
            return said.ok_or_else(|| Failure::because("it ended without saying anything"));
        }
        Some(RunOutcome::Refused) => "the model declined the task".to_owned(),
        Some(RunOutcome::Aborted) => return Err(Failure::cancelled()),
        Some(RunOutcome::Failed { message, .. } | RunOutcome::BudgetReached { message, .. }) => {
            message
        }
        None => "its session ended".to_owned(),
    };
    Err(Failure {
        said,
        ..Failure::because(why)
    })
}

/// Tells what it does until it is idle. `None` when its session went away.
async fn watch(events: &mut Subscription, telling: &mut Telling) -> Option<RunOutcome> {
    let mut activity = Activity::default();
    let mut outcome = None;
    while let Some(event) = events.next().await {
        count(&event.kind, &mut telling.usage);
        if let Some(status) = activity.status(&event.kind) {
            telling.doing(status).await;
        }
        match &event.kind {
            EventKind::RunEnded(end) => outcome = Some(end.outcome.clone()),
            EventKind::Settled { .. } => break,
            _ => {}
        }
    }
    outcome
}

fn count(event: &EventKind, usage: &mut Usage) {
    if let EventKind::MessageEnded { message, .. } = event
        && let Message::Known(KnownMessage::Assistant(answer)) = &**message
    {
        usage.add(&answer.usage);
    }
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

fn options(
    setup: &SubagentSetup,
    job: &Job,
    context: &ToolContext,
) -> Result<SessionOptions, String> {
    let hooks = context.host.hooks();
    let brought = hooks.map(|hooks| hooks.tools()).unwrap_or_default();
    let tools = definition::tools(&job.agent, &setup.session.tools, &brought)?;
    let mut options = setup.session.clone();
    options.id = None;
    options.name = None;
    options.parent_session = None;
    options.storage = Storage::Memory;
    options.cwd = context.cwd.to_path_buf();
    options.place = Arc::clone(&context.place);
    // The parent's policy decides: each tool asks it.
    options.policy = Policy::default();
    options.tools = Permitted::all(tools, &context.host);
    options.hooks = ParentsHooks::of(&context.host, &job.agent);
    options.system_prompt = system_prompt(setup, &job.agent, context).into();
    options.model = Some(model(setup, job, context)?);
    options.budget = context.host.budget_left();
    Ok(options)
}

fn system_prompt(setup: &SubagentSetup, agent: &AgentDefinition, context: &ToolContext) -> String {
    let own = match &agent.prompt {
        Some(prompt) => format!("{prompt}\n\nWorking folder: {}", context.cwd.display()),
        None => setup.session.system_prompt.to_string(),
    };
    format!("{own}\n\n{AS_A_SUBAGENT}")
}

const AS_A_SUBAGENT: &str = "You work as a subagent: another agent gave you one task and reads \
    nothing but your last message. Nobody can answer questions. Do the task completely, then end \
    with a message that says what was found or done, with every fact the reader needs.";

/// The call's model, else the agent's, else the one the parent uses now.
fn model(
    setup: &SubagentSetup,
    job: &Job,
    context: &ToolContext,
) -> Result<Arc<ModelInfo>, String> {
    if let Some(model) = &job.model {
        return Ok(Arc::clone(model));
    }
    if let Some(wanted) = &job.agent.model {
        match setup.environment.models.resolve(wanted) {
            Some(model) => return Ok(model),
            // Definitions are often written for another program, with its names of models.
            None => tracing::info!("agent {}: no model {wanted}", job.agent.name),
        }
    }
    let parents = context.host.model().or_else(|| setup.session.model.clone());
    parents.ok_or_else(|| "No model selected.".to_owned())
}
