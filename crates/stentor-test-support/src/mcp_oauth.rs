//! An MCP server over HTTP that wants a login, and the authorization server for it: honest, or lying
//! in the way a test wants.

use std::collections::HashMap;
use std::io::{BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};

use serde_json::{Value, json};

use crate::http::{Request, json as answer_json};

/// A server on a port of this machine, as long as the test runs.
#[derive(Clone)]
pub struct McpOAuth {
    /// `http://127.0.0.1:PORT`.
    pub address: String,
    state: Arc<Mutex<State>>,
}

/// How it behaves.
pub struct Behaviour {
    /// Whole responses, by path, instead of the honest ones.
    pub instead: HashMap<String, String>,
    /// How long the tokens are valid that it gives out next, in seconds; the last one stays.
    pub lifetimes: Vec<i64>,
    pub token_type: String,
    pub gives_refresh_tokens: bool,
    pub refuses_refresh: bool,
}

struct State {
    behaviour: Behaviour,
    address: String,
    issued: u64,
    /// Codes with the challenge they belong to.
    codes: HashMap<String, HashMap<String, String>>,
    access: Option<String>,
    refresh: Option<String>,
    /// First lines and bodies.
    requests: Vec<String>,
}

impl McpOAuth {
    /// Starts an honest one.
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let state = Arc::new(Mutex::new(State {
            behaviour: Behaviour {
                instead: HashMap::new(),
                lifetimes: vec![3600],
                token_type: "Bearer".to_owned(),
                gives_refresh_tokens: true,
                refuses_refresh: false,
            },
            address: address.clone(),
            issued: 0,
            codes: HashMap::new(),
            access: None,
            refresh: None,
            requests: Vec::new(),
        }));
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for connection in listener.incoming() {
                let (connection, shared) = (connection.unwrap(), Arc::clone(&shared));
                // One that hangs up is gone.
                std::thread::spawn(move || drop(serve(&connection, &shared)));
            }
        });
        Self { address, state }
    }

    /// Changes how it behaves.
    pub fn change(&self, change: impl FnOnce(&mut Behaviour)) {
        change(&mut self.lock().behaviour);
    }

    /// Answers a path with this instead of the truth.
    pub fn lie(&self, path: &str, response: String) {
        self.change(|behaviour| {
            behaviour.instead.insert(path.to_owned(), response);
        });
    }

    /// No longer accepts the token it gave out.
    pub fn expire(&self) {
        self.lock().access = None;
    }

    /// The token it accepts now, and the one by which that is renewed.
    pub fn tokens(&self) -> (Option<String>, Option<String>) {
        let state = self.lock();
        (state.access.clone(), state.refresh.clone())
    }

    /// The requests whose first line or body contains this.
    pub fn requests_with(&self, text: &str) -> Vec<String> {
        let state = self.lock();
        let requests = state.requests.iter();
        requests.filter(|one| one.contains(text)).cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }
}

