//! The nodes of the fleet that the server is in.

use stentor_journal::export::Html;
use stentor_text::visible::visible;

use crate::proxy::{FleetNode, NodeState};

/// Nodes that are shown.
const SHOWN: usize = 100;

/// The nodes, one of which may have the session `with` which the page is.
pub(super) fn html(nodes: &[FleetNode], with: Option<&str>) -> String {
    let mut html = Html::new();
    html.raw("<h2>Nodes</h2><ul>");
    for node in nodes.iter().take(SHOWN) {
        one(node, with == Some(node.name.as_str()), &mut html);
    }
    if let Some(more) = nodes.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        html.element("li", "", &format!("and {more} more"));
    }
    html.raw("</ul>");
    html.finish()
}

fn one(node: &FleetNode, has_session: bool, html: &mut Html) {
    let state = match node.state {
        NodeState::Serving => "serving",
        NodeState::Draining => "draining",
        NodeState::Gone => "gone",
    };
    html.open("li", state)
        .element("b", "", &visible(&node.name))
        .raw(" ")
        .element("span", "state", state);
    if has_session {
        html.raw(", has this session");
    }
    if node.state != NodeState::Gone {
        let sessions = format!("{} of {} sessions", node.sessions, node.capacity);
        html.raw("<br>").text(&sessions);
        html.raw("<br>")
            .element("span", "places", &visible(&node.places.join(", ")));
    }
    html.close("li");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(name: &str, state: NodeState) -> FleetNode {
        FleetNode {
            name: name.to_owned(),
            state,
            sessions: 3,
            capacity: 256,
            places: vec!["work".to_owned(), "<i>".to_owned()],
        }
    }

    #[test]
    fn a_node_is_shown_with_its_state_its_sessions_and_its_places() {
        let nodes = [
            node("<b>one", NodeState::Serving),
            node("two", NodeState::Gone),
        ];
        assert_eq!(
            html(&nodes, Some("<b>one")),
            "<h2>Nodes</h2><ul><li class=\"serving\"><b>&lt;b&gt;one</b> \
             <span class=\"state\">serving</span>, has this session<br>3 of 256 sessions<br>\
             <span class=\"places\">work, &lt;i&gt;</span></li>\
             <li class=\"gone\"><b>two</b> <span class=\"state\">gone</span></li></ul>"
        );
    }

    #[test]
    fn of_many_nodes_the_first_are_shown_and_how_many_more_there_are() {
        let nodes = vec![node("one", NodeState::Draining); SHOWN + 2];
        let html = html(&nodes, None);
        assert_eq!(html.matches("<b>one</b>").count(), SHOWN);
        assert!(html.ends_with("<li>and 2 more</li></ul>"), "{html}");
    }
}
