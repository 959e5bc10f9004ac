//! Templates, skills, agents and commands of extensions: listed, told and used in every dialect.

use expect_test::expect;
use serde_json::{Value, json};

use crate::world::{Child, World};

/// A model that says what it was told, and whether it was told of the skill.
const PLAN: &str = r#"
on_exhausted = "repeat-last"
[[turn]]
when = { last_user_contains = "wait for me" }
steps = [{ tool = "bash", arguments = { command = "touch waits; while [ ! -e go ]; do sleep 0.02; done" } }]
[[turn]]
when = { system_contains = "Works with PDFs" }
text = "Skilled. You said: {{last_user}}"
[[turn]]
text = "You said: {{last_user}}"
"#;

/// An extension with a command that says something, one that asks the agent, and one that fails.
const DEPLOY: &str = r#"
import json, sys

for line in sys.stdin:
    message = json.loads(line)
    method, params = message.get("method"), message.get("params", {})
    answer = {"jsonrpc": "2.0", "id": message.get("id")}
    if method == "initialize":
        commands = [{"name": "deploy", "description": "Deploys.", "hint": "WHERE"}, {"name": "ask"}, {"name": "boom"}]
        answer["result"] = {"protocolVersion": 1, "commands": commands}
    elif method == "command/run" and params["name"] == "deploy":
        answer["result"] = {"text": "deployed to " + params["arguments"]}
    elif method == "command/run" and params["name"] == "ask":
        answer["result"] = {"prompt": "Asked for " + params["arguments"]}
    elif method == "command/run":
        answer["error"] = {"code": -32000, "message": "kaboom"}
    else:
        continue
    print(json.dumps(answer), flush=True)
"#;

fn world() -> World {
    let world = World::new(
        PLAN,
        "permission_mode = \"all\"\ntrusted_projects = [\"~/../work\"]\n",
    );
    world.file(
        "work/.claude/commands/review.md",
        "---\ndescription: Review a file\nargument-hint: FILE\n---\nReview $1.\n",
    );
    world.file(
        "home/.pi/agent/skills/pdf/SKILL.md",
        "---\nname: pdf\ndescription: Works with PDFs\n---\nUse pdftotext.\n",
    );
    world.file(
        "work/.omp/agents/tester.md",
        "---\nname: tester\ndescription: Tests\n---\nYou test.\n",
    );
    world.file("home/.config/stentor/extensions/deploy.py", DEPLOY);
    world
}

/// Waits until the extension is there; returns the frame that says so.
fn until_deploy(child: &mut Child) -> String {
    child.until(|line| line.contains("deploy")).pop().unwrap()
}

/// What the model said.
fn answer(frames: &[Value]) -> String {
    let ends = frames
        .iter()
        .rfind(|frame| frame["type"] == "message_end" && frame["message"]["role"] == "assistant");
    let text = &ends.unwrap()["message"]["content"][0]["text"];
    text.as_str().unwrap().to_owned()
}

fn prompt_omp(child: &mut Child, text: &str) -> Vec<Value> {
    child.send(&json!({ "id": "p", "type": "prompt", "message": text }).to_string());
    child.until_type("agent_settled")
}

