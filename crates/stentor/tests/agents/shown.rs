//! A child of the client library, and its events as lines that can be compared.

use std::sync::{Arc, Mutex};

use stentor_client::{
    AgentDialect, AgentEvent, ChildAgent, Events, Host, HostFuture, HostPermissionAnswer,
    Permission, StartOptions, TurnEndReason,
};

use crate::world::World;

/// The words with which the program speaks a dialect.
pub fn words(dialect: AgentDialect) -> &'static [&'static str] {
    match dialect {
        AgentDialect::Acp => &["acp", "--permission-mode", "ask"],
        AgentDialect::Omp => &["--mode", "rpc", "--permission-mode", "ask"],
        AgentDialect::Psi => &["--rpc-edn", "--permission-mode", "ask"],
        AgentDialect::Synaps => &["rpc"],
    }
}

/// How the built program is started in a world, as a child that speaks `dialect`.
pub fn options(world: &World, dialect: AgentDialect) -> StartOptions {
    let home = format!("HOME={}", world.path("home").display());
    let path = format!("PATH={}", std::env::var("PATH").unwrap_or_default());
    let program = env!("CARGO_BIN_EXE_stentor").to_owned();
    let start = ["env".to_owned(), "-i".to_owned(), home, path, program];
    let words = words(dialect).iter().map(|word| (*word).to_owned());
    let mut options = StartOptions::new(dialect, start.into_iter().chain(words));
    options.cwd = Some(world.path("work"));
    options
}

/// Answers every permission with the same, and remembers what was asked.
#[derive(Clone, Default)]
pub struct Answering {
    pub denies: bool,
    /// Denies once it has been asked so often.
    pub denies_after: Option<usize>,
    pub asked: Arc<Mutex<Vec<String>>>,
}

impl Host for Answering {
    fn permission(&self, permission: Permission) -> HostFuture<'_, HostPermissionAnswer> {
        let asked = format!("{:?} {}", permission.tool, permission.input);
        let mut all = self.asked.lock().unwrap();
        let is_late = self.denies_after.is_some_and(|count| all.len() >= count);
        all.push(asked);
        let answer = match self.denies || is_late {
            true => permission.refuse(),
            false => permission.allow_once(),
        };
        Box::pin(std::future::ready(answer))
    }
}

/// A child that is ready.
pub async fn start(world: &World, dialect: AgentDialect, host: Answering) -> (ChildAgent, Events) {
    ChildAgent::start(options(world, dialect), host)
        .await
        .unwrap()
}

/// Everything up to the end of the turn, a line each. Deltas that follow each other are one line.
pub async fn turn(events: &mut Events) -> Vec<String> {
    let mut lines = Vec::new();
    loop {
        let event = events.next().await.expect("the turn has not ended");
        let last = matches!(event, AgentEvent::TurnEnded(_));
        lines.extend(line(event));
        if last {
            return lines;
        }
    }
}

/// The same with everything that is no part of an answer: titles of calls, what calls first report, what
/// is told of the session. How often the context is told differs from run to run: its size counts.
pub async fn fine_turn(events: &mut Events) -> Vec<String> {
    let mut lines = Vec::new();
    let mut reported = Vec::new();
    let mut context = 0;
    loop {
        let event = events.next().await.expect("the turn has not ended");
        let last = matches!(event, AgentEvent::TurnEnded(_));
        let more = match &event {
            AgentEvent::ToolCalled(call) => {
                call.title.as_ref().map(|title| format!("title {title}"))
            }
            AgentEvent::ToolProgress { id, output }
                if !output.text.is_empty() && !reported.contains(id) =>
            {
                reported.push(id.clone());
                let first = output.text.lines().next().unwrap_or_default();
                Some(format!("progress {id} {first}"))
            }
            AgentEvent::Usage(usage) => {
                let (input, output) = (usage.input_tokens, usage.output_tokens);
                Some(format!("usage {input}+{output}"))
            }
            AgentEvent::Context(now) => {
                context = now.size;
                None
            }
            AgentEvent::Title(title) => Some(format!("session {title}")),
            AgentEvent::Model(model) => Some(format!("model {model}")),
            AgentEvent::Mode(mode) => Some(format!("mode {mode}")),
            AgentEvent::Notice { text, .. } => Some(format!("notice {text}")),
            AgentEvent::AnswerEnded => Some("answer over".to_owned()),
            _ => None,
        };
        if last && context > 0 {
            lines.push(format!("context of {context}"));
        }
        lines.extend(line(event));
        lines.extend(more);
        if last {
            return lines;
        }
    }
}

/// Waits for an event.
pub async fn until(events: &mut Events, fits: impl Fn(&AgentEvent) -> bool) {
    while !fits(&events.next().await.expect("it has not come")) {}
}

/// An event as a line; none for what differs from run to run.
fn line(event: AgentEvent) -> Option<String> {
    Some(match event {
        AgentEvent::TurnStarted(_) => "turn".to_owned(),
        AgentEvent::Text(text) => format!("text {text}"),
        AgentEvent::Thinking(text) => format!("thinking {text}"),
        AgentEvent::ToolCalled(call) => format!("call {} {}", call.name, call.input),
        AgentEvent::ToolStarted { id } => format!("start {id}"),
        AgentEvent::ToolEnded {
            id,
            output,
            is_error,
        } => {
            let failed = if is_error { "failed" } else { "ended" };
            let diffs: Vec<_> = output.diffs.iter().map(|diff| &diff.new).collect();
            let diffs = if diffs.is_empty() {
                String::new()
            } else {
                format!(" {diffs:?}")
            };
            format!("{failed} {id} {}{diffs}", output.text.trim_end())
        }
        AgentEvent::UserMessage(text) => format!("user {text}"),
        AgentEvent::Plan(entries) => format!("plan of {}", entries.len()),
        AgentEvent::Lost { why } => format!("lost {why}"),
        AgentEvent::TurnEnded(end) => {
            let reason = match end.reason {
                TurnEndReason::Failed(why) => format!("Failed {why}"),
                other => format!("{other:?}"),
            };
            let usage = end.usage.unwrap_or_default();
            let (input, output) = (usage.input_tokens, usage.output_tokens);
            format!("end {reason} {input}+{output}")
        }
        AgentEvent::AnswerEnded
        | AgentEvent::ToolProgress { .. }
        | AgentEvent::Usage(_)
        | AgentEvent::Context(_)
        | AgentEvent::Title(_)
        | AgentEvent::Model(_)
        | AgentEvent::Mode(_)
        | AgentEvent::Notice { .. }
        | AgentEvent::Exited(_) => return None,
    })
}
