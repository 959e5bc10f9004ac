//! Turns a turn of the scenario into the events of an answer.
//!
//! [`Player`] knows the order of things and no time; [`PlayedAnswer`] adds the timers. Dropping the
//! stream drops its timer, which is how a wait is cancelled.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_core::Stream;
use stentor_agent::live::LiveBlockKind;
use stentor_agent::model::{Finish, ModelError, ModelErrorKind, ModelEvent};
use stentor_journal::message::StopReason;
use stentor_journal::usage::Usage;
use tokio::time::{Instant, Sleep, sleep_until};

use super::scenario::{
    ErrorStep, ScriptArguments, ScriptStep, ScriptTurn, ScriptedText, UsageRule,
};
use super::template::TemplateValues;

/// Longer waits are cut to this: tokio's timers cannot express every number a file can.
const MAX_WAIT: Duration = Duration::from_secs(365 * 24 * 3600);

/// An answer as it is played.
pub struct PlayedAnswer {
    player: Player,
    timer: Option<Pin<Box<Sleep>>>,
}

/// What is needed to play a turn.
pub struct Performance {
    pub turn: Arc<ScriptTurn>,
    pub values: TemplateValues,
    /// What it consumes, unless the turn says so itself.
    pub usage: UsageRule,
    /// The input an estimate is based on.
    pub input_chars: u64,
    /// `script/FILE`, for messages of errors.
    pub model: String,
}

/// What comes next.
#[derive(Debug, PartialEq)]
pub enum PlayStep {
    Event(ModelEvent),
    Fail(ModelError),
    Wait { ms: u64 },
    Hang,
    End,
}

/// Goes through a turn step by step.
pub struct Player {
    performance: Performance,
    started: bool,
    ended: bool,
    step: usize,
    /// The deltas of the step being played.
    deltas: Option<Deltas>,
    /// True when the pause before the next delta is over.
    paused: bool,
    block_is_open: bool,
    calls: usize,
    output_chars: u64,
}

/// The deltas of one step that are still to come.
enum Deltas {
    Once(Option<String>),
    Cut {
        text: String,
        at: usize,
        chars: usize,
    },
    Listed {
        at: usize,
    },
    Repeated {
        at: u64,
    },
}

impl PlayedAnswer {
    /// Plays a turn from its beginning.
    pub fn new(performance: Performance) -> Self {
        Self {
            player: Player::new(performance),
            timer: None,
        }
    }
}

impl Stream for PlayedAnswer {
    type Item = Result<ModelEvent, ModelError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        // A scenario can say a million things without a wait. Taking part in the runtime's budget
        // lets the other tasks of the thread, such as the one that cancels, have their turn.
        let budget = ready!(tokio::task::coop::poll_proceed(cx));
        loop {
            if let Some(timer) = &mut self.timer {
                ready!(timer.as_mut().poll(cx));
                self.timer = None;
            }
            let item = match self.player.next() {
                PlayStep::Event(event) => Some(Ok(event)),
                PlayStep::Fail(error) => Some(Err(error)),
                PlayStep::End => None,
                PlayStep::Hang => return Poll::Pending,
                PlayStep::Wait { ms } => {
                    let wait = Duration::from_millis(ms).min(MAX_WAIT);
                    self.timer = Some(Box::pin(sleep_until(Instant::now() + wait)));
                    continue;
                }
            };
            budget.made_progress();
            return Poll::Ready(item);
        }
    }
}

impl Player {
    /// Starts at the beginning of a turn.
    pub fn new(performance: Performance) -> Self {
        Self {
            performance,
            started: false,
            ended: false,
            step: 0,
            deltas: None,
            paused: false,
            block_is_open: false,
            calls: 0,
            output_chars: 0,
        }
    }

