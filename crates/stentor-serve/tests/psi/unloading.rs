//! Sessions that nobody uses are unloaded, and no client can tell.

use std::collections::BTreeMap;
use std::path::Path;

use stentor_journal::store;

use super::client::Client;
use super::world::{OK, World};

const THINKER: &str = "[model]\nid = \"thinker\"\n[[turn]]\nsteps = [ { text = \"hm\" } ]\n";

fn client(max_loaded: usize) -> Client {
    let mut world = World::new(&[OK, THINKER]);
    world.max_loaded = max_loaded;
    Client::ready(world)
}

/// Goes through several sessions, in ways that use them all again, and returns every frame.
fn journey(max_loaded: usize) -> Vec<String> {
    let mut client = client(max_loaded);
    let mut seen = Vec::new();
    let mut ask = |client: &mut Client, op: &str, params: &str| {
        seen.push(op.to_owned());
        seen.extend(client.request("x", op, params));
        if matches!(op, "new_session" | "switch_session" | "fork") {
            seen.extend(client.until(&["ui/status-updated"]));
        }
    };
    client.run("one");
    for name in ["two", "three"] {
        ask(&mut client, "new_session", "{}");
        client.run(name);
    }
    // One in which nothing is said, and one with other settings.
    ask(&mut client, "new_session", "{}");
    ask(&mut client, "set_session_name", r#"{:name "quiet"}"#);
    ask(&mut client, "new_session", "{}");
    let model = r#"{:provider "script" :model-id "thinker"}"#;
    ask(&mut client, "set_model", model);
    ask(&mut client, "set_thinking_level", "{:level :high}");
    ask(&mut client, "set_auto_retry", "{:enabled false}");
    ask(&mut client, "set_auto_compaction", "{:enabled true}");
    client.run("five");
    ask(&mut client, "new_session", "{}");
    ask(&mut client, "list_sessions", "{}");
    for n in 1..=5 {
        let id = client.session(n);
        let of = format!("{{:session-id {id:?}}}");
        ask(&mut client, "get_state", &of);
        ask(&mut client, "get_session_stats", &of);
        ask(&mut client, "get_messages", &of);
        let query = ":psi.turn/phase :psi.turn/text :psi.agent-session/model-id";
        let params = format!("{{:query \"[{query}]\" :session-id {id:?}}}");
        ask(&mut client, "query_eql", &params);
    }
    let joined = r#"{:query "[{:psi.agent-session/context-sessions [:psi.session-info/id :psi.agent-session/model-id :psi.agent-session/message-count]}]"}"#;
    ask(&mut client, "query_eql", joined);
    let second = client.session(2);
    ask(
        &mut client,
        "command",
        &format!("{{:text \"/tree name {second} other\"}}"),
    );
    ask(&mut client, "command", r#"{:text "/tree"}"#);
    for n in [1, 4, 5] {
        let of = format!("{{:session-id {:?}}}", client.session(n));
        ask(&mut client, "switch_session", &of);
        client.run(&format!("again {n}"));
        ask(&mut client, "get_messages", "{}");
    }
    ask(&mut client, "list_sessions", "{}");
    let (rest, code) = client.close();
    assert_eq!((rest, code), (Vec::new(), 0));
    seen
}

#[test]
fn nothing_a_client_sees_tells_that_sessions_were_unloaded() {
    let (unloaded, loaded) = (by_kind(journey(1)), by_kind(journey(100)));
    assert_eq!(unloaded, loaded);
}

/// The frames of each kind in their order. When a snapshot is written among the others, and whether
/// a later one takes its place, depends on who is quicker: of those the last counts.
fn by_kind(frames: Vec<String>) -> BTreeMap<String, Vec<String>> {
    let mut kinds: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for frame in frames {
        let event = frame.split(":event \"").nth(1);
        let kind = event.and_then(|rest| rest.split('"').next());
        let of_kind = kinds
            .entry(kind.unwrap_or("answer").to_owned())
            .or_default();
        if kind.is_some_and(|kind| kind.ends_with("/updated")) {
            of_kind.clear();
        }
        of_kind.push(frame);
    }
    kinds
}

#[test]
fn the_file_of_a_session_that_is_unloaded_is_free_and_the_focused_one_is_not() {
    let mut client = client(1);
    client.run("one");
    let is_free = |path: &str| store::open(Path::new(path)).is_ok();
    let file = |client: &mut Client| {
        let state = client.raw_answer("get_state", "{}");
        let at = state.find(":session-file \"").unwrap() + ":session-file \"".len();
        state[at..].split('"').next().unwrap().to_owned()
    };
    let first = file(&mut client);
    client.request("n", "new_session", "{}");
    client.until(&["ui/status-updated"]);
    client.run("two");
    assert!(!is_free(&file(&mut client)));
    let of_first = client.session(1);
    // The one that was left is unloaded for the next, or for one after it while somebody still
    // looks at it.
    let for_the_next = (0..100).any(|_| {
        client.request("n", "new_session", "{}");
        client.until(&["ui/status-updated"]);
        is_free(&first)
    });
    assert!(for_the_next);
    client.request(
        "s",
        "switch_session",
        &format!("{{:session-id {of_first:?}}}"),
    );
    assert!(!is_free(&first));
}
