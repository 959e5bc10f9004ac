//! Commands of the user beside the conversation, compaction and retries (sections 12 to 14).

use std::sync::Arc;

use serde::Serialize;
use stentor_agent::session::SessionError;
use stentor_wire::omp::command::{Bash, Compact};

use crate::omp::connection::SentBash;
use crate::omp::dialect::OmpDialect;
use crate::omp::reply::{AnswerData, CommandFailure, CommandOutcome};
use crate::omp::shapes::{WireBash, compaction_result};

/// `bash`.
pub(super) async fn bash(dialect: Arc<OmpDialect>, bash: Bash, sent: SentBash) -> CommandOutcome {
    let excluded = bash.exclude_from_context.unwrap_or(false);
    let connection = Arc::clone(&dialect.connection);
    let began = move |number| connection.bash.began(&sent, number);
    let session = dialect.session();
    let result = session.bash_with(bash.command, excluded, began).await?;
    AnswerData::of(&WireBash::of(&result))
}

/// `abort_bash`; also fine when nothing runs.
pub(super) async fn abort_bash(dialect: &OmpDialect) -> CommandOutcome {
    done(dialect.session().abort_bash().await)
}

/// `abort_retry`; also fine when nothing is being retried.
pub(super) async fn abort_retry(dialect: &OmpDialect) -> CommandOutcome {
    done(dialect.session().abort_retry().await)
}

/// `compact`.
pub(super) async fn compact(dialect: Arc<OmpDialect>, compact: Compact) -> CommandOutcome {
    let session = dialect.session();
    let result = session.compact(compact.custom_instructions).await?;
    AnswerData::of(&compaction_result(&result))
}

/// `handoff`: the conversation goes on from a summary of it alone. Only what omp does by itself is
/// saved in a file, so there is none to name.
pub(super) async fn hand_off(dialect: Arc<OmpDialect>, wanted: Compact) -> CommandOutcome {
    #[derive(Serialize)]
    struct HandedOff {}
    let session = dialect.session();
    if session.state().await?.is_running {
        let why = "Cannot hand off while a response is in progress";
        return Err(CommandFailure::new(why));
    }
    session.hand_off(wanted.custom_instructions).await?;
    AnswerData::of(&HandedOff {})
}

/// In a session that is gone nothing is left to abort.
fn done(result: Result<(), SessionError>) -> CommandOutcome {
    match result {
        Ok(()) | Err(SessionError::Closed) => Ok(AnswerData::none()),
        Err(error) => Err(error.into()),
    }
}
