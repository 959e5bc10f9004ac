//! What can be wrong with keys of a scenario file that are right one by one.

/// Why a table means nothing.
#[derive(Debug, thiserror::Error)]
pub enum Mistake {
    #[error("`arguments` need a `tool`")]
    ArgumentsWithoutTool,
    #[error("`chunk_chars` and `repeat` need a `text`")]
    CutsNothing,
    #[error(
        "a turn has either `step`s or the short form (`wait_ms`, `thinking`, `text`, `tool`, `error`), not both"
    )]
    StepsAndShortForm,
    #[error("`{key}` cannot be combined with {step}: a step does one thing")]
    SecondThing {
        key: &'static str,
        step: &'static str,
    },
    #[error(
        "a step needs one of `text`, `thinking`, `redacted_thinking`, `tool`, `wait_ms`, `wait_for`, `usage`, `error`, `hang`, `end_block`"
    )]
    EmptyStep,
    #[error("a tool call has `arguments` or `arguments_json`, not both")]
    TwoArguments,
    #[error("`when` needs a condition, for example `last_user_contains`")]
    EmptyCondition,
    #[error("`{what}_matches` is not a regular expression: {error}")]
    NoExpression {
        what: &'static str,
        error: regex::Error,
    },
    #[error("use `{0}_contains` or `{0}_matches`, not both")]
    TwoPatterns(&'static str),
    #[error("use `chunk_chars` or `repeat`, not both")]
    CutAndRepeated,
    #[error("a list of texts already sets how it is split: leave out `chunk_chars` and `repeat`")]
    CutTwice,
    #[error(
        "`cache_write_5m` and `cache_write_1h` add up to {parts}, more than `cache_write` ({whole})"
    )]
    CacheParts { parts: u64, whole: u64 },
    #[error("`reasoning` is a part of `output` and cannot be more")]
    MoreReasoningThanOutput,
}
