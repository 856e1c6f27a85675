//! How are HTTP/2 without TLS and HTTP/1.1 spoken on the same socket?
//!
//! A client of HTTP/2 that knows what it talks to begins with a fixed text, which no request of HTTP/1.1 begins with. The
//! first bytes are held against it, and whoever goes on gets them back.
//!
//! HTTP/2 lets one connection do what took many before, so each thing that it can pile up has a limit here: requests at the
//! same time, tasks that serve them, requests taken back, headers, bytes in both directions, and time without any of these.

#[path = "h1.rs"]
mod h1;

use std::convert::Infallible;
use std::io::Cursor;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Buf, Bytes};
use http_body::{Body, Frame, SizeHint};
use hyper::rt::Executor;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::door::body::HttpBody;
use super::door::endpoint::BoxError;
use super::service::HttpService;

use crate::ground::mutex::Mutex;

/// Answers everything that comes on one connection.
pub(super) async fn converse(
    service: &HttpService,
    mut socket: TcpStream,
    remote: SocketAddr,
) -> Result<(), BoxError> {
    let mut start = Start::default();
    let version = tokio::select! {
        version = start.read(&mut socket) => version?,
        () = tokio::time::sleep(service.endpoint().limits.head_timeout) => return Ok(()),
        () = service.endpoint().closing().cancelled() => return Ok(()),
    };
    let (reader, writer) = socket.into_split();
    let socket = tokio::io::join(start.into_reader().chain(reader), writer);
    match version {
        Version::Http1 => h1::converse(service, socket, remote).await?,
        // In a box: what it needs is large, and connections of HTTP/1.1 would reserve it.
        Version::Http2 => Box::pin(speak(service, socket, remote)).await?,
    }
    Ok(())
}

/// What a connection of HTTP/2 begins with (RFC 9113, section 3.4).
const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

enum Version {
    Http1,
    Http2,
}

/// The first bytes of a connection.
#[derive(Default)]
struct Start {
    bytes: [u8; PREFACE.len()],
    length: usize,
}

impl Start {
    /// Reads until it is known what is spoken. The end of the input is left to HTTP/1.1.
    async fn read(&mut self, socket: &mut TcpStream) -> std::io::Result<Version> {
        while self.length < PREFACE.len() {
            let count = socket.read(&mut self.bytes[self.length..]).await?;
            self.length += count;
            if count == 0 || self.bytes[..self.length] != PREFACE[..self.length] {
                return Ok(Version::Http1);
            }
        }
        Ok(Version::Http2)
    }

    fn into_reader(self) -> impl AsyncRead + Unpin {
        AsyncReadExt::take(Cursor::new(self.bytes), self.length as u64)
    }
}

async fn speak(
    service: &HttpService,
    socket: impl AsyncRead + AsyncWrite + Unpin,
    remote: SocketAddr,
) -> hyper::Result<()> {
    let limits = &service.endpoint().limits;
    let streams = u32::try_from(limits.h2_streams).unwrap_or(u32::MAX);
    // How many replies the server owes; every byte that goes out is a change as well.
    let owed = watch::Sender::new(0);
    // Dropped at the end of the connection, and the tasks with it.
    let tasks = Arc::new(Tasks { set: Mutex::default(), most: limits.h2_streams.saturating_mul(2) });
    let (shared, counter) = (service.clone(), owed.clone());
    let answer = service_fn(move |request| {
        let (service, owed) = (shared.clone(), counter.clone());
        async move {
            let debt = Debt::new(&owed);
            let response = service.route(request, remote).await;
            drop(debt);
            Ok::<_, Infallible>(response.map(|body| Watched { body, owed, debt: None }))
        }
    });
    let connection = http2::Builder::new(Streams(Arc::downgrade(&tasks)))
        .timer(TokioTimer::new())
        .max_concurrent_streams(streams)
        .max_pending_accept_reset_streams(TAKEN_BACK)
        .max_local_error_reset_streams(MISTAKES)
        .max_header_list_size(u32::try_from(limits.head).unwrap_or(u32::MAX))
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_send_buf_size(SEND_BUFFER)
        .keep_alive_interval(KEEP_ALIVE)
        .keep_alive_timeout(KEEP_ALIVE_TIMEOUT)
        .serve_connection(TokioIo::new(socket), answer);
    tokio::pin!(connection);
    let closing = &service.endpoint().closing();
    tokio::select! {
        outcome = connection.as_mut() => return outcome,
        () = closing.cancelled() => {}
        () = idle(&owed, limits.head_timeout) => {}
    }
    connection.as_mut().graceful_shutdown();
    tokio::select! {
        outcome = connection => outcome,
        // It was told that this is the end, and does not go.
        () = idle(&owed, limits.head_timeout) => Ok(()),
    }
}

