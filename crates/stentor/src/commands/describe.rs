//! `stentor completions` and `stentor man`: the command line for shells and for `man`.

use std::io::{self, Write};

use clap_complete::Shell;

use crate::args::Args;

/// Prints the completions of a shell.
pub fn completions(shell: Shell, out: &mut impl Write) -> io::Result<()> {
    // The generator panics when its writer fails, and a closed pipe is no reason to panic.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Args::description(), "stentor", &mut script);
    out.write_all(&script)
}

/// Prints the manual page, the subcommands included.
pub fn manual(out: &mut impl Write) -> io::Result<()> {
    let command = Args::description();
    let page = clap_mangen::Man::new(command.clone());
    page.render(out)?;
    for subcommand in command.get_subcommands() {
        write_subcommand(subcommand, out)?;
    }
    Ok(())
}

/// A section for a subcommand: one page is easier to read than seven.
fn write_subcommand(subcommand: &clap::Command, out: &mut impl Write) -> io::Result<()> {
    let name = subcommand.get_name().to_owned();
    writeln!(out, ".SH \"STENTOR {}\"", name.to_uppercase())?;
    let mut own = subcommand.clone();
    let text = own.render_long_help().to_string();
    for line in text.lines() {
        // A line that begins with a dot or a quote would be a request, a backslash an escape.
        let line = line.replace('\\', "\\e").replace('-', "\\-");
        let guard = if line.starts_with(['.', '\'']) {
            "\\&"
        } else {
            ""
        };
        writeln!(out, "{guard}{line}\n.br")?;
    }
    Ok(())
}
