//! What `stentor agents check` finds out by trying.

use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use crate::acp_child::with_script;
use crate::world::World;

/// A child that asks for a permission and a file in its first turn, and waits in others until it is told
/// to stop.
const ASKING: &str = r#"
say() { printf '%s\n' "$1"; }
answer() { say '{"jsonrpc":"2.0","id":'"$1"',"result":'"$2"'}'; }
update() { say '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":'"$1"'}}'; }
text() { update '{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"'"$1"'"}}'; }
ask() { say '{"jsonrpc":"2.0","id":"'"$1"'","method":"'"$2"'","params":'"$3"'}'; read -r reply; printf '%s\n' "$reply" >> replies; }
turns=0
while IFS= read -r line; do
    id=$(printf '%s' "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
    case "$line" in
    *'"initialize"'*)
        answer "$id" '{"protocolVersion":1,"agentCapabilities":{"promptCapabilities":{"image":true}},"_meta":{"steering":{"supported":true}}}';;
    *'"session/new"'*) answer "$id" '{"sessionId":"s"}';;
    *'"session/prompt"'*)
        turns=$((turns + 1))
        if [ $turns != 1 ]; then
            printf '%s\n' "$line" > "prompt-$turns"
            waiting=$id
            text "I wait."
            continue
        fi
        text "First."
        update '{"sessionUpdate":"tool_call","toolCallId":"t","title":"Run","kind":"execute","status":"pending","rawInput":{"command":"ls"}}'
        ask p session/request_permission '{"sessionId":"s","toolCall":{"toolCallId":"t"},"options":[{"optionId":"y","name":"Yes","kind":"allow_once"},{"optionId":"never","name":"Never","kind":"reject_always"},{"optionId":"n","name":"No","kind":"reject_once"}]}'
        ask f fs/write_text_file '{"sessionId":"s","path":"'"$PWD"'/written","content":"x"}'
        update '{"sessionUpdate":"tool_call_update","toolCallId":"t","status":"failed"}'
        text "Second."
        answer "$id" '{"stopReason":"end_turn"}';;
    *'"session/cancel"'*) answer "$waiting" '{"stopReason":"cancelled"}';;
    *'"_session/steering"'*) answer "$id" '{"outcome":"injected"}'; printf '%s\n' "$line" > steered;;
    *) answer "$id" '{}';;
    esac
done
"#;

