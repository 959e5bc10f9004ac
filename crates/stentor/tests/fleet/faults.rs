//! Three nodes, and one NATS server or three, that are killed, paused, stopped and cut off from each
//! other at whichever moment, while several sessions run and one asks before it does, with a message
//! that waits behind the question: nothing acknowledged is lost, no call runs twice, what was asked runs
//! once, and a session has one writer at a time. `STENTOR_FAULTS` sets how often, and has each
//! reported.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};
use stentor_fleet::message::MessageKind;
use stentor_fleet::{Fleet as Connection, FleetSettings};
use stentor_test_support::{Link, NatsCluster, TemporaryFolder};

use crate::nodes::{answer, new_session, prompt};
use crate::world::{Child, World};

/// How often something is done to the fleet, unless somebody wants more.
const FAULTS: u64 = 4;

/// Sessions that run what they are told, and all.
const SESSIONS: usize = 4;
const ALL_SESSIONS: usize = SESSIONS + 1;

/// In how many of them something is said at once.
const AT_ONCE: usize = 3;
const NAMES: [&str; 3] = ["one", "two", "three"];

/// How long to wait before looking again.
const PAUSE: Duration = Duration::from_millis(50);

/// A session that cannot be opened for this long never will be.
const NEVER: Duration = Duration::from_secs(240);

/// How long it may take before the reasons are reported.
const LONG: Duration = Duration::from_secs(30);

const SCENARIO: &str = "[[turn]]\nwhen = { last_user_contains = \"run \" }\n\
    steps = [{ text = \"I do. \" }, { tool = \"bash\", id = \"call_{{turn}}\", \
    arguments = { command = \"echo {{last_user}} >> ran.txt\" } }]\n\
    [[turn]]\nwhen = { tool = \"bash\" }\ntext = \"It is done.\"\n\
    [[turn]]\nwhen = { last_user_contains = \"later \" }\ntext = \"Noted.\"\n";

/// Numbers that look random and are the same each time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % most
    }
}

/// The fleet under test.
struct Load {
    nats: NatsCluster,
    shared: TemporaryFolder,
    /// The links of each node, one to each server.
    links: Vec<Vec<Link>>,
    worlds: Vec<World>,
    processes: Vec<Child>,
    numbers: Numbers,
    sessions: Vec<String>,
    /// The session that asks.
    asking: String,
    /// What the fleet has acknowledged, by session.
    acknowledged: HashMap<String, Vec<String>>,
    /// What was done to it.
    done: Vec<String>,
}

impl Drop for Load {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let done = self.done.iter().rev().take(5).cloned().collect::<Vec<_>>();
            writeln!(std::io::stderr(), "last, newest first: {done:#?}").ok();
        }
    }
}

#[test]
fn whatever_fails_nothing_acknowledged_is_lost_no_call_runs_twice_and_one_node_writes() {
    let settings = "replicas = 3\nlease_seconds = 12\n";
    let cluster = NatsCluster::start("sync_interval: always");
    run(cluster.map(|nats| Load::new(nats, settings, 7)));
}

#[test]
fn whatever_fails_on_a_single_server_the_same_holds() {
    let settings = "lease_seconds = 5\n";
    let server = NatsCluster::with(["sync_interval: always"]);
    run(server.map(|nats| Load::new(nats, settings, 3)));
}

fn run(load: Option<Load>) {
    let Some(mut load) = load else { return };
    let faults = std::env::var("STENTOR_FAULTS").ok();
    let faults = faults.map_or(FAULTS, |faults| faults.parse().unwrap());
    for n in 1..=faults {
        load.fault(n);
        if faults > FAULTS {
            let last = load.done.last().unwrap();
            writeln!(std::io::stderr(), "{last}").unwrap();
        }
    }
    load.settle();
    load.check();
}

