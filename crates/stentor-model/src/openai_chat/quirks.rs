//! In what the servers that speak chat completions differ.

use serde_json::{Map, Value, json};
use stentor_agent::model::{ModelInfo, ThinkingLevel};

use crate::transcript::IdRule;

/// What one server wants otherwise than the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Quirks {
    pub ids: IdRule,
    /// OpenAI's newer models refuse the older name of the field. `None` for servers on one's own
    /// machine: they know their window better than anybody and refuse what does not fit in it.
    pub output_limit_field: Option<&'static str>,
    /// Does not take a user message right behind tool results.
    pub wants_assistant_after_results: bool,
    /// Wants results to name their tool; others may refuse the field.
    pub names_tool_results: bool,
    /// Caches by a key the client names.
    pub takes_cache_key: bool,
    /// Holds the answer to a schema, also where tools can be called. Others have one or the other.
    pub takes_schema: bool,
    pub is_copilot: bool,
    thinking: ThinkingParameter,
}

/// The parameter that asks a server to think.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ThinkingParameter {
    /// `reasoning_effort: "low"`.
    Effort,
    /// `reasoning: {"effort": "low"}`.
    EffortObject,
    /// `thinking: {"type": "enabled"}`.
    Switch,
    /// `chat_template_kwargs: {"enable_thinking": true}`.
    Template,
}

impl Quirks {
    pub(super) fn of(info: &ModelInfo) -> Self {
        let is = |name: &str, host: &str| info.provider == name || info.base_url.contains(host);
        let usual = Self {
            ids: IdRule::Identifier { max_len: 40 },
            output_limit_field: Some("max_tokens"),
            wants_assistant_after_results: false,
            names_tool_results: false,
            takes_cache_key: false,
            takes_schema: false,
            is_copilot: false,
            thinking: ThinkingParameter::Effort,
        };
        if is("openai", "api.openai.com") {
            Self {
                output_limit_field: Some("max_completion_tokens"),
                takes_cache_key: true,
                takes_schema: true,
                ..usual
            }
        } else if is("mistral", "api.mistral.ai") {
            Self {
                ids: IdRule::Nine,
                wants_assistant_after_results: true,
                names_tool_results: true,
                ..usual
            }
        } else if is("github-copilot", "githubcopilot.com") {
            Self {
                is_copilot: true,
                ..usual
            }
        } else if is("openrouter", "openrouter.ai") {
            Self {
                thinking: ThinkingParameter::EffortObject,
                ..usual
            }
        } else if is("deepseek", "api.deepseek.com") {
            Self {
                thinking: ThinkingParameter::Switch,
                ..usual
            }
        } else if matches!(info.provider.as_str(), "llamacpp" | "vllm") {
            Self {
                output_limit_field: None,
                thinking: ThinkingParameter::Template,
                ..usual
            }
        } else if matches!(info.provider.as_str(), "ollama" | "lmstudio") {
            Self {
                output_limit_field: None,
                ..usual
            }
        } else {
            usual
        }
    }

    /// Adds to `body` what makes the model think at this level.
    pub(super) fn ask_to_think(
        self,
        info: &ModelInfo,
        level: ThinkingLevel,
        body: &mut Map<String, Value>,
    ) {
        if !info.reasoning {
            return;
        }
        let level = info.clamp(level);
        let thinks = level != ThinkingLevel::Off;
        // A model of one level only has nothing to be told, and may refuse to be.
        let has_levels = info
            .levels()
            .iter()
            .filter(|level| **level != ThinkingLevel::Off)
            .count()
            > 1;
        // Only a model that lists `off` is known to understand it.
        let can_be_off = info.thinking_levels.contains(&ThinkingLevel::Off);
        let effort = match level {
            ThinkingLevel::Off => "none",
            ThinkingLevel::Minimal if !info.thinking_levels.contains(&level) => "low",
            ThinkingLevel::Xhigh if !info.thinking_levels.contains(&level) => "high",
            level => level.as_str(),
        };
        match self.thinking {
            ThinkingParameter::Effort if (thinks && has_levels) || (!thinks && can_be_off) => {
                body.insert("reasoning_effort".into(), effort.into());
            }
            ThinkingParameter::EffortObject => {
                body.insert("reasoning".into(), json!({ "effort": effort }));
            }
            ThinkingParameter::Switch => {
                let word = if thinks { "enabled" } else { "disabled" };
                body.insert("thinking".into(), json!({ "type": word }));
            }
            ThinkingParameter::Template => {
                let switch = json!({ "enable_thinking": thinks });
                body.insert("chat_template_kwargs".into(), switch);
            }
            ThinkingParameter::Effort => {}
        }
    }
}
