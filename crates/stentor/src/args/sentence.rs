//! A prompt in the place of a command.

use std::ffi::OsString;

use clap::Parser;
use clap::error::{ContextKind, ContextValue};

use super::Args;

/// Reads the command line. A sentence in the place of a command is a prompt.
pub fn parse(words: &[OsString]) -> Result<Args, clap::Error> {
    let error = match Args::with_one_command(words).or_else(|_| Args::try_parse_from(words)) {
        Ok(args) => return Ok(args),
        Err(error) => error,
    };
    let Some(ContextValue::String(first)) = error.get(ContextKind::InvalidSubcommand) else {
        return Err(error);
    };
    let place = words
        .iter()
        .skip(1)
        .position(|word| word.to_str() == Some(first));
    let Some(place) = place.map(|place| place + 1) else {
        return Err(error);
    };
    let rest = words.get(place..).unwrap_or_default();
    let said = rest.iter().map_while(|word| word.to_str());
    let said: Vec<&str> = said.take_while(|word| !word.starts_with('-')).collect();
    // One word is a misspelt command, unless it is a file.
    if said.len() == 1 && !first.contains(char::is_whitespace) && !first.starts_with('@') {
        let asking = format!("to ask it: stentor -p {}", quoted(first));
        return Err(with_tip(error, asking));
    }
    let prompt = OsString::from(format!("--print={}", said.join(" ")));
    let before = words.get(..place).unwrap_or_default();
    let after = rest.get(said.len()..).unwrap_or_default();
    let words = before
        .iter()
        .cloned()
        .chain([prompt])
        .chain(after.iter().cloned());
    Args::try_parse_from(words)
}

/// The error with what to type instead, below what clap itself suggests.
fn with_tip(mut error: clap::Error, tip: String) -> clap::Error {
    let mut tips = match error.remove(ContextKind::Suggested) {
        Some(ContextValue::StyledStrs(tips)) => tips,
        _ => Vec::new(),
    };
    tips.push(tip.into());
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
    error
}

/// A word in quotes for a shell.
fn quoted(word: &str) -> String {
    match word.contains(['"', '$', '`', '\\', '!']) {
        true => format!("'{}'", word.replace('\'', r"'\''")),
        false => format!("\"{word}\""),
    }
}
