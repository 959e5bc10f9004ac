//! A client of the server over HTTP, in plain sight: what is written and what comes back.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use serde_json::Value;
use tokio_tungstenite::tungstenite::{self, Message, WebSocket};

use crate::server::Server;
use crate::world::World;

/// A server that listens on a port of its own.
pub fn http_server(scenario: &str) -> Server {
    Server::with(World::new(scenario, ""), &["--http", "0"])
}

impl Server {
    /// `127.0.0.1:PORT`
    pub fn host(&self) -> String {
        let address = self.ready["http"].as_str().unwrap();
        address.strip_prefix("http://").unwrap().to_owned()
    }

    /// The token of this name in the file that the server names.
    pub fn token(&self, name: &str) -> String {
        let file = self.ready["token_file"].as_str().unwrap();
        let text = std::fs::read_to_string(file).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap().trim().to_owned()
    }

    /// A header that bears the token to drive.
    pub fn bearer(&self) -> String {
        format!("Authorization: Bearer {}", self.token("drive"))
    }

    /// Sends a request with these headers; those that are always needed are added.
    pub fn ask(&self, request: &str, headers: &[&str], body: &str) -> Answer {
        self.send(request, headers, body).whole()
    }

    /// The same, whose answer goes on.
    pub fn send(&self, request: &str, headers: &[&str], body: &str) -> Answering {
        let mut stream = TcpStream::connect(self.host()).unwrap();
        let has = |name: &str| headers.iter().any(|header| header.starts_with(name));
        let mut text = format!("{request} HTTP/1.1\r\n");
        if !has("Host:") {
            text.push_str(&format!("Host: {}\r\n", self.host()));
        }
        if !body.is_empty() {
            text.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        for header in headers.iter().filter(|header| !header.is_empty()) {
            text.push_str(&format!("{header}\r\n"));
        }
        text.push_str("Connection: close\r\n\r\n");
        stream.write_all(text.as_bytes()).unwrap();
        // It may refuse before it has read everything.
        stream.write_all(body.as_bytes()).ok();
        Answering::begin(stream)
    }

    /// A WebSocket at a path, with the token to drive.
    pub fn web_socket(&self, path: &str) -> Socket {
        self.web_socket_with(path, &[("Authorization", &self.bearer()[15..])])
            .unwrap()
    }

    /// A WebSocket with these headers, or the status it is refused with.
    pub fn web_socket_with(
        &self,
        path: &str,
        headers: &[(&'static str, &str)],
    ) -> Result<Socket, u16> {
        let stream = TcpStream::connect(self.host()).unwrap();
        let address = format!("ws://{}{path}", self.host());
        let mut request =
            tungstenite::client::IntoClientRequest::into_client_request(address).unwrap();
        for (name, value) in headers {
            request.headers_mut().insert(*name, value.parse().unwrap());
        }
        match tungstenite::client(request, stream) {
            Ok((socket, answer)) => Ok(Socket { socket, answer }),
            Err(tungstenite::HandshakeError::Failure(tungstenite::Error::Http(answer))) => {
                Err(answer.status().as_u16())
            }
            Err(other) => panic!("{other}"),
        }
    }
}

/// A WebSocket, and the answer that made it one.
pub struct Socket {
    pub socket: WebSocket<TcpStream>,
    pub answer: tungstenite::handshake::client::Response,
}

impl Socket {
    pub fn send(&mut self, frame: &str) {
        self.socket.send(Message::text(frame)).unwrap();
    }

    /// Announces a frame of text of that length, and sends nothing of it.
    pub fn begin_text(&mut self, bytes: u64) {
        /// The last part of a text, and then a length of eight bytes behind which a mask follows.
        const HEADER: [u8; 2] = [0x81, 0xff];
        let header = [&HEADER[..], &bytes.to_be_bytes(), &[0; 4]].concat();
        self.socket.get_mut().write_all(&header).unwrap();
    }

    /// The next frame.
    pub fn text(&mut self) -> String {
        loop {
            match self.socket.read().unwrap() {
                Message::Text(text) => return text.to_string(),
                Message::Ping(_) | Message::Pong(_) => {}
                other => panic!("{other:?}"),
            }
        }
    }

    pub fn json(&mut self) -> Value {
        serde_json::from_str(&self.text()).unwrap()
    }

    /// The frames up to and with the first that contains a text.
    pub fn until(&mut self, text: &str) -> Vec<String> {
        let mut frames = Vec::new();
        loop {
            frames.push(self.text());
            if frames.last().is_some_and(|frame| frame.contains(text)) {
                return frames;
            }
        }
    }

    /// The code the server closes with.
    pub fn closed(&mut self) -> u16 {
        loop {
            match self.socket.read().unwrap() {
                Message::Close(Some(frame)) => {
                    // The other end waits for ours.
                    self.socket.flush().ok();
                    return frame.code.into();
                }
                Message::Close(None) => panic!("closed without a code"),
                _ => {}
            }
        }
    }
}

/// An answer that goes on.
pub struct Answering {
    pub status: u16,
    pub headers: Vec<String>,
    body: BufReader<TcpStream>,
}

/// A whole answer.
pub struct Answer {
    pub status: u16,
    pub headers: Vec<String>,
    pub body: String,
}

impl Answering {
    fn begin(stream: TcpStream) -> Self {
        let mut body = BufReader::new(stream);
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            body.read_line(&mut line).unwrap();
            match line.trim_end() {
                "" => break,
                line => lines.push(line.to_owned()),
            }
        }
        let status = lines.remove(0);
        let status = status.split(' ').nth(1).unwrap().parse().unwrap();
        Self {
            status,
            headers: lines,
            body,
        }
    }

    pub fn stream(&self) -> &TcpStream {
        self.body.get_ref()
    }

    /// The data of the next event.
    pub fn event(&mut self) -> Value {
        loop {
            let mut line = String::new();
            assert_ne!(self.body.read_line(&mut line).unwrap(), 0, "the end");
            if let Some(data) = line.strip_prefix("data: ") {
                return serde_json::from_str(data).unwrap();
            }
        }
    }

    /// Reads on to the end; true when no event came any more.
    pub fn ends(mut self) -> bool {
        let mut rest = String::new();
        self.body.read_to_string(&mut rest).unwrap();
        !rest.contains("data:")
    }

    fn whole(mut self) -> Answer {
        let mut body = String::new();
        self.body.read_to_string(&mut body).unwrap();
        Answer {
            status: self.status,
            headers: self.headers,
            body,
        }
    }
}

impl Answer {
    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter().filter_map(|line| line.split_once(": "));
        let found = headers.find(|(header, _)| header.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value)
    }
}
