//! A server whose pages are what a test needs, until the test ends.

use std::io::Write;
use std::net::TcpStream;
use std::sync::{Arc, Mutex};

use stentor_test_support::http::{Request, listen};

/// A server on this machine.
pub struct Server {
    pub port: u16,
    /// What was asked for, in this order.
    seen: Arc<Mutex<Vec<Request>>>,
}

impl Server {
    /// One that answers each request, by its path, in a thread of its own.
    pub fn start(answer: impl Fn(&str, &mut TcpStream) + Send + Sync + 'static) -> Self {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (answer, noted) = (Arc::new(answer), Arc::clone(&seen));
        let address = listen(move |mut connection| {
            let (answer, noted) = (Arc::clone(&answer), Arc::clone(&noted));
            std::thread::spawn(move || {
                // What is no HTTP, such as the beginning of TLS, is not answered.
                if let Ok(Some(request)) = Request::of(&connection) {
                    let target = request.target().to_owned();
                    noted.lock().unwrap().push(request);
                    answer(&target, &mut connection);
                }
            });
        });
        Self {
            port: address.port(),
            seen,
        }
    }

    /// One that answers everything with this type and body.
    pub fn page(kind: &'static str, body: impl AsRef<[u8]> + Send + Sync + 'static) -> Self {
        Self::start(move |_, to| send(to, "200 OK", &[("content-type", kind)], body.as_ref()))
    }

    /// One that redirects everything to there.
    pub fn redirect(to: &'static str) -> Self {
        Self::start(move |_, out| send(out, "302 Found", &[("location", to)], b""))
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// The paths that were asked for.
    pub fn paths(&self) -> Vec<String> {
        let seen = self.seen.lock().unwrap();
        seen.iter()
            .map(|request| request.target().to_owned())
            .collect()
    }

    /// A header of the last request.
    pub fn header(&self, name: &str) -> Option<String> {
        let seen = self.seen.lock().unwrap();
        seen.last()?.header(name).map(str::to_owned)
    }
}

/// Writes a whole answer. A client that has gone is no failure.
pub fn send(to: &mut TcpStream, status: &str, headers: &[(&str, &str)], body: &[u8]) {
    let mut head = format!(
        "HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n",
        body.len()
    );
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    let _ = to
        .write_all(head.as_bytes())
        .and_then(|()| to.write_all(body));
}
