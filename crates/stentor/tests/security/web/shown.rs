//! What a model is shown of a page.

use serde_json::json;

use super::server::{Server, send};
use super::{call, called, fetch, world};

#[test]
fn a_page_is_shown_as_markdown_with_a_line_about_it() {
    let html = "<!doctype html><title>A page</title><nav>x</nav><h1>Hello</h1>\
                <p>See <a href=/more>more</a>.<script>alert(1)</script>";
    let server = Server::page("text/html; charset=utf-8", html);
    let fetched = fetch(&server, "", "/start?q=1#part");
    assert_eq!(
        fetched.details(),
        json!({
            "url": "http://127.0.0.1:PORT/start?q=1",
            "status": 200,
            "contentType": "text/html",
            "requestedUrl": "http://127.0.0.1:PORT/start?q=1#part",
        })
    );
    assert_eq!(
        fetched.ok(),
        "[http://127.0.0.1:PORT/start?q=1 \"A page\", text/html, 117B]\n\nx\n\n# Hello\n\nSee \
         [more](http://127.0.0.1:PORT/more)."
    );
    assert_eq!(server.paths(), ["/start?q=1"]);
    assert_eq!(
        server.header("accept-encoding").as_deref(),
        Some("identity")
    );
    assert_eq!(server.header("referer"), None);
    assert_eq!(server.header("cookie"), None);
}

#[test]
fn html_is_shown_as_it_is_when_asked_for_raw_and_other_text_always() {
    let server = Server::page("text/html", "<p>a");
    let arguments = json!({ "url": server.url("/"), "raw": true });
    assert_eq!(
        call(&server, "", "fetch", arguments).ok(),
        "[http://127.0.0.1:PORT/, text/html, 4B]\n\n<p>a"
    );
    let server = Server::page("application/json", r#"{"a": [1]}"#);
    assert_eq!(
        fetch(&server, "", "/x.json").ok(),
        "[http://127.0.0.1:PORT/x.json, application/json, 10B]\n\n{\"a\": [1]}"
    );
}

#[test]
fn text_is_read_in_the_encoding_that_the_server_or_the_page_names() {
    for (kind, body) in [
        ("text/plain; charset=koi8-r", &b"\xc4\xc1"[..]),
        ("text/html", b"<meta charset=windows-1251>\xe4\xe0"),
        ("text/plain; charset=utf-8", "да".as_bytes()),
        ("text/plain; charset=no-such-thing", "да".as_bytes()),
    ] {
        let server = Server::page(kind, body);
        let text = fetch(&server, "", "/").ok();
        assert!(text.ends_with("\n\nда"), "{kind}: {text}");
    }
    let server = Server::page("text/plain; charset=utf-8", b"a\xff\xfeb");
    let text = fetch(&server, "", "/").ok();
    assert!(text.ends_with("a\u{fffd}\u{fffd}b"), "{text}");
}

#[test]
fn a_picture_is_an_attachment_also_under_a_wrong_name() {
    let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
    for kind in ["image/png", "text/html"] {
        let server = Server::page(kind, png);
        let fetched = fetch(&server, "", "/a.png");
        let picture = &fetched.output["content"][1];
        assert_eq!(picture["type"], "image");
        assert_eq!(picture["mimeType"], "image/png");
        assert_eq!(
            fetched.ok(),
            "[http://127.0.0.1:PORT/a.png, image/png, 16B]"
        );
    }
}

#[test]
fn a_long_page_is_cut_and_a_file_has_the_whole() {
    let lines: Vec<String> = (1..=3000).map(|n| format!("line {n}")).collect();
    let server = Server::page("text/plain", lines.join("\n"));
    let url = server.url("/");
    let world = world(&server, "", &[("fetch", json!({ "url": url }))]);
    let fetched = called(&server, &world);
    let path = fetched.output["details"]["fullOutputPath"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), lines.join("\n"));
    let text = fetched.ok();
    let note = format!(
        "\nline 2000\n\n[Showing lines 1-2000 of 3000 (18.4KB of 28.2KB). Full output: {}]",
        world.without_folder(&path)
    );
    assert!(text.ends_with(&note), "{}", &text[text.len() - 200..]);
}

#[test]
fn an_error_of_the_server_is_one_of_the_call_with_what_the_server_says() {
    let server = Server::start(|_, to| {
        send(
            to,
            "404 Not Found",
            &[("content-type", "text/html")],
            b"<h1>No such page</h1>",
        );
    });
    assert_eq!(
        fetch(&server, "", "/gone").failed(),
        "[HTTP 404 Not Found from http://127.0.0.1:PORT/gone, text/html, 21B]\n\n# No such page"
    );
}

#[test]
fn redirects_are_followed_to_the_page_they_end_at() {
    let server = Server::start(|path, to| match path {
        "/1" => send(to, "301 Moved", &[("location", "/2")], b""),
        "/2" => send(to, "307 Temporary", &[("location", "3?x#y")], b""),
        _ => send(to, "200 OK", &[("content-type", "text/plain")], b"here"),
    });
    let fetched = fetch(&server, "", "/1");
    assert_eq!(
        fetched.ok(),
        "[http://127.0.0.1:PORT/3?x, text/plain, 4B]\n\nhere"
    );
    assert_eq!(server.paths(), ["/1", "/2", "/3?x"]);
}

#[test]
fn a_page_with_a_hundred_thousand_levels_is_read_like_any_other() {
    let html = format!(
        "{}deep{}",
        "<div><b>".repeat(100_000),
        "</b></div>".repeat(100_000)
    );
    let server = Server::page("text/html", html);
    let text = fetch(&server, "", "/").ok();
    assert!(text.ends_with("\n\n**deep**"), "{text}");
}
