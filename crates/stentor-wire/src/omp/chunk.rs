//! Long objects in chunks (section 20).

use std::io::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::facts::{CHUNK_BYTES, MAX_FRAME_BYTES, MAX_REASSEMBLED_BYTES};

/// What can be done with an object of a given length in version 2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fit {
    /// It goes out as it is.
    Line,
    /// It goes out in chunks.
    Chunks,
    /// It cannot go out.
    TooLong,
}

/// What can be done with an object of `len` bytes, its LF not counted.
pub fn fit(len: usize) -> Fit {
    if len < MAX_FRAME_BYTES {
        Fit::Line
    } else if len <= MAX_REASSEMBLED_BYTES {
        Fit::Chunks
    } else {
        Fit::TooLong
    }
}

/// Appends `object`, which [`fit`]s into chunks, as chunk lines. `number` counts the objects sent
/// this way.
pub fn write_chunks(object: &[u8], number: u64, out: &mut Vec<u8>) {
    for (index, chunk) in object.chunks(CHUNK_BYTES).enumerate() {
        write_chunk(chunk, number, index, object.len(), out);
    }
}

/// Appends one chunk of an object of `byte_length` bytes; all but the last have [`CHUNK_BYTES`].
pub fn write_chunk(chunk: &[u8], number: u64, index: usize, byte_length: usize, out: &mut Vec<u8>) {
    let count = byte_length.div_ceil(CHUNK_BYTES);
    // Writing to a vector does not fail.
    write!(
        out,
        r#"{{"type":"rpc_chunk","chunkId":"rpc-{number}","index":{index},"count":{count},"byteLength":{byte_length},"data":""#
    )
    .ok();
    let start = out.len();
    let encoded = chunk.len().div_ceil(3) * 4;
    out.resize(start + encoded, 0);
    if let Some(space) = out.get_mut(start..) {
        // The space is exactly as long as the encoding.
        STANDARD.encode_slice(chunk, space).ok();
    }
    out.extend_from_slice(b"\"}\n");
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn an_object_of_the_limit_is_chunked_and_one_below_is_not() {
        assert_eq!(fit(MAX_FRAME_BYTES - 1), Fit::Line);
        assert_eq!(fit(MAX_FRAME_BYTES), Fit::Chunks);
        assert_eq!(fit(MAX_REASSEMBLED_BYTES), Fit::Chunks);
        assert_eq!(fit(MAX_REASSEMBLED_BYTES + 1), Fit::TooLong);
    }

    #[test]
    fn chunks_put_together_are_the_object_and_each_fits_on_a_line() {
        for len in [
            MAX_FRAME_BYTES,
            MAX_FRAME_BYTES + 1,
            3 * MAX_FRAME_BYTES + 77,
        ] {
            let object: Vec<u8> = (0..len).map(|n| b'a' + (n % 26) as u8).collect();
            let mut out = Vec::new();
            write_chunks(&object, 7, &mut out);
            let mut joined = Vec::new();
            let lines: Vec<&[u8]> = out.split(|byte| *byte == b'\n').collect();
            let (last, lines) = lines.split_last().unwrap();
            assert!(last.is_empty());
            for (index, line) in lines.iter().enumerate() {
                assert!(line.len() < MAX_FRAME_BYTES);
                let chunk: Value = serde_json::from_slice(line).unwrap();
                assert_eq!(chunk["chunkId"], "rpc-7");
                assert_eq!(chunk["index"], index);
                assert_eq!(chunk["count"], lines.len());
                assert_eq!(chunk["byteLength"], len);
                joined.extend(STANDARD.decode(chunk["data"].as_str().unwrap()).unwrap());
            }
            assert_eq!(joined, object);
        }
    }
}
