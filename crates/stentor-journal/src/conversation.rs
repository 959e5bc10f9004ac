//! The part of a session that is in context: what clients see as its messages, and what a model
//! is told.

use std::collections::HashSet;
use std::sync::Arc;

use crate::foreign_roles;
use crate::message::{
    AssistantMessage, BashExecution, ContentBlock, KnownBlock, KnownMessage, Message, StopReason,
    ToolCall, UserContent, UserMessage,
};

/// Characters one token stands for where no provider counted.
const CHARS_PER_TOKEN: u64 = 4;

/// An answer that took less says nothing about how fast its model is.
const SHORTEST_ANSWER_MS: u64 = 100;

/// What a picture counts for where no provider counted.
const IMAGE_TOKENS: u64 = 1200;

/// The messages in context, oldest first, each with the entry it is stored in.
#[derive(Debug, Clone, Default)]
pub struct Conversation {
    items: Vec<ConversationItem>,
}

/// One message in context.
#[derive(Debug, Clone)]
pub struct ConversationItem {
    pub entry_id: String,
    pub message: Arc<Message>,
}

impl Conversation {
    /// Adds the newest message.
    pub fn push(&mut self, entry_id: String, message: Arc<Message>) {
        self.items.push(ConversationItem { entry_id, message });
    }

    /// Takes an answer out of the context, and the results of its calls with it. Returns the
    /// entries of what was taken out.
    pub fn forget(&mut self, entry_id: &str) -> Vec<String> {
        let is_it = |item: &ConversationItem| item.entry_id == entry_id;
        let Some(at) = self.items.iter().rposition(is_it) else {
            return Vec::new();
        };
        let ConversationItem { entry_id, message } = self.items.remove(at);
        let mut taken_out = vec![entry_id];
        let Some(answer) = message.as_assistant() else {
            return taken_out;
        };
        let is_answered_here = |item: &ConversationItem| {
            item.message.as_tool_result().is_some_and(|result| {
                answer
                    .tool_calls()
                    .any(|call| call.id == result.tool_call_id)
            })
        };
        let results = self.items[at..]
            .iter()
            .take_while(|item| is_answered_here(item))
            .count();
        let results = self.items.drain(at..at + results);
        taken_out.extend(results.map(|item| item.entry_id));
        taken_out
    }

    /// Replaces everything before the item `first_kept` by `summary`.
    pub fn compact(&mut self, summary: ConversationItem, first_kept: usize) {
        self.items
            .splice(..first_kept.min(self.items.len()), [summary]);
    }

    /// The items, oldest first.
    pub fn items(&self) -> &[ConversationItem] {
        &self.items
    }

    /// The messages, oldest first. Cheap: the messages are shared.
    pub fn messages(&self) -> Vec<Arc<Message>> {
        self.items
            .iter()
            .map(|item| Arc::clone(&item.message))
            .collect()
    }

    /// What a model is told: only user, assistant and tool-result messages are left.
    pub fn for_model(&self) -> Vec<Arc<Message>> {
        lower(self.items.iter().map(|item| &item.message))
    }

    /// How full the context is: what the last answer counted, plus an estimate of what came
    /// after. `None` when nothing counted yet, as right after a compaction.
    pub fn counted_tokens(&self) -> Option<u64> {
        let last = self.items.iter().rposition(|item| {
            item.message.as_assistant().is_some_and(|message| {
                !matches!(message.stop_reason, StopReason::Error | StopReason::Aborted)
                    && message.usage.context_tokens() > 0
            })
        })?;
        // Usage from before a compaction counts a context that no longer exists.
        let compacted = self
            .items
            .first()
            .is_some_and(|item| is_summary(&item.message));
        if compacted && self.compacted_after(last) {
            return None;
        }
        let counted = self.items[last]
            .message
            .as_assistant()?
            .usage
            .context_tokens();
        let later = &self.items[last + 1..];
        Some(
            counted
                + later
                    .iter()
                    .map(|item| estimate_tokens(&item.message))
                    .sum::<u64>(),
        )
    }

    /// The counted tokens, or an estimate of everything.
    pub fn tokens(&self) -> u64 {
        self.counted_tokens().unwrap_or_else(|| {
            self.items
                .iter()
                .map(|item| estimate_tokens(&item.message))
                .sum()
        })
    }

    /// The text of the last answer that has any, trimmed.
    pub fn last_assistant_text(&self) -> Option<String> {
        let message = self
            .items
            .iter()
            .rev()
            .filter_map(|item| item.message.as_assistant())
            .find(|message| {
                !(message.stop_reason == StopReason::Aborted && message.content.is_empty())
            })?;
        let text = message.text().trim().to_owned();
        (!text.is_empty()).then_some(text)
    }

