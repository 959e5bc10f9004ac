//! What a call costs: one shell command, and a search of a generated tree.

use std::sync::Arc;

use divan::Bencher;
use serde_json::{Value, json};
use stentor_agent::tool::{LocalPlace, Plan, Progress, Tool, ToolContext, ToolHost, ToolOutput};
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

fn main() {
    divan::main();
}

struct NoHost;

impl ToolHost for NoHost {
    fn plan(&self) -> Plan {
        Plan::default()
    }

    fn set_plan(&self, _: Plan) {}
}

/// A folder to work in, and a tool to work with.
struct Setup {
    runtime: Runtime,
    folder: tempfile::TempDir,
    tool: Arc<dyn Tool>,
}

impl Setup {
    #[expect(
        clippy::expect_used,
        reason = "without a folder there is nothing to measure"
    )]
    fn new(name: &str) -> Self {
        let mut tools = stentor_tools::builtin_tools().into_iter();
        Self {
            runtime: tokio::runtime::Builder::new_multi_thread()
                .worker_threads(2)
                .enable_all()
                .build()
                .expect("a runtime"),
            folder: tempfile::tempdir().expect("a folder"),
            tool: tools
                .find(|tool| tool.spec().name == name)
                .expect("a built-in tool"),
        }
    }

    fn run(&self, arguments: &Value) -> ToolOutput {
        let folder = self.folder.path();
        let context = ToolContext {
            call_id: "1".into(),
            cwd: Arc::from(folder),
            cancel: CancellationToken::new(),
            progress: Progress::ignored(),
            place: Arc::new(LocalPlace),
            host: Arc::new(NoHost),
            spill_dir: Arc::from(folder.join("spill")),
            touches: Arc::default(),
        };
        let arguments = arguments.as_object().cloned().unwrap_or_default();
        // As in the turn loop, the call is a task of its own.
        let call = self
            .runtime
            .spawn(Arc::clone(&self.tool).run(arguments, context));
        let output = self.runtime.block_on(call);
        output.unwrap_or_else(|error| ToolOutput::error(error.to_string()))
    }
}

#[divan::bench]
fn one_bash_round(bencher: Bencher<'_, '_>) {
    let setup = Setup::new("bash");
    let arguments = json!({"command": "echo hello"});
    bencher.bench_local(|| setup.run(&arguments));
}

#[divan::bench(sample_count = 10)]
fn a_hundred_megabytes_through_bash(bencher: Bencher<'_, '_>) {
    let setup = Setup::new("bash");
    let arguments = json!({"command": "yes | head -c 100000000"});
    bencher.bench_local(|| setup.run(&arguments));
}

/// Ten thousand files of ten kilobytes, the word in one of a thousand.
#[divan::bench(sample_count = 20)]
#[expect(
    clippy::expect_used,
    reason = "without a tree there is nothing to measure"
)]
fn grep_a_tree(bencher: Bencher<'_, '_>) {
    let setup = Setup::new("grep");
    for n in 0..10_000 {
        let folder = setup.folder.path().join(format!("d{}", n % 100));
        std::fs::create_dir_all(&folder).expect("a folder");
        let mut text = "some words that are not what is looked for\n".repeat(240);
        if n % 1000 == 0 {
            text.push_str("the needle\n");
        }
        std::fs::write(folder.join(format!("f{n}.txt")), text).expect("a file");
    }
    let arguments = json!({"pattern": "needle"});
    bencher.bench_local(|| setup.run(&arguments));
}
