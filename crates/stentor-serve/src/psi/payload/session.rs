//! What is known of a session: the tables that queries and answers read it from, and
//! `session/updated` (section 10.1); models and how long they think (sections 11.2 and 15).

use std::path::PathBuf;
use std::sync::Arc;

use stentor_agent::commands::CommandBook;
use stentor_agent::jobs::Job;
use stentor_agent::model::{ModelInfo, ThinkingLevel};
use stentor_agent::session::SessionStats;
use stentor_wire::edn::{EdnWriter, Keyword, Value, WriteEdn};

use crate::psi::eql::graph::OF_SESSION;
use crate::psi::eql::table::{Fact, FactTable, path, strings, value_of, vector, written};
use crate::psi::jobs::ShownJob;
use crate::psi::live::{Commands, LiveSnapshot, PsiSession, RetryWait, SessionPhase};
use crate::psi::shared::PsiShared;
use crate::psi::slash::BUILTINS;

/// A session where its events have come to.
pub struct SessionUpdated {
    pub facts: SessionFacts,
    pub commands: Commands,
}

impl WriteEdn for SessionUpdated {
    fn write_edn(&self, writer: &mut EdnWriter<'_>) {
        let (facts, phase) = (&self.facts, &self.facts.phase);
        let state = &facts.view.state;
        let label = state.model.as_deref();
        let label = label.map(|info| self::label(info, state.thinking));
        let retry = phase.retry.as_ref();
        let names = self.commands.further_names();
        writer.map(|data| {
            let head = "session-id session-file session-name session-display-name";
            SESSION.write(data, facts, head);
            data.field("phase", phase.name());
            let activity = "is-streaming is-compacting pending-message-count retry-attempt";
            SESSION.write(data, facts, activity);
            data.field("retry", &retry)
                .field("retry-deadline-ms", &retry.map(|retry| retry.resume_at_ms));
            let model = "interrupt-pending model-provider model-id model-reasoning";
            SESSION.write(data, facts, model);
            data.field("thinking-level", state.thinking.as_str());
            SESSION.write(data, facts, "effective-reasoning-effort");
            data.field("header-model-label", &label)
                .field("status-session-line", &status_line(&state.id, phase))
                .field("extension-command-names", &names)
                .key("prompt-templates");
            write_templates(data, &self.commands.book, false);
            COMMANDS.write(data, &self.commands, "builtin-command-specs");
        });
    }
}

impl WriteEdn for RetryWait {
    fn write_edn(&self, writer: &mut EdnWriter<'_>) {
        // What the length of the wait comes from.
        let source = match self.asked_for {
            true => "retry-after",
            false => "exponential-backoff",
        };
        writer.map(|map| {
            map.field("active?", &true)
                .field("attempt", &self.attempt)
                .field("delay-ms", &self.delay_ms)
                .field("delay-source", &Keyword(source))
                .field("resume-at", &self.resume_at_ms);
            if let Some(limit) = &self.rate_limit {
                map.key("rate-limit").map(|map| {
                    map.field("remaining", &limit.remaining)
                        .field("limit", &limit.limit)
                        .field("reset-at", &limit.reset_at_ms);
                });
            }
        });
    }
}

/// The templates: with their text, or only what completion needs.
pub fn write_templates(writer: &mut EdnWriter<'_>, book: &CommandBook, with_text: bool) {
    writer.maps(&book.templates, |map, template| {
        map.field("name", &template.name)
            .field("description", &template.description);
        if with_text {
            map.field("content", &template.content)
                .field("source", &Keyword(template.origin.as_str()))
                .field("file-path", &*template.path.to_string_lossy());
        }
    });
}

fn status_line(id: &str, phase: &SessionPhase) -> String {
    let yes = |is: bool| if is { "yes" } else { "no" };
    let mut line = format!(
        "session: {id} phase:{} streaming:{} compacting:{} pending:{} retry:{}",
        phase.name(),
        yes(phase.running),
        yes(phase.compacting),
        phase.waiting,
        phase.retry_attempt(),
    );
    if let Some(retry) = &phase.retry {
        line.push_str(&format!(" retry-delay-ms:{}", retry.delay_ms));
    }
    line
}

/// A model as the wire names one: provider and id.
pub fn model_ref(model: &ModelInfo) -> Value<'static> {
    let (provider, id) = (model.provider.clone(), model.id.clone());
    Value::map([("provider", provider.into()), ("id", id.into())])
}

