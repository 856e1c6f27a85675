//! How are HTTP requests recorded? Around the HTTP client, where heads and bodies go by as bytes: so every request is
//! seen once, whichever part of this library has sent it, and the reply is recorded as it arrives.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use ::http::{HeaderMap, Request, Response};
use bytes::{Bytes, BytesMut};
use http_body::{Body, Frame, SizeHint};
use toolway_protocol::http::header::decode;

use crate::client::http::request::client::{BoxError, HttpBody, HttpClient};
use crate::client::http::request::events::is_event_stream;
use crate::client::record::{Content, MAX_CONTENT};
use crate::client::record::{Direction, HttpPart, Recorder, StreamEnd};
use crate::ground::error::Result;
use crate::ground::future::BoxFuture;
use crate::transport::sse::Parser;

/// An HTTP client whose requests and replies are recorded.
pub(crate) struct RecordedClient {
    inner: Arc<dyn HttpClient>,
    recorder: Recorder,
}

impl RecordedClient {
    pub(crate) fn new(inner: Arc<dyn HttpClient>, recorder: Recorder) -> Self {
        Self { inner, recorder }
    }
}

impl HttpClient for RecordedClient {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Response<HttpBody>>> {
        Box::pin(async {
            let stream = self.recorder.next_stream();
            record_request(&self.recorder, stream, &request);
            let mut guard = LeftGuard { recorder: Some(self.recorder.clone()), stream };
            let sent = self.inner.send(request).await;
            guard.recorder = None;
            match sent {
                Ok(response) => Ok(record_response(&self.recorder, stream, response)),
                Err(error) => {
                    let http = end_of(stream, StreamEnd::Broken);
                    self.recorder.record(Direction::In, Some(http), Content::Text(&error.to_string()));
                    Err(error)
                }
            }
        })
    }

    fn user_time(&self) -> Duration {
        self.inner.user_time()
    }
}

/// Records that a request was dropped before its reply came.
struct LeftGuard {
    recorder: Option<Recorder>,
    stream: u64,
}

impl Drop for LeftGuard {
    fn drop(&mut self) {
        if let Some(recorder) = &self.recorder {
            recorder.record(Direction::Out, Some(end_of(self.stream, StreamEnd::Left)), Content::Nothing);
        }
    }
}

fn end_of(stream: u64, end: StreamEnd) -> HttpPart {
    HttpPart { stream, end: Some(end), ..HttpPart::default() }
}

fn record_request(recorder: &Recorder, stream: u64, request: &Request<Bytes>) {
    let path = request.uri().path_and_query().map_or("/", ::http::uri::PathAndQuery::as_str);
    // The headers come first: a token that they contain is secret in the body too.
    let headers = shown_headers(recorder, request.headers());
    let http = HttpPart {
        method: Some(request.method().to_string()),
        path: Some(recorder.redacted_path(path)),
        headers,
        stream,
        ..HttpPart::default()
    };
    let body = request.body();
    let content = if body.is_empty() { Content::Nothing } else { Content::Message(body) };
    recorder.record(Direction::Out, Some(http), content);
}

/// Returns the headers without secrets. Several values of one name are joined.
fn shown_headers(recorder: &Recorder, headers: &HeaderMap) -> BTreeMap<String, String> {
    let mut shown = BTreeMap::<String, String>::new();
    for (name, value) in headers {
        let text = String::from_utf8_lossy(value.as_bytes());
        // An argument in a header may be encoded, and then hides what is secret in it.
        let is_encoded = name.as_str().starts_with("mcp-param-");
        let plain = decode(&text).filter(|_| is_encoded).map_or_else(|| text.to_string(), Cow::into_owned);
        let redacted = recorder.redacted_header(name.as_str(), &plain, value.is_sensitive() && !is_encoded);
        let redacted = if redacted == plain { text.into_owned() } else { redacted };
        shown
            .entry(name.as_str().to_owned())
            .and_modify(|all| {
                all.push_str(", ");
                all.push_str(&redacted);
            })
            .or_insert(redacted);
    }
    shown
}

