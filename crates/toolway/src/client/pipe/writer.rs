//! How are queued messages written to a pipe?

use std::io;

use tokio::io::{AsyncWrite, AsyncWriteExt};

use crate::client::pipe::outbox::{LineSender, QueuedLine, WriteQueue, WriteSignals};
use crate::client::pipe::state::PipeState;

/// Writes queued messages until sending stops. Then completes the current line, writes the owed messages (see
/// `outbox.rs`), and closes the stream.
pub(crate) async fn write(
    mut writer: impl AsyncWrite + Unpin,
    pipe: &PipeState,
    mut queue: WriteQueue,
) -> io::Result<()> {
    while let Some(QueuedLine { line, sender }) = queue.next().await {
        // The length does not include the line break.
        let frame = &line[..line.len() - 1];
        let (is_wanted, done) = match sender {
            LineSender::Owed => (true, None),
            LineSender::Request(request) => (request.begin(frame.len()), None),
            LineSender::Notification(WriteSignals { begun, done }) => (begun.send(()).is_ok(), Some(done)),
        };
        if !is_wanted {
            // The sender has withdrawn the line.
            continue;
        }
        if let Some(recorder) = &pipe.recorder {
            recorder.record_out(frame);
        }
        writer.write_all(&line).await?;
        writer.flush().await?;
        if let Some(done) = done {
            let _ = done.send(());
        }
    }
    queue.flush_priority(&mut writer, pipe.recorder.as_ref()).await;
    writer.shutdown().await
}
