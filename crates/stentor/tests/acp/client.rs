//! A client of the program, and the fixed rule by which what it reads is made comparable.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;

use serde_json::{Value, json};
use stentor_test_support::KillOnDrop;

use crate::schema;
use crate::world::World;

/// A program that runs, and what a client knows about it.
pub struct Client {
    pub world: Arc<World>,
    child: KillOnDrop,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    next_id: i64,
    /// The methods of our requests, so that their answers can be checked.
    asked: HashMap<i64, String>,
    /// The requests of the program that wait for our answer.
    open: HashMap<i64, String>,
    sessions: Vec<String>,
}

impl Client {
    /// Starts the program with a model that plays `scenario`, and shakes hands.
    pub fn with(scenario: &str) -> Self {
        Self::offering(scenario, json!({}))
    }

    /// The same as a client with these capabilities.
    pub fn offering(scenario: &str, capabilities: Value) -> Self {
        let mut client = Self::silent(World::new(), scenario);
        client.greet(capabilities);
        client
    }

    /// The same in which nothing is asked.
    pub fn unasked(scenario: &str, capabilities: Value) -> (Self, String) {
        let world = World::new();
        world.file("scenario.toml", scenario);
        let mut client = Self::started(world, &["--permission-mode", "all"]);
        client.greet(capabilities);
        let session = client.session();
        (client, session)
    }

    /// The program without a word said.
    pub fn silent(world: World, scenario: &str) -> Self {
        world.file("scenario.toml", scenario);
        Self::started(world, &[])
    }

    /// The program in a world that has a scenario already.
    pub fn started(world: impl Into<Arc<World>>, words: &[&str]) -> Self {
        let world = world.into();
        let model = format!("script/{}", world.work("../scenario.toml").display());
        let mut all = vec!["acp", "--model", &model];
        all.extend_from_slice(words);
        Self::with_words(world, &all)
    }

    /// The program with a model of this name.
    pub fn with_model(world: impl Into<Arc<World>>, model: &str) -> Self {
        Self::with_words(world, &["acp", "--model", model])
    }

    /// The program with these words.
    pub fn with_words(world: impl Into<Arc<World>>, all: &[&str]) -> Self {
        let world = world.into();
        let command = world.command(all);
        Self::running(world, command)
    }

    /// The program with a scenario, which may have only so many files open, after the handshake.
    pub fn with_open_files(limit: u32, scenario: &str) -> Self {
        let world = World::new();
        world.file("scenario.toml", scenario);
        let model = format!("script/{}", world.work("../scenario.toml").display());
        let command = world.limited_command(limit, &["acp", "--model", &model]);
        let mut client = Self::running(Arc::new(world), command);
        client.greet(json!({}));
        client
    }

    fn running(world: Arc<World>, mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Self {
            input: child.stdin.take(),
            output: BufReader::new(child.stdout.take().unwrap()),
            child: KillOnDrop(child),
            world,
            next_id: 0,
            asked: HashMap::new(),
            open: HashMap::new(),
            sessions: Vec::new(),
        }
    }

    /// Ends the program and starts it again in the same world.
    pub fn restart(self) -> Self {
        let sessions = self.sessions.clone();
        let world = self.end();
        let mut client = Self::started(world, &[]);
        client.sessions = sessions;
        client.greet(json!({}));
        client
    }

    /// Closes the pipe and waits for the program, which must be content.
    pub fn end(mut self) -> Arc<World> {
        drop(self.input.take());
        let mut rest = String::new();
        while self.output.read_line(&mut rest).unwrap() > 0 {}
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
        Arc::clone(&self.world)
    }

    pub fn greet(&mut self, capabilities: Value) -> Value {
        let params = json!({ "protocolVersion": 1, "clientCapabilities": capabilities });
        self.ask("initialize", params)
    }

    /// The same with capabilities that the schema may not allow.
    pub fn greet_loosely(&mut self, capabilities: Value) -> Value {
        let params = json!({ "protocolVersion": 1, "clientCapabilities": capabilities });
        self.ask_wrong("initialize", params)
    }

    /// A new session in the working folder.
    pub fn session(&mut self) -> String {
        let cwd = self.world.work("");
        self.session_in(cwd.to_str().unwrap().trim_end_matches('/'))
    }

    pub fn session_in(&mut self, cwd: &str) -> String {
        let answer = self.ask("session/new", json!({ "cwd": cwd, "mcpServers": [] }));
        let id = answer["result"]["sessionId"].as_str().unwrap().to_owned();
        self.sessions.push(id.clone());
        let commands = self.read();
        assert_eq!(
            commands["params"]["update"]["sessionUpdate"],
            "available_commands_update"
        );
        id
    }

