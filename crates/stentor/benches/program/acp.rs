//! What an ACP client sees, next to an agent that only prints.
//!
//! That one is written by hand, in this file: it answers the same requests and writes the same
//! chunks from a loop, without a model, a session, a journal or a second thread. It is what nothing
//! can be faster than.

use std::io::{BufRead, BufWriter, Write};
use std::time::{Duration, Instant};

use super::{BenchResult, Folder, Program, ms, report};

/// The word that makes this program the agent that only prints.
pub const PRINTER: &str = "print-acp-by-hand";

pub const INITIALIZE: &str =
    r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}"#;

const SESSIONS: u64 = 200;

/// Everything, each line with ours first and the printer's second.
pub fn measure(folder: &Folder) -> BenchResult<()> {
    start(folder)?;
    for deltas in [20_000, 200_000] {
        let ours = relay(&mut ours(folder, deltas)?, folder)?;
        let theirs = relay(&mut printer(folder, deltas)?, folder)?;
        report(
            &format!("acp: relay of {deltas} chunks"),
            &format!("{ours} | only printing: {theirs}"),
        );
    }
    sessions(folder)
}

/// Spawn to the answer to `initialize`.
fn start(folder: &Folder) -> BenchResult<()> {
    let ours = greeted(&|| ours(folder, 1))?;
    let theirs = greeted(&|| printer(folder, 1))?;
    report(
        "acp: start to initialize",
        &format!("{ours} | only printing: {theirs}"),
    );
    Ok(())
}

/// How long it takes a program that is started to answer.
pub fn greeted(start: &dyn Fn() -> BenchResult<Program>) -> BenchResult<String> {
    let mut times: Vec<Duration> = Vec::new();
    for _ in 0..30 {
        let begun = Instant::now();
        let mut program = start()?;
        program.send(INITIALIZE)?;
        program.answer(1)?;
        times.push(begun.elapsed());
    }
    times.sort();
    let (median, best) = (ms(times[times.len() / 2]), ms(times[0]));
    Ok(format!("{median:.2} ms median, {best:.2} ms best"))
}

/// A long answer from the model to the client, in words.
pub fn relay(program: &mut Program, folder: &Folder) -> BenchResult<String> {
    program.send(INITIALIZE)?;
    program.answer(1)?;
    let session = new_session(program, 2, folder)?;
    let cpu_before = program.cpu_ms()?;
    let begun = Instant::now();
    prompt(program, 3, &session)?;
    let (mut frames, mut bytes) = (0_u64, 0);
    loop {
        let line = program.line()?;
        bytes += line.len();
        if line.contains("agent_message_chunk") {
            frames += 1;
        } else if line.contains("stopReason") {
            break;
        }
    }
    let (wall, cpu) = (begun.elapsed(), program.cpu_ms()? - cpu_before);
    Ok(format!(
        "{:.0} ms wall, {cpu:.0} ms CPU, {frames} frames, {:.1} MB out, peak memory {:.1} MB",
        ms(wall),
        bytes as f64 / 1e6,
        program.status("VmHWM")? as f64 / 1024.0,
    ))
}

/// Many sessions in one process: all open, and then all at work at once.
fn sessions(folder: &Folder) -> BenchResult<()> {
    let mut program = ours(folder, 100)?;
    program.send(INITIALIZE)?;
    program.answer(1)?;
    let before_kb = program.status("VmRSS")?;
    let begun = Instant::now();
    let mut open = Vec::new();
    for id in 0..SESSIONS {
        open.push(new_session(&mut program, 1000 + id, folder)?);
    }
    let opening = begun.elapsed();
    let open_kb = program.status("VmRSS")?.saturating_sub(before_kb);
    let cpu_before = program.cpu_ms()?;
    let begun = Instant::now();
    // As many lines as the pipe holds; nobody answers before the model does.
    for (n, session) in open.iter().enumerate() {
        prompt(&mut program, 2000 + n as u64, session)?;
    }
    let mut answered = 0;
    while answered < SESSIONS {
        if program.line()?.contains("stopReason") {
            answered += 1;
        }
    }
    let (working, cpu) = (begun.elapsed(), program.cpu_ms()? - cpu_before);
    report(
        &format!("acp: {SESSIONS} sessions open"),
        &format!(
            "{:.0} ms, {:.1} KB each",
            ms(opening),
            open_kb as f64 / SESSIONS as f64
        ),
    );
    report(
        &format!("acp: {SESSIONS} sessions at work"),
        &format!(
            "100 chunks each: {:.0} ms wall, {cpu:.0} ms CPU, peak memory {:.1} MB",
            ms(working),
            program.status("VmHWM")? as f64 / 1024.0
        ),
    );
    Ok(())
}

/// A model that says so many words.
pub fn model(folder: &Folder, deltas: u64) -> BenchResult<String> {
    let text =
        format!("[[turn]]\ntimes = 1000\nsteps = [{{ text = \"word \", repeat = {deltas} }}]\n");
    folder.scenario("relay", &text)
}

pub fn ours(folder: &Folder, deltas: u64) -> BenchResult<Program> {
    let model = model(folder, deltas)?;
    Program::start(folder, &["acp", "--model", &model])
}

fn printer(folder: &Folder, deltas: u64) -> BenchResult<Program> {
    let file = std::env::current_exe()?;
    Program::start_file(&file, folder, &[PRINTER, &deltas.to_string()])
}

pub fn new_session(program: &mut Program, id: u64, folder: &Folder) -> BenchResult<String> {
    let cwd = folder.path.display();
    program.send(&format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"session/new","params":{{"cwd":"{cwd}","mcpServers":[]}}}}"#
    ))?;
    loop {
        let line = program.line()?;
        if line.contains("\"result\"") {
            let mut parts = line.split('"').skip_while(|part| *part != "sessionId");
            return Ok(parts.nth(2).ok_or("no session")?.to_owned());
        }
    }
}

pub fn prompt(program: &mut Program, id: u64, session: &str) -> BenchResult<()> {
    program.send(&format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"session/prompt","params":{{"sessionId":"{session}","prompt":[{{"type":"text","text":"go"}}]}}}}"#
    ))
}

/// The agent that only prints: as many chunks as its second word says.
pub fn print_by_hand() -> BenchResult<()> {
    let chunks = std::env::args().nth(2).ok_or("how many chunks?")?;
    let chunks: u64 = chunks.parse()?;
    let mut out = BufWriter::with_capacity(64 * 1024, std::io::stdout().lock());
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let id = line
            .split("\"id\":")
            .nth(1)
            .and_then(|rest| rest.split(',').next());
        let id = id.unwrap_or("null");
        if line.contains("\"initialize\"") {
            writeln!(
                out,
                r#"{{"jsonrpc":"2.0","id":{id},"result":{{"protocolVersion":1}}}}"#
            )?;
        } else if line.contains("\"session/new\"") {
            writeln!(
                out,
                r#"{{"jsonrpc":"2.0","id":{id},"result":{{"sessionId":"s"}}}}"#
            )?;
        } else {
            for _ in 0..chunks {
                writeln!(
                    out,
                    r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"s","update":{{"sessionUpdate":"agent_message_chunk","content":{{"type":"text","text":"word "}},"messageId":"m"}}}}}}"#
                )?;
            }
            writeln!(
                out,
                r#"{{"jsonrpc":"2.0","id":{id},"result":{{"stopReason":"end_turn"}}}}"#
            )?;
        }
        out.flush()?;
    }
    Ok(())
}
