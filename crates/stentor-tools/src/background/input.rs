//! What is written to a command in the background.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use stentor_agent::jobs::{InputError, SentText};
use tokio::time::timeout;

use crate::process::InputStream;

/// How long a command may take to read what it is sent.
const LONGEST_WRITE: Duration = Duration::from_secs(5);

/// What is kept of what was written, to judge what follows together with it.
const KEPT_BYTES: usize = 32 * 1024;

/// What ends the input of a terminal.
const END_OF_INPUT: &[u8] = &[4];

/// The standard input of a command.
pub(super) struct CommandStdin {
    stream: Mutex<Option<InputStream>>,
    /// Whoever writes holds it, so that what two write does not mix.
    turn: tokio::sync::Mutex<()>,
    /// The end of what was written.
    written: Mutex<String>,
    /// It never had one.
    is_none: bool,
    is_terminal: bool,
}

impl CommandStdin {
    pub(super) fn new(stream: Option<InputStream>) -> Arc<Self> {
        Arc::new(Self {
            is_none: stream.is_none(),
            is_terminal: stream.as_ref().is_some_and(InputStream::is_terminal),
            stream: Mutex::new(stream),
            turn: tokio::sync::Mutex::default(),
            written: Mutex::default(),
        })
    }

    /// What was written so far.
    pub(super) fn sent(&self) -> SentText {
        let written = self.written.lock();
        SentText {
            text: written.unwrap_or_else(PoisonError::into_inner).clone(),
            is_terminal: self.is_terminal,
        }
    }

    /// Nothing more is written.
    pub(super) fn close(&self) {
        *self.stream.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    pub(super) async fn write(&self, text: &str, ends: bool) -> Result<(), InputError> {
        let _turn = self.turn.lock().await;
        let stream = {
            let stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner);
            stream.clone()
        };
        let stream = match (stream, self.is_none) {
            (Some(stream), _) => stream,
            (None, true) => return Err(InputError::None),
            (None, false) => return Err(InputError::Closed),
        };
        self.note(text);
        write_all(&stream, text.as_bytes()).await?;
        if ends {
            if stream.is_terminal() {
                return write_all(&stream, END_OF_INPUT).await;
            }
            self.close();
        }
        Ok(())
    }

    fn note(&self, text: &str) {
        let written = self.written.lock();
        let mut written = written.unwrap_or_else(PoisonError::into_inner);
        written.push_str(text);
        let over = written.len().saturating_sub(KEPT_BYTES);
        if over > 0 {
            let from = written.ceil_char_boundary(over);
            written.drain(..from);
        }
    }
}

async fn write_all(stream: &InputStream, bytes: &[u8]) -> Result<(), InputError> {
    let mut written = 0;
    let writing = async {
        while let Some(rest) = bytes.get(written..).filter(|rest| !rest.is_empty()) {
            match stream.write(rest).await {
                Ok(count) => written += count,
                Err(_) => return Err(InputError::Closed),
            }
        }
        Ok(())
    };
    match timeout(LONGEST_WRITE, writing).await {
        Ok(done) => done,
        Err(_) => Err(InputError::NotRead {
            written,
            length: bytes.len(),
        }),
    }
}
