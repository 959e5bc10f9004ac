//! What an ACP agent reports of its session.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;

use super::Effects;
use super::acp::Acp;
use super::json::{list, number, str, text};
use crate::event::{AgentContextUse, AgentEvent, AgentNoticeLevel, AgentPlanStatus, PlanEntry};

/// The update that comes by the thousand.
#[derive(Deserialize)]
pub(super) struct TextChunk<'a> {
    #[serde(borrow, rename = "sessionId")]
    session: Cow<'a, str>,
    #[serde(borrow)]
    update: ChunkUpdate<'a>,
}

#[derive(Deserialize)]
struct ChunkUpdate<'a> {
    #[serde(borrow, rename = "sessionUpdate")]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    content: Option<ChunkContent<'a>>,
    #[serde(borrow, rename = "messageId", default)]
    message: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct ChunkContent<'a> {
    #[serde(borrow, default)]
    text: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "mimeType", default)]
    media_type: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    data: Option<Cow<'a, str>>,
}

impl ChunkContent<'_> {
    /// The text, or what stands for a picture or a sound: answers of a session are text.
    fn into_text(self) -> Option<String> {
        if let Some(text) = self.text {
            return Some(text.into_owned());
        }
        let bytes = self.data?.len() / 4 * 3;
        let kind = self
            .media_type
            .unwrap_or(Cow::Borrowed("of an unknown type"));
        Some(format!(
            "\n[The agent showed something that cannot be shown here: {kind}, {bytes} bytes]\n"
        ))
    }
}

impl Acp {
    /// Takes a chunk of text. False when it is another update.
    pub fn chunk(&mut self, chunk: TextChunk<'_>, fx: &mut Effects) -> bool {
        let is_text = match &*chunk.update.kind {
            "agent_message_chunk" => true,
            "agent_thought_chunk" => false,
            _ => return false,
        };
        if Some(&*chunk.session) != self.session.as_deref() {
            return true;
        }
        let Some(said) = chunk.update.content.and_then(ChunkContent::into_text) else {
            return true;
        };
        self.works(fx);
        self.goes_on(fx);
        if let Some(id) = chunk.update.message.filter(|_| is_text)
            && *id != *self.message_id
        {
            if !self.message_id.is_empty() {
                fx.events.push_back(AgentEvent::AnswerEnded);
            }
            self.message_id = id.into_owned();
        }
        fx.events.push_back(match is_text {
            true => AgentEvent::Text(said),
            false => AgentEvent::Thinking(said),
        });
        true
    }

    /// Something comes after the calls it has made so far.
    fn goes_on(&mut self, fx: &mut Effects) {
        self.unreported.goes_on(fx);
        self.calls.announce(&mut self.turn, fx);
    }

    /// Takes any other update.
    pub fn update(&mut self, params: &Value, fx: &mut Effects) {
        if text(params, "sessionId") != self.session {
            return;
        }
        let update = params.get("update").unwrap_or(&Value::Null);
        match str(update, "sessionUpdate") {
            kind @ ("tool_call" | "tool_call_update") => {
                if kind == "tool_call" {
                    self.works(fx);
                }
                self.unreported.goes_on(fx);
                self.calls.take(update, &mut self.turn, fx);
            }
            "user_message_chunk" => {
                let content = update.get("content").unwrap_or(&Value::Null);
                self.works(fx);
                self.goes_on(fx);
                let said = str(content, "text").to_owned();
                fx.events.push_back(AgentEvent::UserMessage(said));
            }
            "plan" => {
                let entries = list(update, "entries").iter().map(|entry| PlanEntry {
                    text: str(entry, "content").to_owned(),
                    status: match str(entry, "status") {
                        "in_progress" => AgentPlanStatus::InProgress,
                        "completed" => AgentPlanStatus::Completed,
                        _ => AgentPlanStatus::Pending,
                    },
                });
                fx.events.push_back(AgentEvent::Plan(entries.collect()));
            }
            "usage_update" => {
                // What is no money here cannot be added up.
                let cost = update.get("cost");
                let cost = cost.filter(|cost| str(cost, "currency").eq_ignore_ascii_case("usd"));
                let cost = cost.and_then(|cost| cost.get("amount"));
                fx.events.push_back(AgentEvent::Context(AgentContextUse {
                    used: number(update, "used"),
                    size: number(update, "size"),
                    cost_usd: cost.and_then(Value::as_f64),
                }));
            }
            "session_info_update" => {
                if let Some(title) = text(update, "title") {
                    fx.events.push_back(AgentEvent::Title(title));
                }
            }
            "current_mode_update" => {
                let mode = str(update, "currentModeId").to_owned();
                self.opened.mode = Some(mode.clone());
                fx.events.push_back(AgentEvent::Mode(mode));
            }
            "config_option_update" => {
                self.options = list(update, "configOptions").to_vec();
                let before = self.opened.mode.clone();
                self.learn_mode();
                if let Some(mode) = self
                    .opened
                    .mode
                    .clone()
                    .filter(|_| self.opened.mode != before)
                {
                    fx.events.push_back(AgentEvent::Mode(mode));
                }
                let model = self
                    .option("model")
                    .and_then(|option| text(option, "currentValue"));
                if let Some(model) = model.filter(|model| Some(model) != self.opened.model.as_ref())
                {
                    self.opened.model = Some(model.clone());
                    fx.events.push_back(AgentEvent::Model(model));
                }
            }
            "notice" => {
                let level = match str(update, "severity") {
                    "warning" => AgentNoticeLevel::Warning,
                    "error" => AgentNoticeLevel::Error,
                    _ => AgentNoticeLevel::Info,
                };
                let mut said = str(update, "title").to_owned();
                if let Some(more) = text(update, "description") {
                    said = format!("{said}: {more}");
                }
                fx.events
                    .push_back(AgentEvent::Notice { level, text: said });
            }
            _ => {}
        }
    }
}
