//! Conversations: new ones, stored ones, copies (sections 6.4 and 16).

use expect_test::expect;
use serde_json::{Value, json};

use crate::child::{Child, Folder};
use crate::transcript::{lines_of, told};

const TALK: &str = r#"
on_exhausted = "repeat-last"
[model]
id = "mock"
[[turn]]
text = "One."
[[turn]]
text = "Two."
"#;

fn two_prompts(folder: &Folder) -> Child {
    let mut child = folder.child(&["--session-dir", "../sessions"]);
    child.prompt("first");
    child.prompt("second");
    child
}

fn file(child: &mut Child) -> String {
    child.data(json!({"type": "get_state"}))["sessionFile"]
        .as_str()
        .unwrap()
        .to_owned()
}

/// Asks one command after the other, numbered. Returns all that is told.
fn asked(child: &mut Child, commands: &[Value]) -> Vec<Value> {
    let mut frames = Vec::new();
    for (n, command) in commands.iter().enumerate() {
        let mut command = command.clone();
        command["id"] = json!(n);
        frames.extend(child.done(command));
    }
    frames
}

#[test]
fn a_conversation_is_kept_line_by_line() {
    let folder = Folder::with(
        r#"
        usage = { input = 100, output = 25 }
        [model]
        id = "mock"
        prices = { input = 3, output = 15 }
        [[turn]]
        response_id = "resp-1"
        steps = [
          { thinking = "Hm.", signature = "c2ln" },
          { text = "I look." },
          { tool = "read", id = "call-1", arguments = { path = "notes.txt" } },
        ]
        [[turn]]
        text = "Done."
        "#,
    );
    folder.file("notes.txt", "alpha\n");
    let mut child = folder.child(&["--session-dir", "../sessions"]);
    let path = file(&mut child);
    // Nothing is written before something was said.
    assert!(!std::path::Path::new(&path).exists());
    child.prompt("first");
    asked(
        &mut child,
        &[
            json!({"type": "set_model", "provider": "offline", "modelId": "guide"}),
            json!({"type": "set_thinking_level", "level": "low"}),
            json!({"type": "set_session_name", "name": "my work"}),
            json!({"type": "bash", "command": "echo hi"}),
        ],
    );
    expect![[r#"
        {"type":"session","version":3,"id":"ID1","timestamp":"TIME","cwd":"ROOT/work"}
        {"type":"model_change","id":"ID2","parentId":null,"timestamp":"TIME","provider":"script","modelId":"mock","model":"script/mock"}
        {"type":"thinking_level_change","id":"ID3","parentId":"ID2","timestamp":"TIME","thinkingLevel":"medium"}
        {"type":"message","id":"ID4","parentId":"ID3","timestamp":"TIME","message":{"role":"user","content":[{"type":"text","text":"first"}],"attribution":"user","timestamp":"TIME"}}
        {"type":"message","id":"ID5","parentId":"ID4","timestamp":"TIME","message":{"role":"assistant","content":[{"type":"thinking","thinking":"Hm.","thinkingSignature":"c2ln"},{"type":"text","text":"I look."},{"type":"toolCall","id":"call-1","name":"read","arguments":{"path":"notes.txt"}}],"api":"script","provider":"script","model":"mock","usage":{"input":100,"output":25,"cacheRead":0,"cacheWrite":0,"totalTokens":125,"cost":{"input":0.00030000000000000003,"output":0.000375,"cacheRead":0,"cacheWrite":0,"total":0.000675}},"stopReason":"toolUse","timestamp":"TIME","responseId":"resp-1","duration":"MS","ttft":"MS"}}
        {"type":"message","id":"ID6","parentId":"ID5","timestamp":"TIME","message":{"role":"toolResult","toolCallId":"call-1","toolName":"read","content":[{"type":"text","text":"alpha\n"}],"isError":false,"timestamp":"TIME"}}
        {"type":"message","id":"ID7","parentId":"ID6","timestamp":"TIME","message":{"role":"assistant","content":[{"type":"text","text":"Done."}],"api":"script","provider":"script","model":"mock","usage":{"input":100,"output":25,"cacheRead":0,"cacheWrite":0,"totalTokens":125,"cost":{"input":0.00030000000000000003,"output":0.000375,"cacheRead":0,"cacheWrite":0,"total":0.000675}},"stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"model_change","id":"ID8","parentId":"ID7","timestamp":"TIME","provider":"offline","modelId":"guide","model":"offline/guide"}
        {"type":"thinking_level_change","id":"ID9","parentId":"ID8","timestamp":"TIME","thinkingLevel":"low"}
        {"type":"session_info","id":"ID10","parentId":"ID9","timestamp":"TIME","name":"my work"}
        {"type":"message","id":"ID11","parentId":"ID10","timestamp":"TIME","message":{"role":"bashExecution","command":"echo hi","output":"hi\n","exitCode":0,"cancelled":false,"truncated":false,"timestamp":"TIME"}}
    "#]].assert_eq(&lines_of(&path, &folder));
}

#[test]
fn branch_and_fork_stop_before_the_message_and_name_where_they_come_from() {
    let mut each = Vec::new();
    for (list, copy) in [
        ("get_branch_messages", "branch"),
        ("get_fork_messages", "fork"),
    ] {
        let folder = Folder::with(TALK);
        let mut child = two_prompts(&folder);
        let first = file(&mut child);
        let mut frames = child.done(json!({"id": "l", "type": list}));
        let second = frames[0]["data"]["messages"][1]["entryId"].clone();
        frames.extend(asked(
            &mut child,
            &[
                json!({"type": copy, "entryId": second}),
                json!({"type": "get_messages"}),
                json!({"type": "get_state"}),
            ],
        ));
        // They differ in nothing but their names.
        let text = told(&frames, &folder);
        let text = text.replace(list, "LIST").replace(copy, "COPY");
        child.prompt("third");
        let path = file(&mut child);
        let kept = std::fs::read_to_string(&path).unwrap();
        let header: Value = serde_json::from_str(kept.lines().next().unwrap()).unwrap();
        assert_eq!(header["parentSession"], first);
        // The entries that were copied have the ids they had.
        let original = std::fs::read_to_string(first).unwrap();
        let copied: Vec<&str> = original.lines().skip(1).take(4).collect();
        assert_eq!(kept.lines().skip(1).take(4).collect::<Vec<_>>(), copied);
        let lines = lines_of(&path, &folder);
        each.push((text, lines));
    }
    assert_eq!(each[0], each[1]);
    expect![[r#"
        {"id":"l","type":"response","command":"LIST","success":true,"data":{"messages":[{"entryId":"ID1","text":"first"},{"entryId":"ID2","text":"second"}]}}
        {"id":0,"type":"response","command":"COPY","success":true,"data":{"text":"second","cancelled":false}}
        {"id":1,"type":"response","command":"get_messages","success":true,"data":{"messages":[{"role":"user","content":[{"type":"text","text":"first"}],"attribution":"user","timestamp":"TIME"},{"role":"assistant","content":[{"type":"text","text":"One."}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}]}}
        {"id":2,"type":"response","command":"get_state","success":true,"data":{"model":{"id":"mock","name":"Scenario mock","api":"script","provider":"script","baseUrl":"","reasoning":true,"input":["text","image"],"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0},"contextWindow":200000,"maxTokens":32000,"thinking":{"mode":"effort","efforts":["minimal","low","medium","high","xhigh"],"minLevel":"minimal","maxLevel":"xhigh"}},"thinkingLevel":"medium","isStreaming":false,"isCompacting":false,"steeringMode":"one-at-a-time","followUpMode":"one-at-a-time","interruptMode":"immediate","sessionFile":"ROOT/sessions/TIME_ID.jsonl","sessionId":"ID3","autoCompactionEnabled":true,"autoRetryEnabled":true,"messageCount":2,"queuedMessageCount":0,"pendingMessageCount":0,"queuedMessages":{"steering":[],"followUp":[]},"hasPendingAsyncWork":false,"isSettled":true,"fastModeEnabled":false,"fastModeActive":false,"tokensPerSecond":null,"todoPhases":[],"systemPrompt":"…","dumpTools":["read","bash","edit","write","grep","find","ls","todo","job","fetch","subagent"]}}
    "#]].assert_eq(&each[0].0);
    expect![[r#"
        {"type":"session","version":3,"id":"ID1","timestamp":"TIME","cwd":"ROOT/work","parentSession":"ROOT/sessions/TIME_ID.jsonl"}
        {"type":"model_change","id":"ID2","parentId":null,"timestamp":"TIME","provider":"script","modelId":"mock","model":"script/mock"}
        {"type":"thinking_level_change","id":"ID3","parentId":"ID2","timestamp":"TIME","thinkingLevel":"medium"}
        {"type":"message","id":"ID4","parentId":"ID3","timestamp":"TIME","message":{"role":"user","content":[{"type":"text","text":"first"}],"attribution":"user","timestamp":"TIME"}}
        {"type":"message","id":"ID5","parentId":"ID4","timestamp":"TIME","message":{"role":"assistant","content":[{"type":"text","text":"One."}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"message","id":"ID6","parentId":"ID5","timestamp":"TIME","message":{"role":"user","content":[{"type":"text","text":"third"}],"attribution":"user","timestamp":"TIME"}}
        {"type":"message","id":"ID7","parentId":"ID6","timestamp":"TIME","message":{"role":"assistant","content":[{"type":"text","text":"Two."}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
    "#]].assert_eq(&each[0].1);
}

#[test]
fn a_clone_has_everything_and_is_another_file() {
    let folder = Folder::with(TALK);
    let mut child = two_prompts(&folder);
    let first = file(&mut child);
    let frames = asked(
        &mut child,
        &[
            json!({"type": "clone"}),
            json!({"type": "get_state"}),
            json!({"type": "get_messages"}),
        ],
    );
    assert_ne!(file(&mut child), first);
    expect![[r#"
        {"id":0,"type":"response","command":"clone","success":true,"data":{"cancelled":false}}
        {"id":1,"type":"response","command":"get_state","success":true,"data":{"model":{"id":"mock","name":"Scenario mock","api":"script","provider":"script","baseUrl":"","reasoning":true,"input":["text","image"],"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0},"contextWindow":200000,"maxTokens":32000,"thinking":{"mode":"effort","efforts":["minimal","low","medium","high","xhigh"],"minLevel":"minimal","maxLevel":"xhigh"}},"thinkingLevel":"medium","isStreaming":false,"isCompacting":false,"steeringMode":"one-at-a-time","followUpMode":"one-at-a-time","interruptMode":"immediate","sessionFile":"ROOT/sessions/TIME_ID.jsonl","sessionId":"ID1","autoCompactionEnabled":true,"autoRetryEnabled":true,"messageCount":4,"queuedMessageCount":0,"pendingMessageCount":0,"queuedMessages":{"steering":[],"followUp":[]},"hasPendingAsyncWork":false,"isSettled":true,"fastModeEnabled":false,"fastModeActive":false,"tokensPerSecond":null,"todoPhases":[],"systemPrompt":"…","dumpTools":["read","bash","edit","write","grep","find","ls","todo","job","fetch","subagent"]}}
        {"id":2,"type":"response","command":"get_messages","success":true,"data":{"messages":[{"role":"user","content":[{"type":"text","text":"first"}],"attribution":"user","timestamp":"TIME"},{"role":"assistant","content":[{"type":"text","text":"One."}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"},{"role":"user","content":[{"type":"text","text":"second"}],"attribution":"user","timestamp":"TIME"},{"role":"assistant","content":[{"type":"text","text":"Two."}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}]}}
    "#]].assert_eq(&told(&frames, &folder));
    let mut fresh = folder.child(&["--session-dir", "../sessions"]);
    let frames = fresh.done(json!({"id": "c", "type": "clone"}));
    expect![[r#"
        {"id":"c","type":"response","command":"clone","success":false,"error":"Cannot clone session: no current entry selected"}
    "#]].assert_eq(&told(&frames, &folder));
}

#[test]
fn a_new_session_keeps_the_settings_and_nothing_of_the_conversation() {
    let folder = Folder::with(TALK);
    let mut child = two_prompts(&folder);
    let first = file(&mut child);
    let mut frames = asked(
        &mut child,
        &[
            json!({"type": "set_steering_mode", "mode": "all"}),
            json!({"type": "set_thinking_level", "level": "low"}),
            json!({"type": "steer", "message": "waits"}),
            json!({"type": "new_session", "parentSession": first}),
            json!({"type": "get_state"}),
            json!({"type": "get_messages"}),
            json!({"type": "get_last_assistant_text"}),
        ],
    );
    frames.extend(child.prompt("third"));
    expect![[r#"
        {"id":0,"type":"response","command":"set_steering_mode","success":true}
        {"type":"thinking_level_changed","level":"low","thinkingLevel":"low"}
        {"id":1,"type":"response","command":"set_thinking_level","success":true}
        {"type":"queue_update","steering":["waits"],"followUp":[]}
        {"id":2,"type":"response","command":"steer","success":true,"data":{"disposition":"queued"}}
        {"id":3,"type":"response","command":"new_session","success":true,"data":{"cancelled":false}}
        {"id":4,"type":"response","command":"get_state","success":true,"data":{"model":{"id":"mock","name":"Scenario mock","api":"script","provider":"script","baseUrl":"","reasoning":true,"input":["text","image"],"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0},"contextWindow":200000,"maxTokens":32000,"thinking":{"mode":"effort","efforts":["minimal","low","medium","high","xhigh"],"minLevel":"minimal","maxLevel":"xhigh"}},"thinkingLevel":"low","isStreaming":false,"isCompacting":false,"steeringMode":"all","followUpMode":"one-at-a-time","interruptMode":"immediate","sessionFile":"ROOT/work/../sessions/TIME_ID.jsonl","sessionId":"ID1","autoCompactionEnabled":true,"autoRetryEnabled":true,"messageCount":0,"queuedMessageCount":0,"pendingMessageCount":0,"queuedMessages":{"steering":[],"followUp":[]},"hasPendingAsyncWork":false,"isSettled":true,"fastModeEnabled":false,"fastModeActive":false,"tokensPerSecond":null,"todoPhases":[],"systemPrompt":"…","dumpTools":["read","bash","edit","write","grep","find","ls","todo","job","fetch","subagent"]}}
        {"id":5,"type":"response","command":"get_messages","success":true,"data":{"messages":[]}}
        {"id":6,"type":"response","command":"get_last_assistant_text","success":true,"data":{}}
        {"id":"prompt","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
        {"type":"agent_start"}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"third"}],"attribution":"user","timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-1","message":"as it began"}
        {"type":"message_start","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":""}]},"assistantMessageEvent":{"type":"text_start","contentIndex":0,"partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":"One."}]},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"One.","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":"One."}]},"assistantMessageEvent":{"type":"text_end","contentIndex":0,"content":"One.","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"text","text":"One."}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"turn_end","message":"msg-2","toolResults":[]}
        {"type":"agent_end","messages":["msg-1","msg-2"],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":2}
        {"type":"prompt_result","id":"prompt","agentInvoked":true,"status":"completed","sessionSettled":true}
        {"type":"session_settled"}
        {"type":"agent_settled","aborted":false}
    "#]].assert_eq(&told(&frames, &folder));
    let kept = lines_of(&file(&mut child), &folder);
    expect![[r#"
        {"type":"session","version":3,"id":"ID1","timestamp":"TIME","cwd":"ROOT/work","parentSession":"ROOT/sessions/TIME_ID.jsonl"}
        {"type":"model_change","id":"ID2","parentId":null,"timestamp":"TIME","provider":"script","modelId":"mock","model":"script/mock"}
        {"type":"thinking_level_change","id":"ID3","parentId":"ID2","timestamp":"TIME","thinkingLevel":"low"}
        {"type":"message","id":"ID4","parentId":"ID3","timestamp":"TIME","message":{"role":"user","content":[{"type":"text","text":"third"}],"attribution":"user","timestamp":"TIME"}}
        {"type":"message","id":"ID5","parentId":"ID4","timestamp":"TIME","message":{"role":"assistant","content":[{"type":"text","text":"One."}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
    "#]].assert_eq(&kept);
}

#[test]
fn a_conversation_can_be_gone_back_to() {
    let folder = Folder::with(TALK);
    let mut child = two_prompts(&folder);
    let first = file(&mut child);
    let back = json!({"type": "switch_session", "sessionPath": first});
    let frames = asked(
        &mut child,
        &[
            json!({"type": "new_session"}),
            back.clone(),
            json!({"type": "get_messages"}),
            // Also to the one that is there already.
            back,
            json!({"type": "get_state"}),
        ],
    );
    expect![[r#"
        {"id":0,"type":"response","command":"new_session","success":true,"data":{"cancelled":false}}
        {"id":1,"type":"response","command":"switch_session","success":true,"data":{"cancelled":false}}
        {"id":2,"type":"response","command":"get_messages","success":true,"data":{"messages":[{"role":"user","content":[{"type":"text","text":"first"}],"attribution":"user","timestamp":"TIME"},{"role":"assistant","content":[{"type":"text","text":"One."}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"},{"role":"user","content":[{"type":"text","text":"second"}],"attribution":"user","timestamp":"TIME"},{"role":"assistant","content":[{"type":"text","text":"Two."}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}]}}
        {"id":3,"type":"response","command":"switch_session","success":true,"data":{"cancelled":false}}
        {"id":4,"type":"response","command":"get_state","success":true,"data":{"model":{"id":"mock","name":"Scenario mock","api":"script","provider":"script","baseUrl":"","reasoning":true,"input":["text","image"],"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0},"contextWindow":200000,"maxTokens":32000,"thinking":{"mode":"effort","efforts":["minimal","low","medium","high","xhigh"],"minLevel":"minimal","maxLevel":"xhigh"}},"thinkingLevel":"medium","isStreaming":false,"isCompacting":false,"steeringMode":"one-at-a-time","followUpMode":"one-at-a-time","interruptMode":"immediate","sessionFile":"ROOT/sessions/TIME_ID.jsonl","sessionId":"ID1","autoCompactionEnabled":true,"autoRetryEnabled":true,"messageCount":4,"queuedMessageCount":0,"pendingMessageCount":0,"queuedMessages":{"steering":[],"followUp":[]},"hasPendingAsyncWork":false,"isSettled":true,"fastModeEnabled":false,"fastModeActive":false,"tokensPerSecond":null,"todoPhases":[],"systemPrompt":"…","dumpTools":["read","bash","edit","write","grep","find","ls","todo","job","fetch","subagent"]}}
    "#]].assert_eq(&told(&frames, &folder));
}

#[test]
fn a_session_file_that_is_not_there_becomes_a_new_one_at_that_path() {
    let folder = Folder::with(TALK);
    let mut child = folder.child(&["--session-dir", "../sessions"]);
    let path = folder.work("mine/x.jsonl");
    let frames = asked(
        &mut child,
        &[
            json!({"type": "switch_session", "sessionPath": "mine/x.jsonl"}),
            json!({"type": "get_state"}),
        ],
    );
    expect![[r#"
        {"id":0,"type":"response","command":"switch_session","success":true,"data":{"cancelled":false}}
        {"id":1,"type":"response","command":"get_state","success":true,"data":{"model":{"id":"mock","name":"Scenario mock","api":"script","provider":"script","baseUrl":"","reasoning":true,"input":["text","image"],"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0},"contextWindow":200000,"maxTokens":32000,"thinking":{"mode":"effort","efforts":["minimal","low","medium","high","xhigh"],"minLevel":"minimal","maxLevel":"xhigh"}},"thinkingLevel":"medium","isStreaming":false,"isCompacting":false,"steeringMode":"one-at-a-time","followUpMode":"one-at-a-time","interruptMode":"immediate","sessionFile":"ROOT/work/mine/x.jsonl","sessionId":"ID1","autoCompactionEnabled":true,"autoRetryEnabled":true,"messageCount":0,"queuedMessageCount":0,"pendingMessageCount":0,"queuedMessages":{"steering":[],"followUp":[]},"hasPendingAsyncWork":false,"isSettled":true,"fastModeEnabled":false,"fastModeActive":false,"tokensPerSecond":null,"todoPhases":[],"systemPrompt":"…","dumpTools":["read","bash","edit","write","grep","find","ls","todo","job","fetch","subagent"]}}
    "#]].assert_eq(&told(&frames, &folder));
    assert!(!path.exists());
    child.prompt("first");
    expect![[r#"
        {"type":"session","version":3,"id":"ID1","timestamp":"TIME","cwd":"ROOT/work"}
        {"type":"model_change","id":"ID2","parentId":null,"timestamp":"TIME","provider":"script","modelId":"mock","model":"script/mock"}
        {"type":"thinking_level_change","id":"ID3","parentId":"ID2","timestamp":"TIME","thinkingLevel":"medium"}
        {"type":"message","id":"ID4","parentId":"ID3","timestamp":"TIME","message":{"role":"user","content":[{"type":"text","text":"first"}],"attribution":"user","timestamp":"TIME"}}
        {"type":"message","id":"ID5","parentId":"ID4","timestamp":"TIME","message":{"role":"assistant","content":[{"type":"text","text":"One."}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
    "#]].assert_eq(&lines_of(path.to_str().unwrap(), &folder));
}

#[test]
fn a_file_that_is_no_session_is_refused_and_left_as_it_is() {
    let folder = Folder::with(TALK);
    folder.file("notes.txt", "not a session\n");
    let mut child = folder.child(&["--session-dir", "../sessions"]);
    let frames = asked(
        &mut child,
        &[
            json!({"type": "switch_session", "sessionPath": "notes.txt"}),
            json!({"type": "get_messages"}),
        ],
    );
    expect![[r#"
        {"id":0,"type":"response","command":"switch_session","success":false,"error":"ROOT/work/notes.txt is not a session file: the first line is not a JSON object (expected ident at line 1 column 2); it was not changed"}
        {"id":1,"type":"response","command":"get_messages","success":true,"data":{"messages":[]}}
    "#]].assert_eq(&told(&frames, &folder));
    let text = std::fs::read_to_string(folder.work("notes.txt")).unwrap();
    assert_eq!(text, "not a session\n");
}

#[test]
fn the_last_text_of_the_model_is_absent_until_there_is_one() {
    let folder = Folder::with(
        r#"
        [model]
        id = "mock"
        [[turn]]
        steps = [{ text = "  One " }, { text = "and two.  ", new_block = true }]
        [[turn]]
        steps = [{ hang = true }]
        "#,
    );
    let mut child = folder.child(&["--no-session"]);
    let mut frames = child.done(json!({"id": 1, "type": "get_last_assistant_text"}));
    child.prompt("first");
    frames.extend(child.done(json!({"id": 2, "type": "get_last_assistant_text"})));
    child.send(json!({"type": "prompt", "message": "second"}));
    child
        .until(|frame| frame["type"] == "message_start" && frame["message"]["role"] == "assistant");
    child.done(json!({"id": "a", "type": "abort"}));
    // An answer that was aborted before it said anything is passed over.
    frames.extend(child.done(json!({"id": 3, "type": "get_last_assistant_text"})));
    expect![[r#"
        {"id":1,"type":"response","command":"get_last_assistant_text","success":true,"data":{}}
        {"id":2,"type":"response","command":"get_last_assistant_text","success":true,"data":{"text":"One and two."}}
        {"id":3,"type":"response","command":"get_last_assistant_text","success":true,"data":{"text":"One and two."}}
    "#]].assert_eq(&told(&frames, &folder));
}

#[test]
fn a_name_is_trimmed_kept_and_told() {
    let folder = Folder::with(TALK);
    let mut child = two_prompts(&folder);
    let frames = asked(
        &mut child,
        &[
            json!({"type": "set_session_name", "name": "  my work  "}),
            json!({"type": "get_state"}),
        ],
    );
    expect![[r#"
        {"type":"session_info_changed","name":"my work"}
        {"type":"session_info_update","title":"my work","sessionId":"ID1"}
        {"id":0,"type":"response","command":"set_session_name","success":true}
        {"id":1,"type":"response","command":"get_state","success":true,"data":{"model":{"id":"mock","name":"Scenario mock","api":"script","provider":"script","baseUrl":"","reasoning":true,"input":["text","image"],"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0},"contextWindow":200000,"maxTokens":32000,"thinking":{"mode":"effort","efforts":["minimal","low","medium","high","xhigh"],"minLevel":"minimal","maxLevel":"xhigh"}},"thinkingLevel":"medium","isStreaming":false,"isCompacting":false,"steeringMode":"one-at-a-time","followUpMode":"one-at-a-time","interruptMode":"immediate","sessionFile":"ROOT/sessions/TIME_ID.jsonl","sessionId":"ID1","sessionName":"my work","autoCompactionEnabled":true,"autoRetryEnabled":true,"messageCount":4,"queuedMessageCount":0,"pendingMessageCount":0,"queuedMessages":{"steering":[],"followUp":[]},"hasPendingAsyncWork":false,"isSettled":true,"fastModeEnabled":false,"fastModeActive":false,"tokensPerSecond":null,"todoPhases":[],"systemPrompt":"…","dumpTools":["read","bash","edit","write","grep","find","ls","todo","job","fetch","subagent"]}}
    "#]].assert_eq(&told(&frames, &folder));
}

#[test]
fn a_page_for_the_browser_is_written_where_it_was_wanted_or_named_after_the_session() {
    let folder = Folder::with(TALK);
    let mut child = two_prompts(&folder);
    let path = file(&mut child);
    let name = std::path::Path::new(&path).file_stem().unwrap().to_owned();
    let frames = asked(
        &mut child,
        &[
            json!({"type": "export_html", "outputPath": "out.html"}),
            json!({"type": "export_html"}),
        ],
    );
    let usual = frames[1]["data"]["path"].as_str().unwrap();
    assert!(folder.work("out.html").exists() && folder.work(usual).exists());
    let text = told(&frames, &folder).replace(name.to_str().unwrap(), "NAME");
    expect![[r#"
        {"id":0,"type":"response","command":"export_html","success":true,"data":{"path":"out.html"}}
        {"id":1,"type":"response","command":"export_html","success":true,"data":{"path":"omp-session-NAME.html"}}
    "#]].assert_eq(&text);
}
