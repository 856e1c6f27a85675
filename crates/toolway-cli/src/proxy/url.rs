//! How are lines passed on to a server at a URL, and what happens when its session ends? A new one is opened, and told
//! what the one before it knew: the host does not notice, except that requests that were under way fail.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::{mpsc, watch};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, sleep, timeout};
use toolway::client::record::Recorder;
use toolway::client::{Http, HttpRelay, RelayedMessages};
use toolway::{Error, ErrorKind};
use toolway_protocol::Id;
use toolway_protocol::jsonrpc::{OversizedMessage, OversizedMessageReader, write_error};

use super::ledger::{Ledger, Verdict, error_line};
use super::line::Message;
use super::line_reader::{LineReader, Piece};
use crate::console::Console;
use crate::failure::{Failure, Fault, Result, chain};
use crate::location::{Address, login_hint};

/// The maximum number of requests of a host that are under way at once. Further ones are answered with an error.
const MAX_OPEN: usize = 1_000;

/// The maximum number of lines that wait for the host to read them.
const MAX_UNREAD: usize = 64;

/// How long a request waits for a server that cannot be reached, but was reached before: it may be started again.
const UNREACHABLE_TIMEOUT: Duration = Duration::from_secs(30);

/// How long a server may take to answer when the conversation is opened again.
const OPENING_TIMEOUT: Duration = Duration::from_secs(60);

/// How long the server may take to accept `notifications/initialized` before other messages are sent.
const NOTIFICATION_TIMEOUT: Duration = Duration::from_secs(10);

/// How long requests may still run when the host has closed its input.
const CLOSING_TIMEOUT: Duration = Duration::from_secs(10);

/// The first wait before a server that cannot be reached is tried again. The wait doubles each time.
const FIRST_WAIT: Duration = Duration::from_millis(100);

/// The longest such wait.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// The maximum number of sessions that one request opens because the server does not know the one before.
const MAX_REOPENED: u32 = 3;

/// A server at a URL.
pub(crate) struct UrlServer {
    pub(crate) address: Address,
    pub(crate) recorder: Option<Recorder>,
    /// The maximum size of a message in bytes.
    pub(crate) max_message: Option<usize>,
}

impl UrlServer {
    async fn http(&self) -> Result<Http> {
        // No user can be asked here: stdin and stdout belong to the host. Tokens that are kept are looked for each time,
        // because the user may sign in meanwhile.
        let mut http = self.address.signed_in(&Console::new(false, true)).await?;
        if let Some(bytes) = self.max_message {
            http = http.max_message(bytes);
        }
        Ok(match &self.recorder {
            Some(recorder) => http.recorder(recorder),
            None => http,
        })
    }

    async fn open(&self) -> Result<(Arc<HttpRelay>, RelayedMessages)> {
        let http = self.http().await?;
        let (relay, messages) =
            http.open_relay().await.map_err(|error| Failure::from_error(Fault::of(&error), &error))?;
        Ok((Arc::new(relay), messages))
    }

    /// Returns the text and the reason of the error for a request that has no reply.
    fn explain(&self, error: &Error) -> (String, &'static str) {
        let text = chain(error);
        if Fault::of(error) == Fault::AuthNeeded && error.needs_sign_in() {
            return (format!("{text}; {}", login_hint(&self.address)), "signInRequired");
        }
        if error.is_too_large() {
            return (text, "messageTooLarge");
        }
        if error.is_session_ended() || error.is_reply_lost() {
            let lost = "the server ended before it answered: whether it has done the work is not known";
            return (format!("{lost} ({text})"), "serverEnded");
        }
        if error.is_unsent() {
            let text = match error.retry_after() {
                Some(pause) => format!("{text}; the server asks to wait {} s", pause.as_secs()),
                None => text,
            };
            return (text, "serverUnreachable");
        }
        (text, "serverFailed")
    }
}

