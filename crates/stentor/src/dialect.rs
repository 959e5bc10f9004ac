//! `stentor rpc --dialect NAME`: every dialect by its name.
//!
//! Three of them also have words of their own, by which frontends know them; naming one means
//! these words. What follows is read by the dialect, whose flags are its own.

use std::ffi::{OsStr, OsString};

use clap::ValueEnum;

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

impl Dialect {
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

#[cfg(test)]
mod tests {
    use super::*;

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
