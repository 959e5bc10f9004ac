//! Flags, variables and what else surrounds a child (section 1).

use std::io::{Read, Write};
use std::process::Stdio;

use crate::child::{Child, Home};

#[test]
fn all_words_of_the_bridge_are_taken_in_its_order() {
    let home = Home::new("[[turn]]\nwhen = { system_contains = \"Be brief.\" }\ntext = \"brief\"");
    let session = home.child().session.clone();
    let mut child = Child::ready(home.command(&[
        "rpc",
        "--continue",
        &session,
        "--system",
        "Be brief.",
        "--model",
        "script/play.toml",
        "--profile",
        "nobody-knows-it",
    ]));
    assert_eq!(child.session, session);
    assert!(child.prompt("p", "x")[0].contains("brief"));
}

#[test]
fn the_system_prompt_may_be_in_a_file() {
    let home = Home::new("[[turn]]\nwhen = { system_contains = \"from a file\" }\ntext = \"read\"");
    home.write("prompt.md", "You are from a file.");
    let mut child = home.child_with(&["-s", "prompt.md"]);
    assert!(child.prompt("p", "x")[0].contains("read"));
}

#[test]
fn sessions_are_kept_where_the_base_folder_is() {
    let home = Home::new("");
    let mut command = home.command(&["rpc"]);
    command.env("SYNAPS_BASE_DIR", home.path("base"));
    let session = Child::ready(command).session.clone();
    assert!(home.path("base/sessions").is_dir());
    assert!(!home.path("home/.local").exists());
    let mut command = home.command(&["rpc", "--continue", &session]);
    command.env("SYNAPS_BASE_DIR", home.path("base"));
    assert_eq!(Child::ready(command).session, session);
}

#[test]
fn an_empty_environment_is_enough() {
    let home = Home::new(
        "[[turn]]\ntool = \"bash\"\narguments = { command = \"echo $((1+1))\" }\n[[turn]]\ntext = \"{{last_tool_result}}\"",
    );
    let mut command = home.command(&["rpc", "--model", "script/play.toml"]);
    command.env_clear();
    let mut child = Child::ready(command);
    let frames = child.prompt("p", "x");
    assert!(
        frames
            .iter()
            .any(|frame| frame.contains(r#""text_delta","delta":"2"#)),
        "{frames:?}"
    );
    let session = child.session.clone();
    drop(child);
    let mut command = home.command(&["rpc", "--continue", &session]);
    command.env_clear();
    assert_eq!(Child::ready(command).session, session);
}

#[test]
fn a_stderr_that_nobody_reads_stops_nothing() {
    let home = Home::new("on_exhausted = \"repeat-last\"\n[[turn]]\nerror = \"auth\"");
    let mut command = home.command(&["rpc", "--model", "script/play.toml"]);
    command.env("STENTOR_LOG", "trace");
    let mut process = command.spawn().unwrap();
    let mut stdin = process.stdin.take().unwrap();
    let mut stdout = std::io::BufReader::new(process.stdout.take().unwrap());
    // Each line is logged; together they are far more than a pipe holds.
    for n in 0..3000 {
        writeln!(
            stdin,
            "{{\"type\":\"set_model\",\"id\":\"{n}\",\"model\":\"script/{n:0>200}\"}}"
        )
        .unwrap();
        let mut line = String::new();
        std::io::BufRead::read_line(&mut stdout, &mut line).unwrap();
    }
    drop(stdin);
    assert_eq!(process.wait().unwrap().code(), Some(0));
    let mut errors = Vec::new();
    process
        .stderr
        .take()
        .unwrap()
        .read_to_end(&mut errors)
        .unwrap();
    assert!(
        errors.len() >= 32 * 1024,
        "only {} bytes were logged",
        errors.len()
    );
}

#[test]
fn a_closed_stderr_stops_nothing_either() {
    let home = Home::new("[[turn]]\ntext = \"ok\"");
    let mut command = home.command(&["rpc", "--model", "script/play.toml"]);
    command.stderr(Stdio::null()).env("STENTOR_LOG", "trace");
    let mut child = Child::ready(command);
    assert_eq!(child.prompt("p", "x").len(), 3);
}

#[test]
fn what_a_tool_prints_never_reaches_stdout() {
    // The reading end takes every line for a frame.
    let home = Home::new(
        "[[turn]]\ntool = \"bash\"\narguments = { command = \"echo stray; echo stray >&2; echo x > /proc/$PPID/fd/1\" }\n[[turn]]\ntext = \"end\"",
    );
    let mut child = home.child();
    let frames = child.prompt("p", "x");
    assert!(
        frames.iter().all(|frame| frame.starts_with('{')),
        "{frames:?}"
    );
}
