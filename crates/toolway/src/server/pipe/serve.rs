//! How is one pipe served? Each line is a message, and requests of both eras may be mixed.
//!
//! One task serves the pipe. It polls each request once in place. Most requests finish in this poll; only a request
//! that has to wait becomes a separate task, which returns its frame when it finishes. Only the notifications of
//! running handlers go through a queue. The pipe task writes output while it reads input. If the peer does not read its
//! responses, the pipe task stops reading too, so memory is bounded by configuration and not by the peer. The messages
//! of a batch are served one by one; only their answers wait for each other (`handshake/batch.rs`).

use std::collections::{HashMap, VecDeque};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio::task::{self, AbortHandle, JoinSet};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use toolway_protocol::jsonrpc::{OversizedMessage, Params, ParsedFrame, Rejection, write_error};
use toolway_protocol::types::Cancelled;
use toolway_protocol::{Id, Message, Method, RpcError};

use crate::ground::budget::Budget;
use crate::ground::error::{Error, ErrorKind, Result};
use crate::ground::extensions::Extensions;
use crate::ground::future::BoxFuture;
use crate::ground::mutex::Mutex;
use crate::ground::outbound::{Outbound, OutboundItem};
use crate::ground::poll_once::poll_once;
use crate::server::Server;
use crate::server::admission::admit::Refuse;
use crate::server::admission::connect_request::ConnectRequest;
use crate::server::build::builder::ServerBuilder;
use crate::server::call::scope::Arrival;
use crate::server::call::stream_rights::SharedView;
use crate::server::failure::errors::busy;
use crate::server::handshake::batch::{BatchSlot, Batches};
use crate::server::observe::hooks::DisconnectGuard;
use crate::server::pipe::conversation::Conversation;
use crate::server::pipe::output::{OutputBuffer, is_disconnect};
use crate::transport::frame::{Line, Lines, push_line};

/// How many bytes of output may wait before the task stops reading input.
const MAX_OUTPUT: usize = 1 << 20;
/// How many bytes of output may wait before notifications are held back. Repeated changes of one item are merged while
/// they wait.
const MAX_OUTPUT_FOR_NOTIFICATIONS: usize = 8 << 10;
/// How many `subscriptions/listen` streams one pipe may have.
const MAX_LISTENS: usize = 32;
/// How many notifications of running requests may be queued.
const MAX_QUEUED_ITEMS: usize = 64;
/// How long running requests may take after the input has ended.
const GRACE: Duration = Duration::from_secs(10);

impl ServerBuilder {
    /// Builds the server and serves one peer over a pair of streams: see [`Server::serve_io`].
    pub async fn serve_io(
        self,
        reader: impl AsyncRead + Unpin + Send,
        writer: impl AsyncWrite + Unpin + Send,
    ) -> Result<()> {
        self.build()?.serve_io(reader, writer).await
    }
}

impl Server {
    /// Serves one peer over a pair of streams, one message per line, until the input ends.
    ///
    /// After the end of the input, running requests may finish, for up to ten seconds. It is not an error if the peer
    /// closes the output first.
    ///
    /// # Errors
    ///
    /// If the pipe breaks. Also if [`on_connect`](ServerBuilder::on_connect), which runs once before the first message,
    /// refuses the peer ([`ErrorKind::NotAdmitted`]). A refused peer gets the refusal as the response to its first
    /// requests, and then the pipe is no longer served.
    ///
    /// # Cancellation
    ///
    /// Dropping the future stops serving the peer and cancels its requests.
    pub async fn serve_io(
        &self,
        reader: impl AsyncRead + Unpin + Send,
        writer: impl AsyncWrite + Unpin + Send,
    ) -> Result<()> {
        self.serve_streams(Box::pin(reader), Box::pin(writer)).await
    }

