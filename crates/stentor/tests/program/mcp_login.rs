//! Logging in to MCP servers: with a browser and without, tokens that expire, and servers that lie.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use serde_json::{Value, json};
use stentor_test_support::mcp_oauth::{McpOAuth, browse, metadata, ok};
use stentor_test_support::{KillOnDrop, Lines, http};

use crate::world::{Ran, World};

const PLAN: &str = r#"
[[turn]]
tool = "mcp__far__say"
arguments = {}

[[turn]]
text = "It said: {{last_tool_result}}"
"#;

const ISSUER: &str = "/.well-known/oauth-authorization-server";
const RESOURCE: &str = "/.well-known/oauth-protected-resource/mcp";

/// A world with the server as `far`.
fn world(server: &McpOAuth) -> World {
    let world = World::new();
    let text = format!("[mcp_servers.far]\nurl = \"{}/mcp\"\n", server.address);
    world.file("home/.config/stentor/config.toml", &text);
    world.file("work/plan.toml", PLAN);
    world
}

fn ask(world: &World) -> Ran {
    world.run(&["--model", "script/plan.toml", "--no-session", "-p", "go"])
}

/// A login that waits for its browser.
struct Login {
    child: KillOnDrop,
    lines: Lines,
    /// Where the person has to go.
    url: String,
}

