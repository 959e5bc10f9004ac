//! What a child does, as an answer of a model: until it runs tools, or its turn is over.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::Value;
use stentor_agent::live::LiveBlockKind;
use stentor_agent::model::{Finish, ModelError, ModelErrorKind, ModelEvent};
use stentor_client::{
    AgentContextUse, AgentDialect, AgentEvent, AgentPrompt, ChildAgent, TurnEnd, TurnEndReason,
    TurnOrigin, TurnUsage,
};
use stentor_journal::message::StopReason;
use stentor_journal::usage::{Cost, Usage};
use tokio::sync::OwnedMutexGuard;
use tokio::time::timeout;

use crate::inbox::Inbox;
use crate::session_agent::SessionAgent;

/// How long the turn may take to begin that a message began which came just after the last one had
/// ended.
const NEXT_TURN: Duration = Duration::from_secs(1);

/// The longest title of a call that is stored.
const INTENT_BYTES: usize = 512;

/// An answer that is being given.
pub(crate) struct ChildAnswer {
    agent: SessionAgent,
    inbox: OwnedMutexGuard<Inbox>,
    out: VecDeque<Result<ModelEvent, ModelError>>,
    open: Option<LiveBlockKind>,
    has_calls: bool,
    has_usage: bool,
    usage: Usage,
    is_over: bool,
}

impl ChildAnswer {
    /// The answer to what has been given to a child, in its own session of that id.
    pub fn new(
        agent: SessionAgent,
        inbox: OwnedMutexGuard<Inbox>,
        response_id: Option<String>,
    ) -> Self {
        // Its child may have said more of itself than the session knew.
        let known = agent.configured.info(&agent.form);
        let learned = (*known != *agent.info).then_some(ModelEvent::Became(known));
        let started = ModelEvent::Started { response_id };
        Self {
            agent,
            inbox,
            out: learned.into_iter().chain([started]).map(Ok).collect(),
            open: None,
            has_calls: false,
            has_usage: false,
            usage: Usage::default(),
            is_over: false,
        }
    }

    /// An answer that says nothing: what began the run has been shown by now.
    pub fn empty(
        agent: SessionAgent,
        inbox: OwnedMutexGuard<Inbox>,
        response_id: Option<String>,
    ) -> Self {
        let mut answer = Self::new(agent, inbox, response_id);
        answer.finish(StopReason::Stop, false);
        answer
    }

    /// The next event.
    pub async fn next(&mut self) -> Option<Result<ModelEvent, ModelError>> {
        loop {
            if let Some(event) = self.out.pop_front() {
                return Some(event);
            }
            if self.is_over {
                return None;
            }
            match self.heard().await {
                Ok(event) => self.take(event).await,
                Err(limit) => self.fail(format!(
                    "it has said nothing for {} s (`idle_timeout`)",
                    limit.as_secs()
                )),
            }
        }
    }

    /// What the child says next, or how long it has said nothing, where that is too long.
    async fn heard(&mut self) -> Result<Option<AgentEvent>, Duration> {
        let Some(limit) = self.agent.configured.settings().idle_limit() else {
            return Ok(self.inbox.next().await);
        };
        loop {
            match timeout(limit, self.inbox.next()).await {
                Ok(event) => return Ok(event),
                // It waits for an answer, and so does everybody.
                Err(_) if self.agent.shared.is_asking() => {}
                Err(_) => return Err(limit),
            }
        }
    }

