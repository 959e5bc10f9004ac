//! The commands that a command runs through others: `sudo rm x` runs `rm x`, and so do
//! `bash -c 'rm x'`, `/bin/rm x` and `if true; then rm x; fi`.
//!
//! Rules that deny or ask are held against these, too. Nothing is ever allowed by them: where it is
//! not certain which word begins a command, every word that may is taken for one.

use super::command::{self, Parts, is_blank};

/// What a command runs, as far as it can be seen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Inside {
    /// Each with its words separated by one blank and without quotes, its program by its name.
    pub commands: Vec<String>,
    /// It goes on where nobody looked: deeper, or longer, than anyone writes.
    pub has_more: bool,
}

/// The commands inside a command, itself included.
pub(super) fn inside(command: &str) -> Inside {
    let mut search = Search {
        found: Inside::default(),
        bytes_left: MAX_BYTES,
    };
    search.look_into(command, 0);
    search.found
}

/// A script in a script in a script: more is no honest command.
const MAX_DEPTH: usize = 8;
/// What is noted of one command at most. Each word of it may begin another.
const MAX_BYTES: usize = 4 * 1024 * 1024;
/// What each script that is looked at counts for besides, so that many short ones end, too.
const SCRIPT_BYTES: usize = 64;

/// Words that stand before a command without being one.
const BEFORE_COMMANDS: [&str; 9] = [
    "!", "if", "then", "elif", "else", "while", "until", "do", "{",
];

/// Programs that run what follows their options, and how many words come before it.
const WRAPPERS: [(&str, usize); 33] = [
    ("builtin", 0),
    ("busybox", 0),
    ("chroot", 1),
    ("chrt", 1),
    ("command", 0),
    ("coproc", 1),
    ("doas", 0),
    ("env", 0),
    ("exec", 0),
    ("flock", 1),
    ("function", 1),
    ("ionice", 0),
    ("ltrace", 0),
    ("nice", 0),
    ("nohup", 0),
    ("parallel", 0),
    ("runuser", 0),
    ("script", 1),
    ("setarch", 1),
    ("setpriv", 0),
    ("setsid", 0),
    ("stdbuf", 0),
    ("strace", 0),
    ("su", 1),
    ("sudo", 0),
    ("systemd-run", 0),
    ("taskset", 1),
    ("time", 0),
    ("timeout", 1),
    ("toybox", 0),
    ("unshare", 0),
    ("watch", 0),
    ("xargs", 0),
];

/// Programs that run what stands after `-c`.
const SHELLS: [&str; 8] = ["ash", "bash", "dash", "fish", "ksh", "mksh", "sh", "zsh"];

struct Search {
    found: Inside,
    bytes_left: usize,
}

impl Search {
    /// Looks at a whole command, or at the script a command was given.
    fn look_into(&mut self, command: &str, depth: usize) {
        if depth > MAX_DEPTH {
            self.found.has_more = true;
        }
        if !self.can_take(SCRIPT_BYTES) {
            return;
        }
        match command::parts(command) {
            Parts::Clear(parts) => {
                for part in parts {
                    self.look_at(&part.text, depth);
                }
            }
            // Not understood, so it is cut wherever a command could end, and also taken as a whole.
            Parts::Unclear => {
                self.look_at(command, depth);
                for piece in command.split([';', '&', '|', '\n', '(', ')', '`', '{', '}']) {
                    self.look_at(piece, depth);
                }
            }
        }
    }

    /// Looks at one simple command.
    fn look_at(&mut self, text: &str, depth: usize) {
        let Split { words, here } = split(text);
        for script in here {
            self.look_into(&script, depth + 1);
        }
        let mut is_seen = vec![false; words.len()];
        let mut starts = vec![0];
        while let Some(start) = starts.pop() {
            if self.found.has_more {
                return;
            }
            let skipped = words
                .iter()
                .skip(start)
                .take_while(|word| BEFORE_COMMANDS.contains(&word.as_str()) || is_assignment(word));
            let at = start + skipped.count();
            match is_seen.get_mut(at) {
                Some(seen) if !*seen => *seen = true,
                // Nothing is left, or another way led here before.
                _ => continue,
            }
            let command = words.get(at..).unwrap_or_default();
            self.note(command);
            let Some((program, rest)) = command.split_first() else {
                continue;
            };
            let name = base_name(program);
            for (offset, what) in inner(name, rest) {
                match what {
                    Inner::Command => starts.push(at + 1 + offset),
                    Inner::Script(script) => self.look_into(&script, depth + 1),
                }
            }
        }
    }

    fn note(&mut self, words: &[String]) {
        let Some((program, rest)) = words.split_first() else {
            return;
        };
        let name = base_name(program);
        let as_given = (name != program).then_some(program.as_str());
        for program in [Some(name), as_given].into_iter().flatten() {
            let words = || std::iter::once(program).chain(rest.iter().map(String::as_str));
            if self.can_take(words().map(|word| word.len() + 1).sum()) {
                let command = words().collect::<Vec<_>>().join(" ");
                self.found.commands.push(command);
            }
        }
    }

    /// False, for good, when that would be more than is looked at.
    fn can_take(&mut self, bytes: usize) -> bool {
        match self.bytes_left.checked_sub(bytes) {
            Some(left) if !self.found.has_more => self.bytes_left = left,
            _ => self.found.has_more = true,
        }
        !self.found.has_more
    }
}

/// What a program runs of its words.
enum Inner {
    /// What begins at this word.
    Command,
    /// What the word says.
    Script(String),
}

