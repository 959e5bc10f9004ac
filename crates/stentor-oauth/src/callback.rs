//! The page on loopback to which a browser returns after a login.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use reqwest::Url;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinHandle, JoinSet};
use tokio::time::timeout;

/// What the browser brought back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Returned {
    Code(String),
    /// The person or the provider said no.
    Refused(String),
}

/// A server that waits for one browser. Ends when it is dropped.
#[derive(Debug)]
pub struct CallbackServer {
    /// Where the browser must be sent.
    pub redirect: String,
    returned: watch::Receiver<Option<Returned>>,
    task: JoinHandle<()>,
}

/// What the browser's request must look like.
struct ExpectedCallback {
    port: u16,
    path: String,
    state: String,
}

/// How many are answered at the same time. When one more comes, the one that has been there
/// longest is sent away.
const VISITORS: usize = 16;
const LONGEST_REQUEST_BYTES: usize = 16 << 10;
const PATIENCE: Duration = Duration::from_secs(10);

impl CallbackServer {
    /// Listens where `redirect` points, if that is this machine and the port is free.
    pub async fn listen(redirect: &str, state: &str) -> Option<Self> {
        let mut url = Url::parse(redirect).ok()?;
        let is_loopback = matches!(url.host_str(), Some("localhost" | "127.0.0.1"));
        if url.scheme() != "http" || !is_loopback {
            return None;
        }
        let wanted = url.port().unwrap_or(0);
        let listener = bind(wanted).await?;
        url.set_port(Some(listener.local_addr().ok()?.port()))
            .ok()?;
        let (tell, returned) = watch::channel(None);
        let expected = Arc::new(ExpectedCallback {
            port: url.port_or_known_default().unwrap_or_default(),
            path: url.path().to_owned(),
            state: state.to_owned(),
        });
        let task = tokio::spawn(accept(listener, expected, tell));
        Some(Self {
            redirect: url.to_string(),
            returned,
            task,
        })
    }

    /// Waits for the browser.
    pub async fn wait(&self) -> Option<Returned> {
        let mut returned = self.returned.clone();
        let answer = returned.wait_for(Option::is_some).await.ok()?;
        answer.clone()
    }
}

impl Drop for CallbackServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Answers whoever comes, each on its own, so that one that says nothing keeps nobody waiting.
async fn accept(
    listener: TcpListener,
    expected: Arc<ExpectedCallback>,
    tell: watch::Sender<Option<Returned>>,
) {
    // All end with this task.
    let mut visits = JoinSet::new();
    let mut visitors = VecDeque::new();
    while let Ok((socket, _)) = listener.accept().await {
        while visits.try_join_next().is_some() {}
        if visitors.len() == VISITORS {
            let oldest: Option<AbortHandle> = visitors.pop_front();
            oldest.inspect(AbortHandle::abort);
        }
        let (expected, tell) = (Arc::clone(&expected), tell.clone());
        visitors.push_back(visits.spawn(async move {
            if let Ok(Some(answer)) = timeout(PATIENCE, receive(socket, &expected)).await {
                // The first answer counts.
                tell.send_if_modified(|told| {
                    let is_first = told.is_none();
                    told.get_or_insert(answer);
                    is_first
                });
            }
        }));
    }
}

/// Takes the port; a login that was given up a moment ago may still hold it.
async fn bind(port: u16) -> Option<TcpListener> {
    const TRIES: u32 = 5;
    const BETWEEN: Duration = Duration::from_millis(20);
    for _ in 0..TRIES {
        match TcpListener::bind(("127.0.0.1", port)).await {
            Ok(listener) => return Some(listener),
            Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => {
                tokio::time::sleep(BETWEEN).await;
            }
            Err(_) => return None,
        }
    }
    None
}

async fn receive(mut socket: TcpStream, expected: &ExpectedCallback) -> Option<Returned> {
    let mut request = Vec::new();
    let mut buffer = [0; 2048];
    while !request.windows(4).any(|window| window == b"\r\n\r\n") {
        let count = socket.read(&mut buffer).await.ok()?;
        if count == 0 || request.len() + count > LONGEST_REQUEST_BYTES {
            return None;
        }
        request.extend_from_slice(buffer.get(..count)?);
    }
    let head = String::from_utf8_lossy(&request);
    let returned = read_request(&head, expected);
    let (status, text) = match &returned {
        Ok(Returned::Code(_)) => ("200 OK", "You are logged in. You can close this window."),
        Ok(Returned::Refused(_)) => ("400 Bad Request", "The login was refused."),
        Err(why) => ("400 Bad Request", *why),
    };
    let page = format!("<!doctype html><meta charset=utf-8><title>stentor</title><p>{text}</p>");
    let response = format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: {}\r\n\
         connection: close\r\n\r\n{page}",
        page.len()
    );
    socket.write_all(response.as_bytes()).await.ok()?;
    let _ = socket.shutdown().await;
    returned.ok()
}

fn read_request(head: &str, expected: &ExpectedCallback) -> Result<Returned, &'static str> {
    let mut lines = head.split("\r\n");
    let target = lines.next().and_then(|line| line.split(' ').nth(1));
    let target = target.ok_or("This is not a request.")?;
    let mut hosts = lines
        .filter_map(|line| line.split_once(':'))
        .filter(|(name, _)| name.eq_ignore_ascii_case("host"))
        .map(|(_, host)| host.trim());
    let host = (hosts.next(), hosts.next());
    // A page somewhere can give its own name this machine's address; the browser still says
    // under which name it came.
    let is_ours = |host: &str| {
        let (name, port) = host.split_once(':').unwrap_or((host, "80"));
        let is_name = |own: &&str| name.eq_ignore_ascii_case(own);
        ["localhost", "127.0.0.1"].iter().any(is_name) && port.parse() == Ok(expected.port)
    };
    if !matches!(host, (Some(host), None) if is_ours(host)) {
        return Err("This page is only for this machine.");
    }
    let url = Url::parse("http://localhost").and_then(|base| base.join(target));
    let url = url.map_err(|_| "This is not an address.")?;
    if url.path() != expected.path {
        return Err("There is nothing here.");
    }
    let get = |name: &str| {
        let found = url.query_pairs().find(|(key, _)| key == name);
        found.map(|(_, value)| value.into_owned())
    };
    if get("state").as_deref() != Some(expected.state.as_str()) {
        return Err("This answer belongs to another login.");
    }
    if let Some(error) = get("error") {
        let description = get("error_description").unwrap_or_default();
        return Ok(Returned::Refused(
            format!("{error} {description}").trim().to_owned(),
        ));
    }
    get("code")
        .map(Returned::Code)
        .ok_or("The code is missing.")
}
