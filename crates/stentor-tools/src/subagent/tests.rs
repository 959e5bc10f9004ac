//! Subagents in a real session, with a model that plays a scenario.

use std::path::Path;
use std::sync::Arc;

use serde_json::json;
use stentor_agent::commands::{CommandCache, CommandFolders};
use stentor_agent::event::{EventKind, RunEnd, RunOutcome};
use stentor_agent::hub::Subscription;
use stentor_agent::jobs::{JobKind, JobStatus, JobWork};
use stentor_agent::model::{Model, ModelError, ModelInfo, ModelRegistry, NamedBy};
use stentor_agent::session::{Environment, Session, SessionOptions, Storage};
use stentor_journal::clock::CountingClock;
use stentor_journal::message::ContentBlock;
use stentor_journal::store;
use stentor_model::script::{ScriptFormat, ScriptModel};
use stentor_policy::{PermissionMode, Policy};

use super::{MAX_TASKS, SubagentSetup, Task, subagent_tool, tasks};

struct OneModel(Arc<ScriptModel>);

impl ModelRegistry for OneModel {
    fn available(&self) -> Vec<Arc<ModelInfo>> {
        vec![Arc::clone(self.0.info())]
    }

    fn find(&self, _: &str, id: &str, _: NamedBy) -> Option<Arc<ModelInfo>> {
        let info = self.0.info();
        (info.id == id).then(|| Arc::clone(info))
    }

    fn open(&self, _: &Arc<ModelInfo>) -> Result<Arc<dyn Model>, ModelError> {
        Ok(Arc::clone(&self.0) as Arc<dyn Model>)
    }
}

/// A folder in which a parent and its subagents play a scenario.
struct Stage {
    folder: tempfile::TempDir,
    environment: Environment,
    options: SessionOptions,
}

impl Stage {
    fn new(scenario: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let model = ScriptModel::parse(scenario, ScriptFormat::Toml, "play").unwrap();
        let info = Arc::clone(model.info());
        let environment = Environment {
            models: Arc::new(OneModel(model)),
            shell: crate::local_shell(),
            clock: Arc::new(CountingClock::starting_at(0)),
            journals: Arc::new(stentor_journal::store::SessionFileStore),
            spill_dir: Arc::from(folder.path().join("spill")),
        };
        let mut options = SessionOptions::in_memory(folder.path(), crate::builtin_tools());
        options.system_prompt = "You are the parent.".into();
        options.model = Some(info);
        options.commands = Some(Arc::new(CommandCache::new(CommandFolders {
            project: folder.path().into(),
            ..CommandFolders::default()
        })));
        options.tools.push(subagent_tool(SubagentSetup {
            environment: environment.clone(),
            session: options.clone(),
        }));
        Self {
            folder,
            environment,
            options,
        }
    }

    fn start(&self) -> Session {
        Session::start(self.environment.clone(), self.options.clone()).unwrap()
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }
}

/// Prompts, and returns what was told until the session is idle.
async fn play(session: &Session) -> (Vec<String>, Arc<RunEnd>) {
    let mut events = session.subscribe();
    begin(session).await;
    until_idle(&mut events).await
}

async fn begin(session: &Session) {
    drop(
        session
            .prompt(vec![ContentBlock::text("go")])
            .await
            .unwrap(),
    );
}

