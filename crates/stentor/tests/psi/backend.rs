//! Starting the backend, talking to it, ending it.

use expect_test::expect;

use super::child::{Backend, write};

const HELLO: &str =
    "[model]\nid = \"m-1\"\nreasoning = false\n[[turn]]\nsteps = [ { text = \"hello\" } ]\n";

const HANDSHAKE: &str = r#"{:id "h" :kind :response :op "handshake" :ok true :data {:server-info {:protocol-version "1.0" :features ["eql-graph" "eql-memory"] :session-id "SESSION" :model-id "guide" :thinking-level "medium" :ui-type :emacs}}}"#;

#[test]
fn annex_b_the_originals_words_start_a_backend_that_ends_with_its_input() {
    for words in [
        &["--rpc-edn", "--nrepl", "7888", "--whatever"][..],
        &["rpc", "--dialect", "psi"],
    ] {
        let home = tempfile::tempdir().unwrap();
        let mut backend = Backend::start(home.path(), words);
        let answer = backend.handshake();
        assert_eq!(answer, HANDSHAKE);
        let (rest, err, status) = backend.end();
        assert_eq!((rest, status), (vec![], Some(0)));
        assert_eq!(
            err.contains("unknown flag --whatever"),
            words.len() > 3,
            "{err}"
        );
    }
}

