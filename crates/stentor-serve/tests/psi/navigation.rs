//! Section 9.5: moving between sessions.

use expect_test::expect;

use super::client::{Client, outline};
use super::world::{OK, World};

const NAVIGATION: [&str; 5] = [
    "session/resumed",
    "session/rehydrated",
    "session/updated",
    "footer/updated",
    "context/updated",
];

#[test]
fn a_new_session_is_arrived_at_and_the_tree_is_told_again_after_the_answer() {
    let mut client = Client::ready(World::new(&[OK]));
    client.run("first");
    let mut seen = client.request("n", "new_session", "{}");
    let mut expected = NAVIGATION.to_vec();
    expected.push("response");
    assert_eq!(outline(&seen), expected);
    let after = client.until(&["ui/status-updated"]);
    assert_eq!(
        outline(&after),
        ["context/updated", "ui/widgets-updated", "ui/status-updated"]
    );
    seen.extend(after);
    expect![[r#"
        {:kind :event :event "session/resumed" :data {:session-id "S2" :session-file "FILE" :message-count 0} :id "n" :seq N :ts "TIME"}
        {:kind :event :event "session/rehydrated" :data {:session-id "S2" :messages [] :tool-calls {} :tool-order []} :id "n" :seq N :ts "TIME"}
        {:kind :event :event "session/updated" :data {:session-id "S2" :session-file "FILE" :session-name nil :session-display-name nil :phase "idle" :is-streaming false :is-compacting false :pending-message-count 0 :retry-attempt 0 :retry nil :retry-deadline-ms nil :interrupt-pending false :model-provider "script" :model-id "m-1" :model-reasoning false :thinking-level "off" :effective-reasoning-effort nil :header-model-label "(script) m-1" :status-session-line "session: S2 phase:idle streaming:no compacting:no pending:0 retry:0" :extension-command-names [] :prompt-templates [] :builtin-command-specs [BUILTINS]} :id "n" :seq N :ts "TIME"}
        {:kind :event :event "footer/updated" :data {:session-id "S2" :path-line "~/work" :stats-line STATS :status-line nil :usage-parts STATS :model-text "(script) m-1" :session-activity-line "sessions: waiting first, S2-short" :session-activity-buckets [{:state "waiting" :labels ["first" "S2-short"]}]} :id "n" :seq N :ts "TIME"}
        {:kind :event :event "context/updated" :data {:active-session-id "S2" :sessions [{:id "S2" :item-kind "session" :name nil :display-name nil :worktree-path "ROOT/home/work" :runtime-state "waiting" :is-streaming false :is-active true :parent-session-id nil :created-at "TIME" :updated-at nil} {:id "S1" :item-kind "session" :name nil :display-name "first" :worktree-path "ROOT/home/work" :runtime-state "waiting" :is-streaming false :is-active false :parent-session-id nil :created-at "TIME" :updated-at "TIME"}] :session-tree-widget {:placement "left" :extension-id "psi-session" :widget-id "session-tree" :content-lines [{:text "(session S2-short) [S2-short] — HH:MM — ROOT/home/work ← current [waiting]" :runtime-state "waiting" :is-current true} {:text "first [S1-short] — HH:MM / HH:MM — ROOT/home/work [waiting]" :runtime-state "waiting" :is-current false :action {:type "command" :command "/tree S1"}}]}} :id "n" :seq N :ts "TIME"}
        {:id "n" :kind :response :op "new_session" :ok true :data {:session-id "S2" :session-file "FILE"}}
        {:kind :event :event "context/updated" :data {:active-session-id "S2" :sessions [{:id "S2" :item-kind "session" :name nil :display-name nil :worktree-path "ROOT/home/work" :runtime-state "waiting" :is-streaming false :is-active true :parent-session-id nil :created-at "TIME" :updated-at nil} {:id "S1" :item-kind "session" :name nil :display-name "first" :worktree-path "ROOT/home/work" :runtime-state "waiting" :is-streaming false :is-active false :parent-session-id nil :created-at "TIME" :updated-at "TIME"}] :session-tree-widget {:placement "left" :extension-id "psi-session" :widget-id "session-tree" :content-lines [{:text "(session S2-short) [S2-short] — HH:MM — ROOT/home/work ← current [waiting]" :runtime-state "waiting" :is-current true} {:text "first [S1-short] — HH:MM / HH:MM — ROOT/home/work [waiting]" :runtime-state "waiting" :is-current false :action {:type "command" :command "/tree S1"}}]}} :seq N :ts "TIME"}
        {:kind :event :event "ui/widgets-updated" :data {:widgets []} :seq N :ts "TIME"}
        {:kind :event :event "ui/status-updated" :data {:statuses []} :seq N :ts "TIME"}"#]].assert_eq(&seen.join("\n"));
}

#[test]
fn switching_back_replays_the_transcript() {
    let mut client = Client::ready(World::new(&[OK]));
    client.run("first");
    client.request("n", "new_session", "{}");
    let first = client.session(1);
    client.until(&["ui/status-updated"]);
    let seen = client.request("s", "switch_session", &format!("{{:session-id {first:?}}}"));
    expect![[r#"
        {:kind :event :event "session/resumed" :data {:session-id "S1" :session-file "FILE" :message-count 2} :id "s" :seq N :ts "TIME"}
        {:kind :event :event "session/rehydrated" :data {:session-id "S1" :messages [{:role "user" :content [{:type :text :text "first"}] :timestamp "TIME"} {:role "assistant" :content [{:type :text :text "ok"}] :stop-reason :stop :timestamp "TIME"}] :tool-calls {} :tool-order []} :id "s" :seq N :ts "TIME"}"#]].assert_eq(&seen[..2].join("\n"));
    let answer = client.answer("switch_session", r#"{:session-id "nobody"}"#);
    assert!(answer.contains("request/not-found"), "{answer}");
}

#[test]
fn a_stored_session_is_loaded_by_its_file_and_a_live_one_is_found_by_it() {
    let world = World::new(&[OK]);
    let mut client = Client::ready(world);
    client.run("remember me");
    let state = client.raw_answer("get_state", "{}");
    let at = state.find(":session-file \"").unwrap() + ":session-file \"".len();
    let file = state[at..].split('"').next().unwrap().to_owned();
    // It is live: no second one is made.
    let seen = client.request(
        "s",
        "switch_session",
        &format!("{{:session-path {file:?}}}"),
    );
    assert!(
        seen.last().unwrap().contains("{:session-id \"S1\""),
        "{seen:?}"
    );
    for (params, code) in [
        ("{}", "request/invalid-params"),
        (r#"{:session-path " "}"#, "request/invalid-params"),
        (r#"{:session-path "/no/such.jsonl"}"#, "request/not-found"),
    ] {
        let answer = client.answer("switch_session", params);
        assert!(answer.contains(code), "{answer}");
    }
    // Another process has it later.
    let root = client.world.root();
    let copy = root.join("copy.jsonl");
    std::fs::copy(&file, &copy).unwrap();
    let mut client = Client::ready(World::new(&[OK]));
    let seen = client.request(
        "s",
        "switch_session",
        &format!("{{:session-path {copy:?}}}"),
    );
    assert!(seen[1].contains("remember me"), "{seen:?}");
    assert!(
        seen.last().unwrap().contains(":session-id \"S2\""),
        "{seen:?}"
    );
    let list = client.answer("list_sessions", "{}");
    assert!(list.contains(":active-session-id \"S2\""), "{list}");
}

#[test]
fn a_fork_has_everything_up_to_the_reply_of_the_chosen_message() {
    let mut client = Client::ready(World::new(&[OK]));
    client.run("one");
    client.run("two");
    let points = client.raw_answer("get_fork_messages", "{}");
    let at = points.find(":entry-id \"").unwrap() + ":entry-id \"".len();
    let entry = points[at..].split('"').next().unwrap().to_owned();
    let seen = client.request("f", "fork", &format!("{{:entry-id {entry:?}}}"));
    assert!(seen[0].contains(":session-id \"S2\"") && seen[0].contains(":message-count 2"));
    assert!(
        seen[1].contains("\"one\"") && seen[1].contains("\"ok\""),
        "{}",
        seen[1]
    );
    assert!(!seen[1].contains("\"two\""), "{}", seen[1]);
    assert!(seen[4].contains(":parent-session-id \"S1\""), "{}", seen[4]);
    for params in ["{}", r#"{:entry-id " "}"#, r#"{:entry-id "nothing"}"#] {
        let answer = client.answer("fork", params);
        assert!(
            answer.contains("request/invalid-params"),
            "{params}: {answer}"
        );
    }
}

#[test]
fn a_name_shows_in_the_tree_without_being_asked_for() {
    let mut client = Client::ready(World::new(&[OK]));
    let seen = client.request("n", "set_session_name", r#"{:name " my work "}"#);
    assert_eq!(
        outline(&seen),
        [
            "session/updated",
            "footer/updated",
            "context/updated",
            "response"
        ]
    );
    assert!(seen[2].contains("my work [S1-short]"), "{}", seen[2]);
    assert!(
        seen[3].ends_with(r#":data {:session-name "my work"}}"#),
        "{}",
        seen[3]
    );
    let answer = client.answer("set_session_name", r#"{:name " "}"#);
    assert!(answer.contains("request/invalid-params"), "{answer}");
}
