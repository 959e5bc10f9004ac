//! `footer/updated` (sections 10.16 and 15).

use std::path::Path;

use stentor_journal::usage::Usage;

use super::context::{Slot, slots_as_they_came, sorted_by_tree};
use super::session;
use crate::psi::live::{LiveSnapshot, PsiSession, RetryWait};
use crate::psi::payload;
use crate::psi::shared::PsiShared;
use crate::psi::text;

/// The states of sessions, in the order they are shown.
const STATES: [&str; 4] = ["waiting", "running", "retrying", "compacting"];

/// What stands below the transcript, written; `None` when what the session consumed cannot be read.
pub async fn footer(
    shared: &PsiShared,
    live: &PsiSession,
    view: &LiveSnapshot,
    branch: Option<&str>,
) -> Option<Vec<u8>> {
    let usage = usage_parts(&view.stats.as_ref()?.total_usage, view);
    let path_line = path_line(live, shared.options.home.as_deref(), branch, view);
    let model_text = model_text(view);
    let stats_line = format!("{} {model_text}", usage.join(" "));
    let buckets = buckets(shared).await;
    let activity = buckets.iter();
    let activity = activity.map(|(state, labels)| format!("{state} {}", labels.join(", ")));
    let activity = activity.collect::<Vec<_>>().join(" · ");
    let activity = (!activity.is_empty()).then(|| format!("sessions: {activity}"));
    Some(payload::map(|data| {
        data.field("session-id", &*live.id)
            .field("path-line", &path_line)
            .field("stats-line", &stats_line)
            .field("status-line", &status_line(shared, live))
            .field("usage-parts", &usage)
            .field("model-text", &model_text)
            .field("session-activity-line", &activity)
            .key("session-activity-buckets")
            .maps(&buckets, |map, (state, labels)| {
                map.field("state", *state).field("labels", labels);
            });
    }))
}

fn path_line(
    live: &PsiSession,
    home: Option<&Path>,
    branch: Option<&str>,
    view: &LiveSnapshot,
) -> String {
    let cwd = &live.origin.cwd;
    let mut line = match home.and_then(|home| cwd.strip_prefix(home).ok()) {
        Some(rest) if rest.as_os_str().is_empty() => "~".to_owned(),
        Some(rest) => format!("~/{}", rest.display()),
        None => cwd.display().to_string(),
    };
    if let Some(branch) = branch {
        line.push_str(&format!(" ({branch})"));
    }
    if let Some(name) = &view.display_name {
        line.push_str(&format!(" • {name}"));
    }
    line
}

fn usage_parts(usage: &Usage, view: &LiveSnapshot) -> Vec<String> {
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

fn model_text(view: &LiveSnapshot) -> String {
    match view.state.model.as_deref() {
        Some(info) => session::label(info, view.state.thinking),
        None => "(no-provider) no-model".to_owned(),
    }
}

fn status_line(shared: &PsiShared, live: &PsiSession) -> Option<String> {
    let statuses = shared.ui().panel(&live.id).statuses;
    let statuses = statuses.values().map(|status| text::collapsed(status));
    let mut parts: Vec<String> = statuses.filter(|status| !status.is_empty()).collect();
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
async fn buckets(shared: &PsiShared) -> Vec<(&'static str, Vec<String>)> {
    if shared.known().len() < 2 {
        return Vec::new();
    }
    let slots = slots_as_they_came(shared).await;
    let sorted = sorted_by_tree(&slots);
    let label = |slot: &&Slot| {
        let name = slot.display_name.as_deref();
        name.unwrap_or(slot.short_id()).to_owned()
    };
    let bucket = |state: &'static str| {
        let slots = sorted.iter().filter(|slot| slot.runtime_state == state);
        (state, slots.map(label).collect::<Vec<String>>())
    };
    let buckets = STATES.map(bucket).into_iter();
    buckets.filter(|(_, labels)| !labels.is_empty()).collect()
}
