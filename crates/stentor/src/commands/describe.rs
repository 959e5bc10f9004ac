//! The command line described: completions, manual pages, help, and the reference in the docs.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;

use clap_complete::Shell;
use stentor_text::spelling::nearest;

use crate::args::Args;
use crate::commands::complete::with_values;

/// Prints the completions of a shell.
pub fn completions(shell: Shell, out: &mut impl Write) -> io::Result<()> {
    // The generator panics when its writer fails, and a closed pipe is no reason to panic.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Args::description(), "stentor", &mut script);
    let script = String::from_utf8_lossy(&script).into_owned();
    out.write_all(with_values(shell, script).as_bytes())
}

/// Prints the manual page of the program, with a section for every command.
pub fn manual(out: &mut impl Write) -> io::Result<()> {
    clap_mangen::Man::new(Args::description()).render(out)?;
    for (name, command) in all_commands().into_iter().skip(1) {
        writeln!(out, ".SH \"{}\"", name.to_uppercase())?;
        for line in text_of(command, true).lines() {
            // A line that begins with a dot or a quote would be a request, a backslash an escape.
            let line = line.replace('\\', "\\e").replace('-', "\\-");
            let guard = if line.starts_with(['.', '\'']) {
                "\\&"
            } else {
                ""
            };
            writeln!(out, "{guard}{line}\n.br")?;
        }
    }
    Ok(())
}

/// Writes the manual pages of the program and of every command into a folder. Returns their names.
pub fn manuals(folder: &Path) -> io::Result<Vec<String>> {
    std::fs::create_dir_all(folder)?;
    let mut written = Vec::new();
    for (name, command) in all_commands() {
        let file = format!("{}.1", name.replace(' ', "-"));
        let mut page = Vec::new();
        let named = command.display_name(name.replace(' ', "-"));
        clap_mangen::Man::new(named).render(&mut page)?;
        std::fs::write(folder.join(&file), page)?;
        written.push(file);
    }
    Ok(written)
}

/// Why there is no help about something.
#[derive(Debug, thiserror::Error)]
#[error("there is no command `{name}`{hint} `stentor help` lists them")]
pub struct NoSuchCommand {
    name: String,
    hint: String,
}

/// The help of the command these words name; of the program without words.
pub fn help(words: &[String]) -> Result<String, NoSuchCommand> {
    let name = [&["stentor".to_owned()], words].concat().join(" ");
    let mut all = all_commands();
    let known = all.iter().position(|(known, _)| *known == name);
    match known.map(|at| all.swap_remove(at).1) {
        Some(command) => Ok(text_of(command, words.is_empty())),
        None => {
            let wanted = words.join(" ");
            let names = all
                .iter()
                .filter_map(|(name, _)| name.strip_prefix("stentor "));
            let near = nearest(&wanted, names);
            Err(NoSuchCommand {
                hint: near.map_or(";".to_owned(), |near| format!("; did you mean `{near}`?")),
                name: wanted,
            })
        }
    }
}

/// The commands in the one that these words name, each with what it is for.
pub fn commands_in(words: &[String]) -> Vec<(String, String)> {
    let mut command = Args::description();
    for word in words {
        match command.find_subcommand(word).cloned() {
            Some(part) => command = part,
            None => return Vec::new(),
        }
    }
    let parts = command.get_subcommands().filter(|part| !part.is_hide_set());
    let named = parts.map(|part| {
        let about = part.get_about().map(ToString::to_string);
        (part.get_name().to_owned(), about.unwrap_or_default())
    });
    named.collect()
}

/// The help of the command a command line names, whatever else is in it.
pub fn help_of_line(words: &[OsString]) -> Option<String> {
    let mut named: Vec<String> = Vec::new();
    let mut command = Args::description();
    for word in words.iter().skip(1).filter_map(|word| word.to_str()) {
        if let Some(part) = command.find_subcommand(word).cloned() {
            named.push(part.get_name().to_owned());
            command = part;
        }
    }
    help(&named).ok().filter(|_| !named.is_empty())
}

/// Its own flags only: those of the program are the same everywhere.
fn text_of(command: clap::Command, is_program: bool) -> String {
    // The same on every terminal, so that the reference can be compared.
    let text = command.term_width(100).render_long_help().to_string();
    match is_program {
        true => text,
        false => format!(
            "{text}\nThe flags of `stentor` itself work here, too: `stentor --help` lists them.\n"
        ),
    }
}

/// The reference of the command line: the help of every command, in Markdown. It is checked in as
/// `docs/cli.md`.
#[cfg(test)]
fn reference() -> String {
    let mut text = String::from(
        "# Command line\n\nThe help of every command, as the program prints it. Flags of `stentor` \
         itself also work after a command.\n",
    );
    for (name, command) in all_commands() {
        let help = text_of(command, true);
        let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
        text.push_str(&format!(
            "\n## `{name}`\n\n```text\n{}\n```\n",
            lines.join("\n").trim_end()
        ));
    }
    text
}

/// The program and every command in it, by the words that call them.
fn all_commands() -> Vec<(String, clap::Command)> {
    let mut all = Vec::new();
    collect("stentor", Args::description(), &mut all);
    all
}

fn collect(name: &str, command: clap::Command, all: &mut Vec<(String, clap::Command)>) {
    let parts: Vec<clap::Command> = command.get_subcommands().cloned().collect();
    all.push((name.to_owned(), command.bin_name(name)));
    for part in parts.into_iter().filter(|part| !part.is_hide_set()) {
        let name = format!("{name} {}", part.get_name());
        collect(&name, part, all);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reference_in_the_documentation_is_current() {
        expect_test::expect_file!["../../../../docs/cli.md"].assert_eq(&reference());
    }
}
