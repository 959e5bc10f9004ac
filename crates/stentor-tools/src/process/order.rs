//! What a supervisor is told: words over its connection, with the descriptors the program gets.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use stentor_agent::sandbox::{SandboxMode, UnknownSandboxMode};

use crate::sandbox::Restrictions;

/// A program that is to be run, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ProgramOrder {
    pub confines: Confinement,
    /// Whether what it started may stay when it ends.
    pub lingers: bool,
    /// It makes a group of its own, with the terminal it is given.
    pub is_terminal: bool,
    pub cwd: PathBuf,
    /// All its variables.
    pub environment: Vec<(OsString, OsString)>,
    pub program: OsString,
    pub arguments: Vec<OsString>,
}

/// What holds a program. A supervisor that has held one so can hold another so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Confinement {
    /// What it is held back from, if anything.
    pub restrictions: Option<Restrictions>,
    pub limits: ResourceLimits,
}

/// How much a command may use, with everything it starts. What is absent is not limited.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ResourceLimits {
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
    #[error("it is longer than {MAX_LENGTH} bytes")]
    TooLong,
    #[error("{0:?} contains a NUL character")]
    Nul(OsString),
}

/// The longest order. The kernel allows a program fewer bytes of arguments and variables.
const MAX_LENGTH: u32 = 64 << 20;

const PROCESSES: &str = "--processes";
const MEMORY: &str = "--memory";
const FILE: &str = "--file";
const LINGER: &str = "--linger";
const TERMINAL: &str = "--terminal";
const FREE: &str = "--free";
const MODE: &str = "--mode";
const NETWORK: &str = "--network";
const WRITABLE: &str = "--writable";
const UNREADABLE: &str = "--unreadable";
const FOLDER: &str = "--folder";
const VARIABLE: &str = "--variable";
const END: &str = "--";

/// The bytes for an order: the number of those that follow, then the words, each with its end.
pub(super) fn encode(order: &ProgramOrder) -> Result<Vec<u8>, InvalidOrder> {
    let mut bytes = vec![0; size_of::<u32>()];
    for word in words(order) {
        if word.as_bytes().contains(&0) {
            return Err(InvalidOrder::Nul(word));
        }
        bytes.extend_from_slice(word.as_bytes());
        bytes.push(0);
    }
    let length = u32::try_from(bytes.len() - size_of::<u32>()).unwrap_or(u32::MAX);
    let length = length_of(length.to_le_bytes())? as u32;
    let (beginning, _) = bytes.split_at_mut(size_of::<u32>());
    beginning.copy_from_slice(&length.to_le_bytes());
    Ok(bytes)
}

/// How many bytes follow these.
pub(super) fn length_of(bytes: [u8; size_of::<u32>()]) -> Result<usize, InvalidOrder> {
    match u32::from_le_bytes(bytes) {
        length @ ..=MAX_LENGTH => Ok(length as usize),
        _ => Err(InvalidOrder::TooLong),
    }
}

/// What the bytes behind the number say.
pub(super) fn decode(bytes: &[u8]) -> Result<ProgramOrder, InvalidOrder> {
    let words = bytes.strip_suffix(b"\0").unwrap_or(bytes);
    let words = words.split(|byte| *byte == 0);
    understand(words.map(|word| OsString::from_vec(word.to_vec())))
}

