//! Completions of values that only the program knows: session ids, models, providers, commands.
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
            let lines = script.split_inclusive('\n').map(zsh_line);
            let script: String = lines.collect();
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

/// Which function knows the values of what a line of zsh's script begins with.
const ZSH_VALUES: [(&str, &str); 9] = [
    ("'--model=", "_stentor_models"),
    ("'--provider=", "_stentor_providers"),
    ("'--login=", "_stentor_providers"),
    ("'(--no-session)--resume=", "_stentor_sessions"),
    ("':session -- The session", "_stentor_sessions"),
    ("'*::sessions -- ", "_stentor_sessions"),
    ("'::provider -- ", "_stentor_providers"),
    ("':provider -- ", "_stentor_providers"),
    ("'*::words -- The command", "_stentor_commands"),
];

fn zsh_line(line: &str) -> String {
    let known = ZSH_VALUES.iter().find(|(begin, _)| line.starts_with(begin));
    match known {
        Some((_, values)) => line.replace(":_default'", &format!(":{values}'")),
        None => line.to_owned(),
    }
}

const BASH: &str = r#"
_stentor_with_values() {
    local cur="${COMP_WORDS[COMP_CWORD]}" prev="${COMP_WORDS[COMP_CWORD-1]}" kind="" word="" line=""
    # The shell takes --model=x for three words.
    if [ "$cur" = "=" ]; then
        cur=""
    elif [ "$prev" = "=" ]; then
        prev="${COMP_WORDS[COMP_CWORD-2]}"
    fi
    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
        case "$word" in -*) ;; *) line="$line $word" ;; esac
    done
    case "$prev" in
        --model) kind=models ;;
        --provider|--login) kind=providers ;;
        --resume|--session) kind=sessions ;;
        *)
            case "$line" in
                *" login"|*" logout") kind=providers ;;
                *" export"|*" sessions rename"|*" sessions rewind"|*" sessions delete"*) kind=sessions ;;
                " help"*) kind="commands${line# help}" ;;
            esac
            case "$cur" in -*) kind="" ;; esac ;;
    esac
    if [ -n "$kind" ]; then
        # Not `compgen -W`: it runs the commands in its words, and servers name models.
        COMPREPLY=()
        while IFS= read -r word; do
            case "$word" in "$cur"*) COMPREPLY+=( "$(printf %q "$word")" ) ;; esac
        done < <(stentor __complete $kind 2>/dev/null | cut -f1)
        [ ${#COMPREPLY[@]} -gt 0 ] && return 0
    fi
    _stentor "$@"
}
complete -F _stentor_with_values -o nosort -o bashdefault -o default stentor 2>/dev/null \
    || complete -F _stentor_with_values -o bashdefault -o default stentor
"#;

const FISH: &str = r#"
complete -c stentor -l model -x -a '(stentor __complete models 2>/dev/null)'
complete -c stentor -l provider -x -a '(stentor __complete providers 2>/dev/null)'
complete -c stentor -l login -x -a '(stentor __complete providers 2>/dev/null)'
complete -c stentor -l resume -x -a '(stentor __complete sessions 2>/dev/null)'
complete -c stentor -n '__fish_seen_subcommand_from login logout' -f -a '(stentor __complete providers 2>/dev/null)'
complete -c stentor -n '__fish_seen_subcommand_from export rename rewind delete' -a '(stentor __complete sessions 2>/dev/null)'
complete -c stentor -n '__fish_seen_subcommand_from help' -f -a '(stentor __complete commands (commandline -opc)[3..] 2>/dev/null)'
"#;

const ZSH: &str = r#"_stentor_values() {
    local -a values
    values=(${(f)"$(stentor __complete "$@" 2>/dev/null | cut -f1)"})
    compadd -a values
}

_stentor_models() { _stentor_values models }

_stentor_providers() { _stentor_values providers }

_stentor_sessions() { _stentor_values sessions || _default }

_stentor_commands() { _stentor_values commands "${(@)words[1,CURRENT-1]}" }

"#;
