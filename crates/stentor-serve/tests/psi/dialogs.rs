//! Sections 9.8, 10.10 to 10.15: what is shown to and asked of the person.

use expect_test::expect;
use stentor_policy::PermissionMode;

use super::client::{Client, shows};
use super::world::World;

fn script(arguments: &str) -> String {
    format!(
        "[[turn]]\nsteps = [ {{ tool = \"person\", id = \"t1\", arguments = {arguments} }} ]\n\
         [[turn]]\nsteps = [ {{ text = \"heard {{{{last_tool_result}}}}\" }} ]\n"
    )
}

/// A run that has asked.
fn asked(kind: &str) -> (Client, Vec<String>) {
    let script = script(&format!("{{ ask = \"{kind}\" }}"));
    let mut client = Client::ready(World::new(&[&script]));
    client.request("p", "prompt", r#"{:message "go"}"#);
    let seen = client.until(&["ui/dialog-requested"]);
    (client, seen)
}

#[test]
fn section_10_10_each_kind_of_dialog_is_asked_once_and_its_answer_reaches_who_asked() {
    let mut seen = Vec::new();
    for (kind, result) in [
        ("confirm", "true"),
        // A no comes as nil.
        ("confirm", "nil"),
        ("select", "\"blue\""),
        ("input", "\"Ann\""),
        ("input", "nil"),
    ] {
        let (mut client, mut asking) = asked(kind);
        seen.push(asking.pop().unwrap());
        let params = format!("{{:dialog-id \"dialog-1\" :result {result}}}");
        let (answer, run) = client.request_until_idle("resolve_dialog", &params);
        seen.push(answer);
        seen.extend(
            run.into_iter()
                .filter(|frame| frame.contains("assistant/message")),
        );
        seen.push(client.answer("resolve_dialog", &params));
    }
    shows(
        &seen,
        &expect![[r#"
        {:kind :event :event "ui/dialog-requested" :data {:dialog-id "dialog-1" :kind "confirm" :title "A question" :message "Really?"} :seq N :ts "TIME"}
        {:id "x" :kind :response :op "resolve_dialog" :ok true :data {:accepted true}}
        {:kind :event :event "assistant/message" :data {:session-id "S1" :role "assistant" :content [{:type :text :text "heard confirmed true"}] :text "heard confirmed true" :stop-reason :stop} :id "p" :seq N :ts "TIME"}
        {:kind :error :error-code "request/no-active-dialog" :error-message "no dialog is open" :id "x" :op "resolve_dialog"}
        {:kind :event :event "ui/dialog-requested" :data {:dialog-id "dialog-1" :kind "confirm" :title "A question" :message "Really?"} :seq N :ts "TIME"}
        {:id "x" :kind :response :op "resolve_dialog" :ok true :data {:accepted true}}
        {:kind :event :event "assistant/message" :data {:session-id "S1" :role "assistant" :content [{:type :text :text "heard confirmed false"}] :text "heard confirmed false" :stop-reason :stop} :id "p" :seq N :ts "TIME"}
        {:kind :error :error-code "request/no-active-dialog" :error-message "no dialog is open" :id "x" :op "resolve_dialog"}
        {:kind :event :event "ui/dialog-requested" :data {:dialog-id "dialog-1" :kind "select" :title "A question" :options [{:value "red" :label "RED"} {:value "blue" :label "BLUE"}]} :seq N :ts "TIME"}
        {:id "x" :kind :response :op "resolve_dialog" :ok true :data {:accepted true}}
        {:kind :event :event "assistant/message" :data {:session-id "S1" :role "assistant" :content [{:type :text :text "heard answered blue"}] :text "heard answered blue" :stop-reason :stop} :id "p" :seq N :ts "TIME"}
        {:kind :error :error-code "request/no-active-dialog" :error-message "no dialog is open" :id "x" :op "resolve_dialog"}
        {:kind :event :event "ui/dialog-requested" :data {:dialog-id "dialog-1" :kind "input" :title "A question" :placeholder "your name"} :seq N :ts "TIME"}
        {:id "x" :kind :response :op "resolve_dialog" :ok true :data {:accepted true}}
        {:kind :event :event "assistant/message" :data {:session-id "S1" :role "assistant" :content [{:type :text :text "heard answered Ann"}] :text "heard answered Ann" :stop-reason :stop} :id "p" :seq N :ts "TIME"}
        {:kind :error :error-code "request/no-active-dialog" :error-message "no dialog is open" :id "x" :op "resolve_dialog"}
        {:kind :event :event "ui/dialog-requested" :data {:dialog-id "dialog-1" :kind "input" :title "A question" :placeholder "your name"} :seq N :ts "TIME"}
        {:id "x" :kind :response :op "resolve_dialog" :ok true :data {:accepted true}}
        {:kind :event :event "assistant/message" :data {:session-id "S1" :role "assistant" :content [{:type :text :text "heard nothing"}] :text "heard nothing" :stop-reason :stop} :id "p" :seq N :ts "TIME"}
        {:kind :error :error-code "request/no-active-dialog" :error-message "no dialog is open" :id "x" :op "resolve_dialog"}"#]],
    );
}

#[test]
fn section_9_8_what_is_no_answer_leaves_the_dialog_open() {
    let (mut client, _) = asked("confirm");
    let seen = client.table(&[
        ("resolve_dialog", r#"{:result true}"#),
        ("resolve_dialog", r#"{:dialog-id "dialog-1"}"#),
        ("resolve_dialog", r#"{:dialog-id "dialog-1" :result 3}"#),
        ("resolve_dialog", r#"{:dialog-id "dialog-1" :result "yes"}"#),
        ("resolve_dialog", r#"{:dialog-id "other" :result true}"#),
        ("cancel_dialog", r#"{:dialog-id " "}"#),
        ("cancel_dialog", r#"{:dialog-id "other"}"#),
        ("cancel_dialog", r#"{:dialog-id "dialog-1"}"#),
        ("cancel_dialog", r#"{:dialog-id "dialog-1"}"#),
    ]);
    expect![[r#"
        resolve_dialog {:result true}
            {:kind :error :error-code "request/invalid-params" :error-message ":dialog-id is missing" :id "x" :op "resolve_dialog"}
        resolve_dialog {:dialog-id "dialog-1"}
            {:kind :error :error-code "request/invalid-params" :error-message ":result is missing" :id "x" :op "resolve_dialog"}
        resolve_dialog {:dialog-id "dialog-1" :result 3}
            {:kind :error :error-code "request/invalid-params" :error-message ":result must be a boolean, a string or nil, found an integer" :id "x" :op "resolve_dialog"}
        resolve_dialog {:dialog-id "dialog-1" :result "yes"}
            {:kind :error :error-code "request/invalid-params" :error-message ":result does not fit the dialog's kind" :id "x" :op "resolve_dialog"}
        resolve_dialog {:dialog-id "other" :result true}
            {:kind :error :error-code "request/dialog-id-mismatch" :error-message "other is not the dialog that is open" :id "x" :op "resolve_dialog"}
        cancel_dialog {:dialog-id " "}
            {:kind :error :error-code "request/invalid-params" :error-message ":dialog-id must not be blank" :id "x" :op "cancel_dialog"}
        cancel_dialog {:dialog-id "other"}
            {:kind :error :error-code "request/dialog-id-mismatch" :error-message "other is not the dialog that is open" :id "x" :op "cancel_dialog"}
        cancel_dialog {:dialog-id "dialog-1"}
            {:id "x" :kind :response :op "cancel_dialog" :ok true :data {:accepted true}}
        cancel_dialog {:dialog-id "dialog-1"}
            {:kind :error :error-code "request/no-active-dialog" :error-message "no dialog is open" :id "x" :op "cancel_dialog"}
    "#]].assert_eq(&seen);
}

#[test]
fn section_9_8_a_cancelled_dialog_is_answered_with_its_default() {
    let (mut client, _) = asked("input");
    let (answer, run) = client.request_until_idle("cancel_dialog", r#"{:dialog-id "dialog-1"}"#);
    let mut seen = vec![answer];
    seen.extend(
        run.into_iter()
            .filter(|frame| frame.contains("assistant/message")),
    );
    shows(
        &seen,
        &expect![[r#"
        {:id "x" :kind :response :op "cancel_dialog" :ok true :data {:accepted true}}
        {:kind :event :event "assistant/message" :data {:session-id "S1" :role "assistant" :content [{:type :text :text "heard nothing"}] :text "heard nothing" :stop-reason :stop} :id "p" :seq N :ts "TIME"}"#]],
    );
}

#[test]
fn section_10_10_an_open_dialog_is_in_the_snapshot_of_a_subscriber() {
    let (mut client, _) = asked("select");
    let seen = client.request("s", "subscribe", r#"{:topics ["ui/dialog-requested"]}"#);
    shows(
        &seen,
        &expect![[r#"
        {:kind :event :event "ui/dialog-requested" :data {:dialog-id "dialog-1" :kind "select" :title "A question" :options [{:value "red" :label "RED"} {:value "blue" :label "BLUE"}]} :seq N :ts "TIME"}
        {:kind :event :event "ui/widgets-updated" :data {:widgets []} :seq N :ts "TIME"}
        {:kind :event :event "ui/widget-specs-updated" :data {} :seq N :ts "TIME"}
        {:kind :event :event "ui/status-updated" :data {:statuses []} :seq N :ts "TIME"}
        {:kind :event :event "session/updated" :data {…} :id "s" :seq N :ts "TIME"}
        {:kind :event :event "footer/updated" :data {…} :id "s" :seq N :ts "TIME"}
        {:kind :event :event "context/updated" :data {:active-session-id "S1" :sessions [{:id "S1" :item-kind "session" :name nil :display-name "go" :worktree-path "ROOT/home/work" :runtime-state "running" :is-streaming true :is-active true :parent-session-id nil :created-at "TIME" :updated-at "TIME"}] :session-tree-widget {:placement "left" :extension-id "psi-session" :widget-id "session-tree" :content-lines [{:text "go [S1-short] — HH:MM / HH:MM — ROOT/home/work ← current [running]" :runtime-state "running" :is-current true}]}} :id "s" :seq N :ts "TIME"}
        {:id "s" :kind :response :op "subscribe" :ok true :data {:subscribed ["assistant/delta" "assistant/message" "assistant/thinking-delta" "command-result" "context/updated" "error" "footer/updated" "session/rehydrated" "session/resumed" "session/updated" "tool/executing" "tool/result" "tool/start" "tool/update" "ui/dialog-requested" "ui/frontend-action-requested" "ui/notification" "ui/status-updated" "ui/widget-specs-updated" "ui/widgets-updated"]}}"#]],
    );
}

#[test]
fn section_8_a_client_that_shows_no_dialogs_is_not_asked() {
    let mut client = Client::shaken(World::new(&[&script("{ ask = \"input\" }")]));
    shows(
        &client.run("go"),
        &expect![[r#"
        {:kind :event :event "session/updated" :data {:session-id "S1" :session-file "FILE" :session-name nil :session-display-name "go" :phase "streaming" :is-streaming true :is-compacting false :pending-message-count 0 :retry-attempt 0 :retry nil :retry-deadline-ms nil :interrupt-pending false :model-provider "script" :model-id "script-0" :model-reasoning true :thinking-level "medium" :effective-reasoning-effort "medium" :header-model-label "(script) script-0 • thinking medium" :status-session-line "session: S1 phase:streaming streaming:yes compacting:no pending:0 retry:0" :extension-command-names [] :prompt-templates [] :builtin-command-specs [BUILTINS]} :id "run" :seq N :ts "TIME"}
        {:kind :event :event "footer/updated" :data {:session-id "S1" :path-line "~/work • go" :stats-line STATS :status-line nil :usage-parts STATS :model-text "(script) script-0 • thinking medium" :session-activity-line nil :session-activity-buckets []} :id "run" :seq N :ts "TIME"}
        {:kind :event :event "tool/start" :data {:session-id "S1" :tool-id "t1" :tool-name "person" :call-summary "person"} :id "run" :seq N :ts "TIME"}
        {:kind :event :event "tool/executing" :data {:session-id "S1" :tool-id "t1" :tool-name "person" :call-summary "person" :arguments "{\"ask\":\"input\"}" :parsed-args {"ask" "input"}} :id "run" :seq N :ts "TIME"}
        {:kind :event :event "tool/result" :data {:session-id "S1" :tool-id "t1" :tool-name "person" :call-summary "person" :content [{:type :text :text "nothing"}] :result-text "nothing" :details nil :is-error false} :id "run" :seq N :ts "TIME"}
        {:kind :event :event "footer/updated" :data {…} :id "run" :seq N :ts "TIME"}
        {:kind :event :event "assistant/delta" :data {:session-id "S1" :text "heard nothing"} :id "run" :seq N :ts "TIME"}
        {:kind :event :event "assistant/message" :data {:session-id "S1" :role "assistant" :content [{:type :text :text "heard nothing"}] :text "heard nothing" :stop-reason :stop} :id "run" :seq N :ts "TIME"}
        {:kind :event :event "session/updated" :data {… :phase "idle" :is-streaming false :status-session-line "session: S1 phase:idle streaming:no compacting:no pending:0 retry:0"} :id "run" :seq N :ts "TIME"}
        {:kind :event :event "footer/updated" :data {… :stats-line "?/200k (script) script-0 • thinking medium" :usage-parts ["?/200k"]} :id "run" :seq N :ts "TIME"}"#]],
    );
}

#[test]
fn a_permission_is_asked_as_a_selection() {
    let script = r#"
[[turn]]
steps = [ { tool = "bash", id = "t1", arguments = { command = "echo yes" } } ]
[[turn]]
steps = [ { text = "heard {{last_tool_result}}" } ]
"#;
    let mut world = World::new(&[script]);
    world.permission_mode = PermissionMode::Ask;
    let mut client = Client::ready(world);
    client.request("p", "prompt", r#"{:message "go"}"#);
    let mut seen = vec![client.until(&["ui/dialog-requested"]).pop().unwrap()];
    seen.push(client.answer(
        "resolve_dialog",
        r#"{:dialog-id "dialog-1" :result "maybe"}"#,
    ));
    let allow = r#"{:dialog-id "dialog-1" :result "allow-once"}"#;
    let (answer, run) = client.request_until_idle("resolve_dialog", allow);
    seen.push(answer);
    seen.extend(
        run.into_iter()
            .filter(|frame| frame.contains("assistant/message")),
    );
    shows(
        &seen,
        &expect![[r#"
        {:kind :event :event "ui/dialog-requested" :data {:dialog-id "dialog-1" :kind "select" :title "Permission for bash" :message "Allow $ echo yes? bash `echo yes` runs programs" :options [{:value "allow-once" :label "Allow once"} {:value "allow-always" :label "Always allow commands that start with `echo`"} {:value "reject-once" :label "Reject"} {:value "reject-always" :label "Always reject commands that start with `echo yes`"}]} :seq N :ts "TIME"}
        {:kind :error :error-code "request/invalid-params" :error-message ":result does not fit the dialog's kind" :id "x" :op "resolve_dialog"}
        {:id "x" :kind :response :op "resolve_dialog" :ok true :data {:accepted true}}
        {:kind :event :event "assistant/message" :data {:session-id "S1" :role "assistant" :content [{:type :text :text "heard yes\n"}] :text "heard yes\n" :stop-reason :stop} :id "p" :seq N :ts "TIME"}"#]],
    );
}

#[test]
fn section_17_statuses_widgets_and_notices_are_told_and_found_by_a_later_subscriber() {
    let arguments = r#"{ status = "busy  here", widget = "one\ntwo", notice = "mind" }"#;
    let mut client = Client::ready(World::new(&[&script(arguments)]));
    let mut seen = client.run("go");
    seen.extend(client.request("s", "subscribe", r#"{:topics ["ui/notification"]}"#));
    let query = r#"{:query "[:psi.ui/statuses :psi.ui/widgets :psi.ui/visible-notifications :psi.ui/active-dialog :psi.ui/pending-dialog-count :psi.ui/dialog-queue-empty?]"}"#;
    seen.push(client.answer("query_eql", query));
    shows(
        &seen,
        &expect![[r#"
        {:kind :event :event "session/updated" :data {… :session-display-name "go" :phase "streaming" :is-streaming true :status-session-line "session: S1 phase:streaming streaming:yes compacting:no pending:0 retry:0"} :id "run" :seq N :ts "TIME"}
        {:kind :event :event "footer/updated" :data {… :path-line "~/work • go" :stats-line STATS :usage-parts STATS} :id "run" :seq N :ts "TIME"}
        {:kind :event :event "tool/start" :data {:session-id "S1" :tool-id "t1" :tool-name "person" :call-summary "person"} :id "run" :seq N :ts "TIME"}
        {:kind :event :event "tool/executing" :data {:session-id "S1" :tool-id "t1" :tool-name "person" :call-summary "person" :arguments "{\"notice\":\"mind\",\"status\":\"busy  here\",\"widget\":\"one\\ntwo\"}" :parsed-args {"notice" "mind" "status" "busy  here" "widget" "one\ntwo"}} :id "run" :seq N :ts "TIME"}
        {:kind :event :event "ui/status-updated" :data {:statuses [{:extension-id "ext" :text "busy  here"}]} :seq N :ts "TIME"}
        {:kind :event :event "ui/widgets-updated" :data {:widgets [{:extension-id "ext" :widget-id "ext" :placement :below-editor :content ["one" "two"] :content-lines [{:text "one"} {:text "two"}]}]} :seq N :ts "TIME"}
        {:kind :event :event "ui/notification" :data {:id "notification-1" :message "mind" :level "warning"} :seq N :ts "TIME"}
        {:kind :event :event "tool/result" :data {:session-id "S1" :tool-id "t1" :tool-name "person" :call-summary "person" :content [{:type :text :text "done"}] :result-text "done" :details nil :is-error false} :id "run" :seq N :ts "TIME"}
        {:kind :event :event "footer/updated" :data {… :status-line "busy here"} :id "run" :seq N :ts "TIME"}
        {:kind :event :event "assistant/delta" :data {:session-id "S1" :text "heard done"} :id "run" :seq N :ts "TIME"}
        {:kind :event :event "assistant/message" :data {:session-id "S1" :role "assistant" :content [{:type :text :text "heard done"}] :text "heard done" :stop-reason :stop} :id "run" :seq N :ts "TIME"}
        {:kind :event :event "session/updated" :data {… :phase "idle" :is-streaming false :status-session-line "session: S1 phase:idle streaming:no compacting:no pending:0 retry:0"} :id "run" :seq N :ts "TIME"}
        {:kind :event :event "footer/updated" :data {… :stats-line "?/200k (script) script-0 • thinking medium" :usage-parts ["?/200k"]} :id "run" :seq N :ts "TIME"}
        {:kind :event :event "ui/widgets-updated" :data {:widgets [{:extension-id "ext" :widget-id "ext" :placement :below-editor :content ["one" "two"] :content-lines [{:text "one"} {:text "two"}]}]} :seq N :ts "TIME"}
        {:kind :event :event "ui/widget-specs-updated" :data {} :seq N :ts "TIME"}
        {:kind :event :event "ui/status-updated" :data {:statuses [{:extension-id "ext" :text "busy  here"}]} :seq N :ts "TIME"}
        {:kind :event :event "ui/notification" :data {:id "notification-1" :message "mind" :level "warning"} :seq N :ts "TIME"}
        {:kind :event :event "session/updated" :data {…} :id "s" :seq N :ts "TIME"}
        {:kind :event :event "footer/updated" :data {…} :id "s" :seq N :ts "TIME"}
        {:kind :event :event "context/updated" :data {:active-session-id "S1" :sessions [{:id "S1" :item-kind "session" :name nil :display-name "go" :worktree-path "ROOT/home/work" :runtime-state "waiting" :is-streaming false :is-active true :parent-session-id nil :created-at "TIME" :updated-at "TIME"}] :session-tree-widget {:placement "left" :extension-id "psi-session" :widget-id "session-tree" :content-lines [{:text "go [S1-short] — HH:MM / HH:MM — ROOT/home/work ← current [waiting]" :runtime-state "waiting" :is-current true}]}} :id "s" :seq N :ts "TIME"}
        {:id "s" :kind :response :op "subscribe" :ok true :data {:subscribed ["assistant/delta" "assistant/message" "assistant/thinking-delta" "command-result" "context/updated" "error" "footer/updated" "session/rehydrated" "session/resumed" "session/updated" "tool/executing" "tool/result" "tool/start" "tool/update" "ui/dialog-requested" "ui/frontend-action-requested" "ui/notification" "ui/status-updated" "ui/widget-specs-updated" "ui/widgets-updated"]}}
        {:id "x" :kind :response :op "query_eql" :ok true :data {:result {:psi.ui/statuses [{:extension-id "ext" :text "busy  here"}] :psi.ui/widgets [{:extension-id "ext" :widget-id "ext" :placement :below-editor :content ["one" "two"] :content-lines [{:text "one"} {:text "two"}]}] :psi.ui/visible-notifications [{:id "notification-1" :message "mind" :level "warning"}] :psi.ui/active-dialog nil :psi.ui/pending-dialog-count 0 :psi.ui/dialog-queue-empty? true}}}"#]],
    );
}
