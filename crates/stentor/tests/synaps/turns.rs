//! The frames of a turn and their order (sections 9, 12 and 19).

use stentor_test_support::{when_dead, when_made, when_written};

use crate::child::Home;

#[test]
fn a_whole_turn_with_one_tool_call() {
    let home = Home::new(
        r#"
        [[turn]]
        usage = { input = 120, output = 30, cache_read = 80, cache_write = 60, cache_write_5m = 40, cache_write_1h = 20 }
        steps = [
          { thinking = "Hm." },
          { text = ["Loo", "king. "] },
          { tool = "bash", id = "toolu_1", arguments_json = ['{"command":"echo', ' hi"}'] },
        ]
        [[turn]]
        usage = { input = 80, output = 20 }
        text = "Done. ä €"
        "#,
    );
    let mut child = home.child();
    assert_eq!(
        child.prompt("p1", "go"),
        [
            r#"{"type":"message_update","event":{"type":"thinking_delta","delta":"Hm."}}"#,
            r#"{"type":"message_update","event":{"type":"text_delta","delta":"Looking. "}}"#,
            r#"{"type":"message_update","event":{"type":"toolcall_start","tool_id":"toolu_1","tool_name":"bash"}}"#,
            r#"{"type":"message_update","event":{"type":"toolcall_input_delta","tool_id":"toolu_1","delta":"{\"command\":\"echo hi\"}"}}"#,
            r#"{"type":"message_update","event":{"type":"toolcall_input","tool_id":"toolu_1","input":{"command":"echo hi"}}}"#,
            r#"{"type":"message_update","event":{"type":"toolcall_result","tool_id":"toolu_1","result":"hi\n"}}"#,
            r#"{"type":"message_update","event":{"type":"text_delta","delta":"Done. \u00e4 \u20ac"}}"#,
            r#"{"type":"agent_end","usage":{"input_tokens":200,"output_tokens":50,"cache_read_input_tokens":80,"cache_creation_input_tokens":60,"cache_creation_5m":40,"cache_creation_1h":20,"model":"script/play.toml"}}"#,
            r#"{"type":"response","id":"p1","command":"prompt","ok":true}"#,
        ]
    );
}

