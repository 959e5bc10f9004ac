//! A provider on loopback that says what a test tells it to, as chat completions.

use std::io::Write;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::json;
use stentor_test_support::http;

use crate::world::World;

/// The key every provider is asked with.
pub const KEY: &str = "test-key-0123456789";

/// What it answers every request with.
#[derive(Clone)]
pub enum Answer {
    /// These bytes, the head included.
    Bytes(Vec<u8>),
    /// These deltas, and an end.
    Deltas(Vec<String>),
    /// These bytes for ever.
    Endless(String),
    /// Comments for ever, a few at a time.
    Comments,
}

/// The server. It ends with the process of the test.
pub struct Provider {
    port: u16,
    requests: Arc<AtomicUsize>,
    hung_up: Receiver<()>,
}

impl Provider {
    pub fn answering(answer: Answer) -> Self {
        let requests = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&requests);
        let (gone, hung_up) = channel();
        let address = http::listen(move |connection| {
            let (count, gone, answer) = (Arc::clone(&count), gone.clone(), answer.clone());
            std::thread::spawn(move || {
                if let Ok(Some(_)) = http::Request::of(&connection) {
                    count.fetch_add(1, Ordering::SeqCst);
                    // Who asked may be gone, which is what some tests wait for.
                    give(&connection, &answer).ok();
                    gone.send(()).ok();
                }
            });
        });
        Self {
            port: address.port(),
            requests,
            hung_up,
        }
    }

    pub fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }

    /// Waits until an endless answer is wanted no more.
    pub fn wait_for_hang_up(&self) {
        self.hung_up.recv().unwrap();
    }

    /// A world whose model is this one, with more configuration in front.
    /// How long its contexts are is said, so that it is asked for nothing but answers.
    pub fn world(&self, config: &str) -> World {
        let world = World::new("", "");
        let port = self.port;
        let config = format!(
            "model = \"acme/m1\"\nuse_local_servers = false\n{config}\n\
             [providers.acme]\nbase_url = \"http://me:hidden-word@127.0.0.1:{port}/v1\"\n\
             api = \"openai-completions\"\napi_key = \"{KEY}\"\n\
             [[providers.acme.models]]\nid = \"m1\"\ncontext_window = 128000\n"
        );
        world.file("home/.config/stentor/config.toml", &config);
        world
    }
}

/// A delta as the wire has it.
pub fn delta(text: &str) -> String {
    let chunk = json!({ "id": "r1", "choices": [{ "delta": { "content": text } }] });
    format!("data: {chunk}\n\n")
}

fn give(mut connection: &TcpStream, answer: &Answer) -> std::io::Result<()> {
    const HEAD: &[u8] = http::EVENTS.as_bytes();
    match answer {
        Answer::Bytes(bytes) => connection.write_all(bytes),
        Answer::Deltas(deltas) => {
            connection.write_all(HEAD)?;
            for text in deltas {
                connection.write_all(delta(text).as_bytes())?;
            }
            let end = json!({ "choices": [{ "delta": {}, "finish_reason": "stop" }],
                "usage": { "prompt_tokens": 10, "completion_tokens": 5 } });
            connection.write_all(format!("data: {end}\n\ndata: [DONE]\n\n").as_bytes())
        }
        Answer::Comments => {
            connection.write_all(HEAD)?;
            loop {
                connection.write_all(b": still here\n\n")?;
                std::thread::sleep(Duration::from_millis(10));
            }
        }
        Answer::Endless(bytes) => {
            connection.write_all(HEAD)?;
            let many = bytes.repeat(20_000 / bytes.len() + 1);
            loop {
                connection.write_all(many.as_bytes())?;
            }
        }
    }
}