fn words(order: &ProgramOrder) -> Vec<OsString> {
    let ProgramOrder {
        confines: Confinement {
            restrictions,
            limits,
        },
        lingers,
        is_terminal,
        cwd,
        environment,
        program,
        arguments,
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
    if *is_terminal {
        words.push(TERMINAL.into());
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
    words.push(FOLDER.into());
    words.push(cwd.into());
    for (name, value) in environment {
        words.extend([VARIABLE.into(), name.clone(), value.clone()]);
    }
    words.extend([END.into(), program.clone()]);
    words.extend_from_slice(arguments);
    words
}

fn understand(words: impl IntoIterator<Item = OsString>) -> Result<ProgramOrder, InvalidOrder> {
    let mut words = words.into_iter();
    // What is not said is not allowed.
    let mut restrictions = Restrictions {
        mode: SandboxMode::ReadOnly,
        network: false,
        writable: Vec::new(),
        unreadable: Vec::new(),
    };
    let mut limits = ResourceLimits::default();
    let (mut lingers, mut is_terminal, mut is_free) = (false, false, false);
    let (mut cwd, mut environment) = (PathBuf::from("/"), Vec::new());
    loop {
        let word = words.next().ok_or(InvalidOrder::NoProgram)?;
        let mut value = |name| words.next().ok_or(InvalidOrder::NoValue(name));
        match word.to_str().unwrap_or_default() {
            END => break,
            PROCESSES => limits.processes = Some(number(PROCESSES, &value(PROCESSES)?)?),
            MEMORY => limits.memory_bytes = Some(number(MEMORY, &value(MEMORY)?)?),
            FILE => limits.file_bytes = Some(number(FILE, &value(FILE)?)?),
            LINGER => lingers = true,
            TERMINAL => is_terminal = true,
            FREE => is_free = true,
            MODE => restrictions.mode = value(MODE)?.to_string_lossy().parse()?,
            NETWORK => restrictions.network = true,
            WRITABLE => restrictions.writable.push(PathBuf::from(value(WRITABLE)?)),
            UNREADABLE => {
                let path = PathBuf::from(value(UNREADABLE)?);
                restrictions.unreadable.push(path);
            }
            FOLDER => cwd = PathBuf::from(value(FOLDER)?),
            VARIABLE => environment.push((value(VARIABLE)?, value(VARIABLE)?)),
            _ => return Err(InvalidOrder::Unknown(word)),
        }
    }
    let program = words.next().filter(|program| !program.is_empty());
    Ok(ProgramOrder {
        confines: Confinement {
            restrictions: (!is_free).then_some(restrictions),
            limits,
        },
        lingers,
        is_terminal,
        cwd,
        environment,
        program: program.ok_or(InvalidOrder::NoProgram)?,
        arguments: words.collect(),
    })
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
            (&["--variable", "A"], InvalidOrder::NoValue("--variable")),
            (
                &["--memory", "much", "--", "sh"],
                InvalidOrder::NoNumber("--memory"),
            ),
            (&["--", ""], InvalidOrder::NoProgram),
            (&["--network", "--"], InvalidOrder::NoProgram),
            (&["--network"], InvalidOrder::NoProgram),
            (&[], InvalidOrder::NoProgram),
        ] {
            assert_eq!(understand(words(list)), Err(expected), "{list:?}");
        }
    }

    #[test]
    fn without_a_word_nothing_is_allowed() {
        let order = understand(words(&["--", "sh", "-c", "--"])).unwrap();
        let restrictions = order.confines.restrictions.unwrap();
        assert_eq!(
            (restrictions.mode, restrictions.network),
            (SandboxMode::ReadOnly, false)
        );
        assert_eq!(order.program, "sh");
        assert_eq!(order.arguments, words(&["-c", "--"]));
        assert_eq!(order.environment, []);
    }

    #[test]
    fn an_order_that_is_too_long_is_refused_before_it_is_read() {
        assert_eq!(length_of(7_u32.to_le_bytes()), Ok(7));
        assert_eq!(length_of([0xff; 4]), Err(InvalidOrder::TooLong));
    }

    proptest! {
        #[test]
        fn what_is_told_is_what_is_understood(
            mode in 0usize..4,
            network: bool,
            writable in proptest::collection::vec("[-a-z/ =]{1,12}", 0..4),
            unreadable in proptest::collection::vec("[-a-z/ =]{1,12}", 0..4),
            arguments in proptest::collection::vec("[-a-z/ =]{0,12}", 0..4),
            variables in proptest::collection::vec(("[-a-zA-Z]{1,8}", "[-a-z/ =\n]{0,12}"), 0..4),
            processes: Option<u64>,
            file_bytes: Option<u64>,
            lingers: bool,
            is_terminal: bool,
        ) {
            let restrictions = SandboxMode::ALL.get(mode).map(|mode| Restrictions {
                mode: *mode,
                network,
                writable: writable.into_iter().map(PathBuf::from).collect(),
                unreadable: unreadable.into_iter().map(PathBuf::from).collect(),
            });
            let limits = ResourceLimits { processes, memory_bytes: None, file_bytes };
            let environment = variables.into_iter().map(|(name, value)| (name.into(), value.into()));
            let order = ProgramOrder {
                confines: Confinement { restrictions, limits },
                lingers,
                is_terminal,
                cwd: "/some/where".into(),
                environment: environment.collect(),
                program: "program".into(),
                arguments: arguments.into_iter().map(OsString::from).collect(),
            };
            let bytes = encode(&order).unwrap();
            let (length, words) = bytes.split_first_chunk().unwrap();
            prop_assert_eq!(length_of(*length), Ok(words.len()));
            prop_assert_eq!(decode(words), Ok(order));
        }
    }
}