async fn until_idle(events: &mut Subscription) -> (Vec<String>, Arc<RunEnd>) {
    let mut told = Vec::new();
    let mut end = None;
    while let Some(event) = events.next().await {
        match event.kind {
            EventKind::ToolStarted { call } => told.push(format!("call {}", call.id)),
            EventKind::ToolEnded { call, output, .. } => {
                let kind = if output.is_error { "error" } else { "result" };
                told.push(format!(
                    "{kind} {}: {}",
                    call.id,
                    crate::testing::text(&output)
                ));
            }
            EventKind::SubagentStarted(agent) => {
                told.push(format!(
                    "start {} {}: {}",
                    agent.name, agent.call_id, agent.task
                ));
            }
            EventKind::SubagentProgress { agent, status, .. } => {
                told.push(format!("doing {}: {status}", agent.name));
            }
            EventKind::SubagentEnded { agent, end } => {
                let kind = if end.failed { "failed" } else { "done" };
                told.push(format!("{kind} {}: {}", agent.name, end.result));
            }
            EventKind::RunEnded(run) => end = Some(run),
            EventKind::Settled { .. } => break,
            _ => {}
        }
    }
    (told, end.unwrap())
}

const CHILD: &str = "when = { system_contains = \"as a subagent\" }";

#[tokio::test]
async fn the_task_is_worked_on_out_of_sight_and_its_result_goes_back_to_the_model() {
    let stage = Stage::new(&format!(
        r#"
        usage = {{ input = 10, output = 1 }}
        [[turn]]
        when = {{ system_contains = "as a subagent", last_role = "user" }}
        steps = [{{ text = "Let me look." }}, {{ tool = "bash", arguments = {{ command = "echo hi" }} }}]
        usage = {{ input = 100, output = 10, cache_write = 5, cache_write_5m = 5 }}
        [[turn]]
        {CHILD}
        text = "It says {{{{last_tool_result}}}}"
        usage = {{ input = 200, output = 20 }}
        [[turn]]
        tool = "subagent"
        arguments = {{ task = "look around" }}
        [[turn]]
        text = "The end: {{{{last_tool_result}}}}"
        "#
    ));
    let session = stage.start();
    let (told, end) = play(&session).await;
    assert_eq!(
        told,
        [
            "call call_1_1",
            "start general call_1_1: look around",
            "doing general: 💭 thinking...",
            "doing general: ⚙ bash (tool #1)",
            "doing general: $ echo hi",
            "doing general: 💭 thinking...",
            "done general: It says hi",
            "result call_1_1: It says hi",
        ]
    );
    let text = session.last_assistant_text().await.unwrap().unwrap();
    assert_eq!(text, "The end: It says hi");
    assert_eq!(
        (end.usage.input, end.usage.output, end.usage.cache_write_5m),
        (320, 32, Some(5))
    );
    let total = session.stats().await.unwrap().total_usage;
    assert_eq!((total.input, total.output), (320, 32));
}

#[tokio::test]
async fn what_subagents_consumed_is_still_known_when_the_session_is_resumed() {
    let mut stage = Stage::new(&format!(
        r#"
        usage = {{ input = 10, output = 1 }}
        [[turn]]
        {CHILD}
        text = "done"
        usage = {{ input = 100, output = 10 }}
        [[turn]]
        tool = "subagent"
        arguments = {{ task = "work" }}
        [[turn]]
        text = "end"
        "#
    ));
    let sessions = stage.path("sessions");
    stage.options.storage = Storage::FolderAtOnce(sessions.clone());
    let session = stage.start();
    play(&session).await;
    let file = session.state().await.unwrap().file.unwrap();
    session.close().await;
    let opened = store::open(&file).unwrap();
    let again = Session::resume(stage.environment.clone(), stage.options.clone(), opened).unwrap();
    let total = again.stats().await.unwrap().total_usage;
    assert_eq!((total.input, total.output), (120, 12));
}

#[tokio::test]
async fn a_subagent_has_only_what_is_left_of_the_budget() {
    let mut stage = Stage::new(&format!(
        r#"
        usage = {{ input = 10 }}
        [[turn]]
        {CHILD}
        tool = "bash"
        arguments = {{ command = "true" }}
        [[turn]]
        tool = "subagent"
        arguments = {{ task = "work" }}
        "#
    ));
    stage.options.budget.tokens = Some(35);
    let (told, end) = play(&stage.start()).await;
    let result = told.last().unwrap();
    assert!(
        result.contains("Budget reached: 30 of 25 tokens are used."),
        "{result}"
    );
    assert_eq!(end.usage.input, 40);
}

