//! Plan mode is kept: what is asked, copied, opened again or at work when it begins changes nothing.

use serde_json::{Value, json};

use crate::world::{Child, World};

/// A model that writes when it is told to go, and says what came of it.
const WRITES: &str = r##"
on_exhausted = "repeat-last"
[[turn]]
when = { last_user_contains = "go" }
steps = [{ tool = "write", id = "w1", arguments = { path = "early.txt", content = "too early" } }]
[[turn]]
text = "{{last_tool_result}}"
"##;

/// One that presents a plan instead.
fn presents(plan: &str) -> String {
    let arguments = json!({ "plan": plan }).to_string();
    format!(
        "on_exhausted = \"repeat-last\"\n[[turn]]\nsteps = [{{ tool = \"exit_plan_mode\", id = \"p1\", arguments_json = [{}] }}]\n\
         [[turn]]\ntext = \"{{{{last_tool_result}}}}\"\n",
        json!(arguments)
    )
}

fn is_written(world: &World) -> bool {
    world.path("work/early.txt").exists()
}

fn prompt(child: &mut Child, id: u64, session: &str, text: &str) {
    let prompt = json!({ "sessionId": session, "prompt": [{ "type": "text", "text": text }] });
    child.request_acp(id, "session/prompt", prompt);
}

fn set_mode(child: &mut Child, id: u64, session: &str, mode: &str) {
    let mode = json!({ "sessionId": session, "modeId": mode });
    child.request_acp(id, "session/set_mode", mode);
}

/// The question that a client of ACP is asked, and what answers it.
fn asked(child: &mut Child) -> Value {
    let lines = child.until(|line| line.contains("session/request_permission"));
    serde_json::from_str(lines.last().unwrap()).unwrap()
}

fn select(child: &mut Child, asked: &Value, option: &str) {
    let outcome = json!({ "outcome": { "outcome": "selected", "optionId": option } });
    let reply = json!({ "jsonrpc": "2.0", "id": asked["id"], "result": outcome });
    child.send(&reply.to_string());
}

/// Waits until a question is withdrawn.
fn withdrawn(child: &mut Child, asked: &Value) {
    let id = format!("\"requestId\":{}", asked["id"]);
    child.until(|line| line.contains("$/cancel_request") && line.contains(&id));
}

#[test]
fn a_question_that_is_open_when_the_mode_begins_is_closed_with_its_denial() {
    for (mode, why) in [
        ("plan", "the session is in plan mode"),
        ("read-only", "this session is read-only"),
    ] {
        let world = World::new(WRITES, "permission_mode = \"ask\"\n");
        let (mut child, session) = world.acp(json!({}));
        prompt(&mut child, 3, &session, "go");
        let question = asked(&mut child);
        set_mode(&mut child, 4, &session, mode);
        withdrawn(&mut child, &question);
        // Whoever answers all the same answers nothing.
        select(&mut child, &question, "allow_once");
        let lines = child.until_answer(3);
        assert!(lines.iter().any(|line| line.contains(why)), "{lines:?}");
        assert!(!is_written(&world), "{mode}");
        child.end();
    }
}

#[test]
fn a_plan_is_withdrawn_when_plan_mode_is_ended_by_hand() {
    let world = World::new(&presents("1. Do it"), "permission_mode = \"all\"\n");
    let (mut child, session) = world.acp(json!({}));
    set_mode(&mut child, 10, &session, "plan");
    child.until_answer(10);
    prompt(&mut child, 3, &session, "plan");
    let question = asked(&mut child);
    set_mode(&mut child, 11, &session, "ask");
    withdrawn(&mut child, &question);
    select(&mut child, &question, "all");
    let lines = child.until_answer(3);
    let said = "Plan mode is off, and the permission mode is ask";
    assert!(lines.iter().any(|line| line.contains(said)), "{lines:?}");
    let all = |line: &String| line.contains("\"currentModeId\":\"all\"");
    assert!(!lines.iter().any(all), "{lines:?}");
    child.end();
}

#[test]
fn a_plan_is_shown_whole_where_it_is_accepted() {
    let plan = format!("{}\n\nand the end of it", "A step. ".repeat(6000));
    let world = World::new(&presents(&plan), "permission_mode = \"all\"\n");
    let (mut child, session) = world.acp(json!({}));
    set_mode(&mut child, 10, &session, "plan");
    child.until_answer(10);
    prompt(&mut child, 3, &session, "plan");
    let question = asked(&mut child);
    let shown = &question["params"]["toolCall"]["content"][0]["content"]["text"];
    assert_eq!(shown, &plan);
    select(&mut child, &question, "plan");
    child.until_answer(3);
    child.end();
}

fn omp(child: &mut Child, text: &str) {
    child.send(&json!({ "id": "p", "type": "prompt", "message": text }).to_string());
    let is_command = text.starts_with('/');
    child.until_type(if is_command {
        "prompt_result"
    } else {
        "agent_settled"
    });
}

fn omp_data(child: &mut Child, command: Value) -> Value {
    child.send(&command.to_string());
    let answer = child.until_type("response").pop().unwrap();
    assert_eq!(answer["success"], true, "{answer}");
    answer["data"].clone()
}

