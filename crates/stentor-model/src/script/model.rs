//! The scripted model itself.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use stentor_agent::model::{Model, ModelErrorKind, ModelInfo, ModelRequest, ModelStream, Purpose};
use stentor_journal::message::{ContentBlock, KnownBlock, Message, text_of};

use super::choose::{ScriptChoice, ScriptSessions};
use super::file::{self, ScriptError, ScriptFormat};
use super::play::{Performance, PlayedAnswer};
use super::scenario::{
    ErrorStep, Exhausted, Scenario, ScriptStep, ScriptTurn, ScriptedCompaction, ScriptedText,
    Speech, UsageRule,
};
use super::template::TemplateValues;

/// The provider of scripted models: `--model script/FILE`.
pub const PROVIDER: &str = "script";

/// The wire of scripted models, which is none.
pub const API: &str = "script";

/// A model that plays a scenario.
///
/// Each session (by its id) has its own place in the scenario. A session this instance has not
/// seen takes the place its conversation suggests, so a run that is resumed in another process
/// goes on where it was.
pub struct ScriptModel {
    info: Arc<ModelInfo>,
    turns: Vec<Arc<ScriptTurn>>,
    usage: UsageRule,
    on_exhausted: Exhausted,
    compaction: ScriptedCompaction,
    sessions: Mutex<ScriptSessions>,
}

/// What is in a scenario.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScenarioFacts {
    pub turns: usize,
    /// Those that answer only certain messages.
    pub conditional: usize,
    /// The tools it calls.
    pub tools: Vec<String>,
    /// `provider/id`.
    pub model: String,
}

impl ScriptModel {
    /// Reads a scenario file; its path becomes the model's id.
    pub fn load(path: impl AsRef<Path>) -> Result<Arc<Self>, ScriptError> {
        let path = path.as_ref();
        let name = path.to_string_lossy();
        Ok(Self::new(file::load(path)?, &name))
    }

    /// Reads a scenario from text; `name` stands for the file in errors and is the model's id.
    pub fn parse(text: &str, format: ScriptFormat, name: &str) -> Result<Arc<Self>, ScriptError> {
        Ok(Self::new(file::parse(text, format, name)?, name))
    }

    /// Plays `scenario` under the model id `id`, unless the scenario has an id of its own.
    pub fn new(scenario: Scenario, id: &str) -> Arc<Self> {
        let facts = scenario.model;
        let id = facts.id.unwrap_or_else(|| id.to_owned());
        let info = ModelInfo {
            name: facts.name.unwrap_or_else(|| format!("Scenario {id}")),
            id,
            api: API.to_owned(),
            provider: PROVIDER.to_owned(),
            base_url: String::new(),
            reasoning: facts.reasoning,
            input: facts.input,
            cost: Some(facts.prices),
            context_window: facts.context_window,
            max_tokens: facts.max_tokens,
            thinking_levels: facts.thinking_levels,
            modes: Vec::new(),
        };
        Arc::new(Self {
            info: Arc::new(info),
            turns: scenario.turns.into_iter().map(Arc::new).collect(),
            usage: scenario.usage,
            on_exhausted: scenario.on_exhausted,
            compaction: scenario.compaction,
            sessions: Mutex::default(),
        })
    }

    /// What is in the scenario, for people.
    pub fn facts(&self) -> ScenarioFacts {
        let steps = self.turns.iter().flat_map(|turn| &turn.steps);
        let mut tools: Vec<String> = steps
            .filter_map(|step| match step {
                ScriptStep::Tool(tool) => Some(tool.name.clone()),
                _ => None,
            })
            .collect();
        tools.sort();
        tools.dedup();
        ScenarioFacts {
            turns: self.turns.len(),
            conditional: self.turns.iter().filter(|turn| turn.when.is_some()).count(),
            tools,
            model: self.info.full_name(),
        }
    }

    /// The turn that answers, with the number of the answer and how often the turn was played.
    fn answer(&self, request: &ModelRequest) -> (Arc<ScriptTurn>, u64, u64) {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        let place = sessions.place(&self.info, &self.turns, request);
        if request.purpose == Purpose::Compaction {
            place.summaries = place.summaries.saturating_add(1);
            let turn = self.summary(request, place.summaries);
            return (Arc::new(turn), place.answers, u64::from(place.summaries));
        }
        let choice = place.choose(&self.turns, request);
        let (turn, n) = match choice {
            ScriptChoice::Turn { index, n } => (self.turns.get(index).cloned(), n),
            ScriptChoice::Exhausted => (None, 1),
        };
        let turn = turn.unwrap_or_else(|| self.exhausted());
        (turn, place.answers, u64::from(n))
    }

