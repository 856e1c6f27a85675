//! How does one socket serve both HTTP/2 without TLS (h2c) and HTTP/1.1?
//!
//! An HTTP/2 client starts with a fixed preface. No HTTP/1.1 request starts with these bytes. The server compares the
//! first bytes of the connection with the preface. Then it passes them on to the HTTP/2 or HTTP/1.1 implementation,
//! which serves the connection.
//!
//! One HTTP/2 connection can do the work of many HTTP/1.1 connections. So this file limits everything that a client can
//! accumulate on one connection: concurrent requests, the tasks that serve them, reset requests, headers, bytes in both
//! directions, and idle time.

#[path = "h1.rs"]
mod h1;

use std::convert::Infallible;
use std::io::Cursor;
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

use super::endpoint::body::ResponseBody;
use super::endpoint::request::{BoxError, SocketPeer};
use super::service::HttpService;

use crate::ground::mutex::Mutex;

/// Detects the HTTP version of a connection and serves every request on it.
pub(super) async fn serve_connection(
    service: &HttpService,
    mut socket: TcpStream,
    peer: SocketPeer,
) -> Result<(), BoxError> {
    let mut start = FirstBytes::default();
    let version = tokio::select! {
        version = start.read(&mut socket) => version?,
        () = tokio::time::sleep(service.endpoint().limits.head_timeout) => return Ok(()),
        () = service.endpoint().shutdown_token().cancelled() => return Ok(()),
    };
    let (reader, writer) = socket.into_split();
    let socket = tokio::io::join(start.into_reader().chain(reader), writer);
    match version {
        HttpVersion::Http1 => h1::serve_connection(service, socket, peer).await?,
        // Boxed: this future is large, and HTTP/1.1 connections would otherwise reserve space for it.
        HttpVersion::Http2 => Box::pin(serve_http2(service, socket, peer)).await?,
    }
    Ok(())
}

/// The preface of an HTTP/2 connection (RFC 9113, section 3.4).
const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

enum HttpVersion {
    Http1,
    Http2,
}

/// The first bytes of a connection.
#[derive(Default)]
struct FirstBytes {
    bytes: [u8; PREFACE.len()],
    length: usize,
}

impl FirstBytes {
    /// Reads until the HTTP version is known. If the input ends early, HTTP/1.1 handles it.
    async fn read(&mut self, socket: &mut TcpStream) -> std::io::Result<HttpVersion> {
        while self.length < PREFACE.len() {
            let count = socket.read(&mut self.bytes[self.length..]).await?;
            self.length += count;
            if count == 0 || self.bytes[..self.length] != PREFACE[..self.length] {
                return Ok(HttpVersion::Http1);
            }
        }
        Ok(HttpVersion::Http2)
    }

    fn into_reader(self) -> impl AsyncRead + Unpin {
        AsyncReadExt::take(Cursor::new(self.bytes), self.length as u64)
    }
}

async fn serve_http2(
    service: &HttpService,
    socket: impl AsyncRead + AsyncWrite + Unpin,
    peer: SocketPeer,
) -> hyper::Result<()> {
    let limits = &service.endpoint().limits;
    let streams = u32::try_from(limits.h2_streams).unwrap_or(u32::MAX);
    // The number of replies that the client waits for. A write of reply bytes also wakes the receivers, without
    // changing the number.
    let owed = watch::Sender::new(0);
    // Dropping the set at the end of the connection aborts the tasks.
    let tasks = Arc::new(Tasks { set: Mutex::default(), max: limits.h2_streams.saturating_mul(2) });
    let (shared, counter) = (service.clone(), owed.clone());
    let answer = service_fn(move |request| {
        let (service, owed, peer) = (shared.clone(), counter.clone(), peer.clone());
        async move {
            let debt = PendingReply::new(&owed);
            let response = service.route(request, &peer).await?;
            drop(debt);
            Ok::<_, Infallible>(response.map(|body| ActivityBody { body, owed, pending_reply: None }))
        }
    });
    let connection = http2::Builder::new(ConnectionExecutor(Arc::downgrade(&tasks)))
        .timer(TokioTimer::new())
        .max_concurrent_streams(streams)
        .max_pending_accept_reset_streams(MAX_PENDING_RESETS)
        .max_local_error_reset_streams(MAX_STREAM_ERRORS)
        .max_header_list_size(u32::try_from(limits.head).unwrap_or(u32::MAX))
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_send_buf_size(SEND_BUFFER)
        .keep_alive_interval(KEEP_ALIVE_INTERVAL)
        .keep_alive_timeout(KEEP_ALIVE_TIMEOUT)
        .serve_connection(TokioIo::new(socket), answer);
    tokio::pin!(connection);
    let closing = &service.endpoint().shutdown_token();
    tokio::select! {
        outcome = connection.as_mut() => return outcome,
        () = closing.cancelled() => {}
        // Clients finish their requests and open another connection for the next.
        () = service.endpoint().stop_announcement().cancelled() => {}
        () = wait_until_idle(&owed, limits.head_timeout) => {}
    }
    connection.as_mut().graceful_shutdown();
    tokio::select! {
        outcome = connection => outcome,
        // The connection was asked to shut down but stays open without activity.
        () = wait_until_idle(&owed, limits.head_timeout) => Ok(()),
    }
}

