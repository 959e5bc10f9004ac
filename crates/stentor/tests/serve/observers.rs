//! Clients with the token to observe, in every dialect: they see everything and change nothing.

use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};

use crate::clients::{acp, acp_too, allow, asked, chunks, file_of, prompt, server_with};
use crate::http_client::Socket;
use crate::server::Server;
use crate::world::Child;

const ONLY_WATCHES: &str = "this connection may only watch the session";

const TWO_ANSWERS: &str = "[[turn]]\ntext = \"One.\"\n[[turn]]\ntext = \"Two.\"\n";

/// A server, and a client that drives a session in which something was said.
fn driven(scenario: &str) -> (Server, Child, String) {
    let server = server_with(scenario, "", &["--http", "0", "--resume-within", "0"]);
    let (mut driver, session) = acp(&server);
    prompt(&mut driver, 3, &session, "first");
    driver.until_answer(3);
    (server, driver, session)
}

fn observer(server: &Server, path: &str) -> Socket {
    server.observer(path)
}

impl Server {
    /// A connection that only watches.
    pub fn observer(&self, path: &str) -> Socket {
        let bearer = format!("Bearer {}", self.token("observe"));
        let headers = [("Authorization", bearer.as_str())];
        self.web_socket_with(path, &headers).unwrap()
    }
}

impl Socket {
    /// The answer to a request of ACP.
    pub fn ask_acp(&mut self, id: u64, method: &str, params: Value) -> Value {
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.send(&request.to_string());
        loop {
            let frame = self.json();
            if frame["id"] == id && frame["method"].is_null() {
                return frame;
            }
        }
    }

    /// The answer to a command of omp or synaps.
    fn ask_line(&mut self, command: &Value) -> Value {
        self.send(&command.to_string());
        loop {
            let frame = self.json();
            if frame["id"] == command["id"] {
                return frame;
            }
        }
    }

    /// The answer to an operation of psi.
    fn ask_psi(&mut self, id: &str, op: &str, params: &str) -> String {
        self.send(&format!(
            "{{:id {id:?} :kind :request :op {op:?} :params {params}}}"
        ));
        loop {
            let frame = self.text();
            let is_answer = frame.contains(":kind :response") || frame.contains(":kind :error");
            if is_answer && frame.contains(&format!(":id {id:?}")) {
                return frame;
            }
        }
    }
}

fn acp_observer(server: &Server, session: &str, servers: &Value) -> (Socket, Value) {
    let mut client = observer(server, "/acp");
    client.ask_acp(1, "initialize", json!({ "protocolVersion": 1 }));
    let load = json!({
        "sessionId": session, "cwd": server.world.path("work"), "mcpServers": servers,
    });
    let loaded = client.ask_acp(2, "session/load", load);
    (client, loaded)
}

