//! Sections 9.9 and 11.5: what runs beside the conversation; and the operations the original
//! leaves unsupported.

use expect_test::expect;

use super::client::{Client, shows};
use super::world::{OK, World};

/// Waits until a command of the user is among the jobs: it was asked for by an earlier request
/// that is not answered before it ends.
fn until_listed(client: &mut Client) -> String {
    loop {
        let jobs = client.answer("list_background_jobs", "{}");
        if !jobs.ends_with("{:jobs []}}") {
            return jobs;
        }
    }
}

#[test]
fn section_9_9_a_command_of_the_user_is_a_job_that_is_listed_inspected_and_cancelled() {
    let mut client = Client::ready(World::new(&[OK])).with_gate();
    client.send_request("b", "bash", r#"{:command "read x < gate"}"#);
    let mut seen = vec![until_listed(&mut client)];
    seen.push(client.answer("inspect_background_job", r#"{:job-id "job-1"}"#));
    seen.extend(client.request("c", "command", r#"{:text "/jobs"}"#));
    seen.extend(client.request("c", "command", r#"{:text "/job job-1"}"#));
    client.send_request("k", "cancel_background_job", r#"{:job-id "job-1"}"#);
    seen.push(client.until_answer(Some("k")).pop().unwrap());
    seen.push(client.until_answer(Some("b")).pop().unwrap());
    seen.push(client.answer(
        "list_background_jobs",
        r#"{:statuses [:cancelled "failed"]}"#,
    ));
    seen.push(client.answer("list_background_jobs", "{}"));
    shows(
        &seen,
        &expect![[r#"
        {:id "x" :kind :response :op "list_background_jobs" :ok true :data {:jobs [{:job-id "job-1" :thread-id "S1" :tool-call-id "bash-1" :tool-name "bash" :job-kind :shell :workflow-ext-path nil :workflow-id nil :job-seq 1 :started-at "TIME" :completed-at nil :completed-seq nil :status :running :terminal-payload nil :terminal-payload-file nil :cancel-requested-at nil :terminal-message-emitted false :terminal-message-emitted-at nil :summary {:job-id "job-1" :tool-name "bash" :status :running :status-label "running" :is-terminal false :is-running true :is-cancelling false :list-line "job-1  [running]  bash"}}]}}
        {:id "x" :kind :response :op "inspect_background_job" :ok true :data {:job {:job-id "job-1" :thread-id "S1" :tool-call-id "bash-1" :tool-name "bash" :job-kind :shell :workflow-ext-path nil :workflow-id nil :job-seq 1 :started-at "TIME" :completed-at nil :completed-seq nil :status :running :terminal-payload nil :terminal-payload-file nil :cancel-requested-at nil :terminal-message-emitted false :terminal-message-emitted-at nil :summary {:job-id "job-1" :tool-name "bash" :status :running :status-label "running" :is-terminal false :is-running true :is-cancelling false :list-line "job-1  [running]  bash"}}}}
        {:kind :event :event "command-result" :data {:type "text" :message "job-1  [running]  bash"} :id "c" :seq N :ts "TIME"}
        {:kind :event :event "session/updated" :data {…} :id "c" :seq N :ts "TIME"}
        {:kind :event :event "footer/updated" :data {…} :id "c" :seq N :ts "TIME"}
        {:id "c" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
        {:kind :event :event "command-result" :data {:type "text" :message "job-1  [running]  bash\nread x < gate"} :id "c" :seq N :ts "TIME"}
        {:kind :event :event "session/updated" :data {…} :id "c" :seq N :ts "TIME"}
        {:kind :event :event "footer/updated" :data {…} :id "c" :seq N :ts "TIME"}
        {:id "c" :kind :response :op "command" :ok true :data {:accepted true :handled true}}
        {:id "k" :kind :response :op "cancel_background_job" :ok true :data {:accepted true :job {:job-id "job-1" :thread-id "S1" :tool-call-id "bash-1" :tool-name "bash" :job-kind :shell :workflow-ext-path nil :workflow-id nil :job-seq 1 :started-at "TIME" :completed-at nil :completed-seq nil :status :pending-cancel :terminal-payload nil :terminal-payload-file nil :cancel-requested-at "TIME" :terminal-message-emitted false :terminal-message-emitted-at nil :summary {:job-id "job-1" :tool-name "bash" :status :pending-cancel :status-label "pending-cancel" :is-terminal false :is-running false :is-cancelling true :list-line "job-1  [pending-cancel]  bash"}}}}
        {:id "b" :kind :response :op "bash" :ok true :data {:output "" :exit-code nil :cancelled true :truncated false :full-output-path nil}}
        {:id "x" :kind :response :op "list_background_jobs" :ok true :data {:jobs [{:job-id "job-1" :thread-id "S1" :tool-call-id "bash-1" :tool-name "bash" :job-kind :shell :workflow-ext-path nil :workflow-id nil :job-seq 1 :started-at "TIME" :completed-at "TIME" :completed-seq 1 :status :cancelled :terminal-payload {"output" "" "exitCode" nil} :terminal-payload-file nil :cancel-requested-at "TIME" :terminal-message-emitted true :terminal-message-emitted-at "TIME" :summary {:job-id "job-1" :tool-name "bash" :status :cancelled :status-label "cancelled" :is-terminal true :is-running false :is-cancelling false :list-line "job-1  [cancelled]  bash"}}]}}
        {:id "x" :kind :response :op "list_background_jobs" :ok true :data {:jobs []}}"#]],
    );
}

#[test]
fn section_9_9_a_subagent_is_a_job_and_stopping_it_lets_the_run_go_on() {
    let script = r#"
[[turn]]
when = { system_contains = "as a subagent" }
steps = [ { hang = true } ]
[[turn]]
steps = [ { tool = "subagent", id = "t1", arguments = { task = "wait" } } ]
[[turn]]
steps = [ { text = "heard {{last_tool_result}}" } ]
"#;
    let mut world = World::new(&[script]);
    world.with_subagents = true;
    let mut client = Client::ready(world);
    client.request("p", "prompt", r#"{:message "go"}"#);
    client.until(&["ui/status-updated", "general"]);
    let answers = client.table(&[
        ("list_background_jobs", "{}"),
        (
            "query_eql",
            r#"{:query "[{:psi.agent-session/background-jobs [:job-id :job-kind :status]}]"}"#,
        ),
    ]);
    expect![[r#"
        list_background_jobs {}
            {:id "x" :kind :response :op "list_background_jobs" :ok true :data {:jobs [{:job-id "job-1" :thread-id "S1" :tool-call-id "t1" :tool-name "subagent" :job-kind :subagent :workflow-ext-path nil :workflow-id nil :job-seq 1 :started-at "TIME" :completed-at nil :completed-seq nil :status :running :terminal-payload nil :terminal-payload-file nil :cancel-requested-at nil :terminal-message-emitted false :terminal-message-emitted-at nil :summary {:job-id "job-1" :tool-name "subagent" :status :running :status-label "running" :is-terminal false :is-running true :is-cancelling false :list-line "job-1  [running]  subagent"}}]}}
        query_eql {:query "[{:psi.agent-session/background-jobs [:job-id :job-kind :status]}]"}
            {:id "x" :kind :response :op "query_eql" :ok true :data {:result {:psi.agent-session/background-jobs [{:job-id "job-1" :job-kind :subagent :status :running}]}}}
    "#]].assert_eq(&answers);
    let cancel = r#"{:text "/cancel-job job-1"}"#;
    let (_, mut seen) = client.request_until_idle("command", cancel);
    let told = ["command-result", "tool/result", "assistant/message"];
    seen.retain(|frame| told.iter().any(|topic| frame.contains(topic)));
    // The subagent may be down before the command says that it was told to stop.
    seen.sort();
    seen.push(client.answer("inspect_background_job", r#"{:job-id "job-1"}"#));
    shows(
        &seen,
        &expect![[r#"
            {:kind :event :event "assistant/message" :data {:session-id "S1" :role "assistant" :content [{:type :text :text "heard The subagent `general` failed: cancelled"}] :text "heard The subagent `general` failed: cancelled" :stop-reason :stop} :id "p" :seq N :ts "TIME"}
            {:kind :event :event "command-result" :data {:type "text" :message "job-1  [pending-cancel]  subagent\ngeneral: wait"} :id "x" :seq N :ts "TIME"}
            {:kind :event :event "tool/result" :data {:session-id "S1" :tool-id "t1" :tool-name "subagent" :call-summary "subagent wait" :content [{:type :text :text "The subagent `general` failed: cancelled"}] :result-text "The subagent `general` failed: cancelled" :details {"subagents" [{"id" N "agent" "general" "task" "wait" "failed" true "durationMs" MS "usage" {"input" 0 "output" 0 "cacheRead" 0 "cacheWrite" 0 "totalTokens" 0 "cost" {"input" 0 "output" 0 "cacheRead" 0 "cacheWrite" 0 "total" 0}}}]} :is-error true} :id "p" :seq N :ts "TIME"}
            {:id "x" :kind :response :op "inspect_background_job" :ok true :data {:job {:job-id "job-1" :thread-id "S1" :tool-call-id "t1" :tool-name "subagent" :job-kind :subagent :workflow-ext-path nil :workflow-id nil :job-seq 1 :started-at "TIME" :completed-at "TIME" :completed-seq 1 :status :cancelled :terminal-payload "cancelled" :terminal-payload-file nil :cancel-requested-at "TIME" :terminal-message-emitted true :terminal-message-emitted-at "TIME" :summary {:job-id "job-1" :tool-name "subagent" :status :cancelled :status-label "cancelled" :is-terminal true :is-running false :is-cancelling false :list-line "job-1  [cancelled]  subagent"}}}}"#]],
    );
}

#[test]
fn section_9_9_what_is_wrong_with_a_job_request() {
    let mut client = Client::ready(World::new(&[OK]));
    let seen = client.table(&[
        ("list_background_jobs", r#"{:statuses "running"}"#),
        ("list_background_jobs", r#"{:statuses []}"#),
        ("inspect_background_job", "{}"),
        ("inspect_background_job", r#"{:job-id "job-9"}"#),
        ("cancel_background_job", r#"{:job-id " "}"#),
        ("cancel_background_job", r#"{:job-id "job-9"}"#),
    ]);
    expect![[r#"
        list_background_jobs {:statuses "running"}
            {:kind :error :error-code "request/invalid-params" :error-message ":statuses must be a vector, found a string" :id "x" :op "list_background_jobs"}
        list_background_jobs {:statuses []}
            {:id "x" :kind :response :op "list_background_jobs" :ok true :data {:jobs []}}
        inspect_background_job {}
            {:kind :error :error-code "request/invalid-params" :error-message ":job-id is missing" :id "x" :op "inspect_background_job"}
        inspect_background_job {:job-id "job-9"}
            {:kind :error :error-code "runtime/failed" :error-message "there is no job job-9" :id "x" :op "inspect_background_job"}
        cancel_background_job {:job-id " "}
            {:kind :error :error-code "request/invalid-params" :error-message ":job-id must not be blank" :id "x" :op "cancel_background_job"}
        cancel_background_job {:job-id "job-9"}
            {:kind :error :error-code "runtime/failed" :error-message "there is no job job-9" :id "x" :op "cancel_background_job"}
    "#]].assert_eq(&seen);
}

#[test]
fn bash_answers_with_its_output_while_others_are_served_and_is_aborted() {
    let mut client = Client::ready(World::new(&[OK])).with_gate();
    let mut seen = vec![client.answer("bash", r#"{:command "echo hi; exit 3"}"#)];
    client.send_request("b", "bash", r#"{:command "read x < gate"}"#);
    until_listed(&mut client);
    seen.push(client.answer("ping", "{}"));
    client.send_request("a", "abort_bash", "{}");
    let mut ends = client.until_answer(Some("a"));
    if !ends.iter().any(|frame| frame.contains(":id \"b\"")) {
        ends.extend(client.until_answer(Some("b")));
    }
    ends.retain(|frame| frame.contains(":op"));
    ends.sort();
    seen.extend(ends);
    seen.push(client.answer("bash", "{}"));
    seen.push(client.answer("get_messages", "{}"));
    shows(
        &seen,
        &expect![[r#"
        {:id "x" :kind :response :op "bash" :ok true :data {:output "hi\n" :exit-code 3 :cancelled false :truncated false :full-output-path nil}}
        {:id "x" :kind :response :op "ping" :ok true :data {:pong true :protocol-version "1.0"}}
        {:id "a" :kind :response :op "abort_bash" :ok true :data {:accepted true}}
        {:id "b" :kind :response :op "bash" :ok true :data {:output "" :exit-code nil :cancelled true :truncated false :full-output-path nil}}
        {:kind :error :error-code "request/invalid-params" :error-message ":command is missing" :id "x" :op "bash"}
        {:id "x" :kind :response :op "get_messages" :ok true :data {:messages [{:role "user" :content "$ echo hi; exit 3\nhi\n" :timestamp "TIME"} {:role "user" :content "$ read x < gate\n" :timestamp "TIME"}]}}"#]],
    );
}

#[test]
fn the_operations_the_original_leaves_unsupported_are_served() {
    let world = World::new(&[OK]);
    world.file(".stentor/prompts/greet.md", "Greets people");
    let mut client = Client::ready(world);
    client.run("hello");
    let seen = client.table(&[
        ("get_last_assistant_text", "{}"),
        ("get_fork_messages", "{}"),
        ("get_available_models", "{}"),
        ("abort_retry", "{}"),
        ("export_html", r#"{:output-path "page.html"}"#),
        (
            "export_html",
            r#"{:output-path "no/such/folder/page.html"}"#,
        ),
        ("export_html", r#"{:output-path 3}"#),
        ("get_commands", "{}"),
    ]);
    expect![[r#"
        get_last_assistant_text {}
            {:id "x" :kind :response :op "get_last_assistant_text" :ok true :data {:text "ok"}}
        get_fork_messages {}
            {:id "x" :kind :response :op "get_fork_messages" :ok true :data {:messages [{:entry-id "E1" :text "hello"}]}}
        get_available_models {}
            {:id "x" :kind :response :op "get_available_models" :ok true :data {:models [{:provider "script" :id "m-1" :name "Scenario m-1" :reasoning false}]}}
        abort_retry {}
            {:id "x" :kind :response :op "abort_retry" :ok true :data {:accepted true}}
        export_html {:output-path "page.html"}
            {:id "x" :kind :response :op "export_html" :ok true :data {:path "ROOT/home/work/page.html"}}
        export_html {:output-path "no/such/folder/page.html"}
            {:kind :error :error-code "runtime/failed" :error-message "ROOT/home/work/no/such/folder/page.html: No such file or directory (os error 2)" :id "x" :op "export_html"}
        export_html {:output-path 3}
            {:kind :error :error-code "request/invalid-params" :error-message ":output-path must be a string, found an integer" :id "x" :op "export_html"}
        get_commands {}
            {:id "x" :kind :response :op "get_commands" :ok true :data {:commands [{:name "help" :description "Show the commands there are" :source :builtin :path nil} {:name "new" :description "Start a new session" :source :builtin :path nil} {:name "resume" :description "Choose a stored session, or load the one in a file" :source :builtin :path nil} {:name "tree" :description "Choose a live session or a place to fork; /tree ID switches, /tree name ID NAME renames" :source :builtin :path nil} {:name "rewind" :description "Go back to the point before a message: files, conversation or both" :source :builtin :path nil} {:name "plan" :description "Plan first: only read until you have accepted a plan" :source :builtin :path nil} {:name "model" :description "Choose a model; /model PROVIDER ID sets it, with project or user for later sessions, too" :source :builtin :path nil} {:name "thinking" :description "Choose a thinking level; /thinking LEVEL sets it" :source :builtin :path nil} {:name "effort" :description "The same as /thinking" :source :builtin :path nil} {:name "status" :description "Show how the session is" :source :builtin :path nil} {:name "history" :description "Show the message history" :source :builtin :path nil} {:name "prompts" :description "List the prompt templates" :source :builtin :path nil} {:name "skills" :description "List the skills" :source :builtin :path nil} {:name "worktree" :description "Show the working folder and its repository" :source :builtin :path nil} {:name "delegate" :description "Give a task to an agent: /delegate AGENT TASK; alone it lists the agents" :source :builtin :path nil} {:name "jobs" :description "List background jobs; /jobs STATUS… lists others than running ones" :source :builtin :path nil} {:name "job" :description "Show a background job" :source :builtin :path nil} {:name "cancel-job" :description "Stop a background job" :source :builtin :path nil} {:name "remember" :description "Keep a note across sessions" :source :builtin :path nil} {:name "login" :description "Log in at a provider" :source :builtin :path nil} {:name "logout" :description "Log out" :source :builtin :path nil} {:name "reload-models" :description "Look for models again" :source :builtin :path nil} {:name "reload-prompts" :description "Read the prompt templates and skills again" :source :builtin :path nil} {:name "reload-extension-installs" :description "Show the extensions' commands, and how to look for extensions again" :source :builtin :path nil} {:name "project-repl" :description "Talk to the project's REPL" :source :builtin :path nil} {:name "quit" :description "Leave" :source :builtin :path nil} {:name "exit" :description "Leave" :source :builtin :path nil} {:name "greet" :description "Greets people" :source :prompt :path "ROOT/home/work/.stentor/prompts/greet.md"}]}}
    "#]].assert_eq(&seen);
    let page = std::fs::read_to_string(client.world.work().join("page.html")).unwrap();
    assert!(page.contains("hello"));
}
