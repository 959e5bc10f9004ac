//! One prompt in every dialect, for attacks that every way in can reach.

use serde_json::json;

use crate::world::World;

/// The ways in.
pub const ALL: [&str; 5] = ["-p", "omp", "synaps", "psi", "acp"];

/// Has the model of `world` answer one prompt. Returns everything that was said, on stdout and
/// stderr.
pub fn prompt(world: &World, dialect: &str) -> String {
    match dialect {
        "-p" => {
            let out = world.command(&["-p", "go"]).output().unwrap();
            let out = [out.stdout, out.stderr].concat();
            String::from_utf8_lossy(&out).into_owned()
        }
        "omp" => {
            let mut child = world.omp();
            child.send(r#"{"id":"p","type":"prompt","message":"go"}"#);
            let frames = child.until_type("agent_settled");
            let said: Vec<String> = frames.iter().map(ToString::to_string).collect();
            said.join("\n") + &child.end_and_stderr()
        }
        "synaps" => {
            let mut child = world.synaps();
            child.send(r#"{"type":"prompt","id":"p","message":"go"}"#);
            let frames = child.until_type("response");
            let said: Vec<String> = frames.iter().map(ToString::to_string).collect();
            said.join("\n") + &child.end_and_stderr()
        }
        "psi" => {
            let mut child = world.psi();
            let mut said = child.ask_psi("p", "prompt", r#"{:message "go"}"#);
            said.extend(child.until(|line| {
                line.contains(":event \"assistant/message\"") || line.contains(":event \"error\"")
            }));
            said.join("\n") + &child.end_and_stderr()
        }
        _ => {
            let (mut child, session) = world.acp(json!({ "session": { "notices": {} } }));
            let text = json!([{ "type": "text", "text": "go" }]);
            let params = json!({ "sessionId": session, "prompt": text });
            child.request_acp(3, "session/prompt", params);
            let mut said = Vec::new();
            loop {
                let line = child.next();
                let frame: serde_json::Value = serde_json::from_str(&line).unwrap();
                let asks = frame["method"] == "session/request_permission";
                let is_end = frame["id"] == 3 && frame.get("method").is_none();
                said.push(line);
                if asks {
                    let outcome = json!({ "outcome": { "outcome": "cancelled" } });
                    let answer = json!({ "jsonrpc": "2.0", "id": frame["id"], "result": outcome });
                    child.send(&answer.to_string());
                }
                if is_end {
                    break;
                }
            }
            said.join("\n") + &child.end_and_stderr()
        }
    }
}
