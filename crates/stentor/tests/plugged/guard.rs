//! The same extension asks for a confirmation, and is answered in the way of each dialect.

use std::path::{Path, PathBuf};

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use crate::world::{Child, World};

/// A model that wants to remove something, and says what came of it.
const PLAN: &str = r#"
[[turn]]
steps = [{ tool = "bash", id = "c1", arguments = { command = "rm -rf precious" } }]
[[turn]]
text = "It said: {{last_tool_result}}"
"#;

/// What a person may do with the question.
#[derive(Clone, Copy, PartialEq)]
enum Person {
    SaysYes,
    SaysNo,
    GoesAway,
}

const PEOPLE: [Person; 3] = [Person::SaysYes, Person::SaysNo, Person::GoesAway];

impl Person {
    /// What the model says in the end.
    fn ending(self) -> &'static str {
        match self {
            Self::SaysYes => "It said: (no output)",
            Self::SaysNo => {
                "It said: The user did not allow this command: it removes files for good."
            }
            Self::GoesAway => {
                "It said: Nobody could be asked about this command: it removes files for good."
            }
        }
    }
}

/// The file of an example.
fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../examples/extensions")
        .join(name)
        .canonicalize()
        .unwrap()
}

fn guarded(more: &str) -> World {
    let guard = example("guard.py");
    let config = format!(
        "permission_mode = \"all\"\n[extensions.guard]\nfile = {guard:?}\nstart_timeout_ms = 60000\ntimeout_ms = 60000\n{more}"
    );
    let world = World::new(PLAN, &config);
    world.file("work/precious/file", "data");
    world
}

fn check(world: &World, person: Person) {
    let is_there = world.path("work/precious/file").exists();
    assert_eq!(is_there, person != Person::SaysYes);
}

