//! What the whole program costs, measured from outside over real pipes.
//!
//! `cargo bench -p stentor --bench program` prints one line a measurement. Times are wall clock
//! unless they say CPU; memory is resident. The model is a scripted one, so that only the program
//! is measured. Only Linux keeps the counts that are read here.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

#[path = "program/acp.rs"]
mod acp;
#[path = "program/serve.rs"]
mod serve;

type BenchResult<T> = Result<T, Box<dyn std::error::Error>>;

/// The kernel counts CPU time in ticks of this length.
const TICK_MS: f64 = 10.0;

fn main() -> BenchResult<()> {
    if std::env::args().nth(1).as_deref() == Some(acp::PRINTER) {
        return acp::print_by_hand();
    }
    // Cargo passes `--bench`; a name narrows what is run.
    let only = std::env::args().skip(1).find(|word| !word.starts_with('-'));
    let wanted = |name: &str| {
        only.as_ref()
            .is_none_or(|only| name.contains(only.as_str()))
    };
    let folder = Folder::new()?;
    if wanted("start") {
        start(&folder)?;
        start_with_plugged(&folder)?;
    }
    if wanted("children") {
        children(&folder, 10)?;
    }
    if wanted("quick") {
        quick(&folder, 20_000)?;
    }
    if wanted("relay") {
        for deltas in [2_000, 20_000, 200_000] {
            relay(&folder, deltas)?;
        }
    }
    if wanted("relay") {
        for deltas in [2_000, 20_000, 200_000] {
            for updates in ["full", "delta"] {
                for asleep in [Duration::ZERO, Duration::from_secs(2)] {
                    omp_relay(&folder, deltas, updates, asleep)?;
                }
            }
        }
    }
    if wanted("acp") {
        acp::measure(&folder)?;
    }
    if wanted("serve") {
        serve::measure(&folder)?;
    }
    if wanted("rounds") {
        rounds(&folder, 100)?;
    }
    if wanted("sessions") {
        sessions(&folder, 200)?;
    }
    Ok(())
}

/// Spawn to the first frame, and memory of a child that does nothing.
fn start(folder: &Folder) -> BenchResult<()> {
    let model = folder.scenario("start", "[[turn]]\ntext = \"hi\"\n")?;
    let mut times = Vec::new();
    let mut idle_kb = 0;
    for _ in 0..30 {
        let begun = Instant::now();
        let mut program = Program::start(folder, &["rpc", "--model", &model])?;
        program.line()?;
        times.push(begun.elapsed());
        // Not a wait for something: memory is looked at when the start has settled.
        std::thread::sleep(Duration::from_millis(100));
        idle_kb = program.status("VmRSS")?;
    }
    times.sort();
    report(
        "start to first frame",
        &format!("{:.2} ms median", ms(times[times.len() / 2])),
    );
    report(
        "start to first frame, best",
        &format!("{:.2} ms", ms(times[0])),
    );
    report("idle memory", &format!("{:.1} MB", idle_kb as f64 / 1024.0));
    Ok(())
}

/// Spawn to the first frame with nothing configured, and with ten extensions and ten MCP servers
/// of which none ever answers.
fn start_with_plugged(folder: &Folder) -> BenchResult<()> {
    let model = folder.scenario("start", "[[turn]]\ntext = \"hi\"\n")?;
    let mut config = String::new();
    for n in 1..=10 {
        config.push_str(&format!(
            "[extensions.hangs{n}]\ncommand = [\"sleep\", \"1000\"]\n\
             [mcp_servers.hangs{n}]\ncommand = \"sleep\"\nargs = [\"1000\"]\n"
        ));
    }
    let home = folder.path.join(".config/stentor");
    std::fs::create_dir_all(&home)?;
    let file = home.join("config.toml");
    for (plugged, config) in [("nothing", ""), ("ten of each", &config)] {
        std::fs::write(&file, config)?;
        for (dialect, words) in [
            ("synaps", &["rpc", "--model", &model][..]),
            ("omp", &["--mode", "rpc", "--model", &model]),
        ] {
            let mut times = Vec::new();
            for _ in 0..30 {
                let begun = Instant::now();
                let mut program = Program::start(folder, words)?;
                program.line()?;
                times.push(begun.elapsed());
            }
            times.sort();
            report(
                &format!("{dialect} start to first frame, {plugged} plugged in"),
                &format!("{:.2} ms median", ms(times[times.len() / 2])),
            );
        }
    }
    std::fs::remove_file(&file)?;
    Ok(())
}

/// Memory of several children that do nothing, with what they share counted once.
fn children(folder: &Folder, count: usize) -> BenchResult<()> {
    let model = folder.scenario("children", "[[turn]]\ntext = \"hi\"\n")?;
    let mut programs = Vec::new();
    for _ in 0..count {
        let mut program = Program::start(folder, &["rpc", "--model", &model])?;
        program.line()?;
        programs.push(program);
    }
    let mut resident_kb = 0;
    for program in &programs {
        resident_kb += program.status("VmRSS")?;
    }
    report(
        &format!("memory of {count} idle children"),
        &format!("{:.1} MB resident", resident_kb as f64 / 1024.0),
    );
    Ok(())
}

