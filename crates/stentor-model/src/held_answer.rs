//! An answer whose provider runs tools of its own: it waits, with its connection, until what they
//! gave is recorded, and goes on then.

use std::sync::{Arc, Mutex, PoisonError};

use futures_util::stream;
use stentor_agent::model::{CallStep, CallStream, ModelRequest, Purpose};
use stentor_journal::message::{KnownMessage, Message};
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};

use crate::reading::ResponseReading;

/// The answer that waits, if one does: a model gives one at a time.
#[derive(Clone, Default)]
pub(crate) struct HeldAnswers(Arc<Mutex<Option<HeldAnswer>>>);

struct HeldAnswer {
    /// The calls that the provider runs.
    calls: Vec<String>,
    /// False when nothing follows their results.
    goes_on: bool,
    reading: Arc<AsyncMutex<ResponseReading>>,
}

impl HeldAnswers {
    /// A part of an answer has ended. It is held if the provider runs calls of it.
    pub(crate) fn hold(&self, mut reading: OwnedMutexGuard<ResponseReading>) {
        let calls = reading.answer.take_server_calls();
        if calls.is_empty() {
            return;
        }
        self.replace(Some(HeldAnswer {
            calls,
            goes_on: !(reading.answer.is_finished() && reading.answer.is_drained()),
            reading: Arc::clone(OwnedMutexGuard::mutex(&reading)),
        }));
    }

    /// True for a call that the provider runs.
    pub(crate) fn has(&self, call_id: &str) -> bool {
        self.with(|held| held.has(call_id)).unwrap_or_default()
    }

    /// True when an answer waits that is not complete.
    pub(crate) fn is_incomplete(&self) -> bool {
        self.with(|held| held.goes_on).unwrap_or_default()
    }

    /// What becomes of a call that the provider runs.
    pub(crate) fn follow(&self, call_id: &str) -> Option<CallStream> {
        let found = self.with(|held| held.has(call_id).then(|| Arc::clone(&held.reading)));
        let begin = FollowedCall::Begun(found.flatten()?, call_id.to_owned());
        Some(Box::pin(stream::unfold(begin, async |call| match call {
            FollowedCall::Begun(reading, id) => {
                Some((CallStep::Started, FollowedCall::Running(reading, id)))
            }
            FollowedCall::Running(reading, id) => {
                let output = reading.lock().await.result_of(&id).await?;
                Some((CallStep::Ended(output), FollowedCall::Over))
            }
            FollowedCall::Over => None,
        })))
    }

    /// The answer that goes on with this request: the one to the results of its calls. Any other turn
    /// of the conversation ends what waits.
    pub(crate) fn take_for(
        &self,
        request: &ModelRequest,
    ) -> Option<Arc<AsyncMutex<ResponseReading>>> {
        if request.purpose != Purpose::Turn {
            return None;
        }
        let held = self.replace(None)?;
        let has_result = |call: &String| ends_with_result(request, call);
        (held.goes_on && held.calls.iter().all(has_result)).then_some(held.reading)
    }

    /// Ends what waits.
    pub(crate) fn clear(&self) {
        self.replace(None);
    }

    fn replace(&self, held: Option<HeldAnswer>) -> Option<HeldAnswer> {
        let mut slot = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *slot, held)
    }

    fn with<T>(&self, look: impl FnOnce(&HeldAnswer) -> T) -> Option<T> {
        let slot = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        slot.as_ref().map(look)
    }
}

impl HeldAnswer {
    fn has(&self, call_id: &str) -> bool {
        self.calls.iter().any(|call| call == call_id)
    }
}

/// How far a call is.
enum FollowedCall {
    Begun(Arc<AsyncMutex<ResponseReading>>, String),
    Running(Arc<AsyncMutex<ResponseReading>>, String),
    Over,
}

/// True when the result of the call is among those that a conversation ends with.
fn ends_with_result(request: &ModelRequest, call_id: &str) -> bool {
    let last = request.messages.iter().rev();
    let mut results = last.map_while(|message| match message.as_ref() {
        Message::Known(KnownMessage::ToolResult(result)) => Some(result),
        _ => None,
    });
    results.any(|result| result.tool_call_id == call_id)
}
