//! Undo of files on the command line: `-p "/rewind"`, `stentor sessions rewind`, the conversation.

use expect_test::expect;

use crate::pty::Terminal;
use crate::terminal::{ENTER, READY, start};
use crate::world::World;

const PLAN: &str = r#"
on_exhausted = "repeat-last"
[[turn]]
when = { last_user_contains = "write" }
steps = [{ tool = "write", arguments = { path = "notes.txt", content = "by the tool\n" } }]
[[turn]]
when = { last_user_contains = "command" }
steps = [{ tool = "bash", arguments = { command = "echo by a command > notes.txt" } }]
[[turn]]
text = "Done: {{last_user}}"
"#;

fn world() -> World {
    let world = World::new();
    world.file("work/plan.toml", PLAN);
    world.file("work/notes.txt", "by hand\n");
    world.file(
        "home/.config/stentor/config.toml",
        "permission_mode = \"all\"\n",
    );
    world
}

/// Has one prompt answered.
fn ask(world: &World, words: &[&str]) -> String {
    let model = ["--model", "script/plan.toml"];
    let ran = world.run(&[words, &model].concat());
    assert_eq!(ran.status, Some(0), "{ran:?}");
    ran.out
}

fn notes(world: &World) -> String {
    std::fs::read_to_string(world.work("notes.txt")).unwrap()
}

/// Two runs in one session; returns its id.
fn two_runs(world: &World) -> String {
    ask(world, &["-p", "write it"]);
    ask(world, &["-p", "run the command", "--continue"]);
    assert_eq!(notes(world), "by a command\n");
    let listed = world.run(&["sessions"]).ok();
    listed.split_whitespace().next().unwrap().to_owned()
}

