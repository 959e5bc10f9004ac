//! Models, thinking, compaction, switches (section 9.6).

use std::sync::Arc;

use stentor_agent::model::{ModelInfo, NamedBy, ThinkingLevel};
use stentor_agent::session::SessionError;
use stentor_agent::tasks;
use stentor_wire::edn::{Keyword, Value};

use crate::default_model::{DefaultModelScope, StoredDefaultModel};
use crate::psi::error::OpError;
use crate::psi::live::Live;
use crate::psi::params::word_of;
use crate::psi::payload::{self, model::ModelRef};
use crate::psi::request::{Call, Done, Handled};
use crate::psi::shared::Shared;

/// How far a choice of model reaches (section 9.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::psi) enum ModelScope {
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
pub(in crate::psi) enum NotChosen {
    Session(SessionError),
    /// It could not be stored, so nothing was changed.
    NotStored(String),
}

/// A model that was chosen, and the file that says so from now on.
pub(in crate::psi) struct Chosen {
    pub model: Arc<ModelInfo>,
    pub stored: Option<StoredDefaultModel>,
}

pub(in crate::psi) async fn set_model(call: &mut Call<'_>) -> Handled {
    let provider = call.params.word("provider")?;
    let provider = provider.filter(|provider| !provider.trim().is_empty());
    let provider = provider.ok_or_else(|| OpError::params(":provider is missing"))?;
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
    let chosen = choose_model(&call.connection.shared, &live, provider, id, scope).await;
    let chosen = chosen.map_err(|error| match error {
        NotChosen::Session(error) => error.into(),
        NotChosen::NotStored(why) => OpError::failed(why),
    })?;
    call.answer(&live, |data| {
        data.field("model", &ModelRef(&chosen.model));
        if let Some(stored) = &chosen.stored {
            data.field("kept-in", &*stored.file.to_string_lossy())
                .field("without-effect", &stored.without_effect);
        }
    })
}

/// Sets the model of a session, and stores the choice as far as it reaches. When it cannot be stored,
/// the session stays as it was, too. A model nobody has described is unknown here (section 9.6),
/// though its provider might have it.
pub(in crate::psi) async fn choose_model(
    shared: &Shared,
    live: &Live,
    provider: &str,
    id: &str,
    scope: ModelScope,
) -> Result<Chosen, NotChosen> {
    if !shared.agent.models().is_described(provider, id) {
        return Err(NotChosen::Session(SessionError::UnknownModel {
            provider: provider.to_owned(),
            id: id.to_owned(),
        }));
    }
    let stored = match scope {
        ModelScope::Session => None,
        ModelScope::Stored(scope) => Some(store_default(shared, live, provider, id, scope).await?),
    };
    let choice = live.session.set_model(provider, id).await;
    let choice = choice.map_err(NotChosen::Session)?;
    Ok(Chosen {
        model: choice.model,
        stored,
    })
}

/// Later requests wait for the file: the next one may count on what it says.
async fn store_default(
    shared: &Shared,
    live: &Live,
    provider: &str,
    id: &str,
    scope: DefaultModelScope,
) -> Result<StoredDefaultModel, NotChosen> {
    shared.agent.may_drive().map_err(NotChosen::Session)?;
    let store = shared.options.default_model_store.clone().ok_or_else(|| {
        NotChosen::NotStored(
            "a model can be set for the session only: no file is configured".into(),
        )
    })?;
    let models = shared.agent.models();
    let unknown = || SessionError::UnknownModel {
        provider: provider.to_owned(),
        id: id.to_owned(),
    };
    // Only what can be used is stored.
    let found = models.find(provider, id, NamedBy::User).ok_or_else(unknown);
    let usable = found.and_then(|info| models.open(&info).map_err(SessionError::Model));
    usable.map_err(NotChosen::Session)?;
    let (provider, id) = (provider.to_owned(), id.to_owned());
    let cwd = live.cwd.clone();
    let stored = tasks::spawn_blocking(move || store.store(&provider, &id, scope, &cwd)).await;
    stored
        .unwrap_or_else(|error| Err(error.into()))
        .map_err(|why| NotChosen::NotStored(why.to_string()))
}

