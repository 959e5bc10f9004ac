//! The child: its one session, from `ready` to the exit code.

use std::collections::HashSet;
use std::io;
use std::sync::Arc;

use serde_json::Value;
use stentor_agent::agent::{Agent, AgentError};
use stentor_agent::event::EventKind;
use stentor_agent::model::ModelInfo;
use stentor_agent::session::{Session, SessionError};
use stentor_agent::tasks;
use stentor_wire::synaps::{Event, PROTOCOL_VERSION};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::SynapsOptions;
use super::cursor::{self, FrameNumbering};
use super::events::{self, SynapsEncoder};
use super::limits;
use super::opening::{self, name_of};
use super::turn::Turns;
use crate::output::{Closed, Output};
use crate::pump::{Answers, Pump};
use crate::signals::EndSignals;

/// One child process's state.
pub(super) struct SynapsChild {
    pub agent: Agent,
    pub options: SynapsOptions,
    pub session: Session,
    pub answers: Answers,
    pub turns: Turns,
    /// Turns begun by this process, for correlation ids.
    pub turn_count: u64,
    /// A model that is not the session's own yet: it was chosen while a turn was running, which
    /// keeps its own (section 8.1), or it cannot be used.
    pub next_model: Option<Arc<ModelInfo>>,
    /// The abort that is being answered.
    pub last_abort: Option<JoinHandle<()>>,
    output: Output,
    /// Fires when an extension wants the program to end.
    pub shutdown: CancellationToken,
    /// Absent when it has ended by itself.
    pump: Option<JoinHandle<Result<SynapsEncoder, Closed>>>,
}

/// Why the child ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChildEnding {
    Shutdown,
    /// The parent closed one of the pipes.
    EndOfInput,
    Signal,
    /// Something inside broke.
    Failure,
}

