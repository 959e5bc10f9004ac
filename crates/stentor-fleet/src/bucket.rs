//! Reading records of a key-value bucket.

use std::time::Duration;

use async_nats::jetstream::kv;
use async_nats::jetstream::stream::LastRawMessageErrorKind;
use futures_util::StreamExt;
use serde::de::DeserializeOwned;

use crate::error::FleetError;

/// What is being done when something goes wrong here.
const DOING: &str = "read its directory";

/// The header of a message that says that a key was removed.
const OPERATION: &str = "KV-Operation";

/// How long the next record of many may take.
const RECORD_WAIT: Duration = Duration::from_secs(5);

/// The record of a key with its revision, as the leader of the bucket has it. Any other server may be
/// behind, and whoever changes a record must have seen the newest.
pub(crate) async fn read<T: DeserializeOwned>(
    store: &kv::Store,
    key: &str,
) -> Result<Option<(u64, T)>, FleetError> {
    let subject = format!("{}{key}", store.prefix);
    let found = store.stream.get_last_raw_message_by_subject(&subject).await;
    let message = match found {
        Ok(message) => message,
        Err(why) if why.kind() == LastRawMessageErrorKind::NoMessageFound => return Ok(None),
        Err(why) => return Err(FleetError::nats(DOING)(why)),
    };
    if message.headers.get(OPERATION).is_some() {
        return Ok(None);
    }
    let record = serde_json::from_slice(&message.payload);
    let record = record.map_err(FleetError::nats("understand its directory"))?;
    Ok(Some((message.sequence, record)))
}

/// All records of a bucket with their revisions. One that cannot be read is left out: a later
/// version may have written it.
pub(crate) async fn read_all<T: DeserializeOwned>(
    store: &kv::Store,
) -> Result<Vec<(u64, T)>, FleetError> {
    let mut records = Vec::new();
    let stream = store.stream.get_info().await;
    if stream.map_err(FleetError::nats(DOING))?.state.messages == 0 {
        return Ok(records);
    }
    let mut entries = store
        .watch_with_history(">")
        .await
        .map_err(FleetError::nats(DOING))?;
    loop {
        // The last one may expire before it is seen.
        let Ok(next) = tokio::time::timeout(RECORD_WAIT, entries.next()).await else {
            return Ok(records);
        };
        let Some(entry) = next else {
            return Ok(records);
        };
        let entry = entry.map_err(FleetError::nats(DOING))?;
        if entry.operation == kv::Operation::Put
            && let Ok(record) = serde_json::from_slice(&entry.value)
        {
            records.push((entry.revision, record));
        }
        if entry.delta == 0 {
            return Ok(records);
        }
    }
}
