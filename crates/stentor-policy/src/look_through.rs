//! The commands that a command runs through others: `sudo rm x` runs `rm x`, and so do
//! `bash -c 'rm x'`, `/bin/rm x` and `if true; then rm x; fi`.
//!
//! Rules that deny or ask are held against these, too. Nothing is ever allowed by them: where it is
//! not certain which word begins a command, every word that may is taken for one. Where no word
//! says what runs (`$X x`, `… | sh`), that is noted, so that rules can ask.

use super::command::{self, CommandParts};
use super::here_documents;
use super::shell_words::{ShellWord, Split, is_assignment, split};

mod pieces;

/// What a command runs, as far as it can be seen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct InnerCommands {
    /// Each with its words separated by one blank and without quotes, its program by its name.
    pub commands: Vec<String>,
    /// It goes on where nobody looked: deeper, or longer, than anyone writes.
    pub has_more: bool,
    /// It runs something that only the shell knows when it runs it.
    pub runs_unknown: bool,
}

/// The commands inside a command, itself included.
pub(super) fn inside(command: &str) -> InnerCommands {
    let mut search = CommandSearch {
        found: InnerCommands::default(),
        bytes_left: MAX_BYTES,
        names_startup_file: false,
        is_interactive: false,
    };
    search.look_into(command, 0);
    search.found.runs_unknown |= search.names_startup_file && search.is_interactive;
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
const WRAPPERS: [(&str, usize); 57] = [
    ("builtin", 0),
    ("busybox", 0),
    ("bwrap", 0),
    ("choom", 0),
    ("chroot", 1),
    ("chrt", 1),
    ("command", 0),
    ("coproc", 1),
    ("dbus-run-session", 0),
    ("doas", 0),
    ("eatmydata", 0),
    ("env", 0),
    ("exec", 0),
    ("fakeroot", 0),
    ("faketime", 1),
    ("firejail", 0),
    ("flock", 1),
    ("function", 1),
    ("gosu", 1),
    ("i386", 0),
    ("ionice", 0),
    ("jobs", 0),
    ("linux32", 0),
    ("linux64", 0),
    ("logsave", 1),
    ("ltrace", 0),
    ("nice", 0),
    ("nohup", 0),
    ("nsenter", 0),
    ("numactl", 0),
    ("parallel", 0),
    ("perf", 1),
    ("pkexec", 0),
    ("prlimit", 0),
    ("runuser", 0),
    ("script", 1),
    ("setarch", 1),
    ("setpriv", 0),
    ("setsid", 0),
    ("sg", 1),
    ("ssh-agent", 0),
    ("stdbuf", 0),
    ("strace", 0),
    ("su", 1),
    ("sudo", 0),
    ("systemd-run", 0),
    ("taskset", 1),
    ("time", 0),
    ("timeout", 1),
    ("toybox", 0),
    ("uclampset", 0),
    ("unbuffer", 0),
    ("unshare", 0),
    ("valgrind", 0),
    ("watch", 0),
    ("x86_64", 0),
    ("xargs", 0),
];

/// Programs that run what stands after `-c`.
const SHELLS: [&str; 9] = [
    "ash", "bash", "dash", "fish", "ksh", "mksh", "rbash", "sh", "zsh",
];

/// Builtins of a shell that run, or evaluate, what their arguments say.
const EVALUATORS: [&str; 4] = ["compgen", "complete", "mapfile", "readarray"];

/// Variables that have a shell run what they say, or what lies in the file they name.
const RUN_BY_SHELLS: [&str; 2] = ["BASH_ENV", "PROMPT_COMMAND"];

/// The variable that names the file an interactive shell runs when it starts. Most who set it mean
/// something else, so it counts only beside such a shell.
const STARTUP_FILE: &str = "ENV";

/// Programs that run what a file says.
const SOURCES: [&str; 2] = [".", "source"];

struct CommandSearch {
    found: InnerCommands,
    bytes_left: usize,
    names_startup_file: bool,
    is_interactive: bool,
}

impl CommandSearch {
    /// Looks at a whole command, or at the script a command was given.
    fn look_into(&mut self, command: &str, depth: usize) {
        if depth > MAX_DEPTH {
            self.found.has_more = true;
        }
        if !self.can_take(SCRIPT_BYTES) {
            return;
        }
        if let Some((outside, bodies)) = here_documents::take_out(command) {
            return self.look_into_here_documents(&outside, &bodies, depth);
        }
        match command::parts(command) {
            CommandParts::Clear(parts) => {
                for part in parts {
                    self.look_at(&part.text, depth, part.is_arithmetic);
                }
            }
            // Not understood, so it is cut wherever a command could end, and also taken as a whole.
            CommandParts::Unclear => {
                self.look_at(command, depth, false);
                self.look_at_pieces(command, depth);
                for piece in pieces::unquoted(command) {
                    self.look_at(piece, depth, false);
                }
            }
        }
    }

    /// Cuts also between quotes: what stands there may be a script.
    fn look_at_pieces(&mut self, text: &str, depth: usize) {
        let (mut rest, mut from, mut before) = (text, 0, ' ');
        let mut is_backquoted = false;
        for (at, c) in text.char_indices() {
            let follows_dollar = std::mem::replace(&mut before, c) == '$';
            if !matches!(c, ';' | '&' | '|' | '\n' | '(' | ')' | '`' | '{' | '}')
                || (follows_dollar && c == '{')
            {
                continue;
            }
            let (piece, behind) = rest.split_at(at - from);
            self.look_at(piece, depth, false);
            // The word that is cut here has what a substitution yields in it: `sh -c "$(…)"`.
            if c == '(' && follows_dollar {
                self.look_at(&format!("{piece}_"), depth, false);
            } else if c == '`' && !is_backquoted {
                self.look_at(&format!("{piece}$_"), depth, false);
            }
            is_backquoted ^= c == '`';
            rest = behind.get(c.len_utf8()..).unwrap_or_default();
            from = at + c.len_utf8();
        }
        self.look_at(rest, depth, false);
    }

    /// What stands in a here-document runs if a shell reads it. Otherwise it is text, though it may
    /// hold substitutions.
    fn look_into_here_documents(&mut self, outside: &str, bodies: &str, depth: usize) {
        let noted = self.found.commands.len();
        self.look_into(outside, depth + 1);
        let is_shell = |command: &String| {
            let program = command.split(' ').next().unwrap_or_default();
            SHELLS.contains(&program) || SOURCES.contains(&program)
        };
        let mut commands = self.found.commands.iter().skip(noted);
        let has_shell = commands.any(is_shell);
        let runs_unknown = self.found.runs_unknown;
        self.look_at_pieces(bodies, depth);
        self.found.runs_unknown = runs_unknown || (has_shell && self.found.runs_unknown);
    }

    /// Looks at one simple command.
    fn look_at(&mut self, text: &str, depth: usize, is_arithmetic: bool) {
        let Split { words, here, input } = split(text);
        for script in &here {
            self.look_into(&script.text, depth + 1);
        }
        for word in &words {
            self.look_at_evaluated(word, depth);
        }
        let mut is_seen = vec![false; words.len()];
        let mut starts = vec![(0, !is_arithmetic)];
        while let Some((start, is_certain)) = starts.pop() {
            if self.found.has_more {
                return;
            }
            let skipped = words.iter().skip(start).take_while(|word| {
                BEFORE_COMMANDS.contains(&word.text.as_str()) || is_assignment(&word.text)
            });
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
            self.found.runs_unknown |= is_certain && (program.is_expanded || program.is_pattern);
            let name = base_name(&program.text);
            self.is_interactive |= SHELLS.contains(&name) && rest.iter().any(is_interactive);
            let is_fed = !here.is_empty() || input.as_ref().is_some_and(is_script_file);
            self.found.runs_unknown |= runs_input(name, rest, is_fed)
                || here
                    .iter()
                    .any(|script| script.is_expanded && SHELLS.contains(&name));
            for (offset, what) in inner(name, rest) {
                let offset = at + 1 + offset;
                match what {
                    InnerCommand::Command => starts.push((offset, true)),
                    InnerCommand::Operand => starts.push((offset, false)),
                    InnerCommand::Script(script) => {
                        if self.script_runs_unknown(&script, depth) {
                            // What it runs may be among its arguments: `sh -c 'exec "$@"' _ rm x`.
                            let arguments = offset + 1..words.len();
                            starts.extend(arguments.map(|argument| (argument, false)));
                        }
                    }
                }
            }
        }
    }

    /// What a word says in quotes may be evaluated later: as a subscript (`let 'x[$(rm x)]'`, also
    /// by way of a variable), as a prompt (`PS4='$(rm x)'`). What only looks so denies at most.
    fn look_at_evaluated(&mut self, word: &ShellWord, depth: usize) {
        let text = word.text.as_str();
        let sets = |variable: &&str| text.strip_prefix(*variable).is_some_and(is_value);
        self.found.runs_unknown |= RUN_BY_SHELLS.iter().any(sets);
        self.names_startup_file |= sets(&STARTUP_FILE);
        let Some(at) = text.find("$(").into_iter().chain(text.find('`')).min() else {
            return;
        };
        let runs_unknown = self.found.runs_unknown;
        self.look_at_pieces(text.get(at + 1..).unwrap_or_default(), depth + 1);
        let is_subscript = text.get(..at).is_some_and(|before| before.contains('['));
        self.found.runs_unknown = runs_unknown || (is_subscript && self.found.runs_unknown);
    }

    /// Looks at a script, and says whether it runs something that cannot be known.
    fn script_runs_unknown(&mut self, script: &ShellWord, depth: usize) -> bool {
        let before = std::mem::take(&mut self.found.runs_unknown);
        self.look_into(&script.text, depth + 1);
        // What is put into a script may end one command in it and begin another.
        let runs_unknown = self.found.runs_unknown || script.is_expanded;
        self.found.runs_unknown = before || runs_unknown;
        runs_unknown
    }

    fn note(&mut self, words: &[ShellWord]) {
        let Some((program, rest)) = words.split_first() else {
            return;
        };
        let program = program.text.as_str();
        let name = base_name(program);
        let as_given = (name != program).then_some(program);
        for program in [Some(name), as_given].into_iter().flatten() {
            let words =
                || std::iter::once(program).chain(rest.iter().map(|word| word.text.as_str()));
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
enum InnerCommand {
    /// What begins at this word.
    Command,
    /// The same, though the word is rather something else that the program needs.
    Operand,
    /// What the word says.
    Script(ShellWord),
}

/// What the program `name` runs of the words after it, by their place.
fn inner(name: &str, rest: &[ShellWord]) -> Vec<(usize, InnerCommand)> {
    if SHELLS.contains(&name) {
        return shell_scripts(rest);
    }
    match name {
        "eval" => {
            let ends_options = |word: &ShellWord| word.text == "--";
            let script = rest.get(usize::from(rest.first().is_some_and(ends_options))..);
            vec![(
                rest.len(),
                InnerCommand::Script(joined(script.unwrap_or_default())),
            )]
        }
        _ if EVALUATORS.contains(&name) => {
            let scripts = rest.iter().cloned().map(InnerCommand::Script);
            scripts.enumerate().collect()
        }
        "trap" => trapped(rest),
        "find" => after_exec(rest),
        "git" => git_settings(rest),
        // It only says where a program is.
        "command"
            if rest
                .first()
                .is_some_and(|word| ["-v", "-V"].contains(&word.text.as_str())) =>
        {
            Vec::new()
        }
        _ if is_loader(name) => wrapped(rest, 0),
        _ => match WRAPPERS.iter().find(|(wrapper, _)| *wrapper == name) {
            Some((_, operands)) => wrapped(rest, *operands),
            None => Vec::new(),
        },
    }
}

/// The words as one script.
fn joined(words: &[ShellWord]) -> ShellWord {
    let texts: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
    ShellWord {
        text: texts.join(" "),
        is_expanded: words.iter().any(|word| word.is_expanded),
        is_pattern: words.iter().any(|word| word.is_pattern),
    }
}

fn wrapped(rest: &[ShellWord], mut operands: usize) -> Vec<(usize, InnerCommand)> {
    let mut found = Vec::new();
    let mut after_option = false;
    for (offset, word) in rest.iter().enumerate() {
        let text = word.text.as_str();
        if text.starts_with('-') {
            after_option = true;
            let following = rest.get(offset + 1..).unwrap_or_default();
            let script = script_in_option(word, following);
            found.extend(script.map(|script| (offset, InnerCommand::Script(with_options(script)))));
            // `env -S '-i rm x'`.
            if is_several_words(text) {
                found.push((
                    offset,
                    InnerCommand::Script(with_options(with_blanks(word))),
                ));
            }
            continue;
        }
        // `su -c 'rm x'`, `env -S 'A=1 rm x'`, `watch 'rm x'`; in `env A='b c'` it is a value.
        let is_value = is_assignment(text);
        // To `env` it is one whatever stands before the sign.
        let may_be_value = is_value || text.contains('=');
        if is_several_words(text) && (after_option || !is_value) {
            found.push((offset, InnerCommand::Script(with_blanks(word))));
        }
        if may_be_value {
            if !is_value {
                found.push((offset, InnerCommand::Operand));
            }
            continue;
        }
        // It may also be what the option before it takes, or an operand.
        if std::mem::take(&mut after_option) {
            found.push((offset, InnerCommand::Command));
            continue;
        }
        match operands.checked_sub(1) {
            Some(left) => {
                found.push((offset, InnerCommand::Operand));
                operands = left;
            }
            None => {
                found.push((offset, InnerCommand::Command));
                break;
            }
        }
    }
    found
}

/// The script in an option that holds it: `env -S'rm x'`, `env --split-string='rm x'`,
/// `su -c'rm x'`, `su --command='rm x'`. What follows belongs to the command for `env`.
fn script_in_option(option: &ShellWord, following: &[ShellWord]) -> Option<ShellWord> {
    let script = match option.text.strip_prefix("--") {
        Some(long) => {
            let (name, script) = long.split_once('=')?;
            name.starts_with(['s', 'c']).then_some(script)?
        }
        None => option.text.split_once(['S', 'c'])?.1,
    };
    if script.is_empty() {
        return None;
    }
    let script = ShellWord {
        text: script.to_owned(),
        ..option.clone()
    };
    let words: Vec<ShellWord> = std::iter::once(script)
        .chain(following.iter().cloned())
        .collect();
    Some(with_blanks(&joined(&words)))
}

/// What `env -S` is given may begin with options of `env`.
fn with_options(script: ShellWord) -> ShellWord {
    match script.text.trim_start().starts_with('-') {
        true => ShellWord {
            text: format!("env {}", script.text),
            ..script
        },
        false => script,
    }
}

/// The script with the blanks that `env -S` takes these for.
fn with_blanks(script: &ShellWord) -> ShellWord {
    let blanks = ["\\_", "\\t", "\\n", "\\v", "\\f", "\\r"];
    let replace = |text: String, blank: &&str| text.replace(blank, " ");
    ShellWord {
        text: blanks.iter().fold(script.text.clone(), replace),
        ..script.clone()
    }
}

fn is_several_words(text: &str) -> bool {
    text.contains([' ', '\t', '\n', ';']) || text.contains("\\_")
}

/// The words after `-c` up to the first that is more than one word to a shell: those before it
/// may belong to options.
fn shell_scripts(rest: &[ShellWord]) -> Vec<(usize, InnerCommand)> {
    let Some(option) = rest.iter().position(takes_script) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for (offset, word) in rest.iter().enumerate().skip(option + 1) {
        if word.text.starts_with('-') {
            continue;
        }
        found.push((offset, InnerCommand::Script(word.clone())));
        if is_several_words(&word.text) || word.is_expanded {
            break;
        }
    }
    found
}

fn takes_script(word: &ShellWord) -> bool {
    has_short_option(word, 'c')
}

fn is_interactive(word: &ShellWord) -> bool {
    has_short_option(word, 'i')
}

fn has_short_option(word: &ShellWord, option: char) -> bool {
    let text = word.text.as_str();
    text.starts_with('-') && !text.starts_with("--") && text.contains(option)
}

/// `ld-linux.so.2 PROGRAM` runs a program without its name.
fn is_loader(name: &str) -> bool {
    name.starts_with("ld-") || name.starts_with("ld.so")
}

/// True when a shell runs what it reads from its input, or from what cannot be looked up: without
/// `-c` and without a file that has a name. So it is when a word comes to mean another program.
fn runs_input(name: &str, rest: &[ShellWord], is_fed: bool) -> bool {
    if name == "alias" {
        return rest.iter().any(|word| word.text.contains('='));
    }
    if name == "hash" {
        return rest.iter().any(|word| word.text.starts_with("-p"));
    }
    // It runs what was typed before, unless it only lists it.
    if name == "fc" {
        let has = |option| rest.iter().any(|word| has_short_option(word, option));
        return has('s') || !has('l');
    }
    // A setting may be a command, and this one stands in a variable.
    if name == "git" {
        return rest
            .iter()
            .any(|word| word.text.starts_with("--config-env"));
    }
    if SOURCES.contains(&name) {
        return !rest.first().is_some_and(is_script_file);
    }
    // What they run ends with words that they read: `xargs env` runs any.
    if name == "xargs" || name == "parallel" {
        let is_runner = |(offset, what): &(usize, InnerCommand)| {
            let name = rest.get(*offset).map_or("", |word| base_name(&word.text));
            let is_wrapper = WRAPPERS.iter().any(|(wrapper, _)| *wrapper == name);
            matches!(what, InnerCommand::Command) && (is_wrapper || name == "eval")
        };
        let is_bare = name == "parallel" && rest.iter().all(|word| word.text.starts_with('-'));
        return is_bare || wrapped(rest, 0).iter().any(is_runner);
    }
    let only_tells = |word: &ShellWord| ["--version", "--help"].contains(&word.text.as_str());
    if !SHELLS.contains(&name)
        || rest
            .iter()
            .any(|word| takes_script(word) || only_tells(word))
    {
        return false;
    }
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        match word.text.as_str() {
            "-o" | "-O" | "+o" | "+O" | "--rcfile" | "--init-file" => {
                words.next();
            }
            "-" | "-s" => break,
            option if option.starts_with(['-', '+']) => {}
            _ => return !is_script_file(word),
        }
    }
    !is_fed
}

/// True for a file with a name of its own.
fn is_script_file(word: &ShellWord) -> bool {
    let is_stream = ["/dev/", "/proc/"]
        .iter()
        .any(|folder| word.text.starts_with(folder) && word.text != "/dev/null");
    !word.is_expanded && !is_stream
}

/// What `trap` keeps to be run is its first argument.
fn trapped(rest: &[ShellWord]) -> Vec<(usize, InnerCommand)> {
    let action = rest
        .iter()
        .find(|word| !word.text.starts_with('-'))
        .cloned();
    action
        .map(|action| (rest.len(), InnerCommand::Script(action)))
        .into_iter()
        .collect()
}

/// The values of `git -c NAME=VALUE`: some settings are commands (`alias.x=!rm`, `core.pager=rm`).
fn git_settings(rest: &[ShellWord]) -> Vec<(usize, InnerCommand)> {
    let mut found = Vec::new();
    for (offset, option) in rest.iter().enumerate() {
        if option.text != "-c" {
            continue;
        }
        let Some(setting) = rest.get(offset + 1) else {
            continue;
        };
        if let Some((_, value)) = setting.text.split_once('=') {
            let script = ShellWord {
                text: value.trim_start_matches('!').to_owned(),
                ..setting.clone()
            };
            found.push((offset + 1, InnerCommand::Script(script)));
        }
    }
    found
}

fn after_exec(rest: &[ShellWord]) -> Vec<(usize, InnerCommand)> {
    let runs = |word: &str| ["-exec", "-execdir", "-ok", "-okdir"].contains(&word);
    let options = rest.iter().enumerate().filter(|(_, word)| runs(&word.text));
    options
        .map(|(offset, _)| (offset + 1, InnerCommand::Command))
        .collect()
}

fn is_value(rest: &str) -> bool {
    rest.starts_with('=') || rest.starts_with("+=")
}

fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

#[cfg(test)]
mod tests;
