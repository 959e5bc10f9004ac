//! Section 14: pickers and what becomes of the choice.

use expect_test::expect;

use super::client::{Client, shows};
use super::world::{OK, World};

const PICKERS: [(&str, &str); 4] = [
    ("/model", "select-model"),
    ("/thinking", "select-thinking-level"),
    ("/resume", "select-resume-session"),
    ("/tree", "select-session"),
];

const THINKER: &str = r#"
[model]
id = "thinker"
[[turn]]
steps = [ { text = "hm" } ]
"#;

/// A session with something said in it.
fn client() -> Client {
    let mut client = Client::ready(World::new(&[OK, THINKER]));
    client.run("hello");
    client
}

fn result(action: &str, status: &str, more: &str) -> String {
    format!("{{:request-id \"r\" :action-name {action:?} :status {status:?} {more}}}")
}

#[test]
fn section_14_each_picker_asks_with_its_items() {
    let mut client = client();
    let mut seen = String::new();
    for (text, _) in PICKERS {
        seen.push_str(&format!("{text}\n"));
        for frame in client.request("c", "command", &format!("{{:text {text:?}}}")) {
            seen.push_str(&format!("    {frame}\n"));
        }
    }
    expect![[r#"
        /model
            {:kind :event :event "ui/frontend-action-requested" :data {:request-id "c" :prompt "Select a model" :ui/action {:ui/action-id :select-model :ui/action-kind :select :ui/action-name :select-model :ui/prompt "Select a model" :ui/order :default :ui/items [{:ui.item/id ["script" "m-1"] :ui.item/label "script m-1" :ui.item/value {:provider "script" :id "m-1"} :ui.item/meta {:provider "script" :id "m-1" :name "Scenario m-1" :reasoning false}} {:ui.item/id ["script" "thinker"] :ui.item/label "script thinker [reasoning]" :ui.item/value {:provider "script" :id "thinker"} :ui.item/meta {:provider "script" :id "thinker" :name "Scenario thinker" :reasoning true}}] :ui/on-submit {:submit/kind :set-model}}} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "session/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:id "c" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
        /thinking
            {:kind :event :event "ui/frontend-action-requested" :data {:request-id "c" :prompt "Select a thinking level" :ui/action {:ui/action-id :select-thinking-level :ui/action-kind :select :ui/action-name :select-thinking-level :ui/prompt "Select a thinking level" :ui/order :default :ui/items [{:ui.item/id "off" :ui.item/label "off" :ui.item/value "off"} {:ui.item/id "minimal" :ui.item/label "minimal" :ui.item/value "minimal"} {:ui.item/id "low" :ui.item/label "low" :ui.item/value "low"} {:ui.item/id "medium" :ui.item/label "medium" :ui.item/value "medium"} {:ui.item/id "high" :ui.item/label "high" :ui.item/value "high"} {:ui.item/id "xhigh" :ui.item/label "xhigh" :ui.item/value "xhigh"}] :ui/on-submit {:submit/kind :set-thinking-level}}} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "session/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:id "c" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
        /resume
            {:kind :event :event "ui/frontend-action-requested" :data {:request-id "c" :prompt "Select a session to resume" :ui/action {:ui/action-id :select-resume-session :ui/action-kind :select :ui/action-name :select-resume-session :ui/prompt "Select a session to resume" :ui/order :preserve :ui/items [{:ui.item/id "FILE" :ui.item/label "hello" :ui.item/value "FILE"}] :ui/on-submit {:submit/kind :resume-session-path}}} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "session/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:id "c" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
        /tree
            {:kind :event :event "ui/frontend-action-requested" :data {:request-id "c" :prompt "Select a live session" :ui/action {:ui/action-id :select-session :ui/action-kind :select :ui/action-name :select-session :ui/prompt "Select a live session" :ui/order :preserve :ui/items [{:ui.item/id "S1" :ui.item/label "hello" :ui.item/value {:action/kind :switch-session :action/session-id "S1"} :ui.item/meta {:item/id [:session "S1"] :item/kind :session :item/parent-id nil :item/session-id "S1" :item/display-name "hello" :item/default-label "hello" :item/is-active true :item/is-streaming false :item/worktree-path "ROOT/home/work" :item/created-at "TIME" :item/updated-at "TIME" :item/action {:action/kind :switch-session :action/session-id "S1"}}} {:ui.item/id "E1" :ui.item/label "⎇ hello" :ui.item/value {:action/kind :fork-session :action/session-id "S1" :action/entry-id "E1"} :ui.item/meta {:item/id [:fork-point "E1"] :item/kind :fork-point :item/parent-id [:session "S1"] :item/session-id "S1" :item/entry-id "E1" :item/display-name "⎇ hello" :item/default-label "⎇ hello" :item/is-active false :item/is-streaming false :item/action {:action/kind :fork-session :action/session-id "S1" :action/entry-id "E1"}}}] :ui/on-submit {:submit/kind :selector-action}}} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "session/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:id "c" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
    "#]].assert_eq(&seen);
}

#[test]
fn section_14_fork_points_follow_the_subtree_of_the_target_and_leave_commands_out() {
    let mut client = client();
    client.run("/nope is for the model");
    let points = client.raw_answer("get_fork_messages", "{}");
    let at = points.find(":entry-id \"").unwrap() + ":entry-id \"".len();
    let entry = points[at..].split('"').next().unwrap().to_owned();
    client.request("f", "fork", &format!("{{:entry-id {entry:?}}}"));
    let first = client.session(1);
    client.request("n", "new_session", "{}");
    client.until(&["ui/status-updated", ":seq"]);
    let params = format!("{{:text \"/tree\" :session-id {first:?}}}");
    let seen = client.request("t", "command", &params);
    let picker = seen
        .iter()
        .find(|frame| frame.contains("frontend-action-requested"))
        .unwrap();
    let labels: Vec<&str> = picker
        .split(":ui.item/label \"")
        .skip(1)
        .map(|rest| rest.split('"').next().unwrap())
        .collect();
    assert_eq!(
        labels,
        ["hello", "hello (2)", "⎇ hello", "(session S3-short)"]
    );
}

#[test]
fn section_14_with_nothing_to_choose_from_a_text_says_so() {
    let mut client = Client::ready(World::new(&[OK]));
    let seen = client.request("c", "command", r#"{:text "/resume"}"#);
    shows(
        &seen,
        &expect![[r#"
        {:kind :event :event "command-result" :data {:type "text" :message "There is nothing to resume."} :id "c" :seq N :ts "TIME"}
        {:kind :event :event "session/updated" :data {…} :id "c" :seq N :ts "TIME"}
        {:kind :event :event "footer/updated" :data {…} :id "c" :seq N :ts "TIME"}
        {:id "c" :kind :response :op "command" :ok true :data {:accepted true :handled true}}"#]],
    );
}

#[test]
fn section_14_each_picker_cancelled_and_failed() {
    let mut client = client();
    let mut seen = String::new();
    for (_, action) in PICKERS {
        for params in [
            result(action, "cancelled", ""),
            result(action, "failed", ":error-message \"boom\""),
            result(action, "failed", ""),
        ] {
            seen.push_str(&client.script(&[("frontend_action_result", &params)]));
        }
    }
    expect![[r#"
        frontend_action_result {:request-id "r" :action-name "select-model" :status "cancelled" }
            {:kind :event :event "command-result" :data {:type "text" :message "Cancelled select-model."} :id "x" :seq N :ts "TIME"}
            {:id "x" :kind :response :op "frontend_action_result" :ok true :data {:accepted true}}
        frontend_action_result {:request-id "r" :action-name "select-model" :status "failed" :error-message "boom"}
            {:kind :event :event "command-result" :data {:type "error" :message "boom"} :id "x" :seq N :ts "TIME"}
            {:id "x" :kind :response :op "frontend_action_result" :ok true :data {:accepted true}}
        frontend_action_result {:request-id "r" :action-name "select-model" :status "failed" }
            {:kind :event :event "command-result" :data {:type "error" :message "select-model failed."} :id "x" :seq N :ts "TIME"}
            {:id "x" :kind :response :op "frontend_action_result" :ok true :data {:accepted true}}
        frontend_action_result {:request-id "r" :action-name "select-thinking-level" :status "cancelled" }
            {:kind :event :event "command-result" :data {:type "text" :message "Cancelled select-thinking-level."} :id "x" :seq N :ts "TIME"}
            {:id "x" :kind :response :op "frontend_action_result" :ok true :data {:accepted true}}
        frontend_action_result {:request-id "r" :action-name "select-thinking-level" :status "failed" :error-message "boom"}
            {:kind :event :event "command-result" :data {:type "error" :message "boom"} :id "x" :seq N :ts "TIME"}
            {:id "x" :kind :response :op "frontend_action_result" :ok true :data {:accepted true}}
        frontend_action_result {:request-id "r" :action-name "select-thinking-level" :status "failed" }
            {:kind :event :event "command-result" :data {:type "error" :message "select-thinking-level failed."} :id "x" :seq N :ts "TIME"}
            {:id "x" :kind :response :op "frontend_action_result" :ok true :data {:accepted true}}
        frontend_action_result {:request-id "r" :action-name "select-resume-session" :status "cancelled" }
            {:kind :event :event "command-result" :data {:type "text" :message "Cancelled select-resume-session."} :id "x" :seq N :ts "TIME"}
            {:id "x" :kind :response :op "frontend_action_result" :ok true :data {:accepted true}}
        frontend_action_result {:request-id "r" :action-name "select-resume-session" :status "failed" :error-message "boom"}
            {:kind :event :event "command-result" :data {:type "error" :message "boom"} :id "x" :seq N :ts "TIME"}
            {:id "x" :kind :response :op "frontend_action_result" :ok true :data {:accepted true}}
        frontend_action_result {:request-id "r" :action-name "select-resume-session" :status "failed" }
            {:kind :event :event "command-result" :data {:type "error" :message "select-resume-session failed."} :id "x" :seq N :ts "TIME"}
            {:id "x" :kind :response :op "frontend_action_result" :ok true :data {:accepted true}}
        frontend_action_result {:request-id "r" :action-name "select-session" :status "cancelled" }
            {:kind :event :event "command-result" :data {:type "text" :message "Cancelled select-session."} :id "x" :seq N :ts "TIME"}
            {:id "x" :kind :response :op "frontend_action_result" :ok true :data {:accepted true}}
        frontend_action_result {:request-id "r" :action-name "select-session" :status "failed" :error-message "boom"}
            {:kind :event :event "command-result" :data {:type "error" :message "boom"} :id "x" :seq N :ts "TIME"}
            {:id "x" :kind :response :op "frontend_action_result" :ok true :data {:accepted true}}
        frontend_action_result {:request-id "r" :action-name "select-session" :status "failed" }
            {:kind :event :event "command-result" :data {:type "error" :message "select-session failed."} :id "x" :seq N :ts "TIME"}
            {:id "x" :kind :response :op "frontend_action_result" :ok true :data {:accepted true}}
    "#]].assert_eq(&seen);
}

#[test]
fn section_14_a_model_and_a_thinking_level_are_chosen_however_they_are_written() {
    let mut client = client();
    let mut seen = String::new();
    for params in [
        result(
            "select-model",
            "submitted",
            r#":value {:provider "script" :id "thinker"}"#,
        ),
        result("select-thinking-level", "submitted", r#":value "low""#),
        result("select-thinking-level", "submitted", ":value :high"),
        // The name inside the echoed action counts, and keys may be strings.
        result(
            "x",
            "submitted",
            r#":ui/action {:ui/action-name :select-model} :value {"provider" "script" "id" "m-1"}"#,
        ),
    ] {
        seen.push_str(&client.script(&[("frontend_action_result", &params)]));
    }
    expect![[r#"
        frontend_action_result {:request-id "r" :action-name "select-model" :status "submitted" :value {:provider "script" :id "thinker"}}
            {:kind :event :event "command-result" :data {:type "text" :message "✓ Model set to script thinker"} :id "x" :seq N :ts "TIME"}
            {:kind :event :event "session/updated" :data {… :model-id "thinker" :model-reasoning true :header-model-label "(script) thinker • thinking off"} :id "x" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {… :stats-line "?/200k (script) thinker • thinking off" :model-text "(script) thinker • thinking off"} :id "x" :seq N :ts "TIME"}
            {:id "x" :kind :response :op "frontend_action_result" :ok true :data {:accepted true :request-id "r"}}
        frontend_action_result {:request-id "r" :action-name "select-thinking-level" :status "submitted" :value "low"}
            {:kind :event :event "command-result" :data {:type "text" :message "✓ Thinking level set to low"} :id "x" :seq N :ts "TIME"}
            {:kind :event :event "session/updated" :data {… :thinking-level "low" :effective-reasoning-effort "low" :header-model-label "(script) thinker • thinking low"} :id "x" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {… :stats-line "?/200k (script) thinker • thinking low" :model-text "(script) thinker • thinking low"} :id "x" :seq N :ts "TIME"}
            {:id "x" :kind :response :op "frontend_action_result" :ok true :data {:accepted true :request-id "r"}}
        frontend_action_result {:request-id "r" :action-name "select-thinking-level" :status "submitted" :value :high}
            {:kind :event :event "command-result" :data {:type "text" :message "✓ Thinking level set to high"} :id "x" :seq N :ts "TIME"}
            {:kind :event :event "session/updated" :data {… :thinking-level "high" :effective-reasoning-effort "high" :header-model-label "(script) thinker • thinking high"} :id "x" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {… :stats-line "?/200k (script) thinker • thinking high" :model-text "(script) thinker • thinking high"} :id "x" :seq N :ts "TIME"}
            {:id "x" :kind :response :op "frontend_action_result" :ok true :data {:accepted true :request-id "r"}}
        frontend_action_result {:request-id "r" :action-name "x" :status "submitted" :ui/action {:ui/action-name :select-model} :value {"provider" "script" "id" "m-1"}}
            {:kind :event :event "command-result" :data {:type "text" :message "✓ Model set to script m-1"} :id "x" :seq N :ts "TIME"}
            {:kind :event :event "session/updated" :data {… :model-id "m-1" :model-reasoning false :thinking-level "off" :effective-reasoning-effort nil :header-model-label "(script) m-1"} :id "x" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {… :stats-line "?/200k (script) m-1" :model-text "(script) m-1"} :id "x" :seq N :ts "TIME"}
            {:id "x" :kind :response :op "frontend_action_result" :ok true :data {:accepted true :request-id "r"}}
    "#]].assert_eq(&seen);
}

#[test]
fn section_14_dead_values_and_unknown_actions_are_answered_with_snapshots() {
    let mut client = client();
    let mut seen = String::new();
    for params in [
        result(
            "select-model",
            "submitted",
            r#":value {:provider "no" :id "no"}"#,
        ),
        result("select-model", "submitted", ":value 3"),
        result("select-model", "submitted", ""),
        result("select-thinking-level", "submitted", ":value \"loud\""),
        result(
            "select-resume-session",
            "submitted",
            ":value \"/no/such.jsonl\"",
        ),
        result("select-session", "submitted", ":value \"nobody\""),
        result("select-galaxy", "submitted", ":value 3"),
    ] {
        seen.push_str(&client.script(&[("frontend_action_result", &params)]));
    }
    expect![[r#"
        frontend_action_result {:request-id "r" :action-name "select-model" :status "submitted" :value {:provider "no" :id "no"}}
            {:kind :event :event "session/updated" :data {…} :id "x" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {…} :id "x" :seq N :ts "TIME"}
            {:id "x" :kind :response :op "frontend_action_result" :ok true :data {:accepted true :request-id "r"}}
        frontend_action_result {:request-id "r" :action-name "select-model" :status "submitted" :value 3}
            {:kind :event :event "session/updated" :data {…} :id "x" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {…} :id "x" :seq N :ts "TIME"}
            {:id "x" :kind :response :op "frontend_action_result" :ok true :data {:accepted true :request-id "r"}}
        frontend_action_result {:request-id "r" :action-name "select-model" :status "submitted" }
            {:kind :event :event "session/updated" :data {…} :id "x" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {…} :id "x" :seq N :ts "TIME"}
            {:id "x" :kind :response :op "frontend_action_result" :ok true :data {:accepted true :request-id "r"}}
        frontend_action_result {:request-id "r" :action-name "select-thinking-level" :status "submitted" :value "loud"}
            {:kind :event :event "session/updated" :data {…} :id "x" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {…} :id "x" :seq N :ts "TIME"}
            {:id "x" :kind :response :op "frontend_action_result" :ok true :data {:accepted true :request-id "r"}}
        frontend_action_result {:request-id "r" :action-name "select-resume-session" :status "submitted" :value "/no/such.jsonl"}
            {:kind :event :event "session/updated" :data {…} :id "x" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {…} :id "x" :seq N :ts "TIME"}
            {:id "x" :kind :response :op "frontend_action_result" :ok true :data {:accepted true :request-id "r"}}
        frontend_action_result {:request-id "r" :action-name "select-session" :status "submitted" :value "nobody"}
            {:kind :event :event "session/updated" :data {…} :id "x" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {…} :id "x" :seq N :ts "TIME"}
            {:id "x" :kind :response :op "frontend_action_result" :ok true :data {:accepted true :request-id "r"}}
        frontend_action_result {:request-id "r" :action-name "select-galaxy" :status "submitted" :value 3}
            {:kind :event :event "session/updated" :data {…} :id "x" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {…} :id "x" :seq N :ts "TIME"}
            {:id "x" :kind :response :op "frontend_action_result" :ok true :data {:accepted true :request-id "r"}}
    "#]].assert_eq(&seen);
}

#[test]
fn section_14_what_is_no_result_is_invalid() {
    let mut client = client();
    let seen = client.table(&[
        (
            "frontend_action_result",
            r#"{:request-id "r" :action-name "select-model" :status "perhaps"}"#,
        ),
        (
            "frontend_action_result",
            r#"{:request-id "r" :action-name "select-model"}"#,
        ),
        (
            "frontend_action_result",
            r#"{:action-name "select-model" :status "submitted"}"#,
        ),
        (
            "frontend_action_result",
            r#"{:request-id "r" :status "submitted"}"#,
        ),
    ]);
    expect![[r#"
        frontend_action_result {:request-id "r" :action-name "select-model" :status "perhaps"}
            {:kind :error :error-code "request/invalid-params" :error-message ":status must be submitted, cancelled or failed, not \"perhaps\"" :id "x" :op "frontend_action_result"}
        frontend_action_result {:request-id "r" :action-name "select-model"}
            {:kind :error :error-code "request/invalid-params" :error-message ":status is missing" :id "x" :op "frontend_action_result"}
        frontend_action_result {:action-name "select-model" :status "submitted"}
            {:kind :error :error-code "request/invalid-params" :error-message ":request-id is missing" :id "x" :op "frontend_action_result"}
        frontend_action_result {:request-id "r" :status "submitted"}
            {:kind :error :error-code "request/invalid-params" :error-message ":action-name is missing" :id "x" :op "frontend_action_result"}
    "#]].assert_eq(&seen);
}

#[test]
fn section_14_a_chosen_session_a_stored_one_and_a_fork_are_arrived_at() {
    let mut client = client();
    let state = client.raw_answer("get_state", "{}");
    let at = state.find(":session-file \"").unwrap() + ":session-file \"".len();
    let file = state[at..].split('"').next().unwrap().to_owned();
    let points = client.raw_answer("get_fork_messages", "{}");
    let at = points.find(":entry-id \"").unwrap() + ":entry-id \"".len();
    let entry = points[at..].split('"').next().unwrap().to_owned();
    let first = client.session(1);
    let mut seen = Vec::new();
    for params in [
        result(
            "select-session",
            "submitted",
            &format!(":value {{:action/kind :switch-session :action/session-id {first:?}}}"),
        ),
        result(
            "select-resume-session",
            "submitted",
            &format!(":value {file:?}"),
        ),
        result(
            "select-session",
            "submitted",
            &format!(":value {{:type \"fork_session\" :session-id {first:?} :entry-id {entry:?}}}"),
        ),
    ] {
        client.request("n", "new_session", "{}");
        client.until(&["ui/status-updated"]);
        seen.extend(client.request("a", "frontend_action_result", &params));
    }
    shows(
        &seen,
        &expect![[r#"
        {:kind :event :event "session/resumed" :data {:session-id "S1" :session-file "FILE" :message-count 2} :id "a" :seq N :ts "TIME"}
        {:kind :event :event "session/rehydrated" :data {:session-id "S1" :messages [{:role "user" :content [{:type :text :text "hello"}] :timestamp "TIME"} {:role "assistant" :content [{:type :text :text "ok"}] :stop-reason :stop :timestamp "TIME"}] :tool-calls {} :tool-order []} :id "a" :seq N :ts "TIME"}
        {:kind :event :event "session/updated" :data {… :session-id "S1" :session-display-name "hello" :status-session-line "session: S1 phase:idle streaming:no compacting:no pending:0 retry:0"} :id "a" :seq N :ts "TIME"}
        {:kind :event :event "footer/updated" :data {… :session-id "S1" :path-line "~/work • hello"} :id "a" :seq N :ts "TIME"}
        {:kind :event :event "context/updated" :data {:active-session-id "S1" :sessions [{:id "S2" :item-kind "session" :name nil :display-name nil :worktree-path "ROOT/home/work" :runtime-state "waiting" :is-streaming false :is-active false :parent-session-id nil :created-at "TIME" :updated-at nil} {:id "S1" :item-kind "session" :name nil :display-name "hello" :worktree-path "ROOT/home/work" :runtime-state "waiting" :is-streaming false :is-active true :parent-session-id nil :created-at "TIME" :updated-at "TIME"}] :session-tree-widget {:placement "left" :extension-id "psi-session" :widget-id "session-tree" :content-lines [{:text "(session S2-short) [S2-short] — HH:MM — ROOT/home/work [waiting]" :runtime-state "waiting" :is-current false :action {:type "command" :command "/tree S2"}} {:text "hello [S1-short] — HH:MM / HH:MM — ROOT/home/work ← current [waiting]" :runtime-state "waiting" :is-current true}]}} :id "a" :seq N :ts "TIME"}
        {:id "a" :kind :response :op "frontend_action_result" :ok true :data {:accepted true :request-id "r"}}
        {:kind :event :event "session/resumed" :data {:session-id "S1" :session-file "FILE" :message-count 2} :id "a" :seq N :ts "TIME"}
        {:kind :event :event "session/rehydrated" :data {:session-id "S1" :messages [{:role "user" :content [{:type :text :text "hello"}] :timestamp "TIME"} {:role "assistant" :content [{:type :text :text "ok"}] :stop-reason :stop :timestamp "TIME"}] :tool-calls {} :tool-order []} :id "a" :seq N :ts "TIME"}
        {:kind :event :event "session/updated" :data {… :session-id "S1" :session-display-name "hello" :status-session-line "session: S1 phase:idle streaming:no compacting:no pending:0 retry:0"} :id "a" :seq N :ts "TIME"}
        {:kind :event :event "footer/updated" :data {… :session-id "S1" :path-line "~/work • hello"} :id "a" :seq N :ts "TIME"}
        {:kind :event :event "context/updated" :data {:active-session-id "S1" :sessions [{:id "S2" :item-kind "session" :name nil :display-name nil :worktree-path "ROOT/home/work" :runtime-state "waiting" :is-streaming false :is-active false :parent-session-id nil :created-at "TIME" :updated-at nil} {:id "S3" :item-kind "session" :name nil :display-name nil :worktree-path "ROOT/home/work" :runtime-state "waiting" :is-streaming false :is-active false :parent-session-id nil :created-at "TIME" :updated-at nil} {:id "S1" :item-kind "session" :name nil :display-name "hello" :worktree-path "ROOT/home/work" :runtime-state "waiting" :is-streaming false :is-active true :parent-session-id nil :created-at "TIME" :updated-at "TIME"}] :session-tree-widget {:placement "left" :extension-id "psi-session" :widget-id "session-tree" :content-lines [{:text "(session S2-short) [S2-short] — HH:MM — ROOT/home/work [waiting]" :runtime-state "waiting" :is-current false :action {:type "command" :command "/tree S2"}} {:text "(session S3-short) [S3-short] — HH:MM — ROOT/home/work [waiting]" :runtime-state "waiting" :is-current false :action {:type "command" :command "/tree S3"}} {:text "hello [S1-short] — HH:MM / HH:MM — ROOT/home/work ← current [waiting]" :runtime-state "waiting" :is-current true}]}} :id "a" :seq N :ts "TIME"}
        {:id "a" :kind :response :op "frontend_action_result" :ok true :data {:accepted true :request-id "r"}}
        {:kind :event :event "session/resumed" :data {:session-id "S5" :session-file "FILE" :message-count 2} :id "a" :seq N :ts "TIME"}
        {:kind :event :event "session/rehydrated" :data {:session-id "S5" :messages [{:role "user" :content [{:type :text :text "hello"}] :timestamp "TIME"} {:role "assistant" :content [{:type :text :text "ok"}] :stop-reason :stop :timestamp "TIME"}] :tool-calls {} :tool-order []} :id "a" :seq N :ts "TIME"}
        {:kind :event :event "session/updated" :data {… :session-id "S5" :session-display-name "hello" :status-session-line "session: S5 phase:idle streaming:no compacting:no pending:0 retry:0"} :id "a" :seq N :ts "TIME"}
        {:kind :event :event "footer/updated" :data {… :session-id "S5" :path-line "~/work • hello" :session-activity-line "sessions: waiting hello, hello, S2-short, S3-short, S4-short" :session-activity-buckets [{:state "waiting" :labels ["hello" "hello" "S2-short" "S3-short" "S4-short"]}]} :id "a" :seq N :ts "TIME"}
        {:kind :event :event "context/updated" :data {:active-session-id "S5" :sessions [{:id "S2" :item-kind "session" :name nil :display-name nil :worktree-path "ROOT/home/work" :runtime-state "waiting" :is-streaming false :is-active false :parent-session-id nil :created-at "TIME" :updated-at nil} {:id "S3" :item-kind "session" :name nil :display-name nil :worktree-path "ROOT/home/work" :runtime-state "waiting" :is-streaming false :is-active false :parent-session-id nil :created-at "TIME" :updated-at nil} {:id "S4" :item-kind "session" :name nil :display-name nil :worktree-path "ROOT/home/work" :runtime-state "waiting" :is-streaming false :is-active false :parent-session-id nil :created-at "TIME" :updated-at nil} {:id "S1" :item-kind "session" :name nil :display-name "hello" :worktree-path "ROOT/home/work" :runtime-state "waiting" :is-streaming false :is-active false :parent-session-id nil :created-at "TIME" :updated-at "TIME"} {:id "S5" :item-kind "session" :name nil :display-name "hello" :worktree-path "ROOT/home/work" :runtime-state "waiting" :is-streaming false :is-active true :parent-session-id "S1" :created-at "TIME" :updated-at "TIME"}] :session-tree-widget {:placement "left" :extension-id "psi-session" :widget-id "session-tree" :content-lines [{:text "(session S2-short) [S2-short] — HH:MM — ROOT/home/work [waiting]" :runtime-state "waiting" :is-current false :action {:type "command" :command "/tree S2"}} {:text "(session S3-short) [S3-short] — HH:MM — ROOT/home/work [waiting]" :runtime-state "waiting" :is-current false :action {:type "command" :command "/tree S3"}} {:text "(session S4-short) [S4-short] — HH:MM — ROOT/home/work [waiting]" :runtime-state "waiting" :is-current false :action {:type "command" :command "/tree S4"}} {:text "hello [S1-short] — HH:MM / HH:MM — ROOT/home/work [waiting]" :runtime-state "waiting" :is-current false :action {:type "command" :command "/tree S1"}} {:text "  hello [S5-short] — HH:MM / HH:MM — ROOT/home/work ← current [waiting]" :runtime-state "waiting" :is-current true}]}} :id "a" :seq N :ts "TIME"}
        {:id "a" :kind :response :op "frontend_action_result" :ok true :data {:accepted true :request-id "r"}}"#]],
    );
}
