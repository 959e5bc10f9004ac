//! Pictures that clients send or name: which of them a model may be given.
//!
//! A provider refuses a whole request over one broken picture, and a picture goes to it with every
//! request from then on.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use stentor_journal::message::ContentBlock;

/// Why something that a client sends as a picture is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoPicture {
    #[error("its mimeType is not that of an image")]
    OtherKind,
    #[error("its data is not base64")]
    NotBase64,
}

/// A picture that a client sends as base64.
pub fn sent(data: String, mime_type: String) -> Result<ContentBlock, NoPicture> {
    if !mime_type.starts_with("image/") {
        return Err(NoPicture::OtherKind);
    }
    if STANDARD.decode(data.as_bytes()).is_err() {
        return Err(NoPicture::NotBase64);
    }
    Ok(ContentBlock::image(data, mime_type))
}

/// What a picture is, by its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Picture {
    pub mime: &'static str,
    /// Width and height, if the file is whole.
    pub sides: Option<(u32, u32)>,
}

/// Looks at a file. `None` when it is no picture of a kind that models take.
pub fn look(bytes: &[u8]) -> Option<Picture> {
    let (mime, sides) = match bytes {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => ("image/png", png(bytes)),
        [0xff, 0xd8, 0xff, ..] => ("image/jpeg", jpeg(bytes)),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => ("image/gif", gif(bytes)),
        _ if bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") => {
            ("image/webp", webp(bytes))
        }
        _ => return None,
    };
    Some(Picture { mime, sides })
}

fn png(bytes: &[u8]) -> Option<(u32, u32)> {
    let end: &[u8] = b"\0\0\0\0IEND\xaeB`\x82";
    (bytes.get(12..16)? == b"IHDR" && bytes.ends_with(end)).then_some(())?;
    Some((big(bytes, 16)?, big(bytes, 20)?))
}

fn gif(bytes: &[u8]) -> Option<(u32, u32)> {
    bytes.ends_with(b";").then_some(())?;
    Some((little16(bytes, 6)?, little16(bytes, 8)?))
}

/// Walks from marker to marker to the one that says the size.
fn jpeg(bytes: &[u8]) -> Option<(u32, u32)> {
    let tail = bytes.get(bytes.len().saturating_sub(64)..)?;
    tail.windows(2)
        .any(|pair| pair == [0xff, 0xd9])
        .then_some(())?;
    let mut at = 2;
    loop {
        let [0xff, marker] = *bytes.get(at..at + 2)? else {
            return None;
        };
        match marker {
            // Fill bytes, and markers without a length.
            0xff => at += 1,
            0x01 | 0xd0..=0xd8 => at += 2,
            0xd9 | 0xda => return None,
            // Start of frame; four numbers in that range mean other things.
            0xc0..=0xcf if !matches!(marker, 0xc4 | 0xc8 | 0xcc) => {
                return Some((big16(bytes, at + 7)?, big16(bytes, at + 5)?));
            }
            _ => at += 2 + usize::try_from(big16(bytes, at + 2)?).ok()?.max(2),
        }
    }
}

fn webp(bytes: &[u8]) -> Option<(u32, u32)> {
    let announced = usize::try_from(little(bytes, 4)?).ok()?;
    (announced.checked_add(8)? <= bytes.len()).then_some(())?;
    match bytes.get(12..16)? {
        b"VP8X" => Some((little24(bytes, 24)? + 1, little24(bytes, 27)? + 1)),
        b"VP8L" => {
            let packed = little(bytes, 21)?;
            Some(((packed & 0x3fff) + 1, (packed >> 14 & 0x3fff) + 1))
        }
        b"VP8 " => Some((little16(bytes, 26)? & 0x3fff, little16(bytes, 28)? & 0x3fff)),
        _ => None,
    }
}

fn big(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn big16(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?).into())
}

fn little(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn little16(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?).into())
}

fn little24(bytes: &[u8], at: usize) -> Option<u32> {
    let [a, b, c] = *bytes.get(at..at + 3)? else {
        return None;
    };
    Some(u32::from_le_bytes([a, b, c, 0]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole_png(width: u32, height: u32) -> Vec<u8> {
        let mut file = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
        file.extend(width.to_be_bytes());
        file.extend(height.to_be_bytes());
        file.extend(b"\x08\x06\0\0\0crc!\0\0\0\0IEND\xaeB`\x82");
        file
    }

    fn whole_webp(chunk: &[u8]) -> Vec<u8> {
        let mut file = b"RIFF".to_vec();
        file.extend(u32::try_from(chunk.len() + 4).unwrap().to_le_bytes());
        file.extend(b"WEBP");
        file.extend(chunk);
        file
    }

    #[test]
    fn each_kind_says_its_size_and_half_a_file_says_none() {
        let jpeg =
            b"\xff\xd8\xff\xe0\0\x04ab\xff\xc0\0\x0b\x08\0\x03\0\x05\x01\x01\x11\0\xff\xda\xff\xd9";
        let vp8x = b"VP8X\x0a\0\0\0\0\0\0\0\x04\0\0\x02\0\0";
        let vp8l = b"VP8L\x05\0\0\0\x2f\x04\x80\0\0";
        let vp8 = b"VP8 \x0a\0\0\0\0\0\0\x9d\x01\x2a\x05\0\x03\0";
        for (file, mime) in [
            (whole_png(5, 3), "image/png"),
            (b"GIF89a\x05\0\x03\0xyz;".to_vec(), "image/gif"),
            (jpeg.to_vec(), "image/jpeg"),
            (whole_webp(vp8x), "image/webp"),
            (whole_webp(vp8l), "image/webp"),
            (whole_webp(vp8), "image/webp"),
        ] {
            let sides = Some((5, 3));
            assert_eq!(look(&file), Some(Picture { mime, sides }), "{mime}");
            let half = &file[..file.len() - 2];
            assert_eq!(look(half), Some(Picture { mime, sides: None }), "{mime}");
        }
        assert_eq!(look(b"text"), None);
        assert_eq!(look(b""), None);
    }

    proptest::proptest! {
        #[test]
        fn no_file_is_too_strange(start in 0usize..5, rest: Vec<u8>) {
            let starts: [&[u8]; 5] = [
                b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF89a", b"RIFF\x10\0\0\0WEBP", b"",
            ];
            let mut file = starts[start].to_vec();
            file.extend(rest);
            look(&file);
        }
    }
}