    /// Serves one peer over a pair of streams. Neither generic nor an `async fn`, so that its code exists once, in this
    /// crate, and not again in every program.
    pub(crate) fn serve_streams<'p>(
        &'p self,
        reader: PipeReader<'p>,
        writer: PipeWriter<'p>,
    ) -> BoxFuture<'p, Result<()>> {
        Box::pin(async move {
            let admission = self.admit(ConnectRequest::over_pipe(), Extensions::new()).await;
            match admission {
                Ok(admitted) => {
                    let parting = DisconnectGuard::for_pipe(self, admitted.clone());
                    self.serve_admitted(reader, writer, admitted, parting, None).await
                }
                Err(refuse) => Err(Pipe::new(self.clone(), reader, writer).refuse_peer(&refuse).await),
            }
        })
    }

    /// Serves a peer that was admitted. `line_rights` is given if each line is admitted by itself.
    pub(crate) async fn serve_admitted(
        &self,
        reader: PipeReader<'_>,
        writer: PipeWriter<'_>,
        mut admitted: Box<Arrival>,
        parting: DisconnectGuard,
        line_rights: Option<LineRights>,
    ) -> Result<()> {
        let account = admitted.account.get_or_insert_with(|| self.inner.ledger.pipe_account()).clone();
        let (line_arrivals, view) = match line_rights {
            Some(LineRights { arrivals, view }) => (Some(arrivals), view),
            None => (None, Arc::new(Mutex::new(admitted.stream_view()))),
        };
        let mut pipe = Pipe { admitted, line_arrivals, view, ..Pipe::new(self.clone(), reader, writer) };
        pipe.out.account = Some(account);
        let mut served =
            PipeGuard { conversation: pipe.conversation.clone(), disconnect_guard: Some(parting) };
        let outcome = pipe.run().await;
        let is_complete = outcome.is_ok() && pipe.running.is_empty() && pipe.out.is_flushed();
        // Running requests are cancelled before the hooks run.
        drop(pipe);
        if let Some(mut parting) = served.take_disconnect_guard() {
            if is_complete {
                parting.mark_complete();
            }
            parting.finish().await;
        }
        outcome
    }
}

/// One direction of a pipe, of whatever type: so the code that serves a pipe exists once.
type PipeReader<'p> = Pin<Box<dyn AsyncRead + Send + 'p>>;
type PipeWriter<'p> = Pin<Box<dyn AsyncWrite + Send + 'p>>;

/// The rights of the callers of a pipe whose lines are admitted one by one.
#[derive(Debug, Clone)]
pub(crate) struct LineRights {
    pub(crate) arrivals: LineArrivals,
    /// The present rights of the caller that reads the output.
    pub(crate) view: SharedView,
}

/// The facts about the lines that were not read yet, in the order of the lines.
pub(crate) type LineArrivals = Arc<Mutex<VecDeque<Box<Arrival>>>>;

/// A pipe that is being served. Dropping the value runs the hooks for the end of the pipe.
struct PipeGuard {
    conversation: Arc<Conversation>,
    disconnect_guard: Option<DisconnectGuard>,
}

impl PipeGuard {
    fn take_disconnect_guard(&mut self) -> Option<DisconnectGuard> {
        let mut parting = self.disconnect_guard.take()?;
        if self.conversation.is_opened() {
            parting.mark_terminated();
        }
        Some(parting)
    }
}

impl Drop for PipeGuard {
    fn drop(&mut self) {
        drop(self.take_disconnect_guard());
    }
}

struct Pipe<'p> {
    reader: PipeReader<'p>,
    writer: PipeWriter<'p>,
    lines: Lines,
    max_message: usize,
    out: OutputBuffer,
    conversation: Arc<Conversation>,
    running: JoinSet<Option<Vec<u8>>>,
    /// The running requests by id, to cancel them.
    handles: HashMap<Id, AbortHandle>,
    /// The requests that run as tasks, by the id of the task.
    targets: HashMap<task::Id, ResponseTarget>,
    batches: Batches,
    /// The messages of running handlers. Bounded: a handler that sends more than the peer reads has to wait.
    outbound_items: mpsc::Receiver<OutboundItem>,
    outbound: Outbound,
    shutdown_token: Arc<CancellationToken>,
    /// The facts about the admitted peer, or about its last line.
    admitted: Box<Arrival>,
    line_arrivals: Option<LineArrivals>,
    /// The rights that decide which changes the peer is told of.
    view: SharedView,
    is_open: bool,
    /// When to stop waiting for running requests, once the input has ended.
    deadline: Instant,
}

/// The request that a response belongs to.
struct ResponseTarget {
    id: Id,
    /// The place in the batch, if the request came in one.
    slot: Option<BatchSlot>,
}

impl<'p> Pipe<'p> {
    fn new(server: Server, reader: PipeReader<'p>, writer: PipeWriter<'p>) -> Self {
        let max_message = server.max_message();
        let (outbound, said) = Outbound::new(MAX_QUEUED_ITEMS, max_message, None);
        Self {
            outbound_items: said.into_queue(),
            outbound,
            shutdown_token: Arc::default(),
            admitted: Box::default(),
            line_arrivals: None,
            view: SharedView::default(),
            reader,
            writer,
            lines: Lines::new(max_message),
            max_message,
            out: OutputBuffer::default(),
            conversation: Arc::new(Conversation::new(server)),
            running: JoinSet::new(),
            handles: HashMap::new(),
            targets: HashMap::new(),
            batches: Batches::new(max_message),
            is_open: true,
            deadline: Instant::now(),
        }
    }

