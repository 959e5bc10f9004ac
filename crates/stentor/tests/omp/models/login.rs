//! Logging in over the client (section 19), at an OAuth server on loopback.

use std::collections::HashMap;
use std::io::Write;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use expect_test::expect;
use serde_json::{Value, json};
use stentor_test_support::http;

use crate::child::{Child, Folder};
use crate::transcript::told;

/// A provider's server: it gives a code for a device, and tokens, or refuses them.
fn oauth_server(tokens: &'static str) -> u16 {
    oauth_server_after(tokens, &Arc::new(AtomicBool::new(true)))
}

/// The same, where a person has to approve first.
fn oauth_server_after(tokens: &'static str, approved: &Arc<AtomicBool>) -> u16 {
    const PENDING: &str = r#"{"error":"authorization_pending"}"#;
    let approved = Arc::clone(approved);
    let address = http::listen(move |mut connection| {
        let own = connection.local_addr().unwrap();
        let device = format!(
            r#"{{"device_code":"d","user_code":"ABCD-1234","verification_uri":"http://{own}/device","interval":1,"expires_in":600}}"#
        );
        let request = http::Request::of(&connection).unwrap().unwrap();
        let (status, body) = match request.target() {
            "/device" => ("200 OK", device.as_str()),
            _ if !approved.load(Ordering::SeqCst) => ("400 Bad Request", PENDING),
            _ if tokens.contains("error") => ("400 Bad Request", tokens),
            _ => ("200 OK", tokens),
        };
        write!(connection, "{}", http::json(status, body)).unwrap();
    });
    address.port()
}

const TOKENS: &str = r#"{"access_token":"access-1","refresh_token":"refresh-1","expires_in":3600}"#;

/// A folder that knows the provider, and a child in it.
fn stage(oauth: &str) -> (Folder, Child) {
    let folder = Folder::with("[[turn]]\ntext = \"x\"");
    let config = format!(
        r#"
        [providers.acme]
        base_url = "http://127.0.0.1:9/v1"
        api = "openai-completions"
        [[providers.acme.models]]
        id = "m1"
        [providers.acme.oauth]
        client_id = "client-1"
        {oauth}
        "#
    );
    folder.config(&config);
    let child = folder.child(&["--no-session"]);
    (folder, child)
}

/// Begins a login. Returns all frames up to the page to open, and what its address says.
fn begin(child: &mut Child) -> (Vec<Value>, HashMap<String, String>) {
    child.send(json!({"id": "l", "type": "login", "providerId": "acme"}));
    let mut frames = child.until(|frame| frame["method"] == "open_url");
    let page = frames.last_mut().unwrap();
    let url = page["url"].as_str().unwrap().to_owned();
    let (place, query) = url.split_once('?').unwrap_or((&url, ""));
    let query: HashMap<String, String> = query
        .split('&')
        .filter_map(|pair| pair.split_once('='))
        .map(|(key, value)| (key.to_owned(), decoded(value)))
        .collect();
    let path = place.rsplit('/').next().unwrap();
    let mut keys: Vec<&str> = query.keys().map(String::as_str).collect();
    keys.sort_unstable();
    page["url"] = json!(format!("…/{path}?{}", keys.join("&")));
    (frames, query)
}

fn decoded(text: &str) -> String {
    text.replace("%3A", ":")
        .replace("%2F", "/")
        .replace("%20", " ")
}

fn question(child: &mut Child) -> Vec<Value> {
    child.until(|frame| frame["method"] == "input")
}

fn outcome(child: &mut Child) -> Vec<Value> {
    child.until(|frame| frame["id"] == "l")
}

fn providers(child: &mut Child) -> Vec<Value> {
    child.done(json!({"id": "g", "type": "get_login_providers"}))
}

fn with_browser(port: u16) -> String {
    format!(
        "authorize_url = \"http://127.0.0.1:{port}/authorize\"\ntoken_url = \"http://127.0.0.1:{port}/token\"\nredirect = \"http://localhost:0/back\""
    )
}