/// Passes lines on between a host and a server at a URL, until the host closes its input.
pub(crate) async fn relay(
    server: Arc<UrlServer>,
    host_input: impl AsyncRead + Unpin,
    mut host_output: impl AsyncWrite + Unpin,
) -> Result<()> {
    let (to_host, mut lines) = mpsc::channel::<Vec<u8>>(MAX_UNREAD);
    let link = Link::open(server, to_host).await?;
    let _guard = PumpGuard(Arc::downgrade(&link));
    let reading = Box::pin(read_host(link, host_input));
    let writing = async {
        while let Some(line) = lines.recv().await {
            host_output.write_all(&line).await?;
            host_output.flush().await?;
        }
        Ok::<(), std::io::Error>(())
    };
    let mut writing = Box::pin(writing);
    let failed = |error| Failure::usage(format!("stdin or stdout failed: {error}"));
    tokio::select! {
        outcome = reading => {
            outcome?;
            // What is left for the host.
            writing.await.map_err(failed)
        }
        outcome = &mut writing => outcome.map_err(failed),
    }
}

/// A host, and the conversation with its server.
struct Link {
    server: Arc<UrlServer>,
    ledger: Mutex<Ledger>,
    to_host: mpsc::Sender<Vec<u8>>,
    current: watch::Sender<Arc<HttpRelay>>,
    /// Held while a conversation is opened.
    opening: tokio::sync::Mutex<()>,
    /// The tasks that read from servers, or tell them what lasts.
    pumps: Mutex<JoinSet<()>>,
    /// `true` when the host has left and its requests are over: what has come from the servers is all that comes.
    is_over: watch::Sender<bool>,
    /// The requests of the host that are under way, by the text of their id.
    open: Mutex<HashMap<String, OpenRequest>>,
    /// `true` when the server has said something.
    was_reached: AtomicBool,
}

struct OpenRequest {
    task: AbortHandle,
    kind: RequestKind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum RequestKind {
    /// It belongs to a session.
    Handshake,
    /// It describes itself.
    Stateless,
    /// A subscription, which ends when the host wants it.
    Listen,
}

/// Ends the tasks of a link that is dropped: each of them holds the link.
struct PumpGuard(Weak<Link>);

impl Drop for PumpGuard {
    fn drop(&mut self) {
        if let Some(link) = self.0.upgrade() {
            lock(&link.pumps).abort_all();
        }
    }
}

/// Reads what the host says until it has closed its input, and waits for the requests that are under way then.
async fn read_host(link: Arc<Link>, host_input: impl AsyncRead + Unpin) -> Result<()> {
    let mut input = LineReader::with_limit(host_input, link.server.max_message);
    let mut tasks = JoinSet::new();
    let mut keeper = JoinSet::new();
    keeper.spawn(link.clone().keep_open());
    let mut skipped = None;
    let outcome = loop {
        let piece = tokio::select! {
            piece = input.next() => piece,
            Some(_) = tasks.join_next(), if !tasks.is_empty() => continue,
        };
        match piece {
            Ok(Some(Piece::Line(bytes))) => {
                for text in Message::split(&bytes) {
                    link.take_message(text, &mut tasks, &mut input).await;
                }
            }
            Ok(Some(Piece::Part(bytes))) => link.skip_part(&mut skipped, &bytes).await,
            Ok(None) => break Ok(()),
            Err(error) => break Err(Failure::usage(format!("stdin failed: {error}"))),
        }
    };
    for request in lock(&link.open).values().filter(|request| request.kind == RequestKind::Listen) {
        request.task.abort();
    }
    let _ = timeout(CLOSING_TIMEOUT, async { while tasks.join_next().await.is_some() {} }).await;
    // Everything that can send lines to the host ends here, so that the writer ends too.
    keeper.shutdown().await;
    tasks.shutdown().await;
    let _ = link.current().close().await;
    // A reply may have come that is not passed on yet.
    link.is_over.send_replace(true);
    let mut pumps = std::mem::take(&mut *lock(&link.pumps));
    let _ = timeout(CLOSING_TIMEOUT, async { while pumps.join_next().await.is_some() {} }).await;
    pumps.shutdown().await;
    outcome
}

impl Link {
    async fn open(server: Arc<UrlServer>, to_host: mpsc::Sender<Vec<u8>>) -> Result<Arc<Self>> {
        let (relay, messages) = server.open().await?;
        let link = Arc::new(Self {
            server,
            ledger: Mutex::default(),
            to_host,
            current: watch::Sender::new(relay),
            opening: tokio::sync::Mutex::default(),
            pumps: Mutex::default(),
            is_over: watch::Sender::new(false),
            open: Mutex::default(),
            was_reached: AtomicBool::new(false),
        });
        link.pump(messages);
        Ok(link)
    }

    fn current(&self) -> Arc<HttpRelay> {
        self.current.borrow().clone()
    }

