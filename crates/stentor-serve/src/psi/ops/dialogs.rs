//! Answers to questions (section 9.8).

use stentor_agent::session::SessionError;
use stentor_wire::edn::Value;
use stentor_wire::psi::ErrorCode;

use crate::psi::error::OpError;
use crate::psi::params::missing;
use crate::psi::request::{OpCall, OpDone, OpResult};
use crate::psi::ui::{NotTaken, UiAnswer, UiReply};

pub async fn resolve(call: &mut OpCall<'_>) -> OpResult {
    let id = call.params.filled("dialog-id")?;
    let reply = match call.params.given("result") {
        Some(Value::Bool(yes)) => UiReply::Bool(*yes),
        Some(Value::Str(text)) => UiReply::Text(text.to_string()),
        Some(Value::Nil) => UiReply::Nil,
        Some(other) => {
            let found = other.kind();
            let message = format!(":result must be a boolean, a string or nil, found {found}");
            return Err(OpError::params(message));
        }
        None => return Err(missing("result")),
    };
    answer(call, id, reply).await
}

pub async fn cancel(call: &mut OpCall<'_>) -> OpResult {
    let id = call.params.filled("dialog-id")?;
    answer(call, id, UiReply::Cancel).await
}

async fn answer(call: &OpCall<'_>, id: &str, reply: UiReply) -> OpResult {
    let taken = call.shared().ui().answer(id, reply);
    let (dialog, given) = taken.map_err(|why| match why {
        NotTaken::NoneOpen => OpError::new(ErrorCode::NoActiveDialog, "no dialog is open"),
        NotTaken::OtherOpen => OpError::new(
            ErrorCode::DialogIdMismatch,
            format!("{id} is not the dialog that is open"),
        ),
        NotTaken::WrongType => OpError::params(":result does not fit the dialog's kind"),
    })?;
    let session = &dialog.live.session;
    match given {
        // A question that closed by itself meanwhile wants no answer any more.
        UiAnswer::Dialog(number, answer) => {
            session.answer_dialog(number, answer).await?;
        }
        UiAnswer::Permission(number, answer) => {
            if answer.is_for_good() {
                // An answer for its whole life is stored nowhere else.
                dialog.live.keep_loaded();
            }
            match session.answer_permission(number, answer).await {
                Ok(()) | Err(SessionError::NoSuchQuestion(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
    OpDone::accepted().of(&dialog.live).into()
}
