//! What it costs that a session is in a fleet: an append that is acknowledged, taking a session over,
//! and many sessions at once, with each way of running the servers.
//!
//! `STENTOR_NATS_SERVER=… cargo bench -p stentor-fleet --bench journal`

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark ends at a surprise and prints its figures"
)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use stentor_fleet::settings::WorkPlace;
use stentor_fleet::{Fleet, FleetSettings, FleetStore};
use stentor_journal::clock::{SharedClock, SystemClock};
use stentor_journal::message::{ContentBlock, Message};
use stentor_journal::store::{self, Entry, EntryKind, Journal, JournalStore, SessionHeader};
use stentor_test_support::{NatsCluster, NatsServer, TemporaryFolder};

const APPENDS: usize = 1000;
const ENTRIES: usize = 1000;
const TAKEOVERS: usize = 20;
const SESSIONS: usize = 1000;

const LAZY: &str = "max_mem: 64M";
const SYNC: &str = "sync_interval: always";

fn main() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        files().await;
        for (name, jetstream) in [("one server", LAZY), ("one server, synced", SYNC)] {
            let Some(nats) = NatsServer::with(jetstream) else {
                return;
            };
            measure(name, &nats.url, 1).await;
        }
        for (name, jetstream) in [("three servers", LAZY), ("three servers, synced", SYNC)] {
            let Some(nats) = NatsCluster::start(jetstream) else {
                return;
            };
            measure(name, &nats.url, 3).await;
        }
        let Some(nats) = NatsServer::with(SYNC) else {
            return;
        };
        many(&nats.url).await;
    });
}

/// A file without a fleet.
async fn files() {
    let folder = TemporaryFolder::with(&[]);
    let header = SessionHeader::new("s", "2026-01-01T00:00:00.000Z", "/");
    let mut journal = store::create(&folder.root(), header, &*clock()).unwrap();
    let times = appends(&mut *journal).await;
    println!("a file alone: append and sync {}", percentiles(times));
}

async fn measure(name: &str, url: &str, replicas: usize) {
    let (one, two) = (
        machine(url, "one", replicas).await,
        machine(url, "two", replicas).await,
    );
    let mut journal = one.create("appends");
    journal.sync().await.unwrap();
    let times = appends(&mut *journal).await;
    println!("{name}: append and sync {}", percentiles(times));

    let mut taken = Vec::new();
    for number in 0..TAKEOVERS {
        let id = format!("taken-{number}");
        let mut journal = one.create(&id);
        for entry in 0..ENTRIES {
            journal.append(&said(&format!("e{entry}"))).unwrap();
        }
        journal.sync().await.unwrap();
        let began = Instant::now();
        two.open(&id).await;
        taken.push(began.elapsed());
        drop(journal);
    }
    println!("{name}: take over {ENTRIES} entries {}", percentiles(taken));
}

/// Many sessions that are open at once on three nodes.
async fn many(url: &str) {
    let mut machines = Vec::new();
    for name in ["one", "two", "three"] {
        machines.push(machine(url, name, 1).await);
    }
    let before = resident_kib();
    let began = Instant::now();
    let mut journals = Vec::new();
    for number in 0..SESSIONS {
        let machine = &machines[number % machines.len()];
        let mut journal = machine.create(&format!("s-{number}"));
        journal.append(&said("a")).unwrap();
        journals.push(journal);
    }
    for journal in &journals {
        journal.sync().await.unwrap();
    }
    let grown = resident_kib().saturating_sub(before);
    println!(
        "{SESSIONS} sessions on three nodes: made in {:.1} s, {:.1} KiB each beside the session itself",
        began.elapsed().as_secs_f64(),
        f64::from(grown) / SESSIONS as f64
    );
    let began = Instant::now();
    machines[0].store.fleet().look().await.unwrap();
    let known = machines[0].store.fleet().sessions().len();
    println!(
        "the directory of {known} sessions is read in {} ms",
        began.elapsed().as_millis()
    );
}

struct Machine {
    folder: TemporaryFolder,
    store: FleetStore,
}

async fn machine(url: &str, name: &str, replicas: usize) -> Machine {
    let folder = TemporaryFolder::with(&["shared"]);
    let settings = FleetSettings {
        url: Some(url.to_owned()),
        node: Some(name.to_owned()),
        replicas: Some(replicas),
        capacity: u32::MAX,
        places: [(
            "shared".to_owned(),
            WorkPlace::Folder(folder.path("shared")),
        )]
        .into(),
        ..FleetSettings::default()
    };
    let fleet = loop {
        // The servers may not have a leader yet.
        match Fleet::connect(settings.clone(), name).await {
            Ok(fleet) => break fleet,
            Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    };
    let store = FleetStore::new(fleet, &folder.path("store"), clock()).unwrap();
    Machine { folder, store }
}

impl Machine {
    fn create(&self, id: &str) -> Box<dyn Journal> {
        let cwd = self.folder.path("shared");
        let header = SessionHeader::new(id, "2026-01-01T00:00:00.000Z", cwd.to_string_lossy());
        let folder = self.store.files().folder(&cwd).unwrap();
        self.store.create(&folder, header, &*clock()).unwrap()
    }

    async fn open(&self, id: &str) -> Box<dyn Journal> {
        let cwd = self.folder.path("shared");
        let header = SessionHeader::new(id, "2026-01-01T00:00:00.000Z", cwd.to_string_lossy());
        let folder = self.store.files().folder(&cwd).unwrap();
        let path = store::file_path(&folder, &header).unwrap();
        let store = self.store.clone();
        let opened = tokio::task::spawn_blocking(move || {
            store.prepare(&path).unwrap();
            store.open(&path).unwrap()
        });
        opened.await.unwrap().journal
    }
}

async fn appends(journal: &mut dyn Journal) -> Vec<Duration> {
    let mut times = Vec::with_capacity(APPENDS);
    for number in 0..APPENDS {
        let entry = said(&format!("e{number}"));
        let began = Instant::now();
        journal.append(&entry).unwrap();
        journal.sync().await.unwrap();
        times.push(began.elapsed());
    }
    times
}

fn said(id: &str) -> Entry {
    let message = Message::user(vec![ContentBlock::text("word ".repeat(100))], 0);
    Entry {
        id: id.to_owned(),
        parent_id: None,
        timestamp: "2026-01-01T00:00:00.000Z".to_owned(),
        kind: EntryKind::Message {
            message: Arc::new(message),
        },
    }
}

fn percentiles(mut times: Vec<Duration>) -> String {
    times.sort_unstable();
    let at = |percent: usize| times[(times.len() - 1) * percent / 100].as_secs_f64() * 1000.0;
    format!("p50 {:.2} ms, p99 {:.2} ms", at(50), at(99))
}

fn resident_kib() -> u32 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("RssAnon:"));
    let text = line.unwrap().split_whitespace().next().unwrap();
    text.parse().unwrap()
}

fn clock() -> SharedClock {
    Arc::new(SystemClock)
}