/// The lines with the ids of entries, which are the second words, written as `ID`.
fn without_ids(text: &str) -> String {
    let line = |line: &str| {
        let id = line.split_whitespace().nth(1).unwrap_or_default();
        match id.len() == 8 && line.starts_with("  ") {
            true => line.replacen(id, "ID", 1),
            false => line.to_owned(),
        }
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_stored_session_goes_back_and_forth() {
    let world = world();
    let id = two_runs(&world);
    let listed = world.run(&["sessions", "rewind", &id]).ok();
    let listed = listed.replace(&id, "SESSION");
    expect![[r#"
        Messages, the newest first (stentor sessions rewind SESSION [MESSAGE] [--files|--conversation] [--force], or --undo):
          1  ID  run the command  [notes.txt]
          2  ID  write it  [notes.txt]"#]].assert_eq(&without_ids(&listed));
    let rewound = world.run(&["sessions", "rewind", &id, "1"]).ok();
    expect![[r#"
        Files and conversation are as before "run the command".
        Restored: notes.txt
        stentor sessions rewind SESSION --undo goes back to how it was.
    "#]]
    .assert_eq(&rewound.replace(&id, "SESSION"));
    assert_eq!(notes(&world), "by the tool\n");
    world.run(&["sessions", "rewind", &id, "--undo"]).ok();
    assert_eq!(notes(&world), "by a command\n");
    world.run(&["sessions", "rewind", &id, "2", "--files"]).ok();
    assert_eq!(notes(&world), "by hand\n");
    let listed = world.run(&["sessions", "rewind", &id, "--json"]).ok();
    let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
    let texts = listed.as_array().unwrap().iter().map(|one| &one["text"]);
    assert_eq!(texts.collect::<Vec<_>>(), ["run the command", "write it"]);
    let refused = world.run(&["sessions", "rewind", &id, "77"]);
    let hint = format!("stentor sessions rewind {id} lists them");
    assert_eq!(
        (refused.status, refused.err),
        (
            Some(1),
            format!("stentor: there is no message 77 to go back to; {hint}\n")
        )
    );
}

#[test]
fn the_command_that_a_partial_rewind_names_restores_the_rest() {
    let world = world();
    let id = two_runs(&world);
    world.file("work/notes.txt", "by hand, later\n");
    let rewound = world.run(&["sessions", "rewind", &id, "2"]).ok();
    let left = "Left alone, because they changed since: notes.txt\n";
    assert!(rewound.contains(left), "{rewound}");
    assert_eq!(notes(&world), "by hand, later\n");
    // The messages are on another branch by now, and have no number any more.
    let refused = world.run(&["sessions", "rewind", &id, "2", "--force"]);
    assert_eq!(refused.status, Some(1), "{refused:?}");
    let mut lines = rewound.lines();
    let command = lines.find_map(|line| line.strip_suffix(" restores these, too."));
    let words: Vec<&str> = command.unwrap().split(' ').collect();
    assert_eq!(words[..4], ["stentor", "sessions", "rewind", &id]);
    let forced = world.run(&words[1..]).ok();
    assert!(forced.contains("\nRestored: notes.txt\n"), "{forced}");
    assert_eq!(notes(&world), "by hand\n");
    world.run(&["sessions", "rewind", &id, "--undo"]).ok();
    assert_eq!(notes(&world), "by hand, later\n");
}

#[test]
fn one_prompt_can_be_a_rewind() {
    let world = world();
    two_runs(&world);
    let rewound = ask(&world, &["-p", "/rewind 2", "--continue"]);
    assert!(rewound.contains("Restored: notes.txt\n"), "{rewound}");
    assert_eq!(notes(&world), "by hand\n");
    // The next prompt goes on from there.
    ask(&world, &["-p", "write it", "--continue"]);
    let listed = ask(&world, &["-p", "/rewind", "--continue"]);
    assert_eq!(listed.lines().count(), 2, "{listed}");
}

#[test]
fn a_session_that_was_copied_to_another_machine_has_no_checkpoint_there() {
    let world = world();
    let id = two_runs(&world);
    let stored = world.path("home/.local/share/stentor/checkpoints");
    std::fs::remove_dir_all(stored).unwrap();
    let listed = world.run(&["sessions", "rewind", &id]).ok();
    assert_eq!(
        listed.matches("[no checkpoint here]").count(),
        2,
        "{listed}"
    );
    let rewound = world.run(&["sessions", "rewind", &id, "2"]).ok();
    expect![[r#"
        Not everything is as before "write it".
        No file was restored.
        The checkpoints of 2 runs are not here: their changes stay.
        stentor sessions rewind SESSION --undo goes back to how it was.
    "#]]
    .assert_eq(&rewound.replace(&id, "SESSION"));
    assert_eq!(notes(&world), "by a command\n");
}

#[test]
fn what_is_stored_is_for_its_owner_alone_and_not_in_the_folder() {
    use std::os::unix::fs::PermissionsExt;
    let world = world();
    two_runs(&world);
    let stored = world.path("home/.local/share/stentor/checkpoints");
    let mut waiting = vec![stored];
    while let Some(path) = waiting.pop() {
        let metadata = std::fs::metadata(&path).unwrap();
        if metadata.is_dir() {
            let below = std::fs::read_dir(&path).unwrap();
            waiting.extend(below.map(|entry| entry.unwrap().path()));
        }
        let others = metadata.permissions().mode() & 0o077;
        assert_eq!(others, 0, "{}", path.display());
    }
    let names = std::fs::read_dir(world.work("")).unwrap();
    assert_eq!(names.count(), 2);
}

#[test]
fn the_conversation_offers_the_messages_and_what_would_change() {
    let world = World::new();
    world.file("work/notes.txt", "by hand\n");
    let mut terminal = start(&world, PLAN);
    terminal
        .press("/rewind")
        .press(ENTER)
        .shows("there are no messages yet");
    terminal.press("/permissions all").press(ENTER);
    run(&mut terminal, "write it");
    run(&mut terminal, "run the command");
    world.file("work/mine.txt", "");
    terminal.press("/rewind").press(ENTER);
    let menu = terminal.shows("Go back to before which message?");
    assert!(menu.contains("run the command  [notes.txt]"), "{menu}");
    terminal.press(ENTER);
    let menu = terminal.shows("What goes back?");
    assert!(
        menu.contains("files and conversation  restores notes.txt"),
        "{menu}"
    );
    terminal.press(ENTER);
    terminal.shows("Restored: notes.txt");
    terminal.shows("› run the command");
    assert_eq!(notes(&world), "by the tool\n");
}

/// Has the agent do something.
fn run(terminal: &mut Terminal, text: &str) {
    terminal.press(text).press(ENTER);
    terminal.shows(&format!("Done: {text}"));
    terminal.shows(READY);
}
