//! A session: its state, its numbers, its commands, its jobs.

use std::path::PathBuf;
use std::sync::Arc;

use stentor_agent::jobs::Job;
use stentor_agent::model::ModelInfo;
use stentor_agent::session::SessionStats;
use stentor_wire::edn::Value;

use super::graph::OF_SESSION;
use super::table::{Fact, FactTable, strings, value_of, vector, written};
use crate::psi::live::{Commands, LiveSnapshot, PsiSession, SessionPhase};
use crate::psi::payload::job::ShownJob;
use crate::psi::payload::model::{self, ModelRef};
use crate::psi::payload::session::write_templates;
use crate::psi::shared::PsiShared;
use crate::psi::slash::BUILTINS;

/// A session at one moment.
pub struct SessionFacts {
    pub live: Arc<PsiSession>,
    pub view: LiveSnapshot,
    pub phase: SessionPhase,
    /// What it is doing: as its events say, in snapshots that stand among them, or as it says itself
    /// when it is asked.
    pub activity: SessionPhase,
    retry_attempt: u32,
    trace_file: Option<PathBuf>,
}

impl SessionFacts {
    /// As the session is now.
    pub fn now(shared: &PsiShared, live: &Arc<PsiSession>, view: LiveSnapshot) -> Self {
        let state = &view.state;
        let retry_attempt = state.retry_attempt;
        let activity = SessionPhase {
            running: state.is_running && !state.is_compacting,
            compacting: state.is_compacting,
            interrupting: state.interrupt_pending,
            waiting: state.queues.steering.len() + state.queues.follow_up.len(),
            retry: None,
        };
        Self {
            activity,
            retry_attempt,
            ..Self::among_events(shared, live, view)
        }
    }

    /// As it is where its events have come to.
    pub fn among_events(shared: &PsiShared, live: &Arc<PsiSession>, view: LiveSnapshot) -> Self {
        let phase = live.phase();
        Self {
            live: Arc::clone(live),
            view,
            activity: phase.clone(),
            retry_attempt: phase.retry_attempt(),
            phase,
            trace_file: shared.options.trace_file.clone(),
        }
    }

    fn model(&self) -> Option<&ModelInfo> {
        self.view.state.model.as_deref()
    }
}

#[rustfmt::skip]
pub static SESSION: FactTable<SessionFacts> = FactTable {
    symbol: "psi.agent-session/session",
    domain: "agent-session",
    input: OF_SESSION,
    namespace: "psi.agent-session",
    facts: &[
        Fact("session-id", |f| f.live.id.to_string().into()),
        Fact("session-file", |f| f.view.file().into()),
        Fact("session-name", |f| f.view.state.name.clone().into()),
        Fact("session-display-name", |f| f.view.display_name().into()),
        Fact("worktree-path", |f| text(&f.live.origin.cwd)),
        Fact("parent-session-id", |f| f.live.origin.parent.as_deref().map(str::to_owned).into()),
        Fact("parent-session-path", |f| f.live.origin.parent_path.clone().into()),
        Fact("phase", |f| Value::keyword(f.phase.name())),
        Fact("is-streaming", |f| f.activity.running.into()),
        Fact("is-compacting", |f| f.activity.compacting.into()),
        Fact("is-idle", |f| (!f.view.state.is_running).into()),
        Fact("interrupt-pending", |f| f.activity.interrupting.into()),
        Fact("model", |f| f.model().map_or(Value::Nil, |model| value_of(&ModelRef(model)))),
        Fact("model-provider", |f| f.model().map(|model| model.provider.clone()).into()),
        Fact("model-id", |f| f.model().map(|model| model.id.clone()).into()),
        Fact("model-reasoning", |f| f.model().is_some_and(|model| model.reasoning).into()),
        Fact("thinking-level", |f| Value::keyword(f.view.state.thinking.as_str())),
        Fact("effective-reasoning-effort", |f| {
            model::effort(f.model(), f.view.state.thinking).into()
        }),
        Fact("pending-message-count", |f| f.activity.waiting.into()),
        Fact("has-pending-messages", |f| (f.activity.waiting > 0).into()),
        Fact("steering-messages", |f| strings(&f.view.state.queues.steering)),
        Fact("follow-up-messages", |f| strings(&f.view.state.queues.follow_up)),
        Fact("retry-attempt", |f| f.retry_attempt.into()),
        Fact("auto-retry-enabled", |f| f.view.state.auto_retry.into()),
        Fact("auto-compaction-enabled", |f| f.view.state.auto_compaction.into()),
        Fact("scoped-models", |f| {
            vector(&f.view.state.scoped_models, |model| {
                value_of(&ModelRef(model))
            })
        }),
        Fact("context-tokens", |f| f.view.state.context.tokens.into()),
        Fact("context-window", |f| f.view.state.context.window.into()),
        Fact("context-fraction", |f| f.view.context_fraction().into()),
        Fact("sandbox", |f| f.view.state.sandbox.to_string().into()),
        Fact("rpc-trace-enabled", |f| f.trace_file.is_some().into()),
        Fact("rpc-trace-file", |f| f.trace_file.as_deref().map_or(Value::Nil, text)),
        Fact("ui-type", |_| Value::keyword("emacs")),
    ],
};