#[test]
fn section_20_a_session_of_the_program_itself() {
    let home = tempfile::tempdir().unwrap();
    write(home.path(), "s.toml", HELLO);
    let mut backend = Backend::start(home.path(), &["--rpc-edn", "--model", "script/s.toml"]);
    let mut seen = vec![backend.handshake()];
    seen.extend(backend.request(
        "s",
        "subscribe",
        r#"{:topics ["assistant/message" "session/updated" "footer/updated"]}"#,
    ));
    seen.extend(backend.request("p", "prompt", r#"{:message "hi"}"#));
    seen.extend(backend.until_event("assistant/message"));
    seen.extend(backend.until_event("footer/updated"));
    expect![[r#"
        {:id "h" :kind :response :op "handshake" :ok true :data {:server-info {:protocol-version "1.0" :features ["eql-graph" "eql-memory"] :session-id "SESSION" :model-id "m-1" :thinking-level "off" :ui-type :emacs}}}
        {:kind :event :event "footer/updated" :data {:session-id "SESSION" :path-line "~" :stats-line "?/200k (auto) (script) m-1" :status-line nil :usage-parts ["?/200k (auto)"] :model-text "(script) m-1" :session-activity-line nil :session-activity-buckets []} :seq N :ts "TIME"}
        {:kind :event :event "session/updated" :data {:session-id "SESSION" :session-file "FILE" :session-name nil :session-display-name nil :phase "idle" :is-streaming false :is-compacting false :pending-message-count 0 :retry-attempt 0 :retry nil :retry-deadline-ms nil :interrupt-pending false :model-provider "script" :model-id "m-1" :model-reasoning false :thinking-level "off" :effective-reasoning-effort nil :header-model-label "(script) m-1" :status-session-line "session: SESSION phase:idle streaming:no compacting:no pending:0 retry:0" :extension-command-names [] :prompt-templates [] :builtin-command-specs [BUILTINS]} :id "s" :seq N :ts "TIME"}
        {:kind :event :event "footer/updated" :data {:session-id "SESSION" :path-line "~" :stats-line "?/200k (auto) (script) m-1" :status-line nil :usage-parts ["?/200k (auto)"] :model-text "(script) m-1" :session-activity-line nil :session-activity-buckets []} :id "s" :seq N :ts "TIME"}
        {:id "s" :kind :response :op "subscribe" :ok true :data {:subscribed ["assistant/message" "footer/updated" "session/updated"]}}
        {:id "p" :kind :response :op "prompt" :ok true :data {:accepted true}}
        {:kind :event :event "session/updated" :data {:session-id "SESSION" :session-file "FILE" :session-name nil :session-display-name "hi" :phase "streaming" :is-streaming true :is-compacting false :pending-message-count 0 :retry-attempt 0 :retry nil :retry-deadline-ms nil :interrupt-pending false :model-provider "script" :model-id "m-1" :model-reasoning false :thinking-level "off" :effective-reasoning-effort nil :header-model-label "(script) m-1" :status-session-line "session: SESSION phase:streaming streaming:yes compacting:no pending:0 retry:0" :extension-command-names [] :prompt-templates [] :builtin-command-specs [BUILTINS]} :id "p" :seq N :ts "TIME"}
        {:kind :event :event "footer/updated" :data {:session-id "SESSION" :path-line "~ • hi" :stats-line "?/200k (auto) (script) m-1" :status-line nil :usage-parts ["?/200k (auto)"] :model-text "(script) m-1" :session-activity-line nil :session-activity-buckets []} :id "p" :seq N :ts "TIME"}
        {:kind :event :event "assistant/message" :data {:session-id "SESSION" :role "assistant" :content [{:type :text :text "hello"}] :text "hello" :stop-reason :stop} :id "p" :seq N :ts "TIME"}
        {:kind :event :event "session/updated" :data {:session-id "SESSION" :session-file "FILE" :session-name nil :session-display-name "hi" :phase "idle" :is-streaming false :is-compacting false :pending-message-count 0 :retry-attempt 0 :retry nil :retry-deadline-ms nil :interrupt-pending false :model-provider "script" :model-id "m-1" :model-reasoning false :thinking-level "off" :effective-reasoning-effort nil :header-model-label "(script) m-1" :status-session-line "session: SESSION phase:idle streaming:no compacting:no pending:0 retry:0" :extension-command-names [] :prompt-templates [] :builtin-command-specs [BUILTINS]} :id "p" :seq N :ts "TIME"}
        {:kind :event :event "footer/updated" :data {:session-id "SESSION" :path-line "~ • hi" :stats-line "?/200k (auto) (script) m-1" :status-line nil :usage-parts ["?/200k (auto)"] :model-text "(script) m-1" :session-activity-line nil :session-activity-buckets []} :id "p" :seq N :ts "TIME"}"#]].assert_eq(&seen.join("\n"));
    let (rest, err, status) = backend.end();
    assert_eq!((rest, err.as_str(), status), (vec![], "", Some(0)));
}

#[test]
fn a_note_is_written_by_the_tool_and_found_by_a_later_process() {
    let home = tempfile::tempdir().unwrap();
    let script = r#"
[[turn]]
steps = [ { tool = "memory", arguments = { action = "remember", text = "tests run with just", tags = ["build"] } } ]
[[turn]]
steps = [ { text = "noted" } ]
"#;
    write(home.path(), "s.toml", script);
    let words = ["--rpc-edn", "--model", "script/s.toml"];
    let mut backend = Backend::ready(home.path(), &words);
    backend.ask("p", "prompt", r#"{:message "remember"}"#);
    let message = backend.until_event("assistant/message").pop().unwrap();
    assert!(message.contains("noted"), "{message}");
    backend.end();
    let mut backend = Backend::ready(home.path(), &words);
    let found = backend.ask(
        "q",
        "query_eql",
        r#"{:query "[{(:psi.memory/search-results {:query \"just\"}) [:text :tags]}]"}"#,
    );
    expect![[r#"{:id "q" :kind :response :op "query_eql" :ok true :data {:result {:psi.memory/search-results [{:text "tests run with just" :tags ["build"]}]}}}"#]].assert_eq(&found);
    let (_, _, status) = backend.end();
    assert_eq!(status, Some(0));
}

#[test]
fn a_session_is_resumed_in_another_process_by_the_file_it_named() {
    let home = tempfile::tempdir().unwrap();
    write(home.path(), "s.toml", HELLO);
    let words = ["--rpc-edn", "--model", "script/s.toml"];
    let mut backend = Backend::ready(home.path(), &words);
    backend.ask("p", "prompt", r#"{:message "first words"}"#);
    backend.until_event("assistant/message");
    backend.send("g", "get_state", "{}");
    let state = backend.raw_answer("g");
    let at = state.find(":session-file \"").unwrap() + ":session-file \"".len();
    let file = state[at..].split('"').next().unwrap().to_owned();
    backend.end();
    let mut backend = Backend::ready(home.path(), &words);
    let params = format!("{{:session-path {file:?}}}");
    let seen = [
        backend.ask("s", "switch_session", &params),
        backend.ask("m", "get_messages", "{}"),
    ];
    expect![[r#"
        {:id "s" :kind :response :op "switch_session" :ok true :data {:session-id "SESSION" :session-file "FILE"}}
        {:id "m" :kind :response :op "get_messages" :ok true :data {:messages [{:role "user" :content [{:type :text :text "first words"}] :timestamp "TIME"} {:role "assistant" :content [{:type :text :text "hello"}] :stop-reason :stop :timestamp "TIME"}]}}"#]].assert_eq(&seen.join("\n"));
    backend.end();
}

#[test]
fn annex_b_frames_are_traced_to_a_file() {
    let home = tempfile::tempdir().unwrap();
    let mut backend = Backend::start(home.path(), &["--rpc-edn", "--rpc-trace-file", "t.edn"]);
    backend.handshake();
    backend.send("x", "no", "[1]");
    backend.until_answer("x");
    backend.end();
    let trace = std::fs::read_to_string(home.path().join("t.edn")).unwrap();
    let lines: Vec<&str> = trace.lines().collect();
    assert_eq!(lines.len(), 4, "{trace}");
    for (line, direction) in lines.iter().zip(["in", "out", "in", "out"]) {
        let entry = stentor_wire::edn::read_one(line).unwrap();
        let field = |key: &str| entry.get(key).unwrap();
        assert_eq!(field("dir").as_keyword(), Some(direction));
        assert!(field("ts").as_str().is_some() && field("parse-error").is_nil());
        let raw = field("raw").as_str().unwrap();
        assert_eq!(&stentor_wire::edn::read_one(raw).unwrap(), field("frame"));
    }
}
