//! What a server costs: a relay next to a program of one's own, and many clients on one session.

use std::thread;
use std::time::{Duration, Instant};

use super::acp::{self, INITIALIZE, new_session, prompt};
use super::{BenchResult, Folder, Program, ms, report};

const CLIENTS: usize = 100;
const DELTAS: u64 = 20_000;

/// Everything.
pub fn measure(folder: &Folder) -> BenchResult<()> {
    start(folder)?;
    for deltas in [DELTAS, 10 * DELTAS] {
        let direct = acp::relay(&mut acp::ours(folder, deltas)?, folder)?;
        let server = Server::start(folder)?;
        let relayed = acp::relay(&mut server.client(folder, deltas)?, folder)?;
        report(
            &format!("serve: relay of {deltas} chunks"),
            &format!("{relayed} (of the relay) | direct: {direct}"),
        );
    }
    clients(folder)
}

struct Server {
    program: Program,
    attach: String,
}

impl Server {
    fn start(folder: &Folder) -> BenchResult<Self> {
        let socket = folder.path.join("serve.sock").display().to_string();
        let mut program = Program::start(folder, &["serve", "--socket", &socket])?;
        program.line()?;
        Ok(Self {
            program,
            attach: format!("--attach={socket}"),
        })
    }

    fn client(&self, folder: &Folder, deltas: u64) -> BenchResult<Program> {
        let model = acp::model(folder, deltas)?;
        Program::start(folder, &["acp", &self.attach, "--model", &model])
    }
}

/// Spawn to the answer to `initialize`.
fn start(folder: &Folder) -> BenchResult<()> {
    let server = Server::start(folder)?;
    let relayed = acp::greeted(&|| server.client(folder, 1))?;
    let direct = acp::greeted(&|| acp::ours(folder, 1))?;
    report(
        "serve: start to initialize",
        &format!("{relayed} | direct: {direct}"),
    );
    Ok(())
}

/// Many clients on one session under a long answer; one of them sleeps.
fn clients(folder: &Folder) -> BenchResult<()> {
    let server = Server::start(folder)?;
    let mut first = server.client(folder, DELTAS)?;
    first.send(INITIALIZE)?;
    first.answer(1)?;
    let session = new_session(&mut first, 2, folder)?;
    let mut others = Vec::new();
    for _ in 1..CLIENTS {
        let mut client = server.client(folder, DELTAS)?;
        client.send(INITIALIZE)?;
        client.answer(1)?;
        let cwd = folder.path.display();
        client.send(&format!(
            r#"{{"jsonrpc":"2.0","id":2,"method":"session/load","params":{{"sessionId":"{session}","cwd":"{cwd}","mcpServers":[]}}}}"#
        ))?;
        client.answer(2)?;
        others.push(client);
    }
    // One that reads nothing until everybody else is done.
    let asleep = others.pop();
    let idle_kb = server.program.status("VmRSS")?;
    let cpu_before = server.program.cpu_ms()?;
    let begun = Instant::now();
    let reading: Vec<_> = others
        .into_iter()
        .map(|mut client| {
            thread::spawn(move || {
                let mut text = 0;
                while text < DELTAS as usize * "word ".len() {
                    // What comes at once is one chunk.
                    let Ok(line) = client.line() else { break };
                    let words = line.matches("word ").count();
                    text += words * "word ".len();
                }
            })
        })
        .collect();
    prompt(&mut first, 3, &session)?;
    first.answer(3)?;
    for reader in reading {
        reader.join().map_err(|_| "a reader failed")?;
    }
    let (wall, cpu): (Duration, f64) = (begun.elapsed(), server.program.cpu_ms()? - cpu_before);
    drop(asleep);
    report(
        &format!("serve: {CLIENTS} clients, {DELTAS} deltas"),
        &format!(
            "{:.0} ms wall, {:.1} ms CPU a client, memory {:.1} MB idle, {:.1} MB peak",
            ms(wall),
            cpu / CLIENTS as f64,
            idle_kb as f64 / 1024.0,
            server.program.status("VmHWM")? as f64 / 1024.0,
        ),
    );
    Ok(())
}
