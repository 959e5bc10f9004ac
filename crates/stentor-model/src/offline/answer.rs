//! The next answer of the guide, decided from the conversation alone.

use std::sync::Arc;

use stentor_agent::model::ModelRequest;
use stentor_agent::tool::ToolSpec;
use stentor_journal::message::{Message, UserMessage};

use super::act::{self, Call, Exchange, Next};
use super::intent::Intent;
use super::understand::understand;
use super::{fixed_replies, report};

/// What the guide says and does next.
#[derive(Debug, Default, PartialEq)]
pub struct GuideAnswer {
    pub thinking: String,
    pub text: String,
    /// Calls with their ids.
    pub calls: Vec<(String, Call)>,
}

/// How far the requests of a prompt are.
struct Progress {
    /// For each request that is finished, how many exchanges it took and what it lacked.
    finished: Vec<(usize, Option<&'static str>)>,
    /// The calls to make next, if there are any.
    calls: Vec<Call>,
    /// True when a failure ended the work early.
    broken_off: bool,
}

/// The answer to a request.
pub fn answer(request: &ModelRequest) -> GuideAnswer {
    let Some((at, prompt)) = last_prompt(&request.messages) else {
        return GuideAnswer {
            text: fixed_replies::help(),
            ..GuideAnswer::default()
        };
    };
    let text = prompt.content.text();
    let intents = understand(&text);
    let since = request.messages.get(at + 1..).unwrap_or_default();
    let exchanges = exchanges(since);
    let now = progress(&intents, &exchanges, &request.tools);
    // What was finished before the latest results came has been reported already.
    let older = exchanges.len() - latest_results(since).min(exchanges.len());
    let before = match older == exchanges.len() {
        true => 0,
        false => {
            let seen = exchanges.get(..older).unwrap_or_default();
            progress(&intents, seen, &request.tools).finished.len()
        }
    };
    let mut parts = Vec::new();
    if !says_who_i_am(&request.messages) && !matches!(intents.as_slice(), [Intent::Help]) {
        parts.push(fixed_replies::WHO_I_AM.to_owned());
    }
    let mut start = 0;
    for (number, (intent, (took, lacks))) in intents.iter().zip(&now.finished).enumerate() {
        let had = exchanges.get(start..start + took).unwrap_or_default();
        start += took;
        if number >= before {
            parts.push(match lacks {
                Some(needs) => fixed_replies::impossible(needs),
                None => report::report(intent, had, &text),
            });
        }
    }
    let left = intents.len() - now.finished.len();
    if now.broken_off && left > 0 {
        parts.push(format!(
            "I therefore skipped the {} after it.",
            report::counted(left, "request")
        ));
    }
    let current = intents.get(now.finished.len());
    if let Some(intent) = current.filter(|_| !now.calls.is_empty()) {
        parts.push(report::announcement(intent, exchanges.len() > start));
    }
    GuideAnswer {
        thinking: thinking(&intents, &now),
        text: parts.join("\n\n"),
        calls: numbered(now.calls, prompt.timestamp, exchanges.len()),
    }
}

fn progress(intents: &[Intent], exchanges: &[Exchange], tools: &[ToolSpec]) -> Progress {
    let mut progress = Progress {
        finished: Vec::new(),
        calls: Vec::new(),
        broken_off: false,
    };
    let mut start = 0;
    for intent in intents {
        let mut end = start;
        let lacks = loop {
            let had = exchanges.get(start..end).unwrap_or_default();
            match act::next(intent, had, tools) {
                Next::Done => break None,
                Next::Impossible { needs } => break Some(needs),
                Next::Calls(calls) if exchanges.len() >= end + calls.len() => end += calls.len(),
                Next::Calls(calls) => {
                    progress.calls = calls;
                    return progress;
                }
            }
        };
        let had = exchanges.get(start..end).unwrap_or_default();
        progress.finished.push((end - start, lacks));
        if lacks.is_some() || act::failed(intent, had) {
            progress.broken_off = true;
            return progress;
        }
        start = end;
    }
    progress
}

fn thinking(intents: &[Intent], now: &Progress) -> String {
    match intents.get(now.finished.len()) {
        Some(intent) if !now.calls.is_empty() => {
            let tools: Vec<&str> = now.calls.iter().map(|call| call.tool).collect();
            format!(
                "Rule: {}. Tools: {}.",
                report::rule_name(intent),
                tools.join(", ")
            )
        }
        _ => match intents {
            [only] if now.finished.iter().all(|(took, _)| *took == 0) => {
                format!("Rule: {}. No tool needed.", report::rule_name(only))
            }
            _ => "The results are there. I report what came back.".to_owned(),
        },
    }
}

/// The last thing a person said; reminders the agent injected are not for the guide.
fn last_prompt(messages: &[Arc<Message>]) -> Option<(usize, &UserMessage)> {
    let users = messages.iter().enumerate().rev();
    users
        .filter_map(|(at, message)| Some((at, message.as_user()?)))
        .find(|(_, user)| user.synthetic != Some(true))
}

/// The calls since the prompt that have a result, in the order they were made.
fn exchanges(since: &[Arc<Message>]) -> Vec<Exchange<'_>> {
    let results: Vec<_> = since
        .iter()
        .filter_map(|message| message.as_tool_result())
        .collect();
    let calls = since
        .iter()
        .filter_map(|message| message.as_assistant())
        .flat_map(|answer| answer.tool_calls());
    calls
        .filter_map(|call| {
            let result = results
                .iter()
                .find(|result| result.tool_call_id == call.id)?;
            Some(Exchange { call, result })
        })
        .collect()
}

/// How many results came after the last answer.
fn latest_results(since: &[Arc<Message>]) -> usize {
    let new = since
        .iter()
        .rev()
        .take_while(|message| message.as_assistant().is_none());
    new.filter(|message| message.as_tool_result().is_some())
        .count()
}

fn says_who_i_am(messages: &[Arc<Message>]) -> bool {
    messages
        .iter()
        .filter_map(|message| message.as_assistant())
        .any(|answer| answer.text().contains(fixed_replies::WHO_I_AM))
}

/// Gives the calls ids that are new in the conversation: the time of the prompt and a count.
fn numbered(calls: Vec<Call>, prompt_ms: u64, made: usize) -> Vec<(String, Call)> {
    calls
        .into_iter()
        .enumerate()
        .map(|(n, call)| (format!("guide_{prompt_ms:x}_{}", made + n + 1), call))
        .collect()
}
