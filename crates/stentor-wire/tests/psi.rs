//! Each check of section 4 that a line alone can fail, and the frames as they are written.

use stentor_psi_check::fallback;
use stentor_wire::psi::envelope::Request;
use stentor_wire::psi::frame::{self, ErrorContext, Stamp};
use stentor_wire::psi::*;

#[cfg(test)]
fn refusal(line: &str) -> String {
    let mut out = Vec::new();
    let refused = match Request::read(line) {
        Err(refused) => refused,
        Ok(request) => match request.names() {
            Err(refused) => refused,
            Ok((id, op)) => return format!("{id} {op}"),
        },
    };
    frame::refusal(&mut out, &refused);
    let line = String::from_utf8(out).unwrap();
    fallback::read_frame(line.trim_end()).unwrap();
    let echo = (refused.id, refused.op);
    format!("{} {echo:?}", refused.code.as_str())
}

#[test]
fn checks_1_to_9_in_their_order_with_what_each_echoes() {
    const FRAME: &str = "transport/invalid-frame (None, None)";
    const ENVELOPE: &str = "protocol/invalid-envelope (None, None)";
    for (line, expected) in [
        ("", FRAME),
        ("  \t ", FRAME),
        ("{:id \"a\"", FRAME),
        ("{:a 1 :a 2}", FRAME),
        ("{:a}", FRAME),
        ("{:a #what 1}", FRAME),
        ("{} {}", FRAME),
        ("nil", ENVELOPE),
        ("not-edn", ENVELOPE),
        ("[1]", ENVELOPE),
        ("{}", ENVELOPE),
        (
            r#"{:id "a" :op "ping"}"#,
            r#"protocol/invalid-envelope (Some("a"), Some("ping"))"#,
        ),
        (
            r#"{:id "a" :op "ping" :kind :event}"#,
            r#"protocol/invalid-envelope (Some("a"), Some("ping"))"#,
        ),
        (
            r#"{:kind :request :op "ping"}"#,
            r#"protocol/invalid-envelope (None, Some("ping"))"#,
        ),
        (
            r#"{:kind :request :id "a"}"#,
            r#"protocol/invalid-envelope (Some("a"), None)"#,
        ),
        (
            r#"{:kind :request :id "a" :op "ping" :seq 1}"#,
            r#"protocol/invalid-envelope (Some("a"), Some("ping"))"#,
        ),
        (
            r#"{:kind :request :id 7 :op "ping" "params" {}}"#,
            r#"protocol/invalid-envelope (None, Some("ping"))"#,
        ),
        (
            r#"{:kind :request :id 7 :op "ping"}"#,
            r#"request/invalid-id (None, Some("ping"))"#,
        ),
        (
            r#"{:kind :request :id " " :op 3}"#,
            r#"request/invalid-id (Some(" "), None)"#,
        ),
        (
            r#"{:kind :request :id "a" :op ""}"#,
            r#"request/invalid-op (Some("a"), Some(""))"#,
        ),
        (
            r#"{:kind :request :id "a" :op :ping}"#,
            r#"request/invalid-op (Some("a"), None)"#,
        ),
        (r#"{:kind "request" :id "a" :op "ping"} ; fine"#, "a ping"),
    ] {
        assert_eq!(refusal(line), expected, "{line}");
    }
}

#[test]
fn frames_have_exactly_their_keys_and_are_one_line() {
    let mut out = Vec::new();
    frame::response(&mut out, "r\n1", "ping", Some(b"{:pong true}"));
    frame::response(&mut out, "r2", "ping", None);
    let context = ErrorContext {
        id: Some("r3"),
        op: Some("x"),
        data: Some(b"{:supported-ops []}"),
    };
    frame::error(&mut out, ErrorCode::OpNotSupported, "no", context);
    let stamp = Stamp {
        id: None,
        seq: 4,
        ts: "t",
    };
    frame::event(&mut out, Topic::WidgetSpecsUpdated, stamp, |data| {
        data.map(|_| {});
    });
    let text = String::from_utf8(out).unwrap();
    let expected = [
        r#"{:id "r\n1" :kind :response :op "ping" :ok true :data {:pong true}}"#,
        r#"{:id "r2" :kind :response :op "ping" :ok true}"#,
        r#"{:kind :error :error-code "request/op-not-supported" :error-message "no" :id "r3" :op "x" :data {:supported-ops []}}"#,
        r#"{:kind :event :event "ui/widget-specs-updated" :data {} :seq 4 :ts "t"}"#,
    ];
    assert_eq!(text.lines().collect::<Vec<_>>(), expected);
    for line in expected {
        fallback::read_frame(line).unwrap();
    }
}

#[test]
fn only_major_one_is_served() {
    for (version, expected) in [
        ("1", true),
        ("1.0", true),
        ("1.7", true),
        ("1.x", true),
        ("2.0", false),
        ("v1", false),
        ("", false),
        ("01.0", false),
        ("10.0", false),
        (" 1", false),
    ] {
        assert_eq!(is_supported_version(version), expected, "{version:?}");
    }
}

#[test]
fn names_of_ops_and_topics_read_back_and_are_distinct() {
    for op in Op::ALL {
        assert_eq!(Op::parse(op.as_str()), Some(*op));
    }
    for topic in Topic::ALL {
        assert_eq!(Topic::parse(topic.as_str()), Some(*topic));
    }
    assert_eq!(Op::parse("nope"), None);
}

#[test]
fn an_empty_subscription_covers_everything_but_what_must_be_named() {
    let mut topics = TopicSet::default();
    assert!(topics.covers(Topic::Error));
    assert!(!topics.covers(Topic::ToolDelta));
    assert!(!topics.wants_projections(Topic::ContextUpdated));
    topics.add(Topic::ToolDelta);
    assert!(topics.covers(Topic::ToolDelta));
    assert!(!topics.covers(Topic::Error));
    topics.add(Topic::CommandResult);
    topics.add(Topic::AssistantDelta);
    assert_eq!(
        topics.names_sorted(),
        ["assistant/delta", "command-result", "tool/delta"]
    );
    topics.remove(Topic::ToolDelta);
    assert_eq!(topics.names_sorted().len(), 2);
    topics.clear();
    assert!(topics.covers(Topic::Error));
}
