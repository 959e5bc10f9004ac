//! Sessions that outlive their node.

use rustix::process::{Signal, kill_process};
use stentor_test_support::{when_dead, when_written};

use crate::nodes::{Fleet, answer, load, new_session, prompt};

/// A command that says that it has begun and goes on until somebody lets it end.
const BEGINS: &str = "[[turn]]\nwhen = { last_user_contains = \"run\" }\n\
    steps = [{ text = \"I do. \" }, { tool = \"bash\", id = \"call_1\", arguments = { command = \
    \"echo begun >> ran.txt; while [ ! -e go ]; do sleep 0.05; done; echo ended >> ran.txt\" } }]\n\
    [[turn]]\ntext = \"Answered.\"\n";

#[test]
fn when_a_node_is_killed_in_the_middle_of_a_call_another_goes_on_and_the_call_is_not_run_again() {
    let Some(fleet) = Fleet::new() else { return };
    let work = fleet.work();
    let one = fleet.node("one", BEGINS);
    let two = fleet.node("two", BEGINS);
    let mut client = one.acp();
    let session = new_session(&mut client, &work);
    prompt(&mut client, 4, &session, "run it");
    assert_eq!(when_written(&work.join("ran.txt")), "begun\n");
    kill_process(one.process.pid(), Signal::KILL).unwrap();

    two.when_owned_by(&session, "two");
    std::fs::write(work.join("go"), "").unwrap();
    let mut client = two.acp();
    let lines = load(&mut client, &session, &work);
    let said = lines.concat();
    assert!(answer(&lines).get("result").is_some(), "{said}");
    assert!(said.contains("run it") && said.contains("I do. "), "{said}");
    assert!(said.contains(r#""status":"failed""#), "{said}");
    prompt(&mut client, 5, &session, "what happened?");
    let lines = client.until_answer(5);
    assert_eq!(answer(&lines)["result"]["stopReason"], "end_turn");
    assert!(lines.concat().contains("Answered."), "{lines:#?}");
    let ran = std::fs::read_to_string(work.join("ran.txt")).unwrap();
    assert_eq!(ran, "begun\n");
}

#[test]
fn a_node_that_was_stopped_for_longer_than_its_lease_writes_nothing_more_and_its_clients_go_on() {
    let Some(fleet) = Fleet::new() else { return };
    let work = fleet.work();
    let one = fleet.node("one", BEGINS);
    let two = fleet.node("two", BEGINS);
    let mut first = one.acp();
    let session = new_session(&mut first, &work);
    prompt(&mut first, 4, &session, "run it");
    when_written(&work.join("ran.txt"));
    kill_process(one.process.pid(), Signal::STOP).unwrap();

    two.when_owned_by(&session, "two");
    let mut second = two.acp();
    load(&mut second, &session, &work);
    prompt(&mut second, 5, &session, "go on");
    assert_eq!(
        answer(&second.until_answer(5))["result"]["stopReason"],
        "end_turn"
    );

    // The call ends while nobody there knows yet that the session is another's.
    std::fs::write(work.join("go"), "").unwrap();
    kill_process(one.process.pid(), Signal::CONT).unwrap();
    let ended = answer(&first.until_answer(4));
    let why = ended["result"]["_meta"]["stentor"]["error"].to_string();
    assert!(why.contains("cannot be changed here"), "{ended}");
    prompt(&mut first, 6, &session, "still there?");
    let answered = answer(&first.until_answer(6));
    assert_eq!(answered["result"]["stopReason"], "end_turn", "{answered}");

    // There is one session, whoever is connected where.
    prompt(&mut second, 7, &session, "and again");
    assert_eq!(
        answer(&second.until_answer(7))["result"]["stopReason"],
        "end_turn"
    );
    drop(second);
    let mut third = two.acp();
    let said = load(&mut third, &session, &work).concat();
    for text in ["run it", "go on", "still there?", "and again"] {
        assert!(said.contains(text), "{text}: {said}");
    }
}

#[test]
fn a_node_that_is_cut_off_stops_what_runs_and_tells_its_clients_while_nobody_answers_it() {
    const SHELL: &str = "[[turn]]\nwhen = { last_user_contains = \"run\" }\n\
        steps = [{ tool = \"bash\", id = \"call_1\", arguments = { command = \
        \"echo $$ > pid.txt; sleep 600\" } }]\n[[turn]]\ntext = \"Answered.\"\n";
    let Some(fleet) = Fleet::new() else { return };
    let work = fleet.work();
    let link = fleet.link();
    let one = fleet.node_behind(&link, "one", SHELL);
    let two = fleet.node("two", SHELL);
    let mut first = one.acp();
    let session = new_session(&mut first, &work);
    prompt(&mut first, 4, &session, "run it");
    let pid = when_written(&work.join("pid.txt"));
    link.cut();

    when_dead(pid.trim());
    let ended = answer(&first.until_answer(4));
    let why = ended["result"]["_meta"]["stentor"]["error"].to_string();
    assert!(why.contains("cut off from the fleet"), "{ended}");
    two.when_owned_by(&session, "two");
    let mut second = two.acp();
    load(&mut second, &session, &work);
    prompt(&mut second, 5, &session, "hello");
    let answered = answer(&second.until_answer(5));
    assert_eq!(answered["result"]["stopReason"], "end_turn", "{answered}");

    link.mend();
    prompt(&mut first, 6, &session, "still there?");
    let answered = answer(&first.until_answer(6));
    assert_eq!(answered["result"]["stopReason"], "end_turn", "{answered}");
}

#[test]
fn a_node_that_stops_hands_its_sessions_over_at_once() {
    let Some(fleet) = Fleet::new() else { return };
    let work = fleet.work();
    let one = fleet.node("one", BEGINS);
    let two = fleet.node("two", BEGINS);
    let mut client = one.acp();
    let idle = new_session(&mut client, &work);
    prompt(&mut client, 4, &idle, "hello");
    client.until_answer(4);
    let mut other = one.acp();
    let running = new_session(&mut other, &work);
    prompt(&mut other, 5, &running, "run it");
    when_written(&work.join("ran.txt"));

    one.stop();
    // What ran is gone on with by somebody; what was idle waits for a client.
    two.when_owned_by(&running, "two");
    let stored = two.when(&idle, |session| session["owner"].is_null());
    assert_eq!(stored["state"], "stored");
    let mut client = two.acp();
    let said = load(&mut client, &idle, &work).concat();
    assert!(
        said.contains("hello") && said.contains("Answered."),
        "{said}"
    );
    two.when_owned_by(&idle, "two");
}

#[test]
fn a_session_that_one_node_fails_to_take_over_is_taken_by_another() {
    let Some(fleet) = Fleet::new() else { return };
    let work = fleet.work();
    let one = fleet.node("one", BEGINS);
    // It has the place as far as it knows, and is the first for some of the sessions.
    let missing = fleet.work().join("missing");
    let broken = format!(
        "work = {{ repository = {:?}, commit = \"v1\", path = {:?} }}\n",
        missing.join("origin"),
        missing.join("checkout"),
    );
    let broken = fleet.node_with("broken", BEGINS, &broken);
    let two = fleet.node("two", BEGINS);
    let mut clients = [one.acp(), one.acp(), one.acp(), one.acp(), one.acp()];
    let sessions: Vec<String> = clients
        .iter_mut()
        .map(|client| {
            let session = new_session(client, &work);
            prompt(client, 4, &session, "run it");
            when_written(&work.join("ran.txt"));
            std::fs::remove_file(work.join("ran.txt")).unwrap();
            session
        })
        .collect();
    broken.when_status(|nodes| nodes["two"].is_object());
    kill_process(one.process.pid(), Signal::KILL).unwrap();
    for session in &sessions {
        two.when_owned_by(session, "two");
    }
    std::fs::write(work.join("go"), "").unwrap();
}
