//! What a child says while nobody asks it anything. One that begins to work by itself, because a job of
//! its own has ended, wakes the session, whose run shows what it does.

use std::sync::Arc;

use stentor_agent::model_host::SessionWaker;
use stentor_agent::tasks;
use tokio_util::sync::CancellationToken;

use crate::inbox::{ChildShared, Inbox};

/// Reads from the child until a run begins, if none has. Does not keep it: it ends with its session.
pub(crate) fn watch(shared: &ChildShared) {
    let Some(waker) = shared.waker() else {
        return;
    };
    let over = CancellationToken::new();
    if !shared.set_idle_watch(over.clone().drop_guard()) {
        return;
    }
    let inbox = Arc::clone(&shared.inbox);
    tasks::spawn(async move {
        let reading = async {
            let mut inbox = inbox.lock_owned().await;
            read(&mut inbox, &waker).await;
        };
        tokio::select! {
            biased;
            () = over.cancelled() => {}
            () = reading => {}
        }
    });
}

async fn read(inbox: &mut Inbox, waker: &SessionWaker) {
    if inbox.agent().is_none() {
        return;
    }
    let mut begins = inbox.has_own_turn();
    loop {
        // Where the session is not woken, its next prompt shows what was said.
        if begins && waker().await {
            return;
        }
        match inbox.read_ahead().await {
            Some(is_start) => begins = is_start,
            None => return,
        }
    }
}
