//! What is written, and what not any more?

use std::io;

use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::{mpsc, oneshot};

use super::line::Line;
use crate::transport::frame::push_line;

/// A line that waits to be written, and whom to tell.
pub(in crate::client) struct Queued {
    line: Vec<u8>,
    /// Answers to questions of the server have nobody who could take them back.
    tell: Option<Tell>,
}

struct Tell {
    begun: oneshot::Sender<()>,
    done: oneshot::Sender<()>,
}

/// What its sender knows of a line.
pub(super) struct Ticket {
    begun: oneshot::Receiver<()>,
    done: oneshot::Receiver<()>,
}

impl Queued {
    /// A line that is not written if its ticket is dropped before.
    pub(super) fn new(frame: &[u8]) -> (Self, Ticket) {
        let (begun, has_begun) = oneshot::channel();
        let (done, is_done) = oneshot::channel();
        let queued = Self { tell: Some(Tell { begun, done }), ..Self::unasked(frame) };
        (queued, Ticket { begun: has_begun, done: is_done })
    }

    /// A line that is written in any case.
    pub(super) fn unasked(frame: &[u8]) -> Self {
        let mut line = Vec::with_capacity(frame.len() + 1);
        push_line(&mut line, frame);
        Self { line, tell: None }
    }
}

impl Ticket {
    /// Waits until writing begins; `false` if it never will.
    pub(super) async fn begun(&mut self) -> bool {
        (&mut self.begun).await.is_ok()
    }

    /// Sees to it that writing does not begin any more; `true` if it has.
    pub(super) fn take_back(&mut self) -> bool {
        self.begun.close();
        self.begun.try_recv().is_ok()
    }

    /// Waits until it is written; `false` if it could not be.
    pub(super) async fn done(&mut self) -> bool {
        (&mut self.done).await.is_ok()
    }
}

/// Writes what is queued until nothing more is to be sent. A line that was begun is written to its end.
pub(in crate::client) async fn say(
    mut writer: impl AsyncWrite + Unpin,
    line: &Line,
    mut queue: mpsc::Receiver<Queued>,
) -> io::Result<()> {
    loop {
        let queued = tokio::select! {
            biased;
            () = line.faded() => break,
            queued = queue.recv() => queued,
        };
        let Some(Queued { line, tell }) = queued else { break };
        let done = match tell {
            Some(Tell { begun, done }) => {
                if begun.send(()).is_err() {
                    // Its sender has given up.
                    continue;
                }
                Some(done)
            }
            None => None,
        };
        writer.write_all(&line).await?;
        writer.flush().await?;
        if let Some(done) = done {
            let _ = done.send(());
        }
    }
    writer.shutdown().await
}
