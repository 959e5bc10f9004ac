//! The task that owns everything that goes out.

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::select_all;
use stentor_agent::event::Event;
use stentor_journal::clock::iso_time;
use stentor_wire::edn::{EdnWriter, WriteEdn};
use stentor_wire::psi::frame::{self, ErrorContext, Stamp};
use stentor_wire::psi::{Topic, TopicSet};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::events;
use super::feed::Feed;
use super::item::{Cause, Item, Part};
use super::limits::BATCH_BYTES;
use super::live::Live;
use super::payload::context::Context;
use super::payload::footer::Footer;
use super::payload::session::SessionUpdated;
use super::payload::{message, tool, ui};
use super::shared::Shared;
use super::trace::{Direction, Trace};
use crate::output::{Closed, Output};

/// Brings answers and the events of all live sessions onto the wire.
pub(super) struct Writer {
    wire: Wire,
    feeds: Vec<Feed>,
    items: mpsc::Receiver<Item>,
    output: Output,
    trace: Trace,
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
            },
            feeds: Vec::new(),
            items,
            output,
            trace,
            ended: false,
        }
    }

    /// Writes until it is told to end, or nobody reads any more.
    pub async fn run(mut self) {
        while !self.ended {
            if self.round().await.is_err() {
                return;
            }
        }
        // The sessions are closed: what they said last is still waiting.
        for index in 0..self.feeds.len() {
            while let Some(event) = self.feeds.get_mut(index).and_then(|f| f.events.try_next()) {
                self.event(index, &event).await;
            }
        }
        self.hand_over().await.ok();
    }

    /// What is ready is written; when nothing is, waits for something.
    async fn round(&mut self) -> Result<(), Closed> {
        let mut progress = false;
        while let Ok(item) = self.items.try_recv() {
            self.item(item).await?;
            progress = true;
        }
        for index in 0..self.feeds.len() {
            progress |= self.some_events(index).await?;
        }
        self.what_is_due();
        if progress {
            return Ok(());
        }
        self.hand_over().await?;
        let interval = self.wire.shared.options.delta_interval;
        let deadline = self
            .feeds
            .iter()
            .filter_map(|feed| feed.deadline(interval))
            .min();
        let due = async {
            match deadline {
                Some(deadline) => tokio::time::sleep_until(deadline).await,
                None => std::future::pending().await,
            }
        };
        let waiting = next_event(&mut self.feeds);
        tokio::select! {
            biased;
            item = self.items.recv() => match item {
                Some(item) => self.item(item).await?,
                None => self.ended = true,
            },
            (index, event) = waiting => match event {
                Some(event) => self.event_in_its_place(index, &event).await?,
                None => self.session_gone(index),
            },
            () = due => {}
        }
        Ok(())
    }

    /// Events of one session, as long as there are some and no answer waits.
    async fn some_events(&mut self, index: usize) -> Result<bool, Closed> {
        let mut progress = false;
        while self.items.is_empty() {
            let Some(event) = self.feeds.get_mut(index).and_then(|f| f.events.try_next()) else {
                break;
            };
            self.event_in_its_place(index, &event).await?;
            progress = true;
            if self.wire.frames.len() >= BATCH_BYTES {
                self.hand_over().await?;
                break;
            }
        }
        Ok(progress)
    }

    /// Writes an event that was taken out: answers may have come while it was looked for, and an
    /// answer that was made before the event goes before it.
    async fn event_in_its_place(&mut self, index: usize, event: &Event) -> Result<(), Closed> {
        while let Ok(item) = self.items.try_recv() {
            let later = item
                .after
                .as_ref()
                .is_some_and(|after| after.session == event.session && after.seq >= event.seq);
            if later {
                self.event(index, event).await;
                return self.item(item).await;
            }
            self.item(item).await?;
        }
        self.event(index, event).await;
        Ok(())
    }

    async fn event(&mut self, index: usize, event: &Event) {
        if let Some(feed) = self.feeds.get_mut(index) {
            events::tell(feed, &mut self.wire, event).await;
        }
    }

    fn session_gone(&mut self, index: usize) {
        if index < self.feeds.len() {
            let feed = self.feeds.remove(index);
            feed.live.change_phase(|phase| *phase = Default::default());
            self.wire.shared.at_rest();
        }
    }

    fn what_is_due(&mut self) {
        let now = Instant::now();
        for feed in &mut self.feeds {
            self.wire.texts_that_are_due(feed);
            self.wire.signs_of_life(feed, now);
        }
    }

    async fn item(&mut self, item: Item) -> Result<(), Closed> {
        if let Some(after) = &item.after
            && let Some(index) = self
                .feeds
                .iter()
                .position(|feed| feed.live.id == after.session)
        {
            while let Some(event) = self
                .feeds
                .get_mut(index)
                .and_then(|feed| feed.events.try_next_up_to(after.seq))
            {
                self.event(index, &event).await;
                if self.wire.frames.len() >= BATCH_BYTES {
                    self.hand_over().await?;
                }
            }
        }
        for part in item.parts {
            self.part(part).await?;
        }
        self.hand_over().await
    }

    async fn part(&mut self, part: Part) -> Result<(), Closed> {
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
                if let Some(session) = &session
                    && let Some(feed) = self.feeds.iter_mut().find(|feed| feed.live.id == *session)
                {
                    wire.rest_of_texts(feed);
                }
                wire.event(topic, session.as_deref(), cause.as_deref(), |frame| {
                    frame.written(&data);
                });
            }
            Part::Snapshots { live, cause } => wire.snapshots(&live, &cause).await,
            Part::SnapshotsHeld(live) => live.release_snapshots(),
            Part::FocusedSnapshots { cause } => {
                if let Some(live) = wire.focus.clone() {
                    wire.snapshots(&live, &cause).await;
                }
            }
            Part::Footer { live, cause } => wire.footer(&live, &cause).await,
            Part::Context { cause } => wire.context(&cause).await,
            Part::Rehydration { live, cause } => wire.rehydration(&live, &cause).await,
            Part::UiSnapshot => wire.ui_snapshot(),
            Part::UiLists => wire.ui_lists(),
            Part::Focus(live) => wire.focus = Some(live),
            Part::Topics(topics) => wire.topics = topics,
            Part::Attach { live, events } => self.feeds.push(Feed::new(live, events)),
            Part::Detach(live) => self.feeds.retain(|feed| !Arc::ptr_eq(&feed.live, &live)),
            Part::RunBegins { session, cause } => {
                if let Some(feed) = self.feeds.iter_mut().find(|feed| feed.live.id == session) {
                    feed.cause = cause;
                    feed.live.change_phase(|phase| phase.running = true);
                }
            }
            Part::Release(accepted) => {
                self.hand_over().await?;
                drop(accepted);
            }
            Part::Interrupting(live) => {
                let is_running = live.phase().running;
                live.change_phase(|phase| phase.interrupting = is_running);
                let feed = self.feeds.iter().find(|feed| feed.live.id == live.id);
                let cause = feed.and_then(|feed| feed.cause.clone());
                wire.session_updated(&live, &cause).await;
            }
            Part::End => self.ended = true,
        }
        Ok(())
    }

    async fn hand_over(&mut self) -> Result<(), Closed> {
        let wire = &mut self.wire;
        // Before they go out: who has read an answer may use its id again at once.
        let answered = !wire.answered.is_empty();
        for id in wire.answered.drain(..) {
            wire.shared.pending.answered(&id);
        }
        if !wire.frames.is_empty() {
            self.trace.note(Direction::Out, &wire.frames);
            self.output.send_all(&mut wire.frames).await?;
            if wire.frames.capacity() > 16 * BATCH_BYTES {
                wire.frames = Vec::new();
            }
        }
        if answered {
            wire.shared.at_rest();
        }
        Ok(())
    }
}

