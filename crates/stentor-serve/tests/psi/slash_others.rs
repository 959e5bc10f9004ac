//! Section 13: commands that are not built in, commands that came as prompts, and models that are
//! looked for again.

use std::sync::Arc;

use expect_test::expect;

use super::client::{Client, shows};
use super::slash::commands;
use super::world::{OK, World};

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
            {:kind :event :event "command-result" :data {:type "text" :message "✓ Model set to script new"} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "session/updated" :data {… :model-id "new" :model-reasoning true :header-model-label "(script) new • thinking off"} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {… :stats-line "?/200k (script) new • thinking off" :model-text "(script) new • thinking off"} :id "c" :seq N :ts "TIME"}
            {:id "c" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
        /reload-models
            {:kind :event :event "command-result" :data {:type "text" :message "The models stay as they were: config.toml:3: no"} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "session/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:kind :event :event "footer/updated" :data {…} :id "c" :seq N :ts "TIME"}
            {:id "c" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
        /model script new
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

#[test]
fn delegate_gives_a_task_to_the_built_in_agent() {
    let mut world = World::new(&[OK]);
    world.with_subagents = true;
    let mut client = Client::ready(world);
    client.request("d", "command", r#"{:text "/delegate general look around"}"#);
    let messages = client.answer("get_messages", "{}");
    let asked = "Give this task to the agent `general` with the subagent tool";
    assert!(messages.contains(asked), "{messages}");
}

#[test]
fn delegate_lists_the_agents_and_gives_a_task_to_one() {
    let mut world = World::new(&[OK]);
    world.with_subagents = true;
    world.file(
        ".stentor/agents/scout.md",
        "---\nname: scout\ndescription: Looks around\n---\nLook.",
    );
    let mut client = Client::ready(world);
    let mut seen = Vec::new();
    for text in [
        "/delegate",
        "/delegate list",
        "/delegate nobody go",
        "/delegate scout",
    ] {
        let frames = client.request("c", "command", &format!("{{:text {text:?}}}"));
        seen.push(text.to_owned());
        seen.extend(
            frames
                .into_iter()
                .filter(|frame| frame.contains("command-result")),
        );
    }
    seen.extend(client.request(
        "d",
        "command",
        r#"{:text "/delegate scout see what is here"}"#,
    ));
    seen.push(client.answer("get_messages", "{}"));
    expect![[r#"
        /delegate
        {:kind :event :event "command-result" :data {:type "text" :message "Usage: /delegate AGENT TASK. The agents are:\n  scout — Looks around\n  general — Works on any task with all tools."} :id "c" :seq N :ts "TIME"}
        /delegate list
        {:kind :event :event "command-result" :data {:type "text" :message "Usage: /delegate AGENT TASK. The agents are:\n  scout — Looks around\n  general — Works on any task with all tools."} :id "c" :seq N :ts "TIME"}
        /delegate nobody go
        {:kind :event :event "command-result" :data {:type "text" :message "Usage: /delegate AGENT TASK. The agents are:\n  scout — Looks around\n  general — Works on any task with all tools."} :id "c" :seq N :ts "TIME"}
        /delegate scout
        {:kind :event :event "command-result" :data {:type "text" :message "Usage: /delegate AGENT TASK. The agents are:\n  scout — Looks around\n  general — Works on any task with all tools."} :id "c" :seq N :ts "TIME"}
        {:kind :event :event "session/updated" :data {… :session-display-name "Give this task to the agent `scout` with the su…" :phase "streaming" :is-streaming true :status-session-line "session: S1 phase:streaming streaming:yes compacting:no pending:0 retry:0"} :id "d" :seq N :ts "TIME"}
        {:kind :event :event "footer/updated" :data {… :path-line "~/work • Give this task to the agent `scout` with the su…" :stats-line STATS :usage-parts STATS} :id "d" :seq N :ts "TIME"}
        {:kind :event :event "assistant/delta" :data {:session-id "S1" :text "ok"} :id "d" :seq N :ts "TIME"}
        {:kind :event :event "assistant/message" :data {:session-id "S1" :role "assistant" :content [{:type :text :text "ok"}] :text "ok" :stop-reason :stop} :id "d" :seq N :ts "TIME"}
        {:kind :event :event "session/updated" :data {… :phase "idle" :is-streaming false :status-session-line "session: S1 phase:idle streaming:no compacting:no pending:0 retry:0"} :id "d" :seq N :ts "TIME"}
        {:kind :event :event "footer/updated" :data {… :stats-line "?/200k (script) m-1" :usage-parts ["?/200k"]} :id "d" :seq N :ts "TIME"}
        {:id "d" :kind :response :op "command" :ok true :data {:accepted true :handled true :fallback :template}}
        {:id "x" :kind :response :op "get_messages" :ok true :data {:messages [{:role "user" :content [{:type :text :text "Give this task to the agent `scout` with the subagent tool, and tell me what it reports:\n\nsee what is here"}] :timestamp "TIME"} {:role "assistant" :content [{:type :text :text "ok"}] :stop-reason :stop :timestamp "TIME"}]}}"#]].assert_eq(&seen.join("\n"));
}
