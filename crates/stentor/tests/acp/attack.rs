//! Clients that hurry, do things twice, at the wrong time, or stop in the middle.

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::client::{Client, is_request};

const TALK: &str = "[[turn]]\ntext = \"x\"\ntimes = 100000\n";
const HANGS: &str = "[[turn]]\nsteps = [{ text = \"x\" }, { hang = true }]\ntimes = 1000\n";

/// Reads until every one of these requests is answered; exactly once each.
fn answers(client: &mut Client, ids: &[i64]) -> HashMap<i64, Value> {
    let mut answers = HashMap::new();
    while answers.len() < ids.len() {
        let message = client.read();
        if message.get("method").is_none() {
            let id = message["id"].as_i64().unwrap();
            assert!(ids.contains(&id), "{message}");
            assert!(
                answers.insert(id, message).is_none(),
                "{id} was answered twice"
            );
        }
    }
    answers
}

#[test]
fn a_thousand_pipelined_requests_are_each_answered_once() {
    let mut client = Client::with(TALK);
    let session = client.session();
    let cwd = client.world.work("");
    // As many lines at a time as the pipes hold, since nobody reads meanwhile.
    for _ in 0..20 {
        let ids: Vec<i64> = (0..50)
            .map(|n| match n % 5 {
                0 => client.send("session/list", json!({ "cwd": "/nowhere" })),
                1 => client.send("_x", json!({})),
                2 => client.send_wrong("session/set_mode", json!({ "sessionId": session })),
                3 => client.send("session/resume", json!({ "sessionId": "no", "cwd": cwd })),
                _ => client.send("session/close", json!({ "sessionId": "no" })),
            })
            .collect();
        answers(&mut client, &ids);
    }
}

#[test]
fn changes_and_prompts_in_a_row_keep_their_order() {
    let mut client = Client::with(TALK);
    let session = client.session();
    let mut ids = Vec::new();
    for mode in ["all", "ask", "read-only", "accept-edits"].repeat(5) {
        ids.push(client.send(
            "session/set_mode",
            json!({ "sessionId": session, "modeId": mode }),
        ));
    }
    let mut modes = Vec::new();
    let mut answered = Vec::new();
    while answered.len() < ids.len() {
        let message = client.read();
        if let Some(mode) = message["params"]["update"]["currentModeId"].as_str() {
            modes.push(mode.to_owned());
        }
        if message.get("method").is_none() {
            answered.push(message["id"].as_i64().unwrap());
        }
    }
    assert_eq!(answered, ids);
    assert_eq!(modes, ["all", "ask", "read-only", "accept-edits"].repeat(5));
}

#[test]
fn of_two_prompts_at_once_one_is_served_and_one_refused() {
    let mut client = Client::with(HANGS);
    for _ in 0..10 {
        let session = client.session();
        let ids = [
            client.prompt(&session, "one"),
            client.prompt(&session, "two"),
        ];
        let refused = client.until(ids[1]).pop().unwrap();
        assert_eq!(refused["error"]["code"], -32602);
        client.cancel(&session);
        let served = client.until(ids[0]).pop().unwrap();
        assert_eq!(served["result"]["stopReason"], "cancelled");
    }
}

#[test]
fn sessions_closed_in_the_middle_of_anything_answer_what_was_open() {
    let (mut client, _) = Client::unasked(
        r#"
on_exhausted = { text = "x" }
[[turn]]
when = { last_user_contains = "tool" }
steps = [{ tool = "bash", id = "c1", arguments = { command = "sleep 1000" } }]
[[turn]]
when = { last_user_contains = "hang" }
steps = [{ hang = true }]
"#,
        json!({}),
    );
    for n in 0..30 {
        let session = client.session();
        let text = ["quick", "tool", "hang"][n % 3];
        let prompt = client.prompt(&session, text);
        let method = ["session/close", "session/delete"][n % 2];
        let end = client.send(method, json!({ "sessionId": session }));
        let all = answers(&mut client, &[prompt, end]);
        let reason = all[&prompt]["result"]["stopReason"].as_str();
        let reason = reason.unwrap_or_else(|| panic!("{text}: {}", all[&prompt]));
        assert!(
            reason == "cancelled" || (text == "quick" && reason == "end_turn"),
            "{text}: {reason}"
        );
        assert_eq!(all[&end]["result"], json!({}));
    }
}

#[test]
fn nothing_of_a_closed_session_follows_its_closing() {
    let mut client = Client::with("[[turn]]\ntext = \"word \"\nrepeat = 100000000\n");
    let session = client.session();
    client.prompt(&session, "go");
    client.until_update("agent_message_chunk");
    let close = client.send("session/close", json!({ "sessionId": session }));
    client.until(close);
    client.ask("session/list", json!({ "cwd": "/nowhere" }));
}

#[test]
fn a_client_that_never_answers_a_question_can_still_cancel() {
    let mut client = Client::with(
        "[[turn]]\nsteps = [{ tool = \"bash\", id = \"c1\", arguments = { command = \"true\" } }]\ntimes = 100\n",
    );
    let session = client.session();
    for _ in 0..5 {
        let prompt = client.prompt(&session, "go");
        client.read_until(is_request);
        client.cancel(&session);
        client.cancel(&session);
        let answer = client.until(prompt).pop().unwrap();
        assert_eq!(answer["result"]["stopReason"], "cancelled");
    }
}

