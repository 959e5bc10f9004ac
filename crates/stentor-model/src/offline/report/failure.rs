//! What to say when a tool failed: what happened, and what might help.

use super::markdown::{code, fenced};
use super::rule_name;
use crate::offline::act::Exchange;
use crate::offline::intent::Intent;

const MAX_OUTPUT_LINES: usize = 40;

/// A failed call that was not a command of the user.
pub fn report(intent: &Intent, exchange: &Exchange) -> String {
    let text = exchange.text();
    let said = text.trim();
    let said = if said.is_empty() {
        "no reason given"
    } else {
        said
    };
    let what = format!("That did not work ({}).", rule_name(intent));
    let said = if said.lines().count() > 1 {
        format!("\n\n{}", fenced(said, "text", MAX_OUTPUT_LINES))
    } else {
        format!(" The tool said: {said}")
    };
    match suggestion(intent, &text) {
        Some(suggestion) => format!("{what}{said}\n\n{suggestion}"),
        None => format!("{what}{said}"),
    }
}

/// A failed command.
pub fn command(command: &str, text: &str) -> String {
    let text = text.trim_end();
    let status = exit_code(text);
    let failed = match status {
        Some(status) => format!("{} failed with exit code {status}.", code(command)),
        None => format!("{} did not succeed.", code(command)),
    };
    let output = match text.rsplit_once("Command exited with code") {
        Some((output, _)) => output.trim_end(),
        None => text,
    };
    let shown = if output.is_empty() || output == "(no output)" {
        String::new()
    } else {
        format!("\n\n{}", fenced(output, "text", MAX_OUTPUT_LINES))
    };
    let hint = match status {
        Some(127) => Some("The program was not found: is it installed and spelled correctly?"),
        Some(126) => Some("The file is there but may not be executed: `chmod +x` would allow it."),
        Some(137 | 143) => Some("It was killed, perhaps because it took too much time or memory."),
        Some(_) if is_held_back(output) => Some(HELD_BACK),
        _ if text.to_lowercase().contains("timed out") => {
            Some("It took too long. A shorter command, or one in the background, may do.")
        }
        None if is_denied(text) => Some(DENIED),
        _ => None,
    };
    match hint {
        Some(hint) => format!("{failed}{shown}\n\n{hint}"),
        None => format!("{failed}{shown}"),
    }
}

const DENIED: &str = "The permission mode of this session does not allow it. Change it with \
                      `--permission-mode` or the configuration, or let the client ask you.";

const HELD_BACK: &str = "The system did not let the command do that: the file's own permissions \
                         are in the way, or the sandbox of this session. `stentor permissions` \
                         shows what applies.";

fn suggestion(intent: &Intent, text: &str) -> Option<String> {
    let lower = text.to_lowercase();
    let missing = ["no such file", "not found", "enoent", "does not exist"]
        .iter()
        .any(|words| lower.contains(words));
    // The system's own words, not those of the permission policy.
    if lower.contains("os error 13") || lower.contains("eacces") {
        return Some("The system does not let this user do that.".to_owned());
    }
    // A command with an exit code was allowed to run.
    match exit_code(text) {
        Some(_) if is_held_back(text) => return Some(HELD_BACK.to_owned()),
        None if is_denied(text) => return Some(DENIED.to_owned()),
        _ => {}
    }
    match intent {
        Intent::Replace { path, .. }
            if lower.contains("could not find") || lower.contains("no match") =>
        {
            Some(format!(
                "The text must be in the file exactly like that, spaces included. `read {path}` shows what is there."
            ))
        }
        Intent::Read { path, .. }
        | Intent::SummariseFile { path }
        | Intent::Replace { path, .. }
        | Intent::Append { path, .. }
            if missing =>
        {
            let name = path.rsplit('/').next().unwrap_or(path);
            Some(format!(
                "`find files named {name}` looks for it in all folders."
            ))
        }
        Intent::List { .. } | Intent::Search { .. } | Intent::FindFiles { .. } if missing => {
            Some("`list` shows which folders there are.".to_owned())
        }
        _ => None,
    }
}

/// Whether a command that ran says that the system stopped it.
fn is_held_back(output: &str) -> bool {
    let lower = output.to_lowercase();
    ["permission denied", "operation not permitted"]
        .iter()
        .any(|words| lower.contains(words))
}

/// Whether a call was not allowed to begin.
fn is_denied(text: &str) -> bool {
    let lower = text.to_lowercase();
    ["not allowed", "denied", "rejected", "refused by"]
        .iter()
        .any(|words| lower.contains(words))
}

fn exit_code(text: &str) -> Option<i32> {
    let (_, after) = text.rsplit_once("exited with code ")?;
    let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_command_tells_its_code_output_and_what_may_help() {
        assert_eq!(
            command(
                "nope",
                "sh: nope: not found\n\nCommand exited with code 127"
            ),
            "`nope` failed with exit code 127.\n\n```text\nsh: nope: not found\n```\n\nThe program was not found: is it installed and spelled correctly?"
        );
        assert_eq!(
            command("false", "(no output)\n\nCommand exited with code 1"),
            "`false` failed with exit code 1."
        );
        assert!(command("ls", "The user denied the call").contains("permission mode"));
    }

    #[test]
    fn a_command_that_the_system_held_back_is_no_matter_of_the_permission_mode() {
        assert_eq!(
            command(
                "echo hello > ~/x",
                "bash: line 1: /home/x: Permission denied\n\nCommand exited with code 1"
            ),
            format!(
                "`echo hello > ~/x` failed with exit code 1.\n\n```text\nbash: line 1: /home/x: Permission denied\n```\n\n{HELD_BACK}"
            )
        );
        for text in [
            "ssh: access denied for you\n\nCommand exited with code 255",
            "rejected\n\nCommand exited with code 1",
            "find: /root: Permission denied\n\nCommand timed out after 10 seconds",
        ] {
            let said = command("x", text);
            assert!(!said.contains("permission mode"), "{said}");
        }
        let intent = Intent::List { path: None };
        let said = suggestion(
            &intent,
            "ls: Permission denied\n\nCommand exited with code 2",
        );
        assert_eq!(said.as_deref(), Some(HELD_BACK));
    }
}
