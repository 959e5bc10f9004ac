//! Looking at things (section 9.2).

use stentor_agent::event::CommandSource;
use stentor_wire::edn::EdnWriter;
use stentor_wire::eql;
use stentor_wire::psi::ErrorCode;

use crate::psi::eql::Engine;
use crate::psi::error::OpError;
use crate::psi::ops::navigation;
use crate::psi::payload::session::{self, SESSION, STATISTICS, SessionFacts};
use crate::psi::payload::{self, context, message::Messages};
use crate::psi::request::{OpCall, OpDone, OpResult};

pub async fn query_eql(call: &mut OpCall<'_>) -> OpResult {
    let text = call.params.filled("query")?;
    let query = eql::parse(text)
        .map_err(|error| OpError::new(ErrorCode::InvalidQuery, error.to_string()))?;
    let live = call.target().await?;
    let entity = call.params.text("entity")?.and_then(eql::parse_entity);
    let mut engine = Engine::new(call.shared(), call.connection.focus.clone());
    let entity = entity.unwrap_or_default();
    let result = engine.answer(&query, entity, &live).await;
    let result = result.map_err(|error| OpError::new(ErrorCode::QueryFailed, error.to_string()))?;
    let mut data = Vec::new();
    EdnWriter::for_query_result(&mut data).map(|data| {
        data.field("result", &result);
    });
    OpDone::data(data).of(&live).into()
}

pub async fn get_state(call: &mut OpCall<'_>) -> OpResult {
    let live = call.target().await?;
    let view = live.view(false).await;
    let view = view.map_err(|error| OpError::new(ErrorCode::QueryFailed, error.to_string()))?;
    let facts = SessionFacts::now(call.shared(), &live, view);
    let state = &facts.view.state;
    let sandbox = state.sandbox.to_report().map(ToString::to_string);
    let book = live.book().await;
    let data = payload::map(|data| {
        data.key("state").map(|map| {
            let head = "session-id session-file session-name worktree-path parent-session-id \
                        parent-session-path model thinking-level is-streaming is-compacting \
                        interrupt-pending steering-messages follow-up-messages retry-attempt \
                        auto-retry-enabled auto-compaction-enabled scoped-models context-tokens \
                        context-window phase";
            SESSION.write(map, &facts, head);
            map.field("message-count", &state.message_count)
                .field_if_some("sandbox", sandbox.as_ref());
            navigation::write_cursor(map, &live, None);
            SESSION.write(map, &facts, "ui-type");
            map.key("skills").maps(&book.skills, |map, skill| {
                map.field("name", &skill.name)
                    .field("description", &skill.description);
            });
            map.key("prompt-templates");
            session::write_templates(map, &book, false);
        });
    });
    OpDone::data(data).of(&live).into()
}

pub async fn get_messages(call: &mut OpCall<'_>) -> OpResult {
    let live = call.target().await?;
    let messages = live.session.messages().await?;
    OpDone::map(&[("messages", &Messages(&messages))])
        .of(&live)
        .into()
}

pub async fn get_session_stats(call: &mut OpCall<'_>) -> OpResult {
    let live = call.target().await?;
    let stats = live.session.stats().await?;
    let (_, entries) = live.session.entries().await?;
    let facts = SessionFacts::now(call.shared(), &live, live.view(false).await?);
    let extensions = live.commands().await.of(CommandSource::Extension).count();
    let state = &facts.view.state;
    let data = payload::map(|data| {
        data.key("stats").map(|map| {
            let head = "phase session-id is-idle is-streaming is-compacting";
            SESSION.write(map, &facts, head);
            map.field("is-retrying", &(state.retry_attempt > 0));
            SESSION.write(map, &facts, "model thinking-level");
            map.field("pending-messages", &facts.activity.waiting);
            let rest = "retry-attempt auto-retry-enabled auto-compaction-enabled context-fraction";
            SESSION.write(map, &facts, rest);
            map.key("agent-diagnostics").map(|map| {
                let counts = "user-messages=user-message-count \
                    assistant-messages=assistant-message-count tool-calls=tool-call-count \
                    tool-results=tool-result-count total-messages=message-count \
                    model-calls=model-call-count input-tokens=usage-input \
                    output-tokens=usage-output cache-read-tokens=usage-cache-read \
                    cache-write-tokens=usage-cache-write";
                STATISTICS.write(map, &stats, counts);
                map.field("total-tokens", &stats.total_usage.total_tokens);
                STATISTICS.write(map, &stats, "cost=usage-cost-total");
            });
            map.field("extension-count", &extensions)
                .field("workflow-count", &0)
                .field("workflow-running-count", &0)
                .field("journal-entries", &entries.len());
        });
    });
    OpDone::data(data).of(&live).into()
}

pub async fn list_sessions(call: &mut OpCall<'_>) -> OpResult {
    let live = call.target().await?;
    let slots = context::slots(call.shared()).await;
    let active = call.connection.focus.as_ref().map(|live| &*live.id);
    let data = payload::map(|data| {
        data.field("active-session-id", &active)
            .key("sessions")
            .maps(&slots, context::write_listed);
    });
    OpDone::data(data).of(&live).into()
}
