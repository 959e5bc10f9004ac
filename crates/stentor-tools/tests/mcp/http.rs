//! A server over HTTP in both of its forms, in as few lines as show what matters.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

/// A server that listens on a port of this machine.
pub struct HttpServer {
    pub address: String,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    /// What its stream says where to post.
    endpoint: Mutex<Option<String>>,
    /// The newest stream of events.
    events: Mutex<Option<mpsc::Sender<String>>>,
    /// Each request: its first line, its headers.
    requests: Mutex<Vec<(String, HashMap<String, String>)>>,
    streams: Mutex<usize>,
    /// Whether it does not know its client any more.
    forgot: Mutex<bool>,
    /// How many sessions were begun; only the newest is known.
    sessions: Mutex<usize>,
    /// The answer that a stream broke off before.
    unsent: Mutex<Option<String>>,
}

impl HttpServer {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let state = Arc::new(State::default());
        let shared = Arc::clone(&state);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&shared)));
            }
        });
        Self { address, state }
    }

    /// Has its stream say something else about where to post.
    pub fn post_to(&self, endpoint: &str) {
        *self.state.endpoint.lock().unwrap() = Some(endpoint.to_owned());
    }

    /// Ends the stream of events.
    pub fn end_stream(&self) {
        self.state.events.lock().unwrap().take();
    }

    /// Forgets its client, as a server does that was started anew.
    pub fn forget(&self) {
        *self.state.forgot.lock().unwrap() = true;
    }

    /// Forgets the session of its client.
    pub fn forget_session(&self) {
        *self.state.sessions.lock().unwrap() += 1;
    }

    /// How many streams of events were opened.
    pub fn streams(&self) -> usize {
        *self.state.streams.lock().unwrap()
    }

    /// What each request had in a header.
    pub fn header(&self, name: &str) -> Vec<Option<String>> {
        let requests = self.state.requests.lock().unwrap();
        let values = requests
            .iter()
            .map(|(_, headers)| headers.get(name).cloned());
        values.collect()
    }
}

async fn serve(stream: TcpStream, state: Arc<State>) {
    let (reading, mut writing) = stream.into_split();
    let mut reading = BufReader::new(reading);
    while let Some((first, headers, body)) = request(&mut reading, &state).await {
        let mut words = first.split(' ');
        match (words.next(), words.next()) {
            (Some("GET"), Some("/sse")) => return events(&mut writing, &state).await,
            (Some("POST"), Some("/messages")) => {
                if let Some(answer) = answer(&body) {
                    let events = state.events.lock().unwrap().clone();
                    if let Some(events) = events {
                        events.send(answer.to_string()).await.ok();
                    }
                }
                respond(&mut writing, "202 Accepted", "").await;
            }
            (Some("POST"), Some("/session")) => {
                in_session(&mut writing, &state, headers.get("mcp-session-id"), &body).await;
            }
            (Some("POST"), Some("/breaks-off")) if is_call(&body) => {
                *state.unsent.lock().unwrap() = answer(&body).map(|answer| answer.to_string());
                return event(&mut writing, "id: seven\n\n").await;
            }
            (Some("GET"), Some("/breaks-off"))
                if headers.get("last-event-id").map(String::as_str) == Some("seven") =>
            {
                let unsent = state.unsent.lock().unwrap().take().unwrap();
                return event(&mut writing, &format!("data: {unsent}\n\n")).await;
            }
            (Some("POST"), Some("/flood")) if is_call(&body) => return flood(&mut writing).await,
            (Some("POST"), Some("/mcp" | "/flood")) if has_forgotten(&state, &body) => {
                respond(&mut writing, "400 Bad Request", "").await;
            }
            (Some("POST"), Some("/mcp" | "/flood" | "/breaks-off")) => match answer(&body) {
                Some(answer) => respond(&mut writing, "200 OK", &answer.to_string()).await,
                None => respond(&mut writing, "202 Accepted", "").await,
            },
            (Some("POST"), Some("/huge")) => {
                let text = "x".repeat(20 << 20);
                respond(&mut writing, "200 OK", &json!({ "text": text }).to_string()).await;
            }
            (Some("POST"), Some("/elsewhere")) => {
                let location = "Location: http://localhost:1/\r\n";
                let head = format!("HTTP/1.1 307 Elsewhere\r\n{location}Content-Length: 0\r\n\r\n");
                writing.write_all(head.as_bytes()).await.ok();
            }
            _ => respond(&mut writing, "405 Not Allowed", "").await,
        }
    }
}

