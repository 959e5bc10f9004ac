//! The graph's description of itself: which attributes there are and who knows them.

use std::sync::{Arc, LazyLock};

use futures_util::future::{BoxFuture, FutureExt, TryFutureExt};
use stentor_agent::repository;
use stentor_wire::edn::Value;
use stentor_wire::eql::Params;

use super::program::UiFacts;
use super::table::{AttributeLookup, Fact, FactTable, vector};
use super::{EqlError, program};
use crate::psi::live::PsiSession;
use crate::psi::payload::context::{self, ContextPayload};
use crate::psi::payload::message::{self, TurnFacts};
use crate::psi::payload::session::{self, SessionFacts};
use crate::psi::shared::PsiShared;

/// Who knows attributes.
pub(super) struct Resolver {
    pub entry: ResolverEntry,
    /// Looks at what it knows.
    pub ask: Box<dyn Fn(AskedOf) -> ResolverAnswer + Send + Sync>,
}

type ResolverAnswer = BoxFuture<'static, Result<AttributeLookup, EqlError>>;

/// What the graph says of a resolver.
pub struct ResolverEntry {
    pub symbol: &'static str,
    pub domain: &'static str,
    pub input: &'static [&'static str],
    /// The attributes it knows.
    pub outputs: Vec<String>,
}

/// What a resolver is asked of, and how.
pub(super) struct AskedOf {
    pub shared: Arc<PsiShared>,
    pub live: Arc<PsiSession>,
    pub focus: Option<Arc<PsiSession>>,
    /// The file of a stored session.
    pub path: String,
    pub params: Option<Params>,
}

/// The attribute by which a stored session is found.
pub const STORED_PATH: &str = "psi.session-info/path";

pub const OF_SESSION: &[&str] = &["psi.agent-session/session-id"];
pub const OF_STORED: &[&str] = &[STORED_PATH];
pub const OF_NOTHING: &[&str] = &[];

/// Domains that are listed even when nothing is in them (section 12.3).
const DOMAINS: [&str; 4] = ["ai", "history", "agent-session", "introspection"];

/// Every resolver: its table, and how what the table is about is looked up.
#[rustfmt::skip]
static RESOLVERS: LazyLock<Vec<Resolver>> = LazyLock::new(|| vec![
    resolver(&session::SESSION, |of| async move {
        Ok(SessionFacts::now(&of.shared, &of.live, of.live.view(false).await?))
    }),
    resolver(&session::STATISTICS, |of| async move { Ok(of.live.session.stats().await?) }),
    resolver(&session::COMMANDS, |of| async move { Ok(of.live.commands().await) }),
    resolver(&session::JOBS, |of| async move {
        Ok((of.live.session.jobs().list(), Arc::clone(&of.live.id)))
    }),
    resolver(&message::HISTORY, |of| async move { Ok(of.live.session.messages().await?) }),
    resolver(&message::TOOL_CALLS, |of| async move { Ok(of.live.session.messages().await?) }),
    resolver(&message::TURN, |of| async move { Ok(TurnFacts::of(&of.live).await?) }),
    resolver(&context::CONTEXT, |of| async move {
        Ok(ContextPayload::look(&of.shared, of.focus.as_deref()).await)
    }),
    resolver(&context::STORED, |of| async move { Ok(of.shared.stored(&of.live.origin.cwd).await?) }),
    resolver(&context::STORED_TEXT, |of| context::stored_text(of.path)),
    resolver(&program::MODELS, |of| async move { Ok(of.shared.models()) }),
    resolver(&program::UI, |of| async move { Ok(UiFacts::look(&of.shared, &of.live)) }),
    resolver(&program::GIT, |of| async move { Ok(repository::repository(of.live.project()).await) }),
    resolver(&program::MEMORY, |of| async move { program::status(&of.shared).await }),
    resolver(&program::NOTES, |of| async move { program::notes(&of.shared, of.params.as_ref()).await }),
    resolver(&GRAPH, |_| async move { Ok(()) }),
]);

fn resolver<T, F>(table: &'static FactTable<T>, look: fn(AskedOf) -> F) -> Resolver
where
    T: Send + Sync,
    F: Future<Output = Result<T, EqlError>> + Send + 'static,
{
    Resolver {
        entry: table.entry(),
        ask: Box::new(move |of| look(of).map_ok(|subject| table.of(subject)).boxed()),
    }
}

/// Who knows an attribute.
pub(super) fn resolver_of(attribute: &str) -> Option<&'static Resolver> {
    let knows = |resolver: &&Resolver| resolver.entry.outputs.iter().any(|name| name == attribute);
    RESOLVERS.iter().find(knows)
}

