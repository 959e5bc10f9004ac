//! Frames in the making: whether they go out, what is in them, and how they get to stdout.

use std::sync::Arc;

use futures_util::future::OptionFuture;
use stentor_agent::event::NoticeLevel;
use stentor_agent::repository;
use stentor_journal::clock::iso_time;
use stentor_journal::message::ToolCall;
use stentor_wire::edn::{EdnWriter, Fields, WriteEdn};
use stentor_wire::psi::frame::{self, Stamp};
use stentor_wire::psi::{Topic, TopicSet};
use tokio::time::Instant;

use super::encoder::{GrowingText, SessionEncoder};
use super::item::CausingRequest;
use super::limits::BATCH_BYTES;
use super::live::PsiSession;
use super::long_text::{FramePiece, LongText, LongTexts};
use super::payload::Written;
use super::payload::context::ContextPayload;
use super::payload::footer::footer;
use super::payload::message::Messages;
use super::payload::message::{CallDetail, CallPayload};
use super::payload::session::SessionFacts;
use super::payload::session::SessionUpdated;
use super::shared::PsiShared;
use super::trace::{self, Trace};
use super::ui::{Panel, Statuses, Widgets};
use crate::notice_log;
use crate::output::Output;

/// Frames in the making: what decides whether and how they are written.
pub(super) struct PsiWire {
    pub shared: Arc<PsiShared>,
    pub topics: TopicSet,
    pub focus: Option<Arc<PsiSession>>,
    /// The number of the last event.
    seq: u64,
    pub frames: Vec<u8>,
    /// Requests whose answers are among the frames.
    pub answered: Vec<Arc<str>>,
    pub output: Output,
    trace: Trace,
    /// Nobody reads any more.
    pub closed: bool,
}

impl PsiWire {
    pub fn new(shared: Arc<PsiShared>, output: Output, trace: Trace) -> Self {
        Self {
            shared,
            topics: TopicSet::default(),
            focus: None,
            seq: 0,
            frames: Vec::new(),
            answered: Vec::new(),
            output,
            trace,
            closed: false,
        }
    }

