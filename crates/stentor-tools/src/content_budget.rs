//! How much of what servers and extensions say a model is told.
//!
//! A result may have any number of pieces, and pictures cannot be shortened: without a bound one
//! result would fill the context for good. What does not fit is counted and told once, at the end.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use stentor_journal::message::ContentBlock;

/// Pieces of text of one result. More are a flood, however short they are.
const TEXTS: usize = 1_000;
/// Pictures of one result. Each costs a model a thousand tokens and more.
const PICTURES: usize = 20;
/// All pictures of one result, encoded. Every provider takes that much.
const PICTURE_BYTES: usize = 4_718_592;

/// What of one result is still shown, and what was left out.
pub(crate) struct ContentBudget {
    bytes: usize,
    texts: usize,
    pictures: usize,
    picture_bytes: usize,
    left_out: OmittedContent,
}

#[derive(Default)]
struct OmittedContent {
    bytes: usize,
    /// Pictures beyond the limits.
    pictures: usize,
    /// What was called a picture and is none that a model could look at.
    no_pictures: usize,
}

impl ContentBudget {
    /// A budget of so many bytes of text.
    pub fn new(bytes: usize) -> Self {
        Self {
            bytes,
            texts: TEXTS,
            pictures: PICTURES,
            picture_bytes: PICTURE_BYTES,
            left_out: OmittedContent::default(),
        }
    }

    /// The text as far as there is budget.
    pub fn text(&mut self, text: &str) -> Option<ContentBlock> {
        let left = match self.texts {
            0 => 0,
            _ => self.bytes,
        };
        let kept = text
            .get(..text.floor_char_boundary(left))
            .unwrap_or_default();
        self.left_out.bytes += text.len() - kept.len();
        if kept.is_empty() {
            return None;
        }
        self.bytes -= kept.len();
        self.texts -= 1;
        Some(ContentBlock::text(kept))
    }

    /// A picture in base64, if it is one and there is budget. What it is goes by its bytes, since a
    /// provider refuses the whole conversation for a picture that is not what it is called.
    pub fn picture(&mut self, data: &str) -> Option<ContentBlock> {
        if self.pictures == 0 || data.len() > self.picture_bytes {
            self.left_out.pictures += 1;
            return None;
        }
        let Some(kind) = picture_kind(data) else {
            self.left_out.no_pictures += 1;
            return None;
        };
        self.pictures -= 1;
        self.picture_bytes -= data.len();
        Some(ContentBlock::image(data, kind))
    }

    /// What was left out, in a line that comes last.
    pub fn left_out(&self) -> Option<ContentBlock> {
        let OmittedContent {
            bytes,
            pictures,
            no_pictures,
        } = self.left_out;
        let mut parts = Vec::new();
        if bytes > 0 {
            parts.push(format!("{bytes} more bytes were left out."));
        }
        if pictures > 0 {
            parts.push(format!(
                "Pictures left out beyond {PICTURES} or 4.5 MiB together: {pictures}."
            ));
        }
        if no_pictures > 0 {
            parts.push(format!(
                "Pictures left out because they are not PNG, JPEG, GIF or WebP in base64: {no_pictures}."
            ));
        }
        (!parts.is_empty()).then(|| ContentBlock::text(format!("[{}]", parts.join(" "))))
    }
}

/// The MIME type of a picture that models look at; none for anything else.
fn picture_kind(data: &str) -> Option<&'static str> {
    let bytes = STANDARD.decode(data).ok()?;
    let kind = infer::get(&bytes)?.mime_type();
    ["image/png", "image/jpeg", "image/gif", "image/webp"]
        .contains(&kind)
        .then_some(kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn png(bytes: usize) -> String {
        let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
        png.resize(bytes, 0);
        STANDARD.encode(png)
    }

    #[test]
    fn text_beyond_the_room_is_counted_once() {
        let mut budget = ContentBudget::new(4);
        let mut shown: Vec<_> = ["ab", "", "cdé", "x", "y"]
            .iter()
            .filter_map(|text| budget.text(text))
            .collect();
        shown.extend(budget.left_out());
        assert_eq!(
            shown,
            ["ab", "cd", "[4 more bytes were left out.]"].map(ContentBlock::text)
        );
    }

    #[test]
    fn a_flood_of_short_texts_has_an_end() {
        let mut budget = ContentBudget::new(usize::MAX);
        let shown = (0..200_000).filter_map(|_| budget.text("x")).count();
        assert_eq!(shown, TEXTS);
        let told = ContentBlock::text("[199000 more bytes were left out.]");
        assert_eq!(budget.left_out(), Some(told));
    }

    #[test]
    fn pictures_are_shown_up_to_a_number_and_a_size() {
        let mut budget = ContentBudget::new(0);
        let picture = png(12);
        let shown = (0..5_000).filter_map(|_| budget.picture(&picture)).count();
        assert_eq!(shown, PICTURES);
        let told = "[Pictures left out beyond 20 or 4.5 MiB together: 4980.]";
        assert_eq!(budget.left_out(), Some(ContentBlock::text(told)));

        let mut budget = ContentBudget::new(0);
        let large = png(PICTURE_BYTES / 4 * 3);
        assert!(budget.picture(&large).is_some());
        assert_eq!(budget.picture(&picture), None);
    }

    #[test]
    fn what_is_no_picture_is_not_shown_as_one_and_a_picture_goes_by_what_it_is() {
        let mut budget = ContentBudget::new(0);
        for data in ["AAAA", "not base64", "", "aGVsbG8=", "PHN2Zz48L3N2Zz4="] {
            assert_eq!(budget.picture(data), None, "{data}");
        }
        let told = "[Pictures left out because they are not PNG, JPEG, GIF or WebP in base64: 5.]";
        assert_eq!(budget.left_out(), Some(ContentBlock::text(told)));
        let jpeg = STANDARD.encode(b"\xff\xd8\xff\xe0");
        let shown = ContentBlock::image(jpeg.as_str(), "image/jpeg");
        assert_eq!(budget.picture(&jpeg), Some(shown));
    }
}
