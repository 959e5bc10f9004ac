//! `/rewind`: what a run changed is put back, in every dialect that has commands.

use expect_test::expect;
use serde_json::{Value, json};

use crate::world::{Child, World};

const PLAN: &str = r#"
on_exhausted = "repeat-last"
[[turn]]
when = { last_user_contains = "write" }
steps = [{ tool = "write", arguments = { path = "notes.txt", content = "by the tool\n" } }]
[[turn]]
when = { last_user_contains = "command" }
steps = [{ tool = "bash", arguments = { command = "echo by a command > notes.txt; rm old.txt; mkdir made; touch made/new.txt" } }]
[[turn]]
text = "Done."
"#;

fn world() -> World {
    let world = World::new(PLAN, "permission_mode = \"all\"\n");
    world.file("work/notes.txt", "by hand\n");
    world.file("work/old.txt", "old\n");
    world
}

/// What is in the files that runs change.
fn files(world: &World) -> [String; 3] {
    let read = |name: &str| match std::fs::read_to_string(world.path("work").join(name)) {
        Ok(text) => text.trim().to_owned(),
        Err(error) => error.kind().to_string(),
    };
    ["notes.txt", "old.txt", "made/new.txt"].map(read)
}

const GONE: &str = "entity not found";

fn omp(child: &mut Child, text: &str) {
    child.send(&json!({ "id": "p", "type": "prompt", "message": text }).to_string());
    child.until_type("agent_settled");
}

/// The frames of a `/rewind`, with ids of entries written as `ID`.
pub(crate) fn omp_rewind(child: &mut Child, words: &str) -> String {
    child.send(
        &json!({ "id": "r", "type": "prompt", "message": format!("/rewind {words}") }).to_string(),
    );
    let is_over = |line: &str| line.contains("prompt_result") || line.contains("\"success\":false");
    let frames = child.until(is_over);
    without_ids(&frames.join("\n"))
}

/// The text with eight hexadecimal digits in a row written as `ID`.
fn without_ids(text: &str) -> String {
    let mut shown = String::new();
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_hexdigit).count();
        match digits {
            8 => shown.push_str("ID"),
            _ => shown.push_str(&rest[..digits]),
        }
        let next = rest[digits..].chars().next();
        shown.extend(next);
        rest = &rest[digits + next.map_or(0, char::len_utf8)..];
    }
    shown
}

