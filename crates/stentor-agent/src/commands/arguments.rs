//! Filling arguments into a template.

/// Puts the arguments where the template wants them: `$1` … `$9` one each, `$@` and `$ARGUMENTS`
/// all of them. A template that wants none gets them at its end, so that nothing the user typed
/// is lost.
pub fn fill(template: &str, given: &str) -> String {
    let words = split(given);
    let mut text = String::with_capacity(template.len() + given.len());
    let mut used = false;
    let mut rest = template;
    while let Some(at) = rest.find('$') {
        text.push_str(rest.get(..at).unwrap_or_default());
        let after = rest.get(at + 1..).unwrap_or_default();
        let digit = after.chars().next().and_then(|char| char.to_digit(10));
        rest = if let Some(tail) = after.strip_prefix("ARGUMENTS") {
            text.push_str(given);
            used = true;
            tail
        } else if let Some(tail) = after.strip_prefix('@') {
            text.push_str(given);
            used = true;
            tail
        } else if let Some(number) = digit.filter(|digit| *digit > 0) {
            let word = words.get(number as usize - 1);
            text.push_str(word.map_or("", String::as_str));
            used = true;
            after.get(1..).unwrap_or_default()
        } else {
            text.push('$');
            after
        };
    }
    text.push_str(rest);
    if !used && !given.is_empty() {
        text.truncate(text.trim_end().len());
        text.push_str("\n\n");
        text.push_str(given);
    }
    text
}

/// Words as a shell sees them: quotes hold a word together. A quote that is never closed holds to
/// the end.
pub fn split(given: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for char in given.chars() {
        match quote {
            Some(open) if char == open => quote = None,
            Some(_) => word.get_or_insert_default().push(char),
            None if char == '"' || char == '\'' => {
                quote = Some(char);
                word.get_or_insert_default();
            }
            None if char.is_whitespace() => words.extend(word.take()),
            None => word.get_or_insert_default().push(char),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_go_where_the_template_wants_them() {
        for (template, given, expected) in [
            ("Fix $1 in $2.", "bug main.rs", "Fix bug in main.rs."),
            ("Fix $1.", "\"two words\" x", "Fix two words."),
            ("All: $@", "a \"b c\"", "All: a \"b c\""),
            ("All: $ARGUMENTS!", "a b", "All: a b!"),
            ("Third: <$3>", "a b", "Third: <>"),
            ("Costs $5", "", "Costs "),
            ("$HOME and $", "", "$HOME and $"),
            ("Review this.\n", "src/", "Review this.\n\nsrc/"),
            ("Review this.\n", "", "Review this.\n"),
            ("é$1é", "ü", "éüé"),
            ("$1", "'it''s", "its"),
        ] {
            assert_eq!(fill(template, given), expected, "{template:?} {given:?}");
        }
    }

    #[test]
    fn what_was_filled_in_is_not_filled_again() {
        assert_eq!(fill("$1 $2", "$2 x"), "$2 x");
    }
}
