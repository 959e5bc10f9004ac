//! `footer/updated` (sections 10.16 and 15).

use std::path::Path;

use stentor_journal::usage::Usage;
use stentor_wire::edn::{EdnWriter, WriteEdn};

use super::context::{slots_as_they_came, sorted_by_tree};
use super::model;
use crate::psi::git;
use crate::psi::live::{Live, RetryWait, View};
use crate::psi::shared::Shared;
use crate::psi::text;

/// The states of sessions, in the order they are shown.
const STATES: [&str; 4] = ["waiting", "running", "retrying", "compacting"];

/// What stands below the transcript.
pub(in crate::psi) struct Footer {
    session_id: String,
    path_line: String,
    usage_parts: Vec<String>,
    model_text: String,
    status_line: Option<String>,
    buckets: Vec<(&'static str, Vec<String>)>,
}

impl Footer {
    /// `None` when what the session consumed cannot be read.
    pub async fn look(shared: &Shared, live: &Live, view: &View) -> Option<Self> {
        let usage = view.stats.as_ref()?.total_usage;
        Some(Self {
            session_id: live.id.to_string(),
            path_line: path_line(live, shared.options.home.as_deref(), view).await,
            usage_parts: usage_parts(&usage, view),
            model_text: model_text(view),
            status_line: status_line(shared, live),
            buckets: buckets(shared).await,
        })
    }
}

impl WriteEdn for Footer {
    fn write_edn(&self, writer: &mut EdnWriter<'_>) {
        let stats = format!("{} {}", self.usage_parts.join(" "), self.model_text);
        let activity: Vec<String> = self
            .buckets
            .iter()
            .map(|(state, labels)| format!("{state} {}", labels.join(", ")))
            .collect();
        let activity =
            (!activity.is_empty()).then(|| format!("sessions: {}", activity.join(" · ")));
        writer.map(|data| {
            data.field("session-id", &self.session_id)
                .field("path-line", &self.path_line)
                .field("stats-line", &stats)
                .field("status-line", &self.status_line)
                .field("usage-parts", &self.usage_parts)
                .field("model-text", &self.model_text)
                .field("session-activity-line", &activity)
                .key("session-activity-buckets")
                .vector(|list| {
                    for (state, labels) in &self.buckets {
                        list.map(|map| {
                            map.field("state", *state).field("labels", labels);
                        });
                    }
                });
        });
    }
}

async fn path_line(live: &Live, home: Option<&Path>, view: &View) -> String {
    let cwd = &live.cwd;
    let mut line = match home.and_then(|home| cwd.strip_prefix(home).ok()) {
        Some(rest) if rest.as_os_str().is_empty() => "~".to_owned(),
        Some(rest) => format!("~/{}", rest.display()),
        None => cwd.display().to_string(),
    };
    if let Some(branch) = git::branch_label(git::project_of(&live.session, cwd)).await {
        line.push_str(&format!(" ({branch})"));
    }
    if let Some(name) = view.display_name() {
        line.push_str(&format!(" • {name}"));
    }
    line
}

fn usage_parts(usage: &Usage, view: &View) -> Vec<String> {
    let mut parts = Vec::new();
    for (sign, count) in [
        ("↑", usage.input),
        ("↓", usage.output),
        ("CR", usage.cache_read),
        ("CW", usage.cache_write),
    ] {
        if count > 0 {
            parts.push(format!("{sign}{}", text::tokens(count)));
        }
    }
    if usage.cost.is_unknown {
        parts.push(format!("${:.3}+?", usage.cost.total));
    } else if usage.cost.total > 0.0 {
        parts.push(format!("${:.3}", usage.cost.total));
    }
    let context = view.state.context;
    let window = text::tokens(context.window);
    let mut part = match context.tokens.filter(|_| context.window > 0) {
        Some(tokens) => {
            let percent = tokens as f64 * 100.0 / context.window as f64;
            format!("{percent:.1}%/{window}")
        }
        None => format!("?/{window}"),
    };
    if view.state.auto_compaction {
        part.push_str(" (auto)");
    }
    parts.push(part);
    parts
}

fn model_text(view: &View) -> String {
    match view.state.model.as_deref() {
        Some(info) => model::label(info, view.state.thinking),
        None => "(no-provider) no-model".to_owned(),
    }
}

fn status_line(shared: &Shared, live: &Live) -> Option<String> {
    let mut parts: Vec<String> = shared
        .ui()
        .statuses(&live.id)
        .map(|(_, status)| text::collapsed(status))
        .filter(|status| !status.is_empty())
        .collect();
    if let Some(retry) = live.phase().retry {
        parts.push(retry_line(&retry, shared.clock().now_ms()));
    }
    (!parts.is_empty()).then(|| parts.join(" "))
}

/// `retry in <n>s · remaining <a>/<b> · reset in <m>s`, as far as it is known.
fn retry_line(retry: &RetryWait, now_ms: u64) -> String {
    let seconds = |at_ms: u64| at_ms.saturating_sub(now_ms).div_ceil(1000);
    let mut parts = vec![format!("retry in {}s", seconds(retry.resume_at_ms))];
    let limit = retry.rate_limit.unwrap_or_default();
    if let Some(remaining) = limit.remaining {
        let of = limit
            .limit
            .map_or("?".to_owned(), |limit| limit.to_string());
        parts.push(format!("remaining {remaining}/{of}"));
    }
    if let Some(reset_at_ms) = limit.reset_at_ms {
        parts.push(format!("reset in {}s", seconds(reset_at_ms)));
    }
    parts.join(" · ")
}

/// Which sessions are in which state; nothing for a lone session.
async fn buckets(shared: &Shared) -> Vec<(&'static str, Vec<String>)> {
    if shared.known().len() < 2 {
        return Vec::new();
    }
    let slots = slots_as_they_came(shared).await;
    let mut labelled = Vec::with_capacity(slots.len());
    for slot in sorted_by_tree(&slots) {
        let name = slot.display_name.clone();
        let label = name.unwrap_or_else(|| slot.short_id().to_owned());
        labelled.push((slot.runtime_state, label));
    }
    STATES
        .into_iter()
        .filter_map(|state| {
            let labels: Vec<String> = labelled
                .iter()
                .filter(|(of, _)| *of == state)
                .map(|(_, label)| label.clone())
                .collect();
            (!labels.is_empty()).then_some((state, labels))
        })
        .collect()
}
