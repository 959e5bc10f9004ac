//! EDN as the psi dialect reads and writes it.

#[cfg(test)]
mod oracle;
#[cfg(test)]
mod read;
#[cfg(test)]
mod written;

use proptest::prelude::*;

use stentor_wire::edn::{EdnWriter, Map, Value};

/// Writes a value the way frames are written.
#[cfg(test)]
fn frame_text(value: &Value<'_>) -> String {
    let mut out = Vec::new();
    EdnWriter::new(&mut out).value(value);
    String::from_utf8(out).unwrap()
}

fn name() -> impl Strategy<Value = String> {
    "([a-z*!_<>=-]{1,3}[.][a-z0-9]{1,3}/)?[a-zA-Z*!_<>=&%$][a-z0-9*!?._<>=+-]{0,5}"
        .prop_filter("not a literal", |name| {
            !matches!(name.as_str(), "nil" | "true" | "false")
        })
}

fn finite() -> impl Strategy<Value = f64> {
    any::<f64>().prop_filter("finite", |number| number.is_finite())
}

/// A value of the subset that a frame may contain.
fn plain() -> impl Strategy<Value = Value<'static>> {
    let leaf = prop_oneof![
        Just(Value::Nil),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::Int),
        "-?[1-9][0-9]{20,30}".prop_map(|digits| Value::BigInt(digits.into())),
        finite().prop_map(Value::Float),
        any::<String>().prop_map(Value::from),
        name().prop_map(Value::keyword),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::Vector),
            map_of(inner),
        ]
    })
}

fn map_of(
    inner: impl Strategy<Value = Value<'static>> + 'static,
) -> impl Strategy<Value = Value<'static>> {
    let inner = inner.boxed();
    proptest::collection::vec((inner.clone(), inner), 0..6).prop_map(|entries| {
        let mut map = Map::default();
        for (key, value) in entries {
            if map.get_value(&key).is_none() {
                map.push(key, value);
            }
        }
        Value::Map(map)
    })
}
