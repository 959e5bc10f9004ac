//! Long texts in events. They are left open in the payload and put in while the frame goes out, part
//! by part, so that no frame holds a second copy of them.

use stentor_wire::edn::{EdnWriter, escape_into};

/// How much of a text is put in at once.
const PART_BYTES: usize = 64 * 1024;

/// The texts that a frame in the making leaves open, in their order.
#[derive(Default)]
pub(super) struct LongTexts<'t> {
    gaps: Vec<(usize, LongText<'t>)>,
}

/// A text, or the content of a string that was escaped before.
#[derive(Clone, Copy)]
pub(super) enum LongText<'t> {
    Plain(&'t str),
    Escaped(&'t [u8]),
}

/// What a frame consists of, from its beginning on.
pub(super) enum FramePiece<'f> {
    Frame(&'f [u8]),
    Text(LongText<'f>),
}

impl<'t> LongTexts<'t> {
    /// Leaves open a string that consists of these texts.
    pub fn leave_open(
        &mut self,
        writer: &mut EdnWriter<'_>,
        texts: impl IntoIterator<Item = LongText<'t>>,
    ) {
        let gap = writer.str_gap();
        self.gaps.extend(texts.into_iter().map(|text| (gap, text)));
    }

    /// The pieces of a frame that was written into an empty buffer.
    pub fn pieces<'f>(&'f self, frame: &'f [u8]) -> impl Iterator<Item = FramePiece<'f>> {
        let starts = [0].into_iter().chain(self.gaps.iter().map(|(gap, _)| *gap));
        let ends = self.gaps.iter().map(|(gap, _)| *gap).chain([frame.len()]);
        let between = starts.zip(ends);
        let texts = self.gaps.iter().map(|(_, text)| Some(*text)).chain([None]);
        between.zip(texts).flat_map(move |((start, end), text)| {
            let part = frame.get(start..end).unwrap_or_default();
            [Some(FramePiece::Frame(part)), text.map(FramePiece::Text)]
                .into_iter()
                .flatten()
        })
    }
}

impl<'t> LongText<'t> {
    /// Cuts off as much as is put in at once; nothing when there is nothing left.
    pub fn take_part(&mut self) -> Option<Self> {
        match self {
            Self::Plain(text) => {
                let end = text.floor_char_boundary(PART_BYTES);
                let (part, rest) = text.split_at(end);
                *text = rest;
                (!part.is_empty()).then_some(Self::Plain(part))
            }
            Self::Escaped(bytes) => {
                let (part, rest) = bytes.split_at(bytes.len().min(PART_BYTES));
                *bytes = rest;
                (!part.is_empty()).then_some(Self::Escaped(part))
            }
        }
    }

    pub fn write(self, out: &mut Vec<u8>) {
        match self {
            Self::Plain(text) => escape_into(out, text),
            Self::Escaped(bytes) => out.extend_from_slice(bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_put_together_from_its_pieces_is_the_frame_written_at_once() {
        let long = "ä\n\"x".repeat(PART_BYTES / 3);
        let mut escaped = Vec::new();
        escape_into(&mut escaped, &long);
        let mut expected = Vec::new();
        EdnWriter::new(&mut expected).map(|data| {
            data.field("a", &format!("{long}\n")).field("b", "");
            data.field("c", &long).field("d", &1);
        });
        let mut texts = LongTexts::default();
        let mut frame = Vec::new();
        EdnWriter::new(&mut frame).map(|data| {
            data.key("a");
            texts.leave_open(data, [LongText::Plain(&long), LongText::Plain("\n")]);
            data.key("b");
            texts.leave_open(data, []);
            data.key("c");
            texts.leave_open(data, [LongText::Escaped(&escaped)]);
            data.field("d", &1);
        });
        let mut whole = Vec::new();
        for piece in texts.pieces(&frame) {
            match piece {
                FramePiece::Frame(bytes) => whole.extend_from_slice(bytes),
                FramePiece::Text(mut text) => {
                    while let Some(part) = text.take_part() {
                        part.write(&mut whole);
                    }
                }
            }
        }
        assert_eq!(whole, expected);
    }
}
