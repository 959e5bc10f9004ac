//! What a child says while nobody asks it anything. One that begins to work by itself, because a job of
//! its own has ended, wakes the session, whose run shows what it does.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use stentor_agent::model_host::SessionWaker;
use stentor_agent::tasks;
use tokio_util::sync::CancellationToken;

use crate::inbox::{ChildShared, Inbox};

/// Reads from the child until a run begins, if none has. Does not keep it: it ends with its session.
pub(crate) fn watch(shared: &Arc<ChildShared>) {
    let Some(waker) = shared.waker() else {
        return;
    };
    let over = CancellationToken::new();
    if !shared.set_idle_watch(over.clone().drop_guard()) {
        return;
    }
    let inbox = Arc::clone(&shared.inbox);
    let shared = Arc::downgrade(shared);
    tasks::spawn(async move {
        let reading = async {
            let mut inbox = inbox.lock_owned().await;
            read(&mut inbox, &shared, &waker).await;
        };
        tokio::select! {
            biased;
            () = over.cancelled() => {}
            () = reading => {}
        }
    });
}

async fn read(inbox: &mut Inbox, shared: &Weak<ChildShared>, waker: &SessionWaker) {
    let works = |works| {
        if let Some(shared) = shared.upgrade() {
            shared.works_by_itself.store(works, Ordering::Release);
        }
    };
    if inbox.agent().is_none() {
        return;
    }
    let mut begins = inbox.has_own_turn();
    loop {
        // Where the session is not woken, its next prompt shows what was said.
        if begins {
            works(true);
            if waker().await {
                return;
            }
        }
        match inbox.read_ahead().await {
            Some(is_start) => begins = is_start,
            None => return works(false),
        }
    }
}
