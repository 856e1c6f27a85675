//! One two-way pipe: lines come in, lines go out, both eras at once.
//!
//! Everything happens in one task. A request is polled once in place, and most are done then; only one that
//! has to wait becomes a task of its own. A finished task hands its frame back by returning it; only what a handler says
//! while it runs goes through a queue. Output is written while input is read, and when a peer does not read its answers,
//! reading stops too, so memory is bounded by configuration and not by the peer. The messages of a batch are taken one by
//! one; only their answers wait for each other (`batch.rs`).

use std::collections::HashMap;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::Poll;
use std::time::Duration;

use bytes::{Buf, Bytes};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::{self, AbortHandle, JoinSet};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use toolway_protocol::era::lifecycle::Lifecycle;
use toolway_protocol::era::{Claim, Door, batch, classify};
use toolway_protocol::jsonrpc::{Incoming, Params, Rejected, parse, write_error};
use toolway_protocol::types::Cancelled;
use toolway_protocol::{Id, Message, Method, RpcError};

use super::admit::{Admitted, Connecting, Refuse};
use super::batch::{Batches, Place};
use super::changes::Listener;
use super::failure::busy;
use super::handshake::{self, Session};
use super::scope::Arrival;
use super::{Server, ServerBuilder, stateless};
use crate::error::{Error, ErrorKind, Result};
use crate::extensions::Extensions;
use crate::outbound::{Outbound, Said};
use crate::transport::frame::{Line, Lines, push_line};

/// How much output may wait before input is left alone; and how much may wait for the rest of a batch before other batches
/// are refused.
const MAX_WAITING: usize = 1 << 20;
/// How many requests of one pipe may run at the same time.
const MAX_RUNNING: usize = 256;
/// How many streams of changes one pipe may have.
const MAX_LISTENS: usize = 32;
/// How many notifications of running requests may wait.
const MAX_SAID: usize = 64;
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
    /// Serves one peer over a pair of streams, one message a line, until the input ends.
    ///
    /// Requests that still run then may finish, for ten seconds. A peer that stops reading is no error.
    ///
    /// # Errors
    ///
    /// When the pipe breaks, and when [`on_connect`](ServerBuilder::on_connect) refuses the peer
    /// ([`ErrorKind::NotAdmitted`]), which is asked once, before the first message. A refused peer gets the refusal as the
    /// answer to what it asks, and the conversation ends with that.
    ///
    /// # Cancellation
    ///
    /// Dropping the future ends the conversation and every request in it.
    pub async fn serve_io(
        &self,
        reader: impl AsyncRead + Unpin + Send,
        writer: impl AsyncWrite + Unpin + Send,
    ) -> Result<()> {
        let admission = self.admit(Connecting::over_pipe(), Extensions::new()).await;
        match admission {
            Ok(admitted) => self.serve_admitted(reader, writer, admitted).await,
            Err(refuse) => Err(Pipe::new(self.clone(), reader, writer).turn_away(&refuse).await),
        }
    }

    /// Serves a peer that was let in already.
    pub(super) async fn serve_admitted(
        &self,
        reader: impl AsyncRead + Unpin + Send,
        writer: impl AsyncWrite + Unpin + Send,
        admitted: Admitted,
    ) -> Result<()> {
        Pipe { admitted, ..Pipe::new(self.clone(), reader, writer) }.run().await
    }
}

struct Pipe<R, W> {
    reader: R,
    writer: W,
    lines: Lines,
    out: Out,
    conversation: Arc<Conversation>,
    running: JoinSet<Option<Vec<u8>>>,
    /// The running requests by id, to cancel them.
    handles: HashMap<Id, AbortHandle>,
    /// The requests that are tasks.
    asked: HashMap<task::Id, Asked>,
    batches: Batches,
    listens: Arc<Semaphore>,
    /// What handlers say while they run. Bounded: one that says more than the peer reads has to wait.
    said: mpsc::Receiver<Said>,
    outbound: Outbound,
    closing: Arc<CancellationToken>,
    /// Who the peer is.
    admitted: Admitted,
    open: bool,
    /// When the pipe is given up, once the input has ended.
    deadline: Instant,
}

