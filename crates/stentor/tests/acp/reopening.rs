//! Going on with stored sessions: `session/load` and `session/resume` (sections 5.2 and 5.3).

use expect_test::expect;
use serde_json::{Value, json};

use crate::client::Client;
use crate::world::World;

const TALK: &str = r#"
on_exhausted = { text = "That was all." }
usage = { input = 10, output = 5 }
[model]
id = "m"
name = "A model"
reasoning = true
[[turn]]
steps = [
  { thinking = "Let me see." },
  { text = "I look." },
  { tool = "read", id = "call-1", arguments = { path = "a.txt", offset = 2, limit = 3 } },
  { tool = "read", id = "call-2", arguments = { path = "missing.txt" } },
]
[[turn]]
text = "It says: b."
"#;

#[test]
fn a_loaded_session_tells_its_history_then_answers_then_is_quiet() {
    let mut client = Client::with(TALK);
    client.world.file("work/a.txt", "a\nb\nc\nd\n");
    let session = client.session();
    let id = client.prompt(&session, "What does it say?");
    client.until(id);
    let mut client = client.restart();
    let cwd = client.world.work("");
    let params = json!({ "sessionId": session, "cwd": cwd, "mcpServers": [] });
    let id = client.send("session/load", params);
    let messages = client.until(id);
    expect![[r#"
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"What does it say?"},"messageId":"MSG"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"Let me see."},"messageId":"MSG-thought"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"I look."},"messageId":"MSG"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call","toolCallId":"call-1","title":"Read a.txt, lines 2 to 4","name":"read","kind":"read","locations":[{"path":"~~/work/a.txt","line":2}],"rawInput":{"limit":3,"offset":2,"path":"a.txt"},"status":"pending"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call","toolCallId":"call-2","title":"Read missing.txt","name":"read","kind":"read","locations":[{"path":"~~/work/missing.txt"}],"rawInput":{"path":"missing.txt"},"status":"pending"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"call-1","status":"completed","content":[{"type":"content","content":{"type":"text","text":"b\nc\nd\n"}}],"rawOutput":{"output":"b\nc\nd\n"}}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"call-2","status":"failed","content":[{"type":"content","content":{"type":"text","text":"ENOENT: no such file or directory, access '~~/work/missing.txt'"}}],"rawOutput":{"output":"ENOENT: no such file or directory, access '~~/work/missing.txt'","details":{}}}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"It says: b."},"messageId":"MSG"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"usage_update","used":15,"size":200000}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"available_commands_update","availableCommands":[{"name":"compact","description":"Summarise the older part of the conversation to make room.","input":{"hint":"what to keep in mind (optional)"}},{"name":"name","description":"Name this session.","input":{"hint":"the name"}},{"name":"plan","description":"Plan first: only read until you have accepted a plan.","input":{"hint":"[on|off]"}},{"name":"rewind","description":"Go back to the point before a message: files, conversation or both.","input":{"hint":"[MESSAGE] [--files|--conversation] [--force], or --undo"}},{"name":"jobs","description":"List what runs in the background, show its output, or stop it.","input":{"hint":"[ID], or stop ID"}}]}}}
        {"id":2,"result":{"modes":{"currentModeId":"ask","availableModes":[{"id":"ask","name":"Ask","description":"Reads in the folder freely and asks before everything else."},{"id":"accept-edits","name":"Accept edits","description":"Reads and changes files in the folder freely and asks before commands."},{"id":"plan","name":"Plan","description":"Only reads until you have accepted a plan."},{"id":"read-only","name":"Read only","description":"Only reads in the folder, and asks nothing."},{"id":"all","name":"Everything allowed","description":"Never asks."}]},"configOptions":[{"id":"mode","name":"Permissions","description":"What is done without asking.","category":"mode","type":"select","currentValue":"ask","options":[{"value":"ask","name":"Ask","description":"Reads in the folder freely and asks before everything else."},{"value":"accept-edits","name":"Accept edits","description":"Reads and changes files in the folder freely and asks before commands."},{"value":"plan","name":"Plan","description":"Only reads until you have accepted a plan."},{"value":"read-only","name":"Read only","description":"Only reads in the folder, and asks nothing."},{"value":"all","name":"Everything allowed","description":"Never asks."}]},{"id":"model","name":"Model","category":"model","type":"select","currentValue":"script/m","options":[{"value":"script/m","name":"A model","description":"script/m"},{"value":"offline/guide","name":"Offline guide","description":"offline/guide"}]},{"id":"thinking","name":"Thinking","description":"How long the model thinks before it answers.","category":"thought_level","type":"select","currentValue":"medium","options":[{"value":"off","name":"Off"},{"value":"minimal","name":"Minimal"},{"value":"low","name":"Low"},{"value":"medium","name":"Medium"},{"value":"high","name":"High"},{"value":"xhigh","name":"Xhigh"}]}]}}"#]].assert_eq(&client.shown(&messages));
    // Whatever would follow would come before the answer to this.
    let answer = client.ask("session/list", json!({}));
    assert_eq!(
        answer["result"]["sessions"][0]["sessionId"],
        session.as_str()
    );
}

