//! The words of a simple command as a shell takes them: without quotes, with substitutions whole,
//! and with a mark on those the shell puts something else for.

use super::command::is_blank;

/// A simple command in words.
#[derive(Debug, Default)]
pub(super) struct Split {
    /// Without redirections, wherever they stand.
    pub words: Vec<ShellWord>,
    /// What `<<<` gives to the command's input.
    pub here: Vec<ShellWord>,
    /// The file that `<` gives to it.
    pub input: Option<ShellWord>,
}

/// A word without its quotes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ShellWord {
    /// Substitutions and parameters as they are written.
    pub text: String,
    /// It has a substitution or a parameter, so what it says is known only when it runs.
    pub is_expanded: bool,
    /// It has stars, brackets or braces that stand for something else.
    pub is_pattern: bool,
}

/// Takes a simple command apart.
pub(super) fn split(text: &str) -> Split {
    let mut reader = WordReader {
        chars: text.chars().collect(),
        at: 0,
    };
    let mut split = Split::default();
    let mut target = WordRole::Word;
    loop {
        while reader.next_if(|c| is_blank(c) || c == '\n').is_some() {}
        let (word, is_quoted) = reader.word();
        let is_operator = reader.peek().is_some_and(is_redirection);
        let is_descriptor = is_operator
            && !is_quoted
            && !word.text.is_empty()
            && (word.text.bytes().all(|byte| byte.is_ascii_digit())
                || (word.text.starts_with('{') && word.text.ends_with('}')));
        if (!word.text.is_empty() || is_quoted) && !is_descriptor {
            match std::mem::replace(&mut target, WordRole::Word) {
                WordRole::Word => split.words.push(word),
                WordRole::File => {}
                WordRole::Here => split.here.push(word),
                WordRole::Input => split.input = Some(word),
            }
        }
        if reader.peek().is_none() {
            return split;
        }
        if is_operator {
            let mut operator = String::new();
            while let Some(c) = reader.next_if(|c| is_redirection(c) || c == '|') {
                operator.push(c);
            }
            target = match operator.as_str() {
                "<<<" => WordRole::Here,
                "<" => WordRole::Input,
                // Only in what was not understood.
                "&" | "&&" => WordRole::Word,
                _ => WordRole::File,
            };
        }
    }
}

/// `NAME=…`, `NAME+=…` or `NAME[…]=…`.
pub(super) fn is_assignment(word: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_alphabetic() || c == '_';
    let rest = word.trim_start_matches(|c: char| is_letter(c) || c.is_ascii_digit());
    let is_value = |rest: &str| rest.starts_with('=') || rest.starts_with("+=");
    let has_subscript = rest.starts_with('[')
        && rest
            .match_indices(']')
            .any(|(at, _)| rest.get(at + 1..).is_some_and(is_value));
    word.starts_with(is_letter) && (is_value(rest) || has_subscript)
}

/// What the next word is.
enum WordRole {
    Word,
    File,
    Here,
    Input,
}

/// `&>` is a redirection, too.
fn is_redirection(c: char) -> bool {
    matches!(c, '<' | '>' | '&')
}

struct WordReader {
    chars: Vec<char>,
    at: usize,
}