/// What an answer needs to find its way.
struct Asked {
    id: Id,
    /// Where it belongs, if the request came in a batch.
    place: Option<Place>,
}

/// Bytes on their way to the peer.
#[derive(Default)]
struct Out {
    waiting: Vec<u8>,
    written: usize,
    unflushed: bool,
}

impl<R: AsyncRead + Unpin + Send, W: AsyncWrite + Unpin + Send> Pipe<R, W> {
    fn new(server: Server, reader: R, writer: W) -> Self {
        let (sender, said) = mpsc::channel(MAX_SAID);
        Self {
            said,
            outbound: Outbound::to(sender),
            closing: Arc::default(),
            admitted: Admitted::default(),
            reader,
            writer,
            lines: Lines::new(server.inner.max_frame),
            out: Out::default(),
            conversation: Arc::new(Conversation::new(server)),
            running: JoinSet::new(),
            handles: HashMap::new(),
            asked: HashMap::new(),
            batches: Batches::default(),
            listens: Arc::new(Semaphore::new(MAX_LISTENS)),
            open: true,
            deadline: Instant::now(),
        }
    }

    async fn run(mut self) -> Result<()> {
        loop {
            while self.has_room() {
                match self.lines.next_line() {
                    Some(line) => self.take(line).await,
                    None => break,
                }
            }
            if !self.open && self.running.is_empty() && self.out.is_done() {
                return Ok(());
            }
            match self.step().await {
                Ok(Step::Go) => {}
                Ok(Step::End) => return Ok(()),
                Err(error) if is_gone(&error) => return Ok(()),
                Err(error) => return Err(Error::new(ErrorKind::Transport, "the pipe broke").caused_by(error)),
            }
        }
    }

    /// Tells a peer that it was not let in, as soon as it asks for anything, and then goes.
    async fn turn_away(mut self, refuse: &Refuse) -> Error {
        while self.open && self.out.is_done() {
            // Whatever is wrong with the pipe, the refusal is what there is to tell.
            self.open = self.lines.fill(&mut self.reader).await.unwrap_or(false);
            while self.has_room()
                && let Some(line) = self.lines.next_line()
            {
                self.turn_down(line, refuse);
            }
        }
        // A peer that does not read its answer is not waited for without end.
        let _ = tokio::time::timeout(GRACE, self.out.write_all(&mut self.writer)).await;
        Error::new(ErrorKind::NotAdmitted, format!("the connection was refused: {refuse}"))
    }

    /// Whatever wants an answer gets the refusal.
    fn turn_down(&mut self, line: Line, refuse: &Refuse) {
        let id = match line {
            Line::TooLong => None,
            Line::Text(frame) => match self.conversation.read(&frame) {
                Ok(Incoming::One(Message::Request { id, .. })) => Some(id),
                Err(rejected) if rejected.wants_answer() => rejected.id,
                Ok(_) | Err(_) => return,
            },
        };
        self.refuse(None, &Rejected { id, error: refuse.error() });
    }

    /// Whether more may be read and said. What runs does not count: cancels, pings and answers must always come through.
    fn has_room(&self) -> bool {
        self.out.waiting.len() < MAX_WAITING
    }

    /// Waits for whichever comes first: room to write, a finished request, more input.
    async fn step(&mut self) -> io::Result<Step> {
        let has_room = self.has_room();
        tokio::select! {
            biased;
            written = self.out.write(&mut self.writer), if !self.out.is_done() => written?,
            Some(done) = self.running.join_next_with_id(), if !self.running.is_empty() => match done {
                Ok((task, frame)) => self.finish(task, frame),
                // A cancelled request has no answer. A panic outside of user code is ours; it costs this answer.
                Err(error) => self.finish(error.id(), None),
            },
            Some(said) = self.said.recv(), if has_room => self.out.say(said),
            () = self.conversation.changed(), if has_room => self.conversation.tell(&mut self.out.waiting),
            more = self.lines.fill(&mut self.reader), if self.open && has_room => {
                self.open = more?;
                if !self.open {
                    self.deadline = Instant::now() + GRACE;
                    self.closing.cancel();
                }
            }
            () = tokio::time::sleep_until(self.deadline), if !self.open => return Ok(Step::End),
        }
        Ok(Step::Go)
    }

