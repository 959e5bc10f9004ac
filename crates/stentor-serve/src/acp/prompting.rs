//! Prompts, cancelling and steering (section 6).

use std::sync::Arc;
use std::sync::atomic::Ordering;

use agent_client_protocol_schema::v1 as acp;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use stentor_agent::event::Queues;
use stentor_agent::model::ModelErrorKind;
use stentor_agent::session::{QueueKind, RunOptions, SessionError};
use stentor_journal::message::{ContentBlock, text_of};
use stentor_wire::acp::{ChunkFrames, ChunkKind};
use stentor_wire::jsonrpc::{Id, code};
use tokio_util::sync::CancellationToken;

use super::commands::{self, Builtin};
use super::content;
use super::ending;
use super::error::{Handled, Refusal};
use super::open::OpenSession;
use super::run_options;
use super::turns::{Begun, Cancelled, NotBegun, Turn, trace_of};

/// What `session/prompt` and steering say.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Prompt {
    prompt: Vec<acp::ContentBlock>,
    #[serde(rename = "_meta", default)]
    meta: Option<Map<String, Value>>,
}

impl Prompt {
    /// The answer to one that was cancelled before it began.
    pub fn cancelled(&self) -> acp::PromptResponse {
        acp::PromptResponse::new(acp::StopReason::Cancelled).meta(trace_of(self.meta.as_ref()))
    }
}

impl OpenSession {
    /// Begins a turn. It is answered when it is over; only a refusal is given back.
    ///
    /// The turn is known when this returns, so that a cancel right behind it finds it.
    pub fn prompt(
        self: &Arc<Self>,
        id: Id,
        prompt: Prompt,
        cancel: CancellationToken,
        wants_login: bool,
    ) -> Handled<()> {
        let trace = trace_of(prompt.meta.as_ref());
        let begun = self.turns.begin(id, cancel, trace);
        let (turn, before) = begun.map_err(|why| match why {
            NotBegun::Busy => SessionError::Busy.into(),
            NotBegun::Closed => Refusal::unknown_session(self.lane.session.id()),
        })?;
        let open = Arc::clone(self);
        let changes = self.order.last();
        tokio::spawn(async move {
            let preparing = async {
                changes.cancelled().await;
                open.prepare(before, prompt).await
            };
            let prepared = tokio::select! {
                biased;
                () = turn.cancel.cancelled() => return open.answer_cancelled(&turn).await,
                prepared = preparing => prepared,
            };
            match prepared {
                Ok(Prepared::Builtin(command)) => open.run_builtin(&turn, command).await,
                Ok(Prepared::Run(content, options)) => {
                    open.ask(&turn, content, options, wants_login).await;
                }
                // Its session may be gone already: the client wanted it to end.
                Err(_) if turn.cancel.is_cancelled() => open.answer_cancelled(&turn).await,
                Err(refusal) => open.answer_refused(&turn, &refusal).await,
            }
        });
        Ok(())
    }

    /// Cancels what is open: all of it, or the turn of one request. False when there is none.
    pub fn cancel(&self, only: Option<&Id>) -> bool {
        match self.turns.cancel(only) {
            None => false,
            Some(Cancelled::Waiting) => true,
            Some(Cancelled::Running(run)) => {
                let session = self.lane.session.clone();
                tokio::spawn(async move {
                    // What was meant for this turn is not for the next one.
                    session.clear_queues().await.ok();
                    session.abort_run(run).await.ok();
                });
                true
            }
        }
    }

    /// Puts a message into the turn that runs. It is shown where it goes in; one that comes too
    /// late for that is taken back.
    pub async fn steer(&self, prompt: Prompt) -> Handled<Value> {
        let session = &self.lane.session;
        let Some(turn) = self.turns.current() else {
            return Ok(not_steered());
        };
        if !turn.takes_messages().await {
            return Ok(not_steered());
        }
        let model = session.state().await?.model;
        let content = content::of_prompt(prompt.prompt, model.as_deref(), &*self.place).await?;
        let text = text_of(&content, "\n");
        session.steer(content).await?;
        let is_too_late = turn.cancel.is_cancelled() || !session.state().await?.is_running;
        if is_too_late && session.remove_queued(QueueKind::Steering, &text).await? {
            return Ok(not_steered());
        }
        Ok(json!({ "outcome": "injected" }))
    }

    /// Waits for what must come first and makes the prompt ready for the model.
    async fn prepare(&self, before: Option<Arc<Turn>>, prompt: Prompt) -> Handled<Prepared> {
        let blocks = prompt.prompt;
        if let Some(before) = before {
            before.done.cancelled().await;
        }
        if let Some(acp::ContentBlock::Text(first)) = blocks.first()
            && let Some(command) = commands::builtin(&first.text)
        {
            return Ok(Prepared::Builtin(command));
        }
        let options = run_options::of_meta(prompt.meta.as_ref(), &*self.models)?;
        let model = match &options.model {
            Some(model) => Some(Arc::clone(model)),
            None => self.lane.session.state().await?.model,
        };
        let content = content::of_prompt(blocks, model.as_deref(), &*self.place).await?;
        let content = self.lane.session.expand(content).await?;
        Ok(Prepared::Run(content, options))
    }

