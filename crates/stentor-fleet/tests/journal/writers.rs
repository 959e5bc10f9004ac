//! Two writers of one session, on a real NATS server.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::StreamExt;
use stentor_fleet::{Fleet, FleetSettings, FleetStore};
use stentor_journal::clock::{SharedClock, SystemClock};
use stentor_journal::message::{ContentBlock, Message};
use stentor_journal::store::{Entry, EntryKind, Journal, JournalStore, SessionHeader, StoreError};
use stentor_test_support::{NatsServer, TemporaryFolder};

pub struct Machine {
    folder: TemporaryFolder,
    pub store: FleetStore,
}

impl Machine {
    /// A machine of this name that has the place `shared`. It has not joined as a node, so everybody
    /// takes its sessions for abandoned.
    pub async fn new(nats: &NatsServer, name: &str) -> Self {
        let settings = FleetSettings {
            url: Some(nats.url.clone()),
            ..FleetSettings::default()
        };
        Self::with(settings, name).await
    }

    /// One with these settings otherwise.
    pub async fn with(settings: FleetSettings, name: &str) -> Self {
        let folder = TemporaryFolder::with(&["shared"]);
        let shared = folder.path("shared");
        let settings = FleetSettings {
            node: Some(name.to_owned()),
            places: [(
                "shared".to_owned(),
                stentor_fleet::settings::WorkPlace::Folder(shared),
            )]
            .into(),
            ..settings
        };
        let fleet = Fleet::connect(settings, &format!("{name}-life"))
            .await
            .unwrap();
        let store = FleetStore::new(fleet, &folder.path("store"), clock()).unwrap();
        Self { folder, store }
    }

    pub fn create(&self, id: &str) -> Box<dyn Journal> {
        self.try_create(id).unwrap()
    }

    pub fn try_create(&self, id: &str) -> Result<Box<dyn Journal>, StoreError> {
        let cwd = self.folder.path("shared");
        let header = SessionHeader::new(id, "2026-01-01T00:00:00.000Z", cwd.to_string_lossy());
        let folder = self.store.files().folder(&cwd).unwrap();
        self.store.create(&folder, header, &*clock())
    }

    pub async fn open(&self, id: &str) -> Result<Box<dyn Journal>, StoreError> {
        self.store.fleet().look().await.unwrap();
        let (store, id) = (self.store.clone(), id.to_owned());
        let opened = tokio::task::spawn_blocking(move || {
            let path = store.find(&id).unwrap()?;
            store.prepare(&path)?;
            store.open(&path)
        });
        opened.await.unwrap().map(|opened| opened.journal)
    }
}

fn clock() -> SharedClock {
    Arc::new(SystemClock)
}

pub fn said(id: &str, text: &str) -> Entry {
    let message = Message::user(vec![ContentBlock::text(text)], 0);
    Entry {
        id: id.to_owned(),
        parent_id: None,
        timestamp: "2026-01-01T00:00:00.000Z".to_owned(),
        kind: EntryKind::Message {
            message: Arc::new(message),
        },
    }
}

fn ids(journal: &dyn Journal) -> Vec<String> {
    let entries = journal.read_all().unwrap();
    entries.into_iter().map(|entry| entry.id).collect()
}

