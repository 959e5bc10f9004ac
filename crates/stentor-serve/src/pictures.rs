//! Pictures that clients send. They are checked before a session has them: from then on they would go
//! to the provider with every request.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use stentor_journal::message::ContentBlock;

/// Why something is no picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PictureError {
    #[error("its mimeType is not that of a picture")]
    Type,
    #[error("its data is not base64")]
    Data,
}

/// A picture, from its data in base64.
pub(crate) fn picture(data: String, mime_type: String) -> Result<ContentBlock, PictureError> {
    if !mime_type.starts_with("image/") {
        return Err(PictureError::Type);
    }
    if STANDARD.decode(&data).is_err() {
        return Err(PictureError::Data);
    }
    Ok(ContentBlock::image(data, mime_type))
}
