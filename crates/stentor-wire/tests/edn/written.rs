use proptest::prelude::*;
use serde_json::json;

use stentor_psi_check::fallback;
use stentor_wire::edn::{EdnWriter, Keyword, Value, WriteEdn, escape_into, read_one};

use super::{frame_text, map_of, plain};

fn text_of(value: &(impl WriteEdn + ?Sized)) -> String {
    let mut out = Vec::new();
    EdnWriter::new(&mut out).value(value);
    String::from_utf8(out).unwrap()
}

fn query_text(value: &Value<'_>) -> String {
    let mut out = Vec::new();
    EdnWriter::for_query_result(&mut out).value(value);
    String::from_utf8(out).unwrap()
}

#[test]
fn frames_are_streamed_without_a_tree() {
    let mut out = b"kept ".to_vec();
    EdnWriter::new(&mut out).map(|frame| {
        frame
            .field("kind", &Keyword("event"))
            .field("event", "assistant/delta")
            .key("data")
            .map(|data| {
                data.field("session-id", "s")
                    .field("text", "Look\n\"here\"");
                data.field_if_some("absent", None::<&str>)
                    .field("nothing", &None::<i64>);
                data.key("list").vector(|list| {
                    list.value(&1u32)
                        .value(&true)
                        .value("x")
                        .vector(|_| {})
                        .map(|_| {});
                });
            })
            .field("seq", &12u64);
    });
    assert_eq!(
        String::from_utf8(out).unwrap(),
        r#"kept {:kind :event :event "assistant/delta" :data {:session-id "s" :text "Look\n\"here\"" :nothing nil :list [1 true "x" [] {}]} :seq 12}"#
    );
}

#[test]
fn section_2_2_scalars() {
    let cases: &[(&dyn WriteEdn, &str)] = &[
        (&i64::MIN, "-9223372036854775808"),
        (&u64::MAX, "18446744073709551615"),
        (&0i64, "0"),
        (&1.0, "1.0"),
        (&-0.0, "-0.0"),
        (&0.1, "0.1"),
        (&1e-5, "1.0E-5"),
        (&1.5e300, "1.5E300"),
        (&1e15, "1000000000000000.0"),
        (&f64::NAN, "nil"),
        (&f64::INFINITY, "nil"),
        (&false, "false"),
        (&None::<bool>, "nil"),
        (
            &"a\"\\\n\r\t\u{8}\u{c}\u{0}\u{1b}\u{7f}é😀\u{2028}",
            "\"a\\\"\\\\\\n\\r\\t\\b\\f\\u0000\\u001B\\u007Fé😀\u{2028}\"",
        ),
        (&Keyword("ui.item/label"), ":ui.item/label"),
        (&Keyword("completed?"), ":completed?"),
        (&Keyword("two words"), "\"two words\""),
        (&Keyword("a} {"), "\"a} {\""),
        (&Keyword(""), "\"\""),
        (&Keyword(":a"), "\":a\""),
        (&Keyword("é"), "\"é\""),
        (&Keyword("-a/+b"), ":-a/+b"),
        (&Keyword("-1"), "\"-1\""),
        (&Keyword("1a"), "\"1a\""),
        (&Keyword("a/1"), "\"a/1\""),
        (&Keyword("a/"), "\"a/\""),
        (&Keyword("a/b/c"), "\"a/b/c\""),
        (&vec![1i64, 2], "[1 2]"),
    ];
    for (value, expected) in cases {
        assert_eq!(text_of(*value), *expected);
    }
}

#[test]
fn section_2_2_what_a_frame_cannot_say_becomes_the_nearest_thing() {
    let cases = [
        ("1/3", "\"1/3\"", "\"1/3\""),
        ("1.50M", "\"1.50\"", "\"1.50\""),
        (
            "123456789012345678901N",
            "123456789012345678901",
            "123456789012345678901",
        ),
        ("\\a", "\"a\"", "\"a\""),
        ("##NaN", "nil", "nil"),
        ("#inst \"2026-05-02\"", "\"2026-05-02\"", "\"2026-05-02\""),
        ("#:p{:a 1}", "{:p/a 1}", "{:p/a 1}"),
        ("#{1 (a/b [])}", "[1 [\"a/b\" []]]", "#{1 (a/b [])}"),
        ("\"\\uD83D\\uDE00\"", "\"😀\"", "\"😀\""),
        ("[#_ x 1]", "[1]", "[1]"),
    ];
    for (read, frame, query) in cases {
        let value = read_one(read).unwrap();
        assert_eq!(frame_text(&value), frame);
        assert_eq!(query_text(&value), query);
    }
}