#[test]
fn a_resumed_session_goes_on_without_telling_its_history() {
    let mut client = Client::with(TALK);
    let session = client.session();
    let id = client.prompt(&session, "One");
    client.until(id);
    let mut client = client.restart();
    let cwd = client.world.work("");
    let answer = client.ask(
        "session/resume",
        json!({ "sessionId": session, "cwd": cwd }),
    );
    assert_eq!(answer["result"]["modes"]["currentModeId"], "ask");
    client.until_update("available_commands_update");
    expect![[r#"
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"That was all."},"messageId":"MSG"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"usage_update","used":15,"size":200000}}}
        {"id":3,"result":{"stopReason":"end_turn","usage":{"totalTokens":15,"inputTokens":10,"outputTokens":5,"cachedReadTokens":0,"cachedWriteTokens":0},"_meta":{"stentor":{"usage":{"inputTokens":10,"outputTokens":5,"cachedReadTokens":0,"cachedWriteTokens":0,"costUsd":0.0}}}}}"#]].assert_eq(&client.turn(&session, "Two"));
}

#[test]
fn a_session_can_be_loaded_while_it_is_open_and_a_prompt_right_behind_waits_for_it() {
    let mut client = Client::with(TALK);
    let session = client.session();
    let id = client.prompt(&session, "One");
    client.until(id);
    let cwd = client.world.work("");
    let params = json!({ "sessionId": session, "cwd": cwd, "mcpServers": [] });
    let mut told = Vec::new();
    for _ in 0..2 {
        let id = client.send("session/load", params.clone());
        let messages = client.until(id);
        told.push(client.shown(&messages[..messages.len() - 1]));
    }
    assert_eq!(told[0], told[1]);
    let load = client.send("session/load", params);
    let prompt = client.prompt(&session, "Two");
    let messages = client.until(load);
    assert_eq!(client.shown(&messages[..messages.len() - 1]), told[0]);
    let messages = client.until(prompt);
    expect![[r#"
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"That was all."},"messageId":"MSG"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"usage_update","used":15,"size":200000}}}
        {"id":7,"result":{"stopReason":"end_turn","usage":{"totalTokens":15,"inputTokens":10,"outputTokens":5,"cachedReadTokens":0,"cachedWriteTokens":0},"_meta":{"stentor":{"usage":{"inputTokens":10,"outputTokens":5,"cachedReadTokens":0,"cachedWriteTokens":0,"costUsd":0.0}}}}}"#]].assert_eq(&client.shown(&messages));
}

/// What a load tells, without the answer, and the answer's current mode.
fn loaded(client: &mut Client, session: &str) -> (String, Value) {
    let cwd = client.world.work("");
    let params = json!({ "sessionId": session, "cwd": cwd, "mcpServers": [] });
    let id = client.send("session/load", params);
    let mut messages = client.until(id);
    let answer = messages.pop().unwrap();
    let mode = answer["result"]["modes"]["currentModeId"].clone();
    (client.shown(&messages), mode)
}

