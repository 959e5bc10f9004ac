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
        {"id":2,"result":{"sessionId":"SESSION-1","modes":{"currentModeId":"ask","availableModes":[{"id":"ask","name":"Ask","description":"Reads in the folder freely and asks before everything else."},{"id":"accept-edits","name":"Accept edits","description":"Reads and changes files in the folder freely and asks before commands."},{"id":"plan","name":"Plan","description":"Only reads until you have accepted a plan."},{"id":"read-only","name":"Read only","description":"Only reads in the folder, and asks nothing."},{"id":"all","name":"Everything allowed","description":"Never asks."}]},"configOptions":[{"id":"mode","name":"Permissions","description":"What is done without asking.","category":"mode","type":"select","currentValue":"ask","options":[{"value":"ask","name":"Ask","description":"Reads in the folder freely and asks before everything else."},{"value":"accept-edits","name":"Accept edits","description":"Reads and changes files in the folder freely and asks before commands."},{"value":"plan","name":"Plan","description":"Only reads until you have accepted a plan."},{"value":"read-only","name":"Read only","description":"Only reads in the folder, and asks nothing."},{"value":"all","name":"Everything allowed","description":"Never asks."}]},{"id":"model","name":"Model","category":"model","type":"select","currentValue":"script/m","options":[{"value":"script/m","name":"A model","description":"script/m"},{"value":"offline/guide","name":"Offline guide","description":"offline/guide"}]},{"id":"thinking","name":"Thinking","description":"How long the model thinks before it answers.","category":"thought_level","type":"select","currentValue":"medium","options":[{"value":"off","name":"Off"},{"value":"minimal","name":"Minimal"},{"value":"low","name":"Low"},{"value":"medium","name":"Medium"},{"value":"high","name":"High"},{"value":"xhigh","name":"Xhigh"}]}]}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"available_commands_update","availableCommands":[{"name":"compact","description":"Summarise the older part of the conversation to make room.","input":{"hint":"what to keep in mind (optional)"}},{"name":"name","description":"Name this session.","input":{"hint":"the name"}},{"name":"plan","description":"Plan first: only read until you have accepted a plan.","input":{"hint":"[on|off]"}},{"name":"rewind","description":"Go back to the point before a message: files, conversation or both.","input":{"hint":"[MESSAGE] [--files|--conversation] [--force], or --undo"}},{"name":"jobs","description":"List what runs in the background, show its output, or stop it.","input":{"hint":"[ID], or stop ID"}}]}}}"#]].assert_eq(&client.shown(&messages));
}