#[test]
fn json_keeps_string_keys() {
    let value = json!({"command": "ls", "n": [1, 1.5, null, true, 18446744073709551615u64]});
    assert_eq!(
        text_of(&value),
        r#"{"command" "ls" "n" [1 1.5 nil true 18446744073709551615]}"#
    );
}

#[test]
fn a_growing_text_is_escaped_once() {
    let mut escaped = Vec::new();
    escape_into(&mut escaped, "a\n");
    escape_into(&mut escaped, "\"b\"");
    let mut out = Vec::new();
    EdnWriter::new(&mut out).vector(|list| {
        list.str_escaped(&escaped).int(1);
    });
    assert_eq!(out, br#"["a\n\"b\"" 1]"#);
}

#[test]
fn the_oracle_reads_the_table_of_section_2_2_and_nothing_else() {
    for frame in [
        r#"{}"#,
        r#"{:a {"command" "ls"}, :b [1 -2 1.5 1.0E-5 nil true false], :c/d "\u00e9é\n"}"#,
        "{:a \"\u{1b}[1m\"}",
        "{:a--/--0b :-a}",
    ] {
        assert_eq!(
            fallback::read_frame(frame).as_ref(),
            Ok(&read_one(frame).unwrap()),
            "{frame}"
        );
    }
    for inside in ["#{1}", "(1)", "a/b", "-a"] {
        let frame = format!("{{:a {inside}}}");
        assert!(fallback::read_frame(&frame).is_err(), "{inside}");
        assert_eq!(
            fallback::read_query_frame(&frame).as_ref(),
            Ok(&read_one(&frame).unwrap())
        );
    }
    for inside in [
        "1N",
        "1.5M",
        "1/3",
        "\\a",
        "##NaN",
        "##Inf",
        "#inst \"2026\"",
        "#:p{:a 1}",
        "^m 1",
        "#_ 1 2",
        "\"\\uD83D\\uDE00\"",
        "\"\\x\"",
        "\"a\tb\"",
        "1 :a 2",
        "1 :b",
        "[1",
        "1)",
        ":é",
        ";x",
        "1.",
        ".5",
        "\"a\nb\"",
        "'a",
        "::a",
    ] {
        let frame = format!("{{:a {inside}}}");
        assert!(fallback::read_frame(&frame).is_err(), "{inside}");
        assert!(fallback::read_query_frame(&frame).is_err(), "{inside}");
    }
    for line in ["", "1", "[]", "nil", "{} {}", "{}\n", "{}\r"] {
        assert!(fallback::read_frame(line).is_err(), "{line}");
    }
    let refusal = fallback::read_frame("{:a 1N}").unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "a number that becomes a symbol at byte 4"
    );
}

proptest! {
    #[test]
    fn frames_are_one_line_and_read_back_equal_by_both_readers(value in map_of(plain())) {
        prop_assert!(value.is_plain());
        let text = frame_text(&value);
        prop_assert!(!text.contains(['\n', '\r']));
        prop_assert_eq!(&read_one(&text).unwrap(), &value);
        prop_assert_eq!(&fallback::read_frame(&text).unwrap(), &value);
        prop_assert_eq!(text, query_text(&value));
    }

    #[test]
    fn names_never_break_a_frame(name in any::<String>()) {
        let mut out = Vec::new();
        EdnWriter::new(&mut out).map(|frame| {
            frame.field(&name, &Keyword(&name));
        });
        fallback::read_frame(std::str::from_utf8(&out).unwrap()).unwrap();
    }

    #[test]
    fn floats_read_back_to_the_bit(number in super::finite()) {
        let text = text_of(&number);
        let Ok(Value::Float(read)) = read_one(&text) else { panic!("not a float: {text}") };
        prop_assert_eq!(read.to_bits(), number.to_bits());
    }
}
