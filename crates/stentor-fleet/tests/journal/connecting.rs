//! Connecting to NATS servers that do not let everybody in.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use nkeys::KeyPair;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair as TlsKey};
use stentor_fleet::settings::FleetSecret;
use stentor_fleet::{Fleet, FleetError, FleetSettings};
use stentor_test_support::{NatsServer, TemporaryFolder};

const SYNC: &str = "sync_interval: always";

fn settings(url: &str) -> FleetSettings {
    FleetSettings {
        url: Some(url.to_owned()),
        node: Some("one".to_owned()),
        ..FleetSettings::default()
    }
}

async fn refused(settings: FleetSettings) -> FleetError {
    match Fleet::connect(settings, "life").await {
        Ok(_) => panic!("the server let it in"),
        Err(why) => why,
    }
}

/// The address with something before its host.
fn with(url: &str, credentials: &str) -> String {
    url.replace("://", &format!("://{credentials}@"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_and_a_password_are_taken_from_the_address_or_from_the_settings_and_never_shown() {
    let users = "authorization { users: [ { user: u, password: \"p@ss,word\" } ] }";
    let Some(nats) = NatsServer::configured(SYNC, users, &[]) else {
        return;
    };
    let url = with(&nats.url, "u:p%40ss%2Cword");
    Fleet::connect(settings(&url), "life").await.unwrap();
    let both = format!("{},{url}", nats.url);
    Fleet::connect(settings(&both), "life").await.unwrap();
    let by_key = FleetSettings {
        user: Some("u".to_owned()),
        password: Some(FleetSecret::new("p@ss,word".to_owned())),
        ..settings(&nats.url)
    };
    assert!(!format!("{by_key:?}").contains("ss,word"), "{by_key:?}");
    Fleet::connect(by_key, "life").await.unwrap();
    let why = refused(settings(&with(&nats.url, "u:hidden"))).await;
    assert!(!why.to_string().contains("hidden"), "{why}");
    assert!(why.to_string().contains("authorization"), "{why}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_taken_from_the_address_or_from_the_settings() {
    let token = "authorization { token: \"t0ken\" }";
    let Some(nats) = NatsServer::configured(SYNC, token, &[]) else {
        return;
    };
    let url = with(&nats.url, "t0ken");
    Fleet::connect(settings(&url), "life").await.unwrap();
    let by_key = FleetSettings {
        token: Some(FleetSecret::new("t0ken".to_owned())),
        ..settings(&nats.url)
    };
    Fleet::connect(by_key, "life").await.unwrap();
    refused(settings(&nats.url)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_nkey_is_read_from_its_file() {
    let user = KeyPair::new_user();
    let users = format!(
        "authorization {{ users: [ {{ nkey: {} }} ] }}",
        user.public_key()
    );
    let Some(nats) = NatsServer::configured(SYNC, &users, &[]) else {
        return;
    };
    let folder = TemporaryFolder::with(&[]);
    folder.file("user.nk", &format!("{}\n", user.seed().unwrap()));
    let with_key = FleetSettings {
        nkey: Some(folder.path("user.nk")),
        ..settings(&nats.url)
    };
    Fleet::connect(with_key, "life").await.unwrap();
    folder.file("empty.nk", "nothing\n");
    let without = FleetSettings {
        nkey: Some(folder.path("empty.nk")),
        ..settings(&nats.url)
    };
    let why = refused(without).await.to_string();
    assert!(why.contains("empty.nk: it has no seed"), "{why}");
}

/// A signed claim of NATS.
fn jwt(signer: &KeyPair, subject: &KeyPair, claims: &str) -> String {
    let encode = |text: &str| URL_SAFE_NO_PAD.encode(text);
    let body = format!(
        "{{\"jti\":\"x\",\"iat\":1,\"iss\":\"{}\",\"name\":\"n\",\"sub\":\"{}\",\"nats\":{claims}}}",
        signer.public_key(),
        subject.public_key()
    );
    let signed = format!(
        "{}.{}",
        encode(r#"{"typ":"JWT","alg":"ed25519-nkey"}"#),
        encode(&body)
    );
    let signature = signer.sign(signed.as_bytes()).unwrap();
    format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_credentials_file_is_used_as_nats_has_them() {
    let (operator, system) = (KeyPair::new_operator(), KeyPair::new_account());
    let (account, user) = (KeyPair::new_account(), KeyPair::new_user());
    let limits = r#"{"limits":{"subs":-1,"data":-1,"payload":-1,"imports":-1,"exports":-1,
        "wildcards":true,"conn":-1,"leaf":-1,"mem_storage":-1,"disk_storage":-1},
        "type":"account","version":2}"#;
    let system_limits = r#"{"limits":{"subs":-1,"data":-1,"payload":-1,"imports":-1,"exports":-1,
        "wildcards":true,"conn":-1,"leaf":-1},"type":"account","version":2}"#;
    let config = format!(
        "operator: {}\nsystem_account: {}\nresolver: MEMORY\n\
         resolver_preload {{ {}: {}, {}: {} }}\n",
        jwt(&operator, &operator, r#"{"type":"operator","version":2}"#),
        system.public_key(),
        system.public_key(),
        jwt(&operator, &system, system_limits),
        account.public_key(),
        jwt(&operator, &account, limits),
    );
    let Some(nats) = NatsServer::configured(SYNC, &config, &[]) else {
        return;
    };
    let user_jwt = jwt(
        &account,
        &user,
        r#"{"pub":{},"sub":{},"subs":-1,"data":-1,"payload":-1,"type":"user","version":2}"#,
    );
    let folder = TemporaryFolder::with(&[]);
    let text = format!(
        "-----BEGIN NATS USER JWT-----\n{user_jwt}\n------END NATS USER JWT------\n\n\
         -----BEGIN USER NKEY SEED-----\n{}\n------END USER NKEY SEED------\n",
        user.seed().unwrap()
    );
    folder.file("user.creds", &text);
    let with_file = FleetSettings {
        credentials: Some(folder.path("user.creds")),
        ..settings(&nats.url)
    };
    Fleet::connect(with_file, "life").await.unwrap();
    refused(settings(&nats.url)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tls_with_an_own_authority_a_client_certificate_and_first() {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, TlsKey::generate().unwrap()).unwrap();
    let certified = |name: &str| {
        let key = TlsKey::generate().unwrap();
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &authority).unwrap();
        (certificate.pem(), key.serialize_pem())
    };
    let (server, server_key) = certified("127.0.0.1");
    let (client, client_key) = certified("client");
    let files = [
        ("ca.pem", authority.pem()),
        ("server.pem", server),
        ("server.key", server_key),
        ("client.pem", client),
        ("client.key", client_key),
    ];
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (*name, &**text)).collect();
    for first in [false, true] {
        let tls = format!(
            "tls {{ cert_file: @server.pem, key_file: @server.key, ca_file: @ca.pem, \
             verify: true, handshake_first: {first} }}"
        );
        let Some(nats) = NatsServer::configured(SYNC, &tls, &files) else {
            return;
        };
        let path = |name: &str| Some(nats.folder().path(name));
        let with_tls = FleetSettings {
            tls_ca: path("ca.pem"),
            tls_certificate: path("client.pem"),
            tls_key: path("client.key"),
            tls_first: first,
            ..settings(&nats.url)
        };
        Fleet::connect(with_tls.clone(), "life").await.unwrap();
        let without_certificate = FleetSettings {
            tls_certificate: None,
            tls_key: None,
            ..with_tls.clone()
        };
        refused(without_certificate).await;
        let half = FleetSettings {
            tls_key: None,
            ..with_tls
        };
        let why = refused(half).await.to_string();
        assert!(why.contains("belong together"), "{why}");
    }
}