/// Does what a browser does with an address: asks for it, and returns where that leads, or what it
/// shows.
pub fn browse(url: &str) -> String {
    let rest = url.strip_prefix("http://").unwrap();
    let (host, path) = rest.split_once('/').unwrap();
    let mut socket = TcpStream::connect(host.replace("localhost", "127.0.0.1")).unwrap();
    let request = format!("GET /{path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
    socket.write_all(request.as_bytes()).unwrap();
    let mut response = String::new();
    socket.read_to_string(&mut response).unwrap();
    let location = response
        .lines()
        .find_map(|line| line.strip_prefix("location: "));
    location.map(str::to_owned).unwrap_or(response)
}

fn serve(connection: &TcpStream, state: &Mutex<State>) -> std::io::Result<()> {
    let mut reader = BufReader::new(connection);
    while let Some(request) = Request::read(&mut reader)? {
        let response = state.lock().unwrap().respond(&request);
        let mut writer = connection;
        writer.write_all(response.as_bytes())?;
        if response.contains("connection: close") {
            return Ok(());
        }
    }
    Ok(())
}

impl State {
    fn respond(&mut self, request: &Request) -> String {
        let line = &request.head[0];
        self.requests.push(format!("{line}\n{}", request.body));
        let target = request.target().to_owned();
        let (path, query) = target.split_once('?').unwrap_or((&target, ""));
        if let Some(response) = self.behaviour.instead.get(path) {
            return response.clone();
        }
        let address = &self.address;
        match path {
            "/.well-known/oauth-protected-resource/mcp" => ok(&json!({
                "resource": format!("{address}/mcp"),
                "authorization_servers": [address],
                "scopes_supported": ["read", "write"],
            })),
            "/.well-known/oauth-authorization-server" => ok(&metadata(address)),
            "/register" => {
                let wanted: Value = serde_json::from_str(&request.body).unwrap();
                let redirects = &wanted["redirect_uris"];
                let body = json!({ "client_id": "registered", "redirect_uris": redirects });
                answer_json("201 Created", &body.to_string())
            }
            "/authorize" => self.authorize(query),
            "/token" => self.token(&form(&request.body)),
            "/mcp" => self.mcp(request),
            _ => answer_json("404 Not Found", "{}"),
        }
    }

    /// Sends the browser back with a code, as if the person had agreed.
    fn authorize(&mut self, query: &str) -> String {
        let asked = form(query);
        let code = format!("code-{}", self.codes.len() + 1);
        let (redirect, state) = (asked["redirect_uri"].clone(), asked["state"].clone());
        self.codes.insert(code.clone(), asked);
        format!(
            "HTTP/1.1 302 Found\r\nlocation: {redirect}?code={code}&state={state}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
        )
    }

    fn token(&mut self, fields: &HashMap<String, String>) -> String {
        let refused = |why: &str| {
            let body = json!({ "error": "invalid_grant", "error_description": why });
            answer_json("400 Bad Request", &body.to_string())
        };
        let resource = format!("{}/mcp", self.address);
        if fields.get("resource") != Some(&resource) {
            return refused("another resource");
        }
        match fields["grant_type"].as_str() {
            "authorization_code" => {
                let Some(asked) = self.codes.remove(&fields["code"]) else {
                    return refused("an unknown code");
                };
                let same = |name: &str| asked.get(name) == fields.get(name);
                if !same("redirect_uri") || !same("client_id") || fields["code_verifier"].len() < 43
                {
                    return refused("another client");
                }
            }
            _ if self.behaviour.refuses_refresh => return refused("the grant was revoked"),
            _ if self.refresh.as_ref() != fields.get("refresh_token") => {
                return refused("that token was used before");
            }
            _ => {}
        }
        self.issued += 1;
        let lifetimes = &mut self.behaviour.lifetimes;
        let lifetime = match lifetimes.len() {
            1 => lifetimes[0],
            _ => lifetimes.remove(0),
        };
        let access = format!("access-{}", self.issued);
        let refresh = format!("refresh-{}", self.issued);
        let refresh = Some(refresh).filter(|_| self.behaviour.gives_refresh_tokens);
        (self.access, self.refresh) = (Some(access.clone()), refresh.clone());
        ok(&json!({
            "access_token": access,
            "token_type": self.behaviour.token_type,
            "expires_in": lifetime,
            "refresh_token": refresh,
        }))
    }

    fn mcp(&self, request: &Request) -> String {
        let given = request.header("authorization");
        let wanted = self.access.as_ref().map(|token| format!("Bearer {token}"));
        if given.is_none() || given != wanted.as_deref() {
            let metadata = format!("{}/.well-known/oauth-protected-resource/mcp", self.address);
            return format!(
                "HTTP/1.1 401 Unauthorized\r\nwww-authenticate: Bearer resource_metadata=\"{metadata}\", scope=\"read\"\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
            );
        }
        match answer(&request.body) {
            Some(answer) => ok(&answer),
            None if request.head[0].starts_with("POST") => answer_json("202 Accepted", ""),
            None => answer_json("405 Method Not Allowed", ""),
        }
    }
}

/// What describes an honest authorization server.
pub fn metadata(address: &str) -> Value {
    json!({
        "issuer": address,
        "authorization_endpoint": format!("{address}/authorize"),
        "token_endpoint": format!("{address}/token"),
        "registration_endpoint": format!("{address}/register"),
        "code_challenge_methods_supported": ["plain", "S256"],
    })
}

/// A response with this in it.
pub fn ok(body: &Value) -> String {
    answer_json("200 OK", &body.to_string())
}

/// The answer of the MCP server to a message; `None` for what is no request.
fn answer(body: &str) -> Option<Value> {
    let request: Value = serde_json::from_str(body).ok()?;
    let id = request.get("id")?;
    let result = match request["method"].as_str()? {
        "initialize" => json!({
            "protocolVersion": "2025-11-25",
            "capabilities": { "tools": {} },
            "serverInfo": { "name": "far", "version": "1" },
        }),
        "tools/list" => {
            json!({ "tools": [{ "name": "say", "inputSchema": { "type": "object" } }] })
        }
        "tools/call" => json!({ "content": [{ "type": "text", "text": "said" }] }),
        _ => json!({}),
    };
    Some(json!({ "jsonrpc": "2.0", "id": id, "result": result }))
}

/// The fields of a form.
fn form(text: &str) -> HashMap<String, String> {
    let pairs = text.split('&').filter_map(|pair| pair.split_once('='));
    pairs
        .map(|(name, value)| (name.to_owned(), decoded(value)))
        .collect()
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'+' => bytes.push(b' '),
            b'%' => {
                let hex = [rest.next().unwrap(), rest.next().unwrap()];
                let hex = String::from_utf8(hex.to_vec()).unwrap();
                bytes.push(u8::from_str_radix(&hex, 16).unwrap());
            }
            byte => bytes.push(byte),
        }
    }
    String::from_utf8(bytes).unwrap()
}
