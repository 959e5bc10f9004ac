//! What claims success and is no answer is told at once, and not asked for again.

use super::provider::{Answer, Provider};
use crate::dialects::{self, ALL};

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
        for dialect in ALL {
            let provider = Provider::answering(Answer::Bytes(response.clone().into_bytes()));
            let world = provider.world("[retry]\nbase_delay_ms = 1\n");
            let said = dialects::prompt(&world, dialect);
            let expected = format!("acme/m1: {told}; check `base_url` and any proxy");
            assert!(said.contains(&expected), "{dialect}: {said}");
            assert_eq!(provider.requests(), 1, "{dialect}: {said}");
        }
    }
}
