//! Which headers may an application add to its requests?

use ::http::header::{HeaderMap, HeaderName, HeaderValue};

use crate::ground::error::{Error, ErrorKind, Result};

/// Headers that are made for each request, or that would make a reply unreadable.
const OURS: [&str; 15] = [
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

/// The header of an argument that a tool wants to see there.
const ARGUMENT: &str = "mcp-param-";

/// The headers of one request of the application.
#[derive(Debug, Default)]
pub(crate) struct OfCall {
    /// What the caller wants to be said wherever the call goes on.
    pub(crate) of_caller: HeaderMap,
    /// Arguments of a tool, which are said once.
    pub(crate) of_tool: HeaderMap,
}

impl OfCall {
    pub(crate) fn read(pairs: &[(String, String)]) -> Result<Self> {
        let mut of_call = Self::default();
        for (name, value) in pairs {
            if name.to_ascii_lowercase().starts_with(ARGUMENT) {
                let (name, value) = (self::name(name)?, self::value(name, value)?);
                of_call.of_tool.insert(name, value);
            } else {
                let (name, value) = header(name, value)?;
                of_call.of_caller.insert(name, value);
            }
        }
        Ok(of_call)
    }
}

/// A header that an application may set.
pub(crate) fn header(name: &str, value: &str) -> Result<(HeaderName, HeaderValue)> {
    let valid = self::name(name)?;
    if valid.as_str().starts_with("mcp-") || OURS.contains(&valid.as_str()) {
        return Err(Error::new(
            ErrorKind::Misuse,
            format!("the header `{valid}` is set by the client itself: leave it out"),
        ));
    }
    Ok((valid, self::value(name, value)?))
}

fn name(name: &str) -> Result<HeaderName> {
    HeaderName::from_bytes(name.as_bytes()).map_err(|_| {
        Error::new(
            ErrorKind::Misuse,
            format!("{name:?} cannot be the name of a header: names are made of letters, digits and hyphens"),
        )
    })
}

/// What a header says. It may be a secret, so neither errors nor logs show it.
fn value(name: &str, value: &str) -> Result<HeaderValue> {
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

/// Adds headers; those that are there already and have the same name are replaced.
pub(crate) fn put_on(headers: &mut HeaderMap, more: &HeaderMap) {
    for (name, value) in more {
        headers.insert(name.clone(), value.clone());
    }
}

/// Adds a header of the protocol.
pub(crate) fn insert(headers: &mut HeaderMap, name: &'static str, value: &str) {
    // Names and revisions are plain, and `header::encode` makes anything else so.
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(HeaderName::from_static(name), value);
    }
}
