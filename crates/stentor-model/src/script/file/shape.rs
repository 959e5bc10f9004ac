//! What a scenario file may contain, key by key.

use std::fmt;
use std::marker::PhantomData;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;

use regex::Regex;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::{Map, Value};
use stentor_agent::model::{InputKind, ThinkingLevel};

use super::mistake::Mistake;
use super::values::{
    ErrorShape, ExhaustedShape, PricesShape, StopShape, TextOrChunks, UsageCounts, UsageShape,
};
use crate::script::condition::{Condition, Pattern, Role};
use crate::script::scenario::{
    ModelFacts, Scenario, ScriptArguments, ScriptStep, ScriptTurn, ScriptedCompaction,
    ScriptedText, Speech, ToolStep,
};

/// The whole file.
#[derive(Default, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ScenarioShape {
    model: ModelShape,
    usage: Option<UsageShape>,
    on_exhausted: Option<ExhaustedShape>,
    compaction: CompactionShape,
    #[serde(alias = "turns")]
    turn: Vec<ScriptTurn>,
}

#[derive(Default, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
struct ModelShape {
    id: Option<String>,
    name: Option<String>,
    context_window: Option<u64>,
    max_tokens: Option<u64>,
    reasoning: Option<bool>,
    input: Option<Vec<InputKind>>,
    prices: PricesShape,
    thinking_levels: Vec<ThinkingLevel>,
}

#[derive(Default, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
struct CompactionShape {
    summary: Option<String>,
    chunk_chars: Option<NonZeroUsize>,
    wait_ms: u64,
    wait_for: Option<PathBuf>,
    usage: Option<UsageShape>,
    error: Option<ErrorShape>,
    error_times: Option<u32>,
}

#[derive(Default, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
struct TurnShape {
    when: Option<Condition>,
    times: Option<NonZeroU32>,
    response_id: Option<String>,
    usage: Option<UsageShape>,
    stop: Option<StopShape>,
    refused: bool,
    #[serde(alias = "steps")]
    step: Option<Vec<ScriptStep>>,
    // The short form of a turn: what it does, in this order.
    wait_ms: Option<u64>,
    thinking: Option<TextOrChunks>,
    text: Option<TextOrChunks>,
    chunk_chars: Option<NonZeroUsize>,
    repeat: Option<u64>,
    tool: Option<String>,
    arguments: Option<Map<String, Value>>,
    error: Option<ErrorShape>,
}

#[derive(Default, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
struct StepShape {
    wait_ms: Option<u64>,
    wait_for: Option<PathBuf>,
    hang: Option<bool>,
    end_block: Option<bool>,
    text: Option<TextOrChunks>,
    thinking: Option<TextOrChunks>,
    redacted_thinking: Option<String>,
    tool: Option<String>,
    usage: Option<UsageCounts>,
    error: Option<ErrorShape>,
    // What goes with some of the above.
    chunk_chars: Option<NonZeroUsize>,
    chunk_wait_ms: Option<u64>,
    repeat: Option<u64>,
    new_block: Option<bool>,
    signature: Option<String>,
    id: Option<String>,
    arguments: Option<Map<String, Value>>,
    arguments_json: Option<TextOrChunks>,
}

#[derive(Default, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
struct ConditionShape {
    last_user_contains: Option<String>,
    last_user_matches: Option<String>,
    last_tool_result_contains: Option<String>,
    last_tool_result_matches: Option<String>,
    system_contains: Option<String>,
    system_matches: Option<String>,
    last_role: Option<RoleShape>,
    tool: Option<String>,
    tool_failed: Option<bool>,
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "snake_case")]
enum RoleShape {
    User,
    Assistant,
    ToolResult,
}

impl From<ScenarioShape> for Scenario {
    fn from(shape: ScenarioShape) -> Self {
        Self {
            model: shape.model.into(),
            usage: shape.usage.map(Into::into).unwrap_or_default(),
            turns: shape.turn,
            on_exhausted: shape.on_exhausted.map(Into::into).unwrap_or_default(),
            compaction: shape.compaction.into(),
        }
    }
}

impl From<ModelShape> for ModelFacts {
    fn from(shape: ModelShape) -> Self {
        let default = Self::default();
        Self {
            id: shape.id,
            name: shape.name,
            context_window: shape.context_window.unwrap_or(default.context_window),
            max_tokens: shape.max_tokens.unwrap_or(default.max_tokens),
            reasoning: shape.reasoning.unwrap_or(default.reasoning),
            input: shape.input.unwrap_or(default.input),
            prices: shape.prices.into(),
            thinking_levels: shape.thinking_levels,
        }
    }
}

impl From<CompactionShape> for ScriptedCompaction {
    fn from(shape: CompactionShape) -> Self {
        Self {
            summary: shape.summary,
            chunk_chars: shape.chunk_chars.map(NonZeroUsize::get),
            wait_ms: shape.wait_ms,
            wait_for: shape.wait_for,
            usage: shape.usage.map(Into::into),
            error: shape.error.map(Into::into),
            error_times: shape.error_times,
        }
    }
}

