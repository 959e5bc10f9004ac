//! A file that takes long to read: meanwhile the session does everything else.

use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use futures_core::future::BoxFuture;
use stentor_agent::session::Session;
use stentor_journal::store::{
    self, Entry, Journal, JournalReader, OpenedSession, SessionHeader, StoreError, Totals,
};
use stentor_model::script::Scenario;

use crate::stage::with;

/// A journal in memory that is read only as often as somebody allows it.
struct Slow {
    inner: Box<dyn Journal>,
    allowed: Arc<Mutex<Receiver<()>>>,
}

impl Journal for Slow {
    fn header(&self) -> &SessionHeader {
        self.inner.header()
    }

    fn path(&self) -> Option<&Path> {
        self.inner.path()
    }

    fn append(&mut self, entry: &Entry) -> Result<(), StoreError> {
        self.inner.append(entry)
    }

    fn sync(&self) -> BoxFuture<'static, Result<(), StoreError>> {
        self.inner.sync()
    }

    fn reader(&self) -> Result<Arc<dyn JournalReader>, StoreError> {
        Ok(Arc::new(SlowReader {
            inner: self.inner.reader()?,
            allowed: Arc::clone(&self.allowed),
        }))
    }
}

struct SlowReader {
    inner: Arc<dyn JournalReader>,
    allowed: Arc<Mutex<Receiver<()>>>,
}

impl SlowReader {
    fn wait(&self) {
        self.allowed.lock().unwrap().recv().unwrap();
    }
}

impl JournalReader for SlowReader {
    fn read_all(&self) -> Result<Vec<Entry>, StoreError> {
        self.wait();
        self.inner.read_all()
    }

    fn user_messages(&self) -> Result<Vec<(String, String)>, StoreError> {
        self.wait();
        self.inner.user_messages()
    }

    fn totals(&self) -> Result<Totals, StoreError> {
        self.wait();
        self.inner.totals()
    }

    fn path_to(&self, entry_id: &str) -> Result<Vec<Entry>, StoreError> {
        self.wait();
        self.inner.path_to(entry_id)
    }

    fn newest_answer_is_on_path(&self, leaf: &str, response_id: &str) -> Result<bool, StoreError> {
        self.wait();
        self.inner.newest_answer_is_on_path(leaf, response_id)
    }
}

#[tokio::test]
async fn a_session_runs_and_answers_while_its_whole_file_is_read() {
    let setup = with(Scenario::new().text("one"));
    let header = SessionHeader {
        version: store::CURRENT_VERSION,
        id: "s".to_owned(),
        timestamp: "2026-01-01T00:00:00.000Z".to_owned(),
        cwd: "/project".to_owned(),
        parent_session: None,
        title: None,
    };
    let (allow, allowed): (Sender<()>, _) = channel();
    let opened = OpenedSession {
        journal: Box::new(Slow {
            inner: store::memory(header),
            allowed: Arc::new(Mutex::new(allowed)),
        }),
        context: Vec::new(),
        leaf: None,
        name: None,
        model: None,
        thinking_level: None,
        warnings: Vec::new(),
    };
    let environment = setup.environment();
    let session = Session::resume(environment.clone(), setup.options.clone(), opened).unwrap();
    let mut stage = setup.around(session.clone(), environment);
    let mut stats = Box::pin(session.stats());
    let mut entries = Box::pin(session.entries());
    let mut path = Box::pin(session.active_path());
    let mut texts = Box::pin(session.user_messages());
    // Each is asked for before the run, and none is there when it is over.
    assert!(futures_util::poll!(&mut stats).is_pending());
    assert!(futures_util::poll!(&mut entries).is_pending());
    assert!(futures_util::poll!(&mut path).is_pending());
    assert!(futures_util::poll!(&mut texts).is_pending());
    stage.run("hi").await;
    assert_eq!(stage.messages().await.len(), 2);
    assert!(futures_util::poll!(&mut stats).is_pending());
    assert!(futures_util::poll!(&mut entries).is_pending());
    for _ in 0..4 {
        allow.send(()).unwrap();
    }
    assert_eq!(stats.await.unwrap().total_turns, 0);
    assert!(entries.await.is_ok());
    assert!(path.await.is_ok());
    assert_eq!(texts.await.unwrap(), []);
}
