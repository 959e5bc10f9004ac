//! How a Claude model is told to think, which depends on its generation.

use serde_json::{Value, json};
use stentor_agent::model::ThinkingLevel;

/// The ways a model is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ThinkingManner {
    /// A number of tokens it may think (up to 4.5).
    Budget,
    /// It decides; an effort guides it (from 4.6 on), and thinking can be left out.
    Adaptive { generation: Generation },
    /// As adaptive, and it cannot be kept from thinking.
    AlwaysOn { generation: Generation },
}

/// A version such as 4.6, times ten.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Generation(u32);

const TAKES_SCHEMA_FROM: Generation = Generation(45);
const BUDGET_ONLY_UP_TO: Generation = Generation(45);
const KNOWS_XHIGH_FROM: Generation = Generation(47);
const THINKS_UNLESS_TOLD_FROM: Generation = Generation(50);
const OPUS_ALWAYS_ON_FROM: Generation = Generation(55);

/// The manner of the model of this id.
pub(super) fn manner(id: &str) -> ThinkingManner {
    let generation = generation(id);
    let has = |name: &str| id.contains(name);
    if has("fable") || has("mythos") || (has("opus") && generation >= OPUS_ALWAYS_ON_FROM) {
        ThinkingManner::AlwaysOn { generation }
    } else if generation > BUDGET_ONLY_UP_TO {
        ThinkingManner::Adaptive { generation }
    } else {
        ThinkingManner::Budget
    }
}

/// What goes into the request: the `thinking` and the `output_config` fields.
pub(super) fn fields(
    id: &str,
    level: ThinkingLevel,
    output_limit: u64,
) -> (Option<Value>, Option<Value>) {
    let adaptive = || Some(json!({"type": "adaptive", "display": "summarized"}));
    match (manner(id), level) {
        (ThinkingManner::Budget, ThinkingLevel::Off) => (None, None),
        (ThinkingManner::Budget, level) => (budget(level, output_limit), None),
        (ThinkingManner::Adaptive { generation }, ThinkingLevel::Off) => {
            let off = generation >= THINKS_UNLESS_TOLD_FROM;
            (off.then(|| json!({"type": "disabled"})), None)
        }
        (
            ThinkingManner::Adaptive { generation } | ThinkingManner::AlwaysOn { generation },
            level,
        ) => {
            let effort = effort(id, generation, level);
            (adaptive(), Some(json!({ "effort": effort })))
        }
    }
}

/// True when the model can be held to a schema.
pub(super) fn takes_schema(id: &str) -> bool {
    generation(id) >= TAKES_SCHEMA_FROM
}

/// True when a turn of tool calls must begin with thinking for thinking to be allowed at all.
pub(super) fn demands_thinking_first(id: &str) -> bool {
    manner(id) == ThinkingManner::Budget
}

fn budget(level: ThinkingLevel, output_limit: u64) -> Option<Value> {
    const LEAST: u64 = 1024;
    let wanted = match level {
        ThinkingLevel::Off => return None,
        ThinkingLevel::Minimal => LEAST,
        ThinkingLevel::Low => 4096,
        ThinkingLevel::Medium => 10_240,
        ThinkingLevel::High => 20_480,
        ThinkingLevel::Xhigh => 32_768,
    };
    // Thinking counts against the output, and some of it must be left for the answer.
    let room = output_limit.saturating_sub(LEAST);
    let tokens = wanted.min(room);
    (tokens >= LEAST).then(|| json!({"type": "enabled", "budget_tokens": tokens}))
}

fn effort(id: &str, generation: Generation, level: ThinkingLevel) -> &'static str {
    match level {
        ThinkingLevel::Off | ThinkingLevel::Minimal | ThinkingLevel::Low => "low",
        ThinkingLevel::Medium => "medium",
        ThinkingLevel::High => "high",
        ThinkingLevel::Xhigh if generation >= KNOWS_XHIGH_FROM => "xhigh",
        ThinkingLevel::Xhigh if id.contains("opus") => "max",
        ThinkingLevel::Xhigh => "high",
    }
}

/// Reads `claude-opus-4-6`, `claude-sonnet-5`, `claude-3-7-sonnet-20250219`. A name without a
/// number is taken for a new one.
fn generation(id: &str) -> Generation {
    let mut numbers = id
        .split(|c: char| !c.is_ascii_digit())
        .filter(|digits| matches!(digits.len(), 1 | 2))
        .filter_map(|digits| digits.parse::<u32>().ok());
    let Some(major) = numbers.next() else {
        return Generation(1000);
    };
    let minor = numbers.next().filter(|minor| *minor < 10).unwrap_or(0);
    Generation(major * 10 + minor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_generation_is_told_in_its_own_way() {
        use ThinkingLevel::{High, Off, Xhigh};
        let adaptive = |effort: &str| {
            (
                Some(json!({"type": "adaptive", "display": "summarized"})),
                Some(json!({ "effort": effort })),
            )
        };
        for (id, level, expected) in [
            ("claude-3-7-sonnet-20250219", Off, (None, None)),
            (
                "claude-haiku-4-5",
                High,
                (
                    Some(json!({"type": "enabled", "budget_tokens": 20480})),
                    None,
                ),
            ),
            (
                "claude-opus-4-5-20251101",
                Xhigh,
                (
                    Some(json!({"type": "enabled", "budget_tokens": 32768})),
                    None,
                ),
            ),
            ("claude-sonnet-4-20250514", Off, (None, None)),
            ("claude-opus-4-6", Off, (None, None)),
            ("claude-opus-4-6", Xhigh, adaptive("max")),
            ("claude-sonnet-4-6", Xhigh, adaptive("high")),
            ("claude-opus-4-8", Xhigh, adaptive("xhigh")),
            (
                "claude-sonnet-5",
                Off,
                (Some(json!({"type": "disabled"})), None),
            ),
            ("claude-sonnet-5-5", High, adaptive("high")),
            ("claude-opus-5-5", Off, adaptive("low")),
            ("claude-fable-5-1", Off, adaptive("low")),
        ] {
            assert_eq!(fields(id, level, 64_000), expected, "{id} {level}");
        }
    }

    #[test]
    fn a_budget_leaves_room_for_the_answer_or_is_left_out() {
        let tokens = |limit| {
            let (thinking, _) = fields("claude-haiku-4-5", ThinkingLevel::High, limit);
            thinking.map(|thinking| thinking["budget_tokens"].as_u64().unwrap())
        };
        assert_eq!(tokens(64_000), Some(20_480));
        assert_eq!(tokens(8192), Some(7168));
        assert_eq!(tokens(1500), None);
    }
}