impl Load {
    fn new(nats: NatsCluster, settings: &str, seed: u64) -> Self {
        let shared = TemporaryFolder::with(&["work"]);
        let servers = nats
            .url
            .split(',')
            .map(|url| url.split_once("://").unwrap().1);
        let servers: Vec<_> = servers.map(|server| server.parse().unwrap()).collect();
        let links = || servers.iter().map(|server| Link::new(*server)).collect();
        let links: Vec<Vec<Link>> = NAMES.iter().map(|_| links()).collect();
        let world = |(name, links): (&&str, &Vec<Link>)| {
            let urls: Vec<String> = links.iter().map(|link| link.address.to_string()).collect();
            let config = format!(
                "permission_mode = \"all\"\n[fleet]\nurl = {:?}\nmonitor = {:?}\nnode = {name:?}\n\
                 {settings}[fleet.places]\nwork = {:?}\n",
                urls.join(","),
                nats.monitors,
                shared.path("work"),
            );
            World::new(SCENARIO, &config)
        };
        let worlds: Vec<World> = NAMES.iter().zip(&links).map(world).collect();
        let processes = worlds.iter().map(start).collect();
        let mut load = Self {
            nats,
            shared,
            links,
            worlds,
            processes,
            numbers: Numbers(seed),
            sessions: Vec::new(),
            asking: String::new(),
            acknowledged: HashMap::new(),
            done: Vec::new(),
        };
        for number in 0..ALL_SESSIONS {
            let mut client = load.client(number % NAMES.len());
            let session = new_session(&mut client, &load.work());
            prompt(&mut client, 4, &session, &format!("run first-{number}"));
            assert_eq!(
                answer(&client.until_answer(4))["result"]["stopReason"],
                "end_turn"
            );
            load.acknowledge(&session, &format!("run first-{number}"));
            if number == SESSIONS {
                let mode = json!({ "sessionId": session, "modeId": "ask" });
                let set = answer(&client.ask_acp(5, "session/set_mode", mode));
                assert!(set.get("result").is_some(), "{set}");
                load.asking.clone_from(&session);
            }
            load.sessions.push(session);
        }
        load
    }

    fn work(&self) -> PathBuf {
        self.shared.path("work")
    }

    fn acknowledge(&mut self, session: &str, text: &str) {
        let texts = self.acknowledged.entry(session.to_owned()).or_default();
        texts.push(text.to_owned());
    }

    /// A client of a node that has introduced itself.
    fn client(&self, node: usize) -> Child {
        let socket = format!("--attach={}", self.worlds[node].path("s").display());
        let mut client = self.worlds[node].child(&["acp", &socket]);
        let hello = json!({ "protocolVersion": 1, "clientCapabilities": {} });
        client.ask_acp(1, "initialize", hello);
        client
    }

    /// A client that has a session open, at whichever node has it or takes it.
    fn open(&mut self, session: &str) -> (usize, Child) {
        let mut node = self.numbers.below(NAMES.len());
        let mut refusals = BTreeMap::new();
        let began = Instant::now();
        while began.elapsed() < NEVER {
            let mut client = self.client(node);
            let open = json!({ "sessionId": session, "cwd": self.work(), "mcpServers": [] });
            let opened = answer(&client.ask_acp(2, "session/resume", open));
            if opened.get("result").is_some() {
                let took = began.elapsed();
                if took > LONG {
                    let late = format!("{session} was opened after {took:.0?}: {refusals:#?}");
                    writeln!(std::io::stderr(), "{late}").ok();
                }
                return (node, client);
            }
            let why = opened["error"].to_string();
            // How often, and when for the last time.
            let refused: &mut (u64, Duration) = refusals.entry((NAMES[node], why)).or_default();
            *refused = (refused.0 + 1, began.elapsed());
            std::thread::sleep(PAUSE);
            node = (node + 1) % NAMES.len();
        }
        panic!("{session} cannot be opened: {refusals:#?}");
    }

    /// Says something in several sessions at once, and does something to the fleet meanwhile.
    fn fault(&mut self, n: u64) {
        let asked = self.ask(n);
        let first = self.numbers.below(SESSIONS);
        let mut said = Vec::new();
        for number in 0..AT_ONCE {
            let session = self.sessions[(first + number) % SESSIONS].clone();
            let text = format!("run {n}-{number}");
            let (node, mut client) = self.open(&session);
            prompt(&mut client, 4, &session, &text);
            said.push((session, text, node, client));
        }
        let (session, _, node, client) = said.last_mut().unwrap();
        let (mut session, mut node) = (session.clone(), *node);
        let mut ended = None;
        for _ in 0..self.numbers.below(5) {
            let frame = client.json();
            if frame["id"] == 4 {
                ended = Some(frame);
                break;
            }
        }
        let kind = self.numbers.below(20);
        // Now and then it is the node of the session that asks.
        if n.is_multiple_of(2)
            && let Some(owner) = self.owner_of_asking()
        {
            (session, node) = (self.asking.clone(), owner);
        }
        self.done
            .push(format!("{n}: {kind} at {} in {session}", NAMES[node]));
        self.harm(kind, node, &session);
        for (number, (session, text, _, mut client)) in said.into_iter().enumerate() {
            let known = match number + 1 == AT_ONCE {
                true => ended.take(),
                false => None,
            };
            // A client whose node is gone gets no answer.
            let Some(answer) = known.or_else(|| last_answer(&mut client)) else {
                continue;
            };
            let failed = answer["result"]["_meta"]["stentor"]["error"].is_object();
            if answer["result"]["stopReason"] == "end_turn" && !failed {
                self.acknowledge(&session, &text);
            }
        }
        self.allow(&asked.0);
        drop(asked);
    }

