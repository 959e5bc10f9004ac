//! Rules that watch what a model writes.
//!
//! A rule has patterns. When what the model is writing matches one, the stream is stopped, the
//! rule's text is put into the conversation, and the model goes on with it in mind. A rule speaks
//! once in a session: a model that has been told need not be told again.

mod files;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use regex::Regex;
use stentor_journal::message::{ContentBlock, KnownMessage, Message, UserContent, UserMessage};

use crate::event::AnswerRule;
use crate::live::{LiveBlock, LiveBlockKind};

pub use files::{RuleFile, read_rules};

/// How far back a match may begin: a pattern sees this much before the newest delta.
const LOOK_BACK_BYTES: usize = 2048;

/// The rules of a session.
#[derive(Debug, Default)]
pub struct RuleBook {
    rules: Vec<Watcher>,
}

#[derive(Debug)]
struct Watcher {
    rule: AnswerRule,
    patterns: Vec<Regex>,
    has_spoken: AtomicBool,
}

/// A rule with a pattern that is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("rule `{rule}`: `{pattern}` is not a regular expression: {why}")]
pub struct BadPattern {
    pub rule: String,
    pub pattern: String,
    pub why: String,
}

impl RuleBook {
    /// Rules with sound patterns, and what is wrong with the others.
    pub fn new(rules: Vec<AnswerRule>) -> (Self, Vec<BadPattern>) {
        let mut watchers = Vec::with_capacity(rules.len());
        let mut bad = Vec::new();
        for rule in rules {
            let patterns: Result<Vec<Regex>, BadPattern> = rule
                .condition
                .iter()
                .map(|pattern| {
                    Regex::new(pattern).map_err(|error| BadPattern {
                        rule: rule.name.clone(),
                        pattern: pattern.clone(),
                        why: error.to_string(),
                    })
                })
                .collect();
            match patterns {
                Ok(patterns) => watchers.push(Watcher {
                    rule,
                    patterns,
                    has_spoken: AtomicBool::new(false),
                }),
                Err(problem) => bad.push(problem),
            }
        }
        (Self { rules: watchers }, bad)
    }

    /// The same rules for another session, in which none has spoken.
    #[must_use]
    pub fn afresh(&self) -> Self {
        let rules = self.rules.iter().map(|watcher| Watcher {
            rule: watcher.rule.clone(),
            patterns: watcher.patterns.clone(),
            has_spoken: AtomicBool::new(false),
        });
        Self {
            rules: rules.collect(),
        }
    }

    /// True when nothing is watched.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// The rules that match what was written up to and with the delta that begins at `start`, and
    /// have not spoken. They have now.
    pub fn triggered_by(&self, block: &LiveBlock, start: usize) -> Vec<AnswerRule> {
        let watched = match block.kind {
            LiveBlockKind::Text | LiveBlockKind::ToolCall { .. } => true,
            LiveBlockKind::Thinking | LiveBlockKind::Redacted => false,
        };
        if !watched || self.rules.is_empty() {
            return Vec::new();
        }
        block.with_all(|text| {
            let from = text.ceil_char_boundary(start.saturating_sub(LOOK_BACK_BYTES));
            self.matching(text.get(from..).unwrap_or_default())
        })
    }

    fn matching(&self, text: &str) -> Vec<AnswerRule> {
        let speaks = |watcher: &&Watcher| {
            !watcher.has_spoken.load(Ordering::Acquire)
                && watcher
                    .patterns
                    .iter()
                    .any(|pattern| pattern.is_match(text))
                && !watcher.has_spoken.swap(true, Ordering::AcqRel)
        };
        let speaking = self.rules.iter().filter(speaks);
        speaking.map(|watcher| watcher.rule.clone()).collect()
    }
}

/// What the model is told when rules match.
pub(crate) fn reminder(rules: &[AnswerRule], timestamp: u64) -> Arc<Message> {
    let mut text = String::from(
        "<system-reminder>\nYour answer was stopped because it goes against a rule of the user. \
         Go on from where you were, and follow the rule.\n",
    );
    for rule in rules {
        text.push_str("\n## ");
        text.push_str(&rule.name);
        text.push('\n');
        text.push_str(rule.content.trim());
        text.push('\n');
    }
    text.push_str("</system-reminder>");
    injected(text, timestamp)
}

/// A message of the agent itself to the model.
pub(crate) fn injected(text: String, timestamp: u64) -> Arc<Message> {
    Arc::new(
        KnownMessage::Developer(UserMessage {
            content: UserContent::Blocks(vec![ContentBlock::text(text)]),
            attribution: Some("agent".to_owned()),
            synthetic: Some(true),
            steering: None,
            timestamp,
            rest: Default::default(),
        })
        .into(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::LiveMessage;

    fn rule(name: &str, patterns: &[&str]) -> AnswerRule {
        AnswerRule {
            name: name.to_owned(),
            path: format!("{name}.md").into(),
            content: "Do not.".to_owned(),
            description: None,
            condition: patterns
                .iter()
                .map(|pattern| (*pattern).to_owned())
                .collect(),
        }
    }

    fn names(rules: Vec<AnswerRule>) -> Vec<String> {
        rules.into_iter().map(|rule| rule.name).collect()
    }

    #[test]
    fn a_match_may_span_deltas_and_a_rule_speaks_once() {
        let (book, bad) = RuleBook::new(vec![
            rule("unwrap", &[r"\.unwrap\(\)"]),
            rule("x", &["zzz"]),
        ]);
        assert!(bad.is_empty());
        let live = LiveMessage::new(1, "e1", "a", "p", "m", 0);
        let block = live.open_block(LiveBlockKind::Text);
        let mut seen = Vec::new();
        for delta in ["let é = a.unw", "rap", "()", "; b.unwrap()"] {
            let range = block.append(delta);
            seen.push(names(book.triggered_by(&block, range.start)));
        }
        assert_eq!(seen, [vec![], vec![], vec!["unwrap".to_owned()], vec![]]);
        let again = book.afresh();
        assert_eq!(names(again.triggered_by(&block, 0)), ["unwrap"]);
    }

    #[test]
    fn thinking_is_not_watched_and_the_cost_of_a_delta_is_bounded() {
        let (book, _) = RuleBook::new(vec![rule("all", &["a"])]);
        let live = LiveMessage::new(1, "e1", "a", "p", "m", 0);
        let thinking = live.open_block(LiveBlockKind::Thinking);
        let range = thinking.append("aaa");
        assert!(book.triggered_by(&thinking, range.start).is_empty());
        let (book, _) = RuleBook::new(vec![rule("far", &["start.*end"])]);
        let text = live.open_block(LiveBlockKind::Text);
        text.append("start");
        text.append(&"é".repeat(LOOK_BACK_BYTES));
        let range = text.append("end");
        assert!(
            book.triggered_by(&text, range.start).is_empty(),
            "too far back"
        );
    }

    #[test]
    fn a_bad_pattern_is_told_and_the_other_rules_stay() {
        let (book, bad) = RuleBook::new(vec![rule("bad", &["("]), rule("good", &["x"])]);
        assert_eq!(book.rules.len(), 1);
        assert_eq!(
            (bad[0].rule.as_str(), bad[0].pattern.as_str()),
            ("bad", "(")
        );
    }
}
