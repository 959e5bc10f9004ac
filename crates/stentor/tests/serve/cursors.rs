//! Going on from a cursor: nothing is missed, nothing comes twice, and what cannot be is answered.

use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};

use crate::clients::{
    acp, acp_alone, acp_too, allow, asked, chunks, file_of, omp_too, prompt, psi_too, server,
    server_with, text_of,
};
use crate::server::{Server, start};
use crate::world::Child;

/// Opens a session in ACP with what `_meta.stentor.cursor` is to be; the frames up to the answer.
fn open(
    client: &mut Child,
    server: &Server,
    method: &str,
    session: &str,
    cursor: Value,
) -> Vec<Value> {
    let params = json!({
        "sessionId": session, "cwd": server.world.path("work"), "mcpServers": [],
        "_meta": { "stentor": { "cursor": cursor } },
    });
    let lines = client.ask_acp(2, method, params);
    lines
        .iter()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// A client that says where its updates are.
fn numbered(server: &Server, session: &str) -> Child {
    let mut client = acp_alone(server);
    let frames = open(&mut client, server, "session/load", session, json!(true));
    let cursor = cursor_of_answer(&frames);
    assert!(
        cursor["epoch"].is_string() && cursor["number"].is_u64(),
        "{cursor}"
    );
    client
}

fn cursor_of_answer(frames: &[Value]) -> Value {
    frames.last().unwrap()["result"]["_meta"]["stentor"]["cursor"].clone()
}

/// The updates up to one with this text, and the cursor of that.
fn until_text(client: &mut Child, text: &str) -> (Vec<Value>, Value) {
    let mut frames = Vec::new();
    loop {
        let frame = client.json();
        let is_last = text_of(&frame).contains(text);
        let cursor = frame["params"]["_meta"]["stentor"]["cursor"].clone();
        frames.push(frame);
        if is_last {
            return (frames, cursor);
        }
    }
}

/// What is shown of a message: who says it, the id and the text.
fn said(frames: &[Value]) -> Vec<(String, String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let chunks = frames.iter().filter(|frame| !text_of(frame).is_empty());
    chunks
        .map(|frame| {
            let update = &frame["params"]["update"];
            let kind = text(&update["sessionUpdate"]);
            (kind, text(&update["messageId"]), text_of(frame).to_owned())
        })
        .collect()
}

pub fn kill(client: Child) {
    kill_process(client.pid(), Signal::KILL).unwrap();
    drop(client);
}

/// The server in another life, after it was killed.
pub fn restarted(server: Server) -> Server {
    let Server { world, process, .. } = server;
    kill_process(process.pid(), Signal::KILL).unwrap();
    drop(process);
    let (process, ready) = start(&world, &[]);
    Server {
        world,
        process,
        ready,
    }
}

const WAITING: &str = "[[turn]]\nsteps = [{ text = \"Begun \" }, { wait_for = \"go\" }, \
                       { text = \"and done.\" }]\n";

#[test]
fn a_client_goes_on_in_the_middle_of_an_answer() {
    let server = server(WAITING);
    let (mut one, session) = acp(&server);
    let mut two = numbered(&server, &session);
    prompt(&mut one, 3, &session, "tell");
    let (frames, cursor) = until_text(&mut two, "Begun ");
    let begun = said(&frames).pop().unwrap();
    kill(two);

    let mut three = acp_alone(&server);
    let frames = open(
        &mut three,
        &server,
        "session/resume",
        &session,
        cursor.clone(),
    );
    let answer = cursor_of_answer(&frames);
    assert_eq!(answer["outcome"], "resumed");
    assert_eq!(answer["number"], cursor["number"]);
    server.world.file("work/go", "");
    let (frames, later) = until_text(&mut three, "done.");
    let rest = (begun.0, begun.1, "and done.".to_owned());
    assert_eq!(said(&frames), [rest]);
    assert!(later["number"].as_u64() > cursor["number"].as_u64());
    one.until_answer(3);
}

#[test]
fn what_was_missed_comes_with_the_ids_it_had() {
    let server =
        server("[[turn]]\ntext = \"One.\"\n[[turn]]\nthinking = \"Hm.\"\ntext = \"Two.\"\n");
    let (mut one, session) = acp(&server);
    let mut two = numbered(&server, &session);
    let mut live = numbered(&server, &session);
    prompt(&mut one, 3, &session, "first");
    one.until_answer(3);
    let (_, cursor) = until_text(&mut two, "One.");
    kill(two);
    prompt(&mut one, 4, &session, "second");
    one.until_answer(4);

    until_text(&mut live, "One.");
    let (frames, _) = until_text(&mut live, "Two.");
    let expected = said(&frames);
    assert_eq!(expected.len(), 3, "{expected:?}");
    // With `session/load`, too, nothing of what it has comes again.
    for method in ["session/resume", "session/load"] {
        let mut three = acp_alone(&server);
        let frames = open(&mut three, &server, method, &session, cursor.clone());
        assert_eq!(said(&frames), []);
        assert_eq!(cursor_of_answer(&frames)["outcome"], "resumed");
        let (frames, _) = until_text(&mut three, "Two.");
        assert_eq!(said(&frames), expected, "{method}");
    }
}

#[test]
fn a_place_that_is_no_longer_kept_is_answered_with_the_way_to_catch_up() {
    let server = server(WAITING);
    let (mut one, session) = acp(&server);
    let mut two = numbered(&server, &session);
    prompt(&mut one, 3, &session, "tell");
    let (_, cursor) = until_text(&mut two, "Begun ");
    kill(two);
    // How an answer was written is forgotten when it is complete.
    server.world.file("work/go", "");
    one.until_answer(3);
    let mut three = acp_alone(&server);
    let frames = open(
        &mut three,
        &server,
        "session/resume",
        &session,
        cursor.clone(),
    );
    let answer = cursor_of_answer(&frames);
    assert_eq!(
        (&answer["outcome"], &answer["catchUp"]),
        (&json!("too-old"), &json!("session/load"))
    );
    let frames = open(&mut three, &server, "session/load", &session, cursor);
    let texts: Vec<String> = said(&frames).into_iter().map(|(_, _, text)| text).collect();
    assert_eq!(texts, ["tell", "Begun and done."]);
    assert_eq!(cursor_of_answer(&frames)["outcome"], "too-old");
}

#[test]
fn a_place_of_another_life_of_the_server_is_answered_as_such() {
    let server = server("[[turn]]\ntext = \"One.\"\n");
    let (mut one, session) = acp(&server);
    let mut two = numbered(&server, &session);
    prompt(&mut one, 3, &session, "first");
    one.until_answer(3);
    let (frames, cursor) = until_text(&mut two, "One.");
    let live = said(&frames);
    drop((one, two));
    let server = restarted(server);
    let mut three = acp_alone(&server);
    let frames = open(
        &mut three,
        &server,
        "session/load",
        &session,
        cursor.clone(),
    );
    assert_eq!(said(&frames), live, "the ids are the same in another life");
    let answer = cursor_of_answer(&frames);
    assert_eq!(answer["outcome"], "other-epoch");
    assert_ne!(answer["epoch"], cursor["epoch"]);
    for nonsense in [
        json!(7),
        json!({ "epoch": "x" }),
        json!({ "epoch": "x", "number": -1 }),
    ] {
        let frames = open(&mut three, &server, "session/resume", &session, nonsense);
        assert_eq!(frames.last().unwrap()["error"]["code"], -32602);
    }
}

#[test]
fn an_open_question_is_asked_again_of_who_goes_on_behind_it() {
    let scenario = "[[turn]]\ntool = \"bash\"\narguments = { command = \"echo ran > ran.txt\" }\n\
                    [[turn]]\ntext = \"Done.\"\n";
    let server = server(scenario);
    let (mut one, session) = acp(&server);
    let mut two = numbered(&server, &session);
    prompt(&mut one, 3, &session, "run it");
    asked(&mut two);
    kill(two);
    asked(&mut one);
    let rename = json!({ "sessionId": session, "modeId": "ask" });
    one.ask_acp(4, "session/set_mode", rename);
    let (three, _) = acp_too(&server, &session);
    three.end();
    let mut three = numbered(&server, &session);
    let frames = open(&mut three, &server, "session/load", &session, json!(true));
    let cursor = cursor_of_answer(&frames);
    asked(&mut three);
    kill(three);
    let mut four = acp_alone(&server);
    let frames = open(&mut four, &server, "session/resume", &session, cursor);
    assert_eq!(cursor_of_answer(&frames)["outcome"], "resumed");
    let question = asked(&mut four);
    allow(&mut four, &question);
    chunks(&mut four, "agent_message_chunk", "Done.");
}

#[test]
fn psi_goes_on_from_a_cursor() {
    let server = server("[[turn]]\ntext = \"One.\"\n[[turn]]\ntext = \"Two.\"\n");
    let (mut one, session) = acp(&server);
    prompt(&mut one, 3, &session, "first");
    one.until_answer(3);
    let mut psi = psi_too(&server, &session);
    let state = psi.ask_psi("s", "get_state", "{}").pop().unwrap();
    let cursor = state.split_once(":cursor ").unwrap().1;
    let cursor = &cursor[..=cursor.find('}').unwrap()];
    kill(psi);
    prompt(&mut one, 4, &session, "second");
    one.until_answer(4);

    let file = file_of(&server, &session).display().to_string();
    let switch = |cursor: &str| {
        let mut psi = server.relay(&["--rpc-edn"]);
        psi.shake_hands_psi();
        // Everything.
        psi.ask_psi("u", "unsubscribe", "{}");
        let params = format!("{{:session-path {file:?} :cursor {cursor}}}");
        let mut lines = psi.ask_psi("w", "switch_session", &params);
        if lines.concat().contains(":outcome \"resumed\"") {
            lines.extend(psi.until(|line| line.contains("Two.")));
        }
        lines.concat()
    };
    let resumed = switch(cursor);
    assert!(
        !resumed.contains("session/rehydrated") && !resumed.contains("One."),
        "{resumed}"
    );
    assert!(resumed.contains("second"), "{resumed}");
    let missed = switch("{:epoch \"another\" :number 1}");
    assert!(missed.contains(":outcome \"other-epoch\""), "{missed}");
    assert!(
        missed.contains("session/rehydrated") && missed.contains("One."),
        "{missed}"
    );
}

/// What psi is told of a cursor, as a map in its answers.
fn psi_cursor(lines: &[String]) -> String {
    let cursor = lines.last().unwrap().split_once(":cursor ").unwrap().1;
    cursor[..=cursor.find('}').unwrap()].to_owned()
}

#[test]
fn psi_is_answered_the_same_about_a_cursor_whether_it_names_the_id_or_the_file() {
    let server = server("[[turn]]\ntext = \"One.\"\n[[turn]]\ntext = \"Two.\"\n");
    let (mut one, session) = acp(&server);
    prompt(&mut one, 3, &session, "first");
    one.until_answer(3);
    let mut psi = psi_too(&server, &session);
    let good = psi_cursor(&psi.ask_psi("s", "get_state", "{}"));
    let epoch = good.split('"').nth(1).unwrap();
    kill(psi);
    prompt(&mut one, 4, &session, "second");
    one.until_answer(4);
    let file = file_of(&server, &session).display().to_string();
    let names = [
        format!(":session-path {file:?}"),
        format!(":session-id {session:?}"),
    ];
    for (cursor, answered, rehydrated) in [
        (good.as_str(), ":outcome \"resumed\"", false),
        (
            "{:epoch \"another\" :number 1}",
            ":outcome \"other-epoch\"",
            true,
        ),
        (
            &format!("{{:epoch {epoch:?} :number 999999}}"),
            ":outcome \"other-epoch\"",
            true,
        ),
        ("7", ":cursor must be a map", false),
    ] {
        for name in &names {
            let mut psi = server.relay(&["--rpc-edn"]);
            psi.shake_hands_psi();
            // Everything.
            psi.ask_psi("u", "unsubscribe", "{}");
            let params = format!("{{{name} :cursor {cursor}}}");
            let mut lines = psi.ask_psi("w", "switch_session", &params);
            if answered.contains("resumed") {
                lines.extend(psi.until(|line| line.contains("Two.")));
            }
            let lines = lines.concat();
            assert!(lines.contains(answered), "{name} {cursor}: {lines}");
            assert_eq!(lines.contains("session/rehydrated"), rehydrated, "{lines}");
            assert!(rehydrated || !lines.contains("One."), "{lines}");
        }
    }
}

#[test]
fn psi_goes_on_in_the_middle_of_an_answer_with_all_of_its_text() {
    let server = server(WAITING);
    let (mut one, session) = acp(&server);
    prompt(&mut one, 3, &session, "go on");
    chunks(&mut one, "agent_message_chunk", "Begun ");
    let mut psi = psi_too(&server, &session);
    let place = psi_cursor(&psi.ask_psi("s", "get_state", "{}"));
    kill(psi);
    let mut psi = server.relay(&["--rpc-edn"]);
    psi.shake_hands_psi();
    psi.ask_psi("u", "unsubscribe", "{}");
    let params = format!("{{:session-id {session:?} :cursor {place}}}");
    let lines = psi.ask_psi("w", "switch_session", &params).concat();
    assert!(lines.contains(":outcome \"resumed\""), "{lines}");
    server.world.file("work/go", "");
    let is_delta = |line: &str| line.contains("assistant/delta");
    let delta = psi.until(is_delta).pop().unwrap();
    assert!(delta.contains("Begun and done."), "{delta}");
}

/// Asks an omp client something; the answer's `data`, or its `code` when it fails.
fn omp_asks(client: &mut Child, ask: &Value) -> Value {
    client.send(&ask.to_string());
    let answer = client.until(|line| line.contains(r#""type":"response""#));
    let answer: Value = serde_json::from_str(answer.last().unwrap()).unwrap();
    match answer["success"] == true {
        true => answer["data"].clone(),
        false => answer["code"].clone(),
    }
}

fn roles(messages: &Value) -> Vec<&str> {
    let messages = messages.as_array().unwrap().iter();
    messages
        .filter_map(|message| {
            message["message"]["role"]
                .as_str()
                .or(message["role"].as_str())
        })
        .collect()
}

#[test]
fn omp_goes_on_by_its_entries_across_lives_of_the_server() {
    let server = server("[[turn]]\ntext = \"One.\"\n[[turn]]\ntext = \"Two.\"\n");
    let (mut one, session) = acp(&server);
    prompt(&mut one, 3, &session, "first");
    one.until_answer(3);
    let since = |since: &Value| json!({ "id": "e", "type": "get_entries", "since": since });
    let mut omp = omp_too(&server, &session);
    let all = omp_asks(&mut omp, &since(&Value::Null));
    let last = all["entries"].as_array().unwrap().last().unwrap()["id"].clone();
    kill(omp);
    prompt(&mut one, 4, &session, "second");
    one.until_answer(4);
    drop(one);
    let server = restarted(server);
    let mut omp = omp_too(&server, &session);
    let later = omp_asks(&mut omp, &since(&last));
    assert_eq!(roles(&later["entries"]), ["user", "assistant"]);
    // What the session never had is answered as such.
    assert_eq!(
        omp_asks(&mut omp, &since(&json!("deadbeef"))),
        "unknown_since"
    );
}

#[test]
fn omp_goes_on_with_its_pages_across_lives_of_the_server_until_the_context_is_another() {
    let turns = ["One.", "Two.", "A summary."].map(|text| format!("[[turn]]\ntext = {text:?}\n"));
    let server = server_with(
        &turns.concat(),
        "[compaction]\nkeep_recent_tokens = 1\n",
        &[],
    );
    let (mut one, session) = acp(&server);
    for (id, text) in [(3, "first"), (4, "second")] {
        prompt(&mut one, id, &session, text);
        one.until_answer(id);
    }
    let page = |cursor: &Value| json!({ "id": "p", "type": "get_messages_page", "limit": 3, "cursor": cursor });
    let mut omp = omp_too(&server, &session);
    let first = omp_asks(&mut omp, &page(&Value::Null));
    assert_eq!(roles(&first["messages"]), ["user", "assistant", "user"]);
    let cursor = &first["nextCursor"];
    drop((omp, one));
    let server = restarted(server);
    // A client that came by way of another session is in the same one, too.
    let mut omp = server.relay(&["--mode", "rpc"]);
    assert_eq!(omp.json()["type"], "ready");
    let file = file_of(&server, &session).display().to_string();
    let switch = json!({ "id": "s", "type": "switch_session", "sessionPath": file });
    omp_asks(&mut omp, &switch);
    let second = omp_asks(&mut omp, &page(cursor));
    assert_eq!(roles(&second["messages"]), ["assistant"]);
    assert_eq!(second["nextCursor"], Value::Null);
    omp_asks(&mut omp, &json!({ "id": "c", "type": "compact" }));
    assert_eq!(omp_asks(&mut omp, &page(cursor)), "stale_cursor");
}
