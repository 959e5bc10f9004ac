//! The one owner of a client's pipe or socket: it writes what waits, as much as there is, in one go.
//! Something else looks whether anybody reads, so that a reader that goes away is noticed also when
//! there is nothing to write.
//!
//! stdout has threads for both ([`thread`]); a client of a server has tasks, since there may be many
//! ([`task`]).

mod giving_up;
mod task;
mod thread;

use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use tokio::net::UnixStream;
use tokio::net::unix::OwnedWriteHalf;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// Bytes that may wait for the pipe. Who writes more waits; one frame at a time may go over it.
pub const WAITING_BYTES: usize = 256 * 1024;

/// Frames larger than this are rare and take much memory: the next are made when they are in the
/// pipe, and their buffer is given back.
const LARGE_BYTES: usize = 1024 * 1024;

/// The way to a client. Clones write to the same pipe; a frame is never torn apart.
#[derive(Clone)]
pub struct Output {
    shared: Arc<OutputShared>,
}

struct OutputShared {
    state: Mutex<OutputState>,
    writer: OutputWriter,
    /// Tells writers that there is room, that all is written, or that the pipe is closed.
    progress: Notify,
    /// Ends when the client is given up because it keeps others waiting.
    given_up: CancellationToken,
}

/// What writes, and how it is told that something waits.
enum OutputWriter {
    Thread(Condvar),
    Task(Notify),
}

/// What there is for the writer to do.
enum WriterWork<'a> {
    /// The buffer is to be written.
    Write,
    /// Nothing, until it is told otherwise.
    Sleep(MutexGuard<'a, OutputState>),
    /// Nothing any more.
    End,
}

#[derive(Default)]
struct OutputState {
    waiting: Vec<u8>,
    /// Bytes that were handed over, all told.
    handed_over: u64,
    /// Bytes of those that are in the pipe.
    written: u64,
    /// Bytes the writer has in hand that are not all in the pipe yet.
    writing_bytes: usize,
    /// How often the client took something, all told.
    taken: u64,
    writer_sleeps: bool,
    closed: bool,
    finished: bool,
}

/// The reader closed the pipe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the reader closed the pipe")]
pub struct Closed;

impl Output {
    /// Starts the threads that own `target`.
    pub fn write_to(target: OwnedFd) -> io::Result<Self> {
        let writer = OutputWriter::Thread(Condvar::new());
        let shared = OutputShared::new(writer, CancellationToken::new());
        thread::start(&shared, target)?;
        Ok(Self { shared })
    }

    /// Starts the tasks that own the half of a socket. `watched` is another handle of that socket;
    /// `given_up` is cancelled when the client is given up because it keeps others waiting.
    pub fn write_to_socket(
        target: OwnedWriteHalf,
        watched: UnixStream,
        given_up: CancellationToken,
    ) -> Self {
        let shared = OutputShared::new(OutputWriter::Task(Notify::new()), given_up);
        task::start(&shared, target, watched);
        Self { shared }
    }

    /// Hands over complete frames, their line ends included. Waits while too much is queued.
    pub async fn send(&self, frames: &[u8]) -> Result<(), Closed> {
        loop {
            let told = self.shared.progress.notified();
            tokio::pin!(told);
            told.as_mut().enable();
            if self.try_send(frames)? {
                return Ok(());
            }
            told.await;
        }
    }

    /// The same with a buffer that is empty afterwards: it is moved and not copied. What is large
    /// is in the pipe when this returns, so that its sender does not make more of the kind.
    pub async fn send_all(&self, frames: &mut Vec<u8>) -> Result<(), Closed> {
        let is_large = frames.len() > LARGE_BYTES;
        self.take_all(frames).await?;
        if is_large {
            self.written().await?;
        }
        Ok(())
    }