    async fn take(&mut self, line: Line) {
        let frame = match line {
            Line::Text(frame) => frame,
            Line::TooLong => {
                let error = RpcError::invalid_request("the message is too long");
                return self.refuse(None, &Rejected { id: None, error });
            }
        };
        match self.conversation.read(&frame) {
            Ok(Incoming::One(message)) => self.take_one(None, message).await,
            Ok(Incoming::Batch(messages)) => self.take_batch(messages).await,
            Err(rejected) => self.refuse(None, &rejected),
        }
    }

    async fn take_batch(&mut self, messages: Vec<Result<Message, Rejected>>) {
        // A request that never ends keeps the answers of its batch here. Where nothing is started, nothing is kept.
        let is_full = self.batches.held() >= MAX_WAITING;
        let place = self.batches.open(&messages);
        for (index, message) in messages.into_iter().enumerate() {
            let place = Some(place(index));
            match message {
                Ok(Message::Request { id, method, .. }) if is_full && method != Method::Ping => {
                    let error = busy("too many answers wait for the rest of their batch");
                    self.refuse(place, &Rejected { id: Some(id), error });
                }
                Ok(message) => self.take_one(place, message).await,
                Err(rejected) => self.refuse(place, &rejected),
            }
        }
    }

    async fn take_one(&mut self, place: Option<Place>, message: Message) {
        match &message {
            Message::Request { id, .. } => {
                let asked = Asked { id: id.clone(), place };
                self.start(Some(asked), message).await;
            }
            Message::Notification { method: Method::Cancelled, params } => self.cancel(params),
            Message::Notification { .. } => self.start(None, message).await,
            // We have asked nothing that could be answered.
            Message::Response { .. } => {}
        }
    }

    /// Runs a request, in place if it is quick.
    async fn start(&mut self, asked: Option<Asked>, message: Message) {
        let place = asked.as_ref().and_then(|asked| asked.place);
        if let Some(Asked { id, .. }) = &asked
            && self.handles.contains_key(id)
        {
            let error = RpcError::invalid_request("a request with this id is still running");
            return self.refuse(place, &Rejected { id: Some(id.clone()), error });
        }
        if self.running.len() >= MAX_RUNNING && !is_quick(&message) {
            // A notification has no answer that could say so.
            if let Some(Asked { id, .. }) = asked {
                let error = busy("too many requests of this connection are running");
                self.refuse(place, &Rejected { id: Some(id), error });
            }
            return;
        }
        let conversation = self.conversation.clone();
        let arrival = Arrival {
            outbound: self.outbound.clone(),
            closing: Some(self.closing.clone()),
            listens: Some(self.listens.clone()),
            principal: self.admitted.principal.clone(),
            extensions: self.admitted.extensions.clone(),
            ..Arrival::default()
        };
        let mut work: Pin<Box<dyn Future<Output = Option<Vec<u8>>> + Send>> =
            Box::pin(async move { conversation.serve(message, arrival).await });
        let first = std::future::poll_fn(|cx| Poll::Ready(work.as_mut().poll(cx))).await;
        match first {
            Poll::Ready(frame) => self.answer(place, frame),
            Poll::Pending => {
                let handle = self.running.spawn(work);
                if let Some(asked) = asked {
                    let task = handle.id();
                    self.handles.insert(asked.id.clone(), handle);
                    self.asked.insert(task, asked);
                }
            }
        }
    }

