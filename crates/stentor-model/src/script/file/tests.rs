use serde_json::json;
use stentor_agent::model::{InputKind, ModelErrorKind, ThinkingLevel};
use stentor_journal::message::StopReason;
use stentor_journal::usage::{Prices, Usage};

use super::*;
use crate::script::{
    Condition, ErrorStep, Exhausted, ModelFacts, Pattern, ScriptStep, ScriptTurn,
    ScriptedCompaction, ScriptedText, Speech, UsageRule,
};

const FULL: &str = r#"
on_exhausted = "repeat-last"
usage = "estimate"

[model]
name = "Small"
context_window = 1000
max_tokens = 100
reasoning = false
input = ["text"]
prices = { input = 3, output = 15.5 }
thinking_levels = ["off", "high"]

[compaction]
summary = "S"
wait_ms = 5
error = "server"
error_times = 1

[[turn]]
text = "hello"
chunk_chars = 2

[[turn]]
when = { last_user_matches = "^fix", tool_failed = true }
times = 2
response_id = "r-{{n}}"
stop = "length"
refused = true
usage = { input = 10, output = 7, cache_write_5m = 1, cache_write_1h = 2, reasoning = 3 }

[[turn.step]]
thinking = ["hm", "m"]
signature = "sig"

[[turn.step]]
text = "x"
repeat = 200000
chunk_wait_ms = 1

[[turn.step]]
tool = "bash"
arguments = { command = "ls" }

[[turn.step]]
error = { kind = "rate_limited", retry_after_ms = 30 }
"#;

fn full() -> Scenario {
    Scenario {
        model: ModelFacts {
            id: None,
            name: Some("Small".into()),
            context_window: 1000,
            max_tokens: 100,
            reasoning: false,
            input: vec![InputKind::Text],
            prices: Prices {
                input: 3.0,
                output: 15.5,
                ..Prices::default()
            },
            thinking_levels: vec![ThinkingLevel::Off, ThinkingLevel::High],
        },
        usage: UsageRule::Estimate,
        on_exhausted: Exhausted::RepeatLast,
        compaction: ScriptedCompaction {
            summary: Some("S".into()),
            wait_ms: 5,
            error: Some(ErrorStep::new(ModelErrorKind::Server)),
            error_times: Some(1),
            ..ScriptedCompaction::default()
        },
        turns: vec![
            ScriptTurn::new().step(ScriptStep::Text(Speech::new(ScriptedText::Cut {
                text: "hello".into(),
                chars: 2,
            }))),
            ScriptTurn {
                response_id: Some("r-{{n}}".into()),
                refused: true,
                ..ScriptTurn::new()
            }
            .when(Condition {
                last_user: Some(Pattern::Matches(regex::Regex::new("^fix").unwrap())),
                tool_failed: Some(true),
                ..Condition::default()
            })
            .times(2)
            .stop(StopReason::Length)
            .usage(Usage {
                input: 10,
                output: 7,
                cache_write: 3,
                cache_write_5m: Some(1),
                cache_write_1h: Some(2),
                reasoning: Some(3),
                ..Usage::default()
            })
            .step(ScriptStep::Thinking {
                speech: Speech::new(ScriptedText::Chunks(vec!["hm".into(), "m".into()])),
                signature: Some("sig".into()),
            })
            .step(ScriptStep::Text(Speech {
                chunk_wait_ms: 1,
                ..Speech::new(ScriptedText::Repeat {
                    text: "x".into(),
                    times: 200_000,
                })
            }))
            .tool("bash", json!({"command": "ls"}))
            .step(ScriptStep::Error(ErrorStep {
                retry_after_ms: Some(30),
                ..ErrorStep::new(ModelErrorKind::RateLimited)
            })),
        ],
    }
}

#[test]
fn a_file_parses_into_what_the_builder_builds() {
    assert_eq!(parse(FULL, ScriptFormat::Toml, "f").unwrap(), full());
}

