use proptest::prelude::*;

use super::*;

fn attribute(name: &str) -> Element {
    Element::Attribute {
        name: name.into(),
        params: None,
    }
}

#[test]
fn every_kind_of_element_is_read_in_its_order_over_several_lines() {
    let text = "[:psi.agent-session/model\n {:psi.session/list [:psi.session-info/path\n\n :x]}\n \
                {[:psi.agent-session/session-id \"s\"] [:a]} [:k 1] (:search {:q \"x\"}) \
                {(:search {:q 1}) [:t]} (do-it {:n 1}) (go)]";
    let map = |key: &'static str, value: Value<'static>| -> Params {
        [(Value::keyword(key), value)].into_iter().collect()
    };
    let expected = vec![
        attribute("psi.agent-session/model"),
        Element::Join {
            name: "psi.session/list".into(),
            params: None,
            parts: vec![attribute("psi.session-info/path"), attribute("x")],
        },
        Element::IdentJoin {
            ident: Ident {
                attribute: "psi.agent-session/session-id".into(),
                value: "s".into(),
            },
            parts: vec![attribute("a")],
        },
        Element::Ident {
            ident: Ident {
                attribute: "k".into(),
                value: Value::Int(1),
            },
        },
        Element::Attribute {
            name: "search".into(),
            params: Some(map("q", "x".into())),
        },
        Element::Join {
            name: "search".into(),
            params: Some(map("q", Value::Int(1))),
            parts: vec![attribute("t")],
        },
        Element::Mutation {
            name: "do-it".into(),
            params: map("n", Value::Int(1)),
        },
        Element::Mutation {
            name: "go".into(),
            params: Map::default(),
        },
    ];
    assert_eq!(parse(text).unwrap(), expected);
}

#[test]
fn not_edn_and_not_a_vector_are_different_errors() {
    assert!(matches!(parse("[:a"), Err(QueryError::NotEdn(_))));
    assert!(matches!(parse(""), Err(QueryError::NotEdn(_))));
    assert_eq!(parse("{:a 1}"), Err(QueryError::NotAVector("a map")));
    assert_eq!(parse("foo"), Err(QueryError::NotAVector("a symbol")));
    assert_eq!(parse("[]"), Ok(vec![]));
}

#[test]
fn what_is_no_element_says_what_is_one() {
    for text in [
        "[1]",
        "[\"a\"]",
        "[[:a]]",
        "[{:a 1}]",
        "[{:a [] :b []}]",
        "[(:a 1)]",
        "[()]",
    ] {
        assert!(
            matches!(parse(text), Err(QueryError::NotAnElement(..))),
            "{text}"
        );
    }
}

#[test]
fn an_entity_is_a_map_and_nothing_else() {
    assert_eq!(parse_entity("{:a 1}").map(|map| map.len()), Some(1));
    assert_eq!(parse_entity("[1]"), None);
    assert_eq!(parse_entity("{:a"), None);
}

proptest! {
    #[test]
    fn any_text_is_a_query_or_an_error(text in "[\\[\\](){}:a-c /\"0-9,]{0,40}") {
        let _ = parse(&text);
    }
}
