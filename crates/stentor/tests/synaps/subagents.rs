//! Subagents on the wire (section 11).

use stentor_test_support::when_made;

use crate::child::Home;

#[test]
fn a_subagent_is_shown_between_input_and_result_of_its_call() {
    let home = Home::new(
        r#"
        [[turn]]
        when = { system_contains = "as a subagent", last_role = "user" }
        tool = "bash"
        arguments = { command = "echo hi" }
        usage = { input = 100, output = 10 }
        [[turn]]
        when = { system_contains = "as a subagent" }
        text = "It says {{last_tool_result}}"
        [[turn]]
        usage = { input = 1, output = 1 }
        tool = "subagent"
        arguments = { task = "child task" }
        [[turn]]
        text = "Done."
        "#,
    );
    let mut child = home.child();
    assert_eq!(
        child.prompt("p", "go")[2..],
        [
            r#"{"type":"message_update","event":{"type":"toolcall_input","tool_id":"call_1_1","input":{"task":"child task"}}}"#,
            r#"{"type":"subagent_start","subagent_id":1,"agent_name":"general","task_preview":"child task"}"#,
            r#"{"type":"subagent_update","subagent_id":1,"agent_name":"general","status":"\ud83d\udcad thinking..."}"#,
            r#"{"type":"subagent_update","subagent_id":1,"agent_name":"general","status":"\u2699 bash (tool #1)"}"#,
            r#"{"type":"subagent_update","subagent_id":1,"agent_name":"general","status":"$ echo hi"}"#,
            r#"{"type":"subagent_update","subagent_id":1,"agent_name":"general","status":"\ud83d\udcad thinking..."}"#,
            r#"{"type":"subagent_done","subagent_id":1,"agent_name":"general","result_preview":"It says hi","duration_secs":SECONDS}"#,
            r#"{"type":"message_update","event":{"type":"toolcall_result","tool_id":"call_1_1","result":"It says hi"}}"#,
            r#"{"type":"message_update","event":{"type":"text_delta","delta":"Done."}}"#,
            r#"{"type":"agent_end","usage":{"input_tokens":101,"output_tokens":11,"cache_read_input_tokens":0,"cache_creation_input_tokens":0,"model":"script/play.toml"}}"#,
            r#"{"type":"response","id":"p","command":"prompt","ok":true}"#,
        ]
    );
    let stats = child.ask(r#"{"type":"get_session_stats","id":"s"}"#);
    assert!(
        stats.contains(r#""input_tokens":101,"output_tokens":11"#),
        "{stats}"
    );
}

#[test]
fn previews_are_cut_and_failures_begin_with_error() {
    let task = "t".repeat(100);
    let home = Home::new(&format!(
        r#"
        [[turn]]
        when = {{ system_contains = "as a subagent" }}
        error = {{ kind = "auth", message = "{}" }}
        [[turn]]
        tool = "subagent"
        arguments = {{ task = "{task}" }}
        [[turn]]
        text = "Done."
        "#,
        "x".repeat(200)
    ));
    let mut child = home.child();
    let frames = child.prompt("p", "go");
    let find = |kind: &str| frames.iter().find(|frame| frame.contains(kind)).unwrap();
    assert_eq!(
        find("subagent_start"),
        &format!(
            r#"{{"type":"subagent_start","subagent_id":1,"agent_name":"general","task_preview":"{}"}}"#,
            &task[..80]
        )
    );
    assert_eq!(
        find("subagent_done"),
        &format!(
            r#"{{"type":"subagent_done","subagent_id":1,"agent_name":"general","result_preview":"ERROR: {}","duration_secs":SECONDS}}"#,
            "x".repeat(120)
        )
    );
}

#[test]
fn an_abort_ends_every_subagent_that_was_started() {
    let home = Home::new(
        r#"
        [[turn]]
        when = { system_contains = "as a subagent" }
        tool = "bash"
        arguments = { command = "touch there; sleep 1000" }
        [[turn]]
        tool = "subagent"
        arguments = { tasks = [{ task = "a" }, { task = "b" }, { task = "c" }] }
        "#,
    );
    let mut child = home.child();
    child.send(r#"{"type":"prompt","id":"p","message":"x"}"#);
    when_made(&home.path("there"));
    child.send(r#"{"type":"abort","id":"a"}"#);
    let frames = child.until(r#""id":"a""#);
    for id in 1..=3 {
        let of = |kind: &str| {
            let start = format!(r#"{{"type":"{kind}","subagent_id":{id},"#);
            frames
                .iter()
                .filter(|frame| frame.starts_with(&start))
                .collect::<Vec<_>>()
        };
        assert_eq!(of("subagent_start").len(), 1, "{frames:?}");
        let done = of("subagent_done");
        assert_eq!(done.len(), 1, "{frames:?}");
        assert!(
            done[0].contains(r#""result_preview":"ERROR: cancelled""#),
            "{done:?}"
        );
    }
    assert_eq!(
        frames[frames.len() - 2],
        r#"{"type":"response","id":"p","command":"prompt","ok":true,"cancelled":true}"#
    );
}
