//! Section 14: pickers and what becomes of the choice.

use expect_test::expect;

use super::client::{Client, outline};
use super::world::{OK, World};

fn picker(client: &mut Client, text: &str) -> String {
    let seen = client.request("c", "command", &format!("{{:text {text:?}}}"));
    assert_eq!(
        outline(&seen),
        [
            "ui/frontend-action-requested",
            "session/updated",
            "footer/updated",
            "response"
        ]
    );
    seen[0].clone()
}

#[test]
fn each_picker_asks_with_its_items() {
    let mut client = Client::ready(World::new(&[OK]));
    client.run("hello");
    let mut seen = String::new();
    for text in ["/model", "/thinking", "/resume", "/tree"] {
        seen.push_str(&format!("{text}\n    {}\n", picker(&mut client, text)));
    }
    expect![[r#"
        /model
            {:kind :event :event "ui/frontend-action-requested" :data {:request-id "c" :prompt "Select a model" :ui/action {:ui/action-id :select-model :ui/action-kind :select :ui/action-name :select-model :ui/prompt "Select a model" :ui/order :default :ui/items [{:ui.item/id ["script" "m-1"] :ui.item/label "script m-1" :ui.item/value {:provider "script" :id "m-1"} :ui.item/meta {:provider "script" :id "m-1" :name "Scenario m-1" :reasoning false}}] :ui/on-submit {:submit/kind :set-model}}} :id "c" :seq N :ts "TIME"}
        /thinking
            {:kind :event :event "ui/frontend-action-requested" :data {:request-id "c" :prompt "Select a thinking level" :ui/action {:ui/action-id :select-thinking-level :ui/action-kind :select :ui/action-name :select-thinking-level :ui/prompt "Select a thinking level" :ui/order :default :ui/items [{:ui.item/id "off" :ui.item/label "off" :ui.item/value "off"} {:ui.item/id "minimal" :ui.item/label "minimal" :ui.item/value "minimal"} {:ui.item/id "low" :ui.item/label "low" :ui.item/value "low"} {:ui.item/id "medium" :ui.item/label "medium" :ui.item/value "medium"} {:ui.item/id "high" :ui.item/label "high" :ui.item/value "high"} {:ui.item/id "xhigh" :ui.item/label "xhigh" :ui.item/value "xhigh"}] :ui/on-submit {:submit/kind :set-thinking-level}}} :id "c" :seq N :ts "TIME"}
        /resume
            {:kind :event :event "ui/frontend-action-requested" :data {:request-id "c" :prompt "Select a session to resume" :ui/action {:ui/action-id :select-resume-session :ui/action-kind :select :ui/action-name :select-resume-session :ui/prompt "Select a session to resume" :ui/order :preserve :ui/items [{:ui.item/id "FILE" :ui.item/label "hello" :ui.item/value "FILE"}] :ui/on-submit {:submit/kind :resume-session-path}}} :id "c" :seq N :ts "TIME"}
        /tree
            {:kind :event :event "ui/frontend-action-requested" :data {:request-id "c" :prompt "Select a live session" :ui/action {:ui/action-id :select-session :ui/action-kind :select :ui/action-name :select-session :ui/prompt "Select a live session" :ui/order :preserve :ui/items [{:ui.item/id "S1" :ui.item/label "hello" :ui.item/value {:action/kind :switch-session :action/session-id "S1"} :ui.item/meta {:item/id [:session "S1"] :item/kind :session :item/parent-id nil :item/session-id "S1" :item/display-name "hello" :item/default-label "hello" :item/is-active true :item/is-streaming false :item/worktree-path "ROOT/home/work" :item/created-at "TIME" :item/updated-at "TIME" :item/action {:action/kind :switch-session :action/session-id "S1"}}} {:ui.item/id "E1" :ui.item/label "⎇ hello" :ui.item/value {:action/kind :fork-session :action/session-id "S1" :action/entry-id "E1"} :ui.item/meta {:item/id [:fork-point "E1"] :item/kind :fork-point :item/parent-id [:session "S1"] :item/session-id "S1" :item/entry-id "E1" :item/display-name "⎇ hello" :item/default-label "⎇ hello" :item/is-active false :item/is-streaming false :item/action {:action/kind :fork-session :action/session-id "S1" :action/entry-id "E1"}}}] :ui/on-submit {:submit/kind :selector-action}}} :id "c" :seq N :ts "TIME"}
    "#]].assert_eq(&seen);
}

#[test]
fn with_nothing_to_choose_from_a_text_says_so() {
    let mut client = Client::ready(World::new(&[OK]));
    let seen = client.request("c", "command", r#"{:text "/resume"}"#);
    assert!(
        seen[0].contains("There is nothing to resume."),
        "{}",
        seen[0]
    );
}

#[test]
fn a_choice_is_cancelled_failed_or_submitted() {
    let mut client = Client::ready(World::new(&[OK]));
    client.run("hello");
    let mut seen = String::new();
    for params in [
        r#"{:request-id "r" :action-name "select-model" :status "cancelled"}"#,
        r#"{:request-id "r" :action-name "select-model" :status :failed :error-message "boom"}"#,
        r#"{:request-id "r" :action-name "select-model" :status "failed"}"#,
        r#"{:request-id "r" :action-name "select-model" :status "perhaps"}"#,
        r#"{:action-name "select-model" :status "submitted"}"#,
        r#"{:request-id "r" :status "submitted"}"#,
        r#"{:request-id "r" :action-name "x" :ui/action {:ui/action-name :select-model} :status "submitted" :value {"provider" "script" "id" "m-1"}}"#,
        r#"{:request-id "r" :action-name "select-thinking-level" :status "submitted" :value :off}"#,
        r#"{:request-id "r" :action-name "select-model" :status "submitted" :value {:provider "no" :id "no"}}"#,
        r#"{:request-id "r" :action-name "select-session" :status "submitted" :value "nobody"}"#,
        r#"{:request-id "r" :action-name "select-galaxy" :status "submitted" :value 3}"#,
    ] {
        let frames = client.request("a", "frontend_action_result", params);
        seen.push_str(&format!("{params}\n"));
        for frame in frames {
            if frame.contains("session/updated") || frame.contains("footer/updated") {
                continue;
            }
            seen.push_str(&format!("    {frame}\n"));
        }
    }
    expect![[r#"
        {:request-id "r" :action-name "select-model" :status "cancelled"}
            {:kind :event :event "command-result" :data {:type "text" :message "Cancelled select-model."} :id "a" :seq N :ts "TIME"}
            {:id "a" :kind :response :op "frontend_action_result" :ok true :data {:accepted true}}
        {:request-id "r" :action-name "select-model" :status :failed :error-message "boom"}
            {:kind :event :event "command-result" :data {:type "error" :message "boom"} :id "a" :seq N :ts "TIME"}
            {:id "a" :kind :response :op "frontend_action_result" :ok true :data {:accepted true}}
        {:request-id "r" :action-name "select-model" :status "failed"}
            {:kind :event :event "command-result" :data {:type "error" :message "select-model failed."} :id "a" :seq N :ts "TIME"}
            {:id "a" :kind :response :op "frontend_action_result" :ok true :data {:accepted true}}
        {:request-id "r" :action-name "select-model" :status "perhaps"}
            {:kind :error :error-code "request/invalid-params" :error-message ":status must be submitted, cancelled or failed, not \"perhaps\"" :id "a" :op "frontend_action_result"}
        {:action-name "select-model" :status "submitted"}
            {:kind :error :error-code "request/invalid-params" :error-message ":request-id is missing" :id "a" :op "frontend_action_result"}
        {:request-id "r" :status "submitted"}
            {:kind :error :error-code "request/invalid-params" :error-message ":action-name is missing" :id "a" :op "frontend_action_result"}
        {:request-id "r" :action-name "x" :ui/action {:ui/action-name :select-model} :status "submitted" :value {"provider" "script" "id" "m-1"}}
            {:kind :event :event "command-result" :data {:type "text" :message "✓ Model set to script m-1"} :id "a" :seq N :ts "TIME"}
            {:id "a" :kind :response :op "frontend_action_result" :ok true :data {:accepted true :request-id "r"}}
        {:request-id "r" :action-name "select-thinking-level" :status "submitted" :value :off}
            {:kind :event :event "command-result" :data {:type "text" :message "✓ Thinking level set to off"} :id "a" :seq N :ts "TIME"}
            {:id "a" :kind :response :op "frontend_action_result" :ok true :data {:accepted true :request-id "r"}}
        {:request-id "r" :action-name "select-model" :status "submitted" :value {:provider "no" :id "no"}}
            {:id "a" :kind :response :op "frontend_action_result" :ok true :data {:accepted true :request-id "r"}}
        {:request-id "r" :action-name "select-session" :status "submitted" :value "nobody"}
            {:id "a" :kind :response :op "frontend_action_result" :ok true :data {:accepted true :request-id "r"}}
        {:request-id "r" :action-name "select-galaxy" :status "submitted" :value 3}
            {:id "a" :kind :response :op "frontend_action_result" :ok true :data {:accepted true :request-id "r"}}
    "#]].assert_eq(&seen);
}

#[test]
fn a_chosen_session_or_fork_is_arrived_at() {
    let mut client = Client::ready(World::new(&[OK]));
    client.run("hello");
    client.request("n", "new_session", "{}");
    let first = client.session(1);
    let value = format!("{{:action/kind :switch-session :action/session-id {first:?}}}");
    let params = format!(
        "{{:request-id \"r\" :action-name \"select-session\" :status \"submitted\" :value {value}}}"
    );
    client.until(&["ui/status-updated"]);
    let seen = client.request("a", "frontend_action_result", &params);
    let navigation = [
        "session/resumed",
        "session/rehydrated",
        "session/updated",
        "footer/updated",
        "context/updated",
        "response",
    ];
    assert_eq!(outline(&seen), navigation);
    assert_eq!(
        seen.last().unwrap(),
        r#"{:id "a" :kind :response :op "frontend_action_result" :ok true :data {:accepted true :request-id "r"}}"#
    );
    let points = client.raw_answer("get_fork_messages", "{}");
    let at = points.find(":entry-id \"").unwrap() + ":entry-id \"".len();
    let entry = points[at..].split('"').next().unwrap().to_owned();
    let params = format!(
        "{{:request-id \"r\" :action-name \"select-session\" :status \"submitted\" :value {{:type \"fork_session\" :session-id {first:?} :entry-id {entry:?}}}}}"
    );
    let seen = client.request("f", "frontend_action_result", &params);
    assert_eq!(outline(&seen), navigation);
    assert!(seen[1].contains("hello"), "{}", seen[1]);
}
