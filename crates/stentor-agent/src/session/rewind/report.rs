//! What going back to before a message did.

use std::fmt;
use std::str::FromStr;

/// What goes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RewindScope {
    Files,
    Conversation,
    Both,
}

/// What a rewind did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RewindReport {
    pub scope: RewindScope,
    /// The message it went back to before, and what it says; absent when a rewind was undone.
    pub message: Option<String>,
    pub text: Option<String>,
    /// Files that were put back.
    pub restored: Vec<String>,
    /// Files that were not, because somebody else has changed them since.
    pub changed: Vec<String>,
    /// Files that could not be put back, and why.
    pub lost: Vec<(String, String)>,
    /// What may have changed without anybody knowing.
    pub unknown: Vec<String>,
    /// Runs whose checkpoints are not here.
    pub missing_checkpoints: usize,
}

impl RewindScope {
    /// True when files go back.
    pub fn has_files(self) -> bool {
        self != Self::Conversation
    }

    /// True when the conversation goes back.
    pub fn has_conversation(self) -> bool {
        self != Self::Files
    }

    /// Its name, as it is recorded.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Files => "files",
            Self::Conversation => "conversation",
            Self::Both => "both",
        }
    }
}

impl FromStr for RewindScope {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let all = [Self::Files, Self::Conversation, Self::Both];
        all.into_iter()
            .find(|scope| scope.as_str() == text)
            .ok_or(())
    }
}

/// For people.
impl fmt::Display for RewindReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.scope {
            RewindScope::Files => "The files are",
            RewindScope::Conversation => "The conversation is",
            RewindScope::Both => "Files and conversation are",
        };
        let is_whole = self.changed.is_empty()
            && self.lost.is_empty()
            && self.unknown.is_empty()
            && self.missing_checkpoints == 0;
        match (&self.text, is_whole) {
            (Some(text), true) => write!(f, "{what} as before \"{}\".", shortened(text))?,
            (None, true) => write!(f, "{what} as before the last rewind.")?,
            (Some(text), false) => {
                let text = shortened(text);
                write!(f, "Not everything is as before \"{text}\".")?;
            }
            (None, false) => f.write_str("Not everything is as before the last rewind.")?,
        }
        if self.scope.has_files() && self.restored.is_empty() {
            f.write_str("\nNo file was changed.")?;
        }
        list(f, "Restored", &self.restored)?;
        list(f, "Left alone, because they changed since", &self.changed)?;
        if let (false, Some(id)) = (self.changed.is_empty(), &self.message) {
            write!(f, "\n/rewind {id} --files --force restores these, too.")?;
        }
        let lost = self
            .lost
            .iter()
            .map(|(path, why)| format!("{path} ({why})"));
        list(f, "Not restored", &lost.collect::<Vec<_>>())?;
        list(f, "Not known", &self.unknown)?;
        match self.missing_checkpoints {
            0 => {}
            1 => f.write_str("\nThe checkpoint of one run is not here: its changes stay.")?,
            count => write!(
                f,
                "\nThe checkpoints of {count} runs are not here: their changes stay."
            )?,
        }
        f.write_str("\n/rewind --undo goes back to how it was.")
    }
}

/// Paths of a kind that are named one by one.
const NAMED: usize = 20;

fn list(f: &mut fmt::Formatter<'_>, title: &str, items: &[String]) -> fmt::Result {
    if items.is_empty() {
        return Ok(());
    }
    let named: Vec<&str> = items.iter().take(NAMED).map(String::as_str).collect();
    write!(f, "\n{title}: {}", named.join(", "))?;
    match items.len().saturating_sub(NAMED) {
        0 => Ok(()),
        more => write!(f, " and {more} more"),
    }
}

/// The first line of a text, as far as it is short.
pub(super) fn shortened(text: &str) -> String {
    const LONGEST: usize = 60;
    let line = text.trim().lines().next().unwrap_or_default();
    match line.char_indices().nth(LONGEST) {
        Some((cut, _)) => format!("{}…", line.get(..cut).unwrap_or_default()),
        None => line.to_owned(),
    }
}
