//! Permission rules as they are written: `[[permissions]]` tables.

use serde_json::{Map, Value as Json};
use stentor_agent::tool::ToolEffect;
use toml::Spanned;
use toml::de::DeValue;

use super::error::{ConfigError, Problem};
use super::file::in_order;
use super::source::{Location, Source, Sourced};
use super::suggest::nearest;
use super::value::{Input, Name, Setting};

/// One rule. What is not given matches everything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermissionRule {
    /// The tool's name.
    pub tool: Option<String>,
    /// What the tool does to the world.
    pub effect: Option<ToolEffect>,
    /// A glob for the paths a call touches.
    pub path: Option<String>,
    /// A pattern for the shell command.
    pub command: Option<String>,
    pub decision: RuleDecision,
}

/// What a rule decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleDecision {
    Allow,
    Ask,
    Deny,
}

/// The rules that could be read, and what is wrong with the others.
#[derive(Debug, Default)]
pub struct ReadRules {
    pub rules: Vec<Sourced<PermissionRule>>,
    pub errors: Vec<ConfigError>,
}

const KEYS: [&str; 5] = ["tool", "effect", "path", "command", "decision"];
const EFFECTS: [(&str, ToolEffect); 4] = [
    ("nothing", ToolEffect::Nothing),
    ("reads", ToolEffect::Reads),
    ("writes", ToolEffect::Writes),
    ("executes", ToolEffect::Executes),
];
const DECISIONS: [(&str, RuleDecision); 3] = [
    ("allow", RuleDecision::Allow),
    ("ask", RuleDecision::Ask),
    ("deny", RuleDecision::Deny),
];

/// Reads the list of rules. `input` makes a value into one that knows its place, `locate` knows
/// the place of a byte.
pub fn read_rules<'a>(
    list: &'a Spanned<DeValue<'a>>,
    input: impl Fn(&'a Spanned<DeValue<'a>>) -> Input<'a>,
    locate: impl Fn(usize) -> Location,
) -> ReadRules {
    const EXPECTED: &str = "tables, as in [[permissions]]";
    let mut read = ReadRules::default();
    let DeValue::Array(items) = list.get_ref() else {
        read.wrong("permissions", &input(list), EXPECTED);
        return read;
    };
    for item in items.iter() {
        match item.get_ref() {
            DeValue::Table(table) => {
                let known_errors = read.errors.len();
                let draft = read.draft(table, &input, &locate);
                if read.errors.len() == known_errors {
                    read.finish(draft, input(item).source);
                }
            }
            _ => read.wrong("permissions", &input(item), EXPECTED),
        }
    }
    read
}

impl PermissionRule {
    /// As `stentor config` shows it.
    pub fn shown(&self) -> Json {
        let name = |text: &String| Json::String(text.clone());
        let parts = [
            ("tool", self.tool.as_ref().map(name)),
            ("effect", self.effect.as_ref().map(Setting::shown)),
            ("path", self.path.as_ref().map(name)),
            ("command", self.command.as_ref().map(name)),
            ("decision", Some(self.decision.shown())),
        ];
        let given = parts
            .into_iter()
            .filter_map(|(key, value)| Some((key.to_owned(), value?)));
        Json::Object(given.collect::<Map<_, _>>())
    }
}

impl Setting for ToolEffect {
    fn read(input: &Input<'_>) -> Result<Self, Problem> {
        input.word(&EFFECTS)
    }

    fn shown(&self) -> Json {
        word_for(&EFFECTS, self)
    }
}

impl Setting for RuleDecision {
    fn read(input: &Input<'_>) -> Result<Self, Problem> {
        input.word(&DECISIONS)
    }

    fn shown(&self) -> Json {
        word_for(&DECISIONS, self)
    }
}

#[derive(Default)]
struct Draft {
    tool: Option<Name>,
    effect: Option<ToolEffect>,
    path: Option<Name>,
    command: Option<Name>,
    decision: Option<RuleDecision>,
}

impl ReadRules {
    fn draft<'a>(
        &mut self,
        table: &'a toml::de::DeTable<'a>,
        input: &impl Fn(&'a Spanned<DeValue<'a>>) -> Input<'a>,
        locate: &impl Fn(usize) -> Location,
    ) -> Draft {
        let mut draft = Draft::default();
        for (key, value) in in_order(table) {
            let name = key.get_ref().as_ref();
            let input = input(value);
            let set = match name {
                "tool" => Setting::read(&input).map(|value| draft.tool = Some(value)),
                "effect" => Setting::read(&input).map(|value| draft.effect = Some(value)),
                "path" => Setting::read(&input).map(|value| draft.path = Some(value)),
                "command" => Setting::read(&input).map(|value| draft.command = Some(value)),
                "decision" => Setting::read(&input).map(|value| draft.decision = Some(value)),
                _ => {
                    self.errors.push(ConfigError::UnknownKey {
                        at: locate(key.span().start),
                        key: format!("permissions.{name}"),
                        suggestion: nearest(name, KEYS).map(str::to_owned),
                    });
                    continue;
                }
            };
            if let Err(problem) = set {
                self.bad(&format!("permissions.{name}"), input.source, problem);
            }
        }
        draft
    }

    fn finish(&mut self, draft: Draft, source: Source) {
        let Some(decision) = draft.decision else {
            let problem = Problem {
                found: "missing".to_owned(),
                expected: "allow, ask or deny".to_owned(),
                suggestion: None,
            };
            return self.bad("permissions.decision", source, problem);
        };
        let value = PermissionRule {
            tool: draft.tool.map(|name| name.0),
            effect: draft.effect,
            path: draft.path.map(|name| name.0),
            command: draft.command.map(|name| name.0),
            decision,
        };
        self.rules.push(Sourced { value, source });
    }

    fn wrong(&mut self, key: &str, input: &Input<'_>, expected: &str) {
        self.bad(key, input.source.clone(), input.problem(expected));
    }

    fn bad(&mut self, key: &str, at: Source, problem: Problem) {
        self.errors.push(ConfigError::BadValue {
            at,
            key: key.to_owned(),
            problem,
        });
    }
}

fn word_for<T: PartialEq>(words: &[(&'static str, T)], value: &T) -> Json {
    let found = words.iter().find(|(_, known)| known == value);
    found.map_or(Json::Null, |(word, _)| Json::from(*word))
}
