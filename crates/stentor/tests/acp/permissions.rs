//! Asking before acting (section 9).

use expect_test::expect;
use serde_json::{Value, json};

use crate::client::{Client, chosen, is_request};

const COMMANDS: &str = r#"
on_exhausted = { text = "Done." }
[[turn]]
steps = [{ tool = "bash", id = "c1", arguments = { command = "echo one" } }]
[[turn]]
steps = [{ tool = "bash", id = "c2", arguments = { command = "echo two" } }]
"#;

#[test]
fn a_question_about_a_file_that_cannot_be_shown_says_why_and_what_it_will_hold() {
    for (old, why) in [
        (vec![0xff; 5], "its 5 bytes are not text"),
        (vec![b'x'; 2 << 20], "it is 2097152 bytes long"),
    ] {
        let mut client = Client::with(
            "on_exhausted = { text = \"Done.\" }\n[[turn]]\nsteps = [{ tool = \"write\", id = \"c1\", arguments = { path = \"a.txt\", content = \"new\\n\" } }]\n",
        );
        client.world.file("work/a.txt", "");
        std::fs::write(client.world.work("a.txt"), old).unwrap();
        let session = client.session();
        client.prompt(&session, "go");
        let question = client.choose("reject_once");
        let told = format!(
            "[What the file holds now cannot be shown: {why}. The new content, 4 bytes:]\\nnew\\n"
        );
        let question = client.plain(&question);
        assert!(question.contains(&told), "{question}");
    }
}

