//! What a turn looks like and how it ends (sections 6 to 8).

use expect_test::expect;
use serde_json::json;

use crate::client::Client;
use crate::world::World;

/// Nobody is asked.
fn unasked(scenario: &str) -> (Client, String) {
    let mut client = Client::with(scenario);
    let session = client.session();
    let id = client.send(
        "session/set_mode",
        json!({ "sessionId": session, "modeId": "all" }),
    );
    client.until(id);
    (client, session)
}

#[test]
fn text_and_thoughts_are_chunks_of_one_message_each() {
    let mut client = Client::with(
        r#"
usage = { input = 100, output = 20, cache_read = 50 }
[model]
context_window = 1000
prices = { input = 1, output = 2 }
[[turn]]
steps = [{ thinking = ["Hm, ", "well."] }, { text = ["Hel", "lo."] }]
"#,
    );
    let session = client.session();
    // Chunks that wait may have been put together, so only the sum of each kind is certain.
    let id = client.prompt(&session, "Hi there\nand more");
    let mut messages = client.until(id);
    let mut texts = [String::new(), String::new()];
    messages.retain(|message| {
        let update = &message["params"]["update"];
        let kind = match update["sessionUpdate"].as_str() {
            Some("agent_thought_chunk") => 0,
            Some("agent_message_chunk") => 1,
            _ => return true,
        };
        let is_first = texts[kind].is_empty();
        texts[kind].push_str(update["content"]["text"].as_str().unwrap());
        is_first
    });
    assert_eq!(texts, ["Hm, well.", "Hello."]);
    for message in &mut messages {
        if let Some(text) = message.pointer_mut("/params/update/content/text") {
            *text = json!("TEXT");
        }
    }
    expect![[r#"
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"session_info_update","title":"Hi there…"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"TEXT"},"messageId":"MSG-2-thought"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"TEXT"},"messageId":"MSG-2"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"usage_update","used":170,"size":1000,"cost":{"amount":0.00014,"currency":"USD"}}}}
        {"id":3,"result":{"stopReason":"end_turn","_meta":{"stentor":{"usage":{"inputTokens":100,"outputTokens":20,"cachedReadTokens":50,"cachedWriteTokens":0,"costUsd":0.00014}}}}}"#]].assert_eq(&client.shown(&messages));
}

