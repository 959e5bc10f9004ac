//! A provider on loopback: it gives tokens for codes, and answers to tokens.

use std::io::{BufReader, Read, Write};
use std::net::TcpStream;

use stentor_test_support::http;

/// A provider that serves until the test process ends.
pub struct Provider {
    pub url: String,
}

impl Provider {
    pub fn start() -> Self {
        let address = http::listen(|connection| {
            std::thread::spawn(move || serve(connection));
        });
        Self {
            url: format!("http://{address}"),
        }
    }

    /// Its part of a configuration file; `oauth` says how one logs in.
    pub fn configuration(&self, oauth: &str) -> String {
        let url = &self.url;
        format!(
            "[providers.acme]\nname = \"ACME\"\nbase_url = \"{url}/v1\"\napi = \"openai-completions\"\n\
             models = [{{ id = \"m\" }}]\n\
             [providers.acme.oauth]\ntoken_url = \"{url}/token\"\nclient_id = \"client-1\"\n\
             {}\n",
            oauth.replace("URL", url)
        )
    }
}

/// Goes where a browser is sent, and says whether it was welcome.
pub fn visit(address: &str) -> String {
    let rest = address.strip_prefix("http://").unwrap();
    let (host, path) = rest.split_once('/').unwrap();
    let mut stream = TcpStream::connect(host.replace("localhost", "127.0.0.1")).unwrap();
    write!(
        stream,
        "GET /{path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.lines().next().unwrap_or_default().to_owned()
}

fn serve(mut stream: TcpStream) {
    let own = format!("http://{}", stream.local_addr().unwrap());
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    while let Ok(Some(request)) = http::Request::read(&mut reader) {
        let (status, kind, text) = answer(&request, &own);
        let length = text.len();
        write!(
            stream,
            "HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n{text}"
        )
        .unwrap();
    }
}

fn answer(request: &http::Request, own: &str) -> (u16, &'static str, String) {
    const JSON: &str = "application/json";
    let body = &request.body;
    match request.target() {
        "/device" => (
            200,
            JSON,
            format!(
                r#"{{"device_code":"dc","user_code":"UC-1","verification_uri":"{own}/activate","expires_in":600,"interval":1}}"#
            ),
        ),
        "/token" if body.contains("code=good") || body.contains("device_code=dc") => (
            200,
            JSON,
            r#"{"access_token":"token-1","refresh_token":"again","token_type":"bearer","expires_in":3600}"#
                .to_owned(),
        ),
        "/token" => (400, JSON, r#"{"error":"invalid_grant"}"#.to_owned()),
        "/v1/chat/completions" if request.header("authorization") == Some("Bearer token-1") => {
            let chunk = |delta: &str, finish: &str| {
                format!(
                    "data: {{\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{{\"index\":0,\"delta\":{delta},\"finish_reason\":{finish}}}]}}\n\n"
                )
            };
            let text = chunk(r#"{"role":"assistant","content":"welcome"}"#, "null")
                + &chunk("{}", "\"stop\"")
                + "data: [DONE]\n\n";
            (200, "text/event-stream", text)
        }
        _ => (401, JSON, r#"{"error":{"message":"who are you"}}"#.to_owned()),
    }
}
