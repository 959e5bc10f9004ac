//! Asking whether a folder is trusted: only of who can answer, and only a clear yes is one.

use serde_json::{Value, json};

use super::world;
use crate::dialects;
use crate::world::{Child, World};

fn bringing() -> World {
    let world = world(&"[[turn]]\ntext = \"Hello.\"\n".repeat(3), "");
    world.file("work/.stentor/config.toml", "auto_compaction = false\n");
    world
}

fn is_trusted(world: &World) -> bool {
    let listed: Value = serde_json::from_str(&world.asked(&["trust", "--list", "--json"])).unwrap();
    !listed["folders"].as_array().unwrap().is_empty()
}

/// Sends a prompt, and answers the question that comes with it when the turn is over: it does not
/// wait. Returns the question.
fn asked_in_acp(world: &World, outcome: &Value) -> Value {
    let (mut child, session) = world.acp(json!({ "session": { "notices": {} } }));
    let text = json!([{ "type": "text", "text": "go" }]);
    let params = json!({ "sessionId": session, "prompt": text });
    let turn = child.ask_acp(3, "session/prompt", params.clone());
    let place = |text: &str| turn.iter().position(|line| line.contains(text));
    let question = place("session/request_permission").unwrap();
    assert!(question < place("Hello.").unwrap(), "{turn:#?}");
    assert!(!is_trusted(world));
    let asked: Value = serde_json::from_str(&turn[question]).unwrap();
    let result = json!({ "outcome": outcome });
    child.send(&json!({ "jsonrpc": "2.0", "id": asked["id"], "result": result }).to_string());
    if *outcome == yes() {
        child.until(|line| line.contains("takes effect with the next session"));
    }
    // Once is enough.
    let again = child.ask_acp(4, "session/prompt", params);
    assert!(!again.iter().any(|line| line.contains("request_permission")));
    child.end();
    asked
}

fn yes() -> Value {
    json!({ "outcome": "selected", "optionId": "option-2" })
}

#[test]
fn acp_asks_inside_the_first_turn_which_does_not_wait_and_a_late_yes_counts() {
    let world = bringing();
    let asked = asked_in_acp(&world, &yes());
    // Who allows single calls without asking anybody finds none to allow.
    assert_eq!(
        asked["params"]["options"],
        json!([
            { "optionId": "option-1", "name": "Not now", "kind": "reject_once" },
            { "optionId": "option-2", "name": "Trust this folder", "kind": "allow_always" },
        ])
    );
    let call = &asked["params"]["toolCall"];
    let root = world.path("work").display().to_string();
    assert_eq!(call["title"], format!("Trust {root}?"));
    let text = call["content"][0]["content"]["text"].as_str().unwrap();
    assert_eq!(
        text,
        "This is not used until you trust the folder:\n- `auto_compaction` \
         (.stentor/config.toml:1): only a trusted folder may set it\n\
         To take trust back later, run `stentor trust --revoke`."
    );
    assert!(is_trusted(&world), "{asked}");
}

#[test]
fn acp_takes_everything_else_as_a_no() {
    for outcome in [
        json!({ "outcome": "cancelled" }),
        json!({ "outcome": "selected", "optionId": "option-1" }),
        json!({ "outcome": "selected", "optionId": "allow_once" }),
    ] {
        let world = bringing();
        asked_in_acp(&world, &outcome);
        assert!(!is_trusted(&world), "{outcome}");
    }
}