#[test]
fn a_question_shows_the_call_and_four_answers() {
    let mut client = Client::with(
        "on_exhausted = { text = \"Done.\" }\n[[turn]]\nsteps = [{ tool = \"write\", id = \"c1\", arguments = { path = \"a.txt\", content = \"new\\n\" } }]\n",
    );
    client.world.file("work/a.txt", "old\n");
    let session = client.session();
    let prompt = client.prompt(&session, "go");
    let question = client.choose("allow_once");
    expect![[r#"{"id":-1,"method":"session/request_permission","params":{"sessionId":"SESSION-1","toolCall":{"toolCallId":"c1","kind":"edit","status":"pending","title":"Write a.txt","name":"write","content":[{"type":"diff","path":"~~/work/a.txt","oldText":"old\n","newText":"new\n"},{"type":"content","content":{"type":"text","text":"write on ~~/work/a.txt changes files"}}],"locations":[{"path":"~~/work/a.txt"}],"rawInput":{"content":"new\n","path":"a.txt"}},"options":[{"optionId":"allow_once","name":"Allow","kind":"allow_once"},{"optionId":"allow_always","name":"Always allow write in ~~/work and below","kind":"allow_always"},{"optionId":"reject_once","name":"Reject","kind":"reject_once"},{"optionId":"reject_always","name":"Always reject write in ~~/work and below","kind":"reject_always"}]}}"#]].assert_eq(&client.plain(&question));
    let messages = client.until(prompt);
    expect![[r#"
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"in_progress"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"completed","content":[{"type":"diff","path":"~~/work/a.txt","oldText":"old\n","newText":"new\n"}],"rawOutput":{"output":"Successfully wrote 4 bytes to a.txt"}}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Done."},"messageId":"MSG"}}}
        {"id":3,"result":{"stopReason":"end_turn"}}"#]].assert_eq(&client.shown(&messages));
    assert_eq!(
        std::fs::read_to_string(client.world.work("a.txt")).unwrap(),
        "new\n"
    );
}

/// What is said of calls in a turn in which every question gets this answer: asked, and how it
/// ended.
fn course(client: &mut Client, session: &str, answer: impl Fn(&str) -> Value) -> String {
    let prompt = client.prompt(session, "go");
    let messages = client.serve(prompt, |request| {
        let call = request["params"]["toolCall"]["toolCallId"].as_str()?;
        Some(answer(call))
    });
    let line = |message: &Value| {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        if is_request(message) {
            let call = &message["params"]["toolCall"]["toolCallId"];
            return Some(format!("{} asked", text(call)));
        }
        let update = &message["params"]["update"];
        let status = update["status"].as_str()?;
        let output = update["rawOutput"]["output"].as_str().unwrap_or_default();
        let line = format!("{} {status} {output}", text(&update["toolCallId"]));
        Some(line.trim().to_owned())
    };
    let mut lines: Vec<String> = messages.iter().filter_map(line).collect();
    // Of reports while it runs there may be any number.
    lines.dedup_by_key(|line| {
        line.split(' ')
            .take(2)
            .map(str::to_owned)
            .collect::<Vec<_>>()
    });
    let end = client.plain(messages.last().unwrap());
    format!("{}\n{end}", lines.join("\n"))
}

#[test]
fn once_is_once_and_always_is_remembered_for_calls_like_it() {
    let mut all = Vec::new();
    for (first, then) in [
        ("allow_once", "reject_once"),
        ("reject_once", "allow_once"),
        ("allow_always", "reject_once"),
        ("reject_always", "allow_once"),
    ] {
        let mut client = Client::with(&COMMANDS.replace("echo two", "echo one"));
        let session = client.session();
        let answer = |call: &str| chosen(if call == "c1" { first } else { then });
        all.push(format!("{first}, {then}:"));
        all.push(course(&mut client, &session, answer));
    }
    expect![[r#"
        allow_once, reject_once:
        c1 pending
        c1 asked
        c1 in_progress
        c1 completed one
        c2 pending
        c2 asked
        c2 failed The user rejected this call of bash. Do not repeat it; ask or continue without it.
        {"id":3,"result":{"stopReason":"end_turn"}}
        reject_once, allow_once:
        c1 pending
        c1 asked
        c1 failed The user rejected this call of bash. Do not repeat it; ask or continue without it.
        c2 pending
        c2 asked
        c2 in_progress
        c2 completed one
        {"id":3,"result":{"stopReason":"end_turn"}}
        allow_always, reject_once:
        c1 pending
        c1 asked
        c1 in_progress
        c1 completed one
        c2 pending
        c2 in_progress
        c2 completed one
        {"id":3,"result":{"stopReason":"end_turn"}}
        reject_always, allow_once:
        c1 pending
        c1 asked
        c1 failed The user rejected this call of bash. Do not repeat it; ask or continue without it.
        c2 pending
        c2 failed Permission denied: the user rejected calls like bash `echo one` permanently. Continue without it, or ask the user what to do instead.
        {"id":3,"result":{"stopReason":"end_turn"}}"#]].assert_eq(&all.join("\n"));
}

#[test]
fn only_a_clear_yes_is_one() {
    let scenario = r#"
on_exhausted = { text = "Done." }
[[turn]]
steps = [{ tool = "bash", id = "c1", arguments = { command = "touch done" } }]
"#;
    for reply in [
        json!({ "result": chosen("made_up") }),
        json!({ "result": chosen("Allow") }),
        json!({ "result": { "outcome": { "outcome": "cancelled" } } }),
        json!({ "result": { "outcome": { "outcome": "selected" } } }),
        json!({ "result": { "outcome": { "outcome": "agreed", "optionId": "allow_once" } } }),
        json!({ "result": { "outcome": "allow_once" } }),
        json!({ "result": {} }),
        json!({ "result": null }),
        json!({ "result": "allow_once" }),
        json!({ "error": { "code": -32603, "message": "broken" } }),
        json!({ "error": { "code": -32603, "message": "broken" }, "result": chosen("allow_once") }),
    ] {
        let mut client = Client::with(scenario);
        let session = client.session();
        let prompt = client.prompt(&session, "go");
        let asked = client.read_until(is_request).pop().unwrap();
        client.reply_wrong(&asked, reply.clone());
        let messages = client.until(prompt);
        let said = client.shown(&messages);
        assert!(
            said.contains("The user rejected this call of bash."),
            "{reply}: {said}"
        );
        assert!(
            said.ends_with(r#""result":{"stopReason":"end_turn"}}"#),
            "{said}"
        );
        assert!(!client.world.work("done").exists());
    }
}

#[test]
fn a_rejected_call_fails_and_the_turn_goes_on() {
    let mut client = Client::with(
        "on_exhausted = { text = \"Then not.\" }\n[[turn]]\nsteps = [{ tool = \"bash\", id = \"c1\", arguments = { command = \"true\" } }]\n",
    );
    let session = client.session();
    let params = json!({
        "sessionId": session,
        "prompt": [{ "type": "text", "text": "go" }],
        "_meta": { "traceparent": "00-a-b-01" },
    });
    let prompt = client.send("session/prompt", params);
    let messages = client.serve(prompt, |_| Some(chosen("reject_once")));
    expect![[r#"
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"session_info_update","title":"go"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call","toolCallId":"c1","title":"Run a command","name":"bash","kind":"execute","status":"pending"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c1","kind":"execute","title":"Run true","locations":[],"rawInput":{"command":"true"}}}}
        {"id":-1,"method":"session/request_permission","params":{"sessionId":"SESSION-1","toolCall":{"toolCallId":"c1","kind":"execute","status":"pending","title":"Run true","name":"bash","content":[{"type":"content","content":{"type":"text","text":"bash `true` runs programs"}}],"locations":[],"rawInput":{"command":"true"}},"options":[{"optionId":"allow_once","name":"Allow","kind":"allow_once"},{"optionId":"allow_always","name":"Always allow exactly this command","kind":"allow_always"},{"optionId":"reject_once","name":"Reject","kind":"reject_once"},{"optionId":"reject_always","name":"Always reject exactly this command","kind":"reject_always"}],"_meta":{"traceparent":"00-a-b-01"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"failed","content":[{"type":"content","content":{"type":"text","text":"The user rejected this call of bash. Do not repeat it; ask or continue without it."}}],"rawOutput":{"output":"The user rejected this call of bash. Do not repeat it; ask or continue without it.","details":{}}}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Then not."},"messageId":"MSG"}}}
        {"id":3,"result":{"stopReason":"end_turn","_meta":{"traceparent":"00-a-b-01"}}}"#]].assert_eq(&client.shown(&messages));
}

#[test]
fn modes_decide_what_is_asked() {
    let scenario = r#"
on_exhausted = { text = "Done." }
[[turn]]
steps = [{ tool = "read", id = "read", arguments = { path = "a.txt" } }]
[[turn]]
steps = [{ tool = "write", id = "edit", arguments = { path = "x.txt", content = "x" } }]
[[turn]]
steps = [{ tool = "bash", id = "command", arguments = { command = "touch y.txt" } }]
[[turn]]
steps = [{ tool = "read", id = "outside", arguments = { path = "/etc/hostname" } }]
"#;
    let mut all = Vec::new();
    for mode in ["ask", "accept-edits", "read-only", "plan", "all"] {
        let mut client = Client::with(scenario);
        client.world.file("work/a.txt", "a");
        let session = client.session();
        let id = client.send(
            "session/set_mode",
            json!({ "sessionId": session, "modeId": mode }),
        );
        client.until(id);
        let course = course(&mut client, &session, |_| chosen("allow_once"));
        // What the machine is called is nobody's business.
        let lines = course
            .lines()
            .map(|line| match line.strip_prefix("outside completed") {
                Some(_) => "outside completed",
                None => line,
            });
        all.push(format!("{mode}:"));
        all.extend(lines.map(|line| client.world.without_folder(line)));
    }
    expect![[r#"
        ask:
        read pending
        read in_progress
        read completed a
        edit pending
        edit asked
        edit in_progress
        edit completed Successfully wrote 1 bytes to x.txt
        command pending
        command asked
        command in_progress
        command completed (no output)
        outside pending
        outside asked
        outside in_progress
        outside completed
        {"id":4,"result":{"stopReason":"end_turn"}}
        accept-edits:
        read pending
        read in_progress
        read completed a
        edit pending
        edit in_progress
        edit completed Successfully wrote 1 bytes to x.txt
        command pending
        command asked
        command in_progress
        command completed (no output)
        outside pending
        outside asked
        outside in_progress
        outside completed
        {"id":4,"result":{"stopReason":"end_turn"}}
        read-only:
        read pending
        read in_progress
        read completed a
        edit pending
        edit failed Permission denied: write on ~~/work/x.txt: this session is read-only and may not change files. You can read files in ~~/work; describe to the user what you would do beyond that.
        command pending
        command failed Permission denied: bash `touch y.txt`: this session is read-only and may not run commands. You can read files in ~~/work; describe to the user what you would do beyond that.
        outside pending
        outside failed Permission denied: read on /etc/hostname: /etc/hostname is outside the working folder, and this session may only read inside it. You can read files in ~~/work; describe to the user what you would do beyond that.
        {"id":4,"result":{"stopReason":"end_turn"}}
        plan:
        read pending
        read in_progress
        read completed a
        edit pending
        edit failed Permission denied: write on ~~/work/x.txt: the session is in plan mode, in which nothing may be changed until the user has accepted a plan. Put it into the plan.
        command pending
        command failed Permission denied: bash `touch y.txt`: the session is in plan mode, in which only commands that are known to change nothing may run until the user has accepted a plan. Put it into the plan.
        outside pending
        outside asked
        outside in_progress
        outside completed
        {"id":4,"result":{"stopReason":"end_turn"}}
        all:
        read pending
        read in_progress
        read completed a
        edit pending
        edit in_progress
        edit completed Successfully wrote 1 bytes to x.txt
        command pending
        command in_progress
        command completed (no output)
        outside pending
        outside in_progress
        outside completed
        {"id":4,"result":{"stopReason":"end_turn"}}"#]].assert_eq(&all.join("\n"));
}