    async fn take_all(&self, frames: &mut Vec<u8>) -> Result<(), Closed> {
        loop {
            let told = self.shared.progress.notified();
            tokio::pin!(told);
            told.as_mut().enable();
            if let Some(mut state) = self.shared.with_room_for(frames.len())? {
                state.handed_over += frames.len() as u64;
                if state.waiting.is_empty() {
                    std::mem::swap(&mut state.waiting, frames);
                } else {
                    state.waiting.extend_from_slice(frames);
                    frames.clear();
                }
                self.shared.wake(state);
                return Ok(());
            }
            told.await;
        }
    }

    /// Hands over complete frames if there is room. False: there is none.
    pub fn try_send(&self, frames: &[u8]) -> Result<bool, Closed> {
        let Some(mut state) = self.shared.with_room_for(frames.len())? else {
            return Ok(false);
        };
        state.waiting.extend_from_slice(frames);
        state.handed_over += frames.len() as u64;
        self.shared.wake(state);
        Ok(true)
    }

    /// Waits until everything handed over is in the pipe, or the pipe is closed.
    pub async fn flush(&self) -> Result<(), Closed> {
        self.until(|state| state.waiting.is_empty() && state.writing_bytes == 0)
            .await
    }

    /// Waits until what was handed over so far is in the pipe.
    pub async fn written(&self) -> Result<(), Closed> {
        let so_far = self.shared.lock().handed_over;
        self.until(|state| state.written >= so_far).await
    }

    /// Waits until the reader closes the pipe.
    pub async fn closed(&self) {
        self.until(|_| false).await.ok();
    }

    /// Ends the writer once everything is written. What is sent later is refused.
    pub async fn finish(&self) {
        self.flush().await.ok();
        let mut state = self.shared.lock();
        state.finished = true;
        state.closed = true;
        drop(state);
        self.shared.writer.wake();
    }

    async fn until(&self, holds: impl Fn(&OutputState) -> bool) -> Result<(), Closed> {
        loop {
            let told = self.shared.progress.notified();
            tokio::pin!(told);
            told.as_mut().enable();
            {
                let state = self.shared.lock();
                if holds(&state) {
                    return Ok(());
                }
                if state.closed {
                    return Err(Closed);
                }
            }
            told.await;
        }
    }
}

impl OutputWriter {
    fn wake(&self) {
        match self {
            Self::Thread(work) => work.notify_one(),
            Self::Task(work) => work.notify_one(),
        }
    }
}

impl OutputShared {
    fn new(writer: OutputWriter, given_up: CancellationToken) -> Arc<Self> {
        Arc::new(Self {
            given_up,
            state: Mutex::default(),
            writer,
            progress: Notify::new(),
        })
    }

