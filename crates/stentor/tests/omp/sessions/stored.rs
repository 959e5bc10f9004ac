//! Sessions that pi and omp wrote (section 16).

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use crate::child::Folder;
use crate::transcript::told;

/// Opens a file of another program, says something, and opens it again. The file only grows, unless
/// it is of an older version.
fn check(stored: &str, only_grows: bool, expected: Expect) {
    let folder = Folder::with("[model]\nid = \"mock\"\n[[turn]]\ntext = \"From here.\"");
    folder.file("theirs.jsonl", stored);
    let mut child = folder.child(&["--session-dir", "../sessions"]);
    let switch = json!({"id": 0, "type": "switch_session", "sessionPath": "theirs.jsonl"});
    let mut frames = child.done(switch);
    for (n, command) in [
        "get_messages",
        "get_state",
        "get_session_stats",
        "get_entries",
        "get_branch_messages",
    ]
    .into_iter()
    .enumerate()
    {
        frames.extend(child.done(json!({"id": n + 1, "type": command})));
    }
    expected.assert_eq(&told(&frames, &folder));
    let model = json!({"type": "set_model", "provider": "script", "modelId": "../scenario.toml"});
    child.data(model);
    child.prompt("and here");
    let before: Vec<Value> = child.data(json!({"type": "get_messages"}))["messages"]
        .as_array()
        .unwrap()
        .clone();
    drop(child);
    let now = std::fs::read_to_string(folder.work("theirs.jsonl")).unwrap();
    assert_eq!(now.starts_with(stored), only_grows);
    let mut child = folder.child(&["--session-dir", "../sessions", "--session", "theirs.jsonl"]);
    let after = child.data(json!({"type": "get_messages"}))["messages"].take();
    assert_eq!(after, Value::from(before));
}

