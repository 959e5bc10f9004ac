//! The subagents at work (section 19).

use serde::Serialize;
use serde_json::Value;
use stentor_wire::omp::command::{
    SteerSubagent, SubagentId, SubagentLevel, SubagentMessages, Subscription,
};

use crate::omp::dialect::Dialect;
use crate::omp::reply::{Data, Failure, Outcome};

/// `set_subagent_subscription`.
pub(super) fn subscribe(dialect: &Dialect, wanted: &Subscription) -> Outcome {
    #[derive(Serialize)]
    struct Subscribed {
        level: SubagentLevel,
    }
    dialect.connection.wants.subscribe(wanted.level);
    Data::of(&Subscribed {
        level: wanted.level,
    })
}

/// `get_subagents`.
pub(super) fn list(dialect: &Dialect) -> Outcome {
    #[derive(Serialize)]
    struct Listed {
        subagents: Vec<Value>,
    }
    Data::of(&Listed {
        subagents: dialect.connection.subagents.list(),
    })
}

/// `get_subagent_messages`. Subagents keep no conversation of their own on disk here.
pub(super) fn messages(_: &Dialect, wanted: &SubagentMessages) -> Outcome {
    Err(Failure::new(
        match (&wanted.subagent_id, &wanted.session_file) {
            (Some(id), _) => format!("Unknown subagent or session file unavailable: {id}"),
            (None, Some(_)) => "Unknown subagent session file".to_owned(),
            (None, None) => "get_subagent_messages requires subagentId or sessionFile".to_owned(),
        },
    ))
}

/// `cancel_subagent`.
pub(super) fn cancel(dialect: &Dialect, which: &SubagentId) -> Outcome {
    let number = running(dialect, &which.subagent_id)?;
    Err(not_alone(number, &which.subagent_id))
}

/// `steer_subagent`.
pub(super) fn steer(dialect: &Dialect, message: &SteerSubagent) -> Outcome {
    let number = running(dialect, &message.subagent_id)?;
    Err(not_alone(number, &message.subagent_id))
}

fn running(dialect: &Dialect, id: &str) -> Result<u64, Failure> {
    let number = dialect.connection.subagents.number(id);
    number.ok_or_else(|| Failure::new(format!("Unknown or finished subagent: {id}")))
}

fn not_alone(_: u64, id: &str) -> Failure {
    Failure::new(format!(
        "Subagent {id} cannot be reached by itself; `abort` stops it with its run"
    ))
}
