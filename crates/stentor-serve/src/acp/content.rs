//! What a prompt is made of, in the core's words (section 6.1).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use agent_client_protocol_schema::v1 as acp;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use stentor_agent::model::{InputKind, ModelInfo};
use stentor_agent::project_files::FileOwner;
use stentor_agent::tasks;
use stentor_agent::tool::Place;
use stentor_journal::message::{ContentBlock, DocumentBlock, KnownBlock};

use super::calls::one_line;
use super::error::{AcpResult, Refusal};
use super::limits;
use crate::picture::{self, NoPicture};

/// Turns the blocks of a prompt into content for `model`. Linked files are read.
pub(super) async fn of_prompt(
    blocks: Vec<acp::ContentBlock>,
    model: Option<&ModelInfo>,
    place: &dyn Place,
) -> AcpResult<Vec<ContentBlock>> {
    let mut content = Vec::with_capacity(blocks.len());
    for (n, block) in blocks.into_iter().enumerate() {
        let at = Position { n, model };
        content.push(match block {
            acp::ContentBlock::Text(text) => ContentBlock::text(text.text),
            acp::ContentBlock::Image(image) => at.image(image.data, image.mime_type)?,
            acp::ContentBlock::Audio(_) => {
                return Err(
                    at.refused("is audio, which this agent cannot take. Send a transcript as text")
                );
            }
            acp::ContentBlock::Resource(resource) => at.embedded(resource.resource)?,
            acp::ContentBlock::ResourceLink(link) => at.linked(link, place).await?,
            _ => return Err(at.refused("has a type this agent does not know")),
        });
    }
    if content.is_empty() {
        return Err(Refusal::invalid_params("The prompt is empty."));
    }
    Ok(content)
}

/// A block and who is to see it.
struct Position<'a> {
    n: usize,
    model: Option<&'a ModelInfo>,
}

impl Position<'_> {
    fn refused(&self, why: &str) -> Refusal {
        Refusal::invalid_params(format!("prompt[{}] {why}.", self.n))
    }

    /// An unknown model is given everything: its provider knows.
    fn accepts(&self, kind: InputKind) -> bool {
        self.model.is_none_or(|model| model.accepts(kind))
    }

    fn image(&self, data: String, mime_type: String) -> AcpResult<ContentBlock> {
        if !self.accepts(InputKind::Image) {
            let name = self.model.map(ModelInfo::full_name).unwrap_or_default();
            return Err(self.refused(&format!(
                "is a picture, which {name} cannot see. Choose another model, or leave it out"
            )));
        }
        picture::sent(data, mime_type).map_err(|error| {
            self.refused(match error {
                NoPicture::OtherKind => "is a picture whose mimeType is not that of an image",
                NoPicture::NotBase64 => "is a picture whose data is not base64",
            })
        })
    }

    fn document(&self, data: String, name: &str) -> AcpResult<ContentBlock> {
        if !self.accepts(InputKind::Document) {
            let model = self.model.map(ModelInfo::full_name).unwrap_or_default();
            return Err(self.refused(&format!(
                "is a PDF document, which {model} cannot read. Send its text"
            )));
        }
        Ok(KnownBlock::Document(DocumentBlock {
            data: data.into(),
            mime_type: PDF.to_owned(),
            name: Some(name.to_owned()),
        })
        .into())
    }

    fn embedded(&self, resource: acp::EmbeddedResourceResource) -> AcpResult<ContentBlock> {
        match resource {
            acp::EmbeddedResourceResource::TextResourceContents(text) => {
                Ok(framed(&text.uri, &text.text))
            }
            acp::EmbeddedResourceResource::BlobResourceContents(blob) => {
                let mime = blob.mime_type.unwrap_or_default();
                if mime.starts_with("image/") {
                    return self.image(blob.blob, mime);
                }
                if mime == PDF {
                    return self.document(blob.blob, &blob.uri);
                }
                let bytes = STANDARD
                    .decode(&blob.blob)
                    .map_err(|_| self.refused("is a resource whose data is not base64"))?;
                match String::from_utf8(bytes) {
                    Ok(text) => Ok(framed(&blob.uri, &text)),
                    Err(_) => Err(self.refused(&format!(
                        "is a resource of type {mime:?}, which is neither text nor a picture"
                    ))),
                }
            }
            _ => Err(self.refused("is a resource of a form this agent does not know")),
        }
    }

    /// A file that cannot go in is named, so that the model can look at it with its tools.
    async fn linked(&self, link: acp::ResourceLink, place: &dyn Place) -> AcpResult<ContentBlock> {
        let Some(path) = file_of(&link.uri) else {
            return Ok(mentioned(&link));
        };
        let unsaved = place.read_text(&path).await.ok().flatten();
        if let Some(text) = unsaved {
            return Ok(match text.len() as u64 > limits::LINKED_TEXT_BYTES {
                true => mentioned(&link),
                false => framed(&link.uri, &text),
            });
        }
        let read = tasks::spawn_blocking(move || LinkedFile::read(&path)).await;
        Ok(match read.unwrap_or(LinkedFile::Other) {
            LinkedFile::Text(text) => framed(&link.uri, &text),
            LinkedFile::Image(data, mime) if self.accepts(InputKind::Image) => {
                ContentBlock::image(data, mime)
            }
            LinkedFile::Pdf(data) if self.accepts(InputKind::Document) => {
                self.document(data, &link.name)?
            }
            LinkedFile::Image(..) | LinkedFile::Pdf(_) | LinkedFile::Other => mentioned(&link),
        })
    }
}

