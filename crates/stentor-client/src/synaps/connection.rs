//! The pipes of a child: one task reads, whoever has something to say writes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value};
use stentor_wire::framing::{Line, LineReader};
use stentor_wire::synaps::Event;
use tokio::io::AsyncReadExt;
use tokio::process::{ChildStderr, ChildStdout};
use tokio::sync::{mpsc, oneshot};

use super::error::ClientError;
use crate::connection::Limits;

/// What a command is answered with.
pub(super) type SynapsAnswer = Result<Map<String, Value>, ClientError>;

/// Events that may wait for their reader. The child waits when it is full.
pub(super) const EVENTS: usize = 1024;

/// Bytes read at once.
const READ_BYTES: usize = 64 * 1024;

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
pub(super) async fn read(mut stdout: ChildStdout, pending: Pending, events: mpsc::Sender<Event>) {
    let mut lines = LineReader::new(Limits::default().line_bytes);
    let mut buffer = vec![0; READ_BYTES];
    while let Ok(count @ 1..) = stdout.read(&mut buffer).await {
        let mut chunk = buffer.get(..count).unwrap_or_default();
        while let Some(line) = lines.next_line(&mut chunk) {
            let Line::Text(line) = line else {
                tracing::debug!("a line that is too long or not UTF-8");
                continue;
            };
            take(line, &pending, &events).await;
        }
    }
    pending.end();
}

/// Hands one frame to whoever it is for.
async fn take(line: &str, pending: &Pending, events: &mpsc::Sender<Event>) {
    let event = match serde_json::from_str::<Event>(line) {
        Ok(event) => event,
        // Events and frames of newer children: nothing that could be missed.
        Err(error) => {
            tracing::debug!(%error, "a frame that is not understood");
            return;
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
