//! However the stream is cut into chunks, the lines are the same, and memory stays within the limit.
//!
//! The first byte of the input is the limit, the second the size of the chunks.
#![no_main]

use libfuzzer_sys::fuzz_target;
use stentor_wire::framing::{FramedLine, LineReader};

fuzz_target!(|data: &[u8]| {
    let [limit_bytes, chunk_bytes, stream @ ..] = data else {
        return;
    };
    let limit_bytes = usize::from(*limit_bytes);
    let chunk_bytes = usize::from(*chunk_bytes).max(1);
    let whole = lines(limit_bytes, stream, stream.len().max(1));
    assert_eq!(lines(limit_bytes, stream, chunk_bytes), whole);
    assert_eq!(lines(limit_bytes, stream, 1), whole);
});

fn lines(
    limit_bytes: usize,
    stream: &[u8],
    chunk_bytes: usize,
) -> Vec<Result<String, &'static str>> {
    let mut reader = LineReader::new(limit_bytes);
    let mut lines = Vec::new();
    for mut chunk in stream.chunks(chunk_bytes) {
        while let Some(line) = reader.next_line(&mut chunk) {
            lines.push(owned(line, limit_bytes));
        }
        assert!(reader.capacity_bytes() <= limit_bytes.max(8));
    }
    lines.extend(reader.finish().map(|line| owned(line, limit_bytes)));
    lines
}

fn owned(line: FramedLine<'_>, limit_bytes: usize) -> Result<String, &'static str> {
    match line {
        FramedLine::Text(text) => {
            assert!(text.len() <= limit_bytes && !text.contains('\n') && !text.ends_with('\r'));
            Ok(text.to_owned())
        }
        FramedLine::TooLong => Err("too long"),
        FramedLine::InvalidUtf8 => Err("invalid UTF-8"),
    }
}
