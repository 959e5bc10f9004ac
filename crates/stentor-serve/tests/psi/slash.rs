//! Section 13: slash commands.

use expect_test::expect;

use super::client::{Client, outline};
use super::world::{OK, World};

fn result(client: &mut Client, text: &str) -> String {
    let frames = client.request("c", "command", &format!("{{:text {text:?}}}"));
    let shown: Vec<&String> = frames
        .iter()
        .filter(|frame| {
            !frame.contains("session/updated")
                && !frame.contains("footer/updated")
                && !frame.contains(":kind :response")
        })
        .collect();
    let ok = frames.last().unwrap();
    assert!(ok.contains(":accepted true :handled true"), "{ok}");
    shown
        .into_iter()
        .map(|frame| format!("    {frame}\n"))
        .collect()
}

#[test]
fn each_built_in_command_has_its_result() {
    let world = World::new(&[OK]);
    world.file(
        ".stentor/prompts/greet.md",
        "---\ndescription: Greets\n---\nSay hello to $1.",
    );
    world.file(
        ".stentor/skills/pdf/SKILL.md",
        "---\nname: pdf\ndescription: PDFs\n---\nUse it.",
    );
    let mut client = Client::ready(world);
    client.run("hello there");
    let mut seen = String::new();
    for text in [
        "/quit",
        "/exit",
        "/status",
        "/history",
        "/?",
        "/prompts",
        "/skills",
        "/worktree",
        "/tree nope",
        "/tree a b",
        "/tree name x",
        "/model script m-1",
        "/model script nope",
        "/model a b c d",
        "/thinking off",
        "/thinking loud",
        "/jobs",
        "/jobs strange",
        "/job",
        "/job nope",
        "/cancel-job nope",
        "/remember tests run with just",
        "/login",
        "/logout",
        "/reload-models",
        "/reload-prompts",
        "/reload-extension-installs",
        "/project-repl",
        "/nope  at all",
        "no slash",
    ] {
        seen.push_str(&format!("{text}\n{}", result(&mut client, text)));
    }
    expect![[r#"
        /quit
            {:kind :event :event "command-result" :data {:type "quit"} :id "c" :seq N :ts "TIME"}
        /exit
            {:kind :event :event "command-result" :data {:type "quit"} :id "c" :seq N :ts "TIME"}
        /status
            {:kind :event :event "command-result" :data {:type "text" :message "Phase: idle\nSession: S1\nModel: script/m-1\nEntries: 4\nContext: ?\nWorktree: ROOT/home/work"} :id "c" :seq N :ts "TIME"}
        /history
            {:kind :event :event "command-result" :data {:type "text" :message "Message history (2 messages)\nuser: hello there\nassistant: ok"} :id "c" :seq N :ts "TIME"}
        /?
            {:kind :event :event "command-result" :data {:type "text" :message "Commands:\n  /help — Show the commands there are\n  /new — Start a new session\n  /resume — Choose a stored session, or load the one in a file\n  /tree — Choose a live session or a place to fork; /tree ID switches, /tree name ID NAME renames\n  /model — Choose a model; /model PROVIDER ID sets it\n  /thinking — Choose a thinking level; /thinking LEVEL sets it\n  /status — Show how the session is\n  /history — Show the message history\n  /prompts — List the prompt templates\n  /skills — List the skills\n  /worktree — Show the working folder and its repository\n  /jobs — List background jobs; /jobs STATUS… lists others than running ones\n  /job — Show a background job\n  /cancel-job — Stop a background job\n  /remember — Keep a note across sessions\n  /login — Log in at a provider\n  /logout — Log out\n  /reload-models — Look for models again\n  /reload-prompts — Read the prompt templates and skills again\n  /reload-extension-installs — Look for extensions again\n  /project-repl — Talk to the project's REPL\n  /quit — Leave\n  /exit — Leave\n\nPrompt templates:\n  /greet — Greets\n\nSkills:\n  /skill:pdf — PDFs"} :id "c" :seq N :ts "TIME"}
        /prompts
            {:kind :event :event "command-result" :data {:type "text" :message "Prompt templates:\n  /greet — Greets"} :id "c" :seq N :ts "TIME"}
        /skills
            {:kind :event :event "command-result" :data {:type "text" :message "Skills:\n  /skill:pdf — PDFs"} :id "c" :seq N :ts "TIME"}
        /worktree
            {:kind :event :event "command-result" :data {:type "text" :message "Worktree: ROOT/home/work"} :id "c" :seq N :ts "TIME"}
        /tree nope
            {:kind :event :event "command-result" :data {:type "text" :message "Session not found in context: nope"} :id "c" :seq N :ts "TIME"}
        /tree a b
            {:kind :event :event "command-result" :data {:type "text" :message "Usage: /tree [ID] or /tree name ID NAME"} :id "c" :seq N :ts "TIME"}
        /tree name x
            {:kind :event :event "command-result" :data {:type "text" :message "Usage: /tree [ID] or /tree name ID NAME"} :id "c" :seq N :ts "TIME"}
        /model script m-1
            {:kind :event :event "command-result" :data {:type "text" :message "✓ Model set to script m-1"} :id "c" :seq N :ts "TIME"}
        /model script nope
            {:kind :event :event "command-result" :data {:type "text" :message "Model not found: script/nope"} :id "c" :seq N :ts "TIME"}
        /model a b c d
            {:kind :event :event "command-result" :data {:type "text" :message "Usage: /model PROVIDER ID"} :id "c" :seq N :ts "TIME"}
        /thinking off
            {:kind :event :event "command-result" :data {:type "text" :message "✓ Thinking level set to off"} :id "c" :seq N :ts "TIME"}
        /thinking loud
            {:kind :event :event "command-result" :data {:type "text" :message "Unknown thinking level: loud. The levels are off, minimal, low, medium, high, xhigh."} :id "c" :seq N :ts "TIME"}
        /jobs
            {:kind :event :event "command-result" :data {:type "text" :message "No background jobs."} :id "c" :seq N :ts "TIME"}
        /jobs strange
            {:kind :event :event "command-result" :data {:type "text" :message "Usage: /jobs [running|pending-cancel|completed|failed|cancelled|timed-out]…"} :id "c" :seq N :ts "TIME"}
        /job
            {:kind :event :event "command-result" :data {:type "text" :message "Usage: /job ID"} :id "c" :seq N :ts "TIME"}
        /job nope
            {:kind :event :event "command-result" :data {:type "text" :message "There is no job nope."} :id "c" :seq N :ts "TIME"}
        /cancel-job nope
            {:kind :event :event "command-result" :data {:type "text" :message "There is no job nope."} :id "c" :seq N :ts "TIME"}
        /remember tests run with just
            {:kind :event :event "command-result" :data {:type "text" :message "✓ Remembered as E1."} :id "c" :seq N :ts "TIME"}
        /login
            {:kind :event :event "command-result" :data {:type "login-error" :message "logging in is not available here; configure a key instead"} :id "c" :seq N :ts "TIME"}
        /logout
            {:kind :event :event "command-result" :data {:type "text" :message "Nobody is logged in."} :id "c" :seq N :ts "TIME"}
        /reload-models
            {:kind :event :event "command-result" :data {:type "text" :message "✓ Models reloaded: 1 available."} :id "c" :seq N :ts "TIME"}
        /reload-prompts
            {:kind :event :event "command-result" :data {:type "text" :message "✓ Prompts reloaded: 1 templates, 1 skills."} :id "c" :seq N :ts "TIME"}
        /reload-extension-installs
            {:kind :event :event "command-result" :data {:type "text" :message "✓ Extensions: 0 commands."} :id "c" :seq N :ts "TIME"}
        /project-repl
            {:kind :event :event "command-result" :data {:type "text" :message "There is no project REPL here."} :id "c" :seq N :ts "TIME"}
        /nope  at all
            {:kind :event :event "command-result" :data {:type "text" :message "[not a command] /nope  at all"} :id "c" :seq N :ts "TIME"}
        no slash
            {:kind :event :event "command-result" :data {:type "text" :message "[not a command] no slash"} :id "c" :seq N :ts "TIME"}
    "#]].assert_eq(&seen);
}

#[test]
fn section_9_4_events_snapshots_answer_and_new_moves_the_focus() {
    let mut client = Client::ready(World::new(&[OK]));
    let seen = client.request("c", "command", r#"{:text "/new"}"#);
    assert_eq!(
        outline(&seen),
        [
            "session/resumed",
            "session/rehydrated",
            "session/updated",
            "footer/updated",
            "context/updated",
            "command-result",
            "session/updated",
            "footer/updated",
            "response",
        ]
    );
    assert!(seen[5].contains(r#"{:type "new_session" :message "[New session started]"}"#));
    assert!(seen[6].contains(":session-id \"S2\""));
    let first = client.session(1);
    let seen = client.request(
        "t",
        "command",
        &format!("{{:text \"/tree {}\"}}", &first[..8]),
    );
    assert!(
        seen[0].contains("session/resumed") && seen[0].contains("S1"),
        "{seen:?}"
    );
    let again = result(&mut client, &format!("/tree {first}"));
    assert!(again.contains("Already active session: S1"), "{again}");
    let named = result(&mut client, &format!("/tree name {} my name", &first[..8]));
    assert!(
        named.contains(r#"Renamed session S1 to \"my name\""#),
        "{named}"
    );
}

#[test]
fn a_command_needs_a_text() {
    let mut client = Client::ready(World::new(&[OK]));
    for params in ["{}", "{:text 3}", r#"{:text "  "}"#] {
        let answer = client.answer("command", params);
        assert!(answer.contains("request/invalid-params"), "{answer}");
    }
}

#[test]
fn templates_and_skills_run_as_prompts_and_answer_at_the_end() {
    let script = r#"
[[turn]]
steps = [ { text = "heard: {{last_user}}" } ]
[[turn]]
steps = [ { text = "heard: {{last_user}}" } ]
"#;
    let world = World::new(&[script]);
    world.file(".stentor/prompts/greet.md", "Say hello to $1.");
    world.file(".stentor/skills/pdf/SKILL.md", "Use it.");
    let mut client = Client::ready(world);
    let seen = client.request("c", "command", r#"{:text "/greet Ann"}"#);
    let message = seen
        .iter()
        .find(|frame| frame.contains("assistant/message"))
        .unwrap();
    assert!(message.contains("heard: Say hello to Ann."), "{message}");
    assert!(message.contains(":id \"c\""), "{message}");
    assert_eq!(
        seen.last().unwrap(),
        r#"{:id "c" :kind :response :op "command" :ok true :data {:accepted true :handled true :fallback :template}}"#
    );
    assert!(!seen.iter().any(|frame| frame.contains("command-result")));
    let seen = client.request("d", "prompt", r#"{:message "/skill:pdf now"}"#);
    assert_eq!(seen.len(), 1);
    let run = client.until_idle();
    let message = run
        .iter()
        .find(|frame| frame.contains("assistant/message"))
        .unwrap();
    assert!(message.contains("Use it."), "{message}");
}

#[test]
fn over_prompt_a_command_is_answered_in_the_transcript() {
    let mut client = Client::ready(World::new(&[OK]));
    for (text, expected) in [
        ("/quit", "not supported over RPC prompt"),
        ("/resume", "not supported over RPC prompt"),
        ("/tree", "terminals only"),
        ("/history", "Message history"),
        ("/model", "Usage: /model"),
    ] {
        let seen = client.request("p", "prompt", &format!("{{:message {text:?}}}"));
        assert_eq!(outline(&seen), ["response"]);
        let seen = client.until(&["footer/updated"]);
        assert_eq!(
            outline(&seen),
            ["assistant/message", "session/updated", "footer/updated"]
        );
        assert!(seen[0].contains(expected), "{}", seen[0]);
    }
    // An unknown slash word is for the model.
    let seen = client.run("/nope");
    assert!(seen.iter().any(|frame| frame.contains("\"ok\"")));
}
