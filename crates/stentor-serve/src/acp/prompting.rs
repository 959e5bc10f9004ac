//! Prompts, cancelling and steering (section 6).

use std::sync::Arc;
use std::sync::atomic::Ordering;

use agent_client_protocol_schema::v1 as acp;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use stentor_agent::message::ContentBlock;
use stentor_agent::model::ModelErrorKind;
use stentor_agent::session::SessionError;
use stentor_wire::acp::{ChunkFrames, ChunkKind};
use stentor_wire::jsonrpc::{Id, code};

use super::commands::{self, Builtin};
use super::content;
use super::ending;
use super::error::{Handled, Refusal};
use super::open::OpenSession;
use super::turns::{Cancelled, Turn, trace_of};

/// What `session/prompt` and steering say.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Prompt {
    prompt: Vec<acp::ContentBlock>,
    #[serde(rename = "_meta", default)]
    meta: Option<Map<String, Value>>,
}

impl OpenSession {
    /// Begins a turn. It is answered when it is over; only a refusal is given back.
    ///
    /// The turn is known when this returns, so that a cancel right behind it finds it.
    pub fn prompt(self: &Arc<Self>, id: Id, prompt: Prompt, wants_login: bool) -> Handled<()> {
        let trace = trace_of(prompt.meta.as_ref());
        let Some((turn, before)) = self.turns.begin(id, trace) else {
            return Err(SessionError::Busy.into());
        };
        let open = Arc::clone(self);
        let changes = self.order.last();
        tokio::spawn(async move {
            let preparing = async {
                changes.cancelled().await;
                open.prepare(before, prompt.prompt).await
            };
            let prepared = tokio::select! {
                biased;
                () = turn.cancel.cancelled() => return open.answer_cancelled(&turn).await,
                prepared = preparing => prepared,
            };
            match prepared {
                Ok(Prepared::Builtin(command)) => open.run_builtin(&turn, command).await,
                Ok(Prepared::Content(content)) => open.ask(&turn, content, wants_login).await,
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
            Some(Cancelled::Running) => {
                let session = self.lane.session.clone();
                tokio::spawn(async move { session.abort().await.ok() });
                true
            }
        }
    }

    /// Puts a message into the turn that runs.
    pub async fn steer(&self, prompt: Prompt) -> Handled<Value> {
        if !self.turns.is_busy() {
            return Ok(json!({
                "outcome": "failed",
                "_meta": { "stentor": { "reason": "no turn is running; send session/prompt" } },
            }));
        }
        let model = self.lane.session.state().await?.model;
        let content = content::of_prompt(prompt.prompt, model.as_deref(), &*self.place).await?;
        let content = self.lane.session.expand(content).await?;
        self.lane.session.steer(content).await?;
        Ok(json!({ "outcome": "injected" }))
    }

    /// Waits for what must come first and makes the prompt ready for the model.
    async fn prepare(
        &self,
        before: Option<Arc<Turn>>,
        blocks: Vec<acp::ContentBlock>,
    ) -> Handled<Prepared> {
        if let Some(before) = before {
            before.done.cancelled().await;
        }
        if let Some(acp::ContentBlock::Text(first)) = blocks.first()
            && let Some(command) = commands::builtin(&first.text)
        {
            return Ok(Prepared::Builtin(command));
        }
        self.servers_settled().await;
        let model = self.lane.session.state().await?.model;
        let content = content::of_prompt(blocks, model.as_deref(), &*self.place).await?;
        Ok(Prepared::Content(self.lane.session.expand(content).await?))
    }

    async fn ask(&self, turn: &Arc<Turn>, content: Vec<ContentBlock>, wants_login: bool) {
        match self.lane.session.prompt(content).await {
            Ok(accepted) => {
                if turn.accepted(self.lane.session.seq()) {
                    let session = self.lane.session.clone();
                    tokio::spawn(async move { session.abort().await.ok() });
                }
                // The run begins here, when everybody knows whose it is.
                drop(accepted);
            }
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
        let said = match command {
            Builtin::Name { name } => match session.set_name(&name).await {
                Ok(()) => format!("This session is now called {name:?}."),
                Err(error) => error.to_string(),
            },
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

    async fn answer_cancelled(&self, turn: &Arc<Turn>) {
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
        self.lane.write(frames).await.ok();
        self.turns.give_up(turn);
    }
}

enum Prepared {
    Builtin(Builtin),
    Content(Vec<ContentBlock>),
}
