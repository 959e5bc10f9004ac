//! However a stream of events is cut into chunks, the events are the same, and so is the reason why
//! it is none.
//!
//! The first byte of the input is the limit of an event, the second the size of the chunks.
#![no_main]

use libfuzzer_sys::fuzz_target;
use stentor_wire::sse::{SseDecoder, SseError};

fuzz_target!(|data: &[u8]| {
    let [limit_bytes, chunk_bytes, stream @ ..] = data else {
        return;
    };
    let limit_bytes = usize::from(*limit_bytes);
    let chunk_bytes = usize::from(*chunk_bytes).max(1);
    let byte_by_byte = events(limit_bytes, stream, 1);
    let in_chunks = events(limit_bytes, stream, chunk_bytes);
    assert_eq!(in_chunks, byte_by_byte);
    assert_eq!(events(limit_bytes, stream, stream.len().max(1)), in_chunks);
});

type Event = (String, String);

fn events(limit_bytes: usize, stream: &[u8], chunk_bytes: usize) -> (Vec<Event>, Option<SseError>) {
    let mut decoder = SseDecoder::new(limit_bytes);
    let mut found = Vec::new();
    let mut take = |decoder: &mut SseDecoder| loop {
        match decoder.next_event() {
            Ok(Some(event)) => {
                assert!(event.name.len() + event.data.len() <= limit_bytes);
                found.push((event.name.to_owned(), event.data.to_owned()));
            }
            Ok(None) => return None,
            Err(error) => return Some(error),
        }
    };
    for chunk in stream.chunks(chunk_bytes) {
        decoder.push(chunk);
        if let Some(error) = take(&mut decoder) {
            return (found, Some(error));
        }
    }
    decoder.finish();
    let error = take(&mut decoder);
    (found, error)
}
