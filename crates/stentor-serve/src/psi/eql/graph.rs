//! Which attributes there are and who knows them, and the graph's description of itself.

use stentor_wire::edn::{Map, Value};

/// Who knows attributes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Resolver {
    Session,
    Statistics,
    Commands,
    Jobs,
    History,
    ToolCalls,
    Turn,
    Context,
    Stored,
    Models,
    Ui,
    Git,
    Memory,
    Notes,
    StoredText,
    Graph,
}

struct Entry {
    resolver: Resolver,
    /// Its qualified symbol.
    symbol: &'static str,
    domain: &'static str,
    /// What it must be told: the session, or nothing.
    input: &'static [&'static str],
    outputs: &'static [&'static str],
}

/// The attribute by which a stored session is found.
pub(super) const STORED_PATH: &str = "psi.session-info/path";

/// Domains that are listed even when nothing is in them (section 12.3).
const DOMAINS: [&str; 4] = ["ai", "history", "agent-session", "introspection"];

const OF_SESSION: &[&str] = &["psi.agent-session/session-id"];
const OF_STORED: &[&str] = &[STORED_PATH];
const OF_NOTHING: &[&str] = &[];

/// The table. Every attribute stands in it once.
const TABLE: &[Entry] = &[
    Entry {
        resolver: Resolver::Session,
        symbol: "psi.agent-session/session",
        domain: "agent-session",
        input: OF_SESSION,
        outputs: &[
            "psi.agent-session/session-id",
            "psi.agent-session/session-file",
            "psi.agent-session/session-name",
            "psi.agent-session/session-display-name",
            "psi.agent-session/worktree-path",
            "psi.agent-session/parent-session-id",
            "psi.agent-session/parent-session-path",
            "psi.agent-session/phase",
            "psi.agent-session/is-streaming",
            "psi.agent-session/is-compacting",
            "psi.agent-session/is-idle",
            "psi.agent-session/interrupt-pending",
            "psi.agent-session/model",
            "psi.agent-session/model-provider",
            "psi.agent-session/model-id",
            "psi.agent-session/model-reasoning",
            "psi.agent-session/thinking-level",
            "psi.agent-session/effective-reasoning-effort",
            "psi.agent-session/pending-message-count",
            "psi.agent-session/has-pending-messages",
            "psi.agent-session/steering-messages",
            "psi.agent-session/follow-up-messages",
            "psi.agent-session/retry-attempt",
            "psi.agent-session/auto-retry-enabled",
            "psi.agent-session/auto-compaction-enabled",
            "psi.agent-session/scoped-models",
            "psi.agent-session/context-tokens",
            "psi.agent-session/context-window",
            "psi.agent-session/context-fraction",
            "psi.agent-session/sandbox",
            "psi.agent-session/rpc-trace-enabled",
            "psi.agent-session/rpc-trace-file",
            "psi.agent-session/ui-type",
        ],
    },
    Entry {
        resolver: Resolver::Statistics,
        symbol: "psi.agent-session/statistics",
        domain: "agent-session",
        input: OF_SESSION,
        outputs: &[
            "psi.agent-session/usage-input",
            "psi.agent-session/usage-output",
            "psi.agent-session/usage-cache-read",
            "psi.agent-session/usage-cache-write",
            "psi.agent-session/usage-cost-total",
            "psi.agent-session/message-count",
            "psi.agent-session/user-message-count",
            "psi.agent-session/assistant-message-count",
            "psi.agent-session/tool-call-count",
            "psi.agent-session/tool-result-count",
            "psi.agent-session/model-call-count",
        ],
    },
    Entry {
        resolver: Resolver::Commands,
        symbol: "psi.agent-session/commands",
        domain: "agent-session",
        input: OF_SESSION,
        outputs: &[
            "psi.extension/command-names",
            "psi.agent-session/prompt-templates",
            "psi.agent-session/skills",
            "psi.agent-session/builtin-command-specs",
        ],
    },
    Entry {
        resolver: Resolver::Jobs,
        symbol: "psi.agent-session/background-jobs",
        domain: "agent-session",
        input: OF_SESSION,
        outputs: &["psi.agent-session/background-jobs"],
    },
    Entry {
        resolver: Resolver::History,
        symbol: "psi.history/messages",
        domain: "history",
        input: OF_SESSION,
        outputs: &["psi.agent-session/message-history"],
    },
    Entry {
        resolver: Resolver::ToolCalls,
        symbol: "psi.history/tool-calls",
        domain: "history",
        input: OF_SESSION,
        outputs: &["psi.agent-session/tool-lifecycle-summaries"],
    },
    Entry {
        resolver: Resolver::Turn,
        symbol: "psi.agent-session/turn",
        domain: "agent-session",
        input: OF_SESSION,
        outputs: &[
            "psi.turn/phase",
            "psi.turn/is-streaming",
            "psi.turn/text",
            "psi.turn/tool-calls",
            "psi.turn/tool-call-count",
        ],
    },
    Entry {
        resolver: Resolver::Context,
        symbol: "psi.agent-session/context",
        domain: "agent-session",
        input: OF_NOTHING,
        outputs: &[
            "psi.agent-session/context-active-session-id",
            "psi.agent-session/context-session-count",
            "psi.agent-session/context-sessions",
        ],
    },
    Entry {
        resolver: Resolver::Stored,
        symbol: "psi.session/stored",
        domain: "history",
        input: OF_SESSION,
        outputs: &["psi.session/list", "psi.persisted-session/list"],
    },
    Entry {
        resolver: Resolver::StoredText,
        symbol: "psi.session/stored-text",
        domain: "history",
        input: OF_STORED,
        outputs: &["psi.session-info/all-messages-text"],
    },
    Entry {
        resolver: Resolver::Models,
        symbol: "psi.ai/models",
        domain: "ai",
        input: OF_NOTHING,
        outputs: &[
            "psi.agent-session/model-catalog",
            "psi.agent-session/authenticated-providers",
        ],
    },
    Entry {
        resolver: Resolver::Ui,
        symbol: "psi.ui/state",
        domain: "ui",
        input: OF_SESSION,
        outputs: &[
            "psi.ui/active-dialog",
            "psi.ui/pending-dialog-count",
            "psi.ui/dialog-queue-empty?",
            "psi.ui/widgets",
            "psi.ui/widget-specs",
            "psi.ui/statuses",
            "psi.ui/visible-notifications",
        ],
    },
    Entry {
        resolver: Resolver::Git,
        symbol: "git.worktree/state",
        domain: "git",
        input: OF_SESSION,
        outputs: &[
            "psi.agent-session/git-branch",
            "git.worktree/list",
            "git.worktree/current",
            "git.worktree/count",
            "git.worktree/inside-repo?",
        ],
    },
    Entry {
        resolver: Resolver::Memory,
        symbol: "psi.memory/state",
        domain: "memory",
        input: OF_NOTHING,
        outputs: &[
            "psi.memory/status",
            "psi.memory/entry-count",
            "psi.memory/recovery-count",
            "psi.memory/recoveries",
            "psi.memory/graph-snapshots",
            "psi.memory/graph-deltas",
            "psi.memory/capability-history",
            "psi.memory.remember/status",
            "psi.memory.remember/captures",
            "psi.memory.remember/last-capture-at",
            "psi.memory.remember/last-error",
        ],
    },
    Entry {
        resolver: Resolver::Notes,
        symbol: "psi.memory/notes",
        domain: "memory",
        input: OF_NOTHING,
        outputs: &[
            "psi.memory/entries",
            "psi.memory/recent-entries",
            "psi.memory/search-results",
            "psi.memory/by-tag",
            "psi.memory/index-stats",
        ],
    },
    Entry {
        resolver: Resolver::Graph,
        symbol: "psi.graph/description",
        domain: "introspection",
        input: OF_NOTHING,
        outputs: &[
            "psi.graph/resolver-count",
            "psi.graph/mutation-count",
            "psi.graph/resolver-syms",
            "psi.graph/mutation-syms",
            "psi.graph/env-built",
            "psi.graph/root-seeds",
            "psi.graph/root-queryable-attrs",
            "psi.graph/domain-coverage",
            "psi.graph/capabilities",
            "psi.graph/nodes",
            "psi.graph/edges",
            "psi.graph/resolver-index",
            "psi.graph/attr-index",
        ],
    },
];

