//! What is not fetched, and costs nothing.

use std::io::{Read, Write};

use serde_json::{Value, json};

use super::server::{Server, send};
use super::{call, fetch};

/// A server that nobody may ask for anything.
fn untouched() -> Server {
    Server::page("text/plain", "secret")
}

fn fetch_url(server: &Server, config: &str, url: &str) -> String {
    call(server, config, "fetch", json!({ "url": url })).failed()
}

#[test]
fn a_private_address_is_refused_with_the_way_out() {
    let server = untouched();
    let port = server.port;
    assert_eq!(
        fetch_url(&server, "", &format!("http://localhost:{port}/")),
        "Not fetched: localhost is at 127.0.0.1 (this machine), and only the public internet is \
         fetched. If the user wants this, they can add \"localhost:PORT\" to `web.allow_private` \
         in their own configuration file"
            .replace("127.0.0.1", localhost())
    );
    for (url, place) in [
        ("http://127.0.0.2/", "127.0.0.2 is this machine"),
        ("http://[::1]/", "[::1] is this machine"),
        ("http://10.0.0.1/", "10.0.0.1 is in a private network"),
    ] {
        let text = fetch_url(&server, "", url);
        let expected = format!("Not fetched: {place}, and only the public internet is fetched.");
        assert!(text.starts_with(&expected), "{text}");
    }
    for url in [
        format!("http://127.0.0.2:{port}/"),
        format!("http://[::1]:{port}/"),
        format!("http://[::ffff:127.0.0.1]:{port}/"),
        format!("http://0.0.0.0:{port}/"),
        "http://10.0.0.1/".to_owned(),
        "http://169.254.169.254/latest/meta-data/".to_owned(),
        "http://[fd00:ec2::254]/".to_owned(),
    ] {
        let text = fetch_url(&server, "", &url);
        assert!(
            text.contains("only the public internet is fetched"),
            "{url}: {text}"
        );
    }
    for url in [
        "file:///etc/passwd",
        "http://me:pw@127.0.0.1/",
        "http://example.org:25/",
    ] {
        let text = fetch_url(&server, "", url);
        assert!(text.starts_with("Not fetched: "), "{url}: {text}");
    }
    assert_eq!(server.paths(), Vec::<String>::new());
}

/// The last address that this machine has for its own name.
fn localhost() -> &'static str {
    use std::net::ToSocketAddrs;
    let all = ("localhost", 0).to_socket_addrs().unwrap();
    match all.last().unwrap().is_ipv4() {
        true => "127.0.0.1",
        false => "::1",
    }
}

#[test]
fn a_redirect_to_a_private_address_is_not_followed_neither_by_number_nor_by_name() {
    let secret = untouched();
    for host in ["localhost", "127.0.0.1", "[::1]"] {
        let to: &'static str = format!("http://{host}:{}/", secret.port).leak();
        let server = Server::redirect(to);
        let text = fetch(&server, "", "/").failed();
        assert!(
            text.contains("only the public internet is fetched"),
            "{text}"
        );
    }
    for to in [
        "file:///etc/passwd",
        "http://169.254.169.254/",
        "http://a@b/",
    ] {
        let server = Server::redirect(to);
        let text = fetch(&server, "", "/").failed();
        let start = format!("Not fetched: the redirect to {to} was not followed: ");
        assert!(text.starts_with(&start), "{text}");
    }
    assert_eq!(secret.paths(), Vec::<String>::new());
}

#[test]
fn redirects_without_an_end_have_one() {
    let server = Server::redirect("/again");
    assert_eq!(
        fetch(&server, "", "/").failed(),
        "Not fetched: more than 10 redirects, the last one to http://127.0.0.1:PORT/again"
    );
    assert_eq!(server.paths().len(), 11);
}

/// The server writes until nobody takes any more: had the program read on, the test would not end.
#[test]
fn a_page_without_an_end_is_read_up_to_the_limit() {
    for (head, size) in [
        ("transfer-encoding: chunked", "only the first 97.7KB"),
        ("content-length: 2147483648", "the first 97.7KB of 2.0GB"),
    ] {
        let server = Server::start(move |_, to| {
            let head = format!("HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n{head}\r\n\r\n");
            let chunk = match head.contains("chunked") {
                true => format!(
                    "400\r\n{}\r\n",
                    "<p>again\n".repeat(114).get(..1024).unwrap()
                ),
                false => "<p>again\n".repeat(114),
            };
            let mut written = to.write_all(head.as_bytes());
            while written.is_ok() {
                written = to.write_all(chunk.as_bytes());
            }
        });
        let text = fetch(&server, "max_bytes = 100000", "/").ok();
        let first = text.lines().next().unwrap();
        assert_eq!(
            first,
            format!("[http://127.0.0.1:PORT/, text/html, {size}]")
        );
        assert!(text.contains("again\n\nagain"), "{text}");
    }
}

