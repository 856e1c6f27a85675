//! The read loop of one pipe, seen from the client's end.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::{mpsc, oneshot};
use tokio::task::{AbortHandle, JoinSet};
use toolway_protocol::json::Limits;
use toolway_protocol::jsonrpc::{Incoming, parse};
use toolway_protocol::{Id, Message};

use super::transport::{Answering, Carried, Closing, Inbox, Outgoing, Transport};
use super::{Client, ClientBuilder};
use crate::error::{Error, ErrorKind, Result};
use crate::transport::frame::{Line, Lines, MAX_LINE, push_line};

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

/// How many messages may wait to be written.
const MAX_WAITING: usize = 64;

/// A line, and whom to tell that it is on its way: a client that is dropped right after has said it.
struct Queued {
    line: Vec<u8>,
    written: oneshot::Sender<()>,
}

struct Pipe {
    outgoing: mpsc::Sender<Queued>,
    pending: Pending,
    inbox: Arc<OnceLock<Inbox>>,
    tasks: [AbortHandle; 2],
}

impl Pipe {
    fn start(
        reader: impl AsyncRead + Unpin + Send + 'static,
        writer: impl AsyncWrite + Unpin + Send + 'static,
    ) -> Self {
        let pending = Pending::default();
        let (outgoing, queue) = mpsc::channel(MAX_WAITING);
        let inbox = Arc::new(OnceLock::new());
        let hearing = Hearing {
            pending: pending.clone(),
            inbox: inbox.clone(),
            outgoing: outgoing.clone(),
            answering: JoinSet::new(),
        };
        let reading = tokio::spawn(read(reader, hearing));
        let writing = tokio::spawn(write(writer, queue));
        let tasks = [reading.abort_handle(), writing.abort_handle()];
        Self { outgoing, pending, inbox, tasks }
    }

    async fn send(&self, outgoing: Outgoing) -> Result<Option<Message>> {
        let mut line = Vec::new();
        push_line(&mut line, &outgoing.frame);
        let waiting = match outgoing.id {
            Some(id) => Some(self.pending.wait(id)?),
            None => None,
        };
        let (written, on_its_way) = oneshot::channel();
        self.outgoing.send(Queued { line, written }).await.map_err(|_| gone())?;
        on_its_way.await.map_err(|_| gone())?;
        match waiting {
            Some(waiting) => waiting.reply().await.map(Some),
            None => Ok(None),
        }
    }
}

impl Transport for Pipe {
    fn carry(&self, outgoing: Outgoing) -> Carried<'_> {
        Box::pin(self.send(outgoing))
    }

    fn deliver_to(&self, inbox: Inbox) {
        let _ = self.inbox.set(inbox);
    }

    /// The end of its input tells a server on a pipe that nobody is there any more.
    fn close(&self) -> Closing<'_> {
        self.stop();
        self.pending.close();
        Box::pin(std::future::ready(Ok(())))
    }
}

impl Pipe {
    fn stop(&self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        self.stop();
    }
}

/// What becomes of the messages of the server.
struct Hearing {
    pending: Pending,
    inbox: Arc<OnceLock<Inbox>>,
    outgoing: mpsc::Sender<Queued>,
    /// The questions that somebody thinks about. They end with the task that reads.
    answering: JoinSet<()>,
}

impl Hearing {
    fn take(&mut self, message: Message) {
        if let Message::Response { .. } = message {
            return self.pending.settle(message);
        }
        let Some(inbox) = self.inbox.get() else { return };
        inbox.take(&message);
        match inbox.answer(&message) {
            // A server that asks and does not read gets no answer; waiting for it could stop both sides.
            Some(Answering::Now(frame)) => drop(self.outgoing.try_send(queued(&frame))),
            Some(Answering::Later(frame)) => {
                while self.answering.try_join_next().is_some() {}
                let outgoing = self.outgoing.clone();
                self.answering.spawn(async move {
                    if let Some(frame) = frame.await {
                        // Nobody writes any more: the server has gone.
                        let _ = outgoing.send(queued(&frame)).await;
                    }
                });
            }
            None => {}
        }
    }
}

fn queued(frame: &[u8]) -> Queued {
    let mut line = Vec::new();
    push_line(&mut line, frame);
    Queued { line, written: oneshot::channel().0 }
}

async fn read(mut reader: impl AsyncRead + Unpin, mut hearing: Hearing) {
    let mut lines = Lines::new(MAX_LINE);
    let mut open = true;
    while open {
        match lines.fill(&mut reader).await {
            Ok(more) => open = more,
            Err(error) => {
                tracing::debug!(%error, "the server's output broke");
                break;
            }
        }
        while let Some(line) = lines.next_line() {
            let Line::Text(frame) = line else { continue };
            match parse(&frame, Limits::default()) {
                Ok(Incoming::One(message)) => hearing.take(message),
                // Whoever speaks 2025-03-26 must take them; from others they do no harm.
                Ok(Incoming::Batch(messages)) => {
                    for message in messages.into_iter().flatten() {
                        hearing.take(message);
                    }
                }
                // Rubbish on a pipe is skipped.
                Err(_) => tracing::debug!("skipped a line of the server that is no message"),
            }
        }
    }
    hearing.pending.close();
}

async fn write(mut writer: impl AsyncWrite + Unpin, mut queue: mpsc::Receiver<Queued>) {
    while let Some(Queued { line, written }) = queue.recv().await {
        let write = async {
            writer.write_all(&line).await?;
            writer.flush().await
        };
        if let Err(error) = write.await {
            tracing::debug!(%error, "the server's input broke");
            return;
        }
        // Nobody waits any more: the call was dropped.
        let _ = written.send(());
    }
}

/// Our own requests in flight.
#[derive(Clone, Default)]
struct Pending(Arc<Mutex<Waiters>>);

#[derive(Default)]
struct Waiters {
    by_id: HashMap<Id, oneshot::Sender<Message>>,
    closed: bool,
}

impl Pending {
    fn lock(&self) -> MutexGuard<'_, Waiters> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait(&self, id: Id) -> Result<Waiting> {
        let (sender, receiver) = oneshot::channel();
        let mut waiters = self.lock();
        if waiters.closed {
            return Err(gone());
        }
        waiters.by_id.insert(id.clone(), sender);
        Ok(Waiting { pending: self.clone(), id, receiver })
    }

    fn settle(&self, message: Message) {
        let sender = message.id().and_then(|id| self.lock().by_id.remove(id));
        if let Some(sender) = sender {
            // Nobody waits any more: the call was dropped, and a late answer means nothing.
            let _ = sender.send(message);
        }
    }

    fn close(&self) {
        let mut waiters = self.lock();
        waiters.closed = true;
        waiters.by_id.clear();
    }
}

/// One request in flight; dropping it forgets it.
struct Waiting {
    pending: Pending,
    id: Id,
    receiver: oneshot::Receiver<Message>,
}

impl Waiting {
    async fn reply(mut self) -> Result<Message> {
        (&mut self.receiver).await.map_err(|_| gone().broken_off())
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.pending.lock().by_id.remove(&self.id);
    }
}

fn gone() -> Error {
    Error::new(ErrorKind::Transport, "the server closed the connection")
}