fn is_call(body: &[u8]) -> bool {
    String::from_utf8_lossy(body).contains("\"tools/call\"")
}

/// Answers those who know the newest session, and whoever begins one.
async fn in_session(
    writing: &mut OwnedWriteHalf,
    state: &State,
    session: Option<&String>,
    body: &[u8],
) {
    let is_greeting = String::from_utf8_lossy(body).contains("\"initialize\"");
    let newest = {
        let mut sessions = state.sessions.lock().unwrap();
        *sessions += usize::from(is_greeting);
        sessions.to_string()
    };
    if !is_greeting && session != Some(&newest) {
        return respond(writing, "404 Not Found", "").await;
    }
    let body = answer(body).map(|answer| answer.to_string());
    let body = body.unwrap_or_default();
    let length = body.len();
    let head = format!(
        "HTTP/1.1 200 OK\r\nMcp-Session-Id: {newest}\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\n\r\n{body}"
    );
    writing.write_all(head.as_bytes()).await.ok();
}

/// Answers with one event and closes the connection.
async fn event(writing: &mut OwnedWriteHalf, event: &str) {
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
    let text = format!("{head}{event}");
    writing.write_all(text.as_bytes()).await.ok();
}

/// Answers with an event without end, for as long as somebody reads.
async fn flood(writing: &mut OwnedWriteHalf) {
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
    let mut next = head.as_bytes();
    while writing.write_all(next).await.is_ok() {
        next = &[b'x'; 1 << 16];
    }
}

/// A greeting makes it know its client again.
fn has_forgotten(state: &State, body: &[u8]) -> bool {
    let mut forgot = state.forgot.lock().unwrap();
    let is_greeting = String::from_utf8_lossy(body).contains("\"initialize\"");
    *forgot = *forgot && !is_greeting;
    *forgot
}

async fn request(
    reading: &mut BufReader<OwnedReadHalf>,
    state: &State,
) -> Option<(String, HashMap<String, String>, Vec<u8>)> {
    let mut first = String::new();
    reading.read_line(&mut first).await.ok()?;
    let mut headers = HashMap::new();
    loop {
        let mut line = String::new();
        reading.read_line(&mut line).await.ok()?;
        match line.trim().split_once(':') {
            Some((name, value)) => {
                headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
            }
            None => break,
        }
    }
    let length = headers.get("content-length");
    let length = length.and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reading.read_exact(&mut body).await.ok()?;
    let first = first.trim().to_owned();
    if first.is_empty() {
        return None;
    }
    state
        .requests
        .lock()
        .unwrap()
        .push((first.clone(), headers.clone()));
    Some((first, headers, body))
}

async fn respond(writing: &mut OwnedWriteHalf, status: &str, body: &str) {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
    );
    writing.write_all(head.as_bytes()).await.ok();
    writing.write_all(body.as_bytes()).await.ok();
}

async fn events(writing: &mut OwnedWriteHalf, state: &State) {
    let (sender, mut waiting) = mpsc::channel(16);
    *state.events.lock().unwrap() = Some(sender);
    *state.streams.lock().unwrap() += 1;
    let endpoint = state.endpoint.lock().unwrap().clone();
    let endpoint = endpoint.unwrap_or_else(|| "/messages".to_owned());
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
    let first = format!("{head}: hello\n\nevent: endpoint\ndata: {endpoint}\n\n");
    writing.write_all(first.as_bytes()).await.ok();
    while let Some(message) = waiting.recv().await {
        let event = format!("event: message\r\ndata: {message}\r\n\r\n");
        if writing.write_all(event.as_bytes()).await.is_err() {
            return;
        }
    }
}

fn answer(body: &[u8]) -> Option<Value> {
    let request: Value = serde_json::from_slice(body).unwrap();
    let id = request.get("id")?;
    let result = match request["method"].as_str()? {
        "initialize" => json!({
            "protocolVersion": "2025-03-26",
            "capabilities": { "tools": {} },
            "serverInfo": { "name": "h", "version": "1" },
        }),
        "tools/list" => {
            json!({ "tools": [{ "name": "say", "inputSchema": { "type": "object" } }] })
        }
        "tools/call" => json!({ "content": [{ "type": "text", "text": "said" }] }),
        _ => {
            return Some(
                json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32601, "message": "no" } }),
            );
        }
    };
    Some(json!({ "jsonrpc": "2.0", "id": id, "result": result }))
}