#[test]
fn a_session_of_pi_with_a_compaction_a_branch_a_picture_a_command_and_notes() {
    check(
        include_str!("stored/pi.jsonl"),
        true,
        expect![[r#"
            {"type":"notice","level":"warning","message":"skipped an unreadable line, 20 bytes at byte 3225 of the session file: \"this line is damaged\""}
            {"type":"extension_ui_request","id":"3000000200000001","method":"notify","message":"skipped an unreadable line, 20 bytes at byte 3225 of the session file: \"this line is damaged\"","notifyType":"warning"}
            {"type":"notice","level":"warning","message":"the session's model mock/mock-1 is unknown; using script/mock; choose another with --model or in your client"}
            {"type":"extension_ui_request","id":"3000000200000002","method":"notify","message":"the session's model mock/mock-1 is unknown; using script/mock; choose another with --model or in your client","notifyType":"warning"}
            {"id":0,"type":"response","command":"switch_session","success":true,"data":{"cancelled":false}}
            {"id":1,"type":"response","command":"get_messages","success":true,"data":{"messages":[{"role":"compactionSummary","summary":"Things were said.","tokensBefore":1234,"timestamp":"TIME"},{"role":"user","content":[{"type":"text","text":"kept question"},{"type":"image","data":"iVBORw0KGgo=","mimeType":"image/png"}],"timestamp":"TIME"},{"role":"assistant","content":[{"type":"toolCall","id":"call-1","name":"read","arguments":{"path":"x"}}],"api":"anthropic-messages","provider":"mock","model":"mock-1","usage":{"input":1,"output":1,"cacheRead":0,"cacheWrite":0,"totalTokens":2,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"toolUse","timestamp":"TIME"},{"role":"toolResult","toolCallId":"call-1","toolName":"read","content":[{"type":"text","text":"x"}],"isError":false,"timestamp":"TIME"},{"role":"branchSummary","summary":"Something was tried.","fromId":"a0000009","timestamp":"TIME"},{"role":"bashExecution","command":"ls","output":"x\n","exitCode":0,"cancelled":false,"truncated":false,"timestamp":"TIME"},{"role":"custom","customType":"note","content":"a note","display":true,"timestamp":"TIME"}]}}
            {"id":2,"type":"response","command":"get_state","success":true,"data":{"model":{"id":"mock","name":"Scenario mock","api":"script","provider":"script","baseUrl":"","reasoning":true,"input":["text","image"],"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0},"contextWindow":200000,"maxTokens":32000,"thinking":{"mode":"effort","efforts":["minimal","low","medium","high","xhigh"],"minLevel":"minimal","maxLevel":"xhigh"}},"thinkingLevel":"low","isStreaming":false,"isCompacting":false,"steeringMode":"one-at-a-time","followUpMode":"one-at-a-time","interruptMode":"immediate","sessionFile":"ROOT/work/theirs.jsonl","sessionId":"ID1","sessionName":"from pi","autoCompactionEnabled":true,"autoRetryEnabled":true,"messageCount":7,"queuedMessageCount":0,"pendingMessageCount":0,"queuedMessages":{"steering":[],"followUp":[]},"hasPendingAsyncWork":false,"isSettled":true,"fastModeEnabled":false,"fastModeActive":false,"tokensPerSecond":null,"todoPhases":[],"systemPrompt":"…","dumpTools":["read","bash","edit","write","grep","find","ls","todo","job","fetch","subagent"]}}
            {"id":3,"type":"response","command":"get_session_stats","success":true,"data":{"sessionFile":"ROOT/work/theirs.jsonl","sessionId":"ID1","userMessages":1,"assistantMessages":1,"toolCalls":1,"toolResults":1,"totalMessages":7,"tokens":{"input":1,"output":1,"cacheRead":0,"cacheWrite":0,"total":2},"cost":0,"contextUsage":{"tokens":null,"contextWindow":200000,"percent":null},"premiumRequests":0}}
            {"id":4,"type":"response","command":"get_entries","success":true,"data":{"entries":[{"type":"model_change","id":"ID2","parentId":null,"timestamp":"TIME","provider":"mock","modelId":"mock-1","model":"mock/mock-1"},{"type":"thinking_level_change","id":"ID3","parentId":"ID2","timestamp":"TIME","thinkingLevel":"low"},{"type":"message","id":"ID4","parentId":"ID3","timestamp":"TIME","message":{"role":"user","content":[{"type":"text","text":"old question"}],"timestamp":"TIME"}},{"type":"message","id":"ID5","parentId":"ID4","timestamp":"TIME","message":{"role":"assistant","content":[{"type":"thinking","thinking":"Hm.","thinkingSignature":"c2ln"},{"type":"text","text":"Old answer."}],"api":"anthropic-messages","provider":"mock","model":"mock-1","usage":{"input":1,"output":1,"cacheRead":0,"cacheWrite":0,"totalTokens":2,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME"}},{"type":"message","id":"ID6","parentId":"ID5","timestamp":"TIME","message":{"role":"user","content":[{"type":"text","text":"kept question"},{"type":"image","data":"iVBORw0KGgo=","mimeType":"image/png"}],"timestamp":"TIME"}},{"type":"message","id":"ID7","parentId":"ID6","timestamp":"TIME","message":{"role":"assistant","content":[{"type":"toolCall","id":"call-1","name":"read","arguments":{"path":"x"}}],"api":"anthropic-messages","provider":"mock","model":"mock-1","usage":{"input":1,"output":1,"cacheRead":0,"cacheWrite":0,"totalTokens":2,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"toolUse","timestamp":"TIME"}},{"type":"message","id":"ID8","parentId":"ID7","timestamp":"TIME","message":{"role":"toolResult","toolCallId":"call-1","toolName":"read","content":[{"type":"text","text":"x"}],"isError":false,"timestamp":"TIME"}},{"type":"compaction","id":"ID9","parentId":"ID8","timestamp":"TIME","summary":"Things were said.","firstKeptEntryId":"ID6","tokensBefore":1234,"details":{"readFiles":["x"],"modifiedFiles":[]}},{"type":"message","id":"ID10","parentId":"ID9","timestamp":"TIME","message":{"role":"user","content":[{"type":"text","text":"left alone"}],"timestamp":"TIME"}},{"type":"branch_summary","id":"ID11","parentId":"ID9","timestamp":"TIME","fromId":"a0000009","summary":"Something was tried."},{"type":"message","id":"ID12","parentId":"ID11","timestamp":"TIME","message":{"role":"bashExecution","command":"ls","output":"x\n","exitCode":0,"cancelled":false,"truncated":false,"timestamp":"TIME"}},{"type":"custom","id":"ID13","parentId":"ID12","timestamp":"TIME","customType":"state","data":{"n":1}},{"type":"custom_message","id":"ID14","parentId":"ID13","timestamp":"TIME","customType":"note","content":"a note","display":true},{"type":"label","id":"ID15","parentId":"ID14","timestamp":"TIME","targetId":"ID6","label":"here"},{"type":"context_edit","id":"ID16","parentId":"ID15","timestamp":"TIME","unknown":true},{"type":"session_info","id":"ID17","parentId":"ID16","timestamp":"TIME","name":"from pi"}],"leafId":"ID17"}}
            {"id":5,"type":"response","command":"get_branch_messages","success":true,"data":{"messages":[{"entryId":"ID4","text":"old question"},{"entryId":"ID6","text":"kept question"},{"entryId":"ID10","text":"left alone"}]}}
        "#]],
    );
}

#[test]
fn a_line_that_is_missing_costs_that_line_and_is_warned_of() {
    let folder = Folder::with("[[turn]]\ntext = \"x\"\n");
    let entry = |id: &str, parent: Value| {
        let message = json!({"role": "user", "content": id, "timestamp": 1});
        json!({"type": "message", "id": id, "parentId": parent, "timestamp": "2026-01-01T00:00:00.000Z", "message": message})
    };
    let header = json!({"type": "session", "version": 3, "id": "s", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": folder.work("")});
    let lines = [header, entry("a", Value::Null), entry("c", json!("b"))];
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    folder.file("holed.jsonl", &text);
    let mut child = folder.child(&["--session-dir", "../sessions"]);
    let switch = json!({"id": 0, "type": "switch_session", "sessionPath": "holed.jsonl"});
    let said = format!("{:?}", child.done(switch));
    assert!(said.contains("is not in the session file"), "{said}");
    let messages = child.data(json!({"type": "get_messages"}))["messages"].take();
    assert_eq!(messages.as_array().unwrap().len(), 2, "{messages}");
}

#[test]
fn a_session_of_omp_with_its_own_roles_entries_and_title() {
    check(
        include_str!("stored/omp.jsonl"),
        true,
        expect![[r#"
            {"type":"notice","level":"warning","message":"the session's model mock/mock-1 is unknown; using script/mock; choose another with --model or in your client"}
            {"type":"extension_ui_request","id":"3000000200000001","method":"notify","message":"the session's model mock/mock-1 is unknown; using script/mock; choose another with --model or in your client","notifyType":"warning"}
            {"id":0,"type":"response","command":"switch_session","success":true,"data":{"cancelled":false}}
            {"id":1,"type":"response","command":"get_messages","success":true,"data":{"messages":[{"role":"developer","content":[{"type":"text","text":"a reminder"}],"attribution":"agent","timestamp":"TIME"},{"role":"user","content":"a plain string","attribution":"user","timestamp":"TIME"},{"role":"fileMention","files":[{"path":"x","content":"x","lineCount":1}],"timestamp":"TIME"},{"role":"assistant","content":[{"type":"redactedThinking","data":"b3BhcXVl"},{"type":"text","text":"Hello."},{"type":"toolCall","id":"call-1","name":"bash","arguments":{"command":"ls"},"intent":"to look"}],"api":"anthropic-messages","provider":"mock","model":"mock-1","usage":{"input":1,"output":1,"cacheRead":0,"cacheWrite":0,"totalTokens":2,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"toolUse","timestamp":"TIME","duration":"MS","ttft":"MS"},{"role":"toolResult","toolCallId":"call-1","toolName":"bash","content":[{"type":"text","text":"x"}],"details":{"meta":{}},"isError":false,"timestamp":"TIME"},{"role":"pythonExecution","code":"1+1","output":"2","exitCode":0,"cancelled":false,"truncated":false,"timestamp":"TIME"}]}}
            {"id":2,"type":"response","command":"get_state","success":true,"data":{"model":{"id":"mock","name":"Scenario mock","api":"script","provider":"script","baseUrl":"","reasoning":true,"input":["text","image"],"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0},"contextWindow":200000,"maxTokens":32000,"thinking":{"mode":"effort","efforts":["minimal","low","medium","high","xhigh"],"minLevel":"minimal","maxLevel":"xhigh"}},"thinkingLevel":"medium","isStreaming":false,"isCompacting":false,"steeringMode":"one-at-a-time","followUpMode":"one-at-a-time","interruptMode":"immediate","sessionFile":"ROOT/work/theirs.jsonl","sessionId":"ID1","sessionName":"from omp","autoCompactionEnabled":true,"autoRetryEnabled":true,"messageCount":6,"queuedMessageCount":0,"pendingMessageCount":0,"queuedMessages":{"steering":[],"followUp":[]},"hasPendingAsyncWork":false,"isSettled":true,"fastModeEnabled":false,"fastModeActive":false,"tokensPerSecond":null,"todoPhases":[],"contextUsage":{"tokens":15,"contextWindow":200000,"percent":0.0075},"systemPrompt":"…","dumpTools":["read","bash","edit","write","grep","find","ls","todo","job","fetch","subagent"]}}
            {"id":3,"type":"response","command":"get_session_stats","success":true,"data":{"sessionFile":"ROOT/work/theirs.jsonl","sessionId":"ID1","userMessages":1,"assistantMessages":1,"toolCalls":1,"toolResults":1,"totalMessages":6,"tokens":{"input":1,"output":1,"cacheRead":0,"cacheWrite":0,"total":2},"cost":0,"contextUsage":{"tokens":15,"contextWindow":200000,"percent":0.0075},"premiumRequests":0}}
            {"id":4,"type":"response","command":"get_entries","success":true,"data":{"entries":[{"type":"model_change","id":"ID2","parentId":null,"timestamp":"TIME","provider":"mock","modelId":"mock-1","model":"mock/mock-1"},{"type":"thinking_level_change","id":"ID3","parentId":"ID2","timestamp":"TIME","thinkingLevel":null},{"type":"session_init","id":"ID4","parentId":"ID3","timestamp":"TIME","systemPrompt":"You are omp.","task":"t"},{"type":"message","id":"ID5","parentId":"ID4","timestamp":"TIME","message":{"role":"developer","content":[{"type":"text","text":"a reminder"}],"attribution":"agent","timestamp":"TIME"}},{"type":"message","id":"ID6","parentId":"ID5","timestamp":"TIME","message":{"role":"user","content":"a plain string","attribution":"user","timestamp":"TIME"}},{"type":"message","id":"ID7","parentId":"ID6","timestamp":"TIME","message":{"role":"fileMention","files":[{"path":"x","content":"x","lineCount":1}],"timestamp":"TIME"}},{"type":"message","id":"ID8","parentId":"ID7","timestamp":"TIME","message":{"role":"assistant","content":[{"type":"redactedThinking","data":"b3BhcXVl"},{"type":"text","text":"Hello."},{"type":"toolCall","id":"call-1","name":"bash","arguments":{"command":"ls"},"intent":"to look"}],"api":"anthropic-messages","provider":"mock","model":"mock-1","usage":{"input":1,"output":1,"cacheRead":0,"cacheWrite":0,"totalTokens":2,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"toolUse","timestamp":"TIME","duration":"MS","ttft":"MS"}},{"type":"message","id":"ID9","parentId":"ID8","timestamp":"TIME","message":{"role":"toolResult","toolCallId":"call-1","toolName":"bash","content":[{"type":"text","text":"x"}],"details":{"meta":{}},"isError":false,"timestamp":"TIME"}},{"type":"message","id":"ID10","parentId":"ID9","timestamp":"TIME","message":{"role":"pythonExecution","code":"1+1","output":"2","exitCode":0,"cancelled":false,"truncated":false,"timestamp":"TIME"}},{"type":"mode_change","id":"ID11","parentId":"ID10","timestamp":"TIME","mode":"plan"},{"type":"ttsr_injection","id":"ID12","parentId":"ID11","timestamp":"TIME","injectedRules":["no-unwrap"]},{"type":"thinking_level_change","id":"ID13","parentId":"ID12","timestamp":"TIME","thinkingLevel":"medium"}],"leafId":"ID13"}}
            {"id":5,"type":"response","command":"get_branch_messages","success":true,"data":{"messages":[{"entryId":"ID6","text":"a plain string"}]}}
        "#]],
    );
}

#[test]
fn a_session_of_the_first_version_is_lifted() {
    check(
        include_str!("stored/version1.jsonl"),
        false,
        expect![[r#"
            {"type":"notice","level":"warning","message":"the session's model mock/mock-1 is unknown; using script/mock; choose another with --model or in your client"}
            {"type":"extension_ui_request","id":"3000000200000001","method":"notify","message":"the session's model mock/mock-1 is unknown; using script/mock; choose another with --model or in your client","notifyType":"warning"}
            {"id":0,"type":"response","command":"switch_session","success":true,"data":{"cancelled":false}}
            {"id":1,"type":"response","command":"get_messages","success":true,"data":{"messages":[{"role":"user","content":[{"type":"text","text":"from long ago"}],"timestamp":"TIME"},{"role":"custom","customType":"note","content":"an old note","display":true,"timestamp":"TIME"},{"role":"assistant","content":[{"type":"text","text":"Still here."}],"api":"anthropic-messages","provider":"mock","model":"mock-1","usage":{"input":1,"output":1,"cacheRead":0,"cacheWrite":0,"totalTokens":2,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME"}]}}
            {"id":2,"type":"response","command":"get_state","success":true,"data":{"model":{"id":"mock","name":"Scenario mock","api":"script","provider":"script","baseUrl":"","reasoning":true,"input":["text","image"],"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0},"contextWindow":200000,"maxTokens":32000,"thinking":{"mode":"effort","efforts":["minimal","low","medium","high","xhigh"],"minLevel":"minimal","maxLevel":"xhigh"}},"thinkingLevel":"medium","isStreaming":false,"isCompacting":false,"steeringMode":"one-at-a-time","followUpMode":"one-at-a-time","interruptMode":"immediate","sessionFile":"ROOT/work/theirs.jsonl","sessionId":"ID1","autoCompactionEnabled":true,"autoRetryEnabled":true,"messageCount":3,"queuedMessageCount":0,"pendingMessageCount":0,"queuedMessages":{"steering":[],"followUp":[]},"hasPendingAsyncWork":false,"isSettled":true,"fastModeEnabled":false,"fastModeActive":false,"tokensPerSecond":null,"todoPhases":[],"contextUsage":{"tokens":2,"contextWindow":200000,"percent":0.001},"systemPrompt":"…","dumpTools":["read","bash","edit","write","grep","find","ls","todo","job","fetch","subagent"]}}
            {"id":3,"type":"response","command":"get_session_stats","success":true,"data":{"sessionFile":"ROOT/work/theirs.jsonl","sessionId":"ID1","userMessages":1,"assistantMessages":1,"toolCalls":0,"toolResults":0,"totalMessages":3,"tokens":{"input":1,"output":1,"cacheRead":0,"cacheWrite":0,"total":2},"cost":0,"contextUsage":{"tokens":2,"contextWindow":200000,"percent":0.001},"premiumRequests":0}}
            {"id":4,"type":"response","command":"get_entries","success":true,"data":{"entries":[{"type":"message","id":"ID2","parentId":null,"timestamp":"TIME","message":{"role":"user","content":[{"type":"text","text":"from long ago"}],"timestamp":"TIME"}},{"type":"message","id":"ID3","parentId":"ID2","timestamp":"TIME","message":{"role":"custom","customType":"note","content":"an old note","display":true,"timestamp":"TIME"}},{"type":"message","id":"ID4","parentId":"ID3","timestamp":"TIME","message":{"role":"assistant","content":[{"type":"text","text":"Still here."}],"api":"anthropic-messages","provider":"mock","model":"mock-1","usage":{"input":1,"output":1,"cacheRead":0,"cacheWrite":0,"totalTokens":2,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME"}},{"type":"thinking_level_change","id":"ID5","parentId":"ID4","timestamp":"TIME","thinkingLevel":"medium"}],"leafId":"ID5"}}
            {"id":5,"type":"response","command":"get_branch_messages","success":true,"data":{"messages":[{"entryId":"ID2","text":"from long ago"}]}}
        "#]],
    );
}

#[test]
fn a_session_of_the_second_version_is_lifted() {
    check(
        include_str!("stored/version2.jsonl"),
        false,
        expect![[r#"
            {"type":"notice","level":"warning","message":"the session's model mock/mock-1 is unknown; using script/mock; choose another with --model or in your client"}
            {"type":"extension_ui_request","id":"3000000200000001","method":"notify","message":"the session's model mock/mock-1 is unknown; using script/mock; choose another with --model or in your client","notifyType":"warning"}
            {"id":0,"type":"response","command":"switch_session","success":true,"data":{"cancelled":false}}
            {"id":1,"type":"response","command":"get_messages","success":true,"data":{"messages":[{"role":"user","content":[{"type":"text","text":"from a while ago"}],"timestamp":"TIME"},{"role":"custom","customType":"note","content":"an old note","display":true,"timestamp":"TIME"},{"role":"assistant","content":[{"type":"text","text":"Still here."}],"api":"anthropic-messages","provider":"mock","model":"mock-1","usage":{"input":1,"output":1,"cacheRead":0,"cacheWrite":0,"totalTokens":2,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME"}]}}
            {"id":2,"type":"response","command":"get_state","success":true,"data":{"model":{"id":"mock","name":"Scenario mock","api":"script","provider":"script","baseUrl":"","reasoning":true,"input":["text","image"],"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0},"contextWindow":200000,"maxTokens":32000,"thinking":{"mode":"effort","efforts":["minimal","low","medium","high","xhigh"],"minLevel":"minimal","maxLevel":"xhigh"}},"thinkingLevel":"medium","isStreaming":false,"isCompacting":false,"steeringMode":"one-at-a-time","followUpMode":"one-at-a-time","interruptMode":"immediate","sessionFile":"ROOT/work/theirs.jsonl","sessionId":"ID1","autoCompactionEnabled":true,"autoRetryEnabled":true,"messageCount":3,"queuedMessageCount":0,"pendingMessageCount":0,"queuedMessages":{"steering":[],"followUp":[]},"hasPendingAsyncWork":false,"isSettled":true,"fastModeEnabled":false,"fastModeActive":false,"tokensPerSecond":null,"todoPhases":[],"contextUsage":{"tokens":2,"contextWindow":200000,"percent":0.001},"systemPrompt":"…","dumpTools":["read","bash","edit","write","grep","find","ls","todo","job","fetch","subagent"]}}
            {"id":3,"type":"response","command":"get_session_stats","success":true,"data":{"sessionFile":"ROOT/work/theirs.jsonl","sessionId":"ID1","userMessages":1,"assistantMessages":1,"toolCalls":0,"toolResults":0,"totalMessages":3,"tokens":{"input":1,"output":1,"cacheRead":0,"cacheWrite":0,"total":2},"cost":0,"contextUsage":{"tokens":2,"contextWindow":200000,"percent":0.001},"premiumRequests":0}}
            {"id":4,"type":"response","command":"get_entries","success":true,"data":{"entries":[{"type":"message","id":"ID2","parentId":null,"timestamp":"TIME","message":{"role":"user","content":[{"type":"text","text":"from a while ago"}],"timestamp":"TIME"}},{"type":"message","id":"ID3","parentId":"ID2","timestamp":"TIME","message":{"role":"custom","customType":"note","content":"an old note","display":true,"timestamp":"TIME"}},{"type":"message","id":"ID4","parentId":"ID3","timestamp":"TIME","message":{"role":"assistant","content":[{"type":"text","text":"Still here."}],"api":"anthropic-messages","provider":"mock","model":"mock-1","usage":{"input":1,"output":1,"cacheRead":0,"cacheWrite":0,"totalTokens":2,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME"}},{"type":"thinking_level_change","id":"ID5","parentId":"ID4","timestamp":"TIME","thinkingLevel":"medium"}],"leafId":"ID5"}}
            {"id":5,"type":"response","command":"get_branch_messages","success":true,"data":{"messages":[{"entryId":"ID2","text":"from a while ago"}]}}
        "#]],
    );
}

#[test]
fn a_conversation_is_kept_in_a_folder_for_its_own_folder_under_its_time_and_id() {
    let folder = Folder::with("[model]\nid = \"mock\"\n[[turn]]\ntext = \"x\"");
    let mut child = folder.child(&[]);
    child.prompt("hi");
    let path = child.data(json!({"type": "get_state"}))["sessionFile"].clone();
    let path = path.as_str().unwrap();
    let kept = std::fs::read_to_string(path).unwrap();
    let header: Value = serde_json::from_str(kept.lines().next().unwrap()).unwrap();
    let time = header["timestamp"]
        .as_str()
        .unwrap()
        .replace([':', '.'], "-");
    let here = folder.work("").to_string_lossy().into_owned();
    let encoded = here.trim_matches('/').replace('/', "-");
    let sessions = folder.home(".pi/agent/sessions");
    let expected = format!(
        "{}/--{encoded}--/{time}_{}.jsonl",
        sessions.display(),
        header["id"].as_str().unwrap()
    );
    assert_eq!(path, expected);
}
