//! How are lines exchanged with a server until it ends? And how is it ended when no host needs it?

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::sync::{mpsc, watch};
use tokio::time::sleep;

use toolway_protocol::Id;
use toolway_protocol::jsonrpc::{OversizedMessage, OversizedMessageReader};

use crate::failure::Result;
use crate::proxy::Upstream;
use crate::proxy::ledger::error_line;
use crate::proxy::line_reader::{LineReader, Piece};

/// The size in bytes of the buffer between hosts and a server, each way.
const BUFFER: usize = 64 << 10;

/// The maximum number of lines that wait for the server to read them. Beyond it, hosts wait.
const MAX_UNREAD: usize = 64;

/// How long a server may run after its hosts have left.
const CLOSING_TIMEOUT: Duration = Duration::from_secs(5);

/// The way to a server. Closing it ends the server.
pub(super) struct LinePipe {
    to_server: Mutex<Option<mpsc::Sender<Vec<u8>>>>,
    is_closed: watch::Sender<bool>,
}

impl LinePipe {
    /// Returns the way to a server that does not run yet, and what [`run`](Self::run) takes.
    pub(super) fn new() -> (Self, mpsc::Receiver<Vec<u8>>) {
        let (sender, receiver) = mpsc::channel(MAX_UNREAD);
        (Self { to_server: Mutex::new(Some(sender)), is_closed: watch::Sender::new(false) }, receiver)
    }

    /// Sends a line, and waits while the server reads no further. Returns whether the server still runs.
    pub(super) async fn send(&self, text: &[u8]) -> bool {
        let sender = self.sender();
        match sender {
            Some(sender) => sender.send([text, b"\n"].concat()).await.is_ok(),
            None => false,
        }
    }

    /// Sends a line from a place that cannot wait.
    pub(super) fn send_soon(&self, text: Vec<u8>) {
        let Some(sender) = self.sender() else { return };
        let line = [&text[..], b"\n"].concat();
        if let Err(mpsc::error::TrySendError::Full(line)) = sender.try_send(line)
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            runtime.spawn(async move { sender.send(line).await });
        }
    }

    fn sender(&self) -> Option<mpsc::Sender<Vec<u8>>> {
        self.to_server.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn is_closed(&self) -> bool {
        *self.is_closed.borrow()
    }

    /// Closes the server's input, and ends it if it does not end by itself.
    pub(super) fn close(&self) {
        self.to_server.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.is_closed.send_replace(true);
    }

    /// Runs the server until it has ended. `take` gets its lines.
    pub(super) async fn run<F: Future<Output = ()> + Send>(
        &self,
        upstream: &Upstream,
        mut lines: mpsc::Receiver<Vec<u8>>,
        max_message: Option<usize>,
        mut take: impl FnMut(Vec<u8>) -> F + Send,
    ) -> Result<()> {
        let (near, far) = tokio::io::duplex(BUFFER);
        let (near_input, mut near_output) = tokio::io::split(near);
        let relaying = async {
            let (far_input, far_output) = tokio::io::split(far);
            upstream.relay(far_input, far_output).await
        };
        let down = async {
            let mut input = LineReader::with_limit(near_input, max_message);
            let mut long = None;
            while let Ok(Some(piece)) = input.next().await {
                match piece {
                    Piece::Line(line) => take(line).await,
                    Piece::Part(part) => {
                        if let Some(line) = read_long_line(&mut long, &part) {
                            take(line).await;
                        }
                    }
                }
            }
        };
        let up = async {
            while let Some(line) = lines.recv().await {
                if near_output.write_all(&line).await.is_err() {
                    break;
                }
            }
            let _ = near_output.shutdown().await;
            std::future::pending::<()>().await;
        };
        let mut closed = self.is_closed.subscribe();
        let deadline = async {
            let _ = closed.wait_for(|is_closed| *is_closed).await;
            sleep(CLOSING_TIMEOUT).await;
        };
        let outcome = tokio::select! {
            // What the server has said last is passed on before it counts as ended.
            (outcome, ()) = async { tokio::join!(relaying, down) } => outcome,
            () = up => Ok(()),
            () = deadline => Ok(()),
        };
        self.close();
        outcome
    }
}

/// Reads a part of a line of the server that is too long. If the line was a reply, returns the error that takes its place;
/// all else is left out.
fn read_long_line(reader: &mut Option<OversizedMessageReader>, part: &[u8]) -> Option<Vec<u8>> {
    reader.get_or_insert_default().push(part);
    if !part.ends_with(b"\n") {
        return None;
    }
    let id = match reader.take()?.finish() {
        OversizedMessage::Reply(Id::Number(id)) => id.to_string(),
        OversizedMessage::Reply(Id::String(id)) => serde_json::Value::from(&*id).to_string(),
        _ => return None,
    };
    let text = "the answer of the server is longer than the proxy passes on; raise its limit with --max-message SIZE";
    Some(error_line(&id, text, "messageTooLarge"))
}
