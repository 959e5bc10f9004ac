//! What a provider refuses, by status and in the middle of an answer.

use stentor_agent::model::ModelErrorKind as Kind;
use stentor_model::wire::Wire;

use crate::scripts::{Script, event};
use crate::server::{Reply, Server, Step};
use crate::setup::{KEY, WIRES, model, say, text_of};

#[tokio::test]
async fn each_status_becomes_an_error_that_says_what_to_do() {
    for (status, kind, words) in [
        (
            401,
            Kind::Auth,
            "401 Unauthorized: authentication_error: nope (check ACME_API_KEY)",
        ),
        (
            403,
            Kind::Auth,
            "403 Forbidden: authentication_error: nope (check ACME_API_KEY)",
        ),
        (
            404,
            Kind::UnknownModel,
            "404 Not Found: not_found_error: nope (run `stentor models` to list the available models)",
        ),
        (
            429,
            Kind::RateLimited,
            "429 Too Many Requests: rate_limit_error: nope (too many requests: it will be retried when the provider allows)",
        ),
        (
            500,
            Kind::Server,
            "500 Internal Server Error: api_error: nope",
        ),
        (
            529,
            Kind::Overloaded,
            "529 Overloaded: overloaded_error: nope (the provider is overloaded: try again later)",
        ),
    ] {
        let code = match status {
            401 | 403 => "authentication_error",
            404 => "not_found_error",
            429 => "rate_limit_error",
            529 => "overloaded_error",
            _ => "api_error",
        };
        for (wire, path) in WIRES {
            let body = format!("{{\"error\":{{\"type\":\"{code}\",\"message\":\"nope\"}}}}");
            let server = Server::start(move |_| Reply::json(status, &body)).await;
            let (events, error) = say(&model(wire, server.url(path)), "hi").await;
            let error = error.unwrap();
            assert_eq!(events, []);
            assert_eq!((error.kind, error.status), (kind, Some(status)), "{error}");
            assert_eq!(error.message, format!("acme/claude-test-5: {words}"));
        }
    }
}

