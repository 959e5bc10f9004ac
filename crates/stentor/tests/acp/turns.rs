//! What a turn looks like and how it ends (sections 6 to 8).

use std::sync::Arc;

use expect_test::expect;
use serde_json::{Value, json};

use crate::client::Client;
use crate::world::World;

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
    expect![[r#"
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"session_info_update","title":"Hi there…"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"Hm, well."},"messageId":"MSG-thought"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Hello."},"messageId":"MSG"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"usage_update","used":170,"size":1000,"cost":{"amount":0.00014,"currency":"USD"}}}}
        {"id":3,"result":{"stopReason":"end_turn","usage":{"totalTokens":170,"inputTokens":100,"outputTokens":20,"cachedReadTokens":50,"cachedWriteTokens":0},"_meta":{"stentor":{"usage":{"inputTokens":100,"outputTokens":20,"cachedReadTokens":50,"cachedWriteTokens":0,"costUsd":0.00014}}}}}"#]].assert_eq(&client.turn(&session, "Hi there\nand more"));
}

#[test]
fn every_message_has_an_id_of_its_own_also_in_later_turns() {
    let mut client = Client::with("[[turn]]\ntext = \"x\"\ntimes = 3\n");
    let session = client.session();
    let mut ids = Vec::new();
    for _ in 0..3 {
        let prompt = client.prompt(&session, "go");
        let messages = client.until(prompt);
        let id = |one: &Value| Some(one["params"]["update"]["messageId"].as_str()?.to_owned());
        ids.extend(messages.iter().filter_map(id));
    }
    let all = ids.len();
    ids.dedup();
    assert_eq!((all, ids.len()), (3, 3), "{ids:?}");
}

#[test]
fn every_end_has_its_stop_reason() {
    let mut lines = Vec::new();
    for turn in [
        "text = \"x\"\nstop = \"length\"",
        "text = \"x\"\nrefused = true",
        "text = \"x\"",
    ] {
        let mut client = Client::with(&format!("[[turn]]\n{turn}\n"));
        let session = client.session();
        lines.push(client.turn(&session, "go"));
    }
    expect![[r#"
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"session_info_update","title":"go"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"x"},"messageId":"MSG"}}}
        {"id":3,"result":{"stopReason":"max_tokens"}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"session_info_update","title":"go"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"x"},"messageId":"MSG"}}}
        {"id":3,"result":{"stopReason":"refusal"}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"session_info_update","title":"go"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"x"},"messageId":"MSG"}}}
        {"id":3,"result":{"stopReason":"end_turn"}}"#]].assert_eq(&lines.join("\n"));
}

#[test]
fn a_limit_of_model_calls_ends_the_turn_with_its_own_reason() {
    let world = World::new();
    world.file(
        "scenario.toml",
        "[[turn]]\ntimes = 100\nsteps = [{ tool = \"ls\", id = \"c{{n}}\", arguments = {} }]\n",
    );
    let mut client = Client::started(world, &["--max-turns", "1"]);
    client.greet(json!({}));
    let session = client.session();
    expect![[r#"
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"session_info_update","title":"go"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call","toolCallId":"c1","title":"List a folder","name":"ls","kind":"read","status":"pending"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c1","kind":"read","title":"List the working folder","locations":[{"path":"~~/work"}],"rawInput":{}}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"in_progress"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"completed","content":[{"type":"content","content":{"type":"text","text":"(empty directory)"}}],"rawOutput":{"output":"(empty directory)"}}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Budget reached: 1 of 1 model calls are used."},"messageId":"MSG-end-N"}}}
        {"id":3,"result":{"stopReason":"max_turn_requests"}}"#]].assert_eq(&client.turn(&session, "go"));
}

#[test]
fn a_model_call_that_is_tried_again_says_so() {
    let scenario = r#"
[[turn]]
steps = [{ text = "Half" }, { error = { kind = "overloaded", message = "Too busy.", status = 529 } }]
times = 1
[[turn]]
text = "Whole."
"#;
    let world = World::new();
    world.file("scenario.toml", scenario);
    world.file(
        "home/.config/stentor/config.toml",
        "[retry]\nbase_delay_ms = 1\n",
    );
    let mut client = Client::started(Arc::new(world), &[]);
    client.greet(json!({}));
    let session = client.session();
    let plain = client.turn(&session, "go");
    let mut client = client.restart();
    client.greet(json!({ "session": { "notices": {} } }));
    let session = client.session();
    let with_notices = client.turn(&session, "go");
    expect![[r#"
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"session_info_update","title":"go"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Half"},"messageId":"MSG"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"Too busy. Trying again in 1 s (attempt 1 of 3)."},"messageId":"MSG-retry-N"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Whole."},"messageId":"MSG"}}}
        {"id":3,"result":{"stopReason":"end_turn"}}
        {"method":"session/update","params":{"sessionId":"SESSION-2","update":{"sessionUpdate":"session_info_update","title":"go"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-2","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Half"},"messageId":"MSG"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-2","update":{"sessionUpdate":"notice","severity":"warning","title":"Too busy. Trying again in 1 s (attempt 1 of 3)."}}}
        {"method":"session/update","params":{"sessionId":"SESSION-2","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Whole."},"messageId":"MSG"}}}
        {"id":4,"result":{"stopReason":"end_turn"}}"#]].assert_eq(&format!("{plain}\n{with_notices}"));
}

#[test]
fn templates_and_skills_of_the_folder_are_commands() {
    let world = World::new();
    world.file("scenario.toml", "[[turn]]\ntext = \"{{last_user}}\"\n");
    world.file(
        "home/.config/stentor/config.toml",
        "trusted_projects = [\"~/../work\"]\n",
    );
    world.file(
        "work/.stentor/prompts/review.md",
        "---\ndescription: Look at a file\n---\nReview $1 well.\n",
    );
    let mut client = Client::started(world, &[]);
    client.greet(json!({}));
    let cwd = client.world.work("");
    let answer = client.ask("session/new", json!({ "cwd": cwd, "mcpServers": [] }));
    let session = answer["result"]["sessionId"].as_str().unwrap().to_owned();
    client.know(&session);
    let list = client.read();
    let list = client.plain(&list);
    let turn = client.turn(&session, "/review a.txt");
    expect![[r#"
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"available_commands_update","availableCommands":[{"name":"compact","description":"Summarise the older part of the conversation to make room.","input":{"hint":"what to keep in mind (optional)"}},{"name":"name","description":"Name this session.","input":{"hint":"the name"}},{"name":"plan","description":"Plan first: only read until you have accepted a plan.","input":{"hint":"[on|off]"}},{"name":"rewind","description":"Go back to the point before a message: files, conversation or both.","input":{"hint":"[MESSAGE] [--files|--conversation] [--force], or --undo"}},{"name":"jobs","description":"List what runs in the background, show its output, or stop it.","input":{"hint":"[ID], or stop ID"}},{"name":"review","description":"Look at a file"}]}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"session_info_update","title":"Review a.txt well."}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Review a.txt well.\n"},"messageId":"MSG"}}}
        {"id":3,"result":{"stopReason":"end_turn"}}"#]].assert_eq(&format!("{list}\n{turn}"));
}
