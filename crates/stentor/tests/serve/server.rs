//! A server of its own for a test.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use serde_json::Value;

use crate::world::{Child, World};

/// A server that is ready, in a world of its own.
pub struct Server {
    pub world: World,
    pub process: Child,
    pub ready: Value,
}

impl Server {
    /// One whose model plays `scenario`.
    pub fn new(scenario: &str) -> Self {
        Self::with(World::new(scenario, ""), &[])
    }

    /// One with these flags.
    pub fn with(world: World, flags: &[&str]) -> Self {
        let (process, ready) = start(&world, flags);
        Self {
            world,
            process,
            ready,
        }
    }

    pub fn socket(&self) -> PathBuf {
        self.world.path("s")
    }

    /// A relay with these words, which name a dialect.
    pub fn relay(&self, words: &[&str]) -> Child {
        let attach = self.attach();
        self.world.child(&[words, &[&attach]].concat())
    }

    /// The flag that makes a relay of a frontend.
    pub fn attach(&self) -> String {
        format!("--attach={}", self.socket().display())
    }

    /// Writes a line to the socket and returns all lines until the server closes it.
    pub fn talk(&self, line: &str) -> Vec<String> {
        let mut stream = UnixStream::connect(self.socket()).unwrap();
        // It may refuse before it has read everything.
        stream.write_all(line.as_bytes()).ok();
        stream.shutdown(std::net::Shutdown::Write).ok();
        let lines = BufReader::new(stream).lines();
        lines.map_while(Result::ok).collect()
    }
}

/// Starts a server on the socket of a world.
pub fn start(world: &World, flags: &[&str]) -> (Child, Value) {
    let socket = world.path("s").display().to_string();
    let words = [&["serve", "--socket", &socket], flags].concat();
    let mut process = world.child(&words);
    let ready = process.json();
    (process, ready)
}
