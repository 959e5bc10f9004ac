//! The flags of a dialect that name a session to begin with.

/// The session that one of `flags` names, as `--flag NAME` or `--flag=NAME`. The last one counts.
pub fn named(words: &[String], flags: &[&str]) -> Option<String> {
    let mut named = None;
    let mut words = words.iter().map(String::as_str).peekable();
    while let Some(word) = words.next() {
        let (flag, inline) = parts(word);
        if flags.contains(&flag) {
            let value = inline.or_else(|| words.next_if(|next| !next.starts_with('-')));
            named = value.map(str::to_owned);
        }
    }
    named
}

/// The same words without these flags and their values.
pub fn without(words: &[String], flags: &[&str]) -> Vec<String> {
    let mut left = Vec::new();
    let mut words = words.iter().peekable();
    while let Some(word) = words.next() {
        let (flag, inline) = parts(word);
        if !flags.contains(&flag) {
            left.push(word.clone());
        } else if inline.is_none() {
            words.next_if(|next| !next.starts_with('-'));
        }
    }
    left
}

fn parts(word: &str) -> (&str, Option<&str>) {
    match word.split_once('=') {
        Some((flag, value)) if flag.starts_with('-') => (flag, Some(value)),
        _ => (word, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn the_last_name_counts_and_can_be_taken_out() {
        let flags = ["--session", "-r"];
        for (line, name, rest) in [
            ("--mode rpc", None, "--mode rpc"),
            ("--session a --mode rpc", Some("a"), "--mode rpc"),
            ("--mode=rpc --session=a -r b", Some("b"), "--mode=rpc"),
            ("--session --mode rpc", None, "--mode rpc"),
        ] {
            assert_eq!(named(&words(line), &flags).as_deref(), name, "{line}");
            assert_eq!(without(&words(line), &flags), words(rest), "{line}");
        }
    }
}
