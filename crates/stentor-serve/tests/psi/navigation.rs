//! Section 9.5: moving between sessions.

use expect_test::expect;

use super::client::{Client, shows};
use super::world::{OK, World};

#[test]
fn section_9_5_a_new_session_is_arrived_at_and_the_tree_is_told_again_after_the_answer() {
    let mut client = Client::ready(World::new(&[OK]));
    client.shows_whole_snapshots = true;
    client.run("first");
    let mut seen = client.request("n", "new_session", "{}");
    seen.extend(client.until(&["ui/status-updated"]));
    shows(
        &seen,
        &expect![[r#"
        {:kind :event :event "session/resumed" :data {:session-id "S2" :session-file "FILE" :message-count 0} :id "n" :seq N :ts "TIME"}
        {:kind :event :event "session/rehydrated" :data {:session-id "S2" :messages [] :tool-calls {} :tool-order []} :id "n" :seq N :ts "TIME"}
        {:kind :event :event "session/updated" :data {:session-id "S2" :session-file "FILE" :session-name nil :session-display-name nil :phase "idle" :is-streaming false :is-compacting false :pending-message-count 0 :retry-attempt 0 :retry nil :retry-deadline-ms nil :interrupt-pending false :model-provider "script" :model-id "m-1" :model-reasoning false :thinking-level "off" :effective-reasoning-effort nil :header-model-label "(script) m-1" :status-session-line "session: S2 phase:idle streaming:no compacting:no pending:0 retry:0" :extension-command-names [] :prompt-templates [] :builtin-command-specs [BUILTINS]} :id "n" :seq N :ts "TIME"}
        {:kind :event :event "footer/updated" :data {:session-id "S2" :path-line "~/work" :stats-line "?/200k (script) m-1" :status-line nil :usage-parts ["?/200k"] :model-text "(script) m-1" :session-activity-line "sessions: waiting first, S2-short" :session-activity-buckets [{:state "waiting" :labels ["first" "S2-short"]}]} :id "n" :seq N :ts "TIME"}
        {:kind :event :event "context/updated" :data {:active-session-id "S2" :sessions [{:id "S2" :item-kind "session" :name nil :display-name nil :worktree-path "ROOT/home/work" :runtime-state "waiting" :is-streaming false :is-active true :parent-session-id nil :created-at "TIME" :updated-at nil} {:id "S1" :item-kind "session" :name nil :display-name "first" :worktree-path "ROOT/home/work" :runtime-state "waiting" :is-streaming false :is-active false :parent-session-id nil :created-at "TIME" :updated-at "TIME"}] :session-tree-widget {:placement "left" :extension-id "psi-session" :widget-id "session-tree" :content-lines [{:text "(session S2-short) [S2-short] — HH:MM — ROOT/home/work ← current [waiting]" :runtime-state "waiting" :is-current true} {:text "first [S1-short] — HH:MM / HH:MM — ROOT/home/work [waiting]" :runtime-state "waiting" :is-current false :action {:type "command" :command "/tree S1"}}]}} :id "n" :seq N :ts "TIME"}
        {:id "n" :kind :response :op "new_session" :ok true :data {:session-id "S2" :session-file "FILE"}}
        {:kind :event :event "context/updated" :data {:active-session-id "S2" :sessions [{:id "S2" :item-kind "session" :name nil :display-name nil :worktree-path "ROOT/home/work" :runtime-state "waiting" :is-streaming false :is-active true :parent-session-id nil :created-at "TIME" :updated-at nil} {:id "S1" :item-kind "session" :name nil :display-name "first" :worktree-path "ROOT/home/work" :runtime-state "waiting" :is-streaming false :is-active false :parent-session-id nil :created-at "TIME" :updated-at "TIME"}] :session-tree-widget {:placement "left" :extension-id "psi-session" :widget-id "session-tree" :content-lines [{:text "(session S2-short) [S2-short] — HH:MM — ROOT/home/work ← current [waiting]" :runtime-state "waiting" :is-current true} {:text "first [S1-short] — HH:MM / HH:MM — ROOT/home/work [waiting]" :runtime-state "waiting" :is-current false :action {:type "command" :command "/tree S1"}}]}} :seq N :ts "TIME"}
        {:kind :event :event "ui/widgets-updated" :data {:widgets []} :seq N :ts "TIME"}
        {:kind :event :event "ui/status-updated" :data {:statuses []} :seq N :ts "TIME"}"#]],
    );
}

#[test]
fn section_9_5_switching_back_replays_the_transcript() {
    let mut client = Client::ready(World::new(&[OK]));
    client.run("first");
    client.request("n", "new_session", "{}");
    let first = client.session(1);
    client.until(&["ui/status-updated"]);
    let mut seen = client.request("s", "switch_session", &format!("{{:session-id {first:?}}}"));
    seen.extend(client.until(&["ui/status-updated"]));
    shows(
        &seen,
        &expect![[r#"
        {:kind :event :event "session/resumed" :data {:session-id "S1" :session-file "FILE" :message-count 2} :id "s" :seq N :ts "TIME"}
        {:kind :event :event "session/rehydrated" :data {:session-id "S1" :messages [{:role "user" :content [{:type :text :text "first"}] :timestamp "TIME"} {:role "assistant" :content [{:type :text :text "ok"}] :stop-reason :stop :timestamp "TIME"}] :tool-calls {} :tool-order []} :id "s" :seq N :ts "TIME"}
        {:kind :event :event "session/updated" :data {… :session-id "S1" :session-display-name "first" :status-session-line "session: S1 phase:idle streaming:no compacting:no pending:0 retry:0"} :id "s" :seq N :ts "TIME"}
        {:kind :event :event "footer/updated" :data {… :session-id "S1" :path-line "~/work • first"} :id "s" :seq N :ts "TIME"}
        {:kind :event :event "context/updated" :data {:active-session-id "S1" :sessions [{:id "S2" :item-kind "session" :name nil :display-name nil :worktree-path "ROOT/home/work" :runtime-state "waiting" :is-streaming false :is-active false :parent-session-id nil :created-at "TIME" :updated-at nil} {:id "S1" :item-kind "session" :name nil :display-name "first" :worktree-path "ROOT/home/work" :runtime-state "waiting" :is-streaming false :is-active true :parent-session-id nil :created-at "TIME" :updated-at "TIME"}] :session-tree-widget {:placement "left" :extension-id "psi-session" :widget-id "session-tree" :content-lines [{:text "(session S2-short) [S2-short] — HH:MM — ROOT/home/work [waiting]" :runtime-state "waiting" :is-current false :action {:type "command" :command "/tree S2"}} {:text "first [S1-short] — HH:MM / HH:MM — ROOT/home/work ← current [waiting]" :runtime-state "waiting" :is-current true}]}} :id "s" :seq N :ts "TIME"}
        {:id "s" :kind :response :op "switch_session" :ok true :data {:session-id "S1" :session-file "FILE"}}
        {:kind :event :event "context/updated" :data {:active-session-id "S1" :sessions [{:id "S2" :item-kind "session" :name nil :display-name nil :worktree-path "ROOT/home/work" :runtime-state "waiting" :is-streaming false :is-active false :parent-session-id nil :created-at "TIME" :updated-at nil} {:id "S1" :item-kind "session" :name nil :display-name "first" :worktree-path "ROOT/home/work" :runtime-state "waiting" :is-streaming false :is-active true :parent-session-id nil :created-at "TIME" :updated-at "TIME"}] :session-tree-widget {:placement "left" :extension-id "psi-session" :widget-id "session-tree" :content-lines [{:text "(session S2-short) [S2-short] — HH:MM — ROOT/home/work [waiting]" :runtime-state "waiting" :is-current false :action {:type "command" :command "/tree S2"}} {:text "first [S1-short] — HH:MM / HH:MM — ROOT/home/work ← current [waiting]" :runtime-state "waiting" :is-current true}]}} :seq N :ts "TIME"}
        {:kind :event :event "ui/widgets-updated" :data {:widgets []} :seq N :ts "TIME"}
        {:kind :event :event "ui/status-updated" :data {:statuses []} :seq N :ts "TIME"}"#]],
    );
}

#[test]
fn section_9_5_what_cannot_be_switched_to() {
    let mut client = Client::ready(World::new(&[OK]));
    let seen = client.table(&[
        ("switch_session", "{}"),
        ("switch_session", r#"{:session-id "nobody"}"#),
        ("switch_session", r#"{:session-id 3}"#),
        ("switch_session", r#"{:session-path " "}"#),
        ("switch_session", r#"{:session-path 3}"#),
        ("switch_session", r#"{:session-path "/no/such.jsonl"}"#),
        // The id wins if there are both.
        (
            "switch_session",
            r#"{:session-id "nobody" :session-path "x"}"#,
        ),
        ("new_session", r#"{:session-id "nobody"}"#),
    ]);
    expect![[r#"
        switch_session {}
            {:kind :error :error-code "request/invalid-params" :error-message ":session-path is missing" :id "x" :op "switch_session"}
        switch_session {:session-id "nobody"}
            {:kind :error :error-code "request/not-found" :error-message "there is no session nobody" :id "x" :op "switch_session"}
        switch_session {:session-id 3}
            {:kind :error :error-code "request/invalid-params" :error-message ":session-id must be a non-blank string" :id "x" :op "switch_session"}
        switch_session {:session-path " "}
            {:kind :error :error-code "request/invalid-params" :error-message ":session-path must not be blank" :id "x" :op "switch_session"}
        switch_session {:session-path 3}
            {:kind :error :error-code "request/invalid-params" :error-message ":session-path must be a string, found an integer" :id "x" :op "switch_session"}
        switch_session {:session-path "/no/such.jsonl"}
            {:kind :error :error-code "request/not-found" :error-message "there is no session file /no/such.jsonl" :id "x" :op "switch_session"}
        switch_session {:session-id "nobody" :session-path "x"}
            {:kind :error :error-code "request/not-found" :error-message "there is no session nobody" :id "x" :op "switch_session"}
        new_session {:session-id "nobody"}
            {:kind :error :error-code "request/not-found" :error-message "there is no session nobody" :id "x" :op "new_session"}
    "#]].assert_eq(&seen);
    client.world.file("broken.jsonl", "no session\n");
    let broken = client.answer("switch_session", r#"{:session-path "broken.jsonl"}"#);
    expect![[r#"{:kind :error :error-code "runtime/failed" :error-message "ROOT/home/work/broken.jsonl is not a session file: the first line is not a JSON object (expected ident at line 1 column 2); it was not changed" :id "x" :op "switch_session"}"#]].assert_eq(&broken);
}

fn file_of_session(client: &mut Client) -> String {
    let state = client.raw_answer("get_state", "{}");
    let at = state.find(":session-file \"").unwrap() + ":session-file \"".len();
    state[at..].split('"').next().unwrap().to_owned()
}

#[test]
fn section_9_5_a_stored_session_is_loaded_by_its_file_and_a_live_one_is_found_by_it() {
    let mut client = Client::ready(World::new(&[OK]));
    client.run("remember me");
    let file = file_of_session(&mut client);
    let params = format!("{{:session-path {file:?}}}");
    // It is live: no second one is made.
    let mut seen = client.request("s", "switch_session", &params);
    seen.extend(client.until(&["ui/status-updated"]));
    shows(
        &seen,
        &expect![[r#"
        {:kind :event :event "session/resumed" :data {:session-id "S1" :session-file "FILE" :message-count 2} :id "s" :seq N :ts "TIME"}
        {:kind :event :event "session/rehydrated" :data {:session-id "S1" :messages [{:role "user" :content [{:type :text :text "remember me"}] :timestamp "TIME"} {:role "assistant" :content [{:type :text :text "ok"}] :stop-reason :stop :timestamp "TIME"}] :tool-calls {} :tool-order []} :id "s" :seq N :ts "TIME"}
        {:kind :event :event "session/updated" :data {…} :id "s" :seq N :ts "TIME"}
        {:kind :event :event "footer/updated" :data {…} :id "s" :seq N :ts "TIME"}
        {:kind :event :event "context/updated" :data {:active-session-id "S1" :sessions [{:id "S1" :item-kind "session" :name nil :display-name "remember me" :worktree-path "ROOT/home/work" :runtime-state "waiting" :is-streaming false :is-active true :parent-session-id nil :created-at "TIME" :updated-at "TIME"}] :session-tree-widget {:placement "left" :extension-id "psi-session" :widget-id "session-tree" :content-lines [{:text "remember me [S1-short] — HH:MM / HH:MM — ROOT/home/work ← current [waiting]" :runtime-state "waiting" :is-current true}]}} :id "s" :seq N :ts "TIME"}
        {:id "s" :kind :response :op "switch_session" :ok true :data {:session-id "S1" :session-file "FILE"}}
        {:kind :event :event "context/updated" :data {:active-session-id "S1" :sessions [{:id "S1" :item-kind "session" :name nil :display-name "remember me" :worktree-path "ROOT/home/work" :runtime-state "waiting" :is-streaming false :is-active true :parent-session-id nil :created-at "TIME" :updated-at "TIME"}] :session-tree-widget {:placement "left" :extension-id "psi-session" :widget-id "session-tree" :content-lines [{:text "remember me [S1-short] — HH:MM / HH:MM — ROOT/home/work ← current [waiting]" :runtime-state "waiting" :is-current true}]}} :seq N :ts "TIME"}
        {:kind :event :event "ui/widgets-updated" :data {:widgets []} :seq N :ts "TIME"}
        {:kind :event :event "ui/status-updated" :data {:statuses []} :seq N :ts "TIME"}"#]],
    );
    // A copy of it has the id of a session that is live, and nobody could tell them apart.
    let copy = client.world.work().join("copy.jsonl");
    std::fs::copy(&file, &copy).unwrap();
    let twice = client.answer("switch_session", r#"{:session-path "copy.jsonl"}"#);
    expect![[r#"{:kind :error :error-code "runtime/failed" :error-message "ROOT/home/work/copy.jsonl: the session S1 is live already, from another file" :id "x" :op "switch_session"}"#]].assert_eq(&twice);
    // Another process has it later.
    let text = std::fs::read_to_string(&file).unwrap();
    let root = client.world.root().to_string_lossy().into_owned();
    let mut client = Client::ready(World::new(&[OK]));
    let moved = text.replace(&root, &client.world.root().to_string_lossy());
    client.world.file("copy.jsonl", &moved);
    let mut seen = client.request("s", "switch_session", r#"{:session-path "copy.jsonl"}"#);
    seen.push(client.answer("list_sessions", "{}"));
    shows(
        &seen,
        &expect![[r#"
        {:kind :event :event "session/resumed" :data {:session-id "S2" :session-file "ROOT/home/work/copy.jsonl" :message-count 2} :id "s" :seq N :ts "TIME"}
        {:kind :event :event "session/rehydrated" :data {:session-id "S2" :messages [{:role "user" :content [{:type :text :text "remember me"}] :timestamp "TIME"} {:role "assistant" :content [{:type :text :text "ok"}] :stop-reason :stop :timestamp "TIME"}] :tool-calls {} :tool-order []} :id "s" :seq N :ts "TIME"}
        {:kind :event :event "session/updated" :data {… :session-id "S2" :session-file "ROOT/home/work/copy.jsonl" :session-display-name "remember me" :status-session-line "session: S2 phase:idle streaming:no compacting:no pending:0 retry:0"} :id "s" :seq N :ts "TIME"}
        {:kind :event :event "footer/updated" :data {… :session-id "S2" :path-line "~/work • remember me" :session-activity-line "sessions: waiting S1-short, remember me" :session-activity-buckets [{:state "waiting" :labels ["S1-short" "remember me"]}]} :id "s" :seq N :ts "TIME"}
        {:kind :event :event "context/updated" :data {:active-session-id "S2" :sessions [{:id "S1" :item-kind "session" :name nil :display-name nil :worktree-path "ROOT/home/work" :runtime-state "waiting" :is-streaming false :is-active false :parent-session-id nil :created-at "TIME" :updated-at nil} {:id "S2" :item-kind "session" :name nil :display-name "remember me" :worktree-path "ROOT/home/work" :runtime-state "waiting" :is-streaming false :is-active true :parent-session-id nil :created-at "TIME" :updated-at "TIME"}] :session-tree-widget {:placement "left" :extension-id "psi-session" :widget-id "session-tree" :content-lines [{:text "(session S1-short) [S1-short] — HH:MM — ROOT/home/work [waiting]" :runtime-state "waiting" :is-current false :action {:type "command" :command "/tree S1"}} {:text "remember me [S2-short] — HH:MM / HH:MM — ROOT/home/work ← current [waiting]" :runtime-state "waiting" :is-current true}]}} :id "s" :seq N :ts "TIME"}
        {:id "s" :kind :response :op "switch_session" :ok true :data {:session-id "S2" :session-file "ROOT/home/work/copy.jsonl"}}
        {:id "x" :kind :response :op "list_sessions" :ok true :data {:active-session-id "S2" :sessions [{:session-id "S1" :session-file "FILE" :session-name nil :display-name nil :worktree-path "ROOT/home/work" :parent-session-id nil :parent-session-path nil :created-at "TIME" :updated-at nil} {:session-id "S2" :session-file "ROOT/home/work/copy.jsonl" :session-name nil :display-name "remember me" :worktree-path "ROOT/home/work" :parent-session-id nil :parent-session-path nil :created-at "TIME" :updated-at "TIME"}]}}"#]],
    );
}

/// The ids of the user messages, oldest first.
fn entries(client: &mut Client) -> Vec<String> {
    let points = client.raw_answer("get_fork_messages", "{}");
    points
        .split(":entry-id \"")
        .skip(1)
        .map(|rest| rest.split('"').next().unwrap().to_owned())
        .collect()
}

#[test]
fn section_9_5_a_fork_has_everything_up_to_the_reply_of_the_chosen_message() {
    let mut client = Client::ready(World::new(&[OK]));
    client.run("one");
    client.run("two");
    let first = entries(&mut client).remove(0);
    let seen = client.request("f", "fork", &format!("{{:entry-id {first:?}}}"));
    shows(
        &seen,
        &expect![[r#"
        {:kind :event :event "session/resumed" :data {:session-id "S2" :session-file "FILE" :message-count 2} :id "f" :seq N :ts "TIME"}
        {:kind :event :event "session/rehydrated" :data {:session-id "S2" :messages [{:role "user" :content [{:type :text :text "one"}] :timestamp "TIME"} {:role "assistant" :content [{:type :text :text "ok"}] :stop-reason :stop :timestamp "TIME"}] :tool-calls {} :tool-order []} :id "f" :seq N :ts "TIME"}
        {:kind :event :event "session/updated" :data {… :session-id "S2" :session-display-name "one" :status-session-line "session: S2 phase:idle streaming:no compacting:no pending:0 retry:0"} :id "f" :seq N :ts "TIME"}
        {:kind :event :event "footer/updated" :data {… :session-id "S2" :path-line "~/work • one" :session-activity-line "sessions: waiting two, one" :session-activity-buckets [{:state "waiting" :labels ["two" "one"]}]} :id "f" :seq N :ts "TIME"}
        {:kind :event :event "context/updated" :data {:active-session-id "S2" :sessions [{:id "S2" :item-kind "session" :name nil :display-name "one" :worktree-path "ROOT/home/work" :runtime-state "waiting" :is-streaming false :is-active true :parent-session-id "S1" :created-at "TIME" :updated-at "TIME"} {:id "S1" :item-kind "session" :name nil :display-name "two" :worktree-path "ROOT/home/work" :runtime-state "waiting" :is-streaming false :is-active false :parent-session-id nil :created-at "TIME" :updated-at "TIME"}] :session-tree-widget {:placement "left" :extension-id "psi-session" :widget-id "session-tree" :content-lines [{:text "  one [S2-short] — HH:MM / HH:MM — ROOT/home/work ← current [waiting]" :runtime-state "waiting" :is-current true} {:text "two [S1-short] — HH:MM / HH:MM — ROOT/home/work [waiting]" :runtime-state "waiting" :is-current false :action {:type "command" :command "/tree S1"}}]}} :id "f" :seq N :ts "TIME"}
        {:id "f" :kind :response :op "fork" :ok true :data {:session-id "S2" :session-file "FILE"}}"#]],
    );
    // Two forks in one second are told apart by the beginning of their ids.
    client.request("s", "fork", &format!("{{:entry-id {first:?}}}"));
    let shorts: Vec<String> = (1..=3).map(|n| client.session(n)[..8].to_owned()).collect();
    assert!(
        shorts[0] != shorts[1] && shorts[1] != shorts[2],
        "{shorts:?}"
    );
    let refused = client.table(&[
        ("fork", "{}"),
        ("fork", r#"{:entry-id " "}"#),
        ("fork", r#"{:entry-id 3}"#),
        ("fork", r#"{:entry-id "nothing"}"#),
    ]);
    expect![[r#"
        fork {}
            {:kind :error :error-code "request/invalid-params" :error-message ":entry-id is missing" :id "x" :op "fork"}
        fork {:entry-id " "}
            {:kind :error :error-code "request/invalid-params" :error-message ":entry-id must not be blank" :id "x" :op "fork"}
        fork {:entry-id 3}
            {:kind :error :error-code "request/invalid-params" :error-message ":entry-id must be a string, found an integer" :id "x" :op "fork"}
        fork {:entry-id "nothing"}
            {:kind :error :error-code "request/invalid-params" :error-message "there is no entry nothing in this session" :id "x" :op "fork"}
    "#]].assert_eq(&refused);
}

#[test]
fn section_9_5_a_name_shows_in_the_tree_without_being_asked_for() {
    let mut client = Client::ready(World::new(&[OK]));
    let seen = client.script(&[
        ("set_session_name", r#"{:name " my work "}"#),
        ("set_session_name", r#"{:name " "}"#),
        ("set_session_name", "{}"),
        ("list_sessions", "{}"),
    ]);
    expect![[r#"
        set_session_name {:name " my work "}
            {:kind :event :event "session/updated" :data {… :session-name "my work" :session-display-name "my work"} :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {… :path-line "~/work • my work"} :seq N :ts "TIME"}
            {:kind :event :event "context/updated" :data {:active-session-id "S1" :sessions [{:id "S1" :item-kind "session" :name "my work" :display-name "my work" :worktree-path "ROOT/home/work" :runtime-state "waiting" :is-streaming false :is-active true :parent-session-id nil :created-at "TIME" :updated-at nil}] :session-tree-widget {:placement "left" :extension-id "psi-session" :widget-id "session-tree" :content-lines [{:text "my work [S1-short] — HH:MM — ROOT/home/work ← current [waiting]" :runtime-state "waiting" :is-current true}]}} :seq N :ts "TIME"}
            {:id "x" :kind :response :op "set_session_name" :ok true :data {:session-name "my work"}}
        set_session_name {:name " "}
            {:kind :error :error-code "request/invalid-params" :error-message ":name must not be blank" :id "x" :op "set_session_name"}
        set_session_name {}
            {:kind :error :error-code "request/invalid-params" :error-message ":name is missing" :id "x" :op "set_session_name"}
        list_sessions {}
            {:id "x" :kind :response :op "list_sessions" :ok true :data {:active-session-id "S1" :sessions [{:session-id "S1" :session-file "FILE" :session-name "my work" :display-name "my work" :worktree-path "ROOT/home/work" :parent-session-id nil :parent-session-path nil :created-at "TIME" :updated-at nil}]}}
    "#]].assert_eq(&seen);
}
