//! Taking a shell command apart, carefully: what is not understood is never allowed by a pattern.
//!
//! The parts are the simple commands between `&&`, `||`, `;`, `|`, `&` and line ends, in groups,
//! subshells and substitutions too. This is no shell parser. It only has to be right where it
//! claims to be, so everything that would need one makes the command [`Parts::Unclear`]: comments,
//! here-documents, `$'…'`, parameter expansions with operators, quotes or brackets without end.

/// A command in parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Parts {
    /// Each runs as one program, and together they are all that runs.
    Clear(Vec<Part>),
    /// It may run anything.
    Unclear,
}

/// One simple command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Part {
    /// As it is written.
    pub text: String,
    /// The same [`spelled_plainly`].
    pub plain: String,
    /// It writes to a file by itself, whatever its program does.
    pub redirects_to_file: bool,
}

/// Takes a command apart.
pub(super) fn parts(command: &str) -> Parts {
    let mut reader = Reader {
        chars: command.chars().collect(),
        at: 0,
        found: Vec::new(),
    };
    match reader.commands(None, 0) {
        Some(()) if reader.at == reader.chars.len() => Parts::Clear(reader.found),
        _ => Parts::Unclear,
    }
}

/// The text with one blank for several, and without quotes and backslashes: `git  "push" \x` is
/// `git push x`. This forgets what was one word, so it is a hint for denying and never a reason to
/// allow.
pub(super) fn spelled_plainly(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut quote = None;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\'' | '"' if quote.is_none() => quote = Some(c),
            c if quote == Some(c) => quote = None,
            '\\' if quote.is_none() => plain.extend(chars.next().filter(|next| *next != '\n')),
            // Between double quotes a backslash stands for itself before most characters.
            '\\' if quote == Some('"') => match chars.peek() {
                Some('"' | '\\' | '$' | '`') => plain.extend(chars.next()),
                _ => plain.push(c),
            },
            c if c.is_whitespace() => {
                if !plain.is_empty() && !plain.ends_with(' ') {
                    plain.push(' ');
                }
            }
            c => plain.push(c),
        }
    }
    plain.truncate(plain.trim_end().len());
    plain
}

/// Deeper nesting is not worth understanding.
const MAX_DEPTH: usize = 16;

struct Reader {
    chars: Vec<char>,
    at: usize,
    found: Vec<Part>,
}

/// The simple command that is being read.
#[derive(Default)]
struct Current {
    text: String,
    redirects_to_file: bool,
}

impl Reader {
    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn peek_after(&self, offset: usize) -> Option<char> {
        self.chars.get(self.at + offset).copied()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += 1;
        Some(next)
    }

    /// Reads commands up to `end`, which is taken, or to the end of everything.
    fn commands(&mut self, end: Option<char>, depth: usize) -> Option<()> {
        if depth > MAX_DEPTH {
            return None;
        }
        let mut current = Current::default();
        loop {
            let Some(c) = self.next() else {
                self.finish(&mut current);
                return end.is_none().then_some(());
            };
            if Some(c) == end {
                self.finish(&mut current);
                return Some(());
            }
            let starts_word = current
                .text
                .chars()
                .next_back()
                .is_none_or(char::is_whitespace);
            match c {
                ';' | '\n' | '|' => self.finish(&mut current),
                '&' if self.peek() == Some('>') => current.text.push(c),
                '&' => self.finish(&mut current),
                // Everything up to the line's end would be a comment, quotes included.
                '#' if starts_word => return None,
                '(' if starts_word => {
                    self.finish(&mut current);
                    self.commands(Some(')'), depth + 1)?;
                }
                // A function, an array, a pattern: not a simple command.
                '(' | ')' => return None,
                '>' => self.redirection_out(&mut current, depth)?,
                '<' => self.redirection_in(&mut current, depth)?,
                _ => self.word_char(c, &mut current, depth)?,
            }
        }
    }

    fn finish(&mut self, current: &mut Current) {
        let Current {
            text,
            redirects_to_file,
        } = std::mem::take(current);
        // The braces of a group are words of their own.
        let text = text.trim();
        let text = text.strip_prefix("{ ").unwrap_or(text).trim();
        let text = if text == "}" { "" } else { text };
        if !text.is_empty() || redirects_to_file {
            self.found.push(Part {
                text: text.to_owned(),
                plain: spelled_plainly(text),
                redirects_to_file,
            });
        }
    }