#[test]
fn follow_up_is_a_turn_of_its_own_and_may_come_first() {
    let home = Home::new("[[turn]]\ntext = \"yes\"");
    let mut child = home.child();
    child.send(r#"{"type":"follow_up","id":"f1","message":"and then?"}"#);
    assert_eq!(
        child.until("response"),
        [
            r#"{"type":"message_update","event":{"type":"text_delta","delta":"yes"}}"#,
            r#"{"type":"agent_end","usage":{"input_tokens":0,"output_tokens":0,"cache_read_input_tokens":0,"cache_creation_input_tokens":0}}"#,
            r#"{"type":"response","id":"f1","command":"follow_up","ok":true}"#,
        ]
    );
}

#[test]
fn an_empty_prompt_ends_at_once_and_leaves_no_trace() {
    let home = Home::new("[[turn]]\nerror = \"auth\"");
    let mut child = home.child();
    assert_eq!(
        child.prompt("e", " "),
        [
            r#"{"type":"agent_end","usage":{"input_tokens":0,"output_tokens":0,"cache_read_input_tokens":0,"cache_creation_input_tokens":0}}"#,
            r#"{"type":"response","id":"e","command":"prompt","ok":true}"#,
        ]
    );
    let messages = child.ask(r#"{"type":"get_messages","id":"m"}"#);
    assert!(messages.ends_with(r#""messages":[]}"#));
}

#[test]
fn calls_of_one_answer_are_announced_before_any_has_a_result() {
    let home = Home::new(
        r#"
        [[turn]]
        steps = [
          { tool = "bash", id = "a", arguments = { command = "echo 1" } },
          { tool = "nothing", id = "b", arguments = {} },
          { tool = "bash", id = "c", arguments_json = '{"comm' },
        ]
        [[turn]]
        text = "end"
        "#,
    );
    let mut child = home.child();
    let frames = child.prompt("p", "go");
    let short: Vec<String> = frames
        .iter()
        .filter_map(|frame| {
            let event = frame.split_once(r#""event":{"type":"toolcall_"#)?.1;
            let mut words = event.split('"');
            let kind = words.next()?.to_owned();
            Some(format!("{kind} {}", words.nth(3)?))
        })
        .filter(|line| !line.starts_with("input_delta"))
        .collect();
    assert_eq!(
        short,
        [
            "start a", "input a", "start b", "input b", "start c", "input c", "result a",
            "result b", "result c"
        ]
    );
    let result_of = |id: &str| {
        let start = format!(r#""toolcall_result","tool_id":"{id}","result":"#);
        frames
            .iter()
            .find_map(|frame| Some(frame.split_once(&start)?.1.to_owned()))
            .unwrap()
    };
    assert_eq!(result_of("a"), r#""1\n"}}"#);
    assert_eq!(result_of("b"), r#""Tool nothing not found"}}"#);
    assert!(result_of("c").contains("not valid JSON"));
}

#[test]
fn a_failing_model_gives_error_then_usage_then_response_and_the_child_stays_idle() {
    let home = Home::new(
        r#"
        [[turn]]
        error = { kind = "auth", message = "no key" }
        [[turn]]
        steps = [{ text = "I beg" }, { error = { kind = "broken_stream", message = "it broke" } }]
        usage = { input = 7, output = 1 }
        [[turn]]
        text = "fine"
        "#,
    );
    let mut child = home.child();
    assert_eq!(
        child.prompt("p", "go"),
        [
            r#"{"type":"error","id":"p","message":"no key"}"#,
            r#"{"type":"agent_end","usage":{"input_tokens":0,"output_tokens":0,"cache_read_input_tokens":0,"cache_creation_input_tokens":0}}"#,
            r#"{"type":"response","id":"p","command":"prompt","ok":false,"error":"no key","outcome":{"kind":"provider_failed","code":"auth_error","correlation_id":"turn-PID-1"}}"#,
        ]
    );
    let frames = child.prompt("q", "again");
    assert_eq!(
        (
            frames[0].as_str(),
            frames[1].as_str(),
            frames.last().unwrap().as_str()
        ),
        (
            r#"{"type":"message_update","event":{"type":"text_delta","delta":"I beg"}}"#,
            r#"{"type":"error","id":"q","message":"it broke"}"#,
            r#"{"type":"response","id":"q","command":"prompt","ok":false,"error":"it broke","outcome":{"kind":"provider_failed","code":"network_error","correlation_id":"turn-PID-2"}}"#,
        ),
        "what was shown is not tried again"
    );
    let messages = child.ask(r#"{"type":"get_messages","id":"m"}"#);
    assert!(messages.contains("I beg"), "{messages}");
    assert!(child.prompt("r", "once more")[0].contains("fine"));
}

#[test]
fn a_model_that_fails_before_its_first_word_is_tried_again_unseen() {
    let home = Home::new(
        "[[turn]]\nerror = { kind = \"overloaded\", retry_after_ms = 1 }\n[[turn]]\ntext = \"there\"",
    );
    let mut child = home.child();
    let frames = child.prompt("p", "go");
    assert_eq!(frames.len(), 3, "{frames:?}");
    assert!(frames[0].contains("there") && frames[2].contains(r#""ok":true"#));
}

#[test]
fn a_prompt_during_a_turn_is_refused_and_the_turn_goes_on() {
    let wait = "touch there; while [ ! -e go ]; do sleep 0.01; done";
    let home = Home::new(&format!(
        "[[turn]]\ntool = \"bash\"\narguments = {{ command = \"{wait}\" }}\n[[turn]]\ntext = \"end\""
    ));
    let mut child = home.child();
    child.send(r#"{"type":"prompt","id":"p","message":"x"}"#);
    when_made(&home.path("there"));
    for (line, id) in [
        (r#"{"type":"prompt","id":"b1","message":"x"}"#, "b1"),
        (r#"{"type":"prompt","id":"b2","message":""}"#, "b2"),
        (r#"{"type":"follow_up","id":"b3","message":"x"}"#, "b3"),
        (r#"{"type":"new_session","id":"b4"}"#, "b4"),
        (r#"{"type":"compact","id":"b5"}"#, "b5"),
    ] {
        child.send(line);
        let refused = child.until(&format!(r#""id":"{id}""#));
        assert_eq!(
            refused.last().unwrap(),
            &format!(
                r#"{{"type":"error","id":"{id}","message":"another prompt is in flight; abort first"}}"#
            )
        );
    }
    let state = child.ask(r#"{"type":"get_state","id":"s"}"#);
    assert!(state.contains(r#""streaming":true"#), "{state}");
    let messages = child.ask(r#"{"type":"get_messages","id":"m"}"#);
    assert!(
        messages.contains(r#"{"role":"user","content":"x"}"#),
        "{messages}"
    );
    home.write("go", "");
    let frames = child.until(r#""response","id":"p""#);
    assert_eq!(
        frames.last().unwrap(),
        r#"{"type":"response","id":"p","command":"prompt","ok":true}"#
    );
}

#[test]
fn an_abort_stops_the_tool_and_answers_after_the_turn() {
    let home = Home::new(
        "[[turn]]\nusage = { input = 9, output = 1 }\nsteps = [{ text = \"Wait. \" }, { tool = \"bash\", id = \"t\", arguments = { command = \"echo $$ > pid; mv pid there; sleep 1000\" } }]\n[[turn]]\ntext = \"next\"",
    );
    let mut child = home.child();
    child.send(r#"{"type":"prompt","id":"p","message":"x"}"#);
    let pid = when_written(&home.path("there"));
    child.send_bytes(b"{\"type\":\"abort\",\"id\":\"a1\"}\n{\"type\":\"abort\",\"id\":\"a2\"}\n");
    let frames = child.until(r#""id":"a2""#);
    let result =
        r#"{"type":"message_update","event":{"type":"toolcall_result","tool_id":"t","result":""#;
    assert!(frames[4].starts_with(result), "{frames:?}");
    assert_eq!(
        frames[5..],
        [
            r#"{"type":"agent_end","usage":{"input_tokens":9,"output_tokens":1,"cache_read_input_tokens":0,"cache_creation_input_tokens":0,"model":"script/play.toml"}}"#,
            r#"{"type":"response","id":"p","command":"prompt","ok":true,"cancelled":true}"#,
            r#"{"type":"response","id":"a1","command":"abort","ok":true}"#,
            r#"{"type":"response","id":"a2","command":"abort","ok":true}"#,
        ]
    );
    when_dead(&pid);
    assert!(child.prompt("q", "go on")[0].contains("next"));
}

#[test]
fn an_abort_in_the_middle_of_a_call_still_gives_it_input_and_result() {
    let home = Home::new(
        "[[turn]]\nsteps = [{ tool = \"bash\", id = \"t\", arguments_json = '{\"comm' }, { hang = true }]",
    );
    let mut child = home.child();
    child.send(r#"{"type":"prompt","id":"p","message":"x"}"#);
    child.until("toolcall_input_delta");
    child.send(r#"{"type":"abort","id":"a"}"#);
    assert_eq!(
        child.until(r#""id":"a""#),
        [
            r#"{"type":"message_update","event":{"type":"toolcall_input","tool_id":"t","input":{}}}"#,
            r#"{"type":"message_update","event":{"type":"toolcall_result","tool_id":"t","result":"Tool execution was aborted."}}"#,
            r#"{"type":"agent_end","usage":{"input_tokens":0,"output_tokens":0,"cache_read_input_tokens":0,"cache_creation_input_tokens":0}}"#,
            r#"{"type":"response","id":"p","command":"prompt","ok":true,"cancelled":true}"#,
            r#"{"type":"response","id":"a","command":"abort","ok":true}"#,
        ]
    );
}

#[test]
fn an_abort_and_the_next_prompt_may_be_written_in_one_go() {
    let home = Home::new(
        "[[turn]]\nsteps = [{ text = \"I\" }, { hang = true }]\n[[turn]]\ntext = \"second\"",
    );
    let mut child = home.child();
    child.send(r#"{"type":"prompt","id":"p","message":"x"}"#);
    child.until("text_delta");
    child.send_bytes(b"{\"type\":\"abort\",\"id\":\"a\"}\n{\"type\":\"prompt\",\"id\":\"q\",\"message\":\"y\"}\n");
    let frames = child.until(r#""response","id":"q""#);
    let order: Vec<&String> = frames
        .iter()
        .filter(|frame| frame.contains("response"))
        .collect();
    assert_eq!(
        order,
        [
            r#"{"type":"response","id":"p","command":"prompt","ok":true,"cancelled":true}"#,
            r#"{"type":"response","id":"a","command":"abort","ok":true}"#,
            r#"{"type":"response","id":"q","command":"prompt","ok":true}"#,
        ]
    );
    assert!(frames.iter().any(|frame| frame.contains("second")));
}

#[test]
fn the_child_takes_the_next_prompt_as_soon_as_a_turn_has_its_response() {
    let home = Home::new("on_exhausted = \"repeat-last\"\n[[turn]]\ntext = \"ok\"");
    let mut child = home.child();
    for n in 0..200 {
        let frames = child.prompt(&format!("p{n}"), "x");
        assert_eq!(frames.len(), 3, "{frames:?}");
        assert!(frames[2].ends_with(r#""ok":true}"#));
    }
}

#[test]
fn an_unknown_model_fails_at_the_prompt_and_not_before() {
    let home = Home::new("");
    let mut child = home.child_with(&["--model=who-knows"]);
    assert!(
        child
            .ask(r#"{"type":"get_state","id":"s"}"#)
            .contains(r#""model":"who-knows""#)
    );
    let frames = child.prompt("p", "x");
    assert!(frames[0].starts_with(r#"{"type":"error","id":"p","message":""#));
    assert!(frames[1].starts_with(r#"{"type":"agent_end""#));
    assert!(
        frames[2]
            .starts_with(r#"{"type":"response","id":"p","command":"prompt","ok":false,"error":""#)
    );
}

#[test]
fn a_reader_that_slept_gets_every_word_in_what_follows() {
    let home = Home::new(
        "[[turn]]\nsteps = [{ thinking = \"hm {{n}} \", repeat = 9000 }, { text = \"word {{n}} \", repeat = 30000 }, { tool = \"write\", id = \"t\", arguments = { path = \"done\", content = \"x\" } }]\n[[turn]]\ntext = \"end {{n}} \"\nrepeat = 30000",
    );
    let mut process = home
        .command(&["rpc", "--model", "script/play.toml"])
        .spawn()
        .unwrap();
    let mut stdin = process.stdin.take().unwrap();
    let prompt = b"{\"type\":\"prompt\",\"id\":\"p\",\"message\":\"x\"}\n";
    std::io::Write::write_all(&mut stdin, prompt).unwrap();
    // It sleeps until the first answer, far more than the pipe holds, is behind it.
    when_written(&home.path("done"));
    let mut said = [String::new(), String::new(), String::new()];
    let stdout = std::io::BufReader::new(process.stdout.take().unwrap());
    for line in std::io::BufRead::lines(stdout) {
        let frame: serde_json::Value = serde_json::from_str(&line.unwrap()).unwrap();
        let event = &frame["event"];
        let place = match event["type"].as_str() {
            Some("thinking_delta") => 0,
            Some("text_delta")
                if said[2].is_empty() && !event["delta"].as_str().unwrap().starts_with("end") =>
            {
                1
            }
            Some("text_delta") => 2,
            _ if frame["type"] == "response" => break,
            _ => continue,
        };
        said[place].push_str(event["delta"].as_str().unwrap());
    }
    let words = |word: &str, count: usize| -> String {
        (1..=count).map(|n| format!("{word} {n} ")).collect()
    };
    let expected = [words("hm", 9000), words("word", 30000), words("end", 30000)];
    for (said, expected) in said.iter().zip(&expected) {
        assert!(
            said == expected,
            "{} of {} bytes",
            said.len(),
            expected.len()
        );
    }
    drop(stdin);
    process.wait().unwrap();
}
