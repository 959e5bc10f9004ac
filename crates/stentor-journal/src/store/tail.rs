//! The end of a file after a crash: what of it is whole.

use std::io;

use super::bytes::{Bytes, LinesBackward, read_range};
use super::line::is_whole_object;

/// Where the whole lines of a file end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tail {
    /// How many bytes are whole lines.
    pub(super) keep: u64,
    /// True when the last of them lacks its LF.
    pub(super) lacks_lf: bool,
    /// How many bytes of half a line, or of NULs, come after.
    pub(super) torn: u64,
}

/// Judges the end: NULs that a power loss left are nothing, a last line without LF counts when it
/// is a whole JSON object and is torn otherwise.
pub(super) fn tail_of<B: Bytes + ?Sized>(bytes: &B) -> io::Result<Tail> {
    let size = bytes.size()?;
    let solid = end_without_nuls(bytes, size)?;
    let mut keep = solid;
    let mut lacks_lf = false;
    if solid > 0 && read_range(bytes, solid - 1, 1)? != b"\n" {
        let mut lines = LinesBackward::before(bytes, solid);
        if let Some((span, line)) = lines.next()? {
            lacks_lf = is_whole_object(line);
            if !lacks_lf {
                keep = span.offset;
            }
        }
    }
    Ok(Tail {
        keep,
        lacks_lf,
        torn: size - keep,
    })
}

/// Where the bytes end when the NULs at the end are not counted.
fn end_without_nuls<B: Bytes + ?Sized>(bytes: &B, size: u64) -> io::Result<u64> {
    const BLOCK_BYTES: u64 = 64 * 1024;
    let mut end = size;
    // The first look is at one byte: nearly always it is an LF.
    let mut length = 1;
    while end > 0 {
        let start = end - length.min(end);
        let block = read_range(bytes, start, usize::try_from(end - start).unwrap_or(0))?;
        if let Some(last) = block.iter().rposition(|byte| *byte != 0) {
            return Ok(start + last as u64 + 1);
        }
        end = start;
        length = BLOCK_BYTES;
    }
    Ok(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_half_lines_and_nuls_are_torn() {
        let many_nuls = [b"{}\n".as_slice(), &[0; 200_000]].concat();
        for (bytes, keep, lacks_lf) in [
            (b"".as_slice(), 0, false),
            (b"{}\n", 3, false),
            (b"{}\n{}", 5, true),
            (b"{}\n{", 3, false),
            (b"{}\n\n", 4, false),
            (b"{}\n12", 3, false),
            (b"{}\n\0\0", 3, false),
            (b"{}\n{}\0", 5, true),
            (b"{}\n{\0", 3, false),
            (b"\0\0\0", 0, false),
            (b"{", 0, false),
            (&many_nuls, 3, false),
        ] {
            let torn = bytes.len() as u64 - keep;
            let expected = Tail {
                keep,
                lacks_lf,
                torn,
            };
            assert_eq!(tail_of(bytes).unwrap(), expected, "{}", bytes.len());
        }
    }
}
