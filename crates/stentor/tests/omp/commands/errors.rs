//! Lines that are no command, and commands that cannot be done (section 4).

use std::io::Write;

use expect_test::expect;
use serde_json::{Value, json};

use crate::child::{Child, Folder, shown};
use crate::transcript::told;

#[test]
fn every_bad_line_is_answered_and_the_child_lives() {
    let folder = Folder::with("[[turn]]\ntext = \"x\"");
    let mut child = folder.child(&["--no-session"]);
    let lines = [
        "this is not json",
        "{\"type\":\"prompt\"",
        "null",
        "[1,2,3]",
        "\"str\"",
        "42",
        r#"{"id":"e4"}"#,
        r#"{"id":"e4","type":{}}"#,
        r#"{"id":"e3","type":"definitely_not_a_command"}"#,
        r#"{"id":"e6","type":"set_session_name"}"#,
        r#"{"id":"e5","type":"set_session_name","name":"   "}"#,
        r#"{"id":"e7","type":"prompt"}"#,
        r#"{"id":"e7","type":"prompt","message":7}"#,
        r#"{"id":"e7","type":"prompt","message":""}"#,
        r#"{"id":"e7","type":"prompt","message":"m","streamingBehavior":"later"}"#,
        r#"{"id":"e7","type":"prompt","message":"m","images":[{"type":"image"}]}"#,
        r#"{"id":"e7","type":"steer","message":"m","images":[{"data":"aGk=","mimeType":"text/html"}]}"#,
        r#"{"id":"e7","type":"follow_up","message":"m","images":[{"data":"no base64","mimeType":"image/png"}]}"#,
        r#"{"id":"e1","type":"set_model","provider":"nope","modelId":"missing"}"#,
        r#"{"id":"e1","type":"set_model"}"#,
        r#"{"id":"e9","type":"branch","entryId":"deadbeef"}"#,
        r#"{"id":"e9","type":"fork","entryId":"deadbeef"}"#,
        r#"{"id":"e8","type":"switch_session","sessionPath":""}"#,
        r#"{"id":"e8","type":"switch_session","sessionPath":"."}"#,
        r#"{"id":"e0","type":"compact"}"#,
        r#"{"id":"ea","type":"set_thinking_level","level":"bogus"}"#,
        r#"{"id":"eb","type":"set_steering_mode","mode":"bogus"}"#,
        r#"{"id":"eb","type":"set_interrupt_mode","mode":"bogus"}"#,
        r#"{"id":"ec","type":"set_auto_retry","enabled":"yes"}"#,
        r#"{"id":"ed","type":"get_entries","since":"deadbeef"}"#,
        r#"{"id":"ee","type":"get_messages_page","limit":0}"#,
        r#"{"id":"ee","type":"get_messages_page","cursor":"1-2-3"}"#,
        r#"{"id":"ef","type":"negotiate_protocol","protocolVersion":3}"#,
        r#"{"id":"eg","type":"login","providerId":"nowhere"}"#,
        r#"{"id":"eh","type":"set_host_tools","tools":[{"name":"x","description":"","parameters":{}}]}"#,
        r#"{"id":"ei","type":"set_host_uri_schemes","schemes":[{"scheme":"file"}]}"#,
        r#"{"id":"ej","type":"get_subagent_messages"}"#,
        r#"{"id":"ej","type":"cancel_subagent","subagentId":"x"}"#,
        r#"{"id":"ej","type":"steer_subagent","subagentId":"x","message":"m"}"#,
        r#"{"id":"ek","type":"remove_queued_message","message":"m","queue":"other"}"#,
        r#"{"id":"el","type":"export_html","outputPath":"/nowhere/at/all.html"}"#,
    ];
    let mut answers = Vec::new();
    for line in lines {
        child.line(line);
        answers.extend(child.until_type("response").pop());
    }
    expect![[r#"
        {"type":"response","command":"parse","success":false,"error":"Failed to parse command: expected ident at line 1 column 2"}
        {"type":"response","command":"parse","success":false,"error":"Failed to parse command: EOF while parsing an object at line 1 column 16"}
        {"type":"response","command":"parse","success":false,"error":"Failed to parse command: null is not an object"}
        {"type":"response","success":false,"error":"Unknown command: undefined"}
        {"type":"response","success":false,"error":"Unknown command: undefined"}
        {"type":"response","success":false,"error":"Unknown command: undefined"}
        {"type":"response","success":false,"error":"Unknown command: undefined"}
        {"type":"response","success":false,"error":"Unknown command: undefined"}
        {"type":"response","command":"definitely_not_a_command","success":false,"error":"Unknown command: definitely_not_a_command"}
        {"id":"e6","type":"response","command":"set_session_name","success":false,"error":"Invalid set_session_name command: missing field `name`"}
        {"id":"e5","type":"response","command":"set_session_name","success":false,"error":"Session name cannot be empty"}
        {"id":"e7","type":"response","command":"prompt","success":false,"error":"Invalid prompt command: missing field `message`"}
        {"id":"e7","type":"response","command":"prompt","success":false,"error":"Invalid prompt command: message: invalid type: integer `7`, expected a string"}
        {"id":"e7","type":"response","command":"prompt","success":false,"error":"the message is empty"}
        {"id":"e7","type":"response","command":"prompt","success":false,"error":"Invalid prompt command: streamingBehavior: unknown variant `later`, expected `steer` or `followUp`"}
        {"id":"e7","type":"response","command":"prompt","success":false,"error":"Invalid prompt command: images[0]: missing field `data`"}
        {"id":"e7","type":"response","command":"steer","success":false,"error":"images[0]: its mimeType is not that of an image"}
        {"id":"e7","type":"response","command":"follow_up","success":false,"error":"images[0]: its data is not base64"}
        {"id":"e1","type":"response","command":"set_model","success":false,"error":"Model not found: nope/missing"}
        {"id":"e1","type":"response","command":"set_model","success":false,"error":"Invalid set_model command: missing field `provider`"}
        {"id":"e9","type":"response","command":"branch","success":false,"error":"Invalid entry ID for branching"}
        {"id":"e9","type":"response","command":"fork","success":false,"error":"Invalid entry ID for forking"}
        {"id":"e8","type":"response","command":"switch_session","success":false,"error":"sessionPath is empty"}
        {"id":"e8","type":"response","command":"switch_session","success":false,"error":"ROOT/work is not a session file: it is not a regular file; it was not changed"}
        {"id":"e0","type":"response","command":"compact","success":false,"error":"Nothing to compact (session too small)"}
        {"id":"ea","type":"response","command":"set_thinking_level","success":false,"error":"unknown thinking level `bogus`: use off, minimal, low, medium, high or xhigh"}
        {"id":"eb","type":"response","command":"set_steering_mode","success":false,"error":"unknown mode `bogus`: use all or one-at-a-time"}
        {"id":"eb","type":"response","command":"set_interrupt_mode","success":false,"error":"unknown mode `bogus`: use immediate or wait"}
        {"id":"ec","type":"response","command":"set_auto_retry","success":false,"error":"Invalid set_auto_retry command: enabled: invalid type: string \"yes\", expected a boolean"}
        {"id":"ed","type":"response","command":"get_entries","success":false,"error":"Entry not found: deadbeef","code":"unknown_since"}
        {"id":"ee","type":"response","command":"get_messages_page","success":false,"error":"limit is 0: use 1 to 256"}
        {"id":"ee","type":"response","command":"get_messages_page","success":false,"error":"RPC message cursor is stale: the conversation has changed, start without one","code":"stale_cursor"}
        {"id":"ef","type":"response","command":"negotiate_protocol","success":false,"error":"Unsupported protocol version: 3. Supported: 2"}
        {"id":"eg","type":"response","command":"login","success":false,"error":"there is no login for `nowhere`; available: anthropic, openai-codex, github-copilot"}
        {"id":"eh","type":"response","command":"set_host_tools","success":false,"error":"Host tool \"x\" must have a description"}
        {"id":"ei","type":"response","command":"set_host_uri_schemes","success":false,"error":"Host URI scheme \"file\" is reserved"}
        {"id":"ej","type":"response","command":"get_subagent_messages","success":false,"error":"get_subagent_messages requires subagentId or sessionFile"}
        {"id":"ej","type":"response","command":"cancel_subagent","success":true,"data":{"cancelled":false}}
        {"id":"ej","type":"response","command":"steer_subagent","success":false,"error":"Subagent not running: x"}
        {"id":"ek","type":"response","command":"remove_queued_message","success":false,"error":"Invalid remove_queued_message command: queue: unknown variant `other`, expected `steering` or `followUp`"}
        {"id":"el","type":"response","command":"export_html","success":false,"error":"cannot write /nowhere/at/all.html: No such file or directory (os error 2)"}
    "#]].assert_eq(&shown(&answers, &folder));
}

#[test]
fn blank_lines_and_answers_nobody_waits_for_are_passed_over() {
    let folder = Folder::with("[[turn]]\ntext = \"x\"");
    let mut child = folder.child(&["--no-session"]);
    for line in [
        "",
        "   ",
        "\r",
        r#"{"type":"extension_ui_response","id":"unknown","value":"x"}"#,
        r#"{"type":"extension_ui_response"}"#,
        r#"{"type":"host_tool_result","id":"unknown","result":{"content":[]}}"#,
        r#"{"type":"host_tool_update","id":1}"#,
        r#"{"type":"host_uri_result","id":"unknown"}"#,
    ] {
        child.line(line);
    }
    child.send(json!({"id": 7, "type": "get_last_assistant_text"}));
    expect![[r#"
        {"id":7,"type":"response","command":"get_last_assistant_text","success":true,"data":{}}
    "#]]
    .assert_eq(&shown(&[child.next()], &folder));
}

#[test]
fn a_prompt_to_a_model_without_a_key_fails_with_its_id_and_says_what_to_do() {
    let folder = Folder::with("[[turn]]\ntext = \"x\"");
    let words = ["--no-session", "--model", "deepseek/deepseek-chat"];
    let mut child = Child::of(folder.command(&words).spawn().unwrap());
    child.until_type("ready");
    let mut frames = child.done(json!({"id": 1, "type": "prompt", "message": "hi"}));
    frames.extend(child.done(json!({"id": 2, "type": "abort_and_prompt", "message": "hi"})));
    frames.extend(child.done(json!({"id": 3, "type": "get_messages"})));
    let other = json!({"id": 4, "type": "set_model", "provider": "deepseek", "modelId": "deepseek-reasoner"});
    frames.extend(child.done(other));
    expect![[r#"
        {"id":1,"type":"response","command":"prompt","success":false,"error":"No API key found for deepseek. deepseek/deepseek-chat: no credentials: set DEEPSEEK_API_KEY"}
        {"id":2,"type":"response","command":"abort_and_prompt","success":false,"error":"No API key found for deepseek. deepseek/deepseek-chat: no credentials: set DEEPSEEK_API_KEY"}
        {"id":3,"type":"response","command":"get_messages","success":true,"data":{"messages":[]}}
        {"id":4,"type":"response","command":"set_model","success":false,"error":"No API key for deepseek/deepseek-reasoner"}
    "#]].assert_eq(&told(&frames, &folder));
}

#[test]
fn a_stored_conversation_whose_model_is_not_there_goes_on_with_the_usual_one() {
    // Played whatever was said before.
    let folder = Folder::with("[[turn]]\nwhen = { last_user_contains = \"hi\" }\ntext = \"x\"");
    folder.file(
        "theirs.jsonl",
        include_str!("../sessions/stored/version2.jsonl"),
    );
    let mut child = folder.child(&["--session-dir", "../sessions"]);
    child.data(json!({"type": "switch_session", "sessionPath": "theirs.jsonl"}));
    let mut frames = child.prompt("hi");
    frames.extend(child.done(json!({"id": 2, "type": "get_available_thinking_levels"})));
    expect![[r#"
        {"id":"prompt","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
        {"type":"agent_start"}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"hi"}],"attribution":"user","timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-1","message":"as it began"}
        {"type":"message_start","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"ROOT/work/../scenario.toml","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":""}]},"assistantMessageEvent":{"type":"text_start","contentIndex":0,"partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":"x"}]},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"x","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":"x"}]},"assistantMessageEvent":{"type":"text_end","contentIndex":0,"content":"x","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"text","text":"x"}],"api":"script","provider":"script","model":"ROOT/work/../scenario.toml","usage":"nothing","stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"turn_end","message":"msg-2","toolResults":[]}
        {"type":"agent_end","messages":["msg-1","msg-2"],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":2}
        {"type":"prompt_result","id":"prompt","agentInvoked":true,"status":"completed","sessionSettled":true}
        {"type":"session_settled"}
        {"type":"agent_settled","aborted":false}
        {"id":2,"type":"response","command":"get_available_thinking_levels","success":true,"data":{"levels":["off","minimal","low","medium","high","xhigh"]}}
    "#]].assert_eq(&told(&frames, &folder));
}

#[test]
fn lines_that_are_no_text_are_answered_and_the_child_lives() {
    let folder = Folder::with("[[turn]]\ntext = \"x\"");
    let mut child = folder.child(&["--no-session"]);
    let (mut stdin, lines) = child.split();
    stdin
        .write_all(b"{\"id\":1,\"type\":\"steer\",\"message\":\"\xff\"}\n")
        .unwrap();
    stdin
        .write_all(b"{\"id\":2,\"type\":\"get_last_assistant_text\"}\n")
        .unwrap();
    let answers: Vec<Value> = (0..2)
        .map(|_| serde_json::from_str(&lines.recv().unwrap()).unwrap())
        .collect();
    expect![[r#"
        {"type":"response","command":"parse","success":false,"error":"Failed to parse command: the line is not UTF-8"}
        {"id":2,"type":"response","command":"get_last_assistant_text","success":true,"data":{}}
    "#]].assert_eq(&told(&answers, &folder));
}

#[test]
fn commands_of_newer_originals_that_are_not_there_are_refused_with_their_id() {
    let folder = Folder::with("[[turn]]\ntext = \"x\"");
    let mut child = folder.child(&["--no-session"]);
    let mut answers = Vec::new();
    for name in [
        "set_ask_dialog",
        "set_cache_warming",
        "predict_word",
        "predict_word_feedback",
    ] {
        child.send(json!({"id": 1, "type": name}));
        answers.push(child.next());
    }
    expect![[r#"
        {"id":1,"type":"response","command":"set_ask_dialog","success":false,"error":"set_ask_dialog is not supported"}
        {"id":1,"type":"response","command":"set_cache_warming","success":false,"error":"set_cache_warming is not supported"}
        {"id":1,"type":"response","command":"predict_word","success":false,"error":"predict_word is not supported"}
        {"id":1,"type":"response","command":"predict_word_feedback","success":false,"error":"predict_word_feedback is not supported"}
    "#]].assert_eq(&told(&answers, &folder));
}