    /// The options of a session whose model thinks long.
    pub fn options(&mut self, session: &str) -> Value {
        let params = json!({ "sessionId": session, "configId": "thinking", "value": "high" });
        let id = self.send("session/set_config_option", params);
        let answer = self.until(id).pop().unwrap();
        answer["result"]["configOptions"].clone()
    }

    /// Reads a message, if one must come.
    pub fn read_if(&mut self, must_come: bool) {
        if must_come {
            self.read();
        }
    }

    /// Remembers a session's id, so that it is replaced in what is compared.
    pub fn know(&mut self, id: &str) {
        self.sessions.push(id.to_owned());
    }

    /// Writes a line as it is.
    pub fn write(&mut self, line: &str) {
        self.write_bytes(line.as_bytes());
        self.write_bytes(b"\n");
    }

    /// Writes whatever it may be.
    pub fn write_bytes(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().unwrap();
        input.write_all(bytes).unwrap();
        input.flush().unwrap();
    }

    /// Closes the pipe into the program.
    pub fn close_input(&mut self) {
        drop(self.input.take());
    }

    /// Writes a request and gives its id.
    pub fn send(&mut self, method: &str, params: Value) -> i64 {
        schema::check_request(method, &params);
        self.send_wrong(method, params)
    }

    /// Writes a request that the schema may not allow.
    pub fn send_wrong(&mut self, method: &str, params: Value) -> i64 {
        self.next_id += 1;
        let id = self.next_id;
        self.asked.insert(id, method.to_owned());
        let line = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.write(&line.to_string());
        id
    }

    pub fn prompt(&mut self, session: &str, text: &str) -> i64 {
        let prompt = json!([{ "type": "text", "text": text }]);
        self.send(
            "session/prompt",
            json!({ "sessionId": session, "prompt": prompt }),
        )
    }

    pub fn notify(&mut self, method: &str, params: Value) {
        schema::check_notification(method, &params);
        let line = json!({ "jsonrpc": "2.0", "method": method, "params": params });
        self.write(&line.to_string());
    }

    pub fn cancel(&mut self, session: &str) {
        self.notify("session/cancel", json!({ "sessionId": session }));
    }

    /// Answers a request of the program.
    pub fn reply(&mut self, request: &Value, result: Value) {
        let id = request["id"].as_i64().unwrap();
        let method = self.open.remove(&id);
        schema::check_response(&method.expect("it has asked this"), &result);
        self.reply_wrong(request, json!({ "result": result }));
    }

    /// Answers a request of the program with an error.
    pub fn refuse(&mut self, request: &Value, code: i64, message: &str) {
        let error = json!({ "code": code, "message": message });
        schema::check_error(&error);
        self.reply_wrong(request, json!({ "error": error }));
    }

    /// Answers with whatever it may be.
    pub fn reply_wrong(&mut self, request: &Value, mut answer: Value) {
        answer["jsonrpc"] = json!("2.0");
        answer["id"] = request["id"].clone();
        self.write(&answer.to_string());
    }

    /// Answers the next permission question with an option. Gives the question.
    pub fn choose(&mut self, option: &str) -> Value {
        let question = self.read_until(|message| message["method"] == "session/request_permission");
        let question = question.last().unwrap().clone();
        self.reply(&question, chosen(option));
        question
    }

