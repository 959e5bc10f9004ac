//! Sections 8 and 9.1: subscriptions and what goes out because of them.

use expect_test::expect;

use super::client::{Client, shows};
use super::world::{OK, World};

#[test]
fn section_9_1_the_first_subscription_gets_snapshots_in_order_and_the_second_fewer() {
    let mut client = Client::shaken(World::new(&[OK]));
    let topics = r#"["assistant/message" "session/updated" "footer/updated" "context/updated" "ui/status-updated" "ui/widgets-updated" "ui/widget-specs-updated" "no/such"]"#;
    let mut seen = client.request("s", "subscribe", &format!("{{:topics {topics}}}"));
    seen.extend(client.request("t", "subscribe", r#"{:topics ["tool/start"]}"#));
    shows(
        &seen,
        &expect![[r#"
        {:kind :event :event "footer/updated" :data {:session-id "S1" :path-line "~/work" :stats-line "?/200k (script) m-1" :status-line nil :usage-parts ["?/200k"] :model-text "(script) m-1" :session-activity-line nil :session-activity-buckets []} :seq N :ts "TIME"}
        {:kind :event :event "ui/widgets-updated" :data {:widgets []} :seq N :ts "TIME"}
        {:kind :event :event "ui/widget-specs-updated" :data {} :seq N :ts "TIME"}
        {:kind :event :event "ui/status-updated" :data {:statuses []} :seq N :ts "TIME"}
        {:kind :event :event "session/updated" :data {:session-id "S1" :session-file "FILE" :session-name nil :session-display-name nil :phase "idle" :is-streaming false :is-compacting false :pending-message-count 0 :retry-attempt 0 :retry nil :retry-deadline-ms nil :interrupt-pending false :model-provider "script" :model-id "m-1" :model-reasoning false :thinking-level "off" :effective-reasoning-effort nil :header-model-label "(script) m-1" :status-session-line "session: S1 phase:idle streaming:no compacting:no pending:0 retry:0" :extension-command-names [] :prompt-templates [] :builtin-command-specs [BUILTINS]} :id "s" :seq N :ts "TIME"}
        {:kind :event :event "footer/updated" :data {…} :id "s" :seq N :ts "TIME"}
        {:kind :event :event "context/updated" :data {:active-session-id "S1" :sessions [{:id "S1" :item-kind "session" :name nil :display-name nil :worktree-path "ROOT/home/work" :runtime-state "waiting" :is-streaming false :is-active true :parent-session-id nil :created-at "TIME" :updated-at nil}] :session-tree-widget {:placement "left" :extension-id "psi-session" :widget-id "session-tree" :content-lines [{:text "(session S1-short) [S1-short] — HH:MM — ROOT/home/work ← current [waiting]" :runtime-state "waiting" :is-current true}]}} :id "s" :seq N :ts "TIME"}
        {:id "s" :kind :response :op "subscribe" :ok true :data {:subscribed ["assistant/message" "context/updated" "footer/updated" "session/updated" "ui/status-updated" "ui/widget-specs-updated" "ui/widgets-updated"]}}
        {:kind :event :event "session/updated" :data {…} :id "t" :seq N :ts "TIME"}
        {:kind :event :event "footer/updated" :data {…} :id "t" :seq N :ts "TIME"}
        {:kind :event :event "context/updated" :data {:active-session-id "S1" :sessions [{:id "S1" :item-kind "session" :name nil :display-name nil :worktree-path "ROOT/home/work" :runtime-state "waiting" :is-streaming false :is-active true :parent-session-id nil :created-at "TIME" :updated-at nil}] :session-tree-widget {:placement "left" :extension-id "psi-session" :widget-id "session-tree" :content-lines [{:text "(session S1-short) [S1-short] — HH:MM — ROOT/home/work ← current [waiting]" :runtime-state "waiting" :is-current true}]}} :id "t" :seq N :ts "TIME"}
        {:id "t" :kind :response :op "subscribe" :ok true :data {:subscribed ["assistant/message" "context/updated" "footer/updated" "session/updated" "tool/start" "ui/status-updated" "ui/widget-specs-updated" "ui/widgets-updated"]}}"#]],
    );
}

#[test]
fn section_9_1_subscribing_moves_the_focus_to_its_session() {
    let mut client = Client::ready(World::new(&[OK]));
    client.run("first");
    client.request("n", "new_session", "{}");
    client.until(&["ui/status-updated"]);
    let first = client.session(1);
    let params = format!("{{:topics [\"error\"] :session-id {first:?}}}");
    let mut seen = client.request("s", "subscribe", &params);
    // What names no session is now meant for it.
    seen.push(client.answer("get_messages", "{}"));
    shows(
        &seen,
        &expect![[r#"
        {:kind :event :event "session/updated" :data {… :session-id "S1" :session-display-name "first" :status-session-line "session: S1 phase:idle streaming:no compacting:no pending:0 retry:0"} :id "s" :seq N :ts "TIME"}
        {:kind :event :event "footer/updated" :data {… :session-id "S1" :path-line "~/work • first"} :id "s" :seq N :ts "TIME"}
        {:kind :event :event "context/updated" :data {:active-session-id "S1" :sessions [{:id "S2" :item-kind "session" :name nil :display-name nil :worktree-path "ROOT/home/work" :runtime-state "waiting" :is-streaming false :is-active false :parent-session-id nil :created-at "TIME" :updated-at nil} {:id "S1" :item-kind "session" :name nil :display-name "first" :worktree-path "ROOT/home/work" :runtime-state "waiting" :is-streaming false :is-active true :parent-session-id nil :created-at "TIME" :updated-at "TIME"}] :session-tree-widget {:placement "left" :extension-id "psi-session" :widget-id "session-tree" :content-lines [{:text "(session S2-short) [S2-short] — HH:MM — ROOT/home/work [waiting]" :runtime-state "waiting" :is-current false :action {:type "command" :command "/tree S2"}} {:text "first [S1-short] — HH:MM / HH:MM — ROOT/home/work ← current [waiting]" :runtime-state "waiting" :is-current true}]}} :id "s" :seq N :ts "TIME"}
        {:id "s" :kind :response :op "subscribe" :ok true :data {:subscribed ["assistant/delta" "assistant/message" "assistant/thinking-delta" "command-result" "context/updated" "error" "footer/updated" "session/rehydrated" "session/resumed" "session/updated" "tool/executing" "tool/result" "tool/start" "tool/update" "ui/dialog-requested" "ui/frontend-action-requested" "ui/notification" "ui/status-updated" "ui/widget-specs-updated" "ui/widgets-updated"]}}
        {:id "x" :kind :response :op "get_messages" :ok true :data {:messages [{:role "user" :content [{:type :text :text "first"}] :timestamp "TIME"} {:role "assistant" :content [{:type :text :text "ok"}] :stop-reason :stop :timestamp "TIME"}]}}"#]],
    );
}

#[test]
fn section_8_a_topic_that_is_not_subscribed_does_not_go_out() {
    let mut client = Client::shaken(World::new(&[OK]));
    let seen = client.script(&[
        ("subscribe", r#"{:topics ["tool/start"]}"#),
        ("command", r#"{:text "/nope"}"#),
    ]);
    expect![[r#"
        subscribe {:topics ["tool/start"]}
            {:id "x" :kind :response :op "subscribe" :ok true :data {:subscribed ["tool/start"]}}
        command {:text "/nope"}
            {:id "x" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
    "#]]
    .assert_eq(&seen);
}

#[test]
fn section_8_no_subscription_means_everything_and_so_does_taking_all_away() {
    let mut client = Client::shaken(World::new(&[OK]));
    let seen = client.script(&[
        ("command", r#"{:text "/nope"}"#),
        ("subscribe", r#"{:topics ["tool/start" "error"]}"#),
        ("unsubscribe", r#"{:topics ["tool/start" "no/such"]}"#),
        ("command", r#"{:text "/nope"}"#),
        ("unsubscribe", "{}"),
        ("command", r#"{:text "/nope"}"#),
        // Taking the last one away is taking all away.
        ("subscribe", r#"{:topics ["error"]}"#),
        ("unsubscribe", r#"{:topics ["error"]}"#),
        ("command", r#"{:text "/nope"}"#),
    ]);
    expect![[r#"
        command {:text "/nope"}
            {:kind :event :event "command-result" :data {:type "text" :message "[not a command] /nope"} :id "x" :seq N :ts "TIME"}
            {:kind :event :event "session/updated" :data {:session-id "S1" :session-file "FILE" :session-name nil :session-display-name nil :phase "idle" :is-streaming false :is-compacting false :pending-message-count 0 :retry-attempt 0 :retry nil :retry-deadline-ms nil :interrupt-pending false :model-provider "script" :model-id "m-1" :model-reasoning false :thinking-level "off" :effective-reasoning-effort nil :header-model-label "(script) m-1" :status-session-line "session: S1 phase:idle streaming:no compacting:no pending:0 retry:0" :extension-command-names [] :prompt-templates [] :builtin-command-specs [BUILTINS]} :id "x" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {:session-id "S1" :path-line "~/work" :stats-line "?/200k (script) m-1" :status-line nil :usage-parts ["?/200k"] :model-text "(script) m-1" :session-activity-line nil :session-activity-buckets []} :id "x" :seq N :ts "TIME"}
            {:id "x" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
        subscribe {:topics ["tool/start" "error"]}
            {:id "x" :kind :response :op "subscribe" :ok true :data {:subscribed ["error" "tool/start"]}}
        unsubscribe {:topics ["tool/start" "no/such"]}
            {:id "x" :kind :response :op "unsubscribe" :ok true :data {:subscribed ["error"]}}
        command {:text "/nope"}
            {:id "x" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
        unsubscribe {}
            {:id "x" :kind :response :op "unsubscribe" :ok true :data {:subscribed []}}
        command {:text "/nope"}
            {:kind :event :event "command-result" :data {:type "text" :message "[not a command] /nope"} :id "x" :seq N :ts "TIME"}
            {:kind :event :event "session/updated" :data {…} :id "x" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {…} :id "x" :seq N :ts "TIME"}
            {:id "x" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
        subscribe {:topics ["error"]}
            {:id "x" :kind :response :op "subscribe" :ok true :data {:subscribed ["error"]}}
        unsubscribe {:topics ["error"]}
            {:id "x" :kind :response :op "unsubscribe" :ok true :data {:subscribed []}}
        command {:text "/nope"}
            {:kind :event :event "command-result" :data {:type "text" :message "[not a command] /nope"} :id "x" :seq N :ts "TIME"}
            {:kind :event :event "session/updated" :data {…} :id "x" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {…} :id "x" :seq N :ts "TIME"}
            {:id "x" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
    "#]].assert_eq(&seen);
}

#[test]
fn section_8_changes_nobody_asked_for_go_only_to_who_named_their_topic() {
    let mut client = Client::shaken(World::new(&[OK]));
    // Everything is covered, and yet the session tree is not told of by itself.
    let seen = client.script(&[
        ("set_session_name", r#"{:name "a"}"#),
        ("subscribe", r#"{:topics ["context/updated"]}"#),
        ("set_session_name", r#"{:name "b"}"#),
    ]);
    expect![[r#"
        set_session_name {:name "a"}
            {:kind :event :event "session/updated" :data {:session-id "S1" :session-file "FILE" :session-name "a" :session-display-name "a" :phase "idle" :is-streaming false :is-compacting false :pending-message-count 0 :retry-attempt 0 :retry nil :retry-deadline-ms nil :interrupt-pending false :model-provider "script" :model-id "m-1" :model-reasoning false :thinking-level "off" :effective-reasoning-effort nil :header-model-label "(script) m-1" :status-session-line "session: S1 phase:idle streaming:no compacting:no pending:0 retry:0" :extension-command-names [] :prompt-templates [] :builtin-command-specs [BUILTINS]} :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {:session-id "S1" :path-line "~/work • a" :stats-line "?/200k (script) m-1" :status-line nil :usage-parts ["?/200k"] :model-text "(script) m-1" :session-activity-line nil :session-activity-buckets []} :seq N :ts "TIME"}
            {:id "x" :kind :response :op "set_session_name" :ok true :data {:session-name "a"}}
        subscribe {:topics ["context/updated"]}
            {:kind :event :event "context/updated" :data {:active-session-id "S1" :sessions [{:id "S1" :item-kind "session" :name "a" :display-name "a" :worktree-path "ROOT/home/work" :runtime-state "waiting" :is-streaming false :is-active true :parent-session-id nil :created-at "TIME" :updated-at nil}] :session-tree-widget {:placement "left" :extension-id "psi-session" :widget-id "session-tree" :content-lines [{:text "a [S1-short] — HH:MM — ROOT/home/work ← current [waiting]" :runtime-state "waiting" :is-current true}]}} :id "x" :seq N :ts "TIME"}
            {:id "x" :kind :response :op "subscribe" :ok true :data {:subscribed ["context/updated"]}}
        set_session_name {:name "b"}
            {:kind :event :event "context/updated" :data {:active-session-id "S1" :sessions [{:id "S1" :item-kind "session" :name "b" :display-name "b" :worktree-path "ROOT/home/work" :runtime-state "waiting" :is-streaming false :is-active true :parent-session-id nil :created-at "TIME" :updated-at nil}] :session-tree-widget {:placement "left" :extension-id "psi-session" :widget-id "session-tree" :content-lines [{:text "b [S1-short] — HH:MM — ROOT/home/work ← current [waiting]" :runtime-state "waiting" :is-current true}]}} :seq N :ts "TIME"}
            {:id "x" :kind :response :op "set_session_name" :ok true :data {:session-name "b"}}
    "#]].assert_eq(&seen);
}

#[test]
fn section_9_1_topics_that_are_no_vector_are_invalid() {
    let mut client = Client::shaken(World::new(&[OK]));
    let seen = client.table(&[
        ("subscribe", r#"{:topics "assistant/delta"}"#),
        ("unsubscribe", r#"{:topics "assistant/delta"}"#),
        ("subscribe", r#"{:topics nil}"#),
        ("subscribe", r#"{:topics [3 nil "error"]}"#),
    ]);
    expect![[r#"
        subscribe {:topics "assistant/delta"}
            {:kind :error :error-code "request/invalid-params" :error-message ":topics must be a vector, found a string" :id "x" :op "subscribe"}
        unsubscribe {:topics "assistant/delta"}
            {:kind :error :error-code "request/invalid-params" :error-message ":topics must be a vector, found a string" :id "x" :op "unsubscribe"}
        subscribe {:topics nil}
            {:id "x" :kind :response :op "subscribe" :ok true :data {:subscribed []}}
        subscribe {:topics [3 nil "error"]}
            {:id "x" :kind :response :op "subscribe" :ok true :data {:subscribed ["error"]}}
    "#]].assert_eq(&seen);
}

#[test]
fn section_10_9_tool_delta_goes_only_to_who_names_it() {
    let script = r#"
[[turn]]
steps = [ { tool = "bash", id = "t1", arguments = { command = "true" } } ]
[[turn]]
steps = [ { text = "done" } ]
"#;
    let mut client = Client::shaken(World::new(&[script]));
    client.request(
        "s",
        "subscribe",
        r#"{:topics ["tool/delta" "session/updated" "footer/updated"]}"#,
    );
    shows(
        &client.run("go"),
        &expect![[r#"
        {:kind :event :event "session/updated" :data {… :session-display-name "go" :phase "streaming" :is-streaming true :status-session-line "session: S1 phase:streaming streaming:yes compacting:no pending:0 retry:0"} :id "run" :seq N :ts "TIME"}
        {:kind :event :event "footer/updated" :data {… :path-line "~/work • go" :stats-line STATS :usage-parts STATS} :id "run" :seq N :ts "TIME"}
        {:kind :event :event "tool/delta" :data {:session-id "S1" :tool-id "t1" :arguments "{\"command\":\"true\"}"} :id "run" :seq N :ts "TIME"}
        {:kind :event :event "footer/updated" :data {…} :id "run" :seq N :ts "TIME"}
        {:kind :event :event "session/updated" :data {… :phase "idle" :is-streaming false :status-session-line "session: S1 phase:idle streaming:no compacting:no pending:0 retry:0"} :id "run" :seq N :ts "TIME"}
        {:kind :event :event "footer/updated" :data {… :stats-line "?/200k (script) script-0 • thinking medium" :usage-parts ["?/200k"]} :id "run" :seq N :ts "TIME"}"#]],
    );
    let mut other = Client::shaken(World::new(&[script]));
    let seen = other.run("go");
    assert!(!seen.iter().any(|frame| frame.contains("tool/delta")));
}
