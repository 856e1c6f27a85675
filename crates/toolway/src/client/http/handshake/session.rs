//! How does the server identify the conversation? By an id that it may send in its reply to `initialize`, and nowhere
//! else.

use ::http::header::{HeaderMap, HeaderName, HeaderValue};

use crate::ground::error::{Error, ErrorKind, Result};

const NAME: HeaderName = HeaderName::from_static("mcp-session-id");

/// A session of the server.
#[derive(Debug)]
pub(super) struct Session {
    id: HeaderValue,
}

impl Session {
    /// The session that a reply to `initialize` names.
    pub(super) fn named_in(headers: &HeaderMap) -> Result<Option<Self>> {
        let Some(id) = headers.get(NAME) else { return Ok(None) };
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

    pub(super) fn dress(&self, headers: &mut HeaderMap) {
        headers.insert(NAME, self.id.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(id: &[u8]) -> Result<Option<Session>> {
        let mut headers = HeaderMap::new();
        headers.insert(NAME, HeaderValue::from_bytes(id).expect("bytes of a header"));
        Session::named_in(&headers)
    }

    #[test]
    fn an_id_is_visible_ascii() {
        assert!(Session::named_in(&HeaderMap::new()).expect("no id is fine").is_none());
        assert!(named(b"!a-Z0.~").expect("a good id").is_some());
        for bad in [&b""[..], b"a b", b"a\tb", "ä".as_bytes()] {
            assert_eq!(named(bad).expect_err("a bad id").kind(), ErrorKind::PeerMisbehaved);
        }
    }
}