    /// The state, if so many bytes may be added to what waits. Of frames that are larger than all
    /// that may wait there is one at a time, the one in the writer's hand included.
    fn with_room_for(&self, bytes: usize) -> Result<Option<MutexGuard<'_, OutputState>>, Closed> {
        let state = self.lock();
        if state.closed {
            return Err(Closed);
        }
        let fits = state.waiting.len() + bytes <= WAITING_BYTES;
        let is_alone = state.waiting.is_empty() && state.writing_bytes <= WAITING_BYTES;
        Ok((fits || is_alone).then_some(state))
    }

    /// Something waits.
    fn wake(&self, mut state: MutexGuard<'_, OutputState>) {
        if std::mem::take(&mut state.writer_sleeps) {
            drop(state);
            self.writer.wake();
        }
    }

    /// Nobody reads any more.
    fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        state.finished = true;
        state.waiting = Vec::new();
        drop(state);
        self.writer.wake();
        self.progress.notify_waiters();
    }

    /// Puts what waits into the buffer of the writer, whose content it has written.
    fn next_work(&self, in_hand: &mut Vec<u8>) -> WriterWork<'_> {
        let mut state = self.lock();
        state.written += in_hand.len() as u64;
        state.taken += 1;
        state.writing_bytes = 0;
        in_hand.clear();
        if in_hand.capacity() > LARGE_BYTES {
            *in_hand = Vec::new();
        }
        if state.waiting.is_empty() {
            if state.finished {
                return WriterWork::End;
            }
            self.progress.notify_waiters();
            state.writer_sleeps = true;
            return WriterWork::Sleep(state);
        }
        state.writer_sleeps = false;
        std::mem::swap(&mut state.waiting, in_hand);
        state.writing_bytes = in_hand.len();
        drop(state);
        // There is room again, and what was in hand before is written.
        self.progress.notify_waiters();
        WriterWork::Write
    }

    /// A write failed.
    fn failed(&self, error: &io::Error) {
        if error.kind() != io::ErrorKind::BrokenPipe {
            tracing::warn!(%error, "stdout failed; continuing as if it had been closed");
        }
        self.lock().writing_bytes = 0;
        self.close();
    }

    fn lock(&self) -> MutexGuard<'_, OutputState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Read;

    use super::*;

    /// One that a thread writes, and one that a task writes.
    fn outputs() -> [(File, Output); 2] {
        let (reader, writer) = rustix::pipe::pipe().unwrap();
        let piped = (File::from(reader), Output::write_to(writer).unwrap());
        let (reader, writer) = std::os::unix::net::UnixStream::pair().unwrap();
        writer.set_nonblocking(true).unwrap();
        let watched = UnixStream::from_std(writer.try_clone().unwrap()).unwrap();
        let (_, target) = UnixStream::from_std(writer).unwrap().into_split();
        let output = Output::write_to_socket(target, watched, CancellationToken::new());
        [piped, (File::from(OwnedFd::from(reader)), output)]
    }

    #[tokio::test]
    async fn frames_arrive_whole_and_in_order() {
        for (mut reader, output) in outputs() {
            let reading = tokio::task::spawn_blocking(move || {
                let mut text = String::new();
                reader.read_to_string(&mut text).unwrap();
                text
            });
            let mut expected = String::new();
            for n in 0..10_000 {
                let frame = format!("{{\"frame\":{n}}}\n");
                output.send(frame.as_bytes()).await.unwrap();
                expected.push_str(&frame);
            }
            output.finish().await;
            assert_eq!(reading.await.unwrap(), expected);
        }
    }

    #[tokio::test]
    async fn a_sleeping_reader_makes_the_writer_wait_instead_of_growing() {
        for (mut reader, output) in outputs() {
            let frame = vec![b'x'; 1000];
            let mut sent = 0;
            while output.try_send(&frame).unwrap() {
                sent += frame.len();
                tokio::task::yield_now().await;
                assert!(sent < 4 * WAITING_BYTES, "nothing stops the writer");
            }
            let mut waits = Box::pin(output.send(&frame));
            assert!(futures_util::poll!(&mut waits).is_pending());
            let reading = tokio::task::spawn_blocking(move || {
                let mut bytes = Vec::new();
                reader.read_to_end(&mut bytes).unwrap();
                bytes.len()
            });
            waits.await.unwrap();
            output.finish().await;
            assert_eq!(reading.await.unwrap(), sent + frame.len());
        }
    }

    #[tokio::test]
    async fn a_frame_larger_than_the_queue_still_goes_out() {
        for (mut reader, output) in outputs() {
            let reading = tokio::task::spawn_blocking(move || {
                let mut bytes = Vec::new();
                reader.read_to_end(&mut bytes).unwrap();
                bytes.len()
            });
            let huge = vec![b'x'; 3 * WAITING_BYTES];
            output.send(&huge).await.unwrap();
            output.finish().await;
            assert_eq!(reading.await.unwrap(), huge.len());
        }
    }

    #[tokio::test]
    async fn a_reader_that_goes_away_is_noticed_though_nothing_is_written() {
        for (reader, output) in outputs() {
            drop(reader);
            output.closed().await;
            assert_eq!(output.send(b"y\n").await, Err(Closed));
        }
    }

    #[tokio::test]
    async fn a_closed_pipe_is_told_to_writers_and_watchers() {
        for (reader, output) in outputs() {
            drop(reader);
            output.send(b"x\n").await.ok();
            output.closed().await;
            assert_eq!(output.send(b"y\n").await, Err(Closed));
        }
    }
}
