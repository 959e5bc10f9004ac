//! What the page is sent and what it may ask for.

use serde_json::{Value, json};

use crate::clients::{omp_too, server_with};
use crate::http_client::{Socket, http_server};
use crate::server::Server;

fn page(server: &Server, token: &str) -> Socket {
    let bearer = format!("Bearer {}", server.token(token));
    let headers = [("Authorization", bearer.as_str())];
    server.web_socket_with("/page", &headers).unwrap()
}

/// The frames up to and with the first that `is_last`.
fn until(page: &mut Socket, is_last: impl Fn(&Value) -> bool) -> Vec<Value> {
    let mut frames = Vec::new();
    loop {
        frames.push(page.json());
        if frames.last().is_some_and(&is_last) {
            return frames;
        }
    }
}

fn is_idle(frame: &Value) -> bool {
    frame["op"] == "state" && frame["running"] == false && frame["session"].is_string()
}

fn html(frames: &[Value]) -> String {
    let pieces = frames.iter().filter_map(|frame| frame["html"].as_str());
    pieces.collect()
}

#[test]
fn a_prompt_streams_as_pieces_and_a_second_page_gets_the_same() {
    let scenario = "[[turn]]\nsteps = [{ text = \"*Begun* \" }, { wait_for = \"go\" }, \
                    { text = \"and <b>done</b>.\" }]\n";
    let server = http_server(scenario);
    let mut first = page(&server, "drive");
    first.send(r#"{"do":"prompt","text":"tell <script>"}"#);
    let frames = until(&mut first, |frame| {
        frame["html"]
            .as_str()
            .is_some_and(|html| html.contains("<em>Begun</em>"))
    });
    let shown = html(&frames);
    assert!(shown.contains("tell &lt;script&gt;"), "{shown}");
    let running = |frame: &&Value| frame["op"] == "state" && frame["running"] == true;
    let state = frames.iter().find(running).unwrap();
    let session = state["session"].as_str().unwrap();

    let mut second = page(&server, "drive");
    second.send(&json!({ "do": "open", "session": session }).to_string());
    let frames = until(&mut second, |frame| {
        frame["html"]
            .as_str()
            .is_some_and(|html| html.contains("<em>Begun</em>"))
    });
    assert!(html(&frames).contains("tell &lt;script&gt;"));

    server.world.file("work/go", "");
    for page in [&mut first, &mut second] {
        let frames = until(page, is_idle);
        let shown = html(&frames);
        assert!(shown.contains("and &lt;b&gt;done&lt;/b&gt;."), "{shown}");
        assert!(!shown.contains("<b>done"), "{shown}");
    }
}

#[test]
fn a_question_is_answered_and_a_run_is_stopped_by_commands() {
    let scenario = "[[turn]]\ntool = \"bash\"\narguments = { command = \"echo ran > ran.txt\" }\n\
                    [[turn]]\nsteps = [{ text = \"On and on\" }, { wait_for = \"never\" }]\n";
    let server = http_server(scenario);
    let mut page = page(&server, "drive");
    page.send(r#"{"do":"prompt","text":"run it"}"#);
    let frames = until(&mut page, |frame| frame["within"] == "questions");
    let question = frames.last().unwrap();
    let id = question["id"].as_str().unwrap();
    let number: u64 = id.strip_prefix("permission").unwrap().parse().unwrap();
    let asked = question["html"].as_str().unwrap();
    assert!(asked.contains("data-answer=\"allow_once\""), "{asked}");
    page.send(&json!({ "do": "answer", "id": number, "answer": "allow_once" }).to_string());
    let removed = until(&mut page, |frame| frame["op"] == "remove");
    assert_eq!(removed.last().unwrap()["id"], id);
    until(&mut page, |frame| frame.to_string().contains("On and on"));
    assert!(server.world.path("work/ran.txt").exists());
    page.send(r#"{"do":"abort"}"#);
    let frames = until(&mut page, is_idle);
    assert!(html(&frames).contains("Stopped"));
}

#[test]
fn a_question_of_the_model_has_boxes_to_tick_and_a_plan_has_buttons() {
    let scenario = r##"
        [[turn]]
        tool = "ask"
        arguments = { questions = [{ question = "Which <b>?", multi = true, options = [{ label = "A" }, { label = "B", description = "slow" }] }] }
        [[turn]]
        text = "{{last_tool_result}}"
        [[turn]]
        tool = "exit_plan_mode"
        arguments = { plan = "1. **Write** it" }
        [[turn]]
        text = "{{last_tool_result}}"
    "##;
    let server = http_server(scenario);
    let mut page = page(&server, "drive");
    page.send(r#"{"do":"prompt","text":"ask"}"#);
    let frames = until(&mut page, |frame| frame["within"] == "questions");
    let asked = frames.last().unwrap()["html"].as_str().unwrap().to_owned();
    for part in [
        "Which &lt;b&gt;?",
        "<form data-do=\"reply\" data-id=\"1\">",
        "<input type=\"checkbox\" name=\"values\" value=\"B\">",
        "slow",
    ] {
        assert!(asked.contains(part), "{asked}");
    }
    page.send(r#"{"do":"reply","id":1,"values":["A","B"]}"#);
    let shown = html(&until(&mut page, is_idle));
    assert!(shown.contains("Answer: A, B"), "{shown}");
    page.send(r#"{"do":"prompt","text":"/plan"}"#);
    until(&mut page, |frame| frame["op"] == "notice");
    page.send(r#"{"do":"prompt","text":"plan"}"#);
    let frames = until(&mut page, |frame| frame["within"] == "questions");
    let asked = frames.last().unwrap()["html"].as_str().unwrap().to_owned();
    assert!(asked.contains("<strong>Write</strong>"), "{asked}");
    assert!(asked.contains("data-value=\"accept-edits\""), "{asked}");
    page.send(r#"{"do":"reply","id":2,"value":"accept-edits"}"#);
    let shown = html(&until(&mut page, is_idle));
    assert!(shown.contains("permission mode is accept-edits"), "{shown}");
}

#[test]
fn a_command_of_the_user_takes_the_place_of_one_of_the_program() {
    let server = http_server("[[turn]]\ntext = \"You said: {{last_user}}\"\n");
    let template = "home/.claude/commands/plan.md";
    server.world.file(template, "Make a plan of $1.\n");
    let mut page = page(&server, "drive");
    page.send(r#"{"do":"prompt","text":"/plan gardens"}"#);
    until(&mut page, |frame| {
        frame
            .to_string()
            .contains("You said: Make a plan of gardens.")
    });
}

#[test]
fn what_does_not_work_is_shown_and_the_text_is_not_lost() {
    let server = http_server("");
    let mut page = page(&server, "drive");
    for (command, why) in [
        ("nonsense", "the page sent an invalid command"),
        (r#"{"do":"abort"}"#, "open a session first"),
        (
            r#"{"do":"new","cwd":"nowhere"}"#,
            "there is no folder nowhere here",
        ),
        (r#"{"do":"open","session":"nobody"}"#, "nobody"),
    ] {
        page.send(command);
        let notice = page.json();
        assert_eq!(notice["op"], "notice", "{notice}");
        assert!(notice["text"].as_str().unwrap().contains(why), "{notice}");
    }
    page.send(r#"{"do":"follow_up","text":"keep this"}"#);
    assert_eq!(page.json(), json!({ "op": "editor", "text": "keep this" }));
    assert_eq!(page.json()["op"], "notice");
}

#[test]
fn a_page_that_observes_changes_nothing() {
    let server = http_server("[[turn]]\ntext = \"One.\"\n");
    let mut driver = page(&server, "drive");
    driver.send(r#"{"do":"prompt","text":"go"}"#);
    let frames = until(&mut driver, |frame| frame.to_string().contains("One."));
    let state = frames.iter().find(|frame| frame["session"].is_string());
    let session = state.unwrap()["session"].as_str().unwrap().to_owned();
    let mut observer = page(&server, "observe");
    observer.send(&json!({ "do": "open", "session": session }).to_string());
    let frames = until(&mut observer, |frame| frame["id"] == "sessions");
    assert!(html(&frames).contains("One."));
    assert!(frames.iter().any(|frame| frame["observes"] == true));
    for command in [
        r#"{"do":"prompt","text":"mine"}"#,
        r#"{"do":"abort"}"#,
        r#"{"do":"fork"}"#,
        r#"{"do":"new"}"#,
        r#"{"do":"rename","value":"mine"}"#,
        r#"{"do":"mode","value":"all"}"#,
    ] {
        observer.send(command);
        let notice = until(&mut observer, |frame| frame["op"] == "notice").pop();
        assert_eq!(
            notice.unwrap()["text"],
            "this page only watches",
            "{command}"
        );
    }
}

#[test]
fn a_session_that_is_gone_is_named() {
    let server = http_server("");
    let mut page = page(&server, "drive");
    page.send(r#"{"do":"open","session":"nowhere"}"#);
    let notice = until(&mut page, |frame| frame["op"] == "notice")
        .pop()
        .unwrap();
    assert_eq!(
        notice,
        json!({ "op": "notice", "level": "error", "text": "session nowhere no longer exists" })
    );
}

/// A server whose model says `One.`, a page on it that has asked for that, and its session.
fn page_with_session() -> (Server, Socket, String) {
    let server = server_with("[[turn]]\ntext = \"One.\"\n", "", &["--http", "0"]);
    let mut page = page(&server, "drive");
    page.send(r#"{"do":"prompt","text":"go"}"#);
    until(&mut page, |frame| frame.to_string().contains("One."));
    let frames = until(&mut page, is_idle);
    let session = frames.last().unwrap()["session"].as_str().unwrap();
    let session = session.to_owned();
    (server, page, session)
}

#[test]
fn a_command_that_the_user_runs_in_another_client_and_a_rewind_there_show_at_once() {
    let (server, mut page, session) = page_with_session();
    let mut omp = omp_too(&server, &session);
    omp.send(r#"{"id":"b","type":"bash","command":"echo by hand"}"#);
    let lines = omp.until(|line| line.contains(r#""id":"b""#));
    assert!(!lines.iter().any(|line| line.contains("entry_appended")));
    let is_shell = |frame: &Value| {
        frame["html"]
            .as_str()
            .is_some_and(|html| html.contains("You ran"))
    };
    let shown = until(&mut page, is_shell).pop().unwrap();
    assert_eq!(
        (&shown["op"], &shown["id"]),
        (&json!("append"), &json!("transcript"))
    );
    let shown = shown["html"].as_str().unwrap();
    assert!(
        shown.contains("<article id=\"m3\" class=\"shell\">"),
        "{shown}"
    );
    assert!(
        shown.contains("<pre class=\"command\">echo by hand</pre>"),
        "{shown}"
    );

    omp.send(r#"{"id":"r","type":"prompt","message":"/rewind 1"}"#);
    let reload = until(&mut page, |frame| frame["op"] == "reload")
        .pop()
        .unwrap();
    assert_eq!(reload, json!({ "op": "reload", "session": session }));
    page.send(&json!({ "do": "open", "session": session }).to_string());
    let shown = until(&mut page, |frame| frame["id"] == "transcript")
        .pop()
        .unwrap();
    assert_eq!(
        shown,
        json!({ "op": "set", "id": "transcript", "html": "" })
    );
}

#[test]
fn a_model_that_the_session_has_used_can_be_chosen_again() {
    let (server, mut first, session) = page_with_session();
    let open = json!({ "do": "open", "session": session }).to_string();
    first.send(&open);
    let state = until(&mut first, |frame| frame["op"] == "state")
        .pop()
        .unwrap();
    let used = state["model"].as_str().unwrap();
    assert!(used.starts_with("script/"), "{used}");
    first.send(r#"{"do":"model","value":"offline/guide"}"#);
    until(&mut first, |frame| frame["model"] == "offline/guide");

    let mut second = page(&server, "drive");
    second.send(&open);
    let choices = until(&mut second, |frame| frame["id"] == "model")
        .pop()
        .unwrap();
    let choices = choices["html"].as_str().unwrap();
    assert!(
        choices.contains("<option selected>offline/guide</option>"),
        "{choices}"
    );
    assert!(
        choices.contains(&format!("<option>{used}</option>")),
        "{choices}"
    );
    second.send(&json!({ "do": "model", "value": used }).to_string());
    until(&mut second, |frame| frame["model"] == used);
}

#[test]
fn a_session_has_its_cost_however_long_its_file_is() {
    let server = server_with("", "", &["--http", "0"]);
    let entry = |id: &str, parent: Value, message: Value| json!({ "type": "message", "id": id, "parentId": parent, "timestamp": "2026-11-18T00:00:00.000Z", "message": message });
    let lines = [
        json!({ "type": "session", "version": 3, "id": "01", "timestamp": "2026-11-18T00:00:00.000Z", "cwd": server.world.path("work") }),
        entry(
            "00000001",
            Value::Null,
            json!({ "role": "user", "content": "How long?", "timestamp": 1 }),
        ),
        entry(
            "00000002",
            json!("00000001"),
            json!({ "role": "user", "content": "long ".repeat(1 << 20), "timestamp": 1 }),
        ),
        entry(
            "00000003",
            json!("00000002"),
            json!({
                "role": "assistant", "content": [], "api": "a", "provider": "p", "model": "m", "stopReason": "stop", "timestamp": 1,
                "usage": { "input": 1, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 1, "cost": { "total": 5.0 } },
            }),
        ),
    ];
    let lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
    server
        .world
        .file("sessions/2026-11-18T00-00-00-000Z_01.jsonl", &lines);
    let mut page = page(&server, "drive");
    page.send(r#"{"do":"list"}"#);
    let is_known = |frame: &Value| {
        frame["id"] == "sessions" && frame["html"].as_str().unwrap().contains("$5.00")
    };
    let list = until(&mut page, is_known).pop().unwrap();
    assert!(list["html"].as_str().unwrap().contains("How long?"));
}

#[test]
fn a_server_that_is_in_no_fleet_shows_no_nodes() {
    let server = http_server("[[turn]]\ntext = \"Answered.\"\n");
    let mut page = page(&server, "drive");
    page.send(r#"{"do":"prompt","text":"hello"}"#);
    let mut frames = until(&mut page, |frame| frame.to_string().contains("Answered."));
    page.send(r#"{"do":"list"}"#);
    page.send(r#"{"do":"model","value":"none/such"}"#);
    frames.extend(until(&mut page, |frame| frame["op"] == "notice"));
    assert!(frames.iter().any(|frame| frame["id"] == "sessions"));
    assert!(
        frames.iter().all(|frame| frame["id"] != "nodes"),
        "{frames:#?}"
    );
    let list = frames.iter().rfind(|frame| frame["id"] == "sessions");
    let list = list.unwrap()["html"].as_str().unwrap();
    assert!(!list.contains("class=\"node\""), "{list}");
}