    async fn run(&mut self) -> Result<()> {
        loop {
            while self.has_room() {
                match self.lines.next_line() {
                    Some(line) => self.handle_line(line).await,
                    None => break,
                }
            }
            if !self.is_open && self.running.is_empty() && self.out.is_flushed() {
                return Ok(());
            }
            match self.step().await {
                Ok(Step::Continue) => {}
                Ok(Step::End) => return Ok(()),
                Err(error) if is_disconnect(&error) => return Ok(()),
                Err(error) => return Err(Error::new(ErrorKind::Transport, "the pipe broke").caused_by(error)),
            }
        }
    }

    /// Answers the first requests of a refused peer with the refusal, then ends.
    async fn refuse_peer(mut self, refuse: &Refuse) -> Error {
        while self.is_open && self.out.is_flushed() {
            // If the pipe fails, the refusal is still the error to return.
            self.is_open = self.lines.fill(&mut self.reader).await.unwrap_or(false);
            while self.has_room()
                && let Some(line) = self.lines.next_line()
            {
                self.answer_refusal(line, refuse);
            }
        }
        // The wait for a peer that does not read is limited.
        let _ = tokio::time::timeout(GRACE, self.out.write_all(&mut self.writer)).await;
        Error::new(ErrorKind::NotAdmitted, format!("the connection was refused: {refuse}"))
    }

    /// Answers a line with the refusal, if it needs a response.
    fn answer_refusal(&mut self, line: Line, refuse: &Refuse) {
        let id = match line {
            Line::TooLong(OversizedMessage::Request(id)) => Some(id),
            Line::TooLong(OversizedMessage::Unknown) => None,
            Line::TooLong(OversizedMessage::Notification | OversizedMessage::Reply(_)) => return,
            Line::Text(frame) => match self.conversation.read(&frame) {
                Ok(ParsedFrame::One(Message::Request { id, .. })) => Some(id),
                Err(rejected) if rejected.needs_reply() => rejected.id,
                Ok(_) | Err(_) => return,
            },
        };
        self.refuse(&Rejection { id, error: refuse.error() }, None);
    }

    /// Returns whether there is room for more output. Running requests do not count: cancellations, pings and answers
    /// must always get through.
    fn has_room(&self) -> bool {
        self.out.buffer.len() < MAX_OUTPUT
    }

    /// Waits for the first of: written output, a finished request, a notification of a handler, a change, more input,
    /// or the deadline.
    async fn step(&mut self) -> io::Result<Step> {
        let has_room = self.has_room();
        let is_read = self.out.buffer.len() < MAX_OUTPUT_FOR_NOTIFICATIONS;
        tokio::select! {
            biased;
            written = self.out.write(&mut self.writer), if !self.out.is_flushed() => written?,
            Some(done) = self.running.join_next_with_id(), if !self.running.is_empty() => match done {
                Ok((task, frame)) => self.finish(task, frame),
                // A cancelled request has no response. A panic outside of user code is a bug of this crate; its request
                // stays unanswered.
                Err(error) => self.finish(error.id(), None),
            },
            Some(said) = self.outbound_items.recv(), if is_read => self.out.push(said),
            changes = self.conversation.changes(&self.view), if is_read => {
                for frame in changes {
                    push_line(&mut self.out.buffer, &frame);
                }
            }
            more = self.lines.fill(&mut self.reader), if self.is_open && has_room => {
                self.is_open = more?;
                if !self.is_open {
                    self.deadline = Instant::now() + GRACE;
                    self.shutdown_token.cancel();
                    self.conversation.end_questions();
                }
            }
            () = tokio::time::sleep_until(self.deadline), if !self.is_open => return Ok(Step::End),
        }
        Ok(Step::Continue)
    }

    async fn handle_line(&mut self, line: Line) {
        let next = self.line_arrivals.as_ref().and_then(|arrivals| arrivals.lock().pop_front());
        if let Some(mut next) = next {
            // A caller without a name is counted as this pipe.
            if !next.account.as_ref().is_some_and(|account| account.is_named()) {
                next.account.clone_from(&self.admitted.account);
            }
            self.admitted = next;
        }
        let frame = match line {
            Line::Text(frame) => frame,
            Line::TooLong(skimmed) => return self.refuse_long(skimmed),
        };
        match self.conversation.read(&frame) {
            Ok(ParsedFrame::One(message)) => self.handle_message(Ok(message), None).await,
            Ok(ParsedFrame::Batch(messages)) => {
                for (message, place) in self.batches.open(messages) {
                    self.handle_message(message, Some(place)).await;
                }
            }
            Err(rejected) => self.refuse(&rejected, None),
        }
    }

