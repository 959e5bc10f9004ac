//! What a frame costs: `cargo bench -p stentor-wire`.

use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use serde_json::json;
use stentor_wire::edn::{self, EdnWriter, Keyword};
use stentor_wire::framing::{FramedLine, LineReader};
use stentor_wire::jsonrpc;

fn main() {
    divan::main();
}

const TEXT: &str = "Look at line 12 of \"src/main.rs\":\n the loop never ends.";
const SESSION: &str = "0198c2f4-7d1e-7000-8000-0123456789ab";

/// The frame that is written most: a piece of the assistant's text.
fn write_edn_delta(out: &mut Vec<u8>) {
    EdnWriter::new(out).map(|frame| {
        frame
            .field("kind", &Keyword("event"))
            .field("event", "assistant/delta")
            .key("data")
            .map(|data| {
                data.field("session-id", SESSION).field("text", TEXT);
            })
            .field("id", "req-9")
            .field("seq", &12u64)
            .field("ts", "2026-05-02T15:28:58.123Z");
    });
}

#[derive(serde::Serialize, serde::Deserialize)]
struct Delta<'a> {
    kind: &'a str,
    event: &'a str,
    #[serde(borrow)]
    data: DeltaData<'a>,
    id: &'a str,
    seq: u64,
    ts: &'a str,
}

#[derive(serde::Serialize, serde::Deserialize)]
struct DeltaData<'a> {
    #[serde(rename = "session-id")]
    session_id: &'a str,
    text: std::borrow::Cow<'a, str>,
}

fn delta() -> Delta<'static> {
    Delta {
        kind: "event",
        event: "assistant/delta",
        data: DeltaData {
            session_id: SESSION,
            text: TEXT.into(),
        },
        id: "req-9",
        seq: 12,
        ts: "2026-05-02T15:28:58.123Z",
    }
}

fn edn_line() -> String {
    let mut out = Vec::new();
    write_edn_delta(&mut out);
    String::from_utf8(out).unwrap_or_default()
}

fn json_line() -> String {
    serde_json::to_string(&delta()).unwrap_or_default()
}

#[divan::bench]
fn edn_write_streaming(bencher: Bencher<'_, '_>) {
    let mut out = Vec::new();
    bencher
        .counter(BytesCount::of_str(&edn_line()))
        .bench_local(|| {
            out.clear();
            write_edn_delta(&mut out);
            out.len()
        });
}

#[divan::bench]
fn edn_write_value(bencher: Bencher<'_, '_>) {
    let line = edn_line();
    let value = edn::read_one(&line).unwrap_or(edn::Value::Nil);
    let mut out = Vec::new();
    bencher.counter(BytesCount::of_str(&line)).bench_local(|| {
        out.clear();
        EdnWriter::new(&mut out).value(&value);
        out.len()
    });
}

#[divan::bench]
fn json_write_typed(bencher: Bencher<'_, '_>) {
    let frame = delta();
    let mut out = Vec::new();
    bencher
        .counter(BytesCount::of_str(&json_line()))
        .bench_local(|| {
            out.clear();
            serde_json::to_writer(&mut out, &frame).is_ok()
        });
}

#[divan::bench]
fn edn_read_value(bencher: Bencher<'_, '_>) {
    let line = edn_line();
    bencher
        .counter(BytesCount::of_str(&line))
        .bench_local(|| edn::read_one(black_box(&line)).is_ok());
}

#[divan::bench]
fn json_read_value(bencher: Bencher<'_, '_>) {
    let line = json_line();
    bencher
        .counter(BytesCount::of_str(&line))
        .bench_local(|| serde_json::from_str::<serde_json::Value>(black_box(&line)).is_ok());
}

#[divan::bench]
fn json_read_typed(bencher: Bencher<'_, '_>) {
    let line = json_line();
    bencher
        .counter(BytesCount::of_str(&line))
        .bench_local(|| serde_json::from_str::<Delta<'_>>(black_box(&line)).is_ok());
}

fn rpc_line() -> String {
    let params = json!({"sessionId": SESSION, "prompt": [{"type": "text", "text": TEXT}]});
    json!({"jsonrpc": "2.0", "id": 7, "method": "session/prompt", "params": params}).to_string()
}

#[divan::bench]
fn jsonrpc_decode(bencher: Bencher<'_, '_>) {
    let line = rpc_line();
    bencher.counter(BytesCount::of_str(&line)).bench_local(|| {
        matches!(
            jsonrpc::decode(black_box(&line)),
            jsonrpc::Incoming::Request { .. }
        )
    });
}

#[divan::bench]
fn jsonrpc_encode_notification(bencher: Bencher<'_, '_>) {
    let frame = delta();
    let mut out = Vec::new();
    bencher.bench_local(|| {
        out.clear();
        jsonrpc::encode::notification(&mut out, "session/update", &frame).is_ok()
    });
}

/// 160-byte lines, in reads of the given size.
#[divan::bench(args = [100, 4096, 65536])]
fn framing(bencher: Bencher<'_, '_>, chunk_bytes: usize) {
    let input = ("x".repeat(159) + "\n").repeat(10_000);
    bencher.counter(BytesCount::of_str(&input)).bench_local(|| {
        let mut reader = LineReader::new(1 << 20);
        let mut seen_bytes = 0;
        for mut chunk in input.as_bytes().chunks(chunk_bytes) {
            while let Some(line) = reader.next_line(&mut chunk) {
                if let FramedLine::Text(text) = line {
                    seen_bytes += text.len();
                }
            }
        }
        seen_bytes
    });
}

/// One line as long as the limit.
#[divan::bench]
fn framing_large_line(bencher: Bencher<'_, '_>) {
    let input = "x".repeat(16 << 20) + "\n";
    bencher.counter(BytesCount::of_str(&input)).bench_local(|| {
        let mut reader = LineReader::new(16 << 20);
        input
            .as_bytes()
            .chunks(65536)
            .any(|mut chunk| reader.next_line(&mut chunk).is_some())
    });
}
