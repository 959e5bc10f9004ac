//! A synaps parent that goes on from a cursor, which it has to ask for.

use serde_json::{Value, json};

use crate::clients::{acp, allow, asked, prompt, server, synaps_too};
use crate::cursors::{kill, restarted};
use crate::server::Server;
use crate::world::Child;

/// A parent that joins a session with `--cursor` or `--cursor=…`, and the place in its first frame.
fn joined(server: &Server, session: &str, flag: &str) -> (Child, Value) {
    let mut parent = server.relay(&["rpc", "--continue", session, flag]);
    let mut ready = parent.json();
    let place = ready["cursor"].take();
    let plan = server.world.path("work/plan.toml");
    assert_eq!(
        ready,
        json!({
            "type": "ready", "session_id": session,
            "model": format!("script/{}", plan.display()),
            "protocol_version": 1, "cursor": null,
        })
    );
    (parent, place)
}

/// The flag with which one goes on from a place.
fn at(place: &Value) -> String {
    let (epoch, number) = (place["epoch"].as_str().unwrap(), &place["number"]);
    format!("--cursor={epoch}:{number}")
}

/// What a parent has: the frames up to its place, without their places, and the place.
#[derive(Default)]
struct Had {
    frames: Vec<Value>,
    place: Value,
    /// Frames that come again.
    more: Vec<Value>,
}

impl Had {
    /// Reads up to the frame that fits.
    fn read(&mut self, parent: &mut Child, fits: impl Fn(&Value) -> bool) {
        loop {
            let mut frame = parent.json();
            let place = frame["cursor"].take();
            assert!(place["number"].is_u64(), "{frame} {place}");
            let is_last = fits(&frame);
            self.more.push(frame);
            if place["more"] != true {
                self.frames.append(&mut self.more);
                self.place = place;
            }
            if is_last {
                return;
            }
        }
    }
}

fn is_end(frame: &Value) -> bool {
    frame["type"] == "agent_end"
}

/// The frames of answers with adjacent pieces of text put together: how it is cut is nobody's.
fn shown(frames: &[Value]) -> Vec<String> {
    let mut shown: Vec<(String, String)> = Vec::new();
    for frame in frames {
        let kind = frame["event"]["type"].as_str().unwrap_or("end").to_owned();
        if kind == "toolcall_input_delta" {
            continue;
        }
        let text = match frame["event"]["delta"].as_str() {
            Some(text) => text.to_owned(),
            None => frame.to_string(),
        };
        match shown.last_mut() {
            Some((last, joined)) if *last == kind && kind.ends_with("_delta") => {
                joined.push_str(&text);
            }
            _ => shown.push((kind, text)),
        }
    }
    shown.into_iter().map(|(_, text)| text).collect()
}

const WAITING: &str = "[[turn]]\nsteps = [{ text = \"Begun \" }, { wait_for = \"go\" }, \
                       { text = \"and done.\" }]\n";

/// Text and thinking, two calls, and an answer to them.
const CALLS: &str = "[[turn]]\ntext = \"One.\"\n\
    [[turn]]\nsteps = [{ thinking = \"Hm.\" }, { text = \"Look: \" }, \
    { tool = \"read\", id = \"call-1\", arguments = { path = \"a.txt\" }, chunk_chars = 4 }, \
    { wait_for = \"go\" }, \
    { tool = \"read\", id = \"call-2\", arguments = { path = \"b.txt\" } }]\n\
    [[turn]]\ntext = \"Two.\"\n";

#[test]
fn a_parent_goes_on_in_the_middle_of_an_answer() {
    let server = server(WAITING);
    let (mut one, session) = acp(&server);
    let (mut two, place) = joined(&server, &session, "--cursor");
    assert_eq!(place["outcome"], Value::Null);
    prompt(&mut one, 3, &session, "tell");
    let mut had = Had::default();
    had.read(&mut two, |frame| frame["event"]["delta"] == "Begun ");
    kill(two);
    let (mut three, place) = joined(&server, &session, &at(&had.place));
    assert_eq!(
        (&place["outcome"], &place["number"], &place["catch_up"]),
        (&json!("resumed"), &had.place["number"], &Value::Null)
    );
    server.world.file("work/go", "");
    had.read(&mut three, is_end);
    let end = had.frames.last().unwrap().to_string();
    assert_eq!(shown(&had.frames), ["Begun and done.", &end]);
    one.until_answer(3);
}

