//! What a page is: by what its server says, and by its bytes where these say otherwise.

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};

use super::error::FetchError;

/// What is done with a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BodyKind {
    Html,
    Text,
    Picture(&'static str),
}

/// The type of a body as its server announces it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct AnnouncedType {
    /// `text/html`, in lower case. Empty if nothing is said.
    pub kind: String,
    charset: Option<String>,
}

/// What of a text tells in which encoding it is.
const TELLING_BYTES: usize = 8 * 1024;

impl AnnouncedType {
    /// Reads a `Content-Type`.
    pub fn of(header: Option<&str>) -> Self {
        let mut parts = header.unwrap_or_default().split(';');
        let kind = parts.next().unwrap_or_default().trim().to_ascii_lowercase();
        let charset = parts.find_map(|part| {
            let (name, value) = part.split_once('=')?;
            let is_charset = name.trim().eq_ignore_ascii_case("charset");
            is_charset.then(|| value.trim().trim_matches('"').to_owned())
        });
        Self { kind, charset }
    }

    /// An error for what is certainly neither text nor a picture, before it is read.
    pub fn check(&self, bytes: Option<u64>) -> Result<(), FetchError> {
        let kind = self.kind.as_str();
        let (family, name) = kind.split_once('/').unwrap_or((kind, ""));
        let is_text = [
            "xml",
            "json",
            "yaml",
            "toml",
            "javascript",
            "ecmascript",
            "typescript",
        ]
        .iter()
        .any(|word| name == *word || name.ends_with(&format!("+{word}")))
            || name.starts_with("x-") && family != "video" && family != "audio"
            || ["sql", "graphql", "x-www-form-urlencoded", "pgp-signature"].contains(&name);
        let may_be = match family {
            "" | "text" => true,
            "image" => picture(kind).is_some() || name == "svg+xml" || name == "jpg",
            "application" => is_text || name == "octet-stream",
            _ => is_text,
        };
        match may_be {
            true => Ok(()),
            false => Err(FetchError::Binary {
                kind: kind.to_owned(),
                bytes,
            }),
        }
    }

    /// What a body with these first bytes is.
    pub fn kind_of(&self, bytes: &[u8]) -> Result<BodyKind, FetchError> {
        let found = infer::get(bytes).map(|found| found.mime_type());
        if let Some(kind) = found.and_then(picture) {
            return Ok(BodyKind::Picture(kind));
        }
        let start = bytes.get(..TELLING_BYTES).unwrap_or(bytes);
        let is_wide = Encoding::for_bom(bytes).is_some_and(|(encoding, _)| encoding != UTF_8)
            || self
                .named()
                .is_some_and(|encoding| !encoding.is_ascii_compatible());
        if start.contains(&0) && !is_wide {
            let kind = found.unwrap_or(match self.kind.as_str() {
                "" => "of an unknown type",
                announced => announced,
            });
            return Err(FetchError::Binary {
                kind: kind.to_owned(),
                bytes: None,
            });
        }
        let looks_like_html = || {
            let text = String::from_utf8_lossy(start.get(..512).unwrap_or(start));
            let text = text
                .trim_start_matches('\u{feff}')
                .trim_start()
                .to_ascii_lowercase();
            text.starts_with("<!doctype html") || text.starts_with("<html")
        };
        Ok(match self.kind.as_str() {
            "text/html" | "application/xhtml+xml" => BodyKind::Html,
            "" | "application/octet-stream" if looks_like_html() => BodyKind::Html,
            _ => BodyKind::Text,
        })
    }

    /// The body as text. Bytes that mean nothing in its encoding become U+FFFD.
    pub fn text(&self, bytes: &[u8], kind: BodyKind, is_whole: bool) -> String {
        let start = bytes.get(..TELLING_BYTES).unwrap_or(bytes);
        let named = || self.named().or_else(|| named_in_html(start, kind));
        let is_utf8 = || match std::str::from_utf8(bytes) {
            Ok(_) => true,
            // What was cut may end in the middle of a character.
            Err(error) => !is_whole && error.error_len().is_none(),
        };
        let encoding = match named() {
            Some(encoding) => encoding,
            None if is_utf8() => UTF_8,
            None => WINDOWS_1252,
        };
        let (text, _, _) = encoding.decode(bytes);
        text.into_owned()
    }

    /// The encoding that the server names, if there is one of that name.
    fn named(&self) -> Option<&'static Encoding> {
        Encoding::for_label(self.charset.as_ref()?.as_bytes())
    }
}

