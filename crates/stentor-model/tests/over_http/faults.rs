//! What happens to the socket, or on it, never hangs, panics or loses text.

use stentor_agent::model::{ModelErrorKind as Kind, ModelEvent};
use stentor_journal::message::StopReason;
use stentor_model::wire::Wire;

use crate::scripts::Script;
use crate::server::{Reply, Server, Step};
use crate::setup::{WIRES, endpoint, impatient, info, model, model_with, say, text_of};

const TEN: Script = Script {
    thinking: &[],
    text: &["one ", "two ", "three "],
    calls: &[],
};

/// The answer up to and including the delta `two `, and the rest.
fn cut_behind_two(wire: Wire) -> (String, String) {
    let text = TEN.in_words_of(wire);
    let at = text.find("two ").unwrap();
    let end = at + text[at..].find("\n\n").unwrap() + 2;
    (text[..end].to_owned(), text[end..].to_owned())
}

#[tokio::test]
async fn silence_before_and_in_an_answer_ends_in_an_error_and_keeps_what_came() {
    for (wire, path) in WIRES {
        let (before, _) = cut_behind_two(wire);
        let server = Server::start(move |_| {
            Reply::steps(vec![Step::Send(before.clone().into_bytes()), Step::Hang])
        })
        .await;
        let model = model_with(endpoint(info(wire, server.url(path)), wire), impatient());
        let (events, error) = say(&model, "hi").await;
        let error = error.unwrap();
        assert_eq!(
            (error.kind, text_of(&events).as_str()),
            (Kind::Silence, "one two ")
        );
        assert_eq!(error.message, "acme/claude-test-5: nothing came for 0.1 s");
        assert!(error.is_transient());
    }
}

#[tokio::test]
async fn comments_do_not_keep_a_silent_answer_alive() {
    for (wire, path) in WIRES {
        let (before, _) = cut_behind_two(wire);
        let server = Server::start(move |_| {
            Reply::steps(vec![
                Step::Send(before.clone().into_bytes()),
                Step::Repeat(b": keep-alive\n\n".to_vec()),
            ])
        })
        .await;
        let model = model_with(endpoint(info(wire, server.url(path)), wire), impatient());
        let (events, error) = say(&model, "hi").await;
        let error = error.unwrap();
        assert_eq!(error.message, "acme/claude-test-5: nothing came for 0.1 s");
        assert_eq!(text_of(&events), "one two ");
    }
}

#[tokio::test]
async fn a_server_that_is_silent_in_the_tls_handshake_is_given_up() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}/v1", listener.local_addr().unwrap());
    // Accepts the connection and never says hello.
    let silent = tokio::spawn(async move {
        let mut sockets = Vec::new();
        while let Ok((socket, _)) = listener.accept().await {
            sockets.push(socket);
        }
    });
    let mut settings = impatient();
    settings.limits.connect_ms = 100;
    settings.limits.answer_ms = u64::from(u32::MAX);
    let endpoint = endpoint(info(Wire::OpenAiChat, url.clone()), Wire::OpenAiChat);
    let (_, error) = say(&model_with(endpoint, settings), "hi").await;
    let error = error.unwrap();
    assert_eq!(error.kind, Kind::Network);
    let address = url.trim_end_matches("/v1");
    assert!(
        error.message.contains(&format!("cannot reach {address}")),
        "{error}"
    );
    silent.abort();
}

#[tokio::test]
async fn parts_of_an_answer_that_wait_for_others_are_bounded() {
    let mut settings = impatient();
    settings.limits.event_bytes = 1000;
    let call = |index: u32, arguments: &str| {
        let call = serde_json::json!({"index": index, "id": format!("c{index}"),
            "function": {"name": "read", "arguments": arguments}});
        let chunk = serde_json::json!({"id": "r", "choices": [{"delta": {"tool_calls": [call]}}]});
        format!("data: {chunk}\n\n")
    };
    let text = call(0, "{") + &call(1, &"x".repeat(100)).repeat(20);
    let server = Server::with_events(vec![text]).await;
    let endpoint = endpoint(info(Wire::OpenAiChat, server.url("/v1")), Wire::OpenAiChat);
    let (_, error) = say(&model_with(endpoint, settings), "hi").await;
    let error = error.unwrap();
    assert!(error.message.contains("more than 1000 bytes"), "{error}");
}

