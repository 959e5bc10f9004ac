//! One prompt in every dialect, for attacks that every way in can reach.

use std::io::Write;
use std::process::Command;

use serde_json::{Value, json};

use crate::world::{Child, World};

/// The ways in. The conversation at a terminal asks as `-p` does; what differs there is tested with
/// a terminal.
pub const ALL: [&str; 6] = ["-p", "--mode json", "omp", "synaps", "psi", "acp"];

/// Those of them where nobody is asked whether a call may run.
pub const UNASKED: [&str; 3] = ["-p", "--mode json", "synaps"];

/// What is asked, and how.
#[derive(Clone, Copy)]
pub struct Asked<'a> {
    pub text: &'a str,
    /// Whether the session is stored where the way in stores its own.
    pub is_stored: bool,
    /// The stored session that goes on: its id or, where the way in takes one, its file.
    pub session: Option<&'a str>,
    /// The folder it is asked in.
    pub folder: &'a str,
    /// Variables of the program's environment.
    pub env: &'a [(&'a str, &'a str)],
}

impl Default for Asked<'_> {
    fn default() -> Self {
        Self {
            text: "go",
            is_stored: false,
            session: None,
            folder: "work",
            env: &[],
        }
    }
}

/// What came of a prompt.
pub struct Said {
    /// The text of the answer, without line breaks at its end.
    pub answer: String,
    /// Everything on stdout and stderr.
    pub all: String,
}

/// Has the model of `world` answer one prompt. Returns everything that was said.
pub fn prompt(world: &World, dialect: &str) -> String {
    ask(world, dialect, Asked::default()).all
}

/// The same for a prompt of one's own.
pub fn prompt_with(world: &World, dialect: &str, text: &str) -> Said {
    ask(
        world,
        dialect,
        Asked {
            text,
            ..Asked::default()
        },
    )
}

/// The answer of the model of `world`.
pub fn answer(world: &World, dialect: &str) -> String {
    ask(world, dialect, Asked::default()).answer
}

/// Asks in one of the ways.
pub fn ask(world: &World, dialect: &str, asked: Asked<'_>) -> Said {
    let said = match dialect {
        "-p" => print(world, asked),
        "--mode json" => json_mode(world, asked),
        "omp" => omp(world, asked),
        "synaps" => synaps(world, asked),
        "psi" => psi(world, asked),
        "acp" => acp(world, asked),
        other => panic!("{other}"),
    };
    let answer = said.answer.trim_end_matches('\n').to_owned();
    Said { answer, ..said }
}

/// Sends a prompt to a program that may refuse to start, and returns everything it says.
pub fn attempt(world: &World, dialect: &str) -> String {
    let hello = r#"{:id "h" :kind :request :op "handshake" :params {:client-info {:name "x" :version "1" :protocol-version "1.0" :features []}}}"#;
    let prompt = r#"{:id "p" :kind :request :op "prompt" :params {:message "go"}}"#;
    let initialize = json!({ "protocolVersion": 1, "clientCapabilities": {} });
    let new = json!({ "cwd": world.path("work"), "mcpServers": [] });
    let request = |id: u64, method: &str, params: &Value| {
        json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
    };
    let (words, lines) = match dialect {
        "-p" => (&["-p", "go"][..], vec![]),
        "--mode json" => (&["--mode", "json", "go"][..], vec![]),
        "omp" => (
            &["--mode", "rpc"][..],
            vec![json!({ "id": "p", "type": "prompt", "message": "go" }).to_string()],
        ),
        "synaps" => (
            &["rpc"][..],
            vec![json!({ "type": "prompt", "id": "p", "message": "go" }).to_string()],
        ),
        "psi" => (
            &["--rpc-edn"][..],
            vec![hello.to_owned(), prompt.to_owned()],
        ),
        _ => (
            &["acp"][..],
            vec![
                request(1, "initialize", &initialize),
                request(2, "session/new", &new),
            ],
        ),
    };
    let mut process = world.command(words).spawn().unwrap();
    let mut stdin = process.stdin.take().unwrap();
    for line in lines {
        // One that has ended reads nothing.
        let _ = writeln!(stdin, "{line}");
    }
    drop(stdin);
    let out = process.wait_with_output().unwrap();
    String::from_utf8_lossy(&[out.stdout, out.stderr].concat()).into_owned()
}

fn command(world: &World, asked: Asked<'_>, words: &[&str], resume: &str) -> Command {
    let session = asked.session.map(|session| [resume, session]);
    let can_do_without = ["--mode", "--rpc-edn"].contains(&words[0]);
    let without = can_do_without && asked.session.is_none() && !asked.is_stored;
    let mut words = words.to_vec();
    words.extend(without.then_some("--no-session"));
    words.extend(session.iter().flatten());
    let mut command = world.command(&words);
    command
        .envs(asked.env.iter().copied())
        .current_dir(world.path(asked.folder));
    command
}

fn child(world: &World, asked: Asked<'_>, words: &[&str], resume: &str) -> Child {
    let mut command = command(world, asked, words, resume);
    Child::of(command.spawn().unwrap(), world.path(""))
}

