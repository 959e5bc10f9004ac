//! The pipes of a child: one task reads, whoever has something to say writes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value};
use stentor_wire::synaps::Event;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{ChildStderr, ChildStdout};
use tokio::sync::{mpsc, oneshot};

use super::error::ClientError;

/// What a command is answered with.
pub(super) type SynapsAnswer = Result<Map<String, Value>, ClientError>;

/// Events that may wait for their reader. The child waits when it is full.
pub(super) const EVENTS: usize = 1024;

/// The commands that wait for their answers, by id.
#[derive(Clone, Default)]
pub(super) struct Pending {
    waiting: Arc<Mutex<Waiting>>,
}

#[derive(Default)]
struct Waiting {
    commands: HashMap<String, (&'static str, oneshot::Sender<SynapsAnswer>)>,
    is_over: bool,
}

impl Pending {
    /// Waits for the answer to `command`.
    pub fn wait(&self, id: String, command: &'static str) -> oneshot::Receiver<SynapsAnswer> {
        let (sender, receiver) = oneshot::channel();
        let mut waiting = self.lock();
        // Without the child nobody answers; the dropped sender says so.
        if !waiting.is_over {
            waiting.commands.insert(id, (command, sender));
        }
        receiver
    }

    fn answer(&self, id: &str, answer: SynapsAnswer) {
        if let Some((_, sender)) = self.lock().commands.remove(id) {
            // Who asked may have lost interest.
            sender.send(answer).ok();
        }
    }

    /// True when `command` is how a child answers the command that waits with this id. Notices of
    /// newer children have a dot in their name and the id of a command that goes on.
    fn expects(&self, id: &str, command: &str) -> bool {
        self.lock().commands.get(id).is_some_and(|(asked, _)| {
            *asked == command || (*asked == "follow_up" && command == "prompt")
        })
    }

    fn end(&self) {
        let mut waiting = self.lock();
        waiting.is_over = true;
        waiting.commands.clear();
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads frames until the child ends: answers go to who waits, the rest to `events`.
pub(super) async fn read(stdout: ChildStdout, pending: Pending, events: mpsc::Sender<Event>) {
    let mut lines = BufReader::new(stdout).split(b'\n');
    while let Ok(Some(line)) = lines.next_segment().await {
        let event = match serde_json::from_slice::<Event>(&line) {
            Ok(event) => event,
            // Events and frames of newer children: nothing that could be missed.
            Err(error) => {
                tracing::debug!(%error, "a frame that is not understood");
                continue;
            }
        };
        match event {
            Event::Response { id, command, body } => {
                if pending.expects(&id, &command) {
                    pending.answer(&id, Ok(body));
                }
            }
            Event::Error {
                id: Some(id),
                message,
            } => pending.answer(&id, Err(ClientError::Refused(message))),
            other => {
                // Without a reader of events the answers still have to get through.
                events.send(other).await.ok();
            }
        }
    }
    pending.end();
}

/// A child that fills its stderr would wait for ever.
pub(super) async fn drain(mut stderr: ChildStderr) {
    let mut chunk = vec![0; 4096];
    while let Ok(read) = stderr.read(&mut chunk).await {
        if read == 0 {
            break;
        }
        let text = String::from_utf8_lossy(chunk.get(..read).unwrap_or_default());
        tracing::debug!("the child says: {}", text.trim_end());
    }
}
