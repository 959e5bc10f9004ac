//! One answer of a model: its stream becomes events and, in the end, a message.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;

use futures_util::{FutureExt, StreamExt, stream};
use serde_json::{Map, Value};
use stentor_journal::message::{
    AssistantMessage, ContentBlock, KnownBlock, KnownMessage, Message, RedactedThinking,
    StopReason, TextBlock, ThinkingBlock, ToolCall,
};
use stentor_journal::usage::Usage;
use stentor_text::visible::visible;

use super::ABORTED;
use super::answer_limit::AnswerLimit;
use super::link::{ModelCall, RunLink, RunRequest};
use super::session_of_model;
use crate::event::{AnswerRule, EventKind};
use crate::live::{LiveBlock, LiveBlockKind, LiveMessage};
use crate::model::{
    Finish, ModelError, ModelErrorKind, ModelEvent, ModelInfo, ModelRequest, Purpose,
};
use crate::tool::{ToolEffect, ToolSpec};

/// A complete answer, not yet in the conversation.
pub(super) struct FinishedAnswer {
    pub number: u64,
    pub message: Arc<Message>,
    pub usage: Usage,
    pub stop_reason: StopReason,
    /// The tool calls, in the order the model made them.
    pub calls: Vec<Arc<ToolCall>>,
    /// Calls whose arguments are no JSON object, and why.
    pub unreadable: HashMap<String, String>,
    pub error: Option<ModelError>,
    pub refused: bool,
    /// True when something of it was published.
    pub begun: bool,
    /// The rules that stopped it.
    pub stopped_by: Vec<AnswerRule>,
}

/// Asks the model and publishes the answer as it comes.
pub(super) async fn ask(link: &RunLink, call: &ModelCall) -> FinishedAnswer {
    let info = Arc::clone(call.model.info());
    let request = ModelRequest {
        system: Arc::clone(&call.system),
        messages: call.messages.clone(),
        tools: Arc::clone(&call.specs),
        thinking: call.thinking,
        output_schema: link.watch.output_schema.clone(),
        max_output_tokens: None,
        session_id: Arc::clone(&link.session_id),
        session_file: link.session_file.clone(),
        purpose: Purpose::Turn,
        host: Some(session_of_model::host(link, call)),
    };
    let started_ms = link.clock.now_ms();
    let live = LiveMessage::new(
        link.signals.next_number(),
        Arc::clone(&call.entry_id),
        info.api.clone(),
        info.provider.clone(),
        info.id.clone(),
        started_ms,
    );
    let mut writing = AnswerWriting::new(link, call, live, &info, started_ms);
    // A model that panics failed; what it said so far is kept all the same.
    let broken = || failed_inside(&info.full_name());
    let opened = std::panic::catch_unwind(AssertUnwindSafe(|| call.model.stream(request)));
    let mut stream = opened.unwrap_or_else(|_| Box::pin(stream::iter([Err(broken())])));
    let mut cancelled = pin!(link.cancel.cancelled());
    let end = loop {
        let next = tokio::select! {
            biased;
            () = &mut cancelled => break StreamEnd::Aborted,
            next = AssertUnwindSafe(stream.next()).catch_unwind() => {
                next.unwrap_or_else(|_| Some(Err(broken())))
            }
        };
        match next {
            Some(Ok(ModelEvent::Finished(finish))) => break ended(finish, &info.full_name()),
            Some(Ok(event)) => {
                if let Err(error) = writing.take(event).await {
                    break StreamEnd::Failed(error);
                }
                if !writing.stopped_by.is_empty() {
                    writing.publish(EventKind::RulesTriggered(
                        writing.stopped_by.as_slice().into(),
                    ));
                    break StreamEnd::Stopped;
                }
            }
            Some(Err(error)) => break StreamEnd::Failed(error),
            None => {
                let text = format!("{}: the answer broke off before its end", info.full_name());
                break StreamEnd::Failed(ModelError::new(ModelErrorKind::BrokenStream, text));
            }
        }
        // A model that is always ready must still let the others of this thread work.
        tokio::task::consume_budget().await;
    };
    drop(stream);
    writing.finish(end)
}

