//! Brings the events of one session and the answers of its dialect onto the wire, in the order that
//! [`merge`](crate::merge) gives them.

use std::sync::Arc;
use std::time::Duration;

use stentor_agent::event::Event;
use stentor_agent::hub::Subscription;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use crate::merge::{EventPlace, Merge, MergedItem, PlacedAnswer};
use crate::output::{Closed, Output};

/// Answers that may wait for the pump. Who has more waits.
const ANSWERS: usize = 64;

/// Bytes gathered before they are handed over, while more is ready.
const BATCH_BYTES: usize = 64 * 1024;

/// Writes a dialect's frames for events.
pub trait EventEncoder: Send {
    /// Appends the frames for `event`, none if the dialect has no word for it.
    fn encode(&mut self, event: &Event, frames: &mut Vec<u8>);

    /// Appends the next part of a frame that is too long to be made at once. False when there is
    /// none; until then nothing else is encoded.
    fn next_part(&mut self, _frames: &mut Vec<u8>) -> bool {
        false
    }

    /// For how long deltas may gather after what was just encoded. Answers and everything that is
    /// no delta end the rest at once.
    fn rest(&mut self) -> Option<Duration> {
        None
    }
}

/// Where answers go.
#[derive(Clone)]
pub struct Answers {
    session: Arc<str>,
    sender: mpsc::Sender<PlacedAnswer<QueuedAnswer>>,
}

struct QueuedAnswer {
    write: WriteFrames,
    /// Dropped when the frames have been handed over.
    written: Option<oneshot::Sender<()>>,
}

/// Appends complete frames.
type WriteFrames = Box<dyn FnOnce(&mut Vec<u8>) + Send>;

impl Answers {
    /// Writes complete frames after all events up to number `after_seq` and before later ones.
    pub async fn send(&self, after_seq: u64, frames: Vec<u8>) -> Result<(), Closed> {
        let write = move |out: &mut Vec<u8>| out.extend_from_slice(&frames);
        self.send_with(after_seq, write).await
    }

    /// The same with frames that are made when it is their turn: `write` sees what the frames
    /// before it changed, and what it changes holds from the next frame on.
    pub async fn send_with(
        &self,
        after_seq: u64,
        write: impl FnOnce(&mut Vec<u8>) + Send + 'static,
    ) -> Result<(), Closed> {
        self.place(after_seq, Box::new(write), None).await
    }

    /// The same without a claim that the pump goes on.
    pub fn downgrade(&self) -> WeakAnswers {
        WeakAnswers {
            session: Arc::clone(&self.session),
            sender: self.sender.downgrade(),
        }
    }

    /// Waits until all answers before this one, and all events up to number `after_seq`, have been
    /// handed over, or nobody hands over anything any more.
    pub async fn written(&self, after_seq: u64) {
        let (sender, written) = oneshot::channel();
        let nothing = Box::new(|_: &mut Vec<u8>| ());
        if self.place(after_seq, nothing, Some(sender)).await.is_ok() {
            // Nothing is ever sent: it ends when it is dropped.
            written.await.ok();
        }
    }

    async fn place(
        &self,
        seq: u64,
        write: WriteFrames,
        written: Option<oneshot::Sender<()>>,
    ) -> Result<(), Closed> {
        let session = Arc::clone(&self.session);
        let placed = PlacedAnswer {
            after: Some(EventPlace { session, seq }),
            answer: QueuedAnswer { write, written },
        };
        self.sender.send(placed).await.map_err(|_| Closed)
    }
}

/// The same for who must not keep the pump from ending.
#[derive(Clone)]
pub struct WeakAnswers {
    session: Arc<str>,
    sender: mpsc::WeakSender<PlacedAnswer<QueuedAnswer>>,
}

impl WeakAnswers {
    /// As [`Answers::written`].
    pub async fn written(&self, after_seq: u64) {
        if let Some(sender) = self.sender.upgrade() {
            let session = Arc::clone(&self.session);
            Answers { session, sender }.written(after_seq).await;
        }
    }
}

/// Brings the events of one session and the answers of its dialect onto the wire.
pub struct Pump<E> {
    session: Arc<str>,
    merge: Merge<QueuedAnswer>,
    output: Output,
    encoder: E,
    frames: Vec<u8>,
    /// Those who wait until what is in `frames` has been handed over.
    waiting: Vec<oneshot::Sender<()>>,
}

impl<E: EventEncoder> Pump<E> {
    /// A pump, and where its answers go.
    pub fn new(events: Subscription, output: Output, encoder: E) -> (Self, Answers) {
        let (sender, answers) = mpsc::channel(ANSWERS);
        let session = Arc::clone(events.session());
        output.ends_with(&events);
        let mut merge = Merge::new(answers);
        merge.attach(events);
        let pump = Self {
            session: Arc::clone(&session),
            merge,
            output,
            encoder,
            frames: Vec::new(),
            waiting: Vec::new(),
        };
        (pump, Answers { session, sender })
    }

