//! A session: its state, its numbers, its commands, its jobs.

use std::sync::Arc;

use stentor_agent::session::SessionState;
use stentor_wire::edn::Value;

use super::{attributes, strings, value_of, written};
use crate::psi::eql::{EqlError, Known};
use crate::psi::live::Live;
use crate::psi::ops::reading::context_fraction;
use crate::psi::payload::job::ShownJob;
use crate::psi::payload::model::{self, ModelRef};
use crate::psi::payload::session::write_templates;
use crate::psi::shared::Shared;
use crate::psi::slash::BUILTINS;

pub(in crate::psi::eql) async fn session(
    shared: &Shared,
    live: &Arc<Live>,
) -> Result<Known, EqlError> {
    let view = live.view().await?;
    let state = &view.state;
    let model = state.model.as_deref();
    let waiting = state.queues.steering.len() + state.queues.follow_up.len();
    let phase = live.phase();
    let trace = shared.options.trace_file.as_ref();
    Ok(attributes(
        "psi.agent-session",
        [
            ("session-id", live.id.to_string().into()),
            ("session-file", view.file().into()),
            ("session-name", state.name.clone().into()),
            ("session-display-name", view.display_name().into()),
            (
                "worktree-path",
                live.cwd.to_string_lossy().into_owned().into(),
            ),
            (
                "parent-session-id",
                live.parent.as_ref().map(|id| id.to_string()).into(),
            ),
            ("parent-session-path", live.parent_path.clone().into()),
            ("phase", Value::keyword(phase.name())),
            (
                "is-streaming",
                (state.is_running && !state.is_compacting).into(),
            ),
            ("is-compacting", state.is_compacting.into()),
            ("is-idle", (!state.is_running).into()),
            ("interrupt-pending", state.interrupt_pending.into()),
            (
                "model",
                model.map_or(Value::Nil, |model| value_of(&ModelRef(model))),
            ),
            (
                "model-provider",
                model.map(|model| model.provider.clone()).into(),
            ),
            ("model-id", model.map(|model| model.id.clone()).into()),
            (
                "model-reasoning",
                model.is_some_and(|model| model.reasoning).into(),
            ),
            ("thinking-level", Value::keyword(state.thinking.as_str())),
            (
                "effective-reasoning-effort",
                model::effort(model, state.thinking).into(),
            ),
            ("pending-message-count", waiting.into()),
            ("has-pending-messages", (waiting > 0).into()),
            ("steering-messages", strings(&state.queues.steering)),
            ("follow-up-messages", strings(&state.queues.follow_up)),
            ("retry-attempt", state.retry_attempt.into()),
            ("auto-retry-enabled", state.auto_retry.into()),
            ("auto-compaction-enabled", state.auto_compaction.into()),
            ("scoped-models", scoped_models(state)),
            ("context-tokens", state.context.tokens.into()),
            ("context-window", state.context.window.into()),
            ("context-fraction", context_fraction(state).into()),
            ("rpc-trace-enabled", trace.is_some().into()),
            (
                "rpc-trace-file",
                trace.map(|path| path.to_string_lossy().into_owned()).into(),
            ),
            ("sandbox", state.sandbox.to_string().into()),
            ("ui-type", Value::keyword("emacs")),
        ],
    ))
}

fn scoped_models(state: &SessionState) -> Value<'static> {
    let models = state.scoped_models.iter();
    Value::Vector(models.map(|model| value_of(&ModelRef(model))).collect())
}

pub(in crate::psi::eql) async fn statistics(live: &Arc<Live>) -> Result<Known, EqlError> {
    let stats = live.session.stats().await?;
    let usage = stats.total_usage;
    Ok(attributes(
        "psi.agent-session",
        [
            ("usage-input", usage.input.into()),
            ("usage-output", usage.output.into()),
            ("usage-cache-read", usage.cache_read.into()),
            ("usage-cache-write", usage.cache_write.into()),
            ("usage-cost-total", usage.cost.total.into()),
            ("message-count", stats.total_messages.into()),
            ("user-message-count", stats.user_messages.into()),
            ("assistant-message-count", stats.assistant_messages.into()),
            ("tool-call-count", stats.tool_calls.into()),
            ("tool-result-count", stats.tool_results.into()),
            ("model-call-count", stats.total_turns.into()),
        ],
    ))
}

pub(in crate::psi::eql) fn commands(live: &Live) -> Known {
    let book = live.session.slash().book();
    let skills = book.skills.iter().map(|skill| {
        Value::map([
            ("name", skill.name.clone().into()),
            ("description", skill.description.clone().into()),
            ("source", Value::keyword(skill.origin.as_str())),
            (
                "file-path",
                skill.path.to_string_lossy().into_owned().into(),
            ),
        ])
    });
    let builtins = BUILTINS.iter().map(|(name, description)| {
        Value::map([
            ("name", Value::from(*name)),
            ("description", Value::from(*description)),
        ])
    });
    let mut known = attributes(
        "psi.agent-session",
        [
            (
                "prompt-templates",
                written(|writer| write_templates(writer, &book, true)),
            ),
            ("skills", Value::Vector(skills.collect())),
            ("builtin-command-specs", Value::Vector(builtins.collect())),
        ],
    );
    known.push(
        Value::keyword("psi.extension/command-names"),
        strings(&live.further_commands()),
    );
    known
}

pub(in crate::psi::eql) fn jobs(live: &Live) -> Known {
    let jobs = live.session.jobs().list();
    let shown = jobs.iter().map(|job| {
        value_of(&ShownJob {
            job,
            session_id: &live.id,
        })
    });
    attributes(
        "psi.agent-session",
        [("background-jobs", Value::Vector(shown.collect()))],
    )
}
