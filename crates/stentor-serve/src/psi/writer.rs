//! The task that owns everything that goes out.

use std::collections::HashMap;
use std::sync::Arc;

use stentor_agent::clock::iso_time;
use stentor_wire::edn::EdnWriter;
use stentor_wire::psi::frame::{self, ErrorContext, Stamp};
use stentor_wire::psi::{Topic, TopicSet};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::encoder::{Growing, SessionEncoder};
use super::eql::session::SessionFacts;
use super::events;
use super::item::{Cause, Item, Part};
use super::limits::BATCH_BYTES;
use super::live::Live;
use super::payload::context::Context;
use super::payload::footer::Footer;
use super::payload::session::SessionUpdated;
use super::payload::{message, tool, ui};
use super::shared::Shared;
use super::trace::{Direction, Trace};
use crate::merge::{Merge, Next};
use crate::output::Output;

/// Brings answers and the events of all live sessions onto the wire.
pub(super) struct Writer {
    wire: Wire,
    merge: Merge<Vec<Part>>,
    sessions: HashMap<Arc<str>, SessionEncoder>,
    ended: bool,
}

/// Frames in the making: what decides whether and how they are written.
pub(super) struct Wire {
    pub shared: Arc<Shared>,
    topics: TopicSet,
    focus: Option<Arc<Live>>,
    /// The number of the last event.
    seq: u64,
    frames: Vec<u8>,
    /// Requests whose answers are among the frames.
    answered: Vec<Arc<str>>,
    output: Output,
    trace: Trace,
    /// Nobody reads any more.
    closed: bool,
}

