//! Section 9.3: prompting, steering, stopping.

use expect_test::expect;

use super::client::{Client, shows};
use super::world::{OK, World};

/// Thinks, calls a tool that waits for a gate, then answers.
const GATED: &str = r#"
[model]
id = "m-1"
[[turn]]
steps = [
  { thinking = "hm" },
  { text = "Waiting." },
  { tool = "bash", id = "t1", arguments = { command = "read x < gate; echo $x" } },
]
[[turn]]
steps = [ { text = "Done." } ]
[[turn]]
steps = [ { text = "More." } ]
"#;

fn gated() -> Client {
    Client::ready(World::new(&[GATED])).with_gate()
}

/// A run that waits at the gate.
fn waiting() -> Client {
    let mut client = gated();
    client.request("p", "prompt", r#"{:message "go"}"#);
    client.until(&["tool/executing"]);
    client.wait_at_gate();
    client
}

#[test]
fn section_9_3_a_run_in_order_with_one_final_message() {
    let mut client = gated();
    let mut seen = client.request("p", "prompt", r#"{:message "go"}"#);
    seen.extend(client.until(&["tool/executing"]));
    client.open_gate();
    seen.extend(client.until_idle());
    shows(
        &seen,
        &expect![[r#"
            {:id "p" :kind :response :op "prompt" :ok true :data {:accepted true}}
            {:kind :event :event "session/updated" :data {… :session-display-name "go" :phase "streaming" :is-streaming true :status-session-line "session: S1 phase:streaming streaming:yes compacting:no pending:0 retry:0"} :id "p" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {… :path-line "~/work • go" :stats-line STATS :usage-parts STATS} :id "p" :seq N :ts "TIME"}
            {:kind :event :event "assistant/thinking-delta" :data {:session-id "S1" :text "hm"} :id "p" :seq N :ts "TIME"}
            {:kind :event :event "assistant/delta" :data {:session-id "S1" :text "Waiting."} :id "p" :seq N :ts "TIME"}
            {:kind :event :event "tool/start" :data {:session-id "S1" :tool-id "t1" :tool-name "bash" :call-summary "$ read x < gate; echo $x"} :id "p" :seq N :ts "TIME"}
            {:kind :event :event "tool/executing" :data {:session-id "S1" :tool-id "t1" :tool-name "bash" :call-summary "$ read x < gate; echo $x" :arguments "{\"command\":\"read x < gate; echo $x\"}" :parsed-args {"command" "read x < gate; echo $x"}} :id "p" :seq N :ts "TIME"}
            {:kind :event :event "tool/update" :data {:session-id "S1" :tool-id "t1" :tool-name "bash" :call-summary "$ read x < gate; echo $x" :content [{:type :text :text "go\n"}] :result-text "go\n" :details {} :is-error false} :id "p" :seq N :ts "TIME"}
            {:kind :event :event "tool/result" :data {:session-id "S1" :tool-id "t1" :tool-name "bash" :call-summary "$ read x < gate; echo $x" :content [{:type :text :text "go\n"}] :result-text "go\n" :details nil :is-error false} :id "p" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {…} :id "p" :seq N :ts "TIME"}
            {:kind :event :event "assistant/delta" :data {:session-id "S1" :text "Done."} :id "p" :seq N :ts "TIME"}
            {:kind :event :event "assistant/message" :data {:session-id "S1" :role "assistant" :content [{:type :text :text "Done."}] :text "Done." :stop-reason :stop} :id "p" :seq N :ts "TIME"}
            {:kind :event :event "session/updated" :data {… :phase "idle" :is-streaming false :status-session-line "session: S1 phase:idle streaming:no compacting:no pending:0 retry:0"} :id "p" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {… :stats-line "?/200k (script) m-1 • thinking medium" :usage-parts ["?/200k"]} :id "p" :seq N :ts "TIME"}"#]],
    );
}

#[test]
fn section_9_3_a_prompt_needs_a_message_a_session_and_an_idle_session() {
    let mut client = waiting();
    let seen = client.table(&[
        ("prompt", "{}"),
        ("prompt", "{:message 3}"),
        ("prompt", r#"{:message "  "}"#),
        ("prompt", r#"{:message "x" :images 3}"#),
        (
            "prompt",
            r#"{:message "x" :images [{:type :image :mime-type "image/png"}]}"#,
        ),
        (
            "prompt",
            r#"{:message "x" :images [{:type :image :mime-type "text/html" :data "AAAA"}]}"#,
        ),
        (
            "prompt",
            r#"{:message "x" :images [{:type :image :mime-type "image/png" :data "no base64"}]}"#,
        ),
        ("prompt", r#"{:message "x" :session-id "nobody"}"#),
        ("prompt", r#"{:message "again"}"#),
        ("compact", "{}"),
    ]);
    expect![[r#"
        prompt {}
            {:kind :error :error-code "request/invalid-params" :error-message ":message is missing" :id "x" :op "prompt"}
        prompt {:message 3}
            {:kind :error :error-code "request/invalid-params" :error-message ":message must be a string, found an integer" :id "x" :op "prompt"}
        prompt {:message "  "}
            {:kind :error :error-code "request/invalid-params" :error-message ":message must not be blank" :id "x" :op "prompt"}
        prompt {:message "x" :images 3}
            {:kind :error :error-code "request/invalid-params" :error-message ":images must be a vector, found an integer" :id "x" :op "prompt"}
        prompt {:message "x" :images [{:type :image :mime-type "image/png"}]}
            {:kind :error :error-code "request/invalid-params" :error-message ":images must be a vector of {:type :image :mime-type \"image/…\" :data \"base64\"}" :id "x" :op "prompt"}
        prompt {:message "x" :images [{:type :image :mime-type "text/html" :data "AAAA"}]}
            {:kind :error :error-code "request/invalid-params" :error-message ":images must be a vector of {:type :image :mime-type \"image/…\" :data \"base64\"}" :id "x" :op "prompt"}
        prompt {:message "x" :images [{:type :image :mime-type "image/png" :data "no base64"}]}
            {:kind :error :error-code "request/invalid-params" :error-message ":images must be a vector of {:type :image :mime-type \"image/…\" :data \"base64\"}" :id "x" :op "prompt"}
        prompt {:message "x" :session-id "nobody"}
            {:kind :error :error-code "request/not-found" :error-message "there is no session nobody" :id "x" :op "prompt"}
        prompt {:message "again"}
            {:kind :error :error-code "request/session-not-idle" :error-message "the session is busy; steer, queue, interrupt or abort" :id "x" :op "prompt"}
        compact {}
            {:kind :error :error-code "request/session-not-idle" :error-message "the session is busy; steer, queue, interrupt or abort" :id "x" :op "compact"}
    "#]].assert_eq(&seen);
    client.stop("abort");
}

#[test]
fn section_6_others_are_answered_while_a_run_goes_on() {
    let mut client = waiting();
    // In the order they were asked, before anything else of the run.
    let seen = client.script(&[
        ("ping", "{}"),
        (
            "query_eql",
            r#"{:query "[:psi.agent-session/phase :psi.turn/text]"}"#,
        ),
        ("get_messages", "{}"),
        ("list_background_jobs", "{}"),
        ("command", r#"{:text "/status"}"#),
    ]);
    expect![[r#"
        ping {}
            {:id "x" :kind :response :op "ping" :ok true :data {:pong true :protocol-version "1.0"}}
        query_eql {:query "[:psi.agent-session/phase :psi.turn/text]"}
            {:id "x" :kind :response :op "query_eql" :ok true :data {:result {:psi.agent-session/phase :streaming :psi.turn/text "Waiting."}}}
        get_messages {}
            {:id "x" :kind :response :op "get_messages" :ok true :data {:messages [{:role "user" :content [{:type :text :text "go"}] :timestamp "TIME"} {:role "assistant" :content [{:type :thinking :text "hm"} {:type :text :text "Waiting."} {:type :tool-call :id "t1" :name "bash" :arguments "{\"command\":\"read x < gate; echo $x\"}"}] :stop-reason :tool-use :timestamp "TIME"}]}}
        list_background_jobs {}
            {:id "x" :kind :response :op "list_background_jobs" :ok true :data {:jobs []}}
        command {:text "/status"}
            {:kind :event :event "command-result" :data {:type "text" :message "Phase: streaming\nSession: S1\nModel: script/m-1\nEntries: 4\nContext: ?\nWorktree: ROOT/home/work"} :id "x" :seq N :ts "TIME"}
            {:kind :event :event "session/updated" :data {…} :id "x" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {…} :id "x" :seq N :ts "TIME"}
            {:id "x" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
    "#]].assert_eq(&seen);
    client.open_gate();
    client.until_idle();
}

#[test]
fn section_9_3_abort_ends_the_run_with_its_message_and_a_prompt_behind_it_is_served() {
    let mut client = waiting();
    client.send_request("a", "abort", "{}");
    client.send_request("q", "prompt", r#"{:message "go"}"#);
    // The answer to the abort may come before or after the end of the run; the prompt behind it
    // is answered after both.
    let mut seen = client.until_answer(Some("q"));
    let answer = r#"{:id "a" :kind :response :op "abort" :ok true :data {:accepted true}}"#;
    let before = seen.len();
    seen.retain(|frame| frame != answer);
    assert_eq!(seen.len(), before - 1, "one answer to the abort");
    seen.extend(client.until_idle());
    shows(
        &seen,
        &expect![[r#"
            {:kind :event :event "tool/result" :data {:session-id "S1" :tool-id "t1" :tool-name "bash" :call-summary "$ read x < gate; echo $x" :content [{:type :text :text "Command aborted"}] :result-text "Command aborted" :details {} :is-error true} :id "p" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {…} :id "p" :seq N :ts "TIME"}
            {:kind :event :event "assistant/message" :data {:session-id "S1" :role "assistant" :content [{:type :error :text "Aborted"}] :text "[error] Aborted" :stop-reason :aborted :error-message "Aborted"} :id "p" :seq N :ts "TIME"}
            {:kind :event :event "session/updated" :data {… :phase "idle" :is-streaming false :status-session-line "session: S1 phase:idle streaming:no compacting:no pending:0 retry:0"} :id "p" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {… :stats-line "?/200k (script) m-1 • thinking medium" :usage-parts ["?/200k"]} :id "p" :seq N :ts "TIME"}
            {:id "q" :kind :response :op "prompt" :ok true :data {:accepted true}}
            {:kind :event :event "session/updated" :data {… :phase "streaming" :is-streaming true :status-session-line "session: S1 phase:streaming streaming:yes compacting:no pending:0 retry:0"} :id "q" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {… :stats-line STATS :usage-parts STATS} :id "q" :seq N :ts "TIME"}
            {:kind :event :event "assistant/delta" :data {:session-id "S1" :text "Done."} :id "q" :seq N :ts "TIME"}
            {:kind :event :event "assistant/message" :data {:session-id "S1" :role "assistant" :content [{:type :text :text "Done."}] :text "Done." :stop-reason :stop} :id "q" :seq N :ts "TIME"}
            {:kind :event :event "session/updated" :data {… :phase "idle" :is-streaming false :status-session-line "session: S1 phase:idle streaming:no compacting:no pending:0 retry:0"} :id "q" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {… :stats-line "?/200k (script) m-1 • thinking medium" :usage-parts ["?/200k"]} :id "q" :seq N :ts "TIME"}"#]],
    );
}

#[test]
fn section_9_3_abort_is_accepted_when_nothing_runs() {
    let mut client = Client::ready(World::new(&[OK]));
    let seen = client.script(&[("abort", "{}"), ("abort_retry", "{}"), ("abort_bash", "{}")]);
    expect![[r#"
        abort {}
            {:id "x" :kind :response :op "abort" :ok true :data {:accepted true}}
        abort_retry {}
            {:id "x" :kind :response :op "abort_retry" :ok true :data {:accepted true}}
        abort_bash {}
            {:id "x" :kind :response :op "abort_bash" :ok true :data {:accepted true}}
    "#]]
    .assert_eq(&seen);
    client.run("still here");
}

#[test]
fn section_9_3_what_is_queued_during_a_run_is_counted_and_delivered() {
    let mut client = waiting();
    let seen = client.script(&[
        ("prompt_while_streaming", r#"{:message "s1"}"#),
        (
            "prompt_while_streaming",
            r#"{:message "f1" :behavior :queue}"#,
        ),
        ("steer", r#"{:message "s2"}"#),
        ("follow_up", r#"{:message "f2"}"#),
        (
            "prompt_while_streaming",
            r#"{:message "x" :behavior "shout"}"#,
        ),
        ("prompt_while_streaming", "{}"),
        ("steer", "{}"),
        ("follow_up", r#"{:message " "}"#),
    ]);
    expect![[r#"
        prompt_while_streaming {:message "s1"}
            {:kind :event :event "session/updated" :data {… :pending-message-count 1 :status-session-line "session: S1 phase:streaming streaming:yes compacting:no pending:1 retry:0"} :id "p" :seq N :ts "TIME"}
            {:id "x" :kind :response :op "prompt_while_streaming" :ok true :data {:accepted true :behavior "steer"}}
        prompt_while_streaming {:message "f1" :behavior :queue}
            {:kind :event :event "session/updated" :data {… :pending-message-count 2 :status-session-line "session: S1 phase:streaming streaming:yes compacting:no pending:2 retry:0"} :id "p" :seq N :ts "TIME"}
            {:id "x" :kind :response :op "prompt_while_streaming" :ok true :data {:accepted true :behavior "queue"}}
        steer {:message "s2"}
            {:kind :event :event "session/updated" :data {… :pending-message-count 3 :status-session-line "session: S1 phase:streaming streaming:yes compacting:no pending:3 retry:0"} :id "p" :seq N :ts "TIME"}
            {:id "x" :kind :response :op "steer" :ok true :data {:accepted true}}
        follow_up {:message "f2"}
            {:kind :event :event "session/updated" :data {… :pending-message-count 4 :status-session-line "session: S1 phase:streaming streaming:yes compacting:no pending:4 retry:0"} :id "p" :seq N :ts "TIME"}
            {:id "x" :kind :response :op "follow_up" :ok true :data {:accepted true}}
        prompt_while_streaming {:message "x" :behavior "shout"}
            {:kind :error :error-code "request/invalid-params" :error-message ":behavior must be \"steer\" or \"queue\", not \"shout\"" :id "x" :op "prompt_while_streaming"}
        prompt_while_streaming {}
            {:kind :error :error-code "request/invalid-params" :error-message ":message is missing" :id "x" :op "prompt_while_streaming"}
        steer {}
            {:kind :error :error-code "request/invalid-params" :error-message ":message is missing" :id "x" :op "steer"}
        follow_up {:message " "}
            {:kind :error :error-code "request/invalid-params" :error-message ":message must not be blank" :id "x" :op "follow_up"}
    "#]].assert_eq(&seen);
    client.open_gate();
    client.until_idle();
    expect![[r#"{:id "x" :kind :response :op "get_messages" :ok true :data {:messages [{:role "user" :content [{:type :text :text "go"}] :timestamp "TIME"} {:role "assistant" :content [{:type :thinking :text "hm"} {:type :text :text "Waiting."} {:type :tool-call :id "t1" :name "bash" :arguments "{\"command\":\"read x < gate; echo $x\"}"}] :stop-reason :tool-use :timestamp "TIME"} {:role "toolResult" :content [{:type :text :text "go\n"}] :tool-call-id "t1" :tool-name "bash" :is-error false :details nil :result-text "go\n" :timestamp "TIME"} {:role "user" :content [{:type :text :text "s1"}] :timestamp "TIME"} {:role "assistant" :content [{:type :text :text "Done."}] :stop-reason :stop :timestamp "TIME"} {:role "user" :content [{:type :text :text "s2"}] :timestamp "TIME"} {:role "assistant" :content [{:type :text :text "More."}] :stop-reason :stop :timestamp "TIME"} {:role "user" :content [{:type :text :text "f1"}] :timestamp "TIME"} {:role "assistant" :content [{:type :text :text "The scenario has no more turns."}] :stop-reason :stop :timestamp "TIME"} {:role "user" :content [{:type :text :text "f2"}] :timestamp "TIME"} {:role "assistant" :content [{:type :text :text "The scenario has no more turns."}] :stop-reason :stop :timestamp "TIME"}]}}"#]].assert_eq(&client.answer("get_messages", "{}"));
}

#[test]
fn section_9_3_an_abort_behind_an_interrupt_ends_the_run_as_aborted() {
    let mut client = waiting();
    client.request("i", "interrupt", "{}");
    client.request("f", "follow_up", r#"{:message "later"}"#);
    let seen = client.stop("abort");
    shows(
        &seen,
        &expect![[r#"
        {:kind :event :event "tool/result" :data {:session-id "S1" :tool-id "t1" :tool-name "bash" :call-summary "$ read x < gate; echo $x" :content [{:type :text :text "Command aborted"}] :result-text "Command aborted" :details {} :is-error true} :id "p" :seq N :ts "TIME"}
        {:kind :event :event "footer/updated" :data {…} :id "p" :seq N :ts "TIME"}
        {:kind :event :event "assistant/message" :data {:session-id "S1" :role "assistant" :content [{:type :error :text "Aborted"}] :text "[error] Aborted" :stop-reason :aborted :error-message "Aborted"} :id "p" :seq N :ts "TIME"}
        {:kind :event :event "session/updated" :data {… :phase "idle" :is-streaming false :interrupt-pending false :status-session-line "session: S1 phase:idle streaming:no compacting:no pending:1 retry:0"} :id "p" :seq N :ts "TIME"}
        {:kind :event :event "footer/updated" :data {… :stats-line "?/200k (script) m-1 • thinking medium" :usage-parts ["?/200k"]} :id "p" :seq N :ts "TIME"}"#]],
    );
}

#[test]
fn section_9_3_interrupt_when_nothing_runs_says_so() {
    let mut client = Client::ready(World::new(&[OK]));
    let idle = client.request("i", "interrupt", "{}");
    shows(
        &idle,
        &expect![[
            r#"{:id "i" :kind :response :op "interrupt" :ok true :data {:accepted false :pending false :dropped-steering-text ""}}"#
        ]],
    );
}

#[test]
fn section_9_3_interrupt_stops_after_the_model_call_and_gives_steering_back() {
    let mut client = waiting();
    let seen = client.script(&[
        ("follow_up", r#"{:message "later"}"#),
        ("steer", r#"{:message " left "}"#),
        ("steer", r#"{:message "left"}"#),
        ("steer", r#"{:message "right"}"#),
        ("interrupt", "{}"),
        ("steer", r#"{:message "new"}"#),
        ("interrupt", "{}"),
        ("prompt_while_streaming", r#"{:message "z"}"#),
    ]);
    expect![[r#"
        follow_up {:message "later"}
            {:kind :event :event "session/updated" :data {… :pending-message-count 1 :status-session-line "session: S1 phase:streaming streaming:yes compacting:no pending:1 retry:0"} :id "p" :seq N :ts "TIME"}
            {:id "x" :kind :response :op "follow_up" :ok true :data {:accepted true}}
        steer {:message " left "}
            {:kind :event :event "session/updated" :data {… :pending-message-count 2 :status-session-line "session: S1 phase:streaming streaming:yes compacting:no pending:2 retry:0"} :id "p" :seq N :ts "TIME"}
            {:id "x" :kind :response :op "steer" :ok true :data {:accepted true}}
        steer {:message "left"}
            {:kind :event :event "session/updated" :data {… :pending-message-count 3 :status-session-line "session: S1 phase:streaming streaming:yes compacting:no pending:3 retry:0"} :id "p" :seq N :ts "TIME"}
            {:id "x" :kind :response :op "steer" :ok true :data {:accepted true}}
        steer {:message "right"}
            {:kind :event :event "session/updated" :data {… :pending-message-count 4 :status-session-line "session: S1 phase:streaming streaming:yes compacting:no pending:4 retry:0"} :id "p" :seq N :ts "TIME"}
            {:id "x" :kind :response :op "steer" :ok true :data {:accepted true}}
        interrupt {}
            {:kind :event :event "session/updated" :data {… :pending-message-count 1 :status-session-line "session: S1 phase:streaming streaming:yes compacting:no pending:1 retry:0"} :id "p" :seq N :ts "TIME"}
            {:kind :event :event "session/updated" :data {… :interrupt-pending true} :id "p" :seq N :ts "TIME"}
            {:id "x" :kind :response :op "interrupt" :ok true :data {:accepted true :pending true :dropped-steering-text "left\nright"}}
        steer {:message "new"}
            {:kind :event :event "session/updated" :data {… :pending-message-count 2 :status-session-line "session: S1 phase:streaming streaming:yes compacting:no pending:2 retry:0"} :id "p" :seq N :ts "TIME"}
            {:id "x" :kind :response :op "steer" :ok true :data {:accepted true}}
        interrupt {}
            {:kind :event :event "session/updated" :data {… :pending-message-count 1 :status-session-line "session: S1 phase:streaming streaming:yes compacting:no pending:1 retry:0"} :id "p" :seq N :ts "TIME"}
            {:id "x" :kind :response :op "interrupt" :ok true :data {:accepted false :pending true :dropped-steering-text "new"}}
        prompt_while_streaming {:message "z"}
            {:kind :event :event "session/updated" :data {… :pending-message-count 2 :status-session-line "session: S1 phase:streaming streaming:yes compacting:no pending:2 retry:0"} :id "p" :seq N :ts "TIME"}
            {:id "x" :kind :response :op "prompt_while_streaming" :ok true :data {:accepted true :behavior "coerced-follow-up"}}
    "#]].assert_eq(&seen);
    client.open_gate();
    let mut end = client.until_idle();
    end.push(client.answer("get_state", "{}"));
    shows(
        &end,
        &expect![[r#"
        {:kind :event :event "tool/update" :data {:session-id "S1" :tool-id "t1" :tool-name "bash" :call-summary "$ read x < gate; echo $x" :content [{:type :text :text "go\n"}] :result-text "go\n" :details {} :is-error false} :id "p" :seq N :ts "TIME"}
        {:kind :event :event "tool/result" :data {:session-id "S1" :tool-id "t1" :tool-name "bash" :call-summary "$ read x < gate; echo $x" :content [{:type :text :text "go\n"}] :result-text "go\n" :details nil :is-error false} :id "p" :seq N :ts "TIME"}
        {:kind :event :event "footer/updated" :data {…} :id "p" :seq N :ts "TIME"}
        {:kind :event :event "assistant/message" :data {:session-id "S1" :role "assistant" :content [{:type :thinking :text "hm"} {:type :text :text "Waiting."} {:type :tool-call :id "t1" :name "bash" :arguments "{\"command\":\"read x < gate; echo $x\"}"}] :text "Waiting." :stop-reason :tool-use} :id "p" :seq N :ts "TIME"}
        {:kind :event :event "session/updated" :data {… :phase "idle" :is-streaming false :interrupt-pending false :status-session-line "session: S1 phase:idle streaming:no compacting:no pending:2 retry:0"} :id "p" :seq N :ts "TIME"}
        {:kind :event :event "footer/updated" :data {… :stats-line "?/200k (script) m-1 • thinking medium" :usage-parts ["?/200k"]} :id "p" :seq N :ts "TIME"}
        {:id "x" :kind :response :op "get_state" :ok true :data {:state {:session-id "S1" :session-file "FILE" :session-name nil :worktree-path "ROOT/home/work" :parent-session-id nil :parent-session-path nil :model {:provider "script" :id "m-1"} :thinking-level :medium :is-streaming false :is-compacting false :interrupt-pending false :steering-messages [] :follow-up-messages ["later" "z"] :retry-attempt 0 :auto-retry-enabled true :auto-compaction-enabled false :scoped-models [] :context-tokens nil :context-window 200000 :phase :idle :message-count 3 :ui-type :emacs :skills [] :prompt-templates []}}}"#]],
    );
}

#[test]
fn section_9_3_a_failed_model_call_is_an_error_event_and_the_session_goes_on() {
    let script = r#"
[[turn]]
steps = [ { text = "so far" }, { error = { kind = "invalid_request", message = "bad request" } } ]
[[turn]]
steps = [ { text = "fine" } ]
"#;
    let mut client = Client::ready(World::new(&[script]));
    let mut seen = client.run("go");
    seen.extend(client.run("again"));
    shows(
        &seen,
        &expect![[r#"
        {:kind :event :event "session/updated" :data {… :session-display-name "go" :phase "streaming" :is-streaming true :status-session-line "session: S1 phase:streaming streaming:yes compacting:no pending:0 retry:0"} :id "run" :seq N :ts "TIME"}
        {:kind :event :event "footer/updated" :data {… :path-line "~/work • go" :stats-line STATS :usage-parts STATS} :id "run" :seq N :ts "TIME"}
        {:kind :event :event "assistant/delta" :data {:session-id "S1" :text "so far"} :id "run" :seq N :ts "TIME"}
        {:kind :event :event "assistant/message" :data {:session-id "S1" :role "assistant" :content [{:type :text :text "so far"}] :text "so far" :stop-reason :error :error-message "bad request"} :id "run" :seq N :ts "TIME"}
        {:kind :event :event "error" :data {:error-code "runtime/failed" :error-message "bad request" :id "run" :op "prompt"} :id "run" :seq N :ts "TIME"}
        {:kind :event :event "session/updated" :data {… :phase "idle" :is-streaming false :status-session-line "session: S1 phase:idle streaming:no compacting:no pending:0 retry:0"} :id "run" :seq N :ts "TIME"}
        {:kind :event :event "footer/updated" :data {… :stats-line "?/200k (script) script-0 • thinking medium" :usage-parts ["?/200k"]} :id "run" :seq N :ts "TIME"}
        {:kind :event :event "session/updated" :data {… :session-display-name "again" :phase "streaming" :is-streaming true :status-session-line "session: S1 phase:streaming streaming:yes compacting:no pending:0 retry:0"} :id "run" :seq N :ts "TIME"}
        {:kind :event :event "footer/updated" :data {… :path-line "~/work • again" :stats-line STATS :usage-parts STATS} :id "run" :seq N :ts "TIME"}
        {:kind :event :event "assistant/delta" :data {:session-id "S1" :text "fine"} :id "run" :seq N :ts "TIME"}
        {:kind :event :event "assistant/message" :data {:session-id "S1" :role "assistant" :content [{:type :text :text "fine"}] :text "fine" :stop-reason :stop} :id "run" :seq N :ts "TIME"}
        {:kind :event :event "session/updated" :data {… :phase "idle" :is-streaming false :status-session-line "session: S1 phase:idle streaming:no compacting:no pending:0 retry:0"} :id "run" :seq N :ts "TIME"}
        {:kind :event :event "footer/updated" :data {… :stats-line "?/200k (script) script-0 • thinking medium" :usage-parts ["?/200k"]} :id "run" :seq N :ts "TIME"}"#]],
    );
}

#[test]
fn section_10_1_a_retry_shows_in_the_phase_and_the_footer() {
    let script = r#"
[[turn]]
steps = [ { error = { kind = "overloaded", message = "busy" } } ]
[[turn]]
steps = [ { text = "fine" } ]
"#;
    let mut client = Client::ready(World::new(&[script]));
    shows(
        &client.run("go"),
        &expect![[r#"
        {:kind :event :event "session/updated" :data {… :session-display-name "go" :phase "streaming" :is-streaming true :status-session-line "session: S1 phase:streaming streaming:yes compacting:no pending:0 retry:0"} :id "run" :seq N :ts "TIME"}
        {:kind :event :event "footer/updated" :data {… :path-line "~/work • go" :stats-line STATS :usage-parts STATS} :id "run" :seq N :ts "TIME"}
        {:kind :event :event "session/updated" :data {… :phase "retrying" :retry-attempt 1 :retry {:active? true :attempt 1 :delay-ms 1 :delay-source :exponential-backoff :resume-at MS} :retry-deadline-ms MS :status-session-line "session: S1 phase:retrying streaming:yes compacting:no pending:0 retry:1 retry-delay-ms:1"} :id "run" :seq N :ts "TIME"}
        {:kind :event :event "footer/updated" :data {… :status-line "retry in 0s"} :id "run" :seq N :ts "TIME"}
        {:kind :event :event "session/updated" :data {… :phase "streaming" :retry-attempt 0 :retry nil :retry-deadline-ms nil :status-session-line "session: S1 phase:streaming streaming:yes compacting:no pending:0 retry:0"} :id "run" :seq N :ts "TIME"}
        {:kind :event :event "footer/updated" :data {… :status-line nil} :id "run" :seq N :ts "TIME"}
        {:kind :event :event "assistant/delta" :data {:session-id "S1" :text "fine"} :id "run" :seq N :ts "TIME"}
        {:kind :event :event "session/updated" :data {…} :id "run" :seq N :ts "TIME"}
        {:kind :event :event "assistant/message" :data {:session-id "S1" :role "assistant" :content [{:type :text :text "fine"}] :text "fine" :stop-reason :stop} :id "run" :seq N :ts "TIME"}
        {:kind :event :event "session/updated" :data {… :phase "idle" :is-streaming false :status-session-line "session: S1 phase:idle streaming:no compacting:no pending:0 retry:0"} :id "run" :seq N :ts "TIME"}
        {:kind :event :event "footer/updated" :data {… :stats-line "?/200k (script) script-0 • thinking medium" :usage-parts ["?/200k"]} :id "run" :seq N :ts "TIME"}"#]],
    );
}

#[test]
fn section_10_1_a_retry_says_what_the_provider_asked_for_and_allows() {
    let script = r#"
[[turn]]
error = { kind = "rate_limited", message = "slow down", retry_after_ms = 3600000, rate_limit = { remaining = 0, limit = 50, reset_at_ms = 1777737600000 } }
"#;
    let mut client = Client::ready(World::new(&[script]));
    let mut seen = client.request("p", "prompt", r#"{:message "go"}"#);
    seen.extend(client.until(&["footer/updated", "retry in"]));
    // The wait is given up; the run ends with the answer that failed.
    seen.extend(client.stop("abort_retry"));
    shows(
        &seen,
        &expect![[r#"
            {:id "p" :kind :response :op "prompt" :ok true :data {:accepted true}}
            {:kind :event :event "session/updated" :data {… :session-display-name "go" :phase "streaming" :is-streaming true :status-session-line "session: S1 phase:streaming streaming:yes compacting:no pending:0 retry:0"} :id "p" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {… :path-line "~/work • go" :stats-line STATS :usage-parts STATS} :id "p" :seq N :ts "TIME"}
            {:kind :event :event "session/updated" :data {… :phase "retrying" :retry-attempt 1 :retry {:active? true :attempt 1 :delay-ms 300000 :delay-source :retry-after :resume-at MS :rate-limit {:remaining 0 :limit 50 :reset-at 1777737600000}} :retry-deadline-ms MS :status-session-line "session: S1 phase:retrying streaming:yes compacting:no pending:0 retry:1 retry-delay-ms:300000"} :id "p" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {… :status-line "retry in 300s · remaining 0/50 · reset in 3600s"} :id "p" :seq N :ts "TIME"}
            {:kind :event :event "assistant/message" :data {:session-id "S1" :role "assistant" :content [] :stop-reason :error :error-message "slow down"} :id "p" :seq N :ts "TIME"}
            {:kind :event :event "session/updated" :data {… :phase "streaming" :retry-attempt 0 :retry nil :retry-deadline-ms nil :status-session-line "session: S1 phase:streaming streaming:yes compacting:no pending:0 retry:0"} :id "p" :seq N :ts "TIME"}
            {:kind :event :event "session/updated" :data {… :phase "idle" :is-streaming false :status-session-line "session: S1 phase:idle streaming:no compacting:no pending:0 retry:0"} :id "p" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {… :stats-line "?/200k (script) script-0 • thinking medium" :status-line nil :usage-parts ["?/200k"]} :id "p" :seq N :ts "TIME"}"#]],
    );
}

#[test]
fn section_15_the_footer_counts_exactly() {
    let script = r#"
[model]
id = "m-1"
reasoning = false
prices = { input = 1.0, output = 10.0, cache_read = 0.5, cache_write = 2.0 }
[[turn]]
usage = { input = 1200, output = 41, cache_read = 172000, cache_write = 10000 }
steps = [ { tool = "bash", id = "t1", arguments = { command = "true" } } ]
[[turn]]
steps = [ { hang = true } ]
"#;
    let mut client = Client::ready(World::new(&[script]));
    // The second call never ends: nothing more is consumed while footers go out.
    client.consumption_is_known = true;
    client.shows_whole_snapshots = true;
    client.request("p", "prompt", r#"{:message "go"}"#);
    client.until(&["tool/result"]);
    let mut seen = client.until(&["footer/updated"]);
    seen.extend(client.stop("abort"));
    shows(
        &seen,
        &expect![[r#"
            {:kind :event :event "footer/updated" :data {:session-id "S1" :path-line "~/work • go" :stats-line "↑1.2k ↓41 CR172k CW10k $0.108 91.6%/200k (script) m-1" :status-line nil :usage-parts ["↑1.2k" "↓41" "CR172k" "CW10k" "$0.108" "91.6%/200k"] :model-text "(script) m-1" :session-activity-line nil :session-activity-buckets []} :id "p" :seq N :ts "TIME"}
            {:kind :event :event "assistant/message" :data {:session-id "S1" :role "assistant" :content [{:type :error :text "Aborted"}] :text "[error] Aborted" :stop-reason :aborted :error-message "Aborted"} :id "p" :seq N :ts "TIME"}
            {:kind :event :event "session/updated" :data {:session-id "S1" :session-file "FILE" :session-name nil :session-display-name "go" :phase "idle" :is-streaming false :is-compacting false :pending-message-count 0 :retry-attempt 0 :retry nil :retry-deadline-ms nil :interrupt-pending false :model-provider "script" :model-id "m-1" :model-reasoning false :thinking-level "off" :effective-reasoning-effort nil :header-model-label "(script) m-1" :status-session-line "session: S1 phase:idle streaming:no compacting:no pending:0 retry:0" :extension-command-names [] :prompt-templates [] :builtin-command-specs [BUILTINS]} :id "p" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {:session-id "S1" :path-line "~/work • go" :stats-line "↑1.2k ↓41 CR172k CW10k $0.108 91.6%/200k (script) m-1" :status-line nil :usage-parts ["↑1.2k" "↓41" "CR172k" "CW10k" "$0.108" "91.6%/200k"] :model-text "(script) m-1" :session-activity-line nil :session-activity-buckets []} :id "p" :seq N :ts "TIME"}"#]],
    );
}

#[test]
fn section_9_3_pictures_go_into_the_user_message() {
    let mut client = Client::ready(World::new(&[OK]));
    let params =
        r#"{:message "look" :images [{:type :image :mime-type "image/png" :data "AAAA"}]}"#;
    client.request("p", "prompt", params);
    client.until_idle();
    expect![[r#"{:id "x" :kind :response :op "get_messages" :ok true :data {:messages [{:role "user" :content [{:type :text :text "look"} {:type :image :mime-type "image/png" :data "AAAA"}] :timestamp "TIME"} {:role "assistant" :content [{:type :text :text "ok"}] :stop-reason :stop :timestamp "TIME"}]}}"#]].assert_eq(&client.answer("get_messages", "{}"));
}
