//! Headers that repeat parts of the body, so that proxies can route without reading it: how are they compared?
//!
//! The body is the truth. A mirrored header that is missing, comes twice, cannot be read or differs is
//! refused, because a proxy that routed by it saw another request than the one we would serve.

use std::borrow::Cow;

use base64_simd::STANDARD;

use crate::jsonrpc::RpcError;

/// The mirrored headers of one request.
#[derive(Debug, Clone, Copy)]
pub struct MirroredHeaders<'a> {
    /// `MCP-Protocol-Version`.
    pub protocol_version: Mirrored<'a>,
    /// `Mcp-Method`.
    pub method: Mirrored<'a>,
    /// `Mcp-Name`.
    pub name: Mirrored<'a>,
}

/// One mirrored header.
///
/// ```
/// use toolway_protocol::http::header::Mirrored;
///
/// assert_eq!(Mirrored::from_lines([&b" add "[..]].into_iter()), Mirrored::One("add"));
/// assert_eq!(Mirrored::from_lines([&b"a"[..], b"b"].into_iter()), Mirrored::Unreadable);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mirrored<'a> {
    /// It was not sent.
    Absent,
    /// It was sent once; white space around the value is gone.
    One(&'a str),
    /// It was sent more than once, or is not text.
    Unreadable,
}

impl<'a> Mirrored<'a> {
    /// Reads all lines of one header.
    pub fn from_lines(mut lines: impl Iterator<Item = &'a [u8]>) -> Self {
        match (lines.next(), lines.next()) {
            (None, _) => Self::Absent,
            (Some(line), None) => std::str::from_utf8(line)
                .map_or(Self::Unreadable, |value| Self::One(value.trim_matches([' ', '\t']))),
            (Some(_), Some(_)) => Self::Unreadable,
        }
    }

    /// The header must be there and equal `body` as it is.
    pub fn must_equal(self, header: &str, body: &str) -> Result<(), RpcError> {
        self.compare(header, body, |value| Some(Cow::Borrowed(value)))
    }

    /// The header must be there and equal `body` after decoding. A body without the value is for the method to
    /// refuse, not for the header.
    pub fn must_decode_to(self, header: &str, body: Option<&str>) -> Result<(), RpcError> {
        match body {
            Some(body) => self.compare(header, body, decode),
            None => Ok(()),
        }
    }

    fn compare(
        self,
        header: &str,
        body: &str,
        read: impl Fn(&str) -> Option<Cow<'_, str>>,
    ) -> Result<(), RpcError> {
        let problem = match self {
            Self::Absent => "is missing",
            Self::Unreadable => "must come once, as text",
            Self::One(value) => match read(value) {
                None => "is not valid Base64",
                Some(value) if value == body => return Ok(()),
                Some(_) => DIFFERS,
            },
        };
        Err(mismatch(header, problem))
    }
}

/// Refuses a request for one of its headers.
pub(super) fn mismatch(header: &str, problem: &str) -> RpcError {
    RpcError::header_mismatch(format!("the {header} header {problem}"))
}

pub(super) const DIFFERS: &str = "differs from the body";

const OPEN: &str = "=?base64?";
const CLOSE: &str = "?=";

/// Writes a value as a header: as it is where that is safe, else in Base64 between two marks.
///
/// ```
/// use toolway_protocol::http::header::{decode, encode};
///
/// assert_eq!(encode("add"), "add");
/// assert_eq!(encode("°C"), "=?base64?wrBD?=");
/// assert_eq!(decode("=?base64?wrBD?=").as_deref(), Some("°C"));
/// ```
pub fn encode(value: &str) -> Cow<'_, str> {
    let looks_encoded =
        value.len() >= OPEN.len() + CLOSE.len() && value.starts_with(OPEN) && value.ends_with(CLOSE);
    let is_safe = value.bytes().all(|byte| matches!(byte, 0x20..=0x7e | b'\t'));
    let is_trimmed = value.trim_matches([' ', '\t']).len() == value.len();
    if is_safe && is_trimmed && !looks_encoded {
        return Cow::Borrowed(value);
    }
    Cow::Owned(format!("{OPEN}{}{CLOSE}", STANDARD.encode_to_string(value)))
}

/// Reads a header value; `None` when it is marked as Base64 and is not.
///
/// ```
/// use toolway_protocol::http::header::decode;
///
/// assert_eq!(decode("=?base64?YWRk?=").as_deref(), Some("add"));
/// assert_eq!(decode("=?base64?YWR?="), None);
/// ```
pub fn decode(value: &str) -> Option<Cow<'_, str>> {
    let Some(inner) = value.strip_prefix(OPEN).and_then(|rest| rest.strip_suffix(CLOSE)) else {
        return Some(Cow::Borrowed(value));
    };
    String::from_utf8(STANDARD.decode_to_vec(inner).ok()?).ok().map(Cow::Owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_survive_the_trip_and_only_unsafe_ones_are_encoded() {
        for (value, plain) in [
            ("us-west1", true),
            ("us west 1", true),
            ("", true),
            ("a\tb", true),
            (" lead", false),
            ("trail ", false),
            ("line1\nline2", false),
            ("Hello, 世界", false),
            ("\tx", false),
            ("=?base64?SGVsbG8=?=", false),
            ("=?base64?SGVsbG8=", true),
            ("a", true),
            ("ä", false),
            ("äö", false),
            ("äöü", false),
        ] {
            let header = encode(value);
            assert_eq!(header == value, plain, "{value:?}");
            assert!(header.is_ascii());
            assert_eq!(decode(&header).as_deref(), Some(value));
        }
    }

    #[test]
    fn broken_base64_is_refused() {
        for bad in [
            "=?base64?SGVsbG8?=",
            "=?base64?SGVs!!!bG8=?=",
            "=?base64?SGVsbG9=?=",
            "=?base64?====?=",
            "=?base64?/w==?=",
        ] {
            assert_eq!(decode(bad), None, "{bad}");
        }
        assert_eq!(decode("=?BASE64?SGVsbG8=?=").as_deref(), Some("=?BASE64?SGVsbG8=?="));
    }
}
