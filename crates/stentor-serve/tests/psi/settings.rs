//! Section 9.6: models, thinking, compaction, switches.

use expect_test::expect;

use super::client::{Client, shows};
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
fn section_9_6_each_setting_and_what_is_wrong_with_it() {
    let mut client = Client::ready(World::new(&[OK, THINKER, LOCKED]));
    let seen = client.table(&[
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
    ]);
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
fn section_9_6_a_change_is_told_before_its_answer() {
    let mut client = Client::ready(World::new(&[OK, THINKER]));
    let seen = client.script(&[
        ("set_model", r#"{:provider "script" :model-id "thinker"}"#),
        ("set_thinking_level", r#"{:level "high"}"#),
        ("cycle_thinking_level", "{}"),
        ("set_auto_compaction", "{:enabled true}"),
        ("set_auto_retry", "{:enabled false}"),
    ]);
    expect![[r#"
        set_model {:provider "script" :model-id "thinker"}
            {:kind :event :event "session/updated" :data {… :model-id "thinker" :model-reasoning true :header-model-label "(script) thinker • thinking off"} :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {… :stats-line "?/200k (script) thinker • thinking off" :model-text "(script) thinker • thinking off"} :seq N :ts "TIME"}
            {:id "x" :kind :response :op "set_model" :ok true :data {:model {:provider "script" :id "thinker"}}}
        set_thinking_level {:level "high"}
            {:kind :event :event "session/updated" :data {… :thinking-level "high" :effective-reasoning-effort "high" :header-model-label "(script) thinker • thinking high"} :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {… :stats-line "?/200k (script) thinker • thinking high" :model-text "(script) thinker • thinking high"} :seq N :ts "TIME"}
            {:id "x" :kind :response :op "set_thinking_level" :ok true :data {:thinking-level :high}}
        cycle_thinking_level {}
            {:kind :event :event "session/updated" :data {… :thinking-level "off" :effective-reasoning-effort nil :header-model-label "(script) thinker • thinking off"} :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {… :stats-line "?/200k (script) thinker • thinking off" :model-text "(script) thinker • thinking off"} :seq N :ts "TIME"}
            {:id "x" :kind :response :op "cycle_thinking_level" :ok true :data {:thinking-level :off}}
        set_auto_compaction {:enabled true}
            {:kind :event :event "session/updated" :data {…} :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {… :stats-line "?/200k (auto) (script) thinker • thinking off" :usage-parts ["?/200k (auto)"]} :seq N :ts "TIME"}
            {:id "x" :kind :response :op "set_auto_compaction" :ok true :data {:enabled true}}
        set_auto_retry {:enabled false}
            {:id "x" :kind :response :op "set_auto_retry" :ok true :data {:enabled false}}
    "#]].assert_eq(&seen);
}

#[test]
fn section_9_6_cycling_goes_through_the_scoped_models_both_ways() {
    let mut world = World::new(&[OK, THINKER]);
    world.scoped = true;
    let mut client = Client::ready(world);
    let seen = client.table(&[
        ("cycle_model", "{}"),
        ("cycle_model", "{}"),
        ("cycle_model", r#"{:direction "prev"}"#),
        ("cycle_model", r#"{:direction "sideways"}"#),
    ]);
    expect![[r#"
        cycle_model {}
            {:id "x" :kind :response :op "cycle_model" :ok true :data {:model {:provider "script" :id "thinker"}}}
        cycle_model {}
            {:id "x" :kind :response :op "cycle_model" :ok true :data {:model {:provider "script" :id "m-1"}}}
        cycle_model {:direction "prev"}
            {:id "x" :kind :response :op "cycle_model" :ok true :data {:model {:provider "script" :id "thinker"}}}
        cycle_model {:direction "sideways"}
            {:id "x" :kind :response :op "cycle_model" :ok true :data {:model {:provider "script" :id "m-1"}}}
    "#]].assert_eq(&seen);
    let scoped = r#"{:query "[:psi.agent-session/scoped-models]"}"#;
    expect![[r#"{:id "x" :kind :response :op "query_eql" :ok true :data {:result {:psi.agent-session/scoped-models [{:provider "script" :id "m-1"} {:provider "script" :id "thinker"}]}}}"#]].assert_eq(&client.answer("query_eql", scoped));
}

#[test]
fn section_9_6_compaction_summarises_and_is_honoured_by_get_messages() {
    let mut client = Client::ready(World::new(&[OK]));
    for n in 0..3 {
        client.run(&format!("message {n}"));
    }
    let mut seen = client.request("c", "compact", r#"{:custom-instructions "short"}"#);
    seen.push(client.answer("get_messages", "{}"));
    seen.push(client.answer("compact", "{}"));
    shows(
        &seen,
        &expect![[r#"
        {:kind :event :event "session/updated" :data {… :phase "compacting" :is-compacting true :status-session-line "session: S1 phase:compacting streaming:no compacting:yes pending:0 retry:0"} :seq N :ts "TIME"}
        {:kind :event :event "session/updated" :data {… :phase "idle" :is-compacting false :status-session-line "session: S1 phase:idle streaming:no compacting:no pending:0 retry:0"} :seq N :ts "TIME"}
        {:kind :event :event "footer/updated" :data {…} :seq N :ts "TIME"}
        {:kind :event :event "session/updated" :data {…} :seq N :ts "TIME"}
        {:kind :event :event "footer/updated" :data {…} :seq N :ts "TIME"}
        {:id "c" :kind :response :op "compact" :ok true :data {:compacted true :summary {:summary "Summary of 1 earlier messages. The user asked:\n- <conversation>" :first-kept-entry-id "E1" :tokens-before 26 :tokens-after 27}}}
        {:id "x" :kind :response :op "get_messages" :ok true :data {:messages [{:role "user" :content "Summary of 1 earlier messages. The user asked:\n- <conversation>" :timestamp "TIME"} {:role "user" :content [{:type :text :text "message 2"}] :timestamp "TIME"} {:role "assistant" :content [{:type :text :text "The scenario has no more turns."}] :stop-reason :stop :timestamp "TIME"}]}}
        {:id "x" :kind :response :op "compact" :ok true :data {:compacted false :summary nil}}"#]],
    );
}

#[test]
fn section_9_2_state_and_statistics() {
    let script = r#"
usage = { input = 800, output = 30 }
[model]
id = "m-1"
prices = { input = 1.0, output = 10.0 }
[[turn]]
steps = [ { tool = "bash", id = "t1", arguments = { command = "true" } } ]
[[turn]]
steps = [ { text = "done" } ]
"#;
    let mut client = Client::ready(World::new(&[script]));
    client.run("go");
    let seen = client.table(&[
        ("get_state", "{}"),
        ("get_session_stats", "{}"),
        ("list_sessions", "{}"),
        ("get_messages", "{}"),
    ]);
    expect![[r#"
        get_state {}
            {:id "x" :kind :response :op "get_state" :ok true :data {:state {:session-id "S1" :session-file "FILE" :session-name nil :worktree-path "ROOT/home/work" :parent-session-id nil :parent-session-path nil :model {:provider "script" :id "m-1"} :thinking-level :medium :is-streaming false :is-compacting false :interrupt-pending false :steering-messages [] :follow-up-messages [] :retry-attempt 0 :auto-retry-enabled true :auto-compaction-enabled false :scoped-models [] :context-tokens 830 :context-window 200000 :phase :idle :message-count 4 :ui-type :emacs :skills [] :prompt-templates []}}}
        get_session_stats {}
            {:id "x" :kind :response :op "get_session_stats" :ok true :data {:stats {:phase :idle :session-id "S1" :is-idle true :is-streaming false :is-compacting false :is-retrying false :model {:provider "script" :id "m-1"} :thinking-level :medium :pending-messages 0 :retry-attempt 0 :auto-retry-enabled true :auto-compaction-enabled false :context-fraction 0.00415 :agent-diagnostics {:user-messages 1 :assistant-messages 2 :tool-calls 1 :tool-results 1 :total-messages 4 :model-calls 2 :input-tokens 1600 :output-tokens 60 :cache-read-tokens 0 :cache-write-tokens 0 :total-tokens 1660 :cost 0.0021999999999999997} :extension-count 0 :workflow-count 0 :workflow-running-count 0 :journal-entries 6}}}
        list_sessions {}
            {:id "x" :kind :response :op "list_sessions" :ok true :data {:active-session-id "S1" :sessions [{:session-id "S1" :session-file "FILE" :session-name nil :display-name "go" :worktree-path "ROOT/home/work" :parent-session-id nil :parent-session-path nil :created-at "TIME" :updated-at "TIME"}]}}
        get_messages {}
            {:id "x" :kind :response :op "get_messages" :ok true :data {:messages [{:role "user" :content [{:type :text :text "go"}] :timestamp "TIME"} {:role "assistant" :content [{:type :tool-call :id "t1" :name "bash" :arguments "{\"command\":\"true\"}"}] :stop-reason :tool-use :usage {:input-tokens 800 :output-tokens 30 :cache-read-tokens 0 :cache-write-tokens 0 :total-tokens 830 :cost {:input 0.0007999999999999999 :output 0.00030000000000000003 :cache-read 0.0 :cache-write 0.0 :total 0.0010999999999999998}} :timestamp "TIME"} {:role "toolResult" :content [{:type :text :text "(no output)"}] :tool-call-id "t1" :tool-name "bash" :is-error false :details nil :result-text "(no output)" :timestamp "TIME"} {:role "assistant" :content [{:type :text :text "done"}] :stop-reason :stop :usage {:input-tokens 800 :output-tokens 30 :cache-read-tokens 0 :cache-write-tokens 0 :total-tokens 830 :cost {:input 0.0007999999999999999 :output 0.00030000000000000003 :cache-read 0.0 :cache-write 0.0 :total 0.0010999999999999998}} :timestamp "TIME"}]}}
    "#]].assert_eq(&seen);
}
