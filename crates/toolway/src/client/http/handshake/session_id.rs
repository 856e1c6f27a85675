//! How does the server identify the conversation? By a session id. The server may send the id in a header of its reply
//! to `initialize`, and the client repeats the header in all later requests.

use ::http::header::{HeaderMap, HeaderName, HeaderValue};

use crate::ground::error::{Error, ErrorKind, Result};

const SESSION_ID_HEADER: HeaderName = HeaderName::from_static("mcp-session-id");

/// The session id that the server has assigned to the conversation.
#[derive(Debug)]
pub(super) struct SessionId {
    id: HeaderValue,
}

impl SessionId {
    /// Reads the session id from the headers of the reply to `initialize`. Returns `None` if there is none. Fails if
    /// the id is invalid.
    pub(super) fn from_headers(headers: &HeaderMap) -> Result<Option<Self>> {
        let Some(id) = headers.get(SESSION_ID_HEADER) else { return Ok(None) };
        if id.is_empty() || !id.as_bytes().iter().all(u8::is_ascii_graphic) {
            return Err(Error::new(
                ErrorKind::PeerMisbehaved,
                "the server's session id is not made of visible ASCII characters",
            ));
        }
        let mut id = id.clone();
        // A peer that knows the id can impersonate the client, so the id must not appear in logs.
        id.set_sensitive(true);
        Ok(Some(Self { id }))
    }

    /// Adds the session id to the headers of a request.
    pub(super) fn add_to(&self, headers: &mut HeaderMap) {
        headers.insert(SESSION_ID_HEADER, self.id.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(id: &[u8]) -> Result<Option<SessionId>> {
        let mut headers = HeaderMap::new();
        headers.insert(SESSION_ID_HEADER, HeaderValue::from_bytes(id).expect("bytes of a header"));
        SessionId::from_headers(&headers)
    }

    #[test]
    fn an_id_is_visible_ascii() {
        assert!(SessionId::from_headers(&HeaderMap::new()).expect("no id is fine").is_none());
        assert!(named(b"!a-Z0.~").expect("a good id").is_some());
        for bad in [&b""[..], b"a b", b"a\tb", "ä".as_bytes()] {
            assert_eq!(named(bad).expect_err("a bad id").kind(), ErrorKind::PeerMisbehaved);
        }
    }
}
