//! Completions of values that only the program knows: session ids and models.
//!
//! The scripts of `clap_complete` know the words of the command line. For ids and models they are
//! made to call `stentor __complete`.

use std::io::{self, Write};

use clap_complete::Shell;

/// Prints a value a line, each with what it is about.
pub fn print(
    values: impl Iterator<Item = (String, String)>,
    out: &mut impl Write,
) -> io::Result<()> {
    for (value, about) in values {
        writeln!(out, "{value}\t{about}")?;
    }
    Ok(())
}

/// A shell's script with the values added, where the shell can have them.
pub fn with_values(shell: Shell, script: String) -> String {
    match shell {
        Shell::Bash => script + BASH,
        Shell::Fish => script + FISH,
        Shell::Zsh => {
            let script = script.replace(":MODEL:_default", ":MODEL:_stentor_models");
            let script = script.replace(":ID|FILE:_default", ":ID|FILE:_stentor_sessions");
            let script = script.replace(":session:_default", ":session:_stentor_sessions");
            let script = script.replace(":sessions:_default", ":sessions:_stentor_sessions");
            // The last lines of the script start the completion; what it needs stands before.
            match script.find("_stentor() {") {
                Some(at) => {
                    let (before, after) = script.split_at(at);
                    format!("{before}{ZSH}{after}")
                }
                None => script,
            }
        }
        _ => script,
    }
}

const BASH: &str = r#"
_stentor_with_values() {
    local cur="${COMP_WORDS[COMP_CWORD]}" prev="${COMP_WORDS[COMP_CWORD-1]}" kind=""
    case "$prev" in
        --model) kind=models ;;
        --resume|--session|export|rename|delete) kind=sessions ;;
    esac
    if [ -n "$kind" ]; then
        COMPREPLY=( $(compgen -W "$(stentor __complete "$kind" 2>/dev/null | cut -f1)" -- "$cur") )
        [ ${#COMPREPLY[@]} -gt 0 ] && return 0
    fi
    _stentor "$@"
}
complete -F _stentor_with_values -o nosort -o bashdefault -o default stentor 2>/dev/null \
    || complete -F _stentor_with_values -o bashdefault -o default stentor
"#;

const FISH: &str = r#"
complete -c stentor -l model -x -a '(stentor __complete models 2>/dev/null)'
complete -c stentor -l resume -x -a '(stentor __complete sessions 2>/dev/null)'
complete -c stentor -n '__fish_seen_subcommand_from export rename delete' -a '(stentor __complete sessions 2>/dev/null)'
"#;

const ZSH: &str = r#"_stentor_models() {
    local -a values
    values=(${(f)"$(stentor __complete models 2>/dev/null | cut -f1)"})
    compadd -a values
}

_stentor_sessions() {
    local -a values
    values=(${(f)"$(stentor __complete sessions 2>/dev/null | cut -f1)"})
    compadd -a values || _default
}

"#;
