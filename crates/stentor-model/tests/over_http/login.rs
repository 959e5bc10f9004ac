//! Logging in at an OAuth server on loopback, and staying so.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use stentor_http::Http;
use stentor_model::configuration::{OAuthConfiguration, TokenFormat};
use stentor_model::credential::{Credential, CredentialError, CredentialSource};
use stentor_model::login::{LoginInput, LoginProvider, LoginStep, LoginStore, Logins, StoredLogin};
use stentor_model::secret::Secret;
use stentor_model::wire::Wire;

use crate::scripts::Script;
use crate::server::{Reply, Request, Server};
use crate::setup::{NOW_MS, clock, endpoint, info, model_at, say, text_of};

fn oauth(server: &Server) -> OAuthConfiguration {
    OAuthConfiguration {
        authorize_url: Some(server.url("/authorize")),
        token_url: server.url("/token"),
        client_id: "client-1".into(),
        scopes: vec!["read".into(), "write".into()],
        redirect: Some("http://localhost:0/back".into()),
        ..OAuthConfiguration::default()
    }
}

fn logins(oauth: OAuthConfiguration, folder: &tempfile::TempDir) -> Logins {
    let provider = LoginProvider {
        id: "acme".into(),
        name: "Acme".into(),
        oauth,
        ca_file: None,
    };
    Logins::new(
        vec![provider],
        HashMap::from([("acme-api".to_owned(), "acme".to_owned())]),
        store(folder),
        Arc::new(Http::default()),
        clock(),
    )
}

fn store(folder: &tempfile::TempDir) -> LoginStore {
    LoginStore::new(folder.path().join("credentials.json"))
}

/// What stands in for the user's browser.
fn browser() -> reqwest::Client {
    Http::default().client(None).unwrap()
}

async fn visit(url: impl reqwest::IntoUrl) -> reqwest::Result<reqwest::Response> {
    browser().get(url).send().await
}

fn form(request: &Request) -> HashMap<String, String> {
    let text = String::from_utf8(request.body.clone()).unwrap();
    let url = reqwest::Url::parse(&format!("http://x/?{text}")).unwrap();
    url.query_pairs().into_owned().collect()
}

fn query(step: &LoginStep) -> HashMap<String, String> {
    let url = reqwest::Url::parse(&step.url).unwrap();
    url.query_pairs().into_owned().collect()
}

async fn token_server() -> Server {
    Server::start(|_| {
        Reply::json(
            200,
            r#"{"access_token":"access-1","refresh_token":"refresh-1","expires_in":3600}"#,
        )
    })
    .await
}

#[tokio::test]
async fn a_login_in_the_browser_comes_back_to_loopback_with_proof() {
    let server = token_server().await;
    let folder = tempfile::tempdir().unwrap();
    let logins = logins(oauth(&server), &folder);
    let step = logins.begin("acme").await.unwrap();
    assert!(step.uses_callback_server);
    let sent = query(&step);
    assert_eq!(sent["scope"], "read write");
    assert_eq!(sent["state"], step.state);
    let redirect = &sent["redirect_uri"];

    let stranger = visit(format!("{redirect}?code=evil&state=other"))
        .await
        .unwrap();
    assert_eq!(stranger.status(), 400);
    let browser = visit(format!("{redirect}?code=code-1&state={}", step.state))
        .await
        .unwrap();
    assert_eq!(browser.status(), 200);
    logins.complete("acme", LoginInput::Wait).await.unwrap();

    let asked = form(&server.requests()[0]);
    assert_eq!(asked["code"], "code-1");
    assert_eq!(asked["client_id"], "client-1");
    assert_eq!(&asked["redirect_uri"], redirect);
    let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(asked["code_verifier"].as_bytes()));
    assert_eq!(sent["code_challenge"], challenge);
    let status = logins.status().unwrap();
    assert!(status[0].logged_in);
    assert_eq!(
        store(&folder).get("acme").unwrap().unwrap().access,
        Secret::new("access-1")
    );
    assert!(logins.logout("acme-api").await.unwrap());
    assert!(!logins.is_logged_in("acme"));
}