    /// Starts to pass on what a server says.
    fn pump(self: &Arc<Self>, mut messages: RelayedMessages) {
        let (link, mut over) = (self.clone(), self.is_over.subscribe());
        let mut pumps = lock(&self.pumps);
        while pumps.try_join_next().is_some() {}
        pumps.spawn(async move {
            loop {
                let message = tokio::select! {
                    biased;
                    message = messages.next() => message,
                    _ = over.wait_for(|is_over| *is_over) => None,
                };
                let Some(message) = message else { break };
                link.was_reached.store(true, Ordering::Relaxed);
                link.pass_down(&message).await;
            }
        });
    }

    /// Passes on what the server says.
    async fn pass_down(&self, message: &[u8]) {
        let line = [message, b"\n"].concat();
        let verdict = lock(&self.ledger).note_server_line(&line);
        match verdict {
            Verdict::Pass => self.tell_host(line).await,
            Verdict::Instead(line) => self.tell_host(line).await,
            Verdict::Drop => {}
        }
    }

    async fn tell_host(&self, line: Vec<u8>) {
        // It fails when the host is gone.
        let _ = self.to_host.send(line).await;
    }

    /// Passes on a message of the host.
    async fn take_message<R: AsyncRead + Unpin>(
        self: &Arc<Self>,
        text: Vec<u8>,
        tasks: &mut JoinSet<()>,
        input: &mut LineReader<R>,
    ) {
        if text.is_empty() {
            return;
        }
        let verdict = lock(&self.ledger).note_host_line(&text);
        let text = match verdict {
            Verdict::Pass => text,
            Verdict::Instead(line) => line.trim_ascii_end().to_owned(),
            Verdict::Drop => return,
        };
        let messages = Message::read(&text);
        let Some(message) = messages.first() else {
            let error = "the line of the host is not a message";
            return self.tell_host(error_line("null", error, "invalidMessage")).await;
        };
        match (message.request(), message.method.as_deref()) {
            (Some((id, "initialize")), _) if !message.is_stateless() => {
                let id = id.to_owned();
                // The session begins with the reply, so nothing is sent before it. A host that leaves ends the wait.
                tokio::select! {
                    () = self.initialize(&id, &text) => {}
                    _ = input.ended() => {}
                }
            }
            (Some((id, method)), _) => {
                let kind = match method {
                    "subscriptions/listen" => RequestKind::Listen,
                    _ if message.is_stateless() => RequestKind::Stateless,
                    _ => RequestKind::Handshake,
                };
                self.start(id.to_owned(), text.clone(), kind, tasks).await;
            }
            (None, Some("notifications/initialized")) => {
                // Requests that follow need it. A server that does not accept it in time gets them anyway.
                let _ = timeout(NOTIFICATION_TIMEOUT, self.current().send(text.clone())).await;
            }
            (None, Some("notifications/cancelled")) => {
                let cancelled = message.param("requestId").map(|id| id.get().to_owned());
                self.cancel(cancelled.as_deref(), &text, tasks).await;
            }
            (None, _) => self.notify(text.clone(), tasks).await,
        }
    }

    /// Sends a message that gets no reply.
    async fn notify(&self, text: Vec<u8>, tasks: &mut JoinSet<()>) {
        while tasks.len() >= MAX_OPEN {
            tasks.join_next().await;
        }
        let relay = self.current();
        tasks.spawn(async move {
            // There is no reply that could say so.
            let _ = timeout(NOTIFICATION_TIMEOUT, relay.send(text)).await;
        });
    }

    /// Cancels a request of the host.
    async fn cancel(&self, id: Option<&str>, text: &[u8], tasks: &mut JoinSet<()>) {
        let cancelled = id.and_then(|id| lock(&self.open).remove(id));
        match cancelled {
            Some(OpenRequest { task, kind }) => {
                // Also makes room for the notification.
                task.abort();
                // In the stateless era, closing its stream cancels it.
                if kind == RequestKind::Handshake {
                    self.notify(text.to_owned(), tasks).await;
                }
            }
            // It was answered, or is not a request of this host.
            None => self.notify(text.to_owned(), tasks).await,
        }
    }

