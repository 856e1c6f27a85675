//! Percent-encoding (RFC 3986, sections 2 and 6.2.2): which characters are kept, which are written as `%XX`, and how is
//! a text decoded?

use std::borrow::Cow;

/// The set of characters that a position in a URI keeps unencoded (RFC 6570, section 3.2.1).
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum AllowedCharacters {
    /// Letters, digits and `-._~`.
    Unreserved,
    /// The unreserved characters, the delimiters, and every existing `%XX`.
    Reserved,
}

/// Appends the encoded `text` to `out`.
pub(super) fn push_encoded(out: &mut String, text: &str, keep: AllowedCharacters) {
    for (at, byte) in text.bytes().enumerate() {
        let stays = is_unreserved(byte)
            || keep == AllowedCharacters::Reserved
                && (is_reserved(byte) || decode_triplet(text.as_bytes(), at).is_some());
        if stays { out.push(char::from(byte)) } else { push_triplet(out, byte) }
    }
}

/// Returns the spelling that all equivalent URIs share: unreserved characters plain, all characters that are not
/// allowed in a URI encoded, hex digits in upper case. Returns `None` if a `%` is not followed by two hex digits.
///
/// The result is ASCII, so it may be cut anywhere. Delimiters and their encoded forms stay different.
pub(super) fn normalize(text: &str) -> Option<Cow<'_, str>> {
    if text.bytes().all(|byte| is_unreserved(byte) || is_reserved(byte)) {
        return Some(Cow::Borrowed(text));
    }
    let mut out = String::with_capacity(text.len());
    for unit in uri_bytes(text) {
        match unit {
            UriByte::Plain(b'%') => return None,
            UriByte::Plain(byte) if is_reserved(byte) => out.push(char::from(byte)),
            UriByte::Plain(byte) | UriByte::Encoded(byte) if is_unreserved(byte) => {
                out.push(char::from(byte));
            }
            UriByte::Plain(byte) | UriByte::Encoded(byte) => push_triplet(&mut out, byte),
        }
    }
    Some(Cow::Owned(out))
}

/// Decodes a piece of a normalized URI. Returns `None` if the result is not UTF-8.
pub(super) fn decode(text: &str) -> Option<String> {
    let mut out = Vec::with_capacity(text.len());
    out.extend(uri_bytes(text).map(|(UriByte::Plain(byte) | UriByte::Encoded(byte))| byte));
    String::from_utf8(out).ok()
}

/// A byte of a text, plain or written as `%XX`.
pub(super) enum UriByte {
    Plain(u8),
    Encoded(u8),
}

/// Returns the bytes that a text encodes.
pub(super) fn uri_bytes(text: &str) -> impl Iterator<Item = UriByte> {
    let mut rest = text.as_bytes();
    std::iter::from_fn(move || {
        let (first, behind) = rest.split_first()?;
        let encoded = decode_triplet(rest, 0);
        rest = if encoded.is_some() { &rest[3..] } else { behind };
        Some(encoded.map_or(UriByte::Plain(*first), UriByte::Encoded))
    })
}

/// Decodes a text until there is nothing left to decode, however often it was encoded.
///
/// Each `%XX` is decoded when its last digit arrives, and the result may be the last digit of another triplet. So one
/// pass is enough; repeated decoding would cost the square of the length.
pub(super) fn decode_fully(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for byte in text.bytes() {
        out.push(byte);
        while let Some(start) = out.len().checked_sub(3)
            && let Some(decoded) = decode_triplet(&out, start)
        {
            out.truncate(start);
            out.push(decoded);
        }
    }
    out
}

/// Returns the byte that the `%XX` at `at` encodes.
pub(super) fn decode_triplet(bytes: &[u8], at: usize) -> Option<u8> {
    let [b'%', high, low] = bytes.get(at..at + 3)? else { return None };
    let digit = |byte: &u8| char::from(*byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    Some(digit(high)? << 4 | digit(low)?)
}

fn push_triplet(out: &mut String, byte: u8) {
    const DIGITS: [char; 16] =
        ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'A', 'B', 'C', 'D', 'E', 'F'];
    out.extend(['%', DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
}

fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)
}

fn is_reserved(byte: u8) -> bool {
    b":/?#[]@!$&'()*+,;=".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equivalent_spellings_have_one_normal_form() {
        for (text, normal) in [
            ("a-b/c?d#e", Some("a-b/c?d#e")),
            ("%61%2D%7e", Some("a-~")),
            ("%2f%c3%BC", Some("%2F%C3%BC")),
            ("ü \\", Some("%C3%BC%20%5C")),
            ("%", None),
            ("%4", None),
            ("%zz", None),
            ("%+1", None),
            ("%%41", None),
        ] {
            assert_eq!(normalize(text).as_deref(), normal, "{text}");
        }
    }

    #[test]
    fn decoding_wants_utf8_and_happens_once() {
        for (text, decoded) in [
            ("a%2Fb", Some("a/b")),
            ("%252F", Some("%2F")),
            ("%C3%BC", Some("ü")),
            ("%C3", None),
            ("%FF", None),
        ] {
            assert_eq!(decode(text).as_deref(), decoded, "{text}");
        }
    }

    #[test]
    fn full_decoding_gets_to_the_bottom_of_nested_escapes() {
        for text in ["..", "%2e.", "%252E%2e", "%25252e.", "%25%32%65.", "%2525%2532%2565%2e"] {
            assert_eq!(decode_fully(text), b"..", "{text}");
        }
        assert_eq!(decode_fully("100%"), b"100%");
    }
}