    /// Hands over what was written.
    pub async fn hand_over(&mut self) {
        // Before they go out: who has read an answer may use its id again at once.
        let answered = !self.answered.is_empty();
        for id in self.answered.drain(..) {
            self.shared.pending.answered(&id);
        }
        if !self.frames.is_empty() {
            self.trace.note(trace::OUT, &self.frames).await;
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

    /// Writes an event, if it goes out.
    pub fn event(
        &mut self,
        topic: Topic,
        session: Option<&str>,
        cause: Option<&str>,
        data: &dyn WriteEdn,
    ) {
        self.event_by(topic, session, cause, |frame| data.write_edn(frame));
    }

    fn event_by(
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
    pub fn session_event(&mut self, topic: Topic, encoder: &SessionEncoder, data: &dyn WriteEdn) {
        let cause = encoder.cause.as_deref();
        self.event(topic, Some(&encoder.live.id), cause, data);
    }

    /// Writes an event of a call.
    pub fn call_event(
        &mut self,
        encoder: &SessionEncoder,
        topic: Topic,
        call: &ToolCall,
        detail: CallDetail<'_>,
    ) {
        let data = CallPayload(&encoder.live.id, call, detail);
        self.session_event(topic, encoder, &data);
    }

    /// Writes an event that no request causes and no focus holds back.
    fn ui_event(&mut self, topic: Topic, data: &dyn WriteEdn) {
        self.event(topic, None, None, data);
    }

    pub async fn snapshots(&mut self, live: &Arc<PsiSession>, cause: &CausingRequest) {
        self.look_up(live, cause, true, true).await;
    }

    pub async fn session_updated(&mut self, live: &Arc<PsiSession>, cause: &CausingRequest) {
        self.look_up(live, cause, true, false).await;
    }

    pub async fn footer(&mut self, live: &Arc<PsiSession>, cause: &CausingRequest) {
        self.look_up(live, cause, false, true).await;
    }

    /// Writes `session/updated` and `footer/updated`, as far as they are wanted and go out. The
    /// session is asked once for both, while others look at the files that they name.
    async fn look_up(
        &mut self,
        live: &Arc<PsiSession>,
        cause: &CausingRequest,
        updated: bool,
        with_footer: bool,
    ) {
        let id = Some(&*live.id);
        let updated = updated && self.lets(Topic::SessionUpdated, id);
        let with_footer = with_footer && self.lets(Topic::FooterUpdated, id);
        if !updated && !with_footer {
            return;
        }
        let branch =
            OptionFuture::from(with_footer.then(|| repository::branch_label(live.project())));
        let commands = OptionFuture::from(updated.then(|| live.commands()));
        let (view, branch, commands) = tokio::join!(live.view(with_footer), branch, commands);
        let Ok(view) = view else {
            return;
        };
        let cause = cause.as_deref();
        let footer = match branch {
            Some(branch) => footer(&self.shared, live, &view, branch.as_deref()).await,
            None => None,
        };
        if let Some(commands) = commands {
            let facts = SessionFacts::among_events(&self.shared, live, view);
            let data = SessionUpdated { facts, commands };
            self.event(Topic::SessionUpdated, id, cause, &data);
        }
        if let Some(data) = footer {
            self.event(Topic::FooterUpdated, id, cause, &Written(&data));
        }
    }

    pub async fn context(&mut self, cause: &CausingRequest) {
        if self.lets(Topic::ContextUpdated, None) {
            let data = ContextPayload::look(&self.shared, self.focus.as_deref()).await;
            self.event(Topic::ContextUpdated, None, cause.as_deref(), &data);
        }
    }

    /// The set of sessions or a name changed though nobody asked for it here (section 17).
    pub async fn context_changed(&mut self) {
        if self.topics.wants_projections(Topic::ContextUpdated) {
            self.context(&None).await;
        }
    }

    pub async fn rehydration(&mut self, live: &PsiSession, cause: &CausingRequest) {
        let Ok(view) = live.view(false).await else {
            return;
        };
        let (id, cause) = (Some(&*live.id), cause.as_deref());
        let resumed = Fields(&[
            ("session-id", &&*live.id),
            ("session-file", &view.file()),
            ("message-count", &view.messages.len()),
        ]);
        self.event(Topic::SessionResumed, id, cause, &resumed);
        let rehydrated = Fields(&[
            ("session-id", &&*live.id),
            ("messages", &Messages(&view.messages)),
            ("tool-calls", &Fields(&[])),
            ("tool-order", &Vec::<&str>::new()),
        ]);
        self.event(Topic::SessionRehydrated, id, cause, &rehydrated);
    }

    /// Writes an event with long texts, if it goes out, a part at a time. `data` writes one form
    /// and leaves the texts open.
    pub async fn event_with_texts<'t>(
        &mut self,
        topic: Topic,
        session: &str,
        cause: Option<&str>,
        data: impl FnOnce(&mut EdnWriter<'_>, &mut LongTexts<'t>),
    ) {
        let mut texts = LongTexts::default();
        let before = std::mem::take(&mut self.frames);
        self.event_by(topic, Some(session), cause, |frame| data(frame, &mut texts));
        let frame = std::mem::replace(&mut self.frames, before);
        for piece in texts.pieces(&frame) {
            match piece {
                FramePiece::Frame(bytes) => self.frames.extend_from_slice(bytes),
                FramePiece::Text(mut text) => {
                    while let Some(part) = text.take_part() {
                        // A trace takes whole frames only.
                        if self.frames.len() >= BATCH_BYTES && !self.trace.is_on() {
                            self.hand_over().await;
                        }
                        part.write(&mut self.frames);
                    }
                }
            }
        }
    }

    /// Writes the texts of which an event is due.
    pub async fn texts_that_are_due(&mut self, encoder: &mut SessionEncoder) {
        let interval = self.shared.options.delta_interval;
        let now = Instant::now();
        self.texts(encoder, now, |text| text.is_due(interval, now))
            .await;
    }

    /// Writes the texts of which not everything was written.
    pub async fn rest_of_texts(&mut self, encoder: &mut SessionEncoder) {
        self.texts(encoder, Instant::now(), GrowingText::is_unsent)
            .await;
    }

    async fn texts(
        &mut self,
        encoder: &mut SessionEncoder,
        now: Instant,
        wanted: impl Fn(&GrowingText) -> bool,
    ) {
        let id = &*encoder.live.id;
        let cause = encoder.cause.as_deref();
        let tool = Some(&encoder.arguments_of);
        for (topic, tool, key, text) in [
            (
                Topic::AssistantThinkingDelta,
                None,
                "text",
                &mut encoder.thinking,
            ),
            (Topic::AssistantDelta, None, "text", &mut encoder.text),
            (Topic::ToolDelta, tool, "arguments", &mut encoder.arguments),
        ] {
            if wanted(text) {
                let text = LongText::Escaped(text.take(now));
                self.event_with_texts(topic, id, cause, |frame, texts| {
                    frame.map(|data| {
                        data.field("session-id", id)
                            .field_if_some("tool-id", tool)
                            .key(key);
                        texts.leave_open(data, [text]);
                    });
                })
                .await;
            }
        }
    }

    /// Shows tools again that have been silent for long (section 18.4).
    pub fn signs_of_life(&mut self, encoder: &mut SessionEncoder, now: Instant) {
        let (id, cause) = (&*encoder.live.id, encoder.cause.as_deref());
        for running in encoder.tools.iter_mut().filter(|tool| tool.due() <= now) {
            running.shown = now;
            let (topic, detail) = match running.last.as_deref() {
                Some(output) => (Topic::ToolUpdate, CallDetail::Output(output)),
                // It has shown nothing yet, so there is nothing to show again.
                None => (Topic::ToolExecuting, CallDetail::Arguments),
            };
            let data = CallPayload(id, &running.call, detail);
            self.event(topic, Some(id), cause, &data);
        }
    }

    /// Everything the user interface shows (section 9.1, step 2).
    pub fn ui_snapshot(&mut self) {
        self.open_dialog();
        self.widgets();
        self.ui_event(Topic::WidgetSpecsUpdated, &Fields(&[]));
        self.statuses();
        let now_ms = self.shared.clock().now_ms();
        let visible = self.shared.ui().visible(now_ms);
        for notification in &visible {
            self.ui_event(Topic::Notification, notification);
        }
    }

    pub fn widgets(&mut self) {
        let panel = self.panel();
        let data = Fields(&[("widgets", &Widgets(&panel))]);
        self.ui_event(Topic::WidgetsUpdated, &data);
    }

    pub fn statuses(&mut self) {
        let panel = self.panel();
        let data = Fields(&[("statuses", &Statuses(&panel))]);
        self.ui_event(Topic::StatusUpdated, &data);
    }

    fn open_dialog(&mut self) {
        let open = self.shared.ui().open_dialog().cloned();
        if let Some(dialog) = open {
            self.ui_event(Topic::DialogRequested, &dialog);
        }
    }

    /// Another question is open now.
    pub fn dialog_opened(&mut self) {
        if self.topics.wants_projections(Topic::DialogRequested) {
            self.open_dialog();
        }
    }

    /// Whether what the user interface shows of a session is written when it changes.
    pub fn shows(&self, topic: Topic, session: &str) -> bool {
        self.topics.wants_projections(topic) && self.is_focused(session)
    }

    /// Shows a person something for a short while. Where the client does not take it, it is logged.
    pub fn notification(&mut self, message: String, level: NoticeLevel, extension: Option<String>) {
        let now_ms = self.shared.clock().now_ms();
        let is_wanted = self.topics.wants_projections(Topic::Notification);
        if !is_wanted {
            notice_log::log(level, &message);
        }
        let note = self.shared.ui().notify(message, level, extension, now_ms);
        if is_wanted {
            self.ui_event(Topic::Notification, &note);
        }
    }

    /// What is shown beside the editor for the focused session.
    fn panel(&self) -> Panel {
        let focus = self.focus.as_ref();
        let panel = focus.map(|live| self.shared.ui().panel(&live.id));
        panel.unwrap_or_default()
    }
}
