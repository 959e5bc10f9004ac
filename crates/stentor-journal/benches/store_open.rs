//! How long it takes, and how much memory, to open a session of 200 MB that was compacted near its
//! end. `cargo bench -p stentor-journal --bench store_open`
//!
//! The file is opened in child processes, so that what made it does not count.

use std::error::Error;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use stentor_journal::store;

const FILE_BYTES: u64 = 200_000_000;
const ROUNDS: usize = 7;
/// About twenty thousand tokens, what a compaction keeps.
const KEPT_BYTES: u64 = 80_000;
/// What was said since.
const SINCE_BYTES: u64 = 400_000;

#[expect(
    clippy::print_stdout,
    reason = "a benchmark reports on standard output"
)]
fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    if let Some(at) = arguments.iter().position(|argument| argument == "--open") {
        let path = arguments.get(at + 1).ok_or("--open needs a path")?;
        println!("{}", measure(Path::new(path))?);
        return Ok(());
    }
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("long.jsonl");
    write_session(&path)?;
    println!("file: {} bytes", fs::metadata(&path)?.len());
    for _ in 0..ROUNDS {
        let child = Command::new(std::env::current_exe()?)
            .arg("--open")
            .arg(&path)
            .output()?;
        print!("{}", String::from_utf8_lossy(&child.stdout));
    }
    Ok(())
}

fn measure(path: &Path) -> Result<String, Box<dyn Error>> {
    let before = peak_memory_kib()?;
    let start = Instant::now();
    let opened = store::open(path)?;
    let open_ms = start.elapsed().as_secs_f64() * 1_000.0;
    let after = peak_memory_kib()?;
    let start = Instant::now();
    let totals = opened.journal.totals()?;
    let totals_ms = start.elapsed().as_secs_f64() * 1_000.0;
    Ok(format!(
        "open: {open_ms:.2} ms, {} entries in context, model {:?}, peak memory {after} KiB \
         ({before} KiB before); totals of {} messages: {totals_ms:.0} ms, peak {} KiB",
        opened.context.len(),
        opened.model,
        totals.messages,
        peak_memory_kib()?
    ))
}

/// The most memory this process ever had, in KiB.
fn peak_memory_kib() -> Result<u64, Box<dyn Error>> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    Ok(number.ok_or("no VmHWM in /proc/self/status")?.parse()?)
}

/// Writes user messages, answers and tool results in turn, a compaction, and some more.
fn write_session(path: &Path) -> Result<(), Box<dyn Error>> {
    let mut session = Writer {
        out: BufWriter::new(File::create(path)?),
        count: 0,
        bytes: 0,
    };
    session.line(
        r#"{"type":"session","version":3,"id":"long","timestamp":"2026-11-15T07:45:38.409Z","cwd":"/w"}"#,
    )?;
    session.entry(r#""type":"model_change","provider":"p","modelId":"m""#)?;
    session.entry(r#""type":"thinking_level_change","thinkingLevel":"high""#)?;
    session.talk_until(FILE_BYTES - KEPT_BYTES - SINCE_BYTES)?;
    let first_kept = session.count + 1;
    session.talk_until(FILE_BYTES - SINCE_BYTES)?;
    session.entry(&format!(
        r#""type":"compaction","summary":"what happened","firstKeptEntryId":"{first_kept:08x}","tokensBefore":150000"#
    ))?;
    session.talk_until(FILE_BYTES)?;
    session.out.flush()?;
    Ok(())
}

struct Writer {
    out: BufWriter<File>,
    count: u32,
    bytes: u64,
}

impl Writer {
    fn talk_until(&mut self, bytes: u64) -> Result<(), Box<dyn Error>> {
        let code = "fn main() { println!(\\\"hello\\\"); }\\n\\t// a line of code\\n";
        while self.bytes < bytes {
            self.entry(r#""type":"message","message":{"role":"user","content":[{"type":"text","text":"please look at the next file"}],"timestamp":1}"#)?;
            for length in [20, 150, 5] {
                self.entry(r#""type":"message","message":{"role":"assistant","content":[{"type":"text","text":"I will read it."},{"type":"toolCall","id":"c","name":"read","arguments":{"path":"src/main.rs"}}],"api":"a","provider":"p","model":"m","usage":{"input":1,"output":2,"cacheRead":3,"cacheWrite":4,"totalTokens":10,"cost":{"input":0.1,"output":0.2,"cacheRead":0,"cacheWrite":0,"total":0.3}},"stopReason":"toolUse","timestamp":2}"#)?;
                self.entry(&format!(
                    r#""type":"message","message":{{"role":"toolResult","toolCallId":"c","toolName":"read","content":[{{"type":"text","text":"{}"}}],"isError":false,"timestamp":3}}"#,
                    code.repeat(length)
                ))?;
            }
        }
        Ok(())
    }

    fn entry(&mut self, fields: &str) -> Result<(), Box<dyn Error>> {
        let parent = match self.count {
            0 => "null".to_owned(),
            last => format!("\"{last:08x}\""),
        };
        self.count += 1;
        let (kind, rest) = fields.split_once(',').ok_or("no fields")?;
        self.line(&format!(
            r#"{{{kind},"id":"{:08x}","parentId":{parent},"timestamp":"2026-11-15T07:45:38.409Z",{rest}}}"#,
            self.count
        ))
    }

    fn line(&mut self, line: &str) -> Result<(), Box<dyn Error>> {
        writeln!(self.out, "{line}")?;
        self.bytes += line.len() as u64 + 1;
        Ok(())
    }
}