/// Waits until the connection has been idle for `time`: the client waited for no reply, and no byte of a reply was
/// written. Other frames do not count as activity: a client that sends only such frames does not need the connection.
async fn wait_until_idle(owed: &watch::Sender<usize>, time: Duration) {
    let mut changes = owed.subscribe();
    loop {
        let owes_nothing = *changes.borrow_and_update() == 0;
        // `owed` is a sender and is still alive, so `changed` does not fail.
        if !owes_nothing {
            let _ = changes.changed().await;
        } else if tokio::time::timeout(time, changes.changed()).await.is_err() {
            return;
        }
    }
}

/// The tasks of one connection, one for each request.
struct Tasks {
    set: Mutex<JoinSet<()>>,
    /// The maximum number of tasks. It is larger than the limit for open requests: after a client resets a request, the
    /// request is closed, but its task may still run.
    max: usize,
}

/// Spawns requests as tasks of the connection. Every task holds a clone of this executor, so the reference is weak.
#[derive(Clone)]
struct ConnectionExecutor(Weak<Tasks>);

impl<F: Future<Output = ()> + Send + 'static> Executor<F> for ConnectionExecutor {
    fn execute(&self, stream: F) {
        let Some(tasks) = self.0.upgrade() else { return };
        let mut set = tasks.set.lock();
        while set.try_join_next().is_some() {}
        // Above the maximum the future is dropped, which resets its request.
        if set.len() < tasks.max {
            set.spawn(stream);
        }
    }
}

/// Counts one reply that the client waits for, until this guard is dropped.
struct PendingReply(watch::Sender<usize>);

impl PendingReply {
    fn new(owed: &watch::Sender<usize>) -> Self {
        owed.send_modify(|number| *number += 1);
        Self(owed.clone())
    }
}

impl Drop for PendingReply {
    fn drop(&mut self) {
        self.0.send_modify(|number| *number -= 1);
    }
}

/// A body that records whether the client waits for the server. While the body has no data ready, the client waits, so
/// the connection is not idle. While data is ready but the client does not read it, the connection can become idle.
struct ActivityBody {
    body: ResponseBody,
    owed: watch::Sender<usize>,
    pending_reply: Option<PendingReply>,
}

impl Body for ActivityBody {
    type Data = ActivityBytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<ActivityBytes>, Infallible>>> {
        let Self { body, owed, pending_reply: debt } = &mut *self;
        let polled = Pin::new(body).poll_frame(cx);
        match polled {
            Poll::Pending => _ = debt.get_or_insert_with(|| PendingReply::new(owed)),
            Poll::Ready(_) => *debt = None,
        }
        polled.map_ok(|frame| frame.map_data(|bytes| ActivityBytes { bytes, owed: owed.clone() }))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Bytes that signal activity when they are written to the connection. The write may happen long after the handler of
/// the request has finished.
struct ActivityBytes {
    bytes: Bytes,
    owed: watch::Sender<usize>,
}

impl Buf for ActivityBytes {
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

/// How many requests that the client has already reset may wait to be accepted. A client that exceeds this limit only
/// creates useless work, so its connection is closed.
const MAX_PENDING_RESETS: usize = 20;
/// How many requests of one connection the server may reset because they break the rules of HTTP/2. Above this limit
/// the connection is closed.
const MAX_STREAM_ERRORS: usize = 100;
/// The flow-control window of one request, in bytes: how much a client may send before the server reads it.
const STREAM_WINDOW: u32 = 256 << 10;
/// The flow-control window of all requests of a connection together, in bytes.
const CONNECTION_WINDOW: u32 = 1 << 20;
/// How many bytes of a reply may be buffered until the client reads them.
const SEND_BUFFER: usize = 256 << 10;
/// The interval between keep-alive pings.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(30);
/// How long a client may take to answer a keep-alive ping.
const KEEP_ALIVE_TIMEOUT: Duration = Duration::from_secs(20);
