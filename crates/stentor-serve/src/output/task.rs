//! Writing by a task, for the many clients of a server.

use std::io;
use std::sync::Arc;

use stentor_agent::tasks;
use tokio::io::{AsyncWriteExt, Interest};
use tokio::net::UnixStream;
use tokio::net::unix::OwnedWriteHalf;
use tokio_util::sync::CancellationToken;

use super::{OutputShared, OutputWriter, WriterWork};

/// Starts a task that owns `target`, and one that looks at `watched` whether anybody reads.
pub(super) fn start(shared: &Arc<OutputShared>, mut target: OwnedWriteHalf, watched: UnixStream) {
    let over = CancellationToken::new();
    let (owner, ends) = (Arc::clone(shared), over.clone().drop_guard());
    tasks::spawn(async move {
        write_all(&owner, &mut target).await;
        drop(ends);
    });
    let watcher = Arc::clone(shared);
    tasks::spawn(async move {
        tokio::select! {
            () = hang_up(&watched) => watcher.close(),
            () = over.cancelled() => {}
        }
    });
}

async fn write_all(shared: &OutputShared, target: &mut OwnedWriteHalf) {
    let mut in_hand = Vec::new();
    loop {
        let OutputWriter::Task(work) = &shared.writer else {
            return;
        };
        // Who finds that it sleeps wakes it; a wake that comes too early is not lost.
        let is_work = match shared.next_work(&mut in_hand) {
            WriterWork::End => return,
            WriterWork::Sleep(_) => false,
            WriterWork::Write => true,
        };
        if !is_work {
            work.notified().await;
        } else if let Err(error) = write(shared, target, &in_hand).await {
            return shared.failed(&error);
        }
    }
}

/// Writes everything, and counts each time that the client took some of it.
async fn write(
    shared: &OutputShared,
    target: &mut OwnedWriteHalf,
    mut rest: &[u8],
) -> io::Result<()> {
    while !rest.is_empty() {
        let taken = target.write(rest).await?;
        if taken == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        shared.lock().taken += 1;
        rest = rest.get(taken..).unwrap_or_default();
    }
    Ok(())
}

/// Waits until nobody reads any more. The stream is written to by another handle; each time something
/// changes at it, it is looked at once.
async fn hang_up(watched: &UnixStream) {
    loop {
        match watched.ready(Interest::WRITABLE).await {
            Ok(ready) if ready.is_write_closed() => return,
            Ok(_) => {
                let seen = || Err::<(), _>(io::Error::from(io::ErrorKind::WouldBlock));
                watched.try_io(Interest::WRITABLE, seen).ok();
            }
            // Then a write tells it.
            Err(_) => return std::future::pending().await,
        }
    }
}
