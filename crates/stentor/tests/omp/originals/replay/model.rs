//! A model on the wire of Anthropic's Messages API that says again what was said in a recording.

use std::collections::HashSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};

use serde_json::{Value, json};

/// The server. Requests are answered in the order of the turns of the recording.
pub struct Model {
    port: u16,
    gates: Arc<Gates>,
}

/// What the model waits for, by name.
#[derive(Default)]
struct Gates {
    open: Mutex<HashSet<String>>,
    opened: Condvar,
}

impl Model {
    /// A model that says these turns.
    ///
    /// A turn is a list of steps: `["text", PIECE…]`, `["thinking", PIECE…]` and
    /// `["call", ID, NAME, PIECE…]` begin a block and stream its pieces, `["more", PIECE…]` goes on
    /// with it, `["signature", TEXT]` signs a thought, `["wait", GATE]` says nothing until the gate is
    /// open, `["hang"]` says nothing any more, `["fail", TYPE, MESSAGE]` is an error in the stream and
    /// `["status", CODE, TYPE, MESSAGE]` one in its place.
    pub fn saying(turns: Vec<Value>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let gates = Arc::new(Gates::default());
        let seen = Arc::clone(&gates);
        std::thread::spawn(move || {
            let mut turns = turns.into_iter();
            for connection in listener.incoming() {
                let connection = connection.unwrap();
                let turn = turns.next();
                let gates = Arc::clone(&seen);
                // Who asked may be gone: an answer can be aborted at any time.
                std::thread::spawn(move || answer(&connection, turn.as_ref(), &gates).ok());
            }
        });
        Self { port, gates }
    }

    /// The address that stands in a configuration.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Lets a turn go on that waits for this.
    pub fn open(&self, gate: &str) {
        self.gates.open.lock().unwrap().insert(gate.to_owned());
        self.gates.opened.notify_all();
    }
}

impl Gates {
    fn wait_for(&self, gate: &str) {
        let open = self.open.lock().unwrap();
        drop(
            self.opened
                .wait_while(open, |open| !open.contains(gate))
                .unwrap(),
        );
    }
}

fn answer(
    mut connection: &TcpStream,
    turn: Option<&Value>,
    gates: &Gates,
) -> Result<(), std::io::Error> {
    read_request(connection)?;
    let nothing_left = json!([[
        "status",
        500,
        "api_error",
        "the recording has no further turn"
    ]]);
    let steps = turn.unwrap_or(&nothing_left).as_array().unwrap();
    if let [step] = steps.as_slice()
        && step[0] == "status"
    {
        let body = json!({"type": "error", "error": {"type": step[2], "message": step[3]}});
        let body = body.to_string();
        return write!(
            connection,
            "HTTP/1.1 {} No\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            step[1],
            body.len()
        );
    }
    write!(
        connection,
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
    )?;
    let mut stream = Stream {
        connection,
        blocks: 0,
        open: None,
    };
    stream.say(steps, gates)
}

/// Reads a request to its end; what it says is the business of other tests.
fn read_request(connection: &TcpStream) -> Result<(), std::io::Error> {
    let mut reader = BufReader::new(connection);
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().unwrap();
        }
        if line.trim().is_empty() {
            break;
        }
    }
    reader.read_exact(&mut vec![0; length])
}

/// The events of an answer.
struct Stream<'a> {
    connection: &'a TcpStream,
    blocks: usize,
    /// The kind of the deltas of the block that is open.
    open: Option<&'static str>,
}

impl Stream<'_> {
    fn say(&mut self, steps: &[Value], gates: &Gates) -> Result<(), std::io::Error> {
        self.event(json!({"type": "message_start", "message": {
            "id": "msg_mock01", "type": "message", "role": "assistant", "model": "mock-1",
            "content": [], "stop_reason": null, "stop_sequence": null,
            "usage": {"input_tokens": 100, "output_tokens": 1},
        }}))?;
        let mut reason = "end_turn";
        for step in steps {
            let step = step.as_array().unwrap();
            let text = |n: usize| step[n].as_str().unwrap();
            match text(0) {
                "text" => {
                    self.begin("text_delta", json!({"type": "text", "text": ""}))?;
                    self.pieces(&step[1..])?;
                }
                "thinking" => {
                    let block = json!({"type": "thinking", "thinking": "", "signature": ""});
                    self.begin("thinking_delta", block)?;
                    self.pieces(&step[1..])?;
                }
                "call" => {
                    reason = "tool_use";
                    let block =
                        json!({"type": "tool_use", "id": text(1), "name": text(2), "input": {}});
                    self.begin("input_json_delta", block)?;
                    self.pieces(&step[3..])?;
                }
                "more" => self.pieces(&step[1..])?,
                "signature" => {
                    self.delta(json!({"type": "signature_delta", "signature": text(1)}))?
                }
                "wait" => gates.wait_for(text(1)),
                "hang" => gates.wait_for("never"),
                "fail" => {
                    self.end()?;
                    let error = json!({"type": text(1), "message": text(2)});
                    return self.event(json!({"type": "error", "error": error}));
                }
                other => panic!("no step is called {other}"),
            }
        }
        self.end()?;
        self.event(json!({
            "type": "message_delta",
            "delta": {"stop_reason": reason, "stop_sequence": null},
            "usage": {"output_tokens": 25},
        }))?;
        self.event(json!({"type": "message_stop"}))
    }

    fn begin(&mut self, deltas: &'static str, block: Value) -> Result<(), std::io::Error> {
        self.end()?;
        self.open = Some(deltas);
        let index = self.blocks;
        self.event(json!({"type": "content_block_start", "index": index, "content_block": block}))
    }

    fn pieces(&mut self, pieces: &[Value]) -> Result<(), std::io::Error> {
        let deltas = self.open.unwrap();
        let key = match deltas {
            "text_delta" => "text",
            "thinking_delta" => "thinking",
            _ => "partial_json",
        };
        for piece in pieces {
            self.delta(json!({"type": deltas, key: piece}))?;
        }
        Ok(())
    }

    fn delta(&mut self, delta: Value) -> Result<(), std::io::Error> {
        let index = self.blocks;
        self.event(json!({"type": "content_block_delta", "index": index, "delta": delta}))
    }

    fn end(&mut self) -> Result<(), std::io::Error> {
        if self.open.take().is_some() {
            self.event(json!({"type": "content_block_stop", "index": self.blocks}))?;
            self.blocks += 1;
        }
        Ok(())
    }

    fn event(&mut self, event: Value) -> Result<(), std::io::Error> {
        let kind = event["type"].as_str().unwrap().to_owned();
        write!(self.connection, "event: {kind}\ndata: {event}\n\n")
    }
}