impl TryFrom<TurnShape> for ScriptTurn {
    type Error = Mistake;

    fn try_from(shape: TurnShape) -> Result<Self, Mistake> {
        let short_form = StepShape {
            text: shape.text,
            chunk_chars: shape.chunk_chars,
            repeat: shape.repeat,
            ..StepShape::default()
        };
        let mut steps = Vec::new();
        if let Some(ms) = shape.wait_ms {
            steps.push(ScriptStep::Wait { ms });
        }
        if let Some(thinking) = shape.thinking {
            steps.push(ScriptStep::Thinking {
                speech: Speech::new(scripted_text(thinking, None, None)?),
                signature: None,
            });
        }
        if short_form.text.is_some() {
            steps.push(ScriptStep::try_from(short_form)?);
        } else if short_form.chunk_chars.is_some() || short_form.repeat.is_some() {
            return Err(Mistake::CutsNothing);
        }
        if let Some(tool) = shape.tool {
            steps.push(ScriptStep::try_from(StepShape {
                tool: Some(tool),
                arguments: shape.arguments,
                ..StepShape::default()
            })?);
        } else if shape.arguments.is_some() {
            return Err(Mistake::ArgumentsWithoutTool);
        }
        if let Some(error) = shape.error {
            steps.push(ScriptStep::Error(error.into()));
        }
        if let Some(listed) = shape.step {
            if !steps.is_empty() {
                return Err(Mistake::StepsAndShortForm);
            }
            steps = listed;
        }
        Ok(Self {
            when: shape.when,
            times: shape.times.map(NonZeroU32::get),
            response_id: shape.response_id,
            steps,
            usage: shape.usage.map(Into::into),
            stop: shape.stop.map(Into::into),
            refused: shape.refused,
        })
    }
}

impl TryFrom<StepShape> for ScriptStep {
    type Error = Mistake;

    fn try_from(mut shape: StepShape) -> Result<Self, Mistake> {
        let step = shape.take_step()?;
        // What is left over belonged to another kind of step, or to a second one.
        match shape.left_over() {
            None => Ok(step),
            Some(key) => Err(Mistake::SecondThing {
                key,
                step: name_of(&step),
            }),
        }
    }
}

impl StepShape {
    /// The step by the key that says what it does, with the keys that go with it.
    fn take_step(&mut self) -> Result<ScriptStep, Mistake> {
        if let Some(text) = self.text.take() {
            Ok(ScriptStep::Text(self.take_speech(text)?))
        } else if let Some(text) = self.thinking.take() {
            Ok(ScriptStep::Thinking {
                speech: self.take_speech(text)?,
                signature: self.signature.take(),
            })
        } else if let Some(data) = self.redacted_thinking.take() {
            Ok(ScriptStep::RedactedThinking { data })
        } else if let Some(name) = self.tool.take() {
            self.take_tool(name).map(ScriptStep::Tool)
        } else if let Some(ms) = self.wait_ms.take() {
            Ok(ScriptStep::Wait { ms })
        } else if let Some(file) = self.wait_for.take() {
            Ok(ScriptStep::WaitFor { file })
        } else if let Some(usage) = self.usage.take() {
            Ok(ScriptStep::Usage(usage.0))
        } else if let Some(error) = self.error.take() {
            Ok(ScriptStep::Error(error.into()))
        } else if self.hang.take() == Some(true) {
            Ok(ScriptStep::Hang)
        } else if self.end_block.take() == Some(true) {
            Ok(ScriptStep::EndBlock)
        } else {
            Err(Mistake::EmptyStep)
        }
    }

    fn take_speech(&mut self, text: TextOrChunks) -> Result<Speech, Mistake> {
        Ok(Speech {
            text: scripted_text(text, self.chunk_chars.take(), self.repeat.take())?,
            chunk_wait_ms: self.chunk_wait_ms.take().unwrap_or(0),
            new_block: self.new_block.take().unwrap_or(false),
        })
    }

    fn take_tool(&mut self, name: String) -> Result<ToolStep, Mistake> {
        let chars = self.chunk_chars.take();
        let arguments = match (self.arguments.take(), self.arguments_json.take()) {
            (Some(_), Some(_)) => return Err(Mistake::TwoArguments),
            (_, Some(raw)) => ScriptArguments::Raw(scripted_text(raw, chars, None)?),
            (object, None) => ScriptArguments::Object {
                object: object.unwrap_or_default(),
                chars: chars.map(NonZeroUsize::get),
            },
        };
        Ok(ToolStep {
            id: self.id.take(),
            name,
            arguments,
            chunk_wait_ms: self.chunk_wait_ms.take().unwrap_or(0),
        })
    }