    /// A character that is no operator, and what it starts.
    fn word_char(&mut self, c: char, current: &mut Current, depth: usize) -> Option<()> {
        current.text.push(c);
        match c {
            '\\' => {
                let escaped = self.next()?;
                if escaped == '\n' {
                    current.text.pop();
                } else {
                    current.text.push(escaped);
                }
            }
            '\'' => loop {
                let quoted = self.next()?;
                current.text.push(quoted);
                if quoted == '\'' {
                    break;
                }
            },
            '"' => self.double_quoted(current, depth)?,
            '`' => self.backquoted(current, depth)?,
            '$' => self.dollar(current, depth, false)?,
            _ => {}
        }
        Some(())
    }

    fn double_quoted(&mut self, current: &mut Current, depth: usize) -> Option<()> {
        loop {
            let c = self.next()?;
            current.text.push(c);
            match c {
                '"' => return Some(()),
                '\\' => current.text.push(self.next()?),
                '`' => self.backquoted(current, depth)?,
                '$' => self.dollar(current, depth, true)?,
                _ => {}
            }
        }
    }

    /// After a `$`: a substitution is a command of its own.
    fn dollar(&mut self, current: &mut Current, depth: usize, is_quoted: bool) -> Option<()> {
        match self.peek() {
            Some('(') => {
                let from = self.at;
                self.at += 1;
                self.commands(Some(')'), depth + 1)?;
                let inner = self.chars.get(from..self.at)?;
                current.text.extend(inner);
            }
            Some('{') => loop {
                let c = self.next()?;
                current.text.push(c);
                match c {
                    '}' => break,
                    '{' => {}
                    c if c.is_ascii_alphanumeric() || c == '_' => {}
                    // An operator may hold quotes and substitutions by rules of their own.
                    _ => return None,
                }
            },
            Some('\'' | '"') if !is_quoted => return None,
            Some('[') => return None,
            _ => {}
        }
        Some(())
    }

    /// A substitution between backquotes, read as a command of its own.
    fn backquoted(&mut self, current: &mut Current, depth: usize) -> Option<()> {
        let mut inner = String::new();
        loop {
            match self.next()? {
                '`' => break,
                // What a backslash means in here depends on what follows it.
                '\\' => return None,
                c => inner.push(c),
            }
        }
        current.text.push_str(&inner);
        current.text.push('`');
        let mut reader = Reader {
            chars: inner.chars().collect(),
            at: 0,
            found: Vec::new(),
        };
        reader.commands(None, depth + 1)?;
        self.found.append(&mut reader.found);
        Some(())
    }

    fn redirection_out(&mut self, current: &mut Current, depth: usize) -> Option<()> {
        current.text.push('>');
        match self.peek() {
            // A process substitution.
            Some('(') => {
                self.at += 1;
                return self.commands(Some(')'), depth + 1);
            }
            Some('>' | '|') => current.text.push(self.next()?),
            // To another descriptor, which goes wherever that one goes.
            Some('&')
                if self
                    .peek_after(1)
                    .is_some_and(|c| c.is_ascii_digit() || c == '-') =>
            {
                current.text.push(self.next()?);
                current.text.push(self.next()?);
                return Some(());
            }
            Some('&') => current.text.push(self.next()?),
            _ => {}
        }
        let target: String = self
            .chars
            .get(self.at..)?
            .iter()
            .skip_while(|c| matches!(c, ' ' | '\t'))
            .take_while(|c| !c.is_whitespace() && !";|&<>()".contains(**c))
            .collect();
        if target != "/dev/null" {
            current.redirects_to_file = true;
        }
        Some(())
    }

