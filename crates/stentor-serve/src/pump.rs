//! Events and answers in the order in which they must appear.
//!
//! Events come through a subscription, answers to commands from whoever handled the command. Two
//! orders matter: the events an operation caused come before its answer (an abort's last events),
//! and an answer comes before the events of what it started (a prompt's acknowledgement). Both
//! follow from one number: an answer is written after all events up to the number that was the
//! newest when the answer was made, and before all later ones.

use std::time::Duration;

use stentor_agent::event::Event;
use stentor_agent::hub::Subscription;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use crate::output::{Closed, Output};

/// Answers that may wait for the pump. Who has more waits.
const ANSWERS: usize = 64;

/// Bytes gathered before they are handed over, while more is ready.
const BATCH_BYTES: usize = 64 * 1024;

/// Writes a dialect's frames for events.
pub trait EventEncoder: Send {
    /// Appends the frames for `event`, none if the dialect has no word for it.
    fn encode(&mut self, event: &Event, frames: &mut Vec<u8>);

    /// For how long deltas may gather after what was just encoded. Answers and everything that is
    /// no delta end the rest at once.
    fn rest(&mut self) -> Option<Duration> {
        None
    }
}

/// Where answers go.
#[derive(Clone)]
pub struct Answers {
    sender: mpsc::Sender<Answer>,
}

struct Answer {
    after_seq: u64,
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
        let answer = Answer {
            after_seq,
            write: Box::new(write),
            written: None,
        };
        self.sender.send(answer).await.map_err(|_| Closed)
    }

    /// The same without a claim that the pump goes on.
    pub fn downgrade(&self) -> WeakAnswers {
        WeakAnswers {
            sender: self.sender.downgrade(),
        }
    }

    /// Waits until all answers before this one, and all events up to number `after_seq`, have been
    /// handed over, or nobody hands over anything any more.
    pub async fn written(&self, after_seq: u64) {
        let (sender, written) = oneshot::channel();
        let answer = Answer {
            after_seq,
            write: Box::new(|_| ()),
            written: Some(sender),
        };
        if self.sender.send(answer).await.is_ok() {
            // Nothing is ever sent: it ends when it is dropped.
            written.await.ok();
        }
    }
}

/// The same for who must not keep the pump from ending.
#[derive(Clone)]
pub struct WeakAnswers {
    sender: mpsc::WeakSender<Answer>,
}

impl WeakAnswers {
    /// As [`Answers::written`].
    pub async fn written(&self, after_seq: u64) {
        if let Some(sender) = self.sender.upgrade() {
            Answers { sender }.written(after_seq).await;
        }
    }
}

/// Brings the events of one session and the answers of its dialect onto the wire.
pub struct Pump<E> {
    events: Subscription,
    answers: mpsc::Receiver<Answer>,
    output: Output,
    encoder: E,
    frames: Vec<u8>,
    /// The answer that comes next, while the events before it are written.
    due: Option<Answer>,
    /// Those who wait until what is in `frames` has been handed over.
    waiting: Vec<oneshot::Sender<()>>,
    /// Until then deltas gather.
    rests_until: Option<Instant>,
    events_over: bool,
    answers_over: bool,
}

impl<E: EventEncoder> Pump<E> {
    /// A pump, and where its answers go.
    pub fn new(events: Subscription, output: Output, encoder: E) -> (Self, Answers) {
        let (sender, answers) = mpsc::channel(ANSWERS);
        (
            Self {
                events,
                answers,
                output,
                encoder,
                frames: Vec::new(),
                due: None,
                waiting: Vec::new(),
                rests_until: None,
                events_over: false,
                answers_over: false,
            },
            Answers { sender },
        )
    }

    /// Pumps until the session is gone and nobody can answer any more, or the pipe is closed.
    /// Returns the encoder, which knows how far it got.
    pub async fn run(mut self) -> Result<E, Closed> {
        while self.step().await? {}
        Ok(self.encoder)
    }