    async fn take(&mut self, event: Option<AgentEvent>) {
        match event {
            Some(AgentEvent::Text(text)) => self.write(LiveBlockKind::Text, text),
            Some(AgentEvent::Thinking(text)) => self.write(LiveBlockKind::Thinking, text),
            Some(AgentEvent::ToolCalled(call)) => {
                self.close();
                self.has_calls = true;
                self.agent.shared.add_call(&call.id);
                self.inbox.open_calls.insert(call.id.clone());
                let arguments = match &call.input {
                    Value::Object(_) => call.input.to_string(),
                    Value::Null => "{}".to_owned(),
                    other => serde_json::json!({ "input": other }).to_string(),
                };
                let kind = LiveBlockKind::ToolCall {
                    id: call.id,
                    name: call.name,
                };
                self.put(ModelEvent::BlockStarted(kind));
                if let Some(title) = call.title.as_deref().and_then(intent) {
                    self.put(ModelEvent::Intent(title));
                }
                self.put(ModelEvent::Delta(arguments));
                self.put(ModelEvent::BlockEnded { signature: None });
            }
            Some(
                event @ (AgentEvent::ToolStarted { .. }
                | AgentEvent::ToolProgress { .. }
                | AgentEvent::ToolEnded { .. }),
            ) => {
                if self.has_calls {
                    self.inbox.put_back(event);
                    self.finish(StopReason::ToolUse, false);
                }
            }
            Some(AgentEvent::AnswerEnded) => {
                if self.has_calls {
                    self.finish(StopReason::ToolUse, false);
                } else {
                    // Another answer of the same turn is another block.
                    self.close();
                }
            }
            Some(AgentEvent::UserMessage(_)) => self.inbox.owed = self.inbox.owed.saturating_sub(1),
            Some(AgentEvent::Usage(usage)) => {
                self.has_usage = true;
                self.usage.add(&converted(&usage));
                self.put(ModelEvent::Usage(self.usage));
            }
            Some(AgentEvent::Context(context)) => self.context(context),
            Some(AgentEvent::Plan(entries)) => {
                self.agent.show_plan(entries);
                self.put(ModelEvent::Nothing);
            }
            Some(AgentEvent::Notice { text, .. } | AgentEvent::Lost { why: text }) => {
                self.agent.warn(&text);
                self.put(ModelEvent::Nothing);
            }
            Some(AgentEvent::Model(model)) => {
                self.inbox.model = Some(model);
                self.put(ModelEvent::Nothing);
            }
            Some(AgentEvent::Mode(mode)) => self.mode_changed(mode),
            Some(AgentEvent::Title(title)) => self.put(ModelEvent::Titled(title)),
            Some(AgentEvent::TurnStarted(origin)) => {
                self.turn_started(origin);
                self.put(ModelEvent::Nothing);
            }
            Some(AgentEvent::TurnEnded(end)) => self.turn_ended(end).await,
            Some(AgentEvent::Exited(exit)) => self.gone(exit.to_string()),
            None => self.gone("the agent has ended".to_owned()),
        }
    }

    /// How full the context of the child is, how much fits, and what it has cost.
    fn context(&mut self, context: AgentContextUse) {
        if context.size > 0 && context.size != self.agent.info.context_window {
            let form = self.agent.form.clone();
            self.agent.configured.learn_window(&form, context.size);
            let info = self.agent.configured.info(&form);
            self.agent = self.agent.in_form(Arc::clone(&info), form);
            self.put(ModelEvent::Became(info));
        }
        if context.used > 0 {
            self.usage.context = Some(context.used);
        }
        if let Some(cost) = context.cost_usd {
            self.usage.cost.total += self.inbox.cost.spent(cost);
        }
        self.put(ModelEvent::Usage(self.usage));
    }

    /// The child has gone into another mode by itself: that is another form of the session's model.
    fn mode_changed(&mut self, mode: String) {
        let agent = self.inbox.agent().cloned();
        let Some(agent) = agent.filter(|_| self.inbox.mode.as_ref() != Some(&mode)) else {
            return self.put(ModelEvent::Nothing);
        };
        let opened = agent.opened();
        let begun_in = match &self.agent.configured.settings().mode {
            Some(mode) => Some(mode),
            None => opened.mode.as_ref(),
        };
        let chosen = Some(&*mode).filter(|_| begun_in != Some(&mode));
        let form = self.agent.form.in_mode(chosen, &opened.modes);
        let info = self.agent.configured.info(&form);
        self.inbox.mode = Some(mode);
        self.agent = self.agent.in_form(Arc::clone(&info), form);
        self.put(ModelEvent::Became(info));
    }

    fn write(&mut self, kind: LiveBlockKind, text: String) {
        if self.has_calls {
            // It goes on while its tools have not begun: their answer is complete.
            let event = match kind {
                LiveBlockKind::Thinking => AgentEvent::Thinking(text),
                _ => AgentEvent::Text(text),
            };
            self.inbox.put_back(event);
            return self.finish(StopReason::ToolUse, false);
        }
        if self.open.as_ref() != Some(&kind) {
            self.close();
            self.open = Some(kind.clone());
            self.put(ModelEvent::BlockStarted(kind));
        }
        self.put(ModelEvent::Delta(text));
    }

    fn turn_started(&mut self, origin: TurnOrigin) {
        if origin == TurnOrigin::Prompt {
            self.inbox.awaits_start = false;
        }
        let dialect = self.agent.configured.settings().dialect.dialect();
        let is_own = origin == TurnOrigin::Own && !self.inbox.awaits_start;
        let takes_prompts = is_own && dialect == AgentDialect::Acp;
        let shared = &self.agent.shared;
        shared.takes_prompts.store(takes_prompts, Ordering::Release);
    }

