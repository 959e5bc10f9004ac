//! A disk that fails while a turn goes on: what was said is told, and then that it may be lost.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_core::future::BoxFuture;
use stentor_agent::session::{Delivery, Injected, Session, SessionError};
use stentor_journal::message::ContentBlock;
use stentor_journal::store::{
    self, Entry, EntryKind, Journal, JournalReader, OpenedSession, SessionHeader, StoreError,
};
use stentor_model::script::{Scenario, ScriptTurn};

use crate::stage::{Setup, with};

/// A journal in memory whose disk fails from some moment on.
struct Failing {
    inner: Box<dyn Journal>,
    fails: Arc<AtomicBool>,
}

impl Journal for Failing {
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
        let fails = self.fails.load(Ordering::Acquire);
        Box::pin(async move {
            if fails {
                let path = Path::new("the file").to_path_buf();
                return Err(StoreError::Vanished { path });
            }
            Ok(())
        })
    }

    fn reader(&self) -> Result<Arc<dyn JournalReader>, StoreError> {
        self.inner.reader()
    }
}

/// A session over such a journal, and what makes it fail.
fn session(setup: &Setup) -> (Session, Arc<AtomicBool>) {
    let environment = setup.environment();
    let fails = Arc::new(AtomicBool::new(false));
    let header = SessionHeader {
        version: store::CURRENT_VERSION,
        id: "s".to_owned(),
        timestamp: "2026-01-01T00:00:00.000Z".to_owned(),
        cwd: "/project".to_owned(),
        parent_session: None,
        title: None,
    };
    let journal = Box::new(Failing {
        inner: store::memory(header),
        fails: Arc::clone(&fails),
    });
    let opened = OpenedSession {
        journal,
        context: Vec::new(),
        leaf: None,
        name: None,
        model: None,
        thinking_level: None,
        warnings: Vec::new(),
    };
    let session = Session::resume(environment, setup.options.clone(), opened).unwrap();
    (session, fails)
}

#[tokio::test(start_paused = true)]
async fn a_sync_that_fails_at_the_end_of_a_turn_is_told_after_the_whole_answer() {
    let slow = ScriptTurn::new().text("to ").wait(1000).text("the end");
    let setup = with(Scenario::new().turn(slow).text("two"));
    let (session, fails) = session(&setup);
    let environment = setup.environment();
    let mut stage = setup.around(session, environment);
    stage.prompt("hi").await;
    stage.until_said("to ").await;
    fails.store(true, Ordering::Release);
    let seen = stage.settled().await;
    let at = |text: &str| seen.find(text).unwrap_or_else(|| panic!("{text}: {seen}"));
    assert!(
        at(r#"ended: assistant ["to the end"] stop"#)
            < at("run ended: failed Other the session could not be saved")
    );
    // It is in the conversation, and when the disk is back it goes on.
    fails.store(false, Ordering::Release);
    stage.run("again").await;
    assert_eq!(stage.messages().await.len(), 4);
}

#[tokio::test]
async fn a_message_of_an_extension_that_could_not_be_synced_is_taken_back_in_the_file() {
    let setup = with(Scenario::new().text("one"));
    let (session, fails) = session(&setup);
    fails.store(true, Ordering::Release);
    let injected = Injected::User(vec![ContentBlock::text("hi")]);
    let refused = session.inject(injected, Delivery::default()).await;
    assert!(matches!(refused, Err(SessionError::Store(_))));
    assert_eq!(session.messages().await.unwrap(), []);
    let (_, entries) = session.entries().await.unwrap();
    let [.., refused, last] = entries.as_slice() else {
        panic!("{entries:?}");
    };
    assert!(matches!(refused.kind, EntryKind::Message { .. }));
    let taken_back = EntryKind::ContextEdit {
        target_id: refused.id.clone(),
        replacement: None,
    };
    assert_eq!(last.kind, taken_back);
    assert_eq!(last.parent_id, refused.parent_id);
}
