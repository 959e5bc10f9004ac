//! What a call costs: one shell command, and a search of a generated tree.

use std::path::Path;
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

fn tool(name: &str) -> Arc<dyn Tool> {
    let mut tools = stentor_tools::builtin_tools().into_iter();
    tools
        .find(|tool| tool.spec().name == name)
        .unwrap_or_else(|| unreachable!("{name} is built in"))
}

fn run(runtime: &Runtime, tool: &Arc<dyn Tool>, folder: &Path, arguments: &Value) -> ToolOutput {
    let context = ToolContext {
        call_id: "1".into(),
        cwd: Arc::from(folder),
        cancel: CancellationToken::new(),
        progress: Progress::ignored(),
        place: Arc::new(LocalPlace),
        host: Arc::new(NoHost),
        spill_dir: Arc::from(folder.join("spill")),
    };
    let arguments = arguments.as_object().cloned().unwrap_or_default();
    runtime.block_on(Arc::clone(tool).run(arguments, context))
}

fn runtime() -> std::io::Result<Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
}

#[divan::bench]
fn one_bash_round(bencher: Bencher) -> std::io::Result<()> {
    let (runtime, folder, bash) = (runtime()?, tempfile::tempdir()?, tool("bash"));
    let arguments = json!({"command": "echo hello"});
    bencher.bench_local(|| run(&runtime, &bash, folder.path(), &arguments));
    Ok(())
}

#[divan::bench]
fn a_hundred_megabytes_through_bash(bencher: Bencher) -> std::io::Result<()> {
    let (runtime, folder, bash) = (runtime()?, tempfile::tempdir()?, tool("bash"));
    let arguments = json!({"command": "yes | head -c 100000000"});
    bencher.bench_local(|| run(&runtime, &bash, folder.path(), &arguments));
    Ok(())
}

/// Ten thousand files of ten kilobytes, the word in one of a thousand.
#[divan::bench(sample_count = 20)]
fn grep_a_tree(bencher: Bencher) -> std::io::Result<()> {
    let (runtime, folder, grep) = (runtime()?, tempfile::tempdir()?, tool("grep"));
    for n in 0..10_000 {
        let name = folder.path().join(format!("d{}/f{n}.txt", n % 100));
        if let Some(parent) = name.parent() {
            std::fs::create_dir_all(parent)?;
        }
        let mut text = "some words that are not what is looked for\n".repeat(240);
        if n % 1000 == 0 {
            text.push_str("the needle\n");
        }
        std::fs::write(name, text)?;
    }
    let arguments = json!({"pattern": "needle"});
    bencher.bench_local(|| run(&runtime, &grep, folder.path(), &arguments));
    Ok(())
}
