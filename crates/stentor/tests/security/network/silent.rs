//! A server that says nothing that counts does not hold up a run.

use super::provider::{Answer, Provider};

#[test]
fn comments_do_not_keep_a_silent_answer_alive() {
    let provider = Provider::answering(Answer::Comments);
    let world = provider.world("auto_retry = false\n");
    // The one way in that lets its user shorten the five minutes for which a model may be silent.
    let words = ["--rpc-edn", "--no-session", "--llm-idle-timeout-ms", "2000"];
    let mut child = world.child(&words);
    child.shake_hands_psi();
    let mut lines = child.ask_psi("p", "prompt", r#"{:message "go"}"#);
    lines.extend(child.until(|line| line.contains(r#":phase "idle""#)));
    let said = lines.join("\n");
    assert!(said.contains("acme/m1: nothing came for 2 s"), "{said}");
    provider.wait_for_hang_up();
    child.end();
}