    /// What comes next. After an error or the finish it is the end for ever.
    pub fn next(&mut self) -> PlayStep {
        if self.ended {
            return PlayStep::End;
        }
        let turn = Arc::clone(&self.performance.turn);
        if !self.started {
            self.started = true;
            if !fails_at_once(&turn) {
                let values = &self.performance.values;
                let id = turn.response_id.as_deref();
                return PlayStep::Event(ModelEvent::Started {
                    response_id: id.map(|id| values.fill(id).into_owned()),
                });
            }
        }
        loop {
            match turn.steps.get(self.step) {
                None => return self.finish(&turn),
                Some(ScriptStep::Wait { ms }) => {
                    self.step += 1;
                    return PlayStep::Wait { ms: *ms };
                }
                Some(ScriptStep::WaitFor { file }) => {
                    if !file.exists() {
                        return PlayStep::Wait { ms: LOOK_AGAIN_MS };
                    }
                    self.step += 1;
                }
                Some(ScriptStep::Hang) => return PlayStep::Hang,
                Some(ScriptStep::Usage(usage)) => {
                    self.step += 1;
                    return PlayStep::Event(ModelEvent::Usage(*usage));
                }
                Some(ScriptStep::EndBlock) => self.step += 1,
                Some(ScriptStep::Error(error)) => {
                    self.ended = true;
                    return PlayStep::Fail(self.error(error));
                }
                Some(step) => {
                    if let Some(beat) = self.play_block(&turn, step) {
                        return beat;
                    }
                }
            }
        }
    }

    /// The next beat of a step that is (a part of) a block; `None` when the step is over.
    fn play_block(&mut self, turn: &ScriptTurn, step: &ScriptStep) -> Option<PlayStep> {
        let Some(deltas) = &mut self.deltas else {
            self.deltas = Some(self.deltas_of(step));
            if self.block_is_open {
                return None;
            }
            self.block_is_open = true;
            return Some(PlayStep::Event(ModelEvent::BlockStarted(
                self.kind_of(step),
            )));
        };
        let ms = chunk_wait_ms(step);
        if ms > 0 && !self.paused && !deltas.is_over(scripted_text_of(step)) {
            self.paused = true;
            return Some(PlayStep::Wait { ms });
        }
        if let Some(delta) = deltas.next(scripted_text_of(step), &self.performance.values) {
            self.paused = false;
            if self.usage_rule() == UsageRule::Estimate {
                self.output_chars += delta.chars().count() as u64;
            }
            return Some(PlayStep::Event(ModelEvent::Delta(delta)));
        }
        self.deltas = None;
        self.step += 1;
        let later = turn.steps.get(self.step..).unwrap_or_default();
        if stays_open(step, later) {
            return None;
        }
        self.block_is_open = false;
        let signature = match step {
            ScriptStep::Thinking { signature, .. } => signature.clone(),
            _ => None,
        };
        Some(PlayStep::Event(ModelEvent::BlockEnded { signature }))
    }

    fn finish(&mut self, turn: &ScriptTurn) -> PlayStep {
        self.ended = true;
        let called = turn
            .steps
            .iter()
            .any(|step| matches!(step, ScriptStep::Tool(_)));
        let default = if called {
            StopReason::ToolUse
        } else {
            StopReason::Stop
        };
        PlayStep::Event(ModelEvent::Finished(Finish {
            stop_reason: turn.stop.unwrap_or(default),
            refused: turn.refused,
            usage: self.usage(),
        }))
    }

    fn usage_rule(&self) -> UsageRule {
        let own = self.performance.turn.usage;
        own.unwrap_or(self.performance.usage)
    }

    fn usage(&self) -> Usage {
        match self.usage_rule() {
            UsageRule::Fixed(usage) => usage,
            UsageRule::Estimate => Usage {
                input: self.performance.input_chars.div_ceil(4),
                output: self.output_chars.div_ceil(4),
                ..Usage::default()
            },
        }
    }

