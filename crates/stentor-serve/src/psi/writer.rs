//! The task that owns everything that goes out.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::mpsc;
use tokio::time::Instant;

use super::encoder::SessionEncoder;
use super::events;
use super::item::{CausingRequest, ItemPart, ItemParts, PsiItem};
use super::limits::BATCH_BYTES;
use super::payload::Written;
use super::shared::PsiShared;
use super::trace::Trace;
use super::wire::PsiWire;
use crate::merge::{Merge, MergedItem};
use crate::output::Output;

/// Brings answers and the events of all live sessions onto the wire.
pub(super) struct PsiWriter {
    wire: PsiWire,
    merge: Merge<ItemParts>,
    sessions: HashMap<Arc<str>, SessionEncoder>,
    ended: bool,
}

impl PsiWriter {
    pub fn new(
        shared: Arc<PsiShared>,
        items: mpsc::Receiver<PsiItem>,
        output: Output,
        trace: Trace,
    ) -> Self {
        Self {
            wire: PsiWire::new(shared, output, trace),
            merge: Merge::new(items),
            sessions: HashMap::new(),
            ended: false,
        }
    }

    /// Writes until it is asked to end, or nobody reads any more.
    pub async fn run(mut self) {
        while !self.ended && !self.wire.closed {
            let deadline = self.deadline();
            let due = async {
                match deadline {
                    Some(deadline) => tokio::time::sleep_until(deadline).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                next = self.merge.next() => match next {
                    Some(next) => self.write(next).await,
                    None => self.ended = true,
                },
                () = due => {}
            }
            self.write_ready().await;
            self.write_due().await;
            self.wire.hand_over().await;
        }
        // The sessions are closed: their last events still wait.
        while !self.wire.closed
            && let Some(next) = self.merge.ready()
        {
            self.write(next).await;
        }
        self.wire.hand_over().await;
    }

    /// Writes what is ready, up to a batch.
    async fn write_ready(&mut self) {
        while !self.ended
            && self.wire.frames.len() < BATCH_BYTES
            && let Some(next) = self.merge.ready()
        {
            self.write(next).await;
        }
    }

    async fn write(&mut self, next: MergedItem<ItemParts>) {
        match next {
            MergedItem::Event(event) => {
                if let Some(encoder) = self.sessions.get_mut(&event.session) {
                    events::publish(encoder, &mut self.wire, &event).await;
                }
            }
            MergedItem::Answer(ItemParts { cause, parts }) => {
                for part in parts {
                    self.part(part, &cause).await;
                }
                self.wire.hand_over().await;
            }
            MergedItem::Gone(session) => {
                if let Some(encoder) = self.sessions.remove(&session) {
                    encoder.live.locked().phase = Default::default();
                    self.wire.shared.at_rest();
                }
            }
        }
    }

    /// The next moment at which something must be written though nothing happens.
    fn deadline(&self) -> Option<Instant> {
        let interval = self.wire.shared.options.delta_interval;
        let sessions = self.sessions.values();
        sessions.filter_map(|one| one.deadline(interval)).min()
    }

    async fn write_due(&mut self) {
        let now = Instant::now();
        for encoder in self.sessions.values_mut() {
            self.wire.texts_that_are_due(encoder).await;
            self.wire.signs_of_life(encoder, now);
        }
    }

    async fn part(&mut self, part: ItemPart, cause: &CausingRequest) {
        let wire = &mut self.wire;
        match part {
            ItemPart::Answer(id, frame) => {
                wire.frames.extend_from_slice(&frame);
                wire.answered.extend(id);
            }
            ItemPart::Event {
                topic,
                session,
                data,
            } => {
                let encoder = session.as_ref().and_then(|id| self.sessions.get_mut(id));
                if let Some(encoder) = encoder {
                    wire.rest_of_texts(encoder).await;
                }
                let data = Written(&data);
                wire.event(topic, session.as_deref(), cause.as_deref(), &data);
            }
            ItemPart::Snapshots(live) => wire.snapshots(&live, cause).await,
            ItemPart::SnapshotsHeld(live) => live.locked().holding_snapshots -= 1,
            ItemPart::FocusedSnapshots => {
                if let Some(live) = wire.focus.clone() {
                    wire.snapshots(&live, cause).await;
                }
            }
            ItemPart::Footer(live) => wire.footer(&live, &None).await,
            ItemPart::Context => wire.context(cause).await,
            ItemPart::Rehydration(live) => wire.rehydration(&live, cause).await,
            ItemPart::UiSnapshot => wire.ui_snapshot(),
            ItemPart::Wiped => {
                wire.context(&None).await;
                wire.widgets();
                wire.statuses();
            }
            ItemPart::Focus(live) => wire.focus = Some(live),
            ItemPart::Topics(topics) => wire.topics = topics,
            ItemPart::Attach(live, events) => {
                let id = Arc::clone(&live.id);
                wire.output.ends_with(&events);
                self.merge.attach(events);
                self.sessions.insert(id, SessionEncoder::new(live));
            }
            ItemPart::Detach(session) => {
                self.merge.detach(&session);
                self.sessions.remove(&session);
            }
            ItemPart::RunBegins(session) => {
                if let Some(encoder) = self.sessions.get_mut(&session) {
                    encoder.cause.clone_from(cause);
                    encoder.live.locked().phase.running = true;
                }
            }
            ItemPart::Release(accepted) => {
                wire.hand_over().await;
                drop(accepted);
            }
            ItemPart::Interrupting(live) => {
                {
                    let phase = &mut live.locked().phase;
                    phase.interrupting = phase.running;
                }
                let encoder = self.sessions.get(&live.id);
                let cause = encoder.and_then(|encoder| encoder.cause.clone());
                wire.session_updated(&live, &cause).await;
            }
            ItemPart::End => self.ended = true,
        }
    }
}