impl Login {
    fn begin(world: &World) -> Self {
        let mut command = world.command(&["mcp", "login", "far"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = KillOnDrop(command.spawn().unwrap());
        let lines = Lines::of(child.0.stdout.take().unwrap());
        let url = loop {
            let line = lines.recv().expect("an address to open");
            if let Some(url) = line.trim().strip_prefix("http") {
                break format!("http{url}");
            }
        };
        Self { child, lines, url }
    }

    fn paste(&mut self, text: &str) {
        let stdin = self.child.0.stdin.as_mut().unwrap();
        writeln!(stdin, "{text}").unwrap();
    }

    fn finished(mut self) -> (Option<i32>, String) {
        let rest = self.lines.rest();
        let status = self.child.0.wait().unwrap();
        (status.code(), rest.last().cloned().unwrap_or_default())
    }
}

/// Logs in as a person with a browser would.
fn log_in(world: &World) {
    let login = Login::begin(world);
    let back = browse(&login.url);
    assert!(browse(&back).contains("You are logged in."));
    assert_eq!(login.finished(), (Some(0), "Logged in to far.".to_owned()));
}

fn stored(world: &World) -> Value {
    let file = world.path("home/.config/stentor/mcp-credentials.json");
    match std::fs::read_to_string(file) {
        Ok(text) => serde_json::from_str(&text).unwrap(),
        Err(_) => Value::Null,
    }
}

#[test]
fn a_login_in_a_browser_opens_the_server_and_is_kept_private() {
    let server = McpOAuth::start();
    let world = world(&server);
    log_in(&world);
    let ran = ask(&world);
    assert_eq!(ran.out, "It said: said\n", "{}", ran.err);

    let file = world.path("home/.config/stentor/mcp-credentials.json");
    let mode = std::fs::metadata(file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let asked = server.requests_with("GET /authorize");
    for part in [
        "code_challenge_method=S256",
        "client_id=registered",
        "scope=read",
        "resource=",
    ] {
        assert!(asked[0].contains(part), "{part} {asked:?}");
    }
    assert!(world.run(&["mcp"]).out.contains(", logged in)"));
    let out = world.run(&["mcp", "logout", "far"]);
    assert_eq!(out.out, "Logged out of far.\n", "{out:?}");
    assert_eq!(stored(&world)["servers"], json!({}));
    let out = world.run(&["mcp", "logout", "far"]);
    assert_eq!(out.out, "There was no login to far.\n", "{out:?}");
}

#[test]
fn logging_out_of_everything_leaves_no_login_where_other_credentials_are_damaged() {
    let server = McpOAuth::start();
    let world = world(&server);
    log_in(&world);
    let file = "home/.config/stentor/credentials.json";
    world.file(file, "{\"logins\": ");
    let only_ours = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(world.path(file), only_ours).unwrap();
    let out = world.run(&["logout", "--all"]);
    assert_eq!(out.status, Some(1), "{out:?}");
    for said in [
        "credentials.json",
        "Logged out of the MCP server 127.0.0.1.",
    ] {
        assert!(out.err.contains(said), "{}", out.err);
    }
    assert_eq!(stored(&world)["servers"], json!({}));
    // Now nothing is left to be done but the damaged file.
    let out = world.run(&["logout", "--all"]);
    assert_eq!(out.status, Some(1), "{out:?}");
    assert!(!out.err.contains("The rest"), "{}", out.err);
}

#[test]
fn without_a_browser_the_address_it_is_sent_to_is_pasted() {
    let server = McpOAuth::start();
    let world = world(&server);
    let mut login = Login::begin(&world);
    let back = browse(&login.url);
    login.paste(&back);
    assert_eq!(login.finished().0, Some(0));
    assert_eq!(ask(&world).out, "It said: said\n");
}

#[test]
fn a_code_of_another_login_is_refused_and_nothing_is_stored() {
    let server = McpOAuth::start();
    let world = world(&server);
    for (pasted, why) in [
        ("code-1#other", "the pasted code belongs to another login"),
        ("code-1", "does not show which login it belongs to"),
    ] {
        let mut command = world.command(&["mcp", "login", "far"]);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        writeln!(child.stdin.take().unwrap(), "{pasted}").unwrap();
        let ran = world.finish(child.wait_with_output().unwrap());
        assert_eq!(ran.status, Some(1));
        assert!(ran.err.contains(why), "{}", ran.err);
    }
    assert_eq!(stored(&world), Value::Null);
}

#[test]
fn a_server_that_wants_a_login_says_so_and_nothing_is_begun_by_itself() {
    let server = McpOAuth::start();
    let world = world(&server);
    let ran = ask(&world);
    let why = "The MCP server \"far\" is given up: it wants to know who asks: run `stentor mcp login \
               far`, or give it a header such as Authorization";
    assert!(ran.err.contains(why), "{}", ran.err);
    assert_eq!(server.requests_with("POST /mcp").len(), 1);
    assert_eq!(server.requests_with("/.well-known/"), Vec::<String>::new());
    assert_eq!(server.requests_with("/register"), Vec::<String>::new());
}

#[test]
fn a_token_that_is_about_to_expire_is_renewed_first() {
    let server = McpOAuth::start();
    server.change(|behaviour| behaviour.lifetimes = vec![0, 3600]);
    let world = world(&server);
    log_in(&world);
    assert_eq!(ask(&world).out, "It said: said\n");
    assert_eq!(ask(&world).out, "It said: said\n");
    assert_eq!(server.requests_with("grant_type=refresh_token").len(), 1);
    let entry = &stored(&world)["servers"][format!("{}/mcp", server.address)];
    let (access, refresh) = server.tokens();
    assert_eq!(entry["access"], json!(access));
    assert_eq!(entry["refresh"], json!(refresh));
}

#[test]
fn a_token_that_is_refused_is_renewed_once_by_whichever_process_comes_first() {
    let server = McpOAuth::start();
    let world = world(&server);
    log_in(&world);
    server.expire();
    let words = ["--model", "script/plan.toml", "--no-session", "-p", "go"];
    let begin = || {
        let mut command = world.command(&words);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    };
    for child in [begin(), begin(), begin()] {
        let ran = world.finish(child.wait_with_output().unwrap());
        assert_eq!(ran.out, "It said: said\n", "{}", ran.err);
    }
    assert_eq!(server.requests_with("grant_type=refresh_token").len(), 1);
}

#[test]
fn a_login_that_cannot_be_renewed_is_named_and_kept() {
    let server = McpOAuth::start();
    let world = world(&server);
    log_in(&world);
    let before = stored(&world);
    server.expire();
    server.change(|behaviour| behaviour.refuses_refresh = true);
    let ran = ask(&world);
    let why =
        "its login has expired (invalid_grant: the grant was revoked): run `stentor mcp login far`";
    assert!(ran.err.contains(why), "{}", ran.err);
    assert_eq!(stored(&world), before);

    server.lie("/token", http::json("503 Service Unavailable", "{}"));
    let ran = world.run(&["mcp", "test", "far"]);
    let why = "its login could not be renewed: the authorization server answered with HTTP 503";
    assert!(ran.out.contains(why), "{}", ran.out);
    assert_eq!(stored(&world), before);
}

#[test]
fn a_token_is_given_to_no_other_server() {
    let (server, other) = (McpOAuth::start(), McpOAuth::start());
    let world = world(&server);
    log_in(&world);
    // The same name, another address.
    let text = format!("[mcp_servers.far]\nurl = \"{}/mcp\"\n", other.address);
    world.file("home/.config/stentor/config.toml", &text);
    assert!(ask(&world).err.contains("it wants to know who asks"));
    // The server leads elsewhere.
    let text = format!(
        "[mcp_servers.far]\nurl = \"{}/mcp\"\nrestart = 0\n",
        server.address
    );
    world.file("home/.config/stentor/config.toml", &text);
    let elsewhere = format!(
        "HTTP/1.1 307 Temporary Redirect\r\nlocation: {}/stolen\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
        other.address
    );
    server.lie("/mcp", elsewhere);
    assert!(ask(&world).err.contains("leads to another server"));
    assert_eq!(other.requests_with("/stolen"), Vec::<String>::new());
}

#[test]
fn a_folder_that_is_not_trusted_begins_no_login() {
    let server = McpOAuth::start();
    let world = World::new();
    let servers = json!({ "mcpServers": { "far": { "type": "http", "url": format!("{}/mcp", server.address) } } });
    world.file("work/.mcp.json", &servers.to_string());
    world.file("work/plan.toml", PLAN);
    let ran = world.run(&["mcp", "login", "far"]);
    assert_eq!(ran.status, Some(2), "{ran:?}");
    assert!(ran.err.contains("the project is not trusted"), "{ran:?}");
    ask(&world);
    assert_eq!(server.requests_with("HTTP"), Vec::<String>::new());
}

#[test]
fn a_client_that_was_registered_by_hand_needs_no_registration() {
    let server = McpOAuth::start();
    let world = world(&server);
    let mut without = metadata(&server.address);
    without
        .as_object_mut()
        .unwrap()
        .remove("registration_endpoint");
    server.lie(ISSUER, ok(&without));
    let ran = world.run(&["mcp", "login", "far"]);
    assert!(
        ran.err
            .contains("registers no clients by itself; register one there and set `oauth"),
        "{}",
        ran.err
    );

    let text = format!(
        "[mcp_servers.far]\nurl = \"{}/mcp\"\noauth = {{ client_id = \"mine\", scopes = [\"all\"] }}\n",
        server.address
    );
    world.file("home/.config/stentor/config.toml", &text);
    log_in(&world);
    let asked = server.requests_with("GET /authorize");
    assert!(
        asked[0].contains("client_id=mine") && asked[0].contains("scope=all"),
        "{asked:?}"
    );
    assert_eq!(ask(&world).out, "It said: said\n");
}

/// What is changed of the honest description of the authorization server.
fn described(server: &McpOAuth, name: &str, value: Value) -> String {
    let mut metadata = metadata(&server.address);
    metadata[name] = value;
    ok(&metadata)
}

#[test]
fn a_server_that_lies_gets_no_login_and_a_clear_sentence() {
    let server = McpOAuth::start();
    let world = world(&server);
    let resource = |named: &str, issuer: &str| {
        ok(&json!({ "resource": named, "authorization_servers": [issuer] }))
    };
    let own = format!("{}/mcp", server.address);
    let round = format!(
        "HTTP/1.1 307 Temporary Redirect\r\nlocation: {ISSUER}\r\ncontent-length: 0\r\n\r\n"
    );
    for (path, response, why) in [
        (
            RESOURCE,
            resource("https://bank.example/mcp", &server.address),
            "it claims to be another server, \"https://bank.example/mcp\"",
        ),
        (
            RESOURCE,
            resource(&own, "http://login.example"),
            "its authorization server is \"http://login.example\", which is not https",
        ),
        (
            RESOURCE,
            ok(&json!({ "resource": own })),
            "it says nothing of how to log in",
        ),
        (
            ISSUER,
            described(&server, "issuer", json!("https://login.example")),
            "but its description names \"https://login.example\", which may belong to somebody else",
        ),
        (
            ISSUER,
            described(
                &server,
                "token_endpoint",
                json!("http://login.example/token"),
            ),
            "where tokens are given out is \"http://login.example/token\", which is not https",
        ),
        (
            ISSUER,
            described(
                &server,
                "authorization_endpoint",
                json!("file:///etc/passwd"),
            ),
            "where one logs in is \"file:///etc/passwd\", which is not https",
        ),
        (
            ISSUER,
            described(
                &server,
                "code_challenge_methods_supported",
                json!(["plain"]),
            ),
            "does not support PKCE with S256",
        ),
        (
            ISSUER,
            round,
            "the description of the authorization server answered with HTTP 307 Temporary Redirect, which leads elsewhere",
        ),
        (
            ISSUER,
            described(&server, "padding", json!("x".repeat(300 << 10))),
            "the description of the authorization server sent more than 256 KiB",
        ),
        (
            ISSUER,
            http::json("200 OK", "{\"issuer\": 7"),
            "the answer of the description of the authorization server is invalid at line 1, column 12",
        ),
        (
            "/register",
            http::json(
                "400 Bad Request",
                "{\"error\":\"invalid_redirect_uri\",\"error_description\":\"no\\u001b[31m\"}",
            ),
            "the registration was refused: invalid_redirect_uri: no",
        ),
    ] {
        server.change(|behaviour| behaviour.instead.clear());
        server.lie(path, response);
        let ran = world.run(&["mcp", "login", "far"]);
        assert_eq!(ran.status, Some(1), "{why}: {ran:?}");
        assert!(ran.err.contains(why), "{why}: {}", ran.err);
        assert!(!ran.err.contains('\u{1b}'), "{}", ran.err);
    }
    assert_eq!(stored(&world), Value::Null);
}

#[test]
fn tokens_that_cannot_be_used_leave_the_login_before_as_it_was() {
    let server = McpOAuth::start();
    let world = world(&server);
    log_in(&world);
    let before = stored(&world);
    for (kind, lifetime, refreshes, why) in [
        (
            "MAC",
            3600,
            true,
            "it gave a token of the type \"MAC\"; only Bearer can be used",
        ),
        (
            "Bearer",
            0,
            false,
            "it gave a token that has expired already",
        ),
    ] {
        server.change(|behaviour| {
            behaviour.token_type = kind.to_owned();
            behaviour.lifetimes = vec![lifetime];
            behaviour.gives_refresh_tokens = refreshes;
        });
        let mut command = world.command(&["mcp", "login", "far"]);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = KillOnDrop(command.spawn().unwrap());
        let lines = Lines::of(child.0.stdout.take().unwrap());
        let errors = Lines::of(child.0.stderr.take().unwrap());
        let url = std::iter::from_fn(|| lines.recv()).find(|line| line.contains("/authorize?"));
        browse(&browse(url.unwrap().trim()));
        assert_eq!(child.0.wait().unwrap().code(), Some(1));
        let errors = errors.rest().join("\n");
        assert!(errors.contains(why), "{errors}");
        assert_eq!(stored(&world), before);
    }
}