fn text_of(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_writer_that_was_replaced_is_refused_by_the_log() {
    let Some(nats) = NatsServer::start() else {
        return;
    };
    let (one, two) = (
        Machine::new(&nats, "one").await,
        Machine::new(&nats, "two").await,
    );
    let mut first = one.create("session-1");
    first.append(&said("a", "before")).unwrap();
    first.sync().await.unwrap();

    let mut second = two.open("session-1").await.unwrap();
    assert_eq!(ids(&*second), ["a"]);
    second.append(&said("b", "by the second")).unwrap();
    second.sync().await.unwrap();

    // The first one does not know yet.
    first.append(&said("c", "by the first")).unwrap();
    let refused = first.sync().await.unwrap_err();
    assert!(matches!(refused, StoreError::NotOurs { .. }), "{refused}");
    let refused = first.append(&said("d", "again")).unwrap_err();
    assert!(matches!(refused, StoreError::NotOurs { .. }), "{refused}");
    let path: PathBuf = first.path().unwrap().to_owned();
    drop(first);
    second.append(&said("e", "still the second")).unwrap();
    second.sync().await.unwrap();
    drop(second);

    // What only the first one had is set aside on its machine, and nowhere else.
    let again = one.open("session-1").await.unwrap();
    assert_eq!(ids(&*again), ["a", "b", "e"]);
    assert_eq!(again.path(), Some(&*path));
    let aside = path.with_extension("jsonl.unacknowledged-1");
    assert!(text_of(&aside).contains("by the first"));
    assert!(!text_of(&path).contains("by the first"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_the_same_on_another_machine_but_for_its_folder() {
    let Some(nats) = NatsServer::start() else {
        return;
    };
    let (one, two) = (
        Machine::new(&nats, "one").await,
        Machine::new(&nats, "two").await,
    );
    let mut first = one.create("session.with.dots");
    // Longer than one message can be.
    let long = "long ".repeat(1_000_000);
    first.append(&said("a", &long)).unwrap();
    first.append(&said("b", "short")).unwrap();
    first.sync().await.unwrap();
    let before = text_of(first.path().unwrap());
    drop(first);

    let second = two.open("session.with.dots").await.unwrap();
    let after = text_of(second.path().unwrap());
    let shared = |machine: &Machine| machine.folder.path("shared").display().to_string();
    assert_eq!(after, before.replace(&shared(&one), &shared(&two)));
    assert_eq!(second.header().cwd, shared(&two));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_picture_goes_with_its_session_whatever_its_size() {
    for size in [1, 100_000] {
        a_picture_goes_with_its_session(&"QUJD".repeat(size)).await;
    }
}

async fn a_picture_goes_with_its_session(picture: &str) {
    let Some(nats) = NatsServer::start() else {
        return;
    };
    let (one, two) = (
        Machine::new(&nats, "one").await,
        Machine::new(&nats, "two").await,
    );
    let mut first = one.create("session-1");
    let message = Message::user(vec![ContentBlock::image(picture, "image/png")], 0);
    let shown = Entry {
        kind: EntryKind::Message {
            message: Arc::new(message),
        },
        ..said("a", "")
    };
    first.append(&shown).unwrap();
    first.sync().await.unwrap();
    assert!(text_of(first.path().unwrap()).contains("blob:sha256:"));
    drop(first);

    let second = two.open("session-1").await.unwrap();
    let entries = second.read_all().unwrap();
    assert_eq!(entries, [shown]);

    // It goes with it in the end, too.
    let jetstream = async_nats::jetstream::new(two.store.fleet().client().clone());
    let bucket = "stentor_default_pictures";
    let pictures = jetstream.get_object_store(bucket).await.unwrap();
    assert_eq!(pictures.list().await.unwrap().count().await, 1);
    let path = second.path().unwrap().to_owned();
    let beside = path.with_file_name("blobs");
    assert_eq!(std::fs::read_dir(&beside).unwrap().count(), 1);
    drop(second);
    let store = two.store.clone();
    let removed = tokio::task::spawn_blocking(move || store.remove(&path));
    removed.await.unwrap().unwrap();
    assert_eq!(pictures.list().await.unwrap().count().await, 0);
    assert_eq!(std::fs::read_dir(&beside).unwrap().count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_not_said_to_the_end_when_its_writer_died_is_left_out() {
    let Some(nats) = NatsServer::start() else {
        return;
    };
    let (one, two) = (
        Machine::new(&nats, "one").await,
        Machine::new(&nats, "two").await,
    );
    let mut first = one.create("session-1");
    first.append(&said("a", "whole")).unwrap();
    first.sync().await.unwrap();
    // A writer that died between the two parts of an entry.
    let subject = one.store.fleet().subject(&["journal", "session-1"]);
    let jetstream = async_nats::jetstream::new(one.store.fleet().client().clone());
    let offset = {
        let text = text_of(first.path().unwrap());
        text.len() - text.find('\n').unwrap() - 1
    };
    let mut headers = async_nats::HeaderMap::new();
    headers.insert("Stentor-Kind", "entries");
    headers.insert("Stentor-Writer", "one one-life");
    headers.insert("Stentor-Offset", offset.to_string().as_str());
    let sent = jetstream.publish_with_headers(subject, headers, "{\"type\":\"mess".into());
    sent.await.unwrap().await.unwrap();
    drop(first);

    let mut second = two.open("session-1").await.unwrap();
    assert_eq!(ids(&*second), ["a"]);
    second.append(&said("b", "after it")).unwrap();
    second.sync().await.unwrap();
    drop(second);
    let third = one.open("session-1").await.unwrap();
    assert_eq!(ids(&*third), ["a", "b"]);
}
