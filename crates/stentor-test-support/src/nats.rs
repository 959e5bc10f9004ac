//! A NATS server of its own for a test.
//!
//! The program is the one that `STENTOR_NATS_SERVER` names, else `nats-server` on the path. Where
//! there is none, tests that need it are skipped, unless that variable says that there must be one.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde_json::Value;

use crate::{KillOnDrop, TemporaryFolder};

/// How long to wait before looking again.
const PAUSE: Duration = Duration::from_millis(5);

/// A server with JetStream that syncs every write.
pub struct NatsServer {
    folder: TemporaryFolder,
    process: KillOnDrop,
    /// Where clients connect.
    pub url: String,
    /// Its monitoring address.
    pub monitor: String,
}

/// The program, if there is one.
pub fn nats_server() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("STENTOR_NATS_SERVER") {
        return Some(PathBuf::from(named));
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join("nats-server"));
    let found = found.into_iter().find(|program| program.is_file());
    if found.is_none() {
        use std::io::Write;
        let skipped = "SKIPPED: there is no nats-server; install it, or name one with \
                       STENTOR_NATS_SERVER";
        writeln!(std::io::stderr(), "{skipped}").ok();
    }
    found
}

impl NatsServer {
    /// One that is ready, if there is a program for it.
    pub fn start() -> Option<Self> {
        Self::with("sync_interval: always")
    }

    /// One with these settings of JetStream.
    pub fn with(jetstream: &str) -> Option<Self> {
        Self::configured(jetstream, "", &[])
    }

