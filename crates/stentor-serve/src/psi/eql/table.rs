//! What resolvers know: tables of facts, from which queries are answered and the graph is described.

use std::path::Path;

use stentor_wire::edn::{self, EdnWriter, Value, WriteEdn};

use super::graph::ResolverEntry;

/// What can be said about a `T`.
pub struct FactTable<T: 'static> {
    /// The qualified symbol of the resolver.
    pub symbol: &'static str,
    pub domain: &'static str,
    /// What it must be given: a session, a file, or nothing.
    pub input: &'static [&'static str],
    /// Where the names belong that have no namespace of their own.
    pub namespace: &'static str,
    pub facts: &'static [Fact<T>],
}

/// Answers with the value of an attribute, by its name.
pub type AttributeLookup = Box<dyn Fn(&str) -> Option<Value<'static>> + Send + Sync>;

/// The name of an attribute, and how it is read off.
pub struct Fact<T>(pub &'static str, pub fn(&T) -> Value<'static>);

impl<T> FactTable<T> {
    /// An attribute of `subject`. Only what is asked for is read off.
    pub fn get(&self, subject: &T, attribute: &str) -> Option<Value<'static>> {
        let short = attribute.strip_prefix(self.namespace);
        let short = short.and_then(|rest| rest.strip_prefix('/'));
        let is_it = |fact: &&Fact<T>| fact.0 == attribute || Some(fact.0) == short;
        let fact = self.facts.iter().find(is_it)?;
        Some((fact.1)(subject))
    }

    /// What can be asked about `subject`.
    pub fn of(&'static self, subject: T) -> AttributeLookup
    where
        T: Send + Sync,
    {
        Box::new(move |attribute| self.get(&subject, attribute))
    }

    /// Writes facts about `subject` under their short names.
    pub fn write(&self, writer: &mut EdnWriter<'_>, subject: &T, names: &str) {
        for (name, value) in facts_of(self.facts, subject, names) {
            writer.field(name, &value);
        }
    }

    /// What the graph says of it.
    pub fn entry(&self) -> ResolverEntry {
        let facts = self.facts.iter();
        let outputs = facts.map(|fact| match fact.0.contains('/') {
            true => fact.0.to_owned(),
            false => format!("{}/{}", self.namespace, fact.0),
        });
        ResolverEntry {
            symbol: self.symbol,
            domain: self.domain,
            input: self.input,
            outputs: outputs.collect(),
        }
    }
}

/// Some facts about `subject`. `names` are separated by spaces; `other=name` is a fact under another
/// name.
pub fn facts_of<'n, T>(
    facts: &[Fact<T>],
    subject: &T,
    names: &'n str,
) -> impl Iterator<Item = (&'n str, Value<'static>)> {
    names.split(' ').filter_map(move |name| {
        let (shown, name) = name.split_once('=').unwrap_or((name, name));
        let fact = facts.iter().find(|fact| fact.0 == name)?;
        Some((shown, (fact.1)(subject)))
    })
}

/// A map whose keys are in one namespace.
pub fn entity<'n>(
    namespace: &str,
    entries: impl IntoIterator<Item = (&'n str, Value<'static>)>,
) -> Value<'static> {
    let entries = entries.into_iter();
    let named = entries.map(|(name, value)| (Value::keyword(format!("{namespace}/{name}")), value));
    Value::Map(named.collect())
}

/// What is written elsewhere, as a value.
pub fn written(write: impl FnOnce(&mut EdnWriter<'_>)) -> Value<'static> {
    let mut bytes = Vec::new();
    write(&mut EdnWriter::for_query_result(&mut bytes));
    let text = String::from_utf8_lossy(&bytes);
    // What the writer writes can be read; if it ever could not, nothing is better than no answer.
    edn::read_one(&text).map_or(Value::Nil, Value::into_owned)
}

pub fn value_of(value: &impl WriteEdn) -> Value<'static> {
    written(|writer| value.write_edn(writer))
}

pub fn vector<T>(items: &[T], value: impl Fn(&T) -> Value<'static>) -> Value<'static> {
    Value::Vector(items.iter().map(value).collect())
}

pub fn strings(texts: &[String]) -> Value<'static> {
    vector(texts, |text| text.clone().into())
}

pub fn path(path: &Path) -> Value<'static> {
    path.to_string_lossy().into_owned().into()
}