#[test]
fn omp_lists_them_as_each_original_does() {
    let world = world();
    let mut child = world.omp();
    let told = until_deploy(&mut child);
    expect![[r#"{"type":"available_commands_update","commands":[{"name":"plan","description":"Plan first: only read until you have accepted a plan","input":{"hint":"[on|off]"},"source":"builtin"},{"name":"rewind","description":"Go back to the point before a message: files, conversation or both","input":{"hint":"[MESSAGE] [--files|--conversation] [--force], or --undo"},"source":"builtin"},{"name":"jobs","description":"List what runs in the background, show its output, or stop it","input":{"hint":"[ID], or stop ID"},"source":"builtin"},{"name":"deploy","description":"Deploys.","input":{"hint":"WHERE"},"source":"extension"},{"name":"ask","source":"extension"},{"name":"boom","source":"extension"},{"name":"review","description":"Review a file","input":{"hint":"FILE"},"source":"file"},{"name":"skill:pdf","description":"Works with PDFs","source":"skill"},{"name":"agent:tester","description":"Tests","input":{"hint":"the task"},"source":"custom"}]}"#]]
    .assert_eq(&told);
    child.send(r#"{"id":"1","type":"get_available_commands"}"#);
    let listed = child.until_type("response").pop().unwrap();
    let told: Value = serde_json::from_str(&told).unwrap();
    assert_eq!(listed["data"]["commands"], told["commands"]);
    child.send(r#"{"id":"2","type":"get_commands"}"#);
    let listed = child.next();
    expect![[r#"
        {"id":"2","type":"response","command":"get_commands","success":true,"data":{"commands":[{"name":"deploy","description":"Deploys.","source":"extension","sourceInfo":{"path":"","source":"local","scope":"user","origin":"top-level"}},{"name":"ask","source":"extension","sourceInfo":{"path":"","source":"local","scope":"user","origin":"top-level"}},{"name":"boom","source":"extension","sourceInfo":{"path":"","source":"local","scope":"user","origin":"top-level"}},{"name":"review","description":"Review a file","source":"prompt","sourceInfo":{"path":"~~/work/.claude/commands/review.md","source":"local","scope":"project","origin":"top-level"}},{"name":"skill:pdf","description":"Works with PDFs","source":"skill","sourceInfo":{"path":"~~/home/.pi/agent/skills/pdf/SKILL.md","source":"local","scope":"user","origin":"top-level"}},{"name":"agent:tester","description":"Tests","source":"prompt","sourceInfo":{"path":"~~/work/.omp/agents/tester.md","source":"local","scope":"project","origin":"top-level"}}]}}"#]]
    .assert_eq(&child.shown(&listed));
    // What the model is told is in the state.
    child.send(r#"{"id":"3","type":"get_state"}"#);
    let state = child.until_type("response").pop().unwrap();
    let prompt = state["data"]["systemPrompt"][0].as_str().unwrap();
    let skill = world.path("home/.pi/agent/skills/pdf/SKILL.md");
    let told = format!("\n- pdf: Works with PDFs ({})\n</skills>", skill.display());
    assert!(prompt.ends_with(&told), "{prompt}");
    child.end();
}

#[test]
fn omps_flags_leave_out_skills_and_templates() {
    let world = world();
    let listed = |flag: &str| {
        let mut child = world.child(&["--mode", "rpc", "--no-session", flag]);
        child.until_type("ready");
        until_deploy(&mut child);
        child.send(r#"{"id":"1","type":"get_commands"}"#);
        let mut answer = child.until_type("response").pop().unwrap();
        child.end();
        let commands = answer["data"]["commands"].take();
        let names = commands
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["name"].clone());
        names.skip(3).collect::<Vec<Value>>()
    };
    assert_eq!(listed("--no-skills"), ["review", "agent:tester"]);
    assert_eq!(
        listed("--no-prompt-templates"),
        ["skill:pdf", "agent:tester"]
    );
}

#[test]
fn omp_expands_templates_skills_and_agents_in_what_is_said() {
    let world = world();
    let mut child = world.omp();
    let skills = world.path("home/.pi/agent/skills/pdf");
    let skills = skills.display();
    for (said, expected) in [
        ("/review src/a.rs", "Review src/a.rs.\n".to_owned()),
        ("/skill:pdf read it", format!("<skill name=\"pdf\" location=\"{skills}/SKILL.md\">\nPaths in it are relative to {skills}.\n\nUse pdftotext.\n</skill>\n\nread it")),
        ("/agent:tester all", "Give this task to the agent `tester` with the subagent tool, and tell me what it reports:\n\nall".to_owned()),
        ("/etc/hosts is a file", "/etc/hosts is a file".to_owned()),
        ("/ask for it", "Asked for for it".to_owned()),
    ] {
        let frames = prompt_omp(&mut child, said);
        assert_eq!(answer(&frames), format!("Skilled. You said: {expected}"), "{said}");
    }
    // What is queued means the same.
    child.send(r#"{"id":"w","type":"prompt","message":"wait for me"}"#);
    child.until_type("tool_execution_start");
    child.send(r#"{"id":"q","type":"follow_up","message":"/review src/b.rs"}"#);
    child.until_type("response");
    world.file("work/go", "");
    let frames = child.until_type("agent_settled");
    assert_eq!(answer(&frames), "Skilled. You said: Review src/b.rs.\n");
    child.end();
}

#[test]
fn omp_is_told_of_a_file_that_was_written_before_the_next_run_begins() {
    let world = world();
    let mut child = world.omp();
    until_deploy(&mut child);
    world.file("work/.pi/prompts/fresh.md", "Fresh $1");
    world.file(
        "home/.pi/agent/skills/pdf/SKILL.md",
        "---\nname: pdf\ndescription: Something else\n---\nUse it.\n",
    );
    let frames = prompt_omp(&mut child, "/fresh air");
    let kinds: Vec<&str> = frames
        .iter()
        .take(3)
        .map(|one| one["type"].as_str().unwrap())
        .collect();
    assert_eq!(
        kinds,
        ["response", "available_commands_update", "agent_start"]
    );
    let names = frames[1]["commands"].as_array().unwrap().iter();
    let names: Vec<&Value> = names.map(|one| &one["name"]).collect();
    assert_eq!(
        names,
        [
            "plan",
            "rewind",
            "jobs",
            "deploy",
            "ask",
            "boom",
            "fresh",
            "review",
            "skill:pdf",
            "agent:tester"
        ]
    );
    // The model, too: of the skill it was told before nothing is left.
    assert_eq!(answer(&frames), "You said: Fresh air");
    std::fs::remove_file(world.path("work/.pi/prompts/fresh.md")).unwrap();
    let frames = prompt_omp(&mut child, "/fresh air");
    assert_eq!(answer(&frames), "You said: /fresh air");
    child.end();
}

#[test]
fn omp_runs_the_command_of_an_extension_at_once_also_while_the_agent_works() {
    let world = world();
    let mut child = world.omp();
    until_deploy(&mut child);
    let handled = |child: &mut Child| {
        child.send(r#"{"id":"d","type":"prompt","message":"/deploy there"}"#);
        let mut lines = child.until(|line| line.contains("prompt_result"));
        lines.retain(|line| !line.contains("tool_execution_update"));
        lines.join("\n")
    };
    expect![[r#"
        {"type":"command_output","text":"deployed to there"}
        {"id":"d","type":"response","command":"prompt","success":true,"data":{"disposition":"handled","agentInvoked":false}}
        {"type":"prompt_result","id":"d","agentInvoked":false,"status":"completed","sessionSettled":true}"#]]
    .assert_eq(&handled(&mut child));
    child.send(r#"{"id":"b","type":"prompt","message":"/boom"}"#);
    let failed = child
        .until(|line| line.contains("prompt_result"))
        .join("\n");
    expect![[r#"
        {"type":"extension_error","extensionPath":"command:boom","event":"command","error":"kaboom"}
        {"id":"b","type":"response","command":"prompt","success":true,"data":{"disposition":"handled","agentInvoked":false}}
        {"type":"prompt_result","id":"b","agentInvoked":false,"status":"error","error":{"message":"kaboom","retryable":false},"sessionSettled":true}"#]]
    .assert_eq(&failed);
    child.send(r#"{"id":"s","type":"steer","message":"/deploy later"}"#);
    expect![[r#"
        {"id":"s","type":"response","command":"steer","success":false,"error":"Extension command \"/deploy\" cannot be queued. Use prompt() or execute the command when not streaming."}"#]]
    .assert_eq(&child.next());
    // While the agent works, which it does until it is told to go on.
    child.send(r#"{"id":"p","type":"prompt","message":"wait for me"}"#);
    child.until_type("tool_execution_start");
    expect![[r#"
        {"type":"command_output","text":"deployed to there"}
        {"id":"d","type":"response","command":"prompt","success":true,"data":{"disposition":"handled","agentInvoked":false}}
        {"type":"prompt_result","id":"d","agentInvoked":false,"status":"completed","sessionSettled":false}"#]]
    .assert_eq(&handled(&mut child));
    world.file("work/go", "");
    child.until_type("agent_settled");
    child.end();
}

#[test]
fn psi_lists_and_expands_them_and_is_told_of_new_ones() {
    let world = world();
    let mut child = world.psi();
    until_deploy(&mut child);
    let listed = child.ask_psi("c", "get_commands", "{}").pop().unwrap();
    let (_, own) = listed.split_once("{:name \"deploy\"").unwrap();
    expect![[r#" :description "Deploys." :source :extension :path nil} {:name "ask" :description nil :source :extension :path nil} {:name "boom" :description nil :source :extension :path nil} {:name "review" :description "Review a file" :source :prompt :path "~~/work/.claude/commands/review.md"} {:name "skill:pdf" :description "Works with PDFs" :source :skill :path "~~/home/.pi/agent/skills/pdf/SKILL.md"} {:name "agent:tester" :description "Tests" :source :agent :path "~~/work/.omp/agents/tester.md"}]}}"#]]
    .assert_eq(&child.shown(own));
    let said = |child: &mut Child, text: &str| {
        child.ask_psi("p", "prompt", &format!("{{:message {text:?}}}"));
        let lines = child.until(|line| line.contains(":event \"assistant/message\""));
        let (_, text) = lines.last().unwrap().split_once(":text \"").unwrap();
        let text = text.split("\"}").next().unwrap().to_owned();
        child.until(|line| line.contains(":is-streaming false"));
        (text, lines)
    };
    assert_eq!(
        said(&mut child, "/review a.rs").0,
        "Skilled. You said: Review a.rs.\\n"
    );
    assert_eq!(said(&mut child, "/deploy here").0, "deployed to here");
    world.file("work/.pi/prompts/fresh.md", "Fresh $1");
    let (text, lines) = said(&mut child, "hello");
    assert_eq!(text, "Skilled. You said: hello");
    let is_told = |line: &&String| line.contains(r#"{:name "fresh" :description "Fresh $1"}"#);
    assert!(lines.iter().any(|line| is_told(&line)), "{lines:#?}");
    assert_eq!(
        said(&mut child, "/fresh air").0,
        "Skilled. You said: Fresh air"
    );
    child.end();
}

#[test]
fn acp_lists_and_expands_them_and_is_told_of_new_ones() {
    let world = world();
    let (mut child, session) = world.acp(json!({}));
    let told = until_deploy(&mut child);
    expect![[r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"SESSION","update":{"sessionUpdate":"available_commands_update","availableCommands":[{"name":"compact","description":"Summarise the older part of the conversation to make room.","input":{"hint":"what to keep in mind (optional)"}},{"name":"name","description":"Name this session.","input":{"hint":"the name"}},{"name":"plan","description":"Plan first: only read until you have accepted a plan.","input":{"hint":"[on|off]"}},{"name":"rewind","description":"Go back to the point before a message: files, conversation or both.","input":{"hint":"[MESSAGE] [--files|--conversation] [--force], or --undo"}},{"name":"jobs","description":"List what runs in the background, show its output, or stop it.","input":{"hint":"[ID], or stop ID"}},{"name":"deploy","description":"Deploys.","input":{"hint":"WHERE"}},{"name":"ask","description":""},{"name":"boom","description":""},{"name":"review","description":"Review a file","input":{"hint":"FILE"}},{"name":"skill:pdf","description":"Works with PDFs"},{"name":"agent:tester","description":"Tests","input":{"hint":"the task"}}]}}}"#]]
    .assert_eq(&child.shown_in(&session, &told));
    let mut next = 10;
    let mut said = |child: &mut Child, text: &str| {
        next += 1;
        let prompt = json!({ "sessionId": session, "prompt": [{ "type": "text", "text": text }] });
        let lines = child.ask_acp(next, "session/prompt", prompt);
        let chunks = lines.iter().filter_map(|line| {
            let frame: Value = serde_json::from_str(line).unwrap();
            let update = &frame["params"]["update"];
            let is_said = update["sessionUpdate"] == "agent_message_chunk";
            is_said.then(|| update["content"]["text"].as_str().unwrap().to_owned())
        });
        (chunks.collect::<String>(), lines)
    };
    assert_eq!(
        said(&mut child, "/review a.rs").0,
        "Skilled. You said: Review a.rs.\n"
    );
    assert_eq!(said(&mut child, "/deploy here").0, "deployed to here");
    world.file("work/.pi/prompts/fresh.md", "Fresh $1");
    let (text, lines) = said(&mut child, "/fresh air");
    assert_eq!(text, "Skilled. You said: Fresh air");
    let is_told = |line: &&String| line.contains(r#"{"name":"fresh","description":"Fresh $1"}"#);
    assert!(lines.iter().any(|line| is_told(&line)), "{lines:#?}");
    child.end();
}

#[test]
fn synaps_and_the_command_line_expand_them() {
    let world = world();
    let mut child = world.synaps();
    for (said, expected) in [
        ("/review a.rs", "Skilled. You said: Review a.rs.\n"),
        ("/deploy here", "deployed to here"),
        ("/nothing here", "Skilled. You said: /nothing here"),
    ] {
        child.send(&json!({ "type": "prompt", "id": "p", "message": said }).to_string());
        let frames = child.until_type("response");
        let deltas = frames
            .iter()
            .filter_map(|frame| frame["event"]["delta"].as_str());
        assert_eq!(deltas.collect::<String>(), expected);
        // A person at the command line is told of a command that is none.
        if said != "/nothing here" {
            let printed = world.asked(&["-p", said, "--no-session"]);
            assert_eq!(printed.trim_end(), expected.trim_end());
        }
    }
    child.end();
}

/// An extension that has been started and registers its command when the test says so.
const SLOW: &str = r#"
import json, os, sys, time

for line in sys.stdin:
    message = json.loads(line)
    method = message.get("method")
    answer = {"jsonrpc": "2.0", "id": message.get("id")}
    if method == "initialize":
        while not os.path.exists("register"):
            time.sleep(0.01)
        answer["result"] = {"protocolVersion": 1, "commands": [{"name": "late"}]}
    elif method == "command/run":
        answer["result"] = {"text": "late but " + message["params"]["arguments"]}
    else:
        continue
    print(json.dumps(answer), flush=True)
"#;

fn slow_world() -> World {
    let world = World::new(
        PLAN,
        "permission_mode = \"all\"\ntrusted_projects = [\"~/../work\"]\n",
    );
    world.file("home/.config/stentor/extensions/slow.py", SLOW);
    world
}

#[test]
fn omp_waits_for_an_extension_that_starts_before_it_takes_its_command_for_a_prompt() {
    let world = slow_world();
    let mut child = world.omp();
    child.send(r#"{"id":"1","type":"prompt","message":"/late well"}"#);
    // Answered behind the prompt, which waits without holding up what follows.
    child.send(r#"{"id":"2","type":"get_last_assistant_text"}"#);
    let mut frames = child.until_type("response");
    world.file("work/register", "");
    frames.extend(child.until_type("prompt_result"));
    // Which commands there are now is told in its own time.
    frames.retain(|frame| frame["type"] != "available_commands_update");
    let lines: Vec<String> = frames.iter().map(Value::to_string).collect();
    expect![[r#"
        {"id":"2","type":"response","command":"get_last_assistant_text","success":true,"data":{}}
        {"type":"command_output","text":"late but well"}
        {"id":"1","type":"response","command":"prompt","success":true,"data":{"disposition":"handled","agentInvoked":false}}
        {"type":"prompt_result","id":"1","agentInvoked":false,"status":"completed","sessionSettled":true}"#]].assert_eq(&lines.join("\n"));
    child.end();
}

#[test]
fn psi_waits_for_an_extension_that_starts_before_it_says_that_there_is_no_such_command() {
    let world = slow_world();
    let mut child = world.psi();
    child.ask_psi("t", "subscribe", r#"{:topics ["command-result"]}"#);
    child.send(r#"{:id "c" :kind :request :op "command" :params {:text "/late well"}}"#);
    // Nobody else waits.
    child.ask_psi("q", "query_eql", r#"{:query "[:psi.agent-session/phase]"}"#);
    world.file("work/register", "");
    let is_answer = |line: &str| line.contains(r#":id "c" :kind :response"#);
    let mut lines = child.until(is_answer);
    lines.retain(|line| is_answer(line) || line.contains("command-result"));
    let lines: Vec<String> = lines.iter().map(|line| child.shown(line)).collect();
    expect![[r#"
        {:kind :event :event "command-result" :data {:type "text" :message "late but well"} :id "c" :seq N :ts "TIME"}
        {:id "c" :kind :response :op "command" :ok true :data {:accepted true :handled true}}"#]].assert_eq(&lines.join("\n"));
    child.end();
}