#[tokio::test]
async fn subagents_that_run_together_have_one_budget_together() {
    let task = |n: u32| {
        format!("{{ tool = \"subagent\", id = \"s{n}\", arguments = {{ task = \"work\" }} }}")
    };
    let mut stage = Stage::new(&format!(
        r#"
        usage = {{ input = 10 }}
        [[turn]]
        {CHILD}
        tool = "bash"
        arguments = {{ command = "true" }}
        [[turn]]
        steps = [{}, {}, {}, {}]
        "#,
        task(1),
        task(2),
        task(3),
        task(4)
    ));
    stage.options.budget.tokens = Some(100);
    let (told, end) = play(&stage.start()).await;
    let failed = told.iter().filter(|line| line.contains("Budget reached"));
    assert!(failed.count() >= 4, "{told:?}");
    // The calls that run when the last token is spent are paid for, too.
    assert!((100..=130).contains(&end.usage.input), "{:?}", end.usage);
}

#[tokio::test]
async fn several_calls_and_several_tasks_of_one_call_run_together() {
    let meet = |own: &str, other: &str| {
        format!("touch {own}; while [ ! -e {other} ]; do sleep 0.01; done; echo met")
    };
    let (a, b) = (meet("a", "b"), meet("b", "a"));
    let children = format!(
        r#"
        [[turn]]
        when = {{ system_contains = "as a subagent", last_user_contains = "first" }}
        tool = "bash"
        arguments = {{ command = "{a}" }}
        [[turn]]
        when = {{ system_contains = "as a subagent", last_user_contains = "second" }}
        tool = "bash"
        arguments = {{ command = "{b}" }}
        [[turn]]
        {CHILD}
        text = "{{{{last_tool_result}}}}"
        "#
    );
    for (calls, expected) in [
        (
            "steps = [{ tool = \"subagent\", id = \"x\", arguments = { task = \"first\" } }, { tool = \"subagent\", id = \"y\", arguments = { task = \"second\" } }]",
            vec!["met", "met"],
        ),
        (
            "steps = [{ tool = \"subagent\", id = \"x\", arguments = { tasks = [{ task = \"first\" }, { task = \"second\" }] } }]",
            vec!["## 1. general: first\n\nmet\n\n## 2. general: second\n\nmet"],
        ),
    ] {
        let stage = Stage::new(&format!(
            "{children}\n[[turn]]\n{calls}\n[[turn]]\ntext = \"end\""
        ));
        let (told, _) = play(&stage.start()).await;
        let mut results: Vec<&str> = told
            .iter()
            .filter_map(|line| line.strip_prefix("result ")?.split_once(": "))
            .map(|(_, text)| text)
            .collect();
        results.sort_unstable();
        assert_eq!(results, expected);
        assert_eq!(
            told.iter().filter(|line| line.starts_with("start")).count(),
            2
        );
        assert_eq!(
            told.iter().filter(|line| line.starts_with("done")).count(),
            2
        );
    }
}

#[tokio::test]
async fn an_abort_of_the_parent_ends_the_subagent_and_its_processes() {
    let stage = Stage::new(&format!(
        r#"
        [[turn]]
        {CHILD}
        tool = "bash"
        arguments = {{ command = "echo $$ > pid; mv pid there; sleep 1000" }}
        [[turn]]
        tool = "subagent"
        arguments = {{ task = "wait" }}
        "#
    ));
    let session = stage.start();
    let mut events = session.subscribe();
    begin(&session).await;
    let pid = until_written(&stage.path("there")).await;
    session.abort().await.unwrap();
    let (told, _) = until_idle(&mut events).await;
    let ends: Vec<&String> = told
        .iter()
        .filter(|line| line.starts_with("failed"))
        .collect();
    assert_eq!(ends, ["failed general: cancelled"]);
    assert_eq!(
        told.last().unwrap(),
        "error call_1_1: The subagent `general` failed: cancelled"
    );
    let alive = Path::new("/proc").join(pid.trim()).join("stat");
    let state = std::fs::read_to_string(alive).unwrap_or_default();
    assert!(state.is_empty() || state.contains(") Z "), "{state}");
}