    fn finish(&mut self, task: task::Id, frame: Option<Vec<u8>>) {
        let asked = self.asked.remove(&task);
        // The id may be in use again by another request, if this one was cancelled.
        if let Some(Asked { id, .. }) = &asked
            && self.handles.get(id).is_some_and(|handle| handle.id() == task)
        {
            self.handles.remove(id);
        }
        self.answer(asked.and_then(|asked| asked.place), frame);
    }

    /// What a request has said comes before its answer.
    fn answer(&mut self, place: Option<Place>, frame: Option<Vec<u8>>) {
        while let Ok(said) = self.said.try_recv() {
            self.out.say(said);
        }
        self.put(place, frame);
    }

    fn refuse(&mut self, place: Option<Place>, rejected: &Rejected) {
        if rejected.wants_answer() {
            let mut frame = Vec::new();
            write_error(&mut frame, rejected.id.as_ref(), &rejected.error);
            self.put(place, Some(frame));
        }
    }

    /// Sends an answer, or keeps it until its batch is whole.
    fn put(&mut self, place: Option<Place>, frame: Option<Vec<u8>>) {
        let frame = match place {
            Some(place) => self.batches.settle(place, frame),
            None => frame,
        };
        if let Some(frame) = frame {
            push_line(&mut self.out.waiting, &frame);
        }
    }

    /// An id that is not running, or a malformed cancel, is nothing to talk about.
    fn cancel(&mut self, params: &Params) {
        let cancelled = params.decode::<Cancelled>().ok().and_then(|cancelled| cancelled.request_id);
        if let Some(handle) = cancelled.and_then(|id| self.handles.remove(&id)) {
            handle.abort();
        }
    }
}

/// Whether a message is answered at once whatever else runs.
fn is_quick(message: &Message) -> bool {
    match message {
        Message::Request { method, .. } => {
            matches!(method, Method::Ping | Method::Initialize | Method::Discover)
        }
        Message::Notification { method, .. } => *method == Method::Initialized,
        Message::Response { .. } => true,
    }
}

enum Step {
    Go,
    End,
}

impl Out {
    fn say(&mut self, said: Said) {
        if let Some(frame) = said.into_frame() {
            push_line(&mut self.waiting, &frame);
        }
    }

    fn is_done(&self) -> bool {
        self.waiting.is_empty() && !self.unflushed
    }

    async fn write_all(&mut self, writer: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
        while !self.is_done() {
            self.write(writer).await?;
        }
        Ok(())
    }

    /// Writes some. Safe to drop at any point: what was written is taken off at once.
    async fn write(&mut self, writer: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
        if self.waiting.is_empty() {
            writer.flush().await?;
            self.unflushed = false;
            return Ok(());
        }
        let mut rest = &self.waiting[self.written..];
        writer.write_buf(&mut rest).await?;
        let left = rest.remaining();
        self.written = self.waiting.len() - left;
        self.unflushed = true;
        if left == 0 {
            self.waiting.clear();
            self.written = 0;
        }
        Ok(())
    }
}

/// The other side went away; on a pipe that is how a conversation ends.
fn is_gone(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionAborted
    )
}

/// What one peer has said so far, on a pipe or in process: at most one handshake, and any number of requests
/// that speak for themselves beside it.
#[derive(Debug)]
pub(crate) struct Conversation {
    server: Server,
    opened: OnceLock<Session>,
    unopened: Session,
    lifecycle: Mutex<Lifecycle>,
    listener: Option<Arc<Listener>>,
}

impl Conversation {
    /// A conversation that hears of changes.
    pub(crate) fn new(server: Server) -> Self {
        let listener = server.inner.changes.listen();
        Self::with(server, Some(listener))
    }

    /// A conversation with somebody who cannot be told anything.
    pub(crate) fn deaf(server: Server) -> Self {
        Self::with(server, None)
    }

    fn with(server: Server, listener: Option<Arc<Listener>>) -> Self {
        Self {
            server,
            opened: OnceLock::new(),
            // Nobody who has not opened a conversation is told anything.
            unopened: Session::unopened(Lifecycle::default().version(), None),
            lifecycle: Mutex::default(),
            listener,
        }
    }

