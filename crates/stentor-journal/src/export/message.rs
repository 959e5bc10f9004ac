//! The messages of a conversation, one after the other, each with an anchor.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde_json::{Map, Value};

use super::PromptAnchor;
use super::block::{self, folded, preformatted, shown_part};
use super::escape::Html;
use super::summary::{moment, spent};
use super::{markdown, tool};
use crate::clock::iso_time;
use crate::message::{
    AssistantMessage, BashExecution, ContentBlock, KnownBlock, KnownMessage, Message, StopReason,
    ToolResultMessage, UserMessage,
};

/// A conversation, with each result found for its call.
pub(super) struct ExportedConversation<'a> {
    messages: &'a [Arc<Message>],
    /// By the id of the call: the first result, and its anchor.
    results: HashMap<&'a str, (usize, &'a ToolResultMessage)>,
    /// The calls that are there: their results are shown with them.
    calls: HashSet<&'a str>,
}

impl<'a> ExportedConversation<'a> {
    /// Looks through the messages.
    pub(super) fn new(messages: &'a [Arc<Message>]) -> Self {
        let mut results = HashMap::new();
        let mut calls = HashSet::new();
        for (anchor, message) in (1..).zip(messages) {
            if let Some(result) = message.as_tool_result() {
                results
                    .entry(result.tool_call_id.as_str())
                    .or_insert((anchor, result));
            }
            if let Some(answer) = message.as_assistant() {
                calls.extend(answer.tool_calls().map(|call| call.id.as_str()));
            }
        }
        Self {
            messages,
            results,
            calls,
        }
    }

    /// What people asked, in order.
    pub(super) fn prompts(&self) -> Vec<PromptAnchor> {
        let numbered = (1..).zip(self.messages);
        numbered
            .filter_map(|(anchor, message)| {
                let user = message.as_user()?;
                Some(PromptAnchor {
                    anchor,
                    text: user.content.text(),
                })
            })
            .collect()
    }

    /// Writes all messages.
    pub(super) fn render(&self, page: &mut Html) {
        self.render_from(1, page);
    }

    /// The same, the first of them with this anchor.
    pub(super) fn render_from(&self, first: usize, page: &mut Html) {
        let mut last_model = String::new();
        for (anchor, message) in (first..).zip(self.messages) {
            let card = Card { anchor };
            match message.as_ref() {
                Message::Known(known) => self.known(&card, known, &mut last_model, page),
                Message::Other(fields) => other(&card, fields, page),
            }
        }
    }

    fn known(&self, card: &Card, message: &KnownMessage, last_model: &mut String, page: &mut Html) {
        match message {
            KnownMessage::User(user) => prompt(card, "user", "You", user, page),
            KnownMessage::Developer(user) => prompt(card, "developer", "Reminder", user, page),
            KnownMessage::Assistant(answer) => self.answer(card, answer, last_model, page),
            KnownMessage::ToolResult(result) => {
                if !self.is_shown_with_its_call(card, result) {
                    card.open("assistant", "Tool result", result.timestamp, page);
                    tool::render_orphan(result, page);
                    card.close(page);
                }
            }
            KnownMessage::BashExecution(run) => shell(card, run, page),
            KnownMessage::Custom(custom) => {
                if custom.display {
                    card.open("custom", &custom.custom_type, custom.timestamp, page);
                    block::user_content(&custom.content, page);
                    card.close(page);
                }
            }
            KnownMessage::BranchSummary(branch) => {
                card.open(
                    "summary",
                    "What happened on another branch",
                    branch.timestamp,
                    page,
                );
                markdown::render(&branch.summary, page);
                card.close(page);
            }
            KnownMessage::CompactionSummary(compaction) => {
                let label = format!("Summary of {} tokens", compaction.tokens_before);
                card.open("summary", &label, compaction.timestamp, page);
                markdown::render(&compaction.summary, page);
                card.close(page);
            }
        }
    }

    fn is_shown_with_its_call(&self, card: &Card, result: &ToolResultMessage) -> bool {
        let id = result.tool_call_id.as_str();
        let is_first = self
            .results
            .get(id)
            .is_some_and(|(anchor, _)| *anchor == card.anchor);
        is_first && self.calls.contains(id)
    }

