//! `${NAME}` and `${NAME:-otherwise}` in values, as other agents' files have them.

use crate::config::EnvLookup;

/// A variable that is needed and not set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the environment variable {0} is not set")]
pub struct Unset(pub String);

/// The text with its variables filled in. `$NAME` without braces is plain text.
pub(super) fn expand(text: &str, env: EnvLookup<'_>) -> Result<String, Unset> {
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let Some((inside, behind)) = after.split_once('}') else {
            break;
        };
        expanded.push_str(before);
        let (name, otherwise) = match inside.split_once(":-") {
            Some((name, otherwise)) => (name, Some(otherwise)),
            None => (inside, None),
        };
        let value = env(name).filter(|value| otherwise.is_none() || !value.is_empty());
        match (value, otherwise) {
            (Some(value), _) => expanded.push_str(&value.to_string_lossy()),
            (None, Some(otherwise)) => expanded.push_str(otherwise),
            (None, None) => return Err(Unset(name.to_owned())),
        }
        rest = behind;
    }
    expanded.push_str(rest);
    Ok(expanded)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;

    #[test]
    fn variables_in_braces_are_filled_in() {
        let env = |name: &str| match name {
            "A" => Some(OsString::from("one")),
            "EMPTY" => Some(OsString::new()),
            _ => None,
        };
        for (text, expected) in [
            ("plain $A", Ok("plain $A")),
            ("${A}/${A}", Ok("one/one")),
            ("${B:-two}${A:-two}", Ok("twoone")),
            ("${EMPTY:-two}<${EMPTY}>", Ok("two<>")),
            ("${B:-}", Ok("")),
            ("${A", Ok("${A")),
            ("é${A}ü", Ok("éoneü")),
            ("${B}", Err(Unset("B".to_owned()))),
        ] {
            let expected = expected.map(str::to_owned);
            assert_eq!(expand(text, &env), expected, "{text}");
        }
    }
}
