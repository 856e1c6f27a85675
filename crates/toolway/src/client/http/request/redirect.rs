//! Which redirects are followed?
//!
//! A redirect within the same origin (scheme, host and port) is followed, with all headers and the body. A redirect to
//! another origin is an error: headers, tokens and messages are for the server that the application named, and a reply
//! must not send them elsewhere.

use ::http::header::LOCATION;
use ::http::{HeaderMap, Method, StatusCode};

use crate::client::http::request::url::Url;
use crate::ground::error::{Error, ErrorKind, Result};

/// The maximum number of redirects that one request follows.
pub(crate) const MAX_REDIRECTS: usize = 5;

/// A redirect that the client may follow.
pub(crate) struct Redirect {
    pub(crate) url: Url,
    /// `true` if the redirect is permanent, so that later requests should go to the new URL directly.
    pub(crate) is_permanent: bool,
}

/// Reads the status and headers of a reply. Returns `None` if the reply is not a redirect: it has another status, or no
/// `Location` header.
///
/// # Errors
///
/// When the redirect must not be followed. The error names the new URL if `Location` is an HTTP URL.
pub(crate) fn read(
    method: &Method,
    from: &Url,
    status: StatusCode,
    headers: &HeaderMap,
) -> Result<Option<Redirect>> {
    let keeps_method = match status {
        StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT => true,
        StatusCode::MOVED_PERMANENTLY | StatusCode::FOUND | StatusCode::SEE_OTHER => *method == Method::GET,
        _ => return Ok(None),
    };
    let Some(location) = headers.get(LOCATION) else { return Ok(None) };
    let location = location.to_str().ok().and_then(|location| from.join(location).ok());
    let Some(to) = location else {
        return Err(refused_error(
            status,
            format!("{from} answered {status} with a location that is not an HTTP URL"),
        ));
    };
    if !from.is_same_origin(&to) {
        let what = if from.is_encrypted() && !to.is_encrypted() {
            "which is not encrypted"
        } else {
            "which is another server"
        };
        return Err(refused_error(
            status,
            format!(
                "{from} answered {status}: it redirects to {to}, {what}; the client does not follow this redirect: \
                 connect to that URL if it is the right one"
            ),
        ));
    }
    if !keeps_method {
        return Err(refused_error(
            status,
            format!(
                "{from} answered {status}, a redirect that changes the method of the request: connect to {to} instead"
            ),
        ));
    }
    Ok(Some(Redirect { url: to, is_permanent: status == StatusCode::PERMANENT_REDIRECT }))
}

/// Returns the error for a redirect when redirects are not allowed.
pub(crate) fn disallowed_error(from: &Url, to: &Url, status: StatusCode) -> Error {
    refused_error(
        status,
        format!(
            "{from} answered {status}: it redirects to {to}; redirects are not allowed here, so connect to that URL"
        ),
    )
}

/// Returns the error for more than [`MAX_REDIRECTS`] redirects of one request.
pub(crate) fn too_many_error(from: &Url, status: StatusCode) -> Error {
    refused_error(
        status,
        format!("{from} redirects requests more than {MAX_REDIRECTS} times: connect to the final URL"),
    )
}

fn refused_error(status: StatusCode, message: String) -> Error {
    Error::new(ErrorKind::PeerRefused, message).with_http_status(status.as_u16())
}