/// The next event of any session, and which; never when there is no session.
async fn next_event(feeds: &mut [Feed]) -> (usize, Option<Event>) {
    if feeds.is_empty() {
        return std::future::pending().await;
    }
    let nexts = feeds.iter_mut().map(|feed| feed.events.next().boxed());
    let (event, index, _) = select_all(nexts).await;
    (index, event)
}

impl Wire {
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
        feed: &Feed,
        data: impl FnOnce(&mut EdnWriter<'_>),
    ) {
        self.event(topic, Some(&feed.live.id), feed.cause.as_deref(), data);
    }

    pub async fn snapshots(&mut self, live: &Live, cause: &Cause) {
        self.session_updated(live, cause).await;
        self.footer(live, cause).await;
    }

    pub async fn session_updated(&mut self, live: &Live, cause: &Cause) {
        if self.lets(Topic::SessionUpdated, Some(&live.id))
            && let Ok(data) = SessionUpdated::look(live).await
        {
            self.looked_up(Topic::SessionUpdated, live, cause, &data);
        }
    }

    pub async fn footer(&mut self, live: &Live, cause: &Cause) {
        if self.lets(Topic::FooterUpdated, Some(&live.id))
            && let Ok(data) = Footer::look(&self.shared, live).await
        {
            self.looked_up(Topic::FooterUpdated, live, cause, &data);
        }
    }

    fn looked_up(&mut self, topic: Topic, live: &Live, cause: &Cause, data: &impl WriteEdn) {
        self.event(topic, Some(&live.id), cause.as_deref(), |frame| {
            frame.value(data);
        });
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
        let Ok(view) = live.view().await else {
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
    pub fn texts_that_are_due(&mut self, feed: &mut Feed) {
        let interval = self.shared.options.delta_interval;
        let now = Instant::now();
        self.texts(feed, now, |text| text.is_due(interval, now));
    }

    /// Writes the texts of which not everything was told.
    pub fn rest_of_texts(&mut self, feed: &mut Feed) {
        self.texts(feed, Instant::now(), super::feed::Growing::is_unsent);
    }

    fn texts(
        &mut self,
        feed: &mut Feed,
        now: Instant,
        wanted: impl Fn(&super::feed::Growing) -> bool,
    ) {
        let id = &*feed.live.id;
        let cause = feed.cause.as_deref();
        for (topic, text) in [
            (Topic::AssistantThinkingDelta, &mut feed.thinking),
            (Topic::AssistantDelta, &mut feed.text),
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
        if wanted(&feed.arguments) {
            let escaped = feed.arguments.take(now);
            self.event(Topic::ToolDelta, Some(id), cause, |frame| {
                frame.map(|data| {
                    data.field("session-id", id)
                        .field("tool-id", &feed.arguments_of)
                        .key("arguments")
                        .str_escaped(escaped);
                });
            });
        }
    }

    /// Tells of tools that have been silent for long (section 18.4).
    fn signs_of_life(&mut self, feed: &mut Feed, now: Instant) {
        for index in 0..feed.tools.len() {
            let Some(running) = feed.tools.get_mut(index).filter(|tool| tool.due() <= now) else {
                continue;
            };
            running.told(now);
            let call = Arc::clone(&running.call);
            let last = running.last.clone();
            let id = Arc::clone(&feed.live.id);
            match last.as_deref() {
                Some(output) => self.session_event(Topic::ToolUpdate, feed, |data| {
                    tool::write_output(data, &id, &call, output);
                }),
                // It has shown nothing yet, so there is nothing to show again.
                None => self.session_event(Topic::ToolExecuting, feed, |data| {
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
