//! A conversation read by a client: in pages, as entries, as a tree (section 19).

use expect_test::expect;
use serde_json::{Value, json};

use crate::child::{Child, Folder};
use crate::transcript::told;

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

#[test]
fn pages_tell_the_whole_conversation() {
    let folder = Folder::with(TALK);
    let mut child = two_prompts(&folder);
    let mut pages = child.done(json!({"id": 1, "type": "get_messages_page", "limit": 3}));
    let cursor = pages[0]["data"]["nextCursor"].clone();
    pages.extend(
        child.done(json!({"id": 2, "type": "get_messages_page", "limit": 3, "cursor": cursor})),
    );
    let all = child.data(json!({"type": "get_messages"}))["messages"].take();
    let of_pages: Vec<Value> = pages
        .iter()
        .flat_map(|page| page["data"]["messages"].as_array().unwrap().clone())
        .collect();
    assert_eq!(Value::from(of_pages), all);
    pages[0]["data"]["nextCursor"] = json!("CURSOR");
    expect![[r#"
        {"id":1,"type":"response","command":"get_messages_page","success":true,"data":{"messages":[{"role":"user","content":[{"type":"text","text":"first"}],"attribution":"user","timestamp":"TIME"},{"role":"assistant","content":[{"type":"text","text":"One."}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"},{"role":"user","content":[{"type":"text","text":"second"}],"attribution":"user","timestamp":"TIME"}],"totalMessages":4,"nextCursor":"CURSOR"}}
        {"id":2,"type":"response","command":"get_messages_page","success":true,"data":{"messages":[{"role":"assistant","content":[{"type":"text","text":"Two."}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}],"totalMessages":4}}
    "#]].assert_eq(&told(&pages, &folder));
}

#[test]
fn a_cursor_of_another_conversation_is_stale_and_a_page_of_one_that_changes_is_refused() {
    let folder = Folder::with(&format!(
        "{TALK}[[turn]]\nwhen = {{ last_user_contains = \"go\" }}\nsteps = [{{ text = \"Well\" }}, {{ hang = true }}]"
    ));
    let mut child = two_prompts(&folder);
    let page = child.data(json!({"type": "get_messages_page", "limit": 1}));
    child.send(json!({"id": "p", "type": "prompt", "message": "go"}));
    child.until(|frame| frame["assistantMessageEvent"]["type"] == "text_delta");
    let mut frames = child.done(json!({"id": 1, "type": "get_messages_page"}));
    child.data(json!({"type": "new_session"}));
    let cursor = &page["nextCursor"];
    frames.extend(child.done(json!({"id": 2, "type": "get_messages_page", "cursor": cursor})));
    expect![[r#"
        {"id":1,"type":"response","command":"get_messages_page","success":false,"error":"Cannot page messages while the session is changing","code":"session_busy"}
        {"id":2,"type":"response","command":"get_messages_page","success":false,"error":"RPC message cursor is stale: the conversation has changed, start without one","code":"stale_cursor"}
    "#]].assert_eq(&told(&frames, &folder));
}

#[test]
fn entries_are_those_of_the_file_all_or_since_one() {
    let folder = Folder::with(TALK);
    let mut child = two_prompts(&folder);
    let mut frames = child.done(json!({"id": 1, "type": "get_entries"}));
    let entries = frames[0]["data"]["entries"].as_array().unwrap().clone();
    let file = child.data(json!({"type": "get_state"}))["sessionFile"].clone();
    let kept = std::fs::read_to_string(file.as_str().unwrap()).unwrap();
    let kept: Vec<Value> = kept
        .lines()
        .skip(1)
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(entries, kept);
    frames.extend(child.done(json!({"id": 2, "type": "get_entries", "since": entries[3]["id"]})));
    frames.extend(child.done(json!({"id": 3, "type": "get_entries", "since": entries[5]["id"]})));
    frames.extend(child.done(json!({"id": 4, "type": "get_entries", "since": "deadbeef"})));
    expect![[r#"
        {"id":1,"type":"response","command":"get_entries","success":true,"data":{"entries":[{"type":"model_change","id":"ID1","parentId":null,"timestamp":"TIME","provider":"script","modelId":"mock","model":"script/mock"},{"type":"thinking_level_change","id":"ID2","parentId":"ID1","timestamp":"TIME","thinkingLevel":"medium"},{"type":"message","id":"ID3","parentId":"ID2","timestamp":"TIME","message":{"role":"user","content":[{"type":"text","text":"first"}],"attribution":"user","timestamp":"TIME"}},{"type":"message","id":"ID4","parentId":"ID3","timestamp":"TIME","message":{"role":"assistant","content":[{"type":"text","text":"One."}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}},{"type":"message","id":"ID5","parentId":"ID4","timestamp":"TIME","message":{"role":"user","content":[{"type":"text","text":"second"}],"attribution":"user","timestamp":"TIME"}},{"type":"message","id":"ID6","parentId":"ID5","timestamp":"TIME","message":{"role":"assistant","content":[{"type":"text","text":"Two."}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}],"leafId":"ID6"}}
        {"id":2,"type":"response","command":"get_entries","success":true,"data":{"entries":[{"type":"message","id":"ID5","parentId":"ID4","timestamp":"TIME","message":{"role":"user","content":[{"type":"text","text":"second"}],"attribution":"user","timestamp":"TIME"}},{"type":"message","id":"ID6","parentId":"ID5","timestamp":"TIME","message":{"role":"assistant","content":[{"type":"text","text":"Two."}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}],"leafId":"ID6"}}
        {"id":3,"type":"response","command":"get_entries","success":true,"data":{"entries":[],"leafId":"ID6"}}
        {"id":4,"type":"response","command":"get_entries","success":false,"error":"Entry not found: deadbeef","code":"unknown_since"}
    "#]].assert_eq(&told(&frames, &folder));
}

#[test]
fn a_tree_has_every_branch_with_its_labels() {
    let folder = Folder::with(TALK);
    let header = r#"{"type":"session","version":3,"id":"11111111-1111-4111-8111-111111111111","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/x"}"#;
    let message = |id: &str, parent: &str, text: &str| {
        format!(
            r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"2026-01-01T00:00:01.000Z","message":{{"role":"user","content":"{text}","timestamp":1}}}}"#
        )
    };
    let label = r#"{"type":"label","id":"a0000004","parentId":"a0000003","timestamp":"2026-01-01T00:00:02.000Z","targetId":"a0000001","label":"the start"}"#;
    let lines = [
        header.to_owned(),
        message("a0000001", "null", "root"),
        message("a0000002", "\"a0000001\"", "one way"),
        message("a0000003", "\"a0000001\"", "another way"),
        label.to_owned(),
    ];
    folder.file("tree.jsonl", &format!("{}\n", lines.join("\n")));
    let mut child = folder.child(&["--session", "tree.jsonl"]);
    let mut frames = child.done(json!({"id": 1, "type": "get_tree"}));
    frames.extend(child.done(json!({"id": 2, "type": "get_messages"})));
    frames.extend(child.done(json!({"id": 3, "type": "get_branch_messages"})));
    expect![[r#"
        {"id":1,"type":"response","command":"get_tree","success":true,"data":{"tree":[{"entry":{"type":"message","id":"ID1","parentId":null,"timestamp":"TIME","message":{"role":"user","content":"root","timestamp":"TIME"}},"children":[{"entry":{"type":"message","id":"ID2","parentId":"ID1","timestamp":"TIME","message":{"role":"user","content":"one way","timestamp":"TIME"}},"children":[]},{"entry":{"type":"message","id":"ID3","parentId":"ID1","timestamp":"TIME","message":{"role":"user","content":"another way","timestamp":"TIME"}},"children":[{"entry":{"type":"label","id":"ID4","parentId":"ID3","timestamp":"TIME","targetId":"ID1","label":"the start"},"children":[{"entry":{"type":"model_change","id":"ID5","parentId":"ID4","timestamp":"TIME","provider":"script","modelId":"mock","model":"script/mock"},"children":[{"entry":{"type":"thinking_level_change","id":"ID6","parentId":"ID5","timestamp":"TIME","thinkingLevel":"medium"},"children":[]}]}]}]}],"label":"the start","labelTimestamp":"TIME"}],"leafId":"ID6"}}
        {"id":2,"type":"response","command":"get_messages","success":true,"data":{"messages":[{"role":"user","content":"root","timestamp":"TIME"},{"role":"user","content":"another way","timestamp":"TIME"}]}}
        {"id":3,"type":"response","command":"get_branch_messages","success":true,"data":{"messages":[{"entryId":"ID1","text":"root"},{"entryId":"ID2","text":"one way"},{"entryId":"ID3","text":"another way"}]}}
    "#]].assert_eq(&told(&frames, &folder));
    // What was there stays as it was.
    let kept = std::fs::read_to_string(folder.work("tree.jsonl")).unwrap();
    assert!(kept.starts_with(&lines.join("\n")), "{kept}");
}

#[test]
fn a_tree_of_a_plain_conversation_is_a_line() {
    let folder = Folder::with(TALK);
    let mut child = two_prompts(&folder);
    let frames = child.done(json!({"id": 1, "type": "get_tree"}));
    expect![[r#"
        {"id":1,"type":"response","command":"get_tree","success":true,"data":{"tree":[{"entry":{"type":"model_change","id":"ID1","parentId":null,"timestamp":"TIME","provider":"script","modelId":"mock","model":"script/mock"},"children":[{"entry":{"type":"thinking_level_change","id":"ID2","parentId":"ID1","timestamp":"TIME","thinkingLevel":"medium"},"children":[{"entry":{"type":"message","id":"ID3","parentId":"ID2","timestamp":"TIME","message":{"role":"user","content":[{"type":"text","text":"first"}],"attribution":"user","timestamp":"TIME"}},"children":[{"entry":{"type":"message","id":"ID4","parentId":"ID3","timestamp":"TIME","message":{"role":"assistant","content":[{"type":"text","text":"One."}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}},"children":[{"entry":{"type":"message","id":"ID5","parentId":"ID4","timestamp":"TIME","message":{"role":"user","content":[{"type":"text","text":"second"}],"attribution":"user","timestamp":"TIME"}},"children":[{"entry":{"type":"message","id":"ID6","parentId":"ID5","timestamp":"TIME","message":{"role":"assistant","content":[{"type":"text","text":"Two."}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}},"children":[]}]}]}]}]}]}],"leafId":"ID6"}}
    "#]].assert_eq(&told(&frames, &folder));
}

#[test]
fn a_message_without_words_is_no_place_to_branch_at() {
    let folder = Folder::with(TALK);
    let mut child = folder.child(&["--no-session"]);
    child.send(json!({"id": "p", "type": "prompt", "message": "", "images": [{"type": "image", "data": "aGk=", "mimeType": "image/png"}]}));
    child.until_type("agent_settled");
    child.prompt("words");
    let mut frames = child.done(json!({"id": 1, "type": "get_branch_messages"}));
    frames.extend(child.done(json!({"id": 2, "type": "get_messages"})));
    expect![[r#"
        {"id":1,"type":"response","command":"get_branch_messages","success":true,"data":{"messages":[{"entryId":"ID1","text":"words"}]}}
        {"id":2,"type":"response","command":"get_messages","success":true,"data":{"messages":[{"role":"user","content":[{"type":"text","text":""},{"type":"image","data":"aGk=","mimeType":"image/png"}],"attribution":"user","timestamp":"TIME"},{"role":"assistant","content":[{"type":"text","text":"One."}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"},{"role":"user","content":[{"type":"text","text":"words"}],"attribution":"user","timestamp":"TIME"},{"role":"assistant","content":[{"type":"text","text":"Two."}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}]}}
    "#]].assert_eq(&told(&frames, &folder));
}
