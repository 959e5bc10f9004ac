//! Models that step in for one that fails (section 8), whole frames.

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use crate::child::{Child, Folder, shown};

/// A folder whose model plays `first`; `config` is the user's own file.
fn folder(first: &str, config: &str) -> Folder {
    let folder = Folder::with(&format!("[model]\nid = \"first\"\n{first}"));
    folder.file(
        "../home/.config/second.toml",
        "on_exhausted = \"repeat-last\"\n[model]\nid = \"second\"\n[[turn]]\ntext = \"Second.\"",
    );
    folder.file(
        "../home/.config/third.toml",
        "on_exhausted = \"repeat-last\"\n[model]\nid = \"third\"\nreasoning = false\n[[turn]]\ntext = \"Third.\"",
    );
    folder.file(
        "../home/.config/failing.toml",
        "on_exhausted = \"repeat-last\"\n[model]\nid = \"failing\"\n[[turn]]\nerror = { kind = \"quota\", message = \"No money left.\" }",
    );
    folder.file("../home/.config/stentor/config.toml", config);
    folder
}

/// All but the messages, and what says the same again.
fn brief(frames: &[Value], folder: &Folder) -> String {
    let told: Vec<Value> = frames
        .iter()
        .filter(|frame| {
            !matches!(
                frame["type"].as_str().unwrap(),
                "message_start" | "message_update" | "turn_start" | "turn_end" | "agent_end"
            ) && frame["message"]["role"] != "user"
        })
        .cloned()
        .collect();
    shown(&told, folder)
}

fn check(first: &str, config: &str, expected: Expect) -> (Child, Folder) {
    let folder = folder(first, config);
    let mut child = folder.child(&["--no-session"]);
    expected.assert_eq(&brief(&child.prompt("hi"), &folder));
    (child, folder)
}

fn model(child: &mut Child) -> Value {
    child.data(json!({"type": "get_state"}))["model"]["id"].take()
}

const OVERLOADED: &str = r#"
    [[turn]]
    error = { kind = "overloaded", message = "Overloaded" }
    [[turn]]
    text = "First again."
"#;

