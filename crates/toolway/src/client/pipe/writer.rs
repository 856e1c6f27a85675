//! How are queued messages written to a pipe?

use std::io;

use tokio::io::{AsyncWrite, AsyncWriteExt};

use crate::client::pipe::outbox::{QueuedLine, WriteQueue, WriteSignals};
use crate::client::pipe::state::PipeState;

/// Writes queued messages until sending stops. Then completes the current line, writes the owed messages (see
/// `outbox.rs`), and closes the stream.
pub(crate) async fn write(
    mut writer: impl AsyncWrite + Unpin,
    pipe: &PipeState,
    mut queue: WriteQueue,
) -> io::Result<()> {
    loop {
        let queued = tokio::select! {
            biased;
            () = pipe.sending_stopped() => {
                queue.flush_priority(&mut writer, pipe.recorder.as_ref()).await;
                break;
            }
            queued = queue.next() => queued,
        };
        let Some(QueuedLine { line: text, id, signals: tell }) = queued else { break };
        let done = match tell {
            Some(WriteSignals { begun, done }) => {
                if begun.send(()).is_err() {
                    // The sender has withdrawn the line.
                    continue;
                }
                Some(done)
            }
            None => None,
        };
        if let Some(id) = id {
            // The length does not include the line break.
            pipe.note_sent(&id, text.len() - 1);
        }
        if let Some(recorder) = &pipe.recorder {
            recorder.record_out(&text[..text.len() - 1]);
        }
        writer.write_all(&text).await?;
        writer.flush().await?;
        if let Some(done) = done {
            let _ = done.send(());
        }
    }
    writer.shutdown().await
}
