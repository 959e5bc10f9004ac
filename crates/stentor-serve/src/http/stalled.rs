//! Ends a connection whose client takes nothing any more.
//!
//! Whatever is written on a connection, an answer, events or the frames of a WebSocket, waits for a
//! client that is connected and reads nothing. No dialect notices that: its own end may be over long
//! since. So the connection itself has a limit.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

use super::limits;

/// A stream on which writing fails when nothing was taken for [`limits::SILENCE`].
pub(super) struct StallLimited<S> {
    stream: S,
    /// While something waits to be taken: when that was enough.
    limit: Option<Pin<Box<Sleep>>>,
}

impl<S> StallLimited<S> {
    pub fn new(stream: S) -> Self {
        Self {
            stream,
            limit: None,
        }
    }

    /// What became of an attempt to write.
    fn tried<T>(
        &mut self,
        tried: Poll<io::Result<T>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        if tried.is_ready() {
            self.limit = None;
            return tried;
        }
        let limit = self
            .limit
            .get_or_insert_with(|| Box::pin(sleep(limits::SILENCE)));
        ready!(limit.as_mut().poll(context));
        let why = "the client took nothing for too long";
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, why)))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for StallLimited<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for StallLimited<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let tried = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.tried(tried, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let tried = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.tried(tried, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
    use tokio::time::Instant;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn who_takes_something_now_and_then_is_waited_for_and_who_takes_nothing_is_not() {
        let (near, mut far) = duplex(8);
        let mut near = StallLimited::new(near);
        let began = Instant::now();
        let slow = async {
            for _ in 0..4 {
                sleep(limits::SILENCE / 2).await;
                far.read_exact(&mut [0; 8]).await.unwrap();
            }
        };
        let (written, ()) = tokio::join!(near.write_all(&[1; 40]), slow);
        written.unwrap();
        assert_eq!(began.elapsed(), limits::SILENCE * 2);
        let ended = near.write_all(&[1; 8]).await.unwrap_err();
        assert_eq!(ended.kind(), io::ErrorKind::TimedOut);
        assert_eq!(began.elapsed(), limits::SILENCE * 3);
    }
}
