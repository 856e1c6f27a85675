//! How long may a client take to read what it is sent? A client that reads nothing loses its connection, because it would
//! keep the place of another one.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

/// How long a client may read nothing while something is to be sent.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);

/// A connection whose writes fail when the client reads nothing.
pub(super) struct TimedSocket<S> {
    inner: S,
    /// When the write that waits fails.
    limit: Option<Pin<Box<Sleep>>>,
}

impl<S> TimedSocket<S> {
    pub(super) fn new(inner: S) -> Self {
        Self { inner, limit: None }
    }

    fn limited<T>(&mut self, polled: Poll<io::Result<T>>, context: &mut Context<'_>) -> Poll<io::Result<T>> {
        if polled.is_ready() {
            self.limit = None;
            return polled;
        }
        let limit = self.limit.get_or_insert_with(|| Box::pin(tokio::time::sleep(WRITE_TIMEOUT)));
        match limit.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for TimedSocket<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for TimedSocket<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.inner).poll_write(context, bytes);
        self.limited(polled, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.inner).poll_write_vectored(context, slices);
        self.limited(polled, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.inner).poll_flush(context);
        self.limited(polled, context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.inner).poll_shutdown(context);
        self.limited(polled, context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    #[tokio::test(start_paused = true)]
    async fn a_client_that_reads_nothing_loses_its_connection() {
        let (near, far) = tokio::io::duplex(8);
        let mut socket = TimedSocket::new(near);
        let error = socket.write_all(&[0; 9]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        drop(far);
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_reads_slowly_keeps_its_connection() {
        let (near, mut far) = tokio::io::duplex(8);
        let mut socket = TimedSocket::new(near);
        let writing = tokio::spawn(async move { socket.write_all(&[7; 80]).await });
        let mut byte = [0];
        for _ in 0..80 {
            tokio::time::sleep(WRITE_TIMEOUT / 2).await;
            far.read_exact(&mut byte).await.unwrap();
        }
        writing.await.unwrap().unwrap();
    }
}