/// Waits until the server has owed nothing, and no byte of a reply was taken, for so long. Frames that carry neither a request
/// nor a reply do not count: who sends only those wants nothing.
async fn idle(owed: &watch::Sender<usize>, time: Duration) {
    let mut changes = owed.subscribe();
    loop {
        let owes_nothing = *changes.borrow_and_update() == 0;
        // There is a sender, so there is always a next change.
        if !owes_nothing {
            let _ = changes.changed().await;
        } else if tokio::time::timeout(time, changes.changed()).await.is_err() {
            return;
        }
    }
}

/// The tasks of one connection: one for each request.
struct Tasks {
    set: Mutex<JoinSet<()>>,
    /// More than the requests that may be open: one that its client took back is not, but its task may not know yet.
    most: usize,
}

/// Runs requests as tasks of the connection. Each of them keeps one of these, so it must not keep them.
#[derive(Clone)]
struct Streams(Weak<Tasks>);

impl<F: Future<Output = ()> + Send + 'static> Executor<F> for Streams {
    fn execute(&self, stream: F) {
        let Some(tasks) = self.0.upgrade() else { return };
        let mut set = tasks.set.lock();
        while set.try_join_next().is_some() {}
        // A request that is dropped is reset.
        if set.len() < tasks.most {
            set.spawn(stream);
        }
    }
}

/// The server owes a reply, or more of it.
struct Debt(watch::Sender<usize>);

impl Debt {
    fn new(owed: &watch::Sender<usize>) -> Self {
        owed.send_modify(|number| *number += 1);
        Self(owed.clone())
    }
}

impl Drop for Debt {
    fn drop(&mut self) {
        self.0.send_modify(|number| *number -= 1);
    }
}

/// A body that knows who waits for whom: a stream without news has all the time, a client that does not take what is there
/// has not.
struct Watched {
    body: HttpBody,
    owed: watch::Sender<usize>,
    debt: Option<Debt>,
}

impl Body for Watched {
    type Data = WatchedBytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<WatchedBytes>, Infallible>>> {
        let Self { body, owed, debt } = &mut *self;
        let polled = Pin::new(body).poll_frame(cx);
        match polled {
            Poll::Pending => _ = debt.get_or_insert_with(|| Debt::new(owed)),
            Poll::Ready(_) => *debt = None,
        }
        polled.map_ok(|frame| frame.map_data(|bytes| WatchedBytes { bytes, owed: owed.clone() }))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Bytes that tell when they go out. That may be long after their request is done.
struct WatchedBytes {
    bytes: Bytes,
    owed: watch::Sender<usize>,
}

impl Buf for WatchedBytes {
    fn remaining(&self) -> usize {
        self.bytes.remaining()
    }

    fn chunk(&self) -> &[u8] {
        self.bytes.chunk()
    }

    fn advance(&mut self, count: usize) {
        self.bytes.advance(count);
        self.owed.send_modify(|_| ());
    }
}

/// How many requests may wait to be looked at after their client took them back; a client that does so by the thousand makes
/// work for nothing, and is sent away.
const TAKEN_BACK: usize = 20;
/// How many requests of one connection may break the rules of HTTP/2 before it is closed.
const MISTAKES: usize = 100;
/// How many bytes of a request may be on their way before anybody asked for them.
const STREAM_WINDOW: u32 = 256 << 10;
/// The same for all requests of a connection.
const CONNECTION_WINDOW: u32 = 1 << 20;
/// How many bytes of a reply may wait for their client.
const SEND_BUFFER: usize = 256 << 10;
/// How often a client is asked whether it is still there.
const KEEP_ALIVE: Duration = Duration::from_secs(30);
/// How long it may take to say so.
const KEEP_ALIVE_TIMEOUT: Duration = Duration::from_secs(20);
