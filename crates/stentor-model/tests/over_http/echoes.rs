//! Keys that a provider sends back.

use stentor_agent::model::ModelEvent;
use stentor_model::secret::Secret;

use crate::scripts::Script;
use crate::server::Server;
use crate::setup::{KEY, WIRES, endpoint, info, model_at, say, text_of};

#[tokio::test]
async fn a_key_that_is_echoed_is_replaced_in_text_thinking_and_arguments() {
    let script = Script {
        thinking: &["I was given test-key-", "0123456789."],
        text: &[
            "Your key is ",
            "test-key-01234",
            "56789",
            ", and te",
            "st it.",
        ],
        calls: &[("c1", "read", &["{\"path\":\"test-key-0123456789\"}"])],
    };
    for (wire, path) in WIRES {
        let server = Server::with_events(vec![script.in_words_of(wire)]).await;
        let model = model_at(endpoint(info(wire, server.url(path)), wire));
        let (events, error) = say(&model, "hi").await;
        assert_eq!(error, None, "{wire:?}");
        let text = text_of(&events);
        assert!(text.contains("I was given [key]."), "{wire:?}: {text}");
        assert!(
            text.contains("Your key is [key], and test it."),
            "{wire:?}: {text}"
        );
        assert!(text.contains("{\"path\":\"[key]\"}"), "{wire:?}: {text}");
        assert!(!format!("{events:?}").contains(KEY), "{wire:?}: {events:?}");
        assert!(matches!(events.last(), Some(ModelEvent::Finished(_))));
    }
}

#[tokio::test]
async fn a_header_that_is_a_key_is_replaced_and_one_that_is_none_is_not() {
    let script = Script {
        text: &["the blue-team-one uses other-secret-1"],
        ..Script::default()
    };
    let (wire, path) = WIRES[1];
    let server = Server::with_events(vec![script.in_words_of(wire)]).await;
    let mut endpoint = endpoint(info(wire, server.url(path)), wire);
    endpoint.headers = vec![
        ("x-team".into(), Secret::new("blue-team-one")),
        ("x-proxy-token".into(), Secret::new("other-secret-1")),
    ];
    let (events, _) = say(&model_at(endpoint), "hi").await;
    assert_eq!(text_of(&events), "the blue-team-one uses [key]");
}

#[tokio::test]
async fn the_end_of_a_broken_answer_that_could_have_been_a_key_is_kept() {
    let (wire, path) = WIRES[1];
    let chunk = "data: {\"id\":\"r\",\"choices\":[{\"delta\":{\"content\":\"a test-k\"}}]}\n\n";
    let server = Server::with_events(vec![chunk.to_owned()]).await;
    let model = model_at(endpoint(info(wire, server.url(path)), wire));
    let (events, error) = say(&model, "hi").await;
    assert!(error.is_some());
    assert_eq!(text_of(&events), "a test-k");
}
