//! Logging in over the client (section 19), at an OAuth server on loopback.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};

use expect_test::expect;
use serde_json::{Value, json};

use crate::child::{Child, Folder, shown};

/// A provider's server: it gives a code for a device, and tokens, or refuses them.
fn oauth_server(tokens: &'static str) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let target = read_request(&stream);
            let device = format!(
                r#"{{"device_code":"d","user_code":"ABCD-1234","verification_uri":"http://127.0.0.1:{port}/device","interval":1,"expires_in":600}}"#
            );
            let (status, body) = match target.as_str() {
                "/device" => ("200 OK", device.as_str()),
                _ if tokens.contains("error") => ("400 Bad Request", tokens),
                _ => ("200 OK", tokens),
            };
            write!(
                stream,
                "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                body.len()
            )
            .unwrap();
        }
    });
    port
}

/// Reads a request to its end and returns its target.
fn read_request(stream: &TcpStream) -> String {
    let mut reader = BufReader::new(stream);
    let mut first = String::new();
    reader.read_line(&mut first).unwrap();
    let mut length = 0;
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).unwrap();
        let header = header.trim().to_ascii_lowercase();
        if header.is_empty() {
            break;
        }
        if let Some(value) = header.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
    }
    reader.read_exact(&mut vec![0; length]).unwrap();
    first.split(' ').nth(1).unwrap().to_owned()
}

const TOKENS: &str = r#"{"access_token":"access-1","refresh_token":"refresh-1","expires_in":3600}"#;

/// A folder that knows the provider, and a child in it.
fn stage(oauth: &str) -> (Folder, Child) {
    let folder = Folder::with("[[turn]]\ntext = \"x\"");
    std::fs::create_dir_all(folder.home(".config/stentor")).unwrap();
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
    std::fs::write(folder.home(".config/stentor/config.toml"), config).unwrap();
    let child = folder.child(&["--no-session"]);
    (folder, child)
}

fn begin(child: &mut Child) -> (Value, HashMap<String, String>) {
    child.send(json!({"id": "l", "type": "login", "providerId": "acme"}));
    let mut page = child
        .until(|frame| frame["method"] == "open_url")
        .pop()
        .unwrap();
    let url = page["url"].as_str().unwrap().to_owned();
    let (place, query) = url.split_once('?').unwrap_or((&url, ""));
    let query = query
        .split('&')
        .filter_map(|pair| pair.split_once('='))
        .map(|(key, value)| (key.to_owned(), decoded(value)))
        .collect();
    let path = place.rsplit('/').next().unwrap();
    page["url"] = json!(format!("…/{path}?…"));
    (page, query)
}

fn decoded(text: &str) -> String {
    text.replace("%3A", ":")
        .replace("%2F", "/")
        .replace("%20", " ")
}

/// The question that belongs to the login, and all frames up to its answer.
fn asked(child: &mut Child) -> Value {
    child
        .until(|frame| frame["method"] == "input")
        .pop()
        .unwrap()
}

fn outcome(child: &mut Child) -> Vec<Value> {
    child.until(|frame| frame["id"] == "l")
}

