//! Here-documents in a command: text between two lines that is no command.

/// The command without its here-documents, and what they say. Nothing where there are none, or
/// where it takes a shell to know: with quotes, comments or brackets before the first.
pub(super) fn take_out(command: &str) -> Option<(String, String)> {
    let mut outside = String::new();
    let mut bodies = String::new();
    let mut lines = command.split_inclusive('\n');
    while let Some(line) = lines.next() {
        let Some((before, after)) = line.split_once("<<") else {
            outside.push_str(line);
            continue;
        };
        if outside.contains(NEED_A_SHELL) || before.contains(NEED_A_SHELL) {
            return None;
        }
        let (has_tabs, after) = match after.strip_prefix('-') {
            Some(after) => (true, after),
            None => (false, after),
        };
        let (end, rest) = end_word(after.trim_start_matches([' ', '\t']))?;
        // Its input is what is said here.
        outside.push_str(before);
        outside.push_str("</dev/null ");
        outside.push_str(rest);
        if rest.contains("<<") {
            return None;
        }
        for line in lines.by_ref() {
            let text = line.strip_suffix('\n').unwrap_or(line);
            let text = if has_tabs {
                text.trim_start_matches('\t')
            } else {
                text
            };
            if text == end {
                break;
            }
            bodies.push_str(line);
        }
    }
    (!bodies.is_empty()).then_some((outside, bodies))
}

const NEED_A_SHELL: [char; 7] = ['\'', '"', '\\', '`', '#', '(', '['];

/// The word that ends the text, and what follows it in the line.
fn end_word(text: &str) -> Option<(&str, &str)> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let quote = text.chars().next().filter(|c| matches!(c, '\'' | '"'));
    let (end, rest) = match quote {
        Some(quote) => text.get(1..)?.split_once(quote)?,
        None => text.split_at(text.find(|c| !is_plain(c)).unwrap_or(text.len())),
    };
    let is_whole = rest.is_empty() || rest.starts_with([' ', '\t', '\n', ';', '|', '&', '>']);
    (!end.is_empty() && end.chars().all(is_plain) && is_whole).then_some((end, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_told_from_commands_where_that_is_certain() {
        for (command, outside, bodies) in [
            ("cat <<EOF\na\nEOF\nb", "cat </dev/null \nb", "a\n"),
            (
                "cat >f <<'E' | c\n$a\n\tE\nE",
                "cat >f </dev/null  | c\n",
                "$a\n\tE\n",
            ),
            ("cat <<-E\na\n\tE\nb", "cat </dev/null \nb", "a\n"),
        ] {
            assert_eq!(
                take_out(command),
                Some((outside.to_owned(), bodies.to_owned())),
                "{command}"
            );
        }
        for command in [
            "cat <<< a",
            "echo '<<E'\n$X x\nE",
            "echo 'a\n<<E\n'; $X x\nE",
            "# <<E\n$X x\nE",
            "echo $((1 <<E\n$X x\nE",
            "cat <<E$x\n$X x\nE",
            "cat <<A <<B\na\nA\nb\nB",
            "echo a",
        ] {
            assert_eq!(take_out(command), None, "{command}");
        }
    }
}
