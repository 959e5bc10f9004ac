//! `stentor rpc --dialect NAME`: every dialect by its name.
//!
//! Three of them also have words of their own, by which frontends know them; naming one means
//! these words. What follows is read by the dialect, whose flags are its own.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use clap::ValueEnum;
use stentor_serve::omp::OmpArgs;

/// The protocols a frontend can speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Dialect {
    /// The synaps bridge: JSON lines
    Synaps,
    /// psi's Emacs frontend: EDN; the same as `stentor --rpc-edn`
    Psi,
    /// omp and pi: JSON lines; the same as `stentor --mode rpc`
    Omp,
    /// The Agent Client Protocol: JSON-RPC; the same as `stentor acp`
    Acp,
}

/// The words by which a frontend was started: its dialect and the flags of that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invocation {
    pub dialect: Dialect,
    pub args: Vec<OsString>,
}

impl Dialect {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Synaps => "synaps",
            Self::Psi => "psi",
            Self::Omp => "omp",
            Self::Acp => "acp",
        }
    }

    /// The words that mean it.
    fn words(self) -> &'static [&'static str] {
        match self {
            Self::Synaps => &["rpc"],
            Self::Psi => &["--rpc-edn"],
            Self::Omp => &["--mode", "rpc"],
            Self::Acp => &["acp"],
        }
    }
}

/// Flags of `stentor rpc` whose value may look like a flag.
const WITH_ANY_VALUE: [&str; 5] = ["--system", "-s", "--model", "-m", "--profile"];

/// The words of a command line with the dialect they name said in its own words. Others stay as
/// they are, also those that name a dialect there is not: who reads them says so.
pub fn in_own_words(words: Vec<OsString>) -> Vec<OsString> {
    if words.get(1).is_none_or(|word| word != "rpc") {
        return words;
    }
    let mut said = words.iter();
    let (program, _) = (said.next(), said.next());
    let mut dialect = None;
    let mut rest: Vec<&OsString> = Vec::new();
    while let Some(word) = said.next() {
        let text = word.to_str().unwrap_or_default();
        let name = match text.strip_prefix("--dialect=") {
            Some(name) => Some(OsStr::new(name)),
            None if text == "--dialect" => said.next().map(OsString::as_os_str),
            None => {
                rest.push(word);
                if WITH_ANY_VALUE.contains(&text) {
                    rest.extend(said.next());
                }
                continue;
            }
        };
        let known = name.and_then(OsStr::to_str);
        match known.map(|name| Dialect::from_str(name, false)) {
            // The last counts.
            Some(Ok(named)) => dialect = Some(named),
            Some(Err(_)) | None => return words,
        }
    }
    let Some(dialect) = dialect else {
        return words;
    };
    let own = dialect.words().iter().map(OsString::from);
    let program = program.cloned().into_iter();
    program
        .chain(own)
        .chain(rest.into_iter().cloned())
        .collect()
}

/// What is to be served by a server, and on which socket that listens if one is named. `None` when
/// the words do not ask for that, or not for a frontend. The words are in the dialect's own.
pub fn split_attach(words: &[OsString]) -> Option<(Invocation, Option<PathBuf>)> {
    let at = attach_flag(words)?;
    let named = words.get(at)?.to_str()?.strip_prefix("--attach=");
    let socket = named.filter(|socket| !socket.is_empty()).map(PathBuf::from);
    let mut rest: Vec<OsString> = words.to_vec();
    rest.remove(at);
    let asks_for_help = |word: &OsString| word == "--help" || word == "-h" || word == "--version";
    if rest.iter().any(asks_for_help) {
        return None;
    }
    let args = rest.get(1..)?;
    let is_psi = args.iter().any(|word| word == "--rpc-edn");
    let (dialect, args) = match args.split_first() {
        _ if is_psi => (Dialect::Psi, args),
        Some((first, flags)) if first == "acp" => (Dialect::Acp, flags),
        Some((first, flags)) if first == "rpc" => (Dialect::Synaps, flags),
        _ if OmpArgs::are_meant(args) => (Dialect::Omp, args),
        _ => return None,
    };
    let args = args.to_vec();
    Some((Invocation { dialect, args }, socket))
}

fn attach_flag(words: &[OsString]) -> Option<usize> {
    let is_value = |at: usize| {
        let before = words.get(at.checked_sub(1)?)?.to_str()?;
        WITH_ANY_VALUE.contains(&before).then_some(())
    };
    let mut flags = words.iter().enumerate().skip(1);
    let (at, _) = flags.find(|(at, word)| {
        let text = word.to_str().unwrap_or_default();
        (text == "--attach" || text.starts_with("--attach=")) && is_value(*at).is_none()
    })?;
    Some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flag_that_asks_for_a_server_is_taken_out_of_the_words() {
        let split = |text: &str| text.split(' ').map(OsString::from).collect::<Vec<_>>();
        for (said, dialect, flags, socket) in [
            ("s acp --attach --model m", Dialect::Acp, "--model m", None),
            (
                "s --rpc-edn --attach=/s -v",
                Dialect::Psi,
                "--rpc-edn -v",
                Some("/s"),
            ),
            ("s rpc --attach= -s x", Dialect::Synaps, "-s x", None),
            ("s --attach --mode rpc", Dialect::Omp, "--mode rpc", None),
        ] {
            let (invocation, named) = split_attach(&split(said)).unwrap();
            let args = split(flags);
            assert_eq!(invocation, Invocation { dialect, args }, "{said}");
            assert_eq!(named, socket.map(PathBuf::from), "{said}");
        }
        for said in [
            "s acp",
            "s acp --attach --help",
            "s -p --attach",
            "s rpc --system --attach",
            "s",
        ] {
            assert_eq!(split_attach(&split(said)), None, "{said}");
        }
    }

    #[test]
    fn a_dialect_that_is_named_is_said_in_its_own_words() {
        for (said, meant) in [
            ("s rpc --dialect acp --model m", "s acp --model m"),
            (
                "s rpc --model m --dialect=omp -v",
                "s --mode rpc --model m -v",
            ),
            ("s rpc --dialect psi --cwd /x", "s --rpc-edn --cwd /x"),
            ("s rpc --dialect synaps --system x", "s rpc --system x"),
            // The last counts.
            ("s rpc --dialect omp --dialect acp", "s acp"),
            // What is somebody's value is not a flag.
            (
                "s rpc --system --dialect acp",
                "s rpc --system --dialect acp",
            ),
            (
                "s rpc --system --dialect --dialect acp",
                "s acp --system --dialect",
            ),
            // Left to who knows what to say about it.
            ("s rpc --dialect klingon", "s rpc --dialect klingon"),
            ("s rpc --dialect", "s rpc --dialect"),
            ("s rpc", "s rpc"),
            ("s -p rpc --dialect acp", "s -p rpc --dialect acp"),
            ("s", "s"),
        ] {
            let split = |text: &str| text.split(' ').map(OsString::from).collect::<Vec<_>>();
            assert_eq!(in_own_words(split(said)), split(meant), "{said}");
        }
    }
}
