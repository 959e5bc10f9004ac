//! Reading messages of a stream once.
//!
//! A stream has room for a limited number of consumers, and one that nobody uses any more lives on
//! for half a minute. So whoever has read what it wanted removes its consumer.

use std::time::Duration;

use async_nats::datetime::DateTime;
use async_nats::jetstream::consumer::{DeliverPolicy, pull};
use async_nats::jetstream::{self, stream};
use futures_util::StreamExt;
use uuid::Uuid;

use crate::error::FleetError;

/// How long the next message may take.
const MESSAGE_WAIT: Duration = Duration::from_secs(5);

/// Messages that are read one after the other.
pub(crate) struct StreamReading<'a, I> {
    stream: &'a stream::Stream<I>,
    doing: &'static str,
    name: String,
    messages: pull::Ordered,
    /// How many there were at the beginning.
    pub pending: u64,
    /// When it began, by the clock of the servers.
    pub began: DateTime,
}

impl<'a, I> StreamReading<'a, I> {
    /// Begins with the first message of the subjects that fit `subject`, or with the last of each.
    pub async fn begin(
        stream: &'a stream::Stream<I>,
        subject: String,
        deliver_policy: DeliverPolicy,
        doing: &'static str,
    ) -> Result<Self, FleetError> {
        let name = Uuid::new_v4().simple().to_string();
        let consumer = stream.create_consumer(pull::OrderedConfig {
            name: Some(name.clone()),
            filter_subject: subject,
            deliver_policy,
            ..Default::default()
        });
        let consumer = consumer.await.map_err(FleetError::nats(doing))?;
        let about = consumer.cached_info();
        let (pending, began) = (about.num_pending, about.created);
        let messages = consumer.messages().await.map_err(FleetError::nats(doing))?;
        Ok(Self {
            stream,
            doing,
            name,
            messages,
            pending,
            began,
        })
    }

    /// The next message; `None` when it does not come.
    pub async fn next(&mut self) -> Result<Option<jetstream::Message>, FleetError> {
        match tokio::time::timeout(MESSAGE_WAIT, self.messages.next()).await {
            Ok(Some(message)) => message.map(Some).map_err(FleetError::nats(self.doing)),
            Ok(None) | Err(_) => Ok(None),
        }
    }

    /// Enough has been read.
    pub async fn end(self) {
        drop(self.messages);
        if let Err(why) = self.stream.delete_consumer(&self.name).await {
            // It is removed by the servers in a while.
            tracing::debug!(%why, "a consumer is left");
        }
    }
}