    /// Waits for what comes next and hands it over. False when nothing can come any more. Nothing
    /// is lost when the future is dropped.
    pub async fn step(&mut self) -> Result<bool, Closed> {
        if !self.is_handed_over() {
            self.hand_over().await?;
            return Ok(true);
        }
        if self.due.is_none() {
            tokio::select! {
                biased;
                answer = self.answers.recv(), if !self.answers_over => match answer {
                    Some(answer) => self.due = Some(answer),
                    None => self.answers_over = true,
                },
                event = next(&mut self.events, self.rests_until), if !self.events_over => {
                    match event {
                        Some(event) => self.events_from(event),
                        None => self.events_over = true,
                    }
                }
                else => return Ok(false),
            }
        }
        self.write_due(BATCH_BYTES);
        self.hand_over().await?;
        Ok(true)
    }

    /// Hands over everything that has come so far.
    pub async fn catch_up(&mut self) -> Result<(), Closed> {
        loop {
            self.hand_over().await?;
            if self.due.is_none() {
                self.due = self.answers.try_recv().ok();
            }
            match (&self.due, self.events.try_next_up_to(self.due_after())) {
                (_, Some(event)) => self.encode(&event),
                (Some(_), None) => self.write_due(BATCH_BYTES),
                (None, None) => return Ok(()),
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
        self.write_due(usize::MAX);
        self.write_events(after_seq, usize::MAX);
        write(&mut self.encoder, &mut self.frames)
    }

    /// True when everything that was written has been handed over.
    pub fn is_handed_over(&self) -> bool {
        self.frames.is_empty()
    }

    /// Hands over what was written; waits while too much waits already.
    pub async fn hand_over(&mut self) -> Result<(), Closed> {
        if !self.frames.is_empty() {
            self.output.send_all(&mut self.frames).await?;
            if self.frames.capacity() > 4 * BATCH_BYTES {
                self.frames = Vec::new();
            }
        }
        self.waiting.clear();
        Ok(())
    }

    /// Writes an event and what is ready behind it, unless an answer waits.
    fn events_from(&mut self, first: Event) {
        self.event(first);
        while self.due.is_none()
            && self.rests_until.is_none()
            && self.frames.len() < BATCH_BYTES
            && self.answers.is_empty()
        {
            let Some(event) = self.events.try_next() else {
                break;
            };
            self.event(event);
        }
    }

    /// Writes an event in its place: an answer may have come while it was looked for.
    fn event(&mut self, event: Event) {
        while self.due.is_none()
            && let Ok(answer) = self.answers.try_recv()
        {
            match answer.after_seq >= event.seq {
                true => self.due = Some(answer),
                false => self.write(answer),
            }
        }
        self.encode(&event);
    }

    /// Writes the answer that comes next, unless the events before it fill the buffer.
    fn write_due(&mut self, limit_bytes: usize) {
        if self.due.is_some()
            && self.write_events(self.due_after(), limit_bytes)
            && let Some(answer) = self.due.take()
        {
            self.write(answer);
        }
    }

    fn write(&mut self, answer: Answer) {
        (answer.write)(&mut self.frames);
        self.waiting.extend(answer.written);
    }

    /// False when the buffer is full before all of them are written.
    fn write_events(&mut self, up_to: u64, limit_bytes: usize) -> bool {
        while self.frames.len() < limit_bytes {
            let Some(event) = self.events.try_next_up_to(up_to) else {
                return true;
            };
            self.encode(&event);
        }
        false
    }

    /// The number of the event behind which the next answer comes; without one, of the last.
    fn due_after(&self) -> u64 {
        self.due.as_ref().map_or(u64::MAX, |due| due.after_seq)
    }

    fn encode(&mut self, event: &Event) {
        self.encoder.encode(event, &mut self.frames);
        self.rests_until = self.encoder.rest().map(|rest| Instant::now() + rest);
    }
}

/// The next event; during a rest only when something other than a delta comes.
async fn next(events: &mut Subscription, rests_until: Option<Instant>) -> Option<Event> {
    if let Some(until) = rests_until {
        tokio::select! {
            () = tokio::time::sleep_until(until) => {}
            () = events.beyond_a_delta() => {}
        }
    }
    events.next().await
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Read;
    use std::sync::Arc;

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
        while let Some(event) = pump.events.try_next() {
            pump.events_from(event);
            pump.write_due(BATCH_BYTES);
            pump.hand_over().await.unwrap();
        }
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