    fn answer(
        &self,
        card: &Card,
        answer: &AssistantMessage,
        last_model: &mut String,
        page: &mut Html,
    ) {
        // The name is worth a line only when it changes.
        let label = match answer.model == *last_model {
            true => "",
            false => answer.model.as_str(),
        };
        last_model.clone_from(&answer.model);
        let spent = spent(&answer.usage, answer.duration);
        card.open_with("assistant", label, &spent, answer.timestamp, page);
        let ended_ms = answer.duration.map(|ms| answer.timestamp + ms);
        for part in &answer.content {
            match part {
                ContentBlock::Known(KnownBlock::ToolCall(call)) => {
                    let result = self.results.get(call.id.as_str()).copied();
                    tool::render(call, result, ended_ms, page);
                }
                other => block::prose(other, page),
            }
        }
        if let Some(trouble) = trouble(answer) {
            page.element("p", "trouble", &trouble).raw("\n");
        }
        card.close(page);
    }
}

/// Why an answer is not what it should be.
pub(super) fn trouble(answer: &AssistantMessage) -> Option<String> {
    let trouble = match answer.stop_reason {
        StopReason::Error => Some("The model failed"),
        StopReason::Aborted => Some("Stopped"),
        StopReason::Length => Some("Cut at the model's output limit"),
        StopReason::Stop | StopReason::ToolUse | StopReason::Unknown => None,
    };
    let trouble = trouble?;
    Some(match answer.error_message.as_deref() {
        Some(why) => format!("{trouble}: {why}"),
        None => trouble.to_owned(),
    })
}

/// The frame of a message.
pub(super) struct Card {
    pub(super) anchor: usize,
}

impl Card {
    pub(super) fn open(&self, class: &str, label: &str, timestamp: u64, page: &mut Html) {
        self.open_with(class, label, "", timestamp, page);
    }

    /// The same with what it took and cost.
    pub(super) fn open_with(
        &self,
        class: &str,
        label: &str,
        spent: &str,
        timestamp: u64,
        page: &mut Html,
    ) {
        let anchor = self.anchor;
        page.raw(&format!("<article id=\"m{anchor}\" class=\"{class}\">\n"));
        page.raw("<header>");
        if !label.is_empty() {
            page.element("h2", "", label);
        }
        if !spent.is_empty() {
            page.raw(" ").element("span", "spent", spent);
        }
        page.raw(&format!(" <a class=\"anchor\" href=\"#m{anchor}\">"));
        if timestamp > 0 {
            page.raw("<time datetime=\"")
                .text(&iso_time(timestamp))
                .raw("\">")
                .text(&moment(timestamp))
                .raw("</time>");
        } else {
            page.raw("#");
        }
        page.raw("</a></header>\n");
    }

    pub(super) fn close(&self, page: &mut Html) {
        page.raw("</article>\n");
    }
}

fn prompt(card: &Card, class: &str, label: &str, user: &UserMessage, page: &mut Html) {
    card.open(class, label, user.timestamp, page);
    block::user_content(&user.content, page);
    card.close(page);
}

fn shell(card: &Card, run: &BashExecution, page: &mut Html) {
    card.open("shell", "You ran", run.timestamp, page);
    page.element("pre", "command", &run.command).raw("\n");
    let failed = run.cancelled || run.exit_code != Some(0);
    preformatted(&run.output, "", shown_part(failed), page);
    let ending = match (run.cancelled, run.exit_code) {
        (true, _) => "Cancelled".to_owned(),
        (false, Some(0)) => String::new(),
        (false, Some(code)) => format!("Exit status {code}"),
        (false, None) => "Ended by a signal".to_owned(),
    };
    if !ending.is_empty() {
        page.element("p", "trouble", &ending).raw("\n");
    }
    card.close(page);
}

/// A message of another program: there, but not interpreted.
fn other(card: &Card, fields: &Map<String, Value>, page: &mut Html) {
    let role = fields
        .get("role")
        .and_then(Value::as_str)
        .unwrap_or("Message");
    let timestamp = fields.get("timestamp").and_then(Value::as_u64).unwrap_or(0);
    card.open("custom", role, timestamp, page);
    let text = serde_json::to_string_pretty(fields).unwrap_or_default();
    folded("Details", &text, page);
    card.close(page);
}
