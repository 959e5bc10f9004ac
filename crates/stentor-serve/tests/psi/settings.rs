//! Section 9.6: models, thinking, compaction, switches.

use expect_test::expect;

use super::client::Client;
use super::world::{OK, World};

const THINKER: &str = r#"
[model]
id = "thinker"
reasoning = true
thinking_levels = ["off", "low", "high"]
[[turn]]
steps = [ { text = "hm" } ]
"#;
const LOCKED: &str = "[model]\nid = \"locked\"\n";

#[test]
fn each_setting_and_what_is_wrong_with_it() {
    let mut client = Client::ready(World::new(&[OK, THINKER, LOCKED]));
    let mut seen = String::new();
    for (op, params) in [
        ("set_model", "{}"),
        ("set_model", r#"{:provider 3 :model-id "m-1"}"#),
        ("set_model", r#"{:provider "script" :model-id " "}"#),
        (
            "set_model",
            r#"{:provider "script" :model-id "m-1" :scope "galaxy"}"#,
        ),
        ("set_model", r#"{:provider "script" :model-id "nope"}"#),
        ("set_model", r#"{:provider "script" :model-id "locked"}"#),
        ("set_thinking_level", r#"{:level :high}"#),
        ("cycle_thinking_level", "{}"),
        ("cycle_model", "{}"),
        (
            "set_model",
            r#"{:provider :script :model-id "thinker" :scope "session"}"#,
        ),
        ("set_thinking_level", "{}"),
        ("set_thinking_level", r#"{:level "loud"}"#),
        ("set_thinking_level", r#"{:level 4}"#),
        ("cycle_thinking_level", "{}"),
        ("cycle_thinking_level", "{}"),
        ("set_auto_compaction", r#"{:enabled nil}"#),
        ("set_auto_compaction", r#"{:enabled true}"#),
        ("set_auto_retry", r#"{:enabled "yes"}"#),
        ("set_auto_retry", r#"{:enabled false}"#),
        ("compact", r#"{:custom-instructions 3}"#),
        ("compact", "{}"),
    ] {
        seen.push_str(&format!(
            "{op} {params}\n    {}\n",
            client.answer(op, params)
        ));
    }
    expect![[r#"
        set_model {}
            {:kind :error :error-code "request/invalid-params" :error-message ":provider is missing" :id "x" :op "set_model"}
        set_model {:provider 3 :model-id "m-1"}
            {:kind :error :error-code "request/invalid-params" :error-message ":provider must be a string or a keyword, found an integer" :id "x" :op "set_model"}
        set_model {:provider "script" :model-id " "}
            {:kind :error :error-code "request/invalid-params" :error-message ":model-id must not be blank" :id "x" :op "set_model"}
        set_model {:provider "script" :model-id "m-1" :scope "galaxy"}
            {:kind :error :error-code "request/invalid-params" :error-message ":scope must be one of session, project, user, not \"galaxy\"" :id "x" :op "set_model"}
        set_model {:provider "script" :model-id "nope"}
            {:kind :error :error-code "request/unknown-model" :error-message "Model not found: script/nope" :id "x" :op "set_model"}
        set_model {:provider "script" :model-id "locked"}
            {:kind :error :error-code "request/unsupported-model" :error-message "no key for script/locked" :id "x" :op "set_model"}
        set_thinking_level {:level :high}
            {:id "x" :kind :response :op "set_thinking_level" :ok true :data {:thinking-level :off}}
        cycle_thinking_level {}
            {:id "x" :kind :response :op "cycle_thinking_level" :ok true :data {:thinking-level :off}}
        cycle_model {}
            {:id "x" :kind :response :op "cycle_model" :ok true :data {:model {:provider "script" :id "m-1"}}}
        set_model {:provider :script :model-id "thinker" :scope "session"}
            {:id "x" :kind :response :op "set_model" :ok true :data {:model {:provider "script" :id "thinker"}}}
        set_thinking_level {}
            {:kind :error :error-code "request/invalid-params" :error-message ":level is missing" :id "x" :op "set_thinking_level"}
        set_thinking_level {:level "loud"}
            {:kind :error :error-code "request/invalid-params" :error-message ":level must be one of off, minimal, low, medium, high, xhigh" :id "x" :op "set_thinking_level"}
        set_thinking_level {:level 4}
            {:id "x" :kind :response :op "set_thinking_level" :ok true :data {:thinking-level :high}}
        cycle_thinking_level {}
            {:id "x" :kind :response :op "cycle_thinking_level" :ok true :data {:thinking-level :off}}
        cycle_thinking_level {}
            {:id "x" :kind :response :op "cycle_thinking_level" :ok true :data {:thinking-level :low}}
        set_auto_compaction {:enabled nil}
            {:kind :error :error-code "request/invalid-params" :error-message ":enabled must be true or false, found nil" :id "x" :op "set_auto_compaction"}
        set_auto_compaction {:enabled true}
            {:id "x" :kind :response :op "set_auto_compaction" :ok true :data {:enabled true}}
        set_auto_retry {:enabled "yes"}
            {:kind :error :error-code "request/invalid-params" :error-message ":enabled must be true or false, found a string" :id "x" :op "set_auto_retry"}
        set_auto_retry {:enabled false}
            {:id "x" :kind :response :op "set_auto_retry" :ok true :data {:enabled false}}
        compact {:custom-instructions 3}
            {:kind :error :error-code "request/invalid-params" :error-message ":custom-instructions must be a string, found an integer" :id "x" :op "compact"}
        compact {}
            {:id "x" :kind :response :op "compact" :ok true :data {:compacted false :summary nil}}
    "#]].assert_eq(&seen);
}

#[test]
fn a_change_is_told_before_its_answer() {
    let mut client = Client::ready(World::new(&[OK, THINKER]));
    let seen = client.request(
        "m",
        "set_model",
        r#"{:provider "script" :model-id "thinker"}"#,
    );
    assert!(
        seen[0].contains(r#":header-model-label "(script) thinker • thinking off""#),
        "{}",
        seen[0]
    );
    assert!(
        seen.last()
            .unwrap()
            .contains(":model {:provider \"script\" :id \"thinker\"}")
    );
}

#[test]
fn cycling_goes_through_the_scoped_models_both_ways() {
    let mut world = World::new(&[OK, THINKER]);
    world.scoped = true;
    let mut client = Client::ready(world);
    for (params, expected) in [
        ("{}", "thinker"),
        ("{}", "m-1"),
        (r#"{:direction "prev"}"#, "thinker"),
        (r#"{:direction "sideways"}"#, "m-1"),
    ] {
        let answer = client.answer("cycle_model", params);
        assert!(
            answer.contains(&format!(":id {expected:?}")),
            "{params}: {answer}"
        );
    }
}

#[test]
fn compaction_summarises_and_is_honoured_by_get_messages() {
    let mut client = Client::ready(World::new(&[OK]));
    for n in 0..3 {
        client.run(&format!("message {n}"));
    }
    let answer = client.answer("compact", r#"{:custom-instructions "short"}"#);
    assert!(
        answer.contains(":compacted true :summary {:summary \""),
        "{answer}"
    );
    let messages = client.answer("get_messages", "{}");
    assert!(
        messages.contains(":messages [{:role \"user\" :content \"Summary of"),
        "{messages}"
    );
}
