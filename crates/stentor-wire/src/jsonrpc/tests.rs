use std::borrow::Cow;

use proptest::prelude::*;
use serde_json::json;
use serde_json::value::RawValue;

use super::*;

fn fault(id: Option<Id>, code: i64, message: &'static str) -> Incoming<'static> {
    Incoming::Error(Fault {
        id,
        code,
        message,
        reason: "",
    })
}

/// The outcome without the words for a person.
fn outcome(line: &str) -> Incoming<'_> {
    match decode(line) {
        Incoming::Error(Fault {
            id, code, message, ..
        }) => fault(id, code, message),
        other => other,
    }
}

fn parse_error() -> Incoming<'static> {
    fault(None, -32700, "Parse error")
}

fn invalid(id: Option<Id>) -> Incoming<'static> {
    fault(id, -32600, "Invalid Request")
}

fn raw(text: &'static str) -> RawJson<'static> {
    serde_json::from_str::<&RawValue>(text).unwrap().into()
}

fn big(text: &str) -> Id {
    serde_json::from_str(text).unwrap()
}

fn request(id: Id, method: &'static str, params: &'static str) -> Incoming<'static> {
    Incoming::Request {
        id,
        method: Cow::Borrowed(method),
        params: raw(params),
    }
}

fn notification(method: &'static str, params: &'static str) -> Incoming<'static> {
    Incoming::Notification {
        method: Cow::Borrowed(method),
        params: raw(params),
    }
}

fn check(cases: &[(&str, Incoming<'static>)]) {
    for (line, expected) in cases {
        assert_eq!(outcome(line), *expected, "{line}");
    }
}

#[test]
fn rules_1_and_2_not_json_and_not_an_object() {
    check(&[
        ("{not json", parse_error()),
        ("", parse_error()),
        ("  ", parse_error()),
        ("42 43", parse_error()),
        (r#"{"jsonrpc":"2.0","method":"a"} x"#, parse_error()),
        (
            r#"{"jsonrpc":"2.0","method":"a","params":{"x":tru}}"#,
            parse_error(),
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"\ud800"}"#,
            parse_error(),
        ),
        (
            r#"{"jsonrpc":"2.0","id":"\ud800","method":"a"}"#,
            parse_error(),
        ),
        ("42", invalid(None)),
        ("\"2.0\"", invalid(None)),
        ("null", invalid(None)),
        ("[]", invalid(None)),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"a"}]"#, invalid(None)),
    ]);
}