    fn kind_of(&mut self, step: &ScriptStep) -> LiveBlockKind {
        match step {
            ScriptStep::Thinking { .. } => LiveBlockKind::Thinking,
            ScriptStep::RedactedThinking { .. } => LiveBlockKind::Redacted,
            ScriptStep::Tool(tool) => {
                self.calls += 1;
                let values = &self.performance.values;
                let id = match &tool.id {
                    Some(id) => values.fill(id).into_owned(),
                    None => format!("call_{}_{}", values.turn, self.calls),
                };
                LiveBlockKind::ToolCall {
                    id,
                    name: tool.name.clone(),
                }
            }
            _ => LiveBlockKind::Text,
        }
    }

    fn deltas_of(&self, step: &ScriptStep) -> Deltas {
        let values = &self.performance.values;
        match step {
            ScriptStep::RedactedThinking { data } => Deltas::Once(Some(data.clone())),
            ScriptStep::Tool(tool) => match &tool.arguments {
                ScriptArguments::Object { object, chars } => {
                    let text = filled_object(object, values);
                    match chars {
                        Some(chars) => Deltas::cut(text, *chars),
                        None => Deltas::Once(Some(text)),
                    }
                }
                ScriptArguments::Raw(text) => Deltas::of(text, values),
            },
            _ => scripted_text_of(step).map_or(Deltas::Once(None), |text| Deltas::of(text, values)),
        }
    }

    fn error(&self, error: &ErrorStep) -> ModelError {
        let (word, status) = usual(error.kind);
        let message = match &error.message {
            Some(message) => self.performance.values.fill(message).into_owned(),
            None => format!("{}: {word} (the scenario says so)", self.performance.model),
        };
        ModelError {
            kind: error.kind,
            message,
            status: error.status.or(status),
            retry_after_ms: error.retry_after_ms,
            rate_limit: error.rate_limit,
        }
    }
}

impl Deltas {
    fn of(text: &ScriptedText, values: &TemplateValues) -> Self {
        match text {
            ScriptedText::Whole(text) => Self::Once(Some(values.fill(text).into_owned())),
            ScriptedText::Cut { text, chars } => Self::cut(values.fill(text).into_owned(), *chars),
            ScriptedText::Chunks(_) => Self::Listed { at: 0 },
            ScriptedText::Repeat { .. } => Self::Repeated { at: 0 },
        }
    }

    fn cut(text: String, chars: usize) -> Self {
        Self::Cut { text, at: 0, chars }
    }

    fn next(&mut self, text: Option<&ScriptedText>, values: &TemplateValues) -> Option<String> {
        match (self, text) {
            (Self::Once(text), _) => text.take().filter(|text| !text.is_empty()),
            (Self::Cut { text, at, chars }, _) => {
                let rest = text.get(*at..).unwrap_or_default();
                let end = rest
                    .char_indices()
                    .nth((*chars).max(1))
                    .map_or(rest.len(), |(end, _)| end);
                let delta = rest.get(..end).unwrap_or_default();
                *at += delta.len();
                (!delta.is_empty()).then(|| delta.to_owned())
            }
            (Self::Listed { at }, Some(ScriptedText::Chunks(chunks))) => {
                let chunk = chunks.get(*at)?;
                *at += 1;
                Some(values.fill(chunk).into_owned())
            }
            (Self::Repeated { at }, Some(ScriptedText::Repeat { text, times })) => {
                if *at >= *times {
                    return None;
                }
                *at += 1;
                Some(values.fill_counting(text, *at).into_owned())
            }
            (Self::Listed { .. } | Self::Repeated { .. }, _) => None,
        }
    }

    fn is_over(&self, text: Option<&ScriptedText>) -> bool {
        match (self, text) {
            (Self::Once(text), _) => text.as_ref().is_none_or(String::is_empty),
            (Self::Cut { text, at, .. }, _) => *at >= text.len(),
            (Self::Listed { at }, Some(ScriptedText::Chunks(chunks))) => *at >= chunks.len(),
            (Self::Repeated { at }, Some(ScriptedText::Repeat { times, .. })) => at >= times,
            (Self::Listed { .. } | Self::Repeated { .. }, _) => true,
        }
    }
}

