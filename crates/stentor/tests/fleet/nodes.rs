//! Nodes that share a folder, and their clients.

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};
use stentor_test_support::{Lines, Link, NatsServer, TemporaryFolder};

use crate::world::{Child, World};

/// How long to wait before looking again.
pub const PAUSE: Duration = Duration::from_millis(20);

/// NATS, and the folder that the nodes share.
pub struct Fleet {
    pub nats: NatsServer,
    shared: TemporaryFolder,
}

/// A server that is a node.
pub struct Node {
    pub world: World,
    pub process: Child,
}

/// A page of a node.
pub struct Page {
    stream: UnixStream,
    lines: Lines,
}

impl Page {
    pub fn send(&mut self, command: &Value) {
        self.stream
            .write_all(format!("{command}\n").as_bytes())
            .unwrap();
    }

    fn json(&mut self) -> Value {
        let line = self.lines.recv().expect("the page has ended");
        serde_json::from_str(&line).unwrap()
    }

    /// The first frame that fits.
    pub fn until(&mut self, fits: impl Fn(&Value) -> bool) -> Value {
        loop {
            let frame = self.json();
            if fits(&frame) {
                return frame;
            }
        }
    }

    /// Asks for the lists until the one in an element is as is wanted.
    pub fn when_listed(&mut self, id: &str, fits: impl Fn(&str) -> bool) {
        loop {
            self.send(&json!({ "do": "list" }));
            let listed = self.until(|frame| frame["op"] == "set" && frame["id"] == id);
            if fits(listed["html"].as_str().unwrap()) {
                return;
            }
            std::thread::sleep(PAUSE);
        }
    }
}

impl Fleet {
    /// One without nodes, if there is a NATS server.
    pub fn new() -> Option<Self> {
        Some(Self::on(NatsServer::start()?))
    }

    /// One on this NATS server.
    pub fn on(nats: NatsServer) -> Self {
        Self {
            nats,
            shared: TemporaryFolder::with(&["work"]),
        }
    }

    /// The folder that nodes share as the place `work`.
    pub fn work(&self) -> PathBuf {
        self.shared.path("work")
    }

    /// A node of this name whose model plays `scenario` and that has the shared folder.
    pub fn node(&self, name: &str, scenario: &str) -> Node {
        let places = format!("work = {:?}\n", self.work());
        self.node_with(name, scenario, &places)
    }

    /// One with these places.
    pub fn node_with(&self, name: &str, scenario: &str, places: &str) -> Node {
        self.start(self.world(name, scenario, "all", places))
    }

    /// One with the shared folder and further lines of [fleet].
    pub fn node_set(&self, name: &str, scenario: &str, settings: &str) -> Node {
        let config = format!(
            "permission_mode = \"all\"\n[fleet]\nurl = {:?}\nmonitor = {:?}\nnode = {name:?}\n\
             lease_seconds = 2\n{settings}\n[fleet.places]\nwork = {:?}\n",
            self.nats.url,
            self.nats.monitor,
            self.work()
        );
        self.start(World::new(scenario, &config))
    }

    /// One with the shared folder that asks whether a call may run.
    pub fn asking_node(&self, name: &str, scenario: &str) -> Node {
        let places = format!("work = {:?}\n", self.work());
        self.start(self.world(name, scenario, "ask", &places))
    }

    /// One that reaches NATS through a link.
    pub fn node_behind(&self, link: &Link, name: &str, scenario: &str) -> Node {
        let places = format!("work = {:?}\n", self.work());
        let world = self.world_at(&link.address.to_string(), name, scenario, "all", &places);
        self.start(world)
    }

    /// A link to NATS.
    pub fn link(&self) -> Link {
        let (_, address) = self.nats.url.split_once("://").unwrap();
        Link::new(address.parse().unwrap())
    }

    pub fn start(&self, world: World) -> Node {
        let socket = world.path("s").display().to_string();
        let mut process = world.child(&["serve", "--socket", &socket, "--fleet"]);
        assert_eq!(process.json()["type"], "ready");
        Node { world, process }
    }

    /// The home of a node.
    pub fn world(&self, name: &str, scenario: &str, mode: &str, places: &str) -> World {
        self.world_at(&self.nats.url, name, scenario, mode, places)
    }

    fn world_at(&self, url: &str, name: &str, scenario: &str, mode: &str, places: &str) -> World {
        let config = format!(
            "permission_mode = {mode:?}\n[fleet]\nurl = {url:?}\nmonitor = {:?}\nnode = {name:?}\n\
             lease_seconds = 2\n[fleet.places]\n{places}",
            self.nats.monitor
        );
        World::new(scenario, &config)
    }
}