#[test]
fn a_session_that_is_kept_nowhere_tells_its_history_when_it_is_loaded_and_goes_on() {
    let world = World::new();
    world.file("scenario.toml", TALK);
    let mut client = Client::started(world, &["--no-session"]);
    client.greet(json!({}));
    let session = client.session();
    let id = client.prompt(&session, "One");
    client.until(id);
    let (told, mode) = loaded(&mut client, &session);
    assert_eq!(mode, "ask");
    expect![[r#"
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"One"},"messageId":"MSG"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"Let me see."},"messageId":"MSG-thought"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"I look."},"messageId":"MSG"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call","toolCallId":"call-1","title":"Read a.txt, lines 2 to 4","name":"read","kind":"read","locations":[{"path":"~~/work/a.txt","line":2}],"rawInput":{"limit":3,"offset":2,"path":"a.txt"},"status":"pending"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call","toolCallId":"call-2","title":"Read missing.txt","name":"read","kind":"read","locations":[{"path":"~~/work/missing.txt"}],"rawInput":{"path":"missing.txt"},"status":"pending"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"call-1","status":"failed","content":[{"type":"content","content":{"type":"text","text":"ENOENT: no such file or directory, access '~~/work/a.txt'"}}],"rawOutput":{"output":"ENOENT: no such file or directory, access '~~/work/a.txt'","details":{}}}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"call-2","status":"failed","content":[{"type":"content","content":{"type":"text","text":"ENOENT: no such file or directory, access '~~/work/missing.txt'"}}],"rawOutput":{"output":"ENOENT: no such file or directory, access '~~/work/missing.txt'","details":{}}}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"It says: b."},"messageId":"MSG"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"usage_update","used":15,"size":200000}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"available_commands_update","availableCommands":[{"name":"compact","description":"Summarise the older part of the conversation to make room.","input":{"hint":"what to keep in mind (optional)"}},{"name":"name","description":"Name this session.","input":{"hint":"the name"}},{"name":"plan","description":"Plan first: only read until you have accepted a plan.","input":{"hint":"[on|off]"}},{"name":"rewind","description":"Go back to the point before a message: files, conversation or both.","input":{"hint":"[MESSAGE] [--files|--conversation] [--force], or --undo"}},{"name":"jobs","description":"List what runs in the background, show its output, or stop it.","input":{"hint":"[ID], or stop ID"}}]}}}"#]].assert_eq(&told);
    assert_eq!(loaded(&mut client, &session).0, told);
    let cwd = client.world.work("");
    let params = json!({ "sessionId": session, "cwd": cwd });
    let answer = client.ask("session/resume", params);
    assert_eq!(answer["result"]["modes"]["currentModeId"], "ask");
    client.until_update("available_commands_update");
    expect![[r#"
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"That was all."},"messageId":"MSG"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"usage_update","used":15,"size":200000}}}
        {"id":7,"result":{"stopReason":"end_turn","usage":{"totalTokens":15,"inputTokens":10,"outputTokens":5,"cachedReadTokens":0,"cachedWriteTokens":0},"_meta":{"stentor":{"usage":{"inputTokens":10,"outputTokens":5,"cachedReadTokens":0,"cachedWriteTokens":0,"costUsd":0.0}}}}}"#]].assert_eq(&client.turn(&session, "Two"));
    // One that is not there is still not there.
    let params = json!({ "sessionId": "0", "cwd": cwd, "mcpServers": [] });
    assert_eq!(client.ask("session/load", params)["error"]["code"], -32002);
}

#[test]
fn a_session_whose_file_somebody_removed_survives_being_loaded_and_says_what_is_wrong() {
    let mut client = Client::with(TALK);
    let session = client.session();
    let id = client.prompt(&session, "One");
    client.until(id);
    let (before, _) = loaded(&mut client, &session);
    std::fs::remove_dir_all(client.world.work("../home/.local/share/stentor/sessions")).unwrap();
    let (told, mode) = loaded(&mut client, &session);
    assert_eq!((told, mode), (before, json!("ask")));
    let said = client.turn(&session, "Two");
    assert!(said.contains("was deleted while it was open"), "{said}");
}

