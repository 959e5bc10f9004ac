//! An answer that is coming in.

use std::time::Duration;

use stentor_agent::model::{ModelError, ModelEvent};
use stentor_agent::tool::ToolOutput;
use stentor_http::HttpLimits;
use stentor_wire::sse::SseDecoder;
use tokio::time::{Instant, timeout};

use crate::answer::{AnswerBuilder, Decoder, StreamFault};
use crate::echo::EchoFilter;
use crate::failure::AskedModel;
use crate::response::FirstBytes;

/// An answer that is coming in.
pub(crate) struct ResponseReading {
    pub response: reqwest::Response,
    pub events: SseDecoder,
    /// What came before the first event, in case none comes.
    pub first_bytes: FirstBytes,
    /// How long it was waited since the last event. Comments, which servers send to keep a
    /// connection, are no sign that the model still works.
    pub waited: Duration,
    pub decoder: Box<dyn Decoder>,
    pub answer: AnswerBuilder,
    pub echo: EchoFilter,
    pub asked: AskedModel,
    pub limits: HttpLimits,
    /// Reported once everything that came before it has been.
    pub failed: Option<ModelError>,
}

impl ResponseReading {
    /// The next event of the part of the answer that is under way.
    pub(crate) async fn next(&mut self) -> Option<Result<ModelEvent, ModelError>> {
        loop {
            if let Some(event) = self.echo.pop() {
                return Some(Ok(event));
            }
            if let Some(event) = self.answer.pop() {
                self.echo.push(event);
                continue;
            }
            if let Some(error) = self.failed.take() {
                return Some(Err(error));
            }
            if self.answer.is_finished() {
                return None;
            }
            self.advance_or_fail().await;
        }
    }

    /// The result of a call that the provider runs, or `None` when the answer goes on without.
    pub(crate) async fn result_of(&mut self, call_id: &str) -> Option<ToolOutput> {
        loop {
            if let Some(output) = self.answer.take_result(call_id) {
                return Some(self.echo.cleaned(output));
            }
            if !self.answer.may_be_answered(call_id) || self.failed.is_some() {
                return None;
            }
            self.advance_or_fail().await;
        }
    }

    async fn advance_or_fail(&mut self) {
        if let Err(error) = self.advance().await {
            self.failed = Some(error);
            self.echo.flush();
        }
    }

    /// Takes the next event out of what has arrived, or waits for more.
    async fn advance(&mut self) -> Result<(), ModelError> {
        let since = Instant::now();
        if self.decode_one()? {
            return Ok(());
        }
        let limit = Duration::from_millis(self.limits.silence_ms);
        let patience = limit.saturating_sub(self.waited);
        // Whoever sends comments without a pause is never waited for.
        let next = match patience.is_zero() {
            true => None,
            false => timeout(patience, self.response.chunk()).await.ok(),
        };
        self.waited += since.elapsed();
        let broken = match next {
            Some(Ok(Some(chunk))) => {
                self.first_bytes.push(&chunk);
                self.events.push(&chunk);
                return Ok(());
            }
            Some(Ok(None)) => None,
            Some(Err(error)) => Some(self.asked.lost(&error)),
            None => Some(self.asked.silent(self.limits.silence_ms)),
        };
        self.end_of_input(broken)
    }

    /// Nothing more will come. An answer that says it is complete is complete, however the
    /// connection ended.
    fn end_of_input(&mut self, broken: Option<ModelError>) -> Result<(), ModelError> {
        if broken.is_none() {
            self.events.finish();
            while !self.answer.is_finished() && self.decode_one()? {}
        }
        if self.answer.is_finished() {
            return Ok(());
        }
        if broken.is_none()
            && let Some(body) = self.first_bytes.instead_of_events()
        {
            let status = self.response.status().as_u16();
            return Err(self.asked.no_answer(status, &body));
        }
        self.decoder
            .closed(&mut self.answer)
            .map_err(|fault| broken.unwrap_or_else(|| self.asked.broken(fault)))
    }

    fn decode_one(&mut self) -> Result<bool, ModelError> {
        let event = self
            .events
            .next_event()
            .map_err(|error| self.asked.broken(error.into()))?;
        let Some(event) = event else {
            return Ok(false);
        };
        self.waited = Duration::ZERO;
        self.first_bytes.seen_event();
        self.decoder
            .event(event.name, event.data, &mut self.answer)
            .map_err(|fault| self.asked.broken(fault))?;
        if self.decoder.held_bytes() > self.limits.event_bytes {
            let limit = self.limits.event_bytes;
            let what = format!("more than {limit} bytes of it arrived out of order");
            return Err(self.asked.broken(StreamFault::TooLong(what)));
        }
        if self.answer.is_drained() {
            self.answer.nothing();
        }
        Ok(true)
    }
}