#[test]
fn a_folder_that_cannot_be_worked_in_is_refused() {
    let mut client = Client::with(TALK);
    let refused = [
        json!({ "mcpServers": [] }),
        json!({ "cwd": "", "mcpServers": [] }),
        json!({ "cwd": "work", "mcpServers": [] }),
        json!({ "cwd": "../work/./x", "mcpServers": [] }),
        json!({ "cwd": "~/project", "mcpServers": [] }),
        json!({ "cwd": "x".repeat(5000), "mcpServers": [] }),
        json!({ "cwd": "/no/such/folder", "mcpServers": [] }),
        json!({ "cwd": "/", "mcpServers": [], "additionalDirectories": ["relative"] }),
        json!({ "cwd": "/", "mcpServers": [{ "name": "x" }] }),
        json!({ "cwd": "/", "mcpServers": [{ "type": "pigeon", "name": "x", "url": "http://localhost", "headers": [] }] }),
        json!({ "cwd": "/", "mcpServers": [{ "type": "http", "name": "x", "url": "http://localhost", "headers": [] }, { "name": "x", "command": "/bin/true", "args": [], "env": [] }] }),
    ];
    let answers: Vec<Value> = refused
        .into_iter()
        .map(|params| client.ask_wrong("session/new", params))
        .collect();
    expect![[r#"
        {"id":2,"error":{"code":-32602,"message":"missing field `cwd`"}}
        {"id":3,"error":{"code":-32602,"message":"cwd must be an absolute path"}}
        {"id":4,"error":{"code":-32602,"message":"cwd must be an absolute path; seen from the folder the agent was started in it would be ~~/work/work","data":{"field":"cwd","absolute":"~~/work/work"}}}
        {"id":5,"error":{"code":-32602,"message":"cwd must be an absolute path; seen from the folder the agent was started in it would be ~~/work/x","data":{"field":"cwd","absolute":"~~/work/x"}}}
        {"id":6,"error":{"code":-32602,"message":"cwd must be an absolute path; with your home for `~` it would be ~~/home/project","data":{"field":"cwd","absolute":"~~/home/project"}}}
        {"id":7,"error":{"code":-32602,"message":"cwd must be an absolute path"}}
        {"id":8,"error":{"code":-32602,"message":"cwd must be a folder that exists on this machine"}}
        {"id":9,"error":{"code":-32602,"message":"additionalDirectories must be an absolute path; seen from the folder the agent was started in it would be ~~/work/relative","data":{"field":"additionalDirectories","absolute":"~~/work/relative"}}}
        {"id":10,"error":{"code":-32602,"message":"mcpServers[0] cannot be read: give name, command, args and env, or type, name, url and headers."}}
        {"id":11,"error":{"code":-32602,"message":"mcpServers[0] cannot be read: give name, command, args and env, or type, name, url and headers."}}
        {"id":12,"error":{"code":-32602,"message":"Two MCP servers are called \"x\"."}}"#]].assert_eq(&client.shown(&answers));
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

#[test]
fn missing_or_null_servers_mean_none() {
    let mut client = Client::with(TALK);
    let cwd = client.world.work("");
    let full = client.ask("session/new", json!({ "cwd": cwd, "mcpServers": [] }));
    client.until_update("available_commands_update");
    for params in [
        json!({ "cwd": cwd }),
        json!({ "cwd": cwd, "mcpServers": null, "additionalDirectories": null }),
        json!({ "cwd": cwd, "mcpServers": [], "additionalDirectories": [], "unknown": 1, "_meta": { "x": 1 } }),
    ] {
        let mut answer = client.ask_wrong("session/new", params);
        // But for its id it is the same.
        answer["result"]["sessionId"] = full["result"]["sessionId"].clone();
        assert_eq!(answer["result"], full["result"]);
        client.until_update("available_commands_update");
    }
}

#[test]
fn listed_sessions_have_a_folder_a_title_and_a_time() {
    let mut client = Client::with(TALK);
    client.world.file("work/sub/x", "");
    let sub = client.world.work("sub");
    let first = client.session_in(sub.to_str().unwrap());
    let id = client.prompt(&first, "What does it say?");
    client.until(id);
    let id = client.prompt(&first, "/name The first");
    client.until(id);
    let of_folder = client.ask("session/list", json!({ "cwd": sub }));
    let of_another = client.ask("session/list", json!({ "cwd": "/no/such/folder" }));
    let all = client.ask("session/list", json!({}));
    assert_eq!(all["result"], of_folder["result"]);
    let refused = [
        client.ask("session/list", json!({ "cursor": "nonsense" })),
        client.ask("session/list", json!({ "cwd": "work" })),
        client.ask_wrong("session/list", json!({ "cursor": 5 })),
    ];
    expect![[r#"
        {"id":5,"result":{"sessions":[{"sessionId":"SESSION-1","cwd":"~~/work/sub","title":"The first","updatedAt":"TIME"}]}}
        {"id":6,"result":{"sessions":[]}}
        {"id":8,"error":{"code":-32602,"message":"cursor is not one this agent gave: begin without one"}}
        {"id":9,"error":{"code":-32602,"message":"cwd must be an absolute path; seen from the folder the agent was started in it would be ~~/work/work","data":{"field":"cwd","absolute":"~~/work/work"}}}
        {"id":10,"error":{"code":-32602,"message":"invalid type: integer `5`, expected a string"}}"#]].assert_eq(&format!(
        "{}\n{}",
        client.shown(&[of_folder, of_another]),
        client.shown(&refused)
    ));
}

#[test]
fn a_long_list_comes_in_pages_and_none_is_lost() {
    let mut client = Client::with(TALK);
    let mut ids: Vec<String> = (0..60).map(|_| client.session()).collect();
    let mut found = Vec::new();
    let mut pages = Vec::new();
    let mut cursor = json!(null);
    loop {
        let page = client.ask("session/list", json!({ "cursor": cursor }))["result"].clone();
        let sessions = page["sessions"].as_array().unwrap();
        pages.push(sessions.len());
        for session in sessions {
            found.push(session["sessionId"].as_str().unwrap().to_owned());
        }
        cursor = page["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    ids.sort();
    found.sort();
    assert_eq!((pages, found), (vec![50, 10], ids));
}

#[test]
fn closing_cancels_the_open_prompt_and_keeps_the_history() {
    let mut client = Client::with(
        "[[turn]]\nsteps = [{ text = \"Working\" }, { hang = true }]\n[[turn]]\ntext = \"Again.\"\n",
    );
    let session = client.session();
    client.prompt(&session, "go");
    client.until_update("agent_message_chunk");
    let close = client.send("session/close", json!({ "sessionId": session }));
    let mut messages = client.until(close);
    let again = client.send("session/close", json!({ "sessionId": session }));
    messages.extend(client.until(again));
    let prompt = client.prompt(&session, "more");
    messages.extend(client.until(prompt));
    let cwd = client.world.work("");
    let id = client.send(
        "session/load",
        json!({ "sessionId": session, "cwd": cwd, "mcpServers": [] }),
    );
    let mut told = client.until(id);
    // The answer and the commands have a test of their own.
    told.truncate(told.len() - 2);
    messages.extend(told);
    expect![[r#"
        {"id":3,"result":{"stopReason":"cancelled"}}
        {"id":4,"result":{}}
        {"id":5,"error":{"code":-32002,"message":"There is no such session. List the sessions, or start a new one.","data":{"sessionId":"SESSION-1"}}}
        {"id":6,"error":{"code":-32002,"message":"There is no such session. List the sessions, or start a new one.","data":{"sessionId":"SESSION-1"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"go"},"messageId":"MSG"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Working"},"messageId":"MSG"}}}"#]].assert_eq(&client.shown(&messages));
}

#[test]
fn a_deleted_session_is_gone_also_when_it_was_open_or_busy() {
    let mut client = Client::with("[[turn]]\nsteps = [{ text = \"Working\" }, { hang = true }]\n");
    let (one, two) = (client.session(), client.session());
    client.prompt(&one, "go");
    client.until_update("agent_message_chunk");
    let mut messages = Vec::new();
    for session in [&one, &one, &two] {
        let id = client.send("session/delete", json!({ "sessionId": session }));
        messages.extend(client.until(id));
    }
    messages.push(client.ask("session/list", json!({})));
    let cwd = client.world.work("");
    let params = json!({ "sessionId": one, "cwd": cwd, "mcpServers": [] });
    messages.push(client.ask("session/load", params));
    expect![[r#"
        {"id":4,"result":{"stopReason":"cancelled"}}
        {"id":5,"result":{}}
        {"id":6,"result":{}}
        {"id":7,"result":{}}
        {"id":8,"result":{"sessions":[]}}
        {"id":9,"error":{"code":-32002,"message":"There is no such session. List the sessions, or start a new one.","data":{"sessionId":"SESSION-1"}}}"#]].assert_eq(&client.shown(&messages));
}
