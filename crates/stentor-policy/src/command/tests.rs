use super::*;
use proptest::prelude::*;

fn texts(command: &str) -> Option<Vec<String>> {
    match parts(command) {
        CommandParts::Clear(parts) => Some(parts.into_iter().map(|part| part.text).collect()),
        CommandParts::Unclear => None,
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
        ("diff <(a) <(b)", &["a", "b", "diff <(a) <(b)"]),
        ("a \\\n b", &["a  b"]),
        ("a\\\nb \"c\\\nd\" 'e\\\nf'", &["ab \"cd\" 'e\\\nf'"]),
        ("a \\\\\nb", &["a \\\\", "b"]),
        ("a \"$\\\n(b)\"", &["b", "a \"$(b)\""]),
        (
            "a $((1 + 2)) $((\"$b\"))",
            &["1 + 2", "\"$b\"", "a $((1 + 2)) $((\"$b\"))"],
        ),
        ("a $(('b') )", &["'b'", "a $(('b') )"]),
        ("( (a); b)", &["a", "b"]),
        ("a \\; b", &["a \\; b"]),
        ("echo ${HOME} $x $1", &["echo ${HOME} $x $1"]),
        ("if a; then b; fi", &["if a", "then b", "fi"]),
        ("echo a#b", &["echo a#b"]),
        ("make 2>&1", &["make 2>&1"]),
        ("a\u{a0}b\r", &["a\u{a0}b\r"]),
        ("\u{2003}a", &["\u{2003}a"]),
        ("a\u{a0}#b", &["a\u{a0}#b"]),
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
        "echo ># x",
        "((i++))",
        "(\\\n(i++))",
        "((a); b)",
        "echo $(('1'))",
        "echo $((1 + $(('1'))))",
        "echo $\\\n'it'",
    ] {
        assert_eq!(parts(command), CommandParts::Unclear, "{command}");
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
fn a_redirection_to_or_from_a_file_is_seen() {
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
        ("wc < in", true),
        ("wc <in", true),
        ("wc 0</dev/tcp/127.0.0.1/80", true),
        ("wc </dev/tcp/$HOST/80", true),
        ("wc <&in", true),
        ("wc <&0", false),
        ("wc <&-", false),
        ("wc < /dev/null", false),
        ("wc </dev/nullx", true),
        ("wc < /dev/../etc/passwd", true),
        ("git log '>' out", false),
        ("git log >&1", false),
        ("git log >&12 2>&-", false),
        ("git log >&1FILE", true),
        ("git log >&1-x", true),
        ("git log >&-x", true),
        ("git log 2>&1\r", true),
        ("git log >/dev/null\u{a0}x", true),
        ("git log >/dev/null\r", true),
        ("git log >/dev/null\u{b}", true),
    ] {
        let CommandParts::Clear(parts) = parts(command) else {
            panic!("{command} is clear")
        };
        let redirects = parts.iter().any(|part| part.redirects);
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
    fn a_second_command_is_never_hidden_by_the_first(
        first in "[a-c \t\r\u{a0}\"'$(){}`#<>&|;\\\\-]{0,16}",
    ) {
        let command = format!("{first}\nrm -rf /");
        if let CommandParts::Clear(parts) = parts(&command) {
            // Glued to an expansion that comes to nothing it is a word nobody can read, which is
            // seen when the program is looked at.
            let is_rm = |text: &str| match text.strip_suffix("rm -rf /") {
                Some(before) => before.is_empty() || before.contains(['`', '$']),
                None => false,
            };
            let runs_rm = parts.iter().any(|part| is_rm(&part.text));
            let folder = tempfile::tempdir().unwrap();
            if shell_says(&format!("rm() {{ echo RM-RAN; }}; {command}"), folder.path()) {
                prop_assert!(runs_rm, "{command:?} {parts:?}");
            }
        }
    }

    /// The shell itself is asked whether a file appears.
    #[test]
    fn no_file_is_written_without_being_seen(
        redirection in "[0-2]?[<>&|]{1,3}[ \t]?[0-2a&\r\u{a0}\u{2003}\"'-]{0,4}[ \t]?[>&1a]{0,3}",
    ) {
        let command = format!("echo x {redirection}");
        if let CommandParts::Clear(parts) = parts(&command) {
            let folder = tempfile::tempdir().unwrap();
            shell_says(&command, folder.path());
            let has_written = std::fs::read_dir(folder.path()).unwrap().next().is_some();
            let is_seen = parts.iter().any(|part| part.redirects);
            prop_assert!(is_seen || !has_written, "{command:?} {parts:?}");
        }
    }

    /// The shell itself is asked whether it reads a file.
    #[test]
    fn no_file_is_read_without_being_seen(
        redirection in "0?<[<&]?[ \t]?[0a\"'&-]{1,4}",
    ) {
        let command = format!("read -r line {redirection}; echo \"$line\"");
        if let CommandParts::Clear(parts) = parts(&command) {
            let folder = tempfile::tempdir().unwrap();
            std::fs::write(folder.path().join("a"), "RM-RAN\n").unwrap();
            let is_seen = parts.iter().any(|part| part.redirects);
            prop_assert!(is_seen || !shell_says(&command, folder.path()), "{command:?} {parts:?}");
        }
    }

    /// The shell itself is asked which words it makes of a command.
    #[test]
    fn only_what_separates_words_in_a_shell_does_here(
        words in "[ab \t\r\u{b}\u{c}\u{a0}\u{2003}\u{3000}]{1,12}",
    ) {
        let folder = tempfile::tempdir().unwrap();
        let script = format!("for word in {words}; do echo \"<$word>\"; done");
        let output = shell(&script, folder.path());
        if let CommandParts::Clear(parts) = parts(&words) {
            let of_part = |part: &SimpleCommand| {
                let plain = part.plain.split(' ').filter(|word| !word.is_empty());
                plain.map(|word| format!("<{word}>\n")).collect::<String>()
            };
            let ours: String = parts.iter().map(of_part).collect();
            prop_assert_eq!(output, ours, "{:?}", words);
        }
    }
}

/// What bash prints when only the shell itself can do anything, in this folder.
fn shell(script: &str, folder: &std::path::Path) -> String {
    let output = std::process::Command::new("bash")
        // Set in the script: with the variable itself the shell would not be found either.
        .args(["-c", &format!("PATH=/nonexistent\n{script}")])
        .current_dir(folder)
        .env_clear()
        .stdin(std::process::Stdio::null())
        .output()
        .expect("these tests need bash");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn shell_says(script: &str, folder: &std::path::Path) -> bool {
    shell(script, folder).contains("RM-RAN")
}
