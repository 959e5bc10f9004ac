//! A server as a program of this machine, spoken to through its pipes.

use std::io;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::sync::watch;

use crate::process::Group;

/// How much of what a program says on stderr is kept.
const LAST_WORDS_BYTES: usize = 4096;
/// How long to wait for the last words of a program that has just failed.
const LAST_WORDS_WAIT: Duration = Duration::from_millis(500);

/// A program that runs. Dropping it kills its process group.
pub(super) struct Program {
    last_words: LastWords,
    // Killed before the child is let go of.
    _group: Group,
    _child: Child,
}

impl Program {
    pub fn last_words(&self) -> LastWords {
        self.last_words.clone()
    }
}

/// Starts a program in `cwd`.
pub(super) fn start(
    program: &Path,
    args: &[String],
    env: &[(String, String)],
    cwd: &Path,
) -> io::Result<(Program, (ChildStdout, ChildStdin))> {
    let mut command = Command::new(program);
    command
        .args(args)
        .envs(env.iter().map(|(name, value)| (name, value)))
        .current_dir(cwd)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let (mut child, group) = Group::start_program(command)?;
    let missing = || io::Error::other("it has no pipes");
    let output = child.stdout.take().ok_or_else(missing)?;
    let input = child.stdin.take().ok_or_else(missing)?;
    let errors = child.stderr.take().ok_or_else(missing)?;
    let last_words = LastWords::default();
    tokio::spawn(last_words.clone().listen(errors));
    let program = Program {
        last_words,
        _group: group,
        _child: child,
    };
    Ok((program, (output, input)))
}

/// The end of what a program said on stderr, for whoever wonders why it failed.
#[derive(Clone)]
pub(super) struct LastWords {
    text: Arc<Mutex<Vec<u8>>>,
    is_over: watch::Sender<bool>,
}

impl Default for LastWords {
    fn default() -> Self {
        Self {
            text: Arc::default(),
            is_over: watch::Sender::new(false),
        }
    }
}

impl LastWords {
    /// ` It said: …`, or nothing.
    pub fn told(&self) -> String {
        let bytes = self.text.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(&bytes);
        match text.trim() {
            "" => String::new(),
            text => format!(" It said: {text}"),
        }
    }

    /// The same when the program has said all it will, or has had time enough.
    pub async fn told_at_end(&self) -> String {
        let mut over = self.is_over.subscribe();
        let all = over.wait_for(|over| *over);
        // Whatever came of the waiting, what was said is told.
        let _ = tokio::time::timeout(LAST_WORDS_WAIT, all).await;
        self.told()
    }

    async fn listen(self, mut errors: ChildStderr) {
        let mut chunk = [0; 1024];
        while let Ok(read @ 1..) = errors.read(&mut chunk).await {
            let mut text = self.text.lock().unwrap_or_else(PoisonError::into_inner);
            text.extend_from_slice(chunk.get(..read).unwrap_or_default());
            let extra = text.len().saturating_sub(LAST_WORDS_BYTES);
            text.drain(..extra);
        }
        self.is_over.send_replace(true);
    }
}
