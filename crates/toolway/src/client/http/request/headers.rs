//! Which headers may an application add to its requests?

use ::http::header::{HeaderMap, HeaderName, HeaderValue};

use crate::ground::error::{Error, ErrorKind, Result};

/// The headers that an application may not set: the client sets them itself, or they would make a reply unreadable.
const RESERVED_HEADERS: [&str; 15] = [
    "accept",
    "accept-encoding",
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "expect",
    "host",
    "keep-alive",
    "last-event-id",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// The prefix of the headers that repeat tool arguments.
const ARGUMENT_PREFIX: &str = "mcp-param-";

/// The headers that belong to one call.
#[derive(Debug, Default)]
pub(crate) struct CallHeaders {
    /// The headers that the caller set. They are also sent with the other HTTP requests of the call, such as the GET
    /// that resumes its reply.
    pub(crate) caller_headers: HeaderMap,
    /// The headers that repeat tool arguments. They are sent only with the POST of the call.
    pub(crate) argument_headers: HeaderMap,
}

impl CallHeaders {
    /// Checks the headers of a call, and separates the two kinds.
    pub(crate) fn parse(pairs: &[(String, String)]) -> Result<Self> {
        let mut of_call = Self::default();
        for (name, value) in pairs {
            if name.to_ascii_lowercase().starts_with(ARGUMENT_PREFIX) {
                let (name, value) = (self::check_name(name)?, self::check_value(name, value)?);
                of_call.argument_headers.insert(name, value);
            } else {
                let (name, value) = check_header(name, value)?;
                of_call.caller_headers.insert(name, value);
            }
        }
        Ok(of_call)
    }
}

/// Checks a header that an application sets. Fails if the client sets this header itself.
pub(crate) fn check_header(name: &str, value: &str) -> Result<(HeaderName, HeaderValue)> {
    let valid = self::check_name(name)?;
    if valid.as_str().starts_with("mcp-") || RESERVED_HEADERS.contains(&valid.as_str()) {
        return Err(Error::new(
            ErrorKind::Misuse,
            format!("the header `{valid}` is set by the client itself: leave it out"),
        ));
    }
    Ok((valid, self::check_value(name, value)?))
}

fn check_name(name: &str) -> Result<HeaderName> {
    HeaderName::from_bytes(name.as_bytes()).map_err(|_| {
        Error::new(
            ErrorKind::Misuse,
            format!("{name:?} cannot be the name of a header: names are made of letters, digits and hyphens"),
        )
    })
}

/// Checks the value of a header. The value may be a secret, so it is kept out of errors and logs.
fn check_value(name: &str, value: &str) -> Result<HeaderValue> {
    let mut valid = HeaderValue::from_str(value).map_err(|_| {
        Error::new(
            ErrorKind::Misuse,
            format!(
                "the value of the header `{name}` cannot be sent: it holds a line break or another control character"
            ),
        )
    })?;
    valid.set_sensitive(true);
    Ok(valid)
}

/// Adds the headers of `more` to `headers`. They replace existing headers with the same name.
pub(crate) fn merge_headers(headers: &mut HeaderMap, more: &HeaderMap) {
    for (name, value) in more {
        headers.insert(name.clone(), value.clone());
    }
}

/// Adds the headers of `more` to `headers`, except those that it has already.
pub(crate) fn fill_headers(headers: &mut HeaderMap, more: &HeaderMap) {
    for (name, value) in more {
        if !headers.contains_key(name) {
            headers.insert(name.clone(), value.clone());
        }
    }
}

/// Adds a header of the protocol.
pub(crate) fn insert_header(headers: &mut HeaderMap, name: &'static str, value: &str) {
    // Method names and revisions are plain ASCII, and `header::encode` encodes everything else.
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(HeaderName::from_static(name), value);
    }
}