impl Writer {
    pub fn new(
        shared: Arc<Shared>,
        items: mpsc::Receiver<Item>,
        output: Output,
        trace: Trace,
    ) -> Self {
        Self {
            wire: Wire {
                shared,
                topics: TopicSet::default(),
                focus: None,
                seq: 0,
                frames: Vec::new(),
                answered: Vec::new(),
                output,
                trace,
                closed: false,
            },
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
            self.write_due();
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

    async fn write(&mut self, next: Next<Vec<Part>>) {
        match next {
            Next::Event(event) => {
                if let Some(encoder) = self.sessions.get_mut(&event.session) {
                    events::publish(encoder, &mut self.wire, &event).await;
                }
            }
            Next::Answer(parts) => {
                for part in parts {
                    self.part(part).await;
                }
                self.wire.hand_over().await;
            }
            Next::Gone(session) => {
                if let Some(encoder) = self.sessions.remove(&session) {
                    let live = encoder.live;
                    live.change_phase(|phase| *phase = Default::default());
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

    fn write_due(&mut self) {
        let now = Instant::now();
        for encoder in self.sessions.values_mut() {
            self.wire.texts_that_are_due(encoder);
            self.wire.signs_of_life(encoder, now);
        }
    }

    async fn part(&mut self, part: Part) {
        let wire = &mut self.wire;
        match part {
            Part::Response { id, op, data } => {
                frame::response(&mut wire.frames, &id, &op, data.as_deref());
                wire.answered.push(id);
            }
            Part::Error { id, op, error } => {
                let context = ErrorContext {
                    id: Some(&id),
                    op: Some(&op),
                    data: error.data.as_deref(),
                };
                frame::error(&mut wire.frames, error.code, &error.message, context);
                wire.answered.push(id);
            }
            Part::Refused(refused) => frame::refusal(&mut wire.frames, &refused),
            Part::Event {
                topic,
                session,
                cause,
                data,
            } => {
                let encoder = session.as_ref().and_then(|id| self.sessions.get_mut(id));
                if let Some(encoder) = encoder {
                    wire.rest_of_texts(encoder);
                }
                wire.event(topic, session.as_deref(), cause.as_deref(), |frame| {
                    frame.written(&data);
                });
            }
            Part::Snapshots(live, cause) => wire.snapshots(&live, &cause).await,
            Part::SnapshotsHeld(live) => live.release_snapshots(),
            Part::FocusedSnapshots(cause) => {
                if let Some(live) = wire.focus.clone() {
                    wire.snapshots(&live, &cause).await;
                }
            }
            Part::Footer(live) => wire.footer(&live, &None).await,
            Part::Context(cause) => wire.context(&cause).await,
            Part::Rehydration(live, cause) => wire.rehydration(&live, &cause).await,
            Part::UiSnapshot => wire.ui_snapshot(),
            Part::UiLists => wire.ui_lists(),
            Part::Focus(live) => wire.focus = Some(live),
            Part::Topics(topics) => wire.topics = topics,
            Part::Attach(live, events) => {
                let id = Arc::clone(&live.id);
                self.merge.attach(events);
                self.sessions.insert(id, SessionEncoder::new(live));
            }
            Part::Detach(session) => {
                self.merge.detach(&session);
                self.sessions.remove(&session);
            }
            Part::RunBegins(session, cause) => {
                if let Some(encoder) = self.sessions.get_mut(&session) {
                    encoder.cause = cause;
                    encoder.live.change_phase(|phase| phase.running = true);
                }
            }
            Part::Release(accepted) => {
                wire.hand_over().await;
                drop(accepted);
            }
            Part::Interrupting(live) => {
                let is_running = live.phase().running;
                live.change_phase(|phase| phase.interrupting = is_running);
                let encoder = self.sessions.get(&live.id);
                let cause = encoder.and_then(|encoder| encoder.cause.clone());
                wire.session_updated(&live, &cause).await;
            }
            Part::End => self.ended = true,
        }
    }
}

impl Wire {
    async fn hand_over(&mut self) {
        // Before they go out: who has read an answer may use its id again at once.
        let answered = !self.answered.is_empty();
        for id in self.answered.drain(..) {
            self.shared.pending.answered(&id);
        }
        if !self.frames.is_empty() {
            self.trace.note(Direction::Out, &self.frames);
            self.closed |= self.output.send_all(&mut self.frames).await.is_err();
            if self.frames.capacity() > 16 * BATCH_BYTES {
                self.frames = Vec::new();
            }
        }
        if answered {
            self.shared.at_rest();
        }
    }

    /// Whether an event goes out (sections 7 and 8).
    pub fn lets(&self, topic: Topic, session: Option<&str>) -> bool {
        self.topics.covers(topic)
            && (!topic.is_gated() || session.is_none_or(|session| self.is_focused(session)))
    }

    pub fn is_focused(&self, session: &str) -> bool {
        self.focus.as_ref().is_some_and(|live| &*live.id == session)
    }

    /// Writes an event, if it goes out. `data` writes one form.
    pub fn event(
        &mut self,
        topic: Topic,
        session: Option<&str>,
        cause: Option<&str>,
        data: impl FnOnce(&mut EdnWriter<'_>),
    ) {
        if self.lets(topic, session) {
            self.seq += 1;
            let ts = iso_time(self.shared.clock().now_ms());
            let stamp = Stamp {
                id: cause,
                seq: self.seq,
                ts: &ts,
            };
            frame::event(&mut self.frames, topic, stamp, data);
        }
    }

    /// Writes an event of a session's run.
    pub fn session_event(
        &mut self,
        topic: Topic,
        encoder: &SessionEncoder,
        data: impl FnOnce(&mut EdnWriter<'_>),
    ) {
        self.event(
            topic,
            Some(&encoder.live.id),
            encoder.cause.as_deref(),
            data,
        );
    }

    pub async fn snapshots(&mut self, live: &Arc<Live>, cause: &Cause) {
        self.look_up(live, cause, true, true).await;
    }

    pub async fn session_updated(&mut self, live: &Arc<Live>, cause: &Cause) {
        self.look_up(live, cause, true, false).await;
    }

    pub async fn footer(&mut self, live: &Arc<Live>, cause: &Cause) {
        self.look_up(live, cause, false, true).await;
    }

    /// Writes `session/updated` and `footer/updated`, as far as they are wanted and go out. The
    /// session is asked once for both.
    async fn look_up(&mut self, live: &Arc<Live>, cause: &Cause, updated: bool, footer: bool) {
        let id = Some(&*live.id);
        let updated = updated && self.lets(Topic::SessionUpdated, id);
        let footer = footer && self.lets(Topic::FooterUpdated, id);
        if !updated && !footer {
            return;
        }
        let Ok(view) = live.view(footer).await else {
            return;
        };
        let cause = cause.as_deref();
        let footer = match footer {
            true => Footer::look(&self.shared, live, &view).await,
            false => None,
        };
        if updated {
            let data = SessionUpdated {
                facts: SessionFacts::among_events(&self.shared, live, view),
                commands: live.commands().await,
            };
            self.event(Topic::SessionUpdated, id, cause, |frame| {
                frame.value(&data);
            });
        }
        if let Some(data) = footer {
            self.event(Topic::FooterUpdated, id, cause, |frame| {
                frame.value(&data);
            });
        }
    }

    pub async fn context(&mut self, cause: &Cause) {
        if self.lets(Topic::ContextUpdated, None) {
            let data = Context::look(&self.shared, self.focus.as_deref()).await;
            self.event(Topic::ContextUpdated, None, cause.as_deref(), |frame| {
                frame.value(&data);
            });
        }
    }

    /// The set of sessions or a name changed though nobody asked for it here (section 17).
    pub async fn context_changed(&mut self) {
        if self.topics.wants_projections(Topic::ContextUpdated) {
            self.context(&None).await;
        }
    }

    async fn rehydration(&mut self, live: &Live, cause: &Cause) {
        let Ok(view) = live.view(false).await else {
            return;
        };
        let (id, cause) = (Some(&*live.id), cause.as_deref());
        self.event(Topic::SessionResumed, id, cause, |frame| {
            frame.map(|data| {
                data.field("session-id", &*live.id)
                    .field("session-file", &view.file())
                    .field("message-count", &view.messages.len());
            });
        });
        self.event(Topic::SessionRehydrated, id, cause, |frame| {
            frame.map(|data| {
                data.field("session-id", &*live.id).key("messages");
                message::write_messages(data, &view.messages);
                data.key("tool-calls").map(|_| {});
                data.key("tool-order").vector(|_| {});
            });
        });
    }

    /// Writes the texts of which an event is due.
    pub fn texts_that_are_due(&mut self, encoder: &mut SessionEncoder) {
        let interval = self.shared.options.delta_interval;
        let now = Instant::now();
        self.texts(encoder, now, |text| text.is_due(interval, now));
    }

    /// Writes the texts of which not everything was told.
    pub fn rest_of_texts(&mut self, encoder: &mut SessionEncoder) {
        self.texts(encoder, Instant::now(), Growing::is_unsent);
    }

    fn texts(
        &mut self,
        encoder: &mut SessionEncoder,
        now: Instant,
        wanted: impl Fn(&Growing) -> bool,
    ) {
        let id = &*encoder.live.id;
        let cause = encoder.cause.as_deref();
        for (topic, text) in [
            (Topic::AssistantThinkingDelta, &mut encoder.thinking),
            (Topic::AssistantDelta, &mut encoder.text),
        ] {
            if wanted(text) {
                let escaped = text.take(now);
                self.event(topic, Some(id), cause, |frame| {
                    frame.map(|data| {
                        data.field("session-id", id)
                            .key("text")
                            .str_escaped(escaped);
                    });
                });
            }
        }
        if wanted(&encoder.arguments) {
            let escaped = encoder.arguments.take(now);
            self.event(Topic::ToolDelta, Some(id), cause, |frame| {
                frame.map(|data| {
                    data.field("session-id", id)
                        .field("tool-id", &encoder.arguments_of)
                        .key("arguments")
                        .str_escaped(escaped);
                });
            });
        }
    }

    /// Tells of tools that have been silent for long (section 18.4).
    fn signs_of_life(&mut self, encoder: &mut SessionEncoder, now: Instant) {
        for index in 0..encoder.tools.len() {
            let Some(running) = encoder
                .tools
                .get_mut(index)
                .filter(|tool| tool.due() <= now)
            else {
                continue;
            };
            running.shown(now);
            let call = Arc::clone(&running.call);
            let last = running.last.clone();
            let id = Arc::clone(&encoder.live.id);
            match last.as_deref() {
                Some(output) => self.session_event(Topic::ToolUpdate, encoder, |data| {
                    tool::write_output(data, &id, &call, output);
                }),
                // It has shown nothing yet, so there is nothing to show again.
                None => self.session_event(Topic::ToolExecuting, encoder, |data| {
                    tool::write_call(data, &id, &call, true);
                }),
            }
        }
    }

    /// Everything the user interface shows (section 9.1, step 2).
    fn ui_snapshot(&mut self) {
        self.open_dialog_if_any();
        let panel = self.panel();
        self.event(Topic::WidgetsUpdated, None, None, |frame| {
            ui::write_widgets(frame, &panel);
        });
        self.event(Topic::WidgetSpecsUpdated, None, None, |frame| {
            frame.map(|_| {});
        });
        self.event(Topic::StatusUpdated, None, None, |frame| {
            ui::write_statuses(frame, &panel);
        });
        let now_ms = self.shared.clock().now_ms();
        let visible: Vec<_> = self.shared.ui().visible(now_ms).cloned().collect();
        for notification in visible {
            self.event(Topic::Notification, None, None, |frame| {
                ui::write_notification(frame, &notification);
            });
        }
    }

    fn ui_lists(&mut self) {
        let panel = self.panel();
        self.event(Topic::WidgetsUpdated, None, None, |frame| {
            ui::write_widgets(frame, &panel);
        });
        self.event(Topic::StatusUpdated, None, None, |frame| {
            ui::write_statuses(frame, &panel);
        });
    }

    /// Shows the question that is open now.
    pub fn open_dialog(&mut self) {
        if self.topics.wants_projections(Topic::DialogRequested) {
            self.open_dialog_if_any();
        }
    }

    fn open_dialog_if_any(&mut self) {
        let open = self.shared.ui().open_dialog().cloned();
        if let Some(dialog) = open {
            self.event(Topic::DialogRequested, None, None, |frame| {
                ui::write_dialog(frame, &dialog);
            });
        }
    }

    pub fn widgets_changed(&mut self, live: &Live) {
        if self.topics.wants_projections(Topic::WidgetsUpdated) && self.is_focused(&live.id) {
            let panel = self.panel();
            self.event(Topic::WidgetsUpdated, None, None, |frame| {
                ui::write_widgets(frame, &panel);
            });
        }
    }

    pub fn statuses_changed(&mut self, live: &Live) {
        if self.topics.wants_projections(Topic::StatusUpdated) && self.is_focused(&live.id) {
            let panel = self.panel();
            self.event(Topic::StatusUpdated, None, None, |frame| {
                ui::write_statuses(frame, &panel);
            });
        }
    }

    /// Tells a person something for a short while.
    pub fn notification(
        &mut self,
        message: String,
        level: &'static str,
        extension: Option<String>,
    ) {
        let now_ms = self.shared.clock().now_ms();
        let note = self.shared.ui().notify(message, level, extension, now_ms);
        if self.topics.wants_projections(Topic::Notification) {
            self.event(Topic::Notification, None, None, |frame| {
                ui::write_notification(frame, &note);
            });
        }
    }

    /// What is shown beside the editor for the focused session.
    fn panel(&self) -> super::ui::Panel {
        match &self.focus {
            Some(live) => self.shared.ui().panel(&live.id),
            None => super::ui::Panel::default(),
        }
    }
}
