//! One live session with several clients of different dialects.

use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};

use crate::clients::{
    acp, acp_too, allow, asked, chunks, omp_too, prompt, psi_too, server, server_with, synaps_too,
    text_of,
};

#[test]
fn a_prompt_in_each_dialect_is_seen_in_all() {
    let turns: String = (1..=4)
        .map(|turn| format!("[[turn]]\ntext = \"Answer {turn}.\"\n"))
        .collect();
    let server = server(&turns);
    let (mut one, session) = acp(&server);
    prompt(&mut one, 3, &session, "first");
    one.until_answer(3);

    let (mut acp, _) = acp_too(&server, &session);
    let mut omp = omp_too(&server, &session);
    let mut synaps = synaps_too(&server, &session);
    let mut psi = psi_too(&server, &session);

    // By ACP.
    prompt(&mut one, 4, &session, "second");
    one.until_answer(4);
    assert_eq!(chunks(&mut acp, "user_message_chunk", "second"), ["second"]);
    chunks(&mut acp, "agent_message_chunk", "Answer 2.");
    let frames = omp.until_type("agent_settled");
    assert!(frames.iter().any(|frame| frame["type"] == "message_start"
        && frame["message"]["content"].to_string().contains("second")));
    let lines = synaps.until(|line| line.contains(r#""type":"agent_end""#));
    assert!(lines.concat().contains("Answer 2."), "{lines:#?}");
    psi.until(|line| line.contains(":role \"user\"") && line.contains("second"));
    psi.until(|line| line.contains(":event \"assistant/message\"") && line.contains("Answer 2."));
    psi.until(|line| line.contains(":phase \"idle\""));

    // By omp.
    omp.send(r#"{"id":"p","type":"prompt","message":"third"}"#);
    omp.until_type("agent_settled");
    for client in [&mut one, &mut acp] {
        assert_eq!(chunks(client, "user_message_chunk", "third"), ["third"]);
        chunks(client, "agent_message_chunk", "Answer 3.");
    }
    synaps.until(|line| line.contains(r#""type":"agent_end""#));
    psi.until(|line| line.contains("third"));
    psi.until(|line| line.contains(":phase \"idle\""));

    // By synaps.
    synaps.send(r#"{"type":"prompt","id":"p","message":"fourth"}"#);
    synaps.until(|line| line.contains(r#""type":"response""#));
    for client in [&mut one, &mut acp] {
        assert_eq!(chunks(client, "user_message_chunk", "fourth"), ["fourth"]);
        chunks(client, "agent_message_chunk", "Answer 4.");
    }
    omp.until_type("agent_settled");
    psi.until(|line| line.contains("fourth"));

    for client in [one, acp, omp, synaps, psi] {
        client.end();
    }
}

#[test]
fn psi_prompts_are_seen_by_the_others() {
    let server = server("[[turn]]\ntext = \"One.\"\n[[turn]]\ntext = \"Two.\"\n");
    let (mut one, session) = acp(&server);
    prompt(&mut one, 3, &session, "first");
    one.until_answer(3);
    let mut psi = psi_too(&server, &session);
    psi.ask_psi("p", "prompt", r#"{:message "from psi"}"#);
    assert_eq!(
        chunks(&mut one, "user_message_chunk", "from psi"),
        ["from psi"]
    );
    chunks(&mut one, "agent_message_chunk", "Two.");
}

#[test]
fn who_comes_in_the_middle_of_an_answer_gets_all_of_it_once() {
    let scenario = "[[turn]]\nsteps = [{ text = \"Begun \" }, { wait_for = \"go\" }, \
                    { text = \"and done.\" }]\n";
    let server = server(scenario);
    let (mut one, session) = acp(&server);
    prompt(&mut one, 3, &session, "tell");
    assert_eq!(
        chunks(&mut one, "agent_message_chunk", "Begun "),
        ["Begun "]
    );

    let (mut two, lines) = acp_too(&server, &session);
    let replayed: Vec<Value> = lines
        .iter()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(replayed.iter().any(|frame| text_of(frame) == "tell"));
    assert!(
        !replayed
            .iter()
            .any(|frame| text_of(frame).contains("Begun"))
    );
    assert_eq!(
        chunks(&mut two, "agent_message_chunk", "Begun "),
        ["Begun "]
    );
    let mut omp = omp_too(&server, &session);
    let lines = omp.until(|line| line.contains("Begun "));
    assert!(
        lines.concat().contains(r#""type":"agent_start""#),
        "{lines:#?}"
    );

    server.world.file("work/go", "");
    assert_eq!(
        chunks(&mut two, "agent_message_chunk", "done."),
        ["and done."]
    );
    one.until_answer(3);
    omp.until_type("agent_settled");
}

#[test]
fn messages_have_the_same_ids_live_and_loaded() {
    let server = server("[[turn]]\nthinking = \"Hm.\"\ntext = \"Yes.\"\n");
    let (mut one, session) = acp(&server);
    let (mut two, _) = acp_too(&server, &session);
    prompt(&mut one, 3, &session, "really?");
    one.until_answer(3);
    let ids = |lines: Vec<String>| {
        let mut ids = Vec::new();
        for line in lines {
            let frame: Value = serde_json::from_str(&line).unwrap();
            let update = &frame["params"]["update"];
            let id = (update["sessionUpdate"].clone(), update["messageId"].clone());
            if !id.1.is_null() && !ids.contains(&id) {
                ids.push(id);
            }
        }
        ids
    };
    let live = ids(two.until(|line| line.contains("Yes.")));
    let (_three, loaded) = acp_too(&server, &session);
    assert_eq!(ids(loaded), live);
    assert_eq!(live.len(), 3);
}

#[test]
fn a_run_is_stopped_by_another_client_than_the_one_that_began_it() {
    let scenario = "[[turn]]\nsteps = [{ text = \"One\" }, { wait_for = \"never\" }]\n\
                    [[turn]]\nsteps = [{ text = \"Two\" }, { wait_for = \"never\" }]\n";
    let server = server(scenario);
    let (mut one, session) = acp(&server);
    let (mut two, _) = acp_too(&server, &session);
    let mut omp = omp_too(&server, &session);
    prompt(&mut one, 3, &session, "go");
    chunks(&mut one, "agent_message_chunk", "One");
    omp.until(|line| line.contains("One"));
    omp.send(r#"{"id":"a","type":"abort"}"#);
    let answer = one.until_answer(3).pop().unwrap();
    assert!(answer.contains(r#""stopReason":"cancelled""#), "{answer}");

    prompt(&mut one, 4, &session, "again");
    chunks(&mut two, "agent_message_chunk", "Two");
    let cancel = json!({
        "jsonrpc": "2.0", "method": "session/cancel", "params": { "sessionId": session },
    });
    two.send(&cancel.to_string());
    let answer = one.until_answer(4).pop().unwrap();
    assert!(answer.contains(r#""stopReason":"cancelled""#), "{answer}");
}

#[test]
fn a_question_goes_to_everybody_and_the_first_answer_counts() {
    let scenario = "[[turn]]\ntool = \"bash\"\narguments = { command = \"echo ran > ran.txt\" }\n\
                    [[turn]]\ntext = \"Done.\"\n";
    let server = server(scenario);
    let (mut one, session) = acp(&server);
    let (mut two, _) = acp_too(&server, &session);
    let mut omp = omp_too(&server, &session);
    prompt(&mut one, 3, &session, "run it");
    let (first, second) = (asked(&mut one), asked(&mut two));
    omp.until_type("extension_ui_request");
    allow(&mut two, &second);
    let withdrawn = one.until(|line| line.contains("$/cancel_request")).pop();
    let withdrawn: Value = serde_json::from_str(&withdrawn.unwrap()).unwrap();
    assert_eq!(withdrawn["params"]["requestId"], first);
    let cancelled = omp.until_type("extension_ui_request").pop().unwrap();
    assert_eq!(cancelled["method"], "cancel");
    one.until_answer(3);
    assert!(server.world.path("work/ran.txt").exists());
}

#[test]
fn a_client_that_goes_away_ends_nothing_and_its_question_waits_for_the_next() {
    let scenario = "[[turn]]\ntool = \"bash\"\narguments = { command = \"echo ran > ran.txt\" }\n\
                    [[turn]]\ntext = \"Done.\"\n";
    let server = server(scenario);
    let (mut one, session) = acp(&server);
    prompt(&mut one, 3, &session, "run it");
    one.until(|line| line.contains("session/request_permission"));
    kill_process(one.pid(), Signal::KILL).unwrap();
    drop(one);

    let (mut two, _) = acp_too(&server, &session);
    let question = asked(&mut two);
    allow(&mut two, &question);
    chunks(&mut two, "agent_message_chunk", "Done.");
    assert!(server.world.path("work/ran.txt").exists());
}

#[test]
fn an_observer_sees_everything_and_changes_nothing() {
    let server = server("[[turn]]\ntext = \"One.\"\n[[turn]]\ntext = \"Two.\"\n");
    let (mut one, session) = acp(&server);
    let hello = json!({ "stentor": 1, "client": {
        "dialect": "omp", "args": ["--session", session], "cwd": server.world.path("work"),
        "env": { "HOME": server.world.path("home") }, "observe": true,
    } });
    prompt(&mut one, 3, &session, "first");
    one.until_answer(3);
    let prompt = r#"{"id":"p","type":"prompt","message":"mine"}"#;
    let lines = server.talk(&format!(
        "{hello}\n{prompt}\n{{\"id\":\"m\",\"type\":\"get_messages\"}}\n"
    ));
    let all = lines.join("\n");
    assert!(
        all.contains("this connection may only watch the session"),
        "{all}"
    );
    assert!(all.contains("One."), "{all}");
    one.end();
}

#[test]
fn a_session_that_nobody_watches_goes_on_and_is_unloaded_when_idle() {
    let scenario = "[[turn]]\nsteps = [{ text = \"Begun \" }, { wait_for = \"go\" }, \
                    { text = \"and done.\" }]\n";
    let server = server_with(
        scenario,
        "",
        &["--unload-after", "0", "--resume-within", "0"],
    );
    let (mut one, session) = acp(&server);
    prompt(&mut one, 3, &session, "tell");
    chunks(&mut one, "agent_message_chunk", "Begun ");
    kill_process(one.pid(), Signal::KILL).unwrap();
    drop(one);
    server.world.file("work/go", "");
    // Its file is free when it is unloaded: a process of its own can go on with it.
    let status = || {
        server
            .talk("{\"stentor\":1,\"control\":\"status\"}\n")
            .concat()
    };
    while status().contains(&session) {
        std::thread::yield_now();
    }
    let exported = server.world.asked(&["export", &session, "-o", "-"]);
    assert!(exported.contains("Begun and done."), "{exported}");
}

#[test]
fn the_output_of_a_command_has_the_id_of_the_client_that_sent_it() {
    let server = server("[[turn]]\ntext = \"One.\"\n");
    let (mut one, session) = acp(&server);
    prompt(&mut one, 3, &session, "first");
    one.until_answer(3);
    let mut first = omp_too(&server, &session);
    let mut second = omp_too(&server, &session);
    first.send(r#"{"id":"a","type":"bash","command":"echo of the first"}"#);
    first.until(|line| line.contains(r#""command":"bash""#));
    second.send(r#"{"id":"b","type":"bash","command":"echo of the second"}"#);
    let update = |client: &mut crate::world::Child| {
        let line = client
            .until(|line| line.contains("bash_execution_update") && line.contains("of the second"));
        serde_json::from_str::<Value>(line.last().unwrap()).unwrap()
    };
    let own = update(&mut second);
    assert_eq!(
        own,
        json!({ "type": "bash_execution_update", "id": "b", "delta": "of the second\n" })
    );
    let foreign = update(&mut first);
    assert_eq!(
        foreign,
        json!({ "type": "bash_execution_update", "delta": "of the second\n" })
    );
}

/// The updates of calls, up to one whose status is this.
fn calls_until(client: &mut crate::world::Child, status: &str) -> Vec<Value> {
    let mut calls = Vec::new();
    loop {
        let frame = client.json();
        let update = &frame["params"]["update"];
        let is_last = update["status"] == status;
        let kind = update["sessionUpdate"].as_str().unwrap_or_default();
        if kind.starts_with("tool_call") {
            calls.push(update.clone());
        }
        if is_last {
            return calls;
        }
    }
}

#[test]
fn a_command_that_the_user_runs_elsewhere_is_a_call_in_acp_with_the_id_it_has_when_it_is_loaded() {
    let server = server(
        "[[turn]]\nsteps = [{ text = \"Begun \" }, { wait_for = \"end\" }, { text = \"and done.\" }]\n",
    );
    let (mut one, session) = acp(&server);
    prompt(&mut one, 3, &session, "tell");
    chunks(&mut one, "agent_message_chunk", "Begun ");
    let mut omp = omp_too(&server, &session);
    let command = "echo begun; until [ -e go ]; do sleep 0.01; done; echo over; exit 3";
    omp.send(&json!({ "id": "b", "type": "bash", "command": command }).to_string());
    let begun = calls_until(&mut one, "in_progress");
    let id = begun[0]["toolCallId"].clone();
    let made = json!({
        "sessionUpdate": "tool_call", "toolCallId": id, "title": format!("Run {command}"),
        "name": "bash", "kind": "execute", "status": "pending",
        "rawInput": { "command": command },
    });
    let in_progress = json!({
        "sessionUpdate": "tool_call_update", "toolCallId": id, "status": "in_progress",
    });
    assert_eq!(begun, [made.clone(), in_progress.clone()]);
    let output =
        |text: &str| json!([{ "type": "content", "content": { "type": "text", "text": text } }]);
    let shown = calls_until(&mut one, "in_progress");
    let mut progress = in_progress.clone();
    progress["content"] = output("begun\n");
    assert_eq!(shown, [progress]);

    // Who comes in the midst of it, and is in the midst of a run.
    let (mut two, _) = acp_too(&server, &session);
    assert_eq!(
        calls_until(&mut two, "in_progress"),
        [made.clone(), in_progress]
    );
    server.world.file("work/go", "");
    let ended = json!({
        "sessionUpdate": "tool_call_update", "toolCallId": id, "status": "failed",
        "content": output("begun\nover\n"), "rawOutput": { "output": "begun\nover\n" },
    });
    assert_eq!(calls_until(&mut one, "failed").last(), Some(&ended));
    assert_eq!(calls_until(&mut two, "failed").last(), Some(&ended));
    // It has ended, and the run has not: it is in the file when that is over.
    let (mut three, _) = acp_too(&server, &session);
    let shown = calls_until(&mut three, "failed");
    assert_eq!((shown.first(), shown.last()), (Some(&made), Some(&ended)));
    server.world.file("work/end", "");
    one.until_answer(3);
    let (_four, lines) = acp_too(&server, &session);
    let frames = lines
        .iter()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let updates = frames.map(|frame| frame["params"]["update"].clone());
    let calls = updates.filter(|update| update["toolCallId"] == id);
    assert_eq!(calls.collect::<Vec<_>>(), [made, ended]);
}

#[test]
fn tools_of_a_client_leave_the_session_with_it() {
    let server = server(
        "[[turn]]\ntext = \"One.\"\n[[turn]]\ntool = \"echo_host\"\narguments = {}\n\
         [[turn]]\ntext = \"{{last_tool_result}}\"\n",
    );
    let (mut one, session) = acp(&server);
    prompt(&mut one, 3, &session, "first");
    one.until_answer(3);
    let mut host = omp_too(&server, &session);
    let tool = json!({ "name": "echo_host", "description": "Echoes.", "parameters": {} });
    let offer = json!({ "id": "t", "type": "set_host_tools", "tools": [tool] });
    host.send(&offer.to_string());
    host.until(|line| line.contains(r#""toolNames":["echo_host"]"#));
    host.end();
    prompt(&mut one, 4, &session, "call it");
    chunks(&mut one, "agent_message_chunk", "Tool echo_host not found");
}

#[test]
fn a_session_in_which_nothing_was_said_leaves_nothing() {
    let server = server_with("[[turn]]\ntext = \"One.\"\n", "", &["--resume-within", "0"]);
    let (one, session) = acp(&server);
    let file = crate::clients::file_of(&server, &session);
    assert!(file.exists());
    one.end();
    while file.exists() {
        std::thread::yield_now();
    }
}

#[test]
fn who_went_back_elsewhere_is_made_known_where_messages_cannot_be_taken_back() {
    let scenario = "[[turn]]\ntext = \"One.\"\n[[turn]]\ntext = \"Two.\"\n";
    let server = server(scenario);
    let (mut one, session) = acp(&server);
    for (id, text) in [(3, "first"), (4, "second")] {
        prompt(&mut one, id, &session, text);
        one.until_answer(id);
    }
    let (mut two, _) = acp_too(&server, &session);
    let mut omp = omp_too(&server, &session);
    prompt(&mut one, 5, &session, "/rewind 1");
    let own = one.until_answer(5).concat();
    assert!(!own.contains("in another client"), "{own}");
    let seen = two.until(|line| line.contains("in another client")).pop();
    let seen: Value = serde_json::from_str(&seen.unwrap()).unwrap();
    let update = &seen["params"]["update"];
    assert_eq!(update["sessionUpdate"], "agent_message_chunk", "{seen}");
    let notice = omp.until_type("notice").pop().unwrap();
    let message = "The conversation went back to an earlier message. `get_messages` has what is left \
                   of it.";
    assert_eq!(
        notice,
        json!({ "type": "notice", "level": "info", "message": message })
    );
}
