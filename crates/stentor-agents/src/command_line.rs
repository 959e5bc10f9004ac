//! Commands of a child as lines of a shell: what the policy judges and what runs are the same text.

use std::path::Path;

use serde_json::Value;
use stentor_client::{HostRefusal, TerminalRequest};

/// Shells whose `-c` runs a line.
const SHELLS: [&str; 4] = ["sh", "bash", "dash", "zsh"];

/// Variables that say who runs a command and what its terminal is like, and do nothing else.
const MARKS: [&str; 8] = [
    "AGENT",
    "AGENT_SESSION_ID",
    "COLUMNS",
    "GOOSE_SESSION_ID",
    "GOOSE_TERMINAL",
    "LINES",
    "NO_COLOR",
    "TERM",
];

/// The line that a terminal of a child runs, in the folder `cwd`.
///
/// What the child adds to the environment and its folder are part of the line, so that they are judged
/// with it: a variable can make any program another.
pub(crate) fn of_terminal(terminal: &TerminalRequest, cwd: &Path) -> Result<String, HostRefusal> {
    let refused = |why: String| Err(HostRefusal::Because(why));
    let mut line = String::new();
    if let Some(folder) = terminal.cwd.as_deref().filter(|folder| *folder != cwd) {
        let Some(name) = folder.to_str().filter(|_| folder.is_absolute()) else {
            return refused("the folder of a terminal must be an absolute path".to_owned());
        };
        line = format!("cd {} && ", quoted(name));
    }
    for (name, value) in &terminal.env {
        let is_name = |name: &str| {
            let rest = name.trim_start_matches(|c: char| c.is_ascii_alphabetic() || c == '_');
            rest.len() < name.len() && rest.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        };
        if !is_name(name) {
            return refused(format!("{name:?} is no name of a variable"));
        }
        line.push_str(&format!("export {name}={} && ", quoted(value)));
    }
    let command = of_parts(&terminal.command, &terminal.args);
    if command.trim().is_empty() || line.contains('\0') || command.contains('\0') {
        return refused("there is no command".to_owned());
    }
    line.push_str(&command);
    Ok(line)
}

/// The same without the variables, if there are some and none can make the command another one: what
/// an agent has added by which commands know it. A call that was permitted is the same with them.
///
/// Whoever permitted the command has not seen their values. So none may be more than a word, and the
/// line may neither name one of them nor have anything that a shell replaces.
pub(crate) fn without_marks(terminal: &TerminalRequest, cwd: &Path) -> Option<String> {
    let is_mark = |(name, value): &(String, String)| {
        MARKS.contains(&name.as_str()) && (value.is_empty() || is_plain(value))
    };
    if terminal.env.is_empty() || !terminal.env.iter().all(is_mark) {
        return None;
    }
    let plain = TerminalRequest {
        env: Vec::new(),
        ..terminal.clone()
    };
    let line = of_terminal(&plain, cwd).ok()?;
    let is_named = terminal.env.iter().any(|(name, _)| line.contains(name));
    (!is_named && !line.contains(['$', '`'])).then_some(line)
}

/// The command of a call, as far as its arguments have one: a line, or a list of words.
pub(crate) fn of_argument(value: &Value) -> Option<String> {
    match value {
        Value::String(line) => Some(line.clone()),
        Value::Array(words) => {
            let words: Option<Vec<&str>> = words.iter().map(Value::as_str).collect();
            let words = words?;
            let (program, arguments) = words.split_first()?;
            let arguments: Vec<String> = arguments.iter().map(|&word| word.to_owned()).collect();
            Some(of_parts(program, &arguments))
        }
        _ => None,
    }
}

/// A program and its arguments as a line. Without arguments it is a line already; of a shell that does
/// nothing but run a line, it is that line.
fn of_parts(program: &str, arguments: &[String]) -> String {
    let name = program.rsplit('/').next().unwrap_or(program);
    match arguments {
        [] => program.to_owned(),
        [flag, line] if SHELLS.contains(&name) && matches!(flag.as_str(), "-c" | "-lc") => {
            line.clone()
        }
        arguments => {
            let words = std::iter::once(program).chain(arguments.iter().map(String::as_str));
            words.map(quoted).collect::<Vec<_>>().join(" ")
        }
    }
}

