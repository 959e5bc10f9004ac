//! Models, thinking, compaction, switches (section 9.6).

use std::sync::Arc;

use stentor_agent::box_error::BoxError;
use stentor_agent::model::{ModelInfo, NamedBy, ThinkingLevel};
use stentor_agent::session::SessionError;
use stentor_agent::tasks;
use stentor_wire::edn::{Keyword, Value};
use stentor_wire::psi::Op;

use crate::default_model::{DefaultModelScope, StoredDefaultModel};
use crate::psi::error::OpError;
use crate::psi::live::PsiSession;
use crate::psi::params::{missing, word_of};
use crate::psi::payload::{self, session::model_ref};
use crate::psi::request::{OpCall, OpDone, OpResult};
use crate::psi::shared::PsiShared;

/// How far a choice of model reaches (section 9.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelScope {
    Session,
    Stored(DefaultModelScope),
}

impl ModelScope {
    pub fn parse(word: &str) -> Option<Self> {
        Some(match word {
            "session" => Self::Session,
            "project" => Self::Stored(DefaultModelScope::Project),
            "user" => Self::Stored(DefaultModelScope::User),
            _ => return None,
        })
    }
}

/// Why a model was not chosen.
#[derive(Debug, thiserror::Error)]
pub enum NotChosen {
    #[error(transparent)]
    Session(#[from] SessionError),
    /// It could not be stored, so nothing was changed.
    #[error("{0}")]
    NotStored(BoxError),
}

impl From<NotChosen> for OpError {
    fn from(error: NotChosen) -> Self {
        match error {
            NotChosen::Session(error) => error.into(),
            NotChosen::NotStored(why) => Self::failed(why.to_string()),
        }
    }
}

/// A model that was chosen, and the file that says so from now on.
pub struct StoredChoice {
    pub model: Arc<ModelInfo>,
    pub stored: Option<StoredDefaultModel>,
}

pub async fn set_model(call: &mut OpCall<'_>) -> OpResult {
    let provider = call.params.word("provider")?;
    let provider = provider.filter(|provider| !provider.trim().is_empty());
    let provider = provider.ok_or_else(|| missing("provider"))?;
    let id = call.params.filled("model-id")?;
    let scope = match call.params.word("scope")? {
        None => ModelScope::Session,
        Some(word) => ModelScope::parse(word).ok_or_else(|| {
            OpError::params(format!(
                ":scope must be one of session, project, user, not {word:?}"
            ))
        })?,
    };
    let live = call.target().await?;
    let chosen = choose_model(call.shared(), &live, provider, id, scope).await?;
    let data = payload::map(|data| {
        data.field("model", &model_ref(&chosen.model));
        if let Some(stored) = &chosen.stored {
            data.field("kept-in", &*stored.file.to_string_lossy())
                .field("without-effect", &stored.without_effect);
        }
    });
    OpDone::data(data).of(&live).into()
}

/// Sets the model of a session, and stores the choice as far as it reaches. When it cannot be stored,
/// the session stays as it was, too. A model nobody has described is unknown here (section 9.6),
/// though its provider might have it.
pub async fn choose_model(
    shared: &PsiShared,
    live: &PsiSession,
    provider: &str,
    id: &str,
    scope: ModelScope,
) -> Result<StoredChoice, NotChosen> {
    if !shared.agent.models().is_described(provider, id) {
        return Err(unknown(provider, id).into());
    }
    let stored = match scope {
        ModelScope::Session => None,
        ModelScope::Stored(scope) => Some(store_default(shared, live, provider, id, scope).await?),
    };
    let model = live.session.set_model(provider, id).await?.model;
    Ok(StoredChoice { model, stored })
}

/// Later requests wait for the file: the next one may count on what it says.
async fn store_default(
    shared: &PsiShared,
    live: &PsiSession,
    provider: &str,
    id: &str,
    scope: DefaultModelScope,
) -> Result<StoredDefaultModel, NotChosen> {
    shared.agent.may_drive()?;
    let store = shared.options.default_model_store.clone();
    let none = "a model can be set for the session only: no file is configured";
    let store = store.ok_or_else(|| NotChosen::NotStored(none.into()))?;
    let models = shared.agent.models();
    // Only what can be used is stored.
    let found = models.find(provider, id, NamedBy::User);
    let found = found.ok_or_else(|| unknown(provider, id))?;
    models.open(&found).map_err(SessionError::Model)?;
    let (provider, id) = (provider.to_owned(), id.to_owned());
    let cwd = live.origin.cwd.clone();
    let stored = tasks::spawn_blocking(move || store.store(&provider, &id, scope, &cwd)).await;
    let stored = stored.unwrap_or_else(|error| Err(error.into()));
    stored.map_err(NotChosen::NotStored)
}

fn unknown(provider: &str, id: &str) -> SessionError {
    SessionError::UnknownModel {
        provider: provider.to_owned(),
        id: id.to_owned(),
    }
}

pub async fn cycle_model(call: &mut OpCall<'_>) -> OpResult {
    let backward = call.params.get("direction").and_then(word_of) == Some("prev");
    let live = call.target().await?;
    let state = live.session.state().await?;
    let model = if state.is_scoped {
        let choice = live.session.cycle_model(backward).await?;
        choice.map(|choice| choice.model).or(state.model)
    } else {
        state.model
    };
    let done = OpDone::map(&[("model", &model.as_deref().map(model_ref))]);
    done.of(&live).into()
}

pub async fn set_thinking_level(call: &mut OpCall<'_>) -> OpResult {
    let level = call.params.get("level");
    let level = level.ok_or_else(|| missing("level"))?;
    let level = parse_level(level).ok_or_else(|| {
        let names = level_names().join(", ");
        OpError::params(format!(":level must be one of {names}"))
    })?;
    let live = call.target().await?;
    let level = live.session.set_thinking(level).await?;
    thinking_answer(&live, level)
}

pub async fn cycle_thinking_level(call: &mut OpCall<'_>) -> OpResult {
    let live = call.target().await?;
    let cycled = live.session.cycle_thinking().await?;
    let level = match cycled {
        Some(level) => level,
        None => live.session.state().await?.thinking,
    };
    thinking_answer(&live, level)
}

pub async fn compact(call: &mut OpCall<'_>) -> OpResult {
    let instructions = call.params.text("custom-instructions")?.map(str::to_owned);
    let live = call.target().await?;
    let state = live.session.state().await?;
    if state.is_running {
        return Err(SessionError::Busy.into());
    }
    let session = live.session.clone();
    call.answerer.later(async move {
        let done = match session.compact(instructions).await {
            Ok(result) => OpDone::data(payload::map(|data| {
                data.field("compacted", &true).key("summary").map(|map| {
                    map.field("summary", &result.summary)
                        .field("first-kept-entry-id", &result.first_kept_entry_id)
                        .field("tokens-before", &result.tokens_before)
                        .field("tokens-after", &result.tokens_after);
                });
            })),
            Err(SessionError::Compaction(why)) if why.is_nothing_to_do() => {
                OpDone::map(&[("compacted", &false), ("summary", &None::<&str>)])
            }
            Err(error) => return Err(error.into()),
        };
        Ok(done.of(&live))
    })
}

/// `set_auto_compaction` and `set_auto_retry`.
pub async fn set_automatic(call: &mut OpCall<'_>, op: Op) -> OpResult {
    let enabled = call.params.flag("enabled")?;
    let live = call.target().await?;
    match op {
        Op::SetAutoRetry => live.session.set_auto_retry(enabled).await?,
        _ => live.session.set_auto_compaction(enabled).await?,
    }
    // When the session answers, it has done what it was sent: its events come before the answer.
    live.session.state().await?;
    OpDone::map(&[("enabled", &enabled)]).of(&live).into()
}

/// A level by its name, or by its place in the list of levels.
pub fn parse_level(value: &Value<'_>) -> Option<ThinkingLevel> {
    if let Some(place) = value.as_i64() {
        let place = usize::try_from(place).ok()?;
        return ThinkingLevel::ALL.get(place).copied();
    }
    word_of(value)?.parse().ok()
}

pub fn level_names() -> [&'static str; 6] {
    ThinkingLevel::ALL.map(ThinkingLevel::as_str)
}

fn thinking_answer(live: &Arc<PsiSession>, level: ThinkingLevel) -> OpResult {
    let level = Keyword(level.as_str());
    OpDone::map(&[("thinking-level", &level)]).of(live).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_named_or_numbered() {
        for (value, expected) in [
            (Value::keyword("high"), Some(ThinkingLevel::High)),
            ("off".into(), Some(ThinkingLevel::Off)),
            (Value::Int(5), Some(ThinkingLevel::Xhigh)),
            (Value::Int(6), None),
            (Value::Int(-1), None),
            ("loud".into(), None),
            (Value::Bool(true), None),
        ] {
            assert_eq!(parse_level(&value), expected, "{value:?}");
        }
    }
}