/// An answer that was never begun, because the run had been stopped.
pub(super) fn aborted_before_it_began(link: &RunLink, call: &ModelCall) -> FinishedAnswer {
    let mut message = unwritten(Some(call.model.info()), link.clock.now_ms());
    message.stop_reason = StopReason::Aborted;
    message.error_message = Some(ABORTED.to_owned());
    FinishedAnswer {
        number: link.signals.next_number(),
        message: Arc::new(KnownMessage::Assistant(message).into()),
        usage: Usage::default(),
        stop_reason: StopReason::Aborted,
        calls: Vec::new(),
        unreadable: HashMap::new(),
        error: None,
        refused: false,
        begun: false,
        stopped_by: Vec::new(),
    }
}

/// An answer without content in the name of a model that was not asked.
pub(super) fn unwritten(info: Option<&Arc<ModelInfo>>, timestamp: u64) -> AssistantMessage {
    let name = |part: fn(&ModelInfo) -> &String| {
        info.map_or_else(|| "unknown".to_owned(), |info| part(info).clone())
    };
    AssistantMessage {
        content: Vec::new(),
        api: name(|info| &info.api),
        provider: name(|info| &info.provider),
        model: name(|info| &info.id),
        usage: Usage::default(),
        stop_reason: StopReason::Stop,
        error_message: None,
        timestamp,
        response_id: None,
        duration: None,
        ttft: None,
        rest: Default::default(),
    }
}

/// An answer that no model wrote, published as one that came all at once.
pub(super) fn without_model(
    link: &RunLink,
    info: Option<&Arc<ModelInfo>>,
    entry_id: Option<&Arc<str>>,
    text: String,
) -> (u64, Arc<Message>) {
    let mut message = unwritten(info, link.clock.now_ms());
    let live = LiveMessage::new(
        link.signals.next_number(),
        entry_id.map_or_else(|| Arc::from(""), Arc::clone),
        message.api.clone(),
        message.provider.clone(),
        message.model.clone(),
        message.timestamp,
    );
    link.hub.publish(EventKind::AnswerStarted(live.clone()));
    let block = live.open_block(LiveBlockKind::Text);
    link.hub.publish(EventKind::BlockStarted {
        live: live.clone(),
        block: Arc::clone(&block),
    });
    let range = block.append(&text);
    link.hub.publish(EventKind::BlockDelta {
        live: live.clone(),
        block: Arc::clone(&block),
        range,
    });
    link.hub.publish(EventKind::BlockEnded {
        live: live.clone(),
        block,
        call: None,
        cut: false,
    });
    let message = live.complete(|texts| {
        message.content = texts.into_iter().map(ContentBlock::text).collect();
        KnownMessage::Assistant(message).into()
    });
    (live.number(), message)
}

enum StreamEnd {
    Finished(Finish),
    Failed(ModelError),
    Aborted,
    /// Rules matched what it was writing.
    Stopped,
}

/// How a stream that came to its end ended. One that ends with an error but does not name it failed.
fn ended(finish: Finish, model: &str) -> StreamEnd {
    match finish.stop_reason {
        StopReason::Error | StopReason::Aborted => StreamEnd::Failed(ModelError::new(
            ModelErrorKind::Other,
            format!("{model}: the answer ended with an unspecified error"),
        )),
        StopReason::Stop | StopReason::Length | StopReason::ToolUse | StopReason::Unknown => {
            StreamEnd::Finished(finish)
        }
    }
}

/// What a panic of a model becomes.
pub(super) fn failed_inside(model: &str) -> ModelError {
    let text = format!("{model}: the connection to the model had an internal error: this is a bug");
    ModelError::new(ModelErrorKind::Other, text)
}

/// The answer while it is being written.
struct AnswerWriting<'a> {
    link: &'a RunLink,
    call: &'a ModelCall,
    live: LiveMessage,
    model: &'a ModelInfo,
    /// For errors.
    model_name: String,
    limit: AnswerLimit,
    started_ms: u64,
    first_ms: Option<u64>,
    begun: bool,
    open: Option<Arc<LiveBlock>>,
    /// What the open call says it is for.
    intent: Option<String>,
    done: Vec<FinishedBlock>,
    unreadable: HashMap<String, String>,
    stopped_by: Vec<AnswerRule>,
}

/// A block that is complete.
struct FinishedBlock {
    block: Arc<LiveBlock>,
    signature: Option<String>,
    call: Option<Arc<ToolCall>>,
}

impl<'a> AnswerWriting<'a> {
    fn new(
        link: &'a RunLink,
        call: &'a ModelCall,
        live: LiveMessage,
        model: &'a ModelInfo,
        started_ms: u64,
    ) -> Self {
        Self {
            link,
            call,
            live,
            model,
            model_name: model.full_name(),
            limit: AnswerLimit::new(link.watch.max_answer_bytes),
            started_ms,
            first_ms: None,
            begun: false,
            open: None,
            intent: None,
            done: Vec::new(),
            unreadable: HashMap::new(),
            stopped_by: Vec::new(),
        }
    }

