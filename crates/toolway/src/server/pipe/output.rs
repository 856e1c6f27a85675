//! Which bytes wait to be written to a pipe?

use std::io;
use std::sync::Arc;

use bytes::Buf;
use tokio::io::{AsyncWrite, AsyncWriteExt};

use crate::ground::budget::{Account, Charge, Resource};
use crate::ground::outbound::OutboundItem;
use crate::transport::frame::push_line;

/// The output that was not written to the peer yet.
#[derive(Default)]
pub(crate) struct OutputBuffer {
    pub(crate) buffer: Vec<u8>,
    written: usize,
    unflushed: bool,
    /// The account of the peer.
    pub(crate) account: Option<Arc<Account>>,
    /// The charge to the memory of the buffer.
    charge: Option<Charge>,
}

impl OutputBuffer {
    pub(crate) fn push(&mut self, said: OutboundItem) {
        if let Some(frame) = said.into_frame() {
            push_line(&mut self.buffer, &frame.bytes);
            match (&mut self.charge, frame.charge) {
                (Some(charge), Some(more)) => charge.merge(more),
                (None, more) => self.charge = more,
                (Some(_), None) => (),
            }
        }
    }

    /// Charges the memory for an answer beside the waiting bytes. Returns whether there is room.
    pub(crate) fn charge(&mut self, bytes: usize) -> bool {
        let needed = self.buffer.len() + bytes;
        match (&mut self.charge, &self.account) {
            (Some(charge), _) => charge.resize(needed).is_ok(),
            (None, Some(account)) => {
                self.charge = account.charge(Resource::Replies, needed).ok();
                self.charge.is_some()
            }
            (None, None) => true,
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
            self.charge = None;
            // Nearly all streams do this at once, and then the pipe waits once less.
            writer.flush().await?;
            self.unflushed = false;
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