    /// Refuses a line that was too long to keep. Only the kind and the id of its message are known, if they could be
    /// read.
    fn refuse_long(&mut self, skimmed: OversizedMessage) {
        let error = RpcError::too_large(self.max_message);
        match skimmed {
            OversizedMessage::Request(id) => self.refuse(&Rejection { id: Some(id), error }, None),
            OversizedMessage::Unknown => self.refuse(&Rejection { id: None, error }, None),
            OversizedMessage::Reply(id) => {
                self.conversation.deliver_answer(Some(&id), Err(error));
            }
            // A notification has no answer (JSON-RPC 2.0, 4.1).
            OversizedMessage::Notification => tracing::warn!(
                max_message = self.max_message,
                "a notification is longer than the server's `max_message`, and was ignored"
            ),
        }
    }

    async fn handle_message(&mut self, message: Result<Message, Rejection>, place: Option<BatchSlot>) {
        match message {
            Ok(Message::Notification { method: Method::Cancelled, params }) => self.cancel(&params),
            Ok(Message::Response { id, outcome }) => self.conversation.deliver_answer(id.as_ref(), outcome),
            Ok(message) => {
                let asked = message.id().map(|id| ResponseTarget { id: id.clone(), slot: place });
                self.start(asked, message).await;
            }
            Err(rejected) => self.refuse(&rejected, place),
        }
    }

    /// Runs a message. Spawns a task only if the message is not handled in the first poll.
    async fn start(&mut self, asked: Option<ResponseTarget>, message: Message) {
        if asked.as_ref().is_some_and(|asked| self.handles.contains_key(&asked.id)) {
            let error = RpcError::invalid_request("a request with this id is still running");
            return self.reject(asked, error);
        }
        let arrival = Arrival {
            outbound: self.outbound.clone(),
            shutdown_token: Some(self.shutdown_token.clone()),
            stream_budget: Some(Budget { total: usize::MAX, share: MAX_LISTENS }),
            ..(*self.admitted).clone()
        };
        let mut work = self.conversation.clone().serve(message, Box::new(arrival));
        let first = poll_once(work.as_mut()).await;
        match first {
            Poll::Ready(frame) => self.answer(asked, frame),
            Poll::Pending => {
                let handle = self.running.spawn(work);
                if let Some(asked) = asked {
                    let task = handle.id();
                    self.handles.insert(asked.id.clone(), handle);
                    self.targets.insert(task, asked);
                }
            }
        }
    }

    fn finish(&mut self, task: task::Id, mut frame: Option<Vec<u8>>) {
        let asked = self.targets.remove(&task);
        if let Some(ResponseTarget { id, .. }) = &asked {
            if self.handles.get(id).is_some_and(|handle| handle.id() == task) {
                self.handles.remove(id);
            } else {
                // The request was cancelled, perhaps just after it finished. Another request may use the id by now, so
                // a response would be mistaken for the response to that other request.
                frame = None;
            }
        }
        self.answer(asked, frame);
    }

    /// Sends a response, after the notifications that its request has queued.
    fn answer(&mut self, asked: Option<ResponseTarget>, frame: Option<Vec<u8>>) {
        while let Ok(said) = self.outbound_items.try_recv() {
            self.out.push(said);
        }
        if let (Some(ResponseTarget { id, slot }), Some(frame)) = (&asked, &frame)
            && !self.out.charge(frame.len())
        {
            let error = busy("too many replies wait for the client to read them");
            let (id, slot) = (Some(id.clone()), *slot);
            return self.refuse(&Rejection { id, error }, slot);
        }
        self.send_answer(frame, asked.and_then(|asked| asked.slot));
    }

    /// Refuses a message that is not started. A notification gets no response.
    fn reject(&mut self, asked: Option<ResponseTarget>, error: RpcError) {
        if let Some(ResponseTarget { id, slot: place }) = asked {
            self.refuse(&Rejection { id: Some(id), error }, place);
        }
    }

    fn refuse(&mut self, rejected: &Rejection, place: Option<BatchSlot>) {
        if rejected.needs_reply() {
            let mut frame = Vec::new();
            write_error(&mut frame, rejected.id.as_ref(), &rejected.error);
            self.send_answer(Some(frame), place);
        }
    }

    /// Sends an answer, or keeps it until its batch is complete.
    fn send_answer(&mut self, frame: Option<Vec<u8>>, place: Option<BatchSlot>) {
        let frame = match place {
            Some(place) => self.batches.set_answer(place, frame),
            None => frame,
        };
        if let Some(frame) = frame {
            push_line(&mut self.out.buffer, &frame);
        }
    }

    /// Cancels a request. A cancellation that is malformed, or whose request is not running, is ignored.
    fn cancel(&mut self, params: &Params) {
        let cancelled = params.decode::<Cancelled>().ok().and_then(|cancelled| cancelled.request_id);
        if let Some(handle) = cancelled.and_then(|id| self.handles.remove(&id)) {
            handle.abort();
        }
    }
}

enum Step {
    Continue,
    End,
}