    /// Pumps until the session is gone and nobody can answer any more, or the pipe is closed.
    /// Returns the encoder, which knows how far it got.
    pub async fn run(mut self) -> Result<E, Closed> {
        while self.step().await? {}
        Ok(self.encoder)
    }

    /// Waits for what comes next and hands it over with what is ready behind it. False when nothing
    /// can come any more. Nothing is lost when the future is dropped.
    pub async fn step(&mut self) -> Result<bool, Closed> {
        if !self.is_handed_over() {
            self.hand_over().await?;
            return Ok(true);
        }
        let Some(next) = self.merge.next().await else {
            return Ok(false);
        };
        self.write(next);
        while self.frames.len() < BATCH_BYTES
            && let Some(next) = self.merge.ready()
        {
            self.write(next);
        }
        self.hand_over().await?;
        Ok(true)
    }

    /// Hands over everything that has come so far.
    pub async fn catch_up(&mut self) -> Result<(), Closed> {
        loop {
            self.hand_over().await?;
            self.merge.rest(None);
            match self.merge.ready() {
                Some(next) => self.write(next),
                None => return Ok(()),
            }
        }
    }

    /// What writes the events.
    pub fn encoder(&self) -> &E {
        &self.encoder
    }

    /// The same to change something in it, which holds from the next event on.
    pub fn encoder_mut(&mut self) -> &mut E {
        &mut self.encoder
    }

    /// Has the encoder write something behind all events up to number `after_seq`, and before
    /// later ones. It is handed over with the next step.
    pub fn write_after<T>(
        &mut self,
        after_seq: u64,
        write: impl FnOnce(&mut E, &mut Vec<u8>) -> T,
    ) -> T {
        let after = EventPlace {
            session: Arc::clone(&self.session),
            seq: after_seq,
        };
        while let Some(next) = self.merge.before(&after) {
            self.write(next);
        }
        self.end_long_frame();
        write(&mut self.encoder, &mut self.frames)
    }

    /// True when everything that was written has been handed over.
    pub fn is_handed_over(&self) -> bool {
        self.frames.is_empty()
    }

    fn write(&mut self, next: MergedItem<QueuedAnswer>) {
        self.end_long_frame();
        match next {
            MergedItem::Event(event) => {
                self.encoder.encode(&event, &mut self.frames);
                while self.frames.len() < BATCH_BYTES && self.encoder.next_part(&mut self.frames) {}
                let rest = self.encoder.rest();
                self.merge.rest(rest.map(|rest| Instant::now() + rest));
            }
            MergedItem::Answer(answer) => {
                (answer.write)(&mut self.frames);
                self.waiting.extend(answer.written);
            }
            MergedItem::Gone(_) => {}
        }
    }

    /// Writes what is left of a long frame when something else must be written behind it.
    fn end_long_frame(&mut self) {
        while self.encoder.next_part(&mut self.frames) {}
    }

    /// Hands over what was written, a long frame part by part; waits while too much is queued.
    pub async fn hand_over(&mut self) -> Result<(), Closed> {
        loop {
            if !self.frames.is_empty() {
                self.output.send_all(&mut self.frames).await?;
                if self.frames.capacity() > 4 * BATCH_BYTES {
                    self.frames = Vec::new();
                }
            }
            if !self.encoder.next_part(&mut self.frames) {
                break;
            }
        }
        self.waiting.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Read;

    use stentor_agent::event::EventKind;
    use stentor_agent::hub::Hub;
    use stentor_journal::clock::CountingClock;

    use super::*;

    struct Numbers;

    impl EventEncoder for Numbers {
        fn encode(&mut self, event: &Event, frames: &mut Vec<u8>) {
            frames.extend_from_slice(format!("event {}\n", event.seq).as_bytes());
        }
    }

    /// The event is in hand before the pump looks for answers, as when both come between two looks.
    #[tokio::test]
    async fn an_answer_that_came_while_an_event_was_looked_for_is_written_in_its_place() {
        let (reader, writer) = rustix::pipe::pipe().unwrap();
        let output = Output::write_to(writer).unwrap();
        let hub = Hub::new(Arc::from("s"), Arc::new(CountingClock::starting_at(0)));
        let (mut pump, answers) = Pump::new(hub.subscribe(), output.clone(), Numbers);
        for after_seq in [1, 2, 3, 5] {
            let frame = format!("answer after {after_seq}\n");
            answers.send(after_seq, frame.into_bytes()).await.unwrap();
        }
        for _ in 0..6 {
            hub.publish(EventKind::TurnStarted);
        }
        while let Some(next) = pump.merge.ready() {
            pump.write(next);
        }
        pump.hand_over().await.unwrap();
        output.finish().await;
        drop((pump, output));
        let mut written = String::new();
        File::from(reader).read_to_string(&mut written).unwrap();
        assert_eq!(
            written,
            "event 1\nanswer after 1\nevent 2\nanswer after 2\nevent 3\nanswer after 3\n\
             event 4\nevent 5\nanswer after 5\nevent 6\n"
        );
    }
}
