//! The sessions there are.

use std::collections::HashMap;
use std::path::PathBuf;

use stentor_agent::agent::Agent;
use stentor_agent::live_sessions::LiveActivity;
use stentor_journal::clock::iso_time;
use stentor_journal::export::Html;
use stentor_journal::store::ListedSession;
use stentor_text::visible::visible;

use super::costs::Costs;
use crate::proxy::{OpenAt, Peers};

/// Sessions that are shown.
const SHOWN: usize = 50;

/// What goes on in live sessions, by the file each is in.
pub(super) type States = HashMap<PathBuf, LiveActivity>;

/// The newest sessions.
pub(super) struct SessionListing {
    pub sessions: Vec<ListedSession>,
    states: States,
    /// The one that the page shows.
    shown: Option<String>,
    /// Where sessions of a fleet are open, by id.
    nodes: HashMap<String, OpenAt>,
}

impl SessionListing {
    /// Looks which there are. Reads files.
    pub fn read(
        agent: &Agent,
        states: States,
        shown: Option<String>,
        fleet: Option<&dyn Peers>,
    ) -> Self {
        let is_shown = |session: &ListedSession| {
            session.problem.is_none()
                && (session.message_count != Some(0) || states.contains_key(&session.path))
        };
        let sessions = agent.newest_first(None).filter(is_shown).take(SHOWN);
        let sessions: Vec<ListedSession> = sessions.collect();
        let open_at =
            |session: &ListedSession| Some((session.id.clone(), fleet?.open_at(&session.id)?));
        Self {
            nodes: sessions.iter().filter_map(open_at).collect(),
            sessions,
            states,
            shown,
        }
    }

    /// The node that has the session which the page shows.
    pub fn node_of_shown(&self) -> Option<&str> {
        let at = self.nodes.get(self.shown.as_deref()?)?;
        Some(&at.node)
    }

    /// The list, with the costs that are known.
    pub fn html(&self, costs: &Costs) -> String {
        let mut html = Html::new();
        for session in &self.sessions {
            let at = self.nodes.get(&session.id);
            // What goes on here is known best here.
            let state = self.states.get(&session.path).copied();
            let state = state.or_else(|| at?.activity);
            let node = at.map(|at| at.node.as_str());
            let is_shown = self.shown.as_deref() == Some(session.id.as_str());
            let cost = costs.of(session);
            one(session, state, node, is_shown, &cost, &mut html);
        }
        html.finish()
    }
}

fn one(
    session: &ListedSession,
    state: Option<LiveActivity>,
    node: Option<&str>,
    is_shown: bool,
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
    if let Some(node) = node {
        html.raw("on ")
            .element("span", "node", &visible(node))
            .raw(" ");
    }
    html.element("span", "", folder)
        .raw(" ")
        .element("span", "", &when);
    if !cost.is_empty() {
        html.raw(" ").element("span", "", cost);
    }
    html.raw("</span></button></li>\n");
}
