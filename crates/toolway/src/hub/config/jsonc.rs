//! How does JSON with comments and trailing commas become JSON, with all positions unchanged?

use std::borrow::Cow;

/// Replaces comments and trailing commas with spaces. All other bytes, including line breaks, keep their position.
///
/// # Errors
///
/// Returns the offset of a comment that does not end.
pub(super) fn strip_comments(text: &str) -> Result<Cow<'_, str>, usize> {
    let bytes = text.as_bytes();
    let mut blank = Vec::new();
    let mut at = 0;
    // The last two bytes that are not part of white space or a comment, and the offset of the last one.
    let (mut last, mut before, mut last_at) = (0, 0, 0);
    while let Some(&byte) = bytes.get(at) {
        let end = match (byte, bytes.get(at + 1)) {
            (b'"', _) => end_of_string(bytes, at),
            (b'/', Some(b'/')) => {
                let end = bytes[at..].iter().position(|byte| *byte == b'\n');
                let end = end.map_or(bytes.len(), |length| at + length);
                blank.push(at..end);
                at = end;
                continue;
            }
            (b'/', Some(b'*')) => {
                let end = text[at + 2..].find("*/").ok_or(at)? + at + 4;
                blank.push(at..end);
                at = end;
                continue;
            }
            _ => at + 1,
        };
        if !byte.is_ascii_whitespace() {
            let follows_value = !matches!(before, 0 | b'[' | b'{' | b',' | b':');
            if matches!(byte, b']' | b'}') && last == b',' && follows_value {
                blank.push(last_at..last_at + 1);
            }
            (before, last, last_at) = (last, byte, at);
        }
        at = end;
    }
    if blank.is_empty() {
        return Ok(Cow::Borrowed(text));
    }
    let mut plain = bytes.to_vec();
    for byte in blank.into_iter().flatten() {
        if !matches!(plain[byte], b'\n' | b'\r') {
            plain[byte] = b' ';
        }
    }
    Ok(Cow::Owned(String::from_utf8(plain).expect("whole characters were replaced by spaces")))
}

/// Returns the end of the string that begins at `start`: after its closing quote, or at the end of the text.
fn end_of_string(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_last_commas_become_spaces() {
        for (text, expected) in [
            ("[1, 2]", "[1, 2]"),
            ("[1,]", "[1 ]"),
            ("[1 , // é\n]", "[1        \n]"),
            ("{/* a\r\n,*/\"a\": [1, /* } */ ], }", "{    \r\n   \"a\": [1          ]  }"),
            ("[\"// no\", \"/* no */\", \",]\"]", "[\"// no\", \"/* no */\", \",]\"]"),
            (r#"["a\"//b", "c\\"]//"#, r#"["a\"//b", "c\\"]  "#),
            ("1 / 2", "1 / 2"),
        ] {
            let plain = strip_comments(text).unwrap();
            assert_eq!(plain, expected);
            assert_eq!(plain.len(), text.len(), "nothing moves");
        }
    }

    #[test]
    fn commas_that_follow_nothing_stay_mistakes() {
        for text in ["[,]", "{,}", "[1,,]", "{\"a\":,}", ",]"] {
            assert!(
                serde_json::from_str::<serde_json::Value>(&strip_comments(text).unwrap()).is_err(),
                "{text}"
            );
        }
    }

    #[test]
    fn a_comment_that_does_not_end_is_found_where_it_begins() {
        assert_eq!(strip_comments("[1] /* é"), Err(4));
        assert_eq!(strip_comments("[1] /*/"), Err(4));
        assert_eq!(strip_comments("\"/*"), Ok(Cow::Borrowed("\"/*")));
    }
}
