//! Sections 10.5 and 10.6: each delta carries the text so far; few go out, and nothing is lost.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::time::Duration;

use stentor_psi_check::check;
use stentor_serve::connection::Connection;
use stentor_serve::psi;
use stentor_serve::stdio::Pipes;
use stentor_wire::edn::{self, Value};

use super::client::Client;
use super::world::World;

const MANY: &str = r#"
[[turn]]
steps = [ { thinking = "a", repeat = 500 }, { text = "é\"\n ", repeat = 20000 } ]
"#;

fn texts(frames: &[String], topic: &str) -> Vec<String> {
    frames
        .iter()
        .map(|frame| edn::read_one(frame).unwrap())
        .filter(|frame| frame.get("event").and_then(Value::as_str) == Some(topic))
        .map(|frame| {
            let text = frame.get("data").and_then(|data| data.get("text"));
            text.and_then(Value::as_str).unwrap().to_owned()
        })
        .collect()
}

/// All frames of a run, none left out.
fn run(world: World) -> Vec<String> {
    let mut client = Client::ready(world);
    client.send_request("p", "prompt", r#"{:message "go"}"#);
    let mut frames = Vec::new();
    loop {
        let frame = client.raw();
        let is_last = frame.contains(":event \"assistant/message\"");
        frames.push(frame);
        if is_last {
            return frames;
        }
    }
}

#[test]
fn the_first_goes_out_at_once_the_last_says_it_all_and_each_continues_the_one_before() {
    let mut world = World::new(&[MANY]);
    world.delta_interval = Duration::from_secs(3600);
    let frames = run(world);
    for (topic, whole) in [
        ("assistant/thinking-delta", "a".repeat(500)),
        ("assistant/delta", "é\"\n ".repeat(20_000)),
    ] {
        let seen = texts(&frames, topic);
        assert!((1..=2).contains(&seen.len()), "{topic}: {}", seen.len());
        assert_eq!(seen.last(), Some(&whole), "{topic}");
        for pair in seen.windows(2) {
            assert!(pair[1].starts_with(&pair[0]), "{topic}");
        }
    }
}

#[test]
fn without_pacing_every_delta_continues_the_one_before_and_the_last_is_whole() {
    let frames = run(World::new(&[MANY]));
    let seen = texts(&frames, "assistant/delta");
    assert_eq!(seen.last().map(String::len), Some(5 * 20_000));
    assert!(seen.windows(2).all(|pair| pair[1].starts_with(&pair[0])));
}

#[test]
fn the_message_at_the_end_has_every_block_whole_and_all_texts_one_below_the_other() {
    let script = r#"
[[turn]]
steps = [ { text = "é\"\n ", repeat = 40000 }, { thinking = "a" }, { text = "ö\\", repeat = 60000 } ]
"#;
    let frames = run(World::new(&[script]));
    let last = edn::read_one(frames.last().unwrap()).unwrap();
    let data = last.get("data").unwrap();
    let text_of = |value: &Value| {
        value
            .get("text")
            .and_then(Value::as_str)
            .unwrap()
            .to_owned()
    };
    let blocks = data.get("content").and_then(Value::as_items).unwrap();
    let (first, second) = ("é\"\n ".repeat(40_000), "ö\\".repeat(60_000));
    let shown: Vec<String> = blocks.iter().map(text_of).collect();
    assert!(shown == [first.clone(), "a".to_owned(), second.clone()]);
    assert!(text_of(data) == format!("{first}\n{second}"));
}

#[test]
fn a_reader_that_sleeps_gets_fewer_deltas_not_more() {
    let world = World::new(&[MANY]);
    let pipe = || rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).unwrap();
    let ((their_input, input), (output, their_output)) = (pipe(), pipe());
    let (agent, options, sessions) = (world.agent(), world.options(), world.root());
    let serving = std::thread::spawn(move || {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let pipes = Pipes {
            stdin: their_input,
            stdout: their_output,
        };
        runtime.block_on(async { psi::serve(agent, Connection::stdio(pipes), options).await })
    });
    let mut input = File::from(input);
    for line in [
        r#"{:id "h" :kind :request :op "handshake" :params {:protocol-version "1.0"}}"#,
        r#"{:id "s" :kind :request :op "subscribe" :params {:topics ["assistant/delta" "assistant/message"]}}"#,
        r#"{:id "p" :kind :request :op "prompt" :params {:message "go"}}"#,
    ] {
        writeln!(input, "{line}").unwrap();
    }
    // The model is done when its answer is on disk; nobody has read anything by then.
    while !is_answered(&sessions.join("sessions")) {
        std::thread::yield_now();
    }
    drop(input);
    let mut deltas = 0;
    let mut last = String::new();
    for line in BufReader::new(File::from(output)).lines() {
        let line = line.unwrap();
        check(&line).unwrap();
        deltas += usize::from(line.contains(":event \"assistant/delta\""));
        if line.contains(":event \"assistant/message\"") {
            last = line;
        }
    }
    assert_eq!(serving.join().unwrap(), 0);
    assert!(deltas < 1000, "{deltas} deltas for a reader that slept");
    assert!(last.len() > 100_000);
}

fn is_answered(folder: &std::path::Path) -> bool {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return false;
    };
    entries.flatten().any(|entry| {
        let path = entry.path();
        if path.is_dir() {
            return is_answered(&path);
        }
        std::fs::read_to_string(path).is_ok_and(|text| text.contains("\"stopReason\":\"stop\""))
    })
}