/// A prompt to omp, until it is answered.
fn prompted_in_omp(child: &mut Child) -> Vec<Value> {
    child.send(r#"{"id":"p","type":"prompt","message":"go"}"#);
    child.until_type("agent_settled")
}

fn is_question(frame: &Value) -> bool {
    frame["method"] == "confirm"
}

/// A prompt to omp, with the question that stands beside it.
fn asked_in_omp(child: &mut Child) -> Value {
    let frames = prompted_in_omp(child);
    match frames.into_iter().find(is_question) {
        Some(asked) => asked,
        None => {
            let asked = child.until(|line| line.contains(r#""method":"confirm""#));
            serde_json::from_str(asked.last().unwrap()).unwrap()
        }
    }
}

#[test]
fn omp_asks_a_client_started_for_dialogs_and_nobody_has_to_answer() {
    for (answer, trusted) in [
        (Some(json!({ "confirmed": true })), true),
        (Some(json!({ "confirmed": false })), false),
        (Some(json!({ "cancelled": true })), false),
        (None, false),
    ] {
        let world = bringing();
        let mut child = world.omp_with_dialogs();
        let asked = asked_in_omp(&mut child);
        if let Some(mut answer) = answer {
            answer["type"] = "extension_ui_response".into();
            answer["id"] = asked["id"].clone();
            child.send(&answer.to_string());
        }
        if trusted {
            child.until(|line| line.contains("takes effect with the next session"));
        }
        child.end();
        assert_eq!(is_trusted(&world), trusted);
    }
}

/// The notices about the folder among frames.
fn notices(frames: &[Value]) -> usize {
    let is_notice = |frame: &&Value| {
        let message = frame["message"].as_str().unwrap_or_default();
        frame["method"] == "notify" && message.contains("run `stentor trust ")
    };
    frames.iter().filter(is_notice).count()
}

#[test]
fn omp_only_notifies_a_client_that_is_not_known_to_answer() {
    for flags in [&["--mode", "rpc"][..], &["--mode", "rpc-ui", "--no-ui"]] {
        let world = bringing();
        let mut child = world.child(flags);
        let mut frames = prompted_in_omp(&mut child);
        frames.extend(prompted_in_omp(&mut child));
        assert_eq!(notices(&frames), 1, "{frames:#?}");
        assert!(!frames.iter().any(is_question), "{frames:#?}");
        child.end();
    }
}

/// An omp client that has sent `answer` when its first run asked for a permission.
fn omp_after(world: &World, mut answer: Value) -> Child {
    let mut child = world.omp();
    child.send(r#"{"id":"p","type":"prompt","message":"go"}"#);
    let frames = child.until(|line| line.contains(r#""method":"select""#));
    assert!(
        !frames
            .iter()
            .any(|line| line.contains(r#""method":"confirm""#))
    );
    let asked: Value = serde_json::from_str(frames.last().unwrap()).unwrap();
    answer["type"] = "extension_ui_response".into();
    answer["id"] = asked["id"].clone();
    child.send(&answer.to_string());
    let frames = child.until_type("agent_settled");
    assert!(!frames.iter().any(is_question), "{frames:#?}");
    child
}

fn asking_for_a_permission() -> World {
    let call = "[[turn]]\ntool = \"bash\"\narguments = { command = \"touch x\" }\n";
    let plan = format!("{call}{}", "[[turn]]\ntext = \"Hello.\"\n".repeat(2));
    let world = world(&plan, "permission_mode = \"ask\"\n");
    world.file("work/.stentor/config.toml", "auto_compaction = false\n");
    world
}

#[test]
fn omp_asks_a_client_that_has_answered_a_dialog_with_its_next_prompt() {
    let world = asking_for_a_permission();
    let mut child = omp_after(&world, json!({ "value": "Deny" }));
    let asked = asked_in_omp(&mut child);
    let answer = json!({ "type": "extension_ui_response", "id": asked["id"], "confirmed": true });
    child.send(&answer.to_string());
    child.until(|line| line.contains("takes effect with the next session"));
    child.end();
    assert!(is_trusted(&world));
}

#[test]
fn a_client_that_declines_dialogs_is_not_known_to_answer() {
    let world = asking_for_a_permission();
    let mut child = omp_after(&world, json!({ "cancelled": true }));
    let frames = prompted_in_omp(&mut child);
    assert!(!frames.iter().any(is_question), "{frames:#?}");
    child.close_stdin();
    let rest = child.ended();
    assert!(
        !rest
            .iter()
            .any(|line| line.contains(r#""method":"confirm""#))
    );
}

#[test]
fn psi_asks_a_client_that_takes_dialogs() {
    let world = bringing();
    let mut child = world.psi();
    child.ask_psi("n", "subscribe", r#"{:topics ["ui/notification"]}"#);
    child.send(r#"{:id "p" :kind :request :op "prompt" :params {:message "go"}}"#);
    let asked = child.until(|line| line.contains(":event \"ui/dialog-requested\""));
    let asked = asked.last().unwrap();
    assert!(
        asked.contains(":kind \"confirm\"") && asked.contains("Trust "),
        "{asked}"
    );
    let id = asked.split(":dialog-id \"").nth(1).unwrap();
    let id = id.split('"').next().unwrap();
    let params = format!("{{:dialog-id {id:?} :result true}}");
    child.send(&format!(
        "{{:id \"d\" :kind :request :op \"resolve_dialog\" :params {params}}}"
    ));
    child.until(|line| line.contains("takes effect with the next session"));
    child.end();
    assert!(is_trusted(&world));
}

/// How often the folder is brought up: by a notice, which omp has two frames for, or a question.
fn mentions(said: &str) -> usize {
    let is_mention = |line: &&str| {
        let is_notice =
            line.contains("run `stentor trust ") && !line.contains(r#""method":"notify""#);
        is_notice || line.contains("This is not used until you trust the folder")
    };
    said.lines().filter(is_mention).count()
}

#[test]
fn what_waits_is_mentioned_exactly_once_in_every_dialect() {
    for dialect in dialects::ALL {
        let world = bringing();
        let said = dialects::prompt(&world, dialect);
        assert_eq!(mentions(&said), 1, "{dialect}: {said}");
    }
    let world = bringing();
    let out = world.command(&["-p", "go", "--json"]).output().unwrap();
    let said = String::from_utf8([out.stdout, out.stderr].concat()).unwrap();
    assert_eq!(mentions(&said), 1, "{said}");
}

#[test]
fn psi_logs_the_notice_for_a_client_that_takes_neither_dialogs_nor_notifications() {
    for topics in [
        None,
        Some(r#"{:topics ["assistant/message" "session/updated"]}"#),
    ] {
        let world = bringing();
        let mut child = world.child(&["--rpc-edn", "--no-session"]);
        let client =
            r#"{:client-info {:name "x" :version "1" :protocol-version "1.0" :features []}}"#;
        child.ask_psi("h", "handshake", client);
        if let Some(topics) = topics {
            child.ask_psi("s", "subscribe", topics);
        }
        for id in ["p", "q"] {
            child.ask_psi(id, "prompt", r#"{:message "go"}"#);
            child.until(|line| line.contains(r#":phase "idle""#));
        }
        let err = child.end_and_stderr();
        assert_eq!(mentions(&err), 1, "{topics:?}: {err}");
    }
}

#[test]
fn a_folder_that_brings_nothing_is_asked_about_nowhere() {
    let world = world("[[turn]]\ntext = \"Hello.\"\n", "");
    world.file("work/AGENTS.md", "Use tabs.\n");
    world.file("work/.stentor/config.toml", "steering_mode = \"all\"\n");
    let mut child = world.omp();
    child.send(r#"{"id":"p","type":"prompt","message":"go"}"#);
    let frames = child.until_type("agent_settled");
    assert!(
        !frames
            .iter()
            .any(|frame| frame["type"] == "extension_ui_request")
    );
    let err = child.end_and_stderr();
    assert_eq!(err, "");
}

#[test]
fn a_program_cannot_hide_among_much_else_and_the_question_has_an_end() {
    let world = bringing();
    for n in 0..300 {
        let name = format!("work/.stentor/agents/helper{n}.md");
        world.file(&name, "---\nname: h\n---\nHelp.\n");
    }
    let servers = json!({ "mcpServers": { "evil": { "command": "touch", "args": ["PWNED"] } } });
    world.file("work/.mcp.json", &servers.to_string());
    let asked = asked_in_acp(&world, &json!({ "outcome": "cancelled" }));
    let text = &asked["params"]["toolCall"]["content"][0]["content"]["text"];
    let lines: Vec<&str> = text.as_str().unwrap().lines().collect();
    assert_eq!(
        lines[1],
        "- the MCP server evil (.mcp.json): it would run a program or call a server"
    );
    assert_eq!(lines[101], "- and 202 more");
    assert_eq!(lines.len(), 103);
    super::assert_untouched(&world, "acp");
}
