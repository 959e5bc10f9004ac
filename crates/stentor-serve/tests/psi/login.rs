//! Sections 9.7 and 13.2: logging in, with and without a browser that comes back.

use std::sync::Arc;

use expect_test::expect;

use super::client::{Client, shows};
use super::world::{FakeLogin, OK, World};

fn world() -> (World, Arc<FakeLogin>) {
    let login = Arc::new(FakeLogin::default());
    let mut world = World::new(&[OK]);
    world.login = Some(Arc::clone(&login));
    (world, login)
}

#[test]
fn section_9_7_login_begin_and_complete_with_a_pasted_code() {
    let (world, _) = world();
    let mut client = Client::ready(world);
    let seen = client.table(&[
        ("login_complete", "{}"),
        ("login_begin", "{:provider 3}"),
        ("login_begin", r#"{:provider "nowhere"}"#),
        ("login_begin", r#"{:provider "broken"}"#),
        ("login_begin", r#"{:provider "pasty"}"#),
        ("login_begin", r#"{:provider "acme"}"#),
        ("login_complete", r#"{:input 3}"#),
        ("login_complete", r#"{:input "bad"}"#),
        ("login_complete", r#"{:input "good"}"#),
        ("login_complete", r#"{:input "good"}"#),
    ]);
    expect![[r#"
        login_complete {}
            {:kind :error :error-code "request/no-pending-login" :error-message "no login was begun; login_begin begins one" :id "x" :op "login_complete"}
        login_begin {:provider 3}
            {:kind :error :error-code "request/invalid-params" :error-message ":provider must be a string, found an integer" :id "x" :op "login_begin"}
        login_begin {:provider "nowhere"}
            {:kind :error :error-code "request/invalid-params" :error-message "nowhere has no login; these providers do: acme, pasty, script, broken" :id "x" :op "login_begin"}
        login_begin {:provider "broken"}
            {:kind :error :error-code "runtime/failed" :error-message "broken does not answer" :id "x" :op "login_begin"}
        login_begin {:provider "pasty"}
            {:id "x" :kind :response :op "login_begin" :ok true :data {:provider {:id "pasty" :name "PASTY"} :url "https://login.example/pasty" :uses-callback-server false :pending-login true}}
        login_begin {:provider "acme"}
            {:kind :error :error-code "request/invalid-params" :error-message "a login to PASTY is already in progress; /login starts another" :id "x" :op "login_begin"}
        login_complete {:input 3}
            {:kind :error :error-code "request/invalid-params" :error-message ":input must be a string, found an integer" :id "x" :op "login_complete"}
        login_complete {:input "bad"}
            {:kind :error :error-code "runtime/failed" :error-message "the code bad is wrong" :id "x" :op "login_complete"}
        login_complete {:input "good"}
            {:id "x" :kind :response :op "login_complete" :ok true :data {:provider {:id "pasty" :name "PASTY"} :logged-in true}}
        login_complete {:input "good"}
            {:kind :error :error-code "request/no-pending-login" :error-message "no login was begun; login_begin begins one" :id "x" :op "login_complete"}
    "#]].assert_eq(&seen);
    let out = client.script(&[
        ("command", r#"{:text "/logout"}"#),
        ("command", r#"{:text "/logout"}"#),
    ]);
    expect![[r#"
        command {:text "/logout"}
            {:kind :event :event "command-result" :data {:type "logout" :message "✓ Logged out of PASTY."} :id "x" :seq N :ts "TIME"}
            {:kind :event :event "session/updated" :data {…} :id "x" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {…} :id "x" :seq N :ts "TIME"}
            {:id "x" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
        command {:text "/logout"}
            {:kind :event :event "command-result" :data {:type "text" :message "Nobody is logged in."} :id "x" :seq N :ts "TIME"}
            {:kind :event :event "session/updated" :data {…} :id "x" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {…} :id "x" :seq N :ts "TIME"}
            {:id "x" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
    "#]].assert_eq(&out);
}

#[test]
fn section_9_7_a_callback_servers_login_is_waited_for_and_blocks_nothing() {
    let (world, login) = world();
    let mut client = Client::ready(world);
    let mut seen = client.request("b", "login_begin", r#"{:provider "acme"}"#);
    client.send_request("w", "login_complete", "{:input nil}");
    seen.extend(client.request("p", "ping", "{}"));
    login.browser.notify_one();
    seen.extend(client.until_answer(Some("w")));
    shows(
        &seen,
        &expect![[r#"
        {:id "b" :kind :response :op "login_begin" :ok true :data {:provider {:id "acme" :name "ACME"} :url "https://login.example/acme" :uses-callback-server true :pending-login true}}
        {:id "p" :kind :response :op "ping" :ok true :data {:pong true :protocol-version "1.0"}}
        {:id "w" :kind :response :op "login_complete" :ok true :data {:provider {:id "acme" :name "ACME"} :logged-in true}}"#]],
    );
}

#[test]
fn section_9_7_without_a_provider_the_models_own_is_meant() {
    let (world, _) = world();
    let mut client = Client::ready(world);
    let seen = client.request("b", "login_begin", "{}");
    shows(
        &seen,
        &expect![[
            r#"{:id "b" :kind :response :op "login_begin" :ok true :data {:provider {:id "script" :name "SCRIPT"} :url "https://login.example/script" :uses-callback-server false :pending-login true}}"#
        ]],
    );
}

#[test]
fn section_9_7_without_logins_there_are_none() {
    let mut client = Client::ready(World::new(&[OK]));
    let seen = client.script(&[
        ("login_begin", r#"{:provider "acme"}"#),
        ("command", r#"{:text "/login acme"}"#),
        ("command", r#"{:text "/logout"}"#),
    ]);
    expect![[r#"
        login_begin {:provider "acme"}
            {:kind :error :error-code "request/invalid-params" :error-message "logging in is not available here; configure a key instead" :id "x" :op "login_begin"}
        command {:text "/login acme"}
            {:kind :event :event "command-result" :data {:type "login-error" :message "logging in is not available here; configure a key instead"} :id "x" :seq N :ts "TIME"}
            {:kind :event :event "session/updated" :data {…} :id "x" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {…} :id "x" :seq N :ts "TIME"}
            {:id "x" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
        command {:text "/logout"}
            {:kind :event :event "command-result" :data {:type "text" :message "Nobody is logged in."} :id "x" :seq N :ts "TIME"}
            {:kind :event :event "session/updated" :data {…} :id "x" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {…} :id "x" :seq N :ts "TIME"}
            {:id "x" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
    "#]].assert_eq(&seen);
}

#[test]
fn section_13_2_slash_login_with_a_browser_says_when_it_came_back_and_blocks_nothing() {
    let (world, login) = world();
    let mut client = Client::ready(world);
    let mut seen = client.request("c", "command", r#"{:text "/login acme"}"#);
    seen.extend(client.request("p", "ping", "{}"));
    login.browser.notify_one();
    seen.extend(client.until(&["footer/updated"]));
    shows(
        &seen,
        &expect![[r#"
        {:kind :event :event "assistant/message" :data {:session-id "S1" :role "assistant" :content [{:type :text :text "Log in at ACME: https://login.example/acme\nOpen the address.\nWaiting for the browser to come back…"}] :text "Log in at ACME: https://login.example/acme\nOpen the address.\nWaiting for the browser to come back…"} :id "c" :seq N :ts "TIME"}
        {:kind :event :event "session/updated" :data {…} :id "c" :seq N :ts "TIME"}
        {:kind :event :event "footer/updated" :data {…} :id "c" :seq N :ts "TIME"}
        {:id "c" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
        {:id "p" :kind :response :op "ping" :ok true :data {:pong true :protocol-version "1.0"}}
        {:kind :event :event "assistant/message" :data {:session-id "S1" :role "assistant" :content [{:type :text :text "✓ Logged in to ACME."}] :text "✓ Logged in to ACME."} :seq N :ts "TIME"}
        {:kind :event :event "session/updated" :data {…} :seq N :ts "TIME"}
        {:kind :event :event "footer/updated" :data {…} :seq N :ts "TIME"}"#]],
    );
}

#[test]
fn section_13_2_the_address_a_browser_elsewhere_was_sent_to_may_be_pasted() {
    let (world, _) = world();
    let mut client = Client::ready(world);
    client.request("c", "command", r#"{:text "/login acme"}"#);
    // Another prompt is for the model as ever.
    client.run("hello");
    let address = r#"{:message "http://localhost:1/callback?code=good&state=s"}"#;
    let mut seen = client.request("p", "prompt", address);
    seen.extend(client.until(&["footer/updated"]));
    shows(
        &seen,
        &expect![[r#"
        {:id "p" :kind :response :op "prompt" :ok true :data {:accepted true}}
        {:kind :event :event "assistant/message" :data {:session-id "S1" :role "assistant" :content [{:type :text :text "✓ Logged in to ACME."}] :text "✓ Logged in to ACME."} :id "p" :seq N :ts "TIME"}
        {:kind :event :event "session/updated" :data {…} :id "p" :seq N :ts "TIME"}
        {:kind :event :event "footer/updated" :data {…} :id "p" :seq N :ts "TIME"}"#]],
    );
}

#[test]
fn section_13_2_the_prompt_after_slash_login_is_the_code_and_the_model_hears_nothing() {
    let (world, _) = world();
    let mut client = Client::ready(world);
    let mut seen = client.request("c", "command", r#"{:text "/login pasty"}"#);
    seen.extend(client.request("p", "prompt", r#"{:message "good"}"#));
    seen.extend(client.until(&["footer/updated"]));
    seen.push(client.answer("get_messages", "{}"));
    shows(
        &seen,
        &expect![[r#"
        {:kind :event :event "assistant/message" :data {:session-id "S1" :role "assistant" :content [{:type :text :text "Log in at PASTY: https://login.example/pasty\nOpen the address.\nPaste the code as your next message."}] :text "Log in at PASTY: https://login.example/pasty\nOpen the address.\nPaste the code as your next message."} :id "c" :seq N :ts "TIME"}
        {:kind :event :event "session/updated" :data {…} :id "c" :seq N :ts "TIME"}
        {:kind :event :event "footer/updated" :data {…} :id "c" :seq N :ts "TIME"}
        {:id "c" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
        {:id "p" :kind :response :op "prompt" :ok true :data {:accepted true}}
        {:kind :event :event "assistant/message" :data {:session-id "S1" :role "assistant" :content [{:type :text :text "✓ Logged in to PASTY."}] :text "✓ Logged in to PASTY."} :id "p" :seq N :ts "TIME"}
        {:kind :event :event "session/updated" :data {…} :id "p" :seq N :ts "TIME"}
        {:kind :event :event "footer/updated" :data {…} :id "p" :seq N :ts "TIME"}
        {:id "x" :kind :response :op "get_messages" :ok true :data {:messages []}}"#]],
    );
}

#[test]
fn section_13_2_a_wrong_code_and_a_provider_that_refuses_are_told() {
    let (world, _) = world();
    let mut client = Client::ready(world);
    let mut seen = client.request("b", "command", r#"{:text "/login broken"}"#);
    seen.extend(client.request("n", "command", r#"{:text "/login nowhere"}"#));
    seen.extend(client.request("c", "command", r#"{:text "/login pasty"}"#));
    seen.extend(client.request("p", "prompt", r#"{:message "bad"}"#));
    seen.extend(client.until(&["footer/updated"]));
    shows(
        &seen,
        &expect![[r#"
        {:kind :event :event "command-result" :data {:type "login-error" :message "broken does not answer"} :id "b" :seq N :ts "TIME"}
        {:kind :event :event "session/updated" :data {…} :id "b" :seq N :ts "TIME"}
        {:kind :event :event "footer/updated" :data {…} :id "b" :seq N :ts "TIME"}
        {:id "b" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
        {:kind :event :event "command-result" :data {:type "login-error" :message "nowhere has no login; these providers do: acme, pasty, script, broken"} :id "n" :seq N :ts "TIME"}
        {:kind :event :event "session/updated" :data {…} :id "n" :seq N :ts "TIME"}
        {:kind :event :event "footer/updated" :data {…} :id "n" :seq N :ts "TIME"}
        {:id "n" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
        {:kind :event :event "assistant/message" :data {:session-id "S1" :role "assistant" :content [{:type :text :text "Log in at PASTY: https://login.example/pasty\nOpen the address.\nPaste the code as your next message."}] :text "Log in at PASTY: https://login.example/pasty\nOpen the address.\nPaste the code as your next message."} :id "c" :seq N :ts "TIME"}
        {:kind :event :event "session/updated" :data {…} :id "c" :seq N :ts "TIME"}
        {:kind :event :event "footer/updated" :data {…} :id "c" :seq N :ts "TIME"}
        {:id "c" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
        {:id "p" :kind :response :op "prompt" :ok true :data {:accepted true}}
        {:kind :event :event "assistant/message" :data {:session-id "S1" :role "assistant" :content [{:type :text :text "Login at PASTY failed: the code bad is wrong"}] :text "Login at PASTY failed: the code bad is wrong"} :id "p" :seq N :ts "TIME"}
        {:kind :event :event "session/updated" :data {…} :id "p" :seq N :ts "TIME"}
        {:kind :event :event "footer/updated" :data {…} :id "p" :seq N :ts "TIME"}"#]],
    );
}

#[test]
fn section_13_2_another_slash_login_takes_the_place_of_one_that_waits() {
    let (world, _) = world();
    let mut client = Client::ready(world);
    client.request("b", "login_begin", r#"{:provider "acme"}"#);
    client.send_request("w", "login_complete", "{}");
    client.request("x", "ping", "{}");
    client.send_request("c", "command", r#"{:text "/login pasty"}"#);
    let mut seen = client.until_answer(Some("w"));
    seen.retain(|frame| frame.contains(":id \"w\""));
    shows(
        &seen,
        &expect![[
            r#"{:kind :error :error-code "runtime/failed" :error-message "another login was started" :id "w" :op "login_complete"}"#
        ]],
    );
}