#[tokio::test]
async fn a_server_that_never_answers_is_given_up() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let model = model_with(
        endpoint(info(Wire::OpenAiChat, url), Wire::OpenAiChat),
        impatient(),
    );
    let (_, error) = say(&model, "hi").await;
    assert_eq!(
        error.unwrap().message,
        "acme/claude-test-5: no response within 0.1 s"
    );
}

#[tokio::test]
async fn a_connection_cut_in_mid_event_is_a_broken_stream_and_keeps_what_came() {
    for (wire, path) in WIRES {
        for clean in [false, true] {
            let (before, after) = cut_behind_two(wire);
            let half = before + &after[..after.len().min(25)];
            let server = Server::start(move |_| {
                let sent = Step::Send(half.clone().into_bytes());
                Reply::steps(if clean {
                    vec![sent]
                } else {
                    vec![sent, Step::Cut]
                })
            })
            .await;
            let (events, error) = say(&model(wire, server.url(path)), "hi").await;
            let error = error.unwrap();
            assert_eq!(error.kind, Kind::BrokenStream, "{wire:?}: {error}");
            assert!(error.is_transient());
            assert_eq!(text_of(&events), "one two ", "{wire:?}");
        }
    }
}

#[tokio::test]
async fn an_end_between_events_before_the_answer_is_complete_is_a_broken_stream() {
    for (wire, path) in WIRES {
        let (before, _) = cut_behind_two(wire);
        let server = Server::with_events(vec![before]).await;
        let (_, error) = say(&model(wire, server.url(path)), "hi").await;
        assert_eq!(
            error.unwrap().message,
            "acme/claude-test-5: the connection was closed in the middle of the answer"
        );
    }
}

#[tokio::test]
async fn bytes_that_are_not_utf8_are_an_error_behind_what_came_before() {
    for (wire, path) in WIRES {
        let (before, _) = cut_behind_two(wire);
        let mut bytes = before.into_bytes();
        bytes.extend_from_slice(b"data: {\"text\":\"\xc3\x28\"}\n\n");
        let server = Server::start(move |_| Reply::events(bytes.clone())).await;
        let (events, error) = say(&model(wire, server.url(path)), "hi").await;
        let error = error.unwrap();
        assert_eq!(error.kind, Kind::BrokenStream);
        assert!(error.message.contains("not valid UTF-8"), "{error}");
        assert_eq!(text_of(&events), "one two ");
    }
}

#[tokio::test]
async fn an_event_that_is_not_json_is_an_error_behind_what_came_before() {
    for (wire, path) in WIRES {
        let (before, _) = cut_behind_two(wire);
        let server = Server::with_events(vec![before + "data: {\"type\":\n\n"]).await;
        let (events, error) = say(&model(wire, server.url(path)), "hi").await;
        assert_eq!(error.unwrap().kind, Kind::BrokenStream);
        assert_eq!(text_of(&events), "one two ");
    }
}

#[tokio::test]
async fn invalid_json_in_a_tool_call_is_handed_on_as_it_is() {
    let script = Script {
        calls: &[("c1", "read", &["{\"path\": ", "oops"])],
        ..Script::default()
    };
    for (wire, path) in &WIRES[..3] {
        let server = Server::with_events(vec![script.in_words_of(*wire)]).await;
        let (events, error) = say(&model(*wire, server.url(path)), "hi").await;
        assert_eq!(error, None);
        assert_eq!(text_of(&events), "{\"path\": oops");
        let Some(ModelEvent::Finished(finish)) = events.last() else {
            panic!("no end: {events:?}")
        };
        assert_eq!(finish.stop_reason, StopReason::ToolUse);
    }
}