    /// How fast the last answer was written. `None` when nothing was counted, or it took so short
    /// that the number would mean nothing.
    pub fn tokens_per_second(&self) -> Option<f64> {
        let mut answers = self.items.iter().rev();
        let last = answers.find_map(|item| item.message.as_assistant())?;
        let took_ms = last.duration.filter(|ms| *ms >= SHORTEST_ANSWER_MS)?;
        let output = last.usage.output;
        (output > 0).then(|| output as f64 * 1000.0 / took_ms as f64)
    }

    fn compacted_after(&self, index: usize) -> bool {
        let Some(Message::Known(KnownMessage::CompactionSummary(summary))) =
            self.items.first().map(|item| &*item.message)
        else {
            return false;
        };
        let answered = self.items[index]
            .message
            .as_assistant()
            .map_or(0, |message| message.timestamp);
        answered <= summary.timestamp
    }
}

/// Lowers every message to what all models understand, leaving out what none should see.
pub fn lower<'a>(messages: impl Iterator<Item = &'a Arc<Message>>) -> Vec<Arc<Message>> {
    let messages: Vec<&Arc<Message>> = messages.collect();
    let mut lowered = Vec::with_capacity(messages.len());
    let answered: HashSet<&str> = messages
        .iter()
        .filter_map(|message| Some(message.as_tool_result()?.tool_call_id.as_str()))
        .collect();
    // The calls the model is told of so far: a result of any other would mean nothing to it.
    let mut called: HashSet<&str> = HashSet::new();
    for message in &messages {
        match &***message {
            Message::Known(KnownMessage::User(_)) => lowered.push(Arc::clone(message)),
            Message::Known(KnownMessage::ToolResult(result)) => {
                if called.contains(result.tool_call_id.as_str()) {
                    lowered.push(Arc::clone(message));
                }
            }
            Message::Known(KnownMessage::Assistant(answer)) => {
                let is_answered = |call: &ToolCall| answered.contains(call.id.as_str());
                let ids = answer.tool_calls().filter(|call| is_answered(call));
                called.extend(ids.map(|call| call.id.as_str()));
                let broke_off =
                    matches!(answer.stop_reason, StopReason::Error | StopReason::Aborted);
                if !broke_off && answer.tool_calls().all(is_answered) {
                    lowered.push(Arc::clone(message));
                } else if let Some(rest) = usable_part(answer, is_answered) {
                    lowered.push(Arc::new(KnownMessage::Assistant(rest).into()));
                }
            }
            Message::Known(KnownMessage::Developer(reminder)) => {
                lowered.push(user_text(reminder.content.text(), reminder.timestamp));
            }
            Message::Known(KnownMessage::BashExecution(run)) => {
                if run.exclude_from_context != Some(true) {
                    lowered.push(user_text(describe_bash(run), run.timestamp));
                }
            }
            Message::Known(KnownMessage::Custom(custom)) => {
                lowered.push(Arc::new(KnownMessage::User(custom.as_said()).into()));
            }
            Message::Known(KnownMessage::BranchSummary(branch)) => {
                let text = format!(
                    "This conversation came back from a branch. What happened there:\n\n\
                     <summary>\n{}\n</summary>",
                    branch.summary
                );
                lowered.push(user_text(text, branch.timestamp));
            }
            Message::Known(KnownMessage::CompactionSummary(compaction)) => {
                let text = format!(
                    "The conversation before this point was replaced by this summary of it:\n\n\
                     <summary>\n{}\n</summary>",
                    compaction.summary
                );
                lowered.push(user_text(text, compaction.timestamp));
            }
            Message::Other(fields) => {
                lowered.extend(foreign_roles::lowered(fields).map(Arc::new));
            }
        }
    }
    lowered
}

/// Roughly how many tokens a message takes.
pub fn estimate_tokens(message: &Message) -> u64 {
    let blocks = estimate_blocks;
    match message {
        Message::Known(KnownMessage::User(message) | KnownMessage::Developer(message)) => {
            match &message.content {
                UserContent::Text(text) => estimate_text(text),
                UserContent::Blocks(content) => blocks(content),
            }
        }
        Message::Known(KnownMessage::Assistant(message)) => blocks(&message.content),
        Message::Known(KnownMessage::ToolResult(message)) => blocks(&message.content),
        Message::Known(KnownMessage::BashExecution(run)) => {
            estimate_text(&run.command) + estimate_text(&run.output)
        }
        Message::Known(KnownMessage::Custom(custom)) => match &custom.content {
            UserContent::Text(text) => estimate_text(text),
            UserContent::Blocks(content) => blocks(content),
        },
        Message::Known(KnownMessage::BranchSummary(branch)) => estimate_text(&branch.summary),
        Message::Known(KnownMessage::CompactionSummary(summary)) => estimate_text(&summary.summary),
        Message::Other(fields) => {
            foreign_roles::lowered(fields).map_or(0, |told| estimate_tokens(&told))
        }
    }
}