    /// One with these settings of JetStream, further settings, and files in its folder that those
    /// refer to as `@NAME`.
    pub fn configured(jetstream: &str, more: &str, files: &[(&str, &str)]) -> Option<Self> {
        let program = nats_server()?;
        let folder = TemporaryFolder::with(&["ports"]);
        let mut more = more.to_owned();
        for (name, text) in files {
            folder.file(name, text);
            let path = format!("{:?}", folder.path(name));
            more = more.replace(&format!("@{name}"), &path);
        }
        let stored = folder.path("stored");
        let config = format!(
            "listen: \"127.0.0.1:-1\"\nhttp: \"127.0.0.1:-1\"\n\
             jetstream {{ store_dir: {stored:?}, {jetstream} }}\n{more}\n"
        );
        folder.file("nats.conf", &config);
        let process = Command::new(program)
            .arg("-c")
            .arg(folder.path("nats.conf"))
            .arg("--ports_file_dir")
            .arg(folder.path("ports"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the NATS server that was named cannot be started");
        let mut process = KillOnDrop(process);
        let ports = ports(&folder.path("ports"), &mut process);
        let address = |name: &str| ports[name][0].as_str().unwrap_or_default().to_owned();
        Some(Self {
            url: address("nats"),
            monitor: address("monitoring"),
            folder,
            process,
        })
    }

    /// Its number.
    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Where its files are.
    pub fn folder(&self) -> &TemporaryFolder {
        &self.folder
    }
}

/// Where a server listens, when it does.
fn ports(folder: &Path, process: &mut KillOnDrop) -> Value {
    loop {
        if let Ok(Some(status)) = process.try_wait() {
            panic!("the NATS server ended with {status}");
        }
        let files = fs::read_dir(folder).into_iter().flatten().flatten();
        let texts = files.filter_map(|file| fs::read_to_string(file.path()).ok());
        let mut read = texts.filter_map(|text| serde_json::from_str(&text).ok());
        if let Some(ports) = read.next() {
            return ports;
        }
        std::thread::sleep(PAUSE);
    }
}

/// Servers that hold everything together, usually three. Each can be killed, paused and started again:
/// one that stands alone, too.
pub struct NatsCluster {
    folder: TemporaryFolder,
    program: PathBuf,
    processes: Vec<Option<KillOnDrop>>,
    /// Where clients connect.
    pub url: String,
    /// Their monitoring addresses.
    pub monitors: String,
}

impl NatsCluster {
    /// One that is ready, if there is a program for it.
    pub fn start(jetstream: &str) -> Option<Self> {
        Self::with([jetstream; 3])
    }

    /// One whose servers have these settings of JetStream.
    pub fn with<const SERVERS: usize>(jetstream: [&str; SERVERS]) -> Option<Self> {
        let program = nats_server()?;
        let names: Vec<String> = (0..SERVERS).map(|number| format!("n{number}")).collect();
        let ports = free_ports(SERVERS * 3);
        let folder = TemporaryFolder::with(&[]);
        let routes: Vec<String> = ports.iter().skip(SERVERS * 2).map(route).collect();
        for (number, name) in names.iter().enumerate() {
            let port = |group: usize| ports[group * SERVERS + number];
            let jetstream = jetstream[number];
            let mut config = format!(
                "server_name: {name}\nlisten: \"127.0.0.1:{}\"\nhttp: \"127.0.0.1:{}\"\n\
                 jetstream {{ store_dir: {:?}, {jetstream} }}\n",
                port(0),
                port(1),
                folder.path(&format!("{name}-stored")),
            );
            if SERVERS > 1 {
                config.push_str(&format!(
                    "cluster {{ name: test, listen: \"127.0.0.1:{}\", routes: {routes:?}, \
                     no_advertise: true }}\n",
                    port(2),
                ));
            }
            folder.file(&format!("{name}.conf"), &config);
        }
        let addresses = |group: usize, scheme: &str| {
            let ports = ports.iter().skip(group * SERVERS).take(SERVERS);
            let addresses: Vec<String> = ports
                .map(|port| format!("{scheme}://127.0.0.1:{port}"))
                .collect();
            addresses.join(",")
        };
        let mut cluster = Self {
            url: addresses(0, "nats"),
            monitors: addresses(1, "http"),
            processes: (0..SERVERS).map(|_| None).collect(),
            folder,
            program,
        };
        for number in 0..SERVERS {
            cluster.start_one(number);
        }
        for (number, port) in ports.iter().take(SERVERS).enumerate() {
            cluster.wait_for(number, *port);
        }
        Some(cluster)
    }

    /// Waits until a server listens.
    fn wait_for(&mut self, number: usize, port: u16) {
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            let process = self.processes[number].as_mut().unwrap();
            if let Ok(Some(status)) = process.try_wait() {
                let log = fs::read_to_string(self.folder.path(&format!("n{number}.log")));
                panic!(
                    "the NATS server ended with {status}: {}",
                    log.unwrap_or_default()
                );
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// How many servers there are.
    pub fn size(&self) -> usize {
        self.processes.len()
    }

    /// Starts a server, again if it was killed.
    pub fn start_one(&mut self, number: usize) {
        let process = Command::new(&self.program)
            .arg("-c")
            .arg(self.folder.path(&format!("n{number}.conf")))
            .arg("-l")
            .arg(self.folder.path(&format!("n{number}.log")))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the NATS server that was named cannot be started");
        self.processes[number] = Some(KillOnDrop(process));
    }

    /// Kills a server.
    pub fn kill(&mut self, number: usize) {
        self.processes[number] = None;
    }

    /// Sends a signal to a server.
    pub fn signal(&self, number: usize, signal: rustix::process::Signal) {
        if let Some(process) = &self.processes[number] {
            let pid = i32::try_from(process.id()).unwrap();
            let pid = rustix::process::Pid::from_raw(pid).unwrap();
            rustix::process::kill_process(pid, signal).unwrap();
        }
    }
}

fn route(port: &u16) -> String {
    format!("nats://127.0.0.1:{port}")
}

/// Ports that nobody listens on, below those that the system gives out by itself: one of these could be
/// taken before a server listens on it, or while it is down.
fn free_ports(count: usize) -> Vec<u16> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let mut ports = Vec::new();
    while ports.len() < count {
        let number = std::process::id()
            .wrapping_mul(101)
            .wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed));
        let port = 10_000 + u16::try_from(number % 20_000).unwrap();
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            ports.push(port);
        }
    }
    ports
}
