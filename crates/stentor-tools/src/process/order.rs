//! What a supervisor is told, as words of its command line.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use stentor_agent::sandbox::{SandboxMode, UnknownSandboxMode};

use crate::sandbox::Restrictions;

/// How a program is to be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Order {
    /// What it is held back from, if anything.
    pub restrictions: Option<Restrictions>,
    pub limits: Limits,
    /// Whether what it started may stay when it ends.
    pub lingers: bool,
}

/// How much a command may use, with everything it starts. What is absent is not limited.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Limits {
    pub processes: Option<u64>,
    /// Memory that is really in use, all processes together.
    pub memory_bytes: Option<u64>,
    /// The longest file it may write.
    pub file_bytes: Option<u64>,
}

/// Why the words of a supervisor were not understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidOrder {
    #[error("unknown word {0:?}")]
    Unknown(OsString),
    #[error("{0} needs a value")]
    NoValue(&'static str),
    #[error("{0} needs a number")]
    NoNumber(&'static str),
    #[error(transparent)]
    Mode(#[from] UnknownSandboxMode),
    #[error("there is no program to run after `--`")]
    NoProgram,
}

const PROCESSES: &str = "--processes";
const MEMORY: &str = "--memory";
const FILE: &str = "--file";
const LINGER: &str = "--linger";
const FREE: &str = "--free";
const MODE: &str = "--mode";
const NETWORK: &str = "--network";
const WRITABLE: &str = "--writable";
const UNREADABLE: &str = "--unreadable";
const END: &str = "--";

/// The words for an order. The program and its arguments follow them.
pub(super) fn encode(order: &Order) -> Vec<OsString> {
    let Order {
        restrictions,
        limits,
        lingers,
    } = order;
    let mut words: Vec<OsString> = Vec::new();
    for (name, value) in [
        (PROCESSES, limits.processes),
        (MEMORY, limits.memory_bytes),
        (FILE, limits.file_bytes),
    ] {
        if let Some(value) = value {
            words.push(name.into());
            words.push(value.to_string().into());
        }
    }
    if *lingers {
        words.push(LINGER.into());
    }
    match restrictions {
        None => words.push(FREE.into()),
        Some(Restrictions {
            mode,
            network,
            writable,
            unreadable,
        }) => {
            words.push(MODE.into());
            words.push(mode.as_str().into());
            if *network {
                words.push(NETWORK.into());
            }
            for (name, paths) in [(WRITABLE, writable), (UNREADABLE, unreadable)] {
                for path in paths {
                    words.push(name.into());
                    words.push(path.into());
                }
            }
        }
    }
    words.push(END.into());
    words
}

/// What the words of a supervisor say: the order, the program and its arguments.
pub(super) fn decode(
    words: impl IntoIterator<Item = OsString>,
) -> Result<(Order, OsString, Vec<OsString>), InvalidOrder> {
    let mut words = words.into_iter();
    // What is not said is not allowed.
    let mut restrictions = Restrictions {
        mode: SandboxMode::ReadOnly,
        network: false,
        writable: Vec::new(),
        unreadable: Vec::new(),
    };
    let mut limits = Limits::default();
    let (mut lingers, mut is_free) = (false, false);
    loop {
        let word = words.next().ok_or(InvalidOrder::NoProgram)?;
        let mut value = |name| words.next().ok_or(InvalidOrder::NoValue(name));
        match word.to_str().unwrap_or_default() {
            END => break,
            PROCESSES => limits.processes = Some(number(PROCESSES, &value(PROCESSES)?)?),
            MEMORY => limits.memory_bytes = Some(number(MEMORY, &value(MEMORY)?)?),
            FILE => limits.file_bytes = Some(number(FILE, &value(FILE)?)?),
            LINGER => lingers = true,
            FREE => is_free = true,
            MODE => restrictions.mode = value(MODE)?.to_string_lossy().parse()?,
            NETWORK => restrictions.network = true,
            WRITABLE => restrictions.writable.push(PathBuf::from(value(WRITABLE)?)),
            UNREADABLE => {
                let path = PathBuf::from(value(UNREADABLE)?);
                restrictions.unreadable.push(path);
            }
            _ => return Err(InvalidOrder::Unknown(word)),
        }
    }
    let order = Order {
        restrictions: (!is_free).then_some(restrictions),
        limits,
        lingers,
    };
    match words.next() {
        Some(program) if program != OsStr::new("") => Ok((order, program, words.collect())),
        Some(_) | None => Err(InvalidOrder::NoProgram),
    }
}

fn number(name: &'static str, word: &OsStr) -> Result<u64, InvalidOrder> {
    let number = word.to_str().and_then(|word| word.parse().ok());
    number.ok_or(InvalidOrder::NoNumber(name))
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
            (&["--mode"][..], InvalidOrder::NoValue("--mode")),
            (
                &["--mode", "all", "--", "sh"],
                InvalidOrder::Mode(UnknownSandboxMode("all".into())),
            ),
            (&["--mod", "off"], InvalidOrder::Unknown("--mod".into())),
            (&["--writable"], InvalidOrder::NoValue("--writable")),
            (
                &["--memory", "much", "--", "sh"],
                InvalidOrder::NoNumber("--memory"),
            ),
            (&["--", ""], InvalidOrder::NoProgram),
            (&["--network", "--"], InvalidOrder::NoProgram),
            (&["--network"], InvalidOrder::NoProgram),
            (&[], InvalidOrder::NoProgram),
        ] {
            assert_eq!(decode(words(list)), Err(expected), "{list:?}");
        }
    }

    #[test]
    fn without_a_word_nothing_is_allowed() {
        let (order, program, arguments) = decode(words(&["--", "sh", "-c", "--"])).unwrap();
        let restrictions = order.restrictions.unwrap();
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
            mode in 0usize..4,
            network: bool,
            writable in proptest::collection::vec("[-a-z/ =]{1,12}", 0..4),
            unreadable in proptest::collection::vec("[-a-z/ =]{1,12}", 0..4),
            arguments in proptest::collection::vec("[-a-z/ =]{0,12}", 0..4),
            processes: Option<u64>,
            file_bytes: Option<u64>,
            lingers: bool,
        ) {
            let restrictions = SandboxMode::ALL.get(mode).map(|mode| Restrictions {
                mode: *mode,
                network,
                writable: writable.into_iter().map(PathBuf::from).collect(),
                unreadable: unreadable.into_iter().map(PathBuf::from).collect(),
            });
            let limits = Limits { processes, memory_bytes: None, file_bytes };
            let order = Order { restrictions, limits, lingers };
            let arguments: Vec<OsString> = arguments.into_iter().map(OsString::from).collect();
            let mut words = encode(&order);
            words.push("program".into());
            words.extend(arguments.clone());
            prop_assert_eq!(decode(words), Ok((order, "program".into(), arguments)));
        }
    }
}