impl Node {
    /// A client in the shared folder that has introduced itself.
    pub fn acp(&self) -> Child {
        let socket = self.world.path("s");
        let mut client = self
            .world
            .child(&["acp", &format!("--attach={}", socket.display())]);
        let hello = json!({ "protocolVersion": 1, "clientCapabilities": {} });
        client.ask_acp(1, "initialize", hello);
        client
    }

    /// A client of omp in a folder.
    pub fn omp(&self, cwd: &Path) -> Child {
        self.omp_with(cwd, &[])
    }

    /// One that goes on with a session.
    pub fn omp_in(&self, cwd: &Path, session: &str) -> Child {
        self.omp_with(cwd, &["--session", session])
    }

    /// One with further flags.
    pub fn omp_with(&self, cwd: &Path, more: &[&str]) -> Child {
        let mut client = self.client_in(cwd, &[&["--mode", "rpc"], more].concat());
        assert_eq!(client.json()["type"], "ready");
        client
    }

    /// A client in a folder, started with these words.
    pub fn client_in(&self, cwd: &Path, words: &[&str]) -> Child {
        let attach = format!("--attach={}", self.world.path("s").display());
        let mut command = self.world.command(&[words, &[&attach]].concat());
        command.current_dir(cwd);
        Child::of(command.spawn().unwrap(), self.world.path(""))
    }

    /// A page of it, as a browser has it.
    pub fn page(&self) -> Page {
        let (page, welcome) = self.page_in(&self.world.path("work"), false);
        assert!(welcome["served"].is_object(), "{welcome}");
        page
    }

    /// One in a folder, which may only watch, and how it is greeted.
    pub fn page_in(&self, cwd: &Path, observe: bool) -> (Page, Value) {
        let stream = UnixStream::connect(self.world.path("s")).unwrap();
        let lines = Lines::of(stream.try_clone().unwrap());
        let mut page = Page { stream, lines };
        page.send(&json!({ "stentor": 1, "client": {
            "dialect": "page", "cwd": cwd, "observe": observe,
            "env": { "HOME": self.world.path("home") },
        } }));
        let welcome = page.json();
        (page, welcome)
    }

    /// Stops it as an operator does, and waits for its end.
    pub fn stop(self) {
        kill_process(self.process.pid(), Signal::TERM).unwrap();
        assert_eq!(self.process.exit_code(), Some(143));
    }

    /// What `stentor fleet sessions` says.
    pub fn sessions(&self) -> Vec<Value> {
        let said = self.world.asked(&["fleet", "sessions", "--json"]);
        let said: Value = serde_json::from_str(&said).unwrap();
        said["sessions"].as_array().unwrap().clone()
    }

    /// Waits until the nodes, by name, are as is wanted.
    pub fn when_status(&self, fits: impl Fn(&Value) -> bool) {
        loop {
            let said = self.world.asked(&["fleet", "status", "--json"]);
            let said: Value = serde_json::from_str(&said).unwrap();
            let nodes = said["nodes"].as_array().unwrap().iter();
            let nodes = nodes.map(|node| (node["name"].as_str().unwrap().to_owned(), node.clone()));
            if fits(&Value::Object(nodes.collect())) {
                return;
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Waits until the directory says of a session what is wanted.
    pub fn when(&self, session: &str, fits: impl Fn(&Value) -> bool) -> Value {
        loop {
            let sessions = self.sessions();
            let found = sessions.into_iter().find(|found| found["id"] == session);
            if let Some(found) = found.filter(&fits) {
                return found;
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Waits until a node owns a session.
    pub fn when_owned_by(&self, session: &str, node: &str) -> Value {
        self.when(session, |found| found["owner"]["name"] == node)
    }
}

/// A new session in a folder.
pub fn new_session(client: &mut Child, cwd: &Path) -> String {
    let new = json!({ "cwd": cwd, "mcpServers": [] });
    let answer = client.ask_acp(2, "session/new", new);
    let answer: Value = serde_json::from_str(answer.last().unwrap()).unwrap();
    answer["result"]["sessionId"].as_str().unwrap().to_owned()
}

/// Loads a session; the lines up to the answer.
pub fn load(client: &mut Child, session: &str, cwd: &Path) -> Vec<String> {
    let load = json!({ "sessionId": session, "cwd": cwd, "mcpServers": [] });
    client.ask_acp(3, "session/load", load)
}

pub fn prompt(client: &mut Child, id: u64, session: &str, text: &str) {
    let prompt = json!({ "sessionId": session, "prompt": [{ "type": "text", "text": text }] });
    client.request_acp(id, "session/prompt", prompt);
}

/// The answer among the lines up to it.
pub fn answer(lines: &[String]) -> Value {
    serde_json::from_str(lines.last().unwrap()).unwrap()
}