    fn lifecycle(&self) -> MutexGuard<'_, Lifecycle> {
        self.lifecycle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until there may be something to tell.
    pub(crate) async fn changed(&self) {
        match &self.listener {
            Some(listener) => listener.changed().await,
            None => std::future::pending().await,
        }
    }

    /// Appends a line for each change. Only a conversation that was opened by a handshake hears of them unasked, and only
    /// once the client has said that it is ready; until then they are kept.
    pub(crate) fn tell(&self, out: &mut Vec<u8>) {
        let (Some(session), Some(listener)) = (self.opened.get(), &self.listener) else { return };
        if !self.lifecycle().may_tell(&Method::ToolsChanged) {
            return;
        }
        for news in listener.take() {
            let mut frame = Vec::new();
            news.write(&mut frame, session.version());
            push_line(out, &frame);
        }
    }

    /// Reads one frame. The messages of a batch may be there; what may not was refused.
    pub(super) fn read(&self, frame: &Bytes) -> Result<Incoming, Rejected> {
        match parse(frame, self.server.inner.limits)? {
            Incoming::Batch(messages) => {
                let version = self.lifecycle().version();
                let messages = batch::judge(version, messages);
                messages.map(Incoming::Batch).map_err(|error| Rejected { id: None, error })
            }
            one @ Incoming::One(_) => Ok(one),
        }
    }

    /// Reads one frame for somebody who takes one message at a time.
    pub(crate) fn read_one(&self, frame: &Bytes) -> Result<Message, Rejected> {
        match parse(frame, self.server.inner.limits)? {
            Incoming::One(message) => Ok(message),
            Incoming::Batch(_) => Err(Rejected { id: None, error: batch::refused() }),
        }
    }

    /// Takes one message; only requests have an answer.
    pub(crate) async fn serve(&self, message: Message, arrival: Arrival) -> Option<Vec<u8>> {
        let claim = classify(&message, Door::Pipe);
        match message {
            Message::Request { id, method, params } => Some(match claim {
                Ok(Claim::Stateless(Some(envelope))) => {
                    stateless::serve(&self.server, &id, &method, &params, envelope, arrival).await.0
                }
                Ok(Claim::Handshake(_)) if method == Method::Initialize => self.open(&id, &params),
                Ok(Claim::Handshake(_) | Claim::Stateless(None)) => {
                    handshake::serve(&self.server, self.session(), &id, &method, &params, arrival).await
                }
                Err(error) => failed(&id, &error),
            }),
            Message::Notification { method: Method::Initialized, .. } => {
                self.lifecycle().initialized();
                if let Some(listener) = &self.listener {
                    listener.rouse();
                }
                None
            }
            Message::Notification { method, params } if self.server.hears(&method) => {
                match claim {
                    Ok(Claim::Stateless(envelope)) => {
                        stateless::hear(&self.server, &method, &params, envelope, arrival).await;
                    }
                    Ok(Claim::Handshake(_)) => {
                        handshake::hear(&self.server, self.session(), &method, &params, arrival).await;
                    }
                    Err(_) => {}
                }
                None
            }
            Message::Notification { .. } | Message::Response { .. } => None,
        }
    }

    fn session(&self) -> &Session {
        self.opened.get().unwrap_or(&self.unopened)
    }

    fn open(&self, id: &Id, params: &Params) -> Vec<u8> {
        let mut lifecycle = self.lifecycle();
        match handshake::initialize(&self.server, &mut lifecycle, id, params, self.listener.clone()) {
            Ok((frame, session)) => {
                self.opened.get_or_init(|| session);
                frame
            }
            Err(error) => failed(id, &error),
        }
    }
}

fn failed(id: &Id, error: &RpcError) -> Vec<u8> {
    let mut frame = Vec::new();
    write_error(&mut frame, Some(id), error);
    frame
}
