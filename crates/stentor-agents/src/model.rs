//! An agent, as a model.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures_util::stream;
use stentor_agent::model::{CallStream, Model, ModelInfo, ModelRequest, ModelStream};
use stentor_agent::tasks;
use stentor_journal::message::{ToolCall, UserContent};
use stentor_tools::process::Launcher;

use crate::PROVIDER;
use crate::answer::ChildAnswer;
use crate::calls;
use crate::configured::ConfiguredAgent;
use crate::form::AgentVariant;
use crate::idle;
use crate::session_agent::SessionAgent;
use crate::starter::ChildStarter;

/// An agent of one session. Its child is started with the first prompt and ends with it.
pub struct AgentModel {
    agent: SessionAgent,
    launcher: Launcher,
}

impl AgentModel {
    /// The agent, with the model and in the mode of its own that are named. Nothing is started yet.
    pub fn new(agent: Arc<ConfiguredAgent>, form: AgentVariant, launcher: Launcher) -> Self {
        let agent = SessionAgent {
            info: agent.info(&form),
            configured: agent,
            form,
            shared: Arc::default(),
        };
        Self { agent, launcher }
    }
}

impl Model for AgentModel {
    fn info(&self) -> &Arc<ModelInfo> {
        &self.agent.info
    }

    fn stream(&self, request: ModelRequest) -> ModelStream {
        let starter = ChildStarter {
            agent: self.agent.clone(),
            launcher: self.launcher.clone(),
        };
        let begin = AnswerState::Begin(Box::new((starter, request)));
        Box::pin(stream::unfold(begin, async |state| {
            let mut answer = match state {
                AnswerState::Begin(begin) => {
                    let (starter, request) = *begin;
                    match starter.begin(request).await {
                        Ok(answer) => Box::new(answer),
                        Err(error) => return Some((Err(error), AnswerState::Over)),
                    }
                }
                AnswerState::Answering(answer) => answer,
                AnswerState::Over => return None,
            };
            let event = answer.next().await?;
            let next = match event {
                Ok(_) => AnswerState::Answering(answer),
                Err(_) => AnswerState::Over,
            };
            Some((event, next))
        }))
    }

    fn runs_itself(&self, call: &ToolCall) -> bool {
        self.agent.shared.has_call(&call.id)
    }

    fn elsewhere(&self, call: &ToolCall) -> Option<CallStream> {
        self.runs_itself(call)
            .then(|| calls::follow(self.agent.clone(), call.id.clone()))
    }

    fn takes_messages(&self) -> bool {
        let shared = &self.agent.shared;
        !shared.busy.load(Ordering::Acquire)
            || shared.can_steer.load(Ordering::Acquire)
            || shared.takes_prompts.load(Ordering::Acquire)
    }

    fn messages_wait(&self, messages: Vec<UserContent>) {
        self.agent.shared.offer(messages);
    }

    fn switched_to(&self, info: &Arc<ModelInfo>) -> Option<Arc<dyn Model>> {
        let is_agent = info.provider == PROVIDER;
        let form = self.agent.configured.form_of(&info.id);
        let form = form.filter(|_| is_agent)?;
        Some(Arc::new(Self {
            agent: self.agent.in_form(Arc::clone(info), form),
            launcher: self.launcher.clone(),
        }))
    }

    fn changes_files(&self) -> bool {
        true
    }

    fn keeps_context(&self) -> bool {
        true
    }

    fn works_by_itself(&self) -> bool {
        self.agent.shared.works_by_itself.load(Ordering::Acquire)
    }

    fn run_ended(&self) {
        self.agent.shared.set_host(None);
        if !self.agent.shared.busy.load(Ordering::Acquire) {
            return idle::watch(&self.agent.shared);
        }
        self.agent.shared.abandoned.store(true, Ordering::Release);
        let shared = Arc::clone(&self.agent.shared);
        tasks::spawn(async move {
            let mut inbox = shared.inbox.lock().await;
            if shared.abandoned.load(Ordering::Acquire) {
                inbox.abort(&shared).await;
                drop(inbox);
                idle::watch(&shared);
            }
        });
    }
}

/// How far an answer is.
enum AnswerState {
    Begin(Box<(ChildStarter, ModelRequest)>),
    Answering(Box<ChildAnswer>),
    Over,
}
