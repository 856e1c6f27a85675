//! How do messages travel over two streams that the application has opened?

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::SetOnce;
use tokio::time::timeout;

use crate::client::pipe::outbox::WriteQueue;
use crate::client::pipe::reader::{Ended, read};
use crate::client::pipe::received::Received;
use crate::client::pipe::state::{PipeState, because};
use crate::client::pipe::transport::{FarEnd, PipeTransport};
use crate::client::pipe::writer::write;
use crate::client::wire::transport::Transport;
use crate::ground::error::{Error, ErrorKind, Result};
use crate::ground::future::BoxFuture;

/// Starts a task that reads and writes two streams. Returns their transport; dropping the transport ends the task.
pub(crate) fn start(
    reader: impl AsyncRead + Unpin + Send + 'static,
    writer: impl AsyncWrite + Unpin + Send + 'static,
) -> impl Transport {
    let (pipe, queue) = PipeState::new();
    let (pipe, left) = (Arc::new(pipe), Arc::new(SetOnce::new()));
    let guard = Guard { pipe: pipe.clone(), left: left.clone() };
    tokio::spawn(async move {
        talk(reader, writer, &guard.pipe, queue).await;
    });
    PipeTransport::new(pipe, None, Streams { left })
}

/// The server at the other end of two streams. Nothing is known about it except what arrives on the streams.
struct Streams {
    /// Set after both streams are dropped.
    left: Arc<SetOnce<()>>,
}

impl FarEnd for Streams {
    fn diagnosis(&self, received: &Received) -> Option<String> {
        Some(received.to_string()).filter(|received| !received.is_empty())
    }

    /// Waits until both streams are dropped. The server then sees the end of its input, which means that the client is
    /// gone.
    fn closed(&self) -> BoxFuture<'_, Result<()>> {
        Box::pin(async {
            self.left.wait().await;
            Ok(())
        })
    }
}

/// Reads and writes until one of the two streams ends, or the pipe is ended.
async fn talk(
    mut reader: impl AsyncRead + Unpin,
    writer: impl AsyncWrite + Unpin,
    pipe: &PipeState,
    queue: WriteQueue,
) {
    let mut reading = std::pin::pin!(read(&mut reader, pipe));
    let mut writing = std::pin::pin!(write(writer, pipe, queue));
    let ended = tokio::select! {
        ended = &mut reading => ended,
        broke = &mut writing => {
            pipe.fade();
            // The last replies may still be on their way.
            let ended = timeout(A_MOMENT, &mut reading).await.unwrap_or(Ended::Over);
            if let (Ended::Over, Err(error)) = (&ended, broke) {
                tracing::debug!(%error, "writing to the server failed");
                pipe.end(Error::new(ErrorKind::Transport, "the server no longer accepts messages"));
            }
            return end(pipe, &ended);
        }
    };
    end(pipe, &ended);
    // A line that is being written is completed, unless the server does not read it within `A_MOMENT`.
    let _ = timeout(A_MOMENT, writing).await;
}

/// Ends the pipe with the error for the reason why reading ended.
fn end(pipe: &PipeState, ended: &Ended) {
    let (kind, message) = match ended {
        Ended::Over => return,
        Ended::Closed => (ErrorKind::Transport, "the server closed the connection".to_owned()),
        Ended::Broke(error) => {
            tracing::debug!(%error, "reading from the server failed");
            (ErrorKind::Transport, "the connection to the server broke".to_owned())
        }
        Ended::TooLong => (
            ErrorKind::PeerMisbehaved,
            format!(
                "the server sent a line of more than {} bytes that is not a message, and the connection was closed",
                pipe.max_message()
            ),
        ),
    };
    pipe.end(because(Error::new(kind, message), pipe.received.to_string()));
}

/// Ends the pipe when the task ends or is dropped, so that no call waits forever.
struct Guard {
    pipe: Arc<PipeState>,
    left: Arc<SetOnce<()>>,
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.pipe
            .end(Error::new(ErrorKind::Transport, "the runtime that the connection ran in was shut down"));
        let _ = self.left.set(());
    }
}

/// The time limit for writing the last line, and for receiving the last replies, after a pipe has ended.
const A_MOMENT: Duration = Duration::from_secs(1);
