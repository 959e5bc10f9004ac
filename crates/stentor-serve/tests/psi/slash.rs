//! Section 13: slash commands.

use std::sync::Arc;

use expect_test::expect;

use super::client::{Client, shows};
use super::world::{OK, World};

const LOCKED: &str = "[model]\nid = \"locked\"\n";

/// A command, and everything up to its answer below it.
fn commands(client: &mut Client, texts: &[&str]) -> String {
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
            {:kind :event :event "command-result" :data {:type "text" :message "Commands:\n  /help — Show the commands there are\n  /new — Start a new session\n  /resume — Choose a stored session, or load the one in a file\n  /tree — Choose a live session or a place to fork; /tree ID switches, /tree name ID NAME renames\n  /model — Choose a model; /model PROVIDER ID sets it\n  /thinking — Choose a thinking level; /thinking LEVEL sets it\n  /status — Show how the session is\n  /history — Show the message history\n  /prompts — List the prompt templates\n  /skills — List the skills\n  /worktree — Show the working folder and its repository\n  /jobs — List background jobs; /jobs STATUS… lists others than running ones\n  /job — Show a background job\n  /cancel-job — Stop a background job\n  /remember — Keep a note across sessions\n  /login — Log in at a provider\n  /logout — Log out\n  /reload-models — Look for models again\n  /reload-prompts — Read the prompt templates and skills again\n  /reload-extension-installs — Show the extensions' commands, and how to look for extensions again\n  /project-repl — Talk to the project's REPL\n  /quit — Leave\n  /exit — Leave\n\nPrompt templates:\n  /greet — Greets\n\nSkills:\n  /skill:pdf — PDFs"} :id "c" :seq N :ts "TIME"}
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
            {:kind :event :event "session/updated" :data {…} :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {…} :seq N :ts "TIME"}
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
            {:kind :event :event "session/updated" :data {…} :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {…} :seq N :ts "TIME"}
            {:kind :event :event "command-result" :data {:type "text" :message "✓ Model set to script m-1"} :id "c" :seq N :ts "TIME"}
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
        /reload-prompts
            {:kind :event :event "command-result" :data {:type "text" :message "✓ Prompts reloaded: 1 templates, 1 skills."} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "session/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:id "c" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
        /reload-extension-installs
            {:kind :event :event "command-result" :data {:type "text" :message "Extensions are looked for when a session begins: /new begins one with those that are installed now."} :id "c" :seq N :ts "TIME"}
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
    client.until(&["tool/update"]);
    client.shows_whole_snapshots = true;
    let seen = commands(&mut client, &["/nope", "/thinking low"]);
    expect![[r#"
        /nope
            {:kind :event :event "command-result" :data {:type "text" :message "[not a command] /nope"} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "session/updated" :data {:session-id "S1" :session-file "FILE" :session-name nil :session-display-name "go" :phase "streaming" :is-streaming true :is-compacting false :pending-message-count 0 :retry-attempt 0 :retry nil :retry-deadline-ms nil :interrupt-pending false :model-provider "script" :model-id "script-0" :model-reasoning true :thinking-level "medium" :effective-reasoning-effort "medium" :header-model-label "(script) script-0 • thinking medium" :status-session-line "session: S1 phase:streaming streaming:yes compacting:no pending:0 retry:0" :extension-command-names [] :prompt-templates [] :builtin-command-specs [BUILTINS]} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {:session-id "S1" :path-line "~/work • go" :stats-line STATS :status-line nil :usage-parts STATS :model-text "(script) script-0 • thinking medium" :session-activity-line nil :session-activity-buckets []} :id "c" :seq N :ts "TIME"}
            {:id "c" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
        /thinking low
            {:kind :event :event "session/updated" :data {:session-id "S1" :session-file "FILE" :session-name nil :session-display-name "go" :phase "streaming" :is-streaming true :is-compacting false :pending-message-count 0 :retry-attempt 0 :retry nil :retry-deadline-ms nil :interrupt-pending false :model-provider "script" :model-id "script-0" :model-reasoning true :thinking-level "low" :effective-reasoning-effort "low" :header-model-label "(script) script-0 • thinking low" :status-session-line "session: S1 phase:streaming streaming:yes compacting:no pending:0 retry:0" :extension-command-names [] :prompt-templates [] :builtin-command-specs [BUILTINS]} :id "p" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {:session-id "S1" :path-line "~/work • go" :stats-line STATS :status-line nil :usage-parts STATS :model-text "(script) script-0 • thinking low" :session-activity-line nil :session-activity-buckets []} :id "p" :seq N :ts "TIME"}
            {:kind :event :event "command-result" :data {:type "text" :message "✓ Thinking level set to low"} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "session/updated" :data {:session-id "S1" :session-file "FILE" :session-name nil :session-display-name "go" :phase "streaming" :is-streaming true :is-compacting false :pending-message-count 0 :retry-attempt 0 :retry nil :retry-deadline-ms nil :interrupt-pending false :model-provider "script" :model-id "script-0" :model-reasoning true :thinking-level "low" :effective-reasoning-effort "low" :header-model-label "(script) script-0 • thinking low" :status-session-line "session: S1 phase:streaming streaming:yes compacting:no pending:0 retry:0" :extension-command-names [] :prompt-templates [] :builtin-command-specs [BUILTINS]} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {:session-id "S1" :path-line "~/work • go" :stats-line STATS :status-line nil :usage-parts STATS :model-text "(script) script-0 • thinking low" :session-activity-line nil :session-activity-buckets []} :id "c" :seq N :ts "TIME"}
            {:id "c" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
    "#]].assert_eq(&seen);
    client.open_gate();
}

#[test]
fn section_13_2_templates_and_skills_run_as_prompts_and_answer_at_the_end() {
    let script = r#"
[[turn]]
steps = [ { text = "heard: {{last_user}}" } ]
[[turn]]
steps = [ { text = "heard: {{last_user}}" } ]
[[turn]]
steps = [ { text = "heard: {{last_user}}" } ]
"#;
    let world = World::new(&[script]);
    world.file(".stentor/prompts/greet.md", "Say hello to $1.");
    world.file(".stentor/skills/pdf/SKILL.md", "Use it.");
    let mut client = Client::ready(world);
    // Else it would be called by what was said, in which a path is cut.
    client.request("n", "set_session_name", r#"{:name "named"}"#);
    let mut seen = client.request("c", "command", r#"{:text "/greet Ann"}"#);
    seen.extend(client.request("s", "command", r#"{:text "/skill:pdf now"}"#));
    seen.extend(client.request("d", "prompt", r#"{:message "/skill:pdf now"}"#));
    seen.extend(client.until_idle());
    shows(
        &seen,
        &expect![[r#"
            {:kind :event :event "session/updated" :data {… :phase "streaming" :is-streaming true :status-session-line "session: S1 phase:streaming streaming:yes compacting:no pending:0 retry:0"} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {… :stats-line STATS :usage-parts STATS} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "assistant/delta" :data {:session-id "S1" :text "heard: Say hello to Ann."} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "assistant/message" :data {:session-id "S1" :role "assistant" :content [{:type :text :text "heard: Say hello to Ann."}] :text "heard: Say hello to Ann." :stop-reason :stop} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "session/updated" :data {… :phase "idle" :is-streaming false :status-session-line "session: S1 phase:idle streaming:no compacting:no pending:0 retry:0"} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {… :stats-line "?/200k (script) script-0 • thinking medium" :usage-parts ["?/200k"]} :id "c" :seq N :ts "TIME"}
            {:id "c" :kind :response :op "command" :ok true :data {:accepted true :handled true :fallback :template}}
            {:kind :event :event "session/updated" :data {… :phase "streaming" :is-streaming true :status-session-line "session: S1 phase:streaming streaming:yes compacting:no pending:0 retry:0"} :id "s" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {… :stats-line STATS :usage-parts STATS} :id "s" :seq N :ts "TIME"}
            {:kind :event :event "assistant/delta" :data {:session-id "S1" :text "heard: <skill name=\"pdf\" location=\"ROOT/home/work/.stentor/skills/pdf/SKILL.md\">\nPaths in it are relative to ROOT/home/work/.stentor/skills/pdf.\n\nUse it.\n</skill>\n\nnow"} :id "s" :seq N :ts "TIME"}
            {:kind :event :event "assistant/message" :data {:session-id "S1" :role "assistant" :content [{:type :text :text "heard: <skill name=\"pdf\" location=\"ROOT/home/work/.stentor/skills/pdf/SKILL.md\">\nPaths in it are relative to ROOT/home/work/.stentor/skills/pdf.\n\nUse it.\n</skill>\n\nnow"}] :text "heard: <skill name=\"pdf\" location=\"ROOT/home/work/.stentor/skills/pdf/SKILL.md\">\nPaths in it are relative to ROOT/home/work/.stentor/skills/pdf.\n\nUse it.\n</skill>\n\nnow" :stop-reason :stop} :id "s" :seq N :ts "TIME"}
            {:kind :event :event "session/updated" :data {… :phase "idle" :is-streaming false :status-session-line "session: S1 phase:idle streaming:no compacting:no pending:0 retry:0"} :id "s" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {… :stats-line "?/200k (script) script-0 • thinking medium" :usage-parts ["?/200k"]} :id "s" :seq N :ts "TIME"}
            {:id "s" :kind :response :op "command" :ok true :data {:accepted true :handled true :fallback :template}}
            {:id "d" :kind :response :op "prompt" :ok true :data {:accepted true}}
            {:kind :event :event "session/updated" :data {… :phase "streaming" :is-streaming true :status-session-line "session: S1 phase:streaming streaming:yes compacting:no pending:0 retry:0"} :id "d" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {… :stats-line STATS :usage-parts STATS} :id "d" :seq N :ts "TIME"}
            {:kind :event :event "assistant/delta" :data {:session-id "S1" :text "heard: <skill name=\"pdf\" location=\"ROOT/home/work/.stentor/skills/pdf/SKILL.md\">\nPaths in it are relative to ROOT/home/work/.stentor/skills/pdf.\n\nUse it.\n</skill>\n\nnow"} :id "d" :seq N :ts "TIME"}
            {:kind :event :event "assistant/message" :data {:session-id "S1" :role "assistant" :content [{:type :text :text "heard: <skill name=\"pdf\" location=\"ROOT/home/work/.stentor/skills/pdf/SKILL.md\">\nPaths in it are relative to ROOT/home/work/.stentor/skills/pdf.\n\nUse it.\n</skill>\n\nnow"}] :text "heard: <skill name=\"pdf\" location=\"ROOT/home/work/.stentor/skills/pdf/SKILL.md\">\nPaths in it are relative to ROOT/home/work/.stentor/skills/pdf.\n\nUse it.\n</skill>\n\nnow" :stop-reason :stop} :id "d" :seq N :ts "TIME"}
            {:kind :event :event "session/updated" :data {… :phase "idle" :is-streaming false :status-session-line "session: S1 phase:idle streaming:no compacting:no pending:0 retry:0"} :id "d" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {… :stats-line "?/200k (script) script-0 • thinking medium" :usage-parts ["?/200k"]} :id "d" :seq N :ts "TIME"}"#]],
    );
}

#[test]
fn section_13_2_extension_commands_answer_have_the_model_asked_or_fail() {
    let script = r#"
[[turn]]
steps = [ { text = "the model answers" } ]
"#;
    let mut world = World::new(&[script]);
    world.with_extension = true;
    let mut client = Client::ready(world);
    let mut seen = commands(
        &mut client,
        &["/deploy  to the moon", "/hush", "/fail", "/ask it"],
    );
    // Over prompt it is said in the transcript.
    seen.push_str("prompt\n");
    let mut frames = client.request("p", "prompt", r#"{:message "/deploy again"}"#);
    frames.extend(client.until_idle());
    for frame in frames {
        seen.push_str(&format!("    {frame}\n"));
    }
    expect![[r#"
        /deploy  to the moon
            {:kind :event :event "command-result" :data {:type "text" :message "deployed to the moon"} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "session/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:id "c" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
        /hush
            {:kind :event :event "session/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:id "c" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
        /fail
            {:kind :event :event "command-result" :data {:type "text" :message "[extension command error: no such place]"} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "session/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:id "c" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
        /ask it
            {:kind :event :event "session/updated" :data {… :session-display-name "it" :phase "streaming" :is-streaming true :status-session-line "session: S1 phase:streaming streaming:yes compacting:no pending:0 retry:0"} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {… :path-line "~/work • it" :stats-line STATS :usage-parts STATS} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "assistant/delta" :data {:session-id "S1" :text "the model answers"} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "assistant/message" :data {:session-id "S1" :role "assistant" :content [{:type :text :text "the model answers"}] :text "the model answers" :stop-reason :stop} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "session/updated" :data {… :phase "idle" :is-streaming false :status-session-line "session: S1 phase:idle streaming:no compacting:no pending:0 retry:0"} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {… :stats-line "?/200k (script) script-0 • thinking medium" :usage-parts ["?/200k"]} :id "c" :seq N :ts "TIME"}
            {:id "c" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
        prompt
            {:id "p" :kind :response :op "prompt" :ok true :data {:accepted true}}
            {:kind :event :event "session/updated" :data {… :phase "streaming" :is-streaming true :status-session-line "session: S1 phase:streaming streaming:yes compacting:no pending:0 retry:0"} :id "p" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {… :stats-line STATS :usage-parts STATS} :id "p" :seq N :ts "TIME"}
            {:kind :event :event "assistant/delta" :data {:session-id "S1" :text "deployed again"} :id "p" :seq N :ts "TIME"}
            {:kind :event :event "assistant/message" :data {:session-id "S1" :role "assistant" :content [{:type :text :text "deployed again"}] :text "deployed again" :stop-reason :stop} :id "p" :seq N :ts "TIME"}
            {:kind :event :event "session/updated" :data {… :phase "idle" :is-streaming false :status-session-line "session: S1 phase:idle streaming:no compacting:no pending:0 retry:0"} :id "p" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {… :stats-line "?/200k (script) script-0 • thinking medium" :usage-parts ["?/200k"]} :id "p" :seq N :ts "TIME"}
    "#]].assert_eq(&seen);
}

#[test]
fn section_13_2_over_prompt_a_command_is_answered_in_the_transcript() {
    let mut client = Client::ready(World::new(&[OK]));
    let mut seen = Vec::new();
    for text in [
        "/quit",
        "/resume",
        "/tree",
        "/history",
        "/model",
        "/thinking",
        "/new",
        "/remember this",
    ] {
        let params = format!("{{:message {text:?}}}");
        seen.extend(client.request("p", "prompt", &params));
        seen.extend(client.until(&[":id \"p\"", "footer/updated"]));
        if text == "/new" {
            seen.extend(client.until(&[":id \"p\"", "footer/updated"]));
        }
    }
    // An unknown slash word is for the model.
    seen.extend(client.run("/nope"));
    shows(
        &seen,
        &expect![[r#"
        {:id "p" :kind :response :op "prompt" :ok true :data {:accepted true}}
        {:kind :event :event "assistant/message" :data {:session-id "S1" :role "assistant" :content [{:type :text :text "/quit is not supported over RPC prompt."}] :text "/quit is not supported over RPC prompt."} :id "p" :seq N :ts "TIME"}
        {:kind :event :event "session/updated" :data {…} :id "p" :seq N :ts "TIME"}
        {:kind :event :event "footer/updated" :data {…} :id "p" :seq N :ts "TIME"}
        {:id "p" :kind :response :op "prompt" :ok true :data {:accepted true}}
        {:kind :event :event "assistant/message" :data {:session-id "S1" :role "assistant" :content [{:type :text :text "/resume is not supported over RPC prompt."}] :text "/resume is not supported over RPC prompt."} :id "p" :seq N :ts "TIME"}
        {:kind :event :event "session/updated" :data {…} :id "p" :seq N :ts "TIME"}
        {:kind :event :event "footer/updated" :data {…} :id "p" :seq N :ts "TIME"}
        {:id "p" :kind :response :op "prompt" :ok true :data {:accepted true}}
        {:kind :event :event "assistant/message" :data {:session-id "S1" :role "assistant" :content [{:type :text :text "/tree is for terminals only."}] :text "/tree is for terminals only."} :id "p" :seq N :ts "TIME"}
        {:kind :event :event "session/updated" :data {…} :id "p" :seq N :ts "TIME"}
        {:kind :event :event "footer/updated" :data {…} :id "p" :seq N :ts "TIME"}
        {:id "p" :kind :response :op "prompt" :ok true :data {:accepted true}}
        {:kind :event :event "assistant/message" :data {:session-id "S1" :role "assistant" :content [{:type :text :text "Message history (0 messages)"}] :text "Message history (0 messages)"} :id "p" :seq N :ts "TIME"}
        {:kind :event :event "session/updated" :data {…} :id "p" :seq N :ts "TIME"}
        {:kind :event :event "footer/updated" :data {…} :id "p" :seq N :ts "TIME"}
        {:id "p" :kind :response :op "prompt" :ok true :data {:accepted true}}
        {:kind :event :event "assistant/message" :data {:session-id "S1" :role "assistant" :content [{:type :text :text "Usage: /model PROVIDER ID [session|project|user]"}] :text "Usage: /model PROVIDER ID [session|project|user]"} :id "p" :seq N :ts "TIME"}
        {:kind :event :event "session/updated" :data {…} :id "p" :seq N :ts "TIME"}
        {:kind :event :event "footer/updated" :data {…} :id "p" :seq N :ts "TIME"}
        {:id "p" :kind :response :op "prompt" :ok true :data {:accepted true}}
        {:kind :event :event "assistant/message" :data {:session-id "S1" :role "assistant" :content [{:type :text :text "Usage: /thinking off|minimal|low|medium|high|xhigh"}] :text "Usage: /thinking off|minimal|low|medium|high|xhigh"} :id "p" :seq N :ts "TIME"}
        {:kind :event :event "session/updated" :data {…} :id "p" :seq N :ts "TIME"}
        {:kind :event :event "footer/updated" :data {…} :id "p" :seq N :ts "TIME"}
        {:id "p" :kind :response :op "prompt" :ok true :data {:accepted true}}
        {:kind :event :event "session/resumed" :data {:session-id "S2" :session-file "FILE" :message-count 0} :id "p" :seq N :ts "TIME"}
        {:kind :event :event "session/rehydrated" :data {:session-id "S2" :messages [] :tool-calls {} :tool-order []} :id "p" :seq N :ts "TIME"}
        {:kind :event :event "session/updated" :data {… :session-id "S2" :status-session-line "session: S2 phase:idle streaming:no compacting:no pending:0 retry:0"} :id "p" :seq N :ts "TIME"}
        {:kind :event :event "footer/updated" :data {… :session-id "S2" :session-activity-line "sessions: waiting S1-short, S2-short" :session-activity-buckets [{:state "waiting" :labels ["S1-short" "S2-short"]}]} :id "p" :seq N :ts "TIME"}
        {:kind :event :event "context/updated" :data {:active-session-id "S2" :sessions [{:id "S1" :item-kind "session" :name nil :display-name nil :worktree-path "ROOT/home/work" :runtime-state "waiting" :is-streaming false :is-active false :parent-session-id nil :created-at "TIME" :updated-at nil} {:id "S2" :item-kind "session" :name nil :display-name nil :worktree-path "ROOT/home/work" :runtime-state "waiting" :is-streaming false :is-active true :parent-session-id nil :created-at "TIME" :updated-at nil}] :session-tree-widget {:placement "left" :extension-id "psi-session" :widget-id "session-tree" :content-lines [{:text "(session S1-short) [S1-short] — HH:MM — ROOT/home/work [waiting]" :runtime-state "waiting" :is-current false :action {:type "command" :command "/tree S1"}} {:text "(session S2-short) [S2-short] — HH:MM — ROOT/home/work ← current [waiting]" :runtime-state "waiting" :is-current true}]}} :id "p" :seq N :ts "TIME"}
        {:kind :event :event "assistant/message" :data {:session-id "S2" :role "assistant" :content [{:type :text :text "[New session started]"}] :text "[New session started]"} :id "p" :seq N :ts "TIME"}
        {:kind :event :event "session/updated" :data {…} :id "p" :seq N :ts "TIME"}
        {:kind :event :event "footer/updated" :data {…} :id "p" :seq N :ts "TIME"}
        {:id "p" :kind :response :op "prompt" :ok true :data {:accepted true}}
        {:kind :event :event "assistant/message" :data {:session-id "S2" :role "assistant" :content [{:type :text :text "✓ Remembered as E1."}] :text "✓ Remembered as E1."} :id "p" :seq N :ts "TIME"}
        {:kind :event :event "session/updated" :data {…} :id "p" :seq N :ts "TIME"}
        {:kind :event :event "footer/updated" :data {…} :id "p" :seq N :ts "TIME"}
        {:kind :event :event "session/updated" :data {… :phase "streaming" :is-streaming true :status-session-line "session: S2 phase:streaming streaming:yes compacting:no pending:0 retry:0"} :id "run" :seq N :ts "TIME"}
        {:kind :event :event "footer/updated" :data {… :stats-line STATS :usage-parts STATS :session-activity-line "sessions: waiting S1-short · running S2-short" :session-activity-buckets [{:state "waiting" :labels ["S1-short"]} {:state "running" :labels ["S2-short"]}]} :id "run" :seq N :ts "TIME"}
        {:kind :event :event "assistant/delta" :data {:session-id "S2" :text "ok"} :id "run" :seq N :ts "TIME"}
        {:kind :event :event "assistant/message" :data {:session-id "S2" :role "assistant" :content [{:type :text :text "ok"}] :text "ok" :stop-reason :stop} :id "run" :seq N :ts "TIME"}
        {:kind :event :event "session/updated" :data {… :phase "idle" :is-streaming false :status-session-line "session: S2 phase:idle streaming:no compacting:no pending:0 retry:0"} :id "run" :seq N :ts "TIME"}
        {:kind :event :event "footer/updated" :data {… :stats-line "?/200k (script) m-1" :usage-parts ["?/200k"] :session-activity-line "sessions: waiting S1-short, S2-short" :session-activity-buckets [{:state "waiting" :labels ["S1-short" "S2-short"]}]} :id "run" :seq N :ts "TIME"}"#]],
    );
}

#[test]
fn reload_models_says_what_came_and_went_and_what_is_wrong() {
    let mut client = Client::ready(World::new(&[OK]));
    let later = Arc::clone(&client.world.later_models);
    let mut seen = String::new();
    for found in [
        Ok(vec!["new"]),
        Err("config.toml:3: no".to_owned()),
        Ok(vec!["newer"]),
    ] {
        *later.lock().unwrap() = found;
        seen.push_str(&commands(
            &mut client,
            &["/reload-models", "/model script new"],
        ));
    }
    expect![[r#"
        /reload-models
            {:kind :event :event "command-result" :data {:type "text" :message "✓ Models reloaded: 2 available.\nNew: script/new"} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "session/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:id "c" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
        /model script new
            {:kind :event :event "session/updated" :data {… :model-id "new" :model-reasoning true :header-model-label "(script) new • thinking off"} :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {… :stats-line "?/200k (script) new • thinking off" :model-text "(script) new • thinking off"} :seq N :ts "TIME"}
            {:kind :event :event "command-result" :data {:type "text" :message "✓ Model set to script new"} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "session/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:id "c" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
        /reload-models
            {:kind :event :event "command-result" :data {:type "text" :message "The models stay as they were: config.toml:3: no"} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "session/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:id "c" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
        /model script new
            {:kind :event :event "session/updated" :data {…} :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {…} :seq N :ts "TIME"}
            {:kind :event :event "command-result" :data {:type "text" :message "✓ Model set to script new"} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "session/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:id "c" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
        /reload-models
            {:kind :event :event "command-result" :data {:type "text" :message "✓ Models reloaded: 2 available.\nNew: script/newer\nGone: script/new"} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "session/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:id "c" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
        /model script new
            {:kind :event :event "command-result" :data {:type "text" :message "Model not found: script/new"} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "session/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:id "c" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
    "#]].assert_eq(&seen);
}