#[rustfmt::skip]
pub(super) static GRAPH: FactTable<()> = FactTable {
    symbol: "psi.graph/description",
    domain: "introspection",
    input: OF_NOTHING,
    namespace: "psi.graph",
    facts: &[
        Fact("resolver-count", |()| RESOLVERS.len().into()),
        Fact("mutation-count", |()| Value::Int(0)),
        Fact("resolver-syms", |()| Value::Set(entries().map(symbol).collect())),
        Fact("mutation-syms", |()| Value::Set(Default::default())),
        Fact("env-built", |()| Value::Bool(true)),
        Fact("root-seeds", |()| keywords(OF_SESSION)),
        Fact("root-queryable-attrs", |()| {
            let is_reachable = |entry: &&ResolverEntry| entry.input == OF_SESSION || entry.input.is_empty();
            keywords(&attributes(entries().filter(is_reachable)))
        }),
        Fact("domain-coverage", |()| coverage(false)),
        Fact("capabilities", |()| coverage(true)),
        Fact("nodes", |()| nodes()),
        Fact("edges", |()| edges()),
        Fact("resolver-index", |()| resolver_index()),
        Fact("attr-index", |()| attribute_index()),
    ],
};

fn entries() -> impl Iterator<Item = &'static ResolverEntry> {
    RESOLVERS.iter().map(|resolver| &resolver.entry)
}

fn symbol(entry: &'static ResolverEntry) -> Value<'static> {
    Value::Symbol(entry.symbol.into())
}

fn keywords<S: AsRef<str>>(names: &[S]) -> Value<'static> {
    vector(names, |name| Value::keyword(name.as_ref().to_owned()))
}

/// The attributes of some resolvers, sorted.
fn attributes(of: impl Iterator<Item = &'static ResolverEntry>) -> Vec<&'static str> {
    let mut names: Vec<&str> = of
        .flat_map(|entry| &entry.outputs)
        .map(String::as_str)
        .collect();
    names.sort_unstable();
    names
}

/// How much there is in each domain; with `whole` also what.
fn coverage(whole: bool) -> Value<'static> {
    let mut domains: Vec<&str> = DOMAINS.to_vec();
    for entry in entries() {
        if !domains.contains(&entry.domain) {
            domains.push(entry.domain);
        }
    }
    vector(&domains, |domain| {
        let of_domain: Vec<&ResolverEntry> =
            entries().filter(|entry| entry.domain == *domain).collect();
        let mut fields = vec![
            ("domain", Value::keyword(*domain)),
            ("operation-count", of_domain.len().into()),
            ("resolver-count", of_domain.len().into()),
            ("mutation-count", Value::Int(0)),
        ];
        if whole {
            let names: Vec<&String> = of_domain.iter().flat_map(|entry| &entry.outputs).collect();
            fields.push(("id", Value::keyword(*domain)));
            fields.push((
                "operation-symbols",
                vector(&of_domain, |entry| symbol(entry)),
            ));
            fields.push(("attributes", keywords(&names)));
        }
        Value::map(fields)
    })
}

fn nodes() -> Value<'static> {
    let resolvers = entries().map(|entry| {
        Value::map([
            ("id", symbol(entry)),
            ("type", Value::keyword("resolver")),
            ("domain", Value::keyword(entry.domain)),
        ])
    });
    let attributes = attributes(entries()).into_iter().map(|name| {
        Value::map([
            ("id", Value::keyword(name)),
            ("type", Value::keyword("attribute")),
        ])
    });
    Value::Vector(resolvers.chain(attributes).collect())
}

/// From what a resolver is given to the resolver, and from it to what it knows.
fn edges() -> Value<'static> {
    let edge = |from: Value<'static>, to: Value<'static>, kind: &'static str| {
        Value::map([("from", from), ("to", to), ("type", Value::keyword(kind))])
    };
    let mut edges = Vec::new();
    for entry in entries() {
        for input in entry.input {
            edges.push(edge(Value::keyword(*input), symbol(entry), "input"));
        }
        for output in &entry.outputs {
            edges.push(edge(
                symbol(entry),
                Value::keyword(output.as_str()),
                "output",
            ));
        }
    }
    Value::Vector(edges)
}

fn resolver_index() -> Value<'static> {
    let index = entries().map(|entry| {
        let facts = Value::map([
            ("input", keywords(entry.input)),
            ("output", keywords(&entry.outputs)),
            ("domain", Value::keyword(entry.domain)),
        ]);
        (symbol(entry), facts)
    });
    Value::Map(index.collect())
}

fn attribute_index() -> Value<'static> {
    let index = attributes(entries()).into_iter().map(|name| {
        let knows = entries().filter(|entry| entry.outputs.iter().any(|output| output == name));
        (
            Value::keyword(name),
            Value::Vector(knows.map(symbol).collect()),
        )
    });
    Value::Map(index.collect())
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_attribute_stands_in_the_table_once() {
        let mut seen = HashSet::new();
        for name in entries().flat_map(|entry| &entry.outputs) {
            assert!(seen.insert(name), "{name} twice");
        }
    }

    #[test]
    fn the_description_has_every_attribute_the_table_promises() {
        for name in GRAPH.entry().outputs {
            assert!(GRAPH.get(&(), &name).is_some(), "{name}");
        }
        let coverage = GRAPH.get(&(), "psi.graph/domain-coverage").unwrap();
        let domains: Vec<&str> = coverage
            .as_items()
            .unwrap()
            .iter()
            .filter_map(|domain| domain.get("domain")?.as_keyword())
            .collect();
        assert!(DOMAINS.iter().all(|domain| domains.contains(domain)));
    }
}