    /// Starts a request of the host.
    async fn start(self: &Arc<Self>, id: String, text: Vec<u8>, kind: RequestKind, tasks: &mut JoinSet<()>) {
        let running = lock(&self.open).len();
        if running >= MAX_OPEN {
            let error = format!("{MAX_OPEN} requests are under way, and the proxy passes on no more at once");
            return self.fail(&id, &error, "tooManyRequests").await;
        }
        let (link, own_id) = (self.clone(), id.clone());
        // Locked until the request is in the table, so that the task cannot remove it before.
        let mut open = lock(&self.open);
        let task = tasks.spawn(async move {
            link.deliver(&own_id, &text, kind).await;
            lock(&link.open).remove(&own_id);
        });
        open.insert(id, OpenRequest { task, kind });
    }

    /// Sends a request until it is answered: by the server, or by an error.
    async fn deliver(self: &Arc<Self>, id: &str, text: &[u8], kind: RequestKind) {
        let begun = Instant::now();
        let (mut reopened, mut wait, mut has_renewed) = (0, FIRST_WAIT, false);
        loop {
            let relay = self.current();
            let error = match relay.send(text.to_owned()).await {
                Ok(()) => return,
                Err(error) => error,
            };
            let was_reached = self.was_reached.load(Ordering::Relaxed);
            if kind == RequestKind::Handshake && error.is_session_ended() && reopened < MAX_REOPENED {
                // The server has not handled the request.
                reopened += 1;
                match self.reopen(&relay).await {
                    Ok(()) => continue,
                    Err(failure) => return self.fail(id, &failure.message, "serverUnreachable").await,
                }
            }
            if error.needs_sign_in() && !has_renewed && self.renew(&relay).await {
                has_renewed = true;
                continue;
            }
            let is_broken = error.is_unsent() || error.kind() == ErrorKind::Transport;
            let pause = wait.max(error.retry_after().unwrap_or_default());
            let may_wait = match kind {
                RequestKind::Listen => is_broken && was_reached,
                // A pause that the server asks for and that is longer is the host's to make.
                _ => error.is_unsent() && was_reached && begun.elapsed() + pause < UNREACHABLE_TIMEOUT,
            };
            if may_wait {
                sleep(pause).await;
                wait = (wait * 2).min(LONGEST_WAIT);
                continue;
            }
            return self.fail_with(id, &error).await;
        }
    }

    /// Looks for a token again after a server has refused, because the user may have signed in meanwhile. Returns whether
    /// the request can be tried again.
    async fn renew(self: &Arc<Self>, old: &Arc<HttpRelay>) -> bool {
        let _turn = self.opening.lock().await;
        if !Arc::ptr_eq(&self.current(), old) {
            return true;
        }
        if lock(&self.ledger).has_session() {
            return false;
        }
        let Ok((relay, messages)) = self.server.open().await else { return false };
        self.pump(messages);
        self.current.send_replace(relay);
        true
    }

    /// Answers a request of the host with the error of its transport.
    async fn fail_with(&self, id: &str, error: &Error) {
        if let Some(rpc) = error.rpc().filter(|_| !error.needs_sign_in()) {
            let mut line = Vec::new();
            write_error(&mut line, serde_json::from_str(id).ok().as_ref(), rpc);
            line.push(b'\n');
            return self.answer(id, line).await;
        }
        let (text, reason) = self.server.explain(error);
        self.fail(id, &text, reason).await;
    }

    async fn fail(&self, id: &str, text: &str, reason: &str) {
        self.answer(id, error_line(id, text, reason)).await;
    }

    /// Answers a request in place of the server.
    async fn answer(&self, id: &str, line: Vec<u8>) {
        let is_open = lock(&self.ledger).end_request(id);
        if is_open {
            self.tell_host(line).await;
        }
    }

    /// Opens the session that the host asks for.
    async fn initialize(self: &Arc<Self>, id: &str, text: &[u8]) {
        {
            let _turn = self.opening.lock().await;
            // Nothing of an earlier session matters to the new one.
            match self.server.open().await {
                Ok((relay, messages)) => {
                    self.pump(messages);
                    let old = self.current.send_replace(relay);
                    let _ = old.close().await;
                }
                Err(failure) => return self.fail(id, &failure.message, "serverUnreachable").await,
            }
        }
        self.deliver(id, text, RequestKind::Stateless).await;
    }

