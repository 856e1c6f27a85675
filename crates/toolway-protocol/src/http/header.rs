//! Mirrored headers repeat parts of the body: how are they compared with the body?
//!
//! Proxies use these headers to route a request without reading its body. The body is authoritative. A mirrored header
//! that is missing, repeated, unreadable or different is refused: a proxy may have routed the request by a header that
//! does not describe the body.

use std::borrow::Cow;

use base64_simd::STANDARD;

use crate::jsonrpc::RpcError;

/// The mirrored headers of one request.
#[derive(Debug, Clone, Copy)]
pub struct MirroredHeaders<'a> {
    /// `MCP-Protocol-Version`.
    pub protocol_version: MirroredHeader<'a>,
    /// `Mcp-Method`.
    pub method: MirroredHeader<'a>,
    /// `Mcp-Name`.
    pub name: MirroredHeader<'a>,
}

/// One mirrored header.
///
/// ```
/// use toolway_protocol::http::header::MirroredHeader;
///
/// assert_eq!(MirroredHeader::from_lines([&b" add "[..]].into_iter()), MirroredHeader::One("add"));
/// assert_eq!(MirroredHeader::from_lines([&b"a"[..], b"b"].into_iter()), MirroredHeader::Unreadable);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MirroredHeader<'a> {
    /// The header was not sent.
    Absent,
    /// The header was sent once; surrounding white space is trimmed.
    One(&'a str),
    /// The header was sent more than once, or is not text.
    Unreadable,
}

impl<'a> MirroredHeader<'a> {
    /// Reads all lines of one header.
    pub fn from_lines(mut lines: impl Iterator<Item = &'a [u8]>) -> Self {
        match (lines.next(), lines.next()) {
            (None, _) => Self::Absent,
            (Some(line), None) => std::str::from_utf8(line)
                .map_or(Self::Unreadable, |value| Self::One(value.trim_matches([' ', '\t']))),
            (Some(_), Some(_)) => Self::Unreadable,
        }
    }

    /// Checks that the header is present and equals `body`, without decoding.
    pub fn must_equal(self, header: &str, body: &str) -> Result<(), RpcError> {
        self.compare(header, body, |value| Some(Cow::Borrowed(value)))
    }

    /// Checks that the header is present and equals `body` after decoding. If the body lacks the value, the check
    /// passes: the method itself refuses such a request.
    pub fn must_decode_to(self, header: &str, body: Option<&str>) -> Result<(), RpcError> {
        match body {
            Some(body) => self.compare(header, body, decode),
            None => Ok(()),
        }
    }

    /// Like [`must_equal`](Self::must_equal), for a header that is optional.
    pub fn may_equal(self, header: &str, body: &str) -> Result<(), RpcError> {
        if self == Self::Absent { Ok(()) } else { self.must_equal(header, body) }
    }

    /// Like [`must_decode_to`](Self::must_decode_to), for a header that is optional.
    pub fn may_decode_to(self, header: &str, body: Option<&str>) -> Result<(), RpcError> {
        if self == Self::Absent { Ok(()) } else { self.must_decode_to(header, body) }
    }

    fn compare(
        self,
        header: &str,
        body: &str,
        read: impl Fn(&str) -> Option<Cow<'_, str>>,
    ) -> Result<(), RpcError> {
        let problem = match self {
            Self::Absent => "is missing",
            Self::Unreadable => "must occur once, as text",
            Self::One(value) => match read(value) {
                None => "is not valid Base64",
                Some(value) if value == body => return Ok(()),
                Some(_) => DIFFERS,
            },
        };
        Err(mismatch(header, problem))
    }
}

/// Returns the error for a request with a wrong header.
pub(super) fn mismatch(header: &str, problem: &str) -> RpcError {
    RpcError::header_mismatch(format!("the {header} header {problem}"))
}

pub(super) const DIFFERS: &str = "differs from the body";

const BASE64_PREFIX: &str = "=?base64?";
const BASE64_SUFFIX: &str = "?=";

/// Encodes a header value: unchanged if that is safe, otherwise as Base64 between two markers.
///
/// ```
/// use toolway_protocol::http::header::{decode, encode};
///
/// assert_eq!(encode("add"), "add");
/// assert_eq!(encode("°C"), "=?base64?wrBD?=");
/// assert_eq!(decode("=?base64?wrBD?=").as_deref(), Some("°C"));
/// ```
pub fn encode(value: &str) -> Cow<'_, str> {
    let looks_encoded = value.len() >= BASE64_PREFIX.len() + BASE64_SUFFIX.len()
        && value.starts_with(BASE64_PREFIX)
        && value.ends_with(BASE64_SUFFIX);
    let is_safe = value.bytes().all(|byte| matches!(byte, 0x20..=0x7e | b'\t'));
    let is_trimmed = value.trim_matches([' ', '\t']).len() == value.len();
    if is_safe && is_trimmed && !looks_encoded {
        return Cow::Borrowed(value);
    }
    Cow::Owned(format!("{BASE64_PREFIX}{}{BASE64_SUFFIX}", STANDARD.encode_to_string(value)))
}

/// Decodes a header value. Returns `None` if it is marked as Base64 but cannot be decoded.
///
/// ```
/// use toolway_protocol::http::header::decode;
///
/// assert_eq!(decode("=?base64?YWRk?=").as_deref(), Some("add"));
/// assert_eq!(decode("=?base64?YWR?="), None);
/// ```
pub fn decode(value: &str) -> Option<Cow<'_, str>> {
    let Some(inner) = value.strip_prefix(BASE64_PREFIX).and_then(|rest| rest.strip_suffix(BASE64_SUFFIX))
    else {
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
