//! Reading records of a key-value bucket.

use std::time::Duration;

use async_nats::jetstream::consumer::DeliverPolicy;
use async_nats::jetstream::kv;
use async_nats::jetstream::stream::LastRawMessageErrorKind;
use serde::de::DeserializeOwned;

use crate::error::FleetError;
use crate::reading::StreamReading;

/// What is being done when something goes wrong here.
const DOING: &str = "read its directory";

/// The header of a message that says that a key was removed.
const OPERATION: &str = "KV-Operation";

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

/// A record of a bucket.
pub(crate) struct BucketRecord<T> {
    pub revision: u64,
    /// For how long it had been there when it was read.
    pub age: Duration,
    pub record: T,
}

/// All records of a bucket. One that cannot be read is left out: a later version may have written
/// it.
pub(crate) async fn read_all<T: DeserializeOwned>(
    store: &kv::Store,
) -> Result<Vec<BucketRecord<T>>, FleetError> {
    let subject = format!("{}>", store.prefix);
    let last = DeliverPolicy::LastPerSubject;
    let mut reading = StreamReading::begin(&store.stream, subject, last, DOING).await?;
    let read = read_pending(&mut reading).await;
    reading.end().await;
    read
}

async fn read_pending<T: DeserializeOwned, I>(
    reading: &mut StreamReading<'_, I>,
) -> Result<Vec<BucketRecord<T>>, FleetError> {
    let mut records = Vec::new();
    let mut pending = reading.pending;
    while pending > 0 {
        // The last one may expire before it is seen.
        let Some(message) = reading.next().await? else {
            break;
        };
        let about = message.info().map_err(FleetError::nats(DOING))?;
        pending = about.pending;
        let headers = message.headers.as_ref();
        let is_removed = headers.is_some_and(|headers| headers.get(OPERATION).is_some());
        if let (false, Ok(record)) = (is_removed, serde_json::from_slice(&message.payload)) {
            records.push(BucketRecord {
                revision: about.stream_sequence,
                age: (reading.began - about.published)
                    .try_into()
                    .unwrap_or_default(),
                record,
            });
        }
    }
    Ok(records)
}
