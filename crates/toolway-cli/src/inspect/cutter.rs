//! How is a connection cut? At once, or after a number of events, as if the network had failed: what was sent is not taken
//! back, and the client does what it does after any broken connection.

use std::pin::Pin;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body::{Body, Frame};
use tokio::sync::watch;
use toolway::client::{Command, Connector, HttpBody, HttpClient, Inbox, OutgoingMessage, Transport};
use toolway::{BoxFuture, Error, ErrorKind, ProtocolVersion, Result};
use toolway_protocol::Message;

use super::spawn::spawn;

/// Cuts the connections of one server. Clones cut the same connections.
#[derive(Clone)]
pub(super) struct Cutter(Arc<CutterState>);

struct CutterState {
    /// The number of cuts so far.
    cuts: watch::Sender<u64>,
    /// How many events may still arrive; negative if no cut is planned.
    events_left: AtomicI64,
    on_planned_cut: Mutex<Option<Box<dyn Fn() + Send>>>,
}

impl Cutter {
    pub(super) fn new() -> Self {
        Self(Arc::new(CutterState {
            cuts: watch::Sender::new(0),
            events_left: AtomicI64::new(-1),
            on_planned_cut: Mutex::default(),
        }))
    }

    /// Sets what happens after a cut that was planned with [`cut_after`](Self::cut_after).
    pub(super) fn on_planned_cut(&self, hook: impl Fn() + Send + 'static) {
        *self.0.on_planned_cut.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(hook));
    }

    /// Cuts all connections now.
    pub(super) fn cut(&self) {
        self.0.events_left.store(-1, Ordering::Relaxed);
        self.0.cuts.send_modify(|cuts| *cuts += 1);
    }

    /// Cuts all connections after so many further events.
    pub(super) fn cut_after(&self, events: u32) {
        self.0.events_left.store(i64::from(events), Ordering::Relaxed);
    }

    /// Counts an event. Returns whether the connection is cut after it.
    fn count_event(&self) -> bool {
        let counted = self.0.events_left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
            (left > 0).then_some(if left == 1 { -1 } else { left - 1 })
        });
        if counted != Ok(1) {
            return false;
        }
        self.0.cuts.send_modify(|cuts| *cuts += 1);
        if let Some(hook) = &*self.0.on_planned_cut.lock().unwrap_or_else(PoisonError::into_inner) {
            hook();
        }
        true
    }

    /// Returns a future that ends with the next cut.
    fn next_cut(&self) -> CutFuture {
        let mut cuts = self.0.cuts.subscribe();
        let seen = *cuts.borrow_and_update();
        Box::pin(async move {
            if cuts.wait_for(|now| *now > seen).await.is_err() {
                std::future::pending::<()>().await;
            }
        })
    }

    /// Puts itself around a client of HTTP.
    pub(super) fn around_http(&self, inner: Arc<dyn HttpClient>) -> Arc<dyn HttpClient> {
        Arc::new(CuttableClient { inner, cutter: self.clone() })
    }
}

type CutFuture = Pin<Box<dyn Future<Output = ()> + Send>>;

fn cut_error() -> Error {
    Error::new(ErrorKind::Transport, "the connection was cut with the inspector")
}

struct CuttableClient {
    inner: Arc<dyn HttpClient>,
    cutter: Cutter,
}

impl HttpClient for CuttableClient {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Response<HttpBody>>> {
        let cut = self.cutter.next_cut();
        Box::pin(async move {
            tokio::pin!(cut);
            let response = tokio::select! {
                response = self.inner.send(request) => response?,
                () = &mut cut => return Err(cut_error()),
            };
            let cut = self.cutter.next_cut();
            let is_stream = response
                .headers()
                .get(http::header::CONTENT_TYPE)
                .is_some_and(|value| value.as_bytes().starts_with(b"text/event-stream"));
            let cutter = is_stream.then(|| self.cutter.clone());
            let events = EventCounter::default();
            Ok(response
                .map(|inner| HttpBody::new(CuttableBody { inner, cut, cutter, events, is_cut: false })))
        })
    }

    fn user_time(&self) -> Duration {
        self.inner.user_time()
    }
}

/// The body of a reply that ends with an error when the connection is cut.
struct CuttableBody {
    inner: HttpBody,
    cut: CutFuture,
    /// Counts the events of a stream.
    cutter: Option<Cutter>,
    events: EventCounter,
    is_cut: bool,
}

impl Body for CuttableBody {
    type Data = Bytes;
    type Error = Box<dyn std::error::Error + Send + Sync>;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        if self.is_cut || self.cut.as_mut().poll(context).is_ready() {
            self.is_cut = true;
            return Poll::Ready(Some(Err(cut_error().into())));
        }
        let polled = Pin::new(&mut self.inner).poll_frame(context);
        let this = &mut *self;
        let (Some(cutter), Poll::Ready(Some(Ok(frame)))) = (&this.cutter, &polled) else { return polled };
        let Some(chunk) = frame.data_ref() else { return polled };
        let mut end = 0;
        while let Some(length) = this.events.next_end(&chunk[end..]) {
            end += length;
            if cutter.count_event() {
                this.is_cut = true;
                return Poll::Ready(Some(Ok(Frame::data(chunk.slice(..end)))));
            }
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        !self.is_cut && self.inner.is_end_stream()
    }
}