fn print(world: &World, asked: Asked<'_>) -> Said {
    let out = command(world, asked, &["-p", asked.text], "--resume").output();
    let out = out.unwrap();
    let answer = String::from_utf8_lossy(&out.stdout).into_owned();
    let all = format!("{answer}{}", String::from_utf8_lossy(&out.stderr));
    Said { answer, all }
}

fn json_mode(world: &World, asked: Asked<'_>) -> Said {
    let words = ["--mode", "json"];
    let mut command = command(world, asked, &words, "--session");
    let out = command.arg(asked.text).output().unwrap();
    let lines = String::from_utf8_lossy(&out.stdout).into_owned();
    let frames: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    Said {
        answer: answer_in_frames(&frames),
        all: lines + &String::from_utf8_lossy(&out.stderr),
    }
}

fn omp(world: &World, asked: Asked<'_>) -> Said {
    let mut child = child(world, asked, &["--mode", "rpc"], "--session");
    child.send(&json!({ "id": "p", "type": "prompt", "message": asked.text }).to_string());
    let frames = child.until_type("agent_settled");
    let lines: Vec<String> = frames.iter().map(ToString::to_string).collect();
    Said {
        answer: answer_in_frames(&frames),
        all: lines.join("\n") + &child.end_and_stderr(),
    }
}

/// The text of the last answer among the frames of omp and pi.
fn answer_in_frames(frames: &[Value]) -> String {
    let is_answer =
        |frame: &&Value| frame["type"] == "message_end" && frame["message"]["role"] == "assistant";
    let blocks = frames.iter().rfind(is_answer);
    let blocks = blocks.and_then(|frame| frame["message"]["content"].as_array());
    let texts = blocks.into_iter().flatten();
    texts.filter_map(|block| block["text"].as_str()).collect()
}

fn synaps(world: &World, asked: Asked<'_>) -> Said {
    let mut child = child(world, asked, &["rpc"], "--continue");
    child.until_type("ready");
    child.send(&json!({ "type": "prompt", "id": "p", "message": asked.text }).to_string());
    let frames = child.until_type("response");
    let texts = frames.iter().map(|frame| &frame["event"]);
    let texts = texts.filter(|event| event["type"] == "text_delta");
    let lines: Vec<String> = frames.iter().map(ToString::to_string).collect();
    Said {
        answer: texts.filter_map(|event| event["delta"].as_str()).collect(),
        all: lines.join("\n") + &child.end_and_stderr(),
    }
}

fn psi(world: &World, asked: Asked<'_>) -> Said {
    let mut child = child(world, asked, &["--rpc-edn"], "--resume");
    child.shake_hands_psi();
    let text = json!(asked.text);
    let mut lines = child.ask_psi("p", "prompt", &format!("{{:message {text}}}"));
    lines.extend(
        child.until(|line| line.contains(r#":phase "idle""#) || line.contains(r#":event "error""#)),
    );
    let is_answer = |line: &&String| line.contains(r#":event "assistant/message""#);
    let answer = lines.iter().rfind(is_answer).and_then(|line| {
        // One that failed has none.
        let text = line.split("] :text ").nth(1)?;
        // A text in EDN is one in JSON, as far as these go.
        let mut texts = serde_json::Deserializer::from_str(text).into_iter::<String>();
        Some(texts.next().unwrap().unwrap())
    });
    Said {
        answer: answer.unwrap_or_default(),
        all: lines.join("\n") + &child.end_and_stderr(),
    }
}

fn acp(world: &World, asked: Asked<'_>) -> Said {
    let mut child = child(
        world,
        Asked {
            session: None,
            ..asked
        },
        &["acp"],
        "",
    );
    let cwd = world.path(asked.folder);
    let capabilities = json!({ "session": { "notices": {} } });
    let session = match asked.session {
        None => child.shake_hands_acp(capabilities, &cwd),
        Some(session) => {
            let hello = json!({ "protocolVersion": 1, "clientCapabilities": capabilities });
            child.ask_acp(1, "initialize", hello);
            let load = json!({ "sessionId": session, "cwd": cwd, "mcpServers": [] });
            child.ask_acp(2, "session/load", load);
            session.to_owned()
        }
    };
    let text = json!([{ "type": "text", "text": asked.text }]);
    let params = json!({ "sessionId": session, "prompt": text });
    child.request_acp(3, "session/prompt", params);
    let (mut lines, mut answer) = (Vec::new(), String::new());
    loop {
        let line = child.next();
        let frame: Value = serde_json::from_str(&line).unwrap();
        lines.push(line);
        let update = &frame["params"]["update"];
        if update["sessionUpdate"] == "agent_message_chunk" {
            answer.push_str(update["content"]["text"].as_str().unwrap());
        }
        if frame["method"] == "session/request_permission" {
            let outcome = json!({ "outcome": { "outcome": "cancelled" } });
            let no = json!({ "jsonrpc": "2.0", "id": frame["id"], "result": outcome });
            child.send(&no.to_string());
        }
        if frame["id"] == 3 && frame.get("method").is_none() {
            break;
        }
    }
    Said {
        answer,
        all: lines.join("\n") + &child.end_and_stderr(),
    }
}
