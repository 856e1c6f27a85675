//! How is one message sent as a reply?

use std::borrow::Cow;

use ::http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use ::http::{Response, StatusCode};
use toolway_protocol::jsonrpc::{Frame, write_error};
use toolway_protocol::{Id, Message, RpcError};

use super::body::ResponseBody;
use crate::server::admission::admit::{RefusalReason, Refuse};

/// The error for a result that finds no room in memory, because the client does not read earlier replies.
pub(crate) const UNREAD: &str = "too many replies wait for the client to read them";

/// Returns the id of the message if it is a request, to name it in an error reply.
pub(crate) fn request_id(message: &Message) -> Option<&Id> {
    match message {
        Message::Request { id, .. } => Some(id),
        Message::Notification { .. } | Message::Response { .. } => None,
    }
}

/// Creates a reply with one JSON frame as its body.
pub(crate) fn reply(status: StatusCode, frame: impl Into<Frame>) -> Response<ResponseBody> {
    let mut response = Response::new(ResponseBody::of_frame(frame.into()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// Creates the reply to a message that needs no response: status 202, without a body.
pub(crate) fn accepted() -> Response<ResponseBody> {
    let mut response = Response::new(ResponseBody::empty());
    *response.status_mut() = StatusCode::ACCEPTED;
    response
}

/// Creates an error reply. `id` is `None` if the id of the request could not be read, or if the message is not a
/// request.
pub(crate) fn error_reply(status: StatusCode, id: Option<&Id>, error: &RpcError) -> Response<ResponseBody> {
    let mut frame = Vec::new();
    write_error(&mut frame, id, error);
    reply(status, frame)
}

/// Creates an error reply with the status 503. Its `Retry-After` header asks the client to retry after one second.
pub(crate) fn unavailable(id: Option<&Id>, error: &RpcError) -> Response<ResponseBody> {
    let mut response = error_reply(StatusCode::SERVICE_UNAVAILABLE, id, error);
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    response
}

/// Creates an error reply to a request whose message was not read.
pub(crate) fn error_reply_without_id(status: StatusCode, error: &RpcError) -> Response<ResponseBody> {
    error_reply(status, None, error)
}

/// Creates the reply to an HTTP method that is not one of `methods`.
pub(crate) fn not_allowed(methods: &'static str) -> Response<ResponseBody> {
    not_allowed_because(methods, format!("this endpoint takes {methods}"))
}

/// Like [`not_allowed`], with a reason.
pub(crate) fn not_allowed_because(
    methods: &'static str,
    text: impl Into<Cow<'static, str>>,
) -> Response<ResponseBody> {
    let mut response =
        error_reply_without_id(StatusCode::METHOD_NOT_ALLOWED, &RpcError::invalid_request(text));
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(methods));
    response
}

/// Creates the reply to a request of a caller that was refused.
pub(crate) fn refusal_reply(id: Option<&Id>, refuse: &Refuse) -> Response<ResponseBody> {
    let status = match refuse.reason {
        RefusalReason::Unauthorized => StatusCode::UNAUTHORIZED,
        RefusalReason::Forbidden => StatusCode::FORBIDDEN,
        RefusalReason::Malformed => StatusCode::BAD_REQUEST,
        RefusalReason::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        RefusalReason::CheckFailed => StatusCode::INTERNAL_SERVER_ERROR,
    };
    let mut response = error_reply(status, id, &refuse.error());
    let headers = response.headers_mut();
    for challenge in refuse.challenges.iter().filter_map(|text| HeaderValue::from_str(text).ok()) {
        headers.append(WWW_AUTHENTICATE, challenge);
    }
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if refuse.reason == RefusalReason::Unavailable {
        headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
    }
    headers.extend(refuse.headers.iter().cloned());
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the status and the challenge of a refusal.
    fn status_and_challenge(refuse: &Refuse) -> (u16, String) {
        let response = refusal_reply(None, refuse);
        let challenge = response.headers().get(WWW_AUTHENTICATE).map_or("", |value| value.to_str().unwrap());
        (response.status().as_u16(), challenge.to_owned())
    }

    #[test]
    fn a_challenge_is_one_header_with_one_string() {
        let plain =
            Refuse::unauthorized("https://app.example/.well-known/oauth-protected-resource/mcp?a=b&c=%20");
        assert_eq!(
            status_and_challenge(&plain),
            (
                401,
                "Bearer resource_metadata=\"https://app.example/.well-known/oauth-protected-resource/mcp?a=b&c=%20\"".to_owned()
            )
        );
        let hostile = Refuse::unauthorized("https://a/\", error=\"x\\\r\nSet-Cookie: a\0\u{7f}\u{e9}");
        assert_eq!(
            status_and_challenge(&hostile).1,
            "Bearer resource_metadata=\"https://a/%22,%20error=%22x%5C%0D%0ASet-Cookie:%20a%00%7F%C3%A9\""
        );
    }

    #[test]
    fn a_challenge_of_ones_own_is_one_header_too() {
        for (refuse, status, header) in [
            (Refuse::challenge("Bearer"), 401, "Bearer"),
            (Refuse::challenge("Basic realm=\"app\""), 401, "Basic realm=\"app\""),
            (Refuse::challenge("Bearer\r\nSet-Cookie: a\u{e9}\0"), 401, "BearerSet-Cookie: a"),
            (
                Refuse::challenge("Bearer").with_error("invalid_token", "it \"has\"\nexpired"),
                401,
                "Bearer error=\"invalid_token\", error_description=\"it %22has%22%0Aexpired\"",
            ),
            (
                Refuse::unauthorized("https://a/b").with_scope("notes:read notes:write"),
                401,
                "Bearer resource_metadata=\"https://a/b\", scope=\"notes:read notes:write\"",
            ),
            (
                Refuse::forbidden("read only").with_error("insufficient_scope", "").with_scope("w"),
                403,
                "Bearer error=\"insufficient_scope\", scope=\"w\"",
            ),
        ] {
            assert_eq!(status_and_challenge(&refuse), (status, header.to_owned()));
        }
    }

    #[test]
    fn a_refusal_knows_its_status_and_says_no_more_than_it_was_told() {
        let forbidden = Refuse::forbidden("please upgrade");
        assert_eq!(status_and_challenge(&forbidden), (403, String::new()));
        assert_eq!(forbidden.error(), RpcError::invalid_request("please upgrade"));
        let unchecked = Refuse::check_failed();
        assert_eq!(status_and_challenge(&unchecked), (500, String::new()));
        assert_eq!(unchecked.error(), RpcError::internal("the connection could not be checked"));
    }
}
