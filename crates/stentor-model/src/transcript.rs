//! A conversation of any origin, put into an order every wire accepts.
//!
//! History may come from another provider, from another program, or from a run that was
//! interrupted. Here it becomes turns that hold what all wires demand: every tool call has exactly
//! one result, right behind it; ids have characters the wire allows; adjacent user messages are
//! one; nothing is empty; and opaque data goes back only to the model that made it. What a model
//! cannot take becomes text that says so.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value;
use stentor_agent::model::{InputKind, ModelInfo};
use stentor_journal::message::{
    AssistantMessage, ContentBlock, DocumentBlock, ImageBlock, KnownBlock, KnownMessage, Message,
    ToolCall, ToolResultMessage, UserContent,
};

use crate::server_call::{call_item, result_item};

/// One turn of a conversation that is ready for a wire.
#[derive(Debug, PartialEq)]
pub enum TranscriptTurn<'a> {
    User(Vec<TranscriptPart<'a>>),
    Assistant(Vec<AssistantPart<'a>>),
    /// One result for each call of the turn before, in the order of the calls.
    Results(Vec<ToolAnswer<'a>>),
}

/// A piece of what a model is shown.
#[derive(Debug, Clone, PartialEq)]
pub enum TranscriptPart<'a> {
    Text(Cow<'a, str>),
    Image(&'a ImageBlock),
    /// A PDF, only for models that read them.
    Pdf(&'a DocumentBlock),
}

/// A piece of what a model said. Signatures are left only where the same model made them.
#[derive(Debug, Clone, PartialEq)]
pub enum AssistantPart<'a> {
    Text {
        text: Cow<'a, str>,
        signature: Option<&'a str>,
    },
    /// Reasoning of this very model, which was not broken off.
    Thinking {
        text: &'a str,
        signature: &'a str,
    },
    Redacted {
        data: &'a str,
    },
    Call {
        id: String,
        call: &'a ToolCall,
        signature: Option<&'a str>,
    },
    /// A call that this very model's provider has run, and what goes back of it.
    ServerCall {
        call: &'a ToolCall,
        item: Value,
        result: Option<&'a Value>,
    },
}

/// The result of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolAnswer<'a> {
    pub id: String,
    pub name: &'a str,
    pub parts: Vec<TranscriptPart<'a>>,
    pub is_error: bool,
}

/// What ids of tool calls may look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdRule {
    /// Letters, digits, `_` and `-`, at most so many.
    Identifier { max_len: usize },
    /// Exactly nine letters and digits, as Mistral demands.
    Nine,
}

/// What stands for the result of a call that never got one.
pub const INTERRUPTED: &str = "The call was interrupted; there is no result.";
/// Opens a conversation whose beginning is gone: wires want a user first.
pub const BEGINS_EARLIER: &str = "(the conversation began earlier)";
/// Follows an answer that was broken off: wires want a user last.
pub const GO_ON: &str = "Go on.";

/// Puts `messages` in order for `model`.
pub fn prepare<'a>(
    messages: &'a [Arc<Message>],
    model: &ModelInfo,
    ids: IdRule,
) -> Vec<TranscriptTurn<'a>> {
    let mut transcript = Builder {
        model,
        ids,
        turns: Vec::new(),
    };
    let mut used = vec![false; messages.len()];
    for (n, message) in messages.iter().enumerate() {
        match message.as_ref() {
            Message::Known(KnownMessage::User(user) | KnownMessage::Developer(user)) => {
                transcript.user(transcript.user_parts(&user.content));
            }
            Message::Known(KnownMessage::Assistant(assistant)) => {
                let rest = messages.get(n + 1..).unwrap_or_default();
                let rest_used = used.get_mut(n + 1..).unwrap_or_default();
                transcript.assistant(assistant, rest, rest_used);
            }
            Message::Known(KnownMessage::ToolResult(result)) => {
                if used.get(n) != Some(&true) {
                    transcript.orphan(result);
                }
            }
            Message::Known(
                KnownMessage::BashExecution(_)
                | KnownMessage::Custom(_)
                | KnownMessage::BranchSummary(_)
                | KnownMessage::CompactionSummary(_),
            )
            | Message::Other(_) => {
                tracing::warn!("a message that was not lowered for the model is left out");
            }
        }
    }
    transcript.finish()
}

/// Separates what only some wires can carry inside a tool result from its text.
pub fn split_media<'p, 'a>(
    parts: &'p [TranscriptPart<'a>],
) -> (Cow<'p, str>, Vec<&'p TranscriptPart<'a>>) {
    let mut text = Cow::Borrowed("");
    let mut media = Vec::new();
    for part in parts {
        match part {
            TranscriptPart::Text(more) if text.is_empty() => text = Cow::Borrowed(more.as_ref()),
            TranscriptPart::Text(more) => {
                let text = text.to_mut();
                text.push('\n');
                text.push_str(more);
            }
            TranscriptPart::Image(_) | TranscriptPart::Pdf(_) => media.push(part),
        }
    }
    if text.is_empty() {
        text = Cow::Borrowed(match media.is_empty() {
            true => "(no output)",
            false => "(see the attached media)",
        });
    }
    (text, media)
}

