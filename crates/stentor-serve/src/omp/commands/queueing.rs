//! The messages that wait (section 19).

use serde::Serialize;
use stentor_agent::session::QueueKind;
use stentor_wire::omp::command::{PromoteQueued, QueueName, RemoveQueued};

use crate::omp::dialect::OmpDialect;
use crate::omp::reply::{AnswerData, CommandOutcome};

/// `clear_queue`: what waited.
pub(super) async fn clear(dialect: &OmpDialect) -> CommandOutcome {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Cleared {
        steering: Vec<String>,
        follow_up: Vec<String>,
    }
    let queues = dialect.session().clear_queues().await?;
    AnswerData::of(&Cleared {
        steering: queues.steering,
        follow_up: queues.follow_up,
    })
}

/// `remove_queued_message`.
pub(super) async fn remove(dialect: &OmpDialect, message: RemoveQueued) -> CommandOutcome {
    #[derive(Serialize)]
    struct Removed {
        removed: bool,
    }
    let queue = match message.queue {
        QueueName::Steering => QueueKind::Steering,
        QueueName::FollowUp => QueueKind::FollowUp,
    };
    let removed = dialect
        .session()
        .remove_queued(queue, &message.message)
        .await?;
    AnswerData::of(&Removed { removed })
}

/// `promote_queued_message`: a follow-up becomes steering.
pub(super) async fn promote(dialect: &OmpDialect, message: PromoteQueued) -> CommandOutcome {
    #[derive(Serialize)]
    struct Promoted {
        promoted: bool,
    }
    let promoted = dialect.session().promote_queued(&message.message).await?;
    AnswerData::of(&Promoted { promoted })
}
