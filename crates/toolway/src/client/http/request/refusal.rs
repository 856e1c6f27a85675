//! Which error does a reply without a result become? The error says what the application or the operator should do, and
//! whether the request may be sent again.

use std::fmt::Write;
use std::time::Duration;

use ::http::header::{RETRY_AFTER, WWW_AUTHENTICATE};
use ::http::response::Parts;
use ::http::{HeaderMap, Response, StatusCode};
use http_body_util::BodyExt;
use tokio::time::timeout;
use toolway_protocol::RpcError;

use crate::client::http::request::client::HttpBody;
use crate::client::http::request::events::media_type;
use crate::client::http::request::url::Url;
use crate::ground::error::{Error, ErrorKind};

/// The maximum number of bytes that are read of a body that is not a message. The error shows the beginning of the
/// body.
const MAX_PAGE: usize = 2 << 10;

/// The time limit for reading a body that is not a message.
const PAGE_TIMEOUT: Duration = Duration::from_secs(2);

/// The maximum number of characters of a server's text that an error shows.
const MAX_SHOWN: usize = 100;

/// The minimum length of letters and digits in a server's text that may be a token.
const MIN_SECRET: usize = 20;

/// The longest `Retry-After` time that is accepted. A longer time is reduced to this limit.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(3600);

/// Returns the error for a reply whose body is not a message. Reads the beginning of the body.
pub(crate) async fn page_error(url: &Url, response: Response<HttpBody>) -> Error {
    let (head, body) = response.into_parts();
    let page = timeout(PAGE_TIMEOUT, read_beginning(body)).await.unwrap_or_default();
    text_error(url, &head, &page)
}

/// Reads the beginning of a body, up to [`MAX_PAGE`] bytes.
async fn read_beginning(mut body: HttpBody) -> Vec<u8> {
    let mut page = Vec::new();
    while let Some(Ok(frame)) = body.frame().await {
        if let Some(data) = frame.data_ref() {
            page.extend_from_slice(&data[..data.len().min(MAX_PAGE - page.len())]);
        }
        if page.len() == MAX_PAGE {
            break;
        }
    }
    page
}

/// Returns the error for a reply that contains `text` instead of a message.
pub(crate) fn text_error(url: &Url, head: &Parts, text: &[u8]) -> Error {
    let status = head.status;
    let mut message = match status {
        StatusCode::UNAUTHORIZED => {
            format!("{url} requires authorization: sign in with `oauth`, or give a valid token with `bearer`")
        }
        StatusCode::FORBIDDEN => {
            format!(
                "{url} denies access ({status}): a token may be missing, or may not have the permission for this"
            )
        }
        StatusCode::NOT_FOUND => {
            format!("{url} answered {status} without a message: is the path right? Often it is /mcp")
        }
        StatusCode::PAYLOAD_TOO_LARGE => {
            format!(
                "the message is too large for {url} ({status}): send less, or raise the limit on that server"
            )
        }
        StatusCode::REQUEST_TIMEOUT => format!("{url} timed out while it waited for the request ({status})"),
        StatusCode::TOO_EARLY | StatusCode::TOO_MANY_REQUESTS => {
            format!("{url} asks the client to retry later ({status})")
        }
        StatusCode::SERVICE_UNAVAILABLE => format!("{url} cannot answer at the moment ({status})"),
        StatusCode::BAD_GATEWAY | StatusCode::GATEWAY_TIMEOUT => {
            format!("{url} cannot be reached by the proxy in front of it ({status})")
        }
        _ if status.is_server_error() => format!("{url} failed ({status})"),
        _ => match media_type(&head.headers) {
            Some(kind) if status.is_success() && kind != "application/json" => {
                format!("{url} answered {status} with {kind} instead of a message")
            }
            _ => format!("{url} answered {status} without a message"),
        },
    };
    let challenge = challenge(head);
    let shown = challenge.as_deref().filter(|_| status == StatusCode::UNAUTHORIZED);
    for (what, said) in [
        ("it asks for", shown.map(|challenge| excerpt(challenge.as_bytes())).unwrap_or_default()),
        ("it said", excerpt(text)),
    ] {
        if !said.is_empty() {
            let _ = write!(message, "; {what}: {said}");
        }
    }
    let kind = match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => ErrorKind::PeerRefused,
        StatusCode::PAYLOAD_TOO_LARGE => ErrorKind::TooLarge,
        _ if is_temporary(status) || status.is_server_error() => ErrorKind::Transport,
        _ => ErrorKind::PeerMisbehaved,
    };
    let error = Error::new(kind, message).with_http_status(status.as_u16());
    with_retry_hints(with_challenge(error, challenge), status, &head.headers)
}