/// Commands that are answered at once, written without waiting for the answers.
fn quick(folder: &Folder, count: usize) -> BenchResult<()> {
    let model = folder.scenario("quick", "[[turn]]\ntext = \"hi\"\n")?;
    let mut program = Program::start(folder, &["rpc", "--model", &model])?;
    program.line()?;
    let begun = Instant::now();
    let mut answered = 0;
    // As many at a time as the pipes hold, so that one thread can write and read.
    while answered < count {
        let batch = (count - answered).min(200);
        let lines: Vec<String> = (0..batch)
            .map(|n| format!("{{\"type\":\"get_state\",\"id\":\"{n}\"}}"))
            .collect();
        program.send(&lines.join("\n"))?;
        for _ in 0..batch {
            program.line()?;
        }
        answered += batch;
    }
    let took = begun.elapsed();
    report(
        &format!("{count} x get_state"),
        &format!(
            "{:.0} ms, {:.1} us each",
            ms(took),
            ms(took) * 1000.0 / count as f64
        ),
    );
    Ok(())
}

/// A long answer from the model to the pipe.
fn relay(folder: &Folder, deltas: u64) -> BenchResult<()> {
    let text = format!("[[turn]]\nsteps = [{{ text = \"word \", repeat = {deltas} }}]\n");
    let model = folder.scenario("relay", &text)?;
    let mut program = Program::start(folder, &["rpc", "--model", &model])?;
    program.line()?;
    let cpu_before = program.cpu_ms()?;
    let begun = Instant::now();
    program.send(r#"{"type":"prompt","id":"p","message":"go"}"#)?;
    let mut frames = 0_u64;
    let mut bytes = 0;
    loop {
        let line = program.line()?;
        bytes += line.len();
        if line.contains("\"text_delta\"") {
            frames += 1;
        } else if line.contains("\"response\"") {
            break;
        }
    }
    let (wall, cpu) = (begun.elapsed(), program.cpu_ms()? - cpu_before);
    report(
        &format!("relay of {deltas} deltas"),
        &format!(
            "{:.0} ms wall, {cpu:.0} ms CPU, {:.2} us CPU a delta, {frames} frames, {:.1} MB out, peak memory {:.1} MB",
            ms(wall),
            cpu * 1000.0 / deltas as f64,
            bytes as f64 / 1e6,
            program.status("VmHWM")? as f64 / 1024.0,
        ),
    );
    Ok(())
}

/// The same in the omp dialect, whose updates carry the message so far, or do not, to a reader that
/// reads at once or sleeps first.
fn omp_relay(folder: &Folder, deltas: u64, updates: &str, asleep: Duration) -> BenchResult<()> {
    let text = format!("[[turn]]\nsteps = [{{ text = \"word \", repeat = {deltas} }}]\n");
    let model = folder.scenario("relay", &text)?;
    let words = ["--mode", "rpc", "--no-session", "--model", &model];
    let mut program = Program::start(folder, &words)?;
    program.line()?;
    program.send(&format!(
        r#"{{"type":"set_event_filter","events":null,"messageUpdates":"{updates}"}}"#
    ))?;
    program.line()?;
    let cpu_before = program.cpu_ms()?;
    program.send(r#"{"type":"prompt","id":"p","message":"go"}"#)?;
    std::thread::sleep(asleep);
    let begun = Instant::now();
    let (mut frames, mut bytes) = (0_u64, 0);
    loop {
        let line = program.line()?;
        bytes += line.len();
        if line.contains("\"text_delta\"") {
            frames += 1;
        } else if line.contains("\"agent_settled\"") {
            break;
        }
    }
    let (wall, cpu) = (begun.elapsed(), program.cpu_ms()? - cpu_before);
    let reader = if asleep.is_zero() { "reads" } else { "sleeps" };
    report(
        &format!("relay omp {deltas} {updates} {reader}"),
        &format!(
            "{:.0} ms wall, {cpu:.0} ms CPU, {:.2} us CPU a delta, {frames} frames, {:.1} MB out, peak memory {:.1} MB",
            ms(wall),
            cpu * 1000.0 / deltas as f64,
            bytes as f64 / 1e6,
            program.status("VmHWM")? as f64 / 1024.0,
        ),
    );
    Ok(())
}

/// Rounds of one shell command each.
fn rounds(folder: &Folder, rounds: u32) -> BenchResult<()> {
    let text = format!(
        "on_exhausted = {{ text = \"done\" }}\n[[turn]]\ntimes = {rounds}\ntool = \"bash\"\narguments = {{ command = \"true\" }}\n"
    );
    let model = folder.scenario("rounds", &text)?;
    let mut program = Program::start(folder, &["rpc", "--model", &model])?;
    program.line()?;
    let cpu_before = program.cpu_ms()?;
    let begun = Instant::now();
    program.send(r#"{"type":"prompt","id":"p","message":"go"}"#)?;
    while !program.line()?.contains("\"response\"") {}
    let (wall, cpu) = (begun.elapsed(), program.cpu_ms()? - cpu_before);
    report(
        "a round of one shell command",
        &format!(
            "{:.2} ms wall, {:.2} ms CPU",
            ms(wall) / f64::from(rounds),
            cpu / f64::from(rounds)
        ),
    );
    Ok(())
}

/// Many idle sessions in one process.
fn sessions(folder: &Folder, count: u64) -> BenchResult<()> {
    let mut program = Program::start(folder, &["acp"])?;
    program
        .send(r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}"#)?;
    program.answer(0)?;
    let cwd = folder.path.display().to_string();
    // The first ones pay for what all share.
    for id in 1..=10 {
        program.new_session(id, &cwd)?;
    }
    let begun = Instant::now();
    let before_kb = program.status("VmRSS")?;
    for id in 11..=10 + count {
        program.new_session(id, &cwd)?;
    }
    let took = begun.elapsed();
    let grown_kb = program.status("VmRSS")?.saturating_sub(before_kb);
    report(
        "an idle session more",
        &format!(
            "{:.1} KB, {:.2} ms",
            grown_kb as f64 / count as f64,
            ms(took) / count as f64
        ),
    );
    Ok(())
}

/// The program under measurement.
struct Program {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Program {
    fn start(folder: &Folder, words: &[&str]) -> BenchResult<Self> {
        Self::start_file(env!("CARGO_BIN_EXE_stentor").as_ref(), folder, words)
    }

    fn start_file(file: &Path, folder: &Folder, words: &[&str]) -> BenchResult<Self> {
        let mut child = Command::new(file)
            .args(words)
            .current_dir(&folder.path)
            .env_clear()
            .env("HOME", &folder.path)
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let stdin = child.stdin.take().ok_or("no stdin")?;
        let stdout = BufReader::new(child.stdout.take().ok_or("no stdout")?);
        Ok(Self {
            child,
            stdin,
            stdout,
        })
    }

    fn send(&mut self, line: &str) -> BenchResult<()> {
        self.stdin.write_all(line.as_bytes())?;
        self.stdin.write_all(b"\n")?;
        Ok(self.stdin.flush()?)
    }

    fn line(&mut self) -> BenchResult<String> {
        let mut line = String::new();
        match self.stdout.read_line(&mut line)? {
            0 => Err("the program ended early".into()),
            _ => Ok(line),
        }
    }

    fn new_session(&mut self, id: u64, cwd: &str) -> BenchResult<()> {
        self.send(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"session/new","params":{{"cwd":"{cwd}","mcpServers":[]}}}}"#
        ))?;
        self.answer(id)
    }

    /// Reads until the answer to a JSON-RPC request.
    fn answer(&mut self, id: u64) -> BenchResult<()> {
        let mark = format!("\"id\":{id}");
        loop {
            let line = self.line()?;
            if line.contains(&mark) && !line.contains("\"method\"") {
                return if line.contains("\"error\"") {
                    Err(line.into())
                } else {
                    Ok(())
                };
            }
        }
    }

    /// A number of kilobytes from `/proc/PID/status`.
    fn status(&self, name: &str) -> BenchResult<u64> {
        let text = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = text
            .lines()
            .find(|line| line.starts_with(name))
            .ok_or("no such line")?;
        let number = line.split_whitespace().nth(1).ok_or("no number")?;
        Ok(number.parse()?)
    }

    /// CPU time of the program and of the children it has waited for.
    fn cpu_ms(&self) -> BenchResult<f64> {
        let text = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        let (_, fields) = text.rsplit_once(") ").ok_or("no fields")?;
        let ticks: f64 = fields
            .split(' ')
            .skip(11)
            .take(4)
            .filter_map(|field| field.parse::<f64>().ok())
            .sum();
        Ok(ticks * TICK_MS)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It may have ended by itself.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// A home and working folder that goes away afterwards.
struct Folder {
    path: PathBuf,
}

impl Folder {
    fn new() -> BenchResult<Self> {
        let path = std::env::temp_dir().join(format!("stentor-bench-{}", std::process::id()));
        std::fs::create_dir_all(&path)?;
        Ok(Self { path })
    }

    /// Writes a scenario and returns the model that plays it.
    fn scenario(&self, name: &str, text: &str) -> BenchResult<String> {
        let path: &Path = &self.path.join(format!("{name}.toml"));
        std::fs::write(path, text)?;
        Ok(format!("script/{}", path.display()))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be removed is in the folder for temporary things.
        std::fs::remove_dir_all(&self.path).ok();
    }
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

#[expect(clippy::print_stdout, reason = "a benchmark prints what it measured")]
fn report(what: &str, result: &str) {
    println!("{what:<32} {result}");
}
