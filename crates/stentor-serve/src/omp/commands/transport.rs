//! How a client is spoken to (sections 19 and 20).

use serde::Serialize;
use serde_json::value::RawValue;
use stentor_wire::omp::command::{EventFilter, MessageUpdates, NegotiateProtocol};

use crate::omp::dialect::OmpDialect;
use crate::omp::framing::Framing;
use crate::omp::reply::{AnswerData, CommandFailure, CommandOutcome, UnframedAnswer};

/// `negotiate_protocol`: what follows the answer is in the version agreed on.
pub(super) async fn negotiate(
    dialect: &OmpDialect,
    id: Option<&RawValue>,
    name: &str,
    wanted: &NegotiateProtocol,
) {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct AgreedVersion {
        protocol_version: u64,
    }
    let version = wanted.protocol_version;
    let outcome = if version == 2 {
        AnswerData::of(&AgreedVersion {
            protocol_version: version,
        })
    } else {
        Err(CommandFailure::new(format!(
            "Unsupported protocol version: {version}. Supported: 2"
        )))
    };
    let agreed = outcome.is_ok();
    let answer = UnframedAnswer::of(id, name, &outcome);
    let switch = move |framing: &Framing, frames: &mut Vec<u8>| {
        answer.write(framing, frames);
        // Nothing is written between the two: what precedes the answer is as it was before.
        if agreed {
            framing.use_chunks();
        }
    };
    dialect.send(switch).await;
}

/// `set_event_filter`.
pub(super) fn filter(dialect: &OmpDialect, filter: EventFilter) -> CommandOutcome {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Filtered {
        /// Null: all of them.
        events: Option<Vec<String>>,
        message_updates: MessageUpdates,
    }
    let events = filter.events.clone();
    let message_updates = dialect.connection.wants.filter(filter);
    AnswerData::of(&Filtered {
        events,
        message_updates,
    })
}
