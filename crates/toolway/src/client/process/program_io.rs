//! How does a program get the streams of a server unread, to pass them on?

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{self, AsyncRead, AsyncWrite, DuplexStream, ReadBuf, ReadHalf, WriteHalf};

use crate::client::wire::transport::Transport;
use crate::ground::error::Result;

/// The size in bytes of the buffers between the streams of a server and those that are passed on, one each way.
pub(super) const BUFFER: usize = 64 << 10;

/// A server that runs, with its stdin and stdout as streams of bytes. Made by
/// [`Command::spawn_io`](crate::client::Command::spawn_io).
///
/// Reading returns what the server writes to stdout, unchanged; what is written goes to its stdin. Shutting the writer
/// down closes stdin. Both ends of the streams tell that the server has ended. Dropping this value ends the server.
pub struct ServerProcess {
    reader: ReadHalf<DuplexStream>,
    writer: WriteHalf<DuplexStream>,
    handle: ProcessHandle,
}

/// Ends the server when it is dropped, and knows how it ended.
pub struct ProcessHandle(Box<dyn Transport>);

impl ServerProcess {
    pub(super) fn new(streams: DuplexStream, transport: impl Transport) -> Self {
        let (reader, writer) = io::split(streams);
        Self { reader, writer, handle: ProcessHandle(Box::new(transport)) }
    }

    /// Returns the two streams, and the handle that ends the server when it is dropped.
    pub fn into_parts(
        self,
    ) -> (impl AsyncRead + Send + Unpin + 'static, impl AsyncWrite + Send + Unpin + 'static, ProcessHandle)
    {
        (self.reader, self.writer, self.handle)
    }
}

impl ProcessHandle {
    /// Returns what is known about the server: whether and how it ended, and the last lines of its stderr.
    pub fn diagnosis(&self) -> String {
        self.0.diagnosis().unwrap_or_default()
    }

    /// Waits until the server's streams have ended, and its exit is known as far as the system tells.
    pub async fn ended(&self) {
        self.0.disconnected().await;
    }

    /// Closes the server's stdin and waits until it has ended. A server that does not end by itself is killed, as
    /// [`Command`](crate::client::Command) describes.
    ///
    /// # Errors
    ///
    /// When the system does not end the process in time.
    pub async fn close(self) -> Result<()> {
        self.0.close().await
    }
}

impl AsyncRead for ServerProcess {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.reader).poll_read(context, buffer)
    }
}

impl AsyncWrite for ServerProcess {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.writer).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.writer).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.writer).poll_shutdown(context)
    }
}

impl fmt::Debug for ServerProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerProcess").finish_non_exhaustive()
    }
}

impl fmt::Debug for ProcessHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProcessHandle").finish_non_exhaustive()
    }
}
