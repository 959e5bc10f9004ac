//! Making sessions, finding them again, closing and deleting them (section 5).

use expect_test::expect;
use serde_json::{Value, json};

use crate::client::Client;

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
fn a_new_session_has_modes_options_and_commands() {
    let mut client = Client::with(TALK);
    let cwd = client.world.work("");
    let id = client.send("session/new", json!({ "cwd": cwd, "mcpServers": [] }));
    let mut messages = client.until(id);
    let session = messages[0]["result"]["sessionId"]
        .as_str()
        .unwrap()
        .to_owned();
    client.know(&session);
    messages.push(client.read());
    expect![[r#"
        {"id":2,"result":{"sessionId":"SESSION-1","modes":{"currentModeId":"ask","availableModes":[{"id":"ask","name":"Ask","description":"Reads in the folder freely and asks before everything else."},{"id":"accept-edits","name":"Accept edits","description":"Reads and changes files in the folder freely and asks before commands."},{"id":"read-only","name":"Plan (read only)","description":"Only reads in the folder: to look around and plan."},{"id":"all","name":"Everything allowed","description":"Never asks."}]},"configOptions":[{"id":"mode","name":"Permissions","description":"What is done without asking.","category":"mode","type":"select","currentValue":"ask","options":[{"value":"ask","name":"Ask","description":"Reads in the folder freely and asks before everything else."},{"value":"accept-edits","name":"Accept edits","description":"Reads and changes files in the folder freely and asks before commands."},{"value":"read-only","name":"Plan (read only)","description":"Only reads in the folder: to look around and plan."},{"value":"all","name":"Everything allowed","description":"Never asks."}]},{"id":"model","name":"Model","category":"model","type":"select","currentValue":"script/m","options":[{"value":"script/m","name":"A model","description":"script/m"},{"value":"offline/guide","name":"Offline guide","description":"offline/guide"}]},{"id":"thinking","name":"Thinking","description":"How long the model thinks before it answers.","category":"thought_level","type":"select","currentValue":"medium","options":[{"value":"off","name":"Off"},{"value":"minimal","name":"Minimal"},{"value":"low","name":"Low"},{"value":"medium","name":"Medium"},{"value":"high","name":"High"},{"value":"xhigh","name":"Xhigh"}]}]}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"available_commands_update","availableCommands":[{"name":"compact","description":"Summarise the older part of the conversation to make room.","input":{"hint":"what to keep in mind (optional)"}},{"name":"name","description":"Name this session.","input":{"hint":"the name"}}]}}}"#]].assert_eq(&client.shown(&messages));
}