    fn left_over(&self) -> Option<&'static str> {
        let keys = [
            ("text", self.text.is_some()),
            ("thinking", self.thinking.is_some()),
            ("redacted_thinking", self.redacted_thinking.is_some()),
            ("tool", self.tool.is_some()),
            ("wait_ms", self.wait_ms.is_some()),
            ("wait_for", self.wait_for.is_some()),
            ("usage", self.usage.is_some()),
            ("error", self.error.is_some()),
            ("hang", self.hang.is_some()),
            ("end_block", self.end_block.is_some()),
            ("chunk_chars", self.chunk_chars.is_some()),
            ("chunk_wait_ms", self.chunk_wait_ms.is_some()),
            ("repeat", self.repeat.is_some()),
            ("new_block", self.new_block.is_some()),
            ("signature", self.signature.is_some()),
            ("id", self.id.is_some()),
            ("arguments", self.arguments.is_some()),
            ("arguments_json", self.arguments_json.is_some()),
        ];
        keys.into_iter()
            .find(|(_, is_set)| *is_set)
            .map(|(key, _)| key)
    }
}

impl TryFrom<ConditionShape> for Condition {
    type Error = Mistake;

    fn try_from(shape: ConditionShape) -> Result<Self, Mistake> {
        let condition = Self {
            last_user: pattern(
                "last_user",
                shape.last_user_contains,
                shape.last_user_matches,
            )?,
            last_tool_result: pattern(
                "last_tool_result",
                shape.last_tool_result_contains,
                shape.last_tool_result_matches,
            )?,
            system: pattern("system", shape.system_contains, shape.system_matches)?,
            last_role: shape.last_role.map(|role| match role {
                RoleShape::User => Role::User,
                RoleShape::Assistant => Role::Assistant,
                RoleShape::ToolResult => Role::ToolResult,
            }),
            tool: shape.tool,
            tool_failed: shape.tool_failed,
        };
        if condition == Self::default() {
            return Err(Mistake::EmptyCondition);
        }
        Ok(condition)
    }
}

fn pattern(
    what: &'static str,
    contains: Option<String>,
    matches: Option<String>,
) -> Result<Option<Pattern>, Mistake> {
    match (contains, matches) {
        (None, None) => Ok(None),
        (Some(text), None) => Ok(Some(Pattern::Contains(text))),
        (None, Some(regex)) => match Regex::new(&regex) {
            Ok(regex) => Ok(Some(Pattern::Matches(regex))),
            Err(error) => Err(Mistake::NoExpression { what, error }),
        },
        (Some(_), Some(_)) => Err(Mistake::TwoPatterns(what)),
    }
}

fn scripted_text(
    text: TextOrChunks,
    chars: Option<NonZeroUsize>,
    repeat: Option<u64>,
) -> Result<ScriptedText, Mistake> {
    match (text, chars, repeat) {
        (TextOrChunks::Text(text), None, None) => Ok(ScriptedText::Whole(text)),
        (TextOrChunks::Text(text), Some(chars), None) => Ok(ScriptedText::Cut {
            text,
            chars: chars.get(),
        }),
        (TextOrChunks::Text(text), None, Some(times)) => Ok(ScriptedText::Repeat { text, times }),
        (TextOrChunks::Chunks(chunks), None, None) => Ok(ScriptedText::Chunks(chunks)),
        (TextOrChunks::Text(_), Some(_), Some(_)) => Err(Mistake::CutAndRepeated),
        (TextOrChunks::Chunks(_), _, _) => Err(Mistake::CutTwice),
    }
}

fn name_of(step: &ScriptStep) -> &'static str {
    match step {
        ScriptStep::Wait { .. } => "`wait_ms`",
        ScriptStep::WaitFor { .. } => "`wait_for`",
        ScriptStep::Hang => "`hang`",
        ScriptStep::Text(_) => "`text`",
        ScriptStep::Thinking { .. } => "`thinking`",
        ScriptStep::RedactedThinking { .. } => "`redacted_thinking`",
        ScriptStep::Tool(_) => "`tool`",
        ScriptStep::Usage(_) => "`usage`",
        ScriptStep::EndBlock => "`end_block`",
        ScriptStep::Error(_) => "`error`",
    }
}

/// Reads a table as `S` and turns it into `T`, all while the reader is still inside the table, so
/// that an error in either step gets the table's line.
struct ByShape<S, T>(PhantomData<(S, T)>);

impl<'de, S: Deserialize<'de>, T: TryFrom<S, Error = Mistake>> Visitor<'de> for ByShape<S, T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        let shape = S::deserialize(MapAccessDeserializer::new(map))?;
        T::try_from(shape).map_err(serde::de::Error::custom)
    }
}

impl<'de> Deserialize<'de> for ScriptTurn {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ByShape::<TurnShape, Self>(PhantomData))
    }
}

impl<'de> Deserialize<'de> for ScriptStep {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ByShape::<StepShape, Self>(PhantomData))
    }
}

impl<'de> Deserialize<'de> for Condition {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ByShape::<ConditionShape, Self>(PhantomData))
    }
}
