//! What the psi dialect costs: `cargo bench -p stentor-serve --bench psi`.
//!
//! A scripted model writes 20,000 deltas; each event carries the whole text so far. `eager` sends
//! an event whenever the reader keeps up, `paced` as the dialect does by default, and `asleep`
//! has a reader that begins to read only when the model is done.

#![expect(clippy::expect_used, reason = "a benchmark ends at a surprise")]
#![expect(clippy::print_stdout, reason = "a benchmark tells its numbers")]

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use divan::{Bencher, black_box};
use stentor_agent::agent::{Agent, SessionDefaults};
use stentor_agent::box_error::BoxError;
use stentor_agent::model::{Model, ModelError, ModelInfo, ModelRegistry, NamedBy};
use stentor_agent::session::{Environment, SessionOptions};
use stentor_journal::clock::SystemClock;
use stentor_journal::session_files::SessionFiles;
use stentor_model::script::{ScriptFormat, ScriptModel};
use stentor_serve::connection::Connection;
use stentor_serve::psi::{self, PsiOptions};
use stentor_serve::stdio::Pipes;

const DELTAS: usize = 20_000;

fn main() {
    summary();
    divan::main();
}

/// What goes over the wire: a slow reader gets fewer events, not more, and ten times the deltas
/// cost about ten times as much, the copies of the growing text aside.
fn summary() {
    for (name, deltas, interval_ms, asleep) in [
        ("paced", DELTAS, 40, false),
        ("eager", DELTAS / 10, 0, false),
        ("eager", DELTAS, 0, false),
        ("asleep", DELTAS, 0, true),
    ] {
        let begun = Instant::now();
        let (events, bytes) = relay(deltas, Duration::from_millis(interval_ms), asleep);
        let micros = begun.elapsed().as_micros();
        println!(
            "{name:>6}: {deltas} deltas became {events} events, {bytes} bytes, in {micros} µs"
        );
    }
}

#[divan::bench(sample_count = 5, sample_size = 1)]
fn relay_20000_deltas_paced(bencher: Bencher) {
    bencher.bench_local(|| black_box(relay(DELTAS, Duration::from_millis(40), false)));
}

#[divan::bench(sample_count = 5, sample_size = 1)]
fn relay_20000_deltas_eager(bencher: Bencher) {
    bencher.bench_local(|| black_box(relay(DELTAS, Duration::ZERO, false)));
}

#[divan::bench(sample_count = 5, sample_size = 1)]
fn relay_20000_deltas_asleep(bencher: Bencher) {
    bencher.bench_local(|| black_box(relay(DELTAS, Duration::ZERO, true)));
}

/// Runs one turn and returns how many delta events and bytes were read.
fn relay(deltas: usize, interval: Duration, asleep: bool) -> (usize, usize) {
    let pipe = || rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).expect("a pipe");
    let ((their_input, input), (output, their_output)) = (pipe(), pipe());
    let serving = std::thread::spawn(move || serve(their_input, their_output, deltas, interval));
    let mut input = File::from(input);
    for line in [
        r#"{:id "h" :kind :request :op "handshake" :params {:protocol-version "1.0"}}"#,
        r#"{:id "s" :kind :request :op "subscribe" :params {:topics ["assistant/delta" "assistant/message"]}}"#,
        r#"{:id "p" :kind :request :op "prompt" :params {:message "go"}}"#,
    ] {
        writeln!(input, "{line}").expect("written");
    }
    if asleep {
        std::thread::sleep(Duration::from_millis(500));
    }
    let (mut events, mut bytes) = (0, 0);
    for line in BufReader::new(File::from(output)).lines() {
        let line = line.expect("read");
        bytes += line.len();
        events += usize::from(line.contains("\"assistant/delta\""));
        if line.contains("\"assistant/message\" :data") {
            break;
        }
    }
    drop(input);
    serving.join().expect("served");
    (events, bytes)
}

fn serve(stdin: OwnedFd, stdout: OwnedFd, deltas: usize, interval: Duration) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    let mut options = PsiOptions::new("/");
    options.delta_interval = interval;
    options.local_time = false;
    runtime.block_on(async {
        psi::serve(
            agent(deltas),
            Connection::stdio(Pipes { stdin, stdout }),
            options,
        )
        .await;
    });
}

fn agent(deltas: usize) -> Agent {
    let script =
        format!("[[turn]]\nsteps = [ {{ text = \"a few words \", repeat = {deltas} }} ]\n");
    let model = ScriptModel::parse(&script, ScriptFormat::Toml, "m").expect("a scenario");
    let info = Arc::clone(model.info());
    let environment = Environment {
        models: Arc::new(One(model)),
        shell: stentor_tools::local_shell(),
        clock: Arc::new(SystemClock),
        journals: Arc::new(stentor_journal::store::SessionFileStore),
        spill_dir: Path::new("/nonexistent").into(),
    };
    Agent::new(environment, Arc::new(Defaults(info)), SessionFiles::None)
}

struct One(Arc<ScriptModel>);

impl ModelRegistry for One {
    fn available(&self) -> Vec<Arc<ModelInfo>> {
        vec![Arc::clone(self.0.info())]
    }

    fn find(&self, _: &str, _: &str, _: NamedBy) -> Option<Arc<ModelInfo>> {
        Some(Arc::clone(self.0.info()))
    }

    fn open(&self, _: &Arc<ModelInfo>) -> Result<Arc<dyn Model>, ModelError> {
        Ok(Arc::clone(&self.0) as Arc<dyn Model>)
    }
}

struct Defaults(Arc<ModelInfo>);

impl SessionDefaults for Defaults {
    fn for_folder(&self, cwd: &Path) -> Result<SessionOptions, BoxError> {
        let mut options = SessionOptions::in_memory(cwd, Vec::new());
        options.model = Some(Arc::clone(&self.0));
        Ok(options)
    }
}
