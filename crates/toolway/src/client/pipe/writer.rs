//! How is what waits written to a pipe?

use std::io;

use tokio::io::{AsyncWrite, AsyncWriteExt};

use crate::client::pipe::outbox::{Queued, Tell, WriteQueue};
use crate::client::pipe::state::PipeState;

/// Writes what is queued until nothing more is to be sent. A line that was begun is written to its end, and so is what is owed.
pub(crate) async fn write(
    mut writer: impl AsyncWrite + Unpin,
    pipe: &PipeState,
    mut queue: WriteQueue,
) -> io::Result<()> {
    loop {
        let queued = tokio::select! {
            biased;
            () = pipe.faded() => {
                queue.settle(&mut writer).await;
                break;
            }
            queued = queue.next() => queued,
        };
        let Some(Queued { line: text, id, tell }) = queued else { break };
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
        if let Some(id) = id {
            // Without the end of the line.
            pipe.note_sent(&id, text.len() - 1);
        }
        writer.write_all(&text).await?;
        writer.flush().await?;
        if let Some(done) = done {
            let _ = done.send(());
        }
    }
    writer.shutdown().await
}
