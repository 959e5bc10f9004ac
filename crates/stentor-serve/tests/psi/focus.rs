//! Section 7: several sessions at once, each connection looking at one.

use expect_test::expect;

use super::client::{Client, shows};
use super::world::{OK, World};

const SLOW: &str = r#"
[[turn]]
steps = [ { text = "Working." }, { tool = "bash", id = "t1", arguments = { command = "read x < gate; echo $x" } } ]
[[turn]]
steps = [ { text = "Finished." } ]
"#;

const TURN: &str = "[:psi.turn/phase :psi.turn/is-streaming :psi.turn/text {:psi.turn/tool-calls [:id :name :arguments]} :psi.turn/tool-call-count]";

#[test]
fn section_7_events_of_other_sessions_are_held_back_and_seen_after_switching() {
    let mut client = Client::ready(World::new(&[SLOW])).with_gate();
    client.request("p", "prompt", r#"{:message "go"}"#);
    client.until(&["tool/executing"]);
    let mut seen = client.request("n", "new_session", "{}");
    seen.extend(client.until(&["ui/status-updated"]));
    let first = client.session(1);
    // A query may be meant for it without moving the focus.
    let params = format!("{{:session-id {first:?} :query {TURN:?}}}");
    seen.extend(client.request("q", "query_eql", &params));
    client.open_gate();
    // It finishes unseen: nothing but answers comes.
    let params = format!("{{:session-id {first:?}}}");
    loop {
        client.send_request("g", "get_state", &params);
        let state = client.raw();
        assert!(state.starts_with("{:id \"g\""), "{state}");
        // The session is idle first, and what is told of it follows.
        if state.contains(":is-streaming false") && state.contains(":phase :idle") {
            break;
        }
    }
    seen.extend(client.request("s", "switch_session", &params));
    shows(
        &seen,
        &expect![[r#"
            {:kind :event :event "session/resumed" :data {:session-id "S2" :session-file "FILE" :message-count 0} :id "n" :seq N :ts "TIME"}
            {:kind :event :event "session/rehydrated" :data {:session-id "S2" :messages [] :tool-calls {} :tool-order []} :id "n" :seq N :ts "TIME"}
            {:kind :event :event "session/updated" :data {… :session-id "S2" :session-display-name nil :phase "idle" :is-streaming false :status-session-line "session: S2 phase:idle streaming:no compacting:no pending:0 retry:0"} :id "n" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {… :session-id "S2" :path-line "~/work" :stats-line "?/200k (script) script-0 • thinking medium" :usage-parts ["?/200k"] :session-activity-line "sessions: waiting S2-short · running go" :session-activity-buckets [{:state "waiting" :labels ["S2-short"]} {:state "running" :labels ["go"]}]} :id "n" :seq N :ts "TIME"}
            {:kind :event :event "context/updated" :data {:active-session-id "S2" :sessions [{:id "S2" :item-kind "session" :name nil :display-name nil :worktree-path "ROOT/home/work" :runtime-state "waiting" :is-streaming false :is-active true :parent-session-id nil :created-at "TIME" :updated-at nil} {:id "S1" :item-kind "session" :name nil :display-name "go" :worktree-path "ROOT/home/work" :runtime-state "running" :is-streaming true :is-active false :parent-session-id nil :created-at "TIME" :updated-at "TIME"}] :session-tree-widget {:placement "left" :extension-id "psi-session" :widget-id "session-tree" :content-lines [{:text "(session S2-short) [S2-short] — HH:MM — ROOT/home/work ← current [waiting]" :runtime-state "waiting" :is-current true} {:text "go [S1-short] — HH:MM / HH:MM — ROOT/home/work [running]" :runtime-state "running" :is-current false :action {:type "command" :command "/tree S1"}}]}} :id "n" :seq N :ts "TIME"}
            {:id "n" :kind :response :op "new_session" :ok true :data {:session-id "S2" :session-file "FILE"}}
            {:kind :event :event "context/updated" :data {:active-session-id "S2" :sessions [{:id "S2" :item-kind "session" :name nil :display-name nil :worktree-path "ROOT/home/work" :runtime-state "waiting" :is-streaming false :is-active true :parent-session-id nil :created-at "TIME" :updated-at nil} {:id "S1" :item-kind "session" :name nil :display-name "go" :worktree-path "ROOT/home/work" :runtime-state "running" :is-streaming true :is-active false :parent-session-id nil :created-at "TIME" :updated-at "TIME"}] :session-tree-widget {:placement "left" :extension-id "psi-session" :widget-id "session-tree" :content-lines [{:text "(session S2-short) [S2-short] — HH:MM — ROOT/home/work ← current [waiting]" :runtime-state "waiting" :is-current true} {:text "go [S1-short] — HH:MM / HH:MM — ROOT/home/work [running]" :runtime-state "running" :is-current false :action {:type "command" :command "/tree S1"}}]}} :seq N :ts "TIME"}
            {:kind :event :event "ui/widgets-updated" :data {:widgets []} :seq N :ts "TIME"}
            {:kind :event :event "ui/status-updated" :data {:statuses []} :seq N :ts "TIME"}
            {:id "q" :kind :response :op "query_eql" :ok true :data {:result {:psi.turn/phase :done :psi.turn/is-streaming true :psi.turn/text "Working." :psi.turn/tool-calls [{:id "t1" :name "bash" :arguments "{\"command\":\"read x < gate; echo $x\"}"}] :psi.turn/tool-call-count 1}}}
            {:kind :event :event "session/resumed" :data {:session-id "S1" :session-file "FILE" :message-count 4} :id "s" :seq N :ts "TIME"}
            {:kind :event :event "session/rehydrated" :data {:session-id "S1" :messages [{:role "user" :content [{:type :text :text "go"}] :timestamp "TIME"} {:role "assistant" :content [{:type :text :text "Working."} {:type :tool-call :id "t1" :name "bash" :arguments "{\"command\":\"read x < gate; echo $x\"}"}] :stop-reason :tool-use :timestamp "TIME"} {:role "toolResult" :content [{:type :text :text "go\n"}] :tool-call-id "t1" :tool-name "bash" :is-error false :details nil :result-text "go\n" :timestamp "TIME"} {:role "assistant" :content [{:type :text :text "Finished."}] :stop-reason :stop :timestamp "TIME"}] :tool-calls {} :tool-order []} :id "s" :seq N :ts "TIME"}
            {:kind :event :event "session/updated" :data {… :session-id "S1" :session-display-name "go" :status-session-line "session: S1 phase:idle streaming:no compacting:no pending:0 retry:0"} :id "s" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {… :session-id "S1" :path-line "~/work • go" :session-activity-line "sessions: waiting go, S2-short" :session-activity-buckets [{:state "waiting" :labels ["go" "S2-short"]}]} :id "s" :seq N :ts "TIME"}
            {:kind :event :event "context/updated" :data {:active-session-id "S1" :sessions [{:id "S2" :item-kind "session" :name nil :display-name nil :worktree-path "ROOT/home/work" :runtime-state "waiting" :is-streaming false :is-active false :parent-session-id nil :created-at "TIME" :updated-at nil} {:id "S1" :item-kind "session" :name nil :display-name "go" :worktree-path "ROOT/home/work" :runtime-state "waiting" :is-streaming false :is-active true :parent-session-id nil :created-at "TIME" :updated-at "TIME"}] :session-tree-widget {:placement "left" :extension-id "psi-session" :widget-id "session-tree" :content-lines [{:text "(session S2-short) [S2-short] — HH:MM — ROOT/home/work [waiting]" :runtime-state "waiting" :is-current false :action {:type "command" :command "/tree S2"}} {:text "go [S1-short] — HH:MM / HH:MM — ROOT/home/work ← current [waiting]" :runtime-state "waiting" :is-current true}]}} :id "s" :seq N :ts "TIME"}
            {:id "s" :kind :response :op "switch_session" :ok true :data {:session-id "S1" :session-file "FILE"}}"#]],
    );
}

#[test]
fn section_7_naming_a_session_moves_the_focus_only_where_the_reference_says() {
    let mut client = Client::ready(World::new(&[OK]));
    client.run("first");
    client.request("n", "new_session", "{}");
    client.until(&["ui/status-updated"]);
    let first = client.session(1);
    let of_first = format!("{{:session-id {first:?}}}");
    for op in [
        "get_messages",
        "get_state",
        "set_auto_retry",
        "interrupt",
        "abort",
        "steer",
    ] {
        let params = match op {
            "set_auto_retry" => format!("{{:session-id {first:?} :enabled true}}"),
            "steer" => format!("{{:session-id {first:?} :message \"x\"}}"),
            _ => of_first.clone(),
        };
        client.request("o", op, &params);
        let list = client.answer("list_sessions", "{}");
        assert!(list.contains(":active-session-id \"S2\""), "{op}: {list}");
    }
}

#[test]
fn several_sessions_run_at_once_and_each_is_aborted_alone() {
    let mut client = Client::ready(World::new(&[SLOW])).with_gate();
    client.request("p", "prompt", r#"{:message "one"}"#);
    client.until(&["tool/executing", "S1"]);
    client.request("n", "new_session", "{}");
    let mut seen = client.request("q", "prompt", r#"{:message "two"}"#);
    seen.extend(client.until(&["tool/executing", "S2"]));
    seen.extend(client.request("c", "command", r#"{:text "/nope"}"#));
    seen.extend(client.stop("abort"));
    let first = client.session(1);
    let state = client.raw_answer("get_state", &format!("{{:session-id {first:?}}}"));
    assert!(state.contains(":is-streaming true"), "{state}");
    shows(
        &seen,
        &expect![[r#"
            {:kind :event :event "context/updated" :data {:active-session-id "S2" :sessions [{:id "S2" :item-kind "session" :name nil :display-name nil :worktree-path "ROOT/home/work" :runtime-state "waiting" :is-streaming false :is-active true :parent-session-id nil :created-at "TIME" :updated-at nil} {:id "S1" :item-kind "session" :name nil :display-name "one" :worktree-path "ROOT/home/work" :runtime-state "running" :is-streaming true :is-active false :parent-session-id nil :created-at "TIME" :updated-at "TIME"}] :session-tree-widget {:placement "left" :extension-id "psi-session" :widget-id "session-tree" :content-lines [{:text "(session S2-short) [S2-short] — HH:MM — ROOT/home/work ← current [waiting]" :runtime-state "waiting" :is-current true} {:text "one [S1-short] — HH:MM / HH:MM — ROOT/home/work [running]" :runtime-state "running" :is-current false :action {:type "command" :command "/tree S1"}}]}} :seq N :ts "TIME"}
            {:kind :event :event "ui/widgets-updated" :data {:widgets []} :seq N :ts "TIME"}
            {:kind :event :event "ui/status-updated" :data {:statuses []} :seq N :ts "TIME"}
            {:id "q" :kind :response :op "prompt" :ok true :data {:accepted true}}
            {:kind :event :event "session/updated" :data {… :session-display-name "two" :phase "streaming" :is-streaming true :status-session-line "session: S2 phase:streaming streaming:yes compacting:no pending:0 retry:0"} :id "q" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {… :path-line "~/work • two" :stats-line STATS :usage-parts STATS :session-activity-line "sessions: running one, two" :session-activity-buckets [{:state "running" :labels ["one" "two"]}]} :id "q" :seq N :ts "TIME"}
            {:kind :event :event "assistant/delta" :data {:session-id "S2" :text "Working."} :id "q" :seq N :ts "TIME"}
            {:kind :event :event "tool/start" :data {:session-id "S2" :tool-id "t1" :tool-name "bash" :call-summary "$ read x < gate; echo $x"} :id "q" :seq N :ts "TIME"}
            {:kind :event :event "tool/executing" :data {:session-id "S2" :tool-id "t1" :tool-name "bash" :call-summary "$ read x < gate; echo $x" :arguments "{\"command\":\"read x < gate; echo $x\"}" :parsed-args {"command" "read x < gate; echo $x"}} :id "q" :seq N :ts "TIME"}
            {:kind :event :event "command-result" :data {:type "text" :message "[not a command] /nope"} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "session/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:id "c" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
            {:kind :event :event "tool/result" :data {:session-id "S2" :tool-id "t1" :tool-name "bash" :call-summary "$ read x < gate; echo $x" :content [{:type :text :text "Command aborted"}] :result-text "Command aborted" :details {} :is-error true} :id "q" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {…} :id "q" :seq N :ts "TIME"}
            {:kind :event :event "assistant/message" :data {:session-id "S2" :role "assistant" :content [{:type :error :text "Aborted"}] :text "[error] Aborted" :stop-reason :aborted :error-message "Aborted"} :id "q" :seq N :ts "TIME"}
            {:kind :event :event "session/updated" :data {… :phase "idle" :is-streaming false :status-session-line "session: S2 phase:idle streaming:no compacting:no pending:0 retry:0"} :id "q" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {… :stats-line "?/200k (script) script-0 • thinking medium" :usage-parts ["?/200k"] :session-activity-line "sessions: waiting two · running one" :session-activity-buckets [{:state "waiting" :labels ["two"]} {:state "running" :labels ["one"]}]} :id "q" :seq N :ts "TIME"}"#]],
    );
    client.request("s", "switch_session", &format!("{{:session-id {first:?}}}"));
    client.open_gate();
    let rest = client.until_idle();
    assert!(
        rest.iter().any(|frame| frame.contains("\"Finished.\"")),
        "{rest:?}"
    );
}
