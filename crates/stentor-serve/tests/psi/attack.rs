//! Whatever a client sends, in whatever order: every request that is accepted is answered once,
//! every frame is one the frontend understands, and the connection lives on.

use std::collections::HashMap;

use proptest::prelude::*;
use stentor_wire::edn::{self, Value};
use stentor_wire::psi::Op;

use super::client::Client;
use super::world::World;

/// Text, a tool that says something, text; again and again.
const CHATTY: &str = r#"
on_exhausted = "repeat-last"
[[turn]]
when = { last_role = "tool_result" }
text = "and so on"
[[turn]]
steps = [ { text = "ab", repeat = 20 }, { tool = "bash", arguments = { command = "echo x" } } ]
"#;

/// Requests that are sent at once.
const BURST: usize = 24;

/// What may stand in a request: forms of every kind, right and wrong.
fn form() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("nil".to_owned()),
        Just("true".to_owned()),
        Just("-1".to_owned()),
        Just("99999999999999999999N".to_owned()),
        Just("1.5".to_owned()),
        Just("\\a".to_owned()),
        Just("#inst \"2026-01-01T00:00:00Z\"".to_owned()),
        Just("#{1 2}".to_owned()),
        Just("(a b)".to_owned()),
        Just(":high".to_owned()),
        Just("\"\"".to_owned()),
        Just("\"script-0\"".to_owned()),
        Just("\"submitted\"".to_owned()),
        Just("\"cancelled\"".to_owned()),
        Just("\"select-session\"".to_owned()),
        Just("\"select-model\"".to_owned()),
        Just("\"[:psi.agent-session/phase {:psi.memory/entries [:text]}]\"".to_owned()),
        Just("\"/new\"".to_owned()),
        Just("\"/tree\"".to_owned()),
        Just("\"/model script script-0\"".to_owned()),
        Just("\"hello \u{1F600} \\u0007 \\n there\"".to_owned()),
        "[a-z]{0,6}".prop_map(|text| format!("\"{text}\"")),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4)
                .prop_map(|forms| format!("[{}]", forms.join(" "))),
            (inner.clone(), inner).prop_map(|(key, value)| format!("{{{key} {value}}}")),
        ]
    })
}

/// Parameters with keys that operations know.
fn params() -> impl Strategy<Value = String> {
    let key = proptest::sample::subsequence(
        vec![
            "message",
            "text",
            "query",
            "topics",
            "provider",
            "model-id",
            "level",
            "enabled",
            "name",
            "session-path",
            "entry-id",
            "dialog-id",
            "result",
            "job-id",
            "request-id",
            "action-name",
            "status",
            "value",
            "input",
            "behavior",
            "session-id",
            "entity",
            "statuses",
        ],
        0..5,
    );
    (key, proptest::collection::vec(form(), 5)).prop_map(|(keys, forms)| {
        let entries = keys.iter().zip(forms);
        let entries: Vec<String> = entries
            .map(|(key, form)| format!(":{key} {form}"))
            .collect();
        format!("{{{}}}", entries.join(" "))
    })
}

/// An operation and its parameters. What would leave the test's folder is left out.
fn request() -> impl Strategy<Value = (String, String)> {
    let ops: Vec<&str> = Op::ALL
        .iter()
        .map(|op| op.as_str())
        .filter(|op| !matches!(*op, "bash" | "export_html" | "handshake"))
        .chain(["telepathy"])
        .collect();
    (proptest::sample::select(ops), params()).prop_map(|(op, params)| (op.to_owned(), params))
}

/// Sends all of them at once and reads until each has its answer.
fn burst(client: &mut Client, requests: &[(String, String)]) {
    let mut open: HashMap<String, &str> = HashMap::new();
    for (n, (op, params)) in requests.iter().enumerate() {
        let id = format!("r{n}");
        client.send_request(&id, op, params);
        open.insert(id, op);
    }
    while !open.is_empty() {
        let line = client.raw();
        let frame = edn::read_one(&line).unwrap();
        if frame.get("event").is_some() {
            continue;
        }
        let id = frame.get("id").and_then(Value::as_str).unwrap_or_default();
        let op = frame.get("op").and_then(Value::as_str);
        let asked = open.remove(id);
        assert!(asked.is_some() && asked == op, "{line}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_request_is_answered_once_whatever_was_sent(
        requests in proptest::collection::vec(request(), 1..BURST),
    ) {
        let mut client = Client::ready(World::new(&[CHATTY]));
        client.send_request("p", "prompt", r#"{:message "go"}"#);
        client.until_answer(Some("p"));
        burst(&mut client, &requests);
        // It lives, and can be stopped.
        client.request("end", "abort", "{}");
        let (rest, code) = client.close();
        prop_assert_eq!(code, 0, "{:?}", rest);
    }

    #[test]
    fn every_line_is_answered_with_one_frame_before_the_handshake(line in ".{0,60}") {
        let line: String = line.chars().filter(|c| !matches!(c, '\n' | '\r')).collect();
        let mut client = Client::start(World::new(&[CHATTY]));
        client.send(&line);
        let answer = client.raw();
        let is_error = answer.starts_with("{:kind :error");
        prop_assert!(is_error, "{}", answer);
        let (rest, code) = client.close();
        prop_assert_eq!((rest, code), (vec![], 0));
    }
}

#[test]
fn a_thousand_refused_lines_are_answered_each_and_take_nothing_along() {
    let mut client = Client::shaken(World::new(&[CHATTY]));
    let mut bytes = Vec::new();
    for n in 0..1000 {
        bytes.extend_from_slice(match n % 4 {
            0 => b"nonsense\n".as_slice(),
            1 => b"{:a\n",
            2 => b"\xff\xfe\n",
            _ => b"{:kind :request :id \"a\" :op \"ping\" :extra 1}\n",
        });
    }
    let input = client.clone_input();
    let sending = std::thread::spawn(move || {
        use std::io::Write;
        let mut input = input;
        input.write_all(&bytes).unwrap();
    });
    for _ in 0..1000 {
        assert!(client.raw().starts_with("{:kind :error"));
    }
    sending.join().unwrap();
    let pong = client.answer("ping", "{}");
    assert!(pong.contains(":pong true"), "{pong}");
}
