//! The commands of a conversation that change where it goes, and keys that nobody may see.

use std::os::unix::fs::PermissionsExt;

use crate::pty::Terminal;
use crate::terminal::{CTRL_D, ENTER, READY, start};
use crate::world::World;

const ECHO: &str = "on_exhausted = \"repeat-last\"\n[[turn]]\ntext = \"You said: {{last_user}}\"\n";
const UP: &str = "\u{1b}[A";

/// Says something and waits for the answer.
fn say(terminal: &mut Terminal, text: &str) {
    terminal.press(text).press(ENTER);
    terminal.shows(&format!("You said: {text}"));
    terminal.shows(READY);
}

#[test]
fn the_tree_lists_every_message_and_goes_on_before_the_chosen_one() {
    let world = World::new();
    let mut terminal = start(&world, ECHO);
    terminal
        .press("/tree")
        .press(ENTER)
        .shows("nothing has been said yet");
    say(&mut terminal, "alpha");
    say(&mut terminal, "beta");
    terminal.press("/tree").press(ENTER);
    let tree = terminal.shows("The session; go on before which message?");
    let (_, menu) = tree.split_once("The session;").unwrap();
    assert!(menu.contains("alpha  on this branch\n"), "{menu}");
    assert!(menu.contains("beta  on this branch\n"), "{menu}");
    terminal.press(UP).press(ENTER);
    terminal.shows("› alpha\nscript/");
    terminal.press(" again").press(ENTER);
    terminal.shows("You said: alpha again");
    terminal.shows(READY);
    terminal.press(CTRL_D);
    assert_eq!(terminal.ends().0, Some(0));
    // The one that was left is untouched.
    let listed = world.run(&["sessions"]).ok();
    assert!(listed.contains("  4 messages  "), "{listed}");
    assert!(listed.contains("  2 messages  "), "{listed}");
}

#[test]
fn an_export_is_what_its_name_says() {
    let world = World::new();
    let mut terminal = start(&world, ECHO);
    say(&mut terminal, "alpha");
    terminal.press("/export talk.md").press(ENTER);
    terminal.shows("written: ");
    let markdown = std::fs::read_to_string(world.work("talk.md")).unwrap();
    assert!(markdown.ends_with("\n\nYou said: alpha\n"), "{markdown}");
    terminal
        .press("/export talk.pdf")
        .press(ENTER)
        .shows("use a name that ends in .html");
    assert!(!world.work("talk.pdf").exists());
    terminal.press("/export").press(ENTER);
    terminal.shows(".html\n");
    let pages = std::fs::read_dir(world.work("")).unwrap();
    let mut pages = pages.map(|entry| entry.unwrap().path());
    let page = pages.find(|path| path.extension().is_some_and(|ending| ending == "html"));
    let page = std::fs::read_to_string(page.unwrap()).unwrap();
    assert!(page.starts_with("<!doctype html>"), "{page}");
}

#[test]
fn a_compaction_leaves_a_summary_of_what_was_said() {
    let world = World::new();
    world.file(
        "home/.config/stentor/config.toml",
        "[compaction]\nkeep_recent_tokens = 10\n",
    );
    let scenario = format!("usage = \"estimate\"\n{ECHO}");
    let mut terminal = start(&world, &scenario);
    let long = "word ".repeat(60);
    for n in 1..=2 {
        terminal.press(&format!("{n} {long}")).press(ENTER);
        terminal.shows(&format!("You said: {n} word"));
        terminal.shows(READY);
    }
    terminal.press("/compact the words").press(ENTER);
    let screen = terminal.shows("summarised");
    assert!(!screen.contains("! "), "{screen}");
    terminal.shows(READY);
    say(&mut terminal, "still here");
}

#[test]
fn the_model_is_changed_by_name_or_from_a_list() {
    let world = World::new();
    let mut terminal = start(&world, ECHO);
    terminal.press("/model").press(ENTER).shows("Which model?");
    terminal.press("guide").press(ENTER);
    terminal.shows("› ask something, or /help\noffline/guide");
    terminal
        .press("/model offline/giude")
        .press(ENTER)
        .shows("(the nearest: offline/guide)");
    terminal.press("/model script/plan.toml").press(ENTER);
    terminal.shows("› ask something, or /help\nscript/");
}

#[test]
fn a_name_is_one_short_line() {
    let world = World::new();
    let mut terminal = start(&world, ECHO);
    terminal
        .press("/name one\\")
        .press(ENTER)
        .press("two")
        .press(ENTER)
        .shows("a name is one line, without control characters");
    say(&mut terminal, "alpha");
    terminal.press(CTRL_D);
    terminal.ends();
    let sessions = world.run(&["sessions"]).ok();
    let id = sessions.split(' ').next().unwrap();
    let rename = |name: &str| {
        let refused = world.run(&["sessions", "rename", id, name]);
        (refused.status, refused.err)
    };
    for (name, why) in [
        ("a\nb", "a name is one line, without control characters"),
        (" ", "a name cannot be empty"),
        (
            &*"x".repeat(100_000),
            "a name has at most 200 characters; this one has 100000",
        ),
    ] {
        assert_eq!(rename(name), (Some(1), format!("stentor: {why}\n")));
    }
}

#[test]
fn a_key_is_typed_without_being_seen_and_stored_for_its_owner_only() {
    let world = World::new();
    let mut command = world.command(&["login", "groq", "--key"]);
    command.env("TERM", "xterm");
    let mut terminal = Terminal::start(command, 10, 80);
    terminal.shows("Key for groq (it is not shown):");
    terminal.press("gsk_secret\r");
    let (status, screen) = terminal.ends();
    assert_eq!(status, Some(0));
    assert!(!screen.contains("gsk_secret"), "{screen}");
    let stored = world.path("home/.config/stentor/credentials.json");
    let text = std::fs::read_to_string(&stored).unwrap();
    assert!(text.contains("gsk_secret"), "{text}");
    let mode = std::fs::metadata(&stored).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn a_provider_that_has_only_keys_is_named_with_the_way_to_store_one() {
    let world = World::new();
    let refused = world.run(&["login", "groq"]);
    assert_eq!(
        (refused.status, refused.err.as_str()),
        (
            Some(1),
            "stentor: groq has no login, only API keys; `stentor login groq --key` stores one\n"
        )
    );
}
