//! Permission rules as they are written: `[[permissions]]` tables.

use serde_json::{Map, Value as Json};
use stentor_agent::tool::ToolEffect;
use stentor_policy::{Rule, RuleDecision};
use stentor_text::spelling::nearest;
use stentor_tools::memory::MEMORY;
use stentor_tools::web::{FETCH, WEB_SEARCH};
use stentor_tools::{ALL_TOOLS, ASKING_TOOLS, SUBAGENT};
use toml::Spanned;
use toml::de::DeValue;

use super::error::{ConfigError, ValueProblem};
use super::file::in_order;
use super::source::{ConfigLocation, Sourced, ValueSource};
use super::value::{NonEmptyName, SettingValue, WrittenValue};

/// The rules that could be read, and what is wrong with the others.
#[derive(Debug, Default)]
pub struct ReadRules {
    pub rules: Vec<Sourced<Rule>>,
    pub errors: Vec<ConfigError>,
}

const KEYS: [&str; 6] = ["tool", "effect", "path", "command", "host", "decision"];
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
    input: impl Fn(&'a Spanned<DeValue<'a>>) -> WrittenValue<'a>,
    locate: impl Fn(usize) -> ConfigLocation,
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

impl SettingValue for ToolEffect {
    fn read(input: &WrittenValue<'_>) -> Result<Self, ValueProblem> {
        input.word(&EFFECTS)
    }

    fn shown(&self) -> Json {
        word_for(&EFFECTS, self)
    }
}

impl SettingValue for RuleDecision {
    fn read(input: &WrittenValue<'_>) -> Result<Self, ValueProblem> {
        input.word(&DECISIONS)
    }

    fn shown(&self) -> Json {
        word_for(&DECISIONS, self)
    }
}

/// The parts of a rule that were read, as the policy reads them.
type Draft = Map<String, Json>;

impl ReadRules {
    fn draft<'a>(
        &mut self,
        table: &'a toml::de::DeTable<'a>,
        input: &impl Fn(&'a Spanned<DeValue<'a>>) -> WrittenValue<'a>,
        locate: &impl Fn(usize) -> ConfigLocation,
    ) -> Draft {
        let mut draft = Draft::default();
        for (key, value) in in_order(table) {
            let name = key.get_ref().as_ref();
            let input = input(value);
            let part = match name {
                "tool" => tool(&input),
                "path" | "command" | "host" => NonEmptyName::read(&input).map(|part| part.shown()),
                "effect" => ToolEffect::read(&input).map(|part| part.shown()),
                "decision" => RuleDecision::read(&input).map(|part| part.shown()),
                _ => {
                    self.errors.push(ConfigError::UnknownKey {
                        at: locate(key.span().start),
                        key: format!("permissions.{name}"),
                        suggestion: nearest(name, KEYS).map(str::to_owned),
                    });
                    continue;
                }
            };
            match part {
                Ok(part) => {
                    draft.insert(name.to_owned(), part);
                }
                Err(problem) => self.bad(&format!("permissions.{name}"), input.source, problem),
            }
        }
        draft
    }

    fn finish(&mut self, draft: Draft, source: ValueSource) {
        if !draft.contains_key("decision") {
            let problem = ValueProblem {
                found: "missing".to_owned(),
                expected: "allow, ask or deny".to_owned(),
                suggestion: None,
            };
            return self.bad("permissions.decision", source, problem);
        }
        match serde_json::from_value(Json::Object(draft)) {
            Ok(value) => self.rules.push(Sourced { value, source }),
            Err(error) => self.errors.push(ConfigError::BadRule {
                at: source,
                message: error.to_string(),
            }),
        }
    }

    fn wrong(&mut self, key: &str, input: &WrittenValue<'_>, expected: &str) {
        self.bad(key, input.source.clone(), input.problem(expected));
    }

    fn bad(&mut self, key: &str, at: ValueSource, problem: ValueProblem) {
        self.errors.push(ConfigError::BadValue {
            at,
            key: key.to_owned(),
            problem,
        });
    }
}

/// The tool of a rule. A name that no tool has would leave a rule without any effect, so it must be
/// one of ours, or one that a server gives (`mcp__SERVER__TOOL`). Which tools an extension or a
/// client brings is known only when it runs: a pattern covers them.
fn tool(input: &WrittenValue<'_>) -> Result<Json, ValueProblem> {
    let NonEmptyName(name) = NonEmptyName::read(input)?;
    let known = || {
        ALL_TOOLS
            .into_iter()
            .chain([SUBAGENT, MEMORY, FETCH, WEB_SEARCH])
            .chain(ASKING_TOOLS)
    };
    let is_of_others = name.contains('*') || name.starts_with("mcp__");
    if is_of_others || known().any(|known| known == name) {
        return Ok(Json::from(name));
    }
    let expected = format!(
        "a tool: {}, one of a server as mcp__SERVER__TOOL, or a pattern with `*`, which tools of \
         extensions need",
        known().collect::<Vec<_>>().join(", ")
    );
    Err(ValueProblem {
        suggestion: nearest(&name, known()).map(str::to_owned),
        ..input.problem(&expected)
    })
}

fn word_for<T: PartialEq>(words: &[(&'static str, T)], value: &T) -> Json {
    let found = words.iter().find(|(_, known)| known == value);
    found.map_or(Json::Null, |(word, _)| Json::from(*word))
}