/// Why a child could not begin.
#[derive(Debug, thiserror::Error)]
pub enum SynapsError {
    #[error("the parent cannot be served: {0}")]
    Parent(io::Error),
    #[error(transparent)]
    Session(#[from] AgentError),
    #[error(transparent)]
    Closed(#[from] Closed),
}

impl SynapsChild {
    /// Opens the session, which is on disk then, and says so as the first frame of all.
    pub async fn start(
        agent: Agent,
        options: SynapsOptions,
        output: Output,
    ) -> Result<Self, SynapsError> {
        let session = opening::open(&agent, &options)?;
        let model = session.state().await.ok().and_then(|state| state.model);
        let mut ready = Vec::new();
        events::write(
            &mut ready,
            &Event::Ready {
                session_id: session.id().to_string(),
                model: model.map_or_else(String::new, |info| name_of(&info)),
                protocol_version: PROTOCOL_VERSION,
            },
        );
        let wanted = options.cursor.as_ref();
        let after = wanted.and_then(|wanted| wanted.after.as_ref());
        let (events, outcome) = cursor::subscribe(&session, after);
        let is_resumed = matches!(outcome, Some(Ok(())));
        if wanted.is_some() {
            cursor::put_into(&mut ready, &cursor::first(&events, outcome));
        }
        output.send(&ready).await?;
        let turns = Turns::default();
        let shutdown = CancellationToken::new();
        let numbering = wanted.map(|_| FrameNumbering::new(events.cursor()));
        let mut encoder = encoder(&session, numbering, &turns, &shutdown);
        // Who goes on from a cursor has seen what began before it.
        let comes_into_turn = events.begins_with_what_goes_on() && !is_resumed;
        encoder.seen_calls = comes_into_turn.then(HashSet::new);
        let (pump, answers) = Pump::new(events, output.clone(), encoder);
        Ok(Self {
            agent,
            options,
            session,
            answers,
            turns,
            turn_count: 0,
            next_model: None,
            last_abort: None,
            output,
            shutdown,
            pump: Some(tasks::spawn(pump.run())),
        })
    }

    /// Where the session is now, for a parent that wants to know it.
    pub fn cursor(&self) -> Option<Value> {
        let is_wanted = self.options.cursor.is_some();
        is_wanted.then(|| cursor::to_json(&self.session.cursor()))
    }

    /// The model the next turn uses.
    pub async fn model(&self) -> Option<Arc<ModelInfo>> {
        match &self.next_model {
            Some(next) => Some(Arc::clone(next)),
            None => self.session.state().await.ok()?.model,
        }
    }

    /// Its name; nothing when there is none.
    pub async fn model_name(&self) -> String {
        let model = self.model().await;
        model.map_or_else(String::new, |info| name_of(&info))
    }

    /// Makes the model that was chosen for the next turn the session's own. It stays chosen if it
    /// cannot be used.
    pub async fn take_over_model(&mut self) -> Result<(), SessionError> {
        if let Some(next) = &self.next_model {
            self.session.set_model(&next.provider, &next.id).await?;
            self.next_model = None;
        }
        Ok(())
    }

    /// Replaces the session by a new one with the same model and system prompt. Returns its id.
    pub async fn renew(&mut self) -> Result<String, AgentError> {
        let mut options = opening::session_options(&self.agent, &self.options)?;
        options.model = self.model().await.or(options.model);
        let session = opening::start(&self.agent, options)?;
        let id = session.id().to_string();
        let (events, _) = cursor::subscribe(&session, None);
        let wanted = self.options.cursor.as_ref();
        let numbering = wanted.map(|_| FrameNumbering::new(events.cursor()));
        let encoder = encoder(&session, numbering, &self.turns, &self.shutdown);
        let (pump, answers) = Pump::new(events, self.output.clone(), encoder);
        let old = std::mem::replace(&mut self.session, session);
        self.answers = answers;
        let old_pump = self.pump.replace(tasks::spawn(pump.run()));
        self.next_model = None;
        old.close().await;
        // Its last frames are out before the first of the new session.
        if let Some(old_pump) = old_pump {
            old_pump.await.ok();
        }
        Ok(id)
    }

    /// Waits until frames can no longer be written, which is the end.
    pub async fn pumped_out(&mut self) -> ChildEnding {
        let Some(pump) = &mut self.pump else {
            return std::future::pending().await;
        };
        let ended = pump.await;
        self.pump = None;
        match ended {
            Ok(Err(Closed)) => ChildEnding::EndOfInput,
            // The server has closed it.
            Ok(Ok(_)) if self.session.is_shared() => ChildEnding::EndOfInput,
            // The session is gone or the encoder broke, and nobody asked for either.
            Ok(Ok(_)) | Err(_) => ChildEnding::Failure,
        }
    }

    /// Ends everything: lets the turn finish if it may, stops it, saves, and lets the last frames
    /// out if anybody reads them. Returns the exit code.
    pub async fn end(mut self, ending: ChildEnding, signals: &mut EndSignals) -> u8 {
        if ending == ChildEnding::Shutdown && self.turns.in_flight() {
            let idle = until_idle(&self.session);
            signals.wind_down(limits::SHUTDOWN_WAIT, idle).await;
        }
        let last_frames = match ending {
            ChildEnding::Shutdown | ChildEnding::EndOfInput => limits::LAST_FRAMES,
            ChildEnding::Signal | ChildEnding::Failure => limits::LAST_FRAMES_AFTER_SIGNAL,
        };
        let session = self.session.clone();
        let winding_down = async {
            if !session.is_shared() {
                session.abort().await.ok();
                if let Err(error) = self.take_over_model().await {
                    tracing::warn!(%error, "the last model choice is not stored with the session");
                }
            }
            session.close().await;
        };
        let wound_down = signals.wind_down(limits::WINDING_DOWN, winding_down);
        if !wound_down.await {
            tracing::warn!("the session did not end in time");
        }
        let Self {
            answers,
            pump,
            output,
            ..
        } = self;
        drop(answers);
        if ending == ChildEnding::Failure {
            let mut frame = Vec::new();
            let message = "the agent had an internal error and exits".to_owned();
            events::write(&mut frame, &Event::Error { id: None, message });
            output.try_send(&frame).ok();
        }
        let letting_out = async {
            if let Some(pump) = pump {
                pump.await.ok();
            }
            output.finish().await;
        };
        // Who does not read the last frames does not get them.
        signals.wind_down(last_frames, letting_out).await;
        match ending {
            ChildEnding::Failure => limits::INTERNAL_FAILURE,
            ChildEnding::Shutdown | ChildEnding::EndOfInput | ChildEnding::Signal => 0,
        }
    }
}

fn encoder(
    session: &Session,
    numbering: Option<FrameNumbering>,
    turns: &Turns,
    shutdown: &CancellationToken,
) -> SynapsEncoder {
    SynapsEncoder {
        turns: turns.clone(),
        shutdown: shutdown.clone(),
        is_shared: session.is_shared(),
        foreign: None,
        numbering,
        seen_calls: None,
    }
}

async fn until_idle(session: &Session) {
    let mut events = session.subscribe();
    while session.state().await.is_ok_and(|state| state.is_running) {
        while let Some(event) = events.next().await {
            if let EventKind::Settled { .. } = event.kind {
                break;
            }
        }
    }
}
