//! The server that waits for a browser to come back, and what is pasted in its place.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdin};

use stentor_test_support::http;

use crate::world::World;

/// A login that waits for the browser.
struct Login {
    process: Child,
    stdin: ChildStdin,
    /// What is in the address that the browser is to open.
    query: HashMap<String, String>,
    _world: World,
}

impl Login {
    fn begin() -> Self {
        let tokens = http::listen(|mut connection| {
            if let Ok(Some(_)) = http::Request::of(&connection) {
                let tokens = r#"{"access_token":"a","refresh_token":"r","expires_in":3600}"#;
                let _ = connection.write_all(http::json("200 OK", tokens).as_bytes());
            }
        });
        let config = format!(
            "[providers.acme]\nbase_url = \"http://{tokens}/v1\"\napi = \"openai-completions\"\n\
             [[providers.acme.models]]\nid = \"m1\"\n[providers.acme.oauth]\n\
             authorize_url = \"http://{tokens}/authorize\"\ntoken_url = \"http://{tokens}/token\"\n\
             client_id = \"c\"\nredirect = \"http://localhost:0/back\"\n"
        );
        let world = World::new("", &config);
        let mut process = world.command(&["login", "acme"]).spawn().unwrap();
        let stdin = process.stdin.take().unwrap();
        let stdout = BufReader::new(process.stdout.as_mut().unwrap());
        let lines = stdout.lines().map(Result::unwrap);
        let address = lines.into_iter().find(|line| line.contains("/authorize?"));
        let address = address.expect("no address was shown");
        let query = address.split_once('?').unwrap().1;
        let query = form_urlencoded::parse(query.as_bytes());
        Self {
            query: query.into_owned().collect(),
            process,
            stdin,
            _world: world,
        }
    }

    fn port(&self) -> u16 {
        let redirect = &self.query["redirect_uri"];
        let port = redirect.split(':').nth(2).unwrap();
        port.split('/').next().unwrap().parse().unwrap()
    }

    fn connect(&self) -> TcpStream {
        TcpStream::connect(("127.0.0.1", self.port())).unwrap()
    }

    /// The first line of the answer to a browser that comes back for this host.
    fn come_back(&self, host: &str) -> String {
        let mut connection = self.connect();
        let state = &self.query["state"];
        let request = format!("GET /back?code=x&state={state} HTTP/1.1\r\nhost: {host}\r\n\r\n");
        connection.write_all(request.as_bytes()).unwrap();
        let mut line = String::new();
        BufReader::new(connection).read_line(&mut line).unwrap();
        line.trim().to_owned()
    }

    /// Whether it went well, and what it said on stderr.
    fn end(mut self) -> (bool, String) {
        drop(self.stdin);
        let mut err = String::new();
        let mut stderr = self.process.stderr.take().unwrap();
        stderr.read_to_string(&mut err).unwrap();
        (self.process.wait().unwrap().success(), err)
    }
}

#[test]
fn the_browser_is_answered_while_others_hang_and_foreign_names_are_sent_away() {
    let login = Login::begin();
    let silent: Vec<TcpStream> = (0..40).map(|_| login.connect()).collect();
    let port = login.port();
    for host in ["evil.example".to_owned(), format!("evil.example:{port}")] {
        let answer = login.come_back(&host);
        assert!(answer.contains(" 400 "), "{host}: {answer}");
    }
    let answer = login.come_back(&format!("127.0.0.1:{port}"));
    assert!(answer.contains(" 200 "), "{answer}");
    let (is_well, err) = login.end();
    assert!(is_well, "{err}");
    drop(silent);
}

#[test]
fn a_pasted_code_needs_its_state() {
    for pasted in [
        "x",
        "x#other",
        "http://localhost/back?code=x",
        "http://localhost/back?code=x&state=y",
    ] {
        let mut login = Login::begin();
        writeln!(login.stdin, "{pasted}").unwrap();
        let (is_well, err) = login.end();
        let is_refused = err.contains("state") || err.contains("belongs to another login");
        assert!(!is_well && is_refused, "{pasted}: {err}");
    }
    let mut login = Login::begin();
    let state = login.query["state"].clone();
    writeln!(login.stdin, "x#{state}").unwrap();
    let (is_well, err) = login.end();
    assert!(is_well, "{err}");
}
