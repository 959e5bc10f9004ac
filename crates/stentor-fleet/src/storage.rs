//! What the fleet of a tenant has on the servers: a stream of journals, and buckets for sessions,
//! nodes and pictures. A node makes what is missing and takes nothing that would lose sessions.

use std::time::Duration;

use async_nats::jetstream::{self, kv, object_store, stream};

use crate::bucket;
use crate::error::FleetError;
use crate::names::TenantNames;
use crate::nodes::NodeRecord;
use crate::settings::FleetSettings;

/// How long the stream remembers the ids of messages, so that a repeated one is known.
const DUPLICATE_WINDOW: Duration = Duration::from_secs(120);

/// The stream and the buckets of a tenant.
pub(crate) struct TenantStorage {
    pub journals: stream::Stream,
    pub sessions: kv::Store,
    pub nodes: kv::Store,
    pub pictures: object_store::ObjectStore,
    /// After how long a record in `nodes` that is not renewed is gone.
    pub lease: Duration,
}

impl TenantStorage {
    /// Opens what is there, and makes nothing.
    pub async fn open(
        jetstream: &jetstream::Context,
        names: &TenantNames,
    ) -> Result<Self, FleetError> {
        let missing = |why: String| FleetError::NoFleet {
            tenant: names.tenant().to_owned(),
            why,
        };
        let journals = jetstream.get_stream(names.bucket("journals")).await;
        let journals = journals.map_err(|why| missing(why.to_string()))?;
        check_is_ours(&journals.cached_info().config, names)?;
        let bucket = async |what| {
            let found = jetstream.get_key_value(names.bucket(what)).await;
            found.map_err(|why| missing(why.to_string()))
        };
        let nodes = bucket("nodes").await?;
        let pictures = jetstream.get_object_store(names.bucket("pictures")).await;
        Ok(Self {
            journals,
            sessions: bucket("sessions").await?,
            pictures: pictures.map_err(|why| missing(why.to_string()))?,
            lease: nodes.stream.cached_info().config.max_age,
            nodes,
        })
    }

    /// Opens what is there and makes the rest, for the node `this`.
    pub async fn make(
        jetstream: &jetstream::Context,
        names: &TenantNames,
        settings: &FleetSettings,
        this: &str,
    ) -> Result<Self, FleetError> {
        let replicas = settings.replicas.unwrap_or(1);
        let bucket =
            async |what, age| bucket_of(jetstream, names.bucket(what), age, replicas).await;
        let journals = journals(jetstream, names, replicas).await?;
        // Before the buckets are touched, which say nothing of whose they are.
        check_is_ours(&journals.cached_info().config, names)?;
        let mut storage = Self {
            journals,
            sessions: bucket("sessions", Duration::ZERO).await?,
            nodes: bucket("nodes", settings.lease()).await?,
            pictures: pictures(jetstream, names.bucket("pictures"), replicas).await?,
            lease: settings.lease(),
        };
        for name in names.durable_streams() {
            let stream = jetstream.get_stream(&name).await;
            let stream = stream.map_err(FleetError::nats("look at its streams"))?;
            check(&stream.cached_info().config, settings)?;
        }
        storage.agree_on_lease(jetstream, this).await?;
        Ok(storage)
    }

    /// The nodes of a fleet must have one lease, which is the age that their bucket has. It can be
    /// changed while no other node is there.
    async fn agree_on_lease(
        &mut self,
        jetstream: &jetstream::Context,
        this: &str,
    ) -> Result<(), FleetError> {
        let config = &self.nodes.stream.cached_info().config;
        let (wanted, found) = (self.lease, config.max_age);
        if wanted == found {
            return Ok(());
        }
        let nodes = bucket::read_all::<NodeRecord>(&self.nodes).await?;
        if nodes.iter().any(|node| node.record.id.name != this) && !found.is_zero() {
            tracing::warn!(
                "the nodes of this fleet have a lease of {} s; `lease_seconds` of this one, {}, counts \
                 when it starts while no other is there",
                found.as_secs_f64(),
                wanted.as_secs()
            );
            self.lease = found;
            return Ok(());
        }
        let changed = stream::Config {
            max_age: wanted,
            duplicate_window: DUPLICATE_WINDOW.min(wanted),
            ..config.clone()
        };
        let changed = jetstream.update_stream(changed).await;
        changed.map_err(FleetError::nats("change the lease of its nodes"))?;
        Ok(())
    }
}

/// An error when the stream of journals is another tenant's: names of streams have no dots, so that
/// prefix and tenant of two tenants can give one name. Their subjects differ.
fn check_is_ours(config: &stream::Config, names: &TenantNames) -> Result<(), FleetError> {
    match config.subjects.contains(&names.journal_subjects()) {
        true => Ok(()),
        false => Err(FleetError::OtherTenant {
            stream: config.name.clone(),
            subjects: config.subjects.join(", "),
        }),
    }
}

