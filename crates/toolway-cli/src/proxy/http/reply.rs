//! What does an HTTP reply contain?

use bytes::Bytes;
use http::header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE, HeaderName, RETRY_AFTER};
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use serde_json::json;
use toolway::server::http::ResponseBody;

pub(super) const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");

/// A reply with one message.
pub(super) fn message(status: StatusCode, text: impl Into<Bytes>) -> Response<ResponseBody> {
    let mut response = Response::new(ResponseBody::whole(text));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// A reply that is a stream of events.
pub(super) fn events(body: ResponseBody) -> Response<ResponseBody> {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    response
}

/// A reply without content.
pub(super) fn status(status: StatusCode) -> Response<ResponseBody> {
    let mut response = Response::new(ResponseBody::empty());
    *response.status_mut() = status;
    response
}

/// A refusal. `id` is the text of the request's id, if there is one.
pub(super) fn refusal(status: StatusCode, id: Option<&str>, code: i64, text: &str) -> Response<ResponseBody> {
    let error = json!({"code": code, "message": text});
    let id = id.unwrap_or("null");
    let mut response = message(status, format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{error}}}"));
    if status == StatusCode::SERVICE_UNAVAILABLE {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    }
    response
}

/// Returns whether the client reads streams of events.
pub(super) fn accepts_events(headers: &HeaderMap) -> bool {
    let mut ranges = headers.get_all(ACCEPT).iter().filter_map(|line| line.to_str().ok()).peekable();
    ranges.peek().is_none()
        || ranges.flat_map(|line| line.split(',')).any(|range| {
            let range = range.split(';').next().unwrap_or_default().trim();
            ["text/event-stream", "text/*", "*/*"].iter().any(|fitting| range.eq_ignore_ascii_case(fitting))
        })
}