#[test]
fn what_is_compressed_unasked_is_not_unpacked() {
    let server = Server::start(|_, to| {
        let headers = [("content-type", "text/html"), ("content-encoding", "gzip")];
        send(to, "200 OK", &headers, b"\x1f\x8b\x08\0\0\0\0\0\0\x03");
    });
    assert_eq!(
        fetch(&server, "", "/").failed(),
        "Not fetched: 127.0.0.1 sends the page compressed (gzip) though that was not asked for; it \
         is not read"
    );
}

#[test]
fn what_is_neither_text_nor_a_picture_is_named_with_its_type_and_size() {
    let server = Server::page("application/pdf", vec![0; 3000]);
    assert_eq!(
        fetch(&server, "", "/a.pdf").failed(),
        "Not fetched: the page is application/pdf, 2.9KB: only text and pictures (PNG, JPEG, GIF, \
         WebP) are fetched"
    );
    let server = Server::page("text/html", b"PK\x03\x04\x14\0\0\0\x08\0");
    assert_eq!(
        fetch(&server, "", "/").failed(),
        "Not fetched: the page is application/zip: only text and pictures (PNG, JPEG, GIF, WebP) \
         are fetched"
    );
}

#[test]
fn a_server_that_takes_for_ever_is_given_up() {
    // One does not answer at all, the other sends a page of which the rest does not come.
    let silent = Server::start(|_, to| wait_for_end(to));
    let trickling = Server::start(|_, to| {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 9\r\n\r\n<p>";
        to.write_all(head.as_bytes()).unwrap();
        wait_for_end(to);
    });
    for server in [silent, trickling] {
        assert_eq!(
            fetch(&server, "timeout_s = 1", "/").failed(),
            "Not fetched: 127.0.0.1 took longer than 1 seconds (`web.timeout_s`)"
        );
    }
}

/// Until the client has gone.
fn wait_for_end(from: &mut std::net::TcpStream) {
    let _ = from.read(&mut [0; 16]);
}

#[test]
fn a_connection_that_breaks_and_one_that_is_not_private_are_errors() {
    let server = Server::start(|_, to| {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 99\r\n\r\n<p>";
        to.write_all(head.as_bytes()).unwrap();
    });
    let text = fetch(&server, "", "/").failed();
    let start = "Not fetched: the connection to 127.0.0.1 broke while the page was read: ";
    assert!(text.starts_with(start), "{text}");
    // It speaks no TLS.
    let plain = Server::page("text/plain", "x");
    let url = format!("https://127.0.0.1:{}/", plain.port);
    let text = fetch_url(&plain, "", &url);
    let start = "Not fetched: 127.0.0.1 could not be reached: ";
    assert!(text.starts_with(start), "{text}");
}

#[test]
fn a_session_without_network_fetches_nothing_and_names_the_way_out() {
    let server = untouched();
    let config = "[sandbox]\nmode = \"workspace-write\"\nrequired = false";
    assert_eq!(
        fetch(&server, config, "/").failed(),
        "Not fetched: this session has no network: its sandbox is on without it. If the user wants \
         pages to be fetched, they can set `sandbox.network = true` in their own configuration file"
    );
    assert_eq!(server.paths(), Vec::<String>::new());
    let config = format!("{config}\nnetwork = true");
    assert!(fetch(&server, &config, "/").ok().ends_with("secret"));
}

#[test]
fn a_project_cannot_allow_itself_private_addresses() {
    let server = untouched();
    let url = format!("http://localhost:{}/", server.port);
    let world = super::world(&server, "", &[("fetch", json!({ "url": url }))]);
    let project = format!("[web]\nallow_private = [\"localhost:{}\"]\n", server.port);
    world.file("work/.stentor/config.toml", &project);
    let work = world.path("work").display().to_string();
    world.asked(&["trust", &work]);
    let out = world.command(&["-p", "go", "--json"]).output().unwrap();
    let err = String::from_utf8(out.stderr).unwrap();
    assert!(
        err.contains("`web.allow_private` counts only in your own file"),
        "{err}"
    );
    let ended = String::from_utf8(out.stdout).unwrap();
    let mut ended = ended
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let ended = ended.find(|event| event["type"] == "tool_ended").unwrap();
    assert_eq!(ended["isError"], true, "{ended}");
    assert_eq!(server.paths(), Vec::<String>::new());
}