#[tokio::test]
async fn a_delta_of_ten_megabytes_arrives_whole() {
    let big = "0123456789".repeat(1 << 20);
    for (wire, path) in WIRES {
        let text = TEN.in_words_of(wire).replace("two ", &big);
        let server = Server::with_events(vec![text]).await;
        let (events, error) = say(&model(wire, server.url(path)), "hi").await;
        assert_eq!(error, None, "{wire:?}");
        assert!(text_of(&events).contains(&big), "{wire:?}");
    }
}

#[tokio::test]
async fn an_event_above_the_limit_is_refused() {
    let mut settings = impatient();
    settings.limits.event_bytes = 1000;
    let text = TEN
        .in_words_of(Wire::OpenAiChat)
        .replace("two ", &"x".repeat(2000));
    let server = Server::with_events(vec![text]).await;
    let endpoint = endpoint(info(Wire::OpenAiChat, server.url("/v1")), Wire::OpenAiChat);
    let (events, error) = say(&model_with(endpoint, settings), "hi").await;
    assert!(error.unwrap().message.contains("longer than 1000 bytes"));
    assert_eq!(text_of(&events), "one ");
}

#[tokio::test]
async fn events_of_unknown_types_and_comments_are_passed_over() {
    let unknown = ": comment\n\nevent: moon_phase\ndata: {\"type\":\"moon_phase\",\"delta\":7,\"item\":3,\"error\":null,\"usage\":null}\n\n";
    for (wire, path) in [
        (Wire::AnthropicMessages, ""),
        (Wire::OpenAiChat, "/v1"),
        (Wire::Gemini, ""),
    ] {
        let (before, after) = cut_behind_two(wire);
        let server = Server::with_events(vec![before + unknown + &after]).await;
        let (events, error) = say(&model(wire, server.url(path)), "hi").await;
        assert_eq!(error, None, "{wire:?}");
        assert_eq!(text_of(&events), "one two three ");
    }
}

#[tokio::test]
async fn an_answer_that_arrives_byte_by_byte_is_the_same() {
    for (wire, path) in WIRES {
        let text = TEN.in_words_of(wire);
        let server = Server::start(move |_| {
            Reply::steps(text.bytes().map(|byte| Step::Send(vec![byte])).collect())
        })
        .await;
        let (events, error) = say(&model(wire, server.url(path)), "hi").await;
        assert_eq!((error, text_of(&events).as_str()), (None, "one two three "));
    }
}

#[tokio::test]
async fn a_complete_answer_whose_connection_breaks_or_stays_open_is_complete() {
    let text = TEN
        .in_words_of(Wire::OpenAiChat)
        .replace("data: [DONE]\n\n", "");
    for end_badly in [|| Step::Cut, || Step::Hang] {
        let text = text.clone();
        let server = Server::start(move |_| {
            Reply::steps(vec![Step::Send(text.clone().into_bytes()), end_badly()])
        })
        .await;
        let endpoint = endpoint(info(Wire::OpenAiChat, server.url("/v1")), Wire::OpenAiChat);
        let (events, error) = say(&model_with(endpoint, impatient()), "hi").await;
        assert_eq!(error, None);
        assert!(matches!(events.last(), Some(ModelEvent::Finished(_))));
    }
}

#[tokio::test]
async fn dropping_the_answer_closes_the_connection() {
    use futures_util::StreamExt;
    use stentor_agent::model::Model;

    let (closed, is_closed) = tokio::sync::oneshot::channel();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    tokio::spawn(async move {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut buffer = [0; 65536];
        let _ = socket.read(&mut buffer).await.unwrap();
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
        let chunk = "data: {\"id\":\"r1\",\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n";
        socket
            .write_all(format!("{head}{chunk}").as_bytes())
            .await
            .unwrap();
        while matches!(socket.read(&mut buffer).await, Ok(count) if count > 0) {}
        closed.send(()).unwrap();
    });
    let model = model(Wire::OpenAiChat, url);
    let mut stream = model.stream(crate::setup::request(vec![crate::setup::user("hi")]));
    assert!(stream.next().await.unwrap().is_ok());
    drop(stream);
    is_closed.await.unwrap();
}
