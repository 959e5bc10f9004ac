//! What a person may call a session.

/// The longest name: what fits into a list.
const LONGEST_CHARS: usize = 200;

/// Why something is no name of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SessionNameError {
    #[error("a name cannot be empty")]
    Empty,
    #[error("a name is one line, without control characters")]
    ControlCharacter,
    #[error("a name has at most {LONGEST_CHARS} characters; this one has {0}")]
    TooLong(usize),
}

/// The name without the spaces around it.
pub fn check_name(name: &str) -> Result<&str, SessionNameError> {
    let name = name.trim();
    let length = name.chars().count();
    if name.is_empty() {
        Err(SessionNameError::Empty)
    } else if name.chars().any(char::is_control) {
        Err(SessionNameError::ControlCharacter)
    } else if length > LONGEST_CHARS {
        Err(SessionNameError::TooLong(length))
    } else {
        Ok(name)
    }
}