/// What the program `name` runs of the words after it, by their place.
fn inner(name: &str, rest: &[String]) -> Vec<(usize, Inner)> {
    if SHELLS.contains(&name) {
        return shell_scripts(rest);
    }
    match name {
        "eval" => vec![(0, Inner::Script(rest.join(" ")))],
        "find" => after_exec(rest),
        // It only says where a program is.
        "command"
            if rest
                .first()
                .is_some_and(|word| ["-v", "-V"].contains(&word.as_str())) =>
        {
            Vec::new()
        }
        _ => match WRAPPERS.iter().find(|(wrapper, _)| *wrapper == name) {
            Some((_, operands)) => wrapped(rest, *operands),
            None => Vec::new(),
        },
    }
}

fn wrapped(rest: &[String], mut operands: usize) -> Vec<(usize, Inner)> {
    let mut found = Vec::new();
    let mut after_option = false;
    for (offset, word) in rest.iter().enumerate() {
        // `su -c 'rm x'`, `env -S 'rm x'`, `watch 'rm x'`.
        if word.contains([' ', '\t', '\n', ';']) {
            found.push((offset, Inner::Script(word.clone())));
        }
        if word.starts_with('-') {
            after_option = true;
            continue;
        }
        if is_assignment(word) {
            continue;
        }
        // It may also be what the option before it takes, or an operand.
        found.push((offset, Inner::Command));
        if std::mem::take(&mut after_option) {
            continue;
        }
        match operands.checked_sub(1) {
            Some(left) => operands = left,
            None => break,
        }
    }
    found
}

/// The words after `-c` up to the first that is more than one word to a shell: those before it
/// may belong to options.
fn shell_scripts(rest: &[String]) -> Vec<(usize, Inner)> {
    let takes_script =
        |word: &String| word.starts_with('-') && !word.starts_with("--") && word.contains('c');
    let Some(option) = rest.iter().position(takes_script) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for (offset, word) in rest.iter().enumerate().skip(option + 1) {
        if word.starts_with('-') {
            continue;
        }
        found.push((offset, Inner::Script(word.clone())));
        if word.contains([' ', '\t', '\n', ';']) {
            break;
        }
    }
    found
}

fn after_exec(rest: &[String]) -> Vec<(usize, Inner)> {
    let runs = |word: &str| ["-exec", "-execdir", "-ok", "-okdir"].contains(&word);
    let options = rest.iter().enumerate().filter(|(_, word)| runs(word));
    options
        .map(|(offset, _)| (offset + 1, Inner::Command))
        .collect()
}

fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// `NAME=…` or `NAME+=…`.
fn is_assignment(word: &str) -> bool {
    let Some((name, _)) = word.split_once('=') else {
        return false;
    };
    let name = name.strip_suffix('+').unwrap_or(name);
    let is_letter = |c: char| c.is_ascii_alphabetic() || c == '_';
    name.starts_with(is_letter) && name.chars().all(|c| is_letter(c) || c.is_ascii_digit())
}

/// A simple command in words.
#[derive(Debug, Default)]
struct Split {
    /// Without quotes, and without redirections wherever they stand.
    words: Vec<String>,
    /// What `<<<` gives to the command's input.
    here: Vec<String>,
}

fn split(text: &str) -> Split {
    let mut split = Split::default();
    let mut chars = text.chars().peekable();
    let mut target = Target::Word;
    loop {
        while chars.next_if(|c| is_blank(*c) || *c == '\n').is_some() {}
        let mut word = String::new();
        let mut quote = None;
        let mut is_quoted = false;
        while let Some(c) = chars.peek().copied() {
            match (quote, c) {
                (None, ' ' | '\t' | '\n' | '<' | '>') => break,
                // `&>` is a redirection, too.
                (None, '&') => break,
                (None, '\'' | '"') => (quote, is_quoted) = (Some(c), true),
                (Some(open), c) if open == c => quote = None,
                (None, '\\') => {
                    chars.next();
                    word.extend(chars.peek().filter(|next| **next != '\n'));
                }
                (Some('"'), '\\') => {
                    chars.next();
                    match chars.peek() {
                        Some('"' | '\\' | '$' | '`') => {}
                        Some(_) => word.push(c),
                        None => break,
                    }
                    word.extend(chars.peek());
                }
                // `$'…'` and `$"…"` are quotes with a sign before them.
                (None, '$') if is_quote_next(&chars) => {}
                (_, c) => word.push(c),
            }
            chars.next();
        }
        let has_ended = chars.peek().is_none();
        let is_operator = chars.peek().is_some_and(|c| matches!(c, '<' | '>' | '&'));
        let is_descriptor = is_operator
            && !is_quoted
            && !word.is_empty()
            && (word.bytes().all(|byte| byte.is_ascii_digit())
                || (word.starts_with('{') && word.ends_with('}')));
        if (!word.is_empty() || is_quoted) && !is_descriptor {
            match std::mem::replace(&mut target, Target::Word) {
                Target::Word => split.words.push(word),
                Target::File => {}
                Target::Here => split.here.push(word),
            }
        }
        if has_ended {
            return split;
        }
        if is_operator {
            let mut operator = String::new();
            while let Some(c) = chars.next_if(|c| matches!(c, '<' | '>' | '&' | '|')) {
                operator.push(c);
            }
            target = match operator.as_str() {
                "<<<" => Target::Here,
                // Only in what was not understood.
                "&" | "&&" => Target::Word,
                _ => Target::File,
            };
        }
    }
}

/// What the next word is.
enum Target {
    Word,
    File,
    Here,
}

fn is_quote_next(chars: &std::iter::Peekable<std::str::Chars<'_>>) -> bool {
    let mut ahead = chars.clone();
    ahead.next();
    matches!(ahead.next(), Some('\'' | '"'))
}

#[cfg(test)]
mod tests;