fn omp_messages(child: &mut Child) -> Vec<Value> {
    child.send(r#"{"id":"m","type":"get_messages"}"#);
    let answer = child.until_type("response").pop().unwrap();
    let messages = answer["data"]["messages"].as_array().unwrap();
    messages.iter().map(|one| one["role"].clone()).collect()
}

#[test]
fn omp_goes_back_with_files_and_conversation_and_forth_again() {
    let world = world();
    let mut child = world.omp();
    omp(&mut child, "write it");
    omp(&mut child, "run the command");
    let after = ["by a command", GONE, ""].map(str::to_owned);
    assert_eq!(files(&world), after);
    expect![[r#"
        {"type":"command_output","text":"Messages, the newest first (/rewind [MESSAGE] [--files|--conversation] [--force], or --undo):\n  1  ID  run the command  [made/new.txt, notes.txt, old.txt]\n  2  ID  write it  [notes.txt]"}
        {"id":"r","type":"response","command":"prompt","success":true,"data":{"disposition":"handled","agentInvoked":false}}
        {"type":"prompt_result","id":"r","agentInvoked":false,"status":"completed","sessionSettled":true}"#]].assert_eq(&omp_rewind(&mut child, ""));
    expect![[r#"
        {"type":"command_output","text":"Files and conversation are as before \"run the command\".\nRestored: made (removed), made/new.txt (removed), notes.txt, old.txt (was deleted)\n/rewind --undo goes back to how it was."}
        {"id":"r","type":"response","command":"prompt","success":true,"data":{"disposition":"handled","agentInvoked":false}}
        {"type":"prompt_result","id":"r","agentInvoked":false,"status":"completed","sessionSettled":true}"#]].assert_eq(&omp_rewind(&mut child, "1"));
    assert_eq!(files(&world), ["by the tool", "old", GONE]);
    assert_eq!(
        omp_messages(&mut child),
        ["user", "assistant", "toolResult", "assistant"]
    );
    expect![[r#"
        {"type":"command_output","text":"Files and conversation are as before the last rewind.\nRestored: made (was deleted), made/new.txt (was deleted), notes.txt, old.txt (removed)\n/rewind --undo goes back to how it was."}
        {"id":"r","type":"response","command":"prompt","success":true,"data":{"disposition":"handled","agentInvoked":false}}
        {"type":"prompt_result","id":"r","agentInvoked":false,"status":"completed","sessionSettled":true}"#]].assert_eq(&omp_rewind(&mut child, "--undo"));
    assert_eq!(files(&world), after);
    assert_eq!(omp_messages(&mut child).len(), 8);
    // All the way back.
    omp_rewind(&mut child, "2");
    assert_eq!(files(&world), ["by hand", "old", GONE]);
    assert_eq!(omp_messages(&mut child), [""; 0]);
    // The model goes on from there.
    omp(&mut child, "write it");
    assert_eq!(files(&world), ["by the tool", "old", GONE]);
    assert_eq!(omp_messages(&mut child).len(), 4);
    child.end();
}

#[test]
fn omp_goes_back_with_files_or_conversation_alone() {
    let world = world();
    let mut child = world.omp();
    omp(&mut child, "write it");
    omp_rewind(&mut child, "1 --files");
    assert_eq!(files(&world)[0], "by hand");
    assert_eq!(omp_messages(&mut child).len(), 4);
    omp_rewind(&mut child, "--undo");
    assert_eq!(files(&world)[0], "by the tool");
    omp_rewind(&mut child, "1 --conversation");
    assert_eq!(files(&world)[0], "by the tool");
    assert_eq!(omp_messages(&mut child), [""; 0]);
    child.end();
}

#[test]
fn a_file_that_changed_since_is_named_and_overwritten_only_when_told() {
    let world = world();
    let mut child = world.omp();
    omp(&mut child, "run the command");
    world.file("work/notes.txt", "by hand, later\n");
    expect![[r#"
        {"type":"command_output","text":"Not everything is as before \"run the command\".\nRestored: made (removed), made/new.txt (removed), old.txt (was deleted)\nLeft alone, because they changed since: notes.txt\n/rewind ID --files --force restores these, too.\n/rewind --undo goes back to how it was."}
        {"id":"r","type":"response","command":"prompt","success":true,"data":{"disposition":"handled","agentInvoked":false}}
        {"type":"prompt_result","id":"r","agentInvoked":false,"status":"completed","sessionSettled":true}"#]].assert_eq(&omp_rewind(&mut child, "1"));
    assert_eq!(files(&world), ["by hand, later", "old", GONE]);
    omp_rewind(&mut child, "--undo --conversation");
    expect![[r#"
        {"type":"command_output","text":"The files are as before \"run the command\".\nRestored: notes.txt\n/rewind --undo goes back to how it was."}
        {"id":"r","type":"response","command":"prompt","success":true,"data":{"disposition":"handled","agentInvoked":false}}
        {"type":"prompt_result","id":"r","agentInvoked":false,"status":"completed","sessionSettled":true}"#]].assert_eq(&omp_rewind(&mut child, "1 --files --force"));
    assert_eq!(files(&world), ["by hand", "old", GONE]);
    omp_rewind(&mut child, "--undo");
    assert_eq!(files(&world)[0], "by hand, later");
    child.end();
}

#[test]
fn what_cannot_be_rewound_is_refused_with_a_reason() {
    let world = world();
    let mut child = world.omp();
    for (words, expected) in [
        (
            "",
            "there are no messages yet, so there is nothing to go back to",
        ),
        (
            "1",
            "there is no message 1 to go back to; /rewind lists them",
        ),
        ("--undo", "there is no rewind to undo"),
        (
            "1 2",
            "Usage: /rewind [MESSAGE] [--files|--conversation] [--force], or --undo; alone it lists the messages",
        ),
    ] {
        let answer = omp_rewind(&mut child, words);
        assert!(
            answer.contains(&format!("\"error\":{:?}", expected)),
            "{answer}"
        );
    }
    child.end();
}

#[test]
fn nothing_is_recorded_where_undo_is_off_and_nothing_is_written_into_the_folder() {
    let world = World::new(PLAN, "permission_mode = \"all\"\nundo = false\n");
    let mut child = world.omp();
    omp(&mut child, "write it");
    assert!(!world.path("home/.local/share/stentor/checkpoints").exists());
    let answer = omp_rewind(&mut child, "1 --files");
    assert!(answer.contains("files are not recorded here"), "{answer}");
    omp_rewind(&mut child, "1");
    assert_eq!(omp_messages(&mut child), [""; 0]);
    assert_eq!(files(&world)[0], "by the tool");
    child.end();
    let names = std::fs::read_dir(world.path("work")).unwrap();
    let mut names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["notes.txt", "plan.toml"]);
}

#[test]
fn what_a_subagent_changes_is_undone_with_the_message_it_worked_for() {
    let plan = r#"
[[turn]]
when = { last_user_contains = "ask the other" }
steps = [{ tool = "subagent", arguments = { task = "write it" } }]
"#;
    let world = World::new(&format!("{PLAN}{plan}"), "permission_mode = \"all\"\n");
    world.file("work/notes.txt", "by hand\n");
    let mut child = world.omp();
    omp(&mut child, "ask the other");
    assert_eq!(files(&world)[0], "by the tool");
    omp_rewind(&mut child, "1");
    assert_eq!(files(&world)[0], "by hand");
    child.end();
}

/// A world whose model runs these commands for the words before them.
fn world_of_commands(commands: &[(&str, &str)]) -> World {
    let mut plan = "on_exhausted = \"repeat-last\"\n".to_owned();
    for (words, command) in commands {
        let command = json!(command);
        plan.push_str(&format!(
            "[[turn]]\nwhen = {{ last_user_contains = {words:?} }}\nsteps = [{{ tool = \"bash\", arguments = {{ command = {command} }} }}]\n"
        ));
    }
    plan.push_str("[[turn]]\ntext = \"Done.\"\n");
    World::new(&plan, "permission_mode = \"all\"\n")
}

#[test]
fn a_rewind_says_that_ignored_files_were_not_looked_at_where_a_command_ran() {
    let world = world_of_commands(&[("build", "echo new > out.log")]);
    world.file("work/.git/HEAD", "");
    world.file("work/.gitignore", "*.log\n");
    let mut child = world.omp();
    omp(&mut child, "only talk");
    let answer = omp_rewind(&mut child, "1");
    assert!(answer.contains("No file was changed."), "{answer}");
    omp(&mut child, "build it");
    let answer = omp_rewind(&mut child, "1");
    let told = r"No change was found.\nFiles that .gitignore lists were not looked at.";
    assert!(answer.contains(told), "{answer}");
    child.end();
}

#[test]
fn the_name_of_a_file_forges_no_line_of_a_report() {
    let world = world_of_commands(&[("forge", r"touch $'a\nRestored: all\t\e[2J'")]);
    let mut child = world.omp();
    omp(&mut child, "forge it");
    let name = r"a\\u{a}Restored: all\\u{9}\\u{1b}[2J";
    for words in ["", "1"] {
        let answer = omp_rewind(&mut child, words);
        assert!(answer.contains(name), "{answer}");
    }
    child.end();
}

#[test]
fn acp_lists_the_command_and_goes_back() {
    let world = world();
    let (mut child, session) = world.acp(json!({}));
    let listed = child.until(|line| line.contains("available_commands_update"));
    let listed = listed.last().unwrap();
    expect![[r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"SESSION","update":{"sessionUpdate":"available_commands_update","availableCommands":[{"name":"compact","description":"Summarise the older part of the conversation to make room.","input":{"hint":"what to keep in mind (optional)"}},{"name":"name","description":"Name this session.","input":{"hint":"the name"}},{"name":"plan","description":"Plan first: only read until you have accepted a plan.","input":{"hint":"[on|off]"}},{"name":"rewind","description":"Go back to the point before a message: files, conversation or both.","input":{"hint":"[MESSAGE] [--files|--conversation] [--force], or --undo"}},{"name":"jobs","description":"List what runs in the background, show its output, or stop it.","input":{"hint":"[ID], or stop ID"}}]}}}"#]].assert_eq(&child.shown_in(&session, listed));
    let said = |child: &mut Child, id: u64, text: &str| {
        let prompt = json!({ "sessionId": session, "prompt": [{ "type": "text", "text": text }] });
        let mut lines = child.ask_acp(id, "session/prompt", prompt);
        let last = lines.split_off(lines.len().saturating_sub(2));
        let last = last.iter().map(|line| child.shown_in(&session, line));
        last.collect::<Vec<_>>().join("\n")
    };
    said(&mut child, 11, "run the command");
    assert_eq!(files(&world), ["by a command", GONE, ""]);
    expect![[r#"
        {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"SESSION","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Files and conversation are as before \"run the command\".\nRestored: made (removed), made/new.txt (removed), notes.txt, old.txt (was deleted)\n/rewind --undo goes back to how it was."},"messageId":"ID"}}}
        {"jsonrpc":"2.0","id":12,"result":{"stopReason":"end_turn"}}"#]].assert_eq(&said(&mut child, 12, "/rewind 1"));
    assert_eq!(files(&world), ["by hand", "old", GONE]);
    said(&mut child, 13, "/rewind --undo");
    assert_eq!(files(&world), ["by a command", GONE, ""]);
    child.end();
}

#[test]
fn a_session_that_is_open_elsewhere_is_listed_and_not_rewound() {
    let world = world();
    let (mut child, session) = world.acp(json!({}));
    let prompt =
        json!({ "sessionId": session, "prompt": [{ "type": "text", "text": "write it" }] });
    child.ask_acp(11, "session/prompt", prompt);
    let listed = world.asked(&["sessions", "rewind", &session]);
    let listed = without_ids(&listed).replace(&without_ids(&session), "SESSION");
    expect![[r#"
        Messages, the newest first (stentor sessions rewind SESSION [MESSAGE] [--files|--conversation] [--force], or --undo):
          1  ID  write it  [notes.txt]
    "#]].assert_eq(&listed);
    let mut refused = world.command(&["sessions", "rewind", &session, "1"]);
    let refused = refused.output().unwrap();
    let why = String::from_utf8_lossy(&refused.stderr);
    assert!(why.contains("close it there first"), "{why}");
    assert_eq!(files(&world)[0], "by the tool");
    child.end();
}

#[test]
fn psi_goes_back_and_its_transcript_follows() {
    let world = world();
    let mut child = world.psi();
    let topics = r#"{:topics ["command-result" "session/resumed" "session/rehydrated"]}"#;
    child.ask_psi("t", "subscribe", topics);
    child.ask_psi("1", "prompt", "{:message \"run the command\"}");
    child.until(|line| line.contains(":is-streaming false"));
    assert_eq!(files(&world), ["by a command", GONE, ""]);
    child.send(r#"{:id "2" :kind :request :op "command" :params {:text "/rewind 1"}}"#);
    let is_result = |line: &str| line.contains(":event \"command-result\"");
    let lines = child.until(is_result);
    let is_shown = |line: &&String| is_result(line) || line.contains(":event \"session/re");
    let shown = lines.iter().filter(is_shown);
    let mut parts = lines.iter().flat_map(|line| line.split(":session-id \""));
    let session = parts.find_map(|part| part.get(..36).filter(|id| id.contains("-4")));
    let session = session.unwrap().to_owned();
    let shown: Vec<String> = shown.map(|line| child.shown_in(&session, line)).collect();
    expect![[r#"
        {:kind :event :event "session/resumed" :data {:session-id "SESSION" :session-file nil :message-count 0} :seq N :ts "TIME"}
        {:kind :event :event "session/rehydrated" :data {:session-id "SESSION" :messages [] :tool-calls {} :tool-order []} :seq N :ts "TIME"}
        {:kind :event :event "command-result" :data {:type "text" :message "Files and conversation are as before \"run the command\".\nRestored: made (removed), made/new.txt (removed), notes.txt, old.txt (was deleted)\n/rewind --undo goes back to how it was."} :id "2" :seq N :ts "TIME"}"#]].assert_eq(&shown.join("\n"));
    assert_eq!(files(&world), ["by hand", "old", GONE]);
    child.ask_psi("3", "command", "{:text \"/rewind --undo\"}");
    assert_eq!(files(&world), ["by a command", GONE, ""]);
    child.end();
}
