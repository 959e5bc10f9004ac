//! Taking a shell command apart, carefully: what is not understood is never allowed by a pattern.
//!
//! The parts are the simple commands between `&&`, `||`, `;`, `|`, `&` and line ends, in groups,
//! subshells and substitutions too. This is no shell parser. It only has to be right where it
//! claims to be, so everything that would need one makes the command [`CommandParts::Unclear`]: comments,
//! here-documents, `$'…'`, parameter expansions with operators, `((…))`, quotes in calculations,
//! subscripts with operators, quotes or brackets without end.

/// A command in parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CommandParts {
    /// Each runs as one program, and together they are all that runs.
    Clear(Vec<SimpleCommand>),
    /// It may run anything.
    Unclear,
}

/// One simple command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SimpleCommand {
    /// As it is written.
    pub text: String,
    /// The same [`spelled_plainly`].
    pub plain: String,
    /// It reads or writes something by itself, whatever its program does: a file, or a connection
    /// (`</dev/tcp/HOST/PORT`).
    pub redirects: bool,
    /// It is no command: it stands between `$((` and `))`.
    pub is_arithmetic: bool,
}

/// Takes a command apart.
pub(super) fn parts(command: &str) -> CommandParts {
    let mut reader = CommandReader {
        chars: command.chars().collect(),
        at: 0,
        found: Vec::new(),
        is_arithmetic: false,
    };
    match reader.commands(None, 0) {
        Some(()) if reader.at == reader.chars.len() => CommandParts::Clear(reader.found),
        _ => CommandParts::Unclear,
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
            c if is_blank(c) || c == '\n' => {
                if !plain.is_empty() && !plain.ends_with(' ') {
                    plain.push(' ');
                }
            }
            c => plain.push(c),
        }
    }
    plain.truncate(plain.trim_end_matches(' ').len());
    plain
}

/// What separates the words of a command, besides line ends. To a shell no other blank does,
/// whatever it looks like.
pub(super) fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t')
}

/// Deeper nesting is not worth understanding.
const MAX_DEPTH: usize = 16;
/// What ends a word without being part of one.
const OPERATORS: &str = ";|&<>()";

struct CommandReader {
    chars: Vec<char>,
    at: usize,
    found: Vec<SimpleCommand>,
    /// What is read next is a calculation.
    is_arithmetic: bool,
}

/// What may stand after a `$`.
enum Calculation {
    None,
    /// All that it runs was found.
    Plain,
    /// A shell looks for the end of it past quotes, and then expands what is between them.
    Quoted,
}

/// The simple command that is being read.
#[derive(Default)]
struct UnfinishedCommand {
    text: String,
    redirects: bool,
    is_arithmetic: bool,
}

impl CommandReader {
    /// The character that a shell reads next: a backslash at the end of a line joins it to the next
    /// line before anything else is made of it, even between a `$` and its bracket.
    fn peek(&mut self) -> Option<char> {
        while matches!(self.chars.get(self.at..), Some(['\\', '\n', ..])) {
            self.at += 2;
        }
        self.chars.get(self.at).copied()
    }

    fn next(&mut self) -> Option<char> {
        self.peek()?;
        self.next_as_written()
    }

    /// The same where a backslash means nothing, or was read already.
    fn next_as_written(&mut self) -> Option<char> {
        let next = self.chars.get(self.at).copied()?;
        self.at += 1;
        Some(next)
    }

    /// Reads commands up to `end`, which is taken, or to the end of everything.
    fn commands(&mut self, end: Option<char>, depth: usize) -> Option<()> {
        if depth > MAX_DEPTH {
            return None;
        }
        let is_arithmetic = std::mem::take(&mut self.is_arithmetic);
        let mut current = UnfinishedCommand::default();
        loop {
            current.is_arithmetic = is_arithmetic;
            let Some(c) = self.next() else {
                self.finish(&mut current);
                return end.is_none().then_some(());
            };
            if Some(c) == end {
                self.finish(&mut current);
                return Some(());
            }
            let before = current.text.chars().next_back();
            let starts_word = before.is_none_or(is_blank);
            let follows_operator = before.is_some_and(|c| OPERATORS.contains(c));
            match c {
                ';' | '\n' | '|' => self.finish(&mut current),
                '&' if self.peek() == Some('>') => current.text.push(c),
                '&' => self.finish(&mut current),
                // Everything up to the line's end would be a comment, quotes included.
                '#' if starts_word || follows_operator => return None,
                // `((…))` calculates, and quotes in it hide no substitution.
                '(' if starts_word && !is_arithmetic && self.peek() == Some('(') => return None,
                '(' if starts_word => {
                    self.finish(&mut current);
                    self.is_arithmetic = is_arithmetic;
                    self.commands(Some(')'), depth + 1)?;
                }
                // A function, an array, a pattern: not a simple command.
                '(' | ')' => return None,
                '[' if !starts_word && !is_arithmetic && self.is_calculated_subscript() => {
                    return None;
                }
                '>' => self.redirection_out(&mut current, depth)?,
                '<' => self.redirection_in(&mut current, depth)?,
                _ => self.word_char(c, &mut current, depth)?,
            }
        }
    }

    fn finish(&mut self, current: &mut UnfinishedCommand) {
        let UnfinishedCommand {
            text,
            redirects,
            is_arithmetic,
        } = std::mem::take(current);
        // The braces of a group are words of their own.
        let text = text.trim_matches(is_blank);
        let text = text
            .strip_prefix("{ ")
            .unwrap_or(text)
            .trim_matches(is_blank);
        let text = if text == "}" { "" } else { text };
        if !text.is_empty() || redirects {
            self.found.push(SimpleCommand {
                text: text.to_owned(),
                plain: spelled_plainly(text),
                redirects,
                is_arithmetic,
            });
        }
    }