    async fn ask(
        &self,
        turn: &Arc<Turn>,
        content: Vec<ContentBlock>,
        options: RunOptions,
        wants_login: bool,
    ) {
        match self.lane.session.prompt_with(content, options).await {
            Ok(accepted) => {
                let (run, after) = (accepted.run(), accepted.after());
                let begun = self.turns.accepted(turn, run, after);
                if begun == Begun::Cancelled {
                    let session = self.lane.session.clone();
                    tokio::spawn(async move { session.abort_run(run).await.ok() });
                }
                // The run begins here, when everybody knows whose it is.
                drop(accepted);
                if begun == Begun::Over {
                    self.answer_cancelled(turn).await;
                }
            }
            // Whatever became of it meanwhile: the client wanted it to end.
            Err(_) if turn.cancel.is_cancelled() => self.answer_cancelled(turn).await,
            Err(SessionError::Model(error))
                if wants_login && error.kind == ModelErrorKind::Auth =>
            {
                let refusal = Refusal::new(code::AUTH_REQUIRED, error.message);
                self.answer_refused(turn, &refusal).await;
            }
            // No model can be asked: a turn that failed, not a broken agent (section 6.5).
            Err(error @ (SessionError::NoModel | SessionError::Model(_))) => {
                self.answer_text(turn, &error.to_string()).await;
            }
            Err(error) => self.answer_refused(turn, &error.into()).await,
        }
    }

    async fn run_builtin(&self, turn: &Arc<Turn>, command: Builtin) {
        let session = &self.lane.session;
        turn.begun.cancel();
        let said = match command {
            Builtin::Name { name } => match session.set_name(&name).await {
                Ok(()) => format!("This session is now called {name:?}."),
                Err(error) => error.to_string(),
            },
            // They would begin a run when the compaction is over, and nobody's turn with it.
            Builtin::Compact { .. } if self.has_waiting().await => {
                "Messages from before are still waiting: send a prompt first, then compact."
                    .to_owned()
            }
            Builtin::Compact { instructions } => {
                let done = tokio::select! {
                    done = session.compact(instructions) => done,
                    () = turn.cancel.cancelled() => {
                        session.abort().await.ok();
                        return self.answer_cancelled(turn).await;
                    }
                };
                match done {
                    Ok(done) => format!(
                        "The conversation was compacted: {} tokens before, {} now.",
                        done.tokens_before, done.tokens_after
                    ),
                    Err(error) => error.to_string(),
                }
            }
        };
        self.answer_text(turn, &said).await;
    }

    async fn has_waiting(&self) -> bool {
        let state = self.lane.session.state().await;
        state.is_ok_and(|state| *state.queues != Queues::default())
    }

    /// Says something and ends the turn.
    async fn answer_text(&self, turn: &Arc<Turn>, text: &str) {
        let mut frames = Vec::new();
        let n = self.said.fetch_add(1, Ordering::Relaxed);
        let id = format!("{}-said-{n}", self.message_prefix);
        ChunkFrames::new(ChunkKind::Agent, self.lane.session.id(), &id).write(&mut frames, text);
        let stop = match turn.cancel.is_cancelled() {
            true => acp::StopReason::Cancelled,
            false => acp::StopReason::EndTurn,
        };
        ending::answer_with(&mut frames, turn, stop);
        self.answer(turn, frames).await;
    }

    /// Answers that the turn was cancelled, if nobody has answered it.
    pub async fn answer_cancelled(&self, turn: &Arc<Turn>) {
        let mut frames = Vec::new();
        ending::answer_with(&mut frames, turn, acp::StopReason::Cancelled);
        self.answer(turn, frames).await;
    }

    async fn answer_refused(&self, turn: &Arc<Turn>, refusal: &Refusal) {
        let mut frames = Vec::new();
        refusal.write(&mut frames, &turn.id);
        self.answer(turn, frames).await;
    }

    async fn answer(&self, turn: &Arc<Turn>, frames: Vec<u8>) {
        // After everything that happened, and before a later turn can begin.
        if turn.claim_answer() {
            self.lane.write(frames).await.ok();
        }
        self.turns.give_up(turn);
    }
}

fn not_steered() -> Value {
    json!({
        "outcome": "failed",
        "_meta": { "stentor": { "reason": "no turn is running; send session/prompt" } },
    })
}

enum Prepared {
    Builtin(Builtin),
    Run(Vec<ContentBlock>, RunOptions),
}
