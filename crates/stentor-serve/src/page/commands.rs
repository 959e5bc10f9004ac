//! What a browser asks for.

use serde::Deserialize;
use stentor_journal::message::ContentBlock;
use stentor_policy::PermissionAnswer;

use crate::picture::{self, NoPicture};

/// One line of a browser.
#[derive(Debug, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub(super) enum PageCommand {
    /// Shows the sessions.
    List,
    /// Shows a session.
    Open {
        session: String,
    },
    /// Starts a session, in a folder if one is named.
    New {
        #[serde(default)]
        cwd: Option<String>,
    },
    /// Starts a run; while one goes on, the message steers it.
    Prompt(PersonMessage),
    /// Queues a message for when the agent would stop.
    FollowUp(PersonMessage),
    /// Stops what runs.
    Abort,
    /// Takes all waiting messages back into the box.
    Unqueue,
    Model {
        value: String,
    },
    Thinking {
        value: String,
    },
    Mode {
        value: String,
    },
    /// Answers a permission question.
    Answer {
        id: u64,
        answer: PermissionAnswer,
    },
    /// Answers another question: with a value, with several, with a yes or no, or not at all.
    Reply {
        id: u64,
        #[serde(default)]
        value: Option<String>,
        #[serde(default)]
        yes: Option<String>,
        #[serde(default)]
        values: Option<Vec<String>>,
    },
    /// Shows where the session can be forked.
    Forks,
    /// Forks the session before one of its prompts, or at its end.
    Fork {
        #[serde(default)]
        entry: Option<String>,
    },
    Rename {
        value: String,
    },
}

/// What a person says.
#[derive(Debug, Deserialize)]
pub(super) struct PersonMessage {
    #[serde(default)]
    pub text: String,
    #[serde(default)]
    pictures: Vec<SentPicture>,
}

#[derive(Debug, Deserialize)]
struct SentPicture {
    #[serde(rename = "type")]
    mime_type: String,
    data: String,
}

impl PersonMessage {
    pub fn content(self) -> Result<Vec<ContentBlock>, NoPicture> {
        let text = Some(self.text).filter(|text| !text.trim().is_empty());
        let text = text.map(|text| Ok(ContentBlock::text(text)));
        let pictures = self.pictures.into_iter();
        let pictures = pictures.map(|sent| picture::sent(sent.data, sent.mime_type));
        text.into_iter().chain(pictures).collect()
    }
}
