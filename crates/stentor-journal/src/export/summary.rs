//! The facts of a session at a glance.

use std::collections::HashMap;
use std::sync::Arc;

use super::ExportHeader;
use super::escape::Html;
use crate::clock::iso_time;
use crate::message::{KnownMessage, Message};
use crate::usage::{Cost, Usage};

/// Counted over all messages.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Summary {
    prompts: usize,
    answers: usize,
    tool_calls: usize,
    usage: Usage,
    /// In the order they first answered.
    models: Vec<String>,
}

impl Summary {
    /// Counts.
    pub(super) fn of(messages: &[Arc<Message>]) -> Self {
        let mut summary = Self::default();
        let mut known = HashMap::new();
        for message in messages {
            match message.as_ref() {
                Message::Known(KnownMessage::User(_)) => summary.prompts += 1,
                Message::Known(KnownMessage::Assistant(answer)) => {
                    summary.answers += 1;
                    summary.tool_calls += answer.tool_calls().count();
                    summary.usage.add(&answer.usage);
                    let name = format!("{}/{}", answer.provider, answer.model);
                    if known.insert(name.clone(), ()).is_none() {
                        summary.models.push(name);
                    }
                }
                Message::Known(_) | Message::Other(_) => {}
            }
        }
        summary
    }

    /// What was consumed in all.
    pub(super) fn usage(&self) -> &Usage {
        &self.usage
    }

    /// The facts that are known, by name.
    pub(super) fn facts(&self, header: &ExportHeader) -> Vec<(&'static str, String)> {
        let models = match (&self.models[..], &header.model) {
            ([], Some(model)) => model.clone(),
            (models, _) => models.join(", "),
        };
        let usage = &self.usage;
        let tokens = match usage.cache_read.max(usage.cache_write) {
            _ if usage.context_tokens() == 0 => String::new(),
            0 => format!("{} in, {} out", grouped(usage.input), grouped(usage.output)),
            _ => format!(
                "{} in, {} out, {} read from the cache, {} written to it",
                grouped(usage.input),
                grouped(usage.output),
                grouped(usage.cache_read),
                grouped(usage.cache_write)
            ),
        };
        let counted = format!(
            "{}, {}, {}",
            counted(self.prompts, "prompt"),
            counted(self.answers, "answer"),
            counted(self.tool_calls, "tool call")
        );
        let facts = [
            ("Folder", header.cwd.clone()),
            ("Began", header.created_ms.map(moment).unwrap_or_default()),
            ("Model", models),
            ("Messages", counted),
            ("Tokens", tokens),
            ("Cost", dollars(&usage.cost)),
            ("Session", header.id.clone()),
        ];
        let known = facts.into_iter().filter(|(_, value)| !value.is_empty());
        known.collect()
    }

    /// The list of facts below the title.
    pub(super) fn render(&self, header: &ExportHeader, page: &mut Html) {
        page.raw("<dl class=\"facts\">\n");
        for (name, value) in self.facts(header) {
            page.element("dt", "", name)
                .element("dd", "", &value)
                .raw("\n");
        }
        page.raw("</dl>\n");
    }
}

/// `2026-11-15 07:45 UTC`.
pub(super) fn moment(ms: u64) -> String {
    let time = iso_time(ms);
    match (time.get(..10), time.get(11..16)) {
        (Some(day), Some(minute)) => format!("{day} {minute} UTC"),
        _ => time,
    }
}

pub(super) fn dollars(cost: &Cost) -> String {
    if cost.total <= 0.0 && !cost.is_unknown {
        String::new()
    } else if cost.total < 0.01 {
        cost.in_words(4)
    } else {
        cost.in_words(2)
    }
}

/// `40 ms`, `1.4 s`, `12 s`, `3 min 5 s`.
pub(super) fn duration(ms: u64) -> String {
    match ms {
        0..1000 => format!("{ms} ms"),
        1000..10_000 => format!("{}.{} s", ms / 1000, ms % 1000 / 100),
        10_000..60_000 => format!("{} s", ms / 1000),
        _ => format!("{} min {} s", ms / 60_000, ms % 60_000 / 1000),
    }
}

/// What one model call took and cost, in a few words.
pub(super) fn spent(usage: &Usage, took_ms: Option<u64>) -> String {
    let mut parts = Vec::new();
    parts.extend(took_ms.filter(|ms| *ms > 0).map(duration));
    if usage.context_tokens() > 0 {
        parts.push(format!(
            "{} in, {} out",
            grouped(usage.tokens_in()),
            grouped(usage.output)
        ));
    }
    let cost = dollars(&usage.cost);
    parts.extend((!cost.is_empty()).then_some(cost));
    parts.join(" · ")
}

fn counted(number: usize, noun: &str) -> String {
    match number {
        1 => format!("1 {noun}"),
        _ => format!("{} {noun}s", grouped(number as u64)),
    }
}

/// `1 234 567`, with thin spaces.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (n, digit) in digits.chars().enumerate() {
        if n > 0 && (digits.len() - n).is_multiple_of(3) {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_for_people() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(1_234_567), "1\u{202f}234\u{202f}567");
        assert_eq!(counted(1, "prompt"), "1 prompt");
        assert_eq!(counted(2, "prompt"), "2 prompts");
        for (total, is_unknown, shown) in [
            (0.0, false, ""),
            (0.00067, false, "$0.0007"),
            (1.239, false, "$1.24"),
            (0.0, true, "unknown"),
            (1.239, true, "at least $1.24"),
        ] {
            let cost = Cost {
                total,
                is_unknown,
                ..Cost::default()
            };
            assert_eq!(dollars(&cost), shown);
        }
        assert_eq!(moment(1_794_728_738_409), "2026-11-15 07:45 UTC");
    }
}