    async fn take(&mut self, event: ModelEvent) -> Result<(), ModelError> {
        self.limit.take_event(&event, &self.model_name)?;
        match event {
            ModelEvent::Started { response_id } => {
                if let Some(id) = response_id {
                    self.live.set_response_id(id);
                }
                self.begin();
            }
            ModelEvent::Usage(usage) => self.live.set_usage(usage.priced(self.model.cost.as_ref())),
            ModelEvent::Became(info) => {
                // A session that is closed under its run shows nothing any more.
                let became = |reply| RunRequest::ModelBecame { info, reply };
                let _ = self.link.ask(became).await;
            }
            ModelEvent::Titled(title) => {
                let _ = self
                    .link
                    .ask(|reply| RunRequest::Titled { title, reply })
                    .await;
            }
            ModelEvent::BlockStarted(kind) => {
                self.begin();
                self.close(None, false);
                self.link.wait_for_capacity().await;
                self.expect_command(&kind);
                let block = self.live.open_block(kind);
                self.open = Some(Arc::clone(&block));
                self.publish(EventKind::BlockStarted {
                    live: self.live.clone(),
                    block,
                });
            }
            ModelEvent::Delta(text) => {
                if text.is_empty() {
                    return Ok(());
                }
                let Some(block) = &self.open else {
                    return Err(out_of_order("a delta outside any block"));
                };
                if self.first_ms.is_none() {
                    self.first_ms = Some(self.link.clock.now_ms());
                }
                let fitting = self.limit.fitting(&text);
                let range = block.append(fitting);
                self.stopped_by = self.call.rules.triggered_by(block, range.start);
                let (live, block) = (self.live.clone(), Arc::clone(block));
                self.publish(EventKind::BlockDelta { live, block, range });
                if fitting.len() < text.len() {
                    return Err(self.limit.exceeded(&self.model_name));
                }
            }
            ModelEvent::Intent(text) => self.intent = Some(text),
            ModelEvent::BlockEnded { signature } => {
                if self.open.is_none() {
                    return Err(out_of_order("the end of a block that is not open"));
                }
                self.close(signature, false);
            }
            ModelEvent::Nothing | ModelEvent::Finished(_) => {}
        }
        Ok(())
    }

    /// Has the folder looked at while a call is written that will run a program.
    fn expect_command(&self, kind: &LiveBlockKind) {
        let (Some(undo), LiveBlockKind::ToolCall { name, .. }) = (&self.link.undo, kind) else {
            return;
        };
        let mut specs = self.call.specs.iter();
        let is_command =
            |spec: &ToolSpec| spec.name == *name && spec.effect == ToolEffect::Executes;
        if specs.any(is_command) {
            undo.expect_command();
        }
    }

    fn begin(&mut self) {
        if !self.begun {
            self.begun = true;
            self.publish(EventKind::AnswerStarted(self.live.clone()));
        }
    }

    fn close(&mut self, signature: Option<String>, cut: bool) {
        let intent = self.intent.take();
        let Some(block) = self.open.take() else {
            return;
        };
        let call = match &block.kind {
            LiveBlockKind::ToolCall { id, name } => {
                let arguments = block.with_all(read_arguments).unwrap_or_else(|why| {
                    self.unreadable.insert(id.clone(), why.to_string());
                    Map::new()
                });
                Some(Arc::new(ToolCall {
                    id: id.clone(),
                    name: name.clone(),
                    arguments,
                    thought_signature: signature.clone(),
                    intent,
                }))
            }
            LiveBlockKind::Text | LiveBlockKind::Thinking | LiveBlockKind::Redacted => None,
        };
        self.publish(EventKind::BlockEnded {
            live: self.live.clone(),
            block: Arc::clone(&block),
            call: call.clone(),
            cut,
        });
        self.done.push(FinishedBlock {
            block,
            signature,
            call,
        });
    }

