//! What is known, by whom.

pub(super) mod memory;
pub(super) mod messages;
pub(super) mod program;
pub(super) mod session;
pub(super) mod sessions;

use stentor_wire::edn::{self, EdnWriter, Map, Value, WriteEdn};

/// A map of attributes in one namespace.
fn attributes<const N: usize>(
    namespace: &str,
    entries: [(&'static str, Value<'static>); N],
) -> Map<'static> {
    entries
        .into_iter()
        .map(|(name, value)| (Value::keyword(format!("{namespace}/{name}")), value))
        .collect()
}

/// The same as a value.
fn entity<const N: usize>(
    namespace: &str,
    entries: [(&'static str, Value<'static>); N],
) -> Value<'static> {
    Value::Map(attributes(namespace, entries))
}

/// What is written elsewhere, as a value.
fn written(write: impl FnOnce(&mut EdnWriter<'_>)) -> Value<'static> {
    let mut bytes = Vec::new();
    write(&mut EdnWriter::for_query_result(&mut bytes));
    let text = String::from_utf8_lossy(&bytes);
    // What the writer writes can be read; if it ever could not, nothing is better than no answer.
    edn::read_one(&text).map_or(Value::Nil, Value::into_owned)
}

fn value_of(value: &impl WriteEdn) -> Value<'static> {
    written(|writer| value.write_edn(writer))
}

fn strings(texts: &[String]) -> Value<'static> {
    Value::Vector(texts.iter().map(|text| text.clone().into()).collect())
}
