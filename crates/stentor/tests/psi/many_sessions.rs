//! Sessions that nobody uses are unloaded, so there can be more of them than are ever live at once.

use super::child::{Backend, write};

/// More than could ever be live.
const MANY: usize = 300;

const HELLO: &str = "[model]\nid = \"m-1\"\n[[turn]]\ntext = \"hello\"\n";

#[test]
fn the_three_hundredth_session_is_begun_and_the_first_is_used_again() {
    let home = tempfile::tempdir().unwrap();
    write(home.path(), "s.toml", HELLO);
    let mut backend = Backend::ready(home.path(), &["--rpc-edn", "--model", "script/s.toml"]);
    backend.ask("s", "subscribe", r#"{:topics ["assistant/message"]}"#);
    backend.ask("p", "prompt", r#"{:message "in the first"}"#);
    backend.until_event("assistant/message");
    backend.send("l", "list_sessions", "{}");
    let first = id_of(&backend.raw_answer("l"));
    for n in 1..MANY {
        let answer = backend.ask("n", "new_session", "{}");
        assert!(answer.contains(":ok true"), "session {n}: {answer}");
        // Something is said in some of them, nothing in the others.
        if n % 10 == 0 {
            backend.ask("p", "prompt", r#"{:message "in another"}"#);
            backend.until_event("assistant/message");
        }
    }
    let listed = backend.ask("l", "list_sessions", "{}");
    assert_eq!(listed.matches(":session-id \"SESSION\"").count(), MANY);
    assert_eq!(listed.matches(":display-name \"in another\"").count(), 29);
    let of_first = format!("{{:session-id {first:?}}}");
    backend.ask("w", "switch_session", &of_first);
    backend.ask("p", "prompt", r#"{:message "and again"}"#);
    backend.until_event("assistant/message");
    let said = backend.ask("m", "get_messages", "{}");
    for text in ["in the first", "hello", "and again"] {
        assert!(said.contains(text), "{text}: {said}");
    }
    let (_, _, status) = backend.end();
    assert_eq!(status, Some(0));
}

#[test]
fn sessions_that_are_kept_in_memory_only_stay_loaded_and_are_bounded() {
    let home = tempfile::tempdir().unwrap();
    let words = ["--rpc-edn", "--model", "offline/guide", "--no-session"];
    let mut backend = Backend::ready(home.path(), &words);
    backend.ask("s", "subscribe", r#"{:topics ["assistant/message"]}"#);
    for _ in 1..256 {
        let answer = backend.ask("n", "new_session", "{}");
        assert!(answer.contains(":ok true"), "{answer}");
    }
    assert_eq!(
        backend.ask("n", "new_session", "{}"),
        r#"{:kind :error :error-code "runtime/failed" :error-message "256 sessions are working or exist only in memory; wait for some to finish, or restart the program" :id "n" :op "new_session"}"#
    );
    let (_, _, status) = backend.end();
    assert_eq!(status, Some(0));
}

fn id_of(answer: &str) -> String {
    let at = answer.find(":active-session-id \"").unwrap() + ":active-session-id \"".len();
    answer[at..].split('"').next().unwrap().to_owned()
}
