//! The model asks, and presents plans, at the terminal.

use crate::terminal::{CTRL_D, ENTER, READY, conversation, start};
use crate::world::World;

const DOWN: &str = "\u{1b}[B";
const ESCAPE: &str = "\u{1b}";

const ASKS: &str = r##"
[[turn]]
tool = "ask"
[[turn.arguments.questions]]
question = "Which database?"
options = [{ label = "SQLite", description = "one file" }, { label = "Postgres" }]
[[turn.arguments.questions]]
question = "Which parts?"
multi = true
options = [{ label = "Docs" }, { label = "Tests" }, { label = "Code" }]
[[turn]]
text = "{{last_tool_result}}"
"##;

#[test]
fn questions_of_the_model_are_lists_of_which_one_or_several_are_chosen() {
    let world = World::new();
    let mut terminal = start(&world, ASKS);
    terminal.press("go").press(ENTER);
    terminal.shows("The agent asks (1 of 2): Which database?");
    terminal.shows("› SQLite  one file");
    terminal.press(DOWN);
    terminal.shows("› Postgres");
    terminal.press(ENTER);
    terminal.shows("The agent asks (2 of 2): Which parts?");
    terminal.shows("› [ ] Docs");
    terminal.press(" ");
    terminal.shows("› [x] Docs");
    terminal.press(DOWN).press(DOWN);
    terminal.shows("› [ ] Code");
    terminal.press(" ");
    terminal.shows("› [x] Code");
    terminal.press(ENTER);
    terminal.shows("Answer: Docs, Code");
    let screen = terminal.shows(READY);
    assert!(screen.contains("Answer: Postgres"), "{screen}");
    terminal.press(CTRL_D);
    assert_eq!(terminal.ends().0, Some(0));
}

#[test]
fn one_prompt_at_a_terminal_is_asked_by_numbers_and_in_own_words() {
    let world = World::new();
    let mut terminal = conversation(&world, ASKS, &["-p", "go"], "xterm");
    terminal.shows("Choose (a number, or nothing)");
    terminal.press("3").press(ENTER);
    terminal.shows("Enter answers");
    terminal.press("DuckDB").press(ENTER);
    terminal.shows("Choose (numbers with commas, your own words, or nothing)");
    terminal.press("1, 2").press(ENTER);
    terminal.shows("Answer: Docs, Tests");
    let (status, screen) = terminal.ends();
    assert_eq!(status, Some(0));
    assert!(
        screen.contains("Answer: in the user's own words: DuckDB"),
        "{screen}"
    );
}

const PLANS: &str = r##"
on_exhausted = "repeat-last"
[[turn]]
steps = [{ tool = "exit_plan_mode", arguments = { plan = "# The plan\n\n- write **late.txt**" } }]
[[turn]]
when = { last_tool_result_contains = "says: Smaller steps" }
steps = [{ tool = "exit_plan_mode", arguments = { plan = "Another plan" } }]
[[turn]]
steps = [{ tool = "write", arguments = { path = "late.txt", content = "x" } }]
[[turn]]
text = "All done."
"##;

#[test]
fn a_plan_is_shown_refused_with_words_and_accepted() {
    let world = World::new();
    let mut terminal = start(&world, PLANS);
    terminal.press("/plan").press(ENTER);
    terminal.shows("permission mode: plan");
    terminal.press("go").press(ENTER);
    let screen = terminal.shows("› Yes, and ask before each change");
    assert!(
        screen.contains("The plan\n\n• write late.txt\n\n? Accept this plan?"),
        "{screen}"
    );
    terminal.press("keep");
    terminal.shows("› No, keep planning");
    terminal.press(ENTER);
    terminal.shows("What should be different?");
    terminal.press("Smaller steps").press(ENTER);
    terminal.shows("Another plan");
    terminal.shows("› Yes, and ask before each change");
    terminal.press("change files");
    terminal.shows("› Yes, and change files without asking");
    terminal.press(ENTER);
    terminal.shows("permission mode: accept-edits");
    terminal.shows("All done.");
    terminal.shows(READY);
    assert!(world.work("late.txt").exists());
    terminal.press(CTRL_D);
    assert_eq!(terminal.ends().0, Some(0));
}

#[test]
fn a_line_that_is_being_typed_does_not_accept_a_plan() {
    let world = World::new();
    let flag = world.work("flag");
    let scenario = format!(
        r##"
on_exhausted = "repeat-last"
[[turn]]
when = {{ last_user_contains = "no, wait" }}
text = "It waits."
[[turn]]
steps = [
  {{ wait_for = {flag:?} }},
  {{ tool = "exit_plan_mode", arguments = {{ plan = "The plan" }} }},
]
[[turn]]
when = {{ last_tool_result_contains = "has accepted" }}
steps = [{{ tool = "write", arguments = {{ path = "late.txt", content = "x" }} }}]
[[turn]]
text = "Over."
"##
    );
    let mut terminal = start(&world, &scenario);
    terminal.press("/plan").press(ENTER);
    terminal.shows("permission mode: plan");
    terminal.press("go").press(ENTER);
    terminal.press("no, wait");
    terminal.shows("› no, wait");
    std::fs::write(&flag, "").unwrap();
    let screen = terminal.shows("send or empty the line below to answer");
    assert!(screen.contains("? Accept this plan?"), "{screen}");
    terminal.press(ENTER).press(ESCAPE);
    terminal.shows("It waits.");
    terminal.shows(READY);
    assert!(!world.work("late.txt").exists());
    terminal.press(CTRL_D);
    assert_eq!(terminal.ends().0, Some(0));
}

#[test]
fn what_a_choice_means_is_shown_whole_when_it_is_marked() {
    let about = format!("{}and that is the end of it", "many words ".repeat(30));
    let scenario = format!(
        "[[turn]]\ntool = \"ask\"\n[[turn.arguments.questions]]\nquestion = \"Which?\"\n\
         options = [{{ label = \"One\" }}, {{ label = \"Two\", description = {about:?} }}]\n\
         [[turn]]\ntext = \"Done.\"\n"
    );
    let world = World::new();
    let mut terminal = start(&world, &scenario);
    terminal.press("go").press(ENTER);
    terminal.shows("› One");
    terminal.press(DOWN);
    terminal.shows("the end of it");
    terminal.press(ENTER);
    terminal.shows("Done.");
    terminal.shows(READY);
    terminal.press(CTRL_D);
    assert_eq!(terminal.ends().0, Some(0));
}