#[test]
fn in_acp_an_observer_lists_loads_and_follows_and_drives_nothing() {
    let (server, mut driver, session) = driven(TWO_ANSWERS);
    let mut client = observer(&server, "/acp");
    client.ask_acp(1, "initialize", json!({ "protocolVersion": 1 }));
    let listed = client.ask_acp(2, "session/list", json!({}));
    assert_eq!(
        listed["result"]["sessions"][0]["sessionId"],
        session.as_str()
    );
    let work = server.world.path("work");
    let load = json!({ "sessionId": session, "cwd": work, "mcpServers": [] });
    client.send(
        &json!({ "jsonrpc": "2.0", "id": 3, "method": "session/load", "params": load }).to_string(),
    );
    client.until("One.");
    client.until(r#""id":3"#);

    for (id, (method, params)) in (10..).zip([
        (
            "session/prompt",
            json!({ "sessionId": session, "prompt": [{ "type": "text", "text": "mine" }] }),
        ),
        ("session/new", json!({ "cwd": work, "mcpServers": [] })),
        (
            "session/set_mode",
            json!({ "sessionId": session, "modeId": "all" }),
        ),
        (
            "session/set_model",
            json!({ "sessionId": session, "modelId": "offline/guide" }),
        ),
    ]) {
        let refused = client.ask_acp(id, method, params);
        assert_eq!(refused["error"]["code"], -32602, "{method}: {refused}");
        let message = refused["error"]["message"].to_string();
        assert!(message.contains(ONLY_WATCHES), "{method}: {refused}");
    }
    let abort =
        json!({ "jsonrpc": "2.0", "method": "session/cancel", "params": { "sessionId": session } });
    client.send(&abort.to_string());
    prompt(&mut driver, 4, &session, "second");
    client.until("Two.");
    driver.until_answer(4);

    let refused = client.ask_acp(20, "session/delete", json!({ "sessionId": session }));
    assert!(
        refused["error"]["message"]
            .to_string()
            .contains(ONLY_WATCHES),
        "{refused}"
    );
    assert!(file_of(&server, &session).exists());
    // What is refused closes nothing.
    prompt(&mut driver, 5, &session, "third");
    client.until("third");
    driver.until_answer(5);
}

#[test]
fn a_delete_that_is_refused_leaves_the_client_in_the_session() {
    let (server, mut driver, session) = driven(TWO_ANSWERS);
    let mut other = crate::clients::acp_alone(&server);
    let work = server.world.path("work");
    let load = json!({ "sessionId": session, "cwd": work, "mcpServers": [] });
    other.ask_acp(2, "session/load", load);
    let answered = other.ask_acp(3, "session/delete", json!({ "sessionId": session }));
    let refused = answered.last().unwrap();
    assert!(refused.contains("open in another client"), "{refused}");
    prompt(&mut driver, 4, &session, "second");
    other.until(|line| line.contains("Two."));
    driver.until_answer(4);
}

#[test]
fn a_delete_that_is_refused_stops_nothing() {
    let scenario = "[[turn]]\nsteps = [{ text = \"Begun \" }, { wait_for = \"go\" }, \
                    { text = \"and done.\" }]\n[[turn]]\ntext = \"Two.\"\n";
    let server = server_with(scenario, "", &[]);
    let (mut one, session) = acp(&server);
    let (_two, _) = acp_too(&server, &session);
    prompt(&mut one, 3, &session, "tell");
    chunks(&mut one, "agent_message_chunk", "Begun ");
    let params = json!({ "sessionId": session });
    let frames = one.ask_acp(4, "session/delete", params);
    let refused: Value = serde_json::from_str(frames.last().unwrap()).unwrap();
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(message.contains("open in another client"), "{message}");
    // Nor does a load of it that is refused.
    let load = json!({ "sessionId": session, "cwd": "/nowhere/at/all", "mcpServers": [] });
    let frames = one.ask_acp(5, "session/load", load);
    let refused: Value = serde_json::from_str(frames.last().unwrap()).unwrap();
    assert!(refused["error"].is_object(), "{refused}");
    server.world.file("work/go", "");
    let answer = one.until_answer(3).pop().unwrap();
    assert!(answer.contains(r#""stopReason":"end_turn""#), "{answer}");
    prompt(&mut one, 7, &session, "second");
    chunks(&mut one, "agent_message_chunk", "Two.");
}

#[test]
fn over_http_an_observer_has_a_connection_of_its_own() {
    let (server, _driver, session) = driven(TWO_ANSWERS);
    let observer = format!("Authorization: Bearer {}", server.token("observe"));
    let (content, bearer) = ("Content-Type: application/json", server.bearer());
    let initialize = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize",
        "params": { "protocolVersion": 1 } });
    let opened = server.ask("POST /acp", &[content, &observer], &initialize.to_string());
    assert_eq!(opened.status, 200);
    let id = opened.header("Acp-Connection-Id").unwrap();
    let connection = format!("Acp-Connection-Id: {id}");
    let accept = "Accept: text/event-stream";
    let mut events = server.send("GET /acp", &[accept, &observer, &connection], "");
    let work = server.world.path("work");
    for (id, method, params) in [
        (1, "session/list", json!({})),
        (
            2,
            "session/new",
            json!({ "cwd": work.clone(), "mcpServers": [] }),
        ),
    ] {
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let headers = [content, &observer, &connection];
        let posted = server.ask("POST /acp", &headers, &request.to_string());
        assert_eq!(posted.status, 202);
    }
    let answers = [events.event(), events.event()];
    let of = |id: u64| answers.iter().find(|answer| answer["id"] == id).unwrap();
    assert_eq!(
        of(1)["result"]["sessions"][0]["sessionId"],
        session.as_str()
    );
    assert_eq!(of(2)["error"]["message"], ONLY_WATCHES);
    // Neither token reaches what the other has opened.
    let list = json!({ "jsonrpc": "2.0", "id": 9, "method": "session/list" }).to_string();
    let headers = [content, &bearer, &connection];
    assert_eq!(server.ask("POST /acp", &headers, &list).status, 404);
}

#[test]
fn in_omp_an_observer_reads_and_follows_and_drives_nothing() {
    let (server, mut driver, session) = driven(TWO_ANSWERS);
    let mut client = observer(&server, &format!("/omp?arg=--session&arg={session}"));
    assert_eq!(client.json()["type"], "ready");
    let messages = client.ask_line(&json!({ "id": "m", "type": "get_messages" }));
    assert!(messages.to_string().contains("One."), "{messages}");
    for kind in ["get_state", "get_session_stats", "get_available_models"] {
        let read = client.ask_line(&json!({ "id": kind, "type": kind }));
        assert_eq!(read["success"], true, "{read}");
    }
    for (number, command) in [
        json!({ "type": "prompt", "message": "mine" }),
        json!({ "type": "steer", "message": "mine" }),
        json!({ "type": "follow_up", "message": "mine" }),
        json!({ "type": "abort" }),
        json!({ "type": "bash", "command": "touch bashed" }),
        json!({ "type": "new_session" }),
        json!({ "type": "clone" }),
        json!({ "type": "compact" }),
        json!({ "type": "set_model", "provider": "offline", "modelId": "guide" }),
        json!({ "type": "set_thinking_level", "level": "high" }),
        json!({ "type": "set_session_name", "name": "mine" }),
        json!({ "type": "export_html", "outputPath": "exported.html" }),
        json!({ "type": "set_host_tools", "tools": [] }),
        json!({ "type": "switch_session", "sessionPath": "new.jsonl" }),
        json!({ "type": "steer_subagent", "subagentId": "0", "message": "mine" }),
    ]
    .into_iter()
    .enumerate()
    {
        let mut command = command;
        command["id"] = json!(format!("c{number}"));
        let refused = client.ask_line(&command);
        assert_eq!(refused["success"], false, "{command}: {refused}");
        if command["type"] != "steer_subagent" {
            assert_eq!(refused["error"], ONLY_WATCHES, "{command}: {refused}");
        }
    }
    for file in ["bashed", "exported.html", "new.jsonl"] {
        assert!(!server.world.path("work").join(file).exists(), "{file}");
    }
    prompt(&mut driver, 4, &session, "second");
    client.until("Two.");
    driver.until_answer(4);
}

#[test]
fn in_psi_an_observer_switches_reads_and_follows_and_drives_nothing() {
    let (server, mut driver, session) = driven(TWO_ANSWERS);
    let mut client = observer(&server, "/psi");
    client.ask_psi(
        "h",
        "handshake",
        "{:client-info {:protocol-version \"1.0\"}}",
    );
    client.ask_psi("s", "subscribe", "{}");
    let file = file_of(&server, &session).display().to_string();
    let switched = client.ask_psi(
        "w",
        "switch_session",
        &format!("{{:session-path {file:?}}}"),
    );
    assert!(switched.contains(":ok true"), "{switched}");
    let messages = client.ask_psi("m", "get_messages", "{}");
    assert!(messages.contains("One."), "{messages}");
    for (number, (op, params)) in [
        ("prompt", "{:message \"mine\"}"),
        ("steer", "{:message \"mine\"}"),
        ("abort", "{}"),
        ("bash", "{:command \"touch bashed\"}"),
        ("new_session", "{}"),
        ("set_session_name", "{:name \"mine\"}"),
        (
            "set_model",
            "{:provider \"offline\" :model-id \"guide\" :scope :user}",
        ),
        ("set_thinking_level", "{:level :high}"),
        ("export_html", "{:output-path \"exported.html\"}"),
        ("cancel_background_job", "{:job-id \"job-1\"}"),
    ]
    .into_iter()
    .enumerate()
    {
        let refused = client.ask_psi(&format!("c{number}"), op, params);
        assert!(refused.contains(":kind :error"), "{op}: {refused}");
        assert!(refused.contains(ONLY_WATCHES), "{op}: {refused}");
    }
    for (command, answer) in [
        ("/remember it", "Nothing is remembered"),
        ("/cancel-job job-1", ONLY_WATCHES),
    ] {
        let params = format!("{{:text {command:?}}}");
        client.send(&format!(
            "{{:id {command:?} :kind :request :op \"command\" :params {params}}}"
        ));
        let said = client.until(":kind :response").concat();
        assert!(said.contains(answer), "{said}");
    }
    for file in ["bashed", "exported.html"] {
        assert!(!server.world.path("work").join(file).exists(), "{file}");
    }
    prompt(&mut driver, 4, &session, "second");
    client.until("Two.");
    driver.until_answer(4);
}

#[test]
fn in_synaps_an_observer_reads_and_follows_and_drives_nothing() {
    let (server, mut driver, session) = driven(TWO_ANSWERS);
    let mut client = observer(&server, &format!("/synaps?arg=--continue&arg={session}"));
    assert_eq!(client.json()["session_id"], session.as_str());
    let messages = client.ask_line(&json!({ "id": "m", "type": "get_messages" }));
    assert!(messages.to_string().contains("One."), "{messages}");
    for (number, command) in [
        json!({ "type": "prompt", "message": "mine" }),
        json!({ "type": "follow_up", "message": "mine" }),
        json!({ "type": "abort" }),
        json!({ "type": "compact" }),
        json!({ "type": "set_model", "model": "offline/guide" }),
        json!({ "type": "new_session" }),
    ]
    .into_iter()
    .enumerate()
    {
        let mut command = command;
        command["id"] = json!(format!("c{number}"));
        let refused = client.ask_line(&command);
        assert!(
            refused.to_string().contains(ONLY_WATCHES),
            "{command}: {refused}"
        );
    }
    prompt(&mut driver, 4, &session, "second");
    client.until("Two.");
    driver.until_answer(4);
}

#[test]
fn an_observer_brings_no_programs_no_flags_and_no_sessions_of_its_own() {
    let (server, driver, session) = driven(TWO_ANSWERS);
    let world = &server.world;
    let file = file_of(&server, &session);
    driver.end();
    let release = json!({ "stentor": 1, "release": { "file": file } });
    while !server
        .talk(&format!("{release}\n"))
        .concat()
        .contains("released")
    {
        std::thread::yield_now();
    }
    world.executable("work/e.sh", "#!/bin/sh\ntouch PWNED\n");
    let program = world.path("work/e.sh").display().to_string();
    let servers = json!([{ "name": "e", "command": program, "args": [], "env": [] }]);
    let (_client, loaded) = acp_observer(&server, &session, &servers);
    assert!(loaded["result"].is_object(), "{loaded}");

    let bearer = format!("Bearer {}", server.token("observe"));
    let headers = [("Authorization", bearer.as_str())];
    for path in ["/omp", "/page", "/psi", "/synaps"] {
        let path = format!("{path}?arg=-e&arg={program}");
        assert_eq!(
            server.web_socket_with(&path, &headers).err(),
            Some(503),
            "{path}"
        );
    }
    let mut omp = observer(&server, "/omp");
    assert_eq!(omp.json()["type"], "ready");
    let state = omp.ask_line(&json!({ "id": "s", "type": "get_state" }));
    assert_eq!(state["success"], true, "{state}");
    assert!(state["data"]["sessionFile"].is_null(), "{state}");
    // A file that is no session of the user's is not opened, whatever is in it.
    let copy = world.path("work/copy.jsonl");
    std::fs::copy(&file, &copy).unwrap();
    let switch = json!({ "id": "w", "type": "switch_session", "sessionPath": copy });
    let refused = omp.ask_line(&switch);
    let why = refused["error"].as_str().unwrap();
    assert!(why.contains("is not among the sessions"), "{refused}");
    let stored = std::fs::read_dir(world.path("sessions")).unwrap();
    let stored = stored.map(|file| file.unwrap().path());
    let is_session = |path: &std::path::PathBuf| path.extension().is_some_and(|end| end == "jsonl");
    assert_eq!(stored.filter(is_session).collect::<Vec<_>>(), [file]);
    assert!(!world.path("work/PWNED").exists());
}

#[test]
fn an_observer_is_asked_nothing_and_does_not_pass_for_somebody_who_answers() {
    let scenario = "[[turn]]\ntext = \"One.\"\n[[turn]]\n\
                    steps = [{ text = \"Begun.\" }, { wait_for = \"go\" }, \
                    { tool = \"bash\", arguments = { command = \"echo ran > ran.txt\" } }]\n\
                    [[turn]]\ntext = \"Done.\"\n";
    let (server, mut driver, session) = driven(scenario);
    let (mut watcher, _) = acp_observer(&server, &session, &json!([]));
    prompt(&mut driver, 4, &session, "run it");
    watcher.until("Begun.");
    // Who asked is gone before the question; the observer is there, and the question waits.
    kill_process(driver.pid(), Signal::KILL).unwrap();
    drop(driver);
    let clients = || {
        server
            .talk("{\"stentor\":1,\"control\":\"status\"}\n")
            .concat()
    };
    while clients().matches("\"observes\":false").count() > 0 {
        std::thread::yield_now();
    }
    server.world.file("work/go", "");
    let frames = watcher.until(r#""status":"pending""#);
    assert!(
        !frames.concat().contains("session/request_permission"),
        "{frames:#?}"
    );
    let (mut next, _) = crate::clients::acp_too(&server, &session);
    let question = asked(&mut next);
    allow(&mut next, &question);
    let frames = watcher.until("Done.");
    assert!(
        !frames.concat().contains("session/request_permission"),
        "{frames:#?}"
    );
    assert!(server.world.path("work/ran.txt").exists());
}

#[test]
fn observers_alone_keep_nobody_from_a_session_and_learn_of_its_end() {
    let (server, driver, session) = driven(TWO_ANSWERS);
    let watch = || {
        let (acp, _) = acp_observer(&server, &session, &json!([]));
        let omp = observer(&server, &format!("/omp?arg=--session&arg={session}"));
        let mut psi = observer(&server, "/psi");
        let hello = "{:client-info {:protocol-version \"1.0\"}}";
        psi.ask_psi("h", "handshake", hello);
        psi.ask_psi("s", "subscribe", "{:topics [\"ui/notification\"]}");
        let file = file_of(&server, &session).display().to_string();
        let open = format!("{{:session-path {file:?}}}");
        psi.ask_psi("w", "switch_session", &open);
        let mut page = observer(&server, "/page");
        page.send(&json!({ "do": "open", "session": session }).to_string());
        page.until("One.");
        let mut synaps = observer(&server, &format!("/synaps?arg=--continue&arg={session}"));
        assert_eq!(synaps.json()["session_id"], session.as_str());
        ([acp, omp, psi, page], synaps)
    };
    let learn = |(clients, mut synaps): ([Socket; 4], Socket), why: &str| {
        let [mut acp, mut omp, mut psi, _page] = clients.map(|mut client| {
            client.until(why);
            client
        });
        let closed = "the session was closed";
        let params = json!({ "sessionId": session, "modeId": "all" });
        let refused = acp.ask_acp(7, "session/set_mode", params);
        assert!(refused["error"].is_object(), "{refused}");
        let read = json!({ "id": "m", "type": "get_messages" });
        let refused = omp.ask_line(&read);
        assert_eq!(refused["error"], closed, "{refused}");
        let refused = psi.ask_psi("m", "get_messages", "{}");
        assert!(refused.contains(closed), "{refused}");
        // It has no words but for requests.
        let refused = synaps.ask_line(&read);
        assert!(refused.to_string().contains(closed), "{refused}");
    };
    let run = |words: &[&str]| {
        let mut command = server.world.command(words);
        command.env("STENTOR_SOCKET", server.socket());
        let ran = command.output().unwrap();
        String::from_utf8([ran.stdout, ran.stderr].concat()).unwrap()
    };
    let rename = ["sessions", "rename", &session, "Mine"];
    let watching = watch();
    let said = run(&rename);
    assert!(said.contains("is open in"), "{said}");
    driver.end();
    // The server sees that it is gone.
    while !run(&rename).contains("Renamed") {
        std::thread::yield_now();
    }
    learn(
        watching,
        "This session is closed: another program is using it.",
    );

    let watching = watch();
    let mut other = crate::clients::acp_alone(&server);
    other.ask_acp(2, "session/delete", json!({ "sessionId": session }));
    learn(watching, "This session is closed: it is being deleted.");
    let left = std::fs::read_dir(server.world.path("sessions")).unwrap();
    let left: Vec<_> = left.map(|file| file.unwrap().file_name()).collect();
    assert!(left.is_empty(), "{left:?}");
}
