//! Tool calls as people see them: titles, kinds, places, changes, the plan (section 8).

use expect_test::expect;
use serde_json::{Value, json};

use crate::client::{Client, chosen, is_request};

#[test]
fn tool_calls_have_titles_kinds_places_and_changes() {
    let (mut client, session) = Client::unasked(
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
        json!({}),
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
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call","toolCallId":"c1","title":"Read a file","name":"read","kind":"read","status":"pending"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c1","kind":"read","title":"Read src/a.txt, lines 2 to 3","locations":[{"path":"~~/work/src/a.txt","line":2}],"rawInput":{"limit":2,"offset":2,"path":"src/a.txt"}}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"in_progress"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"completed","content":[{"type":"content","content":{"type":"text","text":"two\nthree\n"}}],"rawOutput":{"output":"two\nthree\n"}}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call","toolCallId":"c2","title":"Search in files","name":"grep","kind":"search","status":"pending"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c2","kind":"search","title":"Search for \"two\" in src","locations":[{"path":"~~/work/src"}],"rawInput":{"path":"src","pattern":"two"}}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c2","status":"in_progress"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c2","status":"completed","content":[{"type":"content","content":{"type":"text","text":"a.txt:2: two"}}],"rawOutput":{"output":"a.txt:2: two"}}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call","toolCallId":"c3","title":"Find files","name":"find","kind":"search","status":"pending"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c3","kind":"search","title":"Find files matching \"*.txt\"","locations":[{"path":"~~/work"}],"rawInput":{"pattern":"*.txt"}}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c3","status":"in_progress"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c3","status":"completed","content":[{"type":"content","content":{"type":"text","text":"src/a.txt"}}],"rawOutput":{"output":"src/a.txt"}}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call","toolCallId":"c4","title":"List a folder","name":"ls","kind":"read","status":"pending"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c4","kind":"read","title":"List the working folder","locations":[{"path":"~~/work"}],"rawInput":{}}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c4","status":"in_progress"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c4","status":"completed","content":[{"type":"content","content":{"type":"text","text":"src/"}}],"rawOutput":{"output":"src/"}}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call","toolCallId":"c5","title":"Edit a file","name":"edit","kind":"edit","status":"pending"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c5","kind":"edit","title":"Edit src/a.txt","locations":[{"path":"~~/work/src/a.txt"}],"rawInput":{"edits":[{"newText":"TWO","oldText":"two"}],"path":"src/a.txt"}}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c5","status":"in_progress"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c5","status":"completed","content":[{"type":"diff","path":"~~/work/src/a.txt","oldText":"one\ntwo\nthree\n","newText":"one\nTWO\nthree\n"}],"locations":[{"path":"~~/work/src/a.txt","line":2}],"rawOutput":{"output":"Successfully replaced 1 block(s) in src/a.txt.","details":{"diff":" 1 one\n-2 two\n+2 TWO\n 3 three","patch":"--- src/a.txt\n+++ src/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n","firstChangedLine":2}}}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call","toolCallId":"c6","title":"Write a file","name":"write","kind":"edit","status":"pending"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c6","kind":"edit","title":"Write src/a.txt","locations":[{"path":"~~/work/src/a.txt"}],"rawInput":{"content":"new\n","path":"src/a.txt"}}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c6","status":"in_progress"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c6","status":"completed","content":[{"type":"diff","path":"~~/work/src/a.txt","oldText":"one\nTWO\nthree\n","newText":"new\n"}],"rawOutput":{"output":"Successfully wrote 4 bytes to src/a.txt"}}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call","toolCallId":"c7","title":"Write a file","name":"write","kind":"edit","status":"pending"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c7","kind":"edit","title":"Write b.txt","locations":[{"path":"~~/work/b.txt"}],"rawInput":{"content":"fresh\n","path":"b.txt"}}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c7","status":"in_progress"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c7","status":"completed","content":[{"type":"diff","path":"~~/work/b.txt","newText":"fresh\n","oldText":null}],"rawOutput":{"output":"Successfully wrote 6 bytes to b.txt"}}}}"#]].assert_eq(&client.shown(&messages));
}

