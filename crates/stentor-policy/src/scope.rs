//! What an "always" is about: how far it reaches beyond the call that was asked about.

use std::path::{Path, PathBuf};

use super::command::{self, CommandParts, SimpleCommand, is_blank};
use super::resolve::resolve;
use super::rule::RuleDecision;
use super::touches::Touches;

/// What an answer is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum AnswerSubject {
    EveryCall,
    /// This command and no other.
    Command(String),
    /// Commands that start with these words.
    Words(String),
    /// Everything in the folder and below.
    Folder(PathBuf),
    Path(PathBuf),
    /// Everything on that host.
    Host(String),
    /// The call that is described with exactly these words.
    Call(String),
}

/// The commands that change nothing and run nothing else, whatever words follow. Few are like
/// that: `git log` writes a file with `--output`, `find` deletes and runs with `-delete` and
/// `-exec`, `git rev-parse` of an object that a partial clone lacks runs what the repository's
/// configuration names as its `remote.NAME.uploadpack`, and nearly everything that builds, edits or
/// prints has an option that runs a program.
const HARMLESS: [&str; 8] = [
    "echo",
    "git ls-files",
    "git status",
    "id",
    "ls",
    "pwd",
    "uname",
    "whoami",
];

/// Those of them that nothing in the folder has run a program: `git status` and `git ls-files` run
/// what the repository's configuration names as its `core.fsmonitor`.
const READ_ONLY: [&str; 6] = ["echo", "id", "ls", "pwd", "uname", "whoami"];

/// Programs that run whatever they are given, so that their first words say nothing.
const RUN_OTHERS: [&str; 26] = [
    "bash", "sh", "zsh", "dash", "fish", "ksh", "sudo", "su", "doas", "env", "exec", "eval",
    "command", "builtin", "xargs", "nohup", "time", "timeout", "nice", "setsid", "ssh", "python",
    "python3", "node", "perl", "ruby",
];

impl AnswerSubject {
    /// What an "always" to a call is about: its words where it has no better description, else its
    /// command, else its host, else its paths.
    pub(super) fn of(decision: RuleDecision, touches: &Touches, cwd: &Path) -> Self {
        if let Some(words) = &touches.words {
            return Self::Call(words.clone());
        }
        if let Some(command) = &touches.command {
            return match decision {
                RuleDecision::Allow | RuleDecision::Ask if touches.is_input => {
                    Self::Command(command.clone())
                }
                _ => about_command(decision, command),
            };
        }
        match (touches.web.first(), touches.paths.first()) {
            (Some(address), _) => Self::Host(address.host.clone()),
            (None, Some(path)) => about_path(path, cwd),
            (None, None) => Self::EveryCall,
        }
    }

    /// What an answer is about that was kept for all commands that start with these words. One that
    /// allowed more than is harmless counts for the words themselves.
    pub(super) fn stored_for_words(decision: RuleDecision, words: String) -> Self {
        match decision {
            RuleDecision::Allow if harmless_start(&words).is_none() => Self::Command(words),
            RuleDecision::Allow | RuleDecision::Ask | RuleDecision::Deny => Self::Words(words),
        }
    }
}

/// True when the command starts with these words.
pub(super) fn starts_with_words(command: &str, words: &str) -> bool {
    let mut given = words_of(command);
    words_of(words).all(|word| given.next() == Some(word))
}

fn words_of(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c| is_blank(c) || c == '\n')
        .filter(|word| !word.is_empty())
}

/// True when nothing that the command runs changes anything.
pub(super) fn only_reads(parts: &CommandParts) -> bool {
    let CommandParts::Clear(parts) = parts else {
        return false;
    };
    let reads = |part: &SimpleCommand| {
        let mut starts = READ_ONLY.into_iter();
        let is_known = starts.any(|start| starts_with_words(&part.text, start));
        !part.redirects && !part.is_arithmetic && is_known
    };
    !parts.is_empty() && parts.iter().all(reads)
}

fn harmless_start(command: &str) -> Option<&'static str> {
    let mut starts = HARMLESS.into_iter();
    starts.find(|start| starts_with_words(command, start))
}

fn about_command(decision: RuleDecision, command: &str) -> AnswerSubject {
    let exactly = || AnswerSubject::Command(command.to_owned());
    let CommandParts::Clear(parts) = command::parts(command) else {
        return exactly();
    };
    let [only] = parts.as_slice() else {
        return exactly();
    };
    let words = match decision {
        _ if only.redirects => None,
        RuleDecision::Deny => first_two_words(only),
        RuleDecision::Allow | RuleDecision::Ask => harmless_start(&only.text).map(str::to_owned),
    };
    words.map_or_else(exactly, AnswerSubject::Words)
}