    fn exhausted(&self) -> Arc<ScriptTurn> {
        let in_order = || self.turns.iter().rfind(|turn| turn.when.is_none());
        match &self.on_exhausted {
            Exhausted::RepeatLast => match in_order() {
                Some(last) => Arc::clone(last),
                None => Arc::new(ScriptTurn::new().text("The scenario has no turn to repeat.")),
            },
            Exhausted::Error => Arc::new(ScriptTurn::new().step(ScriptStep::Error(ErrorStep {
                message: Some(format!(
                    "{}: the scenario has no more turns; add some, or set on_exhausted",
                    self.info.full_name()
                )),
                ..ErrorStep::new(ModelErrorKind::Other)
            }))),
            Exhausted::Text(text) => Arc::new(ScriptTurn::new().text(text)),
        }
    }

    fn summary(&self, request: &ModelRequest, nth: u32) -> ScriptTurn {
        let rule = &self.compaction;
        let mut turn = ScriptTurn::new();
        turn.usage = rule.usage;
        if rule.wait_ms > 0 {
            turn = turn.wait(rule.wait_ms);
        }
        if let Some(file) = rule.wait_for.clone() {
            turn = turn.step(ScriptStep::WaitFor { file });
        }
        let fails = nth <= rule.error_times.unwrap_or(u32::MAX);
        if let Some(error) = rule.error.as_ref().filter(|_| fails) {
            return turn.step(ScriptStep::Error(error.clone()));
        }
        let text = match &rule.summary {
            Some(summary) => summary.clone(),
            None => default_summary(&request.messages),
        };
        let text = match rule.chunk_chars {
            Some(chars) => ScriptedText::Cut { text, chars },
            None => ScriptedText::Whole(text),
        };
        turn.step(ScriptStep::Text(Speech::new(text)))
    }
}

impl Model for ScriptModel {
    fn info(&self) -> &Arc<ModelInfo> {
        &self.info
    }

    fn stream(&self, request: ModelRequest) -> ModelStream {
        let (turn, number, n) = self.answer(&request);
        // Going through the whole conversation is only worth it when somebody wants the number.
        let input_chars = match turn.usage.unwrap_or(self.usage) {
            UsageRule::Estimate => request.messages.iter().map(|one| chars_of(one)).sum(),
            UsageRule::Fixed(_) => 0,
        };
        Box::pin(PlayedAnswer::new(Performance {
            turn,
            values: values_of(&request, number, n),
            usage: self.usage,
            input_chars,
            model: self.info.full_name(),
        }))
    }
}

fn values_of(request: &ModelRequest, turn: u64, n: u64) -> TemplateValues {
    let messages = &request.messages;
    let user = messages.iter().rev().find_map(|one| one.as_user());
    let result = messages.iter().rev().find_map(|one| one.as_tool_result());
    TemplateValues {
        last_user: user.map(|user| user.content.text()).unwrap_or_default(),
        last_tool_result: result
            .map(|result| text_of(&result.content, "\n"))
            .unwrap_or_default(),
        thinking: request.thinking.as_str(),
        turn,
        n,
    }
}

/// What a summary says that the scenario does not write: enough to see that it is one.
fn default_summary(messages: &[Arc<Message>]) -> String {
    const GOALS: usize = 20;
    let goals = messages.iter().filter_map(|message| message.as_user());
    let goals: Vec<String> = goals
        .filter_map(|user| {
            let text = user.content.text();
            let line = text.lines().find(|line| !line.trim().is_empty())?;
            Some(format!(
                "- {}",
                line.trim().chars().take(120).collect::<String>()
            ))
        })
        .take(GOALS)
        .collect();
    format!(
        "Summary of {} earlier messages. The user asked:\n{}",
        messages.len(),
        goals.join("\n")
    )
}

fn chars_of(message: &Message) -> u64 {
    let blocks = |blocks: &[ContentBlock]| -> u64 {
        let chars = blocks.iter().map(|block| match block {
            ContentBlock::Known(KnownBlock::Text(text)) => text.text.chars().count(),
            ContentBlock::Known(KnownBlock::Thinking(text)) => text.thinking.chars().count(),
            ContentBlock::Known(KnownBlock::ToolCall(call)) => {
                let values = call.arguments.values().map(|value| value.to_string().len());
                call.name.len() + values.sum::<usize>()
            }
            ContentBlock::Known(_) | ContentBlock::Other(_) => 0,
        });
        chars.sum::<usize>() as u64
    };
    if let Some(user) = message.as_user() {
        blocks(&user.content.to_blocks())
    } else if let Some(answer) = message.as_assistant() {
        blocks(&answer.content)
    } else if let Some(result) = message.as_tool_result() {
        blocks(&result.content)
    } else {
        0
    }
}
