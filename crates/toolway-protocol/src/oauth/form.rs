//! How are forms and queries read and written?
//!
//! The format is `application/x-www-form-urlencoded`. It is the body of requests to the token endpoint, and the query of
//! authorization URLs and callbacks.

use std::fmt::Write as _;

/// Writes pairs as a form.
///
/// ```
/// use toolway_protocol::oauth::form;
///
/// assert_eq!(form::encode([("scope", "notes:read notes:write"), ("state", "a&b")]), "scope=notes%3Aread+notes%3Awrite&state=a%26b");
/// ```
pub fn encode<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let mut form = String::new();
    for (name, value) in pairs {
        if !form.is_empty() {
            form.push('&');
        }
        push_encoded(&mut form, name, "+");
        form.push('=');
        push_encoded(&mut form, value, "+");
    }
    form
}

/// Encodes one name or value. A space becomes `%20`: some authorization servers do not read `+` in the id and the secret of
/// a client.
pub fn encode_text(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    push_encoded(&mut encoded, text, "%20");
    encoded
}

fn push_encoded(form: &mut String, text: &str, space: &str) {
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'*' => form.push(byte.into()),
            b' ' => form.push_str(space),
            _ => drop(write!(form, "%{byte:02X}")),
        }
    }
}

/// Reads the pairs of a form, or `None` if something in it is not valid.
///
/// ```
/// use toolway_protocol::oauth::form;
///
/// let pairs = form::decode("code=a%2Fb&iss=https%3A%2F%2Fid.example&state=one+two").unwrap();
/// assert_eq!(pairs[0], ("code".to_owned(), "a/b".to_owned()));
/// assert_eq!(pairs[2].1, "one two");
/// assert_eq!(form::decode("code=%2"), None);
/// ```
pub fn decode(form: &str) -> Option<Vec<(String, String)>> {
    let pairs = form.split('&').filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Some((decode_text(name)?, decode_text(value)?))
        })
        .collect()
}

fn decode_text(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => (digit(rest.next()?)? << 4) | digit(rest.next()?)?,
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

fn digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_survives_the_trip() {
        for text in ["", "plain", "a b+c", "ä€😀", "%41", "a&b=c;d", "\0\r\n", "https://id.example/?x=1#y"]
        {
            let form = encode([(text, text), ("x", "y")]);
            assert!(form.is_ascii(), "{form}");
            let pairs = decode(&form).unwrap();
            assert_eq!(pairs[0], (text.to_owned(), text.to_owned()));
            assert_eq!(pairs[1], ("x".to_owned(), "y".to_owned()));
        }
    }

    #[test]
    fn a_single_text_is_read_by_those_who_know_only_percent_signs() {
        assert_eq!(encode_text("a b+c/d:e%é*"), "a%20b%2Bc%2Fd%3Ae%25%C3%A9*");
        let form = format!("a={}", encode_text("a b"));
        assert_eq!(decode(&form).unwrap()[0].1, "a b");
    }

    #[test]
    fn what_is_not_a_form_is_refused() {
        for form in ["a=%", "a=%4", "a=%zz", "%ff=b", "a=%c3%28", "a=%+1"] {
            assert_eq!(decode(form), None, "{form}");
        }
        assert_eq!(decode("").unwrap(), []);
        assert_eq!(decode("&&a&").unwrap(), [("a".to_owned(), String::new())]);
    }
}
