//! `session/updated` (section 10.1).

use std::sync::Arc;

use stentor_agent::commands::CommandBook;
use stentor_agent::session::SessionError;
use stentor_wire::edn::{EdnWriter, Keyword, WriteEdn};

use super::model;
use crate::psi::live::{Live, Phase, RetryWait, View};
use crate::psi::slash;

/// A session as it is.
pub(in crate::psi) struct SessionUpdated {
    phase: Phase,
    view: View,
    book: Arc<CommandBook>,
    extension_commands: Vec<String>,
}

impl SessionUpdated {
    pub async fn look(live: &Live) -> Result<Self, SessionError> {
        let view = live.view().await?;
        Ok(Self {
            phase: live.phase(),
            view,
            book: live.session.slash().book(),
            extension_commands: live.further_commands(),
        })
    }
}

impl WriteEdn for SessionUpdated {
    fn write_edn(&self, writer: &mut EdnWriter<'_>) {
        let state = &self.view.state;
        let phase = &self.phase;
        let is_streaming = phase.running;
        let model = state.model.as_deref();
        let level = state.thinking;
        writer.map(|data| {
            data.field("session-id", &*state.id)
                .field("session-file", &self.view.file())
                .field("session-name", &state.name)
                .field("session-display-name", &self.view.display_name())
                .field("phase", phase.name())
                .field("is-streaming", &is_streaming)
                .field("is-compacting", &phase.compacting)
                .field("pending-message-count", &phase.waiting)
                .field("retry-attempt", &phase.retry_attempt())
                .key("retry");
            match &phase.retry {
                Some(retry) => write_retry(data, retry),
                None => {
                    data.nil();
                }
            }
            let deadline = phase.retry.as_ref().map(|retry| retry.resume_at_ms);
            data.field("retry-deadline-ms", &deadline)
                .field("interrupt-pending", &phase.interrupting)
                .field("model-provider", &model.map(|model| &*model.provider))
                .field("model-id", &model.map(|model| &*model.id))
                .field(
                    "model-reasoning",
                    &model.is_some_and(|model| model.reasoning),
                )
                .field("thinking-level", level.as_str())
                .field("effective-reasoning-effort", &model::effort(model, level))
                .field(
                    "header-model-label",
                    &model.map(|model| model::label(model, level)),
                )
                .field("status-session-line", &status_line(&state.id, phase))
                .field("extension-command-names", &self.extension_commands)
                .key("prompt-templates");
            write_templates(data, &self.book, false);
            data.key("builtin-command-specs");
            write_builtins(data);
        });
    }
}

fn write_retry(writer: &mut EdnWriter<'_>, retry: &RetryWait) {
    writer.map(|map| {
        map.field("active?", &true)
            .field("attempt", &retry.attempt)
            .field("delay-ms", &retry.delay_ms)
            .field("delay-source", &Keyword(retry.source()))
            .field("resume-at", &retry.resume_at_ms);
        if let Some(limit) = &retry.rate_limit {
            map.key("rate-limit").map(|map| {
                map.field("remaining", &limit.remaining)
                    .field("limit", &limit.limit)
                    .field("reset-at", &limit.reset_at_ms);
            });
        }
    });
}

/// The templates: with their text, or only what completion needs.
pub(in crate::psi) fn write_templates(
    writer: &mut EdnWriter<'_>,
    book: &CommandBook,
    with_text: bool,
) {
    writer.vector(|list| {
        for template in &book.templates {
            list.map(|map| {
                map.field("name", &template.name)
                    .field("description", &template.description);
                if with_text {
                    map.field("content", &template.content)
                        .field("source", &Keyword(template.origin.as_str()))
                        .field("file-path", &*template.path.to_string_lossy());
                }
            });
        }
    });
}

fn write_builtins(writer: &mut EdnWriter<'_>) {
    writer.vector(|list| {
        for (name, description) in slash::BUILTINS {
            list.map(|map| {
                map.field("name", *name).field("description", *description);
            });
        }
    });
}

fn status_line(id: &str, phase: &Phase) -> String {
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