/// Who knows an attribute.
pub(super) fn resolver_of(attribute: &str) -> Option<Resolver> {
    TABLE
        .iter()
        .find(|entry| entry.outputs.contains(&attribute))
        .map(|entry| entry.resolver)
}

/// Whether a resolver must be told a session.
pub(super) fn needs_session(resolver: Resolver) -> bool {
    TABLE
        .iter()
        .any(|entry| entry.resolver == resolver && entry.input == OF_SESSION)
}

/// The graph, described by itself.
pub(super) fn describe() -> Map<'static> {
    let symbols = || TABLE.iter().map(|entry| Value::Symbol(entry.symbol.into()));
    let mut attributes: Vec<&str> = TABLE
        .iter()
        .flat_map(|entry| entry.outputs)
        .copied()
        .collect();
    attributes.sort_unstable();
    let mut from_root: Vec<&str> = TABLE
        .iter()
        .filter(|entry| entry.input.iter().all(|input| OF_SESSION.contains(input)))
        .flat_map(|entry| entry.outputs)
        .copied()
        .collect();
    from_root.sort_unstable();
    let keywords = |names: &[&'static str]| {
        Value::Vector(names.iter().map(|name| Value::keyword(*name)).collect())
    };
    [
        ("resolver-count", TABLE.len().into()),
        ("mutation-count", Value::Int(0)),
        ("resolver-syms", Value::Set(symbols().collect())),
        ("mutation-syms", Value::Set(Default::default())),
        ("env-built", Value::Bool(true)),
        ("root-seeds", keywords(OF_SESSION)),
        ("root-queryable-attrs", keywords(&from_root)),
        ("domain-coverage", Value::Vector(coverage(false))),
        ("capabilities", Value::Vector(coverage(true))),
        ("nodes", Value::Vector(nodes(&attributes))),
        ("edges", Value::Vector(edges())),
        ("resolver-index", resolver_index()),
        ("attr-index", attribute_index(&attributes)),
    ]
    .into_iter()
    .map(|(name, value)| (Value::keyword(format!("psi.graph/{name}")), value))
    .collect()
}

