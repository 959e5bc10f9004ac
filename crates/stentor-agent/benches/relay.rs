//! What a delta costs on its way from the model to a subscriber, and what an idle session holds.
//!
//! `cargo bench -p stentor-agent --bench relay`

#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a benchmark ends at a surprise and prints its figures"
)]

use std::path::Path;
use std::sync::Arc;

use divan::Bencher;
use divan::counter::ItemsCount;
use stentor_agent::event::EventKind;
use stentor_agent::hub::Subscription;
use stentor_agent::model::{Model, ModelError, ModelInfo, ModelRegistry, NamedBy};
use stentor_agent::session::{Environment, Session, SessionOptions};
use stentor_agent::tool::{Shell, ShellFuture, ShellJob};
use stentor_journal::clock::SystemClock;
use stentor_journal::message::ContentBlock;
use stentor_model::script::{Scenario, ScriptModel, ScriptTurn};
use tokio::runtime::{Builder, Runtime};

fn main() {
    memory_of_idle_sessions();
    divan::main();
}

/// One run of so many deltas, read by a subscriber that keeps up.
#[divan::bench(args = [2_000, 20_000, 200_000], sample_count = 10)]
fn deltas(bencher: Bencher<'_, '_>, count: u64) {
    bencher
        .counter(ItemsCount::new(count))
        .with_inputs(|| Scene::new(count))
        .bench_local_values(|scene| scene.run());
}

/// The same when nobody reads until the run is over: the deltas merge.
#[divan::bench(args = [2_000, 20_000, 200_000], sample_count = 10)]
fn deltas_behind_a_sleeping_reader(bencher: Bencher<'_, '_>, count: u64) {
    bencher
        .counter(ItemsCount::new(count))
        .with_inputs(|| Scene::new(count))
        .bench_local_values(|scene| scene.run_unread());
}

/// A session whose model says `count` deltas.
struct Scene {
    runtime: Runtime,
    session: Session,
    events: Subscription,
}

impl Scene {
    fn new(count: u64) -> Self {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let turn = ScriptTurn::new().repeat("word ", count);
        let environment = environment(Scenario::new().turn(turn));
        let session = runtime.block_on(async { start(&environment) });
        let events = session.subscribe();
        Self {
            runtime,
            session,
            events,
        }
    }

    fn run(mut self) -> usize {
        self.runtime.block_on(async {
            prompt(&self.session).await;
            let mut seen = 0;
            while let Some(event) = self.events.next().await {
                match event.kind {
                    EventKind::BlockDelta { range, .. } => seen += range.len(),
                    EventKind::Settled { .. } => break,
                    _ => {}
                }
            }
            seen
        })
    }

    fn run_unread(self) {
        let mut settled = self.session.subscribe();
        self.runtime.block_on(async {
            prompt(&self.session).await;
            while let Some(event) = settled.next().await {
                if let EventKind::Settled { .. } = event.kind {
                    break;
                }
            }
        });
    }
}

/// Prints how much the process grows by a thousand idle sessions that have spoken once.
fn memory_of_idle_sessions() {
    const SESSIONS: u64 = 1000;
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let environment = environment(Scenario::new().text("Hello."));
        let mut sessions = vec![spoken(&environment).await];
        let before = resident_bytes();
        for _ in 0..SESSIONS {
            sessions.push(spoken(&environment).await);
        }
        let each = resident_bytes().saturating_sub(before) / SESSIONS;
        eprintln!("an idle session that has spoken once: {each} bytes");
    });
}

async fn spoken(environment: &Environment) -> Session {
    let session = start(environment);
    let mut events = session.subscribe();
    prompt(&session).await;
    while let Some(event) = events.next().await {
        if let EventKind::Settled { .. } = event.kind {
            break;
        }
    }
    session
}

fn resident_bytes() -> u64 {
    const PAGE_BYTES: u64 = 4096;
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text.split(' ').nth(1).and_then(|pages| pages.parse().ok());
    pages.map_or(0, |pages: u64| pages * PAGE_BYTES)
}

fn environment(scenario: Scenario) -> Environment {
    Environment {
        models: Arc::new(One(ScriptModel::new(scenario, "bench"))),
        shell: Arc::new(NoShell),
        clock: Arc::new(SystemClock),
        journals: Arc::new(stentor_journal::store::SessionFileStore),
        spill_dir: Arc::from(Path::new("/nowhere")),
    }
}

fn start(environment: &Environment) -> Session {
    let mut options = SessionOptions::in_memory("/project", Vec::new());
    options.model = environment.models.available().pop();
    Session::start(environment.clone(), options).unwrap()
}

async fn prompt(session: &Session) {
    let accepted = session.prompt(vec![ContentBlock::text("go")]).await;
    drop(accepted.unwrap());
}

struct One(Arc<ScriptModel>);

impl ModelRegistry for One {
    fn available(&self) -> Vec<Arc<ModelInfo>> {
        vec![Arc::clone(self.0.info())]
    }

    fn find(&self, _: &str, _: &str, _: NamedBy) -> Option<Arc<ModelInfo>> {
        self.available().pop()
    }

    fn open(&self, _: &Arc<ModelInfo>) -> Result<Arc<dyn Model>, ModelError> {
        Ok(Arc::clone(&self.0) as Arc<dyn Model>)
    }
}

struct NoShell;

impl Shell for NoShell {
    fn run(&self, _: ShellJob) -> ShellFuture {
        Box::pin(std::future::ready(Err("no shell".into())))
    }
}
