//! Modes, switches and the list of things to do (sections 6.3 and 19).

use serde::Serialize;
use stentor_agent::event::{InterruptMode, QueueMode};
use stentor_wire::omp::command::{Mode, SetTodos, Switch, TodoPhase};

use crate::omp::dialect::OmpDialect;
use crate::omp::reply::{AnswerData, CommandFailure, CommandOutcome};
use crate::omp::shapes::plan_of;

/// `set_steering_mode`.
pub(super) async fn steering_mode(dialect: &OmpDialect, mode: Mode) -> CommandOutcome {
    let mode = queue_mode(&mode)?;
    dialect.session().set_steering_mode(mode).await?;
    Ok(AnswerData::none())
}

/// `set_follow_up_mode`.
pub(super) async fn follow_up_mode(dialect: &OmpDialect, mode: Mode) -> CommandOutcome {
    let mode = queue_mode(&mode)?;
    dialect.session().set_follow_up_mode(mode).await?;
    Ok(AnswerData::none())
}

/// `set_interrupt_mode`.
pub(super) async fn interrupt_mode(dialect: &OmpDialect, mode: Mode) -> CommandOutcome {
    let Some(mode) = InterruptMode::parse(&mode.mode) else {
        return Err(unknown(&mode.mode, "immediate or wait"));
    };
    dialect.session().set_interrupt_mode(mode).await?;
    Ok(AnswerData::none())
}

/// `set_auto_compaction`.
pub(super) async fn auto_compaction(dialect: &OmpDialect, switch: Switch) -> CommandOutcome {
    dialect
        .session()
        .set_auto_compaction(switch.enabled)
        .await?;
    Ok(AnswerData::none())
}

/// `set_auto_retry`.
pub(super) async fn auto_retry(dialect: &OmpDialect, switch: Switch) -> CommandOutcome {
    dialect.session().set_auto_retry(switch.enabled).await?;
    Ok(AnswerData::none())
}

/// `set_fast_mode`: no model here has such a mode, so it can only be left.
pub(super) fn fast_mode(on: &Switch) -> CommandOutcome {
    #[derive(Serialize)]
    struct FastMode {
        enabled: bool,
        active: bool,
    }
    if on.enabled {
        let why = "Fast mode is unavailable for the current model.";
        return Err(CommandFailure::new(why));
    }
    AnswerData::of(&FastMode {
        enabled: false,
        active: false,
    })
}

/// `set_todos`.
pub(super) async fn todos(dialect: &OmpDialect, todos: SetTodos) -> CommandOutcome {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Todos {
        todo_phases: Vec<TodoPhase>,
    }
    dialect.session().set_plan(plan_of(&todos.phases)).await?;
    AnswerData::of(&Todos {
        todo_phases: todos.phases,
    })
}

fn queue_mode(mode: &Mode) -> Result<QueueMode, CommandFailure> {
    QueueMode::parse(&mode.mode).ok_or_else(|| unknown(&mode.mode, "all or one-at-a-time"))
}

fn unknown(mode: &str, known: &str) -> CommandFailure {
    CommandFailure::new(format!("unknown mode `{mode}`: use {known}"))
}