    /// Has the asking session ask whether a call may run, and a message wait behind that. The clients
    /// that did it.
    fn ask(&mut self, n: u64) -> (Vec<String>, Child, Child) {
        let session = self.asking.clone();
        let mut texts = Vec::new();
        // What was done before may still be felt: then the prompt fails, or its node is gone, and nobody
        // knows whether it was recorded.
        let client = loop {
            let mut client = self.open(&session).1;
            let text = format!("run asked-{n}-{}", texts.len());
            prompt(&mut client, 4, &session, &text);
            texts.push(text);
            if is_asked(&mut client) {
                break client;
            }
        };
        let (node, _) = self.open(&session);
        let attach = format!("--attach={}", self.worlds[node].path("s").display());
        let words = ["--mode", "rpc", "--session", &session, &attach];
        let mut omp = self.worlds[node].command(&words);
        omp.current_dir(self.work());
        let mut omp = Child::of(omp.spawn().unwrap(), self.work());
        let text = format!("later {n}");
        let line = json!({ "id": "f", "type": "follow_up", "message": text });
        omp.send(&line.to_string());
        omp.until(|line| line.contains(r#""command":"follow_up","success":true"#));
        self.acknowledge(&session, &text);
        (texts, client, omp)
    }

    /// Whoever finds the question answers it, and the call runs.
    fn allow(&mut self, texts: &[String]) {
        let session = self.asking.clone();
        let ran = loop {
            if let Some(ran) = texts.iter().find(|text| self.has_run(text)) {
                break ran;
            }
            let (_, mut client) = self.open(&session);
            let mut answered = false;
            // A client whose node is gone asks elsewhere.
            while let Some(line) = client.try_next() {
                let frame: Value = serde_json::from_str(&line).unwrap();
                if frame["method"] == "session/request_permission" {
                    let allowed = json!({
                        "jsonrpc": "2.0", "id": frame["id"],
                        "result": { "outcome": { "outcome": "selected", "optionId": "allow_once" } },
                    });
                    client.send(&allowed.to_string());
                    answered = true;
                }
                if answered && line.contains("Noted.") {
                    break;
                }
            }
        };
        self.acknowledge(&session, ran);
    }

    fn has_run(&self, text: &str) -> bool {
        let ran = std::fs::read_to_string(self.work().join("ran.txt")).unwrap();
        ran.lines().any(|line| line == text)
    }

    /// The node that has the session that asks, as far as one of them knows.
    fn owner_of_asking(&self) -> Option<usize> {
        let directory = self.directory(0);
        let found = directory.iter().find(|found| found["id"] == self.asking)?;
        let owner = found["owner"]["name"].as_str()?;
        NAMES.iter().position(|name| *name == owner)
    }

    /// Does something to the fleet.
    fn harm(&mut self, kind: usize, node: usize, session: &str) {
        match kind {
            0..=5 => self.kill(node),
            6..=8 => {
                kill_process(self.processes[node].pid(), Signal::TERM).unwrap();
                self.again(node);
            }
            9..=11 => {
                let server = self.numbers.below(self.nats.size());
                self.nats.kill(server);
                self.nats.start_one(server);
            }
            12 => {
                let server = self.numbers.below(self.nats.size());
                self.nats.signal(server, Signal::STOP);
                // Until somebody has gone round it, if that can be.
                drop(self.client((node + 1) % NAMES.len()));
                if self.nats.size() > 1 {
                    self.open(session);
                }
                self.nats.signal(server, Signal::CONT);
            }
            13 => {
                kill_process(self.processes[node].pid(), Signal::STOP).unwrap();
                self.when_nothing_is_owned_by(node);
                kill_process(self.processes[node].pid(), Signal::CONT).unwrap();
            }
            14 => {
                self.links[node].iter().for_each(Link::cut);
                self.when_nothing_is_owned_by(node);
                self.links[node].iter().for_each(Link::mend);
            }
            15..=16 if self.nats.size() == 1 => self.harm(14, node, session),
            15..=16 => {
                let server = self.numbers.below(self.nats.size());
                self.links[node][server].cut();
                // Until somebody has gone round it, or another node has the session.
                self.open(session);
                self.links[node][server].mend();
            }
            17..=18 => self.links[node].iter().for_each(Link::reset),
            _ => {
                let to = NAMES[(node + 1) % NAMES.len()];
                self.worlds[node]
                    .command(&["fleet", "move", session, to])
                    .output()
                    .unwrap();
            }
        }
    }

    fn kill(&mut self, node: usize) {
        kill_process(self.processes[node].pid(), Signal::KILL).unwrap();
        self.again(node);
    }

    /// Starts a node again that has ended or is about to.
    fn again(&mut self, node: usize) {
        let ended = self.processes.remove(node);
        ended.exit_code();
        self.processes.insert(node, start(&self.worlds[node]));
    }

    fn directory(&self, node: usize) -> Vec<Value> {
        let out = self.worlds[node]
            .command(&["fleet", "sessions", "--json"])
            .output()
            .unwrap();
        let said: Value = serde_json::from_slice(&out.stdout).unwrap_or_default();
        said["sessions"].as_array().cloned().unwrap_or_default()
    }

    /// Waits until others have all sessions of a node.
    fn when_nothing_is_owned_by(&self, node: usize) {
        loop {
            let directory = self.directory((node + 1) % NAMES.len());
            let is_owned = |found: &Value| found["owner"]["name"] == NAMES[node];
            if directory.len() == ALL_SESSIONS && !directory.iter().any(is_owned) {
                return;
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Waits until nothing goes on any more.
    fn settle(&mut self) {
        loop {
            let directory = self.directory(0);
            let is_quiet = |found: &Value| found["state"] == "idle" || found["state"] == "stored";
            if directory.len() == ALL_SESSIONS && directory.iter().all(is_quiet) {
                return;
            }
            std::thread::sleep(PAUSE);
        }
    }

    fn check(&mut self) {
        let ran = std::fs::read_to_string(self.work().join("ran.txt")).unwrap();
        let mut seen = HashSet::new();
        for line in ran.lines() {
            assert!(seen.insert(line), "{line} ran twice");
        }
        for session in self.sessions.clone() {
            let (_, mut client) = self.open(&session);
            drop(client);
            let node = self.open(&session).0;
            client = self.client(node);
            let load = json!({ "sessionId": session, "cwd": self.work(), "mcpServers": [] });
            let said = client.ask_acp(3, "session/load", load).concat();
            for text in &self.acknowledged[&session] {
                let shown = format!("\"text\":{}", json!(text));
                assert_eq!(said.matches(&shown).count(), 1, "{text}: {said}");
            }
        }
        self.check_writers();
    }

    /// Who writes changes only with a message that says so.
    fn check_writers(&self) {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all().build().unwrap();
        runtime.block_on(async {
            let settings = FleetSettings {
                url: Some(self.nats.url.clone()),
                ..FleetSettings::default()
            };
            let fleet = Connection::connect(settings, "check").await.unwrap();
            for session in &self.sessions {
                let labels = fleet.journal_labels(session).await.unwrap();
                let mut writer = String::new();
                let mut changes = 0;
                for label in labels {
                    if label.kind == MessageKind::Entries {
                        assert_eq!(label.writer, writer, "{session}");
                    } else {
                        writer = label.writer;
                        changes += 1;
                    }
                }
                assert!(changes > 0, "{session}");
            }
        });
    }
}

/// True when a client is asked whether a call may run; false when its prompt ends without that.
fn is_asked(client: &mut Child) -> bool {
    while let Some(line) = client.try_next() {
        let frame: Value = serde_json::from_str(&line).unwrap();
        if frame["method"] == "session/request_permission" {
            return true;
        }
        if frame["id"] == 4 && frame.get("method").is_none() {
            return false;
        }
    }
    false
}

/// The answer to what was said, if there is one.
fn last_answer(client: &mut Child) -> Option<Value> {
    loop {
        let frame: Value = serde_json::from_str(&client.try_next()?).unwrap();
        if frame["id"] == 4 && frame.get("method").is_none() {
            return Some(frame);
        }
    }
}

fn start(world: &World) -> Child {
    let socket = world.path("s").display().to_string();
    // The servers may be choosing a leader.
    for _ in 0..100 {
        let command = world
            .command(&["serve", "--socket", &socket, "--fleet"])
            .spawn();
        let mut process = Child::of(command.unwrap(), world.path(""));
        if let Some(line) = process.try_next() {
            let ready: Value = serde_json::from_str(&line).unwrap();
            assert_eq!(ready["type"], "ready");
            return process;
        }
        std::thread::sleep(PAUSE);
    }
    panic!("a node cannot be started");
}