#[test]
fn what_a_parent_missed_comes_as_it_was_live_wherever_it_was_killed() {
    let server = server(CALLS);
    server.world.file("work/a.txt", "a");
    server.world.file("work/b.txt", "b");
    let (mut one, session) = acp(&server);
    let (mut live, _) = joined(&server, &session, "--cursor");
    prompt(&mut one, 3, &session, "first");
    let mut first = Had::default();
    first.read(&mut live, is_end);
    let (mut two, _) = joined(&server, &session, "--cursor");
    let (mut three, _) = joined(&server, &session, "--cursor");
    prompt(&mut one, 4, &session, "second");
    // One is killed in the midst of the text's end, one in the midst of the first call.
    let mut at_text = Had::default();
    at_text.read(&mut two, |frame| frame["event"]["delta"] == "Look: ");
    kill(two);
    let mut at_call = Had::default();
    at_call.read(&mut three, |frame| {
        frame["event"]["type"] == "toolcall_input_delta"
    });
    assert_eq!(at_call.more[0]["event"]["tool_id"], "call-1");
    assert_eq!(at_call.place["number"], at_text.place["number"]);
    kill(three);
    // One that goes on while the answer is still written.
    let (early, _) = joined(&server, &session, &at(&at_call.place));
    server.world.file("work/go", "");
    let mut all = Had::default();
    all.read(&mut live, is_end);
    one.until_answer(4);
    let whole = shown(&all.frames);
    assert_eq!(whole.len(), 10, "{whole:#?}");
    let text = |at: usize| whole[at].as_str();
    assert_eq!((text(0), text(1), text(8)), ("Hm.", "Look: ", "Two."));

    for (mut parent, mut had, name) in [
        (
            joined(&server, &session, &at(&first.place)).0,
            Had::default(),
            "before it",
        ),
        (
            joined(&server, &session, &at(&at_text.place)).0,
            at_text,
            "text",
        ),
        (
            early,
            Had {
                more: Vec::new(),
                ..at_call
            },
            "call",
        ),
    ] {
        had.read(&mut parent, is_end);
        assert_eq!(shown(&had.frames), whole, "{name}");
        // The places are the same, too.
        assert_eq!(had.place, all.place, "{name}");
    }
}