/// What a denial is about: it may reach further than a permission.
fn first_two_words(part: &SimpleCommand) -> Option<String> {
    let mut words = words_of(&part.text);
    let program = words.next()?;
    let second = words.next()?;
    let name = program.rsplit('/').next().unwrap_or(program);
    let is_plain = |word: &str| !word.contains(['\'', '"', '\\', '$', '`', '=']);
    let says_much = is_plain(program) && is_plain(second) && !RUN_OTHERS.contains(&name);
    says_much.then(|| format!("{program} {second}"))
}

fn about_path(path: &Path, cwd: &Path) -> AnswerSubject {
    let path = resolve(path).unwrap_or_else(|| path.to_owned());
    let folder = match path.is_dir() {
        true => Some(path.as_path()),
        false => path.parent(),
    };
    let cwd = resolve(cwd).unwrap_or_else(|| cwd.to_owned());
    let home = std::env::home_dir().and_then(|home| resolve(&home));
    match folder {
        Some(folder) if folder == cwd => AnswerSubject::Folder(cwd),
        // Too much would be allowed at once.
        Some(folder) if cwd.starts_with(folder) || home.as_deref() == Some(folder) => {
            AnswerSubject::Path(path)
        }
        Some(folder) => AnswerSubject::Folder(folder.to_owned()),
        None => AnswerSubject::Path(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed(command: &str) -> AnswerSubject {
        let touches = Touches {
            command: Some(command.to_owned()),
            ..Touches::default()
        };
        AnswerSubject::of(RuleDecision::Allow, &touches, Path::new("/"))
    }

    #[test]
    fn a_permission_for_always_reaches_further_only_where_nothing_can_follow() {
        for (command, words) in [
            ("git status -s", "git status"),
            ("git status", "git status"),
            ("git ls-files src", "git ls-files"),
            ("ls -la /", "ls"),
            ("ls *.rs </dev/null 2>&1 >/dev/null", "ls"),
            ("echo hello", "echo"),
        ] {
            assert_eq!(
                allowed(command),
                AnswerSubject::Words(words.into()),
                "{command}"
            );
        }
        for command in [
            "git log",
            "git diff",
            "git rev-parse HEAD",
            "git -c alias.status=!x status",
            "git statusx",
            "'git status' x",
            "git 'status'",
            "find . -name x",
            "sed -n 1p f",
            "awk 1 f",
            "tar -tf x.tar",
            "make test",
            "cargo test",
            "npm test",
            "python -c 1",
            "env ls",
            "stdbuf -oL ls",
            "script -c ls",
            "flock f ls",
            "vim f",
            "gdb ls",
            "less f",
            "rg x",
            "lsof",
            "./ls",
            "/tmp/ls x",
            "ls > out",
            "ls < in",
            "ls </dev/tcp/127.0.0.1/80",
            "ls </dev/tcp/$HOST/80",
            "ls < <(cat x)",
            "ls | sh",
            "ls; rm x",
            "A=1 ls",
            "ls $(rm x)",
            "ls\u{a0}x",
            "ls\rx",
            "\u{a0}ls x",
        ] {
            assert_eq!(
                allowed(command),
                AnswerSubject::Command(command.into()),
                "{command}"
            );
        }
    }

    #[test]
    fn a_command_only_reads_if_every_part_of_it_is_known_to() {
        for (command, expected) in [
            ("ls -la", true),
            ("pwd && ls | echo done", true),
            ("git rev-parse HEAD", false),
            ("echo $(ls)", true),
            ("git status", false),
            ("git ls-files", false),
            ("ls > out", false),
            ("echo x >> f", false),
            ("ls; rm x", false),
            ("echo $(rm x)", false),
            ("echo `rm x`", false),
            ("ls & rm x", false),
            ("(ls; touch x)", false),
            ("A=1 ls", false),
            ("ls <(rm x)", false),
            ("./ls", false),
            ("cat f", false),
            ("", false),
            ("ls # x", false),
            ("((echo '$(touch x)'))", false),
            ("(\\\n(echo '$(touch x)'))", false),
            ("echo $((echo '$(touch x)'))", false),
            ("echo $(\\\n(echo '$(touch x)'))", false),
            ("echo \"$\\\n(touch x)\"", false),
            ("echo \"$\\\n{x:-$(touch x)}\"", false),
            ("((ls) ; ls)", false),
            ("( (ls); ls)", true),
            ("echo \\\n\"a\\\nb\" 'c\\\nd'", true),
        ] {
            assert_eq!(only_reads(&command::parts(command)), expected, "{command}");
        }
    }

    #[test]
    fn a_permission_kept_from_before_counts_for_no_more_than_is_harmless() {
        let kept = |words: &str| AnswerSubject::stored_for_words(RuleDecision::Allow, words.into());
        assert_eq!(kept("find ."), AnswerSubject::Command("find .".into()));
        assert_eq!(
            kept("git status"),
            AnswerSubject::Words("git status".into())
        );
        assert_eq!(kept("ls -l"), AnswerSubject::Words("ls -l".into()));
        let denied = AnswerSubject::stored_for_words(RuleDecision::Deny, "npm publish".into());
        assert_eq!(denied, AnswerSubject::Words("npm publish".into()));
    }
}
