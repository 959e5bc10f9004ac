//! Answers to questions (section 9.8).

use stentor_agent::session::SessionError;
use stentor_policy::PermissionAnswer;
use stentor_wire::edn::Value;
use stentor_wire::psi::ErrorCode;

use crate::psi::connection::Connection;
use crate::psi::error::OpError;
use crate::psi::request::{Call, Done, Handled};
use crate::psi::ui::{Given, NotTaken, Question, Reply};

pub(in crate::psi) async fn resolve(call: &mut Call<'_>) -> Handled {
    let id = call.params.filled("dialog-id")?;
    let reply = match call.params.given("result") {
        Some(Value::Bool(yes)) => Reply::Bool(*yes),
        Some(Value::Str(text)) => Reply::Text(text.to_string()),
        Some(Value::Nil) => Reply::Nil,
        Some(other) => {
            return Err(OpError::params(format!(
                ":result must be a boolean, a string or nil, found {}",
                other.kind()
            )));
        }
        None => return Err(OpError::params(":result is missing")),
    };
    answer(call.connection, id, reply).await
}

pub(in crate::psi) async fn cancel(call: &mut Call<'_>) -> Handled {
    let id = call.params.filled("dialog-id")?;
    answer(call.connection, id, Reply::Cancel).await
}

async fn answer(connection: &mut Connection, id: &str, reply: Reply) -> Handled {
    let taken = connection.shared.ui().answer(id, reply);
    let (dialog, given) = taken.map_err(|why| match why {
        NotTaken::NoneOpen => OpError::new(ErrorCode::NoActiveDialog, "no dialog is open"),
        NotTaken::OtherOpen => OpError::new(
            ErrorCode::DialogIdMismatch,
            format!("{id} is not the dialog that is open"),
        ),
        NotTaken::WrongType => OpError::params(":result does not fit the dialog's kind"),
    })?;
    let session = &dialog.live.session;
    match (dialog.question, given) {
        (Question::Dialog(number), Given::Dialog(answer)) => {
            // A question that closed by itself meanwhile wants no answer any more.
            session.answer_dialog(number, answer).await?;
        }
        (Question::Permission(number), Given::Permission(answer)) => {
            if matches!(
                answer,
                PermissionAnswer::AllowAlways | PermissionAnswer::RejectAlways
            ) {
                // An answer for its whole life is stored nowhere else.
                dialog.live.keep_loaded();
            }
            match session.answer_permission(number, answer).await {
                Ok(()) | Err(SessionError::NoSuchQuestion(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        (Question::Dialog(_), Given::Permission(_))
        | (Question::Permission(_), Given::Dialog(_)) => {}
    }
    Done::accepted().of(&dialog.live).into()
}
