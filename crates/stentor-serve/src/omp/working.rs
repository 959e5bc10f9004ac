//! How many commands are being done, for who waits until none is.

use tokio::sync::watch;

/// Counts the commands that are being done.
#[derive(Debug)]
pub(super) struct Working {
    count: watch::Sender<usize>,
}

/// A command that is being done, until this is dropped.
#[derive(Debug)]
pub(super) struct AtWork {
    count: watch::Sender<usize>,
}

impl Default for Working {
    fn default() -> Self {
        Self {
            count: watch::Sender::new(0),
        }
    }
}

impl Working {
    /// One begins.
    pub fn begin(&self) -> AtWork {
        self.count.send_modify(|count| *count += 1);
        AtWork {
            count: self.count.clone(),
        }
    }

    /// Waits until none is being done.
    pub async fn wait(&self) {
        let mut count = self.count.subscribe();
        // Its sender is ours, so it is there.
        count.wait_for(|count| *count == 0).await.ok();
    }
}

impl Drop for AtWork {
    fn drop(&mut self) {
        self.count.send_modify(|count| *count -= 1);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::{FutureExt, poll};

    use super::*;

    #[tokio::test]
    async fn who_waits_goes_on_when_the_last_one_is_done() {
        let working = Working::default();
        assert!(working.wait().now_or_never().is_some());
        let (first, second) = (working.begin(), working.begin());
        let mut waiting = Box::pin(working.wait());
        assert!(poll!(&mut waiting).is_pending());
        drop(first);
        assert!(poll!(&mut waiting).is_pending());
        drop(second);
        waiting.await;
    }
}
