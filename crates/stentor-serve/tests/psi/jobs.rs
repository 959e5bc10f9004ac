//! Sections 9.9 and 11.5: what runs beside the conversation; and the operations the original
//! leaves unsupported.

use expect_test::expect;

use super::client::Client;
use super::world::{OK, World};

fn gated() -> Client {
    let client = Client::ready(World::new(&[OK]));
    let gate = client.world.work().join("gate");
    assert!(
        std::process::Command::new("mkfifo")
            .arg(gate)
            .status()
            .unwrap()
            .success()
    );
    client
}

#[test]
fn a_command_of_the_user_is_a_job_that_can_be_listed_inspected_and_cancelled() {
    let mut client = gated();
    client.send_request("b", "bash", r#"{:command "echo begun; read x < gate"}"#);
    let mut jobs = client.answer("list_background_jobs", "{}");
    while jobs.ends_with("{:jobs []}}") {
        jobs = client.answer("list_background_jobs", "{}");
    }
    let mut seen = vec![jobs];
    seen.push(client.answer("inspect_background_job", r#"{:job-id "job-1"}"#));
    seen.push(client.answer("command", r#"{:text "/jobs"}"#));
    let cancelled = client.answer("cancel_background_job", r#"{:job-id "job-1"}"#);
    assert!(
        cancelled.contains(":accepted true :job {:job-id \"job-1\""),
        "{cancelled}"
    );
    let ended = client.until_answer(Some("b")).pop().unwrap();
    assert!(ended.contains(":cancelled true"), "{ended}");
    let listed = client.answer(
        "list_background_jobs",
        r#"{:statuses [:cancelled "failed"]}"#,
    );
    assert!(listed.contains(":status :cancelled"), "{listed}");
    assert!(
        client
            .answer("list_background_jobs", "{}")
            .ends_with("{:jobs []}}")
    );
    for (op, params, code) in [
        (
            "list_background_jobs",
            r#"{:statuses "running"}"#,
            "request/invalid-params",
        ),
        ("inspect_background_job", "{}", "request/invalid-params"),
        (
            "inspect_background_job",
            r#"{:job-id "job-9"}"#,
            "runtime/failed",
        ),
        (
            "cancel_background_job",
            r#"{:job-id "job-9"}"#,
            "runtime/failed",
        ),
    ] {
        let answer = client.answer(op, params);
        assert!(answer.contains(code), "{op}: {answer}");
    }
    expect![[r#"
        {:id "x" :kind :response :op "list_background_jobs" :ok true :data {:jobs [{:job-id "job-1" :thread-id "S1" :tool-call-id "bash-1" :tool-name "bash" :job-kind :shell :workflow-ext-path nil :workflow-id nil :job-seq 1 :started-at "TIME" :completed-at nil :completed-seq nil :status :running :terminal-payload nil :terminal-payload-file nil :cancel-requested-at nil :terminal-message-emitted false :terminal-message-emitted-at nil :summary {:job-id "job-1" :tool-name "bash" :status :running :status-label "running" :is-terminal false :is-running true :is-cancelling false :list-line "job-1  [running]  bash"}}]}}
        {:id "x" :kind :response :op "inspect_background_job" :ok true :data {:job {:job-id "job-1" :thread-id "S1" :tool-call-id "bash-1" :tool-name "bash" :job-kind :shell :workflow-ext-path nil :workflow-id nil :job-seq 1 :started-at "TIME" :completed-at nil :completed-seq nil :status :running :terminal-payload nil :terminal-payload-file nil :cancel-requested-at nil :terminal-message-emitted false :terminal-message-emitted-at nil :summary {:job-id "job-1" :tool-name "bash" :status :running :status-label "running" :is-terminal false :is-running true :is-cancelling false :list-line "job-1  [running]  bash"}}}}
        {:id "x" :kind :response :op "command" :ok true :data {:accepted true :handled true}}"#]].assert_eq(&seen.join("\n"));
}

#[test]
fn bash_answers_with_its_output_while_others_are_served_and_is_aborted() {
    let mut client = gated();
    let answer = client.answer("bash", r#"{:command "echo hi; exit 3"}"#);
    assert_eq!(
        answer,
        r#"{:id "x" :kind :response :op "bash" :ok true :data {:output "hi\n" :exit-code 3 :cancelled false :truncated false :full-output-path nil}}"#
    );
    client.send_request("b", "bash", r#"{:command "read x < gate"}"#);
    assert!(client.answer("ping", "{}").contains(":pong"));
    client.send_request("a", "abort_bash", "{}");
    let seen = client.until_answer(Some("b"));
    assert!(seen.last().unwrap().contains(":cancelled true"), "{seen:?}");
    assert!(
        client
            .answer("bash", "{}")
            .contains("request/invalid-params")
    );
}

#[test]
fn the_operations_the_original_leaves_unsupported_are_served() {
    let world = World::new(&[OK]);
    world.file(".stentor/prompts/greet.md", "Greets people");
    let mut client = Client::ready(world);
    client.run("hello");
    let mut seen = String::new();
    for op in [
        "get_last_assistant_text",
        "get_fork_messages",
        "get_available_models",
        "abort_retry",
    ] {
        seen.push_str(&format!("{}\n", client.answer(op, "{}")));
    }
    seen.push_str(&client.answer("export_html", r#"{:output-path "page.html"}"#));
    expect![[r#"
        {:id "x" :kind :response :op "get_last_assistant_text" :ok true :data {:text "ok"}}
        {:id "x" :kind :response :op "get_fork_messages" :ok true :data {:messages [{:entry-id "E1" :text "hello"}]}}
        {:id "x" :kind :response :op "get_available_models" :ok true :data {:models [{:provider "script" :id "m-1" :name "Scenario m-1" :reasoning false}]}}
        {:id "x" :kind :response :op "abort_retry" :ok true :data {:accepted true}}
        {:id "x" :kind :response :op "export_html" :ok true :data {:path "ROOT/home/work/page.html"}}"#]].assert_eq(&seen);
    let page = std::fs::read_to_string(client.world.work().join("page.html")).unwrap();
    assert!(page.contains("hello"));
    let commands = client.answer("get_commands", "{}");
    assert!(commands.contains(r#"{:name "quit" :description "Leave" :source :builtin :path nil}"#));
    assert!(commands.contains(r#"{:name "greet" :description "Greets people" :source :prompt"#));
}
