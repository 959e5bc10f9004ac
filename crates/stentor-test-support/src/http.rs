//! HTTP as far as a server on loopback needs it that plays a model or a provider.

use std::io::{BufRead, BufReader, Result};
use std::net::{SocketAddr, TcpListener, TcpStream};

/// What stands before a stream of events that ends with the connection.
pub const EVENTS: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";

/// A request.
pub struct Request {
    /// Its first line and its headers.
    pub head: Vec<String>,
    pub body: String,
}

impl Request {
    /// Reads the only request of a connection; `None` where the client has hung up instead.
    pub fn of(connection: &TcpStream) -> Result<Option<Self>> {
        Self::read(&mut BufReader::new(connection))
    }

    /// Reads the next request; `None` where there is none any more.
    pub fn read(reader: &mut impl BufRead) -> Result<Option<Self>> {
        let mut head = Vec::new();
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line)? == 0 {
                return Ok(None);
            }
            match line.trim_end() {
                "" => break,
                line => head.push(line.to_owned()),
            }
        }
        let mut request = Self {
            head,
            body: String::new(),
        };
        let length = request.header("content-length");
        let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
        reader.read_exact(&mut body)?;
        request.body = String::from_utf8(body).unwrap();
        Ok(Some(request))
    }

    /// What is asked for: the path and what follows it.
    pub fn target(&self) -> &str {
        self.head[0].split(' ').nth(1).unwrap()
    }

    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.iter().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

/// An answer in JSON, after which the connection ends.
pub fn json(status: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
    )
}

/// Gives each connection to `serve`, one after the other, as long as the test runs. Returns where
/// it listens.
pub fn listen(mut serve: impl FnMut(TcpStream) + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            serve(connection.unwrap());
        }
    });
    address
}
