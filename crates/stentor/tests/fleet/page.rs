//! What the page shows of the fleet.

use rustix::process::{Signal, kill_process};
use serde_json::json;

use crate::nodes::{Fleet, new_session, prompt};

const ANSWERS: &str = "on_exhausted = \"repeat-last\"\n[[turn]]\ntext = \"Answered.\"\n";

#[test]
fn the_page_shows_the_nodes_and_which_of_them_has_a_session() {
    let Some(fleet) = Fleet::new() else { return };
    let one = fleet.node("one", ANSWERS);
    let two = fleet.node("two", ANSWERS);
    let mut client = one.acp();
    let session = new_session(&mut client, &fleet.work());
    prompt(&mut client, 4, &session, "hello");
    client.until_answer(4);

    let mut page = two.page();
    page.when_listed("sessions", |html| {
        html.contains("hello")
            && html.contains("<span class=\"open\">open</span> on <span class=\"node\">one</span>")
    });
    page.when_listed("nodes", |html| {
        html == "<h2>Nodes</h2><ul>\
            <li class=\"serving\"><b>one</b> <span class=\"state\">serving</span><br>\
            1 of 256 sessions<br><span class=\"places\">work, host-one</span></li>\
            <li class=\"serving\"><b>two</b> <span class=\"state\">serving</span><br>\
            0 of 256 sessions<br><span class=\"places\">work, host-two</span></li></ul>"
    });
    page.send(&json!({ "do": "open", "session": session }));
    page.until(|frame| frame["op"] == "state" && frame["session"] == session);
    page.when_listed("nodes", |html| {
        html.contains("<b>one</b> <span class=\"state\">serving</span>, has this session<br>")
    });

    // Whoever has the session open goes on at the other node.
    two.world.asked(&["fleet", "drain", "one"]);
    page.when_listed("nodes", |html| {
        html.contains("<li class=\"draining\"><b>one</b> <span class=\"state\">draining</span><br>")
            && html.contains("<b>two</b> <span class=\"state\">serving</span>, has this session")
    });
    drop(client);
    kill_process(one.process.pid(), Signal::KILL).unwrap();
    page.when_listed("nodes", |html| {
        html.contains("<li class=\"gone\"><b>one</b> <span class=\"state\">gone</span></li>")
    });
}

#[test]
fn a_node_that_was_stopped_is_no_longer_shown() {
    let Some(fleet) = Fleet::new() else { return };
    let one = fleet.node("one", ANSWERS);
    let two = fleet.node("two", ANSWERS);
    let mut page = two.page();
    page.when_listed("nodes", |html| html.contains("<b>one</b>"));
    one.stop();
    page.when_listed("nodes", |html| {
        html.contains("<b>two</b>") && !html.contains("<b>one</b>")
    });
}