const PDF: &str = "application/pdf";

/// What a linked file is.
enum LinkedFile {
    Text(String),
    /// Base64 and media type.
    Image(Arc<str>, &'static str),
    Pdf(String),
    /// Missing, a folder, too large, or nothing that can be shown.
    Other,
}

impl LinkedFile {
    fn read(path: &Path) -> Self {
        let Ok(bytes) = FileOwner::Own.read(path, limits::LINKED_BINARY_BYTES) else {
            return Self::Other;
        };
        if let Some(picture) = picture::look(&bytes) {
            return Self::Image(STANDARD.encode(&bytes).into(), picture.mime);
        }
        if bytes.starts_with(b"%PDF-") {
            return Self::Pdf(STANDARD.encode(&bytes));
        }
        match String::from_utf8(bytes) {
            Ok(text) if text.len() as u64 <= limits::LINKED_TEXT_BYTES && !text.contains('\0') => {
                Self::Text(text)
            }
            _ => Self::Other,
        }
    }
}

/// What a prompt is about, in one line: its own words, else the name of what was sent along.
pub(super) fn title_of(prompt: &str) -> String {
    const END: &str = "</context>";
    let mut rest = prompt.trim();
    let mut name = None;
    while let Some(framed) = rest.strip_prefix(BEGIN) {
        let (uri, text) = framed.split_once('"').unwrap_or((framed, ""));
        name = name.or(Some(uri));
        rest = text.split_once(END).map_or("", |(_, later)| later).trim();
    }
    match (rest, name) {
        ("", Some(uri)) => {
            let path = file_of(uri);
            let file = path.as_deref().and_then(Path::file_name);
            one_line(&file.map_or(uri.into(), |file| file.to_string_lossy()))
        }
        _ => one_line(rest),
    }
}

const BEGIN: &str = "<context uri=\"";

/// Text with where it comes from around it.
fn framed(uri: &str, text: &str) -> ContentBlock {
    let uri = uri.replace('"', "%22");
    ContentBlock::text(format!("{BEGIN}{uri}\">\n{text}\n</context>"))
}

fn mentioned(link: &acp::ResourceLink) -> ContentBlock {
    let place = match file_of(&link.uri) {
        Some(path) => path.display().to_string(),
        None => link.uri.clone(),
    };
    ContentBlock::text(format!("[{}]({place})", link.name))
}

/// The file a URI names, without the lines that may follow in the fragment.
fn file_of(uri: &str) -> Option<PathBuf> {
    let rest = uri.strip_prefix("file://")?;
    let rest = rest.split(['#', '?']).next().unwrap_or(rest);
    // An authority other than this machine is somebody else's file.
    let path = match rest.strip_prefix("localhost") {
        Some(path) => path,
        None => rest,
    };
    path.starts_with('/')
        .then(|| PathBuf::from(unescaped(path)))
}

/// Percent escapes undone; what is no escape stays.
fn unescaped(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, later)) = rest.split_first() {
        let digits = later.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        let escaped = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match escaped {
            Some(byte) if first == b'%' => {
                bytes.push(byte);
                rest = later.get(2..).unwrap_or_default();
            }
            _ => {
                bytes.push(first);
                rest = later;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_what_was_said_or_the_name_of_what_was_sent() {
        for (prompt, title) in [
            ("Fix it\nplease", "Fix it…"),
            (
                "<context uri=\"file:///a%20b/c.rs#L1\">\nfn x() {}\n</context>",
                "c.rs",
            ),
            (
                "<context uri=\"x:y\">\na\n</context>\n<context uri=\"z\">\nb\n</context>",
                "x:y",
            ),
            (
                "<context uri=\"file:///a\">\na\n</context>\nExplain",
                "Explain",
            ),
            ("<context uri=\"file:///broken", "broken"),
            ("", ""),
        ] {
            assert_eq!(title_of(prompt), title);
        }
    }

    #[test]
    fn only_files_of_this_machine_are_files() {
        for (uri, path) in [
            ("file:///a/b.txt", Some("/a/b.txt")),
            ("file:///a%20b/%C3%A9#L10:20", Some("/a b/é")),
            ("file://localhost/a", Some("/a")),
            ("file://elsewhere/a", None),
            ("file:///50%", Some("/50%")),
            ("https://example.org/a", None),
            ("/a/b", None),
        ] {
            assert_eq!(file_of(uri), path.map(PathBuf::from), "{uri}");
        }
    }
}
