//! What is in a reply? One message, or a stream of events that ends with it.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use ::http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue};
use ::http::{Response, StatusCode};
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Instant, Sleep};

use crate::transport::sse;

/// The body of a reply.
#[derive(Debug)]
pub struct HttpBody(Kind);

#[derive(Debug)]
enum Kind {
    Whole(Option<Bytes>),
    Events(Box<Events>),
}

impl HttpBody {
    /// One piece.
    pub(super) fn whole(bytes: impl Into<Bytes>) -> Self {
        Self(Kind::Whole(Some(bytes.into())))
    }

    /// Nothing.
    pub(super) fn empty() -> Self {
        Self(Kind::Whole(None))
    }
}

impl Body for HttpBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut self.0 {
            Kind::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Kind::Events(events) => events.poll(cx).map(|chunk| chunk.map(|bytes| Ok(Frame::data(bytes)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.0, Kind::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Kind::Whole(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64)),
            Kind::Events(_) => SizeHint::default(),
        }
    }
}

/// How long a stream may be silent before a comment shows that it is alive.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// What a running request says, and its answer at the end. Dropping it ends the request.
#[derive(Debug)]
struct Events {
    said: mpsc::Receiver<Vec<u8>>,
    work: JoinHandle<Vec<u8>>,
    /// What was said already when the stream began.
    first: Option<Vec<u8>>,
    is_done: bool,
    silence: Pin<Box<Sleep>>,
}

impl Events {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if self.is_done {
            return Poll::Ready(None);
        }
        if let Some(frame) = self.first.take() {
            return Poll::Ready(Some(self.event(&frame)));
        }
        if let Poll::Ready(Some(frame)) = self.said.poll_recv(cx) {
            return Poll::Ready(Some(self.event(&frame)));
        }
        if let Poll::Ready(answer) = Pin::new(&mut self.work).poll(cx) {
            // What was said between the two looks comes before the answer.
            let mut bytes = Vec::new();
            while let Ok(frame) = self.said.try_recv() {
                sse::write_message(&mut bytes, None, &frame);
            }
            // A panic outside of user code is ours; the stream ends without an answer.
            if let Ok(frame) = answer {
                sse::write_message(&mut bytes, None, &frame);
            }
            self.is_done = true;
            return Poll::Ready((!bytes.is_empty()).then(|| bytes.into()));
        }
        ready!(self.silence.as_mut().poll(cx));
        self.silence.as_mut().reset(Instant::now() + KEEP_ALIVE);
        Poll::Ready(Some(Bytes::from_static(b": alive\n\n")))
    }

    fn event(&mut self, frame: &[u8]) -> Bytes {
        self.silence.as_mut().reset(Instant::now() + KEEP_ALIVE);
        let mut bytes = Vec::with_capacity(frame.len() + 32);
        sse::write_message(&mut bytes, None, frame);
        bytes.into()
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        self.work.abort();
    }
}

/// A stream of what `work` says from now on, beginning with `first`.
pub(super) fn stream(
    first: Vec<u8>,
    said: mpsc::Receiver<Vec<u8>>,
    work: impl Future<Output = Vec<u8>> + Send + 'static,
) -> Response<HttpBody> {
    let events = Events {
        said,
        work: tokio::spawn(work),
        first: Some(first),
        is_done: false,
        silence: Box::pin(tokio::time::sleep(KEEP_ALIVE)),
    };
    let mut response = Response::new(HttpBody(Kind::Events(Box::new(events))));
    *response.status_mut() = StatusCode::OK;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
    // Proxies that collect a reply before they pass it on are asked not to.
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    response
}
