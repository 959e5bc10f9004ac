//! Every frame in a file, for people who look for what went wrong (annex B).

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use stentor_journal::clock::{Clock, SystemClock, iso_time};
use stentor_wire::edn::{self, EdnWriter, Keyword};

/// The file frames are appended to, one map each; or none.
#[derive(Clone)]
pub(super) struct Trace {
    file: Option<Arc<Mutex<File>>>,
}

/// Which way a frame goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    In,
    Out,
}

impl Trace {
    /// Opens the file. One that cannot be opened is a warning: the client should be served.
    pub fn open(path: Option<&Path>) -> Self {
        let file = path.and_then(|path| {
            let mut options = File::options();
            match options.append(true).create(true).open(path) {
                Ok(file) => Some(Arc::new(Mutex::new(file))),
                Err(error) => {
                    tracing::warn!(path = %path.display(), %error, "frames are not traced");
                    None
                }
            }
        });
        Self { file }
    }

    pub fn is_on(&self) -> bool {
        self.file.is_some()
    }

    /// Notes frames, each ended by a newline.
    pub fn note(&self, direction: Direction, frames: &[u8]) {
        let Some(file) = &self.file else {
            return;
        };
        let ts = iso_time(SystemClock.now_ms());
        let mut lines = Vec::new();
        for frame in String::from_utf8_lossy(frames).lines() {
            let parsed = edn::read_one(frame);
            EdnWriter::new(&mut lines).map(|line| {
                line.field("ts", &ts)
                    .field("dir", &Keyword(direction.as_str()))
                    .field("raw", frame);
                match &parsed {
                    Ok(value) => line
                        .field("frame", value)
                        .field("parse-error", &None::<&str>),
                    Err(error) => line
                        .field("frame", &None::<&str>)
                        .field("parse-error", &error.to_string()),
                };
            });
            lines.push(b'\n');
        }
        let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = file.write_all(&lines) {
            tracing::warn!(%error, "a frame could not be traced");
        }
    }
}

impl Direction {
    fn as_str(self) -> &'static str {
        match self {
            Self::In => "in",
            Self::Out => "out",
        }
    }
}
