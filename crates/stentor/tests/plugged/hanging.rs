//! Extensions that never register hold up nothing but the first answer of a model.
//!
//! They may take ten minutes, so whatever waited for one of them would not be done before the
//! test has given up.

use serde_json::{Value, json};

use crate::world::World;

fn world() -> World {
    let mut config = String::new();
    for n in 1..=10 {
        config.push_str(&format!(
            "[extensions.hangs{n}]\ncommand = [\"sleep\", \"1000\"]\nstart_timeout_ms = 600000\n"
        ));
    }
    World::new("[[turn]]\ntext = \"Hello.\"\n", &config)
}

#[test]
fn omp_is_ready_and_answers() {
    let world = world();
    let mut child = world.omp();
    child.send(r#"{"id":"1","type":"get_state"}"#);
    let state = child.until_type("response").pop().unwrap();
    assert_eq!(
        (&state["id"], &state["success"]),
        (&json!("1"), &json!(true))
    );
    // Also the acknowledgement of a prompt, and what stops it.
    child.send(r#"{"id":"2","type":"prompt","message":"hi"}"#);
    let answer = child.until_type("response").pop().unwrap();
    assert_eq!(answer["data"], json!({ "disposition": "started" }));
    child.send(r#"{"id":"3","type":"abort"}"#);
    let answer = child.until_type("response").pop().unwrap();
    assert_eq!(
        (&answer["id"], &answer["success"]),
        (&json!("3"), &json!(true))
    );
    child.end();
}

#[test]
fn psi_shakes_hands_and_answers() {
    let world = world();
    let mut child = world.psi();
    let answer = child.ask_psi("q", "query_eql", r#"{:query "[:psi.agent-session/phase]"}"#);
    assert_eq!(
        answer.last().unwrap(),
        r#"{:id "q" :kind :response :op "query_eql" :ok true :data {:result {:psi.agent-session/phase :idle}}}"#
    );
    child.end();
}

#[test]
fn acp_opens_a_session() {
    let world = world();
    let (mut child, session) = world.acp(json!({}));
    let mode = json!({ "sessionId": session, "modeId": "plan" });
    let answer = child.ask_acp(3, "session/set_mode", mode);
    let answer: Value = serde_json::from_str(answer.last().unwrap()).unwrap();
    assert_eq!(answer["id"], 3);
    assert_eq!(answer.get("error"), None);
    child.end();
}

#[test]
fn synaps_is_ready_and_answers() {
    let world = world();
    let mut child = world.synaps();
    child.send(r#"{"type":"get_state","id":"s"}"#);
    let state = child.until_type("response").pop().unwrap();
    assert_eq!(
        (&state["id"], &state["streaming"]),
        (&json!("s"), &json!(false))
    );
    child.end();
}
