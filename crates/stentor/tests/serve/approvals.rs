//! Questions that were open when the server ended are asked again, and no call runs twice.

use rustix::process::{Signal, kill_process};
use serde_json::Value;

use crate::clients::{acp, acp_too, allow, asked, chunks, prompt, server, synaps_too, text_of};
use crate::server::{Server, start};

const ASKING: &str = "[[turn]]\ntool = \"bash\"\narguments = { command = \"echo ran >> ran.txt\" }\n\
                      [[turn]]\ntext = \"Done.\"\n[[turn]]\ntext = \"Later.\"\n";

/// The next life of a server.
fn again(server: Server, how: Signal) -> Server {
    let Server { world, process, .. } = server;
    kill_process(process.pid(), how).unwrap();
    process.exit_code();
    let (process, ready) = start(&world, &[]);
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