fn record_response(recorder: &Recorder, stream: u64, response: Response<HttpBody>) -> Response<HttpBody> {
    let http = HttpPart {
        status: Some(response.status().as_u16()),
        headers: shown_headers(recorder, response.headers()),
        stream,
        ..HttpPart::default()
    };
    let content = if is_event_stream(&response) {
        recorder.record(Direction::In, Some(http), Content::Nothing);
        BodyTap::Events(Box::new(Parser::new(MAX_CONTENT)))
    } else {
        BodyTap::Whole { head: Box::new(http), body: BytesMut::new(), length: 0 }
    };
    let recorder = recorder.clone();
    response.map(|inner| HttpBody::new(RecordedBody { inner, recorder, stream, tap: content }))
}

/// The body of a reply that is recorded while it is read.
struct RecordedBody {
    inner: HttpBody,
    recorder: Recorder,
    stream: u64,
    tap: BodyTap,
}

enum BodyTap {
    /// Each event is a frame.
    Events(Box<Parser>),
    /// The whole body is one frame, together with the head of the reply.
    Whole { head: Box<HttpPart>, body: BytesMut, length: usize },
    /// Everything is recorded.
    Done,
}

impl RecordedBody {
    fn push(&mut self, chunk: &[u8]) {
        match &mut self.tap {
            BodyTap::Events(parser) => {
                parser.push(chunk);
                loop {
                    match parser.next_event() {
                        Ok(Some(event)) => {
                            let content = match &event.too_long {
                                Some(_) => Content::Note(format!(
                                    "an event of more than {MAX_CONTENT} bytes is left out"
                                )),
                                None if event.data.is_empty() => Content::Nothing,
                                None => Content::Message(&event.data),
                            };
                            let http = HttpPart {
                                stream: self.stream,
                                event: event.id.clone(),
                                ..HttpPart::default()
                            };
                            self.recorder.record(Direction::In, Some(http), content);
                        }
                        Ok(None) => return,
                        Err(_) => break,
                    }
                }
                let http = HttpPart { stream: self.stream, ..HttpPart::default() };
                let note = format!(
                    "the rest of the stream is left out: it has an event of more than {MAX_CONTENT} bytes"
                );
                self.recorder.record(Direction::In, Some(http), Content::Note(note));
                self.tap = BodyTap::Done;
            }
            BodyTap::Whole { body, length, .. } => {
                *length += chunk.len();
                let room = (MAX_CONTENT + 1).saturating_sub(body.len());
                body.extend_from_slice(&chunk[..chunk.len().min(room)]);
            }
            BodyTap::Done => {}
        }
    }

    fn end(&mut self, end: StreamEnd) {
        match std::mem::replace(&mut self.tap, BodyTap::Done) {
            BodyTap::Events(_) => {
                let direction = if end == StreamEnd::Left { Direction::Out } else { Direction::In };
                self.recorder.record(direction, Some(end_of(self.stream, end)), Content::Nothing);
            }
            BodyTap::Whole { head, body, length } => {
                let head = HttpPart { end: (end == StreamEnd::Broken).then_some(end), ..*head };
                let content = match length {
                    0 => Content::Nothing,
                    _ if length > MAX_CONTENT => {
                        Content::Note(format!("a reply of {length} bytes is left out"))
                    }
                    _ => Content::Message(&body),
                };
                self.recorder.record(Direction::In, Some(head), content);
            }
            BodyTap::Done => {}
        }
    }
}

impl Body for RecordedBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let polled = Pin::new(&mut self.inner).poll_frame(context);
        match &polled {
            Poll::Ready(Some(Ok(frame))) => {
                if let Some(chunk) = frame.data_ref() {
                    self.push(chunk);
                }
                // A reader that knows the length does not ask for the end.
                if self.inner.is_end_stream() {
                    self.end(StreamEnd::Closed);
                }
            }
            Poll::Ready(Some(Err(_))) => self.end(StreamEnd::Broken),
            Poll::Ready(None) => self.end(StreamEnd::Closed),
            Poll::Pending => {}
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

impl Drop for RecordedBody {
    fn drop(&mut self) {
        self.end(StreamEnd::Left);
    }
}
