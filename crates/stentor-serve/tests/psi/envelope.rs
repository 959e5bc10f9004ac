//! Sections 4, 5 and 6: what is refused, in which order, and what stays pending.

use std::time::Duration;

use expect_test::expect;

use super::client::{Client, shows};
use super::world::{OK, World};

/// Sends each line and shows the one frame that answers it.
fn refusals(client: &mut Client, lines: &[&str]) -> String {
    let mut seen = String::new();
    for line in lines {
        client.send(line);
        seen.push_str(&format!("{line:?}\n    {}\n", client.frame()));
    }
    seen
}

#[test]
fn section_4_checks_1_to_3_the_line_is_one_readable_map() {
    let mut client = Client::shaken(World::new(&[OK]));
    let seen = refusals(
        &mut client,
        &[
            "",
            "   ",
            "{:id \"a\"",
            "{:a 1 :a 2}",
            "{:a #what 1}",
            "{:a}",
            "{} {}",
            "nil",
            "not-edn",
            "[1 2]",
        ],
    );
    expect![[r#"
        ""
            {:kind :error :error-code "transport/invalid-frame" :error-message "unreadable frame: no form at byte 0"}
        "   "
            {:kind :error :error-code "transport/invalid-frame" :error-message "unreadable frame: no form at byte 0"}
        "{:id \"a\""
            {:kind :error :error-code "transport/invalid-frame" :error-message "unreadable frame: map is not closed at byte 0"}
        "{:a 1 :a 2}"
            {:kind :error :error-code "transport/invalid-frame" :error-message "unreadable frame: map with a key that occurs twice at byte 0"}
        "{:a #what 1}"
            {:kind :error :error-code "transport/invalid-frame" :error-message "unreadable frame: unknown tag at byte 4"}
        "{:a}"
            {:kind :error :error-code "transport/invalid-frame" :error-message "unreadable frame: map with a key without a value at byte 0"}
        "{} {}"
            {:kind :error :error-code "transport/invalid-frame" :error-message "unreadable frame: a second form at byte 3"}
        "nil"
            {:kind :error :error-code "protocol/invalid-envelope" :error-message "request frame must be a map, found nil"}
        "not-edn"
            {:kind :error :error-code "protocol/invalid-envelope" :error-message "request frame must be a map, found a symbol"}
        "[1 2]"
            {:kind :error :error-code "protocol/invalid-envelope" :error-message "request frame must be a map, found a vector"}
    "#]].assert_eq(&seen);
}

#[test]
fn section_4_checks_4_to_6_the_envelope_has_its_keys_and_no_others() {
    let mut client = Client::shaken(World::new(&[OK]));
    let seen = refusals(
        &mut client,
        &[
            r#"{:id "a" :op "ping"}"#,
            r#"{:id "a" :op "ping" :kind :response}"#,
            r#"{:id "a" :op "ping" :kind nil}"#,
            r#"{:kind :request :op "ping"}"#,
            r#"{:kind :request :id "a"}"#,
            r#"{:kind :request :id "a" :op "ping" :extra 1}"#,
            r#"{:kind :request :id "a" :op "ping" "params" {}}"#,
        ],
    );
    expect![[r#"
        "{:id \"a\" :op \"ping\"}"
            {:kind :error :error-code "protocol/invalid-envelope" :error-message "the :kind of a request must be :request" :id "a" :op "ping"}
        "{:id \"a\" :op \"ping\" :kind :response}"
            {:kind :error :error-code "protocol/invalid-envelope" :error-message "the :kind of a request must be :request" :id "a" :op "ping"}
        "{:id \"a\" :op \"ping\" :kind nil}"
            {:kind :error :error-code "protocol/invalid-envelope" :error-message "the :kind of a request must be :request" :id "a" :op "ping"}
        "{:kind :request :op \"ping\"}"
            {:kind :error :error-code "protocol/invalid-envelope" :error-message "the request has no :id" :op "ping"}
        "{:kind :request :id \"a\"}"
            {:kind :error :error-code "protocol/invalid-envelope" :error-message "the request has no :op" :id "a"}
        "{:kind :request :id \"a\" :op \"ping\" :extra 1}"
            {:kind :error :error-code "protocol/invalid-envelope" :error-message "the request has the key :extra; only :id, :kind, :op and :params are allowed" :id "a" :op "ping"}
        "{:kind :request :id \"a\" :op \"ping\" \"params\" {}}"
            {:kind :error :error-code "protocol/invalid-envelope" :error-message "the request has the key (a string); only :id, :kind, :op and :params are allowed" :id "a" :op "ping"}
    "#]].assert_eq(&seen);
}

#[test]
fn section_4_check_7_precedes_the_checks_of_id_and_op() {
    let mut client = Client::start(World::new(&[OK]));
    let seen = refusals(
        &mut client,
        &[
            r#"{:kind :request :id 7 :op "ping"}"#,
            r#"{:kind :request :id "a" :op 3}"#,
            r#"{:kind :request :id "a" :op "telepathy"}"#,
            // The checks before it are made before a handshake, too.
            r#"{:kind :request :id "a" :op "ping" :extra 1}"#,
        ],
    );
    expect![[r#"
        "{:kind :request :id 7 :op \"ping\"}"
            {:kind :error :error-code "transport/not-ready" :error-message "handshake first" :op "ping"}
        "{:kind :request :id \"a\" :op 3}"
            {:kind :error :error-code "transport/not-ready" :error-message "handshake first" :id "a"}
        "{:kind :request :id \"a\" :op \"telepathy\"}"
            {:kind :error :error-code "transport/not-ready" :error-message "handshake first" :id "a" :op "telepathy"}
        "{:kind :request :id \"a\" :op \"ping\" :extra 1}"
            {:kind :error :error-code "protocol/invalid-envelope" :error-message "the request has the key :extra; only :id, :kind, :op and :params are allowed" :id "a" :op "ping"}
    "#]].assert_eq(&seen);
}

#[test]
fn section_4_checks_8_and_9_id_and_op_are_strings_with_something_in_them() {
    let mut client = Client::shaken(World::new(&[OK]));
    let seen = refusals(
        &mut client,
        &[
            r#"{:kind :request :id 7 :op "ping"}"#,
            r#"{:kind :request :id nil :op "ping"}"#,
            r#"{:kind :request :id "  " :op "ping"}"#,
            r#"{:kind :request :id "a" :op 3}"#,
            r#"{:kind :request :id "a" :op " "}"#,
            r#"{:kind :request :id "a" :op :ping}"#,
        ],
    );
    expect![[r#"
        "{:kind :request :id 7 :op \"ping\"}"
            {:kind :error :error-code "request/invalid-id" :error-message "the :id must be a non-empty string" :op "ping"}
        "{:kind :request :id nil :op \"ping\"}"
            {:kind :error :error-code "request/invalid-id" :error-message "the :id must be a non-empty string" :op "ping"}
        "{:kind :request :id \"  \" :op \"ping\"}"
            {:kind :error :error-code "request/invalid-id" :error-message "the :id must be a non-empty string" :id "  " :op "ping"}
        "{:kind :request :id \"a\" :op 3}"
            {:kind :error :error-code "request/invalid-op" :error-message "the :op must be a non-empty string" :id "a"}
        "{:kind :request :id \"a\" :op \" \"}"
            {:kind :error :error-code "request/invalid-op" :error-message "the :op must be a non-empty string" :id "a" :op " "}
        "{:kind :request :id \"a\" :op :ping}"
            {:kind :error :error-code "request/invalid-op" :error-message "the :op must be a non-empty string" :id "a"}
    "#]].assert_eq(&seen);
}

#[test]
fn section_4_checks_13_to_16_params_session_and_op_of_an_accepted_request() {
    let mut client = Client::shaken(World::new(&[OK]));
    let seen = refusals(
        &mut client,
        &[
            r#"{:kind :request :id "a" :op "ping" :params [1]}"#,
            // Check 13 precedes 16.
            r#"{:kind :request :id "a" :op "telepathy" :params "x"}"#,
            r#"{:kind :request :id "a" :op "get_state" :params {:session-id 7}}"#,
            r#"{:kind :request :id "a" :op "get_state" :params {:session-id " "}}"#,
            r#"{:kind :request :id "a" :op "get_state" :params {:session-id "nobody"}}"#,
            r#"{:kind :request :id "a" :op "telepathy"}"#,
            // None of them keeps its id, and the connection lives on.
            r#"{:kind :request :id "a" :op "ping" :params nil}"#,
            // These take no session: what is under that name is not looked at.
            r#"{:kind :request :id "a" :op "ping" :params {:session-id 7}}"#,
        ],
    );
    expect![[r#"
        "{:kind :request :id \"a\" :op \"ping\" :params [1]}"
            {:kind :error :error-code "request/invalid-params" :error-message ":params must be a map, found a vector" :id "a" :op "ping"}
        "{:kind :request :id \"a\" :op \"telepathy\" :params \"x\"}"
            {:kind :error :error-code "request/invalid-params" :error-message ":params must be a map, found a string" :id "a" :op "telepathy"}
        "{:kind :request :id \"a\" :op \"get_state\" :params {:session-id 7}}"
            {:kind :error :error-code "request/invalid-params" :error-message ":session-id must be a non-blank string" :id "a" :op "get_state"}
        "{:kind :request :id \"a\" :op \"get_state\" :params {:session-id \" \"}}"
            {:kind :error :error-code "request/invalid-params" :error-message ":session-id must be a non-blank string" :id "a" :op "get_state"}
        "{:kind :request :id \"a\" :op \"get_state\" :params {:session-id \"nobody\"}}"
            {:kind :error :error-code "request/not-found" :error-message "there is no session nobody" :id "a" :op "get_state"}
        "{:kind :request :id \"a\" :op \"telepathy\"}"
            {:kind :error :error-code "request/op-not-supported" :error-message "unsupported op: telepathy" :id "a" :op "telepathy" :data {:supported-ops ["handshake" "ping" "subscribe" "unsubscribe" "query_eql" "get_state" "get_messages" "get_session_stats" "list_sessions" "prompt" "prompt_while_streaming" "steer" "follow_up" "interrupt" "abort" "abort_retry" "command" "frontend_action_result" "new_session" "switch_session" "fork" "set_session_name" "set_model" "cycle_model" "set_thinking_level" "cycle_thinking_level" "compact" "set_auto_compaction" "set_auto_retry" "login_begin" "login_complete" "resolve_dialog" "cancel_dialog" "list_background_jobs" "inspect_background_job" "cancel_background_job" "bash" "abort_bash" "export_html" "get_fork_messages" "get_last_assistant_text" "get_commands" "get_available_models"]}}
        "{:kind :request :id \"a\" :op \"ping\" :params nil}"
            {:id "a" :kind :response :op "ping" :ok true :data {:pong true :protocol-version "1.0"}}
        "{:kind :request :id \"a\" :op \"ping\" :params {:session-id 7}}"
            {:id "a" :kind :response :op "ping" :ok true :data {:pong true :protocol-version "1.0"}}
    "#]].assert_eq(&seen);
}

#[test]
fn section_1_lines_that_are_too_long_or_not_utf8_are_skipped_with_an_answer() {
    let mut client = Client::shaken(World::new(&[OK]));
    client.send_bytes(b"{:id \"\xff\"}\n");
    let mut seen = vec![client.frame()];
    let long = vec![b'x'; 16 * 1024 * 1024 + 1];
    client.send_bytes(&long);
    client.send_bytes(b"\r\n");
    seen.push(client.frame());
    client.send_bytes(b"{:kind \"request\", :id \"c\", :op \"ping\"}\r\n");
    seen.push(client.frame());
    shows(
        &seen,
        &expect![[r#"
        {:kind :error :error-code "transport/invalid-frame" :error-message "the line is not UTF-8 and was skipped"}
        {:kind :error :error-code "transport/invalid-frame" :error-message "the line is longer than 16 MiB and was skipped"}
        {:id "c" :kind :response :op "ping" :ok true :data {:pong true :protocol-version "1.0"}}"#]],
    );
}

#[test]
fn section_1_a_line_may_be_sixteen_megabytes_long() {
    let mut client = Client::shaken(World::new(&[OK]));
    let start = r#"{:kind :request :id "c" :op "ping" :params {:echo ""#;
    let end = r#""}}"#;
    let filling = "x".repeat(16 * 1024 * 1024 - start.len() - end.len());
    client.send(&format!("{start}{filling}{end}"));
    shows(
        &[client.frame()],
        &expect![[
            r#"{:id "c" :kind :response :op "ping" :ok true :data {:pong true :protocol-version "1.0"}}"#
        ]],
    );
}

#[test]
fn section_5_versions_and_what_a_refused_one_does() {
    let mut client = Client::start(World::new(&[OK]));
    let seen = client.table(&[
        ("handshake", "{}"),
        ("handshake", "{:client-info {:protocol-version 1}}"),
        ("handshake", r#"{:client-info {:protocol-version "v1"}}"#),
        ("handshake", r#"{:client-info {:protocol-version "2.0"}}"#),
        (
            "handshake",
            r#"{:client-info {:protocol-version "11111111111111111111111111111111111111111111111111111111"}}"#,
        ),
        ("ping", "{}"),
        ("handshake", r#"{:protocol-version "1.7"}"#),
        ("handshake", r#"{:client-info {:protocol-version "1"}}"#),
        ("ping", "{}"),
        // On a ready connection it makes it non-ready; the pipe stays open.
        ("handshake", r#"{:client-info {:protocol-version "3"}}"#),
        ("ping", "{}"),
        ("handshake", r#"{:client-info {:protocol-version "1.0"}}"#),
        ("ping", "{}"),
    ]);
    expect![[r#"
        handshake {}
            {:kind :error :error-code "request/invalid-params" :error-message ":client-info must have a :protocol-version that is a string" :id "x" :op "handshake"}
        handshake {:client-info {:protocol-version 1}}
            {:kind :error :error-code "request/invalid-params" :error-message ":client-info must have a :protocol-version that is a string" :id "x" :op "handshake"}
        handshake {:client-info {:protocol-version "v1"}}
            {:kind :error :error-code "protocol/unsupported-version" :error-message "unsupported protocol version v1; this side speaks 1.x" :id "x" :op "handshake"}
        handshake {:client-info {:protocol-version "2.0"}}
            {:kind :error :error-code "protocol/unsupported-version" :error-message "unsupported protocol version 2.0; this side speaks 1.x" :id "x" :op "handshake"}
        handshake {:client-info {:protocol-version "11111111111111111111111111111111111111111111111111111111"}}
            {:kind :error :error-code "protocol/unsupported-version" :error-message "unsupported protocol version 1111111111111111111111111111111111111111; this side speaks 1.x" :id "x" :op "handshake"}
        ping {}
            {:kind :error :error-code "transport/not-ready" :error-message "handshake first" :id "x" :op "ping"}
        handshake {:protocol-version "1.7"}
            {:id "x" :kind :response :op "handshake" :ok true :data {:server-info {:protocol-version "1.0" :features ["eql-graph" "eql-memory"] :session-id "S1" :model-id "m-1" :thinking-level "off" :ui-type :emacs}}}
        handshake {:client-info {:protocol-version "1"}}
            {:id "x" :kind :response :op "handshake" :ok true :data {:server-info {:protocol-version "1.0" :features ["eql-graph" "eql-memory"] :session-id "S1" :model-id "m-1" :thinking-level "off" :ui-type :emacs}}}
        ping {}
            {:id "x" :kind :response :op "ping" :ok true :data {:pong true :protocol-version "1.0"}}
        handshake {:client-info {:protocol-version "3"}}
            {:kind :error :error-code "protocol/unsupported-version" :error-message "unsupported protocol version 3; this side speaks 1.x" :id "x" :op "handshake"}
        ping {}
            {:kind :error :error-code "transport/not-ready" :error-message "handshake first" :id "x" :op "ping"}
        handshake {:client-info {:protocol-version "1.0"}}
            {:id "x" :kind :response :op "handshake" :ok true :data {:server-info {:protocol-version "1.0" :features ["eql-graph" "eql-memory"] :session-id "S1" :model-id "m-1" :thinking-level "off" :ui-type :emacs}}}
        ping {}
            {:id "x" :kind :response :op "ping" :ok true :data {:pong true :protocol-version "1.0"}}
    "#]].assert_eq(&seen);
}

#[test]
fn section_5_the_handshake_sends_no_events() {
    let client = Client::shaken(World::new(&[OK]));
    let (rest, code) = client.close();
    assert_eq!((rest, code), (vec![], 0));
}

#[test]
fn section_6_an_id_is_pending_until_it_is_answered_and_there_is_a_limit() {
    let mut world = World::new(&[OK]);
    world.max_pending = 3;
    // The commands go on for that long after the end of the input.
    world.grace = Duration::from_secs(1);
    let mut client = Client::shaken(world).with_gate();
    for id in ["a", "b", "c"] {
        client.send_request(id, "bash", r#"{:command "read x < gate; echo $x"}"#);
    }
    client.send_request("a", "ping", "{}");
    let mut seen = vec![client.frame()];
    client.send_request("d", "ping", "{}");
    seen.push(client.frame());
    // What was refused was never pending.
    client.send_request("d", "ping", "{}");
    seen.push(client.frame());
    shows(
        &seen,
        &expect![[r#"
        {:kind :error :error-code "request/invalid-id" :error-message "the request a is still pending" :id "a" :op "ping"}
        {:kind :error :error-code "transport/max-pending-exceeded" :error-message "3 requests are pending already; wait for answers" :id "d" :op "ping"}
        {:kind :error :error-code "transport/max-pending-exceeded" :error-message "3 requests are pending already; wait for answers" :id "d" :op "ping"}"#]],
    );
    client.close();
}

#[test]
fn section_6_quick_requests_are_answered_in_their_order() {
    let mut client = Client::shaken(World::new(&[OK]));
    let ops = ["ping", "get_messages", "list_sessions", "get_state", "ping"];
    for (n, op) in ops.iter().enumerate() {
        client.send_request(&format!("q{n}"), op, "{}");
    }
    let answers: Vec<String> = ops.iter().map(|_| client.frame()).collect();
    for (n, answer) in answers.iter().enumerate() {
        assert!(
            answer.starts_with(&format!("{{:id \"q{n}\" :kind :response")),
            "{answer}"
        );
    }
}

#[test]
fn section_1_the_end_of_input_is_the_end_with_status_zero() {
    let (frames, code) = Client::shaken(World::new(&[OK])).close();
    assert_eq!((frames, code), (vec![], 0));
}

#[test]
fn section_1_an_accepted_prompt_still_writes_after_the_end_of_input() {
    let mut client = Client::ready(World::new(&[OK]));
    client.send_request("p", "prompt", r#"{:message "go"}"#);
    let (frames, code) = client.close();
    shows(
        &frames,
        &expect![[r#"
        {:id "p" :kind :response :op "prompt" :ok true :data {:accepted true}}
        {:kind :event :event "session/updated" :data {… :session-display-name "go" :phase "streaming" :is-streaming true :status-session-line "session: S1 phase:streaming streaming:yes compacting:no pending:0 retry:0"} :id "p" :seq N :ts "TIME"}
        {:kind :event :event "footer/updated" :data {… :path-line "~/work • go" :stats-line STATS :usage-parts STATS} :id "p" :seq N :ts "TIME"}
        {:kind :event :event "assistant/delta" :data {:session-id "S1" :text "ok"} :id "p" :seq N :ts "TIME"}
        {:kind :event :event "assistant/message" :data {:session-id "S1" :role "assistant" :content [{:type :text :text "ok"}] :text "ok" :stop-reason :stop} :id "p" :seq N :ts "TIME"}
        {:kind :event :event "session/updated" :data {… :phase "idle" :is-streaming false :status-session-line "session: S1 phase:idle streaming:no compacting:no pending:0 retry:0"} :id "p" :seq N :ts "TIME"}
        {:kind :event :event "footer/updated" :data {… :stats-line "?/200k (script) m-1" :usage-parts ["?/200k"]} :id "p" :seq N :ts "TIME"}"#]],
    );
    assert_eq!(code, 0);
}
