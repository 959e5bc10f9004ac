//! A small HTTP/1.1 server that says what a test tells it to, byte by byte.

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;

/// A request as it came in.
#[derive(Debug, Clone)]
pub struct Request {
    pub method: String,
    pub target: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

/// What the server does with a request.
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub steps: Vec<Step>,
}

pub enum Step {
    Send(Vec<u8>),
    /// Again and again, until the other side has enough.
    Repeat(Vec<u8>),
    /// Close the socket without ending the body.
    Cut,
    /// Say nothing more and keep the socket open.
    Hang,
}

type Handler = Arc<dyn Fn(&Request) -> Reply + Send + Sync>;

pub struct Server {
    pub port: u16,
    seen: Arc<Mutex<Vec<Request>>>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Server {
    pub async fn start(handler: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        Self::start_with(None, handler).await
    }

    pub async fn start_tls(
        acceptor: tokio_rustls::TlsAcceptor,
        handler: impl Fn(&Request) -> Reply + Send + Sync + 'static,
    ) -> Self {
        Self::start_with(Some(acceptor), handler).await
    }

    async fn start_with(
        tls: Option<tokio_rustls::TlsAcceptor>,
        handler: impl Fn(&Request) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&seen);
        let handler: Handler = Arc::new(handler);
        let task = tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let (handler, log, tls) = (Arc::clone(&handler), Arc::clone(&log), tls.clone());
                tokio::spawn(async move {
                    match tls {
                        None => serve(socket, handler, log).await,
                        Some(tls) => {
                            if let Ok(socket) = tls.accept(socket).await {
                                serve(socket, handler, log).await;
                            }
                        }
                    }
                });
            }
        });
        Self { port, seen, task }
    }

    /// Replies to the n-th request with the n-th list of chunks, in server-sent events.
    pub async fn with_events(answers: Vec<String>) -> Self {
        let next = Mutex::new(answers.into_iter());
        Self::start(move |_| Reply::events(next.lock().unwrap().next().unwrap())).await
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    pub fn requests(&self) -> Vec<Request> {
        self.seen.lock().unwrap().clone()
    }
}

impl Request {
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(have, _)| have == name);
        found.map(|(_, value)| value.as_str())
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

impl Reply {
    pub fn events(text: impl Into<Vec<u8>>) -> Self {
        Self::steps(vec![Step::Send(text.into())])
    }

    pub fn steps(steps: Vec<Step>) -> Self {
        Self {
            status: 200,
            headers: vec![("content-type".into(), "text/event-stream".into())],
            steps,
        }
    }

    pub fn json(status: u16, body: &str) -> Self {
        Self {
            status,
            headers: vec![("content-type".into(), "application/json".into())],
            steps: vec![Step::Send(body.as_bytes().to_vec())],
        }
    }

    pub fn with_header(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }
}

async fn serve<S: AsyncRead + AsyncWrite + Unpin>(
    mut socket: S,
    handler: Handler,
    log: Arc<Mutex<Vec<Request>>>,
) {
    let mut received = Vec::new();
    while let Some(request) = read_request(&mut socket, &mut received).await {
        let reply = handler(&request);
        log.lock().unwrap().push(request);
        let mut head = format!(
            "HTTP/1.1 {} X\r\ntransfer-encoding: chunked\r\n",
            reply.status
        );
        for (name, value) in &reply.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        if socket.write_all(head.as_bytes()).await.is_err() {
            return;
        }
        for step in reply.steps {
            match step {
                Step::Send(bytes) if bytes.is_empty() => {}
                Step::Send(bytes) => {
                    let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
                    chunk.extend_from_slice(&bytes);
                    chunk.extend_from_slice(b"\r\n");
                    if socket.write_all(&chunk).await.is_err() {
                        return;
                    }
                    let _ = socket.flush().await;
                }
                Step::Repeat(bytes) => {
                    let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
                    chunk.extend_from_slice(&bytes);
                    chunk.extend_from_slice(b"\r\n");
                    while socket.write_all(&chunk).await.is_ok() {
                        tokio::task::yield_now().await;
                    }
                    return;
                }
                Step::Cut => {
                    let _ = socket.shutdown().await;
                    return;
                }
                Step::Hang => {
                    let mut rest = Vec::new();
                    let _ = socket.read_to_end(&mut rest).await;
                    return;
                }
            }
        }
        if socket.write_all(b"0\r\n\r\n").await.is_err() {
            return;
        }
        let _ = socket.flush().await;
    }
}

async fn read_request<S: AsyncRead + Unpin>(
    socket: &mut S,
    received: &mut Vec<u8>,
) -> Option<Request> {
    let head_end = loop {
        if let Some(at) = received.windows(4).position(|window| window == b"\r\n\r\n") {
            break at;
        }
        more(socket, received).await?;
    };
    let head = String::from_utf8_lossy(&received[..head_end]).into_owned();
    received.drain(..head_end + 4);
    let mut lines = head.split("\r\n");
    let mut first = lines.next()?.split(' ');
    let (method, target) = (first.next()?.to_owned(), first.next()?.to_owned());
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length: usize = length.map_or(0, |(_, value)| value.parse().unwrap());
    while received.len() < length {
        more(socket, received).await?;
    }
    let body = received.drain(..length).collect();
    Some(Request {
        method,
        target,
        headers,
        body,
    })
}

async fn more<S: AsyncRead + Unpin>(socket: &mut S, received: &mut Vec<u8>) -> Option<()> {
    let mut buffer = vec![0; 64 << 10];
    let count = socket.read(&mut buffer).await.ok()?;
    received.extend_from_slice(&buffer[..count]);
    (count > 0).then_some(())
}
