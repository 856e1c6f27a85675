//! What does a reply contain? One message, or a stream of events.

use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use ::http::Response;
use ::http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue};
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

use crate::ground::mutex::Mutex;
use crate::server::observe::hooks::DisconnectGuard;

/// The body of a reply.
#[derive(Debug)]
pub struct ResponseBody(BodyKind);

#[derive(Debug)]
enum BodyKind {
    Whole(Option<Bytes>),
    Streamed(StreamedBody),
    WithHooks(Box<BodyWithHooks>),
}

/// A body that runs hooks when it is dropped.
#[derive(Debug)]
struct BodyWithHooks {
    kind: BodyKind,
    guard: Box<DisconnectGuard>,
}

impl Drop for BodyWithHooks {
    fn drop(&mut self) {
        if self.kind.is_over() {
            self.guard.mark_complete();
        }
    }
}

impl ResponseBody {
    /// Creates a body of one piece.
    pub(crate) fn whole(bytes: impl Into<Bytes>) -> Self {
        Self(BodyKind::Whole(Some(bytes.into())))
    }

    /// Attaches hooks that run when the body is dropped.
    pub(crate) fn with_hooks(self, parting: Box<DisconnectGuard>) -> Self {
        Self(BodyKind::WithHooks(Box::new(BodyWithHooks { kind: self.0, guard: parting })))
    }

    pub(crate) fn empty() -> Self {
        Self(BodyKind::Whole(None))
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll(cx).map(|piece| piece.map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_over()
    }

    fn size_hint(&self) -> SizeHint {
        self.0.size_hint()
    }
}

impl BodyKind {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        match self {
            Self::Whole(bytes) => Poll::Ready(bytes.take()),
            Self::Streamed(pieces) => pieces.poll(cx),
            Self::WithHooks(watched) => watched.kind.poll(cx),
        }
    }

    fn is_over(&self) -> bool {
        match self {
            Self::Whole(bytes) => bytes.is_none(),
            Self::Streamed(pieces) => pieces.work.is_none(),
            Self::WithHooks(watched) => watched.kind.is_over(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64)),
            Self::Streamed(_) => SizeHint::default(),
            Self::WithHooks(watched) => watched.kind.size_hint(),
        }
    }
}

/// How long a stream may be silent before a keep-alive comment is sent.
pub(crate) const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);
/// The keep-alive comment of an event stream, which clients ignore.
pub(crate) const KEEP_ALIVE_COMMENT: &[u8] = b": alive\n\n";

/// A body that is produced while it is read. `work` runs only while the body is polled, and is dropped with the body.
struct StreamedBody {
    slot: Slot,
    work: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

type Slot = Arc<Mutex<Option<Bytes>>>;

impl StreamedBody {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let Some(work) = &mut self.work else { return Poll::Ready(None) };
        if work.as_mut().poll(cx).is_ready() {
            self.work = None;
        }
        match (self.slot.lock().take(), &self.work) {
            (Some(piece), _) => Poll::Ready(Some(piece)),
            (None, Some(_)) => Poll::Pending,
            (None, None) => Poll::Ready(None),
        }
    }
}

impl fmt::Debug for StreamedBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a stream")
    }
}

/// Passes pieces from the producer of a body to the body.
pub(crate) struct BodyWriter(Slot);

impl BodyWriter {
    /// Hands a piece to the body, and waits until the body is polled for the next piece.
    pub(crate) async fn write(&self, piece: impl Into<Bytes>) {
        *self.0.lock() = Some(piece.into());
        // The body takes the piece, and polls again when it wants more.
        std::future::poll_fn(|_| if self.0.lock().is_some() { Poll::Pending } else { Poll::Ready(()) }).await;
    }
}

/// Creates a reply that is a stream of events, written by `work`.
pub(crate) fn event_stream<W>(work: impl FnOnce(BodyWriter) -> W) -> Response<ResponseBody>
where
    W: Future<Output = ()> + Send + 'static,
{
    let slot = Slot::default();
    let work = Box::pin(work(BodyWriter(slot.clone())));
    let mut response =
        Response::new(ResponseBody(BodyKind::Streamed(StreamedBody { slot, work: Some(work) })));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
    // Asks proxies not to buffer the reply.
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    response
}