    async fn turn_ended(&mut self, end: TurnEnd) {
        self.count(end.usage.as_ref());
        if self.inbox.awaits_start {
            // It was a turn of its own; what it was asked it answers in the next.
            if let TurnEndReason::Failed(why) = end.reason {
                self.agent.warn(&why);
            }
            return self.close();
        }
        // A message came when this turn had ended and before we knew: it began another.
        if std::mem::take(&mut self.inbox.owed) > 0 && end.reason == TurnEndReason::Completed {
            match timeout(NEXT_TURN, self.inbox.next()).await {
                Ok(Some(AgentEvent::TurnStarted(origin))) => {
                    self.turn_started(origin);
                    return self.close();
                }
                Ok(Some(other)) => self.inbox.put_back(other),
                Ok(None) | Err(_) => {}
            }
        }
        if matches!(end.reason, TurnEndReason::Completed | TurnEndReason::Limit)
            && let Some(message) = self.inbox.unsteered.take()
            && self.prompt(message).await
        {
            return self.close();
        }
        self.inbox.given.clear();
        self.agent.shared.busy.store(false, Ordering::Release);
        match end.reason {
            TurnEndReason::Completed => self.finish(StopReason::Stop, false),
            TurnEndReason::Limit => self.finish(StopReason::Length, false),
            TurnEndReason::Refused => self.finish(StopReason::Stop, true),
            TurnEndReason::Aborted => self.fail("the agent was stopped".to_owned()),
            TurnEndReason::Failed(why) => {
                // A child that is gone is started again by the next prompt.
                if self.inbox.agent().is_some_and(ChildAgent::has_ended) {
                    self.inbox.drop_child();
                }
                self.fail(why + &self.agent.shared.hint());
            }
        }
    }

    /// Counts what a turn consumed: told answer by answer, or once for all of them. An answer may be
    /// that of several turns.
    fn count(&mut self, usage: Option<&TurnUsage>) {
        let is_counted = self.inbox.cost.end_turn();
        let has_usage = std::mem::take(&mut self.has_usage);
        if let (false, Some(usage)) = (has_usage, usage) {
            let mut usage = converted(usage);
            if is_counted {
                usage.cost = Cost::default();
            }
            self.usage.add(&usage);
        }
    }

    /// Gives the child what it could not be steered with, as a prompt of its own.
    async fn prompt(&mut self, message: AgentPrompt) -> bool {
        let Some(child) = self.inbox.agent().cloned() else {
            return false;
        };
        let prompted = self.agent.prompt(&mut self.inbox, &child, message);
        match prompted.await {
            Ok(()) => true,
            Err(error) => {
                let why = format!("a message could not be given to it: {error}");
                self.agent.warn(&why);
                false
            }
        }
    }

    fn gone(&mut self, why: String) {
        self.agent.shared.busy.store(false, Ordering::Release);
        self.inbox.drop_child();
        self.fail(why + &self.agent.shared.hint());
    }

    fn close(&mut self) {
        if self.open.take().is_some() {
            self.put(ModelEvent::BlockEnded { signature: None });
        }
    }

    fn finish(&mut self, stop_reason: StopReason, refused: bool) {
        self.close();
        self.is_over = true;
        self.put(ModelEvent::Finished(Finish {
            stop_reason,
            refused,
            usage: self.usage,
        }));
    }

    fn fail(&mut self, why: String) {
        self.is_over = true;
        let text = format!("{}: {why}", self.agent.name());
        self.out
            .push_back(Err(ModelError::new(ModelErrorKind::Other, text)));
    }

    fn put(&mut self, event: ModelEvent) {
        self.out.push_back(Ok(event));
    }
}

/// The title of a call, as the one line that is stored with it.
fn intent(title: &str) -> Option<String> {
    let line = title.lines().find(|line| !line.trim().is_empty())?.trim();
    let end = line.floor_char_boundary(INTENT_BYTES);
    line.get(..end).map(str::to_owned)
}

fn converted(usage: &TurnUsage) -> Usage {
    let counted = Usage {
        input: usage.input_tokens,
        output: usage.output_tokens,
        cache_read: usage.cache_read_tokens,
        cache_write: usage.cache_write_tokens,
        cost: Cost {
            total: usage.cost_usd.unwrap_or_default(),
            ..Cost::default()
        },
        ..Usage::default()
    };
    Usage {
        total_tokens: counted.all_tokens(),
        ..counted
    }
}
