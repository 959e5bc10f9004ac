//! What a delta costs, from the bytes of a stream to an event, next to splitting the lines alone.
//!
//! Run with `cargo bench -p stentor-model`. The throughput column counts deltas.

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use stentor_model::answer::AnswerBuilder;
use stentor_model::wire::Wire;
use stentor_wire::sse::SseDecoder;

const DELTAS: usize = 10_000;
/// How much a socket usually hands over at once.
const CHUNK_BYTES: usize = 16 << 10;
const LIMIT_BYTES: usize = 1 << 20;

const WIRES: [Wire; 4] = [
    Wire::AnthropicMessages,
    Wire::OpenAiChat,
    Wire::OpenAiResponses,
    Wire::Gemini,
];

fn main() {
    divan::main();
}

/// A stream of text deltas as each provider words them, without an end.
fn stream_of(wire: Wire) -> Vec<u8> {
    let (start, delta) = match wire {
        Wire::AnthropicMessages => (
            "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
            "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\" several words\"}}\n\n",
        ),
        Wire::OpenAiChat => (
            "",
            "data: {\"id\":\"chatcmpl-9xYzAbCdEf\",\"object\":\"chat.completion.chunk\",\"created\":1794744000,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\" several words\"},\"logprobs\":null,\"finish_reason\":null}]}\n\n",
        ),
        Wire::OpenAiResponses | Wire::CodexResponses => (
            "event: response.output_item.added\ndata: {\"type\":\"response.output_item.added\",\"output_index\":0,\"item\":{\"type\":\"message\",\"id\":\"msg_1\"}}\n\n",
            "event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"sequence_number\":7,\"item_id\":\"msg_1\",\"output_index\":0,\"content_index\":0,\"delta\":\" several words\"}\n\n",
        ),
        Wire::Gemini => (
            "",
            "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\" several words\"}],\"role\":\"model\"},\"index\":0}],\"usageMetadata\":{\"promptTokenCount\":100,\"candidatesTokenCount\":7,\"totalTokenCount\":107},\"modelVersion\":\"m\",\"responseId\":\"r1\"}\n\n",
        ),
    };
    let mut bytes = start.as_bytes().to_vec();
    for _ in 0..DELTAS {
        bytes.extend_from_slice(delta.as_bytes());
    }
    bytes
}

#[divan::bench(args = WIRES)]
fn bytes_to_model_events(bencher: Bencher<'_, '_>, wire: Wire) {
    let bytes = stream_of(wire);
    bencher.counter(ItemsCount::new(DELTAS)).bench(|| {
        let mut events = SseDecoder::new(LIMIT_BYTES);
        let mut decoder = wire.decoder();
        let mut answer = AnswerBuilder::new();
        let mut count = 0;
        for chunk in bytes.chunks(CHUNK_BYTES) {
            events.push(chunk);
            while let Ok(Some(event)) = events.next_event() {
                let read = decoder.event(event.name, event.data, &mut answer);
                assert!(read.is_ok());
                while let Some(event) = answer.pop() {
                    black_box(event);
                    count += 1;
                }
            }
        }
        assert!(count >= DELTAS);
    });
}

#[divan::bench(args = WIRES)]
fn bytes_to_sse_events_only(bencher: Bencher<'_, '_>, wire: Wire) {
    let bytes = stream_of(wire);
    bencher.counter(ItemsCount::new(DELTAS)).bench(|| {
        let mut events = SseDecoder::new(LIMIT_BYTES);
        for chunk in bytes.chunks(CHUNK_BYTES) {
            events.push(chunk);
            while let Ok(Some(event)) = events.next_event() {
                black_box(event);
            }
        }
    });
}

#[divan::bench(args = WIRES)]
fn lines_only(bencher: Bencher<'_, '_>, wire: Wire) {
    let bytes = stream_of(wire);
    bencher.counter(ItemsCount::new(DELTAS)).bench(|| {
        for chunk in bytes.chunks(CHUNK_BYTES) {
            let mut rest = chunk;
            while let Some(end) = memchr::memchr(b'\n', rest) {
                let (line, after) = rest.split_at(end + 1);
                black_box(line);
                rest = after;
            }
        }
    });
}
