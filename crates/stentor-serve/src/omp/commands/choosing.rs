//! Models and thinking levels (section 6.2).

use serde::Serialize;
use stentor_agent::model::{ModelErrorKind, ThinkingLevel, UnknownThinkingLevel};
use stentor_agent::session::SessionError;
use stentor_wire::omp::command::{Level, SetModel};

use crate::omp::dialect::OmpDialect;
use crate::omp::reply::{AnswerData, CommandFailure, CommandOutcome};
use crate::omp::shapes::WireModel;

/// `set_model`.
pub(super) async fn set_model(dialect: &OmpDialect, wanted: SetModel) -> CommandOutcome {
    let SetModel { provider, model_id } = wanted;
    let session = dialect.session();
    match session.set_model(&provider, &model_id).await {
        Ok(choice) => AnswerData::of(&WireModel::of(&choice.model)),
        Err(SessionError::Model(error)) if error.kind == ModelErrorKind::Auth => Err(
            CommandFailure::new(format!("No API key for {provider}/{model_id}")),
        ),
        Err(error) => Err(error.into()),
    }
}

/// `cycle_model`.
pub(super) async fn cycle_model(dialect: &OmpDialect) -> CommandOutcome {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct CycledModel<'a> {
        model: WireModel<'a>,
        thinking_level: &'static str,
        is_scoped: bool,
    }
    match dialect.session().cycle_model(false).await? {
        Some(choice) => AnswerData::of(&CycledModel {
            model: WireModel::of(&choice.model),
            thinking_level: choice.thinking.as_str(),
            is_scoped: choice.is_scoped,
        }),
        None => Ok(AnswerData::null()),
    }
}

/// `get_available_models`.
pub(super) fn available_models(dialect: &OmpDialect) -> CommandOutcome {
    #[derive(Serialize)]
    struct Available<'a> {
        models: Vec<WireModel<'a>>,
    }
    let available = dialect.agent.models().available();
    let models = available.iter().map(|info| WireModel::of(info)).collect();
    AnswerData::of(&Available { models })
}

/// `set_thinking_level`.
pub(super) async fn set_thinking(dialect: &OmpDialect, wanted: Level) -> CommandOutcome {
    let level: ThinkingLevel = wanted
        .level
        .parse()
        .map_err(|error: UnknownThinkingLevel| CommandFailure::new(error.to_string()))?;
    dialect.session().set_thinking(level).await?;
    Ok(AnswerData::none())
}

/// `cycle_thinking_level`.
pub(super) async fn cycle_thinking(dialect: &OmpDialect) -> CommandOutcome {
    #[derive(Serialize)]
    struct CycledLevel {
        level: &'static str,
    }
    match dialect.session().cycle_thinking().await? {
        Some(level) => AnswerData::of(&CycledLevel {
            level: level.as_str(),
        }),
        None => Ok(AnswerData::null()),
    }
}

/// `get_available_thinking_levels`.
pub(super) async fn available_levels(dialect: &OmpDialect) -> CommandOutcome {
    #[derive(Serialize)]
    struct Levels {
        levels: Vec<&'static str>,
    }
    let state = dialect.session().state().await?;
    let levels = state
        .model
        .map_or_else(|| vec![ThinkingLevel::Off], |info| info.levels());
    AnswerData::of(&Levels {
        levels: levels.into_iter().map(ThinkingLevel::as_str).collect(),
    })
}
