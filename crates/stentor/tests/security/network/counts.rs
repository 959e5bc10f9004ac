//! Whatever numbers a provider counts, the program goes on.

use serde_json::{Value, json};
use stentor_test_support::http;

use super::provider::{Answer, Provider, delta};
use crate::dialects::{self, ALL};

/// An answer with this usage.
fn counting(usage: &Value) -> Provider {
    let end = json!({ "choices": [{ "delta": {}, "finish_reason": "stop" }], "usage": usage });
    let head = http::EVENTS;
    let bytes = format!("{head}{}data: {end}\n\ndata: [DONE]\n\n", delta("Counted."));
    Provider::answering(Answer::Bytes(bytes.into_bytes()))
}

#[test]
fn counts_beyond_all_measure_cost_no_answer_in_any_dialect() {
    let most = u64::MAX;
    for usage in [
        json!({ "prompt_tokens": most, "completion_tokens": most, "total_tokens": most,
            "completion_tokens_details": { "reasoning_tokens": most } }),
        json!({ "prompt_tokens": 1, "completion_tokens": most,
            "prompt_tokens_details": { "cached_tokens": most, "cache_write_tokens": most } }),
    ] {
        for dialect in ALL {
            let world = counting(&usage).world("");
            let said = dialects::prompt(&world, dialect);
            assert!(said.contains("Counted."), "{dialect}: {usage}: {said}");
            assert!(
                !said.contains("internal error"),
                "{dialect}: {usage}: {said}"
            );
        }
    }
}

#[test]
fn a_session_with_such_counts_goes_on_and_is_exported_and_summed_up() {
    let most = u64::MAX;
    let usage = json!({ "prompt_tokens": most, "completion_tokens": most });
    let world = counting(&usage).world("");
    world.asked(&["-p", "one"]);
    let said = world.asked(&["-p", "two", "--continue", "--verbose"]);
    assert_eq!(said.trim_end(), "Counted.");
    for words in [&["usage"][..], &["sessions", "--json"], &["export", "last"]] {
        let out = world.command(words).output().unwrap();
        let err = String::from_utf8_lossy(&out.stderr);
        assert!(!err.contains("panicked"), "{words:?}: {err}");
    }
}