/// Roughly how many tokens the blocks of a message take.
pub fn estimate_blocks(blocks: &[ContentBlock]) -> u64 {
    blocks.iter().map(estimate_block).sum()
}

fn estimate_block(block: &ContentBlock) -> u64 {
    match block {
        ContentBlock::Known(KnownBlock::Text(block)) => estimate_text(&block.text),
        ContentBlock::Known(KnownBlock::Thinking(block)) => estimate_text(&block.thinking),
        ContentBlock::Known(KnownBlock::RedactedThinking(block)) => estimate_text(&block.data),
        ContentBlock::Known(KnownBlock::ToolCall(call)) => {
            estimate_text(&call.name)
                + call
                    .arguments
                    .values()
                    .map(|value| estimate_text(&value.to_string()))
                    .sum::<u64>()
        }
        ContentBlock::Known(KnownBlock::Image(_)) => IMAGE_TOKENS,
        ContentBlock::Known(KnownBlock::Document(block)) => estimate_text(&block.data),
        ContentBlock::Other(_) => 0,
    }
}

/// Roughly how many tokens a text takes.
pub fn estimate_text(text: &str) -> u64 {
    (text.len() as u64).div_ceil(CHARS_PER_TOKEN)
}

/// What of a broken-off answer can be told to a model: its text, and the calls that have results.
fn usable_part(
    answer: &AssistantMessage,
    is_answered: impl Fn(&ToolCall) -> bool,
) -> Option<AssistantMessage> {
    let content: Vec<ContentBlock> = answer
        .content
        .iter()
        .filter(|block| match block {
            ContentBlock::Known(KnownBlock::Text(text)) => !text.text.trim().is_empty(),
            ContentBlock::Known(KnownBlock::ToolCall(call)) => is_answered(call),
            _ => false,
        })
        .cloned()
        .collect();
    (!content.is_empty()).then(|| AssistantMessage {
        content,
        ..answer.clone()
    })
}

fn user_text(text: String, timestamp: u64) -> Arc<Message> {
    Arc::new(
        KnownMessage::User(UserMessage {
            content: UserContent::Blocks(vec![ContentBlock::text(text)]),
            attribution: None,
            synthetic: None,
            steering: None,
            timestamp,
            rest: Default::default(),
        })
        .into(),
    )
}

fn describe_bash(run: &BashExecution) -> String {
    let mut text = format!("Ran `{}`\n", run.command);
    if run.output.is_empty() {
        text.push_str("(no output)");
    } else {
        text.push_str("```\n");
        text.push_str(&run.output);
        if !run.output.ends_with('\n') {
            text.push('\n');
        }
        text.push_str("```");
    }
    if run.cancelled {
        text.push_str("\n\n(command cancelled)");
    } else if let Some(code) = run.exit_code.filter(|code| *code != 0) {
        text.push_str(&format!("\n\nCommand exited with code {code}"));
    }
    if run.truncated {
        let place = run.full_output_path.as_deref().unwrap_or("nowhere");
        text.push_str(&format!("\n\n[Output truncated. Full output: {place}]"));
    }
    text
}