/// `id` as the rule wants it: unchanged if it may be, else shortened with a mark of its own, so
/// that the same id always becomes the same and two never become one.
pub fn wire_id(id: &str, rule: IdRule) -> String {
    let hash = fnv(id.as_bytes());
    match rule {
        IdRule::Identifier { max_len } => {
            let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
            if !id.is_empty() && id.len() <= max_len && id.chars().all(allowed) {
                return id.to_owned();
            }
            let kept = id
                .chars()
                .filter(|c| allowed(*c))
                .take(max_len.saturating_sub(17));
            let kept: String = kept.collect();
            format!("{kept}_{hash:016x}")
        }
        IdRule::Nine => {
            if id.len() == 9 && id.chars().all(|c| c.is_ascii_alphanumeric()) {
                return id.to_owned();
            }
            const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
            let mut rest = hash;
            let digit = || {
                let digit = DIGITS.get((rest % 36) as usize).copied().unwrap_or(b'0');
                rest /= 36;
                char::from(digit)
            };
            std::iter::repeat_with(digit).take(9).collect()
        }
    }
}

fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

struct Builder<'a, 'm> {
    model: &'m ModelInfo,
    ids: IdRule,
    turns: Vec<TranscriptTurn<'a>>,
}

impl<'a> Builder<'a, '_> {
    fn user(&mut self, parts: Vec<TranscriptPart<'a>>) {
        if parts.is_empty() {
            return;
        }
        if let Some(TranscriptTurn::User(last)) = self.turns.last_mut() {
            last.extend(parts);
        } else {
            self.turns.push(TranscriptTurn::User(parts));
        }
    }

    fn assistant(
        &mut self,
        message: &'a AssistantMessage,
        rest: &'a [Arc<Message>],
        used: &mut [bool],
    ) {
        let native = message.api == self.model.api
            && message.provider == self.model.provider
            && message.model == self.model.id;
        let mut parts = Vec::new();
        let mut answers = Vec::new();
        for block in &message.content {
            match block {
                ContentBlock::Known(KnownBlock::ToolCall(call)) => {
                    let signature = call.thought_signature.as_deref().filter(|_| native);
                    if let Some(item) = call_item(signature) {
                        let result = take_result(call, rest, used);
                        parts.push(AssistantPart::ServerCall {
                            call,
                            item,
                            result: result.and_then(result_item),
                        });
                        continue;
                    }
                    let id = wire_id(&call.id, self.ids);
                    answers.push(self.answer(call, id.clone(), rest, used));
                    parts.push(AssistantPart::Call {
                        id,
                        call,
                        signature,
                    });
                }
                block => parts.extend(assistant_part(block, native)),
            }
        }
        if parts.is_empty() {
            return;
        }
        if self.turns.is_empty() {
            self.user(vec![TranscriptPart::Text(BEGINS_EARLIER.into())]);
        }
        if let Some(TranscriptTurn::Assistant(last)) = self.turns.last_mut() {
            last.extend(parts);
        } else {
            self.turns.push(TranscriptTurn::Assistant(parts));
        }
        if !answers.is_empty() {
            self.turns.push(TranscriptTurn::Results(answers));
        }
    }

    /// What a call gave.
    fn answer(
        &self,
        call: &'a ToolCall,
        id: String,
        rest: &'a [Arc<Message>],
        used: &mut [bool],
    ) -> ToolAnswer<'a> {
        let name = &call.name;
        match take_result(call, rest, used) {
            Some(result) => ToolAnswer {
                id,
                name,
                parts: self.parts(&result.content),
                is_error: result.is_error,
            },
            None => ToolAnswer {
                id,
                name,
                parts: vec![TranscriptPart::Text(INTERRUPTED.into())],
                is_error: true,
            },
        }
    }

    fn orphan(&mut self, result: &'a ToolResultMessage) {
        let mut parts = vec![TranscriptPart::Text(Cow::Owned(format!(
            "(result of a call of `{}` that is no longer part of the conversation)",
            result.tool_name
        )))];
        parts.extend(self.parts(&result.content));
        self.user(parts);
    }

    fn user_parts(&self, content: &'a UserContent) -> Vec<TranscriptPart<'a>> {
        match content {
            UserContent::Text(text) => text_part(text).into_iter().collect(),
            UserContent::Blocks(blocks) => self.parts(blocks),
        }
    }

    fn parts(&self, blocks: &'a [ContentBlock]) -> Vec<TranscriptPart<'a>> {
        blocks.iter().filter_map(|block| self.part(block)).collect()
    }

    fn part(&self, block: &'a ContentBlock) -> Option<TranscriptPart<'a>> {
        match block {
            ContentBlock::Known(KnownBlock::Text(block)) => text_part(&block.text),
            ContentBlock::Known(KnownBlock::Image(image)) => Some(self.image(image)),
            ContentBlock::Known(KnownBlock::Document(document)) => Some(self.document(document)),
            ContentBlock::Known(KnownBlock::Thinking(block)) => text_part(&block.thinking),
            ContentBlock::Known(KnownBlock::RedactedThinking(_) | KnownBlock::ToolCall(_)) => Some(
                TranscriptPart::Text("(content that only a model may send)".into()),
            ),
            ContentBlock::Other(map) => {
                let kind = map
                    .get("type")
                    .and_then(|kind| kind.as_str())
                    .unwrap_or("?");
                Some(TranscriptPart::Text(Cow::Owned(format!(
                    "(content of the unknown type `{kind}`)"
                ))))
            }
        }
    }

    fn image(&self, image: &'a ImageBlock) -> TranscriptPart<'a> {
        if self.model.accepts(InputKind::Image) {
            return TranscriptPart::Image(image);
        }
        TranscriptPart::Text(Cow::Owned(format!(
            "(an image, {}, {} bytes, which {} cannot see)",
            image.mime_type,
            decoded_bytes(&image.data),
            self.model.id
        )))
    }

    fn document(&self, document: &'a DocumentBlock) -> TranscriptPart<'a> {
        let name = document.name.as_deref().unwrap_or("document");
        if document.mime_type != "application/pdf" {
            return TranscriptPart::Text(Cow::Owned(format!(
                "<document name=\"{name}\">\n{}\n</document>",
                document.data
            )));
        }
        if self.model.accepts(InputKind::Document) {
            return TranscriptPart::Pdf(document);
        }
        TranscriptPart::Text(Cow::Owned(format!(
            "(a PDF document named `{name}`, {} bytes, which {} cannot read)",
            decoded_bytes(&document.data),
            self.model.id
        )))
    }

    fn finish(mut self) -> Vec<TranscriptTurn<'a>> {
        if matches!(self.turns.last(), Some(TranscriptTurn::Assistant(_))) {
            self.user(vec![TranscriptPart::Text(GO_ON.into())]);
        }
        self.turns
    }
}

/// The result of `call`: the first unused one of its id before the next answer of a model.
fn take_result<'a>(
    call: &ToolCall,
    rest: &'a [Arc<Message>],
    used: &mut [bool],
) -> Option<&'a ToolResultMessage> {
    for (message, used) in rest.iter().zip(used) {
        match message.as_ref() {
            Message::Known(KnownMessage::Assistant(_)) => break,
            Message::Known(KnownMessage::ToolResult(result))
                if !*used && result.tool_call_id == call.id =>
            {
                *used = true;
                return Some(result);
            }
            _ => {}
        }
    }
    None
}

fn text_part(text: &str) -> Option<TranscriptPart<'_>> {
    (!text.trim().is_empty()).then_some(TranscriptPart::Text(Cow::Borrowed(text)))
}