/// Returns the error for a reply that contains a JSON-RPC error. With status 401 or 403, the error also says that the
/// server denies access. With the status of a temporary failure, the error also says whether and when the request may
/// be sent again.
pub(crate) fn message_error(url: &Url, head: &Parts, error: RpcError) -> Error {
    let error = Error::from(error);
    match head.status {
        status @ (StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) => {
            let error = error.context(format!("{url} denies access")).with_http_status(status.as_u16());
            with_challenge(error, challenge(head))
        }
        status if is_temporary(status) => {
            with_retry_hints(error.with_http_status(status.as_u16()), status, &head.headers)
        }
        _ => error,
    }
}

/// Returns the challenge of a refusal: what the server wants to see.
fn challenge(head: &Parts) -> Option<String> {
    let is_refusal = matches!(head.status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
    let challenge = head.headers.get(WWW_AUTHENTICATE).filter(|_| is_refusal)?;
    Some(String::from_utf8_lossy(challenge.as_bytes()).into_owned())
}

fn with_challenge(error: Error, challenge: Option<String>) -> Error {
    match challenge {
        Some(challenge) => error.with_challenge(challenge),
        None => error,
    }
}

/// Returns whether the status adds information to a JSON-RPC error. If so, [`message_error`] must convert the error.
pub(crate) fn is_about_access_or_load(status: StatusCode) -> bool {
    matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) || is_temporary(status)
}

/// Returns whether the status means a temporary failure.
fn is_temporary(status: StatusCode) -> bool {
    matches!(
        status,
        StatusCode::REQUEST_TIMEOUT
            | StatusCode::TOO_EARLY
            | StatusCode::TOO_MANY_REQUESTS
            | StatusCode::SERVICE_UNAVAILABLE
    )
}

/// Adds to an error whether the request may be sent again, and when.
fn with_retry_hints(error: Error, status: StatusCode, headers: &HeaderMap) -> Error {
    let retry_after = retry_after(headers);
    let error = match retry_after {
        Some(wait) => error.with_retry_after(wait),
        None => error,
    };
    match status {
        StatusCode::TOO_EARLY | StatusCode::TOO_MANY_REQUESTS => error.unsent(),
        // A server that sends `Retry-After` is assumed not to have begun the request. Without the header, the server
        // may have begun the request and lost it.
        StatusCode::SERVICE_UNAVAILABLE if retry_after.is_some() => error.unsent(),
        // Many servers also send these statuses for a request that they have begun and then stopped.
        StatusCode::REQUEST_TIMEOUT
        | StatusCode::SERVICE_UNAVAILABLE
        | StatusCode::BAD_GATEWAY
        | StatusCode::GATEWAY_TIMEOUT => error.reply_lost(),
        _ => error,
    }
}

/// Returns the time of the `Retry-After` header. Returns `None` if the header is missing, or is not a number of seconds
/// (dates are not supported).
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds).min(MAX_RETRY_AFTER))
}

/// Adds a word of a server. Servers repeat tokens in their pages, so what may be one is replaced by `…`.
fn push_without_secrets(words: &mut String, word: &str) {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || "-._~+".contains(letter);
    let mut rest = word;
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|letter| is_part(letter) != is_part(first)).unwrap_or(rest.len());
        let (run, after) = rest.split_at(end);
        let has = |is: fn(&u8) -> bool| run.as_bytes().iter().any(is);
        let may_be_secret = run.len() >= MIN_SECRET
            && has(u8::is_ascii_digit)
            && has(u8::is_ascii_alphabetic)
            && is_part(first);
        words.push_str(if may_be_secret { "…" } else { run });
        rest = after;
    }
}

/// Returns the beginning of a server's text, on one line and without control characters or tokens.
fn excerpt(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let mut words = String::new();
    for word in text
        .split(|letter: char| letter.is_whitespace() || letter.is_control())
        .filter(|word| !word.is_empty())
    {
        if !words.is_empty() {
            words.push(' ');
        }
        push_without_secrets(&mut words, word);
    }
    if let Some((end, _)) = words.char_indices().nth(MAX_SHOWN) {
        words.truncate(end);
        words.push('…');
    }
    words
}

#[cfg(test)]
mod tests {
    use ::http::header::HeaderValue;

    use super::*;