#[test]
fn json_says_the_same_as_toml() {
    let value: serde_json::Value = toml::from_str(FULL).unwrap();
    let text = serde_json::to_string_pretty(&value).unwrap();
    assert_eq!(parse(&text, ScriptFormat::Json, "f").unwrap(), full());
    let plural = r#"{"turns": [{"steps": [{"text": "a"}]}]}"#;
    let scenario = parse(plural, ScriptFormat::Json, "f").unwrap();
    assert_eq!(scenario, Scenario::new().text("a"));
}

#[test]
fn an_empty_file_is_a_scenario_without_turns() {
    assert_eq!(parse("", ScriptFormat::Toml, "f").unwrap(), Scenario::new());
    assert_eq!(
        parse("{}", ScriptFormat::Json, "f").unwrap(),
        Scenario::new()
    );
}

#[test]
fn every_kind_of_error_has_its_word() {
    use ModelErrorKind as Kind;
    for (word, kind) in [
        ("overloaded", Kind::Overloaded),
        ("rate_limited", Kind::RateLimited),
        ("server", Kind::Server),
        ("network", Kind::Network),
        ("broken_stream", Kind::BrokenStream),
        ("silence", Kind::Silence),
        ("answer_too_long", Kind::AnswerTooLong),
        ("auth", Kind::Auth),
        ("quota", Kind::Quota),
        ("context_overflow", Kind::ContextOverflow),
        ("invalid_request", Kind::InvalidRequest),
        ("unknown_model", Kind::UnknownModel),
        ("other", Kind::Other),
    ] {
        let scenario = parse(
            &format!("turn = [{{ error = '{word}' }}]"),
            ScriptFormat::Toml,
            "f",
        );
        assert_eq!(scenario.unwrap(), Scenario::new().error(kind), "{word}");
    }
}