/// An error when a stream that is there would lose what was acknowledged.
fn check(config: &stream::Config, settings: &FleetSettings) -> Result<(), FleetError> {
    let is_limited = config.max_bytes > 0 || config.max_messages > 0;
    let is_bucket = config.name.starts_with("KV_");
    let why = if config.storage != stream::StorageType::File {
        "it is in memory only (`storage`)".to_owned()
    } else if config.persist_mode == Some(stream::PersistenceMode::Async) {
        "messages are acknowledged before they are stored (`persist_mode`)".to_owned()
    } else if config.retention != stream::RetentionPolicy::Limits {
        "messages are removed when they were read (`retention`)".to_owned()
    } else if !config.max_age.is_zero() {
        format!(
            "messages are removed after {} s (`max_age`)",
            config.max_age.as_secs_f64()
        )
    } else if config.max_messages_per_subject > 0 && !is_bucket {
        "only the last messages of each subject are stored (`max_msgs_per_subject`)".to_owned()
    } else if is_limited && config.discard == stream::DiscardPolicy::Old {
        "the oldest messages are removed when it is full (`discard`)".to_owned()
    } else if config.num_replicas < settings.replicas.unwrap_or(1) {
        format!(
            "{} server(s) hold it, and `replicas` in [fleet] is {}",
            config.num_replicas,
            settings.replicas.unwrap_or(1)
        )
    } else {
        return Ok(());
    };
    Err(FleetError::Loses {
        stream: config.name.clone(),
        why,
    })
}

/// The stream with a subject for the journal of each session. Nothing in it expires.
async fn journals(
    jetstream: &jetstream::Context,
    names: &TenantNames,
    num_replicas: usize,
) -> Result<stream::Stream, FleetError> {
    let name = names.bucket("journals");
    if let Ok(stream) = jetstream.get_stream(&name).await {
        return Ok(stream);
    }
    let config = stream::Config {
        name,
        subjects: vec![names.journal_subjects()],
        storage: stream::StorageType::File,
        discard: stream::DiscardPolicy::New,
        duplicate_window: DUPLICATE_WINDOW,
        num_replicas,
        ..Default::default()
    };
    let stream = jetstream.get_or_create_stream(config).await;
    stream.map_err(FleetError::nats("make the stream of journals"))
}

async fn bucket_of(
    jetstream: &jetstream::Context,
    bucket: String,
    max_age: Duration,
    num_replicas: usize,
) -> Result<kv::Store, FleetError> {
    if let Ok(store) = jetstream.get_key_value(&bucket).await {
        return Ok(store);
    }
    let config = kv::Config {
        bucket,
        history: 1,
        max_age,
        num_replicas,
        ..Default::default()
    };
    let store = jetstream.create_key_value(config).await;
    store.map_err(FleetError::nats("make a key-value bucket"))
}

async fn pictures(
    jetstream: &jetstream::Context,
    bucket: String,
    num_replicas: usize,
) -> Result<object_store::ObjectStore, FleetError> {
    if let Ok(store) = jetstream.get_object_store(&bucket).await {
        return Ok(store);
    }
    let config = object_store::Config {
        bucket,
        num_replicas,
        ..Default::default()
    };
    let store = jetstream.create_object_store(config).await;
    store.map_err(FleetError::nats("make the store of pictures"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_that_loses_what_was_acknowledged_is_refused_with_the_setting_that_does() {
        let fine = || stream::Config {
            name: "journals".to_owned(),
            num_replicas: 1,
            ..stream::Config::default()
        };
        let settings = FleetSettings::default();
        check(&fine(), &settings).unwrap();
        let in_bucket = stream::Config {
            name: "KV_sessions".to_owned(),
            max_messages_per_subject: 1,
            ..fine()
        };
        check(&in_bucket, &settings).unwrap();
        let refused = |config: &stream::Config, word: &str| {
            let why = check(config, &settings).unwrap_err().to_string();
            assert!(why.contains(word), "{why}");
        };
        let memory = stream::StorageType::Memory;
        refused(
            &stream::Config {
                storage: memory,
                ..fine()
            },
            "`storage`",
        );
        let persist_mode = Some(stream::PersistenceMode::Async);
        refused(
            &stream::Config {
                persist_mode,
                ..fine()
            },
            "`persist_mode`",
        );
        let retention = stream::RetentionPolicy::Interest;
        refused(
            &stream::Config {
                retention,
                ..fine()
            },
            "`retention`",
        );
        let max_age = Duration::from_secs(60);
        refused(
            &stream::Config { max_age, ..fine() },
            "after 60 s (`max_age`)",
        );
        let last = stream::Config {
            max_messages_per_subject: 5,
            ..fine()
        };
        refused(&last, "`max_msgs_per_subject`");
        refused(
            &stream::Config {
                max_bytes: 1024,
                ..fine()
            },
            "`discard`",
        );
        let three = FleetSettings {
            replicas: Some(3),
            ..FleetSettings::default()
        };
        let why = check(&fine(), &three).unwrap_err().to_string();
        assert!(why.contains("1 server(s) hold it"), "{why}");
    }
}
