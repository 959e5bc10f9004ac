//! `subagent`: gives tasks to agents with a context of their own.
//!
//! An agent is a Markdown file ([`definition`] chooses), or the general one that is always there. Each
//! task is a session of its own ([`worker`]), kept beside the file of the session it works for: what
//! it does is told in a few words ([`activity`]), its start and its end exactly once ([`telling`]),
//! its calls are permitted by the session it works for ([`permitted`]) and go through its hooks
//! ([`hooked`]), and its last message is the result. One in the background is a job ([`background`])
//! whose result comes as a message. While it works others can stop it and tell it
//! something. A subagent has no subagents.

mod activity;
mod background;
mod definition;
mod hooked;
mod permitted;
mod published;
mod worker;

#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use stentor_agent::commands::{AgentDefinition, CommandBook, CommandCache, SUBAGENT_TOOL};
use stentor_agent::model::NamedBy;
use stentor_agent::session::{Environment, SessionOptions};
use stentor_agent::tool::{
    Tool, ToolContext, ToolEffect, ToolFuture, ToolOutput, ToolSpec, Touches,
};
use tokio::sync::Semaphore;

use crate::tool_error::ToolError;
use crate::{tool_call, truncation};
use worker::{SubagentReport, SubagentTask};

/// The name of the tool.
pub const SUBAGENT: &str = SUBAGENT_TOOL;

/// The provider whose models are other programs.
const AGENT_PROVIDER: &str = "agent";

/// Tasks of one call.
const MAX_TASKS: usize = 16;

/// Subagents of one session at work at the same time. The others wait.
const MAX_AT_ONCE: usize = 8;

/// Characters of an agent's description that the model is told.
const DESCRIPTION_CHARS: usize = 300;

/// What subagents are made of.
#[derive(Clone)]
pub struct SubagentSetup {
    pub environment: Environment,
    /// What their sessions are started with. `tools` are those an agent may have; the system
    /// prompt is the general agent's, `commands` have the others; storage, policy and place are
    /// not used.
    pub session: SessionOptions,
}

/// The tool. Its description names the agents that have been seen; it is renewed when there are
/// others.
pub fn subagent_tool(setup: SubagentSetup) -> Arc<dyn Tool> {
    let shelf = setup.session.commands.clone().unwrap_or_default();
    let book = shelf.seen();
    Arc::new(SubagentTool {
        spec: spec(&book.all_agents()),
        book,
        setup: Arc::new(setup),
        shelf,
        at_once: Arc::new(Semaphore::new(MAX_AT_ONCE)),
    })
}

struct SubagentTool {
    spec: ToolSpec,
    /// What the description was made of.
    book: Arc<CommandBook>,
    setup: Arc<SubagentSetup>,
    shelf: Arc<CommandCache>,
    at_once: Arc<Semaphore>,
}

#[derive(Debug, Deserialize)]
struct Arguments {
    task: Option<String>,
    agent: Option<String>,
    model: Option<String>,
    /// Seconds.
    timeout: Option<f64>,
    tasks: Option<Vec<Task>>,
    #[serde(default)]
    background: bool,
}

#[derive(Debug, Deserialize)]
struct Task {
    task: String,
    agent: Option<String>,
    model: Option<String>,
    timeout: Option<f64>,
}

impl Tool for SubagentTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn touches(&self, _: &Map<String, Value>, _: &Path) -> Touches {
        Touches::default()
    }

    fn runs_together(&self) -> bool {
        true
    }

    fn renewed(&self) -> Option<Arc<dyn Tool>> {
        let book = self.shelf.seen();
        if book.agents == self.book.agents {
            return None;
        }
        Some(Arc::new(Self {
            spec: spec(&book.all_agents()),
            book,
            setup: Arc::clone(&self.setup),
            shelf: Arc::clone(&self.shelf),
            at_once: Arc::clone(&self.at_once),
        }))
    }

    fn run(self: Arc<Self>, arguments: Map<String, Value>, context: ToolContext) -> ToolFuture {
        tool_call::outcome(async move {
            let arguments: Arguments = tool_call::arguments(SUBAGENT, arguments)?;
            let is_background = arguments.background;
            let tasks = tasks(arguments)?;
            // An agent that was written a moment ago counts.
            let book = self.shelf.look();
            // All are understood before the first begins.
            let jobs = tasks
                .into_iter()
                .enumerate()
                .map(|(index, task)| self.job(index, task, &book))
                .collect::<Result<Vec<SubagentTask>, ToolError>>()?;
            if is_background {
                return background::start(&self, jobs, &context).await;
            }
            let reports = join_all(jobs.into_iter().map(|job| self.take_turn(job, &context)));
            Ok(output(&reports.await))
        })
    }
}

