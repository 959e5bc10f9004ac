//! A password in an address is used, and never shown.

use serde_json::{Value, json};

use super::provider::{Answer, Provider};
use crate::dialects::{self, ALL};

#[test]
fn a_password_in_an_address_is_hidden_from_listings_errors_and_clients() {
    let refusal = "HTTP/1.1 401 Unauthorized\r\ncontent-type: application/json\r\n\
                   content-length: 51\r\nconnection: close\r\n\r\n\
                   {\"error\":{\"message\":\"wrong: me:hidden-word, go away\"}}";
    let provider = Provider::answering(Answer::Bytes(refusal.into()));
    let world = provider.world("");
    let mut shown = Vec::new();
    for words in [
        &["models", "--json"][..],
        &["models"],
        &["config", "--json"],
        &["config"],
        &["-p", "hi", "--verbose"],
    ] {
        let out = world.command(words).output().unwrap();
        shown.push(String::from_utf8(out.stdout).unwrap());
        shown.push(String::from_utf8(out.stderr).unwrap());
    }
    let models: Value = serde_json::from_str(&shown[0]).unwrap();
    let model = &models["wouldUse"]["model"];
    assert_eq!(model["id"], "m1");
    let address = model["baseUrl"].as_str().unwrap();
    assert!(address.starts_with("http://127.0.0.1:"), "{address}");
    // Nobody said what it costs.
    assert_eq!(model["cost"], Value::Null);
    let refused = "acme, 1 model: it answers 401 Unauthorized";
    assert!(shown[2].contains(refused), "{}", shown[2]);

    let mut child = world.omp();
    for command in ["get_available_models", "get_state"] {
        child.send(&json!({ "id": "m", "type": command }).to_string());
        let frames = child.until_type("response");
        shown.extend(frames.iter().map(Value::to_string));
    }
    child.end();
    assert!(shown.last().unwrap().contains("\"baseUrl\""));
    // Asked twice for its models, once for an answer.
    assert_eq!(provider.requests(), 3);
    shown.extend(ALL.map(|dialect| dialects::prompt(&world, dialect)));
    for text in shown {
        assert!(!text.contains("hidden-word"), "{text}");
    }
}

#[test]
fn the_cost_of_a_model_nobody_priced_is_unknown_and_not_nothing() {
    let provider = Provider::answering(Answer::Deltas(vec!["Hello.".to_owned()]));
    let world = provider.world("");
    let out = world.command(&["-p", "hi", "--verbose"]).output().unwrap();
    let stderr = String::from_utf8(out.stderr).unwrap();
    assert!(
        stderr.contains("10 tokens in, 0 from the cache, 5 out, cost unknown"),
        "{stderr}"
    );
    let (mut child, session) = world.acp(json!({}));
    let prompt = json!({ "sessionId": session, "prompt": [{ "type": "text", "text": "hi" }] });
    let lines = child.ask_acp(3, "session/prompt", prompt);
    assert!(
        lines.last().unwrap().contains("\"costUsd\":null"),
        "{lines:?}"
    );
    child.end();
}
