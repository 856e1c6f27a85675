//! How do messages travel over a pipe, seen from the client's end? One message a line.
//!
//! | file | question |
//! |---|---|
//! | `line.rs` | Which messages are on their way, and what becomes of them when the pipe ends? |
//! | `say.rs` | What is written, and what not any more? |
//! | `hear.rs` | What becomes of what the server says? |
//! | `heard.rs` | What has come so far that explains why nothing else does? |
//! | `shown.rs` | How is text of the other side shown to a person? |
//!
//! This file joins them for two streams that somebody has opened; `process/` does so for a server that it starts.

mod printable;
mod reader;
mod received;
mod state;
mod writer;

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::SetOnce;
use tokio::time::timeout;

pub(super) use printable::shown;
pub(super) use reader::{Ended, hear};
pub(super) use received::Heard;
pub(super) use state::{Line, Over};
pub(super) use writer::{ToSay, say};

use crate::client::wire::transport::{Carried, Closing, Inbox, Lasting, Outgoing, Transport};
use crate::client::{Client, ClientBuilder};
use crate::error::{ErrorKind, Result};

impl ClientBuilder {
    /// Connects over a pair of streams, one message a line: the stdin and stdout of a server process, for
    /// example.
    pub async fn connect_io(
        self,
        reader: impl AsyncRead + Unpin + Send + 'static,
        writer: impl AsyncWrite + Unpin + Send + 'static,
    ) -> Result<Client> {
        self.connect(Pipe::start(reader, writer)).await
    }
}

impl Client {
    /// Connects over a pair of streams: see [`ClientBuilder::connect_io`].
    pub async fn connect_io(
        reader: impl AsyncRead + Unpin + Send + 'static,
        writer: impl AsyncWrite + Unpin + Send + 'static,
    ) -> Result<Self> {
        Self::builder().connect_io(reader, writer).await
    }
}

/// Two streams of which nothing is known but what comes.
struct Pipe {
    line: Arc<Line>,
    /// Set when both streams are left.
    left: Arc<SetOnce<()>>,
}

impl Pipe {
    fn start(
        reader: impl AsyncRead + Unpin + Send + 'static,
        writer: impl AsyncWrite + Unpin + Send + 'static,
    ) -> Self {
        let (line, to_say) = Line::new();
        let (line, left) = (Arc::new(line), Arc::new(SetOnce::new()));
        let guard = Guard { line: line.clone(), left: left.clone() };
        tokio::spawn(async move {
            talk(reader, writer, &guard.line, to_say).await;
        });
        Self { line, left }
    }
}

/// Reads and writes until either ends, or the line is over.
async fn talk(
    mut reader: impl AsyncRead + Unpin,
    writer: impl AsyncWrite + Unpin,
    line: &Line,
    to_say: ToSay,
) {
    let mut hearing = std::pin::pin!(hear(&mut reader, line));
    let mut saying = std::pin::pin!(say(writer, line, to_say));
    let ended = tokio::select! {
        ended = &mut hearing => ended,
        broke = &mut saying => {
            line.fade();
            // The last answers may still be on their way.
            let ended = timeout(A_MOMENT, &mut hearing).await.unwrap_or(Ended::Over);
            if let (Ended::Over, Err(error)) = (&ended, broke) {
                tracing::debug!(%error, "the server's input broke");
                line.end(Over::new(ErrorKind::Transport, "the server does not take messages any more"));
            }
            return end(line, &ended);
        }
    };
    end(line, &ended);
    // A line that is being written is not cut, unless nobody takes it.
    let _ = timeout(A_MOMENT, saying).await;
}

fn end(line: &Line, ended: &Ended) {
    let (kind, message) = match ended {
        Ended::Over => return,
        Ended::Closed => (ErrorKind::Transport, "the server closed the connection".to_owned()),
        Ended::Broke(error) => {
            tracing::debug!(%error, "the server's output broke");
            (ErrorKind::Transport, "the connection to the server broke".to_owned())
        }
        Ended::TooLong => (
            ErrorKind::PeerMisbehaved,
            format!(
                "the server sent a line of more than {} bytes that is not a message, and the connection was closed",
                line.max_message()
            ),
        ),
    };
    line.end(Over::new(kind, message).because(line.heard().to_string()));
}

/// Nobody waits for what a task does that is gone.
struct Guard {
    line: Arc<Line>,
    left: Arc<SetOnce<()>>,
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.line
            .end(Over::new(ErrorKind::Transport, "the runtime that the connection ran in was shut down"));
        let _ = self.left.set(());
    }
}

impl Transport for Pipe {
    fn carry(&self, outgoing: Outgoing) -> Carried<'_> {
        Box::pin(self.line.carry(outgoing))
    }

    fn deliver_to(&self, inbox: Inbox) {
        self.line.deliver_to(inbox);
    }

    fn is_connected(&self) -> bool {
        !self.line.is_fading()
    }

    fn lost(&self) -> Lasting<'_> {
        Box::pin(self.line.ended())
    }

    fn use_max_message(&self, bytes: usize) -> usize {
        self.line.use_max_message(bytes);
        bytes
    }

    fn diagnosis(&self) -> Option<String> {
        Some(self.line.heard().to_string()).filter(|heard| !heard.is_empty())
    }

    /// The end of its input tells a server on a pipe that nobody is there any more.
    fn close(&self) -> Closing<'_> {
        Box::pin(async {
            self.line.end(Over::closed());
            self.left.wait().await;
            Ok(())
        })
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        self.line.end(Over::closed());
    }
}

/// How long the last line may take to be written, and the last answers to come, once a pipe ends.
const A_MOMENT: Duration = Duration::from_secs(1);
