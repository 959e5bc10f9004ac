//! What a person pastes where no browser can return by itself.

use reqwest::Url;

/// Why what was pasted completes no login.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PasteError {
    #[error("the pasted code belongs to another login; start again")]
    WrongState,
    #[error(
        "the pasted text contains no code; paste the whole address the browser was redirected to, \
         or `code#state`"
    )]
    NoCode,
    #[error(
        "the pasted text does not show which login it belongs to; paste the whole address the \
         browser was redirected to, or `code#state`"
    )]
    NoState,
}

/// The code in what a person pasted: `code#state`, or the whole address. Without the state it may
/// be the code of a login that somebody else began.
pub fn pasted_code(text: &str, state: &str) -> Result<String, PasteError> {
    let text = text.trim();
    let (code, other) = if let Ok(url) = Url::parse(text) {
        let get = |name: &str| {
            let found = url.query_pairs().find(|(key, _)| key == name);
            found.map(|(_, value)| value.into_owned())
        };
        (get("code").unwrap_or_default(), get("state"))
    } else if let Some((code, other)) = text.split_once('#') {
        (code.to_owned(), Some(other.to_owned()))
    } else {
        (text.to_owned(), None)
    };
    if code.is_empty() || code.contains(char::is_whitespace) {
        return Err(PasteError::NoCode);
    }
    match other {
        None => Err(PasteError::NoState),
        Some(other) if other != state => Err(PasteError::WrongState),
        Some(_) => Ok(code),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_found_in_whatever_a_person_pastes() {
        const NO_CODE: &str = "the pasted text contains no code; paste the whole address the browser was redirected to, or `code#state`";
        const NO_STATE: &str = "the pasted text does not show which login it belongs to; paste the whole address the browser was redirected to, or `code#state`";
        const OTHER: &str = "the pasted code belongs to another login; start again";
        for (text, expected) in [
            (" abc#s1 ", Ok("abc")),
            ("http://localhost:1/callback?code=a%2Fb&state=s1", Ok("a/b")),
            ("abc", Err(NO_STATE)),
            ("http://localhost:1/callback?code=abc", Err(NO_STATE)),
            ("abc#s2", Err(OTHER)),
            ("abc#", Err(OTHER)),
            ("http://localhost:1/callback?state=s1", Err(NO_CODE)),
            ("", Err(NO_CODE)),
        ] {
            let found = pasted_code(text, "s1").map_err(|error| error.to_string());
            assert_eq!(found.as_deref().map_err(String::as_str), expected, "{text}");
        }
    }
}