    fn redirection_in(&mut self, current: &mut Current, depth: usize) -> Option<()> {
        current.text.push('<');
        match self.peek() {
            Some('(') => {
                self.at += 1;
                self.commands(Some(')'), depth + 1)
            }
            // A here-document or here-string; `<>` also writes.
            Some('<' | '>') => None,
            _ => Some(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn texts(command: &str) -> Option<Vec<String>> {
        match parts(command) {
            Parts::Clear(parts) => Some(parts.into_iter().map(|part| part.text).collect()),
            Parts::Unclear => None,
        }
    }

    #[test]
    fn a_command_falls_into_the_commands_it_runs() {
        for (command, expected) in [
            ("git status", &["git status"][..]),
            ("a && b; c | d $(e)", &["a", "b", "c", "e", "d $(e)"]),
            ("a || b & c\nd", &["a", "b", "c", "d"]),
            ("a |& b", &["a", "b"]),
            ("echo 'a && b; $(c)'", &["echo 'a && b; $(c)'"]),
            (
                "echo \"a; $(b && c)\"",
                &["b", "c", "echo \"a; $(b && c)\""],
            ),
            ("echo `rm x`", &["rm x", "echo `rm x`"]),
            ("(a; b)", &["a", "b"]),
            ("{ a; b; }", &["a", "b"]),
            ("diff <(a) <(b)", &["a", "b", "diff < <"]),
            ("a \\\n b", &["a  b"]),
            ("a \\; b", &["a \\; b"]),
            ("echo ${HOME} $x $1", &["echo ${HOME} $x $1"]),
            ("if a; then b; fi", &["if a", "then b", "fi"]),
            ("echo a#b", &["echo a#b"]),
            ("make 2>&1", &["make 2>&1"]),
            ("", &[]),
            (" ; ", &[]),
        ] {
            let expected = expected.iter().map(|text| (*text).to_owned()).collect();
            assert_eq!(texts(command), Some(expected), "{command}");
        }
    }

    #[test]
    fn what_would_need_a_shell_to_understand_is_unclear() {
        for command in [
            "git status #' \n rm -rf / #'",
            "# comment",
            "cat <<EOF\nx\nEOF",
            "cat <<< x",
            "echo $'it\\'s'; rm x",
            "echo $\"x\"",
            "echo ${x:-$(rm y)}",
            "echo \"${x:-\"}\"",
            "echo $[1+1]",
            "echo 'open",
            "echo \"open",
            "echo `open",
            "echo $(open",
            "(open",
            "close)",
            "f() { rm x; }",
            "a=(1 2)",
            "echo `a \\` b`",
            "echo trailing \\",
        ] {
            assert_eq!(parts(command), Parts::Unclear, "{command}");
        }
    }

    #[test]
    fn a_command_spelled_plainly_has_its_words_and_no_more() {
        for (text, expected) in [
            ("git push", "git push"),
            (" git \t push  x ", "git push x"),
            ("git 'push' \"x\"", "git push x"),
            ("g\"i\"t pu''sh \\x", "git push x"),
            ("git \\\npush", "git push"),
            ("echo \"it's \\\"a\\\" \\n\"", "echo it's \"a\" \\n"),
            ("echo 'a\\b'", "echo a\\b"),
            ("echo 'open", "echo open"),
            ("\\", ""),
            ("", ""),
        ] {
            assert_eq!(spelled_plainly(text), expected, "{text}");
        }
    }

    #[test]
    fn a_redirection_to_a_file_is_seen() {
        for (command, expected) in [
            ("git log > out", true),
            ("git log >out", true),
            ("git log >> out", true),
            ("git log &> out", true),
            ("git log >| out", true),
            ("git log 2> /dev/null", false),
            ("git log >/dev/null 2>&1", false),
            ("git log >&2", false),
            ("git log >& out", true),
            ("git log 2>/dev/nullx", true),
            ("wc < in", false),
            ("git log '>' out", false),
        ] {
            let Parts::Clear(parts) = parts(command) else {
                panic!("{command} is clear")
            };
            let redirects = parts.iter().any(|part| part.redirects_to_file);
            assert_eq!(redirects, expected, "{command}");
        }
    }

    proptest! {
        #[test]
        fn no_command_makes_it_fail(command in "[a-c \"'`$(){}|&;<>#\\\\\n]{0,40}") {
            parts(&command);
        }

        /// The shell itself is asked whether the second line runs.
        #[test]
        fn a_second_command_is_never_hidden_by_the_first(first in "[a-c \"'$(){}`#\\\\-]{0,16}") {
            let command = format!("{first}\nrm -rf /");
            if let Parts::Clear(parts) = parts(&command) {
                let runs_rm = parts.iter().any(|part| part.text == "rm -rf /");
                let output = std::process::Command::new("bash")
                    .arg("-c")
                    .arg(format!("rm() {{ echo RM-RAN; }}; {command}"))
                    // Only the shell itself can do anything.
                    .env_clear()
                    .env("PATH", "/nonexistent")
                    .stdin(std::process::Stdio::null())
                    .output();
                if let Ok(output) = output
                    && String::from_utf8_lossy(&output.stdout).contains("RM-RAN")
                {
                    prop_assert!(runs_rm, "{command:?} {parts:?}");
                }
            }
        }
    }
}
