//! Getting to a server: redirects, proxies, certificates, nobody at home.

use std::sync::Arc;

use stentor_agent::model::ModelErrorKind as Kind;
use stentor_http::{HttpSettings, Proxies};
use stentor_model::wire::Wire;

use crate::scripts::Script;
use crate::server::{Reply, Server};
use crate::setup::{KEY, endpoint, info, model, model_with, say, text_of};

const CHAT: Wire = Wire::OpenAiChat;

fn hello() -> String {
    let script = Script {
        text: &["hello"],
        ..Script::default()
    };
    script.in_words_of(CHAT)
}

#[tokio::test]
async fn a_redirect_within_the_server_is_followed_with_the_question() {
    let server = Server::start(|request| match request.target.as_str() {
        "/new/chat/completions" => Reply::events(hello()),
        _ => Reply::json(307, "").with_header("location", "/new/chat/completions"),
    })
    .await;
    let (events, error) = say(&model(CHAT, server.url("/v1")), "hi").await;
    assert_eq!((error, text_of(&events).as_str()), (None, "hello"));
    let requests = server.requests();
    assert_eq!(requests[1].method, "POST");
    assert_eq!(requests[0].body, requests[1].body);
}

#[tokio::test]
async fn a_redirect_elsewhere_or_that_drops_the_question_is_an_error_and_no_key_leaves() {
    let other = Server::start(|_| Reply::events(hello())).await;
    let elsewhere = other.url("/v1/chat/completions");
    for (status, location) in [(307, elsewhere.as_str()), (302, "/new"), (301, "/new")] {
        let location = location.to_owned();
        let expected = location.clone();
        let server = Server::start(move |_| {
            Reply::json(status, "").with_header("location", location.clone())
        })
        .await;
        let (_, error) = say(&model(CHAT, server.url("/v1")), "hi").await;
        let error = error.unwrap();
        assert_eq!(
            (error.kind, error.status),
            (Kind::InvalidRequest, Some(status))
        );
        assert!(error.message.contains(&expected), "{error}");
    }
    assert_eq!(other.requests().len(), 0);
}

#[tokio::test]
async fn a_redirect_that_goes_round_in_circles_ends() {
    let server =
        Server::start(|_| Reply::json(307, "").with_header("location", "/v1/chat/completions"))
            .await;
    let (_, error) = say(&model(CHAT, server.url("/v1")), "hi").await;
    assert_eq!(error.unwrap().status, Some(307));
    assert!(server.requests().len() <= 7);
}

#[tokio::test]
async fn the_proxy_of_the_environment_is_asked_and_loopback_is_not_sent_through_it() {
    let proxy = Server::start(|_| Reply::events(hello())).await;
    let environment = |name: &str| (name == "http_proxy").then(|| proxy.url(""));
    let settings = HttpSettings {
        proxies: Proxies::from_environment(environment),
        ..HttpSettings::default()
    };
    let far = endpoint(info(CHAT, "http://models.invalid/v1".into()), CHAT);
    let (events, error) = say(&model_with(far, settings.clone()), "hi").await;
    assert_eq!((error, text_of(&events).as_str()), (None, "hello"));
    assert_eq!(
        proxy.requests()[0].target,
        "http://models.invalid/v1/chat/completions"
    );

    let local = Server::start(|_| Reply::events(hello())).await;
    let near = endpoint(info(CHAT, local.url("/v1")), CHAT);
    let (_, error) = say(&model_with(near, settings), "hi").await;
    assert_eq!(error, None);
    assert_eq!((proxy.requests().len(), local.requests().len()), (1, 1));
}

#[tokio::test]
async fn a_certificate_of_ones_own_is_trusted_when_its_root_is_configured() {
    let certified = rcgen::generate_simple_self_signed(vec!["localhost".into()]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let ca_file = folder.path().join("root.pem");
    std::fs::write(&ca_file, certified.cert.pem()).unwrap();
    let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    let config = tokio_rustls::rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![certified.cert.der().clone()],
            tokio_rustls::rustls::pki_types::PrivateKeyDer::try_from(
                certified.signing_key.serialize_der(),
            )
            .unwrap(),
        )
        .unwrap();
    let server = Server::start_tls(Arc::new(config).into(), |_| Reply::events(hello())).await;
    let url = format!("https://localhost:{}/v1", server.port);

    let stranger = endpoint(info(CHAT, url.clone()), CHAT);
    let (_, error) = say(&model_with(stranger, HttpSettings::default()), "hi").await;
    let error = error.unwrap();
    assert_eq!(error.kind, Kind::Network);
    assert!(error.message.contains("ca_file"), "{error}");

    let mut trusted = endpoint(info(CHAT, url), CHAT);
    trusted.ca_file = Some(ca_file);
    let (events, error) = say(&model_with(trusted, HttpSettings::default()), "hi").await;
    assert_eq!((error, text_of(&events).as_str()), (None, "hello"));
}

#[tokio::test]
async fn nobody_at_home_is_a_network_error_without_the_key() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    drop(listener);
    let (_, error) = say(&model(CHAT, url.clone()), "hi").await;
    let error = error.unwrap();
    assert_eq!(error.kind, Kind::Network);
    assert!(
        error.message.contains(url.trim_end_matches("/v1")),
        "{error}"
    );
    assert!(!error.message.contains(KEY));
}