impl SubagentTool {
    fn job(&self, index: usize, task: Task, book: &CommandBook) -> Result<SubagentTask, ToolError> {
        let name = task.agent.as_deref().unwrap_or(AgentDefinition::GENERAL);
        let agent = definition::find(book, name);
        let agent = agent.or_else(|why| {
            let program = self.other_program(book, name);
            program.ok_or_else(|| why.or_programs(self.other_programs()))
        });
        let agent = agent.map_err(|why| ToolError::refused(why.to_string()))?;
        let model = match &task.model {
            None => None,
            Some(name) => {
                let models = &self.setup.environment.models;
                let found = models.resolve(name, NamedBy::Others);
                let refusal = || {
                    ToolError::refused(format!(
                        "There is no model `{name}`. Leave it out to use the current one."
                    ))
                };
                Some(found.ok_or_else(refusal)?)
            }
        };
        Ok(SubagentTask {
            agent,
            task: task.task,
            model,
            timeout: limit(task.timeout)?,
            index,
            number: None,
        })
    }

    /// The agent of a name that is another program: the general one, with that program as its model.
    fn other_program(&self, book: &CommandBook, name: &str) -> Option<AgentDefinition> {
        let models = &self.setup.environment.models;
        let model = models.find(AGENT_PROVIDER, name, NamedBy::Others)?;
        let general = definition::find(book, AgentDefinition::GENERAL).ok()?;
        Some(AgentDefinition {
            name: name.to_owned(),
            model: Some(model.full_name()),
            ..general
        })
    }

    /// The names of the other programs that can take a task.
    fn other_programs(&self) -> Vec<String> {
        let models = self.setup.environment.models.available().into_iter();
        let programs = models.filter(|model| model.provider == AGENT_PROVIDER);
        // Those with one of their own models, or in one of their modes, are the same programs.
        let plain = programs.filter(|model| !model.id.contains(['/', '@']));
        plain.map(|model| model.id.clone()).collect()
    }

    async fn take_turn(&self, job: SubagentTask, context: &ToolContext) -> SubagentReport {
        let turn = tokio::select! {
            turn = self.at_once.acquire() => turn,
            () = context.cancel.cancelled() => return SubagentReport::cancelled(job),
        };
        match turn {
            Ok(_turn) => worker::work(&self.setup, job, context).await,
            Err(_closed) => SubagentReport::cancelled(job),
        }
    }
}

fn tasks(arguments: Arguments) -> Result<Vec<Task>, ToolError> {
    let tasks = match (arguments.task, arguments.tasks) {
        (Some(task), None) => vec![Task {
            task,
            agent: arguments.agent,
            model: arguments.model,
            timeout: arguments.timeout,
        }],
        (None, Some(mut tasks)) => {
            for task in &mut tasks {
                task.agent = task.agent.take().or_else(|| arguments.agent.clone());
                task.model = task.model.take().or_else(|| arguments.model.clone());
                task.timeout = task.timeout.or(arguments.timeout);
            }
            tasks
        }
        (None, None) => return Err(ToolError::refused("subagent needs a task, or tasks.")),
        (Some(_), Some(_)) => {
            return Err(ToolError::refused("Give either task or tasks, not both."));
        }
    };
    if tasks.is_empty() || tasks.len() > MAX_TASKS {
        return Err(ToolError::refused(format!(
            "Give between 1 and {MAX_TASKS} tasks, not {}.",
            tasks.len()
        )));
    }
    if tasks.iter().any(|task| task.task.trim().is_empty()) {
        return Err(ToolError::refused(
            "Every task needs a description of what to do.",
        ));
    }
    Ok(tasks)
}