#[test]
fn omp_asks_with_a_ui_request() {
    for person in PEOPLE {
        let world = guarded("");
        let mut child = world.omp();
        child.send(r#"{"id":"p","type":"prompt","message":"clean up"}"#);
        let question = child.until_type("extension_ui_request").pop().unwrap();
        expect![[r#"
            {"type":"extension_ui_request","id":"1000000100000001","method":"confirm","title":"Dangerous command","message":"This command removes files for good:\n\nrm -rf precious\n\nRun it?"}"#]]
        .assert_eq(&question.to_string());
        let mut answer = json!({ "type": "extension_ui_response", "id": question["id"] });
        let (key, value) = match person {
            Person::SaysYes => ("confirmed", true),
            Person::SaysNo => ("confirmed", false),
            Person::GoesAway => ("cancelled", true),
        };
        answer[key] = json!(value);
        child.send(&answer.to_string());
        let ended = child.until_type("tool_execution_end").pop().unwrap();
        let expected = json!({
            "type": "tool_execution_end",
            "toolCallId": "c1",
            "toolName": "bash",
            "result": ended["result"],
            "isError": person != Person::SaysYes,
            "durationMs": ended["durationMs"],
        });
        assert_eq!(ended, expected);
        let said = child.until_type("turn_end");
        let frames = child.until_type("agent_end");
        let last = said
            .iter()
            .chain(&frames)
            .rfind(|one| one["type"] == "message_end");
        let text = &last.unwrap()["message"]["content"][0]["text"];
        assert_eq!(text, person.ending());
        check(&world, person);
        child.end();
    }
}

#[test]
fn psi_asks_with_a_dialog() {
    for person in PEOPLE {
        let world = guarded("");
        let mut child = world.psi();
        child.ask_psi("p", "prompt", r#"{:message "clean up"}"#);
        let question = child.until(|line| line.contains(":event \"ui/dialog-requested\""));
        let question = child.shown(question.last().unwrap());
        expect![[r#"
            {:kind :event :event "ui/dialog-requested" :data {:dialog-id "DIALOG" :kind "confirm" :title "Dangerous command" :message "This command removes files for good:\n\nrm -rf precious\n\nRun it?"} :seq N :ts "TIME"}"#]]
        .assert_eq(&hidden_dialog(&question).1);
        let id = hidden_dialog(&question).0;
        let (op, params) = match person {
            Person::SaysYes => (
                "resolve_dialog",
                format!("{{:dialog-id {id:?} :result true}}"),
            ),
            Person::SaysNo => (
                "resolve_dialog",
                format!("{{:dialog-id {id:?} :result nil}}"),
            ),
            Person::GoesAway => ("cancel_dialog", format!("{{:dialog-id {id:?}}}")),
        };
        let mut lines = child.ask_psi("d", op, &params);
        assert_eq!(
            child.shown(lines.last().unwrap()),
            format!("{{:id \"d\" :kind :response :op {op:?} :ok true :data {{:accepted true}}}}")
        );
        // The run may go on before the answer is there.
        let is_said = |line: &str| line.contains(":event \"assistant/message\"");
        if !lines.iter().any(|line| is_said(line)) {
            lines.extend(child.until(is_said));
        }
        let said = lines.iter().find(|line| is_said(line)).unwrap();
        assert!(
            said.contains(&format!(":text {:?}", person.ending())),
            "{said}"
        );
        check(&world, person);
        child.end();
    }
}

/// The id of the dialog in a frame, and the frame without it.
fn hidden_dialog(frame: &str) -> (String, String) {
    let (before, rest) = frame.split_once(":dialog-id \"").unwrap();
    let (id, after) = rest.split_once('"').unwrap();
    (
        id.to_owned(),
        format!("{before}:dialog-id \"DIALOG\"{after}"),
    )
}

#[test]
fn acp_asks_with_a_form_where_the_client_has_forms() {
    let forms = json!({ "elicitation": { "form": {} } });
    for person in PEOPLE {
        let answer = match person {
            Person::SaysYes => json!({ "action": "accept", "content": { "answer": true } }),
            Person::SaysNo => json!({ "action": "accept", "content": { "answer": false } }),
            Person::GoesAway => json!({ "action": "cancel" }),
        };
        acp(
            forms.clone(),
            "elicitation/create",
            person,
            &answer,
            &expect![[r#"
            {"jsonrpc":"2.0","id":-1,"method":"elicitation/create","params":{"sessionId":"SESSION","mode":"form","message":"This command removes files for good:\n\nrm -rf precious\n\nRun it?","requestedSchema":{"type":"object","properties":{"answer":{"type":"boolean","title":"Dangerous command"}},"required":["answer"]}}}"#]],
        );
    }
}

#[test]
fn acp_asks_for_permission_where_the_client_has_no_forms() {
    for person in PEOPLE {
        let outcome = match person {
            Person::SaysYes => json!({ "outcome": "selected", "optionId": "option-1" }),
            Person::SaysNo => json!({ "outcome": "selected", "optionId": "option-2" }),
            Person::GoesAway => json!({ "outcome": "cancelled" }),
        };
        let answer = json!({ "outcome": outcome });
        let frames = acp(
            json!({}),
            "session/request_permission",
            person,
            &answer,
            &expect![[r#"
            {"jsonrpc":"2.0","id":-1,"method":"session/request_permission","params":{"sessionId":"SESSION","toolCall":{"toolCallId":"question-1","kind":"other","status":"pending","title":"Dangerous command","content":[{"type":"content","content":{"type":"text","text":"This command removes files for good:\n\nrm -rf precious\n\nRun it?"}}]},"options":[{"optionId":"option-1","name":"Yes","kind":"allow_once"},{"optionId":"option-2","name":"No","kind":"reject_once"}]}}"#]],
        );
        // The client shows the question as a call, which must not stay open.
        let status = if person == Person::SaysYes {
            "completed"
        } else {
            "failed"
        };
        let closed = json!({ "sessionUpdate": "tool_call_update", "toolCallId": "question-1", "status": status });
        let is_closed = |frame: &Value| frame["params"]["update"] == closed;
        assert_eq!(frames.iter().filter(|frame| is_closed(frame)).count(), 1);
    }
}

/// Has the question asked and answered, and returns what followed.
fn acp(
    capabilities: Value,
    method: &str,
    person: Person,
    answer: &Value,
    expected: &Expect,
) -> Vec<Value> {
    let world = guarded("");
    let (mut child, session) = world.acp(capabilities);
    let text = json!([{ "type": "text", "text": "clean up" }]);
    child.request_acp(
        3,
        "session/prompt",
        json!({ "sessionId": session, "prompt": text }),
    );
    let mark = format!("\"method\":{method:?}");
    let question = child.until(|line| line.contains(&mark)).pop().unwrap();
    expected.assert_eq(&child.shown_in(&session, &question));
    let question: Value = serde_json::from_str(&question).unwrap();
    let reply = json!({ "jsonrpc": "2.0", "id": question["id"], "result": answer });
    child.send(&reply.to_string());
    let lines = child.until_answer(3);
    let frames: Vec<Value> = lines
        .iter()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(frames.last().unwrap()["result"]["stopReason"], "end_turn");
    let chunks = frames.iter().filter_map(|frame| {
        let update = &frame["params"]["update"];
        (update["sessionUpdate"] == "agent_message_chunk")
            .then(|| update["content"]["text"].as_str())?
    });
    assert_eq!(chunks.collect::<String>(), person.ending());
    check(&world, person);
    child.end();
    frames
}

#[test]
fn with_synaps_nobody_can_be_asked_and_the_policy_answers() {
    for (policy, person) in [
        ("", Person::GoesAway),
        ("unasked = \"no\"", Person::SaysNo),
        ("unasked = \"yes\"", Person::SaysYes),
    ] {
        let world = guarded(policy);
        let mut child = world.synaps();
        child.send(r#"{"type":"prompt","id":"p","message":"clean up"}"#);
        let frames = child.until_type("response");
        assert_eq!(said(&frames), person.ending());
        assert_eq!(
            frames.last().unwrap(),
            &json!({ "type": "response", "id": "p", "command": "prompt", "ok": true })
        );
        check(&world, person);
        child.end();
        // The same for a prompt on the command line.
        let world = guarded(policy);
        let answer = world.asked(&["-p", "clean up", "--no-session"]);
        assert_eq!(answer.trim_end(), person.ending());
        check(&world, person);
    }
}

fn said(frames: &[Value]) -> String {
    let deltas = frames
        .iter()
        .filter(|frame| frame["event"]["type"] == "text_delta");
    deltas
        .filter_map(|frame| frame["event"]["delta"].as_str())
        .collect()
}

#[test]
fn an_abort_withdraws_the_question() {
    let world = guarded("");
    let mut child: Child = world.omp();
    child.send(r#"{"id":"p","type":"prompt","message":"clean up"}"#);
    let question = child.until_type("extension_ui_request").pop().unwrap();
    child.send(r#"{"id":"a","type":"abort"}"#);
    // The extension hears of the abort beside it: either may be told first.
    let is_answer = |line: &str| line.contains("\"id\":\"a\"");
    let withdraws = |line: &str| {
        let frame: Value = serde_json::from_str(line).unwrap();
        frame["method"] == "cancel" && frame["targetId"] == question["id"]
    };
    let mut frames = child.until(|line| is_answer(line) || withdraws(line));
    let answered_first = is_answer(frames.last().unwrap());
    frames.extend(child.until(|line| match answered_first {
        true => withdraws(line),
        false => is_answer(line),
    }));
    assert_eq!(frames.iter().filter(|line| withdraws(line)).count(), 1);
    check(&world, Person::GoesAway);
    child.end();
}
