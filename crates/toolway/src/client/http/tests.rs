//! Which HTTP requests carry the headers that were set for one call?

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use ::http::header::{HeaderMap, HeaderValue};
use ::http::{Request, Response};
use bytes::Bytes;
use http_body_util::Full;
use toolway_protocol::{Id, Method, ProtocolVersion};

use crate::client::http::request::client::{HttpBody, HttpClient};
use crate::client::http::target::Http;
use crate::client::wire::outgoing::OutgoingMessage;
use crate::client::wire::target::Connector;
use crate::ground::error::{ErrorKind, Result};
use crate::ground::future::BoxFuture;

/// Gives scripted answers, and records the requests.
#[derive(Clone, Default)]
struct Script {
    answers: Arc<Mutex<VecDeque<Response<HttpBody>>>>,
    requests: Arc<Mutex<Vec<(String, HeaderMap)>>>,
}

impl Script {
    fn answers(self, kind: &'static str, body: &'static str) -> Self {
        let mut response = Response::new(HttpBody::new(Full::new(Bytes::from(body))));
        response.headers_mut().insert("content-type", HeaderValue::from_static(kind));
        self.answers.lock().expect("a lock").push_back(response);
        self
    }
}

impl HttpClient for Script {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Response<HttpBody>>> {
        let asked = (request.method().to_string(), request.headers().clone());
        self.requests.lock().expect("a lock").push(asked);
        let answer = self.answers.lock().expect("a lock").pop_front().expect("an answer");
        Box::pin(std::future::ready(Ok(answer)))
    }
}

fn call(version: ProtocolVersion, headers: &[(&str, &str)]) -> OutgoingMessage {
    let mut call = OutgoingMessage::new(b"{}".to_vec(), Some(Id::Number(1)), Method::CallTool, Some(version));
    call.headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    call
}

async fn carry(script: &Script, call: OutgoingMessage) -> Result<()> {
    let server =
        Http::new("http://localhost/mcp").header("x-tenant", "all").bearer("all").with_client(script.clone());
    server.connect().await?.send(call).await.map(drop)
}

const CALL_HEADERS: [(&str, &str); 3] =
    [("Authorization", "Bearer one"), ("X-Trace", "7"), ("Mcp-Param-Region", "eu")];

#[tokio::test(start_paused = true)]
async fn headers_of_a_call_go_with_it_and_replace_those_of_the_server() {
    let reply = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
    let script = Script::default().answers("application/json", reply);
    carry(&script, call(ProtocolVersion::LATEST, &CALL_HEADERS)).await.expect("a reply");
    let asked = std::mem::take(&mut *script.requests.lock().expect("a lock"));
    let [(method, headers)] = asked.as_slice() else { panic!("one request: {asked:?}") };
    assert_eq!(method, "POST");
    for (name, value) in
        [("authorization", "Bearer one"), ("x-trace", "7"), ("mcp-param-region", "eu"), ("x-tenant", "all")]
    {
        assert_eq!(headers[name], value);
        assert!(headers[name].is_sensitive(), "{name}");
    }
    assert_eq!(headers["mcp-method"], "tools/call");
    assert!(!format!("{headers:?}").contains("Bearer"));
}

#[tokio::test(start_paused = true)]
async fn headers_of_a_caller_go_where_its_call_goes_on_and_arguments_do_not() {
    let script = Script::default()
        .answers("text/event-stream", "id: 1\ndata:\n\n")
        .answers("text/event-stream", "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n");
    carry(&script, call(ProtocolVersion::LATEST_HANDSHAKE, &CALL_HEADERS)).await.expect("a reply");
    let asked = std::mem::take(&mut *script.requests.lock().expect("a lock"));
    let [(_, post), (method, get)] = asked.as_slice() else { panic!("two requests: {asked:?}") };
    assert_eq!(post["mcp-param-region"], "eu");
    assert_eq!(method, "GET");
    assert_eq!(get["last-event-id"], "1");
    for (name, value) in [("authorization", "Bearer one"), ("x-trace", "7"), ("x-tenant", "all")] {
        assert_eq!(
            (&post[name], &get[name]),
            (&HeaderValue::from_static(value), &HeaderValue::from_static(value))
        );
    }
    assert!(!get.contains_key("mcp-param-region"));
}

#[tokio::test]
async fn headers_of_a_call_that_cannot_be_sent_are_named() {
    for version in [ProtocolVersion::LATEST_HANDSHAKE, ProtocolVersion::LATEST] {
        for (header, part) in [
            (("Mcp-Method", "secret"), "`mcp-method`"),
            (("Accept", "secret"), "`accept`"),
            (("x y", "secret"), "\"x y\""),
            (("X-Key", "secret\r\nx: y"), "`X-Key`"),
            (("Mcp-Param-A b", "secret"), "\"Mcp-Param-A b\""),
            (("Mcp-Param-A", "secret\n"), "`Mcp-Param-A`"),
        ] {
            let error = carry(&Script::default(), call(version, &[header])).await.expect_err(part);
            assert_eq!(error.kind(), ErrorKind::Misuse);
            assert!(error.to_string().contains(part), "{error}");
            assert!(!error.to_string().contains("secret"), "{error}");
        }
    }
}
