//! Section 13: slash commands.

use expect_test::expect;

use super::client::Client;
use super::world::{OK, World};

const LOCKED: &str = "[model]\nid = \"locked\"\n";

/// A command, and everything up to its answer below it.
pub fn commands(client: &mut Client, texts: &[&str]) -> String {
    let mut seen = String::new();
    for text in texts {
        seen.push_str(&format!("{text}\n"));
        for frame in client.request("c", "command", &format!("{{:text {text:?}}}")) {
            seen.push_str(&format!("    {frame}\n"));
        }
    }
    seen
}

#[test]
fn section_13_2_each_built_in_command_has_its_result() {
    let world = World::new(&[OK, LOCKED]);
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
    let texts = [
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
        "/model script m-1 project",
        "/model script m-1 galaxy",
        "/model script locked",
        "/thinking off",
        "/thinking loud",
        "/jobs",
        "/jobs completed failed",
        "/jobs strange",
        "/job",
        "/job nope",
        "/cancel-job",
        "/cancel-job nope",
        "/remember tests run with just",
        "/reload-models",
        "/effort off",
        "/effort loud",
        "/reload-prompts",
        "/reload-extension-installs",
        "/project-repl",
        "/nope  at all",
        "no slash",
    ];
    let seen = commands(&mut client, &texts);
    expect![[r#"
        /quit
            {:kind :event :event "command-result" :data {:type "quit"} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "session/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:id "c" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
        /exit
            {:kind :event :event "command-result" :data {:type "quit"} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "session/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:id "c" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
        /status
            {:kind :event :event "command-result" :data {:type "text" :message "Phase: idle\nSession: S1\nModel: script/m-1\nEntries: 4\nContext: ?\nWorktree: ROOT/home/work"} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "session/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:id "c" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
        /history
            {:kind :event :event "command-result" :data {:type "text" :message "Message history (2 messages)\nuser: hello there\nassistant: ok"} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "session/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:id "c" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
        /?
            {:kind :event :event "command-result" :data {:type "text" :message "Commands:\n  /help — Show the commands there are\n  /new — Start a new session\n  /resume — Choose a stored session, or load the one in a file\n  /tree — Choose a live session or a place to fork; /tree ID switches, /tree name ID NAME renames\n  /rewind — Go back to the point before a message: files, conversation or both\n  /plan — Plan first: only read until you have accepted a plan\n  /model — Choose a model; /model PROVIDER ID sets it, with project or user for later sessions, too\n  /thinking — Choose a thinking level; /thinking LEVEL sets it\n  /effort — The same as /thinking\n  /status — Show how the session is\n  /history — Show the message history\n  /prompts — List the prompt templates\n  /skills — List the skills\n  /worktree — Show the working folder and its repository\n  /delegate — Give a task to an agent: /delegate AGENT TASK; alone it lists the agents\n  /jobs — List background jobs; /jobs STATUS… lists others than running ones\n  /job — Show a background job\n  /cancel-job — Stop a background job\n  /remember — Keep a note across sessions\n  /login — Log in at a provider\n  /logout — Log out\n  /reload-models — Look for models again\n  /reload-prompts — Read the prompt templates and skills again\n  /reload-extension-installs — Show the extensions' commands, and how to look for extensions again\n  /project-repl — Talk to the project's REPL\n  /quit — Leave\n  /exit — Leave\n\nPrompt templates:\n  /greet — Greets\n\nSkills:\n  /skill:pdf — PDFs"} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "session/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:id "c" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
        /prompts
            {:kind :event :event "command-result" :data {:type "text" :message "Prompt templates:\n  /greet — Greets"} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "session/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:id "c" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
        /skills
            {:kind :event :event "command-result" :data {:type "text" :message "Skills:\n  /skill:pdf — PDFs"} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "session/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:id "c" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
        /worktree
            {:kind :event :event "command-result" :data {:type "text" :message "Worktree: ROOT/home/work"} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "session/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:id "c" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
        /tree nope
            {:kind :event :event "command-result" :data {:type "text" :message "Session not found in context: nope"} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "session/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:id "c" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
        /tree a b
            {:kind :event :event "command-result" :data {:type "text" :message "Usage: /tree [ID] or /tree name ID NAME"} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "session/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:id "c" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
        /tree name x
            {:kind :event :event "command-result" :data {:type "text" :message "Usage: /tree [ID] or /tree name ID NAME"} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "session/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:id "c" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
        /model script m-1
            {:kind :event :event "command-result" :data {:type "text" :message "✓ Model set to script m-1"} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "session/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:id "c" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
        /model script nope
            {:kind :event :event "command-result" :data {:type "text" :message "Model not found: script/nope"} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "session/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:id "c" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
        /model a b c d
            {:kind :event :event "command-result" :data {:type "text" :message "Usage: /model PROVIDER ID [session|project|user]"} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "session/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:id "c" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
        /model script m-1 project
            {:kind :event :event "command-result" :data {:type "text" :message "The model stays as it was: a model can be set for the session only: no file is configured"} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "session/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:id "c" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
        /model script m-1 galaxy
            {:kind :event :event "command-result" :data {:type "text" :message "Usage: /model PROVIDER ID [session|project|user]"} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "session/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:id "c" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
        /model script locked
            {:kind :event :event "command-result" :data {:type "unsupported_model" :message "no key for script/locked" :provider "script" :model-id "locked"} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "session/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:id "c" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
        /thinking off
            {:kind :event :event "command-result" :data {:type "text" :message "✓ Thinking level set to off"} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "session/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:id "c" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
        /thinking loud
            {:kind :event :event "command-result" :data {:type "text" :message "Unknown thinking level: loud. The levels are off, minimal, low, medium, high, xhigh."} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "session/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:id "c" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
        /jobs
            {:kind :event :event "command-result" :data {:type "text" :message "No background jobs."} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "session/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:id "c" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
        /jobs completed failed
            {:kind :event :event "command-result" :data {:type "text" :message "No background jobs."} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "session/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:id "c" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
        /jobs strange
            {:kind :event :event "command-result" :data {:type "text" :message "Usage: /jobs [running|pending-cancel|completed|failed|cancelled|timed-out]…"} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "session/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:id "c" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
        /job
            {:kind :event :event "command-result" :data {:type "text" :message "Usage: /job ID"} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "session/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:id "c" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
        /job nope
            {:kind :event :event "command-result" :data {:type "text" :message "There is no job nope."} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "session/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:id "c" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
        /cancel-job
            {:kind :event :event "command-result" :data {:type "text" :message "Usage: /cancel-job ID"} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "session/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:id "c" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
        /cancel-job nope
            {:kind :event :event "command-result" :data {:type "text" :message "There is no job nope."} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "session/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:id "c" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
        /remember tests run with just
            {:kind :event :event "command-result" :data {:type "text" :message "✓ Remembered as E1."} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "session/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:id "c" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
        /reload-models
            {:kind :event :event "command-result" :data {:type "text" :message "✓ Models reloaded: 2 available."} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "session/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:id "c" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
        /effort off
            {:kind :event :event "command-result" :data {:type "text" :message "✓ Thinking level set to off"} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "session/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:id "c" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
        /effort loud
            {:kind :event :event "command-result" :data {:type "text" :message "Unknown thinking level: loud. The levels are off, minimal, low, medium, high, xhigh."} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "session/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:id "c" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
        /reload-prompts
            {:kind :event :event "command-result" :data {:type "text" :message "✓ Prompts reloaded: 1 templates, 1 skills."} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "session/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:id "c" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
        /reload-extension-installs
            {:kind :event :event "command-result" :data {:type "text" :message "Extensions are loaded when a session starts: /new starts one with the extensions that are installed now."} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "session/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:id "c" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
        /project-repl
            {:kind :event :event "command-result" :data {:type "text" :message "There is no project REPL here."} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "session/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:id "c" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
        /nope  at all
            {:kind :event :event "command-result" :data {:type "text" :message "[not a command] /nope  at all"} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "session/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:id "c" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
        no slash
            {:kind :event :event "command-result" :data {:type "text" :message "[not a command] no slash"} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "session/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:id "c" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
    "#]].assert_eq(&seen);
}

#[test]
fn section_9_4_events_snapshots_answer_and_new_moves_the_focus() {
    let mut client = Client::ready(World::new(&[OK]));
    client.run("first");
    let mut seen = commands(&mut client, &["/new"]);
    let first = client.session(1);
    let short = first[..8].to_owned();
    for text in [
        format!("/tree {short}"),
        format!("/tree {first}"),
        format!("/tree name {short} my  name"),
        // The ids of both begin with it.
        "/tree a".to_owned(),
    ] {
        let shown = text.replace(&first, "S1").replace(&short, "S1-short");
        let frames = commands(&mut client, &[&text]);
        seen.push_str(&frames.replacen(&text, &shown, 1));
    }
    expect![[r#"
        /new
            {:kind :event :event "session/resumed" :data {:session-id "S2" :session-file "FILE" :message-count 0} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "session/rehydrated" :data {:session-id "S2" :messages [] :tool-calls {} :tool-order []} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "session/updated" :data {… :session-id "S2" :session-display-name nil :status-session-line "session: S2 phase:idle streaming:no compacting:no pending:0 retry:0"} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {… :session-id "S2" :path-line "~/work" :session-activity-line "sessions: waiting first, S2-short" :session-activity-buckets [{:state "waiting" :labels ["first" "S2-short"]}]} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "context/updated" :data {:active-session-id "S2" :sessions [{:id "S2" :item-kind "session" :name nil :display-name nil :worktree-path "ROOT/home/work" :runtime-state "waiting" :is-streaming false :is-active true :parent-session-id nil :created-at "TIME" :updated-at nil} {:id "S1" :item-kind "session" :name nil :display-name "first" :worktree-path "ROOT/home/work" :runtime-state "waiting" :is-streaming false :is-active false :parent-session-id nil :created-at "TIME" :updated-at "TIME"}] :session-tree-widget {:placement "left" :extension-id "psi-session" :widget-id "session-tree" :content-lines [{:text "(session S2-short) [S2-short] — HH:MM — ROOT/home/work ← current [waiting]" :runtime-state "waiting" :is-current true} {:text "first [S1-short] — HH:MM / HH:MM — ROOT/home/work [waiting]" :runtime-state "waiting" :is-current false :action {:type "command" :command "/tree S1"}}]}} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "command-result" :data {:type "new_session" :message "[New session started]"} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "session/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:id "c" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
        /tree S1-short
            {:kind :event :event "session/resumed" :data {:session-id "S1" :session-file "FILE" :message-count 2} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "session/rehydrated" :data {:session-id "S1" :messages [{:role "user" :content [{:type :text :text "first"}] :timestamp "TIME"} {:role "assistant" :content [{:type :text :text "ok"}] :stop-reason :stop :timestamp "TIME"}] :tool-calls {} :tool-order []} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "session/updated" :data {… :session-id "S1" :session-display-name "first" :status-session-line "session: S1 phase:idle streaming:no compacting:no pending:0 retry:0"} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {… :session-id "S1" :path-line "~/work • first"} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "context/updated" :data {:active-session-id "S1" :sessions [{:id "S2" :item-kind "session" :name nil :display-name nil :worktree-path "ROOT/home/work" :runtime-state "waiting" :is-streaming false :is-active false :parent-session-id nil :created-at "TIME" :updated-at nil} {:id "S1" :item-kind "session" :name nil :display-name "first" :worktree-path "ROOT/home/work" :runtime-state "waiting" :is-streaming false :is-active true :parent-session-id nil :created-at "TIME" :updated-at "TIME"}] :session-tree-widget {:placement "left" :extension-id "psi-session" :widget-id "session-tree" :content-lines [{:text "(session S2-short) [S2-short] — HH:MM — ROOT/home/work [waiting]" :runtime-state "waiting" :is-current false :action {:type "command" :command "/tree S2"}} {:text "first [S1-short] — HH:MM / HH:MM — ROOT/home/work ← current [waiting]" :runtime-state "waiting" :is-current true}]}} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "session/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:id "c" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
        /tree S1
            {:kind :event :event "command-result" :data {:type "text" :message "Already active session: S1"} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "session/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:id "c" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
        /tree name S1-short my  name
            {:kind :event :event "session/updated" :data {… :session-name "my name" :session-display-name "my name"} :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {… :path-line "~/work • my name" :session-activity-line "sessions: waiting my name, S2-short" :session-activity-buckets [{:state "waiting" :labels ["my name" "S2-short"]}]} :seq N :ts "TIME"}
            {:kind :event :event "context/updated" :data {:active-session-id "S1" :sessions [{:id "S2" :item-kind "session" :name nil :display-name nil :worktree-path "ROOT/home/work" :runtime-state "waiting" :is-streaming false :is-active false :parent-session-id nil :created-at "TIME" :updated-at nil} {:id "S1" :item-kind "session" :name "my name" :display-name "my name" :worktree-path "ROOT/home/work" :runtime-state "waiting" :is-streaming false :is-active true :parent-session-id nil :created-at "TIME" :updated-at "TIME"}] :session-tree-widget {:placement "left" :extension-id "psi-session" :widget-id "session-tree" :content-lines [{:text "(session S2-short) [S2-short] — HH:MM — ROOT/home/work [waiting]" :runtime-state "waiting" :is-current false :action {:type "command" :command "/tree S2"}} {:text "my name [S1-short] — HH:MM / HH:MM — ROOT/home/work ← current [waiting]" :runtime-state "waiting" :is-current true}]}} :seq N :ts "TIME"}
            {:kind :event :event "command-result" :data {:type "text" :message "Renamed session S1 to \"my name\""} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "session/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:id "c" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
        /tree a
            {:kind :event :event "command-result" :data {:type "text" :message "Session not found in context: a"} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "session/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:id "c" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
    "#]].assert_eq(&seen);
}

#[test]
fn section_13_2_resume_with_a_path_loads_it_and_without_a_file_says_so() {
    let mut client = Client::ready(World::new(&[OK]));
    client.run("first");
    let state = client.raw_answer("get_state", "{}");
    let at = state.find(":session-file \"").unwrap() + ":session-file \"".len();
    let file = state[at..].split('"').next().unwrap().to_owned();
    client.request("n", "new_session", "{}");
    client.until(&["ui/status-updated"]);
    let text = format!("/resume {file}");
    let mut seen = commands(&mut client, &[&text]).replacen(&text, "/resume FILE", 1);
    seen.push_str(&commands(&mut client, &["/resume no/such.jsonl"]));
    expect![[r#"
        /resume FILE
            {:kind :event :event "session/resumed" :data {:session-id "S1" :session-file "FILE" :message-count 2} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "session/rehydrated" :data {:session-id "S1" :messages [{:role "user" :content [{:type :text :text "first"}] :timestamp "TIME"} {:role "assistant" :content [{:type :text :text "ok"}] :stop-reason :stop :timestamp "TIME"}] :tool-calls {} :tool-order []} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "session/updated" :data {… :session-id "S1" :session-display-name "first" :status-session-line "session: S1 phase:idle streaming:no compacting:no pending:0 retry:0"} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {… :session-id "S1" :path-line "~/work • first"} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "context/updated" :data {:active-session-id "S1" :sessions [{:id "S2" :item-kind "session" :name nil :display-name nil :worktree-path "ROOT/home/work" :runtime-state "waiting" :is-streaming false :is-active false :parent-session-id nil :created-at "TIME" :updated-at nil} {:id "S1" :item-kind "session" :name nil :display-name "first" :worktree-path "ROOT/home/work" :runtime-state "waiting" :is-streaming false :is-active true :parent-session-id nil :created-at "TIME" :updated-at "TIME"}] :session-tree-widget {:placement "left" :extension-id "psi-session" :widget-id "session-tree" :content-lines [{:text "(session S2-short) [S2-short] — HH:MM — ROOT/home/work [waiting]" :runtime-state "waiting" :is-current false :action {:type "command" :command "/tree S2"}} {:text "first [S1-short] — HH:MM / HH:MM — ROOT/home/work ← current [waiting]" :runtime-state "waiting" :is-current true}]}} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "session/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:id "c" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
        /resume no/such.jsonl
            {:kind :event :event "command-result" :data {:type "text" :message "there is no session file ROOT/home/work/no/such.jsonl"} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "session/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:id "c" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
    "#]].assert_eq(&seen);
}

#[test]
fn section_9_4_a_command_needs_a_text() {
    let mut client = Client::ready(World::new(&[OK]));
    let seen = client.table(&[
        ("command", "{}"),
        ("command", "{:text 3}"),
        ("command", r#"{:text "  "}"#),
    ]);
    expect![[r#"
        command {}
            {:kind :error :error-code "request/invalid-params" :error-message ":text is missing" :id "x" :op "command"}
        command {:text 3}
            {:kind :error :error-code "request/invalid-params" :error-message ":text must be a string, found an integer" :id "x" :op "command"}
        command {:text "  "}
            {:kind :error :error-code "request/invalid-params" :error-message ":text must not be blank" :id "x" :op "command"}
    "#]].assert_eq(&seen);
}

#[test]
fn section_9_4_a_command_during_a_run_says_that_it_streams() {
    let script = r#"
[[turn]]
steps = [ { tool = "bash", id = "t1", arguments = { command = "read x < gate" } } ]
"#;
    let mut client = Client::ready(World::new(&[script])).with_gate();
    client.request("p", "prompt", r#"{:message "go"}"#);
    client.until(&["tool/executing"]);
    client.shows_whole_snapshots = true;
    let seen = commands(&mut client, &["/nope", "/thinking low"]);
    expect![[r#"
        /nope
            {:kind :event :event "command-result" :data {:type "text" :message "[not a command] /nope"} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "session/updated" :data {:session-id "S1" :session-file "FILE" :session-name nil :session-display-name "go" :phase "streaming" :is-streaming true :is-compacting false :pending-message-count 0 :retry-attempt 0 :retry nil :retry-deadline-ms nil :interrupt-pending false :model-provider "script" :model-id "script-0" :model-reasoning true :thinking-level "medium" :effective-reasoning-effort "medium" :header-model-label "(script) script-0 • thinking medium" :status-session-line "session: S1 phase:streaming streaming:yes compacting:no pending:0 retry:0" :extension-command-names [] :prompt-templates [] :builtin-command-specs [BUILTINS]} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {:session-id "S1" :path-line "~/work • go" :stats-line STATS :status-line nil :usage-parts STATS :model-text "(script) script-0 • thinking medium" :session-activity-line nil :session-activity-buckets []} :id "c" :seq N :ts "TIME"}
            {:id "c" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
        /thinking low
            {:kind :event :event "command-result" :data {:type "text" :message "✓ Thinking level set to low"} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "session/updated" :data {:session-id "S1" :session-file "FILE" :session-name nil :session-display-name "go" :phase "streaming" :is-streaming true :is-compacting false :pending-message-count 0 :retry-attempt 0 :retry nil :retry-deadline-ms nil :interrupt-pending false :model-provider "script" :model-id "script-0" :model-reasoning true :thinking-level "low" :effective-reasoning-effort "low" :header-model-label "(script) script-0 • thinking low" :status-session-line "session: S1 phase:streaming streaming:yes compacting:no pending:0 retry:0" :extension-command-names [] :prompt-templates [] :builtin-command-specs [BUILTINS]} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {:session-id "S1" :path-line "~/work • go" :stats-line STATS :status-line nil :usage-parts STATS :model-text "(script) script-0 • thinking low" :session-activity-line nil :session-activity-buckets []} :id "c" :seq N :ts "TIME"}
            {:id "c" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
    "#]].assert_eq(&seen);
    client.open_gate();
}