/// The encoding that a page names itself: `<meta charset="…">`, also inside `content="…"`.
fn named_in_html(start: &[u8], kind: BodyKind) -> Option<&'static Encoding> {
    if kind != BodyKind::Html {
        return None;
    }
    let text = String::from_utf8_lossy(start).to_ascii_lowercase();
    let mut metas = text.split("<meta").skip(1);
    metas.find_map(|meta| {
        let meta = meta.split('>').next()?;
        let (_, value) = meta.split_once("charset")?;
        let value = value.trim_start().strip_prefix('=')?;
        let value = value.trim_start().trim_start_matches(['"', '\'']);
        let label = value.split(['"', '\'', ';', ' ', '/']).next()?;
        let encoding = Encoding::for_label(label.as_bytes())?;
        // A page that is read byte by byte to find this is in no encoding of two bytes.
        Some(match encoding.is_ascii_compatible() {
            true => encoding,
            false => UTF_8,
        })
    })
}

fn picture(kind: &str) -> Option<&'static str> {
    let pictures = ["image/png", "image/jpeg", "image/gif", "image/webp"];
    pictures.into_iter().find(|known| *known == kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_neither_text_nor_a_picture_is_refused_before_it_is_read() {
        for (header, expected) in [
            (None, true),
            (Some("text/html; charset=utf-8"), true),
            (Some("application/json"), true),
            (Some("application/ld+json"), true),
            (Some("application/atom+xml"), true),
            (Some("application/x-sh"), true),
            (Some("application/octet-stream"), true),
            (Some("image/svg+xml"), true),
            (Some("IMAGE/PNG"), true),
            (Some("image/tiff"), false),
            (Some("application/pdf"), false),
            (Some("application/zip"), false),
            (Some("video/mp4"), false),
            (Some("video/x-msvideo"), false),
            (Some("font/woff2"), false),
        ] {
            let announced = AnnouncedType::of(header);
            assert_eq!(announced.check(None).is_ok(), expected, "{header:?}");
        }
        let error = AnnouncedType::of(Some("application/pdf")).check(Some(3 << 20));
        assert_eq!(
            error.unwrap_err().to_string(),
            "the page is application/pdf, 3.0MB: only text and pictures (PNG, JPEG, GIF, WebP) are \
             fetched"
        );
    }

    #[test]
    fn bytes_say_what_a_body_is_where_the_server_is_wrong() {
        let png = b"\x89PNG\r\n\x1a\nxxxx";
        for (header, bytes, expected) in [
            (
                Some("text/html"),
                &png[..],
                Some(BodyKind::Picture("image/png")),
            ),
            (Some("image/png"), b"<html>", Some(BodyKind::Text)),
            (Some("text/html"), b"a\0b", None),
            (
                Some("text/html; charset=utf-16le"),
                b"a\0b\0",
                Some(BodyKind::Html),
            ),
            (Some("text/plain"), b"\xff\xfea\0", Some(BodyKind::Text)),
            (None, b"\n <!DOCTYPE html><p>", Some(BodyKind::Html)),
            (None, b"plain", Some(BodyKind::Text)),
            (Some("text/plain"), b"<html>", Some(BodyKind::Text)),
            (Some("application/octet-stream"), b"PK\x03\x04\0\0", None),
        ] {
            let found = AnnouncedType::of(header).kind_of(bytes).ok();
            assert_eq!(found, expected, "{header:?}");
        }
    }

    #[test]
    fn text_is_read_in_the_encoding_it_is_in() {
        for (header, bytes, expected) in [
            ("text/plain", &b"caf\xc3\xa9"[..], "café"),
            ("text/plain", b"caf\xe9", "café"),
            ("text/plain; charset=ISO-8859-1", b"caf\xe9", "café"),
            ("text/plain; charset=\"utf-8\"", b"caf\xe9", "caf\u{fffd}"),
            ("text/plain; charset=nonsense", b"caf\xc3\xa9", "café"),
            ("text/plain; charset=shift_jis", b"\x93\xfa\x96\x7b", "日本"),
            ("text/plain", b"\xef\xbb\xbfx", "x"),
            ("text/plain", b"\xff\xfea\0", "a"),
            (
                "text/html",
                b"<meta charset=koi8-r>\xc4\xc1",
                "<meta charset=koi8-r>да",
            ),
            (
                "text/html",
                b"<META http-equiv=x content='text/html; charset=koi8-r'>\xc4",
                "<META http-equiv=x content='text/html; charset=koi8-r'>д",
            ),
            (
                "text/plain",
                b"<meta charset=koi8-r>\xc4",
                "<meta charset=koi8-r>Ä",
            ),
        ] {
            let announced = AnnouncedType::of(Some(header));
            let kind = announced.kind_of(bytes).unwrap();
            assert_eq!(announced.text(bytes, kind, true), expected, "{header}");
        }
        let cut = AnnouncedType::default().text(b"caf\xc3", BodyKind::Text, false);
        assert_eq!(cut, "caf\u{fffd}");
    }
}