#[test]
fn a_folder_that_cannot_be_worked_in_is_refused() {
    let mut client = Client::with(TALK);
    let refused = [
        json!({ "mcpServers": [] }),
        json!({ "cwd": "", "mcpServers": [] }),
        json!({ "cwd": "work", "mcpServers": [] }),
        json!({ "cwd": "/no/such/folder", "mcpServers": [] }),
        json!({ "cwd": "/", "mcpServers": [], "additionalDirectories": ["relative"] }),
        json!({ "cwd": "/", "mcpServers": [{ "name": "x" }] }),
    ];
    let answers: Vec<Value> = refused
        .into_iter()
        .map(|params| client.ask("session/new", params))
        .collect();
    expect![[r#"
        {"id":2,"error":{"code":-32602,"message":"missing field `cwd` at line 1 column 17"}}
        {"id":3,"error":{"code":-32602,"message":"cwd must be an absolute path"}}
        {"id":4,"error":{"code":-32602,"message":"cwd must be an absolute path"}}
        {"id":5,"error":{"code":-32602,"message":"cwd must be a folder that exists on this machine"}}
        {"id":6,"error":{"code":-32602,"message":"additionalDirectories must be absolute paths"}}
        {"id":7,"error":{"code":-32602,"message":"data did not match any variant of untagged enum McpServer at line 1 column 38"}}"#]].assert_eq(&client.shown(&answers));
}

#[test]
fn missing_or_null_servers_mean_none() {
    let mut client = Client::with(TALK);
    let cwd = client.world.work("");
    for params in [
        json!({ "cwd": cwd }),
        json!({ "cwd": cwd, "mcpServers": null, "additionalDirectories": null }),
    ] {
        let answer = client.ask("session/new", params);
        assert!(answer["result"]["sessionId"].is_string(), "{answer}");
        client.until_update("available_commands_update");
    }
}

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
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call","toolCallId":"call-1","title":"Read a.txt, lines 2 to 4","name":"read","kind":"read","locations":[{"path":"~~/work/a.txt","line":2}],"rawInput":{"limit":3,"offset":2,"path":"a.txt"}}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call","toolCallId":"call-2","title":"Read missing.txt","name":"read","kind":"read","locations":[{"path":"~~/work/missing.txt"}],"rawInput":{"path":"missing.txt"}}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"call-1","status":"completed","content":[{"type":"content","content":{"type":"text","text":"b\nc\nd\n"}}],"rawOutput":{"output":"b\nc\nd\n"}}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"call-2","status":"failed","content":[{"type":"content","content":{"type":"text","text":"ENOENT: no such file or directory, access '~~/work/missing.txt'"}}],"rawOutput":{"output":"ENOENT: no such file or directory, access '~~/work/missing.txt'","details":{}}}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"It says: b."},"messageId":"MSG"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"usage_update","used":15,"size":200000}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"available_commands_update","availableCommands":[{"name":"compact","description":"Summarise the older part of the conversation to make room.","input":{"hint":"what to keep in mind (optional)"}},{"name":"name","description":"Name this session.","input":{"hint":"the name"}}]}}}
        {"id":2,"result":{"modes":{"currentModeId":"ask","availableModes":[{"id":"ask","name":"Ask","description":"Reads in the folder freely and asks before everything else."},{"id":"accept-edits","name":"Accept edits","description":"Reads and changes files in the folder freely and asks before commands."},{"id":"read-only","name":"Plan (read only)","description":"Only reads in the folder: to look around and plan."},{"id":"all","name":"Everything allowed","description":"Never asks."}]},"configOptions":[{"id":"mode","name":"Permissions","description":"What is done without asking.","category":"mode","type":"select","currentValue":"ask","options":[{"value":"ask","name":"Ask","description":"Reads in the folder freely and asks before everything else."},{"value":"accept-edits","name":"Accept edits","description":"Reads and changes files in the folder freely and asks before commands."},{"value":"read-only","name":"Plan (read only)","description":"Only reads in the folder: to look around and plan."},{"value":"all","name":"Everything allowed","description":"Never asks."}]},{"id":"model","name":"Model","category":"model","type":"select","currentValue":"script/m","options":[{"value":"script/m","name":"A model","description":"script/m"},{"value":"offline/guide","name":"Offline guide","description":"offline/guide"}]},{"id":"thinking","name":"Thinking","description":"How long the model thinks before it answers.","category":"thought_level","type":"select","currentValue":"medium","options":[{"value":"off","name":"Off"},{"value":"minimal","name":"Minimal"},{"value":"low","name":"Low"},{"value":"medium","name":"Medium"},{"value":"high","name":"High"},{"value":"xhigh","name":"Xhigh"}]}]}}"#]].assert_eq(&client.shown(&messages));
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
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"That was all."},"messageId":"MSG-2"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"usage_update","used":15,"size":200000}}}
        {"id":3,"result":{"stopReason":"end_turn","_meta":{"stentor":{"usage":{"inputTokens":10,"outputTokens":5,"cachedReadTokens":0,"cachedWriteTokens":0,"costUsd":0.0}}}}}"#]].assert_eq(&client.turn(&session, "Two"));
}