pub(in crate::psi) async fn cycle_model(call: &mut Call<'_>) -> Handled {
    let backward = call.params.get("direction").and_then(word_of) == Some("prev");
    let live = call.target().await?;
    let state = live.session.state().await?;
    let model = if state.is_scoped {
        let choice = live.session.cycle_model(backward).await?;
        choice.map(|choice| choice.model).or(state.model)
    } else {
        state.model
    };
    call.answer(&live, |data| {
        data.field("model", &model.as_deref().map(ModelRef));
    })
}

pub(in crate::psi) async fn set_thinking_level(call: &mut Call<'_>) -> Handled {
    let level = call
        .params
        .get("level")
        .ok_or_else(|| OpError::params(":level is missing"))?;
    let level = parse_level(level).ok_or_else(|| {
        OpError::params(format!(
            ":level must be one of {}",
            level_names().join(", ")
        ))
    })?;
    let live = call.target().await?;
    let level = live.session.set_thinking(level).await?;
    thinking_answer(level).of(&live).into()
}

pub(in crate::psi) async fn cycle_thinking_level(call: &mut Call<'_>) -> Handled {
    let live = call.target().await?;
    let cycled = live.session.cycle_thinking().await?;
    let level = match cycled {
        Some(level) => level,
        None => live.session.state().await?.thinking,
    };
    thinking_answer(level).of(&live).into()
}

pub(in crate::psi) async fn compact(call: &mut Call<'_>) -> Handled {
    let instructions = call.params.text("custom-instructions")?.map(str::to_owned);
    let live = call.target().await?;
    let state = live.session.state().await?;
    if state.is_running {
        return Err(SessionError::Busy.into());
    }
    let session = live.session.clone();
    call.answerer.later(async move {
        let done = match session.compact(instructions).await {
            Ok(result) => payload::map(|data| {
                data.field("compacted", &true).key("summary").map(|map| {
                    map.field("summary", &result.summary)
                        .field("first-kept-entry-id", &result.first_kept_entry_id)
                        .field("tokens-before", &result.tokens_before)
                        .field("tokens-after", &result.tokens_after);
                });
            }),
            Err(SessionError::Compaction(why)) if why.is_nothing_to_do() => payload::map(|data| {
                data.field("compacted", &false)
                    .field("summary", &None::<&str>);
            }),
            Err(error) => return Err(error.into()),
        };
        Ok(Done::data(done).of(&live))
    })
}

pub(in crate::psi) async fn set_auto_compaction(call: &mut Call<'_>) -> Handled {
    let enabled = call.params.flag("enabled")?;
    let live = call.target().await?;
    live.session.set_auto_compaction(enabled).await?;
    applied(&live).await?;
    enabled_answer(enabled).of(&live).into()
}

pub(in crate::psi) async fn set_auto_retry(call: &mut Call<'_>) -> Handled {
    let enabled = call.params.flag("enabled")?;
    let live = call.target().await?;
    live.session.set_auto_retry(enabled).await?;
    applied(&live).await?;
    enabled_answer(enabled).of(&live).into()
}

/// Waits until what the session was sent is done, so that its events come before the answer.
async fn applied(live: &Live) -> Result<(), OpError> {
    live.session.state().await?;
    Ok(())
}

/// A level by its name, or by its place in the list of levels.
pub(in crate::psi) fn parse_level(value: &Value<'_>) -> Option<ThinkingLevel> {
    if let Some(place) = value.as_i64() {
        let place = usize::try_from(place).ok()?;
        return ThinkingLevel::ALL.get(place).copied();
    }
    word_of(value)?.parse().ok()
}

pub(in crate::psi) fn level_names() -> [&'static str; 6] {
    ThinkingLevel::ALL.map(ThinkingLevel::as_str)
}

fn thinking_answer(level: ThinkingLevel) -> Done {
    Done::data(payload::map(|data| {
        data.field("thinking-level", &Keyword(level.as_str()));
    }))
}

fn enabled_answer(enabled: bool) -> Done {
    Done::data(payload::map(|data| {
        data.field("enabled", &enabled);
    }))
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