fn assistant_part(block: &ContentBlock, native: bool) -> Option<AssistantPart<'_>> {
    let plain = |text: Cow<'static, str>| AssistantPart::Text {
        text,
        signature: None,
    };
    match block {
        ContentBlock::Known(KnownBlock::Text(block)) => {
            let signature = block.text_signature.as_deref().filter(|_| native);
            (signature.is_some() || !block.text.trim().is_empty()).then_some(AssistantPart::Text {
                text: Cow::Borrowed(&block.text),
                signature,
            })
        }
        // Others' reasoning, and what was broken off before it was signed, could only go back as text,
        // and that teaches a model to write its own into its answers.
        ContentBlock::Known(KnownBlock::Thinking(block)) => {
            let signature = block.thinking_signature.as_deref().filter(|_| native)?;
            Some(AssistantPart::Thinking {
                text: &block.thinking,
                signature,
            })
        }
        // Nobody but its maker can read it, so there is nothing to lower.
        ContentBlock::Known(KnownBlock::RedactedThinking(block)) => {
            native.then_some(AssistantPart::Redacted { data: &block.data })
        }
        ContentBlock::Known(KnownBlock::Image(image)) => Some(plain(Cow::Owned(format!(
            "(an image, {}, made by the model)",
            image.mime_type
        )))),
        ContentBlock::Known(KnownBlock::Document(_)) => {
            Some(plain("(a document made by the model)".into()))
        }
        ContentBlock::Known(KnownBlock::ToolCall(_)) | ContentBlock::Other(_) => None,
    }
}

/// How many bytes a base64 text stands for.
fn decoded_bytes(base64: &str) -> usize {
    base64.trim_end_matches('=').len() * 3 / 4
}

#[cfg(test)]
#[path = "transcript_tests.rs"]
mod tests;
