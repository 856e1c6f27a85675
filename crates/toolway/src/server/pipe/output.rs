//! Which bytes wait to be written to a pipe?

use std::io;

use bytes::Buf;
use tokio::io::{AsyncWrite, AsyncWriteExt};

use crate::ground::outbound::OutboundItem;
use crate::transport::frame::push_line;

/// The output that was not written to the peer yet.
#[derive(Default)]
pub(crate) struct OutputBuffer {
    pub(crate) buffer: Vec<u8>,
    written: usize,
    unflushed: bool,
}

impl OutputBuffer {
    pub(crate) fn push(&mut self, said: OutboundItem) {
        if let Some(frame) = said.into_frame() {
            push_line(&mut self.buffer, &frame);
        }
    }

    pub(crate) fn is_flushed(&self) -> bool {
        self.buffer.is_empty() && !self.unflushed
    }

    pub(crate) async fn write_all(&mut self, writer: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
        while !self.is_flushed() {
            self.write(writer).await?;
        }
        Ok(())
    }

    /// Writes some of the waiting bytes. Cancel safe: written bytes are removed immediately.
    pub(crate) async fn write(&mut self, writer: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
        if self.buffer.is_empty() {
            writer.flush().await?;
            self.unflushed = false;
            return Ok(());
        }
        let mut rest = &self.buffer[self.written..];
        writer.write_buf(&mut rest).await?;
        let left = rest.remaining();
        self.written = self.buffer.len() - left;
        self.unflushed = true;
        if left == 0 {
            self.buffer.clear();
            self.written = 0;
        }
        Ok(())
    }
}

/// Returns whether an error means that the peer has closed the pipe, which is a normal end.
pub(crate) fn is_disconnect(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionAborted
    )
}
