//! The child: its one session and what is needed to talk about it.

use std::sync::Arc;
use std::time::Duration;

use stentor_agent::agent::{Agent, NewSession};
use stentor_agent::model::ModelInfo;
use stentor_agent::session::{Session, SessionOptions};
use stentor_agent::usage::Prices;
use stentor_wire::synaps::{Event, PROTOCOL_VERSION};
use tokio::task::JoinHandle;

use super::SynapsOptions;
use super::events::{self, Encoder};
use super::limits;
use super::turn::CurrentTurn;
use crate::output::{Closed, Output};
use crate::pump::{Answers, Pump};

/// One child process's state.
pub(super) struct Child {
    pub agent: Agent,
    pub options: SynapsOptions,
    pub output: Output,
    pub session: Session,
    pub answers: Answers,
    pub turn: CurrentTurn,
    /// Turns begun by this process, for correlation ids.
    pub turns: u64,
    pump: JoinHandle<Result<Encoder, Closed>>,
}

impl Child {
    /// Opens the session, which is on disk then, and says so as the first frame of all.
    pub async fn start(
        agent: Agent,
        options: SynapsOptions,
        output: Output,
    ) -> Result<Self, String> {
        let session = open(&agent, &options).map_err(|error| error.clone())?;
        let model = model_of(&session).await;
        let mut ready = Vec::new();
        events::write(
            &mut ready,
            &Event::Ready {
                session_id: session.id().to_string(),
                model,
                protocol_version: PROTOCOL_VERSION,
            },
        );
        output
            .send(&ready)
            .await
            .map_err(|closed| closed.to_string())?;
        let turn = CurrentTurn::default();
        let (answers, pump) = start_pump(&session, &output, &turn);
        Ok(Self {
            agent,
            options,
            output,
            session,
            answers,
            turn,
            turns: 0,
            pump,
        })
    }

    /// Replaces the session by a new one with the same model. Returns its id.
    pub async fn renew(&mut self) -> Result<String, String> {
        let mut options = session_options(&self.agent, &self.options)?;
        options.model = self
            .session
            .state()
            .await
            .ok()
            .and_then(|state| state.model);
        let new = NewSession {
            file_at_once: true,
            ..NewSession::default()
        };
        let session = self
            .agent
            .start_with(options, new)
            .map_err(|error| error.to_string())?;
        let id = session.id().to_string();
        let (answers, pump) = start_pump(&session, &self.output, &self.turn);
        let old = std::mem::replace(&mut self.session, session);
        self.answers = answers;
        let old_pump = std::mem::replace(&mut self.pump, pump);
        old.close().await;
        // Its last frames are out before the first of the new session.
        old_pump.await.ok();
        Ok(id)
    }

    /// Ends everything: waits for the turn as long as it may, stops it, and lets the last frames
    /// out if anybody reads them.
    pub async fn end(self, wait: Duration) {
        let Self {
            session,
            answers,
            turn,
            pump,
            ..
        } = self;
        if turn.is_some() && !wait.is_zero() {
            tokio::time::timeout(wait, until_idle(&session)).await.ok();
        }
        let winding_down = async {
            session.abort().await.ok();
            session.close().await;
            drop(answers);
            pump.await.ok();
        };
        tokio::time::timeout(limits::LAST_FRAMES, winding_down)
            .await
            .ok();
    }
}

/// The model's name as parents know it: those of the protocol's own provider by their id alone.
pub(super) fn name_of(info: &ModelInfo) -> String {
    match info.provider.as_str() {
        "anthropic" | UNKNOWN_PROVIDER => info.id.clone(),
        _ => info.full_name(),
    }
}

/// The name of the model a session uses.
pub(super) async fn model_of(session: &Session) -> String {
    let model = session.state().await.ok().and_then(|state| state.model);
    model.map_or_else(String::new, |info| name_of(&info))
}

/// The provider of a model that nobody knows. It cannot be opened, and says so when it is used.
const UNKNOWN_PROVIDER: &str = "unknown";

fn open(agent: &Agent, options: &SynapsOptions) -> Result<Session, String> {
    let session_options = session_options(agent, options)?;
    let session = match &options.resume {
        None => {
            let new = NewSession {
                file_at_once: true,
                ..NewSession::default()
            };
            agent.start_with(session_options, new)
        }
        Some(wanted) => agent.find(wanted).and_then(|path| {
            let mut session_options = session_options;
            if options.model.is_none() {
                // The model the session was left with, not the default of new ones.
                session_options.model = None;
            }
            agent.resume(&path, session_options)
        }),
    };
    session.map_err(|error| error.to_string())
}

fn session_options(agent: &Agent, options: &SynapsOptions) -> Result<SessionOptions, String> {
    let mut session = agent
        .options(&options.cwd)
        .map_err(|error| error.to_string())?;
    if let Some(name) = &options.model {
        session.model = Some(
            agent
                .models()
                .resolve(name)
                .unwrap_or_else(|| unknown(name)),
        );
    }
    if let Some(system) = &options.system {
        session.system_prompt = Arc::from(system.as_str());
    }
    // The wire cannot take text back (section 9.3).
    session.retry.after_output = false;
    Ok(session)
}

fn unknown(name: &str) -> Arc<ModelInfo> {
    Arc::new(ModelInfo {
        id: name.to_owned(),
        name: name.to_owned(),
        api: UNKNOWN_PROVIDER.to_owned(),
        provider: UNKNOWN_PROVIDER.to_owned(),
        base_url: String::new(),
        reasoning: false,
        input: Vec::new(),
        cost: Prices::default(),
        context_window: 0,
        max_tokens: 0,
        thinking_levels: Vec::new(),
    })
}

fn start_pump(
    session: &Session,
    output: &Output,
    turn: &CurrentTurn,
) -> (Answers, JoinHandle<Result<Encoder, Closed>>) {
    let encoder = Encoder { turn: turn.clone() };
    let (pump, answers) = Pump::new(session.subscribe(), output.clone(), encoder);
    (answers, tokio::spawn(pump.run()))
}

async fn until_idle(session: &Session) {
    let mut events = session.subscribe();
    loop {
        match session.state().await {
            Ok(state) if state.is_running => {}
            _ => return,
        }
        loop {
            match events.next().await {
                None => return,
                Some(event) => {
                    if let stentor_agent::event::EventKind::Settled { .. } = event.kind {
                        break;
                    }
                }
            }
        }
    }
}
