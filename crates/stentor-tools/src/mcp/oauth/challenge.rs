//! What a server says with a refusal: `WWW-Authenticate` (RFC 9110, section 11.6.1).

use reqwest::header::{HeaderMap, WWW_AUTHENTICATE};

/// The challenge of a server that wants a login.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(in crate::mcp) struct Challenge {
    /// Where the server is described (RFC 9728).
    pub resource_metadata: Option<String>,
    /// What a login must allow.
    pub scope: Option<String>,
    pub error: Option<String>,
}

impl Challenge {
    /// What the headers of a refusal say about bearer tokens.
    pub fn of(headers: &HeaderMap) -> Self {
        let values = headers.get_all(WWW_AUTHENTICATE).iter();
        let mut values = values.filter_map(|value| value.to_str().ok());
        values.find_map(bearer).unwrap_or_default()
    }
}

/// The parameters of the `Bearer` challenge in a header. Other challenges may stand before it.
fn bearer(header: &str) -> Option<Challenge> {
    let lower = header.to_ascii_lowercase();
    let begins = lower.match_indices("bearer").map(|(at, _)| at);
    let mut begins = begins.filter(|at| {
        let before = header.get(..*at).unwrap_or_default().trim_end();
        before.is_empty() || before.ends_with(',')
    });
    let rest = header.get(begins.next()? + "bearer".len()..)?;
    let mut challenge = Challenge::default();
    for (name, value) in parameters(rest) {
        let slot = match name.to_ascii_lowercase().as_str() {
            "resource_metadata" => &mut challenge.resource_metadata,
            "scope" => &mut challenge.scope,
            "error" => &mut challenge.error,
            _ => continue,
        };
        slot.get_or_insert(value);
    }
    Some(challenge)
}

/// `name=value, name="value"`, as far as it is that.
fn parameters(mut rest: &str) -> Vec<(&str, String)> {
    let mut found = Vec::new();
    while let Some((name, after)) = rest.split_once('=') {
        let name = name.trim_matches([' ', ',', '\t']);
        // A blank inside means that the next challenge begins.
        if name.is_empty() || name.contains(' ') {
            break;
        }
        let (value, after) = match after.trim_start().strip_prefix('"') {
            Some(quoted) => quoted_text(quoted),
            None => {
                let end = after.find(',').unwrap_or(after.len());
                let (value, after) = after.split_at(end);
                (value.trim().to_owned(), after)
            }
        };
        found.push((name, value));
        rest = after;
    }
    found
}

/// The text up to the closing quote, and what follows it.
fn quoted_text(quoted: &str) -> (String, &str) {
    let mut value = String::new();
    let mut chars = quoted.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return (value, quoted.get(at + 1..).unwrap_or_default()),
            '\\' => value.extend(chars.next().map(|(_, escaped)| escaped)),
            c => value.push(c),
        }
    }
    (value, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_challenge_is_read_wherever_it_stands() {
        let expected = |metadata: Option<&str>, scope: Option<&str>| {
            Some(Challenge {
                resource_metadata: metadata.map(str::to_owned),
                scope: scope.map(str::to_owned),
                error: None,
            })
        };
        for (header, challenge) in [
            ("Bearer", expected(None, None)),
            (
                r#"Bearer resource_metadata="https://h/x", scope="a b""#,
                expected(Some("https://h/x"), Some("a b")),
            ),
            (
                r#"Basic realm="bearer", bearer scope=a,resource_metadata="q\"1""#,
                expected(Some("q\"1"), Some("a")),
            ),
            (
                r#"Bearer scope="a", Digest realm="x", scope="b""#,
                expected(None, Some("a")),
            ),
            (
                r#"Bearer scope="unclosed"#,
                expected(None, Some("unclosed")),
            ),
            (r#"Basic realm="x""#, None),
        ] {
            assert_eq!(bearer(header), challenge, "{header}");
        }
    }
}