/// Waits for a file by asking again and again.
async fn until_written(path: &Path) -> String {
    loop {
        if let Ok(text) = std::fs::read_to_string(path) {
            return text;
        }
        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    }
}

#[tokio::test]
async fn the_parents_policy_decides_about_the_calls_of_a_subagent() {
    let mut stage = Stage::new(&format!(
        r#"
        [[turn]]
        when = {{ system_contains = "as a subagent", last_role = "user" }}
        tool = "write"
        arguments = {{ path = "made", content = "x" }}
        [[turn]]
        {CHILD}
        text = "{{{{last_tool_result}}}}"
        [[turn]]
        tool = "subagent"
        arguments = {{ task = "write" }}
        [[turn]]
        text = "end"
        "#
    ));
    stage.options.policy = Policy::new(PermissionMode::ReadOnly, Vec::new());
    let (told, _) = play(&stage.start()).await;
    let result = told.last().unwrap();
    assert!(result.contains("read-only"), "{result}");
    assert!(!stage.path("made").exists());
}

#[tokio::test]
async fn an_agent_from_a_file_has_its_own_prompt_and_only_its_tools() {
    let stage = Stage::new(
        r#"
        [[turn]]
        when = { system_contains = "You are a reviewer.", last_role = "user" }
        tool = "bash"
        arguments = { command = "true" }
        [[turn]]
        when = { system_contains = "You are a reviewer." }
        text = "{{last_tool_result}}"
        [[turn]]
        tool = "subagent"
        arguments = { task = "review", agent = "reviewer" }
        [[turn]]
        tool = "subagent"
        arguments = { task = "review", agent = "nobody" }
        [[turn]]
        text = "end"
        "#,
    );
    let agents = stage.path(".stentor/agents");
    std::fs::create_dir_all(&agents).unwrap();
    let file = "---\nname: reviewer\ntools: read\nmodel: sonnet\n---\nYou are a reviewer.";
    std::fs::write(agents.join("reviewer.md"), file).unwrap();
    let (told, _) = play(&stage.start()).await;
    let results: Vec<&str> = told
        .iter()
        .filter(|line| line.starts_with("result") || line.starts_with("error"))
        .map(String::as_str)
        .collect();
    assert_eq!(
        results,
        [
            "result call_1_1: Tool bash not found",
            "error call_2_1: There is no agent `nobody`. Available: reviewer, general.",
        ]
    );
}

#[tokio::test]
async fn a_failing_model_and_a_time_limit_are_failures_with_their_reason() {
    let stage = Stage::new(
        r#"
        [[turn]]
        when = { system_contains = "as a subagent", last_user_contains = "break" }
        error = { kind = "auth", message = "no key" }
        [[turn]]
        when = { system_contains = "as a subagent", last_user_contains = "hang" }
        steps = [{ hang = true }]
        [[turn]]
        steps = [
          { tool = "subagent", id = "x", arguments = { task = "break" } },
          { tool = "subagent", id = "y", arguments = { task = "hang", timeout = 0.01 } },
          { tool = "subagent", id = "z", arguments = { task = "hang", timeout = -1 } },
        ]
        [[turn]]
        text = "end"
        "#,
    );
    let (told, _) = play(&stage.start()).await;
    let mut ends: Vec<&str> = told
        .iter()
        .filter(|line| line.starts_with("failed") || line.starts_with("error"))
        .map(String::as_str)
        .collect();
    ends.sort_unstable();
    assert_eq!(
        ends,
        [
            "error x: The subagent `general` failed: no key",
            "error y: The subagent `general` failed: it was stopped after 0.01 seconds, its time limit",
            "error z: Invalid timeout: -1. It must be a positive number of seconds.",
            "failed general: it was stopped after 0.01 seconds, its time limit",
            "failed general: no key",
        ]
    );
}

