//! The page on loopback to which a browser returns after a login.

use std::time::Duration;

use reqwest::Url;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// What the browser brought back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Returned {
    Code(String),
    /// The person or the provider said no.
    Refused(String),
}

/// A server that waits for one browser. Ends when it is dropped.
#[derive(Debug)]
pub(super) struct CallbackServer {
    /// Where the browser must be sent.
    pub redirect: String,
    returned: watch::Receiver<Option<Returned>>,
    task: JoinHandle<()>,
}

const LONGEST_REQUEST_BYTES: usize = 16 << 10;
const PATIENCE: Duration = Duration::from_secs(10);

impl CallbackServer {
    /// Listens where `redirect` points, if that is this machine and the port is free.
    pub(super) async fn listen(redirect: &str, state: &str) -> Option<Self> {
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
        let (path, state) = (url.path().to_owned(), state.to_owned());
        let task = tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let answer = timeout(PATIENCE, receive(socket, &path, &state)).await;
                if let Ok(Some(answer)) = answer {
                    let _ = tell.send(Some(answer));
                }
            }
        });
        Some(Self {
            redirect: url.to_string(),
            returned,
            task,
        })
    }

    /// Waits for the browser.
    pub(super) async fn wait(&self) -> Option<Returned> {
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

async fn receive(mut socket: TcpStream, path: &str, state: &str) -> Option<Returned> {
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
    let target = head.split(' ').nth(1)?;
    let returned = read_target(target, path, state);
    let (status, text) = match &returned {
        Ok(Returned::Code(_)) => ("200 OK", "You are logged in. This window can be closed."),
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

fn read_target(target: &str, path: &str, state: &str) -> Result<Returned, &'static str> {
    let url = Url::parse("http://localhost").and_then(|base| base.join(target));
    let url = url.map_err(|_| "This is not an address.")?;
    if url.path() != path {
        return Err("There is nothing here.");
    }
    let get = |name: &str| {
        let found = url.query_pairs().find(|(key, _)| key == name);
        found.map(|(_, value)| value.into_owned())
    };
    if get("state").as_deref() != Some(state) {
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