#[test]
fn a_place_that_is_gone_is_answered_with_the_way_to_catch_up() {
    let server = server(WAITING);
    let (mut one, session) = acp(&server);
    let (mut two, _) = joined(&server, &session, "--cursor");
    prompt(&mut one, 3, &session, "tell");
    let mut had = Had::default();
    had.read(&mut two, |frame| frame["event"]["delta"] == "Begun ");
    kill(two);
    // How an answer was written is forgotten when it is complete.
    server.world.file("work/go", "");
    one.until_answer(3);
    let (too_old, place) = joined(&server, &session, &at(&had.place));
    assert_eq!(
        (&place["outcome"], &place["catch_up"]),
        (&json!("too-old"), &json!("get_messages"))
    );
    assert_eq!(place["epoch"], had.place["epoch"]);
    drop((too_old, one));
    let server = restarted(server);
    let (mut other, place) = joined(&server, &session, &at(&had.place));
    assert_eq!(
        (&place["outcome"], &place["catch_up"]),
        (&json!("other-epoch"), &json!("get_messages"))
    );
    assert_ne!(place["epoch"], had.place["epoch"]);
    other.send(r#"{"type":"get_messages","id":"m"}"#);
    assert_eq!(
        other.json(),
        json!({
            "type": "response", "id": "m", "command": "get_messages", "ok": true,
            "messages": [
                { "role": "user", "content": "tell" },
                { "role": "assistant", "content": [{ "type": "text", "text": "Begun and done." }] },
            ],
        })
    );
    // Where it is now, it can ask at any time.
    other.send(r#"{"type":"get_state","id":"s"}"#);
    assert_eq!(other.json()["cursor"]["epoch"], place["epoch"]);
}

#[test]
fn a_parent_that_came_in_the_middle_has_a_place_when_it_has_all_of_that() {
    let server = server(WAITING);
    let (mut one, session) = acp(&server);
    prompt(&mut one, 3, &session, "tell");
    let (mut two, _) = joined(&server, &session, "--cursor");
    let mut had = Had::default();
    had.read(&mut two, |frame| frame["event"]["delta"] == "Begun ");
    let (mut three, place) = joined(&server, &session, "--cursor");
    assert_eq!(place["more"], true);
    let mut came_later = Had::default();
    came_later.read(&mut three, |frame| frame["event"]["delta"] == "Begun ");
    assert_eq!(came_later.place, Value::Null);
    server.world.file("work/go", "");
    came_later.read(&mut three, |frame| frame["event"]["delta"] == "and done.");
    assert_eq!(shown(&came_later.frames), ["Begun and done."]);
    assert!(came_later.place["number"].as_u64() > place["number"].as_u64());
    one.until_answer(3);
}

#[test]
fn a_place_that_is_none_is_a_wrong_command_line() {
    let server = server(WAITING);
    let (_one, session) = acp(&server);
    for flag in ["--cursor=nowhere", "--cursor=", "--cursor=:1"] {
        let flags = ["rpc", "--continue", &session, flag];
        assert_eq!(server.relay(&flags).exit_code(), Some(2), "{flag}");
    }
}

/// Whether a turn runs, as a parent is told.
fn is_streaming(parent: &mut Child) -> Value {
    parent.send(r#"{"type":"get_state","id":"s"}"#);
    let answer = parent.until(|line| line.contains(r#""id":"s""#)).pop();
    let answer: Value = serde_json::from_str(&answer.unwrap()).unwrap();
    answer["streaming"].clone()
}

#[test]
fn a_parent_that_comes_while_a_call_waits_or_runs_sees_it_begin_and_end() {
    let command = "until [ -e go ]; do sleep 0.05; done; echo gone";
    let scenario = format!(
        "[[turn]]\ntool = \"bash\"\narguments = {{ command = {command:?} }}\n\
         [[turn]]\ntext = \"Done.\"\n"
    );
    let server = server(&scenario);
    let (mut one, session) = acp(&server);
    let mut idle = synaps_too(&server, &session);
    assert_eq!(is_streaming(&mut idle), false);
    prompt(&mut one, 3, &session, "run it");
    let question = asked(&mut one);
    let mut came_first = synaps_too(&server, &session);
    let begun = |parent: &mut Child| {
        let start = parent.json();
        assert_eq!(start["event"]["type"], "toolcall_start", "{start}");
        let input = parent.json();
        assert_eq!(input["event"]["type"], "toolcall_input", "{input}");
        assert_eq!(input["event"]["input"]["command"], command);
        assert_eq!(start["event"]["tool_id"], input["event"]["tool_id"]);
        (start, input)
    };
    begun(&mut came_first);
    assert_eq!(is_streaming(&mut came_first), true);
    allow(&mut one, &question);
    one.until(|line| line.contains("in_progress"));
    let (mut came_second, place) = joined(&server, &session, "--cursor");
    assert_eq!(place["more"], true);
    let (start, input) = begun(&mut came_second);
    assert_eq!(start["cursor"]["more"], true);
    assert_eq!(input["cursor"]["more"], true);
    assert_eq!(is_streaming(&mut came_second), true);
    server.world.file("work/go", "");
    for parent in [&mut came_first, &mut came_second] {
        let lines = parent.until(|line| line.contains(r#""type":"agent_end""#));
        let lines = lines.concat();
        assert!(!lines.contains("toolcall_start"), "{lines}");
        assert!(
            lines.contains("toolcall_result") && lines.contains("gone"),
            "{lines}"
        );
        assert_eq!(is_streaming(parent), false);
    }
}

#[test]
fn a_parent_that_does_not_ask_sees_no_place() {
    let server = server("[[turn]]\ntext = \"One.\"\n");
    let (_one, session) = acp(&server);
    let mut parent = synaps_too(&server, &session);
    parent.send(r#"{"type":"prompt","id":"p","message":"hi"}"#);
    let mut lines = parent.until(|line| line.contains(r#""type":"response""#));
    parent.send(r#"{"type":"get_state","id":"s"}"#);
    lines.extend(parent.until(|line| line.contains(r#""id":"s""#)));
    parent.send(r#"{"type":"new_session","id":"n"}"#);
    lines.extend(parent.until(|line| line.contains(r#""id":"n""#)));
    assert!(!lines.concat().contains("cursor"), "{lines:?}");
}