fn with_page(port: u16) -> String {
    with_browser(port).replace("http://localhost:0/back", "https://acme.example/code")
}

#[test]
fn the_browser_comes_back_and_the_question_is_withdrawn() {
    let (folder, mut child) = stage(&with_browser(oauth_server(TOKENS)));
    let mut frames = providers(&mut child);
    let (page, query) = begin(&mut child);
    frames.extend(page);
    frames.extend(question(&mut child));
    let back = query["redirect_uri"]
        .strip_prefix("http://localhost:")
        .unwrap();
    let (port, path) = back.split_once('/').unwrap();
    let mut browser = TcpStream::connect(("127.0.0.1", port.parse().unwrap())).unwrap();
    write!(
        browser,
        "GET /{path}?code=code-1&state={} HTTP/1.1\r\nhost: localhost:{port}\r\n\r\n",
        query["state"]
    )
    .unwrap();
    frames.extend(outcome(&mut child));
    frames.extend(providers(&mut child));
    expect![[r#"
        {"id":"g","type":"response","command":"get_login_providers","success":true,"data":{"providers":[{"id":"anthropic","name":"Anthropic","available":true,"authenticated":false},{"id":"openai-codex","name":"OpenAI with a ChatGPT subscription","available":true,"authenticated":false},{"id":"github-copilot","name":"GitHub Copilot","available":true,"authenticated":false},{"id":"acme","name":"acme","available":true,"authenticated":false}]}}
        {"type":"extension_ui_request","id":"3000000100000001","method":"open_url","url":"…/authorize?client_id&code_challenge&code_challenge_method&redirect_uri&response_type&scope&state","instructions":"Open the address and approve. If the browser runs on another machine, paste the address it is redirected to."}
        {"type":"extension_ui_request","id":"1000000100000001","method":"input","title":"Open the address and approve. If the browser runs on another machine, paste the address it is redirected to. Paste it here.","placeholder":"code"}
        {"type":"extension_ui_request","id":"3000000100000002","method":"cancel","targetId":"1000000100000001"}
        {"id":"l","type":"response","command":"login","success":true,"data":{"providerId":"acme"}}
        {"id":"g","type":"response","command":"get_login_providers","success":true,"data":{"providers":[{"id":"anthropic","name":"Anthropic","available":true,"authenticated":false},{"id":"openai-codex","name":"OpenAI with a ChatGPT subscription","available":true,"authenticated":false},{"id":"github-copilot","name":"GitHub Copilot","available":true,"authenticated":false},{"id":"acme","name":"acme","available":true,"authenticated":true}]}}
    "#]].assert_eq(&told(&frames, &folder));
}

#[test]
fn the_address_the_browser_was_sent_to_can_be_pasted() {
    let (folder, mut child) = stage(&with_page(oauth_server(TOKENS)));
    let (mut frames, query) = begin(&mut child);
    frames.extend(question(&mut child));
    let pasted = format!(
        "https://acme.example/code?code=code-1&state={}",
        query["state"]
    );
    let id = &frames.last().unwrap()["id"];
    child.send(json!({"type": "extension_ui_response", "id": id, "value": pasted}));
    frames.extend(outcome(&mut child));
    expect![[r#"
        {"type":"extension_ui_request","id":"3000000100000001","method":"open_url","url":"…/authorize?client_id&code_challenge&code_challenge_method&redirect_uri&response_type&scope&state","instructions":"Open the address, approve, and paste the address the browser is redirected to, or what the page shows, as `code#state`."}
        {"type":"extension_ui_request","id":"1000000100000001","method":"input","title":"Open the address, approve, and paste the address the browser is redirected to, or what the page shows, as `code#state`. Paste it here.","placeholder":"code"}
        {"id":"l","type":"response","command":"login","success":true,"data":{"providerId":"acme"}}
    "#]].assert_eq(&told(&frames, &folder));
}

#[test]
fn a_code_for_another_device_is_shown() {
    let approved = Arc::new(AtomicBool::new(false));
    let port = oauth_server_after(TOKENS, &approved);
    let (folder, mut child) = stage(&format!(
        "device_url = \"http://127.0.0.1:{port}/device\"\ntoken_url = \"http://127.0.0.1:{port}/token\""
    ));
    let (mut frames, _) = begin(&mut child);
    frames.extend(question(&mut child));
    approved.store(true, Ordering::SeqCst);
    frames.extend(outcome(&mut child));
    expect![[r#"
        {"type":"extension_ui_request","id":"3000000100000001","method":"open_url","url":"…/device?","instructions":"Open the address and enter the code ABCD-1234."}
        {"type":"extension_ui_request","id":"3000000100000002","method":"notify","message":"Enter this code: ABCD-1234","notifyType":"info"}
        {"type":"extension_ui_request","id":"1000000100000001","method":"input","title":"Open the address and enter the code ABCD-1234. Paste it here.","placeholder":"code"}
        {"type":"extension_ui_request","id":"3000000100000003","method":"cancel","targetId":"1000000100000001"}
        {"id":"l","type":"response","command":"login","success":true,"data":{"providerId":"acme"}}
    "#]].assert_eq(&told(&frames, &folder));
}

#[test]
fn a_login_that_is_refused_or_given_up_fails_with_the_reason() {
    let refusing = oauth_server(r#"{"error":"invalid_grant","error_description":"no such code"}"#);
    let (folder, mut child) = stage(&with_page(refusing));
    let mut frames = Vec::new();
    for answer in [
        json!({"value": "code-1#STATE"}),
        json!({"value": "code-1"}),
        json!({"value": "https://acme.example/code?code=c&state=another"}),
        json!({"value": ""}),
        json!({"cancelled": true}),
        json!({"confirmed": true}),
    ] {
        let (begun, query) = begin(&mut child);
        frames.extend(begun);
        frames.extend(question(&mut child));
        let mut answer = answer.clone();
        if let Some(text) = answer["value"].as_str() {
            answer["value"] = json!(text.replace("STATE", &query["state"]));
        }
        answer["type"] = json!("extension_ui_response");
        answer["id"] = frames.last().unwrap()["id"].clone();
        child.send(answer);
        frames.extend(outcome(&mut child));
    }
    frames.extend(providers(&mut child));
    expect![[r#"
        {"type":"extension_ui_request","id":"3000000100000001","method":"open_url","url":"…/authorize?client_id&code_challenge&code_challenge_method&redirect_uri&response_type&scope&state","instructions":"Open the address, approve, and paste the address the browser is redirected to, or what the page shows, as `code#state`."}
        {"type":"extension_ui_request","id":"1000000100000001","method":"input","title":"Open the address, approve, and paste the address the browser is redirected to, or what the page shows, as `code#state`. Paste it here.","placeholder":"code"}
        {"id":"l","type":"response","command":"login","success":false,"error":"the login for acme was refused: 400 Bad Request invalid_grant no such code"}
        {"type":"extension_ui_request","id":"3000000100000002","method":"open_url","url":"…/authorize?client_id&code_challenge&code_challenge_method&redirect_uri&response_type&scope&state","instructions":"Open the address, approve, and paste the address the browser is redirected to, or what the page shows, as `code#state`."}
        {"type":"extension_ui_request","id":"1000000100000002","method":"input","title":"Open the address, approve, and paste the address the browser is redirected to, or what the page shows, as `code#state`. Paste it here.","placeholder":"code"}
        {"id":"l","type":"response","command":"login","success":false,"error":"the pasted text does not show which login it belongs to; paste the whole address the browser was redirected to, or `code#state`"}
        {"type":"extension_ui_request","id":"3000000100000003","method":"open_url","url":"…/authorize?client_id&code_challenge&code_challenge_method&redirect_uri&response_type&scope&state","instructions":"Open the address, approve, and paste the address the browser is redirected to, or what the page shows, as `code#state`."}
        {"type":"extension_ui_request","id":"1000000100000003","method":"input","title":"Open the address, approve, and paste the address the browser is redirected to, or what the page shows, as `code#state`. Paste it here.","placeholder":"code"}
        {"id":"l","type":"response","command":"login","success":false,"error":"the pasted code belongs to another login; start again"}
        {"type":"extension_ui_request","id":"3000000100000004","method":"open_url","url":"…/authorize?client_id&code_challenge&code_challenge_method&redirect_uri&response_type&scope&state","instructions":"Open the address, approve, and paste the address the browser is redirected to, or what the page shows, as `code#state`."}
        {"type":"extension_ui_request","id":"1000000100000004","method":"input","title":"Open the address, approve, and paste the address the browser is redirected to, or what the page shows, as `code#state`. Paste it here.","placeholder":"code"}
        {"id":"l","type":"response","command":"login","success":false,"error":"the pasted text contains no code; paste the whole address the browser was redirected to, or `code#state`"}
        {"type":"extension_ui_request","id":"3000000100000005","method":"open_url","url":"…/authorize?client_id&code_challenge&code_challenge_method&redirect_uri&response_type&scope&state","instructions":"Open the address, approve, and paste the address the browser is redirected to, or what the page shows, as `code#state`."}
        {"type":"extension_ui_request","id":"1000000100000005","method":"input","title":"Open the address, approve, and paste the address the browser is redirected to, or what the page shows, as `code#state`. Paste it here.","placeholder":"code"}
        {"id":"l","type":"response","command":"login","success":false,"error":"the login for acme was cancelled"}
        {"type":"extension_ui_request","id":"3000000100000006","method":"open_url","url":"…/authorize?client_id&code_challenge&code_challenge_method&redirect_uri&response_type&scope&state","instructions":"Open the address, approve, and paste the address the browser is redirected to, or what the page shows, as `code#state`."}
        {"type":"extension_ui_request","id":"1000000100000006","method":"input","title":"Open the address, approve, and paste the address the browser is redirected to, or what the page shows, as `code#state`. Paste it here.","placeholder":"code"}
        {"id":"l","type":"response","command":"login","success":false,"error":"the login for acme was cancelled"}
        {"id":"g","type":"response","command":"get_login_providers","success":true,"data":{"providers":[{"id":"anthropic","name":"Anthropic","available":true,"authenticated":false},{"id":"openai-codex","name":"OpenAI with a ChatGPT subscription","available":true,"authenticated":false},{"id":"github-copilot","name":"GitHub Copilot","available":true,"authenticated":false},{"id":"acme","name":"acme","available":true,"authenticated":false}]}}
    "#]].assert_eq(&told(&frames, &folder));
}

#[test]
fn cancelling_ends_a_login_that_waits_for_the_browser() {
    let (folder, mut child) = stage(&with_browser(oauth_server(TOKENS)));
    let (mut frames, _) = begin(&mut child);
    frames.extend(question(&mut child));
    let id = frames.last().unwrap()["id"].clone();
    // Other commands are done meanwhile.
    frames.extend(child.done(json!({"id": 1, "type": "get_last_assistant_text"})));
    child.send(json!({"type": "extension_ui_response", "id": id, "cancelled": true}));
    frames.extend(outcome(&mut child));
    expect![[r#"
        {"type":"extension_ui_request","id":"3000000100000001","method":"open_url","url":"…/authorize?client_id&code_challenge&code_challenge_method&redirect_uri&response_type&scope&state","instructions":"Open the address and approve. If the browser runs on another machine, paste the address it is redirected to."}
        {"type":"extension_ui_request","id":"1000000100000001","method":"input","title":"Open the address and approve. If the browser runs on another machine, paste the address it is redirected to. Paste it here.","placeholder":"code"}
        {"id":1,"type":"response","command":"get_last_assistant_text","success":true,"data":{}}
        {"id":"l","type":"response","command":"login","success":false,"error":"the login for acme was cancelled"}
    "#]].assert_eq(&told(&frames, &folder));
}
