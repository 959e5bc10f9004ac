//! Conversations: new ones, stored ones, copies (sections 6.4 and 16).

use expect_test::expect;
use serde_json::{Value, json};

use crate::child::{Child, Folder, shown};

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

fn texts(child: &mut Child) -> Vec<String> {
    let messages = child.data(json!({"type": "get_messages"}))["messages"].take();
    let text = |message: &Value| message["content"][0]["text"].as_str().unwrap().to_owned();
    messages.as_array().unwrap().iter().map(text).collect()
}

fn file(child: &mut Child) -> String {
    child.data(json!({"type": "get_state"}))["sessionFile"]
        .as_str()
        .unwrap()
        .to_owned()
}

#[test]
fn branch_and_fork_stop_before_the_message_and_name_where_they_come_from() {
    for (list, copy) in [
        ("get_branch_messages", "branch"),
        ("get_fork_messages", "fork"),
    ] {
        let folder = Folder::with(TALK);
        let mut child = two_prompts(&folder);
        let first = file(&mut child);
        let points = child.ask(json!({"type": list}));
        let second = &points["data"]["messages"][1]["entryId"];
        let copied = child.ask(json!({"type": copy, "entryId": second}));
        let told = shown(&[points, copied], &folder);
        // They differ in nothing but their names.
        let told = told.replace(list, "LIST").replace(copy, "COPY");
        expect![[r#"
            {"id":"asked","type":"response","command":"LIST","success":true,"data":{"messages":[{"entryId":"ID","text":"first"},{"entryId":"ID","text":"second"}]}}
            {"id":"asked","type":"response","command":"COPY","success":true,"data":{"text":"second","cancelled":false}}
        "#]]
        .assert_eq(&told);
        assert_eq!(texts(&mut child), ["first", "One."]);
        child.prompt("third");
        let header = std::fs::read_to_string(file(&mut child)).unwrap();
        let header: Value = serde_json::from_str(header.lines().next().unwrap()).unwrap();
        assert_eq!(header["parentSession"], first);
    }
}

#[test]
fn a_clone_has_everything_and_is_another_file() {
    let folder = Folder::with(TALK);
    let mut child = two_prompts(&folder);
    let first = file(&mut child);
    let cloned = child.ask(json!({"type": "clone"}));
    assert_ne!(file(&mut child), first);
    assert_eq!(texts(&mut child), ["first", "One.", "second", "Two."]);
    let fresh = folder
        .child(&["--session-dir", "../sessions"])
        .ask(json!({"type": "clone"}));
    expect![[r#"
        {"id":"asked","type":"response","command":"clone","success":true,"data":{"cancelled":false}}
        {"id":"asked","type":"response","command":"clone","success":false,"error":"Cannot clone session: no current entry selected"}
    "#]].assert_eq(&shown(&[cloned, fresh], &folder));
}

#[test]
fn a_new_session_keeps_the_settings_and_nothing_of_the_conversation() {
    let folder = Folder::with(TALK);
    let mut child = two_prompts(&folder);
    let first = file(&mut child);
    child.data(json!({"type": "set_steering_mode", "mode": "all"}));
    child.data(json!({"type": "set_thinking_level", "level": "low"}));
    child.send(json!({"id": "s", "type": "steer", "message": "waits"}));
    child.until(|frame| frame["id"] == "s");
    let mut told = vec![child.ask(json!({"type": "new_session", "parentSession": first}))];
    let mut state = child.ask(json!({"type": "get_state"}));
    assert!(!std::path::Path::new(state["data"]["sessionFile"].as_str().unwrap()).exists());
    // Long, and none of this dialect's business.
    for key in ["systemPrompt", "dumpTools"] {
        state["data"][key] = json!("…");
    }
    told.push(state);
    told.push(child.ask(json!({"type": "switch_session", "sessionPath": first})));
    assert_eq!(texts(&mut child), ["first", "One.", "second", "Two."]);
    told.push(child.ask(json!({"type": "switch_session", "sessionPath": first})));
    expect![[r#"
        {"id":"asked","type":"response","command":"new_session","success":true,"data":{"cancelled":false}}
        {"id":"asked","type":"response","command":"get_state","success":true,"data":{"model":{"id":"mock","name":"Scenario mock","api":"script","provider":"script","baseUrl":"","reasoning":true,"input":["text","image"],"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0},"contextWindow":200000,"maxTokens":32000,"thinking":{"mode":"effort","efforts":["minimal","low","medium","high","xhigh"]}},"thinkingLevel":"low","isStreaming":false,"isCompacting":false,"steeringMode":"all","followUpMode":"one-at-a-time","interruptMode":"immediate","sessionFile":"ROOT/work/../sessions/TIME_ID.jsonl","sessionId":"ID","autoCompactionEnabled":true,"autoRetryEnabled":true,"messageCount":0,"queuedMessageCount":0,"pendingMessageCount":0,"queuedMessages":{"steering":[],"followUp":[]},"hasPendingAsyncWork":false,"isSettled":true,"fastModeEnabled":false,"fastModeActive":false,"tokensPerSecond":null,"todoPhases":[],"systemPrompt":"…","dumpTools":"…"}}
        {"id":"asked","type":"response","command":"switch_session","success":true,"data":{"cancelled":false}}
        {"id":"asked","type":"response","command":"switch_session","success":true,"data":{"cancelled":false}}
    "#]].assert_eq(&shown(&told, &folder));
}

#[test]
fn a_session_file_that_is_not_there_becomes_a_new_one_at_that_path() {
    let folder = Folder::with(TALK);
    let mut child = folder.child(&["--session-dir", "../sessions"]);
    let path = folder.work("mine/x.jsonl");
    child.data(json!({"type": "switch_session", "sessionPath": "mine/x.jsonl"}));
    assert_eq!(file(&mut child), path.to_str().unwrap());
    assert!(!path.exists());
    child.prompt("first");
    assert!(std::fs::read_to_string(&path).unwrap().contains("One."));
}

#[test]
fn sessions_of_pi_and_omp_open_here() {
    let folder = Folder::with(TALK);
    let header = r#"{"type":"session","version":3,"id":"15ced89aec453df0","timestamp":"2026-11-15T07:47:40.593Z","cwd":"/x"}"#;
    let entries = [
        r#"{"type":"model_change","id":"aaaaaaa1","parentId":null,"timestamp":"2026-11-15T07:47:41.000Z","model":"mock/mock-1"}"#,
        r#"{"type":"message","id":"aaaaaaa2","parentId":"aaaaaaa1","timestamp":"2026-11-15T07:47:41.000Z","message":{"role":"user","content":[{"type":"text","text":"from omp"}],"attribution":"user","timestamp":1}}"#,
        r#"{"type":"message","id":"aaaaaaa3","parentId":"aaaaaaa2","timestamp":"2026-11-15T07:47:42.000Z","message":{"role":"assistant","content":[{"type":"text","text":"Hello."}],"api":"anthropic-messages","provider":"mock","model":"mock-1","usage":{"input":1,"output":1,"cacheRead":0,"cacheWrite":0,"totalTokens":2,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":2}}"#,
    ];
    folder.file("old.jsonl", &format!("{header}\n{}\n", entries.join("\n")));
    let mut child = folder.child(&["--session-dir", "../sessions"]);
    child.data(json!({"type": "switch_session", "sessionPath": "old.jsonl"}));
    assert_eq!(texts(&mut child), ["from omp", "Hello."]);
}

#[test]
fn pages_tell_the_whole_conversation_and_a_cursor_of_another_one_is_stale() {
    let folder = Folder::with(TALK);
    let mut child = two_prompts(&folder);
    let all = child.data(json!({"type": "get_messages"}))["messages"].take();
    let mut seen = Vec::new();
    let mut cursor = Value::Null;
    loop {
        let page = child.data(json!({"type": "get_messages_page", "limit": 3, "cursor": cursor}));
        assert_eq!(page["totalMessages"], 4);
        seen.extend(page["messages"].as_array().unwrap().clone());
        cursor = page["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
        child.data(json!({"type": "get_state"}));
    }
    assert_eq!(Value::from(seen), all);
    let page = child.data(json!({"type": "get_messages_page", "limit": 1}));
    child.data(json!({"type": "new_session"}));
    let stale = child.ask(json!({"type": "get_messages_page", "cursor": page["nextCursor"]}));
    expect![[r#"
        {"id":"asked","type":"response","command":"get_messages_page","success":false,"error":"RPC message cursor is stale: the conversation has changed, start without one","code":"stale_cursor"}
    "#]].assert_eq(&shown(&[stale], &folder));
}

#[test]
fn entries_and_tree_are_those_of_the_file() {
    let folder = Folder::with(TALK);
    let mut child = two_prompts(&folder);
    let all = child.data(json!({"type": "get_entries"}));
    let entries = all["entries"].as_array().unwrap();
    assert_eq!(all["leafId"], entries.last().unwrap()["id"]);
    let kept = std::fs::read_to_string(file(&mut child)).unwrap();
    let kept: Vec<Value> = kept
        .lines()
        .skip(1)
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(*entries, kept);
    let since = child.data(json!({"type": "get_entries", "since": entries[1]["id"]}));
    assert_eq!(since["entries"].as_array().unwrap()[..], entries[2..]);
    let whole = child.ask(json!({"type": "get_tree"}));
    let listed = child.ask(json!({"type": "get_entries", "since": entries[1]["id"]}));
    expect![[r#"
        {"id":"asked","type":"response","command":"get_entries","success":true,"data":{"entries":[{"type":"message","id":"ID","parentId":"ID","timestamp":"TIME","message":{"role":"user","content":[{"type":"text","text":"first"}],"timestamp":"TIME"}},{"type":"message","id":"ID","parentId":"ID","timestamp":"TIME","message":{"role":"assistant","content":[{"type":"text","text":"One."}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}},{"type":"message","id":"ID","parentId":"ID","timestamp":"TIME","message":{"role":"user","content":[{"type":"text","text":"second"}],"timestamp":"TIME"}},{"type":"message","id":"ID","parentId":"ID","timestamp":"TIME","message":{"role":"assistant","content":[{"type":"text","text":"Two."}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}],"leafId":"ID"}}
        {"id":"asked","type":"response","command":"get_tree","success":true,"data":{"tree":[{"entry":{"type":"model_change","id":"ID","parentId":null,"timestamp":"TIME","provider":"script","modelId":"mock"},"children":[{"entry":{"type":"thinking_level_change","id":"ID","parentId":"ID","timestamp":"TIME","thinkingLevel":"medium"},"children":[{"entry":{"type":"message","id":"ID","parentId":"ID","timestamp":"TIME","message":{"role":"user","content":[{"type":"text","text":"first"}],"timestamp":"TIME"}},"children":[{"entry":{"type":"message","id":"ID","parentId":"ID","timestamp":"TIME","message":{"role":"assistant","content":[{"type":"text","text":"One."}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}},"children":[{"entry":{"type":"message","id":"ID","parentId":"ID","timestamp":"TIME","message":{"role":"user","content":[{"type":"text","text":"second"}],"timestamp":"TIME"}},"children":[{"entry":{"type":"message","id":"ID","parentId":"ID","timestamp":"TIME","message":{"role":"assistant","content":[{"type":"text","text":"Two."}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}},"children":[]}]}]}]}]}]}],"leafId":"ID"}}
    "#]].assert_eq(&shown(&[listed, whole.clone()], &folder));
    let tree = &whole["data"];
    let mut node = &tree["tree"][0];
    for entry in entries {
        assert_eq!(node["entry"], *entry);
        node = &node["children"][0];
    }
}

#[test]
fn a_name_is_trimmed_kept_and_told() {
    let folder = Folder::with(TALK);
    let mut child = two_prompts(&folder);
    child.send(json!({"id": "n", "type": "set_session_name", "name": "  my work  "}));
    let frames = child.until(|frame| frame["id"] == "n");
    expect![[r#"
        {"type":"session_info_changed","name":"my work"}
        {"type":"session_info_update","title":"my work","sessionId":"ID"}
        {"id":"n","type":"response","command":"set_session_name","success":true}
    "#]]
    .assert_eq(&shown(&frames, &folder));
    assert_eq!(
        child.data(json!({"type": "get_state"}))["sessionName"],
        "my work"
    );
}

#[test]
fn a_session_whose_model_is_not_known_goes_on_with_the_one_there_is() {
    let folder = Folder::with("[model]\nid = \"mock\"\n[[turn]]\ntext = \"Here.\"");
    let header = json!({"type": "session", "version": 3, "id": "s", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": folder.work("")});
    let gone = json!({"type": "model_change", "id": "00000001", "parentId": null, "timestamp": "2026-01-01T00:00:00.000Z", "provider": "gone", "modelId": "away"});
    folder.file("with.jsonl", &format!("{header}\n{gone}\n"));
    folder.file("without.jsonl", &format!("{header}\n"));
    let mut child = folder.child(&["--session-dir", "../sessions"]);
    let warning = "the session's model gone/away is not known here; going on with script/mock";
    for (file, warning) in [("with.jsonl", Some(warning)), ("without.jsonl", None)] {
        child.send(json!({"id": "s", "type": "switch_session", "sessionPath": file}));
        let mut told = child.until(|frame| frame["id"] == "s");
        child.send(json!({"id": "p", "type": "prompt", "message": "go"}));
        told.extend(child.until_type("prompt_result"));
        let shows = |frame: &&Value| frame["method"] == "notify";
        let warned = told.iter().find(shows).map(|frame| &frame["message"]);
        assert_eq!(warned.and_then(Value::as_str), warning);
        told.retain(|frame| frame["type"] == "response" || frame["type"] == "prompt_result");
        expect![[r#"
            {"id":"s","type":"response","command":"switch_session","success":true,"data":{"cancelled":false}}
            {"id":"p","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
            {"type":"prompt_result","id":"p","agentInvoked":true,"status":"completed","sessionSettled":true}
        "#]].assert_eq(&shown(&told, &folder));
    }
}