#[test]
fn copies_of_a_session_that_plans_plan_and_so_does_one_that_is_gone_back_to() {
    for flags in [&[][..], &["--permission-mode", "all"]] {
        let world = World::new(WRITES, "permission_mode = \"all\"\n");
        let words = [&["--mode", "rpc"], flags].concat();
        let mut child = world.child(&words);
        child.until_type("ready");
        omp(&mut child, "hello");
        omp(&mut child, "/plan");
        let file = omp_data(&mut child, json!({ "type": "get_state" }))["sessionFile"].clone();
        omp_data(&mut child, json!({ "type": "new_session" }));
        let switch = json!({ "type": "switch_session", "sessionPath": file });
        omp_data(&mut child, switch);
        omp(&mut child, "go");
        assert!(!is_written(&world), "{flags:?}: went back to");
        let messages = omp_data(&mut child, json!({ "type": "get_branch_messages" }));
        let first = messages["messages"][0]["entryId"].clone();
        omp_data(&mut child, json!({ "type": "branch", "entryId": first }));
        omp(&mut child, "go");
        assert!(!is_written(&world), "{flags:?}: copied");
        // Another session was never to plan.
        omp_data(&mut child, json!({ "type": "new_session" }));
        omp(&mut child, "go");
        assert!(is_written(&world), "{flags:?}");
        child.end();
    }
}

#[test]
fn another_agent_that_is_at_work_is_stopped() {
    let world = World::new(WRITES, "");
    let (other, flag) = (world.path("home/other.toml"), world.path("work/flag"));
    let steps = format!(
        "[[turn]]\nsteps = [{{ text = \"At work.\" }}, {{ wait_for = {flag:?} }}, \
         {{ tool = \"write\", arguments = {{ path = \"early.txt\", content = \"x\" }} }}]\n\
         [[turn]]\ntext = \"Done.\"\n"
    );
    world.file("home/other.toml", &steps);
    let program = env!("CARGO_BIN_EXE_stentor");
    let config = format!(
        "permission_mode = \"all\"\n[agents.other]\ndialect = \"acp\"\ncommand = [{program:?}, \"acp\", \"--model\", \"script/{}\", \"--permission-mode\", \"all\"]\n",
        other.display()
    );
    world.file("home/.config/stentor/config.toml", &config);
    let mut child = world.child(&["acp", "--model", "agent/other"]);
    let session = child.shake_hands_acp(json!({}), &world.path("work"));
    prompt(&mut child, 3, &session, "go");
    child.until(|line| line.contains("At work."));
    set_mode(&mut child, 4, &session, "plan");
    child.until_answer(3);
    // It is refused only when it has stopped.
    prompt(&mut child, 5, &session, "and again");
    let lines = child.until_answer(5);
    let why = "which plan mode cannot hold to reading";
    assert!(lines.iter().any(|line| line.contains(why)), "{lines:?}");
    world.file("work/flag", "");
    child.end();
    assert!(!is_written(&world));
}

/// An extension with tools that say they change nothing, and write all the same.
const CLAIMS: &str = r#"
import json, sys

for line in sys.stdin:
    message = json.loads(line)
    method, params = message.get("method"), message.get("params", {})
    answer = {"jsonrpc": "2.0", "id": message.get("id")}
    if method == "initialize":
        schema = {"type": "object"}
        tools = [{"name": name, "description": name, "effect": effect, "parameters": schema}
                 for name, effect in (("peek", "reads"), ("note", "nothing"), ("run", "executes"))]
        answer["result"] = {"protocolVersion": 1, "tools": tools}
    elif method == "tool/run":
        open("early.txt", "w").close()
        answer["result"] = {"content": "ran"}
    else:
        continue
    print(json.dumps(answer), flush=True)
"#;

const CALLS: &str = r##"
on_exhausted = "repeat-last"
[[turn]]
steps = [
  { tool = "run", id = "c1", arguments = {} },
  { tool = "peek", id = "c2", arguments = {} },
]
[[turn]]
steps = [{ tool = "note", id = "c3", arguments = {} }]
[[turn]]
text = "Done."
"##;

#[test]
fn what_an_extension_says_of_its_tools_is_asked_about() {
    let world = World::new(CALLS, "permission_mode = \"all\"\n");
    world.file("home/.config/stentor/extensions/claims.py", CLAIMS);
    let (mut child, session) = world.acp(json!({}));
    set_mode(&mut child, 10, &session, "plan");
    child.until_answer(10);
    prompt(&mut child, 3, &session, "go");
    let lines = child.until(|line| line.contains("session/request_permission"));
    let why = "run: the session is in plan mode, in which tools like this one may run only if they \
               declare that they change nothing";
    assert!(lines.iter().any(|line| line.contains(why)), "{lines:?}");
    let question: Value = serde_json::from_str(lines.last().unwrap()).unwrap();
    assert_eq!(question["params"]["toolCall"]["toolCallId"], "c2");
    select(&mut child, &question, "reject_once");
    let question = asked(&mut child);
    assert_eq!(question["params"]["toolCall"]["toolCallId"], "c3");
    assert!(!is_written(&world));
    select(&mut child, &question, "reject_once");
    child.until_answer(3);
    assert!(!is_written(&world));
    child.end();
}

#[test]
fn in_acp_plan_is_a_command_too_unless_the_user_has_one_by_that_name() {
    let world = World::new(WRITES, "permission_mode = \"all\"\n");
    let (mut child, session) = world.acp(json!({}));
    prompt(&mut child, 3, &session, "/plan");
    let mut lines = child.until_answer(3);
    prompt(&mut child, 4, &session, "go");
    lines.extend(child.until_answer(4));
    for part in ["Plan mode is on", "\"currentModeId\":\"plan\""] {
        assert!(lines.iter().any(|line| line.contains(part)), "{lines:?}");
    }
    assert!(!is_written(&world));
    child.end();

    let config = "permission_mode = \"all\"\ntrusted_projects = [\"~/../work\"]\n";
    let world = World::new(WRITES, config);
    world.file("work/.claude/commands/plan.md", "go where $1 is\n");
    let (mut child, session) = world.acp(json!({}));
    prompt(&mut child, 3, &session, "/plan here");
    child.until_answer(3);
    assert!(is_written(&world));
    child.end();
}