fn limit(seconds: Option<f64>) -> Result<Option<Duration>, ToolError> {
    let Some(seconds) = seconds else {
        return Ok(None);
    };
    match Duration::try_from_secs_f64(seconds) {
        Ok(limit) if !limit.is_zero() => Ok(Some(limit)),
        _ => Err(ToolError::refused(format!(
            "Invalid timeout: {seconds}. It must be a positive number of seconds."
        ))),
    }
}

fn output(reports: &[SubagentReport]) -> ToolOutput {
    let text = match reports {
        [only] => shown(only),
        several => {
            let parts = several.iter().enumerate().map(|(index, report)| {
                let title = report.task.lines().next().unwrap_or_default();
                format!(
                    "## {}. {}: {title}\n\n{}",
                    index + 1,
                    report.agent,
                    shown(report)
                )
            });
            parts.collect::<Vec<_>>().join("\n\n")
        }
    };
    let subagents: Vec<Value> = reports.iter().map(details).collect();
    let mut output = ToolOutput::text(text).with_details(json!({ "subagents": subagents }));
    output.is_error = reports.iter().all(|report| report.failed);
    output
}

fn shown(report: &SubagentReport) -> String {
    let kept = truncation::head(&report.text, truncation::MAX_LINES);
    if !kept.truncated {
        return report.text.clone();
    }
    let most = report
        .text
        .get(
            ..report
                .text
                .floor_char_boundary(truncation::MAX_BYTES as usize),
        )
        .unwrap_or_default();
    // One line that is longer than everything allowed is cut inside.
    let text = if kept.content.is_empty() {
        most
    } else {
        &kept.content
    };
    format!(
        "{text}\n\n[Truncated: the full report has {} lines and {} bytes.]",
        kept.total_lines, kept.total_bytes
    )
}

fn details(report: &SubagentReport) -> Value {
    json!({
        "id": report.id,
        "agent": report.agent,
        "task": report.task,
        "failed": report.failed,
        "durationMs": report.duration_ms,
        "usage": report.usage,
    })
}

fn spec(agents: &[AgentDefinition]) -> ToolSpec {
    let mut description = "Give a task to an agent that works on it with a context of its own and \
        reports back. Use it for work whose details you do not need to see, and for independent \
        tasks at the same time: several calls, or one call with tasks, run together. The agent \
        knows nothing of this conversation, so the task must say everything. Agents:"
        .to_owned();
    for agent in agents {
        let about: String = agent.description.chars().take(DESCRIPTION_CHARS).collect();
        description.push_str(&format!("\n- {}: {about}", agent.name));
    }
    let text = |says: &str| json!({ "type": "string", "description": says });
    let task = text("What is to be done, with everything the agent has to know");
    let agent = text("The name of the agent; general when left out");
    let model = text("The model it uses; its own or the current one when left out");
    let timeout = json!({ "type": "number", "description": "Seconds after which it is stopped" });
    ToolSpec {
        name: SUBAGENT.into(),
        label: SUBAGENT.into(),
        description,
        parameters: json!({
            "type": "object",
            "properties": {
                "task": task,
                "agent": agent,
                "model": model,
                "timeout": timeout,
                "background": {
                    "type": "boolean",
                    "description": "Do not wait: a message brings the report, and the job tool reads, steers and stops it"
                },
                "tasks": {
                    "type": "array",
                    "description": "Instead of task: several tasks that are worked on together",
                    "items": {
                        "type": "object",
                        "properties": { "task": task, "agent": agent, "model": model, "timeout": timeout },
                        "required": ["task"]
                    }
                }
            },
            "required": []
        }).into(),
        // It touches nothing itself, and what its agent touches is asked call by call.
        effect: ToolEffect::Nothing,
    }
}
