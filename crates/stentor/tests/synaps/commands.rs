//! Every command with its response (sections 6 and 8).

use crate::child::Home;

const TWO_TURNS: &str = r#"
usage = { input = 100, output = 20, cache_read = 30, cache_write = 8 }
[[turn]]
steps = [{ text = "Looking. " }, { tool = "bash", id = "t1", arguments = { command = "echo hi" } }]
[[turn]]
text = "Done."
"#;

#[test]
fn state_before_and_after_a_turn() {
    let home = Home::new(TWO_TURNS);
    let mut child = home.child();
    assert_eq!(
        child.ask(r#"{"type":"get_state","id":"s"}"#),
        r#"{"type":"response","id":"s","command":"get_state","ok":true,"streaming":false,"model":"script/play.toml","session_id":"SESSION","message_count":0}"#
    );
    child.prompt("p", "look");
    assert_eq!(
        child.ask(r#"{"type":"get_state","id":"s"}"#),
        r#"{"type":"response","id":"s","command":"get_state","ok":true,"streaming":false,"model":"script/play.toml","session_id":"SESSION","message_count":4}"#
    );
}

#[test]
fn messages_are_the_providers_history() {
    let home = Home::new(TWO_TURNS);
    let mut child = home.child();
    assert_eq!(
        child.ask(r#"{"type":"get_messages","id":"x"}"#),
        r#"{"type":"response","id":"x","command":"get_messages","ok":true,"messages":[]}"#
    );
    child.prompt("p", "look");
    assert_eq!(
        child.ask(r#"{"type":"get_messages","id":"m"}"#),
        concat!(
            r#"{"type":"response","id":"m","command":"get_messages","ok":true,"messages":["#,
            r#"{"role":"user","content":"look"},"#,
            r#"{"role":"assistant","content":[{"type":"text","text":"Looking. "},{"type":"tool_use","id":"t1","name":"bash","input":{"command":"echo hi"}}]},"#,
            r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"hi\n"}]},"#,
            r#"{"role":"assistant","content":[{"type":"text","text":"Done."}]}]}"#,
        )
    );
}

#[test]
fn messages_are_whole_as_long_as_the_frame_can_hold_them() {
    let home = Home::new(
        "[[turn]]\ntext = \"word {{n}} \"\nrepeat = 60000\n[[turn]]\ntext = \"again {{n}} \"\nrepeat = 60000",
    );
    home.write(
        "home/.config/stentor/config.toml",
        "auto_compaction = false\n",
    );
    let mut child = home.child();
    let mut said = Vec::new();
    for id in ["p", "q"] {
        let frames = child.prompt(id, "go on");
        let frame: serde_json::Value = serde_json::from_str(&frames[0]).unwrap();
        said.push(frame["event"]["delta"].as_str().unwrap().to_owned());
    }
    assert!(said.iter().all(|text| text.len() > 600_000));
    let texts = |answer: &str| {
        let answer: serde_json::Value = serde_json::from_str(answer).unwrap();
        assert_eq!(answer["omitted_messages"], serde_json::Value::Null);
        let messages = answer["messages"].as_array().unwrap().clone();
        let text = |n: usize| {
            messages[n]["content"][0]["text"]
                .as_str()
                .unwrap()
                .to_owned()
        };
        [text(1), text(3)]
    };
    // Together they are more than a frame holds: both are cut, to about half a frame each.
    let answer = child.ask(r#"{"type":"get_messages","id":"m"}"#);
    assert!(answer.len() > 1_040_000, "{}", answer.len());
    for (text, said) in texts(&answer).iter().zip(&said) {
        let (kept, note) = text.rsplit_once("\n[").unwrap();
        assert!(
            said.starts_with(kept) && kept.len() > 500_000,
            "{}",
            kept.len()
        );
        assert_eq!(
            note,
            format!("{} more bytes left out]", said.len() - kept.len())
        );
    }
}

#[test]
fn stats_sum_up_the_session() {
    let home = Home::new(&format!(
        "{TWO_TURNS}\n[model]\nid = \"priced.toml\"\nprices = {{ input = 10000, output = 0 }}\n"
    ));
    std::fs::rename(home.path("play.toml"), home.path("x")).unwrap();
    let text = std::fs::read_to_string(home.path("x")).unwrap();
    home.write("priced.toml", text.rsplit_once("[model]").unwrap().0);
    let mut child = home.child_with(&["--model=script/priced.toml"]);
    child.prompt("p", "look");
    assert_eq!(
        child.ask(r#"{"type":"get_session_stats","id":"s"}"#),
        r#"{"type":"response","id":"s","command":"get_session_stats","ok":true,"input_tokens":200,"output_tokens":40,"cache_read_input_tokens":60,"cache_creation_input_tokens":16,"cost":2.0,"message_count":4,"model":"script/priced.toml","session_id":"SESSION"}"#
    );
}

#[test]
fn models_are_those_that_can_be_used() {
    let home = Home::new("");
    let mut child = home.child();
    assert_eq!(
        child.ask(r#"{"type":"get_available_models","id":"a"}"#),
        r#"{"type":"response","id":"a","command":"get_available_models","ok":true,"models":[{"provider":"offline","model_id":"guide","model_name":"Offline guide"}]}"#
    );
}

#[test]
fn set_model_answers_with_the_active_model_and_refuses_an_unknown_one() {
    let home = Home::new("[[turn]]\ntext = \"ok\"");
    home.write(
        "other.toml",
        "on_exhausted = \"repeat-last\"\n[model]\nid = \"other.toml\"\n[[turn]]\ntext = \"the other\"",
    );
    let mut child = home.child();
    assert_eq!(
        child.ask(r#"{"type":"set_model","id":"m1","model":"script/other.toml"}"#),
        r#"{"type":"response","id":"m1","command":"set_model","ok":true,"model":"script/other.toml"}"#
    );
    assert_eq!(
        child.ask(r#"{"type":"set_model","id":"m2","model":"script/none.toml"}"#),
        r#"{"type":"error","id":"m2","message":"unknown model `script/none.toml`: see get_available_models"}"#
    );
    assert!(child.prompt("p", "x")[0].contains("the other"));
    // It is kept with the session.
    child.ask(r#"{"type":"set_model","id":"m3","model":"offline/guide"}"#);
    let session = child.session.clone();
    drop(child);
    let mut command = home.command(&["rpc", "--continue", &session]);
    command.env("STENTOR_MODEL", "script/play.toml");
    let again = crate::child::Child::spawn(command);
    assert!(again.raw().contains(r#""model":"offline/guide""#));
}

#[test]
fn a_model_chosen_during_a_turn_is_that_of_the_next() {
    let wait = "while [ ! -e go ]; do sleep 0.01; done";
    let home = Home::new(&format!(
        "[[turn]]\ntool = \"bash\"\narguments = {{ command = \"touch there; {wait}\" }}\n[[turn]]\ntext = \"still me\"\n"
    ));
    home.write(
        "other.toml",
        "on_exhausted = \"repeat-last\"\n[model]\nid = \"other.toml\"\n[[turn]]\ntext = \"the other\"",
    );
    let mut child = home.child();
    child.send(r#"{"type":"prompt","id":"p","message":"x"}"#);
    stentor_test_support::when_made(&home.path("there"));
    child.send(r#"{"type":"set_model","id":"m","model":"script/other.toml"}"#);
    child.until(r#""id":"m","command":"set_model","ok":true,"model":"script/other.toml""#);
    child.send(r#"{"type":"get_state","id":"s"}"#);
    child.until(r#""streaming":true,"model":"script/other.toml""#);
    home.write("go", "");
    let frames = child.until(r#""response","id":"p""#);
    assert!(
        frames.iter().any(|frame| frame.contains("still me")),
        "{frames:?}"
    );
    assert!(child.prompt("q", "x")[0].contains("the other"));
}

#[test]
fn tools_list_with_and_without_an_id() {
    let home = Home::new("");
    let mut child = home.child();
    for (line, id) in [
        (r#"{"type":"tools_list"}"#, ""),
        (r#"{"type":"tools_list","id":null}"#, ""),
        (r#"{"type":"tools_list","id":"req-42"}"#, "req-42"),
        (r#"{"op":"tools_list","type":"tools_list"}"#, ""),
    ] {
        let answer = child.ask(line);
        let start = format!(
            r#"{{"type":"response","id":"{id}","command":"tools_list","ok":true,"tools":[{{"name":"#
        );
        assert!(answer.starts_with(&start), "{answer}");
        let body: serde_json::Value = serde_json::from_str(&answer).unwrap();
        let tools = body["tools"].as_array().unwrap();
        let names: Vec<&str> = tools
            .iter()
            .map(|tool| tool["name"].as_str().unwrap())
            .collect();
        let expected = [
            "read", "bash", "edit", "write", "grep", "find", "ls", "todo", "job", "fetch",
            "subagent",
        ];
        assert_eq!(names, expected);
        for tool in tools {
            assert_eq!(tool["input_schema"]["type"], "object");
            assert_eq!(tool["input_schema"], tool["inputSchema"]);
            assert!(tool["description"].is_string());
        }
    }
}

#[test]
fn the_probe_on_the_command_line_prints_one_array() {
    let home = Home::new("");
    let output = home.command(&["tools_list", "--json"]).output().unwrap();
    assert!(output.status.success());
    let tools: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(tools.as_array().unwrap().len(), 11);
    assert_eq!(output.stderr, b"");
}

#[test]
fn a_new_session_has_a_new_id_and_no_history_and_the_same_model() {
    let home = Home::new(TWO_TURNS);
    let mut child = home.child();
    child.prompt("p", "look");
    let answer = child.ask(r#"{"type":"new_session","id":"n"}"#);
    let new: serde_json::Value = serde_json::from_str(&answer).unwrap();
    let id = new["session_id"].as_str().unwrap();
    assert_eq!(
        answer,
        format!(
            r#"{{"type":"response","id":"n","command":"new_session","ok":true,"session_id":"{id}"}}"#
        )
    );
    assert_ne!(id, child.session);
    assert_eq!(
        child.ask(r#"{"type":"get_session_stats","id":"s"}"#),
        format!(
            r#"{{"type":"response","id":"s","command":"get_session_stats","ok":true,"input_tokens":0,"output_tokens":0,"cache_read_input_tokens":0,"cache_creation_input_tokens":0,"cost":0.0,"message_count":0,"model":"script/play.toml","session_id":"{id}"}}"#
        )
    );
    // Both can be gone on with.
    let (old, new) = (child.session.clone(), id.to_owned());
    drop(child);
    for (session, count) in [(old, 4), (new, 0)] {
        let mut again = home.child_with(&["--continue", &session]);
        assert_eq!(again.session, session);
        let state = again.ask(r#"{"type":"get_state","id":"s"}"#);
        assert!(
            state.ends_with(&format!("\"message_count\":{count}}}")),
            "{state}"
        );
    }
}

#[test]
fn compact_answers_with_the_summary_and_keeps_the_session() {
    let home = Home::new(&format!(
        "{TWO_TURNS}\n[compaction]\nsummary = \"They looked.\"\n"
    ));
    let mut child = home.child();
    assert_eq!(
        child.ask(r#"{"type":"compact","id":"c0"}"#),
        r#"{"type":"response","id":"c0","command":"compact","ok":true,"summary":""}"#,
        "nothing to summarise"
    );
    child.prompt("p", "look");
    child.send(r#"{"type":"compact","id":"c1"}"#);
    let answer = child.frame();
    assert!(
        answer.starts_with(
            r#"{"type":"response","id":"c1","command":"compact","ok":true,"summary":"They looked."#
        ),
        "{answer}"
    );
    let messages = child.ask(r#"{"type":"get_messages","id":"m"}"#);
    assert!(messages.contains("They looked."), "{messages}");
    let state = child.ask(r#"{"type":"get_state","id":"s"}"#);
    assert!(state.contains(r#""session_id":"SESSION""#));
}

#[test]
fn twenty_thousand_quick_commands_are_answered_in_order() {
    let home = Home::new("");
    let mut child = home.child();
    let mut lines = Vec::new();
    for n in 0..20_000 {
        lines.extend(format!("{{\"type\":\"get_state\",\"id\":\"{n}\"}}\n").bytes());
    }
    let mut stdin = Vec::new();
    std::mem::swap(&mut stdin, &mut lines);
    std::thread::scope(|scope| {
        let child = &mut child;
        scope.spawn(move || {
            child.send_bytes(&stdin);
            for n in 0..20_000 {
                let frame = child.raw();
                let start = format!(r#"{{"type":"response","id":"{n}","#);
                assert!(frame.starts_with(&start), "{frame}");
            }
        });
    });
}
