//! Do cancelled calls leave anything behind?

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use ::http::header::HeaderValue;
use ::http::{HeaderMap, Request, Response, StatusCode};
use bytes::Bytes;
use http_body::{Body, Frame};
use tokio::time::timeout;
use toolway_protocol::{Id, Method, ProtocolVersion};

use crate::client::http::handshake::http_session::HttpSession;
use crate::client::http::request::client::{HttpBody, HttpClient};
use crate::client::http::request::endpoint::{HttpEndpoint, RedirectPolicy};

use crate::client::http::request::url::Url;
use crate::client::wire::outgoing::OutgoingMessage;
use crate::ground::future::BoxFuture;

/// A body that sends a text, and then either stays open or ends.
struct ScriptedBody {
    text: Option<&'static str>,
    ends: bool,
}

impl Body for ScriptedBody {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, std::io::Error>>> {
        match self.text.take() {
            Some(text) => Poll::Ready(Some(Ok(Frame::data(text.into())))),
            None if self.ends => Poll::Ready(None),
            None => Poll::Pending,
        }
    }
}

/// The answers to the requests, in order. After the last answer, requests get no answer.
#[derive(Default)]
struct Script(Mutex<VecDeque<(u16, ScriptedBody)>>);

impl HttpClient for Script {
    fn send(&self, _: Request<Bytes>) -> BoxFuture<'_, crate::ground::error::Result<Response<HttpBody>>> {
        let answer = self.0.lock().expect("a lock").pop_front();
        Box::pin(async move {
            let Some((status, body)) = answer else { return std::future::pending().await };
            let mut response = Response::new(HttpBody::new(body));
            *response.status_mut() = StatusCode::from_u16(status).expect("a status");
            response.headers_mut().insert("content-type", HeaderValue::from_static("text/event-stream"));
            Ok(response)
        })
    }
}

fn conversation(answers: Vec<(u16, &'static str, bool)>) -> Arc<HttpSession> {
    let answers = answers
        .into_iter()
        .map(|(status, text, goes_away)| (status, ScriptedBody { text: Some(text), ends: goes_away }));
    let script = Arc::new(Script(Mutex::new(answers.collect())));
    let url = Url::parse("http://localhost/mcp").expect("a URL");
    Arc::new(HttpSession::new(Arc::new(HttpEndpoint::new(
        url,
        HeaderMap::new(),
        script,
        RedirectPolicy::Allowed,
    ))))
}

fn outgoing(method: Method) -> OutgoingMessage {
    OutgoingMessage::new(b"{}".to_vec(), Some(Id::Number(1)), method, Some(ProtocolVersion::V2025_11_25))
}

/// The clock is paused. It advances only when all tasks wait, so the call has done all that it can before it times out.
#[tokio::test(start_paused = true)]
async fn a_call_that_is_given_up_leaves_nothing_behind() {
    for (case, answers) in [
        ("no reply", vec![]),
        ("a silent stream", vec![(200, "", false)]),
        ("a stream that goes on", vec![(200, "id: 1\ndata:\n\n", false)]),
        ("a stream that breaks off", vec![(200, "id: 1\nretry: 100000\ndata:\n\n", true)]),
        ("a request to resume that gets no reply", vec![(200, "id: 1\ndata:\n\n", true)]),
    ] {
        let conversation = conversation(answers);
        let call = timeout(Duration::from_secs(10), conversation.send(outgoing(Method::CallTool)));
        assert!(call.await.is_err(), "{case}");
        assert!(conversation.pending.is_empty(), "{case}");
        assert_eq!(Arc::strong_count(&conversation), 1, "{case}: no task holds the conversation");
        assert!(!conversation.has_ended(), "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn neither_does_one_of_the_old_transport() {
    let answers = vec![(405, "", true), (200, "event: endpoint\ndata: /post\n\n", false), (202, "", true)];
    let conversation = conversation(answers);
    // The server accepts the request with 202, and never sends the reply.
    let call = timeout(Duration::from_secs(10), conversation.send(outgoing(Method::Initialize)));
    assert!(call.await.is_err());
    assert!(conversation.post_url.get().is_some());
    assert!(conversation.pending.is_empty());
    conversation.close().await.expect("closing this transport sends no request");
    tokio::task::yield_now().await;
    assert_eq!(Arc::strong_count(&conversation), 1, "no task holds the conversation");
}
