//! A model on the wire of Anthropic's Messages API that says again what was said in a recording.

use std::collections::HashSet;
use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Condvar, Mutex};

use serde_json::{Value, json};
use stentor_test_support::http;

/// The server. Requests are answered in the order of the turns of the recording.
pub struct Model {
    address: SocketAddr,
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
        let gates = Arc::new(Gates::default());
        let seen = Arc::clone(&gates);
        let mut turns = turns.into_iter();
        let address = http::listen(move |connection| {
            let turn = turns.next();
            let gates = Arc::clone(&seen);
            // Who asked may be gone: an answer can be aborted at any time.
            std::thread::spawn(move || answer(&connection, turn.as_ref(), &gates).ok());
        });
        Self { address, gates }
    }

    /// The address that stands in a configuration.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
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
    http::Request::of(connection)?;
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
        let answer = http::json(&format!("{} No", step[1]), &body.to_string());
        return connection.write_all(answer.as_bytes());
    }
    connection.write_all(http::EVENTS.as_bytes())?;
    let mut stream = Stream {
        connection,
        blocks: 0,
        open: None,
    };
    stream.say(steps, gates)
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