/// How much there is in each domain; with `whole` also what.
fn coverage(whole: bool) -> Vec<Value<'static>> {
    let mut domains: Vec<&str> = DOMAINS.to_vec();
    for entry in TABLE {
        if !domains.contains(&entry.domain) {
            domains.push(entry.domain);
        }
    }
    domains
        .into_iter()
        .map(|domain| {
            let entries = || TABLE.iter().filter(move |entry| entry.domain == domain);
            let count = entries().count();
            let mut fields = vec![
                ("domain", Value::keyword(domain)),
                ("operation-count", count.into()),
                ("resolver-count", count.into()),
                ("mutation-count", Value::Int(0)),
            ];
            if whole {
                let symbols = entries().map(|entry| Value::Symbol(entry.symbol.into()));
                let attributes = entries()
                    .flat_map(|entry| entry.outputs)
                    .map(|name| Value::keyword(*name));
                fields.push(("id", Value::keyword(domain)));
                fields.push(("operation-symbols", Value::Vector(symbols.collect())));
                fields.push(("attributes", Value::Vector(attributes.collect())));
            }
            Value::map(fields)
        })
        .collect()
}

fn nodes(attributes: &[&'static str]) -> Vec<Value<'static>> {
    let resolvers = TABLE.iter().map(|entry| {
        Value::map([
            ("id", Value::Symbol(entry.symbol.into())),
            ("type", Value::keyword("resolver")),
            ("domain", Value::keyword(entry.domain)),
        ])
    });
    let attributes = attributes.iter().map(|name| {
        Value::map([
            ("id", Value::keyword(*name)),
            ("type", Value::keyword("attribute")),
        ])
    });
    resolvers.chain(attributes).collect()
}

/// From what a resolver is told to the resolver, and from it to what it knows.
fn edges() -> Vec<Value<'static>> {
    let edge = |from: Value<'static>, to: Value<'static>, kind: &'static str| {
        Value::map([("from", from), ("to", to), ("type", Value::keyword(kind))])
    };
    let mut edges = Vec::new();
    for entry in TABLE {
        let symbol = || Value::Symbol(entry.symbol.into());
        for input in entry.input {
            edges.push(edge(Value::keyword(*input), symbol(), "input"));
        }
        for output in entry.outputs {
            edges.push(edge(symbol(), Value::keyword(*output), "output"));
        }
    }
    edges
}

fn resolver_index() -> Value<'static> {
    let keywords = |names: &[&'static str]| {
        Value::Vector(names.iter().map(|name| Value::keyword(*name)).collect())
    };
    let index = TABLE.iter().map(|entry| {
        let facts = Value::map([
            ("input", keywords(entry.input)),
            ("output", keywords(entry.outputs)),
            ("domain", Value::keyword(entry.domain)),
        ]);
        (Value::Symbol(entry.symbol.into()), facts)
    });
    Value::Map(index.collect())
}

fn attribute_index(attributes: &[&'static str]) -> Value<'static> {
    let index = attributes.iter().map(|name| {
        let knows = TABLE
            .iter()
            .filter(|entry| entry.outputs.contains(name))
            .map(|entry| Value::Symbol(entry.symbol.into()));
        (Value::keyword(*name), Value::Vector(knows.collect()))
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
        for name in TABLE.iter().flat_map(|entry| entry.outputs) {
            assert!(seen.insert(name), "{name} twice");
        }
    }

    #[test]
    fn the_description_has_every_attribute_the_table_promises() {
        let described = describe();
        let promised = TABLE
            .iter()
            .find(|entry| entry.resolver == Resolver::Graph)
            .unwrap();
        for name in promised.outputs {
            assert!(described.get(name).is_some(), "{name}");
        }
        let coverage = described.get("psi.graph/domain-coverage").unwrap();
        let domains: Vec<&str> = coverage
            .as_items()
            .unwrap()
            .iter()
            .filter_map(|domain| domain.get("domain")?.as_keyword())
            .collect();
        assert!(DOMAINS.iter().all(|domain| domains.contains(domain)));
    }
}