#[test]
fn tool_calls_have_titles_kinds_places_and_changes() {
    let (mut client, session) = unasked(
        r#"
on_exhausted = { text = "Done." }
usage = { input = 1, output = 1 }
[[turn]]
steps = [
  { tool = "read", id = "c1", arguments = { path = "src/a.txt", offset = 2, limit = 2 } },
  { tool = "grep", id = "c2", arguments = { pattern = "two", path = "src" } },
  { tool = "find", id = "c3", arguments = { pattern = "*.txt" } },
  { tool = "ls", id = "c4", arguments = {} },
]
[[turn]]
steps = [{ tool = "edit", id = "c5", arguments = { path = "src/a.txt", edits = [{ oldText = "two", newText = "TWO" }] } }]
[[turn]]
steps = [{ tool = "write", id = "c6", arguments = { path = "src/a.txt", content = "new\n" } }]
[[turn]]
steps = [{ tool = "write", id = "c7", arguments = { path = "b.txt", content = "fresh\n" } }]
"#,
    );
    client.world.file("work/src/a.txt", "one\ntwo\nthree\n");
    let id = client.prompt(&session, "go");
    let mut messages = client.until(id);
    // The four that only read run together and end in any order.
    messages.sort_by_key(|message| {
        let call = message["params"]["update"]["toolCallId"].as_str();
        call.unwrap_or("z").to_owned()
    });
    messages.retain(|message| message["params"]["update"]["toolCallId"].is_string());
    expect![[r#"
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call","toolCallId":"c1","title":"Read a file","name":"read","kind":"read"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c1","kind":"read","title":"Read src/a.txt, lines 2 to 3","locations":[{"path":"~~/work/src/a.txt","line":2}],"rawInput":{"limit":2,"offset":2,"path":"src/a.txt"}}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"in_progress"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"completed","content":[{"type":"content","content":{"type":"text","text":"two\nthree\n"}}],"rawOutput":{"output":"two\nthree\n"}}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call","toolCallId":"c2","title":"Search in files","name":"grep","kind":"search"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c2","kind":"search","title":"Search for \"two\" in src","locations":[{"path":"~~/work/src"}],"rawInput":{"path":"src","pattern":"two"}}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c2","status":"in_progress"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c2","status":"completed","content":[{"type":"content","content":{"type":"text","text":"a.txt:2: two"}}],"rawOutput":{"output":"a.txt:2: two"}}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call","toolCallId":"c3","title":"Find files","name":"find","kind":"search"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c3","kind":"search","title":"Find files matching \"*.txt\"","locations":[{"path":"~~/work"}],"rawInput":{"pattern":"*.txt"}}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c3","status":"in_progress"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c3","status":"completed","content":[{"type":"content","content":{"type":"text","text":"src/a.txt"}}],"rawOutput":{"output":"src/a.txt"}}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call","toolCallId":"c4","title":"List a folder","name":"ls","kind":"read"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c4","kind":"read","title":"List the working folder","locations":[{"path":"~~/work"}],"rawInput":{}}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c4","status":"in_progress"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c4","status":"completed","content":[{"type":"content","content":{"type":"text","text":"src/"}}],"rawOutput":{"output":"src/"}}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call","toolCallId":"c5","title":"Edit a file","name":"edit","kind":"edit"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c5","kind":"edit","title":"Edit src/a.txt","content":[{"type":"diff","path":"~~/work/src/a.txt","oldText":"two","newText":"TWO"}],"locations":[{"path":"~~/work/src/a.txt"}],"rawInput":{"edits":[{"newText":"TWO","oldText":"two"}],"path":"src/a.txt"}}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c5","status":"in_progress"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c5","status":"completed","content":[{"type":"diff","path":"~~/work/src/a.txt","oldText":"two","newText":"TWO"}],"locations":[{"path":"~~/work/src/a.txt","line":2}],"rawOutput":{"output":"Successfully replaced 1 block(s) in src/a.txt.","details":{"diff":" 1 one\n-2 two\n+2 TWO\n 3 three","firstChangedLine":2}}}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call","toolCallId":"c6","title":"Write a file","name":"write","kind":"edit"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c6","kind":"edit","title":"Write src/a.txt","locations":[{"path":"~~/work/src/a.txt"}],"rawInput":{"content":"new\n","path":"src/a.txt"}}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c6","status":"in_progress"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c6","status":"completed","content":[{"type":"diff","path":"~~/work/src/a.txt","oldText":"one\nTWO\nthree\n","newText":"new\n"}],"rawOutput":{"output":"Successfully wrote 4 bytes to src/a.txt"}}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call","toolCallId":"c7","title":"Write a file","name":"write","kind":"edit"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c7","kind":"edit","title":"Write b.txt","locations":[{"path":"~~/work/b.txt"}],"rawInput":{"content":"fresh\n","path":"b.txt"}}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c7","status":"in_progress"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c7","status":"completed","content":[{"type":"diff","path":"~~/work/b.txt","newText":"fresh\n"}],"rawOutput":{"output":"Successfully wrote 6 bytes to b.txt"}}}}"#]].assert_eq(&client.shown(&messages));
}