#[test]
fn loading_a_busy_session_that_is_kept_nowhere_stops_its_turn_first() {
    let world = World::new();
    let scenario = "on_exhausted = { text = \"More.\" }\n[[turn]]\nsteps = [{ text = \"Working\" }, { hang = true }]\n";
    world.file("scenario.toml", scenario);
    let mut client = Client::started(world, &["--no-session"]);
    client.greet(json!({}));
    let session = client.session();
    let prompt = client.prompt(&session, "go");
    client.until_update("agent_message_chunk");
    let (told, _) = loaded(&mut client, &session);
    let (ended, history) = told.split_once('\n').unwrap();
    assert_eq!(
        ended,
        format!(r#"{{"id":{prompt},"result":{{"stopReason":"cancelled"}}}}"#)
    );
    assert!(history.contains(r#""text":"Working""#), "{history}");
    assert!(client.turn(&session, "again").contains("More."));
}

#[test]
fn what_a_busy_session_had_to_say_is_said_before_it_is_loaded_again() {
    for _ in 0..5 {
        let mut client =
            Client::with("[[turn]]\nsteps = [{ text = \"Working\" }, { hang = true }]\n");
        let session = client.session();
        let prompt = client.prompt(&session, "go");
        client.until_update("agent_message_chunk");
        let cwd = client.world.work("");
        let params = json!({ "sessionId": session, "cwd": cwd, "mcpServers": [] });
        let load = client.send("session/load", params);
        let messages = client.until(load);
        let first = messages.first().unwrap();
        assert_eq!(
            (&first["id"], &first["result"]["stopReason"]),
            (&json!(prompt), &json!("cancelled")),
            "{}",
            client.shown(&messages)
        );
        client.ask("session/list", json!({}));
    }
}

#[test]
fn a_prompt_behind_a_load_can_be_cancelled() {
    let mut client = Client::with(
        r#"
[[turn]]
when = { last_user_contains = "Two" }
text = "x"
times = 100
[[turn]]
when = { last_user_contains = "One" }
steps = [{ hang = true }]
times = 100
"#,
    );
    let session = client.session();
    let cwd = client.world.work("");
    for round in 0..20 {
        let params = json!({ "sessionId": session, "cwd": cwd, "mcpServers": [] });
        client.send("session/load", params);
        let first = client.prompt(&session, "One");
        match round % 2 {
            0 => client.cancel(&session),
            _ => client.notify("$/cancel_request", json!({ "requestId": first })),
        }
        let second = client.prompt(&session, "Two");
        let mut messages = client.until(second);
        let second = messages.pop().unwrap();
        let first = messages.iter().find(|one| one["id"] == first).unwrap();
        let reasons = [first, &second].map(|answer| answer["result"]["stopReason"].clone());
        assert_eq!(reasons, [json!("cancelled"), json!("end_turn")]);
    }
}

#[test]
fn closing_and_loading_happen_in_the_order_they_were_asked_for() {
    let mut client = Client::with("[[turn]]\ntext = \"x\"\ntimes = 100\n");
    let session = client.session();
    let cwd = client.world.work("");
    for _ in 0..10 {
        let close = client.send("session/close", json!({ "sessionId": session }));
        let params = json!({ "sessionId": session, "cwd": cwd, "mcpServers": [] });
        let load = client.send("session/load", params);
        let prompt = client.prompt(&session, "One");
        let close_again = client.send("session/close", json!({ "sessionId": session }));
        let late = client.prompt(&session, "Two");
        let mut answers = Vec::new();
        while answers.len() < 5 {
            let message = client.read();
            if message.get("method").is_none() {
                answers.push(message);
            }
        }
        let of = |id: i64| answers.iter().find(|one| one["id"] == id).unwrap();
        assert_eq!(of(close)["result"], json!({}));
        assert!(of(load)["result"].is_object());
        // It was begun; whether it came to its end is not decided here.
        assert!(of(prompt)["result"]["stopReason"].is_string());
        assert_eq!(of(close_again)["result"], json!({}));
        assert_eq!(of(late)["error"]["code"], -32002);
        let params = json!({ "sessionId": session, "cwd": cwd, "mcpServers": [] });
        let load = client.send("session/load", params);
        client.until(load);
    }
}

#[test]
fn the_mode_the_model_and_the_thinking_level_are_as_they_were_left() {
    let mut client = Client::with(TALK);
    let session = client.session();
    for (option, value) in [("mode", "accept-edits"), ("thinking", "high")] {
        let id = client.send(
            "session/set_config_option",
            json!({ "sessionId": session, "configId": option, "value": value }),
        );
        client.until(id);
    }
    let before = client.options(&session);
    let mut client = client.restart();
    let cwd = client.world.work("");
    for method in ["session/load", "session/resume"] {
        let id = client.send(
            method,
            json!({ "sessionId": session, "cwd": cwd, "mcpServers": [] }),
        );
        let answer = client.until(id).pop().unwrap();
        assert_eq!(answer["result"]["configOptions"], before, "{method}");
        assert_eq!(answer["result"]["modes"]["currentModeId"], "accept-edits");
        client.read_if(method == "session/resume");
    }
    // A new one has the default.
    let answer = client.ask("session/new", json!({ "cwd": cwd, "mcpServers": [] }));
    assert_eq!(answer["result"]["modes"]["currentModeId"], "ask");
}

#[test]
fn a_plan_mode_still_holds_after_a_load() {
    let mut client = Client::with(
        "[[turn]]\ntool = \"bash\"\narguments = { command = \"touch done\" }\n[[turn]]\ntext = \"x\"\n",
    );
    let session = client.session();
    let id = client.send(
        "session/set_mode",
        json!({ "sessionId": session, "modeId": "plan" }),
    );
    client.until(id);
    let mut client = client.restart();
    let cwd = client.world.work("");
    let params = json!({ "sessionId": session, "cwd": cwd, "mcpServers": [] });
    let load = client.send("session/load", params);
    client.until(load);
    let messages = client.turn(&session, "go");
    assert!(messages.contains(r#""status":"failed""#), "{messages}");
    assert!(!client.world.work("done").exists());
}

#[test]
fn a_name_given_after_a_load_is_told() {
    let mut client = Client::with(TALK);
    let session = client.session();
    let mut client = client.restart();
    let cwd = client.world.work("");
    let params = json!({ "sessionId": session, "cwd": cwd, "mcpServers": [] });
    let load = client.send("session/load", params);
    client.until(load);
    expect![[r#"
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"session_info_update","title":"Mine"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"This session is now called \"Mine\"."},"messageId":"MSG-said-0"}}}
        {"id":3,"result":{"stopReason":"end_turn"}}"#]].assert_eq(&client.turn(&session, "/name Mine"));
}

#[test]
fn an_unknown_session_is_not_found_and_an_impossible_one_refused() {
    let mut client = Client::with(TALK);
    let cwd = client.world.work("");
    let unknown = "0195f3a2-7b1c-7d2e-8f00-1234567890ab";
    let mut answers = Vec::new();
    for (method, session) in [
        ("session/load", unknown),
        ("session/resume", unknown),
        ("session/prompt", unknown),
        ("session/close", unknown),
        ("session/set_mode", unknown),
        ("_session/steering", unknown),
        ("session/load", "../../etc/passwd"),
        ("session/load", "scenario.jsonl"),
        ("session/delete", "a/b"),
    ] {
        let params = json!({ "sessionId": session, "cwd": cwd, "mcpServers": [], "modeId": "ask", "prompt": [] });
        answers.push(client.ask_wrong(method, params));
    }
    expect![[r#"
        {"id":2,"error":{"code":-32002,"message":"There is no such session. List the sessions, or start a new one.","data":{"sessionId":"0195f3a2-7b1c-7d2e-8f00-1234567890ab"}}}
        {"id":3,"error":{"code":-32002,"message":"There is no such session. List the sessions, or start a new one.","data":{"sessionId":"0195f3a2-7b1c-7d2e-8f00-1234567890ab"}}}
        {"id":4,"error":{"code":-32002,"message":"There is no such session. List the sessions, or start a new one.","data":{"sessionId":"0195f3a2-7b1c-7d2e-8f00-1234567890ab"}}}
        {"id":5,"error":{"code":-32002,"message":"There is no such session. List the sessions, or start a new one.","data":{"sessionId":"0195f3a2-7b1c-7d2e-8f00-1234567890ab"}}}
        {"id":6,"error":{"code":-32002,"message":"There is no such session. List the sessions, or start a new one.","data":{"sessionId":"0195f3a2-7b1c-7d2e-8f00-1234567890ab"}}}
        {"id":7,"error":{"code":-32002,"message":"There is no such session. List the sessions, or start a new one.","data":{"sessionId":"0195f3a2-7b1c-7d2e-8f00-1234567890ab"}}}
        {"id":8,"error":{"code":-32602,"message":"sessionId is not one this agent gives: letters, digits, `-`, `_` and `.`","data":{"field":"sessionId"}}}
        {"id":9,"error":{"code":-32002,"message":"There is no such session. List the sessions, or start a new one.","data":{"sessionId":"scenario.jsonl"}}}
        {"id":10,"error":{"code":-32602,"message":"sessionId is not one this agent gives: letters, digits, `-`, `_` and `.`","data":{"field":"sessionId"}}}"#]].assert_eq(&client.shown(&answers));
}

#[test]
fn the_beginning_of_an_id_is_not_the_id() {
    let mut client = Client::with(TALK);
    let session = client.session();
    let cwd = client.world.work("");
    let params = json!({ "sessionId": &session[..20], "cwd": cwd, "mcpServers": [] });
    assert_eq!(client.ask("session/load", params)["error"]["code"], -32002);
    let params = json!({ "sessionId": &session[..20] });
    assert_eq!(client.ask("session/delete", params)["result"], json!({}));
    let listed = client.ask("session/list", json!({}));
    assert_eq!(
        listed["result"]["sessions"][0]["sessionId"],
        session.as_str()
    );
}
