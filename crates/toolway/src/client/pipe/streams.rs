//! How do messages travel over two streams that the application has opened?

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::SetOnce;
use tokio::time::timeout;

use crate::client::pipe::outbox::WriteQueue;
use crate::client::pipe::output_record::OutputRecord;
use crate::client::pipe::reader::{ReadEnd, read};
use crate::client::pipe::state::{PipeState, with_cause};
use crate::client::pipe::transport::{FarEnd, PipeTransport};
use crate::client::pipe::writer::write;
use crate::client::record::Recorder;
use crate::client::wire::transport::Transport;
use crate::ground::error::{Error, ErrorKind, Result};
use crate::ground::future::BoxFuture;

/// Starts a task that reads and writes two streams. Returns their transport; dropping the transport ends the task.
pub(crate) fn start(
    reader: impl AsyncRead + Unpin + Send + 'static,
    writer: impl AsyncWrite + Unpin + Send + 'static,
    recorder: Option<Recorder>,
) -> impl Transport {
    if let Some(recorder) = &recorder {
        recorder.set_transport("pipe");
    }
    let (pipe, queue) = PipeState::new(recorder);
    let (pipe, left) = (Arc::new(pipe), Arc::new(SetOnce::new()));
    let guard = StreamsGuard { pipe: pipe.clone(), dropped: left.clone() };
    tokio::spawn(async move {
        run_pipe(reader, writer, &guard.pipe, queue).await;
    });
    PipeTransport::new(pipe, None, Streams { dropped: left })
}

/// The server at the other end of two streams. Nothing is known about it except what arrives on the streams.
struct Streams {
    /// Set after both streams are dropped.
    dropped: Arc<SetOnce<()>>,
}

impl FarEnd for Streams {
    fn diagnosis(&self, received: &OutputRecord) -> Option<String> {
        Some(received.to_string()).filter(|received| !received.is_empty())
    }

    /// Waits until both streams are dropped. The server then sees the end of its input, which means that the client is
    /// gone.
    fn closed(&self) -> BoxFuture<'_, Result<()>> {
        Box::pin(async {
            self.dropped.wait().await;
            Ok(())
        })
    }
}

/// Reads and writes until one of the two streams ends, or the pipe is ended.
async fn run_pipe(
    mut reader: impl AsyncRead + Unpin,
    writer: impl AsyncWrite + Unpin,
    pipe: &PipeState,
    queue: WriteQueue,
) {
    let mut reading = std::pin::pin!(read(&mut reader, pipe));
    let mut writing = std::pin::pin!(write(writer, pipe, queue));
    let ended = tokio::select! {
        biased;
        ended = &mut reading => ended,
        broke = &mut writing => {
            pipe.stop_sending();
            // The last replies may still be on their way.
            let ended = timeout(DRAIN_TIMEOUT, &mut reading).await.unwrap_or(ReadEnd::PipeEnded);
            if let (ReadEnd::PipeEnded, Err(error)) = (&ended, broke) {
                tracing::debug!(%error, "writing to the server failed");
                pipe.end(Error::new(ErrorKind::Transport, "the server no longer accepts messages"));
            }
            return end_pipe(pipe, &ended);
        }
    };
    end_pipe(pipe, &ended);
    // A line that is being written is completed, unless the server does not read it within `DRAIN_TIMEOUT`.
    let _ = timeout(DRAIN_TIMEOUT, writing).await;
}

/// Ends the pipe with the error for the reason why reading ended.
fn end_pipe(pipe: &PipeState, ended: &ReadEnd) {
    let (kind, message) = match ended {
        ReadEnd::PipeEnded => return,
        ReadEnd::Closed => (ErrorKind::Transport, "the server closed the connection".to_owned()),
        ReadEnd::Failed(error) => {
            tracing::debug!(%error, "reading from the server failed");
            (ErrorKind::Transport, "the connection to the server broke".to_owned())
        }
        ReadEnd::TooLong => (
            ErrorKind::PeerMisbehaved,
            format!(
                "the server sent a line of more than {} bytes that is not a message, and the connection was closed",
                pipe.max_message()
            ),
        ),
    };
    pipe.end(with_cause(Error::new(kind, message), pipe.output.to_string()));
}

/// Ends the pipe when the task ends or is dropped, so that no call waits forever.
struct StreamsGuard {
    pipe: Arc<PipeState>,
    dropped: Arc<SetOnce<()>>,
}

impl Drop for StreamsGuard {
    fn drop(&mut self) {
        self.pipe
            .end(Error::new(ErrorKind::Transport, "the runtime that the connection ran in was shut down"));
        let _ = self.dropped.set(());
    }
}

/// The time limit for writing the last line, and for receiving the last replies, after a pipe has ended.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);
