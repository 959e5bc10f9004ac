use std::borrow::Cow;

use proptest::prelude::*;

use stentor_wire::edn::{MAX_DEPTH, ReadErrorKind as Kind, Reader, Tagged, Value, read_one};

fn keyword(name: &str) -> Value<'_> {
    Value::keyword(name)
}

fn symbol(name: &str) -> Value<'_> {
    Value::Symbol(name.into())
}

fn check(cases: &[(&str, Value<'_>)]) {
    for (text, expected) in cases {
        assert_eq!(read_one(text).as_ref(), Ok(expected), "{text}");
    }
}

fn check_refused(cases: &[(&str, usize, Kind)]) {
    for (text, offset, kind) in cases {
        let error = read_one(text).expect_err(text);
        assert_eq!((error.offset, error.kind), (*offset, *kind), "{text}");
    }
}

#[test]
fn section_2_1_what_the_client_sends() {
    check(&[(
        r#"{:id "req-1" :kind :request :op "x" :params {:ui.item/label "é\u001B" :n -1 :d 1.5 :v [nil true]}}"#,
        Value::map([
            ("id", Value::from("req-1")),
            ("kind", keyword("request")),
            ("op", Value::from("x")),
            (
                "params",
                Value::map([
                    ("ui.item/label", Value::from("é\u{1b}")),
                    ("n", Value::Int(-1)),
                    ("d", Value::Float(1.5)),
                    ("v", Value::Vector(vec![Value::Nil, Value::Bool(true)])),
                ]),
            ),
        ]),
    )]);
}

#[test]
fn numbers() {
    check(&[
        ("0", Value::Int(0)),
        ("-0", Value::Int(0)),
        ("+7", Value::Int(7)),
        ("9223372036854775807", Value::Int(i64::MAX)),
        ("-9223372036854775808", Value::Int(i64::MIN)),
        (
            "9223372036854775808",
            Value::BigInt("9223372036854775808".into()),
        ),
        (
            "+9223372036854775808N",
            Value::BigInt("9223372036854775808".into()),
        ),
        ("5N", Value::Int(5)),
        ("1.0", Value::Float(1.0)),
        ("1.0E-5", Value::Float(1e-5)),
        ("-1e+3", Value::Float(-1000.0)),
        ("1e999", Value::Float(f64::INFINITY)),
        ("1.50M", Value::BigDec("1.50".into())),
        ("1M", Value::BigDec("1".into())),
        ("1/3", Value::Ratio("1/3".into())),
        ("##Inf", Value::Float(f64::INFINITY)),
        ("##-Inf", Value::Float(f64::NEG_INFINITY)),
    ]);
    assert!(matches!(read_one("##NaN"), Ok(Value::Float(number)) if number.is_nan()));
    for text in [
        "01", "-01", "1.", "1.e3", "1e", "1e+", "1a", "1.5N", "1/0", "1/", "1/2/3", "0x1", "1#",
    ] {
        check_refused(&[(text, 0, Kind::InvalidNumber)]);
    }
}

#[test]
fn symbols_and_keywords() {
    for name in [
        "a", "a/b", "/", "+", "-", "..", "-a", "+.", "a1", "a:b#c", "*e*", "<=>", "é", "a.b/c.d",
        "nil?",
    ] {
        check(&[(name, symbol(name))]);
    }
    for text in [
        "a/", "/a", "a/b/c", "a/1", ".5", "a'", "'a", "@a", "`a", "~a", "^a", "a|", "a\\b",
        "a\u{a0}b", "a//",
    ] {
        check_refused(&[(text, 0, Kind::InvalidSymbol)]);
    }
    for name in [
        "a",
        "a/b",
        "a.b/c",
        "1",
        "a1",
        "+",
        "a:b",
        "completed?",
        "é",
    ] {
        check(&[(&format!(":{name}"), keyword(name))]);
    }
    for text in [":", "::a", ":/", ":a/", ":/a", ":a/b/c", ":a/1", ":#a"] {
        check_refused(&[(text, 0, Kind::InvalidKeyword)]);
    }
}

#[test]
fn characters() {
    let cases = [
        ("\\a", 'a'),
        ("\\newline", '\n'),
        ("\\return", '\r'),
        ("\\space", ' '),
        ("\\tab", '\t'),
        ("\\formfeed", '\u{c}'),
        ("\\backspace", '\u{8}'),
        ("\\u00e9", 'é'),
        ("\\o101", 'A'),
        ("\\o", 'o'),
        ("\\u", 'u'),
        ("\\é", 'é'),
        ("\\(", '('),
        ("\\\"", '"'),
        ("\\;", ';'),
        ("\\,", ','),
        ("\\\\", '\\'),
    ];
    for (text, char) in cases {
        check(&[(text, Value::Char(char))]);
    }
    check(&[(
        "[\\a \\]]",
        Value::vector([Value::Char('a'), Value::Char(']')]),
    )]);
    for text in [
        "\\", "\\ ", "\\ab", "\\uD800", "\\u00g0", "\\o400", "\\o8", "\\o+1", "\\newlin", "\\(a",
    ] {
        check_refused(&[(text, 0, Kind::InvalidCharacter)]);
    }
}

#[test]
fn strings() {
    check(&[
        (r#""""#, Value::from("")),
        (
            r#""a\"\\\n\r\t\b\f\u00e9""#,
            Value::from("a\"\\\n\r\t\u{8}\u{c}é"),
        ),
        (r#""\uD83D\uDE00!""#, Value::from("😀!")),
        ("\"a\nb\"", Value::from("a\nb")),
        ("\"😀\u{2028}\"", Value::from("😀\u{2028}")),
    ]);
    check_refused(&[
        (r#""a"#, 0, Kind::Unclosed("string")),
        (r#""a\"#, 0, Kind::Unclosed("string")),
        (r#""a\x""#, 2, Kind::InvalidEscape),
        (r#""\u12""#, 1, Kind::InvalidEscape),
        (r#""\u+123""#, 1, Kind::InvalidEscape),
        (r#""\u12é""#, 1, Kind::InvalidEscape),
        (r#""\uD83D""#, 1, Kind::UnpairedSurrogate),
        (r#""\uD83D\u0041""#, 1, Kind::UnpairedSurrogate),
        (r#""\uDE00\uD83D""#, 1, Kind::UnpairedSurrogate),
        (r#""\é""#, 1, Kind::InvalidEscape),
    ]);
}

#[test]
fn text_is_borrowed_unless_it_has_escapes() {
    let is_borrowed = |text| match read_one(text) {
        Ok(Value::Str(Cow::Borrowed(_)) | Value::Keyword(Cow::Borrowed(_))) => true,
        Ok(Value::Str(Cow::Owned(_))) => false,
        other => panic!("{other:?}"),
    };
    assert!(is_borrowed("\"abc\""));
    assert!(is_borrowed(":abc"));
    assert!(!is_borrowed("\"a\\n\""));
}

#[test]
fn collections() {
    let ints = |numbers: &[i64]| numbers.iter().copied().map(Value::Int).collect::<Vec<_>>();
    check(&[
        ("[]", Value::Vector(vec![])),
        ("(1 2)", Value::List(ints(&[1, 2]))),
        ("#{1 2}", Value::Set(ints(&[2, 1]).into_iter().collect())),
        (
            "{:a,1,:b,2}",
            Value::map([("b", Value::Int(2)), ("a", Value::Int(1))]),
        ),
        (
            "[[1][2]]",
            Value::vector([Value::Vector(ints(&[1])), Value::Vector(ints(&[2]))]),
        ),
        (
            "[1\"a\":b]",
            Value::vector([Value::Int(1), Value::from("a"), keyword("b")]),
        ),
        (
            "{nil 1 1 2 1.0 3}",
            Value::Map(
                [(Value::Nil, 1), (Value::Int(1), 2), (Value::Float(1.0), 3)]
                    .map(|(key, value)| (key, Value::Int(value)))
                    .into_iter()
                    .collect(),
            ),
        ),
    ]);
    check_refused(&[
        ("[1", 0, Kind::Unclosed("vector")),
        ("{:a (", 4, Kind::Unclosed("list")),
        ("]", 0, Kind::UnexpectedClose(']')),
        ("[1)", 2, Kind::UnexpectedClose(')')),
        (" {:a}", 1, Kind::OddMap),
        ("{:a 1 :b}", 0, Kind::OddMap),
        ("[{:a 1 :a 2}]", 1, Kind::DuplicateKey),
        (
            "{[1 {:x 1 :y 2}] 1 [1 {:y 2 :x 1}] 2}",
            0,
            Kind::DuplicateKey,
        ),
        ("{0.0 1 -0.0 2}", 0, Kind::DuplicateKey),
        ("{5N 1 5 2}", 0, Kind::DuplicateKey),
        ("#{a b a}", 0, Kind::DuplicateElement),
        ("#{#{1 2} #{2 1}}", 0, Kind::DuplicateElement),
    ]);
}

#[test]
fn duplicates_in_large_collections_are_found_in_time() {
    let numbers: Vec<String> = (0..50_000).map(|number| number.to_string()).collect();
    let forward = numbers.join(" ");
    let backward = numbers.iter().rev().cloned().collect::<Vec<_>>().join(" ");
    assert!(read_one(&format!("#{{{forward}}}")).is_ok());
    check_refused(&[
        (&format!("#{{{forward} 7}}"), 0, Kind::DuplicateElement),
        (&format!("{{{forward} 8 9}}"), 0, Kind::DuplicateKey),
        (
            &format!("#{{#{{{forward}}} #{{{backward}}}}}"),
            0,
            Kind::DuplicateElement,
        ),
        (
            &format!("#{{{{{forward}}} {{{forward}}}}}"),
            0,
            Kind::DuplicateElement,
        ),
    ]);
}

#[test]
fn order_of_keys_is_kept() {
    let value = read_one("{:z 1 :a 2 :m 3}").unwrap();
    let keys: Vec<_> = value
        .as_map()
        .unwrap()
        .iter()
        .filter_map(|(key, _)| key.as_keyword())
        .collect();
    assert_eq!(keys, ["z", "a", "m"]);
}

#[test]
fn comments_and_discards() {
    check(&[
        ("; hello\n 1 ; there", Value::Int(1)),
        ("#_ a 1", Value::Int(1)),
        ("#_#_ a b 1", Value::Int(1)),
        ("#_ #_ a b 1 #_ c", Value::Int(1)),
        ("[1 #_2 3]", Value::vector([1i64, 3])),
        ("[#_[1 #_ 2] 3]", Value::vector([3i64])),
        ("{:a #_ 0 1 #_ :b}", Value::map([("a", Value::Int(1))])),
        ("#_ #unknown x 1", Value::Int(1)),
        ("#_ [#inst 3] 1", Value::Int(1)),
        ("#_ #{#x 1 #y 1 1} 1", Value::Int(1)),
        ("#inst #_ 5 \"2026\"", Value::Inst("2026".into())),
    ]);
    check_refused(&[
        ("#_", 0, Kind::Dangling("#_")),
        ("[#_]", 1, Kind::Dangling("#_")),
        ("#_ a", 0, Kind::Empty),
        ("{:a #_ 1}", 0, Kind::OddMap),
        ("1 #_", 2, Kind::Dangling("#_")),
    ]);
}

#[test]
fn exactly_one_form() {
    check(&[(" , 1 , ", Value::Int(1)), ("1 ;x", Value::Int(1))]);
    check_refused(&[
        ("", 0, Kind::Empty),
        (" \t", 0, Kind::Empty),
        ("; only", 0, Kind::Empty),
        ("{} {}", 3, Kind::SecondForm),
        ("{} x", 3, Kind::SecondForm),
        ("{} )", 3, Kind::UnexpectedClose(')')),
        ("{}}", 2, Kind::UnexpectedClose('}')),
    ]);
}

#[test]
fn a_reader_gives_form_after_form() {
    let mut reader = Reader::new("1 :a ; x\n [2]");
    let mut seen = Vec::new();
    while let Some(value) = reader.read_next().unwrap() {
        seen.push((value, reader.offset()));
    }
    assert_eq!(
        seen,
        [
            (Value::Int(1), 1),
            (keyword("a"), 4),
            (Value::vector([2i64]), 13),
        ]
    );
}

#[test]
fn tags() {
    let uuid = "f81d4fae-7dec-11d0-a765-00a0c91e6bf6";
    check(&[(&format!("#uuid \"{uuid}\""), Value::Uuid(uuid.into()))]);
    for text in [
        "",
        "f81d4fae",
        "f81d4fae-7dec-11d0-a765-00a0c91e6bf",
        "f81d4fae-7dec-11d0-a765-00a0c91e6bf6-",
        "g81d4fae-7dec-11d0-a765-00a0c91e6bf6",
    ] {
        check_refused(&[(&format!("#uuid \"{text}\""), 0, Kind::InvalidUuid)]);
    }
    for text in [
        "2026",
        "2026-05",
        "2026-05-02",
        "2026-05-02T15",
        "2026-05-02T15:28",
        "2026-05-02T15:28:58Z",
        "2026-05-02T15:28:58.123Z",
        "2026-05-02T15:28:58-07:00",
        "2024-02-29",
        "2016-12-31T23:59:60Z",
        "2026-05-02T15+01:00",
    ] {
        check(&[(&format!("#inst \"{text}\""), Value::Inst(text.into()))]);
    }
    for text in [
        "",
        "26",
        "2026-13",
        "2026-00",
        "2026-02-29",
        "2026-05-02 15:28",
        "2026-05-02T24",
        "2026-05-02T15:28:60",
        "2026-05-02T15:28:58.",
        "2026-05-02T15:28:58.Z",
        "2026-05-02T15:28:58+0100",
        "2026-05-02T15:28:58+24:00",
        "2026-05-02T15:28:58ZZ",
        "2026-é",
    ] {
        check_refused(&[(&format!("#inst \"{text}\""), 0, Kind::InvalidInst)]);
    }
    check_refused(&[
        ("#inst 3", 0, Kind::InvalidInst),
        ("#uuid x", 0, Kind::InvalidUuid),
        ("[#foo/bar 1]", 1, Kind::UnknownTag),
        ("#foo", 0, Kind::Dangling("a tag")),
        ("[#foo]", 1, Kind::Dangling("a tag")),
        ("#foo' 1", 0, Kind::InvalidSymbol),
        ("#", 0, Kind::InvalidDispatch),
        ("#\"x\"", 0, Kind::InvalidDispatch),
        ("#(a)", 0, Kind::InvalidDispatch),
        ("#1 2", 0, Kind::InvalidDispatch),
        ("##Foo", 0, Kind::InvalidDispatch),
    ]);
    let kept = Reader::new("#foo/bar [#inst \"2026\"]")
        .keep_tags()
        .read_next();
    let tagged = Tagged {
        tag: "foo/bar".into(),
        value: Value::Vector(vec![Value::Inst("2026".into())]),
    };
    assert_eq!(kept, Ok(Some(Value::Tagged(Box::new(tagged)))));
}

#[test]
fn namespaced_maps_are_spelled_out() {
    let entries = [
        (keyword("p/a"), Value::Int(1)),
        (keyword("q/b"), Value::map([("x", Value::Int(2))])),
        (keyword("c"), keyword("d")),
        (symbol("p/s"), symbol("t")),
        (Value::from("e"), Value::Int(3)),
    ];
    check(&[
        (
            "#:p {:a 1 :q/b {:x 2} :_/c :d s t \"e\" 3}",
            Value::Map(entries.into_iter().collect()),
        ),
        ("#:p{}", Value::map::<&str>([])),
        (
            "#:p{#_ :x :a #_ :y 1}",
            Value::map([("p/a", Value::Int(1))]),
        ),
    ]);
    check_refused(&[
        ("#:p{:a 1 :p/a 2}", 3, Kind::DuplicateKey),
        ("#:p{:a}", 3, Kind::OddMap),
        ("#:p[]", 0, Kind::InvalidDispatch),
        ("#:p", 0, Kind::InvalidDispatch),
        ("#:{}", 0, Kind::InvalidKeyword),
        ("#::p{}", 0, Kind::InvalidKeyword),
        ("#:p/q{}", 0, Kind::InvalidKeyword),
    ]);
}

#[test]
fn depth_is_limited_and_no_depth_overflows_the_stack() {
    let nested =
        |open: &str, close: &str, levels| open.repeat(levels) + "1" + &close.repeat(levels);
    assert!(read_one(&nested("[", "]", MAX_DEPTH)).is_ok());
    for (open, close) in [
        ("[", "]"),
        ("(", ")"),
        ("{1 ", "}"),
        ("#{", "}"),
        ("#_", ""),
        ("#a ", ""),
    ] {
        let error = read_one(&nested(open, close, 200_000)).unwrap_err();
        assert_eq!(error.kind, Kind::TooDeep(MAX_DEPTH), "{open}");
    }
    assert!(Reader::new("[[1]]").max_depth(1).read_next().is_err());
}

#[test]
fn errors_say_where_and_what() {
    let message = |text| read_one(text).unwrap_err().to_string();
    assert_eq!(
        message("{:a 1 :a 2}"),
        "map with a key that occurs twice at byte 0"
    );
    assert_eq!(message("[1 2"), "vector is not closed at byte 0");
    assert_eq!(message("[}"), "unexpected '}' at byte 1");
    assert_eq!(message("#x 1"), "unknown tag at byte 0");
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused_at_an_offset_inside_it(
        text in "[\\[\\](){}#_:;\"\\\\, \nau0-9é^/.+-]{0,40}",
    ) {
        if let Err(error) = read_one(&text) {
            prop_assert!(text.is_char_boundary(error.offset), "{error} in {text:?}");
        }
    }
}
