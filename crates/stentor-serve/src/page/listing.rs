//! The sessions there are.

use std::collections::HashMap;
use std::path::PathBuf;

use stentor_agent::agent::Agent;
use stentor_agent::live_sessions::LiveActivity;
use stentor_journal::clock::iso_time;
use stentor_journal::export::Html;
use stentor_journal::store::Listed;

use super::costs::Costs;

/// Sessions that are shown.
const SHOWN: usize = 50;

/// What goes on in live sessions, by the file each is in.
pub(super) type States = HashMap<PathBuf, LiveActivity>;

/// The newest sessions.
pub(super) struct Listing {
    pub sessions: Vec<Listed>,
    states: States,
    /// The one that the page shows.
    shown: Option<String>,
}

impl Listing {
    /// Looks which there are. Reads files.
    pub fn read(agent: &Agent, states: States, shown: Option<String>) -> Self {
        let is_shown = |session: &Listed| {
            session.problem.is_none()
                && (session.message_count != Some(0) || states.contains_key(&session.path))
        };
        let sessions = agent.newest_first(None).filter(is_shown).take(SHOWN);
        Self {
            sessions: sessions.collect(),
            states,
            shown,
        }
    }

    /// The list, with the costs that are known.
    pub fn html(&self, costs: &Costs) -> String {
        let mut html = Html::new();
        for session in &self.sessions {
            let state = self.states.get(&session.path).copied();
            let is_shown = self.shown.as_deref() == Some(session.id.as_str());
            one(session, state, is_shown, &costs.of(session), &mut html);
        }
        html.finish()
    }
}

fn one(session: &Listed, state: Option<LiveActivity>, is_shown: bool, cost: &str, html: &mut Html) {
    let title = session.name.as_deref().or(session.first_message.as_deref());
    let title = title.and_then(|title| title.lines().find(|line| !line.trim().is_empty()));
    let folder = session.cwd.rsplit('/').next().unwrap_or_default();
    let when = iso_time(session.modified_ms);
    let when = when.get(..16).unwrap_or_default().replace('T', " ");
    html.raw("<li><button type=\"button\" data-do=\"open\" data-session=\"")
        .text(&session.id)
        .raw(match is_shown {
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
