//! The next answer of the guide, decided from the conversation alone.

use std::sync::Arc;

use stentor_agent::model::ModelRequest;
use stentor_journal::message::{ContentBlock, Message, UserContent, UserMessage};

use super::request::OfflineRequest;
use super::steps::{self, Exchange, NextStep, OfflineCall};
use super::{replies, report};

/// What the guide says and does next.
#[derive(Debug, Default, PartialEq)]
pub struct GuideAnswer {
    pub text: String,
    /// Calls with their ids.
    pub calls: Vec<(String, OfflineCall)>,
}

/// The answer to a request.
pub fn answer(request: &ModelRequest) -> GuideAnswer {
    let Some((at, prompt)) = last_prompt(&request.messages) else {
        return GuideAnswer {
            text: replies::help(),
            ..GuideAnswer::default()
        };
    };
    let text = asked(prompt);
    let wanted = OfflineRequest::parse(&text);
    let exchanges = exchanges(request.messages.get(at + 1..).unwrap_or_default());
    let (said, calls) = match steps::next(&wanted, &exchanges, &request.tools) {
        NextStep::Calls(calls) => {
            let said = calls.first().map(report::announcement);
            (said.unwrap_or_default(), calls)
        }
        NextStep::Lacks(tool) => (replies::lacks(tool), Vec::new()),
        NextStep::Done => (report::report(&wanted, &exchanges, &text), Vec::new()),
    };
    let introduced = wanted == OfflineRequest::Help || has_introduced_itself(&request.messages);
    let text = match introduced {
        true => said,
        false => format!("{}\n\n{said}", replies::WHO_I_AM),
    };
    GuideAnswer {
        text,
        calls: numbered(calls, prompt.timestamp, exchanges.len()),
    }
}

/// The last thing a person said; reminders the agent injected are not for the guide.
fn last_prompt(messages: &[Arc<Message>]) -> Option<(usize, &UserMessage)> {
    let users = messages.iter().enumerate().rev();
    users
        .filter_map(|(at, message)| Some((at, message.as_user()?)))
        .find(|(_, user)| user.synthetic != Some(true))
}

/// What the person wrote: the first text. What was attached or piped in comes as texts of its own, and
/// is anybody's.
fn asked(prompt: &UserMessage) -> String {
    match &prompt.content {
        UserContent::Text(text) => text.clone(),
        UserContent::Blocks(blocks) => {
            let first = blocks.iter().find_map(ContentBlock::as_text);
            first.unwrap_or_default().to_owned()
        }
    }
}

/// The calls since the prompt that have a result, in the order they were made.
fn exchanges(since: &[Arc<Message>]) -> Vec<Exchange<'_>> {
    let results: Vec<_> = since
        .iter()
        .filter_map(|message| message.as_tool_result())
        .collect();
    let answers = since.iter().filter_map(|message| message.as_assistant());
    let calls = answers.flat_map(|answer| answer.tool_calls());
    calls
        .filter_map(|call| {
            let result = results
                .iter()
                .find(|result| result.tool_call_id == call.id)?;
            Some(Exchange { call, result })
        })
        .collect()
}

fn has_introduced_itself(messages: &[Arc<Message>]) -> bool {
    let mut answers = messages.iter().filter_map(|message| message.as_assistant());
    answers.any(|answer| answer.text().contains(replies::WHO_I_AM))
}

/// Gives the calls ids that are new in the conversation: the time of the prompt and a count.
fn numbered(calls: Vec<OfflineCall>, prompt_ms: u64, made: usize) -> Vec<(String, OfflineCall)> {
    let numbered = calls.into_iter().enumerate();
    numbered
        .map(|(n, call)| (format!("guide_{prompt_ms:x}_{}", made + n + 1), call))
        .collect()
}