fn is_summary(message: &Message) -> bool {
    matches!(message, Message::Known(KnownMessage::CompactionSummary(_)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn message(value: serde_json::Value) -> Arc<Message> {
        Arc::new(serde_json::from_value(value).unwrap())
    }

    fn assistant(content: serde_json::Value, stop: &str, total: u64) -> Arc<Message> {
        message(
            json!({"role":"assistant","content":content,"api":"a","provider":"p","model":"m",
            "usage":{"totalTokens":total},"stopReason":stop,"timestamp":10}),
        )
    }

    fn user(text: &str) -> Arc<Message> {
        message(json!({"role":"user","content":[{"type":"text","text":text}],"timestamp":1}))
    }

    fn texts(messages: &[Arc<Message>]) -> Vec<String> {
        lower(messages.iter())
            .iter()
            .map(|message| serde_json::to_value(&**message).unwrap())
            .map(|value| {
                let role = value["role"].as_str().unwrap().to_owned();
                let text = value["content"][0]["text"]
                    .as_str()
                    .unwrap_or("-")
                    .to_owned();
                format!("{role}: {text}")
            })
            .collect()
    }

    #[test]
    fn a_command_of_the_user_is_told_with_its_output_and_exit_code() {
        let run = json!({"role":"bashExecution","command":"ls x","output":"no x\n","exitCode":2,
            "cancelled":false,"truncated":false,"timestamp":1});
        assert_eq!(
            texts(&[message(run)]),
            ["user: Ran `ls x`\n```\nno x\n```\n\nCommand exited with code 2"]
        );
        let quiet = json!({"role":"bashExecution","command":"true","output":"","exitCode":0,
            "cancelled":false,"truncated":false,"timestamp":1});
        assert_eq!(texts(&[message(quiet)]), ["user: Ran `true`\n(no output)"]);
        let hidden = json!({"role":"bashExecution","command":"x","output":"","cancelled":true,
            "truncated":false,"excludeFromContext":true,"timestamp":1});
        assert!(texts(&[message(hidden)]).is_empty());
    }

    #[test]
    fn of_a_broken_off_answer_only_its_text_and_answered_calls_are_told() {
        let call = |id: &str| json!({"type":"toolCall","id":id,"name":"bash","arguments":{}});
        let broken = assistant(
            json!([{"type":"text","text":"so far"}, call("t1"), call("t2")]),
            "aborted",
            0,
        );
        let result = message(
            json!({"role":"toolResult","toolCallId":"t1","toolName":"bash",
            "content":[],"isError":true,"timestamp":1}),
        );
        let lowered = lower([broken, result].iter());
        let answer = lowered[0].as_assistant().unwrap();
        assert_eq!(
            answer
                .tool_calls()
                .map(|call| call.id.as_str())
                .collect::<Vec<_>>(),
            ["t1"]
        );
        assert_eq!(answer.text(), "so far");
        let empty = assistant(json!([{"type":"thinking","thinking":"hm"}]), "error", 0);
        assert!(lower([empty].iter()).is_empty());
    }

    #[test]
    fn context_use_is_what_the_last_answer_counted_plus_what_came_after() {
        let mut conversation = Conversation::default();
        assert_eq!(conversation.counted_tokens(), None);
        conversation.push("1".into(), user("12345678"));
        assert_eq!(conversation.tokens(), 2);
        conversation.push("2".into(), assistant(json!([]), "stop", 500));
        conversation.push("3".into(), user("1234"));
        assert_eq!(conversation.counted_tokens(), Some(501));
    }

    #[test]
    fn right_after_a_compaction_nothing_is_counted() {
        let mut conversation = Conversation::default();
        conversation.push("1".into(), user("a"));
        conversation.push("2".into(), assistant(json!([]), "stop", 500));
        let summary = message(
            json!({"role":"compactionSummary","summary":"s","tokensBefore":500,"timestamp":20}),
        );
        conversation.compact(
            ConversationItem {
                entry_id: "c".into(),
                message: summary,
            },
            1,
        );
        assert_eq!(conversation.items().len(), 2);
        assert_eq!(conversation.counted_tokens(), None);
    }

    #[test]
    fn the_speed_is_that_of_the_last_answer_if_it_took_long_enough() {
        let took = |ms: u64, output: u64| {
            message(
                json!({"role":"assistant","content":[],"api":"a","provider":"p","model":"m",
                "usage":{"output":output},"stopReason":"stop","timestamp":1,"duration":ms}),
            )
        };
        let mut conversation = Conversation::default();
        assert_eq!(conversation.tokens_per_second(), None);
        conversation.push("1".into(), took(500, 25));
        conversation.push("2".into(), user("and?"));
        assert_eq!(conversation.tokens_per_second(), Some(50.0));
        conversation.push("3".into(), took(99, 25));
        assert_eq!(conversation.tokens_per_second(), None);
        conversation.push("4".into(), took(500, 0));
        assert_eq!(conversation.tokens_per_second(), None);
    }

    #[test]
    fn the_last_text_skips_an_aborted_answer_without_content() {
        let mut conversation = Conversation::default();
        assert_eq!(conversation.last_assistant_text(), None);
        conversation.push(
            "1".into(),
            assistant(json!([{"type":"text","text":" hi "}]), "stop", 1),
        );
        conversation.push("2".into(), assistant(json!([]), "aborted", 0));
        assert_eq!(conversation.last_assistant_text().as_deref(), Some("hi"));
    }
}
