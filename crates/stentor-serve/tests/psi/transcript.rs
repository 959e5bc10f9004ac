//! The reference's start-up sequence and its complete session, frame by frame.

use expect_test::expect;

use super::client::{Client, EMACS_TOPICS};
use super::world::World;

const COUNTING: &str = r#"
[model]
id = "m-1"
reasoning = false
context_window = 200000
[[turn]]
usage = { input = 800, output = 30 }
steps = [
  { text = ["I will", " count them."] },
  { tool = "bash", id = "tc_1", arguments = { command = "ls tests | wc -l" } },
]
[[turn]]
usage = { input = 12, output = 11 }
steps = [ { text = "There are 12." } ]
"#;

fn world() -> World {
    let world = World::new(&[COUNTING]);
    for n in 0..12 {
        world.file(&format!("tests/{n}"), "");
    }
    world
}

#[test]
fn section_18_1_the_start_up_sequence() {
    let mut client = Client::start(world());
    client.shows_whole_snapshots = true;
    let mut seen = client.ask(
        r#"{:id "req-1" :kind :request :op "handshake" :params {:client-info {:name "psi-emacs" :version "0.1.0" :protocol-version "1.0" :features []}}}"#,
    );
    seen.extend(client.request("req-2", "subscribe", &format!("{{:topics {EMACS_TOPICS}}}")));
    seen.extend(client.ask(r#"{:id "req-3" :kind :request :op "get_messages"}"#));
    seen.extend(client.request(
        "req-4",
        "query_eql",
        r#"{:query "[:psi.extension/command-names :psi.agent-session/prompt-templates]"}"#,
    ));
    seen.extend(client.request("req-5", "query_eql", r#"{:query "[:psi.ui/widget-specs]"}"#));
    expect![[r#"
        {:id "req-1" :kind :response :op "handshake" :ok true :data {:server-info {:protocol-version "1.0" :features ["eql-graph" "eql-memory"] :session-id "S1" :model-id "m-1" :thinking-level "off" :ui-type :emacs}}}
        {:kind :event :event "footer/updated" :data {:session-id "S1" :path-line "~/work" :stats-line "?/200k (script) m-1" :status-line nil :usage-parts ["?/200k"] :model-text "(script) m-1" :session-activity-line nil :session-activity-buckets []} :seq N :ts "TIME"}
        {:kind :event :event "ui/widgets-updated" :data {:widgets []} :seq N :ts "TIME"}
        {:kind :event :event "ui/widget-specs-updated" :data {} :seq N :ts "TIME"}
        {:kind :event :event "ui/status-updated" :data {:statuses []} :seq N :ts "TIME"}
        {:kind :event :event "session/updated" :data {:session-id "S1" :session-file "FILE" :session-name nil :session-display-name nil :phase "idle" :is-streaming false :is-compacting false :pending-message-count 0 :retry-attempt 0 :retry nil :retry-deadline-ms nil :interrupt-pending false :model-provider "script" :model-id "m-1" :model-reasoning false :thinking-level "off" :effective-reasoning-effort nil :header-model-label "(script) m-1" :status-session-line "session: S1 phase:idle streaming:no compacting:no pending:0 retry:0" :extension-command-names [] :prompt-templates [] :builtin-command-specs [BUILTINS]} :id "req-2" :seq N :ts "TIME"}
        {:kind :event :event "footer/updated" :data {:session-id "S1" :path-line "~/work" :stats-line "?/200k (script) m-1" :status-line nil :usage-parts ["?/200k"] :model-text "(script) m-1" :session-activity-line nil :session-activity-buckets []} :id "req-2" :seq N :ts "TIME"}
        {:kind :event :event "context/updated" :data {:active-session-id "S1" :sessions [{:id "S1" :item-kind "session" :name nil :display-name nil :worktree-path "ROOT/home/work" :runtime-state "waiting" :is-streaming false :is-active true :parent-session-id nil :created-at "TIME" :updated-at nil}] :session-tree-widget {:placement "left" :extension-id "psi-session" :widget-id "session-tree" :content-lines [{:text "(session S1-short) [S1-short] — HH:MM — ROOT/home/work ← current [waiting]" :runtime-state "waiting" :is-current true}]}} :id "req-2" :seq N :ts "TIME"}
        {:id "req-2" :kind :response :op "subscribe" :ok true :data {:subscribed ["assistant/delta" "assistant/message" "assistant/thinking-delta" "command-result" "context/updated" "error" "footer/updated" "session/rehydrated" "session/resumed" "session/updated" "tool/executing" "tool/result" "tool/start" "tool/update" "ui/dialog-requested" "ui/frontend-action-requested" "ui/notification" "ui/status-updated" "ui/widget-specs-updated" "ui/widgets-updated"]}}
        {:id "req-3" :kind :response :op "get_messages" :ok true :data {:messages []}}
        {:id "req-4" :kind :response :op "query_eql" :ok true :data {:result {:psi.extension/command-names [] :psi.agent-session/prompt-templates []}}}
        {:id "req-5" :kind :response :op "query_eql" :ok true :data {:result {:psi.ui/widget-specs []}}}"#]].assert_eq(&seen.join("\n"));
}

#[test]
fn section_20_a_complete_short_session() {
    let mut client = Client::ready(world());
    client.shows_whole_snapshots = true;
    let mut seen = client.request("req-6", "prompt", r#"{:message "how many tests?"}"#);
    seen.extend(client.until_idle());
    seen.extend(client.request("req-7", "command", r#"{:text "/nope"}"#));
    expect![[r#"
        {:id "req-6" :kind :response :op "prompt" :ok true :data {:accepted true}}
        {:kind :event :event "session/updated" :data {:session-id "S1" :session-file "FILE" :session-name nil :session-display-name "how many tests?" :phase "streaming" :is-streaming true :is-compacting false :pending-message-count 0 :retry-attempt 0 :retry nil :retry-deadline-ms nil :interrupt-pending false :model-provider "script" :model-id "m-1" :model-reasoning false :thinking-level "off" :effective-reasoning-effort nil :header-model-label "(script) m-1" :status-session-line "session: S1 phase:streaming streaming:yes compacting:no pending:0 retry:0" :extension-command-names [] :prompt-templates [] :builtin-command-specs [BUILTINS]} :id "req-6" :seq N :ts "TIME"}
        {:kind :event :event "footer/updated" :data {:session-id "S1" :path-line "~/work • how many tests?" :stats-line STATS :status-line nil :usage-parts STATS :model-text "(script) m-1" :session-activity-line nil :session-activity-buckets []} :id "req-6" :seq N :ts "TIME"}
        {:kind :event :event "assistant/delta" :data {:session-id "S1" :text "I will count them."} :id "req-6" :seq N :ts "TIME"}
        {:kind :event :event "tool/start" :data {:session-id "S1" :tool-id "tc_1" :tool-name "bash" :call-summary "$ ls tests | wc -l"} :id "req-6" :seq N :ts "TIME"}
        {:kind :event :event "tool/executing" :data {:session-id "S1" :tool-id "tc_1" :tool-name "bash" :call-summary "$ ls tests | wc -l" :arguments "{\"command\":\"ls tests | wc -l\"}" :parsed-args {"command" "ls tests | wc -l"}} :id "req-6" :seq N :ts "TIME"}
        {:kind :event :event "tool/update" :data {:session-id "S1" :tool-id "tc_1" :tool-name "bash" :call-summary "$ ls tests | wc -l" :content [{:type :text :text "12\n"}] :result-text "12\n" :details {} :is-error false} :id "req-6" :seq N :ts "TIME"}
        {:kind :event :event "tool/result" :data {:session-id "S1" :tool-id "tc_1" :tool-name "bash" :call-summary "$ ls tests | wc -l" :content [{:type :text :text "12\n"}] :result-text "12\n" :details nil :is-error false} :id "req-6" :seq N :ts "TIME"}
        {:kind :event :event "footer/updated" :data {:session-id "S1" :path-line "~/work • how many tests?" :stats-line STATS :status-line nil :usage-parts STATS :model-text "(script) m-1" :session-activity-line nil :session-activity-buckets []} :id "req-6" :seq N :ts "TIME"}
        {:kind :event :event "assistant/delta" :data {:session-id "S1" :text "There are 12."} :id "req-6" :seq N :ts "TIME"}
        {:kind :event :event "assistant/message" :data {:session-id "S1" :role "assistant" :content [{:type :text :text "There are 12."}] :text "There are 12." :stop-reason :stop :usage {:input-tokens 12 :output-tokens 11 :cache-read-tokens 0 :cache-write-tokens 0 :total-tokens 23 :cost {:input 0.0 :output 0.0 :cache-read 0.0 :cache-write 0.0 :total 0.0}}} :id "req-6" :seq N :ts "TIME"}
        {:kind :event :event "session/updated" :data {:session-id "S1" :session-file "FILE" :session-name nil :session-display-name "how many tests?" :phase "idle" :is-streaming false :is-compacting false :pending-message-count 0 :retry-attempt 0 :retry nil :retry-deadline-ms nil :interrupt-pending false :model-provider "script" :model-id "m-1" :model-reasoning false :thinking-level "off" :effective-reasoning-effort nil :header-model-label "(script) m-1" :status-session-line "session: S1 phase:idle streaming:no compacting:no pending:0 retry:0" :extension-command-names [] :prompt-templates [] :builtin-command-specs [BUILTINS]} :id "req-6" :seq N :ts "TIME"}
        {:kind :event :event "footer/updated" :data {:session-id "S1" :path-line "~/work • how many tests?" :stats-line "↑812 ↓41 0.0%/200k (script) m-1" :status-line nil :usage-parts ["↑812" "↓41" "0.0%/200k"] :model-text "(script) m-1" :session-activity-line nil :session-activity-buckets []} :id "req-6" :seq N :ts "TIME"}
        {:kind :event :event "command-result" :data {:type "text" :message "[not a command] /nope"} :id "req-7" :seq N :ts "TIME"}
        {:kind :event :event "session/updated" :data {:session-id "S1" :session-file "FILE" :session-name nil :session-display-name "how many tests?" :phase "idle" :is-streaming false :is-compacting false :pending-message-count 0 :retry-attempt 0 :retry nil :retry-deadline-ms nil :interrupt-pending false :model-provider "script" :model-id "m-1" :model-reasoning false :thinking-level "off" :effective-reasoning-effort nil :header-model-label "(script) m-1" :status-session-line "session: S1 phase:idle streaming:no compacting:no pending:0 retry:0" :extension-command-names [] :prompt-templates [] :builtin-command-specs [BUILTINS]} :id "req-7" :seq N :ts "TIME"}
        {:kind :event :event "footer/updated" :data {:session-id "S1" :path-line "~/work • how many tests?" :stats-line "↑812 ↓41 0.0%/200k (script) m-1" :status-line nil :usage-parts ["↑812" "↓41" "0.0%/200k"] :model-text "(script) m-1" :session-activity-line nil :session-activity-buckets []} :id "req-7" :seq N :ts "TIME"}
        {:id "req-7" :kind :response :op "command" :ok true :data {:accepted true :handled true}}"#]].assert_eq(&seen.join("\n"));
    let (rest, code) = client.close();
    assert_eq!((rest, code), (vec![], 0));
}

#[test]
fn section_20_the_error_exchanges() {
    let mut client = Client::start(World::new(&[super::world::OK]));
    let mut seen = client.ask(r#"{:id "a" :kind :request :op "ping"}"#);
    seen.extend(client.ask(
        r#"{:id "h" :kind :request :op "handshake" :params {:client-info {:protocol-version "2.0"}}}"#,
    ));
    seen.extend(client.ask(
        r#"{:id "h" :kind :request :op "handshake" :params {:client-info {:protocol-version "1.0"}}}"#,
    ));
    client.send("not-edn");
    seen.push(client.frame());
    seen.extend(client.request("q", "query_eql", r#"{:query "{:a 1}"}"#));
    seen.extend(client.request("b", "telepathy", r#"{:command "ls"}"#));
    expect![[r#"
        {:kind :error :error-code "transport/not-ready" :error-message "handshake first" :id "a" :op "ping"}
        {:kind :error :error-code "protocol/unsupported-version" :error-message "unsupported protocol version 2.0; this side speaks 1.x" :id "h" :op "handshake"}
        {:id "h" :kind :response :op "handshake" :ok true :data {:server-info {:protocol-version "1.0" :features ["eql-graph" "eql-memory"] :session-id "S1" :model-id "m-1" :thinking-level "off" :ui-type :emacs}}}
        {:kind :error :error-code "protocol/invalid-envelope" :error-message "request frame must be a map, found a symbol"}
        {:kind :error :error-code "request/invalid-query" :error-message "the query must be a vector, found a map" :id "q" :op "query_eql"}
        {:kind :error :error-code "request/op-not-supported" :error-message "unsupported op: telepathy" :id "b" :op "telepathy" :data {:supported-ops ["handshake" "ping" "subscribe" "unsubscribe" "query_eql" "get_state" "get_messages" "get_session_stats" "list_sessions" "prompt" "prompt_while_streaming" "steer" "follow_up" "interrupt" "abort" "abort_retry" "command" "frontend_action_result" "new_session" "switch_session" "fork" "set_session_name" "set_model" "cycle_model" "set_thinking_level" "cycle_thinking_level" "compact" "set_auto_compaction" "set_auto_retry" "login_begin" "login_complete" "resolve_dialog" "cancel_dialog" "list_background_jobs" "inspect_background_job" "cancel_background_job" "bash" "abort_bash" "export_html" "get_fork_messages" "get_last_assistant_text" "get_commands" "get_available_models"]}}"#]].assert_eq(&seen.join("\n"));
}