#[rustfmt::skip]
pub(super) static STATISTICS: FactTable<SessionStats> = FactTable {
    symbol: "psi.agent-session/statistics",
    domain: "agent-session",
    input: OF_SESSION,
    namespace: "psi.agent-session",
    facts: &[
        Fact("usage-input", |stats| stats.total_usage.input.into()),
        Fact("usage-output", |stats| stats.total_usage.output.into()),
        Fact("usage-cache-read", |stats| stats.total_usage.cache_read.into()),
        Fact("usage-cache-write", |stats| stats.total_usage.cache_write.into()),
        Fact("usage-cost-total", |stats| stats.total_usage.cost.total.into()),
        Fact("message-count", |stats| stats.total_messages.into()),
        Fact("user-message-count", |stats| stats.user_messages.into()),
        Fact("assistant-message-count", |stats| stats.assistant_messages.into()),
        Fact("tool-call-count", |stats| stats.tool_calls.into()),
        Fact("tool-result-count", |stats| stats.tool_results.into()),
        Fact("model-call-count", |stats| stats.total_turns.into()),
    ],
};

#[rustfmt::skip]
pub static COMMANDS: FactTable<Commands> = FactTable {
    symbol: "psi.agent-session/commands",
    domain: "agent-session",
    input: OF_SESSION,
    namespace: "psi.agent-session",
    facts: &[
        Fact("psi.extension/command-names", |commands| strings(&commands.further_names())),
        Fact("prompt-templates", |commands| {
            written(|writer| write_templates(writer, &commands.book, true))
        }),
        Fact("skills", |commands| {
            vector(&commands.book.skills, |skill| {
                Value::map([
                    ("name", skill.name.clone().into()),
                    ("description", skill.description.clone().into()),
                    ("source", Value::keyword(skill.origin.as_str())),
                    ("file-path", text(&skill.path)),
                ])
            })
        }),
        Fact("builtin-command-specs", |_| {
            vector(BUILTINS, |builtin| {
                Value::map([
                    ("name", builtin.name.into()),
                    ("description", builtin.about.into()),
                ])
            })
        }),
    ],
};

/// The jobs of a session, and its id.
pub(super) static JOBS: FactTable<(Vec<Job>, Arc<str>)> = FactTable {
    symbol: "psi.agent-session/background-jobs",
    domain: "agent-session",
    input: OF_SESSION,
    namespace: "psi.agent-session",
    facts: &[Fact("background-jobs", |(jobs, session_id)| {
        value_of(&ShownJob::all(jobs, session_id))
    })],
};

fn text(path: impl AsRef<std::path::Path>) -> Value<'static> {
    path.as_ref().to_string_lossy().into_owned().into()
}
