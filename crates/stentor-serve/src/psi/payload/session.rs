//! `session/updated` (section 10.1).

use stentor_agent::commands::CommandBook;
use stentor_wire::edn::{EdnWriter, Keyword, WriteEdn};

use super::model;
use crate::psi::eql::session::{COMMANDS, SESSION, SessionFacts};
use crate::psi::live::{Commands, RetryWait, SessionPhase};

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
        let label = label.map(|info| model::label(info, state.thinking));
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