#[tokio::test]
async fn the_time_a_provider_asks_to_wait_is_passed_on() {
    for (value, ms) in [("3", 3000), ("Sun, 15 Nov 2026 12:00:30 GMT", 30_000)] {
        let server = Server::start(move |_| {
            Reply::json(429, r#"{"error":{"message":"slow down"}}"#)
                .with_header("retry-after", value)
        })
        .await;
        let (_, error) = say(&model(Wire::OpenAiChat, server.url("/v1")), "hi").await;
        assert_eq!(error.unwrap().retry_after_ms, Some(ms));
    }
}

#[tokio::test]
async fn a_key_that_a_provider_repeats_is_not_shown() {
    let server = Server::start(|request| {
        let said = request
            .header("authorization")
            .unwrap_or_default()
            .to_owned();
        Reply::json(
            401,
            &format!("{{\"error\":{{\"message\":\"bad {said}\"}}}}"),
        )
    })
    .await;
    let (_, error) = say(&model(Wire::OpenAiChat, server.url("/v1")), "hi").await;
    let error = error.unwrap();
    assert!(error.message.contains("bad Bearer [key]"), "{error}");
    assert!(!format!("{error:?}").contains(KEY));
}

#[tokio::test]
async fn an_error_in_the_middle_of_an_answer_comes_behind_its_text() {
    let script = Script {
        text: &["so far"],
        ..Script::default()
    };
    for (wire, path, fault, kind) in [
        (
            Wire::AnthropicMessages,
            "",
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            Kind::Overloaded,
        ),
        (
            Wire::OpenAiChat,
            "/v1",
            r#"{"error":{"code":502,"message":"Upstream is gone"}}"#,
            Kind::Server,
        ),
        (
            Wire::OpenAiResponses,
            "/v1",
            r#"{"type":"error","code":"rate_limit_exceeded","message":"Slow down"}"#,
            Kind::RateLimited,
        ),
        (
            Wire::OpenAiResponses,
            "/v1",
            r#"{"type":"response.failed","response":{"error":{"code":"server_error","message":"Sorry"}}}"#,
            Kind::Server,
        ),
        (
            Wire::Gemini,
            "",
            r#"{"error":{"code":503,"message":"The model is overloaded","status":"UNAVAILABLE"}}"#,
            Kind::Overloaded,
        ),
    ] {
        let text = script.in_words_of(wire);
        let at = text.find("so far").unwrap();
        let end = at + text[at..].find("\n\n").unwrap() + 2;
        let fault = event("", &serde_json::from_str(fault).unwrap());
        let server = Server::with_events(vec![text[..end].to_owned() + &fault]).await;
        let (events, error) = say(&model(wire, server.url(path)), "hi").await;
        assert_eq!(text_of(&events), "so far");
        let error = error.unwrap();
        assert_eq!(error.kind, kind, "{wire:?}: {error}");
        assert!(error.is_transient());
    }
}

#[tokio::test]
async fn a_page_of_json_or_html_instead_of_a_stream_is_an_error() {
    let server = Server::start(|_| Reply::json(200, r#"{"error":{"message":"not today"}}"#)).await;
    let (_, error) = say(&model(Wire::OpenAiChat, server.url("/v1")), "hi").await;
    assert!(error.unwrap().message.contains("not today"));
    let server = Server::start(|_| {
        let mut reply = Reply::json(200, "<html>Welcome</html>");
        reply.headers = vec![("content-type".into(), "text/html".into())];
        reply
    })
    .await;
    let (_, error) = say(&model(Wire::OpenAiChat, server.url("/v1")), "hi").await;
    assert_eq!(error.unwrap().kind, Kind::InvalidRequest);
}

#[tokio::test]
async fn what_is_no_answer_is_told_and_not_asked_for_again() {
    const GZIP: &[u8] = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03";
    let page: &[u8] = b"<html><title>Sign in</title><p>Sign in to the guest network</p></html>";
    for (status, headers, body, told) in [
        (
            204,
            &[][..],
            &b""[..],
            "204 No Content: the server sent no answer",
        ),
        (200, &[], b"", "200 OK: the server sent no answer"),
        (
            202,
            &[("content-type", "text/event-stream")],
            b"\n",
            "202 Accepted: the server sent no answer",
        ),
        (
            200,
            &[("content-type", "text/html; charset=utf-8")],
            page,
            "200 OK: received an HTML page instead of an answer: Sign in Sign in to the guest network",
        ),
        (
            200,
            &[("content-type", "text/event-stream")],
            page,
            "200 OK: received an HTML page instead of an answer: Sign in Sign in to the guest network",
        ),
        (
            200,
            &[
                ("content-type", "text/event-stream"),
                ("content-encoding", "gzip"),
            ],
            GZIP,
            "200 OK: the answer is compressed with gzip, which was not requested",
        ),
        (
            200,
            &[("content-type", "text/event-stream")],
            GZIP,
            "200 OK: the answer is compressed with gzip, which was not requested",
        ),
        (
            200,
            &[],
            b"It works!",
            "200 OK: received something other than an event stream: It works!",
        ),
    ] {
        for (wire, path) in WIRES {
            let body = body.to_vec();
            let server = Server::start(move |_| Reply {
                status,
                headers: headers
                    .iter()
                    .map(|(name, value)| ((*name).into(), (*value).into()))
                    .collect(),
                steps: if status == 204 {
                    vec![Step::Cut]
                } else {
                    vec![Step::Send(body.clone())]
                },
            })
            .await;
            let (_, error) = say(&model(wire, server.url(path)), "hi").await;
            let error = error.unwrap();
            assert_eq!(
                error.message,
                format!("acme/claude-test-5: {told}; check `base_url` and any proxy"),
                "{wire:?}"
            );
            assert!(!error.is_transient());
        }
    }
}

#[tokio::test]
async fn a_page_that_never_ends_is_refused_by_its_head() {
    let server = Server::start(|_| Reply {
        status: 200,
        headers: vec![("content-type".into(), "text/html".into())],
        steps: vec![Step::Send(b"<p>Sign in</p>".to_vec()), Step::Hang],
    })
    .await;
    let (_, error) = say(&model(Wire::OpenAiChat, server.url("/v1")), "hi").await;
    let told = "received an HTML page instead of an answer: Sign in";
    assert!(error.unwrap().message.contains(told));
}