    fn finish(mut self, end: StreamEnd) -> FinishedAnswer {
        self.begin();
        self.close(None, !matches!(end, StreamEnd::Finished(_)));
        let calls: Vec<Arc<ToolCall>> = self
            .done
            .iter()
            .filter_map(|done| done.call.clone())
            .collect();
        let mut error = None;
        let mut refused = false;
        let (usage, stop_reason, error_message) = match end {
            StreamEnd::Finished(finish) => {
                refused = finish.refused;
                let stop = match finish.stop_reason {
                    StopReason::Stop if !self.is_run_by_model(&calls) => StopReason::ToolUse,
                    stop => stop,
                };
                (finish.usage.priced(self.model.cost.as_ref()), stop, None)
            }
            StreamEnd::Failed(mut failed) => {
                // What a provider said, which every dialect shows.
                failed.message = visible(&failed.message).into_owned();
                let text = failed.message.clone();
                error = Some(failed);
                (self.live.usage(), StopReason::Error, Some(text))
            }
            StreamEnd::Aborted => (
                self.live.usage(),
                StopReason::Aborted,
                Some(ABORTED.to_owned()),
            ),
            StreamEnd::Stopped => {
                let names: Vec<&str> = self.stopped_by.iter().map(|rule| &*rule.name).collect();
                let text = format!("Stopped by a rule: {}", names.join(", "));
                (self.live.usage(), StopReason::Aborted, Some(text))
            }
        };
        let ended_ms = self.link.clock.now_ms();
        let message = AssistantMessage {
            content: Vec::new(),
            api: self.live.api().to_owned(),
            provider: self.live.provider().to_owned(),
            model: self.live.model().to_owned(),
            usage,
            stop_reason,
            error_message,
            timestamp: self.live.timestamp(),
            response_id: self.live.response_id(),
            duration: Some(ended_ms.saturating_sub(self.started_ms)),
            ttft: self
                .first_ms
                .map(|first| first.saturating_sub(self.started_ms)),
            rest: Default::default(),
        };
        let begun = !self.done.is_empty();
        let done = self.done;
        let message = self.live.complete(|texts| {
            let blocks = done.into_iter().zip(texts);
            let content = blocks.map(|(done, text)| done.into_content(text)).collect();
            KnownMessage::Assistant(AssistantMessage { content, ..message }).into()
        });
        FinishedAnswer {
            number: self.live.number(),
            message,
            usage,
            stop_reason,
            calls,
            unreadable: self.unreadable,
            error,
            refused,
            begun,
            stopped_by: self.stopped_by,
        }
    }

    /// True when nothing is left for the session to run.
    fn is_run_by_model(&self, calls: &[Arc<ToolCall>]) -> bool {
        calls.iter().all(|call| self.call.model.runs_itself(call))
    }

    fn publish(&self, kind: EventKind) {
        self.link.hub.publish(kind);
    }
}

impl FinishedBlock {
    /// The block of the message; `text` is what it says.
    fn into_content(self, text: String) -> ContentBlock {
        match &self.block.kind {
            LiveBlockKind::Text => KnownBlock::Text(TextBlock {
                text,
                text_signature: self.signature,
            }),
            LiveBlockKind::Thinking => KnownBlock::Thinking(ThinkingBlock {
                thinking: text,
                thinking_signature: self.signature,
                redacted: None,
            }),
            LiveBlockKind::Redacted => {
                KnownBlock::RedactedThinking(RedactedThinking { data: text })
            }
            LiveBlockKind::ToolCall { id, name } => {
                KnownBlock::ToolCall(self.call.as_deref().cloned().unwrap_or_else(|| ToolCall {
                    id: id.clone(),
                    name: name.clone(),
                    arguments: Map::new(),
                    thought_signature: None,
                    intent: None,
                }))
            }
        }
        .into()
    }
}

/// Why the arguments of a call cannot be read.
#[derive(Debug, thiserror::Error)]
enum UnreadableArguments {
    #[error("the arguments are not a JSON object")]
    NoObject,
    #[error("the arguments are not valid JSON: {0}")]
    NoJson(serde_json::Error),
}

/// The arguments of a call from their JSON text. No text at all means no arguments.
fn read_arguments(text: &str) -> Result<Map<String, Value>, UnreadableArguments> {
    if text.trim().is_empty() {
        return Ok(Map::new());
    }
    match serde_json::from_str::<Value>(text) {
        Ok(Value::Object(arguments)) => Ok(arguments),
        Ok(_) => Err(UnreadableArguments::NoObject),
        Err(error) => Err(UnreadableArguments::NoJson(error)),
    }
}

fn out_of_order(what: &str) -> ModelError {
    ModelError::new(
        ModelErrorKind::Other,
        format!("the model's stream is out of order: {what}"),
    )
}