#[test]
fn a_session_can_be_loaded_while_it_is_open() {
    let mut client = Client::with(TALK);
    let session = client.session();
    let id = client.prompt(&session, "One");
    client.until(id);
    let cwd = client.world.work("");
    for _ in 0..2 {
        let id = client.send(
            "session/load",
            json!({ "sessionId": session, "cwd": cwd, "mcpServers": [] }),
        );
        let messages = client.until(id);
        assert!(messages.last().unwrap()["result"].is_object());
    }
    // A prompt right behind a load waits for it.
    client.send(
        "session/load",
        json!({ "sessionId": session, "cwd": cwd, "mcpServers": [] }),
    );
    let id = client.prompt(&session, "Two");
    let answer = client.until(id).pop().unwrap();
    assert_eq!(answer["result"]["stopReason"], "end_turn", "{answer}");
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
        answers.push(client.ask(method, params));
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

#[test]
fn sessions_are_listed_by_folder_and_page() {
    let mut client = Client::with(TALK);
    client.world.file("work/sub/x", "");
    let sub = client.world.work("sub");
    let other = client.session_in(sub.to_str().unwrap());
    let mut ids: Vec<String> = (0..60).map(|_| client.session()).collect();
    let answer = client.ask("session/list", json!({ "cwd": sub }));
    let listed = answer["result"]["sessions"].as_array().unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0]["sessionId"], other.as_str());

    let mut found = Vec::new();
    let mut cursor = Value::Null;
    let mut pages = 0;
    loop {
        let page = client.ask("session/list", json!({ "cursor": cursor }))["result"].clone();
        for session in page["sessions"].as_array().unwrap() {
            found.push(session["sessionId"].as_str().unwrap().to_owned());
        }
        pages += 1;
        cursor = page["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    ids.push(other);
    ids.sort();
    found.sort();
    assert_eq!((pages, found), (2, ids));
    let answer = client.ask("session/list", json!({ "cursor": "nonsense" }));
    assert_eq!(answer["error"]["code"], -32602);
    let answer = client.ask("session/list", json!({ "cwd": "work" }));
    assert_eq!(answer["error"]["code"], -32602);
}

#[test]
fn closing_cancels_the_open_prompt_and_keeps_the_history() {
    let mut client = Client::with(
        "[[turn]]\nsteps = [{ text = \"Working\" }, { hang = true }]\n[[turn]]\ntext = \"Again.\"\n",
    );
    let session = client.session();
    let prompt = client.prompt(&session, "go");
    client.until_update("agent_message_chunk");
    let close = client.send("session/close", json!({ "sessionId": session }));
    let messages = client.until(close);
    let prompt_answer = messages.iter().find(|one| one["id"] == prompt).unwrap();
    assert_eq!(prompt_answer["result"]["stopReason"], "cancelled");
    assert_eq!(messages.last().unwrap()["result"], json!({}));
    let answer = client.ask(
        "session/prompt",
        json!({ "sessionId": session, "prompt": [] }),
    );
    assert_eq!(answer["error"]["code"], -32002);
    let cwd = client.world.work("");
    let id = client.send(
        "session/load",
        json!({ "sessionId": session, "cwd": cwd, "mcpServers": [] }),
    );
    let told = client.until(id);
    assert_eq!(told[0]["params"]["update"]["content"]["text"], "go");
}

#[test]
fn a_deleted_session_is_gone_also_when_it_was_open() {
    let mut client = Client::with(TALK);
    let (one, two) = (client.session(), client.session());
    for session in [&one, &one, &two] {
        let answer = client.ask("session/delete", json!({ "sessionId": session }));
        assert_eq!(answer["result"], json!({}));
    }
    assert_eq!(
        client.ask("session/list", json!({}))["result"],
        json!({ "sessions": [] })
    );
    let cwd = client.world.work("");
    let params = json!({ "sessionId": one, "cwd": cwd, "mcpServers": [] });
    assert_eq!(client.ask("session/load", params)["error"]["code"], -32002);
}

#[test]
fn several_sessions_work_at_once_each_in_its_folder() {
    let mut client = Client::with(
        r#"
[[turn]]
tool = "read"
arguments = { path = "name.txt" }
[[turn]]
text = "{{last_tool_result}}"
"#,
    );
    let mut open = Vec::new();
    for n in 0..5 {
        client
            .world
            .file(&format!("work/{n}/name.txt"), &format!("folder {n}"));
        let cwd = client.world.work(&n.to_string());
        open.push(client.session_in(cwd.to_str().unwrap()));
    }
    let prompts: Vec<i64> = open
        .iter()
        .map(|session| client.prompt(session, "go"))
        .collect();
    let mut said = vec![String::new(); 5];
    let mut answered = 0;
    while answered < 5 {
        let message = client.read();
        if prompts.iter().any(|id| message["id"] == *id) {
            assert_eq!(message["result"]["stopReason"], "end_turn");
            answered += 1;
        }
        let update = &message["params"]["update"];
        if update["sessionUpdate"] == "agent_message_chunk" {
            let n = open
                .iter()
                .position(|id| message["params"]["sessionId"] == id.as_str());
            said[n.unwrap()].push_str(update["content"]["text"].as_str().unwrap());
        }
    }
    let expected: Vec<String> = (0..5).map(|n| format!("folder {n}")).collect();
    assert_eq!(said, expected);
}
