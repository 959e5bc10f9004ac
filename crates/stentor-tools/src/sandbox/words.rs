//! Restrictions as words of a command line, which is how the helper is told.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use stentor_agent::sandbox::{SandboxMode, UnknownSandboxMode};

use super::Restrictions;

/// Why the words of a helper were not understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidWords {
    #[error("unknown word {0:?}")]
    Unknown(OsString),
    #[error("{0} needs a value")]
    NoValue(&'static str),
    #[error(transparent)]
    Mode(#[from] UnknownSandboxMode),
    #[error("there is no program to run after `--`")]
    NoProgram,
}

const MODE: &str = "--mode";
const NETWORK: &str = "--network";
const WRITABLE: &str = "--writable";
const UNREADABLE: &str = "--unreadable";
const END: &str = "--";

/// The words for restrictions. The program and its arguments follow them.
pub(super) fn encode(restrictions: &Restrictions) -> Vec<OsString> {
    let Restrictions {
        mode,
        network,
        writable,
        unreadable,
    } = restrictions;
    let mut words: Vec<OsString> = vec![MODE.into(), mode.as_str().into()];
    if *network {
        words.push(NETWORK.into());
    }
    for (name, paths) in [(WRITABLE, writable), (UNREADABLE, unreadable)] {
        for path in paths {
            words.push(name.into());
            words.push(path.into());
        }
    }
    words.push(END.into());
    words
}

/// What the words of a helper say: the restrictions, the program and its arguments.
pub(super) fn decode(
    words: impl IntoIterator<Item = OsString>,
) -> Result<(Restrictions, OsString, Vec<OsString>), InvalidWords> {
    let mut words = words.into_iter();
    // What is not said is not allowed.
    let mut restrictions = Restrictions {
        mode: SandboxMode::ReadOnly,
        network: false,
        writable: Vec::new(),
        unreadable: Vec::new(),
    };
    loop {
        let word = words.next().ok_or(InvalidWords::NoProgram)?;
        if word == END {
            break;
        } else if word == MODE {
            let mode = words.next().ok_or(InvalidWords::NoValue(MODE))?;
            restrictions.mode = mode.to_string_lossy().parse()?;
        } else if word == NETWORK {
            restrictions.network = true;
        } else if word == WRITABLE {
            let path = words.next().ok_or(InvalidWords::NoValue(WRITABLE))?;
            restrictions.writable.push(PathBuf::from(path));
        } else if word == UNREADABLE {
            let path = words.next().ok_or(InvalidWords::NoValue(UNREADABLE))?;
            restrictions.unreadable.push(PathBuf::from(path));
        } else {
            return Err(InvalidWords::Unknown(word));
        }
    }
    match words.next() {
        Some(program) if program != OsStr::new("") => Ok((restrictions, program, words.collect())),
        Some(_) | None => Err(InvalidWords::NoProgram),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn words(list: &[&str]) -> Vec<OsString> {
        list.iter().map(OsString::from).collect()
    }

    #[test]
    fn what_is_not_understood_is_refused_and_not_guessed() {
        for (list, expected) in [
            (&["--mode"][..], InvalidWords::NoValue("--mode")),
            (
                &["--mode", "all", "--", "sh"],
                InvalidWords::Mode(UnknownSandboxMode("all".into())),
            ),
            (&["--mod", "off"], InvalidWords::Unknown("--mod".into())),
            (&["--writable"], InvalidWords::NoValue("--writable")),
            (&["--", ""], InvalidWords::NoProgram),
            (&["--network", "--"], InvalidWords::NoProgram),
            (&["--network"], InvalidWords::NoProgram),
            (&[], InvalidWords::NoProgram),
        ] {
            assert_eq!(decode(words(list)), Err(expected), "{list:?}");
        }
    }

    #[test]
    fn without_a_word_nothing_is_allowed() {
        let (restrictions, program, arguments) = decode(words(&["--", "sh", "-c", "--"])).unwrap();
        assert_eq!(
            (restrictions.mode, restrictions.network),
            (SandboxMode::ReadOnly, false)
        );
        assert_eq!(program, "sh");
        assert_eq!(arguments, words(&["-c", "--"]));
    }

    proptest! {
        #[test]
        fn what_is_told_is_what_is_understood(
            mode in 0usize..3,
            network: bool,
            writable in proptest::collection::vec("[-a-z/ =]{1,12}", 0..4),
            unreadable in proptest::collection::vec("[-a-z/ =]{1,12}", 0..4),
            arguments in proptest::collection::vec("[-a-z/ =]{0,12}", 0..4),
        ) {
            let restrictions = Restrictions {
                mode: SandboxMode::ALL[mode],
                network,
                writable: writable.into_iter().map(PathBuf::from).collect(),
                unreadable: unreadable.into_iter().map(PathBuf::from).collect(),
            };
            let arguments: Vec<OsString> = arguments.into_iter().map(OsString::from).collect();
            let mut words = encode(&restrictions);
            words.push("program".into());
            words.extend(arguments.clone());
            prop_assert_eq!(decode(words), Ok((restrictions, "program".into(), arguments)));
        }
    }
}
