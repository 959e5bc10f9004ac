//! Ending the connection of a client that keeps the others of its session waiting.

use std::time::Duration;

use stentor_agent::hub::{Lag, Subscription};
use stentor_agent::tasks;

use super::Output;

/// How often it is looked whether a client that others wait for has taken anything.
const LOOK_EVERY: Duration = Duration::from_secs(1);

impl Output {
    /// Ends the connection, as if nobody read any more, when the session gives the subscription up. While
    /// the client takes bytes it is not.
    pub fn ends_with(&self, events: &Subscription) {
        let (output, lag) = (self.clone(), events.lag());
        tasks::spawn(async move {
            tokio::select! {
                given_up = given_up(&output, lag) => if given_up {
                    tracing::warn!("a client kept the others of its session waiting; it is disconnected");
                    output.shared.given_up.cancel();
                    output.shared.close();
                },
                () = output.closed() => {}
            }
        });
    }

    fn taken(&self) -> u64 {
        self.shared.lock().taken
    }
}

/// Waits until the client is given up. False when its subscription is over for another reason.
async fn given_up(output: &Output, mut lag: Lag) -> bool {
    while lag.is_waited_for().await {
        let taken = output.taken();
        tokio::select! {
            given_up = lag.is_given_up() => return given_up,
            () = tokio::time::sleep(LOOK_EVERY) => {}
        }
        if output.taken() != taken {
            lag.reads();
        }
    }
    false
}