    /// Asks and gives the answer. Nothing else may come before it.
    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        let answer = self.read();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    /// The same with what the schema may not allow.
    pub fn ask_wrong(&mut self, method: &str, params: Value) -> Value {
        let id = self.send_wrong(method, params);
        let answer = self.read();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    /// The next message, checked against the schema.
    pub fn read(&mut self) -> Value {
        let message: Value = serde_json::from_str(&self.read_line()).unwrap();
        self.check(&message);
        message
    }

    /// The next line as it is.
    pub fn read_line(&mut self) -> String {
        let mut line = String::new();
        assert!(
            self.output.read_line(&mut line).unwrap() > 0,
            "the program ended"
        );
        line
    }

    /// Messages up to one that fits.
    pub fn read_until(&mut self, fits: impl Fn(&Value) -> bool) -> Vec<Value> {
        let mut messages = Vec::new();
        loop {
            let message = self.read();
            let is_last = fits(&message);
            messages.push(message);
            if is_last {
                return messages;
            }
        }
    }

    /// Messages up to the answer to request `id`.
    pub fn until(&mut self, id: i64) -> Vec<Value> {
        self.read_until(|message| message["id"] == id && message.get("method").is_none())
    }

    /// Messages up to the answer to request `id`; the program's requests are answered by `service`.
    pub fn serve(&mut self, id: i64, service: impl Fn(&Value) -> Option<Value>) -> Vec<Value> {
        let mut messages = Vec::new();
        loop {
            let message = self.read();
            let is_last = message["id"] == id && message.get("method").is_none();
            if is_request(&message)
                && let Some(result) = service(&message)
            {
                self.reply(&message, result);
            }
            messages.push(message);
            if is_last {
                return messages;
            }
        }
    }

    /// Messages up to a certain kind of update.
    pub fn until_update(&mut self, kind: &str) -> Vec<Value> {
        self.read_until(|message| message["params"]["update"]["sessionUpdate"] == kind)
    }

    /// What the program says to a prompt, as one comparable text.
    pub fn turn(&mut self, session: &str, text: &str) -> String {
        let id = self.prompt(session, text);
        let messages = self.until(id);
        self.shown(&messages)
    }

    /// The messages as lines, made comparable. What a slow reader gets in fewer messages is put
    /// together: adjacent chunks of one message, and reports of one running call.
    pub fn shown(&self, messages: &[Value]) -> String {
        let lines: Vec<String> = put_together(messages)
            .iter()
            .map(|one| self.plain(one))
            .collect();
        lines.join("\n")
    }

    /// A message made comparable: `SESSION-1` and so on for sessions, `~~` for the folder,
    /// `MSG-n` for messages, `TIME` for times.
    pub fn plain(&self, message: &Value) -> String {
        let mut message = message.clone();
        replace(&mut message);
        let mut text = self.world.without_folder(&message.to_string());
        for (n, id) in self.sessions.iter().enumerate() {
            text = text.replace(id.as_str(), &format!("SESSION-{}", n + 1));
        }
        text.replace(r#""jsonrpc":"2.0","#, "")
    }

    fn check(&mut self, message: &Value) {
        schema::check_message(message);
        let id = message["id"].as_i64();
        match (message["method"].as_str(), id) {
            (Some(method), Some(id)) => {
                schema::check_request(method, &message["params"]);
                self.open.insert(id, method.to_owned());
            }
            (Some(method), None) => schema::check_notification(method, &message["params"]),
            (None, id) => match message.get("error") {
                Some(error) => schema::check_error(error),
                None => {
                    let method = id.and_then(|id| self.asked.get(&id));
                    let method = method.unwrap_or_else(|| panic!("nobody asked: {message}"));
                    schema::check_response(method, &message["result"]);
                }
            },
        }
    }
}

/// True for a request of the program.
pub fn is_request(message: &Value) -> bool {
    message.get("id").is_some() && message.get("method").is_some()
}

/// The answer that chooses an option of a question.
pub fn chosen(option: &str) -> Value {
    json!({ "outcome": { "outcome": "selected", "optionId": option } })
}

fn put_together(messages: &[Value]) -> Vec<Value> {
    let mut together: Vec<Value> = Vec::new();
    for message in messages {
        let update = &message["params"]["update"];
        let same = |name: &str, last: &Value| {
            let before = &last["params"]["update"];
            message["params"]["sessionId"] == last["params"]["sessionId"]
                && update["sessionUpdate"] == before["sessionUpdate"]
                && update[name].is_string()
                && update[name] == before[name]
        };
        match together.last_mut() {
            Some(last) if same("messageId", last) && update["content"]["type"] == "text" => {
                let text = &mut last["params"]["update"]["content"]["text"];
                let both = format!(
                    "{}{}",
                    text.as_str().unwrap(),
                    update["content"]["text"].as_str().unwrap()
                );
                *text = json!(both);
            }
            Some(last)
                if same("toolCallId", last)
                    && update["status"] == "in_progress"
                    && last["params"]["update"]["status"] == "in_progress" =>
            {
                *last = message.clone();
            }
            _ => together.push(message.clone()),
        }
    }
    together
}

/// Replaces what differs from run to run.
fn replace(value: &mut Value) {
    match value {
        Value::Object(map) => {
            for (name, value) in map.iter_mut() {
                match (name.as_str(), &value) {
                    ("messageId" | "compactionId", Value::String(id)) => {
                        *value = json!(plain_id(id));
                    }
                    ("updatedAt", Value::String(_)) => *value = json!("TIME"),
                    _ => replace(value),
                }
            }
        }
        Value::Array(list) => list.iter_mut().for_each(replace),
        _ => {}
    }
}

/// Ids start with eight hex digits that are random; those of ends, retries and notices go on with the
/// number of an event.
fn plain_id(id: &str) -> String {
    match id.get(8..) {
        Some(rest) if rest.starts_with("-end-") => "MSG-end-N".to_owned(),
        Some(rest) if rest.starts_with("-retry-") => "MSG-retry-N".to_owned(),
        Some(rest) if rest.starts_with("-notice-") => "MSG-notice-N".to_owned(),
        Some(rest) => format!("MSG{rest}"),
        None => id.to_owned(),
    }
}
