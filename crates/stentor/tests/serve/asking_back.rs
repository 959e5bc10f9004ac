//! Questions of the model in a session that several clients share: the first answer counts.

use serde_json::Value;

use crate::clients::{acp, chunks, prompt, psi_too, server, server_with, synaps_too};

const ASKS: &str = r#"
[[turn]]
text = "Hello."
[[turn]]
tool = "ask"
arguments = { questions = [{ question = "Which?", options = [{ label = "Red" }, { label = "Blue" }] }] }
[[turn]]
text = "{{last_tool_result}}"
"#;

#[test]
fn the_first_answer_counts_and_the_question_is_withdrawn_from_the_others() {
    let server = server(ASKS);
    let (mut acp, session) = acp(&server);
    prompt(&mut acp, 3, &session, "hello");
    acp.until_answer(3);
    let mut psi = psi_too(&server, &session);
    prompt(&mut acp, 4, &session, "ask");
    let question = acp.until(|line| line.contains("session/request_permission"));
    let question: Value = serde_json::from_str(question.last().unwrap()).unwrap();
    let asked = psi.until(|line| line.contains("ui/dialog-requested")).pop();
    assert!(asked.unwrap().contains("The agent asks: Which?"));
    // What follows may come before the answer to this.
    psi.send(r#"{:id "d" :kind :request :op "resolve_dialog" :params {:dialog-id "dialog-1" :result "Blue"}}"#);
    let withdrawn = format!(
        "\"$/cancel_request\",\"params\":{{\"requestId\":{}}}",
        question["id"]
    );
    acp.until(|line| line.contains(&withdrawn));
    // An answer that comes too late changes nothing.
    let late = serde_json::json!({
        "jsonrpc": "2.0", "id": question["id"],
        "result": { "outcome": { "outcome": "selected", "optionId": "option-1" } },
    });
    acp.send(&late.to_string());
    let said = chunks(&mut acp, "agent_message_chunk", "Answer: Blue");
    assert_eq!(said.concat(), "Which?\nAnswer: Blue");
    psi.until(|line| line.contains("Answer: Blue"));
}

/// Questions about calls, too.
const CALLS: &str = r#"
[[turn]]
text = "Hello."
[[turn]]
tool = "bash"
arguments = { command = "make" }
[[turn]]
text = "{{last_tool_result}}"
"#;

#[test]
fn when_only_clients_are_left_that_answer_nothing_a_question_gets_its_default() {
    for (scenario, said) in [
        (ASKS, "The user did not answer"),
        (CALLS, "Nobody can be asked"),
    ] {
        let server = server_with(
            scenario,
            "permission_mode = \"ask\"\n",
            &["--resume-within", "0"],
        );
        let (mut acp, session) = acp(&server);
        prompt(&mut acp, 3, &session, "hello");
        acp.until_answer(3);
        let mut synaps = synaps_too(&server, &session);
        synaps.send(r#"{"type":"prompt","id":"p","message":"ask"}"#);
        acp.until(|line| line.contains("session/request_permission"));
        drop(acp);
        let lines = synaps.until(|line| line.contains("\"type\":\"response\""));
        assert!(lines.concat().contains(said), "{lines:?}");
        synaps.end();
    }
}