#[test]
fn a_command_shows_its_output_and_a_failed_one_fails() {
    let (mut client, session) = unasked(
        r#"
on_exhausted = { text = "Done." }
[[turn]]
steps = [{ tool = "bash", id = "c1", arguments = { command = "echo out; exit 3" } }]
"#,
    );
    let id = client.prompt(&session, "go");
    let messages = client.until(id);
    let last = messages
        .iter()
        .rfind(|message| message["params"]["update"]["toolCallId"] == "c1");
    expect![[r#"{"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"failed","content":[{"type":"content","content":{"type":"text","text":"out\n\n\nCommand exited with code 3"}}],"rawOutput":{"output":"out\n\n\nCommand exited with code 3","details":{}}}}}"#]].assert_eq(&client.plain(last.unwrap()));
    let statuses: Vec<_> = messages
        .iter()
        .filter_map(|message| message["params"]["update"]["status"].as_str())
        .collect();
    assert_eq!(
        (statuses.first(), statuses.last()),
        (Some(&"in_progress"), Some(&"failed"))
    );
}

#[test]
fn the_todo_tool_becomes_a_plan() {
    let (mut client, session) = unasked(
        r#"
on_exhausted = { text = "Done." }
[[turn]]
tool = "todo"
arguments = { todos = [{ content = "one", status = "completed" }, { content = "two", status = "in_progress" }, { content = "three", status = "blocked" }, { content = "four", status = "abandoned" }] }
"#,
    );
    let id = client.prompt(&session, "go");
    let messages = client.until(id);
    let plan = messages
        .iter()
        .find(|one| one["params"]["update"]["sessionUpdate"] == "plan");
    expect![[r#"{"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"plan","entries":[{"content":"one","priority":"medium","status":"completed"},{"content":"two","priority":"medium","status":"in_progress"},{"content":"three (blocked)","priority":"medium","status":"pending"},{"content":"four (abandoned)","priority":"medium","status":"completed"}]}}}"#]].assert_eq(&client.plain(plan.unwrap()));
}

#[test]
fn a_failed_model_call_says_why_and_ends_the_turn() {
    let mut client = Client::with(
        "[[turn]]\nerror = { kind = \"auth\", message = \"The key was refused.\", status = 401 }\n",
    );
    let session = client.session();
    expect![[r#"
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"session_info_update","title":"go"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"The key was refused."},"messageId":"MSG-end-N"}}}
        {"id":3,"result":{"stopReason":"end_turn","_meta":{"stentor":{"error":{"kind":"auth","message":"The key was refused.","status":401}}}}}"#]].assert_eq(&client.turn(&session, "go"));
}

#[test]
fn every_end_has_its_stop_reason() {
    for (turn, reason) in [
        ("text = \"x\"\nstop = \"length\"", "max_tokens"),
        ("text = \"x\"\nrefused = true", "refusal"),
        ("text = \"x\"", "end_turn"),
    ] {
        let mut client = Client::with(&format!("[[turn]]\n{turn}\n"));
        let session = client.session();
        let id = client.prompt(&session, "go");
        let answer = client.until(id).pop().unwrap();
        assert_eq!(answer["result"]["stopReason"], reason);
    }
}

#[test]
fn a_limit_of_model_calls_ends_the_turn_with_its_own_reason() {
    let world = World::new();
    world.file(
        "scenario.toml",
        "[[turn]]\ntool = \"ls\"\ntimes = 100\narguments = {}\n",
    );
    let mut client = Client::started(world, &["--max-turns", "2"]);
    client.greet(json!({}));
    let session = client.session();
    let id = client.prompt(&session, "go");
    let answer = client.until(id).pop().unwrap();
    assert_eq!(
        answer["result"]["stopReason"], "max_turn_requests",
        "{answer}"
    );
}

#[test]
fn trace_context_goes_back_with_the_answer_and_other_meta_is_ignored() {
    let mut client = Client::with("[[turn]]\ntext = \"x\"\n");
    let session = client.session();
    let params = json!({
        "sessionId": session,
        "prompt": [{ "type": "text", "text": "go", "_meta": { "x": 1 } }],
        "_meta": { "traceparent": "00-a-b-01", "mine": { "deep": [1] } },
        "unknownField": true,
    });
    let id = client.send("session/prompt", params);
    let answer = client.until(id).pop().unwrap();
    assert_eq!(answer["result"]["_meta"]["traceparent"], "00-a-b-01");
    assert_eq!(answer["result"]["_meta"].get("mine"), None);
}

#[test]
fn a_second_prompt_is_refused_while_a_turn_runs_and_steering_gets_in() {
    let (mut client, session) = unasked(
        r#"
[[turn]]
tool = "bash"
arguments = { command = "while [ ! -e go ]; do sleep 0.02; done" }
[[turn]]
text = "You said: {{last_user}}"
"#,
    );
    let first = client.prompt(&session, "go");
    client.read_until(|message| message["params"]["update"]["status"] == "in_progress");
    let second = client.prompt(&session, "again");
    let refused = client.until(second).pop().unwrap();
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    let params =
        json!({ "sessionId": session, "prompt": [{ "type": "text", "text": "stop that" }] });
    let steering = client.send("_session/steering", params.clone());
    let steered = client.until(steering).pop().unwrap();
    assert_eq!(steered["result"], json!({ "outcome": "injected" }));
    client.world.file("work/go", "");
    let messages = client.until(first);
    let spoken: Vec<_> = messages
        .iter()
        .filter(|message| {
            let kind = message["params"]["update"]["sessionUpdate"].as_str();
            matches!(kind, Some("user_message_chunk" | "agent_message_chunk"))
        })
        .map(|message| {
            message["params"]["update"]["content"]["text"]
                .as_str()
                .unwrap()
        })
        .collect();
    assert_eq!(spoken, ["stop that", "You said: stop that"]);
    let steering = client.send("_session/steering", params);
    let late = client.until(steering).pop().unwrap();
    assert_eq!(late["result"]["outcome"], "failed");
}

#[test]
fn slash_commands_are_run() {
    let mut client = Client::with("[[turn]]\ntext = \"x\"\n");
    let session = client.session();
    let said = client.turn(&session, "/name My work");
    expect![[r#"
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"session_info_update","title":"My work"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"This session is now called \"My work\"."},"messageId":"MSG-said-0"}}}
        {"id":3,"result":{"stopReason":"end_turn"}}"#]].assert_eq(&said);
    let said = client.turn(&session, "/compact");
    expect![[r#"
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Nothing to compact (session too small)"},"messageId":"MSG-said-1"}}}
        {"id":4,"result":{"stopReason":"end_turn"}}"#]].assert_eq(&said);
}

#[test]
fn compaction_and_notices_are_told_to_clients_that_want_them() {
    let scenario = r#"
on_exhausted = { text = "x" }
[model]
context_window = 100000
[compaction]
summary = "We talked."
[[turn]]
text = "word "
repeat = 30000
usage = { input = 50000, output = 30000 }
"#;
    let mut client = Client::offering(
        scenario,
        json!({ "session": { "compaction": {}, "notices": {} } }),
    );
    let session = client.session();
    let id = client.prompt(&session, "go");
    client.until(id);
    let id = client.prompt(&session, "and more");
    client.until(id);
    let id = client.prompt(&session, "/compact keep it short");
    let messages = client.until(id);
    expect![[r#"
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"compaction_update","compactionId":"MSG-compaction-1","status":"in_progress"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"compaction_update","compactionId":"MSG-compaction-1","status":"completed","summary":[{"type":"text","text":"We talked."}]}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"The conversation was compacted: 80003 tokens before, 37506 now."},"messageId":"MSG-said-0"}}}
        {"id":5,"result":{"stopReason":"end_turn"}}"#]].assert_eq(&client.shown(&messages));
}

#[test]
fn templates_and_skills_of_the_folder_are_commands() {
    let world = World::new();
    world.file("scenario.toml", "[[turn]]\ntext = \"{{last_user}}\"\n");
    world.file(
        "work/.stentor/prompts/review.md",
        "---\ndescription: Look at a file\n---\nReview $1 well.\n",
    );
    let mut client = Client::started(world, &[]);
    client.greet(json!({}));
    let cwd = client.world.work("");
    let answer = client.ask("session/new", json!({ "cwd": cwd, "mcpServers": [] }));
    let session = answer["result"]["sessionId"].as_str().unwrap().to_owned();
    let list = client.read();
    let names: Vec<_> = list["params"]["update"]["availableCommands"]
        .as_array()
        .unwrap()
        .iter()
        .map(|command| command["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["compact", "name", "review"]);
    let id = client.prompt(&session, "/review a.txt");
    let messages = client.until(id);
    let said = messages
        .iter()
        .find(|one| one["params"]["update"]["sessionUpdate"] == "agent_message_chunk")
        .unwrap();
    assert_eq!(
        said["params"]["update"]["content"]["text"]
            .as_str()
            .unwrap()
            .trim(),
        "Review a.txt well."
    );
}
