//! Questions that were open when the server ended are asked again, and no call runs twice.

use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};

use crate::clients::{
    acp, acp_too, allow, asked, chunks, file_of, prompt, psi_too, server, server_with, synaps_too,
    text_of,
};
use crate::http_client::Socket;
use crate::server::{Server, start};
use crate::world::Child;

const ASKING: &str = "[[turn]]\ntool = \"bash\"\narguments = { command = \"echo ran >> ran.txt\" }\n\
                      [[turn]]\ntext = \"Done.\"\n[[turn]]\ntext = \"Later.\"\n";

/// The next life of a server.
fn again(server: Server, how: Signal) -> Server {
    again_with(server, how, &[])
}

fn again_with(server: Server, how: Signal, flags: &[&str]) -> Server {
    let Server { world, process, .. } = server;
    kill_process(process.pid(), how).unwrap();
    process.exit_code();
    let (process, ready) = start(&world, flags);
    Server {
        world,
        process,
        ready,
    }
}

fn runs(server: &Server) -> String {
    std::fs::read_to_string(server.world.path("work/ran.txt")).unwrap_or_default()
}

#[test]
fn a_question_that_was_open_is_asked_again_and_its_call_runs_once() {
    for how in [Signal::KILL, Signal::TERM] {
        let server = server(ASKING);
        let (mut one, session) = acp(&server);
        prompt(&mut one, 3, &session, "run it");
        asked(&mut one);
        let mut server = again(server, how);
        if how == Signal::TERM {
            let answer = one.until_answer(3).pop().unwrap();
            assert!(answer.contains(r#""stopReason":"cancelled""#), "{answer}");
        }
        drop(one);
        // Once more, before it was answered.
        for how in [Signal::KILL, Signal::TERM] {
            let (mut two, lines) = acp_too(&server, &session);
            assert!(
                !lines.concat().contains(r#""status":"failed""#),
                "{lines:#?}"
            );
            asked(&mut two);
            server = again(server, how);
        }
        let (mut two, _) = acp_too(&server, &session);
        let question = asked(&mut two);
        assert_eq!(runs(&server), "");
        allow(&mut two, &question);
        chunks(&mut two, "agent_message_chunk", "Done.");
        assert_eq!(runs(&server), "ran\n");
    }
}

#[test]
fn a_call_that_was_permitted_is_not_run_again() {
    let scenario = "[[turn]]\ntool = \"bash\"\n\
                    arguments = { command = \"echo ran >> ran.txt; sleep 600\" }\n\
                    [[turn]]\ntext = \"Then not.\"\n";
    let server = server(scenario);
    let (mut one, session) = acp(&server);
    prompt(&mut one, 3, &session, "run it");
    let question = asked(&mut one);
    allow(&mut one, &question);
    while runs(&server) != "ran\n" {
        std::thread::yield_now();
    }
    let server = again(server, Signal::KILL);
    let (mut two, lines) = acp_too(&server, &session);
    let ended: Vec<&String> = lines
        .iter()
        .filter(|line| line.contains("failed"))
        .collect();
    assert!(ended[0].contains("What it did is unknown"), "{lines:#?}");
    prompt(&mut two, 3, &session, "go on");
    let lines = two.until_answer(3).concat();
    assert!(
        lines.contains("Then not.") && !lines.contains("request_permission"),
        "{lines}"
    );
    assert_eq!(runs(&server), "ran\n");
}

#[test]
fn calls_behind_the_question_run_once_and_those_before_it_not_again() {
    let scenario = "[[turn]]\nsteps = [\n\
        { tool = \"bash\", arguments = { command = \"echo first >> ran.txt\" } },\n\
        { tool = \"bash\", arguments = { command = \"echo second >> ran.txt\" } },\n\
        { tool = \"bash\", arguments = { command = \"echo third >> ran.txt\" } },\n]\n\
        [[turn]]\ntext = \"Done.\"\n";
    let mut server = server(scenario);
    let (mut client, session) = acp(&server);
    prompt(&mut client, 3, &session, "run them");
    for ran in ["first\n", "first\nsecond\n", "first\nsecond\nthird\n"] {
        let question = asked(&mut client);
        server = again(server, Signal::KILL);
        drop(client);
        let (mut next, _) = acp_too(&server, &session);
        assert_ne!(asked(&mut next), Value::Null);
        drop(question);
        server = again(server, Signal::TERM);
        drop(next);
        (client, _) = acp_too(&server, &session);
        let question = asked(&mut client);
        allow(&mut client, &question);
        if ran.ends_with("third\n") {
            chunks(&mut client, "agent_message_chunk", "Done.");
        } else {
            client.until(|line| line.contains(r#""status":"completed""#));
        }
        assert_eq!(runs(&server), ran);
    }
}

#[test]
fn where_nobody_can_be_asked_a_prompt_goes_on_without_the_call() {
    let server = server(ASKING);
    let (mut one, session) = acp(&server);
    prompt(&mut one, 3, &session, "run it");
    asked(&mut one);
    let server = again(server, Signal::KILL);
    drop(one);
    let mut synaps = synaps_too(&server, &session);
    synaps.send(r#"{"type":"prompt","id":"p","message":"never mind"}"#);
    let lines = synaps
        .until(|line| line.contains(r#""type":"response""#))
        .concat();
    assert!(lines.contains("Done."), "{lines}");
    synaps.end();
    let (_two, lines) = acp_too(&server, &session);
    let frames: Vec<Value> = lines
        .iter()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let failed = lines.iter().find(|line| line.contains("failed")).unwrap();
    assert!(failed.contains("never answered"), "{failed}");
    let texts: Vec<&str> = frames
        .iter()
        .map(text_of)
        .filter(|text| !text.is_empty())
        .collect();
    assert_eq!(texts, ["run it", "never mind", "Done."]);
    assert_eq!(runs(&server), "");
}

/// Two calls that need an answer each.
const ASKING_TWICE: &str = "[[turn]]\nsteps = [\n\
    { tool = \"bash\", arguments = { command = \"echo first >> ran.txt\" } },\n\
    { tool = \"bash\", arguments = { command = \"echo second >> ran.txt\" } },\n]\n\
    [[turn]]\ntool = \"bash\"\narguments = { command = \"echo third >> ran.txt\" }\n\
    [[turn]]\ntext = \"Done.\"\n";

/// A server that was killed while an ACP client was asked, and the session.
fn killed_while_asking(scenario: &str, mode: Option<&str>) -> (Server, String) {
    let server = server(scenario);
    let (mut one, session) = acp(&server);
    if let Some(mode) = mode {
        let chosen = json!({ "sessionId": session, "modeId": mode });
        one.ask_acp(9, "session/set_mode", chosen);
    }
    prompt(&mut one, 3, &session, "run it");
    asked(&mut one);
    (again(server, Signal::KILL), session)
}

/// Allows what an omp client is asked next.
fn allow_by_omp(omp: &mut Child) {
    let question = omp.until_type("extension_ui_request").pop().unwrap();
    let answer = json!({
        "type": "extension_ui_response", "id": question["id"], "value": question["options"][0],
    });
    omp.send(&answer.to_string());
}

/// Allows what a psi client is asked next.
fn allow_by_psi(psi: &mut Child) {
    let asked = psi.until(|line| line.contains("ui/dialog-requested")).pop();
    let asked = asked.unwrap();
    let quoted = |key: &str| asked.split_once(key).unwrap().1.split('"').nth(1);
    let (id, first) = (quoted(":dialog-id ").unwrap(), quoted(":value ").unwrap());
    psi.send(&format!(
        "{{:id \"{id}\" :kind :request :op \"resolve_dialog\" \
         :params {{:dialog-id {id:?} :result {first:?}}}}}"
    ));
}

#[test]
fn omp_which_allows_everything_is_asked_again_about_the_run_that_asked() {
    for words in [["--mode", "rpc"], ["--mode", "rpc-ui"]] {
        for mode in [None, Some("ask")] {
            let (server, session) = killed_while_asking(ASKING_TWICE, mode);
            let mut omp = server.relay(&[&words[..], &["--session", &session]].concat());
            allow_by_omp(&mut omp);
            // The calls behind the question, and those that follow, need an answer as they did.
            let question = omp.until_type("extension_ui_request").pop().unwrap();
            assert_eq!(question["method"], "select", "{question}");
            assert_eq!(runs(&server), "first\n");
            let answer = json!({
                "type": "extension_ui_response", "id": question["id"],
                "value": question["options"][0],
            });
            omp.send(&answer.to_string());
            allow_by_omp(&mut omp);
            omp.until_type("agent_settled");
            assert_eq!(runs(&server), "first\nsecond\nthird\n");
        }
    }
}

#[test]
fn a_mode_named_by_who_opens_the_session_does_not_answer_the_question() {
    let (server, session) = killed_while_asking(ASKING, Some("ask"));
    let named = ["--mode", "rpc", "--permission-mode", "all", "--session"];
    let mut omp = server.relay(&[&named[..], &[&session]].concat());
    let question = omp.until_type("extension_ui_request").pop().unwrap();
    assert_eq!(runs(&server), "");
    let refused = json!({
        "type": "extension_ui_response", "id": question["id"], "cancelled": true,
    });
    omp.send(&refused.to_string());
    omp.until_type("agent_settled");
    assert_eq!(runs(&server), "");
}

#[test]
fn psi_is_asked_again_whichever_way_it_opens_the_session() {
    for by_flag in [false, true] {
        let (server, session) = killed_while_asking(ASKING_TWICE, None);
        let mut psi = if by_flag {
            let file = file_of(&server, &session).display().to_string();
            let mut psi = server.relay(&["--rpc-edn", "--resume", &file]);
            psi.shake_hands_psi();
            psi
        } else {
            psi_too(&server, &session)
        };
        for _ in 0..3 {
            allow_by_psi(&mut psi);
        }
        psi.until(|line| line.contains("Done."));
        assert_eq!(runs(&server), "first\nsecond\nthird\n");
    }
}

#[test]
fn psi_that_shows_no_questions_does_not_run_what_was_asked() {
    let (server, session) = killed_while_asking(ASKING, None);
    let mut psi = server.relay(&["--rpc-edn"]);
    psi.shake_hands_psi();
    psi.ask_psi("u", "unsubscribe", "{:topics [\"ui/dialog-requested\"]}");
    let file = file_of(&server, &session).display().to_string();
    let opened = format!("{{:session-path {file:?}}}");
    psi.ask_psi("w", "switch_session", &opened);
    psi.ask_psi("p", "prompt", "{:message \"never mind\"}");
    psi.until(|line| line.contains("Done."));
    assert_eq!(runs(&server), "");
}

#[test]
fn the_page_is_asked_again() {
    let server = server_with(ASKING, "", &["--http", "0"]);
    let (mut one, session) = acp(&server);
    prompt(&mut one, 3, &session, "run it");
    asked(&mut one);
    let server = again_with(server, Signal::KILL, &["--http", "0"]);
    drop(one);
    let bearer = format!("Bearer {}", server.token("drive"));
    let headers = [("Authorization", bearer.as_str())];
    let mut page: Socket = server.web_socket_with("/page", &headers).unwrap();
    page.send(&json!({ "do": "open", "session": session }).to_string());
    let mut frame = page.json();
    while frame["within"] != "questions" {
        frame = page.json();
    }
    let id = frame["id"].as_str().unwrap();
    let number: u64 = id.strip_prefix("permission").unwrap().parse().unwrap();
    assert_eq!(runs(&server), "");
    page.send(&json!({ "do": "answer", "id": number, "answer": "allow_once" }).to_string());
    while !page.json().to_string().contains("Done.") {}
    assert_eq!(runs(&server), "ran\n");
}

#[test]
fn a_session_that_somebody_had_ask_asks_in_a_frontend_that_allows_everything() {
    let server = server(ASKING);
    let (mut one, session) = acp(&server);
    let chosen = json!({ "sessionId": session, "modeId": "ask" });
    one.ask_acp(9, "session/set_mode", chosen);
    let server = again(server, Signal::KILL);
    drop(one);
    let mut omp = server.relay(&["--mode", "rpc", "--session", &session]);
    omp.send(r#"{"type":"prompt","id":"p","message":"run it"}"#);
    let question = omp.until_type("extension_ui_request").pop().unwrap();
    assert_eq!(question["method"], "select", "{question}");
    assert_eq!(runs(&server), "");
}
