//! What a user of pi or omp has configured is known here (section 22).

use std::io::Write;
use std::sync::mpsc::{Receiver, channel};

use expect_test::expect;
use serde_json::{Value, json};
use stentor_test_support::http;

use crate::child::{Child, Folder};
use crate::transcript::told;

/// A provider that refuses everything. What it was asked is told: the first line, and the headers
/// that say who asks.
fn provider() -> (u16, Receiver<String>) {
    const REFUSAL: &str = r#"{"error":{"type":"invalid_request_error","message":"not today"}}"#;
    let (sender, asked) = channel();
    let address = http::listen(move |mut connection| {
        let request = http::Request::of(&connection).unwrap().unwrap();
        let mut said = String::new();
        for line in &request.head {
            let name = line.split(':').next().unwrap_or_default();
            match name.to_ascii_lowercase().as_str() {
                "authorization" | "x-api-key" | "x-team" => said.push_str(&format!("{line}\n")),
                _ if line.starts_with("POST") => said.push_str(&format!("{line}\n")),
                _ => {}
            }
        }
        if request.body.contains("above all the sea") {
            said.push_str("about the sea\n");
        }
        write!(connection, "{}", http::json("400 Bad Request", REFUSAL)).unwrap();
        sender.send(said).unwrap();
    });
    (address.port(), asked)
}

fn started(folder: &Folder, variables: &[(&str, &str)], words: &[&str]) -> Child {
    let mut command = folder.command(words);
    command.envs(variables.iter().copied());
    let mut child = Child::of(command.spawn().unwrap());
    child.until_type("ready");
    child
}

/// The end of a prompt that a provider refused.
fn refused(child: &mut Child) -> Value {
    let frames = child.prompt("hi");
    let is_result = |frame: &&Value| frame["type"] == "prompt_result";
    frames.iter().find(is_result).unwrap().clone()
}

