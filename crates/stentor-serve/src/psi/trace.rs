//! Every frame in a file, for people who look for what went wrong (annex B).

use std::fs::File;
use std::io::Write;
use std::path::Path;

use stentor_journal::clock::{Clock, SystemClock, iso_time};
use stentor_wire::edn::{self, EdnWriter, Keyword};
use tokio::sync::{mpsc, oneshot};

/// How many notes may wait for the disk. Who has one more waits with them.
const WAITING_NOTES: usize = 64;

/// The file frames are appended to, one map each; or none. A thread reads and writes them: both may
/// take long.
#[derive(Clone)]
pub(super) struct Trace {
    notes: Option<mpsc::Sender<TracedFrames>>,
}

/// Ends when everything is written, once every [`Trace`] is gone.
pub(super) struct TraceEnd(Option<oneshot::Receiver<()>>);

/// Frames that went one way together.
struct TracedFrames {
    at_ms: u64,
    direction: Keyword<'static>,
    /// Each ended by a newline.
    frames: Vec<u8>,
}

/// The ways that frames go.
pub(super) const IN: Keyword<'static> = Keyword("in");
pub(super) const OUT: Keyword<'static> = Keyword("out");

impl Trace {
    /// Opens the file. One that cannot be opened is a warning: the client should be served.
    pub fn open(path: Option<&Path>) -> (Self, TraceEnd) {
        let started = path.and_then(|path| {
            let started = start(path);
            started
                .inspect_err(|error| {
                    tracing::warn!(path = %path.display(), %error, "frames are not traced");
                })
                .ok()
        });
        let (notes, end) = started.unzip();
        (Self { notes }, TraceEnd(end))
    }

    pub fn is_on(&self) -> bool {
        self.notes.is_some()
    }

    /// Notes frames, each ended by a newline.
    pub async fn note(&self, direction: Keyword<'static>, frames: &[u8]) {
        let Some(notes) = &self.notes else {
            return;
        };
        let note = TracedFrames {
            at_ms: SystemClock.now_ms(),
            direction,
            frames: frames.to_vec(),
        };
        // The thread outlives its queue.
        let _ = notes.send(note).await;
    }
}

impl TraceEnd {
    pub async fn wait(self) {
        if let Some(end) = self.0 {
            // It says nothing: it is dropped with the thread.
            let _ = end.await;
        }
    }
}

fn start(path: &Path) -> std::io::Result<(mpsc::Sender<TracedFrames>, oneshot::Receiver<()>)> {
    let mut file = File::options().append(true).create(true).open(path)?;
    let (sender, mut notes) = mpsc::channel::<TracedFrames>(WAITING_NOTES);
    let (ended, end) = oneshot::channel::<()>();
    let write = move || {
        while let Some(note) = notes.blocking_recv() {
            if let Err(error) = file.write_all(&note.lines()) {
                tracing::warn!(%error, "a frame could not be traced");
            }
        }
        drop(ended);
    };
    std::thread::Builder::new()
        .name("trace".to_owned())
        .spawn(write)?;
    Ok((sender, end))
}

impl TracedFrames {
    fn lines(&self) -> Vec<u8> {
        let ts = iso_time(self.at_ms);
        let mut lines = Vec::new();
        for frame in String::from_utf8_lossy(&self.frames).lines() {
            let parsed = edn::read_one(frame);
            EdnWriter::new(&mut lines).map(|line| {
                line.field("ts", &ts)
                    .field("dir", &self.direction)
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
        lines
    }
}