    /// Opens a session in the place of one that has ended, as soon as it ends.
    async fn keep_open(self: Arc<Self>) {
        let mut changes = self.current.subscribe();
        loop {
            let relay = changes.borrow_and_update().clone();
            relay.ended().await;
            match self.reopen(&relay).await {
                Ok(()) => {}
                Err(failure) => {
                    crate::console::write_stderr(&format!("toolway proxy: {}\n", failure.message));
                    // The next request tries again.
                    if changes.changed().await.is_err() {
                        return;
                    }
                }
            }
        }
    }

    /// Opens another session after `old` has ended, and tells the server what `old` knew.
    async fn reopen(self: &Arc<Self>, old: &Arc<HttpRelay>) -> Result<()> {
        let _turn = self.opening.lock().await;
        if !Arc::ptr_eq(&self.current(), old) {
            return Ok(());
        }
        let lines = lock(&self.ledger).end_questions();
        for line in lines {
            self.tell_host(line).await;
        }
        let begun = Instant::now();
        let mut wait = FIRST_WAIT;
        loop {
            match self.open_again().await {
                Ok(()) => return Ok(()),
                Err(Failure { fault: Fault::Unreachable, .. }) if begun.elapsed() < UNREACHABLE_TIMEOUT => {
                    sleep(wait).await;
                    wait = (wait * 2).min(LONGEST_WAIT);
                }
                Err(failure) => return Err(failure),
            }
        }
    }

    async fn open_again(self: &Arc<Self>) -> Result<()> {
        let (relay, mut messages) = self.server.open().await?;
        let opening = lock(&self.ledger).opening();
        if let Some((line, id)) = opening {
            let answered = timeout(OPENING_TIMEOUT, self.initialize_again(&relay, &mut messages, &line, &id));
            answered.await.unwrap_or_else(|_| {
                let text = "the server did not answer when its session was opened again";
                Err(Failure::new(Fault::Unreachable, text))
            })?;
        }
        let mut settings = lock(&self.ledger).settings().into_iter();
        // The first is `notifications/initialized`, if the host has sent it.
        if let Some(initialized) = settings.next() {
            let _ = timeout(NOTIFICATION_TIMEOUT, relay.send(initialized)).await;
        }
        self.pump(messages);
        let telling = relay.clone();
        lock(&self.pumps).spawn(async move {
            for line in settings {
                // The ledger drops the replies.
                let _ = timeout(OPENING_TIMEOUT, telling.send(line)).await;
            }
        });
        self.current.send_replace(relay);
        Ok(())
    }

    /// Repeats the host's `initialize`, and waits for the answer, which is not the host's.
    async fn initialize_again(
        &self,
        relay: &HttpRelay,
        messages: &mut RelayedMessages,
        line: &[u8],
        id: &str,
    ) -> Result<()> {
        let mut sending = Box::pin(relay.send(line.to_owned()));
        let mut is_sent = false;
        loop {
            tokio::select! {
                biased;
                message = messages.next() => {
                    let Some(message) = message else {
                        return Err(Failure::new(Fault::Unreachable, "the session was closed"));
                    };
                    let read = Message::read(&message);
                    match read.first().filter(|answer| answer.response() == Some(id)) {
                        Some(answer) if answer.has_result() => return Ok(()),
                        Some(_) => {
                            let text = "the server refuses to open the session again";
                            return Err(Failure::new(Fault::ToolError, text));
                        }
                        None => self.pass_down(&message).await,
                    }
                }
                outcome = &mut sending, if !is_sent => {
                    is_sent = true;
                    outcome.map_err(|error| Failure::new(Fault::of(&error), self.server.explain(&error).0))?;
                }
            }
        }
    }

    /// Skips a line of the host that is too long. At its end, its request is answered.
    async fn skip_part(&self, reader: &mut Option<OversizedMessageReader>, part: &[u8]) {
        reader.get_or_insert_default().push(part);
        if !part.ends_with(b"\n") {
            return;
        }
        let id = match reader.take().map(OversizedMessageReader::finish) {
            Some(OversizedMessage::Request(Id::Number(id))) => id.to_string(),
            Some(OversizedMessage::Request(Id::String(id))) => serde_json::Value::from(&*id).to_string(),
            Some(OversizedMessage::Unknown) | None => "null".to_owned(),
            Some(OversizedMessage::Notification | OversizedMessage::Reply(_)) => return,
        };
        let text = "the line of the host is longer than the proxy passes on";
        self.tell_host(error_line(&id, text, "messageTooLarge")).await;
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