    /// After the bracket of `NAME[…]=`: blanks and operators between such brackets separate nothing.
    fn is_calculated_subscript(&self) -> bool {
        let ahead = self.chars.get(self.at..).unwrap_or_default();
        let mut depth = 1_usize;
        let end = ahead.iter().position(|c| {
            match c {
                '[' => depth += 1,
                ']' => depth -= 1,
                _ => {}
            }
            depth == 0
        });
        let Some((inner, after)) = end.and_then(|end| ahead.split_at_checked(end)) else {
            return false;
        };
        let separates = |c: &char| is_blank(*c) || *c == '\n' || OPERATORS.contains(*c);
        matches!(after, [']', '=', ..] | [']', '+', '=', ..]) && inner.iter().any(separates)
    }

    /// A character that is no operator, and what it starts.
    fn word_char(&mut self, c: char, current: &mut UnfinishedCommand, depth: usize) -> Option<()> {
        current.text.push(c);
        match c {
            '\\' => current.text.push(self.next_as_written()?),
            '\'' => loop {
                let quoted = self.next_as_written()?;
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

    fn double_quoted(&mut self, current: &mut UnfinishedCommand, depth: usize) -> Option<()> {
        loop {
            let c = self.next()?;
            current.text.push(c);
            match c {
                '"' => return Some(()),
                '\\' => current.text.push(self.next_as_written()?),
                '`' => self.backquoted(current, depth)?,
                '$' => self.dollar(current, depth, true)?,
                _ => {}
            }
        }
    }

    /// After a `$`: a substitution is a command of its own.
    fn dollar(
        &mut self,
        current: &mut UnfinishedCommand,
        depth: usize,
        is_quoted: bool,
    ) -> Option<()> {
        match self.peek() {
            Some('(') => {
                let from = self.at;
                match self.calculation(depth) {
                    Calculation::Plain => {}
                    Calculation::Quoted => return None,
                    Calculation::None => {
                        self.at = from + 1;
                        self.commands(Some(')'), depth + 1)?;
                    }
                }
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

    /// At the first bracket of `$((…))`. Where it is no calculation, nothing was found.
    fn calculation(&mut self, depth: usize) -> Calculation {
        let found = self.found.len();
        self.at += 1;
        if self.peek() != Some('(') {
            return Calculation::None;
        }
        self.at += 1;
        self.is_arithmetic = true;
        let end = self.commands(Some(')'), depth + 2);
        if end.is_none() || self.next() != Some(')') {
            self.found.truncate(found);
            self.is_arithmetic = false;
            return Calculation::None;
        }
        let is_quoted = |part: &SimpleCommand| part.is_arithmetic && part.text.contains('\'');
        match self.found.iter().skip(found).any(is_quoted) {
            true => Calculation::Quoted,
            false => Calculation::Plain,
        }
    }

    /// A substitution between backquotes, read as a command of its own.
    fn backquoted(&mut self, current: &mut UnfinishedCommand, depth: usize) -> Option<()> {
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
        let mut reader = CommandReader {
            chars: inner.chars().collect(),
            at: 0,
            found: Vec::new(),
            is_arithmetic: false,
        };
        reader.commands(None, depth + 1)?;
        self.found.append(&mut reader.found);
        Some(())
    }

    fn redirection_out(&mut self, current: &mut UnfinishedCommand, depth: usize) -> Option<()> {
        current.text.push('>');
        match self.peek() {
            Some('(') => return self.process_substitution(current, depth),
            Some('>' | '|') => current.text.push(self.next()?),
            Some('&') => return self.descriptor(current),
            _ => {}
        }
        self.redirected_to(current);
        Some(())
    }

    /// After the sign of `<(…)` or `>(…)`: commands of their own, whose place a file takes. It is
    /// a word or part of one, and what follows is no file of a redirection.
    fn process_substitution(
        &mut self,
        current: &mut UnfinishedCommand,
        depth: usize,
    ) -> Option<()> {
        let from = self.at;
        self.at += 1;
        self.commands(Some(')'), depth + 1)?;
        let inner = self.chars.get(from..self.at)?;
        current.text.extend(inner);
        Some(())
    }

    /// After `>&` or `<&`: to or from another descriptor, which goes wherever that one goes. Only a
    /// whole word is a descriptor: `>&1x` writes the file `1x`.
    fn descriptor(&mut self, current: &mut UnfinishedCommand) -> Option<()> {
        current.text.push(self.next()?);
        let word = self.word_ahead();
        let is_number = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number && word != "-" {
            self.redirected_to(current);
        }
        Some(())
    }

    /// The only file that is as good as none is `/dev/null`, written like that.
    fn redirected_to(&mut self, current: &mut UnfinishedCommand) {
        while self.peek().is_some_and(is_blank) {
            current.text.extend(self.next());
        }
        if self.word_ahead() != "/dev/null" {
            current.redirects = true;
        }
    }

    /// What stands before the next blank, line end or operator, quotes included.
    fn word_ahead(&self) -> String {
        let ahead = self.chars.get(self.at..).unwrap_or_default();
        let is_end = |c: char| is_blank(c) || c == '\n' || OPERATORS.contains(c);
        ahead.iter().take_while(|c| !is_end(**c)).collect()
    }

    fn redirection_in(&mut self, current: &mut UnfinishedCommand, depth: usize) -> Option<()> {
        current.text.push('<');
        match self.peek() {
            Some('(') => self.process_substitution(current, depth),
            // A here-document or here-string; `<>` also writes.
            Some('<' | '>') => None,
            Some('&') => self.descriptor(current),
            _ => {
                self.redirected_to(current);
                Some(())
            }
        }
    }
}

#[cfg(test)]
mod tests;