    fn error(status: u16, headers: &[(&'static str, &'static str)], text: &str) -> Error {
        let (mut head, ()) = Response::new(()).into_parts();
        head.status = StatusCode::from_u16(status).expect("a status");
        for (name, value) in headers {
            head.headers.insert(*name, HeaderValue::from_static(value));
        }
        text_error(&Url::parse("http://localhost/mcp").expect("a URL"), &head, text.as_bytes())
    }

    #[test]
    fn a_status_says_whose_fault_it_is_and_whether_to_ask_again() {
        #[derive(Debug, PartialEq)]
        enum Loss {
            Unsent,
            BrokenOff,
            None,
        }
        use ErrorKind::{PeerMisbehaved, PeerRefused, TooLarge, Transport};
        let later = ("retry-after", "7");
        for (status, headers, kind, loss, part) in [
            (400, [].as_slice(), PeerMisbehaved, Loss::None, "answered 400 Bad Request without a message"),
            (401, &[], PeerRefused, Loss::None, "requires authorization"),
            (403, &[], PeerRefused, Loss::None, "denies access"),
            (404, &[], PeerMisbehaved, Loss::None, "is the path right?"),
            (408, &[], Transport, Loss::BrokenOff, "timed out while it waited"),
            (413, &[], TooLarge, Loss::None, "too large"),
            (429, &[], Transport, Loss::Unsent, "to retry later"),
            (429, &[later], Transport, Loss::Unsent, "to retry later"),
            (500, &[], Transport, Loss::None, "failed (500"),
            (502, &[], Transport, Loss::BrokenOff, "proxy"),
            (503, &[], Transport, Loss::BrokenOff, "at the moment"),
            (503, &[later], Transport, Loss::Unsent, "at the moment"),
            (504, &[], Transport, Loss::BrokenOff, "proxy"),
            (
                200,
                &[("content-type", "text/html; charset=utf-8")],
                PeerMisbehaved,
                Loss::None,
                "with text/html instead",
            ),
            (202, &[], PeerMisbehaved, Loss::None, "answered 202 Accepted without a message"),
        ] {
            let error = error(status, headers, "");
            let lost = match (error.is_unsent(), error.is_reply_lost()) {
                (true, _) => Loss::Unsent,
                (_, true) => Loss::BrokenOff,
                _ => Loss::None,
            };
            assert_eq!((error.kind(), lost), (kind, loss), "{error}");
            assert!(error.to_string().contains(part), "{error}");
            assert_eq!(error.http_status(), Some(status));
            assert_eq!(error.retry_after(), headers.contains(&later).then_some(Duration::from_secs(7)));
        }
    }

    #[test]
    fn how_long_to_wait_is_bounded_and_never_guessed() {
        for (said, meant) in [
            ("0", Some(Duration::ZERO)),
            (" 5 ", Some(Duration::from_secs(5))),
            ("18446744073709551615", Some(MAX_RETRY_AFTER)),
            ("-1", None),
            ("soon", None),
            ("Wed, 21 Oct 2015 07:28:00 GMT", None),
        ] {
            assert_eq!(error(429, &[("retry-after", said)], "").retry_after(), meant, "{said}");
        }
    }

    #[test]
    fn a_token_that_a_server_repeats_is_not_shown() {
        for (page, shown) in [
            ("the token eyJhbGciOi.eyJzdWIiOiI1.c2lnbmF0dXJl is bad", "the token … is bad"),
            (r#"{"got":"Bearer 9f8e7d6c5b4a39281706"}"#, r#"{"got":"Bearer …"}"#),
            (
                "see https://status.notes.example/incidents/42",
                "see https://status.notes.example/incidents/42",
            ),
            ("insufficient-permissions-for-user", "insufficient-permissions-for-user"),
        ] {
            let text = error(403, &[], page).to_string();
            assert!(text.ends_with(&format!("it said: {shown}")), "{text}");
        }
    }

    #[test]
    fn the_beginning_of_a_page_is_shown_on_one_line() {
        let page = "<html>\r\n\t<title>\u{1b}[31mNot here\u{7}</title>\0";
        let shown = error(404, &[], page).to_string();
        assert!(shown.ends_with("it said: <html> <title> [31mNot here </title>"), "{shown}");
        let long = "ä".repeat(MAX_SHOWN);
        assert!(error(500, &[], &long).to_string().ends_with(&long));
        assert!(error(500, &[], &format!("{long}ä")).to_string().ends_with(&format!("{long}…")));
        let error =
            error(401, &[("www-authenticate", "Bearer error=\"invalid_token\"")], "{\"error\":\"x\"}");
        assert!(
            error
                .to_string()
                .contains("asks for: Bearer error=\"invalid_token\"; it said: {\"error\":\"x\"}"),
            "{error}"
        );
    }
}
