//! How is a request read, and how does a reply look?

use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName};
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use serde_json::Value;
use toolway::BoxFuture;
use toolway::server::http::{ResponseBody, StreamWriter};

use super::object::object;
use super::page::POLICY;
use crate::failure::{Failure, Fault};

/// The maximum size in bytes of the body of a request.
const MAX_BODY: usize = 4 << 20;

/// How long a client may take to send the body of a request.
const BODY_TIMEOUT: Duration = Duration::from_secs(10);

pub(super) type Reply = Response<ResponseBody>;

/// Why a request has no answer.
pub(super) struct Refusal {
    pub(super) status: StatusCode,
    code: &'static str,
    message: String,
    hint: Option<String>,
}

impl Refusal {
    pub(super) fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into(), hint: None }
    }

    /// The request is wrong.
    pub(super) fn usage(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "usage", message)
    }

    pub(super) fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", message)
    }

    pub(super) fn forbidden(message: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "forbidden", message)
    }

    pub(super) fn reply(self) -> Reply {
        let error = object! {"code": self.code, "message": self.message, "hint": self.hint};
        json_reply(self.status, &object! {"error": error})
    }
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        let status = match failure.fault {
            Fault::Usage => StatusCode::BAD_REQUEST,
            Fault::NotFound => StatusCode::NOT_FOUND,
            _ => StatusCode::BAD_GATEWAY,
        };
        Self { status, code: failure.fault.name(), message: failure.message, hint: failure.hint }
    }
}

impl From<toolway::Error> for Refusal {
    fn from(error: toolway::Error) -> Self {
        Failure::from(error).into()
    }
}

/// Returns whether the client of a request accepts a reply that is compressed with gzip.
pub(super) fn accepts_gzip(headers: &HeaderMap) -> bool {
    let lists = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|list| list.to_str().ok());
    // The parameter `q`, between 0 and 1, is the only one. A name counts more than `*`, which stands for all others.
    let mut by_star = false;
    for encoding in lists.flat_map(|list| list.split(',')) {
        let (name, quality) = encoding.split_once(';').unwrap_or((encoding, ""));
        let (name, quality) = (name.trim(), quality.trim().trim_start_matches(['q', 'Q', '=']));
        let is_accepted =
            quality.is_empty() || quality.bytes().any(|digit| digit.is_ascii_digit() && digit != b'0');
        if name.eq_ignore_ascii_case("gzip") {
            return is_accepted;
        }
        by_star |= name == "*" && is_accepted;
    }
    by_star
}

/// Reads the body of a request.
pub(super) async fn read_body(request: Request<Incoming>) -> Result<Bytes, Refusal> {
    let body = Limited::new(request.into_body(), MAX_BODY).collect();
    match tokio::time::timeout(BODY_TIMEOUT, body).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(_)) => Err(Refusal::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "too_large",
            format!("a request may have {} MiB", MAX_BODY >> 20),
        )),
        Err(_) => {
            Err(Refusal::new(StatusCode::REQUEST_TIMEOUT, "usage", "the request did not arrive in time"))
        }
    }
}

pub(super) fn json_reply(status: StatusCode, value: &Value) -> Reply {
    bytes_reply(status, "application/json", value.to_string().into())
}

pub(super) fn bytes_reply(status: StatusCode, media_type: &'static str, bytes: Bytes) -> Reply {
    reply(status, media_type, ResponseBody::whole(bytes))
}

/// Returns a reply whose lines are written by `write` while the client reads them. The work ends when the client has gone.
pub(super) fn lines_reply(write: impl FnOnce(StreamWriter) -> BoxFuture<'static, ()>) -> Reply {
    reply(StatusCode::OK, "application/x-ndjson", ResponseBody::streamed(write))
}

fn reply(status: StatusCode, media_type: &'static str, body: ResponseBody) -> Reply {
    let mut reply = Response::new(body);
    *reply.status_mut() = status;
    let headers = reply.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    for (name, value) in [
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
        ("x-frame-options", "DENY"),
    ] {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    reply
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gzip_is_accepted_by_name_or_by_star_unless_its_quality_is_zero() {
        for (lists, is_accepted) in [
            (&[][..], false),
            (&[""], false),
            (&["gzip"], true),
            (&["br, GZIP;q=0.5"], true),
            (&["deflate", "gzip"], true),
            (&["*"], true),
            (&["identity", "*;q=0"], false),
            (&["gzip;q=0, *"], false),
            (&["gzip ; q=0.000"], false),
            (&["br", "x-gzipped"], false),
        ] {
            let mut headers = HeaderMap::new();
            for list in lists {
                headers.append(ACCEPT_ENCODING, HeaderValue::from_static(list));
            }
            assert_eq!(accepts_gzip(&headers), is_accepted, "{lists:?}");
        }
    }
}
