//! `stentor` on a terminal: a conversation.

use expect_test::expect;

use crate::pty::Terminal;
use crate::world::World;

pub const CTRL_C: &str = "\u{3}";
pub const CTRL_D: &str = "\u{4}";
pub const CTRL_R: &str = "\u{12}";
pub const ENTER: &str = "\r";

/// What the editor shows when it waits for something.
pub const READY: &str = "› ask something, or /help";

const ANSWER: &str = r##"
[[turn]]
text = """
# Title

Some **bold** text, and `code`.

| a | b |
|---|---|
| 1 | 2 |
"""
"##;

/// A conversation with a model that plays `scenario`.
pub fn conversation(world: &World, scenario: &str, words: &[&str], term: &str) -> Terminal {
    world.file("work/plan.toml", scenario);
    let model = ["--model", "script/plan.toml"];
    let mut command = world.command(&[&model, words].concat());
    command.env("TERM", term);
    Terminal::start(command, 40, 80)
}

/// The same, waiting for the first line.
pub fn start(world: &World, scenario: &str) -> Terminal {
    let mut terminal = conversation(world, scenario, &[], "xterm-256color");
    terminal.shows(READY);
    terminal
}

#[test]
fn an_answer_is_rendered_and_the_line_is_ready_for_the_next() {
    let world = World::new();
    let mut terminal = start(&world, ANSWER);
    terminal.press("hello there").press(ENTER);
    terminal.shows("1 │ 2");
    let screen = world.without_folder(&terminal.shows(READY));
    expect![[r#"
        stentor 0.1.0
          model        script/~~/work/plan.toml  chosen by --model
          folder       ~~/work
          permissions  ask  /help lists the commands

        › hello there

        Title

        Some bold text, and code.

        a │ b
        ──┼──
        1 │ 2

        › ask something, or /help
        script/~~/work/plan.toml
    "#]]
    .assert_eq(&screen);
    terminal.writes("\u{1b}[1mbold\u{1b}[0m");
    terminal.press(CTRL_D);
    let (status, screen) = terminal.ends();
    assert_eq!(status, Some(0));
    let listed = world.run(&["sessions"]).ok();
    let id = listed.split(' ').next().unwrap();
    let way = format!("to go on: stentor -c, or stentor --resume {id}\n");
    assert!(screen.contains(&way), "{screen}");
}

#[test]
fn a_change_is_shown_before_somebody_allows_it() {
    let world = World::new();
    world.file("work/a.txt", "one\ntwo\nthree\n");
    let scenario = r#"
        [[turn]]
        tool = "edit"
        arguments = { path = "a.txt", edits = [{ oldText = "two", newText = "zwei" }] }
        [[turn]]
        tool = "bash"
        arguments = { command = "echo ran" }
        [[turn]]
        text = "It said: {{last_tool_result}}"
    "#;
    let mut terminal = start(&world, scenario);
    terminal.press("go").press(ENTER);
    let asked = terminal.shows("[d] never");
    assert!(asked.contains("  -two\n  +zwei\n"), "{asked}");
    assert!(asked.contains("[a] always edit in "), "{asked}");
    assert!(asked.contains("? edit  changes files\n"), "{asked}");
    terminal.press("y");
    terminal.shows("allowed once");
    let asked = terminal.shows("echo ran");
    assert_eq!(asked.matches("+zwei").count(), 1, "{asked}");
    terminal.shows("[a] always commands that start with `echo`");
    terminal.press("n");
    let screen = terminal.shows(READY);
    assert!(screen.contains("✗ "), "{screen}");
    let changed = std::fs::read_to_string(world.work("a.txt")).unwrap();
    assert_eq!(changed, "one\nzwei\nthree\n");
}

#[test]
fn what_runs_shows_its_last_lines_and_a_line_that_is_typed_steers_it() {
    let world = World::new();
    let scenario = r#"
        [[turn]]
        tool = "bash"
        arguments = { command = "echo begun; until [ -e go ]; do sleep 0.02; done; echo over" }
        [[turn]]
        text = "You said: {{last_user}}"
    "#;
    let words = ["--permission-mode", "all"];
    let mut terminal = conversation(&world, scenario, &words, "xterm");
    terminal.shows(READY);
    terminal.press("work").press(ENTER);
    terminal.shows("  │ begun");
    let running = terminal.shows("running bash · ");
    assert!(running.contains("› type to steer it"), "{running}");
    terminal.press("be quick").press(ENTER);
    terminal.shows("  waits: be quick");
    world.file("work/go", "");
    let screen = terminal.shows("You said: be quick");
    assert!(screen.contains("\n› be quick\n"), "{screen}");
    assert!(screen.contains("  │ over"), "{screen}");
    let done = terminal.shows(READY);
    assert!(!done.contains("waits:"), "{done}");
}

#[test]
fn ctrl_c_stops_the_run_and_twice_leaves() {
    let world = World::new();
    let scenario = "[[turn]]\ntool = \"bash\"\narguments = { command = \"sleep 600\" }\n";
    let words = ["--permission-mode", "all"];
    let mut terminal = conversation(&world, scenario, &words, "xterm");
    terminal.shows(READY);
    terminal.press("work").press(ENTER);
    terminal.shows("running bash");
    terminal.press(CTRL_C);
    terminal.shows("! stopped");
    terminal.shows(READY);
    terminal.press("typed").shows("› typed");
    terminal.press(CTRL_C).shows(READY);
    terminal.press(CTRL_C).shows("Ctrl-C again leaves");
    terminal.press(CTRL_C);
    assert_eq!(terminal.ends().0, Some(0));
}

#[test]
fn commands_are_listed_completed_and_done() {
    let world = World::new();
    let mut terminal = start(&world, ANSWER);
    terminal.press("/th");
    terminal.shows("/thinking     show or change");
    terminal.press("\t").shows("› /thinking");
    terminal.press("x\u{15}");
    terminal
        .press("/name Plants")
        .press(ENTER)
        .shows("name: Plants");
    terminal
        .press("/nmae")
        .press(ENTER)
        .shows("did you mean /name?");
    terminal
        .press("/permissions")
        .press(ENTER)
        .shows("What may run unasked?");
    terminal
        .press("accept")
        .press(ENTER)
        .shows("permission mode: accept-edits");
    terminal
        .press("/usage")
        .press(ENTER)
        .shows("model calls     0");
    terminal.press("/quit").press(ENTER);
    assert_eq!(terminal.ends().0, Some(0));
}

#[test]
fn a_session_goes_on_where_it_was_left_and_others_can_be_picked() {
    let world = World::new();
    let scenario = "[[turn]]\ntext = \"You said: {{last_user}}\"\n";
    for text in ["alpha", "beta"] {
        let mut terminal = start(&world, scenario);
        terminal.press(text).press(ENTER);
        terminal.shows(&format!("You said: {text}"));
        terminal.shows(READY);
        terminal.press(CTRL_D);
        terminal.ends();
    }
    let mut terminal = conversation(&world, scenario, &["-c"], "xterm");
    let screen = terminal.shows("You said: beta");
    assert!(screen.contains("› beta\n\nYou said: beta"), "{screen}");
    terminal
        .press("/resume")
        .press(ENTER)
        .shows("Which session?");
    let listed: serde_json::Value =
        serde_json::from_str(&world.run(&["sessions", "--json"]).ok()).unwrap();
    let alpha = listed.as_array().unwrap().iter();
    let alpha = alpha.filter(|one| one["firstMessage"] == "alpha");
    let short: Vec<&str> = alpha.filter_map(|one| one["shortId"].as_str()).collect();
    terminal.shows(&format!("alpha  {}\n", short[0]));
    terminal.press(ENTER);
    terminal.shows("You said: alpha");
    terminal
        .press("/fork")
        .press(ENTER)
        .shows("Go on before which message?");
    terminal.press(ENTER);
    terminal.shows("› alpha\nscript/");
    terminal.press("\u{1b}[A");
    terminal.shows("› /fork");
}

#[test]
fn a_plain_terminal_gets_lines_and_no_escape_sequence() {
    let world = World::new();
    let scenario = r##"
        [[turn]]
        text = "# Title\n\nSome **bold** text."
        tool = "bash"
        arguments = { command = "echo ran" }
        [[turn]]
        text = "It said: {{last_tool_result}}"
    "##;
    let mut terminal = conversation(&world, scenario, &[], "dumb");
    terminal.shows("\n>");
    terminal.press("hello").press(ENTER);
    terminal.shows("[n] no");
    terminal.press("y").press(ENTER);
    terminal.shows("It said: ran");
    terminal.press("/quit").press(ENTER);
    let written = terminal.writes("/quit");
    assert!(!written.contains('\u{1b}'), "{written:?}");
    assert!(
        written.contains("Title\r\n\r\nSome bold text."),
        "{written:?}"
    );
    assert_eq!(terminal.ends().0, Some(0));
}

#[test]
fn no_color_leaves_the_cursor_and_takes_the_colours() {
    let world = World::new();
    world.file("work/plan.toml", ANSWER);
    let mut command = world.command(&["--model", "script/plan.toml"]);
    command.env("TERM", "xterm").env("NO_COLOR", "1");
    let mut terminal = Terminal::start(command, 40, 120);
    terminal.shows(READY);
    terminal.press("hello").press(ENTER);
    terminal.shows("1 │ 2");
    let written = terminal.writes("Some bold text, and code.");
    assert!(written.contains("\r\u{1b}[J"), "{written:?}");
    assert!(!written.contains("\u{1b}[1m"), "{written:?}");
}

#[test]
fn what_others_write_cannot_drive_the_terminal() {
    let world = World::new();
    let scenario = "[[turn]]\ntext = \"before \\u001b[2J\\u001b]0;evil\\u0007 after\"\n";
    let mut terminal = start(&world, scenario);
    terminal.press("hello").press(ENTER);
    let screen = terminal.shows("after");
    assert!(
        screen.contains(r"before \u{1b}[2J\u{1b}]0;evil\u{7} after"),
        "{screen}"
    );
}

#[test]
fn one_prompt_at_a_terminal_asks_the_person_there() {
    let world = World::new();
    let scenario = r#"
        [[turn]]
        tool = "bash"
        arguments = { command = "echo ran" }
        [[turn]]
        text = "It said: {{last_tool_result}}"
    "#;
    let mut terminal = conversation(&world, scenario, &["-p", "go"], "xterm");
    terminal.shows("[n] no");
    terminal.press("what?").press(ENTER);
    terminal.press("y").press(ENTER);
    terminal.shows("It said: ran");
    assert_eq!(terminal.ends().0, Some(0));
}

/// One prompt with something piped in, in a terminal of which `setsid` makes what its words say.
#[cfg(target_os = "linux")]
fn piped_into(world: &World, setsid: &[&str]) -> Terminal {
    let scenario = r#"
        [[turn]]
        tool = "bash"
        arguments = { command = "echo ran" }
        [[turn]]
        text = "It said: {{last_tool_result}}"
    "#;
    world.file("work/plan.toml", scenario);
    let (home, work) = (world.path("home"), world.path("work"));
    let mut command = stentor_test_support::isolated_command("setsid", &home, &work);
    command.args(setsid);
    command.args(["sh", "-c", "echo piped | \"$0\" \"$@\""]);
    command.arg(env!("CARGO_BIN_EXE_stentor"));
    command.args(["--model", "script/plan.toml", "-p", "go"]);
    Terminal::start(command, 40, 80)
}

#[cfg(target_os = "linux")]
#[test]
fn one_prompt_with_something_piped_in_asks_the_person_at_the_terminal() {
    let world = World::new();
    let mut terminal = piped_into(&world, &["--ctty"]);
    terminal.shows("[n] no");
    terminal.press("y").press(ENTER);
    terminal.shows("It said: ran");
    assert_eq!(terminal.ends().0, Some(0));
}

#[cfg(target_os = "linux")]
#[test]
fn without_a_terminal_of_its_own_one_prompt_asks_nobody() {
    let world = World::new();
    let (status, screen) = piped_into(&world, &[]).ends();
    assert_eq!(status, Some(0), "{screen}");
    assert!(screen.contains("It said: ran"), "{screen}");
    assert!(!screen.contains("[n] no"), "{screen}");
}

#[test]
fn a_line_that_only_begins_like_an_answer_is_none() {
    let scenario = r#"
        [[turn]]
        tool = "bash"
        arguments = { command = "touch made" }
        [[turn]]
        text = "Very well."
    "#;
    for (words, term) in [(&["-p", "go"][..], "xterm"), (&[], "dumb")] {
        let world = World::new();
        let mut terminal = conversation(&world, scenario, words, term);
        if words.is_empty() {
            terminal.shows("\n>");
            terminal.press("go").press(ENTER);
        }
        terminal.shows("[n] no");
        for line in [
            "add a test",
            "yesterday it worked",
            "a new idea: stop",
            "No",
        ] {
            terminal.press(line).press(ENTER);
        }
        terminal.shows("Very well.");
        assert!(!world.path("work/made").exists(), "{words:?}");
    }
}

#[test]
fn a_call_that_is_refused_is_not_allowed_and_says_nothing_for_the_model() {
    let world = World::new();
    let scenario = r#"
        [[turn]]
        tool = "bash"
        arguments = { command = "echo ran" }
        [[turn]]
        text = "Very well."
    "#;
    let mut terminal = conversation(&world, scenario, &["-p", "go"], "xterm");
    terminal.shows("[n] no");
    terminal.press("n").press(ENTER);
    let (status, screen) = terminal.ends();
    assert_eq!(status, Some(0), "{screen}");
    assert!(
        screen.contains("▸ bash  echo ran  ✗ not allowed\n"),
        "{screen}"
    );
    assert!(!screen.contains("Do not repeat"), "{screen}");
}

#[test]
fn a_plain_terminal_breaks_rows_between_words() {
    let world = World::new();
    let words = ["alphabet"; 9].join(" ");
    let scenario = format!(
        "[[turn]]\ntool = \"bash\"\narguments = {{ command = \"echo {words}\" }}\n\
         [[turn]]\ntext = \"Done.\"\n"
    );
    let allowed = ["--permission-mode", "all"];
    let mut terminal = conversation(&world, &scenario, &allowed, "dumb");
    terminal.shows("\n>");
    terminal.press("/help").press(ENTER);
    terminal.shows("attaches a file or a picture");
    terminal.press("hello").press(ENTER);
    terminal.shows("Done.");
    terminal.press("/quit").press(ENTER);
    let written = terminal.writes("/quit");
    for row in written.lines() {
        assert!(row.trim_end().chars().count() <= 80, "{row}");
    }
    let all = written.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(all.contains("echo alphabet alphabet alphabet"), "{written}");
    for word in all.split(' ').filter(|word| word.starts_with("alp")) {
        assert_eq!(word, "alphabet", "{written}");
    }
    assert!(
        all.contains("or --undo go back to before a message"),
        "{written}"
    );
    assert_eq!(terminal.ends().0, Some(0));
}

#[test]
fn one_prompt_at_a_terminal_shows_that_it_waits_and_nothing_twice() {
    let world = World::new();
    let scenario = r#"
        [[turn]]
        steps = [
          { wait_for = "go" },
          { text = "I look." },
          { tool = "ls", arguments = {} },
          { tool = "find", arguments = { pattern = "*.txt" } },
        ]
        [[turn]]
        tool = "bash"
        arguments = { command = "until [ -e on ]; do sleep 0.02; done" }
        [[turn]]
        text = "Here it is."
    "#;
    let words = ["-p", "go", "--permission-mode", "all"];
    let mut terminal = conversation(&world, scenario, &words, "xterm");
    terminal.shows("working, ");
    world.file("work/go", "");
    terminal.shows(" s: bash  until [ -e on ]; do sleep 0.02; done\n");
    world.file("work/on", "");
    let (status, screen) = terminal.ends();
    assert_eq!(status, Some(0));
    for once in [
        "model: ",
        "I look.",
        "▸ ls  ✓",
        "▸ find  *.txt  ✓",
        "▸ bash  until",
        "Here it is.",
    ] {
        assert_eq!(screen.matches(once).count(), 1, "{once}: {screen}");
    }
    for none in ["working", "▸ ls\n", "▸ find  *.txt\n"] {
        assert!(!screen.contains(none), "{none}: {screen}");
    }
}

#[test]
fn a_search_shows_the_newest_line_first_and_then_the_ones_before() {
    let world = World::new();
    let mut terminal = start(&world, "[[turn]]\ntext = \"You said: {{last_user}}\"\n");
    for line in ["/name apple", "/name pear", "/name apple pie"] {
        terminal.press(line).press(ENTER);
        terminal.shows(&line.replace("/name", "name:"));
    }
    terminal.press(CTRL_R).shows("› search:");
    terminal
        .press("apple")
        .shows("› search: apple  /name apple pie\n");
    terminal
        .press(CTRL_R)
        .shows("› search: apple  /name apple\n");
    terminal.press(ENTER);
    terminal.shows("/name apple pie\nname: apple pie\n/name apple\nname: apple\n");
}

#[test]
fn a_window_that_gets_narrower_wraps_what_is_typed_and_what_comes() {
    let world = World::new();
    let mut terminal = start(&world, "[[turn]]\ntext = \"You said: {{last_user}}\"\n");
    let said = "one two three four five six seven eight";
    terminal.press(said).shows(&format!("› {said}\n"));
    terminal.resize(40, 30);
    terminal.shows("› one two three four five six\n   seven eight\n");
    terminal.press(ENTER);
    terminal.shows("You said: one two three four\nfive six seven eight\n");
    terminal.resize(40, 100).press("wide").shows("› wide\n");
}

#[test]
fn closing_the_window_is_leaving() {
    let world = World::new();
    let mut terminal = start(&world, "[[turn]]\ntext = \"You said: {{last_user}}\"\n");
    terminal.press("hello").press(ENTER);
    terminal.shows("You said: hello");
    terminal.shows(READY);
    assert_eq!(terminal.close(), Some(0));
    let listed = world.run(&["sessions"]).ok();
    assert!(listed.contains("2 messages"), "{listed}");
}

#[test]
fn a_folder_that_is_not_trusted_is_asked_about_once_before_the_conversation() {
    let world = World::new();
    world.file("work/.stentor/config.toml", "auto_compaction = false\n");
    let mut terminal = conversation(&world, ANSWER, &[], "xterm-256color");
    terminal.shows("Trust this folder? [y/N]");
    terminal.press("n\n");
    terminal.shows(READY);
    terminal.press("hello there").press(ENTER);
    terminal.shows("1 │ 2");
    let screen = terminal.shows(READY);
    assert_eq!(screen.matches("is not trusted").count(), 1, "{screen}");
    assert!(!screen.contains("stentor trust"), "{screen}");
    terminal.press(CTRL_D);
}