#[test]
fn rule_3_the_version() {
    check(&[
        (r#"{"id":1,"method":"a"}"#, invalid(None)),
        (r#"{"jsonrpc":"1.0","id":1,"method":"a"}"#, invalid(None)),
        (r#"{"jsonrpc":2.0,"id":1,"method":"a"}"#, invalid(None)),
        ("{}", invalid(None)),
    ]);
}

#[test]
fn rule_4_params_must_be_an_object_and_the_id_is_recovered() {
    check(&[
        (
            r#"{"jsonrpc":"2.0","id":5,"method":"a","params":[]}"#,
            invalid(Some(5.into())),
        ),
        (
            r#"{"jsonrpc":"2.0","id":5,"method":"a","params":null}"#,
            invalid(Some(5.into())),
        ),
        (
            r#"{"jsonrpc":"2.0","id":"x","method":"a","params":3}"#,
            invalid(Id::text("x")),
        ),
        (
            r#"{"jsonrpc":"2.0","method":"a","params":[]}"#,
            invalid(None),
        ),
        (
            r#"{"jsonrpc":"2.0","id":"","method":"a","params":[]}"#,
            invalid(None),
        ),
    ]);
}

#[test]
fn rules_5_and_6_requests_and_notifications() {
    let huge = "123456789012345678901234567890";
    check(&[
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"a"}"#,
            request(1.into(), "a", "{}"),
        ),
        (
            r#" {"params": {"x": [1, 2]} ,"method":"a","id":-7,"jsonrpc":"2.0","more":{}} "#,
            request((-7).into(), "a", r#"{"x": [1, 2]}"#),
        ),
        (
            r#"{"jsonrpc":"2.0","id":"1","method":"a"}"#,
            request(Id::text("1").unwrap(), "a", "{}"),
        ),
        (
            r#"{"jsonrpc":"2.0","id":123456789012345678901234567890,"method":"a"}"#,
            request(big(huge), "a", "{}"),
        ),
        (
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\"}\r",
            request(1.into(), "a", "{}"),
        ),
        (
            "\u{feff}{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\"}",
            request(1.into(), "a", "{}"),
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"\u006dethod":"\u0061"}"#,
            request(1.into(), "a", "{}"),
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"a"}"#,
            request(2.into(), "a", "{}"),
        ),
        (r#"{"jsonrpc":"2.0","method":"a"}"#, notification("a", "{}")),
        (
            r#"{"jsonrpc":"2.0","id":null,"method":"a"}"#,
            notification("a", "{}"),
        ),
        (
            r#"{"jsonrpc":"2.0","id":"","method":"a"}"#,
            notification("a", "{}"),
        ),
        (
            r#"{"jsonrpc":"2.0","id":"  ","method":"a"}"#,
            notification("a", "{}"),
        ),
        (
            r#"{"jsonrpc":"2.0","id":1.5,"method":"a"}"#,
            notification("a", "{}"),
        ),
        (
            r#"{"jsonrpc":"2.0","id":1e3,"method":"a"}"#,
            notification("a", "{}"),
        ),
        (
            r#"{"jsonrpc":"2.0","id":true,"method":"a"}"#,
            notification("a", "{}"),
        ),
        (
            r#"{"jsonrpc":"2.0","id":[1],"method":"a"}"#,
            notification("a", "{}"),
        ),
        // A request may carry stray response members: the method decides.
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"a","result":1}"#,
            request(1.into(), "a", "{}"),
        ),
    ]);
}

#[test]
fn rules_7_to_9_responses_and_the_rest() {
    let response = |result| Incoming::Response {
        id: 1.into(),
        result: raw(result),
    };
    let refusal = |error| Incoming::ResponseError {
        id: 1.into(),
        error: raw(error),
    };
    let ignore = |id: Option<i64>| Incoming::Ignore {
        id: id.map(Id::from),
    };
    check(&[
        (
            r#"{"jsonrpc":"2.0","id":1,"result":{"a":1}}"#,
            response(r#"{"a":1}"#),
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"result":null}"#,
            response("null"),
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":null,"result":2}"#,
            response("2"),
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-1}}"#,
            refusal(r#"{"code":-1}"#),
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"result":1,"error":{}}"#,
            refusal("{}"),
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"error":null,"result":1}"#,
            refusal("null"),
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":3,"result":1}"#,
            ignore(Some(1)),
        ),
        (r#"{"jsonrpc":"2.0","id":1}"#, ignore(Some(1))),
        (r#"{"jsonrpc":"2.0","id":null,"result":1}"#, ignore(None)),
        (r#"{"jsonrpc":"2.0","result":1}"#, ignore(None)),
        (r#"{"jsonrpc":"2.0"}"#, ignore(None)),
    ]);
}

#[test]
fn section_1_9_deep_nesting_is_a_parse_error() {
    let nested = |levels: usize| {
        let (open, close) = ("[".repeat(levels), "]".repeat(levels));
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"a","params":{{"x":{open}{close}}}}}"#)
    };
    let at_limit = nested(MAX_DEPTH - 2);
    let Incoming::Request { params, .. } = decode(&at_limit) else {
        panic!("refused at the limit")
    };
    params
        .parse::<serde_json::Value>()
        .expect("the handler can read what decode let through");
    assert!(serde_json::from_str::<serde_json::Value>(&at_limit).is_ok());

    let over = nested(MAX_DEPTH - 1);
    assert!(serde_json::from_str::<serde_json::Value>(&over).is_err());
    assert_eq!(outcome(&over), parse_error());
    assert_eq!(outcome(&nested(5000)), parse_error());

    // Brackets in strings are text.
    let text = "[{\\\"".repeat(500);
    let line = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"a","params":{{"x":"{text}"}}}}"#);
    assert!(matches!(decode(&line), Incoming::Request { .. }));
}

