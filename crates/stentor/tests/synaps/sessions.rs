//! Sessions on disk and `--continue` (section 15).

use stentor_test_support::when_made;

use crate::child::{Child, Home};

#[test]
fn an_id_from_ready_can_be_gone_on_with_whatever_happened_to_the_child() {
    let home = Home::new("");
    let child = home.child();
    child.signal("-KILL");
    let session = child.session.clone();
    drop(child);
    let again = home.child_with(&["--continue", &session]);
    assert_eq!(again.session, session);
}

#[test]
fn the_stored_history_model_and_totals_go_on() {
    let home = Home::new(
        "usage = { input = 10, output = 1 }\n[[turn]]\ntext = \"one\"\n[[turn]]\ntext = \"two\"",
    );
    let mut child = home.child();
    child.prompt("p", "first");
    let session = child.session.clone();
    child.send(r#"{"type":"shutdown"}"#);
    assert!(child.end().0.success());
    let mut command = home.command(&["rpc", "--continue", &session]);
    // A scenario goes on where the user names it, too.
    command.env("STENTOR_MODEL", "script/play.toml");
    let mut again = Child::ready(command);
    assert_eq!(
        again.ask(r#"{"type":"get_messages","id":"m"}"#),
        r#"{"type":"response","id":"m","command":"get_messages","ok":true,"messages":[{"role":"user","content":"first"},{"role":"assistant","content":[{"type":"text","text":"one"}]}]}"#
    );
    assert!(again.prompt("q", "second")[0].contains("two"));
    assert_eq!(
        again.ask(r#"{"type":"get_session_stats","id":"s"}"#),
        r#"{"type":"response","id":"s","command":"get_session_stats","ok":true,"input_tokens":20,"output_tokens":2,"cache_read_input_tokens":0,"cache_creation_input_tokens":0,"cost":0.0,"message_count":4,"model":"script/play.toml","session_id":"SESSION"}"#
    );
}

#[test]
fn a_model_on_the_command_line_wins_over_the_stored_one() {
    let home = Home::new("[[turn]]\ntext = \"one\"");
    home.write("other.toml", "[model]\nid = \"other.toml\"\n");
    let session = home.child().session.clone();
    let args = ["rpc", "--continue", &session, "-m", "script/other.toml"];
    let child = Child::spawn(home.command(&args));
    assert!(child.raw().contains(r#""model":"script/other.toml""#));
}

#[test]
fn a_unique_beginning_of_an_id_is_enough_and_an_ambiguous_one_is_refused() {
    let home = Home::new("");
    let (one, two) = (home.child().session.clone(), home.child().session.clone());
    let shared = one
        .bytes()
        .zip(two.bytes())
        .take_while(|(a, b)| a == b)
        .count();
    let unique = &one[..=shared];
    assert_eq!(home.child_with(&["--continue", unique]).session, one);
    let mut args = vec!["rpc", "--continue", &one[..4]];
    args.push("--profile=any");
    let output = home.command(&args).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(errors.contains(&one) && errors.contains(&two), "{errors}");
}

#[test]
fn a_session_can_be_gone_on_with_by_its_name() {
    let home = Home::new("");
    let session = home.child().session.clone();
    let folder = std::fs::read_dir(home.path("home/.local/share/stentor/sessions")).unwrap();
    let folder = folder.flatten().next().unwrap().path();
    let files = std::fs::read_dir(folder).unwrap().flatten();
    let file = files
        .map(|file| file.path())
        .find(|path| path.extension().is_some_and(|it| it == "jsonl"))
        .unwrap();
    let mut text = std::fs::read_to_string(&file).unwrap();
    let parent = text
        .lines()
        .last()
        .unwrap()
        .split("\"id\":\"")
        .nth(1)
        .unwrap();
    let parent = parent.split('"').next().unwrap();
    text.push_str(&format!(
        "{{\"type\":\"session_info\",\"id\":\"aaaaaaaa\",\"parentId\":\"{parent}\",\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"name\":\"my work\"}}\n"
    ));
    std::fs::write(&file, text).unwrap();
    assert_eq!(home.child_with(&["--continue", "my work"]).session, session);
}

#[test]
fn a_session_that_another_child_has_is_refused_until_that_one_is_dead() {
    let home = Home::new("");
    let child = home.child();
    let session = child.session.clone();
    let output = home
        .command(&["rpc", "--continue", &session])
        .output()
        .unwrap();
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0));
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(errors.contains(&child.id().to_string()), "{errors}");
    child.signal("-KILL");
    drop(child);
    assert_eq!(home.child_with(&["--continue", &session]).session, session);
}

#[test]
fn after_a_kill_in_the_middle_of_a_tool_the_history_is_whole() {
    let home = Home::new(
        "[[turn]]\nsteps = [{ text = \"Wait. \" }, { tool = \"bash\", id = \"t\", arguments = { command = \"touch there; sleep 1000\" } }]\n[[turn]]\ntext = \"going on\"",
    );
    let mut child = home.child();
    child.send(r#"{"type":"prompt","id":"p","message":"x"}"#);
    when_made(&home.path("there"));
    child.signal("-KILL");
    let session = child.session.clone();
    drop(child);
    let mut again = home.child_with(&["--continue", &session]);
    let messages = again.ask(r#"{"type":"get_messages","id":"m"}"#);
    assert!(
        messages.contains(r#"{"type":"tool_result","tool_use_id":"t""#),
        "{messages}"
    );
    assert!(again.prompt("q", "y")[0].contains("going on"));
}
