//! What going back to before a message did.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use stentor_text::visible::visible_name;

use super::command::REWIND;

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
    /// The same, for those that changed while only these jobs ran in the background: what somebody
    /// saved meanwhile is among them.
    pub restored_of_jobs: BTreeMap<String, Vec<String>>,
    /// Files that were not, because somebody else has changed them since.
    pub changed: Vec<String>,
    /// Files that could not be put back, and why.
    pub lost: Vec<(String, String)>,
    /// What may have changed without anybody knowing.
    pub unknown: Vec<String>,
    /// Jobs in the background that still run, and may change files again.
    pub running: Vec<String>,
    /// The commands that left something running, which may change files as well.
    pub left_running: Vec<String>,
    /// A command ran, and there are files that are not looked at because `.gitignore` lists them.
    pub has_ignored: bool,
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

/// How a person asks for a rewind, in the words of the place where they do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RewindWay {
    /// As a prompt.
    Slash,
    /// In a shell, for the session with this id.
    Shell { session: String },
}

impl fmt::Display for RewindWay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Slash => write!(f, "/{REWIND}"),
            Self::Shell { session } => write!(f, "stentor sessions rewind {session}"),
        }
    }
}

impl RewindReport {
    /// For people who asked for it in this way.
    pub fn told(&self, way: &RewindWay) -> String {
        let what = match self.scope {
            RewindScope::Files => "The files are",
            RewindScope::Conversation => "The conversation is",
            RewindScope::Both => "Files and conversation are",
        };
        let before = match &self.text {
            Some(text) => format!("\"{}\"", shortened(text)),
            None => "the last rewind".to_owned(),
        };
        let is_whole = self.changed.is_empty()
            && self.lost.is_empty()
            && self.unknown.is_empty()
            && self.missing_checkpoints == 0;
        let mut lines = vec![match is_whole {
            true => format!("{what} as before {before}."),
            false => format!("Not everything is as before {before}."),
        }];
        if self.scope.has_files() && self.restored.is_empty() && self.restored_of_jobs.is_empty() {
            lines.push(match is_whole && !self.is_something_running() {
                true if self.has_ignored => "No change was found.".to_owned(),
                true => "No file was changed.".to_owned(),
                false => "No file was restored.".to_owned(),
            });
        }
        lines.extend(listed("Restored", &self.restored));
        for (jobs, restored) in &self.restored_of_jobs {
            let title = format!("Restored, changed while {jobs} ran in the background");
            lines.extend(listed(&title, restored));
        }
        let title = "Left alone, because they changed since";
        lines.extend(listed(title, &self.changed));
        if let (false, Some(id)) = (self.changed.is_empty(), &self.message) {
            lines.push(format!("{way} {id} --files --force restores these, too."));
        }
        let lost = self.lost.iter();
        let lost = lost.map(|(path, why)| format!("{path} ({why})"));
        lines.extend(listed("Not restored", &lost.collect::<Vec<_>>()));
        let unknown = self.unknown.iter().take(NAMED);
        lines.extend(unknown.map(|what| format!("Not known: {}", visible_name(what))));
        if let more @ 1.. = self.unknown.len().saturating_sub(NAMED) {
            lines.push(format!("Not known: {more} more"));
        }
        if self.has_ignored {
            lines.push("Files that .gitignore lists were not looked at.".to_owned());
        }
        for job in &self.running {
            lines.push(format!(
                "{job} still runs: what it changes from now on is not undone."
            ));
        }
        let left = self.left_running.iter().take(NAMED);
        lines.extend(left.map(|command| {
            let command = shortened(command);
            format!(
                "A process of \"{command}\" still runs: what it changes after that command is not \
                 undone."
            )
        }));
        if let more @ 1.. = self.left_running.len().saturating_sub(NAMED) {
            lines.push(format!("Processes of {more} more commands still run."));
        }
        match self.missing_checkpoints {
            0 => {}
            1 => lines.push("The checkpoint of one run is not here: its changes stay.".to_owned()),
            count => lines.push(format!(
                "The checkpoints of {count} runs are not here: their changes stay."
            )),
        }
        lines.push(format!("{way} --undo goes back to how it was."));
        lines.join("\n")
    }

    fn is_something_running(&self) -> bool {
        !self.running.is_empty() || !self.left_running.is_empty()
    }
}

/// Paths of a kind that are named one by one.
const NAMED: usize = 20;

fn listed(title: &str, items: &[String]) -> Option<String> {
    if items.is_empty() {
        return None;
    }
    let named: Vec<&str> = items.iter().take(NAMED).map(String::as_str).collect();
    let named = named.join(", ");
    Some(match items.len().saturating_sub(NAMED) {
        0 => format!("{title}: {named}"),
        more => format!("{title}: {named} and {more} more"),
    })
}

/// The first line of a text, as far as it is short.
pub(in crate::session) fn shortened(text: &str) -> String {
    const LONGEST: usize = 60;
    let line = text.trim().lines().next().unwrap_or_default();
    match line.char_indices().nth(LONGEST) {
        Some((cut, _)) => format!("{}…", line.get(..cut).unwrap_or_default()),
        None => line.to_owned(),
    }
}
