//! The sessions there are.

use std::collections::HashMap;
use std::path::PathBuf;

use stentor_agent::agent::Agent;
use stentor_agent::live_sessions::LiveActivity;
use stentor_journal::clock::iso_time;
use stentor_journal::export::Html;
use stentor_journal::store::{self, Listed};

use super::spending::Spending;

/// Sessions that are shown.
const SHOWN: usize = 50;

/// Files longer than this are not read for what they have cost.
const MOST_BYTES: u64 = 4 << 20;

/// The costs of sessions, by file and when it was written to.
#[derive(Debug, Default)]
pub(super) struct Costs {
    known: HashMap<PathBuf, (u64, String)>,
}

impl Costs {
    fn of(&mut self, session: &Listed) -> String {
        let known = self.known.get(&session.path);
        if let Some((_, cost)) = known.filter(|(when, _)| *when == session.modified_ms) {
            return cost.clone();
        }
        if session.size_bytes > MOST_BYTES {
            return String::new();
        }
        let mut spending = Spending::default();
        if let Ok(view) = store::view(&session.path) {
            let messages = view.entries.iter().filter_map(store::Entry::to_message);
            for message in messages {
                message
                    .as_assistant()
                    .into_iter()
                    .for_each(|answer| spending.add(answer));
            }
        }
        let cost = spending.cost();
        let known = (session.modified_ms, cost.clone());
        self.known.insert(session.path.clone(), known);
        cost
    }
}

/// What goes on in live sessions, by the file each is in.
pub(super) type States = HashMap<PathBuf, LiveActivity>;

/// The newest sessions as a list. Reads files.
pub(super) fn html(
    agent: &Agent,
    states: &States,
    shown: Option<&str>,
    costs: &mut Costs,
) -> String {
    let is_shown = |session: &Listed| {
        session.problem.is_none()
            && (session.message_count != Some(0) || states.contains_key(&session.path))
    };
    let sessions: Vec<Listed> = agent
        .newest_first(None)
        .filter(is_shown)
        .take(SHOWN)
        .collect();
    costs
        .known
        .retain(|path, _| sessions.iter().any(|session| session.path == *path));
    let mut html = Html::new();
    for session in &sessions {
        one(
            session,
            states.get(&session.path).copied(),
            shown,
            &costs.of(session),
            &mut html,
        );
    }
    html.finish()
}

fn one(
    session: &Listed,
    state: Option<LiveActivity>,
    shown: Option<&str>,
    cost: &str,
    html: &mut Html,
) {
    let title = session.name.as_deref().or(session.first_message.as_deref());
    let title = title.and_then(|title| title.lines().find(|line| !line.trim().is_empty()));
    let folder = session.cwd.rsplit('/').next().unwrap_or_default();
    let when = iso_time(session.modified_ms);
    let when = when.get(..16).unwrap_or_default().replace('T', " ");
    html.raw("<li><button type=\"button\" data-do=\"open\" data-session=\"")
        .text(&session.id)
        .raw(match shown == Some(session.id.as_str()) {
            true => "\" aria-current=\"true\">",
            false => "\">",
        });
    html.element("span", "name", title.unwrap_or("Untitled"));
    html.raw("<span class=\"facts\">");
    if let Some(state) = state {
        let says = match state {
            LiveActivity::Idle => "open",
            LiveActivity::Running => "running",
            LiveActivity::Asking => "asking",
        };
        html.element("span", says, says).raw(" ");
    }
    html.element("span", "", folder)
        .raw(" ")
        .element("span", "", &when);
    if !cost.is_empty() {
        html.raw(" ").element("span", "", cost);
    }
    html.raw("</span></button></li>\n");
}
