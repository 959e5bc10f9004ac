//! Sessions whose model is another agent, shared by clients of several dialects.

use serde_json::{Value, json};

use crate::clients::{acp_too, asked, chunks, omp_too, prompt, psi_too, server_with};
use crate::server::Server;
use crate::world::{Child, World};

/// A call that needs a permission, then an answer that somebody must stop.
const CHILD: &str = r#"
[[turn]]
steps = [
  { thinking = "Hm." },
  { text = "Looking." },
  { tool = "write", arguments = { path = "new.txt", content = "hello\n" } },
]
[[turn]]
text = "Done."
[[turn]]
steps = [{ text = "On and on" }, { hang = true }]
"#;

/// The words with which the program is a child that asks, in each dialect that has questions.
const DIALECTS: [(&str, &[&str]); 3] = [
    ("acp", &["acp"]),
    ("omp", &["--mode", "rpc"]),
    ("psi", &["--rpc-edn"]),
];

/// A server that has the program in another world as `agent/inner`.
fn server_of(inner: &World, dialect: &str, words: &[&str]) -> Server {
    let home = format!("HOME={}", inner.path("home").display());
    let path = format!("PATH={}", std::env::var("PATH").unwrap_or_default());
    let program = env!("CARGO_BIN_EXE_stentor");
    let command = [&["env", "-i", &home, &path, program], words].concat();
    let command = [&command[..], &["--permission-mode", "ask"]].concat();
    let agent = format!("[agents.inner]\ncommand = {command:?}\ndialect = \"{dialect}\"\n");
    server_with("", &agent, &[])
}

/// The ids of the messages and calls in the frames of an ACP client, each once, without those of
/// warnings, which are not repeated.
fn ids(lines: &[String]) -> Vec<String> {
    let mut ids = Vec::new();
    for line in lines {
        let frame: Value = serde_json::from_str(line).unwrap();
        let update = &frame["params"]["update"];
        for name in ["messageId", "toolCallId"] {
            let id = update[name].as_str().unwrap_or_default().to_owned();
            if !id.is_empty() && !ids.contains(&id) {
                ids.push(id);
            }
        }
    }
    ids
}

/// Answers the question that an omp client is asked next.
fn allow_by_omp(omp: &mut Child) -> Vec<Value> {
    let frames = omp.until_type("extension_ui_request");
    let question = frames.last().unwrap();
    let options = question["options"].as_array().unwrap();
    let answer = json!({
        "type": "extension_ui_response", "id": question["id"], "value": options[0],
    });
    omp.send(&answer.to_string());
    frames
}

#[test]
fn clients_of_other_dialects_see_an_agents_turn_answer_its_question_and_stop_it() {
    for (dialect, words) in DIALECTS {
        let inner = World::new(CHILD, "");
        let server = server_of(&inner, dialect, words);
        let mut driver = server.relay(&["acp", "--model", "agent/inner"]);
        let session = driver.shake_hands_acp(json!({}), &server.world.path("work"));
        let mut omp = omp_too(&server, &session);
        let mut psi = psi_too(&server, &session);
        let topics = r#"{:topics ["assistant/delta" "tool/start" "tool/result"]}"#;
        psi.ask_psi("t", "subscribe", topics);

        prompt(&mut driver, 3, &session, "Write it.");
        let question = asked(&mut driver);
        psi.until(|line| line.contains(":event \"tool/start\""));
        psi.until(|line| line.contains("ui/dialog-requested"));
        let seen = allow_by_omp(&mut omp);
        let seen: Vec<String> = seen.iter().map(Value::to_string).collect();
        assert!(seen.concat().contains("Looking."), "{dialect}: {seen:#?}");
        let withdrawn = driver.until(|line| line.contains("$/cancel_request")).pop();
        let withdrawn: Value = serde_json::from_str(&withdrawn.unwrap()).unwrap();
        assert_eq!(withdrawn["params"]["requestId"], question, "{dialect}");
        driver.until_answer(3);
        let seen = omp.until_type("agent_settled");
        let seen: Vec<String> = seen.iter().map(Value::to_string).collect();
        let seen = seen.concat();
        assert!(seen.contains("tool_execution_end"), "{dialect}: {seen}");
        assert!(seen.contains("Done."), "{dialect}: {seen}");
        psi.until(|line| line.contains(":event \"tool/result\""));
        psi.until(|line| line.contains("Done."));
        let written = std::fs::read_to_string(server.world.path("work/new.txt")).unwrap();
        assert_eq!(written, "hello\n", "{dialect}");

        // By another client than the one that asked.
        prompt(&mut driver, 4, &session, "Go on.");
        chunks(&mut driver, "agent_message_chunk", "On and on");
        psi.until(|line| line.contains("On and on"));
        psi.ask_psi("a", "abort", "{}");
        let answer = driver.until_answer(4).pop().unwrap();
        assert!(
            answer.contains(r#""stopReason":"cancelled""#),
            "{dialect}: {answer}"
        );
        omp.until_type("agent_settled");
    }
}

#[test]
fn an_agents_turn_has_the_same_ids_live_and_replayed() {
    for (dialect, words) in DIALECTS {
        let inner = World::new(CHILD, "");
        let server = server_of(&inner, dialect, words);
        let mut driver =
            server.relay(&["acp", "--model", "agent/inner", "--permission-mode", "all"]);
        let session = driver.shake_hands_acp(json!({}), &server.world.path("work"));
        let (mut watching, _) = acp_too(&server, &session);
        prompt(&mut driver, 3, &session, "Write it.");
        let live = ids(&watching.until(|line| line.contains("Done.")));
        driver.until_answer(3);
        let (_joined, replayed) = acp_too(&server, &session);
        assert_eq!(ids(&replayed), live, "{dialect}: {replayed:#?}");
        // The prompt, the thought, the text, the call, the last text.
        assert_eq!(live.len(), 5, "{dialect}: {live:?}");
    }
}