#[tokio::test]
async fn one_that_says_nothing_does_not_keep_the_browser_waiting() {
    let server = token_server().await;
    let folder = tempfile::tempdir().unwrap();
    let logins = logins(oauth(&server), &folder);
    let step = logins.begin("acme").await.unwrap();
    let redirect = query(&step)["redirect_uri"].clone();
    let port = reqwest::Url::parse(&redirect).unwrap().port().unwrap();
    let mut silent = Vec::new();
    for _ in 0..40 {
        silent.push(
            tokio::net::TcpStream::connect(("127.0.0.1", port))
                .await
                .unwrap(),
        );
    }
    let browser = visit(format!("{redirect}?code=code-1&state={}", step.state));
    let browser = tokio::time::timeout(std::time::Duration::from_secs(8), browser).await;
    assert_eq!(browser.unwrap().unwrap().status(), 200);
    logins.complete("acme", LoginInput::Wait).await.unwrap();
}

#[tokio::test]
async fn a_page_that_gave_its_own_name_to_this_machine_is_sent_away() {
    let server = token_server().await;
    let folder = tempfile::tempdir().unwrap();
    let logins = logins(oauth(&server), &folder);
    let step = logins.begin("acme").await.unwrap();
    let redirect = query(&step)["redirect_uri"].clone();
    let port = reqwest::Url::parse(&redirect).unwrap().port().unwrap();
    let url = format!("{redirect}?code=code-1&state={}", step.state);
    for (host, status) in [
        ("evil.example".to_owned(), 400),
        (format!("evil.example:{port}"), 400),
        ("localhost".to_owned(), 400),
        (format!("127.0.0.1:{port}"), 200),
    ] {
        let request = browser().get(&url).header("host", &host);
        assert_eq!(request.send().await.unwrap().status(), status, "{host}");
    }
}

#[tokio::test]
async fn a_login_begun_again_takes_the_port_of_the_one_before() {
    let server = token_server().await;
    let folder = tempfile::tempdir().unwrap();
    let probe = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = probe.local_addr().unwrap().port();
    drop(probe);
    let oauth = OAuthConfiguration {
        redirect: Some(format!("http://localhost:{port}/back")),
        ..oauth(&server)
    };
    let logins = logins(oauth, &folder);
    let first = logins.begin("acme").await.unwrap();
    let second = logins.begin("acme").await.unwrap();
    assert!(first.uses_callback_server && second.uses_callback_server);
    let redirect = query(&second)["redirect_uri"].clone();
    let old = visit(format!("{redirect}?code=c&state={}", first.state))
        .await
        .unwrap();
    assert_eq!(old.status(), 400);
    visit(format!("{redirect}?code=c&state={}", second.state))
        .await
        .unwrap();
    logins.complete("acme", LoginInput::Wait).await.unwrap();
}

#[tokio::test]
async fn a_code_can_be_pasted_and_json_can_be_asked_for() {
    let server = token_server().await;
    let folder = tempfile::tempdir().unwrap();
    let oauth = OAuthConfiguration {
        redirect: Some("https://acme.example/code".into()),
        token_format: TokenFormat::Json,
        ..oauth(&server)
    };
    let logins = logins(oauth, &folder);
    let step = logins.begin("acme-api").await.unwrap();
    assert!(!step.uses_callback_server);
    let error = logins.complete("acme", LoginInput::Wait).await.unwrap_err();
    assert!(error.to_string().contains("paste"), "{error}");
    let pasted = format!("code-2#{}", step.state);
    logins
        .complete("acme", LoginInput::Pasted(pasted))
        .await
        .unwrap();
    let asked = server.requests()[0].json();
    assert_eq!(asked["code"], "code-2");
    assert_eq!(asked["grant_type"], "authorization_code");
    let error = logins.complete("acme", LoginInput::Wait).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "no login for acme is in progress; start one first"
    );
}