/// The changes a call shows in each of its messages, the question included.
fn changes(client: &Client, messages: &[Value], call: &str) -> String {
    let mut shown = Vec::new();
    for message in messages {
        let params = &message["params"];
        let (kind, about) = match message["method"] == "session/request_permission" {
            true => ("question", &params["toolCall"]),
            false => ("update", &params["update"]),
        };
        if about["toolCallId"] == call {
            let status = about["status"].as_str().unwrap_or("-");
            let content = about["content"].as_array().cloned().unwrap_or_default();
            shown.push(format!("{kind} {status}"));
            let diffs = content.iter().filter(|one| one["type"] == "diff");
            shown.extend(diffs.map(|diff| client.plain(diff)));
        }
    }
    shown.join("\n")
}

#[test]
fn who_is_asked_has_seen_the_change_before() {
    let mut client = Client::with(
        r#"
on_exhausted = { text = "Done." }
[[turn]]
steps = [{ tool = "edit", id = "edit", arguments = { path = "a.txt", edits = [{ oldText = "ne 5", newText = "ne five" }, { oldText = "20", newText = "twenty" }] } }]
[[turn]]
steps = [{ tool = "write", id = "over", arguments = { path = "b.txt", content = "new\n" } }]
[[turn]]
steps = [{ tool = "write", id = "new", arguments = { path = "c.txt", content = "fresh\n" } }]
[[turn]]
steps = [{ tool = "edit", id = "wrong", arguments = { path = "a.txt", edits = [{ oldText = "nowhere", newText = "x" }] } }]
"#,
    );
    let lines: String = (1..=30).map(|n| format!("line {n}\n")).collect();
    client.world.file("work/a.txt", &lines);
    client.world.file("work/b.txt", "old\n");
    let session = client.session();
    let id = client.prompt(&session, "go");
    let messages = client.serve(id, |_| Some(chosen("allow_once")));
    let all = ["edit", "over", "new", "wrong"].map(|call| changes(&client, &messages, call));
    expect![[r#"
        update pending
        update -
        update pending
        {"type":"diff","path":"~~/work/a.txt","oldText":"line 1\nline 2\nline 3\nline 4\nline 5\nline 6\nline 7\nline 8\nline 9\n","newText":"line 1\nline 2\nline 3\nline 4\nline five\nline 6\nline 7\nline 8\nline 9\n"}
        {"type":"diff","path":"~~/work/a.txt","oldText":"line 16\nline 17\nline 18\nline 19\nline 20\nline 21\nline 22\nline 23\nline 24\n","newText":"line 16\nline 17\nline 18\nline 19\nline twenty\nline 21\nline 22\nline 23\nline 24\n"}
        question pending
        {"type":"diff","path":"~~/work/a.txt","oldText":"line 1\nline 2\nline 3\nline 4\nline 5\nline 6\nline 7\nline 8\nline 9\n","newText":"line 1\nline 2\nline 3\nline 4\nline five\nline 6\nline 7\nline 8\nline 9\n"}
        {"type":"diff","path":"~~/work/a.txt","oldText":"line 16\nline 17\nline 18\nline 19\nline 20\nline 21\nline 22\nline 23\nline 24\n","newText":"line 16\nline 17\nline 18\nline 19\nline twenty\nline 21\nline 22\nline 23\nline 24\n"}
        update in_progress
        update completed
        {"type":"diff","path":"~~/work/a.txt","oldText":"line 1\nline 2\nline 3\nline 4\nline 5\nline 6\nline 7\nline 8\nline 9\n","newText":"line 1\nline 2\nline 3\nline 4\nline five\nline 6\nline 7\nline 8\nline 9\n"}
        {"type":"diff","path":"~~/work/a.txt","oldText":"line 16\nline 17\nline 18\nline 19\nline 20\nline 21\nline 22\nline 23\nline 24\n","newText":"line 16\nline 17\nline 18\nline 19\nline twenty\nline 21\nline 22\nline 23\nline 24\n"}

        update pending
        update -
        update pending
        {"type":"diff","path":"~~/work/b.txt","oldText":"old\n","newText":"new\n"}
        question pending
        {"type":"diff","path":"~~/work/b.txt","oldText":"old\n","newText":"new\n"}
        update in_progress
        update completed
        {"type":"diff","path":"~~/work/b.txt","oldText":"old\n","newText":"new\n"}

        update pending
        update -
        update pending
        {"type":"diff","path":"~~/work/c.txt","newText":"fresh\n","oldText":null}
        question pending
        {"type":"diff","path":"~~/work/c.txt","newText":"fresh\n","oldText":null}
        update in_progress
        update completed
        {"type":"diff","path":"~~/work/c.txt","newText":"fresh\n","oldText":null}

        update pending
        update -
        question pending
        update in_progress
        update failed"#]].assert_eq(&all.join("\n\n"));
    // Told again it is the same change.
    let (_, last) = all[0].rsplit_once("update completed\n").unwrap();
    let cwd = client.world.work("");
    let params = json!({ "sessionId": session, "cwd": cwd, "mcpServers": [] });
    let id = client.send("session/load", params);
    let messages = client.until(id);
    assert_eq!(
        changes(&client, &messages, "edit"),
        format!("update pending\nupdate completed\n{last}")
    );
}

#[test]
fn a_change_is_shown_with_its_call_by_whichever_path_the_file_is_named() {
    let (mut client, session) = Client::unasked(
        r#"
on_exhausted = { text = "Done." }
[[turn]]
steps = [
  { tool = "write", id = "one", arguments = { path = "link/a.txt", content = "one\n" } },
  { tool = "write", id = "two", arguments = { path = "real/b.txt", content = "two\n" } },
]
[[turn]]
steps = [{ tool = "write", id = "three", arguments = { path = "link/../real/a.txt", content = "three\n" } }]
"#,
        json!({}),
    );
    client.world.file("work/real/a.txt", "zero\n");
    std::os::unix::fs::symlink("real", client.world.path("work/link")).unwrap();
    let id = client.prompt(&session, "go");
    let messages = client.serve(id, |_| None);
    let all = ["one", "two", "three"].map(|call| changes(&client, &messages, call));
    expect![[r#"
        update pending
        update -
        update in_progress
        update completed
        {"type":"diff","path":"~~/work/link/a.txt","oldText":"zero\n","newText":"one\n"}
        update pending
        update -
        update in_progress
        update completed
        {"type":"diff","path":"~~/work/real/b.txt","newText":"two\n","oldText":null}
        update pending
        update -
        update in_progress
        update completed
        {"type":"diff","path":"~~/work/link/../real/a.txt","oldText":"one\n","newText":"three\n"}"#]]
    .assert_eq(&all.join("\n"));
}

#[test]
fn a_change_that_is_too_long_to_be_shown_is_said_to_be_left_out() {
    let long = "x".repeat(200_000);
    let scenario = format!(
        "on_exhausted = {{ text = \"Done.\" }}\n[[turn]]\nsteps = [{{ tool = \"write\", id = \"c\", arguments = {{ path = \"new.txt\", content = \"{long}\" }} }}]\n"
    );
    let mut client = Client::with(&scenario);
    let session = client.session();
    let id = client.prompt(&session, "go");
    let messages = client.serve(id, |_| Some(chosen("allow_once")));
    let question = messages.iter().find(|one| is_request(one)).unwrap();
    assert_eq!(
        question["params"]["toolCall"]["content"][0]["content"]["text"],
        "[One change is not shown here: it is too long.]"
    );
}

#[test]
fn titles_are_what_a_person_understands() {
    let scenario = r#"
on_exhausted = { text = "Done." }
[[turn]]
steps = [
  { tool = "read", id = "a", arguments = { path = "src/main.rs", offset = 10, limit = 31 } },
  { tool = "read", id = "b", arguments = { path = "src/main.rs", offset = 10 } },
  { tool = "read", id = "c", arguments = { path = "src/main.rs", limit = 5 } },
  { tool = "read", id = "d", arguments = { path = "/etc/hostname" } },
  { tool = "read", id = "e", arguments = {} },
  { tool = "ls", id = "f", arguments = { path = "src" } },
  { tool = "grep", id = "g", arguments = { pattern = "x" } },
  { tool = "bash", id = "h", arguments = { command = "echo one\necho two" } },
  { tool = "nobody", id = "i", arguments = { x = 1 } },
]
"#;
    let mut client = Client::with(scenario);
    let session = client.session();
    let prompt = client.prompt(&session, "go");
    let messages = client.serve(prompt, |_| {
        Some(json!({ "outcome": { "outcome": "cancelled" } }))
    });
    let titles: Vec<&str> = messages
        .iter()
        .map(|one| &one["params"]["update"])
        .filter(|update| update["rawInput"].is_object())
        .map(|update| update["title"].as_str().unwrap())
        .collect();
    expect![[r#"
        Read src/main.rs, lines 10 to 40
        Read src/main.rs from line 10
        Read src/main.rs, lines 1 to 5
        Read /etc/hostname
        Read .
        List src
        Search for "x"
        Run echo one…
        nobody"#]]
    .assert_eq(&titles.join("\n"));
}

#[test]
fn a_command_shows_its_output_and_a_failed_one_fails() {
    let (mut client, session) = Client::unasked(
        r#"
on_exhausted = { text = "Done." }
[[turn]]
steps = [{ tool = "bash", id = "c1", arguments = { command = "echo out; exit 3" } }]
"#,
        json!({}),
    );
    let prompt = client.prompt(&session, "go");
    let mut messages = client.until(prompt);
    // How much was seen while it ran is a matter of chance.
    for message in &mut messages {
        if message["params"]["update"]["status"] == "in_progress"
            && let Some(update) = message.pointer_mut("/params/update")
        {
            update.as_object_mut().unwrap().remove("content");
        }
    }
    expect![[r#"
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"session_info_update","title":"go"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call","toolCallId":"c1","title":"Run a command","name":"bash","kind":"execute","status":"pending"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c1","kind":"execute","title":"Run echo out; exit 3","locations":[],"rawInput":{"command":"echo out; exit 3"}}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"in_progress"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"failed","content":[{"type":"content","content":{"type":"text","text":"out\n\n\nCommand exited with code 3"}}],"rawOutput":{"output":"out\n\n\nCommand exited with code 3","details":{}}}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Done."},"messageId":"MSG"}}}
        {"id":3,"result":{"stopReason":"end_turn"}}"#]].assert_eq(&client.shown(&messages));
}

#[test]
fn what_runs_is_shown_before_it_ends() {
    let (mut client, session) = Client::unasked(
        "[[turn]]\nsteps = [{ tool = \"bash\", id = \"c1\", arguments = { command = \"echo begun; while [ ! -e go ]; do sleep 0.02; done\" } }]\n[[turn]]\ntext = \"Done.\"\n",
        json!({}),
    );
    let prompt = client.prompt(&session, "go");
    let mut messages = client.read_until(|message| {
        message["params"]["update"]["content"][0]["content"]["text"] == "begun\n"
    });
    client.world.file("work/go", "");
    messages.extend(client.until(prompt));
    expect![[r#"
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"session_info_update","title":"go"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call","toolCallId":"c1","title":"Run a command","name":"bash","kind":"execute","status":"pending"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c1","kind":"execute","title":"Run echo begun; while [ ! -e go ]; do sleep 0.02; done","locations":[],"rawInput":{"command":"echo begun; while [ ! -e go ]; do sleep 0.02; done"}}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"in_progress","content":[{"type":"content","content":{"type":"text","text":"begun\n"}}]}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"completed","content":[{"type":"content","content":{"type":"text","text":"begun\n"}}],"rawOutput":{"output":"begun\n"}}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Done."},"messageId":"MSG"}}}
        {"id":3,"result":{"stopReason":"end_turn"}}"#]].assert_eq(&client.shown(&messages));
}

#[test]
fn the_todo_tool_becomes_a_plan() {
    let (mut client, session) = Client::unasked(
        r#"
on_exhausted = { text = "Done." }
[[turn]]
steps = [{ tool = "todo", id = "c1", arguments = { todos = [{ content = "one", status = "completed" }, { content = "two", status = "in_progress" }, { content = "three", status = "blocked" }, { content = "four", status = "abandoned" }] } }]
"#,
        json!({}),
    );
    let live = client.turn(&session, "go");
    let cwd = client.world.work("");
    let params = json!({ "sessionId": session, "cwd": cwd, "mcpServers": [] });
    let load = client.send("session/load", params);
    let messages = client.until(load);
    let again = messages
        .iter()
        .find(|one| one["params"]["update"]["sessionUpdate"] == "plan");
    expect![[r#"
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"session_info_update","title":"go"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call","toolCallId":"c1","title":"Update the plan","name":"todo","kind":"think","status":"pending"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c1","kind":"think","title":"Update the plan","locations":[],"rawInput":{"todos":[{"content":"one","status":"completed"},{"content":"two","status":"in_progress"},{"content":"three","status":"blocked"},{"content":"four","status":"abandoned"}]}}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"in_progress"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"plan","entries":[{"content":"one","priority":"medium","status":"completed"},{"content":"two","priority":"medium","status":"in_progress"},{"content":"three (blocked)","priority":"medium","status":"pending"},{"content":"four (abandoned)","priority":"medium","status":"completed"}]}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"completed","content":[{"type":"content","content":{"type":"text","text":"Plan: 1 of 4 done.\n[x] one\n[>] two\n[!] three\n[-] four"}}],"rawOutput":{"output":"Plan: 1 of 4 done.\n[x] one\n[>] two\n[!] three\n[-] four","details":{"phases":[{"name":"Tasks","tasks":[{"content":"one","status":"completed"},{"content":"two","status":"in_progress"},{"content":"three","status":"blocked"},{"content":"four","status":"abandoned"}]}]}}}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Done."},"messageId":"MSG"}}}
        {"id":3,"result":{"stopReason":"end_turn"}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"plan","entries":[{"content":"one","priority":"medium","status":"completed"},{"content":"two","priority":"medium","status":"in_progress"},{"content":"three (blocked)","priority":"medium","status":"pending"},{"content":"four (abandoned)","priority":"medium","status":"completed"}]}}}"#]].assert_eq(&format!("{live}\n{}", client.plain(again.unwrap())));
}

#[test]
fn a_long_output_is_cut_with_a_note_and_a_frame_stays_small() {
    let (mut client, session) = Client::unasked(
        "[[turn]]\nsteps = [{ tool = \"bash\", id = \"c1\", arguments = { command = \"printf '%045000d' 0\" } }]\n[[turn]]\ntext = \"Done.\"\n",
        json!({}),
    );
    client.prompt(&session, "go");
    loop {
        let line = client.read_line();
        assert!(line.len() < 128 * 1024, "{} bytes", line.len());
        if line.contains("\"completed\"") {
            assert!(line.contains("more bytes are not shown"));
            break;
        }
    }
}

#[test]
fn a_picture_a_tool_found_is_shown() {
    let (mut client, session) = Client::unasked(
        "[model]\ninput = [\"text\", \"image\"]\n[[turn]]\nsteps = [{ tool = \"read\", id = \"c1\", arguments = { path = \"dot.png\" } }]\n[[turn]]\ntext = \"Seen.\"\n",
        json!({}),
    );
    std::fs::write(client.world.work("dot.png"), DOT).unwrap();
    expect![[r#"
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"session_info_update","title":"go"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call","toolCallId":"c1","title":"Read a file","name":"read","kind":"read","status":"pending"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c1","kind":"read","title":"Read dot.png","locations":[{"path":"~~/work/dot.png"}],"rawInput":{"path":"dot.png"}}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"in_progress"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"completed","content":[{"type":"content","content":{"type":"text","text":"Read image file [image/png]"}},{"type":"content","content":{"type":"image","data":"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4//8/AAX+Av6nNYGEAAAAAElFTkSuQmCC","mimeType":"image/png"}}],"rawOutput":{"output":"Read image file [image/png]"}}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Seen."},"messageId":"MSG"}}}
        {"id":3,"result":{"stopReason":"end_turn"}}"#]].assert_eq(&client.turn(&session, "go"));
}

/// One transparent pixel.
const DOT: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89\0\0\0\rIDATx\x9cc\xf8\xff\xff?\0\x05\xfe\x02\xfe\xa75\x81\x84\0\0\0\0IEND\xaeB`\x82";