#[test]
fn errors_of_the_peer_are_read_leniently() {
    let read = |text| ErrorObject::from(raw(text));
    assert_eq!(
        read(r#"{"code":-32601,"message":"no","data":[1]}"#),
        ErrorObject {
            code: -32601,
            message: "no".into(),
            data: Some(json!([1]))
        }
    );
    assert_eq!(read("null"), ErrorObject::default());
    assert_eq!(
        read(r#"{"code":"x","message":7}"#),
        ErrorObject {
            code: 0,
            message: String::new(),
            data: None
        }
    );
}

#[test]
fn section_1_6_frames() {
    let frame = |write: &dyn Fn(&mut Vec<u8>) -> serde_json::Result<()>| {
        let mut out = b"before ".to_vec();
        write(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    };
    let cases = [
        (
            frame(&|out| encode::result(out, &1.into(), &json!({"a": "x\ny"}))),
            r#"before {"jsonrpc":"2.0","id":1,"result":{"a":"x\ny"}}"#,
        ),
        (
            frame(&|out| encode::result(out, &big("18446744073709551616"), &json!({}))),
            r#"before {"jsonrpc":"2.0","id":18446744073709551616,"result":{}}"#,
        ),
        (
            frame(&|out| encode::result(out, &Id::text("1").unwrap(), &json!({}))),
            r#"before {"jsonrpc":"2.0","id":"1","result":{}}"#,
        ),
        (
            frame(&|out| encode::error(out, None, code::PARSE_ERROR, "Parse error", None)),
            r#"before {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}"#,
        ),
        (
            frame(&|out| {
                let data = json!({"sessionId": "s"});
                encode::error(
                    out,
                    Some(&1.into()),
                    code::RESOURCE_NOT_FOUND,
                    "gone",
                    Some(&data),
                )
            }),
            r#"before {"jsonrpc":"2.0","id":1,"error":{"code":-32002,"message":"gone","data":{"sessionId":"s"}}}"#,
        ),
        (
            frame(&|out| encode::notification(out, "session/update", &json!({"a": 1}))),
            r#"before {"jsonrpc":"2.0","method":"session/update","params":{"a":1}}"#,
        ),
        (
            frame(&|out| encode::request(out, &(-1).into(), "fs/read_text_file", &json!({}))),
            r#"before {"jsonrpc":"2.0","id":-1,"method":"fs/read_text_file","params":{}}"#,
        ),
        (
            frame(&|out| {
                let laid_out = RawValue::from_string("{\r\n  \"a\": 1\n}".into()).unwrap();
                encode::notification(out, "m", &laid_out)
            }),
            r#"before {"jsonrpc":"2.0","method":"m","params":{    "a": 1 }}"#,
        ),
    ];
    for (written, expected) in cases {
        assert_eq!(written, expected);
    }
}

#[test]
fn a_frame_that_cannot_be_serialised_leaves_the_buffer_alone() {
    let keyed_by_a_list = std::collections::BTreeMap::from([(vec![1], 1)]);
    let mut out = b"before".to_vec();
    assert!(encode::notification(&mut out, "m", &keyed_by_a_list).is_err());
    assert_eq!(out, b"before");
}

#[test]
fn section_1_7_own_ids_count_down_and_are_taken_once() {
    let mut pending = OwnRequests::new();
    let (first, second) = (pending.issue("a"), pending.issue("b"));
    assert_eq!((first.as_i64(), second.as_i64()), (Some(-1), Some(-2)));
    assert_eq!(pending.take(&second), Some("b"));
    assert_eq!(pending.take(&second), None);
    assert_eq!(pending.take(&Id::text("-1").unwrap()), None);
    assert_eq!(pending.len(), 1);
    assert_eq!(pending.drain().collect::<Vec<_>>(), [(first, "a")]);
    assert!(pending.is_empty());
}

proptest! {
    #[test]
    fn ids_come_back_as_they_were(id in prop_oneof!["-?(0|[1-9][0-9]{0,40})", "\"[a-z é]{0,4}x\""]) {
        let line = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m"}}"#);
        let Incoming::Request { id: read, .. } = decode(&line) else { panic!("not a request: {line}") };
        let mut out = Vec::new();
        encode::result(&mut out, &read, &json!({})).unwrap();
        prop_assert_eq!(
            String::from_utf8(out).unwrap(),
            format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#)
        );
    }

    #[test]
    fn any_text_has_an_outcome(line in ".{0,80}") {
        decode(&line);
    }

    #[test]
    fn any_json_object_is_classified_as_the_tree_would_be(
        members in proptest::collection::vec(
            (
                prop_oneof!["jsonrpc", "id", "method", "params", "result", "error", "x"],
                prop_oneof!["\"2\\.0\"", "1", "1\\.5", "\"\"", "null", "\\{\\}", "\\[\\]", "\"m\""],
            ),
            0..7,
        ),
    ) {
        let mut members = members;
        members.insert(0, ("jsonrpc".into(), "\"2.0\"".into()));
        let body: Vec<String> = members.iter().map(|(name, value)| format!("{name:?}:{value}")).collect();
        let line = format!("{{{}}}", body.join(","));
        prop_assert_eq!(outcome_name(&decode(&line)), outcome_by_tree(&line));
    }
}

fn outcome_name(incoming: &Incoming<'_>) -> &'static str {
    match incoming {
        Incoming::Request { .. } => "request",
        Incoming::Notification { .. } => "notification",
        Incoming::Response { .. } => "response",
        Incoming::ResponseError { .. } => "response_error",
        Incoming::Error(_) => "error",
        Incoming::Ignore { .. } => "ignore",
    }
}

/// Section 1.3 over a parsed tree, as a second opinion.
fn outcome_by_tree(line: &str) -> &'static str {
    let value: serde_json::Value = serde_json::from_str(line).unwrap();
    let usable_id = match &value["id"] {
        serde_json::Value::Number(number) => number.is_i64(),
        serde_json::Value::String(text) => !text.trim().is_empty(),
        _ => false,
    };
    let object = value.as_object().unwrap();
    let method_is_absent = object.get("method").is_none_or(|method| method.is_null());
    let params_are_odd = object
        .get("params")
        .is_some_and(|params| !params.is_object());
    if value["jsonrpc"] != "2.0" || (value["method"].is_string() && params_are_odd) {
        "error"
    } else if value["method"].is_string() {
        if usable_id { "request" } else { "notification" }
    } else if usable_id && method_is_absent && object.contains_key("error") {
        "response_error"
    } else if usable_id && method_is_absent && object.contains_key("result") {
        "response"
    } else {
        "ignore"
    }
}

#[test]
fn a_fault_says_what_is_wrong_and_nothing_of_the_line() {
    for (line, reason) in [
        ("{secret", "A line must be one JSON object."),
        (
            "[]",
            "A line must be one JSON object; there are no batches.",
        ),
        (
            r#"{"jsonrpc":"1.0"}"#,
            "The member jsonrpc must be the text 2.0.",
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"a","params":[]}"#,
            "The member params must be an object.",
        ),
        (
            &"[".repeat(128),
            "The line is nested more than 127 levels deep.",
        ),
    ] {
        let Incoming::Error(fault) = decode(line) else {
            panic!("{line}");
        };
        assert_eq!(fault.reason, reason, "{line}");
    }
}
