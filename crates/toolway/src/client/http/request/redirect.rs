//! The server says that it is elsewhere: do we go there?
//!
//! Within the same origin (scheme, host and port), yes, with everything that was to be said. To any other, no: headers, tokens
//! and the conversation belong to the server that the application named, and nobody else is to get them because of a reply.

use ::http::header::LOCATION;
use ::http::{HeaderMap, Method, StatusCode};

use crate::client::http::request::url::Url;
use crate::ground::error::{Error, ErrorKind, Result};

/// How often one request is sent on.
pub(crate) const MAX_HOPS: usize = 5;

/// Where a request is to go instead.
pub(crate) struct Moved {
    pub(crate) to: Url,
    /// Whether later requests are to go there at once.
    pub(crate) is_for_good: bool,
}

/// Reads a reply that may be a redirect. An error is one that is not followed; it says where it leads.
pub(crate) fn read(
    method: &Method,
    from: &Url,
    status: StatusCode,
    headers: &HeaderMap,
) -> Result<Option<Moved>> {
    let keeps_method = match status {
        StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT => true,
        StatusCode::MOVED_PERMANENTLY | StatusCode::FOUND | StatusCode::SEE_OTHER => *method == Method::GET,
        _ => return Ok(None),
    };
    let Some(location) = headers.get(LOCATION) else { return Ok(None) };
    let location = location.to_str().ok().and_then(|location| from.join(location).ok());
    let Some(to) = location else {
        return Err(refused(
            status,
            format!("{from} answered {status}, to something that is not an HTTP URL"),
        ));
    };
    if !from.is_same_origin(&to) {
        let what = if from.is_encrypted() && !to.is_encrypted() {
            "which is not encrypted"
        } else {
            "which is another server"
        };
        return Err(refused(
            status,
            format!(
                "{from} answered {status}: it is at {to} now, {what}; requests are not sent on to there, so if that is right, \
                 connect to that URL"
            ),
        ));
    }
    if !keeps_method {
        return Err(refused(
            status,
            format!(
                "{from} answered {status}, which does not let a message be sent on: connect to {to} instead"
            ),
        ));
    }
    Ok(Some(Moved { to, is_for_good: status == StatusCode::PERMANENT_REDIRECT }))
}

/// A redirect that is not followed because nobody wants any.
pub(crate) fn unwanted(from: &Url, to: &Url, status: StatusCode) -> Error {
    refused(
        status,
        format!(
            "{from} answered {status}: it is at {to} now; redirects are not allowed here, so connect to that URL"
        ),
    )
}

/// Redirects without end.
pub(crate) fn endless(from: &Url, status: StatusCode) -> Error {
    refused(
        status,
        format!("{from} sends requests on more than {MAX_HOPS} times: connect to where it is in the end"),
    )
}

fn refused(status: StatusCode, message: String) -> Error {
    Error::new(ErrorKind::PeerRefused, message).with_http_status(status.as_u16())
}