#[test]
fn what_the_child_asks_and_turns_that_are_interrupted_count_as_tried() {
    let world = with_script(World::new("", ""), ASKING, "");
    let report = world.asked(&["agents", "check", "child", "--prompt", "Go on."]);
    for line in [
        "agent/child works.\n",
        // Each answer begins a line of its own.
        "prompt    it has answered\n  First.\n  Second.\n",
        "pictures in prompts                  yes  (tried)",
        "arguments of tool calls              yes  (tried)",
        "steering                             yes  (tried)",
        "abort                                yes  (tried)",
        "permission questions                 yes  (tried)",
        "files and terminals of the client    yes  (tried)",
        "plan                                 yes  (by its dialect)",
    ] {
        assert!(report.contains(line), "{line} in {report}");
    }
    // It was refused, but not for good.
    let replies = std::fs::read_to_string(world.path("work/replies")).unwrap();
    let replies: Vec<Value> = replies
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(replies[0]["result"]["outcome"]["optionId"], "n");
    let why = "this is only a check: nothing is read, written or run";
    assert!(replies[1]["error"].to_string().contains(why), "{replies:?}");
    assert!(!world.path("work/written").exists());
    let second = std::fs::read_to_string(world.path("work/prompt-2")).unwrap();
    assert!(second.contains(r#""mimeType":"image/png""#), "{second}");
    // What is aborted is not steered before: some go on with the message.
    assert!(world.path("work/prompt-3").exists());
    assert!(world.path("work/steered").exists());
}

#[test]
fn arguments_that_the_child_does_not_tell_are_not_there() {
    let script = ASKING.replace(r#","rawInput":{"command":"ls"}"#, "");
    let world = with_script(World::new("", ""), &script, "");
    let report = world.asked(&["agents", "check", "child", "--prompt", "Go on."]);
    let line = "arguments of tool calls              yes  (tried: its calls came without any)";
    assert!(report.contains(line), "{report}");
}

#[test]
fn a_child_that_ends_its_turn_at_a_refusal_works() {
    let ended = r#"answer "$id" '{"stopReason":"cancelled"}'; continue;"#;
    let script = ASKING.replace("text \"Second.\"", ended);
    let world = with_script(World::new("", ""), &script, "");
    let report = world.asked(&["agents", "check", "child", "--prompt", "Go on."]);
    for line in [
        "agent/child works.\n",
        "prompt    it has stopped, because what it asked was refused\n  First.\n",
        "abort                                yes  (tried)",
    ] {
        assert!(report.contains(line), "{line} in {report}");
    }
    let nobody = format!("text \"First.\"; {ended}");
    let script = ASKING.replace("text \"First.\"", &nobody);
    let world = with_script(World::new("", ""), &script, "");
    let words = ["agents", "check", "child", "--prompt", "Go on."];
    let out = world.command(&words).output().unwrap();
    assert_eq!(out.status.code(), Some(1), "nothing was refused");
}

#[test]
fn without_a_prompt_what_needs_a_model_is_not_tried() {
    let world = with_script(World::new("", ""), ASKING, "");
    let report = world.asked(&["agents", "check", "child"]);
    for line in [
        "agent/child works.\n",
        "pictures in prompts                  yes  (by its own word)",
        "steering                             yes  (by its own word)",
        "abort                                yes  (by its dialect)",
        "permission questions                 yes  (by its dialect)",
    ] {
        assert!(report.contains(line), "{line} in {report}");
    }
    assert!(!world.path("work/replies").exists());
}

#[test]
fn a_child_that_dies_or_fails_does_not_work() {
    let dies = "echo 'no key' >&2; exit 3";
    let fails = r#"say '{"jsonrpc":"2.0","id":'"$id"',"error":{"code":-32603,"message":"no quota"}}'; continue"#;
    for (end, why) in [(dies, "no key"), (fails, "no quota")] {
        let script = ASKING.replace("text \"First.\"", &format!("text \"First.\"; {end}"));
        let world = with_script(World::new("", ""), &script, "");
        let words = ["agents", "check", "child", "--prompt", "Go on."];
        let out = world.command(&words).output().unwrap();
        let report = String::from_utf8(out.stdout).unwrap();
        assert_eq!(out.status.code(), Some(1), "{report}");
        let first = report.lines().next().unwrap();
        assert!(first.starts_with("agent/child does not work: "), "{report}");
        assert!(first.contains(why), "{report}");
        let mut command = world.command(&words);
        let out = command.arg("--json").output().unwrap();
        let report: Value = serde_json::from_slice(&out.stdout).unwrap();
        assert_eq!(out.status.code(), Some(1), "{report}");
        assert_eq!(report["works"], false, "{report}");
    }
}

#[test]
fn a_known_agent_on_the_path_is_checked_with_its_ready_entry() {
    let world = World::new("", "[agents.mine]\ncommand = [\"x\"]\ndialect = \"acp\"\n");
    world.file("bin/goose", &format!("#!/bin/sh\n{ASKING}"));
    let program = world.path("bin/goose");
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    let path = format!(
        "{}:{}",
        world.path("bin").display(),
        std::env::var("PATH").unwrap()
    );
    let check = |name: &str| {
        let mut command = world.command(&["agents", "check", name]);
        let out = command.env("PATH", &path).output().unwrap();
        let text = [out.stdout, out.stderr].concat();
        (out.status.code(), String::from_utf8(text).unwrap())
    };
    let (status, report) = check("goose");
    assert_eq!(status, Some(0), "{report}");
    let begins = "agent/goose works.\n\nIt is not set up; its entry would be:\n\n[agents.goose]\n\
                  command = [\"goose\", \"acp\"]\ndialect = \"acp\"\n\nprogram ";
    assert!(report.starts_with(begins), "{report}");
    for (name, why) in [
        (
            "synaps",
            "there is no agent `synaps`: it is not set up, and `synaps rpc` is not on the PATH",
        ),
        (
            "nope",
            "there is no agent `nope`; those that are set up: mine",
        ),
    ] {
        let (status, report) = check(name);
        assert_eq!(status, Some(2), "{report}");
        assert!(report.contains(why), "{report}");
    }
}

#[test]
fn the_documentation_says_of_every_known_agent_which_version_was_tested() {
    let page = include_str!("../../../../docs/agents.md");
    let fetched = include_str!("../../../../interop/agents.sh");
    for known in stentor_agents::KNOWN {
        let program = known.command.first().unwrap();
        let row = format!("| {program} | ");
        let versions = page.lines().filter_map(|line| {
            let (version, rest) = line.strip_prefix(&row)?.split_once(" | ")?;
            let dialect = format!("`{}` |", known.dialect);
            rest.starts_with(&dialect).then_some(version)
        });
        let versions: Vec<&str> = versions.collect();
        let is_fetched = |version: &&str| fetched.contains(&format!("@{version}"));
        assert!(
            versions == ["not run"] || versions.iter().any(is_fetched),
            "{program}: {versions:?}"
        );
    }
}