#[test]
fn methods_for_sessions_that_are_not_open_say_so_and_do_nothing() {
    let mut client = Client::with(TALK);
    let session = client.session();
    client.ask("session/close", json!({ "sessionId": session }));
    let option = json!({ "sessionId": session, "configId": "mode", "value": "all" });
    let text = json!([{ "type": "text", "text": "x" }]);
    for (method, params) in [
        (
            "session/prompt",
            json!({ "sessionId": session, "prompt": text }),
        ),
        (
            "session/set_mode",
            json!({ "sessionId": session, "modeId": "all" }),
        ),
        ("session/set_config_option", option),
        (
            "session/set_model",
            json!({ "sessionId": session, "modelId": "offline/guide" }),
        ),
        ("session/close", json!({ "sessionId": session })),
        (
            "_session/steering",
            json!({ "sessionId": session, "prompt": text }),
        ),
    ] {
        let answer = client.ask(method, params);
        assert_eq!(
            answer["error"],
            json!({
                "code": -32002,
                "message": "There is no such session. List the sessions, or start a new one.",
                "data": { "sessionId": session },
            }),
            "{method}"
        );
    }
}

#[test]
fn prompts_of_many_sessions_cancelled_at_once_all_end() {
    let mut client = Client::with(HANGS);
    let sessions: Vec<String> = (0..30).map(|_| client.session()).collect();
    let prompts: Vec<i64> = sessions
        .iter()
        .map(|session| client.prompt(session, "go"))
        .collect();
    for session in &sessions {
        client.cancel(session);
    }
    for answer in answers(&mut client, &prompts).values() {
        assert_eq!(answer["result"]["stopReason"], "cancelled");
    }
}

#[test]
fn steering_with_files_nobody_gives_does_not_stop_the_reading() {
    let (mut client, session) = Client::unasked(HANGS, json!({ "fs": { "readTextFile": true } }));
    let prompt = client.prompt(&session, "go");
    client.until_update("agent_message_chunk");
    let link = json!([{ "type": "resource_link", "uri": "file:///x", "name": "x" }]);
    let params = json!({ "sessionId": session, "prompt": link });
    let steered: Vec<i64> = (0..70)
        .map(|_| client.send("_session/steering", params.clone()))
        .collect();
    // The last ones are refused at once; the others wait for the client's files.
    let refused = client.until(*steered.last().unwrap()).pop().unwrap();
    assert_eq!(refused["error"]["code"], -32603);
    client.cancel(&session);
    let answer = client.until(prompt).pop().unwrap();
    assert_eq!(answer["result"]["stopReason"], "cancelled");
}

/// Everything that can be asked of a session, in every order.
const ORDERS: [&str; 24] = [
    "pclx", "pcxl", "plcx", "plxc", "pxcl", "pxlc", "cplx", "cpxl", "clpx", "clxp", "cxpl", "cxlp",
    "lpcx", "lpxc", "lcpx", "lcxp", "lxpc", "lxcp", "xpcl", "xplc", "xcpl", "xclp", "xlpc", "xlcp",
];

/// Prompts (`p`), cancels (`c`), loads (`l`) and closes (`x`) a session without waiting for
/// anything. Each request must be answered, and once.
fn all_at_once(client: &mut Client, session: &str, order: &str) {
    let cwd = client.world.work("");
    let mut asked = Vec::new();
    let mut prompt = 0;
    for step in order.chars() {
        match step {
            'p' => {
                prompt = client.prompt(session, "go");
                asked.push(prompt);
            }
            'c' => client.cancel(session),
            'l' => {
                let params = json!({ "sessionId": session, "cwd": cwd, "mcpServers": [] });
                asked.push(client.send("session/load", params));
            }
            _ => asked.push(client.send("session/close", json!({ "sessionId": session }))),
        }
    }
    // What nobody has stopped would go on for ever.
    client.cancel(session);
    let answers = answers(client, &asked);
    for (id, answer) in &answers {
        let is_closed = answer["error"]["code"] == -32002;
        let is_cancelled = answer["result"]["stopReason"] == "cancelled";
        match *id == prompt {
            true => assert!(is_cancelled || is_closed, "{order}: {answer}"),
            false => assert!(answer["result"].is_object(), "{order}: {answer}"),
        }
    }
    // Nothing follows, neither a second answer nor an update.
    client.ask("session/list", json!({ "cwd": "/nowhere" }));
}

#[test]
fn whatever_is_asked_of_a_session_in_whatever_order_is_answered_once() {
    let mut client = Client::with(HANGS);
    for order in ORDERS {
        let session = client.session();
        all_at_once(&mut client, &session, order);
    }
}

#[test]
fn whatever_is_asked_of_an_unloaded_session_in_whatever_order_is_answered_once() {
    let mut client = Client::with(HANGS);
    let sessions: Vec<String> = ORDERS.iter().map(|_| client.session()).collect();
    for _ in 0..40 {
        client.session();
    }
    for (session, order) in sessions.iter().zip(ORDERS) {
        all_at_once(&mut client, session, order);
    }
}

#[test]
fn a_cancel_overtakes_the_changes_that_wait_before_it() {
    let mut client = Client::with(HANGS);
    let session = client.session();
    let prompt = client.prompt(&session, "go");
    let mut asked = vec![prompt];
    for mode in ["all", "ask"].repeat(25) {
        let params = json!({ "sessionId": session, "modeId": mode });
        asked.push(client.send("session/set_mode", params));
    }
    client.cancel(&session);
    let next = client.prompt(&session, "/name Next");
    asked.push(next);
    let answers = answers(&mut client, &asked);
    assert_eq!(answers[&prompt]["result"]["stopReason"], "cancelled");
    assert_eq!(answers[&next]["result"]["stopReason"], "end_turn");
}