#[test]
fn a_call_that_says_too_little_or_too_much_is_refused_before_anything_starts() {
    let many = vec![json!({"task": "x"}); MAX_TASKS + 1];
    for (arguments, expected) in [
        (json!({}), "subagent needs a task, or tasks."),
        (
            json!({"task": "x", "tasks": [{"task": "y"}]}),
            "Give either task or tasks, not both.",
        ),
        (json!({"tasks": []}), "Give between 1 and 16 tasks, not 0."),
        (
            json!({"tasks": many}),
            "Give between 1 and 16 tasks, not 17.",
        ),
        (
            json!({"task": " "}),
            "Every task needs a description of what to do.",
        ),
    ] {
        let refused = tasks(serde_json::from_value(arguments).unwrap()).map(|_: Vec<Task>| ());
        assert_eq!(refused.unwrap_err().to_string(), expected);
    }
}

#[test]
fn an_agent_that_was_added_is_told_of_with_the_tool() {
    let stage = Stage::new("[[turn]]\ntext = \"done\"\n");
    let tool = stage.options.tools.last().unwrap();
    let shelf = stage.options.commands.as_ref().unwrap();
    assert!(
        tool.spec()
            .description
            .ends_with("Agents:\n- general: Works on any task with all tools.")
    );
    shelf.look();
    assert!(tool.renewed().is_none());
    let folder = stage.path(".omp/agents");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(
        folder.join("tester.md"),
        "---\ndescription: Tests\n---\nYou test.",
    )
    .unwrap();
    // It is looked for when a run begins.
    assert!(tool.renewed().is_none());
    shelf.look();
    let renewed = tool.renewed().unwrap();
    let told = "Agents:\n- tester: Tests\n- general: Works on any task with all tools.";
    assert!(renewed.spec().description.ends_with(told));
    assert!(renewed.renewed().is_none());
}

#[tokio::test]
async fn a_subagent_is_a_job_of_its_session_and_stopping_the_job_stops_it_alone() {
    let stage = Stage::new(&format!(
        r#"
        [[turn]]
        {CHILD}
        steps = [{{ hang = true }}]
        [[turn]]
        tool = "subagent"
        arguments = {{ task = "wait" }}
        [[turn]]
        text = "went on"
        "#
    ));
    let session = stage.start();
    let mut events = session.subscribe();
    begin(&session).await;
    while let Some(event) = events.next().await {
        if matches!(event.kind, EventKind::SubagentStarted(_)) {
            break;
        }
    }
    let job = session.jobs().list().pop().unwrap();
    assert_eq!(
        (job.id.as_str(), job.kind, job.status, &job.work),
        (
            "job-1",
            JobKind::Subagent,
            JobStatus::Running,
            &JobWork {
                tool_name: "subagent".into(),
                tool_call_id: "call_1_1".into(),
                what: "general: wait".into(),
            }
        )
    );
    session.jobs().cancel("job-1").unwrap();
    let (mut told, end) = until_idle(&mut events).await;
    // Whether it began to think before it was stopped is nobody's business.
    told.retain(|line| !line.starts_with("doing"));
    assert_eq!(
        told,
        [
            "failed general: cancelled",
            "error call_1_1: The subagent `general` failed: cancelled",
        ]
    );
    assert_eq!(end.outcome, RunOutcome::Completed);
    let job = session.jobs().find("job-1").unwrap();
    let payload = job.ended.unwrap().payload;
    assert_eq!(
        (job.status, payload),
        (JobStatus::Cancelled, Some(json!("cancelled")))
    );
}
