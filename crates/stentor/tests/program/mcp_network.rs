//! MCP servers behind an address are reached like models: with the certificates and through the
//! proxies that the user has set.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::{ServerConfig, crypto::ring::default_provider};

use crate::world::{Ran, World};

/// A server over HTTP or HTTPS on a port of this machine, until it is dropped.
struct HttpServer {
    port: u16,
    /// The first line of each request.
    requests: mpsc::UnboundedReceiver<String>,
    _runtime: tokio::runtime::Runtime,
}

impl HttpServer {
    fn start(tls: Option<TlsAcceptor>) -> Self {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let port = listener.local_addr().unwrap().port();
        let (seen, requests) = mpsc::unbounded_channel();
        runtime.spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let (tls, seen) = (tls.clone(), seen.clone());
                tokio::spawn(async move {
                    match tls {
                        None => serve(socket, seen).await,
                        // One that does not trust the certificate goes away.
                        Some(tls) => match tls.accept(socket).await {
                            Ok(socket) => serve(socket, seen).await,
                            Err(_) => None,
                        },
                    }
                });
            }
        });
        Self {
            port,
            requests,
            _runtime: runtime,
        }
    }
}

/// Answers every request of a connection. `None` at its end.
async fn serve<S: AsyncRead + AsyncWrite + Unpin>(
    socket: S,
    seen: mpsc::UnboundedSender<String>,
) -> Option<()> {
    let mut socket = BufReader::new(socket);
    loop {
        let mut first = String::new();
        socket
            .read_line(&mut first)
            .await
            .ok()
            .filter(|read| *read > 0)?;
        let mut length = 0;
        loop {
            let mut line = String::new();
            socket.read_line(&mut line).await.ok()?;
            match line.trim().to_ascii_lowercase().split_once(':') {
                Some(("content-length", value)) => length = value.trim().parse().unwrap(),
                Some(_) => {}
                None => break,
            }
        }
        let mut body = vec![0; length];
        socket.read_exact(&mut body).await.ok()?;
        seen.send(first.trim().to_owned()).ok()?;
        let (status, body) = match answer(&body) {
            Some(answer) => ("200 OK", answer.to_string()),
            None if first.starts_with("POST") => ("202 Accepted", String::new()),
            None => ("405 Method Not Allowed", String::new()),
        };
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        socket.write_all((head + &body).as_bytes()).await.ok()?;
        socket.flush().await.ok()?;
    }
}

fn answer(body: &[u8]) -> Option<Value> {
    let request: Value = serde_json::from_slice(body).ok()?;
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
        other => panic!("nobody asks for {other}"),
    };
    Some(json!({ "jsonrpc": "2.0", "id": id, "result": result }))
}

/// A server whose certificate only those trust who have its root, which is `home/root.pem`.
fn with_private_root(world: &World) -> HttpServer {
    let certified = rcgen::generate_simple_self_signed(vec!["localhost".into()]).unwrap();
    world.file("home/root.pem", &certified.cert.pem());
    let key = certified.signing_key.serialize_der();
    let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certified.cert.der().clone()], key.try_into().unwrap())
        .unwrap();
    HttpServer::start(Some(Arc::new(config).into()))
}

const PLAN: &str = r#"
[[turn]]
tool = "mcp__far__say"
arguments = {}

[[turn]]
text = "It said: {{last_tool_result}}"
"#;

fn configured(world: &World, top: &str, url: &str) {
    let text = format!("{top}\n[mcp_servers.far]\nurl = {url:?}\nrestart = 0\n");
    world.file("home/.config/stentor/config.toml", &text);
    world.file("work/plan.toml", PLAN);
}

fn ask(world: &World, variables: &[(&str, &str)]) -> Ran {
    let words = ["--model", "script/plan.toml", "--no-session", "-p", "go"];
    let mut command = world.command(&words);
    let output = command.envs(variables.iter().copied()).output().unwrap();
    world.finish(output)
}

#[test]
fn a_server_with_a_certificate_of_its_own_is_trusted_when_its_root_is_configured() {
    let world = World::new();
    let server = with_private_root(&world);
    let url = format!("https://localhost:{}/mcp", server.port);
    configured(&world, "", &url);
    let stranger = ask(&world, &[]);
    assert!(stranger.out.contains("not found"), "{stranger:?}");
    assert!(
        stranger.err.contains("The MCP server \"far\" is given up"),
        "{stranger:?}"
    );

    configured(&world, "ca_file = \"~/root.pem\"", &url);
    let trusted = ask(&world, &[]);
    assert_eq!(trusted.out, "It said: said\n", "{}", trusted.err);
    let tested = world.run(&["mcp", "test", "far"]);
    assert_eq!(tested.status, Some(0), "{tested:?}");
    assert!(tested.out.contains("tools: mcp__far__say"), "{tested:?}");
}

#[test]
fn a_file_of_certificates_that_is_none_is_named() {
    let world = World::new();
    configured(
        &world,
        "ca_file = \"~/none.pem\"",
        "https://localhost:1/mcp",
    );
    let tested = world.run(&["mcp", "test", "far"]);
    assert_eq!(tested.status, Some(1), "{tested:?}");
    let why = "cannot read the certificates in ~~/home/none.pem: No such file or directory";
    assert!(tested.out.contains(why), "{tested:?}");
}

#[test]
fn a_server_is_reached_through_the_proxy_and_one_of_this_machine_is_not() {
    let world = World::new();
    let mut server = HttpServer::start(None);
    let proxy = format!("http://127.0.0.1:{}", server.port);
    configured(&world, "", "http://far.invalid/mcp");
    let far = ask(&world, &[("http_proxy", &proxy)]);
    assert_eq!(far.out, "It said: said\n", "{}", far.err);
    let first = server.requests.blocking_recv().unwrap();
    assert_eq!(first, "POST http://far.invalid/mcp HTTP/1.1");

    let mut near = HttpServer::start(None);
    configured(&world, "", &format!("http://127.0.0.1:{}/mcp", near.port));
    let ran = ask(&world, &[("http_proxy", "http://127.0.0.1:1")]);
    assert_eq!(ran.out, "It said: said\n", "{}", ran.err);
    let first = near.requests.blocking_recv().unwrap();
    assert_eq!(first, "POST /mcp HTTP/1.1");
}
