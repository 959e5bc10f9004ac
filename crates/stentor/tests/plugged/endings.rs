//! How every dialect ends when the other side goes away or does not listen.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::Child;
use std::sync::mpsc::channel;

use rustix::process::{Pid, Signal, kill_process};

use crate::world::World;

/// The words that start each dialect, and whether it begins with a frame of its own.
const DIALECTS: [(&[&str], bool); 4] = [
    (&["--mode", "rpc", "--no-session"], true),
    (&["rpc"], true),
    (&["--rpc-edn", "--no-session"], false),
    (&["acp"], false),
];

fn world() -> World {
    World::new("[[turn]]\ntext = \"word {{n}} \"\nrepeat = 200000\n", "")
}

/// Sends TERM.
fn terminate(process: &Child) {
    let pid = i32::try_from(process.id()).ok().and_then(Pid::from_raw);
    kill_process(pid.unwrap(), Signal::TERM).unwrap();
}

#[test]
fn a_reader_that_goes_away_is_the_end_though_nothing_is_written() {
    let world = world();
    for (words, speaks_first) in DIALECTS {
        let mut process = world.command(words).spawn().unwrap();
        // Its input stays open, so this is not the end of it.
        let stdin = process.stdin.take().unwrap();
        let mut stdout = process.stdout.take().unwrap();
        if speaks_first {
            stdout.read_exact(&mut [0]).unwrap();
        }
        drop(stdout);
        assert_eq!(process.wait().unwrap().code(), Some(0), "{words:?}");
        drop(stdin);
    }
}

/// Lines that are answered at once, over and over, without ever reading an answer.
#[test]
fn acp_ends_by_a_signal_while_an_answer_waits_for_a_reader_that_sleeps() {
    let world = world();
    let mut process = world.command(&["acp"]).spawn().unwrap();
    let mut stdin = process.stdin.take().unwrap();
    let (much, written) = channel();
    let asking = std::thread::spawn(move || {
        // Each is told that it is no JSON, in a frame fifty times as long.
        let lines = "x\n".repeat(100);
        let mut bytes = 0;
        // Until it is gone.
        while stdin.write_all(lines.as_bytes()).is_ok() {
            bytes += lines.len();
            if bytes > 75_000 {
                much.send(()).ok();
            }
        }
    });
    written.recv().unwrap();
    terminate(&process);
    assert_eq!(process.wait().unwrap().code(), Some(143));
    asking.join().unwrap();
}

#[test]
fn the_command_line_ends_by_the_second_signal_while_its_reader_sleeps() {
    let world = world();
    let words = ["-p", "hi", "--json", "--no-session"];
    let mut process = world.command(&words).spawn().unwrap();
    // It has begun to answer: from here on it listens to signals.
    let mut stdout = BufReader::with_capacity(1, process.stdout.take().unwrap());
    stdout.read_line(&mut String::new()).unwrap();
    terminate(&process);
    // A signal that comes before the first was taken is the same one.
    while process.try_wait().unwrap().is_none() {
        terminate(&process);
        std::thread::yield_now();
    }
    assert_eq!(process.wait().unwrap().code(), Some(143));
    stdout.read_to_end(&mut Vec::new()).unwrap();
}
