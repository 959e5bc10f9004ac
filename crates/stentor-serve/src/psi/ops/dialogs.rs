//! Answers to questions (section 9.8).

use stentor_agent::session::SessionError;
use stentor_wire::edn::Value;

use crate::psi::params::{missing, wrong};
use crate::psi::request::{OpCall, OpDone, OpResult};
use crate::psi::ui::UiAnswer;

pub async fn resolve(call: &mut OpCall<'_>) -> OpResult {
    let id = call.params.filled("dialog-id")?;
    let reply = call
        .params
        .given("result")
        .ok_or_else(|| missing("result"))?;
    if !matches!(reply, Value::Bool(_) | Value::Str(_) | Value::Nil) {
        return Err(wrong("result", "a boolean, a string or nil", reply));
    }
    answer(call, id, Some(reply)).await
}

pub async fn cancel(call: &mut OpCall<'_>) -> OpResult {
    let id = call.params.filled("dialog-id")?;
    answer(call, id, None).await
}

async fn answer(call: &OpCall<'_>, id: &str, reply: Option<&Value<'_>>) -> OpResult {
    let (dialog, given) = call.shared().ui().answer(id, reply)?;
    let session = &dialog.live.session;
    match given {
        // A question that closed by itself meanwhile wants no answer any more.
        UiAnswer::Dialog(number, answer) => {
            session.answer_dialog(number, answer).await?;
        }
        UiAnswer::Permission(number, answer) => {
            if answer.is_for_good() {
                // An answer for its whole life is stored nowhere else.
                dialog.live.locked().stays_loaded = true;
            }
            match session.answer_permission(number, answer).await {
                Ok(()) | Err(SessionError::NoSuchQuestion(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
    OpDone::accepted().of(&dialog.live).into()
}