/// A word that a shell reads as it is.
fn quoted(word: &str) -> String {
    match is_plain(word) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// Whether a shell reads a word as it is without quotes.
fn is_plain(word: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=@%+,".contains(c);
    !word.is_empty() && word.chars().all(is_plain)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn line(terminal: TerminalRequest) -> Result<String, String> {
        of_terminal(&terminal, Path::new("/work")).map_err(|refusal| refusal.to_string())
    }

    fn terminal(command: &str, args: &[&str]) -> TerminalRequest {
        TerminalRequest {
            command: command.to_owned(),
            args: args.iter().map(|&word| word.to_owned()).collect(),
            ..TerminalRequest::default()
        }
    }

    #[test]
    fn a_terminal_is_the_line_a_shell_would_read() {
        for (terminal, expected) in [
            (terminal("ls -l | wc", &[]), "ls -l | wc"),
            (terminal("ls", &["-l", "a b"]), "ls -l 'a b'"),
            (terminal("echo", &["it's; rm"]), r"echo 'it'\''s; rm'"),
            (terminal("/bin/bash", &["-lc", "ls | wc"]), "ls | wc"),
            (terminal("bash", &["-c", "ls", "x"]), "bash -c ls x"),
            (terminal("ls", &[""]), "ls ''"),
        ] {
            assert_eq!(line(terminal).as_deref(), Ok(expected));
        }
    }

    #[test]
    fn folder_and_variables_are_judged_with_the_command() {
        let mut given = terminal("ls", &["-l"]);
        given.cwd = Some("/work".into());
        assert_eq!(line(given.clone()).as_deref(), Ok("ls -l"));
        given.cwd = Some("/other place".into());
        given.env = vec![("LD_PRELOAD".to_owned(), "/x y".to_owned())];
        let expected = "cd '/other place' && export LD_PRELOAD='/x y' && ls -l";
        assert_eq!(line(given.clone()).as_deref(), Ok(expected));
        for name in ["", "1A", "A B", "A;ls", "A=B"] {
            given.env = vec![(name.to_owned(), String::new())];
            assert!(line(given.clone()).is_err(), "{name}");
        }
        given.env.clear();
        given.cwd = Some("relative".into());
        assert!(line(given).is_err());
        assert!(line(terminal("", &[])).is_err());
    }

    #[test]
    fn variables_that_only_mark_a_command_can_be_left_out() {
        let mut given = terminal("ls", &["-l"]);
        given.cwd = Some("/other".into());
        let left = |given: &TerminalRequest| without_marks(given, Path::new("/work"));
        assert_eq!(left(&given), None);
        given.env = vec![("AGENT_SESSION_ID".to_owned(), "20260101_1".to_owned())];
        assert_eq!(left(&given).as_deref(), Some("cd /other && ls -l"));
        for name in [
            "PATH",
            "LD_PRELOAD",
            "BASH_ENV",
            "IFS",
            "GIT_SSH",
            "agent",
            "A_SESSION_ID",
        ] {
            let mut given = given.clone();
            given.env.push((name.to_owned(), "x".to_owned()));
            assert_eq!(left(&given), None, "{name}");
        }
    }

    #[test]
    fn variables_that_a_command_may_use_are_judged_with_it() {
        let left = |line: &str, value: &str| {
            let mut given = terminal(line, &[]);
            given.env = vec![("TERM".to_owned(), value.to_owned())];
            without_marks(&given, Path::new("/work"))
        };
        assert_eq!(left("ls | wc", "xterm").as_deref(), Some("ls | wc"));
        assert_eq!(left("ls | wc", "").as_deref(), Some("ls | wc"));
        for line in ["$TERM x", "eval \"$X\"", "`env`", "printenv TERM | sh"] {
            assert_eq!(left(line, "xterm"), None, "{line}");
        }
        assert_eq!(left("env | sh", "1; rm x"), None);
    }

    #[test]
    fn arguments_have_a_line_or_words() {
        for (value, expected) in [
            (json!("a | b"), Some("a | b")),
            (json!(["bash", "-lc", "a | b"]), Some("a | b")),
            (json!(["a", "b c"]), Some("a 'b c'")),
            (json!(["a", 1]), None),
            (json!(1), None),
        ] {
            assert_eq!(of_argument(&value).as_deref(), expected);
        }
    }
}