#[tokio::test]
async fn a_refusal_in_the_browser_or_by_the_provider_is_told() {
    let server = Server::start(|_| {
        Reply::json(
            400,
            r#"{"error":"invalid_grant","error_description":"old"}"#,
        )
    })
    .await;
    let folder = tempfile::tempdir().unwrap();
    let logins = logins(oauth(&server), &folder);
    let step = logins.begin("acme").await.unwrap();
    let redirect = query(&step)["redirect_uri"].clone();
    visit(format!(
        "{redirect}?error=access_denied&state={}",
        step.state
    ))
    .await
    .unwrap();
    let error = logins.complete("acme", LoginInput::Wait).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the login for acme was refused: access_denied"
    );
    let error = logins
        .complete("acme", LoginInput::Pasted(format!("code#{}", step.state)))
        .await
        .unwrap_err();
    assert!(error.to_string().contains("invalid_grant"), "{error}");
    let error = logins.begin("nobody").await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "there is no login for `nobody`; available: acme"
    );
}

#[tokio::test]
async fn a_code_typed_on_another_device_logs_in_and_is_exchanged() {
    let polls = AtomicUsize::new(0);
    let server = Server::start(move |request| match request.target.as_str() {
        "/device" => Reply::json(200, r#"{"device_code":"d1","user_code":"AB-12","verification_uri":"http://acme.example/device","interval":0,"expires_in":900}"#),
        "/token" => match polls.fetch_add(1, Ordering::Relaxed) {
            0 => Reply::json(200, r#"{"error":"authorization_pending"}"#),
            1 => Reply::json(400, r#"{"error":"authorization_pending"}"#),
            2 => Reply::json(200, r#"{"error":"slow_down","interval":0}"#),
            _ => Reply::json(200, r#"{"access_token":"lasting-1","token_type":"bearer"}"#),
        },
        _ => {
            assert_eq!(request.header("authorization"), Some("Bearer lasting-1"));
            Reply::json(200, r#"{"token":"short-1","expires_at":1794747600,"endpoints":{"api":"https://api.acme.example"}}"#)
        }
    })
    .await;
    let folder = tempfile::tempdir().unwrap();
    let oauth = OAuthConfiguration {
        device_url: Some(server.url("/device")),
        exchange_url: Some(server.url("/exchange")),
        ..oauth(&server)
    };
    let logins = logins(oauth, &folder);
    let step = logins.begin("acme").await.unwrap();
    assert_eq!(step.user_code.as_deref(), Some("AB-12"));
    assert_eq!(step.url, "http://acme.example/device");
    logins.complete("acme", LoginInput::Wait).await.unwrap();
    let login = store(&folder).get("acme").unwrap().unwrap();
    assert_eq!(
        login,
        StoredLogin {
            access: Secret::new("short-1"),
            refresh: Some(Secret::new("lasting-1")),
            expires_at_ms: Some(1_794_747_600_000),
            account: None,
            base_url: Some("https://api.acme.example".into()),
        }
    );
}

async fn expiring(folder: &tempfile::TempDir, expires_at_ms: u64) {
    let store = store(folder);
    let lock = store.lock().await.unwrap();
    let login = StoredLogin {
        access: Secret::new("old-access"),
        refresh: Some(Secret::new("old-refresh")),
        expires_at_ms: Some(expires_at_ms),
        account: Some("account-1".into()),
        base_url: None,
    };
    store.put(&lock, "acme", &login).unwrap();
}

#[tokio::test]
async fn a_token_about_to_expire_is_refreshed_once_by_whoever_comes_first() {
    let server = Server::start(|_| {
        Reply::json(
            200,
            r#"{"access_token":"new-access","refresh_token":"new-refresh","expires_in":3600}"#,
        )
    })
    .await;
    let folder = tempfile::tempdir().unwrap();
    expiring(&folder, NOW_MS + 60_000).await;
    // Each with a lock of its own, as processes have.
    let sources: Vec<_> = (0..8)
        .map(|_| logins(oauth(&server), &folder).credentials("acme").unwrap())
        .collect();
    let asked = sources.iter().map(|source| source.credential());
    for credential in futures_util::future::join_all(asked).await {
        assert_eq!(
            credential,
            Ok(Credential::Bearer {
                token: Secret::new("new-access"),
                account: Some("account-1".into()),
                base_url: None,
            })
        );
    }
    let requests = server.requests();
    assert_eq!(requests.len(), 1);
    assert_eq!(form(&requests[0])["refresh_token"], "old-refresh");
    let kept = store(&folder).get("acme").unwrap().unwrap();
    assert_eq!(kept.refresh, Some(Secret::new("new-refresh")));
}

#[tokio::test]
async fn a_refresh_that_fails_is_harmless_while_the_token_lives_and_clear_when_it_does_not() {
    let folder = tempfile::tempdir().unwrap();
    let refusing = Server::start(|_| Reply::json(400, r#"{"error":"invalid_grant"}"#)).await;
    let broken = Server::start(|_| Reply::json(503, "")).await;
    expiring(&folder, NOW_MS + 60_000).await;
    let source = logins(oauth(&broken), &folder).credentials("acme").unwrap();
    assert!(source.credential().await.is_ok());
    expiring(&folder, NOW_MS - 1).await;
    let error = source.credential().await.unwrap_err();
    assert!(matches!(error, CredentialError::Refresh { .. }), "{error}");
    let source = logins(oauth(&refusing), &folder)
        .credentials("acme")
        .unwrap();
    let error = source.credential().await.unwrap_err();
    assert!(matches!(error, CredentialError::Expired { .. }), "{error}");
    assert!(error.to_string().contains("stentor login acme"), "{error}");
    assert!(!format!("{error} {source:?}").contains("old-"), "{error}");
}

#[tokio::test]
async fn a_token_refused_before_its_time_is_refreshed_and_the_question_asked_again() {
    let server =
        Server::start(
            |request| match (request.target.as_str(), request.header("authorization")) {
                ("/token", _) => {
                    Reply::json(200, r#"{"access_token":"new-access","expires_in":3600}"#)
                }
                (_, Some("Bearer new-access")) => {
                    let script = Script {
                        text: &["hello"],
                        ..Script::default()
                    };
                    Reply::events(script.in_words_of(Wire::OpenAiChat))
                }
                _ => Reply::json(401, r#"{"error":{"message":"revoked"}}"#),
            },
        )
        .await;
    let folder = tempfile::tempdir().unwrap();
    expiring(&folder, NOW_MS + 3_600_000).await;
    let mut endpoint = endpoint(info(Wire::OpenAiChat, server.url("/v1")), Wire::OpenAiChat);
    endpoint.credentials = Arc::new(logins(oauth(&server), &folder).credentials("acme").unwrap());
    let model = model_at(endpoint);
    let (events, error) = say(&model, "hi").await;
    assert_eq!((error, text_of(&events).as_str()), (None, "hello"));
    let kept = store(&folder).get("acme").unwrap().unwrap();
    assert_eq!(
        (kept.access, kept.refresh),
        (Secret::new("new-access"), Some(Secret::new("old-refresh")))
    );
    let (_, error) = say(&model, "again").await;
    assert_eq!(error, None);
    assert_eq!(server.requests().len(), 4);
}

#[tokio::test]
async fn without_a_login_the_error_says_how_to_get_one() {
    let server = token_server().await;
    let folder = tempfile::tempdir().unwrap();
    let source = logins(oauth(&server), &folder).credentials("acme").unwrap();
    assert_eq!(
        source.credential().await.unwrap_err().to_string(),
        "no credentials for acme: run `stentor login acme`"
    );
}
