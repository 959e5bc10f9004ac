//! What a browser is sent: pieces of the page and where they belong. Ids are ours, HTML is escaped by
//! who made it.

use serde::Serialize;

/// One line to a browser.
#[derive(Debug, Serialize)]
#[serde(tag = "op", rename_all = "lowercase")]
pub(super) enum Op<'a> {
    /// What an element contains.
    Set {
        id: &'a str,
        html: &'a str,
    },
    /// One more piece at the end of an element.
    Append {
        id: &'a str,
        html: &'a str,
    },
    /// Another piece in the place of an element; at the end of `within` if there is none.
    Replace {
        id: &'a str,
        within: &'a str,
        html: &'a str,
    },
    /// More text at the end of an element.
    Text {
        id: &'a str,
        text: &'a str,
    },
    Remove {
        id: &'a str,
    },
    /// What is known of the session besides its pieces.
    State(&'a PageState),
    /// Something a person should know.
    Notice {
        level: &'a str,
        text: &'a str,
    },
    /// What goes on, on one line. Empty: nothing.
    Status {
        text: &'a str,
    },
    /// Text for the box.
    Editor {
        text: &'a str,
    },
    /// The session is to be opened anew: it goes on from another place.
    Reload {
        session: &'a str,
    },
}

/// What the controls of the page depend on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(super) struct PageState {
    /// Absent when no session is shown.
    pub session: Option<String>,
    pub title: String,
    pub cwd: String,
    pub running: bool,
    /// The page only watches.
    pub observes: bool,
    pub model: String,
    pub thinking: String,
    pub mode: String,
}

impl Op<'_> {
    /// Appends the line.
    pub fn write(&self, lines: &mut Vec<u8>) {
        // It is all text and writing to memory does not fail.
        if serde_json::to_writer(&mut *lines, self).is_ok() {
            lines.push(b'\n');
        }
    }
}
