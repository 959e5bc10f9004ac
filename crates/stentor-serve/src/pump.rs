//! Events and answers in the order in which they must appear.
//!
//! Events come through a subscription, answers to commands from whoever handled the command. Two
//! orders matter: the events an operation caused come before its answer (an abort's last events),
//! and an answer comes before the events of what it started (a prompt's acknowledgement). Both
//! follow from one number: an answer is written after all events up to the number that was the
//! newest when the answer was made, and before all later ones.

use stentor_agent::event::Event;
use stentor_agent::hub::Subscription;
use tokio::sync::mpsc;

use crate::output::{Closed, Output};

/// Answers that may wait for the pump. Who has more waits.
const ANSWERS: usize = 64;

/// Bytes gathered before they are handed over, while more is ready.
const BATCH_BYTES: usize = 64 * 1024;

/// Writes a dialect's frames for events.
pub trait EventEncoder: Send {
    /// Appends the frames for `event`, none if the dialect has no word for it.
    fn encode(&mut self, event: &Event, frames: &mut Vec<u8>);
}

/// Where answers go.
#[derive(Clone)]
pub struct Answers {
    sender: mpsc::Sender<Answer>,
}

struct Answer {
    after_seq: u64,
    frames: Vec<u8>,
}

impl Answers {
    /// Writes complete frames after all events up to number `after_seq` and before later ones.
    pub async fn send(&self, after_seq: u64, frames: Vec<u8>) -> Result<(), Closed> {
        self.sender
            .send(Answer { after_seq, frames })
            .await
            .map_err(|_| Closed)
    }
}

/// Brings the events of one session and the answers of its dialect onto the wire.
pub struct Pump<E> {
    events: Subscription,
    answers: mpsc::Receiver<Answer>,
    output: Output,
    encoder: E,
    frames: Vec<u8>,
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
            },
            Answers { sender },
        )
    }

    /// Pumps until the session is gone and nobody can answer any more, or the pipe is closed.
    /// Returns the encoder, which knows how far it got.
    pub async fn run(mut self) -> Result<E, Closed> {
        let mut answering = true;
        loop {
            tokio::select! {
                biased;
                answer = self.answers.recv(), if answering => match answer {
                    Some(answer) => self.answer(answer).await?,
                    None => answering = false,
                },
                event = self.events.next() => match event {
                    Some(event) => self.events_from(event).await?,
                    None if answering => {
                        // The session is gone; what was still to be answered is.
                        while let Some(answer) = self.answers.recv().await {
                            self.answer(answer).await?;
                        }
                        return Ok(self.encoder);
                    }
                    None => return Ok(self.encoder),
                },
            }
        }
    }

    /// Writes an event and what is ready behind it, unless an answer waits.
    async fn events_from(&mut self, first: Event) -> Result<(), Closed> {
        self.encoder.encode(&first, &mut self.frames);
        while self.frames.len() < BATCH_BYTES && self.answers.is_empty() {
            let Some(event) = self.events.try_next() else {
                break;
            };
            self.encoder.encode(&event, &mut self.frames);
        }
        self.hand_over().await
    }

    async fn answer(&mut self, answer: Answer) -> Result<(), Closed> {
        while let Some(event) = self.events.try_next_up_to(answer.after_seq) {
            self.encoder.encode(&event, &mut self.frames);
            if self.frames.len() >= BATCH_BYTES {
                self.hand_over().await?;
            }
        }
        self.frames.extend_from_slice(&answer.frames);
        self.hand_over().await
    }

    async fn hand_over(&mut self) -> Result<(), Closed> {
        if !self.frames.is_empty() {
            self.output.send(&self.frames).await?;
            self.frames.clear();
            if self.frames.capacity() > 4 * BATCH_BYTES {
                self.frames = Vec::new();
            }
        }
        Ok(())
    }
}