#[test]
fn a_provider_of_pi_is_asked_at_its_address_with_its_key_and_headers() {
    let (port, asked) = provider();
    let folder = Folder::with("");
    folder.file(
        "../home/.pi/agent/models.json",
        &json!({"providers": {
            "acme": {
                "baseUrl": format!("http://127.0.0.1:{port}/v1"), "api": "openai-completions",
                "apiKey": "ACME_KEY", "headers": {"x-team": "blue"}, "models": [{"id": "m1"}],
            },
            "claudish": {
                "baseUrl": format!("http://127.0.0.1:{port}"), "api": "anthropic-messages",
                "apiKey": "a literal key", "models": [{"id": "m2"}],
            },
        }})
        .to_string(),
    );
    let words = ["--no-session", "--model", "acme/m1"];
    let mut child = started(&folder, &[("ACME_KEY", "from the variable")], &words);
    let mut results = vec![refused(&mut child)];
    let mut requests = asked.recv().unwrap();
    child.data(json!({"type": "set_model", "provider": "claudish", "modelId": "m2"}));
    results.push(refused(&mut child));
    requests.push_str(&asked.recv().unwrap());
    expect![[r#"
        POST /v1/chat/completions HTTP/1.1
        authorization: Bearer from the variable
        x-team: blue
        POST /v1/messages HTTP/1.1
        x-api-key: a literal key
    "#]]
    .assert_eq(&requests);
    expect![[r#"
        {"type":"prompt_result","id":"prompt","agentInvoked":true,"status":"error","error":{"message":"acme/m1: 400 Bad Request: invalid_request_error: not today","provider":"acme","model":"m1","httpStatus":400,"retryable":false},"sessionSettled":true}
        {"type":"prompt_result","id":"prompt","agentInvoked":true,"status":"error","error":{"message":"claudish/m2: 400 Bad Request: invalid_request_error: not today","provider":"claudish","model":"m2","httpStatus":400,"retryable":false},"sessionSettled":true}
    "#]].assert_eq(&told(&results, &folder));
}

#[test]
fn models_and_settings_of_omp_are_known_and_so_is_another_folder() {
    let folder = Folder::with("");
    folder
        .file(
            "../agent/models.yml",
            "providers:\n  acme:\n    baseUrl: http://127.0.0.1:9/v1\n    api: openai-completions\n    apiKey: k\n    models:\n      - id: first\n      - id: second\n        reasoning: true\n",
        )
        .file(
            "../agent/config.yml",
            "modelRoles:\n  default: acme/second\ndefaultThinkingLevel: low\nsteeringMode: all\nfollowUpMode: all\ninterruptMode: wait\ncompaction:\n  enabled: false\nretry:\n  enabled: false\n",
        );
    let agent = folder.work("../agent");
    let variables = [("PI_CODING_AGENT_DIR", agent.to_str().unwrap())];
    let mut child = started(&folder, &variables, &["--no-session"]);
    let frames = child.done(json!({"id": 1, "type": "get_state"}));
    expect![[r#"
        {"id":1,"type":"response","command":"get_state","success":true,"data":{"model":{"id":"second","name":"second","api":"openai-completions","provider":"acme","baseUrl":"http://127.0.0.1:9/v1","reasoning":true,"input":["text"],"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0},"contextWindow":16384,"maxTokens":8192,"thinking":{"mode":"effort","efforts":["minimal","low","medium","high","xhigh"],"minLevel":"minimal","maxLevel":"xhigh"}},"thinkingLevel":"low","isStreaming":false,"isCompacting":false,"steeringMode":"all","followUpMode":"all","interruptMode":"wait","sessionId":"ID1","autoCompactionEnabled":false,"autoRetryEnabled":false,"messageCount":0,"queuedMessageCount":0,"pendingMessageCount":0,"queuedMessages":{"steering":[],"followUp":[]},"hasPendingAsyncWork":false,"isSettled":true,"fastModeEnabled":false,"fastModeActive":false,"tokensPerSecond":null,"todoPhases":[],"systemPrompt":"…","dumpTools":["read","bash","edit","write","grep","find","ls","todo","job","fetch","subagent"]}}
    "#]].assert_eq(&told(&frames, &folder));
}

#[test]
fn settings_of_pi_count_where_nothing_else_is_said() {
    let folder = Folder::with("[model]\nid = \"mock\"\n[[turn]]\ntext = \"x\"");
    folder.config("follow_up_mode = \"one-at-a-time\"\nauto_retry = true\n").file(
        "../home/.pi/agent/settings.json",
        r#"{"defaultThinkingLevel":"high","steeringMode":"all","followUpMode":"all","compaction":{"enabled":false},"retry":{"enabled":false}}"#,
    );
    let mut child = folder.child(&["--no-session"]);
    let frames = child.done(json!({"id": 1, "type": "get_state"}));
    expect![[r#"
        {"id":1,"type":"response","command":"get_state","success":true,"data":{"model":{"id":"mock","name":"Scenario mock","api":"script","provider":"script","baseUrl":"","reasoning":true,"input":["text","image"],"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0},"contextWindow":200000,"maxTokens":32000,"thinking":{"mode":"effort","efforts":["minimal","low","medium","high","xhigh"],"minLevel":"minimal","maxLevel":"xhigh"}},"thinkingLevel":"high","isStreaming":false,"isCompacting":false,"steeringMode":"all","followUpMode":"one-at-a-time","interruptMode":"immediate","sessionId":"ID1","autoCompactionEnabled":false,"autoRetryEnabled":true,"messageCount":0,"queuedMessageCount":0,"pendingMessageCount":0,"queuedMessages":{"steering":[],"followUp":[]},"hasPendingAsyncWork":false,"isSettled":true,"fastModeEnabled":false,"fastModeActive":false,"tokensPerSecond":null,"todoPhases":[],"systemPrompt":"…","dumpTools":["read","bash","edit","write","grep","find","ls","todo","job","fetch","subagent"]}}
    "#]].assert_eq(&told(&frames, &folder));
}

#[test]
fn the_files_of_a_project_and_of_those_above_it_go_into_the_system_prompt() {
    let folder = Folder::with("[model]\nid = \"mock\"\n[[turn]]\ntext = \"x\"");
    folder
        .file("../.git/HEAD", "")
        .file("../AGENTS.md", "Above.\n")
        .file("CLAUDE.md", "Here.\n")
        .file("../home/.pi/agent/AGENTS.md", "Everywhere.\n");
    let words = ["--no-session", "--no-tools", "--system-prompt", "Be brief."];
    let prompt = |child: &mut Child| {
        let state = child.data(json!({"type": "get_state"}));
        let text = state["systemPrompt"][0].as_str().unwrap().to_owned();
        let root = folder
            .work("")
            .parent()
            .unwrap()
            .to_string_lossy()
            .into_owned();
        let context = text.split("Today is").next().unwrap();
        context.replace(&root, "ROOT")
    };
    expect![[r#"
        Be brief.

        <project_context>
        Instructions of the user and the project. Where two differ, the later one counts.

        <file path="ROOT/home/.pi/agent/AGENTS.md">
        Everywhere.
        </file>

        <file path="ROOT/AGENTS.md">
        Above.
        </file>

        <file path="ROOT/work/CLAUDE.md">
        Here.
        </file>
        </project_context>

    "#]]
    .assert_eq(&prompt(&mut folder.child(&words)));
    let without = [&words[..], &["--no-context-files"]].concat();
    expect![[r#"
        Be brief.

    "#]]
    .assert_eq(&prompt(&mut folder.child(&without)));
}

#[test]
fn what_a_summary_is_to_say_is_said_to_the_model() {
    let (port, asked) = provider();
    let folder = Folder::with("[model]\nid = \"mock\"\n[[turn]]\ntext = \"x\"\ntimes = 2");
    folder.file(
        "../home/.pi/agent/models.json",
        &json!({"providers": {"acme": {
            "baseUrl": format!("http://127.0.0.1:{port}/v1"), "api": "openai-completions",
            "apiKey": "k", "models": [{"id": "m1"}],
        }}})
        .to_string(),
    );
    let mut child = folder.child(&["--no-session"]);
    child.prompt("first");
    child.prompt("second");
    child.data(json!({"type": "set_model", "provider": "acme", "modelId": "m1"}));
    let compact = json!({"id": 1, "type": "compact", "customInstructions": "above all the sea"});
    let frames = child.done(compact);
    expect![[r#"
        POST /v1/chat/completions HTTP/1.1
        authorization: Bearer k
        about the sea
    "#]]
    .assert_eq(&asked.recv().unwrap());
    expect![[r#"
        {"type":"compaction_start","reason":"manual"}
        {"type":"compaction_end","reason":"manual","aborted":false,"willRetry":false,"errorMessage":"Compaction failed: acme/m1: 400 Bad Request: invalid_request_error: not today"}
        {"id":1,"type":"response","command":"compact","success":false,"error":"acme/m1: 400 Bad Request: invalid_request_error: not today"}
    "#]].assert_eq(&told(&frames, &folder));
}
