//! Section 9.7 with a real OAuth server on loopback: from nobody to an answer of the model.

use expect_test::expect;

use super::child::{Backend, write};
use super::provider::{Provider, visit};

/// A backend whose provider logs in like this.
fn backend(oauth: &str) -> (tempfile::TempDir, Backend) {
    let home = tempfile::tempdir().unwrap();
    let provider = Provider::start();
    write(
        home.path(),
        ".config/stentor/config.toml",
        &provider.configuration(oauth),
    );
    let backend = Backend::ready(home.path(), &["--rpc-edn", "--model", "offline/guide"]);
    (home, backend)
}

/// A parameter of the address that a frame names.
fn parameter(name: &str, frame: &str) -> String {
    let rest = frame.split(&format!("{name}=")).nth(1).unwrap();
    rest.split(['&', '"', '\\', ' ']).next().unwrap().to_owned()
}

/// The model of the provider answers.
fn welcomed(backend: &mut Backend) -> Vec<String> {
    let params = r#"{:provider "acme" :model-id "m"}"#;
    let mut seen = vec![backend.ask("m", "set_model", params)];
    backend.ask("p", "prompt", r#"{:message "hello"}"#);
    let message = backend.until_event("assistant/message").pop().unwrap();
    seen.push(message);
    seen
}

#[test]
fn a_provider_that_shows_a_code_is_logged_in_at_by_pasting_it() {
    let oauth = "authorize_url = \"URL/authorize\"\nredirect = \"https://acme.example/code\"";
    let (_home, mut backend) = backend(oauth);
    let mut seen = vec![backend.ask("m", "set_model", r#"{:provider "acme" :model-id "m"}"#)];
    backend.send("b", "login_begin", r#"{:provider "acme"}"#);
    let begun = backend.raw_answer("b");
    let state = parameter("state", &begun);
    seen.push(backend.normal(&begun));
    for input in [
        "good".to_owned(),
        format!("wrong#{state}"),
        format!("good#{state}"),
    ] {
        let input = format!("{{:input {input:?}}}");
        seen.push(backend.ask("c", "login_complete", &input));
    }
    seen.extend(welcomed(&mut backend));
    expect![[r#"
        {:kind :error :error-code "request/unsupported-model" :error-message "acme/m: no credentials: run `stentor login acme`" :id "m" :op "set_model"}
        {:id "b" :kind :response :op "login_begin" :ok true :data {:provider {:id "acme" :name "ACME"} :url "http://HERE/authorize?response_type=code&client_id=client-1&redirect_uri=https%3A%2F%2Facme.example%2Fcode&scope=&state=STATE&code_challenge=CHALLENGE&code_challenge_method=S256" :uses-callback-server false :pending-login true}}
        {:kind :error :error-code "runtime/failed" :error-message "the pasted text does not show which login it belongs to; paste the whole address the browser was redirected to, or `code#state`" :id "c" :op "login_complete"}
        {:kind :error :error-code "runtime/failed" :error-message "the login for acme was refused: 400 Bad Request invalid_grant" :id "c" :op "login_complete"}
        {:id "c" :kind :response :op "login_complete" :ok true :data {:provider {:id "acme" :name "ACME"} :logged-in true}}
        {:id "m" :kind :response :op "set_model" :ok true :data {:model {:provider "acme" :id "m"}}}
        {:kind :event :event "assistant/message" :data {:session-id "SESSION" :role "assistant" :content [{:type :text :text "welcome"}] :text "welcome" :stop-reason :stop} :id "p" :seq N :ts "TIME"}"#]].assert_eq(&seen.join("\n"));
}

#[test]
fn a_browser_that_comes_back_by_itself_is_waited_for() {
    let oauth = "authorize_url = \"URL/authorize\"";
    let (_home, mut backend) = backend(oauth);
    backend.send("b", "login_begin", r#"{:provider "acme"}"#);
    let begun = backend.raw_answer("b");
    let value = |name: &str| parameter(name, &begun);
    let (state, redirect) = (value("state"), value("redirect_uri"));
    let redirect = redirect.replace("%3A", ":").replace("%2F", "/");
    backend.send("c", "login_complete", "{}");
    // Others are served meanwhile.
    let mut seen = backend.request("p", "ping", "{}");
    let welcome = visit(&format!("{redirect}?code=good&state={state}"));
    assert!(welcome.contains("200"), "{welcome}");
    seen.extend(backend.until_answer("c"));
    seen.extend(welcomed(&mut backend));
    expect![[r#"
        {:id "p" :kind :response :op "ping" :ok true :data {:pong true :protocol-version "1.0"}}
        {:id "c" :kind :response :op "login_complete" :ok true :data {:provider {:id "acme" :name "ACME"} :logged-in true}}
        {:id "m" :kind :response :op "set_model" :ok true :data {:model {:provider "acme" :id "m"}}}
        {:kind :event :event "assistant/message" :data {:session-id "SESSION" :role "assistant" :content [{:type :text :text "welcome"}] :text "welcome" :stop-reason :stop} :id "p" :seq N :ts "TIME"}"#]].assert_eq(&seen.join("\n"));
}

#[test]
fn a_code_on_another_device_is_waited_for() {
    let (_home, mut backend) = backend("device_url = \"URL/device\"");
    let mut seen = backend.request("s", "command", r#"{:text "/login acme"}"#);
    if !seen.iter().any(|frame| frame.contains("✓ Logged in")) {
        seen.extend(backend.until_event("assistant/message"));
    }
    seen.retain(|frame| frame.contains("assistant/message"));
    seen.push(backend.ask("o", "login_complete", "{}"));
    seen.extend(welcomed(&mut backend));
    expect![[r#"
        {:kind :event :event "assistant/message" :data {:session-id "SESSION" :role "assistant" :content [{:type :text :text "Log in at ACME: http://HERE/activate\nOpen the address and enter the code UC-1.\nWaiting for the browser to come back…"}] :text "Log in at ACME: http://HERE/activate\nOpen the address and enter the code UC-1.\nWaiting for the browser to come back…"} :id "s" :seq N :ts "TIME"}
        {:kind :event :event "assistant/message" :data {:session-id "SESSION" :role "assistant" :content [{:type :text :text "✓ Logged in to ACME."}] :text "✓ Logged in to ACME."} :seq N :ts "TIME"}
        {:kind :error :error-code "request/no-pending-login" :error-message "no login was begun; login_begin begins one" :id "o" :op "login_complete"}
        {:id "m" :kind :response :op "set_model" :ok true :data {:model {:provider "acme" :id "m"}}}
        {:kind :event :event "assistant/message" :data {:session-id "SESSION" :role "assistant" :content [{:type :text :text "welcome"}] :text "welcome" :stop-reason :stop} :id "p" :seq N :ts "TIME"}"#]].assert_eq(&seen.join("\n"));
}

#[test]
fn the_prompt_after_slash_login_is_the_code_and_logging_out_ends_it() {
    let oauth = "authorize_url = \"URL/authorize\"\nredirect = \"https://acme.example/code\"";
    let (_home, mut backend) = backend(oauth);
    backend.send("s", "command", r#"{:text "/login acme"}"#);
    let state = parameter("state", &backend.raw_with("state="));
    backend.ask("g", "prompt", &format!("{{:message \"good#{state}\"}}"));
    let mut seen = vec![backend.until_event("assistant/message").pop().unwrap()];
    seen.extend(welcomed(&mut backend));
    let out = backend.request("o", "command", r#"{:text "/logout"}"#);
    seen.extend(
        out.into_iter()
            .filter(|frame| frame.contains("command-result")),
    );
    seen.push(backend.ask("m", "set_model", r#"{:provider "acme" :model-id "m"}"#));
    expect![[r#"
        {:kind :event :event "assistant/message" :data {:session-id "SESSION" :role "assistant" :content [{:type :text :text "✓ Logged in to ACME."}] :text "✓ Logged in to ACME."} :id "g" :seq N :ts "TIME"}
        {:id "m" :kind :response :op "set_model" :ok true :data {:model {:provider "acme" :id "m"}}}
        {:kind :event :event "assistant/message" :data {:session-id "SESSION" :role "assistant" :content [{:type :text :text "welcome"}] :text "welcome" :stop-reason :stop} :id "p" :seq N :ts "TIME"}
        {:kind :event :event "command-result" :data {:type "logout" :message "✓ Logged out of ACME."} :id "o" :seq N :ts "TIME"}
        {:kind :error :error-code "request/unsupported-model" :error-message "acme/m: no credentials: run `stentor login acme`" :id "m" :op "set_model"}"#]].assert_eq(&seen.join("\n"));
}

#[test]
fn logging_out_forgets_stored_keys_too() {
    let home = tempfile::tempdir().unwrap();
    let file = ".config/stentor/credentials.json";
    let keys = r#"{"logins":{},"keys":{"acme":"secret-1","mistral":"secret-2"}}"#;
    write(home.path(), file, keys);
    let stored = home.path().join(file);
    std::fs::set_permissions(&stored, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let provider = Provider::start();
    let oauth = "authorize_url = \"URL/authorize\"\nredirect = \"https://acme.example/code\"";
    let config = provider.configuration(oauth);
    write(home.path(), ".config/stentor/config.toml", &config);
    let mut backend = Backend::ready(home.path(), &["--rpc-edn", "--model", "offline/guide"]);
    let mut seen = Vec::new();
    for _ in 0..2 {
        let out = backend.request("o", "command", r#"{:text "/logout"}"#);
        let out = out.into_iter();
        seen.extend(out.filter(|frame| frame.contains("command-result")));
    }
    expect![[r#"
        {:kind :event :event "command-result" :data {:type "logout" :message "✓ Forgot the key of ACME, mistral."} :id "o" :seq N :ts "TIME"}
        {:kind :event :event "command-result" :data {:type "text" :message "Nobody is logged in."} :id "o" :seq N :ts "TIME"}"#]].assert_eq(&seen.join("\n"));
    let left = std::fs::read_to_string(&stored).unwrap();
    assert!(!left.contains("secret"), "{left}");
}
