//! Looking at things (section 9.2).

use stentor_agent::event::CommandSource;
use stentor_agent::session::{SessionState, SessionStats};
use stentor_wire::edn::{EdnWriter, Keyword, WriteEdn};
use stentor_wire::eql;
use stentor_wire::psi::ErrorCode;

use crate::psi::connection::{Ask, Connection, Done, Handled, session_error};
use crate::psi::eql::Engine;
use crate::psi::item::OpError;
use crate::psi::live::{Live, View};
use crate::psi::payload::{self, context, message, model::ModelRef, session};

pub(in crate::psi) async fn query_eql(connection: &mut Connection, ask: &Ask<'_>) -> Handled {
    let text = ask.params.filled("query")?;
    let query = eql::parse(text)
        .map_err(|error| OpError::new(ErrorCode::InvalidQuery, error.to_string()))?;
    let live = connection.target(ask).await?;
    let entity = ask.params.text("entity")?.and_then(eql::parse_entity);
    let mut engine = Engine::new(&connection.shared, connection.focus.clone());
    let result = engine
        .answer(&query, entity.unwrap_or_default(), &live)
        .await;
    let result = result.map_err(|error| OpError::new(ErrorCode::QueryFailed, error.to_string()))?;
    let mut data = Vec::new();
    EdnWriter::for_query_result(&mut data).map(|data| {
        data.field("result", &result);
    });
    Done::data(data).of(&live).into()
}

pub(in crate::psi) async fn get_state(connection: &mut Connection, ask: &Ask<'_>) -> Handled {
    let live = connection.target(ask).await?;
    let failed = |error: stentor_agent::session::SessionError| {
        OpError::new(ErrorCode::QueryFailed, error.to_string())
    };
    let view = live.view().await.map_err(failed)?;
    let book = live.session.slash().book();
    let data = payload::map(|data| {
        data.key("state").map(|state| {
            write_state(state, &live, &view);
            state.key("skills").vector(|list| {
                for skill in &book.skills {
                    list.map(|map| {
                        map.field("name", &skill.name)
                            .field("description", &skill.description);
                    });
                }
            });
            state.key("prompt-templates");
            session::write_templates(state, &book, false);
        });
    });
    Done::data(data).of(&live).into()
}

fn write_state(writer: &mut EdnWriter<'_>, live: &Live, view: &View) {
    let state = &view.state;
    let phase = live.phase();
    writer
        .field("session-id", &*live.id)
        .field("session-file", &view.file())
        .field("session-name", &state.name)
        .field("worktree-path", &*live.cwd.to_string_lossy())
        .field("parent-session-id", &live.parent.as_deref())
        .field("parent-session-path", &live.parent_path)
        .field("model", &state.model.as_deref().map(ModelRef))
        .field("thinking-level", &Keyword(state.thinking.as_str()))
        .field("is-streaming", &is_streaming(state))
        .field("is-compacting", &state.is_compacting)
        .field("interrupt-pending", &state.interrupt_pending)
        .field("steering-messages", &state.queues.steering)
        .field("follow-up-messages", &state.queues.follow_up)
        .field("retry-attempt", &state.retry_attempt)
        .field("auto-retry-enabled", &state.auto_retry)
        .field("auto-compaction-enabled", &state.auto_compaction)
        .key("scoped-models")
        .vector(|list| {
            for model in &state.scoped_models {
                list.value(&ModelRef(model));
            }
        })
        .field("context-tokens", &state.context.tokens)
        .field("context-window", &state.context.window)
        .field("phase", &Keyword(phase.name()))
        .field("message-count", &state.message_count)
        .field_if_some(
            "sandbox",
            state.sandbox.to_tell().map(ToString::to_string).as_ref(),
        )
        .field("ui-type", &Keyword("emacs"));
}

fn is_streaming(state: &SessionState) -> bool {
    state.is_running && !state.is_compacting
}

pub(in crate::psi) async fn get_messages(connection: &mut Connection, ask: &Ask<'_>) -> Handled {
    let live = connection.target(ask).await?;
    let messages = live.session.messages().await.map_err(session_error)?;
    Done::data(payload::map(|data| {
        data.key("messages");
        message::write_messages(data, &messages);
    }))
    .of(&live)
    .into()
}

pub(in crate::psi) async fn get_session_stats(
    connection: &mut Connection,
    ask: &Ask<'_>,
) -> Handled {
    let live = connection.target(ask).await?;
    let state = live.session.state().await.map_err(session_error)?;
    let stats = live.session.stats().await.map_err(session_error)?;
    let (_, entries) = live.session.entries().await.map_err(session_error)?;
    let extensions = live.commands_of(CommandSource::Extension).len();
    let data = payload::map(|data| {
        data.key("stats").map(|map| {
            write_stats(map, &live, &state, &stats);
            map.field("extension-count", &extensions)
                .field("workflow-count", &0)
                .field("workflow-running-count", &0)
                .field("journal-entries", &entries.len());
        });
    });
    Done::data(data).of(&live).into()
}

fn write_stats(
    writer: &mut EdnWriter<'_>,
    live: &Live,
    state: &SessionState,
    stats: &SessionStats,
) {
    let phase = live.phase();
    let usage = &stats.total_usage;
    writer
        .field("phase", &Keyword(phase.name()))
        .field("session-id", &*live.id)
        .field("is-idle", &!state.is_running)
        .field("is-streaming", &is_streaming(state))
        .field("is-compacting", &state.is_compacting)
        .field("is-retrying", &(state.retry_attempt > 0))
        .field("model", &state.model.as_deref().map(ModelRef))
        .field("thinking-level", &Keyword(state.thinking.as_str()))
        .field(
            "pending-messages",
            &(state.queues.steering.len() + state.queues.follow_up.len()),
        )
        .field("retry-attempt", &state.retry_attempt)
        .field("auto-retry-enabled", &state.auto_retry)
        .field("auto-compaction-enabled", &state.auto_compaction)
        .field("context-fraction", &context_fraction(state))
        .key("agent-diagnostics")
        .map(|map| {
            map.field("user-messages", &stats.user_messages)
                .field("assistant-messages", &stats.assistant_messages)
                .field("tool-calls", &stats.tool_calls)
                .field("tool-results", &stats.tool_results)
                .field("total-messages", &stats.total_messages)
                .field("model-calls", &stats.total_turns)
                .field("input-tokens", &usage.input)
                .field("output-tokens", &usage.output)
                .field("cache-read-tokens", &usage.cache_read)
                .field("cache-write-tokens", &usage.cache_write)
                .field("total-tokens", &usage.total_tokens)
                .field("cost", &usage.cost.total);
        });
}

/// How full the context is, between zero and one.
pub(in crate::psi) fn context_fraction(state: &SessionState) -> Option<f64> {
    let window = Some(state.context.window).filter(|window| *window > 0)?;
    Some(state.context.tokens? as f64 / window as f64)
}

pub(in crate::psi) async fn list_sessions(connection: &mut Connection, ask: &Ask<'_>) -> Handled {
    let live = connection.target(ask).await?;
    let list = context::SessionList {
        active: connection.focus.as_ref().map(|live| live.id.clone()),
        slots: context::slots(&connection.shared).await,
    };
    Done::data(payload::form(|data| list.write_edn(data)))
        .of(&live)
        .into()
}