#[test]
fn a_wrong_key_or_value_is_told_with_file_line_and_nearest_name() {
    for (text, expected) in [
        (
            "[[turn]]\ntxt = 'a'",
            "s.toml:2: unknown key `txt`: did you mean `text`?",
        ),
        (
            "\n\n[modle]\n",
            "s.toml:3: unknown key `modle`: did you mean `model`?",
        ),
        (
            "on_exhausted = 'repeat_last'",
            "s.toml:1: unknown value `repeat_last`: did you mean `repeat-last`?",
        ),
        (
            "[[turn]]\n\n[[turn.step]]\nerror = 'overload'",
            "s.toml:4: unknown value `overload`: did you mean `overloaded`?",
        ),
        (
            "[[turn]]\nerror = { kind = 'auth',\n retry_after = 3 }",
            "s.toml:3: unknown key `retry_after`: did you mean `retry_after_ms`?",
        ),
        (
            "[[turn]]\nwhen = { last_user_contain = 'x' }",
            "s.toml:2: unknown key `last_user_contain`: did you mean `last_user_contains`?",
        ),
        (
            "[[turn]]\nwhen = { last_role = 'zebra' }",
            "s.toml:2: unknown value `zebra`: use one of user, assistant, tool_result",
        ),
        (
            "[[turn]]\ntext = 3",
            "s.toml:2: invalid type: integer `3`, expected a text or a list of texts",
        ),
        (
            "[[turn]]\ntimes = 0",
            "s.toml:2: invalid value: integer `0`, expected a nonzero u32",
        ),
        (
            "[[turn]]\nwait_ms = -1",
            "s.toml:2: invalid value: integer `-1`, expected u64",
        ),
        (
            "[model]\nthinking_levels = ['hihg']",
            "s.toml:2: unknown value `hihg`: did you mean `high`?",
        ),
        (
            "[[turn]]\nusage = { input = 1, cache_write = 1, cache_write_1h = 2 }",
            "s.toml:2: `cache_write_5m` and `cache_write_1h` add up to 2, more than `cache_write` (1)",
        ),
        (
            "[[turn]]\nsteps = [\n { text = 'a' },\n { text = 'a', tool = 'bash' },\n]",
            "s.toml:4: `tool` cannot be combined with `text`: a step does one thing",
        ),
        (
            "[[turn]]\nsteps = [ { tool = 'bash', signature = 'x' } ]",
            "s.toml:2: `signature` cannot be combined with `tool`: a step does one thing",
        ),
        (
            "[[turn]]\nsteps = [ { repeat = 3 } ]",
            "s.toml:2: a step needs one of `text`, `thinking`, `redacted_thinking`, `tool`, `wait_ms`, `wait_for`, `usage`, `error`, `hang`, `end_block`",
        ),
        (
            "[[turn]]\ntext = ['a', 'b']\nrepeat = 2",
            "s.toml:1: a list of texts already sets how it is split: leave out `chunk_chars` and `repeat`",
        ),
        (
            "\n[[turn]]\ntext = 'a'\n[[turn.step]]\ntext = 'b'",
            "s.toml:2: a turn has either `step`s or the short form (`wait_ms`, `thinking`, `text`, `tool`, `error`), not both",
        ),
        (
            "[[turn]]\nwhen = {}",
            "s.toml:2: `when` needs a condition, for example `last_user_contains`",
        ),
        (
            "[[turn]]\nwhen = { tool = 'bash', last_user_contains = 'a', last_user_matches = 'b' }",
            "s.toml:2: use `last_user_contains` or `last_user_matches`, not both",
        ),
    ] {
        let error = parse(text, ScriptFormat::Toml, "s.toml").unwrap_err();
        assert_eq!(error.to_string(), expected, "{text}");
    }
    let json = "{\n \"turns\": [\n  {\"txt\": 1}]}";
    assert_eq!(
        parse(json, ScriptFormat::Json, "s.json")
            .unwrap_err()
            .to_string(),
        "s.json:3: unknown key `txt`: did you mean `text`?"
    );
    let bad_regex = "[[turn]]\nwhen = { last_user_matches = '(' }";
    let error = parse(bad_regex, ScriptFormat::Toml, "s.toml").unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("s.toml:2: `last_user_matches` is not a regular expression")
    );
    for broken in ["[[turn]", "a = ", "= 3", "\u{0}"] {
        assert!(matches!(
            parse(broken, ScriptFormat::Toml, "s"),
            Err(ScriptError::Invalid { line: 1, .. })
        ));
    }
}

#[test]
fn a_file_that_cannot_be_used_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("good.TOML"), FULL).unwrap();
    std::fs::write(path("a.yaml"), "").unwrap();
    std::fs::write(path("bytes.toml"), [0xff, 0xfe]).unwrap();
    assert_eq!(load(&path("good.TOML")).unwrap(), full());
    assert!(matches!(
        load(&path("a.yaml")),
        Err(ScriptError::UnknownFormat { .. })
    ));
    for name in ["bytes.toml", "missing.toml"] {
        let error = load(&path(name)).unwrap_err();
        assert!(error.to_string().contains(name), "{error}");
    }
}

proptest::proptest! {
    #[test]
    fn no_text_makes_the_reader_panic(text in "[\\[\\]{}=\"'a-z_ \n0-9,.-]{0,80}") {
        let _ = parse(&text, ScriptFormat::Toml, "f");
        let _ = parse(&text, ScriptFormat::Json, "f");
    }
}

#[test]
fn the_example_of_the_documentation_is_a_scenario() {
    let page = include_str!("../../../../../docs/scenarios.md");
    let blocks: Vec<&str> = page.split("```").skip(1).step_by(2).collect();
    assert!(blocks.iter().any(|block| block.starts_with("toml")));
    for block in blocks {
        if let Some(text) = block.strip_prefix("toml\n") {
            parse(text, ScriptFormat::Toml, "docs").unwrap();
        } else if let Some(text) = block.strip_prefix("json\n") {
            parse(text, ScriptFormat::Json, "docs").unwrap();
        }
    }
}