/// Finds the ends of events in a stream: an empty line after a line of data.
#[derive(Default)]
struct EventCounter {
    /// The first bytes of the current line.
    line: Vec<u8>,
    has_data: bool,
    after_return: bool,
}

impl EventCounter {
    /// Returns the number of bytes up to the end of the next event; `None` if it is not in this chunk.
    fn next_end(&mut self, chunk: &[u8]) -> Option<usize> {
        for (at, byte) in chunk.iter().enumerate() {
            let is_second_half = std::mem::replace(&mut self.after_return, *byte == b'\r') && *byte == b'\n';
            if is_second_half {
                continue;
            }
            if !matches!(byte, b'\r' | b'\n') {
                if self.line.len() < b"data:".len() {
                    self.line.push(*byte);
                }
                continue;
            }
            let is_empty = self.line.is_empty();
            self.has_data |= self.line.starts_with(b"data");
            self.line.clear();
            if is_empty && std::mem::take(&mut self.has_data) {
                return Some(at + 1);
            }
        }
        None
    }
}

/// A server that is a program whose connection can be cut: the program is ended, and the next request starts it again.
pub(super) struct CuttableCommand {
    pub(super) command: Command,
    pub(super) cutter: Cutter,
}

impl Connector for CuttableCommand {
    fn connect(&self) -> BoxFuture<'_, Result<Box<dyn Transport>>> {
        let cut = self.cutter.next_cut();
        Box::pin(async move {
            let inner: Arc<dyn Transport> = self.command.connect().await?.into();
            let (is_cut, seen) = watch::channel(false);
            let ending = inner.clone();
            spawn(Box::pin(async move {
                tokio::select! {
                    () = cut => {
                        let _ = is_cut.send(true);
                        // The program is ended in the background; the connection is over at once.
                        let _ = ending.close().await;
                    }
                    () = ending.disconnected() => {}
                }
            }));
            Ok(Box::new(CuttableTransport { inner, is_cut: seen }) as Box<dyn Transport>)
        })
    }

    fn name(&self) -> String {
        self.command.name()
    }

    fn cache_key(&self) -> Option<String> {
        self.command.cache_key()
    }
}

struct CuttableTransport {
    inner: Arc<dyn Transport>,
    is_cut: watch::Receiver<bool>,
}

impl CuttableTransport {
    async fn cut(&self) {
        let mut is_cut = self.is_cut.clone();
        if is_cut.wait_for(|is_cut| *is_cut).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

impl Transport for CuttableTransport {
    fn send(&self, outgoing: OutgoingMessage) -> BoxFuture<'_, Result<Option<Message>>> {
        Box::pin(async move {
            tokio::select! {
                reply = self.inner.send(outgoing) => reply,
                () = self.cut() => Err(cut_error()),
            }
        })
    }

    fn set_inbox(&self, inbox: Inbox) {
        self.inner.set_inbox(inbox);
    }

    fn is_connected(&self) -> bool {
        !*self.is_cut.borrow() && self.inner.is_connected()
    }

    fn disconnected(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            tokio::select! {
                () = self.inner.disconnected() => {}
                () = self.cut() => {}
            }
        })
    }

    fn listening(&self) -> BoxFuture<'_, ()> {
        self.inner.listening()
    }

    fn has_headers(&self) -> bool {
        self.inner.has_headers()
    }

    fn set_headers(&self, headers: &[(String, String)]) -> Result<()> {
        self.inner.set_headers(headers)
    }

    fn set_max_message(&self, bytes: usize) -> usize {
        self.inner.set_max_message(bytes)
    }

    fn cancels_by_dropping(&self, version: ProtocolVersion) -> bool {
        self.inner.cancels_by_dropping(version)
    }

    fn user_time(&self) -> Duration {
        self.inner.user_time()
    }

    fn diagnosis(&self) -> Option<String> {
        if *self.is_cut.borrow() {
            return Some("the connection was cut with the inspector".to_owned());
        }
        self.inner.diagnosis()
    }

    fn close(&self) -> BoxFuture<'_, Result<()>> {
        self.inner.close()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(chunks: &[&str]) -> Vec<usize> {
        let mut counter = EventCounter::default();
        let (mut found, mut offset) = (Vec::new(), 0);
        for chunk in chunks {
            let mut at = 0;
            while let Some(length) = counter.next_end(&chunk.as_bytes()[at..]) {
                at += length;
                found.push(offset + at);
            }
            offset += chunk.len();
        }
        found
    }

    #[test]
    fn events_end_with_an_empty_line_however_the_stream_is_split() {
        let stream = "id: 1\ndata: {}\n\n: comment\n\ndata: a\ndata: b\r\n\r\nevent: x\n\ndata\n\n";
        let whole = ends(&[stream]);
        assert_eq!(whole.len(), 3, "{whole:?}");
        for at in 0..stream.len() {
            let (first, second) = stream.split_at(at);
            let found = ends(&[first, second]);
            // A line break of two characters may end an event after the first of them.
            assert_eq!(found.len(), whole.len(), "{at}");
        }
    }

    #[tokio::test]
    async fn a_planned_cut_happens_after_the_last_event() {
        let cutter = Cutter::new();
        cutter.cut_after(2);
        let cut = cutter.next_cut();
        assert!(!cutter.count_event());
        assert!(cutter.count_event());
        cut.await;
        assert!(!cutter.count_event());
    }
}
