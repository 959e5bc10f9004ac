use proptest::prelude::*;

use super::{FramedLine, KEEP_CAPACITY_BYTES, LineReader};

#[derive(Debug, Clone, PartialEq, Eq)]
enum Owned {
    Text(String),
    TooLong,
    InvalidUtf8,
}

impl From<FramedLine<'_>> for Owned {
    fn from(line: FramedLine<'_>) -> Self {
        match line {
            FramedLine::Text(text) => Owned::Text(text.to_owned()),
            FramedLine::TooLong => Owned::TooLong,
            FramedLine::InvalidUtf8 => Owned::InvalidUtf8,
        }
    }
}

fn text(line: &str) -> Owned {
    Owned::Text(line.to_owned())
}

/// Reads `chunks` one after the other, and checks the memory bound on the way.
fn read<'a>(limit_bytes: usize, chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<Owned> {
    let mut reader = LineReader::new(limit_bytes);
    let mut lines = Vec::new();
    for mut chunk in chunks {
        while let Some(line) = reader.next_line(&mut chunk) {
            lines.push(line.into());
        }
        assert!(reader.capacity_bytes() <= limit_bytes.max(8));
    }
    lines.extend(reader.finish().map(Owned::from));
    assert_eq!(reader.finish(), None, "finish gives the last line once");
    lines
}

/// The rules written down in the plainest way, on the whole input at once.
fn reference(limit_bytes: usize, input: &[u8]) -> Vec<Owned> {
    let mut pieces: Vec<&[u8]> = input.split(|&byte| byte == b'\n').collect();
    if pieces.last().is_some_and(|last| last.is_empty()) {
        pieces.pop();
    }
    let judge = |mut piece: &[u8]| {
        while let [head @ .., b'\r'] = piece {
            piece = head;
        }
        match std::str::from_utf8(piece) {
            _ if piece.len() > limit_bytes => Owned::TooLong,
            Ok(line) => text(line),
            Err(_) => Owned::InvalidUtf8,
        }
    };
    pieces.into_iter().map(judge).collect()
}

#[test]
fn rules_of_line_endings_limit_and_encoding() {
    let cases: &[(&str, &[u8], &[Owned])] = &[
        ("nothing", b"", &[]),
        ("one empty line", b"\n", &[text("")]),
        ("lf", b"a\nb\n", &[text("a"), text("b")]),
        ("no lf at the end", b"a\nb", &[text("a"), text("b")]),
        ("crlf", b"a\r\nb\r\n", &[text("a"), text("b")]),
        ("many cr", b"a\r\r\r\nb", &[text("a"), text("b")]),
        ("cr at the end of input", b"a\r", &[text("a")]),
        ("only cr", b"\r", &[text("")]),
        ("cr inside is content", b"a\rb\n", &[text("a\rb")]),
        (
            "separators are text",
            "a\u{2028}b\u{2029}\n".as_bytes(),
            &[text("a\u{2028}b\u{2029}")],
        ),
        ("exactly the limit", b"123456789\n", &[text("123456789")]),
        (
            "the limit does not count the ending",
            b"123456789\r\r\r\n",
            &[text("123456789")],
        ),
        ("one over", b"1234567890\nb\n", &[Owned::TooLong, text("b")]),
        ("one over without lf", b"1234567890", &[Owned::TooLong]),
        (
            "cr inside counts",
            b"12345678\r0\nb",
            &[Owned::TooLong, text("b")],
        ),
        (
            "two over",
            b"1234567890\n1234567890\n",
            &[Owned::TooLong, Owned::TooLong],
        ),
        ("invalid", b"a\xff\nb\n", &[Owned::InvalidUtf8, text("b")]),
        (
            "cut short",
            b"a\xe2\x82\nb\n",
            &[Owned::InvalidUtf8, text("b")],
        ),
        (
            "too long wins over invalid",
            b"\xff234567890\n",
            &[Owned::TooLong],
        ),
    ];
    for (name, input, expected) in cases {
        assert_eq!(reference(9, input), *expected, "{name}: reference");
        assert_eq!(read(9, [*input]), *expected, "{name}: whole");
        assert_eq!(read(9, input.chunks(1)), *expected, "{name}: byte by byte");
    }
}

#[test]
fn a_line_inside_a_chunk_is_not_copied() {
    let mut reader = LineReader::new(100);
    let input = b"hello\n";
    let mut chunk: &[u8] = input;
    let Some(FramedLine::Text(line)) = reader.next_line(&mut chunk) else {
        panic!("no line")
    };
    assert_eq!(line.as_ptr(), input.as_ptr());
    assert_eq!(reader.capacity_bytes(), 0);
}

#[test]
fn memory_is_flat_during_an_endless_line_and_small_after_a_large_one() {
    let limit_bytes = 1 << 20;
    let mut reader = LineReader::new(limit_bytes);
    let block = vec![b'x'; 10_000];
    for _ in 0..1_000 {
        assert_eq!(reader.next_line(&mut block.as_slice()), None);
        assert!(reader.capacity_bytes() <= limit_bytes);
    }
    assert_eq!(
        reader.next_line(&mut b"\n".as_slice()),
        Some(FramedLine::TooLong)
    );

    for _ in 0..50 {
        assert_eq!(reader.next_line(&mut block.as_slice()), None);
    }
    assert!(reader.capacity_bytes() >= 500_000);
    assert!(matches!(
        reader.next_line(&mut b"\n".as_slice()),
        Some(FramedLine::Text(_))
    ));
    assert_eq!(reader.next_line(&mut b"next".as_slice()), None);
    assert!(reader.capacity_bytes() <= KEEP_CAPACITY_BYTES);
    assert_eq!(reader.finish(), Some(FramedLine::Text("next")));
}

#[test]
fn endless_cr_is_counted_not_stored() {
    let mut reader = LineReader::new(4);
    assert_eq!(reader.next_line(&mut b"ab".as_slice()), None);
    for _ in 0..100 {
        assert_eq!(reader.next_line(&mut [b'\r'; 1000].as_slice()), None);
    }
    assert!(reader.capacity_bytes() <= 8);
    assert_eq!(
        reader.next_line(&mut b"\n".as_slice()),
        Some(FramedLine::Text("ab"))
    );
}

fn stream() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![
        4 => Just(b'a'),
        3 => Just(b'\n'),
        3 => Just(b'\r'),
        1 => any::<u8>(),
    ];
    let piece = prop_oneof![
        proptest::collection::vec(byte, 0..12),
        "[é€😀\u{2028}a]{0,4}".prop_map(String::into_bytes),
    ];
    proptest::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_split_into_chunks_gives_the_reference_lines(
        input in stream(),
        cuts in proptest::collection::vec(0..7usize, 0..64),
        limit_bytes in 0..12usize,
    ) {
        let mut chunks = Vec::new();
        let mut rest = input.as_slice();
        for cut in cuts {
            let (chunk, tail) = rest.split_at(cut.min(rest.len()));
            chunks.push(chunk);
            rest = tail;
        }
        chunks.push(rest);
        prop_assert_eq!(read(limit_bytes, chunks), reference(limit_bytes, &input));
    }
}