impl WordReader {
    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += 1;
        Some(next)
    }

    fn next_if(&mut self, is_wanted: impl Fn(char) -> bool) -> Option<char> {
        self.peek().filter(|c| is_wanted(*c))?;
        self.next()
    }

    /// The word that starts here, and whether it has quotes.
    fn word(&mut self) -> (ShellWord, bool) {
        let mut word = ShellWord::default();
        let mut is_quoted = false;
        loop {
            if self.is_process_substitution() {
                word.is_expanded = true;
                word.text.extend(self.next());
                self.between('(', ')', &mut word.text);
                continue;
            }
            let belongs = |c: char| !is_blank(c) && c != '\n' && !is_redirection(c);
            let Some(c) = self.next_if(belongs) else {
                break;
            };
            match c {
                '\'' => {
                    is_quoted = true;
                    self.up_to('\'', &mut word.text);
                }
                '"' => {
                    is_quoted = true;
                    self.double_quoted(&mut word);
                }
                '\\' => {
                    is_quoted = true;
                    word.text.extend(self.next().filter(|next| *next != '\n'));
                }
                '$' if self.next_if(|next| next == '\'').is_some() => {
                    is_quoted = true;
                    self.ansi_c_quoted(&mut word.text);
                }
                // `$"…"` is a quote with a sign before it.
                '$' if self.peek() == Some('"') => {}
                '$' | '`' => self.expansion(c, &mut word),
                '[' if is_name(&word.text) && !is_quoted => self.subscript(&mut word),
                c => {
                    word.is_pattern |= matches!(c, '*' | '?' | '[' | '{');
                    word.text.push(c);
                }
            }
        }
        // They are commands, and words of their own.
        if !is_quoted && ["[", "[[", "{"].contains(&word.text.as_str()) {
            word.is_pattern = false;
        }
        (word, is_quoted)
    }

    fn is_process_substitution(&self) -> bool {
        matches!(self.peek(), Some('<' | '>')) && self.chars.get(self.at + 1) == Some(&'(')
    }

    fn double_quoted(&mut self, word: &mut ShellWord) {
        while let Some(c) = self.next() {
            match c {
                '"' => return,
                '\\' => match self.next() {
                    Some('\n') => {}
                    Some(c @ ('"' | '\\' | '$' | '`')) => word.text.push(c),
                    other => word.text.extend(std::iter::once('\\').chain(other)),
                },
                '$' | '`' => self.expansion(c, word),
                c => word.text.push(c),
            }
        }
    }

    /// After a `$` or a backquote: takes all of what it starts, blanks included.
    fn expansion(&mut self, sign: char, word: &mut ShellWord) {
        word.text.push(sign);
        let end = match (sign, self.peek()) {
            ('`', _) => None,
            (_, Some('(')) => Some(('(', ')')),
            (_, Some('{')) => Some(('{', '}')),
            (_, Some('[')) => Some(('[', ']')),
            (_, next) => {
                let is_parameter = |c: char| c.is_ascii_alphanumeric() || "_@*#?-$!".contains(c);
                word.is_expanded |= next.is_some_and(is_parameter);
                // It is part of the parameter, not a pattern.
                let special = self.next_if(|c| "@*#?-$!".contains(c));
                word.text.extend(special);
                return;
            }
        };
        word.is_expanded = true;
        match end {
            None => {
                while let Some(c) = self.next() {
                    word.text.push(c);
                    match c {
                        '`' => return,
                        '\\' => word.text.extend(self.next()),
                        _ => {}
                    }
                }
            }
            Some((open, close)) => self.between(open, close, &mut word.text),
        }
    }

    /// Takes all up to the bracket that closes the one ahead, as it is written.
    fn between(&mut self, open: char, close: char, text: &mut String) {
        let mut depth = 0_usize;
        while let Some(c) = self.next() {
            text.push(c);
            match c {
                '\\' => text.extend(self.next()),
                '\'' => {
                    self.up_to('\'', text);
                    text.push('\'');
                }
                '"' => {
                    while let Some(c) = self.next() {
                        text.push(c);
                        match c {
                            '"' => break,
                            '\\' => text.extend(self.next()),
                            _ => {}
                        }
                    }
                }
                c if c == open => depth += 1,
                c if c == close => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        return;
                    }
                }
                _ => {}
            }
        }
    }

    /// After `NAME[`: a subscript may hold blanks, if an assignment follows it.
    fn subscript(&mut self, word: &mut ShellWord) {
        let from = self.at;
        let mut text = String::from("[");
        self.at -= 1;
        let mut inner = String::new();
        self.between('[', ']', &mut inner);
        let follows = self.peek() == Some('=')
            || (self.peek() == Some('+') && self.chars.get(self.at + 1) == Some(&'='));
        match follows {
            true => text = inner,
            false => {
                self.at = from;
                word.is_pattern = true;
            }
        }
        word.text.push_str(&text);
    }

    /// Takes all up to the quote `end`, and that too.
    fn up_to(&mut self, end: char, text: &mut String) {
        while let Some(c) = self.next().filter(|c| *c != end) {
            text.push(c);
        }
    }

    /// Between `$'` and `'` backslashes stand for characters.
    fn ansi_c_quoted(&mut self, text: &mut String) {
        while let Some(c) = self.next() {
            match c {
                '\'' => return,
                '\\' => {
                    let Some(escaped) = self.next() else { return };
                    let number = match escaped {
                        'x' => self.number(16, 2),
                        'u' => self.number(16, 4),
                        'U' => self.number(16, 8),
                        'c' => self.next().map(|c| u32::from(c) & 0x1f),
                        '0'..='7' => {
                            self.at -= 1;
                            self.number(8, 3).map(|number| number & 0xff)
                        }
                        'a' => Some(7),
                        'b' => Some(8),
                        't' => Some(9),
                        'n' => Some(10),
                        'v' => Some(11),
                        'f' => Some(12),
                        'r' => Some(13),
                        'e' | 'E' => Some(27),
                        '\\' | '\'' | '"' | '?' => Some(u32::from(escaped)),
                        _ => None,
                    };
                    match number {
                        // The rest of the quote is cut off there.
                        Some(0) => {
                            self.up_to('\'', &mut String::new());
                            return;
                        }
                        Some(number) => text.extend(char::from_u32(number)),
                        None => text.extend(['\\', escaped]),
                    }
                }
                c => text.push(c),
            }
        }
    }

    fn number(&mut self, radix: u32, most: usize) -> Option<u32> {
        let mut number = None;
        for _ in 0..most {
            let Some(digit) = self.peek().and_then(|c| c.to_digit(radix)) else {
                break;
            };
            self.at += 1;
            number = Some(
                number
                    .unwrap_or(0_u32)
                    .wrapping_mul(radix)
                    .wrapping_add(digit),
            );
        }
        number
    }
}

fn is_name(text: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_alphabetic() || c == '_';
    text.starts_with(is_letter) && text.chars().all(|c| is_letter(c) || c.is_ascii_digit())
}
