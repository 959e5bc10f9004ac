//! Lines in and frames out (section 2).

use crate::child::{Child, Home};

#[test]
fn ready_is_the_first_frame_with_session_model_and_version() {
    let home = Home::new("");
    let child = Child::spawn(home.command(&["rpc", "--model", "script/play.toml"]));
    let ready = child.raw();
    let session = ready.split('"').nth(7).unwrap().to_owned();
    assert_eq!(
        ready,
        format!(
            r#"{{"type":"ready","session_id":"{session}","model":"script/play.toml","protocol_version":1}}"#
        )
    );
}

#[test]
fn lines_that_are_no_commands_get_an_error_and_the_child_goes_on() {
    let home = Home::new("");
    let mut child = home.child();
    for (line, answer) in [
        (
            "true",
            r#"{"type":"error","message":"invalid type: boolean `true`, expected internally tagged enum Command at line 1 column 4"}"#,
        ),
        (
            "null",
            r#"{"type":"error","message":"invalid type: null, expected internally tagged enum Command at line 1 column 4"}"#,
        ),
        (
            "nope",
            r#"{"type":"error","message":"expected ident at line 1 column 2"}"#,
        ),
        (
            "[]",
            r#"{"type":"error","message":"invalid type: sequence, expected a JSON object"}"#,
        ),
        (
            "{}",
            r#"{"type":"error","message":"missing field `type` at line 1 column 2"}"#,
        ),
        (
            r#"{"id":"i"}"#,
            r#"{"type":"error","id":"i","message":"missing field `type` at line 1 column 10"}"#,
        ),
        (
            r#"{"type":"prompt","id":"p"}"#,
            r#"{"type":"error","id":"p","message":"missing field `message`"}"#,
        ),
        (
            r#"{"type":"get_state","id":7}"#,
            r#"{"type":"error","message":"invalid type: integer `7`, expected a string"}"#,
        ),
        (
            r#"{"type":"prompt","id":"n","message":"m","attachments":null}"#,
            r#"{"type":"error","id":"n","message":"invalid type: null, expected a sequence"}"#,
        ),
        (
            r#"{"type":"abort","id":"a","id":"b"}"#,
            r#"{"type":"error","id":"b","message":"duplicate field `id`"}"#,
        ),
        (
            r#"{"type":"abort","id":"a"} {}"#,
            r#"{"type":"error","message":"trailing characters at line 1 column 27"}"#,
        ),
        (
            "\u{feff}{\"type\":\"abort\",\"id\":\"a\"}",
            r#"{"type":"error","message":"expected value at line 1 column 1"}"#,
        ),
        (
            r#"{"op":"tool_call","type":"tool_call","name":"x"}"#,
            r#"{"type":"error","message":"unknown variant `tool_call`, expected one of `prompt`, `follow_up`, `compact`, `new_session`, `get_messages`, `set_model`, `get_available_models`, `abort`, `get_session_stats`, `get_state`, `tools_list`, `shutdown` at line 1 column 36"}"#,
        ),
    ] {
        assert_eq!(child.ask(line), answer, "{line}");
    }
    assert_eq!(
        child.ask(r#"{"type":"abort","id":"ok"}"#),
        r#"{"type":"response","id":"ok","command":"abort","ok":true}"#
    );
}

#[test]
fn blank_lines_line_ends_spaces_and_extra_keys_do_not_matter() {
    let home = Home::new("");
    let mut child = home.child();
    child.send_bytes(b"\n \t\r\n\r\n");
    child.send_bytes(b"  {\"extra\":[1],\"id\":\"\",\"type\":\"abort\"}  \r\r\n");
    assert_eq!(
        child.frame(),
        r#"{"type":"response","id":"","command":"abort","ok":true}"#
    );
}

#[test]
fn a_last_line_without_its_end_is_a_command_too() {
    let home = Home::new("");
    let mut child = home.child();
    child.send_bytes(br#"{"type":"abort","id":"last"}"#);
    child.close_stdin();
    assert_eq!(
        child.rest(),
        [r#"{"type":"response","id":"last","command":"abort","ok":true}"#]
    );
    assert!(child.end().0.success());
}

#[test]
fn a_line_that_is_not_utf8_gets_an_error_and_the_child_goes_on() {
    let home = Home::new("");
    let mut child = home.child();
    child.send_bytes(b"{\"type\":\"abort\",\"id\":\"\xff\"}\n");
    assert_eq!(
        child.frame(),
        r#"{"type":"error","message":"frame is not valid UTF-8"}"#
    );
    child.send(r#"{"type":"abort","id":"a"}"#);
    assert!(child.frame().contains("response"));
}

#[test]
fn a_frame_of_one_mebibyte_is_taken_and_one_byte_more_is_not() {
    let home = Home::new("[[turn]]\ntext = \"ok\"\n[[turn]]\ntext = \"ok\"\n");
    let mut child = home.child();
    let around = r#"{"type":"prompt","id":"p","message":""}"#.len();
    let message = "x".repeat(1_048_576 - around);
    let frames = child.prompt("p", &message);
    assert_eq!(
        frames.last().unwrap(),
        r#"{"type":"response","id":"p","command":"prompt","ok":true}"#
    );
    child.send(&format!(
        r#"{{"type":"prompt","id":"p","message":"{message}x"}}"#
    ));
    assert_eq!(
        child.frame(),
        r#"{"type":"error","message":"frame exceeds 1 MiB limit"}"#
    );
    // The history is larger than a frame now, and still fits one.
    let messages = child.ask(r#"{"type":"get_messages","id":"m"}"#);
    assert!(
        messages.starts_with(r#"{"type":"response","id":"m","command":"get_messages","ok":true"#)
    );
}

#[test]
fn a_line_without_end_is_thrown_away_in_flat_memory() {
    let home = Home::new("");
    let mut child = home.child();
    let piece = vec![b'x'; 1024 * 1024];
    for _ in 0..64 {
        child.send_bytes(&piece);
    }
    child.send_bytes(b"\n");
    assert_eq!(
        child.frame(),
        r#"{"type":"error","message":"frame exceeds 1 MiB limit"}"#
    );
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let peak = status
        .lines()
        .find(|line| line.starts_with("VmHWM"))
        .unwrap();
    let kib: u64 = peak.split_whitespace().nth(1).unwrap().parse().unwrap();
    assert!(kib < 64 * 1024, "{peak}");
    assert!(
        child
            .ask(r#"{"type":"abort","id":"a"}"#)
            .contains("response")
    );
}

#[test]
fn long_texts_and_results_come_in_frames_below_the_limit() {
    // The reading end checks every frame. Characters that are escaped take six times their room.
    let home = Home::new(
        "[[turn]]\ntext = \"{{last_user}}\"\n[[turn]]\nsteps = [{ tool = \"bash\", id = \"t\", arguments = { command = \"head -c 400000 /dev/zero | tr '\\\\0' 'a'; printf '\\\\303\\\\244%.0s' $(seq 20000)\" } }]\n[[turn]]\ntext=\"end\"",
    );
    let mut child = home.child();
    let message = "ä".repeat(300_000);
    let frames = child.prompt("p", &message);
    let text = frames[0].matches("\\u00e4").count();
    assert_eq!(text, 300_000);
    let frames = child.prompt("q", "run");
    assert_eq!(
        frames.last().unwrap(),
        r#"{"type":"response","id":"q","command":"prompt","ok":true}"#
    );
}