/// A model as the catalogue lists it.
pub fn catalog_entry(model: &ModelInfo) -> Value<'static> {
    Value::map([
        ("provider", model.provider.clone().into()),
        ("id", model.id.clone().into()),
        ("name", model.name.clone().into()),
        ("reasoning", model.reasoning.into()),
    ])
}

/// The catalogue.
pub fn catalog(models: &[Arc<ModelInfo>]) -> Value<'static> {
    vector(models, |model| catalog_entry(model))
}

/// The effort that a level means for a model; none when it does not think. The highest level is
/// only told of models that have it (section 19).
pub fn effort(model: Option<&ModelInfo>, level: ThinkingLevel) -> Option<&'static str> {
    let model = model.filter(|model| model.reasoning)?;
    match level {
        ThinkingLevel::Off => None,
        ThinkingLevel::Xhigh if !model.levels().contains(&ThinkingLevel::Xhigh) => {
            Some(ThinkingLevel::High.as_str())
        }
        level => Some(level.as_str()),
    }
}

/// `(provider) id`, and how long it thinks if it can.
pub fn label(model: &ModelInfo, level: ThinkingLevel) -> String {
    let mut label = format!("({}) {}", model.provider, model.id);
    if model.reasoning {
        label.push_str(" • thinking ");
        label.push_str(effort(Some(model), level).unwrap_or(level.as_str()));
    }
    label
}

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
        Fact("session-display-name", |f| f.view.display_name.clone().into()),
        Fact("worktree-path", |f| path(&f.live.origin.cwd)),
        Fact("parent-session-id", |f| f.live.origin.parent.as_deref().map(str::to_owned).into()),
        Fact("parent-session-path", |f| f.live.origin.parent_path.clone().into()),
        Fact("phase", |f| Value::keyword(f.phase.name())),
        Fact("is-streaming", |f| f.activity.running.into()),
        Fact("is-compacting", |f| f.activity.compacting.into()),
        Fact("is-idle", |f| (!f.view.state.is_running).into()),
        Fact("interrupt-pending", |f| f.activity.interrupting.into()),
        Fact("model", |f| f.model().map(model_ref).into()),
        Fact("model-provider", |f| f.model().map(|model| model.provider.clone()).into()),
        Fact("model-id", |f| f.model().map(|model| model.id.clone()).into()),
        Fact("model-reasoning", |f| f.model().is_some_and(|model| model.reasoning).into()),
        Fact("thinking-level", |f| Value::keyword(f.view.state.thinking.as_str())),
        Fact("effective-reasoning-effort", |f| {
            effort(f.model(), f.view.state.thinking).into()
        }),
        Fact("pending-message-count", |f| f.activity.waiting.into()),
        Fact("has-pending-messages", |f| (f.activity.waiting > 0).into()),
        Fact("steering-messages", |f| strings(&f.view.state.queues.steering)),
        Fact("follow-up-messages", |f| strings(&f.view.state.queues.follow_up)),
        Fact("retry-attempt", |f| f.retry_attempt.into()),
        Fact("auto-retry-enabled", |f| f.view.state.auto_retry.into()),
        Fact("auto-compaction-enabled", |f| f.view.state.auto_compaction.into()),
        Fact("scoped-models", |f| vector(&f.view.state.scoped_models, |model| model_ref(model))),
        Fact("context-tokens", |f| f.view.state.context.tokens.into()),
        Fact("context-window", |f| f.view.state.context.window.into()),
        Fact("context-fraction", |f| f.view.context_fraction().into()),
        Fact("sandbox", |f| f.view.state.sandbox.to_string().into()),
        Fact("rpc-trace-enabled", |f| f.trace_file.is_some().into()),
        Fact("rpc-trace-file", |f| f.trace_file.as_deref().map(path).into()),
        Fact("ui-type", |_| Value::keyword("emacs")),
    ],
};

#[rustfmt::skip]
pub static STATISTICS: FactTable<SessionStats> = FactTable {
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
                    ("file-path", path(&skill.path)),
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
pub static JOBS: FactTable<(Vec<Job>, Arc<str>)> = FactTable {
    symbol: "psi.agent-session/background-jobs",
    domain: "agent-session",
    input: OF_SESSION,
    namespace: "psi.agent-session",
    facts: &[Fact("background-jobs", |(jobs, session_id)| {
        value_of(&ShownJob::all(jobs, session_id))
    })],
};
