//! Is each request answered once over HTTP, and does a session end when it is deleted?
//!
//! Each line of an input is a request: the verb, the session, the revision and the body, separated by spaces. The session
//! is `-` for none, `1` for the one that the server opened last, or any other text; the revision is `-` for none.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use toolway::server::http::HttpService;
use toolway::transport::sse::Parser;
use toolway_protocol::http::header::encode;
use toolway_protocol::json::Limits;
use toolway_protocol::jsonrpc::{Message, ParsedFrame, parse};
use tower_service::Service;

use crate::Outcome;
use crate::servers::{RUNTIME, server};

/// Each request gets one reply, a reply is a message, no request is an internal error, and a session that was deleted or
/// never opened does not exist.
pub(crate) fn http_session(input: &[u8]) -> Outcome {
    let Ok(text) = std::str::from_utf8(input) else { return Outcome::Refused };
    RUNTIME.block_on(async {
        let mut service = server().http();
        let (mut session, mut is_deleted, mut answered) = (None, false, 0);
        for line in text.lines().take(MAX_REQUESTS) {
            let mut words = line.splitn(4, ' ');
            let [verb, named, revision, body] = std::array::from_fn(|_| words.next().unwrap_or_default());
            let frame = parse(&Bytes::copy_from_slice(body.as_bytes()), Limits::default());
            let sent = match named {
                "-" => None,
                "1" => session.clone(),
                other => HeaderValue::from_str(other).ok(),
            };
            let Some(request) = request(verb, sent.as_ref(), revision, body, &frame) else { continue };
            let Ok(response) = service.call(request).await;
            let (status, shown) = (response.status(), format!("{line}: {}", response.status()));
            assert!(!status.is_server_error(), "{shown}");
            if sent.is_some() && matches!(verb, "GET" | "DELETE") {
                let is_open = sent == session && !is_deleted;
                assert!(is_open || status.is_client_error(), "{shown}, but there is no such session");
                is_deleted |= verb == "DELETE" && sent == session && status.is_success();
            }
            if let Some(opened) = response.headers().get("mcp-session-id")
                && Some(opened) != session.as_ref()
            {
                (session, is_deleted) = (Some(opened.clone()), false);
            }
            if verb == "POST" {
                answered += check_reply(response, &frame, &shown).await;
            }
        }
        Outcome::of(answered > 0)
    })
}

fn request(
    verb: &str,
    session: Option<&HeaderValue>,
    revision: &str,
    body: &str,
    frame: &Frame,
) -> Option<Request<Full<Bytes>>> {
    let mut request = Request::builder().method(verb).uri("http://localhost/mcp").header("host", "localhost");
    request = request.header("content-type", "application/json");
    request = request.header("accept", "application/json, text/event-stream");
    if let Some(session) = session {
        request = request.header("mcp-session-id", session);
    }
    if revision != "-" {
        request = request.header("mcp-protocol-version", revision);
        // Only requests without a session need these.
        if let (None, Ok(ParsedFrame::One(Message::Request { method, params, .. }))) = (session, frame) {
            request = request.header("mcp-method", method.name());
            if let Ok(Some(name)) = params.name().and_then(|name| Ok(name.or(params.uri()?))) {
                request = request.header("mcp-name", &*encode(&name));
            }
        }
    }
    request.body(Full::new(Bytes::copy_from_slice(body.as_bytes()))).ok()
}

type Frame = Result<ParsedFrame, toolway_protocol::jsonrpc::Rejection>;

/// Checks the reply to a POST, and returns how many of its requests were answered.
async fn check_reply(
    response: <HttpService as Service<Request<Full<Bytes>>>>::Response,
    frame: &Frame,
    shown: &str,
) -> usize {
    let status = response.status();
    let is_stream = response.headers().get("content-type").is_some_and(|value| value == "text/event-stream");
    let collected = tokio::time::timeout(LONGEST_REPLY, response.into_body().collect()).await;
    let body = match collected {
        Ok(body) => body.unwrap().to_bytes(),
        // A stream that waits for changes has no end.
        Err(_) => return 0,
    };
    let mut frames = Vec::new();
    if is_stream {
        let mut parser = Parser::new(body.len());
        parser.push(&body);
        while let Some(event) = parser.next_event().unwrap() {
            frames.extend(Some(event.data).filter(|data| !data.is_empty()));
        }
    } else if !body.is_empty() && status.is_success() {
        frames.push(body);
    }
    let mut replies = Vec::new();
    for frame in frames {
        let messages = match parse(&frame, Limits::default()) {
            Ok(ParsedFrame::One(message)) => vec![message],
            Ok(ParsedFrame::Batch(messages)) => messages.into_iter().map(Result::unwrap).collect(),
            Err(rejected) => panic!("{shown}: the server wrote {}: {rejected:?}", frame.escape_ascii()),
        };
        replies.extend(messages.into_iter().filter_map(|message| match message {
            Message::Response { id, .. } => Some(id),
            _ => None,
        }));
    }
    match frame {
        Ok(ParsedFrame::One(Message::Request { id, .. })) if status == StatusCode::OK => {
            assert_eq!(replies, [Some(id.clone())], "{shown}");
        }
        Ok(ParsedFrame::One(Message::Notification { .. } | Message::Response { .. })) => {
            assert!(replies.is_empty() && status != StatusCode::OK, "{shown}: {replies:?}");
        }
        _ => {}
    }
    replies.len()
}

/// More requests find nothing new, and take longer.
const MAX_REQUESTS: usize = 12;
/// The clock stands still while there is something to do, so this takes no time.
const LONGEST_REPLY: Duration = Duration::from_secs(3600);
