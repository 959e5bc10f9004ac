//! What claims success and is no answer is told at once, and not asked for again.

use super::provider::{Answer, Provider};

#[test]
fn a_page_a_compressed_body_and_nothing_at_all_are_told_after_one_try() {
    let page = "<html><title>Sign in</title></html>";
    for (response, told) in [
        (
            "HTTP/1.1 204 No Content\r\n\r\n".to_owned(),
            "204 No Content: the server sent no answer",
        ),
        (
            format!(
                "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: {}\r\n\r\n{page}",
                page.len()
            ),
            "200 OK: received an HTML page instead of an answer: Sign in",
        ),
        (
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-encoding: gzip\r\n\
             content-length: 4\r\n\r\n\x1f\x08\x00\x00"
                .to_owned(),
            "200 OK: the answer is compressed with gzip, which was not requested",
        ),
    ] {
        let provider = Provider::answering(Answer::Bytes(response.into_bytes()));
        let world = provider.world("[retry]\nbase_delay_ms = 1\n");
        let out = world.command(&["-p", "hi"]).output().unwrap();
        let stderr = String::from_utf8(out.stderr).unwrap();
        assert_eq!(out.status.code(), Some(1), "{stderr}");
        let expected = format!("acme/m1: {told}; check `base_url` and any proxy");
        assert!(stderr.contains(&expected), "{stderr}");
        assert_eq!(provider.requests(), 1, "{stderr}");
    }
}