fn scripted_text_of(step: &ScriptStep) -> Option<&ScriptedText> {
    match step {
        ScriptStep::Text(speech) | ScriptStep::Thinking { speech, .. } => Some(&speech.text),
        ScriptStep::Tool(tool) => match &tool.arguments {
            ScriptArguments::Raw(text) => Some(text),
            ScriptArguments::Object { .. } => None,
        },
        _ => None,
    }
}

/// How long a step that waits for a file waits before it looks again.
const LOOK_AGAIN_MS: u64 = 5;

fn chunk_wait_ms(step: &ScriptStep) -> u64 {
    match step {
        ScriptStep::Text(speech) | ScriptStep::Thinking { speech, .. } => speech.chunk_wait_ms,
        ScriptStep::Tool(tool) => tool.chunk_wait_ms,
        _ => 0,
    }
}

/// True when the block of `step` goes on in what comes later, or is broken off there.
fn stays_open(step: &ScriptStep, later: &[ScriptStep]) -> bool {
    let next = later.iter().find(|step| {
        !matches!(
            step,
            ScriptStep::Wait { .. } | ScriptStep::WaitFor { .. } | ScriptStep::Usage(_)
        )
    });
    match (step, next) {
        (_, Some(ScriptStep::Error(_) | ScriptStep::Hang)) => true,
        (ScriptStep::Text(_), Some(ScriptStep::Text(speech))) => !speech.new_block,
        (
            ScriptStep::Thinking {
                signature: None, ..
            },
            Some(ScriptStep::Thinking { speech, .. }),
        ) => !speech.new_block,
        _ => false,
    }
}

/// True when the provider would not even have accepted the request.
fn fails_at_once(turn: &ScriptTurn) -> bool {
    let first = turn
        .steps
        .iter()
        .find(|step| !matches!(step, ScriptStep::Wait { .. } | ScriptStep::WaitFor { .. }));
    matches!(first, Some(ScriptStep::Error(_)))
}

fn filled_object(
    object: &serde_json::Map<String, serde_json::Value>,
    values: &TemplateValues,
) -> String {
    use serde_json::Value;
    fn fill(value: &Value, values: &TemplateValues) -> Value {
        match value {
            Value::String(text) => Value::String(values.fill(text).into_owned()),
            Value::Array(items) => items.iter().map(|item| fill(item, values)).collect(),
            Value::Object(fields) => fields
                .iter()
                .map(|(name, value)| (name.clone(), fill(value, values)))
                .collect::<serde_json::Map<_, _>>()
                .into(),
            other => other.clone(),
        }
    }
    fill(&Value::Object(object.clone()), values).to_string()
}

/// What a provider usually says and answers with for a kind of error.
fn usual(kind: ModelErrorKind) -> (&'static str, Option<u16>) {
    match kind {
        ModelErrorKind::Overloaded => ("overloaded", Some(529)),
        ModelErrorKind::RateLimited => ("rate limited", Some(429)),
        ModelErrorKind::Server => ("server error", Some(500)),
        ModelErrorKind::Network => ("could not be reached", None),
        ModelErrorKind::BrokenStream => ("the answer broke off", None),
        ModelErrorKind::Silence => ("no data arrived for too long", None),
        ModelErrorKind::AnswerTooLong => ("the answer is too long", None),
        ModelErrorKind::Auth => ("wrong credentials", Some(401)),
        ModelErrorKind::Quota => ("quota used up", Some(402)),
        ModelErrorKind::ContextOverflow => ("prompt is too long", Some(400)),
        ModelErrorKind::InvalidRequest => ("invalid request", Some(400)),
        ModelErrorKind::UnknownModel => ("no such model", Some(404)),
        ModelErrorKind::Other => ("unexpected error", None),
    }
}