fn acme(child: &mut Child) -> Value {
    let providers = child.data(json!({"type": "get_login_providers"}))["providers"].take();
    let providers = providers.as_array().unwrap();
    providers
        .iter()
        .find(|one| one["id"] == "acme")
        .unwrap()
        .clone()
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
    let mut told = vec![acme(&mut child)];
    let (page, query) = begin(&mut child);
    told.push(page);
    told.push(asked(&mut child));
    let back = query["redirect_uri"]
        .strip_prefix("http://localhost:")
        .unwrap();
    let (port, path) = back.split_once('/').unwrap();
    let mut browser = TcpStream::connect(("127.0.0.1", port.parse().unwrap())).unwrap();
    write!(
        browser,
        "GET /{path}?code=code-1&state={} HTTP/1.1\r\nhost: localhost\r\n\r\n",
        query["state"]
    )
    .unwrap();
    told.extend(outcome(&mut child));
    told.push(acme(&mut child));
    expect![[r#"
        {"id":"acme","name":"acme","available":true,"authenticated":false}
        {"type":"extension_ui_request","id":"3000000100000001","method":"open_url","url":"…/authorize?…","instructions":"Open the address and approve. If the browser runs on another machine, paste the address it is sent to."}
        {"type":"extension_ui_request","id":"1000000100000001","method":"input","title":"Open the address and approve. If the browser runs on another machine, paste the address it is sent to. Paste the code or the address here.","placeholder":"code"}
        {"type":"extension_ui_request","id":"3000000100000002","method":"cancel","targetId":"1000000100000001"}
        {"id":"l","type":"response","command":"login","success":true,"data":{"providerId":"acme"}}
        {"id":"acme","name":"acme","available":true,"authenticated":true}
    "#]].assert_eq(&shown(&told, &folder));
}

#[test]
fn the_address_the_browser_was_sent_to_can_be_pasted() {
    let (folder, mut child) = stage(&with_page(oauth_server(TOKENS)));
    let (page, query) = begin(&mut child);
    let question = asked(&mut child);
    let pasted = format!(
        "https://acme.example/code?code=code-1&state={}",
        query["state"]
    );
    child.send(json!({"type": "extension_ui_response", "id": question["id"], "value": pasted}));
    let mut told = vec![page, question];
    told.extend(outcome(&mut child));
    expect![[r#"
        {"type":"extension_ui_request","id":"3000000100000001","method":"open_url","url":"…/authorize?…","instructions":"Open the address, approve, and paste the code, or the address the browser is sent to."}
        {"type":"extension_ui_request","id":"1000000100000001","method":"input","title":"Open the address, approve, and paste the code, or the address the browser is sent to. Paste the code or the address here.","placeholder":"code"}
        {"id":"l","type":"response","command":"login","success":true,"data":{"providerId":"acme"}}
    "#]].assert_eq(&shown(&told, &folder));
}

#[test]
fn a_code_for_another_device_is_shown() {
    let port = oauth_server(TOKENS);
    let (folder, mut child) = stage(&format!(
        "device_url = \"http://127.0.0.1:{port}/device\"\ntoken_url = \"http://127.0.0.1:{port}/token\""
    ));
    let (page, _) = begin(&mut child);
    let mut told = vec![page];
    told.extend(outcome(&mut child));
    // The provider may know of the approval before anything could be pasted.
    told.retain(|frame| frame["method"] != "input" && frame["method"] != "cancel");
    expect![[r#"
        {"type":"extension_ui_request","id":"3000000100000001","method":"open_url","url":"…/device?…","instructions":"Open the address and type the code ABCD-1234."}
        {"type":"extension_ui_request","id":"3000000100000002","method":"notify","message":"Type this code there: ABCD-1234","notifyType":"info"}
        {"id":"l","type":"response","command":"login","success":true,"data":{"providerId":"acme"}}
    "#]].assert_eq(&shown(&told, &folder));
}

#[test]
fn a_login_that_is_refused_or_given_up_fails_with_the_reason() {
    let refusing = oauth_server(r#"{"error":"invalid_grant","error_description":"no such code"}"#);
    let (folder, mut child) = stage(&with_page(refusing));
    let mut told = Vec::new();
    for answer in [
        json!({"value": "code-1"}),
        json!({"value": "https://acme.example/code?code=c&state=another"}),
        json!({"value": ""}),
        json!({"cancelled": true}),
        json!({"confirmed": true}),
    ] {
        begin(&mut child);
        let question = asked(&mut child);
        let mut answer = answer.clone();
        answer["type"] = json!("extension_ui_response");
        answer["id"] = question["id"].clone();
        child.send(answer);
        told.extend(outcome(&mut child));
    }
    told.push(acme(&mut child));
    expect![[r#"
        {"id":"l","type":"response","command":"login","success":false,"error":"the login at acme was refused: 400 Bad Request  invalid_grant"}
        {"id":"l","type":"response","command":"login","success":false,"error":"what was pasted belongs to another login; begin again"}
        {"id":"l","type":"response","command":"login","success":false,"error":"there is no code in what was pasted; paste the code, or the whole address the browser was sent to"}
        {"id":"l","type":"response","command":"login","success":false,"error":"the login at acme was cancelled"}
        {"id":"l","type":"response","command":"login","success":false,"error":"the login at acme was cancelled"}
        {"id":"acme","name":"acme","available":true,"authenticated":false}
    "#]].assert_eq(&shown(&told, &folder));
}

#[test]
fn cancelling_ends_a_login_that_waits_for_the_browser() {
    let (folder, mut child) = stage(&with_browser(oauth_server(TOKENS)));
    begin(&mut child);
    let question = asked(&mut child);
    // Other commands are done meanwhile.
    child.data(json!({"type": "get_state"}));
    child.send(json!({"type": "extension_ui_response", "id": question["id"], "cancelled": true}));
    expect![[r#"
        {"id":"l","type":"response","command":"login","success":false,"error":"the login at acme was cancelled"}
    "#]].assert_eq(&shown(&outcome(&mut child), &folder));
}
