//! The answer to every command (sections 6 and 19), as a whole frame.

use expect_test::expect;
use serde_json::{Value, json};

use crate::child::{Folder, shown};
use crate::transcript::told;

#[test]
fn every_command_is_answered_with_its_id_and_its_data() {
    let folder = Folder::with(
        r#"
        usage = { input = 100, output = 25 }
        [model]
        id = "mock"
        prices = { input = 3, output = 15 }
        [[turn]]
        text = "One."
        [[turn]]
        text = "Two."
        [compaction]
        summary = "Said."
        "#,
    );
    let mut child = folder.child(&["--session-dir", "../sessions", "--tools", "read"]);
    child.prompt("first");
    let commands = [
        json!({"type": "get_state"}),
        json!({"type": "get_messages"}),
        json!({"type": "get_last_assistant_text"}),
        json!({"type": "get_session_stats"}),
        json!({"type": "get_available_thinking_levels"}),
        json!({"type": "set_thinking_level", "level": "max"}),
        json!({"type": "cycle_thinking_level"}),
        json!({"type": "set_steering_mode", "mode": "all"}),
        json!({"type": "set_follow_up_mode", "mode": "all"}),
        json!({"type": "set_interrupt_mode", "mode": "wait"}),
        json!({"type": "set_auto_compaction", "enabled": false}),
        json!({"type": "set_auto_retry", "enabled": false}),
        json!({"type": "abort"}),
        json!({"type": "abort_retry"}),
        json!({"type": "abort_bash"}),
        json!({"type": "steer", "message": "a"}),
        json!({"type": "follow_up", "message": "b", "images": [{"type": "image", "data": "aGk=", "mimeType": "image/png"}]}),
        json!({"type": "follow_up", "message": "c"}),
        json!({"type": "promote_queued_message", "message": "c"}),
        json!({"type": "promote_queued_message", "message": "nowhere"}),
        json!({"type": "remove_queued_message", "message": "a", "queue": "steering"}),
        json!({"type": "remove_queued_message", "message": "a", "queue": "followUp"}),
        json!({"type": "clear_queue"}),
        json!({"type": "bash", "command": "echo out; echo err 1>&2; exit 3"}),
        json!({"type": "bash", "command": "echo secret", "excludeFromContext": true}),
        json!({"type": "get_messages_page"}),
        json!({"type": "set_todos", "phases": [{"name": "x", "tasks": [{"content": "y", "status": "pending"}]}]}),
        json!({"type": "set_host_tools", "tools": [{"name": "look", "description": "Looks.", "parameters": {"type": "object"}}]}),
        json!({"type": "set_host_uri_schemes", "schemes": [{"scheme": "issue"}]}),
        json!({"type": "get_login_providers"}),
        json!({"type": "get_commands"}),
        json!({"type": "get_available_commands"}),
        json!({"type": "set_subagent_subscription", "level": "events"}),
        json!({"type": "get_subagents"}),
        json!({"type": "set_event_filter", "events": ["agent_end"], "messageUpdates": "full"}),
        json!({"type": "set_event_filter", "events": null}),
        json!({"type": "set_session_name", "name": "n"}),
        json!({"type": "export_html", "outputPath": "out.html"}),
        json!({"type": "set_model", "provider": "offline", "modelId": "guide"}),
        json!({"type": "compact", "customInstructions": "Be brief"}),
        json!({"type": "get_branch_messages"}),
        json!({"type": "negotiate_protocol", "protocolVersion": 2}),
    ];
    let mut answers: Vec<Value> = Vec::new();
    for command in commands {
        answers.push(child.ask(command));
    }
    expect![[r#"
        {"id":"asked","type":"response","command":"get_state","success":true,"data":{"model":{"id":"mock","name":"Scenario mock","api":"script","provider":"script","baseUrl":"","reasoning":true,"input":["text","image"],"cost":{"input":3,"output":15,"cacheRead":0,"cacheWrite":0},"contextWindow":200000,"maxTokens":32000,"thinking":{"mode":"effort","efforts":["minimal","low","medium","high","xhigh"],"minLevel":"minimal","maxLevel":"xhigh"}},"thinkingLevel":"medium","isStreaming":false,"isCompacting":false,"steeringMode":"one-at-a-time","followUpMode":"one-at-a-time","interruptMode":"immediate","sessionFile":"ROOT/sessions/TIME_ID.jsonl","sessionId":"ID1","autoCompactionEnabled":true,"autoRetryEnabled":true,"messageCount":2,"queuedMessageCount":0,"pendingMessageCount":0,"queuedMessages":{"steering":[],"followUp":[]},"hasPendingAsyncWork":false,"isSettled":true,"fastModeEnabled":false,"fastModeActive":false,"tokensPerSecond":null,"todoPhases":[],"contextUsage":{"tokens":125,"contextWindow":200000,"percent":0.0625},"systemPrompt":"…","dumpTools":["read"]}}
        {"id":"asked","type":"response","command":"get_messages","success":true,"data":{"messages":[{"role":"user","content":[{"type":"text","text":"first"}],"attribution":"user","timestamp":"TIME"},{"role":"assistant","content":[{"type":"text","text":"One."}],"api":"script","provider":"script","model":"mock","usage":{"input":100,"output":25,"cacheRead":0,"cacheWrite":0,"totalTokens":125,"cost":{"input":0.00030000000000000003,"output":0.000375,"cacheRead":0,"cacheWrite":0,"total":0.000675}},"stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}]}}
        {"id":"asked","type":"response","command":"get_last_assistant_text","success":true,"data":{"text":"One."}}
        {"id":"asked","type":"response","command":"get_session_stats","success":true,"data":{"sessionFile":"ROOT/sessions/TIME_ID.jsonl","sessionId":"ID1","userMessages":1,"assistantMessages":1,"toolCalls":0,"toolResults":0,"totalMessages":2,"tokens":{"input":100,"output":25,"cacheRead":0,"cacheWrite":0,"total":125},"cost":0.000675,"contextUsage":{"tokens":125,"contextWindow":200000,"percent":0.0625},"premiumRequests":0}}
        {"id":"asked","type":"response","command":"get_available_thinking_levels","success":true,"data":{"levels":["off","minimal","low","medium","high","xhigh"]}}
        {"id":"asked","type":"response","command":"set_thinking_level","success":true}
        {"id":"asked","type":"response","command":"cycle_thinking_level","success":true,"data":{"level":"off"}}
        {"id":"asked","type":"response","command":"set_steering_mode","success":true}
        {"id":"asked","type":"response","command":"set_follow_up_mode","success":true}
        {"id":"asked","type":"response","command":"set_interrupt_mode","success":true}
        {"id":"asked","type":"response","command":"set_auto_compaction","success":true}
        {"id":"asked","type":"response","command":"set_auto_retry","success":true}
        {"id":"asked","type":"response","command":"abort","success":true}
        {"id":"asked","type":"response","command":"abort_retry","success":true}
        {"id":"asked","type":"response","command":"abort_bash","success":true}
        {"id":"asked","type":"response","command":"steer","success":true,"data":{"disposition":"queued"}}
        {"id":"asked","type":"response","command":"follow_up","success":true,"data":{"disposition":"queued"}}
        {"id":"asked","type":"response","command":"follow_up","success":true,"data":{"disposition":"queued"}}
        {"id":"asked","type":"response","command":"promote_queued_message","success":true,"data":{"promoted":true}}
        {"id":"asked","type":"response","command":"promote_queued_message","success":true,"data":{"promoted":false}}
        {"id":"asked","type":"response","command":"remove_queued_message","success":true,"data":{"removed":true}}
        {"id":"asked","type":"response","command":"remove_queued_message","success":true,"data":{"removed":false}}
        {"id":"asked","type":"response","command":"clear_queue","success":true,"data":{"steering":["c"],"followUp":["b"]}}
        {"id":"asked","type":"response","command":"bash","success":true,"data":{"output":"out\nerr\n","exitCode":3,"cancelled":false,"truncated":false,"totalLines":3,"totalBytes":8,"outputLines":3,"outputBytes":8}}
        {"id":"asked","type":"response","command":"bash","success":true,"data":{"output":"secret\n","exitCode":0,"cancelled":false,"truncated":false,"totalLines":2,"totalBytes":7,"outputLines":2,"outputBytes":7}}
        {"id":"asked","type":"response","command":"get_messages_page","success":true,"data":{"messages":[{"role":"user","content":[{"type":"text","text":"first"}],"attribution":"user","timestamp":"TIME"},{"role":"assistant","content":[{"type":"text","text":"One."}],"api":"script","provider":"script","model":"mock","usage":{"input":100,"output":25,"cacheRead":0,"cacheWrite":0,"totalTokens":125,"cost":{"input":0.00030000000000000003,"output":0.000375,"cacheRead":0,"cacheWrite":0,"total":0.000675}},"stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"},{"role":"bashExecution","command":"echo out; echo err 1>&2; exit 3","output":"out\nerr\n","exitCode":3,"cancelled":false,"truncated":false,"timestamp":"TIME"},{"role":"bashExecution","command":"echo secret","output":"secret\n","exitCode":0,"cancelled":false,"truncated":false,"excludeFromContext":true,"timestamp":"TIME"}],"totalMessages":4}}
        {"id":"asked","type":"response","command":"set_todos","success":true,"data":{"todoPhases":[{"name":"x","tasks":[{"content":"y","status":"pending"}]}]}}
        {"id":"asked","type":"response","command":"set_host_tools","success":true,"data":{"toolNames":["look"]}}
        {"id":"asked","type":"response","command":"set_host_uri_schemes","success":true,"data":{"schemes":["issue"]}}
        {"id":"asked","type":"response","command":"get_login_providers","success":true,"data":{"providers":[{"id":"anthropic","name":"Anthropic","available":true,"authenticated":false},{"id":"openai-codex","name":"OpenAI with a ChatGPT subscription","available":true,"authenticated":false},{"id":"github-copilot","name":"GitHub Copilot","available":true,"authenticated":false}]}}
        {"id":"asked","type":"response","command":"get_commands","success":true,"data":{"commands":[]}}
        {"id":"asked","type":"response","command":"get_available_commands","success":true,"data":{"commands":[{"name":"plan","description":"Plan first: only read until you have accepted a plan","input":{"hint":"[on|off]"},"source":"builtin"},{"name":"rewind","description":"Go back to the point before a message: files, conversation or both","input":{"hint":"[MESSAGE] [--files|--conversation] [--force], or --undo"},"source":"builtin"},{"name":"jobs","description":"List what runs in the background, show its output, or stop it","input":{"hint":"[ID], or stop ID"},"source":"builtin"}]}}
        {"id":"asked","type":"response","command":"set_subagent_subscription","success":true,"data":{"level":"events"}}
        {"id":"asked","type":"response","command":"get_subagents","success":true,"data":{"subagents":[]}}
        {"id":"asked","type":"response","command":"set_event_filter","success":true,"data":{"events":["agent_end"],"messageUpdates":"full"}}
        {"id":"asked","type":"response","command":"set_event_filter","success":true,"data":{"events":null,"messageUpdates":"full"}}
        {"id":"asked","type":"response","command":"set_session_name","success":true}
        {"id":"asked","type":"response","command":"export_html","success":true,"data":{"path":"out.html"}}
        {"id":"asked","type":"response","command":"set_model","success":true,"data":{"id":"guide","name":"Offline guide","api":"offline","provider":"offline","baseUrl":"","reasoning":true,"input":["text"],"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0},"contextWindow":200000,"maxTokens":32000,"thinking":{"mode":"effort","efforts":["minimal","low","medium","high","xhigh"],"minLevel":"minimal","maxLevel":"xhigh"}}}
        {"id":"asked","type":"response","command":"compact","success":true,"data":{"summary":"Summary of 1 earlier messages.\n\n## What the user asked for\n- <conversation>","shortSummary":"Summary of 1 earlier messages.","firstKeptEntryId":"ID2","tokensBefore":140,"estimatedTokensAfter":24,"details":{"readFiles":[],"modifiedFiles":[]}}}
        {"id":"asked","type":"response","command":"get_branch_messages","success":true,"data":{"messages":[{"entryId":"ID3","text":"first"}]}}
        {"id":"asked","type":"response","command":"negotiate_protocol","success":true,"data":{"protocolVersion":2}}
    "#]].assert_eq(&told(&answers, &folder));
    assert!(folder.work("out.html").exists());
}

#[test]
fn commands_sent_at_once_are_done_in_their_order() {
    let folder = Folder::with(
        "[model]\nid = \"mock\"\n[[turn]]\nsteps = [{ text = \"Well\" }, { hang = true }]",
    );
    let mut child = folder.child(&["--no-session"]);
    for (id, command) in [
        json!({"type": "set_thinking_level", "level": "low"}),
        json!({"type": "get_state"}),
        json!({"type": "bash", "command": "sleep 300"}),
        json!({"type": "prompt", "message": "never ends"}),
        json!({"type": "abort_bash"}),
        json!({"type": "abort"}),
        json!({"type": "get_state"}),
    ]
    .into_iter()
    .enumerate()
    {
        let mut command = command;
        command["id"] = json!(id);
        child.send(command);
    }
    let mut answers = vec![Value::Null; 7];
    while answers.iter().any(Value::is_null) {
        let frame = child.until_type("response").pop().unwrap();
        let id = usize::try_from(frame["id"].as_u64().unwrap()).unwrap();
        answers[id] = frame;
    }
    // The abort is answered when the run has ended, beside the commands behind it: whether the
    // state is that of before or after depends on time.
    let state = answers[6]["data"].as_object_mut().unwrap();
    for key in ["isStreaming", "isSettled", "messageCount", "contextUsage"] {
        state.insert(key.to_owned(), json!("…"));
    }
    expect![[r#"
        {"id":0,"type":"response","command":"set_thinking_level","success":true}
        {"id":1,"type":"response","command":"get_state","success":true,"data":{"model":{"id":"mock","name":"Scenario mock","api":"script","provider":"script","baseUrl":"","reasoning":true,"input":["text","image"],"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0},"contextWindow":200000,"maxTokens":32000,"thinking":{"mode":"effort","efforts":["minimal","low","medium","high","xhigh"],"minLevel":"minimal","maxLevel":"xhigh"}},"thinkingLevel":"low","isStreaming":false,"isCompacting":false,"steeringMode":"one-at-a-time","followUpMode":"one-at-a-time","interruptMode":"immediate","sessionId":"ID1","autoCompactionEnabled":true,"autoRetryEnabled":true,"messageCount":0,"queuedMessageCount":0,"pendingMessageCount":0,"queuedMessages":{"steering":[],"followUp":[]},"hasPendingAsyncWork":false,"isSettled":true,"fastModeEnabled":false,"fastModeActive":false,"tokensPerSecond":null,"todoPhases":[],"systemPrompt":"…","dumpTools":["read","bash","edit","write","grep","find","ls","todo","job","fetch","subagent"]}}
        {"id":2,"type":"response","command":"bash","success":true,"data":{"output":"","cancelled":true,"truncated":false,"totalLines":0,"totalBytes":0,"outputLines":0,"outputBytes":0}}
        {"id":3,"type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
        {"id":4,"type":"response","command":"abort_bash","success":true}
        {"id":5,"type":"response","command":"abort","success":true}
        {"id":6,"type":"response","command":"get_state","success":true,"data":{"model":{"id":"mock","name":"Scenario mock","api":"script","provider":"script","baseUrl":"","reasoning":true,"input":["text","image"],"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0},"contextWindow":200000,"maxTokens":32000,"thinking":{"mode":"effort","efforts":["minimal","low","medium","high","xhigh"],"minLevel":"minimal","maxLevel":"xhigh"}},"thinkingLevel":"low","isStreaming":"…","isCompacting":false,"steeringMode":"one-at-a-time","followUpMode":"one-at-a-time","interruptMode":"immediate","sessionId":"ID1","autoCompactionEnabled":true,"autoRetryEnabled":true,"messageCount":"…","queuedMessageCount":0,"pendingMessageCount":0,"queuedMessages":{"steering":[],"followUp":[]},"hasPendingAsyncWork":false,"isSettled":"…","fastModeEnabled":false,"fastModeActive":false,"tokensPerSecond":null,"todoPhases":[],"systemPrompt":"…","dumpTools":["read","bash","edit","write","grep","find","ls","todo","job","fetch","subagent"],"contextUsage":"…"}}
    "#]].assert_eq(&told(&answers, &folder));
}

#[test]
fn the_state_says_what_the_model_is_told_and_has() {
    let folder = Folder::with("[model]\nid = \"mock\"\n[[turn]]\ntext = \"x\"");
    folder.file("AGENTS.md", "Be kind.\n");
    let mut child = folder.child(&[
        "--no-session",
        "--tools",
        "ls",
        "--system-prompt",
        "You are terse.",
        "--append-system-prompt",
        "Very terse.",
    ]);
    let state = child.ask(json!({"type": "get_state"}));
    let mut prompt = state["data"]["systemPrompt"][0]
        .as_str()
        .unwrap()
        .to_owned();
    let today = prompt
        .find("202")
        .and_then(|at| prompt.get(at..at + 10))
        .unwrap()
        .to_owned();
    prompt = prompt.replace(&today, "DATE");
    let here = folder
        .work("")
        .to_string_lossy()
        .trim_end_matches('/')
        .to_owned();
    expect![[r#"
        You are terse.

        Very terse.

        <project_context>
        Instructions of the user and the project. Where two differ, the later one counts.

        <file path="HERE/AGENTS.md">
        Be kind.
        </file>
        </project_context>

        Today is DATE.
        The working folder is HERE"#]]
    .assert_eq(&prompt.replace(&here, "HERE"));
    expect![[r#"
        [{"name":"ls","description":"List directory contents. Returns entries sorted alphabetically, with '/' suffix for directories. Includes dotfiles. Output is truncated to 500 entries or 50KB (whichever is hit first).","parameters":{"type":"object","properties":{"path":{"type":"string","description":"Directory to list (default: current directory)"},"limit":{"type":"number","description":"Maximum number of entries to return (default: 500)"}},"required":[]}}]
    "#]].assert_eq(&shown(&[state["data"]["dumpTools"].clone()], &folder));
}
