//! The commands that are running, for whoever waits until none is.

use tokio::sync::watch;

/// Counts the commands that are running.
#[derive(Debug)]
pub(super) struct RunningCommands {
    count: watch::Sender<usize>,
}

/// A command that is running, until this is dropped.
#[derive(Debug)]
pub(super) struct RunningCommand {
    count: watch::Sender<usize>,
}

impl Default for RunningCommands {
    fn default() -> Self {
        Self {
            count: watch::Sender::new(0),
        }
    }
}

impl RunningCommands {
    /// One begins.
    pub fn begin(&self) -> RunningCommand {
        self.count.send_modify(|count| *count += 1);
        RunningCommand {
            count: self.count.clone(),
        }
    }

    /// Waits until none is running.
    pub async fn wait(&self) {
        let mut count = self.count.subscribe();
        // Its sender is ours, so it is there.
        count.wait_for(|count| *count == 0).await.ok();
    }
}

impl Drop for RunningCommand {
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
        let running_commands = RunningCommands::default();
        assert!(running_commands.wait().now_or_never().is_some());
        let (first, second) = (running_commands.begin(), running_commands.begin());
        let mut waiting = Box::pin(running_commands.wait());
        assert!(poll!(&mut waiting).is_pending());
        drop(first);
        assert!(poll!(&mut waiting).is_pending());
        drop(second);
        waiting.await;
    }
}
