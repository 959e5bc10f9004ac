//! An agent, as a model.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures_util::stream;
use stentor_agent::model::{CallStream, Model, ModelInfo, ModelRequest, ModelStream};
use stentor_agent::tasks;
use stentor_journal::message::ToolCall;
use stentor_tools::process::Launcher;

use crate::PROVIDER;
use crate::answer::Answer;
use crate::calls;
use crate::configured::ConfiguredAgent;
use crate::inbox::Shared;
use crate::starter::Starter;

/// An agent of one session. Its child is started with the first prompt and ends with it.
pub struct AgentModel {
    info: Arc<ModelInfo>,
    agent: Arc<ConfiguredAgent>,
    /// Which of its own models it shall use, if somebody chose one.
    child_model: Option<String>,
    launcher: Launcher,
    shared: Arc<Shared>,
}

impl AgentModel {
    /// The agent, with one of its own models if one is named. Nothing is started yet.
    pub fn new(agent: Arc<ConfiguredAgent>, child_model: Option<&str>, launcher: Launcher) -> Self {
        Self {
            info: agent.info(child_model),
            agent,
            child_model: child_model.map(str::to_owned),
            launcher,
            shared: Arc::default(),
        }
    }

    fn starter(&self) -> Starter {
        Starter {
            name: self.info.full_name(),
            agent: Arc::clone(&self.agent),
            child_model: self.child_model.clone(),
            has_levels: self.info.reasoning,
            launcher: self.launcher.clone(),
            shared: Arc::clone(&self.shared),
        }
    }
}

impl Model for AgentModel {
    fn info(&self) -> &Arc<ModelInfo> {
        &self.info
    }

    fn stream(&self, request: ModelRequest) -> ModelStream {
        let starter = self.starter();
        let begin = State::Begin(Box::new((starter, request)));
        Box::pin(stream::unfold(begin, async |state| {
            let mut answer = match state {
                State::Begin(begin) => {
                    let (starter, request) = *begin;
                    match starter.begin(request).await {
                        Ok(answer) => Box::new(answer),
                        Err(error) => return Some((Err(error), State::Over)),
                    }
                }
                State::Answering(answer) => answer,
                State::Over => return None,
            };
            let event = answer.next().await?;
            let next = match event {
                Ok(_) => State::Answering(answer),
                Err(_) => State::Over,
            };
            Some((event, next))
        }))
    }

    fn elsewhere(&self, call: &ToolCall) -> Option<CallStream> {
        let is_own = self.shared.has_call(&call.id);
        is_own.then(|| calls::follow(Arc::clone(&self.shared), call.id.clone()))
    }

    fn takes_messages(&self) -> bool {
        !self.shared.busy.load(Ordering::Acquire) || self.shared.can_steer.load(Ordering::Acquire)
    }

    fn switched_to(&self, info: &Arc<ModelInfo>) -> Option<Arc<dyn Model>> {
        let is_agent = info.provider == PROVIDER;
        let child_model = self.agent.model_of(&info.id).filter(|_| is_agent)?;
        Some(Arc::new(Self {
            info: Arc::clone(info),
            agent: Arc::clone(&self.agent),
            child_model: child_model.map(str::to_owned),
            launcher: self.launcher.clone(),
            shared: Arc::clone(&self.shared),
        }))
    }

    fn changes_files(&self) -> bool {
        true
    }

    fn run_ended(&self) {
        if !self.shared.busy.load(Ordering::Acquire) {
            return;
        }
        self.shared.abandoned.store(true, Ordering::Release);
        let shared = Arc::clone(&self.shared);
        tasks::spawn(async move {
            let mut inbox = shared.inbox.lock().await;
            if shared.abandoned.load(Ordering::Acquire) {
                inbox.abort(&shared).await;
            }
        });
    }
}

/// How far an answer is.
enum State {
    Begin(Box<(Starter, ModelRequest)>),
    Answering(Box<Answer>),
    Over,
}