#[test]
fn another_model_steps_in_at_once_for_one_that_is_overloaded() {
    let (mut child, _folder) = check(
        OVERLOADED,
        "[retry]\nfallback = [\"script/../second.toml\", \"script/../third.toml\"]\n",
        expect![[r#"
            {"id":"prompt","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
            {"type":"agent_start"}
            {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"first","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"error","errorMessage":"Overloaded","timestamp":"TIME","duration":"MS"}}
            {"type":"model_changed"}
            {"type":"retry_fallback_applied","from":"script/first:medium","to":"script/../second.toml","role":"default","reason":"Overloaded"}
            {"type":"auto_retry_start","attempt":1,"maxAttempts":3,"delayMs":0,"errorMessage":"Overloaded"}
            {"type":"entry_appended","entry":{"type":"context_edit","id":"ID","parentId":"ID","timestamp":"TIME","targetId":"ID","replacement":null}}
            {"type":"agent_start"}
            {"type":"message_end","messageId":"msg-3","message":{"role":"assistant","content":[{"type":"text","text":"Second."}],"api":"script","provider":"script","model":"second","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
            {"type":"retry_fallback_succeeded","model":"script/second:medium","role":"default"}
            {"type":"auto_retry_end","success":true,"attempt":1}
            {"type":"prompt_result","id":"prompt","agentInvoked":true,"status":"completed","sessionSettled":true}
            {"type":"session_settled"}
            {"type":"agent_settled","aborted":false}
        "#]],
    );
    assert_eq!(model(&mut child), "second");
    // The first one is left alone for a while.
    child.prompt("hi");
    assert_eq!(model(&mut child), "second");
}

#[test]
fn the_first_model_comes_back_with_a_later_prompt() {
    let (mut child, _folder) = check(
        OVERLOADED,
        "[retry]\nfallback = [\"script/../third.toml\"]\nfallback_cooldown_ms = 0\n",
        expect![[r#"
            {"id":"prompt","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
            {"type":"agent_start"}
            {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"first","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"error","errorMessage":"Overloaded","timestamp":"TIME","duration":"MS"}}
            {"type":"model_changed"}
            {"type":"thinking_level_changed","level":"off","thinkingLevel":"off"}
            {"type":"retry_fallback_applied","from":"script/first:medium","to":"script/../third.toml","role":"default","reason":"Overloaded"}
            {"type":"auto_retry_start","attempt":1,"maxAttempts":3,"delayMs":0,"errorMessage":"Overloaded"}
            {"type":"entry_appended","entry":{"type":"context_edit","id":"ID","parentId":"ID","timestamp":"TIME","targetId":"ID","replacement":null}}
            {"type":"agent_start"}
            {"type":"message_end","messageId":"msg-3","message":{"role":"assistant","content":[{"type":"text","text":"Third."}],"api":"script","provider":"script","model":"third","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
            {"type":"retry_fallback_succeeded","model":"script/third","role":"default"}
            {"type":"auto_retry_end","success":true,"attempt":1}
            {"type":"prompt_result","id":"prompt","agentInvoked":true,"status":"completed","sessionSettled":true}
            {"type":"session_settled"}
            {"type":"agent_settled","aborted":false}
        "#]],
    );
    child.send(json!({"id": "p", "type": "prompt", "message": "hi"}));
    let frames = child.until_type("agent_settled");
    assert_eq!(model(&mut child), "first");
    let said = frames
        .iter()
        .find(|frame| frame["type"] == "message_end" && frame["message"]["role"] == "assistant");
    assert_eq!(
        said.unwrap()["message"]["content"][0]["text"],
        "First again."
    );
    let state = child.data(json!({"type": "get_state"}));
    assert_eq!(state["thinkingLevel"], "medium");
}

#[test]
fn it_does_not_come_back_where_it_should_not() {
    let (mut child, _folder) = check(
        OVERLOADED,
        "[retry]\nfallback = [\"script/../second.toml\"]\nfallback_cooldown_ms = 0\nfallback_returns = false\n",
        expect![[r#"
            {"id":"prompt","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
            {"type":"agent_start"}
            {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"first","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"error","errorMessage":"Overloaded","timestamp":"TIME","duration":"MS"}}
            {"type":"model_changed"}
            {"type":"retry_fallback_applied","from":"script/first:medium","to":"script/../second.toml","role":"default","reason":"Overloaded"}
            {"type":"auto_retry_start","attempt":1,"maxAttempts":3,"delayMs":0,"errorMessage":"Overloaded"}
            {"type":"entry_appended","entry":{"type":"context_edit","id":"ID","parentId":"ID","timestamp":"TIME","targetId":"ID","replacement":null}}
            {"type":"agent_start"}
            {"type":"message_end","messageId":"msg-3","message":{"role":"assistant","content":[{"type":"text","text":"Second."}],"api":"script","provider":"script","model":"second","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
            {"type":"retry_fallback_succeeded","model":"script/second:medium","role":"default"}
            {"type":"auto_retry_end","success":true,"attempt":1}
            {"type":"prompt_result","id":"prompt","agentInvoked":true,"status":"completed","sessionSettled":true}
            {"type":"session_settled"}
            {"type":"agent_settled","aborted":false}
        "#]],
    );
    child.prompt("hi");
    assert_eq!(model(&mut child), "second");
}

#[test]
fn a_model_that_broke_off_is_asked_again_before_another_one_is() {
    check(
        "[[turn]]\ntimes = 3\nerror = { kind = \"network\", message = \"Unreachable\" }",
        "[retry]\nbase_delay_ms = 1\nmax_attempts = 2\nfallback = [\"script/../second.toml\"]\n",
        expect![[r#"
            {"id":"prompt","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
            {"type":"agent_start"}
            {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"first","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"error","errorMessage":"Unreachable","timestamp":"TIME","duration":"MS"}}
            {"type":"auto_retry_start","attempt":1,"maxAttempts":2,"delayMs":1,"errorMessage":"Unreachable"}
            {"type":"entry_appended","entry":{"type":"context_edit","id":"ID","parentId":"ID","timestamp":"TIME","targetId":"ID","replacement":null}}
            {"type":"agent_start"}
            {"type":"message_end","messageId":"msg-3","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"first","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"error","errorMessage":"Unreachable","timestamp":"TIME","duration":"MS"}}
            {"type":"auto_retry_start","attempt":2,"maxAttempts":2,"delayMs":2,"errorMessage":"Unreachable"}
            {"type":"entry_appended","entry":{"type":"context_edit","id":"ID","parentId":"ID","timestamp":"TIME","targetId":"ID","replacement":null}}
            {"type":"agent_start"}
            {"type":"message_end","messageId":"msg-4","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"first","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"error","errorMessage":"Unreachable","timestamp":"TIME","duration":"MS"}}
            {"type":"model_changed"}
            {"type":"retry_fallback_applied","from":"script/first:medium","to":"script/../second.toml","role":"default","reason":"Unreachable"}
            {"type":"auto_retry_start","attempt":1,"maxAttempts":2,"delayMs":0,"errorMessage":"Unreachable"}
            {"type":"entry_appended","entry":{"type":"context_edit","id":"ID","parentId":"ID","timestamp":"TIME","targetId":"ID","replacement":null}}
            {"type":"agent_start"}
            {"type":"message_end","messageId":"msg-5","message":{"role":"assistant","content":[{"type":"text","text":"Second."}],"api":"script","provider":"script","model":"second","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
            {"type":"retry_fallback_succeeded","model":"script/second:medium","role":"default"}
            {"type":"auto_retry_end","success":true,"attempt":1}
            {"type":"prompt_result","id":"prompt","agentInvoked":true,"status":"completed","sessionSettled":true}
            {"type":"session_settled"}
            {"type":"agent_settled","aborted":false}
        "#]],
    );
}

#[test]
fn each_of_a_chain_is_tried_once_and_the_last_failure_is_the_end() {
    let (mut child, _folder) = check(
        "[[turn]]\nerror = { kind = \"auth\", message = \"Who are you?\" }",
        "[retry]\nfallback = [\"script/../missing.toml\", \"script/../failing.toml\"]\nfallback_cooldown_ms = 0\n",
        expect![[r#"
            {"id":"prompt","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
            {"type":"agent_start"}
            {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"first","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"error","errorMessage":"Who are you?","timestamp":"TIME","duration":"MS"}}
            {"type":"model_changed"}
            {"type":"retry_fallback_applied","from":"script/first:medium","to":"script/../failing.toml","role":"default","reason":"Who are you?"}
            {"type":"auto_retry_start","attempt":1,"maxAttempts":3,"delayMs":0,"errorMessage":"Who are you?"}
            {"type":"entry_appended","entry":{"type":"context_edit","id":"ID","parentId":"ID","timestamp":"TIME","targetId":"ID","replacement":null}}
            {"type":"agent_start"}
            {"type":"message_end","messageId":"msg-3","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"failing","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"error","errorMessage":"No money left.","timestamp":"TIME","duration":"MS"}}
            {"type":"auto_retry_end","success":false,"attempt":1,"finalError":"No money left."}
            {"type":"prompt_result","id":"prompt","agentInvoked":true,"status":"error","error":{"message":"No money left.","provider":"script","model":"failing","httpStatus":402,"retryable":false},"sessionSettled":true}
            {"type":"session_settled"}
            {"type":"agent_settled","aborted":false}
        "#]],
    );
    assert_eq!(model(&mut child), "failing");
}

#[test]
fn a_model_does_not_step_in_for_itself() {
    let folder = folder(
        OVERLOADED,
        "[retry]\nfallback = [\"script/../scenario.toml\", \"script/../second.toml\"]\nfallback_cooldown_ms = 0\n",
    );
    let mut child = folder.child(&["--no-session"]);
    let applied = child.prompt("hi").into_iter();
    let applied = applied.filter(|frame| frame["type"] == "retry_fallback_applied");
    assert_eq!(
        applied.collect::<Vec<_>>(),
        [json!({
            "type": "retry_fallback_applied",
            "from": "script/first:medium",
            "to": "script/../second.toml",
            "role": "default",
            "reason": "Overloaded",
        })]
    );
}

#[test]
fn without_automatic_retries_no_model_steps_in() {
    let folder = folder(
        OVERLOADED,
        "[retry]\nfallback = [\"script/../second.toml\"]\n",
    );
    let mut child = folder.child(&["--no-session"]);
    child.data(json!({"type": "set_auto_retry", "enabled": false}));
    child.prompt("hi");
    assert_eq!(model(&mut child), "first");
}

#[test]
fn a_chain_of_omps_configuration_counts_for_the_model_it_names() {
    let folder = folder(OVERLOADED, "");
    folder.file(
        "../home/.omp/agent/config.yml",
        "retry:\n  fallbackChains:\n    script/*: [script/../second.toml]\n    script/first: [script/../third.toml]\n    default: [script/../failing.toml]\n",
    );
    let mut child = folder.child(&["--no-session"]);
    expect![[r#"
        {"id":"prompt","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
        {"type":"agent_start"}
        {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"first","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"error","errorMessage":"Overloaded","timestamp":"TIME","duration":"MS"}}
        {"type":"model_changed"}
        {"type":"thinking_level_changed","level":"off","thinkingLevel":"off"}
        {"type":"retry_fallback_applied","from":"script/first:medium","to":"script/../third.toml","role":"script/first","reason":"Overloaded"}
        {"type":"auto_retry_start","attempt":1,"maxAttempts":3,"delayMs":0,"errorMessage":"Overloaded"}
        {"type":"entry_appended","entry":{"type":"context_edit","id":"ID","parentId":"ID","timestamp":"TIME","targetId":"ID","replacement":null}}
        {"type":"agent_start"}
        {"type":"message_end","messageId":"msg-3","message":{"role":"assistant","content":[{"type":"text","text":"Third."}],"api":"script","provider":"script","model":"third","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"retry_fallback_succeeded","model":"script/third","role":"script/first"}
        {"type":"auto_retry_end","success":true,"attempt":1}
        {"type":"prompt_result","id":"prompt","agentInvoked":true,"status":"completed","sessionSettled":true}
        {"type":"session_settled"}
        {"type":"agent_settled","aborted":false}
    "#]].assert_eq(&brief(&child.prompt("hi"), &folder));
}

#[test]
fn a_model_that_somebody_chooses_stands_in_for_nobody() {
    let (mut child, _folder) = check(
        OVERLOADED,
        "[retry]\nfallback = [\"script/../second.toml\"]\nfallback_cooldown_ms = 0\n",
        expect![[r#"
            {"id":"prompt","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
            {"type":"agent_start"}
            {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"first","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"error","errorMessage":"Overloaded","timestamp":"TIME","duration":"MS"}}
            {"type":"model_changed"}
            {"type":"retry_fallback_applied","from":"script/first:medium","to":"script/../second.toml","role":"default","reason":"Overloaded"}
            {"type":"auto_retry_start","attempt":1,"maxAttempts":3,"delayMs":0,"errorMessage":"Overloaded"}
            {"type":"entry_appended","entry":{"type":"context_edit","id":"ID","parentId":"ID","timestamp":"TIME","targetId":"ID","replacement":null}}
            {"type":"agent_start"}
            {"type":"message_end","messageId":"msg-3","message":{"role":"assistant","content":[{"type":"text","text":"Second."}],"api":"script","provider":"script","model":"second","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
            {"type":"retry_fallback_succeeded","model":"script/second:medium","role":"default"}
            {"type":"auto_retry_end","success":true,"attempt":1}
            {"type":"prompt_result","id":"prompt","agentInvoked":true,"status":"completed","sessionSettled":true}
            {"type":"session_settled"}
            {"type":"agent_settled","aborted":false}
        "#]],
    );
    child.data(
        json!({"type": "set_model", "provider": "script", "modelId": "../home/.config/third.toml"}),
    );
    child.prompt("hi");
    assert_eq!(model(&mut child), "third");
}
