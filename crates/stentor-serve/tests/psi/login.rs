//! Sections 9.7 and 13.2: logging in, with and without a browser that comes back.

use std::sync::Arc;

use super::client::{Client, outline};
use super::world::{FakeLogin, OK, World};

fn world() -> (World, Arc<FakeLogin>) {
    let login = Arc::new(FakeLogin::default());
    let mut world = World::new(&[OK]);
    world.login = Some(Arc::clone(&login));
    (world, login)
}

#[test]
fn login_begin_and_complete_with_a_pasted_code() {
    let (world, _) = world();
    let mut client = Client::ready(world);
    let none = client.answer("login_complete", "{}");
    assert!(none.contains("request/no-pending-login"), "{none}");
    for params in ["{:provider 3}", r#"{:provider "nowhere"}"#] {
        let answer = client.answer("login_begin", params);
        assert!(answer.contains("request/invalid-params"), "{answer}");
    }
    let begun = client.answer("login_begin", r#"{:provider "pasty"}"#);
    assert_eq!(
        begun,
        r#"{:id "x" :kind :response :op "login_begin" :ok true :data {:provider {:id "pasty" :name "PASTY"} :url "https://login.example/pasty" :uses-callback-server false :pending-login true}}"#
    );
    let twice = client.answer("login_begin", r#"{:provider "acme"}"#);
    assert!(twice.contains("request/invalid-params"), "{twice}");
    let wrong = client.answer("login_complete", r#"{:input 3}"#);
    assert!(wrong.contains("request/invalid-params"), "{wrong}");
    let bad = client.answer("login_complete", r#"{:input "bad"}"#);
    assert!(bad.contains("runtime/failed"), "{bad}");
    let done = client.answer("login_complete", r#"{:input "good"}"#);
    assert!(
        done.ends_with(r#"{:provider {:id "pasty" :name "PASTY"} :logged-in true}}"#),
        "{done}"
    );
    let out = client.request("o", "command", r#"{:text "/logout"}"#);
    assert!(
        out[0].contains(r#"{:type "logout" :message "✓ Logged out of PASTY."}"#),
        "{}",
        out[0]
    );
}

#[test]
fn without_a_provider_the_models_own_is_meant_and_without_logins_there_are_none() {
    let (world, _) = world();
    let mut client = Client::ready(world);
    let begun = client.answer("login_begin", "{}");
    assert!(
        begun.contains(r#":provider {:id "script" :name "SCRIPT"}"#),
        "{begun}"
    );
    let mut without = Client::ready(World::new(&[OK]));
    let answer = without.answer("login_begin", r#"{:provider "acme"}"#);
    assert!(answer.contains("request/invalid-params"), "{answer}");
    let seen = without.request("c", "command", r#"{:text "/login acme"}"#);
    assert!(seen[0].contains(r#":type "login-error""#), "{}", seen[0]);
}

#[test]
fn slash_login_with_a_browser_says_when_it_came_back_and_blocks_nothing() {
    let (world, login) = world();
    let mut client = Client::ready(world);
    let seen = client.request("c", "command", r#"{:text "/login acme"}"#);
    assert_eq!(
        outline(&seen),
        [
            "assistant/message",
            "session/updated",
            "footer/updated",
            "response"
        ]
    );
    assert!(
        seen[0].contains(r#":session-id "S1""#) && seen[0].contains("https://login.example/acme")
    );
    assert!(client.answer("ping", "{}").contains(":pong"));
    login.browser.notify_one();
    let seen = client.until(&["footer/updated"]);
    assert_eq!(
        outline(&seen),
        ["assistant/message", "session/updated", "footer/updated"]
    );
    assert!(seen[0].contains("✓ Logged in at ACME."), "{}", seen[0]);
}

#[test]
fn the_prompt_after_slash_login_is_the_code_and_the_model_hears_nothing() {
    let (world, _) = world();
    let mut client = Client::ready(world);
    let seen = client.request("c", "command", r#"{:text "/login pasty"}"#);
    assert!(
        seen[0].contains("Paste the code as your next message."),
        "{}",
        seen[0]
    );
    let seen = client.request("p", "prompt", r#"{:message "good"}"#);
    assert_eq!(outline(&seen), ["response"]);
    let seen = client.until(&["footer/updated"]);
    assert!(seen[0].contains("✓ Logged in at PASTY."), "{}", seen[0]);
    let messages = client.answer("get_messages", "{}");
    assert!(messages.ends_with("{:messages []}}"), "{messages}");
}
